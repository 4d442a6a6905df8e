//! `treewide check` with lists that other programs have written: each form as it is, with the file changed, and with the digest changed.

use crate::support::{Folder, find_program, skip};
use std::fs;

/// The content of `alpha.txt` and its digests.
pub(crate) const ALPHA: &str = "alpha\n";
pub(crate) const MD5: &str = "9f9f90dbe3e5ee1218c86b8839db1995";
const SHA1: &str = "d046cd9b7ffb7661e449683313d41f6fc33e3130";
const SHA224: &str = "de83f7a1e5142382528e31d7473ba6b5c81a2a8a1175cd8e8a9ba8ec";
const SHA256: &str = "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060";
const SHA384: &str = "c186fccb11e85363edbb872e2426dc1de5826946fd1130465391e76ec3744350343fa502fabc4be3ac76d6737e01071b";
const SHA512: &str = "62d0791d22f871ef4b4e8f6fa1374091f6d540ba5e3e9bc23b0e6fd2e3d6534f\
                      9087b8c195634c7627fc26a33f17576b4e107da4ab421d486acc2636538bb58f";
const BLAKE2B: &str = "ab0f6802d80e573960c1d4172acc7941a7425000730082d86bdaafa71c0ad53a\
                       0f2a9627b13581dc9e6538b3a4e1ec911869083ee184ab04f856e7b7dded4711";
const BLAKE3: &str = "ac678d92b3d739773d18cd952cfcea443fa4a5a98ffc9554b66795bb22d5532d";

/// Name of the list, its text, options, and the algorithms that the summary names. `@NAME` stands for a digest.
const FORMS: &[(&str, &str, &str, &str)] = &[
    ("SHA256SUMS", "@SHA256  alpha.txt\n", "", "SHA-256"),
    ("SHA256SUMS", "@SHA256 *alpha.txt\n", "", "SHA-256"),
    ("checksums.txt", "@SHA256  alpha.txt\n", "", "SHA-256"),
    ("checksums.txt", "@SHA512  alpha.txt\n", "", "SHA-512"),
    ("checksums.txt", "@BLAKE2B  alpha.txt\n", "", "BLAKE2b-512"),
    ("checksums.txt", "@SHA384  alpha.txt\n", "", "SHA-384"),
    ("checksums.txt", "@SHA224  alpha.txt\n", "", "SHA-224"),
    ("checksums.txt", "@SHA1  alpha.txt\n", "", "SHA-1, which proves nothing against intent"),
    ("checksums.txt", "@MD5  alpha.txt\n", "", "MD5, which proves nothing against intent"),
    ("checksums.txt", "@BLAKE3  alpha.txt\n", "", ""),
    ("sums.b3", "@BLAKE3  alpha.txt\n", "", ""),
    ("x", "@SHA256  alpha.txt\n", "--algorithm sha256", "SHA-256"),
    ("x", "@SHA256  alpha.txt\0@SHA256  new\nline\0", "", "SHA-256"),
    ("x", "SHA256 (alpha.txt) = @SHA256\n", "", "SHA-256"),
    ("SHA512SUMS", "SHA256 (alpha.txt) = @SHA256\n", "", "SHA-256"),
    ("x", "SHA2-256(alpha.txt)= @SHA256\n", "", "SHA-256"),
    ("x", "SHA256(alpha.txt)= @SHA256\n", "", "SHA-256"),
    ("x", "SHA2-256(alpha.txt)= @COLONS\n", "", "SHA-256"),
    ("x", "BLAKE2b (alpha.txt) = @BLAKE2B\n", "", "BLAKE2b-512"),
    (
        "x",
        "MD5   (alpha.txt) = @MD5\nSHA256 (alpha.txt) = @SHA256\n",
        "",
        "MD5 and SHA-256 (MD5 proves nothing against intent)",
    ),
    ("x", "\\SHA256 (new\\nline) = @SHA256\n", "", "SHA-256"),
    ("x", "\\@SHA256  new\\nline\n", "", "SHA-256"),
    ("x", "sha256:@SHA256  alpha.txt\n", "", "SHA-256"),
    ("x", "alpha.txt: @GROUPS\n", "", "SHA-256"),
    (
        "x",
        "MD5 (alpha.txt) = @MD5\nSize (alpha.txt) = 6 bytes\n",
        "",
        "MD5, which proves nothing against intent",
    ),
    (
        "x",
        "{\"assets\":[{\"name\":\"alpha.txt\",\"digest\":\"sha256:@SHA256\",\"size\":6}]}",
        "",
        "SHA-256",
    ),
    (
        "x",
        "[\n {\n  \"name\": \"alpha.txt\",\n  \"digest\": \"sha256:@SHA256\"\n }\n]\n",
        "",
        "SHA-256",
    ),
    ("alpha.txt.sha256", "@SHA256\n", "", "SHA-256"),
    ("alpha.txt.sha256", "sha256:@SHA256\n", "", "SHA-256"),
    ("alpha.txt.sha512sum", "@SHA512", "", "SHA-512"),
    ("a.dsc", "Format: 3.0\nChecksums-Sha256:\n @SHA256 6 alpha.txt\nX: y\n", "", "SHA-256"),
    ("Release", "Origin: x\nSHA256:\n @SHA256 6 alpha.txt\n", "", "SHA-256"),
    ("Packages", "Package: a\nFilename: alpha.txt\nSize: 6\nSHA256: @SHA256\n\n", "", "SHA-256"),
    (
        "x",
        "Algorithm  Hash  Path\n---------  ----  ----\nSHA256     @UPPER    alpha.txt   \n",
        "",
        "SHA-256",
    ),
    (
        "x",
        "SHA256 hash of alpha.txt:\r\n@SHA256\r\nCertUtil: -hashfile command completed.\r\n",
        "",
        "SHA-256",
    ),
    (
        "a.sfv",
        "; made by x\nalpha.txt 9F606EEC\n",
        "",
        "CRC-32, which proves nothing against intent",
    ),
    (
        "x",
        "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## x\n6,@MD5,@SHA256,alpha.txt\n",
        "",
        "MD5 and SHA-256 (MD5 proves nothing against intent)",
    ),
    (
        "x",
        "#mtree\n/set type=file\n. type=dir\nalpha.txt size=6 \\\n    sha256digest=@SHA256\n..\n",
        "",
        "SHA-256",
    ),
    (
        "x",
        "#TYPE X\r\n\"Algorithm\",\"Hash\",\"Path\"\r\n\"SHA256\",\"@UPPER\",\"alpha.txt\"\r\n",
        "",
        "SHA-256",
    ),
    ("x", "{\"Algorithm\":\"SHA256\",\"Hash\":\"@UPPER\",\"Path\":\"alpha.txt\"}\n", "", "SHA-256"),
    ("x.dist-info/RECORD", "alpha.txt,sha256=@BASE64,6\nx.dist-info/RECORD,,\n", "", "SHA-256"),
    (
        "Manifest",
        "DIST alpha.txt 6 BLAKE2B @BLAKE2B SHA512 @SHA512\n",
        "",
        "BLAKE2b-512 and SHA-512",
    ),
    (
        ".cargo-checksum.json",
        "{\"files\":{\"alpha.txt\":\"@SHA256\"},\"package\":null}",
        "",
        "SHA-256",
    ),
    (
        "x.asc",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n- @SHA256  alpha.txt\n-----BEGIN PGP SIGNATURE-----\n\n\
         iQIzBAEB\n-----END PGP SIGNATURE-----\n",
        "",
        "SHA-256",
    ),
];

pub(crate) fn filled(text: &str) -> String {
    let pairs: Vec<_> = SHA256.as_bytes().chunks(2).map(|it| str::from_utf8(it).unwrap()).collect();
    let colons = pairs.join(":");
    let upper = SHA256.to_uppercase().into_bytes();
    let groups: Vec<_> = upper.chunks(8).map(String::from_utf8_lossy).collect();
    [
        ("@SHA256", SHA256),
        ("@BASE64", "tqmNnOmi2RSSiPo99C03fD5Cc3r9za9xTjPAoQC1EGA"),
        ("@UPPER", &SHA256.to_uppercase()),
        ("@COLONS", &colons),
        ("@GROUPS", &groups.join(" ")),
        ("@SHA512", SHA512),
        ("@SHA384", SHA384),
        ("@SHA224", SHA224),
        ("@SHA1", SHA1),
        ("@MD5", MD5),
        ("@BLAKE2B", BLAKE2B),
        ("@BLAKE3", BLAKE3),
    ]
    .iter()
    .fold(text.to_owned(), |text, (name, digest)| text.replace(name, digest))
}

pub(crate) fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("alpha.txt", ALPHA);
    folder.write("new\nline", ALPHA);
    folder
}

#[test]
fn check_reads_the_lists_of_other_programs() {
    for (name, text, options, by) in FORMS {
        let folder = folder();
        folder.write(name, filled(text));
        let check = |more: &str| folder.treewide(&format!("check {options} {more} {name}")).run();
        let good = check("");
        let by = if by.is_empty() { String::new() } else { format!(", by {by}") };
        good.fails(0, &[&format!(" OK{by}\n")]);
        assert!(!good.stderr.contains("malformed"), "{name}: {text}: {good:?}");
        let is_weak = by.contains("intent");
        let strong = check("--strong");
        assert_eq!(strong.code, Some(if is_weak { 3 } else { 0 }), "{name}: {text}: {strong:?}");
        // Other content of the same length, and none.
        for content in ["alphA\n", ""] {
            folder.write("alpha.txt", content);
            folder.write("new\nline", content);
            let ended = check("");
            assert_eq!(ended.code, Some(1), "{name}: {text}: {ended:?}");
            assert!(!ended.text().contains("OK"), "{name}: {text}: {ended:?}");
        }
    }
    println!("forms: {}", FORMS.len());
}

/// Every change of one digit, and every cut, is either found or leaves nothing verified.
#[test]
fn check_finds_every_change_of_a_list() {
    let folder = folder();
    for (name, text, options, _) in FORMS {
        let list = filled(text);
        let digits = list.char_indices().filter(|(at, it)| {
            let around = list.as_bytes()[at.saturating_sub(8)..(at + 8).min(list.len())].iter();
            it.is_ascii_hexdigit() && around.clone().all(|it| it.is_ascii_hexdigit())
        });
        for (at, digit) in digits.step_by(29) {
            let other = if digit == '0' { "1" } else { "0" };
            let mut changed = list.clone();
            changed.replace_range(at..=at, other);
            folder.write(name, &changed);
            let ended = folder.treewide(&format!("check {options} {name}")).run();
            assert_ne!(ended.code, Some(0), "{changed}: {ended:?}");
        }
        let _ = fs::remove_file(folder.join(name));
    }
}

#[test]
fn check_says_why_a_digest_is_not_compared() {
    let folder = folder();
    for (name, line, options, cause) in [
        (
            "SHA256SUMS",
            format!("{}  alpha.txt", &SHA256[..60]),
            "",
            "digest of 60 digits, but SHA-256 has 64; the list may be cut",
        ),
        (
            "SHA256SUMS",
            format!("{SHA512}  alpha.txt"),
            "",
            "digest of 128 digits, but SHA-256 has 64; the list may be cut",
        ),
        (
            "x",
            format!("SHA512 (alpha.txt) = {SHA512}"),
            "--algorithm sha256",
            "a SHA512 digest, but --algorithm says sha256",
        ),
        (
            "x",
            format!("WHIRLPOOL (alpha.txt) = {SHA512}"),
            "",
            "a WHIRLPOOL digest, which this program does not know",
        ),
        (
            "x",
            format!("SHA512 (alpha.txt) = {SHA256}"),
            "",
            "digest of 64 digits, but SHA-512 has 128; the list may be cut",
        ),
        (
            "x",
            format!("{SHA256} Ualpha.txt"),
            "--algorithm sha256",
            "marker U is not of the file's bytes",
        ),
        (
            "x",
            format!("{SHA256} ^alpha.txt"),
            "--algorithm sha256",
            "marker ^ is not of the file's bytes",
        ),
        ("x", format!("MD5 (alpha.txt) = {MD5}"), "--strong", "MD5 is not accepted with --strong"),
        ("x", format!("{SHA1}  alpha.txt"), "--strong", "SHA-1 is not accepted with --strong"),
        (
            "x",
            format!("BLAKE2b-256 (alpha.txt) = {}", &BLAKE2B[..56]),
            "",
            "digest of 56 digits, but BLAKE2b-256 has 64; the list may be cut",
        ),
        (
            "x",
            "sha256:0000  alpha.txt".into(),
            "",
            "digest of 4 digits, but SHA-256 has 64; the list may be cut",
        ),
        (
            "x",
            "sha256:0000 alpha.txt".into(),
            "",
            "digest of 4 digits, but SHA-256 has 64; the list may be cut",
        ),
        (
            "x",
            "sha256:  alpha.txt".into(),
            "",
            "digest of 0 digits, but SHA-256 has 64; the list may be cut",
        ),
        (
            "x",
            "CRC32 (alpha.txt) = 9f606eec".into(),
            "",
            "a CRC32 digest, which is read only in .sfv",
        ),
        ("x", "sha256:zz  alpha.txt".into(), "", "the digest is not hex"),
        ("x", "md5:abc  alpha.txt".into(), "", "digest of 3 hex digits, an odd number"),
        (
            "x",
            "SHA256  00AA  alpha.txt".into(),
            "",
            "digest of 4 digits, but SHA-256 has 64; the list may be cut",
        ),
    ] {
        folder.write(name, line.clone() + "\n");
        let ended = folder.treewide(&format!("check {options} {name}")).run();
        assert_eq!(ended.code, Some(3), "{line}: {ended:?}");
        assert!(ended.text().contains(&format!(": FAILED ({cause})\n")), "{line}: {ended:?}");
    }
    // A part of a longer digest is not a digest.
    folder.write("x", format!("BLAKE2b-256 (alpha.txt) = {}\n", &BLAKE2B[..64]));
    folder.treewide("check x").run().fails(1, &["1 FAILED"]);
    folder.write("empty", "");
    folder.write("x", format!("{SHA256}  empty\n"));
    folder.treewide("check x").run().is(
        1,
        "empty: FAILED (empty: 0 bytes)\n",
        "treewide: 1 file checked: 0 OK, 1 FAILED\ntreewide: no file has the listed digest as BLAKE3 or as \
         SHA-256; if no one changed them, the list may have been made with --keyed or --derive-key, or by another \
         algorithm; --algorithm says which (sha3-256, blake2s-256, ..)\n",
    );
}

/// Neither the order of lines nor the number of threads changes a verdict.
#[test]
fn check_decides_each_line_alone() {
    let folder = Folder::new();
    let (mut of_both, mut wrong) = (Vec::new(), 0);
    for i in 0..300_usize {
        let name = format!("f{i:03}");
        // Some do not fit into a buffer for small files.
        let len = if i % 50 == 7 { 1_500_000 } else { i };
        folder.write(&name, vec![i as u8; len]);
        let program = if i % 3 == 0 { "sum" } else { "sum --tag" };
        let line = folder.treewide(&format!("{program} {name}")).run().text().to_owned();
        let sha256 = find_program("sha256sum")
            .map(|it| folder.program(it).arg(&name).run().text().to_owned());
        let line = sha256.filter(|_| i % 3 == 1).unwrap_or(line);
        if i % 10 == 3 {
            wrong += 1;
            folder.write(&name, "other");
        }
        of_both.push(line);
    }
    let check = |list: &[String], threads: usize| {
        folder.write("list", list.concat());
        let ended = folder.treewide(&format!("check --threads {threads} list")).run();
        ended.fails(
            1,
            &[&format!("300 files checked: {} OK", 300 - wrong), &format!("{wrong} FAILED")],
        );
        let mut lines: Vec<_> = ended.text().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let first = check(&of_both, 1);
    of_both.reverse();
    for threads in [1, 2, 7] {
        assert_eq!(check(&of_both, threads), first, "{threads} threads");
    }
}

#[test]
fn check_and_other_programs_agree() {
    let folder = folder();
    folder.write("beta two.txt", vec![7; 300_000]);
    folder.write("empty", "");
    let files = ["alpha.txt", "beta two.txt", "empty", "new\nline"];
    let mut cases = 0;
    for (program, args) in [
        ("sha256sum", &[][..]),
        ("sha256sum", &["--tag"]),
        ("sha256sum", &["-z"]),
        ("sha512sum", &["-b"]),
        ("sha384sum", &[]),
        ("sha224sum", &[]),
        ("sha1sum", &[]),
        ("md5sum", &[]),
        ("b2sum", &["--tag", "-l", "256"]),
        ("b2sum", &[]),
        ("shasum", &["-a", "512"]),
        ("openssl", &["dgst", "-sha256"]),
        ("openssl", &["dgst", "-sha3-256"]),
        ("openssl", &["dgst", "-sha512", "-r"]),
        ("openssl", &["dgst", "-md5", "-c"]),
        ("gpg", &["--print-md", "SHA256"]),
        ("gpg", &["--print-md", "SHA512"]),
        ("gpg", &["--print-md", "MD5"]),
    ] {
        let Some(path) = find_program(program) else {
            skip(program, "it is not installed");
            continue;
        };
        // These do not escape line ends.
        let files = if program == "openssl" || program == "gpg" { &files[..3] } else { &files[..] };
        let list = folder.program(path).args(args).args(files).run();
        folder.write("list", &list.stdout);
        let n = files.len();
        let good = folder.treewide("check list").run();
        good.fails(0, &[&format!("{n} files checked: {n} OK")]);
        folder.write("beta two.txt", vec![8; 300_000]);
        folder.treewide("check list").run().fails(1, &["1 FAILED"]);
        folder.write("beta two.txt", vec![7; 300_000]);
        cases += 1;
    }
    println!("programs and options: {cases}");
}

#[test]
fn check_json_names_the_algorithm() {
    let folder = folder();
    folder.write("SHA256SUMS", format!("{SHA256}  alpha.txt\n"));
    folder.write("x", format!("SHA1 (alpha.txt) = {SHA1}\n{SHA256}  alpha.txt\n"));
    folder.write("a.dsc", format!("Files:\n {MD5} 6 alpha.txt\n {MD5} 7 alpha.txt\n"));
    let check = |list: &str| {
        let ended = folder.treewide(&format!("check --json {list}")).run();
        let lines = ended.text().lines().filter(|it| !it.contains("\"summary\""));
        let lines = lines.map(|it| serde_json::from_str::<serde_json::Value>(it).unwrap());
        let keys = |it: &serde_json::Value| {
            ["verdict", "algorithm", "by", "expected_bytes"].map(|key| it[key].to_string())
        };
        lines.map(|it| keys(&it).join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(check("SHA256SUMS"), [r#""ok" "sha256" "list-name" null"#]);
    assert_eq!(check("x"), [r#""ok" "sha1" "tag" null"#, r#""ok" "sha256" "length" null"#]);
    assert_eq!(check("a.dsc"), [r#""ok" "md5" "tag" 6"#, r#""failed" "md5" "tag" 7"#]);
    let ended = folder.treewide("check --json a.dsc").run();
    assert!(ended.text().contains(r#""detail":"6 bytes instead of 7""#), "{ended:?}");
    assert_eq!(
        folder.treewide("check a.dsc").run().text(),
        "alpha.txt: OK\nalpha.txt: FAILED (6 bytes instead of 7)\n"
    );
}

#[test]
fn check_reads_manifests_of_bags() {
    let folder = Folder::new();
    for (version, name) in [("0.97", "100%25.txt"), ("1.0", "100%.txt")] {
        folder.write(
            "bag/bagit.txt",
            format!("BagIt-Version: {version}\nTag-File-Character-Encoding: UTF-8\n"),
        );
        for file in ["100%25.txt", "100%.txt"] {
            let _ = fs::remove_file(folder.join("bag/data").join(file));
        }
        folder.write(format!("bag/data/{name}"), ALPHA);
        folder.write("bag/data/new\nline", ALPHA);
        let list = format!("{SHA256}  data/100%25.txt\n{SHA256} data/new%0Aline\n");
        folder.write("bag/manifest-sha256.txt", list);
        folder.treewide("check bag/manifest-sha256.txt").run().fails(0, &["2 files checked: 2 OK"]);
    }
    folder.write("bag/manifest-sha256.txt", format!("{SHA256}  ../alpha.txt\n"));
    folder.write("alpha.txt", ALPHA);
    let ended = folder.treewide("check bag/manifest-sha256.txt").run();
    assert_eq!(ended.text(), "../alpha.txt: FAILED (leads out of the bag)\n");
    ended.fails(3, &["1 not verified"]);
}

#[test]
fn check_says_that_a_long_file_is_read_by_one_thread() {
    let folder = folder();
    folder.write("SHA256SUMS", format!("{SHA256}  alpha.txt\n"));
    folder.write("long", vec![0; 3_000_000]);
    let list = folder.program("sha256sum").arg("long").run();
    folder.write("long.sha256", &list.stdout);
    let ended = folder.treewide("check --progress long.sha256").run();
    ended.fails(0, &["one thread a file"]);
    // Two algorithms are tried, and the file is counted once.
    folder.write("x", &list.stdout);
    folder.treewide("check --progress x").run().fails(0, &["1 file, 2.86 MiB", "by SHA-256"]);
}

/// A file that is announced and whose digest cannot be read is reported.
#[test]
fn check_reports_every_file_that_is_not_verified() {
    let folder = folder();
    let (start, end) = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n",
        "-----BEGIN PGP SIGNATURE-----\n\niQIzBAEB\n-----END PGP SIGNATURE-----\n",
    );
    let good = "@SHA256  alpha.txt\n";
    let armor = "a line in the armor of the signature that does not belong there";
    for (name, text, message) in [
        ("x", format!("SHA256 hash of b:\n{good}"), "b: FAILED (no digest)\n"),
        ("x", format!("{good}SHA256 hash of b:\n"), "b: FAILED (no digest)\n"),
        (
            "x",
            r#"{"files":[{"name":"alpha.txt","digest":"sha256:@SHA256"},{"name":"b","digest":"sha256:zz"}]}"#.into(),
            "b: FAILED (the digest is not hex)\n",
        ),
        (
            "x",
            r#"{"files":[{"name":"alpha.txt","digest":"sha256:@SHA256"},{"name":"b\n","digest":"x\u001b:00"}]}"#.into(),
            "\\b\\n: FAILED (a x\\u{1b} digest, which this program does not know)\n",
        ),
        ("Packages", "Filename: alpha.txt\nSHA256: @SHA256\n\nFilename: b\n".into(), "b: FAILED (no digest)\n"),
        ("x", format!("{good}UNSUPPORTED  b\n"), "b: FAILED (no digest)\n"),
        ("x", format!("{good}{}b\n", " ".repeat(42)), "b: FAILED (no digest)\n"),
        ("x", format!("{good}SHA256   zz   b\n"), "b: FAILED (the digest is not hex)\n"),
        ("x", format!("# made\u{b}@SHA256  b\n{good}"), "a comment with a digest and a name in it"),
        (
            "x",
            "#mtree\n# made b sha256digest=@SHA256\nalpha.txt sha256digest=@SHA256\n".into(),
            "a comment with a digest in it",
        ),
        ("Manifest", "DIST b 6\nDIST alpha.txt 6 SHA256 @SHA256\n".into(), "b: FAILED (not a name without escapes"),
        (
            "x",
            r#"[{"name":"alpha.txt","digest":"sha256:@SHA256"},{"name":"b","sha1":"zz"}]"#.into(),
            "b: FAILED (the digest is not hex)\n",
        ),
        (
            "x",
            r#"[{"name":"alpha.txt","digest":"sha256:@SHA256","digest":"sha256:@SHA256"}]"#.into(),
            "a key that is there twice",
        ),
        ("x", format!("{start}@SHA256  b\n\n{good}{end}"), armor),
        ("x", format!("{start}\n{good}{end}@SHA256  b\n").replace("-----END", "-----ENS"), armor),
        ("x", format!("{start}\n{good}"), "the signature of the list has no end"),
        ("x", format!("{}\n{}  b\n{good}", &MD5[..17], &MD5[17..]), "b: FAILED (a line end within the digest)\n"),
    ] {
        folder.write(name, filled(&text));
        let ended = folder.treewide(&format!("check {name}")).run();
        assert!([ended.text(), &ended.stderr].concat().contains(message), "{text}: {ended:?}");
        ended.fails(3, &["1 OK, "]);
    }
    folder.write("x", filled(&format!("{good}{start}\n{good}{end}\n{good}")));
    folder
        .treewide("check x")
        .run()
        .fails(0, &["(gpg --verify x), and 2 lines outside of the signed text cannot be\n"]);
}

/// One reading is enough for all digests of a file.
#[test]
fn check_reads_a_file_once_for_several_digests() {
    let folder = folder();
    let wrong = SHA512.replace('6', "7");
    folder.write(
        "x",
        format!(
            "MD5 (alpha.txt) = {MD5}\nSHA256 (alpha.txt) = {SHA256}\nSHA512 (alpha.txt) = {wrong}\n"
        ),
    );
    let ended = folder.treewide("check --progress x").run();
    assert_eq!(ended.text(), "alpha.txt: OK\nalpha.txt: OK\nalpha.txt: FAILED\n");
    ended.fails(1, &["1 file, 6 B", "1 file checked: 0 OK", "1 FAILED"]);
    folder.write("x", format!("MD5 (gone) = {MD5}\nSHA256 (gone) = {SHA256}\n"));
    let ended = folder.treewide("check x").run();
    let line = "gone: FAILED (cannot open: No such file or directory (os error 2))\n";
    assert_eq!(ended.text(), line.repeat(2));
    ended.fails(1, &["1 missing"]);
}

/// Programs that check their own lists never find fault with a damaged one that `check` takes. `sha256sum` takes some that lose a file: a
/// digit that became a # makes a comment of the line.
#[test]
fn check_takes_no_damaged_list_that_others_refuse() {
    let folder = folder();
    folder.write("beta", "beta\n");
    // Its digest begins with a 3. Damage of one bit makes a # of that.
    folder.write("gamma", "13");
    for (program, args) in
        [("sha256sum", &["--strict", "-c"][..]), ("shasum", &["-a", "256", "--strict", "-c"])]
    {
        let Some(path) = find_program(program) else {
            skip(program, "it is not installed");
            continue;
        };
        let path = path.as_path();
        let make =
            folder.program(path).args(&args[..args.len() - 2]).args(["alpha.txt", "beta", "gamma"]);
        let list = make.run().stdout;
        let (mut taken, mut lenient) = (0, Vec::new());
        let last = list[..list.len() - 1].iter().rposition(|it| *it == b'\n').unwrap() + 1;
        assert_eq!(list[last], b'3');
        for at in (0..list.len()).step_by(19).chain([last]) {
            let with =
                |middle: &[u8], rest: usize| [&list[..at], middle, &list[at + rest..]].concat();
            let flips = [1, 16, 64].map(|bit| with(&[list[at] ^ bit], 1));
            for damaged in
                flips.into_iter().chain([with(b"", 1), with(b"\n", 0), list[..at].to_vec()])
            {
                folder.write("SHA256SUMS", &damaged);
                let ours = folder.treewide("check SHA256SUMS").run();
                let theirs = folder.program(path).args(args).arg("SHA256SUMS").run();
                // An empty line is not one of a list for shasum.
                let has_empty =
                    damaged.starts_with(b"\n") || damaged.windows(2).any(|it| it == b"\n\n");
                if ours.code == Some(0) {
                    taken += 1;
                    let text = String::from_utf8_lossy(&damaged);
                    assert!(theirs.code == Some(0) || has_empty, "{program}: {text}");
                } else if theirs.code == Some(0) {
                    lenient.push(String::from_utf8_lossy(&damaged).into_owned());
                }
            }
        }
        assert!(!lenient.is_empty(), "{program} has learnt about damaged comments");
        println!("{program}: both take {taken}, it alone takes {}: {lenient:?}", lenient.len());
    }
}

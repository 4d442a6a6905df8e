//! Damage of a list is never silent: whatever byte changes, either the check fails, or it verifies the same files by the same digests.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;
use std::thread;
use treewide_digests::{Algorithm, List, Reading};
use treewide_files::check::{ListedFiles, Note};
use treewide_files::digest::hex;
use treewide_files::list::Lines;
use treewide_files::{ErrorKind, Item, Source};

const FILES: [(&str, &[u8]); 2] = [("alpha.txt", b"hello\n"), ("beta.bin", b"bee\n")];

const ARMOR: [&str; 2] = [
    "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n",
    "-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCgAdFiEEab/1\n=olY7\n-----END PGP SIGNATURE-----\n",
];

/// The name of a list, its beginning, the text about one file, and its end. The test puts the name of the file in the place
/// of `@name@`, its length in that of `@size@`, and its digests in that of `@sha256@` and others.
const FORMS: &[(&str, &str, &str, &str)] = &[
    ("plain", "", "@sha256@  @name@\n", ""),
    ("plain", "", "@name@: @sha256 in groups@\n", ""),
    ("plain", "", "@name@:  SHA512 = @sha512 in groups@\n", ""),
    ("plain", "# @name@: 6 bytes\n", "SHA256 (@name@) = @sha256@\n", ""),
    ("plain", "# a comment\n", "@blake3@  @name@\n", ""),
    ("SHA256SUMS", "", "@sha256@ *@name@\n", ""),
    ("plain", "", "@md5@  @name@\n", ""),
    ("SHA1SUMS", "", "@sha1@  @name@\n", ""),
    ("plain", "", "@sha512@  @name@\r\n", ""),
    ("plain", "", "@sha256@  @name@\0", ""),
    ("plain", "", "SHA256 (@name@) = @sha256@\n", ""),
    ("plain", "", "BLAKE3 (@name@) = @blake3@\n", ""),
    ("plain", "", "MD5 (@name@) = @md5@\nSIZE (@name@) = @size@\n", ""),
    ("plain", "", "SHA2-256(@name@)= @sha256@\n", ""),
    ("plain", "", "sha256:@sha256@  @name@\n", ""),
    ("plain", "", "{\"path\":\"@name@\",\"digest\":\"@blake3@\",\"bytes\":6,\"error\":null}\n", ""),
    ("plain", "{\"assets\":[", "{\"name\":\"@name@\",\"digest\":\"sha256:@sha256@\"},", "{}]}\n"),
    (
        "plain",
        "{\n\"tag\": \"v1\",\n\"assets\": [\n",
        "{\n  \"name\": \"@name@\",\n  \"size\": @size@,\n  \"digest\": \"sha256:@sha256@\"\n},\n",
        "{}]}\n",
    ),
    ("plain", "[\n", "{\"name\":\"@name@\",\"size\":@size@,\n\"sha256\":\"@sha256@\"},\n", "{}]\n"),
    ("alpha.txt.sha256", "", "", "@sha256@\n"),
    ("Release", "Origin: x\nSHA256:\n", " @sha256@ @size@ @name@\n", ""),
    ("Release", "Origin: x\nMD5Sum:\n", " @md5@ @size@ @name@\n", "Date: y\n"),
    ("x.dsc", "Format: 3.0\nChecksums-Sha256:\n", " @sha256@ @size@ @name@\n", "Homepage: y\n"),
    ("plain", "Checksums-Sha256:\n", " @sha256@ @size@ @name@\n", ""),
    (
        "Packages",
        "",
        "Package: x\nFilename: @name@\nSize: @size@\nMD5sum: @md5@\nSHA256: @sha256@\nDescription-md5: 8d8f0a3c9f5e2f8d1c3f5a7b9d0e1f2a\n\n",
        "",
    ),
    (
        "plain",
        "",
        "Package: x\nDescription: y\n z\nDescription-md5: 8d8f0a3c9f5e2f8d1c3f5a7b9d0e1f2a\nFilename: @name@\nSize: @size@\nSHA256: @sha256@\n\n",
        "",
    ),
    (
        "x_Sources",
        "",
        "Package: x\nFiles:\n @md5@ @size@ @name@\nChecksums-Sha256:\n @sha256@ @size@ @name@\nDirectory: data\n\n",
        "",
    ),
    (
        "plain",
        "\nAlgorithm    Hash          Path\n---------    ----          ----\n",
        "SHA256       @sha256@       @name@\n",
        "\n",
    ),
    (
        "plain",
        "",
        "SHA256 hash of @name@:\r\n@sha256@\r\nCertUtil: -hashfile command completed successfully.\r\n",
        "",
    ),
    ("plain", ARMOR[0], "@sha256@  @name@\n", ARMOR[1]),
    ("InRelease", ARMOR[0], "SHA256:\n @sha256@ @size@ @name@\n", ARMOR[1]),
    ("manifest-sha256.txt", "", "@sha256@  data/@name@\n", ""),
    ("a.sfv", "; made by x\n", "@name@ @crc32@\n", ""),
    (
        "plain",
        "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## Invoked from: x\n",
        "@size@,@md5@,@sha256@,@name@\n",
        "",
    ),
    (
        "plain",
        "#mtree\n/set type=file\n",
        "@name@ mode=0644 size=@size@ \\\n    md5=@md5@ uid=0 \\\n    sha256digest=@sha256@\nd type=dir\n..\n",
        "",
    ),
    ("plain", "\"Algorithm\",\"Hash\",\"Path\"\r\n", "\"SHA256\",\"@sha256@\",\"@name@\"\r\n", ""),
    (
        "plain",
        "[\n",
        "  {\n    \"Algorithm\": \"SHA256\",\n    \"Hash\": \"@sha256@\",\n    \"Path\": \"@name@\"\n  },\n",
        "{}]\n",
    ),
    ("x.dist-info/RECORD", "", "@name@,sha256=@base64@,@size@\n", "x.dist-info/RECORD,,\n"),
    ("plain", "TIMESTAMP x\n", "DIST @name@ @size@ BLAKE2B @blake2b-512@ SHA512 @sha512@\n", ""),
    ("Manifest", "TIMESTAMP x\n", "DIST @name@ @size@ SHA512 @sha512@\n", ""),
    (
        ".cargo-checksum.json",
        "{\"files\":{",
        "\"@name@\":\"@sha256@\",",
        "\"data/alpha.txt\":\"@sha256@\"},\"package\":\"@sha256@\"}",
    ),
];

/// Digests of one file by all algorithms.
fn digests(content: &[u8]) -> Vec<(Algorithm, String)> {
    let of = |it: &Algorithm| match it.begin(content.len() as u64) {
        Some(mut digester) => {
            digester.update(content);
            hex(&digester.finish())
        }
        None => treewide::hash(content).to_string(),
    };
    Algorithm::ALL.iter().map(|it| (*it, of(it))).collect()
}

fn filled(text: &str, name: &str, content: &[u8]) -> String {
    let text = text.replace("@name@", name).replace("@size@", &content.len().to_string());
    let mut text = text.replace("@base64@", &URL_SAFE_NO_PAD.encode(sha256(content)));
    for (algorithm, digest) in digests(content) {
        let upper = digest.to_uppercase().into_bytes();
        let groups: Vec<_> = upper.chunks(8).map(String::from_utf8_lossy).collect();
        let lines: Vec<_> = groups.chunks(8).map(|it| it.join(" ")).collect();
        let name = format!("@{} in groups@", algorithm.name());
        text = text.replace(&name, &lines.join("\n           "));
        text = text.replace(&format!("@{}@", algorithm.name()), &digest);
    }
    text
}

fn sha256(content: &[u8]) -> Vec<u8> {
    let mut digester = Algorithm::SHA256.begin(content.len() as u64).unwrap();
    digester.update(content);
    digester.finish()
}

/// The files that a list verifies, and their digests. `None` if it fails.
fn verified(
    folder: &Path,
    list: &str,
    bytes: &[u8],
    right: &[Vec<(Algorithm, String)>],
) -> Option<BTreeSet<(String, String)>> {
    let lines = Lines::new(Cursor::new(bytes.to_vec()), false).unwrap();
    let mut files =
        ListedFiles::new(lines, List::new(&folder.join(list), Reading::default()), false);
    let mut found = BTreeSet::new();
    while let Some(item) = files.next() {
        match item {
            Item::File(task) => {
                let name = task.path.to_str()?;
                let name = name
                    .strip_prefix(folder.to_str()?)
                    .map_or(name, |it| it.trim_start_matches('/'));
                let name = name.strip_prefix("data/").unwrap_or(name);
                let at = FILES.iter().position(|(it, _)| *it == name)?;
                for (about, _) in task.about.verdicts(Err(ErrorKind::Cancelled), false) {
                    let digest = hex(about.digest());
                    let is_right = |(algorithm, it): &(Algorithm, String)| {
                        *it == digest && about.candidates().contains(algorithm)
                    };
                    // A length alone is there if the file has another, or does not exist, as here.
                    let is_size = about.candidates().is_empty();
                    if !is_size && !right[at].iter().any(is_right)
                        || about.size_wanted().is_some_and(|it| it != FILES[at].1.len() as u64)
                    {
                        return None;
                    }
                    found.extend((!is_size).then(|| (name.to_owned(), digest)));
                }
            }
            Item::Note(Note::Malformed(line)) if !line.has_digest && !line.is_cut => {}
            Item::Note(_) => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}

/// What may happen to a byte, and the list after it.
fn damaged(bytes: &[u8], at: usize) -> Vec<(&'static str, Vec<u8>)> {
    let with = |middle: &[u8], rest: usize| [&bytes[..at], middle, &bytes[at + rest..]].concat();
    let mut all = vec![
        ("a deletion", with(b"", 1)),
        ("a line end more", with(b"\n", 0)),
        ("a line end", with(b"\n", 1)),
    ];
    all.extend((0..8).map(|bit| ("a flip", with(&[bytes[at] ^ 1 << bit], 1))));
    // A list that ends with a line cannot say that there were more.
    let is_end = |at: usize| at == 0 || matches!(bytes[at - 1], b'\r' | b'\n' | b'\0');
    if !is_end(at) && !is_end(at + 1) {
        all.push(("a cut", bytes[..at].to_vec()));
    }
    all
}

/// How often a list was damaged, and the damaged lists by which fewer files are verified without a failure.
fn losses(folder: &Path, form: &(&str, &str, &str, &str)) -> (usize, Vec<String>) {
    let (list, start, entry, end) = form;
    let right = FILES.map(|(_, content)| digests(content));
    let of = |text: &str, at: usize| filled(text, FILES[at].0, FILES[at].1);
    let text = [*start, &of(entry, 0), &of(entry, 1), &of(end, 0)].concat();
    let whole = verified(folder, list, text.as_bytes(), &right);
    let whole = whole.unwrap_or_else(|| panic!("{list} fails:\n{text}"));
    let bytes = text.as_bytes();
    let (mut cases, mut lost) = (0, Vec::new());
    for at in 0..bytes.len() {
        for (what, damaged) in damaged(bytes, at) {
            cases += 1;
            if verified(folder, list, &damaged, &right).is_some_and(|it| it != whole) {
                let damaged = String::from_utf8_lossy(&damaged);
                lost.push(format!("{list}: {what} at {at}:\n{damaged}"));
            }
        }
    }
    (cases, lost)
}

#[test]
fn list_verifies_the_same_or_fails_whatever_byte_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bagit.txt"), "BagIt-Version: 1.0\n").unwrap();
    let path = folder.path();
    let of_form: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = FORMS.iter().map(|form| scope.spawn(|| losses(path, form))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    println!("damaged lists: {}", of_form.iter().map(|(cases, _)| cases).sum::<usize>());
    let lost: Vec<_> = of_form.into_iter().flat_map(|(_, lost)| lost).collect();
    let first = lost[..lost.len().min(40)].join("\n");
    assert!(lost.is_empty(), "{} lists lose a file, such as {first}", lost.len());
}

/// Whatever two lists are put together, or lines are moved, indented or quoted: either the check fails, or it verifies each digest that is
/// still there. (In a comment, a digest is there to be passed over.)
#[test]
fn list_verifies_each_digest_of_two_lists_in_one_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bagit.txt"), "BagIt-Version: 1.0\n").unwrap();
    let right = FILES.map(|(_, content)| digests(content));
    let digits: Vec<_> = right.iter().flatten().filter(|(_, it)| it.len() >= 32).collect();
    let text_of = |(_, start, entry, end): &(&str, &str, &str, &str)| {
        let of = |text: &str, at: usize| filled(text, FILES[at].0, FILES[at].1);
        [*start, &of(entry, 0), &of(entry, 1), &of(end, 0)].concat()
    };
    let (mut cases, mut lost) = (0, Vec::new());
    let mut check = |name: &str, list: String| {
        cases += 1;
        let Some(found) = verified(folder.path(), name, list.as_bytes(), &right) else { return };
        let is_found = |digest: &str| found.iter().any(|(_, it)| it == digest);
        let is_there =
            |digest: &str| list.lines().any(|it| it.contains(digest) && !it.starts_with('#'));
        lost.extend(
            digits.iter().filter(|(_, it)| is_there(it) && !is_found(it)).map(|_| list.clone()),
        );
    };
    for first in FORMS {
        let text = text_of(first);
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        for at in 0..lines.len() {
            for before in [" ", "\t", "> ", "\u{feff}", "\"", "- ", "; ", "x="] {
                let (above, below) = (lines[..at].concat(), lines[at..].concat());
                check(first.0, format!("{above}{before}{below}"));
            }
            let others = [&lines[..at], &lines[at + 1..]].concat().concat();
            check(first.0, format!("{others}{}", lines[at]));
            check(first.0, format!("{}{others}", lines[at]));
        }
        for second in FORMS {
            let other = text_of(second);
            for line in other.split_inclusive('\n').chain([&other[..]]) {
                for at in 0..=lines.len() {
                    check(first.0, [&lines[..at].concat(), line, &lines[at..].concat()].concat());
                }
            }
        }
    }
    println!("lists of two forms, and with lines that are moved: {cases}");
    assert!(lost.is_empty(), "{} lists lose a digest, such as {:?}", lost.len(), lost.first());
}

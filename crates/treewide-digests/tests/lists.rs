//! Damage of a list is never silent: whatever part of it is replaced, inserted, removed, doubled or moved, either the check fails, or each
//! file that the list still names, or has a digest of, is verified.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;
use std::thread;
use treewide_digests::{Algorithm, List, Reading};
use treewide_files::check::{ListedFiles, Note, Verdict};
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
    ("plain", "# a comment\n\n", "@blake3@ *@name@\n", "# the end\n"),
    ("plain", "", "@sha256@ ?SHA256*@name@\r\n", ""),
    ("plain", "", "@md5@ @name@\n", ""),
    ("SHA256SUMS", "", "@base64 of sha256@  @name@\n", ""),
    ("SHA1SUMS", "", "@sha1@  @name@\n", ""),
    ("plain", "", "@sha512@  @name@\r\n", ""),
    ("plain", "", "@sha256@  @name@\0", ""),
    ("plain", "# @name@: 6 bytes\n", "SHA256 (@name@) = @sha256@\n", ""),
    ("plain", "", "BLAKE3 (@name@) = @blake3@\n", ""),
    ("distinfo", "TIMESTAMP = 1234567890\n", "MD5 (@name@) = @md5@\nSIZE (@name@) = @size@\n", ""),
    ("distinfo", "", "SHA256 (@name@) = @base64 of sha256@\nSIZE (@name@) = @size@\n", ""),
    ("plain", "", "SHA2-256(@name@)= @sha256@\n", ""),
    ("plain", "", "@name@: @sha256 in groups@\n", ""),
    ("plain", "", "@name@:  SHA512 = @sha512 in groups@\n", ""),
    (
        "plain",
        "",
        "{\"path\":\"@name@\",\"digest\":\"@blake3@\",\"bytes\":@size@,\"error\":null}\n",
        "",
    ),
    (
        "plain",
        "{\"tag\":\"v1\",\"assets\":[",
        "{\"name\":\"@name@\",\"digest\":\"sha256:@sha256@\"}@,@",
        "]}\n",
    ),
    (
        "plain",
        "{\n\"name\": \"v1\",\n\"assets\": [\n",
        "{\n  \"name\": \"@name@\",\n  \"size\": @size@,\n  \"digest\": \"sha256:@sha256@\"\n}@,@\n",
        "]}\n",
    ),
    (
        "plain",
        "[\n",
        "{\"filename\":\"@name@\",\"size\":@size@,\n\"md5\":\"@md5@\",\"sha256\":\"@sha256@\"}@,@\n",
        "]\n",
    ),
    (
        "plain",
        "{\"_type\":\"x\",\"subject\":[",
        "{\"name\":\"@name@\",\"digest\":{\"sha256\":\"@sha256@\"}}@,@",
        "],\"predicate\":{}}\n",
    ),
    (
        "repodata.json",
        "{\"info\":{},\"packages\":{",
        "\"@name@\":{\"name\":\"x\",\"md5\":\"@md5@\",\"size\":@size@}@,@",
        "},\"packages.conda\":{}}\n",
    ),
    (
        "plain",
        "[\n",
        "  {\n    \"Algorithm\": \"SHA256\",\n    \"Hash\": \"@sha256@\",\n    \"Path\": \"@name@\"\n  }@,@\n",
        "]\n",
    ),
    ("alpha.txt.sha256", "", "", "@sha256@\n"),
    ("Release", "Origin: x\nSHA256:\n", " @sha256@ @size@ @name@\n", "Date: y\n"),
    (
        "x.dsc",
        "Format: 3.0\nChecksums-Sha256:\n",
        " @sha256@ @size@ @name@\n",
        "Files:\n @md5@ @size@ @name@\nHomepage: y\n",
    ),
    ("plain", "Format: 3.0\nChecksums-Sha256:\n", " @sha256@ @size@ @name@\n", ""),
    (
        "Packages",
        "",
        "Package: x\nFilename: @name@\nSize: @size@\nMD5sum: @md5@\nSHA256: @sha256@\nDescription: z\n y\n\n",
        "",
    ),
    (
        "x_Sources",
        "",
        "Package: x\nFiles:\n @md5@ @size@ @name@\nChecksums-Sha256:\n @sha256@ @size@ @name@\nDirectory: data\n\n",
        "",
    ),
    ("plain", ARMOR[0], "@sha256@  @name@\n", ARMOR[1]),
    ("InRelease", ARMOR[0], "SHA256:\n @sha256@ @size@ @name@\n@,@", ARMOR[1]),
    ("manifest-sha256.txt", "", "@sha256@  data/@name@\n", ""),
    ("a.sfv", "; made by x\n", "@name@ @crc32@\n", ""),
    (
        "plain",
        "%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## Invoked from: x\n",
        "@size@,@md5@,@sha256@,@name@\n",
        "",
    ),
    ("x.dist-info/RECORD", "", "@name@,sha256=@base64url@,@size@\n", "x.dist-info/RECORD,,\n"),
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
    let mut text =
        text.replace("@base64url@", &URL_SAFE_NO_PAD.encode(digest(Algorithm::SHA256, content)));
    for algorithm in [Algorithm::SHA256, Algorithm::SHA512] {
        let name = format!("@base64 of {}@", algorithm.name());
        text = text.replace(&name, &STANDARD.encode(digest(algorithm, content)));
    }
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

fn digest(algorithm: Algorithm, content: &[u8]) -> Vec<u8> {
    let mut digester = algorithm.begin(content.len() as u64).unwrap();
    digester.update(content);
    digester.finish()
}

/// The list of a form.
fn text_of((_, start, entry, end): &(&str, &str, &str, &str)) -> String {
    let of = |text: &str, at: usize| filled(text, FILES[at].0, FILES[at].1);
    let [first, last] =
        [of(entry, 0).replace("@,@", if end.starts_with('-') { "" } else { "," }), of(entry, 1)];
    // A field of Debian's has all entries below it.
    let last = if end.starts_with('-') { last.replace("SHA256:\n", "") } else { last };
    [start, &first[..], &last.replace("@,@", ""), &of(end, 0)].concat().replace("@name@", "")
}

/// The files that a list verifies, and whether it fails.
fn verified(
    folder: &Path,
    list: &str,
    bytes: &[u8],
    right: &[Vec<(Algorithm, String)>],
) -> Result<BTreeSet<&'static str>, String> {
    let lines = Lines::new(Cursor::new(bytes.to_vec()), false).unwrap();
    let mut files =
        ListedFiles::new(lines, List::new(&folder.join(list), Reading::default()), false);
    let mut found = BTreeSet::new();
    while let Some(item) = files.next() {
        let task = match item {
            Item::File(task) => task,
            Item::Note(Note::Settled { path, verdict: Verdict::Skipped(_), .. }) => {
                let is_of = |it: &&str| path.to_string_lossy().contains(it);
                found.extend(FILES.iter().map(|(name, _)| *name).filter(is_of));
                continue;
            }
            Item::Note(note) => return Err(format!("{note:?}")),
        };
        let name = task.path.strip_prefix(folder).unwrap_or(&task.path);
        let name = name.to_str().ok_or("name")?;
        let name = name.strip_prefix("data/").unwrap_or(name);
        let at =
            FILES.iter().position(|(it, _)| *it == name).ok_or_else(|| format!("no {name}"))?;
        for (about, _) in task.about.verdicts(Err(ErrorKind::Cancelled), false) {
            let digest = hex(about.digest());
            let is_right = |(algorithm, it): &(Algorithm, String)| {
                *it == digest && about.candidates().contains(algorithm)
            };
            // A length alone.
            let is_size = about.candidates().is_empty();
            if !is_size && !right[at].iter().any(is_right)
                || about.size_wanted().is_some_and(|it| it != FILES[at].1.len() as u64)
            {
                return Err(format!("{name} differs"));
            }
            found.extend((!is_size).then_some(FILES[at].0));
        }
    }
    if found.is_empty() { Err("nothing".into()) } else { Ok(found) }
}

/// Numbers that repeat from run to run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// The words of a text and what is between them, or its lines.
fn parts(text: &[u8], by_line: bool) -> Vec<&[u8]> {
    match by_line {
        true => text.split_inclusive(|it| matches!(it, b'\n' | b'\0')).collect(),
        false => {
            text.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()).collect()
        }
    }
}

/// Texts that mean something in a list.
const TOKENS: &[&[u8]] = &[
    b"#",
    b"# ",
    b"##",
    b"; ",
    b"\\",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\0",
    b" ",
    b"  ",
    b"\t",
    b" *",
    b"?",
    b":",
    b": ",
    b"=",
    b",",
    b"\"",
    b"- ",
    b"-",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"0",
    b"\"x\":1,",
    b"\"name\":\"x\",",
    b"],\"x\":[",
    b"},\"x\":{",
    b"\xef\xbb\xbf",
    b"\x1a",
    b"optional ",
    b" type=dir",
    b"IGNORE ",
    b"Description: ",
    b"Description:\n",
    b"x",
    b"../",
    b"./",
    b".pyc",
    b"SIZE (alpha.txt) = 6\n",
    b"-----BEGIN PGP SIGNED MESSAGE-----\n\n",
    b"-----END PGP SIGNATURE-----\n",
    b"UNSUPPORTED",
    b"WHIRLPOOL",
    b"..\n",
    b"/set type=dir\n",
];

/// The places of all values in a document.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    found.push(place.into());
    let mut below = |key: &str, it: &Value| places(it, &format!("{place}/{key}"), found);
    match value {
        Value::Object(object) => object.iter().for_each(|(key, it)| below(key, it)),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, it)| below(&at.to_string(), it));
        }
        _ => {}
    }
}

/// A document with a value in another place, by another key, and as a map of names to digests.
fn moved(random: &mut Random, text: &[u8]) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(text).ok()?;
    let mut all = Vec::new();
    places(&document, "", &mut all);
    // Digests of others are there.
    all.retain(|it| !it.contains("/predicate"));
    let (from, to) = (&all[random.below(all.len())], &all[random.below(all.len())]);
    let (parent, key) = from.rsplit_once('/')?;
    let mut value = document.pointer(from)?.clone();
    if value.is_object() && random.below(2) == 0 {
        let mut below = Vec::new();
        places(&value, "", &mut below);
        let texts: Vec<_> = below.iter().filter_map(|it| value.pointer(it)?.as_str()).collect();
        let name = texts.iter().find(|it| FILES.iter().any(|(name, _)| name == *it));
        let digest = texts.iter().max_by_key(|it| it.len())?;
        let name = name.unwrap_or(&key);
        let of_name = random.below(2) == 0;
        let (first, second) = if of_name { (name, digest) } else { (digest, name) };
        value = serde_json::json!({ *first: second });
    }
    match document.pointer_mut(parent)? {
        Value::Object(object) => drop(object.remove(key)),
        Value::Array(values) => drop(values.remove(key.parse().ok()?)),
        _ => {}
    }
    let keys = ["x", "sha256", "digest", "name", "files", "assets", "packages", key];
    match document.pointer_mut(to)? {
        Value::Object(object) => drop(object.insert(random.of(&keys).into(), value)),
        Value::Array(values) => values.push(value),
        other => *other = value,
    }
    Some(document.to_string().into())
}

/// A text with one change.
fn edited(random: &mut Random, text: &[u8], others: &[&[u8]]) -> Vec<u8> {
    if random.below(3) == 0
        && let Some(document) = moved(random, text)
    {
        return document;
    }
    let by_line = random.below(2) == 0;
    let mut all = parts(text, by_line);
    let at = random.below(all.len());
    let mut byte = all[at].to_vec();
    let of_other = |random: &mut Random, by_line| {
        let other = random.of(others);
        random.of(&parts(other, by_line))
    };
    let other = match (random.below(3), by_line) {
        (0, false) => random.of(TOKENS),
        (0, true) => of_other(random, true),
        (1, _) => all[random.below(all.len())],
        _ => of_other(random, by_line),
    };
    match random.below(8) {
        0 => all[at] = other,
        1 => all.insert(at, other),
        2 => drop(all.remove(at)),
        3 => all.insert(at, all[at]),
        4 => {
            let part = all.remove(at);
            all.insert(random.below(all.len() + 1), part);
        }
        5 => {
            all.truncate(at);
            all.push(&byte[..random.below(byte.len())]);
        }
        _ => {
            let place = random.below(byte.len());
            match random.below(3) {
                0 => drop(byte.remove(place)),
                1 => byte[place] ^= 1 << random.below(8),
                _ => byte.insert(place, random.of(TOKENS)[0]),
            }
            all[at] = &byte;
        }
    }
    all.concat()
}

/// Edits of each form: a factor of `TREEWIDE_TEST_SCALE`.
const EDITS: f64 = 300.0;

#[test]
fn list_verifies_each_file_that_it_names_or_fails_whatever_part_is_edited() {
    let scale = std::env::var("TREEWIDE_TEST_SCALE").map_or(1.0, |it| it.parse().unwrap());
    let edits = (EDITS * scale) as u64;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bagit.txt"), "BagIt-Version: 1.0\n").unwrap();
    let right = FILES.map(|(_, content)| digests(content));
    let texts: Vec<_> = FORMS.iter().map(text_of).collect();
    let others: Vec<_> = texts.iter().map(|it| it.as_bytes()).collect();
    let losses = |form: usize| {
        let (list, text) = (FORMS[form].0, others[form]);
        let whole = verified(folder.path(), list, text, &right);
        let whole = whole.unwrap_or_else(|it| panic!("{list} fails: {it}\n{}", texts[form]));
        let mut random = Random(form as u64);
        let (mut lost, mut good) = (Vec::new(), 0);
        for _ in 0..edits {
            let edited = edited(&mut random, text, &others);
            let Ok(found) = verified(folder.path(), list, &edited, &right) else { continue };
            good += 1;
            let text = String::from_utf8_lossy(&edited).to_lowercase();
            // Comments may name files.
            let lines = || text.split(['\n', '\0']).filter(|it| !it.starts_with(['#', ';']));
            let is_lost = |name: &&&str| {
                let at = FILES.iter().position(|(it, _)| it == *name).unwrap();
                let is_there = lines().any(|it| it.contains(**name))
                    || right[at].iter().any(|(_, it)| it.len() > 8 && text.contains(it));
                is_there && !found.contains(**name)
            };
            lost.extend(
                whole.iter().filter(is_lost).map(|name| format!("{list} loses {name}:\n{text}")),
            );
        }
        (good, lost)
    };
    let (mut good, mut lost) = (0, Vec::new());
    let half = FORMS.len() / 2;
    thread::scope(|scope| {
        let threads = [0..half, half..FORMS.len()]
            .map(|it| scope.spawn(|| it.map(&losses).collect::<Vec<_>>()));
        for (of_form, of_lost) in threads.into_iter().flat_map(|it| it.join().unwrap()) {
            good += of_form;
            lost.extend(of_lost);
        }
    });
    println!("edited lists: {}; {good} verify what they name", edits * FORMS.len() as u64);
    let first = lost[..lost.len().min(40)].join("\n");
    assert!(lost.is_empty(), "{} lists lose a file, such as {first}", lost.len());
}

//! A file that a list names is verified, or the run fails.
//!
//! A list may name a file in a way that means another: blanks or `\r` at its end, an asterisk before it, `-`, two lines in one, also with
//! `--ignore-missing`; or a named pipe, for which the run would wait for ever.

use crate::support::{Folder, hex, sums};
use std::collections::BTreeMap;
use std::fs;

#[test]
fn a_name_is_not_another_name() {
    let folder = Folder::with(&["a", "b", "*b", "?BLAKE3*b", "c\r", "c", "-"]);
    let b = hex("b");
    for list in [
        // Two readings, and both files are there.
        format!("{b} *b\n"),
        format!("{b} ?BLAKE3*b\n"),
        format!("{}  c\r\n", hex("c")),
        format!("{}  -\n", hex("")),
        // Not the file without these.
        format!("{b}  b \n"),
        format!("{b}  b\t\n"),
        format!("{b} b \n"),
        format!("{b}  b/\n"),
        format!("{b}  b/.\n"),
        format!("{b}  ./b\r\r\n"),
        format!("{b}  b{}  a\n", hex("a")),
    ] {
        let list = sums(&["a"]) + &list;
        folder.write("list", &list);
        for flags in ["", "--ignore-missing"] {
            let ended = folder.treewide(&format!("check list {flags}")).run();
            assert!(matches!(ended.code, Some(1 | 3)), "{list:?} {flags}: {ended:?}");
        }
    }
}

/// `/dev/zero` has no end.
#[test]
fn pipes_and_devices_are_reported_and_not_read() {
    let folder = Folder::with(&["a"]);
    folder.fifo("pipe");
    std::os::unix::fs::symlink("/dev/zero", folder.join("link")).unwrap();
    folder.write("list", sums(&["a", "pipe", "/dev/zero", "link"]));
    for flags in ["", "--ignore-missing", "--strategy=pread", "--strategy=read"] {
        let ended = folder.treewide(&format!("check list {flags}")).run();
        ended.fails(3, &["1 OK, 3 could not be read"]);
        assert_eq!(
            ended.text(),
            "a: OK\n\
             pipe: FAILED (is a pipe, which a list cannot vouch for)\n\
             /dev/zero: FAILED (is a character device, which a list cannot vouch for)\n\
             link: FAILED (is a character device, which a list cannot vouch for)\n"
        );
    }
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

    fn name(&mut self) -> String {
        let parts =
            ["a", "b", " ", "-", "\n", "\\", ".", "\r", "\t", "*", "(", ") = ", "?BLAKE3*", "\\n"];
        loop {
            let len = 1 + self.below(4);
            let name: String = (0..len).map(|_| self.of(&parts)).collect();
            if name != "." && name != ".." {
                return name;
            }
        }
    }
}

/// The form of a line, with the escapes that a list has if it has any.
fn line(form: usize, name: &str, digest: &str) -> String {
    let escaped = name.replace('\\', r"\\").replace('\n', r"\n").replace('\r', r"\r");
    let (mark, shown) = if escaped == name { ("", name) } else { ("\\", &escaped[..]) };
    match form {
        0 => format!("{mark}{digest}  {shown}"),
        1 => format!("{mark}BLAKE3 ({shown}) = {digest}"),
        2 => serde_json::json!({"path": name, "digest": digest}).to_string(),
        3 => format!("{digest} {name}"),
        4 => format!("{mark}blake3({shown})= {digest}"),
        5 => format!("{mark}{digest} *{shown}"),
        _ => format!("{digest} ?BLAKE3*{name}"),
    }
}

/// Every name of the list, as its writer meant it, has its digest, or the run fails.
#[test]
fn a_check_succeeds_only_if_every_name_has_its_digest() {
    let mut random = Random(31);
    let (mut good, mut bad) = (0, 0);
    for round in 0..400 {
        let folder = Folder::new();
        let mut tree = BTreeMap::new();
        for _ in 0..1 + random.below(6) {
            let mut name = random.name();
            if random.below(4) == 0 {
                name = format!("d/{name}");
            }
            // Few contents, so that another file often has the digest of a listed one.
            let content = random.of(&["x", "y"]);
            folder.write(&name, content);
            tree.insert(name, content);
        }
        let (mut list, mut listed) = (String::new(), Vec::new());
        let (end, form) = (random.of(&["\n", "\n", "\r\n"]), random.below(7));
        for (name, content) in &tree {
            let mut name = name.clone();
            match random.below(20) {
                0 => name += random.of(&[" ", "/", ".", "/.", "\t", "\r"]),
                1 => name = random.name(),
                2 => name = format!("./{name}"),
                _ => {}
            }
            // Programs do not write these for such names.
            let is_odd =
                name.contains('\n') || name.ends_with('\r') || name.starts_with([' ', '*', '?']);
            if matches!(form, 3 | 6) && is_odd {
                continue;
            }
            list += &(line(form, &name, &hex(content)) + end);
            listed.push((name, *content));
        }
        let expected = listed.iter().all(|(name, content)| {
            fs::read(folder.join(name)).is_ok_and(|found| found == content.as_bytes())
        });
        let flags = random.of(&["", "--status", "--quiet"]);
        let ended = folder.treewide(&format!("check {flags}")).stdin(&list).run();
        if ended.code == Some(0) {
            assert!(expected, "round {round}: {list:?} of {tree:?}: {ended:?}");
            good += 1;
        } else {
            assert!(matches!(ended.code, Some(1 | 3)), "round {round}: {list:?}: {ended:?}");
            bad += 1;
        }
    }
    println!("{good} lists were verified, {bad} were not");
    assert!(good > 100 && bad > 50, "{good} {bad}");
}

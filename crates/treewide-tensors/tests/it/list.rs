//! Lists of tensors: as they are written, and each fault.

use treewide_tensors::{TensorDigest, Tensors, list};

fn tensor(dtype: &str, shape: &[u64], byte: u8) -> TensorDigest {
    TensorDigest { dtype: dtype.into(), shape: shape.to_vec(), digest: [byte; 32] }
}

#[test]
fn list_is_read_as_it_was_written() {
    let names =
        ["", "a", "a.b", "a\u{1}", "a b", "odd \\ name\twith\r\ntab", "ünï", "\\n", "\u{1b}[2J"];
    let tensors: Tensors = (0..)
        .zip(names)
        .map(|(byte, name)| (name.to_owned(), tensor("BF16", &[u64::from(byte), 3], byte)))
        .collect();
    let text = list::text(&tensors);
    assert_eq!(list::parse(text.as_bytes()).unwrap(), tensors);
    let rest: Vec<_> = text.lines().map(|line| &line.as_bytes()[66..]).collect();
    assert!(rest.is_sorted(), "{text}");
    assert!(text.contains("  odd \\\\ name\\twith\\r\\ntab\tBF16\t[5,3]\n"), "{text}");
    let scalar = Tensors::from_iter([("x".to_owned(), tensor("F32", &[], 0))]);
    assert_eq!(list::text(&scalar), format!("{}  x\tF32\t[]\n", "00".repeat(32)));
    assert_eq!(list::parse(&b""[..]).unwrap(), Tensors::default());
}

#[test]
fn list_of_every_fault_is_refused() {
    let digest = "0".repeat(64);
    let line = |rest: &str| format!("{digest}  {rest}");
    let cases = [
        (line("b\tF32\t[]\n") + &line("a\tF32\t[]\n"), "2: is before the line above it; sort"),
        (line("a\tF32\t[]\n") + &line("a\tF32\t[]\n"), "2: the tensor 'a' is there twice"),
        (line("a\tF32\t[]\n") + &line("a\tF64\t[]\n"), "2: the tensor 'a' is there twice"),
        (line("a\tF64\t[]\n") + &line("a\tF32\t[]\n"), "2: the tensor 'a' is there twice"),
        (line("a\tF32\t[]\r\n"), "1: ends in CR LF"),
        (line("a\tF32\t[]"), "1: is cut off"),
        (line("a\tF32\t[]\n") + "\n", "2: is not 64"),
        (line("a\tF32\n"), "1: is not 64"),
        (line("a\tF 2\t[]\n"), "1: is not 64"),
        (line("a\tF32\t[]\t\n"), "1: is not 64"),
        (line("a\tF32\t[1, 2]\n"), "1: is not 64"),
        (line("a\tF32\t[01]\n"), "1: is not 64"),
        (line("a\tF32\t[+1]\n"), "1: is not 64"),
        (line("a\tF32\t[1,]\n"), "1: is not 64"),
        (line("a\tF32\t[18446744073709551616]\n"), "1: is not 64"),
        (line("a\\x\tF32\t[]\n"), "1: has a name with CR"),
        (line("a\\\tF32\t[]\n"), "1: has a name with CR"),
        (line("a\rb\tF32\t[]\n"), "1: has a name with CR"),
        (line("a\tF32\t[]\n").replacen('0', "A", 1), "1: is not 64"),
        (format!("{digest} *a\tF32\t[]\n"), "1: is not 64"),
        ("ä".repeat(40) + "\n", "1: is not 64"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in &cases {
        let path = crate::files::write(folder.path(), "x.tensors.b3", text);
        let found = list::read(&path).unwrap_err().to_string();
        let (name, rest) = found.split_at(path.as_os_str().len());
        assert_eq!(name, path.display().to_string());
        assert!(rest[1..].starts_with(expected), "{found}\n{expected}");
    }
    let path = crate::files::write(folder.path(), "x.tensors.b3", b"\xff\n");
    assert!(list::read(path).unwrap_err().to_string().ends_with("1: is not UTF-8"));
    println!("lists: {} faults", cases.len() + 1);
}

#[cfg(unix)]
#[test]
fn list_that_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("x.tensors.b3");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = list::read(&pipe).unwrap_err().to_string();
    assert!(error.contains("x.tensors.b3") && error.contains("is not a regular file"), "{error}");
}

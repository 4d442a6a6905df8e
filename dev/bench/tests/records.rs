//! Records are valid, and tables in documents are made of the records that they name.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bench(args: &[&str]) -> (bool, String) {
    let program = env!("CARGO_BIN_EXE_treewide-bench");
    let output = Command::new(program).current_dir(root()).args(args).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn records_are_valid() {
    let mut count = 0;
    for machine in std::fs::read_dir(root().join("results")).unwrap() {
        // Next to the folders is a file that describes them.
        for file in std::fs::read_dir(machine.unwrap().path()).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|it| it == "json") {
                let (valid, said) = bench(&["validate", "--record", path.to_str().unwrap()]);
                assert!(valid, "{said}");
                count += 1;
            }
        }
    }
    assert!(count > 0, "there are no records");
    println!("{count} cases");
}

/// The tables of a document between its comments, as they stand.
fn tables(text: &str) -> usize {
    text.matches("<!-- end -->").count()
}

#[test]
fn report_into_leaves_documents_as_they_are() {
    let mut cases = 0;
    for document in ["README.md", "docs/performance.md"] {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        assert!(tables(&text) > 0, "{document} has no tables");
        // It changes nothing now, and restores a table that was edited.
        let edited = text.replacen(" GB/s", " MB/s", 3);
        assert_ne!(edited, text);
        for before in [&text, &edited] {
            let dir = tempfile::tempdir().unwrap();
            let copy = dir.path().join(document);
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            // Only the records that the document names are needed, and links need rights on Windows.
            for machine in std::fs::read_dir(root().join("results")).unwrap() {
                let machine = machine.unwrap();
                for file in std::fs::read_dir(machine.path()).into_iter().flatten() {
                    let file = file.unwrap();
                    if file.path().extension().is_some_and(|it| it == "json") {
                        let folder = dir.path().join("results").join(machine.file_name());
                        std::fs::create_dir_all(&folder).unwrap();
                        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
                    }
                }
            }
            std::fs::write(&copy, before).unwrap();
            assert!(bench(&["report", "--into", copy.to_str().unwrap()]).0);
            let after = std::fs::read_to_string(&copy).unwrap();
            assert_eq!(after, text, "{document} differs from its records");
        }
        cases += tables(&text);
    }
    println!("{cases} cases");
}

#[test]
fn report_into_names_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let document = dir.path().join("x.md");
    for (text, words) in [
        ("no tables", "has no table"),
        (
            "<!-- machines\nA = b\nrows = hash 3 B\n-->\n<!-- end -->",
            "no record has a row 'hash 3 B'",
        ),
        ("<!-- machines\nA\n-->\n<!-- end -->", "'A' has no ' = '"),
        ("<!-- machines\nA = b\n-->\n", "has no '<!-- end -->'"),
        ("<!-- nowhere.json -->\n<!-- end -->", "nowhere.json"),
    ] {
        std::fs::write(&document, text).unwrap();
        let program = env!("CARGO_BIN_EXE_treewide-bench");
        let args = ["report", "--into", document.to_str().unwrap()];
        let output = Command::new(program).args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(words), "{text}: {said}");
        assert_eq!(std::fs::read_to_string(&document).unwrap(), text);
    }
}

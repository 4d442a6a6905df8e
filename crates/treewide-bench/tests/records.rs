//! Records are what they say, and the tables in README.md are those of the records they name.

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
        // Beside the folders is what tells about them.
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

#[test]
fn tables_in_the_readme_are_those_of_records() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut tables = 0;
    let mut rest = readme.as_str();
    while let Some((_, after)) = rest.split_once("<!-- results/") {
        let (record, after) = after.split_once(" -->\n").expect("the end of a comment");
        let (table, after) = after.split_once("<!-- end -->").expect("the end of a table");
        let (_, expected) = bench(&["report", "--markdown", &format!("results/{record}")]);
        assert!(!expected.is_empty(), "results/{record} has no table");
        assert_eq!(table, expected, "README.md differs from results/{record}");
        tables += 1;
        rest = after;
    }
    assert!(tables > 0, "README.md names no records");
    // What writes them anew changes nothing now, and mends what was edited.
    #[cfg(unix)]
    for edited in [readme.clone(), readme.replacen(" ns,", " ps,", 3)] {
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("README.md");
        let results = root().canonicalize().unwrap().join("results");
        std::os::unix::fs::symlink(results, dir.path().join("results")).unwrap();
        std::fs::write(&copy, edited).unwrap();
        assert!(bench(&["report", "--into", copy.to_str().unwrap()]).0);
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), readme);
    }
    println!("{tables} cases");
}

//! Which directory a run takes, and which files of it an output replaces.

use crate::guards::Case;
use crate::support::TREEWIDE;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// `photos` stands next to `photos.b3`, and is an empty mount point: the current directory, which has the names, is a backup.
#[test]
fn current_directory_is_not_taken_for_one_that_is_there() {
    let case = Case::new();
    let inside = |dir: &str, command: &str| {
        let program = case.folder.program("env").args(["-C", dir, TREEWIDE]);
        program.args(command.split_whitespace()).run()
    };
    fs::create_dir_all(case.folder.join("photos")).unwrap();
    for end in ["", ".tw"] {
        let [from, to] = ["p.b3", "photos.b3"].map(|it| case.folder.join(format!("{it}{end}")));
        fs::rename(from, to).unwrap();
    }
    let pair = || ["photos.b3", "photos.b3.tw"].map(|it| fs::read(case.folder.join(it)).unwrap());
    let before = pair();
    for command in ["verify", "verify --quick", "update", "scrub -q", "update --full"] {
        let says = ["photos.b3: nothing that it lists is in", "photos", "this directory", "mount"];
        inside("t", &format!("{command} ../photos.b3")).fails(3, &says);
        assert!(pair() == before, "{command}");
    }
    inside("t", "verify ../photos.b3 .").fails(0, &[]);
    // One name that is missing does not lead elsewhere.
    case.folder.write("photos/f1", "content of f1");
    case.folder.write("t/f2", "of the backup");
    inside("t", "verify ../photos.b3").fails(1, &["1 touched, 3 removed"]);
    // Without it, this directory is the one.
    fs::remove_dir_all(case.folder.join("photos")).unwrap();
    inside("t", "update ../photos.b3").fails(0, &["1 changed"]);
}

/// A name that a list cannot have is in the index.
#[test]
fn report_spares_files_that_only_the_index_names() {
    let case = Case::new();
    let name = OsStr::from_bytes(b"t/\xff");
    fs::write(case.folder.join(name), "mine").unwrap();
    case.run("update p.b3 t").is_code(0);
    for command in ["verify p.b3 t --json -o", "diff p.b3 t -o", "verify p.b3 t --html"] {
        let ended = case.folder.treewide(command).arg(name).run();
        ended.fails(2, &["is in the list, and the output would replace it"]);
        assert_eq!(fs::read(case.folder.join(name)).unwrap(), b"mine");
    }
}

//! The progress display: there when it helps, and never in the way. On terminals: terminals.rs.

use crate::support::{Folder, sums, wait_for};

#[test]
fn there_is_none_without_a_terminal() {
    let folder = Folder::with(&["a"]);
    folder.treewide("sum a").run().is(0, sums(&["a"]), "");
    folder.treewide("sum a --no-progress").run().is(0, sums(&["a"]), "");
    folder.treewide("sum a --progress --no-progress").run().is(0, sums(&["a"]), "");
}

#[test]
fn asked_for_it_comes_in_lines() {
    let folder = Folder::with(&["d/a", "d/b"]);
    folder.write("list", sums(&["d/a", "d/b"]));
    for args in ["sum --progress d/a d/b", "sum --progress -r d", "check --progress list"] {
        folder.treewide(args).run().fails(0, &["progress: 2 files, 6 B", "/s\n"]);
    }
}

#[test]
fn the_total_is_that_of_the_files() {
    let folder = Folder::with(&["d/a", "d/e/b", "c"]);
    folder.write("list", sums(&["d/a", "c"]));
    for (args, total) in [
        ("sum --progress c d/a", Some("4 B of 4 B")),
        ("sum --progress -r d c", Some("9 B of 9 B")),
        ("check --progress list", Some("4 B of 4 B")),
        ("sum --progress c -", None),
        ("sum --progress c missing", Some("1 B of 1 B")),
    ] {
        // The total is counted while files are being hashed, which may be over first with so little to do.
        let ended = wait_for(|| {
            let ended = folder.treewide(args).run();
            (total.is_none() || ended.stderr.contains(" B of ")).then_some(ended)
        });
        match total {
            Some(total) => assert!(ended.stderr.contains(total), "{args}: {}", ended.stderr),
            None => assert!(!ended.stderr.contains(" of "), "{args}: {}", ended.stderr),
        }
    }
}

//! `X.b3@WHEN`, `history` and `--forget`.

use crate::contents::{folder, runs};
use crate::support::hex;

#[test]
fn manifest_is_shown_as_it_was() {
    let folder = folder("photos/a=one photos/b=two usb/b=two");
    let (one, two) = (hex("one"), hex("two"));
    runs(
        &folder,
        &format!(
            "snapshot -q photos | 0 | |
             manifest lines photos.b3@-0 | 0 | {one}  a; {two}  b |
             history photos.b3 | 0 | | 0 runs changed photos.b3
             $ rm photos/b; printf new >photos/c
             update -q photos.b3 | 0 | |
             manifest lines photos.b3@-1 | 0 | {one}  a; {two}  b |
             manifest lines photos.b3@9999-01-01 | 0 | {one}  a; {new}  c |
             verify -q --only b photos.b3@-1 usb | 0 | |
             verify -q photos.b3@-1 | 1 | REMOVED  b; ADDED    c | 3 entries
             diff -q photos.b3@-1 photos.b3 | 1 | REMOVED  b; ADDED    c |
             dupes -q photos.b3@-1 usb | 0 | 3 B  2 files of 3 B; photos.b3@-1:b; usb/b |
             missing photos.b3@-1 photos usb | 0 | | all 2 files of photos.b3@-1 are also in the others (read now)
             missing photos.b3@-1 photos | 1 | b | 1 of 2 files
             missing photos photos.b3@-1 | 2 | | photos.b3@-1: has the files of then, which may be gone
             update photos.b3@-1 | 2 | | photos.b3@-1: is what photos.b3 was, and is only read; name photos.b3
             scrub photos.b3@-1 photos | 2 | | is only read
             verify photos.b3@-2 | 3 | | nothing before that is known
             verify photos.b3@2000-01-01 | 3 | | nothing before that is known
             verify photos.b3@noon | 2 | | noon is not a time; write a day
             verify none.b3@-1 | 3 | | none.b3@-1: cannot read
             history photos.b3 none | 3 | | nothing was recorded under
             $ printf other >photos/a
             update -q photos.b3 | 0 | |",
            new = hex("new"),
        ),
    );
    let lines = |args: &str| -> Vec<String> {
        let ended = folder.treewide(args).run();
        ended.fails(0, &[]);
        // Without the time.
        let cut = |line: &str| match line.split_once("  ") {
            Some((first, rest)) if first.ends_with('Z') => rest.to_owned(),
            _ => line.split(" until ").next().unwrap_or(line).to_owned(),
        };
        ended.text().lines().map(cut).collect()
    };
    assert_eq!(lines("history photos.b3"), ["1 changed", "1 new, 1 gone"]);
    let of_a = [format!("{}  5 B  now", hex("other")), format!("{one}  3 B ")];
    assert_eq!(lines("history photos.b3 a"), of_a);
    let ended = folder.treewide("history --json photos.b3 b").run();
    let row: serde_json::Value =
        serde_json::from_str(ended.text().lines().next().unwrap()).unwrap();
    assert_eq!((&row["digest"], &row["bytes"]), (&two.into(), &3.into()));
    assert!(row["until"].as_str().unwrap().ends_with('Z'));
    runs(
        &folder,
        "update -q --forget 1y photos.b3 | 0 | |
         update --forget 3 photos.b3 | 2 | | is not an age: write 90d, 1y or all
         scrub -q --forget all photos.b3 | 0 | |
         verify photos.b3@-1 | 3 | | nothing before that is known
         history photos.b3 b | 3 | | nothing was recorded under",
    );
    assert_eq!(lines("history photos.b3"), ["records until then are forgotten"]);
}

//! The counts of a check, and that a list which proves nothing is never good.

use std::fs;
use treewide_digests::Reading;
use treewide_digests::check::{Check, Event, ListEnd, Status};
use treewide_files::Options;

#[test]
fn check_fails_where_a_list_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, list) = (folder.path().join("a"), folder.path().join("SUMS"));
    fs::write(&path, "a").unwrap();
    // Lists have no backslashes.
    let (hex, path) = (treewide::hash(b"a").to_hex(), path.to_str().unwrap().replace('\\', "/"));
    let check = |digest_len, text: &str| {
        fs::write(&list, text).unwrap();
        let reading = Reading { digest_len, ..Reading::default() };
        let check = Check { reading, ..Check::default() };
        let mut results = check.run(vec![list.clone()], &Options::new());
        let mut ends = results.by_ref().filter_map(|event| match event {
            Event::ListEnd(ListEnd { counts, is_cut, .. }) => Some((counts, is_cut)),
            _ => None,
        });
        let (counts, is_cut) = ends.next().unwrap();
        let of = [Status::Ok, Status::Failed, Status::Unverified].map(|it| counts.of(it));
        ((of, counts.malformed, is_cut), results.total().is_good())
    };
    for (text, expected) in [
        (String::new(), ([0, 0, 0], 0, false)),
        ("# a comment\n\n".into(), ([0, 0, 0], 0, false)),
        ("prose\n".into(), ([0, 0, 0], 1, false)),
        (format!("{}  {path}\n", &hex[..16]), ([0, 0, 1], 0, false)),
        (format!("{hex}  {path}\u{fffd}\n"), ([0, 0, 1], 0, false)),
        // The second line is cut off in the digest, then before it.
        (format!("{hex}{hex}  {path}\n{hex}  {path}"), ([0, 1, 0], 1, true)),
        (format!("{hex}  {path}\n{hex}"), ([1, 0, 0], 1, true)),
        // A digest alone, as where a program has put the name on the next line.
        (format!("{hex}  {path}\n{hex}\n{path}\n"), ([1, 0, 0], 2, false)),
    ] {
        assert_eq!(check(None, &text), (expected, false), "{text:?}");
    }
    let short = format!("{}  {path}\n", &hex[..16]);
    assert_eq!(check(Some(8), &short), (([1, 0, 0], 0, false), true));
}

//! Duplicates, equal folders, and what is missing: lists, manifests and directories, also hostile ones. One file although it is
//! long: the cases share their small trees.

use std::fs;
use std::path::{Path, PathBuf};
use treewide_manifest::found::{Found, Group, Kind};
use treewide_manifest::{Dupes, Error, Evidence, Missing, Options, dupes, missing, snapshot};

struct Place(tempfile::TempDir);

impl Place {
    /// With files of these names and contents.
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(name, content)| place.write(name, content.as_bytes()));
        place
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The list of these names and contents.
    fn list(&self, list: &str, files: &[(&str, &str)]) -> PathBuf {
        let line = |(name, content): &(&str, &str)| {
            format!("{}  {name}\n", treewide::hash(content.as_bytes()))
        };
        self.write(list, files.iter().map(line).collect::<String>().as_bytes());
        self.join(list)
    }

    fn snapshot(&self, dir: &str) -> PathBuf {
        crate::common::aged::age(self.0.path());
        let list = self.join(&format!("{dir}.b3"));
        snapshot(&self.join(dir), &list, &Options::new()).unwrap();
        list
    }
}

/// Reclaimable bytes and names of each group; those of folders end in `/`.
fn groups(found: Found) -> Vec<(Option<u64>, Vec<String>)> {
    let names = |group: &Group| {
        let slash = if group.kind == Kind::Folders { "/" } else { "" };
        let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned() + slash;
        group.members.iter().map(|it| format!("{}:{}", it.root, name(&it.name))).collect()
    };
    found.map(|it| it.unwrap()).map(|it| (it.reclaimable, names(&it))).collect()
}

fn of<P: AsRef<Path>>(operands: &[P]) -> Vec<(Option<u64>, Vec<String>)> {
    groups(dupes(operands, &Options::new()).unwrap())
}

fn group(reclaimable: impl Into<Option<u64>>, names: &[&str]) -> (Option<u64>, Vec<String>) {
    (reclaimable.into(), names.iter().map(|it| (*it).to_owned()).collect())
}

fn refused<T>(result: Result<T, Error>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

fn lost(first: &Path, others: &[&Path], names: bool) -> Vec<String> {
    let found = Missing::new().names(names).run(first, others, &Options::new()).unwrap();
    found.map(|it| String::from_utf8_lossy(&it.unwrap().name).into_owned()).collect()
}

#[test]
fn dupes_of_a_directory_a_manifest_and_a_list_are_the_same() {
    let place = Place::with(&[
        ("t/a", "one"),
        ("t/b", "three times"),
        ("t/c", "one"),
        ("t/d", "three times"),
        ("t/e/f", "three times"),
        ("t/g", "oni"),
        ("t/h", ""),
        ("t/i", ""),
    ]);
    let expected = [group(22, &["0:b", "0:d", "0:e/f"]), group(3, &["0:a", "0:c"])];
    let found = dupes(&[place.join("t")], &Options::new()).unwrap();
    // The files with a size that another has, and no empty ones.
    assert_eq!((found.read(), found.totals().redundant), ((6, 42), 3));
    assert_eq!(groups(found), expected);
    let manifest = place.snapshot("t");
    assert_eq!(of(&[&manifest]), expected);
    let found = dupes(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(found.read(), (6, 42), "no record stands for a file");
    let found = Dupes::new().quick(true).run(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(found.read(), (0, 0), "the manifest next to it knows them");
    assert_eq!(found.roots()[0].known(), Some((&*manifest, 6)));
    let group = found.last().unwrap().unwrap();
    assert_eq!(group.members[0].evidence, Some(Evidence::Metadata));
    fs::remove_file(place.join("t.b3.tw")).unwrap();
    let unknown = expected.map(|(_, names)| (None, names));
    assert_eq!(of(&[&manifest]), unknown);
    let with_empty = Dupes::new().empty(true).run(&[&manifest], &Options::new()).unwrap();
    assert_eq!(groups(with_empty).len(), 3);
}

#[test]
fn dupes_of_equal_folders_are_one_group_and_counted_once() {
    let place = Place::with(&[
        ("t/x/p", "content"),
        ("t/x/q", "content"),
        ("t/x/in/r", "other"),
        ("t/y/p", "content"),
        ("t/y/q", "content"),
        ("t/y/in/r", "other"),
        ("t/z/r", "other"),
        ("t/x.txt", "alone"),
    ]);
    let expected = [
        group(19, &["0:x/", "0:y/"]),
        // What is twice in the folder that stays.
        group(7, &["0:x/p", "0:x/q"]),
        group(5, &["0:x/in/", "0:z/"]),
    ];
    assert_eq!(of(&[place.join("t")]), expected);
    assert_eq!(of(&[place.snapshot("t")]), expected);
    let files = Dupes::new().folders(false).run(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(files.totals().reclaimable, 19 + 7 + 5);
    assert_eq!(groups(files).len(), 2);
}

#[test]
fn dupes_of_a_directory_that_holds_itself_twice() {
    let mut files: Vec<(String, &str)> = vec![("f".into(), "content")];
    for _ in 0..4 {
        let in_both = |(name, content): &(String, &'static str)| {
            [(format!("a/{name}"), *content), (format!("b/{name}"), *content)]
        };
        files = files.iter().flat_map(in_both).collect();
    }
    let place = Place::with(&[]);
    files.iter().for_each(|(name, content)| place.write(&format!("t/{name}"), content.as_bytes()));
    let expected = [
        group(56, &["0:a/", "0:b/"]),
        group(28, &["0:a/a/", "0:a/b/"]),
        group(14, &["0:a/a/a/", "0:a/a/b/"]),
        group(7, &["0:a/a/a/a/", "0:a/a/a/b/"]),
    ];
    // One of the 16 files has to stay.
    assert_eq!(of(&[place.join("t")]), expected);
}

#[test]
fn dupes_compare_folders_by_contents_alone() {
    let place = Place::with(&[("t/x/p", "1"), ("t/x/q", "22"), ("t/y/a", "22"), ("t/y/b", "1")]);
    assert_eq!(of(&[place.join("t")]).len(), 2);
    let found = Dupes::new().ignore_names(true).run(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(groups(found), [group(3, &["0:x/", "0:y/"])]);
}

#[cfg(unix)]
#[test]
fn dupes_do_not_count_hard_links_and_follow_no_symbolic_ones() {
    let place = Place::with(&[("t/a", "content"), ("t/c", "content"), ("t/only", "linked")]);
    fs::hard_link(place.join("t/a"), place.join("t/b")).unwrap();
    fs::hard_link(place.join("t/only"), place.join("t/only2")).unwrap();
    std::os::unix::fs::symlink("a", place.join("t/s")).unwrap();
    std::os::unix::fs::symlink(".", place.join("t/loop")).unwrap();
    // Names of one file alone are not read.
    for (operand, links) in [(place.join("t"), 1), (place.snapshot("t"), 2)] {
        let found = dupes(&[&operand], &Options::new()).unwrap();
        let totals = found.totals();
        assert_eq!((totals.redundant, totals.reclaimable, totals.links), (1, 7, links));
        let group = found.last().unwrap().unwrap();
        let links: Vec<_> = group.members.iter().map(|it| it.link_of).collect();
        assert_eq!(links, [None, Some(0), None]);
    }
    // A name outside of the operands keeps the file.
    fs::hard_link(place.join("t/c"), place.join("outside")).unwrap();
    fs::remove_file(place.join("t.b3")).unwrap();
    fs::remove_file(place.join("t.b3.tw")).unwrap();
    assert_eq!(
        of(&[place.join("t")]),
        [group(7, &["0:a", "0:b", "0:c"])],
        "the one with names inside"
    );
    fs::hard_link(place.join("t/a"), place.join("outside2")).unwrap();
    assert_eq!(of(&[place.join("t")]), [group(0, &["0:a", "0:b", "0:c"])]);
    // A folder of hard links is not a copy.
    for name in ["x/1", "y/1"] {
        fs::create_dir_all(place.join("u").join(name).parent().unwrap()).unwrap();
        fs::hard_link(place.join("t/only"), place.join("u").join(name)).unwrap();
    }
    assert_eq!(of(&[place.join("u")]), []);
    assert_eq!(of(&[place.snapshot("u")]), []);
}

#[cfg(target_os = "linux")]
#[test]
fn dupes_count_the_bytes_that_files_with_holes_take() {
    let place = Place::with(&[("t/x", ""), ("t/y", "")]);
    for name in ["t/x", "t/y"] {
        fs::File::options().write(true).open(place.join(name)).unwrap().set_len(1 << 20).unwrap();
    }
    let found = dupes(&[place.join("t")], &Options::new()).unwrap().last().unwrap().unwrap();
    assert_eq!(found.size, Some(1 << 20));
    assert!(found.reclaimable.unwrap() < 1 << 16, "{found:?}");
}

#[test]
fn dupes_read_only_what_may_be_the_same() {
    let place = Place::with(&[]);
    let (long, mut other_end) = (vec![7; 300 << 10], vec![7; 300 << 10]);
    *other_end.last_mut().unwrap() = 8;
    let mut other_begin = vec![7; 20 << 10];
    other_begin[0] = 8;
    place.write("t/a", &long);
    place.write("t/b", &other_end);
    place.write("t/c", &vec![7; 20 << 10]);
    place.write("t/d", &other_begin);
    place.write("t/e", &[1; 5000]);
    let found = dupes(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!((found.read(), groups(found)), ((0, 0), vec![]));
    place.write("t/f", &long);
    let found = dupes(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(found.read(), (2, 600 << 10));
    assert_eq!(groups(found), [group(300 << 10, &["0:a", "0:f"])]);
}

#[cfg(unix)]
#[test]
fn dupes_take_every_name() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::with(&[
        ("t/new\nline", "1"),
        ("t/a\\b", "1"),
        ("t/\u{e9}", "22"),
        ("t/e\u{301}", "22"),
        ("t/A", "333"),
        ("t/a", "333"),
    ]);
    let name = std::ffi::OsStr::from_bytes(b"\xff");
    let is_taken = fs::write(place.join("t").join(name), "1").is_ok();
    for operand in [place.join("t"), place.snapshot("t")] {
        let found = of(&[operand]);
        assert_eq!(found[0], group(3, &["0:A", "0:a"]));
        assert!(found.contains(&group(2, &["0:e\u{301}", "0:\u{e9}"])), "{found:?}");
        let mut names = vec!["0:a\\b", "0:new\nline"];
        names.extend(is_taken.then_some("0:\u{fffd}"));
        assert!(found.contains(&group(names.len() as u64 - 1, &names)), "{found:?}");
    }
}

#[cfg(unix)]
#[test]
fn dupes_do_not_have_one_file_through_two_roots() {
    let place = Place::with(&[("t/a", "content")]);
    fs::create_dir(place.join("u")).unwrap();
    fs::hard_link(place.join("t/a"), place.join("u/a")).unwrap();
    assert_eq!(of(&[place.join("t"), place.join("u")]), []);
}

#[test]
fn dupes_of_lists_that_have_a_path_with_other_contents() {
    let place = Place::with(&[]);
    let old = place.list("old.b3", &[("a", "1"), ("b", "same"), ("c", "2")]);
    let new = place.list("new.b3", &[("a", "2"), ("b", "same")]);
    assert_eq!(of(&[&old, &new]), [group(None, &["0:b", "1:b"]), group(None, &["0:c", "1:a"])]);
    // In one list, no one knows which is right.
    let both = place.list("both.b3", &[("a", "1"), ("b", "1"), ("a", "2")]);
    assert!(
        refused(dupes(&[both], &Options::new())).contains("a is listed twice, with two digests")
    );
    let again = place.list("again.b3", &[("a", "1"), ("b", "1"), ("a", "1")]);
    assert_eq!(of(&[again]), [group(None, &["0:a", "0:b"])]);
}

#[test]
fn dupes_and_missing_refuse_lists_of_other_modes_and_lengths() {
    let place = Place::with(&[]);
    let digest = treewide::hash(b"1").to_string();
    let good = place.list("good.b3", &[("a", "1")]);
    let keyed = treewide::keyed_hash(&[1; 32], b"");
    for (name, text, cause) in [
        (
            "long",
            format!("{digest}{digest}  a\n"),
            "long:1: digest of 64 bytes instead of 32; make the list without --length",
        ),
        ("short", format!("{}  a\n", &digest[..32]), "short:1: digest of 16 bytes instead of 32"),
        (
            "keyed",
            format!("{{\"path\":\"a\",\"digest\":\"{keyed}\",\"bytes\":0,\"error\":null}}\n"),
            "made with --keyed",
        ),
        ("cut", format!("{digest}  a"), "no line end"),
        (
            "SHA256SUMS",
            format!("{digest}  a\n"),
            "has digests of another algorithm than BLAKE3, by its name",
        ),
        ("prose", "Dear reader,\n".into(), "prose:1: not a checksum line; correct or remove"),
        ("other", format!("SHA256 (a) = {digest}\n"), "other:1: "),
        (
            "zero",
            format!(
                "{{\"path\":\"a\\u0000b\",\"digest\":\"{digest}\",\"bytes\":1,\"error\":null}}\n"
            ),
            "zero:1: no file can have this name",
        ),
    ] {
        place.write(name, text.as_bytes());
        let list = place.join(name);
        let found = refused(dupes(&[&good, &list], &Options::new()));
        assert!(found.contains(cause), "{found}");
        assert!(refused(missing(&list, &[&good], &Options::new())).contains(cause));
        assert!(refused(missing(&good, &[&list], &Options::new())).contains(cause));
    }
}

#[test]
fn dupes_read_lists_in_every_form() {
    let place = Place::with(&[]);
    let digest = treewide::hash(b"12345").to_string();
    let lines = [
        format!("{digest}  ./a"),
        format!("BLAKE3 (/b) = {digest}"),
        format!("{digest} *../c"),
        format!("\\{digest}  d\\ne"),
        format!("{{\"path\":\"f\",\"digest\":\"{digest}\",\"bytes\":5,\"error\":null}}"),
        "# a comment".into(),
    ];
    place.write("list", (lines.join("\r\n") + "\r\n").as_bytes());
    let names = ["0:../c", "0:/b", "0:a", "0:d\ne", "0:f"];
    assert_eq!(of(&[place.join("list")]), [group(20, &names)]);
}

#[test]
fn dupes_of_a_group_of_a_million_copies() {
    let place = Place::with(&[]);
    let digest = treewide::hash(b"1").to_string();
    let lines: String = (0..1_000_000).map(|at| format!("{digest}  {at:07}\n")).collect();
    place.write("list", lines.as_bytes());
    let found = dupes(&[place.join("list")], &Options::new()).unwrap();
    assert_eq!(found.totals().redundant, 999_999);
    assert_eq!(found.last().unwrap().unwrap().members.len(), 1_000_000);
}

#[cfg(unix)]
#[test]
fn dupes_do_not_call_folders_equal_that_could_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let place =
        Place::with(&[("t/x/a", "12"), ("t/x/b", "345"), ("t/y/a", "12"), ("t/y/b", "345")]);
    fs::set_permissions(place.join("t/y/b"), fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(place.join("t/y/b")).is_ok() {
        // This user may read everything: a file that is gone when it is read cannot be made here.
        return eprintln!("SKIPPED: this user may read every file");
    }
    let found = dupes(&[place.join("t")], &Options::new()).unwrap();
    assert_eq!(found.unreadable().count(), 1);
    assert_eq!(groups(found), [group(2, &["0:x/a", "0:y/a"])]);
}

#[test]
fn missing_finds_contents_under_any_name() {
    let place = Place::with(&[
        ("a/1", "one"),
        ("a/2", "two"),
        ("a/3", "three"),
        ("b/x/1", "three"),
        ("c/2", "two"),
        ("c/e", ""),
    ]);
    let [a, b, c] = ["a", "b", "c"].map(|it| place.join(it));
    let lists = ["a", "b", "c"].map(|it| place.snapshot(it));
    for (a, b, c) in [
        (&a, &b, &c),
        (&lists[0], &lists[1], &lists[2]),
        (&a, &lists[1], &c),
        (&lists[0], &b, &lists[2]),
    ] {
        assert_eq!(lost(a, &[b], false), ["1", "2"]);
        assert_eq!(lost(a, &[b, c], false), ["1"]);
        assert_eq!(lost(a, &[b, c], true), ["1", "3"]);
        assert_eq!(lost(c, &[a], false), ["e"], "an empty file is a content");
    }
}

#[test]
fn missing_reads_only_candidates() {
    let place = Place::with(&[("a/1", "1"), ("a/2", "22"), ("b/3", "333"), ("b/4", "zz")]);
    let found = missing(&place.join("a"), &[place.join("b")], &Options::new()).unwrap();
    assert_eq!(found.read(), (2, 4));
    let all: Vec<_> = found.map(|it| it.unwrap()).collect();
    assert_eq!((all[0].digest, all[0].evidence), (None, Evidence::Metadata));
    assert_eq!((all[1].size, all[1].evidence), (Some(2), Evidence::Read));
    // A list without sizes could have any of them.
    let list = place.list("list", &[("x", "1")]);
    let found = missing(&place.join("a"), &[list], &Options::new()).unwrap();
    assert_eq!((found.read(), found.totals().missing), ((2, 3), 1));
}

#[test]
fn missing_from_the_lists_of_a_bucket() {
    let place = Place::with(&[("a/1", "one"), ("a/2", "two")]);
    place.list("lists/part-0.b3", &[("key/1", "one")]);
    place.list("lists/large-0.b3", &[("key/2", "two")]);
    let digest = |name: &str| treewide::hash(&fs::read(place.join(name)).unwrap()).to_string();
    let line = |name: &str| format!("{}  {name}\n", digest(&format!("lists/{name}")));
    place.write("lists/index-0.objects", b"{}");
    let bucket = line("part-0.b3") + &line("large-0.b3") + &line("index-0.objects");
    place.write("lists/bucket.b3", bucket.as_bytes());
    let bucket = place.join("lists/bucket.b3");
    assert!(lost(&place.join("a"), &[&bucket], false).is_empty());
    assert_eq!(lost(&bucket, &[&place.list("x.b3", &[("n", "one")])], false), ["key/2"]);
    place.list("lists/large-0.b3", &[("key/2", "three")]);
    let cause = refused(missing(&place.join("a"), &[bucket], &Options::new()));
    assert!(cause.contains("large-0.b3 is not the list of that digest; copy it again"), "{cause}");
}

#[test]
fn dupes_and_missing_can_be_cancelled() {
    let place = Place::with(&[]);
    let lines: String = (0..9000).map(|at| format!("{}  {at}\n", treewide::hash(b"1"))).collect();
    place.write("list", lines.as_bytes());
    let cancel = treewide_manifest::Cancel::new();
    cancel.cancel();
    let options = Options::new().cancel(&cancel);
    assert_eq!(refused(dupes(&[place.join("list")], &options)), "cancelled before the end");
    let other = place.list("other", &[("a", "1")]);
    assert_eq!(
        refused(missing(&place.join("list"), &[other], &options)),
        "cancelled before the end"
    );
}

#[test]
fn dupes_list_folders_that_share_most_bytes() {
    let place = Place::with(&[]);
    for at in 0..10 {
        let (of_x, of_y) = (vec![at; 100], vec![if at == 3 { 99 } else { at }; 100]);
        place.write(&format!("t/x/in/{at}"), &of_x);
        place.write(&format!("t/y/in/{at}"), &of_y);
    }
    place.write("t/x/more", &[1; 30]);
    place.write("t/z/a", &[77; 50]);
    place.write("t/w/a", &[77; 50]);
    let similar = |percent| {
        let dupes = Dupes::new().similar(percent);
        let found = dupes.run(&[place.join("t")], &Options::new()).unwrap();
        let groups: Vec<_> = found.map(|it| it.unwrap()).collect();
        groups.into_iter().filter(|it| matches!(it.kind, Kind::Similar(_))).collect::<Vec<_>>()
    };
    let found = similar(80);
    let names: Vec<_> = found[0].members.iter().map(|it| &it.name[..]).collect();
    // The largest folders, and what they share of the larger one.
    assert_eq!((names, found[0].size), (vec![&b"x"[..], b"y"], Some(900)));
    assert_eq!((found[0].kind, found[0].digest, found[0].files), (Kind::Similar(87), None, 0));
    assert_eq!(found.len(), 1, "neither what is in them nor folders that are equal");
    let found = similar(90);
    assert_eq!((found.len(), &found[0].members[0].name[..]), (1, &b"x/in"[..]));
    assert!(similar(91).is_empty() && similar(0).is_empty());
}

#[test]
fn dupes_do_not_have_one_path_through_two_lists() {
    let place = Place::with(&[
        ("p/sub/u", "content"),
        ("p/sub/v", "other"),
        ("p/w", "alone"),
        ("q/x/u", "content"),
        ("q/x/v", "other"),
    ]);
    let (sub, x) = (place.snapshot("p/sub"), place.snapshot("q/x"));
    fs::rename(&sub, place.join("sub.b3")).unwrap();
    fs::rename(place.join("p/sub.b3.tw"), place.join("sub.b3.tw")).unwrap();
    let p = place.snapshot("p");
    for ending in ["b3", "b3.tw"] {
        let (from, to) = (place.join("sub"), sub.clone());
        fs::rename(from.with_extension(ending), to.with_extension(ending)).unwrap();
    }
    for operands in [[&p, &sub], [&sub, &p], [&p, &place.join("p/sub")], [&place.join("p"), &sub]] {
        let cause = refused(dupes(&operands, &Options::new()));
        assert!(cause.contains(", which is also named; name one of them"), "{cause}");
    }
    assert_eq!(of(&[&p, &x]), [group(12, &["0:sub/", "1:/"])]);
    // The same through a list whose file is in another place, and a link.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.join("p"), place.join("link")).unwrap();
        crate::common::copy_pair(&p, &place.join("link.b3"));
        let run = dupes(&[&p, &place.join("link.b3")], &Options::new());
        assert!(refused(run).contains("link.b3: has files of "));
    }
}

#[cfg(unix)]
#[test]
fn dupes_are_the_same_from_a_directory_with_linked_files_and_its_manifest() {
    // As `rsync --link-dest` makes them.
    let place = Place::with(&[("r/1/big", "not changed"), ("r/1/t", "text"), ("r/2/t", "text")]);
    fs::hard_link(place.join("r/1/big"), place.join("r/2/big")).unwrap();
    let expected = [group(4, &["0:1/", "0:2/"])];
    assert_eq!(of(&[place.join("r")]), expected);
    let manifest = place.snapshot("r");
    assert_eq!(of(&[&manifest]), expected);
    assert_eq!(of(&[place.join("r")]), expected);
}

#[cfg(unix)]
#[test]
fn dupes_of_folders_do_not_depend_on_other_operands() {
    let place = Place::with(&[("t/a/k", "content"), ("t/b/k", "content"), ("t/c/k", "content")]);
    std::os::unix::fs::symlink("/etc", place.join("t/b/link")).unwrap();
    let other = place.list("other", &[("x", "nothing")]);
    let expected = [group(7, &["0:a/", "0:c/"]), group(7, &["0:a/k", "0:b/k"])];
    assert_eq!(of(&[place.join("t")]), expected);
    assert_eq!(of(&[&place.join("t"), &other]), expected);
    // A list has no links: a folder with one is not equal to one of a list.
    let list = place.list("list", &[("k", "content")]);
    assert_eq!(of(&[&list, &place.join("t")])[0], group(14, &["0:/", "1:a/", "1:c/"]));
}

#[test]
fn dupes_refuse_lengths_that_contradict() {
    let place = Place::with(&[]);
    let line = |name: &str, content: &[u8], bytes: u64| {
        let digest = treewide::hash(content);
        format!(
            "{{\"path\":\"{name}\",\"digest\":\"{digest}\",\"bytes\":{bytes},\"error\":null}}\n"
        )
    };
    place.write("two", (line("a", b"1", 10) + &line("b", b"1", 99)).as_bytes());
    let cause = refused(dupes(&[place.join("two")], &Options::new()));
    assert!(cause.ends_with("two: says that a file has 99 bytes, and one with the same digest has 10; make the list again"), "{cause}");
    place.write("empty", line("a", b"", 1000).as_bytes());
    for run in [
        dupes(&[place.join("empty")], &Options::new()).map(|_| ()),
        missing(&place.join("empty"), &[place.join("two")], &Options::new()).map(|_| ()),
    ] {
        let cause = refused(run);
        assert!(
            cause.contains("empty: has the digest of the empty file for one that is not empty"),
            "{cause}"
        );
    }
}

#[test]
fn lists_that_are_called_bucket_are_read_as_the_lists_that_they_are() {
    let place = Place::with(&[("here/a", "one"), ("here/b", "one")]);
    place.list("here/list.b3", &[("a", "one")]);
    let list = fs::read_to_string(place.join("here/list.b3")).unwrap();
    let bucket = place.list("here/bucket.b3", &[("a", "one"), ("b", "one"), ("list.b3", &list)]);
    assert_eq!(of(&[&bucket]), [group(None, &["0:a", "0:b"])]);
    assert_eq!(lost(&bucket, &[&place.join("here/list.b3")], false), ["list.b3"]);
    let index = [("a", "one"), ("index-0.objects", "{}")];
    let cause = refused(dupes(&[place.list("bucket.b3", &index)], &Options::new()));
    assert!(cause.contains("bucket.b3: names a, which is not a list of a bucket"), "{cause}");
}

//! Hostile cases about what happens at the same time: writers, clocks, names that become something else.

use crate::common::{AllIsOld, Tree, clock, fifo, set_time};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use treewide_manifest::journal::journal_path;
use treewide_manifest::machine::Update;
use treewide_manifest::trust::{Moment, Moments};
use treewide_manifest::{Class, Options, Rules};

/// A program writes to a page that it has mapped and written to before.
#[cfg(target_os = "linux")]
#[test]
fn write_through_a_mapping_is_seen() {
    const WRITER: &str = "
import mmap, sys
file = open(sys.argv[1], 'r+b')
pages = mmap.mmap(file.fileno(), 0)
for line in sys.stdin:
    pages[100] = ord(line[0])
    print('written', flush=True)
";
    let tree = Tree::new(&[("a", "")]);
    tree.write("a", [b'0'; 4096]);
    let started = Command::new("python3")
        .args(["-c", WRITER])
        .arg(tree.at("a"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut writer) = started else {
        println!("SKIPPED: there is no python3");
        return;
    };
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut go_on = writer.stdin.take().unwrap();
    let mut write = |byte: char| {
        writeln!(go_on, "{byte}").unwrap();
        said.next().unwrap().unwrap();
        tree.age();
    };
    write('1');
    write('2');
    tree.snapshot_with(Update::new(), clock());
    write('3');
    let said = tree.quick();
    drop(go_on);
    let _ = writer.wait();
    if said.report.files_unread == 1 && is_tmpfs(&tree.root()) {
        println!("SKIPPED: on tmpfs nothing shows it, as documented");
        return;
    }
    assert_eq!(said.differences(), ["changed a"]);
}

#[cfg(target_os = "linux")]
fn is_tmpfs(path: &Path) -> bool {
    let out = Command::new("stat").args(["-f", "-c", "%T"]).arg(path).output();
    out.is_ok_and(|out| out.stdout == b"tmpfs\n")
}

/// A clock that shows this time.
struct Shows(SystemTime);

impl Moments for Shows {
    fn moment(&mut self, _: u64, _: &Path) -> Moment {
        let since = self.0.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let synced = Some(since.as_nanos() as i64);
        Moment { synced, slack: 20_000_000, keeps_inodes: true, keeps_device: true }
    }
}

/// The clock is set back by an hour between two runs.
#[test]
fn clock_that_is_set_back_hides_nothing() {
    let hour = Duration::from_secs(3600);
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    tree.snapshot();
    // Written when the clock was back: older than the record.
    tree.write("a", "x");
    set_time(&tree.at("a"), SystemTime::now() - hour);
    assert_eq!(tree.quick().differences(), ["changed a"]);
    // Times that lie ahead of the clock are not trusted, as they come again.
    let back = || Box::new(Shows(SystemTime::now() - hour));
    tree.update_with(Update::new().full(true), back());
    assert_eq!(tree.quick().report.files_unread, 0);
    tree.write("b", "y");
    assert_eq!(tree.quick().differences(), ["changed b"]);
    let later = Box::new(Shows(SystemTime::now() + hour));
    tree.update_with(Update::new(), later);
    assert_eq!(tree.quick().report.files_unread, 2);
}

/// Does something to each path between the moment at which it is found and the one at which it is opened.
struct Before(Box<dyn FnMut(&Path) + Send>);

impl Moments for Before {
    fn moment(&mut self, device: u64, near: &Path) -> Moment {
        self.0(near);
        AllIsOld.moment(device, near)
    }
}

/// A file becomes a pipe, a link or a directory after it was found. Nothing hangs, and nothing else is hashed for it.
#[test]
fn file_that_becomes_something_else_is_not_hashed() {
    type Replace = fn(&Path);
    let kinds: [(&str, Replace); 4] = [
        ("pipe", fifo),
        ("link", |path| symlink("/etc/passwd", path).unwrap()),
        ("directory", |path| fs::create_dir(path).unwrap()),
        ("another file", |path| fs::write(path, "evil").unwrap()),
    ];
    for (kind, replace) in kinds {
        let tree = Tree::new(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let victim = tree.at("b");
        let moments = Before(Box::new(move |path| {
            if path == victim && path.symlink_metadata().is_ok_and(|it| it.len() == 1) {
                // Not in place, which would leave the inode as it was.
                fs::rename(path, path.with_extension("old")).unwrap();
                replace(path);
            }
        }));
        let (report, totals) = tree.snapshot_with(Update::new(), Box::new(moments));
        assert!(!report.is_certain(), "{kind}: {report}");
        assert_eq!(report.count(Class::Unreadable) + report.count(Class::Changing), 1, "{kind}");
        assert!((2..=3).contains(&totals.files), "{kind}");
        let list = fs::read_to_string(tree.list()).unwrap();
        assert!(!list.contains("  b\n"), "{kind}: {list}");
        assert!(!tree.verify().is_fine(), "{kind}");
    }
}

/// As between two runs, whether it was recorded or not.
#[test]
fn file_that_vanishes_before_it_is_read_is_removed() {
    let tree = Tree::new(&[("a", "1"), ("b", "2")]);
    tree.snapshot();
    tree.write("new", "3");
    let gone = [tree.at("b"), tree.at("new")];
    let moments = Before(Box::new(move |path| {
        if gone.iter().any(|it| it == path) {
            let _ = fs::remove_file(path);
        }
    }));
    let said = tree.update_with(Update::new().full(true), Box::new(moments));
    assert_eq!(said.differences(), ["removed b"]);
    assert!(said.report.is_certain() && tree.verify().is_fine());
}

/// Links that lead to themselves, to a directory above, and to `/`.
#[test]
fn links_that_lead_in_circles_come_to_an_end() {
    let tree = Tree::new(&[("a", "1"), ("d/b", "2")]);
    symlink("loop", tree.at("loop")).unwrap();
    symlink(".", tree.at("self")).unwrap();
    symlink("..", tree.at("d/up")).unwrap();
    symlink("/", tree.at("everything")).unwrap();
    assert_eq!(tree.snapshot().files, 2);
    assert!(tree.verify().is_fine());
    fs::remove_file(tree.at("everything")).unwrap();
    let follow = || Update::new().rules(Rules { follow: true, ..Rules::default() });
    let (report, _) = tree.snapshot_with(follow(), Box::new(AllIsOld));
    assert!(!report.is_certain(), "{report}");
    let said = tree.verify();
    assert!(!said.report.is_certain() && !said.report.differs(), "{:?}", said.differences());
}

/// A sparse file of 1 TiB, which a run before this one has read. The journal is written as `docs/formats.md` says.
#[test]
fn sparse_file_of_a_tebibyte_is_not_read() {
    let tree = Tree::new(&[("a", "1")]);
    let file = fs::File::create(tree.at("big")).unwrap();
    if file.set_len(1 << 40).is_err() {
        println!("SKIPPED: the file system has no files of 1 TiB");
        return;
    }
    let stamp = treewide_files::Stamp::at(&tree.at("big"), false).unwrap();
    let rules =
        r#"{"exclude":[],"hidden":true,"follow":false,"one_file_system":false,"modes":false}"#;
    let mut journal = format!(
        "{{\"treewide\":\"journal 2\",\"root\":{{\"path\":{:?}}},\"rules\":{rules}}}\n\
         {{\"path\":\"big\",\"type\":\"file\",\"bytes\":{},\"digest\":\"{}\",\"mtime\":{},\"ctime\":{},\"ino\":{},\"dev\":{},\"read\":\"2026-11-25\"}}\n",
        tree.root().canonicalize().unwrap(),
        1_u64 << 40,
        treewide::hash(b"of an earlier run"),
        stamp.mtime.unwrap(),
        stamp.ctime.unwrap(),
        stamp.inode,
        stamp.device
    );
    journal += &format!("{{\"check\":\"{}\"}}\n", treewide::hash(journal.as_bytes()));
    fs::write(journal_path(&tree.list()), journal).unwrap();
    let made = tree.make(&Update::new(), &Options::new()).unwrap();
    assert_eq!((made.report.files_resumed, made.report.bytes_resumed), (1, 1 << 40));
    assert_eq!(made.draft.appear().unwrap().bytes, (1 << 40) + 1);
    for said in [tree.quick(), tree.update()] {
        assert!(said.is_fine());
        assert_eq!((said.report.bytes_read, said.report.bytes_unread), (0, (1 << 40) + 1));
    }
    file.set_len(5).unwrap();
    assert_eq!(tree.quick().differences(), ["changed big"]);
}

/// Two directories change places. Nothing about their files shows it, except that each name has another inode.
#[test]
fn quick_sees_directories_that_changed_places() {
    let tree = Tree::new(&[("p/f", "1"), ("q/f", "2"), ("r", "3"), ("s", "4")]);
    let day = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    for name in ["p/f", "q/f", "r", "s"] {
        set_time(&tree.at(name), day);
    }
    tree.snapshot();
    assert_eq!(tree.quick().report.files_unread, 4);
    let swap = |one: &str, two: &str| {
        fs::rename(tree.at(one), tree.at("x")).unwrap();
        fs::rename(tree.at(two), tree.at(one)).unwrap();
        fs::rename(tree.at("x"), tree.at(two)).unwrap();
    };
    swap("p", "q");
    assert_eq!(tree.quick().differences(), ["suspect p/f", "suspect q/f"]);
    swap("r", "s");
    for (said, word) in
        [(tree.quick(), "suspect"), (tree.verify(), "suspect"), (tree.accept(), "accepted")]
    {
        let expected = ["p/f", "q/f", "r", "s"].map(|it| format!("{word} {it}"));
        assert_eq!(said.differences(), expected);
    }
    assert!(tree.verify().is_fine());
}

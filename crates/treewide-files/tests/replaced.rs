//! The files that a walk has found are hashed, and no file that took the place of one.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use treewide_files::digest::Extent;
use treewide_files::walk::{Found, Walk};
use treewide_files::{ErrorKind, Event, HashAlone, Hashed, Item, Kind, Options, Source, Task};

/// What a walk has found some time ago.
struct Remembered(std::vec::IntoIter<Task>);

impl Source for Remembered {
    type About = ();
    type Note = ();

    fn next(&mut self) -> Option<Item<(), ()>> {
        self.0.next().map(Item::File)
    }
}

fn walk(walk: Walk) -> Remembered {
    let tasks: Vec<Task> = walk
        .into_iter()
        .filter_map(|found| match found {
            Found::File { path, identity, .. } => {
                let kind = Kind::Found(identity);
                Some(Task { path, kind, extent: Extent::HASH, about: () })
            }
            _ => None,
        })
        .collect();
    Remembered(tasks.into_iter())
}

/// Hashes the files that were found, and returns the names of the replaced and of the hashed ones.
fn hash(options: &Options, found: Remembered) -> (Vec<PathBuf>, Vec<PathBuf>) {
    hash_with(options, found, ())
}

fn hash_with(
    options: &Options,
    found: Remembered,
    alone: impl HashAlone,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut replaced, mut hashed) = (Vec::new(), Vec::new());
    for event in options.run_with(found, alone) {
        match event {
            Event::File(task, Ok(_)) => hashed.push(task.path),
            Event::File(task, Err(ErrorKind::Replaced)) => replaced.push(task.path),
            Event::File(task, Err(error)) => panic!("{}: {error}", task.path.display()),
            _ => {}
        }
    }
    (replaced, hashed)
}

/// A tree with a file that is replaced, between others in several directories.
fn tree(len: usize) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    for name in ["d/a", "d/b", "d/c", "d/e/f", "x"] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![1; len]).unwrap();
    }
    fs::write(folder.path().join("outside"), vec![2; len]).unwrap();
    fs::create_dir_all(folder.path().join("elsewhere/e")).unwrap();
    for name in ["a", "b", "c", "e/f"] {
        fs::write(folder.path().join("elsewhere").join(name), vec![3; len]).unwrap();
    }
    let outside = folder.path().join("outside");
    (folder, root, outside)
}

type Replace = fn(&Path, &Path);

const REPLACEMENTS: [(&str, Replace); 6] = [
    ("a symbolic link", |place, outside| {
        fs::remove_file(place).unwrap();
        symlink(outside, place).unwrap();
    }),
    ("another file", |place, outside| fs::rename(outside, place).unwrap()),
    ("a hard link to another file", |place, outside| {
        fs::remove_file(place).unwrap();
        fs::hard_link(outside, place).unwrap();
    }),
    ("a named pipe", |place, _| {
        fs::remove_file(place).unwrap();
        assert!(Command::new("mkfifo").arg(place).status().unwrap().success());
    }),
    ("a socket", |place, _| {
        fs::remove_file(place).unwrap();
        drop(std::os::unix::net::UnixListener::bind(place).unwrap());
    }),
    ("a directory", |place, _| {
        fs::remove_file(place).unwrap();
        fs::create_dir(place).unwrap();
    }),
];

fn all_options() -> [Options; 4] {
    let strategy = treewide::file::Strategy::Read;
    [
        Options::new(),
        Options::new().threads(1),
        Options::new().strategy(strategy),
        Options::new().drop_cache(true),
    ]
}

#[test]
fn hash_notices_what_is_replaced() {
    for len in [10, 200_000, 2 << 20] {
        for (what, replace) in REPLACEMENTS {
            // Large files are hashed one at a time with all options.
            let most = if len > 1 << 20 { 1 } else { 4 };
            for options in all_options().into_iter().take(most) {
                for name in ["d/a", "d/b", "d/e/f", "x"] {
                    let (_folder, root, outside) = tree(len);
                    let found = walk(Walk::new(&root));
                    replace(&root.join(name), &outside);
                    let (replaced, hashed) = hash(&options, found);
                    assert_eq!(replaced, [root.join(name)], "{what} of {len} bytes");
                    assert_eq!(hashed.len(), 4, "{what}");
                }
            }
        }
    }
}

#[test]
fn hash_notices_a_link_in_the_place_of_a_directory() {
    for len in [10, 2 << 20] {
        for (place, lost) in [("d", 4), ("d/e", 1)] {
            let (folder, root, _) = tree(len);
            let found = walk(Walk::new(&root));
            fs::rename(root.join(place), folder.path().join("moved")).unwrap();
            let elsewhere = folder.path().join("elsewhere");
            let to = if place == "d" { elsewhere } else { elsewhere.join("e") };
            symlink(to, root.join(place)).unwrap();
            let (replaced, hashed) = hash(&Options::new(), found);
            assert_eq!((replaced.len(), hashed.len()), (lost, 5 - lost), "{place}");
        }
    }
}

/// While the walk is on its way to it, or in it.
#[test]
fn walk_notices_a_link_in_the_place_of_a_directory() {
    let is_lost = |place: &Path, found: &Found| {
        matches!(found, Found::Failed(error) if error.path() == place
            && matches!(error.kind(), ErrorKind::Replaced))
    };
    for (place, found_before, lost) in [
        // Before the walk comes to it: none of its files is found.
        ("d/e", "d/c", &["d/e"][..]),
        // Before the walk has asked for its files, and after.
        ("d", "d/a", &["d/e"]),
        ("d", "d/c", &["d/e"]),
    ] {
        let (folder, root, _) = tree(10);
        let mut walk = Walk::new(&root).into_iter();
        let mut names = Vec::new();
        for found in walk.by_ref() {
            let Found::File { path, .. } = found else { panic!("{found:?}") };
            names.push(path.clone());
            if path == root.join(found_before) {
                break;
            }
        }
        fs::rename(root.join(place), folder.path().join("moved")).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let to = if place == "d" { elsewhere } else { elsewhere.join("e") };
        symlink(to, root.join(place)).unwrap();
        let rest: Vec<Found> = walk.collect();
        for lost in lost {
            let lost = root.join(lost);
            assert_eq!(rest.iter().filter(|it| is_lost(&lost, it)).count(), 1, "{rest:?}");
        }
        let below = root.join("d/e");
        let inside =
            |it: &&Found| matches!(it, Found::File { path, .. } if path.starts_with(&below));
        assert_eq!(rest.iter().filter(inside).count(), 0, "{rest:?}");
        assert!(matches!(rest.last(), Some(Found::File { path, .. }) if path.ends_with("x")));
    }
}

/// The same numbers of inodes on another file system do not help.
#[test]
fn hash_notices_another_device() {
    let tmpfs = |place: &Path| {
        fs::create_dir(place).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(place).output();
        mount.is_ok_and(|it| it.status.success())
    };
    let folder = tempfile::tempdir().unwrap();
    let places = ["tree", "other"].map(|name| folder.path().join(name));
    let mounted: Vec<bool> = places.iter().map(|place| tmpfs(place)).collect();
    if mounted == [true, true] {
        for place in &places {
            fs::create_dir(place.join("d")).unwrap();
            fs::write(place.join("d/a"), place.to_string_lossy().as_bytes()).unwrap();
        }
        let found = walk(Walk::new(&places[0]));
        fs::rename(places[0].join("d"), places[0].join("moved")).unwrap();
        symlink(places[1].join("d"), places[0].join("d")).unwrap();
        let (replaced, hashed) = hash(&Options::new(), found);
        assert_eq!((replaced.len(), hashed.len()), (1, 0));
    } else {
        println!("SKIPPED: another device: only root may mount one");
    }
    for (place, _) in places.iter().zip(mounted).filter(|it| it.1) {
        assert!(Command::new("umount").arg(place).status().unwrap().success());
    }
}

#[test]
fn hash_takes_what_is_as_it_was_found() {
    for follow in [false, true] {
        let (folder, root, outside) = tree(10);
        symlink(&outside, root.join("link")).unwrap();
        symlink(folder.path().join("elsewhere"), root.join("folder")).unwrap();
        let root_link = folder.path().join("root");
        symlink(&root, &root_link).unwrap();
        for root in [root, root_link] {
            let found = walk(Walk::new(&root).follow_links(follow));
            // Neither of these makes another file of it.
            fs::write(root.join("d/a"), "longer than it was").unwrap();
            fs::File::open(root.join("d/b")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
            fs::hard_link(root.join("x"), root.join(format!("d/new {follow}"))).ok();
            let (replaced, hashed) = hash(&Options::new(), found);
            assert_eq!(replaced, Vec::<PathBuf>::new());
            assert!(hashed.len() >= if follow { 10 } else { 5 }, "{hashed:?}");
        }
    }
}

#[test]
fn hash_follows_only_the_link_that_was_found() {
    let (folder, root, outside) = tree(10);
    symlink(&outside, root.join("link")).unwrap();
    let found = walk(Walk::new(&root).follow_links(true));
    fs::remove_file(root.join("link")).unwrap();
    symlink(folder.path().join("elsewhere/a"), root.join("link")).unwrap();
    let (replaced, hashed) = hash(&Options::new(), found);
    assert_eq!((replaced, hashed.len()), (vec![root.join("link")], 5));
}

/// A caller that hashes files in its own way gets them open.
#[test]
fn hash_found_gets_the_file_that_was_compared() {
    struct Counts<'a>(&'a mut Vec<u64>);
    impl HashAlone for Counts<'_> {
        fn hash_alone(&mut self, path: &Path, _: Extent) -> Option<Result<Hashed, ErrorKind>> {
            panic!("{} is asked for by its path", path.display());
        }

        fn hash_found(
            &mut self,
            file: &fs::File,
            _: &Path,
            _: Extent,
        ) -> Option<Result<Hashed, ErrorKind>> {
            self.0.push(file.metadata().unwrap().len());
            // As a device that reads something, and fails.
            std::io::Read::read(&mut { file }, &mut [0; 100]).unwrap();
            None
        }
    }
    let (_folder, root, outside) = tree(2 << 20);
    let found = walk(Walk::new(&root));
    fs::rename(&outside, root.join("d/b")).unwrap();
    let mut lens = Vec::new();
    let mut digests = Vec::new();
    for event in Options::new().run_with(found, Counts(&mut lens)) {
        if let Event::File(_, Ok(hashed)) = event {
            digests.push(hashed.digest.to_string());
        }
    }
    assert_eq!(digests, vec![blake3::hash(&vec![1; 2 << 20]).to_string(); 4]);
    assert_eq!(lens, [2 << 20; 4]);
}

/// A file that is mounted in the place of another one has not the inode that its directory lists.
#[test]
fn hash_takes_a_mounted_file() {
    let (_folder, root, outside) = tree(10);
    let place = root.join("d/b");
    let mounted = Command::new("mount").arg("--bind").arg(&outside).arg(&place).output();
    if !mounted.is_ok_and(|it| it.status.success()) {
        return println!("SKIPPED: a mounted file: only root may mount one");
    }
    let (replaced, hashed) = hash(&Options::new(), walk(Walk::new(&root)));
    assert!(Command::new("umount").arg(&place).status().unwrap().success());
    assert_eq!((replaced.len(), hashed.len()), (0, 5));
}

/// Directories and files become links out of the tree and come back, again and again, while the tree is hashed.
#[test]
fn hash_takes_nothing_from_outside_whenever_links_come_and_go() {
    use std::sync::atomic::{AtomicBool, Ordering};

    struct EndOnDrop<'a>(&'a AtomicBool);
    impl Drop for EndOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let [tree, outside, away] = ["tree", "outside", "away"].map(|name| folder.path().join(name));
    for (root, byte) in [(&tree, b'i'), (&outside, b'o')] {
        for name in ["d/a", "d/e/b", "d/e/f/c", "d/e/f/g", "x"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), [byte]).unwrap();
        }
    }
    let inside = treewide::hash(b"i").to_string();
    let is_over = AtomicBool::new(false);
    let mut hashed = 0;
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&is_over);
        scope.spawn(|| {
            let places = ["d", "d/e", "d/e/f", "d/a", "x"];
            for place in places.into_iter().cycle() {
                let linked = tree.join(place);
                fs::rename(&linked, &away).unwrap();
                symlink(outside.join(place), &linked).unwrap();
                std::thread::yield_now();
                fs::remove_file(&linked).unwrap();
                fs::rename(&away, &linked).unwrap();
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for round in 0..40 {
            let options = Options::new().threads(1 + round % 2);
            for (path, file) in options.hash_tree(Walk::new(&tree)).flatten() {
                assert_eq!(file.digest.to_string(), inside, "{}", path.display());
                hashed += 1;
            }
        }
    });
    println!("{hashed} files hashed while links came and went");
    assert!(hashed > 0);
}

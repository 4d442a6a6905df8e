//! Digests by several algorithms in a run over a tree: one reading of each file, small or long, under one name or two.

#[cfg(unix)]
#[path = "../../treewide/tests/common/waiting.rs"]
mod waiting;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use treewide::file::Strategy;
use treewide_digests::{Algorithm, Wanted};
use treewide_files::digest::Extent;
use treewide_files::walk::{Found, IntoIter, Walk};
use treewide_files::{
    ErrorKind, Event, HashAlone, Hashed, Item, Kind, Options, Other, Source, Task,
};

const BOTH: [Algorithm; 3] = [Algorithm::BLAKE3, Algorithm::SHA256, Algorithm::MD5];

struct Files(IntoIter);

impl Source for Files {
    type About = Wanted;
    type Note = ();

    fn next(&mut self) -> Option<Item<Wanted, ()>> {
        loop {
            if let Found::File { path, identity, .. } = self.0.next()? {
                let (kind, extent) = (Kind::Found(identity), Extent::HASH);
                return Some(Item::File(Task { path, kind, extent, about: Wanted::new(BOTH) }));
            }
        }
    }

    fn other(about: &mut Wanted) -> Option<&mut dyn Other> {
        Some(about)
    }
}

/// Finds BLAKE3 of long files itself, as a maker of outboards does.
#[derive(Clone)]
struct OfLong(Options, u64);

impl HashAlone for OfLong {
    fn hash_alone(&mut self, _: &Path, _: Extent) -> Option<Result<Hashed, ErrorKind>> {
        None
    }

    fn hash_found(
        &mut self,
        file: &File,
        path: &Path,
        extent: Extent,
    ) -> Option<Result<Hashed, ErrorKind>> {
        let is_long = file.metadata().unwrap().len() >= self.1;
        is_long.then(|| self.0.hash_file(file, path, extent))
    }
}

fn tree() -> (tempfile::TempDir, BTreeMap<PathBuf, Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let mut files = BTreeMap::new();
    for (at, len) in
        [0, 1, 5000, 200_000, (1 << 20) - 1, 1 << 20, 5_000_000].into_iter().enumerate()
    {
        let path = folder.path().join(format!("f{at}"));
        let content: Vec<u8> = (0..len).map(|byte: usize| (byte % 253 + at) as u8).collect();
        fs::write(&path, &content).unwrap();
        // Old enough that a write since then would show.
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        files.insert(path, content);
    }
    for at in [2, 6] {
        let (path, other) =
            (folder.path().join(format!("f{at}")), folder.path().join(format!("g{at}")));
        fs::hard_link(&path, &other).unwrap();
        files.insert(other, files[&path].clone());
    }
    (folder, files)
}

#[test]
fn run_finds_all_digests_of_every_file() {
    let (folder, files) = tree();
    #[cfg(unix)]
    waiting::wait_until_links_count(&folder.path().join("f6"));
    let usual = Options::new().stamps(true).links_once(true);
    let of_long = OfLong(Options::new(), 1 << 20);
    let (mut cases, mut linked) = (0, 0);
    for (options, alone) in [
        (usual.clone(), None),
        (usual.clone().threads(1), None),
        (usual.clone().threads(2), None),
        (usual.clone().drop_cache(true), None),
        (usual.clone().strategy(Strategy::Read), None),
        (usual.clone().links_once(false), None),
        (usual.clone().alone_from(1 << 20), Some(of_long.clone())),
        (usual.clone().alone_from(1 << 20).threads(1), Some(of_long)),
    ] {
        let found = Files(Walk::new(folder.path()).into_iter());
        let alone = alone.unwrap_or(OfLong(Options::new(), u64::MAX));
        let mut paths = Vec::new();
        for event in options.run_with(found, alone) {
            let Event::File(task, hashed) = event else { continue };
            let (content, hashed) = (&files[&task.path], hashed.unwrap());
            let blake3 = treewide::hash(content);
            assert_eq!(hashed.digest.clone().into_bytes(), blake3.as_bytes());
            assert_eq!(hashed.bytes, content.len() as u64);
            let stamps = hashed.stamps.unwrap();
            assert_eq!((stamps.before, stamps.after.len), (stamps.after, hashed.bytes));
            linked += u64::from(stamps.linked);
            assert_eq!(task.about.digest(Algorithm::BLAKE3), Some(&blake3.as_bytes()[..]));
            for algorithm in &BOTH[1..] {
                let mut digester = algorithm.begin(hashed.bytes).unwrap();
                digester.update(content);
                assert_eq!(task.about.digest(*algorithm), Some(&digester.finish()[..]));
            }
            paths.push(task.path);
            cases += 1;
        }
        assert_eq!(paths, files.keys().cloned().collect::<Vec<_>>());
    }
    println!("{cases} files, {linked} under another name");
    assert!(cfg!(not(unix)) || linked > 0);
}

//! The digests of a file by some algorithms, when no one says what they should be.

use crate::algorithm::{Algorithm, Digester};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use treewide_files::digest::Digest;
use treewide_files::{Error, Found, Next, Options, Other, Spare};

/// The digests of the file at `path` by these algorithms, in their order, all from one reading.
///
/// ```
/// # let path = std::env::temp_dir().join("treewide-digests-doc-wanted");
/// # std::fs::write(&path, "abc").unwrap();
/// use treewide_digests::{Algorithm, digests};
/// use treewide_files::Options;
/// use treewide_files::digest::hex;
///
/// let names = ["blake3", "sha256"];
/// let algorithms = names.map(|name| Algorithm::named(name).expect("a name of `Algorithm::ALL`"));
/// let [blake3, sha256] = &digests(&path, &algorithms, &Options::new())?[..] else { unreachable!() };
/// assert_eq!(&blake3[..], treewide::hash(b"abc").as_bytes());
/// assert_eq!(hex(sha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), treewide_files::Error>(())
/// ```
///
/// BLAKE3 has the mode and the extent of the options, and a thread of its own next to the one of the others. Alone it has all threads.
///
/// # Errors
/// If the file cannot be opened or read, becomes shorter, or the run is cancelled.
pub fn digests(
    path: impl AsRef<Path>,
    algorithms: &[Algorithm],
    options: &Options,
) -> Result<Vec<Vec<u8>>, Error> {
    let mut wanted = Wanted::new(algorithms);
    options.hash_other(path, &mut wanted)?;
    let digest = |it: &Algorithm| wanted.digest(*it).unwrap_or_default().to_vec();
    Ok(algorithms.iter().map(digest).collect())
}

/// Digests that a run of [`treewide_files`] finds in one reading, as [`Source::other`](treewide_files::Source::other) returns them.
pub struct Wanted {
    algorithms: Arc<[Algorithm]>,
    at_hand: Vec<(Algorithm, Box<dyn Digester>)>,
    found: Vec<(Algorithm, Vec<u8>)>,
    is_found: bool,
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wanted").field("algorithms", &self.algorithms).finish_non_exhaustive()
    }
}

impl Wanted {
    /// The digests by these algorithms. BLAKE3 may be one of them.
    pub fn new(algorithms: impl Into<Arc<[Algorithm]>>) -> Self {
        let algorithms = algorithms.into();
        let is_found = algorithms.is_empty();
        Self { algorithms, at_hand: Vec::new(), found: Vec::new(), is_found }
    }

    /// The digest by one of them, after the run.
    pub fn digest(&self, algorithm: Algorithm) -> Option<&[u8]> {
        self.found.iter().find(|(it, _)| *it == algorithm).map(|(_, digest)| &digest[..])
    }

    /// The digests, after the run, in the order in which they are wanted.
    pub fn digests(&self) -> &[(Algorithm, Vec<u8>)] {
        &self.found
    }

    /// The algorithms.
    pub fn algorithms(&self) -> &[Algorithm] {
        &self.algorithms
    }

    fn wants_blake3(&self) -> bool {
        self.algorithms.contains(&Algorithm::BLAKE3)
    }

    /// The bytes have ended.
    fn end(&mut self) {
        let found =
            self.at_hand.drain(..).map(|(algorithm, digester)| (algorithm, digester.finish()));
        self.found.extend(found);
        let place = |it: &Algorithm| self.algorithms.iter().position(|wanted| wanted == it);
        self.found.sort_by_key(|(algorithm, _)| place(algorithm));
        self.is_found = true;
    }
}

impl Other for Wanted {
    fn next(&mut self) -> Next {
        if !self.at_hand.is_empty() {
            self.end();
        }
        match (self.is_found, self.wants_blake3()) {
            (true, _) => Next::Nothing,
            (false, true) if self.algorithms.iter().all(|it| *it == Algorithm::BLAKE3) => {
                Next::Blake3
            }
            (false, true) => Next::Both,
            (false, false) => Next::Bytes,
        }
    }

    fn blake3(&mut self, digest: &Digest) {
        self.found.push((Algorithm::BLAKE3, digest.clone().into_bytes()));
        self.end();
    }

    fn begin(&mut self, size: u64) -> bool {
        self.found.clear();
        self.at_hand.clear();
        for algorithm in &*self.algorithms {
            let is_there = self.at_hand.iter().any(|(it, _)| it == algorithm);
            let digester = algorithm.begin(size).filter(|_| !is_there);
            self.at_hand.extend(digester.map(|it| (*algorithm, it)));
        }
        true
    }

    fn lend(&mut self, spare: &Spare) {
        self.at_hand.iter_mut().for_each(|(_, it)| it.lend(spare));
    }

    fn update(&mut self, bytes: &[u8]) {
        self.at_hand.iter_mut().for_each(|(_, it)| it.update(bytes));
    }

    fn found(&self) -> Found {
        self.found.iter().map(|(algorithm, digest)| (algorithm.name(), digest.clone())).collect()
    }

    fn was_found(&mut self, _: &Digest, found: &Found) -> bool {
        let of = |it: &Algorithm| {
            let found = found.iter().find(|(name, _)| *name == it.name())?;
            Some((*it, found.1.clone()))
        };
        let all: Option<Vec<_>> = self.algorithms.iter().map(of).collect();
        self.is_found = all.is_some();
        self.found = all.unwrap_or_default();
        self.is_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewide_files::digest::hex;

    /// Each digest by itself.
    fn expected(algorithm: Algorithm, content: &[u8]) -> Vec<u8> {
        match algorithm.begin(content.len() as u64) {
            Some(mut digester) => {
                digester.update(content);
                digester.finish()
            }
            None => treewide::hash(content).as_bytes().into(),
        }
    }

    #[test]
    fn digests_are_those_of_each_algorithm_alone() {
        use Algorithm as A;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (mut cases, both) = (0, [A::SHA256, A::BLAKE3, A::MD5, A::GIT_BLOB_SHA1, A::XET]);
        for len in [0, 1, 1000, 300_000, 3_000_001] {
            let content: Vec<u8> = (0..len).map(|at: u32| (at % 251) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            for algorithms in [&both[..], &both[..1], &both[1..2], &[A::SHA1, A::MD5], &[]] {
                for threads in [1, 2] {
                    let options = Options::new().threads(threads);
                    let found = digests(&path, algorithms, &options).unwrap();
                    let hex_of = |it: &A| hex(&expected(*it, &content));
                    let expected: Vec<_> = algorithms.iter().map(hex_of).collect();
                    let found: Vec<_> = found.iter().map(|it| hex(it)).collect();
                    assert_eq!(found, expected, "{len} bytes, {algorithms:?}, {threads} threads");
                    cases += 1;
                }
            }
        }
        println!("{cases} cases");
        let twice = digests(&path, &[A::SHA1, A::SHA1], &Options::new()).unwrap();
        assert_eq!(twice[0], twice[1]);
        assert!(digests(folder.path().join("b"), &both, &Options::new()).is_err());
    }

    #[test]
    fn wanted_begins_again_and_takes_what_is_known() {
        let both = [Algorithm::SHA256, Algorithm::BLAKE3];
        let mut wanted = Wanted::new(both);
        assert_eq!(wanted.next(), Next::Both);
        wanted.begin(9);
        wanted.update(b"cut");
        // The file changed.
        wanted.begin(3);
        wanted.update(b"abc");
        let digest = Digest::of_hash(&treewide::hash(b"abc"), Default::default()).unwrap();
        wanted.blake3(&digest);
        assert_eq!(wanted.next(), Next::Nothing);
        for algorithm in both {
            assert_eq!(wanted.digest(algorithm), Some(&expected(algorithm, b"abc")[..]));
        }
        let mut linked = Wanted::new(both);
        assert!(linked.was_found(&digest, &wanted.found()));
        assert_eq!((linked.next(), linked.digests()), (Next::Nothing, wanted.digests()));
        let mut more = Wanted::new([Algorithm::MD5, Algorithm::BLAKE3]);
        assert!(!more.was_found(&digest, &wanted.found()));
        assert_eq!(more.next(), Next::Both);
    }
}

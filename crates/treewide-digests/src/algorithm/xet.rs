//! xetHash, by which Hugging Face names the content of files.
//!
//! ```text
//! bytes    ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~   cut where a rolling hash of 64 bytes has 16 zero bits
//! chunks   [  ~72 KiB  ][   ][     ][   ]   BLAKE3, keyed
//! nodes       [  2 to 9 chunks   ] [    ]   BLAKE3, keyed, of the text `HASH : LENGTH\n` for each child
//! root               [           ]
//! file               BLAKE3, keyed, of the root's 32 bytes; of an empty file: zeros
//! ```
//!
//! As text, each 8 bytes of a hash are a little-endian number, so their digits come in reverse order. The digest here has the bytes in
//! the order of that text. <https://huggingface.co/docs/xet> has the specification.

mod helper;

use super::Digester;
use gearhash::DEFAULT_TABLE as GEAR;
use helper::Helper;
use std::collections::VecDeque;
use std::fmt::Write;
use treewide::{Batch, Mode};
use treewide_files::Spare;
use treewide_files::digest::hex;

/// The least and the most bytes of a chunk.
const LEAST: usize = 8 << 10;
const MOST: usize = 128 << 10;
/// The bytes on which the rolling hash depends: each moves it by a bit.
const WINDOW: usize = 64;
/// The most children of a node.
const WIDTH: usize = 9;
/// The bytes that are cut and hashed at a time, which the cache of a core holds. A guess. Tests have many pieces.
const PIECE: usize = if cfg!(test) { 5003 } else { 1 << 20 };
/// The pieces of a file for which a thread is started.
const LONG: u64 = 4;
/// The most pieces that wait to be cut, while another thread looks for cuts in the first of them.
const WAITING: usize = 6;
/// Ranges of a piece that one thread scans at the same time, because each waits for its last byte; and the bytes of each after which
/// it looks whether there was a cut. results/zen5-2vcpu/digests.md#xethash
const LANES: usize = 2;
const STRIDE: usize = 8;

const CHUNK_KEY: [u8; 32] = [
    0x66, 0x97, 0xf5, 0x77, 0x5b, 0x95, 0x50, 0xde, 0x31, 0x35, 0xcb, 0xac, 0xa5, 0x97, 0x18, 0x1c,
    0x9d, 0xe4, 0x21, 0x10, 0x9b, 0xeb, 0x2b, 0x58, 0xb4, 0xd0, 0xb0, 0x4b, 0x93, 0xad, 0xf2, 0x29,
];
const NODE_KEY: [u8; 32] = [
    0x01, 0x7e, 0xc5, 0xc7, 0xa5, 0x47, 0x29, 0x96, 0xfd, 0x94, 0x66, 0x66, 0xb4, 0x8a, 0x02, 0xe6,
    0x5d, 0xdd, 0x53, 0x6f, 0x37, 0xc7, 0x6d, 0xd2, 0xf8, 0x63, 0x52, 0xe6, 0x4a, 0x53, 0x71, 0x3f,
];

/// A piece, and where there may be a cut.
type Scanned = (Vec<u8>, Vec<usize>);

/// The hash of a chunk or a node, and the number of bytes that it is of.
type Node = ([u8; 32], u64);

struct Xet {
    batch: Batch,
    /// The piece that comes next, after room for `MOST` bytes that are before it.
    piece: Vec<u8>,
    /// The bytes after the last cut, in pieces before. There is no cut in them.
    rest: Vec<u8>,
    /// The pieces before it. Another thread has each piece that is `None`.
    waiting: VecDeque<Option<Scanned>>,
    /// What was a piece before.
    used: Vec<Vec<u8>>,
    /// Threads that may help, if the file is long, and the one that does.
    spare: Spare,
    helper: Option<Helper>,
    is_long: bool,
    /// The nodes that have no parent yet, and how many there were, for each level from the chunks up.
    levels: Vec<(Vec<Node>, u64)>,
}

pub(super) fn begin(size: u64) -> Box<dyn Digester> {
    Box::new(Xet {
        batch: Batch::with_mode(Mode::keyed(&CHUNK_KEY)),
        // What the room holds is in the window of the first bytes only, and they have no cut.
        piece: vec![0; MOST],
        rest: Vec::new(),
        waiting: VecDeque::new(),
        used: Vec::new(),
        spare: Spare::default(),
        helper: None,
        is_long: size >= LONG * PIECE as u64,
        levels: Vec::new(),
    })
}

impl Digester for Xet {
    fn lend(&mut self, spare: &Spare) {
        if self.is_long {
            self.spare = spare.clone();
        }
    }

    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = MOST + PIECE - self.piece.len();
            let (more, rest) = bytes.split_at(bytes.len().min(room));
            self.piece.extend(more);
            if more.len() == room {
                self.end_piece();
            }
            bytes = rest;
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        self.cut_scanned(0);
        let last = std::mem::take(&mut self.piece);
        self.cut(scanned(last), true);
        let mut level = 0;
        while let Some((open, count)) = self.levels.get_mut(level) {
            if let ([(root, _)], 1) = (&open[..], *count) {
                return in_order_of_text(treewide::keyed_hash(&[0; 32], root).as_bytes()).to_vec();
            }
            let open = std::mem::take(open);
            if !open.is_empty() {
                self.push(level + 1, parent(&open));
            }
            level += 1;
        }
        vec![0; 32]
    }
}

impl Xet {
    /// Looks for cuts in a piece that is full. If another thread may do so, this one gets the bytes of the next.
    fn end_piece(&mut self) {
        let mut next = self.used.pop().unwrap_or_else(|| vec![0; MOST]);
        next.truncate(MOST);
        next[MOST - WINDOW..].copy_from_slice(&self.piece[self.piece.len() - WINDOW..]);
        let piece = std::mem::replace(&mut self.piece, next);
        if self.helper.is_none() {
            self.helper = self.spare.take().and_then(Helper::start);
        }
        let not_given = match &mut self.helper {
            Some(helper) => helper.give(piece),
            None => Some(piece),
        };
        self.waiting.push_back(not_given.map(scanned));
        self.cut_scanned(WAITING);
    }

    /// Cuts the first pieces that wait, and leaves some for which another thread is not done. It waits for them if there are more than
    /// `most`.
    fn cut_scanned(&mut self, most: usize) {
        while let Some(mut first) = self.waiting.pop_front() {
            if first.is_none() {
                let must_wait = self.waiting.len() >= most;
                first = self.helper.as_mut().and_then(|it| it.take_back(must_wait));
            }
            let Some(scanned) = first else { return self.waiting.push_front(None) };
            self.cut(scanned, false);
        }
    }

    /// Cuts the bytes into chunks, and hashes them. What comes after the last cut is kept, unless it is the end.
    fn cut(&mut self, (mut piece, candidates): Scanned, is_end: bool) {
        let first = MOST - self.rest.len();
        piece[first..MOST].copy_from_slice(&self.rest);
        let (mut chunks, mut rest) = (Vec::new(), &piece[first..]);
        let mut candidates = candidates.into_iter().peekable();
        loop {
            let start = piece.len() - rest.len();
            while candidates.next_if(|at| *at < start + LEAST).is_some() {}
            let len = match candidates.peek().map(|at| at - start) {
                Some(len) if len <= MOST => len,
                _ if rest.len() >= MOST => MOST,
                _ if is_end && !rest.is_empty() => rest.len(),
                _ => break,
            };
            let (chunk, after) = rest.split_at(len);
            chunks.push(chunk);
            rest = after;
        }
        let hashes = self.batch.hash(&chunks);
        for (hash, chunk) in hashes.iter().zip(&chunks) {
            self.push(0, (*hash.as_bytes(), chunk.len() as u64));
        }
        self.rest.clear();
        self.rest.extend(rest);
        self.used.push(piece);
    }

    /// Adds a node to a level, and its parent to the next one if it is the last of its parent.
    fn push(&mut self, level: usize, node: Node) {
        if self.levels.len() == level {
            self.levels.push((Vec::new(), 0));
        }
        let (open, count) = &mut self.levels[level];
        *count += 1;
        open.push(node);
        // The lowest bits of the hash's last 8 bytes as a little-endian number.
        let is_last = open.len() >= 3 && node.0[24].is_multiple_of(4) || open.len() == WIDTH;
        if is_last {
            let open = std::mem::take(open);
            self.push(level + 1, parent(&open));
        }
    }
}

fn parent(children: &[Node]) -> Node {
    let mut text = String::new();
    for (hash, len) in children {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} : {len}", hex(&in_order_of_text(hash)));
    }
    let len = children.iter().map(|(_, len)| len).sum();
    (treewide::keyed_hash(&NODE_KEY, text.as_bytes()).into(), len)
}

/// The bytes of a hash in the order in which its text has them.
fn in_order_of_text(hash: &[u8; 32]) -> [u8; 32] {
    let mut bytes = *hash;
    bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    bytes
}

fn scanned(piece: Vec<u8>) -> Scanned {
    let candidates = candidates(&piece, MOST);
    (piece, candidates)
}

/// The ends of prefixes of `bytes`, longer than `from`, at which there may be a cut, in order.
///
/// Inlined, it takes a tenth longer. results/zen5-2vcpu/digests.md#xethash
#[inline(never)]
fn candidates(bytes: &[u8], from: usize) -> Vec<usize> {
    let len = (bytes.len() - from) / (LANES * STRIDE) * STRIDE;
    let starts: [usize; LANES] = std::array::from_fn(|lane| from + lane * len);
    // Before a lane, the hash of the bytes that it depends on.
    let mut hashes = starts.map(|at| bytes[at.saturating_sub(WINDOW)..at].iter().fold(0, step));
    let (lanes, _) = bytes[from..].split_at(LANES * len);
    let [first, second] = [0, 1].map(|lane| lanes[lane * len..][..len].as_chunks::<STRIDE>().0);
    let mut found = Vec::new();
    for (at, strides) in first.iter().zip(second).enumerate() {
        let (before, mut has_cut) = (hashes, false);
        for bytes in strides.0.iter().zip(strides.1) {
            for (hash, byte) in hashes.iter_mut().zip([bytes.0, bytes.1]) {
                *hash = step(*hash, byte);
                has_cut |= is_cut(*hash);
            }
        }
        if has_cut {
            scan(before[0], strides.0, starts[0] + at * STRIDE, &mut found);
            scan(before[1], strides.1, starts[1] + at * STRIDE, &mut found);
        }
    }
    let rest = from + LANES * len;
    scan(hashes[LANES - 1], &bytes[rest..], rest, &mut found);
    found.sort_unstable();
    found
}

/// The rolling hash after one more byte.
fn step(hash: u64, byte: &u8) -> u64 {
    (hash << 1).wrapping_add(GEAR[usize::from(*byte)])
}

fn is_cut(hash: u64) -> bool {
    hash < 1 << (u64::BITS - 16)
}

/// Adds the ends after which there may be a cut, in bytes that begin at a place.
fn scan(mut hash: u64, bytes: &[u8], start: usize, found: &mut Vec<usize>) {
    for (at, byte) in bytes.iter().enumerate() {
        hash = step(hash, byte);
        if is_cut(hash) {
            found.push(start + at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With this number of threads to help.
    fn xet(bytes: &[u8], step: usize, spare: usize) -> String {
        let mut digester = begin(bytes.len() as u64);
        digester.lend(&Spare::new(spare));
        bytes.chunks(step).for_each(|it| digester.update(it));
        hex(&digester.finish())
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at % 251) as u8).collect()
    }

    /// The upper bytes of Knuth's generator for MMIX.
    fn random(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// The data of tests of xet-core.
    fn split_mix(len: usize) -> Vec<u8> {
        let mut state = 0_u64;
        let next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)).to_le_bytes()
        };
        std::iter::repeat_with(next).flatten().take(len).collect()
    }

    /// By `hf_xet.hash_files` 1.8.0.
    #[test]
    fn begin_finds_the_hashes_of_hf_xet() {
        for (bytes, expected) in [
            (vec![], "0000000000000000000000000000000000000000000000000000000000000000"),
            (
                b"hello treewide\n".to_vec(),
                "5464ed4662b5106086224c524c119fd9e471a13222d82a595f173a11c892960e",
            ),
            (vec![0], "41f5539a8d8bdd7509fd9a319268aca47ea6d40b33394170182e09fa86345c7e"),
            (vec![0; 300_000], "3d7bd4178bc2851ba07d59c24c3a88ae0c7220e9920d6c5c6a06b01556d46404"),
            (
                vec![59; 1_000_000],
                "53f845640fcd1c7440befff65bd93434c83a30c6559a705597d61f2ef64e2f88",
            ),
            (pattern(8191), "af3035a271596fd3463aece07db2041dd85699cab4e27e1125b17e966a1b3ef3"),
            (pattern(131_072), "c591135b587d04a52721338102602e8731a4e5b967af004d0b845c81e02c5a2b"),
            (pattern(131_073), "429ffffa77fb8eb03c0ff397e414eb0d0575785296b105fda3a2ceeab532c575"),
            (
                pattern(1_000_000),
                "a6915bc7a3b8f6812da0990d510cc8228f8fe8d41d96c0678649c18122e4caf8",
            ),
            (random(8192), "556829086ec46083e937674309b466abd4c844d3229e78a0dc93c94d6ff6f0c8"),
            (random(100_000), "533b884c46bf6bbbe6f91eadda15cdefac1d3883f0bfd311f919ce3beb37f743"),
            (random(1_000_000), "21a116f0b13407b52058e644fe19dbd1398e63edf75cc008d3ea0c2b87c07944"),
            (
                random(10_000_000),
                "cf4732cd9b9235cf1f4a1f955d3d9c297d081fb43a5684d1357c6dee2eda4448",
            ),
            (
                split_mix(1_000_000),
                "3d17b2d7d64a0e011b6717a52d9a16bd2c3f05b743fa8adf52a7d75dafab6d89",
            ),
        ] {
            for step in [100_003, bytes.len().max(1)] {
                for spare in 0..2 {
                    let found = xet(&bytes, step, spare);
                    assert_eq!(found, expected, "{} by {step}, {spare}", bytes.len());
                }
            }
        }
    }
}

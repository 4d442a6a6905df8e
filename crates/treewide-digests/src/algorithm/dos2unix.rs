//! MD5 as DVC 2 finds it: `\r\n` in text counts as `\n`. It decides anew for each piece of 1 MiB whether that is text.

use super::Digester;
use md5::{Digest, Md5};

const PIECE: usize = 1 << 20;
/// The bytes of a piece that decide.
const START: usize = 512;

struct Dos2Unix {
    md5: Md5,
    piece: Vec<u8>,
}

pub(super) fn begin(_: u64) -> Box<dyn Digester> {
    Box::new(Dos2Unix { md5: Md5::new(), piece: Vec::new() })
}

impl Dos2Unix {
    fn end_piece(&mut self) {
        let start = &self.piece[..self.piece.len().min(START)];
        let is_odd = |it: &&u8| !matches!(it, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 8 | 12);
        let odd = start.iter().filter(is_odd).count();
        if !start.contains(&0) && 10 * odd <= 3 * start.len() {
            let (mut last, mut at) = (0, 0);
            let len = self.piece.len();
            for from in 0..len {
                let byte = self.piece[from];
                at -= usize::from(last == b'\r' && byte == b'\n');
                self.piece[at] = byte;
                (last, at) = (byte, at + 1);
            }
            self.piece.truncate(at);
        }
        Digest::update(&mut self.md5, &self.piece);
        self.piece.clear();
    }
}

impl Digester for Dos2Unix {
    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(PIECE - self.piece.len()));
            self.piece.extend(more);
            if self.piece.len() == PIECE {
                self.end_piece();
            }
            bytes = rest;
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        self.end_piece();
        self.md5.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewide_files::digest::hex;

    /// By `dvc_data.hashfile.hash.fobj_md5` 3.18.3 with `md5-dos2unix`.
    #[test]
    fn begin_finds_the_digests_of_dvc_2() {
        let lines = |count: usize| b"a line\r\n".repeat(count);
        for (content, expected) in [
            (b"".to_vec(), "d41d8cd98f00b204e9800998ecf8427e"),
            (b"a\r\r\nb\rc\r".to_vec(), "1d17c885b68e7607b33655f762cd6260"),
            (b"a\0\r\n".to_vec(), "a200e344e12b35719025ffdb8b428ee8"),
            ([&[200; 153][..], &[b'x'; 357], b"\r\n"].concat(), "12e42114a2c9f62ef041953c5f87d693"),
            ([&[200; 154][..], &[b'x'; 357], b"\r\n"].concat(), "ea4a4bb99a82a76974cee5cb7237ca31"),
            // A line ends where a piece does.
            ([b"123456789", &lines(200_000)[..]].concat(), "738ddc9eb637c8661f5800b640a177e2"),
            // The second piece is not text.
            ([&lines(1 << 17)[..], b"\0\r\n"].concat(), "0327a9935d10c647c5a01a81e0f12ba0"),
        ] {
            for step in [1 << 22, 100_001, 4096] {
                let mut digester = begin(0);
                content.chunks(step).for_each(|it| digester.update(it));
                assert_eq!(hex(&digester.finish()), expected, "{}", content.len());
            }
        }
    }
}

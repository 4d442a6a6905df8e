//! Hashers that are fed small pieces, and extended output that is read in small pieces: `treewide-peers streams`.
//!
//! Each row has the bar that it must reach, as their time / ours, for AVX-512 and for AVX2.

use std::hint::black_box;

use crate::{KIB, compare};

/// Totals, pieces, and the least ratios.
const PIECES: &[(&[usize], &[usize], [f64; 2])] = &[
    (&[64, 200, KIB], &[7, 16, 64, 100, KIB], [0.98, 0.98]),
    (&[KIB + 1, 2 * KIB, 3 * KIB, 5 * KIB, 8 * KIB], &[16, 64, 100, KIB], [0.98, 0.98]),
    (&[16 * KIB, 100 * KIB, KIB * KIB], &[16], [2.5, 2.0]),
    (&[16 * KIB, 100 * KIB, KIB * KIB], &[64, 100, 200, 512, KIB], [4.0, 2.5]),
    (&[64 * KIB, KIB * KIB], &[4 * KIB], [1.4, 1.2]),
    (&[64 * KIB, KIB * KIB], &[8 * KIB], [1.15, 1.1]),
    (&[KIB * KIB], &[5000, 10_000], [1.0, 1.0]),
    (&[KIB * KIB], &[16 * KIB, 17 * KIB, 20_000, 32 * KIB, 64 * KIB, 100_000], [0.98, 0.98]),
];

/// Bytes of a read, and the least ratios.
const READS: &[(usize, [f64; 2])] = &[
    (8, [8.0, 4.0]),
    (16, [8.0, 4.0]),
    (32, [8.0, 4.0]),
    (64, [0.98, 0.98]),
    (100, [0.98, 0.98]),
    (1000, [0.98, 0.98]),
];

/// The same in the words of one of the crates.
macro_rules! functions {
    ($name:ident) => {
        mod $name {
            use super::black_box;
            use $name::Hasher;

            pub(super) fn pieces(data: &[u8], piece: usize) -> [u8; 32] {
                let mut hasher = Hasher::new();
                for piece in data.chunks(piece) {
                    hasher.update(black_box(piece));
                }
                hasher.finalize().into()
            }

            /// A short header before each piece, as of a tar.
            pub(super) fn records(data: &[u8], piece: usize) -> [u8; 32] {
                let mut hasher = Hasher::new();
                for piece in data.chunks(piece) {
                    hasher.update(&piece[..512]).update(&piece[512..]);
                }
                hasher.finalize().into()
            }

            pub(super) fn fed(data: &[u8], piece: usize) -> Hasher {
                let mut hasher = Hasher::new();
                for piece in data.chunks(piece) {
                    hasher.update(piece);
                }
                hasher
            }

            pub(super) fn cloned(hasher: &Hasher, more: &[u8]) -> [u8; 32] {
                black_box(hasher).clone().update(more).finalize().into()
            }

            /// A digest after each piece.
            pub(super) fn digests(data: &[u8], piece: usize) -> [u8; 32] {
                let mut hasher = Hasher::new();
                for piece in data.chunks(piece) {
                    black_box(hasher.update(piece).finalize());
                }
                hasher.finalize().into()
            }

            pub(super) fn reads(data: &[u8], read: usize, all: usize) -> [u8; 32] {
                let mut reader = Hasher::new().update(data).finalize_xof();
                let mut out = [0; 1024];
                for _ in 0..all / read {
                    reader.fill(black_box(&mut out[..read]));
                }
                out[..32].try_into().expect("32 bytes")
            }
        }
    };
}
functions!(blake3);
functions!(treewide);

/// Pieces that are hashed as they come, as those of C's `blake3_hasher`.
fn without_buffer(data: &[u8], piece: usize) -> [u8; 32] {
    let mut hasher = ::treewide::Hasher::new().without_buffer();
    for piece in data.chunks(piece) {
        hasher.update(black_box(piece));
    }
    hasher.finalize().into()
}

pub(crate) fn measure(input: &[u8], only: Option<&str>) {
    let show = |what: String,
                bytes: usize,
                ours: &dyn Fn(&[u8]) -> [u8; 32],
                theirs: &dyn Fn(&[u8]) -> [u8; 32],
                least: [f64; 2]| {
        if only.is_none_or(|only| what.contains(only)) {
            let name = format!("{bytes} B, {what}");
            let kernel = ::treewide::kernel::detected().name();
            let bar = least[usize::from(!kernel.starts_with("avx512"))];
            compare(&name, [ours, theirs], &input[..bytes], bar);
        }
    };
    for &(totals, pieces, least) in PIECES {
        for &total in totals {
            for &piece in pieces.iter().filter(|piece| **piece <= total) {
                let ours = move |data: &[u8]| treewide::pieces(data, piece);
                let theirs = move |data: &[u8]| blake3::pieces(data, piece);
                show(format!("update {piece}"), total, &ours, &theirs, least);
            }
        }
    }
    for piece in [16, 64, 100, KIB, 5000, 8 * KIB] {
        let ours = move |data: &[u8]| without_buffer(data, piece);
        let theirs = move |data: &[u8]| blake3::pieces(data, piece);
        show(format!("without a buffer {piece}"), 16 * KIB, &ours, &theirs, [0.98; 2]);
    }
    for piece in [2 * KIB, 9 * KIB, 17 * KIB, 65 * KIB] {
        let ours = move |data: &[u8]| treewide::records(data, piece);
        let theirs = move |data: &[u8]| blake3::records(data, piece);
        show(
            format!("512 and {}", piece - 512),
            520 * piece / KIB * KIB / 4 / piece * piece,
            &ours,
            &theirs,
            [0.98; 2],
        );
    }
    // What is gathered is hashed for each clone: `results/zen5-2vcpu/streams.md#clones`.
    for (piece, least) in [(64, 0.5), (1000, 0.5), (100_000, 1.0)] {
        let (our, their) =
            (treewide::fed(&input[..100_000], piece), blake3::fed(&input[..100_000], piece));
        let ours = |data: &[u8]| treewide::cloned(&our, data);
        let theirs = |data: &[u8]| blake3::cloned(&their, data);
        show(format!("clone after 100 kB by {piece}"), 100, &ours, &theirs, [least; 2]);
    }
    for piece in [100, KIB] {
        let ours = move |data: &[u8]| treewide::digests(data, piece);
        let theirs = move |data: &[u8]| blake3::digests(data, piece);
        show(format!("update {piece}, digest"), 32 * KIB, &ours, &theirs, [0.98; 2]);
    }
    for &(read, least) in READS {
        let ours = move |data: &[u8]| treewide::reads(data, read, KIB);
        let theirs = move |data: &[u8]| blake3::reads(data, read, KIB);
        show(format!("1 KiB in reads of {read}"), 32, &ours, &theirs, least);
    }
    for read in [32, 64, 131] {
        let ours = move |data: &[u8]| treewide::reads(data, read, read);
        let theirs = move |data: &[u8]| blake3::reads(data, read, read);
        show(format!("one read of {read}"), 32, &ours, &theirs, [0.98; 2]);
    }
}

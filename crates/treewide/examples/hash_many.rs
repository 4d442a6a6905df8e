//! Many small inputs, in all the ways that the article *Hashing multiple blobs with BLAKE3* (n0,
//! 2023) compares, on this machine:
//!
//! ```text
//! cargo run --release -p treewide --features rayon --example hash_many
//! cargo run --release -p treewide --features rayon --example hash_many -- 4096 16384   # bytes, blobs
//! ```
//!
//! "Loop" is one input after the other, "rayon" that loop with the threads of a pool, "side by side"
//! [`hash_many`], which fills the lanes of a vector with inputs, and its last row does both. SHA-256
//! is the `sha2` crate, which uses the CPU's instructions for it where there are some. Times are
//! medians of turns in which every way has one go.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use treewide::{Batch, hash_many};

/// A way to hash all blobs; returns a byte of each digest, so that none of it is optimised away.
type Way<'a> = (&'a str, Box<dyn Fn() -> Vec<u8> + 'a>);

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| {
            text.parse().unwrap_or_else(|_| panic!("{text} is not a number of bytes or blobs"))
        })
        .collect();
    match arguments[..] {
        [] => {
            for (len, count) in [(64, 65_536), (200, 65_536), (1024, 65_536), (4096, 4096)] {
                table(len, count);
            }
        }
        [len, count] => table(len, count),
        _ => panic!("either nothing, or the bytes of a blob and how many there are"),
    }
}

fn table(len: usize, count: usize) {
    let data: Vec<u8> = (0..len * count).map(|i| (i % 251) as u8).collect();
    let blobs: Vec<&[u8]> = (0..count).map(|i| &data[i * len..(i + 1) * len]).collect();
    let blobs = &blobs[..];
    let sha256 = |blob: &&[u8]| Sha256::digest(blob)[0];
    let blake3 = |blob: &&[u8]| blake3::hash(blob).as_bytes()[0];
    let first = |hash: &treewide::Hash| hash.as_bytes()[0];
    let ways: [Way<'_>; 6] = [
        ("SHA-256, loop", Box::new(move || blobs.iter().map(sha256).collect())),
        ("SHA-256, rayon", Box::new(move || blobs.par_iter().map(sha256).collect())),
        ("BLAKE3, loop of the blake3 crate", Box::new(move || blobs.iter().map(blake3).collect())),
        (
            "BLAKE3, rayon over the blake3 crate",
            Box::new(move || blobs.par_iter().map(blake3).collect()),
        ),
        ("treewide, side by side", Box::new(move || hash_many(blobs).iter().map(first).collect())),
        (
            "treewide, side by side on threads",
            Box::new(move || {
                Batch::new().threads(usize::MAX).hash(blobs).iter().map(first).collect()
            }),
        ),
    ];
    let digests = ways[2].1();
    assert!(ways[3..].iter().all(|(_, way)| way() == digests), "all ways give the same digests");

    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..15 {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            black_box(way());
            times.push(start.elapsed());
        }
    }
    println!(
        "{count} blobs of {len} bytes, kernel {}, {} threads",
        treewide::kernel::detected().name(),
        rayon::current_num_threads(),
    );
    let medians: Vec<Duration> = times
        .iter_mut()
        .map(|times| {
            times.sort();
            times[times.len() / 2]
        })
        .collect();
    for ((name, _), time) in ways.iter().zip(&medians) {
        let seconds = time.as_secs_f64();
        println!(
            "  {name:<36} {:>9.2} ms {:>8.1} ns a blob {:>7.2} GB/s {:>6.2} x the loop",
            1e3 * seconds,
            1e9 * seconds / count as f64,
            (len * count) as f64 / seconds / 1e9,
            medians[2].as_secs_f64() / seconds,
        );
    }
    println!();
}

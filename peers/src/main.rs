//! One of our kernels against the same instruction set of a peer, on one thread.
//!
//! Both take turns in one process; a row's times are medians over the turns, its ratio is the
//! median of the turn-by-turn ratios (their time / ours). The features of this crate say which two.

use std::hint::black_box;
use std::time::Instant;

const KIB: usize = 1024;
const PEER: &str = match (cfg!(feature = "rscrypto"), cfg!(target_family = "wasm")) {
    (true, _) => "rscrypto 0.9",
    (_, true) => "blake3 1.8 with wasm32_simd",
    _ => "blake3 1.8 without what this kernel does not use",
};
const KERNEL: &str = if cfg!(feature = "portable") {
    "portable"
} else if cfg!(feature = "sse2") {
    "sse2"
} else if cfg!(feature = "sse41") {
    "sse41"
} else if cfg!(feature = "avx2") {
    "avx2"
} else if cfg!(feature = "wasm") {
    "wasm"
} else {
    "auto"
};

const LENGTHS: &[usize] = &[
    0,
    1,
    31,
    63,
    64,
    128,
    256,
    512,
    1000,
    KIB,
    KIB + 1,
    2 * KIB,
    3 * KIB,
    4 * KIB,
    5 * KIB,
    6 * KIB,
    7 * KIB,
    8 * KIB,
    9 * KIB,
    10 * KIB,
    11 * KIB,
    12 * KIB,
    13 * KIB,
    14 * KIB,
    15 * KIB,
    16 * KIB,
    17 * KIB,
    20 * KIB,
    24 * KIB,
    28 * KIB,
    31 * KIB,
    32 * KIB,
    64 * KIB,
    128 * KIB,
    KIB * KIB,
    16 * KIB * KIB,
];

fn ours(data: &[u8]) -> [u8; 32] {
    *treewide::hash(data).as_bytes()
}

#[cfg(feature = "rscrypto")]
fn theirs(data: &[u8]) -> [u8; 32] {
    rscrypto::Blake3::digest(data)
}

#[cfg(not(feature = "rscrypto"))]
fn theirs(data: &[u8]) -> [u8; 32] {
    *blake3::hash(data).as_bytes()
}

/// Nanoseconds per call of `f`, over `calls` calls.
fn time(calls: usize, f: fn(&[u8]) -> [u8; 32], data: &[u8]) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(f(black_box(data)));
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// [`time`] from `depth` calls further down the stack.
///
/// V8 spills vectors to a stack that is aligned to 8 bytes, and on Zen 5 a store across two pages takes 6 ns.
/// So a process whose stack begins at the wrong place (4 of 512) would find one side half as slow again at
/// every turn: `results/zen5-2vcpu/peers.txt`.
#[inline(never)]
fn time_at(depth: usize, calls: usize, f: fn(&[u8]) -> [u8; 32], data: &[u8]) -> f64 {
    if depth == 0 {
        return time(calls, f, data);
    }
    // Hidden, so that it does not become a loop.
    black_box(time_at(depth - 1, calls, f, data))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Our time, theirs, and their time / ours.
fn compare(data: &[u8], turns: usize) -> [f64; 3] {
    assert_eq!(ours(data), theirs(data));
    let calls = (200_000 / (50 + data.len() / 4)).max(1);
    let mut columns = [vec![], vec![], vec![]];
    // Each turn from another place of the stack.
    for turn in 0..turns {
        // Neither side always comes first.
        let (a, b) = if turn % 2 == 0 {
            let a = time_at(turn, calls, ours, data);
            (a, time_at(turn, calls, theirs, data))
        } else {
            let b = time_at(turn, calls, theirs, data);
            (time_at(turn, calls, ours, data), b)
        };
        for (column, value) in columns.iter_mut().zip([a, b, b / a]) {
            column.push(value);
        }
    }
    columns.map(|mut column| median(&mut column))
}

fn row(bytes: usize, [ours, theirs, ratio]: [f64; 3]) {
    println!("{bytes:>9} {ours:>12.1} {theirs:>12.1} {ratio:>6.2}");
}

fn main() {
    treewide::kernel::force(KERNEL).expect("this CPU runs the kernel");
    let input: Vec<u8> = (0..16 * KIB * KIB + 4096).map(|i| (i % 251) as u8).collect();
    // From the beginning of a page, as files are.
    let input = &input[input.as_ptr().align_offset(4096)..];
    println!("\nkernel {} against {PEER}", treewide::kernel::detected().name());
    println!("    bytes      ours ns    theirs ns  ratio");
    for &bytes in LENGTHS {
        row(bytes, compare(&input[..bytes], if bytes > 4 * KIB * KIB { 15 } else { 51 }));
    }
    let lengths = (0..=64 * KIB).step_by(61);
    let mut sweep: Vec<_> = lengths.map(|len| (len, compare(&input[..len], 9))).collect();
    sweep.sort_by(|a, b| a.1[2].total_cmp(&b.1[2]));
    let below = sweep.iter().filter(|row| row.1[2] < 1.0).count();
    println!(
        "every length from 0 to 64 KiB in steps of 61: {}, of these below 1.00: {below}; median {:.2}, the lowest:",
        sweep.len(),
        sweep[sweep.len() / 2].1[2]
    );
    for &(bytes, times) in &sweep[..8] {
        row(bytes, times);
    }
}

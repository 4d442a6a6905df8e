//! One of our kernels against the same instruction set of a peer, on one thread.
//!
//! Both take turns in one process. The samples go to standard output, for `treewide-bench report`; scripts/peers.sh does
//! all of it. The features of this crate say which two are compared.
//!
//! Built without optimisation, it is a client as `cargo test` compiles one. With the argument `check` it times nothing and
//! compares digests. `streams` measures small pieces, and `operations`, in a build with that feature, all that both can do; with a
//! word after it only rows whose names contain the word.

#[cfg(feature = "operations")]
mod operations;
mod samples;
#[cfg(not(feature = "rscrypto"))]
mod streams;

use std::hint::black_box;
use std::time::Instant;

use samples::Row;

const KIB: usize = 1024;
const UNOPTIMISED: bool = cfg!(debug_assertions);
const PEER: &str = match (cfg!(feature = "rscrypto"), cfg!(target_family = "wasm"), UNOPTIMISED) {
    (true, _, _) => "rscrypto 0.9",
    (_, true, _) => "blake3 1.8 with wasm32_simd",
    (_, _, true) => "blake3 1.8, both without optimisation",
    _ => "blake3 1.8 without instructions that this kernel does not use",
};
/// The ratio that rows must reach: without optimisation our functions may take 1.5 times as long as theirs, whose C and
/// assembly are optimised all the same.
const LEAST: f64 = if UNOPTIMISED { 1.0 / 1.5 } else { 1.0 };
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
    1025,
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

/// Bytes of each update, where an input comes in pieces.
const PIECES: &[usize] = &[10, 64, 200, KIB, 3 * KIB, 8 * KIB, 64 * KIB];
/// Updates of an input in pieces.
const UPDATES: usize = 16;

fn ours(data: &[u8]) -> [u8; 32] {
    *treewide::hash(data).as_bytes()
}

/// The same in [`UPDATES`] pieces.
fn our_updates(data: &[u8]) -> [u8; 32] {
    let mut hasher = treewide::Hasher::new();
    for piece in data.chunks((data.len() / UPDATES).max(1)) {
        hasher.update(piece);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(feature = "rscrypto")]
fn theirs(data: &[u8]) -> [u8; 32] {
    rscrypto::Blake3::digest(data)
}

#[cfg(feature = "rscrypto")]
fn their_updates(data: &[u8]) -> [u8; 32] {
    use rscrypto::Digest;
    let mut hasher = rscrypto::Blake3::new();
    for piece in data.chunks((data.len() / UPDATES).max(1)) {
        hasher.update(piece);
    }
    hasher.finalize()
}

#[cfg(not(feature = "rscrypto"))]
fn theirs(data: &[u8]) -> [u8; 32] {
    *blake3::hash(data).as_bytes()
}

#[cfg(not(feature = "rscrypto"))]
fn their_updates(data: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for piece in data.chunks((data.len() / UPDATES).max(1)) {
        hasher.update(piece);
    }
    *hasher.finalize().as_bytes()
}

/// Nanoseconds of `calls` calls of `f`.
fn time(calls: u64, f: Function<'_>, data: &[u8]) -> u64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(f(black_box(data)));
    }
    start.elapsed().as_nanos() as u64
}

/// [`time`] from `depth` calls further down the stack.
///
/// V8 spills vectors to a stack that is aligned to 8 bytes, and on Zen 5 a store across two pages takes 6 ns.
/// So a process whose stack begins at the wrong place (4 of 512) would find one side half as slow again at
/// every turn: `results/zen5-2vcpu/peers.txt`.
#[inline(never)]
fn time_at(depth: usize, calls: u64, f: Function<'_>, data: &[u8]) -> u64 {
    if depth == 0 {
        return time(calls, f, data);
    }
    // Hidden, so that it does not become a loop.
    black_box(time_at(depth - 1, calls, f, data))
}

type Function<'a> = &'a dyn Fn(&[u8]) -> [u8; 32];

/// Prints a row: ours, then theirs with its bar.
fn compare(name: &str, [ours, theirs]: [Function<'_>; 2], data: &[u8], bar: f64) {
    assert_eq!(ours(data), theirs(data));
    let calls = (200_000 / (50 + data.len() / 4)).max(1) as u64;
    let turns = if data.len() > 4 * KIB * KIB { 15 } else { 51 };
    let mut samples = [vec![], vec![]];
    // Each turn from another place of the stack.
    for turn in 0..turns {
        // Neither side always comes first.
        for at in [turn % 2, 1 - turn % 2] {
            samples[at].push(time_at(turn, calls, [ours, theirs][at], data));
        }
    }
    let row = Row { name, bytes: data.len(), calls };
    row.print("treewide", &samples[0], None);
    row.print("peer", &samples[1], Some(bar));
}

/// Compares digests of both at many lengths, with all that a client calls first.
fn check(input: &[u8]) {
    let short = 0..=5 * KIB;
    let longer = (5 * KIB..80 * KIB).step_by(331);
    let mut cases = 0;
    for len in short.chain(longer).chain([128 * KIB, KIB * KIB, KIB * KIB + 1]) {
        let data = &input[..len];
        let digest = theirs(data);
        assert_eq!(ours(data), digest, "hash of {len} bytes");
        assert_eq!(our_updates(data), digest, "{len} bytes in pieces");
        cases += 2;
    }
    #[cfg(not(feature = "rscrypto"))]
    for len in [0, 1, 63, 64, 65, 131, 512, KIB, 10 * KIB + 1] {
        let [mut ours, mut theirs] = [vec![0; len], vec![0; len]];
        treewide::Hasher::new_keyed(&[7; 32]).update(&input[..100]).finalize_xof().fill(&mut ours);
        blake3::Hasher::new_keyed(&[7; 32]).update(&input[..100]).finalize_xof().fill(&mut theirs);
        assert_eq!(ours, theirs, "{len} bytes of extended output");
        cases += 1;
    }
    println!("kernel {} against {PEER}: {cases} cases", treewide::kernel::detected().name());
}

fn main() {
    // `TREEWIDE_KERNEL` chooses among those for the instruction set of the peer.
    if KERNEL != "auto" || std::env::var_os("TREEWIDE_KERNEL").is_none() {
        treewide::kernel::force(KERNEL).expect("this CPU runs the kernel");
    }
    let input: Vec<u8> = (0..16 * KIB * KIB + 4096).map(|i| (i % 251) as u8).collect();
    // From the beginning of a page, as files are.
    let input = &input[input.as_ptr().align_offset(4096)..];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.first().map(String::as_str);
    if command != Some("check") {
        samples::about(&format!("kernel {} against {PEER}", treewide::kernel::detected().name()));
    }
    match command {
        None => measure(input),
        Some("check") => check(input),
        #[cfg(not(feature = "rscrypto"))]
        Some("streams") => streams::measure(input, arguments.get(1).map(String::as_str)),
        #[cfg(feature = "operations")]
        Some("operations") => operations::measure(input, arguments.get(1).map(String::as_str)),
        Some(other) => {
            panic!("'{other}' is not an argument of this build: `check` and `streams` are")
        }
    }
}

fn measure(input: &[u8]) {
    let mut lengths: Vec<usize> = (1..=17).map(|chunks| chunks * KIB).collect();
    lengths.extend(LENGTHS);
    // And multiples of neither a block nor a chunk.
    lengths.extend((0..=64 * KIB).step_by(1021).skip(1));
    lengths.sort_unstable();
    for bytes in lengths {
        compare(&format!("{bytes} B"), [&ours, &theirs], &input[..bytes], LEAST);
    }
    for bytes in PIECES {
        let name = format!("{UPDATES} updates of {bytes} B");
        compare(&name, [&our_updates, &their_updates], &input[..UPDATES * bytes], LEAST);
    }
}

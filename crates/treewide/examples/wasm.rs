//! The kernel of WebAssembly next to that of `blake3`, under Node: samples for `treewide-bench report -`. `scripts/bench.sh wasm` builds and
//! runs it.

use std::hint::black_box;
use std::time::Instant;

const LENGTHS: &[usize] = &[
    0,
    1,
    64,
    128,
    512,
    1000,
    1024,
    1025,
    2048,
    3072,
    4096,
    5120,
    8192,
    16 << 10,
    64 << 10,
    1 << 20,
];

type Function<'a> = &'a dyn Fn(&[u8]) -> [u8; 32];

/// Nanoseconds of `calls` calls of `f`.
fn time(calls: usize, f: Function<'_>, data: &[u8]) -> u64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(f(black_box(data)));
    }
    start.elapsed().as_nanos() as u64
}

/// [`time`] from `depth` calls further down the stack.
///
/// V8 spills vectors to a stack that is aligned to 8 bytes, and on Zen 5 a store across two pages takes 6 ns. So a process whose
/// stack begins at the wrong place (4 of 512) would find one side half as slow again at every turn:
/// `results/zen5-2vcpu/peers.txt`.
#[inline(never)]
fn time_at(depth: usize, calls: usize, f: Function<'_>, data: &[u8]) -> u64 {
    if depth == 0 {
        return time(calls, f, data);
    }
    // Hidden, so that it does not become a loop.
    black_box(time_at(depth - 1, calls, f, data))
}

fn ours(data: &[u8]) -> [u8; 32] {
    treewide::hash(data).into()
}

fn theirs(data: &[u8]) -> [u8; 32] {
    blake3::hash(data).into()
}

fn main() {
    let input: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
    let sides: [Function<'_>; 2] = [&ours, &theirs];
    println!("{{\"about\":\"kernel {}\"}}", treewide::kernel::detected().name());
    for &bytes in LENGTHS {
        let data = &input[..bytes];
        assert_eq!(sides[0](data), sides[1](data));
        let calls = (200_000 / (50 + bytes / 4)).max(1);
        let mut samples = [vec![], vec![]];
        for turn in 0..51 {
            // Neither side always comes first.
            for at in [turn % 2, 1 - turn % 2] {
                samples[at].push(time_at(turn, calls, sides[at], data));
            }
        }
        for (engine, samples, bar) in
            [("treewide", &samples[0], ""), ("blake3", &samples[1], ",\"bar\":1.0")]
        {
            println!(
                "{{\"name\":\"{bytes} B\",\"engine\":\"{engine}\",\"bytes\":{bytes},\"calls\":{calls},\"samples\":{samples:?}{bar}}}"
            );
        }
    }
}

//! Treewide against the `blake3` crate at many lengths, on one thread.
//!
//! Both sides take turns in one process; a row's figures are medians over the turns, its ratio is
//! the median of the turn-by-turn ratios (their time / ours). Names of sections choose them:
//!
//! ```text
//! cargo bench -p treewide --bench lengths -- table
//! ```
//!
//! Sections: `table` (the bars), `keyed`, `derive`, `xof`, `sweep` (0 to 64 KiB in steps of 61).

use std::hint::black_box;
use std::time::Instant;

const KIB: usize = 1024;
const KEY: [u8; 32] = [7; 32];
const CONTEXT: &str = "treewide 2026-11-21 bench of lengths";

/// Nanoseconds per call of `f`, over so many calls.
fn time(calls: usize, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        f();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Row {
    ours: f64,
    theirs: f64,
    ratio: f64,
}

fn compare(bytes: usize, turns: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> Row {
    // A turn of a third of a millisecond: long enough for the caches to be each side's own.
    let calls = (300_000 / (50 + bytes / 8)).max(1);
    time(calls, &mut ours);
    time(calls, &mut theirs);
    let (mut a, mut b, mut ratios) = (vec![], vec![], vec![]);
    for turn in 0..turns {
        // Neither side always comes first.
        let (x, y) = if turn % 2 == 0 {
            let x = time(calls, &mut ours);
            (x, time(calls, &mut theirs))
        } else {
            let y = time(calls, &mut theirs);
            (time(calls, &mut ours), y)
        };
        a.push(x);
        b.push(y);
        ratios.push(y / x);
    }
    Row { ours: median(&mut a), theirs: median(&mut b), ratio: median(&mut ratios) }
}

fn turns(bytes: usize) -> usize {
    if bytes > 4 << 20 {
        15
    } else if bytes > 256 * KIB {
        41
    } else {
        101
    }
}

/// The bars: lengths, and the ratio that is asked for at least.
const BARS: &[(&[usize], f64)] = &[
    (&[0, 1, 31, 63, 64], 1.2),
    (&[128, 192, 256, 512, 960, 1000, 1024], 1.5),
    (&[2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB], 1.0),
    (&[3 * KIB, 5 * KIB, 6 * KIB, 7 * KIB], 1.7),
    (&[9 * KIB, 10 * KIB, 11 * KIB, 12 * KIB, 13 * KIB, 14 * KIB], 1.6),
    (&[15 * KIB], 2.8),
    (&[17 * KIB, 20 * KIB, 24 * KIB, 28 * KIB], 1.4),
    (&[31 * KIB], 2.7),
    (&[32 * KIB], 1.35),
    (&[64 * KIB], 1.45),
    (&[128 * KIB], 1.5),
    (&[1 << 20, 16 << 20], 1.4),
    (&[64 << 20], 1.35),
];

/// The input begins at a page, as files and their mappings do; elsewhere both sides read across
/// cache lines, which costs ours a twelfth in the widest passes.
///
/// One row for each length of [`BARS`]; returns how many fell short.
fn table(name: &str, ours: impl Fn(&[u8]), theirs: impl Fn(&[u8])) -> usize {
    println!("\n{name}: bytes, ours ns, theirs ns, ratio, bar");
    let input = input(64 << 20);
    let input = &input[input.as_ptr().align_offset(4096)..];
    let mut short = 0;
    for (lengths, bar) in BARS {
        for &bytes in *lengths {
            let data = &input[..bytes];
            let row =
                compare(bytes, turns(bytes), || ours(black_box(data)), || theirs(black_box(data)));
            let verdict = if row.ratio >= *bar { "" } else { "  SHORT" };
            short += usize::from(row.ratio < *bar);
            println!(
                "{bytes:>9} {:>12.1} {:>12.1} {:>6.2} {bar:>5.2}{verdict}",
                row.ours, row.theirs, row.ratio
            );
        }
    }
    short
}

fn input(len: usize) -> Vec<u8> {
    (0..len + 4096).map(|i| (i % 251) as u8).collect()
}

fn sweep() {
    println!("\nsweep: every length from 0 to 64 KiB in steps of 61 bytes");
    let input = input(64 * KIB);
    let input = &input[input.as_ptr().align_offset(4096)..];
    let mut rows: Vec<(f64, usize, Row)> = (0..=64 * KIB)
        .step_by(61)
        .map(|bytes| {
            let data = &input[..bytes];
            let row = compare(
                bytes,
                9,
                || {
                    black_box(treewide::hash(black_box(data)));
                },
                || {
                    black_box(blake3::hash(black_box(data)));
                },
            );
            (row.ratio, bytes, row)
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let below = rows.iter().filter(|row| row.0 < 0.98).count();
    println!("{} lengths, {below} below 0.98; the lowest:", rows.len());
    for (ratio, bytes, row) in &rows[..12] {
        println!("{bytes:>9} {:>12.1} {:>12.1} {ratio:>6.2}", row.ours, row.theirs);
    }
    println!("median ratio {:.2}, highest {:.2}", rows[rows.len() / 2].0, rows[rows.len() - 1].0);
}

fn xof() {
    println!("\nxof: bytes of output, ours ns, theirs ns, ratio");
    let ours = treewide::Hasher::new().update(b"seed").finalize_xof();
    let theirs = blake3::Hasher::new().update(b"seed").finalize_xof();
    for bytes in [64, 128, 256, 1024, 4096, 16 * KIB, 64 * KIB, 1 << 20] {
        let (mut a, mut b) = (vec![0; bytes], vec![0; bytes]);
        let row = compare(
            bytes,
            turns(bytes),
            || ours.clone().fill(black_box(&mut a)),
            || theirs.clone().fill(black_box(&mut b)),
        );
        assert_eq!(a, b);
        println!("{bytes:>9} {:>12.1} {:>12.1} {:>6.2}", row.ours, row.theirs, row.ratio);
    }
}

fn main() {
    let sections: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let wanted = |name: &str| sections.is_empty() || sections.iter().any(|s| s == name);
    println!("kernel {}", treewide::kernel::detected().name());
    let mut short = 0;
    if wanted("table") {
        short += table(
            "hash",
            |data| {
                black_box(treewide::hash(data));
            },
            |data| {
                black_box(blake3::hash(data));
            },
        );
    }
    if wanted("keyed") {
        short += table(
            "keyed_hash",
            |data| {
                black_box(treewide::keyed_hash(&KEY, data));
            },
            |data| {
                black_box(blake3::keyed_hash(&KEY, data));
            },
        );
    }
    if wanted("derive") {
        short += table(
            "derive_key",
            |data| {
                black_box(treewide::derive_key(CONTEXT, data));
            },
            |data| {
                black_box(blake3::derive_key(CONTEXT, data));
            },
        );
    }
    if wanted("xof") {
        xof();
    }
    if wanted("sweep") {
        sweep();
    }
    println!("\n{short} below their bar");
}

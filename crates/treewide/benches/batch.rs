//! Batches against a loop of `blake3::hash`, row by row of the table that the design asks for.
//!
//! ```text
//! cargo bench -p treewide --features rayon --bench batch            all rows
//! cargo bench -p treewide --features rayon --bench batch -- 64 mix  those whose name has "64" or "mix"
//! ```
//!
//! Both sides take turns in one process on the same number of threads; figures are medians over
//! the turns, the ratio is the median of the turn-by-turn ratios. Every digest is compared once.

use std::hint::black_box;
use std::time::Instant;

/// Numbers that are the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Of the normal distribution, as the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// Blobs of these lengths, one after the other in memory.
struct Blobs {
    data: Vec<u8>,
    lens: Vec<usize>,
}

impl Blobs {
    fn new(lens: Vec<usize>) -> Self {
        let data = (0..lens.iter().sum::<usize>()).map(|i| (i % 251) as u8).collect();
        Self { data, lens }
    }

    fn slices(&self) -> Vec<&[u8]> {
        let mut rest = &self.data[..];
        self.lens.iter().map(|&len| rest.split_off(..len).expect("all are there")).collect()
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds of one call, of as many as take about a millisecond.
fn time(calls: usize, f: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        f();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

struct Bench {
    names: Vec<String>,
    short: usize,
}

impl Bench {
    fn wanted(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }

    /// Times both sides in turn and prints a row; `unit` is what the nanoseconds are divided by.
    fn row(
        &mut self,
        name: &str,
        (bar, aim): (f64, f64),
        unit: usize,
        mut theirs: impl FnMut(),
        mut ours: impl FnMut(),
    ) {
        let once = time(1, &mut theirs).max(1.0);
        let calls = ((1e6 / once) as usize).clamp(1, 10_000);
        let turns = ((1.5e9 / (once * calls as f64)) as usize).clamp(9, 101) | 1;
        time(calls, &mut ours);
        let (mut a, mut b, mut ratios) = (vec![], vec![], vec![]);
        for turn in 0..turns {
            // Neither side always comes first.
            let (x, y);
            if turn % 2 == 0 {
                x = time(calls, &mut theirs);
                y = time(calls, &mut ours);
            } else {
                y = time(calls, &mut ours);
                x = time(calls, &mut theirs);
            }
            a.push(x);
            b.push(y);
            ratios.push(x / y);
        }
        let ratio = median(&mut ratios);
        let verdict = match ratio {
            r if r >= aim => "aim met",
            r if r >= bar => "bar met",
            _ => "SHORT",
        };
        self.short += usize::from(ratio < bar);
        println!(
            "{name:<44} {:>11.1} {:>11.1} {ratio:>7.2} {bar:>6.2} {aim:>6.2}  {verdict}",
            median(&mut a) / unit as f64,
            median(&mut b) / unit as f64,
        );
    }

    /// A batch on one thread.
    fn batch(&mut self, name: &str, goals: (f64, f64), blobs: &Blobs) {
        if !self.wanted(name) {
            return;
        }
        let slices = blobs.slices();
        let theirs = || slices.iter().map(|blob| blake3::hash(blob)).collect::<Vec<_>>();
        let ours = || treewide::hash_many(&slices);
        assert!(theirs().iter().zip(ours()).all(|(a, b)| a.as_bytes() == b.as_bytes()));
        self.row(
            name,
            goals,
            slices.len(),
            || drop(black_box(theirs())),
            || drop(black_box(ours())),
        );
    }
}

fn main() {
    let names = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mut bench = Bench { names, short: 0 };
    let mut random = Random(4);
    println!("kernel {}", treewide::kernel::detected().name());
    println!("one thread: ns per blob; ratio = their time / ours\n");
    println!(
        "{:<44} {:>11} {:>11} {:>7} {:>6} {:>6}",
        "blobs", "loop", "treewide", "ratio", "bar", "aim"
    );
    const MANY: usize = 65_536;
    bench.batch("64 B", (10.0, 13.0), &Blobs::new(vec![64; MANY]));
    bench.batch("200 B", (9.0, 12.0), &Blobs::new(vec![200; MANY]));
    bench.batch("1 KiB", (12.0, 16.0), &Blobs::new(vec![1024; MANY]));
    bench.batch("4 KiB, 4096 of them", (4.5, 5.5), &Blobs::new(vec![4096; 4096]));
    let mut lens: Vec<usize> = (0..MANY).map(|i| i % 4097).collect();
    random.shuffle(&mut lens);
    bench.batch("0..=4096 B, shuffled", (6.0, 9.0), &Blobs::new(lens));
    let lens = (0..MANY)
        .map(|_| ((3000.0 * (1.6 * random.normal()).exp()) as usize).min(2 << 20))
        .collect();
    bench.batch("log-normal, median 3 KB, up to 2 MB", (2.8, 3.6), &Blobs::new(lens));
    for count in [1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33] {
        for len in [64, 100, 1024] {
            bench.batch(
                &format!("few: {count} x {len} B"),
                (1.0, 1.5),
                &Blobs::new(vec![len; count]),
            );
        }
    }
    println!("\n{} below their bar", bench.short);
}

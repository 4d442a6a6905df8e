//! Batches against a loop of `blake3::hash`, row by row of a table of goals; Merkle trees; threads.
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
            "{name:<46} {:>11.1} {:>11.1} {ratio:>7.2} {bar:>6.2} {aim:>6.2}  {verdict}",
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

/// All levels above `leaves`, pair by pair.
fn merkle_loop(leaves: &[[u8; 32]], nodes: &mut [[u8; 32]]) {
    let (mut below, mut rest) = (leaves, nodes);
    while below.len() > 1 {
        let (above, more) = rest.split_at_mut(below.len() / 2);
        for (parent, pair) in above.iter_mut().zip(below.chunks_exact(2)) {
            *parent = *blake3::hash(pair.as_flattened()).as_bytes();
        }
        (below, rest) = (above, more);
    }
}

impl Bench {
    /// One huge blob among tiny ones, against the two jobs one after the other.
    fn huge_among_tiny(&mut self) {
        let name = "10,000 x 100 B and one of 64 MiB";
        if !self.wanted(name) {
            return;
        }
        let mut lens = vec![100; 10_001];
        lens[5_000] = 64 << 20;
        let blobs = Blobs::new(lens);
        let all = blobs.slices();
        let mut tiny = all.clone();
        let huge = tiny.remove(5_000);
        self.row(
            name,
            (0.95, 1.0),
            1,
            || drop(black_box((treewide::hash_many(&tiny), treewide::hash(huge)))),
            || drop(black_box(treewide::hash_many(&all))),
        );
    }

    /// Two threads against one.
    #[cfg(feature = "rayon")]
    fn two_threads(&mut self, name: &str, lens: Vec<usize>) {
        if !self.wanted(name) {
            return;
        }
        let blobs = Blobs::new(lens);
        let slices = blobs.slices();
        let one = treewide::Batch::new();
        let two = one.clone().threads(true);
        let mut hashes = vec![treewide::Hash::from_bytes([0; 32]); slices.len()];
        let mut others = hashes.clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        self.row(
            name,
            (1.8, 1.9),
            slices.len(),
            || one.hash_into(&slices, &mut hashes),
            || pool.install(|| two.hash_into(&slices, &mut others)),
        );
    }

    fn merkle(&mut self) {
        let name = "Merkle tree, 2^20 leaves, all levels";
        if !self.wanted(name) {
            return;
        }
        let leaves: Vec<[u8; 32]> =
            (0..1_u32 << 20).map(|i| *blake3::hash(&i.to_le_bytes()).as_bytes()).collect();
        let mut theirs = vec![[0; 32]; leaves.len() - 1];
        let mut ours = theirs.clone();
        merkle_loop(&leaves, &mut theirs);
        treewide::merkle::fill_nodes(&leaves, &mut ours);
        assert!(theirs == ours);
        self.row(
            name,
            (10.0, 13.0),
            leaves.len() - 1,
            || merkle_loop(&leaves, &mut theirs),
            || treewide::merkle::fill_nodes(&leaves, &mut ours),
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
        "{:<46} {:>11} {:>11} {:>7} {:>6} {:>6}",
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
    println!("\ntree over digests: ns per node, against a loop over pairs");
    bench.merkle();
    println!("\none batch against its parts apart: ns");
    bench.huge_among_tiny();
    #[cfg(feature = "rayon")]
    {
        println!("\n64 MiB in all: ns per blob, one thread and two");
        for (len, name) in [(64, "64 B"), (200, "200 B"), (1024, "1 KiB"), (4096, "4 KiB")] {
            bench.two_threads(&format!("threads: {name}"), vec![len; (64 << 20) / len]);
        }
        bench.two_threads("threads: 1 MiB", vec![1 << 20; 64]);
        let mut lens = vec![100; 100_000];
        lens[70_000] = 54 << 20;
        bench.two_threads("threads: 100,000 x 100 B and one of 54 MiB", lens);
        let mut lens: Vec<usize> = (0..32_768).map(|i| i % 4097).collect();
        random.shuffle(&mut lens);
        bench.two_threads("threads: 0..=4096 B, shuffled", lens);
    }
    println!("\n{} below their bar", bench.short);
}

//! Outboards against hashing alone, and against `bao-tree` and `bao`: see scripts/peers.sh.
//!
//! All sides of a run take turns in one process, and their samples go to standard output.

mod samples;

use std::hint::black_box;
use std::time::Instant;

use bao_tree::io::outboard::{PostOrderMemOutboard, PreOrderMemOutboard};
use bao_tree::{BlockSize, ChunkRanges};
use rayon::ThreadPoolBuilder;
use treewide::Mode;
use treewide::file::Options;
use treewide::outboard::{self, Group, Layout, Order, Outboard};

use samples::Row;

const LEN: usize = 64 << 20;
const TURNS: usize = 25;

/// Keeps a result from being left out.
fn keep<T>(value: T) {
    black_box(value);
}

/// A name, and what is measured.
type Side<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Measures all sides in turn. Each row is a name and its sides. The others are compared with the first of them.
fn compare(mut sides: Vec<Side<'_>>, rows: &[(&str, &[usize])]) {
    let mut samples = vec![Vec::new(); sides.len()];
    for turn in 0..=TURNS {
        // Each turn begins with another side.
        for number in 0..sides.len() {
            let side = (number + turn) % sides.len();
            let start = Instant::now();
            sides[side].1();
            // The first turn touches the memory.
            if turn > 0 {
                samples[side].push(start.elapsed().as_nanos() as u64);
            }
        }
    }
    for (name, of) in rows {
        let row = Row { name, bytes: LEN, calls: 1 };
        of.iter().for_each(|&side| row.print(sides[side].0, &samples[side], None));
    }
}

fn main() {
    let data: Vec<u8> = (0..LEN as u64 / 8)
        .flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    let data = &data[..];
    samples::about(&format!("kernel {}", treewide::kernel::detected().name()));
    creating(data);
    verifying(data);
}

fn fill(data: &[u8], group: Group, order: Order, out: &mut [u8]) {
    black_box(outboard::fill(
        data,
        &Layout::new(data.len() as u64, group, order),
        Mode::PLAIN,
        out,
    ));
}

fn creating(data: &[u8]) {
    let layout = |group| Layout::new(data.len() as u64, group, Order::Pre);
    let [mut large, mut small] =
        [Group::IROH, Group::BAO].map(|group| vec![0; layout(group).bytes() as usize]);
    let [mut large_post, mut fresh] = [large.clone(), Vec::new()];
    let block = BlockSize::from_chunk_log;
    compare(
        vec![
            ("treewide::hash", Box::new(|| keep(treewide::hash(data)))),
            (
                "outboard::fill, 16 KiB, post",
                Box::new(|| fill(data, Group::IROH, Order::Post, &mut large_post)),
            ),
            (
                "outboard::fill, 16 KiB, pre",
                Box::new(|| fill(data, Group::IROH, Order::Pre, &mut large)),
            ),
            (
                "outboard::fill, 1 KiB, pre",
                Box::new(|| fill(data, Group::BAO, Order::Pre, &mut small)),
            ),
            ("blake3::hash", Box::new(|| keep(blake3::hash(data)))),
            (
                "bao-tree, 16 KiB, post",
                Box::new(|| keep(PostOrderMemOutboard::create(data, block(4)))),
            ),
            (
                "bao-tree, 16 KiB, pre",
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(4)))),
            ),
            (
                "bao-tree, 1 KiB, pre",
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(0)))),
            ),
            ("bao::encode::outboard", Box::new(|| keep(bao::encode::outboard(data)))),
        ],
        &[
            ("64 MiB in memory, one thread", &[0, 1, 2, 3, 4]),
            ("an outboard of groups of 16 KiB, post-order", &[1, 5]),
            ("an outboard of groups of 16 KiB, pre-order", &[2, 6]),
            ("an outboard of groups of 1 KiB, pre-order", &[3, 7, 8]),
        ],
    );
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), data).expect("written");
    let path = path.path();
    let threads = rayon::current_num_threads();
    let mut pairs = Vec::new();
    compare(
        vec![
            ("hash_parallel", Box::new(|| keep(treewide::hash_parallel(data)))),
            (
                "create_at, 16 KiB, pre",
                Box::new(|| {
                    outboard::create_at(data, &layout(Group::IROH), Mode::PLAIN, &mut fresh)
                        .expect("made");
                }),
            ),
            (
                "file::Options::hash, cached",
                Box::new(|| drop(Options::new().hash(path).expect("hashed"))),
            ),
            (
                "file::Options::outboard, 16 KiB, pre",
                Box::new(|| {
                    Options::new()
                        .outboard(path, Group::IROH, Order::Pre, &mut pairs)
                        .expect("made");
                }),
            ),
            (
                "bao-tree, 16 KiB, pre, has one thread",
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(4)))),
            ),
        ],
        &[
            (&format!("64 MiB in memory, {threads} threads"), &[0, 1, 4]),
            (&format!("a file of 64 MiB, {threads} threads"), &[2, 3]),
        ],
    );
}

fn verifying(data: &[u8]) {
    let layout = Layout::new(data.len() as u64, Group::IROH, Order::Pre);
    let (digest, pairs) = outboard::create(data, Group::IROH, Order::Pre, Mode::PLAIN);
    let ours = Outboard::new(&digest, layout, Mode::PLAIN, &pairs);
    let theirs = PreOrderMemOutboard::create(data, BlockSize::from_chunk_log(4));
    let one = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let ranges = ChunkRanges::all();
    let all = || {
        let mut count = 0;
        for range in bao_tree::io::sync::valid_ranges(&theirs, data, &ranges) {
            black_box(range.expect("read"));
            count += 1;
        }
        assert!(count > 0);
    };
    compare(
        vec![
            ("treewide::hash", Box::new(|| keep(treewide::hash(data)))),
            (
                "Outboard::verify, one thread",
                Box::new(|| one.install(|| ours.verify(data, ..)).expect("right")),
            ),
            ("Outboard::verify, all threads", Box::new(|| ours.verify(data, ..).expect("right"))),
            ("bao-tree valid_ranges", Box::new(all)),
        ],
        &[("64 MiB, verified", &[0, 1, 2, 3]), ("64 MiB, verified on one thread", &[1, 3])],
    );
}

//! Outboards against hashing alone, and against `bao-tree` and `bao`: see scripts/peers.sh.
//!
//! All rows take turns in one process; times are medians over the turns, a ratio is the median of the ratios of each turn.

use std::hint::black_box;
use std::time::Instant;

use bao_tree::io::outboard::{PostOrderMemOutboard, PreOrderMemOutboard};
use bao_tree::{BlockSize, ChunkRanges};
use rayon::ThreadPoolBuilder;
use treewide::file::Options;
use treewide::hazmat::{self, HasherExt};
use treewide::outboard::{self, Group, Layout, Order, Outboard, ReadAt, WriteAt};
use treewide::{Hasher, Mode};

const MIB: usize = 1 << 20;
const LEN: usize = 64 * MIB;

/// Keeps a result from being left out.
fn keep<T>(value: T) {
    black_box(value);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A name, the row that it is compared with, and what is measured.
type Row<'a> = (&'a str, usize, Box<dyn FnMut() + 'a>);

/// Prints the median time of each row in ms, and the time of the other row / its own.
fn compare(title: &str, turns: usize, mut rows: Vec<Row<'_>>) {
    let mut times = vec![Vec::new(); rows.len()];
    for turn in 0..=turns {
        // Each turn begins with another row.
        for number in 0..rows.len() {
            let row = (number + turn) % rows.len();
            let start = Instant::now();
            rows[row].2();
            // The first turn touches the memory.
            if turn > 0 {
                times[row].push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    println!("\n{title}, {turns} turns\n{:>52} {:>10}", "ms", "ratio");
    for (number, (name, other, _)) in rows.iter().enumerate() {
        let ratios = times[*other].iter().zip(&times[number]).map(|(other, own)| other / own);
        let ratio = median(ratios.collect());
        let time = median(times[number].clone());
        println!("{name:<42} {time:>9.4} {ratio:>10.3} of row {other}");
    }
}

fn main() {
    let data: Vec<u8> = (0..LEN as u64 / 8)
        .flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    let data = &data[..];
    println!("kernel {}", treewide::kernel::detected().name());
    creating(data);
    verifying(data);
    updating(data);
    terabyte();
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
        "one thread, 64 MiB in memory",
        25,
        vec![
            ("0 treewide::hash", 0, Box::new(|| keep(treewide::hash(data)))),
            (
                "1 outboard::fill, 16 KiB, post",
                0,
                Box::new(|| fill(data, Group::IROH, Order::Post, &mut large_post)),
            ),
            (
                "2 outboard::fill, 16 KiB, pre",
                0,
                Box::new(|| fill(data, Group::IROH, Order::Pre, &mut large)),
            ),
            (
                "3 outboard::fill, 1 KiB, pre",
                0,
                Box::new(|| fill(data, Group::BAO, Order::Pre, &mut small)),
            ),
            ("4 blake3::hash", 0, Box::new(|| keep(blake3::hash(data)))),
            (
                "5 bao-tree, 16 KiB, post",
                1,
                Box::new(|| keep(PostOrderMemOutboard::create(data, block(4)))),
            ),
            (
                "6 bao-tree, 16 KiB, pre",
                2,
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(4)))),
            ),
            (
                "7 bao-tree, 1 KiB, pre",
                3,
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(0)))),
            ),
            ("8 bao::encode::outboard", 3, Box::new(|| keep(bao::encode::outboard(data)))),
        ],
    );
    let path = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(path.path(), data).expect("written");
    let path = path.path();
    let threads = rayon::current_num_threads();
    let mut pairs = Vec::new();
    compare(
        &format!("{threads} threads, 64 MiB"),
        25,
        vec![
            ("0 hash_parallel", 0, Box::new(|| keep(treewide::hash_parallel(data)))),
            (
                "1 create_at, 16 KiB, pre",
                0,
                Box::new(|| {
                    outboard::create_at(data, &layout(Group::IROH), Mode::PLAIN, &mut fresh)
                        .expect("made");
                }),
            ),
            (
                "2 file::Options::hash, cached",
                2,
                Box::new(|| drop(Options::new().hash(path).expect("hashed"))),
            ),
            (
                "3 file::Options::outboard, 16 KiB, pre",
                2,
                Box::new(|| {
                    Options::new()
                        .outboard(path, Group::IROH, Order::Pre, &mut pairs)
                        .expect("made");
                }),
            ),
            (
                "4 bao-tree, 16 KiB, pre, has one thread",
                1,
                Box::new(|| keep(PreOrderMemOutboard::create(data, block(4)))),
            ),
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
        "verify 64 MiB in memory, 16 KiB, pre",
        25,
        vec![
            ("0 treewide::hash", 0, Box::new(|| keep(treewide::hash(data)))),
            (
                "1 Outboard::verify, one thread",
                0,
                Box::new(|| one.install(|| ours.verify(data, ..)).expect("right")),
            ),
            (
                "2 Outboard::verify, all threads",
                0,
                Box::new(|| ours.verify(data, ..).expect("right")),
            ),
            ("3 bao-tree valid_ranges", 1, Box::new(all)),
            ("4 bao-tree valid_ranges", 2, Box::new(all)),
        ],
    );
}

fn updating(data: &[u8]) {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let names = ["0 16 KiB of 1 MiB", "1 16 KiB of 64 MiB, pre", "2 16 KiB of 64 MiB, post"];
    for (name, (len, order)) in
        names.into_iter().zip([(MIB, Order::Pre), (LEN, Order::Pre), (LEN, Order::Post)])
    {
        let (digest, pairs) = outboard::create(&data[..len], Group::IROH, order, Mode::PLAIN);
        let layout = Layout::new(len as u64, Group::IROH, order);
        let mut outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
        let mut journal = Vec::new();
        rows.push((
            name,
            0,
            Box::new(move || {
                // 100 times, so that ms are 10 µs.
                for number in 0..100 {
                    let at = number * 7_654_321 % len as u64;
                    let dirty = std::slice::from_ref(&(at..at + 1)).to_vec();
                    black_box(
                        outboard
                            .update(&data[..len], &dirty, len as u64, &mut journal)
                            .expect("updated"),
                    );
                }
            }),
        ));
    }
    compare("100 updates of one group, in memory", 25, rows);
}

/// One terabyte of zeros as files with holes: only the pairs above one MiB exist, and all other hashes are zeros too.
fn terabyte() {
    let len = 1_000_000_000_000;
    let layout = Layout::new(len, Group::IROH, Order::Post);
    let (data, mut store) =
        (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
    data.set_len(len).expect("a file with holes");
    store.set_size(layout.bytes()).expect("a file with holes");
    let at = 500_000_000_000 / MIB as u64 * MIB as u64;
    let groups = layout.groups_of(&(at..at + MIB as u64));
    let top = below(&layout, layout.root(), &groups, &mut store);
    let digest = top.expect("a root");
    let outboard = Outboard::new(&digest, layout, Mode::PLAIN, store);
    outboard.verify(&data, at..at + MIB as u64).expect("right");
    let mut journal = Vec::new();
    compare(
        "1 MiB of 1 TB, files in the page cache",
        101,
        vec![(
            "0 Outboard::verify",
            0,
            Box::new(|| outboard.verify(&data, at..at + MIB as u64).expect("right")),
        )],
    );
    let dirty = std::slice::from_ref(&(at..at + 1)).to_vec();
    let mut buffer = vec![0; 16384];
    // The places of the pairs that an update reads and writes.
    let path: Vec<u64> =
        layout.path(groups.start).filter_map(|node| layout.position(node)).collect();
    let mut map = Map(std::collections::HashMap::new());
    below(&layout, layout.root(), &groups, &mut map);
    compare(
        "100 updates of one group of 1 TB",
        25,
        vec![
            (
                "0 the same reads and writes alone",
                0,
                Box::new(|| {
                    for _ in 0..100 {
                        data.read_exact_at(&mut buffer, at).expect("read");
                        for place in &path {
                            let mut pair = [0; 64];
                            map.read_exact_at(&mut pair, place * 64).expect("it is there");
                            map.write_all_at(black_box(&pair), place * 64).expect("written");
                        }
                    }
                }),
            ),
            (
                "1 Outboard::update, pairs in a map",
                0,
                Box::new({
                    let mut pairs = Map(std::collections::HashMap::new());
                    below(&layout, layout.root(), &groups, &mut pairs);
                    let mut outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
                    let (data, dirty) = (&data, dirty.clone());
                    move || {
                        for _ in 0..100 {
                            outboard.update(data, &dirty, len, &mut journal).expect("updated");
                        }
                    }
                }),
            ),
        ],
    );
}

/// Pairs by their place.
struct Map(std::collections::HashMap<u64, [u8; 64]>);

impl ReadAt for Map {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), outboard::IoError> {
        for (pair, at) in buf.chunks_mut(64).zip((at..).step_by(64)) {
            pair.copy_from_slice(self.0.get(&at).ok_or(outboard::IoError::end(at))?);
        }
        Ok(())
    }
}

impl WriteAt for Map {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), outboard::IoError> {
        for (pair, at) in buf.chunks(64).zip((at..).step_by(64)) {
            self.0.insert(at, pair.try_into().expect("64 bytes"));
        }
        Ok(())
    }

    fn set_size(&mut self, _: u64) -> Result<(), outboard::IoError> {
        Ok(())
    }
}

/// The hash of a node above data of zeros; only groups in `groups` are hashed.
fn below(
    layout: &Layout,
    node: outboard::Node,
    groups: &std::ops::Range<u64>,
    store: &mut dyn WriteAt,
) -> Option<treewide::Hash> {
    if node.first_group() >= groups.end || node.first_group() + node.groups() <= groups.start {
        return Some(treewide::Hash::from_bytes([0; 32]));
    }
    let Some(children) = layout.children(node) else {
        let span = layout.span(node);
        let zeros = vec![0; (span.end - span.start) as usize];
        let mut hasher = Hasher::new();
        hasher.set_input_offset(span.start).update(&zeros);
        return Some(treewide::Hash::from_bytes(hasher.finalize_non_root()));
    };
    let [left, right] = children.map(|child| below(layout, child, groups, store));
    let (left, right) = (left?, right?);
    let pair = [*left.as_bytes(), *right.as_bytes()].concat();
    store.write_all_at(&pair, layout.position(node)? * 64).ok()?;
    let merge = [left.as_bytes(), right.as_bytes()];
    Some(match layout.is_root(node) {
        true => hazmat::merge_subtrees_root(merge[0], merge[1], hazmat::Mode::Hash),
        false => treewide::Hash::from_bytes(hazmat::merge_subtrees_non_root(
            merge[0],
            merge[1],
            hazmat::Mode::Hash,
        )),
    })
}

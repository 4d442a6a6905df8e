//! Random calls from fixed seeds, many on their way at a time and some of them dropped there, so that what
//! one leaves behind in memory that is used again is what others find.

mod common;

use common::{KEY, Random, bytes, each};
use treewide::hazmat::{HasherExt, max_subtree_len};
use treewide_gpu::{Device, ErrorKind, Mode, Offsets, Pipeline, Runs, Slice};

const LEN: u64 = 1 << 20;

/// What is left to do with a call: wait, and compare.
type Rest<'a> = Box<dyn FnOnce() + 'a>;

#[test]
fn random_calls() {
    let mut cases = 0;
    let input = bytes(LEN as usize);
    each(|device| {
        let all = Slice::from(&device.upload(&input).unwrap());
        let mut random = Random(cases);
        let mut on_their_way: Vec<Rest> = Vec::new();
        for _ in 0..300 {
            let most = [0, LEN, u64::MAX][random.below(3) as usize];
            on_their_way.push(call(&device.one_launch_up_to(most), &all, &input, &mut random));
            cases += 1;
            while on_their_way.len() > 12 || random.below(4) == 0 && !on_their_way.is_empty() {
                let any = random.below(on_their_way.len() as u64) as usize;
                let rest = on_their_way.swap_remove(any);
                if random.below(5) > 0 {
                    rest();
                }
            }
        }
        on_their_way.into_iter().for_each(|rest| rest());
    });
    println!("random calls: {cases} cases");
}

/// A part of the input: as many short ones as long ones.
fn part(random: &mut Random) -> std::ops::Range<u64> {
    let size = random.below(21);
    let len = random.below(1 << size);
    let start = random.below(LEN - len);
    start..start + len
}

fn call<'a>(device: &Device, all: &Slice, input: &'a [u8], random: &mut Random) -> Rest<'a> {
    let of = |range: &std::ops::Range<u64>| &input[range.start as usize..range.end as usize];
    let range = part(random);
    let (slice, bytes) = (all.slice(range.clone()).unwrap(), of(&range));
    let keyed = random.below(2) == 0;
    let mode = if keyed { Mode::keyed(KEY) } else { Mode::PLAIN };
    let hasher = move || match keyed {
        true => treewide::Hasher::new_keyed(KEY),
        false => treewide::Hasher::new(),
    };
    let digest = move |bytes: &[u8]| hasher().update(bytes).finalize();
    match random.below(9) {
        0 | 1 => {
            let pending = device.hash(&mode, &slice);
            Box::new(move || assert_eq!(pending.wait().unwrap(), digest(bytes)))
        }
        2 => {
            let place = Slice::from(&device.allocate(100).unwrap()).slice(4..).unwrap();
            drop(device.hash_to(&mode, &slice, &place));
            let pending = device.download(place.slice(..32).unwrap());
            Box::new(move || assert_eq!(pending.wait().unwrap(), digest(bytes).as_bytes()))
        }
        3 => {
            let (at, len) = (random.below(1 << 40), random.below(3000) as usize);
            let pending = device.xof(&mode, &slice, at, len);
            Box::new(move || {
                let mut expected = vec![0; len];
                let mut reader = hasher().update(bytes).finalize_xof();
                reader.set_position(at);
                reader.fill(&mut expected);
                assert!(pending.wait().unwrap() == expected, "{len} bytes of output from {at}");
            })
        }
        4 => {
            let size = random.below(40);
            let chunk = random.below(1 << size);
            let most = max_subtree_len(chunk * 1024).unwrap_or(LEN).min(slice.len());
            let pending = device.subtree(&mode, slice.slice(..most).unwrap(), chunk);
            Box::new(move || {
                if most == 0 {
                    return assert_eq!(pending.wait().unwrap_err().kind(), ErrorKind::Invalid);
                }
                let mut hasher = hasher();
                hasher.set_input_offset(chunk * 1024).update(&bytes[..most as usize]);
                assert_eq!(pending.wait().unwrap(), hasher.finalize_non_root(), "chunk {chunk}");
            })
        }
        5 => {
            let parts: Vec<_> = (0..random.below(40)).map(|_| part(random)).collect();
            let slices: Vec<_> = parts.iter().map(|it| all.slice(it.clone()).unwrap()).collect();
            let expected: Vec<_> = parts.iter().map(|it| digest(of(it))).collect();
            let pending = device.list(&mode, &slices);
            Box::new(move || assert_eq!(pending.wait().unwrap(), expected))
        }
        6 => {
            let mut offsets: Vec<_> =
                (0..=random.below(6000)).map(|_| random.below(slice.len() + 1)).collect();
            offsets.sort_unstable();
            let table: Vec<u8> = offsets.iter().flat_map(|it| it.to_le_bytes()).collect();
            let table = Slice::from(&device.upload(&table).unwrap());
            let on_device = random.below(2) == 0;
            let place = if on_device { Offsets::Device(&table) } else { Offsets::Host(&offsets) };
            let pending = device.batch(&mode, &slice, place);
            Box::new(move || {
                for (hash, pair) in pending.wait().unwrap().iter().zip(offsets.windows(2)) {
                    assert_eq!(*hash, digest(&bytes[pair[0] as usize..pair[1] as usize]));
                }
            })
        }
        7 => {
            let total = slice.len();
            let cut = random.below(total + 1);
            let run = |part: std::ops::Range<u64>| (slice.slice(part.clone()).unwrap(), part.start);
            let runs = vec![run(cut..total), run(0..cut)];
            let pending = device.hash_parts(&mode, &[Runs { total, runs }]);
            Box::new(move || {
                let parts = pending.wait().unwrap().pop().unwrap().unwrap();
                assert_eq!(parts.finish().unwrap(), digest(bytes), "{total} bytes cut at {cut}");
            })
        }
        _ => {
            let pipeline = Pipeline::new(device, &mode, 1 + random.below(3) as usize, LEN);
            let mut pipeline = pipeline.unwrap();
            let parts: Vec<_> = (0..random.below(6)).map(|_| part(random)).collect();
            let mut hashes = Vec::new();
            parts.iter().for_each(|it| hashes.extend(pipeline.push(of(it)).unwrap()));
            let expected: Vec<_> = parts.iter().map(|it| digest(of(it))).collect();
            Box::new(move || {
                while let Some(hash) = pipeline.pop().unwrap() {
                    hashes.push(hash);
                }
                assert_eq!(hashes, expected);
            })
        }
    }
}

//! Pages that may not be touched right before and right behind what a kernel reads and writes.

use super::*;
use crate::spec::bytes as bytes_of;

/// Memory between two pages without access.
struct Guarded {
    start: *mut u8,
    len: usize,
    page: usize,
}

impl Guarded {
    /// Room for `least` bytes, in whole pages.
    fn new(least: usize) -> Self {
        // SAFETY: a new mapping; the two pages that lose their access are within it.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let len = least.next_multiple_of(page);
            let (access, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let all = libc::mmap(std::ptr::null_mut(), len + 2 * page, access, private, -1, 0);
            assert_ne!(all, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(all, page, libc::PROT_NONE), 0);
            assert_eq!(libc::mprotect(all.byte_add(page + len), page, libc::PROT_NONE), 0);
            Self { start: all.byte_add(page).cast(), len, page }
        }
    }

    /// The first or the last `len` bytes, filled with `bytes` as far as those go.
    fn put(&mut self, side: Side, len: usize, bytes: &[u8]) -> &mut [u8] {
        let at = match side {
            Side::First => 0,
            Side::Last => self.len - len,
        };
        // SAFETY: the pages between the guards, borrowed as long as `self`.
        let all = unsafe { std::slice::from_raw_parts_mut(self.start, self.len) };
        let place = &mut all[at..at + len];
        let filled = len.min(bytes.len());
        place[..filled].copy_from_slice(&bytes[..filled]);
        place
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, and nobody has a piece of it any more.
        unsafe { libc::munmap(self.start.sub(self.page).cast(), self.len + 2 * self.page) };
    }
}

#[derive(Clone, Copy, Debug)]
enum Side {
    /// The bytes start right behind a guard.
    First,
    /// The bytes end right before a guard.
    Last,
}

const SIDES: [Side; 2] = [Side::First, Side::Last];

#[test]
fn the_guards_are_there() {
    // The system says so when it is to read there; no child has to die of it, whose fork may hang
    // under an emulator when other threads are at work.
    let mut ends = [0; 2];
    // SAFETY: room for both ends.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let [reader, writer] = ends;
    for side in SIDES {
        let mut guarded = Guarded::new(1);
        let place = guarded.put(side, 1, &[]).as_mut_ptr();
        let beyond = match side {
            Side::First => place.wrapping_sub(1),
            Side::Last => place.wrapping_add(1),
        };
        // SAFETY: the system checks the address and says `EFAULT`.
        let [inside, outside] =
            [place, beyond].map(|byte| unsafe { libc::write(writer, byte.cast(), 1) });
        let error = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((inside, outside), (1, -1), "{side:?}: the guard let a read pass");
        assert_eq!(error, Some(libc::EFAULT), "{side:?}");
    }
    for end in [reader, writer] {
        // SAFETY: nobody else has it.
        unsafe { libc::close(end) };
    }
}

#[test]
fn chunks_between_guards() {
    let mut random = Random::new(21);
    for kernel in supported() {
        let mut tally = tally(kernel, "chunks_between_guards");
        let degree = kernel.degree();
        let most = degree + 3;
        let (mut memory, mut out_memory) =
            (Guarded::new(most * CHUNK_LEN), Guarded::new(most * 32));
        let bytes = random.bytes(most * CHUNK_LEN);
        let tails = [1, 2, 31, 32, 63, 64, 65, 100, 511, 640, 641, 960, 961, 1000, 1023, 1024];
        for whole in 0..=degree + 1 {
            for tail in sample(tails) {
                for side in SIDES {
                    let len = whole * CHUNK_LEN + tail;
                    let key = any_key(&mut random);
                    let expected = reference_chunks(&bytes[..len], &key, 7, 0);
                    let input = memory.put(side, len, &bytes);
                    let out = out_memory.put(side, 32 * expected.len(), &[]);
                    let out = out.as_chunks_mut::<32>().0;
                    kernel.chunks(input, &key, 7, 0, flags::CHUNK_END, out);
                    assert_eq!(out, expected, "{} length {len} {side:?}", kernel.name());
                    tally.case();
                }
            }
        }
    }
}

/// Every node ends, or starts, at the guard: those of different lengths overlap.
#[test]
fn unequal_nodes_between_guards() {
    let mut random = Random::new(22);
    for kernel in supported() {
        let mut tally = tally(kernel, "unequal_nodes_between_guards");
        let (mut memory, mut out_memory) =
            (Guarded::new(CHUNK_LEN), Guarded::new(32 * 2 * kernel.degree()));
        let bytes = random.bytes(CHUNK_LEN);
        for _ in 0..rounds(150) {
            let most = [64, 200, CHUNK_LEN][random.below(3)];
            for side in SIDES {
                let all = &*memory.put(side, CHUNK_LEN, &bytes);
                let count = 1 + random.below(2 * kernel.degree());
                let nodes: Vec<Lane<'_>> = (0..count as u64)
                    .map(|counter| {
                        let len = random.length(most);
                        let input = match side {
                            Side::First => &all[..len],
                            Side::Last => &all[CHUNK_LEN - len..],
                        };
                        chunk(input, counter, 0)
                    })
                    .collect();
                let key = any_key(&mut random);
                let out = out_memory.put(side, 32 * count, &[]).as_chunks_mut::<32>().0;
                let lanes = Lanes::new(&nodes);
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, out);
                for (actual, lane) in out.iter().zip(&nodes) {
                    assert_eq!(*actual, node(&key, *lane), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}

#[test]
fn parents_between_guards() {
    let mut random = Random::new(23);
    for kernel in supported() {
        let mut tally = tally(kernel, "parents_between_guards");
        let degree = kernel.degree();
        let mut memory = Guarded::new(64 * (2 * degree + 1));
        for pairs in 0..=2 * degree + 1 {
            for side in SIDES {
                let bytes = random.bytes(64 * pairs);
                let key = any_key(&mut random);
                let children = memory.put(side, bytes.len(), &bytes).as_chunks_mut::<32>().0;
                kernel.parents(children, 0, pairs, 0, &key, 0);
                for (actual, children) in children.iter().zip(bytes.chunks(64)) {
                    let (counter, each) = (0, flags::PARENT);
                    let lane = Lane { input: children, counter, each, first: 0, last: 0 };
                    assert_eq!(*actual, node(&key, lane), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}

#[test]
fn one_lane_and_output_between_guards() {
    let mut random = Random::new(24);
    for kernel in supported() {
        let mut tally = tally(kernel, "one_lane_and_output_between_guards");
        let most = 2 * kernel.degree() + 1;
        let mut memory = Guarded::new(BLOCK_LEN * most.max(16));
        for len in sample(0..=CHUNK_LEN) {
            for side in SIDES {
                let bytes = random.bytes(len);
                let before = any_key(&mut random);
                let mut cv = before;
                let flags = Flags { each: 0, first: 0, last: 0, padded: false };
                kernel.compress(&mut cv, memory.put(side, len, &bytes), 5, flags);
                let lane = Lane { input: &bytes, counter: 5, each: 0, first: 0, last: 0 };
                assert_eq!(bytes_of(&cv), node(&before, lane), "{} {side:?}", kernel.name());
                tally.case();
            }
        }
        let cv = any_key(&mut random);
        let block = random.bytes(BLOCK_LEN).try_into().unwrap();
        for count in 0..=most {
            for side in SIDES {
                let out = memory.put(side, BLOCK_LEN * count, &[]).as_chunks_mut::<64>().0;
                kernel.xof(&cv, &block, 64, flags::ROOT, 3, out);
                for (actual, t) in out.iter().zip(3..) {
                    let m = message(&block);
                    let expected = reference::compress(&cv, &m, t, 64, flags::ROOT.into());
                    let expected = expected.map(u32::to_le_bytes);
                    assert_eq!(actual, expected.as_flattened(), "{} {side:?}", kernel.name());
                }
                tally.case();
            }
        }
    }
}

//! `chunks`: the chunks of one input, whose last chunk may be short.

use super::*;
use std::sync::OnceLock;

/// All lengths that any kernel is tested with: twice its widest pass and a bit of one chunk more.
fn most(kernel: Runnable) -> usize {
    let chunks = if cfg!(miri) { 1 } else { 2 * kernel.degree() };
    chunks * CHUNK_LEN + 65
}

/// Chaining values by the reference for every length of one input, each chunk computed once.
struct Expected {
    input: Vec<u8>,
    whole: Vec<ChainingValue>,
    /// By length of the input: its last chunk, where that is short and was asked for.
    short: Vec<OnceLock<ChainingValue>>,
}

const COUNTER: u64 = (1 << 32) - 13;
const FLAGS: u8 = flags::KEYED_HASH;
const KEY: Words = [1, 2, 3, 4, 5, 6, 7, 0xffff_ffff];

impl Expected {
    fn get() -> &'static Self {
        static EXPECTED: OnceLock<Expected> = OnceLock::new();
        EXPECTED.get_or_init(|| {
            let most = supported().map(most).max().unwrap();
            let input = Random::new(1).bytes(most);
            let whole =
                reference_chunks(&input[..most / CHUNK_LEN * CHUNK_LEN], &KEY, COUNTER, FLAGS);
            Expected { short: vec![OnceLock::new(); most + 1], whole, input }
        })
    }

    fn chunks(&self, len: usize) -> Vec<ChainingValue> {
        let whole = len / CHUNK_LEN;
        let mut expected = self.whole[..whole].to_vec();
        if !len.is_multiple_of(CHUNK_LEN) {
            let last = chunk(&self.input[whole * CHUNK_LEN..len], COUNTER + whole as u64, FLAGS);
            expected.push(*self.short[len].get_or_init(|| node(&KEY, last)));
        }
        expected
    }
}

/// The alignment changes with the length, so that neighbours have all of them.
#[test]
fn every_length() {
    let expected = Expected::get();
    for kernel in supported() {
        let mut tally = tally(kernel, "every_length");
        let mut room = Aligned::new(most(kernel));
        for len in sample(0..=most(kernel)) {
            let input = room.put(&expected.input[..len], len % 64);
            assert_eq!(
                chunks(kernel, input, &KEY, COUNTER, FLAGS),
                expected.chunks(len),
                "{} length {len}",
                kernel.name()
            );
            tally.case();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic of many whole chunks")]
fn every_alignment() {
    let mut random = Random::new(2);
    for kernel in supported() {
        let mut tally = tally(kernel, "every_alignment");
        let n = kernel.degree() * CHUNK_LEN;
        let mut lens = vec![
            1,
            63,
            65,
            CHUNK_LEN - 1,
            CHUNK_LEN,
            CHUNK_LEN + 1,
            n - 1,
            n,
            n + 1,
            n + n / 2 + 100,
        ];
        lens.dedup();
        for len in lens {
            let bytes = random.bytes(len);
            let key = any_key(&mut random);
            let counter = random.next() >> 1;
            let expected = reference_chunks(&bytes, &key, counter, 0);
            let mut room = Aligned::new(len);
            for align in sample(0..64) {
                let input = room.put(&bytes, align);
                let actual = chunks(kernel, input, &key, counter, 0);
                assert_eq!(actual, expected, "{} length {len} alignment {align}", kernel.name());
                tally.case();
            }
        }
    }
}

/// Groups of every size, the last chunk long enough and short enough for either way of hashing it.
#[test]
#[cfg_attr(miri, ignore = "arithmetic of many whole chunks")]
fn partial_groups() {
    let mut random = Random::new(3);
    for kernel in supported() {
        let mut tally = tally(kernel, "partial_groups");
        for count in 1..=2 * kernel.degree() + 1 {
            for last in sample([1, 64, 65, 128, 640, 641, 960, 1023, 1024]) {
                let input = random.bytes((count - 1) * CHUNK_LEN + last);
                let (key, counter) = (any_key(&mut random), random.next() >> 1);
                let each = random.next() as u8 & !flags::CHUNK_END;
                let expected = reference_chunks(&input, &key, counter, each);
                let actual = chunks(kernel, &input, &key, counter, each);
                assert_eq!(actual, expected, "{} {count} chunks, last {last}", kernel.name());
                tally.case();
            }
        }
    }
}

/// The last chunk has more blocks, to come later: nothing, or something else, is added to the last that it has.
#[test]
#[cfg_attr(miri, ignore = "arithmetic of many whole chunks")]
fn begun_chunks() {
    let mut random = Random::new(7);
    for kernel in supported() {
        let mut tally = tally(kernel, "begun_chunks");
        for count in 1..=2 * kernel.degree() + 1 {
            for blocks in sample([1, 2, 7, 10, 14, 15]) {
                let input = random.bytes((count - 1) * CHUNK_LEN + blocks * BLOCK_LEN);
                let (key, counter) = (any_key(&mut random), random.next() >> 1);
                let each = random.next() as u8 & !flags::CHUNK_END;
                let end = [0, 0, flags::ROOT][random.below(3)];
                let (whole, last) = input.split_at((count - 1) * CHUNK_LEN);
                let mut expected = reference_chunks(whole, &key, counter, each);
                let last = Lane { last: end, ..chunk(last, counter + count as u64 - 1, each) };
                expected.push(node(&key, last));
                let actual = within_bounds(count, |out, count| {
                    assert_eq!(kernel.chunks(&input, &key, counter, each, end, out), count);
                });
                assert_eq!(actual, expected, "{} {count} chunks, {blocks} blocks", kernel.name());
                tally.case();
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "arithmetic of many whole chunks")]
fn counters_that_turn_over() {
    let mut random = Random::new(4);
    for kernel in supported() {
        let mut tally = tally(kernel, "counters_that_turn_over");
        let degree = kernel.degree();
        for count in [1, 2, 3, degree - degree / 4, degree, degree + 1, 2 * degree] {
            for counter in sample(counters(count, &mut random)) {
                let missing = random.below(CHUNK_LEN);
                let input = random.bytes(count * CHUNK_LEN - missing);
                let key = any_key(&mut random);
                let expected = reference_chunks(&input, &key, counter, 0);
                let actual = chunks(kernel, &input, &key, counter, 0);
                assert_eq!(actual, expected, "{} {count} chunks from {counter}", kernel.name());
                tally.case();
            }
        }
    }
}

/// All but the flag that the last block adds: a kernel may add it by any operation.
#[test]
#[cfg_attr(miri, ignore = "arithmetic of many whole chunks")]
fn every_flag() {
    let mut random = Random::new(5);
    for kernel in supported() {
        let mut tally = tally(kernel, "every_flag");
        for each in sample((0..=u8::MAX).filter(|each| each & flags::CHUNK_END == 0)) {
            let count = 1 + usize::from(each) % (kernel.degree() + 2);
            let missing = random.below(CHUNK_LEN);
            let input = random.bytes(count * CHUNK_LEN - missing);
            let (key, counter) = (any_key(&mut random), random.next() >> 1);
            let expected = reference_chunks(&input, &key, counter, each);
            let actual = chunks(kernel, &input, &key, counter, each);
            assert_eq!(actual, expected, "{} flags {each:#x}", kernel.name());
            tally.case();
        }
    }
}

/// The same questions to the `blake3` crate, in its modes and at its largest offsets.
#[test]
fn the_blake3_crate_agrees() {
    use blake3::hazmat::HasherExt;
    let mut random = Random::new(6);
    for kernel in supported() {
        let mut tally = tally(kernel, "the_blake3_crate_agrees");
        for _ in 0..rounds(200) {
            let secret: [u8; 32] = random.bytes(32).try_into().unwrap();
            let key = crate::spec::words(&secret);
            let (hasher, key, each) = match random.below(3) {
                0 => (blake3::Hasher::new(), crate::spec::IV, 0),
                1 => (blake3::Hasher::new_keyed(&secret), key, flags::KEYED_HASH),
                _ => {
                    let hasher = blake3::Hasher::new_from_context_key(&secret);
                    (hasher, key, flags::DERIVE_KEY_MATERIAL)
                }
            };
            let len = 1 + random.length(most(kernel));
            let counter = random.next() >> (10 + random.below(53));
            let counter = counter.min((1 << 54) - 1 - (len / CHUNK_LEN) as u64);
            let input = random.bytes(len);
            let actual = chunks(kernel, &input, &key, counter, each);
            for ((input, counter), actual) in input.chunks(CHUNK_LEN).zip(counter..).zip(actual) {
                let mut hasher = hasher.clone();
                hasher.set_input_offset(counter * CHUNK_LEN as u64).update(input);
                assert_eq!(
                    actual,
                    hasher.finalize_non_root(),
                    "{} length {len} chunk {counter} flags {each}",
                    kernel.name()
                );
            }
            tally.case();
        }
    }
}

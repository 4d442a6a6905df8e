//! Every entry, with inputs and outputs at every alignment. (`chunks.rs` has more lengths
//! of inputs, `nodes.rs` the one-lane compression.)

use super::*;

/// Runs `f` on the places of chaining values, or of blocks, that lie `align` bytes behind a multiple
/// of 64, and checks that it wrote to nothing else; returns what it wrote.
fn written<const N: usize>(
    count: usize,
    align: usize,
    f: impl FnOnce(&mut [[u8; N]]),
) -> Vec<[u8; N]> {
    let mut room = Aligned::new(count * N);
    let start = room.0.as_ptr().align_offset(64) + align;
    let end = start + count * N;
    f(room.0[start..end].as_chunks_mut().0);
    let poison = |bytes: &[u8]| bytes.iter().all(|&byte| byte == POISON);
    assert!(poison(&room.0[..start]) && poison(&room.0[end..]), "written outside of the output");
    room.0[start..end].as_chunks().0.to_vec()
}

#[test]
fn every_entry_at_every_alignment() {
    let mut random = Random::new(19);
    // The passes for few nodes; one that is full, and one that is not.
    let counts = |kernel: Runnable| match cfg!(miri) {
        true => vec![kernel.degree() / 2 + 1],
        false => vec![2, 7, kernel.degree() + kernel.degree() / 2 + 1],
    };
    let cases = |kernel| counts(kernel).into_iter().map(move |count| (kernel, count));
    for (kernel, count) in supported().flat_map(cases) {
        let mut tally = tally(kernel, &format!("every_entry_at_every_alignment of {count}"));
        let key = any_key(&mut random);
        let counter = random.next() >> 1;
        let bytes = random.bytes(count * CHUNK_LEN - 100);
        let expected_chunks = reference_chunks(&bytes, &key, counter, 0);
        let children = &bytes[..2 * 32 * count];
        let expected_parents: Vec<_> = children
            .chunks(BLOCK_LEN)
            .map(|input| {
                node(&key, Lane { input, counter: 0, each: flags::PARENT, first: 0, last: 0 })
            })
            .collect();
        let block: &[u8; BLOCK_LEN] = bytes.first_chunk().unwrap();
        let expected_output: Vec<_> = (0..count as u64)
            .map(|i| {
                let out = reference::compress(&key, &message(block), counter + i, 64, 0);
                let bytes: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).collect();
                <[u8; BLOCK_LEN]>::try_from(bytes).unwrap()
            })
            .collect();
        let mut room = Aligned::new(bytes.len());
        for align in sample(0..64) {
            // All 64, but another than that of the input.
            let out_align = (align * 29 + 7) % 64;
            let name = format!("{} alignments {align} and {out_align}", kernel.name());

            let input = room.put(&bytes, align);
            let actual = written(count, out_align, |out| {
                kernel.chunks(input, &key, counter, 0, flags::CHUNK_END, out);
            });
            assert_eq!(actual, expected_chunks, "chunks, {name}");

            let input = room.put(children, align).as_chunks().0;
            let actual =
                written(count, out_align, |out| kernel.pairs(input, &key, flags::PARENT, out));
            assert_eq!(actual, expected_parents, "parents, {name}");

            // One lane after the other at the next alignment, with lengths of all kinds.
            let input = room.put(&bytes, align);
            let nodes: Vec<_> = (0..count)
                .map(|i| {
                    let start = i * (CHUNK_LEN - 63);
                    chunk(&input[start..start + (i * 97 + align) % (CHUNK_LEN - 63)], counter, 0)
                })
                .collect();
            let expected: Vec<_> = nodes.iter().map(|lane| node(&key, *lane)).collect();
            let lanes = Lanes::new(&nodes);
            let actual = written(count, out_align, |out| {
                kernel.lanes(&lanes.inputs, lanes.marks(), &key, out);
            });
            assert_eq!(actual, expected, "lanes, {name}");

            let block = room.put(block, align).first_chunk().unwrap();
            let actual =
                written(count, out_align, |out| kernel.xof(&key, block, 64, 0, counter, out));
            assert_eq!(actual, expected_output, "output, {name}");
            tally.case();
        }
    }
}

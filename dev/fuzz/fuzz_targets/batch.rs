//! Many inputs at once against one at a time, by every kernel, in every form that batches take; offsets
//! that are not offsets.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treewide::batch::{Batch, Packed};
use treewide::kernel;
use treewide_fuzz::{Input, Mode, kernels};

#[derive(Arbitrary, Debug)]
struct Case {
    mode: Mode,
    /// Each many times, as groups of equal lengths are what batches look for.
    blobs: Vec<(Input, u8)>,
    output_len: u8,
    threads: bool,
    offsets: Vec<i16>,
    small: u8,
    kernel: u8,
}

fuzz_target!(|case: Case| {
    let names = kernels();
    kernel::force(names[usize::from(case.kernel) % names.len()]).unwrap();
    let bits = u32::from(case.small % 16);
    let mut blobs = Vec::new();
    let mut total = 0;
    for (input, times) in &case.blobs {
        let bytes = input.bytes_to(bits);
        for i in 0..=times % 40 {
            let mut bytes = bytes.clone();
            if let Some(first) = bytes.first_mut() {
                *first ^= i;
            }
            total += bytes.len();
            blobs.push(bytes);
        }
        if total > 1 << 20 || blobs.len() > 2000 {
            break;
        }
    }
    let most = if case.threads { usize::MAX } else { 1 };
    let batch = Batch::with_mode(case.mode.mode()).threads(most);
    let expected: Vec<[u8; 32]> = blobs.iter().map(|blob| case.mode.expected(blob)).collect();
    assert!(batch.hash(&blobs).iter().eq(&expected));
    let mut places = vec![treewide::Hash::from_bytes([0; 32]); blobs.len()];
    batch.hash_into(&blobs[..], &mut places);
    assert!(places.iter().eq(&expected));
    assert!(batch.iter(&blobs).eq(expected.iter().copied()));

    // One buffer.
    let data = blobs.concat();
    let mut offsets = vec![0_u32];
    for blob in &blobs {
        offsets.push(offsets.last().unwrap() + blob.len() as u32);
    }
    assert!(batch.hash(&Packed::new(&data, &offsets).unwrap()).iter().eq(&expected));

    // Output of another length.
    let len = usize::from(case.output_len).max(1);
    let output = batch.output_len(len).bytes(&blobs);
    assert_eq!(output.len(), len * blobs.len());
    for (output, blob) in output.chunks(len).zip(&blobs) {
        let mut expected = vec![0; len];
        case.mode.oracle().update(blob).finalize_xof().fill(&mut expected);
        assert_eq!(output, expected);
    }

    // Offsets of anybody: blobs within the data, or an error where they are none.
    let offsets: Vec<i32> = case.offsets.iter().map(|&offset| offset.into()).collect();
    let places: Vec<_> = offsets.iter().map_while(|&o| usize::try_from(o).ok()).collect();
    let sound = places.len() == offsets.len()
        && places.is_sorted()
        && places.iter().all(|&place| place <= data.len());
    match Packed::new(&data, &offsets) {
        Ok(packed) => {
            assert!(sound, "{offsets:?} of {} bytes", data.len());
            let hashes = Batch::new().hash(&packed);
            assert_eq!(hashes.len(), places.len().saturating_sub(1));
            for (hash, ends) in hashes.iter().zip(places.windows(2)) {
                assert_eq!(*hash, *blake3::hash(&data[ends[0]..ends[1]]).as_bytes());
            }
        }
        Err(error) => assert!(!sound, "{error}: {offsets:?} of {} bytes", data.len()),
    }
});

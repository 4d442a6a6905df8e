//! Copies a short input to the buffer of a block, in line and in vectors.
//!
//! A kernel reads the block in vectors of 16 bytes. A vector that two stores wrote, such as the overlapping ones of `memcpy`,
//! waits until both are in the cache, which takes a tenth of the time of a block
//! (`results/zen4-2vcpu/capi.md#what-a-short-input-takes`). So each vector is put together in registers and stored once.

use crate::spec::BLOCK_LEN;

const VECTOR: usize = 16;

/// Copies at most a block to the start of `to`, which has zeros after it.
#[inline(always)]
pub(crate) fn copy_short(to: &mut [u8; BLOCK_LEN], from: &[u8]) {
    if let Ok(from) = <&[u8; BLOCK_LEN]>::try_from(from) {
        *to = *from;
        return;
    }
    let whole = match from.len() {
        0 => return,
        len => (len - 1) / VECTOR,
    };
    let (start, last) = from.split_at(whole * VECTOR);
    for (to, from) in to.as_chunks_mut::<VECTOR>().0.iter_mut().zip(start.as_chunks::<VECTOR>().0) {
        *to = *from;
    }
    // The last vector of the input, without its bytes that are there already.
    let bits = match from.last_chunk::<VECTOR>() {
        Some(end) => u128::from_le_bytes(*end) >> (8 * (VECTOR - last.len())),
        None => few(last),
    };
    store(&mut to.as_chunks_mut::<VECTOR>().0[whole], bits);
}

/// 1 to 15 bytes as the low ones of a number.
#[inline(always)]
fn few(from: &[u8]) -> u128 {
    let len = from.len();
    // The first bytes, and the last ones where they belong: where both have a byte, it is the same.
    if let (Some(first), Some(last)) = (from.first_chunk::<8>(), from.last_chunk::<8>()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return u128::from(first) | u128::from(last) << (8 * (len - 8));
    }
    if let (Some(first), Some(last)) = (from.first_chunk::<4>(), from.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return (u64::from(first) | u64::from(last) << (8 * (len - 4))).into();
    }
    let byte = |at: usize| u32::from(from[at]) << (8 * at);
    (byte(0) | byte(len / 2) | byte(len - 1)).into()
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn store(to: &mut [u8; VECTOR], bits: u128) {
    use core::arch::x86_64::{_mm_set_epi64x, _mm_storeu_si128};
    // SAFETY: this build has SSE2 everywhere, and `to` has room for a vector.
    unsafe {
        let vector = _mm_set_epi64x((bits >> 64) as i64, bits as i64);
        _mm_storeu_si128(to.as_mut_ptr().cast(), vector);
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
fn store(to: &mut [u8; VECTOR], bits: u128) {
    *to = bits.to_le_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_short_of_every_length() {
        let input: [u8; BLOCK_LEN] = core::array::from_fn(|i| (i + 1) as u8);
        for len in 0..=BLOCK_LEN {
            let mut block = [0; BLOCK_LEN];
            copy_short(&mut block, &input[..len]);
            assert_eq!(block[..len], input[..len], "{len}");
            assert!(block[len..].iter().all(|&byte| byte == 0), "{len}");
        }
    }
}

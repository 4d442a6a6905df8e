//! Pseudorandom numbers for inputs, so that a validator can make them again, and for the order of turns.

#[allow(dead_code, reason = "the library's tests cut inputs with the rest of it")]
#[path = "../../../crates/treewide/tests/common/random.rs"]
mod shared;

pub(crate) use shared::Random;

impl Random {
    /// A number of the normal distribution, as the sum of twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            // Without a division: digests in records depend on the order.
            let at = (u128::from(self.next()) * (i as u128 + 1)) >> 64;
            items.swap(i, at as usize);
        }
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next().to_le_bytes()[..piece.len()]);
        }
    }
}

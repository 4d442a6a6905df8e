//! Hashing with the threads of the current rayon pool.

use crate::kernel::detected;
use crate::tree::{self, Join, Mode};
use crate::{Hash, Hasher};

/// On the current rayon pool: the one that the caller is in, else the global one.
pub(crate) enum Pool {}

impl Join for Pool {
    const GRAIN: usize = 256 * 1024;

    fn join<A: Send, B: Send>(
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        rayon::join(a, b)
    }
}

/// [`hash`](crate::hash()) with the threads of the current rayon pool.
pub fn hash_parallel(input: &[u8]) -> Hash {
    Hash::from_bytes(tree::hash::<Pool>(detected(), input, &Mode::PLAIN))
}

impl Hasher {
    /// Appends `input` with the threads of the current rayon pool.
    pub fn update_rayon(&mut self, input: &[u8]) -> &mut Self {
        self.append::<Pool>(input)
    }
}

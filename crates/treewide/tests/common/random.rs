//! Random numbers that are the same in every run, on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014): a counter and a mixing function, which is enough to
/// pick lengths and fill buffers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`. That small numbers are very slightly likelier does not matter here.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).collect();
        bytes.truncate(len);
        bytes
    }

    /// A length of at most `most`: of any magnitude, and often exactly at or next to a multiple of
    /// a block or a chunk, where the mistakes are.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        let magnitude = self.below(most.ilog2() as usize + 2) as u32;
        let len = self.below(1 << magnitude);
        let near = match self.below(4) {
            0 => len,
            1 => len.next_multiple_of(64),
            _ => len.next_multiple_of(1024),
        };
        (near + self.below(3)).saturating_sub(1).min(most)
    }

    /// `input` cut at random places, empty pieces included.
    pub(crate) fn pieces<'a>(&mut self, mut input: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !input.is_empty() {
            let (piece, rest) = input.split_at(self.length(input.len()));
            pieces.push(piece);
            input = rest;
        }
        pieces
    }
}

//! The inverse of LZMA, as its specification has it, for files with lc = 3, lp = 0 and pb = 2.
//!
//! A bit is decoded by the probability that it is 0, which is learned from the bits before it in the same *context*.
//! Contexts are places of one array:
//!
//! ```text
//! what follows | is it a repeated distance, and which | slots and bits of distances | two kinds of lengths | literals
//! ```

/// Bytes of a compressed file, at most.
pub const INPUT: usize = 32 << 10;

/// Bytes of its content, at most.
pub const OUTPUT: usize = 128 << 10;

/// Where the contexts of each kind begin. Lengths have 2 choices, 4 trees of 8 each for two of them, and one of 256.
const IS_MATCH: usize = 0;
const IS_REPEATED: usize = 48;
const IS_OTHER: usize = 60;
const IS_THIRD_OR_FOURTH: usize = 72;
const IS_FOURTH: usize = 84;
const IS_LONG: usize = 96;
const SLOTS: usize = 144;
const DISTANCES: usize = 400;
const ALIGN: usize = 528;
const LENGTH: usize = 544;
const REPEATED_LENGTH: usize = 866;
const LITERALS: usize = 1188;
const CONTEXTS: usize = LITERALS + 8 * 768;

/// Bytes before the first of the bits: parameters, sizes, and a zero.
const HEADER: usize = 14;

/// A file, its content, and how far it has been decoded.
pub struct Decoder {
    /// The compressed file.
    pub input: [u8; INPUT],
    output: [u8; OUTPUT],
    contexts: [u16; CONTEXTS],
    from: usize,
    range: u32,
    code: u32,
}

/// An element. A trap instead of a message if there is none, because messages would be as large as the rest of the module.
#[inline(always)]
fn at<T>(array: &mut [T], index: usize) -> &mut T {
    match array.get_mut(index) {
        Some(element) => element,
        #[cfg(target_arch = "wasm32")]
        None => core::arch::wasm32::unreachable(),
        #[cfg(not(target_arch = "wasm32"))]
        None => panic!("the file is damaged, or its content has another size"),
    }
}

impl Decoder {
    /// Without a file.
    pub const fn new() -> Self {
        Self {
            input: [0; INPUT],
            output: [0; OUTPUT],
            contexts: [0; CONTEXTS],
            from: 0,
            range: 0,
            code: 0,
        }
    }

    /// The next byte of the file.
    fn byte(&mut self) -> u32 {
        let byte = *at(&mut self.input, self.from);
        self.from += 1;
        u32::from(byte)
    }

    /// Narrows the range to the part below `bound` or above it, where the code is. Returns which.
    fn narrow(&mut self, bound: u32) -> usize {
        let bit = self.code >= bound;
        if bit {
            self.range -= bound;
            self.code -= bound;
        } else {
            self.range = bound;
        }
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.code = (self.code << 8) | self.byte();
        }
        bit.into()
    }

    fn bit(&mut self, context: usize) -> usize {
        let chance = at(&mut self.contexts, context);
        let bound = (self.range >> 11) * u32::from(*chance);
        if self.code < bound {
            *chance += (2048 - *chance) >> 5;
        } else {
            *chance -= *chance >> 5;
        }
        self.narrow(bound)
    }

    /// A number below `end`, a power of two: the highest bit first, each in the context of those before it.
    fn tree(&mut self, context: usize, end: usize) -> usize {
        let mut node = 1;
        while node < end {
            node = 2 * node + self.bit(context + node);
        }
        node - end
    }

    /// A number of `count` bits, the lowest first.
    fn reversed(&mut self, context: usize, count: usize) -> usize {
        let (mut node, mut value) = (1, 0);
        for at in 0..count {
            let bit = self.bit(context + node);
            node = 2 * node + bit;
            value |= bit << at;
        }
        value
    }

    fn length(&mut self, context: usize, to: usize) -> usize {
        let place = 8 * (to % 4);
        if self.bit(context) == 0 {
            2 + self.tree(context + 2 + place, 8)
        } else if self.bit(context + 1) == 0 {
            10 + self.tree(context + 34 + place, 8)
        } else {
            18 + self.tree(context + 66, 256)
        }
    }

    /// A distance, less 1, of a match of this length.
    fn distance(&mut self, length: usize) -> usize {
        let slot = self.tree(SLOTS + 64 * (length - 2).min(3), 64);
        if slot < 4 {
            return slot;
        }
        let mut count = slot / 2 - 1;
        let high = (2 + slot % 2) << count;
        if slot < 14 {
            return high + self.reversed(DISTANCES + high - slot, count);
        }
        let mut middle = 0;
        while count > 4 {
            let half = self.range / 2;
            self.range = 2 * half;
            middle = 2 * middle + self.narrow(half);
            count -= 1;
        }
        high + 16 * middle + self.reversed(ALIGN, 4)
    }

    /// Decompresses the input, whose content has `size` bytes.
    pub fn decompress(&mut self, size: usize) -> &[u8] {
        self.contexts.fill(1024);
        self.range = u32::MAX;
        self.from = HEADER;
        for _ in 0..4 {
            self.code = (self.code << 8) | self.byte();
        }
        // What the last few steps were, and the last four distances, less 1.
        let mut state = 0;
        let mut distances = [0; 4];
        let mut to = 0;
        while to < size {
            let place = 4 * state + to % 4;
            if self.bit(IS_MATCH + place) == 0 {
                let byte = self.literal(state, to, distances[0]);
                *at(&mut self.output, to) = byte;
                to += 1;
                state = match state {
                    0..4 => 0,
                    4..10 => state - 3,
                    _ => state - 6,
                };
                continue;
            }
            let [first, second, third, fourth] = distances;
            let mut length = 1;
            if self.bit(IS_REPEATED + state) == 0 {
                length = self.length(LENGTH, to);
                distances = [self.distance(length), first, second, third];
                state = if state < 7 { 7 } else { 10 };
            } else {
                let mut is_byte = false;
                if self.bit(IS_OTHER + state) == 0 {
                    is_byte = self.bit(IS_LONG + place) == 0;
                } else if self.bit(IS_THIRD_OR_FOURTH + state) == 0 {
                    distances = [second, first, third, fourth];
                } else if self.bit(IS_FOURTH + state) == 0 {
                    distances = [third, first, second, fourth];
                } else {
                    distances = [fourth, first, second, third];
                }
                if !is_byte {
                    length = self.length(REPEATED_LENGTH, to);
                }
                state = if state >= 7 { 11 } else { 8 + usize::from(is_byte) };
            }
            for _ in 0..length {
                *at(&mut self.output, to) =
                    *at(&mut self.output, to.wrapping_sub(distances[0] + 1));
                to += 1;
            }
        }
        &self.output
    }

    /// A byte that is not part of a match.
    fn literal(&mut self, state: usize, to: usize, distance: usize) -> u8 {
        let before = if to == 0 { 0 } else { *at(&mut self.output, to - 1) };
        let context = LITERALS + 768 * usize::from(before >> 5);
        let mut node = 1;
        if state >= 7 {
            // The byte that would have followed the match is not this one, but its first bits are likely.
            let mut other = *at(&mut self.output, to.wrapping_sub(distance + 1));
            while node < 256 {
                let likely = usize::from(other >> 7);
                other <<= 1;
                let bit = self.bit(context + 256 * (1 + likely) + node);
                node = 2 * node + bit;
                if bit != likely {
                    break;
                }
            }
        }
        while node < 256 {
            node = 2 * node + self.bit(context + node);
        }
        node as u8
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

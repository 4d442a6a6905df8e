//! Lanes as rows: each lane's state is a square of four by four words. A vector holds one row of it, and one lane in
//! each of its 128-bit parts. Here are a round, and rows of [`Pair`]s. `x86_64/rows/` has the vectors of one lane, two and
//! four, and the passes over them; `wasm/rows.rs` has two lanes of WebAssembly.
//!
//! ```text
//!            lane 0           lane 1     lane 2     lane 3
//! row 0    [ v0  v1  v2  v3 | v0 ...   | v0 ...   | v0 ... ]
//! row 1    [ v4  v5  v6  v7 | v4 ...
//! row 2    [ v8  v9 v10 v11 | v8 ...
//! row 3    [ v12 v13 v14 v15| v12 ...
//! ```
//!
//! A transposed state of sixteen vectors keeps four chains of operations going, and for few lanes that
//! is four times as many operations as fit into the time of the chain. Rows are one chain.
//!
//! For the diagonals the rows are rotated against each other: all but row 1, which is the one that
//! is computed last, so no rotation is waited for.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![allow(dead_code, unused_imports, unused_macros, reason = "only some targets have kernels of it")]

use super::pair::Pair;

/// One row of the state, or of the message, of every lane: four words in every 128-bit part.
///
/// # Safety
/// Every method may use the instructions of its instruction set: callers run inside a function with these target features,
/// on a CPU that has them.
pub(super) unsafe trait Row: Copy {
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// Rotates every word right by `R`; `LEFT` is 32 less that.
    unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self;
    /// The words of every part in another order.
    unsafe fn shuffle<const PICK: i32>(self) -> Self;
    /// The same where all words of a part move by as many places, which some do by another instruction.
    #[inline(always)]
    unsafe fn rotate_words<const PICK: i32>(self) -> Self {
        self.shuffle::<PICK>()
    }
    /// Words 0 and 1 of every part picked from `self`, 2 and 3 from `other`.
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self;
    /// Words 2 and 3 of every part, alternately from `self` and from `other`.
    unsafe fn last_two(self, other: Self) -> Self;
    /// Word 3 of every part from `other`.
    unsafe fn with_last(self, other: Self) -> Self;
    /// The same row, hidden from the compiler.
    unsafe fn hidden(self) -> Self;

    /// Where the message of the next round is made, for single rows and for pairs of them.
    const NEXT: Next = Next::Behind;
    const NEXT_IN_PAIRS: Next = Next::Behind;

    /// The same two rows, once both are computed: compilers would compute more of one before the other.
    #[inline(always)]
    unsafe fn ordered_pair(rows: [Self; 2]) -> [Self; 2] {
        rows
    }
}

/// Where in a round the message of the next is made, as it is written; compilers move it, but not everywhere.
#[derive(PartialEq)]
pub(super) enum Next {
    /// Between columns and diagonals, and put in order after them, which is 0.2 to 1.3 % faster than all of it behind
    /// (`results/gnr-2vcpu/limits.md#one-lane`).
    Between,
    /// For pairs that alternate instruction by instruction: half of it where the columns wait, half where the diagonals
    /// do. That is a tenth faster than in the compiler's order on Zen 5, as less comes early and waits
    /// (`results/zen5-2vcpu/limits.md#four-lanes-with-avx2`), and a seventh on Zen 4 with AVX2 and SSE4.1
    /// (`results/zen4-2vcpu/limits.md#pairs-in-step`). With AVX-512 the compiler's order is faster there.
    Split,
    Behind,
}

/// Half of G on the four columns or diagonals; row 3 rotates by `D`, row 1 by `B`.
#[inline(always)]
unsafe fn half_g<R: Row, const D: i32, const D_LEFT: i32, const B: i32, const B_LEFT: i32>(
    v: &mut [R; 4],
    m: R,
) {
    // In this order, which the compiler would change: row 1 is what is waited for.
    v[0] = v[0].add(m).hidden().add(v[1]);
    v[3] = v[3].xor(v[0]).rotate::<D, D_LEFT>();
    v[2] = v[2].add(v[3]);
    v[1] = v[1].xor(v[2]).rotate::<B, B_LEFT>();
}

/// Rotates rows so that what were diagonals are columns; row 1 stays.
#[inline(always)]
pub(super) unsafe fn to_diagonals<R: Row>(v: &mut [R; 4]) {
    v[0] = v[0].rotate_words::<0b10_01_00_11>();
    v[3] = v[3].rotate_words::<0b01_00_11_10>();
    v[2] = v[2].rotate_words::<0b00_11_10_01>();
}

/// The inverse of [`to_diagonals`].
#[inline(always)]
pub(super) unsafe fn to_columns<R: Row>(v: &mut [R; 4]) {
    v[0] = v[0].rotate_words::<0b00_11_10_01>();
    v[3] = v[3].rotate_words::<0b01_00_11_10>();
    v[2] = v[2].rotate_words::<0b10_01_00_11>();
}

/// The message words of a block, four by four, in the order of the first round: for the columns the
/// first and the second word of each G, then the same for the diagonals, as row 1 sees them.
#[inline(always)]
pub(super) unsafe fn arrange<R: Row>([w0, w4, w8, w12]: [R; 4]) -> [R; 4] {
    [
        w0.two_of_each::<0b10_00_10_00>(w4),
        w0.two_of_each::<0b11_01_11_01>(w4),
        w8.two_of_each::<0b10_00_10_00>(w12).shuffle::<0b10_01_00_11>(),
        w8.two_of_each::<0b11_01_11_01>(w12).shuffle::<0b10_01_00_11>(),
    ]
}

/// The words of the arranged message of the next round (table 2 of the paper), row by row; [`settle`] puts them in order.
///
/// What is hidden the compiler would make fewer instructions of, but such as have one port and take three
/// cycles.
#[inline(always)]
unsafe fn mix<R: Row>([a, b, c, d]: [R; 4]) -> [R; 4] {
    // a = 0 2 4 6, b = 1 3 5 7, c = 14 8 10 12, d = 15 9 11 13.
    [
        a.two_of_each::<0b11_01_10_01>(b).hidden(), // 2 4 3 7
        a.two_of_each::<0b11_10_00_11>(c.with_last(d).hidden()).hidden(), // 6 0 10 13
        d.two_of_each::<0b11_00_01_00>(b.with_last(c).hidden()).hidden(), // 15 9 1 12
        c.two_of_each::<0b01_00_00_01>(d.last_two(b).hidden()).hidden(), // 8 14 11 5
    ]
}

/// What [`mix`] gives, each row in the order of its columns or diagonals.
#[inline(always)]
unsafe fn settle<R: Row>([a, b, c, d]: [R; 4]) -> [R; 4] {
    [
        a.shuffle::<0b01_11_10_00>(), // 2 3 7 4
        b.shuffle::<0b11_01_10_00>(), // 6 10 0 13
        c.shuffle::<0b01_11_10_00>(), // 15 1 12 9
        d.shuffle::<0b01_11_10_00>(), // 8 11 5 14
    ]
}

/// [`mix`] for a round that is not the last. No closure: those have no instructions of a caller that they are not inlined
/// into, and builds for size inline none that are called twice.
#[inline(always)]
unsafe fn mix_unless<R: Row, const LAST: bool>(m: [R; 4]) -> [R; 4] {
    if LAST { m } else { mix(m) }
}

/// [`settle`] for the same.
#[inline(always)]
unsafe fn settle_unless<R: Row, const LAST: bool>(m: [R; 4]) -> [R; 4] {
    if LAST { m } else { settle(m) }
}

/// A round; returns the message of the next, if it is not the last.
#[inline(always)]
pub(super) unsafe fn round<R: Row, const LAST: bool>(v: &mut [R; 4], m: [R; 4]) -> [R; 4] {
    half_g::<R, 16, 16, 12, 20>(v, m[0]);
    let columns =
        if R::NEXT == Next::Split { settle_unless::<R, LAST>(mix_unless::<R, LAST>(m)) } else { m };
    half_g::<R, 8, 24, 7, 25>(v, m[1]);
    to_diagonals(v);
    let between = if R::NEXT == Next::Between { mix_unless::<R, LAST>(m) } else { m };
    half_g::<R, 16, 16, 12, 20>(v, m[2]);
    let diagonals =
        if R::NEXT == Next::Split { settle_unless::<R, LAST>(mix_unless::<R, LAST>(m)) } else { m };
    half_g::<R, 8, 24, 7, 25>(v, m[3]);
    to_columns(v);
    match R::NEXT {
        Next::Between => settle_unless::<R, LAST>(between),
        Next::Split => [columns[0], columns[1], diagonals[2], diagonals[3]],
        Next::Behind => settle_unless::<R, LAST>(mix_unless::<R, LAST>(m)),
    }
}

/// Two chains of operations that fill each other's waiting.
impl<R: Row> Pair<R> {
    /// Both, in step where the pair alternates.
    #[inline(always)]
    unsafe fn paired(rows: [R; 2]) -> Self {
        Self(if R::NEXT_IN_PAIRS == Next::Split { R::ordered_pair(rows) } else { rows })
    }
}

// SAFETY: as `R` says.
unsafe impl<R: Row> Row for Pair<R> {
    const NEXT: Next = R::NEXT_IN_PAIRS;

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self::paired([self.0[0].add(other.0[0]), self.0[1].add(other.0[1])])
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Self::paired([self.0[0].xor(other.0[0]), self.0[1].xor(other.0[1])])
    }
    super::pair::both!(last_two, with_last);
    #[inline(always)]
    unsafe fn rotate<const R_: i32, const LEFT: i32>(self) -> Self {
        Self::paired([self.0[0].rotate::<R_, LEFT>(), self.0[1].rotate::<R_, LEFT>()])
    }
    #[inline(always)]
    unsafe fn shuffle<const PICK: i32>(self) -> Self {
        Self([self.0[0].shuffle::<PICK>(), self.0[1].shuffle::<PICK>()])
    }
    #[inline(always)]
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a.two_of_each::<PICK>(c), b.two_of_each::<PICK>(d)])
    }
    #[inline(always)]
    unsafe fn hidden(self) -> Self {
        Self([self.0[0].hidden(), self.0[1].hidden()])
    }
}

//! The outboard of an input whose parts are all there: pairs are made from parts, and no byte is read.

use std::fmt;
use std::iter::Peekable;
use std::ops::Range;

use super::layout::{Group, Layout, Node, PAIR_LEN};
use crate::kernel::running;
use crate::mode::Mode;
use crate::parts::{Missing, Part, Parts, sibling};
use crate::spec::ChainingValue;
use crate::tree;

impl Parts {
    /// Returns the outboard of the input, with groups of `group` bytes, as [`create`](crate::outboard::create) makes it of
    /// the data. No part may be larger than a group: workers do not [`compact`](Self::compact) then.
    ///
    /// ```
    /// use treewide::parts::Parts;
    /// use treewide::outboard::{self, Group};
    /// use treewide::{CHUNK_LEN, Mode};
    ///
    /// let input = vec![7; 100_000];
    /// let mut parts = Parts::new(100_000, Mode::PLAIN);
    /// for at in (0..input.len()).step_by(16 * CHUNK_LEN) {
    ///     let end = input.len().min(at + 16 * CHUNK_LEN);
    ///     parts.hash(&input[at..end], at as u64)?;
    /// }
    /// let (digest, pairs) = outboard::create(&input, Group::IROH, Mode::PLAIN);
    /// assert_eq!(parts.finish()?, digest);
    /// assert_eq!(parts.outboard(Group::IROH)?, pairs);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a part is missing, or is larger than a group.
    ///
    /// # Panics
    /// If the outboard has more bytes than the address space.
    pub fn outboard(&self, group: Group) -> Result<Vec<u8>, NoOutboard> {
        // What is missing is an error of its own.
        self.finish()?;
        let layout = Layout::new(self.total(), group);
        let len = usize::try_from(layout.bytes()).expect("an outboard that fits into memory");
        let mut made =
            Made { layout, mode: &self.mode, parts: self.iter().peekable(), pairs: vec![0; len] };
        if layout.groups() > 1 {
            made.node(layout.root())?;
        }
        Ok(made.pairs)
    }
}

/// An outboard that is being made, from left to right.
struct Made<'a, I: Iterator<Item = Part>> {
    layout: Layout,
    mode: &'a Mode,
    parts: Peekable<I>,
    pairs: Vec<u8>,
}

impl<I: Iterator<Item = Part>> Made<'_, I> {
    /// The chaining value of `node`. Its pair and all below it are written.
    fn node(&mut self, node: Node) -> Result<ChainingValue, NoOutboard> {
        let Some([left, right]) = self.layout.children(node) else {
            return self.group(self.layout.span(node));
        };
        let (left, right) = (self.node(left)?, self.node(right)?);
        let place = self.layout.position(node).expect("a node with children") as usize * PAIR_LEN;
        self.pairs[place..place + PAIR_LEN / 2].copy_from_slice(&left);
        self.pairs[place + PAIR_LEN / 2..place + PAIR_LEN].copy_from_slice(&right);
        Ok(self.parent(&left, &right))
    }

    /// The chaining value of a group, from the parts that it consists of.
    fn group(&mut self, span: Range<u64>) -> Result<ChainingValue, NoOutboard> {
        let mut merged: Vec<Part> = Vec::new();
        while let Some(mut part) = self.parts.next_if(|part| part.range.start < span.end) {
            if part.range.end > span.end {
                return Err(NoOutboard::Larger { part: part.range, group: span.end - span.start });
            }
            while part.range != span
                && let Some(left) = merged.pop_if(|left| {
                    (left.range.clone(), true) == sibling(&part.range, self.layout.len())
                })
            {
                part = Part {
                    range: left.range.start..part.range.end,
                    cv: self.parent(&left.cv, &part.cv),
                };
            }
            merged.push(part);
        }
        debug_assert_eq!(merged.len(), 1, "all parts of a group are there");
        Ok(merged[0].cv)
    }

    fn parent(&self, left: &ChainingValue, right: &ChainingValue) -> ChainingValue {
        tree::Node::parent(left, right, self.mode).chaining_value(running())
    }
}

/// Why there is no outboard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoOutboard {
    /// Parts are missing.
    Missing(Missing),
    /// A part is larger than a group, so that the values of its groups are not known.
    Larger {
        /// The range of the part.
        part: Range<u64>,
        /// The bytes of the group that it begins in.
        group: u64,
    },
}

impl fmt::Display for NoOutboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(f),
            Self::Larger { part, group } => write!(
                f,
                "{}..{} is one part, and an outboard needs parts of at most {group} bytes there: hash it again by groups, \
                 and do not compact",
                part.start, part.end
            ),
        }
    }
}

impl std::error::Error for NoOutboard {}

impl From<Missing> for NoOutboard {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

//! An outboard together with the digest that it is compared with.

use core::fmt;

use super::layout::Layout;
use crate::hash::Hash;
use crate::mode::Mode;

/// An outboard, and the digest that it is compared with.
///
/// The digest comes from where you trust it. Data and outboard need no trust: what is wrong with them is found.
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, Flaw, Group, Layout, Outboard, FlawKind};
///
/// let mut data = vec![7; 1_000_000];
/// let (digest, pairs) = outboard::create(&data, Group::IROH, Mode::PLAIN);
/// let layout = Layout::new(1_000_000, Group::IROH);
/// let outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
/// outboard.verify(&data, ..)?;
///
/// data[500_000] ^= 1;
/// outboard.verify(&data, ..400_000)?;
/// let found: Result<Vec<Flaw>, _> = outboard.damage(&data, ..).collect();
/// assert_eq!(found?, [Flaw { range: 491_520..507_904, kind: FlawKind::Bad }]);
/// # Ok::<(), outboard::Error>(())
/// ```
#[derive(Clone)]
pub struct Outboard<S> {
    pub(super) root: Hash,
    pub(super) layout: Layout,
    pub(super) mode: Mode,
    pub(super) store: S,
}

impl<S> Outboard<S> {
    /// Puts an outboard and the digest together that it is to be compared with. Nothing is read yet.
    pub const fn new(root: &Hash, layout: Layout, mode: Mode, store: S) -> Self {
        Self { root: *root, layout, mode, store }
    }

    /// Returns the layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }
}

/// Shows the digest and the layout.
impl<S> fmt::Debug for Outboard<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Outboard");
        debug.field("root", &self.root).field("layout", &self.layout);
        debug.field("mode", &self.mode).finish_non_exhaustive()
    }
}

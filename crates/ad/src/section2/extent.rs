//! Bounded trees: how deep and how large terms, types and values may be.

use std::rc::Rc;

/// The deepest nesting of terms, types and values.
pub const MAX_DEPTH: u32 = 256;

/// The most formers of a term, a type or a value, written out as a tree.
pub const MAX_SIZE: u32 = 1 << 20;

/// How deep and how large a tree is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    depth: u32,
    size: u32,
}

impl Extent {
    /// That of a leaf.
    pub(super) const LEAF: Extent = Extent { depth: 1, size: 1 };
    /// That of what is too large.
    pub(super) const TOO_LARGE: Extent = Extent { depth: MAX_DEPTH, size: MAX_SIZE };

    /// That of a tree with these parts, unless it is too large.
    pub(super) fn around(parts: impl IntoIterator<Item = Extent>) -> Option<Extent> {
        let both = |a: Extent, b: Extent| Extent {
            depth: a.depth.max(b.depth + 1),
            size: a.size.saturating_add(b.size),
        };
        let around = parts.into_iter().fold(Extent::LEAF, both);
        (around.depth <= MAX_DEPTH && around.size <= MAX_SIZE).then_some(around)
    }
}

/// Two things side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Both<T> {
    left: T,
    right: T,
    extent: Extent,
}

impl<T> Both<T> {
    /// The left one.
    pub fn left(&self) -> &T {
        &self.left
    }

    /// The right one.
    pub fn right(&self) -> &T {
        &self.right
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Both, unless that is too large.
    pub(super) fn of(left: T, right: T, extent: impl Fn(&T) -> Extent) -> Option<Rc<Both<T>>> {
        let extent = Extent::around([extent(&left), extent(&right)])?;
        Some(Rc::new(Both { left, right, extent }))
    }
}

//! Constant indices that lie outside their axis.
//!
//! A read outside an array is 0, which is what windows and paddings want of an index that varies.
//! Of an index that does not, it is almost certainly a mistake. Both front ends ask here.

use std::fmt;

use crate::term::{Arena, Node, TermId};

/// A constant index outside its axis: what it reads is 0 whatever the array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The index.
    pub index: i64,
    /// The size of the axis.
    pub size: usize,
}

impl OutOfRange {
    /// The fault of a constant index into an axis, if it is one.
    pub fn of(index: i64, size: usize) -> Option<OutOfRange> {
        let inside = usize::try_from(index).is_ok_and(|i| i < size);
        (!inside).then_some(OutOfRange { index, size })
    }

    /// The position that the index would have if negative ones counted from the end.
    pub fn from_end(self) -> Option<usize> {
        let back = usize::try_from(self.index.checked_neg()?).ok()?;
        self.size.checked_sub(back).filter(|&i| i < self.size)
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the index {} is outside an axis of size {}", self.index, self.size)
    }
}

impl Arena {
    /// The value of a node that is a constant integer.
    pub fn constant_index(&self, t: TermId) -> Option<i64> {
        match self.node(t) {
            Node::Const(literal) if literal.rank() == 0 => literal.item(),
            _ => None,
        }
    }

    /// The first of the indices `ix` into `t` that is constant and out of range, with its axis.
    pub fn constant_out_of_range(&self, t: TermId, ix: &[TermId]) -> Option<(usize, OutOfRange)> {
        let dims = self.shape(t).dims();
        ix.iter().zip(dims).enumerate().find_map(|(axis, (&i, &k))| {
            let fault = OutOfRange::of(self.constant_index(i)?, k)?;
            Some((axis, fault))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_inside_from_0_to_the_size() {
        let faults = |size| (-3..4).filter(move |&i| OutOfRange::of(i, size).is_some());
        assert_eq!(faults(2).collect::<Vec<_>>(), [-3, -2, -1, 2, 3]);
        assert_eq!(faults(0).count(), 7);
        assert!(OutOfRange::of(i64::MIN, usize::MAX).is_some());
    }

    #[test]
    fn only_what_fits_counts_from_the_end() {
        let from_end = |index, size| OutOfRange { index, size }.from_end();
        assert_eq!(from_end(-1, 3), Some(2));
        assert_eq!(from_end(-3, 3), Some(0));
        assert_eq!(from_end(-4, 3), None);
        assert_eq!(from_end(3, 3), None);
        assert_eq!(from_end(0, 0), None);
        assert_eq!(from_end(i64::MIN, 3), None);
    }
}

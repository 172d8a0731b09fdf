//! The operands of an operation, in place.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use crate::term::TermId;

/// The most operands that an operation has.
const MOST: usize = 3;

/// The operands of an operation: one, two or three. A list that needs no more room than these, as
/// most nodes of a program have one.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    count: u8,
    /// Those past the count are the first term.
    terms: [TermId; MOST],
}

impl Operands {
    /// These operands, as far as there is room.
    pub(crate) fn new(operands: &[TermId]) -> Operands {
        let mut terms = [TermId::new(0); MOST];
        let count = operands.len().min(MOST);
        terms[..count].copy_from_slice(&operands[..count]);
        Operands { count: count as u8, terms }
    }

    /// The operands, in order.
    pub fn as_slice(&self) -> &[TermId] {
        self
    }
}

impl Deref for Operands {
    type Target = [TermId];
    fn deref(&self) -> &[TermId] {
        &self.terms[..usize::from(self.count)]
    }
}

impl DerefMut for Operands {
    fn deref_mut(&mut self) -> &mut [TermId] {
        &mut self.terms[..usize::from(self.count)]
    }
}

impl<'a> IntoIterator for &'a Operands {
    type Item = &'a TermId;
    type IntoIter = std::slice::Iter<'a, TermId>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Operands {
    fn eq(&self, other: &Operands) -> bool {
        **self == **other
    }
}

impl Eq for Operands {}

impl Hash for Operands {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

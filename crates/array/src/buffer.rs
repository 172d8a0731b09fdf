//! Where elements lie: in a vector of ours, or in memory that somebody else owns.

use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Elements that belong to somebody else: to an array of another library, perhaps. They must not
/// change while they are lent.
pub type Lender<T> = Box<dyn AsRef<[T]> + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// The elements of arrays, which are views of them.
pub(crate) enum Buffer<T> {
    Own(Vec<T>),
    Lent(Lender<T>),
}

// What a panic could leave half done would be seen by changes only, and nobody changes what is lent.
impl<T: UnwindSafe> UnwindSafe for Buffer<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Buffer<T> {}

impl<T> Buffer<T> {
    /// The elements to be changed, if they are ours.
    pub(crate) fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        match self {
            Buffer::Own(elements) => Some(elements),
            Buffer::Lent(_) => None,
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Buffer::Own(elements) => elements,
            Buffer::Lent(lender) => lender.as_ref().as_ref(),
        }
    }
}

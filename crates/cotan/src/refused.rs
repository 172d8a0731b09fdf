//! What arrays of a staged function do not have, refused with advice.
//!
//! `if x > 0.0` and `x[0]` are what everybody writes first. Without implementations of the operators
//! the compiler can only say that there are none. These implementations exist for no type, because of
//! their bounds, whose messages say what to write instead.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Index;

use crate::arr::Arr;

/// What an array is compared with.
#[derive(Debug)]
pub struct Compared<O>(PhantomData<O>);

/// The truth of comparisons that is known while a function is staged: there is none.
#[diagnostic::on_unimplemented(
    message = "a comparison of arrays is not true or false while a function is staged",
    label = "its outcome is not known here",
    note = "compare by `x.gt(0.0)`, `lt`, `ge`, `le`, `eq` and `ne`, which give an array of truth \
            values, and choose by `select(x.gt(0.0), a, b)` or, to run one branch only, by \
            `cond(x.gt(0.0), || a, || b)`",
    note = "in a function that runs eagerly (`cotan::eager`) values are known: `x.item()? > 0.0`"
)]
pub trait KnownWhileStaging {}

/// With two candidates, the compiler does not choose one before it knows what is compared.
#[derive(Debug)]
pub enum Candidate<const N: usize> {}

#[diagnostic::do_not_recommend]
impl KnownWhileStaging for Compared<Candidate<0>> {}
#[diagnostic::do_not_recommend]
impl KnownWhileStaging for Compared<Candidate<1>> {}

impl<T, O> PartialEq<O> for Arr<T>
where
    Compared<O>: KnownWhileStaging,
{
    fn eq(&self, _: &O) -> bool {
        false
    }
}

impl<T, O> PartialOrd<O> for Arr<T>
where
    Compared<O>: KnownWhileStaging,
{
    fn partial_cmp(&self, _: &O) -> Option<Ordering> {
        None
    }
}

/// What stands in brackets after an array.
#[derive(Debug)]
pub struct InBrackets<I>(PhantomData<I>);

/// What brackets take: nothing.
#[diagnostic::on_unimplemented(
    message = "arrays of a staged function are not indexed by brackets",
    label = "write `x.at(i)`, `x.at((i, j))` or `x.slice(s![1.., 0])`",
    note = "brackets give a reference to an element, and there are no elements while a function is \
            staged"
)]
pub trait IndexedByBrackets {}

impl<T, I> Index<I> for Arr<T>
where
    InBrackets<I>: IndexedByBrackets,
{
    type Output = Arr<T>;

    fn index(&self, _: I) -> &Arr<T> {
        self
    }
}

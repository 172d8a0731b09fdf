//! Where library functions make their terms: a builder, the first error, and what is to be said
//! about sizes.

use std::cell::RefCell;

use cotan_array::{Array, Dtype};
use cotan_ir::{Builder, Error, Result, TermId};

use crate::term::Term;

/// What a front end that reasons about sizes should know of a call, in the order in which it was
/// found out. Others ignore it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A size was made that is the sum of others.
    Sum(Vec<usize>),
    /// A size was made that is the product of others.
    Product(Vec<usize>),
    /// The error would not be one if these sizes were equal, pair by pair.
    UnlessEqual(Vec<(usize, usize)>),
    /// The error would not be one if these shapes could be broadcast together.
    UnlessBroadcast(Vec<usize>, Vec<usize>),
    /// The error would not be one if the first shape could be stretched to the second.
    UnlessStretches(Vec<usize>, Vec<usize>),
    /// The error would not be one if both shapes had as many elements.
    UnlessAsMany(Vec<usize>, Vec<usize>),
    /// The error is about the arguments at these parameters.
    Blame(Vec<usize>),
    /// The error is about an axis that is not there.
    BadAxis,
}

/// A builder while library functions use it.
///
/// It is lent out by [`with`](Context::with). Arrays in it are [`Term`]s, which are `Copy` and have
/// operators. What cannot be made is the error of the whole call: the first one is kept, and what
/// follows from it makes nothing.
#[derive(Debug)]
pub struct Context {
    b: RefCell<Builder>,
    error: RefCell<Option<Error>>,
    facts: RefCell<Vec<Fact>>,
}

impl Context {
    /// Runs a function on a builder: what it makes, or the first error, and the facts.
    pub fn with<R>(
        b: &mut Builder,
        f: impl FnOnce(&Context) -> Result<R>,
    ) -> (Result<R>, Vec<Fact>) {
        let context = Context {
            b: RefCell::new(std::mem::take(b)),
            error: RefCell::default(),
            facts: RefCell::default(),
        };
        let made = f(&context);
        *b = context.b.into_inner();
        let result = match context.error.into_inner() {
            Some(error) => Err(error),
            None => made,
        };
        (result, context.facts.into_inner())
    }

    /// Looks at the builder.
    pub(crate) fn read<R>(&self, f: impl FnOnce(&Builder) -> R) -> R {
        f(&self.b.borrow())
    }

    /// Changes the builder; `None` after an error.
    pub(crate) fn change<R>(&self, f: impl FnOnce(&mut Builder) -> Result<R>) -> Option<R> {
        if self.failed() {
            return None;
        }
        let made = f(&mut self.b.borrow_mut());
        made.map_err(|error| self.fail(error)).ok()
    }

    /// Gives up the innermost open region, after an error.
    pub(crate) fn abandon(&self) {
        self.b.borrow_mut().abandon();
    }

    /// The term that the builder makes.
    pub(crate) fn make(&self, f: impl FnOnce(&mut Builder) -> Result<TermId>) -> Term<'_> {
        Term::new(self, self.change(f))
    }

    /// A term of the builder.
    pub fn term(&self, t: TermId) -> Term<'_> {
        Term::new(self, Some(t))
    }

    /// Records an error, unless there is one.
    pub(crate) fn fail(&self, error: Error) -> Term<'_> {
        self.error.borrow_mut().get_or_insert(error);
        Term::new(self, None)
    }

    /// Records a type error. The name of the function that was called is put in by that call.
    pub(crate) fn wrong(&self, message: impl Into<String>, hint: impl Into<String>) -> Term<'_> {
        let (error, hint) = (Error::type_error("", message), hint.into());
        self.fail(if hint.is_empty() { error } else { error.with_hint(hint) })
    }

    /// Whether there is an error.
    pub(crate) fn failed(&self) -> bool {
        self.error.borrow().is_some()
    }

    /// Notes a fact.
    pub(crate) fn note(&self, fact: Fact) {
        if !self.failed() {
            self.facts.borrow_mut().push(fact);
        }
    }

    // ---- leaves -------------------------------------------------------------------------------

    /// A scalar of an element type: floats are rounded to it.
    pub(crate) fn number(&self, x: f64, dtype: Dtype) -> Term<'_> {
        self.make(|b| match dtype {
            Dtype::F64 => b.scalar(x),
            Dtype::F32 => b.scalar(x as f32),
            Dtype::I64 => b.scalar(x as i64),
            Dtype::Bool => b.scalar(x != 0.0),
        })
    }

    /// A scalar integer.
    pub(crate) fn int(&self, x: i64) -> Term<'_> {
        self.make(|b| b.scalar(x))
    }

    /// A literal array.
    pub(crate) fn constant(&self, array: &Array) -> Term<'_> {
        self.make(|b| b.constant(array))
    }

    /// `[0, 1, .., n - 1]`.
    pub(crate) fn iota(&self, n: usize) -> Term<'_> {
        self.make(|b| b.iota(n))
    }

    /// A number at every position of a shape.
    pub(crate) fn full(&self, dims: &[usize], x: f64, dtype: Dtype) -> Term<'_> {
        self.number(x, dtype).replicate_all(dims)
    }
}

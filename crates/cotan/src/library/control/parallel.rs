//! Reductions and scans with an associative operator, in logarithmic depth.

use cotan_ir::{Builder, Param, TermId, Type};
use cotan_library::operator::{self, Operator};

use super::loops::common_length;
use super::replaced;
use crate::arr::{Arr, Operand};
use crate::error::{Error, Result};
use crate::stage::{self, Raw, emit_all, lambda};
use crate::structure::{Arrays, Tree, raws};

/// The combination of each element along the outermost axes of a structure with all before it, by an
/// associative operation: `xs[0], f(xs[0], xs[1]), f(f(xs[0], xs[1]), xs[2]), ..`.
///
/// The same values as a [`scan`](crate::scan) of `f` (but for rounding) with twice the work, in about
/// `2 log2 n` steps that are each parallel: neighbours are combined in pairs, these scanned, and the
/// others made from them. Operators that are nothing but
/// `+`, `*`, `min` or `max` of each part are loops instead. Length 0 is allowed.
///
/// ```
/// use cotan::prelude::*;
///
/// // The recurrence y = a y + b as a scan of affine maps.
/// let f = jit(|a: Arr<f64>, b: Arr<f64>| {
///     associative_scan((a, b), |(a, b), (c, d)| (a * c, b * c + d)).1
/// });
/// assert_eq!(f.call(([0.5, 0.5, 0.5], [8.0, 8.0, 8.0]))?.to_vec(), [8.0, 12.0, 14.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn associative_scan<X: Arrays<Staged = X>>(xs: X, f: impl FnOnce(X, X) -> X) -> X {
    scanned("associative_scan", xs, false, f)
}

/// [`associative_scan`] from the last element back: of each element and those after it, which come
/// second.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| associative_scan_reverse(x, |a, b| a + b + a * b));
/// assert_eq!(f.call([1.0, 2.0, 3.0])?.to_vec(), [23.0, 11.0, 3.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn associative_scan_reverse<X: Arrays<Staged = X>>(xs: X, f: impl FnOnce(X, X) -> X) -> X {
    scanned("associative_scan_reverse", xs, true, f)
}

#[track_caller]
fn scanned<X: Arrays<Staged = X>>(
    name: &'static str,
    xs: X,
    reverse: bool,
    f: impl FnOnce(X, X) -> X,
) -> X {
    stage::operation(name, || {
        combined(name, xs, &[], f, |b, op, _, xs| operator::associative_scan(b, op, xs, reverse))
    })
}

/// All elements along the outermost axes of a structure combined by an associative operation, in
/// their order; `neutral`, its neutral element, where there are none.
///
/// Unlike a [`fold`](crate::fold) it is nested like a balanced tree, of logarithmic depth: neighbours
/// are combined until one is left. Operations that are nothing but `+`, `min` or `max` of each part
/// are sums and extremes. Derivatives of products are right also where factors are 0.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| reduce(1.0, x, |a, b| a * b);
/// let (y, dx) = value_and_grad(f).call([2.0, 0.0, 3.0])?;
/// assert_eq!((y.item(), dx.to_vec()), (Some(0.0), vec![0.0, 6.0, 0.0]));
///
/// // A structure: the largest element, and where it is.
/// let arg_max = jit(|x: Arr<f64>| {
///     reduce((f64::NEG_INFINITY, 0i64), (x, iota(x.len())), |(a, i), (b, j)| {
///         (select(b.gt(a), b, a), select(b.gt(a), j, i))
///     })
/// });
/// let (largest, place) = arg_max.call([1.0, 5.0, 2.0])?;
/// assert_eq!((largest.item(), place.item()), (Some(5.0), Some(1)));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn reduce<X: Arrays<Staged = X>>(
    neutral: impl Neutral<X>,
    xs: X,
    f: impl FnOnce(X, X) -> X,
) -> X {
    stage::operation("reduce", || {
        let neutral = neutral.neutral();
        combined("reduce", xs, &raws(&neutral), f, operator::reduce)
    })
}

/// For each of `n` ids, the combination by an associative operation of `neutral`, its neutral
/// element, and the elements along the outermost axes of a structure that have the id in the vector
/// `ids`, in their order. Elements with other ids are left out. Nothing is sorted.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, ids: Arr<i64>| reduce_by_index(1.0, 2, ids, x, |a, b| a * b));
/// assert_eq!(f.call(([2.0, 3.0, 4.0], [1, 0, 1]))?.to_vec(), [3.0, 8.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn reduce_by_index<X: Arrays<Staged = X>>(
    neutral: impl Neutral<X>,
    n: usize,
    ids: Arr<i64>,
    xs: X,
    f: impl FnOnce(X, X) -> X,
) -> X {
    stage::operation("reduce_by_index", || {
        let neutral = neutral.neutral();
        let mut given = raws(&neutral);
        given.push(ids.raw);
        combined("reduce_by_index", xs, &given, f, |b, op, given, xs| match given {
            [neutral @ .., ids] => operator::reduce_by_index(b, op, neutral, n, *ids, xs),
            [] => Err(cotan_ir::Error::internal("ids are missing")),
        })
    })
}

/// A neutral element as an argument: a structure like the elements, in which numbers may stand for
/// arrays.
pub trait Neutral<X> {
    /// The structure.
    fn neutral(self) -> X;
}

impl<T: crate::Element, O: Operand<T>> Neutral<Arr<T>> for O {
    #[track_caller]
    fn neutral(self) -> Arr<T> {
        self.operand()
    }
}

macro_rules! tuples {
    ($($($x:ident $o:ident),+;)*) => { $(
        impl<$($x, $o: Neutral<$x>),+> Neutral<($($x,)+)> for ($($o,)+) {
            #[track_caller]
            #[allow(non_snake_case, reason = "parts are named like their types")]
            fn neutral(self) -> ($($x,)+) {
                let ($($o,)+) = self;
                ($($o.neutral(),)+)
            }
        }
    )* };
}

tuples! {
    A P, B Q;
    A P, B Q, C R;
    A P, B Q, C R, D S;
}

/// What a function of the library gives for an operator on elements of arrays.
#[track_caller]
fn combined<X: Arrays<Staged = X>>(
    name: &'static str,
    xs: X,
    given: &[Raw],
    f: impl FnOnce(X, X) -> X,
    make: impl FnOnce(&mut Builder, &Operator, &[TermId], &[TermId]) -> cotan_ir::Result<Vec<TermId>>,
) -> X {
    let tree = xs.tree();
    let leaves = raws(&xs);
    let op = common_length(name, &tree.leaves("")).and_then(|_| staged(name, &tree, f));
    let (program, captures) = match op {
        Ok(op) => op,
        Err(error) => {
            stage::fail(error);
            return xs;
        }
    };
    let operands = [&captures[..], given, &leaves].concat();
    let made = emit_all(name, &operands, |b, ts| {
        let (captures, rest) = ts.split_at(captures.len());
        let (given, xs) = rest.split_at(given.len());
        make(b, &Operator { program, captures: captures.to_vec() }, given, xs)
    });
    match made {
        Some(made) => replaced(&tree, made),
        None => xs,
    }
}

/// The operator as a program, and what it captures.
#[track_caller]
fn staged<X: Arrays<Staged = X>>(
    name: &'static str,
    tree: &Tree,
    f: impl FnOnce(X, X) -> X,
) -> Result<(cotan_ir::Program, Vec<Raw>)> {
    let element =
        tree.map_leaves(&mut |ty| Tree::Leaf(Type::new(ty.dtype, ty.shape.drop_outer(1))));
    let one: Vec<Param> = element.leaves("").into_iter().map(|(_, ty)| Param::Value(ty)).collect();
    let region = lambda(name, &[&one[..], &one].concat(), |vars| {
        let (a, b) = vars.split_at(one.len().min(vars.len()));
        let (a, b) = (replaced(&element, a.to_vec()), replaced(&element, b.to_vec()));
        let combined: X = stage::user_code(|| f(a, b));
        if let Some((_, before, after)) = element.difference(&combined.tree(), "") {
            let message = format!("the combination of two {before} is {after}");
            let hint = "it must have the structure and types of what is combined";
            stage::fail(Error::type_error(name, message).with_hint(hint));
        }
        raws(&combined)
    });
    stage::extract(region.ok_or_else(Error::recorded)?)
}

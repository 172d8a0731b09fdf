//! Running functions eagerly: with values at hand, and Rust's own control flow on them.
//!
//! The same functions as are compiled run here on concrete dual arrays. In addition they may ask
//! for values ([`Arr::value`], [`Arr::item`]) and decide by them: loops until convergence,
//! recursion, early returns. Derivatives are those of what was done.
//!
//! ```
//! use cotan::{eager, prelude::*};
//!
//! // Heron's square root, to convergence: its derivative is that of the steps taken.
//! let sqrt = |a: Arr<f64>| -> cotan::Result<Arr<f64>> {
//!     let mut x = a;
//!     while ((x * x - a).abs() / a).item()? > 1e-14 {
//!         x = 0.5 * (x + a / x);
//!     }
//!     Ok(x)
//! };
//! let (y, dy) = eager::value_and_grad(sqrt, 2.0)?;
//! assert!((y.item().unwrap() - 2f64.sqrt()).abs() < 1e-14);
//! assert!((dy.item().unwrap() - 0.5 / 2f64.sqrt()).abs() < 1e-12);
//! # Ok::<(), cotan::Error>(())
//! ```
//!
//! Inside, [`grad`](crate::grad) and its relatives work as everywhere, on functions that ask for
//! values, too; a [`Compiled`](crate::Compiled) function is called by its `apply`. What is inside
//! `build`, `fold` and their like runs for all indices at once, and has no values to ask for.

use cotan_array::Array;

use crate::arr::Arr;
use crate::derive::differentiable;
use crate::element::{Element, Float};
use crate::error::{Error, Result};
use crate::function::{Arg, Choice, Function};
use crate::stage::{self};
use crate::structure::{Arrays, Fed, Feed, Leaves, Tree, raws};
use crate::tensor::Tensor;

impl<T: Element> Arr<T> {
    /// The elements, in a function that runs eagerly.
    #[track_caller]
    pub fn value(self) -> Result<Tensor<T>> {
        let location = std::panic::Location::caller();
        let value = stage::value_of(self.raw).map_err(|error| error.at(location))?;
        Tensor::from_array(value)
    }

    /// The only element, in a function that runs eagerly.
    #[track_caller]
    pub fn item(self) -> Result<T> {
        let location = std::panic::Location::caller();
        let tensor = self.value()?;
        tensor.item().ok_or_else(|| {
            let message = format!("an array of {} elements has no single value", tensor.size());
            let hint = "ask for `value()`, or reduce it first";
            Error::type_error("item", message).with_hint(hint).at(location)
        })
    }
}

/// The result of a run, with its tree.
struct Run<A, R> {
    args: Tree,
    out: Tree,
    finished: stage::Finished,
    types: std::marker::PhantomData<fn(A) -> R>,
}

fn run_eagerly<F, M>(f: &F, fed: &Fed, wrt: &[usize]) -> Result<Run<F::Args, F::Out>>
where
    F: Function<M>,
{
    let (out, finished) = stage::eager(&fed.arrays, wrt, &mut |given| {
        let args = F::Args::unflatten(&fed.tree, &mut Leaves::staged(given.iter().copied()))?;
        let result = f.apply(args)?;
        Ok((result.tree(), raws(&result)))
    })?;
    Ok(Run { args: fed.tree.clone(), out, finished, types: std::marker::PhantomData })
}

/// The leaves of the arguments to differentiate by, which must be floats.
#[track_caller]
fn chosen<F, M, W>(op: &'static str, fed: &Fed) -> Result<(Tree, Vec<usize>)>
where
    F: Function<M>,
    W: Choice<F, M>,
{
    let location = std::panic::Location::caller();
    let (tree, leaves) = W::of(&fed.tree);
    differentiable(op, &fed.tree, &leaves).map_err(|error| error.at(location))?;
    Ok((tree, leaves))
}

/// The results of a function that runs eagerly.
#[track_caller]
pub fn run<F, M>(f: F, args: impl Feed<F::Args>) -> Result<<F::Out as Arrays>::Concrete>
where
    F: Function<M>,
{
    let location = std::panic::Location::caller();
    let fed = args.feed();
    let ran = run_eagerly(&f, &fed, &[]).map_err(|error| error.at(location))?;
    <F::Out as Arrays>::Concrete::unflatten(
        &ran.out,
        &mut Leaves::concrete(ran.finished.results()?),
    )
}

/// The value and the gradient, by the first argument, of a function to a float scalar.
#[track_caller]
#[allow(clippy::type_complexity, reason = "a pair of the value and the structure of the argument")]
pub fn value_and_grad<F, M, T>(
    f: F,
    args: impl Feed<F::Args>,
) -> Result<(Tensor<T>, <<Arg<0> as Choice<F, M>>::Point as Arrays>::Concrete)>
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
    Arg<0>: Choice<F, M>,
{
    value_and_grad_wrt(Arg::<0>, f, args)
}

/// The gradient, by the first argument, of a function to a float scalar.
#[track_caller]
pub fn grad<F, M, T>(
    f: F,
    args: impl Feed<F::Args>,
) -> Result<<<Arg<0> as Choice<F, M>>::Point as Arrays>::Concrete>
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
    Arg<0>: Choice<F, M>,
{
    Ok(value_and_grad_wrt(Arg::<0>, f, args)?.1)
}

/// The value and the gradient by chosen arguments: `Arg::<1>`, a tuple of several, or
/// [`AllArgs`](crate::AllArgs).
#[track_caller]
pub fn value_and_grad_wrt<F, M, W, T>(
    _wrt: W,
    f: F,
    args: impl Feed<F::Args>,
) -> Result<(Tensor<T>, <W::Point as Arrays>::Concrete)>
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
    W: Choice<F, M>,
{
    let location = std::panic::Location::caller();
    let fed = args.feed();
    let (tree, wrt) = chosen::<F, M, W>("grad", &fed)?;
    let ran = run_eagerly(&f, &fed, &wrt).map_err(|error| error.at(location))?;
    let values = ran.finished.results()?;
    let [value] = &values[..] else { return Err(Error::internal("one result is expected")) };
    let value = Tensor::<T>::from_array(value.clone())?;
    if value.rank() > 0 {
        let message = format!("the result must be a float scalar, not {}", ran.out);
        let hint = "sum it, or use `vjp` with a cotangent";
        return Err(Error::type_error("grad", message).with_hint(hint).at(location));
    }
    let gradient = ran.finished.reverse(vec![Array::scalar(T::ONE)])?;
    let point = wrt.iter().filter_map(|&k| gradient.get(k).cloned());
    Ok((value, Arrays::unflatten(&tree, &mut Leaves::concrete(point))?))
}

/// The results, and the product of a cotangent with the Jacobian by the first argument.
#[track_caller]
#[allow(clippy::type_complexity, reason = "a pair of the structures of result and argument")]
pub fn vjp<F, M>(
    f: F,
    args: impl Feed<F::Args>,
    cotangent: impl Feed<F::Out>,
) -> Result<(<F::Out as Arrays>::Concrete, <<Arg<0> as Choice<F, M>>::Point as Arrays>::Concrete)>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
{
    let location = std::panic::Location::caller();
    let (fed, cotangent) = (args.feed(), cotangent.feed());
    let (tree, wrt) = chosen::<F, M, Arg<0>>("vjp", &fed)?;
    let ran = run_eagerly(&f, &fed, &wrt).map_err(|error| error.at(location))?;
    fits("vjp", "cotangent", "result", &ran.out, &cotangent.tree).map_err(|e| e.at(location))?;
    let results = ran.finished.results()?;
    let value = Arrays::unflatten(&ran.out, &mut Leaves::concrete(results))?;
    let gradient = ran.finished.reverse(cotangent.arrays)?;
    let point = wrt.iter().filter_map(|&k| gradient.get(k).cloned());
    Ok((value, Arrays::unflatten(&tree, &mut Leaves::concrete(point))?))
}

/// The results, and the product of the Jacobian by the first argument with a tangent.
#[track_caller]
#[allow(clippy::type_complexity, reason = "a pair of the structure of the result")]
pub fn jvp<F, M>(
    f: F,
    args: impl Feed<F::Args>,
    tangent: impl Feed<<Arg<0> as Choice<F, M>>::Point>,
) -> Result<(<F::Out as Arrays>::Concrete, <F::Out as Arrays>::Concrete)>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
{
    let location = std::panic::Location::caller();
    let (fed, tangent) = (args.feed(), tangent.feed());
    let (tree, wrt) = chosen::<F, M, Arg<0>>("jvp", &fed)?;
    fits("jvp", "tangent", "argument", &tree, &tangent.tree).map_err(|e| e.at(location))?;
    let ran = run_eagerly(&f, &fed, &wrt).map_err(|error| error.at(location))?;
    let mut tangents = vec![None; ran.args.leaf_count()];
    for (&k, t) in wrt.iter().zip(tangent.arrays) {
        if let Some(place) = tangents.get_mut(k) {
            *place = Some(t);
        }
    }
    let results = ran.finished.results()?;
    let value = Arrays::unflatten(&ran.out, &mut Leaves::concrete(results))?;
    let along = ran.finished.forward(tangents)?;
    Ok((value, Arrays::unflatten(&ran.out, &mut Leaves::concrete(along))?))
}

fn fits(op: &str, what: &str, whose: &str, wanted: &Tree, given: &Tree) -> Result<()> {
    match wanted.difference(given, "") {
        None => Ok(()),
        Some((path, wanted, found)) => {
            let part = path.trim_start_matches('.');
            let part = if part.is_empty() { String::new() } else { format!(" `{part}`") };
            let message = format!("a {what} {found} for the {whose}{part}, which is {wanted}");
            Err(Error::type_error(op, message))
        }
    }
}

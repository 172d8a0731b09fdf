//! Functions of which reverse mode keeps little.

use std::fmt;
use std::marker::PhantomData;

use cotan_ir::{Checkpoint, CustomKind, Keep};
use cotan_pipeline::residuals as residuals_of;

use super::custom::custom;
use crate::compile::staged;
use crate::error::Result;
use crate::function::Function;
use crate::jit::{Jit, Via, jit};
use crate::nan::place_of;
use crate::structure::{Shapes, Tree};

/// A function that is computed again by the reverse pass: what [`checkpoint`] gives, inside a [`Jit`].
pub struct Checkpointed<F, M> {
    f: F,
    keep: Keep,
    marker: PhantomData<fn(M)>,
}

impl<F, M> fmt::Debug for Checkpointed<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpointed({:?})", self.keep)
    }
}

/// `f`, of which reverse mode keeps the arguments, and computes again what else it needs. For
/// functions that compute much more than they take and give, such as the blocks of a deep network.
///
/// Values and derivatives, of any order and in both modes, are those of `f`; memory and time change.
/// See [`checkpoint_with`] to keep more, and [`residuals`] for what is kept.
///
/// ```
/// use cotan::prelude::*;
///
/// let block = |x: Arr<f64>, w: Arr<f64>| (0..4).fold(x, |x, _| x.matmul(w).tanh());
/// let deep = |x: Arr<f64>, w: Arr<f64>| (0..8).fold(x, |x, _| block(x, w)).sum();
/// let again = |x: Arr<f64>, w: Arr<f64>| (0..8).fold(x, |x, _| checkpoint(block).at((x, w))).sum();
/// let sizes = ([200, 20], [20, 20]);
/// let (kept, again) = (compile(grad(deep), sizes)?, compile(grad(again), sizes)?);
/// let (x, w) = (Tensor::full([200, 20], 0.5)?, Tensor::full([20, 20], 0.1)?);
/// assert_eq!(kept.call((&x, &w))?, again.call((&x, &w))?);
/// assert!(again.cost().peak_bytes < kept.cost().peak_bytes);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn checkpoint<F, M>(f: F) -> Jit<Checkpointed<F, M>, Via<M>>
where
    F: Function<M>,
{
    checkpoint_with(Keep::Nothing, f)
}

/// [`checkpoint`] that keeps more.
///
/// * [`Keep::Everything`]: whatever the derivative needs, as without a checkpoint.
/// * [`Keep::Contractions`]: the results of sums of products and of factorisations; elementwise
///   operations are computed again.
/// * [`Keep::Bytes`]: what saves the most work among so many bytes. Loops of known length (`fold`,
///   `scan`, `map_accum`, `for_loop`) that would save more are run again from as many states as have
///   room in them.
/// * [`Keep::States`]: of each such loop at most so many states at a time, chosen so that as few
///   steps as possible are run again (binomial checkpointing): with `s` states no step of
///   `binomial(s + r, s)` is run again more than `r` times.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::Keep;
///
/// // Ten states of a thousand steps; each step is run at most three times more.
/// let orbit = |x: Arr<f64>| for_loop(1000, x, |_, x| x + 0.001 * x.cos());
/// let little = move |x: Arr<f64>| checkpoint_with(Keep::States(10), orbit).at(x).sum();
/// let all = move |x: Arr<f64>| orbit(x).sum();
/// let (little, all) = (compile(grad(little), [50])?, compile(grad(all), [50])?);
/// let x = Tensor::full([50], 0.3)?;
/// assert_eq!(little.call(&x)?, all.call(&x)?);
/// assert!(20 * little.cost().peak_bytes < all.cost().peak_bytes);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn checkpoint_with<F, M>(keep: Keep, f: F) -> Jit<Checkpointed<F, M>, Via<M>>
where
    F: Function<M>,
{
    jit(Checkpointed { f, keep, marker: PhantomData })
}

#[diagnostic::do_not_recommend]
impl<F, M> Function<Via<M>> for Checkpointed<F, M>
where
    F: Function<M>,
{
    type Args = F::Args;
    type Out = F::Out;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(&self, args: F::Args) -> Result<F::Out> {
        let kind = CustomKind::Checkpoint(Checkpoint { keep: self.keep, again: false });
        custom::<F, M>("checkpoint", kind, &self.f, &args, &Tree::Node(Vec::new()), |_, _, _| {
            Ok(Vec::new())
        })
    }
}

/// What reverse mode keeps of a function between the forward and the reverse pass: what
/// [`residuals`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Residuals {
    /// The arrays, the largest first.
    pub arrays: Vec<Residual>,
}

/// An array that is kept for the reverse pass.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Residual {
    /// Its type, such as `[3]f64`.
    pub ty: String,
    /// Its size.
    pub bytes: u64,
    /// The operation that makes it, or the argument that it is.
    pub from: String,
    /// The line of that operation, `file:line:column`; empty where it is not known.
    pub place: String,
    /// Whether it is an argument, and there anyway.
    pub is_argument: bool,
}

impl Residuals {
    /// The bytes of all arrays that are not arguments.
    pub fn bytes(&self) -> u64 {
        let made = self.arrays.iter().filter(|array| !array.is_argument);
        made.fold(0, |sum, array| sum.saturating_add(array.bytes))
    }
}

impl fmt::Display for Residuals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for array in &self.arrays {
            let Residual { ty, bytes, from, place, .. } = array;
            let place = if place.is_empty() { String::new() } else { format!(", {place}") };
            writeln!(f, "{bytes:12} bytes {ty:20} {from}{place}")?;
        }
        write!(f, "{} bytes beside the arguments", self.bytes())
    }
}

/// The arrays that reverse mode keeps of a function between the forward and the reverse pass, for
/// derivatives by all its float arguments: how large they are, and which lines make them. It is what
/// the optimised program has; arrays that are cheap to compute from others may be computed again.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::residuals;
///
/// let f = |x: Arr<f64>| x.exp().sin().sum();
/// let kept = residuals(f, [1000])?;
/// assert!(kept.bytes() >= 8000);
/// assert!(kept.to_string().contains("[1000]f64"), "{kept}");
/// let again = residuals(move |x: Arr<f64>| checkpoint(f).at(x), [1000])?;
/// assert_eq!(again.bytes(), 0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn residuals<F, M>(f: F, shapes: impl Shapes<F::Args>) -> Result<Residuals>
where
    F: Function<M>,
{
    let location = std::panic::Location::caller();
    let found = shapes.tree().and_then(|tree| {
        let (_, program) = staged(&f, &tree)?;
        let arrays = residuals_of(&program)?.into_iter().map(|residual| {
            let argument = residual.input.and_then(|k| program.inputs().get(k));
            Residual {
                ty: residual.ty.to_string(),
                bytes: residual.ty.shape.bytes(residual.ty.dtype),
                from: match argument {
                    Some(input) => format!("the argument `{}`", input.name),
                    None => format!("`{}`", residual.op),
                },
                place: match argument {
                    Some(_) => String::new(),
                    None => place_of(&program, residual.span),
                },
                is_argument: argument.is_some(),
            }
        });
        Ok(Residuals { arrays: arrays.collect() })
    });
    found.map_err(|error: crate::error::Error| error.at(location))
}

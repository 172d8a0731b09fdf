//! Functions at each element along axes: `map` and `vmap`.

use std::marker::PhantomData;

use super::loops::common_length;
use super::{element, retyped};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::jit::{Jit, Via, jit};
use crate::sizes::axis_of;
use crate::stage::{self, Raw, emit};
use crate::structure::{Arrays, Leaves, Tree, raws, refilled};

/// `f` at each element along the outermost axes of a structure of arrays, all of one length; of a
/// tuple of arrays, it is a zip.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|rows: Arr<f64>, weights: Arr<f64>| {
///     map((rows, weights), |(row, weight)| weight * row.sum())
/// });
/// let y = f.call(([[1.0, 2.0], [3.0, 4.0]], [10.0, 100.0]))?;
/// assert_eq!(y.to_vec(), [30.0, 700.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn map<X, R>(xs: X, f: impl FnOnce(X) -> R) -> R
where
    X: Arrays<Staged = X>,
    R: Arrays<Staged = R>,
{
    stage::operation("map", || {
        let length = match common_length("map", &xs.tree().leaves("")) {
            Ok(length) => length,
            Err(error) => {
                stage::fail(error);
                return R::nothing();
            }
        };
        crate::build::build(length, |i| {
            let x = element(&xs, i);
            stage::user_code(|| f(x))
        })
    })
}

/// A function at each element along an axis of its arguments: what [`vmap`] gives, inside a [`Jit`].
pub struct Vmap<F, M> {
    f: F,
    /// For each argument the axis that is mapped over, if any. All outermost ones by default.
    in_axes: Option<Vec<Option<i32>>>,
    marker: PhantomData<fn(M)>,
}

impl<F, M> std::fmt::Debug for Vmap<F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vmap({:?})", self.in_axes)
    }
}

/// The function at each element along the outermost axis of all its arguments; the results get a new
/// outermost axis. See [`in_axes`](Jit::in_axes) for arguments that stay the same or have another axis.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| x * x * x;
/// assert_eq!(vmap(f).call([1.0, 2.0])?.to_vec(), [1.0, 8.0]);
/// // The gradient at each of several points.
/// assert_eq!(vmap(grad(f)).call([1.0, 2.0])?.to_vec(), [3.0, 12.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn vmap<F: Function<M>, M>(f: F) -> Jit<Vmap<F, M>, Via<M>> {
    jit(Vmap { f, in_axes: None, marker: PhantomData })
}

impl<F: Function<M>, M> Jit<Vmap<F, M>, Via<M>> {
    /// For each argument the axis that is mapped over; `None` for one that stays the same.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |w: Arr<f64>, x: Arr<f64>| (w * x).sum();
    /// let each = vmap(f).in_axes([None, Some(0)]);
    /// assert_eq!(each.call(([1.0, 10.0], [[1.0, 2.0], [3.0, 4.0]]))?.to_vec(), [21.0, 43.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn in_axes(self, axes: impl IntoIterator<Item = Option<i32>>) -> Self {
        jit(Vmap { in_axes: Some(axes.into_iter().collect()), ..self.into_function() })
    }
}

impl<F: Function<M>, M> Vmap<F, M> {
    /// The axis of each leaf of the arguments that is mapped over.
    fn leaf_axes(&self, args: &Tree) -> Result<Vec<Option<usize>>> {
        let parts: Vec<&Tree> = match args {
            Tree::Node(parts) if F::SEVERAL => parts.iter().map(|(_, part)| part).collect(),
            _ => vec![args],
        };
        let all = vec![Some(0); parts.len()];
        let given = self.in_axes.as_ref().unwrap_or(&all);
        if given.len() != parts.len() {
            let message = format!("{} axes for {} arguments", given.len(), parts.len());
            let hint = "`in_axes` has an axis or `None` for each argument";
            return Err(Error::type_error("vmap", message).with_hint(hint));
        }
        let mut axes = Vec::new();
        for (part, axis) in parts.iter().zip(given) {
            for (_, ty) in part.leaves("") {
                let axis = axis.map(|axis| axis_of("vmap", i64::from(axis), ty.shape.rank()));
                axes.push(axis.transpose()?);
            }
        }
        Ok(axes)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Function<M>, M> Function<Via<M>> for Vmap<F, M> {
    type Args = F::Args;
    type Out = F::Out;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(&self, args: F::Args) -> Result<F::Out> {
        let tree = args.tree();
        let axes = self.leaf_axes(&tree)?;
        let mut leaves = raws(&args);
        for (leaf, axis) in leaves.iter_mut().zip(&axes) {
            if let Some(axis) = *axis {
                *leaf = outermost(*leaf, axis);
            }
        }
        let mapped: Vec<_> = retyped(&tree, &leaves)
            .leaves("")
            .into_iter()
            .zip(&axes)
            .filter_map(|(leaf, axis)| axis.map(|_| leaf))
            .collect();
        if mapped.is_empty() {
            let message = "no argument is mapped over";
            let hint = "at least one entry of `in_axes` must be an axis";
            return Err(Error::type_error("vmap", message).with_hint(hint));
        }
        let length = common_length("vmap", &mapped)?;
        let mut out: Option<Result<F::Out>> = None;
        let built = stage::build_over("vmap", &[length], |vars| {
            let index = vars.first().copied().unwrap_or_default();
            let elements: Vec<Raw> = leaves
                .iter()
                .zip(&axes)
                .map(|(&leaf, axis)| match axis {
                    Some(_) => emit("at", &[leaf, index], |b, ts| b.index(ts[0], &ts[1..])),
                    None => leaf,
                })
                .collect();
            let tree = retyped(&tree, &elements);
            let result = F::Args::unflatten(&tree, &mut Leaves::staged(elements))
                .and_then(|args| stage::user_code(|| self.f.apply(args)));
            let results = result.as_ref().map(raws).unwrap_or_default();
            out = Some(result);
            results
        });
        let out = out.unwrap_or_else(|| Err(Error::internal("a function was not run")))?;
        Ok(refilled(Some(out), Some(built.ok_or_else(Error::recorded)?)))
    }
}

/// The array with one of its axes outermost.
fn outermost(leaf: Raw, axis: usize) -> Raw {
    emit("vmap", &[leaf], |b, ts| {
        let rest = (0..b.shape(ts[0]).rank()).filter(|&k| k != axis);
        let order: Vec<usize> = std::iter::once(axis).chain(rest).collect();
        b.permute(ts[0], &order)
    })
}

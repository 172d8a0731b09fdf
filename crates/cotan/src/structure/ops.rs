//! Arithmetic on structures of tensors: what optimisers calculate with.
//!
//! Only the floats of a structure count: integers and truth values are handed through. An `f32` is
//! calculated with as an `f64` and rounded once.

use cotan_array::{Array, Dtype};

use super::{Arrays, Leaves, concrete_leaves};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// The floats of an array as `f64`; `None` of other element types.
fn floats(array: &Array) -> Option<Vec<f64>> {
    match array.dtype() {
        Dtype::F64 => Some(array.iter::<f64>().into_iter().flatten().collect()),
        Dtype::F32 => Some(array.iter::<f32>().into_iter().flatten().map(f64::from).collect()),
        Dtype::I64 | Dtype::Bool => None,
    }
}

/// An array like another, with other floats.
fn refilled(like: &Array, floats: Vec<f64>) -> Result<Array> {
    let shape = like.shape().clone();
    Ok(match like.dtype() {
        Dtype::F64 => Array::from_vec(shape, floats)?,
        Dtype::F32 => Array::from_vec(shape, floats.into_iter().map(|x| x as f32).collect())?,
        Dtype::I64 | Dtype::Bool => like.clone(),
    })
}

fn with_leaves<P: Arrays<Concrete = P>>(like: &P, arrays: Vec<Array>) -> Result<P> {
    P::unflatten(&like.tree(), &mut Leaves::concrete(arrays))
}

/// Each float of a structure of tensors by a function.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::map_tensors;
///
/// let p = (Tensor::from([1.0, 2.0]), Tensor::from([3i64]));
/// let doubled = map_tensors(&p, |x| 2.0 * x)?;
/// assert_eq!((doubled.0.to_vec(), doubled.1.to_vec()), (vec![2.0, 4.0], vec![3]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn map_tensors<P: Arrays<Concrete = P>>(p: &P, mut f: impl FnMut(f64) -> f64) -> Result<P> {
    let mapped: Result<Vec<Array>> = concrete_leaves(p)
        .into_iter()
        .map(|leaf| match floats(&leaf) {
            Some(floats) => refilled(&leaf, floats.into_iter().map(&mut f).collect()),
            None => Ok(leaf),
        })
        .collect();
    with_leaves(p, mapped?)
}

/// The floats of two structures of tensors, which must be of the same shapes, by a function. The
/// rest is that of the first.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::zip_tensors;
///
/// let (p, dp) = (Tensor::from([1.0, 2.0]), Tensor::from([0.5, -0.5]));
/// assert_eq!(zip_tensors(&p, &dp, |x, dx| x - 0.1 * dx)?.to_vec(), [0.95, 2.05]);
/// assert!(zip_tensors(&p, &Tensor::from([1.0]), |x, _| x).is_err());
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn zip_tensors<P: Arrays<Concrete = P>>(
    p: &P,
    q: &P,
    mut f: impl FnMut(f64, f64) -> f64,
) -> Result<P> {
    expect_same("zip_tensors", p, q)?;
    let pairs = concrete_leaves(p).into_iter().zip(concrete_leaves(q));
    let zipped: Result<Vec<Array>> = pairs
        .map(|(a, b)| match (floats(&a), floats(&b)) {
            (Some(x), Some(y)) => {
                refilled(&a, x.into_iter().zip(y).map(|(x, y)| f(x, y)).collect())
            }
            _ => Ok(a),
        })
        .collect();
    with_leaves(p, zipped?)
}

/// Checks that two structures are of the same shapes.
pub(crate) fn expect_same<P: Arrays>(op: &str, p: &P, q: &P) -> Result<()> {
    let Some((path, first, second)) = p.tree().difference(&q.tree(), "") else { return Ok(()) };
    let place = match path.trim_start_matches('.') {
        "" => String::new(),
        path => format!(" at `{path}`"),
    };
    let message = format!("structures that do not fit{place}: {first} and {second}");
    Err(Error::type_error(op, message)
        .with_hint("a gradient, and the state of an optimiser, has the shapes of the parameters"))
}

/// The sum of the products of the floats of two structures of the same shapes.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::dot_tensors;
///
/// let p = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
/// assert_eq!(dot_tensors(&p, &p)?, 14.0);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn dot_tensors<P: Arrays<Concrete = P>>(p: &P, q: &P) -> Result<f64> {
    expect_same("dot_tensors", p, q)?;
    Ok(flat_floats(p).into_iter().zip(flat_floats(q)).map(|(x, y)| x * y).sum())
}

/// Whether no float of a structure is infinite or NaN.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::all_finite;
///
/// assert!(all_finite(&Tensor::from([1.0, 2.0])));
/// assert!(!all_finite(&(Tensor::from(1.0), Tensor::from(f64::NAN))));
/// ```
pub fn all_finite<P: Arrays<Concrete = P>>(p: &P) -> bool {
    flat_floats(p).into_iter().all(f64::is_finite)
}

/// The floats of a structure, one after the other: a vector for methods that know only vectors. The
/// way back is [`with_floats`].
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::{flat_floats, with_floats};
///
/// let p = vec![Tensor::from([1.0, 2.0]), Tensor::from(3.0)];
/// assert_eq!(flat_floats(&p), [1.0, 2.0, 3.0]);
/// assert_eq!(with_floats(&p, &[4.0, 5.0, 6.0])?, [Tensor::from([4.0, 5.0]), Tensor::from(6.0)]);
/// assert!(with_floats(&p, &[4.0]).is_err());
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn flat_floats<P: Arrays<Concrete = P>>(p: &P) -> Vec<f64> {
    concrete_leaves(p).iter().filter_map(floats).flatten().collect()
}

/// A structure like another, with other floats, in the order of [`flat_floats`].
pub fn with_floats<P: Arrays<Concrete = P>>(like: &P, elements: &[f64]) -> Result<P> {
    let leaves = concrete_leaves(like);
    let is_float = |leaf: &&Array| leaf.dtype().is_float();
    let wanted: usize = leaves.iter().filter(is_float).map(Array::numel).sum();
    if wanted != elements.len() {
        let message = format!("{} floats for a structure of {wanted}", elements.len());
        return Err(Error::type_error("with_floats", message));
    }
    let mut rest = elements.iter().copied();
    let filled: Result<Vec<Array>> = leaves
        .into_iter()
        .map(|leaf| match leaf.dtype().is_float() {
            true => refilled(&leaf, rest.by_ref().take(leaf.numel()).collect()),
            false => Ok(leaf),
        })
        .collect();
    with_leaves(like, filled?)
}

/// The scalar that an objective gives: a float, or a tensor of one.
pub trait ScalarValue {
    /// Its value; `None` of a tensor of several elements.
    fn value(&self) -> Option<f64>;
}

impl ScalarValue for f64 {
    fn value(&self) -> Option<f64> {
        Some(*self)
    }
}

impl ScalarValue for Tensor<f64> {
    fn value(&self) -> Option<f64> {
        self.item()
    }
}

impl ScalarValue for Tensor<f32> {
    fn value(&self) -> Option<f64> {
        self.item().map(f64::from)
    }
}

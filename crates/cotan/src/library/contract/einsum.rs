//! `einsum`: sums of products in the notation of Einstein.

use crate::arr::Arr;
use crate::element::Number;
use crate::library::call::library;

/// Sums of products: each operand names its axes by letters, equal letters run together, and
/// letters that the result does not name are summed.
///
/// As in numpy: `...` stands for any number of leading or inner axes, which are broadcast; a letter
/// twice in one operand is a diagonal; without `->` the result has `...` and then the letters that
/// stand once, in alphabetical order. Spaces do not count. Operands are multiplied from the left, two
/// at a time: of several, write those first that make the smallest intermediate arrays.
///
/// ```
/// use cotan::prelude::*;
///
/// let a = [[1.0, 2.0], [3.0, 4.0]];
/// let product = jit(|a: Arr<f64>, b: Arr<f64>| einsum("ij,jk->ik", &[a, b]));
/// assert_eq!(product.call((a, a))?.to_vec(), [7.0, 10.0, 15.0, 22.0]);
/// assert_eq!(jit(|a: Arr<f64>| einsum("ii", &[a])).call(a)?, 5.0);
/// assert_eq!(jit(|a: Arr<f64>| einsum("ij->ji", &[a])).call(a)?.to_vec(), [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn einsum<T: Number>(subscripts: &str, operands: &[Arr<T>]) -> Arr<T> {
    library!("einsum", einsum(subscripts = subscripts, a = operands))
}

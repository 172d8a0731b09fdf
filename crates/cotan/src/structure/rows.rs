//! Rows of structures: what a minibatch is made of.

use cotan_array::{Array, Dtype};

use super::{Arrays, Leaves, concrete_leaves};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// The outermost size that all arrays of a structure have: the number of examples in a data set.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::row_count;
///
/// let (x, y) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([0, 1]));
/// assert_eq!(row_count(&(x.clone(), y))?, 2);
/// let error = row_count(&(x, Tensor::from([0, 1, 2]))).unwrap_err();
/// assert!(error.message().contains("`1` is [3]i64, but `0` has 2 rows"));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn row_count<P: Arrays<Concrete = P>>(p: &P) -> Result<usize> {
    let mut found: Option<(String, usize)> = None;
    for (path, ty) in p.tree().leaves("") {
        let Some(&rows) = ty.shape.dims().first() else {
            let message = format!("`{path}` is {ty}, which has no rows");
            return Err(Error::type_error("row_count", message)
                .with_hint("every array of a data set has the examples along its first axis"));
        };
        match &found {
            Some((first, wanted)) if rows != *wanted => {
                let message = format!("`{path}` is {ty}, but `{first}` has {wanted} rows");
                return Err(Error::type_error("row_count", message).with_hint(
                    "every array of a data set has as many rows as there are examples",
                ));
            }
            Some(_) => {}
            None => found = Some((path, rows)),
        }
    }
    match found {
        Some((_, rows)) => Ok(rows),
        None => Err(Error::type_error("row_count", "a structure without arrays has no rows")),
    }
}

/// The rows at the given positions of every array of a structure. A position outside is an error.
///
/// ```
/// use cotan::Tensor;
/// use cotan::structure::take_rows;
///
/// let data = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([7, 8]));
/// let (x, y) = take_rows(&data, &[1, 1, 0])?;
/// assert_eq!(x, Tensor::from([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]));
/// assert_eq!(y, Tensor::from([8, 8, 7]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn take_rows<P: Arrays<Concrete = P>>(p: &P, positions: &[usize]) -> Result<P> {
    let taken: Result<Vec<Array>> =
        concrete_leaves(p).into_iter().map(|leaf| rows_of(leaf, positions)).collect();
    let taken = taken.map_err(|error| error.renamed("take_rows"))?;
    let mut shapes = taken.iter().map(cotan_ir::Type::of);
    let tree = p
        .tree()
        .map_leaves(&mut |ty| super::Tree::Leaf(shapes.next().unwrap_or_else(|| ty.clone())));
    P::unflatten(&tree, &mut Leaves::concrete(taken))
}

fn rows_of(leaf: Array, positions: &[usize]) -> Result<Array> {
    fn typed<T: Element>(leaf: Array, positions: &[usize]) -> Result<Array> {
        Ok(Tensor::<T>::from_array(leaf)?.take(positions, 0)?.as_array().clone())
    }
    match leaf.dtype() {
        Dtype::F64 => typed::<f64>(leaf, positions),
        Dtype::F32 => typed::<f32>(leaf, positions),
        Dtype::I64 => typed::<i64>(leaf, positions),
        Dtype::Bool => typed::<bool>(leaf, positions),
    }
}

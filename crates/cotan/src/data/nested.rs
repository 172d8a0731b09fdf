//! Tensors of nested vectors.

use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Tensor;

/// The elements of rows that have to be equally long, and how long. `name` is that of a row.
fn joined<T>(rows: Vec<Vec<T>>, name: impl Fn(usize) -> String) -> Result<(Vec<T>, usize)> {
    let length = rows.first().map_or(0, Vec::len);
    let mut elements = Vec::new();
    for (n, row) in rows.into_iter().enumerate() {
        if row.len() != length {
            let found = row.len();
            let message = format!("{} has length {found}, {} has {length}", name(n), name(0));
            let hint = "the rows of an array are equally long: pad the shorter ones";
            return Err(Error::new(ErrorKind::Data, "tensor", message).with_hint(hint));
        }
        elements.extend(row);
    }
    Ok((elements, length))
}

/// Of rows that are equally long; of none, the shape is `[0, 0]`.
///
/// ```
/// use cotan::Tensor;
///
/// let a = Tensor::try_from(vec![vec![1.0, 2.0], vec![3.0, 4.0]])?;
/// assert_eq!(a, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
/// let ragged = Tensor::try_from(vec![vec![1.0, 2.0], vec![3.0]]).unwrap_err();
/// assert!(ragged.to_string().contains("row 1 has length 1, row 0 has 2"));
/// # Ok::<(), cotan::Error>(())
/// ```
impl<T: Element> TryFrom<Vec<Vec<T>>> for Tensor<T> {
    type Error = Error;

    fn try_from(rows: Vec<Vec<T>>) -> Result<Tensor<T>> {
        let n = rows.len();
        let (elements, k) = joined(rows, |n| format!("row {n}"))?;
        Tensor::new([n, k], elements)
    }
}

/// Of equally many rows that are equally long; what is empty has size 0 along all further axes.
impl<T: Element> TryFrom<Vec<Vec<Vec<T>>>> for Tensor<T> {
    type Error = Error;

    fn try_from(parts: Vec<Vec<Vec<T>>>) -> Result<Tensor<T>> {
        let n = parts.len();
        let m = parts.first().map_or(0, Vec::len);
        if let Some((at, part)) = parts.iter().enumerate().find(|(_, part)| part.len() != m) {
            let message = format!("part {at} has {} rows, part 0 has {m}", part.len());
            let hint = "the parts of an array have equally many rows: pad the shorter ones";
            return Err(Error::new(ErrorKind::Data, "tensor", message).with_hint(hint));
        }
        let rows = parts.into_iter().flatten().collect();
        let (elements, k) = joined(rows, |n| format!("row {} of part {}", n % m, n / m))?;
        Tensor::new([n, m, k], elements)
    }
}

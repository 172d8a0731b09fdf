//! Shapes whose products cannot overflow.

use std::fmt;

use smallvec::SmallVec;

use crate::{ArrayError, Dtype};

/// The largest number of axes of an array.
pub const MAX_RANK: usize = 64;

/// The sizes of an array's axes, outermost first.
///
/// Invariant: at most [`MAX_RANK`] axes, and the number of elements times eight fits in `i64`,
/// so that element and byte counts of any element type never overflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shape {
    /// Two sizes in place: programs hold a shape, or room for one, in every node.
    dims: SmallVec<[usize; 2]>,
}

impl Shape {
    /// The shape of a scalar: no axes, one element.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// A checked shape; `op` names the asking operation in the error.
    ///
    /// The product is taken over the non-zero sizes, so that no reordering or
    /// partial product of an accepted shape overflows either, also when it is empty.
    pub fn new(op: &'static str, dims: &[usize]) -> Result<Shape, ArrayError> {
        if dims.len() > MAX_RANK {
            return Err(ArrayError::RankTooLarge { op, rank: dims.len() });
        }
        let shape = Shape { dims: SmallVec::from_slice(dims) };
        let product = dims.iter().filter(|&&k| k != 0).try_fold(8usize, |n, &k| n.checked_mul(k));
        match product {
            Some(bytes) if i64::try_from(bytes).is_ok() => Ok(shape),
            _ => Err(ArrayError::TooLarge {
                op,
                shape,
                dtype: Dtype::F64,
                bytes: None,
                limit: i64::MAX as u64,
            }),
        }
    }

    /// A shape from sizes known to satisfy the invariant: those of another shape in another
    /// order, or made smaller.
    pub(crate) fn trusted(dims: SmallVec<[usize; 2]>) -> Shape {
        Shape { dims }
    }

    /// The sizes, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.dims.iter().product()
    }

    /// The number of bytes of an array of this shape.
    pub fn bytes(&self, dtype: Dtype) -> u64 {
        self.numel() as u64 * dtype.size() as u64
    }

    /// This shape, if an array of it stays within `limit` bytes.
    pub fn within(self, op: &'static str, dtype: Dtype, limit: u64) -> Result<Shape, ArrayError> {
        let bytes = self.bytes(dtype);
        if bytes <= limit {
            return Ok(self);
        }
        Err(ArrayError::TooLarge { op, shape: self, dtype, bytes: Some(bytes), limit })
    }

    /// `k ::: sh`, the shape with one more outermost axis.
    pub fn cons(&self, op: &'static str, k: usize) -> Result<Shape, ArrayError> {
        Shape::join(op, &[k], &self.dims)
    }

    /// The concatenation of two lists of sizes.
    pub fn join(op: &'static str, outer: &[usize], inner: &[usize]) -> Result<Shape, ArrayError> {
        let dims: SmallVec<[usize; 2]> = outer.iter().chain(inner).copied().collect();
        Shape::new(op, &dims)
    }

    /// The shape without its `n` outermost axes (all of them when there are fewer).
    pub fn drop_outer(&self, n: usize) -> Shape {
        Shape { dims: self.dims.iter().skip(n).copied().collect() }
    }

    /// Row-major strides, in elements.
    pub fn strides(&self) -> SmallVec<[usize; 4]> {
        let mut strides = SmallVec::from_elem(0, self.rank());
        let mut step = 1usize;
        for (s, &k) in strides.iter_mut().zip(&self.dims).rev() {
            *s = step;
            step *= k.max(1);
        }
        strides
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[")?;
        for (n, k) in self.dims.iter().enumerate() {
            write!(f, "{}{k}", if n == 0 { "" } else { ", " })?;
        }
        write!(f, "]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_checked_also_when_a_size_is_zero() {
        let half = 1usize << 31;
        assert!(Shape::new("t", &[half, half / 4 - 1]).is_ok());
        assert!(Shape::new("t", &[half, half / 4]).is_err());
        assert!(Shape::new("t", &[half, half, 0]).is_err());
        assert!(Shape::new("t", &[usize::MAX]).is_err());
        assert!(Shape::new("t", &[0, 0]).is_ok());
        let e = Shape::new("make", &[usize::MAX, 2]).unwrap_err().to_string();
        assert!(e.starts_with("make: an array of shape [18446744073709551615, 2]"), "{e}");
    }

    #[test]
    fn ranks_are_bounded() {
        assert!(Shape::new("t", &[1; MAX_RANK]).is_ok());
        let e = Shape::new("t", &[1; MAX_RANK + 1]).unwrap_err().to_string();
        assert_eq!(e, "t: 65 axes; at most 64 are allowed");
    }

    #[test]
    fn a_limit_is_exact() {
        let sh = Shape::new("t", &[4, 4]).unwrap();
        assert!(sh.clone().within("t", Dtype::F64, 128).is_ok());
        let e = sh.within("t", Dtype::F64, 127).unwrap_err().to_string();
        assert_eq!(e, "t: an array of shape [4, 4] of f64 needs 128 bytes; the limit is 127");
    }

    #[test]
    fn strides_are_row_major() {
        let sh = Shape::new("t", &[2, 3, 4]).unwrap();
        assert_eq!(sh.strides().as_slice(), [12, 4, 1]);
        assert_eq!(sh.drop_outer(1).dims(), [3, 4]);
        assert_eq!(sh.cons("t", 5).unwrap().dims(), [5, 2, 3, 4]);
        assert_eq!(sh.to_string(), "[2, 3, 4]");
        assert_eq!(Shape::scalar().to_string(), "[]");
    }
}

//! Shapes and axes as arguments.

use crate::error::{Error, Result};

/// A shape as an argument: a size, an array, slice or vector of sizes, or `()` for a scalar.
pub trait Sizes {
    /// The sizes, outermost first.
    fn sizes(self) -> Vec<usize>;
}

impl Sizes for () {
    fn sizes(self) -> Vec<usize> {
        Vec::new()
    }
}

impl Sizes for usize {
    fn sizes(self) -> Vec<usize> {
        vec![self]
    }
}

impl<const R: usize> Sizes for [usize; R] {
    fn sizes(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl<const R: usize> Sizes for &[usize; R] {
    fn sizes(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl Sizes for &[usize] {
    fn sizes(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl Sizes for Vec<usize> {
    fn sizes(self) -> Vec<usize> {
        self
    }
}

impl Sizes for &Vec<usize> {
    fn sizes(self) -> Vec<usize> {
        self.clone()
    }
}

/// Axes as an argument: one, or an array, slice or vector of them. Negative ones count from the
/// end.
pub trait Axes {
    /// The axes as they were given.
    fn axes(self) -> Vec<i64>;
}

impl Axes for i32 {
    fn axes(self) -> Vec<i64> {
        vec![i64::from(self)]
    }
}

impl Axes for usize {
    fn axes(self) -> Vec<i64> {
        vec![i64::try_from(self).unwrap_or(i64::MAX)]
    }
}

impl<const R: usize> Axes for [i32; R] {
    fn axes(self) -> Vec<i64> {
        self.iter().copied().map(i64::from).collect()
    }
}

impl Axes for &[i32] {
    fn axes(self) -> Vec<i64> {
        self.iter().copied().map(i64::from).collect()
    }
}

impl Axes for &[usize] {
    fn axes(self) -> Vec<i64> {
        self.iter().map(|&axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect()
    }
}

impl Axes for &[i64] {
    fn axes(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl Axes for Vec<i32> {
    fn axes(self) -> Vec<i64> {
        self.into_iter().map(i64::from).collect()
    }
}

/// The axis of an array of `rank` axes.
pub(crate) fn axis_of(op: &str, axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis.saturating_add_unsigned(rank as u64) } else { axis };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(|| {
        let axes = if rank == 1 { "axis" } else { "axes" };
        let message = format!("there is no axis {axis} in {rank} {axes}");
        let hint = match rank {
            0 => "a scalar has none".to_owned(),
            1 => "the only axis is 0, or -1 from the end".to_owned(),
            _ => format!("axes are 0 to {}, or -{rank} to -1 from the end", rank - 1),
        };
        Error::type_error(op, message).with_hint(hint)
    })
}

/// Different axes of an array of `rank` axes, in the order given.
pub(crate) fn axes_of(op: &str, axes: impl Axes, rank: usize) -> Result<Vec<usize>> {
    let mut chosen = Vec::new();
    for axis in axes.axes() {
        let axis = axis_of(op, axis, rank)?;
        if chosen.contains(&axis) {
            return Err(Error::type_error(op, format!("axis {axis} is named twice")));
        }
        chosen.push(axis);
    }
    Ok(chosen)
}

//! Positions along an axis as arguments, and elements by their indices.

use std::ops::{Index, IndexMut, Range};

use super::Tensor;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};

/// Positions to take from an axis: a tensor of `i64`, or an array, slice, vector or range of
/// integers.
pub trait Positions {
    /// The positions, and the shape in which they stand.
    fn positions(self) -> (Vec<i64>, Vec<usize>);
}

impl Positions for &Tensor<i64> {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        (self.to_vec(), self.shape().to_vec())
    }
}

impl Positions for Tensor<i64> {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        (&self).positions()
    }
}

fn listed<I: TryInto<i64> + Copy>(positions: &[I]) -> (Vec<i64>, Vec<usize>) {
    // What no i64 holds is beyond any axis.
    let all = positions.iter().map(|&i| i.try_into().unwrap_or(i64::MAX)).collect();
    (all, vec![positions.len()])
}

impl<I: TryInto<i64> + Copy> Positions for &[I] {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        listed(self)
    }
}

impl<I: TryInto<i64> + Copy, const N: usize> Positions for [I; N] {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        listed(&self)
    }
}

impl<I: TryInto<i64> + Copy, const N: usize> Positions for &[I; N] {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        listed(self)
    }
}

impl<I: TryInto<i64> + Copy> Positions for Vec<I> {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        listed(&self)
    }
}

impl<I: TryInto<i64> + Copy> Positions for &Vec<I> {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        listed(self)
    }
}

impl Positions for Range<usize> {
    fn positions(self) -> (Vec<i64>, Vec<usize>) {
        let all = self.map(|i| i64::try_from(i).unwrap_or(i64::MAX)).collect::<Vec<_>>();
        let count = all.len();
        (all, vec![count])
    }
}

/// Positions that all lie on an axis of size `k`.
pub(super) fn on_axis(
    op: &str,
    positions: Vec<i64>,
    k: usize,
    what: impl Fn() -> String,
) -> Result<Vec<usize>> {
    let on = |i: i64| usize::try_from(i).ok().filter(|&i| i < k);
    let outside = |i: i64| {
        let error =
            Error::new(ErrorKind::Data, op, format!("there is no position {i} on {}", what()));
        match i {
            ..0 => error.with_hint("positions do not count from the end; `slice` has ones that do"),
            0.. => {
                error.with_hint(format!("the size of the axis is {k}, and positions count from 0"))
            }
        }
    };
    positions.into_iter().map(|i| on(i).ok_or_else(|| outside(i))).collect()
}

#[track_caller]
#[allow(clippy::panic, reason = "as the indices of slices do; `get` does not")]
fn missing(ix: &[usize], shape: &[usize]) -> ! {
    panic!("there is no element {ix:?} in a tensor of shape {shape:?}");
}

/// `x[[i, j]]`: the element at an index. Panics outside the shape; [`Tensor::get`] does not.
impl<T: Element, const R: usize> Index<[usize; R]> for Tensor<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, ix: [usize; R]) -> &T {
        match self.array.get_ref(&ix) {
            Some(element) => element,
            None => missing(&ix, self.shape()),
        }
    }
}

/// `x[i]`: an element of a tensor of one axis. Panics outside of it.
impl<T: Element> Index<usize> for Tensor<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, i: usize) -> &T {
        &self[[i]]
    }
}

/// `x[[i, j]] = y`. Panics outside the shape. Elements that another tensor shares are copied first.
impl<T: Element, const R: usize> IndexMut<[usize; R]> for Tensor<T> {
    #[track_caller]
    fn index_mut(&mut self, ix: [usize; R]) -> &mut T {
        let shape = self.shape().to_vec();
        let inside = ix.len() == shape.len() && ix.iter().zip(&shape).all(|(i, k)| i < k);
        let place = ix.iter().zip(&shape).fold(0, |place, (&i, &k)| place * k + i);
        match self.as_mut_slice().get_mut(place) {
            Some(element) if inside => element,
            _ => missing(&ix, &shape),
        }
    }
}

/// `x[i] = y`, of a tensor of one axis. Panics outside of it.
impl<T: Element> IndexMut<usize> for Tensor<T> {
    #[track_caller]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self[[i]]
    }
}

//! Parts and other arrangements of tensors. Most are views, which copy nothing.

use cotan_array::{Array, Shape};
use cotan_ir::Type;

use super::Tensor;
use super::positions::{Positions, on_axis};
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::library::{Part, Plan, Slice};
use crate::sizes::{Axes, Sizes, axes_of};

/// One axis as an argument.
pub(super) fn one_axis(op: &str, axis: impl Axes, rank: usize) -> Result<usize> {
    match *axes_of(op, axis, rank)? {
        [axis] => Ok(axis),
        ref several => {
            Err(Error::type_error(op, format!("one axis is needed, not {}", several.len())))
        }
    }
}

impl<T: Element> Tensor<T> {
    /// The shape and element type, as messages show them.
    pub(super) fn described(&self) -> String {
        Type::of(&self.array).to_string()
    }

    /// A view, or a copy, of this tensor's elements.
    fn viewed(
        &self,
        view: impl FnOnce(&Array) -> std::result::Result<Array, cotan_array::ArrayError>,
    ) -> Result<Tensor<T>> {
        Ok(Tensor::wrap(view(&self.array)?))
    }

    /// The outermost size: the number of rows. A scalar counts as one row.
    pub fn len(&self) -> usize {
        self.shape().first().copied().unwrap_or(1)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// The part at position `i` of the outermost axis, which it does not have any more.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.row(1)?, Tensor::from([3.0, 4.0]));
    /// assert!(a.row(2).unwrap_err().message().contains("there is no row 2 in [2, 2]f64"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn row(&self, i: usize) -> Result<Tensor<T>> {
        let inside = self.rank() > 0 && i < self.len();
        if !inside {
            let message = format!("there is no row {i} in {}", self.described());
            return Err(Error::new(ErrorKind::Data, "row", message));
        }
        self.viewed(|array| array.row(i))
    }

    /// The parts along the outermost axis, one after the other; of a scalar, itself.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let sums: Vec<f64> = a.rows().map(|row| row.sum()).collect();
    /// assert_eq!(sums, [3.0, 7.0]);
    /// ```
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Tensor<T>> + '_ {
        (0..self.len()).map(|i| self.row(i).unwrap_or_else(|_| self.clone()))
    }

    /// Blocks of `size` rows (at least one), the last one of those that are left: minibatches, in
    /// order.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let blocks: Vec<_> = Tensor::from([1, 2, 3, 4, 5]).chunks(2).collect();
    /// assert_eq!(blocks, [Tensor::from([1, 2]), Tensor::from([3, 4]), Tensor::from([5])]);
    /// ```
    pub fn chunks(&self, size: usize) -> impl ExactSizeIterator<Item = Tensor<T>> + '_ {
        let (rows, size) = (self.len(), size.max(1));
        (0..rows.div_ceil(size)).map(move |n| {
            let (start, end) = (n * size, rows.min(n.saturating_add(1).saturating_mul(size)));
            // A scalar is the only row it has.
            self.viewed(|array| array.slice(0, start, end - start, 1))
                .unwrap_or_else(|_| self.clone())
        })
    }

    /// A part of the tensor, given for each axis by [`s!`](crate::s!), as
    /// [`Arr::slice`](crate::Arr::slice) takes it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let a = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// assert_eq!(a.slice(s![.., -1])?, Tensor::from([3.0, 6.0]));
    /// assert_eq!(a.slice(s![..; -1, ..2])?, Tensor::from([[4.0, 5.0], [1.0, 2.0]]));
    /// assert!(a.slice(s![2]).unwrap_err().message().contains("there is no position 2"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn slice(&self, slices: impl AsRef<[Slice]>) -> Result<Tensor<T>> {
        let plan = Plan::new("slice", self.shape(), &self.described(), slices.as_ref())?;
        let mut array = self.array.clone();
        let mut axis = 0;
        for part in &plan.parts {
            match *part {
                Part::Run { start, step, size } => {
                    // A run of none may begin anywhere.
                    let start = if size == 0 { 0 } else { usize::try_from(start).unwrap_or(0) };
                    let step = isize::try_from(step).unwrap_or(1);
                    array = array.slice(axis, start, size, if size > 1 { step } else { 1 })?;
                    axis += 1;
                }
                Part::At(i) => {
                    let i = usize::try_from(i).unwrap_or(0);
                    array = fronted(&array.slice(axis, i, 1, 1)?, axis)?.row(0)?;
                }
                Part::Index(_) => {
                    let message = "a position that is an `Arr`";
                    return Err(Error::new(ErrorKind::Scope, "slice", message)
                        .with_hint("the positions of a tensor's slice are Rust's integers"));
                }
            }
        }
        Ok(Tensor::wrap(array.reshape(Shape::new("slice", &plan.dims)?)?))
    }

    /// The parts at the given positions of an axis, which is replaced by the axes of the positions:
    /// `x.take(&order, 0)` are the rows in another order. A position outside is an error.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// assert_eq!(a.take([2, 0], 0)?, Tensor::from([[5.0, 6.0], [1.0, 2.0]]));
    /// assert_eq!(a.take(&Tensor::from(1), 1)?, Tensor::from([2.0, 4.0, 6.0]));
    /// let error = a.take([3], 0).unwrap_err();
    /// assert_eq!(error.message(), "there is no position 3 on axis 0 of [3, 2]f64");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "gather")]
    #[doc(alias = "select")]
    pub fn take(&self, positions: impl Positions, axis: impl Axes) -> Result<Tensor<T>> {
        let axis = one_axis("take", axis, self.rank())?;
        let (positions, sizes) = positions.positions();
        let (outer, rest) = self.shape().split_at(axis);
        let (k, inner) = rest.split_first().map_or((0, rest), |(&k, inner)| (k, inner));
        let place = || format!("axis {axis} of {}", self.described());
        let positions = on_axis("take", positions, k, place)?;
        let dims = [outer, &sizes, inner].concat();
        let shape = Shape::new("take", &dims)?;
        let source = self.array.contiguous()?;
        let source: &[T] = source.as_slice().unwrap_or_default();
        let block: usize = inner.iter().product();
        let mut elements = Vec::with_capacity(shape.numel());
        for plane in source.chunks(k.saturating_mul(block).max(1)) {
            for &i in &positions {
                elements
                    .extend_from_slice(plane.get(i * block..(i + 1) * block).unwrap_or_default());
            }
        }
        Tensor::new(dims, elements)
    }

    /// The rows for which a mask of one axis holds.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let (x, y) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([0, 1]));
    /// assert_eq!(x.filter(&y.equal(1)?)?, Tensor::from([[3.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn filter(&self, mask: &Tensor<bool>) -> Result<Tensor<T>> {
        if self.rank() == 0 || mask.shape() != [self.len()] {
            let message = format!("a mask {} for {}", mask.described(), self.described());
            let hint = "a mask has one axis, and an element for each row";
            return Err(Error::type_error("filter", message).with_hint(hint));
        }
        let kept: Vec<usize> =
            mask.iter().enumerate().filter(|&(_, holds)| holds).map(|(i, _)| i).collect();
        self.take(kept, 0)
    }

    /// The same elements in row-major order under another shape of as many.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let a = Tensor::from([1, 2, 3, 4]).reshape([2, 2])?;
    /// assert_eq!(a, Tensor::from([[1, 2], [3, 4]]));
    /// let error = a.reshape([3]).unwrap_err();
    /// assert_eq!(error.message(), "the 4 elements of [2, 2]i64 do not fill the shape [3]");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn reshape(&self, sizes: impl Sizes) -> Result<Tensor<T>> {
        let shape = Shape::new("reshape", &sizes.sizes())?;
        if shape.numel() != self.size() {
            let (count, own) = (self.size(), self.described());
            let message = format!("the {count} elements of {own} do not fill the shape {shape}");
            return Err(Error::type_error("reshape", message));
        }
        self.viewed(|array| array.reshape(shape))
    }

    /// All elements along one axis.
    pub fn flatten(&self) -> Tensor<T> {
        self.reshape(self.size()).unwrap_or_else(|_| self.clone())
    }

    /// The axes in reverse order: of a matrix, its transpose.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).transpose(), Tensor::from([[1, 3], [2, 4]]));
    /// ```
    pub fn transpose(&self) -> Tensor<T> {
        let order: Vec<usize> = (0..self.rank()).rev().collect();
        self.viewed(|array| array.transpose(&order)).unwrap_or_else(|_| self.clone())
    }

    /// The axes in another order: axis `n` of the result is axis `axes[n]`. All axes are named,
    /// each once.
    pub fn permute(&self, axes: impl Axes) -> Result<Tensor<T>> {
        let order = axes_of("permute", axes, self.rank())?;
        if order.len() != self.rank() {
            let message = format!("an order of {} axes for {}", order.len(), self.described());
            return Err(Error::type_error("permute", message).with_hint("name every axis once"));
        }
        self.viewed(|array| array.transpose(&order))
    }

    /// An axis moved to another place; the others keep their order.
    pub fn move_axis(&self, from: impl Axes, to: impl Axes) -> Result<Tensor<T>> {
        let from = one_axis("move_axis", from, self.rank())?;
        let to = one_axis("move_axis", to, self.rank())?;
        let mut order: Vec<usize> = (0..self.rank()).filter(|&axis| axis != from).collect();
        order.insert(to.min(order.len()), from);
        self.viewed(|array| array.transpose(&order))
    }

    /// The elements along the given axes from last to first.
    pub fn flip(&self, axes: impl Axes) -> Result<Tensor<T>> {
        let axes = axes_of("flip", axes, self.rank())?;
        self.viewed(|array| axes.iter().try_fold(array.clone(), |array, &axis| array.reverse(axis)))
    }

    /// New axes of size 1, at these places of the result.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([1.0, 2.0]).expand_dims(-1)?, Tensor::from([[1.0], [2.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn expand_dims(&self, axes: impl Axes) -> Result<Tensor<T>> {
        let axes = axes.axes();
        let rank = self.rank() + axes.len();
        let places = axes_of("expand_dims", axes.as_slice(), rank)?;
        let mut own = self.shape().iter().copied();
        let dims: Vec<usize> = (0..rank)
            .map(|axis| if places.contains(&axis) { 1 } else { own.next().unwrap_or(1) })
            .collect();
        self.reshape(dims)
    }

    /// Without the given axes, which must have size 1.
    pub fn squeeze(&self, axes: impl Axes) -> Result<Tensor<T>> {
        let gone = axes_of("squeeze", axes, self.rank())?;
        let size = |axis: usize| self.shape().get(axis).copied().unwrap_or(1);
        if let Some(&axis) = gone.iter().find(|&&axis| size(axis) != 1) {
            let message = format!("axis {axis} of {} has size {}", self.described(), size(axis));
            return Err(Error::type_error("squeeze", message).with_hint("only axes of size 1 go"));
        }
        let dims: Vec<usize> =
            (0..self.rank()).filter(|axis| !gone.contains(axis)).map(size).collect();
        self.reshape(dims)
    }

    /// The tensor stretched to a shape: from the last axis back, its sizes are equal, 1 or missing.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// assert_eq!(Tensor::from([1, 2]).broadcast_to([2, 2])?, Tensor::from([[1, 2], [1, 2]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn broadcast_to(&self, sizes: impl Sizes) -> Result<Tensor<T>> {
        let dims = sizes.sizes();
        let own = self.shape();
        let fits = own.len() <= dims.len()
            && own.iter().rev().zip(dims.iter().rev()).all(|(&j, &k)| j == k || j == 1);
        if !fits {
            let message = format!("{} does not fit the shape {dims:?}", self.described());
            let hint = "from the last axis back, its sizes must be equal, 1 or missing";
            return Err(Error::type_error("broadcast_to", message).with_hint(hint));
        }
        let added = dims.len() - own.len();
        let mut array = self.array.clone();
        for (axis, (&j, &k)) in own.iter().zip(dims.iter().skip(added)).enumerate() {
            if j != k {
                array = restored(&fronted(&array, axis)?.row(0)?.replicate(k)?, axis)?;
            }
        }
        for &k in dims.iter().take(added).rev() {
            array = array.replicate(k)?;
        }
        Ok(Tensor::wrap(array))
    }
}

/// The array with one axis outermost, the others in order.
fn fronted(array: &Array, axis: usize) -> Result<Array> {
    let order: Vec<usize> =
        std::iter::once(axis).chain((0..array.rank()).filter(|&k| k != axis)).collect();
    Ok(array.transpose(&order)?)
}

/// The array with its outermost axis at another place.
fn restored(array: &Array, axis: usize) -> Result<Array> {
    let mut order: Vec<usize> = (1..array.rank()).collect();
    order.insert(axis.min(order.len()), 0);
    Ok(array.transpose(&order)?)
}

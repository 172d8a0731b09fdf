//! Arrays of any element type: how they are made and how their elements are reached.

use std::sync::Arc;

use crate::buffer::{Buffer, Lender};
use crate::layout::{Layout, Positions};
use crate::memory::{DEFAULT_LIMIT, allocate};
use crate::release::release;
use crate::{ArrayError, Dtype, Element, Shape};

/// A dense array of one of the four element types: a shared buffer and a strided view of it.
///
/// Cloning an array and taking a view of it ([`transpose`](Array::transpose),
/// [`reverse`](Array::reverse), [`slice`](Array::slice), [`row`](Array::row),
/// [`replicate`](Array::replicate)) copy no elements. Arrays never change once made.
#[derive(Clone)]
pub struct Array {
    layout: Layout,
    data: Data,
}

/// The buffer. Behind the pointer, so that taking over a vector copies nothing.
#[derive(Clone)]
pub(crate) enum Data {
    F64(Arc<Buffer<f64>>),
    F32(Arc<Buffer<f32>>),
    I64(Arc<Buffer<i64>>),
    Bool(Arc<Buffer<bool>>),
}

/// Runs the body with `$t` standing for the Rust type of the elements of `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::F64 => {
                type $t = f64;
                $body
            }
            $crate::Dtype::F32 => {
                type $t = f32;
                $body
            }
            $crate::Dtype::I64 => {
                type $t = i64;
                $body
            }
            $crate::Dtype::Bool => {
                type $t = bool;
                $body
            }
        }
    };
}
pub(crate) use with_element;

/// Making arrays.
impl Array {
    /// An array of the given shape from its elements in row-major order. Copies nothing.
    pub fn from_vec<T: Element>(shape: Shape, elements: Vec<T>) -> Result<Array, ArrayError> {
        if shape.numel() != elements.len() {
            return Err(ArrayError::WrongCount { op: "from_vec", shape, got: elements.len() });
        }
        Ok(T::wrap(shape, elements))
    }

    /// An array of the given shape whose elements, in row-major order, belong to somebody else. They
    /// are given back when the last array that views them is dropped. Copies nothing.
    ///
    /// ```
    /// use cotan_array::{Array, Shape};
    ///
    /// let lent = Array::from_lender(Shape::new("example", &[2])?, Box::new([1.0, 2.0]))?;
    /// assert_eq!(lent.to_string(), "[1.0, 2.0]");
    /// # Ok::<(), cotan_array::ArrayError>(())
    /// ```
    pub fn from_lender<T: Element>(shape: Shape, lender: Lender<T>) -> Result<Array, ArrayError> {
        let got = lender.as_ref().as_ref().len();
        if shape.numel() != got {
            return Err(ArrayError::WrongCount { op: "from_lender", shape, got });
        }
        Ok(T::lend(shape, lender))
    }

    /// An array of the given shape from a copy of its elements in row-major order.
    pub fn from_slice<T: Element>(shape: Shape, elements: &[T]) -> Result<Array, ArrayError> {
        if shape.numel() != elements.len() {
            return Err(ArrayError::WrongCount { op: "from_slice", shape, got: elements.len() });
        }
        let mut copy = allocate("from_slice", &shape, DEFAULT_LIMIT)?;
        copy.extend_from_slice(elements);
        Ok(T::wrap(shape, copy))
    }

    /// A scalar.
    pub fn scalar<T: Element>(x: T) -> Array {
        T::wrap(Shape::scalar(), vec![x])
    }

    /// The array whose element at index `ix` is `f(ix)`; `f` is called in row-major order.
    pub fn from_fn<T: Element>(
        shape: Shape,
        mut f: impl FnMut(&[usize]) -> T,
    ) -> Result<Array, ArrayError> {
        let mut elements = allocate("from_fn", &shape, DEFAULT_LIMIT)?;
        let mut ix = vec![0; shape.rank()];
        for _ in 0..shape.numel() {
            elements.push(f(&ix));
            for (i, &k) in ix.iter_mut().zip(shape.dims()).rev() {
                *i += 1;
                if *i < k {
                    break;
                }
                *i = 0;
            }
        }
        Ok(T::wrap(shape, elements))
    }

    /// An array whose elements are all `x`.
    pub fn full<T: Element>(shape: Shape, x: T) -> Result<Array, ArrayError> {
        let mut elements = allocate("full", &shape, DEFAULT_LIMIT)?;
        elements.resize(shape.numel(), x);
        Ok(T::wrap(shape, elements))
    }

    /// An array of zeros (`false`).
    pub fn zeros(dtype: Dtype, shape: Shape) -> Result<Array, ArrayError> {
        with_element!(dtype, T => Array::full(shape, T::default()))
    }

    pub(crate) fn owning(shape: Shape, data: Data) -> Array {
        Array { layout: Layout::row_major(shape), data }
    }

    /// Another view of the same buffer.
    pub(crate) fn viewed(&self, layout: Layout) -> Array {
        Array { layout, data: self.data.clone() }
    }
}

/// Reaching the elements.
impl Array {
    /// The shape.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape().numel()
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        match self.data {
            Data::F64(_) => Dtype::F64,
            Data::F32(_) => Dtype::F32,
            Data::I64(_) => Dtype::I64,
            Data::Bool(_) => Dtype::Bool,
        }
    }

    /// The elements in row-major order, if `T` is the element type and they lie in that order
    /// one after the other in memory. See [`contiguous`](Array::contiguous) to make them so.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let buffer = T::buffer(self)?;
        if !self.is_contiguous() {
            return None;
        }
        let start = self.layout.offset();
        buffer.get(start..start.checked_add(self.numel())?)
    }

    /// The elements in row-major order, to be changed, if `T` is the element type, they lie in that
    /// order one after the other in memory, and no other array shares them.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if !self.is_contiguous() {
            return None;
        }
        let (start, numel) = (self.layout.offset(), self.numel());
        T::buffer_mut(self)?.get_mut(start..start.checked_add(numel)?)
    }

    /// Whether the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_row_major()
    }

    /// The element at an index, if `T` is the element type and `ix` is within the shape.
    pub fn get<T: Element>(&self, ix: &[usize]) -> Option<T> {
        T::buffer(self)?.get(self.layout.position(ix)?).copied()
    }

    /// A reference to the element at an index, as [`get`](Array::get) finds it.
    pub fn get_ref<T: Element>(&self, ix: &[usize]) -> Option<&T> {
        T::buffer(self)?.get(self.layout.position(ix)?)
    }

    /// The only element of an array of one element, whatever its rank, if `T` is its type.
    pub fn item<T: Element>(&self) -> Option<T> {
        if self.numel() == 1 { self.iter()?.next() } else { None }
    }

    /// The elements in row-major order, if `T` is the element type. Allocates nothing.
    pub fn iter<T: Element>(&self) -> Option<Iter<'_, T>> {
        Some(Iter { buffer: T::buffer(self)?, positions: self.layout.positions() })
    }

    /// The elements in row-major order.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, ArrayError> {
        self.collect("to_vec")
    }

    /// The elements in row-major order, without a copy if they lie so in a buffer that is ours, and
    /// that no other array shares.
    ///
    /// ```
    /// use cotan_array::{Array, Shape};
    ///
    /// let elements = vec![1i64, 2, 3];
    /// let place = elements.as_ptr();
    /// let array = Array::from_vec(Shape::new("example", &[3])?, elements)?;
    /// assert_eq!(array.into_vec::<i64>()?.as_ptr(), place);
    /// # Ok::<(), cotan_array::ArrayError>(())
    /// ```
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, ArrayError> {
        let whole = self.is_contiguous()
            && T::buffer(&self).is_some_and(|buffer| buffer.len() == self.numel());
        match whole {
            true => T::unwrap(self).or_else(|array| array.to_vec()),
            false => self.to_vec(),
        }
    }

    /// The distance in the buffer, in elements, from one element to the next along each axis.
    /// Those of axes of size 1, and of arrays without elements, mean nothing.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The position in the buffer of the element at index `(0, .., 0)`.
    pub fn offset(&self) -> usize {
        self.layout.offset()
    }

    /// The whole buffer that this array is a view of, if `T` is the element type.
    pub fn buffer<T: Element>(&self) -> Option<&[T]> {
        T::buffer(self)
    }

    /// `to_vec` in the name of another operation.
    pub(crate) fn collect<T: Element>(&self, op: &'static str) -> Result<Vec<T>, ArrayError> {
        let elements = self.elements::<T>(op)?;
        let mut copy = allocate(op, self.shape(), DEFAULT_LIMIT)?;
        match self.as_slice() {
            Some(slice) => copy.extend_from_slice(slice),
            None => copy.extend(elements),
        }
        Ok(copy)
    }

    /// How many elements are copied at a time where a copy may be stopped: each may be on a page of its
    /// own.
    pub const AT_A_TIME: usize = 1 << 14;

    /// `collect`, a part at a time; `None` when `go_on` says no before one.
    pub(crate) fn collect_while<T: Element>(
        &self,
        op: &'static str,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Vec<T>>, ArrayError> {
        let mut elements = self.elements::<T>(op)?;
        let mut copy = allocate(op, self.shape(), DEFAULT_LIMIT)?;
        for _ in 0..self.numel().div_ceil(Array::AT_A_TIME) {
            if !go_on() {
                let bytes = self.shape().bytes(T::DTYPE) as usize;
                release(copy, bytes);
                return Ok(None);
            }
            copy.extend(elements.by_ref().take(Array::AT_A_TIME));
        }
        Ok(Some(copy))
    }

    /// `iter` in the name of an operation that needs elements of type `T`.
    pub(crate) fn elements<T: Element>(&self, op: &'static str) -> Result<Iter<'_, T>, ArrayError> {
        let wrong = ArrayError::WrongDtype { op, wanted: T::DTYPE, found: self.dtype() };
        self.iter().ok_or(wrong)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    pub(crate) fn into_parts(self) -> (Layout, Data) {
        (self.layout, self.data)
    }

    pub(crate) fn from_parts(layout: Layout, data: Data) -> Array {
        Array { layout, data }
    }
}

/// The elements of an array in row-major order.
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    buffer: &'a [T],
    positions: Positions,
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.buffer.get(self.positions.next()?).copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Iter<'_, T> {}

//! Views: replicates and transpositions of an array, in one normal form.
//!
//! Axis $n$ of a view is axis $m(n)$ of its base, or a copy of it. The normal form replicates the
//! base along all copied axes, in the order of the view, and transposes once. Nothing is moved by a
//! view when programs run; having one form, equal views are equal nodes, and what does not depend on
//! an axis is seen not to.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Arena, Node, Result, TermId, Type};
use smallvec::SmallVec;

use crate::pass::Opt;

/// For each axis of a view the axis of the base, none for a copy.
pub(crate) type AxisMap = SmallVec<[Option<usize>; 6]>;

/// An array as a view of another, which is none itself.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub base: TermId,
    pub map: AxisMap,
}

impl View {
    /// Whether the view is its base.
    pub fn is_plain(&self) -> bool {
        self.map.iter().enumerate().all(|(n, &m)| m == Some(n))
    }

    /// Whether nothing is copied.
    pub fn is_full(&self) -> bool {
        self.map.iter().all(Option::is_some)
    }
}

/// What an array is a view of. Takes time linear in its rank for views in normal form.
pub(crate) fn view(arena: &Arena, t: TermId) -> View {
    let mut base = t;
    let mut map: AxisMap = (0..arena.shape(t).rank()).map(Some).collect();
    loop {
        match arena.node(base) {
            Node::Replicate(_, u) => {
                for m in &mut map {
                    *m = m.and_then(|axis| axis.checked_sub(1));
                }
                base = *u;
            }
            Node::Transpose(perm, u) => {
                for axis in map.iter_mut().flatten() {
                    *axis = perm.get(*axis).map_or(*axis, |&k| usize::from(k));
                }
                base = *u;
            }
            _ => return View { base, map },
        }
    }
}

/// The axis map of a view of a view.
pub(crate) fn compose(outer: &[Option<usize>], inner: &[Option<usize>]) -> AxisMap {
    outer.iter().map(|m| m.and_then(|axis| inner.get(axis).copied().flatten())).collect()
}

/// The scalar that a scalar constant is.
pub(crate) fn constant_scalar(arena: &Arena, t: TermId) -> Option<Scalar> {
    let Node::Const(c) = arena.node(t) else { return None };
    if c.shape().rank() > 0 {
        return None;
    }
    match c.dtype() {
        Dtype::F64 => c.item().map(Scalar::F64),
        Dtype::F32 => c.item().map(Scalar::F32),
        Dtype::I64 => c.item().map(Scalar::I64),
        Dtype::Bool => c.item().map(Scalar::Bool),
    }
}

/// The only value of all elements, if the array is copies of a constant.
pub(crate) fn uniform(arena: &Arena, t: TermId) -> Option<Scalar> {
    constant_scalar(arena, view(arena, t).base)
}

/// The only value of all elements, if the array is copies of an integer.
pub(crate) fn uniform_integer(arena: &Arena, t: TermId) -> Option<i64> {
    match uniform(arena, t)? {
        Scalar::I64(x) => Some(x),
        Scalar::F64(_) | Scalar::F32(_) | Scalar::Bool(_) | Scalar::Fp(_) => None,
    }
}

/// Whether every element is this small number.
pub(crate) fn is_all(arena: &Arena, t: TermId, x: i32) -> bool {
    match uniform(arena, t) {
        Some(Scalar::F64(y)) => y == f64::from(x),
        Some(Scalar::F32(y)) => y == x as f32,
        Some(Scalar::I64(y)) => y == i64::from(x),
        Some(Scalar::Bool(_) | Scalar::Fp(_)) | None => false,
    }
}

/// A scalar as an array.
pub(crate) fn scalar_array(x: Scalar) -> Option<Array> {
    match x {
        Scalar::F64(x) => Some(Array::scalar(x)),
        Scalar::F32(x) => Some(Array::scalar(x)),
        Scalar::I64(x) => Some(Array::scalar(x)),
        Scalar::Bool(x) => Some(Array::scalar(x)),
        Scalar::Fp(_) => None,
    }
}

/// A small whole number of an element type.
pub(crate) fn number(dtype: Dtype, x: i64) -> Array {
    match dtype {
        Dtype::F64 => Array::scalar(x as f64),
        Dtype::F32 => Array::scalar(x as f32),
        Dtype::I64 => Array::scalar(x),
        Dtype::Bool => Array::scalar(x != 0),
    }
}

impl Opt<'_> {
    /// The view of `base` with the given axis map and sizes, in normal form.
    pub(crate) fn view_of(
        &mut self,
        base: TermId,
        map: &[Option<usize>],
        dims: &[usize],
    ) -> Result<TermId> {
        let inner = view(&self.b, base);
        let map = compose(map, &inner.map);
        let mut t = inner.base;
        let copied: SmallVec<[usize; 6]> = (0..map.len()).filter(|&n| map[n].is_none()).collect();
        for &axis in copied.iter().rev() {
            t = self.b.replicate(dims[axis], t)?;
        }
        let mut copies = 0;
        let mut perm: SmallVec<[usize; 6]> = SmallVec::new();
        for m in &map {
            perm.push(match m {
                Some(axis) => copied.len() + axis,
                None => {
                    copies += 1;
                    copies - 1
                }
            });
        }
        // Axes at the end that stay are not mentioned.
        while perm.last() == Some(&(perm.len().wrapping_sub(1))) {
            perm.pop();
        }
        if perm.is_empty() { Ok(t) } else { self.b.transpose(&perm, t) }
    }

    /// An array without one of its axes, along which it is constant: a view copies along it.
    pub(crate) fn without_axis(&mut self, v: &View, dims: &[usize], axis: usize) -> Result<TermId> {
        let (mut map, mut dims) = (v.map.clone(), dims.to_vec());
        map.remove(axis);
        dims.remove(axis);
        self.view_of(v.base, &map, &dims)
    }

    /// Copies of a scalar.
    pub(crate) fn fill(&mut self, scalar: TermId, dims: &[usize]) -> Result<TermId> {
        let map: AxisMap = dims.iter().map(|_| None).collect();
        self.view_of(scalar, &map, dims)
    }

    /// Copies of a whole number.
    pub(crate) fn fill_number(&mut self, ty: &Type, x: i64) -> Result<TermId> {
        let scalar = self.b.constant(&number(ty.dtype, x))?;
        self.fill(scalar, ty.shape.dims())
    }

    /// Zeros.
    pub(crate) fn zeros(&mut self, ty: &Type) -> Result<TermId> {
        self.fill_number(ty, 0)
    }

    /// The sizes of a term.
    pub(crate) fn dims(&self, t: TermId) -> Vec<usize> {
        self.b.shape(t).dims().to_vec()
    }
}

/// The one element that all elements of a constant are, if it has axes.
pub(crate) fn all_the_same(c: &Array) -> Option<Array> {
    fn one<T: cotan_array::Element, B: PartialEq>(c: &Array, bits: fn(T) -> B) -> Option<Array> {
        let xs = c.as_slice::<T>()?;
        let &first = xs.first()?;
        xs.iter().all(|&x| bits(x) == bits(first)).then(|| Array::scalar(first))
    }
    if c.shape().rank() == 0 {
        return None;
    }
    if c.numel() == 0 {
        return Some(number(c.dtype(), 0));
    }
    match c.dtype() {
        Dtype::F64 => one(c, f64::to_bits),
        Dtype::F32 => one(c, f32::to_bits),
        Dtype::I64 => one(c, |x: i64| x),
        Dtype::Bool => one(c, |x: bool| x),
    }
}

/// A shape from sizes that are known to be fine.
pub(crate) fn shape_of(dims: &[usize]) -> Result<Shape> {
    Ok(Shape::new("optimise", dims)?)
}

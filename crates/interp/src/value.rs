//! Values: a type and the elements in row-major order.

use std::fmt;
use std::ops::Range;

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_ir::Type;
use cotan_ir::scalar::{Fp, Scalar};

use crate::error::{Failure, Result};
use crate::position::{offset, positions};

/// An input or output of a run: a type and the elements in row-major order.
///
/// The elements of a float type are of exactly that type, or all of the test field
/// ([`Scalar::Fp`]), which stands in for floats under [`crate::Mode::Field`].
///
/// ```
/// use cotan_array::Array;
/// use cotan_interp::Value;
///
/// let v = Value::of(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(v.ty().to_string(), "[2, 2]f64");
/// let a: Array = v.to_array()?;
/// assert_eq!(a.get(&[1, 0]), Some(3.0));
/// assert!(Value::from(&a).same(&v));
/// # Ok::<(), cotan_interp::InterpError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    ty: Type,
    elements: Vec<Scalar>,
}

impl Value {
    /// A value from its elements in row-major order.
    pub fn new(ty: Type, elements: Vec<Scalar>) -> Result<Value> {
        if elements.len() != ty.shape.numel() {
            return Err(Failure::WrongCount { shape: ty.shape, got: elements.len() }.into());
        }
        let field = matches!(elements.first(), Some(Scalar::Fp(_)));
        let fits = |x: &Scalar| match x {
            Scalar::F64(_) => ty.dtype == Dtype::F64 && !field,
            Scalar::F32(_) => ty.dtype == Dtype::F32 && !field,
            Scalar::Fp(_) => ty.dtype.is_float() && field,
            Scalar::I64(_) => ty.dtype == Dtype::I64,
            Scalar::Bool(_) => ty.dtype == Dtype::Bool,
        };
        if let Some(position) = elements.iter().position(|x| !fits(x)) {
            return Err(Failure::WrongElement { ty, position }.into());
        }
        Ok(Value { ty, elements })
    }

    /// A value of one of the four Rust element types.
    pub fn of<T: Element>(dims: &[usize], elements: Vec<T>) -> Result<Value> {
        Ok(Value::from(&Array::from_vec(Shape::new("value", dims)?, elements)?))
    }

    /// A scalar of one of the four Rust element types.
    pub fn scalar<T: Element>(x: T) -> Value {
        Value::from(&Array::scalar(x))
    }

    /// The value of this type whose element at index `ix` is `f(ix)`.
    pub fn from_fn(ty: Type, mut f: impl FnMut(&[usize]) -> Scalar) -> Result<Value> {
        let mut elements = Vec::with_capacity(ty.shape.numel());
        positions(ty.shape.dims(), |ix| elements.push(f(ix)));
        Value::new(ty, elements)
    }

    /// Its type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Its shape.
    pub fn shape(&self) -> &Shape {
        &self.ty.shape
    }

    /// Its element type.
    pub fn dtype(&self) -> Dtype {
        self.ty.dtype
    }

    /// The elements in row-major order.
    pub fn elements(&self) -> &[Scalar] {
        &self.elements
    }

    /// The element at an index within the shape.
    pub fn get(&self, ix: &[usize]) -> Option<Scalar> {
        let dims = self.shape().dims();
        let inside = ix.len() == dims.len() && ix.iter().zip(dims).all(|(&i, &k)| i < k);
        if inside { self.elements.get(offset(dims, ix.iter().copied())).copied() } else { None }
    }

    /// Whether two values are the same: of one type and bitwise equal, except that all NaNs are one.
    pub fn same(&self, other: &Value) -> bool {
        self.ty == other.ty && self.elements.iter().zip(&other.elements).all(|(a, b)| a.same(*b))
    }

    /// The value with each float put into the test field.
    pub fn into_field(self) -> Value {
        let elements = self.elements.into_iter().map(Scalar::into_field).collect();
        Value { ty: self.ty, elements }
    }

    /// The elements as an array; an error if they are of the test field.
    pub fn to_array(&self) -> Result<Array> {
        to_array(&self.ty, &|k| self.elements[k], &mut |n, f| {
            f(0..n);
            Ok(())
        })
    }

    /// A value whose elements are known to fit.
    pub(crate) fn trusted(ty: Type, elements: Vec<Scalar>) -> Value {
        Value { ty, elements }
    }

    /// Whether it holds elements of the test field.
    pub(crate) fn is_field(&self) -> bool {
        matches!(self.elements.first(), Some(Scalar::Fp(_)))
    }
}

impl From<&Array> for Value {
    fn from(array: &Array) -> Value {
        Value { ty: Type::of(array), elements: scalars(array).collect() }
    }
}

/// The elements of an array in row-major order.
pub(crate) fn scalars(array: &Array) -> Box<dyn Iterator<Item = Scalar> + '_> {
    fn all<'a, T: Element>(
        array: &'a Array,
        wrap: impl Fn(T) -> Scalar + 'a,
    ) -> Box<dyn Iterator<Item = Scalar> + 'a> {
        Box::new(array.iter::<T>().into_iter().flatten().map(wrap))
    }
    match array.dtype() {
        Dtype::F64 => all(array, Scalar::F64),
        Dtype::F32 => all(array, Scalar::F32),
        Dtype::I64 => all(array, Scalar::I64),
        Dtype::Bool => all(array, Scalar::Bool),
    }
}

/// Does something for all of `n` positions, some at a time, unless it stops.
type InParts<'a> = dyn FnMut(usize, &mut dyn FnMut(Range<usize>)) -> Result<()> + 'a;

/// An array of its elements by position; an error if one is not of the element type.
pub(crate) fn to_array(
    ty: &Type,
    element: &dyn Fn(usize) -> Scalar,
    in_parts: &mut InParts,
) -> Result<Array> {
    fn collect<T: Element>(
        ty: &Type,
        pick: impl Fn(usize) -> Option<T>,
        in_parts: &mut InParts,
    ) -> Result<Array> {
        let count = ty.shape.numel();
        let mut picked = Vec::with_capacity(count);
        in_parts(count, &mut |part| picked.extend(part.map_while(&pick)))?;
        if picked.len() < count {
            let position = picked.len();
            return Err(Failure::WrongElement { ty: ty.clone(), position }.into());
        }
        Ok(Array::from_vec(ty.shape.clone(), picked)?)
    }
    match ty.dtype {
        Dtype::F64 => {
            collect(ty, |k| if let Scalar::F64(x) = element(k) { Some(x) } else { None }, in_parts)
        }
        Dtype::F32 => {
            collect(ty, |k| if let Scalar::F32(x) = element(k) { Some(x) } else { None }, in_parts)
        }
        Dtype::I64 => collect(ty, |k| element(k).as_i64(), in_parts),
        Dtype::Bool => collect(ty, |k| element(k).as_bool(), in_parts),
    }
}

/// The type, then the elements in row-major order; those of the test field by their smallest
/// representative.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {{", self.ty)?;
        for (n, x) in self.elements.iter().enumerate() {
            f.write_str(if n == 0 { "" } else { ", " })?;
            match x {
                Scalar::F64(x) => write!(f, "{x:?}")?,
                Scalar::F32(x) => write!(f, "{x:?}")?,
                Scalar::I64(x) => write!(f, "{x}")?,
                Scalar::Bool(x) => write!(f, "{x}")?,
                Scalar::Fp(x) => write!(f, "{}", Fp::representative(*x))?,
            }
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(dtype: Dtype, dims: &[usize]) -> Type {
        Type::new(dtype, Shape::new("test", dims).unwrap())
    }

    #[test]
    fn elements_must_fill_the_shape_and_be_of_the_type() {
        let two = vec![Scalar::F64(1.0); 2];
        let e = Value::new(ty(Dtype::F64, &[3]), two.clone()).unwrap_err().to_string();
        assert_eq!(e, "value: 2 elements do not fill shape [3], which has 3 elements");
        let e = Value::new(ty(Dtype::F32, &[2]), two).unwrap_err().to_string();
        assert_eq!(e, "value: element 0 is not of the element type of [2]f32");
        let mixed = vec![Scalar::Fp(Fp::ONE), Scalar::F64(1.0)];
        let e = Value::new(ty(Dtype::F64, &[2]), mixed).unwrap_err();
        assert_eq!(*e.failure(), Failure::WrongElement { ty: ty(Dtype::F64, &[2]), position: 1 });
        assert!(Value::new(ty(Dtype::I64, &[1]), vec![Scalar::Fp(Fp::ONE)]).is_err());
        assert!(Value::new(ty(Dtype::Bool, &[0, 3]), vec![]).is_ok());
    }

    #[test]
    fn arrays_of_every_type_and_layout_convert_there_and_back() {
        let a = Array::from_fn(Shape::new("t", &[2, 3]).unwrap(), |ix| (10 * ix[0] + ix[1]) as i64);
        let turned = a.unwrap().transpose(&[1, 0]).unwrap();
        let v = Value::from(&turned);
        assert_eq!(v.shape().dims(), [3, 2]);
        assert_eq!(v.get(&[2, 1]), Some(Scalar::I64(12)));
        assert_eq!(v.get(&[2, 2]), None);
        assert_eq!(v.get(&[2]), None);
        for array in [
            turned,
            Array::scalar(true),
            Array::scalar(-0.0f64),
            Array::scalar(f32::NAN),
            Array::zeros(Dtype::F32, Shape::new("t", &[2, 0]).unwrap()).unwrap(),
        ] {
            let v = Value::from(&array);
            let back = v.to_array().unwrap();
            assert_eq!(Type::of(&back), Type::of(&array));
            assert!(Value::from(&back).same(&v));
        }
    }

    #[test]
    fn same_tells_zeros_apart_and_nans_not() {
        let v = |x: f64| Value::scalar(x);
        assert!(!v(0.0).same(&v(-0.0)));
        assert!(v(f64::NAN).same(&v(-f64::NAN)));
        assert!(!v(1.0).same(&Value::scalar(1.0f32)));
    }

    #[test]
    fn the_field_has_no_array() {
        let v = Value::scalar(0.5).into_field();
        let e = v.to_array().unwrap_err();
        assert!(matches!(e.failure(), Failure::WrongElement { position: 0, .. }));
        assert_eq!(v.to_string(), "f64 {1152921504606846976}");
        assert_eq!(
            Value::of(&[2], vec![true, false]).unwrap().to_string(),
            "[2]bool {true, false}"
        );
    }
}

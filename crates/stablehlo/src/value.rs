//! Values of the text: their names, types and, of constants, what they are.

use std::fmt;

use cotan_array::{Array, Dtype, Element};
use cotan_ir::Type;
use cotan_ir::scalar::Scalar;

/// The type of a value: `tensor<2x3xf64>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ty {
    pub dtype: Dtype,
    pub dims: Vec<usize>,
}

impl Ty {
    pub fn new(dtype: Dtype, dims: &[usize]) -> Ty {
        Ty { dtype, dims: dims.to_vec() }
    }

    pub fn scalar(dtype: Dtype) -> Ty {
        Ty { dtype, dims: Vec::new() }
    }

    /// An integer: positions and counters.
    pub fn integer() -> Ty {
        Ty::scalar(Dtype::I64)
    }

    pub fn with_dtype(&self, dtype: Dtype) -> Ty {
        Ty { dtype, dims: self.dims.clone() }
    }

    pub fn with_dims(&self, dims: &[usize]) -> Ty {
        Ty::new(self.dtype, dims)
    }

    pub fn element(&self) -> Ty {
        Ty::scalar(self.dtype)
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }
}

impl From<&Type> for Ty {
    fn from(ty: &Type) -> Ty {
        Ty::new(ty.dtype, ty.shape.dims())
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for k in &self.dims {
            write!(f, "{k}x")?;
        }
        let element = match self.dtype {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::I64 => "i64",
            Dtype::Bool => "i1",
        };
        write!(f, "{element}>")
    }
}

/// A value that an operation has given.
#[derive(Clone, Debug)]
pub(crate) struct Val {
    pub name: String,
    pub ty: Ty,
    /// What every element is, where that is known.
    pub known: Option<Scalar>,
    /// What elements are along an axis, where they depend on nothing else.
    pub along: Option<Along>,
}

/// Elements that depend on the position along one axis alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Along {
    pub axis: usize,
    pub what: Profile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// The position itself.
    Position,
    /// `holds` at positions below `at`, and its opposite from there on.
    Step { at: i64, holds: bool },
}

impl Along {
    /// A comparison of positions with an integer.
    pub fn compared(self, direction: &str, with: i64) -> Option<Along> {
        if self.what != Profile::Position {
            return None;
        }
        let (at, holds) = match direction {
            "LT" => (with, true),
            "LE" => (with.checked_add(1)?, true),
            "GE" => (with, false),
            "GT" => (with.checked_add(1)?, false),
            _ => return None,
        };
        Some(Along { what: Profile::Step { at, holds }, ..self })
    }
}

impl Val {
    pub fn new(name: impl Into<String>, ty: Ty) -> Val {
        Val { name: name.into(), ty, known: None, along: None }
    }

    /// The integer that every element is.
    pub fn integer(&self) -> Option<i64> {
        self.known.and_then(Scalar::as_i64)
    }
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Arrays of more elements are written as bytes.
const LISTED: usize = 16;

/// The literal inside `dense<..>`, of all elements the same.
pub(crate) fn scalar_literal(x: Scalar) -> String {
    match x {
        Scalar::F64(x) if x.is_finite() => decimal(x),
        Scalar::F64(x) => format!("0x{:016X}", x.to_bits()),
        // As the `f64` it is: the reader rounds decimals to `f64` first.
        Scalar::F32(x) if x.is_finite() => decimal(f64::from(x)),
        Scalar::F32(x) => format!("0x{:08X}", x.to_bits()),
        Scalar::I64(x) => x.to_string(),
        Scalar::Bool(x) => x.to_string(),
        // Stands in for floats in tests of other passes only; no program holds one.
        Scalar::Fp(x) => x.representative().to_string(),
    }
}

/// A decimal with a point, as the grammar asks for.
fn decimal(x: f64) -> String {
    let text = format!("{x:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

/// The literal inside `dense<..>` of an array with one axis, and what all its elements are if they
/// are the same.
pub(crate) fn array_literal(array: &Array) -> (String, Option<Scalar>) {
    match array.dtype() {
        Dtype::F64 => literal(array, Scalar::F64, |x: f64| x.to_le_bytes().to_vec()),
        Dtype::F32 => literal(array, Scalar::F32, |x: f32| x.to_le_bytes().to_vec()),
        Dtype::I64 => literal(array, Scalar::I64, |x: i64| x.to_le_bytes().to_vec()),
        // There is no agreement on how truth values are packed, so there are no bytes of them.
        Dtype::Bool => literal(array, Scalar::Bool, |_: bool| Vec::new()),
    }
}

fn literal<T: Element>(
    array: &Array,
    wrap: impl Fn(T) -> Scalar,
    bytes: impl Fn(T) -> Vec<u8>,
) -> (String, Option<Scalar>) {
    let elements: Vec<T> = array.iter::<T>().into_iter().flatten().collect();
    let Some(&first) = elements.first() else { return (String::new(), None) };
    if elements.iter().all(|&x| wrap(x).same(wrap(first))) {
        return (scalar_literal(wrap(first)), Some(wrap(first)));
    }
    if elements.len() <= LISTED || array.dtype() == Dtype::Bool {
        let list: Vec<String> = elements.iter().map(|&x| scalar_literal(wrap(x))).collect();
        return (format!("[{}]", list.join(", ")), None);
    }
    let digits: String =
        elements.iter().flat_map(|&x| bytes(x)).map(|byte| format!("{byte:02X}")).collect();
    (format!("\"0x{digits}\""), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_the_grammar_of_the_format() {
        assert_eq!(scalar_literal(Scalar::F64(1.0)), "1.0e0");
        assert_eq!(scalar_literal(Scalar::F64(-0.0)), "-0.0e0");
        assert_eq!(scalar_literal(Scalar::F64(1.5e300)), "1.5e300");
        assert_eq!(scalar_literal(Scalar::F64(f64::NEG_INFINITY)), "0xFFF0000000000000");
        assert_eq!(scalar_literal(Scalar::F32(f32::NAN)), "0x7FC00000");
        assert_eq!(scalar_literal(Scalar::F32(0.1)), "1.0000000149011612e-1");
        assert_eq!(scalar_literal(Scalar::I64(i64::MIN)), "-9223372036854775808");
        assert_eq!(Ty::new(Dtype::Bool, &[2, 3]).to_string(), "tensor<2x3xi1>");
    }

    #[test]
    fn long_arrays_are_bytes() {
        let ramp = |n: i64| {
            let shape = cotan_array::Shape::new("test", &[n as usize]).unwrap();
            array_literal(&Array::from_vec(shape, (0..n).collect()).unwrap())
        };
        assert_eq!(ramp(3).0, "[0, 1, 2]");
        assert!(ramp(17).0.starts_with("\"0x00000000000000000100000000000000"));
        assert_eq!(ramp(1), ("0".to_owned(), Some(Scalar::I64(0))));
    }
}

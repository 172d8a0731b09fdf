//! Structures in safetensors files.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;

use cotan_array::{Array, Dtype, Element, Shape, open_file, replace_file};
use cotan_ir::Type;
use safetensors::tensor::{Dtype as Kind, SafeTensors, TensorView, View, serialize};

use super::{Source, filled, named_leaves};
use crate::error::{Error, Result};
use crate::structure::{Arrays, concrete_leaves};
use crate::tensor::file_error;

/// Writes the arrays of a structure to a safetensors file, whole or not at all. The contents are
/// held in memory on the way.
///
/// They go by the paths of the leaves (`layers.0.weights`); a single tensor is `arr_0`. Skipped
/// fields of structs are not written.
///
/// ```
/// use cotan::prelude::*;
///
/// let path = std::env::temp_dir().join("cotan-example.safetensors");
/// let pair = (Tensor::from([1.0f32, 2.0]), Tensor::from(7i64));
/// cotan::save_safetensors(&path, &pair)?;
/// let read: (Tensor<f32>, Tensor<i64>) = cotan::load_safetensors(&path)?;
/// assert_eq!(read, pair);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn save_safetensors<A: Arrays<Concrete = A>>(
    path: impl AsRef<Path>,
    structure: &A,
) -> Result<()> {
    let (op, path) = ("save_safetensors", path.as_ref());
    let names = named_leaves(&structure.tree()).into_iter().map(|(name, _)| name);
    let bytes = serialize(names.zip(concrete_leaves(structure).into_iter().map(Stored)), None)
        .map_err(|error| refused(op, path, error))?;
    replace_file(path, |output| output.write_all(&bytes)).map_err(|error| refused(op, path, error))
}

/// Reads the arrays of a structure from a safetensors file.
///
/// The type of the result says which arrays there are and of which element types, the file says their
/// shapes, how long vectors are and which options hold something: see [`load_npz`](crate::load_npz).
/// If the file differs (an array is missing, has another element type, or is left over), the error
/// says in what. Element types that cotan does not have become those of the leaves, where these hold
/// all their values: `F16` and `BF16` become f32 or f64, integers of up to 32 bits i64.
pub fn load_safetensors<A: Arrays<Concrete = A>>(path: impl AsRef<Path>) -> Result<A> {
    let (op, path) = ("load_safetensors", path.as_ref());
    let bytes = contents(op, path)?;
    let source = opened(op, path, &bytes)?;
    let tree = source.tree::<A>(|view| Ok(Shape::new(op, view.shape())?))?;
    filled(source, &tree, fitted)
}

/// Reads the arrays of a structure from a safetensors file into one like another.
///
/// The result has the structure, the shapes, the element types and the skipped fields of `like`;
/// what [`load_safetensors`] converts is converted. If the file differs (an array is missing, has
/// another shape or type, or is left over), the error says in what.
pub fn load_safetensors_like<A: Arrays<Concrete = A>>(
    path: impl AsRef<Path>,
    like: &A,
) -> Result<A> {
    let (op, path) = ("load_safetensors_like", path.as_ref());
    let bytes = contents(op, path)?;
    filled(opened(op, path, &bytes)?, &like.tree(), fitted)
}

fn contents(op: &'static str, path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| refused(op, path, error))?;
    Ok(bytes)
}

fn opened<'a>(
    op: &'static str,
    path: &'a Path,
    bytes: &'a [u8],
) -> Result<Source<'a, TensorView<'a>>> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        refused(op, path, format!("not a safetensors file, or damaged: {error}"))
    })?;
    Ok(Source { op, path, entries: file.tensors().into_iter().collect() })
}

fn fitted(_: &str, view: TensorView<'_>, wanted: &Type) -> std::result::Result<Array, String> {
    converted(&view, wanted).ok_or_else(|| {
        let sizes = if view.shape().is_empty() { "" } else { &format!("{:?}", view.shape()) };
        format!("{sizes}{}", format!("{:?}", view.dtype()).to_lowercase())
    })
}

fn refused(op: &'static str, path: &Path, problem: impl std::fmt::Display) -> Error {
    file_error(op, format!("{}: {problem}", path.display()))
}

/// An array on its way into a file.
struct Stored(Array);

impl View for Stored {
    fn dtype(&self) -> Kind {
        match self.0.dtype() {
            Dtype::F64 => Kind::F64,
            Dtype::F32 => Kind::F32,
            Dtype::I64 => Kind::I64,
            Dtype::Bool => Kind::BOOL,
        }
    }

    fn shape(&self) -> &[usize] {
        self.0.shape().dims()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(match self.0.dtype() {
            Dtype::F64 => bytes(&self.0, f64::to_le_bytes),
            Dtype::F32 => bytes(&self.0, f32::to_le_bytes),
            Dtype::I64 => bytes(&self.0, i64::to_le_bytes),
            Dtype::Bool => bytes(&self.0, |x: bool| [u8::from(x)]),
        })
    }

    fn data_len(&self) -> usize {
        self.0.numel() * self.0.dtype().size()
    }
}

fn bytes<T: Element, const N: usize>(array: &Array, of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    array.iter().into_iter().flatten().flat_map(of).collect()
}

/// A tensor of a file as the type that is wanted, if it can be that.
fn converted(view: &TensorView<'_>, wanted: &Type) -> Option<Array> {
    let shape = &wanted.shape;
    if view.shape() != shape.dims() {
        return None;
    }
    let data = view.data();
    match (wanted.dtype, view.dtype()) {
        (Dtype::F64, Kind::F64) => array(shape, data, f64::from_le_bytes),
        (Dtype::F64, Kind::F16) => array(shape, data, |x| f64::from(of_f16(u16::from_le_bytes(x)))),
        (Dtype::F64, Kind::BF16) => {
            array(shape, data, |x| f64::from(of_bf16(u16::from_le_bytes(x))))
        }
        (Dtype::F32, Kind::F32) => array(shape, data, f32::from_le_bytes),
        (Dtype::F32, Kind::F16) => array(shape, data, |x| of_f16(u16::from_le_bytes(x))),
        (Dtype::F32, Kind::BF16) => array(shape, data, |x| of_bf16(u16::from_le_bytes(x))),
        (Dtype::I64, Kind::I64) => array(shape, data, i64::from_le_bytes),
        (Dtype::I64, Kind::I32) => array(shape, data, |x| i64::from(i32::from_le_bytes(x))),
        (Dtype::I64, Kind::I16) => array(shape, data, |x| i64::from(i16::from_le_bytes(x))),
        (Dtype::I64, Kind::I8) => array(shape, data, |x| i64::from(i8::from_le_bytes(x))),
        (Dtype::I64, Kind::U32) => array(shape, data, |x| i64::from(u32::from_le_bytes(x))),
        (Dtype::I64, Kind::U16) => array(shape, data, |x| i64::from(u16::from_le_bytes(x))),
        (Dtype::I64, Kind::U8) => array(shape, data, |x| i64::from(u8::from_le_bytes(x))),
        (Dtype::Bool, Kind::BOOL) => array(shape, data, |[x]| x != 0),
        (Dtype::F64 | Dtype::F32 | Dtype::I64 | Dtype::Bool, _) => None,
    }
}

fn array<T: Element, const N: usize>(
    shape: &Shape,
    data: &[u8],
    of: impl Fn([u8; N]) -> T,
) -> Option<Array> {
    let (elements, _) = data.as_chunks::<N>();
    Array::from_vec(shape.clone(), elements.iter().map(|&x| of(x)).collect()).ok()
}

/// The value of a half-precision float: a sign, 5 bits of exponent, 10 of fraction.
fn of_f16(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    match exponent {
        0 => sign * fraction * 2f32.powi(-14),
        0x1f if fraction == 0.0 => sign * f32::INFINITY,
        0x1f => f32::NAN,
        _ => sign * (1.0 + fraction) * 2f32.powi(exponent - 15),
    }
}

/// The value of a `bfloat16`: the upper half of an `f32`.
fn of_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_their_values() {
        let table = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, value) in table {
            assert_eq!(of_f16(bits), value, "{bits:#x}");
        }
        assert!(of_f16(0x7e00).is_nan() && of_f16(0xfc01).is_nan());
        assert!(of_f16(0x8000).is_sign_negative());
        assert_eq!((of_bf16(0x3f80), of_bf16(0xc040)), (1.0, -3.0));
        assert!(of_bf16(0x7fc0).is_nan());
    }
}

//! Writing an `.npy` file.

use std::io::{self, Write};
use std::path::Path;

use crate::array::with_element;
use crate::file;
use crate::memory::DEFAULT_LIMIT;
use crate::{Array, ArrayError, Dtype, Element, Shape};

use super::{MAGIC, NpyError};

/// The data starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// The longest decimal number that NumPy leaves room for in the size of the outermost axis, so
/// that a file can grow in place.
const GROWTH_DIGITS: usize = 21;

/// What stands around the text of a header: magic string, version, length, line break.
const AROUND_TEXT: usize = MAGIC.len() + 2 + 2 + 1;

/// Bytes written at a time.
const CHUNK: usize = 16 << 10;

/// The contents of the `.npy` file of an array. Refused when they pass
/// [`DEFAULT_LIMIT`](crate::DEFAULT_LIMIT), which only a replicated view is likely to do.
pub fn write(array: &Array) -> Result<Vec<u8>, NpyError> {
    let (shape, dtype) = (array.shape(), array.dtype());
    shape.clone().within("npy", dtype, DEFAULT_LIMIT)?;
    let (length, mut bytes) = (encoded_len(array), Vec::new());
    if bytes.try_reserve_exact(length as usize).is_err() {
        let shape = shape.clone();
        return Err(ArrayError::OutOfMemory { op: "npy", shape, dtype, bytes: length }.into());
    }
    write_to(array, &mut bytes)?;
    Ok(bytes)
}

/// Writes the `.npy` file of an array. The file is complete or as it was before: the contents go
/// to a temporary file in the same folder, which then takes its name.
pub fn write_file(path: impl AsRef<Path>, array: &Array) -> Result<(), NpyError> {
    let path = path.as_ref();
    file::replace(path, |output| Ok(write_to(array, output)?))
        .map_err(|e: NpyError| e.of_file(path))
}

/// Writes the contents of the `.npy` file of an array to `output`, in chunks.
pub fn write_to(array: &Array, output: &mut impl Write) -> io::Result<()> {
    output.write_all(&header(array.dtype(), array.shape()))?;
    with_element!(array.dtype(), T => write_data::<T>(array, output))
}

/// The length of the `.npy` file of an array.
pub(crate) fn encoded_len(array: &Array) -> u64 {
    let (shape, dtype) = (array.shape(), array.dtype());
    // No overflow: the header is short, and shapes keep byte counts within i64.
    (header(dtype, shape).len() as u64).saturating_add(shape.bytes(dtype))
}

fn header(dtype: Dtype, shape: &Shape) -> Vec<u8> {
    let descr = match dtype {
        Dtype::F64 => "<f8",
        Dtype::F32 => "<f4",
        Dtype::I64 => "<i8",
        Dtype::Bool => "|b1",
    };
    let sizes: Vec<String> = shape.dims().iter().map(usize::to_string).collect();
    let comma = if shape.rank() == 1 { "," } else { "" };
    let sizes_text = sizes.join(", ");
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes_text}{comma}), }}");
    if let Some(outermost) = sizes.first() {
        let room = GROWTH_DIGITS.saturating_sub(outermost.len());
        text.push_str(&" ".repeat(room));
    }
    let unpadded = text.len().saturating_add(AROUND_TEXT);
    let padded = unpadded.next_multiple_of(ALIGNMENT);
    text.push_str(&" ".repeat(padded.saturating_sub(unpadded)));
    text.push('\n');
    // At most 64 axes of 20 digits each.
    let length = text.len() as u16;
    [MAGIC.as_slice(), &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
}

fn write_data<T: Element>(array: &Array, output: &mut impl Write) -> io::Result<()> {
    let size = T::DTYPE.size();
    let mut chunk = Vec::with_capacity(CHUNK);
    for x in array.iter::<T>().into_iter().flatten() {
        // Little-endian, so that the bits of narrower types come first.
        let bits = x.bits().to_le_bytes();
        chunk.extend_from_slice(bits.split_at(size).0);
        if chunk.len() >= CHUNK {
            output.write_all(&chunk)?;
            chunk.clear();
        }
    }
    output.write_all(&chunk)
}

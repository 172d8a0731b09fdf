//! Reading an `.npy` file.

use std::io::Read;
use std::path::Path;

use crate::memory::{DEFAULT_LIMIT, allocate};
use crate::{Array, Dtype, Element, Shape, file};

use super::descr::{Kind, half_to_f32};
use super::header::Header;
use super::{MAGIC, MAX_HEADER, NpyError};

/// Bytes read at a time. On the stack, and a multiple of every element's size.
const CHUNK: usize = 16 << 10;

/// Reads the contents of an `.npy` file.
pub fn read(bytes: &[u8]) -> Result<Array, NpyError> {
    read_from(&mut &*bytes, bytes.len() as u64, DEFAULT_LIMIT)
}

/// Reads an `.npy` file. Its length is known before anything else is asked of it.
pub fn read_file(path: impl AsRef<Path>) -> Result<Array, NpyError> {
    read_file_within(path, DEFAULT_LIMIT)
}

/// Reads an `.npy` file if its array takes no more than `limit` bytes of memory.
pub fn read_file_within(path: impl AsRef<Path>, limit: u64) -> Result<Array, NpyError> {
    let path = path.as_ref();
    read_path(path, limit).map_err(|e| e.of_file(path))
}

fn read_path(path: &Path, limit: u64) -> Result<Array, NpyError> {
    let mut file = file::open(path)?;
    let length = file.metadata()?.len();
    read_from(&mut file, length, limit)
}

/// Reads an `.npy` file of `length` bytes, all of which have to belong to it, if the array takes
/// no more than `limit` bytes of memory.
pub fn read_from(input: &mut impl Read, length: u64, limit: u64) -> Result<Array, NpyError> {
    let header = read_header(input, length)?;
    read_data(input, header, limit)
}

/// The element type and the shape of what [`read_from`] would read.
pub(crate) fn describe(input: &mut impl Read, length: u64) -> Result<(Dtype, Shape), NpyError> {
    let header = read_header(input, length)?;
    Ok((header.descr.kind.dtype(), header.shape))
}

fn read_header(input: &mut impl Read, length: u64) -> Result<Header, NpyError> {
    let mut input = Counted { input, left: length };
    check_magic(&mut input)?;
    let header_length = match input.array("version")? {
        [1, 0] => u32::from(u16::from_le_bytes(input.array("header length")?)),
        [2 | 3, 0] => u32::from_le_bytes(input.array("header length")?),
        [major, minor] => return Err(NpyError::UnknownVersion { major, minor }),
    };
    if header_length > MAX_HEADER {
        return Err(NpyError::HeaderTooLong { length: header_length });
    }
    let start = length.saturating_sub(input.left);
    let mut text = vec![0; input.claim("header", u64::from(header_length))?];
    input.input.read_exact(&mut text)?;
    let header = Header::parse(&text, start as usize)?;
    check_data_length(&header, input.left, length)?;
    Ok(header)
}

/// The input with the number of bytes it still has.
struct Counted<'a, R> {
    input: &'a mut R,
    left: u64,
}

impl<R: Read> Counted<'_, R> {
    /// Takes `needed` bytes off those that are left; they are the caller's to read.
    fn claim(&mut self, part: &'static str, needed: u64) -> Result<usize, NpyError> {
        let cut_off = NpyError::CutOff { part, needed, found: self.left };
        self.left = self.left.checked_sub(needed).ok_or(cut_off)?;
        // Everything claimed is shorter than MAX_HEADER.
        Ok(needed as usize)
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], NpyError> {
        let mut bytes = [0; N];
        self.claim(part, N as u64)?;
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Tells a file cut off within the magic string from one that is no `.npy` file.
fn check_magic<R: Read>(input: &mut Counted<'_, R>) -> Result<(), NpyError> {
    let mut found = Vec::new();
    (&mut *input.input).take(input.left.min(MAGIC.len() as u64)).read_to_end(&mut found)?;
    if !MAGIC.starts_with(&found) {
        return Err(NpyError::NotNpy { found });
    }
    input.claim("magic string", MAGIC.len() as u64)?;
    Ok(())
}

fn check_data_length(header: &Header, found: u64, length: u64) -> Result<(), NpyError> {
    let Header { descr, shape, .. } = header;
    // No overflow: the number of elements times eight fits by the invariant of shapes.
    let needed = (shape.numel() as u64).saturating_mul(descr.size);
    let (shape, descr) = (shape.clone(), descr.text.clone());
    match found.checked_sub(needed) {
        None => Err(NpyError::DataCutOff { shape, descr, needed, found }),
        Some(0) => Ok(()),
        Some(extra) => {
            let end = length.saturating_sub(extra);
            Err(NpyError::ExtraBytes { shape, descr, end, length })
        }
    }
}

/// Reads the elements; what they widen to has been the only thing not checked yet.
fn read_data(input: &mut impl Read, header: Header, limit: u64) -> Result<Array, NpyError> {
    let Header { descr, fortran_order, mut shape } = header;
    if fortran_order {
        let dims: Vec<usize> = shape.dims().iter().rev().copied().collect();
        shape = Shape::new("npy", &dims)?;
    }
    let perm: Vec<usize> = (0..shape.rank()).rev().collect();
    let big = descr.big_endian;
    let data = match descr.kind {
        Kind::Bool => decode(input, shape, limit, big, |[b]: [u8; 1]| b != 0),
        Kind::I8 => decode(input, shape, limit, big, |b| i64::from(i8::from_le_bytes(b))),
        Kind::I16 => decode(input, shape, limit, big, |b| i64::from(i16::from_le_bytes(b))),
        Kind::I32 => decode(input, shape, limit, big, |b| i64::from(i32::from_le_bytes(b))),
        Kind::I64 => decode(input, shape, limit, big, i64::from_le_bytes),
        Kind::U8 => decode(input, shape, limit, big, |b| i64::from(u8::from_le_bytes(b))),
        Kind::U16 => decode(input, shape, limit, big, |b| i64::from(u16::from_le_bytes(b))),
        Kind::U32 => decode(input, shape, limit, big, |b| i64::from(u32::from_le_bytes(b))),
        // Those beyond i64 come out negative.
        Kind::U64 => decode(input, shape, limit, big, i64::from_le_bytes).and_then(non_negative),
        Kind::F16 => decode(input, shape, limit, big, |b| half_to_f32(u16::from_le_bytes(b))),
        Kind::F32 => decode(input, shape, limit, big, f32::from_le_bytes),
        Kind::F64 => decode(input, shape, limit, big, f64::from_le_bytes),
    }?;
    Ok(if fortran_order { data.transpose(&perm)? } else { data })
}

/// Reads elements of `N` bytes each in row-major order; `element` is given them little-endian.
fn decode<const N: usize, T: Element>(
    input: &mut impl Read,
    shape: Shape,
    limit: u64,
    big_endian: bool,
    element: impl Fn([u8; N]) -> T,
) -> Result<Array, NpyError> {
    let mut elements = allocate("npy", &shape, limit)?;
    let mut left = shape.numel().saturating_mul(N);
    let mut chunk = [0; CHUNK];
    while left > 0 {
        let (bytes, _) = chunk.split_at_mut(left.min(CHUNK));
        input.read_exact(bytes)?;
        left = left.saturating_sub(bytes.len());
        let (encoded, _) = bytes.as_chunks_mut::<N>();
        if big_endian {
            encoded.iter_mut().for_each(|b| b.reverse());
        }
        elements.extend(encoded.iter().map(|&b| element(b)));
    }
    Ok(Array::from_vec(shape, elements)?)
}

fn non_negative(array: Array) -> Result<Array, NpyError> {
    let found = array.iter::<i64>().into_iter().flatten().enumerate().find(|&(_, x)| x < 0);
    match found {
        None => Ok(array),
        Some((index, x)) => Err(NpyError::IntegerTooLarge { index, value: x as u64 }),
    }
}

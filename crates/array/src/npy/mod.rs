//! `.npy` files: one array with its shape and element type, as NumPy saves them.
//!
//! **Reading.** Versions 1.0, 2.0 and 3.0, either byte order, C and Fortran order. Types convert
//! at the border: all integers become `i64`, `f2` and `f4` become `f32`, `f8` stays `f64`, `b1`
//! becomes `bool`. An array in Fortran order comes back as a transposed view, without a copy;
//! call [`Array::contiguous`](crate::Array::contiguous) before asking for a slice of it.
//!
//! **Untrusted files.** No file makes the reader panic, and none makes it allocate more than the
//! size of the file plus 64 KiB: the length of the header is bounded, the product of the shape is
//! checked, and the bytes that the shape calls for are compared with those that are there, all
//! before memory is asked for. The one exception is inherent: elements narrower than ours widen
//! (`i1` to `i64` is eightfold), and what they widen to is held against the memory limit first.
//! This bound is why the reader is written here: the crates that read this format allocate what
//! the header says before they look at what the file holds.
//!
//! **Writing.** Version 1.0, C order, little-endian, the data aligned to 64 bytes: byte for byte
//! what `numpy.save` writes. Arrays have at most [`MAX_RANK`](crate::MAX_RANK) axes, whose header
//! always fits the 65535 bytes of version 1.0.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod descr;
mod error;
mod header;
mod read;
mod write;

pub use error::NpyError;
pub use read::{read, read_file, read_file_within, read_from};
pub use write::{write, write_file, write_to};

pub(crate) use read::describe;
pub(crate) use write::encoded_len;

/// What every `.npy` file starts with.
const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read: the longest that version 1.0 can have.
const MAX_HEADER: u32 = 65_535;

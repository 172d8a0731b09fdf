//! What can be wrong with an `.npy` file.

use std::io;
use std::path::PathBuf;

use crate::{ArrayError, MAX_RANK, Shape};

use super::MAX_HEADER;

/// Why an `.npy` file could not be read or written. Positions count bytes from the start of the
/// file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The error of a particular file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<NpyError>,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The first bytes are not those of an `.npy` file.
    #[error("not an .npy file: it starts with \"{}\" instead of \"\\x93NUMPY\"{}",
            found.escape_ascii(), magic_hint(found))]
    NotNpy {
        /// What it starts with.
        found: Vec<u8>,
    },
    /// A version of the format that does not exist yet.
    #[error(
        "version {major}.{minor} of the .npy format is unknown; versions 1.0, 2.0 and 3.0 are \
             read"
    )]
    UnknownVersion {
        /// The major version.
        major: u8,
        /// The minor version.
        minor: u8,
    },
    /// The file ends before the header does.
    #[error("cut off in the {part}: it needs {needed} bytes and {found} are left")]
    CutOff {
        /// Where: `magic string`, `header length` or `header`.
        part: &'static str,
        /// Bytes that have to be there.
        needed: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The header claims to be longer than any array needs.
    #[error(
        "a header of {length} bytes; at most {MAX_HEADER} are read (only structured types, \
             which are not supported, need more)"
    )]
    HeaderTooLong {
        /// Its length by its own account.
        length: u32,
    },
    /// The header is not the dictionary that it should be.
    #[error("header, byte {at}: expected {expected}, found {}", show(found))]
    Syntax {
        /// Where.
        at: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there, or its beginning; empty at the end.
        found: String,
    },
    /// A key other than the three that there are.
    #[error(
        "header, byte {at}: unknown key '{key}'; the keys are 'descr', 'fortran_order' and \
             'shape'"
    )]
    UnknownKey {
        /// Where.
        at: usize,
        /// The key.
        key: String,
    },
    /// A key that stands in the header twice.
    #[error("header, byte {at}: a second '{key}'")]
    DuplicateKey {
        /// Where the second one stands.
        at: usize,
        /// The key.
        key: &'static str,
    },
    /// A key that is not in the header.
    #[error("the header has no '{key}'")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A size that is negative or beyond counting.
    #[error(
        "header, byte {at}: {text} is not the size of an axis; sizes go from 0 to {}",
        i64::MAX
    )]
    BadSize {
        /// Where.
        at: usize,
        /// The size.
        text: String,
    },
    /// More axes than arrays can have.
    #[error("a shape of {rank} axes; at most {MAX_RANK} are allowed")]
    TooManyAxes {
        /// The number of axes.
        rank: usize,
    },
    /// An element type that is not one of ours and does not convert to one.
    #[error("elements of type {descr} are not supported: {remedy}")]
    UnsupportedType {
        /// The type as the header names it.
        descr: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Less data than the header calls for.
    #[error(
        "cut off in the data: shape {shape} of '{descr}' needs {needed} bytes and {found} \
             are left"
    )]
    DataCutOff {
        /// The shape in the header.
        shape: Shape,
        /// The type in the header.
        descr: String,
        /// Bytes that have to be there.
        needed: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// More data than the header calls for.
    #[error(
        "bytes after the data: shape {shape} of '{descr}' ends at byte {end}, the file at byte \
             {length}"
    )]
    ExtraBytes {
        /// The shape in the header.
        shape: Shape,
        /// The type in the header.
        descr: String,
        /// Where the data should end.
        end: u64,
        /// The length of the file.
        length: u64,
    },
    /// An unsigned integer that no `i64` can hold.
    #[error(
        "element {index} (in the order of the file) is {value}, above the largest i64; \
             save the array with x.astype('f8') or x.astype('i8')"
    )]
    IntegerTooLarge {
        /// The number of the element in the file.
        index: usize,
        /// Its value.
        value: u64,
    },
    /// The array is too large, or there is no memory for it.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

impl NpyError {
    /// Whether the array is larger than the limit, and nothing else is wrong with it.
    pub fn is_too_large(&self) -> bool {
        match self {
            NpyError::File { source, .. } => source.is_too_large(),
            NpyError::Array(error) => matches!(error, ArrayError::TooLarge { .. }),
            _ => false,
        }
    }

    /// This error as that of the file at `path`.
    pub(super) fn of_file(self, path: &std::path::Path) -> NpyError {
        NpyError::File { path: path.to_path_buf(), source: Box::new(self) }
    }
}

fn magic_hint(found: &[u8]) -> &'static str {
    if found.starts_with(b"PK") {
        "; it looks like a zip archive: read it as .npz"
    } else {
        "; write it with numpy.save"
    }
}

fn show(found: &str) -> String {
    if found.is_empty() { "the end of the header".into() } else { format!("\"{found}\"") }
}

//! What can be wrong with an `.npz` file.

use std::io;
use std::path::{Path, PathBuf};

use crate::npy::NpyError;

/// Why an `.npz` file could not be read or written. Positions count bytes from the start of the
/// file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpzError {
    /// The error of a particular file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<NpzError>,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is no record that ends a zip archive.
    #[error(
        "not an .npz file: no zip archive ends at its end; it may be cut off, or be a single \
             array (.npy); write it with numpy.savez"
    )]
    NotZip,
    /// The archive contradicts itself.
    #[error("damaged archive, byte {at}: {problem}")]
    Damaged {
        /// Where.
        at: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A name that could do harm, or is no name.
    #[error("member \"{}\": {problem}", .name.escape_debug())]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two members of the same name, `.npy` apart.
    #[error("two members are named \"{}\"", .name.escape_debug())]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A member that is there but cannot be read.
    #[error("member \"{}\": {problem}", .name.escape_debug())]
    Member {
        /// The member.
        name: String,
        /// What is wrong with it.
        problem: MemberProblem,
    },
    /// A member whose array cannot be read.
    #[error("member \"{}\": {source}", .name.escape_debug())]
    Array {
        /// The member.
        name: String,
        /// What is wrong with it.
        source: NpyError,
    },
}

/// What can be wrong with a member of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberProblem {
    /// It needs a password.
    #[error("encrypted; save it without a password")]
    Encrypted,
    /// It is neither stored nor deflated.
    #[error("compression method {0}; only stored (0) and deflated (8) members are read")]
    Compression(u16),
    /// Stored, yet of two lengths.
    #[error("stored, yet {stored} bytes in the archive and {declared} unpacked")]
    StoredLength {
        /// Bytes in the archive.
        stored: u64,
        /// Bytes unpacked.
        declared: u64,
    },
    /// More than deflate can make of so few bytes.
    #[error("{deflated} bytes cannot inflate to {declared}; refused as a zip bomb")]
    Ratio {
        /// Bytes in the archive.
        deflated: u64,
        /// Bytes unpacked, by its own account.
        declared: u64,
    },
    /// It shares bytes with another member or with the directory.
    #[error("overlaps another part of the archive; refused as a zip bomb")]
    Overlap,
    /// It is not where the directory says.
    #[error("the directory and the member's own record disagree")]
    RecordMismatch,
    /// It goes on after its declared end.
    #[error("data after its declared end of {declared} bytes")]
    TooLong {
        /// Bytes unpacked, by its own account.
        declared: u64,
    },
    /// Its checksum is wrong.
    #[error("wrong checksum; the file is damaged")]
    Checksum,
}

impl NpzError {
    /// Whether an array is larger than the limit, and nothing else is wrong with it.
    pub fn is_too_large(&self) -> bool {
        match self {
            NpzError::File { source, .. } => source.is_too_large(),
            NpzError::Array { source, .. } => source.is_too_large(),
            _ => false,
        }
    }

    /// This error as that of the file at `path`.
    pub(super) fn of_file(self, path: &Path) -> NpzError {
        NpzError::File { path: path.to_path_buf(), source: Box::new(self) }
    }
}

//! `.npz` files: several named arrays, as a zip archive of `.npy` files.
//!
//! **Reading.** Members stored or deflated, also in the Zip64 form, named with or without `.npy`;
//! they come back under the name without it, in the order of the archive. [`read`] and its like read
//! all of them, [`Archive`] reads those that are asked for.
//!
//! **Untrusted files.** Every length is checked before memory is asked for. A member that claims
//! to inflate to more than deflate can is refused, as are members that share bytes of the archive,
//! so what is allocated stays in proportion to the size of the file; and the arrays together stay
//! within a limit. The header of a member is read and checked before its data are inflated, and
//! inflation ends where the member should. Checksums are verified. Names that occur twice, or
//! that would leave a folder if they were unpacked into it, are errors.
//!
//! **Writing.** Members are stored, as by `numpy.savez`, and dated 1980, so that the same arrays
//! give the same bytes. The archive is written in chunks and never held in memory by
//! [`write_file`].
//!
//! **Why not the `zip` crate?** It brings fifteen crates for an archive format of which three
//! records are needed here, and leaves to us the checks above, which want the raw records. We use
//! `miniz_oxide` for deflate and `crc32fast` for checksums: four crates with theirs.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod archive;
mod error;
mod inflate;
mod name;
mod read;
mod records;
mod write;

pub use archive::Archive;
pub use error::{MemberProblem, NpzError};
pub use read::{read, read_file, read_from};
pub use write::{write, write_file};

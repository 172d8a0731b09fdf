//! Writing an `.npz` file.

use std::io::{self, Write};
use std::path::Path;

use crate::memory::DEFAULT_LIMIT;
use crate::{Array, ArrayError, file, npy};

use super::NpzError;
use super::name::{Names, SUFFIX};
use super::records::{End, Entry, STORED, UTF8};

/// The contents of the `.npz` file of some named arrays. Refused when they pass
/// [`DEFAULT_LIMIT`](crate::DEFAULT_LIMIT); [`write_file`] needs no memory for them.
pub fn write<S: AsRef<str>>(arrays: &[(S, Array)]) -> Result<Vec<u8>, NpzError> {
    let mut left = DEFAULT_LIMIT;
    for (name, array) in arrays {
        let (shape, dtype) = (array.shape(), array.dtype());
        let refuse =
            |e: ArrayError| NpzError::Array { name: name.as_ref().into(), source: e.into() };
        shape.clone().within("npz", dtype, left).map_err(refuse)?;
        left = left.saturating_sub(shape.bytes(dtype));
    }
    let mut bytes = Vec::new();
    write_to(arrays, &mut bytes)?;
    Ok(bytes)
}

/// Writes the `.npz` file of some named arrays. The file is complete or as it was before: the
/// contents go to a temporary file in the same folder, which then takes its name.
pub fn write_file<S: AsRef<str>>(
    path: impl AsRef<Path>,
    arrays: &[(S, Array)],
) -> Result<(), NpzError> {
    let path = path.as_ref();
    file::replace(path, |output| write_to(arrays, output)).map_err(|e: NpzError| e.of_file(path))
}

fn write_to<S: AsRef<str>>(arrays: &[(S, Array)], output: &mut impl Write) -> Result<(), NpzError> {
    let mut names = Names::default();
    let mut directory = Vec::new();
    let mut offset = 0u64;
    for (name, array) in arrays {
        let name = format!("{}{SUFFIX}", name.as_ref());
        names.add(&name)?;
        let flags = if name.is_ascii() { 0 } else { UTF8 };
        let length = npy::encoded_len(array);
        let entry = Entry {
            name: name.into_bytes(),
            flags,
            method: STORED,
            crc: checksum(array)?,
            packed: length,
            unpacked: length,
            offset,
        };
        let record = entry.local_record();
        output.write_all(&record)?;
        npy::write_to(array, output)?;
        offset = offset.saturating_add(record.len() as u64).saturating_add(length);
        directory.extend(entry.central_record());
    }
    let end = End { entries: arrays.len() as u64, length: directory.len() as u64, offset };
    output.write_all(&directory)?;
    Ok(output.write_all(&end.records())?)
}

/// The checksum of a member. It stands before the member, and to write that twice takes less
/// than to hold it in memory.
fn checksum(array: &Array) -> io::Result<u32> {
    struct Sum(crc32fast::Hasher);
    impl Write for Sum {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sum = Sum(crc32fast::Hasher::new());
    npy::write_to(array, &mut sum)?;
    Ok(sum.0.finalize())
}

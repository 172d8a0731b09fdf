//! Reading an `.npz` file.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use crate::memory::DEFAULT_LIMIT;
use crate::{Array, Dtype, Shape, file, npy};

use super::NpzError;
use super::archive::Archive;
use super::error::MemberProblem;
use super::inflate::{Inflate, MAX_RATIO};
use super::records::{
    DEFLATED, ENCRYPTED, END_LENGTH, End, Entry, Fields, LOCAL_LENGTH, MAX_COMMENT, STORED, UTF8,
    ZIP64_END_LENGTH, ZIP64_LOCATOR_LENGTH,
};

/// Reads the contents of an `.npz` file: its arrays by name, in the order of the archive.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, Array)>, NpzError> {
    read_from(&mut Cursor::new(bytes), DEFAULT_LIMIT)
}

/// Reads an `.npz` file: its arrays by name, in the order of the archive. All members have to be
/// arrays; where some are not, or not all are wanted, see [`Archive`].
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<(String, Array)>, NpzError> {
    let path = path.as_ref();
    let read = || Archive::new(file::open(path)?)?.read_all();
    read().map_err(|e| e.of_file(path))
}

/// Reads an `.npz` file whose arrays together take no more than `limit` bytes of memory.
pub fn read_from(
    input: &mut (impl Read + Seek),
    limit: u64,
) -> Result<Vec<(String, Array)>, NpzError> {
    Archive::new(input)?.within(limit).read_all()
}

/// The members, and where the directory that lists them starts.
pub(super) fn read_directory(
    input: &mut (impl Read + Seek),
) -> Result<(Vec<Entry>, u64), NpzError> {
    let length = input.seek(SeekFrom::End(0))?;
    let (end, end_at) = read_end(input, length)?;
    if end.offset.checked_add(end.length) != Some(end_at) {
        let problem = "the directory does not end where the record at the end starts";
        return Err(NpzError::Damaged { at: end_at, problem });
    }
    let bytes = read_at(input, end.offset, end.length, length)?;
    let mut fields = Fields(&bytes);
    let mut entries = Vec::new();
    while !fields.0.is_empty() {
        let at = end_at.saturating_sub(fields.0.len() as u64);
        let problem = "not a record of the directory";
        entries.push(fields.entry().ok_or(NpzError::Damaged { at, problem })?);
    }
    if entries.len() as u64 != end.entries {
        let problem = "the number of members is not that in the directory";
        return Err(NpzError::Damaged { at: end_at, problem });
    }
    Ok((entries, end.offset))
}

/// The record at the end, in its Zip64 form if there is one, and its position.
fn read_end(input: &mut (impl Read + Seek), length: u64) -> Result<(End, u64), NpzError> {
    let tail_length = length.min(END_LENGTH.saturating_add(MAX_COMMENT));
    let tail = read_at(input, length.saturating_sub(tail_length), tail_length, length)?;
    // The record is followed by a comment, which may hold anything: the last one counts whose
    // comment ends with the file.
    let found = (0..tail.len()).rev().find_map(|start| {
        let record = tail.get(start..)?;
        let (end, comment) = Fields(record).end()?;
        let whole = END_LENGTH.checked_add(u64::from(comment))?;
        (whole == record.len() as u64).then_some((end, whole))
    });
    let (end, whole) = found.ok_or(NpzError::NotZip)?;
    let end_at = length.saturating_sub(whole);
    let Some(locator_at) = end_at.checked_sub(ZIP64_LOCATOR_LENGTH) else {
        return Ok((end, end_at));
    };
    let locator = read_at(input, locator_at, ZIP64_LOCATOR_LENGTH, length)?;
    let Some(zip64_at) = Fields(&locator).zip64_locator() else {
        return Ok((end, end_at));
    };
    let record = read_at(input, zip64_at, ZIP64_END_LENGTH, length)?;
    let problem = "not the Zip64 record that should be here";
    let end = Fields(&record).zip64_end().ok_or(NpzError::Damaged { at: zip64_at, problem })?;
    Ok((end, zip64_at))
}

/// Reads `count` bytes at a position, if a file of `length` bytes has them.
fn read_at(
    input: &mut (impl Read + Seek),
    at: u64,
    count: u64,
    length: u64,
) -> Result<Vec<u8>, NpzError> {
    if at.checked_add(count).is_none_or(|end| end > length) {
        return Err(NpzError::Damaged { at, problem: "a record beyond the end of the file" });
    }
    input.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; count as usize];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// For each member, where the next one or the directory starts: the member has to end before.
pub(super) fn ends(entries: &[Entry], directory: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&n| entries.get(n).map(|entry| entry.offset));
    let mut ends = vec![directory; entries.len()];
    for pair in order.windows(2) {
        if let [n, next] = *pair
            && let (Some(end), Some(entry)) = (ends.get_mut(n), entries.get(next))
        {
            *end = entry.offset.min(directory);
        }
    }
    ends
}

pub(super) fn member_name(entry: &Entry) -> Result<&str, NpzError> {
    let shown = || String::from_utf8_lossy(&entry.name).into_owned();
    let bad = |problem| NpzError::BadName { name: shown(), problem };
    let name = std::str::from_utf8(&entry.name).map_err(|_| bad("a name that is not UTF-8"))?;
    if entry.flags & UTF8 == 0 && !name.is_ascii() {
        return Err(bad("a name that is not marked as UTF-8"));
    }
    Ok(name)
}

/// A member by the directory, and the position before which it has to end.
pub(super) struct Member<'a> {
    pub(super) entry: &'a Entry,
    pub(super) end: u64,
    pub(super) name: &'a str,
}

impl Member<'_> {
    fn refuse<T>(&self, problem: MemberProblem) -> Result<T, NpzError> {
        Err(NpzError::Member { name: self.name.into(), problem })
    }

    /// What the header of its array says; nothing more of it is read.
    pub(super) fn describe(
        &self,
        input: &mut (impl Read + Seek),
    ) -> Result<(Dtype, Shape), NpzError> {
        self.check_entry()?;
        self.seek_data(input)?;
        let &Entry { method, packed, unpacked, .. } = self.entry;
        let mut data = input.take(packed);
        let found = if method == STORED {
            npy::describe(&mut data, unpacked)
        } else {
            npy::describe(&mut Inflate::new(data), unpacked)
        };
        found.map_err(|source| NpzError::Array { name: self.name.into(), source })
    }

    pub(super) fn read(
        &self,
        input: &mut (impl Read + Seek),
        limit: u64,
    ) -> Result<Array, NpzError> {
        self.check_entry()?;
        self.seek_data(input)?;
        let &Entry { method, crc, packed, unpacked, .. } = self.entry;
        let of_array = |source| NpzError::Array { name: self.name.into(), source };
        let data = input.take(packed);
        // The array takes up all that is unpacked, or else is refused; so the checksum covers it.
        let (array, found) = if method == STORED {
            let mut data = Summed::new(data);
            (npy::read_from(&mut data, unpacked, limit).map_err(of_array)?, data.crc())
        } else {
            let mut data = Summed::new(Inflate::new(data));
            let array = npy::read_from(&mut data, unpacked, limit).map_err(of_array)?;
            let found = data.crc();
            if data.input.goes_on().map_err(|e| of_array(e.into()))? {
                return self.refuse(MemberProblem::TooLong { declared: unpacked });
            }
            (array, found)
        };
        if found == crc { Ok(array) } else { self.refuse(MemberProblem::Checksum) }
    }

    /// What can be refused by the directory alone.
    fn check_entry(&self) -> Result<(), NpzError> {
        let &Entry { flags, method, packed, unpacked, .. } = self.entry;
        if flags & ENCRYPTED != 0 {
            return self.refuse(MemberProblem::Encrypted);
        }
        match method {
            STORED if packed != unpacked => {
                self.refuse(MemberProblem::StoredLength { stored: packed, declared: unpacked })
            }
            DEFLATED if unpacked > packed.saturating_mul(MAX_RATIO) => {
                self.refuse(MemberProblem::Ratio { deflated: packed, declared: unpacked })
            }
            STORED | DEFLATED => Ok(()),
            other => self.refuse(MemberProblem::Compression(other)),
        }
    }

    /// Goes to the data, which lie behind the member's own record.
    fn seek_data(&self, input: &mut (impl Read + Seek)) -> Result<(), NpzError> {
        let &Entry { offset, packed, .. } = self.entry;
        let room = self.end.saturating_sub(offset);
        if room < LOCAL_LENGTH {
            return self.refuse(MemberProblem::Overlap);
        }
        let record = read_at(input, offset, LOCAL_LENGTH, self.end)?;
        let Some((name_length, extra_length)) = Fields(&record).local() else {
            return self.refuse(MemberProblem::RecordMismatch);
        };
        let variable = u64::from(name_length).saturating_add(extra_length.into());
        let data = LOCAL_LENGTH.saturating_add(variable);
        if data.saturating_add(packed) > room {
            return self.refuse(MemberProblem::Overlap);
        }
        let name_at = offset.saturating_add(LOCAL_LENGTH);
        if read_at(input, name_at, name_length.into(), self.end)? != self.entry.name {
            return self.refuse(MemberProblem::RecordMismatch);
        }
        input.seek(SeekFrom::Start(offset.saturating_add(data)))?;
        Ok(())
    }
}

/// A stream with the checksum of what has been read of it.
struct Summed<R> {
    input: R,
    sum: crc32fast::Hasher,
}

impl<R> Summed<R> {
    fn new(input: R) -> Summed<R> {
        Summed { input, sum: crc32fast::Hasher::new() }
    }

    fn crc(&self) -> u32 {
        self.sum.clone().finalize()
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(output)?;
        self.sum.update(output.get(..n).unwrap_or_default());
        Ok(n)
    }
}

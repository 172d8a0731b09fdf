//! The records of a zip archive: of a member, of the directory and of the end, with their Zip64
//! forms for what 32 bits cannot count.

/// Marks a 32-bit field whose value stands in the Zip64 record.
const IN_ZIP64: u32 = u32::MAX;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const ZIP64_END: u32 = 0x0606_4b50;
const ZIP64_LOCATOR: u32 = 0x0706_4b50;
const ZIP64_EXTRA: u16 = 1;

/// The lengths of the records, without the names and comments in them.
pub(super) const LOCAL_LENGTH: u64 = 30;
pub(super) const END_LENGTH: u64 = 22;
pub(super) const ZIP64_END_LENGTH: u64 = 56;
pub(super) const ZIP64_LOCATOR_LENGTH: u64 = 20;
/// The longest comment at the end of an archive.
pub(super) const MAX_COMMENT: u64 = 65_535;

/// Bits of `flags`.
pub(super) const ENCRYPTED: u16 = 1;
pub(super) const UTF8: u16 = 1 << 11;

/// Compression methods.
pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;

/// What the directory says of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    /// Bytes in the archive.
    pub(super) packed: u64,
    /// Bytes unpacked.
    pub(super) unpacked: u64,
    /// Where the member's own record starts.
    pub(super) offset: u64,
}

/// Where the directory is, by the record at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) entries: u64,
    pub(super) length: u64,
    pub(super) offset: u64,
}

/// Reads little-endian fields off the front of a record; `None` when it is too short.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn signature(&mut self, expected: u32) -> Option<()> {
        (self.u32()? == expected).then_some(())
    }

    /// The value of a 32-bit field, from the Zip64 record if it says so.
    fn wide(&mut self, field: u32) -> Option<u64> {
        if field == IN_ZIP64 { self.u64() } else { Some(u64::from(field)) }
    }

    /// A member in the directory.
    pub(super) fn entry(&mut self) -> Option<Entry> {
        self.signature(CENTRAL)?;
        self.bytes(4)?; // versions
        let (flags, method) = (self.u16()?, self.u16()?);
        self.bytes(4)?; // time
        let crc = self.u32()?;
        let (packed, unpacked) = (self.u32()?, self.u32()?);
        let [name, extra, comment] = [self.u16()?, self.u16()?, self.u16()?];
        self.bytes(8)?; // disk, attributes
        let offset = self.u32()?;
        let name = self.bytes(usize::from(name))?.to_vec();
        let mut zip64 = zip64_extra(self.bytes(usize::from(extra))?);
        self.bytes(usize::from(comment))?;
        let (unpacked, packed) = (zip64.wide(unpacked)?, zip64.wide(packed)?);
        let offset = zip64.wide(offset)?;
        Some(Entry { name, flags, method, crc, packed, unpacked, offset })
    }

    /// The lengths of name and extra field in a member's own record. Its other fields repeat the
    /// directory, or are empty when the writer did not know them yet.
    pub(super) fn local(&mut self) -> Option<(u16, u16)> {
        self.signature(LOCAL)?;
        self.bytes(22)?;
        Some((self.u16()?, self.u16()?))
    }

    /// The record at the end, and the length of the comment after it.
    pub(super) fn end(&mut self) -> Option<(End, u16)> {
        self.signature(END)?;
        self.bytes(6)?; // disks
        let (entries, length, offset) = (self.u16()?, self.u32()?, self.u32()?);
        let end = End { entries: entries.into(), length: length.into(), offset: offset.into() };
        Some((end, self.u16()?))
    }

    /// The position of the Zip64 record at the end.
    pub(super) fn zip64_locator(&mut self) -> Option<u64> {
        self.signature(ZIP64_LOCATOR)?;
        self.bytes(4)?; // disk
        self.u64()
    }

    /// The Zip64 record at the end.
    pub(super) fn zip64_end(&mut self) -> Option<End> {
        self.signature(ZIP64_END)?;
        self.bytes(28)?; // length, versions, disks, entries on this disk
        Some(End { entries: self.u64()?, length: self.u64()?, offset: self.u64()? })
    }
}

/// The Zip64 record among the extra fields of a member; empty when there is none.
fn zip64_extra(extra: &[u8]) -> Fields<'_> {
    let mut fields = Fields(extra);
    while let (Some(id), Some(length)) = (fields.u16(), fields.u16()) {
        match fields.bytes(usize::from(length)) {
            Some(body) if id == ZIP64_EXTRA => return Fields(body),
            Some(_) => {}
            None => break,
        }
    }
    Fields(&[])
}

/// Needed to unpack: version 4.5 for Zip64, else 2.0.
fn version(zip64: bool) -> u16 {
    if zip64 { 45 } else { 20 }
}

/// A field of 32 bits, or the mark that says that its value is in `zip64`.
fn narrow(value: u64, zip64: &mut Vec<u8>) -> u32 {
    match u32::try_from(value) {
        Ok(small) if small != IN_ZIP64 => small,
        _ => {
            zip64.extend(value.to_le_bytes());
            IN_ZIP64
        }
    }
}

/// The Zip64 record as an extra field, unless it is empty.
fn extra_field(zip64: &[u8]) -> Vec<u8> {
    if zip64.is_empty() {
        return Vec::new();
    }
    [&ZIP64_EXTRA.to_le_bytes(), &(zip64.len() as u16).to_le_bytes(), zip64].concat()
}

impl Entry {
    /// 1 January 1980, midnight: the time and the date before which zip archives know none.
    const TIME: [u8; 4] = [0, 0, 0b0010_0001, 0];
    /// Made on Unix, a regular file that all may read.
    const UNIX: u16 = 3 << 8;
    const ATTRIBUTES: u32 = 0o100_644 << 16;

    /// The member's own record.
    pub(super) fn local_record(&self) -> Vec<u8> {
        let mut zip64 = Vec::new();
        // Here, unlike in the directory, both lengths have to move when one does.
        let (mut unpacked, mut packed) =
            (narrow(self.unpacked, &mut zip64), narrow(self.packed, &mut zip64));
        if !zip64.is_empty() {
            zip64 = [self.unpacked.to_le_bytes(), self.packed.to_le_bytes()].concat();
            (unpacked, packed) = (IN_ZIP64, IN_ZIP64);
        }
        let mut record = LOCAL.to_le_bytes().to_vec();
        record.extend(version(!zip64.is_empty()).to_le_bytes());
        self.common(&mut record, packed, unpacked, &extra_field(&zip64));
        record.extend(&self.name);
        record.extend(extra_field(&zip64));
        record
    }

    /// The member's record in the directory.
    pub(super) fn central_record(&self) -> Vec<u8> {
        let mut zip64 = Vec::new();
        let unpacked = narrow(self.unpacked, &mut zip64);
        let packed = narrow(self.packed, &mut zip64);
        let offset = narrow(self.offset, &mut zip64);
        let version = version(!zip64.is_empty());
        let mut record = CENTRAL.to_le_bytes().to_vec();
        record.extend((Entry::UNIX | version).to_le_bytes());
        record.extend(version.to_le_bytes());
        self.common(&mut record, packed, unpacked, &extra_field(&zip64));
        record.extend([0; 6]); // comment, disk, kind of content
        record.extend(Entry::ATTRIBUTES.to_le_bytes());
        record.extend(offset.to_le_bytes());
        record.extend(&self.name);
        record.extend(extra_field(&zip64));
        record
    }

    fn common(&self, record: &mut Vec<u8>, packed: u32, unpacked: u32, extra: &[u8]) {
        record.extend(self.flags.to_le_bytes());
        record.extend(self.method.to_le_bytes());
        record.extend(Entry::TIME);
        record.extend(self.crc.to_le_bytes());
        record.extend(packed.to_le_bytes());
        record.extend(unpacked.to_le_bytes());
        record.extend((self.name.len() as u16).to_le_bytes());
        record.extend((extra.len() as u16).to_le_bytes());
    }
}

impl End {
    /// The records at the end.
    pub(super) fn records(&self) -> Vec<u8> {
        let mut zip64 = Vec::new();
        let entries = u16::try_from(self.entries).unwrap_or(u16::MAX);
        let (length, offset) = (narrow(self.length, &mut zip64), narrow(self.offset, &mut zip64));
        let mut records = Vec::new();
        if !zip64.is_empty() || entries == u16::MAX {
            records.extend(ZIP64_END.to_le_bytes());
            records.extend(ZIP64_END_LENGTH.saturating_sub(12).to_le_bytes());
            records.extend((Entry::UNIX | version(true)).to_le_bytes());
            records.extend(version(true).to_le_bytes());
            records.extend([0; 8]); // disks
            for count in [self.entries, self.entries, self.length, self.offset] {
                records.extend(count.to_le_bytes());
            }
            records.extend(ZIP64_LOCATOR.to_le_bytes());
            records.extend([0; 4]); // disk
            records.extend(self.offset.saturating_add(self.length).to_le_bytes());
            records.extend(1u32.to_le_bytes()); // disks in all
        }
        records.extend(END.to_le_bytes());
        records.extend([0; 4]); // disks
        records.extend(entries.to_le_bytes());
        records.extend(entries.to_le_bytes());
        records.extend(length.to_le_bytes());
        records.extend(offset.to_le_bytes());
        records.extend([0; 2]); // comment
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 6] = [0, 7, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, 1 << 50];

    #[test]
    fn directory_records_read_back_at_every_size() {
        for packed in SIZES {
            for unpacked in SIZES {
                for offset in SIZES {
                    let name = b"x.npy".to_vec();
                    let (flags, method, crc) = (UTF8, STORED, 0x1234_5678);
                    let entry = Entry { name, flags, method, crc, packed, unpacked, offset };
                    let record = entry.central_record();
                    let mut fields = Fields(&record);
                    assert_eq!(fields.entry(), Some(entry));
                    assert!(fields.0.is_empty());
                }
            }
        }
    }

    #[test]
    fn end_records_read_back_at_every_size() {
        for entries in [0, 1, 65_534, 65_535, 65_536] {
            for length in SIZES {
                for offset in SIZES {
                    let written = End { entries, length, offset };
                    let records = written.records();
                    let (zip64, end) = records.split_at(records.len() - END_LENGTH as usize);
                    let narrow = Fields(end).end().unwrap();
                    assert_eq!(narrow.1, 0);
                    if zip64.is_empty() {
                        assert_eq!(narrow.0, written);
                        continue;
                    }
                    let (record, locator) = zip64.split_at(ZIP64_END_LENGTH as usize);
                    assert_eq!(Fields(record).zip64_end(), Some(written));
                    assert_eq!(Fields(locator).zip64_locator(), Some(offset + length));
                }
            }
        }
    }

    #[test]
    fn a_member_states_both_lengths_or_neither() {
        for unpacked in SIZES {
            let name = b"xyz".to_vec();
            let (flags, method, crc, packed, offset) = (0, DEFLATED, 0, 9, 0);
            let entry = Entry { name, flags, method, crc, packed, unpacked, offset };
            let record = entry.local_record();
            let (name, extra) = Fields(&record).local().unwrap();
            assert_eq!((name, extra), (3, if unpacked >= 0xffff_ffff { 20 } else { 0 }));
            assert_eq!(record.len() as u64, LOCAL_LENGTH + 3 + u64::from(extra));
        }
    }
}

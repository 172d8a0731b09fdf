//! Archives: round trips, those made by hand, those that lie, those that are bombs.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use std::io::Cursor;

use cotan_array::{Array, Dtype, Shape, npy, npz};
use miniz_oxide::deflate::compress_to_vec;
use support::{Rng, header, npy1};

/// A member of an archive made by hand, with all that can be lied about.
#[derive(Clone)]
struct Member {
    name: Vec<u8>,
    local_name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed: Vec<u8>,
    declared_packed: u32,
    declared_unpacked: u32,
    /// Where the directory says it is, if not where it is.
    declared_offset: Option<u32>,
    /// The fields of its own record are empty and follow the data, as from a stream.
    streamed: bool,
}

impl Member {
    fn stored(name: &str, data: &[u8]) -> Member {
        Member {
            name: name.into(),
            local_name: name.into(),
            flags: 0,
            method: 0,
            crc: crc32fast::hash(data),
            packed: data.to_vec(),
            declared_packed: data.len() as u32,
            declared_unpacked: data.len() as u32,
            declared_offset: None,
            streamed: false,
        }
    }

    fn deflated(name: &str, data: &[u8]) -> Member {
        let packed = compress_to_vec(data, 6);
        let declared_packed = packed.len() as u32;
        Member { method: 8, packed, declared_packed, ..Member::stored(name, data) }
    }

    fn fields(&self, with_sizes: bool) -> Vec<u8> {
        let sizes = [self.crc, self.declared_packed, self.declared_unpacked];
        let sizes = if with_sizes { sizes } else { [0; 3] };
        let flags = self.flags | u16::from(self.streamed) << 3;
        let words = [flags, self.method, 0, 33].map(u16::to_le_bytes).concat();
        [words, sizes.map(u32::to_le_bytes).concat()].concat()
    }
}

fn zip(members: &[Member]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let offset = member.declared_offset.unwrap_or(archive.len() as u32);
        let name_length = (member.local_name.len() as u16).to_le_bytes();
        archive.extend(b"PK\x03\x04\x14\0");
        archive.extend(member.fields(!member.streamed));
        archive.extend([name_length, [5, 0]].concat());
        archive.extend(&member.local_name);
        archive.extend(b"\xff\xff\x01\0x"); // an extra field of a kind nobody knows
        archive.extend(&member.packed);
        if member.streamed {
            archive.extend(b"PK\x07\x08");
            archive.extend(&member.fields(true)[8..]);
        }
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        directory.extend(member.fields(true));
        directory.extend((member.name.len() as u16).to_le_bytes());
        directory.extend([0; 12]);
        directory.extend(offset.to_le_bytes());
        directory.extend(&member.name);
    }
    let (start, length) = (archive.len() as u32, directory.len() as u32);
    let count = (members.len() as u16).to_le_bytes();
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].concat());
    archive.extend([length, start].map(u32::to_le_bytes).concat());
    archive.extend([0, 0]);
    archive
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

/// `n` numbers, and the contents of their `.npy` file.
fn numbers(n: usize) -> (Array, Vec<u8>) {
    let array = Array::from_fn(shape(&[n]), |ix| ix[0] as i64 * 7 % 11).unwrap();
    let bytes = npy::write(&array).unwrap();
    (array, bytes)
}

fn refused(archive: &[u8], message: &str) {
    assert_eq!(npz::read(archive).unwrap_err().to_string(), message);
}

#[test]
fn every_type_reads_back_in_order() {
    let arrays: Vec<(String, Array)> = Dtype::ALL
        .iter()
        .flat_map(|&dtype| [vec![], vec![0, 3], vec![4], vec![2, 3, 1]].map(|dims| (dtype, dims)))
        .map(|(dtype, dims)| {
            let (array, _) = numbers(dims.iter().product());
            let array = array.cast(dtype).unwrap().reshape(shape(&dims)).unwrap();
            (format!("{dtype}/größe{}", dims.len()), array)
        })
        .collect();
    let bytes = npz::write(&arrays).unwrap();
    assert_eq!(npz::read(&bytes).unwrap(), arrays);
    assert_eq!(npz::write(&arrays).unwrap(), bytes, "the same arrays give the same bytes");

    let path = std::env::temp_dir().join(format!("cotan-npz-{}.npz", std::process::id()));
    npz::write_file(&path, &arrays).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(npz::read_file(&path).unwrap(), arrays);
    std::fs::remove_file(&path).unwrap();

    let nothing: [(&str, Array); 0] = [];
    assert_eq!(npz::read(&npz::write(&nothing).unwrap()).unwrap(), []);
}

#[test]
fn stored_deflated_and_streamed_members_are_read() {
    let (small, small_bytes) = numbers(3);
    let (large, large_bytes) = numbers(100_000);
    let streamed = Member { streamed: true, ..Member::deflated("c", &large_bytes) };
    let archive = zip(&[
        Member::stored("a.npy", &small_bytes),
        Member::deflated("b.npy", &large_bytes),
        streamed,
        Member::stored("d", &small_bytes),
    ]);
    let expected = [("a", &small), ("b", &large), ("c", &large), ("d", &small)];
    let expected: Vec<(String, Array)> =
        expected.iter().map(|&(name, array)| (name.into(), array.clone())).collect();
    assert_eq!(npz::read(&archive).unwrap(), expected);
    // A comment follows the record at the end.
    let mut commented = archive;
    commented.truncate(commented.len() - 2);
    commented.extend(b"\x04\0PK\x05\x06");
    assert_eq!(npz::read(&commented).unwrap(), expected);
}

#[test]
fn zip64_archives_are_read() {
    let (array, bytes) = numbers(5);
    let length = bytes.len() as u64;
    let zip64 = [&[1, 0, 24, 0][..], &[length, length, 0].map(u64::to_le_bytes).concat()].concat();
    let sizes = [crc32fast::hash(&bytes), u32::MAX, u32::MAX].map(u32::to_le_bytes).concat();
    let mut archive = b"PK\x03\x04\x2d\0\0\0\0\0\0\0\x21\0".to_vec();
    archive.extend(&sizes);
    archive.extend(b"\x05\0\x14\0x.npy\x01\0\x10\0");
    archive.extend(&zip64[4..20]);
    archive.extend(&bytes);
    let directory_at = archive.len() as u64;
    archive.extend(b"PK\x01\x02\x2d\x03\x2d\0\0\0\0\0\0\0\x21\0");
    archive.extend(&sizes);
    archive.extend(b"\x05\0\x1c\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xffx.npy");
    archive.extend(&zip64);
    let end_at = archive.len() as u64;
    archive.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    archive.extend([1, 1, end_at - directory_at, directory_at].map(u64::to_le_bytes).concat());
    archive.extend(b"PK\x06\x07\0\0\0\0");
    archive.extend(end_at.to_le_bytes());
    archive.extend(
        b"\x01\0\0\0PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
    );
    assert_eq!(npz::read(&archive).unwrap(), [("x".to_string(), array)]);

    let at = archive.len() - 22 - 20 + 8;
    archive[at] ^= 1;
    let problem = "not the Zip64 record that should be here";
    refused(&archive, &format!("damaged archive, byte {}: {problem}", end_at ^ 1));
}

#[test]
fn what_is_no_archive_is_refused() {
    let message = "not an .npz file: no zip archive ends at its end; it may be cut off, or be a \
                   single array (.npy); write it with numpy.savez";
    let (_, bytes) = numbers(3);
    refused(b"", message);
    refused(b"PK\x05\x06", message);
    refused(&bytes, message);
    let archive = zip(&[Member::stored("x", &bytes)]);
    refused(&archive[..archive.len() - 1], message);
    refused(&[&archive[..], b"\n"].concat(), message);
    let shifted = [b"#!/bin/sh\n", &archive[..]].concat();
    let problem = "the directory does not end where the record at the end starts";
    refused(&shifted, &format!("damaged archive, byte {}: {problem}", shifted.len() - 22));
}

#[test]
fn lying_directories_are_refused() {
    let (_, bytes) = numbers(3);
    let archive = zip(&[Member::stored("x", &bytes)]);
    let end = archive.len() - 22;
    let changed = |at: usize, value: u8| {
        let mut copy = archive.clone();
        copy[at] = value;
        copy
    };
    let count = "the number of members is not that in the directory";
    refused(&changed(end + 10, 2), &format!("damaged archive, byte {end}: {count}"));
    let directory = end - 46 - 1;
    let record = "not a record of the directory";
    refused(&changed(directory, 0), &format!("damaged archive, byte {directory}: {record}"));
    refused(&changed(directory + 28, 2), &format!("damaged archive, byte {directory}: {record}"));
    refused(&changed(directory + 32, 9), &format!("damaged archive, byte {directory}: {record}"));
    let place = "the directory does not end where the record at the end starts";
    refused(&changed(end + 15, 255), &format!("damaged archive, byte {end}: {place}"));
}

#[test]
fn lying_members_are_refused() {
    let (_, bytes) = numbers(3);
    let stored = Member::stored("x", &bytes);
    let deflated = Member::deflated("x", &bytes);
    let n = bytes.len() as u32;
    let lie = |message: &str, member: Member| {
        refused(&zip(&[member]), &format!("member \"x\": {message}"));
    };
    lie("encrypted; save it without a password", Member { flags: 1, ..stored.clone() });
    lie(
        "compression method 14; only stored (0) and deflated (8) members are read",
        Member { method: 14, ..stored.clone() },
    );
    lie(
        &format!("stored, yet {n} bytes in the archive and {} unpacked", n + 1),
        Member { declared_unpacked: n + 1, ..stored.clone() },
    );
    lie("wrong checksum; the file is damaged", Member { crc: 1, ..stored.clone() });
    lie("wrong checksum; the file is damaged", Member { crc: 1, ..deflated.clone() });
    let disagree = "the directory and the member's own record disagree";
    lie(disagree, Member { local_name: b"y".into(), ..stored.clone() });
    lie(disagree, Member { declared_offset: Some(1), ..stored.clone() });
    lie(
        "overlaps another part of the archive; refused as a zip bomb",
        Member { declared_offset: Some(u32::MAX - 1), ..stored.clone() },
    );
    lie(
        "overlaps another part of the archive; refused as a zip bomb",
        Member { declared_packed: n + 1, declared_unpacked: n + 1, ..stored.clone() },
    );
    let cut = deflated.packed[..deflated.packed.len() - 5].to_vec();
    lie(
        "the deflated data are cut off",
        Member { declared_packed: cut.len() as u32, packed: cut, ..deflated.clone() },
    );
    lie(
        "the deflated data are damaged",
        Member { packed: vec![0xff; deflated.packed.len()], ..deflated.clone() },
    );
    let longer = compress_to_vec(&[&bytes[..], &[0; 100]].concat(), 6);
    lie(
        &format!("data after its declared end of {n} bytes"),
        Member { declared_packed: longer.len() as u32, packed: longer, ..deflated.clone() },
    );
    let followed = [&deflated.packed[..], b"?"].concat();
    lie(
        &format!("data after its declared end of {n} bytes"),
        Member { declared_packed: followed.len() as u32, packed: followed, ..deflated },
    );
    lie(
        "not an .npy file: it starts with \"hello\" instead of \"\\x93NUMPY\"; write it with \
         numpy.save",
        Member::stored("x", b"hello"),
    );
}

#[test]
fn bombs_are_refused() {
    let (_, bytes) = numbers(3);
    // More than deflate can make of so few bytes.
    let bomb = Member { declared_unpacked: u32::MAX - 1, ..Member::deflated("x", &bytes) };
    let message = format!(
        "member \"x\": {} bytes cannot inflate to 4294967294; refused as a zip bomb",
        bomb.packed.len()
    );
    refused(&zip(&[bomb]), &message);

    // An honest one, of more than the limit: refused by its header, before its data are inflated.
    let zeros = npy1(header("<f8", "(1000000,)"), &vec![0; 8_000_000]);
    let archive = zip(&[Member::deflated("x", &zeros)]);
    assert!(archive.len() < 10_000);
    let read = |limit| npz::read_from(&mut Cursor::new(&archive), limit);
    assert!(read(8_000_000).is_ok());
    assert_eq!(
        read(7_999_999).unwrap_err().to_string(),
        "member \"x\": npy: an array of shape [1000000] of f64 needs 8000000 bytes; the limit is \
         7999999"
    );

    // The limit is for all members together.
    let two = zip(&[Member::deflated("x", &zeros), Member::deflated("y", &zeros)]);
    assert_eq!(
        npz::read_from(&mut Cursor::new(&two), 15_999_999).unwrap_err().to_string(),
        "member \"y\": npy: an array of shape [1000000] of f64 needs 8000000 bytes; the limit is \
         7999999"
    );

    // Its header tells less than the directory does.
    let short = npy1(header("<f8", "(1,)"), &vec![0; 8_000_000]);
    let message = "member \"x\": bytes after the data: shape [1] of '<f8' ends at byte 76, the file \
                   at byte 8000068";
    refused(&zip(&[Member::deflated("x", &short)]), message);

    // Two members that share their data.
    let again = Member { declared_offset: Some(0), ..Member::stored("x", &bytes) };
    let twice = zip(&[Member::stored("x", &bytes), Member { name: b"y".into(), ..again }]);
    let message = "member \"x\": overlaps another part of the archive; refused as a zip bomb";
    refused(&twice, message);
}

#[test]
fn names_are_checked_before_anything_is_read() {
    let (array, bytes) = numbers(3);
    let named = |name: &[u8]| {
        let member = Member::stored("", &bytes);
        Member { name: name.into(), local_name: name.into(), ..member }
    };
    let broken = Member { crc: 1, ..named(b"broken") };
    let both = |name: &[u8]| zip(&[broken.clone(), named(b"x.npy"), named(name)]);
    refused(&both(b"x.npy"), "two members are named \"x\"");
    refused(&both(b"x"), "two members are named \"x\"");
    refused(&both(b"/tmp/x.npy"), "member \"/tmp/x.npy\": an absolute path as its name");
    let dots = "a path with an empty part, '.' or '..' as its name";
    refused(&both(b"../x.npy"), &format!("member \"../x.npy\": {dots}"));
    refused(&both(b"a\\b"), "member \"a\\\\b\": a backslash in its name");
    refused(&both(b"a\0b"), "member \"a\\0b\": a control character in its name");
    refused(&both(b".npy"), "member \".npy\": an empty name");
    refused(&both(b"\xff.npy"), "member \"\u{fffd}.npy\": a name that is not UTF-8");
    refused(&both("é".as_bytes()), "member \"é\": a name that is not marked as UTF-8");
    let write = |names: &[&str]| {
        let arrays: Vec<_> = names.iter().map(|&name| (name, array.clone())).collect();
        npz::write(&arrays).unwrap_err().to_string()
    };
    assert_eq!(write(&["a", "a"]), "two members are named \"a\"");
    assert_eq!(write(&["../a"]), format!("member \"../a.npy\": {dots}"));
}

#[test]
fn too_much_at_once_is_refused_before_it_is_written() {
    let huge = Array::scalar(1.0).replicate(1 << 31).unwrap();
    let arrays = [("small", Array::scalar(1.0)), ("huge", huge)];
    assert_eq!(
        npz::write(&arrays).unwrap_err().to_string(),
        "member \"huge\": npz: an array of shape [2147483648] of f64 needs 17179869184 bytes; the \
         limit is 17179869176"
    );
}

#[test]
fn no_mutation_of_an_archive_makes_the_reader_panic() {
    let mut rng = Rng(0x0dd_ba11_5eed_5eed);
    let (_, bytes) = numbers(4);
    let streamed = Member { streamed: true, ..Member::deflated("c", &bytes) };
    let archives = [
        zip(&[Member::stored("a", &bytes), Member::deflated("b.npy", &bytes)]),
        zip(&[streamed]),
        npz::write(&[("x", Array::scalar(true)), ("y", Array::scalar(1.5f32))]).unwrap(),
    ];
    let (mut accepted, mut refused) = (0, 0);
    for n in 0..20_000 {
        match npz::read(&rng.mutate(&archives[n % archives.len()])) {
            Ok(_) => accepted += 1,
            Err(e) => {
                assert!(!e.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(accepted > 100 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn errors_of_files_name_them() {
    let missing = npz::read_file("no/such/file.npz").unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file.npz: "), "{missing}");
    let folder = npz::read_file(std::env::temp_dir()).unwrap_err().to_string();
    assert!(folder.ends_with(": a folder, not a regular file"), "{folder}");
}

#[test]
fn only_what_is_asked_for_need_be_readable() {
    let (array, bytes) = numbers(4);
    let strings = npy1(header("<U3", "(2,)"), &[0; 24]);
    let objects = npy1(header("|O", "(1,)"), b"pickled");
    let damaged = Member { crc: 0, ..Member::stored("damaged.npy", &bytes) };
    let strange = Member { method: 99, ..Member::stored("strange.npy", &bytes) };
    let archive = zip(&[
        Member::deflated("names.npy", &strings),
        Member::stored("x.npy", &bytes),
        Member::stored("objects.npy", &objects),
        Member::stored("readme.txt", b"hello"),
        Member::stored("../up.npy", &bytes),
        Member::stored("folder/", b""),
        Member::stored("twice.npy", &bytes),
        Member::stored("twice.npy", &bytes),
        damaged,
        strange,
        Member::deflated("y", &bytes),
    ]);
    assert!(npz::read(&archive).is_err(), "reading all of it fails");
    let mut archive = npz::Archive::new(Cursor::new(&archive)).unwrap();
    let names: Vec<&str> = archive.names().collect();
    let members = ["names", "x", "objects", "readme.txt", "../up.npy", "folder/", "twice"];
    assert_eq!(names, [&members[..], &["twice", "damaged", "strange", "y"]].concat());
    for name in ["x", "y"] {
        assert_eq!(archive.read(name).unwrap(), Some(array.clone()));
        assert_eq!(archive.describe(name).unwrap(), Some((Dtype::I64, shape(&[4]))));
    }
    assert_eq!(archive.read("z").unwrap(), None);
    assert_eq!(archive.describe("z").unwrap(), None);
    let reasons = [
        ("names", "member \"names\": elements of type '<U3' are not supported"),
        ("objects", "member \"objects\": elements of type '|O' are not supported"),
        ("readme.txt", "member \"readme.txt\": not an .npy file"),
        ("../up.npy", "'..' as its name"),
        ("folder/", "as its name"),
        ("twice", "two members are named \"twice\""),
        ("strange", "compression method 99"),
    ];
    for (name, reason) in reasons {
        let error = archive.read(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
        assert_eq!(archive.describe(name).unwrap_err().to_string(), error);
    }
    // Data are not looked at before they are read.
    assert!(archive.describe("damaged").is_ok());
    let error = archive.read("damaged").unwrap_err().to_string();
    assert!(error.contains("checksum"), "{error}");
}

#[test]
fn what_is_read_one_by_one_stays_within_one_limit() {
    let (_, bytes) = numbers(4);
    let archive = zip(&["a", "b", "c"].map(|name| Member::stored(name, &bytes)));
    let mut archive = npz::Archive::new(Cursor::new(&archive)).unwrap().within(64);
    assert!(archive.read("c").is_ok());
    assert!(archive.read("a").is_ok());
    let error = archive.read("b").unwrap_err().to_string();
    assert!(error.contains("needs 32 bytes; the limit is 0"), "{error}");
}

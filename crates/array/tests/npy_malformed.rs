//! Malformed `.npy` files made by hand, each with the message it gets.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use cotan_array::npy;
use support::{header, npy, npy1};

const MAX: &str = "9223372036854775807";

/// Each file must be refused with exactly this message.
fn refused(files: &[(Vec<u8>, &str)]) {
    for (bytes, message) in files {
        let found = npy::read(bytes).map_err(|e| e.to_string());
        assert_eq!(
            found.as_ref().err().map(String::as_str),
            Some(*message),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn beginnings() {
    refused(&[
        (b"".to_vec(), "cut off in the magic string: it needs 6 bytes and 0 are left"),
        (b"\x93NUM".to_vec(), "cut off in the magic string: it needs 6 bytes and 4 are left"),
        (
            b"\x93NUMPX\x01\0\0\0".to_vec(),
            "not an .npy file: it starts with \"\\x93NUMPX\" instead of \"\\x93NUMPY\"; \
             write it with numpy.save",
        ),
        (
            b"1,2,3\n".to_vec(),
            "not an .npy file: it starts with \"1,2,3\\n\" instead of \"\\x93NUMPY\"; \
             write it with numpy.save",
        ),
        (
            b"PK\x03\x04\x14\0\0\0".to_vec(),
            "not an .npy file: it starts with \"PK\\x03\\x04\\x14\\x00\" instead of \
             \"\\x93NUMPY\"; it looks like a zip archive: read it as .npz",
        ),
        (b"\x93NUMPY".to_vec(), "cut off in the version: it needs 2 bytes and 0 are left"),
        (b"\x93NUMPY\x01".to_vec(), "cut off in the version: it needs 2 bytes and 1 are left"),
        (
            b"\x93NUMPY\0\0\0\0".to_vec(),
            "version 0.0 of the .npy format is unknown; versions 1.0, 2.0 and 3.0 are read",
        ),
        (
            b"\x93NUMPY\x01\x01\0\0".to_vec(),
            "version 1.1 of the .npy format is unknown; versions 1.0, 2.0 and 3.0 are read",
        ),
        (
            b"\x93NUMPY\x04\0\0\0\0\0".to_vec(),
            "version 4.0 of the .npy format is unknown; versions 1.0, 2.0 and 3.0 are read",
        ),
    ]);
}

#[test]
fn header_lengths() {
    refused(&[
        (
            b"\x93NUMPY\x01\0\x76".to_vec(),
            "cut off in the header length: it needs 2 bytes and 1 are left",
        ),
        (
            b"\x93NUMPY\x02\0\x76\0\0".to_vec(),
            "cut off in the header length: it needs 4 bytes and 3 are left",
        ),
        (
            b"\x93NUMPY\x01\0\xff\xff".to_vec(),
            "cut off in the header: it needs 65535 bytes and 0 are left",
        ),
        (
            b"\x93NUMPY\x01\0\x20\0{'descr': '<f8', ".to_vec(),
            "cut off in the header: it needs 32 bytes and 17 are left",
        ),
        (
            b"\x93NUMPY\x02\0\xff\xff\xff\xff{}".to_vec(),
            "a header of 4294967295 bytes; at most 65535 are read (only structured types, which \
             are not supported, need more)",
        ),
        (
            npy([3, 0], &[b' '; 65_536], b""),
            "a header of 65536 bytes; at most 65535 are read (only structured types, which are \
             not supported, need more)",
        ),
        (npy1("", b""), "header, byte 10: expected '{', found the end of the header"),
        (npy([2, 0], b"", b""), "header, byte 12: expected '{', found the end of the header"),
        (npy1(" \n ", b""), "header, byte 13: expected '{', found the end of the header"),
    ]);
}

#[test]
fn dictionaries() {
    let key = "header, byte 11: expected a key in quotes or '}', found";
    refused(&[
        (npy1("{}", b""), "the header has no 'descr'"),
        (npy1("{", b""), &format!("{key} the end of the header")),
        (npy1("{,}", b""), &format!("{key} \",}}\"")),
        (npy1("{{{{{{", b""), &format!("{key} \"{{{{{{{{{{\"")),
        (npy1("{descr: '<f8'}", b""), &format!("{key} \"descr: '<f8'}}\"")),
        (npy1("['descr']", b""), "header, byte 10: expected '{', found \"['descr']\""),
        (
            npy1("{'descr", b""),
            "header, byte 11: expected a string closed by its quote, without escapes, found \
             \"'descr\"",
        ),
        (npy1("{'descr\": '<f8'}", b""), "header, byte 21: expected ':', found \"<f8'}\""),
        (npy1("{'descr' '<f8'}", b""), "header, byte 19: expected ':', found \"'<f8'}\""),
        (
            npy1("{'descr': '<f8' 'shape': ()}", b""),
            "header, byte 26: expected ',' or '}', found \"'shape': ()}\"",
        ),
        (
            npy1("{'descr': '<f8', 'shape': ()", b""),
            "header, byte 38: expected ',' or '}', found the end of the header",
        ),
        (npy1("{'descr': '<f8', 'shape': ()}", b""), "the header has no 'fortran_order'"),
        (npy1("{'fortran_order': True, 'shape': ()}", b""), "the header has no 'descr'"),
        (npy1("{'descr': '<f8', 'fortran_order': True}", b""), "the header has no 'shape'"),
        (npy1("{'descr': '<f8', 'descr': '<f8'}", b""), "header, byte 27: a second 'descr'"),
        (npy1("{'shape': (), 'shape': (1,)}", b""), "header, byte 24: a second 'shape'"),
        (
            npy1("{'order': 'C'}", b""),
            "header, byte 11: unknown key 'order'; the keys are 'descr', 'fortran_order' and \
             'shape'",
        ),
        (
            npy1(b"{'d\xe9scr': 1}", b""),
            "header, byte 11: unknown key 'd\\xe9scr'; the keys are 'descr', 'fortran_order' and \
             'shape'",
        ),
        (
            npy1("{'fortran_order': 0}", b""),
            "header, byte 28: expected True or False, found \"0}\"",
        ),
        (
            npy1("{'fortran_order': false}", b""),
            "header, byte 28: expected True or False, found \"false}\"",
        ),
        (
            npy1("{'fortran_order': Falsehood}", b""),
            "header, byte 33: expected ',' or '}', found \"hood}\"",
        ),
        (
            npy1(header("<f8", "()") + "\0\0", b""),
            "header, byte 66: expected blanks to the end of the header, found \"\\x00\\x00\"",
        ),
        (
            npy1(header("<f8", "()") + "{}", b""),
            "header, byte 66: expected blanks to the end of the header, found \"{}\"",
        ),
    ]);
}

#[test]
fn shapes() {
    let size = |at: usize, text: &str| {
        format!("header, byte {at}: {text} is not the size of an axis; sizes go from 0 to {MAX}")
    };
    let shape = |text: &str| npy1(format!("{{'shape': {text}}}"), b"");
    let too_large = |dims: &str| {
        format!(
            "npy: an array of shape [{dims}] has too many elements: an array has fewer than 2^60, \
             counting the axes that are not empty"
        )
    };
    let many = format!("({})", "0,".repeat(30_000));
    refused(&[
        (shape("(-1,)"), &size(21, "-1")),
        (shape("(3, -2)"), &size(24, "-2")),
        (shape("(3, 2-2)"), &size(24, "2-2")),
        (shape("(9223372036854775808,)"), &size(21, "9223372036854775808")),
        (shape("(99999999999999999999999999999,)"), &size(21, "999999999999999999999999...")),
        (shape("(9223372036854775807,)"), &too_large(MAX)),
        (shape("(4294967296, 4294967296)"), &too_large("4294967296, 4294967296")),
        (shape("(4294967296, 4294967296, 0)"), &too_large("4294967296, 4294967296, 0")),
        (shape(&many), "a shape of 30000 axes; at most 64 are allowed"),
        (
            shape("(3)"),
            "header, byte 22: expected ',': a tuple of one size is written (3,), found \")}\"",
        ),
        (shape("3"), "header, byte 20: expected a tuple of sizes, such as (3, 4), found \"3}\""),
        (
            shape("[3, 4]"),
            "header, byte 20: expected a tuple of sizes, such as (3, 4), found \"[3, 4]}\"",
        ),
        (shape("(,)"), "header, byte 21: expected a size or ')', found \",)}\""),
        (shape("(3, 4"), "header, byte 25: expected ',' or ')', found \"}\""),
        (
            shape("(3.0,)"),
            "header, byte 22: expected ',': a tuple of one size is written (3,), found \".0,)}\"",
        ),
        (shape("('3',)"), "header, byte 21: expected a size or ')', found \"'3',)}\""),
        (shape("((3,),)"), "header, byte 21: expected a size or ')', found \"(3,),)}\""),
        (shape("(None,)"), "header, byte 21: expected a size or ')', found \"None,)}\""),
    ]);
}

#[test]
fn element_types() {
    let refused_type = |descr: &str, remedy: &str| {
        let e = npy::read(&npy1(header(descr, "(1,)"), &[0; 16])).unwrap_err().to_string();
        assert_eq!(e, format!("elements of type '{descr}' are not supported: {remedy}"));
    };
    refused_type("<c16", "complex numbers; save x.real and x.imag as two arrays");
    refused_type("<U5", "strings; save numbers that stand for them");
    refused_type("|S3", "strings; save numbers that stand for them");
    refused_type("|O", "Python objects are never loaded; save x.astype('f8')");
    refused_type("<M8[ns]", "dates; save x.astype('i8')");
    refused_type("|V16", "records or raw bytes; save each field as an array of its own");
    refused_type("<f16", "floats of this size; save x.astype('f8')");
    let other = "save it as one of b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8 with x.astype";
    for descr in ["", "<", "<i3", "<i", "<i16", "<u", "<b2", "<<f8", "<x8", "<ixy", "f8 ", "<F8"] {
        let remedy = if descr.trim_start_matches('<') == "f8 " {
            "floats of this size; save x.astype('f8')"
        } else {
            other
        };
        refused_type(descr, remedy);
    }
    refused(&[
        (
            npy1("{'descr': [('a', '<f8'), ('b', '<i4')]}", b""),
            "elements of type [('a', '<f8'), ('b', '<i... are not supported: records or raw \
             bytes; save each field as an array of its own",
        ),
        (
            npy1("{'descr': ('<f8', (3,))}", b""),
            "elements of type ('<f8', (3,))} are not supported: records or raw bytes; save \
             each field as an array of its own",
        ),
        (
            npy1("{'descr': f8}", b""),
            "header, byte 20: expected an element type in quotes, such as '<f8', found \"f8}\"",
        ),
        (
            npy1(b"{'descr': '<f\xc3\xa9'}", b""),
            "header, byte 20: expected an ASCII string, found \"<f\\xc3\\xa9\"",
        ),
        (
            npy1(r"{'descr': '\x3cf8'}", b""),
            "header, byte 20: expected a string closed by its quote, without escapes, found \
             \"'\\\\x3cf8'}\"",
        ),
    ]);
}

#[test]
fn data() {
    let f8 = |shape: &str, bytes: usize| npy1(header("<f8", shape), &vec![0; bytes]);
    let cut_off = |shape: &str, needed: u64, found: u64| {
        format!(
            "cut off in the data: shape {shape} of '<f8' needs {needed} bytes and {found} are left"
        )
    };
    refused(&[
        (f8("()", 0), &cut_off("[]", 8, 0)),
        (f8("(2, 3)", 47), &cut_off("[2, 3]", 48, 47)),
        // Twelve bytes of data that ask for a thousand million million.
        (
            f8("(1000000, 1000000, 1000)", 12),
            &cut_off("[1000000, 1000000, 1000]", 8_000_000_000_000_000, 12),
        ),
        (f8("(536870912,)", 0), &cut_off("[536870912]", 4_294_967_296, 0)),
        (
            f8("(2, 3)", 49),
            "bytes after the data: shape [2, 3] of '<f8' ends at byte 118, the file at byte 119",
        ),
        (
            f8("(0,)", 8),
            "bytes after the data: shape [0] of '<f8' ends at byte 68, the file at byte 76",
        ),
        (
            f8("(0, 1000)", 1),
            "bytes after the data: shape [0, 1000] of '<f8' ends at byte 73, the file at byte 74",
        ),
        (
            npy1(header(">u8", "(3,)"), &[[0; 8], [1; 8], [0xff; 8]].concat()),
            "element 2 (in the order of the file) is 18446744073709551615, above the largest i64; \
             save the array with x.astype('f8') or x.astype('i8')",
        ),
        (
            npy1(header("<u8", "(1,)"), &(1u64 << 63).to_le_bytes()),
            "element 0 (in the order of the file) is 9223372036854775808, above the largest i64; \
             save the array with x.astype('f8') or x.astype('i8')",
        ),
    ]);
}

#[test]
fn what_widens_is_held_against_the_limit() {
    let bytes = npy1(header("|i1", "(1000,)"), &[7; 1000]);
    let read = |limit| npy::read_from(&mut &bytes[..], bytes.len() as u64, limit);
    assert_eq!(read(8000).unwrap().to_vec::<i64>().unwrap(), [7; 1000]);
    assert_eq!(
        read(7999).unwrap_err().to_string(),
        "npy: an array of shape [1000] of i64 needs 8000 bytes; the limit is 7999"
    );
}

#[test]
fn errors_of_files_name_them() {
    let missing = npy::read_file("no/such/file.npy").unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file.npy: "), "{missing}");
    let folder = npy::read_file(std::env::temp_dir()).unwrap_err().to_string();
    assert!(folder.ends_with(": a folder, not a regular file"), "{folder}");
}

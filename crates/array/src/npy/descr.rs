//! The `descr` of a header: element type and byte order.

use crate::Dtype;

use super::NpyError;

/// An element type that is read, as it lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Kind {
    /// The element type that it is read as.
    pub(super) fn dtype(self) -> Dtype {
        match self {
            Kind::Bool => Dtype::Bool,
            Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => Dtype::I64,
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => Dtype::I64,
            Kind::F16 | Kind::F32 => Dtype::F32,
            Kind::F64 => Dtype::F64,
        }
    }
}

/// Every element type that is read, with its name and its size in bytes.
const KINDS: [(&str, Kind, u64); 12] = [
    ("b1", Kind::Bool, 1),
    ("i1", Kind::I8, 1),
    ("i2", Kind::I16, 2),
    ("i4", Kind::I32, 4),
    ("i8", Kind::I64, 8),
    ("u1", Kind::U8, 1),
    ("u2", Kind::U16, 2),
    ("u4", Kind::U32, 4),
    ("u8", Kind::U64, 8),
    ("f2", Kind::F16, 2),
    ("f4", Kind::F32, 4),
    ("f8", Kind::F64, 8),
];

/// An element type with its byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descr {
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) big_endian: bool,
}

impl Descr {
    /// Reads for example `<f8`: byte order, kind, size in bytes. The orders `=`, `|` and none
    /// mean that of this machine, as they do to NumPy.
    pub(super) fn parse(text: &str) -> Result<Descr, NpyError> {
        let native = cfg!(target_endian = "big");
        let (big_endian, name) = match text.split_at_checked(1) {
            Some(("<", name)) => (false, name),
            Some((">", name)) => (true, name),
            Some(("=" | "|", name)) => (native, name),
            _ => (native, text),
        };
        match KINDS.iter().find(|(known, ..)| *known == name) {
            Some(&(_, kind, size)) => Ok(Descr { text: text.into(), kind, size, big_endian }),
            None => Err(unsupported(&format!("'{}'", text.escape_debug()), name)),
        }
    }
}

/// The error of a type that is written as a list of fields.
pub(super) fn structured(text: String) -> NpyError {
    unsupported(&text, "V")
}

fn unsupported(descr: &str, name: &str) -> NpyError {
    let remedy = match name.as_bytes().first() {
        Some(b'c') => "complex numbers; save x.real and x.imag as two arrays",
        Some(b'U' | b'S' | b'a' | b'T') => "strings; save numbers that stand for them",
        Some(b'O') => "Python objects are never loaded; save x.astype('f8')",
        Some(b'M' | b'm') => "dates; save x.astype('i8')",
        Some(b'V') => "records or raw bytes; save each field as an array of its own",
        Some(b'f') => "floats of this size; save x.astype('f8')",
        _ => "save it as one of b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8 with x.astype",
    };
    NpyError::UnsupportedType { descr: descr.into(), remedy }
}

/// The value of an IEEE 754 binary16, exactly; a NaN keeps its sign and payload.
pub(super) fn half_to_f32(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let sign = (bits & 0x8000) << 16;
    let exponent = (bits >> 10) & 0x1f;
    let fraction = bits & 0x3ff;
    let magnitude = match exponent {
        // Subnormal: a multiple of 2^-24, which is a normal f32.
        0 => (fraction as f32 * 2f32.powi(-24)).to_bits(),
        0x1f => 0x7f80_0000 | (fraction << 13),
        // The exponent's bias is 15 in binary16 and 127 in binary32.
        _ => (exponent.wrapping_add(112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_in_every_order() {
        for (name, kind, size) in KINDS {
            for (order, big_endian) in [("<", false), (">", true), ("|", false), ("", false)] {
                let d = Descr::parse(&format!("{order}{name}")).unwrap();
                assert_eq!((d.kind, d.size), (kind, size));
                let native = order == "|" || order.is_empty();
                assert_eq!(
                    d.big_endian,
                    if native { cfg!(target_endian = "big") } else { big_endian }
                );
            }
        }
    }

    #[test]
    fn half_floats_are_exact() {
        let value = |bits| half_to_f32(bits);
        assert_eq!(value(0x3c00), 1.0);
        assert_eq!(value(0xc000), -2.0);
        assert_eq!(value(0x7bff), 65504.0);
        assert_eq!(value(0x0001), 2f32.powi(-24));
        assert_eq!(value(0x03ff), 1023.0 * 2f32.powi(-24));
        assert_eq!(value(0x0400), 2f32.powi(-14));
        assert_eq!(value(0x3555), 1365.0 / 4096.0);
        assert_eq!(value(0x8000).to_bits(), (-0.0f32).to_bits());
        assert_eq!((value(0x7c00), value(0xfc00)), (f32::INFINITY, f32::NEG_INFINITY));
        assert_eq!(value(0xfe01).to_bits(), 0xffc0_2000);
    }
}

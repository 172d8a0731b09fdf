//! Numbers as C writes them: every literal is read back as the same bits.

use cotan_array::Dtype;

/// A double.
pub(crate) fn float64(x: f64) -> String {
    if x.is_nan() {
        return "cotan_nan_f64".into();
    }
    let text = match x.is_infinite() {
        true => "cotan_inf_f64".into(),
        false => format!("{:?}", x.abs()),
    };
    if x.is_sign_negative() { format!("(-{text})") } else { text }
}

/// A float.
pub(crate) fn float32(x: f32) -> String {
    if x.is_nan() {
        return "cotan_nan_f32".into();
    }
    let text = match x.is_infinite() {
        true => "cotan_inf_f32".into(),
        false => format!("{:?}f", x.abs()),
    };
    if x.is_sign_negative() { format!("(-{text})") } else { text }
}

/// An integer.
pub(crate) fn integer(x: i64) -> String {
    /// Literals up to this size are `int` wherever there are 32 bits.
    const NARROW: u64 = 0x7fff_ffff;
    let size = x.unsigned_abs();
    let text = if size <= NARROW { size.to_string() } else { format!("INT64_C({size})") };
    match x {
        i64::MIN => "INT64_MIN".into(),
        x if x < 0 => format!("(-{text})"),
        _ => text,
    }
}

/// A constant of a type, given as bits.
pub(crate) fn of_bits(bits: u64, dtype: Dtype) -> String {
    match dtype {
        Dtype::F64 => float64(f64::from_bits(bits)),
        Dtype::F32 => float32(f32::from_bits(bits as u32)),
        Dtype::I64 => integer(bits as i64),
        Dtype::Bool => if bits != 0 { "true" } else { "false" }.into(),
    }
}

/// The type of the elements of an array.
pub(crate) fn type_of(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "double",
        Dtype::F32 => "float",
        Dtype::I64 => "int64_t",
        Dtype::Bool => "bool",
    }
}

/// The type of the elements in names.
pub(crate) fn suffix(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "f64",
        Dtype::F32 => "f32",
        Dtype::I64 => "i64",
        Dtype::Bool => "bool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        assert_eq!(float64(0.1), "0.1");
        assert_eq!(float64(-1e300), "(-1e300)");
        assert_eq!(float64(-0.0), "(-0.0)");
        assert_eq!(float32(1e-7), "1e-7f");
        assert_eq!(float64(f64::NEG_INFINITY), "(-cotan_inf_f64)");
        assert_eq!(integer(i64::MIN), "INT64_MIN");
        assert_eq!(integer(-5_000_000_000), "(-INT64_C(5000000000))");
    }
}

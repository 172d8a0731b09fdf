//! Numbers and affine forms as text.

use std::fmt::Write as _;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use crate::nest::{Affine, Instr, Nest, Val};

/// A number, given as bits of its type: one that is read back with the same bits.
pub(super) fn number(bits: u64, dtype: Dtype) -> String {
    let plain = match dtype {
        Dtype::F64 => float(f64::from_bits(bits), f64::NAN.to_bits() == bits, ""),
        Dtype::F32 => match u32::try_from(bits).map(f32::from_bits) {
            Ok(x) if x.is_nan() => float(f64::NAN, x.to_bits() == f32::NAN.to_bits(), "f32"),
            // As short as an f32 can be.
            Ok(x) if x.is_finite() => Some(format!("{x:?}f32")),
            Ok(x) => float(f64::from(x), false, "f32"),
            Err(_) => None,
        },
        Dtype::I64 => Some(format!("{}i64", bits as i64)),
        Dtype::Bool if bits < 2 => Some((bits == 1).to_string()),
        Dtype::Bool => None,
    };
    plain.unwrap_or_else(|| format!("{dtype}(0x{bits:x})"))
}

/// A float; `None` for a NaN that is not the usual one.
fn float(x: f64, usual_nan: bool, suffix: &str) -> Option<String> {
    match x {
        x if x.is_nan() => usual_nan.then(|| format!("nan{suffix}")),
        f64::INFINITY => Some(format!("inf{suffix}")),
        f64::NEG_INFINITY => Some(format!("-inf{suffix}")),
        x => Some(format!("{x:?}{suffix}")),
    }
}

/// $c + \sum_k c_k i_k$, the constant last.
pub(super) fn affine(at: &Affine) -> String {
    let mut text = String::new();
    for (dim, &c) in at.coeffs.iter().enumerate() {
        let sign = match (text.is_empty(), c < 0) {
            _ if c == 0 => continue,
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let _ = match c.unsigned_abs() {
            1 => write!(text, "{sign}i{dim}"),
            c => write!(text, "{sign}{c} i{dim}"),
        };
    }
    let _ = match at.constant {
        c if text.is_empty() => write!(text, "{c}"),
        0 => Ok(()),
        c if c < 0 => write!(text, " - {}", c.unsigned_abs()),
        c => write!(text, " + {c}"),
    };
    text
}

/// Where a read or an addition happens.
pub(super) fn conditions(checks: &[(Affine, i64)]) -> String {
    let checks: Vec<String> =
        checks.iter().map(|(at, size)| format!("0 <= {} < {size}", affine(at))).collect();
    if checks.is_empty() { String::new() } else { format!(" if {}", checks.join(" and ")) }
}

/// The text of a constant or an affine integer; `None` for other instructions.
pub(super) fn literal(nest: &Nest, v: Val) -> Option<String> {
    match nest.instrs.get(v.index())? {
        Instr::Const(bits) => Some(number(*bits, *nest.dtypes.get(v.index())?)),
        Instr::Affine(at) => Some(affine(at)),
        Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => None,
    }
}

/// The type that an instruction has if nothing else is said.
pub(super) fn usual_dtype(
    instr: &Instr,
    of: impl Fn(Val) -> Option<Dtype>,
    buffer: impl FnOnce() -> Option<Dtype>,
) -> Option<Dtype> {
    match instr {
        // Its text says which.
        Instr::Const(_) => None,
        Instr::Affine(_) => Some(Dtype::I64),
        Instr::Load { .. } | Instr::LoadAt { .. } => buffer(),
        Instr::Op(op, args) => {
            let args: Option<Vec<Dtype>> = args.iter().map(|&v| of(v)).collect();
            Op::result_dtype(*op, &args?)
        }
        Instr::MulAdd { args, .. } => of(args[0]),
    }
}

//! Every row of the scalar table, elementwise on arrays of one shape.
//!
//! Where an operation of StableHLO is undefined or left to the implementation (division by zero,
//! shifts by much, floats too large for an integer), its arguments are kept away from there.

use cotan_array::Dtype;
use cotan_ir::Result;
use cotan_ir::scalar::Op;

use crate::special;
use crate::value::Val;
use crate::writer::Writer;

/// `op` of arguments of the types that its row asks for.
pub(crate) fn elementwise(w: &mut Writer, op: Op, args: &[Val]) -> Result<Val> {
    if let Some((args, axes)) = w.common_transpose(args) {
        let found = in_place(w, op, &args)?;
        return Ok(w.transpose(&found, &axes));
    }
    in_place(w, op, args)
}

/// The same, with the arguments as they lie.
fn in_place(w: &mut Writer, op: Op, args: &[Val]) -> Result<Val> {
    let made = match args {
        [a] => unary(w, op, a)?,
        [a, b] => binary(w, op, a, b)?,
        [p, a, b] => w.select(p, a, b),
        _ => return Err(mistyped(op)),
    };
    // Some give an argument as it is.
    if args.iter().all(|arg| arg.name != made.name) {
        w.note_operation(&made, op, args);
    }
    Ok(made)
}

/// The checker of programs has excluded this.
fn mistyped(op: Op) -> cotan_ir::Error {
    cotan_ir::Error::internal(format!("`{op}` has arguments of the wrong number or types"))
}

/// An operation of the table that has no arm here, for so many arguments: a test goes through the table,
/// so it is one that was added just now.
fn unwritten(op: Op) -> cotan_ir::Error {
    let message = format!("`{op}` cannot be written as StableHLO");
    cotan_ir::Error::new(cotan_ir::ErrorKind::Type, "export", message)
}

fn unary(w: &mut Writer, op: Op, a: &Val) -> Result<Val> {
    Ok(match op {
        Op::Neg => w.unary("negate", a),
        Op::Abs => w.unary("abs", a),
        Op::Sign => w.unary("sign", a),
        Op::Recip => {
            let one = w.real(1.0, a);
            w.binary("divide", &one, a)
        }
        Op::Sqrt => w.unary("sqrt", a),
        Op::Cbrt => w.unary("cbrt", a),
        Op::Exp => w.unary("exponential", a),
        Op::Exp2 => {
            let two = w.real(2.0, a);
            w.binary("power", &two, a)
        }
        Op::Expm1 => w.unary("exponential_minus_one", a),
        Op::Log => w.unary("log", a),
        Op::Log2 => scaled_log(w, a, std::f64::consts::LN_2),
        Op::Log10 => scaled_log(w, a, std::f64::consts::LN_10),
        Op::Log1p => w.unary("log_plus_one", a),
        Op::Sin => w.unary("sine", a),
        Op::Cos => w.unary("cosine", a),
        Op::Tan => w.unary("tan", a),
        Op::Asin => w.higher("asin", &[a]),
        Op::Acos => w.higher("acos", &[a]),
        Op::Atan => w.higher("atan", &[a]),
        Op::Sinh => w.higher("sinh", &[a]),
        Op::Cosh => w.higher("cosh", &[a]),
        Op::Tanh => w.unary("tanh", a),
        Op::Asinh => w.higher("asinh", &[a]),
        Op::Acosh => w.higher("acosh", &[a]),
        Op::Atanh => w.higher("atanh", &[a]),
        Op::Erf => w.higher("erf", &[a]),
        Op::Erfc => w.higher("erfc", &[a]),
        Op::Lgamma => w.higher("lgamma", &[a]),
        Op::Digamma => special::digamma(w, a),
        Op::Logistic => w.unary("logistic", a),
        Op::StopGradient => a.clone(),
        Op::Floor => w.unary("floor", a),
        Op::Ceil => w.unary("ceil", a),
        Op::Round => w.unary("round_nearest_even", a),
        Op::Trunc => {
            let (size, sign) = (w.unary("abs", a), w.unary("sign", a));
            let whole = w.unary("floor", &size);
            w.binary("multiply", &whole, &sign)
        }
        Op::Not => w.unary("not", a),
        Op::Popcount => w.unary("popcnt", a),
        Op::Clz => w.unary("count_leading_zeros", a),
        Op::Ctz => {
            // The zeros below the lowest 1 are what `a - 1` has and `a` has not.
            let one = w.int(1, a);
            let (below, rest) = (w.binary("subtract", a, &one), w.unary("not", a));
            let zeros = w.binary("and", &below, &rest);
            w.unary("popcnt", &zeros)
        }
        Op::ToBits => {
            let bits = w.bitcast(a, Dtype::I64);
            let (nan, one_nan) = (w.is_nan(a), w.int(f64::NAN.to_bits() as i64, a));
            w.select(&nan, &one_nan, &bits)
        }
        Op::FromBits => w.bitcast(a, Dtype::F64),
        Op::ToF64 => w.convert(a, Dtype::F64),
        Op::ToF32 => w.convert(a, Dtype::F32),
        Op::ToI64 => to_integer(w, a),
        Op::ToBool => {
            let zero = w.zeros(&a.ty);
            w.compare("NE", a, &zero)
        }
        _ => return Err(unwritten(op)),
    })
}

fn binary(w: &mut Writer, op: Op, a: &Val, b: &Val) -> Result<Val> {
    let float = a.ty.dtype.is_float();
    Ok(match op {
        Op::Add => w.binary("add", a, b),
        Op::Sub => w.binary("subtract", a, b),
        Op::Mul => w.binary("multiply", a, b),
        Op::Div => w.binary("divide", a, b),
        Op::FloorDiv if float => floor_quotient(w, a, b),
        Op::FloorDiv => integer_division(w, a, b).0,
        Op::Rem if float => floored_remainder(w, a, b),
        Op::Rem => integer_division(w, a, b).1,
        Op::Min => w.binary("minimum", a, b),
        Op::Max => w.binary("maximum", a, b),
        Op::Pow => w.binary("power", a, b),
        Op::Powi => special::powi(w, a, b),
        Op::Atan2 => w.binary("atan2", a, b),
        Op::Polygamma => special::polygamma(w, a, b),
        Op::Scale => {
            let zero = w.zeros(&a.ty);
            let dead = w.compare("EQ", a, &zero);
            let product = w.binary("multiply", a, b);
            w.select(&dead, &zero, &product)
        }
        Op::StrongMul => {
            let zero = w.zeros(&a.ty);
            let (left, right) = (w.compare("EQ", a, &zero), w.compare("EQ", b, &zero));
            let dead = w.binary("or", &left, &right);
            let product = w.binary("multiply", a, b);
            w.select(&dead, &zero, &product)
        }
        Op::Eq => w.compare("EQ", a, b),
        Op::Ne => w.compare("NE", a, b),
        Op::Lt => w.compare("LT", a, b),
        Op::Le => w.compare("LE", a, b),
        Op::Gt => w.compare("GT", a, b),
        Op::Ge => w.compare("GE", a, b),
        Op::And => w.binary("and", a, b),
        Op::Or => w.binary("or", a, b),
        Op::Xor => w.binary("xor", a, b),
        Op::ShiftLeft => shift(w, a, b, up, down),
        Op::ShiftRight => shift(w, a, b, down, up),
        Op::ShiftRightZero => shift(w, a, b, down_zero, up),
        Op::IntPow => special::int_pow(w, a, b),
        _ => return Err(unwritten(op)),
    })
}

/// The logarithm to a base with the given natural logarithm.
fn scaled_log(w: &mut Writer, a: &Val, ln_base: f64) -> Val {
    let (log, ln_base) = (w.unary("log", a), w.real(ln_base, a));
    w.binary("divide", &log, &ln_base)
}

/// The quotient of floats rounded down. In `f64`, since a quotient in `f32` may be rounded up to an
/// integer.
fn floor_quotient(w: &mut Writer, a: &Val, b: &Val) -> Val {
    let (x, y) = (w.convert(a, Dtype::F64), w.convert(b, Dtype::F64));
    let quotient = w.binary("divide", &x, &y);
    let down = w.unary("floor", &quotient);
    w.convert(&down, a.ty.dtype)
}

/// The remainder of floats with the sign of the divisor.
fn floored_remainder(w: &mut Writer, a: &Val, b: &Val) -> Val {
    let rest = w.binary("remainder", a, b);
    let zero = w.zeros(&a.ty);
    let (exact, low) = (w.compare("NE", &rest, &zero), w.compare("LT", &rest, &zero));
    let negative = w.compare("LT", b, &zero);
    let apart = w.compare("NE", &low, &negative);
    let moves = w.binary("and", &exact, &apart);
    let moved = w.binary("add", &rest, b);
    w.select(&moves, &moved, &rest)
}

/// The quotient of integers rounded down, and its remainder; both 0 for the divisor 0.
pub(crate) fn integer_division(w: &mut Writer, a: &Val, b: &Val) -> (Val, Val) {
    let (zero, one) = (w.int(0, a), w.int(1, a));
    let harmless = b.integer().is_some_and(|b| b != 0 && b != -1);
    // The quotient by -1 may overflow, that by 0 is undefined.
    let (by_zero, by_minus_one, divisor) = if harmless {
        (None, None, b.clone())
    } else {
        let minus_one = w.int(-1, a);
        let (none, negated) = (w.compare("EQ", b, &zero), w.compare("EQ", b, &minus_one));
        let either = w.binary("or", &none, &negated);
        let divisor = w.select(&either, &one, b);
        (Some(none), Some(negated), divisor)
    };
    let (q, r) = (w.binary("divide", a, &divisor), w.binary("remainder", a, &divisor));
    let exact = w.compare("EQ", &r, &zero);
    let (low, negative) = (w.compare("LT", a, &zero), w.compare("LT", &divisor, &zero));
    let same = w.compare("EQ", &low, &negative);
    let stays = w.binary("or", &exact, &same);
    let (lower, moved) = (w.binary("subtract", &q, &one), w.binary("add", &r, &divisor));
    let (mut q, mut r) = (w.select(&stays, &q, &lower), w.select(&stays, &r, &moved));
    if let (Some(none), Some(negated)) = (by_zero, by_minus_one) {
        let minus = w.unary("negate", a);
        q = w.select(&negated, &minus, &q);
        q = w.select(&none, &zero, &q);
        let either = w.binary("or", &none, &negated);
        r = w.select(&either, &zero, &r);
    }
    (q, r)
}

type Shift = fn(&mut Writer, &Val, &Val) -> Val;

/// A shift by `n`: forth by positive numbers, back by negative ones. Both are given amounts from 0
/// to 64.
fn shift(w: &mut Writer, a: &Val, n: &Val, forth: Shift, back: Shift) -> Val {
    if let Some(n) = n.integer() {
        let amount = w.int(n.unsigned_abs().min(64) as i64, a);
        return if n < 0 { back(w, a, &amount) } else { forth(w, a, &amount) };
    }
    let (least, most, zero) = (w.int(-64, a), w.int(64, a), w.int(0, a));
    let above = w.binary("maximum", n, &least);
    let n = w.binary("minimum", &above, &most);
    let amount = w.unary("abs", &n);
    let (forth, back) = (forth(w, a, &amount), back(w, a, &amount));
    let negative = w.compare("LT", &n, &zero);
    w.select(&negative, &back, &forth)
}

/// A shift by 63 at most.
fn capped(w: &mut Writer, op: &str, a: &Val, n: &Val) -> Val {
    let most = w.int(63, a);
    let n = w.binary("minimum", n, &most);
    w.binary(op, a, &n)
}

/// The bits moved down, with copies of the sign above.
fn down(w: &mut Writer, a: &Val, n: &Val) -> Val {
    capped(w, "shift_right_arithmetic", a, n)
}

/// The bits moved down, with zeros above.
fn down_zero(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let moved = capped(w, "shift_right_logical", a, n);
    none_of_64(w, &moved, n)
}

/// The bits moved up.
fn up(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let moved = capped(w, "shift_left", a, n);
    none_of_64(w, &moved, n)
}

/// 0 where all bits were moved out.
fn none_of_64(w: &mut Writer, moved: &Val, n: &Val) -> Val {
    let (all, zero) = (w.int(64, moved), w.int(0, moved));
    let gone = w.compare("GE", n, &all);
    w.select(&gone, &zero, moved)
}

/// Rounds towards 0, saturates, and gives 0 for NaN.
fn to_integer(w: &mut Writer, a: &Val) -> Val {
    if !a.ty.dtype.is_float() {
        return w.convert(a, Dtype::I64);
    }
    // 2^63 is the first float that is too large; its negative is the smallest integer.
    let limit = w.real(9_223_372_036_854_775_808.0, a);
    let least = w.real(-9_223_372_036_854_775_808.0, a);
    let zero = w.zeros(&a.ty);
    let (large, small) = (w.compare("GE", a, &limit), w.compare("LT", a, &least));
    let outside = w.binary("or", &large, &small);
    let nan = w.is_nan(a);
    let odd = w.binary("or", &outside, &nan);
    let inside = w.select(&odd, &zero, a);
    let whole = w.convert(&inside, Dtype::I64);
    let (most, fewest) = (w.int(i64::MAX, a), w.int(i64::MIN, a));
    let above = w.select(&large, &most, &whole);
    w.select(&small, &fewest, &above)
}

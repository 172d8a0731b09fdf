//! Evaluation of one operation on scalars: the meaning of the table.

use std::cmp::Ordering;

use cotan_array::Dtype;

use super::{Field1, Field2, Fp, Op, Rule};

/// A scalar of one of the element types, or of the test field in place of a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `f64`.
    F64(f64),
    /// `f32`.
    F32(f32),
    /// `i64`.
    I64(i64),
    /// `bool`.
    Bool(bool),
    /// An element of the test field, standing for an `f64` or `f32`.
    Fp(Fp),
}

impl Scalar {
    /// Zero (or `false`) of an element type; `field` puts the test field in place of floats.
    pub fn zero(dtype: Dtype, field: bool) -> Scalar {
        match dtype {
            Dtype::F64 | Dtype::F32 if field => Scalar::Fp(Fp::ZERO),
            Dtype::F64 => Scalar::F64(0.0),
            Dtype::F32 => Scalar::F32(0.0),
            Dtype::I64 => Scalar::I64(0),
            Dtype::Bool => Scalar::Bool(false),
        }
    }

    /// The value of an `i64`.
    pub fn as_i64(self) -> Option<i64> {
        if let Scalar::I64(x) = self { Some(x) } else { None }
    }

    /// The value of a `bool`.
    pub fn as_bool(self) -> Option<bool> {
        if let Scalar::Bool(x) = self { Some(x) } else { None }
    }

    /// Whether two scalars are the same value: bitwise, except that all NaNs are one.
    pub fn same(self, other: Scalar) -> bool {
        match (self, other) {
            (Scalar::F64(a), Scalar::F64(b)) => {
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            }
            (Scalar::F32(a), Scalar::F32(b)) => {
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            }
            _ => self == other,
        }
    }

    /// The order of two scalars of the same type; `None` if either is NaN or the types differ.
    pub fn compare(self, other: Scalar) -> Option<Ordering> {
        match (self, other) {
            (Scalar::F64(a), Scalar::F64(b)) => a.partial_cmp(&b),
            (Scalar::F32(a), Scalar::F32(b)) => a.partial_cmp(&b),
            (Scalar::I64(a), Scalar::I64(b)) => Some(a.cmp(&b)),
            (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(&b)),
            (Scalar::Fp(a), Scalar::Fp(b)) => Some(a.cmp(&b)),
            _ => None,
        }
    }
}

/// The value of `op` at `args`, or `None` when their number or types do not fit.
///
/// Total on arguments that fit: never fails because of a value.
pub fn eval(op: Op, args: &[Scalar]) -> Option<Scalar> {
    use Scalar::{Bool, F32, F64, I64};
    let row = op.row();
    let opaque = |xs: &[Fp]| {
        let zero = row.preserves_zero && xs.iter().all(|x| *x == Fp::ZERO);
        Scalar::Fp(if zero { Fp::ZERO } else { Fp::opaque(op as u64, xs) })
    };
    Some(match (row.rule, args) {
        (Rule::Numeric1(f, _, _), &[F64(a)]) => F64(f(a)),
        (Rule::Numeric1(f, _, _), &[F32(a)]) => F32(f(f64::from(a)) as f32),
        (Rule::Real1(f, _), &[F64(a)]) => F64(f.f64(a)),
        (Rule::Real1(f, _), &[F32(a)]) => F32(f.f32(a)),
        (Rule::Numeric1(_, f, _), &[I64(a)]) => I64(f(a)),
        (Rule::Numeric1(_, _, f) | Rule::Real1(_, f), &[Scalar::Fp(a)]) => match f {
            Field1::Exact(f) => Scalar::Fp(f(a)),
            Field1::Opaque => opaque(&[a]),
        },
        (Rule::Numeric2(f, _, _), &[F64(a), F64(b)]) => F64(f(a, b)),
        (Rule::Numeric2(f, _, _), &[F32(a), F32(b)]) => F32(f(f64::from(a), f64::from(b)) as f32),
        (Rule::Real2(f, _), &[F64(a), F64(b)]) => F64(f.f64(a, b)),
        (Rule::Real2(f, _), &[F32(a), F32(b)]) => F32(f.f32(a, b)),
        (Rule::Numeric2(_, f, _), &[I64(a), I64(b)]) => I64(f(a, b)),
        (Rule::Numeric2(_, _, f) | Rule::Real2(_, f), &[Scalar::Fp(a), Scalar::Fp(b)]) => match f {
            Field2::Exact(f) => Scalar::Fp(f(a, b)),
            Field2::Opaque => opaque(&[a, b]),
        },
        (Rule::RealInt(f, _), &[F64(a), I64(n)]) => F64(f(a, n)),
        (Rule::RealInt(f, _), &[F32(a), I64(n)]) => F32(f(f64::from(a), n) as f32),
        (Rule::RealInt(_, f), &[Scalar::Fp(a), I64(n)]) => match f(a, n) {
            Some(y) => Scalar::Fp(y),
            None => opaque(&[a, Fp::from_i64(n)]),
        },
        (Rule::IntReal(f), &[I64(n), F64(b)]) => F64(f(n, b)),
        (Rule::IntReal(f), &[I64(n), F32(b)]) => F32(f(n, f64::from(b)) as f32),
        (Rule::IntReal(_), &[I64(n), Scalar::Fp(b)]) => opaque(&[Fp::from_i64(n), b]),
        (Rule::Compare(f), &[a, b]) if kind(a) == kind(b) => Bool(f(a.compare(b))),
        (Rule::Logic1(f, _), &[Bool(a)]) => Bool(f(a)),
        (Rule::Logic1(_, f), &[I64(a)]) => I64(f(a)),
        (Rule::Logic2(f, _), &[Bool(a), Bool(b)]) => Bool(f(a, b)),
        (Rule::Logic2(_, f), &[I64(a), I64(b)]) => I64(f(a, b)),
        (Rule::Int1(f), &[I64(a)]) => I64(f(a)),
        (Rule::Int2(f), &[I64(a), I64(b)]) => I64(f(a, b)),
        (Rule::ToBits, &[F64(a)]) => I64(canonical_bits(a.to_bits() as i64)),
        (Rule::ToBits, &[Scalar::Fp(a)]) => match opaque(&[a]) {
            Scalar::Fp(y) => I64(y.representative() as i64),
            _ => return None,
        },
        (Rule::FromBits, &[I64(a)]) => F64(f64::from_bits(a as u64)),
        (Rule::Select, &[Bool(c), a, b]) if kind(a) == kind(b) => {
            if c {
                a
            } else {
                b
            }
        }
        (Rule::Cast(d), &[a]) => cast(a, d),
        _ => return None,
    })
}

/// The bits of a float, those of every NaN being one pattern: which NaN an operation gives is not
/// defined.
pub fn canonical_bits(bits: i64) -> i64 {
    let x = f64::from_bits(bits as u64);
    if x.is_nan() { f64::NAN.to_bits() as i64 } else { bits }
}

fn kind(x: Scalar) -> u8 {
    match x {
        Scalar::F64(_) => 0,
        Scalar::F32(_) => 1,
        Scalar::I64(_) => 2,
        Scalar::Bool(_) => 3,
        Scalar::Fp(_) => 4,
    }
}

/// Conversion between element types. An element of the test field stays one when the target is a
/// float, and is read as its smallest representative otherwise; other scalars convert to IEEE
/// floats, and [`Scalar::into_field`] follows where the field stands in for them.
pub fn cast(x: Scalar, to: Dtype) -> Scalar {
    use Scalar::{Bool, F32, F64, I64};
    match (to, x) {
        (Dtype::F64 | Dtype::F32, Scalar::Fp(a)) => Scalar::Fp(a),
        (Dtype::F64, F64(a)) => F64(a),
        (Dtype::F64, F32(a)) => F64(f64::from(a)),
        (Dtype::F64, I64(a)) => F64(a as f64),
        (Dtype::F64, Bool(a)) => F64(f64::from(u8::from(a))),
        (Dtype::F32, F64(a)) => F32(a as f32),
        (Dtype::F32, F32(a)) => F32(a),
        (Dtype::F32, I64(a)) => F32(a as f32),
        (Dtype::F32, Bool(a)) => F32(f32::from(u8::from(a))),
        (Dtype::I64, F64(a)) => I64(a as i64),
        (Dtype::I64, F32(a)) => I64(a as i64),
        (Dtype::I64, I64(a)) => I64(a),
        (Dtype::I64, Bool(a)) => I64(i64::from(a)),
        (Dtype::I64, Scalar::Fp(a)) => I64(a.representative() as i64),
        (Dtype::Bool, F64(a)) => Bool(a != 0.0),
        (Dtype::Bool, F32(a)) => Bool(a != 0.0),
        (Dtype::Bool, I64(a)) => Bool(a != 0),
        (Dtype::Bool, Bool(a)) => Bool(a),
        (Dtype::Bool, Scalar::Fp(a)) => Bool(a != Fp::ZERO),
    }
}

impl Scalar {
    /// A float as an element of the test field; everything else unchanged.
    pub fn into_field(self) -> Scalar {
        match self {
            Scalar::F64(a) => Scalar::Fp(Fp::from_f64(a)),
            Scalar::F32(a) => Scalar::Fp(Fp::from_f64(f64::from(a))),
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(types: &[Dtype], field: bool) -> Vec<Scalar> {
        types.iter().map(|&d| Scalar::zero(d, field)).collect()
    }

    #[test]
    fn every_typing_evaluates_and_nothing_else_does() {
        for op in Op::all() {
            let arity = op.arity();
            for n in 0..4usize.pow(arity as u32) {
                let types: Vec<Dtype> =
                    (0..arity).map(|k| Dtype::ALL[(n >> (2 * k)) & 3]).collect();
                let typed = op.result_dtype(&types);
                assert_eq!(
                    eval(op, &zeros(&types, false)).is_some(),
                    typed.is_some(),
                    "{op} {types:?}"
                );
            }
            assert_eq!(eval(op, &[]), None);
            assert!(!op.typings().is_empty());
            assert_eq!(op.row().domains.len(), arity, "{op}");
        }
    }

    #[test]
    fn the_zero_column_is_true() {
        for op in Op::all() {
            for field in [false, true] {
                let preserved = op.typings().iter().all(|types| {
                    let y = eval(op, &zeros(types, field)).unwrap();
                    let y = if field { y.into_field() } else { y };
                    let d = op.result_dtype(types).unwrap();
                    y.compare(Scalar::zero(d, field)) == Some(Ordering::Equal)
                });
                // Over the floats the column is exact; over the field it must not claim too much.
                if field {
                    assert!(preserved || !op.row().preserves_zero, "{op}");
                } else {
                    assert_eq!(preserved, op.row().preserves_zero, "{op}");
                }
            }
        }
    }

    #[test]
    fn corner_cases_follow_the_semantics() {
        use Scalar::*;
        let at = |op, args: &[Scalar]| eval(op, args).unwrap();
        assert_eq!(at(Op::Add, &[I64(i64::MAX), I64(1)]), I64(i64::MIN));
        assert_eq!(at(Op::FloorDiv, &[I64(7), I64(0)]), I64(0));
        assert_eq!(at(Op::Rem, &[I64(7), I64(0)]), I64(0));
        assert_eq!(at(Op::FloorDiv, &[I64(-7), I64(2)]), I64(-4));
        assert_eq!(at(Op::Rem, &[I64(-7), I64(2)]), I64(1));
        assert_eq!(at(Op::FloorDiv, &[I64(i64::MIN), I64(-1)]), I64(i64::MIN));
        assert_eq!(at(Op::ToI64, &[F64(1e300)]), I64(i64::MAX));
        assert_eq!(at(Op::ToI64, &[F64(f64::NAN)]), I64(0));
        assert!(at(Op::Min, &[F64(1.0), F64(f64::NAN)]).same(F64(f64::NAN)));
        assert!(at(Op::Max, &[F64(f64::NAN), F64(1.0)]).same(F64(f64::NAN)));
        assert_eq!(at(Op::Round, &[F64(2.5)]), F64(2.0));
        assert_eq!(at(Op::Pow, &[F64(0.0), F64(0.0)]), F64(1.0));
        assert_eq!(at(Op::Powi, &[F64(2.0), I64(-2)]), F64(0.25));
        assert_eq!(at(Op::Add, &[F32(16777216.0), F32(1.0)]), F32(16777216.0));
        assert_eq!(at(Op::Not, &[I64(0)]), I64(-1));
        for (a, n, left, right, logical) in [
            (1, 3, 8, 0, 0),
            (-8, 1, -16, -4, i64::MAX - 3),
            (-8, -1, -4, -16, -16),
            (-1, 64, 0, -1, 0),
            (5, i64::MAX, 0, 0, 0),
            (5, i64::MIN, 0, 0, 0),
            (-5, i64::MIN, -1, 0, 0),
            (i64::MIN, 63, 0, -1, 1),
        ] {
            assert_eq!(at(Op::ShiftLeft, &[I64(a), I64(n)]), I64(left), "{a} << {n}");
            assert_eq!(at(Op::ShiftRight, &[I64(a), I64(n)]), I64(right), "{a} >> {n}");
            assert_eq!(at(Op::ShiftRightZero, &[I64(a), I64(n)]), I64(logical), "{a} >>> {n}");
        }
        assert_eq!(at(Op::Popcount, &[I64(-1)]), I64(64));
        assert_eq!(at(Op::Clz, &[I64(0)]), I64(64));
        assert_eq!(at(Op::Clz, &[I64(1)]), I64(63));
        assert_eq!(at(Op::Ctz, &[I64(0)]), I64(64));
        assert_eq!(at(Op::Ctz, &[I64(8)]), I64(3));
        for (a, n, power) in [
            (2, 10, 1024),
            (-3, 3, -27),
            (0, 0, 1),
            (0, -1, 0),
            (1, -5, 1),
            (-1, -5, -1),
            (-1, i64::MIN, 1),
            (2, -1, 0),
            // 3 has the order 2^62 modulo 2^64, so 3^(2^63 - 1) is its inverse.
            (3, i64::MAX, 0xaaaa_aaaa_aaaa_aaab_u64 as i64),
            (2, 64, 0),
        ] {
            assert_eq!(at(Op::IntPow, &[I64(a), I64(n)]), I64(power), "{a} ** {n}");
        }
        assert_eq!(at(Op::ToBits, &[F64(1.0)]), I64(0x3ff0_0000_0000_0000));
        assert_eq!(at(Op::ToBits, &[F64(-0.0)]), I64(i64::MIN));
        let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
        assert!(
            nans.map(|x| at(Op::ToBits, &[F64(x)]))
                .iter()
                .all(|&bits| bits == at(Op::ToBits, &[F64(f64::NAN)]))
        );
        assert_eq!(at(Op::FromBits, &[I64(0x4000_0000_0000_0000)]), F64(2.0));
    }

    #[test]
    fn f32_arithmetic_rounds_once_like_the_machine() {
        let mut x = 0x1234_5678_u32;
        for _ in 0..2000 {
            x = x.wrapping_mul(1664525).wrapping_add(1013904223);
            let (a, b) = (f32::from_bits(x), f32::from_bits(x.rotate_left(13)));
            let both = [Scalar::F32(a), Scalar::F32(b)];
            for (op, native) in
                [(Op::Add, a + b), (Op::Sub, a - b), (Op::Mul, a * b), (Op::Div, a / b)]
            {
                assert!(eval(op, &both).unwrap().same(Scalar::F32(native)), "{op} {a:e} {b:e}");
            }
            assert!(eval(Op::Sqrt, &both[..1]).unwrap().same(Scalar::F32(a.sqrt())));
        }
    }
}

//! Scalar operations as vector code. What has none is done by the function of the tile machine.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use super::isa::VectorIsa;
use super::lir::{Ins, IntCompare, One, Two, V, ValueKind};
use super::lower::{NestEmission, kind_of};
use crate::vm::code_of;

/// Predicates of comparisons, without signals.
pub(super) const EQUAL: u8 = 0x00;
pub(super) const UNORDERED: u8 = 0x03;
const NOT_EQUAL: u8 = 0x04;
pub(super) const LESS: u8 = 0x11;
pub(super) const LESS_OR_EQUAL: u8 = 0x12;
const GREATER_OR_EQUAL: u8 = 0x1d;
pub(super) const GREATER: u8 = 0x1e;

/// Modes of rounding, without signals.
const NEAREST: u8 = 0x8;
const DOWN: u8 = 0x9;
const UP: u8 = 0xa;
const TOWARDS_ZERO: u8 = 0xb;

/// Whether an operation on narrow floats needs nothing but narrow lanes.
pub(super) fn is_native(op: Op) -> bool {
    super::math::is_narrow(op)
}

impl NestEmission<'_> {
    pub(super) fn op(
        &mut self,
        op: Op,
        operands: &[(V, Dtype)],
        dtype: Dtype,
        exponent: Option<i64>,
    ) -> Option<V> {
        let at = |n: usize| operands.get(n).copied();
        let (a, from) = at(0)?;
        if let Some(n) = exponent {
            return Some(self.power(a, n));
        }
        let b = at(1).map(|(v, _)| v);
        let c = at(2).map(|(v, _)| v);
        let done = match (op, from, b, c) {
            (Op::Select, _, Some(b), Some(c)) => Some(self.select(a, b, c)),
            (Op::ToF64 | Op::ToF32 | Op::ToI64 | Op::ToBool, _, None, _) => {
                self.convert(a, from, dtype)
            }
            (_, Dtype::F64 | Dtype::F32, None, _) => self.float1(op, a),
            (_, Dtype::F64 | Dtype::F32, Some(b), None) => self.float2(op, a, b),
            (_, Dtype::I64, None, _) => self.int1(op, a),
            (_, Dtype::I64, Some(b), None) if at(1)?.1 == Dtype::I64 => self.int2(op, a, b),
            (_, Dtype::Bool, None, _) => (op == Op::Not).then(|| self.lir.one(One::Not, a)),
            (_, Dtype::Bool, Some(b), None) => self.bool2(op, a, b),
            _ => None,
        };
        let done = match done {
            Some(done) => Some(done),
            None => super::math::record(self, op, operands),
        };
        Some(done.unwrap_or_else(|| self.call(op, operands, dtype)))
    }

    /// The function of the tile machine for the code calls.
    pub(super) fn function(&mut self, op: Op, operands: &[(V, Dtype)]) -> usize {
        let types: smallvec::SmallVec<[Dtype; 3]> = operands.iter().map(|o| o.1).collect();
        self.codes.push(code_of(op, &types));
        self.codes.len() - 1
    }

    fn call(&mut self, op: Op, operands: &[(V, Dtype)], dtype: Dtype) -> V {
        let function = self.function(op, operands);
        let to = self.lir.value(kind_of(dtype));
        let mut given = [None; 3];
        for (slot, &(v, d)) in given.iter_mut().zip(operands) {
            *slot = Some((v, d.size() as u8));
        }
        self.lir.code.push(Ins::Call(function, (to, dtype.size() as u8), given));
        to
    }

    /// A power by repeated squaring, as the table has it.
    fn power(&mut self, a: V, n: i64) -> V {
        let narrow = self.lir.kind(a) == ValueKind::Narrow;
        // Two factors are rounded in the same way in either precision.
        let wide = narrow && !(0..=2).contains(&n);
        let mut base = if wide { self.lir.one(One::Widen, a) } else { a };
        let kind = self.lir.kind(base);
        let (mut m, mut y) = (n.unsigned_abs(), None);
        while m > 0 {
            if m & 1 == 1 {
                y = Some(match y {
                    // One times the base is the base.
                    None => base,
                    Some(y) => self.lir.two(Two::Mul, y, base),
                });
            }
            m >>= 1;
            if m > 0 {
                base = self.lir.two(Two::Mul, base, base);
            }
        }
        let mut y = match y {
            Some(y) => y,
            None => self.lir.float(kind, 1.0),
        };
        if n < 0 {
            let one = self.lir.float(kind, 1.0);
            y = self.lir.two(Two::Div, one, y);
        }
        if wide { self.lir.one(One::NarrowDown, y) } else { y }
    }

    fn select(&mut self, mask: V, a: V, b: V) -> V {
        let kind = self.lir.kind(a);
        if kind != ValueKind::Mask && b == self.lir.constant(kind, 0) {
            return self.lir.keep(mask, a);
        }
        self.lir.choose(mask, a, b)
    }

    fn float1(&mut self, op: Op, a: V) -> Option<V> {
        let lir = &mut self.lir;
        let kind = lir.kind(a);
        let sign = if kind == ValueKind::Wide { 1u64 << 63 } else { 1 << 31 };
        Some(match op {
            Op::Neg => {
                let sign = lir.constant(kind, sign);
                lir.two(Two::Xor, a, sign)
            }
            Op::Abs => {
                let rest = lir.constant(kind, sign - 1);
                lir.two(Two::And, a, rest)
            }
            Op::Recip => {
                let one = lir.float(kind, 1.0);
                lir.two(Two::Div, one, a)
            }
            Op::Sqrt => lir.one(One::Sqrt, a),
            Op::Floor => lir.one(One::Round(DOWN), a),
            Op::Ceil => lir.one(One::Round(UP), a),
            Op::Round => lir.one(One::Round(NEAREST), a),
            Op::Trunc => lir.one(One::Round(TOWARDS_ZERO), a),
            Op::Sign => {
                let (zero, one) = (lir.constant(kind, 0), lir.float(kind, 1.0));
                let minus = lir.float(kind, -1.0);
                let (above, below) = (lir.compare(GREATER, a, zero), lir.compare(LESS, a, zero));
                let rest = lir.choose(below, minus, a);
                lir.choose(above, one, rest)
            }
            Op::StopGradient => a,
            _ => return None,
        })
    }

    fn float2(&mut self, op: Op, a: V, b: V) -> Option<V> {
        let lir = &mut self.lir;
        let kind = lir.kind(a);
        Some(match op {
            Op::Add => lir.two(Two::Add, a, b),
            Op::Sub => lir.two(Two::Sub, a, b),
            Op::Mul => lir.two(Two::Mul, a, b),
            Op::Div => lir.two(Two::Div, a, b),
            Op::Min | Op::Max => {
                let op = if op == Op::Min { Two::Min } else { Two::Max };
                // This is `a` if they are equal or `a` is not a number, but also if `b` is not.
                let chosen = lir.two(op, b, a);
                let nan = lir.compare(UNORDERED, b, b);
                lir.choose(nan, b, chosen)
            }
            Op::Scale => {
                let zero = lir.constant(kind, 0);
                let counts = lir.compare(NOT_EQUAL, a, zero);
                let product = lir.two(Two::Mul, a, b);
                lir.keep(counts, product)
            }
            Op::StrongMul => {
                let zero = lir.constant(kind, 0);
                let counts = [a, b].map(|factor| lir.compare(NOT_EQUAL, factor, zero));
                let product = lir.two(Two::Mul, a, b);
                counts.into_iter().fold(product, |product, counts| lir.keep(counts, product))
            }
            Op::Eq => lir.compare(EQUAL, a, b),
            Op::Ne => lir.compare(NOT_EQUAL, a, b),
            Op::Lt => lir.compare(LESS, a, b),
            Op::Le => lir.compare(LESS_OR_EQUAL, a, b),
            Op::Gt => lir.compare(GREATER, a, b),
            Op::Ge => lir.compare(GREATER_OR_EQUAL, a, b),
            _ => return None,
        })
    }

    fn int1(&mut self, op: Op, a: V) -> Option<V> {
        let lir = &mut self.lir;
        Some(match op {
            Op::Neg => {
                let zero = lir.constant(ValueKind::Wide, 0);
                lir.two(Two::IntSub, zero, a)
            }
            Op::Not => {
                let ones = lir.constant(ValueKind::Wide, u64::MAX);
                lir.two(Two::Xor, a, ones)
            }
            Op::StopGradient => a,
            _ => return None,
        })
    }

    fn int2(&mut self, op: Op, a: V, b: V) -> Option<V> {
        let lir = &mut self.lir;
        Some(match op {
            Op::Add => lir.two(Two::IntAdd, a, b),
            Op::Sub => lir.two(Two::IntSub, a, b),
            Op::Mul => self.int_product(a, b),
            Op::Min | Op::Max => {
                let above = lir.compare_int(IntCompare::Greater, a, b);
                if op == Op::Max { lir.choose(above, a, b) } else { lir.choose(above, b, a) }
            }
            Op::And => lir.two(Two::And, a, b),
            Op::Or => lir.two(Two::Or, a, b),
            Op::Xor => lir.two(Two::Xor, a, b),
            Op::Eq => lir.compare_int(IntCompare::Equal, a, b),
            Op::Ne => {
                let equal = lir.compare_int(IntCompare::Equal, a, b);
                lir.one(One::Not, equal)
            }
            Op::Gt => lir.compare_int(IntCompare::Greater, a, b),
            Op::Lt => lir.compare_int(IntCompare::Greater, b, a),
            Op::Le => {
                let above = lir.compare_int(IntCompare::Greater, a, b);
                lir.one(One::Not, above)
            }
            Op::Ge => {
                let below = lir.compare_int(IntCompare::Greater, b, a);
                lir.one(One::Not, below)
            }
            _ => return None,
        })
    }

    fn int_product(&mut self, a: V, b: V) -> V {
        let lir = &mut self.lir;
        if lir.isa == VectorIsa::Avx512 {
            return lir.two(Two::IntMul, a, b);
        }
        // The product of the upper halves does not matter.
        let (a_high, b_high) = (lir.one(One::ShiftRight(32), a), lir.one(One::ShiftRight(32), b));
        let low = lir.two(Two::MulLow, a, b);
        let (x, y) = (lir.two(Two::MulLow, a_high, b), lir.two(Two::MulLow, a, b_high));
        let cross = lir.two(Two::IntAdd, x, y);
        let cross = lir.one(One::ShiftLeft(32), cross);
        lir.two(Two::IntAdd, low, cross)
    }

    fn bool2(&mut self, op: Op, a: V, b: V) -> Option<V> {
        let lir = &mut self.lir;
        Some(match op {
            Op::And => lir.two(Two::And, a, b),
            Op::Or => lir.two(Two::Or, a, b),
            Op::Xor | Op::Ne => lir.two(Two::Xor, a, b),
            Op::Eq => {
                let differ = lir.two(Two::Xor, a, b);
                lir.one(One::Not, differ)
            }
            Op::Lt => lir.two(Two::AndNot, a, b),
            Op::Gt => lir.two(Two::AndNot, b, a),
            Op::Le => {
                let above = lir.two(Two::AndNot, b, a);
                lir.one(One::Not, above)
            }
            Op::Ge => {
                let below = lir.two(Two::AndNot, a, b);
                lir.one(One::Not, below)
            }
            _ => return None,
        })
    }

    fn convert(&mut self, a: V, from: Dtype, to: Dtype) -> Option<V> {
        let lir = &mut self.lir;
        if from == to {
            return Some(a);
        }
        let fast = lir.isa == VectorIsa::Avx512;
        Some(match (from, to) {
            (Dtype::F32, Dtype::F64) => lir.one(One::Widen, a),
            (Dtype::F64, Dtype::F32) => lir.one(One::NarrowDown, a),
            (Dtype::Bool, Dtype::F64) => {
                let one = lir.float(ValueKind::Wide, 1.0);
                lir.keep(a, one)
            }
            (Dtype::Bool, Dtype::F32) => {
                let one = lir.float(ValueKind::Narrow, 1.0);
                lir.keep(a, one)
            }
            (Dtype::Bool, Dtype::I64) => {
                let one = lir.constant(ValueKind::Wide, 1);
                lir.keep(a, one)
            }
            (Dtype::F64 | Dtype::F32, Dtype::Bool) => {
                let zero = lir.constant(lir.kind(a), 0);
                lir.compare(NOT_EQUAL, a, zero)
            }
            (Dtype::I64, Dtype::Bool) => {
                let zero = lir.constant(ValueKind::Wide, 0);
                let equal = lir.compare_int(IntCompare::Equal, a, zero);
                lir.one(One::Not, equal)
            }
            (Dtype::I64, Dtype::F64) if fast => lir.one(One::FloatFromInt, a),
            (Dtype::I64, Dtype::F64) => {
                // The halves as floats near 2^52 and 2^84 (and 2^63 for the sign); their sum without
                // these is rounded once.
                let lower = lir.constant(ValueKind::Wide, 0xffff_ffff);
                let (near52, near84) = (
                    lir.constant(ValueKind::Wide, 0x4330_0000_0000_0000),
                    lir.constant(ValueKind::Wide, 0x4530_0000_8000_0000),
                );
                let both = lir.constant(ValueKind::Wide, 0x4530_0000_8010_0000);
                let low = lir.two(Two::And, a, lower);
                let low = lir.two(Two::Or, low, near52);
                let high = lir.one(One::ShiftRight(32), a);
                let high = lir.two(Two::Xor, high, near84);
                let high = lir.two(Two::Sub, high, both);
                lir.two(Two::Add, high, low)
            }
            (Dtype::I64, Dtype::F32) if fast => lir.one(One::NarrowFromInt, a),
            (Dtype::F64 | Dtype::F32, Dtype::I64) if fast => {
                let wide = if from == Dtype::F32 { lir.one(One::Widen, a) } else { a };
                // What is too large gives the least integer; so does what is no number.
                let cut = lir.one(One::IntFromFloat, wide);
                let limit = lir.float(ValueKind::Wide, 9_223_372_036_854_775_808.0);
                let above = lir.compare(GREATER_OR_EQUAL, wide, limit);
                let most = lir.constant(ValueKind::Wide, i64::MAX as u64);
                let cut = lir.choose(above, most, cut);
                let number = lir.compare(EQUAL, wide, wide);
                lir.keep(number, cut)
            }
            _ => return None,
        })
    }
}

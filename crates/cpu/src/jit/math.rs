//! Elementary functions as vector code: a machine that writes down what is to be computed.

use std::cell::RefCell;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Real1, Real2, Rule};
use cotan_math::{Binary, Machine, Precision, Unary};

use super::lir::{FusedOp, Ins, IntCompare, Lir, One, Two, V, ValueKind};
use super::lower::NestEmission;
use super::ops::{EQUAL, GREATER, LESS, LESS_OR_EQUAL};

/// A function of the table that has a formula.
#[derive(Clone, Copy)]
enum Elementary {
    Unary(Unary),
    Binary(Binary),
}

fn elementary(op: Op) -> Option<Elementary> {
    match op.row().rule {
        Rule::Real1(Real1::Elementary(f), _) => Some(Elementary::Unary(f)),
        Rule::Real2(Real2::Elementary(f), _) => Some(Elementary::Binary(f)),
        _ => None,
    }
}

/// Whether an operation on narrow floats needs nothing but narrow lanes.
pub(super) fn is_narrow(op: Op) -> bool {
    match elementary(op) {
        Some(Elementary::Unary(f)) => f.has_single(),
        Some(Elementary::Binary(_)) => false,
        None => true,
    }
}

/// About how many instructions an operation has.
pub(super) fn length(op: Op) -> usize {
    if elementary(op).is_some() { 40 } else { 2 }
}

/// An elementary function as vector code, if the operation is one.
pub(super) fn record(l: &mut NestEmission, op: Op, operands: &[(V, Dtype)]) -> Option<V> {
    let f = elementary(op)?;
    let &(a, dtype) = operands.first()?;
    if dtype != Dtype::F32 || is_narrow(op) {
        return formula(l, op, f, operands);
    }
    // In single precision it is the function in double precision, rounded.
    let wide: smallvec::SmallVec<[(V, Dtype); 2]> =
        operands.iter().map(|&(v, _)| (l.lir.one(One::Widen, v), Dtype::F64)).collect();
    debug_assert!(l.lir.kind(a) == ValueKind::Narrow, "floats of four bytes are narrow");
    let value = formula(l, op, f, &wide)?;
    Some(l.lir.one(One::NarrowDown, value))
}

/// The formula of a function, and where it does not hold the function itself.
fn formula(l: &mut NestEmission, op: Op, f: Elementary, operands: &[(V, Dtype)]) -> Option<V> {
    let &(a, dtype) = operands.first()?;
    let kind = l.lir.kind(a);
    let recorder = Recorder { lir: RefCell::new(&mut l.lir), kind };
    let f = match f {
        Elementary::Binary(f) => return f.body(&recorder, a, operands.get(1)?.0),
        Elementary::Unary(f) => f,
    };
    let precision = recorder.precision();
    let value = f.body(&recorder, a)?;
    if let Some(limit) = f.limit(precision) {
        let (size, limit) = (recorder.abs(a), recorder.real(limit));
        let past = recorder.compare(GREATER, size, limit);
        let function = l.function(op, operands);
        let operand = Some((a, dtype.size() as u8));
        l.lir.code.push(Ins::Repair(value, past, function, [operand, None]));
    }
    Some(value)
}

struct Recorder<'a> {
    lir: RefCell<&'a mut Lir>,
    /// The kind of the numbers.
    kind: ValueKind,
}

impl Recorder<'_> {
    fn two(&self, op: Two, a: V, b: V) -> V {
        self.lir.borrow_mut().two(op, a, b)
    }

    fn one(&self, op: One, a: V) -> V {
        self.lir.borrow_mut().one(op, a)
    }

    /// A comparison, as a mask for lanes of the same size.
    fn compare(&self, predicate: u8, a: V, b: V) -> V {
        self.lir.borrow_mut().compare_alike(predicate, a, b)
    }
}

impl Machine for Recorder<'_> {
    type Real = V;
    type Bits = V;
    type Mask = V;

    fn precision(&self) -> Precision {
        match self.kind {
            ValueKind::Narrow => Precision::Single,
            ValueKind::Wide | ValueKind::Mask | ValueKind::HalfMask => Precision::Double,
        }
    }

    fn real(&self, x: f64) -> V {
        self.lir.borrow_mut().float(self.kind, x)
    }

    fn bits(&self, x: u64) -> V {
        self.lir.borrow_mut().constant(self.kind, x)
    }

    fn add(&self, a: V, b: V) -> V {
        self.two(Two::Add, a, b)
    }

    fn sub(&self, a: V, b: V) -> V {
        self.two(Two::Sub, a, b)
    }

    fn mul(&self, a: V, b: V) -> V {
        self.two(Two::Mul, a, b)
    }

    fn div(&self, a: V, b: V) -> V {
        self.two(Two::Div, a, b)
    }

    fn sqrt(&self, a: V) -> V {
        self.one(One::Sqrt, a)
    }

    fn mul_add(&self, a: V, b: V, c: V) -> V {
        self.lir.borrow_mut().fused(FusedOp::MulAdd, a, b, c)
    }

    fn mul_sub(&self, a: V, b: V, c: V) -> V {
        self.lir.borrow_mut().fused(FusedOp::MulSub, a, b, c)
    }

    fn neg_mul_add(&self, a: V, b: V, c: V) -> V {
        self.lir.borrow_mut().fused(FusedOp::NegMulAdd, a, b, c)
    }

    fn min(&self, a: V, b: V) -> V {
        self.two(Two::Min, a, b)
    }

    fn max(&self, a: V, b: V) -> V {
        self.two(Two::Max, a, b)
    }

    fn bits_of(&self, a: V) -> V {
        a
    }

    fn with_bits(&self, a: V) -> V {
        a
    }

    fn bit_and(&self, a: V, b: V) -> V {
        self.two(Two::And, a, b)
    }

    fn bit_or(&self, a: V, b: V) -> V {
        self.two(Two::Or, a, b)
    }

    fn bit_xor(&self, a: V, b: V) -> V {
        self.two(Two::Xor, a, b)
    }

    fn shl(&self, a: V, n: u32) -> V {
        self.one(One::ShiftLeft(n as u8), a)
    }

    fn shr(&self, a: V, n: u32) -> V {
        self.one(One::ShiftRight(n as u8), a)
    }

    fn int_add(&self, a: V, b: V) -> V {
        self.two(Two::IntAdd, a, b)
    }

    fn int_sub(&self, a: V, b: V) -> V {
        self.two(Two::IntSub, a, b)
    }

    fn lt(&self, a: V, b: V) -> V {
        self.compare(LESS, a, b)
    }

    fn le(&self, a: V, b: V) -> V {
        self.compare(LESS_OR_EQUAL, a, b)
    }

    fn eq(&self, a: V, b: V) -> V {
        self.compare(EQUAL, a, b)
    }

    fn top_bit(&self, a: V) -> V {
        let mut lir = self.lir.borrow_mut();
        let zero = lir.constant(self.kind, 0);
        lir.compare_int_alike(IntCompare::Greater, zero, a)
    }

    fn both(&self, a: V, b: V) -> V {
        self.two(Two::And, a, b)
    }

    fn either(&self, a: V, b: V) -> V {
        self.two(Two::Or, a, b)
    }

    fn except(&self, a: V, b: V) -> V {
        self.two(Two::AndNot, b, a)
    }

    fn select(&self, mask: V, a: V, b: V) -> V {
        self.lir.borrow_mut().choose(mask, a, b)
    }
}

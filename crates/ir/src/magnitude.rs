//! How large numbers may be, and with that whether they are finite.
//!
//! What is known of a number $x$ is a bound on $\log_2 |x|$; nothing is known of NaN, of infinities, and
//! of what may be one of these. There is one table of what operations do to bounds ([`magnitude`]), for
//! terms ([`Magnitudes`]) and for the instructions of loops.

use cotan_array::{Array, Dtype, Element};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::scalar::Op;
use crate::term::{Arena, Node, TermId};

/// The most nodes of a term to look at.
const MAX_VISITS: usize = 16;

/// The bound for integers and truth values, as they are and as floats.
pub const INTEGER: f64 = 64.0;

/// Bounds above this are none: sums and products, and their logarithms, are rounded, and must not become
/// infinite.
fn largest(dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 { 126.0 } else { 1022.0 }
}

/// $\log_2 |x|$ of a float that is finite.
pub fn of_float(x: f64) -> Option<f64> {
    x.is_finite().then(|| x.abs().log2())
}

/// The bound for a number given by its bits.
pub fn of_bits(bits: u64, dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => of_float(f64::from_bits(bits)),
        Dtype::F32 => of_float(f32::from_bits(bits as u32).into()),
        Dtype::I64 | Dtype::Bool => Some(INTEGER),
    }
}

/// The bound for the result of an operation, of type `dtype`, from those for its arguments.
pub fn magnitude(op: Op, dtype: Dtype, args: &[Option<f64>]) -> Option<f64> {
    if !dtype.is_float() {
        return Some(INTEGER);
    }
    let size = match (op, args) {
        // |a + b| <= 2 max(|a|, |b|)
        (Op::Add | Op::Sub, &[a, b]) => a?.max(b?) + 1.0,
        (Op::Mul | Op::Scale | Op::StrongMul, &[a, b]) => a? + b?,
        (Op::Max | Op::Min, &[a, b]) | (Op::Select, &[_, a, b]) => a?.max(b?),
        (Op::Neg | Op::Abs | Op::StopGradient | Op::ToF64 | Op::ToF32, &[a]) => a?,
        // Bounded by 1, 1, 1, 1, 1, 1; pi / 2, 2. But NaN goes through, and so do sines of infinities.
        (Op::Sin | Op::Cos | Op::Sign | Op::Tanh | Op::Erf | Op::Logistic, &[a]) => {
            a.map(|_| 0.0)?
        }
        (Op::Atan | Op::Erfc, &[a]) => a.map(|_| 1.0)?,
        _ => return None,
    };
    (size <= largest(dtype)).then_some(size)
}

/// Bounds for the elements of terms. Literals, which may be large, are looked through once.
#[derive(Clone, Debug, Default)]
pub struct Magnitudes {
    literals: FxHashMap<TermId, Option<f64>>,
}

impl Magnitudes {
    /// Whether all elements of a term are certainly finite; `false` when in doubt. Such terms are made
    /// of literals and integers only.
    pub fn is_finite(&mut self, arena: &Arena, t: TermId) -> bool {
        self.of(arena, t, &mut MAX_VISITS.clone()).is_some()
    }

    /// The bound for the elements of a term, after so many visits of nodes at most.
    fn of(&mut self, arena: &Arena, t: TermId, visits: &mut usize) -> Option<f64> {
        let dtype = arena.dtype(t);
        if !dtype.is_float() {
            return Some(INTEGER);
        }
        *visits = visits.checked_sub(1)?;
        let mut most = |this: &mut Magnitudes, ts: &[TermId]| {
            let mut size = f64::NEG_INFINITY;
            for &t in ts {
                size = size.max(this.of(arena, t, visits)?);
            }
            Some(size)
        };
        match arena.node(t) {
            Node::Const(c) => *self.literals.entry(t).or_insert_with(|| of_literal(c)),
            Node::Op(op, args) => {
                // A choice may be made by anything.
                let args: SmallVec<[Option<f64>; 3]> =
                    args.iter().map(|&u| self.of(arena, u, visits)).collect();
                magnitude(*op, dtype, &args)
            }
            Node::Cond(_, u, v) => most(self, &[*u, *v]),
            Node::Stack(ts) if ts.len() <= MAX_VISITS => most(self, ts),
            Node::Index(u, _) | Node::Gather(u, _) | Node::Replicate(_, u) => most(self, &[*u]),
            Node::Transpose(_, u) | Node::Reshape(_, u) | Node::OneHot(_, u, _) => {
                most(self, &[*u])
            }
            Node::Stack(_) | Node::Input(_) | Node::Var { .. } | Node::SumOuter(_) => None,
            Node::Scatter(..) | Node::Build1(_) | Node::Iota(_) | Node::ArgExtreme(..) => None,
            Node::ArgSort(_) | Node::SegmentArg(..) | Node::MapAccum(_) | Node::While(_) => None,
            Node::Routine(..) | Node::Custom(_) | Node::Result(..) => None,
        }
    }
}

fn of_literal(c: &Array) -> Option<f64> {
    fn most<T: Element + Into<f64>>(c: &Array) -> Option<f64> {
        let mut size = f64::NEG_INFINITY;
        for x in c.iter::<T>()? {
            size = size.max(of_float(x.into())?);
        }
        Some(size)
    }
    match c.dtype() {
        Dtype::F32 => most::<f32>(c),
        Dtype::F64 => most::<f64>(c),
        Dtype::I64 | Dtype::Bool => Some(INTEGER),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Builder, Result, Type};

    fn is_finite(make: impl FnOnce(&mut Builder, TermId) -> Result<TermId>) -> bool {
        let mut b = Builder::new();
        let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
        let t = make(&mut b, x).unwrap();
        Magnitudes::default().is_finite(&b, t)
    }

    #[test]
    fn what_is_made_of_finite_literals_and_integers_is_finite() {
        assert!(is_finite(|b, _| b.scalar(-2.5)));
        assert!(is_finite(|b, x| {
            let n = b.op(Op::ToI64, &[x])?;
            let x = b.op(Op::ToF64, &[n])?;
            b.op(Op::Sin, &[x])
        }));
        assert!(is_finite(|b, x| {
            let (p, y) = (b.op(Op::Lt, &[x, x])?, b.scalar(1e300)?);
            let z = b.op(Op::Neg, &[y])?;
            b.op(Op::Select, &[p, y, z])
        }));
    }

    #[test]
    fn what_may_be_infinite_is_not() {
        assert!(!is_finite(|_, x| Ok(x)));
        assert!(!is_finite(|b, x| b.op(Op::Tanh, &[x])));
        assert!(!is_finite(|b, _| b.scalar(f64::NAN)));
        assert!(!is_finite(|b, _| {
            let y = b.scalar(1e200)?;
            b.op(Op::Mul, &[y, y])
        }));
        assert!(!is_finite(|b, _| {
            let y = b.scalar(0.0)?;
            b.op(Op::Recip, &[y])
        }));
        // From double to single precision.
        assert!(!is_finite(|b, _| {
            let y = b.scalar(1e200)?;
            b.op(Op::ToF32, &[y])
        }));
    }

    #[test]
    fn bounds_hold() {
        for (x, y) in [(3.0, -5.0), (0.0, 1e-300), (-1e10, 1e-10)] {
            let args = [of_float(x), of_float(y)];
            for (op, z) in [(Op::Add, x + y), (Op::Sub, x - y), (Op::Mul, x * y)] {
                let bound = magnitude(op, Dtype::F64, &args).unwrap();
                // Logarithms are rounded, for which the largest bound leaves room.
                assert!(of_float(z).unwrap() <= bound + 1e-9, "{op:?} {x} {y}");
            }
        }
    }
}

//! Intervals of integer terms: is this index provably in range?
//!
//! Every node of type `i64` (and `bool`, as 0 and 1) carries an interval that holds all its
//! elements, computed when it is made from those of its operands. Index variables know their range;
//! arithmetic that may wrap gives up and knows nothing. A branch of `where` or `cond` knows its
//! condition (`bounds/guard.rs`).

mod guard;

use cotan_array::Dtype;

use crate::scalar::Op;
use crate::term::{Arena, Node, Param, TermId};

/// The integers from `lo` to `hi`, both included. Empty when `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The smallest.
    pub lo: i64,
    /// The largest.
    pub hi: i64,
}

impl Interval {
    /// Every integer: nothing is known.
    pub const ALL: Interval = Interval { lo: i64::MIN, hi: i64::MAX };
    /// No integer: an array without elements, or a loop that never runs.
    pub const EMPTY: Interval = Interval { lo: i64::MAX, hi: i64::MIN };
    /// The truth values.
    pub const BOOL: Interval = Interval { lo: 0, hi: 1 };

    /// The integers from `lo` to `hi`.
    pub fn new(lo: i64, hi: i64) -> Interval {
        Interval { lo, hi }
    }

    /// Just one integer.
    pub fn just(x: i64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// Whether it holds no integer.
    pub fn is_empty(self) -> bool {
        self.lo > self.hi
    }

    /// The only integer it holds.
    pub fn singleton(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether every integer of it lies in `0 .. size`.
    pub fn within(self, size: usize) -> bool {
        self.is_empty() || self.lo >= 0 && i128::from(self.hi) < size as i128
    }

    /// Whether no integer of it lies in `0 .. size`.
    pub fn outside(self, size: usize) -> bool {
        self.is_empty() || self.hi < 0 || i128::from(self.lo) >= size as i128
    }

    /// The smallest interval around both.
    pub fn hull(self, other: Interval) -> Interval {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The integers in both.
    pub fn meet(self, other: Interval) -> Interval {
        let both = Interval { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        if both.is_empty() { Interval::EMPTY } else { both }
    }

    /// The corners of a monotone operation, or [`Interval::ALL`] when one of them overflows.
    fn corners(self, other: Interval, f: impl Fn(i128, i128) -> i128) -> Interval {
        if self.is_empty() || other.is_empty() {
            return Interval::EMPTY;
        }
        let wide = |x: Interval| [i128::from(x.lo), i128::from(x.hi)];
        let values = wide(self).into_iter().flat_map(|a| wide(other).map(|b| f(a, b)));
        let (mut lo, mut hi) = (i128::MAX, i128::MIN);
        for x in values {
            (lo, hi) = (lo.min(x), hi.max(x));
        }
        match (i64::try_from(lo), i64::try_from(hi)) {
            (Ok(lo), Ok(hi)) => Interval { lo, hi },
            _ => Interval::ALL,
        }
    }
}

/// What the intervals of the operands say about a node.
pub(crate) fn of_node(arena: &Arena, node: &Node, dtype: Dtype) -> Interval {
    let top = match dtype {
        Dtype::Bool => Interval::BOOL,
        Dtype::I64 | Dtype::F64 | Dtype::F32 => Interval::ALL,
    };
    if dtype.is_float() {
        return top;
    }
    let b = |t: TermId| arena.bounds(t);
    // A read that may be out of range may be zero.
    let read = |t: TermId, in_range: bool| {
        if in_range { b(t) } else { b(t).hull(Interval::just(0)) }
    };
    let in_range = |t: TermId, ix: &[TermId]| {
        let dims = arena.shape(t).dims();
        ix.iter().zip(dims).all(|(&i, &k)| b(i).within(k))
    };
    let below = |k: usize| Interval::new(0, i64::try_from(k).unwrap_or(i64::MAX) - 1);
    match node {
        Node::Const(c) => match dtype {
            Dtype::I64 => hull_of(c.as_slice::<i64>().unwrap_or(&[]).iter().copied()),
            _ => hull_of(c.as_slice::<bool>().unwrap_or(&[]).iter().map(|&x| i64::from(x))),
        },
        Node::Var { param, .. } => match **param {
            Param::Index(k) => below(k),
            Param::Value(_) => top,
        },
        Node::Iota(k) => below(*k),
        Node::Input(_) | Node::Result(..) => top,
        Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => top,
        Node::Cond(p, t, e) => match b(*p).singleton() {
            Some(1) => b(*t),
            Some(0) => b(*e),
            _ => guard::branch(arena, *p, true, *t).hull(guard::branch(arena, *p, false, *e)),
        },
        Node::Op(Op::Select, args) if b(args[0]) == Interval::BOOL => {
            guard::branch(arena, args[0], true, args[1])
                .hull(guard::branch(arena, args[0], false, args[2]))
        }
        Node::Op(op, args) => of_op(*op, args.iter().map(|&t| b(t)).collect(), arena, args, top),
        Node::Index(t, ix) => read(*t, in_range(*t, ix)),
        Node::Gather(t, r) => read(*t, in_range(*t, &arena.region(*r).results)),
        Node::SumOuter(t) => {
            let k = arena.shape(*t).dims().first().copied().unwrap_or(0);
            let k = Interval::just(i64::try_from(k).unwrap_or(i64::MAX));
            if b(*t).is_empty() { Interval::just(0) } else { b(*t).corners(k, |a, b| a * b) }
        }
        Node::Scatter(..) => {
            // Sums of any number of elements: only the sign survives, and only without wrapping.
            top
        }
        Node::OneHot(_, v, _) => b(*v).hull(Interval::just(0)),
        Node::Stack(ts) => ts.iter().fold(Interval::EMPTY, |x, &t| x.hull(b(t))),
        Node::Replicate(_, t) | Node::Transpose(_, t) | Node::Reshape(_, t) => b(*t),
        Node::Build1(r) => arena.region(*r).results.first().map_or(top, |&t| b(t)),
        // The size stands for a segment without elements.
        Node::SegmentArg(_, _, t, _) => {
            let k = arena.shape(*t).dims().first().copied().unwrap_or(0);
            Interval::new(0, i64::try_from(k).unwrap_or(i64::MAX))
        }
        Node::Routine(_, ts) => {
            let n = ts.first().and_then(|&t| arena.shape(t).dims().last()).copied().unwrap_or(0);
            Interval::new(0, (i64::try_from(n).unwrap_or(i64::MAX) - 1).max(0))
        }
        Node::ArgExtreme(_, t) | Node::ArgSort(t) => {
            let k = arena.shape(*t).dims().first().copied().unwrap_or(0);
            Interval::new(0, (i64::try_from(k).unwrap_or(i64::MAX) - 1).max(0))
        }
    }
}

fn hull_of(xs: impl Iterator<Item = i64>) -> Interval {
    xs.fold(Interval::EMPTY, |x, y| x.hull(Interval::just(y)))
}

fn of_op(op: Op, xs: Vec<Interval>, arena: &Arena, args: &[TermId], top: Interval) -> Interval {
    let floats = args.iter().any(|&t| arena.dtype(t).is_float());
    if floats && op != Op::Select {
        return top;
    }
    if xs.iter().any(|x| x.is_empty()) {
        return Interval::EMPTY;
    }
    let decide = |holds: bool, fails: bool| match (holds, fails) {
        (true, _) => Interval::just(1),
        (_, true) => Interval::just(0),
        _ => Interval::BOOL,
    };
    let is_bool = top == Interval::BOOL;
    match (op, xs.as_slice()) {
        (Op::Add, &[a, b]) => a.corners(b, |a, b| a + b),
        (Op::Sub, &[a, b]) => a.corners(b, |a, b| a - b),
        (Op::Mul, &[a, b]) => a.corners(b, |a, b| a * b),
        (Op::Neg, &[a]) => a.corners(a, |a, _| -a),
        (Op::Min, &[a, b]) => Interval::new(a.lo.min(b.lo), a.hi.min(b.hi)),
        (Op::Max, &[a, b]) => Interval::new(a.lo.max(b.lo), a.hi.max(b.hi)),
        (Op::Abs, &[a]) if a.lo >= 0 => a,
        (Op::Abs, &[a]) if a.lo > i64::MIN => Interval::new(0, a.hi.max(-a.lo)),
        (Op::Sign, &[a]) => Interval::new(a.lo.signum(), a.hi.signum()),
        (Op::FloorDiv, &[a, b]) if b.lo > 0 => a.corners(b, |a, b| a.div_euclid(b)),
        // Division by zero is 0, and |a // b| <= |a| for negative divisors too, up to rounding.
        (Op::Rem, &[a, b]) if b.lo > 0 => {
            if a.lo >= 0 && a.hi < b.lo {
                a
            } else {
                let lo = 0;
                Interval::new(lo, if a.lo >= 0 { a.hi.min(b.hi - 1) } else { b.hi - 1 })
            }
        }
        (Op::Select, &[c, a, b]) => match c.singleton() {
            Some(1) => a,
            Some(0) => b,
            _ => a.hull(b),
        },
        (Op::Lt, &[a, b]) => decide(a.hi < b.lo, a.lo >= b.hi),
        (Op::Le, &[a, b]) => decide(a.hi <= b.lo, a.lo > b.hi),
        (Op::Gt, &[a, b]) => decide(a.lo > b.hi, a.hi <= b.lo),
        (Op::Ge, &[a, b]) => decide(a.lo >= b.hi, a.hi < b.lo),
        (Op::Eq, &[a, b]) => decide(a.singleton().is_some() && a == b, a.meet(b).is_empty()),
        (Op::Ne, &[a, b]) => decide(a.meet(b).is_empty(), a.singleton().is_some() && a == b),
        (Op::And, &[a, b]) if is_bool => Interval::new(a.lo.min(b.lo), a.hi.min(b.hi)),
        (Op::Or, &[a, b]) if is_bool => Interval::new(a.lo.max(b.lo), a.hi.max(b.hi)),
        (Op::Not, &[a]) if is_bool => Interval::new(1 - a.hi, 1 - a.lo),
        (Op::And, &[a, b]) if a.lo >= 0 && b.lo >= 0 => Interval::new(0, a.hi.min(b.hi)),
        (Op::ToI64, &[a]) => a,
        (Op::ToBool, &[a]) => decide(a.lo > 0 || a.hi < 0, a == Interval::just(0)),
        _ => top,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{Scalar, eval};

    /// Every value of every operation on small integers lies in the interval computed for it.
    #[test]
    fn intervals_are_sound_on_all_small_ranges() {
        let ranges: Vec<Interval> = (-3..=3)
            .flat_map(|lo| (lo..=3).map(move |hi| Interval::new(lo, hi)))
            .chain([Interval::just(i64::MAX), Interval::just(i64::MIN), Interval::ALL])
            .collect();
        let members = |x: Interval| -> Vec<i64> {
            let edge = [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX];
            (-4..=4).chain(edge).filter(|&v| v >= x.lo && v <= x.hi).collect()
        };
        let arena = Arena::default();
        for op in Op::all() {
            if !op.typings().contains(&vec![Dtype::I64; op.arity()]) {
                continue;
            }
            let top = match op.result_dtype(&vec![Dtype::I64; op.arity()]) {
                Some(Dtype::Bool) => Interval::BOOL,
                _ => Interval::ALL,
            };
            for &a in &ranges {
                for &b in if op.arity() == 2 { &ranges[..] } else { &ranges[..1] } {
                    let xs = if op.arity() == 2 { vec![a, b] } else { vec![a] };
                    let got = of_op(op, xs, &arena, &[], top);
                    for x in members(a) {
                        for y in members(b) {
                            let args = [Scalar::I64(x), Scalar::I64(y)];
                            let value = match eval(op, &args[..op.arity()]) {
                                Some(Scalar::I64(v)) => v,
                                Some(Scalar::Bool(v)) => i64::from(v),
                                _ => continue,
                            };
                            assert!(
                                got.lo <= value && value <= got.hi,
                                "{op} {x} {y} = {value} not in {got:?} from {a:?} {b:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn membership_is_exact() {
        assert!(Interval::new(0, 4).within(5));
        assert!(!Interval::new(0, 5).within(5));
        assert!(!Interval::new(-1, 2).within(5));
        assert!(Interval::EMPTY.within(0));
        assert!(Interval::new(5, 9).outside(5));
        assert!(!Interval::new(4, 9).outside(5));
    }
}

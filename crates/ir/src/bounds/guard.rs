//! What a condition says about the branch it guards.
//!
//! In `where(0 <= e and e < n, e + c, v)` the first branch is taken only where `e` lies in `0 .. n`,
//! so `e + c` lies in `c .. n + c` there. The terms compared and the branch may differ from a common
//! base by constants; addition wraps, which is sound as long as the shifted interval does not.

use smallvec::SmallVec;

use super::Interval;
use crate::scalar::Op;
use crate::term::{Arena, Node, TermId};

/// Conditions of more parts than this are not taken apart further.
const MAX_PARTS: usize = 8;
/// Sums of more constants than this are not taken apart further.
const MAX_SUMMANDS: usize = 4;

/// The interval of `t` where the condition `p` is `holds`.
pub(super) fn branch(arena: &Arena, p: TermId, holds: bool, t: TermId) -> Interval {
    let all = arena.bounds(t);
    if arena.dtype(t) != cotan_array::Dtype::I64 {
        return all;
    }
    let (base, offset) = split(arena, t);
    // What is known of terms `base + c`, by `c`.
    let mut known: SmallVec<[(i64, Interval); 4]> = SmallVec::new();
    for (u, interval) in comparisons(arena, p, holds) {
        let (other, c) = split(arena, u);
        if other != base {
            continue;
        }
        match known.iter_mut().find(|(d, _)| *d == c) {
            Some((_, found)) => *found = found.meet(interval),
            None => known.push((c, arena.bounds(u).meet(interval))),
        }
    }
    known.into_iter().fold(all, |all, (c, interval)| {
        let by = i128::from(offset) - i128::from(c);
        all.meet(shifted(interval, by))
    })
}

/// `{x + by | x in interval}`, or everything if some of that wraps.
fn shifted(interval: Interval, by: i128) -> Interval {
    if interval.is_empty() {
        return Interval::EMPTY;
    }
    match (i64::try_from(interval.lo as i128 + by), i64::try_from(interval.hi as i128 + by)) {
        (Ok(lo), Ok(hi)) => Interval::new(lo, hi),
        _ => Interval::ALL,
    }
}

/// `t` as `base + constant`, in wrapping arithmetic.
fn split(arena: &Arena, t: TermId) -> (TermId, i64) {
    let (mut base, mut offset) = (t, 0i64);
    let constant = |t: TermId| arena.bounds(t).singleton();
    for _ in 0..MAX_SUMMANDS {
        match arena.node(base) {
            Node::Op(Op::Add, args) => match (constant(args[0]), constant(args[1])) {
                (_, Some(c)) => (base, offset) = (args[0], offset.wrapping_add(c)),
                (Some(c), _) => (base, offset) = (args[1], offset.wrapping_add(c)),
                _ => break,
            },
            Node::Op(Op::Sub, args) => match constant(args[1]) {
                Some(c) => (base, offset) = (args[0], offset.wrapping_sub(c)),
                None => break,
            },
            _ => break,
        }
    }
    (base, offset)
}

/// Integer terms with intervals that hold them where the condition is `holds`.
fn comparisons(
    arena: &Arena,
    p: TermId,
    holds: bool,
) -> SmallVec<[(TermId, Interval); 2 * MAX_PARTS]> {
    let mut found = SmallVec::new();
    let mut parts: SmallVec<[(TermId, bool); MAX_PARTS]> = SmallVec::from_slice(&[(p, holds)]);
    let mut budget = 2 * MAX_PARTS;
    while let Some((part, holds)) = parts.pop() {
        let Node::Op(op, args) = arena.node(part) else { continue };
        let Some(left) = budget.checked_sub(1) else { return found };
        budget = left;
        match (op, holds) {
            (Op::And, true) | (Op::Or, false) => parts.extend(args.iter().map(|&q| (q, holds))),
            (Op::Not, _) => parts.push((args[0], !holds)),
            (Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne, _) => {
                let (a, b) = (args[0], args[1]);
                if arena.dtype(a) == cotan_array::Dtype::I64 {
                    let (x, y) = (arena.bounds(a), arena.bounds(b));
                    let relation = if holds { *op } else { negation(*op) };
                    found.push((a, relative(relation, y)));
                    found.push((b, relative(mirrored(relation), x)));
                }
            }
            _ => {}
        }
    }
    found
}

/// The integers `x` with `x op y` for some `y` of an interval.
fn relative(op: Op, y: Interval) -> Interval {
    if y.is_empty() {
        return Interval::EMPTY;
    }
    let below = |hi: Option<i64>| hi.map_or(Interval::EMPTY, |hi| Interval::new(i64::MIN, hi));
    let above = |lo: Option<i64>| lo.map_or(Interval::EMPTY, |lo| Interval::new(lo, i64::MAX));
    match op {
        Op::Lt => below(y.hi.checked_sub(1)),
        Op::Le => below(Some(y.hi)),
        Op::Gt => above(y.lo.checked_add(1)),
        Op::Ge => above(Some(y.lo)),
        Op::Eq => y,
        _ => Interval::ALL,
    }
}

/// The comparison that holds where `op` does not.
fn negation(op: Op) -> Op {
    match op {
        Op::Lt => Op::Ge,
        Op::Le => Op::Gt,
        Op::Gt => Op::Le,
        Op::Ge => Op::Lt,
        Op::Eq => Op::Ne,
        Op::Ne => Op::Eq,
        other => other,
    }
}

/// `b op' a` for `a op b`.
fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{Scalar, eval};
    use crate::{Builder, Param, Result, Type};
    use cotan_array::Dtype;

    const COMPARISONS: [Op; 6] = [Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne];

    /// `(i + by) op limit`, the sides exchanged if `mirror`.
    #[derive(Clone, Copy, Debug)]
    struct Part {
        by: i64,
        op: Op,
        limit: i64,
        mirror: bool,
    }

    impl Part {
        fn term(self, b: &mut Builder, i: TermId) -> Result<TermId> {
            let (by, limit) = (b.scalar(self.by)?, b.scalar(self.limit)?);
            let i = b.op(Op::Add, &[i, by])?;
            let args = if self.mirror { [limit, i] } else { [i, limit] };
            b.op(self.op, &args)
        }

        fn value(self, i: i64) -> bool {
            let (i, limit) = (Scalar::I64(i.wrapping_add(self.by)), Scalar::I64(self.limit));
            let args = if self.mirror { [limit, i] } else { [i, limit] };
            eval(self.op, &args) == Some(Scalar::Bool(true))
        }
    }

    /// `where(first join second, i + by, 0)` holds every value it takes, for all small conditions.
    fn sound(input: bool, values: &[i64]) {
        let parts: Vec<Part> = (-1..=1)
            .flat_map(|by| [-1, 0, 2, i64::MAX].map(|limit| (by, limit)))
            .flat_map(|(by, limit)| {
                COMPARISONS.map(|op| Part { by, op, limit, mirror: by == 0 && limit != 0 })
            })
            .collect();
        let mut tight = 0;
        for (n, &first) in parts.iter().enumerate() {
            for (m, &second) in parts.iter().enumerate() {
                let join = if (n + m) % 2 == 0 { Op::And } else { Op::Or };
                let by = [-1, 0, 1][(n / 2 + m) % 3];
                let mut b = Builder::new();
                let i = match input {
                    true => b.input("i", Type::scalar(Dtype::I64)).unwrap(),
                    false => b.open(&[Param::Index(4)]).unwrap()[0],
                };
                let (p, q) = (first.term(&mut b, i).unwrap(), second.term(&mut b, i).unwrap());
                let condition = b.op(join, &[p, q]).unwrap();
                let (by_term, other) = (b.scalar(by).unwrap(), b.scalar(7i64).unwrap());
                let branch = b.op(Op::Add, &[i, by_term]).unwrap();
                let chosen = b.op(Op::Select, &[condition, branch, other]).unwrap();
                let rejected = b.cond(condition, other, branch).unwrap();
                tight += usize::from(b.bounds(chosen) != b.bounds(branch).hull(Interval::just(7)));
                for &x in values {
                    let (p, q) = (first.value(x), second.value(x));
                    let holds = if join == Op::And { p && q } else { p || q };
                    let taken = x.wrapping_add(by);
                    for (t, value) in [
                        (chosen, if holds { taken } else { 7 }),
                        (rejected, if holds { 7 } else { taken }),
                    ] {
                        let bounds = b.bounds(t);
                        assert!(
                            bounds.lo <= value && value <= bounds.hi,
                            "{first:?} {join} {second:?}, {x} + {by}: {value} not in {bounds:?}"
                        );
                    }
                }
            }
        }
        assert!(tight > 500, "conditions say something in {tight} cases only");
    }

    #[test]
    fn conditions_on_an_index_are_sound() {
        sound(false, &[0, 1, 2, 3]);
    }

    #[test]
    fn conditions_on_any_integer_are_sound() {
        let edges = [i64::MIN, i64::MIN + 1, i64::MIN + 2, i64::MAX - 2, i64::MAX - 1, i64::MAX];
        let values: Vec<i64> = (-5..=5).chain(edges).collect();
        sound(true, &values);
    }

    /// The interval of `where(p, t, v)` for a condition and branches on an unknown `e` and an index
    /// `i` below 10.
    fn interval(
        make: impl Fn(&mut Builder, TermId, TermId) -> Result<(TermId, TermId, TermId)>,
    ) -> Interval {
        let mut b = Builder::new();
        let e = b.input("e", Type::scalar(Dtype::I64)).unwrap();
        let i = b.open(&[Param::Index(10)]).unwrap()[0];
        let (p, t, v) = make(&mut b, e, i).unwrap();
        let chosen = b.op(Op::Select, &[p, t, v]).unwrap();
        let lazily = b.cond(p, t, v).unwrap();
        assert_eq!(b.bounds(chosen), b.bounds(lazily));
        b.bounds(chosen)
    }

    #[test]
    fn the_usual_guards_are_understood() {
        // where(0 <= e and e < 5, e, 0)
        let clamped = interval(|b, e, _| {
            let (zero, five) = (b.scalar(0i64)?, b.scalar(5i64)?);
            let (above, below) = (b.op(Op::Le, &[zero, e])?, b.op(Op::Lt, &[e, five])?);
            Ok((b.op(Op::And, &[above, below])?, e, zero))
        });
        assert_eq!(clamped, Interval::new(0, 4));
        // where(i >= 1, i - 1, 0)
        let previous = interval(|b, _, i| {
            let (zero, one) = (b.scalar(0i64)?, b.scalar(1i64)?);
            Ok((b.op(Op::Ge, &[i, one])?, b.op(Op::Sub, &[i, one])?, zero))
        });
        assert_eq!(previous, Interval::new(0, 8));
        // where(e < 0 or e > 4, 2, e)
        let outside = interval(|b, e, _| {
            let (zero, two, four) = (b.scalar(0i64)?, b.scalar(2i64)?, b.scalar(4i64)?);
            let (below, above) = (b.op(Op::Lt, &[e, zero])?, b.op(Op::Gt, &[e, four])?);
            Ok((b.op(Op::Or, &[below, above])?, two, e))
        });
        assert_eq!(outside, Interval::new(0, 4));
        // where(not (i == e), 3, i) with i below 10: the branch knows only that i is an index.
        let equal = interval(|b, e, i| {
            let (three, same) = (b.scalar(3i64)?, b.op(Op::Eq, &[i, e])?);
            Ok((b.op(Op::Not, &[same])?, three, e))
        });
        assert_eq!(equal, Interval::new(0, 9));
    }

    #[test]
    fn a_sum_that_may_wrap_says_nothing() {
        // where(e < 5, e - 1, 0): e may be the smallest integer.
        let wrapped = interval(|b, e, _| {
            let (zero, one, five) = (b.scalar(0i64)?, b.scalar(1i64)?, b.scalar(5i64)?);
            Ok((b.op(Op::Lt, &[e, five])?, b.op(Op::Sub, &[e, one])?, zero))
        });
        assert_eq!(wrapped, Interval::ALL);
        // where(e + 1 >= 0, e, 0): the largest e passes as well, its successor does not.
        let edge = interval(|b, e, _| {
            let (zero, one) = (b.scalar(0i64)?, b.scalar(1i64)?);
            let next = b.op(Op::Add, &[e, one])?;
            Ok((b.op(Op::Ge, &[next, zero])?, e, zero))
        });
        assert_eq!(edge, Interval::new(-1, i64::MAX - 1));
    }
}

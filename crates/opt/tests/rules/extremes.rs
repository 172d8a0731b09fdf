//! Reads at the position of an extreme.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, Result, TermId};

use crate::support::{Check, check, cons};

/// Up to more rows than are written out.
const MOST: usize = 7;

fn one_of_both(n: usize) -> (Extreme, Op) {
    if n == 0 { (Extreme::Max, Op::Max) } else { (Extreme::Min, Op::Min) }
}

/// The best of all rows, one after the other.
fn best(b: &mut Builder, op: Op, rows: TermId) -> Result<TermId> {
    let length = b.shape(rows).dims()[0];
    let row = |b: &mut Builder, k: usize| {
        let k = b.scalar(k as i64)?;
        b.index(rows, &[k])
    };
    let first = row(b, 0)?;
    (1..length).try_fold(first, |best, k| {
        let next = row(b, k)?;
        b.op(op, &[best, next])
    })
}

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "index/extreme",
            |s| {
                let (k, dtype) = (1 + s.choice(MOST), s.one_of(&[Dtype::F64, Dtype::I64]));
                Ok((one_of_both(s.choice(2)), s.array_of(dtype, &[k])?))
            },
            |b, &((extreme, _), t)| {
                let position = b.arg_extreme(extreme, t)?;
                b.index(t, &[position])
            },
            |b, &((_, op), t)| best(b, op, t),
        ),
        // Along the first axis.
        check(
            "gather/extreme",
            |s| {
                let (k, dtype) = (1 + s.choice(MOST), s.one_of(&[Dtype::F64, Dtype::I64]));
                let rest = s.shape_of_rank(1, 2);
                Ok((one_of_both(s.choice(2)), s.array_of(dtype, &cons(k, &rest))?, rest))
            },
            |b, ((extreme, _), t, rest)| {
                let position = b.arg_extreme(*extreme, *t)?;
                let f =
                    b.index_function(rest, |b, is| Ok([&[b.index(position, is)?], is].concat()))?;
                b.gather(*t, f)
            },
            |b, ((_, op), t, _)| best(b, *op, *t),
        ),
        // Along the last axis of an array that is copied.
        check(
            "gather/extreme",
            |s| {
                let (k, m, n) = (1 + s.choice(MOST), 1 + s.choice(3), 1 + s.choice(3));
                Ok((one_of_both(s.choice(2)), s.array(&[m, k])?, (m, n)))
            },
            |b, &((extreme, _), t, (m, n))| {
                let turned = b.transpose(&[1, 0], t)?;
                let copies = b.replicate(n, turned)?;
                let copies = b.transpose(&[1, 0, 2], copies)?;
                let position = b.arg_extreme(extreme, copies)?;
                let f =
                    b.index_function(&[n, m], |b, is| Ok(vec![is[1], b.index(position, is)?]))?;
                b.gather(t, f)
            },
            |b, &((_, op), t, (_, n))| {
                let turned = b.transpose(&[1, 0], t)?;
                let best = best(b, op, turned)?;
                b.replicate(n, best)
            },
        ),
    ]
}

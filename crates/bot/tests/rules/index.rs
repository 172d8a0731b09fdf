//! The rules of Fig. bot-rules-index, in its order, then ours.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, Result, Routine, TermId};
use cotan_testkit::rules::Table;

use crate::support::{Check, Spot, check, cons, in_range};

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "index/nil",
            |s| {
                let sh = s.shape();
                s.array(&sh)
            },
            |b, &t| b.index(t, &[]),
            |_, &t| Ok(t),
        ),
        check(
            "index/index",
            |s| {
                let (outer, inner) = (s.shape_of_rank(1, 2), s.shape_of_rank(1, 2));
                let t = s.array(&[&outer[..], &inner[..]].concat())?;
                Ok((t, Spot::new(s, &outer)?, Spot::new(s, &inner)?))
            },
            |b, (t, first, second)| {
                let (first, second) = (first.at(b)?, second.at(b)?);
                let row = b.index(*t, &first)?;
                b.index(row, &second)
            },
            |b, (t, first, second)| {
                let (first, second) = (first.at(b)?, second.at(b)?);
                b.index(*t, &[first, second].concat())
            },
        ),
        check(
            "index/let",
            |s| {
                let sh = s.shape_of_rank(1, 3);
                let (op, n) = (s.unary_op(), 1 + s.choice(sh.len()));
                Ok((op, s.array(&sh)?, Spot::new(s, &sh[..n])?))
            },
            // let x = v in (-x)[ix] + (2 x)[ix], the operations outside being zero at zero.
            |b, (op, t, spot)| {
                let (x, ix) = (b.op(*op, &[*t])?, spot.at(b)?);
                let (u, v) = (b.op(Op::Neg, &[x])?, b.op(Op::Add, &[x, x])?);
                let (u, v) = (b.index(u, &ix)?, b.index(v, &ix)?);
                b.op(Op::Add, &[u, v])
            },
            |b, (op, t, spot)| {
                let (x, ix) = (b.op(*op, &[*t])?, spot.at(b)?);
                let x = b.index(x, &ix)?;
                let (u, v) = (b.op(Op::Neg, &[x])?, b.op(Op::Add, &[x, x])?);
                b.op(Op::Add, &[u, v])
            },
        ),
        check(
            "index/cond",
            |s| {
                let sh = s.shape_of_rank(1, 3);
                let n = 1 + s.choice(sh.len());
                let (p, u, v) = (s.array_of(Dtype::Bool, &[])?, s.array(&sh)?, s.array(&sh)?);
                Ok((p, u, v, Spot::new(s, &sh[..n])?))
            },
            |b, (p, u, v, spot)| {
                let (chosen, ix) = (b.cond(*p, *u, *v)?, spot.at(b)?);
                b.index(chosen, &ix)
            },
            |b, (p, u, v, spot)| {
                let ix = spot.at(b)?;
                let (u, v) = (b.index(*u, &ix)?, b.index(*v, &ix)?);
                b.cond(*p, u, v)
            },
        ),
        check(
            "index/op2",
            |s| {
                let (sh, op) = (s.shape_of_rank(1, 3), s.binary_op());
                let n = 1 + s.choice(sh.len());
                Ok((op, s.array(&sh)?, s.array(&sh)?, Spot::new(s, &sh[..n])?))
            },
            |b, (op, t, u, spot)| {
                let (all, ix) = (b.op(*op, &[*t, *u])?, spot.at(b)?);
                b.index(all, &ix)
            },
            |b, (op, t, u, spot)| {
                let ix = spot.at(b)?;
                let (t, u) = (b.index(*t, &ix)?, b.index(*u, &ix)?);
                let one = b.op(*op, &[t, u])?;
                spot.mask(b, one)
            },
        ),
        check(
            "index/op1",
            |s| {
                let (sh, op) = (s.shape_of_rank(1, 3), s.unary_op());
                let n = 1 + s.choice(sh.len());
                Ok((op, s.array(&sh)?, Spot::new(s, &sh[..n])?))
            },
            |b, (op, t, spot)| {
                let (all, ix) = (b.op(*op, &[*t])?, spot.at(b)?);
                b.index(all, &ix)
            },
            |b, (op, t, spot)| {
                let ix = spot.at(b)?;
                let row = b.index(*t, &ix)?;
                let one = b.op(*op, &[row])?;
                spot.mask(b, one)
            },
        ),
        check(
            "index/sumOuter",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 3));
                let n = 1 + s.choice(sh.len());
                Ok((s.array(&cons(k, &sh))?, Spot::new(s, &sh[..n])?, n))
            },
            |b, (t, spot, _)| {
                let (sum, ix) = (b.sum_outer(*t)?, spot.at(b)?);
                b.index(sum, &ix)
            },
            |b, (t, spot, n)| {
                let row = behind_index(b, *t, spot, *n)?;
                b.sum_outer(row)
            },
        ),
        check(
            "index/stack",
            |s| {
                let (count, sh) = (s.positive_size(), s.shape_of_rank(1, 2));
                let n = 1 + s.choice(sh.len());
                let ts: Result<Vec<_>> = (0..count).map(|_| s.array(&sh)).collect();
                // Of a first index that is known the rule index/stack-static takes care.
                let first = crate::support::unknown_zero(s)?;
                let first = (s.index(&[count])?, first);
                Ok((ts?, first, Spot::new(s, &sh[..n])?))
            },
            |b, (ts, first, rest)| {
                let (stacked, rest) = (b.stack(ts)?, rest.at(b)?);
                let first = shifted(b, first)?;
                b.index(stacked, &cons_term(first, &rest))
            },
            |b, (ts, first, rest)| {
                let rest = rest.at(b)?;
                let rows: Result<Vec<_>> = ts.iter().map(|&t| b.index(t, &rest)).collect();
                let stacked = b.stack(&rows?)?;
                let first = shifted(b, first)?;
                b.index(stacked, &[first])
            },
        ),
        check(
            "index/replicate",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 2));
                let n = s.choice(sh.len() + 1);
                Ok((k, s.array(&sh)?, Spot::new(s, &[k])?, Spot::new(s, &sh[..n])?))
            },
            |b, (k, t, first, rest)| {
                let copies = b.replicate(*k, *t)?;
                let ix = [first.at(b)?, rest.at(b)?].concat();
                b.index(copies, &ix)
            },
            |b, (_, t, first, rest)| {
                let ix = rest.at(b)?;
                let row = b.index(*t, &ix)?;
                first.mask(b, row)
            },
        ),
        check(
            "index/transpose",
            |s| {
                let sh = s.shape_of_rank(1, 3);
                let perm = s.permutation(sh.len());
                let turned: Vec<usize> = perm.iter().map(|&p| sh[p]).collect();
                let n = 1 + s.choice(sh.len());
                Ok((s.array(&sh)?, Spot::new(s, &turned[..n])?, perm, turned))
            },
            |b, (t, spot, perm, _)| {
                let (turned, ix) = (b.transpose(perm, *t)?, spot.at(b)?);
                b.index(turned, &ix)
            },
            |b, (t, spot, perm, turned)| {
                let f = b.index_function(turned, |_, is| {
                    let axis = |k| is[perm.iter().position(|&p| p == k).unwrap_or(k)];
                    Ok((0..is.len()).map(axis).collect())
                })?;
                let (gathered, ix) = (b.gather(*t, f)?, spot.at(b)?);
                b.index(gathered, &ix)
            },
        ),
        check(
            "index/reshape",
            |s| {
                let sh = s.shape_of_rank(0, 3);
                let to = match s.choice(3) {
                    0 => sh.iter().flat_map(|&n| [1, n]).chain([1]).collect(),
                    1 => vec![sh.iter().product()],
                    _ => sh.iter().rev().copied().chain([1]).collect::<Vec<_>>(),
                };
                let n = 1 + s.choice(to.len());
                Ok((s.array(&sh)?, Spot::new(s, &to[..n])?, sh, to))
            },
            |b, (t, spot, _, to)| {
                let (reshaped, ix) = (b.reshape(to, *t)?, spot.at(b)?);
                b.index(reshaped, &ix)
            },
            |b, (t, spot, sh, to)| {
                let f = b.index_function(to, |b, is| {
                    let linear = to_linear(b, to, is)?;
                    from_linear(b, sh, linear)
                })?;
                let (gathered, ix) = (b.gather(*t, f)?, spot.at(b)?);
                b.index(gathered, &ix)
            },
        ),
        check(
            "index/gather-cons",
            |s| {
                let (k, sh, target) = (s.size(), s.shape_of_rank(0, 1), s.shape_of_rank(0, 2));
                let (t, n) = (s.array(&target)?, s.choice(sh.len() + 1));
                let table = s.table(&cons(k, &sh), &target)?;
                Ok((k, t, table, Spot::new(s, &[k])?, Spot::new(s, &sh[..n])?, sh))
            },
            |b, (k, t, table, first, rest, sh)| {
                let f = b.index_function(&cons(*k, sh), |b, is| table.at(b, is))?;
                let gathered = b.gather(*t, f)?;
                let ix = [first.at(b)?, rest.at(b)?].concat();
                b.index(gathered, &ix)
            },
            |b, (_, t, table, first, rest, sh)| {
                let u = first.at(b)?;
                let f = b.index_function(sh, |b, is| table.at(b, &[&u, is].concat()))?;
                let (gathered, ix) = (b.gather(*t, f)?, rest.at(b)?);
                let row = b.index(gathered, &ix)?;
                first.mask(b, row)
            },
        ),
        check(
            "index/gather-nil",
            |s| {
                let (target, inner) = (s.shape_of_rank(0, 2), s.shape_of_rank(1, 2));
                let t = s.array(&[&target[..], &inner[..]].concat())?;
                Ok((t, s.index(&target)?, Spot::new(s, &inner[..1])?))
            },
            |b, (t, inside, spot)| {
                let f = b.index_function(&[], |b, _| inside.at(b, &[]))?;
                let (gathered, ix) = (b.gather(*t, f)?, spot.at(b)?);
                b.index(gathered, &ix)
            },
            |b, (t, inside, spot)| {
                let (first, second) = (inside.at(b, &[])?, spot.at(b)?);
                let row = b.index(*t, &first)?;
                b.index(row, &second)
            },
        ),
        check(
            "index/op3",
            |s| {
                let sh = s.shape_of_rank(1, 2);
                let n = 1 + s.choice(sh.len());
                let p = s.array_of(Dtype::Bool, &sh)?;
                Ok((p, s.array(&sh)?, s.array(&sh)?, Spot::new(s, &sh[..n])?))
            },
            |b, (p, u, v, spot)| {
                let (chosen, ix) = (b.op(Op::Select, &[*p, *u, *v])?, spot.at(b)?);
                b.index(chosen, &ix)
            },
            |b, (p, u, v, spot)| {
                let ix = spot.at(b)?;
                let (p, u, v) = (b.index(*p, &ix)?, b.index(*u, &ix)?, b.index(*v, &ix)?);
                b.op(Op::Select, &[p, u, v])
            },
        ),
        check(
            "index/iota",
            |s| {
                let k = s.size();
                Ok((k, Spot::new(s, &[k])?))
            },
            |b, (k, spot)| {
                let (iota, ix) = (b.iota(*k)?, spot.at(b)?);
                let read = b.index(iota, &ix)?;
                b.op(Op::ToF64, &[read])
            },
            |b, (_, spot)| {
                let ix = spot.at(b)?;
                let masked = spot.mask(b, ix[0])?;
                b.op(Op::ToF64, &[masked])
            },
        ),
        check(
            "index/oneHot",
            |s| {
                let (sh, inner) = (s.shape_of_rank(1, 2), s.shape_of_rank(0, 1));
                let v = s.array(&inner)?;
                let all = [&sh[..], &inner[..]].concat();
                let n = 1 + s.choice(all.len());
                Ok((v, Spot::new(s, &sh)?, Spot::new(s, &all[..n])?, sh))
            },
            |b, (v, hot, spot, sh)| {
                let (us, ix) = (hot.at(b)?, spot.at(b)?);
                let t = b.one_hot(sh, *v, &us)?;
                b.index(t, &ix)
            },
            // Where both positions agree and are in range, what is left of the value.
            |b, (v, hot, spot, sh)| {
                let (us, ix) = (hot.at(b)?, spot.at(b)?);
                let n = ix.len().min(us.len());
                let rest = b.one_hot(&sh[n..], *v, &us[n..])?;
                let rest = b.index(rest, &ix[n..])?;
                let mut same = b.scalar(true)?;
                for (k, (&u, &i)) in us.iter().zip(&ix).enumerate() {
                    let (equal, here) = (b.op(Op::Eq, &[u, i])?, in_range(b, i, sh[k])?);
                    let both = b.op(Op::And, &[equal, here])?;
                    same = b.op(Op::And, &[same, both])?;
                }
                let ty = b.ty(rest).clone();
                let zeros = crate::support::zeros(b, &ty)?;
                b.cond(same, rest, zeros)
            },
        ),
        check(
            "index/argExtreme",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 2));
                let (n, extreme) =
                    (1 + s.choice(sh.len()), s.one_of(&[Extreme::Max, Extreme::Min]));
                Ok((extreme, s.array(&cons(k, &sh))?, Spot::new(s, &sh[..n])?, n))
            },
            |b, (extreme, t, spot, _)| {
                let (found, ix) = (b.arg_extreme(*extreme, *t)?, spot.at(b)?);
                let read = b.index(found, &ix)?;
                b.op(Op::ToF64, &[read])
            },
            |b, (extreme, t, spot, n)| {
                let row = behind_index(b, *t, spot, *n)?;
                let found = b.arg_extreme(*extreme, row)?;
                b.op(Op::ToF64, &[found])
            },
        ),
        check(
            "index/argSort",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 2));
                let n = 1 + s.choice(sh.len());
                let t = s.array(&cons(k, &sh))?;
                Ok((t, Spot::new(s, &[k])?, Spot::new(s, &sh[..n])?, n))
            },
            |b, (t, first, rest, _)| {
                let sorted = b.arg_sort(*t)?;
                let ix = [first.at(b)?, rest.at(b)?].concat();
                let read = b.index(sorted, &ix)?;
                b.op(Op::ToF64, &[read])
            },
            |b, (t, first, rest, n)| {
                let row = behind_index(b, *t, rest, *n)?;
                let (sorted, ix) = (b.arg_sort(row)?, first.at(b)?);
                let read = b.index(sorted, &ix)?;
                let read = rest.mask(b, read)?;
                b.op(Op::ToF64, &[read])
            },
        ),
        check(
            "index/segmentArg",
            |s| {
                let (k, segments, sh) = (s.size(), s.size(), s.shape_of_rank(1, 2));
                let n = 1 + s.choice(sh.len());
                let (t, ids) = (s.array(&cons(k, &sh))?, s.array_of(Dtype::I64, &cons(k, &sh))?);
                let spots = (Spot::new(s, &[segments])?, Spot::new(s, &sh[..n])?);
                Ok((segments, t, ids, spots, n))
            },
            |b, (segments, t, ids, (first, rest), _)| {
                let found = b.segment_arg(Extreme::Min, *segments, *t, *ids)?;
                let ix = [first.at(b)?, rest.at(b)?].concat();
                let read = b.index(found, &ix)?;
                b.op(Op::ToF64, &[read])
            },
            |b, (segments, t, ids, (first, rest), n)| {
                let row = behind_index(b, *t, rest, *n)?;
                let ids = behind_index(b, *ids, rest, *n)?;
                let found = b.segment_arg(Extreme::Min, *segments, row, ids)?;
                let ix = first.at(b)?;
                let read = b.index(found, &ix)?;
                let read = rest.mask(b, read)?;
                b.op(Op::ToF64, &[read])
            },
        ),
        check(
            "index/routine",
            |s| {
                let (k, n) = (s.size(), s.size());
                Ok((s.array(&[k, n, n])?, Spot::new(s, &[k])?, Spot::new(s, &[n])?))
            },
            |b, (t, cell, row)| {
                let factors = b.routine(Routine::Cholesky, &[*t])?;
                let ix = [cell.at(b)?, row.at(b)?].concat();
                b.index(factors, &ix)
            },
            |b, (t, cell, row)| {
                let (ix, js) = (cell.at(b)?, row.at(b)?);
                let part = b.index(*t, &ix)?;
                let factors = b.routine(Routine::Cholesky, &[part])?;
                let read = b.index(factors, &js)?;
                cell.mask(b, read)
            },
        ),
        check(
            "index/stack-static",
            |s| {
                let (count, sh) = (s.positive_size(), s.shape_of_rank(0, 2));
                let (c, n) = (s.choice(count), s.choice(sh.len() + 1));
                let ts: Result<Vec<_>> = (0..count).map(|_| s.array(&sh)).collect();
                Ok((ts?, c, Spot::new(s, &sh[..n])?))
            },
            |b, (ts, c, rest)| {
                let (stacked, rest) = (b.stack(ts)?, rest.at(b)?);
                let c = b.scalar(*c as i64)?;
                b.index(stacked, &cons_term(c, &rest))
            },
            |b, (ts, c, rest)| {
                let rest = rest.at(b)?;
                b.index(ts[*c], &rest)
            },
        ),
    ]
}

fn cons_term(first: TermId, rest: &[TermId]) -> Vec<TermId> {
    [&[first], rest].concat()
}

/// An index of one component plus a term.
fn shifted(b: &mut Builder, (table, by): &(Table, TermId)) -> Result<TermId> {
    let ix = table.at(b, &[])?;
    b.op(Op::Add, &[ix[0], *by])
}

/// `index (tr [1, .., n, 0] t) ix`
fn behind_index(b: &mut Builder, t: TermId, spot: &Spot, n: usize) -> Result<TermId> {
    let perm: Vec<usize> = (1..=n).chain([0]).collect();
    let (turned, ix) = (b.transpose(&perm, t)?, spot.at(b)?);
    b.index(turned, &ix)
}

/// The position of an index in row-major order.
fn to_linear(b: &mut Builder, dims: &[usize], is: &[TermId]) -> Result<TermId> {
    let mut linear = b.scalar(0i64)?;
    for (&i, &k) in is.iter().zip(dims) {
        let k = b.scalar(k as i64)?;
        linear = b.op(Op::Mul, &[linear, k])?;
        linear = b.op(Op::Add, &[linear, i])?;
    }
    Ok(linear)
}

/// The index at a position in row-major order.
fn from_linear(b: &mut Builder, dims: &[usize], linear: TermId) -> Result<Vec<TermId>> {
    let mut rest = linear;
    let mut ix = Vec::new();
    for &k in dims.iter().rev() {
        let k = b.scalar(k as i64)?;
        ix.push(b.op(Op::Rem, &[rest, k])?);
        rest = b.op(Op::FloorDiv, &[rest, k])?;
    }
    ix.reverse();
    Ok(ix)
}

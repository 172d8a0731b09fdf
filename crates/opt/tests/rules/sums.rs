//! Sums.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};

use crate::support::{Check, check, cons, fill, neg};

/// Copies of a row for every column: constant along the outermost axis but one.
fn copied(b: &mut Builder, k: usize, t: TermId) -> Result<TermId> {
    let copies = b.replicate(k, t)?;
    b.transpose(&[1, 0], copies)
}

pub fn checks() -> Vec<Check> {
    let mut all = of_products();
    all.extend(of_formers());
    all
}

fn of_products() -> Vec<Check> {
    vec![
        check(
            "sum/replicate",
            |s| {
                let (k, sh) = (2 + s.choice(3), s.shape_of_rank(0, 2));
                Ok((k, s.array(&sh)?))
            },
            |b, &(k, t)| {
                let copies = b.replicate(k, t)?;
                b.sum_outer(copies)
            },
            |b, &(k, t)| {
                let count = fill(b, t, k as f64)?;
                b.op(Op::Mul, &[count, t])
            },
        ),
        check(
            "sum/neg",
            |s| {
                let (k, sh) = (2 + s.choice(3), s.shape_of_rank(0, 2));
                s.array(&cons(k, &sh))
            },
            |b, &t| {
                let minus = neg(b, t)?;
                b.sum_outer(minus)
            },
            |b, &t| {
                let sum = b.sum_outer(t)?;
                neg(b, sum)
            },
        ),
        // Over either axis, the factor first or second.
        check(
            "sum/factor",
            |s| {
                let (m, n) = (2 + s.choice(3), 2 + s.choice(3));
                let op = [Op::Mul, Op::Scale, Op::Div][s.choice(3)];
                let second = op == Op::Div || s.choice(2) == 1;
                Ok((op, second, m, s.array(&[m, n])?, s.array(&[n])?))
            },
            |b, &(op, second, m, t, a)| {
                let copies = b.replicate(m, a)?;
                let args = if second { [t, copies] } else { [copies, t] };
                let product = b.op(op, &args)?;
                b.sum_outer(product)
            },
            |b, &(op, second, _, t, a)| {
                let sum = b.sum_outer(t)?;
                let args = if second { [sum, a] } else { [a, sum] };
                b.op(op, &args)
            },
        ),
        check(
            "sum/mask",
            |s| {
                let (m, n) = (2 + s.choice(3), 1 + s.choice(3));
                let first = s.choice(2) == 0;
                Ok((first, m, s.array(&[m, n])?, s.array_of(Dtype::Bool, &[n])?))
            },
            |b, &(first, m, t, p)| {
                let (mask, zero) = (b.replicate(m, p)?, fill(b, t, 0.0)?);
                let args = if first { [mask, t, zero] } else { [mask, zero, t] };
                let masked = b.op(Op::Select, &args)?;
                b.sum_outer(masked)
            },
            |b, &(first, _, t, p)| {
                let sum = b.sum_outer(t)?;
                let zero = fill(b, sum, 0.0)?;
                b.op(Op::Select, &if first { [p, sum, zero] } else { [p, zero, sum] })
            },
        ),
        check(
            "sum/copies",
            |s| {
                let (m, n, k) = (2 + s.choice(3), 1 + s.choice(3), s.size());
                Ok((k, s.array(&[m, n])?))
            },
            |b, &(k, t)| {
                let all = copied(b, k, t)?;
                b.sum_outer(all)
            },
            |b, &(k, t)| {
                let sum = b.sum_outer(t)?;
                b.replicate(k, sum)
            },
        ),
        check(
            "sum/select",
            |s| {
                let (m, n) = (2 + s.choice(3), 1 + s.choice(3));
                Ok((m, n, s.array(&[m, n])?, s.array_of(Dtype::I64, &[n])?))
            },
            |b, &(m, n, t, places)| {
                let (here, zero) = (at_places(b, m, n, places)?, fill(b, t, 0.0)?);
                let masked = b.op(Op::Select, &[here, t, zero])?;
                b.sum_outer(masked)
            },
            |b, &(_, n, t, places)| {
                b.build(n, |b, j| {
                    let place = b.index(places, &[j])?;
                    b.index(t, &[place, j])
                })
            },
        ),
        check(
            "sum/select-among",
            |s| {
                let (m, n) = (2 + s.choice(3), 1 + s.choice(3));
                let t = s.array(&[m, n])?;
                let places = s.array_of(Dtype::I64, &[n])?;
                Ok((m, n, t, places, s.array_of(Dtype::Bool, &[m, n])?))
            },
            |b, &(m, n, t, places, p)| {
                let (here, zero) = (at_places(b, m, n, places)?, fill(b, t, 0.0)?);
                let both = b.op(Op::And, &[p, here])?;
                let masked = b.op(Op::Select, &[both, t, zero])?;
                b.sum_outer(masked)
            },
            |b, &(_, n, t, places, p)| {
                let zero = b.scalar(0.0)?;
                b.build(n, |b, j| {
                    let place = b.index(places, &[j])?;
                    let (p, t) = (b.index(p, &[place, j])?, b.index(t, &[place, j])?);
                    b.op(Op::Select, &[p, t, zero])
                })
            },
        ),
        check(
            "sum/apart",
            |s| {
                let (m, n) = (2 + s.choice(3), 1 + s.choice(3));
                let (t, u) = (s.array(&[m, n])?, s.array(&[m, n])?);
                Ok((m, n, t, u, s.array_of(Dtype::I64, &[n])?))
            },
            |b, &(m, n, t, u, places)| {
                let (here, zero) = (at_places(b, m, n, places)?, fill(b, t, 0.0)?);
                let masked = b.op(Op::Select, &[here, t, zero])?;
                let sum = b.op(Op::Add, &[masked, u])?;
                b.sum_outer(sum)
            },
            |b, &(_, n, t, u, places)| {
                let one = b.build(n, |b, j| {
                    let place = b.index(places, &[j])?;
                    b.index(t, &[place, j])
                })?;
                let rest = b.sum_outer(u)?;
                b.op(Op::Add, &[one, rest])
            },
        ),
        check(
            "sum/by-place",
            |s| {
                let (m, n) = (8 + s.choice(3), 8 + s.choice(3));
                Ok((m, n, s.array(&[m, n])?, s.array_of(Dtype::I64, &[m])?))
            },
            |b, &(m, n, t, places)| {
                let (iota, zero) = (b.iota(n)?, fill(b, t, 0.0)?);
                let (columns, places) = (b.replicate(m, iota)?, copied_last(b, n, places)?);
                let here = b.op(Op::Eq, &[places, columns])?;
                let masked = b.op(Op::Select, &[here, t, zero])?;
                b.sum_outer(masked)
            },
            |b, &(m, n, t, places)| {
                let chosen = b.build(m, |b, i| {
                    let place = b.index(places, &[i])?;
                    b.index(t, &[i, place])
                })?;
                let f = b.index_function(&[m], |b, is| Ok(vec![b.index(places, is)?]))?;
                b.scatter(&[n], chosen, f)
            },
        ),
        // sum over j of sum over i of a[i] b[i, j]
        check(
            "sum/exchange",
            |s| {
                let (m, n, k) = (2 + s.choice(3), 2 + s.choice(3), 1 + s.choice(2));
                Ok((n, s.array(&[m, n, k])?, s.array(&[m, k])?))
            },
            |b, &(n, t, a)| {
                let a = copied(b, n, a)?;
                let product = b.op(Op::Mul, &[a, t])?;
                let once = b.sum_outer(product)?;
                b.sum_outer(once)
            },
            |b, &(_, t, a)| {
                let turned = b.transpose(&[1, 0], t)?;
                let once = b.sum_outer(turned)?;
                let product = b.op(Op::Mul, &[a, once])?;
                b.sum_outer(product)
            },
        ),
    ]
}

/// `n` copies of each element of a vector.
fn copied_last(b: &mut Builder, n: usize, t: TermId) -> Result<TermId> {
    let copies = b.replicate(n, t)?;
    b.transpose(&[1, 0], copies)
}

/// Where each column has its place, for `m` rows of `n` columns.
fn at_places(b: &mut Builder, m: usize, n: usize, places: TermId) -> Result<TermId> {
    let iota = b.iota(m)?;
    let (rows, places) = (copied_last(b, n, iota)?, b.replicate(m, places)?);
    b.op(Op::Eq, &[places, rows])
}

fn of_formers() -> Vec<Check> {
    vec![
        check(
            "sum/zero",
            |s| Ok((s.size(), s.array(&[2])?)),
            |b, &(k, x)| {
                let zero = fill(b, x, 0.0)?;
                let zeros = b.replicate(k, zero)?;
                let sum = b.sum_outer(zeros)?;
                b.op(Op::Sub, &[sum, x])
            },
            |b, &(_, x)| neg(b, x),
        ),
        check(
            "sum/single",
            |s| {
                let sh = s.shape_of_rank(0, 3);
                Ok((s.array(&cons(1, &sh))?, sh))
            },
            |b, (t, _)| b.sum_outer(*t),
            |b, (t, sh)| b.reshape(sh, *t),
        ),
        check(
            "sum/order",
            |s| {
                let (m, n, k) = (2 + s.choice(3), 2 + s.choice(3), s.size());
                s.array(&[m, n, k])
            },
            |b, &t| {
                let turned = b.transpose(&[1, 0], t)?;
                let once = b.sum_outer(turned)?;
                b.sum_outer(once)
            },
            |b, &t| {
                let once = b.sum_outer(t)?;
                b.sum_outer(once)
            },
        ),
        check(
            "sum/reshape",
            |s| {
                let (m, n, k) = (2 + s.choice(3), 2 + s.choice(3), 1 + s.choice(3));
                Ok((s.array(&[m, n, k])?, m * n, k))
            },
            |b, &(t, mn, k)| {
                let flat = b.reshape(&[mn, k], t)?;
                b.sum_outer(flat)
            },
            |b, &(t, _, _)| {
                let once = b.sum_outer(t)?;
                b.sum_outer(once)
            },
        ),
        check(
            "sum/iota",
            |s| Ok((2 + s.choice(5), s.array_of(Dtype::I64, &[])?)),
            |b, &(k, x)| {
                let iota = b.iota(k)?;
                let sum = b.sum_outer(iota)?;
                b.op(Op::Add, &[sum, x])
            },
            |b, &(k, x)| {
                let total = b.scalar((k * (k - 1) / 2) as i64)?;
                b.op(Op::Add, &[total, x])
            },
        ),
        check(
            "sum/one-hot",
            |s| {
                let (k, n) = (2 + s.choice(3), s.size());
                Ok((k, n, s.array(&[2])?, s.choice(k), s.array_of(Dtype::I64, &[])?))
            },
            |b, &(k, n, v, at, i)| {
                let at = b.scalar(at as i64)?;
                let hot = b.one_hot(&[k, n], v, &[at, i])?;
                b.sum_outer(hot)
            },
            |b, &(_, n, v, _, i)| b.one_hot(&[n], v, &[i]),
        ),
        // The scatter must stay one: places that depend on data, and many of them.
        check(
            "sum/scatter",
            |s| {
                let (k, n) = (6 + s.choice(3), 6 + s.choice(3));
                let places = s.array_of(Dtype::I64, &[k])?;
                Ok((k, n, s.array(&[k])?, places))
            },
            |b, &(k, n, t, places)| {
                let f = b.index_function(&[k], |b, is| {
                    let (place, seven) = (b.index(places, is)?, b.scalar(7i64)?);
                    Ok(vec![b.op(Op::Rem, &[place, seven])?, place])
                })?;
                let all = b.scatter(&[7, n], t, f)?;
                b.sum_outer(all)
            },
            |b, &(k, n, t, places)| {
                let f = b.index_function(&[k], |b, is| Ok(vec![b.index(places, is)?]))?;
                b.scatter(&[n], t, f)
            },
        ),
        check(
            "sum/stack",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                Ok((s.array(&sh)?, s.array(&sh)?, s.array(&sh)?))
            },
            |b, &(x, y, z)| {
                let all = b.stack(&[x, y, z])?;
                b.sum_outer(all)
            },
            |b, &(x, y, z)| {
                let two = b.op(Op::Add, &[x, y])?;
                b.op(Op::Add, &[two, z])
            },
        ),
    ]
}

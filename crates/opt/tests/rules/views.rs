//! Views and reads.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;

use crate::support::{Check, check, cons};

pub fn checks() -> Vec<Check> {
    let mut all = of_views();
    all.extend(of_reads());
    all
}

fn of_views() -> Vec<Check> {
    vec![
        check(
            "const/uniform",
            |s| {
                let sh = cons(1 + s.choice(3), &[2]);
                Ok((s.array(&sh)?, sh))
            },
            |b, (x, sh)| {
                let shape = Shape::new("test", sh)?;
                let threes = vec![3.0; shape.numel()];
                let threes = b.constant(&Array::from_vec(shape, threes)?)?;
                b.op(Op::Mul, &[threes, *x])
            },
            |b, (x, sh)| {
                let three = b.scalar(3.0)?;
                let threes = sh.iter().rev().try_fold(three, |t, &k| b.replicate(k, t))?;
                b.op(Op::Mul, &[threes, *x])
            },
        ),
        check(
            "view/replicate",
            |s| {
                let sh = s.shape_of_rank(2, 3);
                Ok((s.array(&sh)?, s.size()))
            },
            |b, &(t, k)| {
                let turned = b.transpose(&[1, 0], t)?;
                b.replicate(k, turned)
            },
            |b, &(t, k)| {
                let copies = b.replicate(k, t)?;
                b.transpose(&[0, 2, 1], copies)
            },
        ),
        check(
            "view/transpose",
            |s| {
                let sh = s.shape_of_rank(2, 4);
                Ok((s.array(&sh)?, s.size()))
            },
            |b, &(t, k)| {
                let turned = b.transpose(&[1, 0], t)?;
                let copies = b.replicate(k, turned)?;
                let last = b.transpose(&[1, 2, 0], copies)?;
                b.transpose(&[1, 0], last)
            },
            |b, &(t, k)| {
                let copies = b.replicate(k, t)?;
                b.transpose(&[1, 2, 0], copies)
            },
        ),
        check(
            "op/replicate",
            |s| {
                let (k, m, n) = (s.size(), s.size(), s.size());
                Ok((k, s.array(&[m, n])?, s.array(&[n])?, m))
            },
            |b, &(k, x, y, m)| {
                let x = b.replicate(k, x)?;
                let x = b.transpose(&[1, 0], x)?;
                let y = b.replicate(k, y)?;
                let y = b.replicate(m, y)?;
                b.op(Op::Mul, &[x, y])
            },
            |b, &(k, x, y, m)| {
                let y = b.replicate(m, y)?;
                let product = b.op(Op::Mul, &[x, y])?;
                let product = b.replicate(k, product)?;
                b.transpose(&[1, 0], product)
            },
        ),
        check(
            "op/transpose",
            |s| {
                let sh = s.shape_of_rank(3, 3);
                let perm = [[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0]][s.choice(4)];
                let last = sh[perm[2]];
                Ok((s.array(&sh)?, s.array(&sh)?, s.array(&[last])?, sh, perm))
            },
            // The third argument is copied, so it is not in the way.
            |b, (x, y, z, sh, perm)| {
                let (x, y) = (b.transpose(perm, *x)?, b.transpose(perm, *y)?);
                let z = b.replicate(sh[perm[1]], *z)?;
                let z = b.replicate(sh[perm[0]], z)?;
                let product = b.op(Op::Mul, &[x, z])?;
                b.op(Op::Sub, &[product, y])
            },
            |b, (x, y, z, sh, perm)| {
                let x = b.transpose(perm, *x)?;
                let z = b.replicate(sh[perm[1]], *z)?;
                let z = b.replicate(sh[perm[0]], z)?;
                let product = b.op(Op::Mul, &[z, x])?;
                let y = b.transpose(perm, *y)?;
                b.op(Op::Sub, &[product, y])
            },
        ),
        check(
            "reshape/same",
            |s| {
                let sh = s.shape();
                Ok((s.array(&sh)?, sh))
            },
            |b, (t, sh)| b.reshape(sh, *t),
            |_, (t, _)| Ok(*t),
        ),
        check(
            "reshape/reshape",
            |s| {
                let (m, n) = (s.size(), s.size());
                Ok((s.array(&[m, n])?, m, n))
            },
            |b, &(t, m, n)| {
                let flat = b.reshape(&[m * n], t)?;
                b.reshape(&[n, m], flat)
            },
            |b, &(t, m, n)| b.reshape(&[n, m], t),
        ),
        check(
            "reshape/scalar",
            |s| Ok((s.array(&[])?, s.size(), s.size())),
            |b, &(x, m, n)| {
                let row = b.replicate(m, x)?;
                let all = b.replicate(n, row)?;
                b.reshape(&[m * n], all)
            },
            |b, &(x, m, n)| b.replicate(m * n, x),
        ),
        check(
            "stack/equal",
            |s| {
                let sh = s.shape();
                Ok((s.array(&sh)?, 1 + s.choice(3)))
            },
            |b, &(t, k)| b.stack(&vec![t; k]),
            |b, &(t, k)| b.replicate(k, t),
        ),
    ]
}

fn of_reads() -> Vec<Check> {
    vec![
        check(
            "one-hot/nil",
            |s| {
                let sh = s.shape();
                s.array(&sh)
            },
            |b, &v| b.one_hot(&[], v, &[]),
            |_, &v| Ok(v),
        ),
        check(
            "one-hot/zero",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 2));
                Ok((k, s.array(&sh)?, sh))
            },
            |b, (k, v, _)| {
                let beyond = b.scalar(*k as i64)?;
                b.one_hot(&[*k], *v, &[beyond])
            },
            |b, (k, _, sh)| {
                let zero = b.scalar(0.0)?;
                cons(*k, sh).iter().rev().try_fold(zero, |t, &k| b.replicate(k, t))
            },
        ),
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
            "index/outside",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 2));
                Ok((s.array(&cons(k, &sh))?, sh, k))
            },
            |b, (t, _, k)| {
                let beyond = b.scalar(*k as i64)?;
                b.index(*t, &[beyond])
            },
            |b, (_, sh, _)| {
                let zero = b.scalar(0.0)?;
                sh.iter().rev().try_fold(zero, |t, &k| b.replicate(k, t))
            },
        ),
        check(
            "index/view",
            |s| {
                let (k, m, n) = (1 + s.choice(3), 1 + s.choice(3), s.size());
                let t = s.array(&[m, n])?;
                Ok((t, k, s.choice(k) as i64, s.array_of(Dtype::I64, &[])?))
            },
            |b, &(t, k, at, i)| {
                let copies = b.replicate(k, t)?;
                let turned = b.transpose(&[1, 0], copies)?;
                let at = b.scalar(at)?;
                b.index(turned, &[i, at])
            },
            |b, &(t, _, _, i)| b.index(t, &[i]),
        ),
        check(
            "index/iota",
            |s| {
                let k = 1 + s.choice(4);
                Ok((k, s.array_of(Dtype::I64, &[])?))
            },
            |b, &(k, i)| {
                let (iota, size) = (b.iota(k)?, b.scalar(k as i64)?);
                let i = b.op(Op::Rem, &[i, size])?;
                b.index(iota, &[i])
            },
            |b, &(k, i)| {
                let size = b.scalar(k as i64)?;
                b.op(Op::Rem, &[i, size])
            },
        ),
        check(
            "index/stack",
            |s| {
                let k = s.size();
                Ok((s.array(&[k])?, s.array(&[k])?, s.choice(2), s.array_of(Dtype::I64, &[])?))
            },
            |b, &(t, u, at, i)| {
                let (both, at) = (b.stack(&[t, u])?, b.scalar(at as i64)?);
                b.index(both, &[at, i])
            },
            |b, &(t, u, at, i)| b.index(if at == 0 { t } else { u }, &[i]),
        ),
        check(
            "index/const",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.choice(k), s.array(&[])?))
            },
            |b, &(k, at, x)| {
                let squares = (0..k).map(|n| (n * n) as f64).collect();
                let squares = b.constant(&Array::from_vec(Shape::new("test", &[k])?, squares)?)?;
                let at = b.scalar(at as i64)?;
                let square = b.index(squares, &[at])?;
                b.op(Op::Mul, &[square, x])
            },
            |b, &(_, at, x)| {
                let square = b.scalar((at * at) as f64)?;
                b.op(Op::Mul, &[square, x])
            },
        ),
        check(
            "gather/nil",
            |s| {
                let sh = s.shape_of_rank(1, 3);
                Ok((s.array(&sh)?, s.array_of(Dtype::I64, &[])?))
            },
            |b, &(t, i)| {
                let f = b.index_function(&[], |_, _| Ok(vec![i]))?;
                b.gather(t, f)
            },
            |b, &(t, i)| b.index(t, &[i]),
        ),
        check(
            "gather/zero",
            |s| {
                let (k, n) = (s.size(), 1 + s.choice(3));
                Ok((k, n, s.array(&[k])?))
            },
            |b, &(k, n, t)| {
                let f = b.index_function(&[n], |b, is| {
                    let beyond = b.scalar(k as i64)?;
                    Ok(vec![b.op(Op::Add, &[is[0], beyond])?])
                })?;
                b.gather(t, f)
            },
            |b, &(_, n, _)| {
                let zero = b.scalar(0.0)?;
                b.replicate(n, zero)
            },
        ),
        check(
            "gather/uniform",
            |s| {
                let k = 1 + s.choice(3);
                let x = s.array(&[k])?;
                Ok((k, x))
            },
            |b, &(k, x)| {
                let three = b.scalar(3.0)?;
                let threes = b.replicate(k + 1, three)?;
                let f = b.index_function(&[k], |b, is| {
                    let one = b.scalar(1i64)?;
                    Ok(vec![b.op(Op::Add, &[is[0], one])?])
                })?;
                let threes = b.gather(threes, f)?;
                b.op(Op::Mul, &[threes, x])
            },
            |b, &(k, x)| {
                let three = b.scalar(3.0)?;
                let threes = b.replicate(k, three)?;
                b.op(Op::Mul, &[x, threes])
            },
        ),
        check(
            "gather/of-view",
            |s| {
                let (k, m) = (s.size(), s.size());
                let table = s.table(&[3], &[m])?;
                Ok((k, s.array(&[m])?, table))
            },
            |b, (k, t, table)| {
                let copies = b.replicate(*k, *t)?;
                let turned = b.transpose(&[1, 0], copies)?;
                let f =
                    b.index_function(&[3, *k], |b, is| Ok(vec![table.at(b, &is[..1])?[0], is[1]]))?;
                b.gather(turned, f)
            },
            |b, (k, t, table)| {
                let f = b.index_function(&[3, *k], |b, is| table.at(b, &is[..1]))?;
                b.gather(*t, f)
            },
        ),
        check(
            "gather/sum",
            |s| {
                let (k, m) = (2 + s.choice(2), 6 + s.choice(3));
                let table = s.table(&[3], &[m])?;
                Ok((k, s.array(&[k, m])?, table))
            },
            |b, (_, t, table)| {
                let sums = b.sum_outer(*t)?;
                let f = b.index_function(&[3], |b, is| table.at(b, is))?;
                b.gather(sums, f)
            },
            |b, (k, t, table)| {
                let f = b.index_function(&[*k, 3], |b, is| {
                    let at = table.at(b, &is[1..])?;
                    Ok([&is[..1], at.as_slice()].concat())
                })?;
                let summands = b.gather(*t, f)?;
                b.sum_outer(summands)
            },
        ),
        check(
            "gather/op",
            |s| {
                let (k, m) = (2 + s.choice(2), 12 + s.choice(3));
                let (table, p) = (s.table(&[3], &[m])?, s.array_of(Dtype::Bool, &[])?);
                Ok((s.array(&[k, m])?, s.array(&[m])?, p, table))
            },
            |b, (t, x, p, table)| {
                let sums = b.sum_outer(*t)?;
                let products = b.op(Op::Mul, &[sums, *x])?;
                let either = b.cond(*p, products, sums)?;
                let copies = b.replicate(2, either)?;
                let twice = b.op(Op::Add, &[copies, copies])?;
                let f = b.index_function(&[2, 3], |b, is| {
                    let at = table.at(b, &is[1..])?;
                    Ok([&is[..1], at.as_slice()].concat())
                })?;
                b.gather(twice, f)
            },
            |b, (t, x, p, table)| {
                let sums = b.sum_outer(*t)?;
                let f = b.index_function(&[3], |b, is| table.at(b, is))?;
                let (sums, x) = (b.gather(sums, f)?, b.gather(*x, f)?);
                let products = b.op(Op::Mul, &[sums, x])?;
                let either = b.cond(*p, products, sums)?;
                let copies = b.replicate(2, either)?;
                b.op(Op::Add, &[copies, copies])
            },
        ),
        check(
            "gather/view",
            |s| {
                let (k, m, n) = (s.size(), s.size(), s.size());
                Ok((k, m, n, s.array(&[m, n, 2])?))
            },
            |b, &(k, m, n, t)| {
                let f = b.index_function(&[n, k, m], |_, is| Ok(vec![is[2], is[0]]))?;
                b.gather(t, f)
            },
            |b, &(k, _, _, t)| {
                let turned = b.transpose(&[1, 0], t)?;
                let copies = b.replicate(k, turned)?;
                b.transpose(&[1, 0], copies)
            },
        ),
        // Windows of both axes of a sum, the first axis along the last variable.
        check(
            "gather/turned",
            |s| {
                let (k, m, n) = (2 + s.choice(2), 2 + s.choice(2), 2 + s.choice(2));
                Ok((m, n, s.array(&[k, m, n])?))
            },
            |b, &(m, n, t)| {
                let sum = b.sum_outer(t)?;
                let f = b.index_function(&[2, n, m + 1], |b, is| {
                    Ok(vec![b.op(Op::Sub, &[is[2], is[0]])?, is[1]])
                })?;
                b.gather(sum, f)
            },
            |b, &(m, n, t)| {
                let turned = b.transpose(&[0, 2, 1], t)?;
                let sum = b.sum_outer(turned)?;
                let f = b.index_function(&[2, n, m + 1], |b, is| {
                    Ok(vec![is[1], b.op(Op::Sub, &[is[2], is[0]])?])
                })?;
                b.gather(sum, f)
            },
        ),
        // Windows of places that are read from an array, in two rows.
        check(
            "gather/apart",
            |s| {
                let (k, m, n) = (4 + s.choice(2), 4 + s.choice(2), s.size());
                let places = s.array_of(Dtype::I64, &[2, k + m - 1])?;
                Ok((k, m, places, s.array(&[2, n, 2])?))
            },
            |b, &(k, m, places, t)| {
                let f = b.index_function(&[2, k, m], |b, is| {
                    let at = b.op(Op::Add, &[is[1], is[2]])?;
                    let place = b.index(places, &[is[0], at])?;
                    Ok(vec![is[0], b.op(Op::Sub, &[place, is[0]])?])
                })?;
                b.gather(t, f)
            },
            |b, &(k, m, places, t)| {
                let f = b.index_function(&[2, k + m - 1], |b, is| {
                    let place = b.index(places, is)?;
                    Ok(vec![is[0], b.op(Op::Sub, &[place, is[0]])?])
                })?;
                let once = b.gather(t, f)?;
                let f = b.index_function(&[2, k, m], |b, is| {
                    Ok(vec![is[0], b.op(Op::Add, &[is[1], is[2]])?])
                })?;
                b.gather(once, f)
            },
        ),
    ]
}

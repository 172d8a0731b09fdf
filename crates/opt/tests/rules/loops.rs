//! Loops and functions.

use cotan_array::{Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Custom, CustomKind, MapAccum, Param, Result, TermId, Type};

use crate::support::{Check, check};

fn number() -> Param {
    Param::Value(Type::scalar(Dtype::F64))
}

fn vector(dims: &[usize]) -> Param {
    Param::Value(Type::new(Dtype::F64, Shape::new("test", dims).expect("a small shape")))
}

/// A loop over vectors with scalar states: the step takes states, then elements.
fn looped(
    b: &mut Builder,
    length: usize,
    init: &[TermId],
    inputs: &[TermId],
    step: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Result<TermId> {
    let params = vec![number(); init.len() + inputs.len()];
    let step = b.lambda(&params, step)?;
    let (init, inputs) = (init.into(), inputs.into());
    b.map_accum(MapAccum { length, reverse: false, init, inputs, step })
}

/// `s => s * x + s`, over the elements of a vector.
fn polynomial(b: &mut Builder, k: usize, s: TermId, xs: TermId) -> Result<TermId> {
    let m = looped(b, k, &[s], &[xs], |b, v| {
        let product = b.op(Op::Mul, &[v[0], v[1]])?;
        Ok(vec![b.op(Op::Add, &[product, v[0]])?])
    })?;
    b.result(m, 0)
}

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "loop/dead",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.array(&[])?, s.array(&[k])?, s.array(&[k])?))
            },
            // A second state feeds only itself, and an output is not read.
            |b, &(k, s, xs, ys)| {
                let m = looped(b, k, &[s, s], &[xs, ys], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], v[2]])?;
                    let first = b.op(Op::Add, &[product, v[0]])?;
                    let second = b.op(Op::Sub, &[v[1], v[3]])?;
                    Ok(vec![first, second, second])
                })?;
                b.result(m, 0)
            },
            |b, &(k, s, xs, _)| polynomial(b, k, s, xs),
        ),
        check(
            "loop/invariant-state",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.array(&[])?, s.array(&[])?, s.array(&[k])?))
            },
            |b, &(k, s, c, xs)| {
                let m = looped(b, k, &[s, c], &[xs], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], v[1]])?;
                    Ok(vec![b.op(Op::Add, &[product, v[2]])?, v[1]])
                })?;
                let (x, y) = (b.result(m, 0)?, b.result(m, 1)?);
                b.op(Op::Sub, &[x, y])
            },
            |b, &(k, s, c, xs)| {
                let m = looped(b, k, &[s], &[xs], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], c])?;
                    Ok(vec![b.op(Op::Add, &[product, v[1]])?])
                })?;
                let x = b.result(m, 0)?;
                b.op(Op::Sub, &[x, c])
            },
        ),
        check(
            "loop/invariant-input",
            |s| Ok((2 + s.choice(3), s.array(&[])?, s.array(&[])?)),
            |b, &(k, s, x)| {
                let xs = b.replicate(k, x)?;
                polynomial(b, k, s, xs)
            },
            |b, &(k, s, x)| {
                let m = looped(b, k, &[s], &[], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], x])?;
                    Ok(vec![b.op(Op::Add, &[product, v[0]])?])
                })?;
                b.result(m, 0)
            },
        ),
        check(
            "loop/invariant-output",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.array(&[])?, s.array(&[])?, s.array(&[k])?))
            },
            |b, &(k, s, c, xs)| {
                let m = looped(b, k, &[s], &[xs], |b, v| {
                    Ok(vec![b.op(Op::Mul, &[v[0], v[1]])?, b.op(Op::Mul, &[c, c])?])
                })?;
                b.result(m, 1)
            },
            |b, &(k, _, c, _)| {
                let square = b.op(Op::Mul, &[c, c])?;
                b.replicate(k, square)
            },
        ),
        check(
            "loop/copied-output",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.array(&[])?, s.array(&[k])?))
            },
            |b, &(k, s, xs)| {
                let m = looped(b, k, &[s], &[xs], |b, v| {
                    Ok(vec![b.op(Op::Mul, &[v[0], v[1]])?, v[1]])
                })?;
                b.result(m, 1)
            },
            |_, &(_, _, xs)| Ok(xs),
        ),
        check(
            "loop/short",
            |s| {
                let k = s.choice(2);
                Ok((k, s.array(&[])?, s.array(&[k])?))
            },
            |b, &(k, s, xs)| {
                let m = looped(b, k, &[s], &[xs], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], v[1]])?;
                    Ok(vec![product, b.op(Op::Sub, &[product, v[0]])?])
                })?;
                let (last, all) = (b.result(m, 0)?, b.result(m, 1)?);
                let all = b.sum_outer(all)?;
                b.op(Op::Sub, &[last, all])
            },
            // x s - (x s - s), or s after no step.
            |_, &(_, s, _)| Ok(s),
        ),
        check(
            "loop/sum",
            |s| {
                let (k, n, m) = (2 + s.choice(3), 2 + s.choice(2), 2 + s.choice(2));
                Ok((k, [n, m], s.array(&[n, m])?, s.array(&[k, n])?, s.array(&[m])?))
            },
            // Outer products of what a step makes and what it reads, added up, the second factor
            // also on its own.
            |b, &(k, [n, m], s, us, v)| {
                let params = [&[n, m][..], &[m], &[m], &[n]].map(vector);
                let step = b.lambda(&params, |b, p| {
                    let next = b.op(Op::Sub, &[v, p[1]])?;
                    let (left, right) = (b.replicate(m, p[3])?, b.replicate(n, next)?);
                    let left = b.transpose(&[1, 0], left)?;
                    let product = b.op(Op::Mul, &[left, right])?;
                    let more = b.op(Op::Add, &[p[0], product])?;
                    let less = b.op(Op::Sub, &[more, right])?;
                    Ok(vec![less, next, b.op(Op::Add, &[next, p[2]])?])
                })?;
                let (init, inputs) = ([s, v, v].into(), [us].into());
                let m = b.map_accum(MapAccum { length: k, reverse: true, init, inputs, step })?;
                let (last, sum) = (b.result(m, 0)?, b.result(m, 2)?);
                let sum = b.replicate(n, sum)?;
                b.op(Op::Mul, &[last, sum])
            },
            |b, &(k, [n, m], s, us, v)| {
                let step = b.lambda(&[vector(&[m])], |b, p| {
                    let next = b.op(Op::Sub, &[v, p[0]])?;
                    Ok(vec![next, next])
                })?;
                let (init, inputs) = ([v].into(), [].into());
                let loop_ = MapAccum { length: k, reverse: true, init, inputs, step };
                let loop_ = b.map_accum(loop_)?;
                let rows = b.result(loop_, 1)?;
                let left = b.replicate(m, us)?;
                let left = b.transpose(&[1, 2, 0], left)?;
                let right = b.replicate(n, rows)?;
                let right = b.transpose(&[1, 0], right)?;
                let products = b.op(Op::Mul, &[left, right])?;
                let (products, copies) = (b.sum_outer(products)?, b.sum_outer(right)?);
                let more = b.op(Op::Add, &[s, products])?;
                let less = b.op(Op::Sub, &[more, copies])?;
                let rows = b.sum_outer(rows)?;
                let sum = b.op(Op::Add, &[v, rows])?;
                let sum = b.replicate(n, sum)?;
                b.op(Op::Mul, &[less, sum])
            },
        ),
        check(
            "loop/merge",
            |s| {
                let k = 2 + s.choice(3);
                Ok((k, s.array(&[])?, s.array(&[k])?, s.array(&[])?))
            },
            // The second has an output more, and the first one that the second has not.
            |b, &(k, s, xs, c)| {
                let next = |b: &mut Builder, v: &[TermId]| b.op(Op::Mul, &[v[0], v[1]]);
                let one = looped(b, k, &[s], &[xs], |b, v| {
                    Ok(vec![next(b, v)?, b.op(Op::Sub, &[v[1], v[0]])?])
                })?;
                let two = looped(b, k, &[s], &[xs], |b, v| {
                    Ok(vec![next(b, v)?, b.op(Op::Mul, &[v[0], c])?, v[0]])
                })?;
                let last = b.result(two, 0)?;
                let all = [b.result(one, 1)?, b.result(two, 1)?, b.result(two, 2)?];
                let sum = b.op(Op::Add, &[all[0], all[1]])?;
                let product = b.op(Op::Mul, &[sum, all[2]])?;
                let sum = b.sum_outer(product)?;
                b.op(Op::Add, &[sum, last])
            },
            |b, &(k, s, xs, c)| {
                let m = looped(b, k, &[s], &[xs], |b, v| {
                    let next = b.op(Op::Mul, &[v[0], v[1]])?;
                    let (less, more) = (b.op(Op::Sub, &[v[1], v[0]])?, b.op(Op::Mul, &[v[0], c])?);
                    let sum = b.op(Op::Add, &[less, more])?;
                    Ok(vec![next, b.op(Op::Mul, &[sum, v[0]])?])
                })?;
                let (last, all) = (b.result(m, 0)?, b.result(m, 1)?);
                let sum = b.sum_outer(all)?;
                b.op(Op::Add, &[sum, last])
            },
        ),
        check(
            "loop/stored",
            |s| {
                let (k, reverse) = (2 + s.choice(3), s.choice(2) == 1);
                Ok((k, reverse, s.array(&[])?, s.array(&[k])?, s.array(&[k])?))
            },
            // The second loop computes the next state of the first again, from what that has saved
            // and from one of two inputs.
            |b, &(k, reverse, s, xs, ys)| {
                let first = looped(b, k, &[s], &[ys, xs], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], v[2]])?;
                    let next = b.op(Op::Sub, &[product, v[1]])?;
                    Ok(vec![b.op(Op::Add, &[next, v[0]])?, v[0]])
                })?;
                let saved = b.result(first, 1)?;
                let step = b.lambda(&vec![number(); 4], |b, v| {
                    let product = b.op(Op::Mul, &[v[2], v[1]])?;
                    let again = b.op(Op::Sub, &[product, v[3]])?;
                    let twice = b.op(Op::Sub, &[again, v[0]])?;
                    Ok(vec![b.op(Op::Mul, &[again, twice])?])
                })?;
                let (init, inputs) = ([s].into(), [xs, saved, ys].into());
                let second = b.map_accum(MapAccum { length: k, reverse, init, inputs, step })?;
                b.result(second, 0)
            },
            |b, &(k, reverse, s, xs, ys)| {
                let first = looped(b, k, &[s], &[xs, ys], |b, v| {
                    let product = b.op(Op::Mul, &[v[0], v[1]])?;
                    let next = b.op(Op::Sub, &[product, v[2]])?;
                    Ok(vec![b.op(Op::Add, &[next, v[0]])?, next])
                })?;
                let stored = b.result(first, 1)?;
                let step = b.lambda(&vec![number(); 2], |b, v| {
                    let twice = b.op(Op::Sub, &[v[1], v[0]])?;
                    Ok(vec![b.op(Op::Mul, &[v[1], twice])?])
                })?;
                let (init, inputs) = ([s].into(), [stored].into());
                let second = b.map_accum(MapAccum { length: k, reverse, init, inputs, step })?;
                b.result(second, 0)
            },
        ),
        check(
            "custom/inline",
            |s| {
                let k = s.size();
                Ok((k, s.array(&[k])?))
            },
            |b, &(k, x)| {
                let ty = Type::new(Dtype::F64, Shape::new("test", &[k])?);
                let params = [Param::Value(ty.clone()), Param::Value(ty)];
                let region = b.lambda(&params, |b, v| {
                    Ok(vec![b.op(Op::Mul, &[v[0], v[0]])?, b.op(Op::Neg, &[v[1]])?])
                })?;
                let args = [x].into();
                let c = b.custom(Custom { kind: CustomKind::Vjp, args, outputs: 1, region })?;
                b.result(c, 0)
            },
            |b, &(_, x)| b.op(Op::Mul, &[x, x]),
        ),
    ]
}

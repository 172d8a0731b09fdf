//! The rules of Fig. bot-rules-build, in its order, then ours.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{
    Builder, Custom, CustomKind, Extreme, MapAccum, Param, Result, Routine, TermId, While,
};

use crate::support::{Check, build_rows, check, cons, zeros};

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "build/var",
            |s| Ok(s.size()),
            |b, &k| b.build(k, |_, i| Ok(i)).and_then(|t| to_float(b, t)),
            |b, &k| b.iota(k).and_then(|t| to_float(b, t)),
        ),
        check(
            "build/const",
            |s| {
                let (k, sh) = (s.size(), s.shape());
                Ok((k, s.array(&sh)?))
            },
            |b, &(k, t)| b.build(k, |_, _| Ok(t)),
            |b, &(k, t)| b.replicate(k, t),
        ),
        check(
            "build/let",
            |s| {
                let (k, sh, op) = (s.size(), s.shape(), s.unary_op());
                Ok((k, op, s.array(&cons(k, &sh))?))
            },
            |b, &(k, op, t)| {
                b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    let x = b.op(op, &[row])?;
                    b.op(Op::Mul, &[x, x])
                })
            },
            |b, &(k, op, t)| {
                let x = b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.op(op, &[row])
                })?;
                b.build(k, |b, i| {
                    let x = b.index(x, &[i])?;
                    b.op(Op::Mul, &[x, x])
                })
            },
        ),
        check(
            "build/cond",
            |s| {
                let (k, sh) = (s.size(), s.shape());
                let (u, v) = (s.array(&cons(k, &sh))?, s.array(&cons(k, &sh))?);
                Ok((k, s.array_of(Dtype::Bool, &[k])?, u, v))
            },
            |b, &(k, p, u, v)| {
                b.build(k, |b, i| {
                    let p = b.index(p, &[i])?;
                    let (u, v) = (b.index(u, &[i])?, b.index(v, &[i])?);
                    b.cond(p, u, v)
                })
            },
            // As printed: a stack of both branches read at 0 or 1.
            |b, &(k, p, u, v)| {
                b.build(k, |b, i| {
                    let (u, v) = (b.index(u, &[i])?, b.index(v, &[i])?);
                    let both = b.stack(&[u, v])?;
                    let (zero, one) = (b.scalar(0i64)?, b.scalar(1i64)?);
                    let p = b.index(p, &[i])?;
                    let which = b.cond(p, zero, one)?;
                    b.index(both, &[which])
                })
            },
        ),
        check(
            "build/op2",
            |s| {
                let (k, sh, op) = (s.size(), s.shape(), s.binary_op());
                Ok((k, op, s.array(&cons(k, &sh))?, s.array(&cons(k, &sh))?))
            },
            |b, &(k, op, t, u)| {
                b.build(k, |b, i| {
                    let (t, u) = (b.index(t, &[i])?, b.index(u, &[i])?);
                    b.op(op, &[t, u])
                })
            },
            |b, &(k, op, t, u)| {
                let (t, u) = (build_rows(b, k, t)?, build_rows(b, k, u)?);
                b.op(op, &[t, u])
            },
        ),
        check(
            "build/op1",
            |s| {
                let (k, sh, op) = (s.size(), s.shape(), s.unary_op());
                Ok((k, op, s.array(&cons(k, &sh))?))
            },
            |b, &(k, op, t)| {
                b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.op(op, &[row])
                })
            },
            |b, &(k, op, t)| {
                let rows = build_rows(b, k, t)?;
                b.op(op, &[rows])
            },
        ),
        check(
            "build/sumOuter",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 3));
                Ok((k, s.array(&cons(k, &sh))?))
            },
            |b, &(k, t)| {
                b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.sum_outer(row)
                })
            },
            |b, &(k, t)| {
                let turned = turned_rows(b, k, t)?;
                b.sum_outer(turned)
            },
        ),
        check(
            "build/gather",
            |s| {
                let (k, outer) = (s.size(), s.shape_of_rank(0, 1));
                let (target, inner) = (s.shape_of_rank(0, 2), s.shape_of_rank(0, 1));
                let t = s.array(&[&[k], &target[..], &inner[..]].concat())?;
                let table = s.table(&cons(k, &outer), &target)?;
                Ok((k, outer, t, table))
            },
            |b, (k, outer, t, table)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    let f = b.index_function(outer, |b, is| table.at(b, &[&[i], is].concat()))?;
                    b.gather(row, f)
                })
            },
            |b, (k, outer, t, table)| {
                let rows = build_rows(b, *k, *t)?;
                let f = b.index_function(&cons(*k, outer), |b, is| {
                    Ok([&[is[0]], &table.at(b, is)?[..]].concat())
                })?;
                b.gather(rows, f)
            },
        ),
        check(
            "build/scatter",
            |s| {
                let (k, source) = (s.size(), s.shape_of_rank(0, 1));
                let (target, inner) = (s.shape_of_rank(0, 1), s.shape_of_rank(0, 1));
                let t = s.array(&[&[k], &source[..], &inner[..]].concat())?;
                let table = s.table(&cons(k, &source), &target)?;
                Ok((k, source, target, t, table))
            },
            |b, (k, source, target, t, table)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    let f = b.index_function(source, |b, is| table.at(b, &[&[i], is].concat()))?;
                    b.scatter(target, row, f)
                })
            },
            |b, (k, source, target, t, table)| {
                let rows = build_rows(b, *k, *t)?;
                let f = b.index_function(&cons(*k, source), |b, is| {
                    Ok([&[is[0]], &table.at(b, is)?[..]].concat())
                })?;
                b.scatter(&cons(*k, target), rows, f)
            },
        ),
        check(
            "build/stack",
            |s| {
                let (k, sh, n) = (s.size(), s.shape_of_rank(0, 3), s.positive_size());
                let rows: Result<Vec<_>> = (0..n).map(|_| s.array(&cons(k, &sh))).collect();
                Ok((k, rows?))
            },
            |b, (k, ts)| {
                b.build(*k, |b, i| {
                    let rows: Result<Vec<_>> = ts.iter().map(|&t| b.index(t, &[i])).collect();
                    b.stack(&rows?)
                })
            },
            |b, (k, ts)| {
                let rows: Result<Vec<_>> = ts.iter().map(|&t| build_rows(b, *k, t)).collect();
                let stacked = b.stack(&rows?)?;
                b.transpose(&[1, 0], stacked)
            },
        ),
        check(
            "build/replicate",
            |s| {
                let (k, n, sh) = (s.size(), s.size(), s.shape_of_rank(0, 2));
                Ok((k, n, s.array(&cons(k, &sh))?))
            },
            |b, &(k, n, t)| {
                b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.replicate(n, row)
                })
            },
            |b, &(k, n, t)| {
                let rows = build_rows(b, k, t)?;
                let copies = b.replicate(n, rows)?;
                b.transpose(&[1, 0], copies)
            },
        ),
        check(
            "build/transpose",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 3));
                let perm = s.permutation(sh.len());
                Ok((k, s.array(&cons(k, &sh))?, perm))
            },
            |b, (k, t, perm)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    b.transpose(perm, row)
                })
            },
            |b, (k, t, perm)| {
                let rows = build_rows(b, *k, *t)?;
                let lifted: Vec<usize> = perm.iter().map(|p| p + 1).collect();
                b.transpose(&cons(0, &lifted), rows)
            },
        ),
        check(
            "build/reshape",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 3));
                // Axes of size 1 anywhere, or all in one, or in reverse order.
                let to = match s.choice(3) {
                    0 => sh.iter().flat_map(|&n| [1, n]).collect(),
                    1 => vec![sh.iter().product()],
                    _ => sh.iter().rev().copied().collect::<Vec<_>>(),
                };
                Ok((k, s.array(&cons(k, &sh))?, to))
            },
            |b, (k, t, to)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    b.reshape(to, row)
                })
            },
            |b, (k, t, to)| {
                let rows = build_rows(b, *k, *t)?;
                b.reshape(&cons(*k, to), rows)
            },
        ),
        check(
            "build/cond-invariant",
            |s| {
                let (k, sh) = (s.size(), s.shape());
                let (u, v) = (s.array(&cons(k, &sh))?, s.array(&cons(k, &sh))?);
                Ok((k, s.array_of(Dtype::Bool, &[])?, u, v))
            },
            |b, &(k, p, u, v)| {
                b.build(k, |b, i| {
                    let (u, v) = (b.index(u, &[i])?, b.index(v, &[i])?);
                    b.cond(p, u, v)
                })
            },
            |b, &(k, p, u, v)| {
                let (u, v) = (build_rows(b, k, u)?, build_rows(b, k, v)?);
                b.cond(p, u, v)
            },
        ),
        check(
            "build/op3",
            |s| {
                let (k, sh) = (s.size(), s.shape());
                let (u, v) = (s.array(&cons(k, &sh))?, s.array(&cons(k, &sh))?);
                Ok((k, s.array_of(Dtype::Bool, &cons(k, &sh))?, u, v))
            },
            |b, &(k, p, u, v)| {
                b.build(k, |b, i| {
                    let p = b.index(p, &[i])?;
                    let (u, v) = (b.index(u, &[i])?, b.index(v, &[i])?);
                    b.op(Op::Select, &[p, u, v])
                })
            },
            |b, &(k, p, u, v)| {
                let p = build_rows(b, k, p)?;
                let (u, v) = (build_rows(b, k, u)?, build_rows(b, k, v)?);
                b.op(Op::Select, &[p, u, v])
            },
        ),
        check(
            "build/gather-invariant",
            |s| {
                let (k, outer) = (s.size(), s.shape_of_rank(0, 1));
                // With an index: a gather that does not depend on the build's is a constant of it.
                let (target, inner) = (s.shape_of_rank(1, 2), s.shape_of_rank(0, 1));
                let t = s.array(&[&target[..], &inner[..]].concat())?;
                Ok((k, t, s.table(&cons(k, &outer), &target)?, outer))
            },
            |b, (k, t, table, outer)| {
                b.build(*k, |b, i| {
                    let f = b.index_function(outer, |b, is| table.at(b, &[&[i], is].concat()))?;
                    b.gather(*t, f)
                })
            },
            |b, (k, t, table, outer)| {
                let f = b.index_function(&cons(*k, outer), |b, is| table.at(b, is))?;
                b.gather(*t, f)
            },
        ),
        check(
            "build/oneHot",
            |s| {
                let (k, sh, inner) = (s.size(), s.shape_of_rank(0, 2), s.shape_of_rank(0, 1));
                let v = s.array(&cons(k, &inner))?;
                let table = s.table(&[k], &sh)?;
                Ok((k, sh, v, table))
            },
            |b, (k, sh, v, table)| {
                b.build(*k, |b, i| {
                    let (v, ix) = (b.index(*v, &[i])?, table.at(b, &[i])?);
                    b.one_hot(sh, v, &ix)
                })
            },
            |b, (k, sh, v, table)| {
                let rows = build_rows(b, *k, *v)?;
                let f =
                    b.index_function(
                        &[*k],
                        |b, is| Ok([&[is[0]], &table.at(b, is)?[..]].concat()),
                    )?;
                b.scatter(&cons(*k, sh), rows, f)
            },
        ),
        check(
            "build/argExtreme",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 3));
                let extreme = s.one_of(&[Extreme::Max, Extreme::Min]);
                Ok((k, extreme, s.array(&cons(k, &sh))?))
            },
            |b, &(k, extreme, t)| {
                let found = b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.arg_extreme(extreme, row)
                })?;
                to_float(b, found)
            },
            |b, &(k, extreme, t)| {
                let turned = turned_rows(b, k, t)?;
                let found = b.arg_extreme(extreme, turned)?;
                to_float(b, found)
            },
        ),
        check(
            "build/argSort",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(1, 3));
                Ok((k, s.array(&cons(k, &sh))?))
            },
            |b, &(k, t)| {
                let sorted = b.build(k, |b, i| {
                    let row = b.index(t, &[i])?;
                    b.arg_sort(row)
                })?;
                to_float(b, sorted)
            },
            |b, &(k, t)| {
                let turned = turned_rows(b, k, t)?;
                let sorted = b.arg_sort(turned)?;
                let sorted = b.transpose(&[1, 0], sorted)?;
                to_float(b, sorted)
            },
        ),
        check(
            "build/segmentArg",
            |s| {
                let (k, segments, sh) = (s.size(), s.size(), s.shape_of_rank(1, 3));
                let ids = s.array_of(Dtype::I64, &cons(k, &sh))?;
                Ok((k, segments, s.array(&cons(k, &sh))?, ids))
            },
            |b, &(k, segments, t, ids)| {
                let found = b.build(k, |b, i| {
                    let (row, ids) = (b.index(t, &[i])?, b.index(ids, &[i])?);
                    b.segment_arg(Extreme::Max, segments, row, ids)
                })?;
                to_float(b, found)
            },
            |b, &(k, segments, t, ids)| {
                let (turned, ids) = (turned_rows(b, k, t)?, turned_rows(b, k, ids)?);
                let found = b.segment_arg(Extreme::Max, segments, turned, ids)?;
                let found = b.transpose(&[1, 0], found)?;
                to_float(b, found)
            },
        ),
        check(
            "build/routine",
            |s| {
                let (k, n) = (s.size(), s.size());
                Ok((k, s.array(&[k, n, n])?))
            },
            |b, &(k, t)| {
                b.build(k, |b, i| {
                    let cell = b.index(t, &[i])?;
                    b.routine(Routine::Cholesky, &[cell])
                })
            },
            |b, &(_, t)| b.routine(Routine::Cholesky, &[t]),
        ),
        check(
            "build/mapAccum",
            |s| {
                let (k, length, sh) = (s.size(), s.size(), s.shape_of_rank(0, 1));
                let state = s.array(&cons(k, &sh))?;
                let inputs = s.array(&cons(k, &cons(length, &sh)))?;
                Ok((k, length, s.choice(2) == 1, s.choice(2), state, inputs))
            },
            |b, &(k, length, reverse, which, state, inputs)| {
                b.build(k, |b, i| {
                    let (state, inputs) = (b.index(state, &[i])?, b.index(inputs, &[i])?);
                    let result = scan(b, length, reverse, state, inputs)?;
                    b.result(result, which)
                })
            },
            |b, &(k, length, reverse, which, state, inputs)| {
                let (state, inputs) = (build_rows(b, k, state)?, build_rows(b, k, inputs)?);
                let turned = b.transpose(&[1, 0], inputs)?;
                let result = scan(b, length, reverse, state, turned)?;
                let result = b.result(result, which)?;
                if which == 0 { Ok(result) } else { b.transpose(&[1, 0], result) }
            },
        ),
        check(
            "build/while",
            |s| {
                let (k, bound, sh) = (s.size(), s.size(), s.shape_of_rank(0, 1));
                let state = s.array(&cons(k, &sh))?;
                Ok((k, bound, s.choice(2), state))
            },
            |b, &(k, bound, which, state)| {
                b.build(k, |b, i| {
                    let x = b.index(state, &[i])?;
                    let looped = squares(b, x, i, Some(bound))?;
                    b.result(looped, 2 * which)
                })
            },
            |b, &(k, bound, which, state)| {
                let state = build_rows(b, k, state)?;
                let looped = squares_of_lanes(b, k, state, bound)?;
                let result = b.result(looped, 2 * which)?;
                if which == 0 { Ok(result) } else { b.transpose(&[1, 0], result) }
            },
        ),
        check(
            "build/while-invariant",
            |s| {
                let (k, bound, sh) = (s.size(), s.size(), s.shape_of_rank(0, 1));
                let state = s.array(&cons(k, &sh))?;
                Ok((k, bound, s.choice(4) as i64, s.choice(2), state))
            },
            |b, &(k, bound, steps, which, state)| {
                let steps = b.scalar(steps)?;
                b.build(k, |b, i| {
                    let x = b.index(state, &[i])?;
                    let looped = squares(b, x, steps, Some(bound))?;
                    b.result(looped, 2 * which)
                })
            },
            |b, &(k, bound, steps, which, state)| {
                let (state, steps) = (build_rows(b, k, state)?, b.scalar(steps)?);
                let looped = squares(b, state, steps, Some(bound))?;
                let result = b.result(looped, 2 * which)?;
                if which == 0 { Ok(result) } else { b.transpose(&[1, 0], result) }
            },
        ),
        check(
            "build/custom",
            |s| {
                let (k, sh) = (s.size(), s.shape_of_rank(0, 1));
                Ok((k, s.array(&cons(k, &sh))?))
            },
            |b, &(k, x)| {
                b.build(k, |b, i| {
                    let x = b.index(x, &[i])?;
                    square_with_rule(b, x)
                })
            },
            |b, &(k, x)| {
                let x = build_rows(b, k, x)?;
                square_with_rule(b, x)
            },
        ),
    ]
}

/// `x * x`, with its vector-Jacobian product beside it.
fn square_with_rule(b: &mut Builder, x: TermId) -> Result<TermId> {
    let param = || Param::Value(b.ty(x).clone());
    let params = [param(), param()];
    let region = b.lambda(&params, |b, vars| {
        let square = b.op(Op::Mul, &[vars[0], vars[0]])?;
        let half = b.op(Op::Scale, &[vars[1], vars[0]])?;
        Ok(vec![square, b.op(Op::Add, &[half, half])?])
    })?;
    let args = Box::new([x]);
    let custom = b.custom(Custom { kind: CustomKind::Vjp, args, outputs: 1, region })?;
    b.result(custom, 0)
}

/// Integers as floats: float results are compared over the field and over small integers.
fn to_float(b: &mut Builder, t: TermId) -> Result<TermId> {
    b.op(Op::ToF64, &[t])
}

/// `tr (build1 k (\i -> t))`
fn turned_rows(b: &mut Builder, k: usize, rows: TermId) -> Result<TermId> {
    let rows = build_rows(b, k, rows)?;
    b.transpose(&[1, 0], rows)
}

/// `s' = s * s + x`, `y = s - x` over arrays of whatever shape.
fn scan(
    b: &mut Builder,
    length: usize,
    reverse: bool,
    state: TermId,
    inputs: TermId,
) -> Result<TermId> {
    let ty = b.ty(state).clone();
    let step = b.lambda(&[Param::Value(ty.clone()), Param::Value(ty)], |b, vars| {
        let square = b.op(Op::Mul, &[vars[0], vars[0]])?;
        let next = b.op(Op::Add, &[square, vars[1]])?;
        Ok(vec![next, b.op(Op::Sub, &[vars[0], vars[1]])?])
    })?;
    b.map_accum(MapAccum { length, reverse, init: [state].into(), inputs: [inputs].into(), step })
}

/// `while n < steps: (x, n) = (x * x + x, n + 1)`, with each `x` as output.
fn squares(b: &mut Builder, x: TermId, steps: TermId, bound: Option<usize>) -> Result<TermId> {
    let (zero, one) = (b.scalar(0i64)?, b.scalar(1i64)?);
    let params = [x, zero].map(|t| Param::Value(b.ty(t).clone()));
    let step = b.lambda(&params, |b, vars| {
        let running = b.op(Op::Lt, &[vars[1], steps])?;
        let square = b.op(Op::Mul, &[vars[0], vars[0]])?;
        let next = b.op(Op::Add, &[square, vars[0]])?;
        Ok(vec![running, next, b.op(Op::Add, &[vars[1], one])?, vars[0]])
    })?;
    b.while_accum(While { bound, init: [x, zero].into(), step })
}

/// The same for lanes side by side, lane `i` of which makes `i` steps.
fn squares_of_lanes(b: &mut Builder, k: usize, x: TermId, bound: usize) -> Result<TermId> {
    let (zero, one, lanes) = (b.scalar(0i64)?, b.scalar(1i64)?, b.iota(k)?);
    let (zeros_k, ones) = (b.replicate(k, zero)?, b.replicate(k, one)?);
    let params = [x, zeros_k].map(|t| Param::Value(b.ty(t).clone()));
    let step = b.lambda(&params, |b, vars| {
        let running = b.op(Op::Lt, &[vars[1], lanes])?;
        let numbers = b.op(Op::ToI64, &[running])?;
        let count = b.sum_outer(numbers)?;
        let any = b.op(Op::Gt, &[count, zero])?;
        let dims = b.shape(x).dims()[1..].to_vec();
        let mut mask = running;
        for &d in dims.iter().rev() {
            mask = b.replicate(d, mask)?;
        }
        let perm: Vec<usize> = std::iter::once(dims.len()).chain(0..dims.len()).collect();
        let mask = b.transpose(&perm, mask)?;
        let square = b.op(Op::Mul, &[vars[0], vars[0]])?;
        let next = b.op(Op::Add, &[square, vars[0]])?;
        let next = b.op(Op::Select, &[mask, next, vars[0]])?;
        let counted = b.op(Op::Add, &[vars[1], ones])?;
        let counted = b.op(Op::Select, &[running, counted, vars[1]])?;
        let ty = b.ty(x).clone();
        let nothing = zeros(b, &ty)?;
        Ok(vec![any, next, counted, b.op(Op::Select, &[mask, vars[0], nothing])?])
    })?;
    b.while_accum(While { bound: Some(bound), init: [x, zeros_k].into(), step })
}

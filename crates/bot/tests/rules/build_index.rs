//! The rules of Fig. bot-rules-desperate, in its order, then ours.

use cotan_array::{Array, Shape};
use cotan_ir::Result;
use cotan_ir::scalar::Op;

use crate::support::{Check, check, cons};

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "build-index/var",
            |s| {
                let (k, target, inner) = (s.size(), s.shape_of_rank(1, 2), s.shape_of_rank(0, 1));
                let x = s.array(&[&target[..], &inner[..]].concat())?;
                Ok((k, x, s.table(&[k], &target)?))
            },
            |b, (k, x, table)| {
                b.build(*k, |b, i| {
                    let ix = table.at(b, &[i])?;
                    b.index(*x, &ix)
                })
            },
            |b, (k, x, table)| {
                let f = b.index_function(&[*k], |b, is| table.at(b, is))?;
                b.gather(*x, f)
            },
        ),
        check(
            "build-index/const",
            |s| {
                let (k, target) = (s.size(), s.shape_of_rank(1, 2));
                let shape = Shape::new("test", &target)?;
                let elements = (1..=shape.numel()).map(|n| n as f64).collect();
                let array = Array::from_vec(shape, elements)?;
                let c = s.builder().constant(&array)?;
                Ok((k, c, s.table(&[k], &target)?))
            },
            |b, (k, c, table)| {
                b.build(*k, |b, i| {
                    let ix = table.at(b, &[i])?;
                    b.index(*c, &ix)
                })
            },
            |b, (k, c, table)| {
                let f = b.index_function(&[*k], |b, is| table.at(b, is))?;
                b.gather(*c, f)
            },
        ),
        check(
            "build-index/stack",
            |s| {
                let (k, n, sh) = (s.size(), s.positive_size(), s.shape_of_rank(0, 1));
                let rows: Result<Vec<_>> = (0..n).map(|_| s.array(&cons(k, &sh))).collect();
                Ok((k, rows?, s.table(&[k], &[n])?))
            },
            |b, (k, ts, table)| {
                b.build(*k, |b, i| {
                    let rows: Result<Vec<_>> = ts.iter().map(|&t| b.index(t, &[i])).collect();
                    let (stacked, ix) = (b.stack(&rows?)?, table.at(b, &[i])?);
                    b.index(stacked, &ix)
                })
            },
            |b, (k, ts, table)| {
                let stacks = b.build(*k, |b, i| {
                    let rows: Result<Vec<_>> = ts.iter().map(|&t| b.index(t, &[i])).collect();
                    b.stack(&rows?)
                })?;
                let f =
                    b.index_function(
                        &[*k],
                        |b, is| Ok([&[is[0]], &table.at(b, is)?[..]].concat()),
                    )?;
                b.gather(stacks, f)
            },
        ),
        check(
            "build-index/scatter",
            |s| {
                let (k, source, target) = (s.size(), s.shape_of_rank(0, 1), s.shape_of_rank(1, 2));
                let t = s.array(&cons(k, &source))?;
                let writes = s.table(&cons(k, &source), &target)?;
                let reads = s.table(&[k], &target)?;
                Ok((k, t, source, target, writes, reads))
            },
            |b, (k, t, source, target, writes, reads)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    let f = b.index_function(source, |b, is| writes.at(b, &[&[i], is].concat()))?;
                    let (scattered, ix) = (b.scatter(target, row, f)?, reads.at(b, &[i])?);
                    b.index(scattered, &ix)
                })
            },
            |b, (k, t, source, target, writes, reads)| {
                let all = b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    let f = b.index_function(source, |b, is| writes.at(b, &[&[i], is].concat()))?;
                    b.scatter(target, row, f)
                })?;
                let f =
                    b.index_function(
                        &[*k],
                        |b, is| Ok([&[is[0]], &reads.at(b, is)?[..]].concat()),
                    )?;
                b.gather(all, f)
            },
        ),
        check(
            "build-index/bound",
            |s| {
                let (k, target, op) = (s.size(), s.shape_of_rank(1, 2), s.unary_op());
                let t = s.array(&cons(k, &target))?;
                Ok((k, op, t, s.table(&[k], &target)?, s.table(&[k], &target)?))
            },
            |b, (k, op, t, first, second)| {
                b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    let x = b.op(*op, &[row])?;
                    // Two kinds of reads, so that x has two users even where the tables agree.
                    let (first, second) = (first.at(b, &[i])?, second.at(b, &[i])?);
                    let (u, v) = (b.index(x, &first)?, b.index(x, &second)?);
                    let y = b.op(Op::Add, &[u, v])?;
                    let twice = b.op(Op::Mul, &[x, x])?;
                    let w = b.index(twice, &first)?;
                    b.op(Op::Sub, &[y, w])
                })
            },
            |b, (k, op, t, first, second)| {
                let x = b.build(*k, |b, i| {
                    let row = b.index(*t, &[i])?;
                    b.op(*op, &[row])
                })?;
                let mut read = |table: &cotan_testkit::rules::Table| {
                    let f = b.index_function(&[*k], |b, is| {
                        Ok([&[is[0]], &table.at(b, is)?[..]].concat())
                    })?;
                    b.gather(x, f)
                };
                let (u, v) = (read(first)?, read(second)?);
                let y = b.op(Op::Add, &[u, v])?;
                let w = b.op(Op::Mul, &[u, u])?;
                b.op(Op::Sub, &[y, w])
            },
        ),
    ]
}

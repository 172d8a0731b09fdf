//! Scatters. The right sides are builds: what stands at a place of the result.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};

use crate::support::{Check, check, fill};

/// `sum (build k (j => f(j)))`
fn total(
    b: &mut Builder,
    k: usize,
    f: impl FnOnce(&mut Builder, TermId) -> Result<TermId>,
) -> Result<TermId> {
    let all = b.build(k, f)?;
    b.sum_outer(all)
}

/// `a i + c`
fn affine(b: &mut Builder, i: TermId, a: i64, c: i64) -> Result<TermId> {
    let (a, c) = (b.scalar(a)?, b.scalar(c)?);
    let product = b.op(Op::Mul, &[i, a])?;
    b.op(Op::Add, &[product, c])
}

pub fn checks() -> Vec<Check> {
    vec![
        check(
            "scatter/zero",
            |s| {
                let (k, n) = (s.size(), s.size());
                Ok((k, n, s.array(&[k])?))
            },
            |b, &(k, n, t)| {
                let f = b.index_function(&[k], |b, is| Ok(vec![affine(b, is[0], 1, n as i64)?]))?;
                b.scatter(&[n], t, f)
            },
            |b, &(_, n, _)| {
                let zero = b.scalar(0.0)?;
                b.replicate(n, zero)
            },
        ),
        check(
            "scatter/nil",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                let n = s.size();
                Ok((n, s.array(&sh)?, s.array_of(Dtype::I64, &[])?))
            },
            |b, &(n, t, i)| {
                let f = b.index_function(&[], |_, _| Ok(vec![i]))?;
                b.scatter(&[n], t, f)
            },
            |b, &(n, t, i)| b.one_hot(&[n], t, &[i]),
        ),
        // Slices, padding, reversal, transposition, with any shift.
        check(
            "scatter/affine",
            |s| {
                let (k, l, m, n) =
                    (2 + s.choice(3), 2 + s.choice(3), 2 + s.choice(3), 2 + s.choice(3));
                let (shift, sign) = (s.choice(3) as i64 - 1, [1, -1][s.choice(2)]);
                let x = s.array(&[k, l, 2])?;
                Ok((x, [k, l], [m, n], shift, sign, s.array_of(Dtype::I64, &[])?))
            },
            |b, &(t, sizes, places, shift, sign, z)| {
                let f = b.index_function(&sizes, |b, is| {
                    let moved = b.op(Op::Add, &[is[0], z])?;
                    Ok(vec![affine(b, is[1], sign, shift)?, moved])
                })?;
                b.scatter(&places, t, f)
            },
            |b, &(t, _, [m, n], shift, sign, z)| {
                b.build(m, |b, p| {
                    b.build(n, |b, q| {
                        let i = b.op(Op::Sub, &[q, z])?;
                        let j = affine(b, p, sign, -sign * shift)?;
                        b.index(t, &[i, j])
                    })
                })
            },
        ),
        // A diagonal, and a place that depends on data.
        check(
            "scatter/mask",
            |s| {
                let (k, m, n) = (2 + s.choice(3), 2 + s.choice(3), 1 + s.choice(3));
                let places =
                    if s.choice(2) == 0 { None } else { Some(s.array_of(Dtype::I64, &[k])?) };
                Ok((k, m, n, s.array(&[k])?, places))
            },
            |b, &(k, m, n, t, places)| {
                let f = b.index_function(&[k], |b, is| {
                    Ok(vec![is[0], places.map_or(Ok(is[0]), |at| b.index(at, is))?])
                })?;
                b.scatter(&[m, n], t, f)
            },
            |b, &(_, m, n, t, places)| {
                b.build(m, |b, p| {
                    b.build(n, |b, q| {
                        let (x, zero) = (b.index(t, &[p])?, b.scalar(0.0)?);
                        let place = places.map_or(Ok(p), |at| b.index(at, &[p]))?;
                        let here = b.op(Op::Eq, &[place, q])?;
                        b.cond(here, x, zero)
                    })
                })
            },
        ),
        check(
            "scatter/strided",
            |s| {
                let (k, n) = (2 + s.choice(3), 1 + s.choice(8));
                let (stride, shift) = ([2, 3, -2, -3][s.choice(4)], s.choice(7) as i64 - 2);
                let t = s.array(&[k, 2])?;
                Ok((k, n, stride, shift, t))
            },
            |b, &(k, n, stride, shift, t)| {
                let f =
                    b.index_function(&[k], |b, is| Ok(vec![affine(b, is[0], stride, shift)?]))?;
                b.scatter(&[n], t, f)
            },
            // Each place takes what is sent to it.
            |b, &(k, n, stride, shift, t)| {
                b.build(n, |b, p| {
                    total(b, k, |b, i| {
                        let (place, x) = (affine(b, i, stride, shift)?, b.index(t, &[i])?);
                        let (here, zero) = (b.op(Op::Eq, &[place, p])?, b.scalar(0.0)?);
                        let zero = b.replicate(2, zero)?;
                        b.cond(here, x, zero)
                    })
                })
            },
        ),
        check(
            "scatter/sum",
            |s| {
                let (k, l, n) = (2 + s.choice(3), 2 + s.choice(3), 1 + s.choice(3));
                Ok((k, l, n, s.array(&[k, l])?))
            },
            |b, &(k, l, n, t)| {
                let f = b.index_function(&[k, l], |_, is| Ok(vec![is[0]]))?;
                b.scatter(&[n], t, f)
            },
            |b, &(_, l, n, t)| b.build(n, |b, p| total(b, l, |b, j| b.index(t, &[p, j]))),
        ),
        check(
            "scatter/window",
            |s| {
                let (k, l) = (3 + s.choice(3), 2 + s.choice(2));
                let (n, shift) = (1 + s.choice(k + 1), s.choice(3) as i64 - 1);
                Ok((k, l, n, shift, s.array(&[k, l])?))
            },
            |b, &(k, l, n, shift, t)| {
                let f = b.index_function(&[k, l], |b, is| {
                    let sum = b.op(Op::Add, &[is[0], is[1]])?;
                    Ok(vec![affine(b, sum, 1, shift)?])
                })?;
                b.scatter(&[n], t, f)
            },
            |b, &(_, l, n, shift, t)| {
                b.build(n, |b, p| {
                    total(b, l, |b, j| {
                        let rest = b.op(Op::Sub, &[p, j])?;
                        let i = affine(b, rest, 1, -shift)?;
                        b.index(t, &[i, j])
                    })
                })
            },
        ),
        check(
            "scatter/ignored",
            |s| {
                let (k, l, n) = (6 + s.choice(3), 2 + s.choice(3), 6 + s.choice(3));
                let (x, places) = (s.array(&[l, k])?, s.array_of(Dtype::I64, &[k])?);
                Ok((k, l, n, x, places))
            },
            |b, &(k, l, n, t, places)| {
                let f = b.index_function(&[l, k], |b, is| Ok(vec![b.index(places, &[is[1]])?]))?;
                b.scatter(&[n], t, f)
            },
            |b, &(k, _, n, t, places)| {
                let sum = b.sum_outer(t)?;
                let f = b.index_function(&[k], |b, is| Ok(vec![b.index(places, &[is[0]])?]))?;
                b.scatter(&[n], sum, f)
            },
        ),
        // Windows of places that are read from an array, in two rows.
        check(
            "scatter/apart",
            |s| {
                let (a, k, n) = (4 + s.choice(2), 4 + s.choice(2), 3 + s.choice(3));
                let places = s.array_of(Dtype::I64, &[2, a + k - 1])?;
                Ok((a, k, n, places, s.array(&[2, a, k])?))
            },
            |b, &(a, k, n, places, t)| {
                let f = b.index_function(&[2, a, k], |b, is| {
                    let at = b.op(Op::Add, &[is[1], is[2]])?;
                    Ok(vec![is[0], b.index(places, &[is[0], at])?])
                })?;
                b.scatter(&[2, n], t, f)
            },
            |b, &(a, k, n, places, t)| {
                let f = b.index_function(&[2, a, k], |b, is| {
                    Ok(vec![is[0], b.op(Op::Add, &[is[1], is[2]])?])
                })?;
                let sums = b.scatter(&[2, a + k - 1], t, f)?;
                let f = b.index_function(&[2, a + k - 1], |b, is| {
                    Ok(vec![is[0], b.index(places, is)?])
                })?;
                b.scatter(&[2, n], sums, f)
            },
        ),
        check(
            "scatter/stack",
            |s| {
                let n = 2 + s.choice(2);
                let sh = s.shape_of_rank(0, 2);
                let parts = (0..3).map(|_| s.array(&sh)).collect::<Result<Vec<_>>>()?;
                // One past the end is dropped.
                let places: Vec<i64> = (0..3).map(|_| s.choice(n + 1) as i64).collect();
                Ok((n, parts, places))
            },
            |b, (n, parts, places)| {
                let table =
                    b.constant(&Array::from_vec(Shape::new("places", &[3])?, places.clone())?)?;
                let stack = b.stack(parts)?;
                let f = b.index_function(&[3], |b, is| {
                    let last = b.scalar(1i64)?;
                    Ok(vec![b.index(table, &[is[0]])?, last])
                })?;
                b.scatter(&[*n, 2], stack, f)
            },
            |b, (n, parts, places)| {
                let zero = fill(b, parts[0], 0.0)?;
                let mut rows = Vec::new();
                for k in 0..*n as i64 {
                    let here = parts.iter().zip(places).filter(|(_, place)| **place == k);
                    let mut sum = zero;
                    for (&part, _) in here {
                        sum = b.op(Op::Add, &[sum, part])?;
                    }
                    rows.push(b.stack(&[zero, sum])?);
                }
                b.stack(&rows)
            },
        ),
        check(
            "scatter/merge",
            |s| {
                let (k, n) = (6 + s.choice(3), 6 + s.choice(3));
                let places = s.array_of(Dtype::I64, &[k])?;
                Ok((k, n, s.array(&[k])?, s.array(&[k])?, places))
            },
            |b, &(k, n, t, u, places)| {
                let f = b.index_function(&[k], |b, is| Ok(vec![b.index(places, &[is[0]])?]))?;
                let (t, u) = (b.scatter(&[n], t, f)?, b.scatter(&[n], u, f)?);
                b.op(Op::Add, &[t, u])
            },
            |b, &(k, n, t, u, places)| {
                let f = b.index_function(&[k], |b, is| Ok(vec![b.index(places, &[is[0]])?]))?;
                let sum = b.op(Op::Add, &[t, u])?;
                b.scatter(&[n], sum, f)
            },
        ),
    ]
}

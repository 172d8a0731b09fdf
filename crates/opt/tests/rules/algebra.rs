//! Identities, known choices, constants.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};
use cotan_testkit::rules::Scene;

use crate::support::{Check, check, elementwise, fill, neg};

const F: Dtype = Dtype::F64;
const I: Dtype = Dtype::I64;
const P: Dtype = Dtype::Bool;

pub fn checks() -> Vec<Check> {
    let mut all = arithmetic();
    all.extend(choices());
    all.extend(integers());
    all
}

fn arithmetic() -> Vec<Check> {
    vec![
        elementwise("stop-gradient", &[F], |b, x| b.op(Op::StopGradient, &[x[0]]), |_, x| Ok(x[0])),
        elementwise(
            "add/zero",
            &[F],
            |b, x| {
                let zero = fill(b, x[0], 0.0)?;
                let right = b.op(Op::Add, &[x[0], zero])?;
                b.op(Op::Add, &[zero, right])
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "add/self",
            &[F],
            |b, x| b.op(Op::Add, &[x[0], x[0]]),
            |b, x| {
                let two = fill(b, x[0], 2.0)?;
                b.op(Op::Mul, &[two, x[0]])
            },
        ),
        elementwise(
            "add/neg",
            &[F, F],
            |b, x| {
                let minus = neg(b, x[1])?;
                b.op(Op::Add, &[x[0], minus])
            },
            |b, x| b.op(Op::Sub, &[x[0], x[1]]),
        ),
        elementwise(
            "sub/zero",
            &[F],
            |b, x| {
                let zero = fill(b, x[0], 0.0)?;
                b.op(Op::Sub, &[x[0], zero])
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "sub/from-zero",
            &[F],
            |b, x| {
                let zero = fill(b, x[0], 0.0)?;
                b.op(Op::Sub, &[zero, x[0]])
            },
            |b, x| neg(b, x[0]),
        ),
        elementwise(
            "sub/self",
            &[I],
            |b, x| b.op(Op::Sub, &[x[0], x[0]]),
            |b, x| fill(b, x[0], 0.0),
        ),
        elementwise(
            "sub/neg",
            &[F, F],
            |b, x| {
                let minus = neg(b, x[1])?;
                b.op(Op::Sub, &[x[0], minus])
            },
            |b, x| b.op(Op::Add, &[x[0], x[1]]),
        ),
        elementwise(
            "mul/one",
            &[F],
            |b, x| {
                let one = fill(b, x[0], 1.0)?;
                let right = b.op(Op::Mul, &[x[0], one])?;
                b.op(Op::Mul, &[one, right])
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "mul/minus-one",
            &[F],
            |b, x| {
                let one = fill(b, x[0], -1.0)?;
                b.op(Op::Mul, &[x[0], one])
            },
            |b, x| neg(b, x[0]),
        ),
        elementwise(
            "mul/zero",
            &[I],
            |b, x| {
                let real = b.op(Op::ToF64, &[x[0]])?;
                let zero = fill(b, real, 0.0)?;
                b.op(Op::Mul, &[real, zero])
            },
            |b, x| {
                let real = b.op(Op::ToF64, &[x[0]])?;
                fill(b, real, 0.0)
            },
        ),
        elementwise(
            "mul/neg",
            &[F, F],
            |b, x| {
                let minus = neg(b, x[1])?;
                b.op(Op::Mul, &[x[0], minus])
            },
            |b, x| {
                let product = b.op(Op::Mul, &[x[0], x[1]])?;
                neg(b, product)
            },
        ),
        elementwise(
            "div/one",
            &[F],
            |b, x| {
                let one = fill(b, x[0], 1.0)?;
                b.op(Op::Div, &[x[0], one])
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "mul/mask",
            &[P, F],
            |b, x| {
                let (two, three) = (fill(b, x[1], 2.0)?, fill(b, x[1], 3.0)?);
                let zero = fill(b, x[1], 0.0)?;
                let mask = b.op(Op::Select, &[x[0], two, zero])?;
                let product = b.op(Op::Mul, &[three, mask])?;
                b.op(Op::Add, &[product, x[1]])
            },
            |b, x| {
                let (six, zero) = (fill(b, x[1], 6.0)?, fill(b, x[1], 0.0)?);
                let mask = b.op(Op::Select, &[x[0], six, zero])?;
                b.op(Op::Add, &[mask, x[1]])
            },
        ),
        elementwise(
            "neg/neg",
            &[F],
            |b, x| {
                let minus = neg(b, x[0])?;
                neg(b, minus)
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "neg/sub",
            &[F, F],
            |b, x| {
                let difference = b.op(Op::Sub, &[x[0], x[1]])?;
                neg(b, difference)
            },
            |b, x| b.op(Op::Sub, &[x[1], x[0]]),
        ),
        elementwise(
            "scale/zero",
            &[F],
            |b, x| {
                let zero = fill(b, x[0], 0.0)?;
                b.op(Op::Scale, &[zero, x[0]])
            },
            |b, x| fill(b, x[0], 0.0),
        ),
        elementwise(
            "scale/constant",
            &[F],
            |b, x| {
                let three = fill(b, x[0], 3.0)?;
                b.op(Op::Scale, &[three, x[0]])
            },
            |b, x| {
                let three = fill(b, x[0], 3.0)?;
                b.op(Op::Mul, &[three, x[0]])
            },
        ),
        elementwise(
            "scale/finite",
            &[F, I],
            |b, x| {
                let real = b.op(Op::ToF64, &[x[1]])?;
                b.op(Op::Scale, &[x[0], real])
            },
            |b, x| {
                let real = b.op(Op::ToF64, &[x[1]])?;
                b.op(Op::Mul, &[x[0], real])
            },
        ),
        elementwise(
            "scale/mask",
            &[P, F],
            |b, x| {
                let (zero, three) = (fill(b, x[1], 0.0)?, fill(b, x[1], 3.0)?);
                let mask = b.op(Op::Select, &[x[0], three, zero])?;
                b.op(Op::Scale, &[mask, x[1]])
            },
            |b, x| {
                let (zero, three) = (fill(b, x[1], 0.0)?, fill(b, x[1], 3.0)?);
                let product = b.op(Op::Mul, &[three, x[1]])?;
                b.op(Op::Select, &[x[0], product, zero])
            },
        ),
        elementwise(
            "scale/neg",
            &[F, F],
            |b, x| {
                let minus = neg(b, x[0])?;
                b.op(Op::Scale, &[minus, x[1]])
            },
            |b, x| {
                let product = b.op(Op::Scale, &[x[0], x[1]])?;
                neg(b, product)
            },
        ),
        elementwise(
            "strong/finite",
            &[F, I],
            |b, x| {
                let real = b.op(Op::ToF64, &[x[1]])?;
                let products =
                    [b.op(Op::StrongMul, &[x[0], real])?, b.op(Op::StrongMul, &[real, x[0]])?];
                b.stack(&products)
            },
            |b, x| {
                let real = b.op(Op::ToF64, &[x[1]])?;
                let product = b.op(Op::Scale, &[real, x[0]])?;
                b.stack(&[product, product])
            },
        ),
        elementwise(
            "strong/neg",
            &[F, F],
            |b, x| {
                let minus = neg(b, x[0])?;
                b.op(Op::StrongMul, &[minus, x[1]])
            },
            |b, x| {
                let product = b.op(Op::StrongMul, &[x[0], x[1]])?;
                neg(b, product)
            },
        ),
        elementwise(
            "powi/small",
            &[F],
            |b, x| {
                let n = b.op(Op::ToI64, &[x[0]])?;
                let (two, three) = (fill(b, n, 2.0)?, fill(b, n, 3.0)?);
                let (square, cube) =
                    (b.op(Op::Powi, &[x[0], two])?, b.op(Op::Powi, &[x[0], three])?);
                b.op(Op::Add, &[square, cube])
            },
            |b, x| {
                let square = b.op(Op::Mul, &[x[0], x[0]])?;
                let cube = b.op(Op::Mul, &[x[0], square])?;
                b.op(Op::Add, &[square, cube])
            },
        ),
        elementwise("cast/same", &[F], |b, x| b.op(Op::ToF64, &[x[0]]), |_, x| Ok(x[0])),
    ]
}

fn choices() -> Vec<Check> {
    vec![
        elementwise(
            "where/equal",
            &[P, F],
            |b, x| b.op(Op::Select, &[x[0], x[1], x[1]]),
            |_, x| Ok(x[1]),
        ),
        elementwise(
            "where/known",
            &[P, F, F],
            |b, x| {
                let yes = fill(b, x[0], 1.0)?;
                b.op(Op::Select, &[yes, x[1], x[2]])
            },
            |_, x| Ok(x[1]),
        ),
        elementwise(
            "where/not",
            &[P, F, F],
            |b, x| {
                let not = b.op(Op::Not, &[x[0]])?;
                b.op(Op::Select, &[not, x[1], x[2]])
            },
            |b, x| b.op(Op::Select, &[x[0], x[2], x[1]]),
        ),
        elementwise(
            "where/nested",
            &[P, F, F, F],
            |b, x| {
                let inner = b.op(Op::Select, &[x[0], x[1], x[2]])?;
                let outer = b.op(Op::Select, &[x[0], inner, x[3]])?;
                b.op(Op::Select, &[x[0], x[2], outer])
            },
            |b, x| b.op(Op::Select, &[x[0], x[2], x[3]]),
        ),
        elementwise(
            "where/both",
            &[P, F, F],
            |b, x| {
                let zero = fill(b, x[1], 0.0)?;
                let first = b.op(Op::Select, &[x[0], x[1], zero])?;
                let second = b.op(Op::Select, &[x[0], x[2], zero])?;
                let less = b.op(Op::Sub, &[first, second])?;
                b.op(Op::Add, &[less, first])
            },
            |b, x| {
                let zero = fill(b, x[1], 0.0)?;
                let less = b.op(Op::Sub, &[x[1], x[2]])?;
                let both = b.op(Op::Add, &[less, x[1]])?;
                b.op(Op::Select, &[x[0], both, zero])
            },
        ),
        elementwise(
            "where/halves",
            &[P, F, F],
            |b, x| {
                let zero = fill(b, x[1], 0.0)?;
                let first = b.op(Op::Select, &[x[0], x[1], zero])?;
                let second = b.op(Op::Select, &[x[0], zero, x[2]])?;
                let third = b.op(Op::Select, &[x[0], x[2], zero])?;
                let one = b.op(Op::Add, &[first, second])?;
                let other = b.op(Op::Add, &[second, third])?;
                b.op(Op::Mul, &[one, other])
            },
            |b, x| {
                let one = b.op(Op::Select, &[x[0], x[1], x[2]])?;
                b.op(Op::Mul, &[one, x[2]])
            },
        ),
        check(
            "cond/equal",
            |s| {
                let sh = s.shape();
                Ok((s.array_of(P, &[])?, s.array(&sh)?))
            },
            |b, &(p, x)| b.cond(p, x, x),
            |_, &(_, x)| Ok(x),
        ),
        check(
            "cond/known",
            |s| {
                let sh = s.shape();
                Ok((s.choice(2) == 1, s.array(&sh)?, s.array(&sh)?))
            },
            |b, &(p, x, y)| {
                let p = b.scalar(p)?;
                b.cond(p, x, y)
            },
            |_, &(p, x, y)| Ok(if p { x } else { y }),
        ),
        elementwise(
            "logic/not",
            &[P],
            |b, x| {
                let not = b.op(Op::Not, &[x[0]])?;
                b.op(Op::Not, &[not])
            },
            |_, x| Ok(x[0]),
        ),
        elementwise(
            "logic/known",
            &[P],
            |b, x| {
                let (no, yes) = (fill(b, x[0], 0.0)?, fill(b, x[0], 1.0)?);
                let (both, either) = (b.op(Op::And, &[x[0], yes])?, b.op(Op::Or, &[no, x[0]])?);
                let flipped = b.op(Op::Xor, &[both, yes])?;
                b.op(Op::Xor, &[flipped, either])
            },
            |b, x| fill(b, x[0], 1.0),
        ),
        elementwise("logic/equal", &[P], |b, x| b.op(Op::And, &[x[0], x[0]]), |_, x| Ok(x[0])),
        elementwise(
            "compare/equal",
            &[I],
            |b, x| {
                let (le, lt) = (b.op(Op::Le, &[x[0], x[0]])?, b.op(Op::Lt, &[x[0], x[0]])?);
                b.op(Op::Ne, &[le, lt])
            },
            |b, x| {
                let zero = fill(b, x[0], 0.0)?;
                let any = b.op(Op::Lt, &[x[0], zero])?;
                fill(b, any, 1.0)
            },
        ),
        elementwise("extreme/equal", &[F], |b, x| b.op(Op::Max, &[x[0], x[0]]), |_, x| Ok(x[0])),
    ]
}

fn integers() -> Vec<Check> {
    vec![
        check(
            "op/fold",
            |s| Ok((s.choice(5) as i64, s.choice(5) as i64, s.array_of(I, &[2])?)),
            |b, &(m, n, x)| {
                let shape = Shape::new("test", &[2])?;
                let m = b.constant(&Array::from_vec(shape.clone(), vec![m, 2 * m + 1])?)?;
                let n = b.constant(&Array::from_vec(shape, vec![n + 7, n])?)?;
                let product = b.op(Op::Mul, &[m, n])?;
                b.op(Op::Add, &[product, x])
            },
            |b, &(m, n, x)| {
                let shape = Shape::new("test", &[2])?;
                let product = vec![m * (n + 7), (2 * m + 1) * n];
                let product = b.constant(&Array::from_vec(shape, product)?)?;
                b.op(Op::Add, &[x, product])
            },
        ),
        check(
            "op/known",
            |s| {
                let k = 1 + s.choice(4);
                Ok((k, s.array(&[k])?, s.array(&[k])?))
            },
            |b, &(k, x, y)| {
                let (iota, size) = (b.iota(k)?, b.scalar(k as i64)?);
                let size = b.replicate(k, size)?;
                let inside = b.op(Op::Lt, &[iota, size])?;
                b.op(Op::Select, &[inside, x, y])
            },
            |_, &(_, x, _)| Ok(x),
        ),
        check(
            "extreme/known",
            |s| Ok((2 + s.choice(4), s.choice(3) as i64)),
            |b, &(k, n)| {
                let (iota, least) = (b.iota(k)?, b.scalar(-n)?);
                let least = b.replicate(k, least)?;
                b.op(Op::Max, &[iota, least])
            },
            |b, &(k, _)| b.iota(k),
        ),
        check(
            "rem/small",
            |s| {
                let k = 2 + s.choice(4);
                Ok((k, s.choice(3)))
            },
            |b, &(k, n)| {
                let (iota, size) = (b.iota(k)?, b.scalar((k + n) as i64)?);
                let size = b.replicate(k, size)?;
                b.op(Op::Rem, &[iota, size])
            },
            |b, &(k, _)| b.iota(k),
        ),
        check(
            "rem/two",
            counted,
            |b, &at| quotients(b, at, Op::Rem),
            |b, &(k, shift, n)| table(b, k, |i| (i + shift).rem_euclid(n)),
        ),
        check(
            "div/two",
            counted,
            |b, &at| quotients(b, at, Op::FloorDiv),
            |b, &(k, shift, n)| table(b, k, |i| (i + shift).div_euclid(n)),
        ),
    ]
}

/// How many numbers from which one on, and a size by which they have two quotients.
fn counted(s: &mut Scene) -> Result<(usize, i64, i64)> {
    let (n, q) = (2 + s.choice(3), s.choice(3) as i64 - 1);
    let first = s.choice(n);
    Ok((n - first + 1 + s.choice(n), q * n as i64 + first as i64, n as i64))
}

/// Numbers that count from one on, and a size.
fn quotients(b: &mut Builder, (k, shift, n): (usize, i64, i64), op: Op) -> Result<TermId> {
    let (iota, shift, n) = (b.iota(k)?, b.scalar(shift)?, b.scalar(n)?);
    let (shift, n) = (b.replicate(k, shift)?, b.replicate(k, n)?);
    let numbers = b.op(Op::Add, &[iota, shift])?;
    b.op(op, &[numbers, n])
}

fn table(b: &mut Builder, k: usize, f: impl Fn(i64) -> i64) -> Result<TermId> {
    let mut numbers = Vec::with_capacity(k);
    for i in 0..k as i64 {
        numbers.push(b.scalar(f(i))?);
    }
    b.stack(&numbers)
}

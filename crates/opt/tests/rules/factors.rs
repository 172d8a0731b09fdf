//! Factors that are joined, or taken out of products and sums.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};
use cotan_testkit::rules::Scene;

use super::support::{Check, check, elementwise, fill};

const F: Dtype = Dtype::F64;
const P: Dtype = Dtype::Bool;

/// `x * c`.
fn times(b: &mut Builder, x: TermId, c: f64) -> Result<TermId> {
    let c = fill(b, x, c)?;
    b.op(Op::Mul, &[x, c])
}

/// A constant; whole numbers, halves and what is negative.
fn constant(s: &mut Scene) -> f64 {
    [2.0, 3.0, -3.0, 0.5, -0.75][s.choice(5)]
}

pub fn checks() -> Vec<Check> {
    vec![
        elementwise(
            "div/reciprocal",
            &[F],
            |b, x| {
                let one = fill(b, x[0], 1.0)?;
                let reciprocal = b.op(Op::Div, &[one, x[0]])?;
                b.op(Op::Div, &[reciprocal, x[0]])
            },
            |b, x| {
                let one = fill(b, x[0], 1.0)?;
                let reciprocal = b.op(Op::Div, &[one, x[0]])?;
                b.op(Op::Mul, &[reciprocal, reciprocal])
            },
        ),
        elementwise(
            "factor/square",
            &[F, F],
            |b, x| {
                let square = b.op(Op::Mul, &[x[1], x[1]])?;
                let once = b.op(Op::Scale, &[x[0], x[1]])?;
                let twice = b.op(Op::Scale, &[once, x[1]])?;
                b.op(Op::Sub, &[square, twice])
            },
            |b, x| {
                let square = b.op(Op::Mul, &[x[1], x[1]])?;
                let product = b.op(Op::Scale, &[x[0], square])?;
                b.op(Op::Sub, &[square, product])
            },
        ),
        check(
            "factor/constants",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                let masked = s.choice(2) == 1;
                Ok((constant(s), constant(s), masked, s.array_of(P, &sh)?, s.array(&sh)?))
            },
            |b, &(c, d, masked, p, x)| {
                let mut product = times(b, x, c)?;
                if masked {
                    let zero = fill(b, x, 0.0)?;
                    product = b.op(Op::Select, &[p, product, zero])?;
                }
                times(b, product, d)
            },
            |b, &(c, d, masked, p, x)| {
                let product = times(b, x, c * d)?;
                if !masked {
                    return Ok(product);
                }
                let zero = fill(b, x, 0.0)?;
                b.op(Op::Select, &[p, product, zero])
            },
        ),
        check(
            "factor/product",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                let (op, second) =
                    ([Op::Mul, Op::Scale, Op::StrongMul][s.choice(3)], s.choice(2) == 1);
                Ok((constant(s), op, second, s.array(&sh)?, s.array(&sh)?))
            },
            |b, &(c, op, second, x, y)| {
                let multiple = times(b, x, c)?;
                b.op(op, &if second { [y, multiple] } else { [multiple, y] })
            },
            |b, &(c, op, second, x, y)| {
                let product = b.op(op, &if second { [y, x] } else { [x, y] })?;
                times(b, product, c)
            },
        ),
        check(
            "factor/multiples",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                Ok((constant(s).abs(), constant(s).abs(), s.choice(2) == 1, s.array(&sh)?))
            },
            |b, &(c, d, minus, x)| {
                let (more, op) = if minus { (-d, Op::Sub) } else { (d, Op::Add) };
                let (first, second) = (times(b, x, c)?, times(b, x, more)?);
                b.op(op, &[first, second])
            },
            |b, &(c, d, _, x)| times(b, x, c + d),
        ),
        // The other summand first or second, subtracted or added.
        check(
            "factor/among-others",
            |s| {
                let sh = s.shape_of_rank(0, 2);
                let op = [Op::Add, Op::Sub][s.choice(2)];
                let (first, sides) = (s.choice(2) == 1, s.choice(2) == 1);
                Ok((constant(s).abs(), op, first, sides, s.array(&sh)?, s.array(&sh)?))
            },
            |b, &(c, op, first, sides, x, y)| {
                let multiple = times(b, x, c)?;
                if first {
                    let inner = b.op(op, &[x, y])?;
                    return b
                        .op(Op::Add, &if sides { [multiple, inner] } else { [inner, multiple] });
                }
                let inner = b.op(op, &[y, x])?;
                b.op(op, &[inner, multiple])
            },
            |b, &(c, op, first, _, x, y)| {
                let together = times(b, x, 1.0 + c)?;
                b.op(op, &if first { [together, y] } else { [y, together] })
            },
        ),
        check(
            "factor/sum",
            |s| {
                let sh = [2 + s.choice(3), 1 + s.choice(3)];
                let way = s.choice(4);
                Ok((constant(s), way, s.array_of(P, &sh)?, s.array(&sh)?, s.array(&sh)?))
            },
            |b, &(c, way, p, x, y)| {
                let (first, second) = (times(b, x, c)?, times(b, y, c)?);
                let summand = match way {
                    0 => b.op(Op::Sub, &[first, second])?,
                    1 => b.op(Op::Add, &[first, second])?,
                    // A factor that is copied: over the rows of each copy.
                    2 => {
                        let copies = b.replicate(2, first)?;
                        let others = b.replicate(2, y)?;
                        let others = b.op(Op::Sin, &[others])?;
                        let products = b.op(Op::Scale, &[copies, others])?;
                        b.transpose(&[1, 0], products)?
                    }
                    _ => {
                        let zero = fill(b, x, 0.0)?;
                        b.op(Op::Select, &[p, first, zero])?
                    }
                };
                b.sum_outer(summand)
            },
            |b, &(c, way, p, x, y)| {
                let summand = match way {
                    0 => b.op(Op::Sub, &[x, y])?,
                    1 => b.op(Op::Add, &[x, y])?,
                    2 => {
                        let waves = b.op(Op::Sin, &[y])?;
                        let product = b.op(Op::Scale, &[x, waves])?;
                        let copies = b.replicate(2, product)?;
                        b.transpose(&[1, 0], copies)?
                    }
                    _ => {
                        let zero = fill(b, x, 0.0)?;
                        b.op(Op::Select, &[p, x, zero])?
                    }
                };
                let sum = b.sum_outer(summand)?;
                times(b, sum, c)
            },
        ),
    ]
}

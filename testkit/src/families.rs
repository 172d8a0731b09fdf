//! Families of programs that grow without bound: to see how passes grow with them.
//!
//! Each is a shape in which passes are known to go wrong: deep, wide, shared, nested. The arrays are
//! small, so that only the number of nodes grows.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, MapAccum, Output, Param, Program, Result, TermId, Type, While};

/// A family of programs, one for each size.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    make: fn(&mut Builder, usize) -> Result<TermId>,
}

impl Family {
    /// The member of about `n` nodes.
    pub fn program(&self, n: usize) -> Result<Program> {
        let mut b = Builder::new();
        let term = (self.make)(&mut b, n)?;
        b.finish(vec![Output { name: String::new(), term }])
    }
}

const fn family(name: &'static str, make: fn(&mut Builder, usize) -> Result<TermId>) -> Family {
    Family { name, make }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    family("chain", chain),
    family("chain inside a build", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            chain_from(b, x, n)
        })
    }),
    family("index at the end of a chain", |b, n| {
        let a = matrix(b)?;
        b.build(SIZE, |b, i| {
            let row = b.index(a, &[i])?;
            let end = chain_from(b, row, n)?;
            b.index(end, &[i])
        })
    }),
    family("diamonds", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            (0..n).try_fold(x, |x, _| b.op(Op::Mul, &[x, x]))
        })
    }),
    family("diamonds read by index", |b, n| {
        let a = matrix(b)?;
        b.build(SIZE, |b, i| {
            let row = b.index(a, &[i])?;
            let end = (0..n).try_fold(row, |x, _| b.op(Op::Mul, &[x, x]))?;
            b.index(end, &[i])
        })
    }),
    family("conditionals", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            let zero = b.scalar(0.0)?;
            (0..n / 3).try_fold(x, |y, _| {
                let positive = b.op(Op::Gt, &[y, zero])?;
                let other = b.op(Op::Neg, &[y])?;
                b.cond(positive, other, x)
            })
        })
    }),
    family("a tree of conditionals", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            let mut level = (0..n / 3)
                .map(|k| {
                    let k = b.scalar(k as f64)?;
                    b.op(Op::Add, &[x, k])
                })
                .collect::<Result<Vec<TermId>>>()?;
            let zero = b.scalar(0.0)?;
            while level.len() > 1 {
                let pairs = level.chunks(2).map(|pair| match *pair {
                    [u, v] => {
                        let positive = b.op(Op::Gt, &[u, zero])?;
                        b.cond(positive, u, v)
                    }
                    _ => Ok(pair[0]),
                });
                level = pairs.collect::<Result<Vec<TermId>>>()?;
            }
            Ok(level.first().copied().unwrap_or(x))
        })
    }),
    family("a wide sum", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let mut sum = b.index(a, &[i])?;
            for k in 0..n / 4 {
                let k = b.scalar(k as i64)?;
                let at = b.op(Op::Add, &[i, k])?;
                let x = b.index(a, &[at])?;
                sum = b.op(Op::Add, &[sum, x])?;
            }
            Ok(sum)
        })
    }),
    family("a wide stack", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            let mut parts = Vec::with_capacity(n / 2);
            for k in 0..n.max(2) / 2 {
                let k = b.scalar(k as f64)?;
                parts.push(b.op(Op::Add, &[x, k])?);
            }
            let all = b.stack(&parts)?;
            b.index(all, &[i])
        })
    }),
    family("a large literal", |b, n| {
        let elements = (0..n).map(|k| k as f64).collect();
        let c = b.constant(&Array::from_vec(Shape::new("literal", &[n])?, elements)?)?;
        b.build(SIZE, |b, i| b.index(c, &[i]))
    }),
    family("many builds", |b, n| {
        let a = vector(b)?;
        let mut sum = a;
        for k in 0..n / 5 {
            let k = b.scalar(k as f64)?;
            let built = b.build(SIZE, |b, i| {
                let x = b.index(a, &[i])?;
                b.op(Op::Mul, &[x, k])
            })?;
            sum = b.op(Op::Add, &[sum, built])?;
        }
        Ok(sum)
    }),
    family("builds of builds", |b, n| {
        let mut t = vector(b)?;
        for _ in 0..n / 4 {
            t = b.build(SIZE, |b, i| {
                let x = b.index(t, &[i])?;
                b.op(Op::Exp, &[x])
            })?;
        }
        Ok(t)
    }),
    family("a nest of 32 builds around a chain", |b, n| {
        fn nest(b: &mut Builder, a: TermId, vars: &mut Vec<TermId>, n: usize) -> Result<TermId> {
            if vars.len() == 32 {
                let sum = vars[1..]
                    .iter()
                    .copied()
                    .try_fold(vars[0], |sum, i| b.op(Op::Add, &[sum, i]))?;
                let x = b.index(a, &[sum])?;
                return chain_from(b, x, n);
            }
            b.build(1, |b, i| {
                vars.push(i);
                let t = nest(b, a, vars, n);
                vars.pop();
                t
            })
        }
        let a = vector(b)?;
        nest(b, a, &mut Vec::new(), n)
    }),
    family("a chain of gathers", |b, n| {
        let a = vector(b)?;
        let gathered = (0..n / 3).try_fold(a, |t, k| {
            let k = b.scalar(k as i64 % 2)?;
            let f = b.index_function(&[SIZE], |b, is| Ok(vec![b.op(Op::Sub, &[is[0], k])?]))?;
            b.gather(t, f)
        })?;
        b.build(SIZE, |b, i| b.index(gathered, &[i]))
    }),
    family("a chain of transpositions", |b, n| {
        let a = matrix(b)?;
        let turned = (0..n).try_fold(a, |t, k| match k % 2 {
            0 => b.transpose(&[1, 0], t),
            _ => b.reshape(&[SIZE, SIZE], t),
        })?;
        b.build(SIZE, |b, i| b.index(turned, &[i, i]))
    }),
    family("many reads of a heavy gather", |b, n| {
        let a = vector(b)?;
        let f = b.index_function(&[SIZE], |b, is| {
            let end = (0..n / 4).try_fold(is[0], |i, _| b.op(Op::Mul, &[i, is[0]]))?;
            Ok(vec![end])
        })?;
        let heavy = b.gather(a, f)?;
        let mut sum = b.scalar(0.0)?;
        for k in 0..n / 8 {
            let k = b.scalar(k as i64)?;
            let x = b.index(heavy, &[k])?;
            sum = b.op(Op::Add, &[sum, x])?;
        }
        Ok(sum)
    }),
    family("guarded reads", |b, n| {
        let a = vector(b)?;
        b.build(SIZE, |b, i| {
            let (mut x, zero) = (b.index(a, &[i])?, b.scalar(0.0)?);
            for k in 0..n / 6 {
                let (k, size) = (b.scalar(k as i64)?, b.scalar(SIZE as i64)?);
                let at = b.op(Op::Add, &[i, k])?;
                let inside = b.op(Op::Lt, &[at, size])?;
                let read = b.index(a, &[at])?;
                let read = b.op(Op::Select, &[inside, read, zero])?;
                x = b.op(Op::Add, &[x, read])?;
            }
            Ok(x)
        })
    }),
    family("a loop of many states", |b, n| {
        let a = vector(b)?;
        let scalar = Type::scalar(Dtype::F64);
        let states = n / 2 + 1;
        b.build(SIZE, |b, i| {
            let (x, zero) = (b.index(a, &[i])?, b.scalar(0.0)?);
            let params = vec![Param::Value(scalar.clone()); states];
            // Each state becomes the one before it: what varies spreads by one state a step.
            let step = b.lambda(&params, |b, vars| {
                let mut next = vec![b.op(Op::Add, &[vars[0], x])?];
                for pair in vars.windows(2) {
                    next.push(b.op(Op::Neg, &[pair[0]])?);
                }
                Ok(next)
            })?;
            let init = vec![zero; states].into();
            let loop_ =
                b.map_accum(MapAccum { length: 2, reverse: false, init, inputs: [].into(), step })?;
            b.result(loop_, states - 1)
        })
    }),
    family("a chain inside a loop inside a build", |b, n| {
        let a = vector(b)?;
        let scalar = Type::scalar(Dtype::F64);
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            let step = b.lambda(&[Param::Value(scalar.clone())], |b, vars| {
                let y = b.op(Op::Mul, &[vars[0], x])?;
                Ok(vec![chain_from(b, y, n)?])
            })?;
            let init = [x].into();
            let loop_ =
                b.map_accum(MapAccum { length: 2, reverse: false, init, inputs: [].into(), step })?;
            b.result(loop_, 0)
        })
    }),
    family("a chain inside a while inside a build", |b, n| {
        let a = vector(b)?;
        let params = [Dtype::F64, Dtype::I64].map(|dtype| Param::Value(Type::scalar(dtype)));
        b.build(SIZE, |b, i| {
            let x = b.index(a, &[i])?;
            // As many steps as the index says.
            let step = b.lambda(&params, |b, vars| {
                let running = b.op(Op::Lt, &[vars[1], i])?;
                let y = b.op(Op::Mul, &[vars[0], x])?;
                let one = b.scalar(1i64)?;
                Ok(vec![running, chain_from(b, y, n)?, b.op(Op::Add, &[vars[1], one])?])
            })?;
            let init = [x, b.scalar(0i64)?].into();
            let loop_ = b.while_accum(While { bound: Some(SIZE), init, step })?;
            b.result(loop_, 0)
        })
    }),
];

/// The size of the arrays.
const SIZE: usize = 3;

fn vector(b: &mut Builder) -> Result<TermId> {
    b.input("a", Type::new(Dtype::F64, Shape::new("family", &[SIZE])?))
}

fn matrix(b: &mut Builder) -> Result<TermId> {
    b.input("a", Type::new(Dtype::F64, Shape::new("family", &[SIZE, SIZE])?))
}

fn chain(b: &mut Builder, n: usize) -> Result<TermId> {
    let a = vector(b)?;
    chain_from(b, a, n)
}

/// `n` operations, one after the other.
fn chain_from(b: &mut Builder, x: TermId, n: usize) -> Result<TermId> {
    let ops = [Op::Exp, Op::Neg, Op::Sin];
    (0..n).try_fold(x, |x, k| b.op(ops[k % ops.len()], &[x]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_checked_programs_of_the_size_asked_for() {
        for family in FAMILIES {
            for n in [64, 640] {
                let program = family.program(n).unwrap();
                program.check().unwrap();
                let nodes = program.len();
                let literal = family.name == "a large literal";
                assert!(
                    literal || nodes > n / 40 && nodes < 2 * n + 200,
                    "{}: {nodes}",
                    family.name
                );
            }
        }
    }
}

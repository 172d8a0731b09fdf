//! The meaning of a nest.

use std::cmp::Ordering;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};

use super::{R, Run, apply, fault, is_nan};
use crate::nest::{Affine, Component, Instr, Nest, Val, Write};

impl Run<'_> {
    /// For each position, the values, then what is stored. What positions read of an array that
    /// they write is the checker's business: here it is what lies there when they are run.
    pub(super) fn nest(&mut self, nest: &Nest) -> R<()> {
        self.scaled_nest(nest, 1.0)
    }

    /// A nest whose sums are multiplied by a factor.
    pub(super) fn scaled_nest(&mut self, nest: &Nest, factor: f64) -> R<()> {
        let Some(parallel) = nest.extents.len().checked_sub(nest.reduced) else {
            return fault("a nest that reduces more dimensions than it has");
        };
        let (outer, inner) = nest.extents.split_at(parallel);
        let mut position = vec![0; nest.extents.len()];
        let Some(mut outer_left) = positions(outer) else { return fault("too many positions") };
        let Some(inner_count) = positions(inner) else { return fault("too many positions") };
        while outer_left > 0 {
            let mut reduced: Option<(Scalar, i64)> = None;
            position[parallel..].fill(0);
            for n in 0..inner_count {
                self.spend(nest.instrs.len() + 1)?;
                let values = self.values(nest, &position)?;
                let value = of(&values, nest.value)?;
                for also in &nest.also {
                    let x = of(&values, also.value)?;
                    self.memory.write(also.target, place(&also.at, &position)?, x)?;
                }
                match &nest.write {
                    Write::Store(at) => {
                        self.memory.write(nest.target, place(at, &position)?, value)?;
                    }
                    Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } => {
                        reduced = Some(self.reduced(&nest.write, reduced, (value, n as i64))?);
                    }
                    Write::Add { at, checks } => {
                        if holds(checks, &position)? {
                            self.add(nest, place(at, &position)?, value)?;
                        }
                    }
                    Write::AddAt(index) => {
                        if let Some(at) = indexed(index, &values)? {
                            self.add(nest, at, value)?;
                        }
                    }
                    Write::StoreAt(index) => {
                        if let Some(at) = indexed(index, &values)? {
                            self.memory.write(nest.target, at, value)?;
                        }
                    }
                }
                advance(&mut position[parallel..], inner);
            }
            position[parallel..].fill(0);
            self.finish(nest, reduced, &position, factor)?;
            advance(&mut position[..parallel], outer);
            outer_left -= 1;
        }
        Ok(())
    }

    /// Takes one more value of a reduction.
    fn reduced(
        &self,
        write: &Write,
        so_far: Option<(Scalar, i64)>,
        (x, n): (Scalar, i64),
    ) -> R<(Scalar, i64)> {
        let better = |largest: bool| if largest { Ordering::Greater } else { Ordering::Less };
        Ok(match (write, so_far) {
            (Write::Sum(_), None) => (apply(Op::Add, &[zero_like(x), x])?, n),
            (Write::Sum(_), Some((sum, _))) => (apply(Op::Add, &[sum, x])?, n),
            (Write::Best { largest, .. }, Some((best, _))) => {
                (apply(if *largest { Op::Max } else { Op::Min }, &[best, x])?, n)
            }
            (Write::Extreme { largest, .. }, Some((champion, at))) => {
                // The first NaN stays.
                let wins = is_nan(x) || x.compare(champion) == Some(better(*largest));
                if wins && !is_nan(champion) { (x, n) } else { (champion, at) }
            }
            (_, None) => (x, n),
            (_, Some(so_far)) => so_far,
        })
    }

    /// Stores what a reduction gives.
    fn finish(
        &mut self,
        nest: &Nest,
        reduced: Option<(Scalar, i64)>,
        position: &[usize],
        factor: f64,
    ) -> R<()> {
        let dtype = nest.dtypes.get(nest.value.index()).copied().unwrap_or(Dtype::F64);
        let (at, x) = match &nest.write {
            Write::Sum(at) => {
                let sum = reduced.map_or(Scalar::zero(dtype, false), |(sum, _)| sum);
                (
                    at,
                    if factor == 1.0 {
                        sum
                    } else {
                        apply(Op::Mul, &[number(factor, dtype), sum])?
                    },
                )
            }
            Write::Best { at, .. } => match reduced {
                Some((best, _)) => (at, best),
                None => return fault("the largest or smallest of no elements"),
            },
            Write::Extreme { at, .. } => (at, Scalar::I64(reduced.map_or(0, |(_, n)| n))),
            Write::Store(_) | Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => {
                return Ok(());
            }
        };
        self.memory.write(nest.target, place(at, position)?, x)
    }

    fn add(&mut self, nest: &Nest, at: i64, x: Scalar) -> R<()> {
        let sum = apply(Op::Add, &[self.memory.read(nest.target, at)?, x])?;
        self.memory.write(nest.target, at, sum)
    }

    /// The values of all instructions at a position.
    fn values(&self, nest: &Nest, position: &[usize]) -> R<Vec<Scalar>> {
        let mut values: Vec<Scalar> = Vec::with_capacity(nest.instrs.len());
        for (instr, &dtype) in nest.instrs.iter().zip(&nest.dtypes) {
            values.push(match instr {
                Instr::Const(bits) => match dtype {
                    Dtype::F64 => Scalar::F64(f64::from_bits(*bits)),
                    Dtype::F32 => Scalar::F32(f32::from_bits(*bits as u32)),
                    Dtype::I64 => Scalar::I64(*bits as i64),
                    Dtype::Bool => Scalar::Bool(*bits != 0),
                },
                Instr::Affine(at) => Scalar::I64(wrapped(at, position)),
                Instr::Load { buffer, at, checks } => match holds(checks, position)? {
                    true => self.memory.read(*buffer, place(at, position)?)?,
                    false => Scalar::zero(dtype, false),
                },
                Instr::LoadAt { buffer, index } => match indexed(index, &values)? {
                    Some(at) => self.memory.read(*buffer, at)?,
                    None => Scalar::zero(dtype, false),
                },
                Instr::Op(op, args) => {
                    let args: Vec<Scalar> =
                        args.iter().map(|&v| of(&values, v)).collect::<R<_>>()?;
                    apply(*op, &args)?
                }
                Instr::MulAdd { args, minus_product, minus_addend } => {
                    let [a, b, c] = [args[0], args[1], args[2]].map(|v| of(&values, v));
                    fused([a?, b?, c?], *minus_product, *minus_addend)?
                }
            });
        }
        Ok(values)
    }

    /// Whether all elements that an operand of a contraction reads are finite.
    pub(super) fn is_finite(&mut self, nest: &Nest, v: Val) -> R<bool> {
        let mut position = vec![0; nest.extents.len()];
        let Some(count) = positions(&nest.extents) else { return fault("too many positions") };
        let finite = |x: Scalar| match x {
            Scalar::F64(x) => x.is_finite(),
            Scalar::F32(x) => x.is_finite(),
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => true,
        };
        for _ in 0..count {
            self.spend(1)?;
            if !finite(of(&self.values(nest, &position)?, v)?) {
                return Ok(false);
            }
            advance(&mut position, &nest.extents);
        }
        Ok(true)
    }
}

fn of(values: &[Scalar], v: Val) -> R<Scalar> {
    match values.get(v.index()) {
        Some(&x) => Ok(x),
        None => fault(format!("%{} is needed before it is computed", v.0)),
    }
}

fn zero_like(x: Scalar) -> Scalar {
    match x {
        Scalar::F64(_) => Scalar::F64(0.0),
        Scalar::F32(_) => Scalar::F32(0.0),
        Scalar::I64(_) => Scalar::I64(0),
        Scalar::Bool(_) | Scalar::Fp(_) => x,
    }
}

fn number(x: f64, dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F32 => Scalar::F32(x as f32),
        Dtype::F64 | Dtype::I64 | Dtype::Bool => Scalar::F64(x),
    }
}

/// $\pm ab \pm c$, rounded once.
fn fused(args: [Scalar; 3], minus_product: bool, minus_addend: bool) -> R<Scalar> {
    match args {
        [Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)] => {
            let (a, c) = (if minus_product { -a } else { a }, if minus_addend { -c } else { c });
            Ok(Scalar::F64(a.mul_add(b, c)))
        }
        [Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)] => {
            let (a, c) = (if minus_product { -a } else { a }, if minus_addend { -c } else { c });
            Ok(Scalar::F32(a.mul_add(b, c)))
        }
        _ => fault("a product and a sum of operands that are not floats"),
    }
}

/// How many positions a space has.
fn positions(extents: &[usize]) -> Option<usize> {
    extents.iter().try_fold(1usize, |n, &k| n.checked_mul(k))
}

/// The next position, in row-major order.
fn advance(position: &mut [usize], extents: &[usize]) {
    for (i, &k) in position.iter_mut().zip(extents).rev() {
        *i += 1;
        if *i < k {
            return;
        }
        *i = 0;
    }
}

/// The value of an affine integer: like all integers it wraps.
fn wrapped(at: &Affine, position: &[usize]) -> i64 {
    let terms = at.coeffs.iter().zip(position);
    terms.fold(at.constant, |sum, (&c, &i)| sum.wrapping_add(c.wrapping_mul(i as i64)))
}

/// A place, which does not wrap.
fn place(at: &Affine, position: &[usize]) -> R<i64> {
    let terms = at.coeffs.iter().zip(position);
    let exact: i128 = terms.map(|(&c, &i)| i128::from(c) * i as i128).sum();
    match i64::try_from(exact + i128::from(at.constant)) {
        Ok(at) => Ok(at),
        Err(_) => fault("a place that is no integer of 64 bits"),
    }
}

fn holds(checks: &[(Affine, i64)], position: &[usize]) -> R<bool> {
    for (at, size) in checks {
        let at = place(at, position)?;
        if at < 0 || at >= *size {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The place of an index, if every component is in range.
fn indexed(index: &[Component], values: &[Scalar]) -> R<Option<i64>> {
    let mut at: i64 = 0;
    for c in index {
        let Some(k) = of(values, c.value)?.as_i64() else {
            return fault("an index that is not an integer");
        };
        if k < 0 || k as u64 >= c.size as u64 {
            return Ok(None);
        }
        at = at.saturating_add(k.saturating_mul(c.stride));
    }
    Ok(Some(at))
}

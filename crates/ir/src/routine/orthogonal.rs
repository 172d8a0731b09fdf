//! `A = Q R` by Householder: one reflection for each column.

use super::book::{Apply, CellValue, zeros_like};
use crate::scalar::{Op, Scalar};

/// Numbers of one type, computed by the scalar operations.
pub(super) struct Calculator<'a, E> {
    pub(super) zero: Scalar,
    pub(super) apply: Apply<'a, E>,
}

impl<E> Calculator<'_, E> {
    /// A number of the type.
    pub(super) fn number(&self, x: f64) -> Scalar {
        match self.zero {
            Scalar::F32(_) => Scalar::F32(x as f32),
            Scalar::F64(_) => Scalar::F64(x),
            // Nothing of this kind is computed in the field.
            other => other,
        }
    }

    pub(super) fn one(&mut self, op: Op, x: Scalar) -> Result<Scalar, E> {
        (self.apply)(op, &[x])
    }

    pub(super) fn two(&mut self, op: Op, x: Scalar, y: Scalar) -> Result<Scalar, E> {
        (self.apply)(op, &[x, y])
    }

    pub(super) fn times(&mut self, x: Scalar, y: Scalar) -> Result<Scalar, E> {
        self.two(Op::Mul, x, y)
    }

    pub(super) fn negative(&mut self, x: Scalar) -> Result<Scalar, E> {
        self.two(Op::Sub, self.zero, x)
    }

    /// `x - a b`
    pub(super) fn less(&mut self, x: Scalar, a: Scalar, b: Scalar) -> Result<Scalar, E> {
        let product = self.times(a, b)?;
        self.two(Op::Sub, x, product)
    }

    /// `x + a b`
    pub(super) fn more(&mut self, x: Scalar, a: Scalar, b: Scalar) -> Result<Scalar, E> {
        let product = self.times(a, b)?;
        self.two(Op::Add, x, product)
    }

    /// The sum of the products of two lists, from the first to the last.
    pub(super) fn dot(
        &mut self,
        pairs: impl Iterator<Item = (Scalar, Scalar)>,
    ) -> Result<Scalar, E> {
        let mut sum = self.zero;
        for (x, y) in pairs {
            sum = self.more(sum, x, y)?;
        }
        Ok(sum)
    }

    /// The largest absolute value, from a list.
    pub(super) fn largest(&mut self, xs: &[Scalar]) -> Result<Scalar, E> {
        let mut largest = self.zero;
        for &x in xs {
            let size = self.one(Op::Abs, x)?;
            if above(size, largest) {
                largest = size;
            }
        }
        Ok(largest)
    }

    /// The power of 2 that elements are divided by before they are squared, so that the largest is at
    /// least 1 and less than 2; 1 where there is none, or it is not finite.
    pub(super) fn scale(&mut self, xs: &[Scalar]) -> Result<Scalar, E> {
        let largest = as_float(self.largest(xs)?);
        let power = f64::from_bits(largest.to_bits() & EXPONENT).max(f64::MIN_POSITIVE);
        let usable = largest > 0.0 && largest.is_finite();
        Ok(self.number(if usable { power } else { 1.0 }))
    }
}

/// The bits of a float that are its exponent.
const EXPONENT: u64 = f64::INFINITY.to_bits();

pub(super) fn as_float(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        Scalar::F32(x) => f64::from(x),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => 0.0,
    }
}

pub(super) fn above(x: Scalar, y: Scalar) -> bool {
    x.compare(y) == Some(std::cmp::Ordering::Greater)
}

pub(super) fn is_finite(x: Scalar) -> bool {
    match x {
        Scalar::F64(x) => x.is_finite(),
        Scalar::F32(x) => x.is_finite(),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => true,
    }
}

/// `Q` and `R`, the diagonal of `R` not negative. With `x` what is left of column `k` from its row
/// `k` on, and `y = -sign(x[0]) |x|`,
/// `H = I - t v v^T`, `v = (x - y e_0) / (x[0] - y)`, `t = (y - x[0]) / y`,
/// makes it `y e_0`; `Q = H_0 H_1 ..`. Where `x` is 0, so is `t`.
pub(super) fn factors<E>(
    mut a: CellValue,
    zero: Scalar,
    apply: Apply<'_, E>,
) -> Result<(CellValue, CellValue), E> {
    let mut c = Calculator { zero, apply };
    let (rows, columns) = (a.rows, a.columns);
    let scale = c.scale(&a.elements)?;
    for x in &mut a.elements {
        *x = c.two(Op::Div, *x, scale)?;
    }
    let mut factors = Vec::with_capacity(columns);
    for k in 0..columns {
        let square = c.dot((k..rows).map(|i| (a.at(i, k), a.at(i, k))))?;
        if square.compare(zero) == Some(std::cmp::Ordering::Equal) {
            factors.push(zero);
            continue;
        }
        let size = c.one(Op::Sqrt, square)?;
        let head = a.at(k, k);
        let y = if above(zero, head) { size } else { c.negative(size)? };
        let difference = c.two(Op::Sub, head, y)?;
        for i in k + 1..rows {
            let x = c.two(Op::Div, a.at(i, k), difference)?;
            a.set(i, k, x);
        }
        let opposite = c.two(Op::Sub, y, head)?;
        let t = c.two(Op::Div, opposite, y)?;
        a.set(k, k, y);
        factors.push(t);
        for j in k + 1..columns {
            reflect(&mut c, &a, k, t, &|i| a.at(i, j))?
                .into_iter()
                .zip(k..)
                .for_each(|(x, i)| a.set(i, j, x));
        }
    }
    let mut q = zeros_like(&a, zero);
    for k in 0..columns {
        q.set(k, k, c.number(1.0));
    }
    for k in (0..columns).rev() {
        for j in k..columns {
            reflect(&mut c, &a, k, factors[k], &|i| q.at(i, j))?
                .into_iter()
                .zip(k..)
                .for_each(|(x, i)| q.set(i, j, x));
        }
    }
    let mut r = CellValue::new(&[columns, columns], vec![zero; columns * columns]);
    for k in 0..columns {
        let turned = above(zero, a.at(k, k));
        for j in k..columns {
            let x = c.times(a.at(k, j), scale)?;
            r.set(k, j, if turned { c.negative(x)? } else { x });
        }
        for i in 0..rows {
            if turned {
                let x = c.negative(q.at(i, k))?;
                q.set(i, k, x);
            }
        }
    }
    Ok((q, r))
}

/// Column `j` of something from row `k` on, reflected: `x - t v (v^T x)`, where `v` is below the
/// diagonal of column `k` of `a`, and 1 on it.
fn reflect<E>(
    c: &mut Calculator<'_, E>,
    a: &CellValue,
    k: usize,
    t: Scalar,
    x: &dyn Fn(usize) -> Scalar,
) -> Result<Vec<Scalar>, E> {
    let mut sum = x(k);
    for i in k + 1..a.rows {
        sum = c.more(sum, a.at(i, k), x(i))?;
    }
    let sum = c.times(t, sum)?;
    let mut reflected = vec![c.two(Op::Sub, x(k), sum)?];
    for i in k + 1..a.rows {
        reflected.push(c.less(x(i), a.at(i, k), sum)?);
    }
    Ok(reflected)
}

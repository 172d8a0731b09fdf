//! The derivatives of eigenvalues, singular values and their vectors.
//!
//! Vectors of equal values have none: any others of the space that they span would do, and the terms
//! $1 / (\lambda_j - \lambda_i)$ have no value. They count as 0, so whatever depends on values
//! only, or on such a space only, has the derivative that it should have. Values that differ by no
//! more than rounding count as equal.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Result, Routine};

use super::{Derivatives, difference, matrix_sizes, mirrored, product, swapped, times, turned};
use crate::algebra::Algebra;

/// $A = V \Lambda V^T$, of the lower triangle of $A$. With the symmetric $\dot A$ and
/// $F_{ij} = 1 / (\lambda_j - \lambda_i)$,
/// $$ \dot \lambda = \mathrm{diag}(V^T \dot A V), \qquad
///    \dot V = V\,(F \circ V^T \dot A V). $$
pub(super) fn eigh<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    routine: Routine,
    matrix: &A::T,
    da: L::D,
) -> Result<L::D> {
    let matrix = std::slice::from_ref(matrix);
    let v = l.algebra().routine(Routine::EighVectors, matrix)?;
    let da = mirrored(l, da)?;
    let moved = times(l, da, &v)?;
    if routine == Routine::EighValues {
        return along_columns(l, &v, moved);
    }
    let a = l.algebra();
    let values = a.routine(Routine::EighValues, matrix)?;
    let gaps = Gaps::new(a, &values)?;
    let factors = gaps.differences(a)?;
    let v_turned = swapped(a, &v)?;
    let inner = product(l, &v_turned, moved)?;
    let scaled = l.scale(&factors, inner)?;
    product(l, &v, scaled)
}

/// $A = U S V^T$, with $U$ of the form of $A$. With $P = U^T \dot A V$, $E_{ij} = 1 / (s_j - s_i)$ and
/// $G_{ij} = 1 / (s_j + s_i)$,
/// $$ \dot s = \mathrm{diag}(P), \qquad
///    \dot V = V\,\bigl(\tfrac{E - G}2 \circ P + \tfrac{E + G}2 \circ P^T\bigr), $$
/// $$ \dot U = U\,\bigl(\tfrac{E + G}2 \circ P + \tfrac{E - G}2 \circ P^T\bigr)
///           + (\dot A V - U P)\,S^{-1}. $$
/// Inverses of what counts as 0 are 0.
pub(super) fn svd<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    routine: Routine,
    matrix: &A::T,
    da: L::D,
) -> Result<L::D> {
    let tall = l.type_of(&da);
    let matrix = std::slice::from_ref(matrix);
    let a = l.algebra();
    let u = a.routine(Routine::SvdLeft, matrix)?;
    let v = a.routine(Routine::SvdRight, matrix)?;
    let moved = times(l, da, &v)?;
    if routine == Routine::SvdValues {
        return along_columns(l, &u, moved);
    }
    let a = l.algebra();
    let values = a.routine(Routine::SvdValues, matrix)?;
    let gaps = Gaps::new(a, &values)?;
    let (differences, sums) = (gaps.differences(a)?, gaps.sums(a)?);
    let ty = a.ty(&sums);
    let half = a.number(0.5, &ty)?;
    let mut mean = |op: Op| -> Result<A::T> {
        let both = a.op(op, &[differences.clone(), sums.clone()])?;
        a.op(Op::Mul, &[both, half.clone()])
    };
    let (more, less) = (mean(Op::Add)?, mean(Op::Sub)?);
    let u_turned = swapped(a, &u)?;
    let p = product(l, &u_turned, moved.clone())?;
    let p_turned = turned(l, p.clone())?;
    let left = routine == Routine::SvdLeft;
    let (of_p, of_turned) = if left { (&more, &less) } else { (&less, &more) };
    let (x, y) = (l.scale(of_p, p.clone())?, l.scale(of_turned, p_turned)?);
    let inner = l.add(x, y)?;
    let inside = product(l, if left { &u } else { &v }, inner)?;
    let (_, [rows, columns]) = matrix_sizes(&tall)?;
    if !left || rows == columns {
        return Ok(inside);
    }
    let seen = product(l, &u, p)?;
    let outside = difference(l, moved, seen)?;
    let inverses = gaps.inverses(l.algebra(), rows)?;
    let outside = l.scale(&inverses, outside)?;
    l.add(inside, outside)
}

/// The sums along columns of the products with `m`: the diagonal of $M^T \dot X$.
fn along_columns<A: Algebra, L: Derivatives<A>>(l: &mut L, m: &A::T, d: L::D) -> Result<L::D> {
    let products = l.scale(m, d)?;
    let rank = l.type_of(&products).shape.rank();
    let perm: Vec<usize> = [rank - 2].into_iter().chain(0..rank - 2).chain([rank - 1]).collect();
    let fronted = l.transpose(&perm, products)?;
    l.sum_outer(fronted)
}

/// Values, each beside each other.
struct Gaps<T> {
    /// $v_i$ and $v_j$ at $i, j$.
    rows: T,
    columns: T,
    /// Differences up to this are rounding, at $i, j$.
    rounding: T,
    values: T,
}

impl<T: Clone> Gaps<T> {
    fn new<A: Algebra<T = T>>(a: &mut A, values: &T) -> Result<Gaps<T>> {
        let ty = a.ty(values);
        let rank = ty.shape.rank();
        let k = ty.shape.dims()[rank - 1];
        let columns = repeated(a, values, k)?;
        let rows = swapped(a, &columns)?;
        let unit = if ty.dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let squares = a.op(Op::Mul, &[values.clone(), values.clone()])?;
        let perm: Vec<usize> = [rank - 1].into_iter().chain(0..rank - 1).collect();
        let squares = a.transpose(&perm, &squares)?;
        let sum = a.sum_outer(&squares)?;
        let size = a.op(Op::Sqrt, &[sum])?;
        let factor = a.number(unit * (k as f64).sqrt(), &a.ty(&size))?;
        let mut rounding = a.op(Op::Mul, &[size, factor])?;
        for _ in 0..2 {
            rounding = a.replicate(k, &rounding)?;
        }
        let perm: Vec<usize> = (2..rank + 1).chain([0, 1]).collect();
        let rounding = a.transpose(&perm, &rounding)?;
        Ok(Gaps { rows, columns, rounding, values: values.clone() })
    }

    /// $1 / (v_j - v_i)$
    fn differences<A: Algebra<T = T>>(&self, a: &mut A) -> Result<T> {
        let difference = a.op(Op::Sub, &[self.columns.clone(), self.rows.clone()])?;
        inverse(a, difference, &self.rounding)
    }

    /// $1 / (v_j + v_i)$
    fn sums<A: Algebra<T = T>>(&self, a: &mut A) -> Result<T> {
        let sum = a.op(Op::Add, &[self.columns.clone(), self.rows.clone()])?;
        inverse(a, sum, &self.rounding)
    }

    /// $1 / v_j$, in so many rows.
    fn inverses<A: Algebra<T = T>>(&self, a: &mut A, rows: usize) -> Result<T> {
        let rank = a.ty(&self.rounding).shape.rank();
        // The same for all: one of the two axes is enough.
        let perm: Vec<usize> =
            [rank - 2].into_iter().chain(0..rank - 2).chain([rank - 1]).collect();
        let fronted = a.transpose(&perm, &self.rounding)?;
        let first = a.number(0.0, &cotan_ir::Type::scalar(Dtype::I64))?;
        let rounding = a.index(&fronted, &[first])?;
        let inverse = inverse(a, self.values.clone(), &rounding)?;
        repeated(a, &inverse, rows)
    }
}

/// Vectors as the rows of matrices, so many times.
fn repeated<A: Algebra>(a: &mut A, vectors: &A::T, rows: usize) -> Result<A::T> {
    let rank = a.ty(vectors).shape.rank();
    let copies = a.replicate(rows, vectors)?;
    let perm: Vec<usize> = (1..rank).chain([0, rank]).collect();
    a.transpose(&perm, &copies)
}

/// $1 / x$, and 0 where $|x|$ is not above a bound.
fn inverse<A: Algebra>(a: &mut A, x: A::T, bound: &A::T) -> Result<A::T> {
    let ty = a.ty(&x);
    let (zeros, ones) = (a.number(0.0, &ty)?, a.number(1.0, &ty)?);
    let size = a.op(Op::Abs, std::slice::from_ref(&x))?;
    let none = a.op(Op::Le, &[size, bound.clone()])?;
    let divisor = a.op(Op::Select, &[none.clone(), ones.clone(), x])?;
    let inverse = a.op(Op::Div, &[ones, divisor])?;
    a.op(Op::Select, &[none, zeros, inverse])
}

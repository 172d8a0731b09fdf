//! Routines by the schoolbook: one scalar operation after the other. This is their meaning, whoever
//! runs them; other orders of the operations round differently.

use std::cmp::Ordering;

use super::{Routine, jacobi, orthogonal};
use crate::scalar::{Op, Scalar};

/// A matrix, or a vector as a row, of scalars.
#[derive(Clone, Debug)]
pub struct CellValue {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) elements: Vec<Scalar>,
}

/// Which triangle of a matrix is read, and whether there are ones on its diagonal.
#[derive(Clone, Copy)]
struct Triangle {
    lower: bool,
    unit: bool,
    /// Whether rows and columns are exchanged; `lower` is about what is read then.
    turned: bool,
}

const LOWER: Triangle = Triangle { lower: true, unit: false, turned: false };
const UPPER: Triangle = Triangle { lower: false, unit: false, turned: false };

/// Computes a scalar operation.
pub(super) type Apply<'a, E> = &'a mut dyn FnMut(Op, &[Scalar]) -> Result<Scalar, E>;

impl CellValue {
    /// A cell of the given sizes, in row-major order.
    pub fn new(dims: &[usize], elements: Vec<Scalar>) -> CellValue {
        let (rows, columns) = match *dims {
            [rows, columns] => (rows, columns),
            _ => (1, elements.len()),
        };
        CellValue { rows, columns, elements }
    }

    pub(super) fn at(&self, i: usize, j: usize) -> Scalar {
        self.elements[i * self.columns + j]
    }

    pub(super) fn set(&mut self, i: usize, j: usize, x: Scalar) {
        self.elements[i * self.columns + j] = x;
    }

    fn is_zero_column(&self, j: usize) -> bool {
        (0..self.rows).all(|i| match self.at(i, j) {
            Scalar::F64(x) => x == 0.0,
            Scalar::F32(x) => x == 0.0,
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => false,
        })
    }
}

impl Routine {
    /// What it gives for an element of the batch; `zero` is that of the result.
    ///
    /// The operands have the shapes and types of its row.
    pub fn by_the_book<E>(
        self,
        cells: &[CellValue],
        zero: Scalar,
        apply: Apply<'_, E>,
    ) -> Result<Vec<Scalar>, E> {
        let triangle = match self {
            Routine::Cholesky => return cholesky(cells[0].clone(), zero, apply),
            Routine::LuFactors => return Ok(eliminated(cells[0].clone(), apply)?.0.elements),
            Routine::LuRows => {
                let rows = eliminated(cells[0].clone(), apply)?.1;
                return Ok(rows.into_iter().map(|i| Scalar::I64(i as i64)).collect());
            }
            // P A = L U, so A x = b where L U x = P b.
            Routine::LuSolve => {
                let (factors, b) = (&cells[1], &cells[3]);
                let mut x = zeros_like(b, zero);
                for (i, row) in rows_of(&cells[2], b.rows) {
                    (0..b.columns).for_each(|j| x.set(i, j, b.at(row, j)));
                }
                substitute(factors, Triangle { unit: true, ..LOWER }, &mut x, zero, apply)?;
                substitute(factors, UPPER, &mut x, zero, apply)?;
                return Ok(x.elements);
            }
            // A^T = U^T L^T P, so A^T x = b where x = P^T y, U^T L^T y = b.
            Routine::LuSolveTransposed => {
                let (factors, mut y) = (&cells[1], cells[3].clone());
                substitute(factors, Triangle { turned: true, ..LOWER }, &mut y, zero, apply)?;
                let upper = Triangle { unit: true, turned: true, ..UPPER };
                substitute(factors, upper, &mut y, zero, apply)?;
                let mut x = zeros_like(&y, zero);
                for (i, row) in rows_of(&cells[2], y.rows) {
                    (0..y.columns).for_each(|j| x.set(row, j, y.at(i, j)));
                }
                return Ok(x.elements);
            }
            Routine::QrQ => {
                return Ok(orthogonal::factors(cells[0].clone(), zero, apply)?.0.elements);
            }
            Routine::QrR => {
                return Ok(orthogonal::factors(cells[0].clone(), zero, apply)?.1.elements);
            }
            Routine::EighValues => return Ok(jacobi::eigen(&cells[0], zero, apply)?.values),
            Routine::EighVectors => {
                return Ok(jacobi::eigen(&cells[0], zero, apply)?.vectors.elements);
            }
            Routine::SvdLeft => return Ok(jacobi::singular(&cells[0], zero, apply)?.left.elements),
            Routine::SvdValues => return Ok(jacobi::singular(&cells[0], zero, apply)?.values),
            Routine::SvdRight => {
                return Ok(jacobi::singular(&cells[0], zero, apply)?.right.elements);
            }
            Routine::Pseudoinverse => return jacobi::pseudoinverse(&cells[1..], zero, apply),
            Routine::SolveLower => LOWER,
            Routine::SolveUpper => UPPER,
            Routine::SolveUnitLower => Triangle { unit: true, ..LOWER },
            Routine::SolveUnitUpper => Triangle { unit: true, ..UPPER },
        };
        let mut x = cells[1].clone();
        substitute(&cells[0], triangle, &mut x, zero, apply)?;
        Ok(x.elements)
    }
}

pub(super) fn zeros_like(cells: &CellValue, zero: Scalar) -> CellValue {
    CellValue { elements: vec![zero; cells.elements.len()], ..*cells }
}

/// The numbers of rows, those in range, each with its place.
fn rows_of(rows: &CellValue, n: usize) -> Vec<(usize, usize)> {
    let row = |x: &Scalar| x.as_i64().and_then(|k| usize::try_from(k).ok()).filter(|&k| k < n);
    let all = rows.elements.iter().enumerate();
    all.filter_map(|(i, x)| Some((i, row(x)?))).collect()
}

/// `x - a b`
fn less<E>(x: Scalar, a: Scalar, b: Scalar, apply: Apply<'_, E>) -> Result<Scalar, E> {
    let product = apply(Op::Mul, &[a, b])?;
    apply(Op::Sub, &[x, product])
}

/// `l[i, j] = (a[i, j] - the sum of l[i, k] l[j, k] over k < j) / l[j, j]` below the diagonal, and the
/// root of the same difference on it. If one of these is not above 0, or infinite, the triangle is NaN.
fn cholesky<E>(mut a: CellValue, zero: Scalar, apply: Apply<'_, E>) -> Result<Vec<Scalar>, E> {
    let n = a.columns;
    let mut definite = true;
    for j in 0..n {
        for i in j..n {
            let mut x = a.at(i, j);
            for k in 0..j {
                x = less(x, a.at(i, k), a.at(j, k), apply)?;
            }
            if i == j {
                let infinite = matches!(x, Scalar::F64(f64::INFINITY) | Scalar::F32(f32::INFINITY));
                definite &= x.compare(zero) == Some(Ordering::Greater) && !infinite;
                x = apply(Op::Sqrt, &[x])?;
            } else {
                x = apply(Op::Div, &[x, a.at(j, j)])?;
            }
            a.set(i, j, x);
        }
    }
    let nan = match zero {
        Scalar::F64(_) => Scalar::F64(f64::NAN),
        Scalar::F32(_) => Scalar::F32(f32::NAN),
        // The field has none.
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => zero,
    };
    for i in 0..n {
        (i + 1..n).for_each(|j| a.set(i, j, zero));
        if !definite {
            (0..=i).for_each(|j| a.set(i, j, nan));
        }
    }
    Ok(a.elements)
}

/// Gauss: the factors, and the rows in their order.
fn eliminated<E>(mut a: CellValue, apply: Apply<'_, E>) -> Result<(CellValue, Vec<usize>), E> {
    let n = a.columns;
    let mut rows: Vec<usize> = (0..n).collect();
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            let (x, best) = (size_of(a.at(i, k), apply)?, size_of(a.at(pivot, k), apply)?);
            if x.compare(best) == Some(Ordering::Greater) {
                pivot = i;
            }
        }
        rows.swap(k, pivot);
        (0..n).for_each(|j| a.elements.swap(k * n + j, pivot * n + j));
        for i in k + 1..n {
            let factor = apply(Op::Div, &[a.at(i, k), a.at(k, k)])?;
            a.set(i, k, factor);
            for j in k + 1..n {
                let x = less(a.at(i, j), factor, a.at(k, j), apply)?;
                a.set(i, j, x);
            }
        }
    }
    Ok((a, rows))
}

/// What pivots are chosen by: in the field, where nothing is small, anything but 0 will do.
fn size_of<E>(x: Scalar, apply: Apply<'_, E>) -> Result<Scalar, E> {
    match x {
        Scalar::Fp(_) => Ok(x),
        _ => apply(Op::Abs, &[x]),
    }
}

/// `x[i] = (b[i] - the sum of t[i, k] x[k] over the k before i) / t[i, i]`, where `b` is what `x` holds
/// before. For columns of zeros that is zeros, whatever the matrix is: they are a solution.
fn substitute<E>(
    t: &CellValue,
    of: Triangle,
    x: &mut CellValue,
    zero: Scalar,
    apply: Apply<'_, E>,
) -> Result<(), E> {
    let n = t.columns;
    let at = |i: usize, k: usize| if of.turned { t.at(k, i) } else { t.at(i, k) };
    for j in 0..x.columns {
        if x.is_zero_column(j) {
            (0..x.rows).for_each(|i| x.set(i, j, zero));
            continue;
        }
        for step in 0..n {
            let i = if of.lower { step } else { n - 1 - step };
            let mut sum = x.at(i, j);
            for k in if of.lower { 0..i } else { i + 1..n } {
                sum = less(sum, at(i, k), x.at(k, j), apply)?;
            }
            if !of.unit {
                sum = apply(Op::Div, &[sum, at(i, i)])?;
            }
            x.set(i, j, sum);
        }
    }
    Ok(())
}

//! Routines by the schoolbook: one scalar operation after the other. This is their meaning, whoever
//! runs them; other orders of the operations round differently.

use std::cmp::Ordering;

use super::{Routine, jacobi, orthogonal};
use crate::scalar::{Fp, Op, Scalar};

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
            Routine::Dft => return transformed(&cells[0], zero, false, apply),
            Routine::DftConjugate => return transformed(&cells[0], zero, true, apply),
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

/// The sum over `j` of `z[j] w^(j k)` for each `k`, where `w = exp(-2 pi i / n)` or its conjugate.
fn transformed<E>(
    z: &CellValue,
    zero: Scalar,
    conjugate: bool,
    apply: Apply<'_, E>,
) -> Result<Vec<Scalar>, E> {
    let n = z.columns;
    let roots: Vec<(Scalar, Scalar)> = (0..n).map(|k| root_of_unity(k, n, zero)).collect();
    let (plus, minus) = if conjugate { (Op::Sub, Op::Add) } else { (Op::Add, Op::Sub) };
    let (mut re, mut im) = (Vec::with_capacity(2 * n), Vec::with_capacity(n));
    for k in 0..n {
        let (mut x, mut y, mut at) = (zero, zero, 0);
        for j in 0..n {
            let ((c, s), a, b) = (roots[at], z.at(0, j), z.at(1, j));
            // (a + i b) (c - i s) = a c + b s + i (b c - a s)
            let of_re = [(a, c, Op::Add), (b, s, plus)];
            let of_im = [(b, c, Op::Add), (a, s, minus)];
            for (sum, terms) in [(&mut x, of_re), (&mut y, of_im)] {
                for (factor, root, op) in terms {
                    let product = apply(Op::Mul, &[factor, root])?;
                    *sum = apply(op, &[*sum, product])?;
                }
            }
            at = (at + k) % n;
        }
        re.push(x);
        im.push(y);
    }
    re.extend(im);
    Ok(re)
}

/// `cos(2 pi k / n)` and `sin(2 pi k / n)` for `k < n`, as constants like a number. The field has no
/// roots of unity of all orders: there they are any numbers, which is enough for a linear function.
pub fn root_of_unity(k: usize, n: usize, like: Scalar) -> (Scalar, Scalar) {
    let (c, s) = unit_root(k as u64, n as u64);
    match like {
        Scalar::F32(_) => (Scalar::F32(c as f32), Scalar::F32(s as f32)),
        Scalar::Fp(_) => {
            let k = k as i64;
            (Scalar::Fp(Fp::from_i64(3 * k + 2)), Scalar::Fp(Fp::from_i64(5 * k + 7)))
        }
        Scalar::F64(_) | Scalar::I64(_) | Scalar::Bool(_) => (Scalar::F64(c), Scalar::F64(s)),
    }
}

/// The angle is brought to an eighth of a turn by integers, where nothing is lost, and what is lost in
/// the rest is added by the derivative.
fn unit_root(k: u64, n: u64) -> (f64, f64) {
    const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
    // The quarter turn less its double.
    const REST: f64 = 6.123_233_995_736_766e-17;
    // In parts of a quarter turn, of which there are `n`.
    let mut x = 4 * k;
    let (below, left) = (x > 2 * n, (x > n) & (x < 3 * n));
    if x > 2 * n {
        x = 4 * n - x;
    }
    if x > n {
        x = 2 * n - x;
    }
    let swap = 2 * x > n;
    if swap {
        x = n - x;
    }
    let (whole, parts) = (x as f64, n as f64);
    let share = whole / parts;
    let lost = libm::fma(-share, parts, whole) / parts;
    let angle = share * QUARTER;
    let rest = libm::fma(share, QUARTER, -angle) + share * REST + lost * QUARTER;
    let (c, s) = (libm::cos(angle), libm::sin(angle));
    let (c, s) = (c - rest * s, s + rest * c);
    let (c, s) = if swap { (s, c) } else { (c, s) };
    (if left { -c } else { c }, if below { -s } else { s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_unity_are_on_the_circle_and_symmetric() {
        for n in 1..200u64 {
            for k in 0..n {
                let ((c, s), turn) = (unit_root(k, n), std::f64::consts::TAU * k as f64 / n as f64);
                // The angle is rounded before the functions of the system see it.
                assert!((c - turn.cos()).abs() < 2e-15 && (s - turn.sin()).abs() < 2e-15);
                assert!((c * c + s * s - 1.0).abs() < 4e-16, "{k} of {n}");
                let (d, t) = unit_root((n - k) % n, n);
                assert_eq!((c, s), (d, if k == 0 { t } else { -t }));
            }
        }
        assert_eq!(
            [0, 1, 2, 3].map(|k| unit_root(k, 4)),
            [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
        );
    }
}

//! Numerical routines on dual numbers: the elimination itself is differentiated, one scalar
//! operation after the other. The closed forms of the other implementations are compared with this.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Result, Routine, TermId, Type, root_of_unity};

use super::machine::{Dual, Machine};
use super::numbers::Derivative;

/// A matrix: its elements in row-major order, and how many are in a row.
pub(super) struct Matrix<D> {
    pub(super) elements: Vec<Dual<D>>,
    pub(super) columns: usize,
}

impl<D: Clone> Matrix<D> {
    pub(super) fn rows(&self) -> usize {
        self.elements.len().checked_div(self.columns).unwrap_or(0)
    }

    pub(super) fn at(&self, i: usize, j: usize) -> &Dual<D> {
        &self.elements[i * self.columns + j]
    }

    pub(super) fn set(&mut self, i: usize, j: usize, x: Dual<D>) {
        self.elements[i * self.columns + j] = x;
    }

    pub(super) fn transposed(&self) -> Matrix<D> {
        let order = (0..self.columns).flat_map(|j| (0..self.rows()).map(move |i| (i, j)));
        let elements = order.map(|(i, j)| self.at(i, j).clone()).collect();
        Matrix { elements, columns: self.rows() }
    }

    /// The rows in reverse, and the columns.
    fn reversed(&self) -> Matrix<D> {
        Matrix { elements: self.elements.iter().rev().cloned().collect(), columns: self.columns }
    }
}

impl<M: Derivative> Machine<'_, M> {
    /// The routine of each element of the batch.
    pub(super) fn routine(
        &mut self,
        routine: Routine,
        ts: &[TermId],
        ty: &Type,
    ) -> Result<Vec<Dual<M::D>>> {
        let batch = ty.shape.rank() - routine.result_rank();
        let shapes: Vec<Vec<usize>> =
            ts.iter().map(|&t| self.program.shape(t).dims()[batch..].to_vec()).collect();
        let operands = self.all(ts)?;
        let dtype = self.program.dtype(ts[0]);
        let mut elements = Vec::with_capacity(ty.shape.numel());
        for n in 0..ty.shape.dims()[..batch].iter().product() {
            let cell = |k: usize| {
                let size: usize = shapes[k].iter().product();
                let elements = operands[k][n * size..(n + 1) * size].to_vec();
                Matrix { elements, columns: shapes[k].last().copied().unwrap_or(1) }
            };
            let found = match routine {
                Routine::Cholesky => self.cholesky(cell(0), dtype)?,
                Routine::LuFactors => self.eliminated(cell(0), dtype)?.0,
                Routine::LuRows => {
                    let rows = self.eliminated(cell(0), dtype)?.1;
                    elements.extend(rows.into_iter().map(|row| self.integer(row)));
                    continue;
                }
                Routine::Dft => self.transformed(&cell(0), false, dtype)?,
                Routine::DftConjugate => self.transformed(&cell(0), true, dtype)?,
                // The factors are those of the matrix, which has the derivative.
                Routine::LuSolve => self.solved(cell(0), cell(3), dtype)?,
                Routine::LuSolveTransposed => self.solved(cell(0).transposed(), cell(3), dtype)?,
                Routine::QrQ => self.orthogonalised(cell(0), dtype)?.0,
                Routine::QrR => self.orthogonalised(cell(0), dtype)?.1,
                Routine::EighValues => self.eigen(cell(0), dtype)?.0,
                Routine::EighVectors => self.eigen(cell(0), dtype)?.1,
                Routine::SvdLeft => self.singular(cell(0), dtype)?.0,
                Routine::SvdValues => self.singular(cell(0), dtype)?.1,
                Routine::SvdRight => self.singular(cell(0), dtype)?.2,
                // The others are those of the matrix, which has the derivative.
                Routine::Pseudoinverse => self.pseudoinverse(cell(0), dtype)?,
                Routine::SolveLower => self.substituted(&cell(0), cell(1), false, dtype)?,
                Routine::SolveUnitLower => self.substituted(&cell(0), cell(1), true, dtype)?,
                // The last equation comes first.
                Routine::SolveUpper | Routine::SolveUnitUpper => {
                    let unit = routine == Routine::SolveUnitUpper;
                    let (t, b) = (cell(0).reversed(), cell(1).reversed());
                    self.substituted(&t, b, unit, dtype)?.reversed()
                }
            };
            elements.extend(found.elements);
        }
        Ok(elements)
    }

    /// `x - a b`
    pub(super) fn less(
        &mut self,
        x: &Dual<M::D>,
        a: &Dual<M::D>,
        b: &Dual<M::D>,
        dtype: Dtype,
    ) -> Result<Dual<M::D>> {
        let product = self.apply(Op::Mul, &[a, b], dtype)?;
        self.apply(Op::Sub, &[x, &product], dtype)
    }

    fn cholesky(&mut self, mut a: Matrix<M::D>, dtype: Dtype) -> Result<Matrix<M::D>> {
        let n = a.columns;
        let given = a.elements.clone();
        let mut definite = true;
        for k in 0..n {
            definite &=
                a.at(k, k).x.compare(self.zero(dtype).x) == Some(std::cmp::Ordering::Greater);
            let root = self.apply(Op::Sqrt, &[a.at(k, k)], dtype)?;
            for i in k + 1..n {
                let x = self.apply(Op::Div, &[a.at(i, k), &root], dtype)?;
                a.set(i, k, x);
            }
            a.set(k, k, root);
            for j in k + 1..n {
                for i in j..n {
                    let x = self.less(a.at(i, j), a.at(i, k), a.at(j, k), dtype)?;
                    a.set(i, j, x);
                }
            }
        }
        let zero = self.zero(dtype);
        for i in 0..n {
            (i + 1..n).for_each(|j| a.set(i, j, zero.clone()));
        }
        if !definite {
            let lower = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let nan = self.undefined(lower.clone().map(|(i, j)| &given[i * n + j]), dtype)?;
            lower.for_each(|(i, j)| a.set(i, j, nan.clone()));
        }
        Ok(a)
    }

    /// What is no number, and neither is its derivative by any of the elements that were read.
    pub(super) fn undefined<'a>(
        &mut self,
        read: impl Iterator<Item = &'a Dual<M::D>>,
        dtype: Dtype,
    ) -> Result<Dual<M::D>>
    where
        M::D: 'a,
    {
        let mut nan = self.apply(Op::Sqrt, &[&self.negative(dtype)], dtype)?;
        for x in read {
            nan = self.apply(Op::Mul, &[&nan, x], dtype)?;
        }
        Ok(nan)
    }

    /// The Fourier transform, as a sum of complex products from its end.
    fn transformed(
        &mut self,
        z: &Matrix<M::D>,
        conjugate: bool,
        dtype: Dtype,
    ) -> Result<Matrix<M::D>> {
        let (n, zero) = (z.columns, self.zero(dtype));
        let like = zero.x;
        let mut sums = vec![zero; 2 * n];
        for k in 0..n {
            for j in (0..n).rev() {
                let (c, s) = root_of_unity(j * k % n, n, like);
                let (c, s) = (self.plain(c), self.plain(s));
                let (re, im) = (z.at(0, j), z.at(1, j));
                // Each part with the cosine, then the other one with the sine.
                let (plus, minus) = if conjugate { (Op::Sub, Op::Add) } else { (Op::Add, Op::Sub) };
                for (to, own, other, op) in [(k, re, im, plus), (n + k, im, re, minus)] {
                    let straight = self.apply(Op::Mul, &[own, &c], dtype)?;
                    let across = self.apply(Op::Mul, &[other, &s], dtype)?;
                    let term = self.apply(op, &[&straight, &across], dtype)?;
                    sums[to] = self.apply(Op::Add, &[&sums[to], &term], dtype)?;
                }
            }
        }
        Ok(Matrix { elements: sums, columns: n })
    }

    fn negative(&self, dtype: Dtype) -> Dual<M::D> {
        self.plain(match dtype {
            Dtype::F32 => Scalar::F32(-1.0),
            _ => Scalar::F64(-1.0),
        })
    }

    /// The factors, and the order of the rows.
    fn eliminated(
        &mut self,
        mut a: Matrix<M::D>,
        dtype: Dtype,
    ) -> Result<(Matrix<M::D>, Vec<usize>)> {
        let n = a.columns;
        let mut order: Vec<usize> = (0..n).collect();
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                let (x, best) = (self.size(a.at(i, k).x), self.size(a.at(pivot, k).x));
                if x.compare(best) == Some(std::cmp::Ordering::Greater) {
                    pivot = i;
                }
            }
            order.swap(k, pivot);
            (0..n).for_each(|j| a.elements.swap(k * n + j, pivot * n + j));
            for i in k + 1..n {
                let factor = self.apply(Op::Div, &[a.at(i, k), a.at(k, k)], dtype)?;
                for j in k + 1..n {
                    let x = self.less(a.at(i, j), &factor, a.at(k, j), dtype)?;
                    a.set(i, j, x);
                }
                a.set(i, k, factor);
            }
        }
        Ok((a, order))
    }

    fn size(&self, x: Scalar) -> Scalar {
        match x {
            Scalar::F64(x) => Scalar::F64(x.abs()),
            Scalar::F32(x) => Scalar::F32(x.abs()),
            other => other,
        }
    }

    pub(super) fn solved(
        &mut self,
        a: Matrix<M::D>,
        b: Matrix<M::D>,
        dtype: Dtype,
    ) -> Result<Matrix<M::D>> {
        let (factors, order) = self.eliminated(a, dtype)?;
        let columns = b.columns;
        let rows = order.iter().flat_map(|&i| (0..columns).map(move |j| (i, j)));
        let permuted =
            Matrix { elements: rows.map(|(i, j)| b.at(i, j).clone()).collect(), columns };
        let y = self.substituted(&factors, permuted, true, dtype)?;
        Ok(self.substituted(&factors.reversed(), y.reversed(), false, dtype)?.reversed())
    }

    /// The solutions of a lower triangular system.
    fn substituted(
        &mut self,
        t: &Matrix<M::D>,
        mut x: Matrix<M::D>,
        unit: bool,
        dtype: Dtype,
    ) -> Result<Matrix<M::D>> {
        for i in 0..t.columns {
            for j in 0..x.columns {
                let mut sum = x.at(i, j).clone();
                for k in 0..i {
                    sum = self.less(&sum, t.at(i, k), x.at(k, j), dtype)?;
                }
                if !unit {
                    sum = self.apply(Op::Div, &[&sum, t.at(i, i)], dtype)?;
                }
                x.set(i, j, sum);
            }
        }
        Ok(x)
    }
}

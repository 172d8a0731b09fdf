//! Factorisations by orthogonal matrices on dual numbers, by the simplest algorithms there are.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{NEARLY, Result};

use super::machine::{Dual, Machine};
use super::numbers::Derivative;
use super::routine::Matrix;

/// So many times all pairs are rotated. The steps after the values have settled are for the
/// derivatives, which need one more.
const SWEEPS: usize = 12;

fn float(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        Scalar::F32(x) => f64::from(x),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => 0.0,
    }
}

/// Two factors of a matrix.
type Two<D> = (Matrix<D>, Matrix<D>);

/// Three factors of a matrix.
type Three<D> = (Matrix<D>, Matrix<D>, Matrix<D>);

impl<M: Derivative> Machine<'_, M> {
    fn number(&self, x: f64, dtype: Dtype) -> Dual<M::D> {
        self.plain(match dtype {
            Dtype::F32 => Scalar::F32(x as f32),
            _ => Scalar::F64(x),
        })
    }

    /// The sum of the products of two lists.
    fn dot(&mut self, xs: &[Dual<M::D>], ys: &[Dual<M::D>], dtype: Dtype) -> Result<Dual<M::D>> {
        let mut sum = self.zero(dtype);
        for (x, y) in xs.iter().zip(ys) {
            let product = self.apply(Op::Mul, &[x, y], dtype)?;
            sum = self.apply(Op::Add, &[&sum, &product], dtype)?;
        }
        Ok(sum)
    }

    fn multiplied(
        &mut self,
        a: &Matrix<M::D>,
        b: &Matrix<M::D>,
        dtype: Dtype,
    ) -> Result<Matrix<M::D>> {
        let mut elements = Vec::new();
        for i in 0..a.rows() {
            let row: Vec<_> = (0..a.columns).map(|j| a.at(i, j).clone()).collect();
            for j in 0..b.columns {
                let column: Vec<_> = (0..b.rows()).map(|i| b.at(i, j).clone()).collect();
                elements.push(self.dot(&row, &column, dtype)?);
            }
        }
        Ok(Matrix { elements, columns: b.columns })
    }

    /// Gram and Schmidt: `Q` and `R`.
    pub(super) fn orthogonalised(&mut self, a: Matrix<M::D>, dtype: Dtype) -> Result<Two<M::D>> {
        let (rows, columns) = (a.rows(), a.columns);
        let zero = self.zero(dtype);
        let mut r = Matrix { elements: vec![zero; columns * columns], columns };
        // As rows.
        let mut q = a.transposed();
        let column = |q: &Matrix<M::D>, k: usize| -> Vec<_> {
            (0..rows).map(|i| q.at(k, i).clone()).collect()
        };
        for k in 0..columns {
            let own = column(&q, k);
            let square = self.dot(&own, &own, dtype)?;
            let size = self.apply(Op::Sqrt, &[&square], dtype)?;
            for (i, x) in own.iter().enumerate() {
                let x = self.apply(Op::Div, &[x, &size], dtype)?;
                q.set(k, i, x);
            }
            r.set(k, k, size);
            let own = column(&q, k);
            for j in k + 1..columns {
                let other = column(&q, j);
                let part = self.dot(&own, &other, dtype)?;
                for (i, (x, y)) in other.iter().zip(&own).enumerate() {
                    let x = self.less(x, &part, y, dtype)?;
                    q.set(j, i, x);
                }
                r.set(k, j, part);
            }
        }
        Ok((q.transposed(), r))
    }

    /// Columns `p` and `q` become `cos p - sin q` and `sin p + cos q`.
    fn rotate(
        &mut self,
        m: &mut Matrix<M::D>,
        (p, q): (usize, usize),
        (cos, sin): (&Dual<M::D>, &Dual<M::D>),
        dtype: Dtype,
    ) -> Result<()> {
        for i in 0..m.rows() {
            let (x, y) = (m.at(i, p).clone(), m.at(i, q).clone());
            let first = self.apply(Op::Mul, &[cos, &x], dtype)?;
            let first = self.less(&first, sin, &y, dtype)?;
            let (second, third) =
                (self.apply(Op::Mul, &[sin, &x], dtype)?, self.apply(Op::Mul, &[cos, &y], dtype)?);
            let second = self.apply(Op::Add, &[&second, &third], dtype)?;
            m.set(i, p, first);
            m.set(i, q, second);
        }
        Ok(())
    }

    /// Eigenvalues of the lower triangle in ascending order, and eigenvectors. Rotations are made
    /// also where an element is 0, as its derivative need not be; of what is not finite there are none:
    /// `tan = 2 off sign(d) / (|d| + sqrt(d^2 + 4 off^2))`, of the difference `d` on the diagonal.
    pub(super) fn eigen(&mut self, mut a: Matrix<M::D>, dtype: Dtype) -> Result<Two<M::D>> {
        let n = a.columns;
        let (zero, one) = (self.zero(dtype), self.number(1.0, dtype));
        for i in 0..n {
            (0..i).for_each(|j| a.set(j, i, a.at(i, j).clone()));
        }
        if !a.elements.iter().all(|x| float(x.x).is_finite()) {
            let nan = self.undefined(a.elements.iter(), dtype)?;
            let all = |k: usize| Matrix { elements: vec![nan.clone(); k], columns: n.max(1) };
            return Ok((all(n), all(n * n)));
        }
        let mut v = Matrix { elements: vec![zero; n * n], columns: n };
        (0..n).for_each(|i| v.set(i, i, one.clone()));
        for _ in 0..SWEEPS {
            for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
                let off = self.apply(Op::Add, &[a.at(p, q), a.at(p, q)], dtype)?;
                let d = self.apply(Op::Sub, &[a.at(q, q), a.at(p, p)], dtype)?;
                let negative = float(d.x) < 0.0;
                let size = self.apply(Op::Abs, &[&d], dtype)?;
                let pair = [d, off.clone()];
                let squares = self.dot(&pair, &pair, dtype)?;
                if float(squares.x) == 0.0 {
                    continue;
                }
                let root = self.apply(Op::Sqrt, &[&squares], dtype)?;
                let sum = self.apply(Op::Add, &[&size, &root], dtype)?;
                let mut tan = self.apply(Op::Div, &[&off, &sum], dtype)?;
                if negative {
                    tan = self.apply(Op::Neg, &[&tan], dtype)?;
                }
                let pair = [one.clone(), tan.clone()];
                let square = self.dot(&pair, &pair, dtype)?;
                let root = self.apply(Op::Sqrt, &[&square], dtype)?;
                let cos = self.apply(Op::Div, &[&one, &root], dtype)?;
                let sin = self.apply(Op::Mul, &[&cos, &tan], dtype)?;
                self.rotate(&mut a, (p, q), (&cos, &sin), dtype)?;
                a = a.transposed();
                self.rotate(&mut a, (p, q), (&cos, &sin), dtype)?;
                self.rotate(&mut v, (p, q), (&cos, &sin), dtype)?;
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| float(a.at(i, i).x).total_cmp(&float(a.at(j, j).x)));
        let values = order.iter().map(|&i| a.at(i, i).clone()).collect();
        let mut sorted = v.transposed();
        for (to, &from) in order.iter().enumerate() {
            let column: Vec<_> = (0..n).map(|i| v.at(i, from).clone()).collect();
            let largest = column.iter().map(|x| float(x.x).abs()).fold(0.0, f64::max);
            let first = column.iter().find(|x| float(x.x).abs() >= NEARLY * largest);
            let turn = first.is_some_and(|x| float(x.x) < 0.0);
            for (i, x) in column.iter().enumerate() {
                let x = if turn { self.apply(Op::Neg, &[x], dtype)? } else { x.clone() };
                sorted.set(i, to, x);
            }
        }
        Ok((Matrix { elements: values, columns: n.max(1) }, sorted))
    }

    /// `U`, the diagonal of `S`, and `V`, by the eigenvectors of `A^T A`.
    pub(super) fn singular(&mut self, a: Matrix<M::D>, dtype: Dtype) -> Result<Three<M::D>> {
        let k = a.columns;
        let square = self.multiplied(&a.transposed(), &a, dtype)?;
        // In descending order: that of the negative values.
        let mut negative = square;
        for x in &mut negative.elements {
            *x = self.apply(Op::Neg, &[&*x], dtype)?;
        }
        let (mut values, v) = self.eigen(negative, dtype)?;
        for x in &mut values.elements {
            let value = self.apply(Op::Neg, &[&*x], dtype)?;
            *x = self.apply(Op::Sqrt, &[&value], dtype)?;
        }
        let mut u = self.multiplied(&a, &v, dtype)?;
        for (i, j) in (0..u.rows()).flat_map(|i| (0..k).map(move |j| (i, j))) {
            let x = self.apply(Op::Div, &[u.at(i, j), &values.elements[j]], dtype)?;
            u.set(i, j, x);
        }
        Ok((u, values, v))
    }

    /// `(A^T A)^-1 A^T`
    pub(super) fn pseudoinverse(&mut self, a: Matrix<M::D>, dtype: Dtype) -> Result<Matrix<M::D>> {
        let turned = a.transposed();
        let square = self.multiplied(&turned, &a, dtype)?;
        self.solved(square, turned, dtype)
    }
}

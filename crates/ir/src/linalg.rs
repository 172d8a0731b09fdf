//! Linear algebra made of routines: systems, inverses, determinants.
//!
//! Matrices are on the last two axes, what is before them is a batch, and batches are broadcast.

use cotan_array::Dtype;

use crate::arrange::broadcast_dims;
use crate::build::Builder;
use crate::error::{Error, Result};
use crate::routine::Routine;
use crate::scalar::Op;
use crate::term::{TermId, Type};

/// Determinants of matrices up to this size are polynomials of their elements.
const POLYNOMIAL: usize = 3;

/// A system of equations, with the sizes of its batch.
struct System {
    a: TermId,
    b: TermId,
    batch: Vec<usize>,
    n: usize,
    /// The number of right sides, or none for a vector.
    columns: Option<usize>,
}

impl Builder {
    /// The batch and the size of square matrices.
    fn square(&self, name: &'static str, a: TermId) -> Result<(Vec<usize>, usize)> {
        let ty = self.ty(a);
        let wrong = |what: &str| {
            let error = Error::type_error(name, format!("{what} is needed, not {ty}"));
            Err(self.at(error))
        };
        match ty.shape.dims() {
            _ if !ty.dtype.is_float() => wrong("a matrix of floats"),
            [batch @ .., n, m] if n == m => Ok((batch.to_vec(), *n)),
            _ => wrong("a square matrix"),
        }
    }

    /// A matrix and right sides with the same batch.
    fn system(&mut self, name: &'static str, a: TermId, b: TermId) -> Result<System> {
        let (a_batch, n) = self.square(name, a)?;
        let right = self.shape(b).dims().to_vec();
        let (b_batch, rows, columns) = match *right {
            [rows] => (&[][..], Some(rows), None),
            [ref batch @ .., rows, columns] => (batch, Some(rows), Some(columns)),
            [] => (&[][..], None, None),
        };
        let fits = rows == Some(n) && self.dtype(a) == self.dtype(b);
        let Some(batch) = broadcast_dims(&a_batch, b_batch).filter(|_| fits) else {
            let message = format!("a system {} with the right sides {}", self.ty(a), self.ty(b));
            let hint = "right sides are a vector, or the columns of matrices with as many rows; \
                        leading axes are broadcast";
            return Err(self.at(Error::type_error(name, message).with_hint(hint)));
        };
        let b = match columns {
            Some(_) => b,
            None => self.reshape(&[n, 1], b)?,
        };
        let sizes = |last: [usize; 2]| [&batch[..], &last].concat();
        let b = self.broadcast_to(b, &sizes([n, columns.unwrap_or(1)]))?;
        let a = self.broadcast_to(a, &sizes([n, n]))?;
        Ok(System { a, b, batch, n, columns })
    }

    /// Solutions in the shape of the right sides.
    fn solutions(&mut self, x: TermId, of: &System) -> Result<TermId> {
        if of.columns.is_some() {
            return Ok(x);
        }
        let dims: Vec<usize> = of.batch.iter().copied().chain([of.n]).collect();
        self.reshape(&dims, x)
    }

    /// The lower triangular `l` with `l l^T = a`.
    pub fn cholesky(&mut self, a: TermId) -> Result<TermId> {
        self.square("cholesky", a)?;
        self.routine(Routine::Cholesky, &[a])
    }

    /// The solutions of `a x = b` for a triangle of `a`.
    pub fn solve_triangular(&mut self, a: TermId, b: TermId, lower: bool) -> Result<TermId> {
        let system = self.system("solve_triangular", a, b)?;
        let routine = if lower { Routine::SolveLower } else { Routine::SolveUpper };
        let x = self.routine(routine, &[system.a, system.b])?;
        self.solutions(x, &system)
    }

    /// The solutions of `a x = b` for a symmetric positive definite matrix, given its factor
    /// `l = cholesky(a)`.
    pub fn cholesky_solve(&mut self, l: TermId, b: TermId) -> Result<TermId> {
        let system = self.system("cholesky_solve", l, b)?;
        let y = self.routine(Routine::SolveLower, &[system.a, system.b])?;
        let turned = self.matrix_transpose("cholesky_solve", system.a)?;
        let x = self.routine(Routine::SolveUpper, &[turned, y])?;
        self.solutions(x, &system)
    }

    /// The transposes of matrices.
    pub fn matrix_transpose(&mut self, name: &'static str, a: TermId) -> Result<TermId> {
        let rank = self.shape(a).rank();
        if rank < 2 {
            let message = format!("a matrix is needed here, and this is {}", self.ty(a));
            return Err(self.at(Error::type_error(name, message)));
        }
        let mut perm: Vec<usize> = (0..rank).collect();
        perm.swap(rank - 2, rank - 1);
        self.transpose(&perm, a)
    }

    /// The solutions of `a x = b`.
    pub fn solve(&mut self, a: TermId, b: TermId) -> Result<TermId> {
        let system = self.system("solve", a, b)?;
        // Its derivative is that of the matrix, not that of the factors.
        let still = self.op(Op::StopGradient, &[a])?;
        let factors = self.routine(Routine::LuFactors, &[still])?;
        let rows = self.routine(Routine::LuRows, &[still])?;
        let sizes: Vec<usize> = system.batch.iter().copied().chain([system.n]).collect();
        let rows = self.broadcast_to(rows, &sizes)?;
        let sizes: Vec<usize> = sizes.into_iter().chain([system.n]).collect();
        let factors = self.broadcast_to(factors, &sizes)?;
        let x = self.routine(Routine::LuSolve, &[system.a, factors, rows, system.b])?;
        self.solutions(x, &system)
    }

    /// The inverses of square matrices.
    pub fn inverse(&mut self, a: TermId) -> Result<TermId> {
        let (batch, n) = self.square("inverse", a)?;
        let identity = self.identity(self.dtype(a), &batch, n)?;
        self.solve(a, identity)
    }

    /// Matrices with ones on the diagonal.
    pub fn identity(&mut self, dtype: Dtype, batch: &[usize], n: usize) -> Result<TermId> {
        let diagonal = self.compare_indices(Op::Eq, n, n)?;
        let to = if dtype == Dtype::F32 { Op::ToF32 } else { Op::ToF64 };
        let identity = self.op(to, &[diagonal])?;
        self.broadcast_to(identity, &[batch, &[n, n]].concat())
    }

    /// Whether the number of a row compares so with that of a column.
    pub fn compare_indices(&mut self, op: Op, rows: usize, columns: usize) -> Result<TermId> {
        let (i, j) = (self.iota(rows)?, self.iota(columns)?);
        let i = self.spread(i, &[0], &[rows, columns])?;
        let j = self.spread(j, &[1], &[rows, columns])?;
        self.op(op, &[i, j])
    }

    /// The diagonals of square matrices.
    pub fn matrix_diagonal(&mut self, a: TermId) -> Result<TermId> {
        let (batch, n) = self.square("diagonal", a)?;
        let sizes = [&batch[..], &[n]].concat();
        let last = batch.len();
        let f = self
            .index_function(&sizes, |_, is| Ok(is.iter().copied().chain([is[last]]).collect()))?;
        self.gather(a, f)
    }

    /// The product of the last axis.
    fn product_of_last(&mut self, t: TermId) -> Result<TermId> {
        let dims = self.shape(t).dims().to_vec();
        let (n, batch) = dims.split_last().map_or((1, &[][..]), |(n, batch)| (*n, batch));
        let mut product = None;
        let perm: Vec<usize> = [batch.len()].into_iter().chain(0..batch.len()).collect();
        let moved = self.permute(t, &perm)?;
        // By halves: as many multiplications, and few nodes.
        let (mut left, mut part) = (n, moved);
        while left > 1 {
            let half = left / 2;
            let low = self.leading(part, 0, half)?;
            let high = self.leading(part, half, half)?;
            if left % 2 == 1 {
                let at = self.scalar(left as i64 - 1)?;
                let odd = self.index(part, &[at])?;
                product = Some(match product {
                    Some(product) => self.op(Op::Mul, &[product, odd])?,
                    None => odd,
                });
            }
            part = self.op(Op::Mul, &[low, high])?;
            left = half;
        }
        if left == 0 {
            return self.number(1.0, &Type::new(self.dtype(t), self.shape(t).drop_outer(0)), batch);
        }
        let at = self.scalar(0i64)?;
        let rest = self.index(part, &[at])?;
        match product {
            Some(product) => self.op(Op::Mul, &[product, rest]),
            None => Ok(rest),
        }
    }

    /// So many parts along the outermost axis.
    fn leading(&mut self, t: TermId, first: usize, count: usize) -> Result<TermId> {
        let f = self.index_function(&[count], |b, is| {
            let first = b.scalar(first as i64)?;
            Ok(vec![b.op(Op::Add, &[is[0], first])?])
        })?;
        self.gather(t, f)
    }

    fn number(&mut self, x: f64, ty: &Type, dims: &[usize]) -> Result<TermId> {
        let scalar = match ty.dtype {
            Dtype::F32 => self.scalar(x as f32)?,
            _ => self.scalar(x)?,
        };
        self.broadcast_to(scalar, dims)
    }

    /// 1 for even permutations and -1 for odd ones, by the pairs that are in the wrong order.
    fn permutation_sign(&mut self, rows: TermId, dtype: Dtype) -> Result<TermId> {
        let dims = self.shape(rows).dims().to_vec();
        let (n, batch) = dims.split_last().map_or((0, &[][..]), |(n, batch)| (*n, batch));
        let rank = batch.len();
        let sizes: Vec<usize> = [n, n].into_iter().chain(batch.iter().copied()).collect();
        let places = |axis: usize| (2..2 + rank).chain([axis]).collect::<Vec<usize>>();
        let first = self.spread(rows, &places(0), &sizes)?;
        let second = self.spread(rows, &places(1), &sizes)?;
        let wrong = self.op(Op::Gt, &[first, second])?;
        let before = self.compare_indices(Op::Lt, n, n)?;
        let before = self.spread(before, &[0, 1], &sizes)?;
        let wrong = self.op(Op::And, &[wrong, before])?;
        let wrong = self.op(Op::ToI64, &[wrong])?;
        let wrong = self.sum_outer(wrong)?;
        let wrong = self.sum_outer(wrong)?;
        let two = self.scalar(2i64)?;
        let two = self.broadcast_to(two, batch)?;
        let odd = self.op(Op::Rem, &[wrong, two])?;
        let odd = self.op(if dtype == Dtype::F32 { Op::ToF32 } else { Op::ToF64 }, &[odd])?;
        let ty = Type::scalar(dtype);
        let (one, minus_two) = (self.number(1.0, &ty, batch)?, self.number(-2.0, &ty, batch)?);
        let odd = self.op(Op::Mul, &[odd, minus_two])?;
        self.op(Op::Add, &[one, odd])
    }

    /// The determinants of square matrices. Up to three rows they are polynomials of the elements.
    pub fn det(&mut self, a: TermId) -> Result<TermId> {
        let (batch, n) = self.square("det", a)?;
        if n <= POLYNOMIAL {
            return self.small_det(a, &batch, n);
        }
        let factors = self.routine(Routine::LuFactors, &[a])?;
        let rows = self.routine(Routine::LuRows, &[a])?;
        let diagonal = self.matrix_diagonal(factors)?;
        let product = self.product_of_last(diagonal)?;
        let sign = self.permutation_sign(rows, self.dtype(a))?;
        let signed = self.op(Op::Mul, &[sign, product])?;
        // Elimination divides by a pivot of 0, and makes NaN of what comes after.
        let zeros = self.counted(diagonal, Op::Eq, 0.0, batch.len())?;
        let finite = self.counted(a, Op::Lt, f64::INFINITY, batch.len())?;
        let (none, all) = (self.scalar(0i64)?, self.scalar((n * n) as i64)?);
        let (none, all) = (self.broadcast_to(none, &batch)?, self.broadcast_to(all, &batch)?);
        let singular = self.op(Op::Gt, &[zeros, none])?;
        let finite = self.op(Op::Eq, &[finite, all])?;
        let singular = self.op(Op::And, &[singular, finite])?;
        let zero = self.number(0.0, &Type::scalar(self.dtype(a)), &batch)?;
        self.op(Op::Select, &[singular, zero, signed])
    }

    /// How many of the elements that belong to one matrix of a batch have absolute values in this
    /// relation to a number.
    fn counted(&mut self, t: TermId, relation: Op, x: f64, batch: usize) -> Result<TermId> {
        let dims = self.shape(t).dims().to_vec();
        let size = self.op(Op::Abs, &[t])?;
        let x = self.number(x, &Type::scalar(self.dtype(t)), &dims)?;
        let holds = self.op(relation, &[size, x])?;
        let mut count = self.op(Op::ToI64, &[holds])?;
        let perm: Vec<usize> = (batch..dims.len()).chain(0..batch).collect();
        count = self.permute(count, &perm)?;
        for _ in batch..dims.len() {
            count = self.sum_outer(count)?;
        }
        Ok(count)
    }

    fn small_det(&mut self, a: TermId, batch: &[usize], n: usize) -> Result<TermId> {
        let ty = Type::scalar(self.dtype(a));
        if n == 0 {
            return self.number(1.0, &ty, batch);
        }
        // The matrix comes first, so that its elements are whole arrays.
        let rank = batch.len();
        let perm: Vec<usize> = [rank, rank + 1].into_iter().chain(0..rank).collect();
        let moved = self.permute(a, &perm)?;
        let at = |b: &mut Builder, i: usize, j: usize| {
            let ix = [b.scalar(i as i64)?, b.scalar(j as i64)?];
            b.index(moved, &ix)
        };
        if n == 1 {
            return at(self, 0, 0);
        }
        // The two rows at the bottom, without a column.
        let minor = |b: &mut Builder, top: usize, p: usize, q: usize| {
            let (x, y) = (at(b, top, p)?, at(b, top + 1, q)?);
            let (z, w) = (at(b, top, q)?, at(b, top + 1, p)?);
            let (xy, zw) = (b.op(Op::Mul, &[x, y])?, b.op(Op::Mul, &[z, w])?);
            b.op(Op::Sub, &[xy, zw])
        };
        if n == 2 {
            return minor(self, 0, 0, 1);
        }
        let mut sum = None;
        for (j, (p, q)) in [(1, 2), (2, 0), (0, 1)].into_iter().enumerate() {
            let (x, m) = (at(self, 0, j)?, minor(self, 1, p, q)?);
            let term = self.op(Op::Mul, &[x, m])?;
            sum = Some(match sum {
                Some(sum) => self.op(Op::Add, &[sum, term])?,
                None => term,
            });
        }
        sum.ok_or_else(|| Error::internal("a determinant of nothing"))
    }

    /// The signs of determinants, and the logarithms of their absolute values.
    pub fn slogdet(&mut self, a: TermId) -> Result<(TermId, TermId)> {
        let (batch, _) = self.square("slogdet", a)?;
        let factors = self.routine(Routine::LuFactors, &[a])?;
        let rows = self.routine(Routine::LuRows, &[a])?;
        let diagonal = self.matrix_diagonal(factors)?;
        let signs = self.op(Op::Sign, &[diagonal])?;
        let signs = self.product_of_last(signs)?;
        let sign = self.permutation_sign(rows, self.dtype(a))?;
        let sign = self.op(Op::Mul, &[sign, signs])?;
        let sizes = self.op(Op::Abs, &[diagonal])?;
        let logs = self.op(Op::Log, &[sizes])?;
        let perm: Vec<usize> = [batch.len()].into_iter().chain(0..batch.len()).collect();
        let logs = self.permute(logs, &perm)?;
        let log = self.sum_outer(logs)?;
        Ok((sign, log))
    }
}

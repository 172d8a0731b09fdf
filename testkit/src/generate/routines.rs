//! Numerical routines: factors, and solutions of systems.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Result, Routine, TermId, Type};

use super::{Generator, array_type};

/// The largest matrices: up to there every implementation does the same operations in one order.
const MOST_ROWS: usize = 12;

/// What is added to the diagonals of most matrices, so that few are singular, and few products of the
/// field are 0 by chance.
const DIAGONAL: f64 = 19.0;

impl Generator<'_> {
    /// Whether a routine gives an array of a type.
    pub(super) fn routine_fits(&self, ty: &Type) -> bool {
        let rows = match (ty.dtype, ty.shape.dims()) {
            (Dtype::I64, [.., n]) if !self.config.smooth => *n,
            (Dtype::F64 | Dtype::F32, [.., n, _]) => *n,
            (Dtype::F64 | Dtype::F32, [n]) if self.has_spectra() => *n,
            _ => return false,
        };
        let batch = ty.shape.numel().checked_div(rows).unwrap_or(0);
        rows <= MOST_ROWS && batch * rows * rows <= 4 * self.config.max_elements
    }

    /// Whether a type is that of Fourier transforms, which round in an order of their own: only where
    /// programs are run in the field.
    fn is_transform(&self, ty: &Type) -> bool {
        !self.config.roots && matches!(ty.shape.dims(), [.., 2, _])
    }

    fn has_spectra(&self) -> bool {
        self.config.spectra && self.config.roots
    }

    /// A routine whose result has a type.
    pub(super) fn routine(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        if ty.dtype == Dtype::I64 {
            let dims = ty.shape.dims();
            let n = dims.last().copied().unwrap_or(0);
            let dtype = if self.rng.chance(70) { Dtype::F64 } else { Dtype::F32 };
            let matrix = self.matrix(&array_type(dtype, dims, &[n])?, size)?;
            return self.b.routine(Routine::LuRows, &[matrix]);
        }
        // The pseudoinverse of a type of many columns would be that of a matrix of many rows.
        let wide = matches!(ty.shape.dims(), [.., _, k] if *k > MOST_ROWS);
        if self.has_spectra() && !wide && (ty.shape.rank() == 1 || self.rng.chance(30)) {
            return self.spectral(ty, size);
        }
        let (batch, n, columns) = match ty.shape.dims() {
            [batch @ .., n, columns] => (batch, *n, *columns),
            _ => return self.leaf(ty),
        };
        if self.is_transform(ty) && self.rng.chance(60) {
            let operand = self.term(ty, size)?;
            let routine = if self.rng.chance(50) { Routine::Dft } else { Routine::DftConjugate };
            return self.b.routine(routine, &[operand]);
        }
        let square = array_type(ty.dtype, batch, &[n, n])?;
        if n == columns && self.rng.chance(50) {
            let matrix = self.matrix(&square, size)?;
            let root = self.config.roots && self.rng.chance(50);
            match (root, self.config.smooth) {
                (true, _) => return self.b.routine(Routine::Cholesky, &[matrix]),
                (false, false) => return self.b.routine(Routine::LuFactors, &[matrix]),
                (false, true) => {}
            }
        }
        let matrix = self.matrix(&square, size / 2)?;
        let right = self.term(ty, size / 2)?;
        let triangles = [
            Routine::SolveLower,
            Routine::SolveUpper,
            Routine::SolveUnitLower,
            Routine::SolveUnitUpper,
        ];
        if self.rng.chance(60) {
            let routine = *self.rng.pick(&triangles);
            return self.b.routine(routine, &[matrix, right]);
        }
        // The factors are those of the matrix: that is what the derivative assumes.
        let factors = self.b.routine(Routine::LuFactors, &[matrix])?;
        let rows = self.b.routine(Routine::LuRows, &[matrix])?;
        let routine =
            if self.rng.chance(50) { Routine::LuSolve } else { Routine::LuSolveTransposed };
        self.b.routine(routine, &[matrix, factors, rows, right])
    }

    /// Orthogonal factors, eigenvalues, singular values or a pseudoinverse of a type.
    fn spectral(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let dims = ty.shape.dims().to_vec();
        if let [batch @ .., k] = &dims[..]
            && (dims.len() == 1 || *k <= MOST_ROWS && self.rng.chance(30))
        {
            let symmetric = self.rng.chance(50);
            let rows = if symmetric { *k } else { k + 1 };
            let matrix = self.separate(&array_type(ty.dtype, batch, &[rows, *k])?, size)?;
            let routine = if symmetric { Routine::EighValues } else { Routine::SvdValues };
            return self.b.routine(routine, &[matrix]);
        }
        let [batch @ .., n, k] = &dims[..] else { return self.leaf(ty) };
        let tall = [Routine::QrQ, Routine::SvdLeft];
        let square =
            [Routine::QrQ, Routine::QrR, Routine::EighVectors, Routine::SvdLeft, Routine::SvdRight];
        if n >= k && self.rng.chance(80) {
            let matrix = self.separate(ty, size)?;
            let routine = *self.rng.pick(if n == k { &square[..] } else { &tall[..] });
            return self.b.routine(routine, &[matrix]);
        }
        let (rows, columns) = (*(n.max(k)), *(n.min(k)));
        let matrix = self.separate(&array_type(ty.dtype, batch, &[rows, columns])?, size)?;
        // The factors are those of the matrix.
        let [u, s, v] = [Routine::SvdLeft, Routine::SvdValues, Routine::SvdRight]
            .map(|part| self.b.routine(part, &[matrix]));
        let made = self.b.routine(Routine::Pseudoinverse, &[matrix, u?, s?, v?])?;
        let whole = self.b.shape(made).dims() == &dims[..];
        if whole { Ok(made) } else { self.b.matrix_transpose("pinv", made) }
    }

    /// Matrices with at least as many rows as columns, most of them with values far apart.
    fn separate(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let matrix = self.term(ty, size)?;
        if !self.config.smooth && self.rng.chance(40) {
            return Ok(matrix);
        }
        let dims = ty.shape.dims();
        let (n, k) = (dims[dims.len() - 2], dims[dims.len() - 1]);
        let diagonal = self.b.compare_indices(Op::Eq, n, k)?;
        let numbers = self.b.iota(k)?;
        let one = self.b.scalar(1i64)?;
        let one = self.b.broadcast_to(one, &[k])?;
        let numbers = self.b.op(Op::Add, &[numbers, one])?;
        let to = if ty.dtype == Dtype::F32 { Op::ToF32 } else { Op::ToF64 };
        let (diagonal, numbers) = (self.b.op(to, &[diagonal])?, self.b.op(to, &[numbers])?);
        let numbers = self.b.broadcast_to(numbers, dims)?;
        let diagonal = self.b.broadcast_to(diagonal, dims)?;
        let large = match ty.dtype {
            Dtype::F32 => self.b.scalar(DIAGONAL as f32)?,
            _ => self.b.scalar(DIAGONAL)?,
        };
        let large = self.b.broadcast_to(large, dims)?;
        let diagonal = self.b.op(Op::Mul, &[diagonal, large])?;
        let diagonal = self.b.op(Op::Mul, &[diagonal, numbers])?;
        self.b.op(Op::Add, &[matrix, diagonal])
    }

    /// Square matrices, most of them with large diagonals.
    fn matrix(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let matrix = self.term(ty, size)?;
        let careful = self.config.smooth || !self.config.roots;
        if !careful && self.rng.chance(20) {
            return Ok(matrix);
        }
        let dims = ty.shape.dims();
        let (n, batch) = (dims[dims.len() - 1], &dims[..dims.len() - 2]);
        let identity = self.b.identity(ty.dtype, batch, n)?;
        let large = match ty.dtype {
            Dtype::F32 => self.b.scalar(DIAGONAL as f32)?,
            _ => self.b.scalar(DIAGONAL)?,
        };
        let large = self.b.broadcast_to(large, dims)?;
        let diagonal = self.b.op(Op::Mul, &[identity, large])?;
        self.b.op(Op::Add, &[matrix, diagonal])
    }
}

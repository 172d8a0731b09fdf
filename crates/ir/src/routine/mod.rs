//! Numerical routines: functions of matrices that are one former, [`crate::Node::Routine`].
//!
//! A routine is a function of small arrays, its *cells*: matrices, vectors. Axes before those of the
//! cells are a batch, the same for all operands, and the routine is applied to each of its elements.
//! A `build` around a routine is therefore nothing but a longer batch. A factorisation with several
//! results is several routines of the same operand, each with one result; whoever runs them makes all
//! that are needed at once. [`Routine::row`] is the table.

mod book;
mod jacobi;
mod orthogonal;

use cotan_array::{Dtype, Shape};

use crate::error::{Error, Result};
use crate::term::Type;

pub use book::{CellValue, root_of_unity};

/// A numerical routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Routine {
    /// The lower triangular `L` with `L L^T = A`, of the lower triangle of `A`.
    Cholesky,
    /// `L^-1 B`, of the lower triangle of `L`.
    SolveLower,
    /// `U^-1 B`, of the upper triangle of `U`.
    SolveUpper,
    /// `L^-1 B`, of what is below the diagonal of `L`; on the diagonal are ones.
    SolveUnitLower,
    /// `U^-1 B`, of what is above the diagonal of `U`; on the diagonal are ones.
    SolveUnitUpper,
    /// `L - I + U`, where `P A = L U`: `L` is lower triangular with ones on the diagonal, `U` is upper
    /// triangular, and the rows are exchanged so that each pivot is the largest that is left in its
    /// column, the first of equals.
    LuFactors,
    /// `p`, where row `i` of `P A` is row `p[i]` of `A`.
    LuRows,
    /// `A^-1 B`, of `A`, its factors, its rows, and `B`. `A` is there for the derivative.
    LuSolve,
    /// `A^-T B`, likewise.
    LuSolveTransposed,
    /// The discrete Fourier transform `sum_j z[j] exp(-2 pi i j k / n)` of complex numbers: their real
    /// parts are the first row of a cell, their imaginary parts the second.
    Dft,
    /// `sum_j z[j] exp(2 pi i j k / n)`, its transpose and, but for a factor `n`, its inverse.
    DftConjugate,
    /// `Q` of `A = Q R`, of `A` with at least as many rows as columns: the columns of `Q` are
    /// orthonormal, `R` is upper triangular, and its diagonal is not negative.
    QrQ,
    /// `R` of the same.
    QrR,
    /// The eigenvalues, in ascending order, of the symmetric matrix with the lower triangle of `A`.
    EighValues,
    /// Their eigenvectors, the columns of an orthogonal matrix. Of each, the first of the elements
    /// that are nearly the largest in absolute value ([`NEARLY`]) is positive.
    EighVectors,
    /// `U` of `A = U S V^T`, of `A` with at least as many rows as columns: the columns of `U` are
    /// orthonormal, as many as those of `A`, `S` is diagonal and `V` orthogonal.
    SvdLeft,
    /// The diagonal of `S`, the singular values, in descending order.
    SvdValues,
    /// `V`, with the signs of eigenvectors.
    SvdRight,
    /// The pseudoinverse of `A`, of `A` and its three factors: `V S^+ U^T`, in which the singular
    /// values that count as 0 have the inverse 0. `A` is there for the derivative.
    Pseudoinverse,
}

/// Elements of an eigenvector of at least this part of the largest are nearly as large. The first of
/// these has the sign: the first of the largest would be another one after rounding where several are
/// equal, as they often are.
pub const NEARLY: f64 = 0.9;

/// What counts as 0 of singular values: up to the larger number of rows and columns times the
/// precision of the floats times the largest.
pub fn negligible(dtype: Dtype, rows: usize, columns: usize) -> f64 {
    let unit = if dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    unit * rows.max(columns) as f64
}

/// The cells of an operand or of the result: a letter or a digit for each axis, and whether it holds
/// integers. Equal letters are equal sizes; a digit is a size itself.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// A letter or a digit for each axis.
    pub axes: &'static str,
    /// Whether it is an array of `i64`; otherwise it is of floats, the same for all.
    pub integers: bool,
}

/// What there is to know of a routine, but for its meaning and its derivative.
#[derive(Clone, Copy, Debug)]
pub struct RoutineRow {
    /// How programs write it.
    pub name: &'static str,
    /// The operands.
    pub operands: &'static [Cell],
    /// The result.
    pub result: Cell,
    /// Whether it is linear in its last operand, the others being constant.
    pub linear: bool,
    /// What it computes, in a line.
    pub doc: &'static str,
    /// The signature that people read.
    pub signature: &'static str,
    /// An expression that uses it.
    pub example: &'static str,
}

const fn floats(axes: &'static str) -> Cell {
    Cell { axes, integers: false }
}

const fn integers(axes: &'static str) -> Cell {
    Cell { axes, integers: true }
}

const SQUARE: Cell = floats("nn");
const SYSTEM: &[Cell] = &[SQUARE, floats("nk")];
const COMPLEX: Cell = floats("2n");
const FACTORED: &[Cell] = &[SQUARE, SQUARE, integers("n"), floats("nk")];
const TALL: Cell = floats("nk");
const BY_SVD: &[Cell] = &[TALL, TALL, floats("k"), floats("kk")];

macro_rules! rows {
    ($($routine:ident = $linear:literal $signature:literal: $operands:expr => $result:expr;
       $doc:literal, $example:literal)*) => {
        impl Routine {
            /// All routines.
            pub const ALL: &'static [Routine] = &[$(Routine::$routine),*];

            /// Its row of the table.
            pub fn row(self) -> &'static RoutineRow {
                match self {
                    $(Routine::$routine => {
                        const ROW: RoutineRow = RoutineRow {
                            name: before_parenthesis($signature),
                            operands: $operands,
                            result: $result,
                            linear: $linear,
                            doc: $doc,
                            signature: $signature,
                            example: $example,
                        };
                        &ROW
                    })*
                }
            }
        }
    };
}

/// The name in a signature.
const fn before_parenthesis(signature: &'static str) -> &'static str {
    let mut at = 0;
    while signature.as_bytes()[at] != b'(' {
        at += 1;
    }
    signature.split_at(at).0
}

rows! {
    Cholesky = false "cholesky(a)": &[SQUARE] => SQUARE;
        "The lower triangular `l` with `l` times its transpose equal to `a`, for matrices on the last two axes; only the lower triangle of `a` is read. The triangle is nan where `a` is not positive definite.",
        "cholesky([[4.0, 2.0], [2.0, 10.0]])"
    SolveLower = true "solve_lower(l, b)": SYSTEM => floats("nk");
        "The solutions of `l x = b` for matrices on the last two axes, of the lower triangle of `l`.",
        "solve_lower([[2.0, 9.0], [1.0, 4.0]], [[2.0], [9.0]])"
    SolveUpper = true "solve_upper(u, b)": SYSTEM => floats("nk");
        "The solutions of `u x = b`, of the upper triangle of `u`.",
        "solve_upper([[4.0, 1.0], [9.0, 2.0]], [[9.0], [2.0]])"
    SolveUnitLower = true "solve_unit_lower(l, b)": SYSTEM => floats("nk");
        "The solutions of `l x = b`, of what is below the diagonal of `l`; the diagonal is taken as ones.",
        "solve_unit_lower([[9.0, 9.0], [1.0, 9.0]], [[2.0], [9.0]])"
    SolveUnitUpper = true "solve_unit_upper(u, b)": SYSTEM => floats("nk");
        "The solutions of `u x = b`, of what is above the diagonal of `u`; the diagonal is taken as ones.",
        "solve_unit_upper([[9.0, 1.0], [9.0, 9.0]], [[9.0], [2.0]])"
    LuFactors = false "lu_factors(a)": &[SQUARE] => SQUARE;
        "The factors of `a` with its rows exchanged: below the diagonal those of a lower triangular matrix with ones on its diagonal, the rest is an upper triangular matrix.",
        "lu_factors([[1.0, 4.0], [2.0, 6.0]])"
    LuRows = false "lu_rows(a)": &[SQUARE] => integers("n");
        "The order of the rows of `a` in which it has the factors.",
        "lu_rows([[1.0, 4.0], [2.0, 6.0]])"
    LuSolve = true "lu_solve(a, factors, rows, b)": FACTORED => floats("nk");
        "The solutions of `a x = b` by the factors of `a`, for matrices on the last two axes.",
        "lu_solve([[0.0, 2.0], [4.0, 0.0]], [[4.0, 0.0], [0.0, 2.0]], [1, 0], [[2.0], [12.0]])"
    LuSolveTransposed = true "lu_solve_transposed(a, factors, rows, b)": FACTORED => floats("nk");
        "The solutions of `transpose(a) x = b` by the factors of `a`.",
        "lu_solve_transposed([[0.0, 2.0], [4.0, 0.0]], [[4.0, 0.0], [0.0, 2.0]], [1, 0], [[2.0], [12.0]])"
    Dft = true "dft(z)": &[COMPLEX] => COMPLEX;
        "The discrete Fourier transform of complex numbers along the last axis, the real parts in the first row of the axis before it, the imaginary parts in the second. `fft` is the function for people.",
        "dft([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])"
    DftConjugate = true "dft_conjugate(z)": &[COMPLEX] => COMPLEX;
        "The same with the conjugate roots of unity: the transpose of `dft` and `n` times its inverse.",
        "dft_conjugate([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])"
    QrQ = false "qr_q(a)": &[TALL] => TALL;
        "`q` of `a = q r`, for matrices with at least as many rows as columns on the last two axes: the columns of `q` are orthonormal, `r` is upper triangular and its diagonal not negative.",
        "qr_q([[2.0, 1.0], [0.0, 3.0]])"
    QrR = false "qr_r(a)": &[TALL] => floats("kk");
        "`r` of `a = q r`.",
        "qr_r([[2.0, 1.0], [0.0, 3.0]])"
    EighValues = false "eigh_values(a)": &[SQUARE] => floats("n");
        "The eigenvalues of the symmetric matrices with the lower triangles of those on the last two axes, in ascending order; nan where an element that is read is not finite.",
        "eigh_values([[2.0, 0.0], [0.0, 1.0]])"
    EighVectors = false "eigh_vectors(a)": &[SQUARE] => SQUARE;
        "The eigenvectors that belong to them, as columns of length 1; of each, the first of the elements that have at least 9/10 of the largest absolute value is positive.",
        "eigh_vectors([[2.0, 0.0], [0.0, 1.0]])"
    SvdLeft = false "svd_left(a)": &[TALL] => TALL;
        "`u` of `a = u s transpose(v)`, for matrices with at least as many rows as columns on the last two axes: columns are orthonormal.",
        "svd_left([[3.0, 0.0], [0.0, 4.0]])"
    SvdValues = false "svd_values(a)": &[TALL] => floats("k");
        "The singular values, the diagonal of `s`, in descending order; nan where an element is not finite.",
        "svd_values([[3.0, 0.0], [0.0, 4.0]])"
    SvdRight = false "svd_right(a)": &[TALL] => floats("kk");
        "`v`, an orthogonal matrix; its columns have the signs of eigenvectors.",
        "svd_right([[3.0, 0.0], [0.0, 4.0]])"
    Pseudoinverse = false "pinv_by(a, u, s, v)": BY_SVD => floats("kn");
        "The pseudoinverse of `a` by its singular values and vectors; values up to the number of rows times the precision times the largest count as 0.",
        "pinv_by([[3.0, 0.0], [0.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]], [4.0, 3.0], [[0.0, 1.0], [1.0, 0.0]])"
}

impl Routine {
    /// How programs write it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The routine with a name.
    pub fn from_name(name: &str) -> Option<Routine> {
        Routine::ALL.iter().copied().find(|routine| routine.name() == name)
    }

    /// How many axes the cells of an operand have.
    pub fn cell_rank(self, operand: usize) -> usize {
        self.row().operands.get(operand).map_or(0, |cell| cell.axes.len())
    }

    /// How many axes the cells of the result have.
    pub fn result_rank(self) -> usize {
        self.row().result.axes.len()
    }

    /// Whether its first operand has at least as many rows as columns.
    fn is_tall(self) -> bool {
        self.row().operands.first().is_some_and(|cell| cell.axes == TALL.axes)
    }

    /// The routine that is the transpose of this one as a function of the last operand, if it is
    /// linear in it, and whether the first operand is transposed for it.
    pub fn transposed(self) -> Option<(Routine, bool)> {
        Some(match self {
            Routine::SolveLower => (Routine::SolveUpper, true),
            Routine::SolveUpper => (Routine::SolveLower, true),
            Routine::SolveUnitLower => (Routine::SolveUnitUpper, true),
            Routine::SolveUnitUpper => (Routine::SolveUnitLower, true),
            Routine::LuSolve => (Routine::LuSolveTransposed, false),
            Routine::LuSolveTransposed => (Routine::LuSolve, false),
            Routine::Dft => (Routine::DftConjugate, false),
            Routine::DftConjugate => (Routine::Dft, false),
            Routine::Cholesky | Routine::LuFactors | Routine::LuRows => return None,
            Routine::QrQ | Routine::QrR | Routine::EighValues | Routine::EighVectors => {
                return None;
            }
            Routine::SvdLeft | Routine::SvdValues | Routine::SvdRight => return None,
            Routine::Pseudoinverse => return None,
        })
    }

    /// About how many additions and multiplications it takes for all elements of the batch, of operands
    /// of these types.
    pub fn work(self, operands: &[&Type]) -> usize {
        let size = |operand: usize, from_last: usize| {
            let dims = operands.get(operand).map_or(&[][..], |ty| ty.shape.dims());
            dims.len().checked_sub(1 + from_last).map_or(0, |axis| dims[axis])
        };
        let n = size(0, 0);
        let square = n.saturating_mul(n);
        let tall = square.saturating_mul(size(0, 1));
        let batch = operands.first().map_or(&[][..], |ty| ty.shape.dims());
        let batch = batch.iter().rev().skip(self.cell_rank(0)).product::<usize>();
        let each = match self {
            Routine::Cholesky => square.saturating_mul(n) / 3,
            Routine::LuFactors | Routine::LuRows => {
                (square.saturating_mul(n) / 3).saturating_mul(2)
            }
            Routine::SolveLower
            | Routine::SolveUpper
            | Routine::SolveUnitLower
            | Routine::SolveUnitUpper => square.saturating_mul(size(1, 0)),
            Routine::LuSolve | Routine::LuSolveTransposed => {
                square.saturating_mul(size(3, 0)).saturating_mul(2)
            }
            Routine::Dft | Routine::DftConjugate => {
                let steps = usize::BITS - n.leading_zeros();
                n.saturating_mul(5).saturating_mul(steps as usize)
            }
            Routine::QrQ | Routine::QrR => tall.saturating_mul(4),
            Routine::EighValues | Routine::EighVectors => tall.saturating_mul(9),
            Routine::SvdLeft | Routine::SvdValues | Routine::SvdRight => tall.saturating_mul(20),
            Routine::Pseudoinverse => tall,
        };
        each.saturating_mul(batch)
    }

    /// The type of its result at operands of these types.
    pub fn result_type(self, operands: &[&Type]) -> Result<Type> {
        let row = self.row();
        let listed = || {
            let types: Vec<String> = operands.iter().map(|ty| ty.to_string()).collect();
            types.join(" and ")
        };
        let wrong = |what: &str| {
            let hint = format!(
                "it is `{}`, of {}; axes before these are the same for all",
                row.signature,
                row.cells_in_words()
            );
            Error::type_error(row.name, format!("{what}: {}", listed())).with_hint(hint)
        };
        if operands.len() != row.operands.len() {
            return Err(wrong("another number of operands is needed"));
        }
        let mut sizes: [Option<usize>; 26] = [None; 26];
        let mut batch: Option<&[usize]> = None;
        let mut dtype = None;
        for (ty, cell) in operands.iter().zip(row.operands) {
            let fits = match cell.integers {
                true => ty.dtype == Dtype::I64,
                false => ty.dtype.is_float() && *dtype.get_or_insert(ty.dtype) == ty.dtype,
            };
            if !fits {
                return Err(wrong("the elements must be floats of one type, and rows i64"));
            }
            let Some(split) = ty.shape.rank().checked_sub(cell.axes.len()) else {
                return Err(wrong("there are too few axes"));
            };
            let (outer, inner) = ty.shape.dims().split_at(split);
            if *batch.get_or_insert(outer) != outer {
                return Err(wrong("the leading axes differ"));
            }
            for (letter, &size) in cell.axes.bytes().zip(inner) {
                if letter.is_ascii_digit() {
                    if size != usize::from(letter - b'0') {
                        return Err(wrong("an axis has another size"));
                    }
                    continue;
                }
                let known = &mut sizes[usize::from(letter - b'a')];
                if *known.get_or_insert(size) != size {
                    let square = cell.axes.len() == 2 && operands.len() == 1;
                    return Err(wrong(if square {
                        "a square matrix is needed"
                    } else {
                        "the sizes do not fit"
                    }));
                }
            }
        }
        let size = |letter: u8| match letter.is_ascii_digit() {
            true => usize::from(letter - b'0'),
            false => sizes[usize::from(letter - b'a')].unwrap_or(0),
        };
        if self.is_tall() && size(b'n') < size(b'k') {
            return Err(wrong("at least as many rows as columns are needed"));
        }
        let inner = row.result.axes.bytes().map(size);
        let dims: Vec<usize> = batch.unwrap_or_default().iter().copied().chain(inner).collect();
        let dtype = if row.result.integers { Dtype::I64 } else { dtype.unwrap_or(Dtype::F64) };
        Ok(Type::new(dtype, Shape::new(row.name, &dims)?))
    }
}

impl RoutineRow {
    /// `[n, n] and [n, k]`
    fn cells_in_words(&self) -> String {
        let cell = |cell: &Cell| {
            let axes: Vec<String> = cell.axes.chars().map(String::from).collect();
            format!("[{}]", axes.join(", "))
        };
        let cells: Vec<String> = self.operands.iter().map(cell).collect();
        cells.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole() {
        for &routine in Routine::ALL {
            let row = routine.row();
            assert_eq!(Routine::from_name(row.name), Some(routine));
            assert!(row.doc.ends_with('.'), "{}", row.doc);
            assert_eq!(row.linear, routine.transposed().is_some(), "{}", row.name);
            let params = row.signature.matches(',').count() + 1;
            assert_eq!(params, row.operands.len(), "{}", row.signature);
        }
    }

    #[test]
    fn the_transpose_of_a_transpose_is_the_routine() {
        for &routine in Routine::ALL {
            if let Some((other, turned)) = routine.transposed() {
                assert_eq!(other.transposed(), Some((routine, turned)));
            }
        }
    }
}

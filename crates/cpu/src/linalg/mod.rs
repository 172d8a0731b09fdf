//! Numerical routines: blocked, so that most of the work is products of matrices, which are those of
//! the contractions (`contract/`). Matrices are divided in halves down to blocks that stay in the
//! first cache.
//!
//! Which operations are done in which order depends on the shapes and on the instruction set, on
//! nothing else.

mod cholesky;
mod divide;
mod eigen;
mod lu;
mod matrix;
mod product;
mod reflect;
mod room;
mod secular;
mod singular;
mod small;
#[cfg(test)]
mod tests;
mod triangular;
mod tridiagonal;

use cotan_array::Dtype;
use cotan_ir::Routine;
use cotan_nest::{Cells, RoutineStep};

use matrix::{Matrix, Number, copy};
use product::Products;
use triangular::{Triangle, solve};

/// A limit of the run was reached.
pub(crate) struct Stopped;

type Ran = Result<(), Stopped>;

/// Where the arrays of a step begin, in the order of the step.
pub(crate) struct RoutinePointers {
    pub(crate) operands: Vec<*mut u8>,
    pub(crate) results: Vec<*mut u8>,
    pub(crate) room: *mut u8,
}

/// Runs a step; gives `false` when `go_on`, which is told how much is about to be done, says no.
///
/// # Safety
/// The places have the elements that the step speaks of.
pub(crate) unsafe fn run(
    step: &RoutineStep,
    places: &RoutinePointers,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    // SAFETY: by the contract.
    let done = unsafe {
        match step.dtype {
            Dtype::F32 => all::<f32>(step, places, go_on),
            _ => all::<f64>(step, places, go_on),
        }
    };
    done.is_ok()
}

/// Runs it for each element of the batch.
///
/// # Safety
/// As [`run`]; the floats are of this type.
unsafe fn all<E: Number>(
    step: &RoutineStep,
    places: &RoutinePointers,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Ran {
    let (n, columns) = (step.rows, step.columns);
    let count: usize = step.batch.iter().product();
    if n == 0 || columns == 0 {
        return Ok(());
    }
    // SAFETY: the packed operands come first in the room, and the rest has the elements for the
    // routine.
    let (mut products, room) = unsafe { Products::<E>::new(places.room, n, columns.max(n), go_on) };
    let mut at: Vec<usize> = vec![0; step.batch.len()];
    for k in 0..count {
        let operand = |which: usize| {
            let (cells, start) = (&step.operands[which], places.operands[which]);
            let offset = at.iter().zip(&cells.batch).map(|(i, stride)| i * stride).sum::<usize>();
            (cells, start, offset)
        };
        let matrix = |which: usize| {
            let (cells, start, offset) = operand(which);
            matrix_of(cells, start.cast::<E>().wrapping_add(offset))
        };
        let other = |which: usize, size: usize| {
            places.results.get(which).map(|start| start.cast::<E>().wrapping_add(k * size))
        };
        let to_result =
            |which: usize, size: usize| other(which, size).unwrap_or(std::ptr::null_mut());
        let result = |size: usize| to_result(0, size);
        // SAFETY: the cells of the operands and results at this element of the batch.
        unsafe {
            match step.routine {
                Routine::Cholesky => {
                    let to = Matrix::dense(result(n * n), n);
                    cholesky::cholesky(&mut products, matrix(0), to, n)?;
                }
                Routine::LuFactors | Routine::LuRows => {
                    let to = Matrix::dense(result(n * n), n);
                    copy(&mut products, matrix(0), to, n, n)?;
                    let rows = places.results[1].cast::<i64>().add(k * n);
                    lu::factorise(&mut products, to, n, rows, room)?;
                }
                Routine::LuSolve | Routine::LuSolveTransposed => {
                    let (rows, start, offset) = operand(1);
                    let rows = (start.cast::<i64>().wrapping_add(offset).cast_const(), rows.row);
                    let to = Matrix::dense(result(n * columns), columns);
                    let turned = step.routine == Routine::LuSolveTransposed;
                    let system = lu::System { factors: matrix(0), rows, n, columns };
                    system.solve(&mut products, turned, matrix(2), to, room)?;
                }
                Routine::QrQ | Routine::QrR => {
                    let to = reflect::Factors {
                        r: to_result(0, columns * columns),
                        q: other(1, n * columns),
                    };
                    reflect::factorise(&mut products, matrix(0), (n, columns), &to, room)?;
                }
                Routine::EighValues | Routine::EighVectors => {
                    let vectors = other(1, n * n);
                    eigen::eigen(&mut products, matrix(0), n, to_result(0, n), vectors, room)?;
                }
                Routine::SvdLeft | Routine::SvdValues | Routine::SvdRight => {
                    let vectors = other(1, n * columns).zip(other(2, columns * columns));
                    let to = singular::Results { values: to_result(0, columns), vectors };
                    singular::singular(&mut products, matrix(0), (n, columns), &to, room)?;
                }
                Routine::Pseudoinverse => {
                    let factors = (matrix(0), matrix(1), matrix(2));
                    let to = to_result(0, columns * n);
                    singular::pseudoinverse(&mut products, factors, (n, columns), to, room)?;
                }
                Routine::SolveLower
                | Routine::SolveUpper
                | Routine::SolveUnitLower
                | Routine::SolveUnitUpper => {
                    let lower =
                        matches!(step.routine, Routine::SolveLower | Routine::SolveUnitLower);
                    let unit =
                        matches!(step.routine, Routine::SolveUnitLower | Routine::SolveUnitUpper);
                    let to = Matrix::dense(result(n * columns), columns);
                    copy(&mut products, matrix(1), to, n, columns)?;
                    let triangle = Triangle { matrix: matrix(0), n, lower, unit };
                    solve(&mut products, triangle, to, columns, room)?;
                }
                // They are run by `transform`.
                Routine::Dft | Routine::DftConjugate => return Ok(()),
            }
        }
        for (i, &size) in at.iter_mut().zip(&step.batch).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}

fn matrix_of<E>(cells: &Cells, start: *mut E) -> Matrix<E> {
    Matrix { start, row: cells.row, column: cells.column }
}

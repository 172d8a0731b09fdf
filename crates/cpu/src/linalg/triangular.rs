//! Triangular systems.

use super::matrix::{Matrix, Number, TriangularBlock};
use super::product::Products;
use super::{Ran, Stopped};

/// Triangles of so many rows are solved one row after the other.
const BLOCK: usize = 32;

/// With so few right sides, each is a vector.
const FEW: usize = 4;

/// A triangle of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Triangle<E> {
    pub(super) matrix: Matrix<E>,
    pub(super) n: usize,
    pub(super) lower: bool,
    /// Whether its diagonal counts as ones.
    pub(super) unit: bool,
}

/// The right sides in `x` become the solutions; those that are all zeros stay.
///
/// # Safety
/// The matrices have these elements and are apart; the rows of `x` are dense, and `room` is as much
/// as a vector.
pub(super) unsafe fn solve<E: Number>(
    products: &mut Products<'_, E>,
    t: Triangle<E>,
    x: Matrix<E>,
    columns: usize,
    room: *mut u8,
) -> Ran {
    // SAFETY: by the contract.
    unsafe {
        if columns < FEW && t.n > BLOCK {
            for j in 0..columns {
                vector(products, t, x.from(0, j), room.cast())?;
            }
            return Ok(());
        }
        let zeros = zero_columns(products, x, t.n, columns)?;
        halves(products, t, x, columns)?;
        for j in zeros {
            (0..t.n).for_each(|i| x.set(i, j, E::ZERO));
        }
    }
    Ok(())
}

/// The columns that hold nothing but zeros.
///
/// # Safety
/// The matrix has these elements.
unsafe fn zero_columns<E: Number>(
    products: &mut Products<'_, E>,
    x: Matrix<E>,
    rows: usize,
    columns: usize,
) -> Result<Vec<usize>, Stopped> {
    // SAFETY: by the contract.
    let is_zero = |i: usize, j: usize| unsafe { x.get(i, j) == E::ZERO };
    let mut left: Vec<usize> = (0..columns).collect();
    for i in 0..rows {
        products.go_on(left.len())?;
        left.retain(|&j| is_zero(i, j));
        if left.is_empty() {
            break;
        }
    }
    Ok(left)
}

/// By halves: one is solved, what it says of the other is subtracted there, and that is solved.
///
/// # Safety
/// As [`solve`].
pub(super) unsafe fn halves<E: Number>(
    products: &mut Products<'_, E>,
    t: Triangle<E>,
    x: Matrix<E>,
    columns: usize,
) -> Ran {
    // SAFETY: by the contract: parts of the matrices.
    unsafe {
        if t.n <= BLOCK {
            products.go_on(t.n * t.n * columns / 4)?;
            let block = TriangularBlock { matrix: t.matrix, n: t.n, lower: t.lower, unit: t.unit };
            E::substitute(block, x.start, x.row, columns);
            return Ok(());
        }
        let half = (t.n / 2).next_multiple_of(BLOCK);
        let rest = t.n - half;
        let first = Triangle { n: half, ..t };
        let second = Triangle { matrix: t.matrix.from(half, half), n: rest, ..t };
        let below = x.from(half, 0);
        if t.lower {
            halves(products, first, x, columns)?;
            products.subtract(below, t.matrix.from(half, 0), x, (rest, columns, half))?;
            halves(products, second, below, columns)
        } else {
            halves(products, second, below, columns)?;
            products.subtract(x, t.matrix.from(0, half), below, (half, columns, rest))?;
            halves(products, first, x, columns)
        }
    }
}

/// One right side, along the rows of the triangle or along its columns, as it lies in memory.
///
/// # Safety
/// As [`solve`].
unsafe fn vector<E: Number>(
    products: &mut Products<'_, E>,
    t: Triangle<E>,
    x: Matrix<E>,
    room: *mut E,
) -> Ran {
    let n = t.n;
    // SAFETY: by the contract.
    unsafe {
        let mut any = false;
        for i in 0..n {
            let value = x.get(i, 0);
            any |= value != E::ZERO;
            room.add(i).write(value);
        }
        if !any {
            (0..n).for_each(|i| x.set(i, 0, E::ZERO));
            return Ok(());
        }
        let divided = |i: usize, value: E| if t.unit { value } else { value / t.matrix.get(i, i) };
        for step in 0..n {
            let i = if t.lower { step } else { n - 1 - step };
            products.go_on(step)?;
            let (first, count) = if t.lower { (0, i) } else { (i + 1, n - 1 - i) };
            if t.matrix.column == 1 || t.matrix.row != 1 {
                let mut sum = E::ZERO;
                if t.matrix.column == 1 {
                    E::dot(t.matrix.at(i, first), room.add(first), count, &raw mut sum);
                } else {
                    for j in first..first + count {
                        sum = sum + t.matrix.get(i, j) * room.add(j).read();
                    }
                }
                room.add(i).write(divided(i, room.add(i).read() - sum));
            } else {
                // What is known goes into the equations that are left.
                let value = divided(i, room.add(i).read());
                room.add(i).write(value);
                let (next, count) = if t.lower { (i + 1, n - 1 - i) } else { (0, i) };
                E::subtract(room.add(next), value, t.matrix.at(next, i), count);
            }
        }
        (0..n).for_each(|i| x.set(i, 0, room.add(i).read()));
    }
    Ok(())
}

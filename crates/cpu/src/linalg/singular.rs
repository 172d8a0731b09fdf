//! Singular values and vectors: the columns of the matrix times an orthogonal matrix, rotated until
//! they are orthogonal. That matrix are the eigenvectors of `A^T A`, after which little is left to
//! rotate; how accurate the results are is up to the rotations.
//!
//! As elsewhere, columns are rows in memory.

use super::Ran;
use super::eigen::{SMALL, symmetric};
use super::matrix::{Matrix, Number, copy};
use super::product::Products;
use super::room::Rest;
use super::small::{self, SWEEPS, complete, counting, is_turned, rotation, scale_of};

/// Matrices of up to so many rows, if they have few columns, are rotated as in the schoolbook.
const SMALL_ROWS: usize = 32;

/// Where the results go: the values, and both factors or none.
pub(super) struct Results<E> {
    pub(super) values: *mut E,
    pub(super) vectors: Option<(*mut E, *mut E)>,
}

/// # Safety
/// The matrices have these elements and are apart; there are at least as many rows as columns.
pub(super) unsafe fn singular<E: Number>(
    products: &mut Products<'_, E>,
    from: Matrix<E>,
    (n, k): (usize, usize),
    to: &Results<E>,
    room: *mut u8,
) -> Ran {
    let mut rest = Rest::new(room);
    // SAFETY: by the contract.
    unsafe {
        let filled = |to: *mut E, count: usize, x: E| {
            (0..count).for_each(|i| to.add(i).write(x));
            std::slice::from_raw_parts_mut(to, count)
        };
        if k <= SMALL && n <= SMALL_ROWS {
            products.go_on(16 * n * k * k)?;
            let u = rest.filled(n * k, E::ZERO);
            for i in 0..n {
                (0..k).for_each(|j| u[i * k + j] = from.get(i, j));
            }
            let v = rest.filled(k * k, E::ZERO);
            let values = filled(to.values, k, E::ZERO);
            let vectors = to
                .vectors
                .map(|(left, right)| (filled(left, n * k, E::ZERO), filled(right, k * k, E::ZERO)));
            small::singular(u, k, v, small::Singular { values, vectors });
            return Ok(());
        }
        let u = Matrix::dense(rest.take::<E>(n * k), n);
        let a = Matrix::dense(rest.take::<E>(n * k), n);
        let v = Matrix::dense(rest.take::<E>(k * k), k);
        copy(products, from.transposed(), a, k, n)?;
        let elements = || (0..n * k).map(|i| a.start.add(i).read());
        if !elements().all(|x| x.is_finite()) {
            filled(to.values, k, E::NAN);
            if let Some((left, right)) = to.vectors {
                filled(left, n * k, E::NAN);
                filled(right, k * k, E::NAN);
            }
            return Ok(());
        }
        let scale = scale_of(elements());
        if scale != E::ONE {
            (0..n * k).for_each(|i| a.start.add(i).write(a.start.add(i).read() / scale));
        }
        prepare(products, a, u, v, (n, k), &mut rest)?;
        let norms = rotate(products, u, v, (n, k))?;
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|&i, &j| norms[j].wide().total_cmp(&norms[i].wide()));
        for (at, &j) in order.iter().enumerate() {
            to.values.add(at).write(norms[j] * scale);
        }
        let Some((left, right)) = to.vectors else { return Ok(()) };
        // In order, and with signs; the matrix is no longer needed.
        products.go_on(2 * n * k)?;
        let vectors = Matrix::dense(rest.take::<E>(k * k), k);
        for (at, &j) in order.iter().enumerate() {
            let turned = is_turned((0..k).map(|i| v.get(j, i)));
            let sign = if turned { E::ZERO - E::ONE } else { E::ONE };
            (0..k).for_each(|i| vectors.set(at, i, sign * v.get(j, i)));
            if norms[j] > E::of(E::VANISHING) {
                let factor = sign / norms[j];
                (0..n).for_each(|i| a.set(at, i, factor * u.get(j, i)));
            } else {
                let rows = std::slice::from_raw_parts_mut(a.start, n * k);
                complete(rows, n, at, |i, j| j * n + i);
            }
        }
        copy(products, vectors.transposed(), Matrix::dense(right, k), k, k)?;
        copy(products, a.transposed(), Matrix::dense(left, k), n, k)
    }
}

/// `u = v a`, where the rows of `v` are the eigenvectors of `a a^T`, that of the largest eigenvalue
/// first.
///
/// # Safety
/// As [`singular`].
unsafe fn prepare<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    u: Matrix<E>,
    v: Matrix<E>,
    (n, k): (usize, usize),
    rest: &mut Rest,
) -> Ran {
    // SAFETY: by the contract.
    unsafe {
        // The room is used again afterwards.
        let mut rest = Rest::new(rest.take::<u8>(0));
        let square = rest.filled(k * k, E::ZERO);
        // Less than 0: the largest comes first.
        let target = Matrix::dense(square.as_mut_ptr(), k);
        products.subtract(target, a, a.transposed(), (k, k, n))?;
        let d = rest.filled(k, 0.0);
        let found = symmetric(products, square, k, d, Some(v), rest)?;
        if !found {
            (0..k * k).for_each(|i| v.start.add(i).write(E::ZERO));
            (0..k).for_each(|i| v.set(i, i, E::ONE));
        }
        (0..n * k).for_each(|i| u.start.add(i).write(E::ZERO));
        products.subtract(u, v, a, (k, n, k))?;
        (0..k * k).for_each(|i| v.start.add(i).write(E::ZERO - v.start.add(i).read()));
    }
    Ok(())
}

/// Rotates rows of `u`, and those of `v` with them, until those of `u` are orthogonal; gives how long
/// they are.
///
/// # Safety
/// As [`singular`].
unsafe fn rotate<E: Number>(
    products: &mut Products<'_, E>,
    u: Matrix<E>,
    v: Matrix<E>,
    (n, k): (usize, usize),
) -> Result<Vec<E>, super::Stopped> {
    let tiny = E::of(E::UNIT * (n as f64).sqrt());
    let vanishing = E::of(E::VANISHING * E::VANISHING);
    let mut squares = vec![E::ZERO; k];
    // SAFETY: by the contract; different rows are apart.
    unsafe {
        for _ in 0..SWEEPS {
            for (i, square) in squares.iter_mut().enumerate() {
                E::dot(u.at(i, 0), u.at(i, 0), n, square);
            }
            let mut any = false;
            for p in 0..k {
                products.go_on(2 * n * (k - p))?;
                for q in p + 1..k {
                    let mut off = E::ZERO;
                    E::dot(u.at(p, 0), u.at(q, 0), n, &raw mut off);
                    let (x, y) = (squares[p], squares[q]);
                    let seen = x > vanishing && y > vanishing;
                    if !seen || off.abs() <= tiny * (x.sqrt() * y.sqrt()) {
                        continue;
                    }
                    any = true;
                    let [cos, sin, tan] = rotation(x, y, off);
                    let half = sin / (E::ONE + cos);
                    E::rotate(u.at(p, 0), u.at(q, 0), sin, half, n);
                    E::rotate(v.at(p, 0), v.at(q, 0), sin, half, k);
                    for (i, old, new) in [(p, x, x - tan * off), (q, y, y + tan * off)] {
                        squares[i] = new;
                        // What is left of much is no more than rounding.
                        if new < old * E::of(0.1) {
                            E::dot(u.at(i, 0), u.at(i, 0), n, &raw mut squares[i]);
                        }
                    }
                }
            }
            if !any {
                break;
            }
        }
        for (i, square) in squares.iter_mut().enumerate() {
            E::dot(u.at(i, 0), u.at(i, 0), n, square);
        }
    }
    Ok(squares.into_iter().map(|x| x.sqrt()).collect())
}

/// `V S^+ U^T`
///
/// # Safety
/// The matrices have these elements and are apart.
pub(super) unsafe fn pseudoinverse<E: Number>(
    products: &mut Products<'_, E>,
    (u, s, v): (Matrix<E>, Matrix<E>, Matrix<E>),
    (n, k): (usize, usize),
    to: *mut E,
    room: *mut u8,
) -> Ran {
    // SAFETY: by the contract.
    unsafe {
        let scaled = Rest::new(room).filled(k * k, E::ZERO);
        let values: Vec<E> = (0..k).map(|j| s.get(0, j)).collect();
        let values = counting(&values, n);
        let few = k <= SMALL;
        for i in 0..k {
            products.go_on(k + n)?;
            for (j, value) in values.iter().enumerate() {
                if let Some(value) = value {
                    let x = v.get(i, j) / *value;
                    // The product is taken away.
                    scaled[i * k + j] = if few { x } else { E::ZERO - x };
                }
            }
            for j in 0..n {
                let mut sum = E::ZERO;
                if few {
                    (0..k).for_each(|l| sum = sum + scaled[i * k + l] * u.get(j, l));
                }
                to.add(i * n + j).write(sum);
            }
        }
        if few {
            return Ok(());
        }
        let scaled = Matrix::dense(scaled.as_mut_ptr(), k);
        products.subtract(Matrix::dense(to, n), scaled, u.transposed(), (k, n, k))
    }
}

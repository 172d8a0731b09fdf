//! Cholesky: `A = U^T U`, the transpose of which is the result, so that all rows lie in memory one
//! after the other.

use super::Ran;
use super::matrix::{Matrix, Number, copy};
use super::product::Products;
use super::triangular::{Triangle, halves};

/// Matrices of so many rows are factorised one row after the other.
const BLOCK: usize = 32;

/// Of what is updated, so many columns at a time: above the diagonal nothing is computed that is not
/// in one of these blocks.
const STRIP: usize = 192;

/// The factor of the lower triangle of a matrix; its triangle is NaN if there is none.
///
/// # Safety
/// The matrices have these elements and are apart; the target is dense.
pub(super) unsafe fn cholesky<E: Number>(
    products: &mut Products<'_, E>,
    from: Matrix<E>,
    to: Matrix<E>,
    n: usize,
) -> Ran {
    // SAFETY: by the contract.
    unsafe {
        copy(products, from.transposed(), to, n, n)?;
        let definite = upper(products, to, n)?;
        for i in (0..n).step_by(BLOCK) {
            products.go_on(BLOCK * n)?;
            // A block and its mirror image at a time.
            for j in (i..n).step_by(BLOCK) {
                for i in i..n.min(i + BLOCK) {
                    for j in j.max(i)..n.min(j + BLOCK) {
                        let x = if definite { to.get(i, j) } else { E::NAN };
                        to.set(i, j, E::ZERO);
                        to.set(j, i, x);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The upper triangle becomes `U`. Gives whether the matrix is positive definite.
///
/// # Safety
/// The matrix has these elements, in dense rows.
unsafe fn upper<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    n: usize,
) -> Result<bool, super::Stopped> {
    // SAFETY: by the contract: parts of the matrix.
    unsafe {
        if n <= BLOCK {
            products.go_on(n * n * n / 8)?;
            return Ok(rows(a, n));
        }
        let half = (n / 2).next_multiple_of(BLOCK);
        let rest = n - half;
        if !upper(products, a, half)? {
            return Ok(false);
        }
        let (right, last) = (a.from(0, half), a.from(half, half));
        let triangle = Triangle { matrix: a.transposed(), n: half, lower: true, unit: false };
        halves(products, triangle, right, rest)?;
        for j in (0..rest).step_by(STRIP) {
            let wide = STRIP.min(rest - j);
            let strip = right.from(0, j);
            let sizes = (j + wide, wide, half);
            products.subtract(last.from(0, j), right.transposed(), strip, sizes)?;
        }
        upper(products, last, rest)
    }
}

/// Row after row.
///
/// # Safety
/// As [`upper`].
unsafe fn rows<E: Number>(a: Matrix<E>, n: usize) -> bool {
    for k in 0..n {
        // SAFETY: by the contract.
        unsafe {
            let pivot = a.get(k, k);
            if !(pivot > E::ZERO && pivot.is_finite()) {
                return false;
            }
            let root = pivot.sqrt();
            a.set(k, k, root);
            (k + 1..n).for_each(|j| a.set(k, j, a.get(k, j) / root));
            for i in k + 1..n {
                E::subtract(a.at(i, i), a.get(k, i), a.at(k, i), n - i);
            }
        }
    }
    true
}

//! Eigenvalues and eigenvectors of symmetric matrices: tridiagonal form, its eigenvalues by parts, and
//! the reflections back.

use cotan_schedule::REFLECTED;

use super::Ran;
use super::divide::divide;
use super::matrix::{Matrix, Number};
use super::product::Products;
use super::reflect::{Narrow, triangle};
use super::room::Rest;
use super::small::{self, is_turned, scale_of};
use super::tridiagonal::{implicit, reduce};

/// Matrices of up to so many rows are rotated as in the schoolbook.
pub(super) const SMALL: usize = 16;

/// The eigenvalues of the lower triangle of a matrix, and its eigenvectors as columns.
///
/// # Safety
/// The matrices have these elements and are apart; the results are dense.
pub(super) unsafe fn eigen<E: Number>(
    products: &mut Products<'_, E>,
    from: Matrix<E>,
    n: usize,
    values: *mut E,
    vectors: Option<*mut E>,
    room: *mut u8,
) -> Ran {
    let mut rest = Rest::new(room);
    // SAFETY: by the contract.
    unsafe {
        let a = rest.filled(n * n, E::ZERO);
        for i in 0..n {
            products.go_on(i)?;
            for j in 0..=i {
                let x = from.get(i, j);
                a[i * n + j] = x;
                a[j * n + i] = x;
            }
        }
        if n <= SMALL {
            products.go_on(16 * n * n * n)?;
            let v = rest.filled(n * n, E::ZERO);
            (0..n).for_each(|i| values.add(i).write(E::ZERO));
            let values = std::slice::from_raw_parts_mut(values, n);
            let vectors = vectors.map(|vectors| {
                (0..n * n).for_each(|i| vectors.add(i).write(E::ZERO));
                std::slice::from_raw_parts_mut(vectors, n * n)
            });
            small::eigen(a, n, v, values, vectors);
            return Ok(());
        }
        let z = Matrix::dense(rest.take::<E>(n * n), n);
        let d = rest.filled(n, 0.0);
        let found = symmetric(products, a, n, d, vectors.map(|_| z), rest)?;
        if !found {
            (0..n).for_each(|i| values.add(i).write(E::NAN));
            if let Some(vectors) = vectors {
                (0..n * n).for_each(|i| vectors.add(i).write(E::NAN));
            }
            return Ok(());
        }
        (0..n).for_each(|i| values.add(i).write(E::of(d[i])));
        let Some(vectors) = vectors else { return Ok(()) };
        let to = Matrix::dense(vectors, n);
        for j in 0..n {
            if is_turned((0..n).map(|i| z.get(j, i))) {
                (0..n).for_each(|i| z.set(j, i, E::ZERO - z.get(j, i)));
            }
        }
        super::matrix::copy(products, z.transposed(), to, n, n)
    }
}

/// The eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as rows of `z`,
/// without signs. Gives whether there are some: all elements must be finite.
///
/// # Safety
/// The matrices have these elements; the room is that for eigenvalues but for what these take.
pub(super) unsafe fn symmetric<E: Number>(
    products: &mut Products<'_, E>,
    a: &mut [E],
    n: usize,
    d: &mut [f64],
    z: Option<Matrix<E>>,
    mut rest: Rest,
) -> Result<bool, super::Stopped> {
    if !a.iter().all(|x| x.is_finite()) {
        return Ok(false);
    }
    let scale = scale_of(a.iter().copied());
    if scale != E::ONE {
        a.iter_mut().for_each(|x| *x = *x / scale);
    }
    let a = Matrix::dense(a.as_mut_ptr(), n);
    // SAFETY: by the contract.
    unsafe {
        let e = rest.filled(n, 0.0);
        let factors = rest.take::<E>(n);
        let w = Matrix::dense(rest.take::<E>(REFLECTED * n), n);
        reduce(products, a, n, (d, e), factors, w)?;
        let back = scale.wide();
        let Some(z) = z else {
            let found = implicit(d, e, E::UNIT, |_, _, _| ());
            d.iter_mut().for_each(|x| *x *= back);
            d.sort_by(f64::total_cmp);
            return Ok(found);
        };
        let narrow = Narrow::new(&mut rest, n);
        if !divide(products, d, e, z, rest)? {
            return Ok(false);
        }
        d.iter_mut().for_each(|x| *x *= back);
        let last = n.saturating_sub(1);
        for first in (0..last).step_by(REFLECTED).rev() {
            let count = REFLECTED.min(last - first);
            let v = a.from(first, first + 1);
            let deep = n - first - 1;
            triangle(v, deep, count, factors.add(first), narrow.triangle);
            narrow.apply(products, z.from(0, first + 1), v, (n, deep, count), false)?;
        }
    }
    Ok(true)
}

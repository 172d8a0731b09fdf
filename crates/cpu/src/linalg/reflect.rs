//! `A = Q R` by reflections, of which so many are applied at once as two products.
//!
//! Matrices are transposed here: what are columns in the mathematics are rows in memory, so that
//! reflections run along memory.

use cotan_schedule::REFLECTED;

use super::Ran;
use super::matrix::{Matrix, Number, copy};
use super::product::Products;
use super::room::Rest;
use super::small::{self, scale_of};

/// Matrices of up to so many rows are factorised as in the schoolbook.
const SMALL: usize = 32;

/// A reflection `I - t v v^T` that makes a row `[y, 0, ..]`: `v` without its first element, which is
/// 1, takes the place of the row behind its first element. Gives `y` and `t`.
///
/// # Safety
/// There are so many elements.
pub(super) unsafe fn reflection<E: Number>(row: *mut E, n: usize) -> (E, E) {
    // SAFETY: by the contract.
    unsafe {
        let head = row.read();
        let mut square = E::ZERO;
        E::dot(row, row, n, &raw mut square);
        if square == E::ZERO {
            return (E::ZERO, E::ZERO);
        }
        let size = square.sqrt();
        let y = if head < E::ZERO { size } else { E::ZERO - size };
        let inverse = E::ONE / (head - y);
        (1..n).for_each(|i| row.add(i).write(row.add(i).read() * inverse));
        (y, (y - head) / y)
    }
}

/// Some reflections, the rows of `v`, with all their elements; each begins one element after the one
/// before. `t` gets the triangle for which their product is `I - V T V^T`.
///
/// # Safety
/// The matrices have these elements.
pub(super) unsafe fn triangle<E: Number>(
    v: Matrix<E>,
    n: usize,
    count: usize,
    factors: *const E,
    t: Matrix<E>,
) {
    let mut inner = [E::ZERO; REFLECTED];
    // SAFETY: by the contract.
    unsafe {
        for j in 0..count {
            let factor = factors.add(j).read();
            for (i, inner) in inner.iter_mut().enumerate().take(j) {
                E::dot(v.at(i, j), v.at(j, j), n - j, inner);
            }
            for i in 0..REFLECTED {
                let mut x = E::ZERO;
                if i < j {
                    (i..j).for_each(|l| x = x + t.get(i, l) * inner[l]);
                    x = E::ZERO - factor * x;
                } else if i == j {
                    x = factor;
                }
                t.set(i, j, x);
            }
        }
    }
}

/// Room for applying reflections: two narrow matrices and the triangle.
pub(super) struct Narrow<E> {
    pub(super) first: *mut E,
    pub(super) second: *mut E,
    pub(super) triangle: Matrix<E>,
}

impl<E: Number> Narrow<E> {
    /// Room for targets of so many rows.
    pub(super) fn new(rest: &mut Rest, rows: usize) -> Narrow<E> {
        Narrow {
            first: rest.take(rows * REFLECTED),
            second: rest.take(rows * REFLECTED),
            triangle: Matrix::dense(rest.take(REFLECTED * REFLECTED), REFLECTED),
        }
    }

    /// Each row `x` of the target becomes `x - x V T V^T`, or the same with `T^T`: the columns for
    /// which they stand get `Q^T`, or `Q`.
    ///
    /// # Safety
    /// The matrices have these elements, are apart, and lie in dense rows.
    pub(super) unsafe fn apply(
        &self,
        products: &mut Products<'_, E>,
        target: Matrix<E>,
        v: Matrix<E>,
        (rows, columns, count): (usize, usize, usize),
        inverse: bool,
    ) -> Ran {
        let (first, second) = (Matrix::dense(self.first, count), Matrix::dense(self.second, count));
        let t = if inverse { self.triangle } else { self.triangle.transposed() };
        // SAFETY: by the contract.
        unsafe {
            for i in 0..rows * count {
                self.first.add(i).write(E::ZERO);
                self.second.add(i).write(E::ZERO);
            }
            products.subtract(first, target, v.transposed(), (rows, count, columns))?;
            products.subtract(second, first, t, (rows, count, count))?;
            products.subtract(target, second, v, (rows, columns, count))
        }
    }
}

/// Where the factors go; `q` may be none.
pub(super) struct Factors<E> {
    pub(super) q: Option<*mut E>,
    pub(super) r: *mut E,
}

/// The factors of a matrix with at least as many rows as columns.
///
/// # Safety
/// The matrices have these elements, and there is the room for them.
pub(super) unsafe fn factorise<E: Number>(
    products: &mut Products<'_, E>,
    from: Matrix<E>,
    (n, k): (usize, usize),
    to: &Factors<E>,
    room: *mut u8,
) -> Ran {
    let mut rest = Rest::new(room);
    // SAFETY: by the contract.
    unsafe {
        if n <= SMALL {
            products.go_on(4 * n * k * k)?;
            let a = rest.filled(n * k, E::ZERO);
            for i in 0..n {
                (0..k).for_each(|j| a[i * k + j] = from.get(i, j));
            }
            let own = rest.filled(n * k, E::ZERO);
            let factors = rest.filled(k, E::ZERO);
            let q = match to.q {
                Some(q) => {
                    (0..n * k).for_each(|i| q.add(i).write(E::ZERO));
                    std::slice::from_raw_parts_mut(q, n * k)
                }
                None => own,
            };
            (0..k * k).for_each(|i| to.r.add(i).write(E::ZERO));
            small::orthogonal(a, k, q, std::slice::from_raw_parts_mut(to.r, k * k), factors);
            return Ok(());
        }
        let a = Matrix::dense(rest.take::<E>(n * k), n);
        let q = Matrix::dense(rest.take::<E>(n * k), n);
        let factors = rest.take::<E>(k);
        let narrow = Narrow::new(&mut rest, k);
        copy(products, from.transposed(), a, k, n)?;
        let scale = scale_of((0..n * k).map(|i| a.start.add(i).read()));
        if scale != E::ONE {
            (0..n * k).for_each(|i| a.start.add(i).write(a.start.add(i).read() / scale));
        }
        let r = Matrix::dense(to.r, k);
        for first in (0..k).step_by(REFLECTED) {
            let count = REFLECTED.min(k - first);
            products.go_on((n - first) * count * count)?;
            for j in first..first + count {
                let own = a.at(j, j);
                let (y, t) = reflection(own, n - j);
                factors.add(j).write(t);
                own.write(E::ONE);
                for other in j + 1..first + count {
                    let mut sum = E::ZERO;
                    E::dot(own, a.at(other, j), n - j, &raw mut sum);
                    E::subtract(a.at(other, j), sum * t, own, n - j);
                }
                r.set(j, j, y * scale);
                (0..j).for_each(|i| r.set(i, j, a.get(j, i) * scale));
                (0..j).for_each(|i| r.set(j, i, E::ZERO));
                (first..j).for_each(|i| a.set(j, i, E::ZERO));
            }
            let v = a.from(first, first);
            let (deep, last) = (n - first, first + count);
            if last < k || to.q.is_some() {
                triangle(v, deep, count, factors.add(first), narrow.triangle);
            }
            if last < k {
                let target = a.from(last, first);
                narrow.apply(products, target, v, (k - last, deep, count), true)?;
            }
        }
        let turned = |c: usize| r.get(c, c) < E::ZERO;
        for i in 0..k {
            if turned(i) {
                (i..k).for_each(|j| r.set(i, j, E::ZERO - r.get(i, j)));
                // The column of `Q` is turned, too: the sign is noted in the factor's place below.
                factors.add(i).write(E::ZERO - factors.add(i).read());
            }
        }
        let Some(to) = to.q else { return Ok(()) };
        (0..n * k).for_each(|i| q.start.add(i).write(E::ZERO));
        for i in 0..k {
            let negative = factors.add(i).read() < E::ZERO;
            q.set(i, i, if negative { E::ZERO - E::ONE } else { E::ONE });
            factors.add(i).write(factors.add(i).read().abs());
        }
        restore(products, a, factors, q, &narrow, (n, k))?;
        copy(products, q.transposed(), Matrix::dense(to, k), n, k)
    }
}

/// The rows of `q` get the reflections, as columns from the left: `Q` of what is there. Reflection
/// `j` begins at element `j` of row `j` of `v`, and rows of `q` are 0 before their own numbers.
///
/// # Safety
/// The matrices have these elements.
unsafe fn restore<E: Number>(
    products: &mut Products<'_, E>,
    v: Matrix<E>,
    factors: *const E,
    q: Matrix<E>,
    narrow: &Narrow<E>,
    (n, k): (usize, usize),
) -> Ran {
    for first in (0..k).step_by(REFLECTED).rev() {
        let count = REFLECTED.min(k - first);
        // SAFETY: by the contract.
        unsafe {
            let v = v.from(first, first);
            triangle(v, n - first, count, factors.add(first), narrow.triangle);
            let sizes = (k - first, n - first, count);
            narrow.apply(products, q.from(first, first), v, sizes, false)?;
        }
    }
    Ok(())
}

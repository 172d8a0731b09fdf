//! Elimination with row pivots, and systems of its factors.

use cotan_schedule::PANEL;

use super::Ran;
use super::matrix::{Matrix, Number};
use super::product::Products;
use super::triangular::{Triangle, halves, solve};

/// The factors take the place of the matrix; `rows` gets the order of its rows.
///
/// # Safety
/// The matrix has these elements in dense rows, there is room for `n` integers at `rows`, and at
/// `room` for a panel and `n` integers.
pub(super) unsafe fn factorise<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    n: usize,
    rows: *mut i64,
    room: *mut u8,
) -> Ran {
    let exchanges: *mut usize = room.cast();
    // SAFETY: by the contract.
    unsafe {
        let panel = exchanges.add(n).cast::<E>();
        columns(products, a, n, n, exchanges, panel)?;
        (0..n).for_each(|i| rows.add(i).write(i as i64));
        for i in 0..n {
            std::ptr::swap(rows.add(i), rows.add(exchanges.add(i).read()));
        }
    }
    Ok(())
}

/// Eliminates `n` columns of at least as many rows. `exchanges` says for each which row, counted from
/// the first of these, came to its place.
///
/// # Safety
/// As [`factorise`].
unsafe fn columns<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    rows: usize,
    n: usize,
    exchanges: *mut usize,
    panel: *mut E,
) -> Ran {
    // SAFETY: by the contract: parts of the matrix.
    unsafe {
        if n <= PANEL {
            products.go_on(rows * n * (n + 8))?;
            eliminate(a, rows, n, exchanges, panel);
            return Ok(());
        }
        let half = (n / 2).next_multiple_of(PANEL);
        let (rest, right) = (n - half, a.from(0, half));
        columns(products, a, rows, half, exchanges, panel)?;
        exchange(products, right, rest, exchanges, half)?;
        let triangle = Triangle { matrix: a, n: half, lower: true, unit: true };
        halves(products, triangle, right, rest)?;
        let (below, last) = (a.from(half, 0), a.from(half, half));
        products.subtract(last, below, right, (rows - half, rest, half))?;
        let later = exchanges.add(half);
        columns(products, last, rows - half, rest, later, panel)?;
        exchange(products, below, half, later, rest)?;
        (0..rest).for_each(|i| later.add(i).write(later.add(i).read() + half));
    }
    Ok(())
}

/// Exchanges rows of so many columns.
///
/// # Safety
/// The rows exist.
unsafe fn exchange<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    columns: usize,
    exchanges: *const usize,
    count: usize,
) -> Ran {
    products.go_on(columns * count)?;
    for i in 0..count {
        // SAFETY: by the contract; different rows are apart.
        unsafe {
            let other = exchanges.add(i).read();
            if other != i {
                std::ptr::swap_nonoverlapping(a.at(i, 0), a.at(other, 0), columns);
            }
        }
    }
    Ok(())
}

/// A few columns, one after the other.
///
/// # Safety
/// As [`columns`].
unsafe fn eliminate<E: Number>(
    a: Matrix<E>,
    rows: usize,
    n: usize,
    exchanges: *mut usize,
    panel: *mut E,
) {
    let column = |j: usize| panel.wrapping_add(j * rows);
    // SAFETY: by the contract.
    unsafe {
        for i in 0..rows {
            (0..n).for_each(|j| column(j).add(i).write(a.get(i, j)));
        }
        for j in 0..n {
            let own = column(j);
            let mut pivot = j;
            let mut best = own.add(j).read().abs();
            for i in j + 1..rows {
                let size = own.add(i).read().abs();
                if size > best {
                    (pivot, best) = (i, size);
                }
            }
            exchanges.add(j).write(pivot);
            if pivot != j {
                (0..n).for_each(|c| std::ptr::swap(column(c).add(j), column(c).add(pivot)));
            }
            let head = own.add(j).read();
            let left = rows - j - 1;
            for i in j + 1..rows {
                own.add(i).write(own.add(i).read() / head);
            }
            for c in j + 1..n {
                let other = column(c);
                E::subtract(other.add(j + 1), other.add(j).read(), own.add(j + 1), left);
            }
        }
        for i in 0..rows {
            (0..n).for_each(|j| a.set(i, j, column(j).add(i).read()));
        }
    }
}

/// A matrix by its factors.
pub(super) struct System<E> {
    pub(super) factors: Matrix<E>,
    /// The order of the rows, and how many elements further the next is.
    pub(super) rows: (*const i64, usize),
    pub(super) n: usize,
    pub(super) columns: usize,
}

impl<E: Number> System<E> {
    /// The solutions for the right sides in `from`, of the matrix or of its transpose.
    ///
    /// # Safety
    /// The matrices have these elements and are apart, the target is dense, and there is `room` for
    /// the right sides and a vector.
    pub(super) unsafe fn solve(
        &self,
        products: &mut Products<'_, E>,
        turned: bool,
        from: Matrix<E>,
        to: Matrix<E>,
        room: *mut u8,
    ) -> Ran {
        let (n, columns) = (self.n, self.columns);
        products.go_on(n * columns)?;
        // SAFETY: rows out of range are left out.
        let row = |i: usize| unsafe { self.rows.0.add(i * self.rows.1).read() };
        let row = |i: usize| usize::try_from(row(i)).ok().filter(|&row| row < n);
        let lower = Triangle { matrix: self.factors, n, lower: true, unit: true };
        let upper = Triangle { matrix: self.factors, n, lower: false, unit: false };
        let turn =
            |t: Triangle<E>| Triangle { matrix: t.matrix.transposed(), lower: !t.lower, ..t };
        // SAFETY: by the contract.
        unsafe {
            if !turned {
                for i in 0..n {
                    for j in 0..columns {
                        to.set(i, j, row(i).map_or(E::ZERO, |row| from.get(row, j)));
                    }
                }
                solve(products, lower, to, columns, room)?;
                return solve(products, upper, to, columns, room);
            }
            let between = Matrix::dense(room.cast::<E>(), columns);
            let room = between.at(n, 0).cast::<u8>();
            for i in 0..n {
                (0..columns).for_each(|j| between.set(i, j, from.get(i, j)));
            }
            solve(products, turn(upper), between, columns, room)?;
            solve(products, turn(lower), between, columns, room)?;
            for i in 0..n {
                (0..columns).for_each(|j| to.set(i, j, E::ZERO));
            }
            for i in 0..n {
                if let Some(row) = row(i) {
                    (0..columns).for_each(|j| to.set(row, j, between.get(i, j)));
                }
            }
        }
        Ok(())
    }
}

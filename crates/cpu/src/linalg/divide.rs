//! Eigenvalues and eigenvectors of tridiagonal matrices by halves (Cuppen): without the element that
//! ties them, the halves are matrices of their own, and with it a diagonal matrix of their
//! eigenvalues and a product of a vector with itself, `D + r z z^T`. What hardly changes is left out
//! (deflation); for the rest the eigenvalues are the roots of a function with poles at the old ones,
//! and the vectors are a product of matrices. The vector `z` is computed again from the roots (Gu and
//! Eisenstat), so that vectors are orthogonal however close the roots are.
//!
//! All but the vectors is computed with 8 bytes, whatever the type.

use super::matrix::{Matrix, Number};
use super::product::Products;
use super::room::Rest;
use super::secular::root;
use super::tridiagonal::implicit;
use super::{Ran, Stopped};

/// Halves of up to so many rows are not divided.
const LEAF: usize = 24;

/// What merging needs beside its halves: rows of vectors that are left, roots less poles, and the
/// vectors that come out.
struct MergeSpace<E> {
    rows: *mut E,
    roots: *mut f64,
    made: *mut E,
}

/// The eigenvalues in ascending order take the place of the diagonal `d`, the eigenvectors are the
/// rows of `z`. Gives whether all were found.
///
/// # Safety
/// There are as many rows and columns as elements of `d`, and room for three such matrices.
pub(super) unsafe fn divide<E: Number>(
    products: &mut Products<'_, E>,
    d: &mut [f64],
    e: &mut [f64],
    z: Matrix<E>,
    mut rest: Rest,
) -> Result<bool, Stopped> {
    let n = d.len();
    let ends = |xs: &[f64]| xs.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let size = ends(d).max(ends(&e[..n.saturating_sub(1)]));
    if !size.is_finite() {
        return Ok(false);
    }
    let scale = if size > 0.0 { size } else { 1.0 };
    d.iter_mut().chain(e.iter_mut()).for_each(|x| *x /= scale);
    // SAFETY: by the contract.
    unsafe {
        (0..n * n).for_each(|i| z.start.add(i).write(E::ZERO));
        let space =
            MergeSpace { rows: rest.take(n * n), roots: rest.take(n * n), made: rest.take(n * n) };
        let found = halves(products, d, e, z, &space)?;
        d.iter_mut().for_each(|x| *x *= scale);
        Ok(found)
    }
}

/// # Safety
/// As [`divide`]; `z` is 0.
unsafe fn halves<E: Number>(
    products: &mut Products<'_, E>,
    d: &mut [f64],
    e: &mut [f64],
    z: Matrix<E>,
    space: &MergeSpace<E>,
) -> Result<bool, Stopped> {
    let n = d.len();
    // SAFETY: by the contract: parts of the matrices.
    unsafe {
        if n <= LEAF {
            products.go_on(4 * n * n * n)?;
            return Ok(leaf(d, e, z));
        }
        let half = n / 2;
        let tie = e[half - 1];
        d[half - 1] -= tie.abs();
        d[half] -= tie.abs();
        let (left, right) = d.split_at_mut(half);
        let (left_e, right_e) = e.split_at_mut(half);
        let found = halves(products, left, left_e, z, space)?
            && halves(products, right, right_e, z.from(half, half), space)?;
        if !found {
            return Ok(false);
        }
        merge(products, d, half, tie, z, space)?;
    }
    Ok(true)
}

/// A few rows, by rotations.
///
/// # Safety
/// As [`halves`].
unsafe fn leaf<E: Number>(d: &mut [f64], e: &mut [f64], z: Matrix<E>) -> bool {
    let n = d.len();
    let mut v = [[0.0; LEAF]; LEAF];
    (0..n).for_each(|i| v[i][i] = 1.0);
    // What ties this part to the next one is no part of it.
    if n > 0 {
        e[n - 1] = 0.0;
    }
    let found = implicit(d, e, f64::EPSILON, |i, cos, sin| {
        let [first, second] = &mut v[i..i + 2] else { return };
        for (x, y) in first[..n].iter_mut().zip(second) {
            (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
        }
    });
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| d[i].total_cmp(&d[j]));
    let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
    d.copy_from_slice(&sorted);
    for (to, &from) in order.iter().enumerate() {
        // SAFETY: by the contract.
        (0..n).for_each(|k| unsafe { z.set(to, k, E::of(v[from][k])) });
    }
    found
}

/// Where a row of vectors has elements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowHalf {
    Left,
    Both,
    Right,
}

/// A pole: an eigenvalue of one of the halves, its element of the vector, its row.
#[derive(Clone, Copy)]
struct Pole {
    value: f64,
    z: f64,
    row: usize,
    side: RowHalf,
}

/// Two halves, of which the eigenvalues are in order, become one.
///
/// # Safety
/// As [`halves`].
unsafe fn merge<E: Number>(
    products: &mut Products<'_, E>,
    d: &mut [f64],
    half: usize,
    tie: f64,
    z: Matrix<E>,
    space: &MergeSpace<E>,
) -> Ran {
    let n = d.len();
    // SAFETY: by the contract.
    unsafe {
        // The last elements of the vectors on the left, the first of those on the right.
        let sign = if tie < 0.0 { -1.0 } else { 1.0 };
        let root_of_half = 0.5f64.sqrt();
        let pole = |row: usize| {
            let left = row < half;
            let x = if left { z.get(row, half - 1).wide() } else { sign * z.get(row, half).wide() };
            let side = if left { RowHalf::Left } else { RowHalf::Right };
            Pole { value: d[row], z: x * root_of_half, row, side }
        };
        let mut poles: Vec<Pole> = (0..n).map(pole).collect();
        poles.sort_by(|p, q| p.value.total_cmp(&q.value));
        let rho = 2.0 * tie.abs();
        products.go_on(8 * n)?;
        let (kept, left_out) = deflate::<E>(poles, rho, z, n);
        let k = kept.len();
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by_key(|&i| kept[i].side);
        let sides = |side: RowHalf| kept.iter().filter(|pole| pole.side == side).count();
        let (only_left, only_right) = (sides(RowHalf::Left), sides(RowHalf::Right));
        // The rows that are left, those of the left half first.
        let rows = Matrix::dense(space.rows, n);
        for (to, &i) in order.iter().enumerate() {
            std::ptr::copy_nonoverlapping(z.at(kept[i].row, 0), rows.at(to, 0), n);
        }
        // Roots less poles, a row for each root, and the roots.
        let mut values = Vec::with_capacity(n);
        let squares: Vec<f64> = kept.iter().map(|pole| pole.z * pole.z).collect();
        let places: Vec<f64> = kept.iter().map(|pole| pole.value).collect();
        for i in 0..k {
            products.go_on(8 * k)?;
            let gaps = std::slice::from_raw_parts_mut(zeroed(space.roots.add(i * k), k), k);
            values.push(root(&places, &squares, rho, i, gaps));
        }
        let vector = vector(&places, &kept, space.roots);
        for i in 0..k {
            products.go_on(k)?;
            let gaps = space.roots.add(i * k);
            let mut square = 0.0;
            for (j, x) in vector.iter().enumerate() {
                let x = x / gaps.add(j).read();
                gaps.add(j).write(x);
                square += x * x;
            }
            // The elements take the place of the gaps, in the order of the rows.
            let size = square.sqrt();
            let elements: Vec<E> =
                order.iter().map(|&j| E::of(gaps.add(j).read() / size)).collect();
            let to = gaps.cast::<E>();
            elements.iter().enumerate().for_each(|(j, &x)| to.add(j).write(x));
        }
        let step = k * (size_of::<f64>() / size_of::<E>());
        let factors = Matrix { start: space.roots.cast::<E>(), row: step, column: 1 };
        let made = Matrix::dense(space.made, n);
        (0..k * n).for_each(|i| space.made.add(i).write(E::ZERO));
        products.subtract(made, factors, rows, (k, half, k - only_right))?;
        let (factors, rows) = (factors.from(0, only_left), rows.from(only_left, half));
        products.subtract(made.from(0, half), factors, rows, (k, n - half, k - only_left))?;
        // Those that were left out take no part, and all come in order.
        let mut all: Vec<(f64, usize)> = values.into_iter().zip(0..).collect();
        for (i, pole) in left_out.iter().enumerate() {
            std::ptr::copy_nonoverlapping(z.at(pole.row, 0), made.at(k + i, 0), n);
            all.push((pole.value, k + i));
        }
        all.sort_by(|p, q| p.0.total_cmp(&q.0));
        products.go_on(n * n / 8)?;
        for (i, (value, row)) in all.into_iter().enumerate() {
            d[i] = value;
            std::ptr::copy_nonoverlapping(made.at(row, 0), z.at(i, 0), n);
        }
    }
    Ok(())
}

/// So many zeros.
///
/// # Safety
/// There is room for them.
unsafe fn zeroed(at: *mut f64, n: usize) -> *mut f64 {
    // SAFETY: by the contract.
    (0..n).for_each(|i| unsafe { at.add(i).write(0.0) });
    at
}

/// Separates poles that change: those with hardly an element of the vector stay as they are, and of
/// two that are close one gets none by a rotation of their vectors.
///
/// # Safety
/// The rows of the poles have `n` elements.
unsafe fn deflate<E: Number>(
    poles: Vec<Pole>,
    rho: f64,
    vectors: Matrix<E>,
    n: usize,
) -> (Vec<Pole>, Vec<Pole>) {
    let largest = |f: fn(&Pole) -> f64| poles.iter().map(f).fold(0.0, |a: f64, x| a.max(x.abs()));
    let tiny = 8.0 * E::UNIT * largest(|pole| pole.value).max(largest(|pole| pole.z));
    let (mut kept, mut left_out) = (Vec::with_capacity(poles.len()), Vec::new());
    let mut before: Option<Pole> = None;
    for mut pole in poles {
        if rho * pole.z.abs() <= tiny {
            left_out.push(pole);
            continue;
        }
        let Some(mut last) = before.take() else {
            before = Some(pole);
            continue;
        };
        // The angle is the one of the two that is at most a right one.
        let size = (last.z * last.z + pole.z * pole.z).sqrt().copysign(pole.z);
        let (cos, sin) = (pole.z / size, -last.z / size);
        let gap = pole.value - last.value;
        if (gap * cos * sin).abs() <= tiny {
            let (p, q) = (last.value, pole.value);
            last.value = p * cos * cos + q * sin * sin;
            pole.value = p * sin * sin + q * cos * cos;
            pole.z = size;
            last.z = 0.0;
            // SAFETY: by the contract; different rows are apart.
            unsafe {
                let (x, y) = (vectors.at(last.row, 0), vectors.at(pole.row, 0));
                E::rotate(x, y, E::of(-sin), E::of(-sin / (1.0 + cos)), n);
            }
            if last.side != pole.side {
                pole.side = RowHalf::Both;
            }
            left_out.push(last);
        } else {
            kept.push(last);
        }
        before = Some(pole);
    }
    kept.extend(before);
    (kept, left_out)
}

/// The vector for which the computed roots are exact, with the signs of the old one:
/// `z[j]^2 = prod_i (root_i - pole_j) / prod_{i != j} (pole_i - pole_j)`.
///
/// # Safety
/// There is a row of poles less a root for each root.
unsafe fn vector(places: &[f64], kept: &[Pole], gaps: *const f64) -> Vec<f64> {
    let k = places.len();
    // SAFETY: by the contract.
    let gap = |root: usize, pole: usize| unsafe { gaps.add(root * k + pole).read() };
    let mut squares: Vec<f64> = (0..k).map(|j| gap(j, j)).collect();
    for i in 0..k {
        for (j, square) in squares.iter_mut().enumerate() {
            if i != j {
                *square *= gap(i, j) / (places[j] - places[i]);
            }
        }
    }
    let signed = |(square, pole): (&f64, &Pole)| (-square).max(0.0).sqrt().copysign(pole.z);
    squares.iter().zip(kept).map(signed).collect()
}

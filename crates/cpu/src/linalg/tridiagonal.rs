//! Symmetric matrices made tridiagonal by reflections, half of the work products of matrices; and the
//! eigenvalues of what comes out, one rotation after the other.

use cotan_schedule::REFLECTED;

use super::Ran;
use super::matrix::{Matrix, Number};
use super::product::Products;
use super::reflect::reflection;

/// So many steps for each eigenvalue at most; it takes two or three.
const STEPS: usize = 60;

/// Makes the symmetric matrix `a` tridiagonal: `d` is the diagonal, `e` what is beside it. Reflection
/// `j` begins at element `j + 1` of row `j` of `a`, behind zeros; `w` is room for as many rows as are
/// reflected at once.
///
/// # Safety
/// The matrices have these elements, in dense rows, and are apart.
pub(super) unsafe fn reduce<E: Number>(
    products: &mut Products<'_, E>,
    a: Matrix<E>,
    n: usize,
    (d, e): (&mut [f64], &mut [f64]),
    factors: *mut E,
    w: Matrix<E>,
) -> Ran {
    let mut first = 0;
    // SAFETY: by the contract: parts of the matrices.
    unsafe {
        while first + 1 < n {
            let count = REFLECTED.min(n - 1 - first);
            for i in 0..count {
                let j = first + i;
                let (begin, left) = (j + 1, n - j - 1);
                products.go_on(left * left + 4 * i * left)?;
                // What the reflections of this block do to the row.
                for l in 0..i {
                    let (v, other) = (a.from(first + l, j), w.from(l, j));
                    let (x, y) = (v.get(0, 0), other.get(0, 0));
                    E::subtract(a.at(j, j), x, other.start, left + 1);
                    E::subtract(a.at(j, j), y, v.start, left + 1);
                }
                d[j] = a.get(j, j).wide();
                let v = a.at(j, begin);
                let (y, t) = reflection(v, left);
                v.write(E::ONE);
                e[j] = y.wide();
                factors.add(j).write(t);
                let own = w.at(i, begin);
                symmetric_product(a.from(begin, begin), v, own, left);
                for l in 0..i {
                    let (v_before, w_before) = (a.at(first + l, begin), w.at(l, begin));
                    let (mut x, mut y) = (E::ZERO, E::ZERO);
                    E::dot(w_before, v, left, &raw mut x);
                    E::dot(v_before, v, left, &raw mut y);
                    E::subtract(own, x, v_before, left);
                    E::subtract(own, y, w_before, left);
                }
                (0..left).for_each(|i| own.add(i).write(own.add(i).read() * t));
                let mut along = E::ZERO;
                E::dot(own, v, left, &raw mut along);
                E::subtract(own, E::of(0.5) * t * along, v, left);
                (first..begin).for_each(|l| a.set(j, l, E::ZERO));
            }
            let next = first + count;
            let left = n - next;
            // Rows after the block: what of it is read is from their own number on.
            for i in 0..left {
                (first..next).for_each(|l| a.set(next + i, l, E::ZERO));
            }
            let (v, w) = (a.from(first, next), w.from(0, next));
            let target = a.from(next, next);
            products.subtract(target, v.transposed(), w, (left, left, count))?;
            products.subtract(target, w.transposed(), v, (left, left, count))?;
            first = next;
        }
        if n > 0 {
            d[n - 1] = a.get(n - 1, n - 1).wide();
        }
    }
    Ok(())
}

/// The product of a symmetric matrix, of which the rows are read from the diagonal on, with a vector.
///
/// # Safety
/// The matrix, the vector and the result have so many elements and are apart.
unsafe fn symmetric_product<E: Number>(a: Matrix<E>, v: *const E, to: *mut E, n: usize) {
    // SAFETY: by the contract.
    unsafe {
        (0..n).for_each(|i| to.add(i).write(E::ZERO));
        for i in 0..n {
            let row = a.at(i, i);
            let x = v.add(i).read();
            let mut sum = E::ZERO;
            E::dot(row, v.add(i), n - i, &raw mut sum);
            to.add(i).write(to.add(i).read() + sum);
            E::subtract(to.add(i + 1), E::ZERO - x, row.add(1), n - i - 1);
        }
    }
}

/// The eigenvalues of a tridiagonal matrix, in no order (QL with implicit shifts). `turn` is told of
/// each rotation of vectors `i` and `i + 1`. Gives whether all were found.
pub(super) fn implicit(
    d: &mut [f64],
    e: &mut [f64],
    unit: f64,
    mut turn: impl FnMut(usize, f64, f64),
) -> bool {
    let n = d.len();
    let largest = d.iter().chain(e.iter().take(n.saturating_sub(1)));
    let tiny = largest.fold(0.0, |most: f64, x| most.max(x.abs())) * unit * 1e-3;
    for l in 0..n {
        let mut steps = 0;
        loop {
            let small = |m: usize| e[m].abs() <= unit * (d[m].abs() + d[m + 1].abs()) + tiny;
            let m = (l..n - 1).find(|&m| small(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            steps += 1;
            if steps > STEPS || !e[l].is_finite() {
                return false;
            }
            let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut r = (g * g + 1.0).sqrt();
            g = d[m] - d[l] + e[l] / (g + if g < 0.0 { -r } else { r });
            let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
            let mut whole = true;
            for i in (l..m).rev() {
                let (f, b) = (sin * e[i], cos * e[i]);
                r = (f * f + g * g).sqrt();
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    whole = false;
                    break;
                }
                sin = f / r;
                cos = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * sin + 2.0 * cos * b;
                p = sin * r;
                d[i + 1] = g + p;
                g = cos * r - b;
                turn(i, cos, sin);
            }
            if whole {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
    true
}

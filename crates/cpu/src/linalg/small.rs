//! Small matrices: the operations of the schoolbook, in its order, so that results have the same bits
//! as its.

use std::cmp::Ordering;

use cotan_ir::{NEARLY, negligible};

use super::matrix::Number;

/// So many times all pairs are rotated at most.
pub(super) const SWEEPS: usize = 60;

/// The power of 2 that elements are divided by before they are squared, so that the largest is at
/// least 1 and less than 2; 1 where there is none, or it is not finite.
pub(super) fn scale_of<E: Number>(xs: impl Iterator<Item = E>) -> E {
    let largest = xs.map(E::abs).fold(E::ZERO, |most, x| if x > most { x } else { most }).wide();
    let power = f64::from_bits(largest.to_bits() & EXPONENT).max(f64::MIN_POSITIVE);
    let usable = largest > 0.0 && largest.is_finite();
    E::of(if usable { power } else { 1.0 })
}

/// The bits of a float that are its exponent.
const EXPONENT: u64 = f64::INFINITY.to_bits();

/// Whether a vector is turned: whether the first element that is nearly the largest is negative.
pub(super) fn is_turned<E: Number>(xs: impl Iterator<Item = E> + Clone) -> bool {
    let mut largest = E::ZERO;
    for x in xs.clone() {
        let size = x.abs();
        if size > largest {
            largest = size;
        }
    }
    let nearly = largest * E::of(NEARLY);
    // NaN is nothing's largest.
    let first = xs.into_iter().find(|x| {
        let below = nearly > x.abs();
        !below
    });
    first.is_some_and(|x| x < E::ZERO)
}

/// `Q` and `R` of the matrix in `a`, which has so many columns; `a` and `factors` are room.
pub(super) fn orthogonal<E: Number>(
    a: &mut [E],
    k: usize,
    q: &mut [E],
    r: &mut [E],
    factors: &mut [E],
) {
    let n = a.len().checked_div(k).unwrap_or(0);
    let scale = scale_of(a.iter().copied());
    a.iter_mut().for_each(|x| *x = *x / scale);
    for c in 0..k {
        let mut square = E::ZERO;
        for i in c..n {
            square = square + a[i * k + c] * a[i * k + c];
        }
        factors[c] = E::ZERO;
        if square == E::ZERO {
            continue;
        }
        let size = square.sqrt();
        let head = a[c * k + c];
        let y = if head < E::ZERO { size } else { E::ZERO - size };
        let difference = head - y;
        for i in c + 1..n {
            a[i * k + c] = a[i * k + c] / difference;
        }
        factors[c] = (y - head) / y;
        a[c * k + c] = y;
        for j in c + 1..k {
            let mut sum = a[c * k + j];
            for i in c + 1..n {
                sum = sum + a[i * k + c] * a[i * k + j];
            }
            let sum = factors[c] * sum;
            a[c * k + j] = a[c * k + j] - sum;
            for i in c + 1..n {
                a[i * k + j] = a[i * k + j] - a[i * k + c] * sum;
            }
        }
    }
    q.fill(E::ZERO);
    (0..k).for_each(|c| q[c * k + c] = E::ONE);
    for c in (0..k).rev() {
        for j in c..k {
            let mut sum = q[c * k + j];
            for i in c + 1..n {
                sum = sum + a[i * k + c] * q[i * k + j];
            }
            let sum = factors[c] * sum;
            q[c * k + j] = q[c * k + j] - sum;
            for i in c + 1..n {
                q[i * k + j] = q[i * k + j] - a[i * k + c] * sum;
            }
        }
    }
    r.fill(E::ZERO);
    for c in 0..k {
        let turned = a[c * k + c] < E::ZERO;
        for j in c..k {
            let x = a[c * k + j] * scale;
            r[c * k + j] = if turned { E::ZERO - x } else { x };
        }
        if turned {
            (0..n).for_each(|i| q[i * k + c] = E::ZERO - q[i * k + c]);
        }
    }
}

/// Cosine, sine and tangent of the rotation that makes `off` 0 between `p` and `q`.
pub(super) fn rotation<E: Number>(p: E, q: E, off: E) -> [E; 3] {
    let x = (q - p) / (off + off);
    let tan = E::ONE / (x.abs() + (E::ONE + x * x).sqrt());
    let tan = if x < E::ZERO { E::ZERO - tan } else { tan };
    let cos = E::ONE / (E::ONE + tan * tan).sqrt();
    [cos, cos * tan, tan]
}

fn rotated<E: Number>([cos, sin, _]: [E; 3], x: E, y: E) -> (E, E) {
    (cos * x - sin * y, sin * x + cos * y)
}

/// Columns `p` and `q` of a matrix with `k` columns, rotated.
fn rotate_columns<E: Number>(by: [E; 3], m: &mut [E], k: usize, p: usize, q: usize) {
    for row in m.chunks_mut(k) {
        (row[p], row[q]) = rotated(by, row[p], row[q]);
    }
}

fn make_identity<E: Number>(m: &mut [E], n: usize) {
    m.fill(E::ZERO);
    (0..n).for_each(|i| m[i * n + i] = E::ONE);
}

/// The columns of `from` in an order, with their signs, in `to`; `mark` gets the turned ones.
fn arrange<E: Number>(
    from: &[E],
    k: usize,
    order: &[usize],
    to: &mut [E],
    mut mark: impl FnMut(usize, bool),
) {
    for (at, &c) in order.iter().enumerate() {
        let turn = is_turned(from.iter().skip(c).step_by(k).copied());
        mark(at, turn);
        for (from, to) in from.chunks(k).zip(to.chunks_mut(k)) {
            to[at] = if turn { E::ZERO - from[c] } else { from[c] };
        }
    }
}

/// The eigenvalues and eigenvectors of the symmetric matrix in `a`; `v` is room for another.
pub(super) fn eigen<E: Number>(
    a: &mut [E],
    n: usize,
    v: &mut [E],
    values: &mut [E],
    mut vectors: Option<&mut [E]>,
) {
    if !a.iter().all(|x| x.is_finite()) {
        values.fill(E::NAN);
        vectors.into_iter().for_each(|vectors| vectors.fill(E::NAN));
        return;
    }
    let scale = scale_of(a.iter().copied());
    a.iter_mut().for_each(|x| *x = *x / scale);
    let tiny = E::of(E::UNIT / 64.0);
    make_identity(v, n);
    for _ in 0..SWEEPS {
        let mut any = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                if off.abs() <= tiny {
                    continue;
                }
                any = true;
                let by = rotation(a[p * n + p], a[q * n + q], off);
                a[p * n + p] = a[p * n + p] - by[2] * off;
                a[q * n + q] = a[q * n + q] + by[2] * off;
                a[p * n + q] = E::ZERO;
                a[q * n + p] = E::ZERO;
                for i in (0..n).filter(|&i| i != p && i != q) {
                    let (x, y) = rotated(by, a[i * n + p], a[i * n + q]);
                    a[i * n + p] = x;
                    a[p * n + i] = x;
                    a[i * n + q] = y;
                    a[q * n + i] = y;
                }
                if vectors.is_some() {
                    rotate_columns(by, v, n, p, q);
                }
            }
        }
        if !any {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    let value = |i: usize| a[i * n + i] * scale;
    order.sort_by(|&i, &j| value(i).wide().total_cmp(&value(j).wide()));
    for (to, &i) in values.iter_mut().zip(&order) {
        *to = value(i);
    }
    if let Some(vectors) = &mut vectors {
        arrange(v, n, &order, vectors, |_, _| ());
    }
}

/// What is made of a matrix with `k` columns: `U`, `V`, and the values between.
pub(super) struct Singular<'a, E> {
    pub(super) values: &'a mut [E],
    /// Both or none.
    pub(super) vectors: Option<(&'a mut [E], &'a mut [E])>,
}

/// The singular values and vectors of the matrix in `u`; `v` is room for a square matrix.
pub(super) fn singular<E: Number>(u: &mut [E], k: usize, v: &mut [E], to: Singular<'_, E>) {
    let n = u.len() / k;
    if !u.iter().all(|x| x.is_finite()) {
        to.values.fill(E::NAN);
        if let Some((left, right)) = to.vectors {
            left.fill(E::NAN);
            right.fill(E::NAN);
        }
        return;
    }
    let scale = scale_of(u.iter().copied());
    u.iter_mut().for_each(|x| *x = *x / scale);
    make_identity(v, k);
    let tiny = E::of(E::UNIT * (n as f64).sqrt());
    let vanishing = E::of(E::VANISHING * E::VANISHING);
    for _ in 0..SWEEPS {
        let mut any = false;
        for p in 0..k {
            for q in p + 1..k {
                let (mut x, mut y, mut off) = (E::ZERO, E::ZERO, E::ZERO);
                for row in u.chunks(k) {
                    x = x + row[p] * row[p];
                    y = y + row[q] * row[q];
                    off = off + row[p] * row[q];
                }
                let seen = x > vanishing && y > vanishing;
                if !seen || off.abs() <= tiny * (x.sqrt() * y.sqrt()) {
                    continue;
                }
                any = true;
                let by = rotation(x, y, off);
                rotate_columns(by, u, k, p, q);
                rotate_columns(by, v, k, p, q);
            }
        }
        if !any {
            break;
        }
    }
    let norm = |j: usize| {
        let square = u.chunks(k).fold(E::ZERO, |sum, row| sum + row[j] * row[j]);
        square.sqrt()
    };
    let norms: Vec<E> = (0..k).map(norm).collect();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&i, &j| norms[j].wide().total_cmp(&norms[i].wide()));
    for (to, &j) in to.values.iter_mut().zip(&order) {
        *to = norms[j] * scale;
    }
    let Some((left, right)) = to.vectors else { return };
    let mut turned = vec![false; k];
    arrange(v, k, &order, right, |at, turn| turned[at] = turn);
    for (at, &c) in order.iter().enumerate() {
        if norms[c] > E::of(E::VANISHING) {
            let by = if turned[at] { E::ZERO - norms[c] } else { norms[c] };
            for (from, to) in u.chunks(k).zip(left.chunks_mut(k)) {
                to[at] = from[c] / by;
            }
        } else {
            complete(left, n, at, |i, j| i * k + j);
        }
    }
}

/// Column `j` becomes a vector of length 1 that is orthogonal to those before it.
pub(super) fn complete<E: Number>(
    u: &mut [E],
    n: usize,
    j: usize,
    at: impl Fn(usize, usize) -> usize,
) {
    let enough = E::of(0.5 / n as f64);
    let mut x = vec![E::ZERO; n];
    for unit in 0..n {
        x.fill(E::ZERO);
        x[unit] = E::ONE;
        for _ in 0..2 {
            for p in 0..j {
                let mut part = E::ZERO;
                for (i, &x) in x.iter().enumerate() {
                    part = part + u[at(i, p)] * x;
                }
                for (i, x) in x.iter_mut().enumerate() {
                    *x = *x - part * u[at(i, p)];
                }
            }
        }
        let square = x.iter().fold(E::ZERO, |sum, &x| sum + x * x);
        if square > enough {
            let size = square.sqrt();
            for (i, &x) in x.iter().enumerate() {
                u[at(i, j)] = x / size;
            }
            break;
        }
    }
}

/// The inverses of singular values by which columns are divided: `None` where they count as 0.
pub(super) fn counting<E: Number>(values: &[E], rows: usize) -> Vec<Option<E>> {
    let largest =
        values.iter().fold(E::ZERO, |most, x| if x.abs() > most { x.abs() } else { most });
    let bound = largest * E::of(negligible(E::DTYPE, rows, values.len()));
    let infinity = E::of(f64::INFINITY);
    // NaN counts, too.
    let finite = |x: &E| x.partial_cmp(&infinity) == Some(Ordering::Less);
    let counts = |x: &&E| **x > bound || !finite(x);
    values.iter().map(|x| Some(x).filter(counts).copied()).collect()
}

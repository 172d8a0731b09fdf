//! Eigenvalues and singular values by rotations of two rows or columns at a time (Jacobi), until
//! nothing is left to be rotated.

use super::book::{Apply, CellValue};
use super::orthogonal::{Calculator, above, as_float, is_finite};
use super::{NEARLY, negligible};
use crate::scalar::{Op, Scalar};
use cotan_array::Dtype;

/// So many times all pairs are rotated at most; it takes hardly more than ten for any matrix.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, and its eigenvectors as columns.
pub(super) struct Eigen {
    pub(super) values: Vec<Scalar>,
    pub(super) vectors: CellValue,
}

/// `A = U S V^T`
pub(super) struct Singular {
    pub(super) left: CellValue,
    pub(super) values: Vec<Scalar>,
    pub(super) right: CellValue,
}

fn precision<E>(c: &Calculator<'_, E>) -> f64 {
    match c.zero {
        Scalar::F32(_) => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// Columns up to this length, where the largest element is about 1, have no direction: their squares
/// leave the range of the type.
fn vanishing<E>(c: &Calculator<'_, E>) -> f64 {
    match c.zero {
        Scalar::F32(_) => 1e-15,
        _ => 1e-140,
    }
}

fn identity<E>(c: &Calculator<'_, E>, n: usize) -> CellValue {
    let mut identity = CellValue::new(&[n, n], vec![c.zero; n * n]);
    (0..n).for_each(|i| identity.set(i, i, c.number(1.0)));
    identity
}

/// Cosine, sine and tangent of the rotation that makes `off` 0 between `p` and `q` on the diagonal:
/// `x = (q - p) / (2 off)`, `tan = sign(x) / (|x| + sqrt(1 + x^2))`.
fn rotation<E>(
    c: &mut Calculator<'_, E>,
    p: Scalar,
    q: Scalar,
    off: Scalar,
) -> Result<[Scalar; 3], E> {
    let one = c.number(1.0);
    let difference = c.two(Op::Sub, q, p)?;
    let twice = c.two(Op::Add, off, off)?;
    let x = c.two(Op::Div, difference, twice)?;
    let size = c.one(Op::Abs, x)?;
    let square = c.more(one, x, x)?;
    let root = c.one(Op::Sqrt, square)?;
    let sum = c.two(Op::Add, size, root)?;
    let mut tan = c.two(Op::Div, one, sum)?;
    if above(c.zero, x) {
        tan = c.negative(tan)?;
    }
    let square = c.more(one, tan, tan)?;
    let root = c.one(Op::Sqrt, square)?;
    let cos = c.two(Op::Div, one, root)?;
    let sin = c.times(cos, tan)?;
    Ok([cos, sin, tan])
}

/// `cos x - sin y` and `sin x + cos y`
fn rotated<E>(
    c: &mut Calculator<'_, E>,
    [cos, sin, _]: [Scalar; 3],
    x: Scalar,
    y: Scalar,
) -> Result<(Scalar, Scalar), E> {
    let (first, second) = (c.times(cos, x)?, c.times(sin, x)?);
    Ok((c.less(first, sin, y)?, c.more(second, cos, y)?))
}

/// Columns `p` and `q`, rotated.
fn rotate_columns<E>(
    c: &mut Calculator<'_, E>,
    by: [Scalar; 3],
    m: &mut CellValue,
    p: usize,
    q: usize,
) -> Result<(), E> {
    for i in 0..m.rows {
        let (x, y) = rotated(c, by, m.at(i, p), m.at(i, q))?;
        m.set(i, p, x);
        m.set(i, q, y);
    }
    Ok(())
}

/// The columns in another order, with their signs: of each, the first element that is nearly the
/// largest is positive. Gives whether each was turned.
fn arranged<E>(
    c: &mut Calculator<'_, E>,
    m: &CellValue,
    order: &[usize],
) -> Result<(CellValue, Vec<bool>), E> {
    let mut arranged = m.clone();
    let mut turned = Vec::with_capacity(order.len());
    for (to, &from) in order.iter().enumerate() {
        let column: Vec<Scalar> = (0..m.rows).map(|i| m.at(i, from)).collect();
        let largest = c.largest(&column)?;
        let nearly = c.times(largest, c.number(NEARLY))?;
        let mut turn = false;
        for &x in &column {
            let size = c.one(Op::Abs, x)?;
            if !above(nearly, size) {
                turn = above(c.zero, x);
                break;
            }
        }
        for (i, &x) in column.iter().enumerate() {
            arranged.set(i, to, if turn { c.negative(x)? } else { x });
        }
        turned.push(turn);
    }
    Ok((arranged, turned))
}

/// The eigenvalues and eigenvectors of the lower triangle of a matrix.
pub(super) fn eigen<E>(read: &CellValue, zero: Scalar, apply: Apply<'_, E>) -> Result<Eigen, E> {
    let mut c = Calculator { zero, apply };
    let n = read.columns;
    let mut a = read.clone();
    for i in 0..n {
        (0..i).for_each(|j| a.set(j, i, read.at(i, j)));
    }
    if !a.elements.iter().all(|&x| is_finite(x)) {
        let nan = c.number(f64::NAN);
        let vectors = CellValue::new(&[n, n], vec![nan; n * n]);
        return Ok(Eigen { values: vec![nan; n], vectors });
    }
    let scale = c.scale(&a.elements)?;
    for x in &mut a.elements {
        *x = c.two(Op::Div, *x, scale)?;
    }
    let tiny = c.number(precision(&c) / 64.0);
    let mut vectors = identity(&c, n);
    for _ in 0..SWEEPS {
        let mut any = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a.at(p, q);
                let size = c.one(Op::Abs, off)?;
                if !above(size, tiny) {
                    continue;
                }
                any = true;
                let by = rotation(&mut c, a.at(p, p), a.at(q, q), off)?;
                let (x, y) = (c.less(a.at(p, p), by[2], off)?, c.more(a.at(q, q), by[2], off)?);
                a.set(p, p, x);
                a.set(q, q, y);
                a.set(p, q, zero);
                a.set(q, p, zero);
                for i in (0..n).filter(|&i| i != p && i != q) {
                    let (x, y) = rotated(&mut c, by, a.at(i, p), a.at(i, q))?;
                    a.set(i, p, x);
                    a.set(p, i, x);
                    a.set(i, q, y);
                    a.set(q, i, y);
                }
                rotate_columns(&mut c, by, &mut vectors, p, q)?;
            }
        }
        if !any {
            break;
        }
    }
    let mut values = Vec::with_capacity(n);
    for i in 0..n {
        values.push(c.times(a.at(i, i), scale)?);
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| as_float(values[i]).total_cmp(&as_float(values[j])));
    let (vectors, _) = arranged(&mut c, &vectors, &order)?;
    Ok(Eigen { values: order.iter().map(|&i| values[i]).collect(), vectors })
}

/// The singular values and vectors of a matrix with at least as many rows as columns: its columns are
/// rotated until they are orthogonal.
pub(super) fn singular<E>(
    read: &CellValue,
    zero: Scalar,
    apply: Apply<'_, E>,
) -> Result<Singular, E> {
    let mut c = Calculator { zero, apply };
    let (n, k) = (read.rows, read.columns);
    if !read.elements.iter().all(|&x| is_finite(x)) {
        let nan = |rows: usize| CellValue::new(&[rows, k], vec![c.number(f64::NAN); rows * k]);
        return Ok(Singular { left: nan(n), values: vec![c.number(f64::NAN); k], right: nan(k) });
    }
    let mut u = read.clone();
    let scale = c.scale(&u.elements)?;
    for x in &mut u.elements {
        *x = c.two(Op::Div, *x, scale)?;
    }
    let mut v = identity(&c, k);
    let tiny = c.number(precision(&c) * (n as f64).sqrt());
    let shortest = c.number(vanishing(&c));
    let vanishing = c.number(vanishing(&c) * vanishing(&c));
    for _ in 0..SWEEPS {
        let mut any = false;
        for p in 0..k {
            for q in p + 1..k {
                let x = c.dot((0..n).map(|i| (u.at(i, p), u.at(i, p))))?;
                let y = c.dot((0..n).map(|i| (u.at(i, q), u.at(i, q))))?;
                let off = c.dot((0..n).map(|i| (u.at(i, p), u.at(i, q))))?;
                let (long, other) = (c.one(Op::Sqrt, x)?, c.one(Op::Sqrt, y)?);
                let (size, root) = (c.one(Op::Abs, off)?, c.times(long, other)?);
                let bound = c.times(tiny, root)?;
                let seen = above(x, vanishing) && above(y, vanishing);
                if !seen || !above(size, bound) {
                    continue;
                }
                any = true;
                let by = rotation(&mut c, x, y, off)?;
                rotate_columns(&mut c, by, &mut u, p, q)?;
                rotate_columns(&mut c, by, &mut v, p, q)?;
            }
        }
        if !any {
            break;
        }
    }
    let mut values = Vec::with_capacity(k);
    for j in 0..k {
        let square = c.dot((0..n).map(|i| (u.at(i, j), u.at(i, j))))?;
        values.push(c.one(Op::Sqrt, square)?);
    }
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&i, &j| as_float(values[j]).total_cmp(&as_float(values[i])));
    let (right, turned) = arranged(&mut c, &v, &order)?;
    let mut left = u.clone();
    for (to, (&from, &turn)) in order.iter().zip(&turned).enumerate() {
        let by = if turn { c.negative(values[from])? } else { values[from] };
        if above(values[from], shortest) {
            for i in 0..n {
                let x = c.two(Op::Div, u.at(i, from), by)?;
                left.set(i, to, x);
            }
        } else {
            complete(&mut c, &mut left, to)?;
        }
    }
    let mut scaled = Vec::with_capacity(k);
    for &j in &order {
        scaled.push(c.times(values[j], scale)?);
    }
    Ok(Singular { left, values: scaled, right })
}

/// Column `j` becomes a vector of length 1 that is orthogonal to those before: the first unit vector
/// of which enough is left when its parts along them are taken away.
fn complete<E>(c: &mut Calculator<'_, E>, u: &mut CellValue, j: usize) -> Result<(), E> {
    let n = u.rows;
    let enough = c.number(0.5 / n as f64);
    for unit in 0..n {
        let mut x = vec![c.zero; n];
        x[unit] = c.number(1.0);
        // Twice, for what rounding left the first time.
        for _ in 0..2 {
            for p in 0..j {
                let part = c.dot((0..n).map(|i| (u.at(i, p), x[i])))?;
                for (i, x) in x.iter_mut().enumerate() {
                    *x = c.less(*x, part, u.at(i, p))?;
                }
            }
        }
        let square = c.dot(x.iter().map(|&x| (x, x)))?;
        if above(square, enough) {
            let size = c.one(Op::Sqrt, square)?;
            for (i, &x) in x.iter().enumerate() {
                let x = c.two(Op::Div, x, size)?;
                u.set(i, j, x);
            }
            break;
        }
    }
    Ok(())
}

/// `V S^+ U^T`, of `U`, the diagonal of `S`, and `V`.
pub(super) fn pseudoinverse<E>(
    cells: &[CellValue],
    zero: Scalar,
    apply: Apply<'_, E>,
) -> Result<Vec<Scalar>, E> {
    let mut c = Calculator { zero, apply };
    let [u, s, v] = cells else { return Ok(Vec::new()) };
    let (n, k) = (u.rows, u.columns);
    let dtype = if matches!(zero, Scalar::F32(_)) { Dtype::F32 } else { Dtype::F64 };
    let largest = c.largest(&s.elements)?;
    let bound = c.times(largest, c.number(negligible(dtype, n, k)))?;
    let mut scaled = v.clone();
    for j in 0..k {
        let value = s.elements[j];
        let kept = above(value, bound) || !above(c.number(f64::INFINITY), value);
        for i in 0..k {
            let x = if kept { c.two(Op::Div, v.at(i, j), value)? } else { zero };
            scaled.set(i, j, x);
        }
    }
    let mut result = Vec::with_capacity(k * n);
    for i in 0..k {
        for j in 0..n {
            result.push(c.dot((0..k).map(|l| (scaled.at(i, l), u.at(j, l))))?);
        }
    }
    Ok(result)
}

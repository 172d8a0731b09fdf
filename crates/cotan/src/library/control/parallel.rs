//! Running combinations in logarithmic depth.

use super::loops::common_length;
use super::{element, replaced};
use crate::build::build;
use crate::stage::{self, Raw, emit};
use crate::structure::{Arrays, raws};

/// The combination of each element along the outermost axes of a structure with all before it, by an
/// associative operation: `xs[0], f(xs[0], xs[1]), f(f(xs[0], xs[1]), xs[2]), ..`.
///
/// The same values as a [`scan`](crate::scan) of `f` (but for rounding) with twice the work, in about
/// `2 log2 n` steps that are each parallel: neighbours are combined in pairs, these scanned, and the
/// others made from them. `f` is run about `2 log2 n` times while staging. Length 0 is allowed.
///
/// ```
/// use cotan::prelude::*;
///
/// // The recurrence y = a y + b as a scan of affine maps.
/// let f = jit(|a: Arr<f64>, b: Arr<f64>| {
///     associative_scan((a, b), |(a, b), (c, d)| (a * c, b * c + d)).1
/// });
/// assert_eq!(f.call(([0.5, 0.5, 0.5], [8.0, 8.0, 8.0]))?.to_vec(), [8.0, 12.0, 14.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn associative_scan<X: Arrays<Staged = X>>(xs: X, f: impl Fn(X, X) -> X) -> X {
    stage::operation("associative_scan", || {
        match common_length("associative_scan", &xs.tree().leaves("")) {
            Ok(length) => prefixes(xs, length, &|a, b| checked(a, b, &f)),
            Err(error) => {
                stage::fail(error);
                xs
            }
        }
    })
}

/// The combination, which must have the type of what is combined.
fn checked<X: Arrays>(a: X, b: X, f: &impl Fn(X, X) -> X) -> X {
    let before = a.tree();
    let combined = stage::user_code(|| f(a, b));
    if let Some((_, before, after)) = before.difference(&combined.tree(), "") {
        let message = format!("the combination of two {before} is {after}");
        let hint = "it must have the structure and types of what is combined";
        stage::fail(crate::Error::type_error("associative_scan", message).with_hint(hint));
    }
    combined
}

/// Recurses once for each halving of the length.
fn prefixes<X: Arrays<Staged = X>>(xs: X, length: usize, f: &dyn Fn(X, X) -> X) -> X {
    if length < 2 || stage::failed() {
        return xs;
    }
    let pairs = build(length / 2, |i| f(element(&xs, 2 * i), element(&xs, 2 * i + 1)));
    // The prefixes that end at odd positions.
    let odd = prefixes(pairs, length / 2, f);
    let evens = length.div_ceil(2);
    let even_tail = build(evens - 1, |i| f(element(&odd, i), element(&xs, 2 * i + 2)));
    let leaves: Vec<Raw> = raws(&xs)
        .into_iter()
        .zip(raws(&odd).into_iter().zip(raws(&even_tail)))
        .map(|(x, (odd, even_tail))| interleaved(x, odd, even_tail, length))
        .collect();
    replaced(&xs.tree(), leaves)
}

/// `[x[0], odd[0], even_tail[0], odd[1], even_tail[1], ..]`, of the given length.
fn interleaved(x: Raw, odd: Raw, even_tail: Raw, length: usize) -> Raw {
    emit("associative_scan", &[x, odd, even_tail], |b, ts| {
        let (x, odd, even_tail) = (ts[0], ts[1], ts[2]);
        let half = length.div_ceil(2);
        let zero = b.scalar(0i64)?;
        let first = b.index(x, &[zero])?;
        let pairs = b.build(half, |b, i| {
            let one = b.scalar(1i64)?;
            let before = b.op(cotan_ir::scalar::Op::Sub, &[i, one])?;
            let is_first = b.op(cotan_ir::scalar::Op::Eq, &[i, zero])?;
            let later = b.index(even_tail, &[before])?;
            let even = b.cond(is_first, first, later)?;
            // The last one of an odd length has no odd neighbour: it reads 0, and is cut off.
            let odd = b.index(odd, &[i])?;
            b.stack(&[even, odd])
        })?;
        let mut sizes = b.shape(x).dims().to_vec();
        if let Some(outer) = sizes.first_mut() {
            *outer = 2 * half;
        }
        let all = b.reshape(&sizes, pairs)?;
        match length % 2 {
            0 => Ok(all),
            _ => b.build(length, |b, i| b.index(all, &[i])),
        }
    })
}

//! The places that affine forms reach.
//!
//! Arithmetic is in 128 bits, where no form of 64 bits over countable extents overflows.

use smallvec::SmallVec;

use super::POSITIONS;
use crate::nest::Affine;

/// Intervals that an image is taken apart into, at most.
const MAX_RUNS: usize = 1 << 12;

/// Samples of a space that is too large to be enumerated.
const SAMPLES: u64 = 200;

/// The first and the last index of each dimension.
type Bounds = SmallVec<[(i128, i128); 6]>;

/// How many positions a space has.
pub(super) fn count(extents: &[usize]) -> u128 {
    extents.iter().fold(1, |n, &k| n.saturating_mul(k as u128))
}

fn whole(extents: &[usize]) -> Bounds {
    extents.iter().map(|&k| (0, k as i128 - 1)).collect()
}

/// The least and the greatest value of a form.
fn range(constant: i128, coeffs: &[i128], bounds: &Bounds) -> (i128, i128) {
    coeffs.iter().zip(bounds).fold((constant, constant), |(lo, hi), (&c, &(first, last))| {
        let (a, b) = (c * first, c * last);
        (lo + a.min(b), hi + a.max(b))
    })
}

fn wide(at: &Affine) -> SmallVec<[i128; 6]> {
    at.coeffs.iter().map(|&c| i128::from(c)).collect()
}

/// The least and the greatest place over a space that is not empty.
pub(super) fn ends(at: &Affine, extents: &[usize]) -> (i128, i128) {
    range(i128::from(at.constant), &wide(at), &whole(extents))
}

fn value(at: &Affine, position: &[i128]) -> i128 {
    at.coeffs
        .iter()
        .zip(position)
        .fold(i128::from(at.constant), |v, (&c, &i)| v + i128::from(c) * i)
}

fn holds(checks: &[(Affine, i64)], position: &[i128]) -> bool {
    checks.iter().all(|(at, size)| (0..i128::from(*size)).contains(&value(at, position)))
}

/// Indices beyond which a check fails; `None` where it fails everywhere.
fn tightened(checks: &[(Affine, i64)], extents: &[usize]) -> Option<Bounds> {
    let mut bounds = whole(extents);
    for _ in 0..3 {
        for (at, size) in checks {
            let coeffs = wide(at);
            let (lo, hi) = range(i128::from(at.constant), &coeffs, &bounds);
            if hi < 0 || lo >= i128::from(*size) {
                return None;
            }
            for (dim, &c) in coeffs.iter().enumerate().filter(|(_, c)| **c != 0) {
                let (first, last) = bounds[dim];
                // The others together lie between these.
                let (rest_lo, rest_hi) =
                    (lo - (c * first).min(c * last), hi - (c * first).max(c * last));
                let (from, to) = (-rest_hi, i128::from(*size) - 1 - rest_lo);
                let (from, to) = if c > 0 { (from, to) } else { (-to, -from) };
                let c = c.abs();
                let least = from.div_euclid(c) + i128::from(from.rem_euclid(c) != 0);
                bounds[dim] = (first.max(least), last.min(to.div_euclid(c)));
                if bounds[dim].0 > bounds[dim].1 {
                    return None;
                }
            }
        }
    }
    Some(bounds)
}

/// Whether guards alone keep a form between 0 and below a size: as a sum of multiples of them.
fn bounded(at: &Affine, checks: &[(Affine, i64)], bounds: &Bounds, size: i128) -> bool {
    let (mut coeffs, mut constant) = (wide(at), i128::from(at.constant));
    let (mut lo, mut hi) = (0, 0);
    for (check, limit) in checks {
        let given = wide(check);
        let factor = given
            .iter()
            .zip(&coeffs)
            .find_map(|(&g, &c)| (g != 0 && c != 0 && c % g == 0).then(|| c / g));
        let Some(factor) = factor else { continue };
        coeffs.iter_mut().zip(&given).for_each(|(c, g)| *c -= factor * g);
        constant -= factor * i128::from(check.constant);
        let end = factor * (i128::from(*limit) - 1);
        (lo, hi) = (lo + end.min(0), hi + end.max(0));
    }
    let (rest_lo, rest_hi) = range(constant, &coeffs, bounds);
    lo + rest_lo >= 0 && hi + rest_hi < size
}

/// A place outside of `0..size` that a form reaches where guards hold.
pub(super) fn outside(
    at: &Affine,
    checks: &[(Affine, i64)],
    extents: &[usize],
    size: usize,
    fuel: &mut u64,
) -> Option<i128> {
    if count(extents) == 0 {
        return None;
    }
    let size = size as i128;
    let bounds = tightened(checks, extents)?;
    let (lo, hi) = range(i128::from(at.constant), &wide(at), &bounds);
    let inside = |place: i128| (0..size).contains(&place);
    if inside(lo) && inside(hi) {
        return None;
    }
    if checks.is_empty() {
        return Some(if inside(lo) { hi } else { lo });
    }
    if bounded(at, checks, &bounds, size) {
        return None;
    }
    let mut found = None;
    for_each(&bounds, fuel, |position| {
        if holds(checks, position) && !inside(value(at, position)) {
            found = Some(value(at, position));
        }
        found.is_none()
    });
    found
}

/// Calls `f` with positions until it says no: with all of them, or with samples if there are many.
/// Says whether these were all.
fn for_each(bounds: &Bounds, fuel: &mut u64, mut f: impl FnMut(&[i128]) -> bool) -> bool {
    let sizes: SmallVec<[u128; 6]> = bounds.iter().map(|(a, b)| (b - a + 1) as u128).collect();
    let all = sizes.iter().fold(1u128, |n, &k| n.saturating_mul(k));
    let exact = all <= u128::from(POSITIONS.min(*fuel));
    let samples = if exact { all as u64 } else { SAMPLES.min(*fuel) };
    *fuel -= samples;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for n in 0..samples {
        let mut rest = u128::from(n);
        let mut position: SmallVec<[i128; 6]> = SmallVec::new();
        for (k, &(first, last)) in bounds.iter().enumerate().rev() {
            let size = sizes[k];
            let i = if exact {
                let i = rest % size;
                rest /= size;
                i
            } else {
                // Ends first, then anything.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let random = u128::from(state >> 11) % size;
                if n < SAMPLES / 2 { (n as u128 >> (k % 7) & 1) * (size - 1) } else { random }
            };
            position.push((first + i as i128).min(last));
        }
        position.reverse();
        if !f(&position) {
            break;
        }
    }
    exact
}

/// The elements that a form reaches, as intervals; `None` if there are too many.
pub(super) fn runs(at: &Affine, extents: &[usize]) -> Option<Vec<(i64, i64)>> {
    if count(extents) == 0 {
        return Some(Vec::new());
    }
    let mut start = i128::from(at.constant);
    let mut axes: SmallVec<[(i128, i128); 6]> = SmallVec::new();
    for (&c, &k) in at.coeffs.iter().zip(extents) {
        let (c, k) = (i128::from(c), k as i128);
        start += if c < 0 { c * (k - 1) } else { 0 };
        if c != 0 && k > 1 {
            axes.push((c.abs(), k));
        }
    }
    axes.sort_unstable();
    // Innermost axes without gaps are one interval.
    let mut length = 1;
    let dense = axes.iter().take_while(|(c, k)| {
        let touches = *c <= length;
        length += if touches { c * (k - 1) } else { 0 };
        touches
    });
    let dense = dense.count();
    let outer = &axes[dense..];
    let many = outer.iter().fold(1u128, |n, (_, k)| n.saturating_mul(*k as u128));
    if many > MAX_RUNS as u128 {
        return None;
    }
    let mut starts = vec![start];
    for &(c, k) in outer {
        starts = starts.iter().flat_map(|&s| (0..k).map(move |i| s + c * i)).collect();
    }
    let run = |s: i128| Some((i64::try_from(s).ok()?, i64::try_from(s + length).ok()?));
    starts.into_iter().map(run).collect()
}

/// A place that a form has at two positions.
pub(super) fn twice(at: &Affine, extents: &[usize], fuel: &mut u64) -> Option<i128> {
    if count(extents) < 2 {
        return None;
    }
    let first = i128::from(at.constant);
    let mut axes: SmallVec<[(i128, i128); 6]> = SmallVec::new();
    for (&c, &k) in at.coeffs.iter().zip(extents).filter(|(_, k)| **k > 1) {
        if c == 0 {
            return Some(first);
        }
        axes.push((i128::from(c).abs(), k as i128));
    }
    axes.sort_unstable();
    let mut span = 0;
    let apart = axes.iter().all(|&(c, k)| {
        let apart = c > span;
        span += c * (k - 1);
        apart
    });
    if apart {
        return None;
    }
    for (n, &(a, ka)) in axes.iter().enumerate() {
        for &(b, kb) in &axes[..n] {
            let g = gcd(a, b);
            if b / g < ka && a / g < kb {
                return Some(first + a * (b / g));
            }
        }
    }
    let mut places: Vec<i128> = Vec::new();
    for_each(&whole(extents), fuel, |position| {
        places.push(value(at, position));
        true
    });
    if count(extents) != places.len() as u128 {
        return None;
    }
    places.sort_unstable();
    places.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A place that one position writes and another one reads, where its guards hold.
pub(super) fn read_by_another(
    write: &Affine,
    (read, checks): (&Affine, &[(Affine, i64)]),
    (extents, reduced): (&[usize], usize),
    fuel: &mut u64,
) -> Option<i128> {
    let parallel = extents.len() - reduced;
    if count(extents) == 0 || count(&extents[..parallel]) < 2 || write == read {
        return None;
    }
    let ((a, b), (c, d)) = (ends(write, extents), ends(read, extents));
    if b < c || d < a {
        return None;
    }
    let mut written: Vec<(i128, SmallVec<[i128; 6]>)> = Vec::new();
    let exact = for_each(&whole(&extents[..parallel]), fuel, |position| {
        written.push((value(write, position), position.into()));
        true
    });
    if !exact {
        return None;
    }
    written.sort_unstable();
    let mut found = None;
    for_each(&whole(extents), fuel, |position| {
        if holds(checks, position) {
            let place = value(read, position);
            let from = written.partition_point(|(at, _)| *at < place);
            let writers = written[from..].iter().take_while(|(at, _)| *at == place);
            if writers.into_iter().any(|(_, writer)| writer[..] != position[..parallel]) {
                found = Some(place);
            }
        }
        found.is_none()
    });
    found
}

/// Calls `f` with the places of a guarded form until it gives something, as far as that is known.
pub(super) fn find_place<T>(
    at: &Affine,
    checks: &[(Affine, i64)],
    extents: &[usize],
    fuel: &mut u64,
    mut f: impl FnMut(i128) -> Option<T>,
) -> Option<T> {
    if count(extents) == 0 {
        return None;
    }
    let mut found = None;
    for_each(&tightened(checks, extents)?, fuel, |position| {
        if holds(checks, position) {
            found = f(value(at, position));
        }
        found.is_none()
    });
    found
}

/// Whether two lists of intervals have a place in common, and which.
pub(super) fn common(one: &[(i64, i64)], other: &[(i64, i64)]) -> Option<i64> {
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    one.sort_unstable();
    other.sort_unstable();
    let (mut a, mut b) = (0, 0);
    while let (Some(&(lo, hi)), Some(&(from, to))) = (one.get(a), other.get(b)) {
        if lo.max(from) < hi.min(to) {
            return Some(lo.max(from));
        }
        if hi <= to { a += 1 } else { b += 1 }
    }
    None
}

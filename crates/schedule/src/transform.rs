//! How a Fourier transform of some length is done.

/// The steps of a transform of complex numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// By stages, one for each factor of the length.
    Direct(Vec<usize>),
    /// Of a length `a b`: `b` transforms of length `a`, a product with roots of unity, and `a`
    /// transforms of length `b`. Both are products of small factors.
    Split {
        /// The factors of `a`.
        columns: Vec<usize>,
        /// The factors of `b`.
        rows: Vec<usize>,
    },
    /// As a convolution, after Bluestein, by transforms of a longer length.
    Chirp {
        /// That length.
        length: usize,
        /// How it is transformed.
        by: Box<Transform>,
    },
}

/// Up to this length nothing is gained by splitting.
const SHORT: usize = 40;

/// So many numbers of 8 bytes are transformed side by side at most.
const SIDE_BY_SIDE: usize = 8;

impl Transform {
    /// The largest factor of a stage.
    pub const MOST_FACTOR: usize = 31;
    /// The longest transform of which several are done side by side: they stay in the second cache.
    pub const MOST_DIRECT: usize = 2048;

    /// The transform of a length.
    pub fn of(n: usize) -> Transform {
        let Some(factors) = factors(n) else {
            let length = chirp_length(n);
            return Transform::Chirp { length, by: Box::new(Transform::of(length)) };
        };
        if n <= SHORT {
            return Transform::Direct(factors);
        }
        // Most alike, and best multiples of what is done side by side.
        let cost = |a: usize| {
            let full = |k: usize| k.next_multiple_of(SIDE_BY_SIDE);
            a.saturating_mul(full(n / a))
                .saturating_add((n / a).saturating_mul(full(a)))
                .saturating_add((a + n / a).saturating_mul(SIDE_BY_SIDE))
        };
        let best =
            divisors(&factors).into_iter().filter(|&a| a > 1 && a < n).min_by_key(|&a| cost(a));
        match best
            .and_then(|a| Some((crate::transform::factors(a)?, crate::transform::factors(n / a)?)))
        {
            Some((columns, rows)) => Transform::Split { columns, rows },
            None => Transform::Direct(factors),
        }
    }

    /// Stages for all of a length at once, for several transforms side by side, where it is short.
    pub fn side_by_side(n: usize) -> Option<Vec<usize>> {
        factors(n).filter(|_| n <= Transform::MOST_DIRECT)
    }

    /// The room that it needs, in numbers of 8 bytes.
    pub fn room(n: usize) -> usize {
        let direct = |k: usize| k.saturating_mul(4 * SIDE_BY_SIDE).saturating_add(64);
        let longest = |factors: &[usize]| factors.iter().product::<usize>();
        let own = match Transform::of(n) {
            Transform::Direct(_) => direct(n),
            Transform::Split { columns, rows } => {
                let longest = longest(&columns).max(longest(&rows));
                direct(longest).saturating_add(n.saturating_mul(2) + 64)
            }
            Transform::Chirp { length, .. } => {
                Transform::room(length).saturating_add(length.saturating_mul(4) + 64)
            }
        };
        if n <= Transform::MOST_DIRECT { own.max(direct(n)) } else { own }
    }
}

/// The factors of a length, if they are small: as few as possible.
fn factors(n: usize) -> Option<Vec<usize>> {
    let (mut left, mut found) = (n.max(1), Vec::new());
    for prime in 3..=Transform::MOST_FACTOR {
        while left.is_multiple_of(prime) && (prime % 2 == 1) {
            found.push(prime);
            left /= prime;
        }
    }
    if !left.is_power_of_two() {
        return None;
    }
    let twos = left.trailing_zeros() as usize;
    match twos % 3 {
        1 if twos > 1 => found.extend([4, 4]),
        1 => found.push(2),
        2 => found.push(4),
        _ => {}
    }
    let eights = if twos % 3 == 1 && twos > 1 { twos / 3 - 1 } else { twos / 3 };
    found.extend(std::iter::repeat_n(8, eights));
    Some(found)
}

/// What divides a product.
fn divisors(factors: &[usize]) -> Vec<usize> {
    let primes = factors.iter().flat_map(|&k| match k {
        4 => vec![2, 2],
        8 => vec![2, 2, 2],
        _ => vec![k],
    });
    let mut all = vec![1];
    for prime in primes {
        let more: Vec<usize> = all.iter().map(|a| a * prime).collect();
        all.extend(more);
        all.sort_unstable();
        all.dedup();
    }
    all
}

/// The least length for a convolution of two sequences of length `n` whose factors are 2, 3 and 5,
/// 64 among its divisors.
fn chirp_length(n: usize) -> usize {
    let least = n.saturating_mul(2).saturating_sub(1);
    let mut best = least.checked_next_power_of_two().unwrap_or(usize::MAX).max(64);
    let mut fives = 64usize;
    while fives < best {
        let mut threes = fives;
        while threes < best {
            let twos = least.div_ceil(threes).next_power_of_two();
            best = best.min(threes.saturating_mul(twos));
            threes = threes.saturating_mul(3);
        }
        fives = fives.saturating_mul(5);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_product() {
        for n in 1..5000 {
            if let Some(all) = factors(n) {
                assert_eq!(all.iter().product::<usize>(), n);
                assert!(all.iter().all(|k| matches!(k, 2 | 4 | 8) || k % 2 == 1), "{all:?}");
            }
        }
        assert_eq!(factors(37), None);
    }

    #[test]
    fn transforms_have_their_lengths() {
        for n in (1..3000).chain([4096, 65_536, 100_000, 1_000_003, 1 << 20]) {
            match Transform::of(n) {
                Transform::Direct(all) => assert_eq!(all.iter().product::<usize>(), n),
                Transform::Split { columns, rows } => {
                    let [a, b] = [&columns, &rows].map(|f| f.iter().product::<usize>());
                    assert_eq!(a * b, n);
                    assert!(a.max(b) <= 64 * a.min(b), "{n} = {a} {b}");
                }
                Transform::Chirp { length, by } => {
                    assert!(length >= 2 * n - 1 && length <= 4 * n + 64, "{n}: {length}");
                    assert!(!matches!(*by, Transform::Chirp { .. }));
                }
            }
        }
    }
}

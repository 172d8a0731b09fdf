//! Small pieces that vectorise.

/// How many accumulators a sum has: enough to hide the latency of additions.
pub(super) const LANES: usize = 32;

/// The sum of accumulators.
pub(super) fn fold(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The sum of squares.
pub(super) fn sum_of_squares(x: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for k in 0..LANES {
            sums[k] = chunk[k].mul_add(chunk[k], sums[k]);
        }
    }
    fold(sums) + rest.iter().map(|x| x * x).sum::<f64>()
}

/// The largest element; that of none is -inf.
pub(super) fn largest(x: &[f64]) -> f64 {
    let mut tops = [f64::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for k in 0..LANES {
            tops[k] = if chunk[k] > tops[k] { chunk[k] } else { tops[k] };
        }
    }
    tops.iter().chain(rest).copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Writes $e^{x_j - c}$ to `to` and gives the sum.
pub(super) fn exponentials(x: &[f64], c: f64, to: &mut [f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let (to_chunks, to_rest) = to.as_chunks_mut::<LANES>();
    for (chunk, to) in chunks.iter().zip(to_chunks) {
        for k in 0..LANES {
            to[k] = exp(chunk[k] - c);
        }
        for k in 0..LANES {
            sums[k] += to[k];
        }
    }
    let mut sum = fold(sums);
    for (x, to) in rest.iter().zip(to_rest) {
        *to = exp(x - c);
        sum += *to;
    }
    sum
}

/// $e^x$ without branches: $x = n \ln 2 + r$ with $|r| \le \ln 2 / 2$, and the series of $e^r$.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // The logarithm of 2 in two parts, the first of which has zeros at its end.
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Adding it leaves a number without fraction in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-708.0, 709.0);
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = (-n).mul_add(LOW, (-n).mul_add(HIGH, x));
    let mut series = 1.0 / 6_227_020_800.0;
    for factorial in [
        479_001_600.0,
        39_916_800.0,
        3_628_800.0,
        362_880.0,
        40_320.0,
        5_040.0,
        720.0,
        120.0,
        24.0,
        6.0,
        2.0,
        1.0,
        1.0,
    ] {
        series = f64::mul_add(series, r, 1.0 / factorial);
    }
    // The bits of 2^n, from the last bits of the shifted number.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for k in -7000..7000 {
            let x = 0.1 * f64::from(k) + 0.003;
            let (found, wanted) = (exp(x), x.exp());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "{x}: {found} {wanted}");
        }
    }

    #[test]
    fn every_element_counts() {
        for n in [0, 1, 31, 32, 33, 100] {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(sum_of_squares(&x), x.iter().map(|x| x * x).sum::<f64>());
            assert_eq!(largest(&x), x.last().copied().unwrap_or(f64::NEG_INFINITY));
            let mut to = vec![0.0; x.len()];
            let sum = exponentials(&x, 50.0, &mut to);
            let wanted: f64 = x.iter().map(|x| (x - 50.0).exp()).sum();
            assert!((sum - wanted).abs() <= 1e-14 * wanted, "{n}: {sum} {wanted}");
            assert!(to.iter().zip(&x).all(|(y, x)| *y == exp(x - 50.0)));
        }
    }
}

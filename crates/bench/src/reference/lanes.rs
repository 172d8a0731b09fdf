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

/// The sum of `f` over the positions below `n`, in lanes.
#[inline(always)]
pub(super) fn sum(n: usize, mut f: impl FnMut(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = n / LANES * LANES;
    let mut at = 0;
    while at < whole {
        for (k, lane) in lanes.iter_mut().enumerate() {
            *lane += f(at + k);
        }
        at += LANES;
    }
    (whole..n).map(&mut f).sum::<f64>() + fold(lanes)
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
    fn sums_take_every_element() {
        for n in [0, 1, 31, 32, 33, 100] {
            assert_eq!(sum(n, |k| k as f64), (n * n.saturating_sub(1) / 2) as f64);
        }
    }
}

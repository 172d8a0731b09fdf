//! The reduction of large arguments of the circular functions: $x = n \pi/2 + r$ with $|r| \le \pi/4$.
//!
//! A double is $m 2^e$ with an integer $m$ of 53 bits. Of $2/\pi$, whose bits are a table, those that
//! give multiples of 4 in $x \cdot 2/\pi$ need not be multiplied, and those far behind the point are
//! too small to count: 192 bits in between give the quadrant and 190 bits of what is left of it. No
//! double is closer to a multiple of $\pi/2$ than some $2^{-62}$, so at least 75 bits of that are right.

use crate::machine::{Double, Machine};

/// 64 zeros, then the bits of $2/\pi$ behind the point, the first ones highest.
const TWO_OVER_PI: [u64; 20] = [
    0x0000000000000000,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
];

/// $\pi/2$ as a sum.
const HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17];

/// $r$ as a sum, and $n \bmod 4$, for a finite $x$ of at least $2^{30}$.
pub fn reduce_large(x: f64) -> (f64, f64, u64) {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 2047) as usize;
    let m = bits & ((1 << 52) - 1) | 1 << 52;
    // The first bit that counts stands for 2 in the product: 64 zeros before it, and e is at least
    // -22.
    let first = exponent.saturating_sub(1075 + 1 - 63).min(64 * 17 - 1);
    let (word, shift) = (first / 64, first % 64);
    let at = |n: usize| {
        let high = TWO_OVER_PI[word + n];
        if shift == 0 { high } else { high << shift | TWO_OVER_PI[word + n + 1] >> (64 - shift) }
    };
    let product = |w: u64| {
        let wide = u128::from(m) * u128::from(w);
        ((wide >> 64) as u64, wide as u64)
    };
    let ((h2, l2), (h1, l1), (_, l0)) = (product(at(2)), product(at(1)), product(at(0)));
    let (p1, carry) = h2.overflowing_add(l1);
    let p2 = h1.wrapping_add(l0).wrapping_add(u64::from(carry));
    // The quadrant, and the fraction behind it.
    let mut n = p2 >> 62;
    let mut a = [p2 << 2 | p1 >> 62, p1 << 2 | l2 >> 62, l2 << 2];
    let negative = a[0] >> 63 == 1;
    if negative {
        n += 1;
        a = [!a[0], !a[1], !a[2]];
    }
    let mut zeros = 0;
    while a[0] >> 63 == 0 && zeros < 128 {
        a = [a[0] << 1 | a[1] >> 63, a[1] << 1 | a[2] >> 63, a[2] << 1];
        zeros += 1;
    }
    let power = |n: u64| f64::from_bits((1023 - n) << 52);
    let high = (a[0] >> 11) as f64 * power(53 + zeros);
    let low = ((a[0] << 53 | a[1] >> 11) >> 11) as f64 * power(106 + zeros);
    let m = &Double;
    let r = m.mul(high, HALF_PI[0]);
    let error = m.mul_sub(high, HALF_PI[0], r);
    let rest = m.add(error, m.mul_add(high, HALF_PI[1], m.mul(low, HALF_PI[0])));
    let sum = m.add(r, rest);
    let rest = m.add(m.sub(r, sum), rest);
    if negative { (-sum, -rest, n & 3) } else { (sum, rest, n & 3) }
}

//! The prime field of order `2^61 - 1`: exact arithmetic for the tests.
//!
//! A ring identity that holds for random elements of a field of this size holds,
//! so comparisons over it need no tolerance.

use std::ops::{Add, Mul, Neg, Sub};

/// An element of the field with `2^61 - 1` elements, kept as its smallest representative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Fp(u64);

impl Fp {
    /// The order of the field, a Mersenne prime.
    pub const P: u64 = (1 << 61) - 1;
    /// The neutral element of addition.
    pub const ZERO: Fp = Fp(0);
    /// The neutral element of multiplication.
    pub const ONE: Fp = Fp(1);

    /// The element congruent to `x`.
    pub fn from_i64(x: i64) -> Fp {
        Fp(i128::from(x).rem_euclid(i128::from(Fp::P)) as u64)
    }

    /// The element congruent to `x`.
    pub fn from_u64(x: u64) -> Fp {
        Fp(x % Fp::P)
    }

    /// A finite float as `mantissa * 2^exponent` in the field; other floats as opaque values.
    ///
    /// Dyadic rationals map homomorphically, so `0.5 + 0.5 = 1` holds here too.
    pub fn from_f64(x: f64) -> Fp {
        if !x.is_finite() {
            return Fp::opaque(u64::MAX, &[Fp::from_u64(x.to_bits() >> 51)]);
        }
        let bits = x.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) =
            if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) };
        let magnitude = Fp::from_u64(mantissa) * Fp(2).pow(exponent);
        if x.is_sign_negative() { -magnitude } else { magnitude }
    }

    /// The smallest representative, in `0 .. P`.
    pub fn representative(self) -> u64 {
        self.0
    }

    /// `self` to an integer power; `0` to a negative power is `0`.
    pub fn pow(self, n: i64) -> Fp {
        let mut base = if n < 0 { self.recip() } else { self };
        let (mut n, mut y) = (n.unsigned_abs(), Fp::ONE);
        while n > 0 {
            if n & 1 == 1 {
                y = y * base;
            }
            base = base * base;
            n >>= 1;
        }
        y
    }

    /// The multiplicative inverse; that of `0` is `0`, so that the operation is total.
    pub fn recip(self) -> Fp {
        // Fermat: x^(p-2) = 1/x.
        let (mut base, mut n, mut y) = (self, Fp::P - 2, Fp::ONE);
        while n > 0 {
            if n & 1 == 1 {
                y = y * base;
            }
            base = base * base;
            n >>= 1;
        }
        y
    }

    /// An arbitrary but fixed function of `tag` and `xs`: stands for operations with no
    /// meaning in a field, so that rewrites around them can still be checked for equality.
    pub fn opaque(tag: u64, xs: &[Fp]) -> Fp {
        let mix = |h: u64, x: u64| {
            let h = (h ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (h >> 32)
        };
        Fp::from_u64(xs.iter().fold(mix(0x1234_5678, tag), |h, x| mix(h, x.0)))
    }
}

impl Add for Fp {
    type Output = Fp;
    fn add(self, other: Fp) -> Fp {
        let s = self.0 + other.0;
        Fp(if s >= Fp::P { s - Fp::P } else { s })
    }
}

impl Sub for Fp {
    type Output = Fp;
    fn sub(self, other: Fp) -> Fp {
        self + -other
    }
}

impl Neg for Fp {
    type Output = Fp;
    fn neg(self) -> Fp {
        Fp(if self.0 == 0 { 0 } else { Fp::P - self.0 })
    }
}

impl Mul for Fp {
    type Output = Fp;
    fn mul(self, other: Fp) -> Fp {
        Fp(((u128::from(self.0) * u128::from(other.0)) % u128::from(Fp::P)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_laws_on_samples() {
        let xs: Vec<Fp> =
            [0, 1, 2, -1, 12345, i64::MAX, i64::MIN].iter().map(|&x| Fp::from_i64(x)).collect();
        for &a in &xs {
            assert_eq!(a - a, Fp::ZERO);
            assert_eq!(a * a.recip(), if a == Fp::ZERO { Fp::ZERO } else { Fp::ONE });
            for &b in &xs {
                assert_eq!(a + b, b + a);
                for &c in &xs {
                    assert_eq!(a * (b + c), a * b + a * c);
                }
            }
        }
    }

    #[test]
    fn dyadic_floats_map_homomorphically() {
        for (a, b) in [(0.5, 0.25), (-3.75, 1024.0), (1e-300, 0.0), (7.0, -7.0)] {
            assert_eq!(Fp::from_f64(a) + Fp::from_f64(b), Fp::from_f64(a + b));
        }
        assert_eq!(Fp::from_f64(1.5) * Fp::from_f64(-0.125), Fp::from_f64(1.5 * -0.125));
        assert_eq!(Fp::from_f64(3.0), Fp::from_i64(3));
        assert_ne!(Fp::from_f64(f64::INFINITY), Fp::from_f64(f64::NEG_INFINITY));
    }
}

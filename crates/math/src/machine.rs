//! The operations that elementary functions are made of, and the scalars as machines.

/// The floating-point format of a [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `f64`, with `u64` as bits.
    Double,
    /// `f32`, with `u32` as bits.
    Single,
}

/// What an elementary function is written for: numbers of one format, their bits, and truth values.
///
/// A machine may compute at once (a scalar, some lanes) or write down what is to be computed (all
/// methods take `&self`, so that formulas can be nested: a recorder keeps its list in a cell). Each
/// operation is one or two instructions of AVX2 and of AVX-512, in both formats; all are exact or
/// rounded once, to nearest, ties to even, so that every machine gives the same bits. Which NaN an
/// operation gives is not said.
pub trait Machine {
    /// A number.
    type Real: Copy;
    /// The bits of a number, as an unsigned integer of the same width; arithmetic wraps.
    type Bits: Copy;
    /// A truth value.
    type Mask: Copy;

    /// The format of the numbers.
    fn precision(&self) -> Precision;

    /// The number nearest to `x`.
    fn real(&self, x: f64) -> Self::Real;
    /// These bits, the lower half of them in single precision.
    fn bits(&self, x: u64) -> Self::Bits;

    /// `a + b`
    fn add(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// `a - b`
    fn sub(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// `a * b`
    fn mul(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// `a / b`
    fn div(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// The square root of `a`.
    fn sqrt(&self, a: Self::Real) -> Self::Real;
    /// `a * b + c`, rounded once.
    fn mul_add(&self, a: Self::Real, b: Self::Real, c: Self::Real) -> Self::Real;
    /// `a * b - c`, rounded once.
    fn mul_sub(&self, a: Self::Real, b: Self::Real, c: Self::Real) -> Self::Real;
    /// `c - a * b`, rounded once.
    fn neg_mul_add(&self, a: Self::Real, b: Self::Real, c: Self::Real) -> Self::Real;
    /// `if a < b { a } else { b }`: the second if either is NaN or if they are equal.
    fn min(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// `if a > b { a } else { b }`: the second if either is NaN or if they are equal.
    fn max(&self, a: Self::Real, b: Self::Real) -> Self::Real;

    /// The bits of a number.
    fn bits_of(&self, a: Self::Real) -> Self::Bits;
    /// The number with these bits.
    fn with_bits(&self, a: Self::Bits) -> Self::Real;
    /// Bitwise and.
    fn bit_and(&self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn bit_or(&self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn bit_xor(&self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bits moved up by `n`, less than the width; zeros enter.
    fn shl(&self, a: Self::Bits, n: u32) -> Self::Bits;
    /// Bits moved down by `n`, less than the width; zeros enter.
    fn shr(&self, a: Self::Bits, n: u32) -> Self::Bits;
    /// `a + b` of integers.
    fn int_add(&self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a - b` of integers.
    fn int_sub(&self, a: Self::Bits, b: Self::Bits) -> Self::Bits;

    /// `a < b`; false if either is NaN, as are the other comparisons.
    fn lt(&self, a: Self::Real, b: Self::Real) -> Self::Mask;
    /// `a <= b`
    fn le(&self, a: Self::Real, b: Self::Real) -> Self::Mask;
    /// `a == b`
    fn eq(&self, a: Self::Real, b: Self::Real) -> Self::Mask;
    /// Whether the highest bit is set.
    fn top_bit(&self, a: Self::Bits) -> Self::Mask;
    /// Both.
    fn both(&self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn either(&self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `a` but not `b`.
    fn except(&self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `if mask { a } else { b }`
    fn select(&self, mask: Self::Mask, a: Self::Real, b: Self::Real) -> Self::Real;

    /// `-0.0`, whose only bit is the sign.
    #[inline(always)]
    fn sign_bit(&self) -> Self::Bits {
        match self.precision() {
            Precision::Double => self.bits(1 << 63),
            Precision::Single => self.bits(1 << 31),
        }
    }

    /// `-a`
    #[inline(always)]
    fn neg(&self, a: Self::Real) -> Self::Real {
        self.with_bits(self.bit_xor(self.bits_of(a), self.sign_bit()))
    }

    /// `|a|`
    #[inline(always)]
    fn abs(&self, a: Self::Real) -> Self::Real {
        let rest = match self.precision() {
            Precision::Double => self.bits(!(1 << 63)),
            Precision::Single => self.bits(!(1 << 31)),
        };
        self.with_bits(self.bit_and(self.bits_of(a), rest))
    }

    /// `a`, which has no sign, with the sign of `b`.
    #[inline(always)]
    fn with_sign(&self, a: Self::Real, b: Self::Real) -> Self::Real {
        let sign = self.bit_and(self.bits_of(b), self.sign_bit());
        self.with_bits(self.bit_or(self.bits_of(a), sign))
    }

    /// The integer nearest to `a * b`, and what [`Machine::scale`] takes; its absolute value must
    /// not exceed 2^30 (2^20 in single precision).
    #[inline(always)]
    fn round_product(&self, a: Self::Real, b: Self::Real) -> Rounded<Self::Real> {
        // Numbers of the size of `shift` are integers, so adding it rounds, and leaves the integer
        // in the lowest bits: above a multiple of 2^12 (of 2^9) plus twice the exponent's bias.
        let shift = match self.precision() {
            Precision::Double => self.real(SHIFT64),
            Precision::Single => self.real(SHIFT32),
        };
        let shifted = self.mul_add(a, b, shift);
        Rounded { value: self.sub(shifted, shift), shifted }
    }

    /// 2 to the power `n + offset`, which must be a normal number.
    #[inline(always)]
    fn power(&self, n: Rounded<Self::Real>, offset: i64) -> Self::Real {
        let (bias, fraction) = match self.precision() {
            Precision::Double => (1023, 52),
            Precision::Single => (127, 23),
        };
        let offset = self.bits((offset - bias) as u64);
        self.with_bits(self.shl(self.int_add(self.bits_of(n.shifted), offset), fraction))
    }

    /// `a * 2^n`, rounded once (so `vscalef` does it), for `2^-10 <= |a| <= 2^10` and
    /// `-1100 <= n <= 1030` (`-160 <= n <= 130` in single precision).
    #[inline(always)]
    fn scale(&self, a: Self::Real, n: Rounded<Self::Real>) -> Self::Real {
        let fraction = match self.precision() {
            Precision::Double => 52,
            Precision::Single => 23,
        };
        // Two powers of two, since one may be out of range; the first product is exact.
        let n = self.bits_of(n.shifted);
        let half = self.shr(n, 1);
        let rest = self.int_sub(n, half);
        let power = |n| self.with_bits(self.shl(n, fraction));
        self.mul(self.mul(a, power(half)), power(rest))
    }
}

/// An integer as a number.
#[derive(Clone, Copy, Debug)]
pub struct Rounded<R> {
    /// The integer.
    pub value: R,
    /// The integer plus a constant of the format, with the integer in its lowest bits.
    pub shifted: R,
}

/// 1.5 * 2^52 + 2 * 1023, and the same in single precision.
const SHIFT64: f64 = 6_755_399_441_055_744.0 + 2046.0;
const SHIFT32: f64 = 12_582_912.0 + 254.0;

/// One `f64` at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Double;

/// One `f32` at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Single;

/// Scalars as machines. `inline(always)`: so that loops over functions become vector instructions
/// of whatever the caller is compiled for.
macro_rules! scalar_machine {
    ($machine:ident, $real:ty, $bits:ty) => {
        impl Machine for $machine {
            type Real = $real;
            type Bits = $bits;
            type Mask = bool;

            #[inline(always)]
            fn precision(&self) -> Precision {
                Precision::$machine
            }
            #[inline(always)]
            fn real(&self, x: f64) -> $real {
                x as $real
            }
            #[inline(always)]
            fn bits(&self, x: u64) -> $bits {
                x as $bits
            }
            #[inline(always)]
            fn add(&self, a: $real, b: $real) -> $real {
                a + b
            }
            #[inline(always)]
            fn sub(&self, a: $real, b: $real) -> $real {
                a - b
            }
            #[inline(always)]
            fn mul(&self, a: $real, b: $real) -> $real {
                a * b
            }
            #[inline(always)]
            fn div(&self, a: $real, b: $real) -> $real {
                a / b
            }
            #[inline(always)]
            fn sqrt(&self, a: $real) -> $real {
                a.sqrt()
            }
            #[inline(always)]
            fn mul_add(&self, a: $real, b: $real, c: $real) -> $real {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn mul_sub(&self, a: $real, b: $real, c: $real) -> $real {
                a.mul_add(b, -c)
            }
            #[inline(always)]
            fn neg_mul_add(&self, a: $real, b: $real, c: $real) -> $real {
                (-a).mul_add(b, c)
            }
            #[inline(always)]
            fn min(&self, a: $real, b: $real) -> $real {
                if a < b { a } else { b }
            }
            #[inline(always)]
            fn max(&self, a: $real, b: $real) -> $real {
                if a > b { a } else { b }
            }
            #[inline(always)]
            fn bits_of(&self, a: $real) -> $bits {
                a.to_bits()
            }
            #[inline(always)]
            fn with_bits(&self, a: $bits) -> $real {
                <$real>::from_bits(a)
            }
            #[inline(always)]
            fn bit_and(&self, a: $bits, b: $bits) -> $bits {
                a & b
            }
            #[inline(always)]
            fn bit_or(&self, a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline(always)]
            fn bit_xor(&self, a: $bits, b: $bits) -> $bits {
                a ^ b
            }
            #[inline(always)]
            fn shl(&self, a: $bits, n: u32) -> $bits {
                a << n
            }
            #[inline(always)]
            fn shr(&self, a: $bits, n: u32) -> $bits {
                a >> n
            }
            #[inline(always)]
            fn int_add(&self, a: $bits, b: $bits) -> $bits {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn int_sub(&self, a: $bits, b: $bits) -> $bits {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            fn lt(&self, a: $real, b: $real) -> bool {
                a < b
            }
            #[inline(always)]
            fn le(&self, a: $real, b: $real) -> bool {
                a <= b
            }
            #[inline(always)]
            fn eq(&self, a: $real, b: $real) -> bool {
                a == b
            }
            #[inline(always)]
            fn top_bit(&self, a: $bits) -> bool {
                a >> (<$bits>::BITS - 1) != 0
            }
            #[inline(always)]
            fn both(&self, a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn either(&self, a: bool, b: bool) -> bool {
                a | b
            }
            #[inline(always)]
            fn except(&self, a: bool, b: bool) -> bool {
                a & !b
            }
            #[inline(always)]
            fn select(&self, mask: bool, a: $real, b: $real) -> $real {
                if mask { a } else { b }
            }
        }
    };
}

scalar_machine!(Double, f64, u64);
scalar_machine!(Single, f32, u32);

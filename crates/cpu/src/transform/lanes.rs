//! Vectors that transforms compute with: a number of each of several transforms.

use std::ops::{Add, Mul, Sub};

/// Numbers that are transformed.
pub(super) trait Float: Copy + Add<Output = Self> + Mul<Output = Self> + 'static {
    const ZERO: Self;

    fn of(x: f64) -> Self;
}

impl Float for f64 {
    const ZERO: f64 = 0.0;

    fn of(x: f64) -> f64 {
        x
    }
}

impl Float for f32 {
    const ZERO: f32 = 0.0;

    fn of(x: f64) -> f32 {
        x as f32
    }
}

/// A vector in a register.
///
/// # Safety
/// Every function needs the instructions of its implementation, and pointers to `N` elements.
pub(super) trait Lanes: Copy {
    type E: Float;
    const N: usize;

    /// # Safety
    /// See the trait.
    unsafe fn splat(x: Self::E) -> Self;
    /// # Safety
    /// See the trait.
    unsafe fn load(from: *const Self::E) -> Self;
    /// # Safety
    /// See the trait.
    unsafe fn store(self, to: *mut Self::E);
    /// # Safety
    /// See the trait.
    unsafe fn plus(self, other: Self) -> Self;
    /// # Safety
    /// See the trait.
    unsafe fn minus(self, other: Self) -> Self;
    /// # Safety
    /// See the trait.
    unsafe fn times(self, other: Self) -> Self;
    /// `self * factor + term`
    ///
    /// # Safety
    /// See the trait.
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self;
    /// `term - self * factor`
    ///
    /// # Safety
    /// See the trait.
    unsafe fn times_from(self, factor: Self, term: Self) -> Self;
}

/// Vectors for any machine: arrays that the compiler may put into registers.
#[derive(Clone, Copy)]
pub(super) struct Plain<E, const N: usize>([E; N]);

impl<E: Float + Sub<Output = E>, const N: usize> Plain<E, N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(E, E) -> E) -> Self {
        Plain(std::array::from_fn(|n| f(self.0[n], other.0[n])))
    }
}

impl<E: Float + Sub<Output = E>, const N: usize> Lanes for Plain<E, N> {
    type E = E;
    const N: usize = N;

    #[inline(always)]
    unsafe fn splat(x: E) -> Self {
        Plain([x; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const E) -> Self {
        // SAFETY: by the contract of the trait.
        Plain(unsafe { from.cast::<[E; N]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut E) {
        // SAFETY: by the contract of the trait.
        unsafe { to.cast::<[E; N]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(term, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn times_from(self, factor: Self, term: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(term, |a, b| b - a)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    //! Vectors of 256 and of 512 bits.

    use std::arch::x86_64::*;

    use super::Lanes;

    macro_rules! lanes {
        ($name:ident, $register:ty, $element:ty, $n:literal, $splat:ident, $load:ident, $store:ident,
         $add:ident, $sub:ident, $mul:ident, $fma:ident, $fnma:ident) => {
            #[derive(Clone, Copy)]
            pub(in crate::transform) struct $name($register);

            // SAFETY of all that follows: the instructions are there, and so are the elements, by the
            // contract of the trait.
            impl Lanes for $name {
                type E = $element;
                const N: usize = $n;

                #[inline(always)]
                unsafe fn splat(x: $element) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $splat(x) })
                }

                #[inline(always)]
                unsafe fn load(from: *const $element) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $load(from) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $element) {
                    // SAFETY: see above.
                    unsafe { $store(to, self.0) }
                }

                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $add(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn minus(self, other: Self) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $sub(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $mul(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $fma(self.0, factor.0, term.0) })
                }

                #[inline(always)]
                unsafe fn times_from(self, factor: Self, term: Self) -> Self {
                    // SAFETY: see above.
                    $name(unsafe { $fnma(self.0, factor.0, term.0) })
                }
            }
        };
    }

    lanes!(
        F64x4,
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd
    );
    lanes!(
        F32x8,
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps
    );
    lanes!(
        F64x8,
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd
    );
    lanes!(
        F32x16,
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps
    );
}

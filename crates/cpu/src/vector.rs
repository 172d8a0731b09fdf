//! Vectors of elements: the few operations that products of matrices and Fourier transforms need, for
//! each instruction set.

use std::ops::{Add, Mul, Sub};

/// Elements that are multiplied, added and subtracted.
pub(crate) trait Real:
    Copy + PartialEq + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    const ZERO: Self;

    fn of(x: f64) -> Self;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;

    fn of(x: f64) -> f64 {
        x
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;

    fn of(x: f64) -> f32 {
        x as f32
    }
}

/// A vector in a register.
///
/// # Safety
/// Every function needs the instructions of its implementation, and pointers to as many elements
/// as it reads or writes: `LANES`, or the `n` that it is told.
pub(crate) trait Vector: Copy {
    type Element: Real;
    const LANES: usize;

    /// # Safety
    /// See the trait.
    unsafe fn splat(x: Self::Element) -> Self;

    /// # Safety
    /// See the trait.
    unsafe fn load(from: *const Self::Element) -> Self;

    /// The first `n` elements, and zeros.
    ///
    /// # Safety
    /// See the trait; `n` is at most `LANES`.
    unsafe fn load_some(from: *const Self::Element, n: usize) -> Self;

    /// # Safety
    /// See the trait.
    unsafe fn store(self, to: *mut Self::Element);

    /// Stores the first `n` elements.
    ///
    /// # Safety
    /// See the trait; `n` is at most `LANES`.
    unsafe fn store_some(self, to: *mut Self::Element, n: usize);

    /// # Safety
    /// See the trait.
    unsafe fn plus(self, other: Self) -> Self;

    /// # Safety
    /// See the trait.
    unsafe fn minus(self, other: Self) -> Self;

    /// # Safety
    /// See the trait.
    unsafe fn times(self, other: Self) -> Self;

    /// `self * factor + term`, rounded once where the machine can.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;

    /// `term - self * factor`, rounded once where the machine can.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn mul_sub_from(self, factor: Self, term: Self) -> Self;
}

/// Vectors for any machine: arrays that the compiler may put into registers.
#[derive(Clone, Copy)]
pub(crate) struct Plain<E, const N: usize>([E; N]);

impl<E: Real, const N: usize> Plain<E, N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(E, E) -> E) -> Self {
        Plain(std::array::from_fn(|n| f(self.0[n], other.0[n])))
    }
}

impl<E: Real, const N: usize> Vector for Plain<E, N> {
    type Element = E;
    const LANES: usize = N;

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
    unsafe fn load_some(from: *const E, n: usize) -> Self {
        let mut all = [E::ZERO; N];
        for (k, x) in all.iter_mut().enumerate().take(n) {
            // SAFETY: by the contract of the trait.
            *x = unsafe { from.add(k).read() };
        }
        Plain(all)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut E) {
        // SAFETY: by the contract of the trait.
        unsafe { to.cast::<[E; N]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut E, n: usize) {
        for (k, &x) in self.0.iter().enumerate().take(n) {
            // SAFETY: by the contract of the trait.
            unsafe { to.add(k).write(x) };
        }
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
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        let mut sum = term.0;
        for (k, x) in sum.iter_mut().enumerate() {
            *x = self.0[k] * factor.0[k] + *x;
        }
        Plain(sum)
    }

    #[inline(always)]
    unsafe fn mul_sub_from(self, factor: Self, term: Self) -> Self {
        self.zip(factor, |a, b| a * b).zip(term, |a, b| b - a)
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    //! Vectors of 256 and of 512 bits.

    use std::arch::x86_64::*;

    use super::Vector;

    /// Ones and zeros from which the mask of the first `n` lanes is read at `LANES - n`.
    static MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    /// A vector type by its instructions. `$mask` makes the mask of the first `n` lanes.
    macro_rules! vector {
        ($name:ident, $register:ty, $element:ty, $lanes:literal, $splat:ident, $load:ident,
         $store:ident, [$add:ident, $sub:ident, $mul:ident, $fma:ident, $fnma:ident], |$n:ident| $mask:expr,
         |$from:ident, $m:ident| $load_some:expr, |$to:ident, $k:ident, $x:ident| $store_some:expr) => {
            #[derive(Clone, Copy)]
            pub(crate) struct $name($register);

            impl Vector for $name {
                type Element = $element;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn splat(x: $element) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $splat(x) })
                }

                #[inline(always)]
                unsafe fn load(from: *const $element) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $load(from) })
                }

                #[inline(always)]
                unsafe fn load_some($from: *const $element, $n: usize) -> Self {
                    debug_assert!($n <= $lanes, "more elements than lanes");
                    // SAFETY: by the contract of the trait; lanes out of the mask are not read.
                    $name(unsafe {
                        let $m = $mask;
                        $load_some
                    })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $element) {
                    // SAFETY: by the contract of the trait.
                    unsafe { $store(to, self.0) }
                }

                #[inline(always)]
                unsafe fn store_some(self, $to: *mut $element, $n: usize) {
                    debug_assert!($n <= $lanes, "more elements than lanes");
                    let $x = self.0;
                    // SAFETY: by the contract of the trait; lanes out of the mask are not written.
                    unsafe {
                        let $k = $mask;
                        $store_some
                    }
                }

                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $add(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn minus(self, other: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $sub(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $mul(self.0, other.0) })
                }

                #[inline(always)]
                unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $fma(self.0, factor.0, term.0) })
                }

                #[inline(always)]
                unsafe fn mul_sub_from(self, factor: Self, term: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $fnma(self.0, factor.0, term.0) })
                }
            }
        };
    }

    vector!(
        F64x4,
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd],
        |n| _mm256_loadu_si256(MASKS.as_ptr().add(4 - n).cast()),
        |from, mask| _mm256_maskload_pd(from, mask),
        |to, mask, x| _mm256_maskstore_pd(to, mask, x)
    );
    vector!(
        F32x8,
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps],
        |n| _mm256_loadu_si256(MASKS.as_ptr().cast::<i32>().add(8 - n).cast()),
        |from, mask| _mm256_maskload_ps(from, mask),
        |to, mask, x| _mm256_maskstore_ps(to, mask, x)
    );
    vector!(
        F64x8,
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd],
        |n| (0xff_u32 >> (8 - n)) as __mmask8,
        |from, mask| _mm512_maskz_loadu_pd(mask, from),
        |to, mask, x| _mm512_mask_storeu_pd(to, mask, x)
    );
    vector!(
        F32x16,
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps],
        |n| (0xffff_u32 >> (16 - n)) as __mmask16,
        |from, mask| _mm512_maskz_loadu_ps(mask, from),
        |to, mask, x| _mm512_mask_storeu_ps(to, mask, x)
    );
}

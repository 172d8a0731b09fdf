//! Vectors of elements: the few operations that a matrix product needs, for each instruction set.

use std::ops::{Add, Mul};

/// Elements that are multiplied and added.
pub(crate) trait Real:
    Copy + PartialEq + Add<Output = Self> + Mul<Output = Self> + 'static
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
pub(super) trait Vector: Copy {
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

    /// `self * factor + term`, rounded once where the machine can.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// Vectors for any machine: arrays that the compiler may put into registers.
#[derive(Clone, Copy)]
pub(super) struct Plain<E, const N: usize>([E; N]);

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
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        let mut sum = term.0;
        for (k, x) in sum.iter_mut().enumerate() {
            *x = self.0[k] * factor.0[k] + *x;
        }
        Plain(sum)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    //! Vectors of 256 and of 512 bits.

    use std::arch::x86_64::*;

    use super::Vector;

    /// Ones and zeros from which the mask of the first `n` lanes is read at `LANES - n`.
    static MASKS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    /// A vector type by its instructions. `$mask` makes the mask of the first `n` lanes.
    macro_rules! vector {
        ($name:ident, $register:ty, $element:ty, $lanes:literal, $splat:ident, $load:ident,
         $store:ident, $fma:ident, |$n:ident| $mask:expr,
         |$from:ident, $m:ident| $load_some:expr, |$to:ident, $k:ident, $x:ident| $store_some:expr) => {
            #[derive(Clone, Copy)]
            pub(in crate::contract) struct $name($register);

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
                unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: by the contract of the trait.
                    $name(unsafe { $fma(self.0, factor.0, term.0) })
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
        _mm256_fmadd_pd,
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
        _mm256_fmadd_ps,
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
        _mm512_fmadd_pd,
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
        _mm512_fmadd_ps,
        |n| (0xffff_u32 >> (16 - n)) as __mmask16,
        |from, mask| _mm512_maskz_loadu_ps(mask, from),
        |to, mask, x| _mm512_mask_storeu_ps(to, mask, x)
    );
}

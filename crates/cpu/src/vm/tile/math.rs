//! Elementary functions on tiles: the formulas of `cotan_math` in loops, which the compiler turns
//! into vector instructions.

use cotan_array::Dtype;
use cotan_math::{Binary, Double, Precision, Single, Unary, double, single};

use super::{Isa, TileFunction};

/// The functions of one argument: whether they have a formula in `f32`, and whether formulas hold
/// for all arguments or up to a limit.
macro_rules! list {
    ($then:ident $meta:tt) => { $then! { $meta;
        Exp exp own, Exp2 exp2 own, Expm1 expm1 own, Log log own, Log2 log2 own, Log10 log10 rounded,
        Log1p log1p own, Cbrt cbrt rounded, Asin asin rounded, Acos acos rounded,
        Atan atan rounded, Sinh sinh rounded, Cosh cosh rounded, Tanh tanh own,
        Asinh asinh rounded, Acosh acosh rounded, Atanh atanh rounded, Erf erf rounded,
        Erfc erfc rounded, Logistic logistic own;
        Sin sin own, Cos cos own, Tan tan rounded
    } };
}

/// The functions for one instruction set.
macro_rules! level {
    ($meta:tt; $($all:ident $all_name:ident $all_kind:ident),*;
        $($limited:ident $limited_name:ident $limited_kind:ident),*) => {
        mod wide {
            use super::*;
            $(with! { $meta function $all_name(a: f64) -> f64 = double::$all_name(&Double, a) })*
            $(with! { $meta limited $limited_name $limited f64 Double own })*
            with! { $meta function pow(a: f64, b: f64) -> f64 = double::pow(&Double, a, b) }
            with! { $meta function atan2(a: f64, b: f64) -> f64 = double::atan2(&Double, a, b) }
        }
        mod narrow {
            use super::*;
            $(with! { $meta function $all_name(a: f32) -> f32 = at_f32!($all_kind $all_name a) })*
            $(with! { $meta limited $limited_name $limited f32 Single $limited_kind })*
            with! { $meta function pow(a: f32, b: f32) -> f32 =
                double::pow(&Double, f64::from(a), f64::from(b)) as f32 }
            with! { $meta function atan2(a: f32, b: f32) -> f32 =
                double::atan2(&Double, f64::from(a), f64::from(b)) as f32 }
        }

        pub(super) fn unary(f: Unary, dtype: Dtype) -> TileFunction {
            let narrow = dtype == Dtype::F32;
            match f {
                $(Unary::$all if narrow => narrow::$all_name,
                Unary::$all => wide::$all_name,)*
                $(Unary::$limited if narrow => narrow::$limited_name,
                Unary::$limited => wide::$limited_name,)*
            }
        }

        pub(super) fn binary(f: Binary, dtype: Dtype) -> TileFunction {
            match (f, dtype) {
                (Binary::Pow, Dtype::F32) => narrow::pow,
                (Binary::Pow, _) => wide::pow,
                (Binary::Atan2, Dtype::F32) => narrow::atan2,
                (Binary::Atan2, _) => wide::atan2,
            }
        }
    };
}

/// A macro applied to an attribute, or to none, and what follows.
macro_rules! with {
    ({ $(#[$meta:meta])? } $then:ident $($rest:tt)*) => { $then! { $(#[$meta])? $($rest)* } };
}

/// A function at an `f32`.
macro_rules! at_f32 {
    (own $name:ident $x:expr) => {
        single::$name(&Single, $x)
    };
    (rounded $name:ident $x:expr) => {
        double::$name(&Double, f64::from($x)) as f32
    };
}

/// A function whose formula holds up to a limit. A tile with a lane past it is computed lane by
/// lane: the target may be the operand, so that there is no mending afterwards.
macro_rules! limited {
    ($(#[$meta:meta])? $name:ident $f:ident $t:ident $precision:ident $kind:ident) => {
        /// # Safety
        /// The operand has `n` elements, and so has the target room.
        $(#[$meta])?
        pub(super) unsafe fn $name(
            to: *mut u8,
            a: *const u8,
            _b: *const u8,
            _c: *const u8,
            n: usize,
        ) {
            let (to, a) = (to.cast::<$t>(), a.cast::<$t>());
            let limit = limited!(@limit $kind $f $precision) as $t;
            let mut past = false;
            for k in 0..n {
                // SAFETY: by the contract of this function.
                past |= unsafe { a.add(k).read() }.abs() > limit;
            }
            for k in 0..n {
                // SAFETY: by the contract of this function.
                unsafe {
                    let x = a.add(k).read();
                    to.add(k).write(if past {
                        Unary::$f.$t(x)
                    } else {
                        limited!(@formula $kind $name $t x)
                    });
                }
            }
        }
    };
    (@limit own $f:ident $precision:ident) => {
        Unary::$f.limit(Precision::$precision).unwrap_or(f64::INFINITY)
    };
    (@limit rounded $f:ident $precision:ident) => {
        Unary::$f.limit(Precision::Double).unwrap_or(f64::INFINITY)
    };
    (@formula own $name:ident f64 $x:ident) => { double::$name(&Double, $x) };
    (@formula $kind:ident $name:ident f32 $x:ident) => { at_f32!($kind $name $x) };
}

mod plain {
    use super::*;
    list!(level {});
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    list!(level { #[target_feature(enable = "avx2,fma,bmi1,bmi2")] });
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    list!(level {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2")]
    });
}

/// A function of one argument on tiles of a float type.
pub(super) fn unary(isa: Isa, f: Unary, dtype: Dtype) -> TileFunction {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::unary(f, dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::unary(f, dtype),
        _ => plain::unary(f, dtype),
    }
}

/// A function of two arguments on tiles of a float type.
pub(super) fn binary(isa: Isa, f: Binary, dtype: Dtype) -> TileFunction {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::binary(f, dtype),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::binary(f, dtype),
        _ => plain::binary(f, dtype),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use std::hint::black_box;
    use std::time::Instant;

    /// Random numbers: of all exponents, around 1, and special ones.
    struct Samples(u64);

    impl Samples {
        fn bits(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        /// Between -1 and 1.
        fn unit(&mut self) -> f64 {
            (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }

        fn f64(&mut self) -> f64 {
            match self.bits() % 8 {
                0 => f64::from_bits(self.bits()),
                1 => f64::from(f32::from_bits(self.bits() as u32)),
                2 => 800.0 * self.unit(),
                3 => {
                    let special = [0.0, 1.0, f64::INFINITY, f64::NAN, 5e-324, 2.0, 0.5];
                    special[(self.bits() % 7) as usize].copysign(self.unit())
                }
                _ => 6.0 * self.unit(),
            }
        }

        /// `n` numbers below the limit.
        fn many(&mut self, n: usize, limit: f64) -> Vec<f64> {
            let mut xs = Vec::new();
            while xs.len() < n {
                let x = self.f64();
                if x.abs() <= limit || x.is_nan() {
                    xs.push(x);
                }
            }
            xs
        }
    }

    fn cases() -> usize {
        if cfg!(miri) { 10 } else { cotan_testkit::scaled(2000) }
    }

    fn run<T: Copy>(f: TileFunction, a: &[T], b: &[T]) -> Vec<T> {
        let mut to = a.to_vec();
        // SAFETY: operands and target have the length.
        unsafe {
            let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
            f(to.as_mut_ptr().cast(), a, b, std::ptr::null(), to.len());
        }
        to
    }

    fn assert_same(name: &str, isa: Isa, args: &[f64], found: f64, wanted: f64) {
        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(same, "{name} {args:?} by {isa:?}: {found:e}, not {wanted:e}");
    }

    fn check_unary(f: Unary, a: &[f64]) {
        let narrow: Vec<f32> = a.iter().map(|&x| x as f32).collect();
        for isa in Isa::all() {
            for (&x, y) in a.iter().zip(run(unary(isa, f, Dtype::F64), a, a)) {
                assert_same(f.name(), isa, &[x], y, f.f64(x));
            }
            for (&x, y) in narrow.iter().zip(run(unary(isa, f, Dtype::F32), &narrow, &narrow)) {
                assert_same(f.name(), isa, &[x.into()], y.into(), f.f32(x).into());
            }
        }
    }

    #[test]
    fn tiles_of_one_argument_are_the_functions() {
        let mut samples = Samples(0x5eed);
        for &f in Unary::ALL {
            check_unary(f, &samples.many(cases(), f64::INFINITY));
            check_unary(f, &samples.many(cases(), 60_000.0));
        }
    }

    #[test]
    fn tiles_of_two_arguments_are_the_functions() {
        let mut samples = Samples(0xf00d);
        for &f in Binary::ALL {
            let [a, b] = [(); 2].map(|()| samples.many(4 * cases(), f64::INFINITY));
            let [c, d] = [&a, &b].map(|xs| xs.iter().map(|&x| x as f32).collect::<Vec<f32>>());
            for isa in Isa::all() {
                let y = run(binary(isa, f, Dtype::F64), &a, &b);
                let z = run(binary(isa, f, Dtype::F32), &c, &d);
                for k in 0..a.len() {
                    assert_same(f.name(), isa, &[a[k], b[k]], y[k], f.f64(a[k], b[k]));
                    let args = [c[k].into(), d[k].into()];
                    assert_same(f.name(), isa, &args, z[k].into(), f.f32(c[k], d[k]).into());
                }
            }
        }
    }

    /// Nanoseconds for an element, the best of many rounds.
    fn nanoseconds(n: usize, mut round: impl FnMut()) -> f64 {
        let mut best = f64::INFINITY;
        for _ in 0..400 {
            let start = Instant::now();
            round();
            best = best.min(start.elapsed().as_secs_f64());
        }
        best * 1e9 / n as f64
    }

    /// One call for each element.
    fn each(n: usize, a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
        let mut to = vec![0.0; n];
        nanoseconds(n, || {
            for k in 0..n {
                to[k] = f(black_box(a[k]), b[k]);
            }
            black_box(&mut to);
        })
    }

    #[test]
    #[ignore = "a measurement: cargo test --release -p cotan-cpu --lib times -- --ignored --nocapture"]
    fn times() {
        type Scalar = (fn(f64) -> f64, fn(f64) -> f64);
        let others = |f: Unary| -> Scalar {
            match f {
                Unary::Exp => (libm::exp, f64::exp),
                Unary::Exp2 => (libm::exp2, f64::exp2),
                Unary::Expm1 => (libm::expm1, f64::exp_m1),
                Unary::Log => (libm::log, f64::ln),
                Unary::Log2 => (libm::log2, f64::log2),
                Unary::Log10 => (libm::log10, f64::log10),
                Unary::Log1p => (libm::log1p, f64::ln_1p),
                Unary::Cbrt => (libm::cbrt, f64::cbrt),
                Unary::Sin => (libm::sin, f64::sin),
                Unary::Cos => (libm::cos, f64::cos),
                Unary::Tan => (libm::tan, f64::tan),
                Unary::Asin => (libm::asin, f64::asin),
                Unary::Acos => (libm::acos, f64::acos),
                Unary::Atan => (libm::atan, f64::atan),
                Unary::Sinh => (libm::sinh, f64::sinh),
                Unary::Cosh => (libm::cosh, f64::cosh),
                Unary::Tanh => (libm::tanh, f64::tanh),
                Unary::Asinh => (libm::asinh, f64::asinh),
                Unary::Acosh => (libm::acosh, f64::acosh),
                Unary::Atanh => (libm::atanh, f64::atanh),
                Unary::Erf => (libm::erf, libm::erf),
                Unary::Erfc => (libm::erfc, libm::erfc),
                Unary::Logistic => {
                    (|x| 1.0 / (1.0 + libm::exp(-x)), |x: f64| 1.0 / (1.0 + (-x).exp()))
                }
            }
        };
        let n = 2048;
        let mut samples = Samples(1);
        let isa = isa::best();
        println!("ns for an element by {isa:?}; f64 tile, f32 tile, f64 scalar, libm, std");
        for &f in Unary::ALL {
            let (low, high) = match f {
                Unary::Log | Unary::Log2 | Unary::Log10 => (0.01, 10.0),
                Unary::Log1p => (-0.9, 10.0),
                Unary::Acosh => (1.0, 10.0),
                Unary::Asin | Unary::Acos | Unary::Atanh => (-1.0, 1.0),
                _ => (-5.0, 5.0),
            };
            let a: Vec<f64> =
                (0..n).map(|_| low + (high - low) * (samples.unit() + 1.0) / 2.0).collect();
            let narrow: Vec<f32> = a.iter().map(|&x| x as f32).collect();
            let (wide, small) = (unary(isa, f, Dtype::F64), unary(isa, f, Dtype::F32));
            let (mut to, mut to32) = (a.clone(), narrow.clone());
            let null = std::ptr::null();
            // SAFETY: operands and targets have the length.
            let tile = nanoseconds(n, || unsafe {
                wide(to.as_mut_ptr().cast(), a.as_ptr().cast(), null, null, n);
            });
            // SAFETY: as above.
            let tile32 = nanoseconds(n, || unsafe {
                small(to32.as_mut_ptr().cast(), narrow.as_ptr().cast(), null, null, n);
            });
            let (other, standard) = others(f);
            println!(
                "{:9} {tile:7.3} {tile32:7.3} {:7.2} {:7.2} {:7.2}",
                f.name(),
                each(n, &a, &a, |x, _| f.f64(x)),
                each(n, &a, &a, |x, _| other(x)),
                each(n, &a, &a, |x, _| standard(x)),
            );
        }
        for (f, other, standard) in [
            (Binary::Pow, libm::pow as fn(f64, f64) -> f64, f64::powf as fn(f64, f64) -> f64),
            (Binary::Atan2, libm::atan2, f64::atan2),
        ] {
            let [a, b] = [(); 2]
                .map(|()| (0..n).map(|_| samples.unit().abs() * 5.0 + 0.01).collect::<Vec<f64>>());
            let wide = binary(isa, f, Dtype::F64);
            let mut to = a.clone();
            // SAFETY: operands and targets have the length.
            let tile = nanoseconds(n, || unsafe {
                let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
                wide(to.as_mut_ptr().cast(), a, b, std::ptr::null(), n);
            });
            println!(
                "{:9} {tile:7.3} {:7} {:7.2} {:7.2} {:7.2}",
                f.name(),
                "",
                each(n, &a, &b, |x, y| f.f64(x, y)),
                each(n, &a, &b, other),
                each(n, &a, &b, standard),
            );
        }
    }
}

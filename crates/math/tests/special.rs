//! Values at zeros, infinities, NaN and at the edges of the ranges, exactly.

use cotan_math::{Binary, Unary};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// The smallest positive number.
const TINY: f64 = 5e-324;

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn check(f: Unary, x: f64, wanted: f64) {
    assert!(same(f.f64(x), wanted), "{} {x:e}: {:e}, not {wanted:e}", f.name(), f.f64(x));
    // The same in single precision where the argument is the same number.
    if f64::from(x as f32).to_bits() == x.to_bits() || x.is_nan() {
        let (found, wanted) = (f.f32(x as f32), wanted as f32);
        let same = same(found.into(), wanted.into());
        assert!(same, "{} of f32 {x:e}: {found:e}, not {wanted:e}", f.name());
    }
}

#[test]
fn every_function_has_its_special_values() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    // At -inf, -1, -0, 0, 1, inf.
    let rows: &[(Unary, [f64; 6])] = &[
        (Unary::Exp, [0.0, NAN, 1.0, 1.0, NAN, INF]),
        (Unary::Exp2, [0.0, 0.5, 1.0, 1.0, 2.0, INF]),
        (Unary::Expm1, [-1.0, NAN, -0.0, 0.0, NAN, INF]),
        (Unary::Log, [NAN, NAN, -INF, -INF, 0.0, INF]),
        (Unary::Log2, [NAN, NAN, -INF, -INF, 0.0, INF]),
        (Unary::Log10, [NAN, NAN, -INF, -INF, 0.0, INF]),
        (Unary::Log1p, [NAN, -INF, -0.0, 0.0, NAN, INF]),
        (Unary::Cbrt, [-INF, -1.0, -0.0, 0.0, 1.0, INF]),
        (Unary::Sin, [NAN, NAN, -0.0, 0.0, NAN, NAN]),
        (Unary::Cos, [NAN, NAN, 1.0, 1.0, NAN, NAN]),
        (Unary::Tan, [NAN, NAN, -0.0, 0.0, NAN, NAN]),
        (Unary::Asin, [NAN, -FRAC_PI_2, -0.0, 0.0, FRAC_PI_2, NAN]),
        (Unary::Acos, [NAN, PI, FRAC_PI_2, FRAC_PI_2, 0.0, NAN]),
        (Unary::Atan, [-FRAC_PI_2, -FRAC_PI_4, -0.0, 0.0, FRAC_PI_4, FRAC_PI_2]),
        (Unary::Sinh, [-INF, NAN, -0.0, 0.0, NAN, INF]),
        (Unary::Cosh, [INF, NAN, 1.0, 1.0, NAN, INF]),
        (Unary::Tanh, [-1.0, NAN, -0.0, 0.0, NAN, 1.0]),
        (Unary::Asinh, [-INF, NAN, -0.0, 0.0, NAN, INF]),
        (Unary::Acosh, [NAN, NAN, NAN, NAN, 0.0, INF]),
        (Unary::Atanh, [NAN, -INF, -0.0, 0.0, INF, NAN]),
        (Unary::Erf, [-1.0, NAN, -0.0, 0.0, NAN, 1.0]),
        (Unary::Erfc, [2.0, NAN, 1.0, 1.0, NAN, 0.0]),
        (Unary::Logistic, [0.0, NAN, 0.5, 0.5, NAN, 1.0]),
    ];
    assert_eq!(rows.len(), Unary::ALL.len());
    for &(f, values) in rows {
        check(f, NAN, NAN);
        for (k, (x, wanted)) in
            [-INF, -1.0, -0.0, 0.0, 1.0, INF].into_iter().zip(values).enumerate()
        {
            // Where the value at 1 or -1 is not special the table says NaN.
            let ordinary = k % 3 == 1 && wanted.is_nan() && f.f64(x).is_finite();
            if !ordinary {
                check(f, x, wanted);
            }
        }
    }
}

#[test]
fn odd_functions_are_odd_and_begin_with_their_argument() {
    for f in [
        Unary::Expm1,
        Unary::Log1p,
        Unary::Sin,
        Unary::Tan,
        Unary::Asin,
        Unary::Atan,
        Unary::Sinh,
        Unary::Tanh,
        Unary::Asinh,
        Unary::Atanh,
    ] {
        for x in [TINY, 3e-310, f64::MIN_POSITIVE, 1e-200, 1e-40, 1e-20] {
            for x in [x, -x] {
                check(f, x, x);
            }
        }
        let x = f32::from_bits(1);
        assert_eq!(f.f32(x), x, "{}", f.name());
    }
    for f in [
        Unary::Cbrt,
        Unary::Sin,
        Unary::Tan,
        Unary::Asin,
        Unary::Atan,
        Unary::Sinh,
        Unary::Tanh,
        Unary::Asinh,
        Unary::Atanh,
        Unary::Erf,
    ] {
        let mut x = 1e-5;
        while x < 1e4 {
            assert!(same(f.f64(-x), -f.f64(x)), "{} {x}", f.name());
            x *= 1.37;
        }
    }
}

#[test]
fn overflow_and_underflow_are_where_they_belong() {
    let largest: f64 = 709.782_712_893_384;
    check(Unary::Exp, largest.next_up(), INF);
    assert!(Unary::Exp.f64(largest).is_finite() && Unary::Exp.f64(largest) > 1.797e308);
    check(Unary::Exp, -745.133_219_101_941_1, TINY);
    check(Unary::Exp, -745.133_219_101_941_2, 0.0);
    check(Unary::Exp, 1e300, INF);
    check(Unary::Exp, -1e300, 0.0);
    check(Unary::Exp2, 1024.0, INF);
    check(Unary::Exp2, -1074.0, TINY);
    check(Unary::Exp2, -1075.0, 0.0);
    check(Unary::Exp2, -1074.999, TINY);
    for n in -1074..1024 {
        check(Unary::Exp2, n.into(), libm::scalbn(1.0, n));
        check(Unary::Log2, libm::scalbn(1.0, n), n.into());
    }
    check(Unary::Expm1, largest.next_up(), INF);
    check(Unary::Expm1, -50.0, -1.0);
    assert!(Unary::Sinh.f64(710.475_860_073_943_9).is_finite());
    check(Unary::Sinh, 710.475_860_073_944, INF);
    check(Unary::Cosh, -710.475_860_073_944, INF);
    check(Unary::Tanh, 20.0, 1.0);
    check(Unary::Erfc, 27.3, 0.0);
    check(Unary::Erfc, -6.5, 2.0);
    check(Unary::Logistic, -800.0, 0.0);
    check(Unary::Logistic, -745.133_219_101_941_1, TINY);
    check(Unary::Log, TINY, -744.440_071_921_381_2);
    check(Unary::Log, f64::MAX, 709.782_712_893_384);
    for n in -323i32..=308 {
        let power: f64 = format!("1e{n}").parse().unwrap();
        if (0..=22).contains(&n) {
            check(Unary::Log10, power, n.into());
        }
        let cube = Unary::Cbrt.f64(power);
        assert!((cube * cube * cube / power - 1.0).abs() < 1e-12 || n < -307, "{n}");
    }
    for n in -30..30i32 {
        let x = f64::from(n);
        check(Unary::Cbrt, x * x * x, x);
    }
    // In single precision.
    assert_eq!(Unary::Exp.f32(88.722_84), f32::INFINITY);
    assert!(Unary::Exp.f32(88.722_83).is_finite());
    assert_eq!(Unary::Exp.f32(-103.972_07), f32::from_bits(1));
    assert_eq!(Unary::Exp.f32(-103.972_09), 0.0);
    for n in -149..128 {
        let power = libm::scalbn(1.0, n) as f32;
        assert_eq!(Unary::Exp2.f32(n as f32), power);
        assert_eq!(Unary::Log2.f32(power), n as f32);
    }
}

#[test]
fn powers_have_the_special_values_of_ieee_754() {
    let pow = |x: f64, y: f64, wanted: f64| {
        let found = Binary::Pow.f64(x, y);
        assert!(same(found, wanted), "{x:e} ** {y:e}: {found:e}, not {wanted:e}");
    };
    let others = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e300, TINY, INF, -INF, NAN];
    for x in others {
        pow(x, 0.0, 1.0);
        pow(x, -0.0, 1.0);
        pow(1.0, x, 1.0);
    }
    for y in [3.0, 1.0, 5e15 + 1.0] {
        pow(0.0, y, 0.0);
        pow(-0.0, y, -0.0);
        pow(0.0, -y, INF);
        pow(-0.0, -y, -INF);
        pow(-INF, y, -INF);
        pow(-INF, -y, -0.0);
        pow(-1.0, y, -1.0);
    }
    for y in [2.0, 0.5, 1e300, 1e16, INF, 2.5] {
        pow(0.0, y, 0.0);
        pow(-0.0, y, 0.0);
        pow(0.0, -y, INF);
        pow(-0.0, -y, INF);
        pow(-INF, y, INF);
        pow(-INF, -y, 0.0);
        pow(INF, y, INF);
        pow(INF, -y, 0.0);
    }
    for (x, large) in [(0.5, false), (-0.5, false), (2.0, true), (-2.0, true)] {
        pow(x, INF, if large { INF } else { 0.0 });
        pow(x, -INF, if large { 0.0 } else { INF });
    }
    pow(-1.0, INF, 1.0);
    pow(-1.0, -INF, 1.0);
    pow(-2.0, 0.5, NAN);
    pow(-TINY, 1.5, NAN);
    pow(NAN, 1.0, NAN);
    pow(2.0, NAN, NAN);
    pow(-1.0, NAN, NAN);
    pow(-2.0, 3.0, -8.0);
    pow(-2.0, 4.0, 16.0);
    pow(2.0, -1074.0, TINY);
    pow(2.0, -1075.0, 0.0);
    pow(2.0, 1024.0, INF);
    pow(-2.0, 1025.0, -INF);
    pow(TINY, 1.0, TINY);
    pow(TINY, -1.0, INF);
    pow(f64::MAX, 1.0, f64::MAX);
    pow(9.0, 0.5, 3.0);
    pow(1e-160, 2.0, 1e-320);
    for n in 0..23i32 {
        pow(10.0, n.into(), format!("1e{n}").parse().unwrap());
    }
    assert_eq!(Binary::Pow.f32(3.0, 4.0), 81.0);
}

#[test]
fn angles_on_the_axes() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let at = |y: f64, x: f64, wanted: f64| {
        for (y, wanted) in [(y, wanted), (-y, -wanted)] {
            let found = Binary::Atan2.f64(y, x);
            assert!(same(found, wanted), "atan2({y:e}, {x:e}): {found:e}, not {wanted:e}");
        }
    };
    for x in [0.0, 1.0, TINY, 1e308, INF] {
        at(0.0, x, 0.0);
        at(0.0, -x, PI);
    }
    for y in [1.0, TINY, 1e308, INF] {
        at(y, 0.0, FRAC_PI_2);
        at(y, -0.0, FRAC_PI_2);
    }
    for r in [1.0, TINY, 3e-310, f64::MAX, INF] {
        at(r, r, FRAC_PI_4);
        at(r, -r, 3.0 * FRAC_PI_4);
    }
    for y in [1.0, TINY, f64::MAX] {
        at(y, INF, 0.0);
        at(y, -INF, PI);
        at(INF, y, FRAC_PI_2);
        at(INF, -y, FRAC_PI_2);
    }
    at(TINY, 1.0, TINY);
    at(TINY, f64::MAX, 0.0);
    at(f64::MAX, TINY, FRAC_PI_2);
    for x in [0.0, 1.0, INF, NAN] {
        at(NAN, x, NAN);
        at(x, NAN, NAN);
    }
    assert_eq!(Binary::Atan2.f32(1.0, -0.0), std::f32::consts::FRAC_PI_2);
}

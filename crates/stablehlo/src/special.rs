//! Powers by integers and the functions around the gamma function.

use std::f64::consts::PI;

use cotan_array::Dtype;
use cotan_ir::scalar::{Scalar, cot_polynomial};

use crate::value::Val;
use crate::writer::Writer;

/// Powers up to this are products.
const UNROLLED: u64 = 32;

/// A float to the power of an integer.
pub(crate) fn powi(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let one = w.real(1.0, a);
    if let Some(n) = n.integer().filter(|n| n.unsigned_abs() <= UNROLLED) {
        let power = by_squaring(w, a, n.unsigned_abs()).unwrap_or_else(|| one.clone());
        return if n < 0 { w.binary("divide", &one, &power) } else { power };
    }
    // Of the absolute value in f64, and the sign by the parity: a float may not hold the integer.
    let (zero, wide) = (w.zeros(&a.ty), w.convert(a, Dtype::F64));
    let (size, exponent) = (w.unary("abs", &wide), w.convert(n, Dtype::F64));
    let power = w.binary("power", &size, &exponent);
    let power = w.convert(&power, a.ty.dtype);
    let (low, one, none) = (w.compare("LT", a, &zero), w.int(1, n), w.int(0, n));
    let parity = w.binary("and", n, &one);
    let odd = w.compare("NE", &parity, &none);
    let flips = w.binary("and", &low, &odd);
    let minus = w.unary("negate", &power);
    w.select(&flips, &minus, &power)
}

/// `a` to a power that is known; none to the power 0.
fn by_squaring(w: &mut Writer, a: &Val, n: u64) -> Option<Val> {
    let (mut base, mut rest, mut power) = (a.clone(), n, None);
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(match power {
                Some(power) => w.binary("multiply", &power, &base),
                None => base.clone(),
            });
        }
        rest >>= 1;
        if rest > 0 {
            base = w.binary("multiply", &base, &base);
        }
    }
    power
}

/// An integer to the power of an integer, wrapping; of a negative power only ones are left.
pub(crate) fn int_pow(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let (zero, one) = (w.int(0, a), w.int(1, a));
    if let Some(n) = n.integer().filter(|n| (0..=UNROLLED as i64).contains(n)) {
        return by_squaring(w, a, n.unsigned_abs()).unwrap_or(one);
    }
    let positive = {
        let m = w.binary("maximum", n, &zero);
        squaring_loop(w, a, &m, &one)
    };
    let (parity, minus_one) = (w.binary("and", n, &one), w.int(-1, a));
    let even = w.compare("EQ", &parity, &zero);
    let (is_one, is_minus_one) = (w.compare("EQ", a, &one), w.compare("EQ", a, &minus_one));
    let alternating = w.select(&even, &one, &minus_one);
    let negative = w.select(&is_minus_one, &alternating, &zero);
    let negative = w.select(&is_one, &one, &negative);
    let inverse = w.compare("LT", n, &zero);
    w.select(&inverse, &negative, &positive)
}

/// `a` to the power `m`, which is not negative, in as many steps as the largest has bits.
fn squaring_loop(w: &mut Writer, a: &Val, m: &Val, one: &Val) -> Val {
    let begun = w.begin_while(&[a.clone(), m.clone(), one.clone()]);
    let [base, rest, power] = begun.inside.as_slice() else { return one.clone() };
    let zero = w.int(0, a);
    let done = w.compare("EQ", rest, &zero);
    let all = w.all(&done);
    let more = w.unary("not", &all);
    w.give(&[more]);
    w.turn("} do {");
    let one = w.int(1, a);
    let parity = w.binary("and", rest, &one);
    let odd = w.compare("EQ", &parity, &one);
    let product = w.binary("multiply", power, base);
    let next = w.select(&odd, &product, power);
    let square = w.binary("multiply", base, base);
    let half = w.binary("shift_right_logical", rest, &one);
    w.give(&[square, half, next]);
    w.end_while(&begun).pop().unwrap_or_else(|| one.clone())
}

/// Where a function of the family has a pole, 0, -1, -2 and so on, or no limit, at $-\infty$.
fn at_pole(w: &mut Writer, x: &Val) -> Val {
    let (zero, down) = (w.zeros(&x.ty), w.unary("floor", x));
    let (whole, low) = (w.compare("EQ", x, &down), w.compare("LE", x, &zero));
    w.binary("and", &whole, &low)
}

/// The derivative of the logarithm of the gamma function; NaN at the poles.
pub(crate) fn digamma(w: &mut Writer, x: &Val) -> Val {
    let (pole, nan) = (at_pole(w, x), w.real(f64::NAN, x));
    let y = w.higher("digamma", &[x]);
    w.select(&pole, &nan, &y)
}

/// Orders up to this have a factorial that is finite.
const LARGEST_ORDER: usize = 170;

/// The `n`-th derivative of digamma; `n` may differ from element to element.
pub(crate) fn polygamma(w: &mut Writer, n: &Val, x: &Val) -> Val {
    if n.integer() == Some(0) {
        return digamma(w, x);
    }
    let wide = w.convert(x, Dtype::F64);
    let y = match n.integer() {
        Some(n) if n < 0 => w.real(f64::NAN, &wide),
        Some(n) if n > LARGEST_ORDER as i64 => {
            let (order, odd) = (w.real(n as f64, &wide), n % 2 != 0);
            let (even_value, odd_value) = beyond_factorials(w, &order, &wide);
            if odd { odd_value } else { even_value }
        }
        Some(order) => {
            let (low, right) = mirrored(w, &wide);
            let cot = cot_derivative(w, order as usize, &wide);
            let order_wide = w.real(order as f64, &wide);
            let value = w.higher("polygamma", &[&order_wide, &right]);
            let reflected = if order % 2 == 0 { w.unary("negate", &value) } else { value.clone() };
            reflect(w, &low, &cot, &reflected, &value)
        }
        None => of_computed_order(w, n, &wide),
    };
    let y = w.convert(&y, x.ty.dtype);
    let (pole, no_number, nan) = (at_pole(w, x), w.is_nan(x), w.real(f64::NAN, x));
    let undefined = w.binary("or", &pole, &no_number);
    w.select(&undefined, &nan, &y)
}

/// Where the reflection is used, and the argument of the series: `x`, or `1 - x` there.
fn mirrored(w: &mut Writer, x: &Val) -> (Val, Val) {
    let (half, one) = (w.real(0.5, x), w.real(1.0, x));
    let low = w.compare("LT", x, &half);
    let mirrored = w.binary("subtract", &one, x);
    let right = w.select(&low, &mirrored, x);
    (low, right)
}

/// $\psi_n(1 - x) + (-1)^{n+1} \psi_n(x) = (-1)^n \pi \, d^n/dx^n \cot(\pi x)$, solved for
/// $\psi_n(x)$; `reflected` is $(-1)^{n+1} \psi_n(1 - x)$.
fn reflect(w: &mut Writer, low: &Val, cot: &Val, reflected: &Val, value: &Val) -> Val {
    let minus = w.unary("negate", cot);
    let left = w.binary("subtract", &minus, reflected);
    w.select(low, &left, value)
}

/// The values of even and of odd orders whose factorial overflows: infinite unless `x` is large enough
/// to shrink them to nothing.
fn beyond_factorials(w: &mut Writer, order: &Val, x: &Val) -> (Val, Val) {
    let far = w.compare("GT", x, order);
    let (infinite, none) = (w.real(f64::INFINITY, x), w.real(0.0, x));
    let odd = w.select(&far, &none, &infinite);
    (w.unary("negate", &odd), odd)
}

/// [`polygamma`] of orders that are not known, at arguments in `f64`.
fn of_computed_order(w: &mut Writer, n: &Val, x: &Val) -> Val {
    let (none, one, largest) = (w.int(0, n), w.int(1, n), w.int(LARGEST_ORDER as i64, n));
    let parity = w.binary("and", n, &one);
    let odd = w.compare("EQ", &parity, &one);
    let order = w.convert(n, Dtype::F64);
    let beyond = {
        let (even_value, odd_value) = beyond_factorials(w, &order, x);
        w.select(&odd, &odd_value, &even_value)
    };
    // Of what is neither negative nor too large; the others are chosen at the end.
    let (at_least_one, digamma) = (w.binary("maximum", n, &one), digamma(w, x));
    let bounded = w.binary("minimum", &at_least_one, &largest);
    let known = w.convert(&bounded, Dtype::F64);
    let (low, right) = mirrored(w, x);
    let value = w.higher("polygamma", &[&known, &right]);
    let orders = w.select(&low, &bounded, &none);
    let cot = cot_derivatives(w, &orders, x);
    let minus = w.unary("negate", &value);
    let reflected = w.select(&odd, &value, &minus);
    let y = reflect(w, &low, &cot, &reflected, &value);
    let is_digamma = w.compare("EQ", n, &none);
    let y = w.select(&is_digamma, &digamma, &y);
    let too_large = w.compare("GT", n, &largest);
    let y = w.select(&too_large, &beyond, &y);
    let (negative, nan) = (w.compare("LT", n, &none), w.real(f64::NAN, x));
    w.select(&negative, &nan, &y)
}

/// $\pi \, d^n/dx^n \cot(\pi x)$ for orders `n` of 0 to [`LARGEST_ORDER`] that the program computes,
/// by the Taylor coefficients $e_k$ of $\pi \cot(\pi x)$: since its derivative is $-\pi^2$ minus its
/// square, $(k + 1) e_{k+1} = -\sum_i e_i e_{k-i}$, minus $\pi^2$ for $k = 0$. The terms have one sign.
/// As many steps are taken as the largest order needs; where all orders are 0, none.
fn cot_derivatives(w: &mut Writer, n: &Val, x: &Val) -> Val {
    let first = cot_derivative(w, 0, x);
    let row_dims = [&[1], x.ty.dims.as_slice()].concat();
    let widths = |before: i64, after: i64| {
        let rest = x.ty.dims.iter().map(|_| (0, 0, 0));
        [(before, after, 0)].into_iter().chain(rest).collect::<Vec<_>>()
    };
    let row = w.reshape(&first, &row_dims);
    let room = w.pad(&row, &widths(0, LARGEST_ORDER as i64));
    let most = {
        let (none, axes) = (w.index(0), (0..n.ty.rank()).collect::<Vec<_>>());
        if axes.is_empty() { n.clone() } else { w.reduce("maximum", n, &none, &axes) }
    };
    let (start, factorial) = (w.index(0), w.fill(Scalar::F64(1.0), &[]));
    let begun = w.begin_while(&[start, factorial, room, first.clone()]);
    let [k, factorial, room, found] = begun.inside.as_slice() else { return first };
    let more = w.compare("LT", k, &most);
    w.give(&[more]);
    w.turn("} do {");
    let (zero, one, last) = (w.index(0), w.index(1), w.index(LARGEST_ORDER));
    let next = w.binary("add", k, &one);
    // Row i of the window is coefficient k - i, and 0 from there on.
    let backwards = w.reverse(room, &[0]);
    let backwards = w.pad(&backwards, &widths(0, LARGEST_ORDER as i64));
    let mut starts = vec![w.binary("subtract", &last, k)];
    starts.resize(1 + x.ty.rank(), zero.clone());
    let window = w.dynamic_slice(&backwards, &starts, &room.ty.dims);
    let products = w.binary("multiply", room, &window);
    let sum = w.sum(&products, &[0]);
    let (is_first, square, nothing) = (
        w.compare("EQ", k, &zero),
        w.fill(Scalar::F64(PI * PI), &[]),
        w.fill(Scalar::F64(0.0), &[]),
    );
    let extra = w.select(&is_first, &square, &nothing);
    let extra = w.broadcast(&extra, &[], &x.ty.dims);
    let sum = w.binary("add", &sum, &extra);
    let count = w.convert(&next, Dtype::F64);
    let divisor = w.broadcast(&count, &[], &x.ty.dims);
    let coefficient = w.binary("divide", &sum, &divisor);
    let coefficient = w.unary("negate", &coefficient);
    let row = w.reshape(&coefficient, &row_dims);
    let mut places = vec![next.clone()];
    places.resize(1 + x.ty.rank(), zero);
    let room = w.dynamic_update_slice(room, &row, &places);
    let factorial = w.binary("multiply", factorial, &count);
    let scale = w.broadcast(&factorial, &[], &x.ty.dims);
    let derivative = w.binary("multiply", &scale, &coefficient);
    let order = w.broadcast(&next, &[], &x.ty.dims);
    let here = w.compare("EQ", n, &order);
    let found = w.select(&here, &derivative, found);
    w.give(&[next, factorial, room, found]);
    w.end_while(&begun).pop().unwrap_or(first)
}

/// $\pi \, d^n/dx^n \cot(\pi x)$, as a polynomial in the cotangent.
fn cot_derivative(w: &mut Writer, n: usize, x: &Val) -> Val {
    let mut p = cot_polynomial(n);
    let nearest = w.unary("round_nearest_even", x);
    let (rest, pi) = (w.binary("subtract", x, &nearest), w.real(PI, x));
    let angle = w.binary("multiply", &pi, &rest);
    let (tan, one) = (w.unary("tan", &angle), w.real(1.0, x));
    let c = w.binary("divide", &one, &tan);
    let leading = p.pop().unwrap_or(0.0);
    let mut y = w.real(leading, x);
    for &a in p.iter().rev() {
        let (product, a) = (w.binary("multiply", &y, &c), w.real(a, x));
        y = w.binary("add", &product, &a);
    }
    let scale = w.real(PI.powi(n as i32 + 1), x);
    w.binary("multiply", &scale, &y)
}

//! Integrals over an interval.
//!
//! An adaptive integral is a sum over a partition: which one is a choice without derivative, found by
//! bisecting where the error is greatest; the sum is differentiated as it stands. Its derivative by a
//! limit is that of the rule, whose points move with the limits, and agrees with the integrand there
//! to the accuracy of the integral.

use std::f64::consts::PI;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::{Builder, Extracted, Result, TermId, Type};

use super::{Closed, Packing, Stop, call, inlined, length, run_while, unless_failed};
use crate::context::Context;
use crate::products::matrix_product;
use crate::term::Term;

/// A rule on `[0, 1]`: places, weights, and weights of a coarser rule.
struct Rule {
    places: Vec<f64>,
    weights: Vec<f64>,
    coarse: Vec<f64>,
}

/// The positive places of Kronrod's rule of 15 points and its weights; every second is a place of
/// Gauss' rule of 7 points, with these weights.
const KRONROD: [(f64, f64, f64); 8] = [
    (0.991_455_371_120_812_6, 0.022_935_322_010_529_224, 0.0),
    (0.949_107_912_342_758_5, 0.063_092_092_629_978_55, 0.129_484_966_168_869_7),
    (0.864_864_423_359_769_1, 0.104_790_010_322_250_18, 0.0),
    (0.741_531_185_599_394_4, 0.140_653_259_715_525_92, 0.279_705_391_489_276_64),
    (0.586_087_235_467_691_1, 0.169_004_726_639_267_9, 0.0),
    (0.405_845_151_377_397_2, 0.190_350_578_064_785_4, 0.381_830_050_505_118_9),
    (0.207_784_955_007_898_47, 0.204_432_940_075_298_9, 0.0),
    (0.0, 0.209_482_141_084_727_82, 0.417_959_183_673_469_4),
];

impl Rule {
    fn kronrod() -> Rule {
        let mut rule = Rule { places: Vec::new(), weights: Vec::new(), coarse: Vec::new() };
        for sign in [-1.0, 1.0] {
            for (x, weight, coarse) in KRONROD {
                if x > 0.0 || sign > 0.0 {
                    rule.places.push((1.0 + sign * x) / 2.0);
                    rule.weights.push(weight / 2.0);
                    rule.coarse.push(coarse / 2.0);
                }
            }
        }
        rule
    }

    /// Gauss' rule of `n` points: the zeros of the Legendre polynomial, by Newton's method.
    fn gauss(n: usize) -> Rule {
        let (mut places, mut weights) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for k in 0..n {
            let mut x = -(PI * (k as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut before, mut value) = (0.0, 1.0);
                for j in 0..n {
                    let j = j as f64;
                    (before, value) =
                        (value, ((2.0 * j + 1.0) * x * value - j * before) / (j + 1.0));
                }
                slope = n as f64 * (x * value - before) / (x * x - 1.0);
                let step = value / slope;
                x -= step;
                if step.abs() <= 1e-16 {
                    break;
                }
            }
            places.push((1.0 + x) / 2.0);
            weights.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        Rule { places, weights, coarse: Vec::new() }
    }
}

fn numbers<'c>(c: &'c Context, xs: &[f64], dtype: Dtype) -> Term<'c> {
    let made =
        Shape::new("quadrature", &[xs.len()]).and_then(|shape| Array::from_vec(shape, xs.to_vec()));
    match made {
        Ok(array) => c.constant(&array).cast(dtype),
        Err(error) => c.fail(cotan_ir::Error::internal(error.to_string())),
    }
}

/// The integrand, packed, and its interval.
struct Integral<'c> {
    f: Closed,
    from: Term<'c>,
    to: Term<'c>,
}

impl<'c> Integral<'c> {
    fn new(c: &'c Context, f: &Extracted, (from, to): (TermId, TermId)) -> Option<(Self, Packing)> {
        let (from, to) = (c.term(from), c.term(to));
        let dtype = from.dtype();
        if from.rank() + to.rank() > 0 || to.dtype() != dtype || !dtype.is_float() {
            let message = format!("limits {} and {}", from.shown(), to.shown());
            c.wrong(message, "the limits are two scalars, both f64 or both f32");
            return None;
        }
        // What the integrand gives is known when it is put somewhere.
        let mut packing = None;
        let scalar = Type::scalar(dtype);
        let f = Closed::new(c, std::slice::from_ref(&scalar), f, |d, own, captures| {
            let results = inlined(d, f, &[own, captures].concat());
            let into = Packing::new(d, &results);
            let packed = into.pack(d, &results);
            packing = Some(into);
            vec![packed]
        })?;
        let packing = packing?;
        if packing.dtype != dtype {
            let message = format!("an integrand of {} between limits of {dtype}", packing.dtype);
            c.wrong(message, "convert the limits");
            return None;
        }
        Some((Integral { f, from, to }, packing))
    }

    /// The same, constant to derivatives.
    fn constant(&self, c: &'c Context) -> Option<Integral<'c>> {
        let still = |x: Term<'c>| if x.dtype().is_float() { x.stop_gradient() } else { x };
        let captures: Vec<Term<'c>> = self.f.captures(c).into_iter().map(still).collect();
        Some(Integral { f: self.f.with(&captures)?, from: still(self.from), to: still(self.to) })
    }

    /// The values at a part of the way.
    fn at(&self, c: &'c Context, u: Term<'c>) -> Term<'c> {
        let one = u.number(1.0);
        self.f.at(c, &[self.from * (one - u) + self.to * u])
    }
}

/// The error that is allowed, given the sums of the parts.
fn border(sums: Term<'_>, tolerance: f64) -> Term<'_> {
    (length(sums.sum_outer(1)) + 1.0) * tolerance
}

/// The array with the one thing at the first place and the other at the second.
fn put<'c>(
    (first, second): (Term<'c>, Term<'c>),
    xs: Term<'c>,
    one: Term<'c>,
    other: Term<'c>,
) -> Term<'c> {
    let after = xs.rank().saturating_sub(1);
    first.column(after).choose(one, second.column(after).choose(other, xs))
}

/// The integral of `f` from one limit to the other by Gauss' rule of `points` points, exact for
/// polynomials of a degree below twice that.
pub fn gauss_legendre(
    b: &mut Builder,
    f: &Extracted,
    limits: (TermId, TermId),
    points: usize,
) -> Result<Vec<TermId>> {
    call(b, "gauss_legendre", |c| {
        if !(1..=1000).contains(&points) {
            let message = format!("a rule of {points} points");
            c.wrong(message, "it has from 1 to 1000; cut the interval, or use `quadrature`");
            return None;
        }
        let (integral, packing) = Integral::new(c, f, limits)?;
        let (rule, dtype) = (Rule::gauss(points), integral.from.dtype());
        let places = numbers(c, &rule.places, dtype);
        let values = c.build(&[points], |i| integral.at(c, places.at(i)));
        let sum = matrix_product(numbers(c, &rule.weights, dtype), values);
        Some(packing.unpack(sum * (integral.to - integral.from)))
    })
}

/// The integral of `f` from one limit to the other to a tolerance relative to `1 + |result|`, by
/// Kronrod's rule of 15 points on a partition that is bisected where the error is greatest, at most
/// so many times. NaN where that is not enough.
pub fn quadrature(
    b: &mut Builder,
    f: &Extracted,
    limits: (TermId, TermId),
    stop: Stop,
) -> Result<Vec<TermId>> {
    call(b, "quadrature", |c| {
        let (integral, packing) = Integral::new(c, f, limits)?;
        let still = integral.constant(c)?;
        let dtype = integral.from.dtype();
        let (rule, points) = (Rule::kronrod(), KRONROD.len() * 2 - 1);
        let places = numbers(c, &rule.places, dtype);
        let fine = numbers(c, &rule.weights, dtype);
        let coarse = numbers(c, &rule.coarse, dtype);
        let width = still.to - still.from;
        // Sum and error on a part of the way.
        let on = |low, part| {
            let values = c.build(&[points], |i| still.at(c, low + part * places.at(i)));
            let sum = matrix_product(fine, values) * (width * part);
            let other = matrix_product(coarse, values) * (width * part);
            (sum, length(sum - other))
        };
        let bisections = stop.at_most(50);
        let most = bisections.saturating_add(1);
        let (zero, one) = (integral.from.number(0.0), integral.from.number(1.0));
        let (sum, error) = on(zero, one);
        let first = c.iota(most).eq(0i64);
        let (lows, parts) = (c.full(&[most], 0.0, dtype), first.choose(one, 0.0));
        let errors = first.choose(error, 0.0);
        let sums = first.column(1).choose(sum, 0.0);
        let init = [lows, parts, sums, errors, c.int(1)];
        let tolerance = stop.tolerance(dtype);
        let last = run_while(c, bisections, &init, |s| {
            let (lows, parts, sums, errors, k) = (s[0], s[1], s[2], s[3], s[4]);
            let worst = errors.arg_extreme(cotan_ir::Extreme::Max);
            let half = parts.at(&[worst]) * 0.5;
            let low = lows.at(&[worst]);
            let ((a, a_error), (b, b_error)) = (on(low, half), on(low + half, half));
            let (is_old, is_new) = (c.iota(most).eq(worst), c.iota(most).eq(k));
            let next = vec![
                put((is_old, is_new), lows, low, low + half),
                put((is_old, is_new), parts, half, half),
                put((is_old, is_new), sums, a, b),
                put((is_old, is_new), errors, a_error, b_error),
                k + 1i64,
            ];
            (errors.total().gt(border(sums, tolerance)), next)
        });
        let found = last[3].total().le(border(last[2], tolerance));
        let (lows, parts) = (last[0].stop_gradient(), last[1].stop_gradient());
        let all = c.build(&[most, points], |i| {
            let (low, part) = (lows.at(&i[..1]), parts.at(&i[..1]));
            let value = integral.at(c, low + part * places.at(&i[1..]));
            part.gt(0.0).choose(value * (part * fine.at(&i[1..])), 0.0)
        });
        let sum = all.sum_outer(2) * (integral.to - integral.from);
        Some(packing.unpack(unless_failed(found, sum)))
    })
}

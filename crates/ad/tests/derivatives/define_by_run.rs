//! `Dual<Eager>` as it is used by hand: Rust's own control flow on values.

use std::rc::Rc;

use cotan_ad::{Algebra, Dual, DualArray, Eager, grad, reverse_pass};
use cotan_interp::Value;
use cotan_ir::scalar::Op;

use crate::support::*;

type Number = DualArray<Eager>;

/// The value and the derivative of a function of one number.
fn derivative(
    x: f64,
    f: impl FnOnce(&mut Dual<'_, Eager>, Number) -> cotan_ir::Result<Number>,
) -> (f64, f64) {
    let mut eager = Eager::default();
    let mut dual = Dual::new(&mut eager);
    let input = dual.input(0, Rc::new(Value::scalar(x)));
    let y = f(&mut dual, input).expect("a value");
    let deltas = dual.deltas;
    let Some(d) = y.delta else { return (floats(&y.primal)[0], 0.0) };
    let seeds = [(d, Rc::new(Value::scalar(1.0)))];
    let gradient = reverse_pass(&deltas, &seeds, 1, &mut eager).expect("a gradient");
    let gradient = gradient[0].as_ref().map_or(0.0, |g| floats(g)[0]);
    (floats(&y.primal)[0], gradient)
}

fn constant(d: &mut Dual<'_, Eager>, x: f64) -> cotan_ir::Result<Number> {
    d.constant(&cotan_array::Array::scalar(x))
}

/// Newton's iteration for the square root, until it converges: the derivative is that of the root.
#[test]
fn a_loop_until_convergence_is_differentiated() {
    let newton = |d: &mut Dual<'_, Eager>, a: Number| {
        let half = constant(d, 0.5)?;
        let mut x = constant(d, 1.0)?;
        loop {
            let quotient = d.op(Op::Div, &[a.clone(), x.clone()])?;
            let sum = d.op(Op::Add, &[x.clone(), quotient])?;
            let next = d.op(Op::Mul, &[half.clone(), sum])?;
            let change = (floats(&next.primal)[0] - floats(&x.primal)[0]).abs();
            x = next;
            if change < 1e-15 {
                return Ok(x);
            }
        }
    };
    for a in [0.3, 2.0, 81.0] {
        let (root, slope) = derivative(a, newton);
        assert!((root - a.sqrt()).abs() < 1e-12);
        assert!((slope - 0.5 / a.sqrt()).abs() < 1e-12, "{slope}");
    }
}

/// Recursion on a value: powers by repeated squaring.
#[test]
fn recursion_is_differentiated_like_the_staged_program() {
    fn power(d: &mut Dual<'_, Eager>, x: &Number, n: u32) -> cotan_ir::Result<Number> {
        if n == 0 {
            return constant(d, 1.0);
        }
        let half = power(d, x, n / 2)?;
        let square = d.op(Op::Mul, &[half.clone(), half])?;
        if n.is_multiple_of(2) { Ok(square) } else { d.op(Op::Mul, &[square, x.clone()]) }
    }
    for n in [0u32, 1, 2, 7, 12] {
        let (value, slope) = derivative(1.25, |d, x| power(d, &x, n));
        let staged = function(&format!("def f(x: f64) = powi(x, {n})"), &[]);
        let expected = numbers_of(grad(&staged, None), &[Value::scalar(1.25)])[0][0];
        assert!((value - 1.25f64.powi(n as i32)).abs() < 1e-12);
        assert!((slope - expected).abs() < 1e-12 * (1.0 + expected), "{n}: {slope} {expected}");
    }
}

/// A branch on a value: what was not run leaves no trace.
#[test]
fn branches_on_values_are_ordinary_branches() {
    let f = |d: &mut Dual<'_, Eager>, x: Number| match floats(&x.primal)[0] > 0.0 {
        true => d.op(Op::Log, &[x]),
        false => d.op(Op::Neg, &[x]),
    };
    assert_eq!(derivative(4.0, f).1, 0.25);
    assert_eq!(derivative(0.0, f).1, -1.0);
    let program = function("def f(x: f64) = if x > 0.0 then log(x) else -x", &[]);
    for x in [4.0, 0.0, -3.0] {
        let staged = numbers_of(grad(&program, None), &[Value::scalar(x)])[0][0];
        assert_eq!(staged, derivative(x, f).1);
    }
}

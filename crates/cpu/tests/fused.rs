//! Products that are rounded together with a sum: where they are formed, and where not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{array, program};
use cotan_array::Array;
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};

/// A number whose square is rounded: $1 + 2^{-29} + 2^{-60}$, without the last.
const ROOT: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;

/// What is lost.
const LOST: f64 = 1.0 / (1u64 << 60) as f64;

/// The first element of what both engines give, which is the same.
fn first(
    inputs: &[Array],
    in_order: bool,
    body: impl Fn(&mut Builder, &[TermId]) -> Result<TermId>,
) -> f64 {
    let p = program(inputs, |b, xs| Ok(vec![body(b, xs)?]));
    let found = [Engine::Machine, Engine::Native].map(|engine| {
        let executable = Executable::planned(&p, in_order, engine).unwrap();
        let found = executable.run(inputs, &RunLimits::default()).unwrap();
        found[0].as_slice::<f64>().unwrap()[0]
    });
    assert_eq!(found[0].to_bits(), found[1].to_bits());
    found[0]
}

fn numbers(x: f64) -> Array {
    array(&[20], &[x; 20])
}

/// Of all four signs.
#[test]
fn a_product_and_a_sum_are_rounded_once() {
    let inputs = [numbers(ROOT), numbers(1.0)];
    let rounded = ROOT * ROOT;
    let signs = [(Op::Sub, false, 1.0), (Op::Sub, true, -1.0)];
    for (op, swapped, sign) in signs {
        let body = |b: &mut Builder, xs: &[TermId]| {
            let product = b.op(Op::Mul, &[xs[0], xs[0]])?;
            b.op(op, &if swapped { [xs[1], product] } else { [product, xs[1]] })
        };
        assert_eq!(first(&inputs, false, body), sign * (rounded - 1.0 + LOST));
        // As the interpreter computes it.
        assert_eq!(first(&inputs, true, body), sign * (rounded - 1.0));
    }
    let minus = [numbers(ROOT), numbers(-1.0)];
    let sum = |swapped: bool| {
        move |b: &mut Builder, xs: &[TermId]| {
            let product = b.op(Op::Mul, &[xs[0], xs[0]])?;
            b.op(Op::Add, &if swapped { [xs[1], product] } else { [product, xs[1]] })
        }
    };
    for swapped in [false, true] {
        assert_eq!(first(&minus, false, sum(swapped)), rounded - 1.0 + LOST);
        assert_eq!(first(&minus, true, sum(swapped)), rounded - 1.0);
    }
}

/// It would have to be computed twice.
#[test]
fn a_product_that_is_used_twice_is_rounded() {
    let inputs = [numbers(ROOT), numbers(1.0)];
    let found = first(&inputs, false, |b, xs| {
        let product = b.op(Op::Mul, &[xs[0], xs[0]])?;
        let less = b.op(Op::Sub, &[product, xs[1]])?;
        b.op(Op::Div, &[less, product])
    });
    let rounded = ROOT * ROOT;
    assert_eq!(found, (rounded - 1.0) / rounded);
}

/// Each product is rounded with the sum that it is added to.
#[test]
fn products_that_are_added_up_are_rounded_once() {
    // Numbers 0 and 16 are added to the same accumulator.
    let (mut a, mut b) = ([0.0; 17], [0.0; 17]);
    (a[0], b[0], a[16], b[16]) = (-1.0, 1.0, ROOT, ROOT);
    let inputs = [array(&[17], &a), array(&[17], &b)];
    let body = |b: &mut Builder, xs: &[TermId]| {
        let products = b.op(Op::Mul, &[xs[0], xs[1]])?;
        b.sum_outer(products)
    };
    assert_eq!(first(&inputs, false, body), ROOT * ROOT - 1.0 + LOST);
    assert_eq!(first(&inputs, true, body), ROOT * ROOT - 1.0);
}

/// Integers have no rounding, and no such operation.
#[test]
fn integers_are_left_alone() {
    let x = array(&[20], &[i64::MAX; 20]);
    let p = program(std::slice::from_ref(&x), |b, xs| {
        let product = b.op(Op::Mul, &[xs[0], xs[0]])?;
        Ok(vec![b.op(Op::Add, &[product, xs[0]])?])
    });
    let plan = Executable::new(&p).unwrap();
    let found = plan.run(&[x], &RunLimits::default()).unwrap();
    assert_eq!(
        found[0].as_slice::<i64>().unwrap()[0],
        i64::MAX.wrapping_mul(i64::MAX).wrapping_add(i64::MAX)
    );
}

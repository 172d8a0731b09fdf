//! Gradients of programs: against derivatives by hand, finite differences and each other.

use cotan_ir::scalar::Op;
use cotan_testkit::{Rng, for_each_case};

use crate::section2::delta::IdGen;
use crate::section2::eval::eval_1;
use crate::section2::examples::*;
use crate::section2::run::run;
use crate::section2::syntax::*;
use crate::section2::transform::Sharing;
use crate::section2::types::Type;
use crate::section2::value::Value;
use crate::section2::wrapper::{run_dual, wrapper};

/// Value and derivative of a program of one real.
fn derivative(t: &Term, x: f64) -> (f64, f64) {
    match wrapper("x", t, &x.into(), 1.0).unwrap() {
        (value, Value::Real(gradient)) => (value, gradient),
        (_, gradient) => panic!("{gradient}"),
    }
}

/// The value alone, by running the source program.
fn value(t: &Term, x: &Value) -> f64 {
    match run(t, &[("x".into(), x.clone())], &mut IdGen::new()).unwrap() {
        Value::Real(r) => r,
        other => panic!("{other}"),
    }
}

fn assert_close(got: f64, expected: f64, tolerance: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!((got - expected).abs() <= tolerance * scale, "{got} against {expected}: {what}");
}

// ---- by hand ----------------------------------------------------------------------------------

#[test]
fn functions_of_functions() {
    // s(y) = y * y + x, four times from x: the derivative of s^n(x) by x is D' = 2 s D + 1.
    for x in [-1.0, 0.0, 0.3, 1.5] {
        let (mut s, mut ds) = (x, 1.0);
        for _ in 0..4 {
            (s, ds) = (s * s + x, 2.0 * s * ds + 1.0);
        }
        assert_eq!(derivative(&higher_order(), x), (s, ds));
    }
}

#[test]
fn recursive_functions() {
    for (k, x) in [(0, 3.0), (1, 3.0), (2, -1.5), (7, 1.25), (3, 0.0)] {
        let expected = if k == 0 { 0.0 } else { k as f64 * f64::powi(x, k - 1) };
        assert_eq!(derivative(&power(i64::from(k)), x), (x.powi(k), expected));
    }
}

#[test]
fn loops_whose_length_depends_on_the_input() {
    for x in [0.01f64, 0.5, 2.0, 1e4] {
        let (value, gradient) = derivative(&newton_square_root(), x);
        assert_close(value, x.sqrt(), 1e-12, "square root");
        assert_close(gradient, 0.5 / x.sqrt(), 1e-9, "its derivative");
    }
}

#[test]
fn branches_and_discrete_parts() {
    // x * round x has the derivative round x; - sin x has - cos x.
    assert_eq!(derivative(&with_a_branch(), 2.6), (2.6 * 3.0, 3.0));
    let (value, gradient) = derivative(&with_a_branch(), -1.0);
    assert_close(value, 1f64.sin(), 1e-15, "sine");
    assert_close(gradient, -(1f64.cos()), 1e-15, "its derivative");
    assert_eq!(derivative(&with_a_branch(), 0.0), (-0.0, -1.0));
}

#[test]
fn deep_recursion() {
    const N: i64 = 20_000;
    let (mut y, mut dy) = (1.5f64, 1.0);
    for _ in 0..N {
        (y, dy) = (y.sin(), y.cos() * dy);
    }
    let (value, gradient) = derivative(&nested_sines(N), 0.5);
    assert_close(value, y, 1e-12, "value");
    assert!((gradient / dy - 1.0).abs() < 1e-9, "{gradient} against {dy}");
}

#[test]
fn a_cotangent_scales_the_gradient_and_zero_is_strong() {
    let t = real_op(Op::Log, [var("x")]);
    assert_eq!(wrapper("x", &t, &4.0.into(), 8.0).unwrap().1.to_string(), "2.0");
    assert_eq!(wrapper("x", &t, &0.0.into(), 0.0).unwrap().1.to_string(), "0.0");
    // The other branch is not even in the Delta term.
    let guarded = if_positive(var("x"), t, real(0.0));
    assert_eq!(derivative(&guarded, 0.0), (0.0, 0.0));
}

// ---- at random --------------------------------------------------------------------------------

/// A random smooth term of type `R` over the real variables given, using every former.
struct Generator<'a> {
    rng: &'a mut Rng,
    variables: Vec<Name>,
    names: usize,
}

impl Generator<'_> {
    fn term(&mut self, size: usize) -> Term {
        if size == 0 {
            return self.leaf();
        }
        let (left, right) = (size / 2, size - size / 2 - 1);
        match self.rng.below(9) {
            0 => self.term(left) + self.term(right),
            1 => self.term(left) * self.term(right),
            2 => {
                let op = *self.rng.pick(&[Op::Sin, Op::Tanh, Op::Atan, Op::Logistic]);
                real_op(op, [self.term(size - 1)])
            }
            3 => {
                let s = self.term(left);
                let (x, t) = self.under(|g| g.term(right));
                let_in(x, s, t)
            }
            4 => {
                // (\x. t) s
                let (x, t) = self.under(|g| g.term(right));
                apply(lambda(x, Type::Real, t), self.term(left))
            }
            5 => {
                // (\f. f (f s)) (\x. t)
                let s = self.term(left / 2);
                let (x, t) = self.under(|g| g.term(right / 2));
                let twice = apply(var("f"), apply(var("f"), s));
                let function = Type::function(Type::Real, Type::Real);
                apply(lambda("f", function, twice), lambda(x, Type::Real, t))
            }
            6 => {
                let both = pair(self.term(left), self.term(right));
                if self.rng.chance(50) { fst(both) } else { snd(both) }
            }
            // Which branch is taken does not depend on the inputs.
            7 => {
                let sign = *self.rng.pick(&[-1.0, 1.0]);
                if_positive(real(sign), self.term(left), self.term(right))
            }
            _ => {
                // let rec f (x : R) : R = t in f s: a function that happens not to recurse.
                let (x, t) = self.under(|g| g.term(right));
                let head = Rec {
                    function: "r".into(),
                    parameter: x,
                    argument: Type::Real,
                    result: Type::Real,
                };
                let_rec(head, t, apply(var("r"), self.term(left)))
            }
        }
    }

    fn leaf(&mut self) -> Term {
        match self.rng.below(4) {
            0 => real(self.rng.unit() * 2.0 - 1.0),
            _ => var(self.rng.pick(&self.variables).clone()),
        }
    }

    /// A term under one more variable: sometimes an old name, which it then hides.
    fn under(&mut self, make: impl FnOnce(&mut Self) -> Term) -> (Name, Term) {
        self.names += 1;
        let new = Name::from(format!("v{}", self.names).as_str());
        let hide = self.rng.chance(20);
        let name = if hide { self.rng.pick(&self.variables).clone() } else { new };
        self.variables.push(name.clone());
        let t = make(self);
        self.variables.pop();
        (name, t)
    }
}

/// `let a = fst x in let b = snd x in t` for a random `t` over `a` and `b`.
fn random_program(rng: &mut Rng) -> Term {
    let size = 1 + rng.below(14);
    let variables = vec!["a".into(), "b".into()];
    let t = Generator { rng, variables, names: 0 }.term(size);
    let_in("a", fst(var("x")), let_in("b", snd(var("x")), t))
}

fn two_reals(gradient: &Value) -> [f64; 2] {
    match gradient {
        Value::Pair(both) => match (both.left(), both.right()) {
            (Value::Real(a), Value::Real(b)) => [*a, *b],
            other => panic!("{other:?}"),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn gradients_of_random_programs() {
    let mut moved = 0;
    for_each_case("section 2 gradients", 1500, |rng| {
        let t = random_program(rng);
        let (a, b) = (rng.unit() * 2.0 - 1.0, rng.unit() * 2.0 - 1.0);
        let (primal, gradient) =
            wrapper("x", &t, &(a, b).into(), 1.0).map_err(|e| format!("{e}\n{t}"))?;
        if primal.to_bits() != value(&t, &(a, b).into()).to_bits() {
            return Err(format!("the primal is not the value of\n{t}"));
        }
        let gradient = two_reals(&gradient);
        let f = |a: f64, b: f64| value(&t, &(a, b).into());
        let difference = |h: f64| {
            [(f(a + h, b) - f(a - h, b)) / (2.0 * h), (f(a, b + h) - f(a, b - h)) / (2.0 * h)]
        };
        let (coarse, fine) = (difference(1e-3), difference(5e-4));
        for k in 0..2 {
            let estimate = (4.0 * fine[k] - coarse[k]) / 3.0;
            if (estimate - gradient[k]).abs() > 1e-7 * gradient[k].abs().max(1.0) {
                return Err(format!("{gradient:?} against difference {estimate} of\n{t}"));
            }
            moved += usize::from(gradient[k] != 0.0);
        }
        // Without ids and with vectors: the same up to rounding.
        let (_, d) =
            run_dual("x", &t, &(a, b).into(), Sharing::Naive).map_err(|e| e.to_string())?;
        for (forwards, backwards) in eval_1(&d, 2).into_iter().zip(gradient) {
            if (forwards - backwards).abs() > 1e-12 * backwards.abs().max(1.0) {
                return Err(format!("{forwards} forwards, {backwards} backwards\n{t}"));
            }
        }
        Ok(())
    });
    assert!(moved > 1000, "only {moved} derivatives are not zero");
}

//! Solutions of equations: their derivatives are those of the closed form, exactly over the field, to
//! the third order, by arguments and by what is captured, under `build` and in loops; and they never
//! go through what found the solution.

use cotan_ad::{grad, hessian, hvp, jacfwd, jacrev, jvp, vjp};
use cotan_interp::Mode;
use cotan_ir::Program;
use cotan_testkit::{InputKind, Rng, for_each_case, inputs_for};

use crate::support::*;

/// `a u = p`, `b v = u^2` as equations; `found` is what the function says.
fn equations(found: &str) -> String {
    format!(
        "def pair(p: f64, a: f64, b: f64) =
           with_equation((p,), (0.0, 0.0, 0.0, 0.0), ((p,), (u, v, r, q)) =>
             ({found},
              (a * u - p, b * v - u * u,
               r / a, (q + 2.0 * u * (r / a)) / b,
               (r + 2.0 * u * (q / b)) / a, q / b)))"
    )
}

/// The same by hand.
const CLOSED: &str = "def pair(p: f64, a: f64, b: f64) = (p / a, (p / a) * (p / a) / b)";

/// The closed form as the solution, by a way that has no derivative.
const FOUND: &str = "(stop_gradient(p / a), stop_gradient((p / a) * (p / a) / b))";

/// Functions of three vectors of three elements each to a scalar.
const USES: [&str; 3] = [
    "def f(p: [3]f64, a: [3]f64, b: [3]f64) = sum(build 3 (i => let (u, v) = pair(p[i], a[i], b[i]) in u * v * v + p[i] * u))",
    "def f(p: [3]f64, a: [3]f64, b: [3]f64) = fold(1.0, (p, a, b), (s, (p, a, b)) => let (u, v) = pair(s * p, a, b) in u * v + a)",
    "def f(p: [3]f64, a: [3]f64, b: [3]f64) = let (_, s) = while_loop((k, s) => k < 3, (k, s) => let (u, v) = pair(s + p[k], a[k], b[k]) in (k + 1, v - u), (0, 1.0), at_most = 5) in s * s",
];

/// The derivative of a program, with a scalar output for the next one.
type Way = fn(&Program, Option<&[usize]>) -> cotan_ir::Result<Program>;

fn agree(left: &Program, right: &Program, ways: &[Way], rng: &mut Rng) -> Checked {
    let (mut left, mut right) = (left.clone(), right.clone());
    for way in ways {
        left = bulked(&checked(way(&left, None))?)?;
        right = bulked(&checked(way(&right, None))?)?;
    }
    let inputs = inputs_for(&left, rng, InputKind::Field).map_err(text)?;
    let of = |p| -> Result<Vec<_>, String> {
        Ok(run(p, &inputs, Mode::Field)?.iter().map(elements).collect())
    };
    let (x, y) = (of(&left)?, of(&right)?);
    match x == y {
        true => Ok(()),
        false => Err(format!("{x:?} against {y:?}\n{left}")),
    }
}

#[test]
fn derivatives_of_solutions_are_those_of_the_closed_form() {
    let ways: [&[Way]; 9] = [
        &[jvp],
        &[vjp],
        &[jacfwd],
        &[jacrev],
        &[hessian],
        &[hvp],
        &[jvp, jvp],
        &[grad, jvp, vjp],
        &[hessian, jvp],
    ];
    for_each_case("implicit derivatives", 20, |rng| {
        for uses in USES {
            let program = |pair: &str| function(&format!("{pair}\n{uses}"), &[]);
            let (left, right) = (program(&equations(FOUND)), program(CLOSED));
            for ways in ways {
                agree(&left, &right, ways, rng).map_err(|e| format!("{uses}: {e}"))?;
            }
        }
        Ok(())
    });
}

/// A wrong solver for the transposed system is found by reverse mode alone: both are used.
#[test]
fn each_mode_has_its_own_solver() {
    let right = function(&format!("{CLOSED}\n{}", USES[0]), &[]);
    let spoilt_solvers: [(&str, &str, Way, Way); 2] = [
        ("(r + 2.0 * u * (q / b)) / a", "r / a", vjp, jvp),
        ("r / a, (q", "r / a, (r + q", jvp, vjp),
    ];
    for (wrong, replaced, mode, other) in spoilt_solvers {
        let spoilt = equations(FOUND).replacen(wrong, replaced, 1);
        let left = function(&format!("{spoilt}\n{}", USES[0]), &[]);
        let mut rng = Rng::new(7);
        assert!(agree(&left, &right, &[mode], &mut rng).is_err());
        assert_eq!(agree(&left, &right, &[other], &mut rng), Ok(()));
    }
}

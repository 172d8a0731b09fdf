//! `cotan test`

use super::session::Session;

const FUNCTIONS: &str = "\
def smooth(p: {w: [m, n]f64, b: [m]f64}, x: [n]f64) = tanh(matmul(p.w, x) + p.b)
def roots(x: [n]f64): f64 = sum(sqrt(x) * log(x))
def power(x: f64, n: i64): f64 = if n == 0 then 1.0 else x * power(x, n - 1)
def single(x: [n]f32) = fold(1.0, x, (s, c) => sin(s * c) + s)
def count(n: i64) = n + 1
def position(x: [n]f64) = argmax(x)
def apply(f: f64 -> f64, x: f64) = f(x)
";

#[test]
fn every_function_is_tested_or_skipped_with_the_reason() {
    let session = Session::new().with("f.ct", FUNCTIONS);
    let out = session.cotan("test f.ct").succeeds().out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 7, "{out}");
    // 3 * 4 + 3 + 4 entries at the first sample of sizes.
    assert!(lines[0].starts_with("smooth: ok: 19 derivatives; largest errors: forward "), "{out}");
    assert!(lines[0].contains(", scalars ") && lines[0].contains(", differences "), "{out}");
    for (line, name) in lines[1..4].iter().zip(["roots", "power", "single"]) {
        assert!(line.starts_with(&format!("{name}: ok: ")), "{out}");
    }
    assert_eq!(lines[4], "count: skipped: no parameter is a float");
    assert_eq!(lines[5], "position: skipped: no result is a float");
    assert_eq!(lines[6], "apply: skipped: no sample of sizes and static values fits it");
}

#[test]
fn sizes_values_and_seeds_can_be_given() {
    let session = Session::new().with("f.ct", FUNCTIONS);
    let out = session.cotan("test f.ct --fn smooth --size m=2 --size n=1 --seed 5").succeeds().out;
    assert!(out.starts_with("smooth: ok: 5 derivatives; "), "{out}");
    let args = ["test", "f.ct", "--fn", "roots", "--arg", "x=[0.5, 2]"];
    let out = session.cotan_with(&args, "", &[]).succeeds().out;
    assert!(out.starts_with("roots: ok: 2 derivatives; "), "{out}");
    let again = session.cotan("test f.ct --fn smooth --seed 5").succeeds().out;
    assert_eq!(again, session.cotan("test f.ct --fn smooth --seed 5").succeeds().out);
}

#[test]
fn a_wrong_derivative_is_shown_with_its_place_and_without_weights() {
    let text = "\
def main(x: [n]f64, y: [n]f64) = {
  p = x + y,
  q = build n (i => if i == 1 then custom_vjp(x => x * x, (x, ct) => 3 * x * ct, x[i]) else y[i]),
}
";
    let session = Session::new().with("f.ct", text);
    let args = ["test", "f.ct", "--arg", "x=[1, 2]", "--arg", "y=[0.5, 0.25]"];
    let ran = session.cotan_with(&args, "", &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "main: FAILED\n"), "{ran:?}");
    let what = "error: `main`: the derivative of `q[1]` by `x[1]` at x[1] = 2 is 6 in reverse mode, 6 in \
                forward mode, 4 by the algorithm on scalars, and 4 by differences";
    assert!(ran.err.contains(what) && ran.err.contains("custom_vjp"), "{ran:?}");
    assert!(!ran.err.contains("seed"), "nothing is random: {ran:?}");
}

/// At a kink nothing is wrong, and nothing can be told; what is said is what `cotan grad` says.
#[test]
fn a_kink_is_seen_from_both_sides() {
    let session = Session::new().with(
        "f.ct",
        "def main(x: [n]f64) = 0.5 * abs(x)
         def smooth(x: f64) = max(x, 0) - max(-x, 0)
         def wrong(x: f64) = custom_vjp(x => abs(x), (x, ct) => 3 * ct, x)",
    );
    let test = |function: &str, x: &str| {
        session.cotan_with(&["test", "f.ct", "--fn", function, "--arg", x], "", &[])
    };
    test("main", "x=[1, 0]").gives(
        "main: undecided: the derivative of `result[1]` by `x[1]` at x[1] = 0 is at a kink: the slope \
         is -0.5 on the left and 0.5 on the right; reverse mode gives 0; --arg tries other values\n",
    );
    assert!(test("main", "x=[1, 0.001]").succeeds().out.starts_with("main: ok: 2 derivatives"));
    // What is smooth although its parts are not: the chain rule of parts does not hold at 0.
    let out = test("smooth", "x=0").succeeds().out;
    assert!(out.starts_with("smooth: undecided: ") && out.contains("points around it"), "{out}");
    assert!(test("smooth", "x=0.1").succeeds().out.starts_with("smooth: ok"));
    let ran = test("wrong", "x=0");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("by `x` at x = ") && ran.err.contains("3 in reverse mode"), "{ran:?}");
}

#[test]
fn what_cannot_be_told_is_not_called_wrong() {
    let text = "\
def jumps(x: [2]f64) = sum(floor(1000000 * x))
def huge(x: [3]f64) = 1e300 + sum(x)
def large(x: f64) = 1e12 + x * x
def wrong(x: f64) = 1e3 + custom_vjp(x => x * x, (x, ct) => 2.0001 * x * ct, x)
";
    let ran = Session::new().with("f.ct", text).cotan("test f.ct");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("jumps: undecided: ") && lines[0].contains("do not settle"));
    assert!(lines[0].ends_with("--seed 1 tries other values"), "{ran:?}");
    assert!(lines[1].starts_with("huge: undecided: ") && lines[1].contains("rounding"), "{ran:?}");
    assert!(lines[2].starts_with("large: undecided: ") && lines[2].contains("rounding"), "{ran:?}");
    assert_eq!(lines[3], "wrong: FAILED", "{ran:?}");
    let text = "def jumps(x: [2]f64) = sum(floor(1000000 * x))";
    Session::new().with("f.ct", text).cotan("test f.ct").succeeds();
}

/// Rounding in f32 is no wrong derivative.
#[test]
fn single_precision_is_tested_as_double() {
    let text = "\
def right(x: [50]f32, y: [50]f32) = max(x, y)
def orbit(a: f32) = fold((a, f32(1)), iota(300), ((u, v), i) => (u + 0.01 * v, v - 0.01 * u)).0
def wrong(x: f32) = custom_vjp(x => x * x, (x, ct) => 2.001 * x * ct, x)
";
    let session = Session::new().with("f.ct", text);
    for seed in 0..5 {
        let ran = session.cotan(&format!("test f.ct --seed {seed}"));
        let lines: Vec<&str> = ran.out.lines().collect();
        assert!(lines[0].starts_with("right: ok: 100 derivatives; "), "{ran:?}");
        assert!(lines[1].starts_with("orbit: ok: 1 derivative; "), "{ran:?}");
        assert!(lines[1].contains("rounding to f32 "), "{ran:?}");
        assert_eq!(lines[2], "wrong: FAILED", "{ran:?}");
    }
}

/// The solutions that solvers find within their tolerances are not those of a little beside, and
/// derivatives that iterate are no better: neither is wrong.
#[test]
fn solutions_are_compared_as_closely_as_they_are_known() {
    let text = "\
def lowest(x: f64, y: f64) = sum(sin(minimize(z => (z - x) ** 2 + 0.1 * y * y * z ** 4, 1.0)))
def single(x: f32, y: f32) = minimize(z => (z - x) ** 2 + 0.1 * y * y * z ** 4, f32(1))
def again(x: f64) = grad(x => minimize(z => (z - x) ** 2 + 0.1 * z ** 4, 1.0))(x)
def zero(x: f64, y: f64) = root(z => z * z * z + z * exp(y) - x, 1.0)
def lanes(x: [n]f64) = build n (i => root(z => z * z * z + z - x[i], 0.5))
def fixed(x: f64) = fixed_point(z => 0.9 * sin(z) + x, 1.0)
def coarse(x: f64) = fixed_point(z => 0.9 * sin(z) + x, 1.0, tolerance = 1e-3)
def symmetric(a: [4]f64, b: [4]f64) = cg(v => (1.0 + a * a) * v + 0.1 * sum(v), b)
def plain(a: [4]f64, b: [4]f64) = gmres(v => (2.0 + a * a) * v + 0.1 * a * sum(b * v), b)
def steps(k: f64, y: f64) = odeint((t, y) => sin(t) - k * k * y ** 3, y, [0.0, 1.0])
def stiff(k: f64, y: f64) = odeint((t, y) => -(20.0 + k) * (y - cos(t)), y, [0.0, 1.0], method = rosenbrock)
def area(k: f64, a: f64) = quadrature(x => 1.0 / (0.01 + (x - k) ** 2), -3.0, a, tolerance = 1e-2)
def held(x: f64) = x * stop_gradient(x)
";
    let session = Session::new().with("f.ct", text);
    let out = session.cotan("test f.ct").succeeds().out;
    for line in out.lines() {
        assert!(line.contains(": ok: "), "{out}");
    }
    assert_eq!(out.lines().count(), 13, "{out}");
}

#[test]
fn rules_that_iterate_are_not_called_wrong_and_wrong_rules_beside_solvers_are() {
    let text = "\
def adjoint(k: f64, y: f64) =
  odeint((t, y) => sin(t) - k * k * y ** 3, y, [0.0, 1.0], adjoint = continuous, tolerance = 1e-3)
def wrong(x: f64) =
  root(z => z * z * z + z - x, 1.0) * custom_vjp(x => x * x, (x, ct) => 2.001 * x * ct, x)
def wrong_steps(k: f64) =
  odeint((t, y) => -k * y, 1.0, [0.0, 1.0])[1] + custom_vjp(x => x * x, (x, ct) => 3.0 * x * ct, k)
def wrong_stop(x: f64) = stop_gradient(x) * custom_vjp(x => x * x, (x, ct) => 2.1 * x * ct, x)
";
    let ran = Session::new().with("f.ct", text).cotan("test f.ct");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("adjoint: undecided: "), "{ran:?}");
    assert!(lines[0].contains("computed to a tolerance"), "{ran:?}");
    let wrong = ["wrong: FAILED", "wrong_steps: FAILED", "wrong_stop: FAILED"];
    assert_eq!(lines[1..], wrong, "{ran:?}");
}

//! `cotan test` on a table of functions: none that is right fails, all that are wrong are found.

use std::collections::BTreeMap;

use super::session::Session;

/// Functions whose derivatives are right: smooth ones, kinked ones, ill-conditioned ones, loops.
const RIGHT: &str = "
def cube(x: T) = x * x * x
def polynomial(x: [n]T) = sum(x * x * x - 2 * x + 1)
def quotient(x: [n]T, y: [n]T) = x / (1 + y * y)
def waves(x: [n]T) = sum(sin(3 * x) * cos(x))
def fast_waves(x: T) = sin(200 * x)
def growth(x: [n]T) = exp(x) + expm1(x / 2)
def softmax_like(x: [n]T) = exp(x) / sum(exp(x))
def logs(x: [n]T) = sum(log(x * x + 1) + log1p(x * x))
def roots(x: [n]T) = sqrt(x * x + 0.1)
def cube_roots(x: [n]T) = sum(cbrt(x + 3))
def powers(x: T, y: T) = (x * x + 0.5) ** y
def hyperbolic(x: [n]T) = tanh(x) + sinh(x) - cosh(x)
def arcs(x: [n]T) = atan(x) + asinh(x) + atan2(x, 2)
def errors(x: [n]T) = erf(x)
def logistic_like(x: [n]T) = 1 / (1 + exp(-x))
def norm(x: [n]T) = sqrt(sum(x * x) + 1e-3)
def products(a: [m, k]T, b: [k, n]T) = matmul(a, b)
def quadratic(a: [n, n]T, x: [n]T) = dot(x, matmul(a, x))
def outer(x: [m]T, y: [n]T) = build (m, n) ((i, j) => x[i] * y[j])
def convolution(x: [n]T) = build n (i => x[i] * x[n - 1 - i])
def neighbours(x: [n]T) = build n (i => x[i + 1] - 2 * x[i] + x[i - 1])
def sums(x: [m, n]T) = sum(x, axis = 0) * sum(x, axis = 0)
def running(x: [n]T) = cumsum(x * x)
def network(w: [m, n]T, b: [m]T, x: [n]T) = tanh(matmul(w, x) + b)
def larger(x: [50]T, y: [50]T) = max(x, y)
def smaller(x: [50]T, y: [50]T) = sum(min(x, y))
def distance(x: [50]T) = sum(abs(x))
def rectified(x: [50]T) = sum(max(x, 0))
def clipped(x: [20]T) = min(max(x, -0.5), 0.5)
def chosen(x: [20]T) = build 20 (i => if x[i] > 0 then x[i] * x[i] else -x[i])
def largest(x: [20]T) = max(x)
def sorted(x: [10]T) = sort(x) * T(iota(10))
def folded(x: [n]T) = fold(1.0, x, (s, c) => sin(s * c) + s)
def recurrence(x: [n]T) = fold(0.0, x, (s, c) => 0.9 * s + c)
def lotka_volterra(a: T, b: T) = fold((1 + a * a, 1 + b * b), iota(100), ((u, v), i) => (u + 0.01 * (u - u * v), v + 0.01 * (u * v - v)))
def pendulum(x: T) = fold((x, T(1)), iota(200), ((u, v), i) => (u + 0.02 * v, v - 0.02 * sin(u))).0
def newton(x: T) = fold(T(1), iota(20), (s, i) => (s + (x * x + 1) / s) / 2)
def halving(x: T) = while_loop(s => s > 1, s => s / 2, x * x + 3)
def logistic_map(x: T) = fold(0.3 + 0.1 * x, iota(8), (s, i) => 3.2 * s * (1 - s))
def cancelling(x: T) = (x + 1000) - 1000 + x * x
def steep(x: T) = tanh(50 * x)
def tiny(x: [n]T) = 1e-6 * sum(x * x)
def vast(x: [n]T) = 1e6 * sum(x * x)
def shifted(x: T) = 1e4 + x * x
def near_pole(x: T) = 1 / (x * x + 0.01)
def entropy(x: [n]T) = -sum(x * x * log(x * x + 1e-6))
def constant(x: [n]T) = 0 * sum(x) + 3
def partly(x: [n]T, y: [n]T) = sum(x)
def gaussian(x: [n]T, m: T) = sum(exp(-(x - m) * (x - m)))
def masked(x: [20]T) = sum(where(x > 0, log(x), 0))
def gathered(x: [n]T) = build 5 (i => x[(i * i) % n])
def tuple(x: T, y: T) = (x * y, {s = sin(x), c = cos(y)})
def own(x: T) = custom_vjp(x => x * x, (x, ct) => 2 * x * ct, x)
def own_forward(x: T) = custom_jvp(x => sin(x), (x, d) => cos(x) * d, x)
";

/// Functions with a rule of their own that is wrong, by much or by little.
const WRONG: &str = "
def twice(x: T) = custom_vjp(x => x * x, (x, ct) => 4 * x * ct, x)
def sign_(x: T) = custom_vjp(x => x * x, (x, ct) => -2 * x * ct, x)
def little(x: T) = custom_vjp(x => x * x, (x, ct) => 2.0001 * x * ct, x)
def nothing(x: T) = custom_vjp(x => sin(x), (x, ct) => 0 * ct, x)
def unlike(x: T) = custom_jvp(x => sin(x), (x, d) => sin(x) * d, x)
def forgotten(x: T) = custom_vjp(x => x * x * x, (x, ct) => 3 * x * ct, x)
def kinked(x: [20]T) = build 20 (i => custom_vjp(x => abs(x), (x, ct) => ct, x[i]))
def one_of_many(x: [20]T) = build 20 (i => if i == 7 then custom_vjp(x => exp(x), (x, ct) => 1.01 * exp(x) * ct, x[i]) else x[i])
def in_a_loop(x: T) = fold(x, iota(5), (s, i) => custom_vjp(s => sin(s), (s, ct) => cos(s) * ct * 1.1, s))
def large_too(x: T) = 1e3 + custom_vjp(x => x * x, (x, ct) => 2.01 * x * ct, x)
def swapped(x: T, y: T) = custom_vjp((x, y) => x * x * y, (x, y, ct) => (x * x * ct, 2 * x * y * ct), x, y)
def negative_side(x: [20]T) = sum(build 20 (i => custom_vjp(x => max(x, 0), (x, ct) => where(x > 0, ct, 0.1 * ct), x[i])))
";

/// How many seeds: a few, or more with `COTAN_CASES`.
fn seeds() -> u64 {
    let cases = std::env::var("COTAN_CASES").ok().and_then(|text| text.parse::<f64>().ok());
    (3.0 * cases.unwrap_or(1.0)).ceil() as u64
}

/// The verdicts of all functions, by name.
fn verdicts(text: &str, dtype: &str, seed: u64) -> (BTreeMap<String, String>, String) {
    let session = Session::new().with(
        "f.ct",
        text.replace("T(", &format!("{dtype}("))
            .replace("]T", &format!("]{dtype}"))
            .replace(": T", &format!(": {dtype}")),
    );
    let ran = session.cotan(&format!("test f.ct --seed {seed}"));
    let lines = ran.out.lines().filter_map(|line| line.split_once(": "));
    let found = lines.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())).collect();
    (found, format!("{}{}", ran.out, ran.err))
}

#[test]
fn no_right_derivative_fails() {
    let names = RIGHT.lines().filter(|line| line.starts_with("def ")).count();
    assert!(names > 50);
    let (mut decided, mut all) = (0, 0);
    for dtype in ["f64", "f32"] {
        for seed in 0..seeds() {
            let (found, text) = verdicts(RIGHT, dtype, seed);
            assert_eq!(found.len(), names, "{dtype}, seed {seed}: {text}");
            for (name, verdict) in found {
                let fine = verdict.starts_with("ok") || verdict.starts_with("undecided");
                assert!(fine, "{name} of {dtype}, seed {seed}: {verdict}\n{text}");
                if verdict.starts_with("undecided") {
                    println!("{name} of {dtype}, seed {seed}: {verdict}");
                }
                decided += usize::from(verdict.starts_with("ok"));
                all += 1;
            }
        }
    }
    assert!(decided * 100 >= all * 99, "{decided} of {all} decided");
}

#[test]
fn every_wrong_derivative_is_found() {
    let names = WRONG.lines().filter(|line| line.starts_with("def ")).count();
    for dtype in ["f64", "f32"] {
        for seed in 0..seeds() {
            let (found, text) = verdicts(WRONG, dtype, seed);
            assert_eq!(found.len(), names, "{dtype}, seed {seed}: {text}");
            for (name, verdict) in found {
                assert_eq!(verdict, "FAILED", "{name} of {dtype}, seed {seed}\n{text}");
            }
        }
    }
}

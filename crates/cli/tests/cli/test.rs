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
fn disagreement_is_shown_with_its_place() {
    // The derivative of floor is 0, which differences across its jumps are not.
    let session = Session::new().with("f.ct", "def main(x: [n]f64) = sum(floor(1000000 * x))\n");
    let ran = session.cotan("test f.ct --size n=2");
    assert!(ran.out.starts_with("main: FAILED: 2 derivatives; "), "{ran:?}");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in ["`main` by x[", "0 in reverse mode", "by differences", "another --seed"] {
        assert!(ran.err.contains(part), "{ran:?}");
    }
}

/// Differences of large values say little about small changes of them.
#[test]
fn rounding_of_large_values_is_no_disagreement() {
    let text = "\
def large(x: f64) = 1e12 + x * x
def huge(x: [3]f64) = 1e300 + sum(x)
def wrong(x: f64) = 1e3 + custom_vjp(x => x * x, (x, ct) => 2.0001 * x * ct, x)
";
    let ran = Session::new().with("f.ct", text).cotan("test f.ct");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("large: ok: ") && lines[0].ends_with("(within rounding)"));
    assert!(lines[1].starts_with("huge: ok: ") && lines[1].ends_with("(within rounding)"));
    assert!(lines[2].starts_with("wrong: FAILED: "), "{ran:?}");
}

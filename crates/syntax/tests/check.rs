//! Checking whole files.
#![allow(clippy::expect_used, reason = "tests")]

use cotan_syntax::{check, load_text};

fn codes(text: &str) -> Vec<String> {
    let modules = load_text("test.ct", text).expect("it loads");
    check(&modules, &Default::default()).iter().map(|d| d.code.to_string()).collect()
}

#[test]
fn correct_definitions_pass() {
    let text = "
        type Layer[i, o] = {w: [o, i]f64, b: [o]f64}
        def layer(p: Layer[i, o], x: [i]f64): [o]f64 = tanh(matmul(p.w, x) + p.b)
        def net(p: Layer[i, h], q: Layer[h, o], x: [i]f64) = layer(q, layer(p, x))
        def interleave(a: [n]f64, b: [n]f64): [2 * n]f64 = flatten(transpose(stack(a, b)))
        def halves(a: [2 * n]f64) = a[:n] + a[n:]
        def power(x: f64, n: i64): f64 = if n == 0 then 1.0 else x * power(x, n - 1)
        def apply(f: f64 -> f64, x: f64) = f(x)
        def first(a: [n]f64) = a[0]";
    assert_eq!(codes(text), [] as [String; 0]);
}

#[test]
fn faults_are_found_without_a_caller() {
    assert_eq!(codes("def f(a: [n]f64, b: [m]f64, c: [3]i64) = sum(a) + c"), ["E0202"]);
    assert_eq!(codes("def f(a: [n]f64) = a[1:n + 1]"), ["E0210"]);
    assert_eq!(codes("def f(a: [n]f64): [n + 1]f64 = a"), ["E0201"]);
    assert_eq!(codes("def f(a: [n]f64, k: i64) = k + nonsense"), ["E0101"]);
    assert_eq!(codes("type T = U"), ["E0101"]);
    assert_eq!(codes("def f(a: [3]f64) = a[3]"), ["W0301"]);
}

#[test]
fn endless_recursion_is_found_without_a_caller() {
    for text in [
        "def f(x: f64): f64 = f(x + 1.0)",
        "def f(n: i64): f64 = f(n + 1)",
        "def f(n: i64, x: f64): f64 = if n > 0 then f(n - 1, x) else 2.0 * f(n + 1, x)",
        "def f(g: f64 -> f64, x: f64): f64 = f(g, g(x))",
        "def f(a: [n]f64): f64 = f(concat(a, [1.0]))",
    ] {
        assert_eq!(codes(text), ["E0216"], "{text}");
    }
    let both = "def f(n: i64): f64 = g(n) def g(n: i64): f64 = f(n)";
    assert_eq!(codes(both), ["E0216", "E0216"]);
    // These end for some arguments, if not for those that are tried.
    assert_eq!(codes("def f(n: i64): f64 = if n == 9 then 1.0 else f(n - 1)"), [] as [String; 0]);
    let twice = "def f(g: f64 -> f64, n: i64): f64 = if n == 0 then 1.0 else g(f(g, n - 1))";
    assert_eq!(codes(twice), [] as [String; 0]);
}

#[test]
fn conditions_are_notes() {
    assert_eq!(codes("def square_only(a: [n, m]f64) = a + transpose(a)"), ["N0401"]);
    assert_eq!(codes("def window(k: i64, a: [n]f64) = build (n - k + 1) (i => a[i])"), ["N0401"]);
}

#[test]
fn conditions_are_said_in_sizes() {
    let modules =
        load_text("test.ct", "def f(a: [n]f64, b: [m]f64): [n * m + 1]f64 = a").expect("it loads");
    let found = check(&modules, &Default::default());
    insta::assert_snapshot!(cotan_syntax::render::render_all(
        &found,
        modules.sources(),
        Default::default()
    ));
}

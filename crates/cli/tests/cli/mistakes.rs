//! Mistakes that people make, each with an answer they can act on.

use super::session::Session;

/// A program, what the message says, and what it says to do.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("def f(x: float) = x", "unknown type `float`", "write `f64`"),
    ("def f(x: number_) = x", "unknown type", "the element types are f64, f32, i64 and bool"),
    ("def f(x: f64) = clip(x, 0)", "`hi` of `clip` is missing", "clip(x, lo, hi)"),
    ("def f(x: f64) = np.sin(x)", "unknown name `np`", "functions are written without a module"),
    ("def f(x: [n, m]f64) = x.T", "only records have fields", "write `transpose(a)`"),
    ("def f(x: f64) = int(x)", "unknown name `int`", "write `i64(x)`"),
    ("def f(x: f64) = x // half of it", "found `of`", "comments begin with `#`"),
    ("def f(x: f64) = x > 0 ? 1 : 2", "unexpected character '?'", "if c then a else b"),
    ("def f(x: f64) = reshape([2, 2], x)", "sizes are needed here", "the array comes first"),
    ("def f(x: []f64) = x", "names the sizes of its axes", "write `[n]f64`"),
    ("def f(x) = x", "the parameter `x` has no type", "`x: f64`"),
    ("def f(x: f64[3]) = x", "found `[`", "the sizes of an array type stand first: `[n]f64`"),
    ("def f(x: [3]f64) = x.sum()", "only records have fields", "not methods: write `sum(…)`"),
    ("def f(x: [n]f64) = for i in n: x[i]", "found `i`", "loops are `build`, `map`, `fold`"),
    ("def f(x: f64): f64 { return x }", "found `{`", "there are no blocks"),
    ("def f(x: f64) = return x", "found `x`", "there is no `return`"),
    ("def f(x: f64) = sin x", "found `x`", "or parentheses: `sin(…)`"),
    ("def f(x: f64) = 2 x", "found `x`", "an operator, a comma or an `in` is missing"),
    ("def f(x: f64) = lambda y: y", "found `y`", "a function is written `x => …`"),
    ("def f(x: [n]f64) = build n (i -> x[i])", "found `->`", "a function is written `x => …`"),
    ("f(x) = x", "expected a declaration", "declarations begin with `def`"),
    ("def f(x: [n]f64) = x[0] = 1", "found `=`", "equality is written `==`"),
    ("def f(x: f64) = x && true", "unexpected character '&'", "`and`, `or`, `not`"),
    ("def f(x: f64) = x ^ 2", "unexpected character '^'", "powers are written `**`"),
    ("def f(x: f64) = \"hello\"", "found text", "text stands only after `import`"),
    ("def f(x: f64) = 0 < x < 1", "comparisons cannot be chained", "`a < b and b < c`"),
    ("def f(x: f64) = let y = x  y + 1", "expected `in`", "`let x = value in result`"),
    ("def f(x: f64) = if x > 0.0 then x", "expected `else`", "it has both branches"),
    ("def f(x: f64) = (x", "this `(` is never closed", "add the closing bracket"),
    ("def f(x: f64) = summ(x)", "unknown name `summ`", "did you mean `sum`?"),
    ("def f(x: [n]f64) = grad(x => x * x)(x)", "needs a function to a float scalar", "sum the"),
    (
        "def f(x: f64, n: i64) = grad((x, n) => x)(x, n)",
        "respect to argument 1, which is i64",
        "wrt = 0",
    ),
    ("def f(x: i64) = x * 0.5", "does not mix element types: i64 and f64", "convert the integers"),
    ("def f(a: [n]f64) = if a > 0 then a else -a", "this is [n]bool", "use `where(c, a, b)`"),
    ("def f(a: [n]f64, i: f64) = a[i]", "an index is a scalar i64", "convert it: `i64(…)`"),
    ("def f(a: [n]f64, k: [m]i64) = a[k]", "an index is a scalar i64", "take(a, ix)"),
    ("def f(a: [5]f64) = a[1:9]", "slice 1:9 does not lie within an axis of size 5", "in order"),
    ("def f(a: [n]f64) = a[::-1]", "must be positive, not -1", "use `reverse("),
    ("def f(a: [n]f64) = a[0, 1]", "2 indices for [n]f64, which has one axis", ""),
    (
        "def f(t: (f64, i64)) = t[0]",
        "this is a tuple, (f64, i64)",
        "a component of a tuple is `t.0`",
    ),
    ("def f(t: (f64, i64)) = t.2", "no component 2 in (f64, i64)", "numbered from 0 to 1"),
    ("def f(a: [n]f64) = sum(a, axis = 1)", "there is no axis 1", "the only axis is 0"),
    ("def f(x: f64) = log(x, 2)", "too many arguments for `log`", "its signature is `log(a)`"),
    (
        "def f(x: f64) = g(x) def g(x: f64, y: f64) = x",
        "`g` takes 2 arguments, not 1",
        "defined here",
    ),
    ("def f(x: f64): f64 = f(x) def main() = f(1.0)", "E0216", "`if` on a static value"),
    ("def f(p: {w: f64}) = p.v", "no field `v`", "w"),
];

#[test]
fn every_mistake_has_an_answer() {
    let session = Session::new();
    for (program, message, advice) in MISTAKES {
        let ran = session.cotan_with(&["check", "-"], program, &[]);
        assert_eq!(ran.code, Some(1), "{program}\n{}", ran.err);
        for part in [message, advice] {
            assert!(ran.err.contains(part), "no {part:?} in the answer to {program}\n{}", ran.err);
        }
        assert!(ran.err.contains("--> standard input:1:"), "no place in {}", ran.err);
    }
}

#[test]
fn a_negative_index_that_is_no_literal_is_a_warning() {
    let session = Session::new();
    let ran = session.cotan_with(&["check", "-"], "def f(a: [n]f64) = a[0 - 1]", &[]).succeeds();
    assert!(ran.err.contains("warning[W0301]") && ran.err.contains("write `a[len(a) - 1]`"));
    let ran = session.cotan_with(&["check", "-"], "def f(a: [n]f64) = a[-1]", &[]).succeeds();
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}

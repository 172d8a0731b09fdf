//! Derivatives in the language: structure, nesting, and what they give against closed forms.

#![allow(clippy::expect_used, reason = "tests")]

mod common;

use common::evaluate::{code, value};

const TEXT: &str = "
    def cube(x: f64): f64 = x * x * x
    def half_square(x: [n]f64): f64 = 0.5 * sum(x * x)
    def bilinear(x: [m]f64, a: [m, n]f64, y: [n]f64): f64 = sum(x * matmul(a, y))
    def model(p: {w: [n]f64, b: f64}, x: [n]f64): f64 = sum(p.w * x) * p.b
    def power(x: f64, n: i64): f64 = if n == 0 then 1.0 else x * power(x, n - 1)
    def twice(f: f64 -> f64, x: f64): f64 = f(f(x))
    def narrow(x: f32): f32 = x * x
";

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (expr, expected) in cases {
        assert_eq!(value(TEXT, expr), *expected, "{expr}");
    }
}

#[test]
fn gradients_have_the_structure_of_the_arguments() {
    check(&[
        ("grad(cube)(2.0)", "12.0"),
        ("grad(cube)(2)", "12.0"),
        ("grad(x => x * x)(3)", "6.0"),
        ("grad(narrow)(3)", "6.0f32"),
        ("grad(half_square)([1.0, 2.0])", "[1.0, 2.0]"),
        ("grad(sum)([1.0, 2.0])", "[1.0, 1.0]"),
        ("grad(sin)(0.0)", "1.0"),
        (
            "grad(bilinear)([1.0, 2.0], [[3.0], [4.0]], [5.0])",
            "([15.0, 20.0], [[5.0], [10.0]], [11.0])",
        ),
        ("grad(bilinear, wrt = 2)([1.0, 2.0], [[3.0], [4.0]], [5.0])", "[11.0]"),
        (
            "grad(bilinear, wrt = (2, 0))([1.0, 2.0], [[3.0], [4.0]], [5.0])",
            "([11.0], [15.0, 20.0])",
        ),
        ("grad(bilinear, wrt = (2,))([1.0, 2.0], [[3.0], [4.0]], [5.0])", "([11.0])"),
        (
            "grad(model)({w = [1.0, 2.0], b = 3.0}, [4.0, 5.0])",
            "({w = [12.0, 15.0], b = 14.0}, [3.0, 6.0])",
        ),
        (
            "grad(model, wrt = 0)(x = [4.0, 5.0], p = {b = 3.0, w = [1.0, 2.0]})",
            "{b = 14.0, w = [12.0, 15.0]}",
        ),
        ("grad(((x, y), z) => x * y * z, wrt = 0)((2.0, 3.0), 5.0)", "(15.0, 10.0)"),
        ("grad(x => 1.0)([1.0, 2.0])", "[0.0, 0.0]"),
    ]);
}

#[test]
fn values_and_further_results() {
    check(&[
        ("value_and_grad(cube)(2.0)", "(8.0, 12.0)"),
        (
            "grad(x => (x * x, {twice = 2 * x, n = 7}), aux = true)(3.0)",
            "(6.0, {twice = 6.0, n = 7})",
        ),
        ("value_and_grad(x => (x * x, 2 * x), aux = true)(3.0)", "((9.0, 6.0), 6.0)"),
        (
            "let (loss, g) = value_and_grad(half_square)([3.0, 4.0]) in (loss, sum(g))",
            "(12.5, 7.0)",
        ),
    ]);
}

#[test]
fn products_with_the_jacobian() {
    check(&[
        ("vjp(x => x * x)([1.0, 2.0], [1.0, 10.0])", "([1.0, 4.0], [2.0, 40.0])"),
        (
            "vjp((x, y) => {p = x * y, q = x})((2.0, 3.0), {q = 10, p = 1})",
            "({p = 6.0, q = 2.0}, (13.0, 2.0))",
        ),
        ("vjp((x, n) => x * f64(n), wrt = 0)((2.0, 3), 1.0)", "(6.0, 3.0)"),
        ("jvp(x => x * x)([1.0, 2.0], [1.0, 10.0])", "([1.0, 4.0], [2.0, 40.0])"),
        ("jvp((x, y) => (x * y, x))((2.0, 3.0), (10, 1))", "((6.0, 2.0), (32.0, 10.0))"),
        ("jvp((x, y) => x * y, wrt = 1)((2.0, 3.0), 1)", "(6.0, 2.0)"),
        ("jvp(power, wrt = 0)((2.0, 3), 1.0)", "(8.0, 12.0)"),
        ("hvp(x => sum(x * x * x))([1.0, 2.0], [1.0, 10.0])", "[6.0, 120.0]"),
        ("hvp((x, y) => x * x * y)((2.0, 3.0), (1.0, 0.0))", "(6.0, 4.0)"),
        ("hvp((x, y) => x * x * y, wrt = (1, 0))((2.0, 3.0), (0.0, 1.0))", "(4.0, 6.0)"),
        ("hvp((x, y) => x * x * y, wrt = (0,))((2.0, 3.0), (1.0,))", "(6.0)"),
    ]);
}

/// A point has the structure of the arguments and a tangent that of the gradient: one argument that
/// is a tuple is not two arguments.
#[test]
fn points_and_tangents_keep_their_structures() {
    check(&[
        ("hvp(p => p.0 * p.0 * p.1)((2.0, 3.0), (1.0, 0.0))", "(6.0, 4.0)"),
        ("jvp(p => p.x * p.y)({x = 2.0, y = 3.0}, {x = 1.0, y = 0.0})", "(6.0, 3.0)"),
        ("hvp((p, x) => p.w * p.w * x, wrt = 0)(({w = 2.0}, 3.0), {w = 1.0})", "{w = 6.0}"),
        ("jvp((p, q) => p.0 * q + p.1)(((2.0, 3.0), 5.0), ((1.0, 0.0), 10.0))", "(13.0, 25.0)"),
        // A builtin takes the components of a tuple.
        ("jvp(atan2)((0.0, 2.0), (1.0, 0.0))", "(0.0, 0.5)"),
        ("jvp(sin)(0.0, 1.0)", "(0.0, 1.0)"),
        ("let at = (2.0, 3.0) in vjp((x, y) => x * y)(at, 1.0)", "(6.0, (3.0, 2.0))"),
        (
            "let (y, df) = linearize(p => p.0 * p.1, (2.0, 3.0)) in (y, df((1.0, 0.0)))",
            "(6.0, 3.0)",
        ),
    ]);
}

#[test]
fn jacobians_and_hessians() {
    for name in ["jacobian", "jacfwd", "jacrev"] {
        check(&[
            (&format!("{name}(x => x * x)([1.0, 2.0])"), "[[2.0, 0.0], [0.0, 4.0]]"),
            (&format!("{name}(x => [x, x * x, 1.0])(3.0)"), "[1.0, 6.0, 0.0]"),
            (&format!("{name}(half_square)([1.0, 2.0])"), "[1.0, 2.0]"),
            (
                &format!("{name}((x, y) => {{s = x * y, t = [x, y]}})(2.0, 3.0)"),
                "{s = (3.0, 2.0), t = ([1.0, 0.0], [0.0, 1.0])}",
            ),
            (&format!("{name}(matmul, wrt = 1)([[1.0, 2.0]], [3.0, 4.0])"), "[[1.0, 2.0]]"),
        ]);
    }
    check(&[
        ("hessian(x => x[0] * x[0] * x[1])([1.0, 2.0])", "[[4.0, 2.0], [2.0, 0.0]]"),
        ("hessian((x, y) => x * x * y)(2.0, 3.0)", "((6.0, 4.0), (4.0, 0.0))"),
        (
            "hessian(p => p.a * sum(p.b * p.b))({a = 2.0, b = [3.0, 4.0]})",
            "{a = {a = 0.0, b = [6.0, 8.0]}, b = {a = [6.0, 8.0], b = [[4.0, 0.0], [0.0, 4.0]]}}",
        ),
    ]);
}

#[test]
fn static_arguments_stay_static() {
    check(&[
        ("grad(power, wrt = 0)(2.0, 5)", "80.0"),
        ("map(x => grad(power, wrt = 0)(x, 2), [1.0, 2.0])", "[2.0, 4.0]"),
        ("grad((f, x) => f(x), wrt = 1)(cube, 2.0)", "12.0"),
        ("let k = 3 in grad(x => power(x, k))(2.0)", "12.0"),
        ("let (y, df) = linearize(x => power(x, 3), 2.0) in (y, df(1.0))", "(8.0, 12.0)"),
    ]);
}

#[test]
fn derivatives_nest_in_any_order() {
    check(&[
        ("grad(grad(cube))(2.0)", "12.0"),
        ("grad(grad(grad(cube)))(2.0)", "6.0"),
        ("grad(grad(grad(grad(cube))))(2.0)", "0.0"),
        ("grad(x => sum(grad(half_square)(x)))([1.0, 2.0])", "[1.0, 1.0]"),
        ("jacobian(grad(half_square))([1.0, 2.0])", "[[1.0, 0.0], [0.0, 1.0]]"),
        ("jvp(grad(cube))(2.0, 1.0)", "(12.0, 12.0)"),
        ("grad(x => jvp(cube)(x, 1.0).1)(2.0)", "12.0"),
        ("vjp(jvp(cube))((2.0, 1.0), (0.0, 1.0))", "((8.0, 12.0), (12.0, 12.0))"),
        // The inner derivative is by y alone: there is nothing to confuse x with.
        ("grad(x => x * grad(y => x + y)(1.0))(1.0)", "1.0"),
        ("grad(x => grad(y => x * y * y)(x))(3.0)", "12.0"),
        ("grad(x => grad(y => grad(z => x * y * z * z)(y))(x))(3.0)", "24.0"),
        ("grad(x => hessian(y => sum(x * y * y * y))(x)[0, 0])([1.0, 2.0])", "[12.0, 0.0]"),
    ]);
}

#[test]
fn derivatives_stand_under_binders_and_binders_under_derivatives() {
    check(&[
        ("build 3 (i => grad(cube)(f64(i)))", "[0.0, 3.0, 12.0]"),
        ("map(grad(cube), [1.0, 2.0])", "[3.0, 12.0]"),
        (
            "build 2 (i => grad(x => x[i] * x[i + 1])([1.0, 2.0, 3.0]))",
            "[[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]",
        ),
        ("grad(x => sum(build 3 (i => x[i] * x[2 - i])))([1.0, 2.0, 3.0])", "[6.0, 4.0, 2.0]"),
        ("grad(x => sum(build 2 (i => grad(y => y * y * x[i])(x[i]))))([2.0, 3.0])", "[8.0, 12.0]"),
        ("fold(1.0, [1.0, 2.0], (s, x) => s - 0.5 * grad(y => (y - x) * (y - x))(s))", "2.0"),
        ("grad(x => fold(x, (), (s, _) => s * s, length = 3))(2.0)", "1024.0"),
        ("grad(x => fold(0.0, [1.0, 2.0], (s, c) => s + grad(cube)(c * x)))(1.0)", "30.0"),
        (
            "build 2 (i => build 2 (j => hessian(x => x[0] * x[1] * f64(i + j))([1.0, 2.0])[0, 1]))",
            "[[0.0, 1.0], [1.0, 2.0]]",
        ),
    ]);
}

#[test]
fn derivatives_are_functions_as_any_other() {
    check(&[
        ("let g = grad(x => sum(x * x)) in g(g([1.0, 2.0]))", "[4.0, 8.0]"),
        ("twice(grad(x => x * x), 3.0)", "12.0"),
        ("let second = f => grad(grad(f)) in second(cube)(2.0)", "12.0"),
        ("grad(x => x * stop_gradient(x))(3.0)", "3.0"),
    ]);
}

#[test]
fn what_has_no_derivative_is_refused() {
    for (expr, expected) in [
        ("grad(x => x)([1.0, 2.0])", "E0219"),
        ("grad(x => (x, x))(1.0)", "E0219"),
        ("grad(x => i64(x))(1.0)", "E0219"),
        ("grad(x => x, aux = true)(1.0)", "E0219"),
        ("grad(power)(2.0, 3)", "E0219"),
        ("grad((p, x) => x)({w = 1.0, n = iota(3)}, 1.0)", "E0219"),
        ("grad(() => 1.0)()", "E0219"),
        ("grad((f, x) => f(x))(cube, 1.0)", "E0219"),
        ("jacobian(x => (x, 1i64))(1.0)", "E0219"),
        ("vjp(x => x > 0.0)(1.0, 1.0)", "E0219"),
        ("hessian(x => x)([1.0])", "E0219"),
        ("jvp((x, n) => x * f64(n))((2.0, 3i64), (1.0, 1.0))", "E0219"),
        ("let (y, df) = linearize(power, 2.0, 3i64) in y + df(1.0, 1)", "E0219"),
        ("grad(cube, wrt = 1)(1.0)", "E0207"),
        ("grad(cube, wrt = -1)(1.0)", "E0207"),
        ("grad(cube, wrt = ())(1.0)", "E0207"),
        ("grad(cube, wrt = (0, 0))(1.0)", "E0207"),
        ("grad(cube, wrt = 0.5)(1.0)", "E0206"),
        ("grad(cube, 0, false, 3)(1.0)", "E0207"),
        ("vjp(cube, aux = true)(1.0)", "E0207"),
        ("vjp(cube)()", "E0207"),
        ("jvp(cube)(1.0)", "E0207"),
        ("hvp((x, y) => x * y)(1.0, 2.0, 3.0, 4.0)", "E0207"),
        ("hvp((x, y) => x * y)(1.0, 2.0)", "E0207"),
        ("hvp((x, y) => x * y)((1.0, 2.0, 3.0), (1.0, 2.0))", "E0207"),
        ("hvp((x, y) => x * y)((1.0, 2.0), 3.0)", "E0207"),
        ("vjp((x, y) => x * y)((1.0, 2.0), (1.0, 1.0))", "E0201"),
        ("vjp(cube)(1.0, [1.0])", "E0201"),
        ("jvp(x => x)([1.0, 2.0], 1.0)", "E0201"),
        ("hvp(half_square)([1.0, 2.0], [1.0])", "E0201"),
        ("grad(1.0)(2.0)", "E0208"),
        ("grad(cube)", "E0218"),
        ("grad(cube)(x = 2.0, y = 1.0)", "E0207"),
        ("grad(nonsense)(2.0)", "E0101"),
    ] {
        assert_eq!(code(TEXT, expr), expected, "{expr}\n{}", value(TEXT, expr));
    }
}

#[test]
fn messages_show_types_and_remedies() {
    let shown: Vec<String> = [
        "grad(x => x * x)([1.0, 2.0])",
        "grad(x => (x, x))(1.0)",
        "grad(power)(2.0, 3)",
        "grad((p, x) => x)({w = 1.0, n = iota(3)}, 1.0)",
        "grad(cube, wrt = 1)(1.0)",
        "jacobian(x => (x, 1i64))(1.0)",
        "vjp(half_square)([1.0, 2.0], [1.0])",
        "jvp(half_square)([1.0, 2.0], [1.0])",
        "jvp(cube)(1.0)",
        "jvp((x, y) => x * y)(1.0, 2.0, 3.0, 4.0)",
        "jvp((x, y) => x * y)(1.0, 2.0)",
        "jvp((x, y) => x * y)((1.0, 2.0), 3.0)",
        "let (y, df) = linearize((x, n) => x * f64(n), 2.0, 3i64) in y + df(1.0, 1.0)",
        "let (y, df) = linearize(cube, 2.0) in y + df(1.0, 1.0)",
        "build 2 (i => grad(half_square)(i))",
    ]
    .map(|expr| value(TEXT, expr))
    .into();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn nesting_grows_programs_moderately() {
    let text = "
        def f(x: [n]f64): f64 = sum(sin(x) * exp(x)) * sum(build n (i => x[i] * x[n - 1 - i]))
        def g1(x: [n]f64): f64 = sum(grad(f)(x))
        def g2(x: [n]f64): f64 = sum(grad(g1)(x))
        def g3(x: [n]f64): f64 = sum(grad(g2)(x))
        def g4(x: [n]f64): f64 = sum(grad(g3)(x))
    ";
    let modules = cotan_syntax::load_text("nested.ct", text).expect("it loads");
    let size = |name: &str| {
        let made = cotan_syntax::instantiate(&modules, name, &[], &[("n", 5)], &Default::default());
        made.expect("it is made").program.normalised().expect("it is a program").len()
    };
    let sizes = ["f", "g1", "g2", "g3", "g4"].map(size);
    for pair in sizes.windows(2) {
        assert!(pair[1] <= 5 * pair[0], "{sizes:?}");
    }
}

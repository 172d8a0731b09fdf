//! What is refused, with which code, and how the messages read.
#![allow(clippy::expect_used, reason = "tests")]

mod common;

use common::evaluate::{code, value, value_with};
use cotan_syntax::{MemoryLoader, load_text};

/// Each line: an expression, and the code of the first message.
fn check(text: &str, cases: &[(&str, &str)]) {
    for (expr, expected) in cases {
        assert_eq!(code(text, expr), *expected, "{expr}\n{}", value(text, expr));
    }
}

#[test]
fn names() {
    check(
        "def f(x: f64) = x  type T[n] = [n]f64",
        &[
            ("nonsense", "E0101"),
            ("f(y)", "E0101"),
            ("lib.f(1.0)", "E0101"),
            ("let x: Unknown = 1 in x", "E0101"),
            ("let x: lib.T = 1 in x", "E0101"),
            ("let x: [k]f64 = [1.0] in x", "E0205"),
            ("let x: T = 1 in x", "E0207"),
            ("{a = 1, a = 2}", "E0106"),
            ("let (x, x) = (1, 2) in x", "E0106"),
            ("map((x, x) => x, [1], [2])", "E0106"),
            ("{a = 1}.b", "E0211"),
            ("(1, 2).2", "E0211"),
            ("[1].0", "E0211"),
            ("(1, 2).a", "E0211"),
        ],
    );
    assert_eq!(code("def g(x: f64, x: f64) = x", "g(1, 2)"), "E0106");
    assert_eq!(code("def g[n, n](x: [n]f64) = x", "g([1.0])"), "E0106");
    assert_eq!(code("def g() = 1 def g() = 2", "g()"), "E0102");
}

#[test]
fn types() {
    check(
        "def f(x: f64) = x  def v(x: [n]f64) = x  def r(p: {a: f64}) = p.a  def h(g: f64 -> f64) = g(1.0)",
        &[
            ("f([1.0])", "E0201"),
            ("f(1i64)", "E0201"),
            ("f(true)", "E0201"),
            ("f((1.0, 2.0))", "E0201"),
            ("v(1.0)", "E0201"),
            ("r({b = 1.0})", "E0201"),
            ("f(f)", "E0201"),
            ("h(1.0)", "E0201"),
            ("h(x => (x, x))", "E0201"),
            ("h((x, y) => x)", "E0207"),
            ("let x: i64 = 1.5 in x", "E0201"),
            ("build 2 (i => if i == 0 then 1 else true)", "E0201"),
            ("build 2 (i => if i == 0 then 1.0 else [1.0])", "E0201"),
            ("if [true] then 1 else 2", "E0201"),
            ("if 1 then 1 else 2", "E0201"),
            ("[1.0, true]", "E0201"),
            ("[[1, 2], [3]]", "E0201"),
            ("stack([1], [1.0])", "E0201"),
            ("fold(0i64, [1.0], (s, x) => x)", "E0201"),
            ("map_accum(0, [1], (s, x) => s)", "E0201"),
            ("while_loop(s => s, s => s, 0)", "E0201"),
            ("while_loop(s => [true], s => s, 0)", "E0201"),
            ("while_loop(s => true, s => 1.0 * f64(s), 0i64)", "E0201"),
            ("while_loop(s => true, s => s, ())", "E0201"),
            ("while_accum(0, s => (true, s))", "E0201"),
            ("take([1], [1.0])", "E0212"),
            ("zeros([2], 3)", "E0207"),
            ("iota(2) + [1.0, 2.0]", "E0202"),
            ("1i64 + 1.0", "E0202"),
            ("1f32 * 1f64", "E0202"),
            ("true + 1", "E0202"),
            ("[true] and 1", "E0202"),
            ("where(true, 1i64, 2.5)", "E0202"),
            ("iota(3) / 2", "E0212"),
            ("true ** 2", "E0212"),
            ("shift_left(1.5, 2)", "E0212"),
            ("to_bits(1)", "E0212"),
            ("[1.0] and [2.0]", "E0212"),
            ("not 1.5", "E0212"),
            ("sin(true)", "E0212"),
            ("sin([1])", "E0212"),
            ("mean([1])", "E0212"),
            ("any([1])", "E0212"),
            ("1.0(2)", "E0208"),
            ("map([1], [2])", "E0208"),
            ("f + 1", "E0209"),
            ("(1, 2) + (1, 2, 3)", "E0201"),
            ("{a = 1} * {b = 1}", "E0201"),
            ("{a = 1} < (1,)", "E0201"),
            ("tree_map(x => y, (1, 2))", "E0101"),
            ("let (a, b) = [1, 2] in a", "E0213"),
            ("let (a, b) = (1, 2, 3) in a", "E0213"),
            ("[]", "E0215"),
            ("f", "E0218"),
        ],
    );
}

#[test]
fn shapes_and_sizes() {
    check(
        "def dot2(a: [n]f64, b: [n]f64) = sum(a * b)  def fill[n](x: f64): [n]f64 = full([n], x)
         def two(a: [n]f64, b: [2 * n]f64) = a  def wrong(a: [n]f64): [n + 1]f64 = a",
        &[
            ("[1.0, 2.0] + [1.0, 2.0, 3.0]", "E0203"),
            ("[[1, 2]] * [1, 2, 3]", "E0203"),
            ("where([true, false], [1, 2, 3], 0)", "E0203"),
            ("matmul([[1, 2]], [[1, 2]])", "E0203"),
            ("dot([1, 2], [1.0, 2.0])", "E0212"),
            ("concat([[1]], [[1, 2]])", "E0203"),
            ("broadcast([1, 2], [2, 3])", "E0203"),
            ("map((a, b) => a, [1], [1, 2])", "E0203"),
            ("fold(0, ([1], [1, 2]), (s, x) => s)", "E0203"),
            ("dot2([1.0], [1.0, 2.0])", "E0204"),
            ("two([1.0], [1.0])", "E0204"),
            ("fold(0, [1, 2], (s, x) => s, length = 3)", "E0204"),
            ("fill[2]([1.0])", "E0201"),
            ("fill(1.0)", "E0205"),
            ("fill[2, 3](1.0)", "E0207"),
            ("wrong([1.0])", "E0201"),
            ("zeros([-1])", "E0214"),
            ("sum([1], axis = 1)", "E0214"),
            ("sum([[1]], axis = (0, -2))", "E0214"),
            ("reshape([1, 2], [3])", "E0201"),
            ("transpose([[1]], [0, 0])", "E0214"),
            ("zeros([1000000, 1000000, 1000000, 1000000])", "E0217"),
            ("empty([2], f64)", "E0214"),
            ("[1, 2][0, 0]", "E0210"),
            ("[1, 2][1.0]", "E0210"),
            ("[1, 2][[0, 1]]", "E0210"),
            ("[1, 2][0:3]", "E0210"),
            ("[1, 2][::-1]", "E0210"),
            ("[1, 2][2:1]", "E0210"),
            ("build 2 (i => zeros([i]))", "E0206"),
            ("build 2 (i => sum([[1]], axis = i))", "E0206"),
            ("build 3 (i => iota(4)[0:i])", "E0206"),
            ("fold(0, [1], (s, x) => s, reverse = [true])", "E0206"),
            ("sum()", "E0207"),
            ("sum([1], 0, true, 0)", "E0207"),
            ("sum([1], dim = 0)", "E0207"),
            ("sum([1], x = [2])", "E0207"),
            ("dot2([1.0])", "E0207"),
            ("dot2([1.0], c = [1.0])", "E0207"),
            ("map(x => x)", "E0207"),
            ("fold(0, (), (s, x) => s)", "E0207"),
            ("while_loop(s => true, s => s, 0, checkpoint = 3)", "E0207"),
            ("while_accum(0, s => (s < 3, s + 1, s))", "E0207"),
            ("gather([1, 2], [2], (i, j) => [i])", "E0207"),
            ("scatter([true], [2], i => [i])", "E0201"),
        ],
    );
    let nested = "build 1 (i => ".repeat(70) + "1" + &")".repeat(70);
    assert_eq!(code("", &nested), "E0217");
}

/// What is shown for the expressions below.
fn shown(text: &str, expr: &str) -> String {
    value(text, expr)
}

#[test]
fn both_places_are_shown() {
    insta::assert_snapshot!(
        "size_conflict",
        shown(
            "def dot2(a: [n]f64, b: [n]f64): f64 = sum(a * b)",
            "dot2([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0])",
        )
    );
    insta::assert_snapshot!(
        "expression_size",
        shown("def two(a: [n]f64, b: [2 * n]f64) = a", "two([1.0, 2.0], [1.0, 2.0, 3.0])",)
    );
    insta::assert_snapshot!("mixed_types", shown("", "build 3 (i => i * 0.5 + iota(3)[i] * 2.0)"));
    insta::assert_snapshot!(
        "shapes",
        shown("", "let a = [1.0, 2.0] let b = [1.0, 2.0, 3.0] in a * 2 + b")
    );
    insta::assert_snapshot!("argument", shown("def f(x: f64): f64 = x", "f([1.0, 2.0])"));
    insta::assert_snapshot!("state", shown("", "fold(0i64, [1.0, 2.0], (s, x) => x)"));
    insta::assert_snapshot!(
        "while_state",
        shown("", "while_loop((i, x) => i < 3, (i, x) => (i + 1, [x]), (0, 1.0))")
    );
    insta::assert_snapshot!(
        "outputs_without_a_limit",
        shown("", "while_accum(0, s => (s < 3, s + 1, s))")
    );
    insta::assert_snapshot!(
        "inside_a_call",
        shown(
            "def inner(x: [n]f64) = x + [1.0, 2.0]\ndef outer(x: [n]f64) = inner(x)",
            "outer([1.0, 2.0, 3.0])",
        )
    );
    insta::assert_snapshot!("did_you_mean", shown("", "let scale = 2.0 in sotfmax([scael])"));
    insta::assert_snapshot!("recursion", shown("def f(x: f64): f64 = 1 + f(x)", "f(1.0)"));
    insta::assert_snapshot!(
        "contract",
        shown("def apply(f: [n]f64 -> f64, x: [n]f64) = f(x)", "apply(x => x * x, [1.0, 2.0])",)
    );
    insta::assert_snapshot!(
        "not_static",
        shown("def f(n: i64) = zeros([n])\ndef g(a: [3]i64) = f(a[0])", "g([1, 2, 3])")
    );
}

#[test]
fn independent_errors_are_all_found_and_no_others() {
    let text = "
        def f(x: f64) = x
        def main(a: [3]f64) =
          let u = unknown1
          let v = u + 1.0 * sin(u)
          let w = f(a)
          let z = [v, w, 1.0][0]
          let q = a + [1.0, 2.0]
          in (z, unknown2, q[0])";
    let modules = load_text("test.ct", text).expect("it loads");
    let failure = cotan_syntax::instantiate(&modules, "main", &[], &[], &Default::default())
        .expect_err("errors");
    let codes: Vec<String> = failure.diagnostics.iter().map(|d| d.code.to_string()).collect();
    assert_eq!(codes, ["E0101", "E0201", "E0203", "E0101"]);
    // A function with an error, called often, is reported once.
    let text = "def bad(x: f64) = x + true";
    let failure = value(text, "bad(1.0) + bad(2.0) + bad(3.0)");
    assert_eq!(failure.matches("error[").count(), 1, "{failure}");
}

#[test]
fn a_constant_index_out_of_range_is_a_warning() {
    let modules = load_text("test.ct", "def f(a: [3]f64) = a[3] + a[-1i64] + a[-4] + a[-1] + a[2]")
        .expect("it loads");
    let instance = cotan_syntax::instantiate(&modules, "f", &[], &[], &Default::default())
        .expect("it is made");
    let codes: Vec<String> = instance.warnings.iter().map(|d| d.code.to_string()).collect();
    assert_eq!(codes, ["W0301", "W0301", "W0301"]);
}

#[test]
fn imports() {
    let files = || {
        MemoryLoader::new()
            .with("lib/linear.ct", "import \"util.ct\"  type Vec[n] = [n]f64  def dot2(a: Vec[n], b: Vec[n]) = total(a * b)")
            .with("lib/util.ct", "def total(a: [n]f64) = sum(a)  def helper() = 1.5")
            .with("loop/a.ct", "import \"b.ct\"  def a() = 1")
            .with("loop/b.ct", "import \"../loop/./a.ct\" as back  def b() = 2")
            .with("bad.ct", "def broken( = 1")
            .with("twice.ct", "def dot2(x: f64) = x")
    };
    let run = |text: &str, expr: &str| value_with(text, expr, files());
    assert_eq!(run("import \"lib/linear.ct\"", "dot2([1.0, 2.0], [3.0, 4.0])"), "11.0");
    assert_eq!(run("import \"lib/linear.ct\" as lin", "lin.dot2([1.0], [3.0])"), "3.0");
    assert_eq!(run("import \"lib/linear.ct\" as lin  def f(x: lin.Vec[n]) = n", "f([1.0])"), "1");
    assert_eq!(run("import \"lib/linear.ct\" as lin", "map(lin.dot2, [[1.0]], [[3.0]])"), "[3.0]");
    let first = |text: &str, expr: &str| run(text, expr).lines().next().unwrap_or("").to_owned();
    assert_eq!(
        first("import \"lib/linear.ct\"", "total([1.0])"),
        "error[E0101]: unknown name `total`",
        "imports of imports stay there"
    );
    assert_eq!(
        first("import \"lib/linear.ct\" as lin", "lin.dto2([1.0], [3.0])"),
        "error[E0101]: the import `lin` has no function `dto2`"
    );
    assert_eq!(
        first("import \"nowhere.ct\"", "1"),
        "error[E0104]: cannot import `nowhere.ct`: there is no such file"
    );
    assert_eq!(
        first("import \"loop/a.ct\"", "1"),
        "error[E0105]: files import each other in a circle: loop/a.ct → loop/b.ct → loop/a.ct"
    );
    assert_eq!(
        first("import \"test.ct\"", "1"),
        "error[E0105]: files import each other in a circle: test.ct → test.ct"
    );
    assert!(first("import \"bad.ct\"", "1").starts_with("error[E00"));
    assert_eq!(
        first("import \"lib/linear.ct\" import \"twice.ct\"", "1"),
        "error[E0102]: this import brings in `dot2`, which is already defined"
    );
    assert_eq!(
        first("import \"lib/linear.ct\" as l import \"twice.ct\" as l", "1"),
        "error[E0102]: two imports are called `l`"
    );
    assert_eq!(
        run("import \"lib/linear.ct\" import \"lib/linear.ct\"", "dot2([1.0], [3.0])"),
        "3.0"
    );
    assert_eq!(first("import \"lib/linear.ct\" as lin", "lin"), "error[E0101]: unknown name `lin`");
}

/// Arguments in the order of another language: the message has the signature.
#[test]
fn swapped_arguments_are_told_the_signature() {
    for (call, signature) in [
        ("reshape([2, 2], [1.0, 2.0, 3.0, 4.0])", "reshape(t, sizes)"),
        ("broadcast([2, 2], [1.0, 2.0])", "broadcast(x, sizes)"),
        ("map([1.0], x => x)", "map(f, a, ..)"),
        ("fold((s, x) => s + x, 0.0, [1.0, 2.0])", "fold(init, xs, f, "),
        ("scan([1.0, 2.0], 0.0, (s, x) => s + x)", "scan(init, xs, f, "),
        ("reduce((a, b) => a + b, 0.0, [1.0, 2.0])", "reduce(init, xs, f)"),
        ("reduce([1.0, 2.0], (a, b) => a + b, 0.0)", "reduce(init, xs, f)"),
        ("while_loop(1.0, x => x < 3, x => x + 1)", "while_loop(cond, f, init, "),
        ("sum(0, [1.0])", "sum(x, axis"),
        ("zeros(2, 3)", "zeros(sizes, dtype = f64)"),
    ] {
        let message = shown("", call);
        assert!(message.contains(signature), "{call}\n{message}");
        assert_eq!(message.matches(signature).count(), 1, "{call}\n{message}");
    }
    // What is wrong inside of an argument is no matter of the order.
    for call in
        ["map(x => x + q, [1.0])", "map(x => x(1), [1.0])", "sum(fold(0.0, [1.0], (s, x) => 3(x)))"]
    {
        let message = shown("", call);
        assert!(!message.contains("signature"), "{call}\n{message}");
    }
}

#[test]
fn slices_from_the_end_and_structures_are_told_what_to_write() {
    let text = "def f(x: [n]f64) = x[-n:]";
    assert!(shown(text, "f([1.0, 2.0])").contains("`len(a) - 1`"));
    assert!(!shown("", "[1.0, 2.0][-3:]").contains("`len(a) - 1`"));
    let message = shown("", "map((a, b) => a - b, {w = [1.0], b = 1.0}, {w = [1.0], b = 1.0})");
    assert!(message.contains("`tree_map(f, p, q)`"), "{message}");
}

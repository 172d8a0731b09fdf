//! What the parser makes of texts: shapes of trees, and limits.

mod common;

use common::{codes, parse_ok, shape};
use cotan_syntax::Code;
use cotan_syntax::ast::{ExprKind, Item, MAX_NESTING};

/// Each expression with its tree.
fn check(cases: &[(&str, &str)]) {
    for (text, tree) in cases {
        assert_eq!(shape(text), *tree, "{text}");
    }
}

#[test]
fn operators_bind_as_documented() {
    check(&[
        ("a + b * c", "(+ a (* b c))"),
        ("a - b - c", "(- (- a b) c)"),
        ("a ** b ** c", "(** a (** b c))"),
        ("-a ** b", "(neg (** a b))"),
        ("a ** -b ** c", "(** a (neg (** b c)))"),
        ("-a * b", "(* (neg a) b)"),
        ("a // b % c / d", "(/ (% (// a b) c) d)"),
        ("not a == b and c", "(and (not (== a b)) c)"),
        ("a or b xor c and d", "(or a (xor b (and c d)))"),
        ("a == not b", "(== a (not b))"),
        ("a < b == (c < d)", "error E0008"),
        ("(a < b) == (c < d)", "(== (< a b) (< c d))"),
        ("a + if c then x else y + z", "(+ a (if c x (+ y z)))"),
        ("x => x + 1", "(fn x (+ x 1))"),
    ]);
}

#[test]
fn a_minus_belongs_to_the_number() {
    check(&[
        ("-2", "-2"),
        ("- 2", "-2"),
        ("--2", "(neg -2)"),
        ("-(2)", "(neg 2)"),
        ("-2 ** 2", "(neg (** 2 2))"),
        ("(-2) ** 2", "(** -2 2)"),
        ("2 ** -2", "(** 2 -2)"),
        ("a -2", "(- a 2)"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-inff32", "-inff32"),
        ("-nan", "NaN"),
        ("-0.0", "-0.0"),
        ("9223372036854775808", "error E0004"),
        ("-9223372036854775809", "error E0004"),
    ]);
}

#[test]
fn postfix_and_brackets() {
    check(&[
        ("m.0.1.w", "(.w (.1 (.0 m)))"),
        ("f[3](x, axis = 0)", "(call (index f 3) x axis=0)"),
        ("lin.dot(a, b)", "(call (.dot lin) a b)"),
        ("a[i, 1:3, :, ::2, lo:, :hi]", "(index a i 1:3: :: ::2 lo:: :hi:)"),
        ("a[]", "(index a)"),
        ("()", "(tuple)"),
        ("(a,)", "(tuple a)"),
        ("((a, b), c,)", "(tuple (tuple a b) c)"),
        ("((a))", "a"),
        ("{w = a, `p.q` = c}", "(record w=a p.q=c)"),
        ("[[1.0, 2], []]", "(array (array 1.0 2) (array))"),
        ("((a, b), _) => a", "(fn (a b) _ a)"),
        ("((a, b)) => a", "(fn (a b) a)"),
        ("() => 1", "(fn 1)"),
        ("f(x => x, (y, z) => y)", "(call f (fn x x) (fn y z y))"),
        ("a[t.0]", "(index a (.0 t))"),
        ("t.0x", "error E0003"),
        ("t.1e3", "error E0003"),
        ("12. 5.0", "error E0003"),
        ("(12).5", "(.5 12)"),
        ("t. 0 . 1", "(.1 (.0 t))"),
    ]);
}

#[test]
fn build_in_both_forms() {
    let one = "(build n (fn i (index a i)))";
    let two = "(build m n (fn i j 0))";
    check(&[
        ("build n (i => a[i])", one),
        ("build(n, i => a[i])", one),
        ("build (n) (i => a[i])", one),
        ("build (n,) (i => a[i])", one),
        ("build (m, n) ((i, j) => 0)", two),
        ("build((m, n), (i, j) => 0)", two),
        ("build len(a) (i => 0)", "(build (call len a) (fn i 0))"),
        ("build a.n[0] (i => 0)", "(build (index (.n a) 0) (fn i 0))"),
        ("build (2 * n) (i => 0)", "(build (* 2 n) (fn i 0))"),
        ("build n (f)", "(build n f)"),
        ("build(n, f)", "(build n f)"),
        ("build n (i => i)[3] + 1", "(+ (index (build n (fn i i)) 3) 1)"),
        ("build(n, i => i)[3]", "(index (build n (fn i i)) 3)"),
        ("build 3 (i => build 4 (j => i))", "(build 3 (fn i (build 4 (fn j i))))"),
        ("build n", "error E0011"),
        ("build n i => i", "error E0011"),
    ]);
}

#[test]
fn runs_of_let_and_else_if_are_flat() {
    check(&[
        ("let x = 1 let y = x; let z = y in z", "(let x=1 y=x z=y z)"),
        ("let x = 1 in let y = 2 in y", "(let x=1 y=2 y)"),
        ("let (a, _): (f64, [n, 2]f64) = t in a", "(let (a _)=t a)"),
        ("let f = x => let y = x in y in f(1)", "(let f=(fn x (let y=x y)) (call f 1))"),
        ("if a then b else if c then d else e", "(if a b c d e)"),
        ("if a then b else (if c then d else e)", "(if a b (if c d e))"),
        ("let x = f y in x", "error E0009"),
        ("let x = 1 x + 1", "error E0009"),
        ("if a then b", "error E0005"),
    ]);
}

#[test]
fn declarations() {
    let module = parse_ok(
        "import \"lib/a.ct\"\nimport \"b.ct\" as b\n\n# not this\n\n# A pair\n#  of things.\n\
         type P[n] = {w: [n, 2 * n]f64, f: (f64, b.T[n]) -> (), g: [n]f64 -> f32}\n\
         def f[n, m](a: [n]P[m], as: bool): f64 = 1.0 # trailing\ndef g() = f",
    );
    let [Item::Import(a), Item::Import(b), Item::Type(p), Item::Def(f), Item::Def(g)] =
        module.items.as_slice()
    else {
        panic!("{:?}", module.items);
    };
    assert_eq!((a.path.as_str(), a.alias.is_none()), ("lib/a.ct", true));
    assert_eq!(b.alias.as_ref().map(|alias| &*alias.name), Some("b"));
    assert_eq!(p.doc.as_deref(), Some("A pair\n of things."));
    assert_eq!((f.sizes.len(), f.params.len(), f.result.is_some()), (2, 2, true));
    assert_eq!((&*f.params[1].name.name, f.doc.is_none()), ("as", true));
    assert!(g.params.is_empty() && g.doc.is_none(), "a trailing comment documents nothing");
}

#[test]
fn errors_are_found_in_every_declaration() {
    let text = "def f(x) = 1 +\ndef g(a: f64) = let b = (a +) let c = [1 2] in b\n\
                let top = 3\ndef h(: f64) = f(a, *, b\ntype T = [n]\nimport x";
    let found = codes(text);
    let expected = [
        Code::MissingType,
        Code::UnexpectedToken,
        Code::UnexpectedToken,
        Code::UnexpectedToken,
        Code::MisplacedDeclaration,
        Code::UnexpectedToken,
        Code::UnclosedBracket,
        Code::UnexpectedToken,
        Code::UnexpectedToken,
        Code::UnexpectedToken,
    ];
    assert_eq!(found, expected);
}

#[test]
fn nesting_is_limited() {
    let nest = |open: &str, middle: &str, close: &str, depth: usize| {
        format!("def f(x: f64) = {}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    for (open, middle, close) in [
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("-", "x", ""),
        ("not ", "x", ""),
        ("f(", "x", ")"),
        ("x => ", "x", ""),
        ("x ** ", "x", ""),
        ("let y = x in (", "y", ")"),
        ("x[", "x", "]"),
        ("{a = ", "x", "}"),
        ("if c then ", "x", " else y"),
    ] {
        let deep = MAX_NESTING / 2;
        assert_eq!(codes(&nest(open, middle, close, deep)), [], "{deep} of {open}");
        for depth in [MAX_NESTING + 1, 1 << 16] {
            let found = codes(&nest(open, middle, close, depth));
            assert_eq!(found, [Code::NestingTooDeep], "{depth} of {open}");
        }
    }
    assert_eq!(codes(&nest("(", "x", ")", MAX_NESTING)), []);
    for (postfix, depth) in [(".0", 300), ("[0]", 300), ("(0)", 300), (".a", 1 << 16)] {
        let text = format!("def f(x: f64) = x{}", postfix.repeat(depth));
        assert_eq!(codes(&text), [Code::NestingTooDeep], "{postfix}");
    }
    let types = format!("type T = {}f64", "[2]".repeat(300));
    assert_eq!(codes(&types), [Code::NestingTooDeep]);
    let arrows = format!("type T = {}f64", "f64 -> ".repeat(300));
    assert_eq!(codes(&arrows), [Code::NestingTooDeep]);
    let pattern = format!("def f() = let {}x{} = 1 in 2", "(".repeat(300), ",)".repeat(300));
    assert_eq!(codes(&pattern), [Code::NestingTooDeep]);
}

/// Long is not deep: chains and lists take constant stack. Run with the unoptimised profile too.
#[test]
fn long_programs_fit_a_small_stack() {
    common::on_small_stack(|| {
        let sum = format!("def f(a: f64) = a{}", " + a * a".repeat(100_000));
        let module = parse_ok(&sum);
        let Item::Def(def) = &module.items[0] else { panic!("a definition") };
        assert_eq!(module.ast.spine(def.body).1.len(), 100_000);
        assert!(module.same_meaning(&parse_ok(&sum)));

        let lets: String =
            (1..=1_000_000).map(|i| format!("let x{i} = x{} * 2\n", i - 1)).collect();
        let module = parse_ok(&format!("def f(x0: f64) = {lets} in x1000000"));
        let Item::Def(def) = &module.items[0] else { panic!("a definition") };
        let ExprKind::Let { bindings, .. } = &module.ast[def.body].kind else { panic!("a let") };
        assert_eq!(bindings.len(), 1_000_000);

        parse_ok(&format!("def f(a: f64) = {} a", "if a then a else ".repeat(100_000)));
        parse_ok(&format!("def f() = [{}]", "1.0, ".repeat(100_000)));
        parse_ok(&format!("def f() = 1 # {}", "long ".repeat(1_000_000)));
        let deepest = format!("{}x{}", "{a = [f(x => (".repeat(51), "))]}".repeat(51));
        parse_ok(&format!("def f(x: f64) = {deepest}"));
    });
}

//! `cotan run`: which function, what is shown, what is written, limits.

use super::session::Session;

#[test]
fn main_or_the_only_function() {
    let session = Session::new()
        .with("main.ct", "def f(x: f64) = x  def main() = 6 * 7")
        .with("only.ct", "def f() = 1.5")
        .with("two.ct", "def f(x: f64) = x\ndef g[n](\n  a: [n]f64): f64 = sum(a)")
        .with("none.ct", "type T = f64");
    session.cotan("run main.ct").gives("42\n");
    session.cotan("run only.ct").gives("1.5\n");
    session.cotan("run main.ct --fn f --arg x=2").gives("2.0\n");
    let both = [
        "no function `main`; choose one with --fn:\n    def f(x: f64)\n    def g[n]( a: [n]f64): f64",
    ];
    session.cotan("run two.ct").fails(2, &both);
    session.cotan("run two.ct --fn h").fails(2, &["no function `h`", "def f(x: f64)"]);
    session.cotan("run none.ct").fails(2, &["defines no function", "def main() = "]);
    session.cotan("run").fails(2, &["<FILE|--example <NAME>|--expr <EXPR>>"]);
    session.cotan_with(&["run", "-"], "def main() = 3", &[]).gives("3\n");
}

#[test]
fn expressions_are_programs() {
    let session = Session::new();
    let eval = |expr: &str| session.cotan_with(&["eval", expr], "", &[]);
    eval("6 * 7").gives("42\n");
    eval("-1.5").gives("-1.5\n");
    eval("grad(x => sum(x ** 3))([1.0, 2.0])").gives("[ 3.0, 12.0]\n");
    eval("(nan, {a = [1.0, nan]})").gives("0: f64 = nan\n1.a: [2]f64 = [1.0, nan]\n");
    eval("sum(xs)").fails(1, &["unknown name `xs`", "--> the expression:1:5", "1 | sum(xs)"]);
    eval("1 2").fails(1, &["expected an operator or the end, found `2`"]);
    eval("x => x").fails(1, &["gives a function"]);
    eval("").fails(1, &["expected an expression"]);
    session.cotan_with(&["run", "-e", "iota(3)"], "", &[]).gives("[0, 1, 2]\n");
    session.cotan_with(&["run", "-e", "1", "a.ct"], "", &[]).fails(2, &["cannot be used with"]);
    session.cotan_with(&["eval", "iota(3)", "--out", "a.npy"], "", &[]).gives("");
    assert_eq!(session.files(), ["a.npy"]);
    session
        .cotan_with(&["explain", "--stage", "core", "-e", "1.0 + 2.0"], "", &[])
        .gives("# 1 node\ndef main() = 3.0\n");
}

#[test]
fn results_are_shown_by_name() {
    let session = Session::new().with(
        "a.ct",
        "def one() = [[1, 2], [3, 4]]
         def tuple() = (1.0, [2, 3])
         def record() = {w = [[1, 2], [3, 4]], b = (true, 2.5f32)}
         def nothing() = ()
         def large() = f64(iota(2000))
         def none() = zeros([0, 3])",
    );
    session.cotan("run a.ct --fn one").gives("[[1, 2],\n [3, 4]]\n");
    session.cotan("run a.ct --fn tuple").gives("0: f64 = 1.0\n1: [2]i64 = [2, 3]\n");
    let record = "w: [2, 2]i64 =\n[[1, 2],\n [3, 4]]\nb.0: bool = true\nb.1: f32 = 2.5\n";
    session.cotan("run a.ct --fn record").gives(record);
    session.cotan("run a.ct --fn nothing").gives("()\n");
    session.cotan("run a.ct --fn none").gives("[]\n");
    let large = session.cotan("run a.ct --fn large").succeeds().out;
    assert!(large.starts_with("# f64[2000]: min 0.0, max 1999.0, mean 999.5\n[   0.0,"), "{large}");
    assert!(large.contains("...") && large.len() < 500);
}

#[test]
fn results_go_to_files() {
    let session = Session::new().with("a.ct", "def main() = 2.5  def two() = (1, 2)");
    session.cotan("run a.ct --out x.npy").gives("");
    session.cotan("run a.ct --out x.npz").gives("");
    let file = std::fs::read(session.path("x.npz")).unwrap();
    assert!(file.windows(10).any(|bytes| bytes == b"result.npy"));
    session.cotan("run a.ct --fn two --out two.npy").fails(2, &["2 results", "--out two.npz"]);
    session.cotan("run a.ct --out x.txt").fails(2, &["neither a .npz nor a .npy"]);
    session.cotan("run a.ct --out no/x.npz").fails(3, &["no folder `no`"]);
    assert_eq!(session.files(), ["a.ct", "x.npy", "x.npz"]);
}

#[test]
fn errors_of_the_program_are_shown() {
    let session = Session::new().with("a.ct", "def main() = 1 + true").with("b.ct", "def f(");
    session.cotan("run a.ct").fails(1, &["error[E02", "a.ct:1:"]);
    session.cotan("run b.ct").fails(1, &["error[E00", "b.ct:1:"]);
    session.cotan("run nope.ct").fails(3, &["cannot read `nope.ct`: No such file"]);
    session.cotan("run .").fails(3, &["cannot read `.`"]);
}

#[test]
fn a_function_parameter_cannot_be_given() {
    let session = Session::new().with("a.ct", "def main(f: f64 -> f64, x: f64) = f(x)");
    session.cotan("run a.ct --arg x=1").fails(1, &["takes a function, `f`", "a.ct:1:13"]);
}

#[test]
fn memory_is_limited() {
    let text =
        "def main[n]() = sum(build (n, n) ((i, j) => sin(f64(i + j))))\ndef f[n]() = zeros([n])";
    let session = Session::new().with("a.ct", text);
    session.cotan("run a.ct --size n=100").succeeds();
    let parts = ["error[E0217]", "a.ct:1:", "memory in use", "1.0 MiB", "--limit-bytes"];
    session.cotan("run a.ct --size n=300 --limit-bytes 1M --backend interp").fails(4, &parts);
    // The machine adds up elements that it does not keep.
    session.cotan("run a.ct --size n=1000 --limit-bytes 1M --backend jit").succeeds();
    let parts = ["error[E0217]", "a.ct:2:", "[99999999999999]f64", "the limit is 4.0 GiB"];
    session.cotan("run a.ct --fn f --size n=99999999999999").fails(4, &parts);
    session.cotan("run a.ct --limit-bytes many").fails(2, &["--limit-bytes"]);
}

#[test]
fn memory_of_the_machine_is_limited() {
    let text = "# Sorts.\ndef main[n]() = sum(sort(build n (i => sin(f64(i)))))";
    let session = Session::new().with("a.ct", text);
    // The room that sorting takes is the largest array.
    let parts = ["error[E0217]", "a.ct:2:", "needs memory for", "00000]i64", "limit is 1.0 MiB"];
    for backend in ["jit", "vm"] {
        let run = |limit: &str| {
            let args =
                format!("run a.ct --size n=100000 --backend {backend} --limit-bytes {limit}");
            session.cotan(&args)
        };
        run("1M").fails(4, &parts);
        run("8M").succeeds();
    }
}

#[test]
fn backends_agree() {
    let session = Session::new().with(
        "a.ct",
        "def main(x: [n]f64) = (build n (i => x[n - i] * 2.0), cumsum(x), sum(x), sort(x))
         def halve(x: f64) = while_loop(x => x > 1.0, x => x / 2.0, x)
         def reduced(x: [n]f64) = gather(x, [n], i => [sum(build 3 (j => i * j))])",
    );
    for (function, x) in [("main", "x=[1, 8, 2, 4]"), ("halve", "x=20"), ("reduced", "x=[1, 2]")] {
        let run = |more: &[&str], env: &[(&str, &str)]| {
            let args = ["run", "a.ct", "--fn", function, "--arg", x];
            session.cotan_with(&[&args[..], more].concat(), "", env).succeeds().out
        };
        let meant = run(&["--backend", "interp"], &[]);
        for backend in ["jit", "vm", "interp"] {
            assert_eq!(run(&["--backend", backend], &[]), meant, "{function} by {backend}");
            assert_eq!(run(&[], &[("COTAN_BACKEND", backend)]), meant, "{function} by {backend}");
        }
        assert_eq!(run(&[], &[]), meant, "{function}");
    }
}

#[test]
fn a_backend_is_one_of_three() {
    let session = Session::new().with("a.ct", "def main() = 1");
    session.cotan("run a.ct --backend gpu").fails(2, &["'gpu'", "jit", "vm", "interp"]);
    let env = [("COTAN_BACKEND", "gpu")];
    session.cotan_with(&["run", "a.ct"], "", &env).fails(2, &["COTAN_BACKEND", "gpu", "vm"]);
    session.cotan_with(&["run", "a.ct", "--backend", "vm"], "", &env).gives("1\n");
    session.cotan("run a.ct --counts --backend jit").fails(2, &["--counts", "interpreter"]);
    session.cotan("run a.ct --poison --backend vm").fails(2, &["--poison", "interpreter"]);
    session.cotan("run a.ct --counts --backend interp").succeeds();
}

#[test]
fn time_is_limited() {
    let text = "def main[n]() = fold(0.0, iota(n), (s, i) => sin(s + f64(i)))
                def endless() = while_loop(x => x > 0.0, x => x + 1.0, 1.0)";
    let session = Session::new().with("a.ct", text);
    let begin = std::time::Instant::now();
    for backend in ["jit", "vm", "interp"] {
        let args = "run a.ct --size n=1000000000 --limit-bytes 64G --timeout 100ms --backend";
        session.cotan(&format!("{args} {backend}")).fails(4, &["100ms", "--timeout"]);
    }
    session.cotan("run a.ct --fn endless --timeout 100ms").fails(4, &["100ms", "--timeout"]);
    assert!(begin.elapsed().as_secs() < 30);
    session.cotan("run a.ct --timeout soon").fails(2, &["--timeout"]);
}

#[test]
fn a_recursion_without_end_is_an_error_of_the_program() {
    let session = Session::new().with("a.ct", "def f(x: f64): f64 = f(x) def main() = f(1.0)");
    session.cotan("run a.ct").fails(1, &["E0216", "static"]);
}

#[test]
fn integers_may_be_sizes() {
    let text = "def first(x: [n]f64, k: i64) = build k (i => x[i])
                def halve(x: f64, steps: i64) = fold(x, (), (s, _) => s / 2.0, length = steps)
                def fact(n: i64): i64 = if n == 0 then 1 else n * fact(n - 1)
                def part(x: [n]f64, all: bool) = if all then x else x[:1]
                def scaled(x: [k]f64, k: i64, c: i64) = x * f64(c)
                def main(x: [n]f64, i: i64) = x[i]";
    let session = Session::new().with("a.ct", text);
    let run = |args: &str| session.cotan(&format!("run a.ct --fn {args}"));
    run("first --arg x=[1,2,3] --arg k=2").gives("[1.0, 2.0]\n");
    run("first --arg x=[1,2,3] --size k=2").gives("[1.0, 2.0]\n");
    run("halve --arg x=8 --arg steps=3").gives("1.0\n");
    run("fact --arg n=5").gives("120\n");
    run("part --arg x=[1,2,3] --arg all=false").gives("[1.0]\n");
    run("scaled --arg x=[1,2] --arg k=2 --arg c=3").gives("[3.0, 6.0]\n");
    run("scaled --arg x=[1,2] --arg k=3 --arg c=3").fails(1, &["E0204", "axis 0 has size 2"]);
    run("first --arg x=[1,2,3] --arg k=-1")
        .fails(1, &["a size cannot be negative: this one is -1"]);
    run("fact --arg n=100000").fails(1, &["E0216", "that is the limit"]);
    // What need not be known stays an input.
    let core = session.cotan("explain a.ct --stage core --arg x=[1,2,3] --arg i=1").succeeds();
    assert!(core.out.contains("i: i64"), "{}", core.out);
    let grad = session.cotan("grad a.ct --fn halve --arg x=8 --arg steps=3").succeeds();
    assert!(grad.out.contains("0.125"), "{}", grad.out);
    let wanted = ["E0206", "on the command line: --arg k=..."];
    session.cotan("explain a.ct --fn first --size n=3").fails(1, &wanted);
}

#[test]
fn sizes_inside_expressions_follow_from_the_arguments() {
    let text = "def main(x: [2 * h]f64): [h]f64 = x[:h]  def split(x: [n + m]f64) = x[:n]";
    let session = Session::new().with("a.ct", text);
    session.cotan("run a.ct --arg x=[1,2,3,4]").gives("[1.0, 2.0]\n");
    session.cotan("run a.ct --arg x=[1,2,3]").fails(1, &["`x` is [3]f64, so `2 * h = 3`"]);
    let split = session.cotan("run a.ct --fn split --arg x=[1,2,3]");
    split.fails(1, &["does not follow from `n + m = 3`", "--size n=..."]);
    session.cotan("run a.ct --fn split --arg x=[1,2,3] --size n=2").gives("[1.0, 2.0]\n");
}

#[test]
fn poison_is_reported() {
    let session = Session::new().with(
        "a.ct",
        "def main(x: [n]f64) = build n (i => x[i + 1])
         def guarded(x: [n]f64) = build n (i => where(i + 1 < n, x[i + 1], 9.0))
         def inside(x: [n]f64) = build n (i => x[i])",
    );
    let run = |function: &str| {
        let args = ["run", "a.ct", "--poison", "--fn", function, "--arg", "x=[1, 2, 3]"];
        session.cotan_with(&args, "", &[]).succeeds()
    };
    let ran = run("main");
    assert_eq!(ran.out, "[2.0, 3.0, 0.0]\n");
    assert!(ran.err.contains("a.ct:1:37: index: index [3] is outside shape [3]"), "{}", ran.err);
    assert!(ran.err.contains("the result: 1 of 3 elements depend"), "{}", ran.err);
    assert!(run("guarded").err.ends_with("no result depends on what was read out of range\n"));
    assert_eq!(run("inside").err, "no index was out of range\n");
}

#[test]
fn the_operation_that_made_a_nan_is_found() {
    let session = Session::new().with(
        "a.ct",
        "def main(x: [n]f64) =
           let y = log(x) in
           sum(y * x)
         def masked(x: [n]f64) = sum(where(x > 0.0, log(x), 0.0))
         def root(x: [n]f64) = sum(sqrt(x * x))
         def looped(x: [n]f64) = fold(1.0, x, (s, c) =>
           s / c)",
    );
    let run = |command: &str, function: &str, x: &str| {
        let arg = format!("x={x}");
        let args = [command, "a.ct", "--trace-nan", "--fn", function, "--arg", &arg];
        session.cotan_with(&args, "", &[]).succeeds().err
    };
    // The logarithm of -1 is NaN; that of 0 is -inf, and times 0 is NaN.
    assert_eq!(
        run("run", "main", "[2, -1]"),
        "the result is NaN\na.ct:2:20: in the value: `log(-1.0)` made NaN at [1]\n    let y = log(x) in\n"
    );
    assert_eq!(
        run("run", "main", "[0, 1]"),
        "the result is NaN\na.ct:3:16: in the value: `mul(-inf, 0.0)` made NaN at [0]\n    sum(y * x)\n"
    );
    // What is masked is not met, in the value or in the derivative.
    assert_eq!(run("run", "masked", "[0, 1]"), "all results are finite\n");
    assert_eq!(run("grad", "masked", "[0, 1]"), "all results and derivatives are finite\n");
    // Here only the derivative is NaN.
    assert_eq!(run("run", "root", "[0, 1]"), "all results are finite\n");
    let found = run("grad", "root", "[0, 1]");
    assert!(found.starts_with("the derivative by x[0] is NaN\na.ct:5:"), "{found}");
    assert!(found.contains("in the derivative: `"), "{found}");
    assert!(found.contains("def root(x: [n]f64) = sum(sqrt(x * x))"), "{found}");
    // In the step of a loop, and in an argument.
    let found = run("run", "looped", "[2, 0, 1]");
    assert!(found.contains("in the value: `div(0.5, 0.0)` made inf"), "{found}");
    let found = run("run", "root", "[nan, 1]");
    assert_eq!(found, "the result is NaN\nthe argument x[0] is not finite\n");
    session.cotan("run a.ct --trace-nan --backend vm").fails(2, &["x"]);
}

#[test]
fn imports_are_found_along_a_path() {
    let session = Session::new();
    std::fs::create_dir_all(session.path("libs/mine")).unwrap();
    let session = session
        .with("main.ct", "import \"mine/lib.ct\"\ndef main() = twice(4.0)")
        .with("libs/mine/lib.ct", "def twice(x: f64) = 2.0 * x");
    session.cotan("run main.ct").fails(1, &["mine/lib.ct"]);
    session.cotan("run main.ct --include libs").gives("8.0\n");
    session.cotan_with(&["run", "main.ct"], "", &[("COTAN_PATH", "libs")]).gives("8.0\n");
    session.cotan("run main.ct --include nowhere").fails(3, &["--include nowhere"]);
}

#[test]
fn counts_are_reported() {
    let session = Session::new().with("a.ct", "def main() = sum([1.0, 2.0, 3.0])");
    let ran = session.cotan("run a.ct --counts").succeeds();
    assert_eq!(ran.out, "6.0\n");
    assert!(ran.err.starts_with("scalar operations  3\n"), "{}", ran.err);
}

//! Values for parameters: expressions, `.npy`, `.npz`, and everything that can be wrong with them.

use super::session::Session;

const DOT: &str = "def main(a: [n]f64, b: [n]f64) = dot(a, b)\n";
const RECORD: &str = "\
type P[n] = {w: [n]f64, b: (f64, i64)}
def main(p: P[n], x: [n]f64) = {y = dot(p.w, x) + p.b.0, k = p.b.1 + n}
";

/// Runs `cotan run a.ct` with some `--arg`.
fn run(session: &Session, args: &[&str]) -> super::session::Ran {
    let with_flags = args.iter().flat_map(|arg| ["--arg", arg]);
    let all: Vec<&str> = ["run", "a.ct"].into_iter().chain(with_flags).collect();
    session.cotan_with(&all, "", &[])
}

#[test]
fn expressions_become_what_the_parameter_takes() {
    let session = Session::new().with("a.ct", DOT);
    run(&session, &["a=[1, 2, 3]", "b=[4.5, 5.0, -6.0]"]).gives("-3.5\n");
    run(&session, &["a = ones([100])", "b=f64(iota(100)) / 2.0"]).gives("2475.0\n");
    run(&session, &["a=[inf]", "b=[2]"]).gives("inf\n");
    run(&session, &["a=zeros([0])", "b=zeros([0])"]).gives("0.0\n");
    let session = Session::new().with("a.ct", "def main(x: f32, k: i64, c: bool) = (x, k, c)");
    run(&session, &["x=0.1", "k=-3", "c=true"])
        .gives("0: f32 = 0.1\n1: i64 = -3\n2: bool = true\n");
}

#[test]
fn structures_are_given_by_their_parts() {
    let session = Session::new().with("a.ct", RECORD);
    let ran = run(&session, &["p.w=[1, 2]", "p.b.0=0.5", "p.b.1=7", "x=[10, 20]"]);
    ran.gives("y: f64 = 50.5\nk: i64 = 9\n");
    run(&session, &["p=@p.npy"]).fails(2, &["`p` has several parts", "`p.w`, `p.b.0`, `p.b.1`"]);
    let missing =
        "no value for `p.b.1`, `x` of `main`, which takes:\n    p.w: [n]f64\n    p.b.0: f64\n";
    run(&session, &["p.w=[1, 2]", "p.b.0=0.5"]).fails(2, &[missing, "--arg p.b.1='...'"]);
}

#[test]
fn structures_are_given_whole() {
    let session = Session::new().with("a.ct", RECORD);
    let ran = run(&session, &["p={b = (1, 7), w = [1, 2]}", "x=[10, 20]"]);
    ran.gives("y: f64 = 51.0\nk: i64 = 9\n");
    run(&session, &["p.w=[1, 2]", "p.b=(0.5, 7)", "x=[10, 20]"])
        .gives("y: f64 = 50.5\nk: i64 = 9\n");
    run(&session, &["p=1"]).fails(2, &["the value of `p` has no `p.w`", "declared [n]f64"]);
    run(&session, &["p={w = [1], b = (1, 2), c = 3}"])
        .fails(2, &["the value of `p` has `p.c`, which is not declared"]);
    run(&session, &["p={w = [1], b = (1, 2.5)}"]).fails(2, &["`p.b.1` is declared i64"]);
}

#[test]
fn expressions_that_are_wrong() {
    let session = Session::new().with("a.ct", DOT);
    run(&session, &["a=[1, 2", "b=1"]).fails(2, &["E0006", "--> --arg a:", "value of `a`"]);
    run(&session, &["a=[1, x]", "b=1"])
        .fails(2, &["unknown name `x`", "--> --arg a:1:5", "1 | [1, x]", "value of `a`"]);
    run(&session, &["a=(1, 2)", "b=1"]).fails(2, &["`a` is not one array", "--arg p.0=..."]);
    run(&session, &["a=", "b=1"]).fails(2, &["the value of `a` is empty"]);
    run(&session, &["a"]).fails(2, &["write NAME=VALUE"]);
    run(&session, &["a=[true]", "b=[1]"]).fails(2, &["`a` is [1]bool, but `a` is declared [n]f64"]);
    run(&session, &["a=[9007199254740993]"])
        .fails(2, &["`a` is [1]i64, but `a` is declared [n]f64"]);
    run(&session, &["a=[1]", "a=[2]"]).fails(2, &["`--arg a=...` is given twice"]);
    run(&session, &["c=[1]"])
        .fails(2, &["no parameter `c`; it takes:\n    a: [n]f64\n    b: [n]f64"]);
    let session = Session::new().with("a.ct", "def main(k: i64) = k");
    run(&session, &["k=2.5"]).fails(2, &["`k` is f64, but `k` is declared i64", "i64(2.5)"]);
    let session = Session::new().with("a.ct", "def main() = 1");
    run(&session, &["k=2.5"]).fails(2, &["no parameter `k`", "it takes no arguments"]);
}

#[test]
fn shapes_that_do_not_fit() {
    let session = Session::new().with("a.ct", DOT);
    let both = ["`a` is [3]f64, so `n = 3`", "`b` is [2]f64, so `n = 2`", "E0204", "a.ct:1:"];
    run(&session, &["a=[1, 2, 3]", "b=[1, 2]"]).fails(1, &both);
    let ranks = ["`a` must be `[n]f64`, but [1, 1]f64 is given", "a.ct:1:10"];
    run(&session, &["a=[[1]]", "b=[1]"]).fails(1, &ranks);
}

#[test]
fn files_there_and_back() {
    let session = Session::new().with("a.ct", DOT).with(
        "make.ct",
        "def one[n](x: f64): [n]f64 = full([n], x)
         def two() = {a = [1, 2], b = [3.0, 4.0], unused = true}
         def three() = (1.5, [2.5])
         def i(x: [n]f64) = x  def f32s() = [0.5f32]  def bools() = [true]",
    );
    session.cotan("run make.ct --fn one --size n=3 --arg x=2 --out one.npy").gives("");
    run(&session, &["a=@one.npy", "b=[1, 2, 3]"]).gives("12.0\n");
    session.cotan("run make.ct --fn two --out two.npz").gives("");
    session.cotan("run a.ct --npz two.npz").gives("11.0\n");
    // Integers and f32 become f64; --arg goes before the archive.
    let args = ["run", "a.ct", "--npz", "two.npz", "--arg", "b=[1, 1]"];
    session.cotan_with(&args, "", &[]).gives("3.0\n");
    session.cotan("run make.ct --fn f32s --out f.npy").gives("");
    session.cotan("run make.ct --fn i --arg x=@f.npy").gives("[0.5]\n");
    session.cotan("run make.ct --fn three --out three.npz").gives("");
    let missing = ["no value for `a`, `b`", "three.npz holds `result.0`, `result.1`"];
    session.cotan("run a.ct --npz three.npz").fails(2, &missing);
    session.cotan("run make.ct --fn bools --out b.npy").gives("");
    let wrong = "b.npy for `x` is [1]bool, but `x` is declared [n]f64";
    session.cotan("run make.ct --fn i --arg x=@b.npy").fails(3, &[wrong]);
    let session = session.with("narrow.ct", "def main(x: [n]f32) = x");
    session.cotan("run narrow.ct --arg x=@one.npy").fails(3, &["declared [n]f32", "would change"]);
}

/// What nothing asks for is not looked at; what is asked for is named with the reason.
#[test]
fn an_archive_may_hold_what_cannot_be_read() {
    let session = Session::new()
        .with("a.ct", DOT)
        .with("make.ct", "def main() = {a = [1.0, 2.0], b = [3.0, 4.0], names = [0.0, 0.0]}");
    session.cotan("run make.ct --out x.npz").gives("");
    // The last array becomes one of strings of two characters, which take as many bytes.
    let mut bytes = std::fs::read(session.path("x.npz")).unwrap();
    let at = bytes.windows(5).rposition(|window| window == b"'<f8'").unwrap();
    bytes[at..at + 5].copy_from_slice(b"'<U2'");
    let session = session.with("x.npz", bytes).with("n.ct", "def main(names: [n]f64) = sum(names)");
    session.cotan("run a.ct --npz x.npz").gives("11.0\n");
    let reason = "x.npz: member \"names\": elements of type '<U2' are not supported";
    session.cotan("run n.ct --npz x.npz").fails(3, &[reason]);
    // An argument takes its place.
    session.cotan("run n.ct --npz x.npz --arg names=[5]").gives("5.0\n");
}

/// Arguments are computed within the limits of the command.
#[test]
fn limits_hold_for_arguments() {
    let session = Session::new().with("a.ct", "def main(x: [n]f64) = sum(x)  def f(x: f64) = x");
    let with = |function: &str, value: &str, limit: &[&str]| {
        let args = ["run", "a.ct", "--fn", function, "--arg", value];
        session.cotan_with(&[&args[..], limit].concat(), "", &[])
    };
    let begin = std::time::Instant::now();
    let endless = "x=while_loop(x => x > 0.0, x => x + 1.0, 1.0)";
    with("f", endless, &["--timeout", "200ms"]).fails(4, &["200ms", "`--arg x`", "--timeout"]);
    let large = ["E0217", "about the value of `--arg x`", "--limit-bytes"];
    for text in ["x=zeros([200000000])", "x=build 1000000 (i => f64(i))"] {
        with("main", text, &["--limit-bytes", "1M"]).fails(4, &large);
    }
    with("main", "x=zeros([99999999999999])", &[]).fails(4, &["E0217", "`--arg x`"]);
    with("main", "x=zeros([1000])", &["--limit-bytes", "1M"]).gives("0.0\n");
    // Files count, too, before they are read.
    with("main", "x=zeros([1000000])", &["--limit-bytes", "64M"]).gives("0.0\n");
    let session = session.with("make.ct", "def main() = {x = zeros([100000])}");
    session.cotan("run make.ct --out x.npz").gives("");
    session.cotan("run a.ct --npz x.npz --limit-bytes 100K").fails(4, &["x.npz", "102400"]);
    assert!(begin.elapsed().as_secs() < 30);
}

#[test]
fn files_that_are_wrong() {
    let session = Session::new().with("a.ct", DOT).with("x.npy", "not an array").with("e.npz", "");
    run(&session, &["a=@nope.npy"]).fails(3, &["nope.npy: ", "No such file"]);
    run(&session, &["a=@x.npy"]).fails(3, &["x.npy: not an .npy file", "numpy.save"]);
    run(&session, &["a=@a.ct"]).fails(3, &["a.ct: not an .npy file"]);
    run(&session, &["a=@."]).fails(3, &["not a regular file"]);
    session.cotan("run a.ct --npz e.npz").fails(3, &["e.npz: "]);
    session.cotan("run a.ct --npz nope.npz").fails(3, &["nope.npz: "]);
    session.cotan("run a.ct --arg a=@e.npz").fails(3, &["e.npz: ", "--npz e.npz"]);
    session.cotan("run x.npy").fails(1, &["E00"]);
}

#[test]
fn sizes_and_static_numbers() {
    let text =
        "def main[n](k: i64): [n]i64 = build n (i => i * k)\ndef g(k: i64, x: f64) = full([k], x)";
    let session = Session::new().with("a.ct", text);
    session.cotan("run a.ct --size n=4 --arg k=3").gives("[0, 3, 6, 9]\n");
    session.cotan("run a.ct --arg k=3").fails(1, &["the size `n`", "--size n=..."]);
    session.cotan("run a.ct --fn g --size k=2 --arg x=1").gives("[1.0, 1.0]\n");
    session.cotan("run a.ct --fn g --size x=2").fails(2, &["`x` is a parameter of type f64"]);
    session.cotan("run a.ct --size n=four").fails(2, &["`four` is not a whole number"]);
}

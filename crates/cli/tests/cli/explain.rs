//! `cotan explain`

use super::session::Session;

const MIRROR: &str = "def main(a:[n]f64)=sum(build n (i=>a[i]*a[n-1-i]))\n";

#[test]
fn stages_one_by_one() {
    let session = Session::new().with("a.ct", MIRROR);
    let source = "def main(a: [n]f64) = sum(build n (i => a[i] * a[n - 1 - i]))\n";
    session.cotan("explain a.ct --stage source").gives(source);
    session
        .cotan("explain a.ct --stage core --size n=3")
        .gives("# 9 nodes\ndef main(a: [3]f64) = sum_outer(build 3 (i => a[i] * a[2 - i]))\n");
    let bot = session.cotan("explain a.ct --stage bot --size n=3").succeeds().out;
    assert!(bot.starts_with("# 8 nodes\ndef main(a: [3]f64) = sum_outer(gather(a, [3], "), "{bot}");
    assert!(bot.contains("# 3 firings of rules:\n#   build-index/var          2\n"), "{bot}");
}

#[test]
fn all_stages_at_once() {
    let session = Session::new().with("a.ct", MIRROR);
    let out = session.cotan("explain a.ct --size n=3").succeeds().out;
    let at = |part: &str| out.find(part).unwrap_or_else(|| panic!("no {part:?} in {out}"));
    let places = [at("# a.ct\n"), at("# In the core language: "), at("# In bulk operations: ")];
    assert!(places.is_sorted());
}

#[test]
fn traces_show_the_place_and_both_terms() {
    let session = Session::new().with("a.ct", MIRROR);
    let out = session.cotan("explain a.ct --stage bot --trace --size n=3").succeeds().out;
    let firing = "# a.ct:1:36: build-index/var\n#      a[i]\n#   ~> gather(a, [3], i => [i])\n";
    assert!(out.contains(firing), "{out}");
    session
        .cotan("explain a.ct --stage core --trace --size n=3")
        .fails(2, &["--stage bot --trace"]);
}

#[test]
fn the_optimised_program_comes_with_its_rules() {
    let session =
        Session::new().with("a.ct", "def f(a: [3]f64) = sum(build 3 (i => a[i] * 2.0))\n");
    let out = session.cotan("explain a.ct --stage optimised --trace").succeeds().out;
    assert!(out.contains("`grad.a` = replicate(2.0, 3)"), "{out}");
    assert!(!out.contains("def main(a: [3]f64) = scatter"), "{out}");
    assert!(out.contains("firings of rules:\n") && out.contains("sum/factor"), "{out}");
    assert!(out.contains("#   ~> "), "{out}");
}

#[test]
fn shapes_may_come_from_values() {
    let session = Session::new().with("a.ct", MIRROR);
    let args = ["explain", "a.ct", "--stage", "core", "--arg", "a=[1, 2]"];
    let out = session.cotan_with(&args, "", &[]).succeeds().out;
    assert!(out.contains("def main(a: [2]f64)"), "{out}");
}

#[test]
fn stages_of_differentiation() {
    let session = Session::new().with("a.ct", MIRROR);
    let delta = "\
d0 = Input a : [3]f64
d1 = Gather d0 (i => [i]) : [3]f64
d2 = Gather d0 (i => [(2 - i)]) : [3]f64
d3 = Scale p0 d1 : [3]f64
d4 = Scale p1 d2 : [3]f64
d5 = Add d3 d4 : [3]f64
d6 = SumOuter d5 : f64
derivative of result0: d6
";
    session.cotan("explain a.ct --stage delta --size n=3").gives(delta);
    let dual = session.cotan("explain a.ct --stage dual --size n=3").succeeds().out;
    assert!(dual.contains("in {result0 = sum_outer(x1 * x2), p0 = x2, p1 = x1}\n"), "{dual}");
    assert!(dual.contains("#   d3 = Scale p0 d1 : [3]f64\n"), "{dual}");

    let gradient = session.cotan("explain a.ct --stage gradient --arg a=[1,2,3]").succeeds().out;
    assert!(gradient.contains("`grad.a` = scatter("), "{gradient}");
    let ratio = "#   scalar operations              9        27     3.00\n";
    assert!(gradient.contains(ratio), "{gradient}");
    assert!(gradient.contains("#   elements read "), "{gradient}");
    // What is printed is a program again.
    let again = Session::new().with("g.ct", &gradient);
    let out = again.cotan("run g.ct --arg a=[1,2,3]").succeeds().out;
    assert_eq!(out, "result0: f64 = 10.0\ngrad.a: [3]f64 = [6.0, 4.0, 2.0]\n");
}

#[test]
fn functions_without_derivatives_have_no_such_stages() {
    let session = Session::new().with("a.ct", "def main(n: i64) = n + 1\n");
    session.cotan("explain a.ct --stage gradient").fails(1, &["no parameter is a float"]);
    let out = session.cotan("explain a.ct").succeeds().out;
    assert!(out.ends_with("# No derivatives: no parameter is a float.\n"), "{out}");
}

#[test]
fn missing_sizes_are_named() {
    let session = Session::new().with("a.ct", MIRROR);
    session.cotan("explain a.ct").fails(1, &["the size `n`", "a.ct:1:13", "--size n=..."]);
    session.cotan("explain a.ct --size k=3").fails(2, &["no size `k`", "its sizes are n"]);
    session.cotan("explain a.ct --size n=-3").fails(2, &["the size `n` cannot be -3"]);
    session.cotan("explain a.ct --size n=3 --size n=4").fails(2, &["`n` is given twice"]);
    session
        .cotan("explain a.ct --stage spot")
        .fails(2, &["[possible values: source, core, bot, dual, delta, gradient, residuals, optimised, placements, nests, schedule, kernels, memory]"]);
}

#[test]
fn errors_are_shown_before_any_stage() {
    let session = Session::new().with("a.ct", "def main(x: f64) = x + y");
    session.cotan("explain a.ct").fails(1, &["unknown name `y`"]);
}

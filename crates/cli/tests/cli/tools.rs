//! Watching, measuring, and tests that take long.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::session::Session;

#[test]
fn a_program_is_run_whenever_it_is_saved() {
    let session = Session::new().with("a.ct", "import \"b.ct\"\ndef main() = two() + 1.0\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .args(["watch", "--turns", "4"])
        .arg(session.path("a.ct"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut until_it_waits = || {
        let mut text = String::new();
        for line in lines.by_ref() {
            let line = line.unwrap();
            if line.contains("waiting for changes") {
                break;
            }
            text += &(line + "\n");
        }
        text
    };
    assert!(until_it_waits().contains("cannot import"));
    fs::write(session.path("b.ct"), "def two() = 2.0\n").unwrap();
    assert_eq!(until_it_waits(), "");
    // As editors do: another file takes its place.
    fs::write(session.path("new"), "import \"b.ct\"\ndef main() = nothing(two())\n").unwrap();
    fs::remove_file(session.path("a.ct")).unwrap();
    fs::rename(session.path("new"), session.path("a.ct")).unwrap();
    assert!(until_it_waits().contains("unknown name `nothing`"));
    fs::write(session.path("a.ct"), "import \"b.ct\"\ndef main() = two() * 4.0\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let results: Vec<&str> = out.lines().filter(|line| !line.contains("no errors")).collect();
    assert_eq!(results, ["3.0", "8.0"]);
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let session = Session::new();
    session.cotan("watch --example matmul").fails(2, &["cotan watch FILE"]);
    session.cotan("watch none.ct").fails(3, &["cannot read"]);
}

#[test]
fn programs_are_measured_side_by_side() {
    let session = Session::new()
        .with("a.ct", "def f(x: [n]f64) = sum(x * x)\n")
        .with("b.ct", "def f(x: [n]f64) = dot(x, x)\n")
        .with("c.ct", "def f(k: i64) = k + 1\n");
    let cache = session.path("cache");
    let env = [("COTAN_CACHE", cache.to_str().unwrap())];
    let run = |args: &str| {
        session.cotan_with(&args.split_whitespace().collect::<Vec<_>>(), "", &env).succeeds()
    };
    let first = run("bench a.ct b.ct --size n=1000 --time 20ms");
    for part in ["a.ct", "b.ct", "value and gradient", "of the machine", "second/first"] {
        assert!(first.out.contains(part), "no {part:?} in {}", first.out);
    }
    assert!(first.err.contains("measuring what the machine can do"));
    // The limits are known by now.
    let second = run("bench a.ct --time 20ms --json");
    assert!(!second.err.contains("measuring what"), "{}", second.err);
    let value: serde_json::Value = serde_json::from_str(&second.out).unwrap();
    let program = &value["programs"][0];
    assert_eq!(program["program"], "a.ct");
    assert!(program["ratio"].as_f64().unwrap() > 0.0);
    assert!(program["value"]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(program["value"]["bytes"], 8 * 65);
    let third = run("bench c.ct --time 20ms --json");
    let value: serde_json::Value = serde_json::from_str(&third.out).unwrap();
    assert!(value["programs"][0]["gradient"].is_null());
}

#[test]
fn a_test_ends_when_its_time_is_up() {
    let text = "def f(x: [n]f64) = sum(build 300 (i => sum(tanh(x * f64(i)))))\n\
                def g(x: f64) = x * x\n";
    let session = Session::new().with("slow.ct", text);
    let ran = session.cotan("test slow.ct --time 1ms").succeeds();
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(
        lines[0].contains("of 3 derivatives in 1ms") || lines[0].contains("--time gives more"),
        "{}",
        lines[0]
    );
}

const MODEL: &str = "\
def main(x: [n]f64) =
  let y = sin(x) * x in
  sum(y * y * 1.0)
";

#[test]
fn a_line_and_a_node_are_explained() {
    let session = Session::new().with("m.ct", MODEL);
    let out = session.cotan("explain m.ct --size n=5 --line 2").succeeds().out;
    for part in ["   2 |   let y = sin(x) * x in", "optimised: ", "(reverse)", "its derivative"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let out = session.cotan("explain m.ct --size n=5 --why bulk:1").succeeds().out;
    assert!(out.contains("m.ct:2:11: sin(x)"), "{out}");
    session.cotan("explain m.ct --size n=5 --line 9").fails(2, &["there is no line 9", "3 lines"]);
    session.cotan("explain m.ct --size n=5 --why nothing").fails(2, &["there is no node"]);
    session.cotan("explain m.ct --size n=5 --line 2 --stage core").fails(2, &["cannot be used"]);
    session.cotan("explain m.ct --line 2").fails(1, &["--size n="]);
}

#[test]
fn a_page_and_a_profile_are_written() {
    let cache = Session::new();
    let cache = cache.path("cache");
    let env = [("COTAN_CACHE", cache.to_str().unwrap())];
    let session = Session::new().with("m.ct", MODEL);
    session.cotan("explain m.ct --size n=5 --html m.html --measure 20ms").succeeds();
    let page = fs::read_to_string(session.path("m.html")).unwrap();
    assert!(page.contains("let y = sin(x) * x in") && page.ends_with("</html>\n"));
    session.cotan("explain m.ct --size n=5 --html none/m.html").fails(3, &["none/m.html"]);

    let profile =
        |line: &str| session.cotan_with(&line.split_whitespace().collect::<Vec<_>>(), "", &env);
    let out = profile("profile m.ct --length 1000 --time 100ms --flame f.svg").succeeds().out;
    for part in ["value: ", "value and gradient: ", "kernel", "2 |   let y"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(fs::read_to_string(session.path("f.svg")).unwrap().starts_with("<svg"));
    let json = profile("profile m.ct --length 100 --time 10ms --json").succeeds().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn tests_end_when_their_time_together_is_up() {
    let session = Session::new().with("m.ct", "def f(x: f64) = x * x\ndef g(x: f64) = sin(x)\n");
    let out = session.cotan("test m.ct --total 1ms").succeeds().out;
    assert!(out.contains("f: ok") && out.contains("g: skipped: the time for all is up"), "{out}");
}

#[test]
fn functions_of_one_and_two_numbers_are_drawn() {
    let text = "def f(x: f64, a: f64) = a * sin(x)\ndef g(x: f64, y: f64) = x * x + y\n\
                def v(x: [n]f64) = sum(x)\n";
    let session = Session::new().with("p.ct", text).with("d.csv", "x,y\n0,0\n1, 0.8\n");
    let out = session.cotan("plot p.ct --fn f --arg a=2.0").succeeds().out;
    assert!(out.contains("grad(f)") && out.lines().count() == 20, "{out}");
    session
        .cotan("plot p.ct --fn f --arg a=2.0 --range x=0..4 --data d.csv --svg f.svg")
        .succeeds();
    let svg = session.read("f.svg");
    assert!(svg.starts_with("<svg") && svg.matches("<circle").count() == 2, "{svg}");
    let out = session.cotan("plot p.ct --fn g --range x=-1..1").succeeds().out;
    assert!(out.contains("arrows point uphill") && out.contains('↗'), "{out}");
    session.cotan("plot p.ct --fn g --svg g.svg").succeeds();
    assert!(session.read("g.svg").contains("class=\"arrow\""));
    session.cotan("plot p.ct --fn v --size n=3").fails(2, &["only numbers are drawn over"]);
    session.cotan("plot p.ct --fn g --range z=0..1").fails(2, &["nothing to draw over called `z`"]);
    session.cotan("plot p.ct --fn g --range x=1..0").fails(2, &["to a larger one"]);
}

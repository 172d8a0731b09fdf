//! `cotan error`, `operations`, `builtins`, `rules`, `completions`, `--help`

use super::session::Session;

#[test]
fn error_codes_are_explained() {
    let session = Session::new();
    let out = session.cotan("error e0007").succeeds().out;
    assert!(out.starts_with("error E0007: An expression that is nested too deeply.\n\n"), "{out}");
    assert!(out.contains("256 deep"));
    let all = session.cotan("error").succeeds().out;
    assert!(all.lines().count() > 30 && all.starts_with("E0001  ") && all.contains("\nW0301  "));
    session.cotan("error E9999").fails(2, &["no error code `E9999`", "`cotan error` lists"]);
}

#[test]
fn operations_show_their_rows() {
    let session = Session::new();
    session.cotan("operations tanh").gives(
        "tanh(a)\n    Hyperbolic tangent.\n    Takes one argument of type f64 or f32.\n    \
         Derivative: d/da = (1 - y) * (1 + y).\n\n",
    );
    let all = session.cotan("operations").succeeds().out;
    assert!(all.contains("a + b  or  add(a, b)\n") && all.contains("Derivative: discrete."));
    session.cotan("operations tanh sinn").fails(2, &["no operation `sinn`", "`cotan operations`"]);
}

#[test]
fn builtins_show_how_they_are_called() {
    let session = Session::new();
    let out = session.cotan("builtins fold zeros").succeeds().out;
    assert!(out.contains("zeros(sizes, dtype = f64)\n") && out.contains("\nfold("), "{out}");
    session.cotan("builtins fould").fails(2, &["no builtin `fould`", "`cotan builtins`"]);
}

#[test]
fn rules_stand_by_figure() {
    let session = Session::new();
    let text = session.cotan("rules").succeeds().out;
    assert!(text.starts_with("Fig. bot-rules-build"));
    assert!(text.contains("  build/var (as printed)\n      build k (i => i)  ~>  iota(k)\n"));
    let document = session.cotan("rules --markdown").succeeds().out;
    assert!(document.contains("### build/var (as printed)\n\n$$\\mathtt{build1}"));
}

#[test]
fn completions_know_the_commands() {
    let session = Session::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = session.cotan(&format!("completions {shell}")).succeeds().out;
        assert!(script.contains("explain") && script.contains("operations"), "{shell}");
    }
    session.cotan("completions csh").fails(2, &["[possible values: bash"]);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let session = Session::new().with("taken", "");
    session.cotan("man new/man1").succeeds();
    let page = session.read("new/man1/cotan-run.1");
    assert!(page.contains(".TH cotan-run 1") && page.contains("limit\\-bytes"), "{page}");
    assert!(session.read("new/man1/cotan.1").contains("explain"));
    session.cotan("man taken").fails(3, &["cannot write to taken"]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let session = Session::new();
    let help = session.cotan("--help").succeeds().out;
    for code in ["0   success", "1   ", "2   ", "3   ", "4   ", "70  an internal error"] {
        assert!(help.contains(&format!("\n  {code}")), "{code} in {help}");
    }
    let commands =
        ["check", "run", "fmt", "explain", "error", "operations", "builtins", "rules", "examples"];
    for command in commands {
        let help = session.cotan(&format!("{command} --help")).succeeds().out;
        assert!(help.contains(&format!("Examples:\n  cotan {command}")), "{help}");
    }
    assert!(session.cotan("--version").succeeds().out.starts_with("cotan 0."));
}

#[test]
fn what_is_not_a_command_is_refused() {
    let session = Session::new();
    session.cotan("").fails(2, &["Usage: cotan"]);
    session.cotan("fly").fails(2, &["unrecognized subcommand 'fly'"]);
    session.cotan("rum").fails(2, &["a similar subcommand exists: 'run'"]);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .args(["rules", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

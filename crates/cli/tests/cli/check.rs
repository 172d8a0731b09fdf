//! `cotan check`

use super::session::Session;

#[test]
fn good_programs_pass() {
    let session = Session::new()
        .with("a.ct", "import \"b.ct\" as b  def main(x: [n]f64) = b.twice(sum(x))")
        .with("b.ct", "def twice(x: f64) = 2.0 * x");
    session.cotan("check a.ct b.ct").gives("a.ct: no errors\nb.ct: no errors\n");
}

#[test]
fn every_error_of_every_file_is_shown() {
    let session = Session::new()
        .with("a.ct", "def f(x: f64) = x + y\ndef g(a: [3]f64, b: [4]f64) = a + b\n")
        .with("b.ct", "def h(x: f64) = sin(x\n");
    let ran = session.cotan("check a.ct b.ct");
    ran.fails(1, &["error[E0101]: unknown name `y`", "a.ct:1:21", "E0203", "a.ct:2:", "b.ct:1:20"]);
}

#[test]
fn warnings_do_not_fail() {
    let session = Session::new().with("a.ct", "def f(x: [3]f64) = x[7]");
    let ran = session.cotan("check a.ct").succeeds();
    assert_eq!(ran.out, "a.ct: no errors\n");
    assert!(ran.err.starts_with("warning[W0301]"), "{}", ran.err);
}

#[test]
fn conditions_are_notes_and_do_not_fail() {
    let text = "def same(x: [n]f64, y: [m]f64) = x + y\ndef heads(x: [d]f64) = x[:d // 8 * 8]\n";
    let session = Session::new().with("a.ct", text);
    let ran = session.cotan("check a.ct").succeeds();
    assert_eq!(ran.out, "a.ct: no errors\n");
    assert!(
        ran.err.starts_with("note[N0401]: `same` needs n = m, or one of them 1"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("heads"), "{}", ran.err);
    assert_eq!(session.cotan("check a.ct --size n=3 --size m=3").succeeds().err, "");
    let wrong = session.cotan("check a.ct --size n=3 --size m=4");
    wrong.fails(1, &["E0203", "[3]f64 and [4]f64"]);
    session.cotan("check a.ct --size k=3").fails(2, &["no function has a size `k`"]);
    session.cotan("check a.ct --size n=-3").fails(2, &["cannot be -3"]);
}

#[test]
fn a_missing_file_does_not_hide_the_others() {
    let session = Session::new().with("a.ct", "def f(x: f64) = x");
    let ran = session.cotan("check nope.ct a.ct");
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), "a.ct: no errors\n"));
    assert!(ran.err.starts_with("error: cannot read `nope.ct`"));
}

#[test]
fn a_missing_import_is_an_error_of_the_program() {
    let session = Session::new().with("a.ct", "import \"gone.ct\"  def f(x: f64) = x");
    session.cotan("check a.ct").fails(1, &["E0104", "gone.ct", "a.ct:1:8"]);
}

#[test]
fn standard_input_is_a_program_too() {
    let session = Session::new();
    let ran = session.cotan_with(&["check", "-"], "def f(x: f64) = y", &[]);
    ran.fails(1, &["--> standard input:1:17"]);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let session = Session::new().with("a.ct", "def f(x: f64) = y");
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let ran = session.cotan_with(args, "", env);
        assert_eq!(ran.code, Some(1));
        ran.err.contains("\x1b[")
    };
    assert!(!coloured(&["check", "a.ct"], &[]), "standard error is no terminal here");
    assert!(coloured(&["check", "a.ct", "--color", "always"], &[]));
    assert!(coloured(&["--color=always", "check", "a.ct"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["check", "a.ct", "--color", "never"], &[]));
}

/// One exit code for limits, whichever command finds out.
#[test]
fn a_limit_has_one_exit_code() {
    let session = Session::new()
        .with("a.ct", "def main() = sum(zeros([1152921504606846976]))")
        .with("b.ct", "def main() = sum(zeros([1152921504606846976]))\ndef f() = 1 + true");
    for command in ["check", "run", "explain --stage core"] {
        let (name, options) = command.split_once(' ').unwrap_or((command, ""));
        session.cotan(&format!("{name} a.ct {options}")).fails(4, &["error[E0217]", "a.ct:1:"]);
    }
    session.cotan("check b.ct").fails(1, &["error[E0217]", "error[E02"]);
}

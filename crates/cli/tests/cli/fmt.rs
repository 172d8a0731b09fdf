//! `cotan fmt`

use super::session::Session;

const UGLY: &str = "def f(x:f64)=x*x # square\n";
const NICE: &str = "def f(x: f64) = x * x  # square\n";

#[test]
fn files_are_written_in_place_and_only_when_they_change() {
    let session = Session::new().with("a.ct", UGLY).with("b.ct", "def g() = 1\n");
    let unchanged = || std::fs::metadata(session.path("b.ct")).unwrap().modified().unwrap();
    let before = unchanged();
    session.cotan("fmt a.ct b.ct").gives("");
    assert_eq!(session.read("a.ct"), NICE);
    assert_eq!(unchanged(), before);
    assert_eq!(session.files(), ["a.ct", "b.ct"]);
    session.cotan("fmt --check a.ct b.ct").gives("");
}

#[test]
fn check_writes_nothing() {
    let session = Session::new().with("a.ct", UGLY);
    let ran = session.cotan("fmt --check a.ct");
    ran.fails(1, &["a.ct: not formatted; run `cotan fmt a.ct`"]);
    assert_eq!(session.read("a.ct"), UGLY);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let session = Session::new();
    session.cotan_with(&["fmt", "-"], UGLY, &[]).gives(NICE);
    session.cotan_with(&["fmt", "-", "--check"], UGLY, &[]).fails(1, &["not formatted"]);
    session.cotan_with(&["fmt", "-", "--check"], NICE, &[]).gives("");
}

#[test]
fn a_file_with_errors_is_left_alone_and_the_others_are_not() {
    let broken = "def f(x:f64)=x*(x\n";
    let session = Session::new().with("a.ct", broken).with("b.ct", UGLY);
    session.cotan("fmt a.ct b.ct").fails(1, &["error[E0006]", "a.ct:1:16"]);
    assert_eq!(session.read("a.ct"), broken);
    assert_eq!(session.read("b.ct"), NICE);
}

#[test]
fn what_is_not_a_program_is_refused() {
    let session = Session::new().with("a.ct", [0xff, 0xfe]);
    session.cotan("fmt a.ct").fails(3, &["cannot read `a.ct`: not text: byte 0 is not UTF-8"]);
    session.cotan("fmt nope.ct").fails(3, &["cannot read `nope.ct`"]);
    session.cotan("fmt .").fails(3, &["cannot read `.`", "hint: name the files in it"]);
    session.cotan("fmt").fails(2, &["<FILE>"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let session = Session::new().with("a.ct", UGLY);
    let file = session.path("a.ct");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a.ct", session.path("link.ct")).unwrap();
    session.cotan("fmt link.ct").gives("");
    assert_eq!(session.read("a.ct"), NICE);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(session.path("link.ct")).unwrap().is_symlink());
}

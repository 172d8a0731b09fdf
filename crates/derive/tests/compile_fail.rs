//! What the compiler says to programs of cotan that are wrong by their types: the full texts.
//!
//! They are here rather than with cotan because a build of its own is made for them, of cotan and the
//! dependencies of these tests.
//!
//! The texts are those of one version of Rust, and are compared by that one only; all others skip
//! this test. To accept what it says now: `TRYBUILD=overwrite cargo test -p cotan-derive`.

/// The version of Rust that the texts are of.
const RECORDED: &str = "rustc 1.95.";

#[test]
fn misuse_is_explained() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    if !version.starts_with(RECORDED) {
        eprintln!("skipped: the texts are those of {RECORDED}x, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

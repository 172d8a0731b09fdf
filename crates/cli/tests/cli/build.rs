//! `cotan build`

use std::process::{Command, Stdio};

use super::session::Session;

const MODEL: &str = "\
def loss(w: [n]f64, x: [m, n]f64) = sum(build m (i => sum(x[i] * w) ** 2))
def int(x: f64) = 2.0 * x
def whole(k: i64) = k + 1
def main(x: f64) = x * x
";

fn session() -> Session {
    Session::new().with("m.ct", MODEL)
}

/// Whether there is a compiler, so that what it makes can be run.
fn has_gcc() -> bool {
    let found = Command::new("gcc").arg("--version").stdout(Stdio::null()).status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        println!("skipped: there is no gcc here");
    }
    there
}

#[test]
fn a_function_and_its_gradient() {
    let session = session();
    session
        .cotan("build m.ct --fn loss --grad --wrt w --size n=3 --size m=2 --emit c -o out")
        .gives("wrote out/loss.c and out/loss.h\n");
    let header = session.read("out/loss.h");
    for line in [
        "void loss(const double *COTAN_RESTRICT w, const double *COTAN_RESTRICT x, double \
         *COTAN_RESTRICT value",
        "void loss_grad(",
        "double[2][3], 6 elements, row by row (x)",
        "grad_w  out: double[3] (grad.w)",
    ] {
        assert!(header.contains(line), "{line}\n{header}");
    }
    let source = session.read("out/loss.c");
    assert!(source.contains("/* m.ct:1:"), "the places of the program are comments\n{source}");
}

/// The whole way: write, compile without warnings, run, compare.
#[test]
fn it_compiles_and_runs() {
    if !has_gcc() {
        return;
    }
    let main = "\
#include <stdio.h>
#include \"loss.h\"
int main(void)
{
    const double w[3] = {1, 2, 3}, x[6] = {1, 0, 2, 0, 1, 1};
    double value, grad[3];
    static loss_grad_workspace work;
    loss_grad(w, x, &value, grad, &work);
    printf(\"%g %g %g %g\\n\", value, grad[0], grad[1], grad[2]);
    return 0;
}
";
    let session = session().with("main.c", main);
    session
        .cotan("build m.ct --fn loss --grad --wrt w --size n=3 --size m=2 --emit c -o .")
        .gives("wrote ./loss.c and ./loss.h\n");
    let source = session.read("loss.h");
    if !source.contains("loss_grad_workspace") {
        return;
    }
    let folder = session.path("");
    let flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"];
    let compiled = Command::new("gcc")
        .args(flags)
        .args(["main.c", "loss.c", "-o", "program"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = Command::new(folder.join("program")).output().unwrap();
    // Sums 7 and 5: 49 + 25, and 2 * (7 * [1, 0, 2] + 5 * [0, 1, 1]).
    assert_eq!(String::from_utf8_lossy(&run.stdout), "74 14 10 38\n");
}

#[test]
fn main_is_called_as_the_file() {
    let session = session();
    session.cotan("build m.ct --emit c -o out").gives("wrote out/m.c and out/m.h\n");
    assert!(session.read("out/m.h").contains("void m(double x, double *COTAN_RESTRICT value);"));
    session
        .cotan("build m.ct --emit c --name square -o out")
        .gives("wrote out/square.c and out/square.h\n");
}

#[test]
fn what_cannot_be_built() {
    let run = |more: &str| session().cotan(&format!("build m.ct {more}"));
    run("--fn loss --size n=3 --size m=2 --emit c").fails(2, &["--out"]);
    run("--fn nothing --emit c -o out").fails(2, &["no function `nothing`", "loss"]);
    run("--fn loss --emit c -o out").fails(1, &["--size"]);
    run("--fn int --emit c -o out").fails(2, &["cannot be called `int`", "--name"]);
    run("--fn loss --size n=3 --size m=2 --emit c --name a-b -o out").fails(2, &["identifier"]);
    run("--fn whole --grad --emit c -o out").fails(1, &["takes no floats"]);
    run("--fn int --name f --wrt x --emit c -o out").fails(2, &["--grad"]);
    run("--emit fortran -o out").fails(2, &["possible values: c"]);
    // A file is where the folder should be: it stays as it is.
    let session = session().with("out", "precious");
    session.cotan("build m.ct --emit c -o out").fails(3, &["cannot make the folder", "out"]);
    assert_eq!(session.read("out"), "precious");
}

/// The controller of the example swings the pendulum up.
#[test]
fn the_example() {
    if !has_gcc() || Command::new("make").arg("--version").output().is_err() {
        return;
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/c");
    let mut session = Session::new();
    for file in ["Makefile", "main.c", "pendulum.ct"] {
        let text = std::fs::read_to_string(format!("{example}/{file}")).unwrap();
        session = session.with(file, &text);
    }
    let run = Command::new("make")
        .arg(format!("COTAN={}", env!("CARGO_BIN_EXE_cotan")))
        .args(["CC=gcc", "run"])
        .current_dir(session.path(""))
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && out.contains("the pendulum stands"), "{out}\n{err}");
}

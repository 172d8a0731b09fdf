//! `cotan grad`

use super::session::Session;

const MODEL: &str = "\
type Params[n] = {w: [n]f64, b: f64}
def loss(p: Params[n], x: [n]f64): f64 = (sum(p.w * x) + p.b) ** 2
def square(x: [n]f64) = x * x
def both(x: f64, n: i64) = (x * x, n)
def count(n: i64) = n + 1
";

fn session() -> Session {
    Session::new().with("m.ct", MODEL)
}

const LOSS: [&str; 10] = [
    "grad",
    "m.ct",
    "--fn",
    "loss",
    "--arg",
    "p.w=[1, 2]",
    "--arg",
    "p.b=0.5",
    "--arg",
    "x=[3, 4]",
];

#[test]
fn value_and_gradient_by_name() {
    session().cotan_with(&LOSS, "", &[]).gives(
        "value: f64 = 132.25\n\
         grad.p.w: [2]f64 = [69.0, 92.0]\n\
         grad.p.b: f64 = 23.0\n\
         grad.x: [2]f64 = [23.0, 46.0]\n",
    );
}

#[test]
fn parameters_and_parts_are_chosen() {
    let chosen = |wrt: &str| session().cotan_with(&[&LOSS[..], &["--wrt", wrt]].concat(), "", &[]);
    chosen("p")
        .gives("value: f64 = 132.25\ngrad.p.w: [2]f64 = [69.0, 92.0]\ngrad.p.b: f64 = 23.0\n");
    chosen("x,p.b")
        .gives("value: f64 = 132.25\ngrad.x: [2]f64 = [23.0, 46.0]\ngrad.p.b: f64 = 23.0\n");
    chosen("q").fails(2, &["no parameter `q`", "p.w, p.b, x"]);
    session()
        .cotan("grad m.ct --fn both --arg x=2 --arg n=3 --wrt n")
        .fails(1, &["`n`, which is i64", "only f64 and f32"]);
}

#[test]
fn other_derivatives() {
    let run = |args: &str| session().cotan(&format!("grad m.ct --fn {args}"));
    run("square --arg x=[1,2] --mode jacobian")
        .gives("jac.value.x: [2, 2]f64 =\n[[2.0, 0.0],\n [0.0, 4.0]]\n");
    run("square --arg x=[1,2] --mode vjp --arg ct.value=[1,10]")
        .gives("value: [2]f64 = [1.0, 4.0]\ngrad.x: [2]f64 = [ 2.0, 40.0]\n");
    run("square --arg x=[1,2] --mode jvp --arg d.x=[1,10]")
        .gives("value: [2]f64 = [1.0, 4.0]\nd.value: [2]f64 = [ 2.0, 40.0]\n");
    run("both --arg x=3 --arg n=7")
        .gives("value.0: f64 = 9.0\nvalue.1: i64 = 7\ngrad.x: f64 = 6.0\n");
    run("both --arg x=3 --arg n=7 --mode hessian").gives("hess.x.x: f64 = 2.0\n");
    run("both --arg x=3 --arg n=7 --mode hvp --arg d.x=5").gives("hvp.x: f64 = 10.0\n");
}

#[test]
fn hessians_of_gathers() {
    let session = Session::new()
        .with("a.ct", "def main(a: [n]f64) = sum(build n (i => a[i] * a[n - 1 - i]))\n");
    let expected = "hess.a.a: [2, 2]f64 =\n[[0.0, 2.0],\n [2.0, 0.0]]\n";
    session.cotan("grad a.ct --arg a=[1,2] --mode hessian").gives(expected);
}

#[test]
fn what_cannot_be_is_said() {
    let run = |args: &str| session().cotan(&format!("grad m.ct --fn {args}"));
    run("square --arg x=[1,2]").fails(1, &["must be a float scalar, not [2]f64", "Jacobian"]);
    run("count --arg n=1").fails(1, &["takes no floats"]);
    run("square --arg x=[1,2] --mode vjp").fails(2, &["no value for `ct.value`"]);
    run("square --arg x=[1,2] --mode jvp --arg d.x=1").fails(2, &["`d.x` is declared [2]f64"]);
    run("square --arg x=[1,2] --mode jvp --arg d.y=1").fails(2, &["`d.y`", "give `d.x`"]);
    run("square --arg x=[1,2] --arg d.x=[1,2]").fails(1, &["float scalar"]);
    run("square --mode slope").fails(2, &["possible values: grad, value_and_grad, vjp"]);
    run("square").fails(2, &["no value for `x`"]);
}

#[test]
fn results_go_to_files() {
    let session = session();
    session.cotan_with(&[&LOSS[..], &["--out", "g.npz"]].concat(), "", &[]).succeeds();
    assert_eq!(session.files(), ["g.npz", "m.ct"]);
    // What was written is read back as values of parameters.
    let sum = "def main(`grad.x`: [n]f64) = sum(`grad.x`)\n";
    let again = session.with("s.ct", sum);
    again.cotan("run s.ct --npz g.npz").gives("69.0\n");
}

/// The entries of a matrix that can differ from 0, as SciPy takes them.
#[test]
fn sparse_matrices_are_three_arrays_and_a_shape() {
    let session = Session::new()
        .with("a.ct", "def main(x: [n]f64) = build n (i => x[i] * x[i] - x[i - 1])\n");
    let shown = session.cotan("grad a.ct --arg x=[1,2,3] --mode jacobian --sparse");
    let expected = "data: [5]f64 = [ 2.0, -1.0,  4.0, -1.0,  6.0]\n\
                    indices: [5]i64 = [0, 0, 1, 1, 2]\n\
                    indptr: [4]i64 = [0, 1, 3, 5]\n\
                    shape: [2]i64 = [3, 3]\n";
    let shown = shown.succeeds();
    assert_eq!(shown.out, expected);
    for part in ["3 x 3, 5 entries", "2 products in forward mode"] {
        assert!(shown.err.contains(part), "{}", shown.err);
    }
    session
        .cotan("grad a.ct --arg x=[1,2,3] --sparse")
        .fails(2, &["--mode jacobian or --mode hessian"]);
}

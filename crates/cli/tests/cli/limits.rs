//! Limits are of what is in memory, not of arrays that are never made: the obvious thing at the obvious
//! size runs with default settings, and what cannot run says which limit is in the way.

use crate::session::{Ran, Session};

const PRODUCTS: &str = "
def a(n: i64) = build (n, n) ((i, j) => sin(f64(i * 3 + j * 7)))
def loss(a: [n, n]f64, b: [n, n]f64) = sum(tanh(matmul(a, b)))
def value[n](x: f64) = loss(x * a(n), a(n))
def vector(w: [m, n]f32, x: [n]f32) = matmul(w, x)
def attention(q: [n, d]f64, k: [n, d]f64, v: [n, d]f64) = matmul(softmax(matmul(q, transpose(k))), v)
def cube[n]() = sum(build (n, n, n) ((i, j, k) => (i * 7 + j * 5 + k * 3) % 11))
";

/// The bytes of the temporaries that `explain --stage memory` tells, in the unit that it uses.
fn temporaries(ran: &Ran) -> Vec<String> {
    let lines = ran.out.lines().filter_map(|line| line.strip_prefix("temporaries: "));
    lines.map(|line| line.split(',').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn products_of_ordinary_matrices_run_by_default() {
    let session = Session::new().with("a.ct", PRODUCTS);
    for backend in ["jit", "vm"] {
        let args = format!("a.ct --fn value --size n=1024 --arg x=0.5 --backend {backend}");
        session.cotan(&format!("run {args}")).succeeds();
        session.cotan(&format!("grad {args}")).succeeds();
    }
}

#[test]
fn sums_of_what_is_never_in_memory_are_planned_at_any_size() {
    let session = Session::new().with("a.ct", PRODUCTS);
    let plan = |args: &str| {
        let ran = session.cotan(&format!("explain a.ct {args} --stage memory")).succeeds();
        assert!(!ran.out.contains("interpreted"), "{}", ran.out);
        temporaries(&ran)
    };
    for n in [900, 2000, 1_000_000] {
        assert_eq!(plan(&format!("--fn cube --size n={n}")).len(), 1);
    }
    assert_eq!(plan("--fn loss --size n=2600")[0], "54.1 MB");
    assert_eq!(plan("--fn loss --size n=100000")[0], "80000.0 MB");
    assert_eq!(plan("--fn attention --size n=32768 --size d=64").len(), 2);
}

#[test]
fn a_jacobian_is_refused_for_its_own_size_only() {
    let session = Session::new().with("a.ct", PRODUCTS).with(
        "b.ct",
        "def w() = build (2048, 1024) ((i, j) => f32(sin(f64(i + j))))
         def x() = build 1024 (i => f32(cos(f64(i))))",
    );
    for name in ["w", "x"] {
        session.cotan(&format!("run b.ct --fn {name} --out {name}.npy --backend jit")).succeeds();
    }
    let args = "grad a.ct --fn vector --mode jacobian --arg w=@w.npy --arg x=@x.npy --backend jit";
    session.cotan(&format!("{args} --wrt x --out jacobian.npz")).succeeds();
    let parts = ["[2048, 2048, 1024]f32", "the limit is 4.0 GiB", "--limit-bytes 16401M"];
    session.cotan(args).fails(4, &parts);
}

#[test]
fn a_limit_that_is_suggested_is_enough() {
    let text = "def main[n]() = sum(sort(build n (i => sin(f64(i)))))
                def all[n]() = sum(build n (i => sin(f64(i))) * 2.0)";
    let session = Session::new().with("a.ct", text);
    for (function, backend) in [("main", "jit"), ("main", "vm")] {
        let args = format!("run a.ct --fn {function} --size n=50000 --backend {backend}");
        let refused = session.cotan(&format!("{args} --limit-bytes 100K"));
        refused.fails(4, &["the limit is 100.0 KiB"]);
        let (_, hint) = refused.err.split_once("--limit-bytes ").unwrap();
        let (enough, _) = hint.split_once(',').unwrap();
        session.cotan(&format!("{args} --limit-bytes {enough}")).succeeds();
    }
    // The interpreter looks as it goes on; it says so, and where.
    let args = "run a.ct --fn all --size n=50000 --backend interp --limit-bytes";
    session.cotan(&format!("{args} 100K")).fails(4, &["a.ct:2:", "the limit is 100.0 KiB"]);
    session.cotan(&format!("{args} 20M")).succeeds();
}

/// At the border of what can be represented every command ends in a result or in words.
#[test]
fn the_largest_sizes_are_no_internal_errors() {
    const MOST: &str = "1152921504606846975";
    let functions = [
        ("x: f64", "fold(x, (), (s, _) => sin(s), length = MOST)"),
        ("x: f64", "fold(x, (), (s, _) => sin(s), length = MOST + 1)"),
        ("x: f64", "scan(x, (), (s, _) => sin(s), length = MOST)"),
        ("x: f64", "grad(x => fold(x, (), (s, _) => sin(s), length = MOST))(x)"),
        ("x: f64", "sum(broadcast(x, [MOST]))"),
        ("x: f64", "broadcast(x, [MOST])"),
        ("x: f64", "sum(sort(build MOST (i => sin(f64(i) * x))))"),
        ("x: f64", "one_hot(x, [MOST], [5])"),
        ("x: f64", "sum(concat(broadcast(x, [MOST - 5]), ones([5])))"),
        ("x: f64", "argmax(build MOST (i => sin(f64(i) * x)))"),
        ("x: f64", "sum(cumsum(build MOST (i => x * f64(i))))"),
        ("x: f64", "sum(build (1073741824, 1073741823) ((i, j) => x * f64(i) * sin(f64(j))))"),
        ("x: f64", "sum(matmul(broadcast(x, [10000000, 10000000]), ones([10000000, 10000000])))"),
    ];
    for (params, body) in functions {
        let text = format!("def main({params}) = {body}").replace("MOST", MOST);
        let session = Session::new().with("a.ct", text);
        let mut commands = vec!["explain a.ct --stage memory".to_owned()];
        for backend in ["jit", "vm", "interp"] {
            commands.push(format!("run a.ct --arg x=0.5 --timeout 50ms --backend {backend}"));
            commands.push(format!("grad a.ct --arg x=0.5 --timeout 50ms --backend {backend}"));
        }
        for command in commands {
            let ran = session.cotan(&command);
            assert!(matches!(ran.code, Some(0 | 1 | 4)), "{body}: {command}: {ran:#?}");
            // No option helps against what no machine has.
            assert!(!ran.err.contains("T,"), "{body}: {command}: {ran:#?}");
        }
    }
}

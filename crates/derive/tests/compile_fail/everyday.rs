//! What everybody writes first.

use cotan::prelude::*;

struct Params<A> {
    w: A,
    b: A,
}

fn loss(p: Params<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    (p.w * x + p.b).sum()
}

fn relu(x: Arr<f64>) -> Arr<f64> {
    if x > 0.0 { x } else { x * 0.0 }
}

fn same(x: Arr<f64>) -> Arr<f64> {
    if x == x { x } else { -x }
}

fn first(x: Arr<f64>) -> Arr<f64> {
    x[0]
}

fn read(x: Arr<f64>, i: Arr<i64>) -> Arr<f64> {
    x[i]
}

fn main() {
    let f = |x: Arr<f64>, y: Arr<f64>| (x * y).sum();
    let _ = grad(f).wrt(1);
    let _ = grad(f).wrt(Arg::<2>);
    let _ = grad(loss);
    let _ = jit(loss);
}

//! Arguments that a function does not have.

use cotan::prelude::*;

fn main() {
    let f = jit(|a: Arr<f64>| a);
    let _ = f.call([1.0f32, 2.0]);
    let _ = f.call("text");
    let _ = f.call((1.0, 2.0));
    let g = jit(|a: Arr<f64>, n: Arr<i64>| a.at(n));
    let _ = g.call([1.0, 2.0]);
    let _ = g.call(([1.0, 2.0], 0.5));
    let _ = compile(|a: Arr<f64>| a, [2.5]);
    let _ = compile(|n: usize| n, [2]);
}

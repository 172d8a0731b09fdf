//! Functions without a gradient.

use cotan::prelude::*;

fn main() {
    let _ = grad(|a: Arr<f64>| a.cast::<i64>());
    let _ = grad(|a: Arr<f64>| (a, a));
    let _ = value_and_grad(|a: Arr<f64>| a.gt(0.0));
    let _ = grad(|a: Arr<f64>| a).wrt(Arg::<1>);
}

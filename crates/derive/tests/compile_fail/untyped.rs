//! Closures whose arguments have no types.

use cotan::prelude::*;

fn main() {
    let _ = grad(|x| x * x);
    let _ = jit(|x, y| x + y).call((1.0, 2.0));
}

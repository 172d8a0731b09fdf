//! Element types that do not mix.

use cotan::prelude::*;

fn main() {
    let _ = |a: Arr<f64>, b: Arr<f32>| a + b;
    let _ = |a: Arr<f64>| a + 1;
    let _ = |a: Arr<bool>, b: Arr<bool>| a * b;
    let _ = |a: Arr<i64>| a.exp();
    let _ = |a: Arr<f64>| select(a, a, 0.0);
}

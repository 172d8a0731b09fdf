//! A closure whose argument has no type, where nothing else says it.

use cotan::prelude::*;

fn main() {
    let _ = grad(|x| x * x);
}

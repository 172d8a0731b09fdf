//! Functions of the text language in a Rust program: a linear model is fitted by its gradient.
//!
//! `model.ct` is read and checked when this program is compiled. What is wrong in it is an error of
//! this program, at the macro, with the message and the line of the file.

use std::error::Error;

use cotan::prelude::*;

mod model {
    cotan::include_ct!("model.ct");
}

/// One step of gradient descent.
fn step(p: (Arr<f64>, Arr<f64>), x: Arr<f64>, y: Arr<f64>) -> (Arr<f64>, Arr<f64>) {
    let (dw, db) = grad(model::loss).at((p, x, y));
    (p.0 - 0.1 * dw, p.1 - 0.1 * db)
}

/// Fits the model.
pub fn main() -> Result<(), Box<dyn Error>> {
    let x = Tensor::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]);
    // y = 2 x0 - x1 + 0.5
    let y = Tensor::from([2.5, -0.5, 1.5, 5.5]);
    let step = jit(step);
    let (mut w, mut b) = (Tensor::from([0.0, 0.0]), Tensor::from(0.0));
    for _ in 0..500 {
        (w, b) = step.call(((&w, &b), &x, &y))?;
    }
    println!("w = {w}, b = {b}");
    let loss = jit(model::loss).call(((&w, &b), &x, &y))?;
    assert!(loss.item().is_some_and(|loss| loss < 1e-6), "{loss}");

    // An integer on which a size depends is a number of Rust.
    let powers = jit(|x: Arr<f64>| model::powers(x, 4)).call(2.0)?;
    assert_eq!(powers.to_vec(), [1.0, 2.0, 4.0, 8.0]);

    // Sizes are checked when a function is staged, with the message of the language.
    let wrong = jit(model::loss).call(((&Tensor::from([1.0]), &b), &x, &y));
    println!("{}", wrong.err().map_or_else(String::new, |error| error.to_string()));
    Ok(())
}

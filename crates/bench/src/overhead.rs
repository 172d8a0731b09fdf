//! What a call costs besides the work: value and gradient of functions of three numbers.

use cotan::prelude::*;

use crate::Result;
use crate::measure::{Contender, Effort, race};

/// The seconds that a call takes, by the function.
pub fn measure(effort: Effort) -> Result<Vec<(&'static str, f64)>> {
    let x = Tensor::from([0.5, -1.25, 2.0]);
    let squares = value_and_grad(|x: Arr<f64>| (x * x).sum()).compile([3])?;
    let rosenbrock = value_and_grad(|x: Arr<f64>| {
        let term = |i: i64| {
            let (a, b) = (x.at(i), x.at(i + 1));
            100.0 * (b - a * a).square() + (1.0 - a).square()
        };
        term(0) + term(1)
    })
    .compile([3])?;
    let mut contenders = [
        Contender::function(|| {
            std::hint::black_box(squares.call(&x)?);
            Ok(())
        }),
        Contender::function(|| {
            std::hint::black_box(rosenbrock.call(&x)?);
            Ok(())
        }),
    ];
    race(&mut contenders, effort)?;
    let names = ["sum of squares of 3 numbers", "Rosenbrock's function of 3 numbers"];
    Ok(names.into_iter().zip(contenders.iter().map(|c| c.times.median())).collect())
}

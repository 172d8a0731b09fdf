//! Linear regression: the closed form against gradient descent.
//!
//! Given points $x_i \in \mathbb R^d$, the rows of $X$, and values $y_i$, the weights $w$ that
//! minimise the mean squared error
//!
//! $$ L(w) = \frac 1 n \lVert X w - y \rVert^2 $$
//!
//! solve the normal equations $X^T X w = X^T y$. Gradient descent, $w \leftarrow w - \eta \nabla
//! L(w)$, gets to the same weights without solving anything.

use std::error::Error;

use cotan::prelude::*;
use cotan::random::Key;
use cotan::structure::zip_tensors;

/// The points, and the unknowns of each: two slopes and an offset.
const POINTS: usize = 40;
const TRUTH: [f64; 3] = [2.0, -1.0, 0.5];
const NOISE: f64 = 0.1;

const STEPS: usize = 60;
const RATE: f64 = 0.25;

/// The mean squared error $L$.
pub fn loss(w: Arr<f64>, x: Arr<f64>, y: Arr<f64>) -> Arr<f64> {
    (x.matmul(w) - y).square().mean()
}

/// The solution of the normal equations.
pub fn closed_form(x: Arr<f64>, y: Arr<f64>) -> Arr<f64> {
    let xt = x.transpose();
    xt.matmul(x).solve(xt.matmul(y))
}

/// Gradient descent from zero weights: the last weights, and the loss before each step.
///
/// The whole descent is one program, with the gradient inside the loop: a gradient is a function
/// like any other, so it may be applied wherever arrays are. The program does not grow with the
/// number of steps.
pub fn descend(x: Arr<f64>, y: Arr<f64>) -> (Arr<f64>, Arr<f64>) {
    let [_, d] = x.dims();
    map_accum(zeros([d]), iota(STEPS), |w, _| {
        let (value, dw) = value_and_grad(loss).at((w, x, y));
        (w - RATE * dw, value)
    })
}

/// Random points, whose last coordinate is 1 so that the last weight is an offset, and the values of
/// a plane at them with some noise.
pub fn data(key: Key) -> cotan::Result<(Tensor<f64>, Tensor<f64>)> {
    let [points, noise] = key.split_into();
    let random = points.normal::<f64>([POINTS, TRUTH.len()])?;
    let x = jit(|random: Arr<f64>| {
        let [n, d] = random.dims();
        build([n, d], |[i, j]| select(j.eq(d - 1), 1.0, random.at((i, j))))
    })
    .call(random)?;
    let exact = jit(|x: Arr<f64>| x.matmul(constant(TRUTH))).call(&x)?;
    let y = zip_tensors(&exact, &noise.normal([POINTS])?, |y, e| y + NOISE * e)?;
    Ok((x, y))
}

/// Both ways, compared.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (x, y) = data(Key::new(1))?;

    let solved = jit(closed_form).call((&x, &y))?;
    let (descended, losses) = jit(descend).call((&x, &y))?;

    for (step, loss) in losses.iter().enumerate().step_by(10) {
        println!("step {step:2}: loss {loss:.6}");
    }
    println!("truth:            {TRUTH:?}");
    println!("closed form:      {:.4?}", solved.to_vec());
    println!("gradient descent: {:.4?}", descended.to_vec());

    // Both minimise the same convex function, so they must agree.
    let difference = zip_tensors(&solved, &descended, |a, b| (a - b).abs())?;
    match difference.iter().find(|&d| d.is_nan() || d > 1e-6) {
        Some(d) => Err(format!("the two solutions differ by {d}").into()),
        None => Ok(()),
    }
}

//! Logistic regression: a classifier in a struct, fitted by L-BFGS.
//!
//! A point $x$ belongs to the first of two classes with probability $\sigma(w \cdot x + b)$, where
//! $\sigma(z) = 1 / (1 + e^{-z})$. With labels $t_i$ of 1 and 0, the most likely parameters minimise
//! the mean cross entropy, here with a little weight decay, without which the weights of classes
//! that can be separated would grow for ever:
//!
//! $$ L(w, b) = \frac 1 n \sum_i \bigl( -t_i \log \sigma(z_i) - (1 - t_i) \log \sigma(-z_i) \bigr)
//!    + \frac \lambda 2 \lVert w \rVert^2, \qquad z_i = w \cdot x_i + b. $$

use std::error::Error;
use std::ops::ControlFlow;

use cotan::optim::{Lbfgs, Stop};
use cotan::prelude::*;
use cotan::random::Key;

const POINTS: usize = 60;
const FEATURES: usize = 3;
const DECAY: f64 = 1e-3;

/// The parameters: of [`Arr`] inside functions, of [`Tensor`] outside. Gradients have this form, too.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Classifier<A> {
    /// The weights of the features, $w$.
    pub weights: A,
    /// The offset, $b$.
    pub bias: A,
}

/// How much each point looks like one of the first class: $z$, from minus to plus infinity.
pub fn logits(c: Classifier<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    x.matmul(c.weights) + c.bias
}

/// What is minimised.
pub fn loss(c: Classifier<Arr<f64>>, x: Arr<f64>, labels: Arr<f64>) -> Arr<f64> {
    // From the logits, not the probabilities: precise even where those round to 0 or 1.
    let entropy = nn::binary_cross_entropy_with_logits(logits(c, x), labels);
    entropy.mean() + 0.5 * DECAY * c.weights.square().sum()
}

/// The part of the points whose more likely class is the right one.
pub fn accuracy(c: Classifier<Arr<f64>>, x: Arr<f64>, labels: Arr<f64>) -> Arr<f64> {
    let right = logits(c, x).gt(0.0).eq(labels.gt(0.5));
    right.cast::<f64>().mean()
}

/// Two clouds of points around $(1, 1, 1)$ and $(-1, -1, -1)$, and to which of them each belongs.
pub fn data(key: Key) -> cotan::Result<(Tensor<f64>, Tensor<f64>)> {
    let [points, classes] = key.split_into();
    let noise = points.normal::<f64>([POINTS, FEATURES])?;
    let labels = classes.integers([POINTS], 0..2)?.cast::<f64>();
    // A column of centres, broadcast over the features.
    let shifted = |noise: Arr<f64>, labels: Arr<f64>| noise + (2.0 * labels - 1.0).expand_dims(1);
    let x = jit(shifted).call((noise, &labels))?;
    Ok((x, labels))
}

/// Fits the classifier, and counts what it gets right.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (x, labels) = data(Key::new(2))?;
    let start = Classifier { weights: Tensor::zeros([FEATURES])?, bias: Tensor::from(0.0) };

    // Compiled at the first call; the data are arguments, so the program would do for other data of
    // these shapes as well.
    let objective = value_and_grad(loss);
    let found = Lbfgs::new().minimize_with(
        |c| objective.call((c, &x, &labels)),
        start,
        |progress| {
            println!("iteration {:2}: loss {:.6}", progress.iteration, progress.value);
            ControlFlow::Continue(())
        },
    )?;
    let accuracy = jit(accuracy).call((&found.point, &x, &labels))?;

    println!("weights:  {:.4?}", found.point.weights.to_vec());
    println!("bias:     {:.4?}", found.point.bias.to_vec());
    println!("accuracy: {:.3}", accuracy.item().unwrap_or(f64::NAN));

    if found.stop != Stop::Gradient {
        return Err(format!("the minimisation ended with {:?}", found.stop).into());
    }
    // The clouds overlap a little: three features at distance 1 leave about 4 % on the wrong side.
    match accuracy.item() {
        Some(part) if part >= 0.9 => Ok(()),
        part => Err(format!("only {part:?} of the points are classified right").into()),
    }
}

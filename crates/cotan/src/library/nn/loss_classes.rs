//! Losses of predicted classes and distributions.

use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::library::call::library;

/// The cross entropy of two outcomes, given the logit of the first and its target probability:
/// $-t \log \sigma(x) - (1 - t) \log \sigma(-x)$, precise for every logit.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, t: Arr<f64>| nn::binary_cross_entropy_with_logits(x, t));
/// let y = f.call(([0.0, 1000.0, -1000.0], [1.0, 1.0, 1.0]))?;
/// assert_eq!(y.to_vec(), [2f64.ln(), 0.0, 1000.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn binary_cross_entropy_with_logits<T: Float>(
    logits: Arr<T>,
    target: impl Operand<T>,
) -> Arr<T> {
    library!(
        "binary_cross_entropy_with_logits",
        binary_cross_entropy_with_logits(logits = logits, target = target.operand())
    )
}

/// The cross entropy of two outcomes, given the probability of the first and its target:
/// $-t \log p - (1 - t) \log(1 - p)$, where $0 \log 0 = 0$. With logits at hand,
/// [`binary_cross_entropy_with_logits`] is more precise.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|p: Arr<f64>, t: Arr<f64>| nn::binary_cross_entropy(p, t));
/// let y = f.call(([0.5, 1.0, 0.0], [1.0, 1.0, 1.0]))?;
/// assert_eq!(y.to_vec(), [2f64.ln(), 0.0, f64::INFINITY]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn binary_cross_entropy<T: Float>(probabilities: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!(
        "binary_cross_entropy",
        binary_cross_entropy(probabilities = probabilities, target = target.operand())
    )
}

/// The cross entropy of logits, with classes along the last axis, and labels, one integer for each
/// example: $-\log \mathrm{softmax}(x)_l$.
///
/// A label outside the classes gives a loss of 0 without derivative, which serves to leave examples
/// out.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let loss = |x: Arr<f64>, l: Arr<i64>| nn::cross_entropy(x, l).sum();
/// let (y, dx) = value_and_grad(loss).call(([[0.0, 0.0], [5.0, 7.0]], [1i64, -1]))?;
/// assert_eq!(y, 2f64.ln());
/// assert_eq!(dx, Tensor::from([[0.5, -0.5], [0.0, 0.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn cross_entropy<T: Float>(logits: Arr<T>, labels: Arr<i64>) -> Arr<T> {
    library!("cross_entropy", cross_entropy(logits = logits, labels = labels))
}

/// The negative logarithm of the likelihood of labels, one integer for each example, given the
/// logarithms of the probabilities of the classes along the last axis: $-x_l$. A label outside gives
/// 0.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, l: Arr<i64>| nn::nll(x, l));
/// assert_eq!(f.call(([[-1.0, -2.0], [-3.0, -4.0]], [1i64, 0]))?.to_vec(), [2.0, 3.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn nll<T: Float>(log_probabilities: Arr<T>, labels: Arr<i64>) -> Arr<T> {
    library!("nll", nll(log_probabilities = log_probabilities, labels = labels))
}

/// The cross entropy of logits and target probabilities, with classes along the last axis:
/// $-\sum_c p_c \log \mathrm{softmax}(x)_c$. A class of probability 0 counts for nothing, also where
/// its logit is $-\infty$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, p: Arr<f64>| nn::cross_entropy_with_probabilities(x, p));
/// let y = f.call(([0.0, 0.0, f64::NEG_INFINITY], [0.25, 0.75, 0.0]))?;
/// assert_eq!(y, 2f64.ln());
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn cross_entropy_with_probabilities<T: Float>(
    logits: Arr<T>,
    probabilities: impl Operand<T>,
) -> Arr<T> {
    library!(
        "cross_entropy_with_probabilities",
        cross_entropy_with_probabilities(logits = logits, probabilities = probabilities.operand())
    )
}

/// The divergence of Kullback and Leibler of distributions along the last axis:
/// $\sum_c p_c (\log p_c - \log q_c)$, where $0 \log 0 = 0$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|p: Arr<f64>, q: Arr<f64>| nn::kl_divergence(p, q));
/// assert_eq!(f.call(([1.0, 0.0], [0.5, 0.5]))?, 2f64.ln());
/// assert_eq!(f.call(([0.5, 0.5], [1.0, 0.0]))?, f64::INFINITY);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn kl_divergence<T: Float>(p: Arr<T>, q: impl Operand<T>) -> Arr<T> {
    library!("kl_divergence", kl_divergence(p = p, q = q.operand()))
}

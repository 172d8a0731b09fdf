//! Losses of predicted classes and distributions.

use cotan_ir::scalar::Op;

use super::parts::last_axis;
use crate::arr::{Arr, Operand};
use crate::build::build;
use crate::element::Float;
use crate::error::Error;
use crate::library::axes::{failed, type_text as shown};
use crate::ops::elementwise;
use crate::stage::operation;

/// `p * x`, and 0 where `p` is 0, whatever `x` is: $0 \log 0 = 0$.
#[track_caller]
fn weighted<T: Float>(p: Arr<T>, x: Arr<T>) -> Arr<T> {
    Arr::from_raw(elementwise(Op::Scale, &[p.raw, x.raw]))
}

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
    let target = target.operand();
    operation("binary_cross_entropy_with_logits", || {
        let other = T::ONE.operand() - target;
        weighted(target, (-logits).softplus()) + weighted(other, logits.softplus())
    })
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
    let target = target.operand();
    operation("binary_cross_entropy", || {
        let other = T::ONE.operand() - target;
        -(weighted(target, probabilities.log()) + weighted(other, (-probabilities).log1p()))
    })
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
    operation("cross_entropy", || match last_axis("cross_entropy", logits) {
        Some(_) => picked("cross_entropy", logits, labels, |x| x.log_softmax(-1)),
        None => Arr::nothing(),
    })
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
    operation("nll", || match last_axis("nll", log_probabilities) {
        Some(_) => picked("nll", log_probabilities, labels, |x| x),
        None => Arr::nothing(),
    })
}

/// Minus the elements at the labels along the last axis of `f(x)`.
#[track_caller]
fn picked<T: Float>(
    op: &'static str,
    x: Arr<T>,
    labels: Arr<i64>,
    f: impl FnOnce(Arr<T>) -> Arr<T>,
) -> Arr<T> {
    let shape = x.shape();
    let examples = shape.split_last().map_or(&[][..], |(_, examples)| examples);
    if labels.shape() != examples {
        let message = format!("labels {} for {}", shown(labels), shown(x));
        let hint = "one label for each example: the shape without the last axis, that of classes";
        return failed(Error::type_error(op, message).with_hint(hint));
    }
    let x = f(x);
    -build(examples.to_vec(), |ix| {
        let label = labels.at(ix.clone());
        x.at(ix.into_iter().chain([label]).collect::<Vec<_>>())
    })
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
    let probabilities = probabilities.operand();
    operation("cross_entropy_with_probabilities", || {
        match last_axis("cross_entropy_with_probabilities", logits) {
            Some(_) => -sum_last(weighted(probabilities, logits.log_softmax(-1))),
            None => Arr::nothing(),
        }
    })
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
    let q = q.operand();
    operation("kl_divergence", || match last_axis("kl_divergence", p) {
        Some(_) => sum_last(weighted(p, p.log() - q.log())),
        None => Arr::nothing(),
    })
}

#[track_caller]
fn sum_last<T: Float>(x: Arr<T>) -> Arr<T> {
    match x.rank().checked_sub(1) {
        Some(last) => x.sum_axis(last),
        None => x,
    }
}

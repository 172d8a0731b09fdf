//! Layers on the features of one position: dense, embedding, dropout.

use cotan::random::{Fans, Init, Key};
use cotan::{Arr, Arrays, Float, Operand, Result, Tensor, nn};

/// An affine map of the last axis: $x W + b$.
///
/// ```
/// use cotan::prelude::*;
/// use cotan_train::layers::Dense;
///
/// let layer = Dense { weights: Tensor::from([[1.0, 2.0], [3.0, 4.0]]), bias: Tensor::from([10.0, 0.0]) };
/// let f = jit(|layer: Dense<Arr<f64>>, x: Arr<f64>| layer.apply(x));
/// assert_eq!(f.call((&layer, [1.0, 1.0]))?.to_vec(), [14.0, 6.0]);
/// assert_eq!(f.call((&layer, [[1.0, 0.0], [0.0, 1.0]]))?.to_vec(), [11.0, 2.0, 13.0, 4.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Dense<A> {
    /// $W$, of shape `[inputs, outputs]`.
    pub weights: A,
    /// $b$, of shape `[outputs]`.
    pub bias: A,
}

impl<T: Float> Dense<Tensor<T>> {
    /// Random weights of variance $2 / (n + m)$ for `n` inputs and `m` outputs (see
    /// [`Init::GlorotUniform`]), and a bias of 0.
    pub fn init(key: Key, inputs: usize, outputs: usize) -> Result<Self> {
        Dense::init_with(Init::GlorotUniform, key, inputs, outputs)
    }

    /// The same with other random weights: [`Init::HeNormal`] before a `relu`.
    pub fn init_with(init: Init, key: Key, inputs: usize, outputs: usize) -> Result<Self> {
        let weights = init.with_fans(key, [inputs, outputs], Fans { inputs, outputs })?;
        Ok(Dense { weights, bias: Tensor::zeros([outputs])? })
    }
}

impl<T: Float> Dense<Arr<T>> {
    /// `[.., inputs]` to `[.., outputs]`.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> Arr<T> {
        x.matmul(self.weights) + self.bias
    }
}

/// A table of vectors, one for each number.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Embedding<A> {
    /// The vectors: shape `[numbers, features]`.
    pub table: A,
}

impl<T: Float> Embedding<Tensor<T>> {
    /// Random vectors of about unit length.
    pub fn init(key: Key, numbers: usize, features: usize) -> Result<Self> {
        let deviation = 1.0 / (features.max(1) as f64).sqrt();
        Ok(Embedding { table: Init::Normal(0.0, deviation).tensor(key, [numbers, features])? })
    }
}

impl<T: Float> Embedding<Arr<T>> {
    /// The vectors of numbers: `[..]` to `[.., features]`. A number outside the table has zeros.
    #[track_caller]
    pub fn apply(self, numbers: Arr<i64>) -> Arr<T> {
        nn::embedding(self.table, numbers)
    }
}

/// Features left out by chance while a network is trained; those that stay are scaled up, so that
/// sums have the same mean. It has no parameters.
///
/// What is left out is drawn outside of functions, from [`Step::key`](crate::Step::key):
///
/// ```
/// use cotan::prelude::*;
/// use cotan::random::Key;
/// use cotan_train::layers::Dropout;
///
/// let dropout = Dropout { rate: 0.5 };
/// let keep = dropout.draw(Key::new(1), [4, 100])?;
/// let f = jit(move |x: Arr<f64>, keep: Arr<bool>| dropout.apply(x, keep));
/// let y = f.call((Tensor::<f64>::full([4, 100], 1.0)?, &keep))?;
/// assert!(y.iter().all(|y| y == 0.0 || y == 2.0));
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability of being left out.
    pub rate: f64,
}

impl Dropout {
    /// Which elements of an array stay.
    pub fn draw(self, key: Key, sizes: impl cotan::Sizes) -> Result<Tensor<bool>> {
        key.bernoulli(sizes, 1.0 - self.rate)
    }

    /// The elements that stay, scaled.
    #[track_caller]
    pub fn apply<T: Float>(self, x: Arr<T>, keep: impl Operand<bool>) -> Arr<T> {
        nn::dropout(x, keep, self.rate)
    }
}

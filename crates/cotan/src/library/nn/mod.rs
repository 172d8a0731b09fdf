//! Neural networks: convolution, pooling, normalisation, attention, losses.
//!
//! Activations and softmax are methods of [`Arr`](crate::Arr): `x.relu()`, `x.softmax(-1)`. What
//! takes several arrays is a function here. All are functions of arrays and no more: parameters are
//! arguments, and layers are what one writes with these. Initial values of parameters come from
//! [`random::Init`](crate::random::Init), better ones from [`optim`](crate::optim).
//!
//! A loss has one value for each element, or for each example of which the classes lie along the
//! last axis: what is minimised is usually their mean or sum, and weights or masks go between. Only
//! [`mse`] and [`mae`] have the mean in their names.
//!
//! ```
//! use cotan::nn::{self, Conv};
//! use cotan::prelude::*;
//!
//! // A convolution and a nonlinearity.
//! let layer = |image: Arr<f64>, kernel: Arr<f64>| {
//!     nn::conv2d(image, kernel, Conv::new().same()).relu().sum()
//! };
//! let dk = grad(layer).wrt(Arg::<1>).compile(([1, 3, 8, 8], [4, 3, 3, 3]))?;
//! let (image, kernel) = (Tensor::full([1, 3, 8, 8], 1.0)?, Tensor::full([4, 3, 3, 3], 1.0)?);
//! let dk = dk.call((image, kernel))?;
//! // The middle of each kernel sees every pixel, a corner those of a 7 by 7 part.
//! assert_eq!((dk.get(&[0, 0, 1, 1]), dk.get(&[0, 0, 0, 0])), (Some(64.0), Some(49.0)));
//! # Ok::<(), cotan::Error>(())
//! ```

mod activation;
mod attention;
mod conv;
mod loss;
mod loss_classes;
mod normalize;
mod pool;
mod softmax;
mod window;

pub use attention::{attention, causal_mask, embedding};
pub use conv::{Conv, conv, conv_transpose, conv1d, conv2d};
pub use loss::{
    absolute_error, cosine_similarity, hinge, huber, mae, mse, smooth_l1, squared_error,
};
pub use loss_classes::{
    binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy,
    cross_entropy_with_probabilities, kl_divergence, nll,
};
pub use normalize::{batch_norm, batch_norm_with, dropout, layer_norm, rms_norm, standardize};
pub use pool::{Pool, avg_pool, global_avg_pool, global_max_pool, max_pool};
pub use window::Padding;

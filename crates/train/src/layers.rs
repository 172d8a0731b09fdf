//! Layers of networks: plain structs of parameters, with `init` and `apply`.
//!
//! A layer is a structure like any other (see [`cotan::Arrays`]): of [`Tensor`]s outside functions,
//! where `init` makes it, and of [`Arr`](cotan::Arr)s inside, where `apply` uses it. A network is a
//! struct of layers, and a function that applies them; there is no other idea of a model.
//!
//! ```
//! use cotan::prelude::*;
//! use cotan::random::Key;
//! use cotan_train::layers::{Dense, Norm};
//!
//! /// What a transformer has after its attention.
//! #[derive(Arrays, Clone, Copy, Debug)]
//! struct FeedForward<A> {
//!     norm: Norm<A>,
//!     wide: Dense<A>,
//!     narrow: Dense<A>,
//! }
//!
//! impl FeedForward<Arr<f32>> {
//!     fn apply(self, x: Arr<f32>) -> Arr<f32> {
//!         x + self.narrow.apply(self.wide.apply(self.norm.apply(x)).gelu())
//!     }
//! }
//!
//! let [wide, narrow] = Key::new(0).split_into();
//! let layer = FeedForward {
//!     norm: Norm::init(8)?,
//!     wide: Dense::init(wide, 8, 32)?,
//!     narrow: Dense::init(narrow, 32, 8)?,
//! };
//! let f = jit(|layer: FeedForward<Arr<f32>>, x: Arr<f32>| layer.apply(x));
//! assert_eq!(f.call((&layer, Tensor::<f32>::zeros([5, 8])?))?.shape(), [5, 8]);
//! # Ok::<(), cotan::Error>(())
//! ```
//!
//! Features are along the last axis, whatever axes come before, but for [`Convolution`], whose
//! channels are along the second.

mod attention;
mod convolution;
mod dense;
mod norm;
mod recurrent;

pub use attention::SelfAttention;
pub use convolution::Convolution;
pub use dense::{Dense, Dropout, Embedding};
pub use norm::{BatchNorm, Norm, RmsNorm, Statistics};
pub use recurrent::{Gru, Lstm};

#[cfg(doc)]
use cotan::Tensor;

//! Training with cotan: from data and a loss to parameters, in few lines, and without losing a run.
//!
//! ```
//! use cotan::optim::Adam;
//! use cotan::prelude::*;
//! use cotan::random::Key;
//! use cotan_train::layers::Dense;
//! use cotan_train::{Batches, Trainer};
//!
//! /// A network of two layers.
//! #[derive(Arrays, Clone, Copy, Debug)]
//! struct Net<A> {
//!     hidden: Dense<A>,
//!     last: Dense<A>,
//! }
//!
//! fn loss(net: Net<Arr<f32>>, x: Arr<f32>, y: Arr<f32>) -> Arr<f32> {
//!     let hidden = net.hidden.apply(x).tanh();
//!     (net.last.apply(hidden).squeeze(1) - y).square().mean()
//! }
//!
//! # fn main() -> cotan::Result<()> {
//! // Learn y = x1 * x2 from 256 points.
//! let [points, first, second, order] = Key::new(0).split_into();
//! let x = points.uniform_in::<f32>([256, 2], -1.0, 1.0)?;
//! let y = jit(|x: Arr<f32>| x.prod_axis(1)).call(&x)?;
//! let net = Net { hidden: Dense::init(first, 2, 16)?, last: Dense::init(second, 16, 1)? };
//!
//! let objective = value_and_grad(loss);
//! let trained = Trainer::new(Adam::new(0.02), |net, (x, y), _| objective.call((net, x, y)))
//!     .epochs(30)
//!     .quiet()
//!     .run(net, &Batches::of((x, y), 32)?.shuffled(order))?;
//! assert!(trained.last_loss().unwrap_or(1.0) < 0.01);
//! # Ok(())
//! # }
//! ```
//!
//! # What is where
//!
//! | | |
//! |---|---|
//! | [`Batches`] | a data set, divided into shuffled minibatches |
//! | [`data`] | data sets from `.csv` files and folders of images; `.npz` files are read by [`cotan::load_npz`] |
//! | [`layers`] | dense, convolutional, recurrent and attention layers, normalisation, embeddings, as plain structs |
//! | [`Trainer`] | the loop: progress, evaluation, metrics, early stopping, checkpoints |
//! | [`Trained`] | what came out, and why the run ended |
//!
//! Nothing here is needed to train: a loop over [`cotan::optim::Optimizer::step`] does the same. The
//! trainer adds what long runs want.
//!
//! # Runs that survive
//!
//! With [`Trainer::checkpoints`] everything that the rest of a run depends on is written to a folder
//! after every epoch (or every so many steps): parameters, the state of the optimiser, and the number
//! of the step, from which the order of the data and all random numbers follow. A run that is
//! started again with [`Trainer::resume`] goes on at the last checkpoint, and ends **with the same
//! bits** as one that was never interrupted. Checkpoints are replaced whole or not at all, so that
//! holds after `kill -9` at any moment, too. Ctrl-C ends a run after the step that is being taken, with
//! a checkpoint.

#![deny(missing_docs)]

mod batches;
mod checkpoint;
mod curve;
pub mod data;
mod interrupt;
pub mod layers;
mod metrics;
mod prefetch;
mod progress;
mod run;
mod trainer;

pub use batches::Batches;
pub use checkpoint::{Saved, best_parameters, last_checkpoint};
pub use metrics::Row;
pub use trainer::{End, Goal, Step, Trained, Trainer};

/// The examples of the documents run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/tutorial.md")]
    struct Tutorial;

    #[doc = include_str!("../../../docs/recipes.md")]
    struct Recipes;

    #[doc = include_str!("../../../docs/performance.md")]
    struct Performance;
}

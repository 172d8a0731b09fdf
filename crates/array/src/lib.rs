//! Dense strided arrays of `f64`, `f32`, `i64` and `bool`, their checked shapes,
//! and the `.npy`/`.npz` files they travel in. Knows nothing of the language.

mod array;
mod dtype;
mod error;
mod shape;

pub use array::{Array, Element};
pub use dtype::Dtype;
pub use error::ArrayError;
pub use shape::{MAX_RANK, Shape};

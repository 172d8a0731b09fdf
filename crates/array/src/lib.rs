//! Dense strided arrays of `f64`, `f32`, `i64` and `bool`, their checked shapes,
//! and the `.npy`/`.npz` files they travel in. Knows nothing of the language.

mod array;
mod convert;
mod display;
mod dtype;
mod element;
mod error;
mod layout;
mod memory;
mod shape;
mod summary;
mod view;

pub use array::{Array, Iter};
pub use dtype::Dtype;
pub use element::Element;
pub use error::ArrayError;
pub use memory::DEFAULT_LIMIT;
pub use shape::{MAX_RANK, Shape};
pub use summary::Summary;

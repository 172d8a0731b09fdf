//! Sums of products of arrays.

mod einsum;
mod products;

pub use einsum::einsum;
pub use products::tensordot;

//! Automatic differentiation for array programs.

#![deny(missing_docs)]

mod arr;
mod build;
mod compile;
mod data;
mod derive;
mod element;
mod error;
mod function;
mod index;
mod jit;
mod math;
mod ops;
mod reduce;
mod sizes;
mod stage;
pub mod structure;
mod tensor;

pub use arr::{Arr, Operand, constant, full, iota, ones, zeros};
pub use build::{Extent, build};
pub use compile::{Compiled, Explanation, RunOptions, compile, compile_like};
pub use cotan_derive::Arrays;
pub use cotan_ir::CancelToken;
pub use cotan_pipeline::Cost;
pub use data::{load_npz, save_npz};
#[cfg(feature = "safetensors")]
pub use data::{load_safetensors, save_safetensors};
pub use derive::{
    Derived, DerivedJit, grad, grad_aux, hessian, hvp, jacfwd, jacobian, jacrev, jvp,
    value_and_grad, value_and_grad_aux, vjp,
};
pub use element::{Element, Float, Number};
pub use error::{Error, ErrorKind, Result};
pub use function::{AllArgs, Arg, Function};
pub use index::Index;
pub use jit::{CacheInfo, Jit, jit};
pub use ops::{Truth, select};
pub use sizes::{Axes, Sizes};
pub use structure::{Arrays, Feed, Shapes};
pub use tensor::Tensor;

/// Everything for everyday use: `use cotan::prelude::*;`.
pub mod prelude {
    pub use crate::{
        AllArgs, Arg, Arr, Arrays, Compiled, Element, Float, Number, Tensor, build, compile,
        compile_like, constant, full, grad, grad_aux, hessian, hvp, iota, jacfwd, jacobian, jacrev,
        jit, jvp, load_npz, ones, save_npz, select, value_and_grad, value_and_grad_aux, vjp, zeros,
    };
}

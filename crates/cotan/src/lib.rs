//! Automatic differentiation for array programs: write one element at a time, get gradients of bulk
//! operations.
//!
//! ```
//! use cotan::prelude::*;
//!
//! fn self_convolution(a: Arr<f64>) -> Arr<f64> {
//!     let n = a.len();
//!     build(n, |i| a.at(i) * a.at(n - 1 - i)).sum()
//! }
//!
//! let gradient = value_and_grad(self_convolution).compile([5])?; // differentiate once
//! let (y, da) = gradient.call(&[1.0, 2.0, 3.0, 4.0, 5.0])?; // run many times
//! assert_eq!(y, 35.0);
//! assert_eq!(da.to_vec(), [10.0, 8.0, 6.0, 4.0, 2.0]);
//! println!("{}", gradient.explain()); // every stage, readable
//! # Ok::<(), cotan::Error>(())
//! ```
//!
//! # How it works
//!
//! A function of [`Arr`]s is run once with handles in place of arrays, which records what it does as
//! a *program*: a small functional language of arrays, with sharing. The program is turned into
//! *bulk operations* (no loop over elements is left), differentiated with *dual arrays*, whose
//! second component is a term for the derivative, and that term is *transposed symbolically*. The
//! result is an ordinary program again: it can be printed, differentiated again, and compiled.
//! The whole chain is that of the technical report "Dual-Numbers Reverse AD for Functional Array
//! Languages".
//!
//! # What is where
//!
//! | | |
//! |---|---|
//! | [`Arr`], [`build`](build()), [`select`] | arrays inside functions, element by element or as a whole |
//! | [`concat`](concat()), [`stack`], [`s!`](s!), [`scatter_add`], [`eye`], .. | arranging, slicing and indexing; most of it is methods of [`Arr`] |
//! | [`Tensor`] | arrays with elements, outside |
//! | [`Compiled`], [`Backend`], [`RunOptions`] | programs ready to run, what runs them, and for how long |
//! | [`compile`](compile()), [`jit`](jit()) | functions made into programs: for given shapes, or for each shape when called |
//! | [`grad`], [`value_and_grad`], [`vjp`], [`jvp`], [`jacobian`], [`hessian`], .. | derivatives, which are functions again |
//! | [`sparse_jacobian`], [`sparse_hessian`] | derivatives with few entries, whose pattern is found from the indices |
//! | [`Arrays`] | tuples, vectors and structs of arrays as arguments and results |
//! | [`nn`], [`random`], [`optim`] | neural functions, random numbers, optimisers |
//! | [`cond`], [`fold`], [`scan`], [`while_loop`], [`vmap`] | control flow inside programs, and functions of functions |
//! | [`eager`] | the same functions with values at hand and Rust's own control flow on them |
//! | [`untyped`] | arrays whose element types are known at run time only, for other front ends |
//! | [`save_npz`], [`load_npz`] | structures in files, states of optimisers among them |
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `ndarray` | [`Tensor`] from and to the arrays of the `ndarray` crate |
//! | `safetensors` | structures in safetensors files: `save_safetensors`, `load_safetensors` |
//!
//! # Guarantees
//!
//! * **No panic on user input.** Shapes that do not fit, values that are not known, files that are
//!   broken: everything comes back as an [`Error`] with the operation, both shapes, the caller's
//!   line and a remedy. (A panic of the function that is staged is its own, and passes through. An
//!   [`Arr`] that is used outside of all functions, where nothing can return an error, panics.)
//! * **Sharing is kept.** A handle that is used twice stands for one computation; programs and their
//!   gradients grow linearly with what was written, and so does the time to compile them.
//! * **Zero annihilates.** What is not chosen by [`select`] contributes exactly nothing to a
//!   derivative, even where its own derivative is infinite or NaN.
//! * **The same bits.** Results do not depend on hashing, time or the number of threads.
//! * **Operations are total.** A read outside an array is 0, a sum of nothing is 0; no run fails
//!   because of its data.

#![deny(missing_docs)]

mod arr;
mod backend;
mod build;
mod compile;
mod data;
mod derive;
pub mod eager;
mod element;
mod error;
mod function;
mod index;
mod jit;
mod library;
mod math;
mod nan;
mod ops;
pub mod optim;
mod prepared;
mod profile;
pub mod random;
mod refused;
mod sizes;
mod sparse;
mod stage;
pub mod structure;
mod tensor;
#[cfg(feature = "text")]
#[doc(hidden)]
pub mod text;
pub mod untyped;

pub use arr::{Arr, Operand, constant, full, iota, ones, zeros};
pub use backend::Backend;
pub use build::{Extent, build};
pub use compile::{CompileOptions, Compiled, Cost, Explanation, RunOptions, compile, compile_like};
pub use cotan_derive::Arrays;
/// The functions of a `.ct` file as functions of [`Arr`]s, with the feature `text`.
///
/// The file is read and checked when the Rust program is compiled, by the compiler of the language: what
/// is wrong with it is an error of the Rust program, with the message and the line. When it changes, or
/// what it imports, it is read again. The path is relative to the source file with the macro.
///
/// Each function becomes one of the same name. An array is an [`Arr`] of its element type; a tuple or a
/// record, as parameter or result, is the tuple of its arrays in order. An integer or a truth value on
/// which sizes or the number of steps depend is a number of Rust. Sizes are found and checked when the
/// function is staged, with the message of the language and the line of the call. The functions are
/// functions as any other, for [`jit`], [`grad`], [`vmap`] and all the rest; functions of functions are
/// left out.
///
/// ```text
/// mod model {
///     // type Model[n] = {w: [n]f64, b: f64}
///     // def loss(p: Model[n], x: [m, n]f64, y: [m]f64): f64 = ..
///     cotan::include_ct!("model.ct");
/// }
///
/// let step = jit(grad(model::loss));
/// let (w, b) = step.call(((&w, &b), &x, &y))?;
/// ```
///
/// `examples/text.rs` is a program with it.
#[cfg(feature = "text")]
pub use cotan_include::include_ct;
pub use cotan_ir::{CancelToken, Keep};
pub use cotan_stablehlo::{Options as StableHloOptions, Sharding};
pub use data::{load_npz, load_npz_like, save_npz};
#[cfg(feature = "safetensors")]
pub use data::{load_safetensors, load_safetensors_like, save_safetensors};
pub use derive::{
    Derived, DerivedJit, grad, grad_aux, hessian, hvp, jacfwd, jacobian, jacrev, jet, jvp,
    laplacian, value_and_grad, value_and_grad_aux, vjp,
};
pub use element::{Element, Float, Number};
pub use error::{Error, ErrorKind, Result};
pub use function::{AllArgs, Arg, Function};
pub use index::Index;
pub use jit::{CacheInfo, Jit, jit};
pub use library::nn;
pub use library::{
    Checkpointed, CustomJvp, CustomVjp, Linear, Linearized, Linearizer, Neutral, Residual,
    Residuals, Vmap, associative_scan, associative_scan_reverse, checkpoint, checkpoint_with, cond,
    custom_jvp, custom_vjp, einsum, fold, fold_right, for_loop, linearize, map, map_accum,
    map_accum_right, reduce, reduce_by_index, residuals, scan, scan_right, stop_gradient, switch,
    tensordot, vmap, while_at_most, while_checkpointed, while_loop,
};
pub use library::{Complex, Norm, fftfreq, rfftfreq};
pub use library::{
    Krylov, Method, Ode, Stop, fixed_point, gauss_legendre, linear_solve, minimize, odeint,
    quadrature, root,
};
pub use library::{
    PadMode, Sections, Slice, Widths, arange, concat, eye, linspace, meshgrid, scatter_add, stack,
    tri,
};
pub use nan::NonFinite;
pub use ops::{Truth, select};
pub use prepared::Prepared;
pub use profile::{KernelProfile, Profile};
pub use sizes::{Axes, Sizes};
pub use sparse::{Sparse, SparseExplanation, SparseMatrix, sparse_hessian, sparse_jacobian};
pub use structure::{Arrays, Feed, Shapes};
pub use tensor::{Beside, Positions, Tensor};

/// The README, whose example is tested as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Everything for everyday use: `use cotan::prelude::*;`.
pub mod prelude {
    pub use crate::nn;
    pub use crate::{
        AllArgs, Arg, Arr, Arrays, Compiled, Complex, Element, Float, Number, Tensor, build,
        compile, compile_like, constant, full, grad, grad_aux, hessian, hvp, iota, jacfwd,
        jacobian, jacrev, jet, jit, jvp, laplacian, load_npz, load_npz_like, ones, save_npz,
        select, sparse_hessian, sparse_jacobian, value_and_grad, value_and_grad_aux, vjp, zeros,
    };
    pub use crate::{Slice, arange, concat, eye, linspace, meshgrid, s, scatter_add, stack, tri};
    pub use crate::{
        associative_scan, associative_scan_reverse, checkpoint, checkpoint_with, cond, custom_jvp,
        custom_vjp, einsum, fold, fold_right, for_loop, linearize, map, map_accum, map_accum_right,
        reduce, reduce_by_index, scan, scan_right, stop_gradient, switch, tensordot, vmap,
        while_at_most, while_checkpointed, while_loop,
    };
}

/// The examples of the documents run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/from-horde-ad.md")]
    struct FromHordeAd;

    #[doc = include_str!("../../../docs/from-jax.md")]
    struct FromJax;

    #[doc = include_str!("../../../docs/sparse.md")]
    struct Sparse;
}

//! Functions of arrays made of the primitives.

mod arrange;
pub(crate) mod call;
mod contract;
pub(crate) mod control;
mod cumulative;
mod decompose;
mod elementary;
mod fourier;
pub mod nn;
mod reduce;
mod solve;
mod sort;

pub use arrange::{
    PadMode, Sections, Slice, Widths, arange, concat, eye, linspace, meshgrid, scatter_add, stack,
    tri,
};
pub(crate) use arrange::{Part, Plan, steps};
pub use contract::{einsum, tensordot};
pub use control::{
    Checkpointed, CustomJvp, CustomVjp, Residual, Residuals, checkpoint, checkpoint_with, residuals,
};
pub use control::{
    Krylov, Method, Ode, Stop, fixed_point, gauss_legendre, linear_solve, minimize, odeint,
    quadrature, root,
};
pub use control::{
    Linear, Linearized, Linearizer, Neutral, Vmap, associative_scan, associative_scan_reverse,
    cond, custom_jvp, custom_vjp, fold, fold_right, for_loop, linearize, map, map_accum,
    map_accum_right, reduce, reduce_by_index, scan, scan_right, stop_gradient, switch, vmap,
    while_at_most, while_checkpointed, while_loop,
};
pub use fourier::{Complex, Norm, fftfreq, rfftfreq};

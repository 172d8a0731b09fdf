//! Control flow, and functions made of functions.

mod branch;
mod checkpoint;
mod custom;
mod linearize;
mod loops;
mod map;
mod parallel;
mod solvers;
mod while_loop;

use crate::arr::Arr;
use crate::stage::{self, Raw, emit};
use crate::structure::{Arrays, Leaves, Tree, raws, recovered};

pub use branch::{cond, switch};
pub use checkpoint::{Checkpointed, Residual, Residuals, checkpoint, checkpoint_with, residuals};
pub use custom::{CustomJvp, CustomVjp, custom_jvp, custom_vjp};
pub use linearize::{Linear, Linearized, Linearizer, linearize};
pub use loops::{fold, fold_right, for_loop, map_accum, map_accum_right, scan, scan_right};
pub use map::{Vmap, map, vmap};
pub use parallel::{Neutral, associative_scan, associative_scan_reverse, reduce, reduce_by_index};
pub use solvers::{
    Krylov, Method, Ode, Stop, fixed_point, gauss_legendre, linear_solve, minimize, odeint,
    quadrature, root,
};
pub use while_loop::{while_at_most, while_checkpointed, while_loop};

/// A tree with the types that handles have at its leaves.
fn retyped(tree: &Tree, leaves: &[Raw]) -> Tree {
    let mut types = leaves.iter().map(|&raw| stage::type_of(raw));
    tree.map_leaves(&mut |ty| Tree::Leaf(types.next().flatten().unwrap_or_else(|| ty.clone())))
}

/// The structure with other leaves.
#[track_caller]
fn replaced<A: Arrays>(tree: &Tree, leaves: Vec<Raw>) -> A {
    let tree = retyped(tree, &leaves);
    recovered(A::unflatten(&tree, &mut Leaves::staged(leaves)))
}

/// The structure with a function of each leaf.
#[track_caller]
fn mapped<A: Arrays>(structure: &A, leaf: impl FnMut(Raw) -> Raw) -> A {
    replaced(&structure.tree(), raws(structure).into_iter().map(leaf).collect())
}

/// The part of each leaf at an index of its outermost axis.
#[track_caller]
fn element<A: Arrays>(structure: &A, i: Arr<i64>) -> A {
    mapped(structure, |leaf| {
        emit("at", &[leaf, i.raw], |b, ts| match ts {
            [t, ix @ ..] => b.index(*t, ix),
            [] => Err(cotan_ir::Error::internal("nothing to read")),
        })
    })
}

/// The same structure, whose float arrays are constants: no derivative passes.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| {
///     let (a, b) = stop_gradient((x * 2.0, x * 3.0));
///     x * a + b
/// };
/// assert_eq!(grad(f).call(5.0)?, 10.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn stop_gradient<A: Arrays<Staged = A>>(structure: A) -> A {
    mapped(&structure, |leaf| match stage::type_of(leaf) {
        Some(ty) if ty.dtype.is_float() => {
            emit("stop_gradient", &[leaf], |b, ts| b.op(cotan_ir::scalar::Op::StopGradient, ts))
        }
        _ => leaf,
    })
}

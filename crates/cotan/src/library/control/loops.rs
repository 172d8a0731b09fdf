//! Loops over the outermost axis of every array of a structure, with a state.

use cotan_ir::{MapAccum, Param, Type};

use super::replaced;
use crate::arr::{Arr, iota};
use crate::error::{Error, Result};
use crate::stage::{self, Raw, emit_all, lambda, user_code};
use crate::structure::{Arrays, Tree, raws, refilled};

/// The outermost size of all arrays of a structure.
pub(super) fn common_length(name: &'static str, leaves: &[(String, Type)]) -> Result<usize> {
    let mut common: Option<(usize, &Type)> = None;
    for (_, ty) in leaves {
        let Some(&length) = ty.shape.dims().first() else {
            let message = format!("the scalar {ty} has no axis to run along");
            let hint = "what does not change from step to step is simply used in the function";
            return Err(Error::type_error(name, message).with_hint(hint));
        };
        match common {
            Some((before, first)) if before != length => {
                let message = format!("arrays of different lengths, {first} and {ty}");
                let hint = "all arrays to run along must have the same outermost size";
                return Err(Error::type_error(name, message).with_hint(hint));
            }
            _ => common = Some((length, ty)),
        }
    }
    let none = || Error::type_error(name, "there is no array to run along");
    let hint = "for a number of steps use `for_loop`";
    common.map(|(length, _)| length).ok_or_else(|| none().with_hint(hint))
}

/// Checks that a step gives the state the structure and types it had.
#[track_caller]
pub(super) fn expect_same_state(name: &'static str, before: &Tree, after: &Tree) {
    if let Some((path, before, after)) = before.difference(after, "") {
        let part = match path.trim_start_matches('.') {
            "" => String::new(),
            path => format!(" at `{path}`"),
        };
        let message = format!("the state{part} is {before} at first, and {after} after a step");
        let hint = "a state keeps its structure and types from step to step";
        stage::fail(Error::type_error(name, message).with_hint(hint));
    }
}

/// The loop of all others: the last state, and the outputs of all steps.
#[track_caller]
fn run_loop<S: Arrays, X: Arrays, Y: Arrays>(
    name: &'static str,
    reverse: bool,
    init: S,
    xs: X,
    step: impl FnOnce(S, X) -> (S, Y),
) -> (S, Y) {
    let (state, inputs) = (init.tree(), xs.tree());
    let length = match common_length(name, &inputs.leaves("")) {
        Ok(length) => length,
        Err(error) => {
            stage::fail(error);
            return (init, Y::nothing());
        }
    };
    let elements =
        inputs.map_leaves(&mut |ty| Tree::Leaf(Type::new(ty.dtype, ty.shape.drop_outer(1))));
    let params: Vec<Param> = [&state, &elements]
        .into_iter()
        .flat_map(|tree| tree.leaves(""))
        .map(|(_, ty)| Param::Value(ty))
        .collect();
    let states = state.leaf_count();
    let mut output: Option<Y> = None;
    let region = lambda(name, &params, |vars| {
        let (s, x) = vars.split_at(states.min(vars.len()));
        let (next, y) = step(replaced(&state, s.to_vec()), replaced(&elements, x.to_vec()));
        expect_same_state(name, &state, &next.tree());
        raws(&next).into_iter().chain(raws(output.insert(y))).collect()
    });
    let operands: Vec<Raw> = raws(&init).into_iter().chain(raws(&xs)).collect();
    let made = region.and_then(|step| {
        emit_all(name, &operands, |b, ts| {
            let (init, inputs) = ts.split_at(states.min(ts.len()));
            let results = b.region(step).results().len();
            let (init, inputs) = (init.to_vec().into(), inputs.to_vec().into());
            let node = b.map_accum(MapAccum { length, reverse, init, inputs, step })?;
            (0..results).map(|n| b.result(node, n)).collect()
        })
    });
    match made {
        Some(mut leaves) => {
            let outputs = leaves.split_off(states.min(leaves.len()));
            (replaced(&state, leaves), refilled(output, Some(outputs)))
        }
        None => (init, refilled(output, None)),
    }
}

/// The last state of a loop: `f` makes the next state of a state and the next elements of `xs` along
/// their outermost axes. Without elements it is the first state.
///
/// State and elements are structures: arrays, tuples, vectors, structs. The state keeps its types.
/// The function may use arrays from around it, and derivatives pass to these.
///
/// ```
/// use cotan::prelude::*;
///
/// // Horner's rule.
/// let f = jit(|x: Arr<f64>, coefficients: Arr<f64>| {
///     fold(constant(0.0), coefficients, |y, c| y * x + c)
/// });
/// assert_eq!(f.call((10.0, [1.0, 2.0, 3.0]))?, 123.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn fold<S, X>(init: S, xs: X, f: impl FnOnce(S, X) -> S) -> S
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
{
    stage::operation("fold", || {
        run_loop("fold", false, init, xs, |s, x| (user_code(|| f(s, x)), ())).0
    })
}

/// [`fold`] from the last element to the first.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|xs: Arr<f64>| fold_right(constant(0.0), xs, |s, x| s * 10.0 + x));
/// assert_eq!(f.call([1.0, 2.0, 3.0])?, 321.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn fold_right<S, X>(init: S, xs: X, f: impl FnOnce(S, X) -> S) -> S
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
{
    stage::operation("fold_right", || {
        run_loop("fold_right", true, init, xs, |s, x| (user_code(|| f(s, x)), ())).0
    })
}

/// The states of a [`fold`] after each step, along a new outermost axis.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|xs: Arr<f64>| scan(constant(1.0), xs, |s, x| s * x));
/// assert_eq!(f.call([2.0, 3.0, 4.0])?.to_vec(), [2.0, 6.0, 24.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn scan<S, X>(init: S, xs: X, f: impl FnOnce(S, X) -> S) -> S
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
{
    stage::operation("scan", || states("scan", false, init, xs, f))
}

/// [`scan`] from the last element to the first: state `k` is that after the elements from `k` on.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|xs: Arr<f64>| scan_right(constant(1.0), xs, |s, x| s * x));
/// assert_eq!(f.call([2.0, 3.0, 4.0])?.to_vec(), [24.0, 12.0, 4.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn scan_right<S, X>(init: S, xs: X, f: impl FnOnce(S, X) -> S) -> S
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
{
    stage::operation("scan_right", || states("scan_right", true, init, xs, f))
}

fn states<S: Arrays, X: Arrays>(
    name: &'static str,
    reverse: bool,
    init: S,
    xs: X,
    f: impl FnOnce(S, X) -> S,
) -> S {
    let step = |s: S, x: X| {
        let next = user_code(|| f(s, x));
        let output = super::mapped(&next, |leaf| leaf);
        (next, output)
    };
    run_loop(name, reverse, init, xs, step).1
}

/// The last state of a loop and the outputs of its steps: `f` makes the next state and an output of a
/// state and the next elements of `xs` along their outermost axes. Outputs get a new outermost axis.
///
/// ```
/// use cotan::prelude::*;
///
/// // An average that forgets, and how far each value was from it.
/// let f = jit(|xs: Arr<f64>| {
///     map_accum(constant(0.0), xs, |mean, x| (0.5 * mean + 0.5 * x, x - mean))
/// });
/// let (last, surprise) = f.call([4.0, 4.0])?;
/// assert_eq!((last.item(), surprise.to_vec()), (Some(3.0), vec![4.0, 2.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn map_accum<S, X, Y>(init: S, xs: X, f: impl FnOnce(S, X) -> (S, Y)) -> (S, Y)
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
    Y: Arrays<Staged = Y>,
{
    stage::operation("map_accum", || {
        run_loop("map_accum", false, init, xs, |s, x| user_code(|| f(s, x)))
    })
}

/// [`map_accum`] from the last elements to the first; output `k` belongs to element `k`.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = jit(|xs: Arr<f64>| map_accum_right(constant(0.0), xs, |s, x| (s + x, s)));
/// let (total, after) = f.call([1.0, 2.0, 3.0])?;
/// assert_eq!((total.item(), after.to_vec()), (Some(6.0), vec![5.0, 3.0, 0.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn map_accum_right<S, X, Y>(init: S, xs: X, f: impl FnOnce(S, X) -> (S, Y)) -> (S, Y)
where
    S: Arrays<Staged = S>,
    X: Arrays<Staged = X>,
    Y: Arrays<Staged = Y>,
{
    stage::operation("map_accum_right", || {
        run_loop("map_accum_right", true, init, xs, |s, x| user_code(|| f(s, x)))
    })
}

/// The state after `n` steps: `f` makes the next state of the number of the step, from 0, and a
/// state. The program does not grow with `n`.
///
/// ```
/// use cotan::prelude::*;
///
/// // Newton's method for the square root.
/// let root = |a: Arr<f64>| for_loop(6, a, |_, x| 0.5 * (x + a / x));
/// assert_eq!(jit(root).call(4.0)?, 2.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[doc(alias = "fori_loop")]
#[track_caller]
pub fn for_loop<S: Arrays<Staged = S>>(n: usize, init: S, f: impl FnOnce(Arr<i64>, S) -> S) -> S {
    stage::operation("for_loop", || {
        run_loop("for_loop", false, init, iota(n), |s, i| (user_code(|| f(i, s)), ())).0
    })
}

//! Loops as long as a condition holds.

use cotan_ir::{Param, While};

use super::loops::expect_same_state;
use super::replaced;
use crate::arr::Arr;
use crate::error::Error;
use crate::stage::{self, emit_all, lambda, user_code};
use crate::structure::{Arrays, raws};

/// The first state at which `cond` does not hold, from `init` on by steps of `f`.
///
/// The state is a structure that keeps its types. The number of steps depends on the data and has
/// no limit; a loop that never ends runs until it is cancelled (see
/// [`RunOptions`](crate::RunOptions)). Under `build` all lanes run until the last is done, each
/// keeping its own last state.
///
/// **Derivatives** are those of the steps that were taken; the condition has none. Forward mode needs
/// nothing more. Reverse mode keeps at most 1024 states at a time and runs the steps again for the
/// others: once more for up to 512 steps, twice for up to 262,144 (beyond that, `n / 524,288` times
/// more for `n` steps). With a limit what is needed of each
/// step is kept, at most its state, and none is run again: see [`while_at_most`]. A loop in a branch of
/// [`cond`](crate::cond) that is not taken is not run, in neither mode.
///
/// ```
/// use cotan::prelude::*;
///
/// // How often can x be halved before it is below 1, and what is left?
/// let halve = |x: Arr<f64>| {
///     while_loop((x, constant(0i64)), |(y, _)| y.ge(1.0), |(y, n)| (y * 0.5, n + 1))
/// };
/// let (rest, count) = jit(halve).call(10.0)?;
/// assert_eq!((rest.item(), count.item()), (Some(0.625), Some(4)));
/// assert_eq!(grad(move |x: Arr<f64>| halve(x).0).call(10.0)?, 0.0625);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn while_loop<S: Arrays<Staged = S>>(
    init: S,
    cond: impl FnOnce(S) -> Arr<bool>,
    f: impl FnOnce(S) -> S,
) -> S {
    stage::operation("while_loop", || run_while("while_loop", init, None, None, cond, f))
}

/// [`while_loop`] of at most `bound` steps, whatever the condition says then.
///
/// In reverse mode the states of all steps are kept: memory for `bound` of them, and the time of
/// about two runs. See [`while_checkpointed`] for less memory.
///
/// ```
/// use cotan::prelude::*;
///
/// // The square root by Newton's method, to convergence or 50 steps.
/// let root = |a: Arr<f64>| {
///     while_at_most(50, a, |x| (x * x - a).abs().gt(a * 1e-15), |x| 0.5 * (x + a / x))
/// };
/// let (y, dy) = value_and_grad(root).call(4.0)?;
/// assert_eq!((y.item(), dy.item()), (Some(2.0), Some(0.25)));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn while_at_most<S: Arrays<Staged = S>>(
    bound: usize,
    init: S,
    cond: impl FnOnce(S) -> Arr<bool>,
    f: impl FnOnce(S) -> S,
) -> S {
    stage::operation("while_at_most", || {
        run_while("while_at_most", init, Some(bound), None, cond, f)
    })
}

/// [`while_at_most`] whose derivative in reverse keeps fewer states: those at every `every`-th step,
/// and those of one such chunk at a time, for one more run of the steps. About the square root of
/// `bound` needs the least memory. The values are the same.
///
/// ```
/// use cotan::prelude::*;
///
/// let grow = |x: Arr<f64>| while_checkpointed(100, 10, x, |y| y.lt(8.0), |y| y * x);
/// let (y, dy) = value_and_grad(grow).call(2.0)?; // x^3
/// assert_eq!((y.item(), dy.item()), (Some(8.0), Some(12.0)));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn while_checkpointed<S: Arrays<Staged = S>>(
    bound: usize,
    every: usize,
    init: S,
    cond: impl FnOnce(S) -> Arr<bool>,
    f: impl FnOnce(S) -> S,
) -> S {
    stage::operation("while_checkpointed", || {
        run_while("while_checkpointed", init, Some(bound), Some(every), cond, f)
    })
}

#[track_caller]
fn run_while<S: Arrays>(
    name: &'static str,
    init: S,
    bound: Option<usize>,
    every: Option<usize>,
    cond: impl FnOnce(S) -> Arr<bool>,
    f: impl FnOnce(S) -> S,
) -> S {
    let state = init.tree();
    let types = state.leaves("");
    if types.is_empty() {
        let message = "a loop needs a state: nothing else changes";
        stage::fail(Error::type_error(name, message));
        return init;
    }
    let params: Vec<Param> = types.into_iter().map(|(_, ty)| Param::Value(ty)).collect();
    let region = lambda(name, &params, |vars| {
        let at = || replaced(&state, vars.to_vec());
        let holds = user_code(|| cond(at()));
        if holds.rank() > 0 {
            let message = format!("the condition must be a scalar, not {}", holds.tree());
            let hint = "reduce it: `all()` or `any()`";
            stage::fail(Error::type_error(name, message).with_hint(hint));
        }
        let next = user_code(|| f(at()));
        expect_same_state(name, &state, &next.tree());
        std::iter::once(holds.raw).chain(raws(&next)).collect()
    });
    let made = region.and_then(|step| {
        emit_all(name, &raws(&init), |b, ts| {
            let w = While { bound, init: ts.into(), step };
            if let Some(every) = every {
                return b.while_in_chunks(&w, every);
            }
            let node = b.while_accum(w)?;
            (0..ts.len()).map(|n| b.result(node, n)).collect()
        })
    });
    match made {
        Some(leaves) => replaced(&state, leaves),
        None => init,
    }
}

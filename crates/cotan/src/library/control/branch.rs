//! Choosing between structures.

use crate::arr::{Arr, Operand};
use crate::error::Error;
use crate::stage::{self, emit_all};
use crate::structure::{Arrays, raws, refilled};

/// The result of the first function where `condition` holds, else that of the second. Both give the
/// same structure of the same shapes.
///
/// Only the branch that is taken is evaluated, unless the condition depends on the index of an
/// enclosing [`build`](crate::build()), where it is a choice for each element. The derivative passes
/// exactly nothing to the other branch. For a condition at each element, see
/// [`select`](crate::select).
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| cond(x.gt(0.0), || x.sqrt(), || x * x);
/// assert_eq!(jit(f).call(9.0)?, 3.0);
/// assert_eq!(grad(f).call(-3.0)?, -6.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn cond<R: Arrays<Staged = R>>(
    condition: impl Operand<bool>,
    then: impl FnOnce() -> R,
    otherwise: impl FnOnce() -> R,
) -> R {
    stage::operation("cond", || {
        let condition: Arr<bool> = condition.operand();
        let (then, otherwise) = (stage::user_code(then), stage::user_code(otherwise));
        if condition.rank() > 0 {
            let message = format!("the condition must be a scalar, not {}", condition.tree());
            let hint = "`select` chooses element by element; `any` and `all` make one of many";
            stage::fail(Error::type_error("cond", message).with_hint(hint));
        }
        if let Some((path, one, other)) = then.tree().difference(&otherwise.tree(), "") {
            let part = part_of_result(&path);
            let message = format!("{part} is {one} in the first branch and {other} in the second");
            let hint = "both branches give the same structure of the same types";
            stage::fail(Error::type_error("cond", message).with_hint(hint));
        }
        let (first, second) = (raws(&then), raws(&otherwise));
        let operands: Vec<_> =
            std::iter::once(condition.raw).chain(first.iter().chain(&second).copied()).collect();
        let made = emit_all("cond", &operands, |b, ts| {
            let Some((&condition, leaves)) = ts.split_first() else { return Ok(Vec::new()) };
            let (first, second) = leaves.split_at(first.len());
            first.iter().zip(second).map(|(&u, &v)| b.cond(condition, u, v)).collect()
        });
        refilled(Some(then), made)
    })
}

/// The result of the branch with a number: the first for 0 and below, the last for its number and
/// above. All give the same structure of the same shapes. There must be one.
///
/// As with [`cond`], only the branch that is taken is evaluated (unless the index depends on that of
/// an enclosing [`build`](crate::build())), and the derivative passes exactly nothing to the others.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |i: Arr<i64>, x: Arr<f64>| switch(i, &[&|| x.sin(), &|| x * x, &|| -x]);
/// assert_eq!(jit(f).call((1, 3.0))?, 9.0);
/// assert_eq!(jit(f).call((7, 3.0))?, -3.0);
/// assert_eq!(grad(f).wrt(Arg::<1>).call((1, 3.0))?, 6.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn switch<R: Arrays<Staged = R>>(index: impl Operand<i64>, branches: &[&dyn Fn() -> R]) -> R {
    stage::operation("switch", || {
        let index: Arr<i64> = index.operand();
        if index.rank() > 0 {
            let message = format!("the index must be a scalar, not {}", index.tree());
            let hint = "for an index at each element, `stack` the results and `take_along` it";
            stage::fail(Error::type_error("switch", message).with_hint(hint));
            return R::nothing();
        }
        let mut results = branches.iter().map(|branch| stage::user_code(branch));
        let Some(first) = results.next() else {
            let error = Error::type_error("switch", "there is no branch");
            stage::fail(error.with_hint("give one closure for each value of the index"));
            return R::nothing();
        };
        let wanted = first.tree();
        // Where the index is past the one before, the next; so the last holds from its number on.
        results.enumerate().fold(first, |chosen, (before, next)| {
            if let Some((path, found, first)) = next.tree().difference(&wanted, "") {
                let (part, branch) = (part_of_result(&path), before + 1);
                let message =
                    format!("{part} is {found} in branch {branch} and {first} in branch 0");
                let hint = "all branches give the same structure of the same types";
                stage::fail(Error::type_error("switch", message).with_hint(hint));
                return chosen;
            }
            cond(index.gt(before), || next, || chosen)
        })
    })
}

/// The part of a branch's result at a path, in words.
fn part_of_result(path: &str) -> String {
    match path.trim_start_matches('.') {
        "" => "the result".to_owned(),
        path => format!("part `{path}` of the result"),
    }
}

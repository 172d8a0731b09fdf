//! Choosing between two structures.

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
            let part = match path.trim_start_matches('.') {
                "" => String::new(),
                path => format!("part `{path}` "),
            };
            let message = format!("{part}is {one} in the first branch and {other} in the second");
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

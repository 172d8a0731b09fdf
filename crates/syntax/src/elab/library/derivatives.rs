//! Derivatives: functions of functions. What they compute is in `elab/derivative.rs`.

use std::rc::Rc;

use cotan_ir::{Keep, Span};
use cotan_pipeline::{Derivative, Taylor};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::ops::Operand;
use crate::elab::value::{Callable, Checkpointed, Derived, Function, Linear, Value, Wrt};
use crate::elab::{Elab, R, Reported};

pub(super) const DERIVATIVES: &[Row] = &[
    (
        "grad(f, wrt = all, aux = false)",
        |e, c| derived(e, c, Derivative::Grad),
        "The gradient of a scalar function, in the structure of the arguments.",
        "grad(x => sum(x * x))([1.0, 2.0])",
    ),
    (
        "value_and_grad(f, wrt = all, aux = false)",
        |e, c| derived(e, c, Derivative::ValueAndGrad),
        "The value of a scalar function and its gradient.",
        "value_and_grad(x => sum(x * x))([1.0, 2.0])",
    ),
    (
        "vjp(f, wrt = all)",
        |e, c| derived(e, c, Derivative::Vjp),
        "The value, and the product of a cotangent of the result with the Jacobian. Several arguments are a tuple: `vjp(f)((x, y), ct)`.",
        "vjp(x => x * x)([1.0, 2.0], [1.0, 10.0])",
    ),
    (
        "jvp(f, wrt = all)",
        |e, c| derived(e, c, Derivative::Jvp),
        "The value, and the product of the Jacobian with a tangent. Several arguments and their tangents are tuples: `jvp(f)((x, y), (dx, dy))`.",
        "jvp(x => x * x)([1.0, 2.0], [1.0, 10.0])",
    ),
    (
        "jacobian(f, wrt = all)",
        |e, c| derived(e, c, Derivative::Jacobian),
        "The Jacobian, of the result's shape and then the argument's, in the mode with fewer passes.",
        "jacobian(x => x * x)([1.0, 2.0])",
    ),
    (
        "jacrev(f, wrt = all)",
        |e, c| derived(e, c, Derivative::JacRev),
        "The Jacobian in reverse mode, row by row.",
        "jacrev(x => sum(x * x))([1.0, 2.0])",
    ),
    (
        "jacfwd(f, wrt = all)",
        |e, c| derived(e, c, Derivative::JacFwd),
        "The Jacobian in forward mode, column by column.",
        "jacfwd(x => [x, x * x])(3.0)",
    ),
    (
        "jet(f, order, wrt = all)",
        jet,
        "The value, and the coefficients of `t` to the powers 1 to `order` of `f(x + t v)` on a new first axis, in one pass whose cost grows with the square of the order at most. Several arguments and their directions are tuples: `jet(f, 3)((x, y), (vx, vy))`.",
        "jet(x => x * x * x, 3)(2.0, 1.0)",
    ),
    (
        "laplacian(f, wrt = all)",
        laplacian,
        "The sum of the second derivatives of each result by all elements of the arguments, by series of order 2.",
        "laplacian(x => sum(x * x * x))([1.0, 2.0])",
    ),
    (
        "hvp(f, wrt = all)",
        |e, c| derived(e, c, Derivative::Hvp),
        "The product of the Hessian of a scalar function with a tangent. Several arguments and their tangents are tuples: `hvp(f)((x, y), (dx, dy))`.",
        "hvp(x => sum(x * x * x))([1.0, 2.0], [1.0, 10.0])",
    ),
    (
        "hessian(f, wrt = all)",
        |e, c| derived(e, c, Derivative::Hessian),
        "The Hessian of a scalar function, of the argument's shape twice.",
        "hessian(x => x[0] * x[0] * x[1])([1.0, 2.0])",
    ),
    (
        "checkpoint(f, everything = false, contractions = false, bytes = none, states = none)",
        checkpoint,
        "`f`, of which reverse mode keeps the arguments, and computes again what else it needs. It may also keep everything, only the results of contractions and routines, or what saves the most work among so many bytes. With `states = k` loops of known length are run again from at most `k` states at a time. Values and derivatives are those of `f`.",
        "grad(checkpoint(x => sin(exp(x))))(0.0)",
    ),
    (
        "linearize(f, x, ..)",
        linearize,
        "The value at the arguments, and the derivative there as a function of tangents, one for each argument.",
        "(let (y, df) = linearize(x => x * x, 3.0) in (y, df(1.0), df(10.0)))",
    ),
];

/// `(f(x, ..), (dx, ..) => jvp(f)((x, ..), (dx, ..)).1)`: equal terms are one term, so that the primal
/// part is computed once, however often the function is called.
fn linearize(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let at: Vec<Operand> = call.args(1).iter().map(|arg| elab.arg_value(arg)).collect();
    let f = elab.function_of(&value, span)?;
    let Value::Function(function) = value else { return Err(Reported) };
    let result = elab.apply(&f, at.clone(), call.span)?;
    let derivative = Derivative::Jvp;
    let jvp = Derived {
        derivative,
        name: "linearize",
        function,
        wrt: Wrt::All,
        taylor: None,
        aux: false,
    };
    let linear = Function::new(Callable::Linear(Rc::new(Linear { jvp, at })));
    let linear = Value::Function(Rc::new(elab.bounded(linear, call.span)?));
    let pair = Value::tuple(vec![result, linear]);
    elab.bounded(pair, call.span)
}

fn checkpoint(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let keep = keep_at(elab, call, 1)?;
    let Value::Function(function) = value else {
        elab.function_of(&value, span)?;
        return Err(Reported);
    };
    let checkpoint = Callable::Checkpoint(Rc::new(Checkpointed { function, keep }));
    elab.bounded(Function::new(checkpoint), call.span).map(|f| Value::Function(f.into()))
}

/// What a checkpoint keeps, by the parameters `everything`, `contractions`, `bytes` and `states` from
/// a place on.
pub(super) fn keep_at(elab: &mut Elab<'_>, call: &Call, slot: usize) -> R<Keep> {
    let mut said: Option<Keep> = None;
    let flags = [(Keep::Everything, 0), (Keep::Contractions, 1)];
    let mut several = false;
    let mut say = |keep: Keep| several |= said.replace(keep).is_some();
    for (keep, n) in flags {
        if elab.flag_at(call, slot + n)? {
            say(keep);
        }
    }
    if let Some((bytes, place)) = elab.int_at(call, slot + 2)? {
        let Ok(bytes) = u64::try_from(bytes) else {
            let message = format!("{bytes} bytes cannot be kept");
            return Err(elab.report(Diagnostic::new(Code::BadSize, place, message)));
        };
        say(Keep::Bytes(bytes));
    }
    if let Some((states, place)) = elab.int_at(call, slot + 3)? {
        let Some(states) = u32::try_from(states).ok().filter(|&states| states > 0) else {
            let message = format!("a loop is run again from at least one state, not {states}");
            return Err(elab.report(Diagnostic::new(Code::BadSize, place, message)));
        };
        say(Keep::States(states));
    }
    if several {
        let message = "a checkpoint has one policy";
        let hint = "`everything`, `contractions`, `bytes` or `states`, or none of them";
        let diagnostic = Diagnostic::new(Code::WrongArguments, call.span, message);
        return Err(elab.report(diagnostic.hint(hint)));
    }
    Ok(said.unwrap_or(Keep::Nothing))
}

fn derived(elab: &mut Elab<'_>, call: &Call, derivative: Derivative) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let wrt = elab.wrt_at(call, 1)?;
    let aux = elab.flag_at(call, 2)?;
    let Value::Function(function) = value else {
        elab.function_of(&value, span)?;
        return Err(Reported);
    };
    let derived = Derived { derivative, name: derivative.name(), function, wrt, taylor: None, aux };
    let function = Function::new(Callable::Derived(derived.into()));
    elab.bounded(function, call.span).map(|function| Value::Function(function.into()))
}

/// A derivative by series, which is called as another derivative is.
fn by_series(
    elab: &mut Elab<'_>,
    call: &Call,
    (derivative, name): (Derivative, &'static str),
    taylor: Taylor,
    slot: usize,
) -> R<Value> {
    let (value, span) = elab.value_at(call, 0);
    let wrt = elab.wrt_at(call, slot)?;
    let Value::Function(function) = value else {
        elab.function_of(&value, span)?;
        return Err(Reported);
    };
    let derived = Derived { derivative, name, function, wrt, taylor: Some(taylor), aux: false };
    let function = Function::new(Callable::Derived(derived.into()));
    elab.bounded(function, call.span).map(|function| Value::Function(function.into()))
}

fn jet(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (value, span) = elab.value_at(call, 1);
    let order = elab.static_int(&value, span)?;
    // What is no order is refused by the series.
    let order = usize::try_from(order).unwrap_or(0);
    by_series(elab, call, (Derivative::Jvp, "jet"), Taylor::Jet(order), 2)
}

fn laplacian(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    by_series(elab, call, (Derivative::JacFwd, "laplacian"), Taylor::Laplacian, 1)
}

impl Elab<'_> {
    /// The positions at a parameter: `0`, `(0, 2)`, or all when it is not given.
    fn wrt_at(&mut self, call: &Call, slot: usize) -> R<Wrt> {
        let Some(arg) = call.arg(slot) else { return Ok(Wrt::All) };
        let (value, span) = self.arg_value(arg);
        let Value::Tuple(tuple) = &value else {
            return Ok(Wrt::One(self.position(&value, span)?));
        };
        let mut positions: Vec<(usize, Span)> = Vec::new();
        for item in &tuple.items {
            let position = self.position(item, span)?;
            if positions.iter().any(|(before, _)| *before == position.0) {
                let message = format!("the argument {} is named twice", position.0);
                return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
            }
            positions.push(position);
        }
        if positions.is_empty() {
            let message = "there is nothing to differentiate by";
            let hint = "name arguments by their positions: `wrt = 0`, `wrt = (0, 2)`";
            return Err(
                self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
            );
        }
        Ok(Wrt::Several(positions))
    }

    fn position(&mut self, value: &Value, span: Span) -> R<(usize, Span)> {
        let position = self.static_int(value, span)?;
        usize::try_from(position).map(|k| (k, span)).map_err(|_| {
            let message = format!("there is no argument {position}");
            let hint = "arguments count from 0";
            self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
        })
    }
}

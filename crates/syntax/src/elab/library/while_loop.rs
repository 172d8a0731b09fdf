//! Loops as long as a condition holds.
//!
//! `while_loop(cond, f, init)` is what people write. `while_accum` is how such a node prints:
//! condition, next state and output in one lambda, so that they share what they compute.

use cotan_ir::{Param, Span, TermId, While};

use super::loops::same_state;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::Value;
use crate::elab::{Elab, R, Reported};

pub(super) const WHILE: &[Row] = &[
    (
        "while_loop(cond, f, init, at_most = no limit, checkpoint = none)",
        while_loop,
        "The first of `init`, `f(init)`, `f(f(init))`, .. for which `cond` does not hold, or the last of `at_most` steps. A tuple may be taken as several parameters. With `checkpoint = k` a gradient keeps the state of every `k`-th step only.",
        "while_loop((i, x) => x < 100.0, (i, x) => (i + 1, 2.0 * x), (0, 1.0))",
    ),
    (
        "while_accum(init, f, at_most = no limit)",
        while_accum,
        "The last state and the outputs of `state => (condition, next state, output)`, as long as the condition holds. Outputs need `at_most`; they are 0 where there was no step.",
        "while_accum(1.0, x => (x < 10.0, 2.0 * x, x), at_most = 6)",
    ),
];

fn while_loop(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let condition = elab.function_arg(call, 0)?;
    let f = elab.function_arg(call, 1)?;
    let init = elab.value_at(call, 2);
    let bound = bound_at(elab, call, 3)?;
    let every = elab.int_at(call, 4)?;
    let every = match every {
        None => None,
        Some((_, place)) if bound.is_none() => {
            let message = "a loop in chunks needs a limit of its steps";
            let hint = "add `at_most = …`";
            let diagnostic = Diagnostic::new(Code::WrongArguments, place, message);
            return Err(elab.report(diagnostic.hint(hint)));
        }
        Some((k, place)) if k <= 0 => {
            let message = format!("a chunk has at least one step, not {k}");
            return Err(elab.report(Diagnostic::new(Code::BadSize, place, message)));
        }
        Some((k, place)) => Some(elab.size_from(k, place)?),
    };
    elab.adapting(init, |elab, init| {
        let (state, _) = run(elab, call.span, init, bound, every, |elab, state| {
            let held = elab.apply_to_state(&condition, &state, call.span)?;
            let next = elab.apply_to_state(&f, &state, call.span)?;
            let nothing = Value::tuple(Vec::new());
            Ok((held, next, elab.bounded(nothing, call.span)?))
        })?;
        Ok(state)
    })
}

fn while_accum(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let init = elab.value_at(call, 0);
    let f = elab.function_arg(call, 1)?;
    let bound = bound_at(elab, call, 2)?;
    let (state, outputs) = run(elab, call.span, &init, bound, None, |elab, state| {
        let result = elab.apply_to_state(&f, &state, call.span)?;
        match &result {
            Value::Tuple(tuple) if tuple.items.len() == 3 => {
                let mut items = tuple.items.iter().cloned();
                let mut next = || items.next().unwrap_or(Value::Error);
                Ok((next(), next(), next()))
            }
            Value::Error => Err(Reported),
            _ => {
                let message = format!(
                    "the function must give (condition, next state, output), not {}",
                    elab.describe(&result)
                );
                Err(elab.report(Diagnostic::new(Code::TypeMismatch, call.span, message)))
            }
        }
    })?;
    let pair = Value::tuple(vec![state, outputs]);
    elab.bounded(pair, call.span)
}

/// The most steps, if there is a limit.
fn bound_at(elab: &mut Elab<'_>, call: &Call, slot: usize) -> R<Option<usize>> {
    match elab.int_at(call, slot)? {
        Some((bound, place)) => elab.size_from(bound, place).map(Some),
        None => Ok(None),
    }
}

/// The loop whose `step` takes a state to condition, next state and output: the last state and the
/// outputs.
pub(super) fn run(
    elab: &mut Elab<'_>,
    span: Span,
    init: &Operand,
    bound: Option<usize>,
    every: Option<usize>,
    step: impl FnOnce(&mut Elab<'_>, Operand) -> R<(Value, Value, Value)>,
) -> R<(Value, Value)> {
    let states = elab.leaves(&init.0, init.1)?;
    if states.is_empty() {
        let message = "the state of a loop has no parts, so nothing changes from step to step";
        return Err(elab.report(Diagnostic::new(Code::TypeMismatch, init.1, message)));
    }
    let params: Vec<Param> = states.iter().map(|&t| Param::Value(elab.b.ty(t).clone())).collect();
    let mut output = Value::Error;
    let region = elab.region(&params, span, |elab, vars| {
        let mut vars = vars.iter().copied();
        let state = elab.map_leaves(&init.0, init.1, &mut |elab, _| {
            vars.next().ok_or_else(|| elab.internal("too few variables"))
        })?;
        let (held, next, y) = step(elab, (state.clone(), init.1))?;
        if matches!(held, Value::Error) {
            return Err(Reported);
        }
        let mut results = vec![elab.scalar_bool(&held, span)?];
        let next = same_state(elab, &state, next, init.1, span)?;
        results.extend(elab.leaves(&next, span)?);
        let outputs = elab.leaves(&y, span)?;
        if bound.is_none() && !outputs.is_empty() {
            let message = "without a limit of the steps there is no size for their outputs";
            let hint = "add `at_most = …`, or make the outputs part of the state";
            let diagnostic = Diagnostic::new(Code::WrongArguments, span, message);
            return Err(elab.report(diagnostic.hint(hint)));
        }
        results.extend(outputs);
        output = y;
        Ok(results)
    })?;
    let node = While { bound, init: states.into(), step: region };
    let results = match every {
        Some(every) => elab.b.while_in_chunks(&node, every),
        None => elab.b.while_accum(node).and_then(|t| {
            let count = elab.b.result_count(t).unwrap_or(0);
            (0..count).map(|n| elab.b.result(t, n)).collect::<cotan_ir::Result<Vec<TermId>>>()
        }),
    };
    let mut results = elab.lift(results, span)?.into_iter();
    let mut result = |elab: &mut Elab<'_>, _: TermId| {
        results.next().ok_or_else(|| elab.internal("too few results"))
    };
    let state = elab.map_leaves(&init.0, init.1, &mut result)?;
    let outputs = elab.map_leaves(&output, span, &mut result)?;
    Ok((state, outputs))
}

impl Elab<'_> {
    /// A function of a loop's state: as its one parameter or, of a tuple, each part as one.
    fn apply_to_state(&mut self, f: &Applied, state: &Operand, span: Span) -> R<Value> {
        let parts = match &state.0 {
            Value::Tuple(tuple) if self.arity(f) == Some(tuple.items.len()) => &tuple.items,
            _ => return self.apply(f, vec![state.clone()], span),
        };
        if parts.len() == 1 {
            return self.apply(f, vec![state.clone()], span);
        }
        let parts = parts.iter().map(|part| (part.clone(), state.1)).collect();
        self.apply(f, parts, span)
    }
}

//! Loops over the outermost axis of every array of a structure.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar, cast};
use cotan_ir::{MapAccum, Param, Span, TermId, Type};

use super::{Call, Row, while_loop};
use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R, Reported};

pub(super) const LOOPS: &[Row] = &[
    (
        "map(f, a, ..)",
        map,
        "`f` at each element along the outermost axis of the arrays.",
        "map(x => x * x, [1.0, 2.0, 3.0])",
    ),
    (
        "tree_map(f, p, ..)",
        tree_map,
        "`f` at each array of a tuple or record, or at the corresponding arrays of several.",
        "tree_map((w, g) => w - 0.5 * g, {a = 1.0, b = [2.0]}, {a = 2.0, b = [4.0]})",
    ),
    (
        "fold(init, xs, f, length = of xs, reverse = false, at_most = no limit)",
        fold,
        "The last state of `(state, x) => next state`. A `length` below that of `xs` takes its first elements, and may be known at run time only; `at_most` is then a limit that lets a gradient save the states.",
        "fold(0.0, [1.0, 2.0, 3.0], (s, x) => s + x)",
    ),
    (
        "scan(init, xs, f, length = of xs, reverse = false, at_most = no limit)",
        scan,
        "The state after each step of `(state, x) => next state`; 0 where a `length` known at run time leaves steps out.",
        "scan(0.0, [1.0, 2.0, 3.0], (s, x) => s + x)",
    ),
    (
        "map_accum(init, xs, f, length = of xs, reverse = false, at_most = no limit)",
        map_accum,
        "The last state and the outputs of `(state, x) => (next state, output)`.",
        "map_accum(0.0, [1.0, 2.0, 3.0], (s, x) => (s + x, s * x))",
    ),
];

fn map(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.function_arg(call, 0)?;
    let arrays: Vec<Operand> = call.args(1).iter().map(|arg| elab.arg_value(arg)).collect();
    let k = match elab.common_length(&arrays)? {
        Some(k) => k,
        None => return Err(elab.no_length(call.span)),
    };
    elab.build_over(&[k], call.span, |elab, vars| {
        let mut elements = Vec::new();
        for (value, span) in &arrays {
            let element = elab.map_leaves(value, *span, &mut |elab, t| {
                let made = elab.b.index(t, vars);
                elab.lift(made, *span)
            })?;
            elements.push((element, *span));
        }
        elab.apply(&f, elements, call.span)
    })
}

fn tree_map(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.function_arg(call, 0)?;
    let args: Vec<Operand> = call.args(1).iter().map(|arg| elab.arg_value(arg)).collect();
    if args.iter().any(|(value, _)| matches!(value, Value::Error)) {
        return Err(Reported);
    }
    elab.over_structures("tree_map", args, call.span, &mut |elab, parts| {
        elab.apply(&f, parts, call.span)
    })
}

fn fold(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (state, _) = run(elab, call, |elab, next, span| {
        let nothing = Value::tuple(Vec::new());
        Ok((next, elab.bounded(nothing, span)?))
    })?;
    Ok(state)
}

fn scan(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (_, states) = run(elab, call, |_, next, _| Ok((next.clone(), next)))?;
    Ok(states)
}

fn map_accum(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (state, outputs) = run(elab, call, |elab, result, span| match &result {
        Value::Tuple(tuple) if tuple.items.len() == 2 => {
            let mut items = tuple.items.iter().cloned();
            Ok((items.next().unwrap_or(Value::Error), items.next().unwrap_or(Value::Error)))
        }
        Value::Error => Err(Reported),
        _ => {
            let message = format!(
                "the function must give a pair (next state, output), not {}",
                elab.describe(&result)
            );
            Err(elab.report(Diagnostic::new(Code::TypeMismatch, span, message)))
        }
    })?;
    let pair = Value::tuple(vec![state, outputs]);
    elab.bounded(pair, call.span)
}

/// What a loop runs over, and how long.
struct Range {
    xs: Operand,
    length: usize,
    reverse: bool,
}

/// The loop of `init`, `xs`, `f`, `length`, `reverse`, `at_most`; `split` takes the function's
/// result apart into next state and output.
fn run(
    elab: &mut Elab<'_>,
    call: &Call,
    split: impl Fn(&mut Elab<'_>, Value, Span) -> R<(Value, Value)>,
) -> R<(Value, Value)> {
    let span = call.span;
    let init = elab.value_at(call, 0);
    let xs = elab.value_at(call, 1);
    let f = elab.function_arg(call, 2)?;
    let given = call.arg(3).map(|arg| elab.arg_value(arg));
    let reverse = elab.flag_at(call, 4)?;
    let at_most = match elab.int_at(call, 5)? {
        Some((most, place)) => Some(elab.size_from(most, place)?),
        None => None,
    };
    let found = elab.common_length(std::slice::from_ref(&xs))?;
    if let Some((value, _)) = &given
        && let Some(steps) = elab.dynamic_int(value)
    {
        let bound = at_most.into_iter().chain(found).min();
        let range = Steps { xs, steps, bound, reverse };
        return elab.adapting(init, |elab, init| run_steps(elab, span, init, &range, &f, &split));
    }
    let length = match (given, found) {
        (None, Some(found)) => found,
        (Some((given, place)), found) => {
            let steps = elab.static_int(&given, place)?;
            let steps = elab.size_from(steps, place)?;
            elab.must_be_at_most(steps, found, place);
            if let Some(found) = found.filter(|&found| found < steps) {
                elab.unless_at_most(steps, found);
                let message =
                    format!("{steps} steps are asked for, but the arrays have length {found}");
                return Err(elab.report(
                    Diagnostic::new(Code::SizeConflict, place, message).also(xs.1, "these arrays"),
                ));
            }
            steps
        }
        (None, None) => return Err(elab.no_length(span)),
    };
    let length = at_most.map_or(length, |most| length.min(most));
    let xs = match found {
        Some(found) if length < found => {
            let first = elab.map_leaves(&xs.0, xs.1, &mut |elab, t| elab.first(t, length, span))?;
            (first, xs.1)
        }
        _ => xs,
    };
    let range = Range { xs, length, reverse };
    // `map_accum` is a former of the core language: what is written is what is meant.
    if call.builtin.name == "map_accum" {
        return run_over(elab, span, &init, &range, &f, &split);
    }
    let inputs = elab.leaves(&range.xs.0, range.xs.1)?;
    let init = (adapt_floats(elab, &init.0, &inputs), init.1);
    elab.adapting(init, |elab, init| run_over(elab, span, init, &range, &f, &split))
}

/// A loop whose number of steps is known at run time only.
struct Steps {
    xs: Operand,
    steps: TermId,
    bound: Option<usize>,
    reverse: bool,
}

/// Such a loop, with the number of steps done as a part of its state.
fn run_steps(
    elab: &mut Elab<'_>,
    span: Span,
    init: &Operand,
    range: &Steps,
    f: &Applied,
    split: &impl Fn(&mut Elab<'_>, Value, Span) -> R<(Value, Value)>,
) -> R<(Value, Value)> {
    let steps = match range.bound {
        Some(bound) => {
            let most =
                elab.scalar_of(i64::try_from(bound).unwrap_or(i64::MAX), Dtype::I64, span)?;
            elab.op(Op::Min, &[range.steps, most], span)?
        }
        None => range.steps,
    };
    let zero = Value::Known(Known::new(Scalar::I64(0), false));
    let state = Value::tuple(vec![zero, init.0.clone()]);
    let state = (elab.bounded(state, span)?, init.1);
    let (last, outputs) =
        while_loop::run(elab, span, &state, range.bound, None, |elab, (state, _)| {
            let (done, state) = pair(elab, &state)?;
            let done = elab.term(&done, span)?;
            let held = elab.op(Op::Lt, &[done, steps], span)?;
            let one = elab.scalar_of(1, Dtype::I64, span)?;
            let next_done = elab.op(Op::Add, &[done, one], span)?;
            let at = match range.reverse {
                true => {
                    let left = elab.op(Op::Sub, &[steps, done], span)?;
                    elab.op(Op::Sub, &[left, one], span)?
                }
                false => done,
            };
            let x = elab.map_leaves(&range.xs.0, range.xs.1, &mut |elab, t| {
                let made = elab.b.index(t, &[at]);
                elab.lift(made, span)
            })?;
            let result = elab.apply(f, vec![(state.clone(), init.1), (x, range.xs.1)], span)?;
            let (next, y) = split(elab, result, span)?;
            let next = same_state(elab, &state, next, init.1, span)?;
            if range.reverse && !elab.leaves(&y, span)?.is_empty() {
                let message = "a loop backwards gives outputs only if its length is static";
                let hint = "leave out `reverse`, or give a static `length`";
                let diagnostic = Diagnostic::new(Code::WrongArguments, span, message);
                return Err(elab.report(diagnostic.hint(hint)));
            }
            let next = Value::tuple(vec![Value::Term(next_done), next]);
            Ok((Value::Term(held), elab.bounded(next, span)?, y))
        })?;
    Ok((pair(elab, &last)?.1, outputs))
}

fn pair(elab: &mut Elab<'_>, value: &Value) -> R<(Value, Value)> {
    match value {
        Value::Tuple(tuple) if tuple.items.len() == 2 => {
            Ok((tuple.items[0].clone(), tuple.items[1].clone()))
        }
        _ => Err(elab.internal("a pair was expected")),
    }
}

/// A loop of a static length.
fn run_over(
    elab: &mut Elab<'_>,
    span: Span,
    init: &Operand,
    range: &Range,
    f: &Applied,
    split: &impl Fn(&mut Elab<'_>, Value, Span) -> R<(Value, Value)>,
) -> R<(Value, Value)> {
    let Range { xs, length, reverse } = range;
    let inputs = elab.leaves(&xs.0, xs.1)?;
    let states = elab.leaves(&init.0, init.1)?;

    let mut params: Vec<Param> =
        states.iter().map(|&t| Param::Value(elab.b.ty(t).clone())).collect();
    params.extend(inputs.iter().map(|&t| {
        let ty = elab.b.ty(t);
        Param::Value(Type::new(ty.dtype, ty.shape.drop_outer(1)))
    }));
    let mut output = Value::Error;
    let step = elab.region(&params, span, |elab, vars| {
        let mut vars = vars.iter().copied();
        let mut next_var = |elab: &mut Elab<'_>, _: TermId| {
            vars.next().ok_or_else(|| elab.internal("too few variables"))
        };
        let state = elab.map_leaves(&init.0, init.1, &mut next_var)?;
        let x = elab.map_leaves(&xs.0, xs.1, &mut next_var)?;
        let result = elab.apply(f, vec![(state.clone(), init.1), (x, xs.1)], span)?;
        let (next, y) = split(elab, result, span)?;
        let next = same_state(elab, &state, next, init.1, span)?;
        let mut results = elab.leaves(&next, span)?;
        results.extend(elab.leaves(&y, span)?);
        output = y;
        Ok(results)
    })?;
    let (length, reverse) = (*length, *reverse);
    let loop_node = MapAccum { length, reverse, init: states.into(), inputs: inputs.into(), step };
    let made = elab.b.map_accum(loop_node);
    let node = elab.lift(made, span)?;
    let mut n = 0;
    let mut result = |elab: &mut Elab<'_>, _: TermId| {
        let made = elab.b.result(node, n);
        n += 1;
        elab.lift(made, span)
    };
    let state = elab.map_leaves(&init.0, init.1, &mut result)?;
    let outputs = elab.map_leaves(&output, span, &mut result)?;
    Ok((state, outputs))
}

/// The next state at the type of the state: literals adapt.
pub(super) fn same_state(
    elab: &mut Elab<'_>,
    state: &Value,
    next: Value,
    init_span: Span,
    span: Span,
) -> R<Value> {
    if matches!(next, Value::Error) {
        return Err(Reported);
    }
    match elab.tree_of(state).and_then(|tree| elab.fit(&next, &tree)) {
        Some(next) => Ok(next),
        None => {
            if let Some(tree) = elab.tree_of(state) {
                elab.unless_fits(&next, &tree);
            }
            let (before, after) = (elab.describe(state), elab.describe(&next));
            let message = format!("the state is {before} at first, and {after} after a step");
            let hint = "a state keeps its type: change the initial value (`0.0` is f64, `zeros([n])` an array), or convert";
            Err(elab.report(
                Diagnostic::new(Code::TypeMismatch, span, message)
                    .also(init_span, format!("the initial state is {before}"))
                    .hint(hint),
            ))
        }
    }
}

/// Whether there is a literal in it that adapts, and the state with such literals of a float type.
fn with_literals(value: &Value, dtype: Dtype) -> (bool, Value) {
    match value {
        Value::Known(known) => match known.adapt(dtype) {
            Some(adapted) if known.adapts && known.dtype() != dtype => {
                (true, Value::Known(Known { adapts: false, ..adapted }))
            }
            _ => (false, value.clone()),
        },
        Value::Tuple(tuple) => {
            let parts: Vec<(bool, Value)> =
                tuple.items.iter().map(|item| with_literals(item, dtype)).collect();
            let any = parts.iter().any(|(adapts, _)| *adapts);
            let items = parts.into_iter().map(|(_, item)| item).collect();
            (any, Value::tuple(items).unwrap_or_else(|_| value.clone()))
        }
        Value::Record(record) => {
            let parts: Vec<(Name, bool, Value)> = record
                .items
                .iter()
                .map(|(name, field)| {
                    let (adapts, field) = with_literals(field, dtype);
                    (name.clone(), adapts, field)
                })
                .collect();
            let any = parts.iter().any(|(_, adapts, _)| *adapts);
            let fields = parts.into_iter().map(|(name, _, field)| (name, field)).collect();
            (any, Value::record(fields).unwrap_or_else(|_| value.clone()))
        }
        Value::Term(_) | Value::Function(_) | Value::Error => (false, value.clone()),
    }
}

impl Elab<'_> {
    /// A loop with an initial state. Literals in it take the type that makes the step keep it: as
    /// they are written if that works, else `f64`, else `f32`.
    pub(super) fn adapting<T>(
        &mut self,
        init: Operand,
        make: impl Fn(&mut Self, &Operand) -> R<T>,
    ) -> R<T> {
        let floats = [Dtype::F64, Dtype::F32].map(|dtype| with_literals(&init.0, dtype));
        if floats.iter().all(|(adapts, _)| !adapts) {
            return make(self, &init);
        }
        let first = match self.attempt(|elab| make(elab, &init)) {
            Ok(made) => return Ok(made),
            Err(messages) => messages,
        };
        // What is wrong may be a type; nothing else changes by other types.
        let types = [Code::MixedTypes, Code::TypeMismatch, Code::BadOperand];
        if first.iter().any(|message| types.contains(&message.code)) {
            for (_, state) in floats.into_iter().filter(|(adapts, _)| *adapts) {
                if let Ok(made) = self.attempt(|elab| make(elab, &(state, init.1))) {
                    return Ok(made);
                }
            }
        }
        Err(self.report_all(first))
    }
}

/// Float literals in the initial state become `f32` when the loop runs over `f32` arrays.
fn adapt_floats(elab: &Elab<'_>, init: &Value, inputs: &[TermId]) -> Value {
    let floats: Vec<Dtype> =
        inputs.iter().map(|&t| elab.b.dtype(t)).filter(|dtype| dtype.is_float()).collect();
    if floats.is_empty() || floats.contains(&Dtype::F64) {
        return init.clone();
    }
    fn narrow(value: &Value) -> Value {
        match value {
            Value::Known(Known { value: Scalar::F64(x), adapts: true, .. }) => {
                Value::Known(Known::new(cast(Scalar::F64(*x), Dtype::F32), false))
            }
            Value::Tuple(tuple) => Value::tuple(tuple.items.iter().map(narrow).collect())
                .unwrap_or_else(|_| value.clone()),
            Value::Record(record) => {
                let fields = record
                    .items
                    .iter()
                    .map(|(name, field)| (name.clone(), narrow(field)))
                    .collect();
                Value::record(fields).unwrap_or_else(|_| value.clone())
            }
            Value::Known(_) | Value::Term(_) | Value::Function(_) | Value::Error => value.clone(),
        }
    }
    narrow(init)
}

impl Elab<'_> {
    /// The outermost size of all arrays of the structures; `None` when there are none.
    pub(super) fn common_length(&mut self, values: &[Operand]) -> R<Option<usize>> {
        let mut length: Option<(usize, Span)> = None;
        for (value, span) in values {
            for t in self.leaves(value, *span)? {
                let Some(&k) = self.b.shape(t).dims().first() else {
                    let message = format!(
                        "an array to run over is needed here, not the scalar {}",
                        self.b.ty(t)
                    );
                    let diagnostic = Diagnostic::new(Code::NotAnArray, *span, message);
                    return Err(self.wrong_kind(match value {
                        Value::Tuple(_) | Value::Record(_) => diagnostic
                            .hint("`tree_map(f, p, q)` takes the parts of structures one by one"),
                        _ => diagnostic,
                    }));
                };
                match length {
                    Some((before, place)) if before != k => {
                        self.unless_equal(&[(before, k)]);
                        let message = format!("arrays of different lengths, {before} and {k}");
                        let mut diagnostic = Diagnostic::new(Code::ShapeMismatch, *span, message)
                            .label(format!("length {k}"));
                        if place != *span {
                            diagnostic = diagnostic.also(place, format!("length {before}"));
                        }
                        return Err(self.report(diagnostic));
                    }
                    _ => length = Some((k, *span)),
                }
            }
        }
        Ok(length.map(|(k, _)| k))
    }

    pub(super) fn no_length(&mut self, span: Span) -> Reported {
        let message = "there is no array to run over";
        let hint = "say how many steps: `length = n`";
        self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
    }
}

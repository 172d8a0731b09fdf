//! Loops over the outermost axis of every array of a structure.

use cotan_array::Dtype;
use cotan_ir::scalar::{Scalar, cast};
use cotan_ir::{MapAccum, Param, Span, TermId, Type};

use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
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
        "fold(init, xs, f, length = of xs, reverse = false)",
        fold,
        "The last state of `(state, x) => next state`.",
        "fold(0.0, [1.0, 2.0, 3.0], (s, x) => s + x)",
    ),
    (
        "scan(init, xs, f, length = of xs, reverse = false)",
        scan,
        "The state after each step of `(state, x) => next state`.",
        "scan(0.0, [1.0, 2.0, 3.0], (s, x) => s + x)",
    ),
    (
        "map_accum(init, xs, f, length = of xs, reverse = false)",
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

/// The loop of `init`, `xs`, `f`, `length`, `reverse`; `split` takes the function's result apart into
/// next state and output.
fn run(
    elab: &mut Elab<'_>,
    call: &Call,
    split: impl FnOnce(&mut Elab<'_>, Value, Span) -> R<(Value, Value)>,
) -> R<(Value, Value)> {
    let span = call.span;
    let init = elab.value_at(call, 0);
    let xs = elab.value_at(call, 1);
    let f = elab.function_arg(call, 2)?;
    let given = elab.int_at(call, 3)?;
    let reverse = elab.flag_at(call, 4)?;
    let found = elab.common_length(std::slice::from_ref(&xs))?;
    let length = match (given, found) {
        (None, Some(found)) => found,
        (Some((given, place)), found) => {
            let given = elab.size_from(given, place)?;
            if let Some(found) = found.filter(|&found| found != given) {
                elab.unless_equal(&[(given, found)]);
                let message =
                    format!("{given} steps are asked for, but the arrays have length {found}");
                return Err(elab.report(
                    Diagnostic::new(Code::SizeConflict, place, message).also(xs.1, "these arrays"),
                ));
            }
            given
        }
        (None, None) => return Err(elab.no_length(span)),
    };
    let inputs = elab.leaves(&xs.0, xs.1)?;
    // `map_accum` is a former of the core language: what is written is what is meant.
    let init = match call.builtin.name {
        "map_accum" => init,
        _ => (adapt_floats(elab, &init.0, &inputs), init.1),
    };
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
        let result = elab.apply(&f, vec![(state.clone(), init.1), (x, xs.1)], span)?;
        let (next, y) = split(elab, result, span)?;
        let next = same_state(elab, &state, next, init.1, span)?;
        let mut results = elab.leaves(&next, span)?;
        results.extend(elab.leaves(&y, span)?);
        output = y;
        Ok(results)
    })?;
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
    fn common_length(&mut self, values: &[Operand]) -> R<Option<usize>> {
        let mut length: Option<(usize, Span)> = None;
        for (value, span) in values {
            for t in self.leaves(value, *span)? {
                let Some(&k) = self.b.shape(t).dims().first() else {
                    let message = format!(
                        "an array to run over is needed here, not the scalar {}",
                        self.b.ty(t)
                    );
                    return Err(self.report(Diagnostic::new(Code::NotAnArray, *span, message)));
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

    fn no_length(&mut self, span: Span) -> Reported {
        let message = "there is no array to run over";
        let hint = "say how many steps: `length = n`";
        self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
    }
}

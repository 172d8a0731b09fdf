//! Functions with derivatives of their own.
//!
//! `custom_vjp(f, rule, x, ..)` is what people write. `with_vjp` is how such a node prints: function
//! and rule in one lambda, so that they share what both compute.

use cotan_ir::{Checkpoint, Custom, CustomKind, Param, Span, TermId, Type};

use super::derivatives::keep_at;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::{Checkpointed, Value};
use crate::elab::{Elab, R, Reported};

pub(super) const CUSTOM: &[Row] = &[
    (
        "custom_vjp(f, rule, x, ..)",
        custom_vjp,
        "`f(x, ..)`, whose derivative is `rule`: from the arguments and the cotangent of the result to the cotangent of each argument, as a tuple if there are several.",
        "custom_vjp(x => x * x, (x, ct) => 2.0 * x * ct, 3.0)",
    ),
    (
        "custom_jvp(f, rule, x, ..)",
        custom_jvp,
        "`f(x, ..)`, whose derivative is `rule`: from the arguments and their tangents to the tangent of the result. It must be linear in the tangents.",
        "custom_jvp(x => x * x, (x, dx) => 2.0 * x * dx, 3.0)",
    ),
    (
        "with_vjp(args, like, f)",
        with_vjp,
        "A function with its own vector-Jacobian product: `f` takes the arguments and cotangents like those given, and gives results and cotangents of the arguments.",
        "with_vjp((3.0,), (0.0,), ((x,), (ct,)) => ((x * x,), (2.0 * x * ct,)))",
    ),
    (
        "with_jvp(args, like, f)",
        with_jvp,
        "A function with its own Jacobian-vector product: `f` takes the arguments and tangents like those given, and gives results and tangents of the results.",
        "with_jvp((3.0,), (0.0,), ((x,), (dx,)) => ((x * x,), (2.0 * x * dx,)))",
    ),
    (
        "with_equation(args, like, f)",
        with_equation,
        "The solution of an equation `g(x) = 0`: `f` takes the arguments and a pair of an unknown and a right side, both tuples like the solution, and gives the solution and, in one tuple, the parts of the residual `g(x)`, of the `v` with `g'(x) v = r`, and of that with `g'(x)^T v = r`. Derivatives follow from these, also by what is captured.",
        "with_equation((9.0,), (0.0, 0.0), ((p,), (x, r)) => ((sqrt(p),), (x * x - p, r / (2.0 * x), r / (2.0 * x))))",
    ),
    (
        "with_checkpoint(args, f, everything = false, contractions = false, bytes = none, states = none, again = false)",
        with_checkpoint,
        "The tuple of results of `f` of a tuple, of which reverse mode keeps what is said: see `checkpoint`. `again` is what a reverse pass computes again, apart from everything else.",
        "with_checkpoint((3.0,), ((x,)) => (x * x,))",
    ),
];

fn with_checkpoint(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let args = elab.value_at(call, 0);
    let f = elab.function_arg(call, 1)?;
    let keep = keep_at(elab, call, 2)?;
    let again = elab.flag_at(call, 6)?;
    let kind = CustomKind::Checkpoint(Checkpoint { keep, again });
    elab.custom_node(kind, std::slice::from_ref(&args), &[], call.span, |elab, own, _| {
        let value = elab.apply(&f, own, call.span)?;
        let nothing = Value::tuple(Vec::new());
        Ok((value, elab.bounded(nothing, call.span)?))
    })
}

fn with_equation(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    with_rule(elab, call, CustomKind::Implicit)
}

fn with_vjp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    with_rule(elab, call, CustomKind::Vjp)
}

fn with_jvp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    with_rule(elab, call, CustomKind::Jvp)
}

fn with_rule(elab: &mut Elab<'_>, call: &Call, kind: CustomKind) -> R<Value> {
    let args = elab.value_at(call, 0);
    let like = elab.value_at(call, 1);
    let f = elab.function_arg(call, 2)?;
    let taken = elab.leaf_types(&like)?;
    elab.custom_node(kind, std::slice::from_ref(&args), &taken, call.span, |elab, own, vars| {
        let taken = refill(elab, &like, vars)?;
        let mut inputs = own;
        inputs.push((taken, like.1));
        let result = elab.apply(&f, inputs, call.span)?;
        match &result {
            Value::Tuple(pair) if pair.items.len() == 2 => {
                Ok((pair.items[0].clone(), pair.items[1].clone()))
            }
            Value::Error => Err(Reported),
            _ => {
                let message = format!(
                    "the function must give a pair (results, what the rule gives), not {}",
                    elab.describe(&result)
                );
                Err(elab.report(Diagnostic::new(Code::TypeMismatch, call.span, message)))
            }
        }
    })
}

fn custom_vjp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (f, rule, args) = parts(elab, call)?;
    // The cotangents are like the results: find those first.
    let mut result = Value::Error;
    let own = elab.param_types(&args)?;
    elab.region(&params(&own), call.span, |elab, vars| {
        let inputs = refill_all(elab, &args, vars)?;
        result = elab.apply(&f, inputs, call.span)?;
        elab.leaves(&result, call.span)
    })?;
    let taken: Vec<Type> = elab.float_types(&(result.clone(), call.span))?;
    elab.custom_node(CustomKind::Vjp, &args, &taken, call.span, |elab, own, vars| {
        let value = elab.apply(&f, own.clone(), call.span)?;
        let mut inputs = own;
        let cotangent = elab.in_place_of_floats(&value, call.span, vars)?;
        inputs.push((cotangent, call.span));
        Ok((value, elab.apply(&rule, inputs, call.span)?))
    })
}

fn custom_jvp(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (f, rule, args) = parts(elab, call)?;
    let mut taken = Vec::new();
    for arg in &args {
        taken.extend(elab.float_types(arg)?);
    }
    elab.custom_node(CustomKind::Jvp, &args, &taken, call.span, |elab, own, vars| {
        let value = elab.apply(&f, own.clone(), call.span)?;
        let mut inputs = own.clone();
        let mut vars = vars;
        for (arg, span) in &own {
            let count = elab.float_types(&(arg.clone(), *span))?.len();
            let (here, rest) = vars.split_at(count.min(vars.len()));
            inputs.push((elab.in_place_of_floats(arg, *span, here)?, *span));
            vars = rest;
        }
        Ok((value, elab.apply(&rule, inputs, call.span)?))
    })
}

/// Function, rule and arguments of `custom_vjp` and `custom_jvp`.
fn parts(elab: &mut Elab<'_>, call: &Call) -> R<(Applied, Applied, Vec<Operand>)> {
    let f = elab.function_arg(call, 0)?;
    let rule = elab.function_arg(call, 1)?;
    let args: Vec<Operand> = call.args(2).iter().map(|arg| elab.arg_value(arg)).collect();
    Ok((f, rule, args))
}

fn params(types: &[Type]) -> Vec<Param> {
    types.iter().cloned().map(Param::Value).collect()
}

/// A structure with other terms at its leaves, in order.
fn refill(elab: &mut Elab<'_>, (value, span): &Operand, terms: &[TermId]) -> R<Value> {
    let mut terms = terms.iter().copied();
    elab.map_leaves(value, *span, &mut |elab, _| {
        terms.next().ok_or_else(|| elab.internal("too few variables"))
    })
}

/// Several structures with other terms at their leaves, in order.
fn refill_all(elab: &mut Elab<'_>, values: &[Operand], terms: &[TermId]) -> R<Vec<Operand>> {
    let mut terms = terms;
    let mut refilled = Vec::with_capacity(values.len());
    for operand in values {
        let count = elab.leaves(&operand.0, operand.1)?.len();
        let (here, rest) = terms.split_at(count.min(terms.len()));
        refilled.push((refill(elab, operand, here)?, operand.1));
        terms = rest;
    }
    Ok(refilled)
}

impl Elab<'_> {
    /// A checkpoint at arguments. Those that are known stay that, and functions are what they are.
    pub(crate) fn apply_checkpoint(
        &mut self,
        checkpoint: &Checkpointed,
        mut args: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        let moves = |value: &Value| !matches!(value, Value::Known(_) | Value::Function(_));
        let own: Vec<Operand> = args.iter().filter(|(value, _)| moves(value)).cloned().collect();
        if own.iter().any(|(value, _)| matches!(value, Value::Error)) {
            return Err(Reported);
        }
        let kind = CustomKind::Checkpoint(Checkpoint { keep: checkpoint.keep, again: false });
        self.custom_node(kind, &own, &[], span, |elab, own, _| {
            let mut own = own.into_iter();
            for arg in args.iter_mut().filter(|(value, _)| moves(value)) {
                *arg = own.next().ok_or_else(|| elab.internal("too few arguments"))?;
            }
            let value = elab.apply_function(&checkpoint.function, args, explicit, span)?;
            let nothing = Value::tuple(Vec::new());
            Ok((value, elab.bounded(nothing, span)?))
        })
    }

    fn leaf_types(&mut self, (value, span): &Operand) -> R<Vec<Type>> {
        let leaves = self.leaves(value, *span)?;
        Ok(leaves.into_iter().map(|t| self.b.ty(t).clone()).collect())
    }

    fn float_types(&mut self, operand: &Operand) -> R<Vec<Type>> {
        let types = self.leaf_types(operand)?;
        Ok(types.into_iter().filter(|ty| ty.dtype.is_float()).collect())
    }

    fn param_types(&mut self, args: &[Operand]) -> R<Vec<Type>> {
        let mut types = Vec::new();
        for arg in args {
            types.extend(self.leaf_types(arg)?);
        }
        Ok(types)
    }

    /// The structure with terms in place of its float leaves.
    fn in_place_of_floats(&mut self, value: &Value, span: Span, terms: &[TermId]) -> R<Value> {
        let mut terms = terms.iter().copied();
        self.map_leaves(value, span, &mut |elab, t| match elab.b.dtype(t).is_float() {
            true => terms.next().ok_or_else(|| elab.internal("too few variables")),
            false => Ok(t),
        })
    }

    /// The node of a function with a derivative of its own. `body` gives the function's value and
    /// what the rule gives, for the arguments as variables and the variables that only the rule
    /// takes.
    fn custom_node(
        &mut self,
        kind: CustomKind,
        args: &[Operand],
        taken: &[Type],
        span: Span,
        body: impl FnOnce(&mut Self, Vec<Operand>, &[TermId]) -> R<(Value, Value)>,
    ) -> R<Value> {
        let own = self.param_types(args)?;
        let mut terms = Vec::with_capacity(own.len());
        for (value, place) in args {
            terms.extend(self.leaves(value, *place)?);
        }
        let all: Vec<Type> = own.iter().chain(taken).cloned().collect();
        let (mut output, mut outputs) = (Value::Error, 0);
        let region = self.region(&params(&all), span, |elab, vars| {
            let (own_vars, taken_vars) = vars.split_at(own.len());
            let own_values = refill_all(elab, args, own_vars)?;
            let (value, given) = body(elab, own_values, taken_vars)?;
            let mut results = elab.leaves(&value, span)?;
            outputs = results.len();
            output = value;
            for t in elab.leaves(&given, span)? {
                if elab.b.dtype(t).is_float() {
                    results.push(t);
                }
            }
            Ok(results)
        })?;
        let made = self.b.custom(Custom { kind, args: terms.into(), outputs, region });
        let node = self.lift(made, span)?;
        let mut n = 0;
        self.map_leaves(&output, span, &mut |elab, _| {
            let made = elab.b.result(node, n);
            n += 1;
            elab.lift(made, span)
        })
    }
}

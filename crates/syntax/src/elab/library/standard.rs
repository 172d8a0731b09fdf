//! The functions of the standard library as builtins: arguments as the rows of its table ask for
//! them, its errors as messages, and what it says about sizes.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{ErrorKind, Span, TermId};
use cotan_library::{Arg as Given, Fact, Function, Group, Kind};

use super::{Arg, Call};
use crate::ast::ExprKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::ops::Operand;
use crate::elab::value::Value;
use crate::elab::{Elab, Name, R, Reported};

/// Calls a function of the library.
pub(super) fn call(elab: &mut Elab<'_>, call: &Call, function: &'static Function) -> R<Value> {
    if let Some(op) = of_two(function, call) {
        let operands = elab.all_values(call);
        return elab.row(op, &operands, call.span);
    }
    let mut args = Vec::with_capacity(function.params.len());
    // Literals take the element type of the arrays, which may come later.
    let mut arrays: Vec<(usize, Vec<Operand>)> = Vec::new();
    for (n, param) in function.params.iter().enumerate() {
        if param.kind.is_array() {
            let mut values: Vec<Operand> =
                call.args(n).iter().map(|arg| elab.arg_value(arg)).collect();
            if param.kind == Kind::Complex {
                values = values.into_iter().flat_map(parts_of).collect();
            }
            arrays.push((n, values));
            args.push(Given::Default);
        } else {
            args.push(match call.arg(n) {
                Some(arg) => known(elab, arg, param.kind)?,
                None => Given::Default,
            });
        }
    }
    // Formulas for elements are formulas for structures of arrays, too.
    if function.group == Group::Elementwise && arrays.len() == args.len() {
        let operands = arrays.into_iter().flat_map(|(_, values)| values).collect();
        return elab.over_structures(function.name, operands, call.span, &mut |elab, operands| {
            let arrays = operands.into_iter().enumerate().map(|(n, value)| (n, vec![value]));
            apply(elab, call, function, args.clone(), arrays.collect())
        });
    }
    // So are other arrangements of the first array.
    let structure = matches!(function.group, Group::Arranging | Group::Making)
        && matches!(&arrays[..], [(_, first), ..]
            if matches!(&first[..], [(Value::Tuple(_) | Value::Record(_), _)]));
    if structure {
        let mut arrays = arrays;
        let (_, first) = arrays.remove(0);
        let (form, span) = first.into_iter().next().unwrap_or((Value::Error, call.span));
        return elab.map_leaves(&form, span, &mut |elab, t| {
            let mut arrays = arrays.clone();
            arrays.insert(0, (0, vec![(Value::Term(t), span)]));
            let made = apply(elab, call, function, args.clone(), arrays)?;
            elab.term(&made, call.span)
        });
    }
    apply(elab, call, function, args, arrays)
}

/// The function at arguments, of which the arrays are not yet among `args`.
fn apply(
    elab: &mut Elab<'_>,
    call: &Call,
    function: &'static Function,
    mut args: Vec<Given>,
    arrays: Vec<(usize, Vec<Operand>)>,
) -> R<Value> {
    let common = common_dtype(elab, function, &arrays)?;
    for (n, values) in arrays {
        let kind = function.params.get(n).map_or(Kind::Any, |param| param.kind);
        let mut terms = Vec::with_capacity(values.len());
        for (value, span) in &values {
            terms.push(match kind {
                Kind::Int => elab.term_as(value, Dtype::I64, *span)?,
                Kind::Bool => elab.term_as(value, Dtype::Bool, *span)?,
                Kind::Key => elab.term(value, *span)?,
                _ => elab.term_as(value, common, *span)?,
            });
        }
        if let Some(arg) = args.get_mut(n) {
            *arg = match (&*terms, kind.is_many()) {
                ([], false) => Given::Default,
                ([t], false) => Given::Array(*t),
                _ => Given::Arrays(terms),
            };
        }
    }
    let (made, facts) = function.call(&mut elab.b, &args);
    follow(elab, &facts);
    match made {
        Ok(cotan_library::Given::One(t)) => Ok(Value::Term(t)),
        Ok(cotan_library::Given::Complex([re, im])) => {
            let parts = [("re", re), ("im", im)];
            let fields = parts.map(|(name, t)| (Name::from(name), Value::Term(t)));
            let record = Value::record(fields.to_vec());
            elab.bounded(record, call.span)
        }
        Ok(cotan_library::Given::Several(ts)) => {
            let tuple = Value::tuple(ts.into_iter().map(Value::Term).collect());
            elab.bounded(tuple, call.span)
        }
        Err(error) => Err(failed(elab, call, function, &args, &facts, error)),
    }
}

/// The real and the imaginary parts of a record `{re, im}`; other values are real.
fn parts_of((value, span): Operand) -> Vec<Operand> {
    let part = |name: &str| match &value {
        Value::Record(fields) => {
            fields.items.iter().find(|(own, _)| **own == *name).map(|(_, part)| part.clone())
        }
        _ => None,
    };
    match (part("re"), part("im")) {
        (Some(re), Some(im)) => vec![(re, span), (im, span)],
        _ => vec![(value, span)],
    }
}

/// `max(a, b)` and `min(a, b)` are scalar operations.
fn of_two(function: &Function, call: &Call) -> Option<Op> {
    match function.name {
        "max" if call.positional() == 2 => Some(Op::Max),
        "min" if call.positional() == 2 => Some(Op::Min),
        _ => None,
    }
}

/// An argument that is known at compile time.
pub(super) fn known(elab: &mut Elab<'_>, arg: &Arg, kind: Kind) -> R<Given> {
    Ok(match kind {
        Kind::Axis | Kind::Whole | Kind::Size => {
            let (value, span) = elab.arg_value(arg);
            let int = elab.static_int(&value, span)?;
            if kind == Kind::Size {
                elab.size_from(int, span)?;
            }
            Given::Int(int)
        }
        Kind::Axes | Kind::Wholes | Kind::Sizes | Kind::Widths => {
            let mut ints = Vec::new();
            for (int, span) in elab.int_list(arg)? {
                if matches!(kind, Kind::Sizes | Kind::Widths) {
                    elab.size_from(int, span)?;
                }
                ints.push(int);
            }
            Given::Ints(ints)
        }
        Kind::Real => {
            let (value, span) = elab.arg_value(arg);
            match &value {
                Value::Known(known) => match known.cast(Dtype::F64).value {
                    Scalar::F64(x) => Given::Real(x),
                    _ => return Err(elab.internal("a number that is no float")),
                },
                Value::Error => return Err(Reported),
                Value::Term(_) | Value::Tuple(_) | Value::Record(_) | Value::Function(_) => {
                    let message = format!(
                        "a number that is known at compile time is needed here, not {}",
                        elab.describe(&value)
                    );
                    return Err(elab.report(Diagnostic::new(Code::NotStatic, span, message)));
                }
            }
        }
        Kind::Flag => Given::Flag(elab.flag_of(arg)?),
        Kind::Dtype => Given::Dtype(elab.dtype_of(arg)?),
        Kind::Word => Given::Word(word(elab, arg)?),
        Kind::Any
        | Kind::Number
        | Kind::Float
        | Kind::Int
        | Kind::Bool
        | Kind::Key
        | Kind::Complex
        | Kind::Anys
        | Kind::Numbers => return Err(elab.internal("an array where a number is expected")),
    })
}

/// A word is written like a name, in backquotes where it has other characters.
fn word(elab: &mut Elab<'_>, arg: &Arg) -> R<String> {
    if let Arg::Expr(expr) = arg
        && let ExprKind::Name(name) = &elab.ast()[*expr].kind
    {
        return Ok(name.to_string());
    }
    let message = "a word is needed here, which stands as it is or between backquotes";
    Err(elab.report(Diagnostic::new(Code::WrongArguments, elab.arg_span(arg), message)))
}

/// The element type that literals among the arrays take.
fn common_dtype(
    elab: &mut Elab<'_>,
    function: &Function,
    arrays: &[(usize, Vec<Operand>)],
) -> R<Dtype> {
    let kind = |n: usize| function.params.get(n).map_or(Kind::Any, |param| param.kind);
    let (mut loose, mut floats) = (None, false);
    for (n, values) in arrays.iter().filter(|(n, _)| !kind(*n).is_apart()) {
        floats |= kind(*n) == Kind::Float;
        for (value, span) in values {
            match value {
                Value::Known(known) if known.adapts => {
                    loose = match (loose, known.dtype()) {
                        (Some(Dtype::F64), _) => Some(Dtype::F64),
                        (_, dtype) => Some(dtype),
                    };
                }
                Value::Known(known) => return Ok(known.dtype()),
                _ => {
                    let t = elab.term(value, *span)?;
                    return Ok(elab.b.dtype(t));
                }
            }
        }
    }
    Ok(match loose {
        Some(Dtype::I64) | None if floats => Dtype::F64,
        loose => loose.unwrap_or(Dtype::F64),
    })
}

/// Hands on what the library says about sizes.
fn follow(elab: &mut Elab<'_>, facts: &[Fact]) {
    for fact in facts {
        match fact {
            Fact::Sum(parts) => elab.track_sum(parts),
            Fact::Product(dims) => elab.track_product(dims),
            Fact::UnlessEqual(pairs) => elab.unless_equal(pairs),
            Fact::UnlessBroadcast(a, b) => elab.unless_broadcast(a, b),
            Fact::UnlessStretches(own, to) => elab.unless_stretches(own, to),
            Fact::UnlessAsMany(a, b) => elab.unless_as_many(a, b),
            Fact::Blame(_) | Fact::BadAxis => {}
        }
    }
}

/// The message of an error: at the arguments that it is about, with their types.
fn failed(
    elab: &mut Elab<'_>,
    call: &Call,
    function: &Function,
    args: &[Given],
    facts: &[Fact],
    error: cotan_ir::Error,
) -> Reported {
    if error.kind() != ErrorKind::Type {
        let failed: cotan_ir::Result<()> = Err(error);
        return elab.lift(failed, call.span).err().unwrap_or(Reported);
    }
    let about_sizes = |fact: &Fact| !matches!(fact, Fact::Blame(_) | Fact::BadAxis);
    let bad_axis = facts.contains(&Fact::BadAxis);
    let code = match facts.iter().any(about_sizes) {
        _ if bad_axis => Code::BadSize,
        true => Code::ShapeMismatch,
        false => Code::BadOperand,
    };
    let blamed: Vec<(Span, Option<TermId>)> = facts
        .iter()
        .flat_map(|fact| match fact {
            Fact::Blame(params) => params.clone(),
            Fact::BadAxis => {
                let axis = |kind: Kind| matches!(kind, Kind::Axis | Kind::Axes);
                function.params.iter().position(|param| axis(param.kind)).into_iter().collect()
            }
            _ => Vec::new(),
        })
        .filter_map(|n| {
            let term = match args.get(n) {
                Some(Given::Array(t)) => Some(*t),
                _ => None,
            };
            Some((elab.arg_span(call.arg(n)?), term))
        })
        .collect();
    let message = format!("`{}`: {}", function.name, error.message());
    let place = blamed.last().map_or(call.span, |(span, _)| *span);
    let mut diagnostic = Diagnostic::new(code, place, message);
    if let Some((_, Some(t))) = blamed.last().filter(|_| !bad_axis) {
        diagnostic = diagnostic.label(format!("this is {}", elab.b.ty(*t)));
    }
    for (span, term) in blamed.iter().rev().skip(1) {
        if let Some(t) = term {
            diagnostic = diagnostic.also(*span, format!("this is {}", elab.b.ty(*t)));
        }
    }
    if let Some(hint) = error.hint() {
        diagnostic = diagnostic.hint(hint);
    }
    elab.report(diagnostic)
}

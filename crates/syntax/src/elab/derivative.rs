//! Derivatives applied: `grad(f)(x)`.
//!
//! The function is applied to variables in the place of the arguments to differentiate by, in a
//! region of its own. The region becomes a closed program whose inputs are these variables and what
//! the function captures; that program is differentiated, and the derivative is put where the call
//! stands. So derivatives nest in any order, and under `build` as anything else does.

use cotan_array::Dtype;
use cotan_ir::{Extracted, Param, Scopes, Span, TermId};
use cotan_pipeline::{Derivative, Taylor, derive, derive_taylor};

use super::call::count;
use super::ops::Operand;
use super::types::Spec;
use super::value::{Callable, Derived, Function, Value, Wrt};
use super::{Elab, R, Reported};
use crate::diagnostic::{Code, Diagnostic};

impl Derived {
    /// Whether it takes two arguments: the point, which is all arguments of the function, and a
    /// cotangent or tangent. The others take the arguments of the function.
    pub(crate) fn takes_direction(&self) -> bool {
        match self.derivative {
            Derivative::Vjp | Derivative::Jvp | Derivative::Hvp => true,
            Derivative::Grad
            | Derivative::ValueAndGrad
            | Derivative::JacRev
            | Derivative::JacFwd
            | Derivative::Jacobian
            | Derivative::Hessian => false,
        }
    }

    /// Whether the function must give a scalar.
    fn of_scalar(&self) -> bool {
        match self.derivative {
            Derivative::Grad | Derivative::ValueAndGrad | Derivative::Hvp | Derivative::Hessian => {
                true
            }
            Derivative::Vjp | Derivative::Jvp => false,
            Derivative::JacRev | Derivative::JacFwd | Derivative::Jacobian => false,
        }
    }
}

/// The components of a tuple, each at the place of the whole; anything else alone.
fn components((value, span): &Operand) -> Vec<Operand> {
    match value {
        Value::Tuple(tuple) => tuple.items.iter().map(|item| (item.clone(), *span)).collect(),
        _ => vec![(value.clone(), *span)],
    }
}

/// The leaves of results, in order, as they are put into structures.
type Leaves<'a> = dyn Iterator<Item = TermId> + 'a;

impl Elab<'_> {
    /// The derivative of a function at arguments; explicit sizes are those of the function.
    pub(super) fn apply_derived(
        &mut self,
        derived: &Derived,
        args: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        if !derived.takes_direction() {
            return self.apply_derived_at(derived, args, Vec::new(), explicit, span);
        }
        let given = args.len();
        let Ok([point, direction]) = <[Operand; 2]>::try_from(args) else {
            return Err(self.wrong_directions(derived, given, span));
        };
        let arity = self.arity_of(&derived.function);
        let args = match (&point.0, arity) {
            (_, Some(1)) => vec![point],
            (Value::Tuple(tuple), Some(arity)) if tuple.items.len() == arity => components(&point),
            (Value::Tuple(_), None) => components(&point),
            (Value::Error, _) => return Err(Reported),
            (_, None) => vec![point],
            (_, Some(arity)) => return Err(self.wrong_point(derived, arity, &point)),
        };
        let several = match &derived.wrt {
            Wrt::All => args.len() > 1,
            Wrt::One(_) => false,
            Wrt::Several(_) => true,
        };
        let directions = match derived.derivative {
            Derivative::Jvp | Derivative::Hvp if several => components(&direction),
            _ => vec![direction],
        };
        self.apply_derived_at(derived, args, directions, explicit, span)
    }

    /// The derivative at the arguments of the function, with a cotangent of the result, or a tangent
    /// for each argument to differentiate by.
    pub(super) fn apply_derived_at(
        &mut self,
        derived: &Derived,
        mut args: Vec<Operand>,
        directions: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        if args.iter().chain(&directions).any(|(value, _)| matches!(value, Value::Error)) {
            return Err(Reported);
        }
        let chosen = self.chosen_arguments(derived, &args, span)?;
        for &k in &chosen {
            let value = self.point(derived, &args, k)?;
            if let Some(arg) = args.get_mut(k) {
                arg.0 = value;
            }
        }
        // Only what is differentiated by: static arguments stay static.
        let at: Vec<Operand> = chosen.iter().filter_map(|&k| args.get(k).cloned()).collect();
        let mut inputs = Vec::new();
        for (value, place) in &at {
            inputs.extend(self.leaves(value, *place)?);
        }
        let points = inputs.len();
        let params: Vec<Param> =
            inputs.iter().map(|&t| Param::Value(self.b.ty(t).clone())).collect();

        let mut result = Value::Error;
        let region = self.region(&params, span, |elab, vars| {
            let mut vars = vars.iter().copied();
            for (&k, (value, place)) in chosen.iter().zip(&at) {
                let variable = elab.fill(value, *place, &mut vars)?;
                if let Some(arg) = args.get_mut(k) {
                    arg.0 = variable;
                }
            }
            result = elab.apply_function(&derived.function, args, explicit, span)?;
            elab.differentiable_result(derived, &result, span)?;
            elab.leaves(&result, span)
        })?;
        let extracted = Extracted::new(&self.b, &Scopes::of_region(&self.b, region), region);
        let Extracted { program, captures } = self.lift(extracted, span)?;
        inputs.extend(captures);
        inputs.extend(self.direction_leaves(derived, &directions, &at, &result, span)?);

        // `grad` of the core drops the values, the auxiliary ones, too.
        let derivative = match derived.derivative {
            Derivative::Grad if derived.aux => Derivative::ValueAndGrad,
            other => other,
        };
        let wrt: Vec<usize> = (0..points).collect();
        let made = match derived.taylor {
            Some(taylor) => derive_taylor(&program, taylor, Some(&wrt)),
            None => derive(&program, derivative, Some(&wrt)),
        };
        let made = made.and_then(|program| self.b.inline(&program, &inputs));
        let mut leaves = self.lift(made, span)?.into_iter();
        self.assemble(derived, &at, &result, &mut leaves, span)
    }

    fn wrong_directions(&mut self, derived: &Derived, given: usize, span: Span) -> Reported {
        let (name, found) = (derived.name, count(given, "argument"));
        let (what, one, several) = match derived.derivative {
            Derivative::Vjp => ("a cotangent of its result", "ct", "ct"),
            _ => ("a tangent", "dx", "(dx, dy)"),
        };
        let message = format!(
            "`{name}(f)` takes two arguments, the point and {what}; {found} cannot be that"
        );
        let hint = format!(
            "`{name}(f)(x, {one})`; several arguments of `f` are a tuple: `{name}(f)((x, y), {several})`"
        );
        self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
    }

    /// A point that is not a tuple of the arguments.
    fn wrong_point(&mut self, derived: &Derived, arity: usize, point: &Operand) -> Reported {
        let (name, found) = (derived.name, self.describe(&point.0));
        let message =
            format!("the point is {found}, but the function takes {}", count(arity, "argument"));
        let hint = format!("several arguments are a tuple: `{name}(f)((x, y), ..)`");
        self.report(Diagnostic::new(Code::WrongArguments, point.1, message).hint(hint))
    }

    /// Tangents for a derivative at a point that are too few or too many.
    pub(super) fn wrong_tangents(&mut self, wanted: usize, given: usize, span: Span) -> Reported {
        let message = format!(
            "the derivative takes one tangent for each argument of `linearize`, {wanted}, not {given}"
        );
        let hint = "`let (y, df) = linearize(f, x, y) in df(dx, dy)`";
        self.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint))
    }

    /// The positions of the arguments to differentiate by.
    fn chosen_arguments(
        &mut self,
        derived: &Derived,
        args: &[Operand],
        span: Span,
    ) -> R<Vec<usize>> {
        let positions = match &derived.wrt {
            Wrt::All if args.is_empty() => {
                let message = format!("`{}` of a function without arguments", derived.name);
                let hint = "there is nothing to differentiate by";
                return Err(
                    self.report(Diagnostic::new(Code::NotDifferentiable, span, message).hint(hint))
                );
            }
            Wrt::All => return Ok((0..args.len()).collect()),
            Wrt::One(position) => std::slice::from_ref(position),
            Wrt::Several(positions) => positions,
        };
        for &(k, place) in positions {
            if k >= args.len() {
                let message = format!(
                    "there is no argument {k}: the function has {}",
                    count(args.len(), "argument")
                );
                return Err(self.report(
                    Diagnostic::new(Code::WrongArguments, place, message)
                        .also(span, "in this call")
                        .hint("arguments count from 0"),
                ));
            }
        }
        Ok(positions.iter().map(|(k, _)| *k).collect())
    }

    /// The argument at `k` as arrays of floats: literals become such.
    fn point(&mut self, derived: &Derived, args: &[Operand], k: usize) -> R<Value> {
        let Some((value, span)) = args.get(k) else {
            return Err(self.internal("an argument is missing"));
        };
        let spec = self.declared_type(&derived.function, k);
        let (path, found) = match self.floats(value, spec.as_ref()) {
            Ok(value) => return Ok(value),
            Err(part) => part,
        };
        let name = derived.name;
        let part = self.part_name(&derived.function, k, &path);
        let message =
            format!("`{name}` cannot differentiate with respect to {part}, which is {found}");
        let mut floats = Vec::new();
        for (n, (arg, _)) in args.iter().enumerate() {
            let spec = self.declared_type(&derived.function, n);
            if self.floats(arg, spec.as_ref()).is_ok() {
                floats.push(n.to_string());
            }
        }
        let others = floats.join(", ");
        let hint = match floats.len() {
            0 => "only f64 and f32 have derivatives; convert it: `f64(…)`".to_owned(),
            _ if name == "linearize" => {
                format!("capture it in a lambda: `{name}(x => f(x, n), x)`")
            }
            1 => format!(
                "differentiate with respect to the others only: `{name}(f, wrt = {others})`"
            ),
            _ => format!(
                "differentiate with respect to the others only: `{name}(f, wrt = ({others}))`"
            ),
        };
        let diagnostic = Diagnostic::new(Code::NotDifferentiable, *span, message);
        Err(self.report(diagnostic.label("floats are needed here").hint(hint)))
    }

    /// How messages call a part of an argument of a function.
    fn part_name(&self, function: &Function, k: usize, path: &str) -> String {
        let mut callable = &function.callable;
        loop {
            callable = match callable {
                Callable::Derived(inner) if !inner.takes_direction() => &inner.function.callable,
                Callable::Checkpoint(inner) => &inner.function.callable,
                _ => break,
            };
        }
        let def = match callable {
            Callable::Def(id) => self.modules.def(*id),
            Callable::Closure(_) | Callable::Builtin(_) => None,
            Callable::Derived(_) | Callable::Linear(_) | Callable::Checkpoint(_) => None,
        };
        match def.and_then(|def| def.params.get(k)) {
            Some(param) => format!("argument {k}, `{}{path}`", param.name.name),
            None if path.is_empty() => format!("argument {k}"),
            None => format!("`{path}` of argument {k}"),
        }
    }

    /// The declared type of an argument of a function, if it has one.
    fn declared_type(&mut self, function: &Function, k: usize) -> Option<Spec> {
        if let Some(contract) = &function.contract {
            return contract.params.get(k).cloned();
        }
        match &function.callable {
            Callable::Def(id) => {
                let signature = self.signature(*id).ok()?;
                signature.params.get(k).map(|(_, spec)| spec.clone())
            }
            Callable::Derived(inner) if !inner.takes_direction() => {
                self.declared_type(&inner.function, k)
            }
            Callable::Derived(inner) => {
                let point = k == 0 && self.arity_of(&inner.function) == Some(1);
                if point { self.declared_type(&inner.function, 0) } else { None }
            }
            Callable::Checkpoint(inner) => self.declared_type(&inner.function, k),
            Callable::Closure(_) | Callable::Builtin(_) | Callable::Linear(_) => None,
        }
    }

    /// The structure with literals as floats; or the path to the first part that is none, and what
    /// it is.
    pub(super) fn floats(
        &self,
        value: &Value,
        spec: Option<&Spec>,
    ) -> Result<Value, (String, String)> {
        let none = |_| (String::new(), "too large".to_owned());
        match value {
            Value::Term(t) if self.b.dtype(*t).is_float() => Ok(value.clone()),
            Value::Known(known) => {
                let dtype = match spec {
                    Some(Spec::Array { dtype, .. }) => *dtype,
                    _ if known.dtype() == Dtype::F32 => Dtype::F32,
                    _ => Dtype::F64,
                };
                let float = known.adapt(dtype).filter(|_| dtype.is_float()).map(Value::Known);
                float.ok_or_else(|| (String::new(), self.describe(value)))
            }
            Value::Tuple(tuple) => {
                let mut items = Vec::new();
                for (n, item) in tuple.items.iter().enumerate() {
                    let spec = match spec {
                        Some(Spec::Tuple(specs, _)) => specs.get(n),
                        _ => None,
                    };
                    let below = |(path, found)| (format!(".{n}{path}"), found);
                    items.push(self.floats(item, spec).map_err(below)?);
                }
                Value::tuple(items).map_err(none)
            }
            Value::Record(record) => {
                let mut fields = Vec::new();
                for (name, field) in &record.items {
                    let spec = match spec {
                        Some(Spec::Record(specs, _)) => {
                            specs.iter().find(|(field, _)| field == name).map(|(_, spec)| spec)
                        }
                        _ => None,
                    };
                    let below = |(path, found)| (format!(".{name}{path}"), found);
                    fields.push((name.clone(), self.floats(field, spec).map_err(below)?));
                }
                Value::record(fields).map_err(none)
            }
            Value::Term(_) | Value::Function(_) | Value::Error => {
                Err((String::new(), self.describe(value)))
            }
        }
    }

    /// Checks that the result of a function has the derivative that is asked for.
    fn differentiable_result(&mut self, derived: &Derived, result: &Value, span: Span) -> R<()> {
        let name = derived.name;
        if matches!(result, Value::Error) {
            return Err(Reported);
        }
        let pair = match result {
            Value::Tuple(tuple) if tuple.items.len() == 2 => tuple.items.first(),
            _ => None,
        };
        let loss = match (derived.aux, pair) {
            (false, _) => result,
            (true, Some(loss)) => loss,
            (true, None) => {
                let found = self.describe(result);
                let message = format!(
                    "with `aux = true` the function must give a pair (loss, rest), not {found}"
                );
                return Err(self.report(Diagnostic::new(Code::NotDifferentiable, span, message)));
            }
        };
        if !derived.of_scalar() {
            return self.float_leaves(derived, result, span);
        }
        let scalar = match loss {
            Value::Known(known) => known.dtype().is_float(),
            Value::Term(t) => self.b.dtype(*t).is_float() && self.b.shape(*t).rank() == 0,
            Value::Tuple(_) | Value::Record(_) | Value::Function(_) | Value::Error => false,
        };
        if scalar {
            return Ok(());
        }
        let message =
            format!("`{name}` needs a function to a float scalar, not to {}", self.describe(loss));
        let hint = match (loss, derived.derivative) {
            (Value::Tuple(tuple), Derivative::Grad | Derivative::ValueAndGrad)
                if tuple.items.len() == 2 && !derived.aux =>
            {
                format!("if it gives a loss and more, write `{name}(f, aux = true)`")
            }
            (Value::Term(t), _) if self.b.dtype(*t).is_float() => {
                "sum the result, or ask for `jacobian(f)`, `vjp(f)` or `jvp(f)`".to_owned()
            }
            _ => "give one float: f64 or f32".to_owned(),
        };
        Err(self.report(Diagnostic::new(Code::NotDifferentiable, span, message).hint(hint)))
    }

    /// Checks that a result consists of floats.
    fn float_leaves(&mut self, derived: &Derived, result: &Value, span: Span) -> R<()> {
        let Some(tree) = self.tree_of(result) else {
            self.leaves(result, span)?;
            return Ok(());
        };
        let discrete = tree.leaves("").into_iter().find(|(_, ty)| !ty.dtype.is_float());
        let Some((path, ty)) = discrete.map(|(path, ty)| (path, ty.clone())) else {
            return Ok(());
        };
        let part = match path.as_str() {
            "" => "the function's result".to_owned(),
            path => format!("the part `{path}` of the function's result"),
        };
        let name = derived.name;
        let message = format!("`{name}` cannot differentiate {part}, which is {ty}");
        let hint = "only f64 and f32 have derivatives: leave it out, or convert it";
        Err(self.report(Diagnostic::new(Code::NotDifferentiable, span, message).hint(hint)))
    }

    /// The arrays of cotangents and tangents, which must have the types of what they belong to.
    fn direction_leaves(
        &mut self,
        derived: &Derived,
        directions: &[Operand],
        at: &[Operand],
        result: &Value,
        span: Span,
    ) -> R<Vec<TermId>> {
        let (owners, what, whose) = match derived.derivative {
            Derivative::Vjp => (vec![(result.clone(), span)], "cotangent", "the function's result"),
            _ => (at.to_vec(), "tangent", "its argument"),
        };
        if derived.takes_direction() && owners.len() != directions.len() {
            let name = derived.name;
            let message = format!(
                "{} for {} to differentiate by",
                count(directions.len(), what),
                count(owners.len(), "argument")
            );
            let hint = format!("one for each, as a tuple: `{name}(f)((x, y), (dx, dy))`");
            let place = directions.first().map_or(span, |(_, place)| *place);
            return Err(
                self.report(Diagnostic::new(Code::WrongArguments, place, message).hint(hint))
            );
        }
        let mut leaves = Vec::new();
        for ((owner, owner_span), (value, place)) in owners.iter().zip(directions) {
            let Some(fitted) = self.tree_of(owner).and_then(|tree| self.fit(value, &tree)) else {
                if let Some(tree) = self.tree_of(owner) {
                    self.unless_fits(value, &tree);
                }
                let (needed, found) = (self.describe(owner), self.describe(value));
                let message = format!("the {what} is {found}, but {whose} is {needed}");
                let mut diagnostic = Diagnostic::new(Code::TypeMismatch, *place, message)
                    .label(format!("this is {found}"));
                if owner_span != place {
                    diagnostic = diagnostic.also(*owner_span, format!("{whose} is {needed}"));
                }
                return Err(self.report(diagnostic));
            };
            leaves.extend(self.leaves(&fitted, *place)?);
        }
        Ok(leaves)
    }

    /// The results of a derivative in the structures of arguments and result.
    fn assemble(
        &mut self,
        derived: &Derived,
        at: &[Operand],
        result: &Value,
        leaves: &mut Leaves<'_>,
        span: Span,
    ) -> R<Value> {
        let parts = match derived.derivative {
            _ if derived.taylor == Some(Taylor::Laplacian) => {
                return self.fill(result, span, leaves);
            }
            Derivative::Grad if !derived.aux => return self.gradient(derived, at, leaves),
            Derivative::Hvp => return self.gradient(derived, at, leaves),
            Derivative::Grad => {
                let value = self.fill(result, span, leaves)?;
                let gradient = self.gradient(derived, at, leaves)?;
                let aux = match &value {
                    Value::Tuple(pair) => pair.items.get(1).cloned(),
                    _ => None,
                };
                vec![gradient, aux.unwrap_or(Value::Error)]
            }
            Derivative::ValueAndGrad | Derivative::Vjp => {
                vec![self.fill(result, span, leaves)?, self.gradient(derived, at, leaves)?]
            }
            Derivative::Jvp => {
                vec![self.fill(result, span, leaves)?, self.fill(result, span, leaves)?]
            }
            Derivative::JacRev | Derivative::JacFwd | Derivative::Jacobian => {
                let row = &mut |elab: &mut Self| elab.gradient(derived, at, leaves);
                return self.shaped(result, span, row);
            }
            Derivative::Hessian => {
                let outer = &mut |elab: &mut Self| elab.gradient(derived, at, leaves);
                let mut rows = Vec::new();
                for (value, place) in at {
                    rows.push(self.shaped(value, *place, outer)?);
                }
                return self.by_argument(derived, rows, span);
            }
        };
        let whole = Value::tuple(parts);
        self.bounded(whole, span)
    }

    /// One gradient: the structure of the argument, or a tuple of these.
    fn gradient(&mut self, derived: &Derived, at: &[Operand], leaves: &mut Leaves<'_>) -> R<Value> {
        let mut parts = Vec::new();
        for (value, place) in at {
            parts.push(self.fill(value, *place, leaves)?);
        }
        let span = at.first().map_or(Span::NONE, |(_, span)| *span);
        self.by_argument(derived, parts, span)
    }

    /// What there is for each argument: alone, or as a tuple.
    fn by_argument(&mut self, derived: &Derived, parts: Vec<Value>, span: Span) -> R<Value> {
        let alone = match derived.wrt {
            Wrt::One(_) => true,
            Wrt::All => parts.len() == 1,
            Wrt::Several(_) => false,
        };
        match <[Value; 1]>::try_from(parts) {
            Ok([part]) if alone => Ok(part),
            Ok(part) => self.bounded(Value::tuple(part.into()), span),
            Err(parts) => self.bounded(Value::tuple(parts), span),
        }
    }

    /// A structure with its arrays replaced by others in order.
    fn fill(&mut self, like: &Value, span: Span, leaves: &mut Leaves<'_>) -> R<Value> {
        self.map_leaves(like, span, &mut |elab, _| {
            leaves.next().ok_or_else(|| elab.internal("too few results of a derivative"))
        })
    }

    /// A structure with its arrays replaced by structures.
    fn shaped(
        &mut self,
        like: &Value,
        span: Span,
        leaf: &mut dyn FnMut(&mut Self) -> R<Value>,
    ) -> R<Value> {
        match like {
            Value::Tuple(tuple) => {
                let items: R<Vec<Value>> =
                    tuple.items.iter().map(|item| self.shaped(item, span, leaf)).collect();
                let made = Value::tuple(items?);
                self.bounded(made, span)
            }
            Value::Record(record) => {
                let mut fields = Vec::new();
                for (name, field) in &record.items {
                    fields.push((name.clone(), self.shaped(field, span, leaf)?));
                }
                let made = Value::record(fields);
                self.bounded(made, span)
            }
            Value::Known(_) | Value::Term(_) | Value::Function(_) | Value::Error => leaf(self),
        }
    }
}

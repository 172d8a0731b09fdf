//! Does an argument fit a declared type, and what are the sizes then?

use cotan_ir::{Span, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use super::tree::TypeTree;
use super::types::{Signature, Size, Spec};
use super::value::{Contract, Value};
use super::{Elab, R};
use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};

/// A size and why it has its value.
#[derive(Clone, Debug)]
pub(crate) struct SizeFact {
    pub(crate) value: i64,
    pub(crate) span: Span,
    pub(crate) why: String,
}

/// The sizes found so far, and the positions that have to wait until all are.
pub(crate) struct Sizes<'a> {
    pub(crate) known: FxHashMap<Name, SizeFact>,
    /// Which names may be bound; `None` for all.
    binders: Option<&'a FxHashSet<Name>>,
    pub(super) waiting: Vec<Waiting>,
}

/// `[2 * n]f64` against an actual size.
pub(super) struct Waiting {
    pub(super) size: Size,
    pub(super) actual: usize,
    axis: usize,
    pub(super) span: Span,
    /// The argument, as messages call it, and its type.
    param: String,
    whole: String,
}

impl Waiting {
    /// `2 * n = 5`
    pub(super) fn equation(&self) -> String {
        format!("`{} = {}`", self.size, self.actual)
    }

    /// Where the equation comes from.
    pub(super) fn why(&self) -> String {
        format!("{} is {}, so {}", self.param, self.whole, self.equation())
    }
}

/// An argument: where it stands, and which parameter it is for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) span: Span,
    /// The parameter, as messages call it: `` `x` ``.
    pub(crate) param: &'a str,
    pub(crate) declared: Span,
}

impl<'a> Sizes<'a> {
    pub(crate) fn new(binders: Option<&'a FxHashSet<Name>>) -> Sizes<'a> {
        Sizes { known: FxHashMap::default(), binders, waiting: Vec::new() }
    }

    /// Whether a name is a size to be found.
    pub(super) fn may_bind(&self, name: &Name) -> bool {
        self.binders.is_none_or(|binders| binders.contains(name))
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<i64> {
        self.known.get(name).map(|fact| fact.value)
    }
}

impl Elab<'_> {
    /// Checks an argument against the type of its parameter, and finds sizes by the way. The result
    /// is the argument with literals in the declared type and fields in the declared order.
    pub(crate) fn unify(
        &mut self,
        spec: &Spec,
        value: &Value,
        at: Place<'_>,
        sizes: &mut Sizes<'_>,
    ) -> R<Value> {
        match (spec, value) {
            (_, Value::Error) => Err(super::Reported),
            (Spec::Array { sizes: declared, dtype, .. }, Value::Known(known))
                if declared.is_empty() =>
            {
                known.fixed(*dtype).map(Value::Known).ok_or_else(|| self.misfit(spec, value, at))
            }
            (Spec::Array { sizes: declared, dtype, .. }, Value::Term(t)) => {
                let ty = self.b.ty(*t).clone();
                if ty.dtype != *dtype || ty.shape.rank() != declared.len() {
                    return Err(self.misfit(spec, value, at));
                }
                self.unify_sizes(declared, &ty, at, sizes)?;
                Ok(value.clone())
            }
            (Spec::Tuple(specs, _), Value::Tuple(tuple)) if specs.len() == tuple.items.len() => {
                let mut items = Vec::new();
                for (spec, item) in specs.iter().zip(&tuple.items) {
                    items.push(self.unify(spec, item, at, sizes)?);
                }
                self.bounded(Value::tuple(items), at.span)
            }
            (Spec::Record(specs, _), Value::Record(record))
                if specs.len() == record.items.len() =>
            {
                let mut fields = Vec::new();
                for (name, spec) in specs {
                    let Some((_, field)) = record.items.iter().find(|(field, _)| field == name)
                    else {
                        return Err(self.misfit(spec, value, at));
                    };
                    fields.push((name.clone(), self.unify(spec, field, at, sizes)?));
                }
                self.bounded(Value::record(fields), at.span)
            }
            (Spec::Function { params, result, span }, Value::Function(function)) => {
                // The sizes are filled in when all are known: see `Elab::seal`.
                let contract = Contract {
                    params: params.clone(),
                    result: result.clone(),
                    sizes: std::rc::Rc::new([]),
                    declared: *span,
                };
                Ok(Value::Function(std::rc::Rc::new(function.with_contract(contract))))
            }
            (
                Spec::Array { .. } | Spec::Tuple(..) | Spec::Record(..) | Spec::Function { .. },
                Value::Known(_)
                | Value::Term(_)
                | Value::Tuple(_)
                | Value::Record(_)
                | Value::Function(_),
            ) => Err(self.misfit(spec, value, at)),
        }
    }

    fn unify_sizes(
        &mut self,
        declared: &[Size],
        ty: &Type,
        at: Place<'_>,
        sizes: &mut Sizes<'_>,
    ) -> R<()> {
        for (axis, (size, &actual)) in declared.iter().zip(ty.shape.dims()).enumerate() {
            let (param, whole) = (at.param.to_owned(), ty.to_string());
            let wait = Waiting { size: size.clone(), actual, axis, span: at.span, param, whole };
            let Some(name) = size.name() else {
                sizes.waiting.push(wait);
                continue;
            };
            match sizes.known.get(name) {
                Some(fact) if usize::try_from(fact.value) == Ok(actual) => {}
                Some(fact) => {
                    let fact = fact.clone();
                    if let Ok(before) = usize::try_from(fact.value) {
                        self.unless_equal(&[(before, actual)]);
                    }
                    let message = format!(
                        "the size `{name}` is {} by one argument and {actual} by another",
                        fact.value
                    );
                    let diagnostic = Diagnostic::new(Code::SizeConflict, at.span, message)
                        .label(format!("{} is {ty}, so `{name} = {actual}`", at.param))
                        .also(fact.span, fact.why)
                        .also(size.span, "both must be this size");
                    return Err(self.report(diagnostic));
                }
                None if sizes.may_bind(name) => {
                    let why = format!("{} is {ty}, so `{name} = {actual}`", at.param);
                    let fact = SizeFact { value: actual as i64, span: at.span, why };
                    sizes.known.insert(name.clone(), fact);
                }
                None => sizes.waiting.push(wait),
            }
        }
        Ok(())
    }

    /// Finds the sizes that had to wait, and checks them; `other` gives the values of names that are
    /// not sizes, `whose` is the definition that is called.
    pub(crate) fn unify_rest(
        &mut self,
        sizes: &mut Sizes<'_>,
        other: &dyn Fn(&str) -> Option<i64>,
        whose: Option<(&Signature, &str)>,
    ) -> R<()> {
        if sizes.waiting.is_empty() {
            return Ok(());
        }
        self.solve_sizes(sizes, other)?;
        for wait in std::mem::take(&mut sizes.waiting) {
            let mut names = wait.size.names();
            let unknown = names.find(|n| sizes.get(n).is_none() && other(n).is_none());
            if let (Some(name), Some((signature, function))) = (unknown, whose) {
                return Err(self.not_determined(name, &wait, signature, function));
            }
            let value =
                self.size_value(&wait.size, &|name| sizes.get(name).or_else(|| other(name)))?;
            if usize::try_from(value) == Ok(wait.actual) {
                continue;
            }
            let declared = match (wait.size.is_number(), wait.size.name()) {
                (true, _) => value.to_string(),
                (false, Some(name)) => format!("`{name}`, which is {value},"),
                (false, None) => format!("`{}`, which is {value},", wait.size),
            };
            if let Ok(size) = usize::try_from(value) {
                self.unless_equal(&[(size, wait.actual)]);
            } else {
                self.unless(|_| None);
            }
            let message =
                format!("axis {} has size {}, but {declared} is declared", wait.axis, wait.actual);
            let mut diagnostic = Diagnostic::new(Code::SizeConflict, wait.span, message)
                .label(format!("this is {}", wait.whole))
                .also(wait.size.span, format!("this is {value}"));
            for name in wait.size.names() {
                if let Some(fact) = sizes.known.get(name) {
                    diagnostic = diagnostic.also(fact.span, fact.why.clone());
                }
            }
            return Err(self.report(diagnostic));
        }
        Ok(())
    }

    /// The message that a size does not follow from the arguments.
    fn not_determined(
        &mut self,
        name: &Name,
        wait: &Waiting,
        signature: &Signature,
        function: &str,
    ) -> super::Reported {
        if let Some((param, spec)) = signature.params.iter().find(|(param, _)| param.name == *name)
        {
            let message = format!("`{name}` is used as a size, but is not known at compile time");
            let hint = "give a literal, a size, or arithmetic on these; on the command line, \
                        `--arg` or `--size`";
            let diagnostic = Diagnostic::new(Code::NotStatic, wait.size.span, message);
            let declared = self.modules.sources.slice(spec.span()).to_owned();
            let diagnostic = diagnostic.also(param.span, format!("declared as `{declared}`"));
            return self.report(diagnostic.hint(hint));
        }
        let message =
            format!("the size `{name}` of `{function}` does not follow from {}", wait.equation());
        let at = signature.sizes.iter().position(|size| size.name == *name);
        let hint = match at.is_some_and(|at| at < signature.declared) {
            true => format!("give it in the call: `{function}[…](…)`"),
            false => format!(
                "declare it in brackets, `def {function}[{name}](…)`, and give it in the call: \
                 `{function}[3](…)`"
            ),
        };
        let diagnostic = Diagnostic::new(Code::SizeUnknown, wait.span, message)
            .label(wait.why())
            .also(wait.size.span, "declared here");
        self.report(diagnostic.hint(hint))
    }

    /// Function arguments remember the sizes that were found.
    pub(crate) fn seal(&mut self, value: Value, sizes: &Sizes<'_>) -> Value {
        let Value::Function(function) = &value else { return value };
        let Some(contract) = &function.contract else { return value };
        let mut known: Vec<(Name, i64)> =
            sizes.known.iter().map(|(n, fact)| (n.clone(), fact.value)).collect();
        known.sort();
        let contract = Contract { sizes: known.into(), ..contract.clone() };
        Value::Function(std::rc::Rc::new(function.with_contract(contract)))
    }

    /// The message that an argument does not have its parameter's type.
    fn misfit(&mut self, spec: &Spec, value: &Value, at: Place<'_>) -> super::Reported {
        let found = self.describe(value);
        let wanted = self.modules.sources.slice(spec.span()).to_owned();
        let message = format!("{} must be `{wanted}`, but {found} is given", at.param);
        let mut diagnostic = Diagnostic::new(Code::TypeMismatch, at.span, message)
            .label(format!("this is {found}"))
            .also(at.declared, format!("declared as `{wanted}`"));
        if let Some(hint) = self.conversion_hint(spec, value) {
            diagnostic = diagnostic.hint(hint);
        }
        self.report(diagnostic)
    }

    fn conversion_hint(&self, spec: &Spec, value: &Value) -> Option<String> {
        let Spec::Array { sizes, dtype, .. } = spec else { return None };
        let (found, rank) = match value {
            Value::Known(known) => (known.dtype(), 0),
            Value::Term(t) => (self.b.dtype(*t), self.b.shape(*t).rank()),
            Value::Tuple(_) | Value::Record(_) | Value::Function(_) | Value::Error => return None,
        };
        if rank == sizes.len() && found != *dtype {
            Some(format!("convert it: `{dtype}(…)`"))
        } else if found == *dtype && rank > sizes.len() {
            Some("`map(f, a)` applies a function to each element, `sum(a)` adds them up".to_owned())
        } else {
            None
        }
    }

    /// The value at a known type: literals adapt, fields take the type's order.
    pub(crate) fn fit(&self, value: &Value, tree: &TypeTree) -> Option<Value> {
        match (value, tree) {
            (Value::Known(known), TypeTree::Array(ty)) if ty.shape.rank() == 0 => {
                known.fixed(ty.dtype).map(Value::Known)
            }
            (Value::Term(t), TypeTree::Array(ty)) => (self.b.ty(*t) == ty).then(|| value.clone()),
            (Value::Tuple(tuple), TypeTree::Tuple(trees)) if tuple.items.len() == trees.len() => {
                let items: Option<Vec<Value>> = tuple
                    .items
                    .iter()
                    .zip(trees)
                    .map(|(item, tree)| self.fit(item, tree))
                    .collect();
                Value::tuple(items?).ok()
            }
            (Value::Record(record), TypeTree::Record(trees))
                if record.items.len() == trees.len() =>
            {
                let mut fields = Vec::new();
                for (name, tree) in trees {
                    let (field, value) =
                        record.items.iter().find(|(field, _)| **field == **name)?;
                    fields.push((field.clone(), self.fit(value, tree)?));
                }
                Value::record(fields).ok()
            }
            _ => None,
        }
    }

    /// The type of a value without functions.
    pub(crate) fn tree_of(&self, value: &Value) -> Option<TypeTree> {
        match value {
            Value::Known(known) => Some(TypeTree::Array(Type::scalar(known.dtype()))),
            Value::Term(t) => Some(TypeTree::Array(self.b.ty(*t).clone())),
            Value::Tuple(tuple) => {
                let items: Option<Vec<TypeTree>> =
                    tuple.items.iter().map(|item| self.tree_of(item)).collect();
                Some(TypeTree::Tuple(items?))
            }
            Value::Record(record) => {
                let mut fields = Vec::new();
                for (name, field) in &record.items {
                    fields.push((name.to_string(), self.tree_of(field)?));
                }
                Some(TypeTree::Record(fields))
            }
            Value::Function(_) | Value::Error => None,
        }
    }
}

//! Expressions, kind by kind.

use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Levels, Span};
use rustc_hash::FxHashSet;

use super::ops::Operand;
use super::value::{Callable, Closure, Function, Known, Value};
use super::{Elab, R, Reported, foreign, library, suggest};
use crate::ast::{Binding, ExprId, ExprKind, Ident, Literal, Name, TypeId};
use crate::diagnostic::{Code, Diagnostic};

impl<'m> Elab<'m> {
    /// The value of an expression, by its kind.
    pub(super) fn expression(&mut self, expr: ExprId, span: Span) -> R<Value> {
        let ast = self.ast();
        match &ast[expr].kind {
            ExprKind::Literal(literal) => Ok(Value::Known(known_literal(*literal))),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Unary { op, operand } => {
                let value = self.elab(*operand);
                self.prefix(*op, (value, self.span_of(*operand)), span)
            }
            ExprKind::Binary { .. } => self.chain(expr),
            ExprKind::Call { callee, args } => self.call(*callee, args, span),
            ExprKind::Index { base, items } => {
                let value = self.elab(*base);
                self.index(&value, self.span_of(*base), items, span)
            }
            ExprKind::Field { base, field } => self.field(*base, field, span),
            ExprKind::Proj { base, index, index_span } => {
                let value = self.try_elab(*base)?;
                self.projection(&value, *index, *index_span)
            }
            ExprKind::Tuple(items) => {
                let values: Vec<Value> = items.iter().map(|&item| self.elab(item)).collect();
                self.bounded(Value::tuple(values), span)
            }
            ExprKind::Record(fields) => self.record(fields, span),
            ExprKind::Array(items) => match self.literal_array(expr)? {
                Some(constant) => Ok(constant),
                None => {
                    let values: Vec<Operand> =
                        items.iter().map(|&item| (self.elab(item), self.span_of(item))).collect();
                    self.array_of(&values, span)
                }
            },
            ExprKind::Lambda { params, .. } => {
                self.distinct_names(params)?;
                let captured = self.capture(expr);
                let closure = Closure { file: self.file, lambda: expr, captured };
                let function = Function::new(Callable::Closure(closure));
                self.bounded(function, span).map(|f| Value::Function(Rc::new(f)))
            }
            ExprKind::Build { sizes, body } => self.build(sizes, *body, span),
            ExprKind::With { base, path, value, .. } => {
                let base = (self.try_elab(*base)?, self.span_of(*base));
                let value = (self.try_elab(*value)?, self.span_of(*value));
                self.with(&base, &path.steps, &value, span)
            }
            ExprKind::If { arms, otherwise } => self.conditional(arms, *otherwise, span),
            ExprKind::Let { bindings, body } => {
                let scope = self.env.enter();
                for binding in bindings {
                    self.binding(binding);
                }
                let value = self.try_elab(*body);
                self.env.leave(scope);
                value
            }
            ExprKind::Error => Err(Reported),
        }
    }

    /// A chain of binary operators, from the inside out.
    fn chain(&mut self, expr: ExprId) -> R<Value> {
        let ast = self.ast();
        let (first, links) = ast.spine(expr);
        let mut value = (self.elab(first), self.span_of(first));
        for link in links {
            if let ExprKind::Binary { op, rhs, .. } = &ast[link].kind {
                let span = ast.span(link);
                let right = (self.elab(*rhs), self.span_of(*rhs));
                self.b.set_span(span);
                value = (self.infix(*op, value, right, span).unwrap_or(Value::Error), span);
            }
        }
        match value.0 {
            Value::Error => Err(Reported),
            value => Ok(value),
        }
    }

    pub(super) fn binding(&mut self, binding: &Binding) {
        let mut value = self.elab(binding.value);
        let span = self.span_of(binding.value);
        if let Some(ty) = binding.ty {
            value = self.annotated(value, span, ty).unwrap_or(Value::Error);
        }
        if self.distinct_names(&[binding.pattern]).is_err() {
            value = Value::Error;
        }
        self.bind_pattern(binding.pattern, value, span);
    }

    fn annotated(&mut self, value: Value, span: Span, ty: TypeId) -> R<Value> {
        let spec = self.spec(self.file, ty)?;
        self.at_type(&value, span, &spec)
    }

    /// The value at a type whose sizes are in scope.
    pub(super) fn at_type(
        &mut self,
        value: &Value,
        span: Span,
        spec: &super::types::Spec,
    ) -> R<Value> {
        if matches!(value, Value::Error) {
            return Err(Reported);
        }
        let mut names = FxHashSet::default();
        spec.for_each_size(&mut |size| names.extend(size.names().cloned()));
        let known: Vec<(Name, i64)> = names
            .into_iter()
            .filter_map(|name| self.env.get(&name).and_then(|v| v.known_int()).map(|k| (name, k)))
            .collect();
        let lookup = |name: &str| known.iter().find(|(known, _)| &**known == name).map(|(_, k)| *k);
        let tree = self.resolve(spec, &lookup)?;
        self.fit(value, &tree).ok_or_else(|| {
            self.unless_fits(value, &tree);
            let found = self.describe(value);
            let message = format!("{tree} is declared, but the value is {found}");
            self.report(
                Diagnostic::new(Code::TypeMismatch, span, message)
                    .label(format!("this is {found}"))
                    .also(spec.span(), format!("this is {tree}")),
            )
        })
    }

    fn record(&mut self, fields: &[(Ident, ExprId)], span: Span) -> R<Value> {
        let mut seen = FxHashSet::default();
        let mut values = Vec::new();
        for (name, value) in fields {
            if !seen.insert(name.name.clone()) {
                let message = format!("the field `{}` is given twice", name.name);
                self.report(
                    Diagnostic::new(Code::DuplicateName, name.span, message)
                        .hint("remove one of them"),
                );
                continue;
            }
            values.push((name.name.clone(), self.elab(*value)));
        }
        self.bounded(Value::record(values), span)
    }

    fn field(&mut self, base: ExprId, field: &Ident, span: Span) -> R<Value> {
        if let Some(id) = self.imported(base, field)? {
            let function = Function::new(Callable::Def(id));
            return self.bounded(function, span).map(|f| Value::Function(Rc::new(f)));
        }
        let value = self.try_elab(base)?;
        self.field_of(&value, self.span_of(base), field)
    }

    /// A field of a record.
    pub(super) fn field_of(&mut self, value: &Value, base: Span, field: &Ident) -> R<Value> {
        let Value::Record(record) = value else {
            let message = format!("only records have fields; this is {}", self.describe(value));
            let diagnostic = Diagnostic::new(Code::NoSuchField, base, message);
            let diagnostic = diagnostic.also(field.span, "this field");
            let hint = match library::find(&field.name) {
                Some(_) => Some(format!("functions are not methods: write `{}(…)`", field.name)),
                None => foreign::advice(&field.name).map(str::to_owned),
            };
            return Err(self.report(hint.into_iter().fold(diagnostic, Diagnostic::hint)));
        };
        match record.items.iter().find(|(name, _)| *name == field.name) {
            Some((_, Value::Error)) => Err(Reported),
            Some((_, value)) => Ok(value.clone()),
            None => {
                let names = record.items.iter().map(|(name, _)| &**name);
                let hint = match suggest::nearest(&field.name, names.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its fields are {}", names.collect::<Vec<_>>().join(", ")),
                };
                let message =
                    format!("there is no field `{}` in {}", field.name, self.describe(value));
                Err(self.report(Diagnostic::new(Code::NoSuchField, field.span, message).hint(hint)))
            }
        }
    }

    pub(super) fn projection(&mut self, value: &Value, index: u32, span: Span) -> R<Value> {
        let Value::Tuple(tuple) = value else {
            let message =
                format!("only tuples have numbered components; this is {}", self.describe(value));
            let hint = "elements of arrays are read by `a[0]`, fields of records by `r.field`";
            return Err(self.report(Diagnostic::new(Code::NoSuchField, span, message).hint(hint)));
        };
        match tuple.items.get(index as usize) {
            Some(Value::Error) => Err(Reported),
            Some(value) => Ok(value.clone()),
            None => {
                let message = format!("there is no component {index} in {}", self.describe(value));
                let hint = format!(
                    "components are numbered from 0 to {}",
                    tuple.items.len().saturating_sub(1)
                );
                Err(self.report(Diagnostic::new(Code::NoSuchField, span, message).hint(hint)))
            }
        }
    }

    /// An integer known now: a static value, or a term that can have only one value.
    pub(super) fn static_int(&mut self, value: &Value, span: Span) -> R<i64> {
        if let (Value::Known(known), Some(int)) = (value, value.known_int()) {
            self.track_known(*known, int);
            return Ok(int);
        }
        if let Value::Term(t) = value
            && self.b.dtype(*t) == Dtype::I64
            && self.b.shape(*t).rank() == 0
            && self.b.free(*t) == Levels::NONE
            && let Some(known) = self.b.bounds(*t).singleton()
        {
            self.track_unknown(known);
            return Ok(known);
        }
        if matches!(value, Value::Error) {
            return Err(Reported);
        }
        let message = format!(
            "an integer known at compile time is needed here, not {}",
            self.describe(value)
        );
        let hint =
            "static integers are literals, sizes, `len(a)`, `shape(a, k)`, and arithmetic on these";
        let diagnostic = Diagnostic::new(Code::NotStatic, span, message).hint(hint);
        Err(match self.dynamic_int(value) {
            Some(_) => self.report(diagnostic),
            None => self.wrong_kind(diagnostic),
        })
    }

    /// A size known now.
    pub(super) fn static_size(&mut self, expr: ExprId) -> R<usize> {
        let value = self.try_elab(expr)?;
        let span = self.span_of(expr);
        let size = self.static_int(&value, span)?;
        self.size_from(size, span)
    }
}

pub(super) fn known_literal(literal: Literal) -> Known {
    match literal {
        Literal::Bool(value) => Known::new(Scalar::Bool(value), true),
        Literal::Int { value, suffix } => Known::new(Scalar::I64(value), !suffix),
        Literal::Float { value, suffix: Some(Dtype::F32) } => {
            Known::new(Scalar::F32(value as f32), false)
        }
        Literal::Float { value, suffix } => Known::new(Scalar::F64(value), suffix.is_none()),
    }
}

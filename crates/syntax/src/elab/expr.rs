//! Expressions, kind by kind.

use std::rc::Rc;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::{Scalar, cast};
use cotan_ir::{Levels, Param, Span, TermId};
use rustc_hash::FxHashSet;

use super::ops::Operand;
use super::suggest;
use super::value::{Callable, Closure, Function, Known, Value};
use super::{Elab, R, Reported, library};
use crate::ast::{Binding, ExprId, ExprKind, Ident, Literal, Name, TypeId, TypeKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::load::DefId;

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
                let span = ast[link].span;
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
            .filter_map(|name| self.env.get(&name).and_then(Value::known_int).map(|k| (name, k)))
            .collect();
        let lookup = |name: &str| known.iter().find(|(known, _)| &**known == name).map(|(_, k)| *k);
        let tree = self.resolve(spec, &lookup)?;
        self.fit(value, &tree).ok_or_else(|| {
            let found = self.describe(value);
            let message = format!("{tree} is declared, but the value is {found}");
            self.report(
                Diagnostic::new(Code::TypeMismatch, span, message)
                    .label(format!("this is {found}"))
                    .also(spec.span(), format!("this is {tree}")),
            )
        })
    }

    // ---- names --------------------------------------------------------------------------------

    fn name(&mut self, name: &Name, span: Span) -> R<Value> {
        if let Some(value) = self.env.get(name) {
            return match value {
                Value::Error => Err(Reported),
                value => Ok(value.clone()),
            };
        }
        let callable = if let Some(&id) = self.modules.files[self.file].defs.get(name) {
            Callable::Def(id)
        } else if let Some(builtin) = library::find(name) {
            Callable::Builtin(builtin)
        } else {
            return Err(self.unknown_name(name, span));
        };
        let function = Function::new(callable);
        self.bounded(function, span).map(|f| Value::Function(Rc::new(f)))
    }

    fn unknown_name(&mut self, name: &str, span: Span) -> Reported {
        let file = &self.modules.files[self.file];
        let message = format!("unknown name `{name}`");
        let mut diagnostic = Diagnostic::new(Code::UnknownName, span, message);
        let defined = file.defs.keys().map(|name| &**name);
        let candidates = self.env.names().chain(defined).chain(library::names());
        let near = suggest::nearest(name, candidates).map(str::to_owned);
        if file.aliases.contains_key(name) {
            diagnostic = diagnostic.hint(format!("`{name}` is an import: write `{name}.f(…)`"));
        } else if let Some(near) = near {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }

    /// The definition that `alias.name` means, if `base` is the alias of an import.
    pub(super) fn imported(&mut self, base: ExprId, field: &Ident) -> R<Option<DefId>> {
        let ExprKind::Name(alias) = &self.ast()[base].kind else { return Ok(None) };
        if self.env.get(alias).is_some() {
            return Ok(None);
        }
        let modules = self.modules;
        let Some(&target) = modules.files[self.file].aliases.get(alias) else { return Ok(None) };
        let defs = modules.files.get(target).map(|f| &f.defs);
        if let Some(&id) = defs.and_then(|defs| defs.get(&field.name)) {
            return Ok(Some(id));
        }
        let message = format!("the import `{alias}` has no function `{}`", field.name);
        let mut diagnostic = Diagnostic::new(Code::UnknownName, field.span, message);
        let candidates = defs.into_iter().flat_map(|defs| defs.keys().map(|name| &**name));
        if let Some(near) = suggest::nearest(&field.name, candidates) {
            diagnostic = diagnostic.hint(format!("did you mean `{alias}.{near}`?"));
        }
        Err(self.report(diagnostic))
    }

    /// The variables that a lambda uses, with their values now.
    fn capture(&mut self, lambda: ExprId) -> Rc<[(Name, Value)]> {
        enum Visit {
            Expr(ExprId),
            Type(TypeId),
        }
        let ast = self.ast();
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        let mut captured = Vec::new();
        let mut todo = vec![Visit::Expr(lambda)];
        while let Some(visit) = todo.pop() {
            match visit {
                Visit::Expr(expr) => {
                    ast.for_each_child(expr, |child| todo.push(Visit::Expr(child)));
                    match &ast[expr].kind {
                        ExprKind::Name(name) => {
                            if seen.insert(name)
                                && let Some(value) = self.env.get(name)
                            {
                                captured.push((name.clone(), value.clone()));
                            }
                        }
                        ExprKind::Let { bindings, .. } => {
                            todo.extend(bindings.iter().filter_map(|b| b.ty).map(Visit::Type));
                        }
                        _ => {}
                    }
                }
                Visit::Type(ty) => match &ast[ty].kind {
                    TypeKind::Array { sizes, element } => {
                        todo.extend(sizes.iter().map(|&size| Visit::Expr(size)));
                        todo.push(Visit::Type(*element));
                    }
                    TypeKind::Tuple(items) => {
                        todo.extend(items.iter().map(|&item| Visit::Type(item)))
                    }
                    TypeKind::Record(fields) => {
                        todo.extend(fields.iter().map(|(_, field)| Visit::Type(*field)))
                    }
                    TypeKind::Alias { sizes, .. } => {
                        todo.extend(sizes.iter().map(|&size| Visit::Expr(size)))
                    }
                    TypeKind::Function { .. } | TypeKind::Scalar(_) | TypeKind::Error => {}
                },
            }
        }
        captured.into()
    }

    // ---- structures ---------------------------------------------------------------------------

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
        let Value::Record(record) = &value else {
            let message = format!("only records have fields; this is {}", self.describe(&value));
            let diagnostic = Diagnostic::new(Code::NoSuchField, self.span_of(base), message);
            return Err(self.report(diagnostic.also(field.span, "this field")));
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
                    format!("there is no field `{}` in {}", field.name, self.describe(&value));
                Err(self.report(Diagnostic::new(Code::NoSuchField, field.span, message).hint(hint)))
            }
        }
    }

    fn projection(&mut self, value: &Value, index: u32, span: Span) -> R<Value> {
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

    // ---- arrays -------------------------------------------------------------------------------

    /// `[[1.0, 2.0], [3.0, 4.0]]`: nested brackets around literals only are one constant.
    fn literal_array(&mut self, expr: ExprId) -> R<Option<Value>> {
        let ast = self.ast();
        let (mut dims, mut at) = (Vec::new(), expr);
        while let ExprKind::Array(items) = &ast[at].kind {
            let Some(&first) = items.first() else { return Ok(None) };
            dims.push(items.len());
            at = first;
        }
        // The brackets must nest as regularly as the first ones; anything else is not our business.
        let mut literals: Vec<Known> = Vec::new();
        let mut todo = vec![(expr, 0)];
        while let Some((item, depth)) = todo.pop() {
            match (&ast[item].kind, dims.get(depth)) {
                (ExprKind::Array(items), Some(&k)) if items.len() == k => {
                    todo.extend(items.iter().rev().map(|&item| (item, depth + 1)));
                }
                (ExprKind::Literal(literal), None) => literals.push(known_literal(*literal)),
                _ => return Ok(None),
            }
        }
        let span = ast[expr].span;
        let Some(dtype) = common_literal_dtype(&literals) else { return Ok(None) };
        self.constant_array(&dims, &literals, dtype, span).map(Some)
    }

    fn constant_array(
        &mut self,
        dims: &[usize],
        literals: &[Known],
        dtype: Dtype,
        span: Span,
    ) -> R<Value> {
        let shape = self.shape(dims, span)?;
        let scalars = literals.iter().map(|known| cast(known.value, dtype));
        macro_rules! collect {
            ($variant:ident) => {
                Array::from_vec(
                    shape,
                    scalars
                        .filter_map(|x| if let Scalar::$variant(x) = x { Some(x) } else { None })
                        .collect(),
                )
            };
        }
        let array = match dtype {
            Dtype::F64 => collect!(F64),
            Dtype::F32 => collect!(F32),
            Dtype::I64 => collect!(I64),
            Dtype::Bool => collect!(Bool),
        };
        let array = self.lift(array.map_err(cotan_ir::Error::from), span)?;
        let made = self.b.constant(&array);
        self.lift(made, span).map(Value::Term)
    }

    /// `[a, b, ..]` of values: one constant if all are known, otherwise a stack.
    fn array_of(&mut self, values: &[Operand], span: Span) -> R<Value> {
        if values.is_empty() {
            let message = "the type of an array without elements is not known";
            let hint = "write `empty([0], f64)`, with its shape and element type";
            return Err(
                self.report(Diagnostic::new(Code::BadArrayLiteral, span, message).hint(hint))
            );
        }
        let known: Option<Vec<Known>> = values
            .iter()
            .map(|(value, _)| if let Value::Known(known) = value { Some(*known) } else { None })
            .collect();
        if let Some(known) = known
            && let Some(dtype) = common_literal_dtype(&known)
        {
            return self.constant_array(&[known.len()], &known, dtype, span);
        }
        self.stack_values(values, span)
    }

    /// A stack of values of one type; of structures, a structure of stacks.
    pub(super) fn stack_values(&mut self, values: &[Operand], span: Span) -> R<Value> {
        let Some(((first, first_span), rest)) = values.split_first() else {
            let message = "nothing to stack";
            return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
        };
        let mut rows: Vec<Value> = vec![first.clone()];
        for (value, value_span) in rest {
            let previous = rows.last().cloned().unwrap_or(Value::Error);
            let (_, row) = self.same_type(
                "elements",
                (previous, *first_span),
                (value.clone(), *value_span),
                span,
            )?;
            rows.push(row);
        }
        // Literals adapt to what comes later, too.
        let last = rows.last().cloned().unwrap_or(Value::Error);
        let mut columns: Vec<Vec<TermId>> = Vec::new();
        for (row, (_, row_span)) in rows.into_iter().zip(values) {
            let (row, _) =
                self.same_type("elements", (row, *row_span), (last.clone(), *row_span), span)?;
            for (k, leaf) in self.leaves(&row, *row_span)?.into_iter().enumerate() {
                match columns.get_mut(k) {
                    Some(column) => column.push(leaf),
                    None => columns.push(vec![leaf]),
                }
            }
        }
        let mut columns = columns.into_iter();
        self.map_leaves(&last, span, &mut |this, _| {
            let made = this.b.stack(&columns.next().unwrap_or_default());
            this.lift(made, span)
        })
    }

    /// `build (k, ..) f`.
    fn build(&mut self, sizes: &[ExprId], body: ExprId, span: Span) -> R<Value> {
        let mut dims = Vec::new();
        for &size in sizes {
            dims.push(self.static_size(size)?);
        }
        let function = self.function_at(body)?;
        self.build_over(&dims, span, |this, vars| {
            let args = vars.iter().map(|&i| (Value::Term(i), span)).collect();
            this.apply(&function, args, span)
        })
    }

    /// Nested `build1`s: one for each array of the structure that `body` makes from the indices.
    pub(super) fn build_over(
        &mut self,
        dims: &[usize],
        span: Span,
        body: impl FnOnce(&mut Self, &[TermId]) -> R<Value>,
    ) -> R<Value> {
        let open_all = |this: &mut Self| -> R<Vec<TermId>> {
            let mut vars = Vec::new();
            for (opened, &k) in dims.iter().enumerate() {
                let made = this.b.open(&[Param::Index(k)]);
                match this.lift(made, span) {
                    Ok(var) => vars.extend(var),
                    Err(reported) => {
                        (0..opened).for_each(|_| this.b.abandon());
                        return Err(reported);
                    }
                }
            }
            Ok(vars)
        };
        let vars = open_all(self)?;
        let element =
            body(self, &vars).and_then(|value| self.map_leaves(&value, span, &mut |_, t| Ok(t)));
        dims.iter().for_each(|_| self.b.abandon());
        let element = element?;
        self.map_leaves(&element, span, &mut |this, leaf| {
            open_all(this)?;
            let mut term = leaf;
            for level in (0..dims.len()).rev() {
                let made = this.b.close(&[term]).and_then(|region| this.b.build1(region));
                match this.lift(made, span) {
                    Ok(built) => term = built,
                    Err(reported) => {
                        (0..level).for_each(|_| this.b.abandon());
                        return Err(reported);
                    }
                }
            }
            Ok(term)
        })
    }

    // ---- conditionals -------------------------------------------------------------------------

    fn conditional(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        span: Span,
    ) -> R<Value> {
        let mut open: Vec<(TermId, Operand)> = Vec::new();
        let mut last = otherwise;
        for &(condition, branch) in arms {
            let place = self.span_of(condition);
            match self.try_elab(condition)? {
                Value::Known(Known { value: Scalar::Bool(true), .. }) => {
                    last = branch;
                    break;
                }
                Value::Known(Known { value: Scalar::Bool(false), .. }) => {}
                value => {
                    let c = self.scalar_bool(&value, place)?;
                    let value = self.elab(branch);
                    open.push((c, (value, self.span_of(branch))));
                }
            }
        }
        let mut result = (self.elab(last), self.span_of(last));
        while let Some((c, branch)) = open.pop() {
            let value = self.choose(c, branch, result, span)?;
            result = (value, span);
        }
        match result.0 {
            Value::Error => Err(Reported),
            value => Ok(value),
        }
    }

    /// A condition.
    pub(super) fn scalar_bool(&mut self, value: &Value, span: Span) -> R<TermId> {
        let t = self.term(value, span)?;
        let ty = self.b.ty(t);
        if ty.dtype == Dtype::Bool && ty.shape.rank() == 0 {
            return Ok(t);
        }
        let message = format!("a condition is a scalar bool; this is {ty}");
        let hint = match ty.dtype {
            Dtype::Bool => "to choose element by element, use `where(c, a, b)`",
            _ => "compare it: `x != 0`",
        };
        Err(self.report(Diagnostic::new(Code::TypeMismatch, span, message).hint(hint)))
    }

    /// `cond c a b` of structures of one type.
    pub(super) fn choose(&mut self, c: TermId, a: Operand, b: Operand, span: Span) -> R<Value> {
        let (a_span, b_span) = (a.1, b.1);
        let (a, b) = self.same_type("branches", a, b, span)?;
        let mut others = self.leaves(&b, b_span)?.into_iter();
        self.map_leaves(&a, a_span, &mut |this, u| match others.next() {
            Some(v) => {
                let made = this.b.cond(c, u, v);
                this.lift(made, span)
            }
            None => Err(this.internal("branches of different structures")),
        })
    }

    /// Two values at one type: literals adapt, fields take the order of the first.
    pub(super) fn same_type(
        &mut self,
        what: &str,
        a: Operand,
        b: Operand,
        span: Span,
    ) -> R<(Value, Value)> {
        if matches!(a.0, Value::Error) || matches!(b.0, Value::Error) {
            return Err(Reported);
        }
        if let Some(pair) = self.reconcile(&a.0, &b.0) {
            return Ok(pair);
        }
        let (left, right) = (self.describe(&a.0), self.describe(&b.0));
        let message = format!("{what} of different types: {left} and {right}");
        let place = if b.1 == a.1 { span } else { b.1 };
        Err(self.report(
            Diagnostic::new(Code::TypeMismatch, place, message)
                .label(format!("this is {right}"))
                .also(a.1, format!("this is {left}"))
                .hint(format!("{what} must have the same type; `broadcast` and `f64(…)` convert")),
        ))
    }

    fn reconcile(&self, a: &Value, b: &Value) -> Option<(Value, Value)> {
        match (a, b) {
            (Value::Known(x), Value::Known(y)) => {
                let dtype = common_literal_dtype(&[*x, *y])?;
                Some((Value::Known(x.adapt(dtype)?), Value::Known(y.adapt(dtype)?)))
            }
            (Value::Known(x), Value::Term(t)) => {
                let ty = self.b.ty(*t);
                let fits = ty.shape.rank() == 0;
                Some((Value::Known(x.adapt(ty.dtype).filter(|_| fits)?), b.clone()))
            }
            (Value::Term(_), Value::Known(_)) => self.reconcile(b, a).map(|(b, a)| (a, b)),
            (Value::Term(t), Value::Term(u)) => {
                (self.b.ty(*t) == self.b.ty(*u)).then(|| (a.clone(), b.clone()))
            }
            (Value::Tuple(x), Value::Tuple(y)) if x.items.len() == y.items.len() => {
                let pairs: Option<Vec<_>> =
                    x.items.iter().zip(&y.items).map(|(a, b)| self.reconcile(a, b)).collect();
                let (left, right): (Vec<_>, Vec<_>) = pairs?.into_iter().unzip();
                Some((Value::tuple(left).ok()?, Value::tuple(right).ok()?))
            }
            (Value::Record(x), Value::Record(y)) if x.items.len() == y.items.len() => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                for (name, a) in &x.items {
                    let (_, b) = y.items.iter().find(|(other, _)| other == name)?;
                    let (a, b) = self.reconcile(a, b)?;
                    left.push((name.clone(), a));
                    right.push((name.clone(), b));
                }
                Some((Value::record(left).ok()?, Value::record(right).ok()?))
            }
            _ => None,
        }
    }

    // ---- static values ------------------------------------------------------------------------

    /// An integer known now: a static value, or a term that can have only one value.
    pub(super) fn static_int(&mut self, value: &Value, span: Span) -> R<i64> {
        if let Some(known) = value.known_int() {
            return Ok(known);
        }
        if let Value::Term(t) = value
            && self.b.dtype(*t) == Dtype::I64
            && self.b.shape(*t).rank() == 0
            && self.b.free(*t) == Levels::NONE
            && let Some(known) = self.b.bounds(*t).singleton()
        {
            return Ok(known);
        }
        if matches!(value, Value::Error) {
            return Err(Reported);
        }
        let message = format!(
            "an integer known when the program is made is needed here, not {}",
            self.describe(value)
        );
        let hint =
            "static integers are literals, sizes, `len(a)`, `shape(a, k)`, and arithmetic on these";
        Err(self.report(Diagnostic::new(Code::NotStatic, span, message).hint(hint)))
    }

    /// A size known now.
    pub(super) fn static_size(&mut self, expr: ExprId) -> R<usize> {
        let value = self.try_elab(expr)?;
        let span = self.span_of(expr);
        let size = self.static_int(&value, span)?;
        self.size_from(size, span)
    }
}

fn known_literal(literal: Literal) -> Known {
    match literal {
        Literal::Bool(value) => Known { value: Scalar::Bool(value), adapts: true },
        Literal::Int { value, suffix } => Known { value: Scalar::I64(value), adapts: !suffix },
        Literal::Float { value, suffix: Some(Dtype::F32) } => {
            Known { value: Scalar::F32(value as f32), adapts: false }
        }
        Literal::Float { value, suffix } => {
            Known { value: Scalar::F64(value), adapts: suffix.is_none() }
        }
    }
}

/// The element type of an array of literals, or `None` when they do not go together.
fn common_literal_dtype(literals: &[Known]) -> Option<Dtype> {
    let fixed = literals.iter().find(|known| !known.adapts).map(|known| known.dtype());
    let any_float = literals.iter().any(|known| known.dtype() == Dtype::F64);
    let common = match fixed {
        Some(dtype) => dtype,
        None if any_float => Dtype::F64,
        None => literals.first()?.dtype(),
    };
    literals.iter().all(|known| known.adapt(common).is_some()).then_some(common)
}

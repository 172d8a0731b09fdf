//! Calls: what is called, with what, and the inlining of it.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::Span;
use smallvec::SmallVec;

use super::env::Env;
use super::library::{self, Arg};
use super::ops::Operand;
use super::unify::{Place, SizeFact, Sizes};
use super::value::{Callable, Closure, Contract, Function, Value};
use super::{Calling, Elab, Frame, MAX_CALLS, R, Reported};
use crate::ast::{self, ExprId, ExprKind, IndexItem, Name};
use crate::diagnostic::{Code, Diagnostic};
use crate::load::DefId;

/// A function where it is used: a lambda in the scope at hand needs no closure.
pub(crate) enum Applied {
    /// A lambda of the scope at hand.
    Here(ExprId),
    /// Any function.
    Value(Rc<Function>),
}

impl<'m> Elab<'m> {
    /// `callee(args)`
    pub(super) fn call(&mut self, callee: ExprId, args: &[ast::Arg], span: Span) -> R<Value> {
        let ast = self.ast();
        let callee_span = ast.span(callee);
        let (base, sizes) = match &ast[callee].kind {
            ExprKind::Index { base, items } => (*base, Some(items)),
            _ => (callee, None),
        };
        let head = match (self.callee(base), sizes) {
            (head @ (Value::Function(_) | Value::Error), _) | (head, None) => head,
            (array, Some(items)) => self.index(&array, self.span_of(base), items, callee_span)?,
        };
        if matches!(head, Value::Error) {
            // Look for errors in the arguments all the same.
            args.iter().for_each(|arg| drop(self.elab(arg.value)));
            return Err(Reported);
        }
        let Value::Function(function) = head else {
            let message = format!("only functions can be called; this is {}", self.describe(&head));
            let hint = "elements are read with brackets: `a[i]`";
            return Err(
                self.report(Diagnostic::new(Code::NotAFunction, callee_span, message).hint(hint))
            );
        };
        match &function.callable {
            Callable::Builtin(builtin) => {
                if sizes.is_some() {
                    let message =
                        format!("`{}` is a builtin and takes no explicit sizes", builtin.name);
                    return Err(self.report(Diagnostic::new(
                        Code::WrongArguments,
                        callee_span,
                        message,
                    )));
                }
                if function.contract.is_none() {
                    let args: Vec<(Option<&ast::Ident>, Arg)> = args
                        .iter()
                        .map(|arg| (arg.name.as_deref(), Arg::Expr(arg.value)))
                        .collect();
                    return library::call(self, builtin, args, span);
                }
            }
            Callable::Def(_) | Callable::Closure(_) => {}
            Callable::Derived(_) | Callable::Linear(_) | Callable::Checkpoint(_) => {}
        }
        let explicit = self.explicit_sizes(sizes.map_or(&[], |items| items))?;
        let values = self.arguments(&function, args, span)?;
        self.apply_function(&function, values, &explicit, span)
    }

    /// What is called. A variable that is not a function does not hide the function of its name, so
    /// that programs whose inputs have names of builtins print and read back.
    fn callee(&mut self, expr: ExprId) -> Value {
        if let ExprKind::Name(name) = &self.ast()[expr].kind
            && let Some(Value::Known(_) | Value::Term(_) | Value::Tuple(_) | Value::Record(_)) =
                self.env.get(name)
            && let Some(callable) = self.function_called(name)
            && !matches!(callable, Callable::Builtin(builtin) if builtin.is_constant())
            && let Ok(function) = Function::new(callable)
        {
            return Value::Function(Rc::new(function));
        }
        self.elab(expr)
    }

    /// The sizes of `f[3](x)`.
    fn explicit_sizes(&mut self, items: &[IndexItem]) -> R<Vec<(i64, Span)>> {
        let mut sizes = Vec::new();
        for item in items {
            match item {
                IndexItem::At(expr) => {
                    let value = self.try_elab(*expr)?;
                    let span = self.span_of(*expr);
                    sizes.push((self.static_int(&value, span)?, span));
                }
                IndexItem::Slice { span, .. } => {
                    let message = "explicit sizes are integers, not slices";
                    return Err(self.report(Diagnostic::new(Code::WrongArguments, *span, message)));
                }
            }
        }
        Ok(sizes)
    }

    /// The values of the arguments in the order of the parameters. All are looked at, also after an
    /// error.
    fn arguments(&mut self, function: &Function, args: &[ast::Arg], span: Span) -> R<Vec<Operand>> {
        let values: Vec<Operand> =
            args.iter().map(|arg| (self.elab(arg.value), self.span_of(arg.value))).collect();
        let named = args.iter().any(|arg| arg.name.is_some());
        if !named {
            return Ok(values);
        }
        let Some(id) = named_parameters(&function.callable) else {
            let message = "only definitions and builtins take arguments by name";
            return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
        };
        let signature = self.signature(id)?;
        let mut slots: Vec<Option<Operand>> = vec![None; signature.params.len()];
        for (k, (arg, value)) in args.iter().zip(values).enumerate() {
            let slot = match &arg.name {
                None => k,
                Some(name) => {
                    match signature.params.iter().position(|(param, _)| param.name == name.name) {
                        Some(slot) => slot,
                        None => {
                            let params: Vec<&str> =
                                signature.params.iter().map(|(param, _)| &*param.name).collect();
                            let message = format!("there is no parameter `{}`", name.name);
                            let hint = format!("the parameters are {}", params.join(", "));
                            return Err(self.report(
                                Diagnostic::new(Code::WrongArguments, name.span, message)
                                    .hint(hint),
                            ));
                        }
                    }
                }
            };
            match slots.get_mut(slot) {
                Some(place @ None) => *place = Some(value),
                Some(Some(_)) => {
                    let message = "this parameter is given twice";
                    return Err(self.report(Diagnostic::new(
                        Code::WrongArguments,
                        value.1,
                        message,
                    )));
                }
                None => return Err(self.wrong_count(id, args.len(), span)),
            }
        }
        let count = slots.iter().flatten().count();
        let given: Option<Vec<Operand>> = slots.into_iter().collect();
        given.ok_or_else(|| self.wrong_count(id, count, span))
    }

    fn wrong_count(&mut self, id: DefId, given: usize, span: Span) -> Reported {
        let modules = self.modules;
        let Some(def) = modules.def(id) else { return self.internal("a definition is missing") };
        let message =
            format!("`{}` takes {} arguments, not {given}", def.name.name, def.params.len());
        self.report(
            Diagnostic::new(Code::WrongArguments, span, message)
                .also(def.head_span, "defined here"),
        )
    }

    // ---- applying -----------------------------------------------------------------------------

    /// The function that an expression is.
    pub(crate) fn function_at(&mut self, expr: ExprId) -> R<Applied> {
        if let ExprKind::Lambda { params, .. } = &self.ast()[expr].kind {
            self.distinct_names(params)?;
            return Ok(Applied::Here(expr));
        }
        let value = self.try_elab(expr)?;
        self.function_of(&value, self.span_of(expr))
    }

    /// The function that a value is.
    pub(crate) fn function_of(&mut self, value: &Value, span: Span) -> R<Applied> {
        match value {
            Value::Function(function) => Ok(Applied::Value(function.clone())),
            Value::Error => Err(Reported),
            Value::Known(_) | Value::Term(_) | Value::Tuple(_) | Value::Record(_) => {
                let message = format!("a function is needed here, not {}", self.describe(value));
                let hint = "write a lambda: `x => …`, `(x, y) => …`";
                Err(self.wrong_kind(Diagnostic::new(Code::NotAFunction, span, message).hint(hint)))
            }
        }
    }

    /// How many parameters a function has.
    pub(crate) fn arity(&self, function: &Applied) -> Option<usize> {
        let params_of =
            |file: usize, lambda: ExprId| match &self.modules.files.get(file)?.module.ast[lambda]
                .kind
            {
                ExprKind::Lambda { params, .. } => Some(params.len()),
                _ => None,
            };
        match function {
            Applied::Here(lambda) => params_of(self.file, *lambda),
            Applied::Value(function) => match &function.callable {
                Callable::Closure(closure) => params_of(closure.file, closure.lambda),
                Callable::Def(id) => self.modules.def(*id).map(|def| def.params.len()),
                Callable::Builtin(_) => None,
                Callable::Derived(derived) if derived.takes_direction() => Some(2),
                Callable::Derived(derived) => self.arity_of(&derived.function),
                Callable::Linear(linear) => Some(linear.at.len()),
                Callable::Checkpoint(checkpoint) => self.arity_of(&checkpoint.function),
            },
        }
    }

    /// [`arity`](Self::arity) of a function that is a value.
    pub(super) fn arity_of(&self, function: &Rc<Function>) -> Option<usize> {
        self.arity(&Applied::Value(function.clone()))
    }

    /// The value of a function at arguments.
    pub(crate) fn apply(&mut self, function: &Applied, args: Vec<Operand>, span: Span) -> R<Value> {
        match function {
            Applied::Here(lambda) => {
                self.apply_lambda(*lambda, args, |this, body| this.try_elab(body))
            }
            Applied::Value(function) => self.apply_function(function, args, &[], span),
        }
    }

    /// The components of an index function's result, `[i, j + 1]`, at its index variables.
    pub(crate) fn apply_index(
        &mut self,
        function: &Applied,
        args: Vec<Operand>,
        span: Span,
    ) -> R<Vec<Operand>> {
        match function {
            Applied::Here(lambda) => {
                self.apply_lambda(*lambda, args, |this, body| this.index_list(body))
            }
            Applied::Value(function) => match &function.callable {
                Callable::Closure(closure) if function.contract.is_none() => {
                    self.inside(closure, span, |this| {
                        this.apply_lambda(closure.lambda, args, |this, body| this.index_list(body))
                    })
                }
                Callable::Closure(_)
                | Callable::Def(_)
                | Callable::Builtin(_)
                | Callable::Derived(_)
                | Callable::Linear(_)
                | Callable::Checkpoint(_) => {
                    let value = self.apply_function(function, args, &[], span)?;
                    self.components_of_index(value, span)
                }
            },
        }
    }

    /// A list of index components as written: `[i, j]`, also after some `let`s.
    pub(crate) fn index_list(&mut self, expr: ExprId) -> R<Vec<Operand>> {
        let ast = self.ast();
        match &ast[expr].kind {
            ExprKind::Array(items) => {
                Ok(items.iter().map(|&item| (self.elab(item), self.span_of(item))).collect())
            }
            ExprKind::Let { bindings, body } => {
                let scope = self.env.enter();
                for binding in bindings {
                    self.binding(binding);
                }
                let list = self.index_list(*body);
                self.env.leave(scope);
                list
            }
            _ => {
                let value = self.try_elab(expr)?;
                self.components_of_index(value, ast.span(expr))
            }
        }
    }

    /// A scalar is an index of one component, a tuple or vector of `i64` one of many.
    fn components_of_index(&mut self, value: Value, span: Span) -> R<Vec<Operand>> {
        if let Value::Tuple(tuple) = &value {
            return Ok(tuple.items.iter().map(|item| (item.clone(), span)).collect());
        }
        let t = self.term(&value, span)?;
        match *self.b.shape(t).dims() {
            [k] => {
                let mut components = Vec::new();
                for n in 0..k {
                    let made = self.b.scalar(n as i64).and_then(|n| self.b.index(t, &[n]));
                    components.push((Value::Term(self.lift(made, span)?), span));
                }
                Ok(components)
            }
            _ => Ok(vec![(value, span)]),
        }
    }

    fn apply_lambda<T>(
        &mut self,
        lambda: ExprId,
        args: Vec<Operand>,
        body_of: impl FnOnce(&mut Self, ExprId) -> R<T>,
    ) -> R<T> {
        let ast = self.ast();
        let ExprKind::Lambda { params, body } = &ast[lambda].kind else {
            return Err(self.internal("a function that is not a lambda"));
        };
        if params.len() != args.len() {
            let message = format!(
                "a function of {} is needed here, and this takes {}",
                count(args.len(), "argument"),
                params.len()
            );
            let hint = match args.len() {
                0 => "write `() => …`".to_owned(),
                1 => "write `x => …`".to_owned(),
                n => format!(
                    "write `({}) => …`",
                    ["x", "y", "z", "u", "v"]
                        .iter()
                        .take(n)
                        .copied()
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            return Err(self.report(
                Diagnostic::new(Code::WrongArguments, ast.span(lambda), message).hint(hint),
            ));
        }
        let scope = self.env.enter();
        for (&param, (value, value_span)) in params.iter().zip(args) {
            self.bind_pattern(param, value, value_span);
        }
        let result = body_of(self, *body);
        self.env.leave(scope);
        result
    }

    pub(super) fn apply_function(
        &mut self,
        function: &Function,
        mut args: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        let Some(contract) = &function.contract else {
            return self.apply_callable(&function.callable, args, explicit, span);
        };
        let mut sizes = Sizes::new(None);
        for (name, value) in contract.sizes.iter() {
            let why = format!("`{name} = {value}` in this call");
            sizes.known.insert(name.clone(), SizeFact { value: *value, span, why });
        }
        if contract.params.len() != args.len() {
            let message = format!(
                "this function takes {}, not {}",
                count(contract.params.len(), "argument"),
                args.len()
            );
            return Err(self.report(
                Diagnostic::new(Code::WrongArguments, span, message)
                    .also(contract.declared, "declared here"),
            ));
        }
        for (k, (arg, spec)) in args.iter_mut().zip(contract.params.iter()).enumerate() {
            let param = format!("argument {}", k + 1);
            let place = Place { span: arg.1, param: &param, declared: spec.span() };
            arg.0 = self.unify(spec, &arg.0, place, &mut sizes)?;
        }
        self.unify_rest(&mut sizes, &|_| None, None)?;
        let result = self.apply_callable(&function.callable, args, explicit, span)?;
        self.contract_result(contract, &result, &mut sizes, span)
    }

    fn contract_result(
        &mut self,
        contract: &Contract,
        result: &Value,
        sizes: &mut Sizes<'_>,
        span: Span,
    ) -> R<Value> {
        let place =
            Place { span, param: "the result of the function", declared: contract.result.span() };
        let value = self.unify(&contract.result, result, place, sizes)?;
        self.unify_rest(sizes, &|_| None, None)?;
        Ok(value)
    }

    fn apply_callable(
        &mut self,
        callable: &Callable,
        args: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        match callable {
            Callable::Def(id) => self.call_def(*id, args, explicit, span),
            Callable::Closure(closure) => {
                if !explicit.is_empty() {
                    let message = "only definitions take explicit sizes";
                    return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
                }
                self.inside(closure, span, |this| {
                    this.apply_lambda(closure.lambda, args, |this, body| this.try_elab(body))
                })
            }
            Callable::Builtin(builtin) => {
                let args =
                    args.into_iter().map(|(value, span)| (None, Arg::Value(value, span))).collect();
                library::call(self, builtin, args, span)
            }
            Callable::Derived(derived) => self.apply_derived(derived, args, explicit, span),
            Callable::Checkpoint(checkpoint) => {
                self.apply_checkpoint(checkpoint, args, explicit, span)
            }
            Callable::Linear(linear) => {
                let at = linear.at.clone();
                if at.len() != args.len() {
                    return Err(self.wrong_tangents(at.len(), args.len(), span));
                }
                let both = self.apply_derived_at(&linear.jvp, at, args, explicit, span)?;
                match both {
                    Value::Tuple(pair) if pair.items.len() == 2 => Ok(pair.items[1].clone()),
                    _ => Err(self.internal("a value and a tangent were expected")),
                }
            }
        }
    }

    /// Runs `body` among the variables of a closure.
    fn inside<T>(
        &mut self,
        closure: &Closure,
        span: Span,
        body: impl FnOnce(&mut Self) -> R<T>,
    ) -> R<T> {
        let mut env = Env::default();
        for (name, value) in closure.captured.iter() {
            env.bind(name.clone(), value.clone());
        }
        let frame = Frame { name: None, span, statics: 0, unknown: None };
        self.enter(closure.file, env, frame, body)
    }

    /// Runs `body` in another file and scope, one call deeper.
    fn enter<T>(
        &mut self,
        file: usize,
        env: Env,
        frame: Frame,
        body: impl FnOnce(&mut Self) -> R<T>,
    ) -> R<T> {
        if self.calls.len() >= MAX_CALLS {
            return Err(self.too_deep(&frame));
        }
        // The outermost is what was asked for, not a call.
        let call = if self.calls.is_empty() { Span::NONE } else { frame.span };
        let outer_calls = self.b.enter_call(call);
        self.calls.push(frame);
        let outer_env = std::mem::replace(&mut self.env, env);
        let outer_file = std::mem::replace(&mut self.file, file);
        let result = body(self);
        self.env = outer_env;
        self.file = outer_file;
        self.b.set_calls(outer_calls);
        self.calls.pop();
        result
    }

    /// Runs `body`, in which a builtin is called with arguments at these places.
    pub(super) fn calling<T>(
        &mut self,
        signature: &'static str,
        args: SmallVec<[Span; 4]>,
        body: impl FnOnce(&mut Self) -> R<T>,
    ) -> R<T> {
        self.builtins.push(Calling { signature, args });
        let result = body(self);
        self.builtins.pop();
        result
    }

    fn too_deep(&mut self, frame: &Frame) -> Reported {
        let message = format!("calls are nested more than {MAX_CALLS} deep");
        let before = self.calls.iter().rev().find(|call| call.name == frame.name);
        let hint = match (before, &frame.unknown) {
            // A static argument or size is another each time: it may well end, but too late.
            (Some(before), _) if before.statics != frame.statics => {
                "functions are inlined, and that is the limit: use `fold` or `while_loop` for \
                 longer recursions"
                    .to_owned()
            }
            (Some(_), Some(name)) => format!(
                "recursion must end by an `if` on a static value, and `{name}` is not known at \
                 compile time"
            ),
            _ => "recursion must end by an `if` on a static value".to_owned(),
        };
        let reported =
            self.report(Diagnostic::new(Code::RecursionTooDeep, frame.span, message).hint(hint));
        self.stopped = true;
        reported
    }

    /// Inlines a definition; explicit sizes are those of `f[3](x)`.
    fn call_def(
        &mut self,
        id: DefId,
        args: Vec<Operand>,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Value> {
        let given = self.explicit_facts(id, explicit, span)?;
        self.inline(id, args, given, span)
    }

    /// Inlines a definition, some of whose sizes are given.
    pub(crate) fn inline(
        &mut self,
        id: DefId,
        args: Vec<Operand>,
        given: Vec<(Name, SizeFact)>,
        span: Span,
    ) -> R<Value> {
        let modules = self.modules;
        let signature = self.signature(id)?;
        let def = modules.def(id).ok_or_else(|| self.internal("a definition is missing"))?;
        if args.len() != signature.params.len() {
            return Err(self.wrong_count(id, args.len(), span));
        }
        let mut sizes = Sizes::new(Some(&signature.size_names));
        sizes.known.extend(given);
        let mut values: Vec<(Name, Value)> = Vec::new();
        let mut failed = false;
        for ((param, spec), (value, value_span)) in signature.params.iter().zip(&args) {
            let shown = format!("`{}`", param.name);
            let place = Place { span: *value_span, param: &shown, declared: spec.span() };
            match self.unify(spec, value, place, &mut sizes) {
                Ok(value) => values.push((param.name.clone(), value)),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        let static_param = |name: &str| {
            values.iter().find(|(param, _)| &**param == name).and_then(|(_, v)| v.known_int())
        };
        self.unify_rest(&mut sizes, &static_param, Some((&signature, &def.name.name)))?;
        let statics = {
            let mut digest = rustc_hash::FxHasher::default();
            let known = |(_, value): &(Name, Value)| value.known_int();
            values.iter().map(known).for_each(|value| value.hash(&mut digest));
            let sizes = signature.sizes.iter().map(|size| sizes.get(&size.name));
            sizes.for_each(|value| value.hash(&mut digest));
            digest.finish()
        };
        let dynamic = |(_, value): &&(Name, Value)| match value {
            Value::Term(t) => self.b.dtype(*t) == Dtype::I64 && self.b.shape(*t).rank() == 0,
            _ => false,
        };
        let unknown = values.iter().find(dynamic).map(|(name, _)| name.clone());
        let mut env = Env::default();
        for size in &signature.sizes {
            match sizes.get(&size.name) {
                Some(value) => {
                    let value = self.size_known(value);
                    env.bind(size.name.clone(), value);
                }
                None => {
                    let message = format!(
                        "the size `{}` of `{}` does not follow from the arguments",
                        size.name, def.name.name
                    );
                    let hint = format!("give it in the call: `{}[…](…)`", def.name.name);
                    return Err(self.report(
                        Diagnostic::new(Code::SizeUnknown, span, message)
                            .also(size.span, "declared here")
                            .hint(hint),
                    ));
                }
            }
        }
        for (name, value) in values {
            let value = self.seal(value, &sizes);
            env.bind(name, value);
        }
        let frame = Frame { name: Some(def.name.name.clone()), span, statics, unknown };
        self.enter(id.file, env, frame, |this| {
            let value = this.try_elab(def.body)?;
            match &signature.result {
                None => Ok(value),
                Some(spec) => this.at_type(&value, this.span_of(def.body), spec),
            }
        })
    }

    fn explicit_facts(
        &mut self,
        id: DefId,
        explicit: &[(i64, Span)],
        span: Span,
    ) -> R<Vec<(Name, SizeFact)>> {
        let signature = self.signature(id)?;
        if explicit.len() > signature.declared {
            let given = count(explicit.len(), "size");
            let message = format!("{given} given, but {} declared in brackets", signature.declared);
            return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
        }
        let mut facts = Vec::new();
        for (size, &(value, place)) in signature.sizes.iter().zip(explicit) {
            self.size_from(value, place)?;
            let why = format!("`{} = {value}` is given here", size.name);
            facts.push((size.name.clone(), SizeFact { value, span: place, why }));
        }
        Ok(facts)
    }
}

/// The definition whose parameters a function has.
fn named_parameters(callable: &Callable) -> Option<DefId> {
    let mut callable = callable;
    loop {
        match callable {
            Callable::Def(id) => return Some(*id),
            Callable::Derived(derived) if !derived.takes_direction() => {
                callable = &derived.function.callable;
            }
            Callable::Checkpoint(checkpoint) => callable = &checkpoint.function.callable,
            Callable::Derived(_) | Callable::Linear(_) => return None,
            Callable::Closure(_) | Callable::Builtin(_) => return None,
        }
    }
}

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

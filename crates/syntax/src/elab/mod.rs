//! From syntax trees to programs.
//!
//! Elaboration runs a function at the level of types: every expression becomes a [`value::Value`],
//! which is a number known now, a term of the program being made, a tuple or record of values, or a
//! function. Calls are inlined, so functions, tuples and size parameters leave no trace in the
//! program.
//!
//! An expression with an error in it has the value [`value::Value::Error`], about which nothing more
//! is said; so one run finds many independent errors.

mod arrays;
mod branch;
mod call;
mod derivative;
mod env;
mod expr;
mod foreign;
mod index;
pub(crate) mod library;
mod names;
mod ops;
mod pattern;
mod solve;
mod structures;
mod suggest;
mod track;
pub(crate) mod tree;
pub(crate) mod types;
pub(crate) mod unify;
pub(crate) mod value;
mod with;

use std::rc::Rc;
use std::time::Instant;

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Builder, CancelToken, ErrorKind, Limits, Param, RegionId, Span, TermId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ast::{Ast, ExprId, Ident, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::load::{DefId, Modules};
use crate::sizes::{Event, Trace};
use env::Env;
use types::Signature;
use value::{Known, TooLarge, Value};

/// Proof that an error has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// What an elaboration gives when it may fail; the error has then been reported.
pub(crate) type R<T> = Result<T, Reported>;

/// How deep calls may nest.
const MAX_CALLS: usize = 1000;
/// So many calls of one function within each other are recursion.
const RECURSIVE_CALLS: usize = 16;
/// How many of the calls around an error a message shows.
const SHOWN_CALLS: usize = 3;
/// The stack that must be left before an expression is entered, and what is added when it is not.
const RED_ZONE: usize = 256 << 10;
const MORE_STACK: usize = 2 << 20;

/// A call that is being inlined.
#[derive(Clone, Debug)]
struct Frame {
    /// The function; a lambda has no name.
    name: Option<Name>,
    span: Span,
    /// A digest of the sizes and static arguments: recursion that changes them may come to an end.
    statics: u64,
    /// An integer argument that is not known at compile time.
    unknown: Option<Name>,
}

/// A call of a builtin.
struct Calling {
    signature: &'static str,
    /// Where its arguments stand, and the items of those that are lists.
    args: SmallVec<[Span; 4]>,
}

/// The state of one elaboration.
pub(crate) struct Elab<'m> {
    pub(crate) modules: &'m Modules,
    pub(crate) b: Builder,
    env: Env,
    /// The file of the expression at hand.
    file: usize,
    calls: Vec<Frame>,
    signatures: FxHashMap<DefId, Option<Rc<Signature>>>,
    diagnostics: Diagnostics,
    reported: FxHashSet<(Code, Span)>,
    /// The builtins that are being called, innermost last.
    builtins: Vec<Calling>,
    steps: usize,
    /// A limit was exceeded: everything is an error from here on.
    stopped: bool,
    /// What is found out about sizes, while these are followed.
    trace: Option<Box<Trace>>,
    /// What is noted about the expressions of a definition, if someone asked.
    seen: Option<Box<Seen>>,
}

/// The types of expressions and of names that are bound, by place, as they were met first.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Expressions elsewhere are not noted.
    pub(crate) within: Span,
    pub(crate) types: FxHashMap<Span, String>,
}

impl<'m> Elab<'m> {
    pub(crate) fn new(modules: &'m Modules, limits: Limits) -> Elab<'m> {
        Elab {
            modules,
            b: Builder::with_limits(limits, CancelToken::new()),
            env: Env::default(),
            file: 0,
            calls: Vec::new(),
            signatures: FxHashMap::default(),
            diagnostics: Diagnostics::new(),
            reported: FxHashSet::default(),
            builtins: Vec::new(),
            steps: 0,
            stopped: false,
            trace: None,
            seen: None,
        }
    }

    /// An elaboration that follows sizes.
    pub(crate) fn traced(modules: &'m Modules, limits: Limits, trace: Trace) -> Elab<'m> {
        Elab { trace: Some(Box::new(trace)), ..Elab::new(modules, limits) }
    }

    /// The same, noting the types of expressions of a definition.
    pub(crate) fn watching(self, within: Span) -> Elab<'m> {
        Elab { seen: Some(Box::new(Seen { within, types: FxHashMap::default() })), ..self }
    }

    /// What was noted, and what was found out about sizes.
    pub(crate) fn into_seen(self) -> (Option<Seen>, Option<Trace>) {
        (self.seen.map(|seen| *seen), self.trace.map(|trace| *trace))
    }

    /// Notes the type of what stands at a place.
    fn note_type(&mut self, span: Span, value: &Value) {
        let Some(seen) = &self.seen else { return };
        let inside = span.file == seen.within.file
            && seen.within.start <= span.start
            && span.end <= seen.within.end;
        if !inside || matches!(value, Value::Error) || seen.types.contains_key(&span) {
            return;
        }
        let described = self.describe(value);
        if let Some(seen) = &mut self.seen {
            seen.types.insert(span, described);
        }
    }

    /// How many steps it took so far.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// What was found out about sizes, and the number of steps that it took.
    pub(crate) fn into_trace(self) -> (Option<Trace>, usize) {
        (self.trace.map(|trace| *trace), self.steps)
    }

    /// Proof of an error among what was reported so far: a value may be wrong for that reason.
    pub(crate) fn reported_error(&self) -> Option<Reported> {
        self.diagnostics.has_errors().then_some(Reported)
    }

    /// Everything reported so far, and the builder.
    pub(crate) fn finish(self) -> (Builder, Diagnostics) {
        (self.b, self.diagnostics)
    }

    /// The nodes of the file at hand.
    fn ast(&self) -> &'m Ast {
        &self.modules.files[self.file].module.ast
    }

    // ---- messages -----------------------------------------------------------------------------

    /// Reports a message, once per place, with the calls that led there.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.stopped || !self.reported.insert((diagnostic.code, diagnostic.primary.span)) {
            return Reported;
        }
        let diagnostic = self.with_calls(diagnostic);
        if let Some(trace) = &mut self.trace {
            match diagnostic.severity() {
                Severity::Error => trace.fail(diagnostic.clone()),
                Severity::Warning | Severity::Note => {
                    trace.push(Event::Warn(Box::new(diagnostic.clone())));
                }
            }
        }
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// Reports that something is of another kind than is needed. Of an argument of a builtin this says
    /// the signature: arguments may have been swapped.
    fn wrong_kind(&mut self, diagnostic: Diagnostic) -> Reported {
        let calling = self.builtins.last();
        let signature = calling
            .filter(|calling| calling.args.contains(&diagnostic.primary.span))
            .map(|calling| format!("the signature is `{}`", calling.signature));
        self.report(signature.into_iter().fold(diagnostic, Diagnostic::hint))
    }

    /// A message with the calls that led to its place.
    pub(crate) fn with_calls(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        // The outermost call is that of the function being made, which nobody wrote.
        let (calls, here) = (self.calls.iter().skip(1).rev(), diagnostic.primary.span);
        let mut shown = vec![here];
        for frame in calls.take(SHOWN_CALLS) {
            if shown.contains(&frame.span) {
                continue;
            }
            shown.push(frame.span);
            let place = match &frame.name {
                Some(name) => format!("in this call of `{name}`"),
                None => "in this call of a lambda".to_owned(),
            };
            diagnostic = diagnostic.also(frame.span, place);
        }
        diagnostic
    }

    /// Runs `body`; its messages, if it fails, are not reported but returned.
    fn attempt<T>(&mut self, body: impl FnOnce(&mut Self) -> R<T>) -> Result<T, Diagnostics> {
        let before = std::mem::take(&mut self.diagnostics);
        let reported = self.reported.clone();
        let events = self.trace.as_ref().map_or(0, |trace| trace.events.len());
        let result = body(self);
        let messages = std::mem::replace(&mut self.diagnostics, before);
        match result {
            Ok(made) => {
                self.diagnostics.append(messages);
                Ok(made)
            }
            Err(Reported) => {
                self.reported = reported;
                if let Some(trace) = &mut self.trace {
                    trace.events.truncate(events);
                }
                Err(messages)
            }
        }
    }

    /// Reports the messages of a failed attempt.
    fn report_all(&mut self, messages: Diagnostics) -> Reported {
        self.reported.extend(messages.iter().map(|m| (m.code, m.primary.span)));
        if let Some(trace) = &mut self.trace {
            for message in &messages {
                trace.unless(None);
                trace.fail(message.clone());
            }
        }
        self.diagnostics.append(messages);
        Reported
    }

    /// Reports a fault of ours.
    pub(crate) fn internal(&mut self, message: &str) -> Reported {
        let message = format!("internal error: {message}");
        let hint = "this is a fault of cotan, not of the program: please report it";
        self.report(Diagnostic::new(Code::Internal, Span::NONE, message).hint(hint))
    }

    /// A result of the builder, its error reported at a place.
    pub(crate) fn lift<T>(&mut self, result: cotan_ir::Result<T>, span: Span) -> R<T> {
        result.map_err(|error| {
            // What the builder refuses may depend on sizes.
            if let Some(trace) = &mut self.trace
                && !trace.is_pending()
            {
                trace.unless(None);
            }
            let code = match error.kind() {
                ErrorKind::Type => Code::TypeMismatch,
                ErrorKind::Limit | ErrorKind::Cancelled | ErrorKind::Deadline => {
                    Code::LimitExceeded
                }
                _ => Code::Internal,
            };
            let mut diagnostic =
                Diagnostic::new(code, span, format!("`{}`: {}", error.op(), error.message()));
            if let Some(hint) = error.hint() {
                diagnostic = diagnostic.hint(hint);
            }
            let reported = self.report(diagnostic);
            if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Deadline)
                || self.b.len() >= self.b.limits().max_nodes
            {
                self.stopped = true;
            }
            reported
        })
    }

    /// A structure, or a message that it is too large.
    pub(crate) fn bounded<T>(&mut self, result: Result<T, TooLarge>, span: Span) -> R<T> {
        result.map_err(|TooLarge| {
            let message = "this structure is nested too deeply or has too many parts";
            let hint = "use an array instead of nested tuples, records or functions";
            self.report(Diagnostic::new(Code::LimitExceeded, span, message).hint(hint))
        })
    }

    fn unknown_import(&mut self, alias: &Ident) -> Reported {
        let message = format!("there is no import called `{}`", alias.name);
        let hint = format!("write `import \"…\" as {}` at the top of the file", alias.name);
        self.report(Diagnostic::new(Code::UnknownName, alias.span, message).hint(hint))
    }

    fn unknown_type(&mut self, file: usize, name: &Ident) -> Reported {
        let modules = self.modules;
        let known = modules.files.get(file).into_iter().flat_map(|f| f.types.keys());
        let scalars = Dtype::ALL.map(Dtype::name);
        let nearest = suggest::nearest(&name.name, known.map(|n| &**n).chain(scalars));
        let message = format!("unknown type `{}`", name.name);
        let diagnostic = Diagnostic::new(Code::UnknownName, name.span, message);
        let hint = match (foreign::type_advice(&name.name), nearest) {
            (Some(advice), _) => advice.to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!(
                "the element types are f64, f32, i64 and bool; define others: `type {} = …`",
                name.name
            ),
        };
        self.report(diagnostic.hint(hint))
    }

    // ---- limits -------------------------------------------------------------------------------

    /// Counts one step of work, so that a program that grows without end is stopped.
    fn step(&mut self, span: Span) -> R<()> {
        if self.stopped {
            return Err(Reported);
        }
        self.steps += 1;
        let limits = self.b.limits();
        let message = if self.steps > limits.max_nodes {
            format!("making this program takes more than {} steps", limits.max_nodes)
        } else if self.steps.is_multiple_of(1024)
            && limits.deadline.is_some_and(|end| Instant::now() >= end)
        {
            "out of time".to_owned()
        } else {
            return Ok(());
        };
        let hint =
            "recursion must end by an `if` on a static value; use `build` or `fold` for long loops";
        let reported = self.report(Diagnostic::new(Code::LimitExceeded, span, message).hint(hint));
        self.stopped = true;
        Err(reported)
    }

    // ---- terms and values ---------------------------------------------------------------------

    /// A literal scalar.
    pub(crate) fn constant(&mut self, known: Known, span: Span) -> R<TermId> {
        let term = match known.value {
            Scalar::F64(x) => self.b.scalar(x),
            Scalar::F32(x) => self.b.scalar(x),
            Scalar::I64(x) => self.b.scalar(x),
            Scalar::Bool(x) => self.b.scalar(x),
            Scalar::Fp(_) => return Err(self.internal("an element of the test field as a literal")),
        };
        self.lift(term, span)
    }

    /// The array that a value is.
    pub(crate) fn term(&mut self, value: &Value, span: Span) -> R<TermId> {
        match value {
            Value::Term(t) => Ok(*t),
            Value::Known(known) => self.constant(*known, span),
            Value::Error => Err(Reported),
            Value::Tuple(_) | Value::Record(_) => {
                let message =
                    format!("an array is needed here, not the structure {}", self.describe(value));
                let hint = "take a component: `t.0`, `r.field`";
                Err(self.report(Diagnostic::new(Code::NotAnArray, span, message).hint(hint)))
            }
            Value::Function(_) => {
                let message = "an array is needed here, not a function";
                let hint = "call it: `f(x)`";
                Err(self.report(Diagnostic::new(Code::NotAnArray, span, message).hint(hint)))
            }
        }
    }

    /// The arrays of a structure, in order.
    pub(crate) fn leaves(&mut self, value: &Value, span: Span) -> R<Vec<TermId>> {
        let mut leaves = Vec::new();
        self.map_leaves(value, span, &mut |_, t| {
            leaves.push(t);
            Ok(t)
        })?;
        Ok(leaves)
    }

    /// The structure with every array replaced.
    pub(crate) fn map_leaves(
        &mut self,
        value: &Value,
        span: Span,
        f: &mut dyn FnMut(&mut Self, TermId) -> R<TermId>,
    ) -> R<Value> {
        match value {
            Value::Tuple(tuple) => {
                let items: R<Vec<Value>> =
                    tuple.items.iter().map(|item| self.map_leaves(item, span, f)).collect();
                let made = Value::tuple(items?);
                self.bounded(made, span)
            }
            Value::Record(record) => {
                let mut fields = Vec::new();
                for (name, field) in &record.items {
                    fields.push((name.clone(), self.map_leaves(field, span, f)?));
                }
                let made = Value::record(fields);
                self.bounded(made, span)
            }
            Value::Known(_) | Value::Term(_) | Value::Function(_) | Value::Error => {
                let t = self.term(value, span)?;
                Ok(Value::Term(f(self, t)?))
            }
        }
    }

    /// A value's type in words.
    pub(crate) fn describe(&self, value: &Value) -> String {
        match value {
            Value::Known(known) => known.dtype().to_string(),
            Value::Term(t) => self.b.ty(*t).to_string(),
            Value::Tuple(tuple) => {
                let items: Vec<String> =
                    tuple.items.iter().map(|item| self.describe(item)).collect();
                match items.as_slice() {
                    [one] => format!("({one},)"),
                    more => format!("({})", more.join(", ")),
                }
            }
            Value::Record(record) => {
                let fields: Vec<String> = record
                    .items
                    .iter()
                    .map(|(name, field)| format!("{name}: {}", self.describe(field)))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Value::Function(_) => "a function".to_owned(),
            Value::Error => "an error".to_owned(),
        }
    }

    /// The function that most of the calls at hand are of, if it calls itself again and again.
    fn recursion(&self) -> Option<Name> {
        let mut counts: FxHashMap<&Name, usize> = FxHashMap::default();
        for name in self.calls.iter().filter_map(|frame| frame.name.as_ref()) {
            *counts.entry(name).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|&(name, count)| (count, name))?;
        (most.1 >= RECURSIVE_CALLS).then(|| most.0.clone())
    }

    // ---- regions ------------------------------------------------------------------------------

    /// A region whose results `body` makes from its parameters.
    pub(crate) fn region(
        &mut self,
        params: &[Param],
        span: Span,
        body: impl FnOnce(&mut Self, &[TermId]) -> R<Vec<TermId>>,
    ) -> R<RegionId> {
        let opened = self.b.open(params);
        if opened.is_err()
            && let Some(name) = self.recursion()
        {
            let message = format!("`{name}` calls itself without end, or too often");
            let hint = "recursion must end by an `if` on a static value";
            let diagnostic = Diagnostic::new(Code::RecursionTooDeep, span, message);
            let reported = self.report(diagnostic.hint(hint));
            self.stopped = true;
            return Err(reported);
        }
        let vars = self.lift(opened, span)?;
        match body(self, &vars) {
            Ok(results) => {
                let closed = self.b.close(&results);
                self.lift(closed, span)
            }
            Err(reported) => {
                self.b.abandon();
                Err(reported)
            }
        }
    }

    // ---- expressions --------------------------------------------------------------------------

    /// The value of an expression; [`Value::Error`] after a message.
    pub(crate) fn elab(&mut self, expr: ExprId) -> Value {
        self.try_elab(expr).unwrap_or(Value::Error)
    }

    /// The value of an expression.
    pub(crate) fn try_elab(&mut self, expr: ExprId) -> R<Value> {
        let span = self.ast().span(expr);
        self.step(span)?;
        let outer = self.b.set_span(span);
        let value = stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.expression(expr, span));
        self.b.set_span(outer);
        if let (true, Ok(value)) = (self.seen.is_some(), &value) {
            self.note_type(span, value);
        }
        value
    }

    /// The place of an expression.
    pub(crate) fn span_of(&self, expr: ExprId) -> Span {
        self.ast().span(expr)
    }
}

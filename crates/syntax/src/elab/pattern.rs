//! Binding values to patterns.

use cotan_ir::Span;
use rustc_hash::FxHashSet;

use super::value::Value;
use super::{Elab, R};
use crate::ast::{Name, PatId, PatternKind};
use crate::diagnostic::{Code, Diagnostic};

impl Elab<'_> {
    /// Gives the names of a pattern their meanings; after a message, the rest mean an error.
    pub(crate) fn bind_pattern(&mut self, pattern: PatId, value: Value, value_span: Span) {
        let ast = self.ast();
        match &ast[pattern].kind {
            PatternKind::Name(name) => {
                self.note_type(ast[pattern].span, &value);
                self.env.bind(name.clone(), value);
            }
            PatternKind::Wildcard | PatternKind::Error => {}
            PatternKind::Tuple(items) => {
                let span = ast[pattern].span;
                let components = self.components(items.len(), &value, span, value_span);
                for (k, &item) in items.iter().enumerate() {
                    let component = components.as_ref().ok().and_then(|parts| parts.get(k));
                    self.bind_pattern(item, component.cloned().unwrap_or(Value::Error), value_span);
                }
            }
        }
    }

    fn components(
        &mut self,
        count: usize,
        value: &Value,
        span: Span,
        value_span: Span,
    ) -> R<Vec<Value>> {
        let found = match value {
            Value::Tuple(tuple) if tuple.items.len() == count => return Ok(tuple.items.clone()),
            Value::Error => return Err(super::Reported),
            Value::Tuple(tuple) => format!("a tuple of {}", tuple.items.len()),
            Value::Record(_) => "a record".to_owned(),
            Value::Function(_) => "a function".to_owned(),
            Value::Known(_) | Value::Term(_) => "an array".to_owned(),
        };
        let message = format!("a tuple of {count} is needed for this pattern, not {found}");
        let mut diagnostic = Diagnostic::new(Code::BadPattern, span, message);
        if value_span != span {
            diagnostic = diagnostic.also(value_span, format!("this is {}", self.describe(value)));
        }
        let hint = match value {
            Value::Term(_) => "the elements of an array are read by `a[0]`, `a[1]`",
            Value::Record(_) => "the fields of a record are read by `r.field`",
            _ => "the pattern must have the structure of the value",
        };
        Err(self.report(diagnostic.hint(hint)))
    }

    /// Reports names that occur twice in the parameters of one lambda or the pattern of one `let`.
    pub(crate) fn distinct_names(&mut self, patterns: &[PatId]) -> R<()> {
        if let [one] = patterns
            && matches!(self.ast()[*one].kind, PatternKind::Name(_))
        {
            return Ok(());
        }
        let ast = self.ast();
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        let mut todo: Vec<PatId> = patterns.to_vec();
        while let Some(pattern) = todo.pop() {
            match &ast[pattern].kind {
                PatternKind::Name(name) => {
                    if !seen.insert(name) {
                        let message = format!("the name `{name}` is bound twice in one pattern");
                        let hint = "rename one of them, or write `_`";
                        let diagnostic =
                            Diagnostic::new(Code::DuplicateName, ast[pattern].span, message);
                        return Err(self.report(diagnostic.hint(hint)));
                    }
                }
                PatternKind::Tuple(items) => todo.extend(items),
                PatternKind::Wildcard | PatternKind::Error => {}
            }
        }
        Ok(())
    }
}

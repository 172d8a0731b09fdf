//! Functions on whole structures: tuples and records of the same form, part by part.

use cotan_ir::Span;

use super::ops::Operand;
use super::value::Value;
use super::{Elab, R, Reported};
use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};

/// What is done with corresponding parts.
type Apply<'a> = dyn FnMut(&mut Elab<'_>, Vec<Operand>) -> R<Value> + 'a;

impl Elab<'_> {
    /// `f` at corresponding parts of the arguments. What is no structure goes with every part, as a
    /// scalar goes with every element of an array. Structures nest to a bounded depth.
    pub(super) fn over_structures(
        &mut self,
        shown: &str,
        args: Vec<Operand>,
        span: Span,
        f: &mut Apply<'_>,
    ) -> R<Value> {
        let form = args.iter().find(|(v, _)| matches!(v, Value::Tuple(_) | Value::Record(_)));
        let Some((form, form_span)) = form.cloned() else { return f(self, args) };
        match &form {
            Value::Tuple(tuple) => {
                let mut items = Vec::new();
                for k in 0..tuple.items.len() {
                    let mut parts = Vec::new();
                    for (value, place) in &args {
                        let part = match value {
                            Value::Tuple(other) if other.items.len() == tuple.items.len() => {
                                other.items.get(k).cloned().unwrap_or(Value::Error)
                            }
                            Value::Tuple(_) | Value::Record(_) => {
                                let what = match value {
                                    Value::Tuple(other) => format!(
                                        "the tuples have {} and {} components",
                                        tuple.items.len(),
                                        other.items.len()
                                    ),
                                    _ => "one is a tuple, the other a record".to_owned(),
                                };
                                let both = [(&form, form_span), (value, *place)];
                                return Err(self.other_form(shown, &what, both));
                            }
                            _ => value.clone(),
                        };
                        parts.push((part, *place));
                    }
                    items.push(self.over_structures(shown, parts, span, f)?);
                }
                self.bounded(Value::tuple(items), span)
            }
            Value::Record(record) => {
                for (value, place) in &args {
                    let what = match value {
                        Value::Tuple(_) => "one is a record, the other a tuple".to_owned(),
                        Value::Record(other) => {
                            let missing = |name: &Name, from: &[(Name, Value)]| {
                                from.iter().all(|(known, _)| known != name)
                            };
                            let here = other.items.iter().find(|(n, _)| missing(n, &record.items));
                            let there = record.items.iter().find(|(n, _)| missing(n, &other.items));
                            match here.or(there) {
                                Some((name, _)) => format!("only one of them has a field `{name}`"),
                                None => continue,
                            }
                        }
                        _ => continue,
                    };
                    let both = [(&form, form_span), (value, *place)];
                    return Err(self.other_form(shown, &what, both));
                }
                let mut fields = Vec::new();
                for (name, _) in &record.items {
                    let part = |value: &Value| match value {
                        Value::Record(other) => {
                            let field = other.items.iter().find(|(known, _)| known == name);
                            field.map_or(Value::Error, |(_, field)| field.clone())
                        }
                        _ => value.clone(),
                    };
                    let parts = args.iter().map(|(value, place)| (part(value), *place)).collect();
                    fields.push((name.clone(), self.over_structures(shown, parts, span, f)?));
                }
                self.bounded(Value::record(fields), span)
            }
            Value::Known(_) | Value::Term(_) | Value::Function(_) | Value::Error => Err(Reported),
        }
    }

    fn other_form(&mut self, shown: &str, what: &str, both: [(&Value, Span); 2]) -> Reported {
        let [(a, a_span), (b, b_span)] = both;
        let (a, b) = (self.describe(a), self.describe(b));
        let message = format!("`{shown}` of structures that differ: {what}");
        let diagnostic = Diagnostic::new(Code::TypeMismatch, b_span, message);
        let diagnostic = diagnostic.label(format!("this is {b}"));
        self.report(if a_span == b_span {
            diagnostic.note(format!("the other is {a}"))
        } else {
            diagnostic.also(a_span, format!("this is {a}"))
        })
    }
}

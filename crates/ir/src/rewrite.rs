//! What passes made of named rules share: which rules there are, and which of them fired.
//!
//! A pass keeps its rules in a table of rows that have a `name`. Code refers to a rule by its name,
//! which [`rule_number!`](crate::rule_number) looks up while compiling, and tells a [`Report`] of
//! every firing.

use std::collections::BTreeMap;

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::provenance;
use crate::span::Span;
use crate::term::{TermId, Type};

/// The place of a rule in a table, found while compiling: a name that is not there does not compile.
///
/// ```
/// struct Rule { name: &'static str }
/// const RULES: &[Rule] = &[Rule { name: "add/zero" }, Rule { name: "mul/one" }];
///
/// assert_eq!(cotan_ir::rule_number!(RULES, "mul/one"), 1);
/// ```
///
/// ```compile_fail
/// # struct Rule { name: &'static str }
/// # const RULES: &[Rule] = &[Rule { name: "add/zero" }];
/// cotan_ir::rule_number!(RULES, "mul/one");
/// ```
#[macro_export]
macro_rules! rule_number {
    ($rules:expr, $name:expr) => {{
        const NUMBER: usize = {
            let mut k = 0;
            while k < $rules.len() && !$crate::rewrite::same($rules[k].name, $name) {
                k += 1;
            }
            assert!(k < $rules.len(), "a rule that is not in the table");
            k
        };
        NUMBER
    }};
}

/// Whether two names are equal, known while compiling.
pub const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut k = 0;
    while k < a.len() {
        if a[k] != b[k] {
            return false;
        }
        k += 1;
    }
    true
}

/// One firing of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The rule's name.
    pub rule: &'static str,
    /// The place in the source of the term that was rewritten.
    pub span: Span,
    /// The term before, in short.
    pub before: String,
    /// The term after, in short.
    pub after: String,
}

/// Which rules of a table fired.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of each rule and how often it fired.
    counts: Vec<(&'static str, u64)>,
    tracing: bool,
    trace: Vec<Firing>,
}

impl Report {
    /// No firings yet of the rules of these names; each is to be kept if `tracing`.
    pub fn new(names: impl Iterator<Item = &'static str>, tracing: bool) -> Report {
        Report { counts: names.map(|name| (name, 0)).collect(), tracing, trace: Vec::new() }
    }

    /// How often each rule fired, by name; rules that did not are left out.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.iter().copied().filter(|(_, n)| *n > 0).collect()
    }

    /// How often any rule fired.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }

    /// The firings in order, if they were asked for.
    pub fn trace(&self) -> &[Firing] {
        &self.trace
    }

    /// Counts a firing of the rule with this number, which it gives the name of.
    pub fn count(&mut self, rule: usize) -> &'static str {
        match self.counts.get_mut(rule) {
            Some((name, n)) => {
                *n += 1;
                name
            }
            None => "a rule that is not in the table",
        }
    }

    /// Counts and traces a firing, and checks that the type is the one expected: that of the term
    /// before, if none is given. If it is recorded where nodes come from, this becomes a part of it.
    pub fn fire(
        &mut self,
        rule: usize,
        b: &mut Builder,
        before: TermId,
        expected: Option<&Type>,
        after: TermId,
    ) -> Result<TermId> {
        let rule = self.count(rule);
        let expected = expected.unwrap_or(b.ty(before));
        if b.ty(after) != expected {
            let message = format!("rule {rule} turned {expected} into {}", b.ty(after));
            return Err(Error::internal(message));
        }
        let texts = |b: &Builder| (b.show(before).to_string(), b.show(after).to_string());
        if provenance::is_recording() {
            let from = provenance::join(b.place(), b.span(before));
            let place = provenance::happened(from, rule, || texts(b));
            b.also_from(after, place);
        }
        if self.tracing {
            let span = b.span(before);
            let (before, after) = texts(b);
            self.trace.push(Firing { rule, span, before, after });
        }
        Ok(after)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail so")]
mod tests {
    use super::*;
    use crate::scalar::Op;

    #[test]
    fn firings_are_counted_traced_and_held_to_their_type() {
        let mut b = Builder::new();
        let (x, y) = (b.scalar(2.0).unwrap(), b.scalar(true).unwrap());
        let neg = b.op(Op::Neg, &[x]).unwrap();
        let mut report = Report::new(["neg", "not"].into_iter(), true);
        let ty = b.ty(neg).clone();

        assert_eq!(report.fire(0, &mut b, neg, Some(&ty), x).unwrap(), x);
        assert_eq!((report.total(), report.counts()), (1, BTreeMap::from([("neg", 1)])));
        let [firing] = report.trace() else { panic!("{:?}", report.trace()) };
        assert_eq!((firing.rule, firing.after.as_str()), ("neg", "2.0"));

        let error = report.fire(1, &mut b, neg, Some(&ty), y).unwrap_err();
        assert!(error.to_string().contains("rule not turned f64 into bool"), "{error}");
    }
}

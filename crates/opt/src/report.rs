//! What happens when a rule fires: it is counted, traced, and held to its type.

use std::collections::BTreeMap;

use cotan_ir::{Arena, Error, Result, Span, TermId};

use crate::rules::RULES;

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

/// Which rules fired.
#[derive(Clone, Debug, Default)]
pub struct Report {
    counts: Vec<u64>,
    tracing: bool,
    trace: Vec<Firing>,
}

impl Report {
    pub(crate) fn new(tracing: bool) -> Report {
        Report { counts: vec![0; RULES.len()], tracing, trace: Vec::new() }
    }

    /// How often each rule fired, by name; rules that did not are left out.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let named = RULES.iter().zip(&self.counts).map(|(rule, &n)| (rule.name, n));
        named.filter(|(_, n)| *n > 0).collect()
    }

    /// How often any rule fired.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The firings in order, if they were asked for.
    pub fn trace(&self) -> &[Firing] {
        &self.trace
    }

    /// Counts a firing.
    pub(crate) fn count(&mut self, rule: usize) {
        if let Some(count) = self.counts.get_mut(rule) {
            *count += 1;
        }
    }

    /// Counts and traces a firing, and checks that the type is the one before.
    pub(crate) fn fire(
        &mut self,
        rule: usize,
        arena: &Arena,
        before: TermId,
        after: TermId,
    ) -> Result<TermId> {
        let name = RULES.get(rule).map_or("?", |r| r.name);
        if arena.ty(after) != arena.ty(before) {
            let (before, after) = (arena.ty(before), arena.ty(after));
            return Err(Error::internal(format!("rule {name} turned {before} into {after}")));
        }
        self.count(rule);
        if self.tracing {
            let span = arena.span(before);
            let (before, after) = (arena.show(before).to_string(), arena.show(after).to_string());
            self.trace.push(Firing { rule: name, span, before, after });
        }
        Ok(after)
    }
}

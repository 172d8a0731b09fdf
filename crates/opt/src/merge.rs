//! Loops that go the same way: one loop with the outputs of all.
//!
//! A program that computes a value and, elsewhere, a derivative has the loop of the value, and once
//! more the same loop with its states saved. Both have the same start, inputs and next states, so
//! they run through the same states, and one of them can give what both do.

use cotan_ir::{Node, Program, Scope, Scopes, TermId, TermSet};
use rustc_hash::FxHashMap;

use crate::options::Options;

/// So many loops are made as one at most, and another.
const MOST: usize = 8;

/// Which loops are made as one.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The loops that are made with the first of them.
    pub with: FxHashMap<TermId, Vec<TermId>>,
    /// All these others.
    later: TermSet,
}

impl Merged {
    /// Whether a loop is made with others.
    pub fn contains(&self, t: TermId) -> bool {
        self.later.contains(t) || self.with.contains_key(&t)
    }
}

/// What loops have in common that go the same way.
#[derive(PartialEq, Eq, Hash)]
struct Traversal<'a> {
    length: usize,
    reverse: bool,
    init: &'a [TermId],
    inputs: &'a [TermId],
    next: &'a [TermId],
    level: u8,
}

/// The loops of a program that go the same way.
pub(crate) fn merged(program: &Program, scopes: &Scopes, options: &Options) -> Merged {
    let mut merged = Merged::default();
    if options.loops {
        let regions = program.regions().map(|r| scopes.region(r));
        for scope in std::iter::once(scopes.top()).chain(regions) {
            merge(program, scopes, scope, &mut merged);
        }
    }
    merged
}

/// The loops of a scope that go the same way.
fn merge(program: &Program, scopes: &Scopes, scope: &Scope, merged: &mut Merged) {
    let mut ways: FxHashMap<Traversal<'_>, TermId> = FxHashMap::default();
    for &t in scope.order() {
        let Node::MapAccum(m) = program.node(t) else { continue };
        let region = program.region(m.step);
        let way = Traversal {
            length: m.length,
            reverse: m.reverse,
            init: &m.init,
            inputs: &m.inputs,
            next: &region.results()[..m.init.len()],
            level: region.level(),
        };
        let Some(&first) = ways.get(&way) else {
            ways.insert(way, t);
            continue;
        };
        if m.length <= 1 || merged.contains(t) || merged.later.contains(first) {
            continue;
        }
        // It is made with the first, so nothing that it uses may depend on that, nor on the others.
        let mut all = merged.with.get(&first).cloned().unwrap_or_default();
        all.push(first);
        if all.len() <= MOST && !depend(program, scopes, scopes.region(m.step).captures(), &all) {
            merged.with.entry(first).or_default().push(t);
            merged.later.insert(t);
        }
    }
}

/// Whether some terms depend on one of others.
fn depend(program: &Program, scopes: &Scopes, terms: &[TermId], on: &[TermId]) -> bool {
    let (mut stack, mut seen) = (terms.to_vec(), TermSet::new());
    let first = on.iter().min();
    while let Some(t) = stack.pop() {
        if on.contains(&t) {
            return true;
        }
        // What a node depends on stands before it.
        if Some(&t) > first && seen.insert(t) {
            scopes.for_each_dependency(program, t, |u| stack.push(u));
        }
    }
    false
}

//! Loops that go the same way: one loop with the outputs of all.
//!
//! A program that computes a value and, elsewhere, a derivative has the loop of the value, and once
//! more the same loop with its states saved. Both have the same start, inputs and next states, so
//! they run through the same states, and one of them can give what both do.

use cotan_ir::{MapAccum, Node, Program, Scope, Scopes, TermId, TermMap, TermSet};
use rustc_hash::FxHashMap;

use crate::options::Options;

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
struct Way<'a> {
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
        merge(program, scopes, scopes.top(), &mut merged);
        for r in program.regions() {
            merge(program, scopes, scopes.region(r), &mut merged);
        }
    }
    merged
}

/// The loops of a scope that go the same way.
fn merge(program: &Program, scopes: &Scopes, scope: &Scope, merged: &mut Merged) {
    let mut ways: FxHashMap<Way<'_>, (TermId, &MapAccum)> = FxHashMap::default();
    // Where each node of the scope stands, once that matters.
    let mut places: Option<TermMap<usize>> = None;
    for &t in scope.order() {
        let Node::MapAccum(m) = program.node(t) else { continue };
        let region = program.region(m.step);
        let way = Way {
            length: m.length,
            reverse: m.reverse,
            init: &m.init,
            inputs: &m.inputs,
            next: &region.results()[..m.init.len()],
            level: region.level(),
        };
        let Some(&(first, one)) = ways.get(&way) else {
            ways.insert(way, (t, m));
            continue;
        };
        if m.length <= 1 || merged.contains(t) || merged.later.contains(first) {
            continue;
        }
        let places = places.get_or_insert_with(|| {
            let mut places = TermMap::new();
            for (n, &t) in scope.order().iter().enumerate() {
                places.insert(t, n);
            }
            places
        });
        // What it uses besides must be there before the first: it may depend on that.
        let known = scopes.region(one.step).captures();
        let before = |u: &TermId| {
            known.contains(u) || places.get(*u).is_none_or(|at| places.get(first) > Some(at))
        };
        if scopes.region(m.step).captures().iter().all(before) {
            merged.with.entry(first).or_default().push(t);
            merged.later.insert(t);
        }
    }
}

//! Walks over terms of a builder in constant stack.

use std::rc::Rc;

use cotan_ir::{Arena, RegionId, TermId, TermMap, TermSet};

/// What regions capture, remembered.
#[derive(Default)]
pub(crate) struct Captures(Vec<Option<Rc<[TermId]>>>);

impl Captures {
    /// The nodes outside a region that it uses.
    pub(crate) fn of(&mut self, arena: &Arena, r: RegionId) -> Rc<[TermId]> {
        if let Some(Some(found)) = self.0.get(r.index()) {
            return found.clone();
        }
        // Inner regions come before outer ones and are walked with them, so no recursion.
        let level = arena.region(r).level();
        let mut seen = TermSet::new();
        let mut captures = Vec::new();
        let mut stack: Vec<TermId> = arena.region(r).results().to_vec();
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            if arena.free(t).innermost() < level {
                captures.push(t);
                continue;
            }
            let node = arena.node(t);
            node.for_each_operand(|u| stack.push(u));
            if let Some(inner) = node.region() {
                stack.extend(arena.region(inner).results());
            }
        }
        captures.sort_unstable();
        let captures: Rc<[TermId]> = captures.into();
        if self.0.len() <= r.index() {
            self.0.resize(r.index() + 1, None);
        }
        self.0[r.index()] = Some(captures.clone());
        captures
    }
}

/// A list for each term: all in one vector, each value with the position of the one before it.
pub(crate) struct Lists<T> {
    last: TermMap<usize>,
    values: Vec<(T, Option<usize>)>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { last: TermMap::new(), values: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    /// Adds a value to the list of a term.
    pub(crate) fn push(&mut self, t: TermId, value: T) {
        let before = self.last.insert(t, self.values.len());
        self.values.push((value, before));
    }

    /// The list of a term, the last value first.
    pub(crate) fn of(&self, t: TermId) -> impl Iterator<Item = T> {
        let mut position = self.last.get(t).copied();
        std::iter::from_fn(move || {
            let &(value, before) = self.values.get(position?)?;
            position = before;
            Some(value)
        })
    }
}

/// The nodes needed for `roots` for which `enter` holds, dependencies first. Nodes for which it does
/// not hold are not walked through. `dependencies` lists what must come before a node.
pub(crate) fn post_order(
    roots: &[TermId],
    mut enter: impl FnMut(TermId) -> bool,
    mut dependencies: impl FnMut(TermId, &mut Vec<TermId>),
) -> Vec<TermId> {
    enum Visit {
        Enter(TermId),
        Leave(TermId),
    }
    let mut seen = TermSet::new();
    let mut order = Vec::new();
    let mut found = Vec::new();
    let mut stack: Vec<Visit> = roots.iter().rev().map(|&t| Visit::Enter(t)).collect();
    while let Some(visit) = stack.pop() {
        let t = match visit {
            Visit::Leave(t) => {
                order.push(t);
                continue;
            }
            Visit::Enter(t) => t,
        };
        if !seen.insert(t) || !enter(t) {
            continue;
        }
        stack.push(Visit::Leave(t));
        dependencies(t, &mut found);
        stack.extend(found.drain(..).rev().map(Visit::Enter));
    }
    order
}

/// The operands of a node and what its region captures.
pub(crate) fn all_dependencies(
    arena: &Arena,
    captures: &mut Captures,
    t: TermId,
    found: &mut Vec<TermId>,
) {
    let node = arena.node(t);
    node.for_each_operand(|u| found.push(u));
    if let Some(r) = node.region() {
        found.extend(captures.of(arena, r).iter());
    }
}

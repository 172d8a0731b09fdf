//! What a loop computes again although an earlier one has it: stored there, read here.
//!
//! The reverse pass of a loop runs over the states that the loop has saved, and computes from them
//! what the derivative of a step needs, most of which the loop itself has computed on its way:
//! $$ s_{k+1} = f(g(s_k, x_k)) \qquad\text{and, backwards,}\qquad
//!    \bar s_k = \dots f'(g(s_k, x_k)) \dots $$
//! Where $g$ is dear, such as a product of matrices, the first loop gives $z_k = g(s_k, x_k)$ as one
//! more output, and the second reads it.
//!
//! # When it pays
//!
//! Storing an element is a write and a read, from memory if there are many. What takes fewer
//! operations an element than [`Options::recompute`](crate::Options::recompute) is computed again.
//! All that is stored for a loop is at most [`MOST`] times what it reads already: the peak of memory
//! grows by a constant factor, whatever the program.

use cotan_ir::{MapAccum, Node, Program, Scopes, TermId, TermMap, Type};
use rustc_hash::FxHashMap;

use crate::merge::Merged;
use crate::options::Options;

/// How many times as much as a loop reads may be stored for it.
const MOST: usize = 4;

/// How many loops a loop is compared with.
const SOURCES: usize = 4;

/// A term of a loop's step that is read instead of computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recalled {
    pub term: TermId,
    /// The loop that stores it, and the term of that loop's step.
    pub from: (TermId, TermId),
}

/// What loops store for others, and what they read of it.
#[derive(Debug, Default)]
pub(crate) struct LoopStores {
    pub outputs: FxHashMap<TermId, Vec<TermId>>,
    pub inputs: FxHashMap<TermId, Vec<Recalled>>,
}

/// What the loops of a program should store for each other.
pub(crate) fn stored(
    program: &Program,
    scopes: &Scopes,
    merged: &Merged,
    options: &Options,
) -> LoopStores {
    let mut stored = LoopStores::default();
    if !options.loops || options.recompute == u64::MAX {
        return stored;
    }
    let live = cotan_ir::live_nodes(program, program.outputs().iter().map(|o| o.term));
    let mut steps: FxHashMap<TermId, Nodes<'_>> = FxHashMap::default();
    for t in program.terms().filter(|t| live[t.index()]) {
        let Node::MapAccum(m) = program.node(t) else { continue };
        // Loops that become one are looked at in the next round.
        if merged.contains(t) {
            continue;
        }
        let mut budget = m.inputs.iter().map(|&x| program.shape(x).numel()).sum::<usize>();
        budget = budget.saturating_mul(MOST);
        for (first, a) in sources(program, m).into_iter().filter(|s| !merged.contains(s.0)) {
            let nodes = steps.entry(first).or_insert_with(|| nodes_of(program, scopes, a));
            let again = Again { program, scopes, options, a, first, b: m };
            for recalled in again.find(nodes) {
                let size = program.shape(recalled.term).numel().saturating_mul(m.length);
                let Some(left) = budget.checked_sub(size) else { continue };
                let known = stored.inputs.entry(t).or_default();
                if known.iter().any(|r: &Recalled| r.term == recalled.term) {
                    continue;
                }
                budget = left;
                known.push(recalled);
                let kept = stored.outputs.entry(first).or_default();
                if !kept.contains(&recalled.from.1) {
                    kept.push(recalled.from.1);
                }
            }
        }
    }
    stored
}

/// The loops of which a loop reads what they have collected, step by step.
fn sources<'a>(program: &'a Program, b: &MapAccum) -> Vec<(TermId, &'a MapAccum)> {
    let mut found: Vec<(TermId, &MapAccum)> = Vec::new();
    for &x in &b.inputs {
        if let Node::Result(first, n) = program.node(x)
            && let Node::MapAccum(a) = program.node(*first)
            && *n as usize >= a.init.len()
            && a.length == b.length
            && a.length > 1
            && found.len() < SOURCES
            && found.iter().all(|(other, _)| other != first)
        {
            found.push((*first, a));
        }
    }
    found
}

/// The nodes of a step, by what they are.
type Nodes<'a> = FxHashMap<&'a Node, TermId>;

fn nodes_of<'a>(program: &'a Program, scopes: &Scopes, a: &MapAccum) -> Nodes<'a> {
    scopes.region(a.step).order().iter().map(|&t| (program.node(t), t)).collect()
}

/// Two loops of which the second reads what the first has collected.
struct Again<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    options: &'a Options,
    first: TermId,
    a: &'a MapAccum,
    b: &'a MapAccum,
}

impl Again<'_> {
    /// The terms to store.
    fn find(&self, nodes: &Nodes<'_>) -> Vec<Recalled> {
        let order = self.scopes.region(self.b.step).order();
        let same = self.same(nodes, order);
        let users = self.users(order);
        let mut costs: TermMap<u64> = TermMap::new();
        let mut found: Vec<Recalled> = Vec::new();
        for &t in order {
            let Some(&there) = same.get(t) else { continue };
            if found.iter().any(|r| r.term == t) {
                continue;
            }
            let cost = self.cost(t, &costs);
            let dear = cost >= self.options.recompute.saturating_mul(self.size(t));
            if cost == 0 || !dear {
                costs.insert(t, cost);
                continue;
            }
            // On to what is made of it alone, as long as that is no larger.
            let (mut last, mut from) = (t, there);
            while let Some(Some(user)) = users.get(last)
                && let Some(&there) = same.get(*user)
                && self.size(*user) <= self.size(last)
            {
                (last, from) = (*user, there);
            }
            if !found.iter().any(|r| r.term == last) {
                found.push(Recalled { term: last, from: (self.first, from) });
            }
        }
        found
    }

    fn size(&self, t: TermId) -> u64 {
        self.program.shape(t).numel() as u64
    }

    /// What terms of the second step are in the first, where they are the same.
    fn same(&self, nodes: &Nodes<'_>, order: &[TermId]) -> TermMap<TermId> {
        let Again { program, a, b, .. } = *self;
        let (one, two) = (program.region(a.step), program.region(b.step));
        let mut same: TermMap<TermId> = TermMap::new();
        for (&x, &param) in b.inputs.iter().zip(&two.params()[b.init.len()..]) {
            let collected = match program.node(x) {
                Node::Result(from, n) if *from == self.first => {
                    one.results().get(*n as usize).filter(|_| *n as usize >= a.init.len())
                }
                _ => None,
            };
            let mut pairs = a.inputs.iter().zip(&one.params()[a.init.len()..]);
            let read = pairs.find(|(other, _)| **other == x).map(|(_, param)| param);
            if let Some(&there) = collected.or(read) {
                same.insert(param, there);
            }
        }
        let inner = |t: TermId| program.free(t).contains(two.level());
        for &t in order {
            let node = program.node(t);
            let mut all = true;
            node.for_each_operand(|u| all &= !inner(u) || same.contains(u));
            if let Some(r) = node.region() {
                all &= !self.scopes.region(r).captures().iter().any(|&u| inner(u));
            }
            if !all || node.has_results() || matches!(node, Node::Var { .. }) {
                continue;
            }
            let there = node.with_operands(|u| same.get(u).copied().unwrap_or(u));
            if let Some(&there) = nodes.get(&there) {
                same.insert(t, there);
            }
        }
        same
    }

    /// The only user of each term of the step; none where there are several, or where it is a
    /// result.
    fn users(&self, order: &[TermId]) -> TermMap<Option<TermId>> {
        let mut users: TermMap<Option<TermId>> = TermMap::new();
        for &t in order {
            self.scopes.for_each_dependency(self.program, t, |u| {
                let user = if users.contains(u) { None } else { Some(t) };
                users.insert(u, user);
            });
        }
        for &t in self.program.region(self.b.step).results() {
            users.insert(t, None);
        }
        users
    }

    /// The operations that a term takes along the dearest way to it.
    fn cost(&self, t: TermId, costs: &TermMap<u64>) -> u64 {
        let mut before = 0;
        self.program.node(t).for_each_operand(|u| {
            before = before.max(costs.get(u).copied().unwrap_or(0));
        });
        before.saturating_add(self.own_cost(t))
    }

    fn own_cost(&self, t: TermId) -> u64 {
        let of = |elements: u64, each: u64| elements.saturating_mul(each);
        match self.program.node(t) {
            Node::Op(op, _) => of(self.size(t), u64::from(op.cost())),
            Node::SumOuter(u) | Node::ArgExtreme(_, u) | Node::Scatter(_, u, _) => {
                of(self.size(*u), 1)
            }
            Node::SegmentArg(_, _, u, _) => of(self.size(*u), 2),
            Node::Routine(routine, ts) => {
                let types: Vec<&Type> = ts.iter().map(|&u| self.program.ty(u)).collect();
                routine.work(&types) as u64
            }
            Node::Gather(..) | Node::Cond(..) => of(self.size(t), 1),
            Node::ArgSort(_) => of(self.size(t), 16),
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Index(..) => 0,
            Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => 0,
            Node::Build1(_) | Node::Iota(_) | Node::OneHot(..) => 0,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => 0,
        }
    }
}

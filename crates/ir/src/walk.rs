//! Traversal in constant stack: which nodes a scope holds, and in which order.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::term::{Arena, Node, Output, Program, RegionId, TermId};
use crate::term_map::TermSet;

/// The nodes that belong to one scope: the program itself, or one region.
///
/// A node belongs to the innermost region whose parameters it depends on; what does not depend on
/// the region's parameters is a capture, computed before the region is entered.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    order: Vec<TermId>,
    captures: Vec<TermId>,
}

impl Scope {
    /// The nodes of the scope, operands and captures of inner regions before their users, in the
    /// order of a depth-first walk from the results.
    pub fn order(&self) -> &[TermId] {
        &self.order
    }

    /// Nodes of outer scopes that this one uses, in the order of first use.
    pub fn captures(&self) -> &[TermId] {
        &self.captures
    }
}

/// All scopes of a program.
#[derive(Clone, Debug, Default)]
pub struct Scopes {
    pub(crate) top: Scope,
    pub(crate) regions: FxHashMap<RegionId, Scope>,
}

/// The scope of a region that nothing uses.
static EMPTY: Scope = Scope { order: Vec::new(), captures: Vec::new() };

impl Scopes {
    /// The scopes of a program. Dead nodes belong to none.
    pub fn new(program: &Program) -> Scopes {
        Scopes::of(program, program.outputs())
    }

    /// The scopes of what `outputs` needs from an arena.
    pub fn of(arena: &Arena, outputs: &[Output]) -> Scopes {
        let live = live_nodes(arena, outputs.iter().map(|o| o.term));
        let mut used = vec![false; arena.region_count()];
        for t in arena.terms().filter(|t| live[t.index()]) {
            if let Some(r) = arena.node(t).region() {
                used[r.index()] = true;
            }
        }
        let regions = arena.regions().filter(|r| used[r.index()]);
        let mut walker = Walker::new(arena);
        let mut scopes = Scopes { top: Scope::default(), regions: walker.regions(regions) };
        scopes.top = walker.scope(0, outputs.iter().map(|o| o.term), &scopes.regions);
        scopes
    }

    /// The scope of one region and those of the regions inside it, of a builder perhaps, in time
    /// linear in their size.
    pub fn of_region(arena: &Arena, r: RegionId) -> Scopes {
        let level = arena.region(r).level;
        let mut regions = BTreeSet::from([r]);
        let mut seen = TermSet::new();
        let mut stack: Vec<TermId> = arena.region(r).results.to_vec();
        while let Some(t) = stack.pop() {
            if arena.free(t).innermost() < level || !seen.insert(t) {
                continue;
            }
            let node = arena.node(t);
            node.for_each_operand(|u| stack.push(u));
            if let Some(inner) = node.region().filter(|&inner| regions.insert(inner)) {
                stack.extend(arena.region(inner).results());
            }
        }
        Scopes { top: Scope::default(), regions: Walker::new(arena).regions(regions) }
    }

    /// The outermost scope.
    pub fn top(&self) -> &Scope {
        &self.top
    }

    /// The scope of a region. Empty if nothing uses the region.
    pub fn region(&self, r: RegionId) -> &Scope {
        self.regions.get(&r).unwrap_or(&EMPTY)
    }

    /// Calls `f` on everything that must be computed before `t`: its operands, then what its region
    /// captures.
    pub fn for_each_dependency(&self, arena: &Arena, t: TermId, mut f: impl FnMut(TermId)) {
        let node = arena.node(t);
        node.for_each_operand(&mut f);
        if let Some(r) = node.region() {
            self.region(r).captures.iter().copied().for_each(f);
        }
    }
}

/// Which nodes are needed for the given ones, also through regions. One backward sweep.
pub fn live_nodes(arena: &Arena, roots: impl IntoIterator<Item = TermId>) -> Vec<bool> {
    let mut live = vec![false; arena.len()];
    for t in roots {
        live[t.index()] = true;
    }
    for t in arena.terms().rev() {
        if !live[t.index()] {
            continue;
        }
        let node = arena.node(t);
        node.for_each_operand(|u| live[u.index()] = true);
        if let Some(r) = node.region() {
            for u in arena.region(r).results() {
                live[u.index()] = true;
            }
        }
    }
    live
}

/// How often each live node is an operand, a region's result or an output.
pub fn use_counts(program: &Program) -> Vec<u32> {
    let live = live_nodes(program, program.outputs().iter().map(|o| o.term));
    let mut counts = vec![0u32; program.len()];
    let mut seen_region = vec![false; program.region_count()];
    for t in program.terms().filter(|t| live[t.index()]) {
        let node = program.node(t);
        node.for_each_operand(|u| counts[u.index()] += 1);
        if let Some(r) = node.region()
            && !std::mem::replace(&mut seen_region[r.index()], true)
        {
            for u in program.region(r).results() {
                counts[u.index()] += 1;
            }
        }
    }
    for output in program.outputs() {
        counts[output.term.index()] += 1;
    }
    counts
}

/// Depth-first walks with an explicit stack; marks are kept between walks by numbering them.
struct Walker<'a> {
    arena: &'a Arena,
    marks: Vec<u32>,
    walk: u32,
    dependencies: Vec<TermId>,
}

impl<'a> Walker<'a> {
    fn new(arena: &'a Arena) -> Walker<'a> {
        Walker { arena, marks: vec![0; arena.len()], walk: 0, dependencies: Vec::new() }
    }

    /// The scopes of regions. Inner ones come before outer ones, so their captures are known.
    fn regions(
        &mut self,
        regions: impl IntoIterator<Item = RegionId>,
    ) -> FxHashMap<RegionId, Scope> {
        let mut scopes = FxHashMap::default();
        for r in regions {
            let region = self.arena.region(r);
            let scope = self.scope(region.level, region.results.iter().copied(), &scopes);
            scopes.insert(r, scope);
        }
        scopes
    }

    fn scope(
        &mut self,
        level: u8,
        roots: impl DoubleEndedIterator<Item = TermId>,
        regions: &FxHashMap<RegionId, Scope>,
    ) -> Scope {
        enum Visit {
            Enter(TermId),
            Leave(TermId),
        }
        self.walk += 1;
        let mut scope = Scope::default();
        let mut stack: Vec<Visit> = roots.rev().map(Visit::Enter).collect();
        while let Some(visit) = stack.pop() {
            let t = match visit {
                Visit::Leave(t) => {
                    scope.order.push(t);
                    continue;
                }
                Visit::Enter(t) => t,
            };
            if std::mem::replace(&mut self.marks[t.index()], self.walk) == self.walk {
                continue;
            }
            if self.arena.free(t).innermost() < level {
                scope.captures.push(t);
                continue;
            }
            stack.push(Visit::Leave(t));
            let node = self.arena.node(t);
            self.dependencies.clear();
            node.for_each_operand(|u| self.dependencies.push(u));
            if let Some(inner) = node.region().and_then(|r| regions.get(&r)) {
                self.dependencies.extend(&inner.captures);
            }
            stack.extend(self.dependencies.drain(..).rev().map(Visit::Enter));
        }
        scope
    }
}

impl Arena {
    /// Whether a node is a leaf that costs nothing to repeat: an input, a variable or a scalar
    /// constant.
    pub fn is_atom(&self, t: TermId) -> bool {
        match self.node(t) {
            Node::Input(_) | Node::Var { .. } => true,
            Node::Const(c) => c.shape().rank() == 0,
            _ => false,
        }
    }
}

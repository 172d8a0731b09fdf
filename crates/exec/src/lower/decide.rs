//! Which arrays of a scope are made.

use cotan_ir::{Node, Scope, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Lowering, op_cost};

/// A body of a nest has at most about so many instructions, and expansion goes so deep.
const LARGEST_BODY: u32 = 96;

/// Sums of up to so many elements are written out.
pub(super) const SHORT_SUM: usize = 8;

/// What costs more than so many additions an element is computed once, not for each user.
const CHEAP: u32 = 4;

/// What happens to the nodes of a scope.
#[derive(Default)]
pub(crate) struct Decisions {
    /// Those that must be in memory, whatever they are.
    pub forced: FxHashSet<TermId>,
    /// Those that are made by a nest, though they could be expanded.
    pub materialised: FxHashSet<TermId>,
    /// Sums that are part of their only user, a sum.
    pub absorbed: FxHashSet<TermId>,
    /// Short sums that are written out where they are needed.
    pub unrolled: FxHashSet<TermId>,
    /// What has stacks inside that are made where they are needed.
    pub stacked: FxHashSet<TermId>,
}

/// What an element takes where it is expanded.
#[derive(Clone, Copy, Default)]
struct Weight {
    instructions: u32,
    /// In additions.
    cost: u32,
    /// Whether there is a stack inside that is not in memory.
    stacked: bool,
}

impl Lowering<'_> {
    pub(super) fn decide(&self, scope: &Scope, results: &[TermId]) -> Decisions {
        let program = self.program;
        let mut forced: FxHashSet<TermId> = results.iter().copied().collect();
        let mut uses: FxHashMap<TermId, u32> = FxHashMap::default();
        let mut summed: FxHashMap<TermId, u32> = FxHashMap::default();
        // Read more often than it has elements.
        let mut repeated: FxHashSet<TermId> = FxHashSet::default();
        for &t in scope.order() {
            let node = program.node(t);
            node.for_each_operand(|u| *uses.entry(u).or_default() += 1);
            match node {
                Node::Gather(u, r) => {
                    self.count_captures(*r, &mut uses);
                    if program.shape(t).numel() > program.shape(*u).numel() {
                        repeated.insert(*u);
                    }
                }
                Node::Scatter(_, _, r) | Node::Build1(r) => self.count_captures(*r, &mut uses),
                Node::Replicate(k, u) if *k > 1 => {
                    repeated.insert(*u);
                }
                Node::SumOuter(u) => *summed.entry(*u).or_default() += 1,
                Node::MapAccum(m) => {
                    forced.extend(m.init.iter().chain(&m.inputs));
                    forced.extend(self.scopes.region(m.step).captures());
                }
                Node::While(w) => {
                    forced.extend(&w.init);
                    forced.extend(self.scopes.region(w.step).captures());
                }
                Node::Custom(c) => {
                    forced.extend(&c.args);
                    forced.extend(self.scopes.region(c.region).captures());
                }
                Node::ArgExtreme(_, u) | Node::ArgSort(u) => {
                    forced.insert(*u);
                }
                Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
                Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::OneHot(..) => {}
                Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => {}
                Node::Reshape(..) | Node::Result(..) => {}
            }
        }
        let mut decisions = Decisions { forced, ..Decisions::default() };
        let mut weights: FxHashMap<TermId, Weight> = FxHashMap::default();
        for &t in scope.order() {
            let node = program.node(t);
            let used = uses.get(&t).copied().unwrap_or(0);
            let forced = decisions.forced.contains(&t);
            let Some(repetitions) = self.repetitions(node) else { continue };
            if let Node::SumOuter(_) = node
                && !forced
                && !self.in_order
                && used == 1
                && summed.contains_key(&t)
            {
                decisions.absorbed.insert(t);
                continue;
            }
            let mut sum = Weight { instructions: 1, ..Weight::default() };
            let mut add = |u: TermId| {
                let w = weights.get(&u).copied();
                let w = w.unwrap_or(Weight { instructions: 1, ..Weight::default() });
                sum.instructions = sum.instructions.saturating_add(w.instructions);
                sum.cost = sum.cost.saturating_add(w.cost);
                sum.stacked |= w.stacked;
            };
            node.for_each_operand(&mut add);
            if let Some(r) = node.region() {
                self.scopes.region(r).captures().iter().copied().for_each(&mut add);
                let inside = self.scopes.region(r).order().len() as u32;
                sum.instructions = sum.instructions.saturating_add(inside);
            }
            match node {
                Node::Op(op, _) => sum.cost = sum.cost.saturating_add(op_cost(*op)),
                Node::SumOuter(_) => {
                    sum.cost = sum.cost.saturating_add(1).saturating_mul(repetitions);
                    sum.instructions = sum.instructions.saturating_mul(repetitions);
                }
                _ => {}
            }
            if sum.stacked {
                decisions.stacked.insert(t);
            }
            sum.stacked = match node {
                Node::Stack(_) => true,
                // Of a sum that is written out every part is known.
                Node::SumOuter(_) => false,
                _ => sum.stacked,
            };
            let dear = sum.cost > CHEAP && (used > 1 || repeated.contains(&t));
            if forced || dear || sum.instructions > LARGEST_BODY {
                decisions.materialised.insert(t);
                continue;
            }
            if let Node::SumOuter(_) = node {
                decisions.unrolled.insert(t);
            }
            weights.insert(t, sum);
        }
        decisions
    }

    /// Whether a loop that may never end is needed by branches of conditions only: both branches are
    /// computed here, and the one that is not taken must not keep the other from its end.
    pub(super) fn endless_branch(&self, scope: &Scope, results: &[TermId]) -> bool {
        let program = self.program;
        if !scope.order().iter().any(|&t| matches!(program.node(t), Node::Cond(..))) {
            return false;
        }
        let mut needed: FxHashSet<TermId> = results.iter().copied().collect();
        let mut optional: FxHashSet<TermId> = FxHashSet::default();
        for &t in scope.order().iter().rev() {
            let certain = needed.contains(&t);
            if !certain && !optional.contains(&t) {
                continue;
            }
            if !certain && self.may_not_end(t) {
                return true;
            }
            if let (Node::Cond(p, u, v), true) = (program.node(t), certain) {
                needed.insert(*p);
                optional.extend([*u, *v]);
                continue;
            }
            let reached = if certain { &mut needed } else { &mut optional };
            self.scopes.for_each_dependency(program, t, |u| {
                reached.insert(u);
            });
        }
        false
    }

    /// Whether a node is, or has inside, a loop without a bound.
    fn may_not_end(&self, t: TermId) -> bool {
        let node = self.program.node(t);
        if let Node::While(w) = node
            && w.bound.is_none()
        {
            return true;
        }
        node.region()
            .is_some_and(|r| self.scopes.region(r).order().iter().any(|&u| self.may_not_end(u)))
    }

    /// How often the parts of an element are computed where it is needed, if it can be.
    fn repetitions(&self, node: &Node) -> Option<u32> {
        match node {
            Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::Gather(..) => Some(1),
            Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => Some(1),
            Node::Iota(_) | Node::OneHot(..) | Node::Build1(_) | Node::Stack(_) => Some(1),
            Node::SumOuter(u) => {
                let length = self.program.shape(*u).dims().first().copied().unwrap_or(0);
                // A long one is made by a nest of its own.
                Some(if length <= SHORT_SUM { length as u32 } else { LARGEST_BODY + 1 })
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Scatter(..) => None,
            Node::ArgExtreme(..) | Node::ArgSort(_) => None,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => None,
        }
    }

    fn count_captures(&self, r: cotan_ir::RegionId, uses: &mut FxHashMap<TermId, u32>) {
        for &u in self.scopes.region(r).captures() {
            *uses.entry(u).or_default() += 1;
        }
    }
}

//! Which arrays of a scope are made.

use cotan_ir::{Node, Scope, TermId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Lowering, op_cost};

/// A body of a nest has at most about so many instructions, and expansion goes so deep.
const LARGEST_BODY: u32 = 96;

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
}

impl Lowering<'_> {
    pub(super) fn decide(&self, scope: &Scope, results: &[TermId]) -> Decisions {
        let program = self.program;
        let mut forced: FxHashSet<TermId> = results.iter().copied().collect();
        let mut uses: FxHashMap<TermId, u32> = FxHashMap::default();
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
                Node::Reshape(..) | Node::Result(..) | Node::SumOuter(_) => {}
            }
        }
        // What is summed, its axes perhaps in another order, and used for nothing else.
        let mut summed: FxHashSet<TermId> = FxHashSet::default();
        for &t in scope.order().iter().rev() {
            match program.node(t) {
                Node::SumOuter(u) => summed.insert(*u),
                Node::Transpose(_, u)
                    if summed.contains(&t) && uses.get(&t) == Some(&1) && !forced.contains(&t) =>
                {
                    summed.insert(*u)
                }
                _ => false,
            };
        }
        let mut decisions = Decisions { forced, ..Decisions::default() };
        // Instructions and additions that an element takes where it is expanded.
        let mut weights: FxHashMap<TermId, (u32, u32)> = FxHashMap::default();
        for &t in scope.order() {
            let node = program.node(t);
            let used = uses.get(&t).copied().unwrap_or(0);
            let forced = decisions.forced.contains(&t);
            if let Node::SumOuter(_) = node {
                if !forced && !self.in_order && used == 1 && summed.contains(&t) {
                    decisions.absorbed.insert(t);
                }
                continue;
            }
            if !expandable(node) {
                continue;
            }
            let (mut weight, mut cost) = (1u32, 0u32);
            let mut add = |u: TermId| {
                let (w, c) = weights.get(&u).copied().unwrap_or((1, 0));
                weight = weight.saturating_add(w);
                cost = cost.saturating_add(c);
            };
            node.for_each_operand(&mut add);
            if let Some(r) = node.region() {
                self.scopes.region(r).captures().iter().copied().for_each(&mut add);
                weight = weight.saturating_add(self.scopes.region(r).order().len() as u32);
            }
            if let Node::Op(op, _) = node {
                cost = cost.saturating_add(op_cost(*op));
            }
            let dear = cost > CHEAP && (used > 1 || repeated.contains(&t));
            if forced || dear || weight > LARGEST_BODY {
                decisions.materialised.insert(t);
            } else {
                weights.insert(t, (weight, cost));
            }
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

    fn count_captures(&self, r: cotan_ir::RegionId, uses: &mut FxHashMap<TermId, u32>) {
        for &u in self.scopes.region(r).captures() {
            *uses.entry(u).or_default() += 1;
        }
    }
}

/// Whether an element can be computed where it is needed.
fn expandable(node: &Node) -> bool {
    match node {
        Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::Gather(..) => true,
        Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => true,
        Node::Iota(_) | Node::OneHot(..) | Node::Build1(_) => true,
        Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::SumOuter(_) => false,
        Node::Scatter(..) | Node::Stack(_) | Node::ArgExtreme(..) | Node::ArgSort(_) => false,
        Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => false,
    }
}

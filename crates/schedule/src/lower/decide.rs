//! Which arrays of a scope are made.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, RegionId, Scope, TermCounts, TermId, TermMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::branch::Sides;
use super::{Lowering, R};

/// What becomes of a node that can be expanded into its users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Placement {
    /// It is expanded into its users.
    #[default]
    Inline,
    /// A short sum, written out where it is needed.
    Unrolled,
    /// A sum that is part of its only user, a sum.
    Absorbed,
    /// A sum among the factors of its only user, a [`Joined`](Placement::Joined) sum: part of that,
    /// or made right before it.
    Factor {
        /// Whether it is short enough to be written out there instead.
        unrolled: bool,
    },
    /// Made by a nest, at its own shape.
    Stored,
    /// A short sum, made by a nest in which it is written out.
    StoredUnrolled,
    /// A sum of products that has this sum among its factors, made at its own shape.
    Joined(TermId),
}

/// What happens to the nodes of a scope, decided before any of them is expanded.
#[derive(Default)]
pub(crate) struct Decisions {
    /// Those that are not expanded into their users.
    placements: TermMap<Placement>,
    /// Those that must be in memory, whatever they are.
    pub forced: FxHashSet<TermId>,
    /// What has stacks inside that are made where they are needed.
    pub stacked: FxHashSet<TermId>,
    /// What is computed only where a condition holds, or does not.
    pub sides: Sides,
}

impl Decisions {
    /// What becomes of a node. Those that cannot be expanded, such as loops and searches, have steps
    /// of their own.
    pub(super) fn placement(&self, t: TermId) -> Placement {
        self.placements.get(t).copied().unwrap_or_default()
    }

    /// Whether a node is a sum that is part of its only user, a sum.
    pub(super) fn is_absorbed(&self, t: TermId) -> bool {
        self.placement(t) == Placement::Absorbed
    }

    /// Lets a sum among the factors of another be part of that.
    fn join(&mut self, t: TermId, factor: TermId) {
        let unrolled = self.placement(factor) == Placement::Unrolled;
        self.placements.insert(t, Placement::Joined(factor));
        self.placements.insert(factor, Placement::Factor { unrolled });
    }
}

/// What an element takes where it is expanded.
#[derive(Default)]
struct Weight {
    instructions: u32,
    /// In additions.
    cost: u32,
    /// Whether there is a stack inside that is not in memory.
    stacked: bool,
    /// The elements of the largest array that is read.
    reads: usize,
    /// What is computed at the same index, each once, with its own instructions and cost: for
    /// elementwise operations only.
    parts: SmallVec<[(TermId, u32, u32); 4]>,
}

impl Weight {
    /// Of an array in memory.
    fn read(elements: usize) -> Weight {
        Weight { instructions: 1, reads: elements, ..Weight::default() }
    }

    /// Adds what an operand takes.
    fn add(&mut self, other: &Weight) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.cost = self.cost.saturating_add(other.cost);
        self.stacked |= other.stacked;
        self.reads = self.reads.max(other.reads);
    }

    /// Adds what an operand takes at the same index: what both have in common counts once.
    fn join(&mut self, u: TermId, other: &Weight) {
        self.stacked |= other.stacked;
        self.reads = self.reads.max(other.reads);
        let before = self.parts.len();
        let whole = [(u, other.instructions, other.cost)];
        let parts = if other.parts.is_empty() { &whole[..] } else { &other.parts };
        for part in parts {
            // The parts of one operand are different ones.
            if !self.parts[..before].iter().any(|p| p.0 == part.0) {
                self.instructions = self.instructions.saturating_add(part.1);
                self.cost = self.cost.saturating_add(part.2);
                self.parts.push(*part);
            }
        }
    }
}

/// How the nodes of a scope are used.
pub(super) struct Users {
    pub uses: TermCounts,
    /// What is read more often than it has elements.
    repeated: FxHashSet<TermId>,
    /// What is read in every step of a loop.
    pub captured: FxHashSet<TermId>,
    /// What is summed, its axes perhaps in another order, and used for nothing else.
    summed: FxHashSet<TermId>,
}

/// The weights of what is expanded into its users. Each is known until the last of them has been
/// looked at: a long program has many nodes, and few at a time that something still needs.
struct Weights {
    known: FxHashMap<TermId, Weight>,
    /// How many users are left.
    left: TermCounts,
    /// The elements of the largest array that is read, where it is not as large as the node.
    reads: FxHashMap<TermId, usize>,
}

impl Weights {
    fn get(&self, u: TermId) -> Option<&Weight> {
        self.known.get(&u)
    }

    /// Notes that one user less is left.
    fn release(&mut self, u: TermId) {
        if self.left.take(u) == 0 {
            self.known.remove(&u);
        }
    }
}

impl Lowering<'_> {
    pub(super) fn decide(&self, scope: &Scope, results: &[TermId]) -> R<Decisions> {
        let program = self.program;
        let sides = self.sides(scope, results)?;
        let mut forced: FxHashSet<TermId> = results.iter().copied().collect();
        for t in sides.conditions() {
            forced.insert(t);
            if let Node::Cond(p, ..) = program.node(t) {
                forced.insert(*p);
            }
        }
        let mut uses = TermCounts::new();
        let mut repeated: FxHashSet<TermId> = FxHashSet::default();
        let mut captured: FxHashSet<TermId> = FxHashSet::default();
        for &t in scope.order() {
            let node = program.node(t);
            node.for_each_operand(|u| uses.add(u, 1));
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
                Node::MapAccum(m) if let Some(fold) = self.fold(m) => {
                    // The first row, which is read with the others.
                    if self.is_first_row(&fold) {
                        uses.take(fold.input);
                    }
                }
                Node::MapAccum(m) => {
                    forced.extend(m.init.iter().chain(&m.inputs));
                    captured.extend(self.scopes.region(m.step).captures());
                    self.forced_inside(m.step, &mut forced);
                }
                Node::While(w) => {
                    forced.extend(&w.init);
                    captured.extend(self.scopes.region(w.step).captures());
                    self.forced_inside(w.step, &mut forced);
                }
                Node::Custom(c) => {
                    forced.extend(&c.args);
                    captured.extend(self.scopes.region(c.region).captures());
                    self.forced_inside(c.region, &mut forced);
                }
                Node::ArgSort(u) => {
                    forced.insert(*u);
                }
                Node::SegmentArg(_, _, u, ids) => forced.extend(self.segment_bases(*u, *ids)),
                Node::Routine(routine, ts) => forced.extend(self.routine_bases(*routine, ts)),
                Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
                Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::OneHot(..) => {}
                Node::ArgExtreme(..) => {}
                Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => {}
                Node::Reshape(..) | Node::Result(..) | Node::SumOuter(_) => {}
            }
        }
        let mut summed: FxHashSet<TermId> = FxHashSet::default();
        for &t in scope.order().iter().rev() {
            match program.node(t) {
                Node::SumOuter(u) => summed.insert(*u),
                Node::Transpose(_, u)
                    if summed.contains(&t) && uses.get(t) == 1 && !forced.contains(&t) =>
                {
                    summed.insert(*u)
                }
                _ => false,
            };
        }
        let mut decisions = Decisions { forced, sides, ..Decisions::default() };
        let mut left = TermCounts::new();
        for &t in scope.order() {
            let count = |u| left.add(u, 1);
            self.scopes.for_each_dependency(program, t, count);
        }
        let mut weights =
            Weights { known: FxHashMap::default(), left, reads: FxHashMap::default() };
        let users = Users { uses, repeated, captured, summed };
        for &t in scope.order() {
            if let Some(weight) = self.decide_node(t, &users, &weights, &mut decisions) {
                if weight.reads != program.shape(t).numel() {
                    weights.reads.insert(t, weight.reads);
                }
                weights.known.insert(t, weight);
            }
            self.scopes.for_each_dependency(program, t, |u| weights.release(u));
        }
        for &t in scope.order().iter().filter(|_| !self.in_order) {
            if let Some(factor) = self.factor_sum(t, &users, &decisions) {
                decisions.join(t, factor);
            }
        }
        Ok(decisions)
    }

    /// What happens to a node of a scope; what an element of it takes, if it is expanded.
    fn decide_node(
        &self,
        t: TermId,
        users: &Users,
        weights: &Weights,
        decisions: &mut Decisions,
    ) -> Option<Weight> {
        let program = self.program;
        let node = program.node(t);
        let used = users.uses.get(t);
        let in_loop = users.captured.contains(&t);
        // What a loop reads is in memory before, unless it can be computed where it is read.
        if in_loop && self.repetitions(node).is_none() {
            decisions.forced.insert(t);
        }
        let forced = decisions.forced.contains(&t);
        let repetitions = self.repetitions(node)?;
        if let Node::SumOuter(_) = node
            && !forced
            && !self.in_order
            && used == 1
            && !in_loop
            && users.summed.contains(&t)
        {
            decisions.placements.insert(t, Placement::Absorbed);
            return None;
        }
        let mut sum = Weight { instructions: 1, ..Weight::default() };
        // Indices are nowhere read, also those of outside.
        let read = |u: TermId| match program.node(u) {
            Node::Iota(_) => Weight { instructions: 1, ..Weight::default() },
            _ => Weight::read(program.shape(u).numel()),
        };
        if let Node::Op(op, args) = node {
            sum.cost = op.cost();
            for &u in args {
                match weights.get(u) {
                    Some(weight) => sum.join(u, weight),
                    None => sum.join(u, &read(u)),
                }
            }
            sum.parts.push((t, 1, op.cost()));
        } else {
            self.scopes.for_each_dependency(program, t, |u| match weights.get(u) {
                Some(weight) => sum.add(weight),
                None => sum.add(&read(u)),
            });
        }
        if let Some(r) = node.region() {
            let region = self.scopes.region(r);
            let reads = region.order().iter().filter(|&&u| self.is_read(u)).count();
            sum.cost = sum
                .cost
                .saturating_add(self.target.inlining.computed_read_cost * reads.min(8) as u32);
            sum.instructions = sum.instructions.saturating_add(region.order().len() as u32);
        }
        if let Node::SumOuter(_) = node {
            sum.cost = sum.cost.saturating_add(1).saturating_mul(repetitions);
            sum.instructions = sum.instructions.saturating_mul(repetitions);
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
        let elements = program.shape(t).numel();
        let again = elements
            >= self.target.inlining.min_expansion.saturating_mul(sum.reads.max(256))
            && sum.cost.saturating_mul(used) <= 2 * self.target.inlining.max_recomputed_cost
            && sum.instructions <= self.target.inlining.max_body_instrs / 3;
        // In a loop views, and masks and indices made of almost nothing, by which nests are cut.
        let nothing = again && sum.reads <= 1 && !program.dtype(t).is_float();
        let looped = in_loop
            && (sum.stacked || sum.cost > self.target.inlining.max_repeated_cost && !nothing);
        let repeated = users.repeated.contains(&t);
        let looked_up = repeated && self.looks_up(node);
        let dear = sum.cost > self.target.inlining.max_repeated_cost
            && (used > 1 && !again || repeated)
            || looked_up
            || looped;
        let product = self.small_factors(node, &weights.reads);
        // It runs over what it has taken in, which has no place of its own to be read from.
        let absorbing = self.absorbs(node, decisions);
        if forced
            || dear
            || product
            || absorbing
            || sum.instructions > self.target.inlining.max_body_instrs
        {
            let short = repetitions as usize <= self.target.inlining.max_unrolled_sum
                && sum.instructions <= self.target.inlining.max_body_instrs;
            let unrolled = matches!(node, Node::SumOuter(_)) && short && !product && !absorbing;
            let placement = if unrolled { Placement::StoredUnrolled } else { Placement::Stored };
            decisions.placements.insert(t, placement);
            return None;
        }
        if let Node::SumOuter(_) = node {
            decisions.placements.insert(t, Placement::Unrolled);
        }
        Some(sum)
    }

    /// Whether a node is, or has inside, a loop without a bound.
    pub(super) fn may_not_end(&self, t: TermId) -> bool {
        let node = self.program.node(t);
        if let Node::While(w) = node
            && w.bound.is_none()
        {
            return true;
        }
        node.region()
            .is_some_and(|r| self.scopes.region(r).order().iter().any(|&u| self.may_not_end(u)))
    }

    /// What must be in memory for the loops inside of a region, and as its results. It recurses
    /// over the nesting of regions.
    fn forced_inside(&self, r: RegionId, forced: &mut FxHashSet<TermId>) {
        forced.extend(self.program.region(r).results());
        for &t in self.scopes.region(r).order() {
            match self.program.node(t) {
                Node::MapAccum(m) if self.fold(m).is_some() => {}
                Node::MapAccum(m) => {
                    forced.extend(m.init.iter().chain(&m.inputs));
                    self.forced_inside(m.step, forced);
                }
                Node::While(w) => {
                    forced.extend(&w.init);
                    self.forced_inside(w.step, forced);
                }
                Node::Custom(c) => {
                    forced.extend(&c.args);
                    self.forced_inside(c.region, forced);
                }
                Node::ArgSort(u) => {
                    forced.insert(*u);
                }
                Node::SegmentArg(_, _, u, ids) => forced.extend(self.segment_bases(*u, *ids)),
                Node::Routine(routine, ts) => forced.extend(self.routine_bases(*routine, ts)),
                Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
                Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::OneHot(..) => {}
                Node::ArgExtreme(..) | Node::Gather(..) | Node::Scatter(..) | Node::Build1(_) => {}
                Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => {}
                Node::Reshape(..) | Node::Result(..) | Node::SumOuter(_) => {}
            }
        }
    }

    /// Whether a node sums products of factors that have each few elements, as a product of
    /// matrices does: such a sum is a step of its own.
    fn small_factors(&self, node: &Node, reads: &FxHashMap<TermId, usize>) -> bool {
        let Node::SumOuter(u) = node else { return false };
        let summand = self.program.shape(*u).numel();
        let small = |&v: &TermId| {
            let numel = || self.program.shape(v).numel();
            reads.get(&v).copied().unwrap_or_else(numel).saturating_mul(8) <= summand
        };
        let mut at = *u;
        while let Node::Transpose(_, v) = self.program.node(at) {
            at = *v;
        }
        match self.program.node(at) {
            // A square depends on everything that its root does.
            Node::Op(Op::Mul | Op::Scale | Op::StrongMul, args) => {
                args[0] != args[1] && args.iter().all(small)
            }
            _ => false,
        }
    }

    /// Whether a node reads at places that stand in arrays.
    fn looks_up(&self, node: &Node) -> bool {
        let Node::Gather(_, r) = node else { return false };
        let order = self.scopes.region(*r).order();
        order.iter().any(|&t| matches!(self.program.node(t), Node::Index(..)))
    }

    /// Whether a node is a sum that another sum is part of.
    pub(super) fn absorbs(&self, node: &Node, decisions: &Decisions) -> bool {
        let Node::SumOuter(mut at) = *node else { return false };
        while let Node::Transpose(_, u) = self.program.node(at) {
            at = *u;
        }
        decisions.is_absorbed(at)
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
                Some(if length <= self.target.inlining.max_unrolled_sum {
                    length as u32
                } else {
                    self.target.inlining.max_body_instrs + 1
                })
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Scatter(..) => None,
            Node::ArgExtreme(..) | Node::ArgSort(_) | Node::SegmentArg(..) => None,
            Node::Routine(..) => None,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => None,
        }
    }

    /// Whether a node of an index function reads an array.
    fn is_read(&self, t: TermId) -> bool {
        matches!(self.program.node(t), Node::Index(u, _) if self.uniform(*u).is_none())
    }

    fn count_captures(&self, r: RegionId, uses: &mut TermCounts) {
        for &u in self.scopes.region(r).captures() {
            uses.add(u, 1);
        }
    }
}

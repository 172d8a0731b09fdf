//! Which arrays are stored: those that must be, and those that are dear to compute for each user.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, TermCounts, TermId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Lowering, NodeUses, Placement, R, Scene, ScopePlacements};

/// Which arrays are stored, and which sums are written out.
pub(super) fn stored(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    let program = lowering.program;
    let Scene { scope, users, placements, .. } = scene;
    let mut left = TermCounts::new();
    for &t in scope.order() {
        let count = |u| left.add(u, 1);
        lowering.scopes.for_each_dependency(program, t, count);
    }
    let mut weights = Weights { known: FxHashMap::default(), left, reads: FxHashMap::default() };
    for &t in scope.order() {
        if let Some(weight) = lowering.place_node(t, users, &weights, placements) {
            if weight.reads != program.shape(t).numel() {
                weights.reads.insert(t, weight.reads);
            }
            weights.known.insert(t, weight);
        }
        lowering.scopes.for_each_dependency(program, t, |u| weights.release(u));
    }
    Ok(())
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
    /// What becomes of a node that can be expanded; what an element of it takes, if it is expanded.
    fn place_node(
        &self,
        t: TermId,
        users: &NodeUses,
        weights: &Weights,
        placements: &mut ScopePlacements,
    ) -> Option<Weight> {
        let program = self.program;
        let node = program.node(t);
        let used = users.uses.get(t);
        let in_loop = users.captured.contains(&t);
        let forced = placements.forced.contains(&t);
        let repetitions = self.repetitions(node)?;
        if placements.is_absorbed(t) {
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
            placements.stacked.insert(t);
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
        // What is computed would be computed at each place, what is read would be checked; from
        // memory either takes one read.
        let computed = sum.cost > 0 && matches!(node, Node::Op(..) | Node::Cond(..));
        let looked_up = repeated && self.looks_up(node) || computed && users.looked_up.contains(&t);
        let dear = sum.cost > self.target.inlining.max_repeated_cost
            && (used > 1 && !again || repeated)
            || looked_up
            || looped;
        let product = self.small_factors(node, &weights.reads);
        // It runs over what it has taken in, which has no place of its own to be read from.
        let absorbing = self.absorbs(node, placements);
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
            placements.chosen.insert(t, placement);
            return None;
        }
        if let Node::SumOuter(_) = node {
            placements.chosen.insert(t, Placement::Unrolled);
        }
        Some(sum)
    }

    /// Whether a node sums products of factors that have each few elements, as a product of
    /// matrices does: such a sum is a step of its own.
    fn small_factors(&self, node: &Node, reads: &FxHashMap<TermId, usize>) -> bool {
        let Node::SumOuter(u) = node else { return false };
        let summand = self.program.shape(*u).numel();
        let terms = self.target.gains.min_factor_terms;
        let small = |&v: &TermId| {
            let numel = || self.program.shape(v).numel();
            reads.get(&v).copied().unwrap_or_else(numel).saturating_mul(terms) <= summand
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
    pub(in crate::lower) fn looks_up(&self, node: &Node) -> bool {
        let Node::Gather(_, r) = node else { return false };
        let order = self.scopes.region(*r).order();
        order.iter().any(|&t| matches!(self.program.node(t), Node::Index(..)))
    }

    /// Whether a node is a sum that another sum is part of.
    pub(in crate::lower) fn absorbs(&self, node: &Node, placements: &ScopePlacements) -> bool {
        let Node::SumOuter(mut at) = *node else { return false };
        while let Node::Transpose(_, u) = self.program.node(at) {
            at = *u;
        }
        placements.is_absorbed(at)
    }

    /// How often the parts of an element are computed where it is needed, if it can be.
    pub(super) fn repetitions(&self, node: &Node) -> Option<u32> {
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
}

//! Branches that run only if they are taken.
//!
//! `cond p u v` is a selection: as operations are total, both sides may be computed, and where they
//! are little work they are, inside the nests that need the result. Where a side has loops, or much
//! work that nothing else needs, the condition becomes a step that runs one side.
//!
//! What belongs to a side follows from who needs it. From the results backwards, each node gets the
//! innermost side that all its users are in: a condition's operands are in its sides, anything else's
//! where it is itself. Conditions on the same `p` in the same place have the same sides, so what
//! several of them need, such as a loop with several results, belongs to them together; it is
//! computed by the first, and is there for the others, as `p` does not change in between.

use cotan_ir::{Node, Scope, TermId};
use cotan_nest::{Branches, BufferId, Nest, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::placement::ScopePlacements;
use super::{Lowering, Place, R, Unsupported, push};

/// What a loop counts for, in element operations.
const LOOP: u64 = 1 << 40;

/// A side of a choice, or the place outside of all choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side(u32);

impl Side {
    /// Outside of all choices.
    pub(crate) const ALWAYS: Side = Side(0);

    /// Where the condition of a choice holds, and where it does not.
    fn both(choice: usize) -> [Side; 2] {
        [Side(2 * choice as u32 + 1), Side(2 * choice as u32 + 2)]
    }

    fn choice(self) -> Option<usize> {
        self.0.checked_sub(1).map(|n| n as usize / 2)
    }
}

/// The conditions on one truth value in one place.
#[derive(Debug)]
struct Choice {
    within: Side,
    depth: u32,
    /// The elements of all the conditions.
    elements: u64,
    /// The operations of both sides, those of sides within included.
    work: u64,
    /// Whether it becomes steps.
    lazy: bool,
}

/// Where a node is needed.
#[derive(Clone, Copy)]
struct Need {
    side: Side,
    /// Whether it is needed whenever that side is taken.
    certain: bool,
}

/// The sides that the nodes of a scope belong to.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    choices: Vec<Choice>,
    /// The side of each node that has one, and its position in the scope.
    nodes: FxHashMap<TermId, (Side, u32)>,
    /// The conditions that become steps, with their sides.
    conditions: FxHashMap<TermId, [Side; 2]>,
}

impl Sides {
    /// The side that a node belongs to.
    pub(crate) fn of(&self, t: TermId) -> Side {
        self.nodes.get(&t).map_or(Side::ALWAYS, |node| node.0)
    }

    /// The conditions that become steps.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = TermId> {
        self.conditions.keys().copied()
    }

    /// The sides of a condition that becomes a step.
    pub(crate) fn of_condition(&self, t: TermId) -> Option<[Side; 2]> {
        self.conditions.get(&t).copied()
    }

    /// The nodes that belong to sides.
    pub(crate) fn inside(&self) -> impl Iterator<Item = TermId> {
        self.nodes.keys().copied()
    }

    /// The side around a side.
    fn around(&self, side: Side) -> Side {
        side.choice().map_or(Side::ALWAYS, |choice| self.choices[choice].within)
    }

    fn depth(&self, side: Side) -> u32 {
        side.choice().map_or(0, |choice| self.choices[choice].depth)
    }

    /// Whether a side is another, or within it.
    fn is_within(&self, mut side: Side, other: Side) -> bool {
        while self.depth(side) > self.depth(other) {
            side = self.around(side);
        }
        side == other
    }

    /// The innermost side that two are in.
    fn common(&self, mut a: Side, mut b: Side) -> Side {
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = self.around(a);
            } else {
                b = self.around(b);
            }
        }
        a
    }

    /// Where a node is needed that is needed in two places.
    fn join(&self, a: Need, b: Need) -> Need {
        let side = self.common(a.side, b.side);
        let certain = match (a.side == side, b.side == side) {
            (true, true) => a.certain || b.certain,
            (true, false) => a.certain,
            (false, true) => b.certain,
            // Both sides of a choice need it.
            (false, false) => {
                let opposite = a.side.choice() == b.side.choice();
                opposite && a.certain && b.certain
            }
        };
        Need { side, certain }
    }
}

impl Lowering<'_> {
    /// The sides that the nodes of a scope belong to, whose results are needed. A loop that may
    /// never end must be in the side that needs it.
    pub(super) fn sides(&self, scope: &Scope, results: &[TermId]) -> R<Sides> {
        let program = self.program;
        let mut sides = Sides::default();
        if !scope.order().iter().any(|&t| matches!(program.node(t), Node::Cond(..))) {
            return Ok(sides);
        }
        let mut needs: FxHashMap<TermId, Need> = FxHashMap::default();
        let mut numbers: FxHashMap<(u32, TermId), usize> = FxHashMap::default();
        let mut conditions: Vec<(TermId, usize)> = Vec::new();
        let always = Need { side: Side::ALWAYS, certain: true };
        needs.extend(results.iter().map(|&t| (t, always)));
        for &t in scope.order().iter().rev() {
            let Some(&need) = needs.get(&t) else { continue };
            if !need.certain && self.may_not_end(t) {
                return Err(Unsupported("a loop without a bound that perhaps nothing needs"));
            }
            let mut add = |sides: &Sides, u: TermId, need: Need| {
                let joined = needs.get(&u).map_or(need, |&before| sides.join(before, need));
                needs.insert(u, joined);
            };
            let Node::Cond(p, u, v) = program.node(t) else {
                self.scopes.for_each_dependency(program, t, |u| add(&sides, u, need));
                continue;
            };
            add(&sides, *p, need);
            let depth = sides.depth(need.side) + 1;
            let [yes, no] = if depth <= self.target.search.max_branch_depth {
                let choice = *numbers.entry((need.side.0, *p)).or_insert_with(|| {
                    let (within, elements, work, lazy) = (need.side, 0, 0, false);
                    sides.choices.push(Choice { within, depth, elements, work, lazy });
                    sides.choices.len() - 1
                });
                sides.choices[choice].elements += program.shape(t).numel() as u64;
                conditions.push((t, choice));
                Side::both(choice).map(|side| Need { side, ..need })
            } else {
                [Need { certain: false, ..need }; 2]
            };
            add(&sides, *u, yes);
            add(&sides, *v, no);
        }
        for &t in scope.order() {
            if let Some(choice) = needs.get(&t).and_then(|need| need.side.choice()) {
                let work = &mut sides.choices[choice].work;
                *work = work.saturating_add(self.work(t));
            }
        }
        self.choose(&mut sides);
        let lazy = |choice: usize, sides: &Sides| sides.choices[choice].lazy;
        conditions.retain(|&(_, choice)| lazy(choice, &sides));
        sides.conditions = conditions.into_iter().map(|(t, c)| (t, Side::both(c))).collect();
        for (n, &t) in scope.order().iter().enumerate() {
            let Some(need) = needs.get(&t) else { continue };
            if matches!(program.node(t), Node::Const(_) | Node::Input(_) | Node::Var { .. }) {
                continue;
            }
            let mut side = need.side;
            while side.choice().is_some_and(|choice| !lazy(choice, &sides)) {
                side = sides.around(side);
            }
            if side != Side::ALWAYS {
                sides.nodes.insert(t, (side, n as u32));
            }
        }
        Ok(sides)
    }

    /// Which choices become steps. Those around one that does are steps, too.
    fn choose(&self, sides: &mut Sides) {
        for n in (0..sides.choices.len()).rev() {
            let Choice { within, elements, work, lazy, .. } = sides.choices[n];
            let least = self.target.thresholds.min_branch_operations as u64;
            let worth =
                work >= least && work >= elements.saturating_mul(self.target.gains.min_branch_work);
            sides.choices[n].lazy = lazy || worth || least == 0;
            if let Some(around) = within.choice() {
                let lazy = sides.choices[n].lazy;
                let around = &mut sides.choices[around];
                around.work = around.work.saturating_add(work);
                around.lazy |= lazy;
            }
        }
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

    /// What a node computes, in element operations.
    fn work(&self, t: TermId) -> u64 {
        let elements = |t: TermId| self.program.shape(t).numel() as u64;
        match self.program.node(t) {
            Node::MapAccum(m) if let Some(fold) = self.fold(m) => elements(fold.input),
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => LOOP,
            Node::ArgSort(u) => elements(*u).saturating_mul(64),
            Node::SumOuter(u) | Node::ArgExtreme(_, u) => elements(*u),
            Node::SegmentArg(_, _, u, _) => elements(*u).saturating_mul(4),
            Node::Routine(routine, ts) => {
                let types: Vec<_> = ts.iter().map(|&u| self.program.ty(u)).collect();
                routine.work(&types) as u64
            }
            Node::Scatter(_, u, _) => elements(*u).saturating_mul(4),
            Node::Op(op, _) => elements(t).saturating_mul(u64::from(op.cost())),
            Node::Cond(..) | Node::Gather(..) | Node::Build1(_) | Node::OneHot(..) => elements(t),
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => 0,
            Node::Index(..) | Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => 0,
            Node::Reshape(..) | Node::Result(..) => 0,
        }
    }

    /// A condition as a step that runs one of its sides.
    pub(super) fn condition(
        &mut self,
        t: TermId,
        [yes, no]: [Side; 2],
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Place> {
        let Node::Cond(p, u, v) = self.program.node(t) else {
            return Err(Unsupported("not a condition"));
        };
        let (condition, to) = (self.buffer_of(*p)?, self.temporary(self.program.ty(t)));
        let then = self.side(yes, *u, to, placements)?;
        let otherwise = self.side(no, *v, to, placements)?;
        steps.push(Step::If(Box::new(Branches { condition, then, otherwise })));
        Ok(Place::Buffer(to))
    }

    /// The steps of a side, which leave its result in a buffer. It recurses over sides within sides.
    fn side(
        &mut self,
        side: Side,
        t: TermId,
        to: BufferId,
        placements: &ScopePlacements,
    ) -> R<Vec<Step<Nest>>> {
        let mut steps = Vec::new();
        self.lists.push(FxHashMap::default());
        for n in self.missing(side, t, &placements.sides) {
            let place = self.node(n, placements, &mut steps)?;
            self.places.insert(n, place);
        }
        match self.held(t) {
            Some(from) => steps.push(Step::Copy { from, to }),
            None => {
                self.make_operands(placements.copied.get(&t), placements, &mut steps)?;
                for nest in self.copy_nests(t, to)? {
                    push(nest, &mut steps);
                }
            }
        }
        // What only this side needs is there for other conditions on the same value.
        let sides = &placements.sides;
        let own = |t: &TermId| sides.is_within(sides.of(*t), side);
        let made = self.lists.pop().unwrap_or_default();
        if let Some(around) = self.lists.last_mut() {
            around.extend(made.into_iter().filter(|(t, _)| own(t)));
        }
        Ok(steps)
    }

    /// The nodes of a side that a node of it needs and that have no place yet, in order.
    fn missing(&self, side: Side, t: TermId, sides: &Sides) -> Vec<TermId> {
        let mut found: Vec<(u32, TermId)> = Vec::new();
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            let Some(&(own, position)) = sides.nodes.get(&t) else { continue };
            if !sides.is_within(own, side) || self.places.contains(t) || !seen.insert(t) {
                continue;
            }
            if own == side {
                found.push((position, t));
            }
            self.scopes.for_each_dependency(self.program, t, |u| stack.push(u));
        }
        found.sort_unstable_by_key(|&(position, _)| position);
        found.into_iter().map(|(_, t)| t).collect()
    }
}

//! How the nodes of a scope are used, and what follows from that alone.

use cotan_ir::{Node, RegionId, TermCounts, TermId};
use rustc_hash::FxHashSet;

use super::{Lowering, NodeUses, Placement, R, Scene};

/// How nodes are used, and which must be in memory: results, and what loops and other steps read.
pub(super) fn used(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    let program = lowering.program;
    let Scene { scope, results, placements, .. } = scene;
    let forced = &mut placements.forced;
    forced.extend(results.iter().copied());
    for t in placements.sides.conditions() {
        forced.insert(t);
        if let Node::Cond(p, ..) = program.node(t) {
            forced.insert(*p);
        }
    }
    let mut users = NodeUses::default();
    let NodeUses { uses, repeated, looked_up, captured, summed } = &mut users;
    for &t in scope.order() {
        let node = program.node(t);
        node.for_each_operand(|u| uses.add(u, 1));
        match node {
            Node::Gather(u, r) => {
                lowering.count_captures(*r, uses);
                if program.shape(t).numel() > program.shape(*u).numel() {
                    repeated.insert(*u);
                    if lowering.looks_up(node) {
                        looked_up.insert(*u);
                    }
                }
            }
            Node::Scatter(_, _, r) | Node::Build1(r) => lowering.count_captures(*r, uses),
            Node::Replicate(k, u) if *k > 1 => {
                repeated.insert(*u);
            }
            Node::MapAccum(m) if let Some(fold) = lowering.fold(m) => {
                // The first row, which is read with the others.
                if lowering.is_first_row(&fold) {
                    uses.take(fold.input);
                }
            }
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => {
                lowering.forced_by(t, forced);
                if let Some(r) = node.region() {
                    captured.extend(lowering.scopes.region(r).captures());
                    lowering.forced_inside(r, forced);
                }
            }
            Node::ArgSort(_) | Node::SegmentArg(..) | Node::Routine(..) => {
                lowering.forced_by(t, forced);
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
            Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::OneHot(..) => {}
            Node::ArgExtreme(..) => {}
            Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => {}
            Node::Reshape(..) | Node::Result(..) | Node::SumOuter(_) => {}
        }
    }
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
    // What a loop reads is in memory before, unless it can be computed where it is read.
    let fixed = |t: &&TermId| lowering.repetitions(program.node(**t)).is_none();
    let fixed = scope.order().iter().filter(fixed).filter(|t| captured.contains(t));
    forced.extend(fixed.copied());
    scene.users = users;
    Ok(())
}

/// Which sums are parts of their only users, which are sums.
pub(super) fn absorbed(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    if lowering.in_order {
        return Ok(());
    }
    let Scene { scope, users, placements, .. } = scene;
    for &t in scope.order() {
        if let Node::SumOuter(_) = lowering.program.node(t)
            && users.uses.get(t) == 1
            && users.summed.contains(&t)
            && !users.captured.contains(&t)
            && !placements.forced.contains(&t)
        {
            placements.chosen.insert(t, Placement::Absorbed);
        }
    }
    Ok(())
}

impl Lowering<'_> {
    /// What must be in memory for a node that is made by steps of its own.
    pub(super) fn forced_by(&self, t: TermId, forced: &mut FxHashSet<TermId>) {
        match self.program.node(t) {
            Node::MapAccum(m) if self.fold(m).is_some() => {}
            Node::MapAccum(m) => forced.extend(m.init.iter().chain(&m.inputs)),
            Node::While(w) => forced.extend(&w.init),
            Node::Custom(c) => forced.extend(&c.args),
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

    /// What must be in memory for the loops inside of a region, and as its results. It recurses
    /// over the nesting of regions.
    fn forced_inside(&self, r: RegionId, forced: &mut FxHashSet<TermId>) {
        forced.extend(self.program.region(r).results());
        for &t in self.scopes.region(r).order() {
            self.forced_by(t, forced);
            match self.program.node(t) {
                Node::MapAccum(m) if self.fold(m).is_some() => {}
                Node::MapAccum(m) => self.forced_inside(m.step, forced),
                Node::While(w) => self.forced_inside(w.step, forced),
                Node::Custom(c) => self.forced_inside(c.region, forced),
                _ => {}
            }
        }
    }

    fn count_captures(&self, r: RegionId, uses: &mut TermCounts) {
        for &u in self.scopes.region(r).captures() {
            uses.add(u, 1);
        }
    }
}

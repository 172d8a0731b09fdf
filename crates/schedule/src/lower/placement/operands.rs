//! What is made for nests that read it at computed positions.
//!
//! A stack of arrays is expanded to the part that is read, where that is known, and a reshaped array
//! to the place in row-major order, where that is affine on both sides. Where a nest reads at other
//! positions, the array is better made before it. Whether it does depends on how indices go through
//! everything that is expanded into the nest: a *survey* expands the indices alone, by the code that
//! will make the nest, and notes what should be in memory.

use cotan_ir::{Node, Program, Scope, TermId};
use cotan_nest::BufferId;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Lowering, MadeOperands, Placement, R, Scene, ScopePlacements};
use crate::lower::{Place, look};

/// Stands for every buffer while there are none.
pub(in crate::lower) const NOWHERE: BufferId = BufferId(u32::MAX);

/// How the nests come about that a survey is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SurveyOf {
    /// They make a node.
    Node,
    /// They make what others want.
    Operand,
    /// They copy the result of a side of a branch to its place.
    Copy,
}

/// Whether a program has anything that may have to be made for others.
pub(super) fn may_want(program: &Program) -> bool {
    program.terms().any(|t| matches!(program.node(t), Node::Stack(_) | Node::Reshape(..)))
}

/// Surveys the nests of a scope.
pub(super) fn operands(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    if !lowering.surveys {
        return Ok(());
    }
    let program = lowering.program;
    let Scene { scope, placements, .. } = scene;
    lowering.enter_survey(scope);
    // What is, or expands to, an array that may have to be made.
    let mut views: FxHashSet<TermId> = FxHashSet::default();
    for (n, &t) in scope.order().iter().enumerate() {
        if n.is_multiple_of(lowering.target.search.nodes_per_look) {
            look()?;
        }
        let placement = placements.of(program, t);
        let place = match program.node(t) {
            Node::Const(_) if program.shape(t).rank() == 0 => Place::Inline,
            _ if placement.is_expanded() => Place::Inline,
            _ => Place::Buffer(NOWHERE),
        };
        let mut view = matches!(program.node(t), Node::Stack(_) | Node::Reshape(..));
        if !view && !views.is_empty() {
            lowering.scopes.for_each_dependency(program, t, |u| view |= views.contains(&u));
        }
        let expanded = matches!(place, Place::Inline);
        if view && expanded {
            views.insert(t);
        }
        let factor = matches!(placement, Placement::Factor { .. });
        if view && (!expanded || factor) {
            lowering.survey(t, SurveyOf::Node, placements);
        }
        if placement == Placement::Branch
            && let Node::Cond(_, u, v) = program.node(t)
        {
            for &side in [u, v].into_iter().filter(|u| views.contains(u)) {
                lowering.survey(side, SurveyOf::Copy, placements);
            }
        }
        lowering.places.insert(t, place);
    }
    Ok(())
}

impl Lowering<'_> {
    /// Notes where the variables of a scope are, for surveys of its nests.
    fn enter_survey(&mut self, scope: &Scope) {
        for &t in scope.captures() {
            // Those of outer scopes are known.
            self.places.get_or_insert(t, Place::Inline);
        }
    }

    /// Forgets the places of the nodes of a scope: its siblings may have the same nodes.
    pub(super) fn leave_survey(&mut self, scope: &Scope) {
        for &t in scope.order() {
            self.places.remove(t);
        }
    }

    /// Finds what is to be made for a node, and for that.
    fn survey(&mut self, t: TermId, made: SurveyOf, placements: &mut ScopePlacements) {
        let mut open: SmallVec<[(TermId, SurveyOf); 4]> = SmallVec::from_slice(&[(t, made)]);
        while let Some((u, made)) = open.pop() {
            let known =
                if made == SurveyOf::Copy { &placements.copied } else { &placements.operands };
            if known.contains_key(&u) {
                continue;
            }
            self.wanted = Some(MadeOperands::new());
            // What cannot be expanded is found out when it is.
            let _ = self.survey_nests(u, made, placements);
            let wanted = self.wanted.take().unwrap_or_default();
            if wanted.is_empty() {
                continue;
            }
            for &w in &wanted {
                if placements.chosen(w) == Placement::Inline {
                    placements.chosen.insert(w, Placement::Operand);
                }
            }
            open.extend(wanted.iter().map(|&w| (w, SurveyOf::Operand)));
            let known = if made == SurveyOf::Copy {
                &mut placements.copied
            } else {
                &mut placements.operands
            };
            known.insert(u, wanted);
        }
    }

    /// Expands the indices of some nests.
    fn survey_nests(&mut self, t: TermId, made: SurveyOf, placements: &ScopePlacements) -> R<()> {
        let placement = placements.of(self.program, t);
        match (self.program.node(t), made) {
            (_, SurveyOf::Copy) => drop(self.copy_nests(t, NOWHERE)?),
            (Node::Stack(ts), _) => {
                for (n, &part) in ts.iter().enumerate() {
                    self.store_nest(part, NOWHERE, n)?;
                }
            }
            (_, SurveyOf::Operand) => drop(self.array_nests(t, NOWHERE, None)?),
            (Node::SumOuter(_), SurveyOf::Node) if placement != Placement::StoredUnrolled => {
                if let Placement::Joined(factor) = placement {
                    self.sum_nest(t, NOWHERE, None, Some(factor), placements)?;
                    return Ok(());
                }
                for part in self.parts(t, placements) {
                    self.sum_nest(t, NOWHERE, part, None, placements)?;
                }
            }
            (Node::Scatter(..), _) => drop(self.scatter_nest(t, NOWHERE)?),
            (Node::ArgExtreme(..), _) => drop(self.extreme_nest(t, NOWHERE)?),
            (Node::MapAccum(m), _) => {
                if let Some(fold) = self.fold(m) {
                    self.fold_nest(t, &fold, NOWHERE)?;
                    self.fold_init(t, &fold, NOWHERE, NOWHERE)?;
                }
            }
            _ if matches!(placement, Placement::Stored | Placement::StoredUnrolled) => {
                for part in self.parts(t, placements) {
                    self.array_nests(t, NOWHERE, part)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an array is to be made before the nest in the making, which is asked in surveys only.
    pub(in crate::lower) fn wants(&mut self, t: TermId) -> bool {
        let Some(wanted) = &mut self.wanted else { return false };
        if !wanted.contains(&t) {
            wanted.push(t);
        }
        true
    }
}

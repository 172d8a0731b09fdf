//! What becomes of each node of a program, decided before any nest is made.
//!
//! A [`Placement`] says whether an array is made, and how, or expanded into its users. A table of
//! them for each scope is filled by the passes of [`PASSES`], each of which reads what the ones before
//! have left. [`Placements::check`] says what all of them together must leave; expansion reads the
//! table and decides nothing.

use std::fmt::Write as _;

use cotan_ir::{Node, Program, Scope, Scopes, TermCounts, TermId, TermMap};
use cotan_nest::Plan;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::branch::Sides;
use super::{Lowering, PlanDraft, R};
use crate::target::Target;

mod check;
mod operands;
mod stored;
mod used;

pub(super) use operands::NOWHERE;

/// What becomes of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// An input, a constant or a variable of a loop: it is somewhere.
    Given,
    /// It is expanded into its users.
    #[default]
    Inline,
    /// The same, but right before nests that read it at computed positions it is made for them.
    Operand,
    /// A short sum, written out where it is needed.
    Unrolled,
    /// Made by a nest, at its own shape.
    Stored,
    /// A short sum, made by a nest in which it is written out.
    StoredUnrolled,
    /// A sum that is part of its only user, a sum.
    Absorbed,
    /// A sum of products that has this sum among its factors, made at its own shape.
    Joined(TermId),
    /// A sum among the factors of its only user, a [`Joined`](Placement::Joined) sum: part of that,
    /// or made right before it.
    Factor {
        /// Whether it is short enough to be written out there instead.
        unrolled: bool,
    },
    /// A loop, a search, a scatter, a sort, a routine: made by steps of its own.
    Step,
    /// A condition of which the side that is taken is run, and copied to its place.
    Branch,
    /// One of the results of a step.
    Alias,
}

impl Placement {
    /// What it is, in words.
    fn words(self) -> String {
        match self {
            Placement::Given => "given".into(),
            Placement::Inline => "inline".into(),
            Placement::Operand => "inline, and made for reads at computed positions".into(),
            Placement::Unrolled => "inline, written out".into(),
            Placement::Stored => "stored".into(),
            Placement::StoredUnrolled => "stored, written out".into(),
            Placement::Absorbed => "part of the sum that uses it".into(),
            Placement::Joined(factor) => format!("stored, with %{} as a factor", factor.index()),
            Placement::Factor { .. } => "part of the sum of products that uses it".into(),
            Placement::Step => "a step of its own".into(),
            Placement::Branch => "a branch".into(),
            Placement::Alias => "a result of its step".into(),
        }
    }

    /// Whether an element of the node is computed where it is needed.
    fn is_expanded(self) -> bool {
        use Placement::{Absorbed, Factor, Inline, Operand, Unrolled};
        matches!(self, Inline | Operand | Unrolled | Absorbed | Factor { .. })
    }
}

/// The placements of the nodes of a scope.
#[derive(Debug, Default)]
pub(crate) struct ScopePlacements {
    /// Those that were chosen; [`ScopePlacements::of`] has all.
    chosen: TermMap<Placement>,
    /// Those that must be in memory, whatever they are.
    pub forced: FxHashSet<TermId>,
    /// What has stacks inside that are not in memory.
    pub stacked: FxHashSet<TermId>,
    /// What is made right before a node: [`Operand`](Placement::Operand)s that it reads at computed
    /// positions.
    pub operands: FxHashMap<TermId, MadeOperands>,
    /// The same for the results of sides of branches, which nests copy to their places.
    pub copied: FxHashMap<TermId, MadeOperands>,
    /// What is computed only where a condition holds, or does not.
    pub sides: Sides,
    /// The scopes inside of each loop: of its step, or of its condition and its step.
    inside: FxHashMap<TermId, SmallVec<[ScopePlacements; 1]>>,
}

/// What is made for a node, each once.
pub(crate) type MadeOperands = SmallVec<[TermId; 2]>;

impl ScopePlacements {
    /// What becomes of a node for which there was a choice.
    pub(super) fn chosen(&self, t: TermId) -> Placement {
        self.chosen.get(t).copied().unwrap_or_default()
    }

    /// What becomes of a node.
    fn of(&self, program: &Program, t: TermId) -> Placement {
        if self.sides.of_condition(t).is_some() {
            return Placement::Branch;
        }
        match program.node(t) {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } => Placement::Given,
            Node::Result(..) => Placement::Alias,
            Node::Scatter(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => Placement::Step,
            Node::SegmentArg(..) | Node::Routine(..) => Placement::Step,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => Placement::Step,
            Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::Gather(..) => self.chosen(t),
            Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => self.chosen(t),
            Node::Iota(_) | Node::OneHot(..) | Node::Build1(_) | Node::Stack(_) => self.chosen(t),
            Node::SumOuter(_) => self.chosen(t),
        }
    }

    /// Whether a node is a sum that is part of its only user, a sum.
    pub(super) fn is_absorbed(&self, t: TermId) -> bool {
        self.chosen(t) == Placement::Absorbed
    }

    /// The scopes inside of a loop.
    pub(super) fn inside(&self, t: TermId) -> &[ScopePlacements] {
        self.inside.get(&t).map_or(&[], |inside| inside)
    }

    fn text(&self, program: &Program, scopes: &Scopes, scope: &Scope, depth: usize) -> String {
        let mut text = String::new();
        let names = |ts: &[TermId]| {
            let names: Vec<String> = ts.iter().map(|t| format!("%{}", t.index())).collect();
            names.join(", ")
        };
        for &t in scope.order() {
            let (ty, node) = (program.ty(t), program.node(t));
            let placement = self.of(program, t).words();
            let pad = "  ".repeat(depth);
            let kind = node.name();
            let _ = write!(text, "{pad}%{}: {ty} {kind}: {placement}", t.index());
            if let Some(operands) = self.operands.get(&t) {
                let _ = write!(text, ", after {}", names(operands));
            }
            text.push('\n');
            for (n, inside) in self.inside(t).iter().enumerate() {
                let Some(r) = node.region() else { continue };
                if n > 0 {
                    let _ = writeln!(text, "{pad}  and while it holds:");
                }
                text += &inside.text(program, scopes, scopes.region(r), depth + 1);
            }
        }
        text
    }
}

/// What becomes of each node of a program.
#[derive(Debug)]
pub struct Placements {
    pub(super) scopes: Scopes,
    pub(super) top: ScopePlacements,
    pub(super) in_order: bool,
}

impl Placements {
    /// Decides what becomes of the nodes of a program. `in_order` keeps the order of additions.
    pub fn of(program: &Program, in_order: bool, target: &Target) -> R<Placements> {
        let scopes = Scopes::new(program);
        let results: Vec<TermId> = program.outputs().iter().map(|output| output.term).collect();
        let mut placing = Lowering::new(program, &scopes, in_order, target);
        placing.surveys = operands::may_want(program);
        let top = placing.place_scope(scopes.top(), &results)?;
        let placements = Placements { scopes, top, in_order };
        debug_assert_eq!(placements.check(program), Ok(()));
        Ok(placements)
    }

    /// The plan of the program, for the same target.
    pub fn lower(&self, program: &Program, target: &Target) -> R<Plan> {
        Ok(PlanDraft::placed(program, self, target)?.finish(target))
    }

    /// The decisions that are taken, in their order, and a line for each node, the nodes of a loop
    /// below it.
    pub fn text(&self, program: &Program) -> String {
        let mut text = String::new();
        for (n, pass) in PASSES.iter().enumerate() {
            let _ = writeln!(text, "# {}. {}", n + 1, pass.name);
        }
        text + &self.top.text(program, &self.scopes, self.scopes.top(), 0)
    }
}

/// A pass that decides something about the nodes of a scope.
pub(super) struct PlacementPass {
    /// What it decides, in one line.
    pub(super) name: &'static str,
    run: fn(&mut Lowering<'_>, &mut Scene<'_>) -> R<()>,
}

/// What passes work on.
pub(super) struct Scene<'a> {
    pub(super) scope: &'a Scope,
    pub(super) results: &'a [TermId],
    /// How the nodes are used.
    pub(super) users: NodeUses,
    pub(super) placements: ScopePlacements,
}

/// How the nodes of a scope are used.
#[derive(Default)]
pub(super) struct NodeUses {
    pub(super) uses: TermCounts,
    /// What is read more often than it has elements.
    pub(super) repeated: FxHashSet<TermId>,
    /// Those of them that are read at places that stand in arrays.
    pub(super) looked_up: FxHashSet<TermId>,
    /// What is read in every step of a loop.
    pub(super) captured: FxHashSet<TermId>,
    /// What is summed, its axes perhaps in another order, and used for nothing else.
    pub(super) summed: FxHashSet<TermId>,
}

/// All passes, in their order.
pub(super) const PASSES: &[PlacementPass] = &[
    PlacementPass { name: "which conditions are branches, and what runs in them", run: branches },
    PlacementPass { name: "how nodes are used, and which must be in memory", run: used::used },
    PlacementPass { name: "which sums are parts of others", run: used::absorbed },
    PlacementPass { name: "which arrays are stored", run: stored::stored },
    PlacementPass { name: "which sums have others among their factors", run: joined },
    PlacementPass { name: "what is made for reads at computed positions", run: operands::operands },
];

fn branches(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    scene.placements.sides = lowering.sides(scene.scope, scene.results)?;
    Ok(())
}

/// Lets sums among the factors of others be parts of these.
fn joined(lowering: &mut Lowering<'_>, scene: &mut Scene<'_>) -> R<()> {
    if lowering.in_order {
        return Ok(());
    }
    for &t in scene.scope.order() {
        let placements = &mut scene.placements;
        if let Some(factor) = lowering.factor_sum(t, &scene.users, placements) {
            let unrolled = placements.chosen(factor) == Placement::Unrolled;
            placements.chosen.insert(t, Placement::Joined(factor));
            placements.chosen.insert(factor, Placement::Factor { unrolled });
        }
    }
    Ok(())
}

impl Lowering<'_> {
    /// What becomes of the nodes of a scope, and of the scopes inside of it. It recurses over the
    /// nesting of loops.
    fn place_scope(&mut self, scope: &Scope, results: &[TermId]) -> R<ScopePlacements> {
        let (users, placements) = (NodeUses::default(), ScopePlacements::default());
        let mut scene = Scene { scope, results, users, placements };
        for pass in PASSES {
            (pass.run)(self, &mut scene)?;
        }
        let mut placements = scene.placements;
        let program = self.program;
        for &t in scope.order() {
            let parts: SmallVec<[&[TermId]; 2]> = match program.node(t) {
                Node::MapAccum(m) if self.fold(m).is_some() => continue,
                Node::MapAccum(m) => SmallVec::from_slice(&[program.region(m.step).results()]),
                // The step runs only if the condition holds.
                Node::While(w) => {
                    let all = program.region(w.step).results();
                    let (condition, rest) = all.split_at(all.len().min(1));
                    SmallVec::from_slice(&[condition, rest])
                }
                Node::Custom(c) => {
                    let all = program.region(c.region).results();
                    SmallVec::from_slice(&[&all[..c.outputs.min(all.len())]])
                }
                _ => continue,
            };
            let Some(r) = program.node(t).region() else { continue };
            let outer = std::mem::replace(&mut self.level, program.region(r).level());
            let scopes = self.scopes;
            let mut inside = SmallVec::new();
            for results in parts {
                inside.push(self.place_scope(scopes.region(r), results)?);
            }
            self.level = outer;
            placements.inside.insert(t, inside);
        }
        self.leave_survey(scope);
        Ok(placements)
    }
}

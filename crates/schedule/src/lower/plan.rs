//! Plans in the making, and what is decided of all their steps at once.

use cotan_ir::Program;
use cotan_nest::{Buffer, BufferId, Nest, Plan, Step};
use rustc_hash::FxHashSet;

use super::{Placements, R, arrange, drafted, scalars};
use crate::target::Target;

/// A plan that lacks what can be done without the program: a long program takes much memory, and its
/// plan, too.
pub struct PlanDraft {
    pub(super) buffers: Vec<Buffer>,
    pub(super) steps: Vec<Step<Nest>>,
    pub(super) outputs: Vec<BufferId>,
    pub(super) compact: scalars::Compact,
    pub(super) in_order: bool,
}

impl PlanDraft {
    /// Plans a program, as far as it is needed.
    pub fn of(program: &Program, in_order: bool, target: &Target) -> R<PlanDraft> {
        PlanDraft::placed(program, &Placements::of(program, in_order, target)?, target)
    }

    /// The same, if it is decided what becomes of each node, for the same target.
    pub fn placed(program: &Program, placements: &Placements, target: &Target) -> R<PlanDraft> {
        drafted(program, placements, target)
    }

    /// The plan.
    pub fn finish(self, target: &Target) -> Plan {
        let PlanDraft { mut buffers, mut steps, mut outputs, compact, in_order } = self;
        compact.finish(&mut steps, &mut buffers, &mut outputs);
        let mut plan = Plan { buffers, steps, outputs };
        for pass in PLAN_PASSES.iter().filter(|pass| !(in_order && pass.reorders)) {
            (pass.run)(&mut plan, target);
            debug_assert_eq!(
                plan.check().map_err(|fault| format!("{fault}\n{plan}")),
                Ok(()),
                "after: {}",
                pass.name
            );
        }
        plan
    }
}

/// A pass over all steps of a plan.
struct PlanPass {
    /// What it decides, in one line.
    name: &'static str,
    /// Whether sums may be taken in another order afterwards.
    reorders: bool,
    run: fn(&mut Plan, &Target),
}

/// All passes over plans, in their order.
const PLAN_PASSES: &[PlanPass] = &[
    PlanPass {
        name: "which arrays lie where they are copied to",
        reorders: false,
        run: |p, target| arrange::arrange(&mut p.steps, &p.buffers, &FxHashSet::default(), target),
    },
    PlanPass {
        name: "which nests of one position are one",
        reorders: false,
        run: |p, target| scalars::fuse(&mut p.steps, &p.buffers, target),
    },
    PlanPass {
        name: "which inputs are copied by columns",
        reorders: true,
        run: |p, target| arrange::copy_columns(&mut p.steps, &mut p.buffers, target),
    },
];

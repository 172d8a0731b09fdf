//! What a loop need not do in every step: nests that give the same in each, and copies of outputs.

use cotan_nest::{BufferId, Loop, Nest, Role, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowering;

/// Takes the nests out of a loop that read nothing that it changes, such as an operand copied to
/// another order; they are to be run before it. What the step makes are buffers from `first` on.
pub(super) fn take_invariant(l: &mut Loop<Nest>, first: usize) -> Vec<Step<Nest>> {
    let mut changed: FxHashSet<BufferId> = l.inputs.iter().map(|&(_, part)| part).collect();
    changed.extend(l.states.iter().flat_map(|&(_, state, next)| [state, next]));
    let given: FxHashSet<BufferId> = l.outputs.iter().map(|&(part, _)| part).collect();
    let mut writers: FxHashMap<BufferId, usize> = FxHashMap::default();
    for step in &l.steps {
        for_each_written(step, &mut |b| *writers.entry(b).or_default() += 1);
    }
    let mut fixed: FxHashSet<BufferId> = FxHashSet::default();
    let (mut before, mut steps) = (Vec::new(), Vec::with_capacity(l.steps.len()));
    for step in l.steps.drain(..) {
        match step {
            Step::Compute(nest) => {
                let to = nest.target;
                let whole = nest.write.place().is_some();
                let changes =
                    |b: BufferId| changed.contains(&b) || b.index() >= first && !fixed.contains(&b);
                let own = writers.get(&to) == Some(&1) && to.index() >= first;
                let kept = changed.contains(&to) || given.contains(&to);
                if whole && own && !kept && !nest.reads(changes) {
                    fixed.insert(to);
                    before.push(Step::Compute(nest));
                } else {
                    steps.push(Step::Compute(nest));
                }
            }
            step => steps.push(step),
        }
    }
    l.steps = steps;
    before
}

/// The buffers that a step of a list may write.
pub(super) fn for_each_written(step: &Step<Nest>, f: &mut dyn FnMut(BufferId)) {
    match step {
        Step::Compute(nest) => {
            f(nest.target);
            nest.also.iter().for_each(|also| f(also.target));
        }
        Step::Scalars(scalars) => scalars.for_each_written(f),
        Step::Contract(draft) => draft.nests().for_each(|nest| f(nest.target)),
        Step::Zero(b) | Step::Copy { to: b, .. } => f(*b),
        Step::ArgSort { to, room, .. } => [*to, *room].into_iter().for_each(f),
        Step::SegmentArg(step) => f(step.to),
        Step::Routine(step) => step.results.iter().chain([&step.room]).for_each(|&b| f(b)),
        // What a loop writes was made for it alone: states, what it collects, and inside.
        Step::Loop(l) => for_each_made(l, f),
        Step::While(w) => for_each_made(&w.body, f),
        Step::If(branches) => {
            let steps = branches.then.iter().chain(&branches.otherwise);
            steps.for_each(|step| for_each_written(step, f));
        }
    }
}

/// The buffers that a loop fills.
fn for_each_made(l: &Loop<Nest>, f: &mut dyn FnMut(BufferId)) {
    l.states.iter().for_each(|&(_, state, next)| [state, next].into_iter().for_each(&mut *f));
    l.outputs.iter().for_each(|&(_, whole)| f(whole));
    l.collected.iter().for_each(|&(whole, _)| f(whole));
}

impl Lowering<'_> {
    /// Lets a step write outputs where they are collected, if it makes them: buffers from `first`
    /// on. Gives the arrays with the views of their parts, and leaves the outputs to be copied.
    pub(super) fn collect_in_place(
        &mut self,
        first: usize,
        outputs: &mut Vec<(BufferId, BufferId)>,
    ) -> Vec<(BufferId, BufferId)> {
        let mut collected = Vec::new();
        outputs.retain(|&(part, whole)| {
            let role = &mut self.buffers[part.index()].role;
            // A part that is collected twice is a view by now.
            let made = part.index() >= first && matches!(role, Role::Temporary(_));
            if made {
                *role = Role::View;
                collected.push((whole, part));
            }
            !made
        });
        collected
    }
}

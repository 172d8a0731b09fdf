//! States of loops of which a step changes a part.
//!
//! $$s'_{i \dots} = \begin{cases} v_{\dots} & i = k \\ s_{i \dots} & \text{otherwise} \end{cases}
//! \qquad\text{or}\qquad s'_{i \dots} = s_{i \dots} + [i = k]\, v_{\dots}$$
//!
//! and any composition of such updates: outside of a few *regions*, a position along some axes or a
//! slice of known length, the next state is the state. So the nest is run for the regions only, and
//! what it gives is stored where the state lies: the rest is neither read nor written. Regions may
//! overlap, and be larger than what is changed, as what is stored is what the whole nest gives at
//! that place. They are computed from the old state before any of them is stored.
//!
//! A step may make several *versions* of a state, one after the other, by such nests or by loops that
//! change their own state where it lies. All of them are in the memory of the state, so what reads a
//! version has to run before the next one is stored: steps are put in that order if they may be.
//!
//! Adding 0 elsewhere makes $-0$ to $0$, which is not done here: where every bit counts a state that
//! is added to has to begin without negative zeros, and must not be assigned any, as only then it
//! has none later.

use cotan_ir::TermId;
use cotan_ir::scalar::Scalar;
use cotan_nest::{BufferId, Instr, Loop, Nest, Role, Step};
use smallvec::SmallVec;

use super::Lowering;
use super::repeat::for_each_written;
use regions::Update;

mod regional;
mod regions;

/// Where each state begins, where it is, and where the step puts the next.
type States = [(BufferId, BufferId, BufferId)];

/// What makes a version of a state of the one before, by the places in the list of steps.
enum Made {
    /// Nests, each for a part of it.
    Nests(Vec<(usize, Update)>),
    /// A loop, in the memory of the one before.
    Loop,
}

impl Lowering<'_> {
    /// Changes states where they lie, wherever a step changes parts of them. What a step gives of
    /// such a state besides is copied before.
    pub(super) fn update_in_place(
        &mut self,
        states: &mut States,
        init: &[TermId],
        outputs: &mut [(BufferId, BufferId)],
        steps: &mut Vec<Step<Nest>>,
    ) {
        let all: SmallVec<[BufferId; 4]> = states.iter().map(|s| s.1).collect();
        let mut before = Vec::new();
        for (k, &init) in init.iter().enumerate() {
            let (_, state, next) = states[k];
            let positive = self.begins_positive(init);
            let free = |version: BufferId| {
                !outputs.iter().any(|o| o.0 == version)
                    && states.iter().filter(|s| s.0 == version || s.2 == version).count()
                        == usize::from(version == next)
            };
            let Some(versions) = self.versions(state, next, steps, positive, free) else {
                continue;
            };
            if !self.store_versions(&all, state, &versions, steps) {
                continue;
            }
            states[k].2 = state;
            for output in outputs.iter_mut().filter(|o| o.0 == state) {
                let copy = self.buffers[state.index()].clone();
                self.buffers.push(copy);
                output.0 = BufferId((self.buffers.len() - 1) as u32);
                before.push(Step::Copy { from: state, to: output.0 });
            }
        }
        steps.splice(0..0, before);
    }

    /// Whether an array is known to have no negative zeros.
    fn begins_positive(&self, t: TermId) -> bool {
        match self.uniform(t) {
            Some(Scalar::F64(x)) => x != 0.0 || x.is_sign_positive(),
            Some(Scalar::F32(x)) => x != 0.0 || x.is_sign_positive(),
            Some(_) => true,
            None => false,
        }
    }

    /// The versions of a state that lead to the next one, in their order.
    fn versions(
        &self,
        state: BufferId,
        next: BufferId,
        steps: &[Step<Nest>],
        positive: bool,
        free: impl Fn(BufferId) -> bool,
    ) -> Option<Vec<BufferId>> {
        let (mut adds, mut sets) = (false, false);
        let mut versions = Vec::new();
        let mut version = next;
        while version != state {
            let made = matches!(self.buffers[version.index()].role, Role::Temporary(_));
            if !made || !free(version) || versions.len() == self.target.search.max_versions {
                return None;
            }
            versions.push(version);
            let (base, made) = self.made_of(version, steps)?;
            match made {
                Made::Nests(nests) => {
                    adds |= nests.iter().any(|(_, update)| update.adds);
                    sets |= nests.iter().any(|(_, update)| update.sets);
                }
                Made::Loop => sets = true,
            }
            version = base;
        }
        versions.reverse();
        let keeps_zeros = !adds || !sets && positive;
        (!versions.is_empty() && (keeps_zeros || !self.in_order)).then_some(versions)
    }

    /// How a version is made of another one, by nests that change few elements of it or by a loop.
    fn made_of(&self, version: BufferId, steps: &[Step<Nest>]) -> Option<(BufferId, Made)> {
        let writers: SmallVec<[usize; 2]> =
            (0..steps.len()).filter(|&n| writes(&steps[n], version)).collect();
        if let [place] = writers[..]
            && let Some(l) = loop_of(&steps[place])
        {
            let &(init, ..) = l.states.iter().find(|s| s.1 == version && s.2 == version)?;
            let mut mentions = 0;
            steps[place].for_each_buffer(&mut |b| mentions += usize::from(b == init));
            return (mentions == 1).then_some((init, Made::Loop));
        }
        let nest = |place: usize| match &steps[place] {
            Step::Compute(nest) if nest.target == version => Some(&**nest),
            _ => None,
        };
        // The one before is read at the places that are filled.
        let read = |nest: &Nest| -> SmallVec<[BufferId; 4]> {
            let loads = nest.instrs.iter().filter_map(|instr| match instr {
                Instr::Load { buffer, at, .. } if Some(at) == nest.write.place() => Some(*buffer),
                _ => None,
            });
            loads.collect()
        };
        let shape = &self.buffers[version.index()].shape;
        let mut bases: SmallVec<[BufferId; 4]> = SmallVec::new();
        for &place in &writers {
            bases.extend(read(nest(place)?));
        }
        bases.sort_unstable();
        bases.dedup();
        for base in bases {
            if base == version || self.buffers[base.index()].shape != *shape {
                continue;
            }
            let mut few = 0usize;
            let mut nests = Vec::with_capacity(writers.len());
            for &place in &writers {
                let nest = nest(place)?;
                let update =
                    Update::of(nest, base, &self.target.search).or_else(|| Update::whole(nest))?;
                few = few.saturating_add(update.elements(nest));
                nests.push((place, update));
            }
            if few.saturating_mul(self.target.gains.min_region_share) <= shape.numel() {
                return Some((base, Made::Nests(nests)));
            }
        }
        None
    }

    /// Puts versions of a state to its memory, if what reads them can be run in time.
    fn store_versions(
        &mut self,
        states: &[BufferId],
        state: BufferId,
        versions: &[BufferId],
        steps: &mut Vec<Step<Nest>>,
    ) -> bool {
        if !in_time(state, versions, steps) {
            return false;
        }
        // Nests that read versions must be computed before the memory changes, too.
        let changing: SmallVec<[BufferId; 8]> = states.iter().chain(versions).copied().collect();
        // Everything is made before anything is changed, as there may be a nest that cannot be cut.
        // The place of each change, whether it takes that of a step, and the steps.
        let mut edits: Vec<(usize, bool, Vec<Step<Nest>>)> = Vec::new();
        for &version in versions {
            let Some((_, made)) = self.made_of(version, steps) else { return false };
            let Made::Nests(nests) = made else { continue };
            let mut all = Vec::new();
            for (place, update) in &nests {
                let Step::Compute(nest) = &steps[*place] else { return false };
                let Some((computed, stored)) = self.in_regions(nest, update, state, &changing)
                else {
                    return false;
                };
                let boxed = |nest: Nest| Step::Compute(Box::new(nest));
                edits.push((*place, true, computed.into_iter().map(boxed).collect()));
                all.extend(stored.into_iter().map(boxed));
            }
            let made: SmallVec<[usize; 2]> = nests.iter().map(|(place, _)| *place).collect();
            let first =
                (0..steps.len()).find(|n| !made.contains(n) && touches(&steps[*n], version));
            edits.push((first.unwrap_or(steps.len()), false, all));
        }
        // From the last to the first, so that places stay what they are. What is stored before a
        // step comes before what that step became.
        edits.sort_by_key(|&(place, replaces, _)| (place, replaces));
        for (place, replaces, more) in edits.into_iter().rev() {
            let end = if replaces { place + 1 } else { place };
            steps.splice(place..end, more);
        }
        let to_memory = |b: &mut BufferId| {
            if versions.contains(b) {
                *b = state;
            }
        };
        steps.iter_mut().for_each(|step| step.for_each_buffer_mut(&to_memory));
        true
    }
}

/// Whether everything that reads a version of a state runs before the next one is stored, after steps
/// have been moved to that end.
fn in_time(state: BufferId, versions: &[BufferId], steps: &mut [Step<Nest>]) -> bool {
    let mut before = state;
    for &version in versions {
        let makes = |step: &Step<Nest>| writes(step, version);
        // The new version is in memory from its first reader on; a loop puts it there itself.
        let stored = |steps: &[Step<Nest>]| {
            let reads = |n: &usize| touches(&steps[*n], version);
            let is_loop = |n: &usize| loop_of(&steps[*n]).is_some();
            (0..steps.len()).filter(reads).find(|n| is_loop(n) || !makes(&steps[*n]))
        };
        while let Some(first) = stored(steps) {
            let late = |n: &usize| touches(&steps[*n], before) && !makes(&steps[*n]);
            let Some(late) = (first..steps.len()).find(late) else { break };
            if late == first || !hoist(steps, first, late) {
                return false;
            }
        }
        before = version;
    }
    true
}

/// Moves a step, and what it needs, before an earlier one, if none of what is passed depends on it.
fn hoist(steps: &mut [Step<Nest>], first: usize, late: usize) -> bool {
    let touched = |step: &Step<Nest>| {
        let mut found: SmallVec<[BufferId; 8]> = SmallVec::new();
        step.for_each_buffer(&mut |b| found.push(b));
        found
    };
    let written = |step: &Step<Nest>| {
        let mut found: SmallVec<[BufferId; 4]> = SmallVec::new();
        for_each_written(step, &mut |b| found.push(b));
        found
    };
    let mut moves = vec![false; late + 1 - first];
    moves[late - first] = true;
    let mut needed = touched(&steps[late]);
    for n in (first..late).rev() {
        if written(&steps[n]).iter().any(|b| needed.contains(b)) {
            moves[n - first] = true;
            needed.extend(touched(&steps[n]));
        }
    }
    // What stays and was before must not touch what is written by what moves.
    let mut stays: SmallVec<[BufferId; 16]> = SmallVec::new();
    for n in first..=late {
        match moves[n - first] {
            false => stays.extend(touched(&steps[n])),
            true if written(&steps[n]).iter().any(|b| stays.contains(b)) => return false,
            true => {}
        }
    }
    if moves[0] {
        return false;
    }
    let mut place = first;
    for n in first..=late {
        if moves[n - first] {
            steps[place..=n].rotate_right(1);
            place += 1;
        }
    }
    true
}

fn touches(step: &Step<Nest>, buffer: BufferId) -> bool {
    let mut found = false;
    step.for_each_buffer(&mut |b| found |= b == buffer);
    found
}

fn writes(step: &Step<Nest>, buffer: BufferId) -> bool {
    let mut found = false;
    for_each_written(step, &mut |b| found |= b == buffer);
    found
}

fn loop_of(step: &Step<Nest>) -> Option<&Loop<Nest>> {
    match step {
        Step::Loop(l) => Some(l),
        Step::While(w) => Some(&w.body),
        _ => None,
    }
}

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
use cotan_nest::{Branches, BufferId, Instr, Loop, Nest, Role, Step};
use smallvec::SmallVec;

use super::Lowering;
use super::repeat::for_each_written;
use regions::Update;
use scattered::adds_to_places;

mod regional;
mod regions;
mod scattered;

/// Where each state begins, where it is, and where the step puts the next.
type States = [(BufferId, BufferId, BufferId)];

/// What makes a version of a state of the one before, by the places in the list of steps.
enum VersionStep {
    /// Nests, each for a part of it.
    Nests(Vec<(usize, Update)>),
    /// A loop, in the memory of the one before.
    Loop,
    /// A step that runs one of two lists, each of which makes it of the one before.
    Branches(Box<InBranches>),
}

/// What a version is in both lists of a step.
struct InBranches {
    lists: [InList; 2],
    flags: Flags,
}

/// The versions in a list that lead to one, none where it is the one before.
struct InList {
    versions: Vec<BufferId>,
    /// Whether it is copied from the last of them, in the end.
    copied: bool,
}

/// How versions are made of the ones before.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// Whether 0 is added elsewhere.
    adds: bool,
    /// Whether something that may be $-0$ takes the place of an element.
    sets: bool,
}

impl Flags {
    fn join(&mut self, made: &VersionStep) {
        match made {
            VersionStep::Nests(nests) => {
                self.adds |= nests.iter().any(|(_, update)| update.adds);
                self.sets |= nests.iter().any(|(_, update)| update.sets);
            }
            VersionStep::Loop => self.sets = true,
            VersionStep::Branches(inside) => {
                self.adds |= inside.flags.adds;
                self.sets |= inside.flags.sets;
            }
        }
    }
}

/// What becomes of a list of steps: by their places, from the first to the last, whether a step is
/// replaced, and the steps that come there; and for steps with branches what becomes of these, and
/// whether they end with a copy that is not needed any more.
struct Edits {
    steps: Vec<(usize, bool, Vec<Step<Nest>>)>,
    branches: Vec<(usize, [(Edits, bool); 2])>,
    /// The versions that are in the memory of the state.
    versions: Vec<BufferId>,
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
        if !self.in_order {
            // The loop reads these when the step is done.
            let read = states.iter().map(|s| s.2).chain(outputs.iter().map(|o| o.0));
            let kept: SmallVec<[BufferId; 8]> = read.collect();
            self.scatter_in_place(&kept, steps);
        }
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
        let mut flags = Flags::default();
        let mut versions = Vec::new();
        let mut version = next;
        while version != state {
            let made = matches!(self.buffers[version.index()].role, Role::Temporary(_));
            if !made || !free(version) || versions.len() == self.target.search.max_versions {
                return None;
            }
            versions.push(version);
            let (base, made) = self.made_of(version, steps)?;
            flags.join(&made);
            version = base;
        }
        versions.reverse();
        let keeps_zeros = !flags.adds || !flags.sets && positive;
        (!versions.is_empty() && (keeps_zeros || !self.in_order)).then_some(versions)
    }

    /// How a version is made of another one, by nests that change few elements of it or by a loop.
    fn made_of(&self, version: BufferId, steps: &[Step<Nest>]) -> Option<(BufferId, VersionStep)> {
        let writers: SmallVec<[usize; 2]> =
            (0..steps.len()).filter(|&n| writes(&steps[n], version)).collect();
        // What is added to places of it is added to it where it lies.
        let adds = writers.iter().position(|&n| adds_to_places(&steps[n], version));
        let (writers, scatters) = writers.split_at(adds.unwrap_or(writers.len()));
        if !scatters.iter().all(|&n| adds_to_places(&steps[n], version)) {
            return None;
        }
        if let ([place], []) = (writers, scatters)
            && let place = *place
            && let Some(l) = loop_of(&steps[place])
        {
            let &(init, ..) = l.states.iter().find(|s| s.1 == version && s.2 == version)?;
            let mut mentions = 0;
            steps[place].for_each_buffer(&mut |b| mentions += usize::from(b == init));
            return (mentions == 1).then_some((init, VersionStep::Loop));
        }
        if let ([place], []) = (writers, scatters)
            && let Step::If(branches) = &steps[*place]
        {
            let outside = steps.iter().enumerate().filter(|(n, _)| n != place);
            let free = |b: BufferId| {
                let own = matches!(self.buffers[b.index()].role, Role::Temporary(_));
                own && !outside.clone().any(|(_, step)| touches(step, b))
            };
            let (base, inside) = self.made_in_branches(version, branches, &free)?;
            return Some((base, VersionStep::Branches(Box::new(inside))));
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
        for &place in writers {
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
            for &place in writers {
                let nest = nest(place)?;
                let mut update =
                    Update::of(nest, base, &self.target.search).or_else(|| Update::whole(nest))?;
                update.adds |= !scatters.is_empty();
                few = few.saturating_add(update.elements(nest));
                nests.push((place, update));
            }
            if few.saturating_mul(self.target.gains.min_region_share) <= shape.numel() {
                return Some((base, VersionStep::Nests(nests)));
            }
        }
        None
    }

    /// How both lists of a step copy versions of one array to another one.
    fn made_in_branches(
        &self,
        version: BufferId,
        branches: &Branches<Nest>,
        free: &dyn Fn(BufferId) -> bool,
    ) -> Option<(BufferId, InBranches)> {
        let mut flags = Flags::default();
        let mut in_list = |list: &[Step<Nest>]| {
            let (steps, mut base, copied) = match list.split_last()? {
                (Step::Copy { from, to }, steps) if *to == version => (steps, *from, true),
                _ => (list, version, false),
            };
            if copied && steps.iter().any(|step| touches(step, version)) {
                return None;
            }
            let mut versions = Vec::new();
            while steps.iter().any(|step| writes(step, base)) {
                if base != version && !free(base)
                    || versions.len() == self.target.search.max_versions
                {
                    return None;
                }
                versions.push(base);
                let (before, made) = self.made_of(base, steps)?;
                flags.join(&made);
                base = before;
            }
            versions.reverse();
            Some((base, InList { versions, copied }))
        };
        let (base, then) = in_list(&branches.then)?;
        let (other, otherwise) = in_list(&branches.otherwise)?;
        let lists = [then, otherwise];
        (base == other && base != version).then_some((base, InBranches { lists, flags }))
    }

    /// Puts versions of a state to its memory, if what reads them can be run in time.
    fn store_versions(
        &mut self,
        states: &[BufferId],
        state: BufferId,
        versions: &[BufferId],
        steps: &mut Vec<Step<Nest>>,
    ) -> bool {
        // Everything is made before anything is changed, as there may be a nest that cannot be cut.
        let edits = self.edits(states, (state, state), versions, steps);
        edits.map(|edits| edits.apply(state, steps)).is_some()
    }

    /// What has to be done so that the versions of an array, which is in the memory of a state, are
    /// there, too.
    fn edits(
        &mut self,
        states: &[BufferId],
        (base, state): (BufferId, BufferId),
        versions: &[BufferId],
        steps: &mut [Step<Nest>],
    ) -> Option<Edits> {
        if !in_time(base, versions, steps) {
            return None;
        }
        // Nests that read versions must be computed before the memory changes, too.
        let changing: SmallVec<[BufferId; 8]> = states.iter().chain(versions).copied().collect();
        let (mut edits, mut branches) = (Vec::new(), Vec::new());
        for &version in versions {
            let (before, made) = self.made_of(version, steps)?;
            let nests = match made {
                VersionStep::Nests(nests) => nests,
                VersionStep::Loop => continue,
                VersionStep::Branches(inside) => {
                    let place = (0..steps.len()).find(|&n| writes(&steps[n], version))?;
                    let Step::If(lists) = &mut steps[place] else { return None };
                    let [then, otherwise] = &inside.lists;
                    let mut within = |list: &InList, steps: &mut Vec<Step<Nest>>| {
                        let memory = (before, state);
                        let edits = self.edits(&changing, memory, &list.versions, steps)?;
                        Some((edits, list.copied))
                    };
                    let then = within(then, &mut lists.then)?;
                    let otherwise = within(otherwise, &mut lists.otherwise)?;
                    branches.push((place, [then, otherwise]));
                    continue;
                }
            };
            let mut all = Vec::new();
            for (place, update) in &nests {
                let Step::Compute(nest) = &steps[*place] else { return None };
                let (computed, stored) = self.in_regions(nest, update, state, &changing)?;
                let boxed = |nest: Nest| Step::Compute(Box::new(nest));
                edits.push((*place, true, computed.into_iter().map(boxed).collect()));
                all.extend(stored.into_iter().map(boxed));
            }
            let made: SmallVec<[usize; 2]> = nests.iter().map(|(place, _)| *place).collect();
            let first =
                (0..steps.len()).find(|n| !made.contains(n) && touches(&steps[*n], version));
            edits.push((first.unwrap_or(steps.len()), false, all));
        }
        // What is stored before a step comes before what that step became.
        edits.sort_by_key(|&(place, replaces, _)| (place, replaces));
        Some(Edits { steps: edits, branches, versions: versions.to_vec() })
    }
}

impl Edits {
    fn apply(self, state: BufferId, steps: &mut Vec<Step<Nest>>) {
        for (place, [then, otherwise]) in self.branches {
            let Step::If(lists) = &mut steps[place] else { continue };
            let both = [(then, &mut lists.then), (otherwise, &mut lists.otherwise)];
            for ((edits, copied), list) in both {
                // What is stored before a copy is stored at the end then.
                list.truncate(list.len() - usize::from(copied));
                edits.apply(state, list);
            }
        }
        // From the last to the first, so that places stay what they are.
        for (place, replaces, more) in self.steps.into_iter().rev() {
            let end = if replaces { place + 1 } else { place };
            steps.splice(place..end, more);
        }
        let to_memory = |b: &mut BufferId| {
            if self.versions.contains(b) {
                *b = state;
            }
        };
        steps.iter_mut().for_each(|step| step.for_each_buffer_mut(&to_memory));
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
            let changes = |n: &usize| {
                let in_place = matches!(steps[*n], Step::Loop(_) | Step::While(_) | Step::If(_));
                in_place || adds_to_places(&steps[*n], version)
            };
            (0..steps.len()).filter(reads).find(|n| changes(n) || !makes(&steps[*n]))
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

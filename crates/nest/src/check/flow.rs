//! What steps read and write.

use smallvec::SmallVec;

use super::cover::Changes;
use super::places::{common, count, ends, find_place, outside, read_by_another, runs, twice};
use super::{Checker, Lock, R};
use crate::draft::Draft;
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Write};
use crate::plan::{Loop, Step};
use crate::routine::RoutineStep;
use crate::segment::{SegmentStep, Strided};

impl Checker<'_> {
    pub(super) fn step(&mut self, step: &Step<Nest>) -> R<()> {
        match step {
            Step::Compute(nest) => self.nest(nest),
            Step::Scalars(packed) => match packed.unpack() {
                Some(nest) => self.nest(&nest),
                None => Err("operations on single elements that store nothing".to_owned()),
            },
            Step::Contract(draft) => self.contract(draft),
            Step::Zero(b) => {
                self.buffer(*b)?;
                self.fill(*b)
            }
            Step::Copy { from, to } => {
                self.copied(*from, *to)?;
                self.read_all(*from)?;
                self.fill(*to)
            }
            Step::ArgSort { from, to, room } => {
                self.sort_types(*from, *to, *room)?;
                if from == to || to == room || from == room {
                    return Err("a sort into what it sorts".to_owned());
                }
                self.read_all(*from)?;
                self.fill(*room)?;
                // What is left there is nobody's business.
                self.covers.forget(*room);
                self.fill(*to)
            }
            Step::SegmentArg(step) => self.segments(step),
            Step::Routine(step) => self.routine(step),
            Step::Loop(l) => {
                self.loop_types(l, Some(l.length))?;
                self.repeated(l, l.length > 0, |_| Ok(()))
            }
            Step::While(w) => {
                self.loop_types(&w.body, w.bound)?;
                self.condition(w.condition)?;
                if let Some(&(_, part)) = w.body.inputs.iter().chain(&w.body.collected).next() {
                    return Err(format!("a while loop steps through buffer {}", part.0));
                }
                if w.bound.is_none() && !w.body.outputs.is_empty() {
                    return Err("a while loop without bound that stores each step".to_owned());
                }
                // How many steps there are is not known.
                for &(_, whole) in &w.body.outputs {
                    self.needs_all(whole, "filled by a while loop")?;
                }
                self.repeated(&w.body, false, |checker| {
                    checker.steps(&w.before)?;
                    checker.read_all(w.condition)
                })
            }
            Step::If(branches) => {
                self.condition(branches.condition)?;
                self.read_all(branches.condition)?;
                let condition = branches.condition;
                let then = self.branch(condition, true, &branches.then)?;
                let otherwise = self.branch(condition, false, &branches.otherwise)?;
                self.covers.join(&then, &otherwise);
                Ok(())
            }
        }
    }

    /// What the steps of a branch write, after what other branches on the same truth value have
    /// written.
    fn branch(&mut self, on: BufferId, holds: bool, steps: &[Step<Nest>]) -> R<Changes> {
        let around = self.conditional.enter_branch(on, holds);
        let mark = self.covers.mark();
        let (covers, known) = (&mut self.covers, &self.conditional);
        for step in steps {
            step.for_each_buffer(&mut |b| known.of(b).for_each(|(&lo, &hi)| covers.add(b, lo, hi)));
        }
        self.steps(steps)?;
        let changes = self.covers.undo(&mark);
        self.conditional.note(&changes);
        self.conditional.leave(around);
        Ok(changes)
    }

    fn read_all(&self, b: BufferId) -> R<()> {
        self.may_read(b)?;
        self.needs_all(b, "read")
    }

    fn fill(&mut self, b: BufferId) -> R<()> {
        self.may_write(b)?;
        self.conditional.changes(b);
        self.covers.add_all(b);
        Ok(())
    }

    fn nest(&mut self, nest: &Nest) -> R<()> {
        self.nest_types(nest)?;
        self.reads(nest)?;
        self.hazards(nest)?;
        self.writes(nest)
    }

    fn contract(&mut self, draft: &Draft) -> R<()> {
        self.draft_types(draft)?;
        if draft.needs_whole() {
            let mark = self.covers.mark();
            self.nest(&draft.whole)?;
            self.covers.undo(&mark);
        }
        self.nest(&draft.core)?;
        draft.after.as_ref().map_or(Ok(()), |after| self.nest(after))
    }

    /// Every element that is read is there, and has been written.
    fn reads(&mut self, nest: &Nest) -> R<()> {
        for (n, instr) in nest.instrs.iter().enumerate() {
            let read = match instr {
                Instr::Load { buffer, at, checks } => {
                    self.access(nest, *buffer, at, checks).and_then(|()| {
                        self.may_read(*buffer)?;
                        self.written(&nest.extents, *buffer, at, checks)
                    })
                }
                Instr::LoadAt { buffer, index } => {
                    self.may_read(*buffer)?;
                    match count(&nest.extents) {
                        0 => Ok(()),
                        _ => self.written_box(*buffer, index),
                    }
                }
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => Ok(()),
            };
            read.map_err(|message| format!("%{n}: {message}"))?;
        }
        Ok(())
    }

    /// An access stays within its buffer.
    fn access(&mut self, nest: &Nest, b: BufferId, at: &Affine, checks: &[(Affine, i64)]) -> R<()> {
        let numel = self.buffer(b)?.shape.numel();
        match outside(at, checks, &nest.extents, numel, &mut self.fuel) {
            None => Ok(()),
            Some(place) => {
                Err(format!("element {place} of buffer {} is touched, which has {numel}", b.0))
            }
        }
    }

    /// Every element of an access has been written.
    fn written(
        &mut self,
        extents: &[usize],
        b: BufferId,
        at: &Affine,
        checks: &[(Affine, i64)],
    ) -> R<()> {
        if self.covers.missing(b).is_none() {
            return Ok(());
        }
        let covers = &self.covers;
        let missing = if checks.is_empty() {
            let runs = runs(at, extents).unwrap_or_default();
            runs.into_iter().find_map(|(lo, hi)| covers.gap(b, lo, hi))
        } else {
            find_place(at, checks, extents, &mut self.fuel, |place| {
                let place = i64::try_from(place).ok()?;
                covers.gap(b, place, place + 1)
            })
        };
        match missing {
            None => Ok(()),
            Some(at) => Err(format!("element {at} of buffer {} is read, not written", b.0)),
        }
    }

    /// Every element that an index may lead to has been written.
    fn written_box(&mut self, b: BufferId, index: &[Component]) -> R<()> {
        let (sizes, at) = reached(index);
        self.written(&sizes, b, &at, &[])
    }

    /// No two positions write one place, and none reads what another one writes.
    fn hazards(&mut self, nest: &Nest) -> R<()> {
        let parallel = nest.extents.len() - nest.reduced;
        let outer = &nest.extents[..parallel];
        let fuel = &mut self.fuel;
        let double = |b: BufferId, place: i128| {
            Err(format!("element {place} of buffer {} is written twice", b.0))
        };
        let mut stores: SmallVec<[(BufferId, &Affine, &[usize]); 4]> =
            nest.also.iter().map(|also| (also.target, &also.at, &nest.extents[..])).collect();
        stores.extend(nest.write.place().map(|at| (nest.target, at, outer)));
        for &(b, at, extents) in &stores {
            if let Some(place) = twice(at, extents, fuel) {
                return double(b, place);
            }
        }
        self.distinct(nest, &stores)?;
        for (n, instr) in nest.instrs.iter().enumerate() {
            let b = match instr {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => *buffer,
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {
                    continue;
                }
            };
            let several = count(outer) > 1;
            let another = |place: i128| {
                Err(format!(
                    "%{n}: element {place} of buffer {} is written by another position",
                    b.0
                ))
            };
            if b == nest.target && several && nest.write.scatters() {
                return Err(format!("%{n}: buffer {} is read while others write it", b.0));
            }
            for &(_, at, extents) in stores.iter().filter(|store| store.0 == b) {
                let found = match instr {
                    Instr::Load { at: read, checks, .. } => {
                        let reduced = nest.extents.len() - extents.len();
                        let space = (&nest.extents[..], reduced);
                        read_by_another(at, (read, checks), space, &mut self.fuel)
                    }
                    // Any place that the index may lead to.
                    Instr::LoadAt { index, .. } if several => {
                        let (sizes, read) = reached(index);
                        match (runs(&read, &sizes), runs(at, extents)) {
                            (Some(one), Some(two)) => common(&one, &two).map(i128::from),
                            _ => None,
                        }
                    }
                    _ => None,
                };
                if let Some(place) = found {
                    return another(place);
                }
            }
        }
        Ok(())
    }

    /// Different stores of a nest go to different places.
    fn distinct(&self, nest: &Nest, stores: &[(BufferId, &Affine, &[usize])]) -> R<()> {
        let scatters = nest.write.scatters();
        if scatters && let Some(also) = nest.also.iter().find(|also| also.target == nest.target) {
            return Err(format!("buffer {} is written in two ways", also.target.0));
        }
        // Straight code has many stores, each at one place.
        let mut by_place: SmallVec<[(BufferId, i128, i128, usize); 8]> = SmallVec::new();
        for (n, &(b, at, extents)) in stores.iter().enumerate().filter(|(_, s)| count(s.2) > 0) {
            let (lo, hi) = ends(at, extents);
            by_place.push((b, lo, hi, n));
        }
        by_place.sort_unstable();
        for (k, &(b, _, far, n)) in by_place.iter().enumerate() {
            for &(other, from, _, m) in &by_place[k + 1..] {
                if other != b || from > far {
                    break;
                }
                let images = |n: usize| runs(stores[n].1, stores[n].2);
                if let (Some(one), Some(two)) = (images(n), images(m))
                    && let Some(place) = common(&one, &two)
                {
                    return Err(format!("element {place} of buffer {} is written twice", b.0));
                }
            }
        }
        Ok(())
    }

    /// Every element that is written is there, and may be written.
    fn writes(&mut self, nest: &Nest) -> R<()> {
        for also in &nest.also {
            self.store(&nest.extents, also.target, &also.at)?;
        }
        let parallel = nest.extents.len() - nest.reduced;
        self.may_write(nest.target)?;
        self.conditional.changes(nest.target);
        match &nest.write {
            Write::Store(at) | Write::Sum(at) => {
                self.store(&nest.extents[..parallel], nest.target, at)
            }
            Write::Best { at, .. } | Write::Extreme { at, .. } => {
                self.store(&nest.extents[..parallel], nest.target, at)
            }
            Write::Add { at, checks } => {
                self.access(nest, nest.target, at, checks)?;
                let added = self.written(&nest.extents, nest.target, at, checks);
                added.map_err(|message| format!("what is added to: {message}"))
            }
            Write::AddAt(index) if count(&nest.extents) > 0 => {
                let added = self.written_box(nest.target, index);
                added.map_err(|message| format!("what is added to: {message}"))
            }
            Write::AddAt(_) | Write::StoreAt(_) => Ok(()),
        }
    }

    fn store(&mut self, extents: &[usize], b: BufferId, at: &Affine) -> R<()> {
        self.may_write(b)?;
        self.conditional.changes(b);
        let numel = self.buffer(b)?.shape.numel();
        if let Some(place) = outside(at, &[], extents, numel, &mut self.fuel) {
            return Err(format!("element {place} of buffer {} is written, which has {numel}", b.0));
        }
        match runs(at, extents) {
            Some(runs) => runs.into_iter().for_each(|(lo, hi)| self.covers.add(b, lo, hi)),
            // Many places with gaps: everything between the ends is taken for written.
            None => {
                let (lo, hi) = ends(at, extents);
                self.covers.add(b, lo as i64, hi as i64 + 1);
            }
        }
        Ok(())
    }

    fn segments(&mut self, step: &SegmentStep) -> R<()> {
        self.segment_types(step)?;
        for array in step.keys.iter().chain([&step.ids]) {
            let Strided { buffer, row, column } = *array;
            if buffer == step.to {
                return Err("extremes by segment of what they are written to".to_owned());
            }
            self.may_read(buffer)?;
            let coeffs = [row, column].into_iter().map(|k| k as i64).collect();
            let at = Affine { constant: 0, coeffs };
            self.written(&[step.rows, step.columns], buffer, &at, &[])?;
        }
        self.fill(step.to)
    }

    /// Each element of the batch reads its cells of the operands; results are written whole.
    fn routine(&mut self, step: &RoutineStep) -> R<()> {
        self.routine_types(step)?;
        for operand in 0..step.routine.row().operands.len() {
            let Some(cells) = step.read(operand) else { continue };
            let own = step.results.iter().chain([&step.room]);
            if own.into_iter().any(|&b| b == cells.buffer) {
                return Err("a routine of what it writes to".to_owned());
            }
            self.may_read(cells.buffer)?;
            let dims = step.dims(operand);
            let strides = [cells.row, cells.column];
            let strides = &strides[2_usize.saturating_sub(dims.len())..];
            let extents: Vec<usize> = step.batch.iter().copied().chain(dims).collect();
            let coeffs = cells.batch.iter().chain(strides).map(|&k| k as i64).collect();
            let at = Affine { constant: 0, coeffs };
            let numel = self.buffer(cells.buffer)?.shape.numel();
            if extents.iter().all(|&k| k > 0) && ends(&at, &extents).1 >= numel as i128 {
                return Err(format!("a routine reads beyond buffer {}", cells.buffer.0));
            }
            self.written(&extents, cells.buffer, &at, &[])?;
        }
        self.fill(step.room)?;
        self.covers.forget(step.room);
        step.results.iter().try_for_each(|&to| self.fill(to))
    }

    /// A loop: its states, views and steps. `test` is what comes before each step; `runs` says
    /// whether there is a first one.
    fn repeated(
        &mut self,
        l: &Loop<Nest>,
        runs: bool,
        test: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<()> {
        self.states(l)?;
        for &(init, state, _) in &l.states {
            self.read_all(init)?;
            if init != state {
                self.fill(state)?;
            }
        }
        let locks = self.lock(l)?;
        let mark = self.covers.mark();
        let exchanged = || l.states.iter().zip(&l.exchanged).filter(|(_, e)| **e).map(|(s, _)| s.2);
        exchanged().for_each(|next| self.covers.forget(next));
        for &(whole, part) in &l.inputs {
            if runs {
                self.needs_all(whole, "stepped through")?;
            }
            self.covers.add_all(part);
        }
        l.collected.iter().for_each(|&(_, part)| self.covers.forget(part));
        let around = self.conditional.enter_loop();
        test(self)?;
        self.steps(&l.steps)?;
        self.conditional.leave(around);
        for &(part, _) in &l.outputs {
            self.read_all(part)?;
        }
        for &(_, part) in &l.collected {
            self.needs_all(part, "collected")?;
        }
        for &(_, state, next) in &l.states {
            self.needs_all(next, "the next state")?;
            self.needs_all(state, "a state")?;
        }
        for (b, lock) in locks.into_iter().rev() {
            self.locks[b.index()] = lock;
        }
        if runs {
            self.covers.keep(&mark);
            let views = l.inputs.iter().chain(&l.collected).map(|&(_, part)| part);
            views.chain(exchanged()).for_each(|b| self.covers.forget(b));
        } else {
            self.covers.undo(&mark);
        }
        let wholes = l.outputs.iter().map(|&(_, whole)| whole);
        wholes.chain(l.collected.iter().map(|&(whole, _)| whole)).try_for_each(|b| self.fill(b))
    }

    /// States have places of their own, and none is overwritten before it is needed.
    fn states(&self, l: &Loop<Nest>) -> R<()> {
        for (n, &(_, state, next)) in l.states.iter().enumerate() {
            let before = &l.states[..n];
            if before.iter().any(|s| s.1 == state) {
                return Err(format!("buffer {} is two states", state.0));
            }
            if before.iter().any(|s| s.1 == next && s.1 != s.2) {
                return Err(format!("next state {} is overwritten before it is copied", next.0));
            }
            let used = l.states.iter().filter(|s| s.2 == next).count() > 1;
            let begins = l.states.iter().any(|s| s.0 == next || s.1 == next);
            if l.exchanged.get(n) == Some(&true) && (used || begins) {
                return Err(format!("next state {} exchanges memory that others use", next.0));
            }
        }
        let wholes = || l.outputs.iter().map(|o| o.1).chain(l.collected.iter().map(|c| c.0));
        for (n, whole) in wholes().enumerate() {
            if wholes().take(n).any(|other| other == whole) {
                return Err(format!("buffer {} is collected twice", whole.0));
            }
        }
        Ok(())
    }

    /// What the steps of a loop must leave alone; gives what was so before.
    fn lock(&mut self, l: &Loop<Nest>) -> R<Vec<(BufferId, Lock)>> {
        let mut before = Vec::new();
        let mut lock = |checker: &mut Self, b: BufferId, to: Lock| {
            let now = &mut checker.locks[b.index()];
            before.push((b, *now));
            *now = (*now).max(to);
        };
        for &(whole, part) in &l.inputs {
            lock(self, whole, Lock::Unwritable);
            lock(self, part, Lock::Unwritable);
        }
        for &(part, whole) in l.outputs.iter() {
            self.may_write(whole)?;
            if part == whole {
                return Err(format!("buffer {} is a part of itself", whole.0));
            }
            lock(self, whole, Lock::Untouchable);
        }
        for &(whole, _) in &l.collected {
            self.may_write(whole)?;
            lock(self, whole, Lock::Untouchable);
        }
        // The first step reads such a state where it begins.
        for (&(init, state, _), &exchanged) in l.states.iter().zip(&l.exchanged) {
            if exchanged {
                lock(self, init, Lock::Unwritable);
                lock(self, state, Lock::Unwritable);
            }
        }
        Ok(before)
    }
}

/// The places that an index may lead to, as a form over a space of its own.
fn reached(index: &[Component]) -> (SmallVec<[usize; 4]>, Affine) {
    let at = Affine { constant: 0, coeffs: index.iter().map(|c| c.stride).collect() };
    (index.iter().map(|c| c.size).collect(), at)
}

//! Loops: states, the parts of arrays that steps read and write, and turns.

use cotan_nest::{BufferId, Loop, WhileStep};
use smallvec::SmallVec;

use super::stream::RowRange;
use super::{Run, Stop, holds};
use crate::compiled::CompiledGroup;
use crate::vm::Frame;
use crate::workspace::Workspace;

/// The element operations of the turns of a loop over scalars between looks at the limits.
#[cfg(target_arch = "x86_64")]
const TURNS: usize = 1 << 16;

impl Run<'_> {
    pub(super) fn accumulate(
        &self,
        l: &Loop<CompiledGroup>,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        if let Some(block) = l.schedule.stream {
            return self.stream(l, block, space);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(tight) = &l.schedule.tight
            && let Some(native) = &tight.whole
        {
            return self.at_once(l, native, tight.cost, &mut space.frames[0]);
        }
        let places = self.begin(l, &mut space.frames[0], RowRange::ALL)?;
        #[cfg(target_arch = "x86_64")]
        if let Some(tight) = &l.schedule.tight {
            let frame = &mut space.frames[0];
            let done = self.tight(l, tight, &places, frame);
            return self.end(l, &places, frame, RowRange::ALL, done);
        }
        let done = (0..l.length).try_for_each(|n| {
            let at = if l.reverse { l.length - 1 - n } else { n };
            point(l, at, &mut space.frames[0]);
            self.turn(l, &places, at, space)
        });
        self.end(l, &places, &mut space.frames[0], RowRange::ALL, done)
    }

    /// Takes the turns of a loop over scalars, many at a time.
    #[cfg(target_arch = "x86_64")]
    fn at_once(
        &self,
        l: &Loop<CompiledGroup>,
        native: &crate::vm::native::Native,
        cost: usize,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        for &(init, state, _) in l.states.iter().filter(|(init, state, _)| init != state) {
            self.copy(frame, init, state)?;
        }
        let turns = (TURNS / (cost + 1)).max(1);
        for first in (0..l.length).step_by(turns) {
            let end = l.length.min(first + turns);
            self.go_on(frame, (end - first).saturating_mul(cost + 1))?;
            // SAFETY: the buffers are those of the plan that the code was made for.
            unsafe { (native.entry)(frame.pointers.as_ptr(), first, end) };
        }
        Ok(())
    }

    /// Takes the turns of a loop whose steps are calls of machine code.
    #[cfg(target_arch = "x86_64")]
    fn tight(
        &self,
        l: &Loop<CompiledGroup>,
        tight: &crate::vm::native::Tight,
        places: &StatePointers,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let signed = |bytes: usize| if l.reverse { -(bytes as isize) } else { bytes as isize };
        let first = if l.reverse { l.length.saturating_sub(1) } else { 0 };
        let mut views: SmallVec<[(usize, *mut u8, isize); 8]> = SmallVec::new();
        for &(whole, part) in l.inputs.iter().chain(&l.collected) {
            let bytes = frame.sizes[part.index()];
            // SAFETY: a part for every step.
            let at = unsafe { frame.pointers[whole.index()].add(first * bytes) };
            views.push((part.index(), at, signed(bytes)));
        }
        let mut copied: SmallVec<[(usize, *mut u8, usize); 4]> = SmallVec::new();
        for &(part, whole) in &l.outputs {
            let bytes = frame.sizes[part.index()];
            // SAFETY: a part for every step.
            let to = unsafe { frame.pointers[whole.index()].add(first * bytes) };
            copied.push((part.index(), to, bytes));
        }
        let states = l.states.iter().zip(&l.exchanged).zip(places);
        let states: SmallVec<[(BufferId, BufferId, Option<StatePointer>); 4]> = states
            .map(|((&(_, state, next), &e), &memory)| (state, next, e.then_some(memory)))
            .filter(|&(state, next, memory)| memory.is_some() || state != next)
            .collect();
        for _ in 0..l.length {
            self.go_on(frame, tight.cost + super::PER_CALL)?;
            for (part, at, by) in &mut views {
                frame.pointers[*part] = *at;
                *at = at.wrapping_offset(*by);
            }
            // SAFETY: the buffers are those of the plan that the code was made for.
            tight.calls.iter().for_each(|call| unsafe { call.run(frame) });
            for (part, to, bytes) in &mut copied {
                let from = frame.pointers[*part];
                // SAFETY: parts of the same size, of different arrays.
                unsafe {
                    match *bytes {
                        8 => std::ptr::copy_nonoverlapping(from, *to, 8),
                        bytes => self.copy_bytes(frame, from, *to, bytes)?,
                    }
                }
                *to = to.wrapping_offset(signed(*bytes));
            }
            for &(state, next, memory) in &states {
                match memory {
                    Some(memory) => exchange_memory(frame, state, next, memory),
                    None => self.copy(frame, next, state)?,
                }
            }
        }
        Ok(())
    }

    /// One step of a loop, whose outputs go to part `at`.
    fn turn(
        &self,
        l: &Loop<CompiledGroup>,
        places: &StatePointers,
        at: usize,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        self.poll()?;
        self.steps(&l.steps, space)?;
        let frame = &mut space.frames[0];
        for &(part, whole) in &l.outputs {
            self.copy_rows(frame, part, whole, at, RowRange::ALL)?;
        }
        self.exchange(l, places, frame)
    }

    pub(super) fn repeat(
        &self,
        w: &WhileStep<CompiledGroup>,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        let places = self.begin(&w.body, &mut space.frames[0], RowRange::ALL)?;
        let done = self.while_it_holds(w, &places, space);
        self.end(&w.body, &places, &mut space.frames[0], RowRange::ALL, done)
    }

    fn while_it_holds(
        &self,
        w: &WhileStep<CompiledGroup>,
        places: &StatePointers,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        let mut taken = 0;
        while w.bound.is_none_or(|bound| taken < bound) {
            self.steps(&w.before, space)?;
            if !holds(&space.frames[0], w.condition) {
                break;
            }
            self.turn(&w.body, places, taken, space)?;
            taken += 1;
        }
        Ok(())
    }

    /// Begins some rows of the states of a loop; gives the memory of these. A state that exchanges
    /// its memory is read where it begins in the first step, and goes to the place from which the
    /// last step brings it to its own.
    pub(super) fn begin(
        &self,
        l: &Loop<CompiledGroup>,
        frame: &mut Frame,
        rows: RowRange,
    ) -> Result<StatePointers, Stop> {
        let states = || l.states.iter().zip(&l.exchanged);
        // A state may begin where it is.
        let copied =
            |&(s, exchanged): &(&(BufferId, BufferId, BufferId), &bool)| !exchanged && s.0 != s.1;
        for (&(init, state, _), _) in states().filter(copied) {
            let (first, bytes) = rows.bytes(frame.sizes[state.index()]);
            let [from, own] = [init, state].map(|b| frame.pointers[b.index()]);
            // SAFETY: both have the bytes of the state.
            unsafe { self.copy_bytes(frame, from.add(first), own.add(first), bytes)? };
        }
        // Only now: a run that stops above must leave every buffer where it was.
        let mut places = StatePointers::new();
        for (&(init, state, next), &exchanged) in states() {
            let [from, own, other] = [init, state, next].map(|b| frame.pointers[b.index()]);
            places.push((own, other));
            if exchanged {
                frame.pointers[state.index()] = from;
                frame.pointers[next.index()] = if l.length % 2 == 1 { own } else { other };
            }
        }
        Ok(places)
    }

    /// Copies some rows to part `at` of an array of parts.
    pub(super) fn copy_rows(
        &self,
        frame: &mut Frame,
        part: BufferId,
        whole: BufferId,
        at: usize,
        rows: RowRange,
    ) -> Result<(), Stop> {
        let size = frame.sizes[part.index()];
        let (first, bytes) = rows.bytes(size);
        let (from, to) = (frame.pointers[part.index()], frame.pointers[whole.index()]);
        // SAFETY: part `at` of an array with a part of `size` bytes for every step.
        unsafe { self.copy_bytes(frame, from.add(first), to.add(at * size + first), bytes) }
    }

    /// Makes the next states the states.
    pub(super) fn exchange(
        &self,
        l: &Loop<CompiledGroup>,
        places: &StatePointers,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let states = l.states.iter().zip(&l.exchanged).zip(places);
        for ((&(_, state, next), &exchanged), &memory) in states {
            if exchanged {
                exchange_memory(frame, state, next, memory);
            } else if state != next {
                self.copy(frame, next, state)?;
            }
        }
        Ok(())
    }

    /// Brings some rows of states that have exchanged memory with the next ones back to their own, if
    /// the loop is `done`: what they hold then; the memory in any case, as the next run needs it.
    pub(super) fn end(
        &self,
        l: &Loop<CompiledGroup>,
        places: &StatePointers,
        frame: &mut Frame,
        rows: RowRange,
        mut done: Result<(), Stop>,
    ) -> Result<(), Stop> {
        let states = l.states.iter().zip(&l.exchanged).zip(places);
        for ((&(_, state, next), &exchanged), &(own, other)) in states {
            if !exchanged {
                continue;
            }
            let last = std::mem::replace(&mut frame.pointers[state.index()], own);
            frame.pointers[next.index()] = other;
            if done.is_ok() && last != own {
                let (first, bytes) = rows.bytes(frame.sizes[state.index()]);
                // SAFETY: both have the bytes of the state, and are different buffers.
                done = unsafe { self.copy_bytes(frame, last.add(first), own.add(first), bytes) };
            }
        }
        done
    }
}

/// Makes the next state the state: it stays where it is, and the one after goes to the other memory.
fn exchange_memory(frame: &mut Frame, state: BufferId, next: BufferId, (own, other): StatePointer) {
    let made = frame.pointers[next.index()];
    frame.pointers[state.index()] = made;
    frame.pointers[next.index()] = if made == own { other } else { own };
}

/// Points the views of a loop to the parts of a step.
pub(super) fn point(l: &Loop<CompiledGroup>, at: usize, frame: &mut Frame) {
    for &(whole, part) in l.inputs.iter().chain(&l.collected) {
        let offset = at * frame.sizes[part.index()];
        // SAFETY: part `at` of an array of `length` parts.
        frame.pointers[part.index()] = unsafe { frame.pointers[whole.index()].add(offset) };
    }
}

/// The memory of a state, and of the next one.
type StatePointer = (*mut u8, *mut u8);

/// The memory of all states.
pub(super) type StatePointers = SmallVec<[StatePointer; 4]>;

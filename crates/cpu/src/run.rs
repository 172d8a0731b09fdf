//! Running a plan.

use std::ffi::OsString;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cotan_array::Array;
use cotan_ir::{Program, TermId, Type};
use cotan_nest::{BufferId, Role, Step};
use cotan_schedule::{
    Contraction, KernelInfo, Partial, Relaxed, Schedule, Target, Thresholds, Unsupported, Wedged,
    look, split,
};
use smallvec::SmallVec;

use crate::compiled::{CompiledGroup, CompiledPlan, Member, TileMachine};
use crate::contract::RunContraction;
use crate::limits::{RunLimits, Stop};
use crate::linalg;
use crate::search::arg_sort;
use crate::segment::RunSegments;
use crate::target::host;
use crate::threads;
use crate::transform::{self, Prepared};
use crate::vm::{Frame, Kernel};
use crate::workspace::Workspace;

mod bind;
mod loops;
mod partial;
mod pieces;
mod relaxed;
mod stream;

use bind::{RunArrays, fill_results, wait_for_memory};
use pieces::pieces;

/// So many multiplications of a contraction take as long as an operation on elements.
const PER_OPERATION: usize = 4;

/// What it takes to begin short kernels, in operations on elements.
const PER_CALL: usize = 64;

/// What runs loop nests. The results are the same, to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// The tile machine.
    Machine,
    /// Machine code where there is some for a nest, else the tile machine.
    Native,
}

static CHOSEN: LazyLock<Result<Option<Engine>, OsString>> =
    LazyLock::new(|| match std::env::var_os("COTAN_BACKEND") {
        None => Ok(Some(Engine::Native)),
        Some(name) => match name.to_str() {
            Some("jit") => Ok(Some(Engine::Native)),
            Some("vm") => Ok(Some(Engine::Machine)),
            Some("interp") => Ok(None),
            _ => Err(name),
        },
    });

impl Engine {
    /// What the environment variable `COTAN_BACKEND`, read once, says: `jit` (machine code, also if
    /// it is not set), `vm` (the tile machine) or `interp` (neither). Anything else is an error.
    pub fn from_environment() -> Result<Option<Engine>, OsString> {
        CHOSEN.clone()
    }

    /// The tile machine if the environment says so, else machine code.
    pub fn chosen() -> Engine {
        Engine::from_environment().ok().flatten().unwrap_or(Engine::Native)
    }
}

/// A program, ready to run any number of times, from any number of threads.
///
/// Each run takes memory that an earlier one has left, if there is any.
#[derive(Clone)]
pub struct Executable {
    pub(crate) plan: Arc<CompiledPlan>,
    pool: Arc<Mutex<Vec<Workspace>>>,
    /// The roots of unity of its transforms.
    _prepared: Arc<[Prepared]>,
    /// What every byte of memory is at the beginning of a run, in tests.
    stale: Option<u8>,
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executable").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Executable {
    /// Plans a program, which may contain `build`s, for the engine of [`Engine::chosen`].
    ///
    /// Sums are taken in a fixed order that suits the machine, the same in every run and for any
    /// number of threads.
    pub fn new(program: &Program) -> Result<Executable, Unsupported> {
        Executable::planned(program, false, Engine::chosen())
    }

    /// As [`new`](Executable::new), or [`in_order`](Executable::in_order) if so wished, run by the
    /// given engine.
    pub fn planned(
        program: &Program,
        in_order: bool,
        engine: Engine,
    ) -> Result<Executable, Unsupported> {
        Executable::of(program, in_order, host(), engine)
    }

    /// Plans a program such that sums are taken from the first element to the last: the results are
    /// those of the reference interpreter to the last bit.
    pub fn in_order(program: &Program) -> Result<Executable, Unsupported> {
        Executable::planned(program, true, Engine::chosen())
    }

    /// As [`new`](Executable::new) or [`in_order`](Executable::in_order), but with blocks of a few
    /// elements, so that small programs have many: for tests.
    #[doc(hidden)]
    pub fn in_tiny_blocks(
        program: &Program,
        in_order: bool,
        engine: Engine,
    ) -> Result<Executable, Unsupported> {
        Executable::of(program, in_order, host().with_thresholds(Thresholds::TINY), engine)
    }

    /// Lets every run begin with memory, results included, of which every byte is the given one: for
    /// tests, where what a run leaves unwritten must not pass for right.
    #[doc(hidden)]
    pub fn with_stale_memory(mut self, byte: u8) -> Executable {
        self.stale = Some(byte);
        self
    }

    /// As [`in_tiny_blocks`](Executable::in_tiny_blocks), with every threshold of the planner drawn
    /// from the seed, between those of tiny blocks and the usual ones: for tests.
    #[doc(hidden)]
    pub fn in_drawn_blocks(
        program: &Program,
        in_order: bool,
        engine: Engine,
        seed: u64,
    ) -> Result<Executable, Unsupported> {
        Executable::of(program, in_order, host().with_thresholds(Thresholds::drawn(seed)), engine)
    }

    fn of(
        program: &Program,
        in_order: bool,
        target: Target,
        engine: Engine,
    ) -> Result<Executable, Unsupported> {
        Executable::from_schedule(Schedule::of(program, in_order, &target)?, in_order, engine)
    }

    /// A schedule for [`host`](crate::host) whose buffers have their places, made ready to run.
    pub fn from_schedule(
        schedule: Schedule,
        in_order: bool,
        engine: Engine,
    ) -> Result<Executable, Unsupported> {
        let plan = schedule.compile(&mut TileMachine { in_order });
        let plan = match engine {
            Engine::Machine => plan,
            #[cfg(target_arch = "x86_64")]
            Engine::Native => crate::jit::with_machine_code(plan),
            #[cfg(not(target_arch = "x86_64"))]
            Engine::Native => plan,
        };
        look()?;
        let prepared = transform::prepare_all(&plan.steps).ok_or(Unsupported::STOPPED)?.into();
        Ok(Executable {
            plan: Arc::new(plan),
            pool: Arc::default(),
            _prepared: prepared,
            stale: None,
        })
    }

    /// The kernels as loop nests, with what they compute, how much of it, and where it comes from.
    pub fn kernels(&self, program: &Program) -> String {
        self.plan.kernels(program)
    }

    /// The kernels and other steps in their order.
    pub fn list(&self) -> Vec<KernelInfo> {
        self.plan.list()
    }

    /// The arrays in memory, step by step: which live together, and where they lie.
    pub fn memory(&self, program: &Program) -> String {
        self.plan.memory(program)
    }

    /// The largest array that a run makes, and the term of the program that it is computed for, where
    /// that is known.
    pub fn largest(&self) -> Option<(Type, Option<TermId>)> {
        self.plan.largest()
    }

    /// The bytes of memory that a run by one thread needs besides inputs and results.
    pub fn workspace_bytes(&self) -> usize {
        self.plan.arena.saturating_add(self.plan.local)
    }

    /// The bytes of memory that a run by one thread needs, with inputs and results. `program` is the
    /// one that this is the plan of.
    pub fn peak_bytes(&self, program: &Program) -> u64 {
        interface_bytes(program).saturating_add(self.workspace_bytes() as u64)
    }

    /// Runs the program on arrays of the types of its inputs.
    pub fn run(&self, inputs: &[Array], limits: &RunLimits) -> Result<Vec<Array>, Stop> {
        let mut outputs = Vec::new();
        self.run_into(inputs, &mut outputs, limits)?;
        Ok(outputs)
    }

    /// Runs the program, and leaves the results in `outputs`: written over what is there, where
    /// that is of the right type and nobody else holds it. When a run stops early, what is there
    /// then has any values.
    pub fn run_into(
        &self,
        inputs: &[Array],
        outputs: &mut Vec<Array>,
        limits: &RunLimits,
    ) -> Result<(), Stop> {
        let pooled = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = match pooled {
            Some(workspace) => workspace,
            None => {
                wait_for_memory(self.workspace_bytes(), limits)?;
                Workspace::new(&self.plan)?
            }
        };
        let mut made = RunArrays::default();
        let done = self.run_in(&mut workspace, inputs, outputs, &mut made, limits);
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
        match done {
            // SAFETY: the steps have written every element of every result.
            Ok(()) => unsafe { made.finish(&self.plan, outputs) },
            Err(_) => made.release(),
        }
        done
    }

    fn run_in(
        &self,
        workspace: &mut Workspace,
        inputs: &[Array],
        outputs: &mut [Array],
        made: &mut RunArrays,
        limits: &RunLimits,
    ) -> Result<(), Stop> {
        let plan = &*self.plan;
        made.read(plan, inputs, &mut workspace.frames[0], limits)?;
        made.write(plan, outputs, &mut workspace.frames[0], limits)?;
        if let Some(byte) = self.stale {
            workspace.fill(byte, plan);
            fill_results(plan, byte, &workspace.frames[0]);
        }
        let run = Run { plan, limits, threads: limits.threads() };
        run.poll()?;
        workspace.frames[0].has_looked();
        let done = run.steps(&plan.steps, workspace);
        // What follows is no part of the last kernel.
        limits.at(plan);
        done
    }
}

/// The bytes that the inputs and results of a program take.
fn interface_bytes(program: &Program) -> u64 {
    let inputs = program.inputs().iter().map(|input| &input.ty);
    let outputs = program.outputs().iter().map(|output| program.ty(output.term));
    let bytes = inputs.chain(outputs).map(|ty| ty.shape.bytes(ty.dtype));
    bytes.fold(0, u64::saturating_add)
}

/// Whether a condition holds that steps before have computed.
fn holds(frame: &Frame, condition: BufferId) -> bool {
    // SAFETY: a buffer of one truth value.
    unsafe { frame.pointers[condition.index()].read() != 0 }
}

/// Runs a nest for the positions of a wedge in a range of rows; gives `false` when a limit was
/// reached.
fn run_wedged(
    wedged: &Wedged<Kernel>,
    frame: &mut Frame,
    rows: Range<usize>,
    limits: &RunLimits,
) -> bool {
    let kernel = wedged.for_rows(&rows);
    if wedged.zeroed > 0 {
        let target = frame.pointers[kernel.nest.target.index()];
        // SAFETY: the target has so many bytes.
        unsafe { std::ptr::write_bytes(target, 0, wedged.zeroed) };
    }
    kernel.run(frame, rows, limits)
}

/// One run of a plan.
struct Run<'a> {
    plan: &'a CompiledPlan,
    limits: &'a RunLimits,
    threads: usize,
}

/// Where the arena begins, for every thread.
struct ArenaStart(*mut u8);

// SAFETY: threads write to different places of it.
unsafe impl Sync for ArenaStart {}

impl ArenaStart {
    fn start(&self) -> *mut u8 {
        self.0
    }
}

/// The frames of threads, each of which has one for itself.
struct Frames(*mut Frame);

// SAFETY: a thread uses the frame of its own number only.
unsafe impl Sync for Frames {}

impl Frames {
    /// # Safety
    /// There is a frame of that number, and no other thread asks for it.
    #[allow(clippy::mut_from_ref, reason = "each thread has its own")]
    unsafe fn get(&self, thread: usize) -> &mut Frame {
        // SAFETY: by the contract.
        unsafe { &mut *self.0.add(thread) }
    }
}

impl Run<'_> {
    fn steps(&self, steps: &[Step<CompiledGroup>], space: &mut Workspace) -> Result<(), Stop> {
        steps.iter().try_for_each(|step| self.step(step, space))
    }

    fn poll(&self) -> Result<(), Stop> {
        if self.limits.reached() { Err(Stop::Limit) } else { Ok(()) }
    }

    /// Notes work that is about to be done, and stops at a limit.
    fn go_on(&self, frame: &mut Frame, work: usize) -> Result<(), Stop> {
        if frame.go_on(work, self.limits) { Ok(()) } else { Err(Stop::Limit) }
    }

    /// Copies as many bytes as both have.
    fn copy(&self, frame: &mut Frame, from: BufferId, to: BufferId) -> Result<(), Stop> {
        let (from, to) = (from.index(), to.index());
        let bytes = frame.sizes[from].min(frame.sizes[to]);
        let (from, to) = (frame.pointers[from], frame.pointers[to]);
        // SAFETY: both buffers have so many bytes.
        unsafe { self.copy_bytes(frame, from, to, bytes) }
    }

    /// # Safety
    /// There are so many bytes at both places, which are the same or apart.
    unsafe fn copy_bytes(
        &self,
        frame: &mut Frame,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) -> Result<(), Stop> {
        pieces(bytes).try_for_each(|(start, count)| {
            self.go_on(frame, count)?;
            // SAFETY: by the contract.
            unsafe { std::ptr::copy(from.add(start), to.add(start), count) };
            Ok(())
        })
    }

    fn step(&self, step: &Step<CompiledGroup>, space: &mut Workspace) -> Result<(), Stop> {
        let buffers = &self.plan.buffers;
        let frame = &mut space.frames[0];
        match step {
            Step::Compute(group) if !group.members.is_empty() => {
                self.limits.at(&raw const group.members[0])
            }
            _ => self.limits.at(step),
        }
        match step {
            Step::Compute(group) => return self.group(group, space),
            Step::Scalars(scalars) => {
                self.go_on(frame, scalars.work())?;
                scalars.run(frame);
            }
            Step::Contract(contraction) => return self.contract(contraction, space),
            Step::Zero(b) => {
                let (to, bytes) = (frame.pointers[b.index()], frame.sizes[b.index()]);
                for (start, count) in pieces(bytes) {
                    self.go_on(frame, count)?;
                    // SAFETY: bytes of the buffer.
                    unsafe { std::ptr::write_bytes(to.add(start), 0, count) };
                }
            }
            Step::Copy { from, to } => self.copy(frame, *from, *to)?,
            Step::ArgSort { from, to, room } => {
                let source = &buffers[from.index()];
                let sizes = split(&source.shape);
                let [from, to, room] = [from, to, room].map(|b| frame.pointers[b.index()]);
                let go_on = &mut |work: usize| frame.go_on(work, self.limits);
                // SAFETY: the buffers have the shapes that the plan says.
                let done =
                    unsafe { arg_sort(source.dtype, from, (to.cast(), room.cast()), sizes, go_on) };
                if !done {
                    return Err(Stop::Limit);
                }
            }
            Step::SegmentArg(step) => {
                let keys = step.keys.unwrap_or(step.ids);
                let [to, ids, keys] =
                    [step.to, step.ids.buffer, keys.buffer].map(|b| frame.pointers[b.index()]);
                let go_on = &mut |work: usize| frame.go_on(work, self.limits);
                // SAFETY: the buffers have the shapes that the plan says.
                if !unsafe { step.run(to.cast(), ids.cast(), keys, go_on) } {
                    return Err(Stop::Limit);
                }
            }
            Step::Routine(step) => {
                let at = |b: BufferId| frame.pointers[b.index()];
                let places = linalg::RoutinePointers {
                    operands: step.operands.iter().map(|cells| at(cells.buffer)).collect(),
                    results: step.results.iter().map(|&b| at(b)).collect(),
                    room: at(step.room),
                };
                let go_on = &mut |work: usize| frame.go_on(work, self.limits);
                // SAFETY: the buffers have the shapes that the plan says.
                let done = unsafe {
                    match transform::is_transform(step.routine) {
                        true => transform::run(step, &places, go_on),
                        false => linalg::run(step, &places, go_on),
                    }
                };
                if !done {
                    return Err(Stop::Limit);
                }
            }
            Step::Loop(l) => return self.accumulate(l, space),
            Step::While(w) => return self.repeat(w, space),
            Step::If(branches) => {
                let taken = match holds(frame, branches.condition) {
                    true => &branches.then,
                    false => &branches.otherwise,
                };
                return self.steps(taken, space);
            }
        }
        Ok(())
    }

    /// Runs a contraction, on several threads if that pays.
    fn contract(
        &self,
        contraction: &Contraction<Kernel>,
        space: &mut Workspace,
    ) -> Result<(), Stop> {
        // Many that take less than what it looks after, too.
        let work = contraction.work() / PER_OPERATION;
        self.go_on(&mut space.frames[0], work.saturating_add(PER_CALL))?;
        let pieces = contraction.pieces(self.threads);
        let alone = pieces == 1 || self.threads == 1 || work < self.plan.shared;
        let done = if alone {
            contraction.run(&mut space.frames[0], self.limits)
        } else {
            let threads = space.grow(self.threads.min(pieces), self.plan);
            contraction.run_shared(&mut space.frames[..threads], self.limits)
        };
        if done { Ok(()) } else { Err(Stop::Limit) }
    }

    /// Runs the nests of a group for all blocks.
    fn group(&self, group: &CompiledGroup, space: &mut Workspace) -> Result<(), Stop> {
        #[cfg(target_arch = "x86_64")]
        if !group.calls.is_empty() {
            let frame = &mut space.frames[0];
            self.go_on(frame, group.cost.saturating_mul(group.extent).saturating_add(PER_CALL))?;
            // SAFETY: the buffers are those of the plan that the code was made for.
            group.calls.iter().for_each(|call| unsafe { call.run(frame) });
            return Ok(());
        }
        let relaxed = self.relaxed(group, &mut space.frames[0])?;
        if group.block >= group.extent && group.partials.is_empty() {
            return self.block(group, relaxed, 0, &mut space.frames[0]);
        }
        let chunks = group.chunks();
        let cost = group.cost.saturating_mul(group.extent);
        let alone = group.serial || chunks == 1 || self.threads == 1 || cost < self.plan.shared;
        if alone {
            for chunk in 0..chunks {
                self.chunk(group, relaxed, chunk, space.arena.start(), &mut space.frames[0])?;
            }
        } else {
            let threads = space.grow(self.threads.min(chunks), self.plan);
            let (first, others) = space.frames.split_at_mut(1);
            for frame in others {
                for b in &group.buffers {
                    frame.pointers[b.index()] = first[0].pointers[b.index()];
                }
            }
            let arena = ArenaStart(space.arena.start());
            let frames = Frames(space.frames.as_mut_ptr());
            let stopped = AtomicBool::new(false);
            let done = threads::share(threads, chunks, &|thread, chunk| {
                // SAFETY: threads have different numbers below that of the frames.
                let frame = unsafe { frames.get(thread) };
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if self.chunk(group, relaxed, chunk, arena.start(), frame).is_err() {
                    stopped.store(true, Ordering::Relaxed);
                }
            });
            if stopped.into_inner() {
                return Err(Stop::Limit);
            }
            // A kernel does not panic; if one did, its results must not pass for right.
            assert!(done, "a kernel has panicked");
        }
        let arena = space.arena.start();
        group
            .partials
            .iter()
            .try_for_each(|partial| self.add_parts(partial, chunks, arena, &mut space.frames[0]))
    }

    /// Runs the nests of a group for the blocks of a chunk. What the first of them sums is a part
    /// of the whole sum, and what others do is added to it.
    fn chunk(
        &self,
        group: &CompiledGroup,
        relaxed: Option<&Relaxed<Kernel>>,
        chunk: usize,
        arena: *mut u8,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let first = chunk * group.per_chunk;
        let parts: SmallVec<[(&Partial, *mut u8); 4]> = group
            .partials
            .iter()
            .filter_map(|partial| Some((partial, self.part(partial, chunk, arena)?)))
            .collect();
        for block in first..group.blocks().min(first + group.per_chunk) {
            for &(partial, part) in &parts {
                frame.pointers[partial.parts.index()] =
                    if block == first { part } else { frame.local().wrapping_add(partial.local) };
            }
            self.block(group, relaxed, block, frame)?;
            if block > first {
                for &(partial, part) in &parts {
                    let sum = frame.local().wrapping_add(partial.local);
                    // SAFETY: both have the elements of a part.
                    unsafe { self.add(frame, partial, part, sum)? };
                }
            }
        }
        Ok(())
    }

    /// Runs the nests of a group for one block.
    fn block(
        &self,
        group: &CompiledGroup,
        relaxed: Option<&Relaxed<Kernel>>,
        block: usize,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        let range = block * group.block..group.extent.min((block + 1) * group.block);
        for local in &group.locals {
            let Role::Local(offset) = self.plan.buffers[local.buffer.index()].role else {
                continue;
            };
            // The first element would lie before the memory if this is not the first block.
            let start = frame.local().wrapping_add(offset);
            frame.pointers[local.buffer.index()] =
                start.wrapping_sub(range.start.wrapping_mul(local.stride));
        }
        self.go_on(frame, group.cost.saturating_mul(range.len()))?;
        self.members(group, relaxed, range, frame)
    }

    /// Runs the nests of a group for a range of its positions.
    fn members(
        &self,
        group: &CompiledGroup,
        relaxed: Option<&Relaxed<Kernel>>,
        range: Range<usize>,
        frame: &mut Frame,
    ) -> Result<(), Stop> {
        for (n, member) in group.members.iter().enumerate() {
            self.limits.at(member);
            let other = relaxed.and_then(|relaxed| relaxed.members[n].as_ref());
            let done = match other.unwrap_or(member) {
                Member::Nest(kernel) => kernel.run(frame, range.clone(), self.limits),
                Member::Wedged(wedged) => run_wedged(wedged, frame, range.clone(), self.limits),
                Member::Contraction(contraction) => {
                    contraction.run_range(frame, range.clone(), self.limits)
                }
            };
            if !done {
                return Err(Stop::Limit);
            }
        }
        Ok(())
    }
}

//! Running a plan.

use std::sync::Arc;
use std::time::Instant;

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_ir::{CancelToken, Extreme, Program};

use crate::lower::{Unsupported, lower};
use crate::nest::BufferId;
use crate::plan::{Loop, Plan, Role, Step, WhileStep};
use crate::search::{arg_extreme, arg_sort};
use crate::vm::Frame;

/// When a run has to end before it is done.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Asks for an end from another thread.
    pub cancel: CancelToken,
}

impl RunLimits {
    pub(crate) fn reached(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// Why a run gave no results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A limit of [`RunLimits`] was reached.
    Limit,
    /// An input is not of the type that the program says.
    Input(usize),
    /// There is not enough memory.
    Memory,
}

/// A program, ready to run any number of times, from any number of threads.
#[derive(Clone, Debug)]
pub struct Executable {
    plan: Arc<Plan>,
}

/// Room for temporaries and results, aligned as kernels like it.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// The elements of a result while it is made.
enum Room {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
}

impl Room {
    fn new(dtype: Dtype, n: usize) -> Option<Room> {
        fn zeros<T: Element>(n: usize) -> Option<Vec<T>> {
            let mut room = Vec::new();
            room.try_reserve_exact(n).ok()?;
            room.resize(n, T::default());
            Some(room)
        }
        Some(match dtype {
            Dtype::F64 => Room::F64(zeros(n)?),
            Dtype::F32 => Room::F32(zeros(n)?),
            Dtype::I64 => Room::I64(zeros(n)?),
            Dtype::Bool => Room::Bool(zeros(n)?),
        })
    }

    fn pointer(&mut self) -> *mut u8 {
        match self {
            Room::F64(v) => v.as_mut_ptr().cast(),
            Room::F32(v) => v.as_mut_ptr().cast(),
            Room::I64(v) => v.as_mut_ptr().cast(),
            Room::Bool(v) => v.as_mut_ptr().cast(),
        }
    }

    fn finish(self, shape: Shape) -> Array {
        match self {
            Room::F64(v) => f64::wrap(shape, v),
            Room::F32(v) => f32::wrap(shape, v),
            Room::I64(v) => i64::wrap(shape, v),
            Room::Bool(v) => bool::wrap(shape, v),
        }
    }
}

/// The first byte of an array whose elements lie in row-major order.
fn bytes_of(array: &Array) -> Option<*const u8> {
    match array.dtype() {
        Dtype::F64 => array.as_slice::<f64>().map(|s| s.as_ptr().cast()),
        Dtype::F32 => array.as_slice::<f32>().map(|s| s.as_ptr().cast()),
        Dtype::I64 => array.as_slice::<i64>().map(|s| s.as_ptr().cast()),
        Dtype::Bool => array.as_slice::<bool>().map(|s| s.as_ptr().cast()),
    }
}

impl Executable {
    /// Plans a program. It may contain `build`s.
    ///
    /// Sums are taken in a fixed order that suits the machine, the same in every run.
    pub fn new(program: &Program) -> Result<Executable, Unsupported> {
        Ok(Executable { plan: Arc::new(lower(program, false)?) })
    }

    /// Plans a program such that sums are taken from the first element to the last: the results are
    /// those of the reference interpreter to the last bit.
    pub fn in_order(program: &Program) -> Result<Executable, Unsupported> {
        Ok(Executable { plan: Arc::new(lower(program, true)?) })
    }

    /// The bytes of memory that a run needs besides inputs and results.
    pub fn workspace_bytes(&self) -> usize {
        self.plan.arena
    }

    /// Runs the program on arrays of the types of its inputs.
    pub fn run(&self, inputs: &[Array], limits: &RunLimits) -> Result<Vec<Array>, Stop> {
        let plan = &*self.plan;
        let inputs: Vec<Array> = inputs
            .iter()
            .map(|a| a.contiguous())
            .collect::<Result<_, _>>()
            .map_err(|_| Stop::Memory)?;
        let lines = plan.arena.div_ceil(64);
        let mut arena: Vec<Line> = Vec::new();
        arena.try_reserve_exact(lines).map_err(|_| Stop::Memory)?;
        arena.resize(lines, Line([0; 64]));
        let base: *mut u8 = arena.as_mut_ptr().cast();
        let mut rooms: Vec<Room> = Vec::with_capacity(plan.outputs.len());
        for b in &plan.outputs {
            let buffer = &plan.buffers[b.index()];
            rooms.push(Room::new(buffer.dtype, buffer.shape.numel()).ok_or(Stop::Memory)?);
        }
        let mut constants: Vec<Array> = Vec::new();
        let mut pointers: Vec<*mut u8> = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            pointers.push(match &buffer.role {
                Role::Input(k) => {
                    let array = inputs.get(*k).ok_or(Stop::Input(*k))?;
                    if array.dtype() != buffer.dtype || *array.shape() != buffer.shape {
                        return Err(Stop::Input(*k));
                    }
                    bytes_of(array).ok_or(Stop::Memory)?.cast_mut()
                }
                Role::Constant(array) => match bytes_of(array) {
                    Some(bytes) => bytes.cast_mut(),
                    None => {
                        let copy = array.contiguous().map_err(|_| Stop::Memory)?;
                        let bytes = bytes_of(&copy).ok_or(Stop::Memory)?.cast_mut();
                        constants.push(copy);
                        bytes
                    }
                },
                // SAFETY: the plan's offsets lie within the arena.
                Role::Temporary(offset) => unsafe { base.add(*offset) },
                Role::Output(k) => match rooms.get_mut(*k) {
                    Some(room) => room.pointer(),
                    None => return Err(Stop::Memory),
                },
                Role::View => std::ptr::null_mut(),
            });
        }
        let sizes = plan.buffers.iter().map(|b| b.bytes()).collect();
        let mut frame = Frame::new(pointers, sizes);
        let run = Run { plan, limits };
        run.steps(&plan.steps, &mut frame)?;
        let shapes = plan.outputs.iter().map(|b| plan.buffers[b.index()].shape.clone());
        Ok(rooms.into_iter().zip(shapes).map(|(room, shape)| room.finish(shape)).collect())
    }
}

fn copy(frame: &Frame, from: BufferId, to: BufferId) {
    let (a, b) = (from.index(), to.index());
    let n = frame.sizes[a].min(frame.sizes[b]);
    // SAFETY: both buffers have `n` bytes.
    unsafe { std::ptr::copy(frame.pointers[a], frame.pointers[b], n) };
}

fn split(shape: &Shape) -> (usize, usize) {
    let outer = shape.dims().first().copied().unwrap_or(0);
    (outer, shape.dims().iter().skip(1).product())
}

/// One run of a plan.
struct Run<'a> {
    plan: &'a Plan,
    limits: &'a RunLimits,
}

impl Run<'_> {
    fn steps(&self, steps: &[Step], frame: &mut Frame) -> Result<(), Stop> {
        steps.iter().try_for_each(|step| self.step(step, frame))
    }

    fn poll(&self) -> Result<(), Stop> {
        if self.limits.reached() { Err(Stop::Limit) } else { Ok(()) }
    }

    fn step(&self, step: &Step, frame: &mut Frame) -> Result<(), Stop> {
        let buffers = &self.plan.buffers;
        match step {
            Step::Nest(kernel) => {
                let range = 0..kernel.positions();
                return if kernel.run(frame, range, self.limits) {
                    Ok(())
                } else {
                    Err(Stop::Limit)
                };
            }
            Step::Zero(b) => {
                let k = b.index();
                // SAFETY: all bytes of the buffer.
                unsafe { std::ptr::write_bytes(frame.pointers[k], 0, frame.sizes[k]) };
            }
            Step::Copy { from, to } => copy(frame, *from, *to),
            Step::ArgExtreme { extreme, from, to } => {
                self.poll()?;
                let source = &buffers[from.index()];
                let (outer, inner) = split(&source.shape);
                let (from, to) = (frame.pointers[from.index()], frame.pointers[to.index()]);
                let largest = *extreme == Extreme::Max;
                // SAFETY: the buffers have the shapes that the plan says.
                unsafe { arg_extreme(source.dtype, largest, from, to.cast(), outer, inner) };
            }
            Step::ArgSort { from, to } => {
                self.poll()?;
                let source = &buffers[from.index()];
                let (outer, inner) = split(&source.shape);
                let (from, to) = (frame.pointers[from.index()], frame.pointers[to.index()]);
                // SAFETY: the buffers have the shapes that the plan says.
                unsafe { arg_sort(source.dtype, from, to.cast(), outer, inner) };
            }
            Step::Loop(l) => return self.accumulate(l, frame),
            Step::While(w) => return self.repeat(w, frame),
        }
        Ok(())
    }

    fn accumulate(&self, l: &Loop, frame: &mut Frame) -> Result<(), Stop> {
        for &(init, state, _) in &l.states {
            copy(frame, init, state);
        }
        for n in 0..l.length {
            let at = if l.reverse { l.length - 1 - n } else { n };
            for &(whole, part) in &l.inputs {
                let offset = at * frame.sizes[part.index()];
                // SAFETY: part `at` of an array of `length` parts.
                frame.pointers[part.index()] = unsafe { frame.pointers[whole.index()].add(offset) };
            }
            self.turn(l, at, frame)?;
        }
        Ok(())
    }

    /// One step of a loop, whose outputs go to part `at`.
    fn turn(&self, l: &Loop, at: usize, frame: &mut Frame) -> Result<(), Stop> {
        self.poll()?;
        self.steps(&l.steps, frame)?;
        for &(part, whole) in &l.outputs {
            let size = frame.sizes[part.index()];
            // SAFETY: part `at` of an array with a part of `size` bytes for every step.
            unsafe {
                let to = frame.pointers[whole.index()].add(at * size);
                std::ptr::copy(frame.pointers[part.index()], to, size);
            }
        }
        for &(_, state, next) in &l.states {
            copy(frame, next, state);
        }
        Ok(())
    }

    fn repeat(&self, w: &WhileStep, frame: &mut Frame) -> Result<(), Stop> {
        for &(init, state, _) in &w.body.states {
            copy(frame, init, state);
        }
        let mut taken = 0;
        while w.bound.is_none_or(|bound| taken < bound) {
            self.steps(&w.before, frame)?;
            // SAFETY: a buffer of one truth value, which the steps before have filled.
            let holds = unsafe { frame.pointers[w.condition.index()].read() } != 0;
            if !holds {
                break;
            }
            self.turn(&w.body, taken, frame)?;
            taken += 1;
        }
        Ok(())
    }
}

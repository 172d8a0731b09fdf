//! Running a plan.

use std::sync::Arc;

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_ir::{Extreme, Program};

use crate::lower::{Unsupported, lower};
use crate::nest::BufferId;
use crate::plan::{Loop, Plan, Role, Step};
use crate::search::{arg_extreme, arg_sort};
use crate::vm::Frame;

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
    fn new(dtype: Dtype, n: usize) -> Room {
        match dtype {
            Dtype::F64 => Room::F64(vec![0.0; n]),
            Dtype::F32 => Room::F32(vec![0.0; n]),
            Dtype::I64 => Room::I64(vec![0; n]),
            Dtype::Bool => Room::Bool(vec![false; n]),
        }
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
    pub fn new(program: &Program) -> Result<Executable, Unsupported> {
        Ok(Executable { plan: Arc::new(lower(program)?) })
    }

    /// The bytes of memory that a run needs besides inputs and results.
    pub fn workspace_bytes(&self) -> usize {
        self.plan.arena
    }

    /// Runs the program on arrays of the types of its inputs, which the caller has checked.
    ///
    /// Gives `None` when an array is of another type or there is no memory.
    pub fn run(&self, inputs: &[Array]) -> Option<Vec<Array>> {
        let plan = &*self.plan;
        let inputs: Vec<Array> =
            inputs.iter().map(|a| a.contiguous()).collect::<Result<_, _>>().ok()?;
        let lines = plan.arena.div_ceil(64);
        let mut arena: Vec<Line> = Vec::new();
        arena.try_reserve_exact(lines).ok()?;
        arena.resize(lines, Line([0; 64]));
        let base: *mut u8 = arena.as_mut_ptr().cast();
        let mut rooms: Vec<Room> = plan
            .outputs
            .iter()
            .map(|b| {
                let buffer = &plan.buffers[b.index()];
                Room::new(buffer.dtype, buffer.shape.numel())
            })
            .collect();
        let mut constants: Vec<Array> = Vec::new();
        let mut pointers: Vec<*mut u8> = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            pointers.push(match &buffer.role {
                Role::Input(k) => {
                    let array = inputs.get(*k)?;
                    if array.dtype() != buffer.dtype || *array.shape() != buffer.shape {
                        return None;
                    }
                    bytes_of(array)?.cast_mut()
                }
                Role::Constant(array) => match bytes_of(array) {
                    Some(bytes) => bytes.cast_mut(),
                    None => {
                        let copy = array.contiguous().ok()?;
                        let bytes = bytes_of(&copy)?.cast_mut();
                        constants.push(copy);
                        bytes
                    }
                },
                // SAFETY: the plan's offsets lie within the arena.
                Role::Temporary(offset) => unsafe { base.add(*offset) },
                Role::Output(k) => rooms.get_mut(*k)?.pointer(),
                Role::View => std::ptr::null_mut(),
            });
        }
        let sizes = plan.buffers.iter().map(|b| b.bytes()).collect();
        let mut frame = Frame::new(pointers, sizes);
        plan.steps.iter().for_each(|step| run_step(plan, step, &mut frame));
        let shapes = plan.outputs.iter().map(|b| plan.buffers[b.index()].shape.clone());
        Some(rooms.into_iter().zip(shapes).map(|(room, shape)| room.finish(shape)).collect())
    }
}

fn copy(frame: &Frame, from: BufferId, to: BufferId) {
    let (a, b) = (from.index(), to.index());
    let n = frame.sizes[a].min(frame.sizes[b]);
    // SAFETY: both buffers have `n` bytes.
    unsafe { std::ptr::copy(frame.pointers[a], frame.pointers[b], n) };
}

fn run_step(plan: &Plan, step: &Step, frame: &mut Frame) {
    match step {
        Step::Nest(kernel) => kernel.run(frame),
        Step::Zero(b) => {
            // SAFETY: all bytes of the buffer.
            unsafe { std::ptr::write_bytes(frame.pointers[b.index()], 0, frame.sizes[b.index()]) };
        }
        Step::Copy { from, to } => copy(frame, *from, *to),
        Step::ArgExtreme { extreme, from, to } => {
            let source = &plan.buffers[from.index()];
            let (outer, inner) = split(&source.shape);
            let (from, to) = (frame.pointers[from.index()], frame.pointers[to.index()]);
            let largest = *extreme == Extreme::Max;
            // SAFETY: the buffers have the shapes that the plan says.
            unsafe { arg_extreme(source.dtype, largest, from, to.cast(), outer, inner) };
        }
        Step::ArgSort { from, to } => {
            let source = &plan.buffers[from.index()];
            let (outer, inner) = split(&source.shape);
            let (from, to) = (frame.pointers[from.index()], frame.pointers[to.index()]);
            // SAFETY: the buffers have the shapes that the plan says.
            unsafe { arg_sort(source.dtype, from, to.cast(), outer, inner) };
        }
        Step::Loop(l) => run_loop(plan, l, frame),
    }
}

fn split(shape: &Shape) -> (usize, usize) {
    let outer = shape.dims().first().copied().unwrap_or(0);
    (outer, shape.dims().iter().skip(1).product())
}

fn run_loop(plan: &Plan, l: &Loop, frame: &mut Frame) {
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
        l.steps.iter().for_each(|step| run_step(plan, step, frame));
        for &(part, whole) in &l.outputs {
            let size = frame.sizes[part.index()];
            // SAFETY: part `at` of an array of `length` parts of `size` bytes.
            unsafe {
                let to = frame.pointers[whole.index()].add(at * size);
                std::ptr::copy(frame.pointers[part.index()], to, size);
            }
        }
        move_states(l, frame);
    }
}

/// The next states become the states, all at once: one may be made of the place of another.
fn move_states(l: &Loop, frame: &Frame) {
    let overlaps = l.states.iter().any(|&(_, _, next)| {
        l.states.iter().any(|&(_, state, other)| state == next && other != next)
    });
    if !overlaps {
        for &(_, state, next) in &l.states {
            copy(frame, next, state);
        }
        return;
    }
    let copies: Vec<Vec<u8>> = l
        .states
        .iter()
        .map(|&(_, _, next)| {
            // SAFETY: all bytes of the buffer, which the step has filled.
            unsafe {
                let k = next.index();
                std::slice::from_raw_parts(frame.pointers[k], frame.sizes[k]).to_vec()
            }
        })
        .collect();
    for (&(_, state, _), bytes) in l.states.iter().zip(&copies) {
        let k = state.index();
        let n = frame.sizes[k].min(bytes.len());
        // SAFETY: both have `n` bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), frame.pointers[k], n) };
    }
}

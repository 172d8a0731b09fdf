//! The plan of a program: its buffers, the steps that fill them, and where they lie in memory.

use std::sync::Arc;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::Extreme;

use crate::nest::{BufferId, Instr, Nest};
use crate::vm::Kernel;

/// What a buffer is.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// The input at a position.
    Input(usize),
    /// A constant.
    Constant(Arc<Array>),
    /// Memory of the run, at an offset.
    Temporary(usize),
    /// The result at a position.
    Output(usize),
    /// A part of another buffer, which a loop points it to.
    View,
}

/// A buffer.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub dtype: Dtype,
    pub shape: Shape,
    pub role: Role,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> usize {
        self.shape.numel() * self.dtype.size()
    }
}

/// A loop with states.
#[derive(Debug)]
pub(crate) struct Loop {
    pub length: usize,
    pub reverse: bool,
    /// Where each state begins, where it is during a step, and where the step puts the next: never
    /// at the place of another state that is overwritten.
    pub states: Vec<(BufferId, BufferId, BufferId)>,
    /// Arrays that are stepped through, and the views of their parts.
    pub inputs: Vec<(BufferId, BufferId)>,
    /// What the step gives, and the arrays that collect it.
    pub outputs: Vec<(BufferId, BufferId)>,
    pub steps: Vec<Step>,
}

/// A loop as long as a condition holds.
#[derive(Debug)]
pub(crate) struct WhileStep {
    pub bound: Option<usize>,
    /// What the condition needs.
    pub before: Vec<Step>,
    pub condition: BufferId,
    /// States, outputs and the step; its length is that of the run.
    pub body: Loop,
}

/// One step of a plan.
#[derive(Debug)]
pub(crate) enum Step {
    /// A loop nest.
    Nest(Box<Kernel>),
    /// Zeros.
    Zero(BufferId),
    /// A copy of a whole buffer.
    Copy { from: BufferId, to: BufferId },
    /// Positions of extreme elements along the outermost axis.
    ArgExtreme { extreme: Extreme, from: BufferId, to: BufferId },
    /// The permutation that sorts along the outermost axis.
    ArgSort { from: BufferId, to: BufferId },
    /// A loop with states.
    Loop(Box<Loop>),
    /// A loop as long as a condition holds.
    While(Box<WhileStep>),
}

impl Step {
    /// The buffers that a step touches.
    pub(crate) fn for_each_buffer(&self, f: &mut impl FnMut(BufferId)) {
        match self {
            Step::Nest(kernel) => nest_buffers(&kernel.nest, f),
            Step::Zero(b) => f(*b),
            Step::Copy { from, to }
            | Step::ArgExtreme { from, to, .. }
            | Step::ArgSort { from, to } => {
                f(*from);
                f(*to);
            }
            Step::Loop(l) => loop_buffers(l, f),
            Step::While(w) => {
                f(w.condition);
                w.before.iter().for_each(|step| step.for_each_buffer(f));
                loop_buffers(&w.body, f);
            }
        }
    }
}

fn loop_buffers(l: &Loop, f: &mut impl FnMut(BufferId)) {
    for &(init, state, next) in &l.states {
        [init, state, next].into_iter().for_each(&mut *f);
    }
    for &(whole, part) in l.inputs.iter().chain(&l.outputs) {
        f(whole);
        f(part);
    }
    l.steps.iter().for_each(|step| step.for_each_buffer(f));
}

fn nest_buffers(nest: &Nest, f: &mut impl FnMut(BufferId)) {
    f(nest.target);
    for instr in &nest.instrs {
        match instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => f(*buffer),
            Instr::Const(_) | Instr::Affine(_) => {}
            Instr::Op(..) | Instr::MulAdd { .. } => {}
        }
    }
}

/// A program, planned.
#[derive(Debug)]
pub(crate) struct Plan {
    pub buffers: Vec<Buffer>,
    pub steps: Vec<Step>,
    /// The buffers of the results.
    pub outputs: Vec<BufferId>,
    /// The bytes of all temporaries together.
    pub arena: usize,
}

//! The plan of a program: its buffers, the steps that fill them, and where they lie in memory.

use std::sync::Arc;

use cotan_array::{Array, Dtype, Shape};

use crate::contract::Draft;
use crate::group::Group;
use crate::nest::{BufferId, Instr, Nest};
use crate::segment::SegmentStep;
use crate::vm::Scalars;

/// What a buffer is.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// The input at a position.
    Input(usize),
    /// A constant.
    Constant(Arc<Array>),
    /// Memory of the run, at an offset.
    Temporary(usize),
    /// Memory of a thread for the block of a group at hand, at an offset.
    Local(usize),
    /// A result.
    Output,
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

/// What computes elements: a nest, or a group of them.
pub(crate) trait Compute {
    /// A contraction of its own step.
    type Contract: Contract;

    /// The buffers that it touches, those that it writes first.
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId));
}

/// A contraction: a draft, or one that is ready to run.
pub(crate) trait Contract: std::fmt::Debug {
    /// The buffers that it touches, the one that it fills first.
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId));
}

/// A loop with states.
#[derive(Debug)]
pub(crate) struct Loop<C: Compute> {
    pub length: usize,
    pub reverse: bool,
    /// Where each state begins, where it is during a step, and where the step puts the next: never
    /// at the place of another state that is overwritten.
    pub states: Vec<(BufferId, BufferId, BufferId)>,
    /// Of each state, whether the next becomes the state by exchanging their memory, and the first
    /// step reads it where it begins: when a step makes the next anew, and nothing else is put
    /// there.
    pub exchanged: Vec<bool>,
    /// Arrays that are stepped through, and the views of their parts.
    pub inputs: Vec<(BufferId, BufferId)>,
    /// What the step gives, and the arrays that it is copied to.
    pub outputs: Vec<(BufferId, BufferId)>,
    /// Arrays that collect what the step gives, and the views of their parts, which it writes.
    pub collected: Vec<(BufferId, BufferId)>,
    /// If all steps are run for some rows before others: how many rows. There is one group then.
    pub stream: Option<usize>,
    pub steps: Vec<Step<C>>,
    /// The steps as calls of machine code, if they are nothing else.
    #[cfg(target_arch = "x86_64")]
    pub tight: Option<crate::jit::Tight>,
}

/// A loop as long as a condition holds.
#[derive(Debug)]
pub(crate) struct WhileStep<C: Compute> {
    pub bound: Option<usize>,
    /// What the condition needs.
    pub before: Vec<Step<C>>,
    pub condition: BufferId,
    /// States, outputs and the step; its length is that of the run.
    pub body: Loop<C>,
}

/// Steps of which one list or the other is run.
#[derive(Debug)]
pub(crate) struct Branches<C: Compute> {
    /// One truth value.
    pub condition: BufferId,
    pub then: Vec<Step<C>>,
    pub otherwise: Vec<Step<C>>,
}

/// One step of a plan.
#[derive(Debug)]
pub(crate) enum Step<C: Compute> {
    /// Loop nests.
    Compute(Box<C>),
    /// Many operations on single elements.
    Scalars(Box<Scalars>),
    /// A sum of products.
    Contract(Box<C::Contract>),
    /// Zeros.
    Zero(BufferId),
    /// A copy of a whole buffer.
    Copy { from: BufferId, to: BufferId },
    /// The permutation that sorts along the outermost axis. There is room for a few columns.
    ArgSort { from: BufferId, to: BufferId, room: BufferId },
    /// Extremes by segment.
    SegmentArg(Box<SegmentStep>),
    /// A loop with states.
    Loop(Box<Loop<C>>),
    /// A loop as long as a condition holds.
    While(Box<WhileStep<C>>),
    /// A choice.
    If(Box<Branches<C>>),
}

impl<C: Compute> Step<C> {
    /// The buffers that a step touches.
    pub(crate) fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        match self {
            Step::Compute(compute) => compute.for_each_buffer(f),
            Step::Scalars(scalars) => scalars.for_each_buffer(f),
            Step::Contract(contraction) => contraction.for_each_buffer(f),
            Step::Zero(b) => f(*b),
            Step::Copy { from, to } => [*from, *to].into_iter().for_each(f),
            Step::ArgSort { from, to, room } => [*from, *to, *room].into_iter().for_each(f),
            Step::SegmentArg(step) => step.for_each_buffer(f),
            Step::Loop(l) => l.for_each_buffer(f),
            Step::While(w) => {
                f(w.condition);
                w.before.iter().for_each(|step| step.for_each_buffer(f));
                w.body.for_each_buffer(f);
            }
            Step::If(branches) => {
                f(branches.condition);
                let steps = branches.then.iter().chain(&branches.otherwise);
                steps.for_each(|step| step.for_each_buffer(f));
            }
        }
    }
}

impl<C: Compute> Loop<C> {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        for &(init, state, next) in &self.states {
            [init, state, next].into_iter().for_each(&mut *f);
        }
        for &(whole, part) in self.inputs.iter().chain(&self.outputs).chain(&self.collected) {
            f(whole);
            f(part);
        }
        self.steps.iter().for_each(|step| step.for_each_buffer(f));
    }
}

impl Step<Nest> {
    /// The buffers that a step touches, to change them.
    pub(crate) fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        match self {
            Step::Compute(nest) => nest.for_each_buffer_mut(f),
            Step::Scalars(scalars) => scalars.for_each_buffer_mut(f),
            Step::Contract(draft) => draft.for_each_buffer_mut(f),
            Step::Zero(b) => f(b),
            Step::Copy { from, to } => [from, to].into_iter().for_each(f),
            Step::ArgSort { from, to, room } => [from, to, room].into_iter().for_each(f),
            Step::SegmentArg(step) => step.for_each_buffer_mut(f),
            Step::Loop(l) => l.for_each_buffer_mut(f),
            Step::While(w) => {
                f(&mut w.condition);
                w.before.iter_mut().for_each(|step| step.for_each_buffer_mut(f));
                w.body.for_each_buffer_mut(f);
            }
            Step::If(branches) => {
                f(&mut branches.condition);
                let steps = branches.then.iter_mut().chain(&mut branches.otherwise);
                steps.for_each(|step| step.for_each_buffer_mut(f));
            }
        }
    }
}

impl Loop<Nest> {
    fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        let states = self.states.iter_mut().flat_map(|(init, state, next)| [init, state, next]);
        let arrays = self.inputs.iter_mut().chain(&mut self.outputs).chain(&mut self.collected);
        states.chain(arrays.flat_map(|(whole, part)| [whole, part])).for_each(f);
        self.steps.iter_mut().for_each(|step| step.for_each_buffer_mut(f));
    }
}

impl Compute for Nest {
    type Contract = Draft;

    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        f(self.target);
        self.also.iter().for_each(|also| f(also.target));
        for instr in &self.instrs {
            match instr {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => f(*buffer),
                Instr::Const(_) | Instr::Affine(_) => {}
                Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
        }
    }
}

/// A program, planned.
#[derive(Debug)]
pub(crate) struct Plan {
    pub buffers: Vec<Buffer>,
    pub steps: Vec<Step<Group>>,
    /// The buffers of the inputs that are read, with their positions.
    pub inputs: Vec<(BufferId, usize)>,
    /// The buffers of the results.
    pub outputs: Vec<BufferId>,
    /// The bytes of all temporaries together.
    pub arena: usize,
    /// The bytes that each thread needs for itself.
    pub local: usize,
    /// Groups of fewer element operations are run by one thread.
    pub shared: usize,
}

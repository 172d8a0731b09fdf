//! The plan of a program: its buffers, the steps that fill them, and where they lie in memory.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::Type;

use crate::draft::Draft;
use crate::nest::{BufferId, Nest, Touches};
use crate::packed::Packed;
use crate::routine::RoutineStep;
use crate::segment::SegmentStep;

/// What a buffer is. Offsets are 0 until the buffers are placed.
#[derive(Clone, Debug)]
pub enum Role {
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

/// A buffer. Its fields are those of the type of the array that it holds, too, which buffers share:
/// a long program has millions of them, and few types.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The type of the array.
    pub ty: Arc<Type>,
    /// What it is.
    pub role: Role,
}

impl Deref for Buffer {
    type Target = Type;

    fn deref(&self) -> &Type {
        &self.ty
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Type {
        Arc::make_mut(&mut self.ty)
    }
}

impl Buffer {
    /// A buffer of a type of its own.
    pub fn new(dtype: Dtype, shape: Shape, role: Role) -> Buffer {
        Buffer::of(Arc::new(Type::new(dtype, shape)), role)
    }

    /// A buffer of a type that others have, too.
    pub fn of(ty: Arc<Type>, role: Role) -> Buffer {
        Buffer { ty, role }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.shape.numel() * self.dtype.size()
    }
}

/// What computes elements: a nest, or what a machine makes of nests. The steps of a plan are about
/// one or the other.
pub trait Compute: Touches + std::fmt::Debug {
    /// A contraction of its own step.
    type Contract: Touches + std::fmt::Debug;

    /// Many operations on single elements.
    type Scalars: Touches + std::fmt::Debug;

    /// How a loop is run, besides what it computes.
    type LoopSchedule: Default + std::fmt::Debug;
}

impl Compute for Nest {
    type Contract = Draft;
    type Scalars = Packed;
    type LoopSchedule = ();
}

/// A loop with states.
#[derive(Debug)]
pub struct Loop<C: Compute> {
    /// How many steps there are.
    pub length: usize,
    /// Whether the last part of what is stepped through comes first.
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
    /// What is run for each step.
    pub steps: Vec<Step<C>>,
    /// How it is run.
    pub schedule: C::LoopSchedule,
}

/// A loop as long as a condition holds.
#[derive(Debug)]
pub struct WhileStep<C: Compute> {
    /// The most turns that it takes, if it is bounded.
    pub bound: Option<usize>,
    /// What the condition needs.
    pub before: Vec<Step<C>>,
    /// One truth value: whether there is another turn.
    pub condition: BufferId,
    /// States, outputs and the step; its length is that of the run.
    pub body: Loop<C>,
}

/// Steps of which one list or the other is run.
#[derive(Debug)]
pub struct Branches<C: Compute> {
    /// One truth value.
    pub condition: BufferId,
    /// What is run where it holds.
    pub then: Vec<Step<C>>,
    /// What is run where it does not.
    pub otherwise: Vec<Step<C>>,
}

/// One step of a plan.
#[derive(Debug)]
pub enum Step<C: Compute> {
    /// Loop nests.
    Compute(Box<C>),
    /// Many operations on single elements.
    Scalars(Box<C::Scalars>),
    /// A sum of products.
    Contract(Box<C::Contract>),
    /// Zeros.
    Zero(BufferId),
    /// A copy of a whole buffer.
    Copy {
        /// What is copied.
        from: BufferId,
        /// Where to.
        to: BufferId,
    },
    /// The permutation that sorts along the outermost axis. There is room for a few columns.
    ArgSort {
        /// What is sorted.
        from: BufferId,
        /// The numbers of its rows, in their order.
        to: BufferId,
        /// Memory to sort in.
        room: BufferId,
    },
    /// Extremes by segment.
    SegmentArg(Box<SegmentStep>),
    /// A numerical routine.
    Routine(Box<RoutineStep>),
    /// A loop with states.
    Loop(Box<Loop<C>>),
    /// A loop as long as a condition holds.
    While(Box<WhileStep<C>>),
    /// A choice.
    If(Box<Branches<C>>),
}

impl<C: Compute> Step<C> {
    /// The buffers that a step touches.
    pub fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        match self {
            Step::Compute(compute) => compute.for_each_buffer(f),
            Step::Scalars(scalars) => scalars.for_each_buffer(f),
            Step::Contract(contraction) => contraction.for_each_buffer(f),
            Step::Zero(b) => f(*b),
            Step::Copy { from, to } => [*from, *to].into_iter().for_each(f),
            Step::ArgSort { from, to, room } => [*from, *to, *room].into_iter().for_each(f),
            Step::SegmentArg(step) => step.for_each_buffer(f),
            Step::Routine(step) => step.for_each_buffer(f),
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
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        match self {
            Step::Compute(nest) => nest.for_each_buffer_mut(f),
            Step::Scalars(scalars) => scalars.for_each_buffer_mut(f),
            Step::Contract(draft) => draft.for_each_buffer_mut(f),
            Step::Zero(b) => f(b),
            Step::Copy { from, to } => [from, to].into_iter().for_each(f),
            Step::ArgSort { from, to, room } => [from, to, room].into_iter().for_each(f),
            Step::SegmentArg(step) => step.for_each_buffer_mut(f),
            Step::Routine(step) => step.for_each_buffer_mut(f),
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

/// A program as loop nests.
#[derive(Debug)]
pub struct Plan {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// What fills them, in this order.
    pub steps: Vec<Step<Nest>>,
    /// The buffers of the results.
    pub outputs: Vec<BufferId>,
}

//! A plan made ready for a machine: its nests in groups, its buffers at their places.

use cotan_ir::Program;
use cotan_nest::{
    Branches, Buffer, BufferId, Compute, Loop, Nest, Packed, Plan, Role, Step, WhileStep,
    check_memory, place_temporaries,
};

use crate::contract::Contraction;
use crate::group::{Group, LoopSchedule, group_nests};
use crate::lower::{Unsupported, lower};
use crate::order::LoopOrder;
use crate::target::Target;

/// A plan, scheduled, with what computes elements.
#[derive(Debug)]
pub struct Schedule<C: Compute = Group<LoopOrder>> {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// What fills them, in this order.
    pub steps: Vec<Step<C>>,
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

impl Schedule {
    /// Plans a program, schedules the plan, and places its buffers.
    pub fn of(program: &Program, in_order: bool, target: &Target) -> Result<Schedule, Unsupported> {
        let plan = lower(program, in_order, target)?;
        let mut schedule = Schedule::of_plan(plan, in_order, target)?;
        debug_assert_eq!(schedule.check(), Ok(()));
        schedule.place_buffers(target);
        debug_assert_eq!(
            check_memory(&schedule.buffers, &schedule.steps, schedule.arena)
                .map_err(|fault| fault.to_string()),
            Ok(())
        );
        Ok(schedule)
    }

    /// Schedules a plan, whose buffers have no places yet. `in_order` keeps the order of additions.
    pub fn of_plan(plan: Plan, in_order: bool, target: &Target) -> Result<Schedule, Unsupported> {
        let Plan { mut buffers, steps, outputs } = plan;
        let (steps, local) = group_nests(steps, &mut buffers, in_order, target)?;
        let input = |(n, buffer): (usize, &Buffer)| match buffer.role {
            Role::Input(k) => Some((BufferId(n as u32), k)),
            _ => None,
        };
        let inputs = buffers.iter().enumerate().filter_map(input).collect();
        let shared = target.thresholds.min_shared_operations;
        Ok(Schedule { buffers, steps, inputs, outputs, arena: 0, local, shared })
    }

    /// Gives every temporary its place in memory: those that are needed at the same time lie apart.
    pub fn place_buffers(&mut self, target: &Target) {
        self.arena = place_temporaries(&mut self.buffers, &self.steps, target.alignment);
    }

    /// The schedule with what a machine makes of it.
    pub fn compile<M: Machine>(self, machine: &mut M) -> Schedule<M::Group> {
        let Schedule { buffers, steps, inputs, outputs, arena, local, shared } = self;
        let steps = compile_steps(steps, machine);
        Schedule { buffers, steps, inputs, outputs, arena, local, shared }
    }
}

/// What a schedule is made of on a machine.
pub trait Scheduled: Compute<Contract = Contraction<Self::Kernel>> {
    /// What runs a nest.
    type Kernel: AsRef<Nest>;

    /// The group.
    fn group(&self) -> &Group<Self::Kernel>;

    /// Operations on single elements.
    fn packed(scalars: &Self::Scalars) -> &Packed;

    /// How a loop is run.
    fn loop_schedule(schedule: &Self::LoopSchedule) -> &LoopSchedule;
}

impl Scheduled for Group<LoopOrder> {
    type Kernel = LoopOrder;

    fn group(&self) -> &Group<LoopOrder> {
        self
    }

    fn packed(scalars: &Packed) -> &Packed {
        scalars
    }

    fn loop_schedule(schedule: &LoopSchedule) -> &LoopSchedule {
        schedule
    }
}

/// A machine that runs schedules: what it makes of each part of one.
pub trait Machine {
    /// What it makes of a group.
    type Group: Scheduled;

    /// What runs a nest.
    fn kernel(&mut self, order: LoopOrder) -> <Self::Group as Scheduled>::Kernel;

    /// What runs a group.
    fn group(&mut self, group: Group<<Self::Group as Scheduled>::Kernel>) -> Self::Group;

    /// What runs operations on single elements.
    fn scalars(&mut self, packed: Packed) -> <Self::Group as Compute>::Scalars;

    /// What runs a loop.
    fn repeated(&mut self, schedule: LoopSchedule) -> <Self::Group as Compute>::LoopSchedule;
}

type Steps<M> = Vec<Step<<M as Machine>::Group>>;

fn compile_steps<M: Machine>(steps: Vec<Step<Group<LoopOrder>>>, machine: &mut M) -> Steps<M> {
    let mut compiled = Vec::with_capacity(steps.len());
    for step in steps {
        compiled.push(match step {
            Step::Compute(group) => {
                let group = group.map(&mut |order| machine.kernel(order));
                Step::Compute(Box::new(machine.group(group)))
            }
            Step::Scalars(packed) => Step::Scalars(Box::new(machine.scalars(*packed))),
            Step::Contract(contraction) => {
                let contraction = contraction.map(&mut |order| machine.kernel(order));
                Step::Contract(Box::new(contraction))
            }
            Step::Zero(b) => Step::Zero(b),
            Step::Copy { from, to } => Step::Copy { from, to },
            Step::ArgSort { from, to, room } => Step::ArgSort { from, to, room },
            Step::SegmentArg(step) => Step::SegmentArg(step),
            Step::Routine(step) => Step::Routine(step),
            Step::Loop(l) => Step::Loop(Box::new(compile_loop(*l, machine))),
            Step::While(w) => {
                let WhileStep { bound, before, condition, body } = *w;
                let before = compile_steps(before, machine);
                let body = compile_loop(body, machine);
                Step::While(Box::new(WhileStep { bound, before, condition, body }))
            }
            Step::If(branches) => {
                let Branches { condition, then, otherwise } = *branches;
                let then = compile_steps(then, machine);
                let otherwise = compile_steps(otherwise, machine);
                Step::If(Box::new(Branches { condition, then, otherwise }))
            }
        });
    }
    compiled
}

fn compile_loop<M: Machine>(l: Loop<Group<LoopOrder>>, machine: &mut M) -> Loop<M::Group> {
    let Loop { length, reverse, states, exchanged, inputs, outputs, collected, .. } = l;
    let (steps, schedule) = (compile_steps(l.steps, machine), machine.repeated(l.schedule));
    Loop { length, reverse, states, exchanged, inputs, outputs, collected, steps, schedule }
}

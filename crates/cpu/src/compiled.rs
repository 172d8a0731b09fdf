//! A schedule made ready to run: every nest a kernel of the tile machine, some of them machine code.

use std::ops::{Deref, DerefMut};

use cotan_nest::{BufferId, Compute, Packed, Touches};
use cotan_schedule::{Contraction, LoopOrder, Machine, Schedule, Scheduled};

use crate::vm::{Kernel, Scalars};

/// A schedule with its kernels.
pub(crate) type CompiledPlan = Schedule<CompiledGroup>;

/// What is run for each block of a group.
pub(crate) type Member = cotan_schedule::Member<Kernel>;

/// A group with its kernels.
#[derive(Debug)]
pub(crate) struct CompiledGroup {
    schedule: cotan_schedule::Group<Kernel>,
    /// The members as calls of machine code, if they are short and that is all there is to do.
    #[cfg(target_arch = "x86_64")]
    pub calls: Vec<crate::vm::native::Call>,
}

impl Deref for CompiledGroup {
    type Target = cotan_schedule::Group<Kernel>;

    fn deref(&self) -> &Self::Target {
        &self.schedule
    }
}

impl DerefMut for CompiledGroup {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.schedule
    }
}

impl Touches for CompiledGroup {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.schedule.for_each_buffer(f);
    }
}

impl Compute for CompiledGroup {
    type Contract = Contraction<Kernel>;
    type Scalars = Scalars;
    type LoopSchedule = LoopSchedule;
}

impl Scheduled for CompiledGroup {
    type Kernel = Kernel;

    fn group(&self) -> &cotan_schedule::Group<Kernel> {
        &self.schedule
    }

    fn packed(scalars: &Scalars) -> &Packed {
        &scalars.packed
    }

    fn loop_schedule(schedule: &LoopSchedule) -> &cotan_schedule::LoopSchedule {
        schedule
    }
}

/// How a loop is run.
#[derive(Debug, Default)]
pub(crate) struct LoopSchedule {
    schedule: cotan_schedule::LoopSchedule,
    /// The steps as calls of machine code, if they are nothing else.
    #[cfg(target_arch = "x86_64")]
    pub tight: Option<crate::vm::native::Tight>,
}

impl Deref for LoopSchedule {
    type Target = cotan_schedule::LoopSchedule;

    fn deref(&self) -> &Self::Target {
        &self.schedule
    }
}

/// The tile machine, as what schedules are compiled for. Machine code is made afterwards.
pub(crate) struct TileMachine {
    /// Whether products are rounded before they are added.
    pub in_order: bool,
}

impl Machine for TileMachine {
    type Group = CompiledGroup;

    fn kernel(&mut self, order: LoopOrder) -> Kernel {
        Kernel::new(order)
    }

    fn group(&mut self, schedule: cotan_schedule::Group<Kernel>) -> CompiledGroup {
        CompiledGroup {
            schedule,
            #[cfg(target_arch = "x86_64")]
            calls: Vec::new(),
        }
    }

    fn scalars(&mut self, packed: Packed) -> Scalars {
        Scalars::new(packed, self.in_order)
    }

    fn repeated(&mut self, schedule: cotan_schedule::LoopSchedule) -> LoopSchedule {
        LoopSchedule {
            schedule,
            #[cfg(target_arch = "x86_64")]
            tight: None,
        }
    }
}

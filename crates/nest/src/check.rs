//! Whether a plan is one: every invariant that machines rely on, checked from nothing.
//!
//! * **Types.** Operands fit their operations, and values the buffers they are read from and written
//!   to; sizes of loops, views and copies fit each other.
//! * **Places.** Every element that is read or written is one of its buffer, where guards hold.
//! * **Definedness.** Every element is written before it is read, on every path, and at the end every
//!   element of every result is.
//! * **Writers.** No two positions of a nest write one place, unless it adds in order, and none reads
//!   what another one writes.
//! * **Roles.** Inputs, constants and views of them are not written; a loop's arrays are left alone
//!   while it collects into them.
//! * **Memory** ([`check_memory`]). Temporaries that are needed at the same time lie apart.
//!
//! A fault that is reported is one: ranges, intervals of elements and enumeration give the place
//! that is wrong. What none of them can decide within [`POSITIONS`] positions of one access, or
//! [`FUEL`] of all, is looked at in samples and taken for right. That concerns guarded accesses and
//! scattered writes of large nests only; the time is near the length of the plan.
//!
//! Nothing here is shared with what makes plans.

mod cover;
mod flow;
mod memory;
mod places;
mod types;

use std::fmt;

use crate::nest::{BufferId, Nest};
use crate::plan::{Buffer, Plan, Role, Step};
use cover::{Conditional, Covers};
pub use memory::check_memory;

/// The positions of one access that are enumerated at most.
const POSITIONS: u64 = 1 << 14;

/// The positions of all accesses together that are enumerated at most.
const FUEL: u64 = 1 << 22;

/// What is wrong with a plan, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// The step, from 1, in that of the list around it.
    pub step: Vec<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.step.is_empty() {
            let step: Vec<String> = self.step.iter().map(usize::to_string).collect();
            write!(f, "step {}: ", step.join("."))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlanFault {}

/// What is wrong.
type R<T> = Result<T, String>;

impl Plan {
    /// Whether the plan keeps all invariants but that of memory.
    pub fn check(&self) -> Result<(), PlanFault> {
        let mut checker = Checker::new(&self.buffers);
        let whole = |message: String| PlanFault { step: Vec::new(), message };
        checker.buffers().map_err(whole)?;
        if let Err(message) = checker.steps(&self.steps) {
            return Err(PlanFault { step: checker.path, message });
        }
        checker.outputs(&self.outputs).map_err(whole)
    }
}

struct Checker<'a> {
    buffers: &'a [Buffer],
    covers: Covers,
    conditional: Conditional,
    /// Which buffers may not be written at the moment, and which not be touched.
    locks: Vec<Lock>,
    /// The step that is being checked.
    path: Vec<usize>,
    /// The positions that may still be enumerated.
    fuel: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lock {
    Free,
    Unwritable,
    Untouchable,
}

impl<'a> Checker<'a> {
    fn new(buffers: &'a [Buffer]) -> Checker<'a> {
        let given = |b: &Buffer| matches!(b.role, Role::Input(_) | Role::Constant(_));
        let lock = |b: &Buffer| if given(b) { Lock::Unwritable } else { Lock::Free };
        Checker {
            buffers,
            covers: Covers::new(buffers.iter().map(|b| (b.shape.numel(), given(b)))),
            conditional: Conditional::default(),
            locks: buffers.iter().map(lock).collect(),
            path: Vec::new(),
            fuel: FUEL,
        }
    }

    fn buffer(&self, b: BufferId) -> R<&'a Buffer> {
        self.buffers.get(b.index()).ok_or_else(|| format!("there is no buffer {}", b.0))
    }

    /// The steps of a list.
    fn steps(&mut self, steps: &[Step<Nest>]) -> R<()> {
        for (n, step) in steps.iter().enumerate() {
            self.path.push(n + 1);
            self.step(step)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Constants are what their buffers say.
    fn buffers(&self) -> R<()> {
        for (n, buffer) in self.buffers.iter().enumerate() {
            if let Role::Constant(array) = &buffer.role
                && (array.dtype() != buffer.dtype || *array.shape() != buffer.shape)
            {
                return Err(format!("buffer {n} has another type than its constant"));
            }
        }
        Ok(())
    }

    /// Results are buffers of their own, and complete.
    fn outputs(&self, outputs: &[BufferId]) -> R<()> {
        for (n, &b) in outputs.iter().enumerate() {
            if !matches!(self.buffer(b)?.role, Role::Output) {
                return Err(format!("result {n} is buffer {}, which has another role", b.0));
            }
            if outputs[..n].contains(&b) {
                return Err(format!("result {n} is the buffer of another one"));
            }
            self.needs_all(b, "returned")?;
        }
        let unused = |(n, buffer): (usize, &Buffer)| {
            matches!(buffer.role, Role::Output) && !outputs.contains(&BufferId(n as u32))
        };
        match self.buffers.iter().enumerate().position(unused) {
            Some(n) => Err(format!("buffer {n} is no result, but has the role of one")),
            None => Ok(()),
        }
    }

    /// All elements of a buffer must have been written.
    fn needs_all(&self, b: BufferId, what: &str) -> R<()> {
        match self.covers.missing(b) {
            None => Ok(()),
            Some(at) => Err(format!("buffer {} is {what}, but element {at} is not written", b.0)),
        }
    }

    /// Whether a buffer may be read at the moment.
    fn may_read(&self, b: BufferId) -> R<()> {
        match self.locks.get(b.index()) {
            Some(Lock::Untouchable) => {
                Err(format!("buffer {} is read while a loop collects into it", b.0))
            }
            _ => Ok(()),
        }
    }

    /// Whether a buffer may be written at the moment.
    fn may_write(&self, b: BufferId) -> R<()> {
        match self.locks.get(b.index()) {
            Some(Lock::Free) => Ok(()),
            _ => Err(format!("buffer {} is written, which is given", b.0)),
        }
    }
}

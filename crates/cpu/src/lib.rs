//! Running programs fast: loop nests, a memory plan, machine code and a machine over tiles.
//!
//! * [`Executable`] is a program with its plan: arrays that fusion can avoid are never made, those
//!   that are made lie in one piece of memory, and the loop nests that make them run as machine
//!   code, or over tiles that stay in the first cache ([`Engine`]).
//!
//! The reference interpreter is the meaning of programs; this crate is compared with it on random
//! programs. What it cannot run it says ([`Unsupported`]) when the plan is made.

mod compiled;
mod contract;
mod isa;
#[cfg(target_arch = "x86_64")]
mod jit;
mod limits;
mod linalg;
mod memory;
#[cfg(all(test, not(miri)))]
mod polls;
mod profile;
mod run;
#[cfg(test)]
mod samples;
mod search;
mod segment;
mod target;
mod threads;
mod transform;
mod vector;
mod vm;
mod workspace;

pub use cotan_schedule::Unsupported;
pub use limits::{RunLimits, Stop};
pub use profile::{KernelTime, Marker, Profile};
pub use run::{Engine, Executable};
pub use target::host;

//! Programs as C: one header and one source file, without dependencies.
//!
//! * [`plan`] makes the plan of a program;
//! * [`emit`] writes functions, each the plan of a program, as [`Files`]: C11 without a library, without
//!   allocation, with static shapes. The caller brings the workspace, a structure of the header.
//!
//! What is written is the plan of `cotan_nest`, step by step: a nest is a function of a few loops, which
//! compilers turn into vector instructions; a loop is a loop, a branch an `if`. Elementary functions are
//! the formulas of `cotan_math`, so a plan that keeps the order of sums gives the bits of the reference
//! interpreter, whatever the compiler. Nothing here knows of a machine.

mod affine;
mod body;
mod contract;
mod files;
mod layout;
mod literal;
mod math;
mod names;
mod nest;
mod order;
mod runtime;
mod scalar;
mod steps;
mod writer;

use std::fmt;

use cotan_ir::Program;
use cotan_nest::Plan;
use cotan_schedule::{Target, Unsupported};

pub use files::{Files, emit};

/// The plan of a program, the same wherever it is made. `in_order` keeps sums in the order of their
/// elements.
pub fn plan(program: &Program, in_order: bool) -> Result<Plan, Unsupported> {
    if program.terms().any(|t| matches!(program.node(t), cotan_ir::Node::Routine(..))) {
        return Err(Unsupported("a numerical routine, which has no C yet"));
    }
    cotan_schedule::lower(program, in_order, &target())
}

/// The machine that plans for C are made for: compilers are told which one it is, not we.
pub fn target() -> Target {
    Target::with_tiles(contract::TILES)
}

/// A function to be written.
#[derive(Debug)]
pub struct Function<'a> {
    /// Its name in C.
    pub name: String,
    /// The program, for names, types and places in its source.
    pub program: &'a Program,
    /// The plan of the program.
    pub plan: &'a Plan,
    /// Whether the plan keeps the order of sums: then so does the code, and no product is rounded
    /// together with a sum.
    pub in_order: bool,
    /// What the header says about it, a paragraph.
    pub doc: String,
}

/// Why there is no C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    hint: Option<String>,
}

impl Error {
    fn new(message: impl Into<String>) -> Error {
        Error { message: message.into(), hint: None }
    }

    fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

//! Passes and their composition: a pipeline is a list.

use std::borrow::Cow;

use cotan_bot::Options;
use cotan_ir::{Error, Program, Result};

/// A named function from program to program.
#[derive(Clone, Copy)]
pub struct Pass {
    /// A verb or noun that stands for it on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub description: &'static str,
    run: fn(&Program) -> Result<Program>,
}

impl Pass {
    /// A pass.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        run: fn(&Program) -> Result<Program>,
    ) -> Pass {
        Pass { name, description, run }
    }

    /// The bulk-operation transform.
    pub const BULK: Pass = Pass::new("bulk", "turn every build into bulk operations", |p| {
        Ok(cotan_bot::bulk(p, &Options::default())?.0)
    });

    /// The optimiser, with all its rules. The result is meant to be run, not to be differentiated.
    pub const OPTIMISE: Pass = Pass::new("optimise", "simplify for running", |p| {
        Ok(cotan_opt::optimise(p, &cotan_opt::Options::default())?.0)
    });

    /// Dead code out, order and names canonical.
    pub const NORMALISE: Pass =
        Pass::new("normalise", "drop dead code, number nodes afresh", Program::normalised);
}

/// A program as a pass left it.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The pass.
    pub name: &'static str,
    /// Its result.
    pub program: Program,
}

/// A list of passes, run in order.
#[derive(Clone, Default)]
pub struct Pipeline {
    passes: Vec<Pass>,
    verify: bool,
}

impl Pipeline {
    /// These passes; each result is checked in debug builds.
    pub fn new(passes: &[Pass]) -> Pipeline {
        Pipeline { passes: passes.to_vec(), verify: cfg!(debug_assertions) }
    }

    /// Whether to check the program after each pass.
    pub fn verify(mut self, verify: bool) -> Pipeline {
        self.verify = verify;
        self
    }

    /// The passes.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The program after all passes.
    pub fn run(&self, program: &Program) -> Result<Program> {
        // Of the programs on the way at most two are in memory.
        let mut current = Cow::Borrowed(program);
        for pass in &self.passes {
            current = Cow::Owned(self.step(pass, &current)?);
        }
        Ok(current.into_owned())
    }

    /// The program after each pass.
    pub fn stages(&self, program: &Program) -> Result<Vec<Stage>> {
        let mut stages: Vec<Stage> = Vec::with_capacity(self.passes.len());
        for pass in &self.passes {
            let before = stages.last().map_or(program, |stage| &stage.program);
            let program = self.step(pass, before)?;
            stages.push(Stage { name: pass.name, program });
        }
        Ok(stages)
    }

    fn step(&self, pass: &Pass, program: &Program) -> Result<Program> {
        let result = (pass.run)(program)?;
        if self.verify
            && let Err(error) = result.check()
        {
            return Err(Error::internal(format!("after {}: {error}", pass.name)));
        }
        Ok(result)
    }
}

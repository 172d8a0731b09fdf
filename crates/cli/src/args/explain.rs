//! The options of `cotan explain`: which stages there are.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use cotan_pipeline::CompilePass;

use super::{CallArgs, LimitArgs};

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// Only this stage, as a program
    #[arg(long)]
    pub stage: Option<Stage>,

    /// Show every rule that fired: its place, the term before, the term after
    #[arg(long)]
    pub trace: bool,

    /// What a line of the source becomes at each stage, what its derivative costs, and what is kept
    /// for it
    #[arg(long, value_name = "LINE", conflicts_with_all = ["stage", "trace"])]
    pub line: Option<u32>,

    /// Where a node comes from, and the rules that made it: `bulk:12`, as `--line` shows it; a number
    /// alone is one of the program that runs
    #[arg(long, value_name = "NODE", conflicts_with_all = ["stage", "trace"])]
    pub why: Option<String>,

    /// Write a page to look at in a browser: all stages side by side, the graph, the rules that fired,
    /// a profile
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stage", "trace"])]
    pub html: Option<PathBuf>,

    /// How long to measure for the page; 0 for not at all
    #[arg(long, value_name = "TIME", value_parser = crate::units::duration, default_value = "300ms", requires = "html")]
    pub measure: Duration,

    #[command(flatten)]
    pub limits: LimitArgs,
}

/// A stage of compilation: what a pass leaves, or a look into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Source,
    Core,
    Bot,
    Dual,
    Delta,
    Gradient,
    Residuals,
    Optimised,
    Placements,
    Nests,
    Schedule,
    Kernels,
    Memory,
}

impl Stage {
    /// The name on the command line, and what is shown.
    fn described(self) -> (&'static str, &'static str) {
        let pass = |pass: CompilePass| (pass.name, pass.description);
        match self {
            Stage::Source => ("source", "The source, formatted"),
            Stage::Core => ("core", "The core program: functions inlined, sizes known"),
            Stage::Bot => pass(CompilePass::TRANSFORM),
            Stage::Dual => ("dual", "Dual arrays: the primal part and the Delta terms"),
            Stage::Delta => ("delta", "The Delta terms alone"),
            Stage::Gradient => pass(CompilePass::DIFFERENTIATE),
            Stage::Residuals => (
                "residuals",
                "What is kept between the forward and the reverse pass, and from where",
            ),
            Stage::Optimised => pass(CompilePass::OPTIMISE),
            Stage::Placements => pass(CompilePass::PLACE),
            Stage::Nests => pass(CompilePass::LOWER),
            Stage::Schedule => {
                ("schedule", "Groups, blocks, orders of loops, and what threads have")
            }
            Stage::Kernels => pass(CompilePass::SCHEDULE),
            Stage::Memory => pass(CompilePass::MEMORY),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.described().0
    }
}

impl ValueEnum for Stage {
    fn value_variants<'a>() -> &'a [Stage] {
        use Stage::{
            Bot, Core, Delta, Dual, Gradient, Kernels, Memory, Nests, Optimised, Placements,
            Residuals, Schedule, Source,
        };
        &[
            Source, Core, Bot, Dual, Delta, Gradient, Residuals, Optimised, Placements, Nests,
            Schedule, Kernels, Memory,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = self.described();
        Some(PossibleValue::new(name).help(help))
    }
}

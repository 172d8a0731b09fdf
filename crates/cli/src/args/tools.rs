//! The options of the tools for working on programs: the prompt, watching, measuring, editors.

use std::path::PathBuf;

use clap::Args;

use super::{BackendArgs, CallArgs, LimitArgs, RunArgs};

#[cfg(feature = "repl")]
#[derive(Debug, Args)]
pub struct ReplArgs {
    /// Programs whose definitions to begin with
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Only check
    #[arg(long)]
    pub check: bool,

    /// End after so many turns
    #[arg(long, value_name = "N")]
    pub turns: Option<usize>,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// Another program to measure beside it
    #[arg(value_name = "FILE2")]
    pub other: Option<PathBuf>,

    /// The sizes that are not given
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub length: usize,

    /// How long to measure each of them
    #[arg(long, value_name = "TIME", value_parser = crate::units::duration, default_value = "500ms")]
    pub time: std::time::Duration,

    /// Measure again what the machine can do
    #[arg(long)]
    pub measure_limits: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct PlotArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// From where to where to draw: x=-3..3; may be given twice
    #[arg(long, value_name = "NAME=A..B", value_parser = crate::plot::named_range, allow_hyphen_values = true)]
    pub range: Vec<(String, (f64, f64))>,

    /// Write an SVG picture instead of drawing in the terminal
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Points to draw beside a curve in the picture: two numbers on each line
    #[arg(long, value_name = "CSV", requires = "svg")]
    pub data: Option<PathBuf>,

    /// Without the derivative
    #[arg(long)]
    pub no_derivative: bool,

    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct ProfileArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// The sizes that are not given
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub length: usize,

    /// How long to measure the value, and the value with the gradient
    #[arg(long, value_name = "TIME", value_parser = crate::units::duration, default_value = "2s")]
    pub time: std::time::Duration,

    /// Measure again what the machine can do
    #[arg(long)]
    pub measure_limits: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Write a picture of the kernels, as wide as their time
    #[arg(long, value_name = "SVG")]
    pub flame: Option<PathBuf>,

    #[command(flatten)]
    pub limits: LimitArgs,
}

#[cfg(feature = "lsp")]
#[derive(Debug, Args)]
pub struct LspArgs {
    /// Accepted for editors that add it: there is no other way to speak
    #[arg(long, hide = true)]
    pub stdio: bool,
}

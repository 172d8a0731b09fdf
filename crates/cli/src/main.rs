//! The `cotan` command: checks, runs, differentiates, formats and explains `.ct` programs.

mod args;
mod bench;
mod build;
mod check;
mod derivatives;
mod differences;
mod examples;
mod explain;
mod export;
mod failure;
mod fmt;
mod folders;
mod function;
mod grad;
mod gradbench;
mod inputs;
mod limits;
mod machine;
mod nan;
mod origins;
mod plot;
mod profile;
mod progress;
mod reference;
#[cfg(feature = "repl")]
mod repl;
mod results;
mod run;
mod source;
mod sparse;
mod terminal;
mod test;
mod units;
mod verdict;
mod watch;
mod xla;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    ExitCode::from(report(&terminal, || execute(&cli.command, &terminal)))
}

/// Carries out a command, within its time from the first token on.
fn execute(command: &Command, terminal: &Terminal) -> Outcome {
    let timed = |limits: &LimitArgs, work: &dyn Fn() -> Outcome| {
        cotan_ir::within(limits.watch(Instant::now()), work)
    };
    match command {
        Command::Check(args) => check::check(args, terminal),
        Command::Run(args) => timed(&args.limits, &|| run::run(args, terminal)),
        Command::Eval(args) => timed(&args.limits, &|| run::eval(args, terminal)),
        Command::Grad(args) => timed(&args.limits, &|| grad::grad(args, terminal)),
        Command::Export(args) => timed(&args.limits, &|| export::export(args, terminal)),
        Command::Build(args) => timed(&args.limits, &|| build::build(args, terminal)),
        Command::Test(args) => timed(&args.limits, &|| test::test(args, terminal)),
        Command::Fmt(args) => fmt::fmt(args, terminal),
        Command::Explain(args) => timed(&args.limits, &|| explain::explain(args, terminal)),
        Command::Error(args) => reference::error(args, terminal),
        Command::Operations(args) => reference::operations(args, terminal),
        Command::Builtins(args) => reference::builtins(args, terminal),
        Command::Rules(args) => reference::rules(args, terminal),
        Command::Examples(args) => examples::show(args, terminal),
        #[cfg(feature = "repl")]
        Command::Repl(args) => repl::repl(args, terminal),
        Command::Watch(args) => watch::watch(args, terminal),
        Command::Plot(args) => timed(&args.limits, &|| plot::plot(args, terminal)),
        Command::Profile(args) => timed(&args.limits, &|| profile::profile(args, terminal)),
        Command::Bench(args) => timed(&args.limits, &|| bench::bench(args, terminal)),
        #[cfg(feature = "lsp")]
        Command::Lsp(_) => cotan_lsp::serve().map_err(failure::Failure::data),
        Command::Gradbench(args) => gradbench::gradbench(args),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "cotan", &mut script);
            terminal.write(&String::from_utf8_lossy(&script))
        }
        Command::Man(args) => {
            let written = std::fs::create_dir_all(&args.folder)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder));
            written.map_err(|e| {
                Failure::data(format_args!("cannot write to {}: {e}", args.folder.display()))
            })
        }
    }
}

/// Does the work, says what went wrong, and gives the exit code. A panic is a fault of ours: the
/// place is printed by the standard hook, and we add what to do about it.
fn report(terminal: &Terminal, work: impl FnOnce() -> Outcome) -> u8 {
    match guarded(work) {
        Ok(()) => 0,
        Err(failure) => {
            terminal.complain(&failure.to_string());
            failure.exit_code()
        }
    }
}

/// Does the work; a panic is a failure.
fn guarded<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::internal("cotan stopped at a broken invariant (see above)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let quiet = Terminal::new(args::When::Never);
        assert_eq!(report(&quiet, || panic!("on purpose: this test shows how it is reported")), 70);
        assert_eq!(report(&quiet, || Ok(())), 0);
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}

//! `cotan explain`

use std::fmt::Write;
use std::time::Instant;

use cotan_bot::{Options, Report};
use cotan_ir::{ErrorKind, Limits, Program, SourceMap};
use cotan_syntax::{Code, Diagnostic, format};

use crate::args::{ExplainArgs, LimitArgs, Stage};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::Inputs;
use crate::progress::watched;
use crate::run::place;
use crate::source::Text;
use crate::terminal::Terminal;

/// Shows one stage, or all of them, of a function.
pub fn explain(args: &ExplainArgs, terminal: &Terminal) -> Outcome {
    if args.trace && !wants(args, Stage::Bot) {
        return Err(Failure::usage(
            "--trace shows rules firing, which happens in stage `bot` only",
        )
        .hint("--stage bot --trace"));
    }
    let source = Text::of(&args.source)?;
    let as_written = formatted(&source, terminal)?;
    if args.stage == Some(Stage::Source) {
        return terminal.write(&as_written);
    }
    let head = |title: &str, program: &Program| {
        let title = if args.stage.is_none() { title } else { "# " };
        format!("{title}{}\n{}", size(program), printed(program))
    };
    let mut text = String::new();
    if args.stage.is_none() {
        text = format!("# {}\n{as_written}", source.name);
    }
    let modules = source.load(terminal)?;
    let function = Function::of(&modules, &args.function, terminal)?;
    let inputs = Inputs::read(&args.inputs, &function, terminal)?;
    let begin = Instant::now();
    let core = function.instantiate(|path| inputs.ty(path), &args.limits, terminal)?.program;
    if wants(args, Stage::Core) {
        text += &head("\n# In the core language: ", &core);
    }
    if wants(args, Stage::Bot) {
        let (bulk, report) = bulk(&core, args.trace, &args.limits, begin, terminal)?;
        text += &head("\n# In bulk operations: ", &bulk);
        text += &firings(&report);
        if args.trace {
            text += &trace(&report, core.sources());
        }
    }
    terminal.write(&text)
}

fn wants(args: &ExplainArgs, stage: Stage) -> bool {
    args.stage.is_none_or(|wanted| wanted == stage)
}

/// The program in bulk operations, and which rules fired.
pub fn bulk(
    program: &Program,
    trace: bool,
    limits: &LimitArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<(Program, Report)> {
    let deadline = limits.timeout.and_then(|time| begin.checked_add(time));
    let within = Limits { deadline, max_bytes: limits.limit_bytes, ..Limits::default() };
    let options = Options { trace, limits: within, ..Options::default() };
    let transformed = watched(terminal, "transforming", || cotan_bot::bulk(program, &options));
    transformed.map_err(|error| match error.kind() {
        ErrorKind::Limit | ErrorKind::Cancelled | ErrorKind::Deadline => {
            let diagnostic = Diagnostic::new(Code::LimitExceeded, error.span(), error.to_string())
                .hint("raise the limits with --limit-bytes and --timeout");
            Failure::limit(terminal.render(&diagnostic.into(), program.sources()))
        }
        _ => Failure::internal(error),
    })
}

fn formatted(source: &Text, terminal: &Terminal) -> Outcome<String> {
    let mut sources = SourceMap::new();
    let file = sources.add(&source.name, &source.text);
    format(file, &source.text)
        .map_err(|diagnostics| Failure::program(terminal.render(&diagnostics, &sources)))
}

/// A program as text in the layout of the formatter. One too deep for it, or too large to be worth
/// it, stays as it is printed.
fn printed(program: &Program) -> String {
    let text = program.to_string();
    if text.len() > 1 << 20 {
        return text;
    }
    let file = SourceMap::new().add("program", text.as_str());
    format(file, &text).unwrap_or(text)
}

fn size(program: &Program) -> String {
    match program.len() {
        1 => "1 node".to_owned(),
        n => format!("{n} nodes"),
    }
}

/// How often each rule fired, as comments.
fn firings(report: &Report) -> String {
    let mut text = match report.total() {
        0 => "\n# No rule fired.\n".to_owned(),
        1 => "\n# 1 firing of a rule:\n".to_owned(),
        n => format!("\n# {n} firings of rules:\n"),
    };
    for (rule, count) in report.counts() {
        let _ = writeln!(text, "#   {rule:24} {count}");
    }
    text
}

/// Every firing, as comments.
fn trace(report: &Report, sources: &SourceMap) -> String {
    let mut text = String::new();
    for firing in report.trace() {
        let _ = writeln!(text, "\n# {}{}", place(firing.span, sources), firing.rule);
        for (arrow, term) in [("  ", &firing.before), ("~>", &firing.after)] {
            let _ = writeln!(text, "#   {arrow} {}", term.replace('\n', "\n#      "));
        }
    }
    text
}

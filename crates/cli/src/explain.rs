//! `cotan explain`

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Instant;

use cotan_bot::{Firing, Options, Report};
use cotan_interp::Value;
use cotan_ir::{Output, Program, SourceMap};
use cotan_pipeline::{
    Backend, CompileOptions, CompilePass, Cost, Derivative, Form, compile_to, derive,
};
use cotan_syntax::format;

use crate::args::{ExplainArgs, LimitArgs, Stage};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::origins;
use crate::progress::watched;
use crate::run::{interpret, place};
use crate::source::Text;
use crate::terminal::Terminal;

/// Shows one stage, or all of them, of a function.
pub fn explain(args: &ExplainArgs, terminal: &Terminal) -> Outcome {
    if args.trace && !wants(args, Stage::Bot) && !wants(args, Stage::Optimised) {
        return Err(Failure::usage(
            "--trace shows rules firing, which happens in stages `bot` and `optimised` only",
        )
        .hint("--stage bot --trace"));
    }
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let source = Text::of(&args.call.source)?;
    let as_written = formatted(&source, terminal)?;
    if args.stage == Some(Stage::Source) {
        return terminal.write(&as_written);
    }
    let mut text = String::new();
    if args.stage.is_none() {
        text = format!("# {}\n{as_written}", source.name);
    }
    let name = source.name.clone();
    let modules = source.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    if args.line.is_some() || args.why.is_some() || args.html.is_some() {
        return origins::answer(args, &function, &inputs, &name, begin, terminal);
    }
    let core = function.instantiate(&inputs, &args.limits, begin, terminal)?.program;
    text += &stages(core, args, &inputs, begin, terminal)?;
    terminal.write(&text)
}

/// The stages of a program, from the core language on.
pub fn stages(
    core: Program,
    args: &ExplainArgs,
    inputs: &Inputs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<String> {
    let head = |title: &str, program: &Program| {
        let title = if args.stage.is_none() { title } else { "# " };
        format!("{title}{}\n{}", size(program), printed(program))
    };
    let mut text = String::new();
    if wants(args, Stage::Core) {
        text += &head("\n# In the core language: ", &core);
    }
    let whole = args.stage.is_none();
    match args.stage {
        Some(Stage::Core) => return Ok(text),
        Some(
            stage @ (Stage::Placements
            | Stage::Nests
            | Stage::Schedule
            | Stage::Kernels
            | Stage::Memory),
        ) => {
            return plans(&core, stage, args, begin, terminal);
        }
        _ => {}
    }
    // Everything else begins with the program in bulk operations.
    let trace_bulk = args.trace && wants(args, Stage::Bot);
    let (bulk, report) = bulk(&core, trace_bulk, &args.limits, begin, terminal)?;
    if wants(args, Stage::Bot) {
        text += &head("\n# In bulk operations: ", &bulk);
        text += &firings(&report);
        if args.trace {
            text += &trace(report.trace(), core.sources());
        }
    }
    drop(core);
    let stages = [Stage::Dual, Stage::Delta, Stage::Gradient, Stage::Residuals, Stage::Optimised];
    if stages.into_iter().any(|stage| wants(args, stage)) {
        match differentiable(&bulk) {
            // What has no derivatives is optimised all the same.
            Err(_) if args.stage == Some(Stage::Optimised) => {
                text += &optimised(&bulk, args, begin, terminal)?;
            }
            Err(why) if whole => text += &format!("\n# No derivatives: {why}.\n"),
            Err(why) => {
                return Err(Failure::program(format!("error: there are no derivatives: {why}")));
            }
            Ok(()) => text += &derivatives(&bulk, args, inputs, begin, terminal)?,
        }
    }
    Ok(text)
}

/// How the values, and the values with the gradient, are computed.
fn plans(
    core: &Program,
    stage: Stage,
    args: &ExplainArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<String> {
    let deadline = args.limits.deadline(begin);
    let rules = cotan_opt::Options { deadline, ..cotan_opt::Options::default() };
    // A schedule is shown in two ways.
    let last = match stage {
        Stage::Schedule => CompilePass::SCHEDULE.name,
        stage => stage.name(),
    };
    let shown = |derivative: Option<Derivative>| {
        let derivative = derivative.map(|derivative| (derivative, None));
        let options = CompileOptions {
            derivative,
            rules: rules.clone(),
            ..CompileOptions::new(Backend::Native)
        };
        let compiled = watched(terminal, "compiling", || {
            compile_to(Cow::Borrowed(core), &options, Some(last))
        });
        let form =
            compiled.map_err(|error| not_made(&error, core.sources(), &args.limits, terminal))?;
        Ok::<String, Failure>(match form {
            Form::Placed(program, placements) => placements.text(&program),
            Form::Plan(_, plan) => plan.to_string(),
            Form::Schedule(_, schedule) if stage == Stage::Schedule => schedule.to_string(),
            Form::Schedule(program, schedule) if stage == Stage::Memory => {
                schedule.memory(&program)
            }
            Form::Schedule(program, schedule) => schedule.kernels(&program),
            Form::Interpreted(_, Some(why)) => format!("It is interpreted: {}.\n", why.0),
            Form::Program(_) | Form::Executable(..) | Form::Interpreted(_, None) => String::new(),
        })
    };
    let mut text = format!("# The values:\n{}", shown(None)?);
    if differentiable(core).is_ok() {
        let gradient = shown(Some(gradient_of(core)))?;
        text += &format!("\n# The values and the gradient:\n{gradient}");
    }
    Ok(text)
}

/// Value and gradient of a scalar, value and derivative in a direction of anything else.
fn gradient(bulk: &Program, limits: &LimitArgs, terminal: &Terminal) -> Outcome<Program> {
    watched(terminal, "differentiating", || derive(bulk, gradient_of(bulk), None))
        .map_err(|error| not_made(&error, bulk.sources(), limits, terminal))
}

/// The derivative that stands for the gradient of a program.
pub fn gradient_of(core: &Program) -> Derivative {
    // A scalar has a gradient; for anything else a cotangent has to be given.
    let scalar = core.outputs().first().is_some_and(|output| {
        core.shape(output.term).rank() == 0 && core.dtype(output.term).is_float()
    });
    if scalar { Derivative::ValueAndGrad } else { Derivative::Vjp }
}

/// Whether a program has derivatives, or why not.
pub fn differentiable(program: &Program) -> Result<(), &'static str> {
    let float = |output: &Output| program.dtype(output.term).is_float();
    if !program.inputs().iter().any(|input| input.ty.dtype.is_float()) {
        return Err("no parameter is a float");
    }
    if !program.outputs().iter().any(float) {
        return Err("no result is a float");
    }
    Ok(())
}

/// The stages of differentiation: dual arrays, Delta terms, gradient.
fn derivatives(
    bulk: &Program,
    args: &ExplainArgs,
    inputs: &Inputs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<String> {
    let mut text = String::new();
    let whole = args.stage.is_none();
    if wants(args, Stage::Dual) || wants(args, Stage::Delta) {
        let dual = cotan_ad::dual(bulk, None)
            .map_err(|error| not_made(&error, bulk.sources(), &args.limits, terminal))?;
        if wants(args, Stage::Dual) {
            let title = if whole { "\n# As dual arrays, the primal part: " } else { "# " };
            let _ = write!(text, "{title}{}\n{}", size(&dual.primal), dual.primal);
            text += "\n# The Delta terms:\n";
            for line in dual.to_string().lines() {
                let _ = writeln!(text, "#   {line}");
            }
        } else {
            text += &dual.to_string();
        }
    }
    if args.stage == Some(Stage::Residuals) {
        return kept(bulk, args, terminal);
    }
    if wants(args, Stage::Gradient) || wants(args, Stage::Optimised) {
        let gradient = gradient(bulk, &args.limits, terminal)?;
        if args.stage == Some(Stage::Optimised) {
            return optimised(&gradient, args, begin, terminal);
        }
        let title = if whole { "\n# Value and gradient: " } else { "# " };
        let _ = write!(text, "{title}{}\n{gradient}", size(&gradient));
        text += &costs(bulk, &gradient);
        let values: Option<Vec<Value>> =
            gradient.inputs().iter().map(|input| inputs.value(&input.name)).collect();
        if let Some(values) = values {
            let primal = values.get(..bulk.inputs().len()).unwrap_or_default();
            let before = interpret(bulk, primal, &args.limits, begin, terminal)?.counts;
            let after = interpret(&gradient, &values, &args.limits, begin, terminal)?.counts;
            text += &ratio("scalar operations run", before.scalar_ops, after.scalar_ops);
            text += &ratio("elements read", before.reads, after.reads);
            text += &ratio("elements written", before.writes, after.writes);
        }
        if whole {
            text += "\n# Optimised:\n";
            text += &optimised(&gradient, args, begin, terminal)?;
        }
    }
    Ok(text)
}

/// What the reverse pass reads of the forward pass: a line for each array, the largest first.
fn kept(bulk: &Program, args: &ExplainArgs, terminal: &Terminal) -> Outcome<String> {
    let found = watched(terminal, "differentiating", || cotan_pipeline::residuals(bulk))
        .map_err(|error| not_made(&error, bulk.sources(), &args.limits, terminal))?;
    let (mut text, mut total) = (String::new(), 0u64);
    for residual in &found {
        let ty = &residual.ty;
        let bytes = ty.shape.bytes(ty.dtype);
        let from = match residual.input.and_then(|k| bulk.inputs().get(k)) {
            Some(input) => format!("the argument `{}`", input.name),
            None => {
                total = total.saturating_add(bytes);
                format!("{}`{}`", place(residual.span, bulk.sources()), residual.op)
            }
        };
        let _ = writeln!(text, "#   {bytes:12} bytes {:20} {from}", ty.to_string());
    }
    let _ = writeln!(text, "# {total} bytes beside the arguments");
    Ok(text)
}

/// A program as it runs, what that saves, and which rules fired.
fn optimised(
    program: &Program,
    args: &ExplainArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<String> {
    let deadline = args.limits.deadline(begin);
    let options =
        cotan_opt::Options { trace: args.trace, deadline, ..cotan_opt::Options::default() };
    let (result, report) = cotan_opt::optimise(program, &options)
        .map_err(|error| not_made(&error, program.sources(), &args.limits, terminal))?;
    let mut text = format!("# {}\n{result}", size(&result));
    let (before, after) = (Cost::of(program), Cost::of(&result));
    text += "\n# Before, after, and the ratio:\n";
    text += &ratio("scalar operations", before.operations, after.operations);
    text += &ratio("bytes of arrays", before.bytes, after.bytes);
    text += &firings(&report);
    if args.trace {
        text += &trace(report.trace(), program.sources());
    }
    Ok(text)
}

/// What the gradient costs against the values alone, counted from the programs.
fn costs(primal: &Program, gradient: &Program) -> String {
    let (before, after) = (Cost::of(primal), Cost::of(gradient));
    let mut text = "\n# The values alone, with the gradient, and the ratio:\n".to_owned();
    text += &ratio("scalar operations", before.operations, after.operations);
    text += &ratio("bytes of arrays", before.bytes, after.bytes);
    text
}

fn ratio(what: &str, before: u64, after: u64) -> String {
    let quotient = match before {
        0 => String::new(),
        _ => format!("{:9.2}", after as f64 / before as f64),
    };
    format!("#   {what:22}{before:10}{after:10}{quotient}\n")
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
    let options = Options { trace, limits: limits.making(begin), ..Options::default() };
    let transformed = watched(terminal, "transforming", || cotan_bot::bulk(program, &options));
    transformed.map_err(|error| not_made(&error, program.sources(), limits, terminal))
}

fn formatted(source: &Text, terminal: &Terminal) -> Outcome<String> {
    let source = &source.as_file(terminal)?;
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
fn trace(firings: &[Firing], sources: &SourceMap) -> String {
    let mut text = String::new();
    for firing in firings {
        let _ = writeln!(text, "\n# {}{}", place(firing.span, sources), firing.rule);
        for (arrow, term) in [("  ", &firing.before), ("~>", &firing.after)] {
            let _ = writeln!(text, "#   {arrow} {}", term.replace('\n', "\n#      "));
        }
    }
    text
}

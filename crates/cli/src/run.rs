//! `cotan run`

use std::time::Instant;

use cotan_interp::{Counts, Failure as RunFailure, Interp, InterpError, Options, Run, Value};
use cotan_ir::{Program, SourceMap, Span};
use cotan_syntax::{Code, Diagnostic};

use crate::args::{
    Backend, BackendArgs, CallArgs, EngineArgs, EvalArgs, FunctionArgs, ImportArgs, InputArgs,
    LimitArgs, RunArgs, ShardArgs, SourceArgs,
};
use crate::explain;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::out_of_time;
use crate::machine::compute;
use crate::nan;
use crate::progress::watched;
use crate::results::{self, Destination, Named};
use crate::source::Text;
use crate::terminal::Terminal;
use crate::units::show_bytes;
use crate::xla;

/// Runs a function and shows or writes its results.
pub fn run(args: &RunArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    inputs.require_all(&function)?;
    let instance = function.instantiate(&inputs, &args.limits, begin, terminal)?;
    let names = results::names(&instance.result);
    let destination = match &args.out {
        Some(path) => Some(Destination::new(path, names.len())?),
        None => None,
    };
    let mut program = instance.program;
    drop(modules);
    let arrays = inputs.for_program(&program)?;
    let reports = [
        ("--poison", args.poison),
        ("--trace-nan", args.trace_nan),
        ("--bulk", args.bulk),
        ("--counts", args.counts),
    ];
    let Some((option, _)) = reports.into_iter().find(|(_, wanted)| *wanted) else {
        if args.engine.engine.is_some() {
            let outputs = xla::compute(program, &arrays, &args.engine, &within)?;
            return results::deliver(&results::named(names, outputs), destination, terminal);
        }
        let backend = Backend::chosen(args.backend.backend)?;
        let outputs = compute(program, &arrays, backend, &args.limits, begin, terminal)?;
        return results::deliver(&results::named(names, outputs), destination, terminal);
    };
    interpreter_only(option, &args.backend)?;
    if args.engine.engine.is_some() {
        let message = format!("{option} is for the interpreter");
        return Err(Failure::usage(message).hint("leave out --engine"));
    }
    if args.trace_nan {
        let bulk = explain::bulk(&program, false, &args.limits, begin, terminal)?.0;
        let results = results::names(&instance.result);
        terminal.complain(&nan::report(&bulk, &[], &results, &arrays, &args.limits, terminal)?);
    }
    if args.bulk {
        program = explain::bulk(&program, false, &args.limits, begin, terminal)?.0;
    }
    let values: Vec<Value> = arrays.iter().map(Value::from).collect();
    let run = interpret(&program, &values, &args.limits, begin, terminal)?;
    let results = results::named(names, results::arrays(&run)?);
    results::deliver(&results, destination, terminal)?;
    if args.poison {
        terminal.complain(&poison(&run, &results, program.sources()));
    }
    if args.counts {
        terminal.complain(&counts(&run.counts));
    }
    Ok(())
}

/// Computes the value of an expression.
pub fn eval(args: &EvalArgs, terminal: &Terminal) -> Outcome {
    let EvalArgs { expr, out, backend, limits } = args;
    let source = SourceArgs { file: None, example: None, expr: Some(expr.clone()) };
    let imports = ImportArgs { allow_imports: Vec::new(), include: Vec::new() };
    let function = FunctionArgs { function: None, sizes: Vec::new() };
    let inputs = InputArgs { args: Vec::new(), npz: None };
    let run_args = RunArgs {
        call: CallArgs { source, imports, function, inputs },
        out: out.clone(),
        poison: false,
        trace_nan: false,
        bulk: false,
        counts: false,
        backend: *backend,
        engine: EngineArgs {
            engine: None,
            devices: 1,
            processes: 1,
            shards: ShardArgs { mesh: Vec::new(), shard: Vec::new() },
        },
        limits: *limits,
    };
    run(&run_args, terminal)
}

/// Refuses another backend for what only the interpreter can tell.
pub fn interpreter_only(option: &str, args: &BackendArgs) -> Outcome {
    match args.backend {
        None | Some(Backend::Interp) => Ok(()),
        Some(Backend::Jit | Backend::Vm) => {
            let message = format!("{option} is for the interpreter");
            Err(Failure::usage(message).hint("leave out --backend, or use --backend interp"))
        }
    }
}

/// Interprets a program within limits that began to count at `begin`.
pub fn interpret(
    program: &Program,
    values: &[Value],
    limits: &LimitArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<Run> {
    let options = Options {
        max_bytes: limits.limit_bytes,
        deadline: limits.deadline(begin),
        cancel: terminal.cancel().clone(),
        ..Options::default()
    };
    let interp = Interp::new(program).with_options(options);
    watched(terminal, "running", || interp.run(values))
        .map_err(|error| explain_failure(&error, program, limits, terminal))
}

fn explain_failure(
    error: &InterpError,
    program: &Program,
    limits: &LimitArgs,
    terminal: &Terminal,
) -> Failure {
    let at_place = |message: String, hint: &str| {
        let diagnostic = Diagnostic::new(Code::LimitExceeded, error.span(), message).hint(hint);
        Failure::limit(terminal.render(&diagnostic.into(), program.sources()))
    };
    match error.failure() {
        RunFailure::Memory { op, ty, needed, limit, .. } => at_place(
            format!(
                "`{op}` makes a value of type {ty}, which would bring the memory in use to {}; the \
                 limit is {}",
                show_bytes(*needed),
                show_bytes(*limit)
            ),
            "raise the limit with --limit-bytes; where the interpreter makes every array, --backend jit \
             makes few",
        ),
        RunFailure::OutOfMemory { op, ty, .. } => at_place(
            format!("there is no memory for the value of type {ty} that `{op}` makes"),
            "use smaller arrays, or a machine with more memory",
        ),
        RunFailure::Deadline | RunFailure::Cancelled | RunFailure::Work { .. } => {
            out_of_time(limits)
        }
        _ => Failure::internal(error),
    }
}

/// What a run says about indices out of range.
fn poison(run: &Run, results: &[Named], sources: &SourceMap) -> String {
    let mut lines: Vec<String> = Vec::new();
    for found in &run.out_of_range {
        lines.push(format!("{}{found}", place(found.span, sources)));
    }
    for poisoned in &run.poisoned {
        let Some((name, array)) = results.get(poisoned.output) else { continue };
        let name = if name.is_empty() { "the result" } else { name };
        lines.push(match array.rank() {
            0 => format!("{name} depends on what was read out of range"),
            _ => format!(
                "{name}: {} of {} elements depend on what was read out of range, the first at {:?}",
                poisoned.elements,
                array.numel(),
                poisoned.first
            ),
        });
    }
    match (run.out_of_range.is_empty(), run.poisoned.is_empty()) {
        (true, _) => lines.push("no index was out of range".to_owned()),
        (false, true) => lines.push("no result depends on what was read out of range".to_owned()),
        (false, false) => {}
    }
    lines.join("\n")
}

/// `file:line:column: `, or nothing.
pub fn place(span: Span, sources: &SourceMap) -> String {
    match sources.position(span) {
        Some(at) => format!("{}:{}:{}: ", sources.name(span.file), at.line, at.column),
        None => String::new(),
    }
}

/// What a run cost, a line each.
pub fn counts(counts: &Counts) -> String {
    let rows = [
        ("scalar operations", counts.scalar_ops),
        ("elements read", counts.reads),
        ("elements written", counts.writes),
        ("lambda steps", counts.steps),
        ("nodes evaluated", counts.nodes),
    ];
    let mut lines: Vec<String> = rows.map(|(what, n)| format!("{what:18} {n}")).into();
    lines.push(format!("{:18} {}", "peak memory", show_bytes(counts.peak_bytes)));
    lines.join("\n")
}

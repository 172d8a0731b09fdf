//! `cotan grad`

use std::time::Instant;

use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, derive_owned};

use crate::args::{Backend, GradArgs, InputArgs};
use crate::explain;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::machine::compute;
use crate::nan;
use crate::progress::watched;
use crate::results::{self, Destination};
use crate::run::{counts, interpret, interpreter_only};
use crate::source::Text;
use crate::sparse::sparse;
use crate::terminal::Terminal;
use crate::xla;

/// Runs a derivative of a function and shows or writes what it gives.
pub fn grad(args: &GradArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    // Cotangents and tangents are arguments of the derivative, not of the function.
    let (directions, own): (Vec<_>, Vec<_>) =
        args.call.inputs.args.iter().cloned().partition(|(path, _)| {
            function.leaf(path).is_none() && (path.starts_with("d.") || path.starts_with("ct."))
        });
    let own = InputArgs { args: own, npz: args.call.inputs.npz.clone() };
    let mut inputs = Inputs::read(&own, &function, &within)?;
    inputs.require_all(&function)?;
    let instance = function.instantiate(&inputs, &args.limits, begin, terminal)?;
    let mut program = instance.program;
    program.rename_outputs(results::names(&instance.result).iter().map(|name| value_name(name)));

    let wrt = chosen(&program, &args.wrt, function.name)?;
    drop(modules);
    if args.sparse {
        return sparse(args, program, &wrt, &inputs, &within);
    }
    let own = program.inputs().len();
    if args.trace_nan {
        interpreter_only("--trace-nan", &args.backend)?;
        let bulk = explain::bulk(&program, false, &args.limits, begin, terminal)?.0;
        let results = results::names(&instance.result);
        let arrays = inputs.for_program(&bulk)?;
        let message = nan::report(&bulk, &wrt, &results, &arrays, &args.limits, terminal)?;
        terminal.complain(&message);
    }
    let derived = differentiated(program, args.mode, &wrt, &within)?;
    let more = derived.inputs().get(own..).unwrap_or_default();
    inputs.read_more(&directions, more, &within)?;
    let names: Vec<String> = derived.outputs().iter().map(|output| output.name.clone()).collect();
    let destination = match &args.out {
        Some(path) => Some(Destination::new(path, names.len())?),
        None => None,
    };
    let arrays = inputs.for_program(&derived)?;
    if args.engine.engine.is_some() && !args.counts {
        let outputs = xla::compute(derived, &arrays, &args.engine, &within)?;
        return results::deliver(&results::named(names, outputs), destination, terminal);
    }
    if !args.counts {
        let backend = Backend::chosen(args.backend.backend)?;
        let outputs = compute(derived, &arrays, backend, &args.limits, begin, terminal)?;
        return results::deliver(&results::named(names, outputs), destination, terminal);
    }
    interpreter_only("--counts", &args.backend)?;
    let values: Vec<Value> = arrays.iter().map(Value::from).collect();
    let run = interpret(&derived, &values, &args.limits, begin, terminal)?;
    let results = results::named(names, results::arrays(&run)?);
    results::deliver(&results, destination, terminal)?;
    terminal.complain(&counts(&run.counts));
    Ok(())
}

/// A derivative of a program, with the value where there is one to go with it.
pub fn differentiated(
    program: Program,
    mode: Derivative,
    wrt: &[usize],
    within: &Within<'_>,
) -> Outcome<Program> {
    let Within { limits, terminal, .. } = *within;
    let derivative = match mode {
        Derivative::Grad => Derivative::ValueAndGrad,
        other => other,
    };
    let sources = program.sources().clone();
    watched(terminal, "differentiating", || derive_owned(program, derivative, Some(wrt)))
        .map_err(|error| not_made(&error, &sources, limits, terminal))
}

/// The name of a result among derivatives: never empty, never a mere number.
pub fn value_name(name: &str) -> String {
    match name {
        "" => "value".to_owned(),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("value.{name}"),
        name => name.to_owned(),
    }
}

/// The inputs that the command line names: whole parameters or parts of them.
pub fn chosen(program: &Program, names: &[String], function: &str) -> Outcome<Vec<usize>> {
    let inputs = || program.inputs().iter().enumerate();
    if names.is_empty() {
        let floats: Vec<usize> =
            inputs().filter(|(_, input)| input.ty.dtype.is_float()).map(|(k, _)| k).collect();
        return match floats.is_empty() {
            true => Err(Failure::program(format!(
                "error: `{function}` takes no floats, so there is nothing to differentiate by"
            ))),
            false => Ok(floats),
        };
    }
    let mut wrt = Vec::new();
    for name in names {
        let part = |path: &str| {
            path.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found: Vec<usize> =
            inputs().filter(|(_, input)| part(&input.name)).map(|(k, _)| k).collect();
        if found.is_empty() {
            let known: Vec<&str> = inputs().map(|(_, input)| &*input.name).collect();
            let message = format!("`{function}` has no parameter `{name}` to differentiate by");
            return Err(Failure::usage(message)
                .hint(format_args!("its parameters are {}", known.join(", "))));
        }
        wrt.extend(found.into_iter().filter(|k| !wrt.contains(k)).collect::<Vec<_>>());
    }
    Ok(wrt)
}

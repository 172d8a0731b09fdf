//! `cotan profile`

use std::borrow::Cow;
use std::fs;
use std::time::Instant;

use cotan_array::Array;
use cotan_cpu::{RunLimits, Stop};
use cotan_interp::Value;
use cotan_ir::{Program, provenance};
use cotan_pipeline::{Backend, CompileOptions, Compiled, compile};
use cotan_view::{MachineLimits, Part, flame_graph, profile_json, profile_text};

use crate::args::{FunctionArgs, ProfileArgs};
use crate::bench::roofline::Limits;
use crate::derivatives::Rng;
use crate::explain::{differentiable, gradient_of};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::{not_made, out_of_time};
use crate::progress::watched;
use crate::source::Text;
use crate::terminal::Terminal;

/// Where made-up floats lie.
const RANGE: (f64, f64) = (0.5, 1.5);

/// Measures where the time of a function and of its gradient goes.
pub fn profile(args: &ProfileArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let limits = Limits::of_machine(args.measure_limits, &args.limits, terminal)?;
    let limits = MachineLimits { operations: limits.operations, bytes: limits.bytes };
    let (measured, record) = provenance::record(|| measure(args, begin, terminal));
    let (parts, program) = measured?;
    let sources = program.sources();
    if let Some(file) = &args.flame {
        fs::write(file, flame_graph(&parts, &record, sources))
            .map_err(|error| Failure::data(format_args!("{}: {error}", file.display())))?;
    }
    terminal.write(&match args.json {
        true => format!("{:#}\n", profile_json(&parts, &record, sources, limits)),
        false => profile_text(&parts, &record, sources, limits),
    })
}

/// The profiles, and the program.
fn measure(
    args: &ProfileArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<(Vec<Part>, Program)> {
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let mut sized = FunctionArgs {
        function: args.call.function.function.clone(),
        sizes: args.call.function.sizes.clone(),
    };
    let name = Function::of(&modules, &sized, terminal)?.name.to_owned();
    let interface =
        modules.interface(&name).map_err(|messages| terminal.program_failure(&messages))?;
    // Arrays that are given have their own sizes.
    if args.call.inputs.args.is_empty() && args.call.inputs.npz.is_none() {
        let length = i64::try_from(args.length).unwrap_or(i64::MAX);
        for size in &interface.sizes {
            if !sized.sizes.iter().any(|(known, _)| known == size) {
                sized.sizes.push((size.clone(), length));
            }
        }
    }
    let function = Function::of(&modules, &sized, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    let program = function.instantiate(&inputs, &args.limits, begin, terminal)?.program;
    let options = CompileOptions::new(Backend::Native);
    let mut parts = vec![part("value", &program, &options, (args, &inputs), begin, terminal)?];
    if differentiable(&program).is_ok() {
        let derivative = Some((gradient_of(&program), None));
        let options = CompileOptions { derivative, ..options };
        let name = "value and gradient";
        parts.push(part(name, &program, &options, (args, &inputs), begin, terminal)?);
    }
    Ok((parts, program))
}

fn part(
    name: &'static str,
    program: &Program,
    options: &CompileOptions,
    (args, inputs): (&ProfileArgs, &Inputs),
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<Part> {
    let compiled = watched(terminal, "compiling", || compile(Cow::Borrowed(program), options));
    let compiled =
        compiled.map_err(|error| not_made(&error, program.sources(), &args.limits, terminal))?;
    let Compiled { program, executable, unsupported } = compiled;
    let Some(executable) = executable else {
        let why = unsupported.map_or("", |why| why.0);
        return Err(Failure::program(format!(
            "error: there are no kernels to measure, as the interpreter runs this: {why}"
        )));
    };
    let mut rng = Rng(1);
    let mut arrays: Vec<Array> = Vec::new();
    for input in program.inputs() {
        let value: Value = match inputs.value(&input.name) {
            Some(value) => value,
            None => rng.value(&input.ty, RANGE)?,
        };
        arrays.push(value.to_array().map_err(Failure::internal)?);
    }
    let needed = executable.peak_bytes(&program);
    if needed > args.limits.limit_bytes {
        return Err(Failure::limit(format!("error: a run needs {needed} bytes of memory"))
            .hint(crate::limits::raise_to(needed)));
    }
    let within = RunLimits {
        deadline: args.limits.deadline(begin),
        cancel: terminal.cancel().clone(),
        ..RunLimits::default()
    };
    let profile =
        watched(terminal, "measuring", || executable.profile(&arrays, &within, args.time));
    let profile = profile.map_err(|stop| match stop {
        Stop::Limit => out_of_time(&args.limits),
        Stop::Memory => Failure::limit("error: there is not enough memory".to_owned()),
        Stop::Input(k) => Failure::internal(format_args!("input {k} is of another type")),
    })?;
    Ok(Part::new(name, &program, profile))
}

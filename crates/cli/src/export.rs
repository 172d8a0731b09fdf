//! `cotan export`

use std::io::Write;
use std::time::Instant;

use cotan_ir::{ErrorKind, Program};
use cotan_pipeline::{Derivative, Pass, Pipeline};
use cotan_stablehlo::{Options, Sharding};

use crate::args::{ExportArgs, ShardArgs};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::grad::{chosen, differentiated, value_name};
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::progress::watched;
use crate::results;
use crate::run::place;
use crate::source::Text;
use crate::terminal::Terminal;

/// Writes a function or its derivative as StableHLO.
pub fn export(args: &ExportArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    let instance = function.instantiate(&inputs, &args.limits, begin, terminal)?;
    let mut program = instance.program;
    program.rename_outputs(results::names(&instance.result).iter().map(|name| value_name(name)));
    let name = function.name.to_owned();
    let mode = if args.grad { Some(Derivative::Grad) } else { args.mode };
    match mode {
        Some(mode) => {
            let wrt = chosen(&program, &args.wrt, &name)?;
            drop(modules);
            program = differentiated(program, mode, &wrt, &within)?;
        }
        None if !args.wrt.is_empty() => {
            let message = "--wrt says by what to differentiate, but there is no derivative";
            return Err(Failure::usage(message).hint("add --grad or --mode"));
        }
        None => drop(modules),
    }
    let sharding = sharding(&args.shards)?;
    let options =
        Options { name, assume_finite: args.assume_finite, sharding, ..Options::default() };
    let text = module(&program, &options, !args.unoptimised, &within)?;
    match &args.out {
        Some(path) => cotan_array::replace_file(path, |output| output.write_all(text.as_bytes()))
            .map_err(|error| {
                Failure::data(format_args!("cannot write `{}`: {error}", path.display()))
            }),
        None => terminal.write(&text),
    }
}

/// What the command line says of devices; nothing if it says nothing.
pub fn sharding(args: &ShardArgs) -> Outcome<Option<Sharding>> {
    let ShardArgs { mesh, shard } = args;
    if mesh.is_empty() && shard.is_empty() {
        return Ok(None);
    }
    let Some((_, cuts)) = shard.iter().find(|_| mesh.is_empty()) else {
        let size = |(axis, size): &(String, i64)| {
            let size = usize::try_from(*size).map_err(|_| {
                Failure::usage(format_args!("the axis `{axis}` cannot have {size} devices"))
            })?;
            Ok((axis.clone(), size))
        };
        let mesh = mesh.iter().map(size).collect::<Outcome<_>>()?;
        return Ok(Some(Sharding { mesh, arrays: shard.clone(), replicate_rest: false }));
    };
    let axis = cuts.first().map_or("batch", |(axis, _)| axis);
    Err(Failure::usage("--shard cuts arrays along axes of a mesh, and there is no mesh")
        .hint(format_args!("say how many devices it has: --mesh {axis}=8")))
}

/// The text of a program.
pub fn module(
    program: &Program,
    options: &Options,
    optimised: bool,
    limits: &Within<'_>,
) -> Outcome<String> {
    let Within { limits, terminal, .. } = *limits;
    let passes: &[Pass] = if optimised { &[Pass::BULK, Pass::OPTIMISE] } else { &[Pass::BULK] };
    let written = watched(terminal, "compiling", || {
        cotan_stablehlo::export(&Pipeline::new(passes).run(program)?, options)
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::Type => {
            let at = place(error.span(), program.sources());
            let failure = Failure::program(format!("error: {at}{}", error.message()));
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        _ => not_made(&error, program.sources(), limits, terminal),
    })
}

//! Times of programs that are in no suite:
//! `cargo run --release -p cotan-bench --example programs -- [--threads N] FILE.ct INPUTS.npz ..`.
//!
//! Each file has a function `objective`; its inputs are the arrays `p_NAME`, by which it is
//! differentiated, and `d_NAME` of the other file. Shown are the milliseconds of value and gradient
//! (the processor time of the thread, or with several threads the time that passes: the median and the
//! least of blocks of calls), those of compiling, the value, and the norms of the gradients.

use std::path::Path;

use cotan_array::{Array, Dtype};
use cotan_bench::Result;
use cotan_bench::inputs::Inputs;
use cotan_bench::measure::{Clock, Contender, Effort, race};
use cotan_cpu::RunLimits;
use cotan_ir::{Limits, Type};
use cotan_pipeline::{CompileOptions, Derivative, compile};
use cotan_syntax::{ArgSpec, FileLoader, instantiate, load};

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut threads = 1;
    if arguments.first().is_some_and(|a| a == "--threads") {
        threads = arguments.get(1).ok_or("how many threads?")?.parse()?;
        arguments.drain(..2);
    }
    for pair in arguments.chunks(2) {
        let [program, inputs] = pair else { return Err("name a program and its inputs".into()) };
        run(program, &Inputs::read(Path::new(inputs))?, threads)?;
    }
    Ok(())
}

fn run(file: &str, inputs: &Inputs, threads: usize) -> Result<()> {
    let begin = Clock::Processor.now()?;
    let modules = load(file, &FileLoader::new(file))?;
    let interface = modules.interface("objective")?;
    let mut args = Vec::new();
    for param in &interface.params {
        let missing = || format!("{file}: there is no input `{}`", param.name);
        let array = inputs.find(&param.name).ok_or_else(missing)?;
        args.push(ArgSpec::Leaves(vec![Type::new(array.dtype(), array.shape().clone())]));
    }
    let objective = instantiate(&modules, "objective", &args, &[], &Limits::default())?.program;
    let is_param = |name: &str| inputs.params.iter().any(|(n, _)| n == name);
    let names = objective.inputs().iter().enumerate();
    let by = names.filter(|(_, input)| is_param(&input.name)).map(|(n, _)| n).collect();
    let arguments: Vec<Array> =
        objective.inputs().iter().filter_map(|input| inputs.find(&input.name).cloned()).collect();
    let options = CompileOptions {
        derivative: Some((Derivative::ValueAndGrad, Some(by))),
        ..CompileOptions::new(cotan_cpu::Engine::chosen().into())
    };
    let compiled = compile(std::borrow::Cow::Owned(objective), &options)?;
    let executable = compiled.executable.ok_or_else(|| format!("{file}: there is no plan"))?;
    let compile = Clock::Processor.now()? - begin;
    let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
    let call = |results: &mut Vec<Array>| -> Result<()> {
        let run = executable.run_into(&arguments, results, &limits);
        run.map_err(|stop| format!("the run ended early: {stop:?}").into())
    };
    let mut results = Vec::new();
    call(&mut results)?;
    let norm = |array: &Array| -> Result<f64> {
        let x = array.cast(Dtype::F64)?.to_vec::<f64>()?;
        Ok(x.iter().map(|x| x * x).sum::<f64>().sqrt())
    };
    let norms = results.iter().map(norm).collect::<Result<Vec<f64>>>()?;
    let clock = if threads == 1 { Clock::Processor } else { Clock::Wall };
    let effort = Effort { clock, ..Effort::FULL };
    let mut contenders = [Contender::function(|| call(&mut results))];
    race(&mut contenders, effort)?;
    let times = &contenders[0].times;
    println!(
        "{file}: {:.2} ms, least {:.2}, compiled in {:.0}, workspace {:.1} MB, value and norms {norms:.7?}",
        1e3 * times.median(),
        1e3 * times.least(),
        1e3 * compile,
        executable.workspace_bytes() as f64 / 1e6,
    );
    Ok(())
}

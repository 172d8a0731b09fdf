//! Programs made ready to run.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use cotan_array::Array;
use cotan_cpu::{Executable, RunLimits, Unsupported};
use cotan_interp::{Interp, Value};
use cotan_ir::{Limits, Program, Type};
use cotan_pipeline::{Backend, CompileOptions, Compiled, Derivative, compile};
use cotan_syntax::{ArgSpec, MemoryLoader, Modules, instantiate, load};

use crate::Result;
use crate::inputs::Inputs;
use crate::suite::{Benchmark, Case, LIBRARY, Measured};

/// What runs a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The fast one, or the interpreter for what it cannot run.
    Machine,
    /// The reference interpreter.
    Interpreter,
}

/// A function of a text, ready to run.
pub struct Function {
    /// The program that runs.
    pub program: Program,
    /// How long it took from the text to here.
    pub compile: Duration,
    executable: Option<Executable>,
    /// Why it is interpreted although it should not be.
    pub unsupported: Option<Unsupported>,
}

impl Function {
    /// The objective of a benchmark.
    pub fn objective(
        benchmark: &Benchmark,
        case: &Case,
        inputs: &Inputs,
        engine: Engine,
    ) -> Result<Function> {
        let begin = Instant::now();
        let source = Source { benchmark, case, inputs }.program(benchmark.objective)?;
        Function::new(source, None, begin, engine)
    }

    /// What is measured of a benchmark.
    pub fn measured(
        benchmark: &Benchmark,
        case: &Case,
        inputs: &Inputs,
        engine: Engine,
    ) -> Result<Function> {
        let begin = Instant::now();
        let source = Source { benchmark, case, inputs };
        match (benchmark.measured, benchmark.measured.derivative()) {
            (_, Some(derivative)) => {
                let objective = source.program(benchmark.objective)?;
                let position = |name: &&str| {
                    let found = objective.inputs().iter().position(|input| input.name == **name);
                    found.ok_or_else(|| format!("the objective does not take `{name}`"))
                };
                let by: Vec<usize> =
                    benchmark.by.iter().map(position).collect::<std::result::Result<_, _>>()?;
                Function::new(objective, Some((derivative, Some(by))), begin, engine)
            }
            (Measured::Function(name), None) => {
                Function::new(source.program(name)?, None, begin, engine)
            }
            (_, None) => Err("nothing is measured".into()),
        }
    }

    fn new(
        program: Program,
        derivative: Option<(Derivative, Option<Vec<usize>>)>,
        begin: Instant,
        engine: Engine,
    ) -> Result<Function> {
        let backend = match engine {
            Engine::Machine => cotan_cpu::Engine::chosen().into(),
            Engine::Interpreter => Backend::Interpreter,
        };
        let options = CompileOptions { derivative, ..CompileOptions::new(backend) };
        let Compiled { program, executable, unsupported } = compile(Cow::Owned(program), &options)?;
        Ok(Function { program, compile: begin.elapsed(), executable, unsupported })
    }

    /// The loop nests that run it, as text; nothing if it is interpreted.
    pub fn kernels(&self) -> String {
        self.executable.as_ref().map_or(String::new(), |e| e.kernels(&self.program))
    }

    /// What runs it.
    pub fn engine(&self) -> Engine {
        if self.executable.is_some() { Engine::Machine } else { Engine::Interpreter }
    }

    /// The bytes that a call needs besides arguments and results, where that is known beforehand.
    pub fn workspace_bytes(&self) -> Option<usize> {
        self.executable.as_ref().map(Executable::workspace_bytes)
    }

    /// The arguments, in order. The tangent of an input `x` is the input `v_x`.
    pub fn arguments(&self, inputs: &Inputs) -> Result<Vec<Array>> {
        let argument = |name: &str| {
            let tangent = || inputs.find(&format!("v_{}", name.strip_prefix("d.")?));
            let found = inputs.find(name).or_else(tangent);
            found.cloned().ok_or_else(|| format!("there is no input `{name}`").into())
        };
        self.program.inputs().iter().map(|input| argument(&input.name)).collect()
    }

    /// The results at arguments.
    pub fn call(&self, arguments: &[Array]) -> Result<Vec<Array>> {
        let mut results = Vec::new();
        self.call_into(arguments, &mut results, 1)?;
        Ok(results)
    }

    /// Writes the results at arguments over those of an earlier call, with so many threads.
    pub fn call_into(
        &self,
        arguments: &[Array],
        results: &mut Vec<Array>,
        threads: usize,
    ) -> Result<()> {
        match &self.executable {
            Some(executable) => {
                let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
                let run = executable.run_into(arguments, results, &limits);
                run.map_err(|stop| format!("the run ended early: {stop:?}").into())
            }
            None => {
                let values: Vec<Value> = arguments.iter().map(Value::from).collect();
                let run = Interp::new(&self.program).run(&values)?;
                let arrays = run.outputs.iter().map(Value::to_array);
                *results = arrays.collect::<std::result::Result<_, _>>()?;
                Ok(())
            }
        }
    }
}

/// Where the functions of a case come from.
struct Source<'a> {
    benchmark: &'a Benchmark,
    case: &'a Case,
    inputs: &'a Inputs,
}

impl Source<'_> {
    /// A function of the text at the types of the inputs.
    fn program(&self, function: &str) -> Result<Program> {
        let file = format!("{}.ct", self.benchmark.name);
        let loader = MemoryLoader::new().with(&file, self.benchmark.text);
        let loader = LIBRARY.iter().fold(loader, |loader, (name, text)| loader.with(*name, *text));
        let modules = load(&file, &loader)?;
        let args = self.arguments(&modules, function)?;
        let statics = self.benchmark.statics.iter().map(|name| (*name, self.case.size(name)));
        let sizes: Vec<(&str, usize)> = statics.collect();
        Ok(instantiate(&modules, function, &args, &sizes, &Limits::default())?.program)
    }

    fn arguments(&self, modules: &Modules, function: &str) -> Result<Vec<ArgSpec>> {
        let interface = modules.interface(function)?;
        let ty = |name: &str| {
            let array = self.inputs.find(name);
            array.map(|a| Type::new(a.dtype(), a.shape().clone()))
        };
        let spec = |param: &cotan_syntax::Parameter| {
            let found = ty(&param.name).map(|ty| ArgSpec::Leaves(vec![ty]));
            found.ok_or_else(|| format!("there is no input `{}`", param.name).into())
        };
        interface.params.iter().map(spec).collect()
    }
}

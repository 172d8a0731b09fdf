//! The program of a module, and its functions, compiled for the sizes that they are asked for.

use std::rc::Rc;

use cotan::{Prepared, RunOptions};
use cotan_array::Array;
use cotan_ir::{Limits, Type};
use cotan_syntax::{ArgSpec, Modules, TypeTree, instantiate};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::library::LibraryModule;
use crate::output::to_json;

/// The function of a program that makes arguments of an input, if it has one.
const INPUT: &str = "input";

/// How many compiled functions a program keeps.
const KEPT: usize = 64;

/// A function that works on more bytes is not kept: it holds on to its memory between calls.
const KEPT_BYTES: u64 = 64 << 20;

/// A function of so many operations does not take long.
const SHORT: u64 = 1 << 16;

/// A function of more operations is refused: it would take days.
const MAX_OPERATIONS: u64 = 1 << 46;

/// A function at sizes: its name, the types of its arrays, the sizes that these do not tell.
type Key = (String, Vec<Type>, Vec<(String, usize)>);

/// The program of a module, and what was compiled of it.
pub(crate) struct Program {
    modules: Modules,
    compiled: FxHashMap<Key, Rc<Compiled>>,
}

/// A function, compiled, and the type of what it gives.
struct Compiled {
    prepared: Prepared,
    result: TypeTree,
    /// Whether a call does not take long.
    short: bool,
}

/// A function with its arguments, ready to run again and again.
pub(crate) struct Call {
    function: Rc<Compiled>,
    arrays: Vec<Array>,
}

impl Call {
    /// Runs a function that does not take long once, before anything is timed: code and memory are
    /// then where they are in every later call.
    pub(crate) fn rehearse(&self, options: &RunOptions, results: &mut Vec<Array>) -> Outcome<()> {
        if self.function.short {
            self.run_into(options, results)?;
        }
        Ok(())
    }

    /// The results.
    fn run(&self) -> Outcome<Vec<Array>> {
        Ok(self.function.prepared.call(&self.arrays)?)
    }

    /// The results, in the place of earlier ones.
    pub(crate) fn run_into(&self, options: &RunOptions, results: &mut Vec<Array>) -> Outcome<()> {
        Ok(self.function.prepared.call_into(options, &self.arrays, results)?)
    }
}

impl Program {
    /// The program of a module.
    pub(crate) fn new(module: &LibraryModule) -> Outcome<Program> {
        Ok(Program { modules: module.load()?, compiled: FxHashMap::default() })
    }

    fn defines(&self, function: &str) -> bool {
        self.modules.functions().any(|known| known.name == function)
    }

    /// What an input has for a function, or for the function that makes arguments of inputs.
    pub(crate) fn arguments(&self, function: &str, input: &Value) -> Outcome<Arguments> {
        let reader = if self.defines(INPUT) { INPUT } else { function };
        Arguments::of(&self.modules.interface(reader)?, input)
    }

    /// The function, compiled for these arguments.
    pub(crate) fn prepare(&mut self, function: &str, given: Arguments) -> Outcome<Call> {
        let mut given = given;
        if self.defines(INPUT) {
            let made = self.call(INPUT, given)?.run()?;
            given = Arguments { arrays: made, sizes: Vec::new() };
        }
        self.call(function, given)
    }

    /// The output that stands for what a function gave.
    pub(crate) fn output(
        &mut self,
        function: &str,
        call: Call,
        results: Vec<Array>,
    ) -> Outcome<Value> {
        let writer = format!("{function}_output");
        if !self.defines(&writer) {
            return to_json(&call.function.result, &results);
        }
        let made = self.call(&writer, Arguments { arrays: results, sizes: Vec::new() })?;
        to_json(&made.function.result, &made.run()?)
    }

    fn call(&mut self, function: &str, given: Arguments) -> Outcome<Call> {
        let types = given.arrays.iter().map(|a| Type::new(a.dtype(), a.shape().clone())).collect();
        let key: Key = (function.to_owned(), types, given.sizes);
        let function = match self.compiled.get(&key) {
            Some(compiled) => compiled.clone(),
            None => {
                let compiled = Rc::new(self.compile(&key)?);
                if compiled.prepared.cost().peak_bytes <= KEPT_BYTES {
                    if self.compiled.len() >= KEPT {
                        self.compiled.clear();
                    }
                    self.compiled.insert(key, compiled.clone());
                }
                compiled
            }
        };
        Ok(Call { function, arrays: given.arrays })
    }

    fn compile(&self, (function, types, sizes): &Key) -> Outcome<Compiled> {
        let interface = self.modules.interface(function)?;
        let mut types = types.iter().cloned();
        let args: Vec<ArgSpec> = interface
            .params
            .iter()
            .map(|param| ArgSpec::Leaves(types.by_ref().take(param.leaves.len()).collect()))
            .collect();
        if types.next().is_some() {
            let message = format!("`{function}` does not take what it is given");
            return Err(Failure::Internal(message));
        }
        let sizes: Vec<(&str, usize)> = sizes.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let instance = instantiate(&self.modules, function, &args, &sizes, &Limits::default())?;
        let prepared = Prepared::new(&instance.program)?;
        let operations = prepared.cost().operations;
        if operations > MAX_OPERATIONS {
            let message = format!("needs {operations} operations; the limit is {MAX_OPERATIONS}");
            return Err(Failure::Program(format!("`{function}` {message}")));
        }
        let short = operations <= SHORT;
        Ok(Compiled { prepared, result: instance.result, short })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};

    #[test]
    fn functions_on_much_memory_are_not_kept() {
        let mut program = Program::new(LibraryModule::find("lse").unwrap()).unwrap();
        let mut kept_after = |n: usize| {
            let x = Array::zeros(Dtype::F64, Shape::new("test", &[n]).unwrap()).unwrap();
            program.prepare("primal", Arguments { arrays: vec![x], sizes: Vec::new() }).unwrap();
            program.compiled.len()
        };
        let many = KEPT_BYTES as usize / 8 + 1;
        assert_eq!([10, 10, many, 20].map(&mut kept_after), [1, 1, 1, 2]);
    }
}

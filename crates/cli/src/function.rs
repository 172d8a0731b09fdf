//! Which function to run, what it takes, and the program it becomes.

use std::time::Instant;

use cotan_array::Dtype;
use cotan_ir::Type;
use cotan_ir::scalar::Scalar;
use cotan_syntax::{
    ArgSpec, Code, Failure as Messages, FunctionInfo, Instance, Interface, Leaf, Modules,
    Parameter, instantiate,
};

use crate::args::{FunctionArgs, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::inputs::Inputs;
use crate::limits::out_of_time;
use crate::terminal::Terminal;

/// A function of a program, and what the command line says about it.
pub struct Function<'m> {
    modules: &'m Modules,
    pub name: &'m str,
    interface: Interface,
    sizes: Vec<(&'m str, usize)>,
    /// Parameters whose values are known at compile time.
    statics: Vec<(&'m str, Scalar)>,
}

impl<'m> Function<'m> {
    /// The function that the command line means.
    pub fn of(
        modules: &'m Modules,
        args: &'m FunctionArgs,
        terminal: &Terminal,
    ) -> Outcome<Function<'m>> {
        let info = choose(modules, args.function.as_deref())?;
        let interface =
            modules.interface(info.name).map_err(|messages| terminal.program_failure(&messages))?;
        let mut function = Function {
            modules,
            name: info.name,
            interface,
            sizes: Vec::new(),
            statics: Vec::new(),
        };
        for (name, value) in &args.sizes {
            function.give(name, *value)?;
        }
        Ok(function)
    }

    fn give(&mut self, name: &'m str, value: i64) -> Outcome {
        let twice = self.sizes.iter().any(|(n, _)| *n == name) || self.is_static(name);
        if twice {
            return Err(Failure::usage(format_args!("the size `{name}` is given twice")));
        }
        if let Some(param) = self.interface.params.iter().find(|param| param.name == name) {
            self.statics.push((name, static_value(param, value)?));
            return Ok(());
        }
        if !self.interface.sizes.iter().any(|size| size == name) {
            let failure = Failure::usage(format_args!("`{}` has no size `{name}`", self.name));
            return Err(match self.interface.sizes.as_slice() {
                [] => failure.hint("it has no sizes"),
                sizes => failure.hint(format_args!("its sizes are {}", sizes.join(", "))),
            });
        }
        let Ok(size) = usize::try_from(value) else {
            return Err(Failure::usage(format_args!("the size `{name}` cannot be {value}")));
        };
        self.sizes.push((name, size));
        Ok(())
    }

    /// Whether a parameter's value is given as a size.
    pub fn is_static(&self, param: &str) -> bool {
        self.statics.iter().any(|(name, _)| *name == param)
    }

    /// The program of the function, its arrays being of the types of the given values; where a
    /// parameter has none, the declared types.
    ///
    /// Integers and truth values that are given are known at compile time, if it cannot be
    /// made otherwise: `length = steps` with `--arg steps=8`. If it can be, they stay inputs.
    pub fn instantiate(
        &self,
        inputs: &Inputs,
        limits: &LimitArgs,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<Instance> {
        let mut args = Vec::new();
        for param in &self.interface.params {
            if let Some((_, value)) = self.statics.iter().find(|(name, _)| *name == param.name) {
                args.push(ArgSpec::Static(*value));
                continue;
            }
            let types: Option<Vec<Type>> =
                param.leaves.iter().map(|l| inputs.ty(&l.path)).collect();
            let given = types.filter(|types| !types.is_empty());
            args.push(given.map_or(ArgSpec::Declared, ArgSpec::Leaves));
        }
        let within = limits.making(begin);
        let make =
            |args: &[ArgSpec]| instantiate(self.modules, self.name, args, &self.sizes, &within);
        let mut made = make(&args);
        if let Err(messages) = &made {
            let mut known = args.clone();
            for (param, arg) in self.interface.params.iter().zip(&mut known) {
                if let Some(value) = inputs.scalar(&param.name) {
                    *arg = ArgSpec::Static(value);
                }
            }
            if known != args {
                let wants = messages.diagnostics.iter().any(|d| wants_static(d.code));
                let second = make(&known);
                if wants || second.is_ok() {
                    made = second;
                }
            }
        }
        match made {
            Ok(instance) => {
                terminal.show(&instance.warnings, instance.program.sources());
                Ok(instance)
            }
            Err(_) if within.deadline.is_some_and(|end| Instant::now() >= end) => {
                Err(out_of_time(limits))
            }
            Err(messages) => Err(self.refusal(&messages, inputs, terminal)),
        }
    }

    /// The messages of an elaboration, with what the command line can do about them.
    fn refusal(&self, messages: &Messages, inputs: &Inputs, terminal: &Terminal) -> Failure {
        let codes = || messages.diagnostics.iter().map(|diagnostic| diagnostic.code);
        let failure = terminal.program_failure(messages);
        let mut options: Vec<String> = Vec::new();
        if codes().any(|code| code == Code::SizeUnknown) {
            let sizes = self.interface.sizes.iter();
            let missing = sizes.filter(|n| self.sizes.iter().all(|(m, _)| m != n));
            options.extend(missing.map(|name| format!("--size {name}=...")));
        }
        if codes().any(wants_static) {
            let open = |param: &&Parameter| {
                let name = &param.name;
                is_integer(param) && !self.is_static(name) && inputs.ty(name).is_none()
            };
            let params = self.interface.params.iter().filter(open);
            options.extend(params.map(|param| format!("--arg {}=...", param.name)));
        }
        match options.is_empty() {
            true => failure,
            false => failure.hint(format_args!("on the command line: {}", options.join(" "))),
        }
    }

    /// Whether it takes nothing.
    pub fn takes_nothing(&self) -> bool {
        self.interface.params.is_empty()
    }

    /// The arrays that have to be given, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf> {
        let params = self.interface.params.iter().filter(|param| !self.is_static(&param.name));
        params.flat_map(|param| &param.leaves)
    }

    /// The array at a path.
    pub fn leaf(&self, path: &str) -> Option<&Leaf> {
        self.leaves().find(|leaf| leaf.path == path)
    }

    /// What has to be given, a line each.
    pub fn expected(&self) -> String {
        self.leaves().map(|leaf| format!("\n    {}: {}", leaf.path, leaf.ty)).collect()
    }
}

/// Whether an error may be none where integers are known at compile time.
fn wants_static(code: Code) -> bool {
    matches!(code, Code::NotStatic | Code::SizeUnknown | Code::RecursionTooDeep)
}

fn is_integer(param: &Parameter) -> bool {
    matches!(param.leaves.as_slice(), [leaf] if leaf.rank == 0 && leaf.dtype == Dtype::I64)
}

fn static_value(param: &Parameter, value: i64) -> Outcome<Scalar> {
    match is_integer(param) {
        true => Ok(Scalar::I64(value)),
        false => Err(Failure::usage(format_args!(
            "`{}` is a parameter of type {}, not a size",
            param.name, param.ty
        ))
        .hint(format_args!("give its value with `--arg {}=...`", param.name))),
    }
}

/// `--fn`, or `main`, or the only function there is.
fn choose<'m>(modules: &'m Modules, wanted: Option<&str>) -> Outcome<FunctionInfo<'m>> {
    let all: Vec<FunctionInfo<'m>> = modules.functions().collect();
    let list = || -> String {
        let lines = all.iter().map(|f| format!("\n    {}", one_line(f.signature)));
        lines.collect()
    };
    let name = wanted.unwrap_or("main");
    if let Some(found) = all.iter().find(|f| f.name == name) {
        return Ok(found.clone());
    }
    match (wanted, all.as_slice()) {
        (_, []) => Err(Failure::usage("this program defines no function")
            .hint("write one: `def main() = 6 * 7`")),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(Failure::usage(format_args!(
            "there is no function `main`; choose one with --fn:{}",
            list()
        ))),
        (Some(name), _) => Err(Failure::usage(format_args!(
            "there is no function `{name}`; the functions are:{}",
            list()
        ))),
    }
}

/// A text without line breaks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Which function to run, what it takes, and the program it becomes.

use std::time::Instant;

use cotan_ir::scalar::Scalar;
use cotan_ir::{Limits, Type};
use cotan_syntax::{ArgSpec, FunctionInfo, Instance, Leaf, Modules, Parameter, instantiate};

use crate::args::{FunctionArgs, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// A function of a program, and what the command line says about it.
pub struct Function<'m> {
    modules: &'m Modules,
    pub name: &'m str,
    pub params: Vec<Parameter>,
    sizes: Vec<(&'m str, usize)>,
    /// Parameters whose values are known when the program is made.
    statics: Vec<(&'m str, i64)>,
}

impl<'m> Function<'m> {
    /// The function that the command line means.
    pub fn of(
        modules: &'m Modules,
        args: &'m FunctionArgs,
        terminal: &Terminal,
    ) -> Outcome<Function<'m>> {
        let info = choose(modules, args.function.as_deref())?;
        let params = modules
            .parameters(info.name)
            .map_err(|messages| terminal.program_failure(&messages))?;
        let mut function =
            Function { modules, name: info.name, params, sizes: Vec::new(), statics: Vec::new() };
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
        if self.params.iter().any(|param| param.name == name) {
            self.statics.push((name, value));
            return Ok(());
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

    /// The program of the function, its arrays being of the types that `leaf` gives by path; where
    /// it gives none for a parameter, the declared types.
    pub fn instantiate(
        &self,
        leaf: impl Fn(&str) -> Option<Type>,
        limits: &LimitArgs,
        terminal: &Terminal,
    ) -> Outcome<Instance> {
        let mut args = Vec::new();
        for param in &self.params {
            if let Some((_, value)) = self.statics.iter().find(|(name, _)| *name == param.name) {
                args.push(ArgSpec::Static(static_value(param, *value)?));
                continue;
            }
            let types: Option<Vec<Type>> = param.leaves.iter().map(|l| leaf(&l.path)).collect();
            let given = types.filter(|types| !types.is_empty());
            args.push(given.map_or(ArgSpec::Declared, ArgSpec::Leaves));
        }
        let deadline = limits.timeout.and_then(|time| Instant::now().checked_add(time));
        let within = Limits { deadline, max_bytes: limits.limit_bytes, ..Limits::default() };
        match instantiate(self.modules, self.name, &args, &self.sizes, &within) {
            Ok(instance) => {
                terminal.show(&instance.warnings, instance.program.sources());
                Ok(instance)
            }
            Err(messages) if deadline.is_some_and(|end| Instant::now() >= end) => {
                let rendered = terminal.render(&messages.diagnostics, &messages.sources);
                Err(Failure::limit(rendered))
            }
            Err(messages) => Err(terminal.program_failure(&messages)),
        }
    }

    /// The arrays that have to be given, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf> {
        let params = self.params.iter().filter(|param| !self.is_static(&param.name));
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

fn static_value(param: &Parameter, value: i64) -> Outcome<Scalar> {
    use cotan_array::Dtype;
    match param.leaves.as_slice() {
        [leaf] if leaf.rank == 0 && leaf.dtype == Dtype::I64 => Ok(Scalar::I64(value)),
        _ => Err(Failure::usage(format_args!(
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

//! The gradient of a function, as a program to be read.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use cotan_ir::{Limits, Program, SourceMap, Watch, within};
use cotan_pipeline::{Backend, CompileOptions, CompilePass, Derivative, Form, compile_to};
use cotan_syntax::{format, sample};

use crate::analysis::{Loaded, Snapshot};

/// How long that may take.
const TIME: Duration = Duration::from_secs(10);

/// The program of the value and the gradient of a function of a file, optimised, at sizes that fit.
pub fn gradient(snapshot: &Snapshot, function: &str) -> Result<String, String> {
    let end = Instant::now() + TIME;
    let watch = Watch { deadline: Some(end), ..Watch::default() };
    within(watch, || {
        let loaded = Loaded::new(snapshot).map_err(|failure| failure.to_string())?;
        let limits = Limits { deadline: Some(end), ..Limits::default() };
        let instance = sample(&loaded.modules, function, &limits)
            .ok_or_else(|| format!("no sizes were found that fit `{function}`"))?;
        let program = &instance.program;
        let derivative = kind(program).ok_or_else(|| {
            format!("`{function}` has no derivatives: it takes or gives no floats")
        })?;
        let options = CompileOptions {
            derivative: Some((derivative, None)),
            ..CompileOptions::new(Backend::Native)
        };
        let form = compile_to(Cow::Borrowed(program), &options, Some(CompilePass::OPTIMISE.name))
            .map_err(|error| error.to_string())?;
        let Form::Program(program) = form else {
            return Err(format!("the gradient of `{function}` is not made by these passes"));
        };
        let params: Vec<String> =
            instance.params.iter().map(|(name, tree)| format!("{name}: {tree}")).collect();
        let text = program.to_string();
        let file = SourceMap::new().add("gradient", text.as_str());
        let text = format(file, &text).unwrap_or(text);
        let head = format!("# The value and the gradient of {function}({}).\n", params.join(", "));
        Ok(head + &text)
    })
}

/// The derivative that stands for the gradient.
fn kind(program: &Program) -> Option<Derivative> {
    let takes = program.inputs().iter().any(|input| input.ty.dtype.is_float());
    let gives = program.outputs().iter().any(|output| program.dtype(output.term).is_float());
    let scalar = program.outputs().first().is_some_and(|output| {
        program.shape(output.term).rank() == 0 && program.dtype(output.term).is_float()
    });
    match (takes && gives, scalar) {
        (false, _) => None,
        (true, true) => Some(Derivative::ValueAndGrad),
        (true, false) => Some(Derivative::Vjp),
    }
}

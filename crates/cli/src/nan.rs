//! `--trace-nan`: where a NaN or infinity comes from.

use cotan_ad::{NonFinite, Origin, trace_nan};
use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::Program;

use crate::args::LimitArgs;
use crate::failure::Outcome;
use crate::limits::not_made;
use crate::progress::watched;
use crate::run::place;
use crate::terminal::Terminal;

/// What there is to say about a program of bulk operations at arguments, and about its derivative by
/// the inputs `wrt`; `results` are the names of its results.
pub fn report(
    program: &Program,
    wrt: &[usize],
    results: &[String],
    arrays: &[Array],
    limits: &LimitArgs,
    terminal: &Terminal,
) -> Outcome<String> {
    let values: Vec<Value> = arrays.iter().map(Value::from).collect();
    let found = watched(terminal, "tracing", || trace_nan(program, wrt, &values))
        .map_err(|error| not_made(&error, program.sources(), limits, terminal))?;
    Ok(match found {
        Some(found) => message(&found, program, results),
        None if wrt.is_empty() => "all results are finite".to_owned(),
        None => "all results and derivatives are finite".to_owned(),
    })
}

fn element(name: &str, index: &[usize]) -> String {
    match index {
        [] => name.to_owned(),
        _ => format!("{name}{index:?}"),
    }
}

fn message(found: &NonFinite, program: &Program, results: &[String]) -> String {
    let input = |k: usize| program.inputs().get(k).map_or("", |input| &input.name);
    let what = match found.in_derivative {
        true => format!("the derivative by {}", element(input(found.number), &found.index)),
        false => {
            let name =
                results.get(found.number).map(String::as_str).filter(|name| !name.is_empty());
            element(name.unwrap_or("the result"), &found.index)
        }
    };
    let part = if found.in_derivative { "in the derivative" } else { "in the value" };
    let origin = match &found.origin {
        Origin::Input { number, index } => {
            format!("the argument {} is not finite", element(input(*number), index))
        }
        Origin::Constant => "a constant of the program is not finite".to_owned(),
        Origin::Operation { op, span, index, made, operands } => {
            let operands: Vec<String> = operands
                .iter()
                .map(|(ty, element)| match element {
                    Some(element) => element.clone(),
                    None => ty.to_string(),
                })
                .collect();
            let at = if index.is_empty() { String::new() } else { format!(" at {index:?}") };
            let line = program.sources().position(*span).map(|at| {
                let text = program.sources().text(span.file);
                format!(
                    "\n    {}",
                    text.lines()
                        .nth((at.line as usize).saturating_sub(1))
                        .unwrap_or_default()
                        .trim()
                )
            });
            format!(
                "{}{part}: `{op}({})` made {made}{at}{}",
                place(*span, program.sources()),
                operands.join(", "),
                line.unwrap_or_default()
            )
        }
    };
    format!("{what} is {}\n{origin}", found.value)
}

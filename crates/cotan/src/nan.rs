//! Where a NaN or infinity comes from.

use std::fmt;

use cotan_ad::Origin;
use cotan_interp::Value;
use cotan_ir::{Program, Span};

use crate::compile::Compiled;
use crate::error::Result;
use crate::structure::{Arrays, Feed};

/// A value or derivative that is not finite, and what made it so: what
/// [`Compiled::trace_nan`] finds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NonFinite {
    /// Whether it is a derivative of the sum of the results; a value otherwise.
    pub in_derivative: bool,
    /// The argument by which the derivative is, or the result, by the path in its structure.
    pub name: String,
    /// The element there.
    pub index: Vec<usize>,
    /// NaN or an infinity.
    pub value: f64,
    /// The first operation that made one of finite operands, with these; or the argument that has it.
    pub origin: String,
    /// The line of the operation, or of that of which it is the derivative: `file:line:column`. Empty
    /// where the caller's line is not known.
    pub place: String,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.in_derivative { "the derivative by " } else { "the result" };
        let part = if self.in_derivative { "derivative" } else { "value" };
        let space = if self.in_derivative || self.name.is_empty() { "" } else { " " };
        let (name, index) = (&self.name, element("", &self.index));
        write!(f, "{what}{space}{name}{index} is {}: in the {part}, {}", self.value, self.origin)?;
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        Ok(())
    }
}

fn element(name: &str, index: &[usize]) -> String {
    match index {
        [] => name.to_owned(),
        _ => format!("{name}{index:?}"),
    }
}

/// `file:line:column`, where it is known.
pub(crate) fn place_of(program: &Program, span: Span) -> String {
    let sources = program.sources();
    sources.position(span).map_or_else(String::new, |at| {
        format!("{}:{}:{}", sources.name(span.file), at.line, at.column)
    })
}

impl<A: Arrays, R: Arrays> Compiled<A, R> {
    /// Which operation made a NaN or infinity that reaches a result or, where these are finite, a
    /// derivative of their sum by a float argument; `None` if all are finite. What is masked, such as
    /// a branch not taken, does not count. Runs slowly, operation by operation.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.sqrt() * 2.0).sum(), [3])?;
    /// assert!(f.trace_nan([1.0, 4.0, 9.0])?.is_none());
    /// // The value is finite at 0, the derivative is not.
    /// let found = f.trace_nan([1.0, 0.0, 9.0])?.unwrap();
    /// assert!(found.in_derivative);
    /// assert_eq!(found.index, [1]);
    /// let found = f.trace_nan([1.0, 4.0, -1.0])?.unwrap();
    /// assert!(!found.in_derivative);
    /// let text = found.to_string();
    /// assert!(text.starts_with("the result is NaN: in the value, `sqrt(-1.0)` made NaN at [2]"));
    /// // With the line of `sqrt` above.
    /// assert!(found.place.contains(".rs:"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn trace_nan(&self, args: impl Feed<A>) -> Result<Option<NonFinite>> {
        let location = std::panic::Location::caller();
        let fed = args.feed();
        self.check("trace_nan", &fed.tree).map_err(|error| error.at(location))?;
        let program = self.program();
        let values: Vec<Value> = fed.arrays.iter().map(Value::from).collect();
        let inputs = program.inputs().iter().enumerate();
        let wrt: Vec<usize> =
            inputs.filter(|(_, x)| x.ty.dtype.is_float()).map(|(k, _)| k).collect();
        let found = cotan_ad::trace_nan(program, &wrt, &values)?;
        let input = |k: usize| program.inputs().get(k).map_or("", |input| &input.name);
        let out = self.out().leaves("");
        Ok(found.map(|found| NonFinite {
            in_derivative: found.in_derivative,
            name: match found.in_derivative {
                true => input(found.number).to_owned(),
                false => out.get(found.number).map_or("", |(path, _)| path).to_owned(),
            },
            index: found.index,
            value: found.value,
            place: match &found.origin {
                Origin::Operation { span, .. } => place_of(program, *span),
                Origin::Input { .. } | Origin::Constant => String::new(),
            },
            origin: match found.origin {
                Origin::Input { number, index } => {
                    format!("the argument {} is not finite", element(input(number), &index))
                }
                Origin::Constant => "a constant is not finite".to_owned(),
                Origin::Operation { op, index, made, operands, .. } => {
                    let operands: Vec<String> = operands
                        .into_iter()
                        .map(|(ty, element)| element.unwrap_or_else(|| ty.to_string()))
                        .collect();
                    let at =
                        if index.is_empty() { String::new() } else { format!(" at {index:?}") };
                    format!("`{op}({})` made {made}{at}", operands.join(", "))
                }
            },
        }))
    }
}

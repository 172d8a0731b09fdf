//! `cotan plot`

use std::fs;
use std::path::Path;
use std::time::Instant;

use cotan_array::{Array, Dtype};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, derive};
use cotan_view::{Curve, Field, curves_svg, draw, field_svg, field_text};

use crate::args::{Backend, PlotArgs};
use crate::explain::differentiable;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::machine::Prepared;
use crate::progress::watched;
use crate::source::Text;
use crate::terminal::Terminal;

/// From where to where if nothing is said.
const RANGE: (f64, f64) = (-3.0, 3.0);
/// Points of a curve, and in each direction of a field.
const POINTS: usize = 400;
const GRID: usize = 72;

/// Draws a function of one or of two numbers.
pub fn plot(args: &PlotArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    let program = function.instantiate(&inputs, &args.limits, begin, terminal)?.program;
    let plotted = Plotted::new(program, &inputs, args, &within)?;
    let dots = args.data.as_deref().map_or_else(|| Ok(Vec::new()), data)?;
    let (text, svg) = match *plotted.free {
        [_] => plotted.curves(function.name, &dots, args, &within)?,
        _ if !dots.is_empty() => {
            return Err(Failure::usage("--data is for functions of one number"));
        }
        _ => plotted.field(function.name, args, &within)?,
    };
    match &args.svg {
        None => terminal.write(&text),
        Some(file) => {
            let svg = svg.ok_or_else(|| {
                Failure::program("error: no value is finite there, so there is nothing to draw")
            })?;
            fs::write(file, svg)
                .map_err(|error| Failure::data(format_args!("{}: {error}", file.display())))
        }
    }
}

/// A function that is ready to be drawn.
struct Plotted {
    prepared: Prepared,
    /// The arguments; those that are free have any value.
    arguments: Vec<Array>,
    /// The positions and names of the free arguments.
    free: Vec<(usize, String, Dtype)>,
    has_gradient: bool,
}

/// A value, and the derivatives by the free arguments, if there are any.
type Point = (f64, Vec<f64>);

impl Plotted {
    fn new(
        program: Program,
        inputs: &Inputs,
        args: &PlotArgs,
        within: &Within<'_>,
    ) -> Outcome<Plotted> {
        let Within { limits, terminal, .. } = *within;
        let (mut free, mut arguments) = (Vec::new(), Vec::new());
        for (k, input) in program.inputs().iter().enumerate() {
            if let Some(value) = inputs.value(&input.name) {
                arguments.push(value.to_array().map_err(Failure::internal)?);
                continue;
            }
            if input.ty.shape.rank() > 0 || !input.ty.dtype.is_float() {
                let (name, ty) = (&input.name, &input.ty);
                let message = format!("`{name}` is {ty}, and only numbers are drawn over");
                return Err(Failure::usage(message).hint(format!("give it: --arg {name}=...")));
            }
            arguments.push(number(0.0, input.ty.dtype)?);
            free.push((k, input.name.clone(), input.ty.dtype));
        }
        if free.is_empty() || free.len() > 2 {
            let names: Vec<&str> = free.iter().map(|(_, name, _)| &**name).collect();
            return Err(Failure::usage(format!(
                "a plot is over one or two numbers, and {} are left: {}",
                free.len(),
                names.join(", ")
            ))
            .hint("give the others a value: --arg NAME=..."));
        }
        if let Some((name, _)) =
            args.range.iter().find(|(name, _)| !free.iter().any(|(_, n, _)| n == name))
        {
            return Err(Failure::usage(format!("there is nothing to draw over called `{name}`")));
        }
        let scalar = |program: &Program| {
            let mut outputs = program.outputs().iter();
            matches!((outputs.next(), outputs.next()), (Some(output), None)
                if program.shape(output.term).rank() == 0)
        };
        if !scalar(&program) {
            return Err(Failure::usage("only functions that give one number are drawn"));
        }
        let has_gradient = !args.no_derivative && differentiable(&program).is_ok();
        let sources = program.sources().clone();
        let program = match has_gradient {
            false => program,
            true => {
                let by: Vec<usize> = free.iter().map(|(k, ..)| *k).collect();
                let made = watched(terminal, "differentiating", || {
                    derive(&program, Derivative::ValueAndGrad, Some(&by))
                });
                made.map_err(|error| not_made(&error, &sources, limits, terminal))?
            }
        };
        let prepared = Prepared::new(program, Backend::chosen(None)?, limits, terminal)?;
        Ok(Plotted { prepared, arguments, free, has_gradient })
    }

    /// From where to where an argument goes.
    fn range(&self, n: usize, args: &PlotArgs) -> (f64, f64) {
        let name = self.free.get(n).map(|(_, name, _)| name);
        let said = args.range.iter().find(|(said, _)| Some(said) == name);
        said.map_or(RANGE, |(_, range)| *range)
    }

    fn at(&mut self, point: &[f64], within: &Within<'_>) -> Outcome<Point> {
        for ((k, _, dtype), x) in self.free.iter().zip(point) {
            self.arguments[*k] = number(*x, *dtype)?;
        }
        let Within { limits, begin, terminal } = *within;
        let results = self.prepared.run(&self.arguments, limits, begin, terminal)?;
        let mut numbers = Vec::with_capacity(results.len());
        for array in &results {
            let floats = array.cast(Dtype::F64).map_err(Failure::data)?;
            numbers.extend(floats.to_vec::<f64>().map_err(Failure::internal)?);
        }
        let value = numbers.first().copied().unwrap_or(f64::NAN);
        Ok((value, numbers.split_off(numbers.len().min(1))))
    }

    fn curves(
        mut self,
        name: &str,
        dots: &[(f64, f64)],
        args: &PlotArgs,
        within: &Within<'_>,
    ) -> Outcome<(String, Option<String>)> {
        let (from, to) = self.range(0, args);
        let points = spread(from, to, POINTS);
        let (mut values, mut slopes) = (Vec::new(), Vec::new());
        for x in &points {
            let (value, slope) = self.at(&[*x], within)?;
            values.push(value);
            slopes.extend(slope);
        }
        let mut curves = vec![Curve { name: name.to_owned(), values }];
        if self.has_gradient {
            curves.push(Curve { name: format!("grad({name})"), values: slopes });
        }
        let text = draw(&points, &curves, within.terminal.has_colours());
        let title = format!("{name}({})", self.free[0].1);
        Ok((text, curves_svg(&title, &points, &curves, dots)))
    }

    fn field(
        mut self,
        name: &str,
        args: &PlotArgs,
        within: &Within<'_>,
    ) -> Outcome<(String, Option<String>)> {
        let ranges = [self.range(0, args), self.range(1, args)];
        let [xs, ys] = ranges.map(|(from, to)| spread(from, to, GRID));
        let (mut values, mut gradients) = (Vec::new(), Vec::new());
        for y in &ys {
            for x in &xs {
                let (value, gradient) = self.at(&[*x, *y], within)?;
                values.push(value);
                gradients.extend(<[f64; 2]>::try_from(gradient).ok());
            }
        }
        let names = [name, &self.free[0].1, &self.free[1].1].map(str::to_owned);
        let field = Field { names, ranges, size: GRID, values, gradients };
        Ok((field_text(&field), field_svg(&field)))
    }
}

/// Numbers at equal distances, both ends among them.
fn spread(from: f64, to: f64, count: usize) -> Vec<f64> {
    let part = |k: usize| k as f64 / (count - 1) as f64;
    (0..count).map(|k| from * (1.0 - part(k)) + to * part(k)).collect()
}

fn number(x: f64, dtype: Dtype) -> Outcome<Array> {
    match dtype {
        Dtype::F32 => Ok(Array::scalar(x as f32)),
        _ => Ok(Array::scalar(x)),
    }
}

/// Two numbers on each line, with a comma or spaces in between; a first line may be names.
fn data(file: &Path) -> Outcome<Vec<(f64, f64)>> {
    let text = fs::read_to_string(file).map_err(|error| {
        Failure::data(format_args!("cannot read `{}`: {error}", file.display()))
    })?;
    let mut dots = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let words = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|w| !w.is_empty());
        let words: Vec<&str> = words.collect();
        match words.as_slice() {
            [] => {}
            [a, b] if a.parse::<f64>().is_ok() && b.parse::<f64>().is_ok() => {
                dots.extend(a.parse().ok().zip(b.parse().ok()));
            }
            _ if n == 0 => {}
            _ => {
                let (file, n) = (file.display(), n + 1);
                return Err(Failure::data(format_args!("{file}:{n}: two numbers are needed")));
            }
        }
    }
    Ok(dots)
}

/// `x=-3..3`
pub fn named_range(text: &str) -> Result<(String, (f64, f64)), String> {
    let parsed = text.split_once('=').and_then(|(name, range)| {
        let (from, to) = range.split_once("..")?;
        let (from, to): (f64, f64) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        Some((name.trim().to_owned(), (from, to)))
    });
    let (name, (from, to)) = parsed.ok_or("write it as x=-3..3")?;
    if from < to && (to - from).is_finite() {
        Ok((name, (from, to)))
    } else {
        Err("a range goes from a number to a larger one".to_owned())
    }
}

//! Whether the derivatives of a function are right at a point.
//!
//! Everything is decided in `f64`: a function of `f32` is tested as it would be with `f64` throughout,
//! so that differences are exact enough to tell, and what `f32` makes of it is looked at after that.

use cotan_array::Dtype;
use cotan_interp::{Options, Value};
use cotan_ir::Program;

use crate::derivatives::{Entry, Function, Rng, at, mapped, moved, widened};
use crate::differences::{Claim, Estimate, Finding, TOLERANCE as BY_DIFFERENCES, examine};
use crate::failure::Outcome;
use crate::progress::Pace;

/// The most entries of a gradient that are tested one by one; larger ones are sampled.
const MAX_ENTRIES: usize = 256;

/// How many results are looked through for one that shows what is wrong.
const MAX_SHOWN: usize = 64;

/// The error of one mode against another that is accepted, relative to the gradient, beside what
/// follows from a change of the inputs in their last places.
const TOLERANCE: f64 = 1e-10;

/// The error up to which derivatives that are computed to a tolerance of their own may be right,
/// likewise; whether they are cannot be told.
const ITERATED: f64 = 0.5;

const NOT_EXACT: &str = "derivatives that are computed to a tolerance agree no better than that";

/// The error of `f32` that is accepted, likewise.
const SINGLE_TOLERANCE: f64 = 1e-3;

/// How many derivatives were compared, and how many there were to compare; less if time was up.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    pub done: usize,
    pub of: usize,
}

/// What became of a function at a point.
pub enum Verdict {
    /// The values or the gradient are not finite there.
    NotFinite,
    /// Everything agrees: how many derivatives were compared, and the largest error of each way to
    /// compute them.
    Right(Compared, Vec<(&'static str, f64)>),
    /// Something cannot be told; why.
    Undecided(String),
    /// Something is wrong; what.
    Wrong(String),
}

/// A function to be tested.
pub struct Subject {
    /// With `f64` throughout.
    wide: Function,
    /// As it is, if that has `f32`.
    single: Option<Function>,
}

impl Subject {
    /// `None` if the function cannot be written with `f64` throughout.
    pub fn new(program: &Program, options: &Options) -> Outcome<Option<Subject>> {
        let single = program.terms().any(|t| program.dtype(t) == Dtype::F32);
        if !single {
            let wide = Function::new(program.clone(), options.clone())?;
            return Ok(Some(Subject { wide, single: None }));
        }
        let Ok(wide) = program.widened() else { return Ok(None) };
        let wide = Function::new(wide, options.clone())?;
        let single = Some(Function::new(program.clone(), options.clone())?);
        Ok(Some(Subject { wide, single }))
    }

    /// Tests the function at a point.
    pub fn verdict(&self, inputs: &[Value], rng: &mut Rng, pace: &Pace) -> Outcome<Verdict> {
        let wide = widened(inputs)?;
        let weights: Vec<f64> = match self.wide.numbers() {
            1 => vec![1.0],
            n => (0..n).map(|_| rng.between(0.5, 1.5)).collect(),
        };
        let Some(point) = Point::new(&self.wide, wide, weights, rng, pace)? else {
            return Ok(Verdict::NotFinite);
        };
        let verdict = point.verdict()?;
        match (&self.single, verdict) {
            (Some(single), Verdict::Right(count, errors)) => {
                point.rounded(single, inputs, count, errors)
            }
            (_, verdict) => Ok(verdict),
        }
    }
}

/// A function at a point, its results weighted and added up.
struct Point<'f> {
    function: &'f Function,
    pace: &'f Pace,
    inputs: Vec<Value>,
    weights: Vec<f64>,
    gradient: Vec<Vec<f64>>,
    /// The largest derivative.
    scale: f64,
    /// How far rounding moves the weighted sum, and the gradient.
    rounding: f64,
    unrest: f64,
    /// How far it moves the gradient if inputs are rounded to `f32`.
    single_unrest: f64,
    /// How exact the gradient is for the tolerances of solvers.
    loose: f64,
    /// Whether derivatives are computed to tolerances that are not known.
    iterates: bool,
}

impl<'f> Point<'f> {
    /// `None` where the values or the gradient are not finite.
    fn new(
        function: &'f Function,
        inputs: Vec<Value>,
        weights: Vec<f64>,
        rng: &mut Rng,
        pace: &'f Pace,
    ) -> Outcome<Option<Point<'f>>> {
        let values = function.values(&inputs)?;
        let gradient = function.gradient(&inputs, &weights)?;
        let all = || gradient.iter().flatten().copied();
        if !values.iter().copied().chain(all()).all(f64::is_finite) {
            return Ok(None);
        }
        let magnitude: f64 = values.iter().zip(&weights).map(|(x, w)| (x * w).abs()).sum();
        let mut point = Point {
            function,
            pace,
            scale: all().map(f64::abs).fold(0.0, f64::max),
            rounding: f64::EPSILON * magnitude,
            unrest: 0.0,
            single_unrest: 0.0,
            loose: 0.0,
            iterates: function.iterates(),
            inputs,
            weights,
            gradient,
        };
        if let Some(plain) = function.plain_gradient(&point.inputs, &point.weights)? {
            point.loose = 4.0 * distance(&point.gradient, &plain);
        }
        if point.iterates {
            point.loose += BY_DIFFERENCES * point.scale;
        }
        // What a change in the last places of the inputs does is what rounding may do.
        let middle = dot(&values, &point.weights);
        for _ in 0..2 {
            let near = point.shaken(f64::EPSILON, rng)?;
            let value = dot(&function.values(&near)?, &point.weights);
            point.rounding = point.rounding.max((value - middle).abs());
            point.unrest = point.unrest.max(point.change(&near)?);
            let far = point.shaken(f64::from(f32::EPSILON), rng)?;
            point.single_unrest = point.single_unrest.max(point.change(&far)?);
        }
        Ok(Some(point))
    }

    /// The inputs, each moved by up to so much of itself.
    fn shaken(&self, by: f64, rng: &mut Rng) -> Outcome<Vec<Value>> {
        mapped(&self.inputs, |x| x * (1.0 + by * rng.between(-2.0, 2.0)))
    }

    /// The largest change of the gradient.
    fn change(&self, inputs: &[Value]) -> Outcome<f64> {
        let there = self.function.gradient(inputs, &self.weights)?;
        Ok(distance(&self.gradient, &there))
    }

    fn entries(&self) -> Vec<Entry> {
        let all = self.function.entries();
        let stride = all.len().div_ceil(MAX_ENTRIES).max(1);
        all.into_iter().step_by(stride).collect()
    }

    fn verdict(&self) -> Outcome<Verdict> {
        let mut errors = Errors::new(self.scale);
        let mut entries = self.entries();
        let all = entries.len();
        let scalars = self.function.gradient_by_scalars(&self.inputs, &self.weights)?;
        // Half of the time is for each way to check; at least one entry is checked in both.
        let half = self.pace.half();
        for (done, &entry) in entries.iter().enumerate() {
            self.pace.at(done, 2 * all);
            if done > 0 && half.is_over() {
                entries.truncate(done);
                break;
            }
            let reverse = of(&self.gradient, entry);
            let tangents = self.function.tangents(&self.inputs, entry)?;
            let forward = dot(&tangents, &self.weights);
            let by_scalars = scalars.as_ref().map(|gradient| of(gradient, entry));
            for (way, other) in [("forward", Some(forward)), ("scalars", by_scalars)] {
                let Some(other) = other else { continue };
                let error = (other - reverse).abs();
                errors.add(way, error);
                let accepted = TOLERANCE * self.scale + 64.0 * self.unrest + self.loose;
                if error.is_nan() || error > accepted {
                    let found = self.ways_differ(entry, &tangents)?;
                    return Ok(match self.may_be_iterated(error) {
                        true => Verdict::Undecided(format!("{found}; {NOT_EXACT}")),
                        false => Verdict::Wrong(found),
                    });
                }
            }
        }
        let mut doubts: Vec<(Entry, Finding)> = Vec::new();
        let mut compared = Compared { done: entries.len(), of: all };
        for (done, &entry) in entries.iter().enumerate() {
            self.pace.at(all + done, 2 * all);
            if done > 0 && self.pace.is_over() {
                compared.done = done;
                break;
            }
            match self.finding(entry)? {
                Finding::Agrees(error) => errors.add("differences", error),
                finding => match self.around(entry, finding)? {
                    Some(wrong) => return Ok(Verdict::Wrong(wrong)),
                    None => doubts.push((entry, finding)),
                },
            }
        }
        match doubts.first() {
            Some(&(entry, finding)) => Ok(Verdict::Undecided(self.doubt(entry, finding)?)),
            None => Ok(Verdict::Right(compared, errors.ways)),
        }
    }

    /// Whether an error can come from a tolerance that is not known.
    fn may_be_iterated(&self, error: f64) -> bool {
        self.iterates && error <= ITERATED * self.scale
    }

    /// What differences say about an entry. They see what `stop_gradient` hides, such as how the
    /// steps of a solver change: what they say is compared with the derivative without it, too.
    fn finding(&self, entry: Entry) -> Outcome<Finding> {
        let finding = self.examine(entry, of(&self.gradient, entry))?;
        if !matches!(finding, Finding::Differs(_)) {
            return Ok(finding);
        }
        let Some(gradient) = self.function.unstopped_gradient(&self.inputs, &self.weights)? else {
            return Ok(finding);
        };
        Ok(match self.examine(entry, of(&gradient, entry))? {
            agrees @ Finding::Agrees(_) => agrees,
            _ => finding,
        })
    }

    /// What differences say about a slope at an entry.
    fn examine(&self, entry: Entry, slope: f64) -> Outcome<Finding> {
        let at = at(&self.inputs, entry);
        let Point { scale, rounding, loose, .. } = *self;
        let claim = Claim { slope, at, scale, rounding, loose };
        examine(&claim, |distance| {
            let (inputs, there) = moved(&self.inputs, entry, at + distance)?;
            Ok((there - at, dot(&self.function.values(&inputs)?, &self.weights)))
        })
    }

    /// A wrong rule is wrong around a point as well; what is right around it is at most a kink there.
    /// If it is wrong, in which way.
    fn around(&self, entry: Entry, finding: Finding) -> Outcome<Option<String>> {
        let here = at(&self.inputs, entry);
        let unit = here.abs().max(1.0);
        let mut wrong = None;
        let mut right = 0;
        for shift in [-1e-2, -3e-3, 3e-3, 1e-2] {
            let (inputs, _) = moved(&self.inputs, entry, here + shift * unit)?;
            let gradient = self.function.gradient(&inputs, &self.weights)?;
            let there = Point { inputs, gradient, weights: self.weights.clone(), ..*self };
            match there.finding(entry)? {
                Finding::Differs(_) => wrong = Some(there),
                Finding::Agrees(_) => right += 1,
                Finding::Kink(..) | Finding::Hidden(_) | Finding::Rough => {}
            }
        }
        match (finding, wrong) {
            (Finding::Differs(slope), _)
                if self.may_be_iterated((slope - of(&self.gradient, entry)).abs()) =>
            {
                Ok(None)
            }
            (Finding::Differs(_), wrong) if wrong.is_some() || right == 0 => {
                self.wrong(entry).map(Some)
            }
            (_, Some(there)) => there.wrong(entry).map(Some),
            (_, None) => Ok(None),
        }
    }

    /// The slopes of every number of the results at an entry: on the left, in the middle, on the right.
    fn slopes(&self, entry: Entry) -> Outcome<Vec<Estimate>> {
        let at = at(&self.inputs, entry);
        let width = 3e-5 * at.abs().max(1.0);
        let mut values = Vec::with_capacity(5);
        for distance in [-width, -width / 2.0, 0.0, width / 2.0, width] {
            let (inputs, there) = moved(&self.inputs, entry, at + distance)?;
            values.push((there - at, self.function.values(&inputs)?));
        }
        let number = |n: usize, k: usize| -> (f64, f64) {
            let found = values.get(k).map(|(t, v)| (*t, v.get(n).copied().unwrap_or(f64::NAN)));
            found.unwrap_or((f64::NAN, f64::NAN))
        };
        let numbers = 0..self.function.numbers();
        Ok(numbers
            .map(|n| Estimate::new([0, 1, 2, 3, 4].map(|k| number(n, k)), self.rounding))
            .collect())
    }

    /// The derivative of one number of the results, in reverse mode.
    fn reverse(&self, entry: Entry, number: usize) -> Outcome<f64> {
        let unit = unit(self.weights.len(), number);
        Ok(of(&self.function.gradient(&self.inputs, &unit)?, entry))
    }

    /// The result by the entry, and where that is.
    fn named(&self, entry: Entry, number: usize) -> String {
        let place = self.function.place(entry);
        let result = self.function.output_place(number);
        format!(
            "the derivative of `{result}` by `{place}` at {place} = {}",
            at(&self.inputs, entry)
        )
    }

    fn wrong(&self, entry: Entry) -> Outcome<String> {
        self.ways_differ(entry, &self.function.tangents(&self.inputs, entry)?)
    }

    /// The derivative that shows best that an entry is wrong, in every way to compute it.
    fn ways_differ(&self, entry: Entry, tangents: &[f64]) -> Outcome<String> {
        let slopes = self.slopes(entry)?;
        let mut errors: Vec<f64> =
            slopes.iter().zip(tangents).map(|(e, t)| (e.slope - t).abs()).collect();
        // Reverse mode has to be run for each number.
        for (number, (error, tangent)) in
            errors.iter_mut().zip(tangents).take(MAX_SHOWN).enumerate()
        {
            let reverse = self.reverse(entry, number)?;
            *error = (*error).max((reverse - tangent).abs());
        }
        let number = largest(errors.into_iter());
        let reverse = self.reverse(entry, number)?;
        let forward = tangents.get(number).copied().unwrap_or(f64::NAN);
        let slope = slopes.get(number).map_or(f64::NAN, |estimate| estimate.slope);
        let unit = unit(self.weights.len(), number);
        let scalars = self.function.gradient_by_scalars(&self.inputs, &unit)?;
        let mut ways = vec![format!("{} in forward mode", show(forward))];
        if let Some(gradient) = scalars {
            ways.push(format!("{} by the algorithm on scalars", show(of(&gradient, entry))));
        }
        let ways = ways.join(", ");
        let named = self.named(entry, number);
        let (reverse, slope) = (show(reverse), show(slope));
        Ok(format!("{named} is {reverse} in reverse mode, {ways}, and {slope} by differences"))
    }

    /// Why an entry cannot be decided.
    fn doubt(&self, entry: Entry, finding: Finding) -> Outcome<String> {
        let slopes = self.slopes(entry)?;
        let number = largest(slopes.iter().map(|e| (e.right - e.left).abs()));
        let named = self.named(entry, number);
        let reverse = show(self.reverse(entry, number)?);
        Ok(match finding {
            Finding::Kink(..) => {
                let sides = slopes.get(number).map(|e| (show(e.left), show(e.right)));
                let (left, right) = sides.unwrap_or_default();
                format!(
                    "{named} is at a kink: the slope is {left} on the left and {right} on the right; \
                     reverse mode gives {reverse}"
                )
            }
            Finding::Differs(slope)
                if self.may_be_iterated((slope - of(&self.gradient, entry)).abs()) =>
            {
                let slope = slopes.get(number).map_or(f64::NAN, |estimate| estimate.slope);
                let slope = show(slope);
                format!(
                    "{named} is {reverse} in reverse mode and {slope} by differences; {NOT_EXACT}"
                )
            }
            Finding::Differs(_) => format!(
                "{named} is {reverse} in reverse mode, unlike that of points around it, where \
                 differences agree"
            ),
            Finding::Hidden(noise) => format!(
                "{named} is {reverse} in reverse mode, but the rounding of the values hides \
                 derivatives below {}",
                show(noise)
            ),
            Finding::Agrees(_) | Finding::Rough => format!(
                "{named} is {reverse} in reverse mode, but differences do not settle: the values jump, \
                 or turn too often"
            ),
        })
    }

    /// Looks at what `f32` makes of derivatives that are right.
    fn rounded(
        &self,
        single: &Function,
        inputs: &[Value],
        count: Compared,
        mut errors: Vec<(&'static str, f64)>,
    ) -> Outcome<Verdict> {
        let gradient = single.gradient(inputs, &self.weights)?;
        let error = distance(&self.gradient, &gradient);
        let accepted = SINGLE_TOLERANCE * self.scale + 16.0 * self.single_unrest;
        if error <= accepted {
            errors.push(("rounding to f32", relative(error, self.scale)));
            return Ok(Verdict::Right(count, errors));
        }
        Ok(Verdict::Undecided(format!(
            "the derivatives are right with f64 throughout, but f32 rounds them by {} of the largest",
            show(relative(error, self.scale))
        )))
    }
}

/// The largest error of each way to compute derivatives, relative to the gradient.
struct Errors {
    scale: f64,
    ways: Vec<(&'static str, f64)>,
}

impl Errors {
    fn new(scale: f64) -> Errors {
        Errors { scale, ways: Vec::new() }
    }

    fn add(&mut self, way: &'static str, error: f64) {
        let error = relative(error, self.scale);
        match self.ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, before)) => *before = before.max(error),
            None => self.ways.push((way, error)),
        }
    }
}

fn relative(error: f64, scale: f64) -> f64 {
    if scale > 0.0 { error / scale } else { error }
}

fn of(gradient: &[Vec<f64>], entry: Entry) -> f64 {
    gradient.get(entry.float).and_then(|g| g.get(entry.element)).copied().unwrap_or(f64::NAN)
}

/// 1 for one number of the results, 0 for the others.
fn unit(numbers: usize, number: usize) -> Vec<f64> {
    (0..numbers).map(|n| if n == number { 1.0 } else { 0.0 }).collect()
}

fn dot(values: &[f64], weights: &[f64]) -> f64 {
    values.iter().zip(weights).map(|(x, w)| x * w).sum()
}

/// The largest difference; infinite if one is not a number.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { x.max(most) })
}

/// Where the largest of some numbers is, the first that is not a number before all.
fn largest(numbers: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (n, x) in numbers.enumerate() {
        if x.is_nan() {
            return n;
        }
        if x > best.1 {
            best = (n, x);
        }
    }
    best.0
}

/// A number with as many digits as differences have.
fn show(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) {
        let text = format!("{x:.6}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text == "-0" { "0".to_owned() } else { text.to_owned() };
    }
    format!("{x:.3e}")
}

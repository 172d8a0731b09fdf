//! `cotan test`

use std::time::{Duration, Instant};

use cotan_interp::{Options, Value};
use cotan_ir::{Program, Watch};
use cotan_syntax::sample;

use crate::args::TestArgs;
use crate::derivatives::Rng;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::out_of_time;
use crate::progress::{Pace, paced};
use crate::source::Text;
use crate::terminal::Terminal;
use crate::verdict::{Subject, Verdict};

/// Where made-up floats lie: around zero, or else where logarithms and roots are defined.
const RANGES: [(f64, f64); 2] = [(-1.5, 1.5), (0.5, 1.5)];

/// A function has at least so long, whatever is left for all.
const LEAST: Duration = Duration::from_secs(1);

/// How many made-up points are tried where nothing can be told at one.
const POINTS: usize = 2;

/// Checks the derivatives of one function or of all.
pub fn test(args: &TestArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let making = args.limits.making(begin);
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let chosen = args.call.function.function.is_some()
        || !args.call.function.sizes.is_empty()
        || !args.call.inputs.args.is_empty()
        || args.call.inputs.npz.is_some();
    let mut session = Session { args, begin, terminal, wrong: Vec::new() };
    if chosen {
        let function = Function::of(&modules, &args.call.function, terminal)?;
        let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
        let asked = !args.call.function.sizes.is_empty()
            || function.leaves().any(|l| inputs.ty(&l.path).is_some());
        let made = if asked { None } else { sample(&modules, function.name, &making) };
        let program = match made {
            Some(instance) => instance.program,
            None => function.instantiate(&inputs, &args.limits, begin, terminal)?.program,
        };
        session.test(function.name, "", &program, Some(&inputs))?;
    } else {
        let functions: Vec<_> = modules.functions().collect();
        for (n, info) in functions.iter().enumerate() {
            // One is tested in any case, or nothing could ever be told.
            if n > 0 && session.left().is_zero() {
                session.skip(info.name, "the time for all is up; --total gives more")?;
                continue;
            }
            let count = format!(" ({} of {})", n + 1, functions.len());
            let sample = sample(&modules, info.name, &making);
            if cotan_ir::look("test").is_err() {
                return Err(out_of_time(&args.limits));
            }
            match sample {
                Some(instance) => session.test(info.name, &count, &instance.program, None)?,
                None => session.skip(info.name, "no sample of sizes and static values fits it")?,
            }
        }
    }
    match session.wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::program(session.wrong.join("\n")).hint(
            "if a rule of custom_vjp or custom_jvp is involved, compare it with the function that it is \
             for; otherwise this is a fault of cotan: please report it",
        )),
    }
}

/// A run of the command.
struct Session<'a> {
    args: &'a TestArgs,
    begin: Instant,
    terminal: &'a Terminal,
    /// What is wrong, an error each.
    wrong: Vec<String>,
}

impl Session<'_> {
    /// The time that is left for all functions.
    fn left(&self) -> Duration {
        self.args.total.saturating_sub(self.begin.elapsed())
    }

    fn skip(&self, name: &str, why: &str) -> Outcome {
        self.terminal.write(&format!("{name}: skipped: {why}\n"))
    }

    /// Tests a function and says what was found.
    fn test(
        &mut self,
        name: &str,
        count: &str,
        program: &Program,
        given: Option<&Inputs>,
    ) -> Outcome {
        let float = |t| program.dtype(t).is_float();
        if !program.inputs().iter().any(|input| input.ty.dtype.is_float()) {
            return self.skip(name, "no parameter is a float");
        }
        if !program.outputs().iter().any(|output| float(output.term)) {
            return self.skip(name, "no result is a float");
        }
        let made_up = |input: &cotan_ir::Input| {
            given.is_none_or(|inputs| inputs.value(&input.name).is_none())
        };
        let free = program.inputs().iter().any(made_up);
        let time = self.args.time.min(self.left().max(LEAST));
        let pace = Pace::new(format!("testing `{name}`{count}"), time);
        let verdict = paced(self.terminal, &pace, || self.verdict(program, given, free, &pace));
        let verdict = match verdict {
            // Its own time is up, not that of the command.
            Err(failure) if failure.is_limit() && pace.is_long_over() => {
                cotan_ir::look("test").map_err(|_| out_of_time(&self.args.limits))?;
                let option = if time < self.args.time { "--total" } else { "--time" };
                let why = format!("{time:.0?} were not enough to tell; {option} gives more");
                Some(Verdict::Undecided(why))
            }
            verdict => verdict?,
        };
        let Some(verdict) = verdict else {
            return self.skip(name, "its operations on f32 have no counterparts on f64");
        };
        match verdict {
            Verdict::NotFinite => {
                let remedy = if free { "; give others by --arg" } else { "" };
                let why = format!("values or gradient are not finite at the points tried{remedy}");
                self.skip(name, &why)
            }
            Verdict::Right(compared, errors) => {
                let errors: Vec<String> =
                    errors.iter().map(|(way, error)| format!("{way} {error:.1e}")).collect();
                let count = match (compared.done, compared.of) {
                    (1, 1) => "1 derivative".to_owned(),
                    (done, of) if done == of => format!("{done} derivatives"),
                    (done, of) => format!("{done} of {of} derivatives in {:?}", self.args.time),
                };
                let errors = errors.join(", ");
                self.terminal.write(&format!("{name}: ok: {count}; largest errors: {errors}\n"))
            }
            Verdict::Undecided(why) => {
                let remedy = match (free, self.args.seed) {
                    _ if why.contains("--time") => String::new(),
                    (true, seed) => format!("; --seed {} tries other values", seed.wrapping_add(1)),
                    (false, _) => "; --arg tries other values".to_owned(),
                };
                self.terminal.write(&format!("{name}: undecided: {why}{remedy}\n"))
            }
            Verdict::Wrong(what) => {
                self.wrong.push(format!("error: `{name}`: {what}"));
                self.terminal.write(&format!("{name}: FAILED\n"))
            }
        }
    }

    /// Tests a function at points until one decides; `None` if it cannot be tested.
    fn verdict(
        &self,
        program: &Program,
        given: Option<&Inputs>,
        free: bool,
        pace: &Pace,
    ) -> Outcome<Option<Verdict>> {
        let watch = Watch { deadline: Some(pace.end()), ..Watch::default() };
        cotan_ir::within(watch, || self.verdict_within(program, given, free, pace))
    }

    fn verdict_within(
        &self,
        program: &Program,
        given: Option<&Inputs>,
        free: bool,
        pace: &Pace,
    ) -> Outcome<Option<Verdict>> {
        let deadline = self.args.limits.deadline(self.begin);
        let options = Options {
            max_bytes: self.args.limits.limit_bytes,
            deadline: Some(deadline.map_or(pace.end(), |end| end.min(pace.end()))),
            ..Options::default()
        };
        let Some(subject) = Subject::new(program, &options)? else { return Ok(None) };
        let mut rng = Rng(self.args.seed);
        let mut undecided = None;
        for range in RANGES {
            for _ in 0..if free { POINTS } else { 1 } {
                let inputs = program.inputs().iter().map(|input| {
                    match given.and_then(|inputs| inputs.value(&input.name)) {
                        Some(value) => Ok(value),
                        None => rng.value(&input.ty, range),
                    }
                });
                let inputs = inputs.collect::<Outcome<Vec<Value>>>()?;
                match subject.verdict(&inputs, &mut rng, pace)? {
                    Verdict::NotFinite => break,
                    Verdict::Undecided(why) => {
                        undecided.get_or_insert(Verdict::Undecided(why));
                    }
                    decided @ (Verdict::Right(..) | Verdict::Wrong(_)) => return Ok(Some(decided)),
                }
            }
        }
        Ok(Some(undecided.unwrap_or(Verdict::NotFinite)))
    }
}

//! The check of one rule: exhaustive, then random, then as small as possible.

use std::fmt;

use cotan_interp::{Mode, Value};
use cotan_ir::{Builder, Output, Program};

use super::Rule;
use super::choices::{Choices, shrink_choices};
use super::scene::{Extent, Scene};
use crate::oracle::{Difference, Equality, first_difference, run_program};
use crate::{InputKind, Rng, exact, inputs_for, scaled};

/// The extents that are enumerated, smallest first.
const EXHAUSTIVE: [Extent; 4] = [extent(1, 1), extent(1, 2), extent(2, 1), extent(2, 2)];
/// The extent of random instances.
const RANDOM: Extent = Extent { rank: 4, size: 5, elements: 150 };

const fn extent(rank: usize, size: usize) -> Extent {
    Extent { rank, size, elements: 16 }
}

/// How many instances to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The most instances of the exhaustive part, for each of its extents.
    pub exhaustive: usize,
    /// The random instances.
    pub random: usize,
}

impl Effort {
    /// For a test among many; both numbers grow with `COTAN_CASES`.
    pub fn small() -> Effort {
        Effort { exhaustive: scaled(2_000), random: scaled(500) }
    }

    /// For a rule that deserves it; both numbers grow with `COTAN_CASES`.
    pub fn thorough() -> Effort {
        Effort { exhaustive: scaled(50_000), random: scaled(20_000) }
    }
}

/// What was checked of a rule that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The rule.
    pub name: String,
    /// Instances enumerated.
    pub exhaustive: usize,
    /// Whether those were all there are.
    pub complete: bool,
    /// Instances drawn at random.
    pub random: usize,
    /// Of all these, the instances outside the side condition.
    pub excluded: usize,
    /// Of all these, the instances that were also compared over floats.
    pub floats: usize,
}

impl fmt::Display for RuleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { "all of them" } else { "the first of them" };
        write!(
            f,
            "{}: {} enumerated ({all}), {} random; {} outside the side condition, {} also over floats",
            self.name, self.exhaustive, self.random, self.excluded, self.floats
        )
    }
}

/// An instance for which a rule does not hold, or cannot be built.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The rule.
    pub rule: String,
    /// Both sides, as the two results of a program; `None` when a side could not be built.
    pub program: Option<Program>,
    /// What was given to both.
    pub inputs: Vec<Value>,
    /// What is wrong.
    pub message: String,
    /// How many elements the inputs have in all.
    pub elements: usize,
    /// The seed of the random instances, if it is one of them.
    pub seed: Option<u64>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rule {} does not hold: {}", self.rule, self.message)?;
        if let Some(program) = &self.program {
            write!(f, "{program}")?;
        }
        for (n, value) in self.inputs.iter().enumerate() {
            writeln!(f, "  input {n}: {value}")?;
        }
        if let Some(seed) = self.seed {
            writeln!(f, "  found with COTAN_SEED={seed}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Counterexample {}

/// What became of an instance.
enum Outcome {
    Excluded,
    Holds { floats: bool },
    Fails(Box<Counterexample>),
}

/// Checks a rule; the error is the smallest counterexample found.
pub fn check_rule<T>(rule: &Rule<T>, effort: Effort) -> Result<RuleReport, Box<Counterexample>> {
    let mut report = RuleReport {
        name: rule.name.clone(),
        exhaustive: 0,
        complete: true,
        random: 0,
        excluded: 0,
        floats: 0,
    };
    for extent in EXHAUSTIVE {
        let mut next = Some(Vec::new());
        for _ in 0..effort.exhaustive {
            let Some(prefix) = next else { break };
            let (outcome, choices) = instance(rule, Choices::replay(prefix), extent);
            report.exhaustive += 1;
            report.add(outcome, rule, extent, &choices)?;
            next = choices.next_run();
        }
        report.complete &= next.is_none();
    }
    let seed = crate::cases::first_seed(&rule.name);
    let mut rng = Rng::new(seed);
    for _ in 0..effort.random {
        let (outcome, choices) = instance(rule, Choices::random(rng.fork()), RANDOM);
        report.random += 1;
        report.add(outcome, rule, RANDOM, &choices).map_err(|mut found| {
            found.seed = Some(seed);
            found
        })?;
    }
    if report.excluded == report.exhaustive + report.random {
        return Err(Box::new(Counterexample {
            rule: rule.name.clone(),
            program: None,
            inputs: Vec::new(),
            message: "no instance satisfies the side condition".into(),
            elements: 0,
            seed: None,
        }));
    }
    Ok(report)
}

impl RuleReport {
    fn add<T>(
        &mut self,
        outcome: Outcome,
        rule: &Rule<T>,
        extent: Extent,
        choices: &Choices,
    ) -> Result<(), Box<Counterexample>> {
        match outcome {
            Outcome::Excluded => self.excluded += 1,
            Outcome::Holds { floats } => self.floats += usize::from(floats),
            Outcome::Fails(found) => return Err(smallest(rule, extent, choices, found)),
        }
        Ok(())
    }
}

/// The smallest counterexample that comes of making choices smaller.
fn smallest<T>(
    rule: &Rule<T>,
    extent: Extent,
    choices: &Choices,
    found: Box<Counterexample>,
) -> Box<Counterexample> {
    let mut best = found;
    shrink_choices(choices.taken(), |candidate| {
        let (outcome, taken) = instance(rule, Choices::replay(candidate.to_vec()), extent);
        match outcome {
            Outcome::Fails(counterexample) if counterexample.elements <= best.elements => {
                best = counterexample;
                Some(taken.taken())
            }
            Outcome::Fails(_) | Outcome::Excluded | Outcome::Holds { .. } => None,
        }
    });
    best
}

/// Builds and compares both sides for some choices.
fn instance<T>(rule: &Rule<T>, choices: Choices, extent: Extent) -> (Outcome, Choices) {
    let mut scene = Scene { b: Builder::new(), choices, extent };
    let built = build(rule, &mut scene);
    let choices = scene.choices;
    let fails = |program: Option<Program>, inputs: Vec<Value>, message: String| {
        let elements = inputs.iter().map(|value| value.elements().len()).sum();
        let rule = rule.name.clone();
        Outcome::Fails(Box::new(Counterexample {
            rule,
            program,
            inputs,
            message,
            elements,
            seed: None,
        }))
    };
    let finished = built.and_then(|outputs| {
        let Some(outputs) = outputs else { return Ok(None) };
        let left = scene.b.clone().finish(outputs[..1].to_vec())?;
        Ok(Some((scene.b.finish(outputs)?, left)))
    });
    let (program, left) = match finished {
        Err(error) => return (fails(None, Vec::new(), error.to_string()), choices),
        Ok(None) => return (Outcome::Excluded, choices),
        Ok(Some(programs)) => programs,
    };
    let rewritten = match rule.rewrite.as_ref().map(|rewrite| rewrite(&left)).transpose() {
        Err(error) => return (fails(Some(left), Vec::new(), error), choices),
        Ok(rewritten) => rewritten,
    };
    let floats =
        exact::never_rounds(&program) && rewritten.as_ref().is_none_or(exact::never_rounds);
    let mut data = Rng::new(1);
    for (kind, mode) in [(InputKind::Field, Mode::Field), (InputKind::SmallIntegers, Mode::Ieee)] {
        if mode == Mode::Ieee && !floats {
            continue;
        }
        let run = inputs_for(&program, &mut data, kind)
            .and_then(|inputs| Ok((run_program(&program, &inputs, mode)?, inputs)));
        match run {
            Err(error) => return (fails(Some(program), Vec::new(), error.to_string()), choices),
            Ok((outputs, inputs)) => {
                if let Some(difference) = sides_differ(&outputs) {
                    return (fails(Some(program), inputs, difference.to_string()), choices);
                }
                let Some(rewritten) = &rewritten else { continue };
                let difference = match run_program(rewritten, &inputs, mode) {
                    Err(error) => Some(error.to_string()),
                    Ok(found) => first_difference(&outputs[..1], &found, Equality::Values)
                        .map(|difference| difference.to_string()),
                };
                if let Some(difference) = difference {
                    let message =
                        format!("{difference}\nthe left side was rewritten to\n{rewritten}");
                    return (fails(Some(left), inputs, message), choices);
                }
            }
        }
    }
    (Outcome::Holds { floats }, choices)
}

/// The two sides, or `None` when the side condition excludes them.
fn build<T>(rule: &Rule<T>, scene: &mut Scene) -> cotan_ir::Result<Option<Vec<Output>>> {
    let parts = (rule.setup)(scene)?;
    if !(rule.condition)(&parts) {
        return Ok(None);
    }
    let left = (rule.left)(&mut scene.b, &parts)?;
    let right = (rule.right)(&mut scene.b, &parts)?;
    let output = |name: &str, term| Output { name: name.into(), term };
    Ok(Some(vec![output("left", left), output("right", right)]))
}

fn sides_differ(outputs: &[Value]) -> Option<Difference> {
    let (left, right) = outputs.split_at(outputs.len() / 2);
    first_difference(left, right, Equality::Values)
}

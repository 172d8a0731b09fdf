//! For which sizes is a definition all right?
//!
//! One elaboration answers for all sizes that take the same way through it: those that satisfy the
//! conditions on its way. Where a condition does not follow from what is assumed, the sizes for which
//! it fails are another part, looked at by another elaboration; the parts are the leaves of a tree.

use rustc_hash::FxHashMap;

use super::space::Space;
use super::system::{Condition, Scale, System};
use super::trace::{Event, Trace};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

/// How many elaborations one definition is worth, how many conditions one way may have, and how many
/// steps all elaborations together may take before no more are begun.
const MAX_RUNS: usize = 40;
const MAX_CONDITIONS: usize = 40;
const MAX_STEPS: usize = 400_000;
/// How much work the questions about conditions may be, in comparisons of inequalities.
const MAX_EFFORT: usize = 100_000;
/// How many points are tried to find one in general position.
const POINTS: u64 = 4;

/// The sizes of a definition, divided by conditions.
#[derive(Debug)]
pub(crate) enum Tree {
    /// There are no such sizes.
    Void,
    /// There are no errors, but perhaps warnings.
    Good(Box<System>, Vec<Diagnostic>),
    /// These errors.
    Bad(Vec<Diagnostic>),
    /// Not known; the errors at one point.
    Unknown(Vec<Diagnostic>),
    /// Which of these conditions holds decides what the program is; exactly one does.
    Decide(Vec<(Condition, Tree)>),
    /// Without the condition there is the error.
    Need { condition: Condition, diagnostic: Box<Diagnostic>, rest: Box<Tree> },
    /// Unless the conditions of one option hold there is the error.
    Fit { options: Vec<(Vec<Condition>, Tree)>, diagnostic: Box<Diagnostic> },
}

/// What is known about a definition.
#[derive(Debug)]
pub(crate) struct Explored {
    pub(crate) tree: Tree,
    pub(crate) space: Space,
}

/// Divides the sizes that satisfy a system. `run` elaborates the definition at the values of a
/// trace, and gives the trace back with the number of steps that it took.
pub(crate) fn explore(
    space: Space,
    system: System,
    run: &mut dyn FnMut(Trace) -> (Option<Trace>, usize),
) -> Explored {
    let mut explorer =
        Explorer { space, runs: MAX_RUNS, steps: MAX_STEPS, effort: MAX_EFFORT, run };
    let tree = explorer.explore(system, MAX_CONDITIONS);
    Explored { tree, space: explorer.space }
}

struct Explorer<'a> {
    space: Space,
    /// What may still be spent.
    runs: usize,
    steps: usize,
    effort: usize,
    run: &'a mut dyn FnMut(Trace) -> (Option<Trace>, usize),
}

impl Explorer<'_> {
    fn explore(&mut self, system: System, depth: usize) -> Tree {
        if system.is_contradiction() {
            return Tree::Void;
        }
        let mut events = None;
        for seed in 1..=POINTS {
            if self.runs == 0 || self.steps == 0 || self.effort == 0 || depth == 0 {
                break;
            }
            let Some(values) = system.sample(&self.space, seed, Scale::Generic) else { break };
            let space = std::mem::take(&mut self.space);
            let (trace, steps) = (self.run)(Trace::new(space, system.clone(), values));
            let Some(trace) = trace else { break };
            self.runs -= 1;
            self.steps = self.steps.saturating_sub(steps);
            let found = self.say_sizes(trace);
            let generic = !found.iter().any(|event| match event {
                Event::Coincide(condition) => !system.implies(condition, &mut self.space),
                _ => false,
            });
            events = Some(found);
            if generic {
                break;
            }
        }
        match events {
            Some(events) => self.follow(&events, 0, system, depth),
            None => Tree::Unknown(Vec::new()),
        }
    }

    /// The events of a trace, their messages with expressions in place of numbers.
    fn say_sizes(&mut self, trace: Trace) -> Vec<Event> {
        let names = names(&trace);
        let mut events = trace.events;
        self.space = trace.space;
        for event in &mut events {
            if let Event::Need(_, diagnostic)
            | Event::Fail(_, diagnostic)
            | Event::Warn(diagnostic) = event
            {
                diagnostic.map_texts(&mut |text| rename(text, &names));
            }
        }
        events
    }

    /// `all` are the events of the elaboration, of which `from` and later ones are to be looked at.
    fn follow(&mut self, all: &[Event], from: usize, mut system: System, depth: usize) -> Tree {
        for (at, event) in all.iter().enumerate().skip(from) {
            self.effort = self.effort.saturating_sub(system.effort());
            if self.effort == 0 {
                return Tree::Unknown(Vec::new());
            }
            match event {
                Event::Opaque | Event::Warn(_) => {}
                Event::Decide(cases) => {
                    if let Some(tree) = self.decide(cases, all, at, &system, depth) {
                        return tree;
                    }
                }
                Event::Coincide(condition) => {
                    let cases = condition.cases().unwrap_or_default();
                    if let Some(tree) = self.decide(&cases, all, at, &system, depth) {
                        return tree;
                    }
                }
                Event::Need(condition, diagnostic) => {
                    if system.implies(condition, &mut self.space) {
                        continue;
                    }
                    if depth == 0 {
                        return Tree::Unknown(Vec::new());
                    }
                    system.assume(condition, &mut self.space);
                    let rest = Box::new(self.follow(all, at + 1, system, depth - 1));
                    let (condition, diagnostic) = (condition.clone(), diagnostic.clone());
                    return Tree::Need { condition, diagnostic, rest };
                }
                Event::Fail(options, diagnostic) => {
                    let limit = matches!(
                        diagnostic.code,
                        Code::LimitExceeded | Code::RecursionTooDeep | Code::Internal
                    );
                    let Some(options) = options.as_ref().filter(|_| !limit) else {
                        return Tree::Unknown(vec![(**diagnostic).clone()]);
                    };
                    let mut open = Vec::new();
                    for option in options {
                        let (mut inside, mut needed) = (system.clone(), Vec::new());
                        for condition in option {
                            if !inside.implies(condition, &mut self.space) {
                                inside.assume(condition, &mut self.space);
                                needed.push(condition.clone());
                            }
                        }
                        if !inside.is_contradiction() {
                            open.push((needed, inside));
                        }
                    }
                    if open.is_empty() {
                        return Tree::Bad(self.all_errors(all, &system));
                    }
                    let mut explored = Vec::new();
                    for (option, inside) in open {
                        explored.push((option, self.explore(inside, depth.saturating_sub(1))));
                    }
                    return Tree::Fit { options: explored, diagnostic: diagnostic.clone() };
                }
            }
        }
        let warnings = all.iter().filter_map(|event| match event {
            Event::Warn(warning) => Some((**warning).clone()),
            _ => None,
        });
        Tree::Good(Box::new(system), warnings.collect())
    }

    /// The parts by which of several conditions holds; `None` if the first, which holds at the point
    /// of the elaboration, always does.
    fn decide(
        &mut self,
        cases: &[Condition],
        all: &[Event],
        at: usize,
        system: &System,
        depth: usize,
    ) -> Option<Tree> {
        let (first, others) = cases.split_first()?;
        if system.implies(first, &mut self.space) {
            return None;
        }
        if depth == 0 {
            return Some(Tree::Unknown(Vec::new()));
        }
        let here = system.with(std::slice::from_ref(first), &mut self.space);
        let mut branches = vec![(first.clone(), self.follow(all, at + 1, here, depth - 1))];
        for other in others {
            let there = system.with(std::slice::from_ref(other), &mut self.space);
            branches.push((other.clone(), self.explore(there, depth - 1)));
        }
        Some(Tree::Decide(branches))
    }

    /// The errors that no sizes of the system prevent.
    fn all_errors(&mut self, events: &[Event], system: &System) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        for event in events {
            if let Event::Fail(Some(options), diagnostic) = event
                && options
                    .iter()
                    .all(|option| system.with(option, &mut self.space).is_contradiction())
            {
                errors.push((**diagnostic).clone());
            }
        }
        errors
    }
}

/// What numbers in messages stand for.
pub(crate) fn names(trace: &Trace) -> FxHashMap<String, String> {
    trace.named_numbers().map(|(k, p)| (k.to_string(), trace.space.show(p))).collect()
}

/// A text with numbers replaced by what they stand for.
pub(crate) fn rename(text: &str, names: &FxHashMap<String, String>) -> String {
    let mut renamed = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(start);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at(end);
        renamed += before;
        // A negative number is one, not the difference of nothing and a number.
        let negative = format!("-{number}");
        if let (Some(name), true) = (names.get(&negative), renamed.ends_with('-')) {
            renamed.pop();
            renamed += name;
            rest = after;
            continue;
        }
        let part_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let inside = renamed.chars().next_back().is_some_and(part_of_word);
        let name = names.get(number).filter(|_| !inside);
        renamed += name.map_or(number, |name| name);
        rest = after;
    }
    renamed + rest
}

impl Tree {
    /// Whether there are errors for all sizes.
    pub(crate) fn is_bad(&self) -> bool {
        match self {
            Tree::Void | Tree::Bad(_) => true,
            Tree::Good(..) | Tree::Unknown(_) => false,
            Tree::Need { rest, .. } => rest.is_bad(),
            Tree::Decide(branches) => branches.iter().all(|(_, tree)| tree.is_bad()),
            Tree::Fit { options, .. } => options.iter().all(|(_, tree)| tree.is_bad()),
        }
    }

    /// Sizes without errors.
    pub(crate) fn good(&self) -> Option<(&System, &[Diagnostic])> {
        match self {
            Tree::Good(system, warnings) => Some((system, warnings)),
            Tree::Void | Tree::Bad(_) | Tree::Unknown(_) => None,
            Tree::Need { rest, .. } => rest.good(),
            Tree::Decide(branches) => branches.iter().find_map(|(_, tree)| tree.good()),
            Tree::Fit { options, .. } => options.iter().find_map(|(_, tree)| tree.good()),
        }
    }

    /// The errors of the first part that has some.
    pub(crate) fn errors(&self) -> &[Diagnostic] {
        match self {
            Tree::Bad(errors) | Tree::Unknown(errors) => errors,
            Tree::Void | Tree::Good(..) => &[],
            Tree::Need { rest, diagnostic, .. } => match rest.errors() {
                [] => std::slice::from_ref(diagnostic),
                errors => errors,
            },
            Tree::Decide(branches) => {
                let mut all = branches.iter().map(|(_, tree)| tree.errors());
                all.find(|errors| !errors.is_empty()).unwrap_or_default()
            }
            Tree::Fit { options, diagnostic } => {
                let mut all = options.iter().map(|(_, tree)| tree.errors());
                match all.find(|errors| !errors.is_empty()) {
                    Some(errors) => errors,
                    None => std::slice::from_ref(diagnostic),
                }
            }
        }
    }

    /// Whether there are no errors at these sizes, if that is known.
    #[cfg(test)]
    pub(crate) fn accepts(
        &self,
        space: &Space,
        param: &dyn Fn(&str) -> Option<i128>,
    ) -> Option<bool> {
        match self {
            Tree::Good(..) => Some(true),
            Tree::Void | Tree::Bad(_) => Some(false),
            Tree::Unknown(_) => None,
            Tree::Need { condition, rest, .. } => match condition.holds(space, param) {
                true => rest.accepts(space, param),
                false => Some(false),
            },
            Tree::Decide(branches) => {
                let branch =
                    branches.iter().find(|(condition, _)| condition.holds(space, param))?;
                branch.1.accepts(space, param)
            }
            Tree::Fit { options, .. } => {
                let holds = |option: &[Condition]| option.iter().all(|l| l.holds(space, param));
                match options.iter().find(|(option, _)| holds(option)) {
                    Some((_, tree)) => tree.accepts(space, param),
                    None => Some(false),
                }
            }
        }
    }
}

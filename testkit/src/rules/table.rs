//! Checking the rules of a pass: each on its own, and as the pass applies it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cotan_ir::rewrite::Report;
use cotan_ir::{Builder, Program, Result, TermId};

use super::{Effort, Rule, Scene, check_rule};
use crate::cases::fail;

/// A pass whose rules are checked.
#[derive(Clone, Copy)]
pub struct Pass {
    /// What it makes of a program, checked in whatever way it can be, and which rules fired.
    pub run: fn(&Program) -> std::result::Result<(Program, Report), String>,
    /// How many instances of each rule to check.
    pub effort: Effort,
    /// How often a rule has to fire.
    pub fires: Fires,
}

/// How often a pass has to fire a rule on its instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fires {
    /// On every one.
    Always,
    /// On a third of them at least: on the others, such as those without elements, another rule may
    /// be quicker.
    Often,
}

/// A check of the rule called `name`.
pub struct Check {
    /// The name of the rule in the table.
    pub name: &'static str,
    run: Box<dyn Fn(&Pass)>,
}

/// What a pass did with the instances of a rule.
#[derive(Default)]
struct Seen {
    instances: Cell<usize>,
    fired: Cell<usize>,
}

/// A rule of a table: its left and right side, built directly. Both must mean the same, and so must
/// what the pass makes of the left side.
pub fn check<T: 'static>(
    name: &'static str,
    setup: impl Fn(&mut Scene) -> Result<T> + Clone + 'static,
    left: impl Fn(&mut Builder, &T) -> Result<TermId> + Clone + 'static,
    right: impl Fn(&mut Builder, &T) -> Result<TermId> + Clone + 'static,
) -> Check {
    let run = move |pass: &Pass| {
        let seen = Rc::new(Seen::default());
        let (pass, counted) = (*pass, Rc::clone(&seen));
        let rule = Rule::new(name, setup.clone(), left.clone(), right.clone())
            .rewritten_by(move |program| pass.rewritten(name, program, &counted));
        let report = check_rule(&rule, pass.effort).unwrap_or_else(|e| fail(&e.to_string()));
        let (fired, instances) = (seen.fired.get(), seen.instances.get());
        println!("{report}; fired in {fired} of {instances}");
        // Routines round, so they are compared over the field only.
        let floats = report.floats > 0 || name.ends_with("/routine");
        let enough = match pass.fires {
            Fires::Always => fired == instances && report.exhaustive >= 3 && floats,
            Fires::Often => fired >= 100 && 3 * fired >= instances,
        };
        assert!(enough, "fired in {fired} of {instances}: {report}");
    };
    Check { name, run: Box::new(run) }
}

impl Pass {
    /// Runs checks of rules.
    pub fn check(&self, checks: &[Check]) {
        checks.iter().for_each(|check| (check.run)(self));
    }

    fn rewritten(
        &self,
        name: &str,
        program: &Program,
        seen: &Seen,
    ) -> std::result::Result<Program, String> {
        let (result, report) = (self.run)(program)?;
        result.check().map_err(|e| e.to_string())?;
        seen.instances.set(seen.instances.get() + 1);
        if report.counts().contains_key(name) {
            seen.fired.set(seen.fired.get() + 1);
        } else if std::env::var_os("COTAN_VERBOSE").is_some() {
            println!("{name} did not fire on\n{program}but {:?}", report.counts());
        }
        Ok(result)
    }
}

/// Fails unless the rules of a table have different names and each has a check.
pub fn assert_all_checked<'a>(checks: &[Check], rules: impl Iterator<Item = &'a str> + Clone) {
    let checked: BTreeSet<&str> = checks.iter().map(|check| check.name).collect();
    let table: BTreeSet<&str> = rules.clone().collect();
    assert_eq!(table.len(), rules.count(), "two rules of one name");
    let missing: Vec<_> = table.difference(&checked).collect();
    assert!(missing.is_empty(), "no check of {missing:?}");
    let unknown: Vec<_> = checked.difference(&table).collect();
    assert!(unknown.is_empty(), "checks of {unknown:?}, which are not in the table");
}

/// `k ::: sh`
pub fn cons(k: usize, dims: &[usize]) -> Vec<usize> {
    [&[k], dims].concat()
}

//! Every rule alone: both sides agree on all small instances and on random larger ones, and so does
//! what the optimiser makes of the left side, the rule being seen to fire.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod algebra;
mod loops;
mod scatters;
mod sums;
mod support;
mod views;

use std::collections::BTreeSet;

use cotan_opt::RULES;
use support::Check;

fn all() -> Vec<Check> {
    [algebra::checks(), views::checks(), scatters::checks(), sums::checks(), loops::checks()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_rule_of_the_table_has_a_check() {
    let names: BTreeSet<&str> = all().iter().map(|check| check.name).collect();
    let table: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    let missing: Vec<_> = table.difference(&names).collect();
    assert!(missing.is_empty(), "no check of {missing:?}");
    assert_eq!(names.difference(&table).count(), 0);
    assert_eq!(table.len(), RULES.len(), "two rules of one name");
}

#[test]
fn algebra_holds() {
    algebra::checks().iter().for_each(Check::run);
}

#[test]
fn view_rules_hold() {
    views::checks().iter().for_each(Check::run);
}

#[test]
fn scatter_rules_hold() {
    scatters::checks().iter().for_each(Check::run);
}

#[test]
fn sum_rules_hold() {
    sums::checks().iter().for_each(Check::run);
}

#[test]
fn loop_rules_hold() {
    loops::checks().iter().for_each(Check::run);
}

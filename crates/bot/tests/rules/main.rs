//! Every rule alone: both sides agree on all small instances and on random larger ones, and so does
//! what the transform makes of the left side, the rule being seen to fire.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod build;
mod build_index;
mod guard;
mod index;
mod printed;
mod support;

use std::collections::BTreeSet;

use cotan_bot::RULES;
use support::Check;

fn all() -> Vec<Check> {
    [build::checks(), index::checks(), build_index::checks(), guard::checks()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_rule_of_the_table_has_a_check() {
    let names: BTreeSet<&str> = all().iter().map(|check| check.name).collect();
    let table: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names, table);
    assert_eq!(table.len(), RULES.len(), "two rules of one name");
}

#[test]
fn rules_of_the_build_figure_hold() {
    build::checks().iter().for_each(Check::run);
}

#[test]
fn rules_of_the_index_figure_hold() {
    index::checks().iter().for_each(Check::run);
}

#[test]
fn rules_of_the_build_of_index_figure_hold() {
    build_index::checks().iter().for_each(Check::run);
}

#[test]
fn guard_rules_hold() {
    guard::checks().iter().for_each(Check::run);
}

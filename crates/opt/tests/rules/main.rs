//! Every rule alone: both sides agree on all small instances and on random larger ones, and so does
//! what the optimiser makes of the left side, the rule being seen to fire.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod algebra;
mod extremes;
mod factors;
mod loops;
mod scatters;
mod sums;
mod support;
mod views;

use cotan_opt::RULES;
use cotan_testkit::rules::{Check, assert_all_checked};
use support::optimiser;

fn all() -> Vec<Check> {
    [
        algebra::checks(),
        views::checks(),
        extremes::checks(),
        scatters::checks(),
        factors::checks(),
        sums::checks(),
        loops::checks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_rule_of_the_table_has_a_check() {
    assert_all_checked(&all(), RULES.iter().map(|rule| rule.name));
}

#[test]
fn algebra_holds() {
    optimiser().check(&algebra::checks());
}

#[test]
fn view_rules_hold() {
    optimiser().check(&views::checks());
}

#[test]
fn extreme_rules_hold() {
    optimiser().check(&extremes::checks());
}

#[test]
fn scatter_rules_hold() {
    optimiser().check(&scatters::checks());
}

#[test]
fn factor_rules_hold() {
    optimiser().check(&factors::checks());
}

#[test]
fn sum_rules_hold() {
    optimiser().check(&sums::checks());
}

#[test]
fn loop_rules_hold() {
    optimiser().check(&loops::checks());
}

//! Every rule alone: both sides agree on all small instances and on random larger ones, and so does
//! what the transform makes of the left side, the rule being seen to fire.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod build;
mod build_index;
mod guard;
mod index;
mod printed;
mod support;

use cotan_bot::RULES;
use cotan_testkit::rules::{Check, assert_all_checked};
use support::transform;

fn all() -> Vec<Check> {
    [build::checks(), index::checks(), build_index::checks(), guard::checks()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_rule_of_the_table_has_a_check() {
    assert_all_checked(&all(), RULES.iter().map(|rule| rule.name));
}

#[test]
fn rules_of_the_build_figure_hold() {
    transform().check(&build::checks());
}

#[test]
fn rules_of_the_index_figure_hold() {
    transform().check(&index::checks());
}

#[test]
fn rules_of_the_build_of_index_figure_hold() {
    transform().check(&build_index::checks());
}

#[test]
fn guard_rules_hold() {
    transform().check(&guard::checks());
}

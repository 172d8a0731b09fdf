//! Random programs mean the same before and after, with each group of rules off in turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use std::collections::BTreeMap;

use common::{configs, transformed};
use cotan_bot::{Options, RULES, bulk, normal_form};
use cotan_testkit::{Config, Oracle, Rng, check_transform, generate, scaled};

fn keeps_meaning(name: &str, config: &Config, count: usize, options: &Options) {
    check_transform(name, config, count, &Oracle::exact(), |p| transformed(p, options));
}

#[test]
fn meaning_is_kept() {
    for (n, config) in configs().iter().enumerate() {
        keeps_meaning(&format!("bulk {n}"), config, 600, &Options::default());
    }
}

#[test]
fn meaning_is_kept_in_large_programs() {
    let config = Config { max_nesting: 6, max_rank: 5, ..Config::default().nodes(200) };
    keeps_meaning("bulk, large", &config, 200, &Options::default());
}

#[test]
fn meaning_is_kept_with_each_group_of_rules_off() {
    let on = Options::default;
    let switched: [(&str, Options); 6] = [
        ("without pushing", Options { push_index: false, ..on() }),
        ("without keeping invariants", Options { keep_invariants: false, ..on() }),
        ("without affine forms", Options { normalise_affine: false, ..on() }),
        ("without dropping guards", Options { drop_guards: false, ..on() }),
        ("without inlining", Options { inline_indices: false, ..on() }),
        (
            "without anything",
            Options {
                push_index: false,
                keep_invariants: false,
                normalise_affine: false,
                drop_guards: false,
                inline_indices: false,
                ..on()
            },
        ),
    ];
    for (name, options) in &switched {
        keeps_meaning(name, &Config::default(), 600, options);
    }
}

#[test]
fn every_rule_fires_in_random_programs() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let configs = configs();
    for n in 0..scaled(12_000) {
        let rng = &mut Rng::new(7_000_000 + n as u64);
        let program = generate(&configs[n % configs.len()], rng).expect("a program");
        let (result, report) = bulk(&program, &Options::default()).expect("a result");
        normal_form(&result).expect("a normal form");
        for (rule, n) in report.counts() {
            *counts.entry(rule).or_default() += n;
        }
    }
    let fired = |name: &str| counts.get(name).copied().unwrap_or(0);
    for rule in RULES {
        println!("{:24} {}", rule.name, fired(rule.name));
    }
    let seldom: Vec<_> = RULES.iter().map(|r| r.name).filter(|name| fired(name) < 100).collect();
    assert!(seldom.is_empty(), "fire fewer than 100 times: {seldom:?}");
}

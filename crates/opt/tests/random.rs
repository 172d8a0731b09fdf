//! Random programs and their derivatives mean the same before and after, with each group of rules
//! off in turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use std::collections::BTreeMap;

use common::{configs, exact, optimised};
use cotan_interp::Mode;
use cotan_ir::scalar::Op;
use cotan_opt::{Options, RULES, optimise};
use cotan_pipeline::Derivative;
use cotan_testkit::{
    Config, Equality, InputKind, Oracle, Rng, Trial, bulk, check_transform, derived, generate,
    scaled,
};

#[test]
fn meaning_is_kept() {
    for (n, config) in configs().iter().enumerate() {
        check_transform(&format!("optimise {n}"), config, 500, &Oracle::exact(), |p| {
            optimised(&bulk(p)?, &exact())
        });
    }
}

/// Also of programs with builds, which are left as they are.
#[test]
fn meaning_is_kept_under_builds() {
    check_transform("optimise, builds", &Config::default(), 500, &Oracle::exact(), |p| {
        optimised(p, &exact())
    });
}

#[test]
fn meaning_is_kept_in_large_programs() {
    let config = Config { max_nesting: 6, max_rank: 5, ..Config::default().nodes(200) };
    check_transform("optimise, large", &config, 100, &Oracle::exact(), |p| {
        optimised(&bulk(p)?, &exact())
    });
}

/// The derivative, and what is made of it.
fn derivatives_are_kept(name: &str, kind: Derivative, config: &Config, count: usize) {
    let oracle = Oracle::exact();
    cotan_testkit::for_each_case(name, count, |rng| {
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let before = derived(&program, kind)?;
        let after = optimised(&before, &exact())?;
        oracle
            .compare(&before, &after, rng)
            .map_err(|m| format!("{m}\nof\n{program}\nthe derivative\n{before}became\n{after}"))
    });
}

#[test]
fn derivatives_in_reverse_mode_are_kept() {
    for (n, config) in configs().iter().enumerate() {
        derivatives_are_kept(&format!("optimise vjp {n}"), Derivative::Vjp, config, 200);
    }
}

#[test]
fn derivatives_in_forward_mode_are_kept() {
    for (n, config) in configs().iter().enumerate() {
        derivatives_are_kept(&format!("optimise jvp {n}"), Derivative::Jvp, config, 100);
    }
}

/// What a reverse pass computes again stays apart, and means the same.
#[test]
fn checkpoints_are_kept() {
    let config = Config::ring().with_checkpoints();
    derivatives_are_kept("optimise checkpoints, vjp", Derivative::Vjp, &config, 200);
    derivatives_are_kept("optimise checkpoints, jvp", Derivative::Jvp, &config, 100);
}

#[test]
fn meaning_is_kept_with_each_group_of_rules_off() {
    let switched: [(&str, Options); 8] = [
        ("without algebra", Options { algebra: false, ..exact() }),
        ("without views", Options { views: false, ..exact() }),
        ("without scatters", Options { scatters: false, ..exact() }),
        ("without factors", Options { factors: false, ..exact() }),
        ("without sums", Options { sums: false, ..exact() }),
        ("storing nothing", Options { recompute: u64::MAX, ..exact() }),
        ("without loops", Options { loops: false, ..exact() }),
        ("without anything", Options::none()),
    ];
    for (name, options) in &switched {
        for config in [Config::default(), Config::ring()] {
            check_transform(name, &config, 200, &Oracle::exact(), |p| {
                optimised(&bulk(p)?, options)
            });
        }
    }
}

/// Constants are folded with the rounding of the run, so nothing changes but zeros' signs as long
/// as no sum is taken in another order; also NaN and infinities are kept. Operations in which the
/// sign of a zero decides between infinities are left out.
#[test]
fn special_values_are_kept_by_all_rules_that_do_not_reassociate() {
    let trial = |inputs| Trial { inputs, mode: Mode::Ieee, equality: Equality::Values };
    let oracle = Oracle::new(&[trial(InputKind::Special), trial(InputKind::Generic)]);
    let options = Options { sums: false, factors: false, scatters: false, ..Options::default() };
    let mut config = Config::default();
    let signed = [Op::Div, Op::Recip, Op::Atan2, Op::Pow, Op::Powi, Op::Log, Op::ToBits];
    config.ops.retain(|row| !signed.contains(&row.op));
    check_transform("optimise, special", &config, 2000, &oracle, |p| {
        optimised(&bulk(p)?, &options)
    });
}

#[test]
fn floats_are_close() {
    let config = Config { max_nodes: 25, ..Config::smooth() };
    check_transform("optimise, floats", &config, 500, &Oracle::close(1 << 12), |p| {
        optimised(&bulk(p)?, &Options::default())
    });
}

#[test]
fn the_result_is_a_fixed_point_and_always_the_same() {
    cotan_testkit::for_each_case("fixed point", 300, |rng| {
        let program = generate(&Config::default(), rng).map_err(|e| e.to_string())?;
        let program = derived(&program, Derivative::Vjp)?;
        let once = optimised(&program, &Options::default())?;
        let again = optimised(&program, &Options::default())?;
        if once.to_string() != again.to_string() {
            return Err(format!("two results\n{once}\n{again}"));
        }
        let (twice, report) = optimise(&once, &Options::default()).map_err(|e| e.to_string())?;
        if report.total() > 0 {
            return Err(format!("{:?} fire on\n{once}giving\n{twice}", report.counts()));
        }
        Ok(())
    });
}

#[test]
fn every_rule_fires_in_random_programs() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let configs = configs();
    for n in 0..scaled(45_000) {
        let rng = &mut Rng::new(9_000_000 + n as u64);
        let program = generate(&configs[n % configs.len()], rng).expect("a program");
        // What only a derivative needs keeps some rules from firing.
        let program = match n % 3 {
            0 => derived(&program, Derivative::Vjp).expect("a derivative"),
            1 => derived(&program, Derivative::Jvp).expect("a derivative"),
            _ => bulk(&program).expect("bulk operations"),
        };
        let options = Options { recompute: 1, ..Options::default() };
        let (_, report) = optimise(&program, &options).expect("a result");
        for (rule, n) in report.counts() {
            *counts.entry(rule).or_default() += n;
        }
    }
    let fired = |name: &str| counts.get(name).copied().unwrap_or(0);
    for rule in RULES {
        println!("{:24} {}", rule.name, fired(rule.name));
    }
    let seldom: Vec<_> = RULES.iter().map(|r| r.name).filter(|name| fired(name) < 10).collect();
    assert!(seldom.is_empty(), "fire fewer than 10 times: {seldom:?}");
}

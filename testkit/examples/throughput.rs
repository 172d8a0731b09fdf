//! How many programs a second the kit generates, checks, runs and shrinks on one core:
//! `cargo run -p cotan-testkit --example throughput --release`.

use std::time::{Duration, Instant};

use cotan_interp::Mode;
use cotan_ir::scalar::Op;
use cotan_testkit::rules::{Effort, Rule, check_rule};
use cotan_testkit::{Config, InputKind, Rng, generate, inputs_for, run_program};

/// How long to measure each.
const SECONDS: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::default();
    let nodes: usize =
        (0..1000).map(|s| generate(&config, &mut Rng::new(s)).map_or(0, |p| p.len())).sum();
    println!("programs of {} nodes on average, one core", nodes / 1000);
    report("generate", |seed| {
        generate(&config, &mut Rng::new(seed))?;
        Ok(1)
    })?;
    report("generate, check", |seed| {
        generate(&config, &mut Rng::new(seed))?.check()?;
        Ok(1)
    })?;
    report("generate, print", |seed| {
        generate(&config, &mut Rng::new(seed))?.to_string();
        Ok(1)
    })?;
    for (name, kind, mode) in [
        ("generate, run on floats", InputKind::Generic, Mode::Ieee),
        ("generate, run in the field", InputKind::Field, Mode::Field),
    ] {
        report(name, |seed| {
            let mut rng = Rng::new(seed);
            let program = generate(&config, &mut rng)?;
            let inputs = inputs_for(&program, &mut rng, kind)?;
            run_program(&program, &inputs, mode)?;
            Ok(1)
        })?;
    }
    // sumOuter (t + u) = sumOuter t + sumOuter u
    let rule = Rule::new(
        "sum/add",
        |s| {
            let dims = s.shape_of_rank(1, 4);
            Ok((s.array(&dims)?, s.array(&dims)?))
        },
        |b, &(t, u)| {
            let both = b.op(Op::Add, &[t, u])?;
            b.sum_outer(both)
        },
        |b, &(t, u)| {
            let (t, u) = (b.sum_outer(t)?, b.sum_outer(u)?);
            b.op(Op::Add, &[t, u])
        },
    );
    let effort = Effort { exhaustive: 1000, random: 1000 };
    report("instances of a rule", |_| {
        let done = check_rule(&rule, effort)?;
        Ok(done.exhaustive + done.random)
    })
}

/// Prints how many a second `work` does; it returns how many it did.
fn report(
    name: &str,
    mut work: impl FnMut(u64) -> Result<usize, Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut done = 0;
    for seed in 0.. {
        if start.elapsed() >= SECONDS {
            break;
        }
        done += work(seed)?;
    }
    println!("{:>9.0} /s  {name}", done as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

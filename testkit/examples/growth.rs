//! How the time of a pass grows with the program, family by family.
//!
//! ```text
//! cargo run --release -p cotan-testkit --example growth -- [copy|bulk|vjp] [part of a name] [passes]
//! ```
//!
//! `copy` is `Program::normalised`, `bulk` the bulk-operation transform (the default), `vjp` reverse
//! mode on its result. Times are of the processor where the system tells them, each the least of
//! many runs, spread over several passes through all families: another program on the machine then
//! hardly counts. The exponent is the slope of a straight line through the logarithms: 1 is linear.

use std::time::Instant;

use cotan_ad::vjp;
use cotan_bot::{Options, bulk};
use cotan_ir::{Program, Result};
use cotan_testkit::families::{FAMILIES, Family};

/// The sizes of the programs.
const SIZES: [usize; 5] = [1_000, 3_000, 10_000, 30_000, 100_000];
/// What one measurement runs for at least, in seconds: far longer than reading the clock takes.
const SAMPLE: f64 = 0.004;
/// Measurements of each size in a pass.
const SAMPLES: usize = 5;

/// Seconds that this thread has run: on the processor, or by the clock.
fn seconds(start: Instant) -> f64 {
    // The system brings its books up to date when the thread offers to step aside.
    std::thread::yield_now();
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n * 1e-9)
}

/// A pass: the program it runs on, made from that of the family, and what it does, to the number of
/// nodes of the result.
struct Pass {
    prepare: fn(Program) -> Result<Program>,
    run: fn(&Program) -> Result<usize>,
}

const COPY: Pass = Pass { prepare: Ok, run: |p| Ok(p.normalised()?.len()) };
const BULK: Pass = Pass { prepare: Ok, run: |p| Ok(bulk(p, &Options::default())?.0.len()) };
const VJP: Pass =
    Pass { prepare: |p| Ok(bulk(&p, &Options::default())?.0), run: |p| Ok(vjp(p, None)?.len()) };

/// What is known of a family.
#[derive(Clone, Copy, Default)]
struct Row {
    /// The least time for each size, in seconds.
    times: [Option<f64>; SIZES.len()],
    /// The numbers of nodes before and after, of the last size.
    nodes: (usize, usize),
}

/// One pass through the sizes of a family, largest last.
fn measure(clock: Instant, family: &Family, pass: &Pass, row: &mut Row) -> Result<()> {
    // A nest of 32 takes 32 times as long as its size says.
    let scale = if family.name.starts_with("a nest") { 10 } else { 1 };
    let programs: Vec<Program> =
        SIZES.iter().map(|n| (pass.prepare)(family.program(n / scale)?)).collect::<Result<_>>()?;
    for _ in 0..SAMPLES {
        for (program, least) in programs.iter().zip(&mut row.times) {
            let (start, mut runs, mut elapsed) = (seconds(clock), 0, 0.0);
            while elapsed < SAMPLE {
                // Twice as often each time, so that the clock is read a few times only.
                for _ in 0..=runs {
                    row.nodes = (program.len(), (pass.run)(program)?);
                }
                runs = 2 * runs + 1;
                elapsed = seconds(clock) - start;
            }
            let time = elapsed / f64::from(runs);
            *least = Some(least.map_or(time, |least| least.min(time)));
        }
    }
    Ok(())
}

/// The slope of the straight line of least squares through the points, both ways logarithmic.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / logs.len() as f64;
    let (x0, y0) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|(x, y)| (x - x0) * (y - y0)).sum();
    covariance / logs.iter().map(|(x, _)| (x - x0).powi(2)).sum::<f64>()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let pass = match arguments.next_if(|a| ["copy", "bulk", "vjp"].contains(&a.as_str())) {
        Some(name) if name == "copy" => COPY,
        Some(name) if name == "vjp" => VJP,
        Some(_) | None => BULK,
    };
    let wanted = arguments.next().unwrap_or_default();
    let passes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(3);
    let families: Vec<&Family> = FAMILIES.iter().filter(|f| f.name.contains(&wanted)).collect();
    let mut rows = vec![Row::default(); families.len()];
    let clock = Instant::now();
    for pass_number in 1..=passes {
        for (family, row) in families.iter().zip(&mut rows) {
            eprintln!("pass {pass_number} of {passes}: {}", family.name);
            measure(clock, family, &pass, row)?;
        }
    }
    println!(
        "| family | {} | exponent | nodes | thousand nodes/s |\n|---|{}---|---|---|",
        SIZES.map(|n| n.to_string()).join(" | "),
        "---|".repeat(SIZES.len())
    );
    for (family, row) in families.iter().zip(&rows) {
        let points: Vec<(f64, f64)> = SIZES
            .iter()
            .zip(row.times)
            .filter_map(|(&n, time)| time.map(|time| (n as f64, time)))
            .collect();
        let shown: Vec<String> = points.iter().map(|(_, t)| format!("{:.3}", t * 1e3)).collect();
        let (before, after) = row.nodes;
        let speed = points.last().map_or(0.0, |(_, time)| before as f64 / time / 1e3);
        println!(
            "| {} | {} | {:.2} | {before} to {after} | {speed:.0} |",
            family.name,
            shown.join(" | "),
            exponent(&points)
        );
    }
    Ok(())
}

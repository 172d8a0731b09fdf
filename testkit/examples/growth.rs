//! How time and size of the bulk-operation transform grow with the program, family by family.
//!
//! The exponent is that of the time between the first and the last size: 1 is linear. Times are of
//! the processor where the system tells them, so that a busy machine does not count. A name as the
//! argument chooses the families that contain it.

use std::time::Instant;

use cotan_bot::{Options, bulk};
use cotan_testkit::families::FAMILIES;

/// Seconds that this process has run: on the processor, or by the clock.
fn seconds(start: Instant) -> f64 {
    let scheduled = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n * 1e-9)
}

fn main() -> Result<(), cotan_ir::Error> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let clock = Instant::now();
    let sizes = [1_000, 10_000, 100_000];
    println!(
        "{:40} {:>34} {:>9} {:>11}",
        "family", "milliseconds for 10^3, 4, 5 nodes", "exponent", "nodes, 10^5"
    );
    for family in FAMILIES.iter().filter(|family| family.name.contains(&wanted)) {
        // A nest of 32 takes 32 times as long as its size says.
        let scale = if family.name.starts_with("a nest") { 10 } else { 1 };
        let mut times = Vec::new();
        let mut nodes = 0;
        for n in sizes {
            let program = family.program(n / scale)?;
            // As often as makes the same work at every size: the system counts in milliseconds.
            let runs = 2 * sizes[2] / n;
            let start = seconds(clock);
            for _ in 0..runs {
                nodes = bulk(&program, &Options::default())?.0.len();
            }
            times.push((seconds(clock) - start) * 1e3 / runs as f64);
        }
        let exponent = (times[2] / times[0]).log10() / 2.0;
        let shown: Vec<String> = times.iter().map(|t| format!("{t:.2}")).collect();
        println!("{:40} {:>34} {exponent:>9.2} {nodes:>11}", family.name, shown.join(" "));
    }
    Ok(())
}

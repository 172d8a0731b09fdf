//! How time and size of the bulk-operation transform grow with the program, family by family.
//!
//! The exponent is that of the time between the first and the last size: 1 is linear.

use std::time::Instant;

use cotan_bot::{Options, bulk};
use cotan_testkit::families::FAMILIES;

fn main() -> Result<(), cotan_ir::Error> {
    let sizes = [10_000, 100_000, 1_000_000];
    println!(
        "{:40} {:>34} {:>9} {:>11}",
        "family", "milliseconds for 10^4, 5, 6 nodes", "exponent", "nodes, 10^6"
    );
    for family in FAMILIES {
        // A nest of 32 takes 32 times as long as its size says.
        let scale = if family.name.starts_with("a nest") { 10 } else { 1 };
        let mut times = Vec::new();
        let mut nodes = 0;
        for n in sizes {
            let program = family.program(n / scale)?;
            // The best of three: the others have waited for something.
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = Instant::now();
                let (result, _) = bulk(&program, &Options::default())?;
                best = best.min(start.elapsed().as_secs_f64() * 1e3);
                nodes = result.len();
            }
            times.push(best);
        }
        let exponent = (times[2] / times[0]).log10() / 2.0;
        let shown: Vec<String> = times.iter().map(|t| format!("{t:.1}")).collect();
        println!("{:40} {:>34} {exponent:>9.2} {nodes:>11}", family.name, shown.join(" "));
    }
    Ok(())
}

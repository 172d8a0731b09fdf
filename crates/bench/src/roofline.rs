//! What the machine can do: fused multiply-adds, and copies at the sizes of its caches.

use std::hint::black_box;

use crate::Result;
use crate::measure::{Contender, Effort, race};

/// One figure.
#[derive(Clone, Debug)]
pub struct Limit {
    /// What it is.
    pub name: String,
    /// How many operations or bytes a second, in thousand millions.
    pub giga: f64,
    /// What is counted.
    pub unit: &'static str,
}

/// So many multiply-adds, of as many numbers as fit into the registers of vectors.
macro_rules! multiply_adds {
    ($name:ident, $float:ty, $lanes:expr) => {
        fn $name(rounds: usize) -> $float {
            let (factor, term): ($float, $float) = (black_box(0.999_9), black_box(1e-4));
            let mut lanes: [$float; $lanes] = std::array::from_fn(|k| k as $float);
            for _ in 0..rounds {
                for lane in &mut lanes {
                    *lane = lane.mul_add(factor, term);
                }
            }
            lanes.iter().sum()
        }
    };
}

/// Ten vectors: enough to hide the latency, few enough for the registers.
const LANES: usize = if cfg!(target_feature = "avx512f") { 80 } else { 40 };
multiply_adds!(multiply_adds_f64, f64, LANES);
multiply_adds!(multiply_adds_f32, f32, 2 * LANES);

const ROUNDS: usize = 20_000;

/// Measures everything.
pub fn probe(effort: Effort) -> Result<Vec<Limit>> {
    let mut limits = Vec::new();
    let seconds = |contender: Contender<'_>| -> Result<f64> {
        let mut alone = [contender];
        race(&mut alone, effort)?;
        let [contender] = alone;
        Ok(contender.times.least())
    };
    let f64s = seconds(Contender::function(|| {
        black_box(multiply_adds_f64(black_box(ROUNDS)));
        Ok(())
    }))?;
    let f32s = seconds(Contender::function(|| {
        black_box(multiply_adds_f32(black_box(ROUNDS)));
        Ok(())
    }))?;
    for (name, lanes, seconds) in [("f64", LANES, f64s), ("f32", 2 * LANES, f32s)] {
        limits.push(Limit {
            name: format!("multiply-adds, {name}"),
            giga: 2.0 * (ROUNDS * lanes) as f64 / seconds / 1e9,
            unit: "GFLOP/s",
        });
    }
    for (level, bytes) in [
        ("first cache", 16 << 10),
        ("second cache", 256 << 10),
        ("third cache", 8 << 20),
        ("memory", 256 << 20),
    ] {
        let n = bytes / 2 / size_of::<f64>();
        let (from, mut to) = (vec![1.0f64; n], vec![0.0f64; n]);
        let seconds = seconds(Contender::function(|| {
            black_box(&mut to).copy_from_slice(black_box(&from));
            Ok(())
        }))?;
        limits.push(Limit {
            name: format!("copy within {bytes} bytes ({level})"),
            giga: bytes as f64 / seconds / 1e9,
            unit: "GB/s",
        });
    }
    Ok(limits)
}

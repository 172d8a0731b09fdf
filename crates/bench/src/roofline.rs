//! What the machine can do: fused multiply-adds, and passes over memory at the sizes of its caches.

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

/// Two ways to do nothing but multiply-adds in registers. Of which of them the compiler makes good
/// use of vectors depends on the type.
macro_rules! multiply_adds {
    ($horner:ident, $iterate:ident, $float:ty, $lanes:expr, $more:expr) => {
        /// A polynomial at some points by Horner's rule.
        #[inline(never)]
        fn $horner(points: &[$float; $lanes], coefficients: &[$float]) -> $float {
            let mut values: [$float; $lanes] = [0.0; $lanes];
            for &c in coefficients {
                for k in 0..$lanes {
                    values[k] = values[k].mul_add(points[k], c);
                }
            }
            values.iter().sum()
        }

        /// One linear function, applied again and again.
        #[inline(never)]
        fn $iterate(factor: $float, term: $float) -> $float {
            let mut values: [$float; $more] = std::array::from_fn(|k| k as $float);
            for _ in 0..STEPS {
                for value in &mut values {
                    *value = value.mul_add(factor, term);
                }
            }
            values.iter().sum()
        }
    };
}

/// Eight vectors, and ten: enough to hide the latency, few enough for the registers.
const EIGHT: usize = if cfg!(target_feature = "avx512f") { 64 } else { 32 };
const TEN: usize = EIGHT / 4 * 5;
const STEPS: usize = 1000;

multiply_adds!(horner_f64, iterate_f64, f64, EIGHT, TEN);
multiply_adds!(horner_f32, iterate_f32, f32, 2 * EIGHT, 2 * TEN);

/// The fastest turn, in seconds.
fn seconds(effort: Effort, mut call: impl FnMut()) -> Result<f64> {
    let mut alone = [Contender::function(|| {
        call();
        Ok(())
    })];
    race(&mut alone, effort)?;
    let [contender] = alone;
    Ok(contender.times.least())
}

/// Measures everything.
pub fn probe(effort: Effort) -> Result<Vec<Limit>> {
    let mut limits = Vec::new();
    macro_rules! measure {
        ($name:literal, $float:ty, $horner:ident, $iterate:ident, $lanes:expr, $more:expr) => {
            let (points, coefficients): ([$float; $lanes], [$float; STEPS]) =
                ([0.5; $lanes], [0.1; STEPS]);
            let horner = seconds(effort, || {
                black_box($horner(black_box(&points), black_box(&coefficients)));
            })?;
            let iterate = seconds(effort, || {
                black_box($iterate(black_box(0.999), black_box(0.001)));
            })?;
            let rate = ($lanes as f64 / horner).max($more as f64 / iterate);
            limits.push(Limit {
                name: concat!("multiply-adds, ", $name).to_owned(),
                giga: 2.0 * STEPS as f64 * rate / 1e9,
                unit: "GFLOP/s",
            });
        };
    }
    measure!("f64", f64, horner_f64, iterate_f64, EIGHT, TEN);
    measure!("f32", f32, horner_f32, iterate_f32, 2 * EIGHT, 2 * TEN);
    let levels = [
        ("first cache", 16 << 10),
        ("second cache", 256 << 10),
        ("third cache", 8 << 20),
        ("memory", 256 << 20),
    ];
    for (level, bytes) in levels {
        let n = bytes / 2 / size_of::<f64>();
        let (from, mut to) = (vec![1.0f64; n], vec![0.0f64; n]);
        let factor = black_box(1.5);
        // Scaled, since plain copies are made by instructions that no kernel uses.
        let seconds = seconds(effort, || {
            for (to, from) in black_box(&mut to).iter_mut().zip(black_box(&from)) {
                *to = factor * from;
            }
        })?;
        limits.push(Limit {
            name: format!("scaled copy within {} kB ({level})", bytes >> 10),
            giga: bytes as f64 / seconds / 1e9,
            unit: "GB/s",
        });
    }
    Ok(limits)
}

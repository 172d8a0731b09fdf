//! Long programs of single elements, of which the plan packs the operations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{array, numbers, same, size};
use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};
use cotan_nest::Step;
use cotan_schedule::{Target, lower};
use cotan_testkit::Rng;

/// A value between -1000 and 1000, so that everything stays exact.
fn bounded(b: &mut Builder, t: TermId) -> Result<TermId> {
    let (least, most) = match b.ty(t).dtype {
        Dtype::I64 => (b.scalar(-1000i64)?, b.scalar(1000i64)?),
        Dtype::F32 => (b.scalar(-1000f32)?, b.scalar(1000f32)?),
        _ => (b.scalar(-1000f64)?, b.scalar(1000f64)?),
    };
    let t = b.op(Op::Max, &[t, least])?;
    b.op(Op::Min, &[t, most])
}

/// Many lines, each of some of the lines before, near and far.
fn lines(b: &mut Builder, mut ts: Vec<TermId>, count: usize, seed: u64) -> Result<Vec<TermId>> {
    let mut rng = Rng::new(seed);
    for _ in 0..count {
        let mut any = |ts: &[TermId]| {
            let near = rng.below(8) > 0;
            ts[if near { ts.len() - 1 - rng.below(ts.len().min(6)) } else { rng.below(ts.len()) }]
        };
        let (x, y, z) = (any(&ts), any(&ts), any(&ts));
        let t = match rng.below(6) {
            0 => b.op(Op::Add, &[x, y])?,
            1 => b.op(Op::Sub, &[x, y])?,
            2 => b.op(Op::Neg, &[x])?,
            3 => {
                let less = b.op(Op::Lt, &[x, y])?;
                b.op(Op::Select, &[less, y, z])?
            }
            // A product and a sum may be one operation; what is below 10^6 is exact in all types.
            4 => {
                let product = b.op(Op::Mul, &[x, y])?;
                b.op(Op::Add, &[product, z])?
            }
            _ => b.op(Op::Max, &[x, z])?,
        };
        let t = bounded(b, t)?;
        ts.push(t);
    }
    Ok(ts)
}

/// Every element type, with arrays that are read, stacked and summed in between: each way to run it
/// gives what the interpreter gives.
#[test]
fn packed_operations_are_those_of_nests() {
    let inputs = [numbers(&[5]), array(&[3], &[3i64, -7, 20]), array(&[3], &[1.5f32, -2.0, 8.0])];
    let count = size(12_000, 60);
    let program = same(&inputs, |b, xs| {
        let mut results = Vec::new();
        for (seed, &x) in (1..).zip(xs) {
            let n = b.shape(x).dims()[0];
            let mut ts = Vec::new();
            for k in 0..n {
                let k = b.scalar(k as i64)?;
                ts.push(b.index(x, &[k])?);
            }
            let half = lines(b, ts, count / 2, seed)?;
            let some: Vec<TermId> = half.iter().rev().take(3).copied().collect();
            let stacked = b.stack(&some)?;
            let total = b.sum_outer(stacked)?;
            let total = bounded(b, total)?;
            let more = lines(b, vec![total, half[count / 3]], count / 2, 100 + seed)?;
            results.extend([more[more.len() - 1], more[more.len() / 2], stacked]);
        }
        Ok(results)
    });
    let plan = lower(&program, false, &Target::portable()).unwrap();
    let packed = plan.steps.iter().filter(|step| matches!(step, Step::Scalars(_))).count();
    assert!(cfg!(miri) || packed > 0);
}

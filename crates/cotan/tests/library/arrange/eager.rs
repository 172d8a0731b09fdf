//! The library in functions that run eagerly: arrays of earlier pieces are arranged as any others.

use super::*;
use cotan::{Result, eager};

/// Arranges, asking for values on the way.
fn steps(x: Arr<f64>) -> Result<Arr<f64>> {
    let y = concat(&[x, x.flip(0).slice(s![..; 2])], 0);
    let largest = y.value()?.iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let first = largest.map_or(0, |(i, _)| i);
    let rolled = y.roll(first, 0).pad_with((1, 0), y.at(first));
    let ids = (rolled * 2.0).cast::<i64>() % 3;
    let best = rolled.segment_max(ids, 3);
    best.value()?;
    Ok(best.index_set(x.searchsorted(rolled.at(0)), rolled.sum()).maximum(-5.0))
}

#[test]
fn values_and_derivatives_are_those_of_the_steps() {
    let x = [0.25, 1.5, 2.75, 4.5];
    // y = [0.25, 1.5, 2.75, 4.5, 4.5, 1.5]; the last of the largest is at 4.
    // rolled by 4: [2.75, 4.5, 4.5, 1.5, 0.25, 1.5], with 4.5 in front.
    // ids: [0, 2, 0, 0, 0, 0, 0]; the position of 4.5 in x is 3, outside of the three segments.
    assert_eq!(eager::run(steps, x).unwrap().to_vec(), [4.5, -5.0, 2.75]);
    let total = |x: Arr<f64>| Ok(steps(x)?.sum());
    let (y, dx) = eager::value_and_grad(total, x).unwrap();
    assert_eq!(y.item(), Some(2.25));
    assert_eq!(dx.to_vec(), [0.0, 0.0, 1.0, 1.0]);
}

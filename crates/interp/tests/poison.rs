//! Out-of-range indices are reported, and what depends on them is known.

mod common;

use common::*;
use cotan_interp::{Access, Run, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, FileId, Param, Result, Span, TermId, While};

/// Runs a body that gets an array of 4, and the same with its last two elements read out of range.
fn run_half(body: impl FnOnce(&mut Builder, TermId, TermId) -> Result<Vec<TermId>>) -> Run {
    run(&[floats(&[1.0, 2.0, 3.0, 4.0])], |b, xs| {
        let two = b.scalar(2i64)?;
        let before = b.set_span(Span::new(FileId(0), 10, 20));
        let r = b.index_function(&[4], |b, is| Ok(vec![b.op(Op::Add, &[is[0], two])?]))?;
        let half = b.gather(xs[0], r)?;
        b.set_span(before);
        body(b, xs[0], half)
    })
}

/// The poisoned outputs, with the first poisoned index and the number of poisoned elements.
fn poison(run: &Run) -> Vec<(usize, Vec<usize>, usize)> {
    run.poisoned.iter().map(|p| (p.output, p.first.clone(), p.elements)).collect()
}

#[test]
fn reads_are_reported_with_place_and_count() {
    let run = run_half(|_, whole, half| Ok(vec![whole, half]));
    let [read] = run.out_of_range.as_slice() else { panic!("{:?}", run.out_of_range) };
    assert_eq!((read.op, read.access), ("gather", Access::Read));
    assert_eq!((read.first.as_slice(), read.count), ([4].as_slice(), 2));
    assert_eq!(read.shape.dims(), [4]);
    assert_eq!(read.span, Span::new(FileId(0), 10, 20));
    assert_eq!(read.to_string(), "gather: index [4] is outside shape [4] (read as zero; 2 in all)");
    assert_eq!(poison(&run), [(1, vec![2], 2)]);
}

#[test]
fn nothing_is_reported_in_range() {
    let run =
        run(&[floats(&[1.0, 2.0])], |b, xs| Ok(vec![b.build(2, |b, i| b.index(xs[0], &[i]))?]));
    assert!(run.out_of_range.is_empty() && run.poisoned.is_empty());
}

#[test]
fn operations_and_structure_pass_it_on() {
    let run = run_half(|b, whole, half| {
        let rows = b.stack(&[whole, half])?;
        Ok(vec![
            b.op(Op::Neg, &[half])?,
            b.op(Op::Mul, &[whole, half])?,
            b.transpose(&[1, 0], rows)?,
            b.reshape(&[8], rows)?,
            b.replicate(2, half)?,
        ])
    });
    let expected =
        [(0, vec![2], 2), (1, vec![2], 2), (2, vec![2, 1], 2), (3, vec![6], 2), (4, vec![0, 2], 4)];
    assert_eq!(poison(&run), expected);
}

#[test]
fn sums_pass_it_on_lane_by_lane() {
    let run = run_half(|b, whole, half| {
        let rows = b.stack(&[whole, half])?;
        Ok(vec![b.sum_outer(half)?, b.sum_outer(rows)?, b.sum_outer(whole)?])
    });
    assert_eq!(poison(&run), [(0, vec![], 1), (1, vec![2], 2)]);
}

/// `where(i + 2 < 4, half[i], 0)`: read, but never used.
#[test]
fn a_guard_makes_it_harmless() {
    let run = run_half(|b, _, half| {
        let (two, zero) = (b.scalar(2i64)?, b.scalar(0.0)?);
        let guarded = b.build(4, |b, i| {
            let (inside, x) = (b.op(Op::Lt, &[i, two])?, b.index(half, &[i])?);
            b.op(Op::Select, &[inside, x, zero])
        })?;
        let branched = b.build(4, |b, i| {
            let (inside, x) = (b.op(Op::Lt, &[i, two])?, b.index(half, &[i])?);
            b.cond(inside, x, zero)
        })?;
        Ok(vec![guarded, branched])
    });
    assert_eq!(run.out_of_range[0].count, 2);
    assert_eq!(poison(&run), []);
}

/// A selection by something poisoned is poisoned, whatever it takes.
#[test]
fn a_poisoned_condition_spreads() {
    let run = run_half(|b, whole, half| {
        let zeros = b.op(Op::Sub, &[whole, whole])?;
        let positive = b.op(Op::Gt, &[half, zeros])?;
        let three = b.scalar(3i64)?;
        let last = b.index(positive, &[three])?;
        Ok(vec![b.op(Op::Select, &[positive, whole, whole])?, b.cond(last, whole, zeros)?])
    });
    assert_eq!(poison(&run), [(0, vec![2], 2), (1, vec![0], 4)]);
}

/// So is all that a loop gives whose end depends on something poisoned.
#[test]
fn a_poisoned_end_of_a_loop_spreads() {
    for from in [0i64, 1] {
        let run = run_half(|b, whole, half| {
            let (zero, last) = (b.scalar(0.0)?, b.scalar(3i64)?);
            let (from, one) = (b.scalar(from)?, b.scalar(1i64)?);
            let step = b.lambda(&[Param::Value(b.ty(from).clone())], |b, v| {
                // Sound elements hold, the first poisoned one ends the loop.
                let x = b.index(half, &[v[0]])?;
                let running = b.op(Op::Gt, &[x, zero])?;
                Ok(vec![running, b.op(Op::Add, &[v[0], one])?])
            })?;
            let ends = b.while_accum(While { bound: None, init: [from].into(), step })?;
            let bounded = b.while_accum(While { bound: Some(1), init: [from].into(), step })?;
            let at = b.index(whole, &[last])?;
            Ok(vec![at, b.result(ends, 0)?, b.result(bounded, 0)?])
        });
        assert_eq!(poison(&run), [(1, vec![], 1)]);
    }
}

/// What is read with a poisoned index, or scattered with one, is poisoned.
#[test]
fn a_poisoned_index_spreads() {
    let run = run(&[ints(&[0, 1]), floats(&[5.0, 6.0])], |b, xs| {
        let seven = b.scalar(7i64)?;
        let bad = b.index(xs[0], &[seven])?;
        let r = b.index_function(&[2], |b, is| Ok(vec![b.index(xs[0], is)?]))?;
        let shifted = b.index_function(&[2], |b, is| Ok(vec![b.op(Op::Add, &[is[0], bad])?]))?;
        let one = b.scalar(1.0)?;
        Ok(vec![
            b.index(xs[1], &[bad])?,
            b.gather(xs[1], shifted)?,
            b.scatter(&[3], xs[1], shifted)?,
            b.one_hot(&[3], one, &[bad])?,
            b.scatter(&[3], xs[1], r)?,
        ])
    });
    let expected = [(0, vec![], 1), (1, vec![0], 2), (2, vec![0], 3), (3, vec![0], 3)];
    assert_eq!(poison(&run), expected);
}

#[test]
fn positions_found_among_poisoned_elements_are_poisoned() {
    let run = run_half(|b, whole, half| {
        let rows = b.stack(&[whole, half])?;
        Ok(vec![
            b.arg_extreme(Extreme::Max, half)?,
            b.arg_extreme(Extreme::Max, rows)?,
            b.arg_sort(rows)?,
            b.arg_sort(whole)?,
        ])
    });
    assert_eq!(poison(&run), [(0, vec![], 1), (1, vec![2], 2), (2, vec![0, 2], 4)]);
}

/// Dropping is what a scatter is for: it is reported but poisons nothing.
#[test]
fn dropped_elements_are_reported_only() {
    let run = run(&[floats(&[1.0, 2.0, 3.0]), Value::scalar(9i64)], |b, xs| {
        let one = b.scalar(1i64)?;
        let r = b.index_function(&[3], |b, is| Ok(vec![b.op(Op::Sub, &[is[0], one])?]))?;
        Ok(vec![b.scatter(&[2], xs[0], r)?, b.one_hot(&[4], xs[0], &[xs[1]])?])
    });
    assert_same(&run.outputs[0], &floats(&[2.0, 3.0]));
    let reports: Vec<String> = run.out_of_range.iter().map(|r| r.to_string()).collect();
    assert_eq!(
        reports,
        [
            "scatter: index [-1] is outside shape [2] (dropped; 1 in all)",
            "one_hot: index [9] is outside shape [4, 3] (dropped; 1 in all)",
        ]
    );
    assert_eq!(poison(&run), []);
}

/// Elements added to a place by a scatter are in its sum.
#[test]
fn a_scatter_passes_it_on_place_by_place() {
    let run = run_half(|b, _, half| {
        let two = b.scalar(2i64)?;
        let r = b.index_function(&[4], |b, is| Ok(vec![b.op(Op::FloorDiv, &[is[0], two])?]))?;
        Ok(vec![b.scatter(&[3], half, r)?])
    });
    assert_eq!(poison(&run), [(0, vec![1], 1)]);
}

/// A read of a sub-array without elements is a read all the same.
#[test]
fn an_empty_read_is_reported_and_poisons_nothing() {
    let run = run(&[tabulate(&[2, 0], |_| 0.0), Value::scalar(2i64)], |b, xs| {
        Ok(vec![b.index(xs[0], &xs[1..])?])
    });
    assert_eq!(run.out_of_range[0].count, 1);
    assert_eq!(poison(&run), []);
}

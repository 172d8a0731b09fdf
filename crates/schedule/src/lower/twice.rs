//! Sums that are taken twice: the second is a copy of the first.
//!
//! Different terms of a program may lead to the same nest, when what makes them different is taken
//! out of a sum: a factor, or a sign. Sums are small beside what is summed, so a copy costs next to
//! nothing. Arrays that are as large as what they are made of are better made again, near their use.

use cotan_array::Dtype;
use cotan_nest::{Affine, Buffer, BufferId, Instr, Nest, Step, Val, Write};
use rustc_hash::FxHashMap;

use super::repeat::for_each_written;
use crate::target::Gains;

/// What a nest sums, with its instructions in the order in which the value needs them.
#[derive(PartialEq, Eq, Hash)]
struct Sum {
    extents: Vec<usize>,
    reduced: usize,
    at: Affine,
    instrs: Vec<(Instr, Dtype)>,
}

/// Replaces sums by copies of equal ones before them.
pub(super) fn copy_sums(steps: &mut [Step<Nest>], buffers: &[Buffer], gains: &Gains) {
    // Where each sum was taken last, and what it fills.
    let mut sums: FxHashMap<Sum, (BufferId, u64)> = FxHashMap::default();
    // When each buffer was written last.
    let mut written: FxHashMap<BufferId, u64> = FxHashMap::default();
    for (now, step) in (1u64..).zip(steps) {
        let taken = match step {
            Step::Compute(nest) => Sum::of(nest, buffers, gains).map(|sum| (sum, nest.target)),
            _ => None,
        };
        for_each_written(step, &mut |b| {
            written.insert(b, now);
        });
        let (Some((sum, target)), Step::Compute(nest)) = (taken, &*step) else { continue };
        let Some(&(from, then)) = sums.get(&sum) else {
            sums.insert(sum, (target, now));
            continue;
        };
        let since = |b: BufferId| written.get(&b).is_some_and(|&at| at > then);
        let equal = buffers[from.index()].bytes() == buffers[target.index()].bytes();
        if from == target || !equal || since(from) || nest.reads(since) {
            sums.insert(sum, (target, now));
        } else {
            *step = Step::Copy { from, to: target };
        }
    }
}

impl Sum {
    /// The sum that a nest takes, if it is large, and fills a buffer.
    fn of(nest: &Nest, buffers: &[Buffer], gains: &Gains) -> Option<Sum> {
        let Write::Sum(at) = &nest.write else { return None };
        let parallel = nest.extents.len() - nest.reduced;
        let all = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let results = nest.extents[..parallel].iter().product::<usize>();
        let fills = results == buffers[nest.target.index()].shape.numel();
        if !fills
            || !nest.also.is_empty()
            || all < gains.min_copied_sum
            || all / results.max(1) < gains.min_copied_terms
            || nest.reads(|b| b == nest.target)
        {
            return None;
        }
        let (extents, reduced) = (nest.extents.clone(), nest.reduced);
        Some(Sum { extents, reduced, at: at.clone(), instrs: in_order_of_need(nest) })
    }
}

/// The instructions of a nest that its value needs, operands first and in their order, each once.
fn in_order_of_need(nest: &Nest) -> Vec<(Instr, Dtype)> {
    let mut places: Vec<Option<Val>> = vec![None; nest.instrs.len()];
    let mut ordered: Vec<(Instr, Dtype)> = Vec::with_capacity(nest.instrs.len());
    let mut known: FxHashMap<(Instr, Dtype), Val> = FxHashMap::default();
    let mut stack = vec![nest.value];
    while let Some(&v) = stack.last() {
        let instr = &nest.instrs[v.index()];
        let before = stack.len();
        if places[v.index()].is_none() {
            let mut missing: Vec<Val> = Vec::new();
            instr.for_each_operand(|u| {
                if places[u.index()].is_none() {
                    missing.push(u);
                }
            });
            stack.extend(missing.into_iter().rev());
        }
        if stack.len() > before {
            continue;
        }
        stack.pop();
        if places[v.index()].is_none() {
            let mut instr = instr.clone();
            instr.for_each_operand_mut(|u| *u = places[u.index()].unwrap_or(*u));
            let pair = (instr, nest.dtypes[v.index()]);
            let place = *known.entry(pair.clone()).or_insert_with(|| {
                ordered.push(pair);
                Val((ordered.len() - 1) as u32)
            });
            places[v.index()] = Some(place);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use cotan_array::Shape;
    use cotan_ir::scalar::Op;
    use cotan_nest::Role;

    use super::*;

    /// A sum of 10000 elements of buffer 0, each times a number, to another buffer; the factors are
    /// computed in one order or the other.
    fn sum(to: u32, number_first: bool, number: u64) -> Step<Nest> {
        let at = Affine::index(0, 1);
        let load = Instr::Load { buffer: BufferId(0), at, checks: Vec::new() };
        let mut instrs = vec![load, Instr::Const(number)];
        let mut args: [Val; 2] = [Val(0), Val(1)];
        if number_first {
            instrs.reverse();
            args.reverse();
        }
        instrs.push(Instr::Op(Op::Mul, args.into_iter().collect()));
        Step::Compute(Box::new(Nest {
            extents: vec![10_000],
            reduced: 1,
            instrs,
            dtypes: vec![Dtype::F64; 3],
            value: Val(2),
            target: BufferId(to),
            write: Write::Sum(Affine::constant(0, 1)),
            also: Vec::new(),
            source: None,
        }))
    }

    fn copies(mut steps: Vec<Step<Nest>>) -> Vec<usize> {
        let buffer = |n: usize| {
            let shape = Shape::new("test", &[n]).unwrap();
            Buffer::new(Dtype::F64, shape, Role::Temporary(0))
        };
        copy_sums(&mut steps, &[buffer(10_000), buffer(1), buffer(1), buffer(1)], &Gains::USUAL);
        let is_copy = |step: &Step<Nest>| matches!(step, Step::Copy { .. });
        (0..steps.len()).filter(|&n| is_copy(&steps[n])).collect()
    }

    #[test]
    fn equal_sums_are_copied() {
        assert_eq!(copies(vec![sum(1, false, 7), sum(2, true, 7), sum(3, false, 7)]), [1, 2]);
        assert_eq!(copies(vec![sum(1, false, 7), sum(2, false, 8)]), [0usize; 0]);
    }

    #[test]
    fn sums_of_what_has_changed_are_taken_again() {
        let zero = |n: u32| Step::Zero(BufferId(n));
        assert_eq!(copies(vec![sum(1, false, 7), zero(0), sum(2, false, 7)]), [0usize; 0]);
        assert_eq!(copies(vec![sum(1, false, 7), zero(1), sum(2, false, 7)]), [0usize; 0]);
        assert_eq!(copies(vec![sum(1, false, 7), zero(3), sum(2, false, 7)]), [2]);
        let steps = vec![sum(1, false, 7), zero(0), sum(2, false, 7), sum(3, false, 7)];
        assert_eq!(copies(steps), [3]);
    }
}

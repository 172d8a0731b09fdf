//! Transforms of all kinds of lengths against sums in twice the precision; what lies in other ways;
//! looks at the limits.

use cotan_array::Dtype;
use cotan_ir::Routine;
use cotan_nest::{BufferId, Cells, RoutineStep};
use cotan_schedule::Transform;

use super::block::Transformed;
use super::plan::{ComplexLine, TransformPlan, aligned};
use super::{prepare, run};
use crate::isa::Isa;
use crate::linalg::RoutinePointers;

/// A number of twice the precision: the sum of both.
#[derive(Clone, Copy)]
struct Twice(f64, f64);

impl Twice {
    fn plus(self, b: Twice) -> Twice {
        let sum = self.0 + b.0;
        let part = sum - self.0;
        let lost = (self.0 - (sum - part)) + (b.0 - part);
        Twice::of(sum, lost + self.1 + b.1)
    }

    fn times(self, b: Twice) -> Twice {
        let product = self.0 * b.0;
        let lost = self.0.mul_add(b.0, -product);
        Twice::of(product, lost + self.0 * b.1 + self.1 * b.0)
    }

    fn over(self, b: f64) -> Twice {
        let first = self.0 / b;
        let rest = first.mul_add(-b, self.0) + self.1;
        Twice::of(first, rest / b)
    }

    fn of(large: f64, small: f64) -> Twice {
        let sum = large + small;
        Twice(sum, small - (sum - large))
    }
}

/// Cosine and sine of a part of a turn by their series.
fn turn(k: usize, n: usize) -> (Twice, Twice) {
    const QUARTER: Twice = Twice(std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
    let (quarter, rest) = (4 * k / n, 4 * k % n);
    let angle = QUARTER.times(Twice(rest as f64, 0.0)).over(n as f64);
    let minus_square = angle.times(angle).times(Twice(-1.0, 0.0));
    let series = |first: Twice, from: usize| {
        let (mut term, mut sum) = (first, first);
        for j in (from..60).step_by(2) {
            term = term.times(minus_square).over((j * (j + 1)) as f64);
            sum = sum.plus(term);
        }
        sum
    };
    let (c, s) = (series(Twice(1.0, 0.0), 1), series(angle, 2));
    let minus = |x: Twice| Twice(-x.0, -x.1);
    match quarter {
        0 => (c, s),
        1 => (minus(s), c),
        2 => (minus(c), minus(s)),
        _ => (s, minus(c)),
    }
}

/// Numbers between -1 and 1, always the same.
fn scattered(count: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The transform of complex numbers at some places.
fn exactly(x: &[f64], places: &[usize]) -> Vec<(f64, f64)> {
    let n = x.len() / 2;
    let turns: Vec<_> = (0..n).map(|k| turn(k, n)).collect();
    let number = |x: f64| Twice(x, 0.0);
    let at = |&k: &usize| {
        let (mut re, mut im) = (number(0.0), number(0.0));
        for j in 0..n {
            let (c, s) = turns[(j as u128 * k as u128 % n as u128) as usize];
            let (a, b) = (number(x[j]), number(x[n + j]));
            re = re.plus(a.times(c)).plus(b.times(s));
            im = im.plus(b.times(c)).plus(a.times(Twice(-s.0, -s.1)));
        }
        (re.0, im.0)
    };
    places.iter().map(at).collect()
}

/// The root of the mean square of errors, in units of the last place of the root of that of results.
fn error<E: Transformed + Into<f64>>(n: usize, isa: Isa, unit: f64) -> f64 {
    let kernels = E::kernels(isa);
    let plan = TransformPlan::<E>::new(n, kernels, &mut |_| true).unwrap();
    let mut x: Vec<E> = scattered(2 * n).into_iter().map(E::of).collect();
    let mut y = vec![E::ZERO; 2 * n];
    let mut room = vec![0u64; Transform::room(n)];
    let line = |x: &mut Vec<E>| {
        let re = x.as_mut_ptr();
        ComplexLine { re, im: re.wrapping_add(n), step: 1 }
    };
    let room = aligned(room.as_mut_ptr().cast());
    // SAFETY: both have these numbers, and the room is that of the transform.
    assert!(unsafe { plan.run(kernels, line(&mut x), line(&mut y), room, &mut |_| true) });
    let places: Vec<usize> = (0..n).step_by(n.div_ceil(150)).collect();
    let x: Vec<f64> = x.into_iter().map(Into::into).collect();
    let (mut wrong, mut size) = (0.0, 0.0);
    for (&k, (re, im)) in places.iter().zip(exactly(&x, &places)) {
        let (a, b): (f64, f64) = (y[k].into(), y[n + k].into());
        wrong += (a - re).powi(2) + (b - im).powi(2);
        size += re * re + im * im;
    }
    (wrong / size).sqrt() / unit
}

#[test]
fn errors_are_a_few_units_for_each_doubling() {
    let lengths = (1..70).chain([81, 97, 121, 128, 210, 243, 251, 400, 509, 625, 961, 1000, 1009]);
    for n in lengths.chain([1024, 2047, 3000, 4096, 6561, 10_007, 16_384]) {
        let most = 1.0 + 0.6 * (n as f64).log2();
        // The transforms of Bluestein are of twice the length, and are three.
        let chirp = matches!(Transform::of(n), Transform::Chirp { .. });
        let most = if chirp { 3.0 * most } else { most };
        for isa in Isa::all() {
            let wide = error::<f64>(n, isa, f64::EPSILON);
            assert!(wide <= most, "{n} {isa:?}: {wide} of {most}");
            let narrow = error::<f32>(n, isa, f64::from(f32::EPSILON));
            assert!(narrow <= most, "{n} {isa:?}: {narrow} of {most}");
        }
    }
}

/// A step of batches `[2, 3, 5]` that lie with their axes in some order, the conjugate one or not.
fn step_of(
    n: usize,
    dtype: Dtype,
    order: [usize; 5],
    conjugate: bool,
) -> (RoutineStep, Vec<usize>) {
    let dims = [2, 3, 5, 2, n];
    let mut strides = [0; 5];
    let mut next = 1;
    for &axis in order.iter().rev() {
        strides[axis] = next;
        next *= dims[axis];
    }
    let operand = Cells {
        buffer: BufferId(0),
        batch: strides[..3].into(),
        row: strides[3],
        column: strides[4],
    };
    let step = RoutineStep {
        routine: if conjugate { Routine::DftConjugate } else { Routine::Dft },
        dtype,
        batch: dims[..3].into(),
        rows: n,
        columns: n,
        operands: vec![operand],
        results: vec![BufferId(0)],
        room: BufferId(0),
        needed: 0,
    };
    (step, strides.to_vec())
}

#[test]
fn batches_lie_in_any_order() {
    let orders =
        [[0, 1, 2, 3, 4], [3, 0, 1, 2, 4], [4, 3, 0, 2, 1], [3, 4, 0, 1, 2], [1, 3, 2, 4, 0]];
    for n in [1, 2, 6, 13, 37, 48, 64, 2500] {
        for order in orders {
            for conjugate in [false, true] {
                let (step, strides) = step_of(n, Dtype::F64, order, conjugate);
                let x = scattered(60 * n);
                let mut operand = x.clone();
                let mut to = vec![0.0; 60 * n];
                let mut room = vec![0u64; Transform::room(n)];
                let places = RoutinePointers {
                    operands: vec![operand.as_mut_ptr().cast()],
                    results: vec![to.as_mut_ptr().cast()],
                    room: room.as_mut_ptr().cast(),
                };
                let _kept = prepare(&step);
                // SAFETY: the places are as large as the step says.
                assert!(unsafe { run(&step, &places, &mut |_| true) });
                for k in (0..30).step_by(7) {
                    let at = [k / 15, k / 5 % 3, k % 5];
                    let start: usize = at.iter().zip(&strides).map(|(i, s)| i * s).sum();
                    let sign = if conjugate { -1.0 } else { 1.0 };
                    let re = (0..n).map(|j| x[start + j * strides[4]]);
                    let im = (0..n).map(|j| sign * x[start + strides[3] + j * strides[4]]);
                    let own: Vec<f64> = re.chain(im).collect();
                    let some: Vec<usize> = (0..n).step_by(n.div_ceil(9)).collect();
                    for (&j, (re, im)) in some.iter().zip(exactly(&own, &some)) {
                        let made = (to[k * 2 * n + j], sign * to[k * 2 * n + n + j]);
                        let near = (made.0 - re).abs() + (made.1 - im).abs();
                        assert!(
                            near < 1e-14 * n as f64,
                            "{n} {order:?} {k} {j}: {made:?} {re} {im}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn limits_are_looked_at() {
    for n in [20, 4096, 10_007] {
        let (step, _) = step_of(n, Dtype::F32, [0, 1, 2, 3, 4], false);
        let (mut operand, mut to) = (vec![0u64; 30 * n], vec![0u64; 30 * n]);
        let mut room = vec![0u64; Transform::room(n)];
        let places = RoutinePointers {
            operands: vec![operand.as_mut_ptr().cast()],
            results: vec![to.as_mut_ptr().cast()],
            room: room.as_mut_ptr().cast(),
        };
        let looks = |most: usize| {
            let mut looks = 0;
            let go_on = &mut |_| {
                looks += 1;
                looks < most
            };
            // SAFETY: the places are as large as the step says.
            (unsafe { run(&step, &places, go_on) }, looks)
        };
        let (done, all) = looks(usize::MAX);
        assert!(done && all >= 2, "{n}: {all}");
        for most in [1, all / 2 + 1, all] {
            assert_eq!(looks(most), (false, most), "{n}");
        }
    }
}

/// Roots of unity are computed in pieces, between which the plan can be given up.
#[test]
fn a_plan_that_is_given_up() {
    for length in [4099, 1 << 14] {
        let kernels = <f64 as Transformed>::kernels(crate::isa::best());
        let mut pieces = Vec::new();
        let all = &mut |work| {
            pieces.push(work);
            true
        };
        assert!(TransformPlan::<f64>::new(length, kernels, all).is_some());
        assert!(pieces.iter().sum::<usize>() > length * 16, "{pieces:?}");
        assert!(pieces.iter().all(|&work| work <= 1 << 18), "{pieces:?}");
        for last in [0, pieces.len() / 2, pieces.len() - 1] {
            let mut done = 0;
            let some = &mut |_| {
                done += 1;
                done <= last
            };
            assert!(TransformPlan::<f64>::new(length, kernels, some).is_none(), "{last}");
        }
    }
}

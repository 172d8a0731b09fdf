//! Orthogonal factors, eigenvalues and singular values: residuals for many sizes, matrices with equal
//! and vanishing values, and what is not finite.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{CellValue, Routine};
use cotan_nest::{BufferId, Cells, RoutineStep, family};
use cotan_schedule::routine_room;

use super::{Plain, RoutinePointers, run, unit};

const SIZES: [(usize, usize); 13] = [
    (0, 0),
    (1, 1),
    (2, 1),
    (3, 3),
    (9, 5),
    (16, 16),
    (17, 17),
    (33, 32),
    (40, 40),
    (70, 12),
    (100, 65),
    (130, 130),
    (200, 97),
];

/// The results of all routines of a family, each as rows and columns.
fn made(
    dtype: Dtype,
    routine: Routine,
    a: &Plain,
    turned: bool,
    count: usize,
    last_look: usize,
) -> Option<(Vec<Plain>, usize)> {
    let (n, k) = (a.rows, a.columns);
    let lying = if turned { a.turned() } else { a.clone() };
    let mut memory: Vec<u64> = match dtype {
        Dtype::F32 => {
            let bits = |x: Option<&f64>| u64::from((*x.unwrap_or(&0.0) as f32).to_bits());
            lying.x.chunks(2).map(|pair| bits(pair.first()) | bits(pair.get(1)) << 32).collect()
        }
        _ => lying.x.iter().map(|x| x.to_bits()).collect(),
    };
    let (row, column) = if turned { (1, n) } else { (k, 1) };
    let members = &family(routine)[..count];
    let dims = |member: &Routine| -> (usize, usize) {
        let size = |axis: char| if axis == 'n' { n } else { k };
        let sizes: Vec<usize> = member.row().result.axes.chars().map(size).collect();
        (if sizes.len() == 2 { sizes[0] } else { 1 }, sizes.last().copied().unwrap_or(1))
    };
    let mut to: Vec<Vec<u64>> =
        members.iter().map(dims).map(|(r, c)| vec![u64::MAX; r * c + 1]).collect();
    let mut room = vec![u64::MAX; routine_room(routine, n, k)];
    let step = RoutineStep {
        routine: family(routine)[0],
        dtype,
        batch: [].into(),
        rows: n,
        columns: k,
        operands: vec![Cells { buffer: BufferId(0), batch: [].into(), row, column }],
        results: vec![BufferId(0); count],
        room: BufferId(0),
        needed: 0,
    };
    let places = RoutinePointers {
        operands: vec![memory.as_mut_ptr().cast()],
        results: to.iter_mut().map(|words| words.as_mut_ptr().cast()).collect(),
        room: room.as_mut_ptr().cast(),
    };
    let mut looks = 0;
    let go_on = &mut |_: usize| {
        looks += 1;
        looks != last_look
    };
    // SAFETY: the places have the elements that the step speaks of.
    if !unsafe { run(&step, &places, go_on) } {
        return None;
    }
    let read = |words: &[u64], at: usize| match dtype {
        Dtype::F32 => f64::from(f32::from_bits((words[at / 2] >> (32 * (at % 2))) as u32)),
        _ => f64::from_bits(words[at]),
    };
    let plain = |(member, words): (&Routine, &Vec<u64>)| {
        let (rows, columns) = dims(member);
        Plain::new(rows, columns, |i, j| read(words, i * columns + j))
    };
    Some((members.iter().zip(&to).map(plain).collect(), looks))
}

fn all(dtype: Dtype, routine: Routine, a: &Plain, turned: bool) -> Vec<Plain> {
    made(dtype, routine, a, turned, family(routine).len(), 0).unwrap().0
}

fn rounded(dtype: Dtype, a: Plain) -> Plain {
    let round = |x: f64| if dtype == Dtype::F32 { f64::from(x as f32) } else { x };
    Plain::new(a.rows, a.columns, |i, j| round(a.at(i, j)))
}

fn identity(n: usize) -> Plain {
    Plain::new(n, n, |i, j| f64::from(u8::from(i == j)))
}

fn scaled(m: &Plain, by: &Plain) -> Plain {
    Plain::new(m.rows, m.columns, |i, j| m.at(i, j) * by.at(0, j))
}

fn bound(dtype: Dtype, n: usize) -> f64 {
    8.0 * (n as f64 + 2.0).sqrt() * unit(dtype)
}

/// The root of the sum of squares.
fn size(a: &Plain) -> f64 {
    let largest = a.largest().max(f64::MIN_POSITIVE);
    largest * a.x.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}

fn for_each(f: impl Fn(Dtype, usize, usize, bool)) {
    for dtype in [Dtype::F64, Dtype::F32] {
        for (n, k) in SIZES {
            f(dtype, n, k, false);
            f(dtype, n, k, true);
        }
    }
}

/// Random matrices, singular ones, ones with equal values, zeros, and those of extreme sizes.
fn kinds(n: usize, k: usize) -> Vec<(&'static str, Plain)> {
    let noise = Plain::random(n, k, 1 + (n * k) as u64);
    let (left, right) = (Plain::random(n, 2, 5), Plain::random(2, k, 6));
    let graded = Plain::new(n, k, |i, j| noise.at(i, j) * 0.7f64.powi(j as i32 % 60));
    vec![
        ("graded", graded),
        ("of low rank", left.times(&right)),
        ("of ones", Plain::new(n, k, |_, _| 1.0)),
        ("diagonal", Plain::new(n, k, |i, j| if i == j { f64::from(j as u8 % 3) } else { 0.0 })),
        ("zero", Plain::new(n, k, |_, _| 0.0)),
        ("large", Plain::new(n, k, |i, j| noise.at(i, j) * 1e30)),
        ("small", Plain::new(n, k, |i, j| noise.at(i, j) * 1e-30)),
        ("random", noise),
    ]
}

#[test]
fn orthogonal_factors() {
    for_each(|dtype, n, k, turned| {
        for (what, a) in kinds(n, k) {
            let a = rounded(dtype, a);
            let found = all(dtype, Routine::QrQ, &a, turned);
            let (r, q) = (&found[0], &found[1]);
            assert!((0..k).all(|i| r.at(i, i) >= 0.0 && (0..i).all(|j| r.at(i, j) == 0.0)));
            let error = q.times(r).distance(&a);
            assert!(error <= bound(dtype, n) * size(&a), "{what} {dtype} {n} {k}: {error}");
            let error = q.turned().times(q).distance(&identity(k));
            assert!(error <= 2.0 * bound(dtype, n), "{what} {dtype} {n} {k}: {error}");
            let alone = made(dtype, Routine::QrR, &a, turned, 1, 0).unwrap().0;
            assert_eq!(alone[0].x, r.x);
        }
    });
}

#[test]
fn symmetric_eigenvalues() {
    for_each(|dtype, _, n, turned| {
        for (what, a) in kinds(n, n) {
            let a = Plain::new(n, n, |i, j| a.at(i.max(j), i.min(j)));
            let a = rounded(dtype, a);
            // What is above the diagonal is not read.
            let read = Plain::new(n, n, |i, j| if j > i { f64::NAN } else { a.at(i, j) });
            let found = all(dtype, Routine::EighVectors, &read, turned);
            let (d, v) = (&found[0], &found[1]);
            assert!(d.x.is_sorted(), "{what} {dtype} {n}: {:?}", d.x);
            let error = a.times(v).distance(&scaled(v, d));
            assert!(error <= bound(dtype, n) * size(&a), "{what} {dtype} {n}: {error}");
            let error = v.turned().times(v).distance(&identity(n));
            assert!(error <= 2.0 * bound(dtype, n), "{what} {dtype} {n}: {error}");
            let alone = made(dtype, Routine::EighValues, &read, turned, 1, 0).unwrap().0;
            let error = alone[0].distance(d);
            assert!(error <= bound(dtype, n) * size(&a), "{what} {dtype} {n}: {error}");
        }
    });
}

#[test]
fn singular_values() {
    for_each(|dtype, n, k, turned| {
        for (what, a) in kinds(n, k) {
            let a = rounded(dtype, a);
            let found = all(dtype, Routine::SvdLeft, &a, turned);
            let (s, u, v) = (&found[0], &found[1], &found[2]);
            assert!(s.x.iter().rev().is_sorted() && s.x.iter().all(|&x| x >= 0.0), "{:?}", s.x);
            let error = scaled(u, s).times(&v.turned()).distance(&a);
            assert!(error <= bound(dtype, n) * size(&a), "{what} {dtype} {n} {k}: {error}");
            for m in [u, v] {
                let error = m.turned().times(m).distance(&identity(k));
                assert!(error <= 2.0 * bound(dtype, n), "{what} {dtype} {n} {k}: {error}");
            }
        }
    });
}

/// Small values beside large ones are as exact as these are, relative to themselves: that is what
/// rotations can do and `A^T A` cannot.
#[test]
fn small_singular_values() {
    let n = 60;
    let noise = Plain::random(n, n, 3);
    let a = Plain::new(n, n, |i, j| noise.at(i, j) * 0.5f64.powi(j as i32));
    let found = all(Dtype::F64, Routine::SvdLeft, &a, false);
    let halved = Plain::new(n, n, |i, j| noise.at(i, j) * 0.5f64.powi(j as i32 + 500));
    let other = all(Dtype::F64, Routine::SvdLeft, &halved, true);
    for (x, y) in found[0].x.iter().zip(&other[0].x) {
        assert!((x - y * 2f64.powi(500)).abs() <= 1e-12 * x, "{x} {y}");
    }
    assert!(found[0].x[n - 1] < 1e-15 * found[0].x[0]);
}

#[test]
fn what_is_not_finite_is_nan() {
    for n in [3, 40] {
        for bad in [f64::NAN, f64::INFINITY] {
            let a = Plain::new(n, n, |i, j| if (i, j) == (n - 1, 1) { bad } else { 1.0 });
            for routine in [Routine::QrQ, Routine::EighVectors, Routine::SvdLeft] {
                let found = all(Dtype::F64, routine, &a, false);
                assert!(found.iter().all(|m| m.x.iter().any(|x| x.is_nan())), "{routine:?} {n}");
            }
        }
    }
}

#[test]
fn every_look_may_be_the_last() {
    let a = Plain::random(50, 50, 2);
    for routine in [Routine::QrR, Routine::EighValues, Routine::SvdValues] {
        let count = family(routine).len();
        let (_, looks) = made(Dtype::F64, routine, &a, false, count, 0).unwrap();
        assert!(looks > 8, "{looks}");
        for last in 1..=looks.min(60) {
            assert!(made(Dtype::F64, routine, &a, false, count, last).is_none());
        }
    }
}

/// Small matrices give the same bits as the schoolbook.
#[test]
fn small_matrices_are_those_of_the_book() {
    let apply = |op: Op, args: &[Scalar]| -> Result<Scalar, ()> {
        cotan_ir::scalar::eval(op, args).ok_or(())
    };
    for (n, k) in [(1, 1), (5, 3), (6, 6), (12, 12)] {
        for (what, a) in kinds(n, k) {
            for first in [Routine::QrR, Routine::EighValues, Routine::SvdValues] {
                if first == Routine::EighValues && n != k {
                    continue;
                }
                let found = all(Dtype::F64, first, &a, false);
                for (&routine, found) in family(first).iter().zip(&found) {
                    let cell =
                        CellValue::new(&[n, k], a.x.iter().map(|&x| Scalar::F64(x)).collect());
                    let zero = Scalar::F64(0.0);
                    let book = routine.by_the_book(&[cell], zero, &mut { apply }).unwrap();
                    let own: Vec<Scalar> = found.x.iter().map(|&x| Scalar::F64(x)).collect();
                    assert_eq!(
                        format!("{book:?}"),
                        format!("{own:?}"),
                        "{routine:?} {what} {n} {k}"
                    );
                }
            }
        }
    }
}

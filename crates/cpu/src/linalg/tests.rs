//! Residuals of all sizes around those of blocks, for each type; what lies transposed; looks at the
//! limits.

mod spectral;

use cotan_array::Dtype;
use cotan_ir::Routine;
use cotan_nest::{BufferId, Cells, RoutineStep, family};
use cotan_schedule::routine_room;

use super::{RoutinePointers, run};

/// Numbers between -1 and 1, always the same.
fn scattered(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A matrix of rows and columns.
#[derive(Clone, Debug)]
struct Plain {
    rows: usize,
    columns: usize,
    x: Vec<f64>,
}

impl Plain {
    fn new(rows: usize, columns: usize, f: impl Fn(usize, usize) -> f64) -> Plain {
        let x = (0..rows * columns).map(|k| f(k / columns.max(1), k % columns.max(1))).collect();
        Plain { rows, columns, x }
    }

    fn random(rows: usize, columns: usize, seed: u64) -> Plain {
        Plain { rows, columns, x: scattered(rows * columns, seed) }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.x[i * self.columns + j]
    }

    fn turned(&self) -> Plain {
        Plain::new(self.columns, self.rows, |i, j| self.at(j, i))
    }

    fn times(&self, other: &Plain) -> Plain {
        let turned = other.turned();
        Plain::new(self.rows, other.columns, |i, j| {
            let row = &self.x[i * self.columns..(i + 1) * self.columns];
            let column = &turned.x[j * turned.columns..(j + 1) * turned.columns];
            row.iter().zip(column).map(|(a, b)| a * b).sum()
        })
    }

    fn largest(&self) -> f64 {
        self.x.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
    }

    fn distance(&self, other: &Plain) -> f64 {
        self.x.iter().zip(&other.x).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
    }
}

/// The results of a routine of matrices, and of rows where there are some; those that are transposed
/// lie so in memory.
fn results(
    dtype: Dtype,
    routine: Routine,
    (n, columns): (usize, usize),
    matrices: &[(&Plain, bool)],
    rows: Option<&[i64]>,
    last_look: usize,
) -> Option<(Plain, Vec<i64>, usize)> {
    let mut memory: Vec<Vec<u64>> = Vec::new();
    let bytes = |x: &[f64]| -> Vec<u64> {
        let narrow = |pair: &[f64]| {
            let bits = |k: usize| u64::from(pair.get(k).map_or(0, |&x| (x as f32).to_bits()));
            bits(0) | bits(1) << 32
        };
        match dtype {
            Dtype::F32 => x.chunks(2).map(narrow).collect(),
            _ => x.iter().map(|x| x.to_bits()).collect(),
        }
    };
    let mut operands = Vec::new();
    for (matrix, turned) in matrices {
        let lying = if *turned { matrix.turned() } else { (*matrix).clone() };
        memory.push(bytes(&lying.x));
        let (row, column) = if *turned { (1, matrix.rows) } else { (matrix.columns, 1) };
        operands.push(Cells { buffer: BufferId(0), batch: [].into(), row, column });
        // The rows come before the right sides.
        if let Some(rows) = rows
            && operands.len() == 1
        {
            memory.push(rows.iter().map(|&row| row as u64).collect());
            operands.push(Cells { buffer: BufferId(0), batch: [].into(), row: 1, column: 1 });
        }
    }
    let wide = if matches!(routine, Routine::Cholesky | Routine::LuFactors) { n } else { columns };
    let mut to = vec![0u64; n * wide + 1];
    let mut order = vec![0i64; n];
    let mut room = vec![0u64; routine_room(routine, n, columns)];
    let step = RoutineStep {
        routine,
        dtype,
        batch: [].into(),
        rows: n,
        columns,
        operands,
        results: vec![BufferId(0); family(routine).len()],
        room: BufferId(0),
        needed: 0,
    };
    let places = RoutinePointers {
        operands: memory.iter_mut().map(|words| words.as_mut_ptr().cast()).collect(),
        results: vec![to.as_mut_ptr().cast(), order.as_mut_ptr().cast()],
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
    let read = |k: usize| match dtype {
        // The machines of the tests have the low word first.
        Dtype::F32 => f64::from(f32::from_bits((to[k / 2] >> (32 * (k % 2))) as u32)),
        _ => f64::from_bits(to[k]),
    };
    Some((Plain::new(n, wide, |i, j| read(i * wide + j)), order, looks))
}

fn unit(dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

const SIZES: [usize; 12] = [0, 1, 2, 5, 16, 31, 32, 33, 64, 100, 193, 300];

fn for_each(f: impl Fn(Dtype, usize, bool)) {
    for dtype in [Dtype::F64, Dtype::F32] {
        for n in SIZES {
            for turned in [false, true] {
                f(dtype, n, turned);
            }
        }
    }
}

#[test]
fn factors_of_positive_definite_matrices() {
    for_each(|dtype, n, turned| {
        let root = Plain::random(n, n, 1 + n as u64);
        let product = root.times(&root.turned());
        let a = Plain::new(n, n, |i, j| {
            let x = product.at(i, j) + if i == j { 1.0 } else { 0.0 };
            if dtype == Dtype::F32 { f64::from(x as f32) } else { x }
        });
        // What is above the diagonal is not read.
        let read = Plain::new(n, n, |i, j| if j > i { f64::NAN } else { a.at(i, j) });
        let (l, ..) =
            results(dtype, Routine::Cholesky, (n, n), &[(&read, turned)], None, 0).unwrap();
        assert!((0..n).all(|i| (i + 1..n).all(|j| l.at(i, j) == 0.0)));
        let error = l.times(&l.turned()).distance(&a);
        assert!(error <= 4.0 * n as f64 * unit(dtype) * a.largest(), "{dtype} {n}: {error}");
    });
}

#[test]
fn no_factor_is_nan() {
    for n in [1, 3, 40, 200] {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let a = Plain::new(n, n, |i, j| match () {
                () if i == j && i + 1 == n => bad,
                () if i == j => 2.0,
                () => 0.0,
            });
            let (l, ..) =
                results(Dtype::F64, Routine::Cholesky, (n, n), &[(&a, false)], None, 0).unwrap();
            assert!((0..n).all(|i| (0..n).all(|j| l.at(i, j).is_nan() == (j <= i))), "{n} {bad}");
        }
    }
}

#[test]
fn triangles() {
    let triangles = [
        (Routine::SolveLower, true, false),
        (Routine::SolveUpper, false, false),
        (Routine::SolveUnitLower, true, true),
        (Routine::SolveUnitUpper, false, true),
    ];
    for_each(|dtype, n, turned| {
        for (routine, lower, unit_diagonal) in triangles {
            for columns in [0, 1, 3, 4, 7, 33, 100] {
                let small = 1.0 / (1.0 + n as f64);
                let noise = Plain::random(n, n, 3);
                let t = Plain::new(n, n, |i, j| match () {
                    () if i == j && unit_diagonal => 1.0,
                    () if i == j => 2.0 + noise.at(i, j),
                    () if lower == (j < i) => small * noise.at(i, j),
                    () => 0.0,
                });
                // The other triangle is not read.
                let other =
                    |i: usize, j: usize| i != j && lower != (j < i) || i == j && unit_diagonal;
                let read = Plain::new(n, n, |i, j| if other(i, j) { f64::NAN } else { t.at(i, j) });
                let b = Plain::random(n, columns, 5);
                let operands = [(&read, turned), (&b, turned)];
                let (x, ..) = results(dtype, routine, (n, columns), &operands, None, 0).unwrap();
                let error = t.times(&x).distance(&b);
                let bound = 8.0 * (n as f64 + 1.0) * unit(dtype) * (1.0 + x.largest());
                assert!(error <= bound, "{routine:?} {dtype} {n} {columns}: {error}");
            }
        }
    });
}

#[test]
fn zeros_solve_what_is_singular() {
    for n in [2, 40] {
        let t = Plain::new(n, n, |_, _| f64::NAN);
        for columns in [1, 5] {
            let b = Plain::new(n, columns, |i, j| if j == 0 { 0.0 } else { i as f64 });
            let operands = [(&t, false), (&b, false)];
            let (x, ..) =
                results(Dtype::F64, Routine::SolveLower, (n, columns), &operands, None, 0).unwrap();
            assert!((0..n).all(|i| x.at(i, 0) == 0.0));
            assert!(columns == 1 || x.at(1, 1).is_nan());
        }
    }
}

#[test]
fn elimination_and_its_systems() {
    for_each(|dtype, n, turned| {
        let noise = Plain::random(n, n, 7);
        let a = Plain::new(n, n, |i, j| {
            if dtype == Dtype::F32 { f64::from(noise.at(i, j) as f32) } else { noise.at(i, j) }
        });
        let (f, rows, _) =
            results(dtype, Routine::LuFactors, (n, n), &[(&a, turned)], None, 0).unwrap();
        let l = Plain::new(n, n, |i, j| match () {
            () if i == j => 1.0,
            () if j < i => f.at(i, j),
            () => 0.0,
        });
        // Pivots are the largest of their columns.
        assert!(l.largest() <= 1.0);
        let u = Plain::new(n, n, |i, j| if j >= i { f.at(i, j) } else { 0.0 });
        let permuted = Plain::new(n, n, |i, j| a.at(rows[i] as usize, j));
        let error = l.times(&u).distance(&permuted);
        let bound = 4.0 * (n as f64 + 1.0) * unit(dtype) * (1.0 + u.largest());
        assert!(error <= bound, "{dtype} {n}: {error}");
        for columns in [1, 6, 40] {
            for (routine, matrix) in
                [(Routine::LuSolve, a.clone()), (Routine::LuSolveTransposed, a.turned())]
            {
                let b = Plain::random(n, columns, 9);
                let operands = [(&f, false), (&b, turned)];
                let found = results(dtype, routine, (n, columns), &operands, Some(&rows), 0);
                let x = found.unwrap().0;
                let error = matrix.times(&x).distance(&b);
                let bound = 64.0 * (n as f64 + 1.0) * unit(dtype) * (1.0 + x.largest());
                assert!(error <= bound, "{routine:?} {dtype} {n} {columns}: {error} of {bound}");
            }
        }
    });
}

#[test]
fn every_look_may_be_the_last() {
    let n = 100;
    let a = Plain::new(n, n, |i, j| if i == j { 2.0 } else { 0.0 });
    for routine in [Routine::Cholesky, Routine::LuFactors] {
        let (_, _, looks) = results(Dtype::F64, routine, (n, n), &[(&a, false)], None, 0).unwrap();
        assert!(looks > 8, "{looks}");
        for last in 1..=looks {
            assert!(results(Dtype::F64, routine, (n, n), &[(&a, false)], None, last).is_none());
        }
    }
}

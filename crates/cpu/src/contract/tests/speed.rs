//! How fast products are, against the most that the machine can do and against another library.
//!
//! `cargo test --release -p cotan-cpu --lib speed -- --ignored --nocapture`

use std::hint::black_box;
use std::time::Instant;

use cotan_array::{Array, Dtype};
use cotan_nest::BufferId;
use cotan_pipeline::{Derivative, derive};
use cotan_schedule::{Axis, Contraction};
use cotan_testkit::Rng;

use super::nests::{Case, CaseMemory, batched, matrices};
use crate::Executable;
use crate::contract::RunContraction;
use crate::isa::{self, Isa};
use crate::limits::RunLimits;
use crate::target;
use crate::vm::Kernel;

/// The seconds that this thread was running.
fn now() -> f64 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, to: *mut [i64; 2]) -> i32;
    }
    /// `CLOCK_THREAD_CPUTIME_ID` of Linux.
    const THREAD: i32 = 3;
    let mut time = [0; 2];
    // SAFETY: there is room for seconds and nanoseconds.
    assert_eq!(unsafe { clock_gettime(THREAD, &mut time) }, 0);
    time[0] as f64 + time[1] as f64 * 1e-9
}

/// The least time of a call, in seconds.
fn least(mut f: impl FnMut()) -> f64 {
    let begin = now();
    f();
    let once = now() - begin;
    let calls = (1e-3 / once.max(1e-9)).ceil() as usize;
    let mut best = f64::MAX;
    let whole = Instant::now();
    while whole.elapsed().as_secs_f64() < 0.3 {
        let begin = now();
        (0..calls).for_each(|_| f());
        best = best.min((now() - begin) / calls as f64);
    }
    best
}

/// Multiplications and additions in a second when nothing but the units for them is busy.
fn peak(dtype: Dtype, isa: Isa) -> f64 {
    // A tile so deep that everything else is small, from one line of memory.
    let (n, lanes) = (1 << 12, target::of(isa).tile(dtype).lanes);
    let (rows, columns) = if lanes * dtype.size() == 64 { (8, 3 * lanes) } else { (6, 2 * lanes) };
    let case = matrices(dtype, rows, columns, n);
    let mut contraction = recognise(&case, isa);
    let product = &mut contraction.product;
    product.direct = true;
    product.left.place = product.left.place.frozen(None);
    product.right.place = product.right.place.frozen(Some(Axis::Columns));
    let mut memory = CaseMemory::new(&mut Rng::new(1), &case, false);
    let mut time = 0.0;
    memory.run(0, |frame| {
        time = least(|| assert!(contraction.run(frame, &RunLimits::default())));
    });
    2.0 * (rows * columns * n) as f64 / time
}

fn recognise(case: &Case, isa: Isa) -> Contraction<Kernel> {
    let length = |b: BufferId| case.sizes[b.index()];
    let found = Contraction::recognise(&case.nest, &target::of(isa), length).unwrap();
    Contraction { scratch: Some(BufferId(3)), ..found.map(&mut Kernel::new) }
}

/// Seconds of the contraction and of the ordinary kernel.
fn times(case: &Case, ordinary: bool, direct: Option<bool>) -> (f64, f64) {
    let mut contraction = recognise(case, isa::best());
    if let Some(direct) = direct {
        contraction.product.direct = direct && contraction.product.direct_works();
    }
    let kernel = Kernel::of_nest(case.nest.clone().collapse(None).0, false, None);
    let mut memory = CaseMemory::new(&mut Rng::new(1), case, false);
    let (mut fast, mut slow) = (0.0, f64::NAN);
    let limits = RunLimits::default();
    memory.run(contraction.scratch_bytes(), |frame| {
        fast = least(|| assert!(contraction.run(frame, &limits)));
        if ordinary {
            slow = least(|| assert!(kernel.run_all(frame, &limits)));
        }
    });
    (fast, slow)
}

fn other(dtype: Dtype, n: usize) -> f64 {
    let flops = 2.0 * (n * n * n) as f64;
    let s = n as isize;
    let time = match dtype {
        Dtype::F32 => {
            let (a, b, mut c) = (vec![1f32; n * n], vec![1f32; n * n], vec![0f32; n * n]);
            // SAFETY: matrices of `n` rows and columns.
            least(|| unsafe {
                matrixmultiply::sgemm(
                    n,
                    n,
                    n,
                    1.0,
                    a.as_ptr(),
                    s,
                    1,
                    b.as_ptr(),
                    s,
                    1,
                    0.0,
                    c.as_mut_ptr(),
                    s,
                    1,
                );
                black_box(&c);
            })
        }
        _ => {
            let (a, b, mut c) = (vec![1f64; n * n], vec![1f64; n * n], vec![0f64; n * n]);
            // SAFETY: matrices of `n` rows and columns.
            least(|| unsafe {
                matrixmultiply::dgemm(
                    n,
                    n,
                    n,
                    1.0,
                    a.as_ptr(),
                    s,
                    1,
                    b.as_ptr(),
                    s,
                    1,
                    0.0,
                    c.as_mut_ptr(),
                    s,
                    1,
                );
                black_box(&c);
            })
        }
    };
    flops / time
}

#[test]
#[ignore = "a measurement"]
fn square() {
    for dtype in [Dtype::F64, Dtype::F32] {
        let peak = peak(dtype, isa::best());
        println!("{dtype:?}: peak {:.1} GFLOP/s ({:?})", peak / 1e9, isa::best());
        for n in [16, 32, 64, 128, 256, 512, 1024] {
            let flops = 2.0 * (n * n * n) as f64;
            let case = matrices(dtype, n, n, n);
            let ((packed, slow), (direct, _)) =
                (times(&case, n <= 256, Some(false)), times(&case, false, Some(true)));
            println!(
                "| {n} | {:.1} | {:.0} % | {:.1} | {:.2} | {:.1} |",
                flops / packed / 1e9,
                100.0 * flops / packed / peak,
                flops / direct / 1e9,
                flops / slow / 1e9,
                other(dtype, n) / 1e9,
            );
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn small() {
    println!("| batch | rows | columns | depth | packed | direct | ordinary | ns a product |");
    for (batch, m, n, k) in [
        (1, 2, 2, 2),
        (1, 4, 4, 4),
        (1, 2, 8, 8),
        (1, 8, 8, 8),
        (1, 16, 16, 16),
        (1000, 2, 2, 2),
        (1000, 3, 3, 3),
        (1000, 4, 4, 4),
        (1000, 8, 8, 8),
        (1000, 16, 16, 16),
        (1, 2, 100, 100),
        (1, 100, 2, 100),
        (1, 100, 100, 2),
        (1, 2, 1000, 1000),
        (1, 1000, 1000, 2),
        (1, 4, 1000, 1000),
        (1, 16, 1000, 1000),
        (25, 20, 1000, 20),
        (1, 1, 1000, 1000),
        (1, 1000, 1, 1000),
        (1, 1000, 3, 1000),
        (1, 1000, 2, 2),
    ] {
        for dtype in [Dtype::F64, Dtype::F32] {
            let case = batched(dtype, batch, m, n, k);
            let work = (batch * m * n * k) as f64;
            let ((packed, slow), (direct, _)) =
                (times(&case, true, Some(false)), times(&case, false, Some(true)));
            println!(
                "| {dtype:?} {batch} | {m} | {n} | {k} | {:.2} | {:.2} | {:.2} GFMA/s | {:.0} {:.0} {:.0} |",
                work / packed / 1e9,
                work / direct / 1e9,
                work / slow / 1e9,
                packed / batch as f64 * 1e9,
                direct / batch as f64 * 1e9,
                slow / batch as f64 * 1e9,
            );
        }
    }
}

/// Values and gradients of whole programs, with and without contractions.
#[test]
#[ignore = "a measurement"]
fn programs() {
    let image = "def main(x: [16, 34, 34]f64, w: [16, 16, 3, 3]f64): [16, 32, 32]f64 =
       build (16, 32, 32) ((o, y, z) =>
         sum(build (16, 3, 3) ((c, p, q) => w[o, c, p, q] * x[c, y + p, z + q])))";
    let mixture = "def main(q: [25, 20, 20]f64, x: [1000, 20]f64, mu: [25, 20]f64) =
       build (1000, 25, 20) ((n, k, i) => sum(build 20 (j => q[k, i, j] * (x[n, j] - mu[k, j]))))";
    let product = "def main(a: [256, 256]f64, b: [256, 256]f64): [256, 256]f64 =
       build (256, 256) ((i, j) => sum(build 256 (l => a[i, l] * b[l, j])))";
    for (name, text) in [("product", product), ("image", image), ("mixture", mixture)] {
        let value = super::plans::program(text);
        let gradient = derive(&value, Derivative::Vjp, None).unwrap();
        for (what, program) in [("value", &value), ("and gradient", &gradient)] {
            let inputs: Vec<Array> = program
                .inputs()
                .iter()
                .map(|input| Array::full(input.ty.shape.clone(), 0.5).unwrap())
                .collect();
            let executable = Executable::new(program).unwrap();
            let limits = RunLimits::default();
            let time = least(|| {
                black_box(executable.run(&inputs, &limits).unwrap());
            });
            println!("{name} {what}: {:.3} ms", time * 1e3);
        }
    }
}

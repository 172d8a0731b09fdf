//! How fast the code is, beside the tile machine and loops that the compiler of Rust makes vector
//! code of.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_math::{Double, double};
use cotan_nest::{Affine, BufferId, Instr, Nest, Val, Write};
use smallvec::SmallVec;

use super::Runnable;
use crate::jit::{encode, isa};
use crate::limits::RunLimits;
use crate::memory::AlignedMemory;
use crate::vm::{Frame, Kernel};

const A: f64 = 0.3;
const B: f64 = -0.7;
const C: f64 = 1.1;

/// A nest in the making.
struct Maker {
    nest: Nest,
}

impl Maker {
    fn new(extents: &[usize], reduced: usize) -> Maker {
        let at = Affine::constant(0, extents.len());
        let nest = Nest {
            extents: extents.to_vec(),
            reduced,
            instrs: Vec::new(),
            dtypes: Vec::new(),
            value: Val(0),
            target: BufferId(0),
            write: Write::Store(at),
            also: Vec::new(),
            source: None,
        };
        Maker { nest }
    }

    fn push(&mut self, instr: Instr) -> Val {
        self.nest.instrs.push(instr);
        self.nest.dtypes.push(Dtype::F64);
        Val(self.nest.instrs.len() as u32 - 1)
    }

    fn load(&mut self, buffer: u32, at: Affine, checks: Vec<(Affine, i64)>) -> Val {
        self.push(Instr::Load { buffer: BufferId(buffer), at, checks })
    }

    fn number(&mut self, x: f64) -> Val {
        self.push(Instr::Const(x.to_bits()))
    }

    fn op(&mut self, op: Op, args: &[Val]) -> Val {
        self.push(Instr::Op(op, SmallVec::from_slice(args)))
    }

    fn finish(mut self, value: Val, write: Write) -> Kernel {
        self.nest.value = value;
        self.nest.write = write;
        Kernel::of_nest(self.nest, false, None)
    }
}

fn line(n: usize) -> (Affine, Maker) {
    (Affine::index(0, 1), Maker::new(&[n], 0))
}

fn chain(n: usize) -> Kernel {
    let (at, mut m) = line(n);
    let x = m.load(1, at.clone(), Vec::new());
    let (a, b, c) = (m.number(A), m.number(B), m.number(C));
    let ax = m.op(Op::Mul, &[a, x]);
    let inner = m.op(Op::Add, &[ax, b]);
    let tanh = m.op(Op::Tanh, &[inner]);
    let square = m.op(Op::Mul, &[x, x]);
    let minus = m.op(Op::Neg, &[square]);
    let exp = m.op(Op::Exp, &[minus]);
    let product = m.op(Op::Mul, &[tanh, exp]);
    let y = m.op(Op::Add, &[product, c]);
    m.finish(y, Write::Store(at))
}

fn cheap(n: usize) -> Kernel {
    let (at, mut m) = line(n);
    let x = m.load(1, at.clone(), Vec::new());
    let (a, b, c) = (m.number(A), m.number(B), m.number(C));
    let ax = m.op(Op::Mul, &[a, x]);
    let inner = m.op(Op::Add, &[ax, b]);
    let left = m.op(Op::Mul, &[inner, x]);
    let right = m.op(Op::Mul, &[c, x]);
    let y = m.op(Op::Sub, &[left, right]);
    m.finish(y, Write::Store(at))
}

fn dot(n: usize) -> Kernel {
    let at = Affine::index(0, 1);
    let mut m = Maker::new(&[n], 1);
    let (x, y) = (m.load(1, at.clone(), Vec::new()), m.load(2, at, Vec::new()));
    let product = m.op(Op::Mul, &[x, y]);
    m.finish(product, Write::Sum(Affine::constant(0, 1)))
}

/// Five points of a square, 0 outside or only inside.
fn stencil(n: usize, checked: bool) -> Kernel {
    let inside = if checked { n } else { n - 2 };
    let mut m = Maker::new(&[inside, inside], 0);
    let shift = if checked { 0 } else { 1 };
    let at = |i: i64, j: i64| {
        let form = |c: i64, coeffs: [i64; 2]| Affine {
            constant: c,
            coeffs: SmallVec::from_slice(&coeffs),
        };
        let (row, column) = (form(i, [1, 0]), form(j, [0, 1]));
        let place = form(i * n as i64 + j, [n as i64, 1]);
        let mut checks = Vec::new();
        if checked && i != 0 {
            checks.push((row, n as i64));
        }
        if checked && j != 0 {
            checks.push((column, n as i64));
        }
        (place, checks)
    };
    let mut points = Vec::new();
    for (i, j) in [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)] {
        let (place, checks) = at(i + shift, j + shift);
        points.push(m.load(1, place, checks));
    }
    let mut around = points[1];
    for &p in &points[2..] {
        around = m.op(Op::Add, &[around, p]);
    }
    let (a, b) = (m.number(A), m.number(B));
    let center = m.op(Op::Mul, &[a, points[0]]);
    let rest = m.op(Op::Mul, &[b, around]);
    let y = m.op(Op::Add, &[center, rest]);
    m.finish(y, Write::Store(at(shift, shift).0))
}

/// The loops of Rust, compiled for the same instructions.
mod loops {
    use super::*;

    #[target_feature(enable = "avx2,fma")]
    pub fn chain(x: &[f64], y: &mut [f64]) {
        for (y, &x) in y.iter_mut().zip(x) {
            let tanh = double::tanh(&Double, A.mul_add(x, B));
            *y = tanh.mul_add(double::exp(&Double, -(x * x)), C);
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn cheap(x: &[f64], y: &mut [f64]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = A.mul_add(x, B).mul_add(x, -(C * x));
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn dot(x: &[f64], z: &[f64]) -> f64 {
        let mut sums = [0.0f64; 16];
        for (x, z) in x.chunks_exact(16).zip(z.chunks_exact(16)) {
            for k in 0..16 {
                sums[k] = x[k].mul_add(z[k], sums[k]);
            }
        }
        sums.iter().sum()
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn stencil(n: usize, u: &[f64], y: &mut [f64]) {
        for i in 1..n - 1 {
            let [above, row, below] = [i - 1, i, i + 1].map(|i| &u[i * n..(i + 1) * n]);
            let y = &mut y[i * n..(i + 1) * n];
            for j in 1..n - 1 {
                let around = above[j] + below[j] + row[j - 1] + row[j + 1];
                y[j] = B.mul_add(around, A * row[j]);
            }
        }
    }
}

/// A loop of Rust: two operands and the result.
type Plain<'a> = &'a mut dyn FnMut(&[f64], &[f64], &mut [f64]);

/// The least time of many, in nanoseconds.
fn least(elements: usize, mut f: impl FnMut()) -> f64 {
    let rounds = (20_000_000 / elements).clamp(20, 20_000);
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let begin = Instant::now();
        f();
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best * 1e9
}

fn measure(name: &str, n: usize, kernel: &Kernel, plain: Plain) {
    // Buffers begin at different places of a page.
    let memory = AlignedMemory::new(3 * (8 * n + 4096 + 256)).unwrap();
    let place = |k: usize| memory.start().wrapping_add(k * (8 * n + 4096 + 192) / 64 * 64);
    let pointers: Vec<*mut u8> = (0..3).map(place).collect();
    // SAFETY: three parts of the memory.
    let (y, x, z) = unsafe {
        (
            std::slice::from_raw_parts_mut(pointers[0].cast::<f64>(), n),
            std::slice::from_raw_parts_mut(pointers[1].cast::<f64>(), n),
            std::slice::from_raw_parts_mut(pointers[2].cast::<f64>(), n),
        )
    };
    for k in 0..n {
        x[k] = (k % 97) as f64 / 40.0 - 1.2;
        z[k] = (k % 89) as f64 / 40.0 - 1.1;
    }
    let code = Runnable::new(encode(kernel, isa::best().unwrap(), None).unwrap());
    let positions = kernel.positions();
    let native = least(n, || code.call(&pointers, 0, positions));
    let sizes: Arc<[usize]> = vec![8 * n; 3].into();
    let mut frame = Frame::new(pointers.clone(), sizes, AlignedMemory::new(0).unwrap());
    let limits = RunLimits::default();
    let machine = least(n, || assert!(kernel.run(&mut frame, 0..positions, &limits)));
    let rust = least(n, || plain(black_box(x), black_box(z), black_box(y)));
    let per = |t: f64| t / n as f64;
    println!(
        "{name:10} {n:8}: native {:.3}, tiles {:.3}, Rust {:.3} ns/element; {:.0} ns a call",
        per(native),
        per(machine),
        per(rust),
        native
    );
}

#[test]
#[ignore = "a measurement: cargo test --release -p cotan-cpu --lib jit::tests::times -- --ignored --nocapture"]
fn times() {
    for n in [16, 1000, 10_000, 100_000, 1_000_000] {
        // SAFETY: the instructions are there, as the code needs them, too.
        unsafe {
            measure("chain", n, &chain(n), &mut |x, _, y| loops::chain(x, y));
            measure("cheap", n, &cheap(n), &mut |x, _, y| loops::cheap(x, y));
            measure("dot", n, &dot(n), &mut |x, z, y| y[0] = loops::dot(x, z));
        }
    }
    for n in [32, 100, 300, 1000] {
        let mut plain = |x: &[f64], _: &[f64], y: &mut [f64]| {
            // SAFETY: as above.
            unsafe { loops::stencil(n, x, y) };
        };
        measure("stencil", n * n, &stencil(n, false), &mut plain);
        measure("stencil 0", n * n, &stencil(n, true), &mut plain);
    }
}

#[test]
#[ignore = "a measurement, as above"]
fn compile_times() {
    let long = |operations: usize| {
        let (at, mut m) = line(1000);
        let x = m.load(1, at.clone(), Vec::new());
        let mut y = x;
        for k in 0..operations {
            let c = m.number(k as f64);
            y = m.op(if k % 2 == 0 { Op::Mul } else { Op::Max }, &[y, c]);
        }
        m.finish(y, Write::Store(at))
    };
    let kernels = [
        ("cheap", cheap(1000)),
        ("chain", chain(1000)),
        ("dot", dot(1000)),
        ("stencil 0", stencil(100, true)),
        ("200 operations", long(200)),
        ("2000 operations", long(2000)),
    ];
    for (name, kernel) in kernels {
        let mut bytes = 0;
        let time = least(100_000, || {
            bytes = encode(&kernel, isa::best().unwrap(), None).unwrap().bytes.len();
        });
        println!("{name:16}: {:.1} us, {bytes} bytes", time / 1000.0);
    }
}

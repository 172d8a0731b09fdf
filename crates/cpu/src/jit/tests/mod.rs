//! Machine code against the tile machine, bit for bit.

mod convention;
mod nests;
mod operations;
mod random;
mod scalar;
mod times;

use std::sync::Arc;

use cotan_array::Dtype;
use cotan_testkit::Rng;

use super::isa::VectorIsa;
use super::memory::CodeMemory;
use super::{Encoded, Entry, encode};
use crate::limits::RunLimits;
use crate::samples::SPECIAL;
use crate::vm::{Frame, Kernel};

/// The instruction sets that can be tried here.
fn available() -> Vec<VectorIsa> {
    [VectorIsa::Avx2, VectorIsa::Avx512]
        .into_iter()
        .filter(|&isa| Some(isa) <= super::isa::best())
        .collect()
}

/// Bytes beside each buffer, which must stay as they are.
const MARGIN: usize = 256;

/// Buffers of a kernel, aligned for nothing but their elements.
#[derive(Clone)]
struct Buffers {
    words: Vec<Vec<u64>>,
    sizes: Vec<usize>,
    dtypes: Vec<Dtype>,
}

impl Buffers {
    fn new() -> Buffers {
        Buffers { words: Vec::new(), sizes: Vec::new(), dtypes: Vec::new() }
    }

    /// Adds a buffer with elements of all sorts.
    fn add(&mut self, dtype: Dtype, n: usize, rng: &mut Rng) -> cotan_nest::BufferId {
        let bytes = n * dtype.size();
        let mut words = vec![0xa5a5_a5a5_a5a5_a5a5u64; (2 * MARGIN + bytes).div_ceil(8)];
        let start: *mut u8 = words.as_mut_ptr().cast();
        for k in 0..n {
            // SAFETY: element `k` of the buffer.
            unsafe {
                let to = start.add(MARGIN + k * dtype.size());
                match dtype {
                    Dtype::F64 => to.cast::<f64>().write(float(rng)),
                    Dtype::F32 => to.cast::<f32>().write(float(rng) as f32),
                    Dtype::I64 => to.cast::<i64>().write(integer(rng)),
                    Dtype::Bool => to.write(u8::from(rng.chance(50))),
                }
            }
        }
        self.words.push(words);
        self.sizes.push(bytes);
        self.dtypes.push(dtype);
        cotan_nest::BufferId((self.words.len() - 1) as u32)
    }

    fn pointers(&mut self) -> Vec<*mut u8> {
        self.words
            .iter_mut()
            // SAFETY: the margin is there.
            .map(|words| unsafe { words.as_mut_ptr().cast::<u8>().add(MARGIN) })
            .collect()
    }

    /// Where two sets of buffers differ: NaNs are all the same.
    fn difference(&self, other: &Buffers) -> Option<String> {
        for (b, (left, right)) in self.words.iter().zip(&other.words).enumerate() {
            if left == right {
                continue;
            }
            let bytes =
                |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
            let (left, right) = (bytes(left), bytes(right));
            let size = self.dtypes[b].size();
            let inside = MARGIN..MARGIN + self.sizes[b];
            for at in 0..left.len() {
                if left[at] == right[at] {
                    continue;
                }
                if !inside.contains(&at) {
                    return Some(format!("byte {at} beside buffer {b}"));
                }
                let first = MARGIN + (at - MARGIN) / size * size;
                let (x, y) = (&left[first..first + size], &right[first..first + size]);
                if !both_nan(self.dtypes[b], x, y) {
                    let k = (first - MARGIN) / size;
                    return Some(format!("element {k} of buffer {b}: {x:x?} and {y:x?}"));
                }
            }
        }
        None
    }
}

fn both_nan(dtype: Dtype, x: &[u8], y: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match dtype {
        Dtype::F64 => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        Dtype::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        Dtype::I64 | Dtype::Bool => false,
    };
    nan(x) && nan(y)
}

fn float(rng: &mut Rng) -> f64 {
    match rng.below(8) {
        0 => *rng.pick(&SPECIAL),
        1 => f64::from_bits(rng.bits()),
        2 => (rng.unit() - 0.5) * 1e10,
        _ => (rng.unit() - 0.5) * 8.0,
    }
}

fn integer(rng: &mut Rng) -> i64 {
    match rng.below(8) {
        0 => *rng.pick(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 60) + (1 << 36) + 1]),
        1 => rng.bits() as i64,
        _ => rng.between(-3, 9),
    }
}

/// Code that can be run.
struct Runnable {
    memory: CodeMemory,
    _codes: Box<[crate::vm::Code]>,
}

impl Runnable {
    fn new(encoded: Encoded) -> Runnable {
        let memory = CodeMemory::new(&encoded.bytes).unwrap();
        Runnable { memory, _codes: encoded.codes }
    }

    fn entry(&self) -> Entry {
        // SAFETY: the function begins there.
        unsafe { std::mem::transmute::<*const u8, Entry>(self.memory.at(0).unwrap()) }
    }

    /// Runs it, with an eye on the registers that have to survive.
    fn run(&self, buffers: &mut Buffers, lo: usize, hi: usize) {
        // SAFETY: the buffers are those of the kernel.
        unsafe { convention::call(self.entry(), &buffers.pointers(), lo, hi) };
    }

    fn call(&self, pointers: &[*mut u8], lo: usize, hi: usize) {
        // SAFETY: the buffers are those of the kernel.
        unsafe { self.entry()(pointers.as_ptr(), lo, hi) };
    }
}

fn run_machine(kernel: &Kernel, buffers: &mut Buffers, lo: usize, hi: usize) {
    let sizes: Arc<[usize]> = buffers.sizes.clone().into();
    let local = crate::memory::AlignedMemory::new(0).unwrap();
    let mut frame = Frame::new(buffers.pointers(), sizes, local);
    assert!(kernel.run(&mut frame, lo..hi, &RunLimits::default()));
}

/// Runs a kernel both ways, for ranges that end at the given places; `None` if it has no code.
fn compare(kernel: &Kernel, buffers: &Buffers, ends: &[usize]) -> Option<Result<(), String>> {
    // Code for either instruction set is made also where it cannot run.
    let made: Vec<(VectorIsa, Encoded)> = [VectorIsa::Avx2, VectorIsa::Avx512]
        .into_iter()
        .map(|isa| encode(kernel, isa, None).map(|code| (isa, code)))
        .collect::<Option<_>>()?;
    for (isa, encoded) in made {
        if !available().contains(&isa) {
            continue;
        }
        let code = Runnable::new(encoded);
        let (mut found, mut wanted) = (buffers.clone(), buffers.clone());
        let mut lo = 0;
        for &hi in ends {
            if hi <= lo {
                continue;
            }
            run_machine(kernel, &mut wanted, lo, hi);
            code.run(&mut found, lo, hi);
            if let Some(difference) = found.difference(&wanted) {
                return Some(Err(format!("{isa:?}, {lo}..{hi}: {difference}")));
            }
            lo = hi;
        }
    }
    Some(Ok(()))
}

//! Random nests: every instruction set, packed and in place, whole and in pieces.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Val, Write};
use cotan_schedule::Contraction;
use cotan_testkit::{Rng, for_each_case, scaled};
use smallvec::smallvec;

use crate::contract::RunContraction;
use crate::contract::run::Tiled;
use crate::isa::Isa;
use crate::limits::RunLimits;
use crate::target;
use crate::vm::{Frame, Kernel};

/// Where in tiles, blocks and vectors sizes are of interest.
const SIZES: [usize; 20] =
    [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 24, 25, 31, 33, 49, 64, 65, 130];
const LARGE: [usize; 6] = [191, 193, 257, 300, 520, 1100];

/// Multiplications of a test at most.
const WORK: usize = if cfg!(miri) { 300 } else { 60_000 };

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub nest: Nest,
    /// The elements of the two operands and of the result.
    pub sizes: [usize; 3],
}

/// A place with checks in an array with an axis for each of `axes`, the dimensions that an index of
/// the axis depends on.
fn place(
    rng: &mut Rng,
    extents: &[usize],
    axes: &[Vec<usize>],
    checked: bool,
) -> (Affine, Vec<(Affine, i64)>, usize) {
    let dims = extents.len();
    let mut at = Affine::constant(0, dims);
    let (mut checks, mut stride) = (Vec::new(), 1usize);
    for axis in axes.iter().rev() {
        let mut index = Affine::constant(0, dims);
        for &dim in axis {
            index.coeffs[dim] = *rng.pick(&[1, 1, 1, 1, 1, -1, 2]);
        }
        let (lo, _) = index.range(extents).unwrap();
        index.constant = -lo + rng.between(0, 1);
        let (_, hi) = index.range(extents).unwrap();
        let mut size = hi as usize + 1 + usize::from(rng.chance(20));
        if checked && rng.chance(60) {
            index.constant -= rng.between(0, 2);
            size = (size - rng.below(size.min(3))).max(1);
            checks.push((index.clone(), size as i64));
        }
        at = at.plus(stride as i64, &index).unwrap();
        stride *= size;
    }
    (at, checks, stride)
}

/// The axes of an operand: a permutation of its dimensions, some of which share an axis.
fn axes(rng: &mut Rng, dims: &[usize], windows: bool) -> Vec<Vec<usize>> {
    let mut dims = dims.to_vec();
    if rng.chance(50) {
        rng.shuffle(&mut dims);
    }
    let mut axes: Vec<Vec<usize>> = Vec::new();
    for dim in dims {
        match axes.last_mut() {
            Some(axis) if windows && axis.len() == 1 && rng.chance(40) => axis.push(dim),
            _ => axes.push(vec![dim]),
        }
    }
    axes
}

fn case(rng: &mut Rng) -> Case {
    // Some are but products of matrices in row-major order.
    let plain = rng.chance(30);
    let mut several = || if plain { 1 } else { 1 + rng.below(2) };
    let counts = [0, several(), several(), several()];
    let counts = [*rng.pick(&[0, 0, 1, 2]), counts[1], counts[2], counts[3]];
    // Group by group; batch, rows and columns in any order.
    let mut groups: Vec<usize> = (0..3).flat_map(|g| vec![g; counts[g]]).collect();
    if !plain {
        rng.shuffle(&mut groups);
    }
    let parallel = groups.len();
    groups.extend(vec![3; counts[3]]);
    let mut extents: Vec<usize> = Vec::new();
    let mut work = 1;
    let mut order: Vec<usize> = (0..groups.len()).collect();
    rng.shuffle(&mut order);
    extents.resize(groups.len(), 1);
    for dim in order {
        let size = if rng.chance(15) { *rng.pick(&LARGE) } else { *rng.pick(&SIZES) };
        extents[dim] = if work * size <= WORK { size } else { 1 + rng.below(3) };
        work *= extents[dim];
    }
    let of = |wanted: &[usize]| -> Vec<usize> {
        (0..groups.len()).filter(|&dim| wanted.contains(&groups[dim])).collect()
    };
    let (windows, checked) = (!plain && rng.chance(30), !plain && rng.chance(50));
    let both = checked && rng.chance(50);
    let a_axes = axes(rng, &of(&[0, 1, 3]), windows);
    let b_axes = match plain {
        true => vec![of(&[0]), of(&[3]), of(&[2])],
        false => axes(rng, &of(&[0, 2, 3]), windows),
    };
    let (a, a_checks, a_size) = place(rng, &extents, &a_axes, checked);
    let (b, b_checks, b_size) = place(rng, &extents, &b_axes, both);
    let mut to: Vec<usize> = (0..parallel).collect();
    if rng.chance(30) {
        rng.shuffle(&mut to);
    }
    let mut at = Affine::constant(0, extents.len());
    let mut stride = 1usize;
    for &dim in to.iter().rev() {
        at.coeffs[dim] = stride as i64;
        stride *= extents[dim];
    }
    let dtype = if rng.chance(50) { Dtype::F64 } else { Dtype::F32 };
    let op = if rng.chance(60) { Op::Mul } else { *rng.pick(&[Op::Scale, Op::StrongMul]) };
    let (first, second) = if rng.chance(50) { (0, 1) } else { (1, 0) };
    let nest = Nest {
        reduced: extents.len() - parallel,
        extents,
        instrs: vec![
            Instr::Load { buffer: BufferId(0), at: a, checks: a_checks },
            Instr::Load { buffer: BufferId(1), at: b, checks: b_checks },
            Instr::Op(op, smallvec![Val(first), Val(second)]),
        ],
        dtypes: vec![dtype; 3],
        value: Val(2),
        target: BufferId(2),
        write: Write::Sum(at),
        also: Vec::new(),
        source: None,
    };
    let collapsed = nest.clone().collapse(None).0;
    let nest = if collapsed.reduced > 0 && rng.chance(50) { collapsed } else { nest };
    Case { nest, sizes: [a_size, b_size, stride] }
}

/// Memory of any type: small integers, or with `special` some that are not finite.
fn fill(rng: &mut Rng, dtype: Dtype, n: usize, special: bool) -> Vec<u64> {
    let mut room = vec![0u64; n];
    let to: *mut u8 = room.as_mut_ptr().cast();
    for k in 0..n {
        let x = match special && rng.chance(3) {
            true => *rng.pick(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
            false => rng.between(-3, 3) as f64,
        };
        // SAFETY: there are eight bytes for each element.
        unsafe {
            match dtype {
                Dtype::F32 => to.cast::<f32>().add(k).write(x as f32),
                _ => to.cast::<f64>().add(k).write(x),
            }
        }
    }
    room
}

fn read(dtype: Dtype, room: &[u64], k: usize) -> f64 {
    assert!(k < room.len());
    let from: *const u8 = room.as_ptr().cast();
    // SAFETY: an element of the memory.
    unsafe {
        match dtype {
            Dtype::F32 => f64::from(from.cast::<f32>().add(k).read()),
            _ => from.cast::<f64>().add(k).read(),
        }
    }
}

/// A line of memory.
#[derive(Clone)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "room")] [u64; 8]);

/// The memory of a nest: operands and result.
pub(super) struct CaseMemory {
    rooms: Vec<Vec<u64>>,
    dtype: Dtype,
}

impl CaseMemory {
    pub(super) fn new(rng: &mut Rng, case: &Case, special: bool) -> CaseMemory {
        let dtype = case.nest.dtypes[0];
        let rooms = case.sizes.iter().map(|&n| fill(rng, dtype, n, special)).collect();
        CaseMemory { rooms, dtype }
    }

    /// Runs with a result that holds nothing of use.
    pub(super) fn run(&mut self, scratch: usize, run: impl FnOnce(&mut Frame)) -> Vec<f64> {
        self.rooms[2].fill(u64::MAX);
        // Scratch memory begins with a line.
        let mut scratch = vec![Line([u64::MAX; 8]); scratch.div_ceil(64)];
        let mut pointers: Vec<*mut u8> =
            self.rooms.iter_mut().map(|room| room.as_mut_ptr().cast()).collect();
        pointers.push(scratch.as_mut_ptr().cast());
        let size = |room: &Vec<u64>| room.len() * self.dtype.size();
        let mut sizes: Vec<usize> = self.rooms.iter().map(size).collect();
        sizes.push(scratch.len() * 64);
        run(&mut Frame::new(pointers, sizes.into(), crate::memory::AlignedMemory::new(0).unwrap()));
        (0..self.rooms[2].len()).map(|k| read(self.dtype, &self.rooms[2], k)).collect()
    }
}

fn same(found: &[f64], wanted: &[f64]) -> Result<(), String> {
    for (k, (x, y)) in found.iter().zip(wanted).enumerate() {
        if x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()) {
            return Err(format!("{x}, not {y}, at {k} of {}", wanted.len()));
        }
    }
    Ok(())
}

/// Every way to run a nest as a contraction.
fn contractions(case: &Case) -> Result<Vec<Contraction<Kernel>>, String> {
    let mut all = Vec::new();
    for isa in Isa::all() {
        for direct in [false, true] {
            let length = |b: BufferId| case.sizes[b.index()];
            let mut contraction = Contraction::recognise(&case.nest, &target::of(isa), length)
                .ok_or("it is not recognised".to_owned())?
                .map(&mut Kernel::new);
            let product = &mut contraction.product;
            product.direct = direct && product.direct_works();
            if direct == product.direct {
                contraction.scratch = Some(BufferId(3));
                all.push(contraction);
            }
        }
    }
    Ok(all)
}

fn check(rng: &mut Rng) -> Result<usize, String> {
    let case = case(rng);
    let limits = RunLimits::default();
    let special = !matches!(case.nest.instrs[2], Instr::Op(Op::Mul, _)) && rng.chance(50);
    let mut memory = CaseMemory::new(rng, &case, special);
    let ordinary = Kernel::of_nest(case.nest.clone().collapse(None).0, true, None);
    let wanted = memory.run(0, |frame| assert!(ordinary.run_all(frame, &limits)));
    let mut in_place = 0;
    for contraction in contractions(&case)? {
        let what = |e: String| {
            let product = &contraction.product;
            format!("{} lanes direct {}: {e}\nof {:?}", product.lanes, product.direct, case)
        };
        let scratch = contraction.scratch_bytes();
        let found = memory.run(scratch, |frame| assert!(contraction.run(frame, &limits)));
        same(&found, &wanted).map_err(what)?;
        in_place += usize::from(contraction.product.direct);
        if special {
            continue;
        }
        // In pieces.
        let found = memory.run(scratch, |frame| {
            let mut ranges = Vec::new();
            let mut first = 0;
            while first < Tiled::new(&contraction.product).blocks() {
                let last =
                    (first + 1 + rng.below(4)).min(Tiled::new(&contraction.product).blocks());
                ranges.push(first..last);
                first = last;
            }
            rng.shuffle(&mut ranges);
            for range in ranges {
                // SAFETY: the frame's buffers are those of the nest.
                unsafe {
                    let (places, scratch) = (
                        Tiled::new(&contraction.product).places(&frame.pointers, [0; 3]),
                        frame.pointers[3],
                    );
                    assert!(
                        Tiled::new(&contraction.product)
                            .run_blocks(range, &places, scratch, &limits)
                    );
                }
            }
        });
        same(&found, &wanted).map_err(what)?;
    }
    Ok(in_place)
}

#[test]
fn random_nests() {
    let in_place = std::cell::Cell::new(0);
    for_each_case("exec.contract", if cfg!(miri) { 12 } else { 400 }, |rng| {
        in_place.set(in_place.get() + check(rng)?);
        Ok(())
    });
    assert!(cfg!(miri) || in_place.get() >= scaled(50), "{}", in_place.get());
}

/// A plain product of matrices, both row-major.
pub(super) fn matrices(dtype: Dtype, m: usize, n: usize, k: usize) -> Case {
    batched(dtype, 1, m, n, k)
}

/// Several products of matrices.
pub(super) fn batched(dtype: Dtype, batch: usize, m: usize, n: usize, k: usize) -> Case {
    let affine = |coeffs: [usize; 4]| Affine {
        constant: 0,
        coeffs: coeffs.iter().map(|&c| c as i64).collect(),
    };
    let load = |b: u32, coeffs| Instr::Load {
        buffer: BufferId(b),
        at: affine(coeffs),
        checks: Vec::new(),
    };
    let nest = Nest {
        extents: vec![batch, m, n, k],
        reduced: 1,
        instrs: vec![
            load(0, [m * k, k, 0, 1]),
            load(1, [k * n, 0, 1, n]),
            Instr::Op(Op::Mul, smallvec![Val(0), Val(1)]),
        ],
        dtypes: vec![dtype; 3],
        value: Val(2),
        target: BufferId(2),
        write: Write::Sum(affine([m * n, n, 1, 0])),
        also: Vec::new(),
        source: None,
    };
    Case { nest, sizes: [batch * m * k, batch * k * n, batch * m * n] }
}

/// The error is at most `2 k eps sum |a| |b|`, and pieces give the same bits as the whole.
#[test]
#[cfg_attr(miri, ignore = "long")]
fn numbers_that_are_rounded() {
    let mut rng = Rng::new(7);
    for dtype in [Dtype::F64, Dtype::F32] {
        for (m, n, k) in [(37, 41, 530), (130, 75, 200), (5, 300, 33)] {
            let case = matrices(dtype, m, n, k);
            let mut memory = CaseMemory::new(&mut rng, &case, false);
            for room in 0..2 {
                for at in 0..case.sizes[room] {
                    let x = rng.unit() - 0.5;
                    let to = memory.rooms[room].as_mut_ptr();
                    // SAFETY: an element of the memory.
                    unsafe {
                        match dtype {
                            Dtype::F32 => to.cast::<f32>().add(at).write(x as f32),
                            _ => to.cast::<f64>().add(at).write(x),
                        }
                    }
                }
            }
            let at = |memory: &CaseMemory, b: usize, k: usize| read(dtype, &memory.rooms[b], k);
            let eps = if dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let (mut exact, mut bound) = (vec![0.0; m * n], vec![0.0; m * n]);
            for i in 0..m {
                for j in 0..n {
                    for l in 0..k {
                        let x = at(&memory, 0, i * k + l) * at(&memory, 1, l * n + j);
                        exact[i * n + j] += x;
                        bound[i * n + j] += 2.0 * k as f64 * eps * x.abs();
                    }
                }
            }
            for contraction in contractions(&case).unwrap() {
                let (bytes, limits) = (contraction.scratch_bytes(), RunLimits::default());
                let found = memory.run(bytes, |frame| assert!(contraction.run(frame, &limits)));
                for (at, x) in found.iter().enumerate() {
                    assert!((x - exact[at]).abs() <= bound[at], "{x}, not {}", exact[at]);
                }
                let pieces = memory.run(bytes, |frame| {
                    for block in (0..Tiled::new(&contraction.product).blocks()).rev() {
                        let scratch = frame.pointers[3];
                        // SAFETY: the frame's buffers are those of the nest.
                        unsafe {
                            let range = block..block + 1;
                            let places =
                                Tiled::new(&contraction.product).places(&frame.pointers, [0; 3]);
                            Tiled::new(&contraction.product)
                                .run_blocks(range, &places, scratch, &limits);
                        }
                    }
                });
                assert_eq!(found, pieces);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "long")]
fn cancelling_stops_it() {
    let limits = RunLimits::default();
    limits.cancel.cancel();
    let case = matrices(Dtype::F64, 300, 300, 300);
    let mut memory = CaseMemory::new(&mut Rng::new(1), &case, false);
    for contraction in contractions(&case).unwrap() {
        memory.run(contraction.scratch_bytes(), |frame| assert!(!contraction.run(frame, &limits)));
    }
}

/// A product of one block of columns is cut along these, too, where the rows are too few.
#[test]
fn many_threads_share_one_product() {
    let case = matrices(Dtype::F64, 512, 512, 512);
    let packed = contractions(&case).unwrap().into_iter().filter(|c| !c.product.direct);
    for contraction in packed {
        let pieces = |threads| contraction.pieces(threads);
        assert!(pieces(16) >= 16, "{} pieces", pieces(16));
        assert!(pieces(1) <= pieces(2) && pieces(2) <= pieces(16));
    }
}

//! Random nests: all strides, checks, computed places, writes, lanes and ranges.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Also, BufferId, Component, Instr, Nest, Val, Write};
use cotan_testkit::{Rng, for_each_case};
use smallvec::SmallVec;

use super::{Buffers, compare};
use crate::vm::Kernel;

const EXTENTS: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 13, 17, 33, 64, 70];
const WIDE: Option<Dtype> = Some(Dtype::F64);
const NARROW: Option<Dtype> = Some(Dtype::F32);
const DTYPES: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::I64, Dtype::Bool];

pub(super) struct Maker<'a> {
    pub rng: &'a mut Rng,
    pub buffers: Buffers,
    extents: Vec<usize>,
    instrs: Vec<Instr>,
    dtypes: Vec<Dtype>,
}

/// How large a random nest is.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub loads: usize,
    pub operations: usize,
    /// The only type of all values, if there is one: floats.
    pub only: Option<Dtype>,
}

impl Maker<'_> {
    pub(super) fn new(rng: &mut Rng) -> Maker<'_> {
        let dims = rng.below(4);
        let mut extents: Vec<usize> = (0..dims).map(|_| *rng.pick(&EXTENTS)).collect();
        while extents.iter().product::<usize>() > 5000 {
            let at = rng.below(extents.len());
            extents[at] = extents[at].div_ceil(2);
        }
        let buffers = Buffers::new();
        Maker { rng, buffers, extents, instrs: Vec::new(), dtypes: Vec::new() }
    }

    fn push(&mut self, instr: Instr, dtype: Dtype) -> Val {
        self.instrs.push(instr);
        self.dtypes.push(dtype);
        Val(self.instrs.len() as u32 - 1)
    }

    /// An affine form with small coefficients, the least value of which is 0, and its greatest.
    fn affine(&mut self) -> (Affine, i64) {
        let dims = self.extents.len();
        let coeffs: SmallVec<[i64; 4]> =
            (0..dims).map(|_| *self.rng.pick(&[0, 1, 1, 1, -1, 2, 3, -2, 7])).collect();
        let mut affine = Affine { constant: 0, coeffs };
        let (lo, hi) = affine.range(&self.extents).unwrap();
        affine.constant = -lo;
        (affine, hi - lo)
    }

    /// A place in an array of one or two axes: the form, the checks that it needs, the elements.
    fn place(&mut self) -> (Affine, Vec<(Affine, i64)>, usize) {
        let (mut row, rows) = self.affine();
        if self.rng.chance(50) {
            return (row, Vec::new(), rows as usize + 1);
        }
        // Some positions are out of range on either side.
        row.constant += self.rng.between(-3, 3);
        let size = (rows + 1 + self.rng.between(-4, 4)).max(1);
        let mut checks = vec![(row.clone(), size)];
        if self.rng.chance(50) {
            return (row, checks, size as usize);
        }
        let (mut column, columns) = self.affine();
        column.constant += self.rng.between(-2, 2);
        let width = (columns + 1 + self.rng.between(-3, 3)).max(1);
        checks.push((column.clone(), width));
        (column.plus(width, &row).unwrap(), checks, (size * width) as usize)
    }

    fn load(&mut self, dtype: Dtype) -> Val {
        let (at, checks, n) = self.place();
        let buffer = self.buffers.add(dtype, n, self.rng);
        self.push(Instr::Load { buffer, at, checks }, dtype)
    }

    fn of_type(&mut self, dtype: Dtype) -> Option<Val> {
        let all: Vec<usize> = (0..self.dtypes.len()).filter(|&n| self.dtypes[n] == dtype).collect();
        if all.is_empty() { None } else { Some(Val(*self.rng.pick(&all) as u32)) }
    }

    /// Components of a computed index into an array of one or two axes, and its elements.
    fn components(&mut self) -> Option<(Vec<Component>, usize)> {
        let a = self.of_type(Dtype::I64)?;
        let b = self.of_type(Dtype::I64)?;
        let (rows, columns) = (1 + self.rng.below(6), 1 + self.rng.below(6));
        let second = Component { value: b, size: columns, stride: 1 };
        if self.rng.chance(50) {
            return Some((vec![second], columns));
        }
        let first = Component { value: a, size: rows, stride: columns as i64 };
        Some((vec![first, second], rows * columns))
    }

    fn leaf(&mut self, only: Option<Dtype>) {
        let dtype = only.unwrap_or(*self.rng.pick(&DTYPES));
        match self.rng.below(6) {
            0 => {
                let bits = match dtype {
                    Dtype::F64 => super::float(self.rng).to_bits(),
                    Dtype::F32 => u64::from((super::float(self.rng) as f32).to_bits()),
                    Dtype::I64 => super::integer(self.rng) as u64,
                    Dtype::Bool => u64::from(self.rng.chance(50)),
                };
                self.push(Instr::Const(bits), dtype);
            }
            1 if only.is_none() => {
                let (affine, _) = self.affine();
                self.push(Instr::Affine(affine), Dtype::I64);
            }
            2 if only.is_none() => {
                if let Some((index, n)) = self.components() {
                    let buffer = self.buffers.add(dtype, n, self.rng);
                    self.push(Instr::LoadAt { buffer, index }, dtype);
                }
            }
            _ => {
                self.load(dtype);
            }
        }
    }

    fn operation(&mut self, only: Option<Dtype>) {
        let all: Vec<Op> = Op::all().collect();
        for _ in 0..20 {
            let cheap = [Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Select, Op::Lt];
            let op = if only.is_some() {
                *self.rng.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Neg, Op::Abs])
            } else if self.rng.chance(50) {
                *self.rng.pick(&cheap)
            } else {
                *self.rng.pick(&all)
            };
            let typings = op.typings();
            let typing = self.rng.pick(&typings).clone();
            let args: Option<SmallVec<[Val; 3]>> =
                typing.iter().map(|&dtype| self.of_type(dtype)).collect();
            if let (Some(args), Some(dtype)) = (args, op.result_dtype(&typing)) {
                self.push(Instr::Op(op, args), dtype);
                return;
            }
        }
    }

    /// Row-major places of the first dimensions, which may be stored in another order.
    fn target(&mut self, dims: usize, dtype: Dtype) -> (BufferId, Affine) {
        let mut order: Vec<usize> = (0..dims).collect();
        if self.rng.chance(40) {
            self.rng.shuffle(&mut order);
        }
        let mut at = Affine::constant(0, self.extents.len());
        let mut stride = 1i64;
        for &dim in order.iter().rev() {
            let extent = self.extents[dim] as i64;
            if self.rng.chance(15) {
                at.coeffs[dim] = -stride;
                at.constant += stride * (extent - 1);
            } else {
                at.coeffs[dim] = stride;
            }
            stride *= extent;
        }
        (self.buffers.add(dtype, stride as usize, self.rng), at)
    }

    pub(super) fn nest(mut self, size: Size) -> (Nest, Buffers) {
        for _ in 0..1 + self.rng.below(size.loads) {
            self.leaf(size.only);
        }
        let dtype = size.only.unwrap_or(*self.rng.pick(&DTYPES));
        self.load(dtype);
        for _ in 0..self.rng.below(size.operations) {
            self.operation(size.only);
        }
        let dims = self.extents.len();
        let numbers: Vec<usize> =
            (0..self.dtypes.len()).filter(|&n| self.dtypes[n] != Dtype::Bool).collect();
        let last = self.dtypes.len() - 1;
        let kind = if numbers.is_empty() { 0 } else { self.rng.below(7) };
        let number = *self.rng.pick(if numbers.is_empty() { &[0] } else { &numbers[..] });
        let (n, reduced) = match kind {
            0 | 1 => (last, 0),
            2 | 6 => (number, self.rng.below(dims + 1)),
            3 => (number, dims.min(1)),
            5 if self.rng.chance(25) => (last, 0),
            _ => (number, 0),
        };
        let dtype = self.dtypes[n];
        let (target, write) = match kind {
            0 | 1 => {
                let (target, at) = self.target(dims, dtype);
                (target, Write::Store(at))
            }
            2 => {
                let (target, at) = self.target(dims - reduced, dtype);
                (target, Write::Sum(at))
            }
            3 => {
                let (target, at) = self.target(dims - reduced, Dtype::I64);
                (target, Write::Extreme { at, largest: self.rng.chance(50) })
            }
            6 => {
                let (target, at) = self.target(dims - reduced, dtype);
                (target, Write::Best { at, largest: self.rng.chance(50) })
            }
            4 => {
                let (at, checks, count) = self.place();
                (self.buffers.add(dtype, count, self.rng), Write::Add { at, checks })
            }
            _ => match self.components() {
                Some((index, count)) => {
                    let target = self.buffers.add(dtype, count, self.rng);
                    let stores = dtype == Dtype::Bool || self.rng.chance(50);
                    (target, if stores { Write::StoreAt(index) } else { Write::AddAt(index) })
                }
                None => {
                    let (target, at) = self.target(dims, dtype);
                    (target, Write::Store(at))
                }
            },
        };
        let mut also = Vec::new();
        while also.len() < 3 && self.rng.chance(25) {
            let n = self.rng.below(self.dtypes.len());
            let (target, at) = self.target(dims, self.dtypes[n]);
            also.push(Also { value: Val(n as u32), target, at, source: None });
        }
        let nest = Nest {
            extents: self.extents,
            reduced,
            instrs: self.instrs,
            dtypes: self.dtypes,
            value: Val(n as u32),
            target,
            write,
            also,
            source: None,
        };
        (nest, self.buffers)
    }
}

/// Plans a nest at random and compares; `None` if it has no code.
pub(super) fn check(rng: &mut Rng, size: Size) -> Option<Result<(), String>> {
    let (nest, buffers) = Maker::new(rng).nest(size);
    let scatters = nest.write.scatters();
    let in_order = rng.chance(30);
    // A search needs all elements.
    let search = matches!(nest.write, Write::Extreme { .. });
    let block = match nest.extents.len() - if search { nest.reduced } else { 0 } {
        0 => None,
        dims if rng.chance(60) => Some(rng.below(dims)),
        _ => None,
    };
    let (nest, block) = if rng.chance(50) { nest.collapse(block) } else { (nest, block) };
    let shown = format!("{nest:?}");
    let kernel = Kernel::of_nest(nest, in_order, block);
    let all = kernel.positions();
    let ends = match rng.below(3) {
        _ if scatters || search && block.is_none() => vec![all],
        0 => vec![all],
        _ => {
            let mut ends = vec![rng.below(all + 1), rng.below(all + 1), all];
            ends.sort_unstable();
            ends
        }
    };
    let found = compare(&kernel, &buffers, &ends)?;
    Some(found.map_err(|e| format!("{e}\nin order: {in_order}, block {block:?}\n{shown}")))
}

/// Checks many; almost all have code.
fn check_many(name: &str, count: usize, size: Size) {
    let (seen, ran) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_each_case(name, count, |rng| {
        seen.set(seen.get() + 1);
        match check(rng, size) {
            None => Ok(()),
            Some(result) => {
                ran.set(ran.get() + 1);
                result
            }
        }
    });
    println!("{name}: {} of {} had code", ran.get(), seen.get());
    assert!(ran.get() * 100 >= seen.get() * 95, "{} of {}", ran.get(), seen.get());
}

#[test]
fn random_nests() {
    check_many("jit.nests", 4000, Size { loads: 5, operations: 12, only: None });
}

#[test]
fn random_sums_of_products() {
    check_many("jit.wide", 2000, Size { loads: 4, operations: 8, only: WIDE });
    check_many("jit.narrow", 1000, Size { loads: 4, operations: 8, only: NARROW });
}

/// More values than registers.
#[test]
fn random_large_nests() {
    check_many("jit.large", 150, Size { loads: 40, operations: 200, only: None });
    check_many("jit.large.wide", 150, Size { loads: 60, operations: 120, only: WIDE });
    check_many("jit.large.narrow", 150, Size { loads: 60, operations: 120, only: NARROW });
}

//! Sums of products: which of them are contractions, and what is computed before and after.
//!
//! The value of a nest that sums is taken apart into factors. Those that do not depend on the
//! reduced dimensions are multiplied to the sums afterwards. The others are shared out to two
//! operands; one that is more than a read is computed into memory first, if each of its elements
//! is used often enough.

use cotan_array::{Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{TermId, Type};
use smallvec::{SmallVec, smallvec};

use super::Lowering;
use crate::contract::Contraction;
use crate::isa;
use crate::nest::{Affine, BufferId, Instr, Nest, Val, Write};
use crate::plan::Step;
use crate::vm::Kernel;

/// How often each element of an operand must be used for it to be computed into memory.
const REUSE: usize = 8;

/// How many elements such an operand may have: memory matters, too.
const MOST_ELEMENTS: usize = 1 << 27;

/// A product has at most so many factors, and so many that depend on different dimensions.
const MOST_FACTORS: usize = 16;
const MOST_KINDS: usize = 4;

/// Sets of dimensions of a nest, as bits.
pub(super) type Dims = u64;

/// A factor of the value of a nest.
#[derive(Clone, Copy, Debug)]
struct Factor {
    value: Val,
    dims: Dims,
    /// Whether a zero of another factor makes the product 0, whatever this one is.
    weak: bool,
}

/// The value of a nest as a product.
struct Product {
    factors: Vec<Factor>,
    /// The constants.
    constant: f64,
}

impl Lowering<'_> {
    /// The steps of a nest that sums.
    pub(super) fn sum_steps(&mut self, nest: Nest, steps: &mut Vec<Step<Nest>>) {
        if self.in_order || self.contraction(&nest, MOST_ELEMENTS, steps).is_none() {
            steps.push(Step::Compute(Box::new(nest)));
        }
    }

    /// The steps of a nest that scatters into zeros. One whose places depend on some dimensions
    /// only, each position on another place, sums over the others.
    pub(super) fn scatter_steps(&mut self, nest: Nest, steps: &mut Vec<Step<Nest>>) {
        let sum = if self.in_order { None } else { as_sum(&nest) };
        if sum.and_then(|sum| self.contraction(&sum, MOST_ELEMENTS, steps)).is_none() {
            steps.push(Step::Compute(Box::new(nest)));
        }
    }

    /// The steps of a contraction, if the nest is one for which that is faster. An operand that is
    /// computed has at most `most` elements.
    pub(super) fn contraction(
        &mut self,
        nest: &Nest,
        most: usize,
        steps: &mut Vec<Step<Nest>>,
    ) -> Option<()> {
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        if !matches!(dtype, Dtype::F64 | Dtype::F32) || nest.extents.len() > 60 {
            return None;
        }
        let dims = dims_of(nest);
        let product = Product::of(nest, &dims)?;
        let operands = share_out(nest, &product, most.min(MOST_ELEMENTS))?;
        let parallel = nest.extents.len() - nest.reduced;
        let outer: Vec<Factor> =
            product.factors.iter().filter(|f| f.dims >> parallel == 0).copied().collect();
        let mut before = Vec::new();
        let loads: SmallVec<[Instr; 2]> = operands
            .iter()
            .map(|operand| self.operand(nest, operand, dtype, &mut before))
            .collect::<Option<_>>()?;
        let to = if outer.is_empty() {
            nest.target
        } else {
            self.temporary(&Type::new(dtype, self.buffers[nest.target.index()].shape.clone()))
        };
        let instrs: Vec<Instr> =
            loads.into_iter().chain([Instr::Op(Op::Mul, smallvec![Val(0), Val(1)])]).collect();
        let core = Nest {
            extents: nest.extents.clone(),
            reduced: nest.reduced,
            instrs,
            dtypes: vec![dtype; 3],
            value: Val(2),
            target: to,
            write: Write::Sum(at.clone()),
            source: nest.source,
        };
        let buffers = &self.buffers;
        let length = |b: BufferId| buffers[b.index()].shape.numel();
        let mut contraction = Contraction::recognise(&core, isa::best(), length)?;
        if !contraction.pays() {
            return None;
        }
        contraction.set_factor(product.constant);
        let weak = |operand: &Vec<Factor>| operand.iter().any(|f| f.weak);
        let finite = [weak(&operands[0]), weak(&operands[1])];
        if finite.contains(&true) {
            let fallback = nest.clone().collapse(None).0;
            contraction.set_finite(finite, Kernel::new(fallback, false, None));
        }
        let scratch = contraction.scratch_bytes().div_ceil(Dtype::F64.size());
        if scratch > 0 {
            let shape = Shape::new("scratch", &[scratch]).ok()?;
            contraction.set_scratch(self.temporary(&Type::new(Dtype::F64, shape)));
        }
        if !outer.is_empty() {
            let after = multiplied(nest, &outer, to, at, dtype)?.collapse(None).0;
            contraction.set_after(Kernel::new(after, false, None));
        }
        let step = |nest: Nest| Step::Compute(Box::new(nest));
        steps.extend(before.into_iter().map(step));
        steps.push(Step::Contract(Box::new(contraction)));
        Some(())
    }

    /// The load of an operand, which is computed into memory if it is not a load already.
    fn operand(
        &mut self,
        nest: &Nest,
        factors: &[Factor],
        dtype: Dtype,
        before: &mut Vec<Nest>,
    ) -> Option<Instr> {
        if let Some(load) = plain_load(nest, factors) {
            return Some(load.clone());
        }
        let dims = members(factors.iter().fold(0, |dims, f| dims | f.dims));
        let extents: Vec<usize> = dims.iter().map(|&dim| nest.extents[dim]).collect();
        let shape = Shape::new("operand", &extents).ok()?;
        let to = self.temporary(&Type::new(dtype, shape));
        // Row-major, over the dimensions of the operand and over those of the nest.
        let mut place = Affine::constant(0, dims.len());
        let mut at = Affine::constant(0, nest.extents.len());
        let mut stride = 1i64;
        for (n, &dim) in dims.iter().enumerate().rev() {
            place.coeffs[n] = stride;
            at.coeffs[dim] = stride;
            stride = stride.checked_mul(i64::try_from(nest.extents[dim]).ok()?)?;
        }
        let mut part = project(nest, &dims, factors.iter().map(|f| f.value))?;
        let values = std::mem::take(&mut part.values);
        let mut value = *values.first()?;
        for &factor in &values[1..] {
            value = part.push(Instr::Op(Op::Mul, smallvec![value, factor]), dtype);
        }
        before.push(part.finish(extents, value, to, Write::Store(place)));
        Some(Instr::Load { buffer: to, at, checks: Vec::new() })
    }
}

/// The dimensions that each instruction depends on.
pub(super) fn dims_of(nest: &Nest) -> Vec<Dims> {
    let of = |affine: &Affine| {
        let used = affine.coeffs.iter().enumerate().filter(|(_, c)| **c != 0);
        used.fold(0, |dims, (dim, _)| dims | 1 << dim)
    };
    let mut dims: Vec<Dims> = Vec::with_capacity(nest.instrs.len());
    for instr in &nest.instrs {
        let mut own: Dims = match instr {
            Instr::Affine(affine) => of(affine),
            Instr::Load { at, checks, .. } => {
                checks.iter().fold(of(at), |dims, (check, _)| dims | of(check))
            }
            Instr::Const(_) | Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => 0,
        };
        instr.for_each_operand(|v| own |= dims[v.index()]);
        dims.push(own);
    }
    dims
}

fn members(dims: Dims) -> Vec<usize> {
    (0..Dims::BITS as usize).filter(|dim| dims >> dim & 1 == 1).collect()
}

/// How many positions there are along some dimensions.
fn positions(nest: &Nest, dims: Dims) -> usize {
    members(dims).iter().fold(1, |n, &dim| n.saturating_mul(nest.extents[dim]))
}

/// The number that an instruction stands for.
fn number(nest: &Nest, v: Val) -> Option<f64> {
    match (&nest.instrs[v.index()], nest.dtypes[v.index()]) {
        (Instr::Const(bits), Dtype::F64) => Some(f64::from_bits(*bits)),
        (Instr::Const(bits), Dtype::F32) => Some(f64::from(f32::from_bits(*bits as u32))),
        _ => None,
    }
}

impl Product {
    fn of(nest: &Nest, dims: &[Dims]) -> Option<Product> {
        let parallel = nest.extents.len() - nest.reduced;
        let mut product = Product { factors: Vec::new(), constant: 1.0 };
        let mut open = vec![(nest.value, false)];
        let mut seen = 0;
        while let Some((value, weak)) = open.pop() {
            seen += 1;
            if seen > 4 * MOST_FACTORS || product.factors.len() > MOST_FACTORS {
                return None;
            }
            if let Some(x) = number(nest, value).filter(|x| x.is_finite()) {
                product.constant *= x;
                continue;
            }
            let inside = dims[value.index()] >> parallel != 0;
            match &nest.instrs[value.index()] {
                Instr::Op(Op::Mul, args) if inside => {
                    open.extend(args.iter().rev().map(|&arg| (arg, weak)));
                }
                Instr::Op(Op::Scale, args) if inside && args.len() == 2 => {
                    open.push((args[1], true));
                    open.push((args[0], weak));
                }
                Instr::Op(Op::Neg, args) if inside && args.len() == 1 => {
                    product.constant = -product.constant;
                    open.push((args[0], weak));
                }
                _ => {
                    let dims = dims[value.index()];
                    product.factors.push(Factor { value, dims, weak });
                }
            }
        }
        Some(product)
    }
}

fn plain_load<'a>(nest: &'a Nest, factors: &[Factor]) -> Option<&'a Instr> {
    match factors {
        [factor] => Some(&nest.instrs[factor.value.index()])
            .filter(|instr| matches!(instr, Instr::Load { .. })),
        _ => None,
    }
}

/// Shares the factors that depend on reduced dimensions out to two operands.
fn share_out(nest: &Nest, product: &Product, most: usize) -> Option<[Vec<Factor>; 2]> {
    let parallel = nest.extents.len() - nest.reduced;
    let inner: Vec<Factor> =
        product.factors.iter().filter(|f| f.dims >> parallel != 0).copied().collect();
    // Sets of dimensions that are in no other.
    let mut kinds: SmallVec<[Dims; MOST_KINDS]> = SmallVec::new();
    for factor in &inner {
        let within = |a: Dims, b: Dims| a & !b == 0;
        if kinds.iter().any(|&kind| within(factor.dims, kind)) {
            continue;
        }
        kinds.retain(|kind| !within(*kind, factor.dims));
        kinds.push(factor.dims);
    }
    if kinds.len() < 2 || kinds.len() > MOST_KINDS {
        return None;
    }
    let all = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
    let mut best: Option<(usize, [Vec<Factor>; 2])> = None;
    // Every way to make two of the kinds; the last is always in the second.
    for choice in 1..1u32 << (kinds.len() - 1) {
        let mut sides: [Dims; 2] = [0, 0];
        for (n, kind) in kinds.iter().enumerate() {
            sides[usize::from(choice >> n & 1 == 0)] |= kind;
        }
        let mut operands: [Vec<Factor>; 2] = [Vec::new(), Vec::new()];
        let mut either = Vec::new();
        for &factor in &inner {
            match sides.map(|side| factor.dims & !side == 0) {
                [true, true] => either.push(factor),
                [first, _] => operands[usize::from(!first)].push(factor),
            }
        }
        let smaller = usize::from(positions(nest, sides[0]) > positions(nest, sides[1]));
        for factor in either {
            // To one that is computed anyway, or else to the smaller one.
            let computed = (0..2).find(|&n| plain_load(nest, &operands[n]).is_none());
            operands[computed.unwrap_or(smaller)].push(factor);
        }
        let mut cost = 0usize;
        for (operand, &side) in operands.iter().zip(&sides) {
            if plain_load(nest, operand).is_none() {
                let elements = positions(nest, side);
                cost = cost.saturating_add(elements);
                if elements == 0 || elements > most || all / elements < REUSE {
                    cost = usize::MAX;
                }
            }
        }
        if cost < usize::MAX && best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, operands));
        }
    }
    best.map(|(_, operands)| operands)
}

/// A part of a nest's body, over some of its dimensions.
pub(super) struct Part {
    instrs: Vec<Instr>,
    dtypes: Vec<Dtype>,
    /// Where the values that were asked for are.
    pub(super) values: SmallVec<[Val; 4]>,
    source: Option<TermId>,
}

impl Part {
    pub(super) fn push(&mut self, instr: Instr, dtype: Dtype) -> Val {
        self.instrs.push(instr);
        self.dtypes.push(dtype);
        Val((self.instrs.len() - 1) as u32)
    }

    /// Whether it reads one of some buffers.
    pub(super) fn reads(&self, buffers: &[BufferId]) -> bool {
        self.instrs.iter().any(|instr| match instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => buffers.contains(buffer),
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => false,
        })
    }

    pub(super) fn finish(
        self,
        extents: Vec<usize>,
        value: Val,
        target: BufferId,
        write: Write,
    ) -> Nest {
        let Part { instrs, dtypes, source, .. } = self;
        Nest { extents, reduced: 0, instrs, dtypes, value, target, write, source }
    }
}

/// An affine form over some dimensions, if it does not depend on others.
fn projected(affine: &Affine, dims: &[usize]) -> Option<Affine> {
    let coeffs: SmallVec<[i64; 4]> = dims.iter().map(|&dim| affine.coeffs[dim]).collect();
    let used = |coeffs: &[i64]| coeffs.iter().filter(|&&c| c != 0).count();
    (used(&coeffs) == used(&affine.coeffs)).then_some(Affine { constant: affine.constant, coeffs })
}

/// The instructions that some values need, over the dimensions that they depend on.
pub(super) fn project(
    nest: &Nest,
    dims: &[usize],
    values: impl Iterator<Item = Val>,
) -> Option<Part> {
    let values: SmallVec<[Val; 4]> = values.collect();
    let mut needed = vec![false; nest.instrs.len()];
    values.iter().for_each(|v| needed[v.index()] = true);
    for n in (0..nest.instrs.len()).rev() {
        if needed[n] {
            nest.instrs[n].for_each_operand(|v| needed[v.index()] = true);
        }
    }
    let mut part = Part {
        instrs: Vec::new(),
        dtypes: Vec::new(),
        values: SmallVec::new(),
        source: nest.source,
    };
    let mut moved = vec![Val(0); nest.instrs.len()];
    for (n, instr) in nest.instrs.iter().enumerate().filter(|(n, _)| needed[*n]) {
        let instr = match instr {
            Instr::Const(bits) => Instr::Const(*bits),
            Instr::Affine(affine) => Instr::Affine(projected(affine, dims)?),
            Instr::Load { buffer, at, checks } => Instr::Load {
                buffer: *buffer,
                at: projected(at, dims)?,
                checks: checks
                    .iter()
                    .map(|(check, size)| Some((projected(check, dims)?, *size)))
                    .collect::<Option<_>>()?,
            },
            Instr::LoadAt { buffer, index } => {
                let mut index = index.clone();
                index.iter_mut().for_each(|c| c.value = moved[c.value.index()]);
                Instr::LoadAt { buffer: *buffer, index }
            }
            Instr::Op(op, args) => Instr::Op(*op, args.iter().map(|v| moved[v.index()]).collect()),
            // Formed when kernels are planned.
            Instr::MulAdd { .. } => return None,
        };
        moved[n] = part.push(instr, nest.dtypes[n]);
    }
    part.values = values.iter().map(|v| moved[v.index()]).collect();
    Some(part)
}

/// The nest that multiplies sums by the factors that do not depend on the reduced dimensions. One
/// that zeros of others make ineffective has no effect on sums that are 0.
fn multiplied(
    nest: &Nest,
    outer: &[Factor],
    sums: BufferId,
    at: &Affine,
    dtype: Dtype,
) -> Option<Nest> {
    let dims: Vec<usize> = (0..nest.extents.len() - nest.reduced).collect();
    let mut part = project(nest, &dims, outer.iter().map(|f| f.value))?;
    let at = projected(at, &dims)?;
    let load = Instr::Load { buffer: sums, at: at.clone(), checks: Vec::new() };
    let mut value = part.push(load, dtype);
    for (factor, v) in outer.iter().zip(part.values.clone()) {
        let op = if factor.weak { Op::Scale } else { Op::Mul };
        value = part.push(Instr::Op(op, smallvec![value, v]), dtype);
    }
    // A sum that is zero is +0, as one that begins with 0 is.
    let zero = part.push(Instr::Const(0), dtype);
    value = part.push(Instr::Op(Op::Add, smallvec![value, zero]), dtype);
    let extents = nest.extents[..dims.len()].to_vec();
    Some(part.finish(extents, value, nest.target, Write::Store(at)))
}

/// A nest that adds each value to an element of zeros, as one that sums over the dimensions that
/// the place does not depend on; `None` if two positions of the others have the same place.
fn as_sum(nest: &Nest) -> Option<Nest> {
    let Write::Add { at, checks } = &nest.write else { return None };
    if !checks.is_empty() || nest.reduced > 0 {
        return None;
    }
    let (mut dims, summed): (Vec<usize>, Vec<usize>) =
        (0..nest.extents.len()).partition(|&dim| at.coeffs[dim] != 0);
    if summed.is_empty() {
        return None;
    }
    // Places are different if each step is larger than all smaller ones together.
    let mut steps: Vec<(u64, usize)> =
        dims.iter().map(|&dim| (at.coeffs[dim].unsigned_abs(), nest.extents[dim])).collect();
    steps.sort_unstable();
    let mut reach = 0u64;
    for (step, extent) in steps {
        if step <= reach {
            return None;
        }
        let last = u64::try_from(extent).ok()?.checked_sub(1)?;
        reach = reach.checked_add(step.checked_mul(last)?)?;
    }
    // The largest step outermost, as in a row-major array.
    dims.sort_by_key(|&dim| std::cmp::Reverse(at.coeffs[dim].unsigned_abs()));
    let reduced = summed.len();
    dims.extend(summed);
    let part = project(nest, &dims, std::iter::once(nest.value))?;
    let extents = dims.iter().map(|&dim| nest.extents[dim]).collect();
    let (value, write) = (part.values[0], Write::Sum(projected(at, &dims)?));
    let sum = part.finish(extents, value, nest.target, write);
    Some(Nest { reduced, ..sum })
}

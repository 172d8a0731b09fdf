//! Sums of products: which of them are contractions, and what is computed before and after.
//!
//! The value of a nest that sums is taken apart into factors. Those that do not depend on the
//! reduced dimensions are multiplied to the sums afterwards. The others are shared out to two
//! operands; one that is more than a read is computed into memory first, if each of its elements
//! is used often enough.

use cotan_array::{Dtype, Shape};
use cotan_ir::Type;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Draft, Instr, Nest, Step, Val, Write};
use smallvec::{SmallVec, smallvec};

use super::Lowering;
use super::part::{NestPart, projected};
use super::product::{
    Factor, FactorProduct, Zeros, dims_of, members, plain_load, share_out, strides,
};
use super::window::{OwnAxes, windows};
use crate::contract::{Cuts, Product as MatrixProduct};

impl Lowering<'_> {
    /// The steps of a nest that scatters into zeros. One whose places depend on some dimensions
    /// only, each position on another place, sums over the others.
    pub(super) fn scatter_steps(&mut self, nest: Nest, steps: &mut Vec<Step<Nest>>) {
        let sum = if self.in_order { None } else { as_sum(&nest) };
        if sum.and_then(|sum| self.contraction(&sum, steps)).is_none() {
            steps.push(Step::Compute(Box::new(nest)));
        }
    }

    /// The steps of a contraction, if the nest is one for which that is faster.
    pub(super) fn contraction(&mut self, nest: &Nest, steps: &mut Vec<Step<Nest>>) -> Option<()> {
        self.contraction_within(usize::MAX, nest, steps)
    }

    /// The steps of a contraction, if each operand that is computed has at most so many elements.
    pub(super) fn contraction_within(
        &mut self,
        most: usize,
        nest: &Nest,
        steps: &mut Vec<Step<Nest>>,
    ) -> Option<()> {
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        if !matches!(dtype, Dtype::F64 | Dtype::F32) || nest.extents.len() > 60 {
            return None;
        }
        let dims = dims_of(nest);
        let product = FactorProduct::of(nest, &dims, &self.target.search)?;
        let operands = share_out(nest, &product, most, self.target)?;
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
            also: Vec::new(),
            source: nest.source,
        };
        let core = self.turned(core, &mut before);
        let buffers = &self.buffers;
        let length = |b: BufferId| buffers[b.index()].shape.numel();
        let weak = |operand: &Vec<Factor>| operand.iter().any(|f| f.zeros.is_weak());
        let draft = Draft {
            core,
            factor: product.constant,
            finite: [weak(&operands[0]), weak(&operands[1])],
            whole: nest.clone(),
            after: match outer.is_empty() {
                true => None,
                false => Some(multiplied(nest, &outer, to, at, dtype)?),
            },
        };
        if !draft.product(self.target, length)?.pays(self.target) {
            return None;
        }
        let step = |nest: Nest| Step::Compute(Box::new(nest));
        steps.extend(before.into_iter().map(step));
        steps.push(Step::Contract(Box::new(draft)));
        Some(())
    }

    /// The same sum of products with an operand copied to another order, if that lets both be read
    /// where they lie.
    fn turned(&mut self, mut core: Nest, before: &mut Vec<Nest>) -> Nest {
        let buffers = &self.buffers;
        let length = |b: BufferId| buffers[b.index()].shape.numel();
        let found = MatrixProduct::recognise(&core, self.target, length);
        let Some((operand, column)) = found.and_then(|found| found.to_turn(&core, self.target))
        else {
            return core;
        };
        let Instr::Load { at, .. } = &core.instrs[operand] else { return core };
        let mut dims: Vec<usize> =
            (0..at.coeffs.len()).filter(|&dim| at.coeffs[dim] != 0).collect();
        dims.sort_by_key(|&dim| (dim == column, std::cmp::Reverse(at.coeffs[dim].unsigned_abs())));
        let factor = Factor { value: Val(operand as u32), dims: 0, zeros: Zeros::Plain };
        let dtype = core.dtypes[operand];
        let axes = OwnAxes::separate(&core, &dims);
        if let Some((load, copy)) = self.stored(&core, &[factor], &axes, dtype) {
            core.instrs[operand] = load;
            before.push(copy);
        }
        core
    }

    /// The load of an operand, which is computed into memory if it is not a load already, or if its
    /// windows overlap and go over the edge: then zeros around it take the place of checks.
    fn operand(
        &mut self,
        nest: &Nest,
        factors: &[Factor],
        dtype: Dtype,
        before: &mut Vec<Nest>,
    ) -> Option<Instr> {
        let dims = members(factors.iter().fold(0, |dims, f| dims | f.dims));
        let windows = windows(nest, factors, &dims, self.target);
        let mut axes = match (plain_load(nest, factors), windows) {
            (Some(load), None) => return Some(load.clone()),
            (_, Some(windows)) => windows,
            (None, None) => OwnAxes::separate(nest, &dims),
        };
        axes.sort_by(&strides(nest, factors));
        let (load, nest) = self.stored(nest, factors, &axes, dtype)?;
        before.push(nest);
        Some(load)
    }

    /// A nest that stores the product of some factors along given axes, and the load of it.
    fn stored(
        &mut self,
        nest: &Nest,
        factors: &[Factor],
        axes: &OwnAxes,
        dtype: Dtype,
    ) -> Option<(Instr, Nest)> {
        let extents = axes.extents();
        let shape = Shape::new("operand", &extents).ok()?;
        let (place, at) = axes.places(nest.extents.len())?;
        let mut part = NestPart::new(nest.source);
        let values = factors.iter().map(|f| f.value);
        let values = part.take_by(nest, values, |affine| axes.along(affine))?;
        let mut value = *values.first()?;
        for &factor in &values[1..] {
            value = part.op(Op::Mul, value, factor, dtype);
        }
        let to = self.temporary(&Type::new(dtype, shape));
        let store = part.finish(extents, value, to, Write::Store(place));
        Some((Instr::Load { buffer: to, at, checks: Vec::new() }, store))
    }
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
    let mut part = NestPart::new(nest.source);
    let values = part.take(nest, &dims, outer.iter().map(|f| f.value))?;
    let at = projected(at, &dims)?;
    let load = Instr::Load { buffer: sums, at: at.clone(), checks: Vec::new() };
    let mut value = part.push(load, dtype);
    for (factor, v) in outer.iter().zip(values) {
        // The sums hold no infinity that a zero of this factor would have to annihilate: operands
        // that are not finite where they must be are left to the whole nest.
        let op = if factor.zeros.is_weak() { Op::Scale } else { Op::Mul };
        value = part.op(op, value, v, dtype);
    }
    // A sum that is zero is +0, as one that begins with 0 is.
    let zero = part.push(Instr::Const(0), dtype);
    value = part.op(Op::Add, value, zero, dtype);
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
    let mut part = NestPart::new(nest.source);
    let value = *part.take(nest, &dims, std::iter::once(nest.value))?.first()?;
    let extents = dims.iter().map(|&dim| nest.extents[dim]).collect();
    let write = Write::Sum(projected(at, &dims)?);
    let sum = part.finish(extents, value, nest.target, write);
    Some(Nest { reduced, ..sum })
}

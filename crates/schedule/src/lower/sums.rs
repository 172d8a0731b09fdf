//! Sums that are taken apart before they are computed.
//!
//! A product in which some factors do not depend on what is summed over, or some of the others on
//! part of it only, needs fewer operations when it is summed in steps:
//! $$\sum_{k,l} a_{ik} b_{kl} = \sum_k a_{ik} \sum_l b_{kl}, \qquad
//!   \sum_k c_i a_k = c_i \sum_k a_k.$$
//! A sum of several products is taken apart into one for each that gains by it, be it only that it
//! is a contraction.

use cotan_array::{Dtype, Shape};
use cotan_ir::Type;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Role, Step, Val, Write};
use smallvec::{SmallVec, smallvec};

use super::Lowering;
use super::order::sorted_sum;
use super::part::{NestPart, projected};
use super::product::{DimSet, Factor, FactorProduct, Zeros, dims_of, members, number, positions};
use crate::target::Target;

/// A term of the value of a nest.
struct Term {
    value: Val,
    negative: bool,
}

/// Factors of a product that are summed by themselves.
struct Early {
    factors: Vec<Factor>,
    others: Vec<Factor>,
    /// The dimensions that these factors alone depend on, and are summed over.
    summed: DimSet,
    /// The other dimensions of these factors.
    kept: DimSet,
}

impl Lowering<'_> {
    /// The steps of a nest that sums.
    pub(super) fn sum_steps(&mut self, nest: Nest, steps: &mut Vec<Step<Nest>>) {
        if self.in_order {
            steps.push(Step::Compute(Box::new(nest)));
            return;
        }
        let length = |b: BufferId| self.buffers[b.index()].shape.numel();
        let nest = sorted_sum(&nest, length).unwrap_or(nest);
        let open = with_masks_as_factors(&nest);
        let taken = self.summed_in_steps(&open, steps).is_some()
            || self.contraction(&open, steps).is_some()
            || self.summed_apart(&open, steps).is_some();
        if !taken {
            steps.push(Step::Compute(Box::new(nest)));
        }
    }

    /// A product whose sum is taken in steps.
    fn summed_in_steps(&mut self, nest: &Nest, steps: &mut Vec<Step<Nest>>) -> Option<()> {
        if !is_large(nest, self.target.thresholds.min_factored_products) {
            return None;
        }
        let early = Early::of(nest, self.target)?;
        let parallel: Vec<usize> = (0..nest.extents.len() - nest.reduced).collect();
        let left = all_reduced(nest) & !early.summed;
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        let mut part = NestPart::new(nest.source);
        let dims: Vec<usize> = parallel.iter().copied().chain(members(left)).collect();
        let value = self.early_value(nest, &early, &dims, &mut part, steps)?;
        let extents: Vec<usize> = dims.iter().map(|&dim| nest.extents[dim]).collect();
        let at = projected(at, &dims)?;
        let last = if left == 0 {
            // A sum that is zero is +0, as one that begins with 0 is.
            let zero = part.push(Instr::Const(0), dtype);
            let value = part.op(Op::Add, value, zero, dtype);
            part.finish(extents, value, nest.target, Write::Store(at))
        } else {
            part.finish(extents, value, nest.target, Write::Sum(at))
        };
        if left == 0 {
            steps.push(Step::Compute(Box::new(last)));
        } else {
            let reduced = members(left).len();
            self.sum_steps(Nest { reduced, ..last }, steps);
        }
        Some(())
    }

    /// The product over some dimensions, after the steps that sum a part of it.
    fn early_value(
        &mut self,
        nest: &Nest,
        early: &Early,
        dims: &[usize],
        part: &mut NestPart,
        steps: &mut Vec<Step<Nest>>,
    ) -> Option<Val> {
        let dtype = nest.dtypes[nest.value.index()];
        let (kept, summed) = (members(early.kept), members(early.summed));
        let inner: Vec<usize> = kept.iter().chain(&summed).copied().collect();
        let extents: Vec<usize> = inner.iter().map(|&dim| nest.extents[dim]).collect();
        let shape = Shape::new("sums", &extents[..kept.len()]).ok()?;
        let to = self.temporary(&Type::new(dtype, shape));
        // Row-major, by the dimensions of the sums and by those of the rest.
        let mut place = Affine::constant(0, inner.len());
        let mut at = Affine::constant(0, dims.len());
        let mut stride = 1i64;
        for (n, &dim) in kept.iter().enumerate().rev() {
            place.coeffs[n] = stride;
            at.coeffs[dims.iter().position(|&d| d == dim)?] = stride;
            stride = stride.checked_mul(i64::try_from(nest.extents[dim]).ok()?)?;
        }
        let mut sum = NestPart::new(nest.source);
        let values = sum.take(nest, &inner, early.factors.iter().map(|f| f.value))?;
        let value = multiplied(&mut sum, &early.factors, &values, dtype)?;
        let sum = sum.finish(extents, value, to, Write::Sum(place));
        self.sum_steps(Nest { reduced: summed.len(), ..sum }, steps);
        let others = part.take(nest, dims, early.others.iter().map(|f| f.value))?;
        let load = part.push(Instr::Load { buffer: to, at, checks: Vec::new() }, dtype);
        let mut zeros = early.factors.iter().map(|f| f.zeros).max().unwrap_or(Zeros::Plain);
        // The sum is multiplied after the others. Zeros of what was summed may have to annihilate
        // weak ones among them, wherever each stood in the product.
        if zeros.is_weak() && early.others.iter().any(|f| f.zeros.is_weak()) {
            zeros = Zeros::Mutual;
        }
        let mut factors = early.others.clone();
        factors.push(Factor { value: load, dims: 0, zeros });
        let mut values = others;
        values.push(load);
        let product = multiplied(part, &factors, &values, dtype)?;
        let constant = FactorProduct::of(nest, &dims_of(nest), &self.target.search)?.constant;
        if constant == 1.0 {
            return Some(product);
        }
        let constant = part.push(Instr::Const(bits(constant, dtype)), dtype);
        Some(part.op(Op::Mul, product, constant, dtype))
    }

    /// A sum of several terms, taken apart where some of them gain by it.
    fn summed_apart(&mut self, nest: &Nest, steps: &mut Vec<Step<Nest>>) -> Option<()> {
        if !is_large(nest, self.target.thresholds.min_factored_products) {
            return None;
        }
        let terms = terms(nest, self.target.search.max_terms)?;
        let turned = self.reads_turned(nest);
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        let parallel = nest.extents.len() - nest.reduced;
        let dims: Vec<usize> = (0..parallel).collect();
        let extents = nest.extents[..parallel].to_vec();
        let shape = Shape::new("sums", &extents).ok()?;
        let mut place = Affine::constant(0, nest.extents.len());
        let mut stride = 1i64;
        for dim in (0..parallel).rev() {
            place.coeffs[dim] = stride;
            stride = stride.checked_mul(i64::try_from(nest.extents[dim]).ok()?)?;
        }
        let load = |buffer, at: &Affine| Instr::Load {
            buffer,
            at: Affine { constant: 0, coeffs: at.coeffs[..parallel].into() },
            checks: Vec::new(),
        };
        let mut before = Vec::new();
        let mut part = NestPart::new(nest.source);
        let mut sums: SmallVec<[(Val, bool); 4]> = SmallVec::new();
        let mut rest: Vec<Term> = Vec::new();
        for term in terms {
            let mut own = reduced_to(nest, term.value)?;
            let early =
                Early::of(&own, self.target).filter(|early| early.summed == all_reduced(nest));
            if let Some(early) = early {
                let value = self.early_value(&own, &early, &dims, &mut part, &mut before)?;
                sums.push((value, term.negative));
                continue;
            }
            own.target = self.temporary(&Type::new(dtype, shape.clone()));
            own.write = Write::Sum(place.clone());
            let mut apart = self.summed_in_steps(&own, &mut before).is_some()
                || self.contraction(&own, &mut before).is_some();
            if !apart && turned {
                before.push(Step::Compute(Box::new(own.clone())));
                apart = true;
            }
            if apart {
                let sum = part.push(load(own.target, &place), dtype);
                sums.push((sum, term.negative));
            } else {
                rest.push(term);
            }
        }
        if sums.is_empty() {
            return None;
        }
        if !rest.is_empty() {
            let mut own = Nest { write: Write::Sum(place.clone()), ..nest.clone() };
            own.target = self.temporary(&Type::new(dtype, shape));
            own.value = added(&mut own.instrs, &mut own.dtypes, &rest, dtype)?;
            let own = reduced_to(&own, own.value)?;
            sums.push((part.push(load(own.target, &place), dtype), false));
            before.push(Step::Compute(Box::new(own)));
        }
        // From +0 on, as sums begin.
        let mut value = part.push(Instr::Const(0), dtype);
        for (sum, negative) in sums {
            value = part.op(if negative { Op::Sub } else { Op::Add }, value, sum, dtype);
        }
        let at = projected(at, &dims)?;
        let last = part.finish(extents, value, nest.target, Write::Store(at));
        steps.append(&mut before);
        steps.push(Step::Compute(Box::new(last)));
        Some(())
    }
}

impl Lowering<'_> {
    /// Whether a nest reads one large array along different dimensions. What made it row by row
    /// can hand the rows to one term then, and add them up for another.
    fn reads_turned(&self, nest: &Nest) -> bool {
        let large = |b: BufferId| {
            let buffer = &self.buffers[b.index()];
            buffer.shape.numel() >= self.target.thresholds.min_factored_products
                && matches!(buffer.role, Role::Temporary(_))
        };
        let mut seen: Vec<(BufferId, &Affine)> = Vec::new();
        for instr in &nest.instrs {
            let Instr::Load { buffer, at, .. } = instr else { continue };
            if !large(*buffer) {
                continue;
            }
            if seen.iter().any(|(b, other)| b == buffer && other.coeffs != at.coeffs) {
                return true;
            }
            seen.push((*buffer, at));
        }
        false
    }
}

/// The nest with another value, without what that does not need.
fn reduced_to(nest: &Nest, value: Val) -> Option<Nest> {
    let mut part = NestPart::new(nest.source);
    let dims: Vec<usize> = (0..nest.extents.len()).collect();
    let value = *part.take(nest, &dims, std::iter::once(value))?.first()?;
    let own = part.finish(nest.extents.clone(), value, nest.target, nest.write.clone());
    Some(Nest { reduced: nest.reduced, ..own })
}

/// Whether a sum of floats is large enough to be taken apart.
fn is_large(nest: &Nest, least: usize) -> bool {
    let floats = matches!(nest.dtypes[nest.value.index()], Dtype::F64 | Dtype::F32);
    let all = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
    floats && nest.extents.len() <= 60 && all >= least && nest.reduced > 0
}

/// The reduced dimensions.
fn all_reduced(nest: &Nest) -> DimSet {
    let parallel = nest.extents.len() - nest.reduced;
    (parallel..nest.extents.len()).fold(0, |dims, dim| dims | 1 << dim)
}

impl Early {
    /// The factors of a nest's value that are better summed first, and over what.
    fn of(nest: &Nest, target: &Target) -> Option<Early> {
        let product = FactorProduct::of(nest, &dims_of(nest), &target.search)?;
        let reduced = all_reduced(nest);
        let all = positions(nest, DimSet::MAX >> (DimSet::BITS as usize - nest.extents.len()));
        let mut best: Option<(usize, Early)> = None;
        for dim in members(reduced) {
            let (factors, others): (Vec<Factor>, Vec<Factor>) =
                product.factors.iter().partition(|f| f.dims >> dim & 1 == 1);
            let union = |factors: &[Factor]| factors.iter().fold(0, |dims, f| dims | f.dims);
            let summed = union(&factors) & reduced & !union(&others);
            let kept = union(&factors) & !summed;
            let cost = positions(nest, kept | summed);
            let gains = !factors.is_empty() && all / cost.max(1) >= target.gains.min_early_saving;
            if gains && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, Early { factors, others, summed, kept }));
            }
        }
        best.map(|(_, early)| early)
    }
}

/// The product of factors, those first whose zeros are stronger.
fn multiplied(
    part: &mut NestPart,
    factors: &[Factor],
    values: &[Val],
    dtype: Dtype,
) -> Option<Val> {
    let mut product = None;
    for zeros in [Zeros::Plain, Zeros::Weak, Zeros::Mutual] {
        for (_, &value) in factors.iter().zip(values).filter(|(f, _)| f.zeros == zeros) {
            product = Some(product.map_or(value, |p| part.op(zeros.product(), p, value, dtype)));
        }
    }
    product
}

fn bits(x: f64, dtype: Dtype) -> u64 {
    match dtype {
        Dtype::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

/// The terms of a nest's value, if there are several.
fn terms(nest: &Nest, most: usize) -> Option<Vec<Term>> {
    let mut open = vec![Term { value: nest.value, negative: false }];
    let mut terms = Vec::new();
    while let Some(Term { value, negative }) = open.pop() {
        match &nest.instrs[value.index()] {
            Instr::Op(op @ (Op::Add | Op::Sub), args) => {
                open.push(Term { value: args[1], negative: negative ^ (*op == Op::Sub) });
                open.push(Term { value: args[0], negative });
            }
            Instr::Op(Op::Neg, args) => {
                open.push(Term { value: args[0], negative: !negative });
            }
            _ => terms.push(Term { value, negative }),
        }
        if terms.len() + open.len() > most {
            return None;
        }
    }
    (terms.len() > 1).then_some(terms)
}

/// Adds instructions for the sum of some terms.
fn added(
    instrs: &mut Vec<Instr>,
    dtypes: &mut Vec<Dtype>,
    terms: &[Term],
    dtype: Dtype,
) -> Option<Val> {
    let mut push = |instr: Instr| {
        instrs.push(instr);
        dtypes.push(dtype);
        Val((instrs.len() - 1) as u32)
    };
    let mut sum: Option<Val> = None;
    for term in terms {
        sum = Some(match (sum, term.negative) {
            (None, false) => term.value,
            (None, true) => push(Instr::Op(Op::Neg, smallvec![term.value])),
            (Some(sum), false) => push(Instr::Op(Op::Add, smallvec![sum, term.value])),
            (Some(sum), true) => push(Instr::Op(Op::Sub, smallvec![sum, term.value])),
        });
    }
    sum
}

/// The same nest with values that a condition makes 0 as products, exactly:
/// $\mathrm{where}(c, x, 0) = \mathrm{scale}(\mathrm{where}(c, 1, 0), x)$.
pub(super) fn with_masks_as_factors(nest: &Nest) -> Nest {
    let mut open = nest.clone();
    open.instrs.clear();
    open.dtypes.clear();
    let mut moved: Vec<Val> = Vec::with_capacity(nest.instrs.len());
    for (instr, &dtype) in nest.instrs.iter().zip(&nest.dtypes) {
        let mut push = |instr: Instr| {
            open.instrs.push(instr);
            open.dtypes.push(dtype);
            Val((open.instrs.len() - 1) as u32)
        };
        let at = |v: &Val| moved[v.index()];
        let value = match instr {
            Instr::Op(Op::Select, args)
                if number(nest, args[2]).is_some_and(|x| x.to_bits() == 0) =>
            {
                let one = push(Instr::Const(bits(1.0, dtype)));
                let mask = push(Instr::Op(Op::Select, smallvec![at(&args[0]), one, at(&args[2])]));
                push(Instr::Op(Op::Scale, smallvec![mask, at(&args[1])]))
            }
            Instr::Op(op, args) => push(Instr::Op(*op, args.iter().map(at).collect())),
            Instr::MulAdd { args, minus_product, minus_addend } => push(Instr::MulAdd {
                args: [at(&args[0]), at(&args[1]), at(&args[2])],
                minus_product: *minus_product,
                minus_addend: *minus_addend,
            }),
            Instr::LoadAt { buffer, index } => {
                let mut index = index.clone();
                index.iter_mut().for_each(|c| c.value = at(&c.value));
                push(Instr::LoadAt { buffer: *buffer, index })
            }
            Instr::Const(_) | Instr::Affine(_) | Instr::Load { .. } => push(instr.clone()),
        };
        moved.push(value);
    }
    open.value = moved[nest.value.index()];
    open
}

//! Values of nests as products, and their factors shared out to two operands.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Instr, Nest, Val};
use smallvec::SmallVec;

use super::part::needed;
use super::window::windows;
use crate::target::{Gains, Search, Target};

/// Sets of dimensions of a nest, as bits.
pub(super) type DimSet = u64;

/// A factor of the value of a nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factor {
    pub value: Val,
    pub dims: DimSet,
    pub zeros: Zeros,
}

/// What zeros mean between a factor and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Zeros {
    /// What they mean in `*`: 0 times infinity is NaN.
    Plain,
    /// A zero of another factor makes the product 0, whatever this one is: the second factor of
    /// `scale`.
    Weak,
    /// That, and a zero of this factor makes the product 0, whatever the others are: a factor of
    /// `strong_mul`.
    Mutual,
}

impl Zeros {
    /// The operation that multiplies a product by a factor of this kind.
    pub(super) fn product(self) -> Op {
        match self {
            Zeros::Plain => Op::Mul,
            Zeros::Weak => Op::Scale,
            Zeros::Mutual => Op::StrongMul,
        }
    }

    /// Whether zeros of other factors annihilate this one.
    pub(super) fn is_weak(self) -> bool {
        self != Zeros::Plain
    }
}

/// The value of a nest as a product.
pub(super) struct FactorProduct {
    pub factors: Vec<Factor>,
    /// The constants.
    pub constant: f64,
}

/// The dimensions that each instruction depends on.
pub(super) fn dims_of(nest: &Nest) -> Vec<DimSet> {
    let of = |affine: &Affine| {
        let used = affine.coeffs.iter().enumerate().filter(|(_, c)| **c != 0);
        used.fold(0, |dims, (dim, _)| dims | 1 << dim)
    };
    let mut dims: Vec<DimSet> = Vec::with_capacity(nest.instrs.len());
    for instr in &nest.instrs {
        let mut own: DimSet = match instr {
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

pub(super) fn members(dims: DimSet) -> Vec<usize> {
    (0..DimSet::BITS as usize).filter(|dim| dims >> dim & 1 == 1).collect()
}

/// How many positions there are along some dimensions.
pub(super) fn positions(nest: &Nest, dims: DimSet) -> usize {
    members(dims).iter().fold(1, |n, &dim| n.saturating_mul(nest.extents[dim]))
}

/// The number that an instruction stands for.
pub(super) fn number(nest: &Nest, v: Val) -> Option<f64> {
    match (&nest.instrs[v.index()], nest.dtypes[v.index()]) {
        (Instr::Const(bits), Dtype::F64) => Some(f64::from_bits(*bits)),
        (Instr::Const(bits), Dtype::F32) => Some(f64::from(f32::from_bits(*bits as u32))),
        _ => None,
    }
}

impl FactorProduct {
    pub(super) fn of(nest: &Nest, dims: &[DimSet], search: &Search) -> Option<FactorProduct> {
        let most = search.max_factors;
        let parallel = nest.extents.len() - nest.reduced;
        let mut product = FactorProduct { factors: Vec::new(), constant: 1.0 };
        let mut open = vec![(nest.value, Zeros::Plain)];
        let mut seen = 0;
        while let Some((value, zeros)) = open.pop() {
            seen += 1;
            if seen > 4 * most || product.factors.len() > most {
                return None;
            }
            if let Some(x) = number(nest, value).filter(|x| x.is_finite()) {
                product.constant *= x;
                continue;
            }
            let inside = dims[value.index()] >> parallel != 0;
            match &nest.instrs[value.index()] {
                Instr::Op(Op::Mul, args) if inside => {
                    open.extend(args.iter().rev().map(|&arg| (arg, zeros)));
                }
                Instr::Op(Op::Scale, args) if inside && args.len() == 2 => {
                    open.push((args[1], zeros.max(Zeros::Weak)));
                    open.push((args[0], zeros));
                }
                Instr::Op(Op::StrongMul, args) if inside => {
                    open.extend(args.iter().rev().map(|&arg| (arg, Zeros::Mutual)));
                }
                Instr::Op(Op::Neg, args) if inside && args.len() == 1 => {
                    product.constant = -product.constant;
                    open.push((args[0], zeros));
                }
                _ => {
                    let dims = dims[value.index()];
                    product.factors.push(Factor { value, dims, zeros });
                }
            }
        }
        Some(product)
    }
}

/// The largest step of the reads of some factors along each dimension.
pub(super) fn strides(nest: &Nest, factors: &[Factor]) -> Vec<u64> {
    let mut strides = vec![0; nest.extents.len()];
    for (instr, needed) in nest.instrs.iter().zip(needed(nest, factors.iter().map(|f| f.value))) {
        if let Instr::Load { at, .. } = instr
            && needed
        {
            for (stride, c) in strides.iter_mut().zip(&at.coeffs) {
                *stride = c.unsigned_abs().max(*stride);
            }
        }
    }
    strides
}

pub(super) fn plain_load<'a>(nest: &'a Nest, factors: &[Factor]) -> Option<&'a Instr> {
    match factors {
        [factor] => Some(&nest.instrs[factor.value.index()])
            .filter(|instr| matches!(instr, Instr::Load { .. })),
        _ => None,
    }
}

/// Shares the factors that depend on reduced dimensions out to two operands; one that is computed has
/// at most so many elements.
pub(super) fn share_out(
    nest: &Nest,
    product: &FactorProduct,
    most: usize,
    target: &Target,
) -> Option<[Vec<Factor>; 2]> {
    let Target { gains, search, .. } = target;
    let most = most.min(gains.max_operand_elements);
    let parallel = nest.extents.len() - nest.reduced;
    let inner: Vec<Factor> =
        product.factors.iter().filter(|f| f.dims >> parallel != 0).copied().collect();
    // Sets of dimensions that are in no other.
    let mut kinds: SmallVec<[DimSet; 4]> = SmallVec::new();
    for factor in &inner {
        let within = |a: DimSet, b: DimSet| a & !b == 0;
        if kinds.iter().any(|&kind| within(factor.dims, kind)) {
            continue;
        }
        kinds.retain(|kind| !within(*kind, factor.dims));
        kinds.push(factor.dims);
    }
    if kinds.len() == 1 {
        return of_one_kind(nest, &inner, gains);
    }
    if kinds.is_empty() || kinds.len() > search.max_factor_kinds {
        return None;
    }
    let all = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
    let mut best: Option<(usize, [Vec<Factor>; 2])> = None;
    // Every way to make two of the kinds; the last is always in the second.
    for choice in 1..1u32 << (kinds.len() - 1) {
        let mut sides: [DimSet; 2] = [0, 0];
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
                let elements = windows(nest, operand, &members(side), target)
                    .map_or_else(|| positions(nest, side), |own| own.positions());
                cost = cost.saturating_add(elements);
                if elements == 0 || elements > most || all / elements < gains.min_operand_uses {
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

/// Two operands of which one has all dimensions: many products of a matrix and a vector. For few
/// columns only: others suit the ordinary kernel as well.
fn of_one_kind(nest: &Nest, inner: &[Factor], gains: &Gains) -> Option<[Vec<Factor>; 2]> {
    let [a, b] = inner else { return None };
    let (vector, matrix) = if a.dims & !b.dims == 0 { (a, b) } else { (b, a) };
    let columns = positions(nest, matrix.dims & !vector.dims);
    let loads = [vector, matrix].iter().all(|f| plain_load(nest, &[**f]).is_some());
    let suits = gains.min_vector_columns..=gains.max_vector_columns;
    let fits = suits.contains(&columns) && positions(nest, vector.dims) > 1;
    (loads && fits).then(|| [vec![*a], vec![*b]])
}

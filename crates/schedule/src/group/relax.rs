//! Products that need not look for zeros.
//!
//! Derivatives multiply by `scale`, where 0 times anything is 0, also 0 times infinity. That is a
//! comparison and a choice more than a product. If the second factor is finite, a product it is, up to
//! the sign of a zero. Often that factor is made of few arrays by additions and multiplications, and
//! finite if their elements are of moderate size: a group that goes through them many times looks at
//! them once, and then multiplies. Second derivatives multiply by `strong_mul`, where a zero of either
//! factor annihilates: with one factor finite it is `scale`, with both a product.

use cotan_array::Dtype;
use cotan_ir::magnitude;
use cotan_ir::scalar::Op;
use cotan_nest::{BufferId, Instr, Nest, Val};
use smallvec::SmallVec;

use super::Member;

/// The members of a group for arrays of moderate size.
#[derive(Debug)]
pub struct Relaxed<K> {
    /// The arrays whose elements must be of moderate size.
    pub moderate: Vec<BufferId>,
    /// For each member another one, where that is different.
    pub members: Vec<Option<Member<K>>>,
}

/// Elements of moderate size are at most this, so that a product of five of them, or of their sums, is
/// finite.
pub fn largest(dtype: Dtype) -> f64 {
    moderate(dtype).map_or(0.0, f64::exp2)
}

/// The logarithm of it.
fn moderate(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => Some(200.0),
        Dtype::F32 => Some(24.0),
        Dtype::I64 | Dtype::Bool => None,
    }
}

/// Nests without needless `scale`s.
pub(super) struct Relaxing {
    pub nests: Vec<Option<Nest>>,
    pub moderate: Vec<BufferId>,
    /// The positions of these nests.
    positions: usize,
    /// .. of which there are to be so many for each element that is looked at.
    uses: usize,
}

impl Relaxing {
    /// Looks at nests that read arrays; `outside` tells those that none of them writes.
    pub(super) fn new<'a>(
        nests: impl Iterator<Item = Option<&'a Nest>>,
        outside: impl Fn(BufferId) -> bool,
        uses: usize,
    ) -> Relaxing {
        let (nests_made, moderate) = (Vec::new(), Vec::new());
        let mut relaxing = Relaxing { nests: nests_made, moderate, positions: 0, uses };
        for nest in nests {
            let relaxed = nest.and_then(|nest| relaxing.relaxed(nest, &outside));
            relaxing.nests.push(relaxed);
        }
        relaxing.moderate.sort_unstable();
        relaxing.moderate.dedup();
        relaxing
    }

    /// Whether it is worth to look at so many elements.
    pub(super) fn pays(&self, elements: usize, least: usize) -> bool {
        !self.moderate.is_empty()
            && self.positions >= least
            && (least == 0 || self.positions / self.uses >= elements)
    }

    fn relaxed(&mut self, nest: &Nest, outside: &impl Fn(BufferId) -> bool) -> Option<Nest> {
        let sizes = sizes(nest, outside);
        let read = elements_read(nest);
        let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let mut relaxed = nest.clone();
        let mut needed = vec![false; nest.instrs.len()];
        let (mut found, uses) = (false, self.uses);
        let finite = |v: Val| sizes[v.index()].is_some();
        for instr in &mut relaxed.instrs {
            let Instr::Op(op @ (Op::Scale | Op::StrongMul), args) = instr else { continue };
            // One of two factors may do: only those are looked at for which that pays.
            let pays = |v: Val| finite(v) && read[v.index()] <= positions / uses;
            let factors = match (*op, pays(args[0]), pays(args[1])) {
                (Op::Scale, ..) if finite(args[1]) => 1..2,
                (Op::StrongMul, true, true) => 0..2,
                // Zeros of the finite factor annihilate, those of the other do so anyway.
                (Op::StrongMul, true, false) => 0..1,
                (Op::StrongMul, false, true) => {
                    args.swap(0, 1);
                    0..1
                }
                _ => continue,
            };
            *op = if factors == (0..1) { Op::Scale } else { Op::Mul };
            args[factors].iter().for_each(|v| needed[v.index()] = true);
            found = true;
        }
        for n in (0..needed.len()).rev().filter(|_| found) {
            if !needed[n] {
                continue;
            }
            match &nest.instrs[n] {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => {
                    if nest.dtypes[n].is_float() {
                        self.moderate.push(*buffer);
                    }
                }
                // What chooses may be anything, and so may what is compared: also what is not there
                // yet, which must not be looked at.
                Instr::Op(Op::Select, args) => {
                    let either = args[1..].iter().filter(|v| finite(**v));
                    either.for_each(|v| needed[v.index()] = true);
                }
                instr => instr.for_each_operand(|v| needed[v.index()] |= finite(v)),
            }
        }
        self.positions = self.positions.saturating_add(if found { positions } else { 0 });
        found.then_some(relaxed)
    }
}

/// For the values that are finite if what is read from `outside` is of moderate size: the logarithm of
/// how large they may be.
fn sizes(nest: &Nest, outside: &impl Fn(BufferId) -> bool) -> Vec<Option<f64>> {
    let mut sizes: Vec<Option<f64>> = Vec::with_capacity(nest.instrs.len());
    for (instr, &dtype) in nest.instrs.iter().zip(&nest.dtypes) {
        let of = |v: &Val| sizes[v.index()];
        sizes.push(match instr {
            Instr::Const(bits) => magnitude::of_bits(*bits, dtype),
            Instr::Affine(_) => Some(magnitude::INTEGER),
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => match moderate(dtype) {
                Some(size) => Some(size).filter(|_| outside(*buffer)),
                None => Some(magnitude::INTEGER),
            },
            Instr::Op(op, args) => {
                let args: SmallVec<[Option<f64>; 3]> = args.iter().map(of).collect();
                magnitude::magnitude(*op, dtype, &args)
            }
            Instr::MulAdd { args: [a, b, c], .. } => {
                let product = magnitude::magnitude(Op::Mul, dtype, &[of(a), of(b)]);
                magnitude::magnitude(Op::Add, dtype, &[product, of(c)])
            }
        });
    }
    sizes
}

/// The most elements of an array that each value is made of.
fn elements_read(nest: &Nest) -> Vec<usize> {
    let mut read: Vec<usize> = Vec::with_capacity(nest.instrs.len());
    for instr in &nest.instrs {
        let mut most = match instr {
            Instr::Load { at, .. } => {
                let along = at.coeffs.iter().zip(&nest.extents).filter(|(c, _)| **c != 0);
                along.fold(1, |n: usize, (_, &k)| n.saturating_mul(k))
            }
            // Of an array of any size.
            Instr::LoadAt { .. } => usize::MAX,
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => 0,
        };
        instr.for_each_operand(|v| most = most.max(read[v.index()]));
        read.push(most);
    }
    read
}

#[cfg(test)]
mod tests;

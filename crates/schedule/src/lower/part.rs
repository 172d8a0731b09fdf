//! Parts of the body of a nest, over some of its dimensions.

use cotan_array::Dtype;
use cotan_ir::TermId;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Val, Write};
use smallvec::{SmallVec, smallvec};

/// The body of a nest in the making.
pub(super) struct NestPart {
    instrs: Vec<Instr>,
    dtypes: Vec<Dtype>,
    source: Option<TermId>,
}

impl NestPart {
    pub(super) fn new(source: Option<TermId>) -> NestPart {
        NestPart { instrs: Vec::new(), dtypes: Vec::new(), source }
    }

    pub(super) fn push(&mut self, instr: Instr, dtype: Dtype) -> Val {
        self.instrs.push(instr);
        self.dtypes.push(dtype);
        Val((self.instrs.len() - 1) as u32)
    }

    pub(super) fn op(&mut self, op: Op, a: Val, b: Val, dtype: Dtype) -> Val {
        self.push(Instr::Op(op, smallvec![a, b]), dtype)
    }

    /// The instructions of a nest that some values need, over the dimensions that they depend on;
    /// gives where the values are.
    pub(super) fn take(
        &mut self,
        nest: &Nest,
        dims: &[usize],
        values: impl Iterator<Item = Val>,
    ) -> Option<SmallVec<[Val; 4]>> {
        self.take_by(nest, values, |affine| projected(affine, dims))
    }

    /// The same over other dimensions, as which every affine form is written by a function.
    pub(super) fn take_by(
        &mut self,
        nest: &Nest,
        values: impl Iterator<Item = Val>,
        written: impl Fn(&Affine) -> Option<Affine>,
    ) -> Option<SmallVec<[Val; 4]>> {
        let values: SmallVec<[Val; 4]> = values.collect();
        let needed = needed(nest, values.iter().copied());
        let mut moved = vec![Val(0); nest.instrs.len()];
        for (n, instr) in nest.instrs.iter().enumerate().filter(|(n, _)| needed[*n]) {
            let instr = match instr {
                Instr::Const(bits) => Instr::Const(*bits),
                Instr::Affine(affine) => Instr::Affine(written(affine)?),
                Instr::Load { buffer, at, checks } => Instr::Load {
                    buffer: *buffer,
                    at: written(at)?,
                    checks: checks
                        .iter()
                        .map(|(check, size)| Some((written(check)?, *size)))
                        .collect::<Option<_>>()?,
                },
                Instr::LoadAt { buffer, index } => {
                    let mut index = index.clone();
                    index.iter_mut().for_each(|c| c.value = moved[c.value.index()]);
                    Instr::LoadAt { buffer: *buffer, index }
                }
                Instr::Op(op, args) => {
                    Instr::Op(*op, args.iter().map(|v| moved[v.index()]).collect())
                }
                // Formed when kernels are planned.
                Instr::MulAdd { .. } => return None,
            };
            moved[n] = self.push(instr, nest.dtypes[n]);
        }
        Some(values.iter().map(|v| moved[v.index()]).collect())
    }

    pub(super) fn finish(
        self,
        extents: Vec<usize>,
        value: Val,
        target: BufferId,
        write: Write,
    ) -> Nest {
        let NestPart { instrs, dtypes, source } = self;
        Nest { extents, reduced: 0, instrs, dtypes, value, target, write, also: Vec::new(), source }
    }
}

/// An affine form over some dimensions, if it does not depend on others.
pub(super) fn projected(affine: &Affine, dims: &[usize]) -> Option<Affine> {
    let coeffs: SmallVec<[i64; 4]> = dims.iter().map(|&dim| affine.coeffs[dim]).collect();
    let used = |coeffs: &[i64]| coeffs.iter().filter(|&&c| c != 0).count();
    (used(&coeffs) == used(&affine.coeffs)).then_some(Affine { constant: affine.constant, coeffs })
}

/// Which instructions some values need.
pub(super) fn needed(nest: &Nest, values: impl Iterator<Item = Val>) -> Vec<bool> {
    let mut needed = vec![false; nest.instrs.len()];
    values.for_each(|v| needed[v.index()] = true);
    for n in (0..nest.instrs.len()).rev() {
        if needed[n] {
            nest.instrs[n].for_each_operand(|v| needed[v.index()] = true);
        }
    }
    needed
}

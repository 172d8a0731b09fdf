//! Straight code over single elements, in few bytes.
//!
//! A long program of scalars is millions of operations that run once each. As nests they would take
//! a hundred bytes each, for loops that are not there. Here an instruction is twelve bytes.

use cotan_array::Dtype;
use cotan_ir::TermId;
use cotan_ir::scalar::Op;
use smallvec::SmallVec;

use crate::nest::{Affine, Also, BufferId, Instr, Nest, Touches, Val, Write};

/// There are at most so many instructions: positions are bytes.
pub const MAX_PACKED: usize = 256;

/// An instruction; operands are positions of instructions before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Short {
    /// One of the numbers.
    Const(u8),
    /// An element of a buffer.
    Load(BufferId, u32),
    /// A scalar operation.
    Op(Op, [u8; 3]),
    /// $\pm ab \pm c$ of floats, rounded once.
    MulAdd {
        /// $a$, $b$ and $c$.
        args: [u8; 3],
        /// Whether it is $-ab$.
        minus_product: bool,
        /// Whether it is $-c$.
        minus_addend: bool,
    },
}

/// A value that is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedStore {
    /// What is stored.
    pub value: u8,
    /// Where to.
    pub target: BufferId,
    /// The element.
    pub at: u32,
    /// The term that it is, if it is known.
    pub source: Option<TermId>,
}

/// Instructions for one position, and what they store, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    instrs: Box<[Short]>,
    dtypes: Box<[Dtype]>,
    stores: Box<[PackedStore]>,
    /// Numbers, as bits of their types.
    numbers: Box<[u64]>,
}

impl Packed {
    /// A nest of one position, if it is short and reads and stores at known places only.
    pub fn pack(nest: &Nest) -> Option<Packed> {
        if !nest.extents.is_empty() || nest.instrs.len() > MAX_PACKED {
            return None;
        }
        let three = |args: &[Val]| {
            let mut all = [0u8; 3];
            args.iter().zip(&mut all).for_each(|(v, to)| *to = v.0 as u8);
            all
        };
        let mut numbers: Vec<u64> = Vec::new();
        let short = |instr: &Instr| match instr {
            Instr::Const(bits) => {
                let known = numbers.iter().position(|number| number == bits);
                let at = known.unwrap_or_else(|| {
                    numbers.push(*bits);
                    numbers.len() - 1
                });
                Some(Short::Const(at as u8))
            }
            Instr::Load { buffer, at, checks } if checks.is_empty() => {
                Some(Short::Load(*buffer, u32::try_from(at.constant).ok()?))
            }
            Instr::Op(op, args) => Some(Short::Op(*op, three(args))),
            Instr::MulAdd { args, minus_product, minus_addend } => Some(Short::MulAdd {
                args: three(args),
                minus_product: *minus_product,
                minus_addend: *minus_addend,
            }),
            Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Affine(_) => None,
        };
        let stored = |value: Val, target: BufferId, at: &Affine, source: Option<TermId>| {
            let at = u32::try_from(at.constant).ok()?;
            Some(PackedStore { value: value.0 as u8, target, at, source })
        };
        let Write::Store(at) = &nest.write else { return None };
        let also = nest.also.iter().map(|a| stored(a.value, a.target, &a.at, a.source));
        let last = stored(nest.value, nest.target, at, nest.source);
        Some(Packed {
            instrs: nest.instrs.iter().map(short).collect::<Option<_>>()?,
            numbers: numbers.into(),
            dtypes: nest.dtypes.as_slice().into(),
            stores: also.chain([last]).collect::<Option<_>>()?,
        })
    }

    /// The nest that was packed.
    pub fn unpack(&self) -> Option<Nest> {
        let val = |v: u8| Val(u32::from(v));
        let instr = |short: &Short| match *short {
            Short::Const(at) => Some(Instr::Const(*self.numbers.get(usize::from(at))?)),
            Short::Load(buffer, at) => {
                let at = Affine::constant(i64::from(at), 0);
                Some(Instr::Load { buffer, at, checks: Vec::new() })
            }
            Short::Op(op, args) => {
                let args: SmallVec<[Val; 3]> = args.map(val).into_iter().collect();
                Some(Instr::Op(op, SmallVec::from_slice(args.get(..op.arity())?)))
            }
            Short::MulAdd { args, minus_product, minus_addend } => {
                Some(Instr::MulAdd { args: args.map(val), minus_product, minus_addend })
            }
        };
        let (last, also) = self.stores.split_last()?;
        let also = also.iter().map(|s| Also {
            value: val(s.value),
            target: s.target,
            at: Affine::constant(i64::from(s.at), 0),
            source: s.source,
        });
        Some(Nest {
            extents: Vec::new(),
            reduced: 0,
            instrs: self.instrs.iter().map(instr).collect::<Option<_>>()?,
            dtypes: self.dtypes.to_vec(),
            value: val(last.value),
            target: last.target,
            write: Write::Store(Affine::constant(i64::from(last.at), 0)),
            also: also.collect(),
            source: last.source,
        })
    }

    /// The same, without the terms that it computes.
    pub fn without_sources(&self) -> Packed {
        let mut packed = self.clone();
        packed.stores.iter_mut().for_each(|stored| stored.source = None);
        packed
    }

    /// Leaves out what is stored in buffers for which `keep` does not hold, but for the last.
    pub fn retain_stores(&mut self, keep: impl Fn(BufferId) -> bool) {
        let Some((&last, others)) = self.stores.split_last() else { return };
        let kept = others.iter().copied().filter(|stored| keep(stored.target));
        self.stores = kept.chain([last]).collect();
    }

    /// The instructions.
    pub fn instrs(&self) -> &[Short] {
        &self.instrs
    }

    /// The types of their values.
    pub fn dtypes(&self) -> &[Dtype] {
        &self.dtypes
    }

    /// What is stored, in this order.
    pub fn stores(&self) -> &[PackedStore] {
        &self.stores
    }

    /// A number, as bits of its type.
    pub fn number(&self, at: u8) -> u64 {
        self.numbers[usize::from(at)]
    }

    /// The buffers that it touches, to be exchanged for others.
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        self.stores.iter_mut().for_each(|stored| f(&mut stored.target));
        for short in &mut self.instrs {
            if let Short::Load(buffer, _) = short {
                f(buffer);
            }
        }
    }

    /// The buffers that it writes.
    pub fn for_each_written(&self, f: &mut dyn FnMut(BufferId)) {
        self.stores.iter().for_each(|stored| f(stored.target));
    }

    /// The term that it stores in a buffer, if it is known.
    pub fn source(&self, b: BufferId) -> Option<TermId> {
        self.stores.iter().find(|stored| stored.target == b).and_then(|stored| stored.source)
    }
}

impl Touches for Packed {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.stores.iter().for_each(|stored| f(stored.target));
        for short in &self.instrs {
            if let Short::Load(buffer, _) = short {
                f(*buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is packed is what is unpacked, in few bytes; what has other instructions is not packed.
    #[test]
    fn packing_keeps_nests_of_known_places() {
        assert!(size_of::<Short>() <= 12 && size_of::<PackedStore>() <= 16);
        let load = |buffer: u32, at: i64| Instr::Load {
            buffer: BufferId(buffer),
            at: Affine::constant(at, 0),
            checks: Vec::new(),
        };
        let op = |op: Op, args: &[u32]| Instr::Op(op, args.iter().map(|&v| Val(v)).collect());
        let also =
            Also { value: Val(2), target: BufferId(7), at: Affine::constant(4, 0), source: None };
        let mut nest = Nest {
            extents: Vec::new(),
            reduced: 0,
            instrs: vec![
                load(3, 2),
                Instr::Const(2.5f64.to_bits()),
                op(Op::Mul, &[0, 1]),
                op(Op::Add, &[2, 0]),
            ],
            dtypes: vec![Dtype::F64; 4],
            value: Val(3),
            target: BufferId(9),
            write: Write::Store(Affine::constant(0, 0)),
            also: vec![also],
            source: None,
        };
        let mut packed = Packed::pack(&nest).unwrap();
        assert_eq!(packed.unpack().as_ref(), Some(&nest));
        packed.retain_stores(|b| b != BufferId(7));
        nest.also.clear();
        assert_eq!(packed.unpack().as_ref(), Some(&nest));
        nest.instrs[0] = Instr::Affine(Affine::constant(1, 0));
        assert!(Packed::pack(&nest).is_none());
    }
}

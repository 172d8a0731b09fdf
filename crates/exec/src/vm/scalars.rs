//! Straight code over single elements, in few bytes.
//!
//! A long program of scalars is millions of operations that run once each. As kernels they would take
//! a hundred bytes each, for loops and lanes that are not there. Here an instruction is twelve bytes,
//! and what it computes is what the kernel of the same nest computes, to the last bit.

use cotan_array::Dtype;
use cotan_ir::TermId;
use cotan_ir::scalar::Op;
use smallvec::SmallVec;

use super::exec::Frame;
use super::tile::{self, Code};
use super::{code_of, fuse_products};
use crate::nest::{Affine, Also, BufferId, Instr, Nest, Val, Write};

/// There are at most so many instructions: positions are bytes, and values stay in the first cache.
pub(crate) const MAX_PACKED: usize = 256;

/// What an instruction counts for where the limits of a run are looked at, in additions.
const WORK: usize = 16;

/// An instruction; operands are positions of instructions before it.
#[derive(Clone, Copy, Debug)]
enum Short {
    /// One of the numbers.
    Const(u8),
    /// An element of a buffer.
    Load(BufferId, u32),
    Op(Op, [u8; 3]),
    MulAdd {
        args: [u8; 3],
        minus_product: bool,
        minus_addend: bool,
    },
    /// An operation by its function, once it is known.
    Run(u8, [u8; 3]),
}

/// A value that is stored.
#[derive(Clone, Copy, Debug)]
struct Stored {
    value: u8,
    target: BufferId,
    at: u32,
    source: Option<TermId>,
}

/// Instructions for one position, and what they store, in this order.
#[derive(Debug)]
pub(crate) struct Scalars {
    instrs: Box<[Short]>,
    dtypes: Box<[Dtype]>,
    stores: Box<[Stored]>,
    /// Numbers, as bits of their types.
    numbers: Box<[u64]>,
    /// The functions of operations.
    codes: Box<[Code]>,
}

/// Room for the value of an instruction: a vector, of which the first lane counts.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Slot([u64; 8]);

impl Scalars {
    /// A nest of one position, if it is short and reads and stores at known places only.
    pub(crate) fn pack(nest: &Nest) -> Option<Scalars> {
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
            Some(Stored { value: value.0 as u8, target, at, source })
        };
        let Write::Store(at) = &nest.write else { return None };
        let also = nest.also.iter().map(|a| stored(a.value, a.target, &a.at, a.source));
        let last = stored(nest.value, nest.target, at, nest.source);
        Some(Scalars {
            instrs: nest.instrs.iter().map(short).collect::<Option<_>>()?,
            numbers: numbers.into(),
            dtypes: nest.dtypes.as_slice().into(),
            stores: also.chain([last]).collect::<Option<_>>()?,
            codes: Box::default(),
        })
    }

    /// The nest that was packed, if the functions of operations are not looked up yet.
    fn unpack(&self) -> Option<Nest> {
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
            Short::Run(..) => None,
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

    /// Leaves out what is stored in buffers for which `keep` does not hold, and makes it ready to run:
    /// products and sums are one operation where a kernel has them so. `in_order` keeps them apart.
    pub(crate) fn finish(&mut self, in_order: bool, keep: impl Fn(BufferId) -> bool) {
        let Some(mut nest) = self.unpack() else { return };
        nest.also.retain(|also| keep(also.target));
        if !in_order {
            fuse_products(&mut nest, &[0; MAX_PACKED], 0);
        }
        let Some(mut packed) = Scalars::pack(&nest.without_dead()) else { return };
        // Each function once.
        let mut keys: Vec<Key> = Vec::new();
        let mut codes: Vec<Code> = Vec::new();
        for (n, short) in packed.instrs.iter_mut().enumerate() {
            let (key, args) = match *short {
                Short::Op(op, args) => {
                    let types = args[..op.arity()].iter().map(|&v| packed.dtypes[usize::from(v)]);
                    (Key::Op(op, types.collect()), args)
                }
                Short::MulAdd { args, minus_product, minus_addend } => {
                    (Key::MulAdd(packed.dtypes[n], minus_product, minus_addend), args)
                }
                Short::Const(_) | Short::Load(..) | Short::Run(..) => continue,
            };
            let code = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                codes.push(key.code());
                keys.push(key);
                codes.len() - 1
            });
            *short = Short::Run(code as u8, args);
        }
        packed.codes = codes.into();
        *self = packed;
    }

    /// The buffers that it touches, those that it writes first.
    pub(crate) fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.stores.iter().for_each(|stored| f(stored.target));
        for short in &self.instrs {
            if let Short::Load(buffer, _) = short {
                f(*buffer);
            }
        }
    }

    /// The same, to be exchanged for others.
    pub(crate) fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        self.stores.iter_mut().for_each(|stored| f(&mut stored.target));
        for short in &mut self.instrs {
            if let Short::Load(buffer, _) = short {
                f(buffer);
            }
        }
    }

    /// The buffers that it writes.
    pub(crate) fn for_each_written(&self, f: &mut dyn FnMut(BufferId)) {
        self.stores.iter().for_each(|stored| f(stored.target));
    }

    /// The term that it stores in a buffer, if it is known.
    pub(crate) fn source(&self, b: BufferId) -> Option<TermId> {
        self.stores.iter().find(|stored| stored.target == b).and_then(|stored| stored.source)
    }

    /// How many instructions there are.
    pub(crate) fn len(&self) -> usize {
        self.instrs.len()
    }

    /// What it counts for where the limits of a run are looked at.
    pub(crate) fn work(&self) -> usize {
        self.instrs.len() * WORK
    }

    /// Runs it. The buffers of the frame are those that it was planned for.
    pub(crate) fn run(&self, frame: &Frame) {
        let mut slots = [Slot([0; 8]); MAX_PACKED];
        let first: *mut u8 = slots.as_mut_ptr().cast();
        // SAFETY: there is a slot for each position of an instruction.
        let slot = |v: usize| unsafe { first.add(v * size_of::<Slot>()) };
        for (n, short) in self.instrs.iter().enumerate() {
            let (to, size) = (slot(n), self.dtypes[n].size());
            match *short {
                // SAFETY: a slot holds an element of any type.
                Short::Const(at) => unsafe {
                    tile::put(self.dtypes[n], to, self.numbers[usize::from(at)]);
                },
                Short::Load(buffer, at) => {
                    let Some(from) = frame.element(buffer, i64::from(at), size) else {
                        debug_assert!(false, "a load outside its buffer");
                        continue;
                    };
                    // SAFETY: an element of the buffer, and a slot.
                    unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), to, size) };
                }
                Short::Run(code, args) => {
                    let [a, b, c] = args.map(|v| slot(usize::from(v)).cast_const());
                    // SAFETY: operands are slots of the types that the code was chosen for.
                    unsafe { tile::run(self.codes[usize::from(code)], to, a, b, c, 1) };
                }
                Short::Op(..) | Short::MulAdd { .. } => {
                    debug_assert!(false, "an operation without its function");
                }
            }
        }
        for &Stored { value, target, at, .. } in &self.stores {
            let size = self.dtypes[usize::from(value)].size();
            let Some(to) = frame.element(target, i64::from(at), size) else {
                debug_assert!(false, "a store outside its buffer");
                continue;
            };
            // SAFETY: a slot, and an element of the buffer.
            unsafe {
                std::ptr::copy_nonoverlapping(slot(usize::from(value)).cast_const(), to, size);
            }
        }
    }
}

/// What the function of an operation is chosen by.
#[derive(PartialEq)]
enum Key {
    Op(Op, SmallVec<[Dtype; 3]>),
    MulAdd(Dtype, bool, bool),
}

impl Key {
    fn code(&self) -> Code {
        match self {
            Key::Op(op, types) => code_of(*op, types),
            Key::MulAdd(dtype, minus_product, minus_addend) => {
                tile::mul_add(*dtype, *minus_product, *minus_addend)
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
        assert!(size_of::<Short>() <= 12 && size_of::<Stored>() <= 16);
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
        let mut packed = Scalars::pack(&nest).unwrap();
        assert_eq!(format!("{:?}", packed.unpack().unwrap()), format!("{nest:?}"));
        // The product is stored, so it is an operation of its own; unless nobody reads it.
        packed.finish(false, |_| true);
        assert_eq!((packed.len(), packed.codes.len(), packed.stores.len()), (4, 2, 2));
        let mut alone = Scalars::pack(&nest).unwrap();
        alone.finish(false, |_| false);
        assert_eq!((alone.len(), alone.codes.len(), alone.stores.len()), (3, 1, 1));
        nest.instrs[0] = Instr::Affine(Affine::constant(1, 0));
        assert!(Scalars::pack(&nest).is_none());
    }
}

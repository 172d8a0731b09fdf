//! Straight code over single elements: packed operations with their functions.
//!
//! What an instruction computes is what the kernel of the same nest computes, to the last bit.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{BufferId, MAX_PACKED, Packed, PackedStore, Short, Touches};
use cotan_schedule::fuse_products;
use smallvec::SmallVec;

use super::code_of;
use super::exec::Frame;
use super::tile::{self, Code};

/// What an instruction counts for where the limits of a run are looked at, in additions.
const WORK: usize = 16;

/// Packed operations, ready to run.
#[derive(Debug)]
pub(crate) struct Scalars {
    pub packed: Packed,
    /// The functions of operations, each once.
    codes: Box<[Code]>,
    /// Of each instruction, which of them it is; 0 if it is no operation.
    code: Box<[u8]>,
}

/// Room for the value of an instruction: a vector, of which the first lane counts.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct LaneSlot([u64; 8]);

impl Scalars {
    /// Packed operations with their functions: products and sums are one operation where a kernel
    /// has them so. `in_order` keeps them apart.
    pub(crate) fn new(packed: Packed, in_order: bool) -> Scalars {
        let ready = packed.unpack().and_then(|mut nest| {
            if !in_order {
                fuse_products(&mut nest, &[0; MAX_PACKED], 0);
            }
            Packed::pack(&nest.without_dead())
        });
        let packed = ready.unwrap_or(packed);
        let mut keys: Vec<CodeKey> = Vec::new();
        let code = packed.instrs().iter().zip(packed.dtypes()).map(|(short, &dtype)| {
            let key = match *short {
                Short::Op(op, args) => {
                    let types = args[..op.arity()].iter().map(|&v| packed.dtypes()[usize::from(v)]);
                    CodeKey::Op(op, types.collect())
                }
                Short::MulAdd { minus_product, minus_addend, .. } => {
                    CodeKey::MulAdd(dtype, minus_product, minus_addend)
                }
                Short::Const(_) | Short::Load(..) => return 0,
            };
            let at = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            at as u8
        });
        let code = code.collect();
        Scalars { codes: keys.iter().map(CodeKey::code).collect(), code, packed }
    }

    /// What it counts for where the limits of a run are looked at.
    pub(crate) fn work(&self) -> usize {
        self.packed.instrs().len() * WORK
    }

    /// Runs it. The buffers of the frame are those that it was planned for.
    pub(crate) fn run(&self, frame: &Frame) {
        let mut slots = [LaneSlot([0; 8]); MAX_PACKED];
        let first: *mut u8 = slots.as_mut_ptr().cast();
        // SAFETY: there is a slot for each position of an instruction.
        let slot = |v: usize| unsafe { first.add(v * size_of::<LaneSlot>()) };
        let dtypes = self.packed.dtypes();
        for (n, short) in self.packed.instrs().iter().enumerate() {
            let (to, size) = (slot(n), dtypes[n].size());
            match *short {
                // SAFETY: a slot holds an element of any type.
                Short::Const(at) => unsafe {
                    tile::put(dtypes[n], to, self.packed.number(at));
                },
                Short::Load(buffer, at) => {
                    let Some(from) = frame.element(buffer, i64::from(at), size) else {
                        debug_assert!(false, "a load outside its buffer");
                        continue;
                    };
                    // SAFETY: an element of the buffer, and a slot.
                    unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), to, size) };
                }
                Short::Op(_, args) | Short::MulAdd { args, .. } => {
                    let [a, b, c] = args.map(|v| slot(usize::from(v)).cast_const());
                    // SAFETY: operands are slots of the types that the code was chosen for.
                    unsafe { tile::run(self.codes[usize::from(self.code[n])], to, a, b, c, 1) };
                }
            }
        }
        for &PackedStore { value, target, at, .. } in self.packed.stores() {
            let size = dtypes[usize::from(value)].size();
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
enum CodeKey {
    Op(Op, SmallVec<[Dtype; 3]>),
    MulAdd(Dtype, bool, bool),
}

impl CodeKey {
    fn code(&self) -> Code {
        match self {
            CodeKey::Op(op, types) => code_of(*op, types),
            CodeKey::MulAdd(dtype, minus_product, minus_addend) => {
                tile::mul_add(*dtype, *minus_product, *minus_addend)
            }
        }
    }
}

impl Touches for Scalars {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.packed.for_each_buffer(f);
    }
}

#[cfg(test)]
mod tests {
    use cotan_nest::{Affine, Also, Instr, Nest, Val, Write};

    use super::*;

    /// A product that somebody else reads is an operation of its own; one that only a sum needs is
    /// one with it.
    #[test]
    fn products_and_sums_are_one_operation() {
        let load =
            Instr::Load { buffer: BufferId(3), at: Affine::constant(2, 0), checks: Vec::new() };
        let op = |op: Op, args: &[u32]| Instr::Op(op, args.iter().map(|&v| Val(v)).collect());
        let also =
            Also { value: Val(2), target: BufferId(7), at: Affine::constant(4, 0), source: None };
        let nest = Nest {
            extents: Vec::new(),
            reduced: 0,
            instrs: vec![
                load,
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
        let counts = |keep: bool, in_order: bool| {
            let mut packed = Packed::pack(&nest).unwrap();
            packed.retain_stores(|_| keep);
            let ready = Scalars::new(packed, in_order);
            (ready.packed.instrs().len(), ready.codes.len(), ready.packed.stores().len())
        };
        assert_eq!(counts(true, false), (4, 2, 2));
        assert_eq!(counts(false, false), (3, 1, 1));
        assert_eq!(counts(false, true), (4, 2, 1));
    }
}

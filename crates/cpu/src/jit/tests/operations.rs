//! Every operation on every type.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Instr, Nest, Val, Write};
use cotan_testkit::Rng;
use smallvec::SmallVec;

use super::{Buffers, compare};
use crate::vm::Kernel;

/// `op` of arrays of `n` elements, read and written with a stride.
fn nest(op: Op, typing: &[Dtype], n: usize, stride: i64, buffers: &mut Buffers) -> Nest {
    let mut rng = Rng::new(op as u64 * 1000 + n as u64);
    let length = n * stride.unsigned_abs() as usize;
    let at = |stride: i64| Affine {
        constant: if stride < 0 { (length - 1) as i64 } else { 0 },
        coeffs: SmallVec::from_elem(stride, 1),
    };
    let mut instrs: Vec<Instr> = Vec::new();
    let mut dtypes: Vec<Dtype> = typing.to_vec();
    for &dtype in typing {
        let buffer = buffers.add(dtype, length, &mut rng);
        instrs.push(Instr::Load { buffer, at: at(stride), checks: Vec::new() });
    }
    let args = (0..typing.len()).map(|k| Val(k as u32)).collect();
    instrs.push(Instr::Op(op, args));
    let dtype = op.result_dtype(typing).unwrap();
    dtypes.push(dtype);
    let target = buffers.add(dtype, length, &mut rng);
    let value = Val(instrs.len() as u32 - 1);
    let (extents, write) = (vec![n], Write::Store(at(stride)));
    Nest {
        extents,
        reduced: 0,
        instrs,
        dtypes,
        value,
        target,
        write,
        also: Vec::new(),
        source: None,
    }
}

#[test]
fn every_operation_on_every_type() {
    for op in Op::all() {
        for typing in op.typings() {
            for (n, stride) in [(1, 1), (3, 1), (70, 1), (301, 1), (37, 3), (37, -1), (8, 2)] {
                let mut buffers = Buffers::new();
                let nest = nest(op, &typing, n, stride, &mut buffers);
                let kernel = Kernel::of_nest(nest, false, None);
                let result = compare(&kernel, &buffers, &[n]);
                let result = result.unwrap_or(Err("no code".to_owned()));
                assert!(result.is_ok(), "{op} {typing:?} of {n} by {stride}: {result:?}");
            }
        }
    }
}

/// Known exponents are multiplied out.
#[test]
fn powers() {
    for dtype in [Dtype::F64, Dtype::F32] {
        for exponent in [-64, -3, -1, 0, 1, 2, 3, 7, 64, 65, -65] {
            let mut buffers = Buffers::new();
            let mut nest = nest(Op::Powi, &[dtype, Dtype::I64], 70, 1, &mut buffers);
            nest.instrs[1] = Instr::Affine(Affine::constant(exponent, 1));
            let kernel = Kernel::of_nest(nest, false, None);
            let result = compare(&kernel, &buffers, &[70]);
            assert_eq!(result, Some(Ok(())), "{dtype:?} ** {exponent}");
        }
    }
}

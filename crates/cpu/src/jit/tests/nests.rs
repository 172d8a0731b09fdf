//! What the code itself must be like.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Instr, Nest, Val, Write};
use cotan_testkit::{Rng, for_each_case};
use smallvec::smallvec;

use super::random::{Maker, Size};
use super::{Buffers, compare};
use crate::jit::isa::VectorIsa;
use crate::jit::{Arranged, arrange, emit};
use crate::vm::Kernel;

/// Machines without AVX-512 must not meet an instruction of it, nor a register.
#[test]
fn no_instruction_is_from_a_larger_set() {
    let size = Size { loads: 10, operations: 40, only: None };
    for_each_case("jit.sets", 300, |rng: &mut Rng| {
        let (nest, _) = Maker::new(rng).nest(size);
        let kernel = Kernel::of_nest(nest, false, None);
        let Some(Arranged { lir, codes, homes, .. }) = arrange(&kernel, VectorIsa::Avx2, None)
        else {
            return Ok(());
        };
        let functions = vec![0u64; 2 * codes.len()];
        let Some(asm) = emit::emit(&lir, &homes, &functions) else { return Ok(()) };
        for instruction in &asm.instructions {
            let text = format!("{:?}", instruction.code());
            let large = (0..instruction.op_count()).any(|n| {
                let name = format!("{:?}", instruction.op_register(n));
                name.starts_with("ZMM") || name.starts_with('K')
            });
            if text.starts_with("EVEX") || text.starts_with("VEX_K") || large {
                return Err(text);
            }
        }
        Ok(())
    });
}

/// Small dimensions often get no loop of their own, for ranges of others and for all.
#[test]
fn few_positions_are_done_side_by_side() {
    let (jammed, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let size = Size { loads: 4, operations: 6, only: Some(Dtype::F64) };
    for_each_case("jit.jam", 3000, |rng: &mut Rng| {
        seen.set(seen.get() + 1);
        let (nest, buffers) = Maker::new(rng).nest(size);
        let block =
            if nest.extents.is_empty() { None } else { Some(rng.below(nest.extents.len())) };
        let shown = format!("{nest:?}");
        let kernel = Kernel::of_nest(nest, rng.chance(30), block);
        let Some(arranged) = arrange(&kernel, VectorIsa::Avx2, None) else { return Ok(()) };
        if arranged.arrangement.jam.is_none() {
            return Ok(());
        }
        jammed.set(jammed.get() + 1);
        let all = kernel.positions();
        let ends = [rng.below(all + 1), all];
        compare(&kernel, &buffers, &ends).unwrap_or(Ok(())).map_err(|e| format!("{e}\n{shown}"))
    });
    assert!(jammed.get() * 100 >= seen.get(), "{} of {} only", jammed.get(), seen.get());
}

/// Elements that lie apart, all at different distances, are all needed at the end: neither they
/// nor their distances fit the registers.
#[test]
fn more_strided_reads_than_registers() {
    for dtype in [Dtype::F32, Dtype::F64] {
        for_each_case("jit.strided", 20, |rng: &mut Rng| {
            let (extent, count) = (1 + rng.below(70), 24 + rng.below(24));
            let mut buffers = Buffers::new();
            let mut instrs = Vec::new();
            for k in 0..count {
                let step = k as i64 % 7 + 2;
                let n = step as usize * (extent - 1) + 1;
                let at = Affine { constant: 0, coeffs: smallvec![step] };
                let buffer = buffers.add(dtype, n, rng);
                instrs.push(Instr::Load { buffer, at, checks: Vec::new() });
            }
            // From the last to the first.
            let mut value = Val(count as u32 - 1);
            for k in (0..count as u32 - 1).rev() {
                instrs.push(Instr::Op(Op::Add, smallvec![value, Val(k)]));
                value = Val(instrs.len() as u32 - 1);
            }
            let target = buffers.add(dtype, extent, rng);
            let nest = Nest {
                extents: vec![extent],
                reduced: 0,
                dtypes: vec![dtype; instrs.len()],
                instrs,
                value,
                target,
                write: Write::Store(Affine::index(0, 1)),
                also: Vec::new(),
                source: None,
            };
            let kernel = Kernel::of_nest(nest, true, None);
            compare(&kernel, &buffers, &[extent]).unwrap_or(Err("no code".into()))
        });
    }
}

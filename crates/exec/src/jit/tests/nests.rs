//! What the code itself must be like.

use cotan_testkit::{Rng, for_each_case};

use super::random::{Maker, Size};
use crate::jit::isa::Isa;
use crate::jit::{arrange, emit};
use crate::vm::Kernel;

/// Machines without AVX-512 must not meet an instruction of it, nor a register.
#[test]
fn no_instruction_is_from_a_larger_set() {
    let size = Size { loads: 10, operations: 40, wide_only: false };
    for_each_case("jit.sets", 300, |rng: &mut Rng| {
        let (nest, _) = Maker::new(rng).nest(size);
        let kernel = Kernel::new(nest, false, None);
        let Some((lir, codes, homes)) = arrange(kernel.order(), Isa::Avx2) else { return Ok(()) };
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

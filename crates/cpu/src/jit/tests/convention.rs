//! Kernels are functions of System V's convention on every system; code for Windows may call them.
//!
//! What calls a kernel is compiled code that knows this, and so is what a kernel calls
//! ([`run_lanes`](super::super::run_lanes)): where the system's own convention is another one, the
//! compiler saves what a kernel may change. Rust has both conventions on either system, so that
//! is tried here: [`call`] is what all comparisons of kernels run by.

use cotan_testkit::{Rng, for_each_case};
use iced_x86::Register;

use super::random::{Maker, Size};
use crate::jit::isa::VectorIsa;
use crate::jit::{Arranged, Entry, arrange, emit};
use crate::vm::Kernel;

/// The registers that a function for Windows leaves as they are: RBX, RBP, RDI, RSI and R12 to R15,
/// then XMM6 to XMM15. Those of System V are among them.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    general: [u64; 8],
    vectors: [[u64; 2]; 10],
}

/// The function for Windows that calls a kernel.
unsafe extern "win64" fn from_windows(entry: Entry, buffers: *const *mut u8, lo: usize, hi: usize) {
    // SAFETY: by the contract of the kernel.
    unsafe { entry(buffers, lo, hi) };
}

/// Where to go, with which arguments.
#[repr(C)]
struct Call {
    function: unsafe extern "win64" fn(Entry, *const *mut u8, usize, usize),
    entry: Entry,
    buffers: *const *mut u8,
    lo: usize,
    hi: usize,
}

/// Calls a function with what is in `before` in registers, and writes what they are then to
/// `after`.
///
/// # Safety
/// As the function that is called.
#[unsafe(naked)]
unsafe extern "sysv64" fn watched(call: *const Call, before: *const Kept, after: *mut Kept) {
    std::arch::naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // The seventh push aligns the stack.
        "push rdx",
        "mov rax, rdi",
        "mov rbx, [rsi]",
        "mov rbp, [rsi + 8]",
        "mov rdi, [rsi + 16]",
        "mov r12, [rsi + 32]",
        "mov r13, [rsi + 40]",
        "mov r14, [rsi + 48]",
        "mov r15, [rsi + 56]",
        "movups xmm6, [rsi + 64]",
        "movups xmm7, [rsi + 80]",
        "movups xmm8, [rsi + 96]",
        "movups xmm9, [rsi + 112]",
        "movups xmm10, [rsi + 128]",
        "movups xmm11, [rsi + 144]",
        "movups xmm12, [rsi + 160]",
        "movups xmm13, [rsi + 176]",
        "movups xmm14, [rsi + 192]",
        "movups xmm15, [rsi + 208]",
        "mov rsi, [rsi + 24]",
        "mov rcx, [rax + 8]",
        "mov rdx, [rax + 16]",
        "mov r8, [rax + 24]",
        "mov r9, [rax + 32]",
        // Room that a function for Windows may use.
        "sub rsp, 32",
        "call qword ptr [rax]",
        "add rsp, 32",
        "pop rax",
        "mov [rax], rbx",
        "mov [rax + 8], rbp",
        "mov [rax + 16], rdi",
        "mov [rax + 24], rsi",
        "mov [rax + 32], r12",
        "mov [rax + 40], r13",
        "mov [rax + 48], r14",
        "mov [rax + 56], r15",
        "movups [rax + 64], xmm6",
        "movups [rax + 80], xmm7",
        "movups [rax + 96], xmm8",
        "movups [rax + 112], xmm9",
        "movups [rax + 128], xmm10",
        "movups [rax + 144], xmm11",
        "movups [rax + 160], xmm12",
        "movups [rax + 176], xmm13",
        "movups [rax + 192], xmm14",
        "movups [rax + 208], xmm15",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

fn marks() -> Kept {
    let mark = |n: usize| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(n as u64 + 1);
    Kept {
        general: std::array::from_fn(mark),
        vectors: std::array::from_fn(|n| [mark(2 * n + 8), mark(2 * n + 9)]),
    }
}

/// Runs a kernel from code for Windows, whose registers must survive it.
///
/// # Safety
/// As the kernel.
pub(super) unsafe fn call(entry: Entry, buffers: &[*mut u8], lo: usize, hi: usize) {
    let call = Call { function: from_windows, entry, buffers: buffers.as_ptr(), lo, hi };
    let before = marks();
    let mut after = Kept { general: [0; 8], vectors: [[0; 2]; 10] };
    // SAFETY: by the contract.
    unsafe { watched(&raw const call, &raw const before, &raw mut after) };
    assert_eq!(after, before, "registers that have to survive a call");
}

/// A function that changes all that a kernel may change.
#[unsafe(naked)]
unsafe extern "sysv64" fn rude(_: *const *mut u8, _: usize, _: usize) {
    std::arch::naked_asm!(
        "xor edi, edi",
        "xor esi, esi",
        "xorps xmm6, xmm6",
        "xorps xmm7, xmm7",
        "xorps xmm8, xmm8",
        "xorps xmm9, xmm9",
        "xorps xmm10, xmm10",
        "xorps xmm11, xmm11",
        "xorps xmm12, xmm12",
        "xorps xmm13, xmm13",
        "xorps xmm14, xmm14",
        "xorps xmm15, xmm15",
        "ret",
    )
}

#[test]
fn callers_for_windows_save_what_kernels_change() {
    // SAFETY: the function uses no memory.
    unsafe { call(rude, &[], 0, 1) };
}

/// A function for Windows that does not keep RDI and XMM9.
#[unsafe(naked)]
unsafe extern "win64" fn broken(_: Entry, _: *const *mut u8, _: usize, _: usize) {
    std::arch::naked_asm!("xor edi, edi", "xorps xmm9, xmm9", "ret")
}

#[test]
fn registers_that_do_not_survive_are_seen() {
    let call = Call { function: broken, entry: rude, buffers: std::ptr::null(), lo: 0, hi: 1 };
    let mut wanted = marks();
    let mut after = wanted.clone();
    // SAFETY: the function uses no memory.
    unsafe { watched(&raw const call, &raw const wanted, &raw mut after) };
    wanted.general[2] = 0;
    wanted.vectors[3] = [0; 2];
    assert_eq!(after, wanted);
}

/// On Windows what lies below the stack pointer may change at any moment.
#[test]
fn nothing_lies_below_the_stack_pointer() {
    let size = Size { loads: 20, operations: 60, only: None };
    for_each_case("jit.below", 200, |rng: &mut Rng| {
        let (nest, _) = Maker::new(rng).nest(size);
        let kernel = Kernel::of_nest(nest, false, None);
        for isa in [VectorIsa::Avx2, VectorIsa::Avx512] {
            let Some(Arranged { lir, codes, homes, .. }) = arrange(&kernel, isa, None) else {
                return Ok(());
            };
            let functions = vec![0u64; 2 * codes.len()];
            let Some(asm) = emit::emit(&lir, &homes, &functions) else { return Ok(()) };
            let below = asm.instructions.iter().find(|instruction| {
                instruction.memory_base() == Register::RSP
                    && (instruction.memory_displacement64() as i64) < 0
            });
            if let Some(instruction) = below {
                return Err(format!("{instruction:?}"));
            }
        }
        Ok(())
    });
}

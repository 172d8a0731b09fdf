//! Bytes of instructions, with jumps and constants filled in at the end.

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// The last operand of an instruction: most take a register or memory there.
#[derive(Clone, Copy, Debug)]
pub(super) enum InsOperand {
    Register(Register),
    Memory(MemoryOperand),
    /// So many bytes into the constants.
    Constant(usize),
}

/// A mask register over an instruction, and whether other lanes are zeros or stay as they are.
#[derive(Clone, Copy)]
struct Masked {
    by: Register,
    zeros: bool,
}

/// Adds an instruction whose last operand in memory is `$operand`.
macro_rules! with_last {
    ($asm:ident, $operand:expr, $mask:expr, |$x:ident| $made:expr) => {
        match $operand.into() {
            InsOperand::Register($x) => $asm.add($made, $mask),
            InsOperand::Memory($x) => $asm.add($made, $mask),
            InsOperand::Constant(at) => {
                let $x = placeholder();
                $asm.add($made, $mask);
                $asm.refer(at);
            }
        }
    };
}

/// Code in the making. The first error is kept until the end.
pub(super) struct Asm {
    encoder: Encoder,
    position: usize,
    /// Where the last instruction begins.
    last_begin: usize,
    labels: Vec<Option<usize>>,
    /// Where a distance to a label is to be written, and what it counts from.
    jumps: Vec<(usize, usize, Label)>,
    /// The same for constants.
    constants: Vec<(usize, usize, usize)>,
    failed: bool,
    /// The instructions, for tests to look at.
    #[cfg(test)]
    pub(super) instructions: Vec<Instruction>,
}

impl Asm {
    pub(super) fn new() -> Asm {
        Asm {
            encoder: Encoder::new(64),
            position: 0,
            last_begin: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            constants: Vec::new(),
            failed: false,
            #[cfg(test)]
            instructions: Vec::new(),
        }
    }

    /// Something in the code has no encoding.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    fn put(&mut self, instruction: &Instruction) {
        #[cfg(test)]
        self.instructions.push(*instruction);
        match self.encoder.encode(instruction, self.position as u64) {
            Ok(length) => {
                self.last_begin = self.position;
                self.position += length;
            }
            Err(_) => self.failed = true,
        }
    }

    fn add(&mut self, made: Result<Instruction, IcedError>, mask: Option<Masked>) {
        let Ok(mut instruction) = made else {
            self.failed = true;
            return;
        };
        if let Some(mask) = mask {
            instruction.set_op_mask(mask.by);
            instruction.set_zeroing_masking(mask.zeros);
        }
        self.put(&instruction);
    }

    pub(super) fn op0(&mut self, code: Code) {
        self.put(&Instruction::with(code));
    }

    pub(super) fn op1(&mut self, code: Code, a: Register) {
        self.add(Instruction::with1(code, a), None);
    }

    pub(super) fn op2(&mut self, code: Code, a: Register, b: impl Into<InsOperand>) {
        with_last!(self, b, None, |b| Instruction::with2(code, a, b));
    }

    /// An instruction under a mask register, with zeros elsewhere.
    pub(super) fn op2_masked(
        &mut self,
        code: Code,
        a: Register,
        b: impl Into<InsOperand>,
        k: Register,
    ) {
        let mask = Some(Masked { by: k, zeros: true });
        with_last!(self, b, mask, |b| Instruction::with2(code, a, b));
    }

    pub(super) fn op2_imm(&mut self, code: Code, a: Register, b: impl Into<InsOperand>, imm: i32) {
        with_last!(self, b, None, |b| Instruction::with3(code, a, b, imm));
    }

    pub(super) fn op3(&mut self, code: Code, a: Register, b: Register, c: impl Into<InsOperand>) {
        with_last!(self, c, None, |c| Instruction::with3(code, a, b, c));
    }

    /// An instruction that a mask register chooses by.
    pub(super) fn op3_masked(
        &mut self,
        code: Code,
        a: Register,
        b: Register,
        c: impl Into<InsOperand>,
        k: Register,
    ) {
        let mask = Some(Masked { by: k, zeros: false });
        with_last!(self, c, mask, |c| Instruction::with3(code, a, b, c));
    }

    pub(super) fn op3_imm(
        &mut self,
        code: Code,
        a: Register,
        b: Register,
        c: impl Into<InsOperand>,
        imm: i32,
    ) {
        with_last!(self, c, None, |c| Instruction::with4(code, a, b, c, imm));
    }

    pub(super) fn op4(
        &mut self,
        code: Code,
        a: Register,
        b: Register,
        c: impl Into<InsOperand>,
        d: Register,
    ) {
        with_last!(self, c, None, |c| Instruction::with4(code, a, b, c, d));
    }

    /// A store, under a mask register if there is one.
    pub(super) fn store(
        &mut self,
        code: Code,
        to: MemoryOperand,
        from: Register,
        mask: Option<Register>,
    ) {
        let mask = mask.map(|by| Masked { by, zeros: false });
        self.add(Instruction::with2(code, to, from), mask);
    }

    /// A store under a mask in a vector register.
    pub(super) fn store_masked(
        &mut self,
        code: Code,
        to: MemoryOperand,
        mask: Register,
        from: Register,
    ) {
        self.add(Instruction::with3(code, to, mask, from), None);
    }

    pub(super) fn imm(&mut self, code: Code, a: Register, imm: i64) {
        match code {
            Code::Mov_r64_imm64 => self.add(Instruction::with2(code, a, imm as u64), None),
            _ => match i32::try_from(imm) {
                Ok(imm) => self.add(Instruction::with2(code, a, imm), None),
                Err(_) => self.failed = true,
            },
        }
    }

    /// A shift of a general register.
    pub(super) fn shift(&mut self, code: Code, a: Register, imm: i32) {
        self.add(Instruction::with2(code, a, imm), None);
    }

    /// A gather under a mask in a vector register, which it clears.
    pub(super) fn gather(&mut self, code: Code, a: Register, from: MemoryOperand, mask: Register) {
        self.add(Instruction::with3(code, a, from, mask), None);
    }

    /// A gather under a mask register, which it clears.
    pub(super) fn gather512(&mut self, code: Code, a: Register, from: MemoryOperand, k: Register) {
        self.add(Instruction::with2(code, a, from), Some(Masked { by: k, zeros: false }));
    }

    pub(super) fn memory_imm(&mut self, code: Code, a: MemoryOperand, imm: i32) {
        self.add(Instruction::with2(code, a, imm), None);
    }

    pub(super) fn memory1(&mut self, code: Code, a: MemoryOperand) {
        self.add(Instruction::with1(code, a), None);
    }

    /// The last instruction reads a constant.
    fn refer(&mut self, at: usize) {
        let offsets = self.encoder.get_constant_offsets();
        if !offsets.has_displacement() || offsets.displacement_size() != 4 {
            self.failed = true;
            return;
        }
        // The distance counts from the end of the instruction; immediates come after it.
        let begin = self.last_begin;
        self.constants.push((begin + offsets.displacement_offset(), self.position, at));
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.position);
    }

    pub(super) fn jump(&mut self, code: Code, to: Label) {
        let here = self.position as u64;
        self.add(Instruction::with_branch(code, here), None);
        self.jumps.push((self.position - 4, self.position, to));
    }

    /// The code, with `pool` after it; `None` if anything went wrong.
    pub(super) fn finish(mut self, pool: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = self.encoder.take_buffer();
        if self.failed || bytes.len() != self.position {
            return None;
        }
        bytes.resize(bytes.len().next_multiple_of(64), 0xcc);
        let begin = bytes.len();
        let labels = self.labels;
        let jumps = self
            .jumps
            .iter()
            .map(|&(at, from, label)| labels[label.0].map(|to| (at, to as i64 - from as i64)));
        let constants = self
            .constants
            .iter()
            .map(|&(at, from, place)| Some((at, (begin + place) as i64 - from as i64)));
        let distances: Option<Vec<(usize, i64)>> = jumps.chain(constants).collect();
        for (at, distance) in distances? {
            let distance = i32::try_from(distance).ok()?;
            bytes.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
        }
        bytes.extend_from_slice(pool);
        Some(bytes)
    }
}

/// A constant before its place is known.
fn placeholder() -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RIP, 0)
}

impl From<Register> for InsOperand {
    fn from(r: Register) -> InsOperand {
        InsOperand::Register(r)
    }
}

impl From<MemoryOperand> for InsOperand {
    fn from(m: MemoryOperand) -> InsOperand {
        InsOperand::Memory(m)
    }
}

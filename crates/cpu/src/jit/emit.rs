//! From vector code to machine code: the frame, integers and loops.
//!
//! A function has the signature [`super::Entry`]. Its frame holds, from the stack pointer on: the
//! caller's stack pointer, the first index of the run, integers, values, room for lanes on their
//! way one by one, and room for registers during calls.

use iced_x86::Code::{self, *};
use iced_x86::{MemoryOperand, Register};

use super::alloc::{Home, Homes};
use super::asm::{Asm, Label};
use super::lir::{Address, END, Ins, Int, LANE, Lir, Trips, V};

/// General registers for integers. RBX is the lane index; RAX, RCX, RDX and R11 are for moments.
const GENERAL: [Register; 10] = [
    Register::R8,
    Register::R9,
    Register::R10,
    Register::RDI,
    Register::RSI,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
/// Those of them that a call may change.
pub(super) const LOST_IN_CALLS: [Register; 5] =
    [Register::R8, Register::R9, Register::R10, Register::RDI, Register::RSI];
const SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Bytes of one area for lanes on their way.
pub(super) const AREA: usize = 64;
/// How many there are.
const AREAS: usize = 6;
/// Frames larger than this have no code.
const LARGEST_FRAME: usize = 1 << 16;
const PAGE: usize = 1 << 12;

pub(super) struct Emitter<'a> {
    pub lir: &'a Lir,
    pub homes: &'a Homes,
    pub asm: Asm,
    /// The addresses of the tile functions that calls name.
    pub functions: &'a [u64],
    ints: Vec<IntHome>,
    labels: Vec<Option<(Label, Label)>>,
    /// Where values, areas and saved registers begin in the frame.
    values: usize,
    areas: usize,
    saves: usize,
    /// Calls that are rarely made, to be put behind the code: from where, back to where, which.
    pub rare: Vec<(Label, Label, usize)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum IntHome {
    Register(Register),
    Frame(usize),
}

/// Memory so many bytes from the stack pointer on.
pub(super) fn frame(at: usize) -> MemoryOperand {
    memory(Register::RSP, Register::None, 1, at as i64)
}

pub(super) fn memory(base: Register, index: Register, scale: u32, at: i64) -> MemoryOperand {
    let size = u32::from(at != 0);
    MemoryOperand::new(base, index, scale, at, size, false, Register::None)
}

/// The number of a vector register of any size.
pub(super) fn number(r: Register) -> u32 {
    let first = [Register::ZMM0, Register::YMM0, Register::XMM0].into_iter().find(|&f| r >= f);
    first.map_or(0, |first| r as u32 - first as u32)
}

/// The machine code of a kernel, with its constants behind; `None` if something has no encoding.
pub(super) fn emit(lir: &Lir, homes: &Homes, functions: &[u64]) -> Option<Asm> {
    let ints = place_ints(lir);
    let slots = 16 + 8 * ints.len();
    let values = slots.next_multiple_of(AREA);
    let areas = values + homes.frame;
    let saves = areas + AREAS * AREA;
    let calls = lir.code.iter().any(|ins| matches!(ins, Ins::Call(..) | Ins::Repair(..)));
    let all = lir.isa.registers() * lir.isa.bytes() + 8 * 8 + 8 * LOST_IN_CALLS.len();
    let size = saves + if calls { all } else { 0 };
    if size > LARGEST_FRAME {
        return None;
    }
    let labels = vec![None; lir.loops.len()];
    let mut e = Emitter {
        lir,
        homes,
        asm: Asm::new(),
        functions,
        ints,
        labels,
        values,
        areas,
        saves,
        rare: Vec::new(),
    };
    e.prologue(size.next_multiple_of(AREA));
    e.constants();
    for (n, ins) in lir.code.iter().enumerate() {
        e.instruction(n, ins);
    }
    e.epilogue();
    e.rare_calls();
    Some(e.asm)
}

/// The integers that are used most are in registers.
fn place_ints(lir: &Lir) -> Vec<IntHome> {
    let mut weight = vec![0f64; lir.ints.len()];
    let mut depth = 0i32;
    for ins in &lir.code {
        let often = 8f64.powi(depth.min(8));
        let mut used = |i: Int| weight[i.index()] += often;
        match ins {
            Ins::Enter(k) => {
                depth += 1;
                let inside = often * 8.0;
                let turns = &lir.loops[*k];
                turns.steps.iter().for_each(|s| weight[s.0.index()] += inside);
                match turns.trips {
                    Trips::Count(i, _) | Trips::Run(i) => weight[i.index()] += inside,
                    Trips::RunLanes { .. } | Trips::RunRest { .. } => {
                        weight[END.index()] += inside;
                    }
                    Trips::Lanes { .. } | Trips::Once => {}
                }
            }
            Ins::Leave(_) => depth -= 1,
            Ins::Splat(_, i, _) => used(*i),
            _ => {
                if let Some(address) = ins.address() {
                    used(address.base);
                }
            }
        }
    }
    let mut order: Vec<usize> = (1..lir.ints.len()).collect();
    order.sort_by(|&a, &b| weight[b].total_cmp(&weight[a]).then(a.cmp(&b)));
    let mut homes: Vec<IntHome> = (0..lir.ints.len()).map(|n| IntHome::Frame(16 + 8 * n)).collect();
    homes[LANE.index()] = IntHome::Register(Register::RBX);
    for (n, r) in order.into_iter().zip(GENERAL) {
        homes[n] = IntHome::Register(r);
    }
    homes
}

impl Ins {
    fn address(&self) -> Option<&Address> {
        match self {
            Ins::Load(_, at, _)
            | Ins::Broadcast(_, at)
            | Ins::Store(_, at, _)
            | Ins::StoreFirst(_, at)
            | Ins::LoadBools(_, at)
            | Ins::BroadcastBool(_, at)
            | Ins::StoreBools(_, at)
            | Ins::Gather(_, at, ..)
            | Ins::LoadLanes(_, _, at, ..)
            | Ins::StoreLanes(_, _, at, ..)
            | Ins::AddLanes(_, _, at, ..) => Some(at),
            _ => None,
        }
    }
}

impl Emitter<'_> {
    fn prologue(&mut self, size: usize) {
        for r in SAVED {
            self.asm.op1(Push_r64, r);
        }
        self.asm.op2(Mov_r64_rm64, Register::RAX, Register::RSP);
        // Every page is touched in order, so that the one that guards the stack is met.
        for _ in 0..size / PAGE {
            self.asm.imm(Sub_rm64_imm32, Register::RSP, PAGE as i64);
            self.asm.memory_imm(Or_rm64_imm8, frame(0), 0);
        }
        self.asm.imm(Sub_rm64_imm32, Register::RSP, (size % PAGE) as i64);
        self.asm.imm(And_rm64_imm8, Register::RSP, -64);
        self.asm.store(Mov_rm64_r64, frame(0), Register::RAX, None);
        self.asm.store(Mov_rm64_r64, frame(8), Register::RSI, None);
        self.asm.op2(Mov_r64_rm64, Register::R11, Register::RDI);
        self.set_int(END, Register::RDX);
        for n in 2..self.lir.ints.len() {
            let start = self.lir.ints[n];
            match start.buffer {
                Some(b) => {
                    let from = memory(Register::R11, Register::None, 1, i64::from(b) * 8);
                    self.asm.op2(Mov_r64_rm64, Register::RAX, from);
                    self.add_number(Register::RAX, start.offset, Register::RCX);
                }
                None => self.asm.imm(Mov_r64_imm64, Register::RAX, start.offset),
            }
            if start.per_first != 0 {
                self.asm.imm(Mov_r64_imm64, Register::RCX, start.per_first);
                self.asm.op2(Imul_r64_rm64, Register::RCX, frame(8));
                self.asm.op2(Add_r64_rm64, Register::RAX, Register::RCX);
            }
            self.set_int(Int(n as u32), Register::RAX);
        }
    }

    fn epilogue(&mut self) {
        self.asm.op0(VEX_Vzeroupper);
        self.asm.op2(Mov_r64_rm64, Register::RSP, frame(0));
        for r in SAVED.into_iter().rev() {
            self.asm.op1(Pop_r64, r);
        }
        self.asm.op0(Retnq);
    }

    // ---- integers -----------------------------------------------------------------------------

    fn set_int(&mut self, i: Int, from: Register) {
        match self.ints[i.index()] {
            IntHome::Register(r) => self.asm.op2(Mov_r64_rm64, r, from),
            IntHome::Frame(at) => self.asm.store(Mov_rm64_r64, frame(at), from, None),
        }
    }

    /// An integer as an operand.
    fn int(&self, i: Int) -> super::asm::InsOperand {
        match self.ints[i.index()] {
            IntHome::Register(r) => r.into(),
            IntHome::Frame(at) => frame(at).into(),
        }
    }

    /// An integer in a register: its own, or the given one.
    pub(super) fn int_in(&mut self, i: Int, otherwise: Register) -> Register {
        match self.ints[i.index()] {
            IntHome::Register(r) => r,
            IntHome::Frame(at) => {
                self.asm.op2(Mov_r64_rm64, otherwise, frame(at));
                otherwise
            }
        }
    }

    /// Adds a number to a register, by way of another if it is large.
    fn add_number(&mut self, to: Register, number: i64, by: Register) {
        match i32::try_from(number) {
            Ok(0) => {}
            Ok(n) => self.asm.imm(Add_rm64_imm32, to, i64::from(n)),
            Err(_) => {
                self.asm.imm(Mov_r64_imm64, by, number);
                self.asm.op2(Add_r64_rm64, to, by);
            }
        }
    }

    fn step_int(&mut self, i: Int, by: i64) {
        match (self.ints[i.index()], i32::try_from(by)) {
            (_, Ok(0)) => {}
            (IntHome::Register(r), _) => self.add_number(r, by, Register::RAX),
            (IntHome::Frame(at), Ok(by)) => self.asm.memory_imm(Add_rm64_imm32, frame(at), by),
            (IntHome::Frame(at), Err(_)) => {
                self.asm.imm(Mov_r64_imm64, Register::RAX, by);
                self.asm.store(Add_rm64_r64, frame(at), Register::RAX, None);
            }
        }
    }

    /// An integer plus a number in RAX.
    pub(super) fn int_plus(&mut self, i: Int, plus: i64) {
        let operand = self.int(i);
        self.asm.op2(Mov_r64_rm64, Register::RAX, operand);
        self.add_number(Register::RAX, plus, Register::RCX);
    }

    /// The lanes that are left plus a number in RAX.
    pub(super) fn rest_plus(&mut self, plus: i64) {
        self.int_plus(END, plus);
        self.asm.op2(Sub_r64_rm64, Register::RAX, Register::RBX);
    }

    /// The memory at an address; RAX and RCX may be used for it.
    pub(super) fn at(&mut self, address: &Address) -> MemoryOperand {
        let base = self.int_in(address.base, Register::RAX);
        let (index, scale) = match (address.along, address.row) {
            (_, Some((place, size))) => {
                self.first_lane(place, Register::RCX);
                (Register::RCX, u32::from(size))
            }
            (Some(size), None) => (Register::RBX, u32::from(size)),
            (None, None) => (Register::None, 1),
        };
        memory(base, index, scale, i64::from(address.offset))
    }

    /// The frame of an area.
    pub(super) fn area(&self, n: usize) -> usize {
        self.areas + n * AREA
    }

    pub(super) fn value_at(&self, offset: usize) -> MemoryOperand {
        frame(self.values + offset)
    }

    /// Room for a vector register during a call.
    pub(super) fn save_at(&self, register: usize) -> MemoryOperand {
        frame(self.saves + register * self.lir.isa.bytes())
    }

    /// The same for the n-th of the others.
    pub(super) fn save_small_at(&self, n: usize) -> MemoryOperand {
        frame(self.saves + self.lir.isa.registers() * self.lir.isa.bytes() + 8 * n)
    }

    pub(super) fn general_in_use(&self, r: Register) -> bool {
        self.ints.iter().any(|home| matches!(home, IntHome::Register(q) if *q == r))
    }

    pub(super) fn home(&self, v: V) -> Home {
        self.homes.of[v.index()]
    }

    // ---- loops --------------------------------------------------------------------------------

    pub(super) fn enter(&mut self, k: usize) {
        let (top, exit) = (self.asm.label(), self.asm.label());
        self.labels[k] = Some((top, exit));
        match self.lir.loops[k].trips {
            Trips::Count(i, n) => match self.ints[i.index()] {
                IntHome::Register(r) => self.asm.imm(Mov_r64_imm64, r, n as i64),
                IntHome::Frame(_) => {
                    self.asm.imm(Mov_r64_imm64, Register::RAX, n as i64);
                    self.set_int(i, Register::RAX);
                }
            },
            Trips::Run(i) => {
                self.int_plus(END, 0);
                self.asm.op2(Sub_r64_rm64, Register::RAX, frame(8));
                self.asm.jump(Jle_rel32_64, exit);
                self.set_int(i, Register::RAX);
            }
            Trips::RunLanes { step } => {
                self.compare_lane(step);
                self.asm.jump(Jg_rel32_64, exit);
            }
            Trips::RunRest { .. } => {
                self.compare_lane(0);
                self.asm.jump(Jge_rel32_64, exit);
            }
            Trips::Lanes { .. } | Trips::Once => {}
        }
        self.asm.bind(top);
    }

    /// Compares the lane index plus a number with the end of the run.
    fn compare_lane(&mut self, plus: usize) {
        let mut lane = Register::RBX;
        if plus > 0 {
            let sum = memory(Register::RBX, Register::None, 1, plus as i64);
            self.asm.op2(Lea_r64_m, Register::RAX, sum);
            lane = Register::RAX;
        }
        let end = self.int(END);
        self.asm.op2(Cmp_r64_rm64, lane, end);
    }

    fn next_lanes(&mut self, step: usize) {
        self.asm.imm(Add_rm64_imm32, Register::RBX, step as i64);
    }

    pub(super) fn leave(&mut self, k: usize) {
        let Some((top, exit)) = self.labels[k] else {
            self.asm.fail();
            return;
        };
        let turns = &self.lir.loops[k];
        for &(i, by) in &turns.steps {
            self.step_int(i, by);
        }
        match turns.trips {
            Trips::Count(i, _) | Trips::Run(i) => {
                match self.ints[i.index()] {
                    IntHome::Register(r) => self.asm.op1(Dec_rm64, r),
                    IntHome::Frame(at) => self.asm.memory1(Dec_rm64, frame(at)),
                }
                self.asm.jump(Jne_rel32_64, top);
            }
            Trips::Lanes { step, end } => {
                self.next_lanes(step);
                match i32::try_from(end) {
                    Ok(end) => self.asm.imm(Cmp_rm64_imm32, Register::RBX, i64::from(end)),
                    Err(_) => {
                        self.asm.imm(Mov_r64_imm64, Register::RAX, end as i64);
                        self.asm.op2(Cmp_r64_rm64, Register::RBX, Register::RAX);
                    }
                }
                self.asm.jump(Jl_rel32_64, top);
            }
            Trips::RunLanes { step } => {
                self.next_lanes(step);
                self.compare_lane(step);
                self.asm.jump(Jle_rel32_64, top);
            }
            Trips::RunRest { step } => {
                self.next_lanes(step);
                self.compare_lane(0);
                self.asm.jump(Jl_rel32_64, top);
            }
            Trips::Once => {}
        }
        self.asm.bind(exit);
        for &(i, by) in &turns.reset {
            if !turns.per_run {
                self.step_int(i, by);
                continue;
            }
            let done = match turns.trips {
                Trips::RunLanes { .. } | Trips::RunRest { .. } => Register::RBX.into(),
                _ => self.int(END),
            };
            self.asm.op2(Mov_r64_rm64, Register::RAX, done);
            self.asm.op2(Sub_r64_rm64, Register::RAX, frame(8));
            self.asm.imm(Mov_r64_imm64, Register::RCX, by);
            self.asm.op2(Imul_r64_rm64, Register::RAX, Register::RCX);
            match self.ints[i.index()] {
                IntHome::Register(r) => self.asm.op2(Add_r64_rm64, r, Register::RAX),
                IntHome::Frame(at) => self.asm.store(Add_rm64_r64, frame(at), Register::RAX, None),
            }
        }
    }

    pub(super) fn jump(&mut self, code: Code, to: Label) {
        self.asm.jump(code, to);
    }
}

//! Machine code of instructions on whole vectors.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};

use super::alloc::Home;
use super::asm::InsOperand;
use super::emit::{Emitter, number};
use super::isa::VectorIsa;
use super::lir::{Address, FusedOp, Ins, IntCompare, One, Two, V, ValueKind};
use super::table::VectorForm;

impl Two {
    fn commutes(self) -> bool {
        match self {
            Two::Add
            | Two::Mul
            | Two::And
            | Two::Or
            | Two::Xor
            | Two::IntAdd
            | Two::MulLow
            | Two::IntMul => true,
            Two::Sub | Two::Div | Two::Min | Two::Max | Two::AndNot | Two::IntSub => false,
        }
    }
}

impl Emitter<'_> {
    fn wide_masks(&self) -> bool {
        self.lir.isa == VectorIsa::Avx512
    }

    /// Whether a value is in a mask register when it is in a register.
    pub(super) fn is_mask(&self, v: V) -> bool {
        self.wide_masks() && matches!(self.lir.kind(v), ValueKind::Mask | ValueKind::HalfMask)
    }

    pub(super) fn form_of(&self, kind: ValueKind) -> VectorForm {
        let unit = self.lir.unit;
        match kind {
            ValueKind::Wide => VectorForm::new(self.lir.isa, true, false),
            ValueKind::Narrow | ValueKind::HalfMask => {
                VectorForm::new(self.lir.isa, false, unit == 8)
            }
            ValueKind::Mask => VectorForm::new(self.lir.isa, unit == 8, false),
        }
    }

    pub(super) fn form(&self, v: V) -> VectorForm {
        self.form_of(self.lir.kind(v))
    }

    /// A vector register as large as the form.
    pub(super) fn vector(form: VectorForm, n: u8) -> Register {
        let first = match form {
            VectorForm::Wide512 | VectorForm::Narrow512 => Register::ZMM0,
            VectorForm::Wide256 | VectorForm::Narrow256 | VectorForm::NarrowHalf512 => {
                Register::YMM0
            }
            VectorForm::Narrow128 => Register::XMM0,
        };
        first + u32::from(n)
    }

    /// A register for values on their way: 0 is where results go that live in the frame.
    pub(super) fn scratch(&self, form: VectorForm, n: usize) -> Register {
        Self::vector(form, (self.lir.isa.registers() - 1 - n) as u8)
    }

    /// A value as an operand: a register, or memory.
    fn operand(&mut self, v: V) -> InsOperand {
        let form = self.form(v);
        match self.home(v) {
            Home::Register(r) => Self::vector(form, r).into(),
            Home::Frame(at) => self.value_at(at).into(),
            Home::Constant(at) => InsOperand::Constant(at),
            Home::None => {
                self.asm.fail();
                self.scratch(form, 0).into()
            }
        }
    }

    pub(super) fn in_register(&self, v: V) -> Option<Register> {
        match self.home(v) {
            Home::Register(r) => Some(Self::vector(self.form(v), r)),
            _ => None,
        }
    }

    /// A value in a register: its own, or the given one.
    pub(super) fn read(&mut self, v: V, otherwise: Register) -> Register {
        if let Some(r) = self.in_register(v) {
            return r;
        }
        let (code, operand) = (self.form(v).load(), self.operand(v));
        self.asm.op2(code, otherwise, operand);
        otherwise
    }

    /// Where a result is computed.
    pub(super) fn target(&self, to: V) -> Register {
        self.in_register(to).unwrap_or(self.scratch(self.form(to), 0))
    }

    /// Puts a result where it lives.
    pub(super) fn put(&mut self, to: V, from: Register) {
        if let Home::Frame(at) = self.home(to) {
            let (code, at) = (self.form(to).store(), self.value_at(at));
            self.asm.store(code, at, from, None);
        }
    }

    /// An operand in a register, by way of that of the result unless another operand is there.
    fn read_towards(&mut self, v: V, to: V, others: &[V]) -> Register {
        let target = self.target(to);
        let taken = others.iter().any(|&o| self.in_register(o).map(number) == Some(number(target)));
        let form = self.form(v);
        let by =
            if taken { self.scratch(form, 0) } else { Self::vector(form, number(target) as u8) };
        self.read(v, by)
    }

    /// Loads the constants that have registers.
    pub(super) fn constants(&mut self) {
        let homes = self.homes;
        for &(v, at) in &homes.pinned {
            if let Some(r) = self.in_register(v) {
                self.asm.op2(self.form(v).load(), r, InsOperand::Constant(at));
            }
        }
    }

    // ---- masks in registers of their own ------------------------------------------------------

    /// A mask in a mask register: its own, or the given one.
    pub(super) fn mask(&mut self, v: V, otherwise: Register) -> Register {
        match self.home(v) {
            Home::Register(r) => Register::K0 + u32::from(r),
            Home::Frame(at) => {
                let at = self.value_at(at);
                self.asm.op2(VEX_Kmovw_kr_km16, otherwise, at);
                otherwise
            }
            Home::Constant(_) | Home::None => {
                self.asm.fail();
                otherwise
            }
        }
    }

    fn mask_target(&self, to: V) -> Register {
        match self.home(to) {
            Home::Register(r) => Register::K0 + u32::from(r),
            _ => Register::K6,
        }
    }

    fn put_mask(&mut self, to: V, from: Register) {
        if let Home::Frame(at) = self.home(to) {
            let at = self.value_at(at);
            self.asm.store(VEX_Kmovw_m16_kr, at, from, None);
        }
    }

    /// The lanes of a mask as bits of EAX. Bits above them may be anything.
    pub(super) fn bits(&mut self, mask: V) {
        if self.is_mask(mask) {
            let k = self.mask(mask, Register::K6);
            self.asm.op2(VEX_Kmovw_r32_kr, Register::EAX, k);
            return;
        }
        let form = self.form(mask);
        let r = self.read(mask, self.scratch(form, 1));
        let code = match form {
            VectorForm::Wide256 => VEX_Vmovmskpd_r32_ymm,
            VectorForm::Narrow128 => VEX_Vmovmskps_r32_xmm,
            _ => VEX_Vmovmskps_r32_ymm,
        };
        self.asm.op2(code, Register::EAX, r);
    }

    // ---- instructions -------------------------------------------------------------------------

    pub(super) fn instruction(&mut self, n: usize, ins: &Ins) {
        match ins {
            Ins::One(op, to, a) => self.one(*op, *to, *a),
            Ins::Two(op, to, a, b) => self.two(*op, *to, *a, *b),
            Ins::Fused(op, to, a, b, c) => self.fused(*op, *to, *a, *b, *c),
            Ins::Compare(predicate, to, a, b) => self.compare(Some(*predicate), None, *to, *a, *b),
            Ins::CompareInt(how, to, a, b) => self.compare(None, Some(*how), *to, *a, *b),
            Ins::Choose(to, mask, a, b) => self.choose(*to, *mask, *a, *b),
            Ins::Keep(to, mask, a) => self.keep(*to, *mask, *a),
            Ins::Fixed(to, holds) => self.fixed(*to, *holds),
            Ins::Zero(to) => {
                let r = self.target(*to);
                self.zero(r);
                self.put(*to, r);
            }
            Ins::Copy(to, from) => {
                let (r, x) = (self.target(*to), self.operand(*from));
                self.asm.op2(self.form(*to).load(), r, x);
                self.put(*to, r);
            }
            Ins::AddTo(sum, v, integers) => {
                let op = if *integers { Two::IntAdd } else { Two::Add };
                self.two(op, *sum, *sum, *v);
            }
            Ins::MulAddTo(sum, a, b) => self.fused(FusedOp::MulAdd, *sum, *a, *b, *sum),
            Ins::Splat(to, from, plus) => {
                self.int_plus(*from, *plus);
                self.splat(*to);
            }
            Ins::SplatRest(to, plus) => {
                self.rest_plus(*plus);
                self.splat(*to);
            }
            Ins::Load(to, address, mask) => self.load(*to, address, *mask),
            Ins::Broadcast(to, address) => {
                let (r, from) = (self.target(*to), self.at(address));
                self.asm.op2(self.form(*to).broadcast(), r, from);
                self.put(*to, r);
            }
            Ins::Store(v, address, mask) => self.store(*v, address, *mask),
            Ins::StoreFirst(v, address) => self.store_first(*v, address),
            Ins::LoadBools(to, address) => {
                let from = self.at(address);
                self.load_bools(*to, from);
            }
            Ins::BroadcastBool(to, address) => {
                let from = self.at(address);
                self.asm.op2(Movzx_r32_rm8, Register::EAX, from);
                let form = self.form_of(ValueKind::Mask);
                let r = self.scratch(form, 1);
                self.splat_in(form, r);
                self.positive(*to, r);
            }
            Ins::StoreBools(v, address) => {
                self.bits(*v);
                // The bits are in RAX.
                let base = self.int_in(address.base, Register::R11);
                let (index, scale) = match address.along {
                    Some(size) => (Register::RBX, u32::from(size)),
                    None => (Register::None, 1),
                };
                self.store_bits(base, index, scale, i64::from(address.offset));
            }
            Ins::Gather(to, address, at, mask) => self.gather(*to, address, *at, *mask),
            Ins::LoadLanes(to, size, address, places, mask) => {
                self.load_lanes(*to, *size, address, *places, *mask);
            }
            Ins::StoreLanes(v, size, address, places, mask) => {
                self.store_lanes(*v, *size, address, *places, *mask);
            }
            Ins::AddLanes(v, add, address, places, mask) => {
                self.add_lanes(*v, *add, address, *places, *mask);
            }
            Ins::Call(function, to, operands) => self.call(n, *function, *to, operands),
            Ins::Repair(_, mask, ..) => {
                let (away, back) = (self.asm.label(), self.asm.label());
                self.bits(*mask);
                let lanes = (1i64 << self.lir.lanes) - 1;
                self.asm.imm(Test_rm32_imm32, Register::EAX, lanes);
                self.jump(Jne_rel32_64, away);
                self.asm.bind(back);
                self.rare.push((away, back, n));
            }
            Ins::FirstLane(false) => {
                self.asm.op2(Xor_r32_rm32, Register::EBX, Register::EBX);
            }
            Ins::FirstLane(true) => {
                self.asm.op2(Mov_r64_rm64, Register::RBX, super::emit::frame(8));
            }
            Ins::Enter(k) => self.enter(*k),
            Ins::Leave(k) => self.leave(*k),
        }
    }

    pub(super) fn zero(&mut self, r: Register) {
        // Writing the lower part of a register clears the rest.
        let r = Register::XMM0 + number(r);
        let code = if number(r) < 16 {
            VEX_Vxorps_xmm_xmm_xmmm128
        } else {
            EVEX_Vxorps_xmm_k1z_xmm_xmmm128b32
        };
        self.asm.op3(code, r, r, r);
    }

    /// Ones in every bit, without mask registers.
    fn ones(&mut self, r: Register) {
        let r = Register::YMM0 + number(r);
        self.asm.op3(VEX_Vpcmpeqd_ymm_ymm_ymmm256, r, r, r);
    }

    fn two(&mut self, op: Two, to: V, mut a: V, mut b: V) {
        if self.is_mask(to) {
            let code = match op {
                Two::And => VEX_Kandw_kr_kr_kr,
                Two::AndNot => VEX_Kandnw_kr_kr_kr,
                Two::Or => VEX_Korw_kr_kr_kr,
                Two::Xor => VEX_Kxorw_kr_kr_kr,
                _ => INVALID,
            };
            let (x, y) = (self.mask(a, Register::K6), self.mask(b, Register::K7));
            let r = self.mask_target(to);
            self.asm.op3(code, r, x, y);
            self.put_mask(to, r);
            return;
        }
        if op.commutes() && self.in_register(a).is_none() && self.in_register(b).is_some() {
            std::mem::swap(&mut a, &mut b);
        }
        let x = self.read_towards(a, to, &[b]);
        let (y, r) = (self.operand(b), self.target(to));
        self.asm.op3(self.form(to).two(op), r, x, y);
        self.put(to, r);
    }

    fn one(&mut self, op: One, to: V, a: V) {
        if self.is_mask(to) {
            // Masks of both kinds of lanes are the same, so only this one is left.
            if op == One::Not {
                let (x, r) = (self.mask(a, Register::K7), self.mask_target(to));
                self.asm.op2(VEX_Knotw_kr_kr, r, x);
                self.put_mask(to, r);
            } else {
                self.asm.fail();
            }
            return;
        }
        let (form, r) = (self.form(to), self.target(to));
        match op {
            One::Sqrt
            | One::Widen
            | One::NarrowDown
            | One::FloatFromInt
            | One::NarrowFromInt
            | One::IntFromFloat => {
                let x = self.operand(a);
                self.asm.op2(form.one(op), r, x);
            }
            One::Round(imm) => {
                let x = self.operand(a);
                self.asm.op2_imm(form.one(op), r, x, i32::from(imm));
            }
            One::ShiftLeft(imm) | One::ShiftRight(imm) => {
                let x = self.read_towards(a, to, &[]);
                self.asm.op2_imm(form.one(op), r, x, i32::from(imm));
            }
            One::Not => {
                let ones = self.scratch(form, 1);
                self.ones(ones);
                let x = self.operand(a);
                self.asm.op3(form.two(Two::Xor), r, ones, x);
            }
            One::FullMask => {
                let x = self.operand(a);
                self.asm.op2(VEX_Vpmovsxdq_ymm_xmmm128, r, x);
            }
            One::HalfMask => {
                let x = self.read(a, self.scratch(VectorForm::Wide256, 0));
                let upper = self.scratch(VectorForm::Narrow128, 1);
                let lower = Register::XMM0 + number(x);
                self.asm.op2_imm(VEX_Vextractf128_xmmm128_ymm_imm8, upper, x, 1);
                self.asm.op3_imm(VEX_Vshufps_xmm_xmm_xmmm128_imm8, r, lower, upper, 0x88);
            }
            One::Upper(bytes) => {
                let x = self.read_towards(a, to, &[]);
                self.upper(bytes, r, x);
            }
        }
        self.put(to, r);
    }

    /// The upper half of the lower `bytes` bytes, moved down.
    fn upper(&mut self, bytes: u8, to: Register, from: Register) {
        let small = |r: Register| Register::XMM0 + number(r);
        let (to, x) = (small(to), small(from));
        let ymm = |r: Register| Register::YMM0 + number(r);
        let zmm = |r: Register| Register::ZMM0 + number(r);
        match (bytes, self.wide_masks()) {
            (64, _) => {
                self.asm.op2_imm(EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8, ymm(to), zmm(from), 1);
            }
            (32, false) => {
                self.asm.op2_imm(VEX_Vextractf128_xmmm128_ymm_imm8, to, ymm(from), 1);
            }
            (32, true) => {
                self.asm.op2_imm(EVEX_Vextractf64x2_xmmm128_k1z_ymm_imm8, to, ymm(from), 1);
            }
            (16, false) => self.asm.op3(VEX_Vunpckhpd_xmm_xmm_xmmm128, to, x, x),
            (16, true) => self.asm.op3(EVEX_Vunpckhpd_xmm_k1z_xmm_xmmm128b64, to, x, x),
            (_, false) => self.asm.op2(VEX_Vmovshdup_xmm_xmmm128, to, x),
            (_, true) => self.asm.op2(EVEX_Vmovshdup_xmm_k1z_xmmm128, to, x),
        }
    }

    fn fused(&mut self, op: FusedOp, to: V, mut a: V, mut b: V, c: V) {
        let form = self.form(to);
        let r = self.target(to);
        let spare = self.scratch(form, 1);
        if self.in_register(a).is_none() && self.in_register(b).is_some() {
            std::mem::swap(&mut a, &mut b);
        }
        let home = |e: &Self, v: V| e.in_register(v);
        if home(self, b) == Some(r) && home(self, c) != Some(r) {
            std::mem::swap(&mut a, &mut b);
        }
        // Now `a` is a register if either factor is, and the target's if either factor is that.
        if home(self, a) == Some(r) && home(self, c) != Some(r) {
            let y = self.read(b, spare);
            let z = self.operand(c);
            self.asm.op3(form.fused(op, false), r, y, z);
        } else if home(self, a).is_none() && home(self, c) != Some(r) && home(self, b).is_none() {
            // Both factors are in memory.
            let x = self.read(a, r);
            let y = self.read(b, spare);
            let z = self.operand(c);
            self.asm.op3(form.fused(op, false), x, y, z);
        } else {
            if home(self, c) != Some(r) {
                let z = self.operand(c);
                self.asm.op2(form.load(), r, z);
            }
            let x = self.read(a, spare);
            let y = self.operand(b);
            self.asm.op3(form.fused(op, true), r, x, y);
        }
        self.put(to, r);
    }

    fn compare(&mut self, predicate: Option<u8>, how: Option<IntCompare>, to: V, a: V, b: V) {
        let form = self.form(a);
        let x = if self.is_mask(to) {
            self.read(a, self.scratch(form, 1))
        } else {
            self.read_towards(a, to, &[b])
        };
        let y = self.operand(b);
        let r = if self.is_mask(to) { self.mask_target(to) } else { self.target(to) };
        match (predicate, how) {
            (Some(imm), _) => self.asm.op3_imm(form.compare(), r, x, y, i32::from(imm)),
            (None, Some(how)) => self.asm.op3(form.compare_int(how), r, x, y),
            (None, None) => self.asm.fail(),
        }
        if self.is_mask(to) {
            self.put_mask(to, r);
        } else {
            self.put(to, r);
        }
    }

    fn choose(&mut self, to: V, mask: V, a: V, b: V) {
        let form = self.form(to);
        if self.is_mask(mask) {
            let k = self.mask(mask, Register::K7);
            let y = self.read_towards(b, to, &[a]);
            let (x, r) = (self.operand(a), self.target(to));
            self.asm.op3_masked(form.blend(), r, y, x, k);
            self.put(to, r);
            return;
        }
        let m = self.read(mask, self.scratch(form, 1));
        let y = self.read_towards(b, to, &[a, mask]);
        let (x, r) = (self.operand(a), self.target(to));
        self.asm.op4(form.blend(), r, y, x, m);
        self.put(to, r);
    }

    fn keep(&mut self, to: V, mask: V, a: V) {
        let (form, r) = (self.form(to), self.target(to));
        if self.is_mask(mask) {
            let k = self.mask(mask, Register::K7);
            let x = self.operand(a);
            self.asm.op2_masked(form.load(), r, x, k);
        } else {
            let x = self.read_towards(a, to, &[mask]);
            let m = self.operand(mask);
            self.asm.op3(form.two(Two::And), r, x, m);
        }
        self.put(to, r);
    }

    fn fixed(&mut self, to: V, holds: bool) {
        if self.is_mask(to) {
            let r = self.mask_target(to);
            let code = if holds { VEX_Kxnorw_kr_kr_kr } else { VEX_Kxorw_kr_kr_kr };
            self.asm.op3(code, r, r, r);
            self.put_mask(to, r);
            return;
        }
        let r = self.target(to);
        if holds {
            self.ones(r)
        } else {
            self.zero(r)
        }
        self.put(to, r);
    }

    /// RAX on all lanes.
    fn splat(&mut self, to: V) {
        let (form, r) = (self.form(to), self.target(to));
        self.splat_in(form, r);
        self.put(to, r);
    }

    fn splat_in(&mut self, form: VectorForm, r: Register) {
        let general = if form.is_wide() { Register::RAX } else { Register::EAX };
        if self.wide_masks() {
            self.asm.op2(form.splat(), r, general);
            return;
        }
        let low = Register::XMM0 + number(r);
        let code = if form.is_wide() { VEX_Vmovq_xmm_rm64 } else { VEX_Vmovd_xmm_rm32 };
        self.asm.op2(code, low, general);
        self.asm.op2(form.splat(), r, low);
    }

    fn load(&mut self, to: V, address: &Address, mask: Option<V>) {
        let (form, r) = (self.form(to), self.target(to));
        let from = self.at(address);
        match mask {
            None => self.asm.op2(form.load(), r, from),
            Some(mask) if self.is_mask(mask) => {
                let k = self.mask(mask, Register::K7);
                self.asm.op2_masked(form.load(), r, from, k);
            }
            Some(mask) => {
                let m = self.read(mask, self.scratch(form, 1));
                self.asm.op3(form.masked_load(), r, m, from);
            }
        }
        self.put(to, r);
    }

    fn store(&mut self, v: V, address: &Address, mask: Option<V>) {
        let form = self.form(v);
        let x = self.read(v, self.scratch(form, 0));
        let to = self.at(address);
        match mask {
            None => self.asm.store(form.store(), to, x, None),
            Some(mask) if self.is_mask(mask) => {
                let k = self.mask(mask, Register::K7);
                self.asm.store(form.store(), to, x, Some(k));
            }
            Some(mask) => {
                let m = self.read(mask, self.scratch(form, 1));
                self.asm.store_masked(form.masked_store(), to, m, x);
            }
        }
    }

    /// Brings the first lane of a wide value to a general register.
    pub(super) fn first_lane(&mut self, v: V, to: Register) {
        match self.in_register(v) {
            Some(r) => {
                let code = match self.wide_masks() {
                    true => EVEX_Vmovq_rm64_xmm,
                    false => VEX_Vmovq_rm64_xmm,
                };
                self.asm.op2(code, to, Register::XMM0 + number(r));
            }
            None => {
                let from = self.operand(v);
                self.asm.op2(Mov_r64_rm64, to, from);
            }
        }
    }

    fn store_first(&mut self, v: V, address: &Address) {
        if matches!(self.lir.kind(v), ValueKind::Mask | ValueKind::HalfMask) {
            self.bits(v);
            self.asm.imm(And_rm32_imm8, Register::EAX, 1);
            let base = self.int_in(address.base, Register::R11);
            let to = super::emit::memory(base, Register::None, 1, i64::from(address.offset));
            self.asm.store(Mov_rm8_r8, to, Register::AL, None);
            return;
        }
        let form = self.form(v);
        let x = self.read(v, self.scratch(form, 0));
        let x = Register::XMM0 + number(x);
        let to = self.at(address);
        let code = match (form.is_wide(), self.wide_masks()) {
            (true, false) => VEX_Vmovsd_m64_xmm,
            (true, true) => EVEX_Vmovsd_m64_k1_xmm,
            (false, false) => VEX_Vmovss_m32_xmm,
            (false, true) => EVEX_Vmovss_m32_k1_xmm,
        };
        self.asm.store(code, to, x, None);
    }

    /// Truth values from bytes.
    pub(super) fn load_bools(&mut self, to: V, from: MemoryOperand) {
        let form = self.form_of(ValueKind::Mask);
        let r = self.scratch(form, 1);
        self.asm.op2(form.widen_bytes(), r, from);
        self.positive(to, r);
    }

    /// The lanes above 0.
    fn positive(&mut self, to: V, from: Register) {
        let form = self.form_of(ValueKind::Mask);
        let zero = self.scratch(form, 0);
        self.zero(zero);
        let code = form.compare_int(IntCompare::Greater);
        if self.is_mask(to) {
            let r = self.mask_target(to);
            self.asm.op3(code, r, from, zero);
            self.put_mask(to, r);
        } else {
            let r = self.target(to);
            self.asm.op3(code, r, from, zero);
            self.put(to, r);
        }
    }

    /// The bits of EAX as bytes of memory. RCX and RDX are used.
    pub(super) fn store_bits(&mut self, base: Register, index: Register, scale: u32, offset: i64) {
        let to = |at: i64| super::emit::memory(base, index, scale, offset + at);
        self.asm.imm(Mov_r64_imm64, Register::RCX, 0x0101_0101_0101_0101);
        if self.lir.lanes == 16 {
            self.asm.op2(Mov_r64_rm64, Register::RDX, Register::RAX);
            self.asm.shift(Shr_rm64_imm8, Register::RDX, 8);
            self.asm.op3(VEX_Pdep_r64_r64_rm64, Register::RDX, Register::RDX, Register::RCX);
            self.asm.store(Mov_rm64_r64, to(8), Register::RDX, None);
        }
        self.asm.op3(VEX_Pdep_r64_r64_rm64, Register::RAX, Register::RAX, Register::RCX);
        if self.lir.lanes == 4 {
            self.asm.store(Mov_rm32_r32, to(0), Register::EAX, None);
        } else {
            self.asm.store(Mov_rm64_r64, to(0), Register::RAX, None);
        }
    }

    fn gather(&mut self, to: V, address: &Address, at: V, mask: V) {
        let form = self.form(to);
        let size = if form.is_wide() { 8u8 } else { 4 };
        let homeless = self.in_register(to).is_none() && self.in_register(at).is_none();
        if homeless && !self.wide_masks() {
            // There are registers for two of the three only.
            self.load_lanes(to, size, address, super::lir::LaneAddresses::At(at), Some(mask));
            return;
        }
        let base = self.int_in(address.base, Register::RAX);
        let r = self.target(to);
        let places = if self.in_register(to).is_some() { 0 } else { 1 };
        let index = self.read(at, self.scratch(self.form(at), places));
        let from = super::emit::memory(base, index, u32::from(size), i64::from(address.offset));
        if self.wide_masks() {
            let k = self.mask(mask, Register::K7);
            if k != Register::K7 {
                self.asm.op2(VEX_Kmovw_kr_km16, Register::K7, k);
            }
            self.zero(r);
            self.asm.gather512(form.gather(), r, from, Register::K7);
        } else {
            let m = self.scratch(form, 1);
            let x = self.operand(mask);
            self.asm.op2(form.load(), m, x);
            self.zero(r);
            self.asm.gather(form.gather(), r, from, m);
        }
        self.put(to, r);
    }
}

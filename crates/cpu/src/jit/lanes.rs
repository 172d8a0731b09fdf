//! Machine code that goes through the lanes one by one, and calls.

use iced_x86::Code::*;
use iced_x86::{MemoryOperand, Register};

use super::alloc::Home;
use super::emit::{Emitter, LOST_IN_CALLS, frame, memory, number};
use super::lir::{Add, Address, Ins, LaneAddresses, V, ValueKind};
use super::table::VectorForm;

/// Areas of the frame for lanes on their way.
const LANES: usize = 0;
const PLACES: usize = 1;
const OPERANDS: usize = 2;
const RESULT: usize = 5;

impl Emitter<'_> {
    /// Puts the lanes of a value one after the other into an area.
    fn spread(&mut self, v: V, area: usize) {
        let at = self.area(area);
        if matches!(self.lir.kind(v), ValueKind::Mask | ValueKind::HalfMask) {
            self.bits(v);
            self.store_bits(Register::RSP, Register::None, 1, at as i64);
            return;
        }
        let form = self.form(v);
        let x = self.read(v, self.scratch(form, 0));
        self.asm.store(form.store(), frame(at), x, None);
    }

    /// Takes the lanes of a value from an area.
    fn collect(&mut self, to: V, area: usize) {
        let at = self.area(area);
        if matches!(self.lir.kind(to), ValueKind::Mask | ValueKind::HalfMask) {
            self.load_bools(to, frame(at));
            return;
        }
        let (form, r) = (self.form(to), self.target(to));
        self.asm.op2(form.load(), r, frame(at));
        self.put(to, r);
    }

    /// Runs `each` for every lane at which the mask holds, with the memory that belongs to it.
    /// RAX, RCX and RDX are in use.
    fn for_each_lane(
        &mut self,
        size: u8,
        address: &Address,
        places: LaneAddresses,
        mask: Option<V>,
        mut each: impl FnMut(&mut Self, usize, MemoryOperand),
    ) {
        if let LaneAddresses::At(v) = places {
            self.spread(v, PLACES);
        }
        let start = self.at(address);
        self.asm.op2(Lea_r64_m, Register::RDX, start);
        if let Some(mask) = mask {
            self.bits(mask);
        }
        for k in 0..self.lir.lanes {
            let over = self.asm.label();
            if mask.is_some() {
                self.asm.imm(Bt_rm32_imm8, Register::EAX, k as i64);
                self.jump(Jae_rel32_64, over);
            }
            let at = match places {
                LaneAddresses::Apart(bytes) => {
                    memory(Register::RDX, Register::None, 1, bytes * k as i64)
                }
                LaneAddresses::At(v) => {
                    let (bytes, load) = match self.form(v).is_wide() {
                        true => (8, Mov_r64_rm64),
                        false => (4, Movsxd_r64_rm32),
                    };
                    let index = frame(self.area(PLACES) + bytes * k);
                    self.asm.op2(load, Register::RCX, index);
                    memory(Register::RDX, Register::RCX, u32::from(size), 0)
                }
            };
            each(self, k, at);
            self.asm.bind(over);
        }
    }

    pub(super) fn load_lanes(
        &mut self,
        to: V,
        size: u8,
        address: &Address,
        places: LaneAddresses,
        mask: Option<V>,
    ) {
        if let (LaneAddresses::Apart(bytes), None, VectorForm::Wide256) =
            (places, mask, self.form(to))
            && size == 8
        {
            self.load_four(to, address, bytes);
            return;
        }
        let area = self.area(LANES);
        let form = self.form_of(ValueKind::Mask);
        let zero = self.scratch(form, 0);
        self.zero(zero);
        self.asm.store(form.store(), frame(area), zero, None);
        self.for_each_lane(size, address, places, mask, |e, k, from| {
            let to = frame(area + k * usize::from(size));
            e.move_element(size, from, to);
        });
        self.collect(to, LANES);
    }

    fn move_element(&mut self, size: u8, from: MemoryOperand, to: MemoryOperand) {
        let (load, store, r) = match size {
            8 => (Mov_r64_rm64, Mov_rm64_r64, Register::R11),
            4 => (Mov_r32_rm32, Mov_rm32_r32, Register::R11D),
            _ => (Mov_r8_rm8, Mov_rm8_r8, Register::R11L),
        };
        self.asm.op2(load, r, from);
        self.asm.store(store, to, r, None);
    }

    /// Four elements that lie apart.
    fn load_four(&mut self, to: V, address: &Address, bytes: i64) {
        let start = self.at(address);
        let r = self.target(to);
        let low = Register::XMM0 + number(r);
        let high = self.scratch(VectorForm::Narrow128, 1);
        let at =
            |k: i64| memory(start.base, start.index, start.scale, start.displacement + bytes * k);
        self.asm.op2(VEX_Vmovsd_xmm_m64, low, at(0));
        self.asm.op3(VEX_Vmovhpd_xmm_xmm_m64, low, low, at(1));
        self.asm.op2(VEX_Vmovsd_xmm_m64, high, at(2));
        self.asm.op3(VEX_Vmovhpd_xmm_xmm_m64, high, high, at(3));
        self.asm.op3_imm(VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, r, r, high, 1);
        self.put(to, r);
    }

    pub(super) fn store_lanes(
        &mut self,
        v: V,
        size: u8,
        address: &Address,
        places: LaneAddresses,
        mask: Option<V>,
    ) {
        self.spread(v, LANES);
        let area = self.area(LANES);
        self.for_each_lane(size, address, places, mask, |e, k, to| {
            let from = frame(area + k * usize::from(size));
            e.move_element(size, from, to);
        });
    }

    pub(super) fn add_lanes(
        &mut self,
        v: V,
        add: Add,
        address: &Address,
        places: LaneAddresses,
        mask: Option<V>,
    ) {
        self.spread(v, LANES);
        let area = self.area(LANES);
        let size = match add {
            Add::F64 | Add::I64 => 8,
            Add::F32 => 4,
        };
        // The encodings here are for the first sixteen registers, and both have at least these.
        let sum = Register::XMM15;
        let kept = self.lir.isa.registers() > 16;
        if kept {
            let save = self.area(OPERANDS);
            self.asm.store(EVEX_Vmovups_zmmm512_k1z_zmm, frame(save), Register::ZMM15, None);
        }
        self.for_each_lane(size as u8, address, places, mask, |e, k, at| {
            let from = frame(area + k * size);
            match add {
                Add::F64 => {
                    e.asm.op2(VEX_Vmovsd_xmm_m64, sum, at);
                    e.asm.op3(VEX_Vaddsd_xmm_xmm_xmmm64, sum, sum, from);
                    e.asm.store(VEX_Vmovsd_m64_xmm, at, sum, None);
                }
                Add::F32 => {
                    e.asm.op2(VEX_Vmovss_xmm_m32, sum, at);
                    e.asm.op3(VEX_Vaddss_xmm_xmm_xmmm32, sum, sum, from);
                    e.asm.store(VEX_Vmovss_m32_xmm, at, sum, None);
                }
                Add::I64 => {
                    e.asm.op2(Mov_r64_rm64, Register::R11, from);
                    e.asm.store(Add_rm64_r64, at, Register::R11, None);
                }
            }
        });
        if kept {
            let save = self.area(OPERANDS);
            self.asm.op2(EVEX_Vmovups_zmm_k1z_zmmm512, Register::ZMM15, frame(save));
        }
    }

    /// Calls a function of the tile machine on the lanes of this moment.
    pub(super) fn call(
        &mut self,
        n: usize,
        function: usize,
        to: (V, u8),
        operands: &[Option<(V, u8)>],
    ) {
        for (k, operand) in operands.iter().enumerate() {
            if let Some((v, _)) = operand {
                self.spread(*v, OPERANDS + k);
            }
        }
        let live = self.live_across(n, to.0);
        for &v in &live {
            self.save(v, true);
        }
        let lost: Vec<Register> =
            LOST_IN_CALLS.into_iter().filter(|&r| self.general_in_use(r)).collect();
        for (k, &r) in lost.iter().enumerate() {
            let at = self.save_small_at(8 + k);
            self.asm.store(Mov_rm64_r64, at, r, None);
        }
        let Some(&code) = self.functions.get(2 * function) else {
            self.asm.fail();
            return;
        };
        let address = self.functions.get(2 * function + 1).copied().unwrap_or_default();
        self.asm.imm(Mov_r64_imm64, Register::RDI, code as i64);
        let arguments = [Register::RDX, Register::RCX, Register::R8];
        self.asm.op2(Lea_r64_m, Register::RSI, frame(self.area(RESULT)));
        for (k, r) in arguments.into_iter().enumerate() {
            self.asm.op2(Lea_r64_m, r, frame(self.area(OPERANDS + k)));
        }
        self.asm.imm(Mov_r64_imm64, Register::R9, self.lir.lanes as i64);
        self.asm.imm(Mov_r64_imm64, Register::RAX, address as i64);
        self.asm.op0(VEX_Vzeroupper);
        self.asm.op1(Call_rm64, Register::RAX);
        for (k, &r) in lost.iter().enumerate() {
            let at = self.save_small_at(8 + k);
            self.asm.op2(Mov_r64_rm64, r, at);
        }
        for &v in &live {
            self.save(v, false);
        }
        self.collect(to.0, RESULT);
    }

    /// The calls that are behind the code.
    pub(super) fn rare_calls(&mut self) {
        for (away, back, n) in std::mem::take(&mut self.rare) {
            self.asm.bind(away);
            if let Ins::Repair(to, _, function, operands) = &self.lir.code[n] {
                let size = self.lir.bytes(self.lir.kind(*to)) / self.lir.lanes;
                self.call(n, *function, (*to, size as u8), operands);
            }
            self.jump(Jmp_rel32_64, back);
        }
    }

    /// The values that are needed after an instruction, except its result, and are in registers.
    fn live_across(&self, n: usize, result: V) -> Vec<V> {
        let alive = |v: usize| {
            let (first, last) = self.homes.lives[v];
            first < 2 * n + 1 && last > 2 * n
        };
        (0..self.homes.of.len())
            .filter(|&v| matches!(self.homes.of[v], Home::Register(_)) && alive(v))
            .map(|v| V(v as u32))
            .filter(|&v| v != result)
            .collect()
    }

    /// Saves a register before a call, or takes it back after.
    fn save(&mut self, v: V, before: bool) {
        let Home::Register(r) = self.home(v) else { return };
        if self.is_mask(v) {
            let (k, at) = (Register::K0 + u32::from(r), self.save_small_at(usize::from(r)));
            if before {
                self.asm.store(VEX_Kmovw_m16_kr, at, k, None);
            } else {
                self.asm.op2(VEX_Kmovw_kr_km16, k, at);
            }
            return;
        }
        let (form, at) = (self.form(v), self.save_at(usize::from(r)));
        let x = Self::vector(form, r);
        if before {
            self.asm.store(form.store(), at, x, None);
        } else {
            self.asm.op2(form.load(), x, at);
        }
    }
}

//! Which encoding an operation has, by the lanes of its values and the instruction set.

use iced_x86::Code::{self, *};

use super::isa::VectorIsa;
use super::lir::{FusedOp, IntCompare, One, Two};

/// The form of a vector: its lanes and their number. The value is the column in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VectorForm {
    Wide256 = 0,
    Wide512 = 1,
    Narrow128 = 2,
    Narrow256 = 3,
    /// Half of a vector, where vectors have 64 bytes.
    NarrowHalf512 = 4,
    Narrow512 = 5,
}

impl VectorForm {
    pub(super) fn new(isa: VectorIsa, wide: bool, half: bool) -> VectorForm {
        match (isa, wide, half) {
            (VectorIsa::Avx2, true, _) => VectorForm::Wide256,
            (VectorIsa::Avx512, true, _) => VectorForm::Wide512,
            (VectorIsa::Avx2, false, true) => VectorForm::Narrow128,
            (VectorIsa::Avx2, false, false) => VectorForm::Narrow256,
            (VectorIsa::Avx512, false, true) => VectorForm::NarrowHalf512,
            (VectorIsa::Avx512, false, false) => VectorForm::Narrow512,
        }
    }

    pub(super) fn is_wide(self) -> bool {
        matches!(self, VectorForm::Wide256 | VectorForm::Wide512)
    }

    fn of(self, row: [Code; 6]) -> Code {
        row[self as usize]
    }

    pub(super) fn two(self, op: Two) -> Code {
        self.of(match op {
            Two::Add => [
                VEX_Vaddpd_ymm_ymm_ymmm256,
                EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vaddps_xmm_xmm_xmmm128,
                VEX_Vaddps_ymm_ymm_ymmm256,
                EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            Two::Sub => [
                VEX_Vsubpd_ymm_ymm_ymmm256,
                EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vsubps_xmm_xmm_xmmm128,
                VEX_Vsubps_ymm_ymm_ymmm256,
                EVEX_Vsubps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            Two::Mul => [
                VEX_Vmulpd_ymm_ymm_ymmm256,
                EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vmulps_xmm_xmm_xmmm128,
                VEX_Vmulps_ymm_ymm_ymmm256,
                EVEX_Vmulps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            Two::Div => [
                VEX_Vdivpd_ymm_ymm_ymmm256,
                EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vdivps_xmm_xmm_xmmm128,
                VEX_Vdivps_ymm_ymm_ymmm256,
                EVEX_Vdivps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            Two::Min => [
                VEX_Vminpd_ymm_ymm_ymmm256,
                EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
                VEX_Vminps_xmm_xmm_xmmm128,
                VEX_Vminps_ymm_ymm_ymmm256,
                EVEX_Vminps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
            ],
            Two::Max => [
                VEX_Vmaxpd_ymm_ymm_ymmm256,
                EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
                VEX_Vmaxps_xmm_xmm_xmmm128,
                VEX_Vmaxps_ymm_ymm_ymmm256,
                EVEX_Vmaxps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
            ],
            Two::And => [
                VEX_Vandpd_ymm_ymm_ymmm256,
                EVEX_Vandpd_zmm_k1z_zmm_zmmm512b64,
                VEX_Vandps_xmm_xmm_xmmm128,
                VEX_Vandps_ymm_ymm_ymmm256,
                EVEX_Vandps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vandps_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::AndNot => [
                VEX_Vandnpd_ymm_ymm_ymmm256,
                EVEX_Vandnpd_zmm_k1z_zmm_zmmm512b64,
                VEX_Vandnps_xmm_xmm_xmmm128,
                VEX_Vandnps_ymm_ymm_ymmm256,
                EVEX_Vandnps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vandnps_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::Or => [
                VEX_Vorpd_ymm_ymm_ymmm256,
                EVEX_Vorpd_zmm_k1z_zmm_zmmm512b64,
                VEX_Vorps_xmm_xmm_xmmm128,
                VEX_Vorps_ymm_ymm_ymmm256,
                EVEX_Vorps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vorps_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::Xor => [
                VEX_Vxorpd_ymm_ymm_ymmm256,
                EVEX_Vxorpd_zmm_k1z_zmm_zmmm512b64,
                VEX_Vxorps_xmm_xmm_xmmm128,
                VEX_Vxorps_ymm_ymm_ymmm256,
                EVEX_Vxorps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vxorps_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::IntAdd => [
                VEX_Vpaddq_ymm_ymm_ymmm256,
                EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
                VEX_Vpaddd_xmm_xmm_xmmm128,
                VEX_Vpaddd_ymm_ymm_ymmm256,
                EVEX_Vpaddd_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::IntSub => [
                VEX_Vpsubq_ymm_ymm_ymmm256,
                EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
                VEX_Vpsubd_xmm_xmm_xmmm128,
                VEX_Vpsubd_ymm_ymm_ymmm256,
                EVEX_Vpsubd_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            ],
            Two::MulLow => [
                VEX_Vpmuludq_ymm_ymm_ymmm256,
                EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
                INVALID,
                INVALID,
                INVALID,
                INVALID,
            ],
            Two::IntMul => {
                [INVALID, EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64, INVALID, INVALID, INVALID, INVALID]
            }
        })
    }

    /// Operations that take nothing but a vector, or a number besides.
    pub(super) fn one(self, op: One) -> Code {
        self.of(match op {
            One::Sqrt => [
                VEX_Vsqrtpd_ymm_ymmm256,
                EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
                VEX_Vsqrtps_xmm_xmmm128,
                VEX_Vsqrtps_ymm_ymmm256,
                EVEX_Vsqrtps_ymm_k1z_ymmm256b32,
                EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
            ],
            One::Round(_) => [
                VEX_Vroundpd_ymm_ymmm256_imm8,
                EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
                VEX_Vroundps_xmm_xmmm128_imm8,
                VEX_Vroundps_ymm_ymmm256_imm8,
                EVEX_Vrndscaleps_ymm_k1z_ymmm256b32_imm8,
                EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
            ],
            One::ShiftLeft(_) => [
                VEX_Vpsllq_ymm_ymm_imm8,
                EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
                VEX_Vpslld_xmm_xmm_imm8,
                VEX_Vpslld_ymm_ymm_imm8,
                EVEX_Vpslld_ymm_k1z_ymmm256b32_imm8,
                EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
            ],
            One::ShiftRight(_) => [
                VEX_Vpsrlq_ymm_ymm_imm8,
                EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
                VEX_Vpsrld_xmm_xmm_imm8,
                VEX_Vpsrld_ymm_ymm_imm8,
                EVEX_Vpsrld_ymm_k1z_ymmm256b32_imm8,
                EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
            ],
            One::Widen => [
                VEX_Vcvtps2pd_ymm_xmmm128,
                EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae,
                INVALID,
                INVALID,
                INVALID,
                INVALID,
            ],
            One::NarrowDown => [
                INVALID,
                INVALID,
                VEX_Vcvtpd2ps_xmm_ymmm256,
                INVALID,
                EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er,
                INVALID,
            ],
            One::FloatFromInt => wide512(EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er),
            One::IntFromFloat => wide512(EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae),
            One::NarrowFromInt => {
                [INVALID, INVALID, INVALID, INVALID, EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er, INVALID]
            }
            // These have more than one instruction.
            One::HalfMask | One::FullMask | One::Not | One::Upper(_) => [INVALID; 6],
        })
    }

    /// `accumulate`: the target is added to; otherwise it is a factor.
    pub(super) fn fused(self, op: FusedOp, accumulate: bool) -> Code {
        self.of(match (op, accumulate) {
            (FusedOp::MulAdd, false) => [
                VEX_Vfmadd213pd_ymm_ymm_ymmm256,
                EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfmadd213ps_xmm_xmm_xmmm128,
                VEX_Vfmadd213ps_ymm_ymm_ymmm256,
                EVEX_Vfmadd213ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::MulAdd, true) => [
                VEX_Vfmadd231pd_ymm_ymm_ymmm256,
                EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfmadd231ps_xmm_xmm_xmmm128,
                VEX_Vfmadd231ps_ymm_ymm_ymmm256,
                EVEX_Vfmadd231ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::MulSub, false) => [
                VEX_Vfmsub213pd_ymm_ymm_ymmm256,
                EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfmsub213ps_xmm_xmm_xmmm128,
                VEX_Vfmsub213ps_ymm_ymm_ymmm256,
                EVEX_Vfmsub213ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::MulSub, true) => [
                VEX_Vfmsub231pd_ymm_ymm_ymmm256,
                EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfmsub231ps_xmm_xmm_xmmm128,
                VEX_Vfmsub231ps_ymm_ymm_ymmm256,
                EVEX_Vfmsub231ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::NegMulAdd, false) => [
                VEX_Vfnmadd213pd_ymm_ymm_ymmm256,
                EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfnmadd213ps_xmm_xmm_xmmm128,
                VEX_Vfnmadd213ps_ymm_ymm_ymmm256,
                EVEX_Vfnmadd213ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::NegMulAdd, true) => [
                VEX_Vfnmadd231pd_ymm_ymm_ymmm256,
                EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfnmadd231ps_xmm_xmm_xmmm128,
                VEX_Vfnmadd231ps_ymm_ymm_ymmm256,
                EVEX_Vfnmadd231ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::NegMulSub, false) => [
                VEX_Vfnmsub213pd_ymm_ymm_ymmm256,
                EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfnmsub213ps_xmm_xmm_xmmm128,
                VEX_Vfnmsub213ps_ymm_ymm_ymmm256,
                EVEX_Vfnmsub213ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
            (FusedOp::NegMulSub, true) => [
                VEX_Vfnmsub231pd_ymm_ymm_ymmm256,
                EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
                VEX_Vfnmsub231ps_xmm_xmm_xmmm128,
                VEX_Vfnmsub231ps_ymm_ymm_ymmm256,
                EVEX_Vfnmsub231ps_ymm_k1z_ymm_ymmm256b32,
                EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
            ],
        })
    }

    pub(super) fn compare(self) -> Code {
        self.of([
            VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
            EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
            VEX_Vcmpps_xmm_xmm_xmmm128_imm8,
            VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
            EVEX_Vcmpps_kr_k1_ymm_ymmm256b32_imm8,
            EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
        ])
    }

    pub(super) fn compare_int(self, how: IntCompare) -> Code {
        self.of(match how {
            IntCompare::Equal => [
                VEX_Vpcmpeqq_ymm_ymm_ymmm256,
                EVEX_Vpcmpeqq_kr_k1_zmm_zmmm512b64,
                VEX_Vpcmpeqd_xmm_xmm_xmmm128,
                VEX_Vpcmpeqd_ymm_ymm_ymmm256,
                EVEX_Vpcmpeqd_kr_k1_ymm_ymmm256b32,
                EVEX_Vpcmpeqd_kr_k1_zmm_zmmm512b32,
            ],
            IntCompare::Greater => [
                VEX_Vpcmpgtq_ymm_ymm_ymmm256,
                EVEX_Vpcmpgtq_kr_k1_zmm_zmmm512b64,
                VEX_Vpcmpgtd_xmm_xmm_xmmm128,
                VEX_Vpcmpgtd_ymm_ymm_ymmm256,
                EVEX_Vpcmpgtd_kr_k1_ymm_ymmm256b32,
                EVEX_Vpcmpgtd_kr_k1_zmm_zmmm512b32,
            ],
        })
    }

    pub(super) fn load(self) -> Code {
        self.of([
            VEX_Vmovupd_ymm_ymmm256,
            EVEX_Vmovupd_zmm_k1z_zmmm512,
            VEX_Vmovups_xmm_xmmm128,
            VEX_Vmovups_ymm_ymmm256,
            EVEX_Vmovups_ymm_k1z_ymmm256,
            EVEX_Vmovups_zmm_k1z_zmmm512,
        ])
    }

    pub(super) fn store(self) -> Code {
        self.of([
            VEX_Vmovupd_ymmm256_ymm,
            EVEX_Vmovupd_zmmm512_k1z_zmm,
            VEX_Vmovups_xmmm128_xmm,
            VEX_Vmovups_ymmm256_ymm,
            EVEX_Vmovups_ymmm256_k1z_ymm,
            EVEX_Vmovups_zmmm512_k1z_zmm,
        ])
    }

    /// Loads under a mask, without mask registers.
    pub(super) fn masked_load(self) -> Code {
        self.of([
            VEX_Vmaskmovpd_ymm_ymm_m256,
            INVALID,
            VEX_Vmaskmovps_xmm_xmm_m128,
            VEX_Vmaskmovps_ymm_ymm_m256,
            INVALID,
            INVALID,
        ])
    }

    pub(super) fn masked_store(self) -> Code {
        self.of([
            VEX_Vmaskmovpd_m256_ymm_ymm,
            INVALID,
            VEX_Vmaskmovps_m128_xmm_xmm,
            VEX_Vmaskmovps_m256_ymm_ymm,
            INVALID,
            INVALID,
        ])
    }

    /// `blendv` with a mask as the last operand, or `blendm` under a mask register.
    pub(super) fn blend(self) -> Code {
        self.of([
            VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
            EVEX_Vblendmpd_zmm_k1z_zmm_zmmm512b64,
            VEX_Vblendvps_xmm_xmm_xmmm128_xmm,
            VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
            EVEX_Vblendmps_ymm_k1z_ymm_ymmm256b32,
            EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32,
        ])
    }

    /// One element of memory on all lanes.
    pub(super) fn broadcast(self) -> Code {
        self.of([
            VEX_Vbroadcastsd_ymm_m64,
            EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
            VEX_Vbroadcastss_xmm_m32,
            VEX_Vbroadcastss_ymm_m32,
            EVEX_Vbroadcastss_ymm_k1z_xmmm32,
            EVEX_Vbroadcastss_zmm_k1z_xmmm32,
        ])
    }

    /// The first lane (without mask registers) or a general register on all lanes.
    pub(super) fn splat(self) -> Code {
        self.of([
            VEX_Vpbroadcastq_ymm_xmmm64,
            EVEX_Vpbroadcastq_zmm_k1z_r64,
            VEX_Vpbroadcastd_xmm_xmmm32,
            VEX_Vpbroadcastd_ymm_xmmm32,
            EVEX_Vpbroadcastd_ymm_k1z_r32,
            EVEX_Vpbroadcastd_zmm_k1z_r32,
        ])
    }

    /// Gathers by indices as large as the largest lanes.
    pub(super) fn gather(self) -> Code {
        self.of([
            VEX_Vgatherqpd_ymm_vm64y_ymm,
            EVEX_Vgatherqpd_zmm_k1_vm64z,
            VEX_Vgatherqps_xmm_vm64y_xmm,
            VEX_Vgatherdps_ymm_vm32y_ymm,
            EVEX_Vgatherqps_ymm_k1_vm64z,
            EVEX_Vgatherdps_zmm_k1_vm32z,
        ])
    }

    /// Bytes to lanes.
    pub(super) fn widen_bytes(self) -> Code {
        self.of([
            VEX_Vpmovzxbq_ymm_xmmm32,
            EVEX_Vpmovzxbq_zmm_k1z_xmmm64,
            INVALID,
            VEX_Vpmovzxbd_ymm_xmmm64,
            INVALID,
            EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        ])
    }
}

/// A row with one entry.
const fn wide512(code: Code) -> [Code; 6] {
    [INVALID, code, INVALID, INVALID, INVALID, INVALID]
}

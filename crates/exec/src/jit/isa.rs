//! Which instructions the machine has, and how wide they are.

use std::sync::LazyLock;

/// The instruction sets that code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isa {
    /// AVX2 with fused multiply-add and the bit manipulation of the same machines.
    Avx2,
    /// AVX-512: foundation, double and quad words, bytes and words, vectors of all lengths.
    Avx512,
}

impl Isa {
    /// The bytes of a vector.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }

    /// How many vector registers there are.
    pub(crate) fn registers(self) -> usize {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }
}

/// The best instruction set of this machine, or a lesser one if `COTAN_ISA` says so: `avx512`,
/// `avx2`, or anything else for none.
pub(crate) fn best() -> Option<Isa> {
    static BEST: LazyLock<Option<Isa>> = LazyLock::new(|| {
        let has = available();
        match std::env::var("COTAN_ISA").as_deref() {
            Err(_) | Ok("avx512") => has.last().copied(),
            Ok("avx2") => has.first().copied(),
            Ok(_) => None,
        }
    });
    *BEST
}

/// The instruction sets of this machine, the best last.
pub(crate) fn available() -> Vec<Isa> {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw");
    let all = [(avx2, Isa::Avx2), (avx512, Isa::Avx512)];
    all.into_iter().filter_map(|(has, isa)| has.then_some(isa)).collect()
}

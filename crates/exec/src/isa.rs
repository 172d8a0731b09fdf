//! Which vector instructions the machine has.

use std::sync::LazyLock;

/// A set of vector instructions, each with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isa {
    /// What everything is compiled for.
    Plain,
    /// AVX2 with fused multiply-add: 32 bytes.
    Avx2,
    /// AVX-512 F, DQ, VL and BW: 64 bytes.
    Avx512,
}

static BEST: LazyLock<Isa> = LazyLock::new(|| {
    let most = match std::env::var("COTAN_ISA").as_deref() {
        Ok("plain") => Isa::Plain,
        Ok("avx2") => Isa::Avx2,
        _ => Isa::Avx512,
    };
    detected().min(most)
});

impl Isa {
    /// Those that may be used, the best last.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Isa> {
        [Isa::Plain, Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| isa <= best())
    }
}

/// The best that the machine has, or less if the environment variable `COTAN_ISA` says `plain` or
/// `avx2`.
pub(crate) fn best() -> Isa {
    *BEST
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Isa {
    // An interpreter of Rust runs no machine code, and few vector instructions.
    if cfg!(miri) {
        return Isa::Plain;
    }
    let avx2 = [
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("fma"),
        is_x86_feature_detected!("bmi1"),
        is_x86_feature_detected!("bmi2"),
    ];
    let avx512 = [
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512dq"),
        is_x86_feature_detected!("avx512vl"),
        is_x86_feature_detected!("avx512bw"),
    ];
    match (avx2.iter().all(|&f| f), avx512.iter().all(|&f| f)) {
        (false, _) => Isa::Plain,
        (true, false) => Isa::Avx2,
        (true, true) => Isa::Avx512,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Isa {
    Isa::Plain
}

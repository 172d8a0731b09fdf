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
    /// Those that may be used, the best last. Without instructions for it, multiplication and
    /// addition are fused by the C library; that of GNU's toolchain for Windows rounds them twice.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Isa> {
        let rounds_once = |isa| isa > Isa::Plain || !cfg!(all(windows, target_env = "gnu"));
        let all = [Isa::Plain, Isa::Avx2, Isa::Avx512].into_iter();
        all.filter(move |&isa| isa <= best() && rounds_once(isa))
    }
}

/// Compiles functions for each set of instructions; each call runs the best that the machine has.
/// Functions that the bodies call are to be `inline(always)`.
macro_rules! for_each_isa {
    ($(
        $(#[$meta:meta])*
        $visible:vis unsafe fn $name:ident($($arg:ident: $t:ty),* $(,)?) $body:block
    )*) => { $(
        $(#[$meta])*
        $visible unsafe fn $name($($arg: $t),*) {
            /// # Safety
            /// As the function around it, and so are the others.
            #[inline(always)]
            unsafe fn plain($($arg: $t),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
            unsafe fn avx2($($arg: $t),*) {
                // SAFETY: by the contract.
                unsafe { plain($($arg),*) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2"
            )]
            unsafe fn avx512($($arg: $t),*) {
                // SAFETY: by the contract.
                unsafe { plain($($arg),*) }
            }

            // SAFETY: by the contract; the instructions are there.
            unsafe {
                match $crate::isa::best() {
                    #[cfg(target_arch = "x86_64")]
                    $crate::isa::Isa::Avx512 => avx512($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::isa::Isa::Avx2 => avx2($($arg),*),
                    _ => plain($($arg),*),
                }
            }
        }
    )* };
}
pub(crate) use for_each_isa;

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

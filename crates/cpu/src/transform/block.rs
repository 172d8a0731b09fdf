//! Several transforms of one length side by side, a lane each: the functions that are compiled for
//! each instruction set.

use super::kernel::{TransformStage, Vectors, multiply, run};
use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use crate::vector::x86;
use crate::vector::{Plain, Real, Vector};

/// The most lanes on any machine.
pub(super) const MOST_LANES: usize = 16;

/// Where the numbers of some transforms lie: the first of each transform, and how far the next one is.
#[derive(Clone, Copy)]
pub(super) struct Lying<E> {
    pub(super) re: *mut E,
    pub(super) im: *mut E,
    pub(super) starts: [usize; MOST_LANES],
    pub(super) step: usize,
}

impl<E> Lying<E> {
    /// Transforms whose starts are so far apart.
    pub(super) fn regular(re: *mut E, im: *mut E, apart: usize, step: usize) -> Lying<E> {
        Lying { re, im, starts: std::array::from_fn(|n| n * apart), step }
    }

    fn neighbours(&self, count: usize) -> bool {
        (1..count).all(|n| self.starts[n] == self.starts[0] + n)
    }

    /// Whether each transform lies in one piece.
    fn vectors(&self) -> Vectors<E> {
        let at = self.starts[0];
        let (re, im) = (self.re.wrapping_add(at), self.im.wrapping_add(at));
        Vectors { re, im, step: self.step }
    }
}

/// Transforms side by side.
pub(super) struct TransformBlock<'a, E> {
    pub(super) stages: &'a [TransformStage<E>],
    pub(super) length: usize,
    /// How many there are: at most as many as lanes.
    pub(super) count: usize,
    pub(super) from: Lying<E>,
    pub(super) to: Lying<E>,
    /// What the results are multiplied by, if anything.
    pub(super) factors: Option<Vectors<E>>,
    /// Two pieces of memory, each for as many full vectors as the transform is long.
    pub(super) rooms: [*mut E; 2],
}

/// The functions of an instruction set.
pub(super) struct Kernels<E> {
    pub(super) lanes: usize,
    /// # Safety
    /// The transforms have these numbers, the rooms are as large as they say, and all are apart.
    pub(super) block: unsafe fn(&TransformBlock<'_, E>),
    /// Products of full vectors, in place.
    ///
    /// # Safety
    /// There are so many.
    pub(super) multiply: unsafe fn(Vectors<E>, Vectors<E>, usize),
}

/// Small squares are turned at once.
const TILE: usize = 8;

#[inline(always)]
unsafe fn gather<V: Vector>(job: &TransformBlock<'_, V::Element>, to: Vectors<V::Element>) {
    let from = &job.from;
    // SAFETY: the numbers and the room are there by the contract of `block`.
    unsafe {
        for (plane, to) in [(from.re, to.re), (from.im, to.im)] {
            for first in (0..job.length).step_by(TILE) {
                let last = job.length.min(first + TILE);
                for lane in 0..V::LANES {
                    let start = plane.wrapping_add(from.starts[lane]);
                    for j in first..last {
                        let x = match lane < job.count {
                            true => start.wrapping_add(j * from.step).read(),
                            false => V::Element::ZERO,
                        };
                        to.add(j * V::LANES + lane).write(x);
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn scatter<V: Vector>(job: &TransformBlock<'_, V::Element>, from: Vectors<V::Element>) {
    let to = &job.to;
    // SAFETY: the numbers and the room are there by the contract of `block`.
    unsafe {
        for (plane, from) in [(to.re, from.re), (to.im, from.im)] {
            for first in (0..job.length).step_by(TILE) {
                let last = job.length.min(first + TILE);
                for lane in 0..job.count {
                    let start = plane.wrapping_add(to.starts[lane]);
                    for j in first..last {
                        start.wrapping_add(j * to.step).write(from.add(j * V::LANES + lane).read());
                    }
                }
            }
        }
    }
}

/// # Safety
/// As [`Kernels::block`]; the instructions of the vectors are there.
#[inline(always)]
unsafe fn block<V: Vector>(job: &TransformBlock<'_, V::Element>) {
    let whole = job.length * V::LANES;
    let room = |start: *mut V::Element| Vectors {
        re: start,
        im: start.wrapping_add(whole),
        step: V::LANES,
    };
    let rooms = job.rooms.map(room);
    let full = job.count == V::LANES;
    let (in_place, to_place) =
        (full && job.from.neighbours(V::LANES), full && job.to.neighbours(V::LANES));
    // SAFETY: by the contract.
    unsafe {
        let from = if in_place {
            job.from.vectors()
        } else {
            gather::<V>(job, rooms[0]);
            rooms[0]
        };
        let last = rooms[job.stages.len() % 2];
        if to_place && job.factors.is_none() {
            return run::<V>(job.stages, from, job.to.vectors(), rooms);
        }
        run::<V>(job.stages, from, last, rooms);
        match job.factors {
            Some(factors) if to_place => {
                super::kernel::multiply_to::<V>(last, factors, job.to.vectors(), job.length);
            }
            Some(factors) => {
                multiply::<V>(last, factors, job.length);
                scatter::<V>(job, last);
            }
            None => scatter::<V>(job, last),
        }
    }
}

macro_rules! kernels {
    ($($name:ident $lanes:ty $(, $feature:literal)?;)*) => { $(
        pub(super) mod $name {
            use super::*;

            type E = <$lanes as Vector>::Element;

            pub(in crate::transform) static KERNELS: Kernels<E> =
                Kernels { lanes: <$lanes as Vector>::LANES, block: of_block, multiply: of_multiply };

            $(#[target_feature(enable = $feature)])?
            unsafe fn of_block(job: &TransformBlock<'_, E>) {
                // SAFETY: by the contract; the instructions were found.
                unsafe { block::<$lanes>(job) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn of_multiply(x: Vectors<E>, by: Vectors<E>, count: usize) {
                // SAFETY: by the contract; the instructions were found.
                unsafe { multiply::<$lanes>(x, by, count) }
            }
        }
    )* };
}

kernels! {
    wide_plain Plain<f64, 2>;
    narrow_plain Plain<f32, 4>;
}

#[cfg(target_arch = "x86_64")]
kernels! {
    wide_avx2 x86::F64x4, "avx2,fma,bmi1,bmi2";
    narrow_avx2 x86::F32x8, "avx2,fma,bmi1,bmi2";
    wide_avx512 x86::F64x8, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2";
    narrow_avx512 x86::F32x16, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2";
}

/// Numbers with functions for each instruction set.
pub(super) trait Transformed: Real + Send + Sync {
    fn kernels(isa: Isa) -> &'static Kernels<Self>;
}

impl Transformed for f64 {
    fn kernels(isa: Isa) -> &'static Kernels<f64> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => &wide_avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => &wide_avx2::KERNELS,
            _ => &wide_plain::KERNELS,
        }
    }
}

impl Transformed for f32 {
    fn kernels(isa: Isa) -> &'static Kernels<f32> {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => &narrow_avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => &narrow_avx2::KERNELS,
            _ => &narrow_plain::KERNELS,
        }
    }
}

//! Finding the position of the largest or smallest element.
//!
//! The first of equal elements counts, and NaN counts more than any number. That depends on no
//! order, so lanes that are searched may be taken by several champions, of which the best is chosen
//! in the end.

use cotan_array::Dtype;

use super::TILE;
use crate::isa::for_each_isa;
use crate::search::{is_nan, with_elements};

/// How many champions a search over lanes has.
const CHAMPIONS: usize = 16;

/// The position of a champion that has seen nothing.
const NOBODY: i64 = -1;

/// Whether an element takes the place of a champion that came before it.
#[inline(always)]
fn wins<T: PartialOrd + Copy>(x: T, champion: T, largest: bool) -> bool {
    let better = if largest { champion < x } else { x < champion };
    (better | is_nan(x)) & !is_nan(champion)
}

/// # Safety
/// There are `n` lanes; the champions and their positions have as many, or [`CHAMPIONS`].
#[inline(always)]
unsafe fn search<T: PartialOrd + Copy>(
    (best, at): (*mut u8, *mut i64),
    lanes: *const u8,
    (first, step): (i64, i64),
    n: usize,
    largest: bool,
    reduced: bool,
) {
    let (best, lanes) = (best.cast::<T>(), lanes.cast::<T>());
    let challenge = |c: usize, k: usize| {
        // SAFETY: by the contract.
        unsafe {
            let (x, champion, place) = (lanes.add(k).read(), best.add(c).read(), at.add(c).read());
            let takes = (place == NOBODY) | wins(x, champion, largest);
            best.add(c).write(if takes { x } else { champion });
            at.add(c).write(if takes { first + step * k as i64 } else { place });
        }
    };
    if !reduced {
        for k in 0..n {
            challenge(k, k);
        }
        return;
    }
    let whole = n / CHAMPIONS * CHAMPIONS;
    for begin in (0..whole).step_by(CHAMPIONS) {
        for c in 0..CHAMPIONS {
            challenge(c, begin + c);
        }
    }
    for k in whole..n {
        challenge(k - whole, k);
    }
}

/// # Safety
/// There are [`CHAMPIONS`] champions, of which the first has a position.
unsafe fn final_of<T: PartialOrd + Copy>(best: *mut u8, at: *mut i64, largest: bool) {
    let best = best.cast::<T>();
    // SAFETY: by the contract.
    unsafe {
        let (mut champion, mut place) = (best.read(), at.read());
        for c in 1..CHAMPIONS {
            let (x, here) = (best.add(c).read(), at.add(c).read());
            if here == NOBODY {
                continue;
            }
            // One that wins is better; of two that do not beat each other the first counts.
            let beaten = wins(champion, x, largest);
            if wins(x, champion, largest) || !beaten && here < place {
                (champion, place) = (x, here);
            }
        }
        at.write(place);
    }
}

/// Forgets all champions.
///
/// # Safety
/// There is room for the positions of a tile.
pub(super) unsafe fn begin(at: *mut i64) {
    for k in 0..TILE {
        // SAFETY: by the contract.
        unsafe { at.add(k).write(NOBODY) };
    }
}

for_each_isa! {
    /// Lets lanes take the places of champions: lane `k` is at position `first + step * k`, and
    /// challenges one of a few if lanes are `reduced`, else the one of its own.
    ///
    /// # Safety
    /// There are `n` lanes of the type; the champions and their positions fill tiles.
    pub(super) unsafe fn search_lanes(
        dtype: Dtype,
        champions: (*mut u8, *mut i64),
        lanes: *const u8,
        positions: (i64, i64),
        n: usize,
        how: (bool, bool),
    ) {
        let (largest, reduced) = how;
        // SAFETY: by the contract.
        unsafe {
            with_elements!(dtype, T => {
                search::<T>(champions, lanes, positions, n, largest, reduced);
            });
        }
    }
}

/// Puts the position of the best of the champions of a search over lanes first.
///
/// # Safety
/// As [`search_lanes`], which has seen a lane.
pub(super) unsafe fn end(dtype: Dtype, (best, at): (*mut u8, *mut i64), largest: bool) {
    // SAFETY: by the contract.
    unsafe {
        with_elements!(dtype, T => final_of::<T>(best, at, largest));
    }
}

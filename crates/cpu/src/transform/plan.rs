//! What is known of a transform before it is run: roots of unity.

use cotan_schedule::Transform;

use super::block::{Kernels, Lying, MOST_LANES, TransformBlock, Transformed};
use super::kernel::{TransformStage, Vectors, root, stages};

/// A transform with its roots of unity.
pub(super) struct TransformPlan<E> {
    pub(super) length: usize,
    how: How<E>,
    /// For several side by side, where the length is for that.
    pub(super) side_by_side: Option<Vec<TransformStage<E>>>,
}

enum How<E> {
    Direct(Vec<TransformStage<E>>),
    Split {
        columns: (usize, Vec<TransformStage<E>>),
        rows: (usize, Vec<TransformStage<E>>),
        /// `w_n^(j k)` for column `j` and place `k` of its transform, row by row of `k`: all real
        /// parts, then all imaginary parts, and a vector more.
        between: Vec<E>,
    },
    Chirp {
        by: Box<TransformPlan<E>>,
        /// `exp(-pi i j^2 / n)`: real parts, imaginary parts.
        chirp: Vec<E>,
        /// The transform of its conjugate, over the length: real parts, imaginary parts.
        against: Vec<E>,
    },
}

/// Numbers one after the other, or at equal distances.
#[derive(Clone, Copy)]
pub(super) struct ComplexLine<E> {
    pub(super) re: *mut E,
    pub(super) im: *mut E,
    pub(super) step: usize,
}

impl<E> ComplexLine<E> {
    /// Real and imaginary parts exchanged: transforms of these are those with conjugate roots.
    pub(super) fn exchanged(self) -> ComplexLine<E> {
        ComplexLine { re: self.im, im: self.re, step: self.step }
    }

    fn at(self, k: usize) -> ComplexLine<E> {
        let k = k * self.step;
        ComplexLine { re: self.re.wrapping_add(k), im: self.im.wrapping_add(k), step: self.step }
    }
}

/// What a run looks at between pieces of work.
pub(super) type GoOn<'a> = &'a mut dyn FnMut(usize) -> bool;

/// About how many operations a root of unity takes.
const ROOT: usize = 64;
/// So many are computed between two looks.
const AT_A_TIME: usize = 1 << 12;

impl<E: Transformed> TransformPlan<E> {
    /// Nothing if `go_on`, which is told how much is about to be done, says no.
    pub(super) fn new(
        length: usize,
        kernels: &Kernels<E>,
        go_on: GoOn<'_>,
    ) -> Option<TransformPlan<E>> {
        let of = |factors: &[usize]| (factors.iter().product::<usize>(), stages(factors));
        let how = match Transform::of(length) {
            Transform::Direct(factors) => How::Direct(of(&factors).1),
            Transform::Split { columns, rows } => {
                let (columns, rows) = (of(&columns), of(&rows));
                let mut between = vec![E::ZERO; 2 * length + MOST_LANES];
                for k in 0..columns.0 {
                    if !go_on(rows.0 * ROOT) {
                        return None;
                    }
                    for j in 0..rows.0 {
                        let (re, im) = root(j * k, length);
                        between[k * rows.0 + j] = re;
                        between[length + k * rows.0 + j] = im;
                    }
                }
                How::Split { columns, rows, between }
            }
            Transform::Chirp { length: long, .. } => {
                let by = TransformPlan::new(long, kernels, go_on)?;
                let mut chirp = vec![E::ZERO; 2 * length];
                let mut spread = vec![E::ZERO; 2 * long];
                let over = E::of(1.0 / long as f64);
                for j in 0..length {
                    if j.is_multiple_of(AT_A_TIME) && !go_on(AT_A_TIME * ROOT) {
                        return None;
                    }
                    // j^2 modulo 2 n
                    let square = (j as u128 * j as u128 % (2 * length as u128)) as usize;
                    let (re, im) = root::<E>(square, 2 * length);
                    (chirp[j], chirp[length + j]) = (re, im);
                    for at in [j, (long - j) % long] {
                        spread[at] = re * over;
                        spread[long + at] = im * E::of(-1.0) * over;
                    }
                }
                let mut against = vec![E::ZERO; 2 * long];
                let mut room = vec![0u64; Transform::room(long)];
                let line = |x: &mut Vec<E>| {
                    let re = x.as_mut_ptr();
                    ComplexLine { re, im: re.wrapping_add(long), step: 1 }
                };
                let (from, to) = (line(&mut spread), line(&mut against));
                // SAFETY: both have as many numbers, and the room is what it should be.
                if !unsafe { by.run(kernels, from, to, room.as_mut_ptr().cast(), go_on) } {
                    return None;
                }
                How::Chirp { by: Box::new(by), chirp, against }
            }
        };
        let side_by_side = Transform::side_by_side(length).map(|factors| stages(&factors));
        Some(TransformPlan { length, how, side_by_side })
    }

    /// About how many operations it takes.
    pub(super) fn work(&self) -> usize {
        let steps = (usize::BITS - self.length.leading_zeros()) as usize;
        self.length.saturating_mul(steps)
    }

    /// One transform; `false` if `go_on` says no.
    ///
    /// # Safety
    /// The lines are as long as the transform, the second without gaps; the room is that of the
    /// transform; all are apart.
    pub(super) unsafe fn run(
        &self,
        kernels: &Kernels<E>,
        from: ComplexLine<E>,
        to: ComplexLine<E>,
        room: *mut E,
        go_on: GoOn<'_>,
    ) -> bool {
        let n = self.length;
        let lanes = kernels.lanes;
        match &self.how {
            How::Direct(stages) => {
                let block = TransformBlock {
                    stages,
                    length: n,
                    count: 1,
                    from: Lying::regular(from.re, from.im, 0, from.step),
                    to: Lying::regular(to.re, to.im, 0, to.step),
                    factors: None,
                    rooms: rooms(room, n, lanes),
                };
                // SAFETY: by the contract.
                unsafe { (kernels.block)(&block) };
            }
            How::Split { columns: (a, columns), rows: (b, rows), between } => {
                let (a, b) = (*a, *b);
                let longest = a.max(b);
                let middle = aligned(room.wrapping_add(4 * longest * lanes));
                let between = between.as_ptr().cast_mut();
                for first in (0..b).step_by(lanes) {
                    let count = lanes.min(b - first);
                    if !go_on(count * a * 8) {
                        return false;
                    }
                    let own = from.at(first);
                    let (re, im) = (middle.wrapping_add(first), middle.wrapping_add(n + first));
                    let factors = between.wrapping_add(first);
                    let block = TransformBlock {
                        stages: columns,
                        length: a,
                        count,
                        from: Lying::regular(own.re, own.im, own.step, b * own.step),
                        to: Lying::regular(re, im, 1, b),
                        factors: Some(Vectors {
                            re: factors,
                            im: factors.wrapping_add(n),
                            step: b,
                        }),
                        rooms: rooms(room, longest, lanes),
                    };
                    // SAFETY: by the contract; a vector of factors may go on into the next row, or
                    // beyond the last one, where there is one more.
                    unsafe { (kernels.block)(&block) };
                }
                for first in (0..a).step_by(lanes) {
                    let count = lanes.min(a - first);
                    if !go_on(count * b * 8) {
                        return false;
                    }
                    let (re, im) =
                        (middle.wrapping_add(first * b), middle.wrapping_add(n + first * b));
                    let own = to.at(first);
                    let block = TransformBlock {
                        stages: rows,
                        length: b,
                        count,
                        from: Lying::regular(re, im, b, 1),
                        to: Lying::regular(own.re, own.im, own.step, a * own.step),
                        factors: None,
                        rooms: rooms(room, longest, lanes),
                    };
                    // SAFETY: by the contract.
                    unsafe { (kernels.block)(&block) };
                }
            }
            How::Chirp { by, chirp, against } => {
                let long = by.length;
                let first = room;
                let second = room.wrapping_add(2 * long);
                let rest = aligned(room.wrapping_add(4 * long));
                let line = |start: *mut E| ComplexLine {
                    re: start,
                    im: start.wrapping_add(long),
                    step: 1,
                };
                let (spread, made) = (line(first), line(second));
                // SAFETY: by the contract; the lengths of the tables are those of the transforms.
                unsafe {
                    std::ptr::write_bytes(first, 0, 2 * long);
                    for j in 0..n {
                        let (x, w) = (from.read(j), (chirp[j], chirp[n + j]));
                        spread.write(j, times(x, w));
                    }
                    if !by.run(kernels, spread, made, rest, go_on) {
                        return false;
                    }
                    let (re, im) = (against.as_ptr().cast_mut(), against.as_ptr().cast_mut());
                    let against = Vectors { re, im: im.wrapping_add(long), step: lanes };
                    let all = Vectors { re: made.re, im: made.im, step: lanes };
                    (kernels.multiply)(all, against, long / lanes);
                    if !by.run(kernels, made.exchanged(), spread.exchanged(), rest, go_on) {
                        return false;
                    }
                    for j in 0..n {
                        let (x, w) = (spread.read(j), (chirp[j], chirp[n + j]));
                        to.write(j, times(x, w));
                    }
                }
            }
        }
        true
    }
}

impl<E: Transformed> ComplexLine<E> {
    /// # Safety
    /// The number exists.
    unsafe fn read(self, k: usize) -> (E, E) {
        let at = self.at(k);
        // SAFETY: by the contract.
        unsafe { (at.re.read(), at.im.read()) }
    }

    /// # Safety
    /// The number exists.
    unsafe fn write(self, k: usize, (re, im): (E, E)) {
        let at = self.at(k);
        // SAFETY: by the contract.
        unsafe {
            at.re.write(re);
            at.im.write(im);
        }
    }
}

fn times<E: Transformed>((a, b): (E, E), (c, d): (E, E)) -> (E, E) {
    let minus = E::of(-1.0);
    (a * c + minus * b * d, a * d + b * c)
}

/// Where vectors may begin: at lines of memory, so that none is in two.
pub(super) fn aligned<E>(room: *mut E) -> *mut E {
    room.wrapping_add(room.align_offset(64))
}

/// Two pieces of room for transforms of a length.
pub(super) fn rooms<E>(room: *mut E, length: usize, lanes: usize) -> [*mut E; 2] {
    [room, room.wrapping_add(2 * length * lanes)]
}

//! Transforms of a vector of complex numbers at a time: stages after Stockham, each of which splits a
//! transform into `R` shorter ones and leaves the results in their order.
//!
//! With $w_n = e^{-2 \pi i / n}$ and $n = R m$, a stage makes, for $p < m$ and $k < R$,
//! $$ y[R p + k] = w_n^{p k} \sum_{j < R} x[p + m j]\, w_R^{j k}, $$
//! for each of the $s$ transforms that the stages before have left, interleaved. What is left are
//! $R s$ transforms of length $m$.

use crate::vector::{Real, Vector};

/// The largest factor of a stage.
pub(super) const MOST: usize = cotan_schedule::Transform::MOST_FACTOR;

/// Vectors of complex numbers in memory: the real parts, the imaginary parts, and how far the next
/// vector is from one.
pub(super) struct Vectors<E> {
    pub(super) re: *mut E,
    pub(super) im: *mut E,
    pub(super) step: usize,
}

impl<E> Clone for Vectors<E> {
    fn clone(&self) -> Vectors<E> {
        *self
    }
}

impl<E> Copy for Vectors<E> {}

/// A stage.
pub(super) struct TransformStage<E> {
    radix: usize,
    /// The length of the transforms that it leaves.
    left: usize,
    /// How many transforms there are before it.
    before: usize,
    /// `w_n^(p k)` for `p < m` and `0 < k < R`: real part, imaginary part.
    twiddles: Box<[E]>,
    /// `cos` and `sin` of `2 pi k / R`, for a factor without formulas of its own.
    roots: Box<[E]>,
}

/// `exp(-2 pi i k / n)`
pub(super) fn root<E: Real>(k: usize, n: usize) -> (E, E) {
    let (c, s) = turn(k as u64 % n as u64, n as u64);
    (E::of(c), E::of(-s))
}

/// Cosine and sine of a part of a turn, in eighths of one.
fn turn(k: u64, n: u64) -> (f64, f64) {
    // 8 k / n = eighth + rest / n
    let (eighth, rest) = (8 * k / n, 8 * k % n);
    let angle = |part: u64| part as f64 / n as f64 * std::f64::consts::FRAC_PI_4;
    let (near, far) = (angle(rest), angle(n - rest));
    match eighth {
        0 => (near.cos(), near.sin()),
        1 => (far.sin(), far.cos()),
        2 => (-near.sin(), near.cos()),
        3 => (-far.cos(), far.sin()),
        4 => (-near.cos(), -near.sin()),
        5 => (-far.sin(), -far.cos()),
        6 => (near.sin(), -near.cos()),
        _ => (far.cos(), -far.sin()),
    }
}

/// The stages of a transform whose length is a product of factors.
pub(super) fn stages<E: Real>(factors: &[usize]) -> Vec<TransformStage<E>> {
    let mut length: usize = factors.iter().product();
    let mut before = 1;
    let mut stages = Vec::with_capacity(factors.len());
    for &radix in factors {
        let left = length / radix;
        let mut twiddles = Vec::with_capacity(2 * left * (radix - 1));
        for p in 0..left {
            for k in 1..radix {
                let (re, im) = root::<E>(p * k, length);
                twiddles.extend([re, im]);
            }
        }
        let roots = (0..radix).flat_map(|k| {
            let (c, s) = turn(k as u64, radix as u64);
            [E::of(c), E::of(s)]
        });
        let roots = if matches!(radix, 2 | 3 | 4 | 5 | 8) { [].into() } else { roots.collect() };
        stages.push(TransformStage { radix, left, before, twiddles: twiddles.into(), roots });
        (length, before) = (left, before * radix);
    }
    stages
}

/// A vector of complex numbers.
#[derive(Clone, Copy)]
struct C<V> {
    re: V,
    im: V,
}

impl<V: Vector> C<V> {
    #[inline(always)]
    unsafe fn zero() -> C<V> {
        // SAFETY: the instructions are there, as for all that follows here.
        let zero = unsafe { V::splat(V::Element::ZERO) };
        C { re: zero, im: zero }
    }

    #[inline(always)]
    unsafe fn plus(self, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.plus(b.re), im: self.im.plus(b.im) } }
    }

    #[inline(always)]
    unsafe fn minus(self, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.minus(b.re), im: self.im.minus(b.im) } }
    }

    /// `self - i b`
    #[inline(always)]
    unsafe fn minus_i(self, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.plus(b.im), im: self.im.minus(b.re) } }
    }

    /// `self + i b`
    #[inline(always)]
    unsafe fn plus_i(self, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.minus(b.im), im: self.im.plus(b.re) } }
    }

    #[inline(always)]
    unsafe fn scaled(self, x: V) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.times(x), im: self.im.times(x) } }
    }

    /// `self x + b`
    #[inline(always)]
    unsafe fn scaled_plus(self, x: V, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.mul_add(x, b.re), im: self.im.mul_add(x, b.im) } }
    }

    /// `b - self x`
    #[inline(always)]
    unsafe fn scaled_from(self, x: V, b: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe { C { re: self.re.mul_sub_from(x, b.re), im: self.im.mul_sub_from(x, b.im) } }
    }

    #[inline(always)]
    unsafe fn times(self, w: C<V>) -> C<V> {
        // SAFETY: as above.
        unsafe {
            C {
                re: self.im.mul_sub_from(w.im, self.re.times(w.re)),
                im: self.im.mul_add(w.re, self.re.times(w.im)),
            }
        }
    }
}

/// `sum_j x[j] w_R^(j k)` for all `k`.
trait Butterfly<V: Vector, const R: usize> {
    /// # Safety
    /// The instructions of the vectors are there.
    unsafe fn of(x: [C<V>; R]) -> [C<V>; R];
}

struct Formulas;

impl<V: Vector> Butterfly<V, 2> for Formulas {
    #[inline(always)]
    unsafe fn of([a, b]: [C<V>; 2]) -> [C<V>; 2] {
        // SAFETY: by the contract, here and below.
        unsafe { [a.plus(b), a.minus(b)] }
    }
}

impl<V: Vector> Butterfly<V, 3> for Formulas {
    #[inline(always)]
    unsafe fn of([a, b, c]: [C<V>; 3]) -> [C<V>; 3] {
        // SAFETY: by the contract.
        unsafe {
            let (half, sine) = (V::splat(V::Element::of(0.5)), V::splat(V::Element::of(SIN_60)));
            let (sum, difference) = (b.plus(c), b.minus(c).scaled(sine));
            let middle = sum.scaled_from(half, a);
            [a.plus(sum), middle.minus_i(difference), middle.plus_i(difference)]
        }
    }
}

impl<V: Vector> Butterfly<V, 4> for Formulas {
    #[inline(always)]
    unsafe fn of([a, b, c, d]: [C<V>; 4]) -> [C<V>; 4] {
        // SAFETY: by the contract.
        unsafe {
            let (e, f, g, h) = (a.plus(c), a.minus(c), b.plus(d), b.minus(d));
            [e.plus(g), f.minus_i(h), e.minus(g), f.plus_i(h)]
        }
    }
}

impl<V: Vector> Butterfly<V, 5> for Formulas {
    #[inline(always)]
    unsafe fn of([a, b, c, d, e]: [C<V>; 5]) -> [C<V>; 5] {
        // SAFETY: by the contract.
        unsafe {
            let number = |x: f64| V::splat(V::Element::of(x));
            let (c1, c2) = (number(COS_72), number(COS_144));
            let (s1, s2) = (number(SIN_72), number(SIN_144));
            let (outer, inner) = (b.plus(e), c.plus(d));
            let (over, under) = (b.minus(e), c.minus(d));
            let first = inner.scaled_plus(c2, outer.scaled_plus(c1, a));
            let second = inner.scaled_plus(c1, outer.scaled_plus(c2, a));
            let slope = under.scaled_plus(s2, over.scaled(s1));
            let other = under.scaled_from(s1, over.scaled(s2));
            [
                a.plus(outer).plus(inner),
                first.minus_i(slope),
                second.minus_i(other),
                second.plus_i(other),
                first.plus_i(slope),
            ]
        }
    }
}

impl<V: Vector> Butterfly<V, 8> for Formulas {
    #[inline(always)]
    unsafe fn of(x: [C<V>; 8]) -> [C<V>; 8] {
        // SAFETY: by the contract.
        unsafe {
            let half = V::splat(V::Element::of(std::f64::consts::FRAC_1_SQRT_2));
            let [a, b, c, d]: [C<V>; 4] = Formulas::of([x[0], x[2], x[4], x[6]]);
            let [e, f, g, h]: [C<V>; 4] = Formulas::of([x[1], x[3], x[5], x[7]]);
            // (1 - i) f and (-1 - i) h, of which the root of 1/2 is left out.
            let f = C { re: f.re.plus(f.im), im: f.im.minus(f.re) };
            let h = C { re: h.re.minus(h.im), im: h.re.plus(h.im) };
            [
                a.plus(e),
                f.scaled_plus(half, b),
                c.minus_i(g),
                h.scaled_from(half, d),
                a.minus(e),
                f.scaled_from(half, b),
                c.plus_i(g),
                h.scaled_plus(half, d),
            ]
        }
    }
}

const SIN_60: f64 = 0.866_025_403_784_438_6;
const COS_72: f64 = 0.309_016_994_374_947_45;
const COS_144: f64 = -0.809_016_994_374_947_5;
const SIN_72: f64 = 0.951_056_516_295_153_5;
const SIN_144: f64 = 0.587_785_252_292_473_1;

#[inline(always)]
unsafe fn load<V: Vector>(from: Vectors<V::Element>, at: usize) -> C<V> {
    let at = at * from.step;
    // SAFETY: by the contract of who calls.
    unsafe { C { re: V::load(from.re.add(at)), im: V::load(from.im.add(at)) } }
}

#[inline(always)]
unsafe fn store<V: Vector>(x: C<V>, to: Vectors<V::Element>, at: usize) {
    let at = at * to.step;
    // SAFETY: by the contract of who calls.
    unsafe {
        x.re.store(to.re.add(at));
        x.im.store(to.im.add(at));
    }
}

/// A stage whose factor has formulas.
///
/// # Safety
/// The places have the vectors of the stage, which are apart, and the instructions are there.
#[inline(always)]
unsafe fn known<V: Vector, const R: usize>(
    stage: &TransformStage<V::Element>,
    x: Vectors<V::Element>,
    y: Vectors<V::Element>,
) where
    Formulas: Butterfly<V, R>,
{
    let (m, s) = (stage.left, stage.before);
    for p in 0..m {
        // SAFETY: by the contract; there are `2 (R - 1)` numbers for each `p`.
        unsafe {
            if p == 0 {
                for q in 0..s {
                    let all = std::array::from_fn(|j| load::<V>(x, q + s * m * j));
                    let made = Formulas::of(all);
                    made.into_iter().enumerate().for_each(|(k, z)| store(z, y, q + s * k));
                }
                continue;
            }
            let twiddles = stage.twiddles.as_ptr().add(p * 2 * (R - 1));
            let w: [C<V>; R] = std::array::from_fn(|k| {
                let at = twiddles.add(2 * k.max(1) - 2);
                C { re: V::splat(at.read()), im: V::splat(at.add(1).read()) }
            });
            for q in 0..s {
                let all = std::array::from_fn(|j| load::<V>(x, q + s * (p + m * j)));
                let made = Formulas::of(all);
                store(made[0], y, q + s * R * p);
                for k in 1..R {
                    store(made[k].times(w[k]), y, q + s * (R * p + k));
                }
            }
        }
    }
}

/// A stage of any odd factor: the sums and differences of opposite terms are multiplied by cosines and
/// by sines.
///
/// # Safety
/// As [`known`].
#[inline(always)]
unsafe fn odd<V: Vector>(
    stage: &TransformStage<V::Element>,
    x: Vectors<V::Element>,
    y: Vectors<V::Element>,
) {
    let (m, s, r) = (stage.left, stage.before, stage.radix);
    let half = r / 2;
    // SAFETY: by the contract.
    unsafe {
        let (mut sums, mut differences) = ([C::<V>::zero(); MOST / 2], [C::<V>::zero(); MOST / 2]);
        for p in 0..m {
            for q in 0..s {
                let first = load::<V>(x, q + s * p);
                let mut total = first;
                for j in 0..half {
                    let near = load::<V>(x, q + s * (p + m * (j + 1)));
                    let far = load::<V>(x, q + s * (p + m * (r - 1 - j)));
                    (sums[j], differences[j]) = (near.plus(far), near.minus(far));
                    total = total.plus(sums[j]);
                }
                store(total, y, q + s * r * p);
                for k in 1..=half {
                    let (mut straight, mut across) = (first, C::zero());
                    let mut at = 0;
                    for j in 0..half {
                        at += k;
                        at -= if at >= r { r } else { 0 };
                        let (c, sine) = (stage.roots[2 * at], stage.roots[2 * at + 1]);
                        straight = sums[j].scaled_plus(V::splat(c), straight);
                        across = differences[j].scaled_plus(V::splat(sine), across);
                    }
                    for (k, z) in [(k, straight.minus_i(across)), (r - k, straight.plus_i(across))]
                    {
                        let at = 2 * (p * (r - 1) + k - 1);
                        let (re, im) = (stage.twiddles[at], stage.twiddles[at + 1]);
                        let w = C { re: V::splat(re), im: V::splat(im) };
                        store(z.times(w), y, q + s * (r * p + k));
                    }
                }
            }
        }
    }
}

/// All stages, one after the other.
///
/// # Safety
/// The places and both rooms have as many vectors as the transform is long, and are apart; the first
/// room may be the place to read from. The instructions of the vectors are there.
#[inline(always)]
pub(super) unsafe fn run<V: Vector>(
    stages: &[TransformStage<V::Element>],
    from: Vectors<V::Element>,
    to: Vectors<V::Element>,
    rooms: [Vectors<V::Element>; 2],
) {
    let mut x = from;
    for (n, stage) in stages.iter().enumerate() {
        let y = if n + 1 == stages.len() { to } else { rooms[(n + 1) % 2] };
        // SAFETY: by the contract.
        unsafe {
            match stage.radix {
                2 => known::<V, 2>(stage, x, y),
                3 => known::<V, 3>(stage, x, y),
                4 => known::<V, 4>(stage, x, y),
                5 => known::<V, 5>(stage, x, y),
                8 => known::<V, 8>(stage, x, y),
                _ => odd::<V>(stage, x, y),
            }
        }
        x = y;
    }
    if stages.is_empty() {
        // SAFETY: by the contract, of one vector.
        unsafe { store(load::<V>(from, 0), to, 0) };
    }
}

/// Multiplies vectors by others.
///
/// # Safety
/// There are so many at all places, and the instructions are there.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector>(
    x: Vectors<V::Element>,
    by: Vectors<V::Element>,
    count: usize,
) {
    for at in 0..count {
        // SAFETY: by the contract.
        unsafe { store(load::<V>(x, at).times(load::<V>(by, at)), x, at) };
    }
}

/// Stores the products of vectors.
///
/// # Safety
/// There are so many at all places, which are apart, and the instructions are there.
#[inline(always)]
pub(super) unsafe fn multiply_to<V: Vector>(
    x: Vectors<V::Element>,
    by: Vectors<V::Element>,
    to: Vectors<V::Element>,
    count: usize,
) {
    for at in 0..count {
        // SAFETY: by the contract.
        unsafe { store(load::<V>(x, at).times(load::<V>(by, at)), to, at) };
    }
}

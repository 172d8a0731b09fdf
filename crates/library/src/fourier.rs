//! Fourier transforms, and convolutions by them.
//!
//! Complex numbers are packed for the routine: real parts and imaginary parts are the two parts of a
//! new outermost axis. Transforms of real numbers are those of half as many complex numbers.

use cotan_array::Dtype;
use cotan_ir::Routine;

use crate::axes::{axes_of, axis_of};
use crate::context::{Context, Fact};
use crate::function::functions;
use crate::term::Term;

/// Complex numbers: real and imaginary parts of one shape.
type Pair<'c> = [Term<'c>; 2];

/// The parts of an argument: imaginary parts that are not given are zeros.
fn parts<'c>(c: &'c Context, given: &[Term<'c>]) -> Pair<'c> {
    match *given {
        [re] => [re, c.full(&re.dims(), 0.0, re.dtype())],
        [re, im] if re.dims() == im.dims() => [re, im],
        [re, im] => {
            let message =
                format!("real parts are {} and imaginary parts {}", re.shown(), im.shown());
            [c.wrong(message, "both have one shape"), re]
        }
        _ => [c.wrong("complex numbers have a real and an imaginary part", ""); 2],
    }
}

fn packed<'c>(c: &'c Context, [re, im]: Pair<'c>) -> Term<'c> {
    match (re.id(), im.id()) {
        (Some(re), Some(im)) => c.make(|b| b.stack(&[re, im])),
        _ => re.nothing(),
    }
}

fn unpacked<'c>(z: Term<'c>) -> Pair<'c> {
    [z.nth(0), z.nth(1)]
}

/// The transform along an axis of packed numbers, counted without the first.
fn transformed<'c>(z: Term<'c>, axis: usize, inverse: bool) -> Term<'c> {
    let rank = z.rank();
    if rank < 2 {
        return z.nothing();
    }
    // The other axes, the parts, the axis.
    let others = (1..rank).filter(|&k| k != axis + 1);
    let order: Vec<usize> = others.chain([0, axis + 1]).collect();
    let routine = if inverse { Routine::DftConjugate } else { Routine::Dft };
    let made = z.permute(&order).map(|b, t| b.routine(routine, &[t]));
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(place, &k)| back[k] = place);
    made.permute(&back)
}

/// How results are scaled.
#[derive(Clone, Copy, PartialEq)]
enum Norm {
    Backward,
    Ortho,
    Forward,
}

fn norm_of(c: &Context, word: &str) -> Norm {
    match word {
        "backward" => Norm::Backward,
        "ortho" => Norm::Ortho,
        "forward" => Norm::Forward,
        _ => {
            c.wrong(format!("there is no norm `{word}`"), "norms are backward, ortho and forward");
            Norm::Backward
        }
    }
}

/// What a transform over so many elements is multiplied by.
fn factor(norm: Norm, count: usize, inverse: bool) -> Option<f64> {
    match (norm, inverse) {
        (Norm::Backward, true) | (Norm::Forward, false) => Some(1.0 / count as f64),
        (Norm::Ortho, _) => Some(1.0 / (count as f64).sqrt()),
        (Norm::Backward, false) | (Norm::Forward, true) => None,
    }
}

fn scaled<'c>(z: Term<'c>, factor: Option<f64>) -> Term<'c> {
    match factor {
        Some(factor) if z.size() > 0 => z * factor,
        _ => z,
    }
}

/// An array cut or filled up with zeros along an axis.
fn sized<'c>(x: Term<'c>, axis: usize, size: usize) -> Term<'c> {
    let old = x.dims().get(axis).copied().unwrap_or(size);
    match old == size {
        true => x,
        // Reads out of range are zeros.
        false => x.along(axis, size, |i| i),
    }
}

/// The size asked for along an axis, or the one that there is.
fn size_of(c: &Context, asked: &[usize], own: usize) -> usize {
    match *asked {
        [] => own,
        [0] => {
            c.wrong("a transform of no elements", "`n` is 1 at least");
            1
        }
        [n] => n,
        _ => {
            c.wrong("one size is needed", "");
            own
        }
    }
}

/// Transforms along axes, one after the other.
fn along_axes<'c>(
    c: &'c Context,
    z: Pair<'c>,
    axes: Vec<usize>,
    sizes: &[usize],
    norm: &str,
    inverse: bool,
) -> Pair<'c> {
    let norm = norm_of(c, norm);
    let mut made = packed(c, z);
    let mut count = 1usize;
    for &axis in &axes {
        let own = made.dims().get(axis + 1).copied().unwrap_or(1);
        let n = size_of(c, sizes, own);
        made = transformed(sized(made, axis + 1, n), axis, inverse);
        count = count.saturating_mul(n);
    }
    unpacked(scaled(made, factor(norm, count, inverse)))
}

fn one_axis<'c>(
    c: &'c Context,
    z: &[Term<'c>],
    sizes: &[usize],
    axis: i64,
    norm: &str,
    inverse: bool,
) -> Pair<'c> {
    let z = parts(c, z);
    let axis = axis_of(c, axis, z[0].rank());
    along_axes(c, z, vec![axis], sizes, norm, inverse)
}

fn many_axes<'c>(
    c: &'c Context,
    z: &[Term<'c>],
    axes: Option<&[i64]>,
    norm: &str,
    inverse: bool,
) -> Pair<'c> {
    let z = parts(c, z);
    let axes = axes_of(c, axes, z[0].rank());
    along_axes(c, z, axes, &[], norm, inverse)
}

// ---- real numbers ---------------------------------------------------------------------------------

/// `cos` and `sin` of `2 pi k / n` for `k` from 0, with axes of size 1 after the first.
fn turns<'c>(c: &'c Context, count: usize, n: usize, dtype: Dtype, after: usize) -> Pair<'c> {
    let k = c.iota(count).cast(Dtype::F64);
    let angle = k * (std::f64::consts::TAU / n as f64);
    [angle.cos(), angle.sin()].map(|x| x.cast(dtype).column(after))
}

/// The first half of the transform of real numbers along the first axis, in which there are an even
/// number: those at even places are taken as real parts, the others as imaginary parts. Of the
/// transform `Z` of these,
/// `X[k] = (Z[k] + conj Z[h - k]) / 2 - i w^k (Z[k] - conj Z[h - k]) / 2`.
fn half_of_real<'c>(c: &'c Context, x: Term<'c>) -> Pair<'c> {
    let dims = x.dims();
    let (n, rest) = (dims[0], &dims[1..]);
    let h = n / 2;
    let pairs = x.reshape(&[&[h, 2], rest].concat());
    // [2, h, rest]
    let order: Vec<usize> = [1, 0].into_iter().chain(2..pairs.rank()).collect();
    let [re, im] = unpacked(transformed(pairs.permute(&order), 0, false));
    let there = |x: Term<'c>| x.along(0, h + 1, |k| k % h);
    let back = |x: Term<'c>| x.along(0, h + 1, |k| (k.affine(-1, h as i64)) % h);
    let (ar, ai, br, bi) = (there(re), there(im), back(re), back(im));
    let [cos, sin] = turns(c, h + 1, n, x.dtype(), rest.len());
    let (er, ei, or, oi) = (ar + br, ai - bi, ar - br, ai + bi);
    [(er + cos * oi - sin * or) * 0.5, (ei - sin * oi - cos * or) * 0.5]
}

/// The first half of the transform of real numbers along an axis, which is the first of the result.
fn real_front<'c>(c: &'c Context, x: Term<'c>) -> Pair<'c> {
    let n = x.len();
    if n == 0 {
        return [c.wrong("a transform of no elements", "an axis has 1 at least"); 2];
    }
    if n.is_multiple_of(2) {
        return half_of_real(c, x);
    }
    let zeros = c.full(&x.dims(), 0.0, x.dtype());
    let [re, im] = unpacked(transformed(packed(c, [x, zeros]), 0, false));
    [re, im].map(|part| sized(part, 0, n / 2 + 1))
}

fn real<'c>(c: &'c Context, x: Term<'c>, sizes: &[usize], axis: i64, norm: &str) -> Pair<'c> {
    let axis = axis_of(c, axis, x.rank());
    if c.failed() {
        return [x.nothing(); 2];
    }
    let n = size_of(c, sizes, x.dims()[axis]);
    let made = real_front(c, sized(x, axis, n).fronted(axis));
    let factor = factor(norm_of(c, norm), n, false);
    made.map(|part| scaled(part, factor).restored(axis))
}

/// The `n` real numbers whose transform has a first half, along the first axis, not yet divided by
/// `n`. The imaginary parts of the first one, and of the middle one of an even number, are not read.
fn inverse_front<'c>(c: &'c Context, [re, im]: Pair<'c>, n: usize) -> Term<'c> {
    let h = n / 2;
    let (re, im) = (sized(re, 0, h + 1), sized(im, 0, h + 1));
    let after = re.rank().saturating_sub(1);
    let k = c.iota(h + 1);
    let ends = if n.is_multiple_of(2) { k.eq(0i64) | k.eq(h) } else { k.eq(0i64) };
    let ends = ends.column(after);
    let im = ends.choose(im.number(0.0), im);
    if !n.is_multiple_of(2) {
        // The other half is the conjugate.
        let mirrored = |k: Term<'c>| k.gt(h).choose(k.affine(-1, n as i64), k);
        let late = c.iota(n).gt(h).column(after);
        let (re, im) = (re.along(0, n, mirrored), im.along(0, n, mirrored));
        let im = late.choose(-im, im);
        return transformed(packed(c, [re, im]), 0, true).nth(0);
    }
    // Z[k] = X[k] + conj X[h - k] + i w^-k (X[k] - conj X[h - k])
    let there = |x: Term<'c>| x.along(0, h, |k| k);
    let back = |x: Term<'c>| x.along(0, h, |k| k.affine(-1, h as i64));
    let (ar, ai, br, bi) = (there(re), there(im), back(re), back(im));
    let [cos, sin] = turns(c, h, n, re.dtype(), after);
    let (er, ei, or, oi) = (ar + br, ai - bi, ar - br, ai + bi);
    let z = [er - sin * or - cos * oi, ei + cos * or - sin * oi];
    let made = transformed(packed(c, z), 0, true);
    let order: Vec<usize> = [1, 0].into_iter().chain(2..made.rank()).collect();
    let dims: Vec<usize> = [n].into_iter().chain(re.dims().into_iter().skip(1)).collect();
    made.permute(&order).reshape(&dims)
}

fn inverse_real<'c>(
    c: &'c Context,
    z: &[Term<'c>],
    sizes: &[usize],
    axis: i64,
    norm: &str,
) -> Term<'c> {
    let [re, im] = parts(c, z);
    let axis = axis_of(c, axis, re.rank());
    if c.failed() {
        return re.nothing();
    }
    let half = re.dims()[axis];
    let n = match *sizes {
        [] if half < 2 => return c.wrong("the size of the result is not known", "give `n`"),
        [] => 2 * (half - 1),
        _ => size_of(c, sizes, half),
    };
    let made = inverse_front(c, [re, im].map(|part| part.fronted(axis)), n);
    scaled(made, factor(norm_of(c, norm), n, true)).restored(axis)
}

// ---- frequencies ----------------------------------------------------------------------------------

fn frequencies<'c>(c: &'c Context, n: usize, d: f64, count: usize) -> Term<'c> {
    let k = c.iota(count);
    let last = n.div_ceil(2);
    let k = if count == n { k.ge(last).choose(k.affine(1, -(n as i64)), k) } else { k };
    let k = k.cast(Dtype::F64);
    if n == 0 { k } else { k / (n as f64 * d) }
}

fn shifted<'c>(c: &Context, x: Term<'c>, axes: Option<&[i64]>, inverse: bool) -> Term<'c> {
    axes_of(c, axes, x.rank()).into_iter().fold(x, |x, axis| {
        let n = x.dims().get(axis).copied().unwrap_or(1);
        let by = if inverse { n / 2 } else { n.div_ceil(2) };
        x.along(axis, n, |i| i.affine(1, by as i64) % n)
    })
}

// ---- convolution ----------------------------------------------------------------------------------

/// The least even length from which there are transforms without large factors.
fn fast_length(least: usize) -> usize {
    let smooth = |mut n: usize| {
        for prime in [2, 3, 5] {
            while n.is_multiple_of(prime) {
                n /= prime;
            }
        }
        n == 1
    };
    let first = least.max(2).next_multiple_of(2);
    let last = least.checked_next_power_of_two().unwrap_or(first).max(2);
    (first..=last).step_by(2).find(|&n| smooth(n)).unwrap_or(first)
}

/// Whether transforms are cheaper than so many products: about 2.5 operations for each doubling and
/// number of three transforms, at a third of the speed of products.
fn by_transforms(n: usize, m: usize) -> bool {
    let length = fast_length((n + m).saturating_sub(1));
    let doublings = (usize::BITS - length.leading_zeros()) as usize;
    n.saturating_mul(m) > length.saturating_mul(doublings).saturating_mul(12)
}

/// Sequences on the first axis, which have other axes alike.
fn convolved<'c>(c: &'c Context, x: Term<'c>, y: Term<'c>, mode: &str, method: &str) -> Term<'c> {
    let (n, m) = (x.len(), y.len());
    if n == 0 || m == 0 {
        return c.wrong("a convolution with nothing", "sequences have 1 element at least");
    }
    let full = n + m - 1;
    let (first, size) = match mode {
        "full" => (0, full),
        "same" => ((n.min(m) - 1) / 2, n.max(m)),
        "valid" => (n.min(m) - 1, n.max(m) - n.min(m) + 1),
        _ => {
            return c.wrong(format!("there is no mode `{mode}`"), "modes are full, same and valid");
        }
    };
    let transforms = match method {
        "auto" => by_transforms(n, m),
        "direct" => false,
        "fft" => true,
        _ => {
            let hint = "methods are auto, direct and fft";
            return c.wrong(format!("there is no method `{method}`"), hint);
        }
    };
    if !transforms {
        // The shorter one is gone through.
        let (long, short) = if n >= m { (x, y) } else { (y, x) };
        let (long_size, short_size) = (n.max(m), n.min(m));
        let dims: Vec<usize> =
            [short_size, size].into_iter().chain(x.dims().into_iter().skip(1)).collect();
        let factors = long.gather(&dims[..2], |is| vec![is[1].affine(1, first as i64) - is[0]]);
        let own = short.gather(&dims[..2], |is| vec![is[0]]);
        let place = c.build(&dims[..2], |is| {
            let at = is[1].affine(1, first as i64) - is[0];
            at.ge(0i64) & at.lt(long_size)
        });
        let inside = place.column(dims.len() - 2);
        let products = factors * own;
        return inside.choose(products, products.number(0.0)).sum_outer(1);
    }
    let length = fast_length(full);
    let [a, b] = real_front(c, sized(x, 0, length));
    let [d, e] = real_front(c, sized(y, 0, length));
    let product = [a * d - b * e, a * e + b * d];
    let made = inverse_front(c, product, length) * (1.0 / length as f64);
    made.along(0, size, |i| i.affine(1, first as i64))
}

fn convolution<'c>(
    c: &'c Context,
    (x, y): (Term<'c>, Term<'c>),
    axis: i64,
    mode: &str,
    method: &str,
) -> Term<'c> {
    let axis = axis_of(c, axis, x.rank());
    if c.failed() {
        return x.nothing();
    }
    let other = |x: Term<'c>| {
        let mut dims = x.dims();
        dims.remove(axis.min(dims.len().saturating_sub(1)));
        dims
    };
    if y.rank() != x.rank() || other(x) != other(y) {
        c.note(Fact::Blame(vec![0, 1]));
        let message = format!("shapes {} and {} differ beside the axis", x.shown(), y.shown());
        return c.wrong(message, "both have the same other axes: `broadcast` one of them");
    }
    convolved(c, x.fronted(axis), y.fronted(axis), mode, method).restored(axis)
}

functions! { Fourier TABLE:
    /// The discrete Fourier transform `Z[k]`, the sum of `z[j] exp(-2 pi i j k / n)` over `j`, along an
    /// axis. Complex numbers are a record `{re, im}`; other arrays are real. Of an axis of another size
    /// than `n`, the first `n` are taken, with zeros where there are fewer. The norm says which
    /// transform is divided by `n`: `backward` the inverse, `forward` this one, `ortho` each by its
    /// root. Any length takes about n log n operations.
    fft(z: Complex, n: Sizes = "all", axis: Axis = "-1", norm: Word = "backward")
        "fft([1.0, 2.0, 3.0, 4.0])"
        = |c| one_axis(c, &z, &n, axis, &norm, false);
    /// The inverse of `fft`: the sum of `Z[k] exp(2 pi i j k / n)` over `k`, divided by `n`.
    ifft(z: Complex, n: Sizes = "all", axis: Axis = "-1", norm: Word = "backward")
        "ifft({re = [2.0, 0.0], im = [0.0, 2.0]})"
        = |c| one_axis(c, &z, &n, axis, &norm, true);
    /// `fft` along several axes, all if none are given.
    fftn(z: Complex, axes: Axes = "all", norm: Word = "backward")
        "fftn([[1.0, 2.0], [3.0, 4.0]])"
        = |c| many_axes(c, &z, axes.as_deref(), &norm, false);
    /// The inverse of `fftn`.
    ifftn(z: Complex, axes: Axes = "all", norm: Word = "backward")
        "ifftn([[10.0, -2.0], [-4.0, 0.0]])"
        = |c| many_axes(c, &z, axes.as_deref(), &norm, true);
    /// `fft` along the last two axes.
    fft2(z: Complex, norm: Word = "backward") "fft2([[1.0, 2.0], [3.0, 4.0]])"
        = |c| many_axes(c, &z, Some(&[-2, -1]), &norm, false);
    /// The inverse of `fft2`.
    ifft2(z: Complex, norm: Word = "backward") "ifft2([[10.0, -2.0], [-4.0, 0.0]])"
        = |c| many_axes(c, &z, Some(&[-2, -1]), &norm, true);
    /// The first `n / 2 + 1` numbers of the transform of real numbers; the others are the conjugates of
    /// these. `n` and `norm` are as for `fft`; an even `n` takes half the time.
    rfft(x: Float, n: Sizes = "all", axis: Axis = "-1", norm: Word = "backward")
        "rfft([1.0, 2.0, 3.0, 4.0])"
        = |c| real(c, x, &n, axis, &norm);
    /// The inverse of `rfft`: `n` real numbers, `2 (m - 1)` if `n` is not given and there are `m`. The
    /// imaginary parts of the first number, and of the last one of an even `n`, are taken as 0.
    irfft(z: Complex, n: Sizes = "all", axis: Axis = "-1", norm: Word = "backward")
        "irfft({re = [10.0, -2.0, -2.0], im = [0.0, 2.0, 0.0]})"
        = |c| inverse_real(c, &z, &n, axis, &norm);
    /// The frequencies of the numbers that `fft` gives of `n` samples at distances `d`: first those that
    /// are not negative, then the negative ones.
    fftfreq(n: Size, d: Real = "1.0") "fftfreq(4)"
        = |c| frequencies(c, n, d, n);
    /// The frequencies of the numbers that `rfft` gives.
    rfftfreq(n: Size, d: Real = "1.0") "rfftfreq(4)"
        = |c| frequencies(c, n, d, n / 2 + 1);
    /// The elements with those of frequency 0 moved from the beginning to the middle of axes.
    fftshift(x: Any, axes: Axes = "all") "fftshift([0, 1, -2, -1])"
        = |c| shifted(c, x, axes.as_deref(), false);
    /// The inverse of `fftshift`.
    ifftshift(x: Any, axes: Axes = "all") "ifftshift([-2, -1, 0, 1])"
        = |c| shifted(c, x, axes.as_deref(), true);
    /// The convolution of two sequences along an axis: the sums of `x[j] y[i - j]`. The mode `full` has
    /// all that overlap, `same` the middle of these, as many as the longer sequence has, `valid` those
    /// where the sequences overlap completely. The method is `direct`, the sums as they are, or `fft`,
    /// by transforms, whose errors are relative to the largest result; `auto` takes the cheaper one.
    convolve["fft_convolve"](x: Float, y: Float, axis: Axis = "-1", mode: Word = "full", method: Word = "auto")
        "convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5])"
        = |c| convolution(c, (x, y), axis, &mode, &method);
}

//! Windows that slide along the last axes: convolution, its transpose, and pooling.

use cotan_ir::{Error, ErrorKind};

use crate::context::{Context, Fact};
use crate::function::functions;
use crate::reduce::{keeping, largest, mean_of, over, total};
use crate::term::Term;

/// How windows slide, as it was given: one number for all axes, or one for each.
struct Options {
    stride: Vec<usize>,
    dilation: Vec<usize>,
    padding: Vec<usize>,
    same: bool,
}

/// What a window does along one axis.
#[derive(Clone, Copy)]
struct Slide {
    size: usize,
    count: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    padded: bool,
}

/// One number for each of `n` axes.
fn each(c: &Context, what: &str, given: &[usize], n: usize) -> Vec<usize> {
    let all = match given {
        [one] => vec![*one; n],
        all if all.len() == n => all.to_vec(),
        all => {
            let message = format!("{} numbers for the {what} of {n} axes", all.len());
            c.wrong(message, "give one for all axes, or one for each");
            return vec![1; n];
        }
    };
    if let Some(axis) = all.iter().position(|&step| step == 0) {
        c.wrong(format!("the {what} along axis {axis} of the window is 0"), "1 is the least");
        return vec![1; n];
    }
    all
}

/// A pair for each of `n` axes.
fn pairs(c: &Context, given: &[usize], n: usize) -> Vec<(usize, usize)> {
    match given {
        [one] => vec![(*one, *one); n],
        [before, after] => vec![(*before, *after); n],
        all if all.len() == 2 * n => all.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
        all => {
            let message = format!("{} numbers for the padding of {n} axes", all.len());
            c.wrong(message, "give one number or pair for all axes, or a pair for each");
            vec![(0, 0); n]
        }
    }
}

/// How far a window reaches.
fn reach(window: usize, dilation: usize) -> Option<usize> {
    match window.checked_sub(1) {
        Some(steps) => steps.checked_mul(dilation)?.checked_add(1),
        None => Some(0),
    }
}

fn too_large(c: &Context, axis: usize) {
    let message = format!("windows along axis {axis} reach beyond what indices hold");
    c.fail(Error::new(ErrorKind::Limit, "", message));
}

impl Options {
    fn slides(&self, c: &Context, sizes: &[usize], window: &[usize]) -> Vec<Slide> {
        let n = sizes.len();
        let (stride, dilation) =
            (each(c, "stride", &self.stride, n), each(c, "dilation", &self.dilation, n));
        let padding = pairs(c, &self.padding, n);
        let slide = |axis: usize| {
            let (size, window) = (sizes[axis], window[axis]);
            let (stride, dilation) = (stride[axis], dilation[axis]);
            let extent = reach(window, dilation)?;
            let (before, after) = match self.same {
                false => padding[axis],
                true => {
                    let steps = size.div_ceil(stride).saturating_sub(1);
                    let covered = steps.saturating_mul(stride).saturating_add(extent);
                    let missing = covered.saturating_sub(size);
                    (missing / 2, missing - missing / 2)
                }
            };
            let padded = size.checked_add(before)?.checked_add(after)?;
            let count = padded.checked_sub(extent).map_or(0, |room| room / stride + 1);
            // Where the last element of the last window is, at most.
            i64::try_from(count.checked_mul(stride)?.checked_add(extent)?).ok()?;
            let padded = before + after > 0;
            Some(Slide { size, count, stride, dilation, before, padded })
        };
        let mut slides = Vec::with_capacity(n);
        for axis in 0..n {
            match slide(axis) {
                Some(slide) => slides.push(slide),
                None => too_large(c, axis),
            }
        }
        slides
    }
}

fn counts(slides: &[Slide]) -> Vec<usize> {
    slides.iter().map(|slide| slide.count).collect()
}

/// Where element `j` of window `i` is.
fn position<'c>(slides: &[Slide], i: &[Term<'c>], j: &[Term<'c>]) -> Vec<Term<'c>> {
    let along = |(slide, (&i, &j)): (&Slide, (&Term<'c>, &Term<'c>))| {
        (i.affine(slide.stride as i64, 0) + j.affine(slide.dilation as i64, 0))
            .affine(1, -(slide.before as i64))
    };
    slides.iter().zip(i.iter().zip(j)).map(along).collect()
}

/// Whether a position is inside of the array; `None` where all are.
fn inside<'c>(slides: &[Slide], position: &[Term<'c>]) -> Option<Term<'c>> {
    let padded = slides.iter().zip(position).filter(|(slide, _)| slide.padded);
    padded.map(|(slide, &at)| at.ge(0i64) & at.lt(slide.size)).reduce(|all, one| all & one)
}

fn wrong_rank<'c>(x: Term<'c>, kernel: Term<'c>) -> Term<'c> {
    let c = x.context();
    c.note(Fact::Blame(vec![0, 1]));
    let moved = kernel.rank().saturating_sub(2).max(1);
    let message = format!(
        "{} axes are needed for {moved} that the kernel moves along, of {} and {}",
        moved + 2,
        x.shown(),
        kernel.shown()
    );
    let hint = "the array has axes batch, channel and these, the kernel output channel, input \
                channel and these";
    c.wrong(message, hint)
}

fn wrong_channels<'c>(x: Term<'c>, kernel: Term<'c>, groups: usize, hint: &str) -> Term<'c> {
    let c = x.context();
    c.note(Fact::Blame(vec![0, 1]));
    let message = format!(
        "channels that do not fit: {} by a kernel {} in {groups} groups",
        x.shown(),
        kernel.shown()
    );
    c.wrong(message, hint)
}

/// Axes: batch, group, channel of the group, then those of space.
fn convolved<'c>(x: Term<'c>, kernel: Term<'c>, options: &Options, groups: usize) -> Term<'c> {
    let (c, xs, ks) = (x.context(), x.dims(), kernel.dims());
    let ([batch, channels, spatial @ ..], [outputs, inputs, window @ ..]) = (&xs[..], &ks[..])
    else {
        return wrong_rank(x, kernel);
    };
    if spatial.len() != window.len() || spatial.is_empty() {
        return wrong_rank(x, kernel);
    }
    if groups == 0 || outputs % groups != 0 || inputs.checked_mul(groups) != Some(*channels) {
        if groups == 1 {
            c.note(Fact::UnlessEqual(vec![(*inputs, *channels)]));
        }
        let hint = "axis 1 of the array is axis 1 of the kernel times the groups, and the groups \
                    divide axis 0 of the kernel";
        return wrong_channels(x, kernel, groups, hint);
    }
    let slides = options.slides(c, spatial, window);
    if c.failed() {
        return x.nothing();
    }
    let (inputs, outputs, counts) = (*inputs, outputs / groups, counts(&slides));
    let joined = |front: &[usize], back: &[usize]| [front, back].concat();
    let x = x.reshape(&joined(&[*batch, groups, inputs], spatial));
    let kernel = kernel.reshape(&joined(&[groups, outputs, inputs], window));
    let y = c.build(&joined(&[*batch, groups, outputs], &counts), |ix| {
        let (bgo, p) = ix.split_at(3.min(ix.len()));
        let products = c.build(&joined(&[inputs], window), |jx| {
            let ([b, g, o], [channel, k @ ..]) = (bgo, jx) else { return x.nothing() };
            let pixel = [&[*b, *g, *channel], &position(&slides, p, k)[..]].concat();
            x.at(&pixel) * kernel.at(&[&[*g, *o, *channel], k].concat())
        });
        products.total()
    });
    y.reshape(&joined(&[*batch, groups * outputs], &counts))
}

/// The transpose of the convolution by a kernel whose axes 0 and 1 are exchanged: what each element
/// of `x` times the kernel gives is added up where its window is.
fn conv_transposed<'c>(
    x: Term<'c>,
    kernel: Term<'c>,
    options: &Options,
    groups: usize,
) -> Term<'c> {
    let (c, xs, ks) = (x.context(), x.dims(), kernel.dims());
    let ([batch, channels, spatial @ ..], [inputs, outputs, window @ ..]) = (&xs[..], &ks[..])
    else {
        return wrong_rank(x, kernel);
    };
    if spatial.len() != window.len() || spatial.is_empty() {
        return wrong_rank(x, kernel);
    }
    if inputs != channels || groups == 0 || inputs % groups != 0 {
        c.note(Fact::UnlessEqual(vec![(*inputs, *channels)]));
        let hint = "axis 1 of the array is axis 0 of the kernel, and the groups divide it";
        return wrong_channels(x, kernel, groups, hint);
    }
    let n = spatial.len();
    let (stride, dilation) =
        (each(c, "stride", &options.stride, n), each(c, "dilation", &options.dilation, n));
    let padding = pairs(c, &options.padding, n);
    let covered = |axis: usize| -> Option<usize> {
        let extent = reach(window[axis], dilation[axis])?;
        if options.same {
            return spatial[axis].checked_mul(stride[axis]);
        }
        let (before, after) = padding[axis];
        let last = spatial[axis].saturating_sub(1).checked_mul(stride[axis])?;
        Some(last.checked_add(extent)?.saturating_sub(before.checked_add(after)?))
    };
    let mut sizes = Vec::with_capacity(n);
    for axis in 0..n {
        match covered(axis) {
            Some(size) => sizes.push(size),
            None => too_large(c, axis),
        }
    }
    if c.failed() {
        return x.nothing();
    }
    let slides = options.slides(c, &sizes, window);
    if c.failed() {
        return x.nothing();
    }
    let joined = |front: &[usize], back: &[usize]| [front, back].concat();
    let (inputs, outputs) = (inputs / groups, *outputs);
    // There may be fewer windows than elements of `x` where the result is cut off.
    let counts: Vec<usize> = counts(&slides).iter().zip(spatial).map(|(&k, &n)| k.min(n)).collect();
    let x = x.reshape(&joined(&[*batch, groups, inputs], spatial));
    let kernel = kernel.reshape(&joined(&[groups, inputs, outputs], window));
    let outer = joined(&[*batch, groups, outputs], &[&counts[..], window].concat());
    let parts = c.build(&outer, |ix| {
        let (bgo, pk) = ix.split_at(3.min(ix.len()));
        let (p, k) = pk.split_at(n.min(pk.len()));
        let products = c.build(&[inputs], |i| {
            let ([b, g, o], [i]) = (bgo, i) else { return x.nothing() };
            x.at(&[&[*b, *g, *i], p].concat()) * kernel.at(&[&[*g, *i, *o], k].concat())
        });
        products.total()
    });
    let whole = joined(&[*batch, groups, outputs], &sizes);
    let y = parts.scatter(&whole, &outer, |ix| {
        let (bgo, pk) = ix.split_at(3.min(ix.len()));
        let (p, k) = pk.split_at(n.min(pk.len()));
        [bgo, &position(&slides, p, k)[..]].concat()
    });
    y.reshape(&joined(&[*batch, groups * outputs], &sizes))
}

/// The elements of all windows, their axes last, with `outside` where a window is beyond the array.
struct Windowed<'c> {
    x: Term<'c>,
    leading: Vec<usize>,
    window: Vec<usize>,
    slides: Vec<Slide>,
}

impl<'c> Windowed<'c> {
    fn new(x: Term<'c>, window: &[usize], stride: Vec<usize>, options: Options) -> Option<Self> {
        let (c, dims) = (x.context(), x.dims());
        let Some(leading) = dims.len().checked_sub(window.len()) else {
            let message = format!("a window of {} axes over {}", window.len(), x.shown());
            c.wrong(message, "it moves over the last axes, of which there must be as many");
            return None;
        };
        let (leading, pooled) = dims.split_at(leading);
        let stride = if stride.is_empty() { window.to_vec() } else { stride };
        let options = Options { stride, ..options };
        let slides = options.slides(c, pooled, window);
        let (leading, window) = (leading.to_vec(), window.to_vec());
        (!c.failed()).then_some(Windowed { x, leading, window, slides })
    }

    fn axes(&self) -> Vec<usize> {
        let begin = self.leading.len() + self.slides.len();
        (begin..begin + self.window.len()).collect()
    }

    fn elements(&self, outside: f64) -> Term<'c> {
        let (leading, counted) = (self.leading.len(), counts(&self.slides));
        let extents = [&self.leading[..], &counted, &self.window].concat();
        self.x.context().build(&extents, |ix| {
            let (front, window) = ix.split_at(leading.min(ix.len()));
            let (i, j) = window.split_at(counted.len().min(window.len()));
            let position = position(&self.slides, i, j);
            let element = self.x.at(&[front, &position[..]].concat());
            // Outside of an array there are zeros.
            match inside(&self.slides, &position) {
                Some(inside) if outside != 0.0 => inside.choose(element, outside),
                Some(_) | None => element,
            }
        })
    }

    /// How many elements of each window are inside of the array; `None` where all are.
    fn sizes(&self) -> Option<Term<'c>> {
        if !self.slides.iter().any(|slide| slide.padded) {
            return None;
        }
        let counted = counts(&self.slides);
        let extents = [&counted[..], &self.window].concat();
        let inside = self.x.context().build(&extents, |ix| {
            let (i, j) = ix.split_at(counted.len().min(ix.len()));
            let inside = inside(&self.slides, &position(&self.slides, i, j));
            inside.map_or_else(|| self.x.nothing(), |inside| inside.cast(self.x.dtype()))
        });
        let axes: Vec<usize> = (counted.len()..extents.len()).collect();
        Some(over(inside, &axes, total))
    }
}

fn averages<'c>(windowed: &Windowed<'c>, count_padding: bool) -> Term<'c> {
    let sum = over(windowed.elements(0.0), &windowed.axes(), total);
    match windowed.sizes().filter(|_| !count_padding) {
        Some(sizes) => sum / sizes,
        None => sum / windowed.window.iter().map(|&k| k as f64).product::<f64>(),
    }
}

/// Axes after those of batch and channel.
fn spatial_axes(x: Term<'_>) -> Option<Vec<usize>> {
    if x.rank() < 2 {
        let message = format!("axes of batch and channel are needed, of {}", x.shown());
        x.context().wrong(message, "");
        return None;
    }
    Some((2..x.rank()).collect())
}

functions! { Neural TABLE:
    /// The convolution, as in neural networks (without flipping the kernel), of an array with axes
    /// batch, channel and space with a kernel with axes output channel, input channel and space. The
    /// array is padded with zeros.
    ///
    /// `stride`, `dilation` and `padding` are for all axes of space, or one (`padding`: one number, a
    /// pair, or a pair for each axis) after the other; `same` pads so that with stride 1 the result is
    /// as large as the array. With `groups`, channels are convolved group by group.
    conv["conv1d", "conv2d"](x: Number, kernel: Number, stride: Sizes = "1", padding: Widths = "0",
        dilation: Sizes = "1", groups: Size = "1", same: Flag = "false")
        "conv([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]])"
        = |c| convolved(x, kernel, &Options { stride, dilation, padding, same }, groups);
    /// The transposed convolution, which makes arrays larger. The first axis of the kernel is the input
    /// channel, the second the output channel.
    conv_transpose(x: Number, kernel: Number, stride: Sizes = "1", padding: Widths = "0",
        dilation: Sizes = "1", groups: Size = "1", same: Flag = "false")
        "conv_transpose([[[1.0, 2.0]]], [[[1.0, 1.0]]])"
        = |c| conv_transposed(x, kernel, &Options { stride, dilation, padding, same }, groups);
    /// The largest element of each window over the last axes; the padding is -inf. By default windows
    /// do not overlap.
    max_pool(x: Float, window: Sizes, stride: Sizes = "window", padding: Widths = "0",
        same: Flag = "false")
        "max_pool([1.0, 3.0, 2.0, 4.0], 2)"
        = |c| {
            let options = Options { stride: Vec::new(), dilation: vec![1], padding, same };
            match Windowed::new(x, &window, stride, options) {
                Some(w) => over(w.elements(f64::NEG_INFINITY), &w.axes(), largest),
                None => x.nothing(),
            }
        };
    /// The mean of each window over the last axes. Padding counts as zeros, or with `count_padding =
    /// false` not at all.
    avg_pool(x: Float, window: Sizes, stride: Sizes = "window", padding: Widths = "0",
        same: Flag = "false", count_padding: Flag = "true")
        "avg_pool([1.0, 3.0, 2.0, 4.0], 2)"
        = |c| {
            let options = Options { stride: Vec::new(), dilation: vec![1], padding, same };
            match Windowed::new(x, &window, stride, options) {
                Some(w) => averages(&w, count_padding),
                None => x.nothing(),
            }
        };
    /// The mean over all axes except the first two, batch and channel.
    global_avg_pool(x: Float) "global_avg_pool([[[1.0, 3.0]]])"
        = |c| match spatial_axes(x) {
            Some(axes) => keeping(x, &axes, mean_of).reshape(&x.dims()[..2]),
            None => x.nothing(),
        };
    /// The largest element over all axes except the first two, batch and channel.
    global_max_pool(x: Float) "global_max_pool([[[1.0, 3.0]]])"
        = |c| match spatial_axes(x) {
            Some(axes) => over(x, &axes, largest),
            None => x.nothing(),
        };
}

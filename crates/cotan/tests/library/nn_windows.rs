//! Convolution and pooling against plain loops, with all options.

use crate::nn_support::{close, error_text, random};
use crate::support::{check, check_rough};
use cotan::nn::{self, Conv, Padding, Pool};
use cotan::prelude::*;
use cotan_testkit::Rng;

/// The element at a position that may lie outside.
fn padded(x: &Tensor<f64>, front: &[usize], position: &[i64]) -> Option<f64> {
    let position: Option<Vec<usize>> = position.iter().map(|&p| usize::try_from(p).ok()).collect();
    x.get(&[front, &position?].concat())
}

/// All indices below sizes.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![vec![]], |all, &k| {
        all.iter().flat_map(|ix| (0..k).map(move |i| [&ix[..], &[i]].concat())).collect()
    })
}

/// How many windows there are along an axis, and the padding before it.
fn plain_windows<const N: usize>(
    n: usize,
    size: usize,
    window: usize,
    stride: usize,
    dilation: usize,
    padding: Padding<N>,
) -> (usize, usize) {
    let reach = if window == 0 { 0 } else { (window - 1) * dilation + 1 };
    let (before, after) = match padding {
        Padding::Valid => (0, 0),
        Padding::Explicit(pairs) => pairs[n],
        Padding::Same => {
            let count = size.div_ceil(stride);
            let needed = if count == 0 { reach } else { (count - 1) * stride + reach };
            let missing = needed.saturating_sub(size);
            (missing / 2, missing - missing / 2)
        }
    };
    // Counted, not calculated.
    let total = size + before + after;
    let count = (0..).take_while(|i| i * stride + reach <= total).take(100).count();
    (count, before)
}

fn plain_conv<const N: usize>(x: &Tensor<f64>, w: &Tensor<f64>, o: Conv<N>) -> Tensor<f64> {
    let (xs, ws) = (x.shape(), w.shape());
    let along: Vec<(usize, usize)> = (0..N)
        .map(|n| plain_windows(n, xs[2 + n], ws[2 + n], o.stride[n], o.dilation[n], o.padding))
        .collect();
    let counts: Vec<usize> = along.iter().map(|&(count, _)| count).collect();
    let per_group = ws[0] / o.groups;
    Tensor::from_fn([&[xs[0], ws[0]], &counts[..]].concat(), |ix| {
        let group = ix[1] / per_group;
        let mut sum = 0.0;
        for c in 0..ws[1] {
            for k in indices(&ws[2..]) {
                let position: Vec<i64> = (0..N)
                    .map(|n| {
                        (ix[2 + n] * o.stride[n] + k[n] * o.dilation[n]) as i64 - along[n].1 as i64
                    })
                    .collect();
                let element = padded(x, &[ix[0], group * ws[1] + c], &position).unwrap_or(0.0);
                sum += element * w.get(&[&[ix[1], c], &k[..]].concat()).unwrap();
            }
        }
        sum
    })
    .unwrap()
}

#[test]
fn convolution_with_all_options_is_the_plain_loop() {
    let mut rng = Rng::new(11);
    let (mut strided, mut grouped) = (0, 0);
    for case in 0..40 {
        let groups = 1 + rng.below(2);
        let o = Conv {
            stride: [1 + rng.below(3), 1 + rng.below(2)],
            padding: match rng.below(3) {
                0 => Padding::Valid,
                1 => Padding::Same,
                _ => {
                    Padding::Explicit([(rng.below(3), rng.below(3)), (rng.below(2), rng.below(4))])
                }
            },
            dilation: [1 + rng.below(2), 1 + rng.below(3)],
            groups,
        };
        let (batch, inputs, outputs) =
            (rng.below(3), 1 + rng.below(2), groups * (1 + rng.below(2)));
        let x = random(&mut rng, &[batch, groups * inputs, 1 + case % 5, 4], -1.0, 1.0);
        let kernel = [outputs, inputs, rng.below(3), 1 + rng.below(3)];
        let w = random(&mut rng, &kernel, -1.0, 1.0);
        let f = move |x: Arr<f64>, w: Arr<f64>| nn::conv(x, w, o);
        let (y, expected) = (jit(f).call((&x, &w)).unwrap(), plain_conv(&x, &w, o));
        assert_eq!(y.shape(), expected.shape(), "{o:?} {x:?} {w:?}");
        close("conv", &y.to_vec(), &expected.to_vec());
        if case % 4 == 0 {
            check(f, (&x, &w));
        }
        strided += usize::from(o.stride[0] > 1);
        grouped += usize::from(groups > 1);
    }
    assert!(strided > 5 && grouped > 5, "{strided} {grouped}");
}

#[test]
fn convolution_works_along_one_and_three_axes() {
    let mut rng = Rng::new(12);
    let (x, w) = (random(&mut rng, &[2, 3, 7], -1.0, 1.0), random(&mut rng, &[4, 3, 3], -1.0, 1.0));
    let o = Conv::<1>::new().same().stride([2]);
    let f = move |x: Arr<f64>, w: Arr<f64>| nn::conv1d(x, w, o);
    close("conv1d", &jit(f).call((&x, &w)).unwrap().to_vec(), &plain_conv(&x, &w, o).to_vec());
    check(f, (&x, &w));
    let x = random(&mut rng, &[1, 2, 3, 2, 3], -1.0, 1.0);
    let w = random(&mut rng, &[1, 2, 2, 2, 2], -1.0, 1.0);
    let o = Conv::<3>::new();
    let y = jit(move |x: Arr<f64>, w: Arr<f64>| nn::conv(x, w, o)).call((&x, &w)).unwrap();
    assert_eq!(y.shape(), [1, 1, 2, 1, 2]);
    close("conv3d", &y.to_vec(), &plain_conv(&x, &w, o).to_vec());
    // Also of integers.
    let f = jit(|x: Arr<i64>, w: Arr<i64>| nn::conv1d(x, w, Conv::new()));
    assert_eq!(f.call(([[[1i64, 2, 3]]], [[[1i64, 10]]])).unwrap().to_vec(), [21, 32]);
}

#[test]
fn the_size_of_a_convolution_does_not_show_in_its_program() {
    let nodes = |size: usize, channels: usize| {
        let f = |x: Arr<f64>, w: Arr<f64>| nn::conv2d(x, w, Conv::new().same());
        let program = compile(f, ([2, channels, size, size], [channels, channels, 3, 3])).unwrap();
        (program.source().len(), program.program().len())
    };
    assert_eq!(nodes(4, 2), nodes(32, 16));
}

#[test]
fn transposed_convolution_is_the_transpose() {
    let mut rng = Rng::new(13);
    for case in 0..12 {
        let groups = 1 + case % 2;
        let padding = match case % 3 {
            0 => Padding::Valid,
            1 => Padding::Same,
            _ => Padding::Explicit([(1, 0), (0, 1)]),
        };
        let o = Conv { stride: [1 + case % 3, 2], padding, dilation: [1, 1 + case % 2], groups };
        let x = random(&mut rng, &[2, 2 * groups, 3, 1 + case % 3], -1.0, 1.0);
        let w = random(&mut rng, &[2 * groups, 3, 2, 3], -1.0, 1.0);
        let f = move |x: Arr<f64>, w: Arr<f64>| nn::conv_transpose(x, w, o);
        let y = jit(f).call((&x, &w)).unwrap();
        // <y, z> = <x, conv z> for every z.
        let z = random(&mut rng, y.shape(), -1.0, 1.0);
        let back = plain_conv(&z, &w, o);
        assert_eq!(back.shape(), x.shape(), "{o:?}");
        let dot = |a: &Tensor<f64>, b: &Tensor<f64>| {
            a.iter().zip(b.iter()).map(|(a, b)| a * b).sum::<f64>()
        };
        close("transpose", &[dot(&y, &z)], &[dot(&x, &back)]);
        if case % 5 == 0 {
            check(f, (&x, &w));
        }
    }
    let empty = Tensor::<f64>::zeros([0, 1, 3]).unwrap();
    let f = jit(|x: Arr<f64>, w: Arr<f64>| nn::conv_transpose(x, w, Conv::<1>::new()));
    assert_eq!(f.call((&empty, [[[1.0, 2.0]]])).unwrap().shape(), [0, 1, 4]);
}

fn plain_pool<const N: usize>(
    x: &Tensor<f64>,
    pool: Pool<N>,
    reduce: fn(&[Option<f64>]) -> f64,
) -> Tensor<f64> {
    let leading = x.rank() - N;
    let along: Vec<(usize, usize)> = (0..N)
        .map(|n| {
            plain_windows(
                n,
                x.shape()[leading + n],
                pool.window[n],
                pool.stride[n],
                1,
                pool.padding,
            )
        })
        .collect();
    let counts: Vec<usize> = along.iter().map(|&(count, _)| count).collect();
    Tensor::from_fn([&x.shape()[..leading], &counts].concat(), |ix| {
        let elements: Vec<Option<f64>> = indices(&pool.window)
            .iter()
            .map(|k| {
                let position: Vec<i64> = (0..N)
                    .map(|n| (ix[leading + n] * pool.stride[n] + k[n]) as i64 - along[n].1 as i64)
                    .collect();
                padded(x, &ix[..leading], &position)
            })
            .collect();
        reduce(&elements)
    })
    .unwrap()
}

#[test]
fn pooling_with_all_options_is_the_plain_loop() {
    let mut rng = Rng::new(14);
    for case in 0..24 {
        let padding = match case % 3 {
            0 => Padding::Valid,
            1 => Padding::Same,
            _ => Padding::Explicit([(rng.below(2), rng.below(3)), (1, rng.below(2))]),
        };
        let window = [1 + rng.below(3), 1 + rng.below(2)];
        let stride = [1 + rng.below(2), 1 + rng.below(3)];
        let pool = Pool { stride, padding, count_padding: case % 2 == 0, ..Pool::new(window) };
        let shape: &[usize] = if case % 4 == 0 { &[5, 4] } else { &[2, 1, 3, 5] };
        let x = random(&mut rng, shape, -3.0, -1.0);

        let max = move |x: Arr<f64>| nn::max_pool(x, pool);
        let y = jit(max).call(&x).unwrap();
        let largest =
            |e: &[Option<f64>]| e.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let expected = plain_pool(&x, pool, largest);
        assert_eq!(y.shape(), expected.shape(), "{pool:?}");
        close("max_pool", &y.to_vec(), &expected.to_vec());

        let average = move |x: Arr<f64>| nn::avg_pool(x, pool);
        let y = jit(average).call(&x).unwrap();
        let expected = match pool.count_padding {
            true => plain_pool(&x, pool, |e| e.iter().flatten().sum::<f64>() / e.len() as f64),
            false => plain_pool(&x, pool, |e| {
                e.iter().flatten().sum::<f64>() / e.iter().flatten().count() as f64
            }),
        };
        close("avg_pool", &y.to_vec(), &expected.to_vec());
        if case % 4 == 1 {
            check_rough(max, &x);
            check(average, &x);
        }
    }
}

#[test]
fn the_derivative_of_pooling_goes_to_the_first_of_equals() {
    let f = grad(|x: Arr<f64>| nn::max_pool(x, Pool::new([3])).sum());
    assert_eq!(
        f.call([1.0, 2.0, 2.0, 4.0, 4.0, 4.0]).unwrap().to_vec(),
        [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    );
}

#[test]
fn global_pooling_keeps_batch_and_channel() {
    let mut rng = Rng::new(15);
    for shape in [vec![2, 3, 2, 2], vec![2, 3], vec![0, 2, 3], vec![2, 2, 3]] {
        let x = random(&mut rng, &shape, -1.0, 1.0);
        let channel: usize = shape[2..].iter().product();
        let parts: Vec<Vec<f64>> = x.to_vec().chunks(channel).map(<[f64]>::to_vec).collect();
        let average: Vec<f64> =
            parts.iter().map(|p| p.iter().sum::<f64>() / p.len() as f64).collect();
        let largest: Vec<f64> =
            parts.iter().map(|p| p.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        let f = |x: Arr<f64>| nn::global_avg_pool(x);
        let y = jit(f).call(&x).unwrap();
        assert_eq!(y.shape(), &shape[..2]);
        close("global_avg_pool", &y.to_vec(), &average);
        check(f, &x);
        let f = |x: Arr<f64>| nn::global_max_pool(x);
        close("global_max_pool", &jit(f).call(&x).unwrap().to_vec(), &largest);
        check_rough(f, &x);
    }
    let empty = Tensor::<f64>::zeros([1, 1, 0]).unwrap();
    assert_eq!(
        jit(|x: Arr<f64>| nn::global_max_pool(x)).call(&empty).unwrap().to_vec(),
        [f64::NEG_INFINITY]
    );
    assert!(
        jit(|x: Arr<f64>| nn::global_avg_pool(x)).call(&empty).unwrap().iter().all(f64::is_nan)
    );
}

#[test]
fn errors_say_what_to_do() {
    let conv = |o: Conv<2>| move |x: Arr<f64>, w: Arr<f64>| nn::conv2d(x, w, o);
    let text = error_text(compile(conv(Conv::new()), ([1, 3, 5, 5], [4, 2, 3, 3])));
    assert_eq!(
        text,
        "conv: channels that do not fit: [1, 3, 5, 5]f64 by a kernel [4, 2, 3, 3]f64 in 1 groups\n  \
         at HERE\n  hint: axis 1 of the array is axis 1 of the kernel times the groups, and the \
         groups divide axis 0 of the kernel"
    );
    let text = error_text(compile(conv(Conv::new()), ([3, 5, 5], [4, 3, 3, 3])));
    assert_eq!(
        text,
        "conv: 4 axes are needed for 2 that the kernel moves along, of [3, 5, 5]f64 and [4, 3, 3, \
         3]f64\n  at HERE\n  hint: the array has axes batch, channel and these, the kernel output \
         channel, input channel and these"
    );
    let text = error_text(compile(conv(Conv::new().stride([1, 0])), ([1, 1, 5, 5], [1, 1, 3, 3])));
    assert_eq!(
        text,
        "conv: the stride along axis 1 of the window is 0\n  at HERE\n  hint: 1 is the least"
    );
    let far = Conv::new().dilation([usize::MAX, 1]);
    let text = error_text(compile(conv(far), ([1, 1, 5, 5], [1, 1, 3, 3])));
    assert_eq!(text, "conv: windows along axis 0 reach beyond what indices hold\n  at HERE");
    let up = |x: Arr<f64>, w: Arr<f64>| nn::conv_transpose(x, w, Conv::<1>::new());
    let text = error_text(compile(up, ([1, 2, 5], [3, 1, 2])));
    assert_eq!(
        text,
        "conv_transpose: channels that do not fit: [1, 2, 5]f64 by a kernel [3, 1, 2]f64 in 1 \
         groups\n  at HERE\n  hint: axis 1 of the array is axis 0 of the kernel, and the groups \
         divide it"
    );
    let text = error_text(compile(|x: Arr<f64>| nn::max_pool(x, Pool::new([2, 2])), [3]));
    assert_eq!(
        text,
        "max_pool: a window of 2 axes over [3]f64\n  at HERE\n  hint: it moves over the last axes, \
         of which there must be as many"
    );
    let text = error_text(compile(|x: Arr<f64>| nn::avg_pool(x, Pool::new([0])), [3]));
    assert_eq!(
        text,
        "avg_pool: the stride along axis 0 of the window is 0\n  at HERE\n  hint: 1 is the least"
    );
    let text = error_text(compile(|x: Arr<f64>| nn::global_avg_pool(x), [3]));
    assert_eq!(text, "global_avg_pool: axes of batch and channel are needed, of [3]f64\n  at HERE");
}

//! Padding, windows, filling by masks.

use super::*;
use cotan::PadMode;

/// What stands at position `i` of the continuation of an axis of size `k`.
type Rule<'a> = &'a dyn Fn(i64, i64) -> i64;

fn random_widths(rng: &mut Rng, rank: usize) -> Vec<(usize, usize)> {
    (0..rank).map(|_| if rng.chance(30) { (0, 0) } else { (rng.below(6), rng.below(6)) }).collect()
}

/// The shape with widths added.
fn padded(dims: &[usize], widths: &[(usize, usize)]) -> Vec<usize> {
    dims.iter().zip(widths).map(|(&k, &(before, after))| before + k + after).collect()
}

/// The position in the array, by a rule for each position `i`, possibly outside, of an axis of
/// size `k`.
fn source(
    is: &[usize],
    dims: &[usize],
    widths: &[(usize, usize)],
    rule: impl Fn(i64, i64) -> Option<i64>,
) -> Option<Vec<usize>> {
    let axes = is.iter().zip(dims).zip(widths);
    axes.map(|((&i, &k), &(before, _))| {
        rule(i as i64 - before as i64, k as i64).map(|i| usize::try_from(i).unwrap())
    })
    .collect()
}

#[test]
fn arrays_are_padded_with_values() {
    let mut rng = Rng::new(31);
    for dims in shapes(&mut rng, 0) {
        let x = random(&mut rng, &dims);
        let widths = random_widths(&mut rng, dims.len());
        let inside = |i: i64, k: i64| (0..k).contains(&i).then_some(i);
        let sizes = padded(&dims, &widths);
        let zeros = rearranged(&x, &sizes, |is| source(is, &dims, &widths, inside));
        expect(|a| a.pad(widths.clone()), &x, &zeros);
        let threes = Tensor::from_fn(&sizes, |is| {
            source(is, &dims, &widths, inside).map_or(3.0, |ix| x.get(&ix).unwrap())
        });
        expect(|a| a.pad_with(widths.clone(), 3.0), &x, &threes.unwrap());
    }
    // The value may depend on the arguments.
    check(|x: Arr<f64>, v: Arr<f64>| x.pad_with(1, v), ([1.0, 2.0], 3.0));
    let flags = jit(|x: Arr<bool>| (x.pad((1, 0)), x.pad_with((1, 0), true))).call([true]).unwrap();
    assert_eq!(flags, (Tensor::from([false, true]), Tensor::from([true, true])));
}

#[test]
fn arrays_are_padded_with_themselves() {
    let mut rng = Rng::new(32);
    // Walks along the continuation, one step at a time.
    let bounced = |i: i64, k: i64| {
        let (mut at, mut step) = (0, if k > 1 { 1 } else { 0 });
        for _ in 0..i.abs() {
            if at + step < 0 || at + step >= k {
                step = -step;
            }
            at += step;
        }
        at
    };
    for dims in shapes(&mut rng, 0) {
        let dims: Vec<usize> = dims.iter().map(|&k| k.max(1)).collect();
        let x = random(&mut rng, &dims);
        let widths = random_widths(&mut rng, dims.len());
        let sizes = padded(&dims, &widths);
        let padded_by = |rule: Rule<'_>| {
            rearranged(&x, &sizes, |is| source(is, &dims, &widths, |i, k| Some(rule(i, k))))
        };
        let modes: [(PadMode, Rule<'_>); 4] = [
            (PadMode::Edge, &|i, k| i.max(0).min(k - 1)),
            (PadMode::Wrap, &|i, k| i.rem_euclid(k)),
            // Mirrored at 0: the walk to the left is that to the right.
            (PadMode::Reflect, &bounced),
            (PadMode::Symmetric, &|i, k| {
                let i = if i < 0 { -1 - i } else { i };
                if (i / k) % 2 == 0 { i % k } else { k - 1 - i % k }
            }),
        ];
        for (mode, rule) in modes {
            expect(|a| a.pad_mode(widths.clone(), mode), &x, &padded_by(rule));
        }
    }
}

#[test]
fn windows_slide() {
    let mut rng = Rng::new(33);
    for dims in shapes(&mut rng, 1) {
        let x = random(&mut rng, &dims);
        let (axis, size, stride) = (rng.below(dims.len()), rng.below(4), 1 + rng.below(3));
        let starts: Vec<usize> =
            (0..=dims[axis]).step_by(stride).filter(|&i| i + size <= dims[axis]).collect();
        let mut sizes = dims.clone();
        sizes[axis] = starts.len();
        sizes.push(size);
        let expected = rearranged(&x, &sizes, |is| {
            let mut ix = is[..dims.len()].to_vec();
            ix[axis] = starts[is[axis]] + is[dims.len()];
            Some(ix)
        });
        expect(|a| a.sliding_window(size, stride, axis), &x, &expected);
    }
}

#[test]
fn masks_cover() {
    let f = |x: Arr<f64>, m: Arr<bool>, v: Arr<f64>| x.masked_fill(m, v);
    let args = ([[1.0, 2.0], [3.0, 4.0]], [true, false], 9.0);
    assert_eq!(jit(f).call(args).unwrap(), Tensor::from([[9.0, 2.0], [9.0, 4.0]]));
    check(f, args);
}

//! Random numbers: distributions by statistics at fixed seeds, and the same bits for ever.
use cotan::Tensor;
use cotan::random::{Fans, Init, Key};

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
}

/// Pearson's statistic of counts against expected ones.
fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
    counts.iter().zip(expected).map(|(c, e)| (c - e).powi(2) / e).sum()
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let joint: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
    joint / x.len() as f64 / (variance(x) * variance(y)).sqrt()
}

const N: usize = 40_000;

#[test]
fn the_same_bits_for_ever() {
    // Computed by another implementation: a change here changes every experiment.
    let key = Key::new(2024);
    let bits: Vec<u64> = key.uniform::<f64>([3]).unwrap().iter().map(f64::to_bits).collect();
    assert_eq!(bits, UNIFORM);
    let bits: Vec<u64> = key.normal::<f64>([3]).unwrap().iter().map(f64::to_bits).collect();
    assert_eq!(bits, NORMAL);
    assert_eq!(key.integers([6], 0..100).unwrap().to_vec(), INTEGERS);
    assert_eq!(key.permutation(6).unwrap().to_vec(), PERMUTATION);
    let child = key.split(3)[2].fold_in(1 << 40);
    assert_eq!(child.integers([3], 0..1000).unwrap().to_vec(), CHILD);
}

#[test]
fn a_prefix_does_not_depend_on_the_shape() {
    let key = Key::new(5);
    let long = key.normal::<f64>([4, 5]).unwrap().to_vec();
    assert_eq!(key.normal::<f64>([7]).unwrap().to_vec(), long[..7]);
    assert_eq!(
        key.gamma::<f64>([3], 0.4).unwrap().to_vec(),
        key.gamma::<f64>([9], 0.4).unwrap().to_vec()[..3]
    );
    assert_eq!(key.uniform::<f64>([0, 3]).unwrap().shape(), [0, 3]);
    assert!(key.uniform::<f64>([usize::MAX, usize::MAX]).is_err());
}

#[test]
fn single_precision_is_double_precision_cut_or_rounded() {
    let key = Key::new(6);
    let (x, y) = (key.uniform::<f64>([100]).unwrap(), key.uniform::<f32>([100]).unwrap());
    for (x, y) in x.iter().zip(y.iter()) {
        let y = f64::from(y);
        assert!(y <= x && x - y < 2f64.powi(-24), "{x} {y}");
    }
    let (x, y) = (key.normal::<f64>([100]).unwrap(), key.normal::<f32>([100]).unwrap());
    assert!(x.iter().zip(y.iter()).all(|(x, y)| x as f32 == y));
}

#[test]
fn uniform_numbers_are_even() {
    let x = Key::new(1).uniform::<f64>([N]).unwrap().to_vec();
    assert!((mean(&x) - 0.5).abs() < 0.005 && (variance(&x) - 1.0 / 12.0).abs() < 0.002);
    let mut counts = [0.0; 64];
    x.iter().for_each(|x| counts[(x * 64.0) as usize] += 1.0);
    // 63 degrees of freedom: mean 63, deviation 11.
    let chi = chi_square(&counts, &[N as f64 / 64.0; 64]);
    assert!((25.0..115.0).contains(&chi), "{chi}");
    // Also the low digits, and pairs of neighbours.
    let mut pairs = [0.0; 64];
    for pair in x.chunks(2) {
        let low = |x: f64| ((x * 1_048_576.0).fract() * 8.0) as usize;
        pairs[low(pair[0]) * 8 + low(pair[1])] += 1.0;
    }
    let chi = chi_square(&pairs, &[N as f64 / 128.0; 64]);
    assert!((25.0..115.0).contains(&chi), "{chi}");

    let x = Key::new(1).uniform_in::<f64>([N], -3.0, 5.0).unwrap().to_vec();
    assert!((mean(&x) - 1.0).abs() < 0.05 && x.iter().all(|x| (-3.0..5.0).contains(x)));
    // A range of two neighbours: rounding never reaches the upper.
    let (low, high) = (1.0f32, f32::from_bits(1.0f32.to_bits() + 1));
    let x = Key::new(1).uniform_in::<f32>([1000], low.into(), high.into()).unwrap();
    assert!(x.iter().all(|x| x == low));
}

#[test]
fn normal_numbers_have_the_moments_and_tails_they_should() {
    let x = Key::new(2).normal::<f64>([N]).unwrap().to_vec();
    let moment = |k: i32| mean(&x.iter().map(|x| x.powi(k)).collect::<Vec<_>>());
    // The deviations of these means are 1, 1.4, 3.9 and 9.8 over 200.
    for (k, expected, tolerance) in [(1, 0.0, 0.02), (2, 1.0, 0.03), (3, 0.0, 0.08), (4, 3.0, 0.2)]
    {
        assert!((moment(k) - expected).abs() < tolerance, "moment {k} is {}", moment(k));
    }
    // The part within 1, 2 and 3.
    for (bound, expected) in [(1.0, 0.682_689), (2.0, 0.954_500), (3.0, 0.997_300)] {
        let part = x.iter().filter(|x| x.abs() < bound).count() as f64 / N as f64;
        assert!((part - expected).abs() < 0.008, "{part} within {bound}");
    }
    // The two that share a block are independent.
    let (even, odd): (Vec<f64>, Vec<f64>) = x.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    assert!(correlation(&even, &odd).abs() < 0.03);

    let x = Key::new(2).truncated_normal::<f64>([N], 2.0).unwrap().to_vec();
    assert!(x.iter().all(|x| x.abs() <= 2.0));
    assert!(mean(&x).abs() < 0.02 && (variance(&x) - 0.773_741).abs() < 0.02, "{}", variance(&x));
}

#[test]
fn exponential_and_gamma_numbers_have_their_moments() {
    let x = Key::new(3).exponential::<f64>([N]).unwrap().to_vec();
    assert!((mean(&x) - 1.0).abs() < 0.03 && (variance(&x) - 1.0).abs() < 0.08);
    for alpha in [0.3, 1.0, 2.5, 20.0] {
        let x = Key::new(4).gamma::<f64>([N], alpha).unwrap().to_vec();
        let deviation = alpha.sqrt() / (N as f64).sqrt();
        assert!((mean(&x) - alpha).abs() < 5.0 * deviation, "mean {} of {alpha}", mean(&x));
        assert!((variance(&x) / alpha - 1.0).abs() < 0.1, "variance {} of {alpha}", variance(&x));
        assert!(x.iter().all(|&x| x >= 0.0));
    }
    // Of shape 1 it is the exponential distribution: the median is log 2.
    let x = Key::new(4).gamma::<f64>([N], 1.0).unwrap();
    let below = x.iter().filter(|&x| x < std::f64::consts::LN_2).count() as f64 / N as f64;
    assert!((below - 0.5).abs() < 0.012, "{below}");
}

#[test]
fn integers_are_without_bias() {
    for (range, n) in [(0..7, 7), (-3..2, 5), (10..11, 1)] {
        let x = Key::new(5).integers([N], range.clone()).unwrap();
        let mut counts = vec![0.0; n];
        x.iter().for_each(|x| counts[(x - range.start) as usize] += 1.0);
        let chi = chi_square(&counts, &vec![N as f64 / n as f64; n]);
        assert!(chi < 25.0, "{range:?}: {chi}");
    }
    // Three quarters of all numbers: a multiplication alone would favour every third.
    let range = i64::MIN..(1 << 62);
    let x = Key::new(6).integers([N], range).unwrap();
    let count = 3u128 << 62;
    let mut thirds = [0.0; 3];
    for x in x.iter() {
        let from_start = (i128::from(x) - i128::from(i64::MIN)) as u128;
        assert!(from_start < count);
        thirds[(from_start % 3) as usize] += 1.0;
    }
    let chi = chi_square(&thirds, &[N as f64 / 3.0; 3]);
    assert!(chi < 14.0, "{thirds:?}");
    let all = Key::new(7).integers([1000], i64::MIN..i64::MAX).unwrap();
    assert!(all.iter().any(|x| x < 0) && all.iter().any(|x| x > 0));
}

#[test]
fn truth_values_and_classes_have_their_probabilities() {
    let x = Key::new(8).bernoulli([N], 0.3).unwrap();
    let part = x.iter().filter(|&x| x).count() as f64 / N as f64;
    assert!((part - 0.3).abs() < 0.012, "{part}");

    let weights = [2.0, 0.0, 1.0, 5.0, 0.0];
    let x = Key::new(9).categorical([N], &weights).unwrap();
    let mut counts = [0.0; 5];
    x.iter().for_each(|x| counts[x as usize] += 1.0);
    assert_eq!((counts[1], counts[4]), (0.0, 0.0));
    let possible = [counts[0], counts[2], counts[3]];
    let chi = chi_square(&possible, &[0.25, 0.125, 0.625].map(|p| p * N as f64));
    assert!(chi < 14.0, "{counts:?}");
}

#[test]
fn permutations_are_even() {
    let mut counts = [0.0; 24];
    for key in Key::new(10).split(4800) {
        let order = key.permutation(4).unwrap().to_vec();
        let rank = (0..4).fold(0, |rank, k| {
            let smaller = order[k + 1..].iter().filter(|&&x| x < order[k]).count();
            rank * (4 - k) + smaller
        });
        counts[rank] += 1.0;
    }
    let chi = chi_square(&counts, &[200.0; 24]);
    assert!((5.0..55.0).contains(&chi), "{chi}");
    assert_eq!(Key::new(1).permutation(0).unwrap().size(), 0);
}

#[test]
fn keys_that_were_split_are_not_correlated() {
    let parent = Key::new(11);
    let mut keys = parent.split(4);
    keys.extend([parent, parent.fold_in(0), parent.fold_in(1), keys[0].split(1)[0], Key::new(12)]);
    let streams: Vec<Vec<f64>> =
        keys.iter().map(|key| key.normal::<f64>([10_000]).unwrap().to_vec()).collect();
    for (i, x) in streams.iter().enumerate() {
        for (j, y) in streams.iter().enumerate().take(i) {
            // The deviation is 0.01.
            assert!(correlation(x, y).abs() < 0.045, "keys {i} and {j}");
            assert!(correlation(&x[1..], &y[..9_999]).abs() < 0.045, "keys {i} and {j}, shifted");
        }
    }
    // The first numbers of many keys are uniform, too.
    let first: Vec<f64> = parent
        .split(10_000)
        .iter()
        .map(|key| key.uniform::<f64>(()).unwrap().item().unwrap())
        .collect();
    assert!((mean(&first) - 0.5).abs() < 0.015 && (variance(&first) - 1.0 / 12.0).abs() < 0.004);
    let distinct: std::collections::HashSet<Key> = parent.split(10_000).into_iter().collect();
    assert_eq!(distinct.len(), 10_000);
}

#[test]
fn initial_values_have_the_variances_of_their_makers() {
    let sizes = [60, 40, 3, 3];
    let (n, m) = (360.0, 540.0);
    for (init, expected) in [
        (Init::GlorotUniform, 2.0 / (n + m)),
        (Init::GlorotNormal, 2.0 / (n + m)),
        (Init::HeUniform, 2.0 / n),
        (Init::HeNormal, 2.0 / n),
        (Init::LecunUniform, 1.0 / n),
        (Init::LecunNormal, 1.0 / n),
        (Init::Uniform(-3.0, 3.0), 3.0),
        (Init::Normal(0.0, 2.0), 4.0),
        (Init::TruncatedNormal(0.0, 2.0), 4.0 * 0.773_741),
    ] {
        let x = init.tensor::<f64>(Key::new(13), sizes).unwrap();
        assert_eq!(x.shape(), sizes);
        let x = x.to_vec();
        assert!(
            (variance(&x) / expected - 1.0).abs() < 0.06,
            "{init:?}: {}",
            variance(&x) / expected
        );
        assert!(mean(&x).abs() < 4.0 * (expected / x.len() as f64).sqrt(), "{init:?}");
    }
    let x = Init::Normal(5.0, 0.5).tensor::<f64>(Key::new(1), [1000]).unwrap().to_vec();
    assert!((mean(&x) - 5.0).abs() < 0.1);
    let x = Init::HeNormal.with_fans::<f32>(Key::new(1), [4000], Fans { inputs: 8, outputs: 1 });
    let x: Vec<f64> = x.unwrap().iter().map(f64::from).collect();
    assert!((variance(&x) - 0.25).abs() < 0.03);
    let same = |init: Init, x: f64| {
        assert_eq!(init.tensor(Key::new(0), [2, 2]).unwrap(), Tensor::full([2, 2], x).unwrap());
    };
    same(Init::Zeros, 0.0);
    same(Init::Ones, 1.0);
    same(Init::Constant(2.5), 2.5);
}

#[test]
fn orthogonal_matrices_are_orthogonal() {
    for (sizes, gain) in
        [(vec![4, 4], 1.0), (vec![3, 7], 2.0), (vec![6, 1, 2], 1.0), (vec![5], 3.0)]
    {
        let x = Init::Orthogonal(gain).tensor::<f64>(Key::new(14), &sizes).unwrap();
        assert_eq!(x.shape(), sizes);
        let rows = sizes[0];
        let columns: usize = sizes[1..].iter().product();
        let x = x.reshape([rows, columns]).unwrap();
        let at = |i: usize, j: usize| x.get(&[i, j]).unwrap();
        let (few, many) = (rows.min(columns), rows.max(columns));
        for i in 0..few {
            for j in 0..few {
                let dot: f64 = (0..many)
                    .map(
                        |k| if rows <= columns { at(i, k) * at(j, k) } else { at(k, i) * at(k, j) },
                    )
                    .sum();
                let expected = if i == j { gain * gain } else { 0.0 };
                assert!((dot - expected).abs() < 1e-13, "{sizes:?} {i} {j}: {dot}");
            }
        }
    }
    assert_eq!(Init::Orthogonal(1.0).tensor::<f64>(Key::new(0), [0, 3]).unwrap().size(), 0);
}

#[test]
fn errors_say_what_to_do() {
    let key = Key::new(0);
    let text = |result: cotan::Result<Tensor<f64>>| result.unwrap_err().to_string();
    assert_eq!(
        text(key.uniform_in([1], 2.0, f64::NAN)),
        "uniform_in: no numbers lie from 2 to NaN\n  hint: low must be below high, both finite"
    );
    assert_eq!(
        text(key.gamma([1], -1.0)),
        "gamma: a shape of -1\n  hint: it must be above 0, and finite"
    );
    assert_eq!(
        text(key.truncated_normal([1], 0.5)),
        "truncated_normal: a bound of 0.5\n  hint: numbers beyond the bound are drawn again: it must be 1 at least"
    );
    assert_eq!(
        text(Init::Normal(0.0, -1.0).tensor(key, [1])),
        "init: a standard deviation of -1\n  hint: it is finite and not negative"
    );
    assert_eq!(
        key.integers([1], 3..3).unwrap_err().to_string(),
        "integers: no integers lie in 3..3\n  hint: the end must be above the start"
    );
    assert_eq!(
        key.bernoulli([1], 1.5).unwrap_err().to_string(),
        "bernoulli: a probability of 1.5\n  hint: it lies between 0 and 1"
    );
    assert_eq!(
        key.categorical([1], &[1.0, -2.0]).unwrap_err().to_string(),
        "categorical: weight 1 is -2\n  hint: weights are finite and not negative"
    );
    assert_eq!(
        key.categorical([1], &[]).unwrap_err().to_string(),
        "categorical: weights with the sum 0\n  hint: one at least must be above 0"
    );
}

const UNIFORM: [u64; 3] = [4603612774548412434, 4607043696576343249, 4599909721617196464];
const NORMAL: [u64; 3] = [4607182268534813310, 13815031127576201690, 4607933641983369228];
const INTEGERS: [i64; 6] = [60, 34, 57, 66, 1, 52];
const PERMUTATION: [i64; 6] = [5, 4, 1, 2, 0, 3];
const CHILD: [i64; 3] = [83, 322, 474];

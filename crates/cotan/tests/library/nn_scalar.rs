//! Activations and softmax: values against plain Rust, derivatives against the oracles.

use crate::nn_support::{close, error_text, random, shapes};
use crate::support::{check, check_rough};
use cotan::prelude::*;
use cotan_testkit::Rng;

type Activation = fn(Arr<f64>) -> Arr<f64>;
type Plain = fn(f64) -> f64;

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    if x > 30.0 { x } else { x.exp().ln_1p() }
}

/// The distribution function of the normal distribution, by Simpson's rule.
fn normal_cdf(x: f64) -> f64 {
    let n = 2000;
    let h = x / f64::from(n);
    let density = |t: f64| (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let sum: f64 = (0..=n)
        .map(|k| {
            let weight = if k == 0 || k == n {
                1.0
            } else if k % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(f64::from(k) * h)
        })
        .sum();
    0.5 + sum * h / 3.0
}

/// Each activation, whether it has a kink, and what it is.
const ACTIVATIONS: &[(&str, bool, Activation, Plain)] = &[
    ("relu", true, |x| x.relu(), |x| if x > 0.0 { x } else { 0.0 }),
    ("leaky_relu", true, |x| x.leaky_relu(0.1), |x| if x > 0.0 { x } else { 0.1 * x }),
    ("elu", true, |x| x.elu(1.5), |x| if x > 0.0 { x } else { 1.5 * (x.exp() - 1.0) }),
    (
        "selu",
        true,
        |x| x.selu(),
        |x| {
            let scaled = if x > 0.0 { x } else { 1.673_263_242_354_377_2 * (x.exp() - 1.0) };
            1.050_700_987_355_480_5 * scaled
        },
    ),
    ("gelu", false, |x| x.gelu(), |x| x * normal_cdf(x)),
    (
        "gelu_tanh",
        false,
        |x| x.gelu_tanh(),
        |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        },
    ),
    ("silu", false, |x| x.silu(), |x| x * logistic(x)),
    ("softplus", false, |x| x.softplus(), softplus),
    ("softsign", true, |x| x.softsign(), |x| x / (1.0 + x.abs())),
    ("hard_tanh", true, |x| x.hard_tanh(), |x| x.clamp(-1.0, 1.0)),
    ("sigmoid", false, |x| x.sigmoid(), logistic),
    ("log_sigmoid", false, |x| x.log_sigmoid(), |x| -softplus(-x)),
    ("mish", false, |x| x.mish(), |x| x * softplus(x).tanh()),
];

#[test]
fn activations_have_their_values_and_derivatives() {
    let mut rng = Rng::new(1);
    for &(name, kinked, f, plain) in ACTIVATIONS {
        for shape in shapes() {
            let x = random(&mut rng, &shape, -3.0, 3.0);
            let y = jit(f).call(&x).unwrap();
            assert_eq!(y.shape(), shape, "{name}");
            let expected: Vec<f64> = x.iter().map(plain).collect();
            close(name, &y.to_vec(), &expected);
            if kinked { check_rough(f, &x) } else { check(f, &x) }
        }
    }
}

#[test]
fn activations_are_stable_far_out() {
    for (f, at, expected, slope) in [
        ((|x: Arr<f64>| x.softplus()) as Activation, 800.0, 800.0, 1.0),
        (|x| x.softplus(), -800.0, 0.0, 0.0),
        (|x| x.softplus(), 0.0, std::f64::consts::LN_2, 0.5),
        (|x| x.log_sigmoid(), -800.0, -800.0, 1.0),
        (|x| x.log_sigmoid(), 800.0, 0.0, 0.0),
        (|x| x.elu(1.0), 800.0, 800.0, 1.0),
        (|x| x.elu(1.0), 0.0, 0.0, 1.0),
        (|x| x.mish(), 800.0, 800.0, 1.0),
        (|x| x.silu(), -800.0, 0.0, 0.0),
        (|x| x.gelu(), -40.0, 0.0, 0.0),
        (|x| x.relu(), 0.0, 0.0, 0.0),
        (|x| x.leaky_relu(0.5), 0.0, 0.0, 0.5),
        (|x| x.hard_tanh(), 1.0, 1.0, 1.0),
        (|x| x.hard_tanh(), 1.5, 1.0, 0.0),
        (|x| x.softsign(), 0.0, 0.0, 1.0),
    ] {
        let (y, dx) = value_and_grad(f).call(at).unwrap();
        assert!((y.item().unwrap() - expected).abs() < 1e-12, "{y} at {at}");
        assert!((dx.item().unwrap() - slope).abs() < 1e-12, "slope {dx} at {at}");
        // Forward mode goes through the branches that are not taken, too.
        let (_, dy) = jvp(f).call((at, 1.0)).unwrap();
        assert!((dy.item().unwrap() - slope).abs() < 1e-12, "tangent {dy} at {at}");
    }
    let tail = jit(|x: Arr<f64>| x.gelu()).call(-10.0).unwrap().item().unwrap();
    // -10 times the distribution function at -10.
    assert!((tail / -7.619_853_024_160_53e-23 - 1.0).abs() < 1e-10, "{tail}");
    assert!(jit(|x: Arr<f64>| x.relu()).call(f64::NAN).unwrap().item().unwrap().is_nan());
}

/// Positions grouped by all axes but the given ones.
fn groups(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let rank = shape.len();
    (0..shape.iter().product())
        .map(|flat| {
            let (mut rest, mut group, mut factor) = (flat, 0, 1);
            for axis in (0..rank).rev() {
                let at = rest % shape[axis];
                rest /= shape[axis];
                if !axes.contains(&axis) {
                    group += factor * at;
                    factor *= shape[axis];
                }
            }
            group
        })
        .collect()
}

#[test]
fn softmax_sums_to_one_along_its_axes() {
    let mut rng = Rng::new(2);
    for shape in shapes() {
        for axis in 0..shape.len() {
            let x = random(&mut rng, &shape, -4.0, 4.0);
            let (values, group) = (x.to_vec(), groups(&shape, &[axis]));
            let total = |k: usize| -> f64 {
                let same = values.iter().zip(&group).filter(|&(_, &g)| g == group[k]);
                same.map(|(x, _)| x.exp()).sum()
            };
            let softmax: Vec<f64> = (0..values.len()).map(|k| values[k].exp() / total(k)).collect();
            let log: Vec<f64> = (0..values.len()).map(|k| values[k] - total(k).ln()).collect();
            let negative = axis as i32 - shape.len() as i32;
            close(
                "softmax",
                &jit(move |x: Arr<f64>| x.softmax(axis)).call(&x).unwrap().to_vec(),
                &softmax,
            );
            close(
                "log_softmax",
                &jit(move |x: Arr<f64>| x.log_softmax(negative)).call(&x).unwrap().to_vec(),
                &log,
            );
            check(move |x: Arr<f64>| x.softmax(axis), &x);
            check(move |x: Arr<f64>| x.log_softmax(axis), &x);
        }
    }
    let x = random(&mut rng, &[2, 3, 2], -4.0, 4.0);
    check(|x: Arr<f64>| x.softmax([0, -1]), &x);
    let y = jit(|x: Arr<f64>| x.softmax([0, -1])).call(&x).unwrap().to_vec();
    let group = groups(&[2, 3, 2], &[0, 2]);
    for g in 0..3 {
        let sum: f64 = y.iter().zip(&group).filter(|&(_, &k)| k == g).map(|(y, _)| y).sum();
        assert!((sum - 1.0).abs() < 1e-14);
    }
}

#[test]
fn softmax_knows_infinities() {
    let inf = f64::INFINITY;
    let softmax = jit(|x: Arr<f64>| x.softmax(0));
    assert_eq!(softmax.call([1e308, -1e308]).unwrap().to_vec(), [1.0, 0.0]);
    assert_eq!(softmax.call([-inf, 3.0]).unwrap().to_vec(), [0.0, 1.0]);
    for x in [[inf, 0.0], [-inf, -inf], [f64::NAN, 0.0]] {
        assert!(softmax.call(x).unwrap().iter().all(f64::is_nan), "{x:?}");
    }
    let (y, dx) = value_and_grad(|x: Arr<f64>| x.softmax(0).at(1)).call([-inf, 3.0, 3.0]).unwrap();
    assert_eq!((y.item(), dx.to_vec()), (Some(0.5), vec![0.0, 0.25, -0.25]));
    let log = jit(|x: Arr<f64>| x.log_softmax(0));
    assert_eq!(log.call([-inf, 3.0]).unwrap().to_vec(), [-inf, 0.0]);
    assert_eq!(log.call([0.0, 1000.0]).unwrap().to_vec(), [-1000.0, 0.0]);
}

#[test]
fn glu_gates_the_first_half_by_the_second() {
    let mut rng = Rng::new(3);
    for (shape, axis) in [(vec![4], 0), (vec![0], 0), (vec![2, 6, 3], 1), (vec![3, 2], -1)] {
        let x = random(&mut rng, &shape, -2.0, 2.0);
        let along = if axis < 0 { shape.len() - 1 } else { axis as usize };
        let half = shape[along] / 2;
        let mut sizes = shape.clone();
        sizes[along] = half;
        let expected = Tensor::from_fn(sizes, |ix| {
            let mut gate = ix.to_vec();
            gate[along] += half;
            x.get(ix).unwrap() * logistic(x.get(&gate).unwrap())
        });
        let expected = expected.unwrap();
        let y = jit(move |x: Arr<f64>| x.glu(axis)).call(&x).unwrap();
        assert_eq!(y.shape(), expected.shape());
        close("glu", &y.to_vec(), &expected.to_vec());
        check(move |x: Arr<f64>| x.glu(axis), &x);
    }
}

#[test]
fn errors_say_what_to_do() {
    let error = error_text(compile(|x: Arr<f64>| x.softmax(2), [2, 3]));
    assert_eq!(
        error,
        "softmax: there is no axis 2 in 2 axes\n  at HERE\n  hint: axes are 0 to 1, or -2 to -1 from the end"
    );
    let error = error_text(compile(|x: Arr<f64>| x.glu(0), [3, 2]));
    assert_eq!(
        error,
        "glu: axis 0 of [3, 2]f64 cannot be halved\n  at HERE\n  hint: its size must be even: the values and their gates"
    );
    let error = error_text(compile(|x: Arr<f64>| x.glu([0, 1]), [2, 2]));
    assert_eq!(error, "glu: one axis is needed, not 2\n  at HERE");
    let error = error_text(compile(|x: Arr<f64>, a: Arr<f64>| x.elu(a), ([2], [3])));
    assert!(error.starts_with("elu: shapes that do not fit: [2]f64 and [3]f64"), "{error}");
}

#[test]
fn activations_work_on_single_precision() {
    let y = jit(|x: Arr<f32>| x.softmax(0).log() + x.gelu()).call([0.0f32, 0.0]).unwrap();
    assert_eq!(y.to_vec(), [-std::f32::consts::LN_2; 2]);
}

//! Optimisers: first steps by hand, and whole ways to the minimum.
use std::ops::ControlFlow;

use cotan::optim::{
    Adam, AdamW, Lbfgs, Optimizer, RmsProp, Schedule, Sgd, Stop, clip_by_norm, clip_by_value,
};
use cotan::prelude::*;
use cotan::random::Key;

type Params = (Tensor<f64>, Vec<Tensor<f64>>);

fn params(a: [f64; 2], b: f64) -> Params {
    (Tensor::from(a), vec![Tensor::from(b)])
}

fn floats(p: &Params) -> Vec<f64> {
    cotan::structure::flat_floats(p)
}

#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{found:?}, not {expected:?}");
    }
}

/// The parameters after each of the gradients.
fn trajectory<O: Optimizer<Params>>(method: &O, gradients: &[Params]) -> Vec<Vec<f64>> {
    let mut p = params([1.0, -2.0], 0.5);
    let mut state = method.init(&p).unwrap();
    let steps = gradients.iter().map(|g| {
        p = method.step(&mut state, &p, g).unwrap();
        floats(&p)
    });
    steps.collect()
}

fn gradients() -> Vec<Params> {
    vec![params([0.5, -1.0], 2.0), params([0.25, 3.0], 0.0), params([-1.0, 0.5], 1.0)]
}

/// The same for each coordinate by itself: `step` takes the gradient, the parameter and the number
/// of the step from 1.
fn by_hand(mut step: impl FnMut(usize, f64, f64, i32) -> f64) -> Vec<Vec<f64>> {
    let mut p = [1.0, -2.0, 0.5];
    let mut all = Vec::new();
    for (t, g) in gradients().iter().map(floats).enumerate() {
        for k in 0..3 {
            p[k] = step(k, p[k], g[k], t as i32 + 1);
        }
        all.push(p.to_vec());
    }
    all
}

#[track_caller]
fn same_trajectory(found: Vec<Vec<f64>>, expected: Vec<Vec<f64>>) {
    found.iter().zip(&expected).for_each(|(f, e)| close(f, e));
}

#[test]
fn gradient_descent_by_hand() {
    let plain = by_hand(|_, p, g, _| p - 0.1 * g);
    same_trajectory(trajectory(&Sgd::new(0.1), &gradients()), plain);

    let decayed = Sgd { momentum: 0.9, weight_decay: 0.01, ..Sgd::new(0.1) };
    let mut v = [0.0; 3];
    let expected = by_hand(|k, p, g, _| {
        v[k] = 0.9 * v[k] + g + 0.01 * p;
        p - 0.1 * v[k]
    });
    same_trajectory(trajectory(&decayed, &gradients()), expected);

    let nesterov = Sgd { momentum: 0.9, nesterov: true, ..Sgd::new(0.1) };
    let mut v = [0.0; 3];
    let expected = by_hand(|k, p, g, _| {
        v[k] = 0.9 * v[k] + g;
        p - 0.1 * (g + 0.9 * v[k])
    });
    same_trajectory(trajectory(&nesterov, &gradients()), expected);
}

#[test]
fn adam_by_hand() {
    let adam = Adam { beta1: 0.8, beta2: 0.95, epsilon: 1e-3, ..Adam::new(0.1) };
    for decay in [None, Some(0.05)] {
        let (mut m, mut v) = ([0.0; 3], [0.0; 3]);
        let expected = by_hand(|k, p, g, t| {
            m[k] = 0.8 * m[k] + 0.2 * g;
            v[k] = 0.95 * v[k] + 0.05 * g * g;
            let (m, v) = (m[k] / (1.0 - 0.8f64.powi(t)), v[k] / (1.0 - 0.95f64.powi(t)));
            p - 0.1 * (m / (v.sqrt() + 1e-3) + decay.unwrap_or(0.0) * p)
        });
        let found = match decay {
            None => trajectory(&adam, &gradients()),
            Some(weight_decay) => {
                trajectory(&AdamW { adam: adam.clone(), weight_decay }, &gradients())
            }
        };
        same_trajectory(found, expected);
    }
}

#[test]
fn rmsprop_by_hand() {
    let method = RmsProp { decay: 0.8, momentum: 0.5, epsilon: 1e-3, ..RmsProp::new(0.1) };
    let (mut s, mut v) = ([0.0; 3], [0.0; 3]);
    let expected = by_hand(|k, p, g, _| {
        s[k] = 0.8 * s[k] + 0.2 * g * g;
        v[k] = 0.5 * v[k] + g / (f64::sqrt(s[k]) + 1e-3);
        p - 0.1 * v[k]
    });
    same_trajectory(trajectory(&method, &gradients()), expected);
}

#[test]
fn schedules_by_hand() {
    let at = |s: &Schedule, steps: &[u64]| steps.iter().map(|&n| s.at(n)).collect::<Vec<_>>();
    let step = Schedule::Step { rate: 1.0, factor: 0.5, every: 10 };
    close(&at(&step, &[0, 9, 10, 25]), &[1.0, 1.0, 0.5, 0.25]);
    let exponential = Schedule::Exponential { rate: 2.0, factor: 0.25, steps: 10 };
    close(&at(&exponential, &[0, 5, 10]), &[2.0, 1.0, 0.5]);
    let linear = Schedule::Linear { rate: 1.0, end: 0.5, steps: 10 };
    close(&at(&linear, &[0, 5, 10, 99]), &[1.0, 0.75, 0.5, 0.5]);
    let cosine = Schedule::Cosine { rate: 1.0, end: 0.2, steps: 10 };
    close(&at(&cosine, &[0, 5, 10, 11]), &[1.0, 0.6, 0.2, 0.2]);
    let warmup = step.after_warmup(4);
    close(&at(&warmup, &[0, 1, 3, 4, 13, 14]), &[0.25, 0.5, 1.0, 1.0, 1.0, 0.5]);
    // The steps of an optimiser count from 0.
    let sgd = Sgd::new(Schedule::Step { rate: 1.0, factor: 0.5, every: 1 });
    let ones = vec![params([1.0, 1.0], 1.0); 3];
    assert_eq!(trajectory(&sgd, &ones)[2], [-0.75, -3.75, -1.25]);
    // Without steps, the end is there at once.
    assert_eq!(Schedule::Cosine { rate: 1.0, end: 0.2, steps: 0 }.at(0), 0.2);
    assert_eq!(Schedule::Constant(0.3).after_warmup(0).at(0), 0.3);
}

#[test]
fn clipping() {
    let g = params([3.0, 0.0], 4.0);
    let (clipped, norm) = clip_by_norm(&g, 2.5).unwrap();
    assert_eq!((floats(&clipped), norm), (vec![1.5, 0.0, 2.0], 5.0));
    assert_eq!(clip_by_norm(&g, 10.0).unwrap(), (g.clone(), 5.0));
    assert_eq!(floats(&clip_by_value(&g, 3.5).unwrap()), [3.0, 0.0, 3.5]);
    let zero = params([0.0, 0.0], 0.0);
    assert_eq!(clip_by_norm(&zero, 0.0).unwrap(), (zero, 0.0));
    assert!(floats(&clip_by_value(&params([f64::NAN, 1.0], 1.0), 0.5).unwrap())[0].is_nan());
}

#[test]
fn single_precision_and_integers_keep_their_types() {
    let p = (Tensor::from([1.0f32, 2.0]), Tensor::from([7i64]));
    let g = (Tensor::from([0.5f32, -0.5]), Tensor::from([100i64]));
    let sgd = Sgd::new(0.1);
    let mut state = sgd.init(&p).unwrap();
    let (x, n) = sgd.step(&mut state, &p, &g).unwrap();
    assert_eq!((x.to_vec(), n.to_vec()), (vec![0.95f32, 2.05], vec![7]));
}

#[test]
fn structures_that_do_not_fit_are_errors() {
    let sgd = Sgd::new(0.1);
    let p = params([1.0, 2.0], 3.0);
    let mut state = sgd.init(&p).unwrap();
    let before = state.clone();
    let wrong = (Tensor::from([1.0, 2.0, 3.0]), vec![Tensor::from(1.0)]);
    assert_eq!(
        sgd.step(&mut state, &p, &wrong).unwrap_err().to_string(),
        "step: structures that do not fit at `0`: [2]f64 and [3]f64\n  hint: a gradient, and the \
         state of an optimiser, has the shapes of the parameters"
    );
    let unlike_the_state = sgd.step(&mut state, &wrong, &wrong).unwrap_err();
    assert_eq!(unlike_the_state.message(), "structures that do not fit at `0`: [3]f64 and [2]f64");
    let wrong = (Tensor::from([1.0, 2.0]), vec![]);
    assert!(sgd.step(&mut state, &p, &wrong).unwrap_err().to_string().contains("at `1`"));
    assert_eq!(state, before);
    let f = |_: &Tensor<f64>| Ok((0.0, Tensor::from([1.0])));
    let error = Lbfgs::new().minimize(f, Tensor::from([1.0, 2.0])).unwrap_err().to_string();
    assert!(
        error.starts_with("minimize: structures that do not fit: [2]f64 and [1]f64"),
        "{error}"
    );
    let f = |x: &Tensor<f64>| Ok((x.clone(), x.clone()));
    let error = Lbfgs::new().minimize(f, Tensor::from([1.0, 2.0])).unwrap_err().to_string();
    assert_eq!(
        error,
        "minimize: the value of the function is not a scalar\n  hint: give its sum or mean"
    );
}

/// Rosenbrock's valley in `n` dimensions: value and gradient.
fn rosenbrock(x: &Tensor<f64>) -> cotan::Result<(f64, Tensor<f64>)> {
    let x = x.to_vec();
    let mut value = 0.0;
    let mut gradient = vec![0.0; x.len()];
    for k in 0..x.len() - 1 {
        let (a, b) = (1.0 - x[k], x[k + 1] - x[k] * x[k]);
        value += a * a + 100.0 * b * b;
        gradient[k] += -2.0 * a - 400.0 * b * x[k];
        gradient[k + 1] += 200.0 * b;
    }
    Ok((value, gradient.into()))
}

#[test]
fn lbfgs_goes_down_the_valley() {
    for n in [2, 10, 50] {
        let start = Tensor::from_fn([n], |ix| if ix[0] % 2 == 0 { -1.2 } else { 1.0 }).unwrap();
        let found = Lbfgs { gradient_tolerance: 1e-10, ..Lbfgs::new() }
            .minimize(rosenbrock, start)
            .unwrap();
        assert_eq!(found.stop, Stop::Gradient, "{found:?}");
        // In more than three dimensions there is a second, local minimum.
        if n == 2 {
            close(&found.point.to_vec(), &[1.0, 1.0]);
        }
        let (value, gradient) = rosenbrock(&found.point).unwrap();
        assert_eq!((value, &gradient), (found.value, &found.gradient));
        assert!(found.evaluations < 400 && found.iterations <= found.evaluations, "{found:?}");
    }
}

#[test]
fn lbfgs_takes_the_gradients_of_this_library() {
    let valley = |x: Arr<f64>| {
        let n = x.len();
        let terms = build(n - 1, |k| {
            let (a, b) = (x.at(k), x.at(k + 1));
            (1.0 - a).square() + 100.0 * (b - a * a).square()
        });
        terms.sum()
    };
    let f = value_and_grad(valley);
    let start = Tensor::from([-1.2, 1.0, 0.5]);
    let mut values = Vec::new();
    let found = Lbfgs::new()
        .minimize_with(
            |x| f.call(x),
            start.clone(),
            |progress| {
                assert_eq!(progress.iteration, values.len() + 1);
                values.push(progress.value);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    assert_eq!((found.stop, found.iterations), (Stop::Gradient, values.len()));
    assert!(values.windows(2).all(|pair| pair[1] <= pair[0]), "{values:?}");
    for x in found.point.iter() {
        assert!((x - 1.0).abs() < 1e-7);
    }
    let by_hand = Lbfgs::new().minimize(rosenbrock, start).unwrap();
    assert!(by_hand.iterations.abs_diff(found.iterations) < 5);
}

#[test]
fn lbfgs_solves_linear_equations() {
    // A x = b as the minimum of x A x / 2 - b x, with eigenvalues from 1 to 1e4.
    let n = 20;
    let weight = |k: usize| 10f64.powf(4.0 * k as f64 / (n - 1) as f64);
    let quadratic = |x: &Tensor<f64>| {
        let value: f64 =
            x.iter().enumerate().map(|(k, x)| 0.5 * weight(k) * x * x - (k as f64) * x).sum();
        let gradient: Vec<f64> =
            x.iter().enumerate().map(|(k, x)| weight(k) * x - k as f64).collect();
        Ok((value, Tensor::from(gradient)))
    };
    let found = Lbfgs { gradient_tolerance: 1e-7, ..Lbfgs::new() }
        .minimize(quadratic, Tensor::zeros([n]).unwrap())
        .unwrap();
    assert_eq!(found.stop, Stop::Gradient, "{found:?}");
    for (k, x) in found.point.iter().enumerate() {
        assert!((x - k as f64 / weight(k)).abs() < 1e-6, "{k}: {x}");
    }
}

#[test]
fn lbfgs_says_why_it_ends() {
    let bowl = |x: &Tensor<f64>| Ok((x.iter().map(|x| x * x).sum::<f64>(), x.map(|x| 2.0 * x)));
    let start = || Tensor::from([3.0, -4.0]);
    let at_minimum = Lbfgs::new().minimize(bowl, Tensor::from([0.0, 0.0])).unwrap();
    assert_eq!(
        (at_minimum.stop, at_minimum.iterations, at_minimum.evaluations),
        (Stop::Gradient, 0, 1)
    );

    let few = Lbfgs { max_iterations: 2, ..Lbfgs::new() }.minimize(rosenbrock, start()).unwrap();
    assert_eq!((few.stop, few.iterations), (Stop::Iterations, 2));

    let loose = Lbfgs { value_tolerance: 0.5, ..Lbfgs::new() };
    let found = loose.minimize(rosenbrock, Tensor::from([-1.2, 1.0])).unwrap();
    assert_eq!(found.stop, Stop::Value);

    let asked = Lbfgs::new().minimize_with(bowl, start(), |_| ControlFlow::Break(())).unwrap();
    assert_eq!((asked.stop, asked.iterations), (Stop::Asked, 1));

    let nowhere = |x: &Tensor<f64>| Ok((f64::NAN, x.clone()));
    assert_eq!(Lbfgs::new().minimize(nowhere, start()).unwrap().stop, Stop::NotFinite);
    let no_gradient = |x: &Tensor<f64>| Ok((1.0, x.map(|_| f64::NAN)));
    assert_eq!(Lbfgs::new().minimize(no_gradient, start()).unwrap().stop, Stop::NotFinite);
    // Finite only where it starts.
    let island = |x: &Tensor<f64>| {
        let inside = x.to_vec() == [3.0, -4.0];
        Ok((if inside { 1.0 } else { f64::NAN }, x.map(|x| 2.0 * x)))
    };
    let found = Lbfgs::new().minimize(island, start()).unwrap();
    assert_eq!((found.stop, found.point), (Stop::NotFinite, start()));

    // A gradient of the wrong sign.
    let uphill = |x: &Tensor<f64>| Ok((x.iter().map(|x| x * x).sum::<f64>(), x.map(|x| -2.0 * x)));
    assert_eq!(Lbfgs::new().minimize(uphill, start()).unwrap().stop, Stop::LineSearch);

    // An error of the function is an error of the whole.
    let failing = |_: &Tensor<f64>| -> cotan::Result<(f64, Tensor<f64>)> {
        Err(cotan::Error::new(cotan::ErrorKind::Data, "objective", "out of data"))
    };
    assert_eq!(Lbfgs::new().minimize(failing, start()).unwrap_err().op(), "objective");
}

#[test]
fn lbfgs_steps_back_from_where_the_function_ends() {
    // -log x - log(1 - x) is finite between 0 and 1, and NaN beyond.
    let barrier = |x: &Tensor<f64>| {
        let x = x.item().unwrap_or(f64::NAN);
        Ok((-x.ln() - (1.0 - x).ln(), Tensor::from(1.0 / (1.0 - x) - 1.0 / x)))
    };
    let found = Lbfgs::new().minimize(barrier, Tensor::from(0.999)).unwrap();
    assert_eq!(found.stop, Stop::Gradient, "{found:?}");
    assert!((found.point.item().unwrap() - 0.5).abs() < 1e-8);
}

#[test]
fn lbfgs_steps_back_from_where_the_gradient_ends() {
    // The value would lead on to 1, the gradient ends at 2.5.
    let wall = |x: &Tensor<f64>| {
        let gradient = |x: f64| if x < 2.5 { f64::NAN } else { 2.0 * (x - 1.0) };
        Ok((x.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>(), x.map(gradient)))
    };
    let found = Lbfgs::new().minimize(wall, Tensor::from([3.0])).unwrap();
    assert_eq!(found.stop, Stop::NotFinite, "{found:?}");
    assert!(found.point.iter().all(|x| (2.5..2.9).contains(&x)), "{found:?}");
    assert!(cotan::structure::all_finite(&found.gradient));
}

/// Points on either side of a line, some on the wrong one.
fn points() -> (Tensor<f64>, Tensor<f64>) {
    let [positions, noise] = Key::new(3).split_into();
    let x = positions.normal::<f64>([60, 2]).unwrap();
    let noise = noise.normal::<f64>([60]).unwrap();
    let side = |k: usize| {
        let at = |c: usize| x.get(&[k, c]).unwrap();
        2.0 * at(0) - at(1) + 0.5 + noise.get(&[k]).unwrap() > 0.0
    };
    let labels = Tensor::from_fn([60], |ix| f64::from(u8::from(side(ix[0])))).unwrap();
    (x, labels)
}

#[test]
fn logistic_regression_comes_to_the_same_point_by_all_methods() {
    let (x, labels) = points();
    let loss = |(w, b): (Arr<f64>, Arr<f64>), x: Arr<f64>, labels: Arr<f64>| {
        let logits = (x * w).sum_axis(1) + b;
        cotan::nn::binary_cross_entropy_with_logits(logits, labels).sum() / 60.0
            + 0.01 * (w * w).sum()
    };
    let f = value_and_grad(loss);
    let start = || (Tensor::from([0.0, 0.0]), Tensor::from(0.0));
    let objective = |p: &(Tensor<f64>, Tensor<f64>)| f.call((p, &x, &labels));
    let best = Lbfgs::new().minimize(objective, start()).unwrap();
    assert_eq!(best.stop, Stop::Gradient);
    assert!(best.value < 0.45, "{}", best.value);

    fn train<O: Optimizer<(Tensor<f64>, Tensor<f64>)>>(
        method: O,
        steps: usize,
        gradient: impl Fn(&(Tensor<f64>, Tensor<f64>)) -> (Tensor<f64>, Tensor<f64>),
    ) -> Vec<f64> {
        let mut p = (Tensor::from([0.0, 0.0]), Tensor::from(0.0));
        let mut state = method.init(&p).unwrap();
        for _ in 0..steps {
            p = method.step(&mut state, &p, &gradient(&p)).unwrap();
        }
        cotan::structure::flat_floats(&p)
    }
    let gradient = |p: &(Tensor<f64>, Tensor<f64>)| objective(p).unwrap().1;
    let expected = cotan::structure::flat_floats(&best.point);
    let decay = |rate: f64| Schedule::Cosine { rate, end: 0.0, steps: 300 };
    for (name, found) in [
        ("sgd", train(Sgd { momentum: 0.9, nesterov: true, ..Sgd::new(0.5) }, 300, gradient)),
        ("adam", train(Adam::new(decay(0.1)), 300, gradient)),
        ("adamw", train(AdamW::new(decay(0.1), 0.0), 300, gradient)),
        ("rmsprop", train(RmsProp::new(decay(0.05)), 300, gradient)),
    ] {
        for (x, y) in found.iter().zip(&expected) {
            assert!((x - y).abs() < 0.02, "{name}: {found:?}, not {expected:?}");
        }
    }
}

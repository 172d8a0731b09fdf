//! The examples: each runs and checks itself; what they are made of is compared with plain Rust, with
//! the same functions run eagerly, and with the oracles, on random inputs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

#[path = "../examples/bundle_adjustment.rs"]
mod bundle_adjustment;
#[path = "../examples/energy.rs"]
#[allow(dead_code, reason = "its text is what is compared")]
mod energy;
#[path = "../examples/gmm.rs"]
mod gmm;
#[path = "../examples/linear_regression.rs"]
mod linear_regression;
#[path = "../examples/logistic_regression.rs"]
mod logistic_regression;
#[path = "../examples/newton.rs"]
mod newton;
#[path = "../examples/ode_fit.rs"]
mod ode_fit;
#[path = "../examples/physics.rs"]
mod physics;
#[cfg(feature = "text")]
#[path = "../examples/text.rs"]
mod text;

use cotan::prelude::*;
use cotan::structure::{flat_floats, map_tensors};
use cotan::{Result, eager};
use cotan_testkit::Rng;
use support::{check, plain::assert_close};

macro_rules! examples_run {
    ($($name:ident)*) => {
        mod runs {
            $(
                #[test]
                fn $name() {
                    super::$name::main().unwrap();
                }
            )*
        }
    };
}

examples_run! {
    linear_regression logistic_regression gmm bundle_adjustment ode_fit newton physics
}

/// The program at the top of the README is this example, and what is said to be printed is.
#[test]
fn the_first_program_of_the_readme_prints_what_it_says() {
    let readme = include_str!("../../../README.md").replace("\r\n", "\n");
    let block = |info: &str| {
        let start = readme.split_once(&format!("```{info}\n")).unwrap().1;
        start.split_once("```").unwrap().0.to_owned()
    };
    let program = include_str!("../examples/energy.rs").replace("\r\n", "\n");
    let (_, program) = program.split_once("\n\n").unwrap();
    assert_eq!(block("rust"), program);
    let at = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]];
    let (value, gradient) = value_and_grad(energy::energy).call(at).unwrap();
    assert!(program.contains(r#"println!("energy {value}, gradient\n{gradient}");"#));
    assert_eq!(block("text"), format!("energy {value}, gradient\n{gradient}\n"));
    check(energy::energy, Tensor::from(at));
    // No array of pairs, of 8 MB, is stored, as is claimed below it; the interpreter stores all.
    if !std::env::var("COTAN_BACKEND").is_ok_and(|backend| backend == "interp") {
        let many = compile(value_and_grad(energy::energy), [1000, 2]).unwrap();
        assert!(many.cost().peak_bytes < 3_000_000, "{}", many.cost());
    }
}

#[cfg(feature = "text")]
#[test]
fn functions_of_text_run() {
    text::main().unwrap();
}

/// Elements from -1 to 1.
fn random<const R: usize>(sizes: [usize; R], rng: &mut Rng) -> Tensor<f64> {
    Tensor::from_fn(sizes, |_| 2.0 * rng.unit() - 1.0).unwrap()
}

/// Compares structures, such as results of staged and of eager functions.
#[track_caller]
fn same<P: Arrays<Concrete = P>>(found: Result<P>, wanted: Result<P>) {
    assert_close(&flat_floats(&found.unwrap()), &flat_floats(&wanted.unwrap()));
}

fn dot(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    a.zip(b).map(|(a, b)| a * b).sum()
}

/// The rows of a matrix.
fn rows(x: &Tensor<f64>) -> Vec<Vec<f64>> {
    let width = x.shape()[1];
    x.to_vec().chunks(width).map(<[f64]>::to_vec).collect()
}

fn log_sum_exp(xs: &[f64]) -> f64 {
    xs.iter().map(|x| x.exp()).sum::<f64>().ln()
}

#[test]
fn linear_regression_is_solved() {
    use linear_regression::{closed_form, descend, loss};
    let mut rng = Rng::new(1);
    for (n, d) in [(1, 1), (3, 2), (7, 4)] {
        let (w, x, y) = (random([d], &mut rng), random([n, d], &mut rng), random([n], &mut rng));
        let at = (&w, &x, &y);
        let (value, gradient) = value_and_grad(loss).call(at).unwrap();
        let errors: Vec<f64> = rows(&x)
            .iter()
            .zip(y.iter())
            .map(|(row, y)| dot(row.iter().copied(), w.iter()) - y)
            .collect();
        let mean = errors.iter().map(|e| e * e).sum::<f64>() / n as f64;
        assert_close(&value.to_vec(), &[mean]);
        same(eager::value_and_grad(loss, at), Ok((value, gradient)));
        check(loss, at);

        let solved = jit(closed_form).call((&x, &y)).unwrap();
        same(eager::run(closed_form, (&x, &y)), Ok(solved.clone()));
        let slope = grad(loss).call((&solved, &x, &y)).unwrap();
        assert!(slope.iter().all(|s| s.abs() < 1e-10), "{slope}");
        check(closed_form, (&x, &y));
        same(eager::run(descend, (&x, &y)), jit(descend).call((&x, &y)));
    }
}

#[test]
fn logistic_regression_is_the_likelihood() {
    use logistic_regression::{Classifier, accuracy, loss};
    let mut rng = Rng::new(2);
    for (n, d) in [(1, 1), (4, 2), (9, 3)] {
        let c = Classifier { weights: random([d], &mut rng), bias: random([], &mut rng) };
        let x = random([n, d], &mut rng);
        let labels = Tensor::from_fn([n], |_| rng.below(2) as f64).unwrap();
        let at = (&c, &x, &labels);
        let (value, gradient) = value_and_grad(loss).call(at).unwrap();
        let bias = c.bias.item().unwrap();
        let (mut entropy, mut right) = (0.0, 0.0);
        for (row, label) in rows(&x).into_iter().zip(labels.iter()) {
            let logit = dot(row.into_iter(), c.weights.iter()) + bias;
            let sign = if label == 1.0 { 1.0 } else { -1.0 };
            entropy += (1.0 + (-sign * logit).exp()).ln() / n as f64;
            right += if sign * logit > 0.0 { 1.0 } else { 0.0 };
        }
        let decay = 0.5e-3 * dot(c.weights.iter(), c.weights.iter());
        assert_close(&value.to_vec(), &[entropy + decay]);
        same(eager::value_and_grad(loss, at), Ok((value, gradient)));
        assert_close(&jit(accuracy).call(at).unwrap().to_vec(), &[right / n as f64]);
        check(loss, at);
    }
}

/// The likelihood of the mixture as in its definition, with loops.
fn plain_likelihood(p: &gmm::Mixture<Tensor<f64>>, x: &Tensor<f64>) -> f64 {
    let (d, means, factors) = (x.shape()[1], rows(&p.means), rows(&p.factors));
    let mut sum = -0.5 * x.size() as f64 * std::f64::consts::TAU.ln();
    for point in rows(x) {
        let component = |k: usize| {
            let y: Vec<f64> = (0..d).map(|i| point[i] - means[k][i]).collect();
            let mut transformed: Vec<f64> = (0..d).map(|i| factors[k][i].exp() * y[i]).collect();
            // What is below the diagonal comes column by column.
            let below = (0..d).flat_map(|j| (j + 1..d).map(move |i| (i, j)));
            for ((i, j), factor) in below.zip(&factors[k][d..]) {
                transformed[i] += factor * y[j];
            }
            let square: f64 = transformed.iter().map(|t| t * t).sum();
            p.alphas.get(&[k]).unwrap() + factors[k][..d].iter().sum::<f64>() - 0.5 * square
        };
        let terms: Vec<f64> = (0..means.len()).map(component).collect();
        sum += log_sum_exp(&terms) - log_sum_exp(&p.alphas.to_vec());
    }
    sum
}

#[test]
fn mixtures_have_their_likelihood() {
    use gmm::{Mixture, log_likelihood, loss};
    let mut rng = Rng::new(3);
    for (n, k, d) in [(1, 1, 1), (4, 2, 2), (3, 3, 3), (2, 2, 4)] {
        let p = Mixture {
            alphas: random([k], &mut rng),
            means: random([k, d], &mut rng),
            factors: random([k, d * (d + 1) / 2], &mut rng),
        };
        let x = random([n, d], &mut rng);
        let likelihood = jit(log_likelihood).call((&p, &x)).unwrap();
        assert_close(&likelihood.to_vec(), &[plain_likelihood(&p, &x)]);
        same(eager::value_and_grad(loss, (&p, &x)), value_and_grad(loss).call((&p, &x)));
        check(loss, (&p, &x));
    }
}

#[test]
fn trajectories_are_those_of_the_equations() {
    use ode_fit::{Rates, loss, trajectory};
    let mut rng = Rng::new(4);
    for _ in 0..3 {
        let [birth, hunted, death, hunting] = std::array::from_fn(|_| 0.5 * rng.unit() - 0.25);
        let at = Rates {
            birth: birth.into(),
            hunted: hunted.into(),
            death: death.into(),
            hunting: hunting.into(),
        };
        let states = rows(&jit(trajectory).call(&at).unwrap());
        // The midpoint rule with steps so small that only the error of the example is left.
        let [a, b, c, d] = [birth, hunted, death, hunting].map(f64::exp);
        let change = |[u, v]: [f64; 2]| [a * u - b * u * v, d * u * v - c * v];
        let moved = |s: [f64; 2], h: f64, k: [f64; 2]| [s[0] + h * k[0], s[1] + h * k[1]];
        let mut exact = [1.0, 0.5];
        for state in &states {
            for _ in 0..400 {
                exact = moved(exact, 1e-3, change(moved(exact, 0.5e-3, change(exact))));
            }
            let error = (state[0] - exact[0]).hypot(state[1] - exact[1]);
            assert!(error < 1e-3, "{state:?} is not {exact:?}");
        }
        let observed = random([states.len(), 2], &mut rng);
        same(
            eager::value_and_grad(loss, (&at, &observed)),
            value_and_grad(loss).call((&at, &observed)),
        );
        check(loss, (&at, &observed));
    }
}

#[test]
fn barriers_and_their_centres() {
    use newton::{Polytope, barrier, newton_step};
    let mut rng = Rng::new(5);
    for (faces, d) in [(1, 1), (3, 2), (5, 3)] {
        let x = map_tensors(&random([d], &mut rng), |x| 0.2 * x).unwrap();
        let sides = Polytope {
            directions: random([faces, d], &mut rng),
            distances: map_tensors(&random([faces], &mut rng), |b| b + 2.0).unwrap(),
        };
        let (value, gradient) = value_and_grad(barrier).call((&x, &sides)).unwrap();
        let gaps = rows(&sides.directions)
            .into_iter()
            .zip(sides.distances.iter())
            .map(|(a, b)| b - dot(a.into_iter(), x.iter()));
        assert_close(&value.to_vec(), &[-gaps.map(f64::ln).sum::<f64>()]);
        same(eager::value_and_grad(barrier, (&x, &sides)), Ok((value, gradient)));
        check(barrier, (&x, &sides));
        // There are as many faces as axes at least, so the Hessian is not singular.
        same(eager::run(newton_step, (&x, &sides)), jit(newton_step).call((&x, &sides)));
    }
}

/// The Jacobian of all residuals with its zeros, and a step that solves the whole system.
fn dense_step(
    scene: bundle_adjustment::Scene<Arr<f64>>,
    seen: bundle_adjustment::Observations<Arr<i64>, Arr<f64>>,
    lambda: Arr<f64>,
) -> Arr<f64> {
    let all = jacobian(bundle_adjustment::projections).at((scene, seen.camera, seen.point));
    let (n, cameras, points) = (2 * seen.at.len(), scene.cameras.size(), scene.points.size());
    let j = concat(&[all.cameras.reshape([n, cameras]), all.points.reshape([n, points])], 1);
    let found = bundle_adjustment::projections(scene, seen.camera, seen.point);
    let residual = (found - seen.at).flatten();
    let normal = j.transpose().matmul(j) * (1.0 + lambda * eye(cameras + points));
    normal.solve(-j.transpose().matmul(residual))
}

#[test]
fn sparse_steps_of_bundle_adjustment_are_the_dense_ones() {
    use bundle_adjustment::{Observations, Scene, cost, jacobian_blocks, projections, step};
    let mut rng = Rng::new(6);
    // Not every camera sees every point.
    let camera = Tensor::from([0, 0, 0, 1, 1, 1, 1]);
    let point = Tensor::from([0, 1, 2, 1, 2, 3, 0]);
    for turned in [true, false] {
        let mut cameras = random([2, 8], &mut rng).to_vec();
        for (k, x) in cameras.iter_mut().enumerate() {
            match k % 8 {
                0..3 if !turned => *x = 0.0,
                5 => *x += 5.0,
                6 => *x += 2.0,
                _ => {}
            }
        }
        let cameras = Tensor::new([2, 8], cameras).unwrap();
        let scene = Scene { cameras, points: random([4, 3], &mut rng) };
        let seen = Observations {
            camera: camera.clone(),
            point: point.clone(),
            at: random([7, 2], &mut rng),
        };
        let at = (&scene, &seen);
        same(eager::value_and_grad(cost, at), value_and_grad(cost).call(at));
        check(cost, at);
        // The blocks are what is not zero in the whole Jacobian.
        let (a, b) = jit(jacobian_blocks).call((&scene, &camera, &point)).unwrap();
        let all = jacobian(projections).call((&scene, &camera, &point)).unwrap();
        let expected_a = Tensor::from_fn([7, 2, 2, 8], |ix| {
            let own = camera.get(&[ix[0]]).unwrap() == ix[2] as i64;
            if own { a.get(&[ix[0], ix[1], ix[3]]).unwrap() } else { 0.0 }
        });
        let expected_b = Tensor::from_fn([7, 2, 4, 3], |ix| {
            let own = point.get(&[ix[0]]).unwrap() == ix[2] as i64;
            if own { b.get(&[ix[0], ix[1], ix[3]]).unwrap() } else { 0.0 }
        });
        same(Ok(all), Ok(Scene { cameras: expected_a.unwrap(), points: expected_b.unwrap() }));

        let lambda = 0.5;
        let next = jit(step).call((&scene, &seen, lambda)).unwrap();
        let change = jit(dense_step).call((&scene, &seen, lambda)).unwrap();
        let expected: Vec<f64> =
            flat_floats(&scene).iter().zip(change.iter()).map(|(x, dx)| x + dx).collect();
        let found = flat_floats(&next);
        let largest = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-8, "{largest}: {found:?} is not {expected:?}");
    }
}

/// The flight with Rust's own loop.
fn plain_flight(velocity: [f64; 2]) -> (f64, i64) {
    let acceleration = |v: [f64; 2]| {
        let speed = v[0].hypot(v[1]);
        [-0.01 * speed * v[0], -9.81 - 0.01 * speed * v[1]]
    };
    let moved = |x: [f64; 2], h: f64, v: [f64; 2]| [x[0] + h * v[0], x[1] + h * v[1]];
    let (mut before, mut now, mut v, mut steps) = ([0.0, 1.8], [0.0, 1.8], velocity, 0);
    while now[1] >= 0.0 {
        let halfway = moved(v, 0.025, acceleration(v));
        (before, now) = (now, moved(now, 0.05, halfway));
        v = moved(v, 0.05, acceleration(halfway));
        steps += 1;
    }
    let part = before[1] / (before[1] - now[1]);
    (before[0] + part * (now[0] - before[0]), steps)
}

#[test]
fn flights_and_their_slopes() {
    use physics::flight;
    let mut rng = Rng::new(7);
    let staged = value_and_grad_aux(flight);
    let mut compared = 0;
    for _ in 0..5 {
        let v = [5.0 + 10.0 * rng.unit(), 12.0 * rng.unit() - 2.0];
        let ((range, steps), slope) = staged.call(v).unwrap();
        let (plain, count) = plain_flight(v);
        assert_close(&range.to_vec(), &[plain]);
        assert_eq!(steps.item(), Some(count));
        same(
            eager::value_and_grad(|v: Arr<f64>| flight(v).0, v),
            Ok((range.clone(), slope.clone())),
        );
        let (_, along) = jvp(|v: Arr<f64>| flight(v).0).call((v, [0.6, 0.8])).unwrap();
        let expected = dot(slope.iter(), [0.6, 0.8].into_iter());
        assert_close(&along.to_vec(), &[expected]);
        // Differences, as long as the number of steps is the same on both sides.
        let h = 1e-5;
        let (after, before) = ([v[0] + 0.6 * h, v[1] + 0.8 * h], [v[0] - 0.6 * h, v[1] - 0.8 * h]);
        let ((after, n), (before, m)) = (plain_flight(after), plain_flight(before));
        if n == m {
            let difference = (after - before) / (2.0 * h);
            assert!((difference - expected).abs() < 1e-5, "{difference} is not {expected}");
            compared += 1;
        }
    }
    assert!(compared >= 4, "only {compared} of 5 slopes were compared with differences");
}

//! `particle` and `saddle`: descents, run here with derivatives by complex steps and closed forms.

use serde_json::json;

use super::complex::{Complex, Number, gradient, value};
use super::eval::{Eval, agree};

const MODES: [&str; 4] = ["ff", "fr", "rf", "rr"];

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The descent as GradBench words it, one decision after the other.
fn descend(mut x: Vec<f64>, f: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> Vec<f64> {
    let (mut fx, mut gx) = f(&x);
    let (mut rate, mut good) = (1e-5, 0);
    loop {
        if norm(&gx) <= 1e-5 {
            return x;
        }
        if good == 10 {
            (rate, good) = (2.0 * rate, 0);
            continue;
        }
        let next: Vec<f64> = x.iter().zip(&gx).map(|(x, g)| x - rate * g).collect();
        let step: Vec<f64> = x.iter().zip(&next).map(|(a, b)| a - b).collect();
        if norm(&step) <= 1e-5 {
            return x;
        }
        let (fnext, gnext) = f(&next);
        if fnext < fx {
            (x, fx, gx, good) = (next, fnext, gnext, good + 1);
        } else {
            (rate, good) = (rate / 2.0, 0);
        }
    }
}

/// The square of where the particle crosses the axis; the force is a closed form.
fn miss(w: Complex) -> Complex {
    let c = Complex::from;
    let charges = [[c(10.0), c(10.0) - w], [c(10.0), c(0.0)]];
    let (mut x, mut v) = ([c(0.0), c(8.0)], [c(0.75), c(0.0)]);
    loop {
        let mut force = [c(0.0), c(0.0)];
        for charge in charges {
            let apart = [x[0] - charge[0], x[1] - charge[1]];
            let distance = (apart[0].square() + apart[1].square()).sqrt();
            for (f, a) in force.iter_mut().zip(apart) {
                *f = *f + a / (distance * distance * distance);
            }
        }
        x = [x[0] + c(0.1) * v[0], x[1] + c(0.1) * v[1]];
        if x[1].re() <= 0.0 {
            return (x[0] - x[1] / v[1] * v[0]).square();
        }
        v = [v[0] + c(0.1) * force[0], v[1] + c(0.1) * force[1]];
    }
}

#[test]
fn particles_fly_through_the_origin() {
    let f = |w: &[f64]| (value(w, |w| miss(w[0])), gradient(w, |w| miss(w[0])));
    let mut eval = Eval::of("particle");
    let expected = descend(vec![0.0], f)[0];
    assert!(value(&[expected], |w| miss(w[0])) < 1e-8);
    assert!((expected - 0.207_191_9).abs() < 1e-7);
    for mode in MODES {
        let output = eval.output("particle", mode, &json!({"w": 0.0, "min_runs": 1}));
        agree(&output, &json!(expected), 1e-10);
    }
    let expected = descend(vec![0.19], f)[0];
    agree(&eval.output("particle", "rr", &json!({"w": 0.19})), &json!(expected), 1e-10);
}

#[test]
fn saddle_points() {
    let mut eval = Eval::of("saddle");
    for start in [vec![1.0, 1.0], vec![-0.5, 0.25], vec![0.0, 0.0]] {
        // The height is |x|^2 - |y|^2, and the best y is the same for every x.
        let bowl = |x: &[f64]| (norm(x).powi(2), x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        let y = descend(start.clone(), bowl);
        let low = norm(&y).powi(2);
        let x = descend(start.clone(), |x| (bowl(x).0 - low, bowl(x).1));
        let expected = json!([x, y].concat());
        for mode in MODES {
            let output = eval.output("saddle", mode, &json!({"start": start}));
            agree(&output, &expected, 1e-12);
        }
    }
}

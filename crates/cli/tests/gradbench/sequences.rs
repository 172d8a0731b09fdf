//! `lstm` and `ode`.

use serde_json::json;

use super::complex::{Complex, Number, columns, complex, gradient, sum, value};
use super::eval::{Eval, Numbers, agree};

/// The loss; `p` holds the main parameters, then the extra ones.
fn lstm<N: Number>(l: usize, b: usize, state: &[f64], text: &[Vec<f64>], p: &[N]) -> N {
    let (main, extra) = p.split_at(8 * l * b);
    let mut state: Vec<N> = state.iter().map(|x| N::from(*x)).collect();
    let mut total = N::from(0.0);
    for t in 0..text.len() - 1 {
        let mut x: Vec<N> = (0..b).map(|i| N::from(text[t][i]) * extra[i]).collect();
        for (layer, state) in main.chunks(8 * b).zip(state.chunks_mut(2 * b)) {
            for (i, x) in x.iter_mut().enumerate() {
                let gate = |g: usize, by: N| layer[g * b + i] * by + layer[(4 + g) * b + i];
                let (hidden, cell) = (state[i], state[b + i]);
                let next = cell * gate(0, *x).logistic()
                    + gate(1, hidden).logistic() * gate(3, hidden).tanh();
                let output = gate(2, *x).logistic() * next.tanh();
                (state[i], state[b + i]) = (output, next);
                *x = output;
            }
        }
        let y: Vec<N> = (0..b).map(|i| x[i] * extra[b + i] + extra[2 * b + i]).collect();
        let log = (sum(y.iter().map(|y| y.exp())) + N::from(2.0)).ln();
        total = total + sum((0..b).map(|i| N::from(text[t + 1][i]) * (y[i] - log)));
    }
    -total / N::from((b * (text.len() - 1)) as f64)
}

#[test]
fn recurrent_networks() {
    let mut eval = Eval::of("lstm");
    for (l, b, c) in [(1, 1, 2), (1, 3, 4), (2, 4, 6), (3, 2, 9)] {
        let mut numbers = Numbers::new((l * 10 + c) as u64);
        let (main, extra) = (numbers.matrix(2 * l, 4 * b), numbers.matrix(3, b));
        let state = numbers.matrix(2 * l, b);
        let bit = |x: &mut f64| *x = f64::from(u8::from(*x > 0.0));
        let mut text = numbers.matrix(c, b);
        text.iter_mut().flatten().for_each(bit);
        let input = json!({
            "main_params": main, "extra_params": extra, "state": state, "sequence": text,
        });
        let (state, p) = (state.concat(), [main.concat(), extra.concat()].concat());
        let loss = |p: &[Complex]| lstm(l, b, &state, &text, p);
        agree(&eval.output("lstm", "objective", &input), &json!(value(&p, loss)), 1e-13);
        agree(&eval.output("lstm", "jacobian", &input), &json!(gradient(&p, loss)), 1e-13);
    }
}

/// Runge and Kutta's method, as textbooks have it.
fn ode<N: Number>(s: usize, x: &[N]) -> Vec<N> {
    let h = N::from(2.0 / s as f64);
    let velocity = |y: &[N]| -> Vec<N> {
        (0..x.len()).map(|i| if i == 0 { x[0] } else { x[i] * y[i - 1] }).collect()
    };
    let moved =
        |y: &[N], k: &[N], h: N| -> Vec<N> { y.iter().zip(k).map(|(y, k)| *y + h * *k).collect() };
    let (half, third, sixth) = (h / N::from(2.0), h / N::from(3.0), h / N::from(6.0));
    let mut y = vec![N::from(0.0); x.len()];
    for _ in 0..s {
        let k1 = velocity(&y);
        let k2 = velocity(&moved(&y, &k1, half));
        let k3 = velocity(&moved(&y, &k2, half));
        let k4 = velocity(&moved(&y, &k3, h));
        for (k, by) in [(k1, sixth), (k2, third), (k3, third), (k4, sixth)] {
            y = moved(&y, &k, by);
        }
    }
    y
}

#[test]
fn differential_equations() {
    let mut eval = Eval::of("ode");
    for (n, s) in [(1, 1), (2, 3), (5, 1), (6, 10), (20, 4)] {
        let x: Vec<f64> = Numbers::new((n * s) as u64).list(n).iter().map(|x| x + 2.0).collect();
        let input = json!({"x": x, "s": s});
        let expected: Vec<f64> = ode(s, &complex(&x)).iter().map(|y| y.re()).collect();
        agree(&eval.output("ode", "primal", &input), &json!(expected), 1e-13);
        let last: Vec<f64> = columns(&x, |x| ode(s, x)).iter().map(|c| c[n - 1]).collect();
        agree(&eval.output("ode", "gradient", &input), &json!(last), 1e-12);
    }
    // Of four equations the method makes no error: y[3] = x[0] x[1] x[2] x[3] 2^4 / 4!.
    let input = json!({"x": [1.0, 2.0, 3.0, 4.0], "s": 2});
    agree(&eval.output("ode", "primal", &input), &json!([2.0, 4.0, 8.0, 16.0]), 1e-13);
    agree(&eval.output("ode", "gradient", &input), &json!([16.0, 8.0, 16.0 / 3.0, 4.0]), 1e-13);
}

//! Runs: that they learn, go on where they were, survive being killed, and say what is wrong.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod errors;
mod files;
mod learning;
mod survival;

use std::path::PathBuf;

use cotan::optim::{Adam, AdamState};
use cotan::prelude::*;
use cotan::random::Key;
use cotan_train::layers::Dense;
use cotan_train::{Batches, Trained, Trainer};

#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
struct Net<A> {
    hidden: Dense<A>,
    last: Dense<A>,
}

type Params = Net<Tensor<f64>>;
type Points = (Tensor<f64>, Tensor<f64>);

fn loss(net: Net<Arr<f64>>, x: Arr<f64>, y: Arr<f64>) -> Arr<f64> {
    let hidden = net.hidden.apply(x).tanh();
    (net.last.apply(hidden).squeeze(1) - y).square().mean()
}

/// 50 points of a function of two variables: a last batch of 16 has two rows.
fn points() -> Points {
    let x = Key::new(1).uniform_in::<f64>([50, 2], -1.0, 1.0).unwrap();
    let y = jit(|x: Arr<f64>| x.prod_axis(1)).call(&x).unwrap();
    (x, y)
}

fn start() -> Params {
    let [hidden, last] = Key::new(2).split_into();
    Net { hidden: Dense::init(hidden, 2, 8).unwrap(), last: Dense::init(last, 8, 1).unwrap() }
}

fn batches() -> Batches<Points> {
    Batches::of(points(), 16).unwrap().shuffled(Key::new(3))
}

/// A run with noise on the inputs, so that the keys of steps count, too.
fn trainer<'a>() -> Trainer<'a, Params, Points, Adam> {
    let objective = value_and_grad(loss);
    Trainer::new(Adam::new(0.01), move |net, (x, y): &Points, step| {
        let noise = step.key.normal::<f64>(x.shape().to_vec())?;
        objective.call((net, x + 0.01 * noise, y))
    })
    .quiet()
}

/// A folder that is not there yet.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cotan-train-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

type Run = Trained<Params, AdamState<Params>>;

/// What has to be equal to the last bit.
fn outcome(run: &Run) -> (Params, AdamState<Params>, u64) {
    (run.params.clone(), run.state.clone(), run.steps)
}

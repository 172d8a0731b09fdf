//! Handwritten digits, read by four kinds of networks.
//!
//! ```text
//! scripts/digits                                                   # fetches data/digits.npz
//! cargo run --release -p cotan-train --example digits -- dense     # or: convolutional, recurrent, transformer
//! ```
//!
//! 9,000 digits are learnt from, 1,000 others say how well. Each network is written twice: of layers,
//! and one element at a time; before anything is learnt the two are compared, and the loss that is
//! minimised is that of `--elements` or of the layers. A run writes checkpoints, metrics and a picture
//! of its loss to `runs/digits-NETWORK`; `--resume` goes on with one that was stopped by Ctrl-C or in
//! any other way, and ends with the same bits.

mod elements;
mod models;

use std::error::Error;
use std::path::{Path, PathBuf};

use cotan::optim::{Adam, Schedule};
use cotan::prelude::*;
use cotan::random::Key;
use cotan::structure::take_rows;
use cotan_train::{Batches, End, Trainer};

const TRAINED: usize = 9000;
const BATCH: usize = 100;

/// Images and what they show.
type Digits = (Tensor<f32>, Tensor<i64>);

struct Options {
    network: String,
    data: PathBuf,
    runs: PathBuf,
    epochs: u64,
    elements: bool,
    resume: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        network: String::new(),
        data: "data/digits.npz".into(),
        runs: "runs".into(),
        epochs: 10,
        elements: false,
        resume: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--data" => options.data = value()?.into(),
            "--runs" => options.runs = value()?.into(),
            "--epochs" => options.epochs = value()?.parse()?,
            "--elements" => options.elements = true,
            "--resume" => options.resume = true,
            _ if options.network.is_empty() && !arg.starts_with('-') => options.network = arg,
            _ => return Err(format!("{arg} is not understood").into()),
        }
    }
    Ok(options)
}

/// The digits in an order that mixes them: those to learn from, and those to test with.
fn digits(path: &Path) -> Result<(Digits, Digits), Box<dyn Error>> {
    #[derive(Arrays, Clone, Debug)]
    struct File<A, L> {
        images: A,
        labels: L,
    }
    if !path.exists() {
        return Err(format!("{} is missing: scripts/digits fetches it", path.display()).into());
    }
    let File { images, labels }: File<Tensor<f32>, Tensor<i64>> = load_npz(path)?;
    let order: Vec<usize> =
        Key::new(1).permutation(labels.len())?.iter().map(|row| row as usize).collect();
    if order.len() <= TRAINED {
        return Err(format!("more than {TRAINED} digits are needed, not {}", order.len()).into());
    }
    let (trained, tested) = order.split_at(TRAINED);
    let all = (images, labels);
    Ok((take_rows(&all, trained)?, take_rows(&all, tested)?))
}

/// Learns the parameters of a network, of which there are two definitions.
fn learn<N>(
    options: &Options,
    start: N::Concrete,
    layers: fn(N, Arr<f32>) -> Arr<f32>,
    elements: fn(N, Arr<f32>) -> Arr<f32>,
) -> Result<(), Box<dyn Error>>
where
    N: Arrays<Staged = N> + 'static,
    N::Concrete: Arrays<Staged = N, Concrete = N::Concrete> + Clone,
    for<'a> (&'a N::Concrete, &'a Tensor<f32>): cotan::Feed<(N, Arr<f32>)>,
    for<'a> (&'a N::Concrete, &'a Tensor<f32>, &'a Tensor<i64>):
        cotan::Feed<(N, Arr<f32>, Arr<i64>)>,
{
    let (learnt, tested) = digits(&options.data)?;

    let some = learnt.0.slice(s![..BATCH])?;
    let (bulk, single) = (jit(layers).call((&start, &some))?, jit(elements).call((&start, &some))?);
    let apart = bulk.iter().zip(single.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("layers and elements differ by {apart:e}");
    if !bulk.iter().zip(single.iter()).all(|(a, b)| (a - b).abs() < 1e-4) {
        return Err("the two definitions of the network disagree".into());
    }

    let logits = if options.elements { elements } else { layers };
    let loss = move |net: N, x: Arr<f32>, y: Arr<i64>| nn::cross_entropy(logits(net, x), y).mean();
    let right = move |net: N, x: Arr<f32>, y: Arr<i64>| {
        logits(net, x).argmax_axis(1).eq(y).cast::<f64>().mean()
    };
    let (objective, traced, right) = (value_and_grad(loss), jit(loss), jit(right));
    let steps = options.epochs * (TRAINED / BATCH) as u64;
    let rate = Schedule::Cosine { rate: 2e-3, end: 0.0, steps }.after_warmup(30);
    let folder = options.runs.join(format!("digits-{}", options.network));

    let trained = Trainer::new(Adam::new(rate), |net, (x, y), _| objective.call((net, x, y)))
        .epochs(options.epochs)
        .clip_norm(1.0)
        .evaluate(["accuracy"], |net| {
            Ok([right.call((net, &tested.0, &tested.1))?.item().unwrap_or(f64::NAN)])
        })
        .trace_nan(|net, (x, y)| traced.compile_like((net, x, y))?.trace_nan((net, x, y)))
        .checkpoints(&folder)
        .metrics(folder.join("metrics.csv"))
        .curve(folder.join("loss.svg"))
        .resume(options.resume)
        .run(start, &Batches::of(learnt.clone(), BATCH)?.shuffled(Key::new(2)))?;

    if trained.end == End::Interrupted {
        println!("stopped after {} steps; --resume goes on", trained.steps);
        return Ok(());
    }
    let Some(last) = trained.rows.last() else { return Ok(()) };
    println!("loss {:.4}, {:.1} % of others right", last.loss, 100.0 * last.values[0]);
    println!("{:.1} s, {:.0} digits a second", last.seconds, last.rows_per_second);
    println!("metrics and curve are in {}", folder.display());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let key = Key::new(0);
    match options.network.as_str() {
        "dense" => learn(&options, models::dense(key)?, models::Dense2::logits, elements::dense),
        "convolutional" => {
            learn(&options, models::conv(key)?, models::Convolutional::logits, elements::conv)
        }
        "recurrent" => {
            learn(&options, models::recurrent(key)?, models::Recurrent::logits, elements::recurrent)
        }
        "transformer" => {
            let start = models::transformer(key)?;
            learn(&options, start, models::Transformer::logits, elements::transformer)
        }
        "" => Err("name a network: dense, convolutional, recurrent, transformer".into()),
        other => Err(format!("there is no network `{other}`").into()),
    }
}

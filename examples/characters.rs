//! A language model of characters: a recurrent network learns to continue the documentation of cotan.
//!
//! Each character is a vector, a gated recurrent unit reads them one after the other, and a last layer
//! says how likely each character is to come next. What is minimised is the mean of $-\log_2 p$, in bits
//! for each character: how long a text would be, compressed by the model. Characters that were kept back
//! are compared with two simpler models: how often each character occurs at all, and after the one
//! before it.
//!
//! ```text
//! cargo run --release -p cotan-examples --example characters                # some seconds
//! cargo run --release -p cotan-examples --example characters -- 5000       # more steps
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::f64::consts::LN_2;

use cotan::optim::{Adam, Schedule};
use cotan::prelude::*;
use cotan::random::Key;
use cotan_train::layers::{Dense, Embedding, Gru};
use cotan_train::{Batches, Trainer};

const TEXTS: [&str; 4] = ["language.md", "semantics.md", "tour.md", "python.md"];
/// Characters in a row of a batch, rows in a batch, and units of the network.
const WINDOW: usize = 48;
const BATCH: usize = 16;
const UNITS: usize = 96;
const STEPS: u64 = 400;

/// The network.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Model<A> {
    /// A vector for each character.
    pub embedding: Embedding<A>,
    /// What reads them.
    pub memory: Gru<A>,
    /// What comes next.
    pub last: Dense<A>,
}

/// Scores of what comes after each character: `[rows, time, characters]`.
pub fn scores(model: Model<Arr<f32>>, text: Arr<i64>) -> Arr<f32> {
    // Recurrent layers take time as the first axis.
    let states = model.memory.apply(model.embedding.apply(text.transpose()));
    model.last.apply(states).swap_axes(0, 1)
}

/// Bits for each character but the first of each row.
pub fn bits(model: Model<Arr<f32>>, rows: Arr<i64>) -> Arr<f32> {
    let (text, next) = (rows.slice(s![.., ..-1]), rows.slice(s![.., 1..]));
    nn::cross_entropy(scores(model, text), next).mean() / LN_2 as f32
}

/// The numbers of the characters of a text, in rows of `WINDOW` and one more.
fn rows(text: &[i64]) -> cotan::Result<Tensor<i64>> {
    let rows: Vec<i64> = text.windows(WINDOW + 1).step_by(WINDOW).flatten().copied().collect();
    Tensor::new([rows.len() / (WINDOW + 1), WINDOW + 1], rows)
}

/// Bits for each character by counts of pairs, or of single characters, smoothed by 1/10 each.
fn counted(learnt: &[i64], others: &[i64], kinds: usize, pairs: bool) -> f64 {
    let context = |before: i64| if pairs { before } else { 0 };
    let (mut counts, mut totals) = (BTreeMap::new(), BTreeMap::new());
    for pair in learnt.windows(2) {
        *counts.entry((context(pair[0]), pair[1])).or_insert(0.1) += 1.0;
        *totals.entry(context(pair[0])).or_insert(0.1 * kinds as f64) += 1.0;
    }
    let cost = |pair: &[i64]| {
        let count = counts.get(&(context(pair[0]), pair[1])).copied().unwrap_or(0.1);
        let total = totals.get(&context(pair[0])).copied().unwrap_or(0.1 * kinds as f64);
        -f64::log2(count / total)
    };
    others.windows(2).map(cost).sum::<f64>() / (others.len() - 1) as f64
}

/// A text continued by the model, each character drawn by its probability.
fn continued(
    model: &Model<Tensor<f32>>,
    start: &str,
    kinds: &[char],
    length: usize,
) -> Result<String, Box<dyn Error>> {
    // The last characters of the text so far; the scores after them.
    let next = jit(|model: Model<Arr<f32>>, text: Arr<i64>| scores(model, text).slice(s![0, -1]));
    let mut text = start.to_owned();
    for n in 0..length {
        let skipped = text.chars().count().saturating_sub(start.len());
        let numbers: Option<Vec<i64>> = text
            .chars()
            .skip(skipped)
            .map(|c| kinds.iter().position(|&kind| kind == c).map(|k| k as i64))
            .collect();
        let numbers = numbers.ok_or("a character that is not in the text")?;
        let scores = next.call((model, Tensor::new([1, numbers.len()], numbers)?))?;
        // A little colder than the probabilities, which makes fewer mistakes.
        let weights: Vec<f64> = scores.iter().map(|s| f64::exp(f64::from(s) / 0.7)).collect();
        let drawn = Key::new(n as u64).categorical([1], &weights)?[[0]];
        text.push(kinds[drawn as usize]);
    }
    Ok(text)
}

/// Learns, measures, and writes a text.
pub fn main() -> Result<(), Box<dyn Error>> {
    let steps =
        std::env::args().nth(1).filter(|_| cfg!(not(test))).map(|n| n.parse()).transpose()?;
    let steps = steps.unwrap_or(if cfg!(test) { 30 } else { STEPS });
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/");
    let texts = TEXTS.map(|name| std::fs::read_to_string(format!("{docs}{name}")));
    let text: String = texts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let mut kinds: Vec<char> = text.chars().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let number = |c: char| kinds.binary_search(&c).unwrap_or(0) as i64;
    let numbers: Vec<i64> = text.chars().map(number).collect();
    let (learnt, others) = numbers.split_at(numbers.len() * 9 / 10);
    println!("{} characters of {} kinds", numbers.len(), kinds.len());

    let [embedding, memory, last, order] = Key::new(0).split_into();
    let start = Model {
        embedding: Embedding::init(embedding, kinds.len(), 32)?,
        memory: Gru::init(memory, 32, UNITS)?,
        last: Dense::init(last, UNITS, kinds.len())?,
    };
    let (objective, measure, others_rows) = (value_and_grad(bits), jit(bits), rows(others)?);
    let rate = Schedule::Cosine { rate: 1e-2, end: 5e-4, steps }.after_warmup(20);
    let trained = Trainer::new(Adam::new(rate), |model, rows, _| objective.call((model, rows)))
        .steps(steps)
        .clip_norm(1.0)
        .run(start, &Batches::of(rows(learnt)?, BATCH)?.shuffled(order))?;

    let found = measure.call((&trained.params, &others_rows))?.item().map_or(f64::NAN, f64::from);
    let (single, pairs) =
        (counted(learnt, others, kinds.len(), false), counted(learnt, others, kinds.len(), true));
    println!("bits for each character that was kept back, after {steps} steps: {found:.3}");
    println!("by how often characters occur: {single:.3}; by pairs of them: {pairs:.3}");
    println!("---\n{}\n---", continued(&trained.params, "The gradient of a ", &kinds, 300)?);
    // Few steps, as in the tests, do not get below pairs.
    let enough = if steps >= STEPS { pairs } else { single };
    if found.is_nan() || found > enough { Err("nothing was learnt".into()) } else { Ok(()) }
}

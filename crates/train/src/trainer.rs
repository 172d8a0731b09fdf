//! What a run is to do.

use std::path::{Path, PathBuf};

use cotan::optim::Optimizer;
use cotan::random::Key;
use cotan::structure::ScalarValue;
use cotan::{Arrays, Error, ErrorKind, NonFinite, Result};

use crate::batches::Batches;
use crate::checkpoint::Folder;
use crate::metrics::Row;
use crate::run;

/// Where a run is: what an objective may depend on besides parameters and data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The number of the step, from 0.
    pub number: u64,
    /// The number of the epoch, from 0.
    pub epoch: u64,
    /// Random numbers of this batch: for dropout, for noise. They follow from the seed and the number
    /// of the batch, so a run that is resumed has the same.
    pub key: Key,
}

/// Which values of an evaluation are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Small ones, as of a loss.
    Smallest,
    /// Large ones, as of an accuracy.
    Largest,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// All steps were taken.
    Finished,
    /// There was no progress for as many reports as was said.
    Early,
    /// Ctrl-C was pressed.
    Interrupted,
}

/// What a run gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trained<P, S> {
    /// The parameters after the last step.
    pub params: P,
    /// The parameters that did best, if the run decided on stopping early.
    pub best: Option<P>,
    /// The state of the optimiser.
    pub state: S,
    /// How many steps were taken, those before a resumed checkpoint among them.
    pub steps: u64,
    /// Why it ended.
    pub end: End,
    /// What was reported. A run that was resumed knows what came before from its file of metrics.
    pub rows: Vec<Row>,
}

impl<P, S> Trained<P, S> {
    /// The mean loss of the last report.
    pub fn last_loss(&self) -> Option<f64> {
        self.rows.last().map(|row| row.loss)
    }
}

type Objective<'a, P, B> = Box<dyn Fn(&P, &B, &Step) -> Result<(f64, P)> + 'a>;
type Evaluation<'a, P> = Box<dyn Fn(&P) -> Result<Vec<f64>> + 'a>;
type Trace<'a, P, B> = Box<dyn Fn(&P, &B) -> Result<Option<NonFinite>> + 'a>;

/// When a run stops because it makes no progress.
#[derive(Clone, Debug)]
pub(crate) struct Early {
    pub(crate) name: String,
    pub(crate) goal: Goal,
    pub(crate) patience: u64,
}

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Epochs(u64),
    Steps(u64),
}

/// Takes an optimiser's steps over the batches of a data set.
///
/// The objective gives the loss of a batch and its gradient by the parameters. Everything else has a
/// default: one epoch, a report after each epoch, a progress bar if the standard error is a terminal,
/// no files.
///
/// A loss or gradient that is not finite ends the run with an error that says in which step, and, with
/// [`trace_nan`](Trainer::trace_nan), which operation made it.
pub struct Trainer<'a, P, B, O> {
    pub(crate) method: O,
    pub(crate) objective: Objective<'a, P, B>,
    pub(crate) length: Length,
    pub(crate) report_every: Option<u64>,
    pub(crate) accumulate: u64,
    pub(crate) clip_norm: Option<f64>,
    pub(crate) seed: Key,
    pub(crate) names: Vec<String>,
    pub(crate) evaluation: Option<Evaluation<'a, P>>,
    pub(crate) early: Option<Early>,
    pub(crate) trace: Option<Trace<'a, P, B>>,
    pub(crate) folder: Option<Folder>,
    pub(crate) resume: bool,
    pub(crate) metrics: Option<PathBuf>,
    pub(crate) curve: Option<PathBuf>,
    pub(crate) quiet: bool,
}

impl<'a, P, B, O> Trainer<'a, P, B, O> {
    /// Minimises an objective by a method: see [`cotan::value_and_grad`].
    pub fn new<L: ScalarValue>(
        method: O,
        objective: impl Fn(&P, &B, &Step) -> Result<(L, P)> + 'a,
    ) -> Self {
        let objective: Objective<'a, P, B> = Box::new(move |params, batch, step| {
            let (loss, gradient) = objective(params, batch, step)?;
            let loss = loss.value().ok_or_else(|| {
                Error::new(ErrorKind::Type, "train", "the loss has several elements")
                    .with_hint("reduce it to a number, by `.mean()` for example")
            })?;
            Ok((loss, gradient))
        });
        Trainer {
            method,
            objective,
            length: Length::Epochs(1),
            report_every: None,
            accumulate: 1,
            clip_norm: None,
            seed: Key::new(0),
            names: Vec::new(),
            evaluation: None,
            early: None,
            trace: None,
            folder: None,
            resume: false,
            metrics: None,
            curve: None,
            quiet: false,
        }
    }

    /// So many times over the data.
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.length = Length::Epochs(epochs);
        self
    }

    /// So many steps, whatever part of an epoch that is.
    pub fn steps(mut self, steps: u64) -> Self {
        self.length = Length::Steps(steps);
        self
    }

    /// Reports every so many steps, in place of after each epoch: evaluation, metrics, checkpoint.
    pub fn report_every(mut self, steps: u64) -> Self {
        self.report_every = Some(steps.max(1));
        self
    }

    /// Takes each step by the mean of the gradients of so many batches: larger batches than fit into
    /// memory. The last step of an epoch has the batches that are left.
    pub fn accumulate(mut self, batches: u64) -> Self {
        self.accumulate = batches.max(1);
        self
    }

    /// Scales gradients whose norm is larger: see [`cotan::optim::clip_by_norm`].
    pub fn clip_norm(mut self, most: f64) -> Self {
        self.clip_norm = Some(most);
        self
    }

    /// The seed of [`Step::key`].
    pub fn seed(mut self, key: Key) -> Self {
        self.seed = key;
        self
    }

    /// Values to report of the parameters, such as the accuracy on data that is not trained with.
    pub fn evaluate<const N: usize>(
        mut self,
        names: [&str; N],
        values: impl Fn(&P) -> Result<[f64; N]> + 'a,
    ) -> Self {
        self.names = names.map(str::to_owned).to_vec();
        self.evaluation = Some(Box::new(move |params| values(params).map(Vec::from)));
        self
    }

    /// Ends the run when a value of the evaluation (or `"loss"`) has not become better for `patience`
    /// reports in a row. The parameters that did best are [`Trained::best`], and in the folder of the
    /// checkpoints.
    pub fn early_stopping(mut self, name: &str, goal: Goal, patience: u64) -> Self {
        self.early = Some(Early { name: name.to_owned(), goal, patience });
        self
    }

    /// Finds out where a NaN or infinity in the loss comes from.
    ///
    /// ```
    /// use cotan::optim::Sgd;
    /// use cotan::prelude::*;
    /// use cotan_train::{Batches, Trainer};
    ///
    /// fn loss(w: Arr<f64>, x: Arr<f64>) -> Arr<f64> {
    ///     (w * x).log().mean()
    /// }
    ///
    /// let objective = value_and_grad(loss);
    /// let traced = jit(loss);
    /// let error = Trainer::new(Sgd::new(1.0), |w, x, _| objective.call((w, x)))
    ///     .epochs(10)
    ///     .trace_nan(|w, x| traced.compile_like((w, x))?.trace_nan((w, x)))
    ///     .quiet()
    ///     .run(Tensor::from(1.5), &Batches::of(Tensor::from([1.0, 2.0]), 2)?)
    ///     .unwrap_err();
    /// assert!(error.message().starts_with("the loss is NaN in step"), "{error}");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn trace_nan(mut self, trace: impl Fn(&P, &B) -> Result<Option<NonFinite>> + 'a) -> Self {
        self.trace = Some(Box::new(trace));
        self
    }

    /// Writes a checkpoint into a folder with each report, and when Ctrl-C is pressed; the last three
    /// are kept ([`keep`](Trainer::keep)).
    pub fn checkpoints(mut self, folder: impl AsRef<Path>) -> Self {
        let keep = self.folder.take().map(|folder| folder.keep);
        let mut folder = Folder::new(folder.as_ref());
        folder.keep = keep.unwrap_or(folder.keep);
        self.folder = Some(folder);
        self
    }

    /// Keeps so many checkpoints, at least one.
    pub fn keep(mut self, checkpoints: usize) -> Self {
        if let Some(folder) = &mut self.folder {
            folder.keep = checkpoints.max(1);
        }
        self
    }

    /// Goes on at the last checkpoint, if there is one. Otherwise a run begins anew, and removes the
    /// checkpoints of an earlier one in its folder.
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Writes each report as a row of a `.csv` file or a line of a `.jsonl` file.
    pub fn metrics(mut self, path: impl AsRef<Path>) -> Self {
        self.metrics = Some(path.as_ref().to_owned());
        self
    }

    /// Draws the loss over the steps as an SVG file, anew with each report.
    pub fn curve(mut self, path: impl AsRef<Path>) -> Self {
        self.curve = Some(path.as_ref().to_owned());
        self
    }

    /// Shows nothing.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }
}

impl<P, B, O> Trainer<'_, P, B, O>
where
    P: Arrays<Concrete = P> + Clone,
    B: Arrays<Concrete = B> + Send + Sync,
    O: Optimizer<P>,
    O::State: Clone,
{
    /// Takes the steps. After an error, a run with checkpoints can be resumed from the last of them.
    pub fn run(&self, params: P, batches: &Batches<B>) -> Result<Trained<P, O::State>> {
        run::run(self, params, batches)
    }
}

impl<P, B, O: std::fmt::Debug> std::fmt::Debug for Trainer<'_, P, B, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer")
            .field("method", &self.method)
            .field("length", &self.length)
            .field("checkpoints", &self.folder)
            .finish_non_exhaustive()
    }
}

//! The loop.

use std::io::Write;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use cotan::optim::{Optimizer, clip_by_norm};
use cotan::structure::{all_finite, map_tensors, zip_tensors};
use cotan::{Arrays, Error, ErrorKind, Result, Tensor};

use crate::batches::Batches;
use crate::checkpoint::{Saved, best_parameters, last_checkpoint, refused};
use crate::curve;
use crate::interrupt::Interrupt;
use crate::metrics::{Metrics, Row};
use crate::prefetch::prefetched;
use crate::progress::Progress;
use crate::trainer::{Early, End, Goal, Length, Step, Trained, Trainer};

pub(crate) fn run<P, B, O>(
    trainer: &Trainer<'_, P, B, O>,
    params: P,
    batches: &Batches<B>,
) -> Result<Trained<P, O::State>>
where
    P: Arrays<Concrete = P> + Clone,
    B: Arrays<Concrete = B> + Send + Sync,
    O: Optimizer<P>,
    O::State: Clone,
{
    let plan = Plan::new(trainer, batches)?;
    let mut run = Run::begin(trainer, plan, params)?;
    // Checkpoints make an interrupted run one that can go on; without them Ctrl-C means what it does.
    let interrupt = match trainer.folder {
        Some(_) => Interrupt::caught(),
        None => Interrupt::ignored(),
    };
    let end = std::thread::scope(|scope| {
        let numbers = run.plan.first_batch(run.step)..run.plan.first_batch(run.plan.steps);
        run.steps(&prefetched(scope, batches, numbers), &interrupt)
    })?;
    run.progress.finish();
    let Run { params, best, state, step, rows, .. } = run;
    Ok(Trained { params, best, state, steps: step, end, rows })
}

/// The steps of a run, as numbers.
struct Plan {
    /// Rows, rows in a batch, batches in an epoch, batches in a step: a run that goes on has the same.
    layout: [i64; 4],
    per_epoch: u64,
    batches_per_epoch: u64,
    accumulate: u64,
    steps: u64,
    report_every: u64,
    rows: u64,
    batch_rows: u64,
}

impl Plan {
    fn new<P, B: Arrays<Concrete = B>, O>(
        trainer: &Trainer<'_, P, B, O>,
        batches: &Batches<B>,
    ) -> Result<Plan> {
        let batches_per_epoch = batches.per_epoch() as u64;
        let per_epoch = batches_per_epoch.div_ceil(trainer.accumulate);
        let steps = match trainer.length {
            Length::Steps(steps) => Some(steps),
            Length::Epochs(epochs) => epochs.checked_mul(per_epoch),
        };
        // Counts of batches have room for all steps, too.
        let steps = steps.filter(|&steps| steps < u64::MAX / (4 * batches_per_epoch));
        let Some(steps) = steps else {
            let message = "more steps than can be counted";
            return Err(Error::new(ErrorKind::Limit, "train", message));
        };
        if let Some(early) = &trainer.early
            && early.name != LOSS
            && !trainer.names.contains(&early.name)
        {
            let message = format!("early stopping by `{}`, which is not reported", early.name);
            return Err(Error::new(ErrorKind::Data, "train", message)
                .with_hint(format!("reported are `{LOSS}` and {:?}", trainer.names)));
        }
        let layout =
            [batches.rows() as u64, batches.size() as u64, batches_per_epoch, trainer.accumulate];
        Ok(Plan {
            layout: layout.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
            per_epoch,
            batches_per_epoch,
            accumulate: trainer.accumulate,
            steps,
            report_every: trainer.report_every.unwrap_or(per_epoch),
            rows: batches.rows() as u64,
            batch_rows: batches.size() as u64,
        })
    }

    fn epoch(&self, step: u64) -> u64 {
        step / self.per_epoch
    }

    /// The number, over all epochs, of the first batch of a step.
    fn first_batch(&self, step: u64) -> u64 {
        let within = (step % self.per_epoch) * self.accumulate;
        self.epoch(step) * self.batches_per_epoch + within
    }

    /// The numbers of the batches of a step.
    fn batches(&self, step: u64) -> std::ops::Range<u64> {
        self.first_batch(step)..self.first_batch(step + 1)
    }

    /// How many rows a batch has.
    fn rows_of(&self, batch: u64) -> u64 {
        let before = (batch % self.batches_per_epoch) * self.batch_rows;
        self.batch_rows.min(self.rows - before.min(self.rows))
    }
}

/// The name of the mean loss in reports.
const LOSS: &str = "loss";

/// A run on its way.
struct Run<'r, 'a, P, B, O: Optimizer<P>> {
    trainer: &'r Trainer<'a, P, B, O>,
    plan: Plan,
    params: P,
    state: O::State,
    step: u64,
    /// The sum of the losses since the last report, by rows, and how many rows.
    losses: [f64; 2],
    best: Option<P>,
    best_value: f64,
    since_best: u64,
    rows: Vec<Row>,
    metrics: Option<Metrics>,
    progress: Progress,
    begun: Instant,
    /// Seconds that passed before this run, and until the last report.
    seconds: [f64; 2],
}

impl<'r, 'a, P, B, O> Run<'r, 'a, P, B, O>
where
    P: Arrays<Concrete = P> + Clone,
    B: Arrays<Concrete = B>,
    O: Optimizer<P>,
    O::State: Clone,
{
    fn begin(trainer: &'r Trainer<'a, P, B, O>, plan: Plan, params: P) -> Result<Self> {
        let state = trainer.method.init(&params)?;
        let worst = match trainer.early.as_ref().map(|early| early.goal) {
            Some(Goal::Largest) => f64::NEG_INFINITY,
            Some(Goal::Smallest) | None => f64::INFINITY,
        };
        let mut run = Run {
            trainer,
            params,
            state,
            step: 0,
            losses: [0.0; 2],
            best: None,
            best_value: worst,
            since_best: 0,
            rows: Vec::new(),
            metrics: None,
            progress: Progress::new(true, plan.steps, 0),
            begun: Instant::now(),
            seconds: [0.0; 2],
            plan,
        };
        let resumed = run.resume()?;
        if let Some(path) = &trainer.metrics {
            let (metrics, rows) = Metrics::open(path, &trainer.names, resumed)?;
            (run.metrics, run.rows) = (Some(metrics), rows);
        }
        let seconds = run.rows.last().map_or(0.0, |row| row.seconds);
        run.seconds = [seconds; 2];
        run.progress = Progress::new(trainer.quiet, run.plan.steps, run.step);
        Ok(run)
    }

    /// Goes on at the last checkpoint: gives its step.
    fn resume(&mut self) -> Result<Option<u64>> {
        let Some(folder) = &self.trainer.folder else { return Ok(None) };
        if !self.trainer.resume {
            folder.clear()?;
            return Ok(None);
        }
        let Some(path) = last_checkpoint(folder.path())? else { return Ok(None) };
        let saved = cotan::load_safetensors_like(&path, &self.saved())?;
        let differs = |message: String| {
            let message = format!("{}: {message}", path.display());
            Error::new(ErrorKind::Data, "train", message)
                .with_hint("a run is resumed with the data and batches that it began with")
        };
        let layout = saved.layout.to_vec();
        if layout != self.plan.layout {
            let say = |[rows, size, batches, accumulate]: [i64; 4]| {
                format!("{rows} rows, {size} in a batch, {batches} batches, {accumulate} in a step")
            };
            let found = <[i64; 4]>::try_from(layout).map_or("nothing".to_owned(), say);
            return Err(differs(format!(
                "it is of {found}; this run has {}",
                say(self.plan.layout)
            )));
        }
        let count = |n: &Tensor<i64>| n.item().and_then(|n| u64::try_from(n).ok());
        let (Some(step), Some(since_best)) = (count(&saved.step), count(&saved.since_best)) else {
            return Err(differs("it has no number of steps".to_owned()));
        };
        if let [sum, rows] = *saved.losses.to_vec() {
            self.losses = [sum, rows];
        }
        self.step = step;
        self.since_best = since_best;
        self.best_value = saved.best.item().unwrap_or(self.best_value);
        if self.trainer.early.is_some() && self.best_value.is_finite() {
            self.best = Some(best_parameters(folder.path())?);
        }
        (self.params, self.state) = (saved.params, saved.state);
        Ok(Some(step))
    }

    fn saved(&self) -> Saved<P, O::State> {
        let number = |n: u64| Tensor::from(i64::try_from(n).unwrap_or(i64::MAX));
        Saved {
            params: self.params.clone(),
            state: self.state.clone(),
            step: number(self.step),
            layout: Tensor::from(self.plan.layout),
            losses: Tensor::from(self.losses),
            best: Tensor::from(self.best_value),
            since_best: number(self.since_best),
        }
    }

    fn steps(&mut self, batches: &Receiver<Result<B>>, interrupt: &Interrupt) -> Result<End> {
        // A checkpoint may be that of a run that had stopped early.
        let mut end = self.patience_lost().then_some(End::Early);
        let epochs = match self.trainer.length {
            Length::Epochs(epochs) => Some(epochs),
            Length::Steps(_) => None,
        };
        while end.is_none() && self.step < self.plan.steps {
            let loss = self.take_step(batches)?;
            self.progress.step(self.plan.epoch(self.step - 1), epochs, loss);
            let last = self.step == self.plan.steps;
            let reported = last || self.step.is_multiple_of(self.plan.report_every);
            if reported {
                self.report()?;
                end = self.patience_lost().then_some(End::Early);
            }
            let interrupted = end.is_none() && !last && interrupt.asked();
            if interrupted {
                end = Some(End::Interrupted);
            }
            if let Some(folder) = self.trainer.folder.as_ref().filter(|_| reported || interrupted) {
                folder.save(self.step, &self.saved())?;
            }
        }
        Ok(end.unwrap_or(End::Finished))
    }

    fn patience_lost(&self) -> bool {
        self.trainer.early.as_ref().is_some_and(|early| self.since_best >= early.patience.max(1))
    }

    /// One step of the optimiser: the loss, and the parameters after it.
    fn take_step(&mut self, batches: &Receiver<Result<B>>) -> Result<f64> {
        let numbers = self.plan.batches(self.step);
        let count = (numbers.end - numbers.start) as f64;
        let mut total: Option<P> = None;
        let mut mean = 0.0;
        for number in numbers {
            let batch = batches.recv().map_err(|_| {
                Error::new(ErrorKind::Internal, "train", "the thread that makes batches has ended")
            })??;
            let key = self.trainer.seed.fold_in(number);
            let step = Step { number: self.step, epoch: self.plan.epoch(self.step), key };
            let (loss, gradient) = (self.trainer.objective)(&self.params, &batch, &step)?;
            if !loss.is_finite() || !all_finite(&gradient) {
                return Err(self.not_finite(loss, &batch));
            }
            mean += loss / count;
            let rows = self.plan.rows_of(number) as f64;
            self.losses[0] += loss * rows;
            self.losses[1] += rows;
            total = Some(match total {
                Some(total) => zip_tensors(&total, &gradient, |sum, g| sum + g)?,
                None => gradient,
            });
        }
        if let Some(mut gradient) = total {
            if count > 1.0 {
                gradient = map_tensors(&gradient, |g| g / count)?;
            }
            if let Some(most) = self.trainer.clip_norm {
                gradient = clip_by_norm(&gradient, most)?.0;
            }
            self.params = self.trainer.method.step(&mut self.state, &self.params, &gradient)?;
        }
        self.step += 1;
        Ok(mean)
    }

    /// Says where a loss or gradient that is not finite comes from.
    fn not_finite(&self, loss: f64, batch: &B) -> Error {
        let what = match loss.is_finite() {
            true => "the gradient is not finite".to_owned(),
            false => format!("the loss is {loss}"),
        };
        let (step, epoch) = (self.step, self.plan.epoch(self.step));
        let message = format!("{what} in step {step} (epoch {})", epoch + 1);
        let traced = self.trainer.trace.as_ref().map(|trace| trace(&self.params, batch));
        let error = |message| Error::new(ErrorKind::Data, "train", message);
        match traced {
            Some(Ok(Some(origin))) => error(format!("{message}: {origin}"))
                .with_hint("the parameters before this step are those of the trace"),
            Some(Ok(None)) => error(format!("{message}; by the interpreter it is finite"))
                .with_hint("it exceeds what floats hold on the way: try smaller numbers or f64"),
            Some(Err(failed)) => error(format!("{message}; it was not traced: {failed}")),
            None => error(message).with_hint(
                "`Trainer::trace_nan` says which operation made it; a lower learning rate or \
                 `clip_norm` may keep it from happening",
            ),
        }
    }

    /// Evaluates, writes metrics and curve, and keeps what did best.
    fn report(&mut self) -> Result<()> {
        let values = match &self.trainer.evaluation {
            Some(values) => values(&self.params)?,
            None => Vec::new(),
        };
        let [sum, rows] = std::mem::take(&mut self.losses);
        let [before, last] = self.seconds;
        let seconds = before + self.begun.elapsed().as_secs_f64();
        self.seconds[1] = seconds;
        let row = Row {
            step: self.step,
            epoch: self.step as f64 / self.plan.per_epoch as f64,
            loss: sum / rows,
            seconds,
            rows_per_second: rows / (seconds - last),
            values,
        };
        self.progress.report(&described(&row, &self.trainer.names));
        if let Some(metrics) = &mut self.metrics {
            metrics.write(&row)?;
        }
        if let Some(early) = &self.trainer.early {
            self.judge(early, &row)?;
        }
        self.rows.push(row);
        if let Some(path) = &self.trainer.curve {
            let picture = curve::svg(&self.rows);
            cotan_array::replace_file(path, |output| output.write_all(picture.as_bytes()))
                .map_err(|error: std::io::Error| refused(path, &error))?;
        }
        Ok(())
    }

    fn judge(&mut self, early: &Early, row: &Row) -> Result<()> {
        let named = self.trainer.names.iter().position(|name| *name == early.name);
        let value = named.and_then(|k| row.values.get(k)).copied().unwrap_or(row.loss);
        let better = match early.goal {
            Goal::Smallest => value < self.best_value,
            Goal::Largest => value > self.best_value,
        };
        if !better {
            self.since_best += 1;
            return Ok(());
        }
        (self.best_value, self.since_best) = (value, 0);
        self.best = Some(self.params.clone());
        match &self.trainer.folder {
            Some(folder) => folder.save_best(&self.params),
            None => Ok(()),
        }
    }
}

/// A report as a line.
fn described(row: &Row, names: &[String]) -> String {
    let values: String =
        names.iter().zip(&row.values).map(|(name, value)| format!(", {name} {value:.4}")).collect();
    let Row { epoch, step, loss, rows_per_second, .. } = row;
    format!("epoch {epoch:.1}, step {step}: loss {loss:.4}{values} ({rows_per_second:.0} rows/s)")
}

//! The bar that shows how far a run is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is shown: where the run is, how fast, how long it will take, and the loss.
const TEMPLATE: &str = "{prefix} [{bar:30}] {pos}/{len} steps, {per_sec}, {eta} left, {msg}";

/// A bar on the terminal; nothing where the output is not one.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(quiet: bool, steps: u64, done: u64) -> Progress {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(steps), target).with_position(done);
        let style = ProgressStyle::with_template(TEMPLATE);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        // The speed is that of this run.
        bar.reset_eta();
        Progress { bar }
    }

    /// After a step.
    pub(crate) fn step(&self, epoch: u64, epochs: Option<u64>, loss: f64) {
        if self.bar.is_hidden() {
            return;
        }
        let of = epochs.map_or(String::new(), |epochs| format!("/{epochs}"));
        self.bar.set_prefix(format!("epoch {}{of}", epoch + 1));
        self.bar.set_message(format!("loss {loss:.4}"));
        self.bar.inc(1);
    }

    /// A line above the bar.
    pub(crate) fn report(&self, line: &str) {
        if !self.bar.is_hidden() {
            self.bar.println(line);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish();
    }
}

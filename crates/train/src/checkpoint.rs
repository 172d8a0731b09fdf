//! Checkpoints: what a run depends on, in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use cotan::{Arrays, Error, ErrorKind, Result, Tensor};

/// What a checkpoint holds: everything that the rest of a run depends on.
#[derive(Arrays, Clone, Debug, PartialEq)]
pub struct Saved<P, S, N = Tensor<i64>, L = Tensor<f64>> {
    /// The parameters.
    pub params: P,
    /// The state of the optimiser.
    pub state: S,
    /// How many steps were taken.
    pub step: N,
    /// What the steps are of: rows of the data, rows and number of batches, batches in a step.
    pub layout: N,
    /// The sum of the losses since the last report, and the number of rows that it is weighted by.
    pub losses: L,
    /// The best value that decides on stopping early.
    pub best: L,
    /// How many reports ago that was.
    pub since_best: N,
}

/// The file of the parameters that did best in a folder of checkpoints.
const BEST: &str = "best.safetensors";

/// A folder of checkpoints, of which the last ones are kept.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) keep: usize,
}

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), keep: 3 }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, step: u64) -> PathBuf {
        // The names sort as the numbers do.
        self.path.join(format!("step-{step:012}.safetensors"))
    }

    /// Writes a checkpoint, and removes those that are too many.
    pub(crate) fn save<A: Arrays<Concrete = A>>(&self, step: u64, saved: &A) -> Result<()> {
        self.make()?;
        cotan::save_safetensors(self.file(step), saved)?;
        let mut all = checkpoints(&self.path)?;
        let many = all.len().saturating_sub(self.keep.max(1));
        for (_, old) in all.drain(..many) {
            // One that cannot be removed is only in the way.
            let _ = fs::remove_file(old);
        }
        Ok(())
    }

    /// Writes the parameters that did best so far.
    pub(crate) fn save_best<A: Arrays<Concrete = A>>(&self, params: &A) -> Result<()> {
        self.make()?;
        cotan::save_safetensors(self.path.join(BEST), params)
    }

    fn make(&self) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|error| refused(&self.path, &error))
    }

    /// Removes what a run that begins anew does not go on with.
    pub(crate) fn clear(&self) -> Result<()> {
        let files = checkpoints(&self.path)?.into_iter().map(|(_, path)| path);
        for file in files.chain([self.path.join(BEST)]) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(refused(&file, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The last checkpoint in a folder; `None` if there is none, or no folder.
///
/// [`cotan::load_safetensors`] reads it as a [`Saved`] of parameters and state.
pub fn last_checkpoint(folder: impl AsRef<Path>) -> Result<Option<PathBuf>> {
    Ok(checkpoints(folder.as_ref())?.pop().map(|(_, path)| path))
}

/// The parameters that did best in the run whose checkpoints are in a folder: those that
/// [`Trainer::early_stopping`](crate::Trainer::early_stopping) chose.
pub fn best_parameters<P: Arrays<Concrete = P>>(folder: impl AsRef<Path>) -> Result<P> {
    cotan::load_safetensors(folder.as_ref().join(BEST))
}

/// The checkpoints in a folder by their steps, in ascending order.
fn checkpoints(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(folder, &error)),
    };
    let mut found: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let number = name.strip_prefix("step-")?.strip_suffix(".safetensors")?;
            Some((number.parse().ok()?, path))
        })
        .collect();
    found.sort();
    Ok(found)
}

/// An error of the file system.
pub(crate) fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Data, "train", format!("{}: {error}", path.display()))
}

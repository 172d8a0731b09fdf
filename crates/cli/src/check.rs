//! `cotan check`

use std::path::Path;

use crate::args::CheckArgs;
use crate::failure::{Failure, Outcome};
use crate::source::Text;
use crate::terminal::Terminal;

/// Checks programs, all of them, and reports everything that is wrong.
pub fn check(args: &CheckArgs, terminal: &Terminal) -> Outcome {
    let mut failed = Ok(());
    for path in &args.files {
        if let Err(failure) = check_file(path, terminal) {
            terminal.complain(&failure.to_string());
            failed = failed.and(Err(failure));
        }
    }
    failed
}

fn check_file(path: &Path, terminal: &Terminal) -> Outcome {
    Text::read(path)?.load(terminal)?;
    Ok(())
}

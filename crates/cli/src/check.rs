//! `cotan check`

use std::path::Path;

use cotan_ir::Limits;

use crate::args::{CheckArgs, ImportArgs};
use crate::failure::{Outcome, for_each};
use crate::source::Text;
use crate::terminal::Terminal;

/// Checks programs, all of them, and reports everything that is wrong.
pub fn check(args: &CheckArgs, terminal: &Terminal) -> Outcome {
    for_each(&args.files, terminal, |path| check_file(path, &args.imports, terminal))
}

fn check_file(path: &Path, imports: &ImportArgs, terminal: &Terminal) -> Outcome {
    let source = Text::read(path)?;
    let name = source.name.clone();
    let modules = source.load(imports, terminal)?;
    let diagnostics = cotan_syntax::check(&modules, &Limits::default());
    if diagnostics.has_errors() {
        return Err(terminal.diagnosed(&diagnostics, modules.sources()));
    }
    terminal.show(&diagnostics, modules.sources());
    terminal.write(&format!("{name}: no errors\n"))
}

//! `cotan fmt`

use std::io::{self, Write};
use std::path::Path;

use cotan_ir::SourceMap;
use cotan_syntax::format;

use crate::args::FmtArgs;
use crate::failure::{Failure, Outcome, for_each};
use crate::source::Text;
use crate::terminal::Terminal;

/// Formats files in place, or says which are not formatted.
pub fn fmt(args: &FmtArgs, terminal: &Terminal) -> Outcome {
    for_each(&args.files, terminal, |path| fmt_file(path, args.check, terminal))
}

fn fmt_file(path: &Path, check: bool, terminal: &Terminal) -> Outcome {
    let source = Text::read(path)?;
    let mut sources = SourceMap::new();
    let file = sources.add(&source.name, &source.text);
    let formatted = format(file, &source.text)
        .map_err(|diagnostics| Failure::program(terminal.render(&diagnostics, &sources)))?;
    let changed = formatted != source.text;
    if check {
        let message = format!("{}: not formatted; run `cotan fmt {0}`", path.display());
        return if changed { Err(Failure::program(message)) } else { Ok(()) };
    }
    if path.as_os_str() == "-" {
        return terminal.write(&formatted);
    }
    if !changed {
        return Ok(());
    }
    cotan_array::replace_file(path, |output| output.write_all(formatted.as_bytes())).map_err(
        |e: io::Error| Failure::data(format_args!("cannot write `{}`: {e}", path.display())),
    )
}

//! `cotan check`

use std::path::Path;

use cotan_ir::Limits;
use cotan_syntax::{Interface, Modules};

use crate::args::CheckArgs;
use crate::failure::{Failure, Outcome, for_each};
use crate::source::Text;
use crate::terminal::Terminal;

/// Checks programs, all of them, and reports everything that is wrong.
pub fn check(args: &CheckArgs, terminal: &Terminal) -> Outcome {
    for_each(&args.files, terminal, |path| check_file(path, args, terminal))
}

fn check_file(path: &Path, args: &CheckArgs, terminal: &Terminal) -> Outcome {
    let source = Text::read(path)?;
    let name = source.name.clone();
    let modules = source.load(&args.imports, terminal)?;
    let sizes = sizes(args, &modules)?;
    let diagnostics = cotan_syntax::check_at(&modules, &sizes, &Limits::default());
    if diagnostics.has_errors() {
        return Err(terminal.diagnosed(&diagnostics, modules.sources()));
    }
    terminal.show(&diagnostics, modules.sources());
    terminal.write(&format!("{name}: no errors\n"))
}

/// The sizes that are given, each of which some function has.
fn sizes<'a>(args: &'a CheckArgs, modules: &Modules) -> Outcome<Vec<(&'a str, usize)>> {
    let mut sizes: Vec<(&str, usize)> = Vec::new();
    for (name, value) in &args.sizes {
        let Ok(size) = usize::try_from(*value) else {
            return Err(Failure::usage(format_args!("the size `{name}` cannot be {value}")));
        };
        let takes = |interface: &Interface| {
            interface.sizes.contains(name) || interface.params.iter().any(|p| p.name == *name)
        };
        let known = modules.functions().any(|f| modules.interface(f.name).is_ok_and(|i| takes(&i)));
        if !known {
            return Err(Failure::usage(format_args!("no function has a size `{name}`")));
        }
        if sizes.iter().any(|(before, _)| before == name) {
            return Err(Failure::usage(format_args!("the size `{name}` is given twice")));
        }
        sizes.push((name, size));
    }
    Ok(sizes)
}

//! The programs that come with the command.

use std::fmt::Write;

use cotan_examples::{PROGRAMS, Program};

use crate::args::ExamplesArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// The first line of a program, which says what it is.
fn title(program: &Program) -> &'static str {
    program.text.lines().next().unwrap_or("").trim_start_matches('#').trim()
}

/// The example of this name.
pub fn find(name: &str) -> Outcome<&'static Program> {
    let wanted = name.strip_suffix(".ct").unwrap_or(name);
    PROGRAMS.iter().find(|example| example.name == wanted).ok_or_else(|| {
        let names: Vec<&str> = PROGRAMS.iter().map(|example| example.name).collect();
        Failure::usage(format_args!("there is no example `{name}`"))
            .hint(format_args!("the examples are {}", names.join(", ")))
    })
}

/// `cotan examples`
pub fn show(args: &ExamplesArgs, terminal: &Terminal) -> Outcome {
    if let Some(name) = &args.name {
        return terminal.write(find(name)?.text);
    }
    let width = PROGRAMS.iter().map(|example| example.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for example in PROGRAMS {
        let _ = writeln!(text, "{:width$}  {}", example.name, title(example));
    }
    text += "\nRun one with `cotan run --example NAME`, print it with `cotan examples NAME`.\n";
    terminal.write(&text)
}

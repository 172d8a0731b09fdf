//! The programs that come with the command.

use std::fmt::Write;

use crate::args::ExamplesArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// A program that comes with the command. Its function `main` takes no arguments.
pub struct Example {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        /// All of them, by name.
        pub const EXAMPLES: &[Example] = &[$(Example {
            name: $name,
            text: include_str!(concat!("../../../examples/", $name, ".ct")),
        }),*];
    };
}

examples! {
    "dot", "game_of_life", "gradient_descent", "histogram", "linear_recurrence", "mandelbrot", "matmul",
    "moving_average", "nearest", "parameters", "self_convolution", "softmax",
}

impl Example {
    /// Its first line, which says what it is.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or("").trim_start_matches('#').trim()
    }
}

/// The example of this name.
pub fn find(name: &str) -> Outcome<&'static Example> {
    let wanted = name.strip_suffix(".ct").unwrap_or(name);
    EXAMPLES.iter().find(|example| example.name == wanted).ok_or_else(|| {
        let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
        Failure::usage(format_args!("there is no example `{name}`"))
            .hint(format_args!("the examples are {}", names.join(", ")))
    })
}

/// `cotan examples`
pub fn show(args: &ExamplesArgs, terminal: &Terminal) -> Outcome {
    if let Some(name) = &args.name {
        return terminal.write(find(name)?.text);
    }
    let width = EXAMPLES.iter().map(|example| example.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for example in EXAMPLES {
        let _ = writeln!(text, "{:width$}  {}", example.name, example.title());
    }
    text += "\nRun one with `cotan run --example NAME`, print it with `cotan examples NAME`.\n";
    terminal.write(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_an_example_with_a_title() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".ct").map(str::to_owned))
            .collect();
        files.sort();
        let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
        assert_eq!(names, files);
        for example in EXAMPLES {
            assert!(example.text.starts_with("# ") && example.title().ends_with('.'));
        }
    }
}

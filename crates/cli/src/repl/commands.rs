//! The commands of the prompt, which begin with a colon.

use std::collections::HashSet;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use cotan_array::{Array, Dtype, Shape};
use cotan_ir::{SourceMap, Type};
use cotan_pipeline::Cost;
use cotan_syntax::ast::Item;
use cotan_syntax::{FunctionInfo, Instance, TypeTree, builtins, instantiate, parse, sample};

use super::{Bound, Prompt};
use crate::args::{CallArgs, ExplainArgs, FunctionArgs, ImportArgs, InputArgs, SourceArgs, Stage};
use crate::explain;
use crate::failure::{Failure, Outcome};
use crate::function::one_line;
use crate::inputs::Inputs;
use crate::limits::out_of_time;
use crate::terminal::Terminal;
use crate::units::assignment;
use cotan_view::{Curve, draw};

/// Names, what follows them, and what they do.
const COMMANDS: [(&str, &str, &str); 12] = [
    (":type", "EXPR", "the type of an expression, or what a function takes and does"),
    (":grad", "FUNCTION [n=3]", "the program of its value and gradient, optimised"),
    (":stages", "FUNCTION [STAGE] [n=3]", "the program at every stage of compilation, or at one"),
    (":time", "EXPR", "how long compiling and running take"),
    (":plot", "FUNCTION [FROM TO]", "a function of one number, with its derivative"),
    (":load", "FILE", "take the definitions of a program; again after it has changed"),
    (":save", "FILE", "write all definitions to a new file; :save! also over an old one"),
    (":save!", "FILE", ""),
    (":list", "", "what is defined"),
    (":forget", "", "forget all definitions and values"),
    (":help", "", "this list"),
    (":quit", "", "end; as Ctrl-D"),
];

/// How long `:time` runs what is fast.
const TIMED: Duration = Duration::from_millis(500);
/// More runs say nothing more.
const RUNS: usize = 100_000;

/// Where `:plot` looks if nothing is said.
const RANGE: (f64, f64) = (-3.0, 3.0);
/// At how many points it does.
const POINTS: usize = 400;

/// The names of the commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, ..)| *name)
}

/// Whether a line has a command whose argument is a file.
pub fn takes_file(line: &str) -> bool {
    [":load ", ":save ", ":save! "].iter().any(|command| line.starts_with(command))
}

impl Prompt<'_> {
    /// Carries out a command.
    pub fn command(
        &mut self,
        name: &str,
        rest: &str,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome {
        let needed = |what: &str| match rest {
            "" => Err(Failure::usage(format_args!("say which: {name} {what}"))),
            rest => Ok(rest),
        };
        match name {
            ":type" | ":t" => self.show_type(needed("EXPR")?, begin, terminal),
            ":grad" => {
                let (function, sizes, words) = split(needed("FUNCTION")?)?;
                if let Some(word) = words.first() {
                    let message = format!("`{word}` is not understood here");
                    return Err(Failure::usage(message).hint(format_args!(
                        "the gradient at a point is an expression: grad({function})({word})"
                    )));
                }
                let stages = self.stages(function, &sizes, Some(Stage::Optimised), begin, terminal);
                terminal.write(&stages?)
            }
            ":stages" => {
                let (function, sizes, words) = split(needed("FUNCTION")?)?;
                let stage = words.first().map(|word| Stage::from_str(word, true)).transpose();
                let stage = stage.map_err(|_| {
                    let names: Vec<&str> =
                        Stage::value_variants().iter().map(|s| s.name()).collect();
                    Failure::usage("there is no such stage")
                        .hint(format_args!("the stages are {}", names.join(", ")))
                })?;
                let stages = self.stages(function, &sizes, stage, begin, terminal)?;
                terminal.write(&stages)
            }
            ":time" => self.time(needed("EXPR")?, begin, terminal),
            ":plot" => self.plot(needed("FUNCTION")?, begin, terminal),
            ":load" | ":l" => self.load(Path::new(needed("FILE")?), terminal),
            ":save" => self.save(Path::new(needed("FILE")?), false, terminal),
            ":save!" => self.save(Path::new(needed("FILE")?), true, terminal),
            ":list" => self.list(terminal),
            ":forget" => {
                self.session = cotan_syntax::Session::default();
                self.variables.clear();
                Ok(())
            }
            ":help" | ":h" | ":?" => help(terminal),
            _ => Err(Failure::usage(format_args!("there is no command `{name}`"))
                .hint(":help lists the commands")),
        }
    }

    /// What a function takes and does, or the type of a value.
    fn show_type(&self, text: &str, begin: Instant, terminal: &Terminal) -> Outcome {
        let modules = self.modules(terminal)?;
        let functions = modules.visible_functions();
        let known = |name: &str| self.variables.iter().any(|bound| bound.name == name);
        if let Some(info) = functions.iter().find(|info| info.name == text && !known(text)) {
            return terminal.write(&described(info));
        }
        let builtin = builtins().iter().find(|builtin| builtin.name == text && !known(text));
        if let Some(builtin) = builtin.filter(|builtin| !builtin.is_constant()) {
            return terminal.write(&format!("{}\n{}\n", builtin.signature, builtin.doc));
        }
        let made = self.make(text, begin, terminal)?;
        terminal.write(&format!("{}\n", made.instance.result))
    }

    /// A function that is defined, at given sizes or at some that fit.
    fn instance(
        &self,
        function: &str,
        sizes: &[(String, usize)],
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<Instance> {
        let modules = self.modules(terminal)?;
        if !modules.visible_functions().iter().any(|info| info.name == function) {
            let failure = Failure::usage(format_args!("there is no function `{function}`"));
            return Err(failure.hint("define it first: def f(x: f64) = x ** 2"));
        }
        let limits = self.args.limits.making(begin);
        if !sizes.is_empty() {
            let sizes: Vec<(&str, usize)> = sizes.iter().map(|(n, k)| (n.as_str(), *k)).collect();
            return instantiate(&modules, function, &[], &sizes, &limits)
                .map_err(|messages| terminal.program_failure(&messages));
        }
        sample(&modules, function, &limits).ok_or_else(|| match cotan_ir::look("sample") {
            Err(_) => out_of_time(&self.args.limits),
            Ok(()) => Failure::usage(format_args!("no sizes were found that fit `{function}`"))
                .hint(format_args!(
                    "give sizes, :stages {function} n=3; functions that take functions have no stages"
                )),
        })
    }

    fn stages(
        &self,
        function: &str,
        sizes: &[(String, usize)],
        stage: Option<Stage>,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<String> {
        let instance = self.instance(function, sizes, begin, terminal)?;
        let args = ExplainArgs {
            call: nothing(),
            stage: stage.filter(|stage| *stage != Stage::Source),
            trace: false,
            line: None,
            why: None,
            html: None,
            measure: std::time::Duration::ZERO,
            limits: self.args.limits,
        };
        let params: Vec<String> =
            instance.params.iter().map(|(name, tree)| format!("{name}: {tree}")).collect();
        let head = format!("# {function}({})\n", params.join(", "));
        let stages = explain::stages(instance.program, &args, &Inputs::none(), begin, terminal)?;
        Ok(head + &stages)
    }

    fn time(&self, text: &str, begin: Instant, terminal: &Terminal) -> Outcome {
        let made = self.make(text, begin, terminal)?;
        let limits = &self.args.limits;
        let inputs = made.inputs;
        let operations = Cost::of(&made.instance.program).operations;
        let prepared = self.prepared(made.instance.program, terminal)?;
        let compiled = begin.elapsed();
        let (mut times, started) = (Vec::new(), Instant::now());
        while times.is_empty() || (started.elapsed() < TIMED && times.len() < RUNS) {
            let turn = Instant::now();
            prepared.run(&inputs, limits, begin, terminal)?;
            times.push(turn.elapsed());
        }
        times.sort_unstable();
        let least = times.first().copied().unwrap_or_default();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        let mut shown = format!(
            "compiled in {compiled:.2?}; runs in {least:.2?} at least, {median:.2?} in the middle of {} \
             runs\n",
            times.len()
        );
        if operations > 0 && !least.is_zero() {
            let rate = operations as f64 / least.as_secs_f64() / 1e9;
            let _ = writeln!(shown, "{operations} operations, {rate:.2} thousand million a second");
        }
        if matches!(prepared, crate::machine::Prepared::Interpreted(_)) {
            shown += "it is interpreted\n";
        }
        terminal.write(&shown)
    }

    /// Draws a function of one number and its derivative.
    fn plot(&self, rest: &str, begin: Instant, terminal: &Terminal) -> Outcome {
        let (function, (from, to)) = with_range(rest);
        if !(from < to && (to - from).is_finite()) {
            return Err(Failure::usage("a plot goes from a number to a larger one")
                .hint(":plot sin -10 10"));
        }
        let step = (to - from) / (POINTS - 1) as f64;
        let points: Vec<f64> = (0..POINTS).map(|k| from + step * k as f64).collect();
        let shape = Shape::new("plot", &[POINTS]).map_err(Failure::internal)?;
        let array = Array::from_vec(shape, points.clone()).map_err(Failure::internal)?;
        let given = Bound {
            name: "plot_points".to_owned(),
            tree: TypeTree::Array(Type::of(&array)),
            arrays: vec![array],
        };
        let given = std::slice::from_ref(&given);
        let sampled = |text: &str| -> Outcome<Vec<f64>> {
            let made = self.make_with(text, given, begin, terminal)?;
            let (_, arrays) = self.value(made, begin, terminal)?;
            match arrays.as_slice() {
                [one] if one.numel() == POINTS => {
                    let floats = one.cast(Dtype::F64).map_err(Failure::data)?;
                    floats.to_vec::<f64>().map_err(Failure::internal)
                }
                _ => Err(Failure::usage("only functions that give one number are drawn")),
            }
        };
        let values = sampled(&format!("map(plot_x => ({function})(plot_x), plot_points)"))?;
        let slopes = sampled(&format!("map(plot_x => grad({function})(plot_x), plot_points)"));
        let mut curves = vec![Curve { name: function.to_owned(), values }];
        let has_slopes = slopes.is_ok();
        if let Ok(values) = slopes {
            curves.push(Curve { name: format!("grad({function})"), values });
        }
        terminal.write(&draw(&points, &curves, terminal.has_colours()))?;
        if !has_slopes {
            terminal.complain("note: it has no derivative to be drawn");
        }
        Ok(())
    }

    /// Writes what is defined.
    fn save(&self, path: &Path, over: bool, terminal: &Terminal) -> Outcome {
        if path.extension().is_none_or(|extension| extension != "ct") {
            return Err(Failure::usage("the names of programs end with .ct"));
        }
        if path.exists() && !over {
            let message = format!("there is a file `{}`", path.display());
            return Err(Failure::data(message).hint("write over it with :save!"));
        }
        let text = definitions(self.session.texts());
        let mut sources = SourceMap::new();
        let file = sources.add("session", &*text);
        let text = cotan_syntax::format(file, &text).unwrap_or(text);
        cotan_array::replace_file(path, |output| output.write_all(text.as_bytes()))
            .map_err(|e| Failure::data(format_args!("cannot write `{}`: {e}", path.display())))?;
        match self.variables.iter().filter(|bound| bound.name != super::LAST).count() {
            0 => {}
            n => terminal.complain(&format!("note: definitions are saved, but not the {n} values")),
        }
        Ok(())
    }

    fn list(&self, terminal: &Terminal) -> Outcome {
        let modules = self.modules(terminal)?;
        let mut text = String::new();
        for info in modules.visible_functions() {
            let _ = writeln!(text, "{}", one_line(info.signature));
        }
        for bound in &self.variables {
            let _ = writeln!(text, "{}: {}", bound.name, bound.tree);
        }
        terminal.write(if text.is_empty() { "nothing is defined\n" } else { &text })
    }
}

fn help(terminal: &Terminal) -> Outcome {
    let mut text = "\
Type an expression, or a definition (def, type, import), which can be given again. `let x = 2.0` keeps a
value; `it` is the last one. Lines belong together until they are complete; an empty line ends them.
Ctrl-C ends an evaluation. Tab completes names.

"
    .to_owned();
    for (name, args, what) in COMMANDS.iter().filter(|(.., what)| !what.is_empty()) {
        let _ = writeln!(text, "  {:32}{what}", format!("{name} {args}"));
    }
    text += "\nThe language: `cotan builtins` lists its functions, docs/language.md explains it.\n";
    terminal.write(&text)
}

fn described(info: &FunctionInfo<'_>) -> String {
    match info.doc {
        Some(doc) => format!("{}\n{doc}\n", one_line(info.signature)),
        None => format!("{}\n", one_line(info.signature)),
    }
}

/// A function, sizes `n=3`, and further words.
type Words<'t> = (&'t str, Vec<(String, usize)>, Vec<&'t str>);

fn split(rest: &str) -> Outcome<Words<'_>> {
    let mut words = rest.split_whitespace();
    let function = words.next().unwrap_or_default();
    let (mut sizes, mut more) = (Vec::new(), Vec::new());
    for word in words {
        if !word.contains('=') {
            more.push(word);
            continue;
        }
        let (name, value) = assignment(word).map_err(Failure::usage)?;
        let size = value
            .parse()
            .map_err(|_| Failure::usage(format_args!("the size `{name}` cannot be `{value}`")))?;
        sizes.push((name, size));
    }
    Ok((function, sizes, more))
}

/// An expression, and the range that may follow it.
fn with_range(rest: &str) -> (&str, (f64, f64)) {
    let last = |text: &str| -> Option<(usize, f64)> {
        let at = text.trim_end().rfind(char::is_whitespace)?;
        let number: f64 = text.get(at..)?.trim().parse().ok()?;
        Some((at, number))
    };
    let found = last(rest).and_then(|(at, to)| {
        let before = rest.get(..at)?;
        let (start, from) = last(before)?;
        Some((rest.get(..start)?.trim(), (from, to)))
    });
    found.unwrap_or((rest, RANGE))
}

/// The declarations that count, of all texts, with the comments before them.
fn definitions(texts: &[(String, String)]) -> String {
    let mut seen: HashSet<(bool, String)> = HashSet::new();
    let mut parts: Vec<String> = Vec::new();
    for (name, text) in texts.iter().rev() {
        let parsed = parse(SourceMap::new().add(name, text.as_str()), text);
        let mut kept = Vec::new();
        let mut from = 0;
        for item in &parsed.module.items {
            let end = item.span().end as usize;
            let counts = match item {
                Item::Def(def) => seen.insert((false, def.name.name.to_string())),
                Item::Type(def) => seen.insert((true, def.name.name.to_string())),
                Item::Import(_) => true,
            };
            if let (true, Some(part)) = (counts, text.get(from..end)) {
                kept.push(part.trim());
            }
            from = end;
        }
        if !kept.is_empty() {
            parts.push(kept.join("\n\n"));
        }
    }
    parts.reverse();
    parts.join("\n\n") + "\n"
}

/// Arguments of a command line that names nothing.
fn nothing() -> CallArgs {
    CallArgs {
        source: SourceArgs { file: None, example: None, expr: None },
        imports: ImportArgs { allow_imports: Vec::new(), include: Vec::new() },
        function: FunctionArgs { function: None, sizes: Vec::new() },
        inputs: InputArgs { args: Vec::new(), npz: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_follow_a_function() {
        assert_eq!(with_range("sin"), ("sin", RANGE));
        assert_eq!(with_range("x => x + 1.0 -2 2.5"), ("x => x + 1.0", (-2.0, 2.5)));
        assert_eq!(with_range("x => x + 1.0"), ("x => x + 1.0", RANGE));
        assert_eq!(with_range("f  0 1 "), ("f", (0.0, 1.0)));
    }

    #[test]
    fn only_the_last_of_each_definition_is_saved() {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let texts = [
            text("1", "# Old.\ndef f(x: f64) = x\n# Stays.\ndef g() = 1"),
            text("2", "# New.\ndef f(x: f64) = 2.0 * x"),
        ];
        let saved = definitions(&texts);
        assert_eq!(saved, "# Stays.\ndef g() = 1\n\n# New.\ndef f(x: f64) = 2.0 * x\n");
    }
}

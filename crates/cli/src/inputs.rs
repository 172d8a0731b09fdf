//! Values for parameters: from files, and from expressions on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cotan_array::{Array, Dtype, npy, npz};
use cotan_interp::{Interp, Value};
use cotan_ir::{Limits, Program, Type};
use cotan_syntax::{Leaf, instantiate, load_text};

use crate::args::InputArgs;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::terminal::Terminal;

/// The values given for parameters, by path.
pub struct Inputs {
    values: BTreeMap<String, Array>,
    /// The `.npz` file, and the names in it.
    archive: Option<(PathBuf, Vec<String>)>,
}

impl Inputs {
    /// Reads what the command line gives, and holds it against what the function takes.
    pub fn read(args: &InputArgs, function: &Function<'_>, terminal: &Terminal) -> Outcome<Inputs> {
        let mut inputs = Inputs { values: BTreeMap::new(), archive: None };
        if let Some(path) = &args.npz {
            let members = npz::read_file(path).map_err(Failure::data)?;
            inputs.archive = Some((path.clone(), members.iter().map(|(n, _)| n.clone()).collect()));
            for (name, array) in members {
                if let Some(leaf) = function.leaf(&name) {
                    let array = from_file(leaf, array, &format!("`{name}` in {}", path.display()))?;
                    inputs.values.insert(name, array);
                }
            }
        }
        for (n, (path, value)) in args.args.iter().enumerate() {
            if args.args.iter().take(n).any(|(before, _)| before == path) {
                return Err(Failure::usage(format_args!("`--arg {path}=...` is given twice")));
            }
            let leaf = function.leaf(path).ok_or_else(|| unknown(path, function))?;
            let array = match value.strip_prefix('@') {
                Some(file) => from_file(leaf, read_npy(file)?, file)?,
                None => inline(leaf, evaluate(path, value, terminal)?)?,
            };
            inputs.values.insert(path.clone(), array);
        }
        Ok(inputs)
    }

    /// Refuses to go on without a value for every parameter.
    pub fn require_all(&self, function: &Function<'_>) -> Outcome {
        let paths = function.leaves().map(|leaf| leaf.path.as_str());
        let missing: Vec<&str> = paths.filter(|path| !self.values.contains_key(*path)).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let failure = Failure::usage(format_args!(
            "no value for {} of `{}`, which takes:{}",
            quoted(&missing),
            function.name,
            function.expected()
        ))
        .hint(format_args!(
            "as an expression: --arg {first}='...'; as a file: --arg {first}=@FILE.npy"
        ));
        Err(match &self.archive {
            Some((path, names)) => failure.hint(format_args!(
                "{} holds {}",
                path.display(),
                if names.is_empty() { "nothing".to_owned() } else { quoted(names) }
            )),
            None => failure,
        })
    }

    /// The type of the value at a path.
    pub fn ty(&self, path: &str) -> Option<Type> {
        self.values.get(path).map(Type::of)
    }

    /// The values of a program's inputs, in order.
    pub fn for_program(&self, program: &Program) -> Outcome<Vec<Value>> {
        let value = |name: &str| {
            let array = self.values.get(name).map(Value::from);
            array.ok_or_else(|| Failure::internal(format_args!("the input `{name}` has no value")))
        };
        program.inputs().iter().map(|input| value(&input.name)).collect()
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

fn unknown(path: &str, function: &Function<'_>) -> Failure {
    let within: Vec<&str> = function
        .leaves()
        .map(|leaf| leaf.path.as_str())
        .filter(|leaf| leaf.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
        .collect();
    if within.is_empty() {
        let message = format!("`{}` has no parameter `{path}`", function.name);
        if function.params.is_empty() {
            return Failure::usage(message).hint("it takes no arguments");
        }
        return Failure::usage(format_args!("{message}; it takes:{}", function.expected()));
    }
    let message = format!("`{path}` has several parts, which are given one by one");
    Failure::usage(message).hint(format_args!("give {}", quoted(&within)))
}

fn read_npy(file: &str) -> Outcome<Array> {
    let path = Path::new(file);
    npy::read_file(path).map_err(|error| {
        let failure = Failure::data(error);
        if path.extension().is_some_and(|extension| extension == "npz") {
            failure
                .hint(format_args!("arrays of a .npz file are given by their names: --npz {file}"))
        } else {
            failure
        }
    })
}

/// The value of an expression on the command line.
fn evaluate(path: &str, text: &str, terminal: &Terminal) -> Outcome<Array> {
    // The expression has a line of its own, so that messages show nothing but it.
    let place = format!("--arg {path}");
    let modules = load_text(&place, &format!("def value() =\n{text}\n"));
    let program = modules
        .and_then(|modules| instantiate(&modules, "value", &[], &[], &Limits::default()))
        .map_err(|messages| {
            let rendered = terminal.render(&messages.diagnostics, &messages.sources);
            let failure = Failure::usage(format_args!("the value of `{path}` is not understood"))
                .hint("write it as in a program, '[1, 2.5]', or name a file, @FILE.npy");
            terminal.complain(&rendered);
            failure
        })?
        .program;
    let run = Interp::new(&program).run(&[]).map_err(|e| Failure::limit(format!("error: {e}")))?;
    match run.outputs.as_slice() {
        [value] => value.to_array().map_err(Failure::internal),
        _ => Err(Failure::usage(format_args!("the value of `{path}` is not one array"))
            .hint("give the parts of a tuple or record one by one: --arg p.0=... --arg p.w=...")),
    }
}

/// A value written for this parameter: its numbers are whatever the parameter wants them to be.
fn inline(leaf: &Leaf, array: Array) -> Outcome<Array> {
    let (from, to) = (array.dtype(), leaf.dtype);
    if from == to {
        return Ok(array);
    }
    let numbers = from.is_numeric() && to.is_float();
    if !numbers {
        return Err(wrong_type(leaf, &array, &format!("--arg {}", leaf.path)));
    }
    convert(leaf, &array, &format!("--arg {}", leaf.path))
}

/// An array from a file: kept as it is, or converted where nothing is lost.
fn from_file(leaf: &Leaf, array: Array, origin: &str) -> Outcome<Array> {
    match (array.dtype(), leaf.dtype) {
        (from, to) if from == to => Ok(array),
        (Dtype::F32, Dtype::F64) | (Dtype::I64, Dtype::F64 | Dtype::F32) => {
            convert(leaf, &array, origin)
        }
        (Dtype::F64, Dtype::F32) => Err(wrong_type(leaf, &array, origin)
            .hint("converting would round: save the array as float32, or declare it f64")),
        _ => Err(wrong_type(leaf, &array, origin)),
    }
}

/// Converts numbers to floats; integers must come out as they are.
fn convert(leaf: &Leaf, array: &Array, origin: &str) -> Outcome<Array> {
    let converted = array.cast(leaf.dtype).map_err(Failure::data)?;
    let exact =
        array.dtype() != Dtype::I64 || converted.cast(Dtype::I64).is_ok_and(|back| back == *array);
    if exact {
        Ok(converted)
    } else {
        Err(wrong_type(leaf, array, origin)
            .hint(format_args!("it holds integers that {} cannot represent", leaf.dtype)))
    }
}

fn wrong_type(leaf: &Leaf, array: &Array, origin: &str) -> Failure {
    Failure::data(format_args!(
        "{origin} is {}, but `{}` is declared {}",
        Type::of(array),
        leaf.path,
        leaf.ty
    ))
}

//! Values for parameters: from files, and from expressions on the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cotan_array::{Array, Dtype, npy, npz};
use cotan_interp::Value;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Input, Program, Type};
use cotan_syntax::{Leaf, instantiate, load_expression};

use crate::args::{Backend, InputArgs, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::limits::out_of_time;
use crate::machine::compute;
use crate::terminal::{Terminal, is_limit};

/// Limits, the moment from which they count, and where messages go.
#[derive(Clone, Copy)]
pub struct Within<'a> {
    pub limits: &'a LimitArgs,
    pub begin: Instant,
    pub terminal: &'a Terminal,
}

/// The values given for parameters, by path.
pub struct Inputs {
    values: BTreeMap<String, Array>,
    /// The `.npz` file, and the names in it.
    archive: Option<(PathBuf, Vec<String>)>,
}

impl Inputs {
    /// No values.
    pub fn none() -> Inputs {
        Inputs { values: BTreeMap::new(), archive: None }
    }

    /// Reads what the command line gives, and holds it against what the function takes.
    pub fn read(args: &InputArgs, function: &Function<'_>, within: &Within<'_>) -> Outcome<Inputs> {
        let mut inputs = Inputs::none();
        if let Some(path) = &args.npz {
            inputs.read_archive(path, args, function, within)?;
        }
        for (n, (path, value)) in args.args.iter().enumerate() {
            if args.args.iter().take(n).any(|(before, _)| before == path) {
                return Err(Failure::usage(format_args!("`--arg {path}=...` is given twice")));
            }
            let Some(leaf) = function.leaf(path) else {
                inputs.whole(path, value, function, within)?;
                continue;
            };
            let array = given(leaf, value, within)?;
            inputs.values.insert(path.clone(), array);
        }
        Ok(inputs)
    }

    /// Takes the value of a record or tuple, in one expression.
    fn whole(
        &mut self,
        path: &str,
        value: &str,
        function: &Function<'_>,
        within: &Within<'_>,
    ) -> Outcome {
        let leaves: Vec<&Leaf> = parts(path, function).collect();
        if leaves.is_empty() || value.starts_with('@') {
            return Err(unknown(path, function));
        }
        let mut given = evaluate_parts(path, value, within)?;
        for leaf in leaves {
            let Some(at) = given.iter().position(|(name, _)| *name == leaf.path) else {
                let message = format!("the value of `{path}` has no `{}`", leaf.path);
                return Err(Failure::usage(message)
                    .hint(format_args!("`{}` is declared {}", leaf.path, leaf.ty)));
            };
            let (name, array) = given.swap_remove(at);
            self.values.insert(name, inline(leaf, array)?);
        }
        match given.first() {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("the value of `{path}` has `{name}`, which is not declared");
                Err(Failure::usage(format_args!("{message}; expected:{}", function.expected())))
            }
        }
    }

    /// Takes from an archive what parameters are called and no `--arg` gives. Its other members are
    /// not looked at.
    fn read_archive(
        &mut self,
        path: &Path,
        args: &InputArgs,
        function: &Function<'_>,
        within: &Within<'_>,
    ) -> Outcome {
        let mut archive =
            npz::Archive::open(path).map_err(Failure::data)?.within(within.limits.limit_bytes);
        let names: Vec<String> = archive.names().map(str::to_owned).collect();
        let origin = path.display().to_string();
        let given = |name: &str| args.args.iter().any(|(path, _)| path == name);
        for leaf in function.leaves().filter(|leaf| !given(&leaf.path)) {
            let read = archive.read(&leaf.path);
            let array = read.map_err(|error| {
                let message = format!("{origin}: {error}");
                if error.is_too_large() { too_large(&message) } else { Failure::data(message) }
            })?;
            if let Some(array) = array {
                self.values.insert(leaf.path.clone(), from_file(leaf, array, &origin)?);
            }
        }
        self.archive = Some((path.to_owned(), names));
        Ok(())
    }

    /// Takes the values of inputs that a derivative has besides those of the function, of fixed types.
    pub fn read_more(
        &mut self,
        given: &[(String, String)],
        wanted: &[Input],
        within: &Within<'_>,
    ) -> Outcome {
        for (path, value) in given {
            let Some(input) = wanted.iter().find(|input| input.name == *path) else {
                let names: Vec<&str> = wanted.iter().map(|input| &*input.name).collect();
                let failure = Failure::usage(format_args!("nothing is called `{path}` here"));
                return Err(match names.is_empty() {
                    true => failure,
                    false => failure.hint(format_args!("give {}", quoted(&names))),
                });
            };
            let leaf = Leaf {
                path: path.clone(),
                dtype: input.ty.dtype,
                rank: input.ty.shape.rank(),
                ty: input.ty.to_string(),
            };
            let array = self::given(&leaf, value, within)?;
            if Type::of(&array) != input.ty {
                return Err(Failure::usage(mismatch(&leaf, &array, "the value")));
            }
            self.values.insert(path.clone(), array);
        }
        let missing: Vec<&str> =
            wanted.iter().map(|i| &*i.name).filter(|n| !self.values.contains_key(*n)).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let message = format!("no value for {}", quoted(&missing));
        Err(Failure::usage(message).hint(format_args!("--arg {first}='...'")))
    }

    /// The value at a path.
    pub fn value(&self, path: &str) -> Option<Value> {
        self.values.get(path).map(Value::from)
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

    /// The integer or truth value at a path, if it is one.
    pub fn scalar(&self, path: &str) -> Option<Scalar> {
        let array = self.values.get(path).filter(|array| array.rank() == 0)?;
        match array.dtype() {
            Dtype::I64 => array.item().map(Scalar::I64),
            Dtype::Bool => array.item().map(Scalar::Bool),
            Dtype::F64 | Dtype::F32 => None,
        }
    }

    /// The type of the value at a path.
    pub fn ty(&self, path: &str) -> Option<Type> {
        self.values.get(path).map(Type::of)
    }

    /// The values of a program's inputs, in order.
    pub fn for_program(&self, program: &Program) -> Outcome<Vec<Array>> {
        let value = |name: &str| {
            let array = self.values.get(name).cloned();
            array.ok_or_else(|| Failure::internal(format_args!("the input `{name}` has no value")))
        };
        program.inputs().iter().map(|input| value(&input.name)).collect()
    }
}

fn quoted(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The arrays within a parameter or a part of one.
fn parts<'f>(path: &'f str, function: &'f Function<'_>) -> impl Iterator<Item = &'f Leaf> {
    function
        .leaves()
        .filter(move |leaf| leaf.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

fn unknown(path: &str, function: &Function<'_>) -> Failure {
    let within: Vec<&str> = parts(path, function).map(|leaf| leaf.path.as_str()).collect();
    if within.is_empty() {
        let message = format!("`{}` has no parameter `{path}`", function.name);
        if function.takes_nothing() {
            return Failure::usage(message).hint("it takes no arguments");
        }
        return Failure::usage(format_args!("{message}; it takes:{}", function.expected()));
    }
    let message = format!("`{path}` has several parts, and an array file holds one");
    Failure::usage(message).hint(format_args!("give {}", quoted(&within)))
}

/// What `--arg` says: a file, or an expression.
fn given(leaf: &Leaf, value: &str, within: &Within<'_>) -> Outcome<Array> {
    match value.strip_prefix('@') {
        Some(file) => from_file(leaf, read_npy(file, within)?, file),
        None => inline(leaf, evaluate(&leaf.path, value, within)?),
    }
}

/// A file with more than may be in memory.
fn too_large(message: &str) -> Failure {
    Failure::limit(format!("error: {message}")).hint("raise the limit with --limit-bytes")
}

fn read_npy(file: &str, within: &Within<'_>) -> Outcome<Array> {
    let path = Path::new(file);
    npy::read_file_within(path, within.limits.limit_bytes).map_err(|error| {
        if error.is_too_large() {
            return too_large(&error.to_string());
        }
        let failure = Failure::data(error);
        if path.extension().is_some_and(|extension| extension == "npz") {
            failure
                .hint(format_args!("arrays of a .npz file are given by their names: --npz {file}"))
        } else {
            failure
        }
    })
}

/// The value of an expression on the command line, which is one array.
fn evaluate(path: &str, text: &str, within: &Within<'_>) -> Outcome<Array> {
    let mut arrays = evaluate_parts(path, text, within)?;
    match (arrays.pop(), arrays.is_empty()) {
        (Some((name, array)), true) if name == path => Ok(array),
        _ => Err(Failure::usage(format_args!("the value of `{path}` is not one array"))
            .hint("give the parts of a tuple or record one by one: --arg p.0=... --arg p.w=...")),
    }
}

/// The arrays of an expression on the command line, by path, within the limits of the command.
fn evaluate_parts(path: &str, text: &str, within: &Within<'_>) -> Outcome<Vec<(String, Array)>> {
    if text.is_empty() {
        return Err(Failure::usage(format_args!("the value of `{path}` is empty"))
            .hint(format_args!("--arg {path}='[1, 2.5]', or a file: --arg {path}=@FILE.npy")));
    }
    let &Within { limits, begin, terminal } = within;
    let about =
        |failure: Failure| failure.note(format_args!("this is about the value of `--arg {path}`"));
    let made = limits.making(begin);
    let instance = load_expression(&format!("--arg {path}"), text)
        .and_then(|modules| instantiate(&modules, "main", &[], &[], &made))
        .map_err(|messages| {
            let rendered = terminal.render(&messages.diagnostics, &messages.sources);
            if made.deadline.is_some_and(|end| Instant::now() >= end) {
                return about(out_of_time(limits));
            }
            if is_limit(&messages.diagnostics) {
                return about(Failure::limit(rendered));
            }
            let failure = Failure::usage(format_args!("the value of `{path}` is not understood"))
                .hint("write it as in a program, '[1, 2.5]', or name a file, @FILE.npy");
            terminal.complain(&rendered);
            failure
        })?;
    let backend = Backend::chosen(None)?;
    let names = instance.result.leaves(path).into_iter().map(|(name, _)| name);
    let outputs =
        compute(instance.program, &[], backend, limits, begin, terminal).map_err(about)?;
    Ok(names.zip(outputs).collect())
}

/// A value written for this parameter: its numbers become floats where that is what it takes.
fn inline(leaf: &Leaf, array: Array) -> Outcome<Array> {
    let converted = match (array.dtype(), leaf.dtype) {
        (from, to) if from == to => return Ok(array),
        (Dtype::I64 | Dtype::F32 | Dtype::F64, Dtype::F32 | Dtype::F64) => exactly(leaf, &array)?,
        _ => None,
    };
    converted.ok_or_else(|| {
        let hint = match leaf.dtype {
            Dtype::I64 => "write whole numbers, 3, or convert: i64(2.5)",
            Dtype::Bool => "write true or false, or a comparison: x != 0",
            Dtype::F64 | Dtype::F32 => "write floats, 3.0, or convert: f64(true)",
        };
        Failure::usage(mismatch(leaf, &array, "the value")).hint(hint)
    })
}

/// An array from a file: kept as it is, or converted where nothing is lost.
fn from_file(leaf: &Leaf, array: Array, origin: &str) -> Outcome<Array> {
    let converted = match (array.dtype(), leaf.dtype) {
        (from, to) if from == to => return Ok(array),
        (Dtype::F32, Dtype::F64) | (Dtype::I64, Dtype::F64 | Dtype::F32) => exactly(leaf, &array)?,
        _ => None,
    };
    converted.ok_or_else(|| {
        let failure = Failure::data(mismatch(leaf, &array, origin));
        match (array.dtype(), leaf.dtype) {
            (Dtype::F64 | Dtype::I64, Dtype::F32 | Dtype::F64) => {
                failure.hint("converting would change its numbers: save or declare it otherwise")
            }
            _ => failure,
        }
    })
}

/// Numbers as floats; `None` if integers do not come out as they are.
fn exactly(leaf: &Leaf, array: &Array) -> Outcome<Option<Array>> {
    let converted = array.cast(leaf.dtype).map_err(Failure::data)?;
    let same =
        array.dtype() != Dtype::I64 || converted.cast(Dtype::I64).is_ok_and(|back| back == *array);
    Ok(same.then_some(converted))
}

fn mismatch(leaf: &Leaf, array: &Array, origin: &str) -> String {
    let (given, Leaf { path, ty, .. }) = (Type::of(array), leaf);
    format!("{origin} for `{path}` is {given}, but `{path}` is declared {ty}")
}

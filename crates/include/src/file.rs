//! A file of the text language, and what its functions take and give.

use std::path::{Path, PathBuf};

use cotan_array::Dtype;
use cotan_ir::Limits;
use cotan_ir::scalar::Scalar;
use cotan_syntax::render::Style;
use cotan_syntax::{
    ArgSpec, Diagnostics, Failure, FileLoader, Interface, Modules, Parameter, Severity, check,
    instantiate, load,
};

/// A file with what it imports, and its functions.
pub(crate) struct File {
    /// The name of each file, the entry first, and where it is.
    pub files: Vec<(String, PathBuf)>,
    /// The functions that Rust can call.
    pub functions: Vec<Function>,
}

/// A function of the file.
pub(crate) struct Function {
    pub name: String,
    /// Its head as written, and its comment.
    pub doc: String,
    pub params: Vec<Param>,
    /// The element types of the arrays of its result, and whether that is one array.
    pub results: Vec<Dtype>,
    pub one_result: bool,
}

/// A parameter of a function.
pub(crate) struct Param {
    pub name: String,
    pub kind: ParamKind,
}

/// What is given to a parameter.
pub(crate) enum ParamKind {
    Array(Dtype),
    /// The arrays of a tuple or record, in order.
    Arrays(Vec<Dtype>),
    /// An integer or truth value that has to be known when a program is made.
    Integer,
    Truth,
}

/// Sizes at which the types of results are found: those of a first try that a function allows.
const SIZES: [usize; 6] = [3, 4, 2, 6, 8, 1];

fn rendered(failure: &Failure) -> String {
    failure.render(Style::Plain).trim_end().to_owned()
}

impl File {
    /// Loads and checks the file that `path` means in the source file `here`.
    pub(crate) fn load(path: &str, here: Option<&Path>) -> Result<File, String> {
        let beside = here.and_then(Path::parent).map(Path::to_path_buf);
        let beside = beside.or_else(|| std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from));
        let full = beside.unwrap_or_default().join(path);
        let full = full.canonicalize().map_err(|error| {
            format!("cannot read `{path}`: {error}; the path is relative to this source file")
        })?;
        let entry = full.to_string_lossy().into_owned();
        let modules = load(&entry, &FileLoader::new(&full)).map_err(|fault| rendered(&fault))?;
        let found = check(&modules, &Limits::default());
        if found.has_errors() {
            let mut diagnostics = Diagnostics::new();
            let errors = found.iter().filter(|one| one.severity() == Severity::Error);
            errors.cloned().for_each(|one| diagnostics.push(one));
            let sources = std::sync::Arc::clone(modules.sources());
            return Err(rendered(&Failure { diagnostics, sources }));
        }
        let mut functions = Vec::new();
        for info in modules.functions() {
            let interface = modules.interface(info.name).map_err(|fault| rendered(&fault))?;
            // Functions of functions are for the language itself.
            if interface.params.iter().any(|param| param.leaves.is_empty()) {
                continue;
            }
            let (params, results, one_result) = typed(&modules, info.name, &interface)?;
            let doc = match info.doc {
                Some(doc) => format!("{}\n\n```text\n{}\n```", doc.trim(), info.signature),
                None => format!("```text\n{}\n```", info.signature),
            };
            let name = info.name.to_owned();
            functions.push(Function { name, doc, params, results, one_result });
        }
        let sources = modules.sources();
        let folder = full.parent().map(Path::to_path_buf).unwrap_or_default();
        let written = Path::new(path).parent().map(Path::to_path_buf).unwrap_or_default();
        let files = sources.files().map(|file| {
            let at = PathBuf::from(sources.name(file));
            // As it is called beside the entry file, however that is written.
            let name = at.strip_prefix(&folder).map_or_else(|_| at.clone(), |p| written.join(p));
            (name.to_string_lossy().replace('\\', "/"), at)
        });
        Ok(File { files: files.collect(), functions })
    }
}

/// How a function is called: its parameters, and the arrays of its result.
fn typed(
    modules: &Modules,
    name: &str,
    interface: &Interface,
) -> Result<(Vec<Param>, Vec<Dtype>, bool), String> {
    let mut last = String::new();
    // Integers are arguments of the program if they may be.
    for known in [false, true] {
        for size in SIZES {
            let sizes: Vec<(&str, usize)> =
                interface.sizes.iter().map(|name| (name.as_str(), size)).collect();
            let specs: Vec<ArgSpec> = interface
                .params
                .iter()
                .map(|param| match single(param) {
                    Some(Dtype::I64) if known => ArgSpec::Static(Scalar::I64(size as i64)),
                    Some(Dtype::Bool) if known => ArgSpec::Static(Scalar::Bool(true)),
                    _ => ArgSpec::Declared,
                })
                .collect();
            match instantiate(modules, name, &specs, &sizes, &Limits::default()) {
                Ok(made) => {
                    let leaves = made.result.leaves("");
                    let one = matches!(leaves.as_slice(), [(path, _)] if path.is_empty());
                    let results = leaves.iter().map(|(_, ty)| ty.dtype).collect();
                    let params = interface.params.iter().map(|param| kind(param, known));
                    return Ok((params.collect(), results, one));
                }
                Err(fault) if last.is_empty() => last = rendered(&fault),
                Err(_) => {}
            }
        }
    }
    Err(format!("the type of the result of `{name}` is not found at sizes of {SIZES:?}\n{last}"))
}

/// The element type of a parameter that is one scalar.
fn single(param: &Parameter) -> Option<Dtype> {
    match param.leaves.as_slice() {
        [leaf] if leaf.path == param.name && leaf.rank == 0 => Some(leaf.dtype),
        _ => None,
    }
}

fn kind(param: &Parameter, known: bool) -> Param {
    let kind = match (single(param), param.leaves.as_slice()) {
        (Some(Dtype::I64), _) if known => ParamKind::Integer,
        (Some(Dtype::Bool), _) if known => ParamKind::Truth,
        (_, [leaf]) if leaf.path == param.name => ParamKind::Array(leaf.dtype),
        (_, leaves) => ParamKind::Arrays(leaves.iter().map(|leaf| leaf.dtype).collect()),
    };
    Param { name: param.name.clone(), kind }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

    use super::*;

    /// What a file with this text gives.
    fn loaded(name: &str, text: &str) -> Result<File, String> {
        let folder = std::env::temp_dir().join(format!("cotan-include-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        File::load(name, Some(&folder.join("main.rs")))
    }

    #[test]
    fn functions_have_the_types_of_their_arrays() {
        let file = loaded(
            "good.ct",
            "def f(p: {w: [n]f64, b: f32}, k: [n]i64) = (sum(p.w), k)
             def g(x: f64, n: i64) = build n (i => x)
             def h(f: f64 -> f64) = f(1.0)",
        );
        let file = file.unwrap();
        let names: Vec<&str> = file.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["f", "g"], "functions of functions are left out");
        let [f, g] = file.functions.as_slice() else { panic!("two functions") };
        assert!(
            matches!(&f.params[0].kind, ParamKind::Arrays(all) if *all == [Dtype::F64, Dtype::F32])
        );
        assert!(matches!(f.params[1].kind, ParamKind::Array(Dtype::I64)));
        assert_eq!((f.results.as_slice(), f.one_result), (&[Dtype::F64, Dtype::I64][..], false));
        assert!(matches!(g.params[1].kind, ParamKind::Integer), "the length depends on it");
        assert_eq!((g.results.as_slice(), g.one_result), (&[Dtype::F64][..], true));
        assert_eq!(file.files[0].0, "good.ct");
    }

    #[test]
    fn errors_are_those_of_the_language() {
        let wrong = loaded("wrong.ct", "def f(x: f64) = x + y").err().unwrap();
        assert!(wrong.contains("wrong.ct:1:"), "{wrong}");
        let missing = File::load("nowhere.ct", None).err().unwrap();
        assert!(missing.starts_with("cannot read `nowhere.ct`"), "{missing}");
    }
}

//! Programs of the text language.

use std::sync::Arc;

use cotan::untyped;
use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Limits, Type};
use cotan_syntax::render::Style;
use cotan_syntax::{
    ArgSpec, Diagnostics, Failure, FileLoader, Interface, Modules, Parameter, Severity, TypeTree,
    instantiate,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::callback::Raised;
use crate::error::{exception, guarded};
use crate::operand::Operand;
use crate::tracer::Tracer;
use crate::tree::{Shape, TreeDef};

/// A file of the text language with what it imports.
#[pyclass(frozen, name = "TextModule", module = "cotan._core")]
pub struct TextModule(Modules);

/// A function of a module: name, head as written, comment, parameters, size parameters, parameters
/// whose values must be known; for each parameter its name and the paths of its arrays.
type Described =
    (String, String, Option<String>, Vec<(String, Vec<String>)>, Vec<String>, Vec<String>);

/// A value of a parameter that must be known: an integer or a truth value.
#[derive(FromPyObject)]
enum Known {
    Truth(bool),
    Integer(i64),
}

fn failure(py: Python<'_>, failure: &Failure) -> PyErr {
    exception(py, "TextError", "load", failure.render(Style::Plain).trim_end(), None)
}

/// The module, unless a definition is wrong whatever it is called with.
fn checked(py: Python<'_>, loaded: Result<Modules, Failure>) -> PyResult<TextModule> {
    let modules = loaded.map_err(|fault| failure(py, &fault))?;
    let found = guarded(py, || cotan_syntax::check(&modules, &Limits::default()))?;
    if !found.has_errors() {
        return Ok(TextModule(modules));
    }
    let mut diagnostics = Diagnostics::new();
    let errors = found.iter().filter(|one| one.severity() == Severity::Error);
    errors.cloned().for_each(|one| diagnostics.push(one));
    Err(failure(py, &Failure { diagnostics, sources: Arc::clone(modules.sources()) }))
}

/// The module of a file.
#[pyfunction]
pub fn load_file(py: Python<'_>, path: &str) -> PyResult<TextModule> {
    checked(py, guarded(py, || cotan_syntax::load(path, &FileLoader::new(path)))?)
}

/// The module of a text.
#[pyfunction]
pub fn load_text(py: Python<'_>, name: &str, text: &str) -> PyResult<TextModule> {
    checked(py, guarded(py, || cotan_syntax::load_text(name, text))?)
}

fn rank(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::Bool => 0,
        Dtype::I64 => 1,
        Dtype::F32 => 2,
        Dtype::F64 => 3,
    }
}

fn result_shape(py: Python<'_>, tree: &TypeTree) -> Shape {
    match tree {
        TypeTree::Array(_) => Shape::Leaf,
        TypeTree::Tuple(parts) => {
            Shape::Tuple(parts.iter().map(|part| result_shape(py, part)).collect())
        }
        TypeTree::Record(fields) => Shape::Dict(
            fields.iter().map(|(name, _)| PyString::new(py, name).into_any().unbind()).collect(),
            fields.iter().map(|(_, part)| result_shape(py, part)).collect(),
        ),
    }
}

/// The parameters that are one integer or truth value.
fn single_numbers(interface: &Interface) -> Vec<String> {
    let single = |param: &&Parameter| match param.leaves.as_slice() {
        [leaf] => leaf.path == param.name && leaf.rank == 0 && !leaf.dtype.is_float(),
        _ => false,
    };
    interface.params.iter().filter(single).map(|param| param.name.clone()).collect()
}

impl TextModule {
    /// The parameters whose values must be known, because one of them is a size or the length of a
    /// loop: those without which no program can be made of a function, tried at sizes of 3.
    fn must_be_known(&self, name: &str, interface: &Interface) -> Vec<String> {
        let numbers = single_numbers(interface);
        if numbers.is_empty() {
            return numbers;
        }
        let sizes: Vec<(&str, usize)> =
            interface.sizes.iter().map(|size| (size.as_str(), 3)).collect();
        let declared: Vec<ArgSpec> = interface.params.iter().map(|_| ArgSpec::Declared).collect();
        let tried = instantiate(&self.0, name, &declared, &sizes, &Limits::default());
        if tried.is_ok() { Vec::new() } else { numbers }
    }
}

#[pymethods]
impl TextModule {
    /// The functions that it defines.
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<Described>> {
        let mut described = Vec::new();
        for f in self.0.functions() {
            let interface = self.0.interface(f.name).map_err(|fault| failure(py, &fault))?;
            let params = interface.params.iter().map(|param| {
                let paths = param.leaves.iter().map(|leaf| leaf.path.clone()).collect();
                (param.name.clone(), paths)
            });
            described.push((
                f.name.to_owned(),
                f.signature.to_owned(),
                f.doc.map(str::to_owned),
                params.collect(),
                interface.sizes.clone(),
                guarded(py, || self.must_be_known(f.name, &interface))?,
            ));
        }
        Ok(described)
    }

    /// The results of a function at the arrays of each parameter, inside the function being traced;
    /// those of parameters that are known are not read.
    fn call(
        &self,
        py: Python<'_>,
        function: &str,
        args: Vec<Vec<Operand>>,
        sizes: Vec<(String, usize)>,
        known: Vec<(String, Known)>,
    ) -> PyResult<(Vec<Tracer>, TreeDef)> {
        let interface = self.0.interface(function).map_err(|fault| failure(py, &fault))?;
        let mut specs = Vec::with_capacity(args.len());
        let mut leaves = Vec::new();
        for (arg, param) in args.iter().zip(&interface.params) {
            if let Some((_, value)) = known.iter().find(|(name, _)| *name == param.name) {
                specs.push(ArgSpec::Static(match *value {
                    Known::Truth(truth) => Scalar::Bool(truth),
                    Known::Integer(integer) => Scalar::I64(integer),
                }));
                continue;
            }
            let mut types: Vec<Type> = Vec::with_capacity(arg.len());
            for (x, leaf) in arg.iter().zip(&param.leaves) {
                let wider = rank(x.value.dtype()) < rank(leaf.dtype);
                let x = if x.weak || wider { x.cast(py, leaf.dtype)? } else { x.value };
                types.extend(x.ty());
                leaves.push(x);
            }
            specs.push(ArgSpec::Leaves(types));
        }
        let sizes: Vec<(&str, usize)> = sizes.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let instance =
            guarded(py, || instantiate(&self.0, function, &specs, &sizes, &Limits::default()))?;
        let instance = instance.map_err(|fault| failure(py, &fault))?;
        let made = Raised::default().watched(py, || untyped::inline(&instance.program, &leaves))?;
        let shape = std::sync::Arc::new(result_shape(py, &instance.result));
        Ok((crate::callback::tracers(py, &made)?, TreeDef { shape }))
    }
}

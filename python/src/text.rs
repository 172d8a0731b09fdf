//! Programs of the text language.

use cotan::untyped;
use cotan_array::Dtype;
use cotan_ir::{Limits, Type};
use cotan_syntax::render::Style;
use cotan_syntax::{ArgSpec, Failure, FileLoader, Modules, TypeTree, instantiate};
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

/// A function of a module: name, head as written, comment, parameters, size parameters; for each
/// parameter its name and the paths of its arrays.
type Described = (String, String, Option<String>, Vec<(String, Vec<String>)>, Vec<String>);

fn failure(py: Python<'_>, failure: &Failure) -> PyErr {
    exception(py, "TextError", "load", &failure.render(Style::Plain), None)
}

/// The module of a file.
#[pyfunction]
pub fn load_file(py: Python<'_>, path: &str) -> PyResult<TextModule> {
    let loaded = guarded(py, || cotan_syntax::load(path, &FileLoader::new(path)))?;
    loaded.map(TextModule).map_err(|fault| failure(py, &fault))
}

/// The module of a text.
#[pyfunction]
pub fn load_text(py: Python<'_>, name: &str, text: &str) -> PyResult<TextModule> {
    let loaded = guarded(py, || cotan_syntax::load_text(name, text))?;
    loaded.map(TextModule).map_err(|fault| failure(py, &fault))
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
            ));
        }
        Ok(described)
    }

    /// The results of a function at the arrays of each parameter, inside the function being traced.
    fn call(
        &self,
        py: Python<'_>,
        function: &str,
        args: Vec<Vec<Operand>>,
        sizes: Vec<(String, usize)>,
    ) -> PyResult<(Vec<Tracer>, TreeDef)> {
        let interface = self.0.interface(function).map_err(|fault| failure(py, &fault))?;
        let mut specs = Vec::with_capacity(args.len());
        let mut leaves = Vec::new();
        for (arg, param) in args.iter().zip(&interface.params) {
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

//! The compiled part of the Python package: tracing, running, and the functions of the library on
//! traced arrays. Structures, names and documentation are in Python.

mod again;
mod callback;
mod control;
mod convert;
mod derive;
mod error;
mod export;
mod index;
mod jit;
mod library;
mod linear;
mod memory;
mod operand;
mod optim;
mod program;
mod row;
mod solve;
mod sparse;
mod text;
mod tracer;
mod tree;
mod types;
mod windows;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: memory::Recycling = memory::Recycling::new();

/// Whether a function is being traced on this thread.
#[pyfunction]
fn is_tracing() -> bool {
    cotan::untyped::is_staging()
}

/// The module `cotan._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<tracer::Tracer>()?;
    module.add_class::<tree::TreeDef>()?;
    module.add_class::<jit::Jit>()?;
    module.add_class::<jit::Traced>()?;
    module.add_class::<program::Inspected>()?;
    module.add_class::<linear::LinearMap>()?;
    module.add_class::<linear::StagedLinearMap>()?;
    module.add_class::<text::TextModule>()?;
    module.add_class::<sparse::SparsePlan>()?;
    module.add_function(wrap_pyfunction!(is_tracing, module)?)?;
    module.add_function(wrap_pyfunction!(tracer::scalar, module)?)?;
    module.add_function(wrap_pyfunction!(tracer::select, module)?)?;
    module.add_function(wrap_pyfunction!(tracer::asarray, module)?)?;
    module.add_function(wrap_pyfunction!(index::getitem, module)?)?;
    module.add_function(wrap_pyfunction!(index::has_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(index::at_set, module)?)?;
    module.add_function(wrap_pyfunction!(index::at_add, module)?)?;
    module.add_function(wrap_pyfunction!(index::dynamic_slice, module)?)?;
    module.add_function(wrap_pyfunction!(index::scatter_add, module)?)?;
    module.add_function(wrap_pyfunction!(tree::tree_flatten, module)?)?;
    module.add_function(wrap_pyfunction!(control::build, module)?)?;
    module.add_function(wrap_pyfunction!(control::map_accum, module)?)?;
    module.add_function(wrap_pyfunction!(control::while_loop, module)?)?;
    module.add_function(wrap_pyfunction!(control::cond, module)?)?;
    module.add_function(wrap_pyfunction!(control::switch, module)?)?;
    module.add_function(wrap_pyfunction!(control::associative_scan, module)?)?;
    module.add_function(wrap_pyfunction!(control::reduce, module)?)?;
    module.add_function(wrap_pyfunction!(control::reduce_by_index, module)?)?;
    module.add_function(wrap_pyfunction!(control::checkpoint, module)?)?;
    module.add_function(wrap_pyfunction!(control::stop_gradient, module)?)?;
    module.add_function(wrap_pyfunction!(control::custom, module)?)?;
    module.add_function(wrap_pyfunction!(derive::derivative, module)?)?;
    module.add_function(wrap_pyfunction!(derive::series, module)?)?;
    module.add_function(wrap_pyfunction!(solve::endomorphic, module)?)?;
    module.add_function(wrap_pyfunction!(solve::minimize, module)?)?;
    module.add_function(wrap_pyfunction!(solve::odeint, module)?)?;
    module.add_function(wrap_pyfunction!(solve::integral, module)?)?;
    module.add_function(wrap_pyfunction!(row::row, module)?)?;
    module.add_function(wrap_pyfunction!(sparse::sparse_plan, module)?)?;
    module.add_function(wrap_pyfunction!(program::run_once, module)?)?;
    module.add_function(wrap_pyfunction!(linear::linearize_concrete, module)?)?;
    module.add_function(wrap_pyfunction!(linear::linearize_staged, module)?)?;
    module.add_function(wrap_pyfunction!(text::load_file, module)?)?;
    module.add_function(wrap_pyfunction!(text::load_text, module)?)?;
    module.add_function(wrap_pyfunction!(optim::lbfgs, module)?)?;
    module.add_function(wrap_pyfunction!(export::stablehlo_of, module)?)?;
    module.add_function(wrap_pyfunction!(export::program_stablehlo, module)?)?;
    let library = PyModule::new(module.py(), "lib")?;
    library::register(&library)?;
    module.add_submodule(&library)
}

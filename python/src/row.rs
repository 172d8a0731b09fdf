//! Rows of the standard library by their names.
//!
//! What a row takes is in the table (`cotan_library`), so a function that the library gets is reached
//! from Python without a function here.

use cotan::untyped::{self, AnyArr, Arg, Kind, LibraryArg};
use cotan_array::Dtype;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::callback::tracers;
use crate::convert::dtype_of;
use crate::error::{exception, traced};
use crate::operand::{Operand, float, number, promoted_to};
use crate::tracer::Tracer;

/// The arrays of an argument that shares its element type with others, and whether it is a list.
struct Shared {
    name: &'static str,
    arrays: Vec<Operand>,
    many: bool,
}

/// The arrays that the function of the library with this name makes; arguments are named as in its
/// table, and those that are None are not given.
#[pyfunction]
pub fn row(py: Python<'_>, name: &str, args: &Bound<'_, PyDict>) -> PyResult<Vec<Tracer>> {
    let fault = |text: String| exception(py, "InternalError", name, &text, None);
    let Some(function) = untyped::library_function(name) else {
        return Err(fault("there is no such function".to_owned()));
    };
    for given in args.keys() {
        if !function.params.iter().any(|param| given.eq(param.name).unwrap_or(false)) {
            return Err(fault(format!("there is no parameter {given}")));
        }
    }
    let mut shared: Vec<Shared> = Vec::new();
    let mut made: Vec<(&'static str, LibraryArg)> = Vec::new();
    let mut choose: fn(Dtype) -> Dtype = |dtype| dtype;
    for param in function.params {
        let Some(value) = args.get_item(param.name)?.filter(|value| !value.is_none()) else {
            continue;
        };
        match param.kind {
            Kind::Float | Kind::Complex => choose = float,
            Kind::Number | Kind::Numbers => choose = number,
            _ => {}
        }
        let known = match param.kind {
            Kind::Any | Kind::Number | Kind::Float => {
                let arrays = vec![Operand::of(&value)?];
                shared.push(Shared { name: param.name, arrays, many: false });
                continue;
            }
            Kind::Anys | Kind::Numbers | Kind::Complex => {
                let arrays = value.extract()?;
                shared.push(Shared { name: param.name, arrays, many: true });
                continue;
            }
            Kind::Int => {
                let ids = crate::index::integers(py, name, Operand::of(&value)?)?;
                made.push((param.name, LibraryArg::Array(ids.into())));
                continue;
            }
            Kind::Bool => {
                let truth = Operand::of(&value)?.cast(py, Dtype::Bool)?;
                made.push((param.name, LibraryArg::Array(truth)));
                continue;
            }
            Kind::Key => {
                made.push((param.name, LibraryArg::Array(Operand::of(&value)?.value)));
                continue;
            }
            Kind::Axis | Kind::Whole | Kind::Size => Arg::Int(value.extract()?),
            Kind::Axes | Kind::Wholes | Kind::Sizes | Kind::Widths => Arg::Ints(value.extract()?),
            Kind::Real => Arg::Real(value.extract()?),
            Kind::Flag => Arg::Flag(value.extract()?),
            Kind::Dtype => Arg::Dtype(dtype_of(py, &value.extract::<String>()?)?),
            Kind::Word => Arg::Word(value.extract()?),
        };
        made.push((param.name, LibraryArg::Known(known)));
    }
    let all: Vec<Operand> = shared.iter().flat_map(|one| one.arrays.iter().copied()).collect();
    let mut arrays = promoted_to(py, &all, choose)?.0.into_iter();
    for Shared { name, arrays: own, many } in shared {
        let mut own: Vec<AnyArr> = arrays.by_ref().take(own.len()).collect();
        made.push(match (many, own.pop()) {
            (false, Some(x)) => (name, LibraryArg::Array(x)),
            (_, last) => (name, LibraryArg::Arrays(own.into_iter().chain(last).collect())),
        });
    }
    // The table has arrays in the order of its parameters.
    made.sort_by_key(|(name, _)| function.params.iter().position(|param| param.name == *name));
    let results = traced(py, name, || untyped::library(function, made))?;
    match results {
        Ok(results) => tracers(py, &results),
        Err(error) => Err(crate::error::of_library(py, &error)),
    }
}

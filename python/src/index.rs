//! `x[..]` and `x.at[..]`: what an index of Python takes of an array.
//!
//! An index without arrays is a slice of the library. With arrays it follows numpy: they are
//! broadcast against each other, and their axes stand where they stood if they were side by side,
//! and first otherwise. Each axis that is taken then becomes an array of positions that broadcasts to
//! the result.

use cotan::untyped::AnyArr;
use cotan::{Arr, Element, Number, Slice};
use cotan_array::{Array, Dtype};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice, PyTuple};

use crate::convert::{Keep, given};
use crate::error::{exception, traced};
use crate::operand::{Operand, promoted_to};
use crate::tracer::Tracer;
use crate::types::{typed, with_types};

/// An array of integers, as an index must be.
pub fn integers(py: Python<'_>, op: &str, index: Operand) -> PyResult<Arr<i64>> {
    index.value.typed::<i64>().ok_or_else(|| {
        let message = format!("an index of {}", crate::convert::numpy_name(index.value.dtype()));
        let hint = match (index.value.dtype(), op) {
            (Dtype::Bool, "index") => {
                "how many elements a traced mask takes is not known: write `ct.where(mask, x, 0)`, \
                 or `ct.partition(x, mask)`, which brings them to the front and counts them"
            }
            _ => "they are integers: convert them by `.astype(int)`",
        };
        exception(py, "IndexTypeError", op, &message, Some(hint))
    })
}

/// An entry of an index.
enum Part {
    Range { start: Option<i64>, stop: Option<i64>, step: i64 },
    At(i64),
    Index(Arr<i64>),
    Array(Arr<i64>),
    Rest,
    NewAxis,
}

/// What an index takes.
enum Taken {
    /// A part by ranges and positions.
    Slices(Vec<Slice>),
    /// Elements at positions, which broadcast to the shape.
    Positions(Vec<Arr<i64>>, Vec<usize>),
}

fn out_of_range(py: Python<'_>, i: i64, axis: usize, size: usize) -> PyErr {
    let message = format!("the index {i} is outside axis {axis}, which has size {size}");
    exception(py, "OutOfRangeError", "index", &message, None)
}

/// A bound of a slice.
fn bound(slice: &Bound<'_, PySlice>, name: &str) -> PyResult<Option<i64>> {
    let value = slice.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    if value.is_instance_of::<Tracer>() {
        let hint = "the size of a part must be known: `ct.dynamic_slice(x, starts, sizes)` takes \
                    one of known size from a traced start";
        return Err(crate::error::concrete_needed(slice.py(), "slice", hint));
    }
    value.call_method0("__index__")?.extract().map(Some)
}

/// The positions of an array that is known: negative ones count from the end, and all are inside.
fn known_positions(
    py: Python<'_>,
    any: &Bound<'_, PyAny>,
    axis: usize,
    size: usize,
) -> PyResult<Array> {
    let array = given(any, Keep::Copy)?.array;
    let Some(positions) = array.iter::<i64>() else {
        let message = format!("an index of {}", crate::convert::numpy_name(array.dtype()));
        let hint = "indices are integers, slices, `...`, `None` and masks of known values";
        return Err(exception(py, "IndexTypeError", "index", &message, Some(hint)));
    };
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let mut wrapped = Vec::with_capacity(array.numel());
    for i in positions {
        let from_start = if i < 0 { i + size } else { i };
        if from_start < 0 || from_start >= size {
            return Err(out_of_range(py, i, axis, size as usize));
        }
        wrapped.push(from_start);
    }
    Array::from_vec(array.shape().clone(), wrapped)
        .map_err(|error| exception(py, "LimitError", "index", &error.to_string(), None))
}

/// The entries of an index into an array of the given sizes.
fn parts(py: Python<'_>, index: &Bound<'_, PyAny>, dims: &[usize]) -> PyResult<Vec<Part>> {
    let entries: Vec<Bound<'_, PyAny>> = match index.cast::<PyTuple>() {
        Ok(several) => several.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    // Masks that are known become positions, one array for each axis that they have.
    let mut expanded = Vec::with_capacity(entries.len());
    for entry in entries {
        match py.import("cotan._data")?.getattr("mask_positions")?.call1((&entry,))? {
            none if none.is_none() => expanded.push(entry),
            positions => expanded.extend(positions.cast_into::<PyTuple>()?.iter()),
        }
    }
    let taking =
        |entry: &&Bound<'_, PyAny>| !entry.is_none() && !entry.is_instance_of::<PyEllipsis>();
    let named = expanded.iter().filter(taking).count();
    if named > dims.len() {
        let message = format!("{named} indices for an array with {} axes", dims.len());
        return Err(exception(py, "OutOfRangeError", "index", &message, None));
    }
    let mut axis = 0;
    let mut parts = Vec::with_capacity(expanded.len());
    for entry in &expanded {
        if entry.is_none() {
            parts.push(Part::NewAxis);
            continue;
        }
        if entry.is_instance_of::<PyEllipsis>() {
            parts.push(Part::Rest);
            axis += dims.len() - named;
            continue;
        }
        let size = dims.get(axis).copied().unwrap_or(0);
        parts.push(part(py, entry, axis, size)?);
        axis += 1;
    }
    if parts.iter().filter(|part| matches!(part, Part::Rest)).count() > 1 {
        let message = "an index with more than one `...`";
        return Err(exception(py, "OutOfRangeError", "index", message, None));
    }
    Ok(parts)
}

fn part(py: Python<'_>, entry: &Bound<'_, PyAny>, axis: usize, size: usize) -> PyResult<Part> {
    if let Ok(slice) = entry.cast::<PySlice>() {
        let step = bound(slice, "step")?.unwrap_or(1);
        if step == 0 {
            return Err(exception(py, "OutOfRangeError", "index", "a slice with step 0", None));
        }
        let (start, stop) = (bound(slice, "start")?, bound(slice, "stop")?);
        return Ok(Part::Range { start, stop, step });
    }
    if let Ok(tracer) = entry.cast::<Tracer>() {
        let index = integers(py, "index", tracer.get().operand())?;
        return Ok(match tracer.get().ty.shape.rank() {
            0 => Part::Index(index),
            _ => Part::Array(index),
        });
    }
    let positions = known_positions(py, entry, axis, size)?;
    match positions.item::<i64>() {
        Some(i) if entry.is_instance_of::<PyInt>() || positions.rank() == 0 => Ok(Part::At(i)),
        _ => {
            let made = traced(py, "index", || cotan::untyped::constant(&positions))?;
            integers(py, "index", Operand { value: made, weak: false }).map(Part::Array)
        }
    }
}

fn taken(py: Python<'_>, index: &Bound<'_, PyAny>, dims: &[usize]) -> PyResult<Taken> {
    let parts = parts(py, index, dims)?;
    if parts.iter().any(|part| matches!(part, Part::Array(_))) {
        return traced(py, "index", || positions(&parts, dims));
    }
    let slices = parts.into_iter().map(|part| match part {
        Part::Range { start, stop, step } => Slice::Range { start, stop, inclusive: false, step },
        Part::At(i) => Slice::At(i),
        Part::Index(i) | Part::Array(i) => Slice::Index(i),
        Part::Rest => Slice::Rest,
        Part::NewAxis => Slice::NewAxis,
    });
    Ok(Taken::Slices(slices.collect()))
}

/// What stands on an axis of the result, and which axis it takes.
enum Column {
    Run(Arr<i64>),
    New,
}

/// The positions that an index with arrays takes.
fn positions(parts: &[Part], dims: &[usize]) -> Taken {
    let counts = |part: &Part| !matches!(part, Part::Rest | Part::NewAxis);
    let named = parts.iter().filter(|part| counts(part)).count();
    // What is whole at the end needs no positions.
    let whole = |part: &Part| {
        matches!(part, Part::Rest | Part::Range { start: None | Some(0), stop: None, step: 1 })
    };
    let last = parts.iter().rposition(|part| !whole(part)).map_or(0, |last| last + 1);
    let parts = &parts[..last];
    let mut columns: Vec<Column> = Vec::new();
    // The arrays, by the axis that each takes.
    let mut arrays: Vec<(usize, Arr<i64>)> = Vec::new();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut place: Option<usize> = None;
    let mut apart = false;
    let mut ended = false;
    let mut axis = 0;
    let run = |columns: &mut Vec<Column>, runs: &mut Vec<(usize, usize)>, axis: usize, i| {
        runs.push((axis, columns.len()));
        columns.push(Column::Run(i));
    };
    for part in parts {
        let advanced = matches!(part, Part::At(_) | Part::Index(_) | Part::Array(_));
        if advanced {
            apart |= ended;
            place.get_or_insert(columns.len());
        } else {
            ended |= place.is_some();
        }
        match *part {
            Part::NewAxis => columns.push(Column::New),
            Part::Rest => {
                for _ in 0..dims.len() - named {
                    run(&mut columns, &mut runs, axis, cotan::iota(dims[axis]));
                    axis += 1;
                }
            }
            Part::Range { start, stop, step } => {
                let slice = Slice::Range { start, stop, inclusive: false, step };
                run(&mut columns, &mut runs, axis, cotan::iota(dims[axis]).slice([slice]));
                axis += 1;
            }
            Part::At(i) => {
                arrays.push((axis, cotan::full((), i)));
                axis += 1;
            }
            Part::Index(i) | Part::Array(i) => {
                arrays.push((axis, i));
                axis += 1;
            }
        }
    }
    let group_rank = arrays.iter().map(|(_, i)| i.rank()).max().unwrap_or(0);
    let place = if apart { 0 } else { place.unwrap_or(0) };
    let rank = columns.len() + group_rank;
    let mut components: Vec<Option<Arr<i64>>> = vec![None; axis];
    for (axis, i) in arrays {
        let after = rank - place - group_rank;
        components[axis] = Some(followed(i, after));
    }
    for (axis, column) in runs {
        let at = if column < place { column } else { column + group_rank };
        if let Column::Run(i) = columns[column] {
            components[axis] = Some(followed(i, rank - at - 1));
        }
    }
    let components: Vec<Arr<i64>> = components.into_iter().flatten().collect();
    let shape = components.iter().fold(vec![1; rank], |shape, i| broadcast(shape, &i.shape()));
    Taken::Positions(components, shape)
}

fn broadcast(mut shape: Vec<usize>, other: &[usize]) -> Vec<usize> {
    let before = shape.len().saturating_sub(other.len());
    for (k, &size) in other.iter().enumerate() {
        if size != 1 {
            shape[before + k] = size;
        }
    }
    shape
}

/// With so many axes of size 1 after its own.
fn followed(i: Arr<i64>, after: usize) -> Arr<i64> {
    let dims: Vec<usize> = i.shape().into_iter().chain(std::iter::repeat_n(1, after)).collect();
    i.reshape(&dims)
}

/// The first position at its full shape, so that all together have the shape of the result.
fn spread(mut positions: Vec<Arr<i64>>, shape: &[usize]) -> Vec<Arr<i64>> {
    if let Some(first) = positions.first_mut() {
        *first = first.broadcast_to(shape);
    }
    positions
}

fn read<T: Element>(x: Arr<T>, taken: Taken) -> Arr<T> {
    match taken {
        Taken::Slices(slices) => x.slice(slices),
        Taken::Positions(positions, shape) => x.gather(spread(positions, &shape)),
    }
}

fn written<T: Element>(x: Arr<T>, taken: Taken, values: Arr<T>) -> Arr<T> {
    match taken {
        Taken::Slices(slices) => x.slice_set(slices, values),
        Taken::Positions(positions, shape) => x.index_set(spread(positions, &shape), values),
    }
}

fn added<T: Number>(x: Arr<T>, taken: Taken, values: Arr<T>) -> Arr<T> {
    match taken {
        Taken::Slices(slices) => x.slice_add(slices, values),
        Taken::Positions(positions, shape) => x.index_add(spread(positions, &shape), values),
    }
}

/// `x[index]`.
#[pyfunction]
pub fn getitem(
    py: Python<'_>,
    x: &Bound<'_, Tracer>,
    index: &Bound<'_, PyAny>,
) -> PyResult<Tracer> {
    let x = x.get();
    let taken = taken(py, index, x.ty.shape.dims())?;
    let made = traced(
        py,
        "index",
        || with_types!(any x.ty.dtype, T => AnyArr::from(read(typed::<T>(x.value), taken))),
    )?;
    Tracer::new(py, made, x.weak)
}

/// Whether an index has arrays in it, so that it may name a place several times.
#[pyfunction]
pub fn has_arrays(
    py: Python<'_>,
    x: &Bound<'_, Tracer>,
    index: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    Ok(matches!(taken(py, index, x.get().ty.shape.dims())?, Taken::Positions(..)))
}

/// `x.at[index].set(values)`; the element type stays.
#[pyfunction]
pub fn at_set(
    py: Python<'_>,
    x: &Bound<'_, Tracer>,
    index: &Bound<'_, PyAny>,
    values: Operand,
) -> PyResult<Tracer> {
    let x = x.get();
    let taken = taken(py, index, x.ty.shape.dims())?;
    let v = values.cast(py, x.ty.dtype)?;
    let made = traced(
        py,
        "at.set",
        || with_types!(any x.ty.dtype, T => AnyArr::from(written(typed::<T>(x.value), taken, typed(v)))),
    )?;
    Tracer::new(py, made, x.weak)
}

/// `x.at[index].add(values)`: of several to one place, all are added. The element type stays.
#[pyfunction]
pub fn at_add(
    py: Python<'_>,
    x: &Bound<'_, Tracer>,
    index: &Bound<'_, PyAny>,
    values: Operand,
) -> PyResult<Tracer> {
    let x = x.get();
    let taken = taken(py, index, x.ty.shape.dims())?;
    if x.ty.dtype == Dtype::Bool {
        let hint = "convert it by `.astype(int)`, or write `.at[..].set(True)`";
        return Err(exception(
            py,
            "ArrayTypeError",
            "at.add",
            "truth values cannot be added",
            Some(hint),
        ));
    }
    let v = values.cast(py, x.ty.dtype)?;
    let made = traced(
        py,
        "at.add",
        || with_types!(number x.ty.dtype, T => AnyArr::from(added(typed::<T>(x.value), taken, typed(v)))),
    )?;
    Tracer::new(py, made, x.weak)
}

/// A part of known sizes from a traced start; what lies outside is 0.
#[pyfunction]
pub fn dynamic_slice(
    py: Python<'_>,
    x: &Bound<'_, Tracer>,
    starts: Vec<Operand>,
    sizes: Vec<usize>,
) -> PyResult<Tracer> {
    let x = x.get();
    let starts: PyResult<Vec<Arr<i64>>> =
        starts.into_iter().map(|start| integers(py, "dynamic_slice", start)).collect();
    let starts = starts?;
    let made = traced(
        py,
        "dynamic_slice",
        || with_types!(any x.ty.dtype, T => AnyArr::from(typed::<T>(x.value).dynamic_slice(starts, &sizes))),
    )?;
    Tracer::new(py, made, x.weak)
}

/// Zeros of the given sizes, with the values added at positions.
#[pyfunction]
pub fn scatter_add(
    py: Python<'_>,
    sizes: Vec<usize>,
    positions: Vec<Operand>,
    values: Operand,
) -> PyResult<Tracer> {
    let positions: PyResult<Vec<Arr<i64>>> =
        positions.into_iter().map(|i| integers(py, "scatter", i)).collect();
    let positions = positions?;
    let (values, weak) = promoted_to(py, &[values], crate::operand::number)?;
    let made = traced(
        py,
        "scatter",
        || with_types!(number values[0].dtype(), T => AnyArr::from(cotan::scatter_add(&sizes, positions, typed::<T>(values[0])))),
    )?;
    Tracer::new(py, made, weak)
}

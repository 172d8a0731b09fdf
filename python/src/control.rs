//! `build`, loops and branches over lists of arrays; structures are taken apart in Python.

use cotan::untyped::AnyArr;
use cotan::{Arr, Error, Keep, Neutral};
use cotan_array::Dtype;
use pyo3::prelude::*;

use crate::callback::{Raised, strong, tracers};
use crate::error::exception;
use crate::operand::Operand;
use crate::tracer::Tracer;

fn values(operands: &[Operand]) -> Vec<AnyArr> {
    operands.iter().map(|x| x.value).collect()
}

/// Arrays that are numbers of Python where others are.
fn like(arrays: &[AnyArr], others: &[Operand]) -> Vec<Operand> {
    let pairs = arrays.iter().zip(others);
    pairs.map(|(&value, other)| Operand { value, weak: other.weak }).collect()
}

/// Arrays from their elements at the indices of a shape.
#[pyfunction]
pub fn build(py: Python<'_>, sizes: Vec<usize>, f: &Bound<'_, PyAny>) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let built = raised.watched(py, || {
        Ok(cotan::build(sizes, |indices: Vec<Arr<i64>>| {
            let indices: Vec<AnyArr> = indices.into_iter().map(AnyArr::from).collect();
            raised.call_or_fail(py, f, &[&strong(&indices)])
        }))
    })?;
    tracers(py, &built)
}

/// A loop along the outermost axes of arrays: the last state, and what the steps gave.
#[pyfunction]
pub fn map_accum(
    py: Python<'_>,
    init: Vec<Operand>,
    xs: Vec<Operand>,
    reverse: bool,
    f: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Tracer>, Vec<Tracer>)> {
    let raised = Raised::default();
    let states = init.len();
    let step = |s: Vec<AnyArr>, x: Vec<AnyArr>| {
        let mut results = raised.call_or_fail(py, f, &[&like(&s, &init), &strong(&x)]);
        let outputs = results.split_off(states.min(results.len()));
        (results, outputs)
    };
    let (last, outputs) = raised.watched(py, || {
        let (first, xs) = (values(&init), values(&xs));
        Ok(match reverse {
            false => cotan::map_accum(first, xs, step),
            true => cotan::map_accum_right(first, xs, step),
        })
    })?;
    Ok((tracers(py, &last)?, tracers(py, &outputs)?))
}

/// A loop as long as a condition holds, with a bound on the steps if one is known, and checkpoints
/// so many steps apart.
#[pyfunction]
#[pyo3(signature = (init, condition, f, bound, every))]
pub fn while_loop(
    py: Python<'_>,
    init: Vec<Operand>,
    condition: &Bound<'_, PyAny>,
    f: &Bound<'_, PyAny>,
    bound: Option<usize>,
    every: Option<usize>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let holds = |s: Vec<AnyArr>| -> Arr<bool> {
        let given = raised.call_or_fail(py, condition, &[&like(&s, &init)]);
        match given.first().map(|x| x.cast(Dtype::Bool).typed()) {
            Some(Some(holds)) => holds,
            _ => cotan::full((), false),
        }
    };
    let step = |s: Vec<AnyArr>| raised.call_or_fail(py, f, &[&like(&s, &init)]);
    let last = raised.watched(py, || {
        let first = values(&init);
        Ok(match (bound, every) {
            (None, _) => cotan::while_loop(first, holds, step),
            (Some(bound), None) => cotan::while_at_most(bound, first, holds, step),
            (Some(bound), Some(every)) => {
                cotan::while_checkpointed(bound, every, first, holds, step)
            }
        })
    })?;
    tracers(py, &last)
}

/// The results of one of two functions.
#[pyfunction]
pub fn cond(
    py: Python<'_>,
    condition: Operand,
    then: &Bound<'_, PyAny>,
    otherwise: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let condition = condition.cast(py, Dtype::Bool)?;
    let chosen = raised.watched(py, || {
        let Some(condition) = condition.typed::<bool>() else { return Err(untyped_condition()) };
        Ok(cotan::cond(
            condition,
            || raised.call_or_fail(py, then, &[]),
            || raised.call_or_fail(py, otherwise, &[]),
        ))
    })?;
    tracers(py, &chosen)
}

fn untyped_condition() -> Error {
    Error::new(cotan::ErrorKind::Internal, "cond", "a condition that is not bool")
}

/// The results of the function with this number; the number is moved into range.
#[pyfunction]
pub fn switch(
    py: Python<'_>,
    index: Operand,
    branches: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let index = crate::index::integers(py, "switch", index)?;
    let functions: Vec<_> =
        branches.iter().map(|branch| || raised.call_or_fail(py, branch, &[])).collect();
    let functions: Vec<&dyn Fn() -> Vec<AnyArr>> =
        functions.iter().map(|f| f as &dyn Fn() -> Vec<AnyArr>).collect();
    let chosen = raised.watched(py, || Ok(cotan::switch(index, &functions)))?;
    tracers(py, &chosen)
}

/// All prefixes, combined in logarithmic depth.
#[pyfunction]
pub fn associative_scan(
    py: Python<'_>,
    xs: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let scanned = raised.watched(py, || {
        Ok(cotan::associative_scan(values(&xs), |a: Vec<AnyArr>, b: Vec<AnyArr>| {
            raised.call_or_fail(py, f, &[&strong(&a), &strong(&b)])
        }))
    })?;
    tracers(py, &scanned)
}

/// The neutral elements of an operation, in the element types of what it combines.
fn neutral_for(py: Python<'_>, neutral: &[Operand], xs: &[Operand]) -> PyResult<Vec<AnyArr>> {
    neutral.iter().zip(xs).map(|(e, x)| e.cast(py, x.value.dtype())).collect()
}

/// The elements along the outermost axes, combined by an associative operation in logarithmic depth.
#[pyfunction]
pub fn reduce(
    py: Python<'_>,
    neutral: Vec<Operand>,
    xs: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let neutral = neutral_for(py, &neutral, &xs)?;
    let reduced = raised.watched(py, || {
        Ok(cotan::reduce(Whole(neutral), values(&xs), |a: Vec<AnyArr>, b: Vec<AnyArr>| {
            raised.call_or_fail(py, f, &[&strong(&a), &strong(&b)])
        }))
    })?;
    tracers(py, &reduced)
}

/// For each of `n` ids, the elements that have it combined by an associative operation.
#[pyfunction]
pub fn reduce_by_index(
    py: Python<'_>,
    neutral: Vec<Operand>,
    n: usize,
    ids: Operand,
    xs: Vec<Operand>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let neutral = neutral_for(py, &neutral, &xs)?;
    let ids = crate::index::integers(py, "reduce_by_index", ids)?;
    let reduced = raised.watched(py, || {
        let combine = |a: Vec<AnyArr>, b: Vec<AnyArr>| {
            raised.call_or_fail(py, f, &[&strong(&a), &strong(&b)])
        };
        Ok(cotan::reduce_by_index(Whole(neutral), n, ids, values(&xs), combine))
    })?;
    tracers(py, &reduced)
}

/// A neutral element that is a list.
struct Whole(Vec<AnyArr>);

impl Neutral<Vec<AnyArr>> for Whole {
    fn neutral(self) -> Vec<AnyArr> {
        self.0
    }
}

/// A function that the reverse pass computes again.
#[pyfunction]
pub fn checkpoint(
    py: Python<'_>,
    args: Vec<Operand>,
    f: &Bound<'_, PyAny>,
    kind: &str,
    amount: u64,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let keep = match kind {
        "everything" => Keep::Everything,
        "contractions" => Keep::Contractions,
        "bytes" => Keep::Bytes(amount),
        "states" => Keep::States(u32::try_from(amount).unwrap_or(u32::MAX)),
        _ => Keep::Nothing,
    };
    let weak: Vec<bool> = args.iter().map(|x| x.weak).collect();
    let own = |xs: Vec<AnyArr>| -> Result<Vec<AnyArr>, Error> {
        let pairs = xs.into_iter().zip(&weak);
        let given: Vec<Operand> = pairs.map(|(value, &weak)| Operand { value, weak }).collect();
        Ok(values(&raised.call(py, f, &[&given])?))
    };
    let given = values(&args);
    let made = raised.watched(py, || Ok(cotan::checkpoint_with(keep, own).at(given)))?;
    tracers(py, &made)
}

/// The same arrays, as constants for derivatives.
#[pyfunction]
pub fn stop_gradient(py: Python<'_>, xs: Vec<Operand>) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let stopped = raised.watched(py, || Ok(cotan::stop_gradient(values(&xs))))?;
    tracers(py, &stopped)
}

/// A function with a derivative of its own: `rule` takes arguments and cotangents (`vjp`), or
/// arguments and tangents.
#[pyfunction]
pub fn custom(
    py: Python<'_>,
    kind: &str,
    args: Vec<Operand>,
    f: &Bound<'_, PyAny>,
    rule: &Bound<'_, PyAny>,
) -> PyResult<Vec<Tracer>> {
    let raised = Raised::default();
    let own = |x: Vec<AnyArr>| -> Result<Vec<AnyArr>, Error> {
        Ok(values(&raised.call(py, f, &[&strong(&x)])?))
    };
    let rule = |x: Vec<AnyArr>, direction: Vec<AnyArr>| {
        raised.call_or_fail(py, rule, &[&strong(&x), &strong(&direction)])
    };
    let given = values(&args);
    let made = match kind {
        "vjp" => raised.watched(py, || Ok(cotan::custom_vjp(own, rule).at(given)))?,
        "jvp" => raised.watched(py, || Ok(cotan::custom_jvp(own, rule).at(given)))?,
        _ => return Err(exception(py, "InternalError", "custom", "an unknown kind", None)),
    };
    tracers(py, &made)
}

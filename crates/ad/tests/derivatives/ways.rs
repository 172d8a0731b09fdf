//! All ways in which a derivative can be computed.
//!
//! Reverse: the emitted program of [`vjp`]; [`Dual`] over [`Eager`]; the scalars of section 2 on the
//! program as it was written. Forward: the emitted program of [`jvp`]; the Delta run forwards, as the
//! programs of [`linearize`] and eagerly; [`Tangent`] over [`Eager`]; the scalars of section 2.

use std::rc::Rc;

use cotan_ad::section2::oracle::{Numbers, Options, gradient_by_scalars, jvp_by_scalars};
use cotan_ad::{
    Dual, DualArray, Eager, Tangent, TangentArray, forward_pass, interpret, jvp, linearize,
    reverse_pass, vjp,
};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Program, Type};

use crate::support::*;

/// One way of computing derivatives: its name, and the derivatives.
pub type Way = (&'static str, Vec<Value>);

/// The gradients by all float inputs, computed in every way.
pub fn reverse_ways(source: &Program, point: &Point, mode: Mode) -> Checked<Vec<Way>> {
    let bulk = bulked(source)?;
    Ok(vec![
        ("reverse, by scalars", reverse_by_scalars(source, point, mode)?),
        ("reverse, staged", reverse_staged(&bulk, point, mode)?),
        ("reverse, eager", reverse_eager(&bulk, point, mode)?),
    ])
}

/// The tangents of all float outputs, computed in every way.
pub fn forward_ways(source: &Program, point: &Point, mode: Mode) -> Checked<Vec<Way>> {
    let bulk = bulked(source)?;
    Ok(vec![
        ("forward, by scalars", forward_by_scalars(source, point, mode)?),
        ("forward, staged", forward_staged(&bulk, point, mode)?),
        ("forward, Delta staged", forward_linearized(&bulk, point, mode, false)?),
        ("forward, Delta staged, without views", forward_linearized(&bulk, point, mode, true)?),
        ("forward, Delta eager", forward_delta_eager(&bulk, point, mode)?),
        ("forward, eager", forward_eager(&bulk, point, mode)?),
    ])
}

/// The emitted program of `vjp`.
pub fn reverse_staged(bulk: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let program = checked(vjp(bulk, None))?;
    let inputs = [&point.inputs[..], &point.cotangents].concat();
    Ok(run(&program, &inputs, mode)?.split_off(bulk.outputs().len()))
}

/// The emitted program of `jvp`.
pub fn forward_staged(bulk: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let program = checked(jvp(bulk, None))?;
    let inputs = [&point.inputs[..], &point.tangents].concat();
    Ok(run(&program, &inputs, mode)?.split_off(bulk.outputs().len()))
}

/// The two programs of `linearize`, one after the other.
pub fn forward_linearized(
    bulk: &Program,
    point: &Point,
    mode: Mode,
    small: bool,
) -> Checked<Vec<Value>> {
    let mut split = linearize(bulk, None).map_err(text)?;
    if small {
        split = split.without_views(bulk.outputs().len()).map_err(text)?;
    }
    let (primal, linear) = (checked(Ok(split.primal))?, checked(Ok(split.linear))?);
    let mut inputs = run(&primal, &point.inputs, mode)?.split_off(bulk.outputs().len());
    inputs.extend(point.tangents.iter().cloned());
    run(&linear, &inputs, mode)
}

/// The float ones among arguments, each with the next of `derivatives`.
fn paired<'a>(types: &[Type], derivatives: &'a [Value]) -> Vec<Option<&'a Value>> {
    let mut rest = derivatives.iter();
    types.iter().map(|ty| if ty.dtype.is_float() { rest.next() } else { None }).collect()
}

fn dense(types: &[Type], values: Vec<Option<Rc<Value>>>, mode: Mode) -> Vec<Value> {
    let float = types.iter().zip(values).filter(|(ty, _)| ty.dtype.is_float());
    float.map(|(ty, v)| v.map_or_else(|| zeros(ty, mode), |v| Value::clone(&v))).collect()
}

/// A program in dual arrays, as values: the results and what was recorded.
fn duals(
    bulk: &Program,
    point: &Point,
    eager: &mut Eager,
) -> Checked<(Vec<DualArray<Eager>>, cotan_ad::Deltas<Eager>)> {
    let mut dual = Dual::new(eager);
    let inputs: Vec<_> = point
        .inputs
        .iter()
        .enumerate()
        .map(|(k, value)| dual.input(k, Rc::new(value.clone())))
        .collect();
    let results = interpret(bulk, &inputs, &mut dual).map_err(text)?;
    Ok((results, dual.deltas))
}

/// Dual arrays that are values, transposed at once.
pub fn reverse_eager(bulk: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let mut eager = Eager::new(mode);
    let (results, deltas) = duals(bulk, point, &mut eager)?;
    let cotangents = paired(&output_types(bulk), &point.cotangents);
    let seeds: Vec<_> = results
        .iter()
        .zip(cotangents)
        .filter_map(|(t, c)| Some((t.delta?, Rc::new(c?.clone()))))
        .collect();
    let gradient = reverse_pass(&deltas, &seeds, bulk.inputs().len(), &mut eager).map_err(text)?;
    Ok(dense(&input_types(bulk), gradient, mode))
}

/// The same Deltas, run forwards.
pub fn forward_delta_eager(bulk: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let mut eager = Eager::new(mode);
    let (results, deltas) = duals(bulk, point, &mut eager)?;
    let tangents: Vec<_> = paired(&input_types(bulk), &point.tangents)
        .into_iter()
        .map(|v| v.map(|v| Rc::new(v.clone())))
        .collect();
    let values = forward_pass(&deltas, &tangents, &mut eager).map_err(text)?;
    let tangent = |t: &DualArray<Eager>| t.delta.and_then(|d| values[d.index()].clone());
    Ok(dense(&output_types(bulk), results.iter().map(tangent).collect(), mode))
}

/// Pairs of values.
pub fn forward_eager(bulk: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let mut eager = Eager::new(mode);
    let tangents = paired(&input_types(bulk), &point.tangents);
    let inputs: Vec<_> = point
        .inputs
        .iter()
        .zip(tangents)
        .map(|(v, t)| TangentArray {
            primal: Rc::new(v.clone()),
            tangent: t.map(|t| Rc::new(t.clone())),
        })
        .collect();
    let results = interpret(bulk, &inputs, &mut Tangent::new(&mut eager)).map_err(text)?;
    let tangents = results.into_iter().map(|t| t.tangent).collect();
    Ok(dense(&output_types(bulk), tangents, mode))
}

fn numbers(mode: Mode) -> Options {
    let numbers = if mode == Mode::Field { Numbers::Field } else { Numbers::Ieee };
    Options { numbers, ..Options::default() }
}

fn seeds(types: &[Type], derivatives: &[Value]) -> Vec<Option<Vec<Scalar>>> {
    paired(types, derivatives).into_iter().map(|v| v.map(elements)).collect()
}

fn shaped(types: &[Type], lists: Vec<Option<Vec<Scalar>>>) -> Checked<Vec<Value>> {
    let all = types.iter().zip(lists);
    all.filter_map(|(ty, list)| Some(Value::new(ty.clone(), list?).map_err(text))).collect()
}

/// Section 2, reverse.
pub fn reverse_by_scalars(source: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let inputs: Vec<_> = point.inputs.iter().map(elements).collect();
    let cotangents = seeds(&output_types(source), &point.cotangents);
    let made = gradient_by_scalars(source, &inputs, &cotangents, &numbers(mode)).map_err(text)?;
    shaped(&input_types(source), made.gradients)
}

/// Section 2, forward.
pub fn forward_by_scalars(source: &Program, point: &Point, mode: Mode) -> Checked<Vec<Value>> {
    let inputs: Vec<_> = point.inputs.iter().map(elements).collect();
    let tangents = seeds(&input_types(source), &point.tangents);
    let made = jvp_by_scalars(source, &inputs, &tangents, &numbers(mode)).map_err(text)?;
    shaped(&output_types(source), made.tangents)
}

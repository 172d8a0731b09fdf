//! Loops of an algebra whose arrays are at hand, step by step.

use cotan_array::Array;
use cotan_ir::Result;

use crate::algebra::{Algebra, Loop, batched, interpret};
use crate::step::Step;
use crate::while_loop::WhileLoop;

/// A `map_accum` as so many steps.
pub(crate) fn map_accum_by_steps<A: Algebra>(a: &mut A, m: &Loop<A::T>) -> Result<Vec<A::T>> {
    let mut states = m.init.clone();
    let mut outputs: Vec<Vec<A::T>> = vec![Vec::new(); m.step.outputs()];
    for n in 0..m.length {
        let at = if m.reverse { m.length - 1 - n } else { n };
        let at = a.constant(&Array::scalar(at as i64))?;
        let mut inputs = states;
        for x in &m.inputs {
            inputs.push(a.index(x, std::slice::from_ref(&at))?);
        }
        inputs.extend(m.captures.iter().cloned());
        states = collected(interpret(&m.step.program, &inputs, a)?, &mut outputs);
    }
    if m.reverse {
        outputs.iter_mut().for_each(|all| all.reverse());
    }
    states.extend(stacked(a, &m.step, outputs)?);
    Ok(states)
}

/// A `while` as as many steps as its condition allows; `holds` reads the condition.
pub(crate) fn while_by_steps<A: Algebra>(
    a: &mut A,
    w: &WhileLoop<A::T>,
    mut holds: impl FnMut(&mut A, &A::T) -> Result<bool>,
) -> Result<Vec<A::T>> {
    let mut states = w.init.clone();
    let mut outputs: Vec<Vec<A::T>> = vec![Vec::new(); w.step.outputs()];
    let mut steps = 0;
    while w.bound.is_none_or(|bound| steps < bound) {
        let inputs: Vec<A::T> = states.iter().chain(&w.captures).cloned().collect();
        let condition = interpret(&w.condition, &inputs, a)?;
        let goes_on = match condition.first() {
            Some(condition) => holds(a, condition)?,
            None => false,
        };
        if !goes_on {
            break;
        }
        states = collected(interpret(&w.step.program, &inputs, a)?, &mut outputs);
        steps += 1;
    }
    // Zeros where there was no step.
    for (n, all) in outputs.iter_mut().enumerate() {
        let zero = a.number(0.0, w.step.output_type(n))?;
        all.resize(w.bound.unwrap_or(0), zero);
    }
    states.extend(stacked(a, &w.step, outputs)?);
    Ok(states)
}

/// The next states, after the outputs of a step have gone to those of the steps before.
fn collected<T>(mut results: Vec<T>, outputs: &mut [Vec<T>]) -> Vec<T> {
    let ys = results.split_off(results.len() - outputs.len());
    for (all, y) in outputs.iter_mut().zip(ys) {
        all.push(y);
    }
    results
}

/// The outputs of all steps, each along a new outermost axis.
fn stacked<A: Algebra>(a: &mut A, step: &Step, outputs: Vec<Vec<A::T>>) -> Result<Vec<A::T>> {
    let all = outputs.into_iter().enumerate();
    all.map(|(n, rows)| match rows.is_empty() {
        true => a.number(0.0, &batched(0, step.output_type(n))?),
        false => a.stack(&rows),
    })
    .collect()
}

//! Loops over series: the states, elements and captures that move have their coefficients beside them.

use std::sync::Arc;

use cotan_ir::{Result, Type};

use super::{Series, SeriesId};
use crate::activity::active_in_loop;
use crate::algebra::{Algebra, Loop, interpret};
use crate::map_accum::{Writer, input_types, marked, or_zero};
use crate::step::Step;
use crate::while_loop::{WhileLoop, condition_on};

/// A step on series, and what moves in it.
struct Moving {
    step: Arc<Step>,
    states: Vec<usize>,
    elements: Vec<usize>,
    captures: Vec<usize>,
    outputs: Vec<usize>,
}

impl<A: Algebra> Series<'_, A> {
    /// The step with the coefficients of what moves after states, elements, captures and outputs.
    fn moving(&self, step: &Step, start: &[bool]) -> Result<Moving> {
        let (order, count) = (self.order, step.program.outputs().len());
        let (active_inputs, active_outputs) = active_in_loop(step, start);
        let (states, inputs) = (step.states, step.inputs);
        let types = input_types(step);
        let moving_states = marked(&active_inputs[..states]);
        let elements: Vec<usize> = (states..states + inputs).filter(|&k| start[k]).collect();
        let captures: Vec<usize> = (states + inputs..types.len()).filter(|&k| start[k]).collect();
        let outputs: Vec<usize> = (states..count).filter(|&k| active_outputs[k]).collect();

        let mut w = Writer::default();
        let mut moved = vec![Vec::new(); types.len()];
        let mut primals = Vec::with_capacity(types.len());
        let parts = [
            (0..states, &moving_states),
            (states..states + inputs, &elements),
            (states + inputs..types.len(), &captures),
        ];
        for (own, moving) in parts {
            primals.extend(w.inputs(&types[own])?);
            for &k in moving {
                for _ in 0..order {
                    moved[k].push(Some(w.input(&types[k])?));
                }
            }
        }
        let mut series = Series::new(&mut w.staged, order);
        let arguments: Vec<SeriesId> =
            primals.into_iter().zip(moved).map(|(x, rest)| series.series(x, rest)).collect();
        let made = interpret(&step.program, &arguments, &mut series)?;
        let mut written = Vec::new();
        for (own, moving) in [(0..states, &moving_states), (states..count, &outputs)] {
            written.extend(own.map(|k| *series.value(made[k])));
            for &k in moving {
                let ty = step.program.ty(step.program.outputs()[k].term).clone();
                for c in series.coefficients(made[k])? {
                    written.push(or_zero(series.a, c, &ty)?);
                }
            }
        }
        let step = w.finish(
            written,
            states + order * moving_states.len(),
            inputs + order * elements.len(),
        )?;
        Ok(Moving { step, states: moving_states, elements, captures, outputs })
    }

    /// The values of some arguments, then the coefficients of those that move, by number from a first.
    fn spread(
        &mut self,
        xs: &[SeriesId],
        first: usize,
        moving: &[usize],
        types: &[Type],
    ) -> Result<Vec<A::T>> {
        let mut all = self.values(xs);
        for &k in moving {
            for c in self.coefficients(xs[k - first])? {
                all.push(or_zero(self.a, c, &types[k - first])?);
            }
        }
        Ok(all)
    }

    /// The results of a loop: states, their coefficients, outputs, and theirs.
    fn gathered(&mut self, step: &Step, of: &Moving, made: Vec<A::T>) -> Vec<SeriesId> {
        let mut made = made.into_iter();
        let mut results = Vec::with_capacity(step.program.outputs().len());
        let states = 0..step.states;
        let outputs = step.states..step.program.outputs().len();
        for (own, moving) in [(states, &of.states), (outputs, &of.outputs)] {
            let values: Vec<A::T> = made.by_ref().take(own.len()).collect();
            for (k, value) in own.zip(values) {
                let coefficients = match moving.contains(&k) {
                    true => made.by_ref().take(self.order).map(Some).collect(),
                    false => Vec::new(),
                };
                results.push(self.series(value, coefficients));
            }
        }
        results
    }

    pub(super) fn series_loop(&mut self, m: &Loop<SeriesId>) -> Result<Vec<SeriesId>> {
        let step = &m.step;
        let (states, inputs) = (step.states, step.inputs);
        let arguments = || m.init.iter().chain(&m.inputs).chain(&m.captures);
        let start: Vec<bool> = arguments().map(|&x| self.moves(x)).collect();
        let types: Vec<Type> = arguments().map(|&x| self.ty(&x)).collect();
        let of = self.moving(step, &start)?;
        let init = self.spread(&m.init, 0, &of.states, &types)?;
        let elements = self.spread(&m.inputs, states, &of.elements, &types[states..])?;
        let outside = states + inputs;
        let captures = self.spread(&m.captures, outside, &of.captures, &types[outside..])?;
        let made = self.a.map_accum(&Loop {
            length: m.length,
            reverse: m.reverse,
            init,
            inputs: elements,
            captures,
            step: of.step.clone(),
        })?;
        Ok(self.gathered(step, &of, made))
    }

    pub(super) fn series_while(&mut self, w: &WhileLoop<SeriesId>) -> Result<Vec<SeriesId>> {
        let step = &w.step;
        let states = step.states;
        let arguments = || w.init.iter().chain(&w.captures);
        let start: Vec<bool> = arguments().map(|&x| self.moves(x)).collect();
        let types: Vec<Type> = arguments().map(|&x| self.ty(&x)).collect();
        let of = self.moving(step, &start)?;
        let init = self.spread(&w.init, 0, &of.states, &types)?;
        let captures = self.spread(&w.captures, states, &of.captures, &types[states..])?;
        let carried = of.step.states;
        let has: Vec<usize> = (0..states).chain(carried..carried + w.captures.len()).collect();
        let condition = condition_on(&input_types(&of.step), &w.condition, &has)?;
        let made = self.a.while_accum(&WhileLoop {
            bound: w.bound,
            init,
            captures,
            condition,
            step: of.step.clone(),
        })?;
        Ok(self.gathered(step, &of, made))
    }
}

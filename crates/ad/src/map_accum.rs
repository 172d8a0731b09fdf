//! Loops: the derivative of a `map_accum` is one, its transpose runs the other way.
//!
//! The primal saves the states that each step was given. With $s_{k+1}, y_k = f(s_k, x_k, c)$, the
//! forward derivative is the loop $ds_{k+1}, dy_k = J_f(s_k, x_k, c)\,(ds_k, dx_k, dc)$ over the
//! saved states, and its transpose the loop in the other direction
//! $\bar s_k, \bar x_k, \bar c \mathrel{+}= J_f(s_k, x_k, c)^\top (\bar s_{k+1}, \bar y_k)$.
//! Both steps are made here on demand, as programs, by the same rules as everything else; so nested
//! loops add up instead of multiplying.

use std::sync::Arc;

use cotan_ir::{Output, Result, TermId, Type};

use crate::activity::active_in_loop;
use crate::algebra::{Algebra, Loop, element, interpret};
use crate::binomial::{Rerun, transpose_again};
use crate::checkpoint::states_kept;
use crate::delta::{Delta, DeltaId, DeltaLoop, Deltas};
use crate::dual::{Dual, DualArray};
use crate::linear::Linear;
use crate::staged::Staged;
use crate::step::Step;
use crate::tangent::{Tangent, TangentArray};
use crate::transpose::reverse_pass_of_step;

impl<A: Algebra> Dual<'_, A> {
    /// `D[mapAccum]`: the primal with its states saved, and a Delta for the whole loop.
    pub(crate) fn dual_loop(&mut self, m: &Loop<DualArray<A>>) -> Result<Vec<DualArray<A>>> {
        let primal =
            |ts: &[DualArray<A>]| -> Vec<A::T> { ts.iter().map(|t| t.primal.clone()).collect() };
        let arguments = || m.init.iter().chain(&m.inputs).chain(&m.captures);
        let deltas: Vec<Option<DeltaId>> = arguments().map(|t| t.delta).collect();
        let mut arrays = Loop {
            length: m.length,
            reverse: m.reverse,
            init: primal(&m.init),
            inputs: primal(&m.inputs),
            captures: primal(&m.captures),
            step: m.step.clone(),
        };
        let start: Vec<bool> = deltas.iter().map(|d| d.is_some()).collect();
        let (active_inputs, active_outputs) = active_in_loop(&m.step, &start);
        if !active_outputs.contains(&true) {
            let results = self.a.map_accum(&arrays)?;
            return Ok(results.into_iter().map(|t| self.lift(t)).collect());
        }
        let linear = Arc::new(Linear::new(&m.step, &active_inputs)?);
        let saving = linear.saving_step()?;
        let Step { states, inputs, .. } = *m.step;
        let saved: Vec<&Type> =
            (m.step.outputs()..saving.outputs()).map(|n| saving.output_type(n)).collect();
        let types = input_types(&m.step);
        let count = states_kept(self.budget, m.length, &types[..states], &saved);
        let again = count.map(|count| {
            let Loop { init, inputs, captures, .. } = arrays.clone();
            Box::new(Rerun { init, inputs, captures, count })
        });
        if again.is_none() {
            arrays.step = saving.clone();
        }
        let mut results = self.a.map_accum(&arrays)?;
        let saved = results.split_off(m.step.program.outputs().len());
        let result_types: Vec<Type> = results.iter().map(|t| self.a.ty(t)).collect();
        let delta = Delta::MapAccum(Box::new(DeltaLoop {
            length: m.length,
            reverse: m.reverse,
            step: m.step.clone(),
            saved,
            inputs: linear.reads(states, &arrays.inputs).cloned().collect(),
            captures: linear.reads(states + inputs, &arrays.captures).cloned().collect(),
            linear,
            deltas,
            active_inputs,
            active_outputs: active_outputs.clone(),
            result_types,
            again,
        }));
        self.several(delta, results, &active_outputs)
    }
}

/// A step program being written: its inputs are declared as they come.
#[derive(Clone, Default)]
pub(crate) struct Writer {
    pub(crate) staged: Staged,
    count: usize,
}

impl Writer {
    pub(crate) fn input(&mut self, ty: &Type) -> Result<TermId> {
        self.count += 1;
        self.staged.b.input(format!("v{}", self.count), ty.clone())
    }

    pub(crate) fn inputs<'t>(
        &mut self,
        types: impl IntoIterator<Item = &'t Type>,
    ) -> Result<Vec<TermId>> {
        types.into_iter().map(|ty| self.input(ty)).collect()
    }

    /// The step at primals, some of which move, by number and tangent.
    fn moved(
        &mut self,
        step: &Step,
        primals: &[TermId],
        moved: &[(&[usize], Vec<TermId>)],
    ) -> Result<Vec<TangentArray<Staged>>> {
        let mut arguments: Vec<TangentArray<Staged>> =
            primals.iter().map(|&primal| TangentArray { primal, tangent: None }).collect();
        for (positions, tangents) in moved {
            for (&k, &t) in positions.iter().zip(tangents) {
                arguments[k].tangent = Some(t);
            }
        }
        interpret(&step.program, &arguments, &mut Tangent::new(&mut self.staged))
    }

    pub(crate) fn finish(
        self,
        outputs: Vec<TermId>,
        states: usize,
        inputs: usize,
    ) -> Result<Arc<Step>> {
        let outputs =
            outputs.into_iter().map(|term| Output { name: String::new(), term }).collect();
        Ok(Arc::new(Step { program: self.staged.b.finish(outputs)?, states, inputs }))
    }
}

/// The types of the step's inputs: states, elements, captures.
pub(crate) fn input_types(step: &Step) -> Vec<Type> {
    step.program.inputs().iter().map(|input| input.ty.clone()).collect()
}

/// A given array, or zeros.
pub(crate) fn or_zero<A: Algebra>(a: &mut A, t: Option<A::T>, ty: &Type) -> Result<A::T> {
    match t {
        Some(t) => Ok(t),
        None => a.number(0.0, ty),
    }
}

/// The positions at which a mark is set.
pub(crate) fn marked(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|&k| marks[k]).collect()
}

/// The cotangents of initial states, inputs and captures, from those of a loop's results.
pub(crate) fn transpose_loop<A: Algebra>(
    a: &mut A,
    m: &DeltaLoop<A>,
    results: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let step = &m.step;
    let (states, inputs) = (step.states, step.inputs);
    let types = input_types(step);
    let result = |k: usize| results.get(k).cloned().flatten();
    let active_states: Vec<usize> = marked(&m.active_inputs[..states]);
    let wanted = |k: &usize| m.active_inputs[*k] && m.deltas[*k].is_some();
    let active_elements: Vec<usize> = (states..states + inputs).filter(wanted).collect();
    let active_captures: Vec<usize> = (states + inputs..types.len()).filter(wanted).collect();
    let seeded: Vec<usize> = (states..step.program.outputs().len())
        .filter(|&k| m.active_outputs[k] && result(k).is_some())
        .collect();

    let mut init = Vec::new();
    for &k in &active_states {
        init.push(or_zero(a, result(k), &types[k])?);
    }
    for &k in &active_captures {
        init.push(a.number(0.0, &types[k])?);
    }
    let y_bars: Vec<A::T> = seeded.iter().filter_map(|&k| result(k)).collect();
    let seeded_types: Vec<Type> = seeded.iter().map(|&k| element(&m.result_types[k])).collect();
    let program = m.linear.transposed(&Transposed {
        states: &active_states,
        elements: &active_elements,
        captures: &active_captures,
        seeded: &seeded,
        seeded_types: &seeded_types,
    })?;
    let out = match &m.again {
        Some(again) => transpose_again(a, m, again, &program, init, y_bars)?,
        None => a.map_accum(&Loop {
            length: m.length,
            reverse: !m.reverse,
            init,
            inputs: m.saved.iter().chain(&m.inputs).cloned().chain(y_bars).collect(),
            captures: m.captures.clone(),
            step: program,
        })?,
    };
    let mut contributions: Vec<Option<A::T>> = vec![None; types.len()];
    let order = active_states.iter().chain(&active_captures).chain(&active_elements);
    for (&k, t) in order.zip(out) {
        contributions[k] = Some(t);
    }
    Ok(contributions)
}

/// A step to be transposed: which of its inputs and outputs take part, by number.
pub(crate) struct Transposed<'a> {
    /// The states with a cotangent.
    pub(crate) states: &'a [usize],
    /// The elements whose cotangents are wanted.
    pub(crate) elements: &'a [usize],
    /// The captures whose cotangents are wanted.
    pub(crate) captures: &'a [usize],
    /// The outputs with a cotangent, and their types.
    pub(crate) seeded: &'a [usize],
    pub(crate) seeded_types: &'a [Type],
}

impl Transposed<'_> {
    /// The cotangents `s_bar'`, `c_bar'` and `x_bar` of a step whose results are given with their
    /// derivatives, from `s_bar`, `c_bar` and `y_bar`.
    pub(crate) fn cotangents(
        &self,
        (results, deltas): (&[DualArray<Staged>], &Deltas<Staged>),
        (s_bar, c_bar, y_bar): (&[TermId], &[TermId], &[TermId]),
        types: &[Type],
        staged: &mut Staged,
    ) -> Result<Vec<TermId>> {
        let state_seeds = self.states.iter().zip(s_bar);
        let mut seeds = Vec::new();
        for (&k, &c) in state_seeds.chain(self.seeded.iter().zip(y_bar)) {
            if let Some(d) = results[k].delta {
                seeds.push((d, c));
            }
        }
        let gradient = reverse_pass_of_step(deltas, &seeds, types.len(), staged)?;
        let mut outputs = Vec::new();
        for &k in self.states {
            outputs.push(or_zero(staged, gradient[k], &types[k])?);
        }
        for (&k, &before) in self.captures.iter().zip(c_bar) {
            outputs.extend(staged.plus(Some(before), gradient[k])?);
        }
        for &k in self.elements {
            outputs.push(or_zero(staged, gradient[k], &types[k])?);
        }
        Ok(outputs)
    }
}

/// The tangents of a loop's results, from those of initial states, inputs and captures.
pub(crate) fn forward_loop<A: Algebra>(
    a: &mut A,
    m: &DeltaLoop<A>,
    tangents: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let step = &m.step;
    let (states, inputs) = (step.states, step.inputs);
    if let Some(again) = &m.again {
        return forward_again(a, m, again, tangents);
    }
    let types = input_types(step);
    let tangent = |k: usize| tangents.get(k).cloned().flatten();
    let active_states = marked(&m.active_inputs[..states]);
    let given = |k: &usize| tangent(*k).is_some();
    let elements: Vec<usize> = (states..states + inputs).filter(given).collect();
    let captures: Vec<usize> = (states + inputs..types.len()).filter(given).collect();
    let outputs: Vec<usize> =
        (states..step.program.outputs().len()).filter(|&k| m.active_outputs[k]).collect();

    let program = m.linear.forward(&active_states, &elements, &captures, &outputs)?;
    let mut init = Vec::new();
    for &k in &active_states {
        init.push(or_zero(a, tangent(k), &types[k])?);
    }
    let mut arrays: Vec<A::T> = m.saved.iter().chain(&m.inputs).cloned().collect();
    arrays.extend(elements.iter().filter_map(|&k| tangent(k)));
    let mut outside = m.captures.clone();
    outside.extend(captures.iter().filter_map(|&k| tangent(k)));
    let out = a.map_accum(&Loop {
        length: m.length,
        reverse: m.reverse,
        init,
        inputs: arrays,
        captures: outside,
        step: program,
    })?;
    let mut results = vec![None; step.program.outputs().len()];
    for (&k, t) in active_states.iter().chain(&outputs).zip(out) {
        results[k] = Some(t);
    }
    Ok(results)
}

/// The same of a loop of which nothing was saved: it is run again with its tangents.
fn forward_again<A: Algebra>(
    a: &mut A,
    m: &DeltaLoop<A>,
    again: &Rerun<A::T>,
    tangents: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let mut moved = tangents.iter().cloned().chain(std::iter::repeat(None));
    let mut with = |ts: &[A::T]| -> Vec<TangentArray<A>> {
        let pairs = ts.iter().cloned().zip(moved.by_ref());
        pairs.map(|(primal, tangent)| TangentArray { primal, tangent }).collect()
    };
    let (init, inputs) = (with(&again.init), with(&again.inputs));
    let captures = with(&again.captures);
    let (length, reverse, step) = (m.length, m.reverse, m.step.clone());
    let again = Loop { length, reverse, init, inputs, captures, step };
    let results = Tangent::new(a).tangent_loop(&again)?;
    Ok(results.into_iter().map(|result| result.tangent).collect())
}

/// `(s, ds; x, dx; c, dc) -> (s', ds'; y, dy)` for the states, elements, captures and outputs that
/// move, by number.
pub(crate) fn tangent_step(
    step: &Step,
    active_states: &[usize],
    elements: &[usize],
    captures: &[usize],
    outputs: &[usize],
) -> Result<Arc<Step>> {
    let (states, inputs) = (step.states, step.inputs);
    let types = input_types(step);
    let mut w = Writer::default();
    let mut primals = w.inputs(&types[..states])?;
    let ds = w.inputs(active_states.iter().map(|&k| &types[k]))?;
    primals.extend(w.inputs(&types[states..states + inputs])?);
    let dx = w.inputs(elements.iter().map(|&k| &types[k]))?;
    primals.extend(w.inputs(&types[states + inputs..])?);
    let dc = w.inputs(captures.iter().map(|&k| &types[k]))?;
    let moved = [(active_states, ds), (elements, dx), (captures, dc)];
    let made = w.moved(step, &primals, &moved)?;
    let staged = &mut w.staged;
    let mut written: Vec<TermId> = made[..states].iter().map(|t| t.primal).collect();
    for &k in active_states {
        written.push(or_zero(staged, made[k].tangent, &types[k])?);
    }
    written.extend(made[states..].iter().map(|t| t.primal));
    for &k in outputs {
        let ty = step.program.ty(step.program.outputs()[k].term).clone();
        written.push(or_zero(staged, made[k].tangent, &ty)?);
    }
    w.finish(written, states + active_states.len(), inputs + elements.len())
}

impl<A: Algebra> Tangent<'_, A> {
    /// One loop over states and their tangents.
    pub(crate) fn tangent_loop(
        &mut self,
        m: &Loop<TangentArray<A>>,
    ) -> Result<Vec<TangentArray<A>>> {
        let step = &m.step;
        let (states, inputs) = (step.states, step.inputs);
        let types = input_types(step);
        let arguments: Vec<&TangentArray<A>> =
            m.init.iter().chain(&m.inputs).chain(&m.captures).collect();
        let start: Vec<bool> = arguments.iter().map(|t| t.tangent.is_some()).collect();
        let (active_inputs, active_outputs) = active_in_loop(step, &start);
        let active_states = marked(&active_inputs[..states]);
        let elements: Vec<usize> = (states..states + inputs).filter(|&k| start[k]).collect();
        let captures: Vec<usize> = (states + inputs..types.len()).filter(|&k| start[k]).collect();
        let results = step.program.outputs().len();
        let outputs: Vec<usize> = (states..results).filter(|&k| active_outputs[k]).collect();

        let program = tangent_step(step, &active_states, &elements, &captures, &outputs)?;
        let carried = states + active_states.len();
        let mut init: Vec<A::T> = m.init.iter().map(|t| t.primal.clone()).collect();
        for &k in &active_states {
            init.push(or_zero(self.a, arguments[k].tangent.clone(), &types[k])?);
        }
        let with_tangents = |primals: &[TangentArray<A>], moved: &[usize]| -> Vec<A::T> {
            let tangents = moved.iter().filter_map(|&k| arguments[k].tangent.clone());
            primals.iter().map(|t| t.primal.clone()).chain(tangents).collect()
        };
        let mut out = self.a.map_accum(&Loop {
            length: m.length,
            reverse: m.reverse,
            init,
            inputs: with_tangents(&m.inputs, &elements),
            captures: with_tangents(&m.captures, &captures),
            step: program,
        })?;
        // s', ds', y, dy
        let mut dy = out.split_off(carried + results - states).into_iter();
        let ys = out.split_off(carried);
        let mut ds = out.split_off(states).into_iter();
        let all = out.into_iter().chain(ys).enumerate();
        Ok(all
            .map(|(k, primal)| {
                let tangent = match k < states {
                    true if active_inputs[k] => ds.next(),
                    false if active_outputs[k] => dy.next(),
                    _ => None,
                };
                TangentArray { primal, tangent }
            })
            .collect())
    }
}

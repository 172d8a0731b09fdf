//! Loops as long as a condition holds: the typing rule, and loops in chunks.

use cotan_array::Dtype;

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::extract::Extracted;
use crate::scalar::Op;
use crate::term::{Arena, Node, Param, Region, TermId, Type, While};
use crate::walk::Scopes;

/// The former's name in messages.
const OP: &str = "while_accum";

impl Builder {
    /// `while`; see [`While`]. Its results are read by [`Builder::result`].
    pub fn while_accum(&mut self, w: While) -> Result<TermId> {
        for &s in &w.init {
            self.operand(OP, s)?;
        }
        while_rule(self, &w).map_err(|error| self.at(error))?;
        let outputs = self.region(w.step).results().iter().skip(1 + w.init.len());
        for &y in outputs {
            self.join(OP, &[w.bound.unwrap_or(0)], self.shape(y).dims())?;
        }
        self.make(Node::While(Box::new(w)), Type::scalar(Dtype::F64))
    }

    /// The results of a bounded loop, run in chunks of `every` steps: a loop over chunks around a
    /// loop over steps.
    ///
    /// The values are the same. A derivative in reverse keeps the states at the start of every chunk
    /// and, one chunk at a time, those of its steps: of `bound` steps `bound / every + every` states
    /// instead of `bound`, for one more run of the steps. About the square root of `bound` is best.
    pub fn while_in_chunks(&mut self, w: &While, every: usize) -> Result<Vec<TermId>> {
        let Some(bound) = w.bound else {
            let hint = "give the loop a bound";
            let message = "a loop in chunks needs a bound";
            return Err(self.at(Error::type_error(OP, message).with_hint(hint)));
        };
        if every == 0 {
            return Err(self.at(Error::type_error(OP, "chunks of no steps")));
        }
        let scopes = Scopes::of_region(self, w.step);
        let step = Extracted::new(self, &scopes, w.step)?;
        let states = w.init.len();
        let chunks = bound.div_ceil(every);
        // The last chunk is shorter unless the sizes fit: count the steps.
        let counted = !bound.is_multiple_of(every);
        let mut init = w.init.to_vec();
        if counted {
            init.push(self.scalar(0i64)?);
        }
        let types: Vec<Type> = init.iter().map(|&s| self.ty(s).clone()).collect();
        let params: Vec<Param> = types.iter().cloned().map(Param::Value).collect();
        // Condition, next states and outputs of one step.
        let one_step = |b: &mut Builder, vars: &[TermId]| -> Result<Vec<TermId>> {
            let given: Vec<TermId> =
                vars.iter().take(states).chain(&step.captures).copied().collect();
            let mut results = b.inline(&step.program, &given)?;
            if let (true, Some(&count)) = (counted, vars.get(states)) {
                let limit = b.scalar(i64::try_from(bound).unwrap_or(i64::MAX))?;
                let below = b.op(Op::Lt, &[count, limit])?;
                let one = b.scalar(1i64)?;
                let next = b.op(Op::Add, &[count, one])?;
                if let Some(condition) = results.first_mut() {
                    *condition = b.op(Op::And, &[*condition, below])?;
                }
                results.insert(1 + states, next);
            }
            Ok(results)
        };
        let outer = self.lambda(&params, |b, vars| {
            let mut results = one_step(b, vars)?;
            results.truncate(1);
            let inner = b.lambda(&params, |b, vars| one_step(b, vars))?;
            let chunk =
                b.while_accum(While { bound: Some(every), init: vars.into(), step: inner })?;
            for n in 0..b.result_count(chunk).unwrap_or(0) {
                results.push(b.result(chunk, n)?);
            }
            Ok(results)
        })?;
        let all =
            self.while_accum(While { bound: Some(chunks), init: init.into(), step: outer })?;
        let mut results = Vec::new();
        for n in 0..self.result_count(all).unwrap_or(0) {
            let result = self.result(all, n)?;
            if n < states {
                results.push(result);
            } else if n >= types.len() {
                // [chunks, every, ..] to [bound, ..]
                let dims = self.shape(result).dims().get(2..).unwrap_or_default().to_vec();
                let flat = self.reshape(&[&[chunks * every], dims.as_slice()].concat(), result)?;
                results.push(match counted {
                    true => {
                        let first = self.index_function(&[bound], |_, is| Ok(is.to_vec()))?;
                        self.gather(flat, first)?
                    }
                    false => flat,
                });
            }
        }
        Ok(results)
    }
}

/// The typing rule: what is wrong, if anything.
fn while_rule(arena: &Arena, w: &While) -> Result<()> {
    let Region { params, results, .. } = arena.region(w.step);
    let states = w.init.len();
    let Some((&condition, results)) = results.split_first() else {
        return Err(Error::type_error(OP, "a step without a condition"));
    };
    if states == 0 {
        return Err(Error::type_error(OP, "a loop needs a state: nothing else changes"));
    }
    if params.len() != states || results.len() < states {
        let message = format!(
            "a step of {} parameters and {} results for {states} states",
            params.len(),
            results.len()
        );
        return Err(Error::type_error(OP, message));
    }
    if *arena.ty(condition) != Type::scalar(Dtype::Bool) {
        let message = format!("the condition must be a scalar bool, not {}", arena.ty(condition));
        return Err(Error::type_error(OP, message));
    }
    for (n, ((&s, &param), &next)) in w.init.iter().zip(params).zip(results).enumerate() {
        for (what, t) in [("parameter", param), ("next value", next)] {
            if arena.ty(t) != arena.ty(s) {
                let (s, t) = (arena.ty(s), arena.ty(t));
                let message = format!("state {n} starts as {s}, but its {what} in the step is {t}");
                let hint = "a state keeps its type from step to step";
                return Err(Error::type_error(OP, message).with_hint(hint));
            }
        }
    }
    if results.len() > states && w.bound.is_none() {
        let hint = "give it a bound, or make the outputs part of the state";
        let message = "the outputs of a loop without a bound have no size";
        return Err(Error::type_error(OP, message).with_hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::Shape;

    fn f64() -> Type {
        Type::scalar(Dtype::F64)
    }

    /// `s => (s < limit, s + s, outputs of s)` as a loop from `x`.
    fn doubling(b: &mut Builder, x: TermId, bound: Option<usize>, outputs: usize) -> Result<While> {
        let limit = b.scalar(100.0)?;
        let step = b.lambda(&[Param::Value(f64())], |b, s| {
            let condition = b.op(Op::Lt, &[s[0], limit])?;
            let next = b.op(Op::Add, &[s[0], s[0]])?;
            Ok([&[condition, next][..], &vec![s[0]; outputs]].concat())
        })?;
        Ok(While { bound, init: [x].into(), step })
    }

    #[test]
    fn results_are_states_and_stacked_outputs() {
        let mut b = Builder::new();
        let x = b.input("x", f64()).unwrap();
        let w = doubling(&mut b, x, Some(5), 1).unwrap();
        let t = b.while_accum(w).unwrap();
        let vector = Type::new(Dtype::F64, Shape::new("test", &[5]).unwrap());
        assert_eq!(b.result_types(t), Some(vec![f64(), vector]));
        let y = b.result(t, 1).unwrap();
        let program = b.finish_one(y).unwrap();
        assert_eq!(program.check(), Ok(()));
        assert_eq!(program, program.normalised().unwrap());
    }

    #[test]
    fn faults_are_named() {
        let mut b = Builder::new();
        let x = b.input("x", f64()).unwrap();
        let message = |made: Result<TermId>| made.unwrap_err().to_string();
        let unbounded = doubling(&mut b, x, None, 1).unwrap();
        assert!(message(b.while_accum(unbounded)).contains("no size"));
        let mut none = doubling(&mut b, x, None, 0).unwrap();
        none.init = [].into();
        assert!(message(b.while_accum(none)).contains("needs a state"));
        let mut other = doubling(&mut b, x, None, 0).unwrap();
        other.init = [b.scalar(1i64).unwrap()].into();
        assert!(message(b.while_accum(other)).contains("starts as i64"));
        let step = b.lambda(&[Param::Value(f64())], |_, s| Ok(vec![s[0], s[0]])).unwrap();
        let w = While { bound: None, init: [x].into(), step };
        assert!(message(b.while_accum(w)).contains("scalar bool, not f64"));
        let unbounded = doubling(&mut b, x, None, 0).unwrap();
        assert!(b.while_in_chunks(&unbounded, 2).unwrap_err().to_string().contains("bound"));
        let bounded = doubling(&mut b, x, Some(5), 0).unwrap();
        assert!(b.while_in_chunks(&bounded, 0).unwrap_err().to_string().contains("no steps"));
    }

    #[test]
    fn chunks_keep_the_types() {
        for every in [1, 2, 5, 7] {
            let mut b = Builder::new();
            let x = b.input("x", f64()).unwrap();
            let w = doubling(&mut b, x, Some(5), 2).unwrap();
            let whole = b.while_accum(w.clone()).unwrap();
            let results = b.while_in_chunks(&w, every).unwrap();
            let types: Vec<Type> = results.iter().map(|&t| b.ty(t).clone()).collect();
            assert_eq!(b.result_types(whole), Some(types), "chunks of {every}");
            let outputs = results.iter().map(|&term| crate::Output { name: String::new(), term });
            assert_eq!(b.finish(outputs.collect()).unwrap().check(), Ok(()));
        }
    }
}

//! Loops, and lambdas that are run for one position after the other.

use cotan_ir::scalar::Scalar;
use cotan_ir::{MapAccum, RegionId, Result, TermId, While};

use crate::emit::Emitter;
use crate::read::window_at;
use crate::value::{Ty, Val};
use crate::writer::Writer;

/// Loops of up to so many steps are written one step after the other.
const UNROLLED: usize = 4;

impl Emitter<'_> {
    /// A loop that carries values, counts from 0 and runs as long as `condition` holds.
    fn counted(
        &mut self,
        carried: &[Val],
        condition: impl FnOnce(&mut Self, &Val, &[Val]) -> Result<Val>,
        body: impl FnOnce(&mut Self, &Val, &[Val]) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let mut all = vec![self.w.index(0)];
        all.extend_from_slice(carried);
        let begun = self.w.begin_while(&all);
        let collecting = std::mem::replace(&mut self.collecting, false);
        let Some((counter, values)) = begun.inside.split_first() else { return Ok(Vec::new()) };
        let more = condition(self, counter, values)?;
        self.w.give(&[more]);
        self.w.turn("} do {");
        let one = self.w.index(1);
        let mut next = vec![self.w.binary("add", counter, &one)];
        next.extend(body(self, counter, values)?);
        self.w.give(&next);
        self.collecting = collecting;
        Ok(self.w.end_while(&begun).split_off(1))
    }

    /// A loop of a known number of steps.
    pub(crate) fn repeated(
        &mut self,
        length: usize,
        carried: &[Val],
        body: impl FnOnce(&mut Self, &Val, &[Val]) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let below = |e: &mut Self, counter: &Val, _: &[Val]| {
            let end = e.w.index(length);
            Ok(e.w.compare("LT", counter, &end))
        };
        self.counted(carried, below, body)
    }

    /// `mapAccum`
    pub(crate) fn map_accum(&mut self, t: TermId, m: &MapAccum) -> Result<Vec<Val>> {
        let (mut carried, inputs) = (self.values(&m.init)?, self.values(&m.inputs)?);
        let states = carried.len();
        carried.extend(self.room(t, states));
        if m.length == 0 {
            return Ok(carried);
        }
        if let Some(states) = self.folded(m)? {
            return Ok(states);
        }
        // Not within each other: that would be many steps again.
        if m.length <= UNROLLED && !self.unrolling {
            self.unrolling = true;
            let found = self.unrolled(m, &carried[..states], &inputs);
            self.unrolling = false;
            return found;
        }
        // Whether the matrix products of all steps are finite is one more state.
        let watched = self.collecting && self.multiplies(m.step);
        if watched {
            carried.push(self.w.fill(Scalar::Bool(true), &[]));
        }
        let mut found = self.repeated(m.length, &carried, |e, counter, values| {
            let at = match m.reverse {
                true => {
                    let last = e.w.index(m.length - 1);
                    e.w.binary("subtract", &last, counter)
                }
                false => counter.clone(),
            };
            let (values, finite) = values.split_at(values.len() - usize::from(watched));
            let (now, outputs) = values.split_at(states);
            let mut args = now.to_vec();
            args.extend(inputs.iter().map(|x| row(&mut e.w, x, &at)));
            e.collecting = watched;
            let outside = std::mem::take(&mut e.finite);
            let results = e.call(m.step, &args, e.program.region(m.step).results())?;
            let inside = std::mem::replace(&mut e.finite, outside);
            e.collecting = false;
            let mut all = with_rows(&mut e.w, &results, states, outputs, &at);
            let both = |finite: &Val| {
                inside.iter().fold(finite.clone(), |all, one| e.w.binary("and", &all, one))
            };
            all.extend(finite.first().map(both));
            Ok(all)
        })?;
        if watched {
            self.finite.extend(found.pop());
        }
        Ok(found)
    }

    /// A loop of few steps, one after the other: compilers see through that, not through loops.
    fn unrolled(&mut self, m: &MapAccum, init: &[Val], inputs: &[Val]) -> Result<Vec<Val>> {
        let results = self.program.region(m.step).results();
        let mut states = init.to_vec();
        let mut rows: Vec<Vec<Val>> = vec![Vec::new(); results.len() - states.len()];
        for step in 0..m.length {
            let at = if m.reverse { m.length - 1 - step } else { step };
            let mut args = states.clone();
            args.extend(inputs.iter().map(|x| self.w.row(x, at)));
            let found = self.call(m.step, &args, results)?;
            let (next, outputs) = found.split_at(states.len());
            states = next.to_vec();
            for (all, y) in rows.iter_mut().zip(outputs) {
                let one = [&[1], y.ty.dims.as_slice()].concat();
                all.push(self.w.reshape(y, &one));
            }
        }
        for mut all in rows {
            if m.reverse {
                all.reverse();
            }
            states.push(self.w.concatenate(&all, 0));
        }
        Ok(states)
    }

    /// Whether there are matrix products in a lambda that have to be looked through.
    fn multiplies(&self, r: RegionId) -> bool {
        let order = self.scopes.region(r).order();
        order.iter().any(|t| self.contractions.has(t))
    }

    /// `while`: the condition in one block, the step in the other, each with what it needs.
    pub(crate) fn while_accum(&mut self, t: TermId, w: &While) -> Result<Vec<Val>> {
        let mut carried = self.values(&w.init)?;
        let states = carried.len();
        carried.extend(self.room(t, states));
        let results = self.program.region(w.step).results();
        let Some((&condition, results)) = results.split_first() else { return Ok(carried) };
        if w.bound == Some(0) {
            return Ok(carried);
        }
        let condition = |e: &mut Self, counter: &Val, values: &[Val]| {
            let mut holds = e.call(w.step, &values[..states], &[condition])?.remove(0);
            if let Some(bound) = w.bound {
                let end = e.w.index(bound);
                let below = e.w.compare("LT", counter, &end);
                holds = e.w.binary("and", &below, &holds);
            }
            Ok(holds)
        };
        self.counted(&carried, condition, |e, counter, values| {
            let (now, outputs) = values.split_at(states);
            let results = e.call(w.step, now, results)?;
            Ok(with_rows(&mut e.w, &results, states, outputs, counter))
        })
    }

    /// Zeros for the outputs of a loop, which come after its states.
    fn room(&mut self, t: TermId, states: usize) -> Vec<Val> {
        let types = self.program.result_types(t).unwrap_or_default();
        types[states..].iter().map(|ty| self.w.zeros(&Ty::from(ty))).collect()
    }

    /// Results of a lambda of indices at all positions, run one after the other: what bulk operations
    /// do not cover, such as a `build` or a sum inside of an index function.
    pub(crate) fn tabulated(
        &mut self,
        r: RegionId,
        sizes: &[usize],
        results: &[TermId],
    ) -> Result<Vec<Val>> {
        let count: usize = sizes.iter().product();
        let shape = |t: &TermId, sizes: &[usize]| {
            let inner = Ty::from(self.program.ty(*t));
            inner.with_dims(&[sizes, &inner.dims].concat())
        };
        let types: Vec<(Ty, Ty)> =
            results.iter().map(|t| (shape(t, &[count]), shape(t, sizes))).collect();
        if count == 0 {
            return Ok(types.iter().map(|(_, ty)| self.w.zeros(ty)).collect());
        }
        let room: Vec<Val> = types.iter().map(|(flat, _)| self.w.zeros(flat)).collect();
        let found = self.repeated(count, &room, |e, counter, outputs| {
            let at = unravelled(&mut e.w, counter, sizes);
            let found = e.call(r, &at, results)?;
            Ok(with_rows(&mut e.w, &found, 0, outputs, counter))
        })?;
        let pairs = found.iter().zip(&types);
        Ok(pairs.map(|(v, (_, ty))| self.w.reshape(v, &ty.dims)).collect())
    }
}

/// The next states, then the outputs with the new rows in their places.
fn with_rows(
    w: &mut Writer,
    results: &[Val],
    states: usize,
    outputs: &[Val],
    at: &Val,
) -> Vec<Val> {
    let (next, rows) = results.split_at(states);
    let mut all = next.to_vec();
    for (y, out) in rows.iter().zip(outputs) {
        all.push(with_row(w, out, y, at));
    }
    all
}

/// `x[at]`, which is in range.
fn row(w: &mut Writer, x: &Val, at: &Val) -> Val {
    let ty = x.ty.with_dims(&x.ty.dims[1..]);
    if ty.is_empty() {
        return w.zeros(&ty);
    }
    let (starts, sizes) = window_at(w, std::slice::from_ref(at), &x.ty.dims);
    let part = w.dynamic_slice(x, &starts, &sizes);
    w.reshape(&part, &ty.dims)
}

/// `out` with `y` at position `at`, which is in range.
fn with_row(w: &mut Writer, out: &Val, y: &Val, at: &Val) -> Val {
    if out.ty.is_empty() {
        return out.clone();
    }
    let (starts, sizes) = window_at(w, std::slice::from_ref(at), &out.ty.dims);
    let part = w.reshape(y, &sizes);
    w.dynamic_update_slice(out, &part, &starts)
}

/// The index of a position in row-major order.
fn unravelled(w: &mut Writer, position: &Val, sizes: &[usize]) -> Vec<Val> {
    let (mut rest, mut index) = (position.clone(), Vec::new());
    for &k in sizes.iter().rev() {
        let k = w.index(k);
        index.push(w.binary("remainder", &rest, &k));
        rest = w.binary("divide", &rest, &k);
    }
    index.reverse();
    index
}

//! The reverse pass (Figs. ad-array-eval, restaging-eval): transposing a Delta.
//!
//! One loop from the highest id down. Every term sends its cotangent to its operands, which have
//! lower ids, so each is complete when its turn comes. Written over the algebra, the loop computes
//! concrete gradients and emits gradient programs alike; a cotangent that is zero is never made.
//!
//! The figure transposes each `Index` to a `oneHot` of the whole array. Many reads of one array would
//! make gradients quadratic, so reads are kept until it is the array's turn: a few become one-hots,
//! more become one scatter of all their cotangents.

use cotan_ir::provenance::{Pass, made_by};
use cotan_ir::scalar::Op;
use cotan_ir::{Error, Result};

use rustc_hash::FxHashMap;

use crate::algebra::Algebra;
use crate::delta::{Delta, DeltaId, Deltas};
use crate::guard::{Guard, Guarded, Guards};
use crate::map_accum::transpose_loop;
use crate::routine::transposed_routine;
use crate::while_transpose::transpose_while;

/// A read of an array: index and cotangent, a guarded one perhaps.
type Read<T, C> = (Box<[T]>, C);

/// Cotangents as they come together.
struct Cotangents<T> {
    /// One for each term, none while zero.
    accum: Vec<Option<Guarded<T>>>,
    /// For each result of a loop.
    results: FxHashMap<DeltaId, Vec<Option<Guarded<T>>>>,
    /// The reads of each term whose cotangents are not in `accum` yet: index and cotangent.
    reads: FxHashMap<DeltaId, Vec<Read<T, Guarded<T>>>>,
    guards: Guards<T>,
    /// From how many reads of an array on they are transposed to one scatter.
    many_reads: usize,
    /// The guard of what is being transposed.
    guard: Guard,
}

/// From how many reads of an array on they are transposed to one scatter.
const MANY_READS: usize = 4;

/// The same in a step of a loop, where a few single places of a large array are changed where it lies,
/// while a scatter has to be added to all of it.
const MANY_READS_IN_STEP: usize = 12;

/// An array with no more places than this for each read is gone through anyway when its cotangent is
/// made, in a step of a loop, too.
const PLACES_PER_READ: usize = 4;

impl<T: Clone> Cotangents<T> {
    fn add<A: Algebra<T = T>>(&mut self, a: &mut A, d: DeltaId, c: T) -> Result<()> {
        let before = self.accum[d.index()].take();
        let more = Guarded { c, guard: self.guard };
        self.accum[d.index()] = self.guards.plus(a, before, more)?;
        Ok(())
    }

    /// The cotangent of a term, complete.
    fn take<A: Algebra<T = T>>(
        &mut self,
        a: &mut A,
        d: DeltaId,
        dims: &[usize],
    ) -> Result<Option<Guarded<T>>> {
        let mut reads = self.reads.remove(&d).unwrap_or_default();
        // Reads with indices of one length are of one kind.
        reads.sort_by_key(|(ix, _)| ix.len());
        for reads in reads.chunk_by(|(ix, _), (jx, _)| ix.len() == jx.len()) {
            let rank = reads.first().map_or(0, |(ix, _)| ix.len());
            let places = dims[..rank].iter().fold(1usize, |n, &k| n.saturating_mul(k));
            if rank > 0 && self.are_scattered(reads.len(), places) {
                self.guard = self.common(reads.iter().map(|(_, read)| read));
                let mut plain = Vec::with_capacity(reads.len());
                for (ix, read) in reads {
                    plain.push((ix.clone(), self.guards.under(a, read.clone(), self.guard)?));
                }
                let c = scatter_reads(a, &dims[..rank], &plain)?;
                self.add(a, d, c)?;
            } else {
                for (ix, read) in reads {
                    let c = a.one_hot(&dims[..rank], &read.c, ix)?;
                    self.guard = read.guard;
                    self.add(a, d, c)?;
                }
            }
        }
        Ok(self.accum[d.index()].take())
    }

    /// Whether so many reads of an array of so many places are transposed to one scatter.
    fn are_scattered(&self, reads: usize, places: usize) -> bool {
        let covered = places <= reads.saturating_mul(PLACES_PER_READ);
        reads >= self.many_reads || covered && reads >= MANY_READS
    }

    /// The conditions that all have in common.
    fn common<'t>(&self, all: impl Iterator<Item = &'t Guarded<T>>) -> Guard
    where
        T: 't,
    {
        let guards = all.map(|guarded| guarded.guard);
        guards.reduce(|x, y| self.guards.common(x, y)).unwrap_or(Guard::NONE)
    }

    /// The cotangents of a loop's results, complete; what it sends on has their guard.
    fn take_results<A: Algebra<T = T>>(&mut self, a: &mut A, d: DeltaId) -> Result<Vec<Option<T>>> {
        let results = self.results.remove(&d).unwrap_or_default();
        self.guard = self.common(results.iter().flatten());
        let under =
            |c: Option<Guarded<T>>| c.map(|c| self.guards.under(a, c, self.guard)).transpose();
        results.into_iter().map(under).collect()
    }
}

/// The transpose of several reads of one array, with indices as long as `outer`.
fn scatter_reads<A: Algebra>(
    a: &mut A,
    outer: &[usize],
    reads: &[Read<A::T, A::T>],
) -> Result<A::T> {
    let cotangents: Vec<A::T> = reads.iter().map(|(_, c)| c.clone()).collect();
    let mut tables = Vec::with_capacity(outer.len());
    for n in 0..outer.len() {
        let component: Vec<A::T> = reads.iter().map(|(ix, _)| ix[n].clone()).collect();
        tables.push(a.stack(&component)?);
    }
    let f = a.index_table(&tables)?;
    let all = a.stack(&cotangents)?;
    a.scatter(outer, &all, &f)
}

/// `reversePass`: the gradient by each input, none where it is zero, from cotangents of some terms.
pub fn reverse_pass<A: Algebra>(
    deltas: &Deltas<A>,
    seeds: &[(DeltaId, A::T)],
    inputs: usize,
    a: &mut A,
) -> Result<Vec<Option<A::T>>> {
    reverse_pass_to_scatters(deltas, seeds, inputs, a, MANY_READS)
}

/// The same for the step of a loop.
pub(crate) fn reverse_pass_of_step<A: Algebra>(
    deltas: &Deltas<A>,
    seeds: &[(DeltaId, A::T)],
    inputs: usize,
    a: &mut A,
) -> Result<Vec<Option<A::T>>> {
    reverse_pass_to_scatters(deltas, seeds, inputs, a, MANY_READS_IN_STEP)
}

fn reverse_pass_to_scatters<A: Algebra>(
    deltas: &Deltas<A>,
    seeds: &[(DeltaId, A::T)],
    inputs: usize,
    a: &mut A,
    many_reads: usize,
) -> Result<Vec<Option<A::T>>> {
    let mut gradient: Vec<Option<A::T>> = vec![None; inputs];
    let mut state = Cotangents {
        accum: vec![None; deltas.len()],
        results: FxHashMap::default(),
        reads: FxHashMap::default(),
        guards: Guards::new(deltas.has_loops()),
        many_reads,
        guard: Guard::NONE,
    };
    for (d, c) in seeds {
        state.add(a, *d, c.clone())?;
    }
    for d in deltas.ids().rev() {
        a.at(made_by(Pass::Reverse, deltas.span(d)));
        let operands = match deltas.get(d) {
            Delta::MapAccum(m) => Some(&m.deltas),
            Delta::While(w) => Some(&w.deltas),
            Delta::Custom(c) => Some(&c.deltas),
            _ => None,
        };
        if let Some(operands) = operands {
            let results = state.take_results(a, d)?;
            if results.iter().any(|c| c.is_some()) {
                let contributions = match deltas.get(d) {
                    Delta::Custom(c) => c.transpose(a, &results)?,
                    Delta::MapAccum(m) => transpose_loop(a, m, &results)?,
                    Delta::While(w) => transpose_while(a, w, &results)?,
                    _ => Vec::new(),
                };
                for (operand, c) in operands.iter().zip(contributions) {
                    if let (Some(operand), Some(c)) = (operand, c) {
                        state.add(a, *operand, c)?;
                    }
                }
            }
            continue;
        }
        let taken = state.take(a, d, deltas.ty(d).shape.dims())?;
        let Some(Guarded { c, guard }) = taken else { continue };
        state.guard = guard;
        eval(deltas, d, c, &mut gradient, &mut state, a)?;
    }
    Ok(gradient)
}

/// `eval c d`: the transpose of each constructor, in the figure's order, then ours.
fn eval<A: Algebra>(
    deltas: &Deltas<A>,
    d: DeltaId,
    c: A::T,
    gradient: &mut [Option<A::T>],
    state: &mut Cotangents<A::T>,
    a: &mut A,
) -> Result<()> {
    let dims = |d: DeltaId| deltas.ty(d).shape.dims();
    match deltas.get(d) {
        // eval c (Input v)          adds c to the gradient by v
        Delta::Input(k) => match gradient.get_mut(*k) {
            Some(slot) => {
                let before = slot.take();
                let c = Guarded { c, guard: state.guard };
                let c = state.guards.under(a, c, Guard::NONE)?;
                *slot = a.plus(before, Some(c))?;
                Ok(())
            }
            None => Err(Error::internal(format!("no input {k}"))),
        },
        // eval c (Add d1 d2)        = eval c d2 . eval c d1
        Delta::Add(d1, d2) => {
            state.add(a, *d1, c.clone())?;
            state.add(a, *d2, c)
        }
        // eval c (Scale arr d)      = eval (c * arr) d, a zero of c annihilating
        Delta::Scale(factor, d) => {
            let c = a.scale(&c, factor)?;
            state.add(a, *d, c)
        }
        // eval c (StrongScale arr d) = eval (c * arr) d, a zero of either annihilating
        Delta::StrongScale(factor, d) => {
            let c = a.strong_scale(&c, factor)?;
            state.add(a, *d, c)
        }
        // eval c (Index d ix)       = eval (oneHot (shapeDelta d) ix c) d
        Delta::Index(d, ix) => {
            let read = (ix.clone(), Guarded { c, guard: state.guard });
            state.reads.entry(*d).or_default().push(read);
            Ok(())
        }
        // eval c (SumOuter d)       = eval (replicate (head (shapeDelta d)) c) d
        Delta::SumOuter(d) => {
            let c = a.replicate(dims(*d)[0], &c)?;
            state.add(a, *d, c)
        }
        // eval c (Gather d f)       = eval (scatter (shapeDelta d) c f) d
        Delta::Gather(d, f) => {
            let rank = a.index_rank(f);
            let c = a.scatter(&dims(*d)[..rank], &c, f)?;
            state.add(a, *d, c)
        }
        // eval c (Scatter d f)      = eval (gather (shapeDelta d) c f) d
        Delta::Scatter(_, d, f) => {
            let c = a.gather(&c, f)?;
            state.add(a, *d, c)
        }
        // eval c (LitArray ds)      = .. . eval (index c [1]) d1 . eval (index c [0]) d0
        Delta::LitArray(ds) => {
            for (n, operand) in ds.iter().enumerate() {
                if let Some(operand) = operand {
                    let at = a.constant(&cotan_array::Array::scalar(n as i64))?;
                    let part = a.index(&c, &[at])?;
                    state.add(a, *operand, part)?;
                }
            }
            Ok(())
        }
        // eval c (Replicate d)      = eval (sumOuter c) d
        Delta::Replicate(_, d) => {
            let c = a.sum_outer(&c)?;
            state.add(a, *d, c)
        }
        // eval c (Transpose js d)   = eval (tr (inversePermutation js) c) d
        Delta::Transpose(perm, d) => {
            let mut inverse = vec![0; perm.len()];
            for (n, &p) in perm.iter().enumerate() {
                inverse[p] = n;
            }
            let c = a.transpose(&inverse, &c)?;
            state.add(a, *d, c)
        }
        // eval c (Reshape d)        = eval (reshape (shapeDelta d) c) d
        Delta::Reshape(d) => {
            let c = a.reshape(dims(*d), &c)?;
            state.add(a, *d, c)
        }
        // eval c (Cast d)           = eval (c as the element type of d) d
        Delta::Cast(d) => {
            let back = match deltas.ty(*d).dtype {
                cotan_array::Dtype::F32 => Op::ToF32,
                _ => Op::ToF64,
            };
            let c = a.op(back, &[c])?;
            state.add(a, *d, c)
        }
        // eval c (Select b d1 d2)   = eval (where b c 0) d1, eval (where b 0 c) d2
        Delta::Select(b, d1, d2) => {
            let zero = a.number(0.0, deltas.ty(d))?;
            if let Some(d1) = d1 {
                let part = a.op(Op::Select, &[b.clone(), c.clone(), zero.clone()])?;
                state.add(a, *d1, part)?;
            }
            if let Some(d2) = d2 {
                let part = a.op(Op::Select, &[b.clone(), zero, c])?;
                state.add(a, *d2, part)?;
            }
            Ok(())
        }
        // eval c (Cond b d1 d2)     = eval (cond b c 0) d1, eval (cond b 0 c) d2
        Delta::Cond(b, d1, d2) => {
            let zero = a.number(0.0, deltas.ty(d))?;
            let outer = state.guard;
            if let Some(d1) = d1 {
                let part = a.cond(b, &c, &zero)?;
                state.guard = state.guards.with(a, outer, b, true);
                state.add(a, *d1, part)?;
            }
            if let Some(d2) = d2 {
                let part = a.cond(b, &zero, &c)?;
                state.guard = state.guards.with(a, outer, b, false);
                state.add(a, *d2, part)?;
            }
            Ok(())
        }
        // eval c (OneHot sh d ix)   = eval (index c ix) d
        Delta::OneHot(place, d) => {
            let c = a.index(&c, &place.1)?;
            state.add(a, *d, c)
        }
        // eval c (Routine r fixed d) = eval (r' fixed' c) d, where r' fixed' is the transpose
        Delta::Routine(of, d) => {
            let (routine, fixed) = &**of;
            let c = transposed_routine(a, *routine, fixed, c)?;
            state.add(a, *d, c)
        }
        // eval c (Result n d)       adds c to the n-th cotangent of the loop
        Delta::Result(loop_, n) => {
            let slots = state.results.entry(*loop_).or_default();
            if slots.len() <= *n {
                slots.resize(*n + 1, None);
            }
            let before = slots[*n].take();
            let more = Guarded { c, guard: state.guard };
            slots[*n] = state.guards.plus(a, before, more)?;
            Ok(())
        }
        Delta::MapAccum(_) | Delta::While(_) | Delta::Custom(_) => {
            Err(Error::internal("a term with several results is transposed as a whole"))
        }
    }
}

//! Values of a function that runs eagerly.
//!
//! The function is staged in *pieces*. When a value is asked for, the piece ends: it becomes a
//! program of bulk operations and is interpreted into dual arrays of values; the arrays that were
//! handed out are known from then on, and are inputs of the pieces that use them. So eager code is
//! staged code with short programs, and means the same.
//!
//! A function that is differentiated inside one that runs eagerly is a stage on top of it. It may
//! use the outer arrays; when it ends, its pieces in a row are the program of what it did, which is
//! differentiated like any other.

use std::rc::Rc;

use cotan_ad::{Deltas, Dual, DualArray, Eager, forward_pass, interpret, reverse_pass};
use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::{Builder, Output, Program, TermId, Type};
use cotan_pipeline::{Pass, Pipeline};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Raw, STAGES, Stage};
use crate::error::{Error, ErrorKind, Result};

/// A known array: its position in [`Values::known`].
type Id = usize;

/// What is known of a function that runs eagerly.
pub(super) struct Values {
    /// Whether it runs inside another, to be differentiated there.
    nested: bool,
    engine: Eager,
    deltas: Deltas<Eager>,
    known: Vec<DualArray<Eager>>,
    /// Which arrays of earlier pieces are known as what.
    ids: FxHashMap<(u32, TermId), Id>,
    /// The number of arguments: the first arrays that are known.
    arguments: usize,
    /// The arrays of outer stages that are used.
    captures: Vec<(Raw, Id)>,
    captured: FxHashMap<Raw, Id>,
    pieces: Vec<Piece>,
    // The piece at hand:
    inputs: Vec<Id>,
    input_terms: FxHashMap<Id, TermId>,
    handed_out: Vec<TermId>,
    seen: FxHashSet<TermId>,
}

/// A piece that has run.
struct Piece {
    program: Program,
    inputs: Vec<Id>,
    outputs: Vec<Id>,
}

/// The end of an eager run.
pub(crate) struct Finished {
    engine: Eager,
    deltas: Deltas<Eager>,
    results: Vec<DualArray<Eager>>,
    arguments: Vec<DualArray<Eager>>,
}

impl Values {
    /// Of a function with these arguments, of which `wrt` are differentiated by.
    pub(super) fn outermost(arguments: &[Array], wrt: &[usize]) -> Values {
        let mut values = Values::new(false);
        let mut dual = Dual::new(&mut values.engine);
        for (k, array) in arguments.iter().enumerate() {
            let value = Rc::new(Value::from(array));
            let known = if wrt.contains(&k) { dual.input(k, value) } else { dual.lift(value) };
            values.known.push(known);
        }
        values.deltas = dual.deltas;
        values.arguments = arguments.len();
        values
    }

    /// Of a function inside another, with these arguments.
    pub(super) fn nested(arguments: Vec<Rc<Value>>) -> Values {
        let mut values = Values::new(true);
        values.arguments = arguments.len();
        values.known =
            arguments.into_iter().map(|primal| DualArray { primal, delta: None }).collect();
        values
    }

    fn new(nested: bool) -> Values {
        Values {
            nested,
            engine: Eager::default(),
            deltas: Deltas::default(),
            known: Vec::new(),
            ids: FxHashMap::default(),
            arguments: 0,
            captures: Vec::new(),
            captured: FxHashMap::default(),
            pieces: Vec::new(),
            inputs: Vec::new(),
            input_terms: FxHashMap::default(),
            handed_out: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// The number of the piece at hand.
    pub(super) fn piece(&self) -> u32 {
        self.pieces.len() as u32
    }

    /// Notes that the function holds a handle to a term, and may use it in a later piece.
    pub(super) fn hand_out(&mut self, t: TermId) {
        if self.seen.insert(t) {
            self.handed_out.push(t);
        }
    }

    fn id(&self, raw: Raw) -> Option<Id> {
        self.ids.get(&(raw.piece, raw.term?)).copied()
    }

    pub(super) fn type_of(&self, raw: Raw) -> Option<Type> {
        Some(self.known.get(self.id(raw)?)?.primal.ty().clone())
    }

    /// The input of the piece at hand that stands for an array of an earlier one.
    pub(super) fn input(&mut self, b: &mut Builder, raw: Raw) -> Result<TermId> {
        let id = self.id(raw).ok_or_else(|| Error::internal("an array of a lost piece"))?;
        self.input_of(b, id)
    }

    fn input_of(&mut self, b: &mut Builder, id: Id) -> Result<TermId> {
        if let Some(&t) = self.input_terms.get(&id) {
            return Ok(t);
        }
        let known = self.known.get(id).ok_or_else(|| Error::internal("an unknown array"))?;
        let t = b.input(format!("v{id}"), known.primal.ty().clone())?;
        self.inputs.push(id);
        self.input_terms.insert(id, t);
        Ok(t)
    }

    /// The results of a run.
    pub(super) fn finished(mut self, results: &[Id]) -> Finished {
        let results = results.iter().filter_map(|&id| self.known.get(id).cloned()).collect();
        self.known.truncate(self.arguments);
        Finished { engine: self.engine, deltas: self.deltas, results, arguments: self.known }
    }

    /// All pieces as one program, and what it captures.
    pub(super) fn traced(self, arguments: usize, results: &[Id]) -> Result<(Program, Vec<Raw>)> {
        let mut b = Builder::new();
        let mut terms: FxHashMap<Id, TermId> = FxHashMap::default();
        let captured = self.captures.iter().map(|&(_, id)| id);
        for (n, id) in (0..arguments).chain(captured).enumerate() {
            let Some(known) = self.known.get(id) else { continue };
            terms.insert(id, b.input(format!("x{n}"), known.primal.ty().clone())?);
        }
        let term = |terms: &FxHashMap<Id, TermId>, id: &Id| {
            terms.get(id).copied().ok_or_else(|| Error::internal("an unknown array"))
        };
        for piece in &self.pieces {
            let at: Result<Vec<TermId>> = piece.inputs.iter().map(|id| term(&terms, id)).collect();
            let made = b.inline(&piece.program, &at?)?;
            terms.extend(piece.outputs.iter().copied().zip(made));
        }
        let mut outputs = Vec::with_capacity(results.len());
        for id in results {
            outputs.push(Output { name: String::new(), term: term(&terms, id)? });
        }
        Ok((b.finish(outputs)?, self.captures.into_iter().map(|(raw, _)| raw).collect()))
    }
}

impl Stage {
    /// Handles to the arguments.
    pub(super) fn given(&mut self) -> Vec<Raw> {
        let Some(values) = &mut self.values else { return Vec::new() };
        let mut raws = Vec::with_capacity(values.arguments);
        for id in 0..values.arguments {
            // The first piece has only just begun: inputs cannot fail to be declared.
            if let Ok(t) = values.input_of(&mut self.b, id) {
                raws.push(t);
            }
        }
        raws.into_iter().map(|t| self.raw(t)).collect()
    }

    /// Ends the piece at hand and runs it. Gives the known arrays of `terms`.
    pub(super) fn finish_piece(&mut self, terms: &[TermId]) -> Result<Vec<Id>> {
        let Some(values) = &mut self.values else {
            return Err(Error::internal("this function does not run eagerly"));
        };
        terms.iter().for_each(|&t| values.hand_out(t));
        let b = std::mem::take(&mut self.b);
        let handed_out = std::mem::take(&mut values.handed_out);
        values.seen.clear();
        let outputs = handed_out.iter().map(|&term| Output { name: String::new(), term });
        let program = b.finish(outputs.collect())?;
        let bulk = Pipeline::new(&[Pass::BULK]).run(&program)?;

        let inputs = std::mem::take(&mut values.inputs);
        values.input_terms.clear();
        let arguments: Vec<DualArray<Eager>> =
            inputs.iter().filter_map(|&id| values.known.get(id).cloned()).collect();
        let mut dual = Dual::new(&mut values.engine);
        dual.deltas = std::mem::take(&mut values.deltas);
        let ran = interpret(&bulk, &arguments, &mut dual);
        values.deltas = std::mem::take(&mut dual.deltas);

        let piece = values.piece();
        let mut ids = Vec::with_capacity(handed_out.len());
        for (&t, array) in handed_out.iter().zip(ran?) {
            ids.push(values.known.len());
            values.ids.insert((piece, t), values.known.len());
            values.known.push(array);
        }
        values.pieces.push(Piece { program, inputs, outputs: ids });
        let wanted = terms.iter().map(|&t| values.ids.get(&(piece, t)).copied());
        wanted.map(|id| id.ok_or_else(|| Error::internal("an array was not run"))).collect()
    }
}

/// Whether an array of an outer stage may be used in `stage`: they all run eagerly.
pub(super) fn may_capture(stage: &Stage, outer: &[Stage], raw: Raw) -> bool {
    let Some(at) = outer.iter().position(|stage| stage.id == raw.stage) else { return false };
    let nested = |stage: &Stage| stage.values.as_ref().is_some_and(|values| values.nested);
    nested(stage) && outer.iter().skip(at + 1).all(nested)
}

/// The input that stands for an array of an outer stage.
pub(super) fn capture(stage: &mut Stage, outer: &mut [Stage], raw: Raw) -> Result<TermId> {
    let found = stage.values.as_ref().and_then(|values| values.captured.get(&raw).copied());
    let id = match found {
        Some(id) => id,
        None => {
            let at = outer.iter().position(|stage| stage.id == raw.stage);
            let at = at.ok_or_else(|| Error::internal("no such stage"))?;
            let primal = primal_in(&mut outer[at], raw)?;
            let Some(values) = &mut stage.values else {
                return Err(Error::internal("this function does not run eagerly"));
            };
            let id = values.known.len();
            values.known.push(DualArray { primal, delta: None });
            values.captures.push((raw, id));
            values.captured.insert(raw, id);
            id
        }
    };
    match &mut stage.values {
        Some(values) => values.input_of(&mut stage.b, id),
        None => Err(Error::internal("this function does not run eagerly")),
    }
}

/// The value of an array of a stage that runs eagerly, ending its piece if need be.
fn primal_in(stage: &mut Stage, raw: Raw) -> Result<Rc<Value>> {
    let not_known =
        |what: &str, hint: &str| Error::new(ErrorKind::NotKnown, "value", what).with_hint(hint);
    let Some(values) = &stage.values else {
        return Err(not_known(
            "the value of an array is not known while a function is staged",
            "choose by `select` or `cond`, or run the function eagerly: see `cotan::eager`",
        ));
    };
    let id = if raw.piece == values.piece() {
        if raw.scope != 0 || !stage.scopes.is_empty() {
            return Err(not_known(
                "no value is known inside a closure of `build` or of a loop, which runs for all \
                 indices at once",
                "ask before, or choose by `select` or `cond`",
            ));
        }
        let term = raw.term.ok_or_else(|| Error::internal("a handle to nothing"))?;
        // What a piece held is lost when it cannot be run.
        let ids = stage.finish_piece(&[term]).inspect_err(|error| {
            stage.error.get_or_insert(error.clone());
        });
        ids?.first().copied()
    } else {
        values.id(raw)
    };
    let known = stage.values.as_ref().zip(id).and_then(|(values, id)| values.known.get(id));
    let known = known.ok_or_else(|| Error::internal("an unknown array"))?;
    Ok(known.primal.clone())
}

/// The value of an array of any of the stages.
pub(super) fn primal_of(stages: &mut [Stage], raw: Raw) -> Result<Rc<Value>> {
    let stage = stages.iter_mut().find(|stage| stage.id == raw.stage && raw.term.is_some());
    match stage {
        Some(stage) => {
            if let Some(error) = &stage.error {
                return Err(error.clone());
            }
            primal_in(stage, raw)
        }
        None => {
            let message = "an array that was made outside of any function being run";
            Err(Error::new(ErrorKind::Scope, "value", message))
        }
    }
}

/// The value of an array of a function that runs eagerly.
pub(crate) fn value_of(raw: Raw) -> Result<Array> {
    let primal = STAGES.with(|stages| primal_of(&mut stages.borrow_mut(), raw))?;
    Ok(primal.to_array()?)
}

impl Finished {
    /// The results.
    pub(crate) fn results(&self) -> Result<Vec<Array>> {
        self.results.iter().map(|result| Ok(result.primal.to_array()?)).collect()
    }

    /// The gradients by the arguments, given cotangents of the results.
    pub(crate) fn reverse(mut self, cotangents: Vec<Array>) -> Result<Vec<Array>> {
        let seeds = self.results.iter().zip(cotangents);
        let seeds: Vec<_> = seeds
            .filter_map(|(result, c)| Some((result.delta?, Rc::new(Value::from(&c)))))
            .collect();
        let gradient = reverse_pass(&self.deltas, &seeds, self.arguments.len(), &mut self.engine)?;
        let zero = |k: usize| zeros(&self.arguments, k);
        let arrays = gradient.into_iter().enumerate();
        arrays.map(|(k, g)| g.map_or_else(|| zero(k), |g| Ok(g.to_array()?))).collect()
    }

    /// The tangents of the results, given those of the arguments.
    pub(crate) fn forward(mut self, tangents: Vec<Option<Array>>) -> Result<Vec<Array>> {
        let tangents: Vec<_> =
            tangents.into_iter().map(|t| t.map(|t| Rc::new(Value::from(&t)))).collect();
        let along = forward_pass(&self.deltas, &tangents, &mut self.engine)?;
        let of = |k: usize| {
            let delta = self.results.get(k).and_then(|result| result.delta);
            delta.and_then(|d| along.get(d.index()).cloned().flatten())
        };
        let results = 0..self.results.len();
        results
            .map(|k| of(k).map_or_else(|| zeros(&self.results, k), |t| Ok(t.to_array()?)))
            .collect()
    }
}

/// Zeros like one of several arrays.
fn zeros(like: &[DualArray<Eager>], k: usize) -> Result<Array> {
    let like = like.get(k).ok_or_else(|| Error::internal("an array is missing"))?;
    let ty = like.primal.ty();
    Ok(Array::zeros(ty.dtype, ty.shape.clone())?)
}

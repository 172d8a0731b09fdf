//! The function being staged: a thread-local builder, and the handles into it.
//!
//! A handle is a small number and no more, so it is `Copy` and sharing is what Rust's variables do
//! anyway. An operation that cannot be done records the first error, with the place of the caller,
//! and gives a handle to nothing; operations on such a handle do nothing. Whoever began the stage
//! finds the error at its end. So no operation needs a `Result`, and none panics.
//!
//! A function that runs eagerly is staged, too, piece by piece: whenever it asks for a value, what
//! was staged so far is run, and staging goes on with the results as inputs (see [`values`]).

mod lines;
mod place;
mod region;
mod run;
mod values;

use std::cell::RefCell;
use std::panic::Location;

use cotan_ir::{Builder, Span, TermId, Type};

use crate::error::{Error, ErrorKind, Result};
pub(crate) use lines::of_text;
pub(crate) use place::{operation, unplaced, user_code};
pub(crate) use region::{build_over, extract, lambda};
pub(crate) use run::{Body, eager, stage, trace, traces_here};
use values::Values;
pub(crate) use values::{Finished, value_of};

/// A node of a stage, without its element type. The default is a handle to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Raw {
    stage: u32,
    /// Which piece of a function that runs eagerly; 0 otherwise.
    piece: u32,
    /// Which opening of a closure the node belongs to; 0 is outside of all.
    scope: u32,
    term: Option<TermId>,
}

/// A function on its way to a program.
struct Stage {
    id: u32,
    b: Builder,
    /// The openings of the closures that are open, outermost first.
    scopes: Vec<u32>,
    next_scope: u32,
    places: place::Places,
    error: Option<Error>,
    /// What is known of a function that runs eagerly.
    values: Option<Values>,
}

thread_local! {
    /// The functions being staged on this thread; one may stage another on its way.
    static STAGES: RefCell<Vec<Stage>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the stage at hand, if there is one.
fn with<R>(f: impl FnOnce(&mut Stage) -> R) -> Option<R> {
    STAGES.with(|stages| stages.borrow_mut().last_mut().map(f))
}

/// The terms of handles in the stage at hand.
fn resolve_all(op: &str, raws: &[Raw]) -> Result<Vec<TermId>> {
    STAGES.with(|stages| {
        let mut stages = stages.borrow_mut();
        raws.iter().map(|&raw| resolve(&mut stages, op, raw)).collect()
    })
}

/// The term of a handle in the last stage, if it may be used there.
fn resolve(stages: &mut [Stage], op: &str, raw: Raw) -> Result<TermId> {
    let Some((_, term)) = stages.last().zip(raw.term) else {
        let message = "an array that was made outside of any function being staged";
        let hint = "make it inside, or pass it as an argument";
        return Err(Error::new(ErrorKind::Scope, op, message).with_hint(hint));
    };
    match stages.split_last_mut() {
        Some((stage, _)) if stage.id == raw.stage => stage.own(op, raw, term),
        Some((stage, outer)) if values::may_capture(stage, outer, raw) => {
            values::capture(stage, outer, raw)
        }
        _ => {
            let message = "an array of another function";
            let hint = "a function that is compiled takes its arrays as arguments; to call one \
                        function inside another, call it directly or by `apply`";
            Err(Error::new(ErrorKind::Scope, op, message).with_hint(hint))
        }
    }
}

impl Stage {
    fn raw(&mut self, t: TermId) -> Raw {
        let level = self.b.free(t).innermost();
        let scope = usize::from(level).checked_sub(1).and_then(|k| self.scopes.get(k).copied());
        let piece = self.values.as_mut().map_or(0, |values| {
            if level == 0 {
                values.hand_out(t);
            }
            values.piece()
        });
        Raw { stage: self.id, piece, scope: scope.unwrap_or(0), term: Some(t) }
    }

    /// The term of a handle of this stage.
    fn own(&mut self, op: &str, raw: Raw, term: TermId) -> Result<TermId> {
        if let Some(values) = &mut self.values
            && raw.piece != values.piece()
        {
            return values.input(&mut self.b, raw);
        }
        let level = usize::from(self.b.free(term).innermost());
        let open = level == 0 || self.scopes.get(level - 1) == Some(&raw.scope);
        if !open {
            let message =
                "an array that depends on an index or a state of a closure that has ended";
            let hint = "give it as the result of the closure";
            return Err(Error::new(ErrorKind::Scope, op, message).with_hint(hint));
        }
        Ok(term)
    }

    fn type_of(&self, raw: Raw, term: TermId) -> Option<Type> {
        match &self.values {
            _ if self.error.is_some() => None,
            Some(values) if values.piece() != raw.piece => values.type_of(raw),
            _ => Some(self.b.ty(term).clone()),
        }
    }

    fn fail(&mut self, error: Error, caller: &'static Location<'static>) {
        let error = match self.error.take() {
            None => self.places.named(error),
            // Whoever hands it on may know the place.
            Some(first) if error.is_recorded() => first,
            Some(first) => {
                self.error = Some(first);
                return;
            }
        };
        self.error = Some(match self.places.blame(caller) {
            Some(location) => error.at(location),
            None => error,
        });
    }
}

/// Records an error of the stage at hand; only the first counts.
#[track_caller]
pub(crate) fn fail(error: Error) {
    let caller = Location::caller();
    with(|stage| stage.fail(error, caller));
}

/// The node that `f` makes of operands.
#[track_caller]
pub(crate) fn emit(
    op: &'static str,
    operands: &[Raw],
    f: impl FnOnce(&mut Builder, &[TermId]) -> cotan_ir::Result<TermId>,
) -> Raw {
    let made = emit_all(op, operands, |b, ts| Ok(vec![f(b, ts)?]));
    made.and_then(|raws| raws.first().copied()).unwrap_or_default()
}

/// The nodes that `f` makes of operands; `None` after an error.
#[track_caller]
pub(crate) fn emit_all(
    op: &'static str,
    operands: &[Raw],
    f: impl FnOnce(&mut Builder, &[TermId]) -> cotan_ir::Result<Vec<TermId>>,
) -> Option<Vec<Raw>> {
    let mut f = Some(f);
    emit_all_of(op, operands, &mut |b, ts| match f.take() {
        Some(f) => f(b, ts),
        None => Ok(Vec::new()),
    })
}

/// What makes nodes of operands.
type Make<'a> = dyn FnMut(&mut Builder, &[TermId]) -> cotan_ir::Result<Vec<TermId>> + 'a;

/// [`emit_all`], compiled once and not for each closure.
#[track_caller]
fn emit_all_of(op: &'static str, operands: &[Raw], f: &mut Make<'_>) -> Option<Vec<Raw>> {
    let caller = Location::caller();
    expect_stage(op);
    // What follows from an error is not another one.
    if failed() {
        return None;
    }
    let terms = resolve_all(op, operands);
    with(|stage| {
        let place = stage.places.blame(caller).map_or(Span::NONE, lines::span_of);
        stage.b.set_span(place);
        match terms.and_then(|terms| {
            f(&mut stage.b, &terms).map_err(|error| Error::from(error).renamed(op))
        }) {
            Ok(made) => Some(made.into_iter().map(|t| stage.raw(t)).collect()),
            Err(error) => {
                stage.fail(error, caller);
                None
            }
        }
    })
    .flatten()
}

/// Checks that a function is being staged on this thread.
///
/// Outside of all functions there is nobody to give an error to, and a handle to nothing that looks
/// like a scalar would be a silent mistake: this is the one panic of staging.
#[track_caller]
#[allow(clippy::panic, reason = "no function is there to return the error")]
pub(crate) fn expect_stage(op: &str) {
    if !is_staging() {
        panic!(
            "{op}: an `Arr` outside of any function that is staged or run eagerly on this thread\n  \
             hint: an `Arr` stands for an array inside a function that is given to `compile`, \
             `jit`, `grad` and the like; outside, arrays are `Tensor`s, which have arithmetic of \
             their own"
        );
    }
}

/// The type of an array that is used here. An array of another function is an error of this one.
#[track_caller]
pub(crate) fn type_here(op: &'static str, raw: Raw) -> Option<Type> {
    expect_stage(op);
    if failed() {
        return None;
    }
    let ty = type_of(raw);
    if ty.is_none()
        && let Err(error) = resolve_all(op, &[raw])
    {
        fail(error);
    }
    ty
}

/// The type of a node; `None` for a handle to nothing, or after an error.
pub(crate) fn type_of(raw: Raw) -> Option<Type> {
    let term = raw.term?;
    STAGES.with(|stages| {
        let stages = stages.borrow();
        let stage = stages.iter().rev().find(|stage| stage.id == raw.stage)?;
        stage.type_of(raw, term)
    })
}

/// Whether an error was recorded: what follows counts for nothing.
pub(crate) fn failed() -> bool {
    with(|stage| stage.error.is_some()).unwrap_or(false)
}

/// Whether a function is being staged on this thread.
pub(crate) fn is_staging() -> bool {
    STAGES.with(|stages| !stages.borrow().is_empty())
}

/// Takes back the error that was recorded: what follows counts again.
pub(crate) fn take_error() -> Option<Error> {
    with(|stage| stage.error.take()).flatten()
}

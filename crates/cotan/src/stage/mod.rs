//! The function being staged: a thread-local builder, and the handles into it.
//!
//! A handle is a small number and no more, so it is `Copy` and sharing is what Rust's variables do
//! anyway. An operation that cannot be done records the first error, with the place of the caller,
//! and gives a handle to nothing; operations on such a handle do nothing. Whoever began the stage
//! finds the error at its end. So no operation needs a `Result`, and none panics.

mod place;

use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use cotan_ir::{Builder, Output, Param, Program, RegionId, TermId, Type};

use crate::error::{Error, ErrorKind, Result};
#[allow(unused_imports)]
pub(crate) use place::{operation, user_code};

/// A node of a stage, without its element type. The default is a handle to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw {
    stage: u32,
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
}

static NEXT_STAGE: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The functions being staged on this thread; one may stage another on its way.
    static STAGES: RefCell<Vec<Stage>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the stage at hand, if there is one.
fn with<R>(f: impl FnOnce(&mut Stage) -> R) -> Option<R> {
    STAGES.with(|stages| stages.borrow_mut().last_mut().map(f))
}

/// Takes a stage away again when the function that is staged panics.
struct Guard;

impl Guard {
    fn begin() -> Guard {
        let stage = Stage {
            id: NEXT_STAGE.fetch_add(1, Ordering::Relaxed),
            b: Builder::new(),
            scopes: Vec::new(),
            next_scope: 0,
            places: place::Places::default(),
            error: None,
        };
        STAGES.with(|stages| stages.borrow_mut().push(stage));
        Guard
    }

    fn end(self) -> Result<Stage> {
        let stage = STAGES.with(|stages| stages.borrow_mut().pop());
        std::mem::forget(self);
        stage.ok_or_else(|| Error::internal("a stage ended twice"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        STAGES.with(|stages| stages.borrow_mut().pop());
    }
}

/// The program of a function from the arrays with the given names and types to arrays.
///
/// `body` gets the inputs, and gives the results with their names.
pub(crate) fn stage<R>(
    inputs: &[(String, Type)],
    body: impl FnOnce(&[Raw]) -> Result<(R, Vec<(String, Raw)>)>,
) -> Result<(R, Program)> {
    let guard = Guard::begin();
    let mut raws = Vec::with_capacity(inputs.len());
    for (name, ty) in inputs {
        let made = with(|stage| {
            let t = stage.b.input(name.clone(), ty.clone())?;
            Ok::<Raw, Error>(stage.raw(t))
        });
        raws.push(made.unwrap_or_else(|| Err(Error::internal("no stage")))?);
    }
    // A panic of the function itself goes on its way, unless it follows from an error of ours: a
    // handle to nothing has no sizes to calculate with.
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&raws)));
    let error = with(|stage| stage.error.take()).flatten();
    let (rest, named) = match (error, ran) {
        (Some(error), _) => return Err(error),
        (None, Err(panic)) => {
            drop(guard);
            std::panic::resume_unwind(panic)
        }
        (None, Ok(result)) => result?,
    };
    let mut outputs = Vec::with_capacity(named.len());
    for (name, raw) in named {
        let resolved = with(|stage| stage.resolve("result", raw));
        let term = resolved.unwrap_or_else(|| Err(Error::internal("no stage")))?;
        outputs.push(Output { name, term });
    }
    let stage = guard.end()?;
    Ok((rest, stage.b.finish(outputs)?))
}

impl Stage {
    fn raw(&self, t: TermId) -> Raw {
        let level = self.b.free(t).innermost();
        let scope = usize::from(level).checked_sub(1).and_then(|k| self.scopes.get(k));
        Raw { stage: self.id, scope: scope.copied().unwrap_or(0), term: Some(t) }
    }

    /// The term of a handle, if it may be used here.
    fn resolve(&self, op: &str, raw: Raw) -> Result<TermId> {
        let Some(term) = raw.term else {
            let message = "an array that was made outside of any function being staged";
            let hint = "make it inside, or pass it as an argument";
            return Err(Error::new(ErrorKind::Scope, op, message).with_hint(hint));
        };
        if raw.stage != self.id {
            let message = "an array of another function";
            let hint = "a function that is compiled takes its arrays as arguments; to call one \
                        function inside another, call it directly or by `apply`";
            return Err(Error::new(ErrorKind::Scope, op, message).with_hint(hint));
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

    fn fail(&mut self, error: Error, caller: &'static Location<'static>) {
        let error = error.at(self.places.blame(caller));
        let error = self.places.named(error);
        self.error.get_or_insert(error);
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
    let caller = Location::caller();
    with(|stage| {
        // What follows from an error is not another one.
        if stage.error.is_some() {
            return None;
        }
        let terms: Result<Vec<TermId>> =
            operands.iter().map(|&raw| stage.resolve(op, raw)).collect();
        match terms.and_then(|terms| Ok(f(&mut stage.b, &terms)?)) {
            Ok(made) => Some(made.into_iter().map(|t| stage.raw(t)).collect()),
            Err(error) => {
                stage.fail(error, caller);
                None
            }
        }
    })
    .flatten()
}

/// The region of a closure. `None` after an error; the closure runs all the same, because what it
/// gives is a structure that only it can make.
#[track_caller]
pub(crate) fn lambda(
    op: &'static str,
    params: &[Param],
    body: impl FnOnce(&[Raw]) -> Vec<Raw>,
) -> Option<RegionId> {
    let caller = Location::caller();
    let opened = with(|stage| {
        if stage.error.is_some() {
            return None;
        }
        match stage.b.open(params) {
            Ok(vars) => {
                stage.next_scope += 1;
                stage.scopes.push(stage.next_scope);
                Some(vars.into_iter().map(|t| stage.raw(t)).collect::<Vec<Raw>>())
            }
            Err(error) => {
                stage.fail(error.into(), caller);
                None
            }
        }
    })
    .flatten();
    let Some(opened) = opened else {
        body(&vec![Raw::default(); params.len()]);
        return None;
    };
    let results = body(&opened);
    with(|stage| {
        let terms: Result<Vec<TermId>> =
            results.iter().map(|&raw| stage.resolve(op, raw)).collect();
        stage.scopes.pop();
        if stage.error.is_some() {
            stage.b.abandon();
            return None;
        }
        let closed = match terms {
            Ok(terms) => stage.b.close(&terms).map_err(Error::from),
            Err(error) => {
                stage.b.abandon();
                Err(error)
            }
        };
        closed.map_err(|error| stage.fail(error, caller)).ok()
    })
    .flatten()
}

/// The type of a node; `None` for a handle to nothing, or after an error.
pub(crate) fn type_of(raw: Raw) -> Option<Type> {
    let term = raw.term?;
    STAGES.with(|stages| {
        let stages = stages.borrow();
        let stage = stages.iter().rev().find(|stage| stage.id == raw.stage)?;
        Some(stage.b.ty(term).clone())
    })
}

/// Whether an error was recorded: what follows counts for nothing.
pub(crate) fn failed() -> bool {
    with(|stage| stage.error.is_some()).unwrap_or(false)
}

/// Nested `build1`s over the given sizes: one array for each result of `body`. `None` after an
/// error; `body` runs all the same.
#[track_caller]
pub(crate) fn build_over(
    op: &'static str,
    sizes: &[usize],
    body: impl FnOnce(&[Raw]) -> Vec<Raw>,
) -> Option<Vec<Raw>> {
    let caller = Location::caller();
    let vars = with(|stage| {
        if stage.error.is_some() {
            return None;
        }
        let opened = stage.open_all(sizes);
        opened.map_err(|error| stage.fail(error.into(), caller)).ok()
    })
    .flatten();
    let Some(vars) = vars else {
        body(&vec![Raw::default(); sizes.len()]);
        return None;
    };
    let results = body(&vars);
    with(|stage| {
        let terms: Result<Vec<TermId>> =
            results.iter().map(|&raw| stage.resolve(op, raw)).collect();
        stage.abandon_all(sizes.len());
        if stage.error.is_some() {
            return None;
        }
        // The variables are named by nesting level: opened again, the regions have the same ones.
        let built = terms.and_then(|terms| {
            terms.into_iter().map(|t| stage.close_all(sizes, t).map_err(Error::from)).collect()
        });
        built.map_err(|error| stage.fail(error, caller)).ok()
    })
    .flatten()
}

impl Stage {
    fn open_all(&mut self, sizes: &[usize]) -> cotan_ir::Result<Vec<Raw>> {
        let mut vars = Vec::with_capacity(sizes.len());
        for (opened, &k) in sizes.iter().enumerate() {
            match self.b.open(&[Param::Index(k)]) {
                Ok(terms) => {
                    self.next_scope += 1;
                    self.scopes.push(self.next_scope);
                    vars.extend(terms.into_iter().map(|t| self.raw(t)));
                }
                Err(error) => {
                    self.abandon_all(opened);
                    return Err(error);
                }
            }
        }
        Ok(vars)
    }

    fn abandon_all(&mut self, opened: usize) {
        for _ in 0..opened {
            self.scopes.pop();
            self.b.abandon();
        }
    }

    /// `t` as an element, built over the sizes.
    fn close_all(&mut self, sizes: &[usize], t: TermId) -> cotan_ir::Result<Raw> {
        self.open_all(sizes)?;
        let mut term = t;
        for level in (0..sizes.len()).rev() {
            self.scopes.pop();
            match self.b.close(&[term]).and_then(|region| self.b.build1(region)) {
                Ok(built) => term = built,
                Err(error) => {
                    self.abandon_all(level);
                    return Err(error);
                }
            }
        }
        Ok(self.raw(term))
    }
}

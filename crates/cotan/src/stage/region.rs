//! Closures: opened, run, and closed to regions.

use std::panic::Location;

use cotan_ir::{Extracted, Param, Program, RegionId, Scopes, TermId};

use super::{Raw, Stage, resolve_all, with};
use crate::error::{Error, Result};

/// What is wrong when a closure cannot be opened: there are too many around it.
fn too_deep(op: &'static str, error: cotan_ir::Error) -> Error {
    Error::from(error).renamed(op).with_hint(
        "closures are those of `build`, loops and derivatives: operations on whole arrays need \
         none, and what does not depend on an index can stand outside",
    )
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
    once(body, |body| lambda_of(op, params, body, caller))
}

/// What takes a closure that is called once, with little code for each closure: users write many.
fn once<X: ?Sized, Y: Default, R>(
    f: impl FnOnce(&X) -> Y,
    run: impl FnOnce(&mut dyn FnMut(&X) -> Y) -> R,
) -> R {
    let mut f = Some(f);
    run(&mut |x| f.take().map_or_else(Y::default, |f| f(x)))
}

/// Abandons the innermost regions when it is dropped.
struct Abandon(usize);

impl Drop for Abandon {
    fn drop(&mut self) {
        with(|stage| stage.abandon_all(self.0));
    }
}

/// Runs the closure of so many regions that were opened. When it panics they are abandoned: the
/// function around it may catch the panic, and go on outside of them.
fn unless_it_panics<R>(opened: usize, body: impl FnOnce() -> R) -> R {
    let abandon = Abandon(opened);
    let results = body();
    std::mem::forget(abandon);
    results
}

fn lambda_of(
    op: &'static str,
    params: &[Param],
    body: &mut dyn FnMut(&[Raw]) -> Vec<Raw>,
    caller: &'static Location<'static>,
) -> Option<RegionId> {
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
                stage.fail(too_deep(op, error), caller);
                None
            }
        }
    })
    .flatten();
    let Some(opened) = opened else {
        body(&vec![Raw::default(); params.len()]);
        return None;
    };
    let results = unless_it_panics(1, || body(&opened));
    let terms = resolve_all(op, &results);
    with(|stage| {
        stage.scopes.pop();
        if stage.error.is_some() {
            stage.b.abandon();
            return None;
        }
        let closed = match terms {
            Ok(terms) => stage.b.close(&terms).map_err(|error| Error::from(error).renamed(op)),
            Err(error) => {
                stage.b.abandon();
                Err(error)
            }
        };
        closed.map_err(|error| stage.fail(error, caller)).ok()
    })
    .flatten()
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
    once(body, |body| build_over_of(op, sizes, body, caller))
}

fn build_over_of(
    op: &'static str,
    sizes: &[usize],
    body: &mut dyn FnMut(&[Raw]) -> Vec<Raw>,
    caller: &'static Location<'static>,
) -> Option<Vec<Raw>> {
    let vars = with(|stage| {
        if stage.error.is_some() {
            return None;
        }
        let opened = stage.open_all(sizes);
        opened.map_err(|error| stage.fail(too_deep(op, error), caller)).ok()
    })
    .flatten();
    let Some(vars) = vars else {
        body(&vec![Raw::default(); sizes.len()]);
        return None;
    };
    let results = unless_it_panics(sizes.len(), || body(&vars));
    let terms = resolve_all(op, &results);
    with(|stage| {
        stage.abandon_all(sizes.len());
        if stage.error.is_some() {
            return None;
        }
        // The variables are named by nesting level: opened again, the regions have the same ones.
        let built = terms.and_then(|terms| {
            let built = terms
                .into_iter()
                .map(|t| stage.close_all(sizes, t).map_err(|error| Error::from(error).renamed(op)));
            built.collect::<Result<Vec<Raw>>>()
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

/// A region as a program of its parameters and captures, and the captures.
pub(crate) fn extract(region: RegionId) -> Result<(Program, Vec<Raw>)> {
    let extracted = with(|stage| {
        let scopes = Scopes::of_region(&stage.b, region);
        let Extracted { program, captures } = Extracted::new(&stage.b, &scopes, region)?;
        Ok((program, captures.into_iter().map(|t| stage.raw(t)).collect()))
    });
    extracted.unwrap_or_else(|| Err(Error::internal("no stage")))
}

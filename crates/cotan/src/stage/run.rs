//! Beginning and ending a stage: to a program, to values, or to the trace of an eager run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use cotan_array::Array;
use cotan_ir::{Builder, Program, Type};

use super::values::{Finished, Values, primal_of};
use super::{Raw, STAGES, Stage, lines, place, resolve_all, with};
use crate::error::{Error, Result};
use crate::structure::Tree;

static NEXT_STAGE: AtomicU32 = AtomicU32::new(1);

/// What a function gives: the tree of its result, and the leaves.
pub(crate) type Output = (Tree, Vec<Raw>);

/// A function of the inputs of a stage. Not generic: users have many functions, and the compiler
/// should not have this module for each.
pub(crate) type Body<'a> = &'a mut dyn FnMut(&[Raw]) -> Result<Output>;

/// Takes a stage away again when the function that is staged panics.
struct Guard;

impl Guard {
    fn begin(values: Option<Values>) -> Guard {
        let stage = Stage {
            id: NEXT_STAGE.fetch_add(1, Ordering::Relaxed),
            b: Builder::new(),
            scopes: Vec::new(),
            next_scope: 0,
            places: place::Places::default(),
            error: None,
            values,
        };
        STAGES.with(|stages| stages.borrow_mut().push(stage));
        Guard
    }

    /// Runs the function, and gives its result or the first error of the stage.
    ///
    /// A panic of the function itself goes on its way, unless it follows from an error of ours: a
    /// handle to nothing has no sizes to calculate with.
    fn run(self, body: Body<'_>, given: &[Raw]) -> Result<(Output, Guard)> {
        let ran = catch_unwind(AssertUnwindSafe(|| body(given)));
        let error = with(|stage| stage.error.take()).flatten();
        match (error, ran) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok((result?, self)),
            (None, Err(panic)) => {
                drop(self);
                resume_unwind(panic)
            }
        }
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
pub(crate) fn stage(inputs: &[(String, Type)], body: Body<'_>) -> Result<(Tree, Program)> {
    let guard = Guard::begin(None);
    let declared = with(|stage| {
        let declare = |(name, ty): &(String, Type)| {
            let t = stage.b.input(name.clone(), ty.clone())?;
            Ok(stage.raw(t))
        };
        inputs.iter().map(declare).collect::<Result<Vec<Raw>>>()
    });
    let raws = declared.unwrap_or_else(|| Err(Error::internal("no stage")))?;
    let ((tree, results), guard) = guard.run(body, &raws)?;
    let names = tree.leaves("").into_iter().map(|(path, _)| path);
    let terms = resolve_all("result", &results)?;
    let outputs = names.zip(terms).map(|(name, term)| cotan_ir::Output { name, term }).collect();
    Ok((tree, guard.end()?.b.finish_with_sources(outputs, lines::sources())?))
}

/// Runs a function eagerly on values, `wrt` of which are to be differentiated by.
pub(crate) fn eager(inputs: &[Array], wrt: &[usize], body: Body<'_>) -> Result<(Tree, Finished)> {
    let guard = Guard::begin(Some(Values::outermost(inputs, wrt)));
    let raws = with(Stage::given).unwrap_or_default();
    let ((tree, results), guard) = guard.run(body, &raws)?;
    let terms = resolve_all("result", &results)?;
    let ids = with(|stage| stage.finish_piece(&terms));
    let ids = ids.unwrap_or_else(|| Err(Error::internal("no stage")))?;
    let values = guard.end()?.values.ok_or_else(|| Error::internal("values are missing"))?;
    Ok((tree, values.finished(&ids)))
}

/// What a function did when it ran eagerly inside another that runs eagerly.
pub(crate) struct Traced {
    /// What it gave.
    pub result: Tree,
    /// What it did: the arguments, then the captures, to the results.
    pub program: Program,
    /// The arrays of the function around it that it used.
    pub captures: Vec<Raw>,
}

/// Whether the function at hand runs eagerly, and not in a closure over symbolic indices.
pub(crate) fn traces_here() -> bool {
    with(|stage| stage.values.is_some() && stage.scopes.is_empty()).unwrap_or(false)
}

/// Runs a function eagerly on arrays of the function that runs eagerly around it.
pub(crate) fn trace(arguments: &[Raw], body: Body<'_>) -> Result<Traced> {
    let primals: Result<Vec<_>> = STAGES.with(|stages| {
        let mut stages = stages.borrow_mut();
        arguments.iter().map(|&raw| primal_of(&mut stages, raw)).collect()
    });
    let guard = Guard::begin(Some(Values::nested(primals?)));
    let raws = with(Stage::given).unwrap_or_default();
    let ((result, results), guard) = guard.run(body, &raws)?;
    let terms = resolve_all("result", &results)?;
    let ids = with(|stage| stage.finish_piece(&terms));
    let ids = ids.unwrap_or_else(|| Err(Error::internal("no stage")))?;
    let values = guard.end()?.values.ok_or_else(|| Error::internal("values are missing"))?;
    let (program, captures) = values.traced(arguments.len(), &ids)?;
    Ok(Traced { result, program, captures })
}

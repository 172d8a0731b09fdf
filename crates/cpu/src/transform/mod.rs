//! Fourier transforms.
//!
//! Several transforms of one length are computed side by side, one in each lane of vectors: the
//! elements of a batch, or the rows and the columns of the matrix into which a long transform is
//! split, so that both stay in the first caches and no shuffles are needed but transpositions. What
//! lengths are split into is [`cotan_schedule::Transform`].
//!
//! Which operations are done in which order depends on the shapes and on the instruction set, on
//! nothing else.

mod block;
mod kernel;
mod plan;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use cotan_array::Dtype;
use cotan_ir::Routine;
use cotan_nest::{Compute, RoutineStep, Step};
use rustc_hash::FxHashMap;

use crate::isa;
use crate::linalg::RoutinePointers;
use block::{Kernels, Lying, MOST_LANES, TransformBlock, Transformed};
use plan::{ComplexLine, GoOn, TransformPlan, aligned, rooms};

/// The roots of unity of a transform, kept as long as somebody may run it.
pub(crate) type Prepared = Arc<dyn Any + Send + Sync>;

/// What there is, by length and type of the floats.
type Plans = FxHashMap<(usize, TypeId), Weak<dyn Any + Send + Sync>>;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);

/// Whether a routine is one of these.
pub(crate) fn is_transform(routine: Routine) -> bool {
    matches!(routine, Routine::Dft | Routine::DftConjugate)
}

fn prepare(step: &RoutineStep) -> Option<Prepared> {
    let go_on: GoOn<'_> = &mut |_| cotan_schedule::look().is_ok();
    Some(match step.dtype {
        Dtype::F32 => plan_of::<f32>(step.rows, go_on)?,
        _ => plan_of::<f64>(step.rows, go_on)?,
    })
}

/// Makes what the steps of a plan need; nothing where the work of [`cotan_ir::within`] has to end.
pub(crate) fn prepare_all<G: Compute>(steps: &[Step<G>]) -> Option<Vec<Prepared>> {
    let mut found = Vec::new();
    let mut left: Vec<&[Step<G>]> = vec![steps];
    while let Some(steps) = left.pop() {
        for step in steps {
            match step {
                Step::Routine(step) if is_transform(step.routine) => found.push(prepare(step)?),
                Step::Loop(l) => left.push(&l.steps),
                Step::While(w) => left.extend([&w.before[..], &w.body.steps]),
                Step::If(branches) => left.extend([&branches.then[..], &branches.otherwise]),
                _ => {}
            }
        }
    }
    Some(found)
}

fn plan_of<E: Transformed>(length: usize, go_on: GoOn<'_>) -> Option<Arc<TransformPlan<E>>> {
    let key = (length, TypeId::of::<E>());
    let known = |plans: &Plans| {
        plans.get(&key).and_then(Weak::upgrade)?.downcast::<TransformPlan<E>>().ok()
    };
    let lock = || PLANS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(plan) = known(&lock()) {
        return Some(plan);
    }
    let plan = Arc::new(TransformPlan::<E>::new(length, E::kernels(isa::best()), go_on)?);
    let mut plans = lock();
    plans.retain(|_, plan| plan.strong_count() > 0);
    let kept: Arc<dyn Any + Send + Sync> = plan.clone();
    plans.insert(key, Arc::downgrade(&kept));
    Some(plan)
}

/// Runs a step; gives `false` when `go_on`, which is told how much is about to be done, says no.
///
/// # Safety
/// The places have the elements that the step speaks of.
pub(crate) unsafe fn run(
    step: &RoutineStep,
    places: &RoutinePointers,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        match step.dtype {
            Dtype::F32 => {
                plan_of::<f32>(step.rows, go_on).is_some_and(|plan| all(&plan, step, places, go_on))
            }
            _ => {
                plan_of::<f64>(step.rows, go_on).is_some_and(|plan| all(&plan, step, places, go_on))
            }
        }
    }
}

/// Runs it for each element of the batch.
///
/// # Safety
/// As [`run`]; the floats are of this type.
unsafe fn all<E: Transformed>(
    plan: &TransformPlan<E>,
    step: &RoutineStep,
    places: &RoutinePointers,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> bool {
    let (n, cells) = (plan.length, &step.operands[0]);
    let count: usize = step.batch.iter().product();
    if n == 0 || count == 0 {
        return true;
    }
    let kernels: &Kernels<E> = E::kernels(isa::best());
    let (from, to) = (places.operands[0].cast::<E>(), places.results[0].cast::<E>());
    let room = aligned(places.room.cast::<E>());
    let turned = |line: ComplexLine<E>| match step.routine {
        Routine::DftConjugate => line.exchanged(),
        _ => line,
    };
    let source = |start: *mut E| {
        turned(ComplexLine { re: start, im: start.wrapping_add(cells.row), step: cells.column })
    };
    let target =
        |start: *mut E| turned(ComplexLine { re: start, im: start.wrapping_add(n), step: 1 });
    let mut starts = Starts { at: vec![0; step.batch.len()], step };
    let mut done = 0;
    while done < count {
        let together = kernels.lanes.min(count - done);
        match &plan.side_by_side {
            Some(stages) if together > 1 => {
                let mut own = [0; MOST_LANES];
                own[..together].iter_mut().for_each(|start| *start = starts.next());
                let (x, y) = (source(from), target(to.wrapping_add(done * 2 * n)));
                let y = Lying::regular(y.re, y.im, 2 * n, 1);
                let block = TransformBlock {
                    stages,
                    length: n,
                    count: together,
                    from: Lying { re: x.re, im: x.im, starts: own, step: x.step },
                    to: y,
                    factors: None,
                    rooms: rooms(room, n, kernels.lanes),
                };
                if !go_on(together.saturating_mul(plan.work())) {
                    return false;
                }
                // SAFETY: the cells of these elements of the batch.
                unsafe { (kernels.block)(&block) };
                done += together;
            }
            _ => {
                let x = source(from.wrapping_add(starts.next()));
                let y = target(to.wrapping_add(done * 2 * n));
                // SAFETY: the cells at this element of the batch.
                if !go_on(plan.work()) || !unsafe { plan.run(kernels, x, y, room, go_on) } {
                    return false;
                }
                done += 1;
            }
        }
    }
    true
}

/// Where the operands of the elements of the batch begin, one after the other.
struct Starts<'a> {
    at: Vec<usize>,
    step: &'a RoutineStep,
}

impl Starts<'_> {
    fn next(&mut self) -> usize {
        let strides = &self.step.operands[0].batch;
        let start = self.at.iter().zip(strides).map(|(i, stride)| i * stride).sum();
        for (i, &size) in self.at.iter_mut().zip(&self.step.batch).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
        start
    }
}

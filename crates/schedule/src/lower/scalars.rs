//! Long runs of nests of one position each, as few nests.
//!
//! A program of many scalar operations has a nest for each value that several others need. Each would
//! be a kernel of its own, with all that this takes to plan and to begin. Fused, what one stores and
//! the next reads is a value; it is stored besides if a nest elsewhere reads it.

use cotan_nest::{
    Also, Buffer, BufferId, Instr, MAX_PACKED, Nest, Packed, Role, Step, Touches, Val, Write,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::target::Target;

/// Steps of which the long runs are fused and packed as they are made. What the nests store they all
/// store still: who reads it is known at the end only.
///
/// Each of a million nests takes hundreds of bytes, and there are too many for machine code in any case.
pub(super) struct Compact {
    /// How many instructions nests have that are packed.
    many: usize,
    /// How many nests a run has at least.
    shortest: usize,
    /// How many of the steps are as they stay.
    done: usize,
    /// How many have been looked at, and how many instructions those have that are not done.
    seen: usize,
    instrs: usize,
}

impl Compact {
    pub(super) fn new(target: &Target) -> Compact {
        let (many, shortest) =
            (target.thresholds.min_packed_instrs, target.thresholds.min_scalar_run);
        Compact { many, shortest, done: 0, seen: 0, instrs: 0 }
    }

    /// Fuses the long runs of the last steps, if there are enough of them.
    pub(super) fn look(&mut self, steps: &mut Vec<Step<Nest>>) {
        for step in &steps[self.seen.min(steps.len())..] {
            if let Step::Compute(nest) = step {
                self.instrs += nest.instrs.len();
            }
        }
        self.seen = steps.len();
        // In small parts, once there is much.
        if self.instrs < if self.done == 0 { self.many } else { self.many / 4 } {
            return;
        }
        let from = steps.split_off(self.done);
        let packed = |nest| match Packed::pack(&nest) {
            Some(packed) => Step::Scalars(Box::new(packed)),
            None => Step::Compute(Box::new(nest)),
        };
        fuse_runs(from, (self.shortest, MAX_PACKED), &|_| true, &mut |step| match step {
            FusedOr::As(step) => steps.push(step),
            FusedOr::Fused(nest) => steps.push(packed(nest)),
        });
        (self.done, self.seen, self.instrs) = (steps.len(), steps.len(), 0);
    }

    /// Leaves out what the fused nests store and nothing reads, once all steps are there.
    pub(super) fn finish(
        self,
        steps: &mut [Step<Nest>],
        buffers: &mut Vec<Buffer>,
        outputs: &mut [BufferId],
    ) {
        if self.done == 0 {
            return;
        }
        let touches = few_touches(steps, buffers);
        for step in &mut *steps {
            if let Step::Scalars(packed) = step {
                let own = |b: BufferId| matches!(buffers[b.index()].role, Role::Temporary(_));
                packed.retain_stores(|b| !own(b) || touches[b.index()] > 1);
            }
        }
        drop_untouched(steps, buffers, outputs);
    }
}

/// Leaves out temporaries that no step touches, if the steps are simple ones: most of those of packed
/// operations.
fn drop_untouched(steps: &mut [Step<Nest>], buffers: &mut Vec<Buffer>, outputs: &mut [BufferId]) {
    let simple = |step: &Step<Nest>| {
        matches!(step, Step::Scalars(_) | Step::Compute(_) | Step::Zero(_) | Step::Copy { .. })
    };
    if !steps.iter().all(simple) {
        return;
    }
    let touches = few_touches(steps, buffers);
    let mut numbers = touches.iter();
    let mut moved = Vec::with_capacity(buffers.len());
    let mut kept = 0;
    buffers.retain(|buffer| {
        moved.push(BufferId(kept));
        let touched = numbers.next().is_some_and(|&count| count > 0);
        let keep = touched || !matches!(buffer.role, Role::Temporary(_));
        kept += u32::from(keep);
        keep
    });
    buffers.shrink_to_fit();
    let to = |b: &mut BufferId| *b = moved[b.index()];
    outputs.iter_mut().for_each(to);
    steps.iter_mut().for_each(|step| step.for_each_buffer_mut(&to));
}

/// How often the steps touch each buffer.
fn touches(steps: &[Step<Nest>], buffers: &[Buffer]) -> Vec<u32> {
    let mut touches = vec![0u32; buffers.len()];
    for step in steps {
        step.for_each_buffer(&mut |b| touches[b.index()] += 1);
    }
    touches
}

/// The same up to 255: a long program has millions of buffers.
fn few_touches(steps: &[Step<Nest>], buffers: &[Buffer]) -> Vec<u8> {
    let mut touches = vec![0u8; buffers.len()];
    let mut touch = |b: BufferId| touches[b.index()] = touches[b.index()].saturating_add(1);
    steps.iter().for_each(|step| step.for_each_buffer(&mut touch));
    touches
}

/// Fuses the runs of nests of one position in a list of steps. Short runs stay as they are: the groups
/// around may gain by having one of them elsewhere.
pub(super) fn fuse(steps: &mut Vec<Step<Nest>>, buffers: &[Buffer], target: &Target) {
    let (shortest, most) = (target.thresholds.min_scalar_run, target.search.max_fused_instrs);
    let longest = runs(steps, most).map(<[_]>::len).max();
    if longest.is_none_or(|longest| longest < shortest) {
        return;
    }
    let touches = touches(steps, buffers);
    let is_read_elsewhere = |(b, touched): (BufferId, u32)| {
        let own = matches!(buffers[b.index()].role, Role::Temporary(_));
        !own || touched != touches[b.index()]
    };
    let from = std::mem::take(steps);
    fuse_runs(from, (shortest, most), &is_read_elsewhere, &mut |step| match step {
        FusedOr::As(step) => steps.push(step),
        FusedOr::Fused(nest) => steps.push(Step::Compute(Box::new(nest))),
    });
}

/// The runs of nests of one position and at most so many instructions, and each other step for itself.
fn runs(steps: &[Step<Nest>], most: usize) -> impl Iterator<Item = &[Step<Nest>]> {
    let is_scalar =
        move |step: &Step<Nest>| matches!(step, Step::Compute(nest) if is_scalar(nest, most));
    steps.chunk_by(move |a, b| is_scalar(a) && is_scalar(b))
}

/// Whether what is stored in a buffer is read elsewhere, if the nests at hand touch it so often.
type IsRead<'a> = dyn Fn((BufferId, u32)) -> bool + 'a;

/// What becomes of steps.
enum FusedOr {
    /// One stays as it is.
    As(Step<Nest>),
    /// Some become a nest.
    Fused(Nest),
}

/// Fuses long runs to nests of at most so many instructions, and hands on every step.
fn fuse_runs(
    from: Vec<Step<Nest>>,
    (shortest, most): (usize, usize),
    is_read: &IsRead<'_>,
    push: &mut dyn FnMut(FusedOr),
) {
    let lengths: Vec<usize> = runs(&from, most).map(<[_]>::len).collect();
    let mut from = from.into_iter();
    for length in lengths {
        if length < shortest {
            from.by_ref().take(length).for_each(|step| push(FusedOr::As(step)));
            continue;
        }
        let mut fused = FusedNests::default();
        for step in from.by_ref().take(length) {
            let Step::Compute(nest) = step else { continue };
            if !fused.takes(&nest, most)
                && let Some(nest) = std::mem::take(&mut fused).finish(is_read)
            {
                push(FusedOr::Fused(nest));
            }
            fused.take(*nest);
        }
        if let Some(nest) = fused.finish(is_read) {
            push(FusedOr::Fused(nest));
        }
    }
}

/// Whether a nest computes one element and stores it.
fn is_scalar(nest: &Nest, most: usize) -> bool {
    nest.extents.is_empty()
        && matches!(nest.write, Write::Store(_))
        && nest.also.is_empty()
        && nest.instrs.len() <= most
}

/// An element of a buffer.
type BufferElement = (BufferId, i64);

/// Nests that become one.
#[derive(Default)]
struct FusedNests {
    instrs: Vec<Instr>,
    dtypes: Vec<cotan_array::Dtype>,
    /// What the nests store, in order.
    stores: Vec<Also>,
    /// The value of each element that was stored or read.
    known: FxHashMap<BufferElement, Val>,
    written: FxHashSet<BufferId>,
    /// How often the nests touch each buffer.
    touched: FxHashMap<BufferId, u32>,
}

impl FusedNests {
    /// Whether a nest may follow: there is room, and what it reads and writes is known.
    fn takes(&self, nest: &Nest, most: usize) -> bool {
        let reads = nest.instrs.iter().all(|instr| match instr {
            Instr::Load { buffer, checks, .. } => {
                checks.is_empty() || !self.written.contains(buffer)
            }
            Instr::LoadAt { buffer, .. } => !self.written.contains(buffer),
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => true,
        });
        let Write::Store(at) = &nest.write else { return false };
        let stored = |also: &Also| also.target == nest.target && also.at.constant == at.constant;
        reads
            && self.instrs.len() + nest.instrs.len() <= most
            && !(self.written.contains(&nest.target) && self.stores.iter().any(stored))
    }

    fn take(&mut self, nest: Nest) {
        nest.for_each_buffer(&mut |b| *self.touched.entry(b).or_default() += 1);
        let mut moved: Vec<Val> = Vec::with_capacity(nest.instrs.len());
        for (mut instr, dtype) in nest.instrs.into_iter().zip(nest.dtypes) {
            instr.for_each_operand_mut(|v| *v = moved[v.index()]);
            let element = match &instr {
                Instr::Load { buffer, at, checks } if checks.is_empty() => {
                    Some((*buffer, at.constant))
                }
                _ => None,
            };
            let known = element.and_then(|element| self.known.get(&element).copied());
            moved.push(known.unwrap_or_else(|| {
                let value = Val(self.instrs.len() as u32);
                self.instrs.push(instr);
                self.dtypes.push(dtype);
                self.known.extend(element.map(|element| (element, value)));
                value
            }));
        }
        let Write::Store(at) = nest.write else { return };
        let (value, target, source) = (moved[nest.value.index()], nest.target, nest.source);
        self.known.insert((target, at.constant), value);
        self.written.insert(target);
        self.stores.push(Also { value, target, at, source });
    }

    /// The nest, without the stores of what nothing else reads.
    fn finish(self, is_read: &IsRead<'_>) -> Option<Nest> {
        let FusedNests { mut instrs, mut dtypes, mut stores, touched, .. } = self;
        let last = stores.pop()?;
        stores.retain(|also| {
            let touched = touched.get(&also.target).copied().unwrap_or(0);
            is_read((also.target, touched))
        });
        instrs.shrink_to_fit();
        dtypes.shrink_to_fit();
        stores.shrink_to_fit();
        Some(Nest {
            extents: Vec::new(),
            reduced: 0,
            instrs,
            dtypes,
            value: last.value,
            target: last.target,
            write: Write::Store(last.at),
            also: stores,
            source: last.source,
        })
    }
}

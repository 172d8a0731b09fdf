//! Long runs of nests of one position each, as few nests.
//!
//! A program of many scalar operations has a nest for each value that several others need. Each would
//! be a kernel of its own, with all that this takes to plan and to begin. Fused, what one stores and
//! the next reads is a value; it is stored besides if a nest elsewhere reads it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::nest::{Also, BufferId, Instr, Nest, Val, Write};
use crate::plan::{Buffer, Compute, Role, Step};

/// Maximum number of instructions of a fused nest: its values are kept until it has stored them.
const MAX_INSTRS: usize = 64;

/// Fuses the runs of nests of one position in a list of steps. Runs of fewer than `shortest` stay as
/// they are: the groups around may gain by having one of them elsewhere.
pub(super) fn fuse(steps: &mut Vec<Step<Nest>>, buffers: &[Buffer], shortest: usize) {
    let is_scalar = |step: &Step<Nest>| matches!(step, Step::Compute(nest) if is_scalar(nest));
    let longest = steps.chunk_by(|a, b| is_scalar(a) && is_scalar(b)).map(<[_]>::len).max();
    if longest.is_none_or(|longest| longest < shortest) {
        return;
    }
    let mut touches = vec![0u32; buffers.len()];
    for step in steps.iter() {
        step.for_each_buffer(&mut |b| touches[b.index()] += 1);
    }
    let lengths: Vec<usize> =
        steps.chunk_by(|a, b| is_scalar(a) && is_scalar(b)).map(<[_]>::len).collect();
    let mut from = std::mem::take(steps).into_iter();
    for length in lengths {
        if length < shortest {
            steps.extend(from.by_ref().take(length));
            continue;
        }
        let mut fused = Fused::default();
        for step in from.by_ref().take(length) {
            let Step::Compute(nest) = step else { continue };
            if !fused.takes(&nest) {
                steps.extend(std::mem::take(&mut fused).finish(&touches, buffers));
            }
            fused.take(*nest);
        }
        steps.extend(fused.finish(&touches, buffers));
    }
}

/// Whether a nest computes one element and stores it.
fn is_scalar(nest: &Nest) -> bool {
    nest.extents.is_empty()
        && matches!(nest.write, Write::Store(_))
        && nest.also.is_empty()
        && nest.instrs.len() <= MAX_INSTRS
}

/// An element of a buffer.
type Element = (BufferId, i64);

/// Nests that become one.
#[derive(Default)]
struct Fused {
    instrs: Vec<Instr>,
    dtypes: Vec<cotan_array::Dtype>,
    /// What the nests store, in order.
    stores: Vec<Also>,
    /// The value of each element that was stored or read.
    known: FxHashMap<Element, Val>,
    written: FxHashSet<BufferId>,
    /// How often the nests touch each buffer.
    touched: FxHashMap<BufferId, u32>,
}

impl Fused {
    /// Whether a nest may follow: there is room, and what it reads and writes is known.
    fn takes(&self, nest: &Nest) -> bool {
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
            && self.instrs.len() + nest.instrs.len() <= MAX_INSTRS
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
    fn finish(self, touches: &[u32], buffers: &[Buffer]) -> Option<Step<Nest>> {
        let Fused { mut instrs, mut dtypes, mut stores, touched, .. } = self;
        let last = stores.pop()?;
        stores.retain(|also| {
            let own = matches!(buffers[also.target.index()].role, Role::Temporary(_));
            !own || touched.get(&also.target) != touches.get(also.target.index())
        });
        instrs.shrink_to_fit();
        dtypes.shrink_to_fit();
        stores.shrink_to_fit();
        Some(Step::Compute(Box::new(Nest {
            extents: Vec::new(),
            reduced: 0,
            instrs,
            dtypes,
            value: last.value,
            target: last.target,
            write: Write::Store(last.at),
            also: stores,
            source: last.source,
        })))
    }
}

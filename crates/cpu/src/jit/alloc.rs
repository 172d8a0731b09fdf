//! Registers for values: a linear scan in which a value has one place for its whole life.

use smallvec::SmallVec;

use super::isa::VectorIsa;
use super::lir::{Ins, LaneAddresses, Lir, V, ValueKind};

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Nowhere: it is never made.
    None,
    /// A vector register, or a mask register where masks have them.
    Register(u8),
    /// So many bytes into the part of the frame that is for values.
    Frame(usize),
    /// So many bytes into the constants.
    Constant(usize),
}

/// What allocation gives.
pub(super) struct Homes {
    pub of: Vec<Home>,
    /// The first and the last moment of each value: two for each instruction, operands being read
    /// in the first and results written in the second.
    pub lives: Vec<(usize, usize)>,
    /// The bytes of the frame for values.
    pub frame: usize,
    /// How many values of the innermost loops had no room in registers.
    pub spilled: usize,
    /// Constants that have a register to themselves, with their places.
    pub pinned: Vec<(V, usize)>,
    /// How many constants in loops have none.
    pub unpinned: usize,
}

/// Vector registers that are kept free for values on their way from and to the frame.
pub(super) const SCRATCH: usize = 2;
/// The mask registers for values: k1 to k5. k6 and k7 are for masks on their way.
const MASKS: usize = 5;

impl Ins {
    /// Calls `read` with each operand and `write` with the result.
    pub(super) fn for_each_value(&self, mut read: impl FnMut(V), mut write: impl FnMut(V)) {
        let mut all = |values: &[V]| values.iter().for_each(|&v| read(v));
        match self {
            Ins::One(_, to, a) | Ins::Copy(to, a) => {
                all(&[*a]);
                write(*to);
            }
            Ins::Two(_, to, a, b) | Ins::Compare(_, to, a, b) | Ins::CompareInt(_, to, a, b) => {
                all(&[*a, *b]);
                write(*to);
            }
            Ins::Fused(_, to, a, b, c) | Ins::Choose(to, a, b, c) => {
                all(&[*a, *b, *c]);
                write(*to);
            }
            Ins::Keep(to, mask, a) => {
                all(&[*mask, *a]);
                write(*to);
            }
            Ins::Fixed(to, _)
            | Ins::Zero(to)
            | Ins::Splat(to, ..)
            | Ins::SplatRest(to, _)
            | Ins::Broadcast(to, _)
            | Ins::LoadBools(to, _)
            | Ins::BroadcastBool(to, _) => write(*to),
            Ins::AddTo(sum, v, _) => {
                all(&[*sum, *v]);
                write(*sum);
            }
            Ins::MulAddTo(sum, a, b) => {
                all(&[*sum, *a, *b]);
                write(*sum);
            }
            Ins::Load(to, address, mask) => {
                address.row.iter().for_each(|&(place, _)| read(place));
                mask.iter().for_each(|&m| read(m));
                write(*to);
            }
            Ins::Store(v, address, mask) => {
                all(&[*v]);
                address.row.iter().for_each(|&(place, _)| read(place));
                mask.iter().for_each(|&m| read(m));
            }
            Ins::StoreFirst(v, _) | Ins::StoreBools(v, _) => all(&[*v]),
            Ins::Gather(to, _, at, mask) => {
                all(&[*at, *mask]);
                write(*to);
            }
            Ins::LoadLanes(to, _, _, places, mask) => {
                places.value().iter().for_each(|&v| read(v));
                mask.iter().for_each(|&m| read(m));
                write(*to);
            }
            Ins::StoreLanes(v, _, _, places, mask) | Ins::AddLanes(v, _, _, places, mask) => {
                all(&[*v]);
                places.value().iter().for_each(|&v| read(v));
                mask.iter().for_each(|&m| read(m));
            }
            Ins::Call(_, (to, _), operands) => {
                operands.iter().flatten().for_each(|&(v, _)| read(v));
                write(*to);
            }
            Ins::Repair(to, mask, _, operands) => {
                all(&[*mask, *to]);
                operands.iter().flatten().for_each(|&(v, _)| read(v));
                write(*to);
            }
            Ins::FirstLane(_) | Ins::Enter(_) | Ins::Leave(_) => {}
        }
    }

    /// Whether the result may be written before all operands are read.
    fn writes_early(&self) -> bool {
        matches!(self, Ins::Gather(..))
    }
}

impl LaneAddresses {
    pub(super) fn value(&self) -> Option<V> {
        match self {
            LaneAddresses::Apart(_) => None,
            LaneAddresses::At(v) => Some(*v),
        }
    }
}

/// How much a value is used.
#[derive(Clone, Copy, Debug, Default)]
struct UseCount {
    /// How many loops are around the innermost use. What is done once after a loop does not count.
    depth: u8,
    /// The uses in that loop.
    count: u32,
}

impl UseCount {
    fn add(&mut self, depth: u8) {
        if depth > self.depth {
            *self = UseCount { depth, count: 0 };
        }
        self.count += u32::from(depth == self.depth);
    }
}

/// Lives of values, and how much they are used.
fn lives(lir: &Lir) -> (Vec<(usize, usize)>, Vec<UseCount>) {
    let count = lir.kinds.len();
    let mut first = vec![usize::MAX; count];
    let mut last = vec![0usize; count];
    let mut uses_of = vec![UseCount::default(); count];
    let mut depth = 0u8;
    // The loops around, by where they begin, with the values from outside that are used inside.
    let mut around: Vec<(usize, Vec<V>)> = Vec::new();
    for (n, ins) in lir.code.iter().enumerate() {
        match ins {
            Ins::Enter(k) => {
                around.push((2 * n, Vec::new()));
                depth += u8::from(lir.loops[*k].trips.repeats());
            }
            Ins::Leave(k) => {
                depth -= u8::from(lir.loops[*k].trips.repeats());
                if let Some((begin, values)) = around.pop() {
                    for v in values {
                        last[v.index()] = last[v.index()].max(2 * n + 1);
                        if let Some(outer) = around.last_mut()
                            && first[v.index()] < outer.0
                        {
                            outer.1.push(v);
                        }
                    }
                    debug_assert!(begin < 2 * n, "a loop that ends before it begins");
                }
            }
            _ => {
                let read = if ins.writes_early() { 2 * n + 2 } else { 2 * n };
                let mut uses: SmallVec<[V; 4]> = SmallVec::new();
                let mut made = None;
                ins.for_each_value(|v| uses.push(v), |v| made = Some(v));
                if let Some(v) = made {
                    first[v.index()] = first[v.index()].min(2 * n + 1);
                    last[v.index()] = last[v.index()].max(2 * n + 1);
                    uses_of[v.index()].add(depth);
                }
                for v in uses {
                    last[v.index()] = last[v.index()].max(read);
                    uses_of[v.index()].add(depth);
                    if let Some(inner) = around.last_mut()
                        && first[v.index()] < inner.0
                        && inner.1.last() != Some(&v)
                    {
                        inner.1.push(v);
                    }
                }
            }
        }
    }
    (first.into_iter().zip(last).collect(), uses_of)
}

/// Gives each value a home.
pub(super) fn allocate(lir: &Lir) -> Homes {
    let (mut lives, uses) = lives(lir);
    let mut of = vec![Home::None; lir.kinds.len()];
    for (&v, &at) in &lir.constants {
        of[v.index()] = Home::Constant(at);
    }
    let masks_apart = lir.isa == VectorIsa::Avx512;
    let is_mask =
        |v: usize| masks_apart && matches!(lir.kinds[v], ValueKind::Mask | ValueKind::HalfMask);
    let mut order: Vec<usize> =
        (0..lir.kinds.len()).filter(|&v| of[v] == Home::None && lives[v].0 != usize::MAX).collect();
    order.sort_unstable_by_key(|&v| (lives[v].0, v));
    let vectors: Vec<u8> = (0..(lir.isa.registers() - SCRATCH) as u8).rev().collect();
    let masks: Vec<u8> = (1..=MASKS as u8).rev().collect();
    let mut free = [vectors, masks];
    let mut active: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
    let mut frame: Vec<usize> = Vec::new();
    let mut used = 0u32;
    for v in order {
        let now = lives[v].0;
        let class = usize::from(is_mask(v));
        active[class].retain(|&other| {
            let over = lives[other].1 < now;
            if over && let Home::Register(r) = of[other] {
                free[class].push(r);
            }
            !over
        });
        if let Some(r) = free[class].pop() {
            of[v] = Home::Register(r);
            active[class].push(v);
            used |= u32::from(class == 0) << r;
            continue;
        }
        // The one to go is used in outer loops only, or least for the time that it would hold a
        // register.
        let worth = |v: usize| {
            let length = lives[v].1 - lives[v].0 + 1;
            (uses[v].depth, f64::from(uses[v].count) / length as f64)
        };
        let order = |a: usize, b: usize| {
            let ((depth_a, a_density), (depth_b, b_density)) = (worth(a), worth(b));
            depth_a.cmp(&depth_b).then(a_density.total_cmp(&b_density)).then(a.cmp(&b))
        };
        let least = active[class].iter().enumerate().min_by(|(_, a), (_, b)| order(**a, **b));
        match least.map(|(at, &w)| (at, w)) {
            Some((at, w)) if order(w, v).is_lt() => {
                of[v] = of[w];
                active[class][at] = v;
                frame.push(w);
            }
            _ => frame.push(v),
        }
    }
    let deepest = uses.iter().map(|u| u.depth).max().unwrap_or(0);
    let spilled = frame.iter().filter(|&&v| uses[v].depth == deepest).count();
    let bytes = place_in_frame(frame, &lives, lir.isa.bytes(), &mut of);
    // Registers that are left over hold the constants that are used most.
    let mut left: Vec<u8> =
        (0..(lir.isa.registers() - SCRATCH) as u8).filter(|r| used >> r & 1 == 0).collect();
    let mut hot: Vec<(V, usize)> = lir.constants.iter().map(|(&v, &at)| (v, at)).collect();
    let much = |v: V| (uses[v.index()].depth, uses[v.index()].count);
    hot.retain(|&(v, _)| much(v) > (0, 1));
    hot.sort_by(|&(a, _), &(b, _)| much(b).cmp(&much(a)).then(a.cmp(&b)));
    let mut pinned = Vec::new();
    for &(v, at) in &hot {
        let Some(r) = left.pop() else { break };
        of[v.index()] = Home::Register(r);
        lives[v.index()] = (0, usize::MAX);
        pinned.push((v, at));
    }
    let unpinned = hot.len() - pinned.len();
    Homes { of, lives, frame: bytes, spilled, pinned, unpinned }
}

/// Places in the frame, shared by values that do not live at the same time.
fn place_in_frame(
    mut values: Vec<usize>,
    lives: &[(usize, usize)],
    size: usize,
    of: &mut [Home],
) -> usize {
    values.sort_unstable_by_key(|&v| (lives[v].0, v));
    let mut bytes = 0;
    let mut free: Vec<usize> = Vec::new();
    let mut active: Vec<(usize, usize)> = Vec::new();
    for v in values {
        active.retain(|&(end, at)| {
            let over = end < lives[v].0;
            if over {
                free.push(at);
            }
            !over
        });
        let at = free.pop().unwrap_or_else(|| {
            bytes += size;
            bytes - size
        });
        of[v] = Home::Frame(at);
        active.push((lives[v].1, at));
    }
    bytes
}

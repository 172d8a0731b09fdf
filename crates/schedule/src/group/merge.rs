//! Nests of a group that go through the same space, as one nest.
//!
//! What one stores for another at the same position is then a value in a register, and what both read
//! or compute is read and computed once. If nobody else reads it, it is not stored at all.

use cotan_nest::{Affine, Also, BufferId, Instr, Nest, Val, Write};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::join::GroupItem;
use crate::target::Search;

/// An item and its dimension that the group shares.
pub(super) type Shared = (GroupItem, usize);

/// About how many cycles a nest takes for each position.
pub(super) type CostOf<'a> = &'a dyn Fn(&Nest) -> f64;

/// The items of a group with nests merged where that is less work. What is stored in `local` buffers
/// is for these items only.
pub(super) fn merge(
    items: Vec<Shared>,
    local: &FxHashSet<BufferId>,
    cost: CostOf,
    search: &Search,
) -> Vec<Shared> {
    let mut placed: Vec<Option<(Shared, Touched)>> = Vec::with_capacity(items.len());
    for (item, dim) in items {
        let mut next = Some((item, dim));
        let (last, mut at) = (placed.len(), placed.len());
        placed.push(None);
        for n in (0..last).rev().take(search.merge_tries) {
            let Some((item, dim)) = &next else { break };
            let Some((before, touched)) = &placed[n] else { continue };
            let Some(merged) = merged(before, (item, *dim), cost, search) else { continue };
            let between = || placed[n + 1..last].iter().flatten().map(|(_, touched)| touched);
            let own = Touched::of(item);
            if between().all(|other| !own.collides(other)) {
                at = n;
            } else if !between().all(|other| !touched.collides(other)) {
                continue;
            }
            placed[n] = None;
            next = Some(merged);
            // One more may go with both; it would have to come before them.
            break;
        }
        if let Some(next) = next {
            let touched = Touched::of(&next.0);
            placed[at] = Some((next, touched));
        }
    }
    let mut items: Vec<Shared> = placed.into_iter().flatten().map(|(item, _)| item).collect();
    drop_unread(&mut items, local);
    items
}

/// What an item reads and writes.
struct Touched {
    read: FxHashSet<BufferId>,
    written: FxHashSet<BufferId>,
}

impl Touched {
    fn of(item: &GroupItem) -> Touched {
        let mut touched = Touched { read: FxHashSet::default(), written: FxHashSet::default() };
        let mut nest = |nest: &Nest| {
            touched.written.insert(nest.target);
            touched.written.extend(nest.also.iter().map(|also| also.target));
            reads(nest, |b| {
                touched.read.insert(b);
            });
        };
        match item {
            GroupItem::Nest(own) => nest(own),
            GroupItem::Draft(draft) => {
                draft.nests().for_each(&mut nest);
                nest(&draft.whole);
            }
        }
        touched
    }

    /// Whether two must keep their order.
    fn collides(&self, other: &Touched) -> bool {
        let meet = |a: &FxHashSet<BufferId>, b: &FxHashSet<BufferId>| !a.is_disjoint(b);
        meet(&self.written, &other.written)
            || meet(&self.written, &other.read)
            || meet(&self.read, &other.written)
    }
}

fn reads(nest: &Nest, mut f: impl FnMut(BufferId)) {
    for instr in &nest.instrs {
        match instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => f(*buffer),
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
        }
    }
}

/// Two items as one, the first of which comes before the second, if that is possible and less work.
fn merged(
    (first, dim): &Shared,
    second: (&GroupItem, usize),
    cost_of: CostOf,
    search: &Search,
) -> Option<Shared> {
    let (GroupItem::Nest(a), (GroupItem::Nest(b), other)) = (first, second) else { return None };
    let instrs = a.instrs.len() + b.instrs.len();
    if a.extents.len() != b.extents.len() || instrs > search.max_merged_instrs {
        return None;
    }
    if a.extents.contains(&0) || reads_own(a) || reads_own(b) {
        return None;
    }
    // What is not a store says in which order the dimensions are.
    let base_is_first = match (&a.write, &b.write) {
        (Write::Store(_), Write::Store(_) | Write::Sum(_) | Write::Best { .. }) => false,
        (Write::Sum(_) | Write::Best { .. }, Write::Store(_)) => true,
        _ => return None,
    };
    let mut least = cost_of(a) + cost_of(b);
    let mut best = None;
    for to in correspondences(a, b, search.merge_ways).iter().filter(|to| to[*dim] == other) {
        let joined = if base_is_first {
            let mut from = DimMap::from_elem(0, to.len());
            to.iter().enumerate().for_each(|(n, &to)| from[to] = n);
            joined(a.clone(), permuted(b.clone(), &from), true)
        } else {
            joined(permuted(a.clone(), to), b.clone(), false)
        };
        let Some(nest) = joined else { continue };
        let cost = cost_of(&nest);
        if cost < least || cost == least && best.is_none() {
            (least, best) = (cost, Some(nest));
        }
    }
    let dim = if base_is_first { *dim } else { other };
    best.map(|nest| (GroupItem::Nest(nest), dim))
}

fn reads_own(nest: &Nest) -> bool {
    nest.reads(|b| b == nest.target || nest.also.iter().any(|also| also.target == b))
}

/// The stores of a nest: where, and what.
pub(super) fn stores(nest: &Nest) -> impl Iterator<Item = (BufferId, &Affine, Val)> {
    let main = match &nest.write {
        Write::Store(at) => Some((nest.target, at, nest.value)),
        _ => None,
    };
    nest.also.iter().map(|also| (also.target, &also.at, also.value)).chain(main)
}

/// A dimension for each of a nest.
type DimMap = SmallVec<[usize; 4]>;

/// For each dimension of the first nest that of the second which goes the same way through something
/// that the first stores or reads, and the second reads: the ways to choose them.
fn correspondences(a: &Nest, b: &Nest, most: usize) -> SmallVec<[DimMap; 2]> {
    let stored = stores(a).map(|(buffer, at, _)| (buffer, at));
    let mut found: SmallVec<[DimMap; 2]> = SmallVec::new();
    for (buffer, from) in stored.chain(loads(a)) {
        for (_, to) in loads(b).filter(|(other, _)| *other == buffer) {
            if let Some(dims) = matching(a, from, b, to)
                && !found.contains(&dims)
            {
                found.push(dims);
            }
            if found.len() == most {
                return found;
            }
        }
    }
    found
}

/// What a nest reads at affine places without checks.
fn loads(nest: &Nest) -> impl Iterator<Item = (BufferId, &Affine)> {
    nest.instrs.iter().filter_map(|instr| match instr {
        Instr::Load { buffer, at, checks } if checks.is_empty() => Some((*buffer, at)),
        _ => None,
    })
}

/// The dimensions of one form as those of another, if both are the same but for their order and all
/// positions of the space. Those that neither depends on are taken in their order.
fn matching(a: &Nest, from: &Affine, b: &Nest, to: &Affine) -> Option<DimMap> {
    if from.constant != to.constant {
        return None;
    }
    let mut taken: SmallVec<[bool; 4]> = SmallVec::from_elem(false, b.extents.len());
    let mut dims = DimMap::from_elem(0, a.extents.len());
    let matters = |dim: &usize| a.extents[*dim] > 1 && from.coeffs[*dim] != 0;
    let all = 0..a.extents.len();
    for dim in all.clone().filter(matters).chain(all.filter(|dim| !matters(dim))) {
        let extent = a.extents[dim];
        let same = |&other: &usize| {
            let alike = extent == 1 || from.coeffs[dim] == to.coeffs[other];
            !taken[other] && b.extents[other] == extent && alike
        };
        let other = (0..b.extents.len()).find(same)?;
        taken[other] = true;
        dims[dim] = other;
    }
    Some(dims)
}

/// A nest with its dimensions in another order: dimension `n` becomes `to[n]`.
fn permuted(mut nest: Nest, to: &[usize]) -> Nest {
    let mut extents = nest.extents.clone();
    to.iter().enumerate().for_each(|(n, &to)| extents[to] = nest.extents[n]);
    nest.extents = extents;
    nest.affines_mut().for_each(|affine| {
        let mut coeffs = affine.coeffs.clone();
        to.iter().enumerate().for_each(|(n, &to)| coeffs[to] = affine.coeffs[n]);
        affine.coeffs = coeffs;
    });
    nest
}

/// Two nests over the same space as one, which writes what the first does, or the second, and stores
/// what the other does.
fn joined(a: Nest, b: Nest, base_is_first: bool) -> Option<Nest> {
    if a.extents != b.extents {
        return None;
    }
    let made: FxHashMap<BufferId, (Affine, Val)> =
        stores(&a).map(|(buffer, at, value)| (buffer, (at.clone(), value))).collect();
    let written = |b: BufferId| b == a.target || made.contains_key(&b);
    // Each writes its own, and the first does not read what the second has yet to write.
    let others = stores(&b).map(|(buffer, ..)| buffer).chain([b.target]);
    for other in others {
        if written(other) || a.reads(|b| b == other) {
            return None;
        }
    }
    let mut known: FxHashMap<Instr, Val> = FxHashMap::default();
    for (n, instr) in a.instrs.iter().enumerate() {
        known.entry(instr.clone()).or_insert(Val(n as u32));
    }
    let (mut instrs, mut dtypes) = (a.instrs.clone(), a.dtypes.clone());
    let mut moved: Vec<Val> = Vec::with_capacity(b.instrs.len());
    for (instr, &dtype) in b.instrs.iter().zip(&b.dtypes) {
        let mut instr = instr.clone();
        instr.for_each_operand_mut(|v| *v = moved[v.index()]);
        let value = match &instr {
            Instr::Load { buffer, at, checks } if written(*buffer) => {
                let (stored, value) = made.get(buffer)?;
                (stored == at && checks.is_empty()).then_some(Some(*value))?
            }
            Instr::LoadAt { buffer, .. } if written(*buffer) => return None,
            // The same bits may be of another type.
            instr => known.get(instr).copied().filter(|v| dtypes[v.index()] == dtype),
        };
        moved.push(value.unwrap_or_else(|| {
            let value = Val(instrs.len() as u32);
            known.insert(instr.clone(), value);
            instrs.push(instr);
            dtypes.push(dtype);
            value
        }));
    }
    let (mut base, mut other) = (a, b);
    let place = |v: Val| moved[v.index()];
    other.value = place(other.value);
    other.also.iter_mut().for_each(|also| also.value = place(also.value));
    if !base_is_first {
        std::mem::swap(&mut base, &mut other);
    }
    let Write::Store(at) = other.write else { return None };
    let (value, target, source) = (other.value, other.target, other.source);
    let mut also = other.also;
    also.append(&mut base.also);
    also.push(Also { value, target, at, source });
    Some(Nest { instrs, dtypes, also, ..base })
}

/// Leaves out what is stored in local buffers that no item reads.
fn drop_unread(items: &mut [Shared], local: &FxHashSet<BufferId>) {
    let mut read: FxHashSet<BufferId> = FxHashSet::default();
    for (item, _) in items.iter() {
        read.extend(Touched::of(item).read);
    }
    let unread = |b: BufferId| local.contains(&b) && !read.contains(&b);
    for (item, _) in items.iter_mut() {
        let GroupItem::Nest(nest) = item else { continue };
        if nest.also.is_empty() {
            continue;
        }
        nest.also.retain(|also| !unread(also.target));
        if let Write::Store(_) = nest.write
            && unread(nest.target)
            && let Some(also) = nest.also.pop()
        {
            (nest.value, nest.target, nest.source) = (also.value, also.target, also.source);
            nest.write = Write::Store(also.at);
        }
    }
    for (item, _) in items.iter_mut() {
        if let GroupItem::Nest(nest) = item {
            *item = GroupItem::Nest(nest.clone().without_dead());
        }
    }
}

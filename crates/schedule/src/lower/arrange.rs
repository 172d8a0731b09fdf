//! Copies that are not made, and the order of elements in memory.
//!
//! What is computed only to be put into its place in a larger array, such as a part of a
//! concatenation, is written there at once. An array of many short rows, which nests go through with
//! the rows on their lanes, lies column by column, so that lanes are neighbours. Of an input there is
//! a copy that lies so, if it is read much more often than it has elements.

use cotan_nest::{Affine, Buffer, BufferId, Instr, Nest, Role, Step, Val, Write};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::places::{Digit, Relayout};
use super::twice::copy_sums;
use crate::order::least_cost;
use crate::target::{Gains, Target};

/// Copies the inputs of a program that should lie column by column.
pub(super) fn copy_columns(
    steps: &mut Vec<Step<Nest>>,
    buffers: &mut Vec<Buffer>,
    target: &Target,
) {
    let Target { costs, gains, .. } = target;
    let mut inputs: Vec<(BufferId, Vec<usize>)> = users_of(steps).into_iter().collect();
    inputs.retain(|(b, _)| matches!(buffers[b.index()].role, Role::Input(_)));
    inputs.sort_unstable_by_key(|(b, _)| *b);
    let mut copies = Vec::new();
    for (b, users) in inputs {
        let Some((rows, places)) = columns(&buffers[b.index()], gains) else { continue };
        let to = BufferId(buffers.len() as u32);
        let elements = buffers[b.index()].shape.numel();
        if buffers[b.index()].shape.dims().first() != Some(&rows) {
            continue;
        }
        let mut moved = Vec::new();
        for k in users {
            let Step::Compute(nest) = &steps[k] else { continue };
            let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
            if positions / elements < gains.min_column_reads {
                continue;
            }
            if let Some(nearer) = places.moved_nest(nest, b, to)
                && least_cost(&nearer, false, costs) < least_cost(nest, false, costs)
            {
                moved.push((k, nearer));
            }
        }
        if moved.is_empty() {
            continue;
        }
        for (k, nest) in moved {
            steps[k] = Step::Compute(Box::new(nest));
        }
        let dtype = buffers[b.index()].dtype;
        buffers.push(Buffer { role: Role::Temporary(0), ..buffers[b.index()].clone() });
        let (row, rows) = ((elements / rows) as i64, rows as i64);
        let form = |coeffs: [i64; 2]| Affine { constant: 0, coeffs: coeffs.into_iter().collect() };
        let load = Instr::Load { buffer: b, at: form([1, row]), checks: Vec::new() };
        copies.push(Step::Compute(Box::new(Nest {
            extents: vec![row as usize, rows as usize],
            reduced: 0,
            instrs: vec![load],
            dtypes: vec![dtype],
            value: Val(0),
            target: to,
            write: Write::Store(form([rows, 1])),
            also: Vec::new(),
            source: None,
        })));
    }
    steps.splice(0..0, copies);
}

/// Drops copies from a list of steps, and from the loops in it, and arranges arrays. What is `kept`
/// stays as it is.
pub(super) fn arrange(
    steps: &mut Vec<Step<Nest>>,
    buffers: &[Buffer],
    kept: &FxHashSet<BufferId>,
    target: &Target,
) {
    for step in steps.iter_mut() {
        if let Step::Loop(l) = step {
            let states = l.states.iter().flat_map(|&(init, state, next)| [init, state, next]);
            let arrays = l.inputs.iter().chain(&l.outputs).chain(&l.collected);
            let arrays = arrays.flat_map(|&(whole, part)| [whole, part]);
            let kept = states.chain(arrays).collect();
            arrange(&mut l.steps, buffers, &kept, target);
        }
    }
    copy_sums(steps, buffers, &target.gains);
    write_in_place(steps, buffers, kept, target);
    put_columns_together(steps, buffers, kept, target);
}

/// The steps that touch each buffer.
type StepsOfBuffers = FxHashMap<BufferId, Vec<usize>>;

fn users_of(steps: &[Step<Nest>]) -> StepsOfBuffers {
    let mut users = StepsOfBuffers::default();
    // What only packed operations touch stays where it is, and there may be very much of it.
    for step in steps.iter().filter(|step| !matches!(step, Step::Scalars(_))) {
        step.for_each_buffer(&mut |b| {
            users.entry(b).or_default();
        });
    }
    for (n, step) in steps.iter().enumerate() {
        step.for_each_buffer(&mut |b| {
            let Some(users) = users.get_mut(&b) else { return };
            if users.last() != Some(&n) {
                users.push(n);
            }
        });
    }
    users
}

fn write_in_place(
    steps: &mut Vec<Step<Nest>>,
    buffers: &[Buffer],
    kept: &FxHashSet<BufferId>,
    target: &Target,
) {
    let mut users = users_of(steps);
    let mut dropped = vec![false; steps.len()];
    // Nests that read parts of an array because these were moved there.
    let mut readers: FxHashSet<(usize, BufferId)> = FxHashSet::default();
    for n in (0..steps.len()).rev() {
        let Step::Compute(nest) = &steps[n] else { continue };
        let Some(copy) = CopyNest::of(nest, buffers, target) else { continue };
        if kept.contains(&copy.from) {
            continue;
        }
        let Some(moved) = copy.moved_users(steps, n, (&users, &readers), target) else { continue };
        let mut all = users.remove(&copy.to).unwrap_or_default();
        for (k, nest) in moved {
            if nest.reads(|b| b == copy.to) {
                readers.insert((k, copy.to));
            }
            steps[k] = Step::Compute(Box::new(nest));
            all.push(k);
        }
        all.retain(|&k| k != n);
        all.sort_unstable();
        all.dedup();
        users.insert(copy.to, all);
        users.remove(&copy.from);
        dropped[n] = true;
    }
    let mut dropped = dropped.into_iter();
    steps.retain(|_| dropped.next() != Some(true));
}

/// A copy of all elements of an array to places in another.
struct CopyNest {
    from: BufferId,
    to: BufferId,
    places: Relayout,
    /// Whether long runs of neighbours must stay together.
    large: bool,
}

impl CopyNest {
    fn of(nest: &Nest, buffers: &[Buffer], target: &Target) -> Option<CopyNest> {
        let Instr::Load { buffer, at, checks } = &nest.instrs[nest.value.index()] else {
            return None;
        };
        let Write::Store(to) = &nest.write else { return None };
        let source = &buffers[buffer.index()];
        let temporary = matches!(source.role, Role::Temporary(_));
        let whole = checks.is_empty() && at.constant == 0 && nest.also.is_empty();
        if *buffer == nest.target || !whole || !temporary {
            return None;
        }
        let mut digits: SmallVec<[Digit; 4]> = SmallVec::new();
        for (dim, &extent) in nest.extents.iter().enumerate() {
            let radix = i64::try_from(extent).ok()?;
            digits.push(Digit { stride: at.coeffs[dim], radix, to: to.coeffs[dim] });
        }
        let elements = source.shape.numel();
        let places = Relayout::new(digits, to.constant, elements)?;
        Some(CopyNest {
            from: *buffer,
            to: nest.target,
            places,
            large: elements > target.gains.max_scattered_elements,
        })
    }

    /// The nests that write and read the array, but for the copy at position `n`, as nests that
    /// write and read the other one.
    fn moved_users(
        &self,
        steps: &[Step<Nest>],
        n: usize,
        (users, readers): (&StepsOfBuffers, &FxHashSet<(usize, BufferId)>),
        target: &Target,
    ) -> Option<Vec<(usize, Nest)>> {
        let mine =
            users.get(&self.from).filter(|users| users.len() <= target.search.max_moved_users)?;
        // Before the copy the other one is only written to, but for the parts that were moved.
        for &k in users.get(&self.to)?.iter().take_while(|&&k| k < n) {
            let Step::Compute(nest) = &steps[k] else { return None };
            let writes = nest.target == self.to;
            let stores = matches!(nest.write, Write::Store(_));
            let reads = nest.reads(|b| b == self.to) && !readers.contains(&(k, self.to));
            if writes && !stores || reads {
                return None;
            }
        }
        let mut moved = Vec::with_capacity(mine.len());
        let mut written = false;
        for &k in mine.iter().filter(|&&k| k != n) {
            let Step::Compute(nest) = &steps[k] else { return None };
            let to = self.places.moved_nest(nest, self.from, self.to)?;
            if nest.target == self.from {
                // A sum of nothing fills its whole target with zeros.
                if nest.extents.contains(&0)
                    || k > n
                    || self.large && scatters(nest, &to, target.caches.line_bytes / 8)
                {
                    return None;
                }
                written = true;
            }
            moved.push((k, to));
        }
        written.then_some(moved)
    }
}

/// Whether a long run of neighbours that a nest writes is none any more.
fn scatters(nest: &Nest, moved: &Nest, line: usize) -> bool {
    nest.write.place().zip(moved.write.place()).is_some_and(|(a, b)| {
        (0..nest.extents.len())
            .any(|dim| nest.extents[dim] > line && a.coeffs[dim] == 1 && b.coeffs[dim] != 1)
    })
}

fn put_columns_together(
    steps: &mut [Step<Nest>],
    buffers: &[Buffer],
    kept: &FxHashSet<BufferId>,
    target: &Target,
) {
    let mut users: Vec<(BufferId, Vec<usize>)> = users_of(steps).into_iter().collect();
    users.sort_unstable_by_key(|(b, _)| *b);
    for (b, users) in users.iter().filter(|(b, users)| {
        !kept.contains(b)
            && users.len() <= target.search.max_moved_users
            && matches!(buffers[b.index()].role, Role::Temporary(_))
    }) {
        let Some((rows, places)) = columns(&buffers[b.index()], &target.gains) else { continue };
        let mut moved = Vec::with_capacity(users.len());
        let (mut written, mut apart) = (false, 0usize);
        for &k in users {
            let Step::Compute(nest) = &steps[k] else { break };
            let Some(to) = places.moved_nest(nest, *b, *b) else { break };
            written |= nest.target == *b;
            apart += usize::from(!runs_through_rows(nest, rows));
            moved.push((k, to));
        }
        if moved.len() == users.len() && written && 2 * apart > users.len() {
            for (k, nest) in moved {
                steps[k] = Step::Compute(Box::new(nest));
            }
        }
    }
}

/// The places of the elements of an array of many short rows when they lie column by column, and how
/// many rows there are.
fn columns(buffer: &Buffer, gains: &Gains) -> Option<(usize, Relayout)> {
    let dims = buffer.shape.dims();
    let axis = (0..dims.len()).max_by_key(|&axis| (dims[axis], std::cmp::Reverse(axis)))?;
    let (rows, row) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    if rows < gains.min_column_rows || !(2..=gains.max_column_elements).contains(&row) {
        return None;
    }
    let outer = dims[..axis].iter().product::<usize>();
    let size = |n: usize| i64::try_from(n).ok();
    let (n, k) = (size(rows)?, size(row)?);
    let all = n.checked_mul(k)?;
    let digits = smallvec![
        Digit { stride: 1, radix: k, to: n },
        Digit { stride: k, radix: n, to: 1 },
        Digit { stride: all, radix: size(outer)?, to: all },
    ];
    Some((rows, Relayout::new(digits, 0, buffer.shape.numel())?))
}

/// Whether a nest goes through rows and what is in them as through one dimension.
fn runs_through_rows(nest: &Nest, rows: usize) -> bool {
    let (collapsed, _) = nest.clone().collapse(None);
    collapsed.extents.iter().any(|&extent| extent > rows && extent % rows == 0)
}

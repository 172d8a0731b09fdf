//! Rows of which only a part counts.
//!
//! Of pairs of elements often only those with $i < j$ are wanted: the others are multiplied by 0, or
//! 0 is chosen in their place. For a block of rows $i$ the nests of a group need be run only for the
//! $j$ that some of these rows have something at. A value is *supported* by a form $d$ of the indices
//! if it is 0 wherever $d < 0$. A sum needs no elements but those of its support, and what nests hand
//! to each other is needed only where its readers go.

use std::ops::Range;

use cotan_ir::magnitude;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Touches, Val, Write};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::join::GroupItem;
use super::merge::{Shared, stores};

/// The positions that count: those with $j \ge i + s$, or those with $j \le i - s$.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wedge {
    /// The dimension of $j$.
    pub dim: usize,
    extent: usize,
    /// Whether the positions with large $j$ count.
    pub above: bool,
    /// How far they are from the diagonal.
    pub shift: i64,
}

impl Wedge {
    /// Where a form is not negative, if that is a wedge.
    fn of(form: &Affine, nest: &Nest, row: usize) -> Option<Wedge> {
        let mut others = (0..nest.extents.len()).filter(|&d| d != row && form.coeffs[d] != 0);
        let (Some(dim), None) = (others.next(), others.next()) else { return None };
        let above = match (form.coeffs[dim], form.coeffs[row]) {
            (1, -1) => true,
            (-1, 1) => false,
            _ => return None,
        };
        Some(Wedge { dim, extent: nest.extents[dim], above, shift: form.constant.checked_neg()? })
    }

    /// The number of the panel for a range of rows: of those that have all indices that count, the
    /// one with the fewest. Panels are given by how many indices they leave out.
    fn panel(&self, panels: &[usize], rows: &Range<usize>) -> usize {
        let clamp = |index: i64| index.clamp(0, self.extent as i64) as usize;
        let spared = if self.above {
            clamp((rows.start as i64).saturating_add(self.shift))
        } else {
            self.extent - clamp((rows.end as i64).saturating_sub(self.shift))
        };
        panels.partition_point(|&left_out| left_out <= spared).max(1) - 1
    }

    /// How many indices each of some panels leaves out.
    fn panels(&self, shape: PanelShape) -> SmallVec<[usize; 16]> {
        let PanelShape { count, most, line } = shape;
        let line = if self.extent >= most * line { line } else { 1 };
        let mut panels: SmallVec<[usize; 16]> =
            (0..count).map(|n| n * self.extent / count / line * line).collect();
        panels.dedup();
        panels
    }

    /// A nest for the indices of a panel that leaves out so many.
    fn cut(&self, nest: &Nest, left_out: usize) -> Nest {
        let mut nest = nest.clone();
        nest.extents[self.dim] -= left_out;
        if self.above {
            let dim = self.dim;
            nest.affines_mut().for_each(|at| {
                at.constant =
                    at.constant.wrapping_add(at.coeffs[dim].wrapping_mul(left_out as i64));
            });
        }
        nest
    }
}

/// How a wedge is cut into panels, each a nest for indices that begin, or end, at another place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PanelShape {
    /// How many panels there are.
    pub count: usize,
    /// How many there are if the nest is often run.
    pub most: usize,
    /// These places are multiples of it where there are many indices: whole lines of the cache.
    pub line: usize,
}

/// A nest that is run for the positions of a wedge.
#[derive(Debug)]
pub struct Wedged<K> {
    /// The positions that count.
    pub wedge: Wedge,
    /// How many indices each panel leaves out.
    panels: SmallVec<[usize; 16]>,
    /// For each panel.
    pub kernels: Vec<K>,
    /// The bytes of the target that are set to 0 before: what is left out must be there.
    pub zeroed: usize,
    /// The dimension of the rows.
    row: usize,
}

impl<K> Wedged<K> {
    /// A nest for the panels of a wedge.
    pub(super) fn new(
        nest: &Nest,
        (row, wedge): (usize, Wedge),
        zeroed: usize,
        shape: PanelShape,
        kernel: impl Fn(Nest) -> K,
    ) -> Wedged<K> {
        let panels = wedge.panels(shape);
        // Not collapsed: that would join the dimensions of some panels only.
        let kernels = panels.iter().map(|&left_out| kernel(wedge.cut(nest, left_out))).collect();
        Wedged { wedge, kernels, panels, zeroed, row }
    }

    /// The kernel for a range of rows: that of the panel with all indices that count for them.
    pub fn for_rows(&self, rows: &Range<usize>) -> &K {
        &self.kernels[self.wedge.panel(&self.panels, rows)]
    }

    /// The same with other kernels.
    pub fn map<L>(self, f: &mut impl FnMut(K) -> L) -> Wedged<L> {
        let Wedged { wedge, panels, kernels, zeroed, row } = self;
        Wedged { wedge, panels, kernels: kernels.into_iter().map(f).collect(), zeroed, row }
    }

    /// Which indices count, for people.
    pub fn describe(&self) -> String {
        let Wedge { dim, above, shift, .. } = self.wedge;
        let (compared, shift) = if above { (">=", shift) } else { ("<=", -shift) };
        let sign = if shift < 0 { "-" } else { "+" };
        match shift.unsigned_abs() {
            0 => format!(", blocks with i{dim} {compared} i{} only", self.row),
            by => format!(", blocks with i{dim} {compared} i{} {sign} {by} only", self.row),
        }
    }
}

/// What is known of a value: that it is 0 where a form is negative, or (without a form) everywhere.
type Support = Option<Option<Affine>>;

/// Which elements of a buffer an access goes through, and of which only those of a wedge count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WedgeReach {
    strides: SmallVec<[(i64, usize); 4]>,
    constant: i64,
    /// The stride of the dimension across the rows.
    across: i64,
    above: bool,
    shift: i64,
}

impl WedgeReach {
    fn of(at: &Affine, nest: &Nest, wedge: Wedge) -> Option<WedgeReach> {
        let across = at.coeffs[wedge.dim];
        let Wedge { above, shift, .. } = wedge;
        let (strides, constant) = (strides(at, &nest.extents), at.constant);
        (across != 0).then_some(WedgeReach { strides, constant, across, above, shift })
    }

    /// The wedge of a nest that writes these elements.
    fn wedge(&self, at: &Affine, nest: &Nest, row: usize) -> Option<Wedge> {
        if self.constant != at.constant || self.strides != strides(at, &nest.extents) {
            return None;
        }
        let dim = at.coeffs.iter().position(|&c| c == self.across).filter(|&dim| dim != row)?;
        Some(Wedge { dim, extent: nest.extents[dim], above: self.above, shift: self.shift })
    }
}

/// The strides of an access and how many positions each has, in a fixed order.
fn strides(at: &Affine, extents: &[usize]) -> SmallVec<[(i64, usize); 4]> {
    let all = at.coeffs.iter().copied().zip(extents.iter().copied());
    let mut strides: SmallVec<[(i64, usize); 4]> =
        all.filter(|&(stride, extent)| stride != 0 && extent > 1).collect();
    strides.sort_unstable();
    strides
}

/// The wedge of each nest, where it has one. `local` buffers are for these nests only, `parts` are of
/// sums over the rows, which can be set to 0 before.
pub(super) fn wedges(
    items: &[Shared],
    local: &FxHashSet<BufferId>,
    parts: &FxHashSet<BufferId>,
) -> Vec<Option<Wedge>> {
    let mut stored: ZeroedBuffers = FxHashMap::default();
    let mut supports: Vec<Vec<Support>> = Vec::with_capacity(items.len());
    for (item, _) in items {
        let GroupItem::Nest(nest) = item else {
            supports.push(Vec::new());
            continue;
        };
        let known = supports_of(nest, &stored);
        // What a buffer held before does not count any more.
        stored.remove(&nest.target);
        for (buffer, at, value) in stores(nest) {
            match &known[value.index()] {
                Some(Some(form)) => {
                    stored.insert(buffer, (at.clone(), nest.extents.clone(), form.clone()));
                }
                _ => drop(stored.remove(&buffer)),
            }
        }
        supports.push(known);
    }
    // From the last to the first, as what is made is needed where its readers go.
    let mut needed: FxHashMap<BufferId, Option<WedgeReach>> = FxHashMap::default();
    let mut wedges = vec![None; items.len()];
    for (n, (item, row)) in items.iter().enumerate().rev() {
        if let GroupItem::Nest(nest) = item {
            wedges[n] = wedge_of(nest, *row, &supports[n], &needed, local, parts);
        }
        let mut read = |b: BufferId, reach: Option<WedgeReach>| {
            let known = needed.entry(b).or_insert_with(|| reach.clone());
            if *known != reach {
                *known = None;
            }
        };
        match item {
            GroupItem::Draft(draft) => draft.for_each_buffer(&mut |b| read(b, None)),
            GroupItem::Nest(nest) => {
                for instr in &nest.instrs {
                    match instr {
                        Instr::Load { buffer, at, .. } => {
                            read(*buffer, wedges[n].and_then(|w| WedgeReach::of(at, nest, w)));
                        }
                        Instr::LoadAt { buffer, .. } => read(*buffer, None),
                        Instr::Const(_) | Instr::Affine(_) => {}
                        Instr::Op(..) | Instr::MulAdd { .. } => {}
                    }
                }
            }
        }
    }
    wedges
}

/// Buffers with elements that are 0: how a nest goes through them, and where they are not.
type ZeroedBuffers = FxHashMap<BufferId, (Affine, Vec<usize>, Affine)>;

fn wedge_of(
    nest: &Nest,
    row: usize,
    supports: &[Support],
    needed: &FxHashMap<BufferId, Option<WedgeReach>>,
    local: &FxHashSet<BufferId>,
    parts: &FxHashSet<BufferId>,
) -> Option<Wedge> {
    let mut wedge: Option<Wedge> = None;
    if let Write::Sum(_) = nest.write {
        let form = supports[nest.value.index()].as_ref()?.as_ref()?;
        let own = Wedge::of(form, nest, row)?;
        let parallel = nest.extents.len() - nest.reduced;
        if own.dim < parallel && !parts.contains(&nest.target) {
            return None;
        }
        wedge = Some(own);
    } else if !matches!(nest.write, Write::Store(_)) {
        return None;
    }
    for (buffer, at, _) in stores(nest) {
        if !local.contains(&buffer) {
            return None;
        }
        let reach = needed.get(&buffer)?.as_ref()?;
        let own = reach.wedge(at, nest, row)?;
        if *wedge.get_or_insert(own) != own {
            return None;
        }
    }
    wedge
}

/// What is known of the values of a nest.
fn supports_of(nest: &Nest, stored: &ZeroedBuffers) -> Vec<Support> {
    let mut known: Vec<Support> = Vec::with_capacity(nest.instrs.len());
    for (n, instr) in nest.instrs.iter().enumerate() {
        let of = |v: &Val| known[v.index()].clone();
        let support = match instr {
            Instr::Const(0) if nest.dtypes[n].is_float() => Some(None),
            Instr::Load { buffer, at, checks } if checks.is_empty() => {
                stored.get(buffer).and_then(|stored| moved(stored, at, nest)).map(Some)
            }
            Instr::Op(Op::Scale, args) => of(&args[0]),
            Instr::Op(Op::StrongMul, args) => of(&args[0]).or_else(|| of(&args[1])),
            Instr::Op(Op::Neg, args) => of(&args[0]),
            Instr::Op(Op::Add | Op::Sub, args) => match (of(&args[0]), of(&args[1])) {
                (Some(None), other) | (other, Some(None)) => other,
                (Some(a), Some(b)) if a == b => Some(a),
                _ => None,
            },
            Instr::Op(Op::Mul, args) => {
                let times = |a: &Val, b: &Val| of(a).filter(|_| finite(nest, *b));
                times(&args[0], &args[1]).or_else(|| times(&args[1], &args[0]))
            }
            Instr::Op(Op::Select, args) => match (of(&args[1]), of(&args[2])) {
                (Some(None), Some(None)) => Some(None),
                // Where the condition holds, or does not.
                (_, Some(None)) => condition(nest, args[0], true).map(Some),
                (Some(None), _) => condition(nest, args[0], false).map(Some),
                (Some(a), Some(b)) if a == b => Some(a),
                _ => None,
            },
            Instr::Const(_) | Instr::Affine(_) | Instr::Load { .. } | Instr::LoadAt { .. } => None,
            Instr::Op(..) | Instr::MulAdd { .. } => None,
        };
        known.push(support);
    }
    known
}

/// Whether a value is a finite number that is known: times that, 0 stays 0.
fn finite(nest: &Nest, v: Val) -> bool {
    let dtype = nest.dtypes[v.index()];
    matches!(&nest.instrs[v.index()], Instr::Const(bits)
        if dtype.is_float() && magnitude::of_bits(*bits, dtype).is_some())
}

/// A form that is negative exactly where a comparison of indices does not hold, or does.
fn condition(nest: &Nest, v: Val, holds: bool) -> Option<Affine> {
    let Instr::Op(op, args) = &nest.instrs[v.index()] else { return None };
    let index = |v: Val| match &nest.instrs[v.index()] {
        Instr::Affine(affine) => Some(affine),
        _ => None,
    };
    let (a, b) = (index(*args.first()?)?, index(*args.get(1)?)?);
    // Forms of moderate size only: they do not wrap.
    for form in [a, b] {
        form.range(&nest.extents).filter(|(lo, hi)| *lo > -(1 << 40) && *hi < 1 << 40)?;
    }
    let (less, strict) = match (op, holds) {
        (Op::Lt, true) | (Op::Ge, false) => (true, true),
        (Op::Le, true) | (Op::Gt, false) => (true, false),
        (Op::Gt, true) | (Op::Le, false) => (false, true),
        (Op::Ge, true) | (Op::Lt, false) => (false, false),
        _ => return None,
    };
    let (small, large) = if less { (a, b) } else { (b, a) };
    let mut form = large.plus(-1, small)?;
    form.constant = form.constant.checked_sub(i64::from(strict))?;
    Some(form)
}

/// The form of what was stored, in the indices of a nest that reads it in the same way.
fn moved(
    (at, extents, form): &(Affine, Vec<usize>, Affine),
    to: &Affine,
    nest: &Nest,
) -> Option<Affine> {
    if at.constant != to.constant {
        return None;
    }
    let mut moved = Affine::constant(form.constant, nest.extents.len());
    for (dim, &c) in form.coeffs.iter().enumerate().filter(|(_, c)| **c != 0) {
        let stride = Some(at.coeffs[dim]).filter(|&stride| stride != 0)?;
        let other = to.coeffs.iter().position(|&c| c == stride)?;
        if nest.extents[other] != extents[dim] {
            return None;
        }
        moved.coeffs[other] = c;
    }
    // Dimensions that the form does not depend on must not reach into those that it does.
    (strides(at, extents) == strides(to, &nest.extents)).then_some(moved)
}

#[cfg(test)]
mod tests;

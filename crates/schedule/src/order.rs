//! The order of a nest's loops: which dimension is on the lanes, which loop is around which, and in
//! which loop each instruction is computed.

use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Touches, Val, Write};
use smallvec::SmallVec;

use crate::target::{Costs, Target, Unrolling};

/// A nest with the order of its loops.
#[derive(Debug)]
pub struct LoopOrder {
    /// The nest. Products that are added to something may be fused with the addition.
    pub nest: Nest,
    /// The dimension that each loop runs over, outermost first: parallel dimensions around reduced
    /// ones.
    pub dims: Vec<usize>,
    /// The loop over the dimension on the lanes, the innermost of its kind; `None` if the nest has no
    /// dimensions.
    pub lane_loop: Option<usize>,
    /// The first loop over a reduced dimension.
    pub first_reduced: usize,
    /// The loop whose dimension a run may be restricted to a range of.
    pub block: usize,
    /// How many loops are around each instruction: it is computed in the innermost one that it
    /// depends on.
    pub levels: Vec<usize>,
    /// The factors, if products are added up, each rounded once with the sum.
    pub product: Option<(Val, Val)>,
    /// A parallel dimension of few positions that share what is read along the lanes: they may be done
    /// side by side, without a loop.
    pub jam: Option<usize>,
    /// How many results may be computed side by side.
    pub unrolling: Unrolling,
}

impl LoopOrder {
    /// Chooses the order of a nest that is run for ranges of a dimension. `in_order` keeps sums in
    /// the order of their indices, and rounds products.
    pub fn new(nest: Nest, in_order: bool, block: Option<usize>, target: &Target) -> LoopOrder {
        let lane = choose_lane(&nest, in_order, &target.costs);
        let parallel = nest.extents.len() - nest.reduced;
        let lanes_reduced = lane.is_some_and(|lane| lane >= parallel);
        // Parallel dimensions around reduced ones; the lanes innermost among their own.
        let mut dims: Vec<usize> = (0..parallel).filter(|&dim| Some(dim) != lane).collect();
        if let Some(at) = dims.iter().position(|&dim| Some(dim) == block) {
            dims[..=at].rotate_right(1);
        }
        if !lanes_reduced {
            dims.extend(lane);
        }
        let first_reduced = dims.len();
        dims.extend((parallel..nest.extents.len()).filter(|&dim| Some(dim) != lane));
        if lanes_reduced {
            dims.extend(lane);
        }
        let loop_of = |dim: Option<usize>| dims.iter().position(|&d| Some(d) == dim);
        let (lane_loop, block) = (loop_of(lane), loop_of(block).unwrap_or(0));
        let levels = levels(&nest, &dims);
        let (mut nest, mut product) = (nest, None);
        if !in_order {
            product = fuse_products(&mut nest, &levels, dims.len());
        }
        let unrolling = target.unrolling;
        let blocked = dims.get(block).copied();
        let jam = lane.and_then(|lane| jam(&nest, lane, blocked, unrolling.max_jam));
        LoopOrder { nest, dims, lane_loop, first_reduced, block, levels, product, jam, unrolling }
    }

    /// The dimension that a run may be restricted to a range of.
    pub fn blocked(&self) -> Option<usize> {
        self.dims.get(self.block).copied()
    }

    /// How many indices that dimension has.
    pub fn positions(&self) -> usize {
        self.blocked().map_or(1, |dim| self.nest.extents[dim])
    }
}

impl AsRef<Nest> for LoopOrder {
    fn as_ref(&self) -> &Nest {
        &self.nest
    }
}

impl Touches for LoopOrder {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.nest.for_each_buffer(f);
    }
}

/// A dimension of at most so many positions that share what is read along lanes, if its loop is
/// outside.
fn jam(nest: &Nest, lane: usize, blocked: Option<usize>, most: usize) -> Option<usize> {
    if !matches!(nest.write, Write::Store(_) | Write::Sum(_) | Write::Best { .. }) {
        return None;
    }
    let parallel = nest.extents.len() - nest.reduced;
    let shared = |dim: usize| {
        nest.instrs.iter().any(|instr| match instr {
            Instr::Load { at, checks, .. } => {
                let mut all = std::iter::once(at).chain(checks.iter().map(|(form, _)| form));
                at.coeffs[lane] != 0 && all.all(|form| form.coeffs[dim] == 0)
            }
            _ => false,
        })
    };
    (0..parallel).find(|&dim| {
        let few = (2..=most).contains(&nest.extents[dim]);
        few && dim != lane && Some(dim) != blocked && shared(dim)
    })
}

/// How many loops are around each instruction.
fn levels(nest: &Nest, dims: &[usize]) -> Vec<usize> {
    let depth_of_dim: SmallVec<[usize; 8]> = (0..nest.extents.len())
        .map(|dim| dims.iter().position(|&d| d == dim).map_or(0, |at| at + 1))
        .collect();
    let deepest = |affine: &Affine| {
        let along = affine.coeffs.iter().zip(&depth_of_dim).filter(|(c, _)| **c != 0);
        along.map(|(_, &depth)| depth).max().unwrap_or(0)
    };
    let mut levels: Vec<usize> = Vec::with_capacity(nest.instrs.len());
    for instr in &nest.instrs {
        let mut level = match instr {
            Instr::Affine(affine) => deepest(affine),
            Instr::Load { at, checks, .. } => {
                checks.iter().map(|(check, _)| deepest(check)).fold(deepest(at), usize::max)
            }
            Instr::Const(_) | Instr::LoadAt { .. } => 0,
            Instr::Op(..) | Instr::MulAdd { .. } => 0,
        };
        instr.for_each_operand(|v| level = level.max(levels[v.index()]));
        levels.push(level);
    }
    levels
}

/// Makes one instruction of a product and the sum that alone uses it, in the same loop; gives the
/// factors if the products themselves are added up.
pub fn fuse_products(nest: &mut Nest, level: &[usize], innermost: usize) -> Option<(Val, Val)> {
    let mut uses = vec![0u32; nest.instrs.len()];
    nest.instrs.iter().for_each(|instr| instr.for_each_operand(|v| uses[v.index()] += 1));
    nest.for_each_written(|v| uses[v.index()] += 1);
    let factors = |nest: &Nest, v: Val| match &nest.instrs[v.index()] {
        Instr::Op(Op::Mul, args) if uses[v.index()] == 1 && nest.dtypes[v.index()].is_float() => {
            Some((args[0], args[1]))
        }
        _ => None,
    };
    for n in 0..nest.instrs.len() {
        let Instr::Op(op @ (Op::Add | Op::Sub), args) = &nest.instrs[n] else { continue };
        let (x, y, minus) = (args[0], args[1], *op == Op::Sub);
        let here = |v: Val| level[v.index()] == level[n];
        let fused = match (factors(nest, x).filter(|_| here(x)), factors(nest, y)) {
            (Some((a, b)), _) => {
                Instr::MulAdd { args: [a, b, y], minus_product: false, minus_addend: minus }
            }
            // x * x is never -0, so 0 + x * x is x * x.
            (None, Some((a, b)))
                if a == b && !minus && nest.instrs[x.index()] == Instr::Const(0) =>
            {
                Instr::Op(Op::Mul, SmallVec::from_slice(&[a, b]))
            }
            (None, Some((a, b))) if here(y) => {
                Instr::MulAdd { args: [a, b, x], minus_product: minus, minus_addend: false }
            }
            _ => continue,
        };
        nest.instrs[n] = fused;
    }
    let summed = matches!(nest.write, Write::Sum(_)) && level[nest.value.index()] == innermost;
    factors(nest, nest.value).filter(|_| summed)
}

/// The dimension on the lanes.
pub(crate) fn choose_lane(nest: &Nest, in_order: bool, costs: &Costs) -> Option<usize> {
    let dims = nest.extents.len();
    let last = dims.checked_sub(1)?;
    if nest.write.scatters() {
        // The order of what is written is that of the indices.
        return Some(last);
    }
    // Of equals the last.
    let all = (0..lane_choices(nest, in_order)).map(|dim| lane_cost(nest, dim, costs));
    all.enumerate().min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(dim, _)| dim)
}

/// The number of dimensions that may be on the lanes.
fn lane_choices(nest: &Nest, in_order: bool) -> usize {
    nest.extents.len() - if in_order { nest.reduced } else { 0 }
}

/// About how many cycles a nest takes for each position.
pub(crate) fn least_cost(nest: &Nest, in_order: bool, costs: &Costs) -> f64 {
    let all = (0..lane_choices(nest, in_order)).map(|dim| lane_cost(nest, dim, costs));
    all.reduce(f64::min).unwrap_or(0.0)
}

/// About how many cycles a nest takes with a dimension on the lanes, for each position.
///
/// Lanes are the innermost loop of parallel dimensions, around those that are reduced, or the
/// innermost of all. What does not depend on the loops inside is computed outside of them.
fn lane_cost(nest: &Nest, lane: usize, costs: &Costs) -> f64 {
    let parallel = nest.extents.len() - nest.reduced;
    let extent = nest.extents[lane].max(1) as f64;
    let vectors = nest.extents[lane].div_ceil(costs.lanes).max(1) as f64;
    let inside = match lane < parallel {
        true => nest.extents[parallel..].iter().fold(1.0, |n, &k| n * k.max(1) as f64),
        false => 1.0,
    };
    // For each vector of the innermost loop.
    let access = |at: &Affine| match at.coeffs[lane] {
        0 | 1 => costs.near,
        -1 => costs.reversed,
        -7..=7 => costs.apart,
        _ => costs.far,
    };
    let mut cost = 0.0;
    for instr in &nest.instrs {
        cost += match instr {
            Instr::Const(_) | Instr::Affine(_) => 0.0,
            Instr::Load { at, .. } => {
                let reduced = at.coeffs[parallel..].iter().any(|&c| c != 0);
                match at.coeffs[lane] {
                    0 if lane >= parallel => costs.near / vectors,
                    0 if !reduced => costs.near / (vectors * inside),
                    _ if lane < parallel && !reduced => access(at) / inside,
                    _ => access(at),
                }
            }
            Instr::LoadAt { .. } => costs.far,
            Instr::Op(..) | Instr::MulAdd { .. } => 1.0,
        };
    }
    cost += nest.also.iter().map(|also| access(&also.at)).sum::<f64>();
    cost += match &nest.write {
        Write::Store(at) => access(at),
        Write::Sum(at) | Write::Best { at, .. } | Write::Extreme { at, .. } if lane < parallel => {
            access(at) / inside
        }
        _ => {
            let others = nest.extents[parallel..].iter().fold(1.0, |n, &k| n * k.max(1) as f64);
            costs.fold * extent / (others * vectors)
        }
    };
    (cost * vectors + costs.begin / inside) / extent
}

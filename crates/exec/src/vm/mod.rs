//! The tile machine: nests run by kernels over tiles of elements that stay in the first cache.
//!
//! One dimension of the nest is on the *lanes*: its indices are taken a tile at a time, and every
//! instruction that depends on it computes a whole tile. The other dimensions are loops around.
//! An instruction is computed in the loop of the innermost dimension that it depends on.

mod exec;
mod extremes;
mod scalars;
mod sums;
mod tile;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use smallvec::SmallVec;

use crate::lower::op_cost;
use crate::nest::{Affine, Instr, Nest, Val, Write};
pub(crate) use exec::{Frame, POLL};
pub(crate) use scalars::{MAX_PACKED, Scalars};
#[cfg(target_arch = "x86_64")]
pub(crate) use sums::ACCUMULATOR_BYTES;
pub(crate) use sums::{add_to, add_up};
#[cfg(target_arch = "x86_64")]
pub(crate) use tile::run as run_code;
pub(crate) use tile::{Code, code_of};

/// Lanes of a tile at most. A tile of eight-byte elements has 2 KiB.
pub(crate) const TILE: usize = 256;

/// Lanes that machine code is given at least, if there are so many: the first that do not take too
/// long.
const LANES_AT_A_TIME: [usize; 4] = [64, 32, 16, 8];

/// Machine code does not stop on its way. Kernels that would do more than this between looks at the
/// limits of a run, in additions, are left to the tile machine: those that reduce very many elements
/// to one, and take no part of them at a time. Vectors make several additions in a nanosecond.
pub(crate) const LONGEST: usize = 1 << 27;

/// A nest, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub nest: Nest,
    /// The loops, outermost first: extents in tiles for the lane dimension, in indices for others.
    loops: Vec<usize>,
    /// Which dimension of the nest each loop runs over.
    dims: Vec<usize>,
    /// The loop over tiles; `None` when the nest has a single position.
    lane_loop: Option<usize>,
    /// How many indices there are on the lane dimension.
    lanes: usize,
    /// How many lanes a tile has.
    width: usize,
    /// The instructions by the loop they belong to: `levels[0]` outside of all.
    levels: Vec<Vec<Planned>>,
    /// The first loop over a reduced dimension.
    first_reduced: usize,
    /// Whether the lanes are reduced.
    lanes_reduced: bool,
    /// The loop whose dimension a run may be restricted to a range of.
    block: usize,
    /// The factors, if products are added up, each rounded once with the sum.
    product: Option<(Val, Val)>,
    registers: usize,
    /// What a position of the blocked dimension costs, and a tile, in additions.
    pub weight: usize,
    tile_weight: usize,
    /// How many positions are run by machine code at a time: it does not stop on its way.
    piece: usize,
    /// The same in machine code.
    #[cfg(target_arch = "x86_64")]
    pub native: Option<crate::jit::Native>,
}

/// An instruction of the nest with where its value goes.
#[derive(Debug)]
struct Planned {
    val: Val,
    dtype: Dtype,
    /// Whether it has one value for all lanes.
    uniform: bool,
    /// Whether a uniform value is needed on all lanes.
    spread: bool,
    register: u32,
    /// What computes it, if it is an operation.
    code: Option<Code>,
}

impl Kernel {
    /// Plans a nest that is run for ranges of a dimension. `in_order` keeps sums in the order of
    /// their indices, and rounds products.
    pub(crate) fn new(nest: Nest, in_order: bool, block: Option<usize>) -> Kernel {
        let lane = choose_lane(&nest, in_order);
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
        let lane_loop = lane.and_then(|lane| dims.iter().position(|&dim| dim == lane));
        let lanes = lane.map_or(1, |lane| nest.extents[lane]);
        let width = lanes.clamp(1, TILE);
        let loops = dims
            .iter()
            .map(|&dim| match Some(dim) == lane {
                true => lanes.div_ceil(width),
                false => nest.extents[dim],
            })
            .collect();
        let mut kernel = Kernel {
            nest,
            loops,
            dims,
            lane_loop,
            lanes,
            width,
            levels: Vec::new(),
            first_reduced,
            lanes_reduced,
            block: 0,
            product: None,
            registers: 0,
            weight: 0,
            tile_weight: 0,
            piece: usize::MAX,
            #[cfg(target_arch = "x86_64")]
            native: None,
        };
        kernel.block =
            block.and_then(|dim| kernel.dims.iter().position(|&d| d == dim)).unwrap_or(0);
        kernel.plan(lane, in_order);
        kernel.piece = kernel.positions_at_a_time();
        kernel
    }

    /// How many positions may be run without a look at the limits of the run. What is summed over
    /// is run at once.
    fn positions_at_a_time(&self) -> usize {
        if self.block >= self.first_reduced {
            return usize::MAX;
        }
        let fit = POLL / self.weight.max(1);
        if self.lane_loop != Some(self.block) {
            return fit.max(1);
        }
        // Whole vectors, and several of them if they do not take too long.
        let few = LANES_AT_A_TIME
            .into_iter()
            .find(|lanes| lanes.saturating_mul(self.weight) <= LONGEST / 2);
        let [most, .., least] = LANES_AT_A_TIME;
        if fit >= most { fit / most * most } else { few.unwrap_or(least) }
    }

    /// The most work that machine code does for a range of so many positions without a look at the
    /// limits of the run.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn at_a_time(&self, positions: usize) -> usize {
        self.weight.saturating_mul(positions.min(self.piece))
    }

    /// How it goes through the nest.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn order(&self) -> crate::jit::Order<'_> {
        crate::jit::Order {
            nest: &self.nest,
            dims: &self.dims,
            lane: self.lane_loop.map(|k| self.dims[k]),
            first_reduced: self.first_reduced,
            block: self.block,
            product: self.product,
            jam: None,
        }
    }

    /// The dimension that a run may be restricted to a range of.
    pub(crate) fn blocked(&self) -> Option<usize> {
        self.dims.get(self.block).copied()
    }

    /// How many indices the dimension has that a run may be restricted to a range of.
    pub(crate) fn positions(&self) -> usize {
        self.dims.get(self.block).map_or(1, |&dim| self.nest.extents[dim])
    }

    /// Sorts instructions into loops and gives them registers.
    fn plan(&mut self, lane: Option<usize>, in_order: bool) {
        let nest = &mut self.nest;
        let depth_of_dim: Vec<usize> = (0..nest.extents.len())
            .map(|dim| self.dims.iter().position(|&d| d == dim).map_or(0, |at| at + 1))
            .collect();
        let count = nest.instrs.len();
        let (mut level, mut uniform) = (vec![0usize; count], vec![true; count]);
        let mut depends = |n: usize, affine: &Affine, level: &mut [usize]| {
            for (dim, &c) in affine.coeffs.iter().enumerate() {
                if c != 0 {
                    level[n] = level[n].max(depth_of_dim[dim]);
                    uniform[n] &= Some(dim) != lane;
                }
            }
        };
        for (n, instr) in nest.instrs.iter().enumerate() {
            match instr {
                Instr::Affine(affine) => depends(n, affine, &mut level),
                Instr::Load { at, checks, .. } => {
                    depends(n, at, &mut level);
                    checks.iter().for_each(|(affine, _)| depends(n, affine, &mut level));
                }
                Instr::Const(_) | Instr::LoadAt { .. } => {}
                Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
        }
        for (n, instr) in nest.instrs.iter().enumerate() {
            instr.for_each_operand(|v| {
                level[n] = level[n].max(level[v.index()]);
                uniform[n] &= uniform[v.index()];
            });
        }
        if !in_order {
            self.product = fuse_products(nest, &level, self.loops.len());
        }
        // Positions of the dimensions around an instruction, but for those that a run has a range of.
        let around = |level: usize| {
            let dims = self.dims.iter().enumerate().take(level).filter(|(k, _)| *k != self.block);
            dims.fold(1usize, |n, (_, &dim)| n.saturating_mul(nest.extents[dim]))
        };
        let each = |instr: &Instr| weight(instr).saturating_mul(self.width);
        let write = write_weight(&nest.write);
        self.tile_weight =
            nest.instrs.iter().map(each).fold(write * self.width, usize::saturating_add);
        self.weight = nest
            .instrs
            .iter()
            .zip(&level)
            .fold(write.saturating_mul(around(self.loops.len())), |sum, (instr, &level)| {
                sum.saturating_add(weight(instr).saturating_mul(around(level)))
            });
        let mut used = vec![false; count];
        let mut written: SmallVec<[Val; 4]> = SmallVec::new();
        match self.product {
            Some((a, b)) => {
                written.extend([a, b]);
                written.extend(nest.also.iter().map(|also| also.value));
            }
            None => nest.for_each_written(|v| written.push(v)),
        }
        written.iter().for_each(|v| used[v.index()] = true);
        for n in (0..count).rev() {
            if used[n] {
                nest.instrs[n].for_each_operand(|v| used[v.index()] = true);
            }
        }
        // What a tile of lanes reads must be a tile.
        let mut spread = vec![false; count];
        written.iter().for_each(|v| spread[v.index()] = true);
        for (n, instr) in nest.instrs.iter().enumerate() {
            if !uniform[n] {
                instr.for_each_operand(|v| spread[v.index()] = true);
            }
        }
        self.levels = (0..=self.loops.len()).map(|_| Vec::new()).collect();
        let registers = assign_registers(nest, &level, &used, self.loops.len(), &written);
        self.registers = registers.iter().copied().max().map_or(0, |most| most + 1);
        for (n, instr) in nest.instrs.iter().enumerate() {
            if !used[n] {
                continue;
            }
            let dtype = nest.dtypes[n];
            let code = match instr {
                Instr::Const(_) | Instr::Affine(_) => None,
                Instr::Load { .. } | Instr::LoadAt { .. } => None,
                Instr::Op(op, args) => {
                    let types: SmallVec<[Dtype; 3]> =
                        args.iter().map(|v| nest.dtypes[v.index()]).collect();
                    Some(code_of(*op, &types))
                }
                Instr::MulAdd { minus_product, minus_addend, .. } => {
                    Some(tile::mul_add(dtype, *minus_product, *minus_addend))
                }
            };
            self.levels[level[n]].push(Planned {
                val: Val(n as u32),
                dtype,
                uniform: uniform[n],
                spread: spread[n],
                register: registers[n] as u32,
                code,
            });
        }
        // A long program has many kernels.
        self.levels.iter_mut().for_each(Vec::shrink_to_fit);
        self.nest.instrs.shrink_to_fit();
        self.nest.dtypes.shrink_to_fit();
    }
}

/// About what an instruction costs, in additions.
fn weight(instr: &Instr) -> usize {
    match instr {
        Instr::Const(_) | Instr::Affine(_) => 0,
        Instr::Load { .. } | Instr::MulAdd { .. } => 1,
        Instr::LoadAt { .. } => COMPUTED,
        Instr::Op(op, _) => {
            // Those that vectors are no help with take longer than what they are counted as.
            let longer = match op {
                Op::Lgamma | Op::Digamma | Op::Polygamma => 16,
                Op::FloorDiv | Op::Rem => 4,
                _ => 1,
            };
            longer * op_cost(*op) as usize
        }
    }
}

fn write_weight(write: &Write) -> usize {
    match write {
        Write::Store(_) => STORED,
        Write::Sum(_) | Write::Best { .. } => 1,
        Write::Extreme { .. } => 4,
        Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => COMPUTED,
    }
}

/// What it costs to store an element, in additions: the page may be new, which the system then clears.
const STORED: usize = 4;

/// What an access to a computed place costs, in additions: it may be far.
const COMPUTED: usize = 32;

/// Registers for values: in the innermost loop they are used again after the last use.
fn assign_registers(
    nest: &Nest,
    level: &[usize],
    used: &[bool],
    innermost: usize,
    written: &[Val],
) -> Vec<usize> {
    let count = nest.instrs.len();
    let mut last = vec![0usize; count];
    for (n, instr) in nest.instrs.iter().enumerate() {
        if used[n] {
            instr.for_each_operand(|v| last[v.index()] = n);
        }
    }
    written.iter().for_each(|v| last[v.index()] = usize::MAX);
    let mut registers = vec![0usize; count];
    let (mut free, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    for n in 0..count {
        if !used[n] {
            continue;
        }
        // A value of an outer loop shares its register with nothing: inner loops come after.
        let again = if level[n] == innermost { free.pop() } else { None };
        registers[n] = again.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        // A value of an outer loop is needed again in the next round of the inner one.
        let mut released: SmallVec<[Val; 4]> = SmallVec::new();
        nest.instrs[n].for_each_operand(|v| {
            let inner = level[v.index()] == innermost;
            if inner && last[v.index()] == n && !released.contains(&v) {
                released.push(v);
            }
        });
        if level[n] == innermost {
            free.extend(released.iter().map(|v| registers[v.index()]));
        }
    }
    registers
}

/// Makes one instruction of a product and the sum that alone uses it, in the same loop; gives the
/// factors if the products themselves are added up.
fn fuse_products(nest: &mut Nest, level: &[usize], innermost: usize) -> Option<(Val, Val)> {
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
            // A square is never -0, so that 0 and it are it.
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
pub(crate) fn choose_lane(nest: &Nest, in_order: bool) -> Option<usize> {
    let dims = nest.extents.len();
    let last = dims.checked_sub(1)?;
    if nest.write.scatters() {
        // The order of what is written is that of the indices.
        return Some(last);
    }
    // Of equals the last.
    let costs = (0..lane_choices(nest, in_order)).map(|dim| lane_cost(nest, dim));
    costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(dim, _)| dim)
}

/// The number of dimensions that may be on the lanes.
fn lane_choices(nest: &Nest, in_order: bool) -> usize {
    nest.extents.len() - if in_order { nest.reduced } else { 0 }
}

/// About how many cycles a nest takes for each position.
pub(crate) fn least_cost(nest: &Nest, in_order: bool) -> f64 {
    let costs = (0..lane_choices(nest, in_order)).map(|dim| lane_cost(nest, dim));
    costs.reduce(f64::min).unwrap_or(0.0)
}

/// About how many cycles a nest takes with a dimension on the lanes, for each position.
///
/// Lanes are the innermost loop of parallel dimensions, around those that are reduced, or the
/// innermost of all. What does not depend on the loops inside is computed outside of them.
fn lane_cost(nest: &Nest, lane: usize) -> f64 {
    /// The lanes of a vector, about.
    const LANES: usize = 8;
    /// Accesses to elements that are neighbours, also from the last to the first, that are apart,
    /// and that are in different lines of the cache; the lanes' way to one number; the beginning of
    /// a loop.
    const NEAR: f64 = 1.0;
    const REVERSED: f64 = 3.0;
    const APART: f64 = 8.0;
    const FAR: f64 = 16.0;
    const FOLD: f64 = 16.0;
    const BEGIN: f64 = 8.0;

    let parallel = nest.extents.len() - nest.reduced;
    let extent = nest.extents[lane].max(1) as f64;
    let vectors = nest.extents[lane].div_ceil(LANES).max(1) as f64;
    let inside = match lane < parallel {
        true => nest.extents[parallel..].iter().fold(1.0, |n, &k| n * k.max(1) as f64),
        false => 1.0,
    };
    // For each vector of the innermost loop.
    let access = |at: &Affine| match at.coeffs[lane] {
        0 | 1 => NEAR,
        -1 => REVERSED,
        -7..=7 => APART,
        _ => FAR,
    };
    let mut cost = 0.0;
    for instr in &nest.instrs {
        cost += match instr {
            Instr::Const(_) | Instr::Affine(_) => 0.0,
            Instr::Load { at, .. } => {
                let reduced = at.coeffs[parallel..].iter().any(|&c| c != 0);
                match at.coeffs[lane] {
                    0 if lane >= parallel => NEAR / vectors,
                    0 if !reduced => NEAR / (vectors * inside),
                    _ if lane < parallel && !reduced => access(at) / inside,
                    _ => access(at),
                }
            }
            Instr::LoadAt { .. } => FAR,
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
            FOLD * extent / (others * vectors)
        }
    };
    (cost * vectors + BEGIN / inside) / extent
}

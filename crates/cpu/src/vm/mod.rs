//! The tile machine: nests run by kernels over tiles of elements that stay in the first cache.
//!
//! One dimension of the nest is on the *lanes*: its indices are taken a tile at a time, and every
//! instruction that depends on it computes a whole tile. The other dimensions are loops around.
//! An instruction is computed in the loop of the innermost dimension that it depends on.

mod exec;
mod extremes;
#[cfg(target_arch = "x86_64")]
pub(crate) mod native;
mod scalars;
mod sums;
mod tile;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Touches, Val, Write};
use cotan_schedule::{LoopOrder, Unrolling};
use smallvec::SmallVec;

pub(crate) use exec::{Frame, POLL};
pub(crate) use scalars::Scalars;
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
    pub dims: Vec<usize>,
    /// The loop over tiles; `None` when the nest has a single position.
    pub lane_loop: Option<usize>,
    /// How many indices there are on the lane dimension.
    lanes: usize,
    /// How many lanes a tile has.
    width: usize,
    /// The instructions by the loop they belong to: `levels[0]` outside of all.
    levels: Vec<Vec<Planned>>,
    /// The first loop over a reduced dimension.
    pub first_reduced: usize,
    /// Whether the lanes are reduced.
    lanes_reduced: bool,
    /// The loop whose dimension a run may be restricted to a range of.
    pub block: usize,
    /// The factors, if products are added up, each rounded once with the sum.
    pub product: Option<(Val, Val)>,
    /// A dimension whose few positions may be done side by side by machine code.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for machine code"))]
    pub jam: Option<usize>,
    /// How many results machine code may compute side by side.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for machine code"))]
    pub unrolling: Unrolling,
    registers: usize,
    /// What a position of the blocked dimension costs, and a tile, in additions.
    pub weight: usize,
    tile_weight: usize,
    /// How many positions are run by machine code at a time: it does not stop on its way.
    piece: usize,
    /// The same in machine code.
    #[cfg(target_arch = "x86_64")]
    pub native: Option<native::Native>,
}

impl AsRef<Nest> for Kernel {
    fn as_ref(&self) -> &Nest {
        &self.nest
    }
}

impl Touches for Kernel {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.nest.for_each_buffer(f);
    }
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
    /// Plans a nest whose loops have an order.
    pub(crate) fn new(order: LoopOrder) -> Kernel {
        let LoopOrder { nest, dims, lane_loop, first_reduced, block, .. } = order;
        let LoopOrder { levels, product, jam, unrolling, .. } = order;
        let lanes = lane_loop.map_or(1, |k| nest.extents[dims[k]]);
        let width = lanes.clamp(1, TILE);
        let loops = dims
            .iter()
            .enumerate()
            .map(|(k, &dim)| match Some(k) == lane_loop {
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
            lanes_reduced: lane_loop.is_some_and(|k| k >= first_reduced),
            block,
            product,
            jam,
            unrolling,
            registers: 0,
            weight: 0,
            tile_weight: 0,
            piece: usize::MAX,
            #[cfg(target_arch = "x86_64")]
            native: None,
        };
        kernel.plan(&levels);
        kernel.piece = kernel.positions_at_a_time();
        kernel
    }

    /// Plans a nest on its own.
    #[cfg(test)]
    pub(crate) fn of_nest(nest: Nest, in_order: bool, block: Option<usize>) -> Kernel {
        Kernel::new(LoopOrder::new(nest, in_order, block, &cotan_schedule::Target::portable()))
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

    /// How many indices the dimension has that a run may be restricted to a range of.
    pub(crate) fn positions(&self) -> usize {
        self.dims.get(self.block).map_or(1, |&dim| self.nest.extents[dim])
    }

    /// Sorts instructions into loops and gives them registers.
    fn plan(&mut self, level: &[usize]) {
        let nest = &mut self.nest;
        let lane = self.lane_loop.map(|k| self.dims[k]);
        let count = nest.instrs.len();
        // Whether an instruction has one value for all lanes.
        let mut uniform: Vec<bool> = Vec::with_capacity(count);
        for instr in &nest.instrs {
            let along = |affine: &Affine| lane.is_some_and(|lane| affine.coeffs[lane] != 0);
            let mut varies = match instr {
                Instr::Affine(affine) => along(affine),
                Instr::Load { at, checks, .. } => {
                    along(at) || checks.iter().any(|(check, _)| along(check))
                }
                Instr::Const(_) | Instr::LoadAt { .. } => false,
                Instr::Op(..) | Instr::MulAdd { .. } => false,
            };
            instr.for_each_operand(|v| varies |= !uniform[v.index()]);
            uniform.push(!varies);
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
            .zip(level)
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
        let registers = assign_registers(nest, level, &used, self.loops.len(), &written);
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
            longer * op.cost() as usize
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

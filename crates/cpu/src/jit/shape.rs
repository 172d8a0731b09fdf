//! What of a nest belongs to which loop.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Instr, Nest, Val, Write};
use cotan_schedule::Unrolling;
use rustc_hash::FxHashMap;

use crate::vm::Kernel;

/// How a kernel goes through its nest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub nest: &'a Nest,
    /// The dimensions of the loops, outermost first.
    pub dims: &'a [usize],
    /// The dimension on the lanes.
    pub lane: Option<usize>,
    /// The first loop over a reduced dimension.
    pub first_reduced: usize,
    /// The loop that a run does a range of.
    pub block: usize,
    /// The factors, if products are added up, each rounded once with the sum.
    pub product: Option<(Val, Val)>,
    /// A dimension without a loop: all of its few positions are done side by side.
    pub jam: Option<usize>,
    /// How many results may be computed side by side.
    pub unrolling: Unrolling,
}

impl<'a> Order<'a> {
    /// How a kernel goes through its nest.
    pub(crate) fn of(kernel: &'a Kernel) -> Order<'a> {
        Order {
            nest: &kernel.nest,
            dims: &kernel.dims,
            lane: kernel.lane_loop.map(|k| kernel.dims[k]),
            first_reduced: kernel.first_reduced,
            block: kernel.block,
            product: kernel.product,
            jam: None,
            unrolling: kernel.unrolling,
        }
    }

    /// The values that are written: one, or two factors.
    pub(super) fn written(&self) -> [Val; 2] {
        let value = self.nest.value;
        self.product.map_or([value, value], |(a, b)| [a, b])
    }

    /// Whether the lanes are of a reduced dimension.
    pub(super) fn lanes_reduced(&self) -> bool {
        let parallel = self.nest.extents.len() - self.nest.reduced;
        self.lane.is_some_and(|lane| lane >= parallel)
    }

    /// The order without a loop over a dimension, whose positions are done side by side.
    pub(super) fn jam<T>(&self, jam: Option<usize>, f: impl FnOnce(Order) -> T) -> T {
        let Some(at) = jam.and_then(|dim| self.dims.iter().position(|&d| d == dim)) else {
            return f(*self);
        };
        let mut dims = self.dims.to_vec();
        dims.remove(at);
        let before = |k: usize| k - usize::from(at < k);
        let (first_reduced, block) = (before(self.first_reduced), before(self.block));
        f(Order { dims: &dims, first_reduced, block, jam, ..*self })
    }

    /// How many positions are done side by side.
    pub(super) fn jammed(&self) -> usize {
        self.jam.map_or(1, |dim| self.nest.extents[dim])
    }
}

/// What values depend on, apart from loops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same {
    /// Whether they are the same on all lanes.
    pub lanes: bool,
    /// Whether they are the same for all positions that are done side by side.
    pub jam: bool,
}

impl Same {
    const ALL: Same = Same { lanes: true, jam: true };

    fn and(&mut self, other: Same) {
        self.lanes &= other.lanes;
        self.jam &= other.jam;
    }
}

/// A condition on an index: an affine form that must be from 0 to a size.
pub(super) type IndexCheck = (Affine, i64);

/// Something to compute in a loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoopItem {
    Check(usize),
    Value(usize),
}

/// Instructions and checks by loops.
#[derive(Default)]
pub(super) struct LoopShape {
    /// The items by the loops around them: `levels[0]` outside of all.
    pub levels: Vec<Vec<LoopItem>>,
    /// What the values of instructions have in common.
    pub same: Vec<Same>,
    pub checks: Vec<IndexCheck>,
    pub check_same: Vec<Same>,
    numbers: FxHashMap<IndexCheck, usize>,
}

impl LoopShape {
    pub(super) fn new(order: &Order) -> LoopShape {
        let nest = order.nest;
        let count = nest.instrs.len();
        let used = used(order);
        let mut shape = LoopShape {
            levels: vec![Vec::new(); order.dims.len() + 1],
            same: vec![Same::ALL; count],
            checks: Vec::new(),
            check_same: Vec::new(),
            numbers: FxHashMap::default(),
        };
        let mut level = vec![0usize; count];
        let mut items: Vec<(usize, LoopItem)> = Vec::with_capacity(count);
        for (n, instr) in nest.instrs.iter().enumerate() {
            if !used[n] {
                continue;
            }
            match instr {
                Instr::Affine(affine) => {
                    (level[n], shape.same[n]) = depends(order, affine);
                }
                Instr::Load { at, checks, .. } => {
                    (level[n], shape.same[n]) = depends(order, at);
                    for check in checks {
                        let (depth, same) = shape.check(order, check, &mut items);
                        level[n] = level[n].max(depth);
                        shape.same[n].and(same);
                    }
                }
                Instr::Const(_) | Instr::LoadAt { .. } => {}
                Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
            instr.for_each_operand(|v| {
                level[n] = level[n].max(level[v.index()]);
                let same = shape.same[v.index()];
                shape.same[n].and(same);
            });
            items.push((level[n], LoopItem::Value(n)));
        }
        if let Write::Add { checks, .. } = &nest.write {
            for check in checks {
                shape.check(order, check, &mut items);
            }
        }
        for (depth, item) in items {
            shape.levels[depth].push(item);
        }
        shape
    }

    /// Registers a check; gives the loop it belongs to and what it has in common.
    fn check(
        &mut self,
        order: &Order,
        check: &IndexCheck,
        items: &mut Vec<(usize, LoopItem)>,
    ) -> (usize, Same) {
        let (depth, same) = depends(order, &check.0);
        if !self.numbers.contains_key(check) {
            let number = self.checks.len();
            self.numbers.insert(check.clone(), number);
            self.checks.push(check.clone());
            self.check_same.push(same);
            items.push((depth, LoopItem::Check(number)));
        }
        (depth, same)
    }

    /// The number of a check.
    pub(super) fn number(&self, check: &IndexCheck) -> Option<usize> {
        self.numbers.get(check).copied()
    }
}

/// The depth of the innermost loop that a form depends on, and what else does not matter.
fn depends(order: &Order, affine: &Affine) -> (usize, Same) {
    let mut depth = 0;
    for (at, &dim) in order.dims.iter().enumerate() {
        if affine.coeffs[dim] != 0 {
            depth = at + 1;
        }
    }
    let apart = |dim: Option<usize>| dim.is_none_or(|dim| affine.coeffs[dim] == 0);
    (depth, Same { lanes: apart(order.lane), jam: apart(order.jam) })
}

/// Which instructions anything depends on.
pub(super) fn used(order: &Order) -> Vec<bool> {
    let nest = order.nest;
    let mut used = vec![false; nest.instrs.len()];
    order.written().iter().for_each(|v| used[v.index()] = true);
    nest.also.iter().for_each(|also| used[also.value.index()] = true);
    nest.write.index().iter().for_each(|c| used[c.value.index()] = true);
    for n in (0..nest.instrs.len()).rev() {
        if !used[n] {
            continue;
        }
        match (&nest.instrs[n], known_exponent(nest, n)) {
            // A known exponent is part of the operation.
            (Instr::Op(_, args), Some(_)) => {
                args.first().iter().for_each(|v| used[v.index()] = true);
            }
            (instr, _) => instr.for_each_operand(|v| used[v.index()] = true),
        }
    }
    used
}

/// The largest power that is multiplied out.
const LARGEST_POWER: u64 = 64;

/// The exponent of a power that is known and small.
pub(super) fn known_exponent(nest: &Nest, n: usize) -> Option<i64> {
    let Instr::Op(Op::Powi, args) = &nest.instrs[n] else { return None };
    let Instr::Affine(affine) = &nest.instrs[args.get(1)?.index()] else { return None };
    affine.known().filter(|n| n.unsigned_abs() <= LARGEST_POWER)
}

/// Whether everything fits lanes of four bytes.
pub(super) fn is_narrow(nest: &Nest, used: &[bool], native: impl Fn(Op) -> bool) -> bool {
    if let Write::Extreme { .. } = nest.write {
        // Positions are wide.
        return false;
    }
    let narrow = |v: Val| matches!(nest.dtypes[v.index()], Dtype::F32 | Dtype::Bool);
    (0..nest.instrs.len()).filter(|&n| used[n]).all(|n| {
        let simple = match (&nest.instrs[n], known_exponent(nest, n)) {
            (Instr::Op(..), Some(exponent)) => matches!(exponent, 0..=2),
            (Instr::Op(op, _), None) => native(*op),
            _ => true,
        };
        simple && narrow(Val(n as u32))
    })
}

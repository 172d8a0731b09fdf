//! What of a nest belongs to which loop.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use rustc_hash::FxHashMap;

use crate::nest::{Affine, Instr, Nest, Val, Write};

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
}

impl Order<'_> {
    /// The values that are written: one, or two factors.
    pub(super) fn written(&self) -> [Val; 2] {
        let value = self.nest.value;
        self.product.map_or([value, value], |(a, b)| [a, b])
    }
}

/// A condition on an index: an affine form that must be from 0 to a size.
pub(super) type Check = (Affine, i64);

/// Something to compute in a loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Check(usize),
    Value(usize),
}

/// Instructions and checks by loops.
pub(super) struct Shape {
    /// The items by the loops around them: `levels[0]` outside of all.
    pub levels: Vec<Vec<Item>>,
    /// Whether instructions have the same value on all lanes.
    pub uniform: Vec<bool>,
    pub checks: Vec<Check>,
    pub check_uniform: Vec<bool>,
    numbers: FxHashMap<Check, usize>,
}

impl Shape {
    pub(super) fn new(order: &Order) -> Shape {
        let nest = order.nest;
        let count = nest.instrs.len();
        let used = used(order);
        let mut shape = Shape {
            levels: vec![Vec::new(); order.dims.len() + 1],
            uniform: vec![true; count],
            checks: Vec::new(),
            check_uniform: Vec::new(),
            numbers: FxHashMap::default(),
        };
        let mut level = vec![0usize; count];
        let mut items: Vec<(usize, Item)> = Vec::with_capacity(count);
        for (n, instr) in nest.instrs.iter().enumerate() {
            if !used[n] {
                continue;
            }
            match instr {
                Instr::Affine(affine) => {
                    (level[n], shape.uniform[n]) = depends(order, affine);
                }
                Instr::Load { at, checks, .. } => {
                    (level[n], shape.uniform[n]) = depends(order, at);
                    for check in checks {
                        let (depth, uniform) = shape.check(order, check, &mut items);
                        level[n] = level[n].max(depth);
                        shape.uniform[n] &= uniform;
                    }
                }
                Instr::Const(_) | Instr::LoadAt { .. } => {}
                Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
            instr.for_each_operand(|v| {
                level[n] = level[n].max(level[v.index()]);
                let uniform = shape.uniform[v.index()];
                shape.uniform[n] &= uniform;
            });
            items.push((level[n], Item::Value(n)));
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

    /// Registers a check; gives the loop it belongs to and whether it is the same for all lanes.
    fn check(
        &mut self,
        order: &Order,
        check: &Check,
        items: &mut Vec<(usize, Item)>,
    ) -> (usize, bool) {
        let (depth, uniform) = depends(order, &check.0);
        if !self.numbers.contains_key(check) {
            let number = self.checks.len();
            self.numbers.insert(check.clone(), number);
            self.checks.push(check.clone());
            self.check_uniform.push(uniform);
            items.push((depth, Item::Check(number)));
        }
        (depth, uniform)
    }

    /// The number of a check.
    pub(super) fn number(&self, check: &Check) -> Option<usize> {
        self.numbers.get(check).copied()
    }
}

/// The depth of the innermost loop that a form depends on, and whether the lanes do not matter.
fn depends(order: &Order, affine: &Affine) -> (usize, bool) {
    let mut depth = 0;
    for (at, &dim) in order.dims.iter().enumerate() {
        if affine.coeffs[dim] != 0 {
            depth = at + 1;
        }
    }
    (depth, order.lane.is_none_or(|lane| affine.coeffs[lane] == 0))
}

/// Which instructions anything depends on.
pub(super) fn used(order: &Order) -> Vec<bool> {
    let nest = order.nest;
    let mut used = vec![false; nest.instrs.len()];
    order.written().iter().for_each(|v| used[v.index()] = true);
    nest.also.iter().for_each(|also| used[also.value.index()] = true);
    if let Write::AddAt(index) = &nest.write {
        index.iter().for_each(|c| used[c.value.index()] = true);
    }
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

//! The most memory that a run needs at once, counted from the program.

use cotan_ir::{Node, Program, RegionId, Scope, Scopes, TermId, Type};
use rustc_hash::FxHashMap;

/// The most bytes of arrays alive at once, when every array of the program is made in order and
/// given up after its last use. Inputs and results stay alive throughout. Time linear in the
/// program.
pub fn peak_bytes(program: &Program) -> u64 {
    let scopes = Scopes::new(program);
    let inputs = program.inputs().iter().map(|input| bytes(&input.ty));
    let kept: Vec<TermId> = program.outputs().iter().map(|output| output.term).collect();
    let mut peaks = Peaks { program, scopes: &scopes, regions: FxHashMap::default() };
    // Regions are numbered when they are closed: inner ones come first.
    for r in program.regions() {
        let results = program.region(r).results().to_vec();
        let peak = peaks.scope(scopes.region(r), &results);
        peaks.regions.insert(r, peak);
    }
    inputs.sum::<u64>().saturating_add(peaks.scope(scopes.top(), &kept))
}

struct Peaks<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    regions: FxHashMap<RegionId, u64>,
}

impl Peaks<'_> {
    /// The most that the arrays made in a scope take at once; `kept` are needed at its end.
    fn scope(&self, scope: &Scope, kept: &[TermId]) -> u64 {
        let order = scope.order();
        let position: FxHashMap<TermId, usize> =
            order.iter().enumerate().map(|(n, &t)| (t, n)).collect();
        // When each array is used last; a part of several results keeps them all.
        let mut last: Vec<usize> = (0..order.len()).collect();
        let mut note = |t: TermId, at: usize| {
            if let Some(&n) = position.get(&t) {
                last[n] = last[n].max(at);
            }
        };
        kept.iter().for_each(|&t| note(t, order.len()));
        for (n, &t) in order.iter().enumerate().rev() {
            self.scopes.for_each_dependency(self.program, t, |u| note(u, n));
        }
        for (n, &t) in order.iter().enumerate().rev() {
            if let Node::Result(u, _) = self.program.node(t)
                && let Some(&made) = position.get(u)
            {
                last[made] = last[made].max(last[n]);
            }
        }
        let mut ends: Vec<u64> = vec![0; order.len() + 1];
        let (mut alive, mut peak) = (0u64, 0u64);
        for (n, &t) in order.iter().enumerate() {
            let size = self.size(t);
            alive = alive.saturating_add(size);
            ends[last[n]] = ends[last[n]].saturating_add(size);
            let inside = self.program.node(t).region().map_or(0, |r| self.inside(r));
            peak = peak.max(alive.saturating_add(inside));
            alive = alive.saturating_sub(ends[n]);
        }
        peak
    }

    fn inside(&self, r: RegionId) -> u64 {
        self.regions.get(&r).copied().unwrap_or(0)
    }

    /// The bytes of the array that a node makes.
    fn size(&self, t: TermId) -> u64 {
        match self.program.node(t) {
            Node::Input(_) | Node::Var { .. } | Node::Result(..) => 0,
            _ => match self.program.result_types(t) {
                Some(types) => types.iter().map(bytes).fold(0, u64::saturating_add),
                None => bytes(self.program.ty(t)),
            },
        }
    }
}

fn bytes(ty: &Type) -> u64 {
    ty.shape.bytes(ty.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};
    use cotan_ir::Builder;
    use cotan_ir::scalar::Op;

    fn vector(k: usize) -> Type {
        Type::new(Dtype::F64, Shape::new("test", &[k]).unwrap())
    }

    #[test]
    fn a_chain_needs_two_arrays_at_once() {
        let mut b = Builder::new();
        let mut t = b.input("a", vector(10)).unwrap();
        for _ in 0..50 {
            t = b.op(Op::Sin, &[t]).unwrap();
        }
        let program = b.finish_one(t).unwrap();
        assert_eq!(peak_bytes(&program), 80 + 2 * 80);
    }

    #[test]
    fn what_is_used_later_stays() {
        // s = sin a; c = cos s; sum of (s * c): a, s and c, then the product and nothing else.
        let mut b = Builder::new();
        let a = b.input("a", vector(10)).unwrap();
        let s = b.op(Op::Sin, &[a]).unwrap();
        let c = b.op(Op::Cos, &[s]).unwrap();
        let product = b.op(Op::Mul, &[s, c]).unwrap();
        let sum = b.sum_outer(product).unwrap();
        let program = b.finish_one(sum).unwrap();
        assert_eq!(peak_bytes(&program), 80 + 3 * 80);
    }

    #[test]
    fn a_loop_needs_its_step_once() {
        // build 4 (i => sum (a * a[i])): the result, and one product at a time.
        let mut b = Builder::new();
        let a = b.input("a", vector(10)).unwrap();
        let built = b
            .build(4, |b, i| {
                let x = b.index(a, &[i])?;
                let spread = b.replicate(10, x)?;
                let product = b.op(Op::Mul, &[a, spread])?;
                b.sum_outer(product)
            })
            .unwrap();
        let program = b.finish_one(built).unwrap();
        assert_eq!(peak_bytes(&program), 80 + 32 + (80 + 80));
    }
}

//! What a program costs, counted from its text alone.

use cotan_ir::{Custom, Node, Program, RegionId, Scope, Scopes, TermId, Type};
use rustc_hash::FxHashSet;

/// Work and traffic of one run, if every array is made and every branch taken. A `while` counts as
/// often as its bound says, and once if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// Scalar operations: one per element of an elementwise operation, per element summed or
    /// scattered, per comparison of a search or sort.
    pub operations: u64,
    /// Bytes of the arrays made.
    pub bytes: u64,
}

impl Cost {
    /// The cost of a program, in time linear in it.
    pub fn of(program: &Program) -> Cost {
        let counter = Counter { program, scopes: Scopes::new(program) };
        counter.scope(counter.scopes.top())
    }

    /// The cost of each node for all its runs, without that of the regions it has, which is that of
    /// the nodes there. What a function with a derivative of its own computes counts as its own.
    pub fn by_node(program: &Program) -> Vec<Cost> {
        let counter = Counter { program, scopes: Scopes::new(program) };
        let mut costs = vec![Cost::default(); program.len()];
        counter.spread(counter.scopes.top(), 1, &mut costs);
        costs
    }

    /// Both together.
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn times(self, n: usize) -> Cost {
        Cost {
            operations: self.operations.saturating_mul(n as u64),
            bytes: self.bytes.saturating_mul(n as u64),
        }
    }
}

struct Counter<'a> {
    program: &'a Program,
    scopes: Scopes,
}

impl Counter<'_> {
    fn scope(&self, scope: &Scope) -> Cost {
        scope.order().iter().fold(Cost::default(), |sum, &t| sum.plus(self.node(t)))
    }

    /// Adds the costs of the nodes of a scope that is run so many times. Recursive over the nesting of
    /// regions only.
    fn spread(&self, scope: &Scope, times: usize, costs: &mut [Cost]) {
        for &t in scope.order() {
            let mut own = self.node(t);
            if let Some((r, runs)) = self.inside(t) {
                let inside = self.region(r, runs);
                own.operations = own.operations.saturating_sub(inside.operations);
                own.bytes = own.bytes.saturating_sub(inside.bytes);
                self.spread(self.scopes.region(r), times.saturating_mul(runs), costs);
            }
            costs[t.index()] = costs[t.index()].plus(own.times(times));
        }
    }

    /// The region of a node, if it has one, and how often it is run.
    fn inside(&self, t: TermId) -> Option<(RegionId, usize)> {
        Some(match self.program.node(t) {
            Node::MapAccum(m) => (m.step, m.length),
            Node::While(w) => (w.step, w.bound.unwrap_or(1)),
            Node::Gather(_, r) | Node::Scatter(_, _, r) | Node::Build1(r) => {
                (*r, self.program.index_sizes(*r).iter().product::<usize>())
            }
            _ => return None,
        })
    }

    /// Recursive over the nesting of regions only.
    fn region(&self, r: RegionId, runs: usize) -> Cost {
        self.scope(self.scopes.region(r)).times(runs)
    }

    /// The function alone, without its derivative rule, which is not run for the values.
    fn function(&self, c: &Custom) -> Cost {
        let scope = self.scopes.region(c.region);
        let results = self.program.region(c.region).results();
        let mut needed: FxHashSet<TermId> = results.iter().take(c.outputs).copied().collect();
        let mut cost = Cost::default();
        // Users come after operands.
        for &t in scope.order().iter().rev() {
            if needed.contains(&t) {
                self.scopes.for_each_dependency(self.program, t, |u| needed.extend([u]));
                cost = cost.plus(self.node(t));
            }
        }
        cost
    }

    fn node(&self, t: TermId) -> Cost {
        let elements = |t: TermId| self.program.shape(t).numel() as u64;
        let index_runs = |r: RegionId| self.program.index_sizes(r).iter().product::<usize>();
        let (operations, inside) = match self.program.node(t) {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Result(..) => {
                return Cost::default();
            }
            Node::MapAccum(m) => {
                let types = self.program.result_types(t).unwrap_or_default();
                let made = Cost { operations: 0, bytes: types.iter().map(bytes).sum() };
                return made.plus(self.region(m.step, m.length));
            }
            Node::While(w) => {
                let types = self.program.result_types(t).unwrap_or_default();
                let made = Cost { operations: 0, bytes: types.iter().map(bytes).sum() };
                return made.plus(self.region(w.step, w.bound.unwrap_or(1)));
            }
            Node::Custom(c) => {
                let types = self.program.result_types(t).unwrap_or_default();
                let made = Cost { operations: 0, bytes: types.iter().map(bytes).sum() };
                return made.plus(self.function(c));
            }
            Node::Op(..) => (elements(t), Cost::default()),
            Node::SumOuter(u) | Node::ArgExtreme(_, u) => (elements(*u), Cost::default()),
            Node::SegmentArg(_, _, u, _) => (elements(*u), Cost::default()),
            Node::Routine(routine, ts) => {
                let types: Vec<&Type> = ts.iter().map(|&u| self.program.ty(u)).collect();
                (routine.work(&types) as u64, Cost::default())
            }
            Node::ArgSort(u) => {
                let outer = self.program.shape(*u).dims().first().copied().unwrap_or(0) as u64;
                let depth = u64::from(outer.max(1).next_power_of_two().trailing_zeros());
                (elements(*u) * depth, Cost::default())
            }
            Node::Gather(_, r) => (0, self.region(*r, index_runs(*r))),
            Node::Scatter(_, u, r) => (elements(*u), self.region(*r, index_runs(*r))),
            Node::Build1(r) => (0, self.region(*r, index_runs(*r))),
            Node::Cond(..) | Node::Index(..) | Node::Stack(_) | Node::Replicate(..) => {
                (0, Cost::default())
            }
            Node::Transpose(..) | Node::Reshape(..) | Node::Iota(_) | Node::OneHot(..) => {
                (0, Cost::default())
            }
        };
        Cost { operations, bytes: bytes(self.program.ty(t)) }.plus(inside)
    }
}

fn bytes(ty: &Type) -> u64 {
    (ty.shape.numel() as u64).saturating_mul(ty.dtype.size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};
    use cotan_ir::Builder;
    use cotan_ir::scalar::Op;

    #[test]
    fn loops_count_as_often_as_they_run() {
        // sum (build 3 (i => sin a[i])): 3 sines, 3 additions.
        let mut b = Builder::new();
        let a = b.input("a", Type::new(Dtype::F64, Shape::new("test", &[3]).unwrap())).unwrap();
        let sines = b
            .build(3, |b, i| {
                let x = b.index(a, &[i])?;
                b.op(Op::Sin, &[x])
            })
            .unwrap();
        let sum = b.sum_outer(sines).unwrap();
        let cost = Cost::of(&b.finish_one(sum).unwrap());
        // Elements and sines, the array, the sum.
        assert_eq!(cost, Cost { operations: 6, bytes: 8 * (3 + 3 + 3 + 1) });
    }

    #[test]
    fn a_while_counts_as_often_as_its_bound() {
        let cost = |bound: Option<usize>| {
            let mut b = Builder::new();
            let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
            let params = [cotan_ir::Param::Value(Type::scalar(Dtype::F64))];
            let step = b.lambda(&params, |b, s| {
                let running = b.op(Op::Lt, &[s[0], x])?;
                Ok(vec![running, b.op(Op::Sin, &[s[0]])?])
            });
            let w = cotan_ir::While { bound, init: [x].into(), step: step.unwrap() };
            let w = b.while_accum(w).unwrap();
            let last = b.result(w, 0).unwrap();
            Cost::of(&b.finish_one(last).unwrap())
        };
        // The condition, the sine, and the state that is left.
        assert_eq!(cost(None), Cost { operations: 2, bytes: 1 + 8 + 8 });
        assert_eq!(cost(Some(5)), Cost { operations: 10, bytes: 5 * (1 + 8) + 8 });
    }
}

//! What placements must leave: each node can be what it is to be.

use cotan_ir::{Node, Program, Scope, TermId};
use rustc_hash::FxHashMap;

use super::{Placement, Placements, ScopePlacements};

impl Placements {
    /// Whether all placements go together: what must be in memory is, what is expanded can be, and
    /// sums are parts of one other sum each.
    pub fn check(&self, program: &Program) -> Result<(), String> {
        self.scope(program, self.scopes.top(), &self.top)
    }

    /// It recurses over the nesting of loops.
    fn scope(
        &self,
        program: &Program,
        scope: &Scope,
        placements: &ScopePlacements,
    ) -> Result<(), String> {
        let mut users: FxHashMap<TermId, Vec<TermId>> = FxHashMap::default();
        for &t in scope.order() {
            program.node(t).for_each_operand(|u| {
                if matches!(
                    placements.of(program, u),
                    Placement::Absorbed | Placement::Factor { .. }
                ) {
                    users.entry(u).or_default().push(t);
                }
            });
        }
        for &t in scope.order() {
            self.node(program, t, placements, &users).map_err(|what| {
                let placement = placements.of(program, t).words();
                format!("%{}, {}, is {placement}, {what}", t.index(), program.node(t).name())
            })?;
            if let Some(r) = program.node(t).region() {
                for inside in placements.inside(t) {
                    self.scope(program, self.scopes.region(r), inside)?;
                }
            }
        }
        Ok(())
    }

    fn node(
        &self,
        program: &Program,
        t: TermId,
        placements: &ScopePlacements,
        users: &FxHashMap<TermId, Vec<TermId>>,
    ) -> Result<(), &'static str> {
        let (node, placement) = (program.node(t), placements.of(program, t));
        let is_sum = matches!(node, Node::SumOuter(_));
        if placement.is_expanded() && placements.forced.contains(&t) {
            return Err("but it must be in memory");
        }
        let used_once = users.get(&t).is_some_and(|users| users.len() == 1);
        match placement {
            Placement::Unrolled | Placement::StoredUnrolled if !is_sum => Err("but no sum"),
            Placement::Absorbed if !is_sum || !used_once => {
                Err("but not the operand of one other sum")
            }
            Placement::Factor { .. } if !is_sum || !used_once => {
                Err("but not a factor of one other sum")
            }
            Placement::Joined(factor)
                if !is_sum
                    || !matches!(placements.of(program, factor), Placement::Factor { .. }) =>
            {
                Err("but that is no factor")
            }
            Placement::Inline | Placement::Operand if is_sum => Err("but it is a sum"),
            _ => Ok(()),
        }?;
        for &operand in placements.operands.get(&t).map_or(&[][..], |operands| operands) {
            if !placements.of(program, operand).is_expanded() {
                return Err("after what is made anyway");
            }
        }
        match node {
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_)
                if placements.inside(t).is_empty() =>
            {
                // Folds have nests instead of a scope.
                match node {
                    Node::MapAccum(_) => Ok(()),
                    _ => Err("without placements inside"),
                }
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use cotan_array::{Dtype, Shape};
    use cotan_ir::scalar::Op;
    use cotan_ir::{Builder, Output, Type};

    use super::*;
    use crate::target::Target;

    /// The sum of all products of two elements, and the columns' sums of squares.
    fn placed() -> (Program, Placements) {
        let mut b = Builder::new();
        let shape = Shape::new("test", &[50, 40]).unwrap();
        let x = b.input("x", Type::new(Dtype::F64, shape.clone())).unwrap();
        let y = b.input("y", Type::new(Dtype::F64, shape)).unwrap();
        let (product, square) = (b.op(Op::Mul, &[x, y]).unwrap(), b.op(Op::Mul, &[x, x]).unwrap());
        let inner = b.sum_outer(product).unwrap();
        let all = b.sum_outer(inner).unwrap();
        let columns = b.sum_outer(square).unwrap();
        let outputs =
            [all, columns].map(|term| Output { name: String::new(), term }).into_iter().collect();
        let program = b.finish(outputs).unwrap();
        let placements = Placements::of(&program, false, &Target::portable()).unwrap();
        (program, placements)
    }

    /// What the check says of other placements of nodes of some kind and placement.
    fn spoilt(sum: bool, from: Placement, to: Placement) -> Result<(), String> {
        let (program, mut placements) = placed();
        assert_eq!(placements.check(&program), Ok(()));
        let t = program.terms().find(|&t| {
            matches!(program.node(t), Node::SumOuter(_)) == sum
                && placements.top.of(&program, t) == from
        });
        placements.top.chosen.insert(t.unwrap(), to);
        placements.check(&program)
    }

    #[test]
    fn wrong_placements_are_found() {
        use Placement::{Absorbed, Factor, Inline, Joined, Stored, StoredUnrolled, Unrolled};
        let input = placed().0.terms().next().unwrap();
        assert!(spoilt(true, Stored, Inline).is_err(), "a result must be in memory");
        assert!(spoilt(true, Stored, Unrolled).is_err(), "a result must be in memory");
        assert!(spoilt(true, Stored, Absorbed).is_err(), "a result is no part of another sum");
        assert!(spoilt(true, Stored, Joined(input)).is_err(), "an input is no factor");
        assert!(spoilt(true, Absorbed, Inline).is_err(), "a sum cannot be expanded");
        assert!(spoilt(false, Inline, Absorbed).is_err(), "only sums are parts of sums");
        assert!(spoilt(false, Inline, Factor { unrolled: false }).is_err());
        assert!(spoilt(false, Inline, StoredUnrolled).is_err(), "only sums are written out");
        // What need not be stored may be.
        assert_eq!(spoilt(false, Inline, Stored), Ok(()));
    }
}

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

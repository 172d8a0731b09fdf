//! Making nodes: each found again if there is an equal one, and what is known of it.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::Builder;
use crate::bounds;
use crate::error::{Error, ErrorKind, Result};
use crate::provenance;
use crate::term::{Arena, Kind, Levels, Node, TermId, Type};

/// How often the deadline and the token are looked at, in nodes.
const POLL: usize = 1024;

/// An odd number without pattern, 2^64 over the golden ratio: multiplying by it spreads bits upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where a node belongs in the table of all nodes. The table places entries by the low bits and tells
/// them apart by the high ones, so both must depend on the whole node.
fn place(node: &Node) -> u64 {
    let wide = FxBuildHasher.hash_one(node);
    ((wide ^ wide >> 32).wrapping_mul(SPREAD)).rotate_left(32)
}

impl Builder {
    /// Makes room for so many more nodes.
    pub fn reserve(&mut self, nodes: usize) {
        let nodes = nodes.min(self.limits.max_nodes);
        self.arena.nodes.reserve(nodes);
        self.arena.kind_of.reserve(nodes);
        let known = &self.arena.nodes;
        self.node_table.reserve(nodes, |t| place(&known[t.index()]));
    }

    /// The position of a node's type: equal for equal types.
    pub(super) fn type_id(&self, t: TermId) -> u32 {
        self.arena.kind(t).ty
    }

    /// The node, new or found.
    pub(crate) fn make(&mut self, node: Node, ty: Type) -> Result<TermId> {
        let ty = self.intern(ty);
        self.make_typed(node, ty)
    }

    /// The node, new or found, of a type that another node has.
    pub(super) fn make_typed(&mut self, node: Node, ty: u32) -> Result<TermId> {
        let (place_of_node, nodes) = (place(&node), &self.arena.nodes);
        if let Some(t) = self.node_table.find(place_of_node, |t| nodes[t.index()] == node) {
            let t = *t;
            self.also_from(t, self.span);
            return Ok(t);
        }
        self.poll(&node)?;
        let free = self.free_of(&node);
        if let Some(r) = node.region()
            && self.region(r).level <= free.innermost()
        {
            // The region's own variables would be confused with those its operands use.
            return Err(Error::internal("a region must be made where it is used"));
        }
        let bounds = bounds::of_node(&self.arena, &node, self.arena.types[ty as usize].dtype);
        let kind = self.number_of(Kind { ty, free, bounds });
        let t = TermId::new(self.arena.nodes.len() as u32);
        self.arena.nodes.push(node);
        self.arena.kind_of.push(kind);
        self.arena.spans.note(t, provenance::join(self.span, self.calls));
        let nodes = &self.arena.nodes;
        self.node_table.insert_unique(place_of_node, t, |t| place(&nodes[t.index()]));
        Ok(t)
    }

    /// The position of a type.
    fn intern(&mut self, ty: Type) -> u32 {
        let next = self.arena.types.len() as u32;
        if let Some(&k) = self.type_table.get(&ty) {
            return k;
        }
        self.type_table.insert(ty.clone(), next);
        self.arena.types.push(ty);
        next
    }

    /// The position of a kind.
    fn number_of(&mut self, kind: Kind) -> u32 {
        let Arena { kinds, kind_of, .. } = &mut self.arena;
        // Most often it is that of the node before.
        if let Some(&before) = kind_of.last()
            && kinds[before as usize] == kind
        {
            return before;
        }
        *self.kind_table.entry(kind).or_insert_with(|| {
            kinds.push(kind);
            kinds.len() as u32 - 1
        })
    }

    fn free_of(&self, node: &Node) -> Levels {
        if let Node::Var { level, .. } = node {
            return Levels::just(*level);
        }
        let mut free = Levels::NONE;
        node.for_each_operand(|t| free = free.union(self.free(t)));
        if let Some(r) = node.region() {
            let region = self.region(r);
            let inside =
                region.results.iter().fold(Levels::NONE, |free, &t| free.union(self.free(t)));
            free = free.union(inside.without(region.level));
        }
        free
    }

    fn poll(&self, node: &Node) -> Result<()> {
        let made = self.arena.nodes.len();
        if made >= self.limits.max_nodes.min(u32::MAX as usize - 1) {
            let message = format!("the program has more than {} nodes", self.limits.max_nodes);
            return Err(self.at(Error::new(ErrorKind::Limit, node.name(), message)));
        }
        if made.is_multiple_of(POLL) {
            if self.cancel.is_cancelled() {
                return Err(Error::new(ErrorKind::Cancelled, node.name(), "cancelled"));
            }
            if self.limits.deadline.is_some_and(|d| std::time::Instant::now() >= d) {
                return Err(Error::new(ErrorKind::Deadline, node.name(), "out of time"));
            }
            crate::limits::look(node.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Op;
    use cotan_array::{Array, Dtype, Shape};

    /// Whether the nodes of a program are spread as if at random: over the places of a table of twice
    /// as many, which the low bits choose, and over the 128 tags of the high bits, by which nodes
    /// that came to lie together are told apart.
    fn is_spread(b: &Builder) -> bool {
        let places = (2 * b.len()).next_power_of_two();
        let (mut in_place, mut with_tag) = (vec![0usize; places], [0usize; 128]);
        for t in b.terms() {
            let place = place(b.node(t));
            in_place[place as usize % places] += 1;
            with_tag[(place >> 57) as usize] += 1;
        }
        let most = |counts: &[usize]| counts.iter().copied().max().unwrap_or(0);
        most(&in_place) < 10 && most(&with_tag) < 2 * b.len() / 128
    }

    /// Programs are made of nodes that differ in little, and a hash may lose just that: then every
    /// search compares whole nodes, and slows down.
    #[test]
    fn nodes_alike_are_spread_in_the_table() {
        let vector = || Type::new(Dtype::F64, Shape::new("test", &[3]).unwrap());
        let chain = |op: fn(&mut Builder, TermId, usize) -> TermId| {
            let mut b = Builder::new();
            let mut t = b.input("a", vector()).unwrap();
            for k in 0..10_000 {
                t = op(&mut b, t, k);
            }
            is_spread(&b)
        };
        assert!(chain(|b, t, _| b.op(Op::Exp, &[t]).unwrap()));
        assert!(chain(|b, t, _| b.op(Op::Mul, &[t, t]).unwrap()));
        assert!(chain(|b, t, k| b.replicate(k, t).map(|_| t).unwrap()));
        assert!(chain(|b, _, k| b.scalar(k as f64).unwrap()));
        assert!(chain(|b, _, k| b.scalar(k as f32).unwrap()));
        assert!(chain(|b, _, k| b.scalar(k as i64).unwrap()));
        assert!(chain(|b, _, k| b.scalar((k as i64) << 40).unwrap()));
        assert!(chain(|b, _, k| b.constant(&Array::scalar(1.0 / (k as f64 + 1.0))).unwrap()));
        assert!(chain(|b, t, k| b
            .scalar(k as i64)
            .and_then(|i| b.index(t, &[i]))
            .map(|_| t)
            .unwrap()));
    }

    /// Large programs do not fit the caches: what nodes take in memory, they take in time.
    #[test]
    fn nodes_are_small() {
        assert!(size_of::<Node>() <= 24, "{}", size_of::<Node>());
        assert!(size_of::<Option<TermId>>() <= 4);
    }

    /// Nothing but what can be represented limits the size of an array.
    #[test]
    fn an_array_may_have_any_size_that_is_representable() {
        let mut b = Builder::new();
        let x = b.scalar(1.0).unwrap();
        assert!(b.replicate((1 << 60) - 1, x).is_ok());
        for _ in 0..3 {
            let error = b.replicate(1 << 60, x).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit);
        }
    }
}

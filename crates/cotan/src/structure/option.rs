//! Parts that may be missing.

use super::{Arrays, Entries, Fed, Feed, Fixed, Leaf, Leaves, Shapes, Tree};
use crate::error::Result;

/// Stands in a tree for a part that is missing: of an option that holds `depth` others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Absent {
    depth: u32,
}

impl std::fmt::Debug for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("None")
    }
}

fn absent(depth: u32) -> Tree {
    Tree::Fixed(Fixed::new(Absent { depth }))
}

/// The tree of an option that holds a part.
fn present(part: Tree) -> Tree {
    match depth_of(&part) {
        Some(depth) => absent(depth + 1),
        None => part,
    }
}

/// How many options hold the one that is missing.
fn depth_of(tree: &Tree) -> Option<u32> {
    match tree {
        Tree::Fixed(fixed) => fixed.get::<Absent>().map(|absent| absent.depth),
        Tree::Leaf(_) | Tree::Node(_) => None,
    }
}

/// The arrays of the part that is there go by the path of the option.
impl<A: Arrays> Arrays for Option<A> {
    type Staged = Option<A::Staged>;
    type Concrete = Option<A::Concrete>;
    type Of<W: Arrays> = Option<A::Of<W>>;

    fn tree(&self) -> Tree {
        self.as_ref().map_or_else(|| absent(0), |part| present(part.tree()))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        self.iter().for_each(|part| part.flatten(leaves));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        match depth_of(tree) {
            Some(0) => Ok(None),
            Some(depth) => A::unflatten(&absent(depth - 1), leaves).map(Some),
            None => A::unflatten(tree, leaves).map(Some),
        }
    }

    fn nothing() -> Self {
        None
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        if entries.any() { A::tree_in(entries) } else { Ok(absent(0)) }
    }
}

impl<S, F: Feed<S>> Feed<Option<S>> for Option<F> {
    fn feed(self) -> Fed {
        let Some(part) = self else { return Fed { tree: absent(0), arrays: Vec::new() } };
        let Fed { tree, arrays } = part.feed();
        Fed { tree: present(tree), arrays }
    }
}

impl<'a, S, F> Feed<Option<S>> for &'a Option<F>
where
    &'a F: Feed<S>,
{
    fn feed(self) -> Fed {
        self.as_ref().feed()
    }
}

impl<A, S: Shapes<A>> Shapes<Option<A>> for Option<S> {
    fn tree(self) -> Result<Tree> {
        self.map_or_else(|| Ok(absent(0)), |part| part.tree().map(present))
    }
}

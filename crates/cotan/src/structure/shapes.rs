//! Shapes of arguments: what `compile` takes.

use cotan_array::Shape;
use cotan_ir::Type;

use super::Tree;
use crate::arr::Arr;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::sizes::Sizes;

/// The shapes of an argument `A`: sizes for an array (`()` for a scalar), and structures of these.
/// For structs, compile for an example of the arguments instead.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of an argument",
    label = "not sizes",
    note = "sizes are `usize`: `[2, 3]` for a matrix, `()` for a scalar, a tuple of such for several \
            arguments"
)]
pub trait Shapes<A> {
    /// The tree of the argument.
    fn tree(self) -> Result<Tree>;
}

impl<T: Element, S: Sizes> Shapes<Arr<T>> for S {
    fn tree(self) -> Result<Tree> {
        let shape = Shape::new("compile", &self.sizes()).map_err(Error::from)?;
        Ok(Tree::Leaf(Type::new(T::DTYPE, shape)))
    }
}

impl<A, S: Shapes<A>> Shapes<Vec<A>> for Vec<S> {
    fn tree(self) -> Result<Tree> {
        let parts: Result<Vec<Tree>> = self.into_iter().map(S::tree).collect();
        Ok(Tree::numbered(parts?))
    }
}

impl<A, S: Shapes<A>, const N: usize> Shapes<[A; N]> for [S; N] {
    fn tree(self) -> Result<Tree> {
        let parts: Result<Vec<Tree>> = self.into_iter().map(S::tree).collect();
        Ok(Tree::numbered(parts?))
    }
}

macro_rules! tuples {
    ($(($($a:ident $s:ident $n:tt),*))*) => { $(
        impl<$($a, $s: Shapes<$a>),*> Shapes<($($a,)*)> for ($($s,)*) {
            fn tree(self) -> Result<Tree> {
                Ok(Tree::numbered([$(self.$n.tree()?),*]))
            }
        }
    )* };
}

for_each_tuple!(tuples);

//! The structures that come with Rust.

use cotan_array::Shape;
use cotan_ir::Type;

use super::{Arrays, Entries, Leaf, LeafKind, Leaves, Tree};
use crate::arr::Arr;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::stage;
use crate::tensor::Tensor;

impl<T: Element> Arrays for Arr<T> {
    type Staged = Arr<T>;
    type Concrete = Tensor<T>;
    type Of<W: Arrays> = W;

    fn tree(&self) -> Tree {
        // A handle to nothing looks like a scalar; the error is recorded already.
        let ty = stage::type_of(self.raw);
        Tree::Leaf(ty.unwrap_or_else(|| Type::new(T::DTYPE, Shape::scalar())))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        leaves.push(Leaf(LeafKind::Staged(self.raw)));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        expect_leaf::<T>(tree)?;
        match leaves.next()?.0 {
            LeafKind::Staged(raw) => Ok(Arr::from_raw(raw)),
            LeafKind::Concrete(_) => Err(Error::internal("a concrete leaf in a staged structure")),
        }
    }

    fn nothing() -> Self {
        Arr::from_raw(stage::Raw::default())
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        Ok(entries.leaf(T::DTYPE))
    }
}

impl<T: Element> Arrays for Tensor<T> {
    type Staged = Arr<T>;
    type Concrete = Tensor<T>;
    type Of<W: Arrays> = W;

    fn tree(&self) -> Tree {
        Tree::Leaf(Type::of(self.as_array()))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        leaves.push(Leaf(LeafKind::Concrete(self.as_array().clone())));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        expect_leaf::<T>(tree)?;
        match leaves.next()?.0 {
            LeafKind::Concrete(array) => Tensor::from_array(array),
            LeafKind::Staged(_) => Err(Error::internal("a staged leaf in a concrete structure")),
        }
    }

    fn nothing() -> Self {
        T::default().into()
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        Ok(entries.leaf(T::DTYPE))
    }
}

fn expect_leaf<T: Element>(tree: &Tree) -> Result<()> {
    match tree {
        Tree::Leaf(ty) if ty.dtype == T::DTYPE => Ok(()),
        other => {
            Err(Error::type_error("arguments", format!("an array of {}, not {other}", T::DTYPE)))
        }
    }
}

impl<A: Arrays> Arrays for Vec<A> {
    type Staged = Vec<A::Staged>;
    type Concrete = Vec<A::Concrete>;
    type Of<W: Arrays> = Vec<A::Of<W>>;

    fn tree(&self) -> Tree {
        Tree::numbered(self.iter().map(A::tree))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        self.iter().for_each(|part| part.flatten(leaves));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        let Tree::Node(parts) = tree else {
            return Err(Error::type_error("arguments", format!("a vector, not {tree}")));
        };
        parts.iter().map(|(_, part)| A::unflatten(part, leaves)).collect()
    }

    fn nothing() -> Self {
        Vec::new()
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        entries.numbered((0..entries.count()).map(|_| A::tree_in as _))
    }
}

impl<A: Arrays, const N: usize> Arrays for [A; N] {
    type Staged = [A::Staged; N];
    type Concrete = [A::Concrete; N];
    type Of<W: Arrays> = [A::Of<W>; N];

    fn tree(&self) -> Tree {
        Tree::numbered(self.iter().map(A::tree))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        self.iter().for_each(|part| part.flatten(leaves));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        let parts = Vec::<A>::unflatten(tree, leaves)?;
        let found = parts.len();
        parts.try_into().map_err(|_| {
            Error::type_error("arguments", format!("{N} parts are expected, not {found}"))
        })
    }

    fn nothing() -> Self {
        std::array::from_fn(|_| A::nothing())
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        entries.numbered((0..N).map(|_| A::tree_in as _))
    }
}

macro_rules! tuples {
    ($(($($t:ident $n:tt),*))*) => { $(
        impl<$($t: Arrays),*> Arrays for ($($t,)*) {
            type Staged = ($($t::Staged,)*);
            type Concrete = ($($t::Concrete,)*);
            type Of<W: Arrays> = ($($t::Of<W>,)*);

            fn tree(&self) -> Tree {
                Tree::numbered([$(self.$n.tree()),*])
            }

            fn flatten(&self, _leaves: &mut Vec<Leaf>) {
                $(self.$n.flatten(_leaves);)*
            }

            fn unflatten(tree: &Tree, _leaves: &mut Leaves) -> Result<Self> {
                const PARTS: usize = <[&str]>::len(&[$(stringify!($t)),*]);
                if tree.len() != PARTS {
                    let message = format!("{PARTS} parts are expected, not {tree}");
                    return Err(Error::type_error("arguments", message));
                }
                Ok(($(match tree.part($n) {
                    Some(part) => $t::unflatten(part, _leaves)?,
                    None => return Err(Error::internal("a part is missing")),
                },)*))
            }

            #[allow(clippy::unused_unit, reason = "the tuple of none is one of them")]
            fn nothing() -> Self {
                ($($t::nothing(),)*)
            }

            fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
                entries.numbered([$($t::tree_in as fn(&Entries<'_>) -> Result<Tree>),*])
            }
        }
    )* };
}

tuples! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

//! Values for arguments: what `call` takes.

use cotan_array::Array;

use super::{Arrays, Tree, concrete_leaves};
use crate::arr::Arr;
use crate::element::Element;
use crate::tensor::Tensor;

/// Concrete arrays with the tree of their structure.
#[derive(Clone, Debug)]
pub struct Fed {
    /// What they are parts of.
    pub tree: Tree,
    /// The arrays.
    pub arrays: Vec<Array>,
}

impl Fed {
    /// Both.
    pub(crate) fn tree_and_arrays(&self) -> (&Tree, &[Array]) {
        (&self.tree, &self.arrays)
    }

    /// The leaves of a concrete structure.
    pub fn of<A: Arrays>(structure: &A) -> Fed {
        Fed { tree: structure.tree(), arrays: concrete_leaves(structure) }
    }

    fn join(parts: impl IntoIterator<Item = Fed>) -> Fed {
        let (mut trees, mut arrays) = (Vec::new(), Vec::new());
        for part in parts {
            trees.push(part.tree);
            arrays.extend(part.arrays);
        }
        Fed { tree: Tree::numbered(trees), arrays }
    }
}

/// What can be given for an argument `A` of a staged function: a number, a Rust array (also of
/// arrays), a slice, a `Vec`, a [`Tensor`] or a reference to one, where the function has an [`Arr`];
/// and structures of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for an argument that is `{A}`",
    label = "not the elements of `{A}`",
    note = "for an `Arr<T>` there can be given a number, a Rust array, a slice, a `Vec` or a \
            `Tensor`, of `T` and no other element type; for several arguments a tuple; for a \
            struct of arrays the struct of tensors, or a reference to it"
)]
pub trait Feed<A> {
    /// The values.
    fn feed(self) -> Fed;
}

/// What was fed already.
impl<A> Feed<A> for Fed {
    fn feed(self) -> Fed {
        self
    }
}

macro_rules! feed_leaf {
    ($([$($n:ident),*] $t:ty;)*) => { $(
        impl<T: Element, $(const $n: usize),*> Feed<Arr<T>> for $t {
            fn feed(self) -> Fed {
                Fed::of(&Tensor::<T>::from(self))
            }
        }
    )* };
}

feed_leaf! {
    [] T;
    [] Tensor<T>;
    [] &Tensor<T>;
    [] Vec<T>;
    [] &[T];
    [N] [T; N];
    [N] &[T; N];
    [N, M] [[T; M]; N];
    [N, M] &[[T; M]; N];
    [N, M, K] [[[T; K]; M]; N];
    [N, M, K] &[[[T; K]; M]; N];
}

impl<T: Element> Feed<Arr<T>> for &Vec<T> {
    fn feed(self) -> Fed {
        Fed::of(&Tensor::from(self.as_slice()))
    }
}

impl<S, F: Feed<S>> Feed<Vec<S>> for Vec<F> {
    fn feed(self) -> Fed {
        Fed::join(self.into_iter().map(F::feed))
    }
}

impl<'a, S, F> Feed<Vec<S>> for &'a Vec<F>
where
    &'a F: Feed<S>,
{
    fn feed(self) -> Fed {
        Fed::join(self.iter().map(Feed::feed))
    }
}

impl<S, F: Feed<S>, const N: usize> Feed<[S; N]> for [F; N] {
    fn feed(self) -> Fed {
        Fed::join(self.into_iter().map(F::feed))
    }
}

impl<'a, S, F, const N: usize> Feed<[S; N]> for &'a [F; N]
where
    &'a F: Feed<S>,
{
    fn feed(self) -> Fed {
        Fed::join(self.iter().map(Feed::feed))
    }
}

macro_rules! tuples {
    ($(($($s:ident $f:ident $n:tt),*))*) => { $(
        impl<$($s, $f: Feed<$s>),*> Feed<($($s,)*)> for ($($f,)*) {
            fn feed(self) -> Fed {
                Fed::join([$(self.$n.feed()),*])
            }
        }

        impl<'a, $($s, $f),*> Feed<($($s,)*)> for &'a ($($f,)*)
        where
            $(&'a $f: Feed<$s>),*
        {
            fn feed(self) -> Fed {
                Fed::join([$(Feed::feed(&self.$n)),*])
            }
        }
    )* };
}

for_each_tuple!(tuples);

impl Feed<()> for () {
    fn feed(self) -> Fed {
        Fed::join([])
    }
}

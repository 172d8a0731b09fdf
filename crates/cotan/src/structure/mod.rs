//! Structures of arrays: what functions take and give.
//!
//! Tuples, vectors, arrays and structs with `#[derive(Arrays)]` of arrays are themselves arguments
//! and results. A structure exists in two worlds: *staged*, with [`Arr`] at its leaves, and
//! *concrete*, with [`Tensor`]. [`Arrays`] takes a structure apart into its leaves and puts it
//! together again, so gradients come back in the structure of the parameters.

/// Gives the tuples of one to eight parts to a macro: for each part the names of two types and its
/// number.
macro_rules! for_each_tuple {
    ($macro:ident) => {
        $macro! {
            (A F 0)
            (A F 0, B G 1)
            (A F 0, B G 1, C H 2)
            (A F 0, B G 1, C H 2, D I 3)
            (A F 0, B G 1, C H 2, D I 3, E J 4)
            (A F 0, B G 1, C H 2, D I 3, E J 4, K L 5)
            (A F 0, B G 1, C H 2, D I 3, E J 4, K L 5, M N 6)
            (A F 0, B G 1, C H 2, D I 3, E J 4, K L 5, M N 6, O P 7)
        }
    };
}

mod entries;
mod feed;
mod impls;
mod ops;
mod option;
mod rows;
mod shapes;
mod tree;

pub use entries::Entries;
pub use feed::{Fed, Feed};
pub(crate) use ops::expect_same;
pub use ops::{
    ScalarValue, all_finite, dot_tensors, flat_floats, map_tensors, with_floats, zip_tensors,
};
pub use rows::{row_count, take_rows};
pub use shapes::Shapes;
pub use tree::{Fixed, Plain, Tree};

use cotan_array::Array;

use crate::error::{Error, ErrorKind, Result};
use crate::stage::{self, Raw};

#[cfg(doc)]
use crate::{Arr, Tensor};

/// How files name a structure that is a single array: as numpy does.
pub(crate) const SINGLE: &str = "arr_0";

/// A structure with arrays at its leaves.
///
/// Implemented by arrays, tuples of up to eight, `Vec`, `Option`, `[_; N]`, `()`, and by structs with
/// `#[derive(Arrays)]`.
///
/// # Structs
///
/// A struct is written once for both worlds: a type parameter stands for its arrays. What is not
/// made of arrays is marked with `#[arrays(skip)]`. Gradients come back as the struct.
///
/// ```
/// use cotan::prelude::*;
///
/// #[derive(Arrays, Clone, Debug, PartialEq)]
/// struct Line<A> {
///     slope: A,
///     offset: A,
///     #[arrays(skip)]
///     degree: usize,
/// }
///
/// fn loss(line: Line<Arr<f64>>, x: Arr<f64>, y: Arr<f64>) -> Arr<f64> {
///     let error = line.slope * x + line.offset - y;
///     (error * error).sum()
/// }
///
/// let line = Line { slope: Tensor::from(1.0), offset: Tensor::from(0.0), degree: 1 };
/// let (x, y) = ([0.0, 1.0, 3.0], [1.0, 3.0, 7.0]);
/// let (value, gradient) = value_and_grad(loss).call((&line, x, y))?;
/// assert_eq!(value, 21.0);
/// let expected = Line { slope: (-28.0).into(), offset: (-14.0).into(), degree: 1 };
/// assert_eq!(gradient, expected);
/// # Ok::<(), cotan::Error>(())
/// ```
///
/// Structs may have named fields, numbered ones or none, and contain one another, vectors, tuples,
/// arrays and options. Details:
///
/// - An `Option` has arrays or none, and a function is compiled for what it has:
///
///   ```
///   use cotan::prelude::*;
///
///   #[derive(Arrays, Clone, Debug, PartialEq)]
///   struct Layer<A> {
///       weights: A,
///       bias: Option<A>,
///   }
///
///   fn apply(layer: Layer<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
///       let y = layer.weights.matmul(x);
///       layer.bias.map_or(y, |bias| y + bias)
///   }
///
///   let gradient = grad(|layer: Layer<Arr<f64>>, x: Arr<f64>| apply(layer, x).sum());
///   let plain = Layer { weights: Tensor::from([[1.0, 2.0]]), bias: None };
///   assert_eq!(gradient.call((&plain, [3.0, 4.0]))?.bias, None);
///   let biased = Layer { bias: Some(Tensor::from([0.5])), ..plain };
///   assert_eq!(gradient.call((&biased, [3.0, 4.0]))?.bias, Some(Tensor::from([1.0])));
///   # Ok::<(), cotan::Error>(())
///   ```
///
/// - A type parameter that occurs in a field stands for arrays, and has no bounds on the struct
///   other than `Arrays`. There may be several, for arrays of different element types:
///   `struct Batch<X, Y> { images: X, labels: Y }` is used as `Batch<Arr<f32>, Arr<i64>>`.
/// - A skipped field is [`Plain`]: `Clone`, `PartialEq`, `Debug`, `Default`, `Send`, `Sync` and
///   without borrowed parts. A function is compiled for its value, and called with the same one.
///   Type parameters that occur in skipped fields only are plain, too.
/// - Const parameters stay as they are; lifetimes and enums are refused:
///
///   ```compile_fail
///   #[derive(cotan::Arrays)]
///   enum Choice<A> {
///       One(A),
///       Two(A, A),
///   }
///   ```
///
/// - Where cotan is not `::cotan`, the struct says where: `#[arrays(crate = path::to::cotan)]`.
///
/// The derived implementations are of this trait for the struct of anything, and of [`Feed`] for
/// the struct of tensors and references to it: what `call` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a structure of arrays",
    label = "not made of `Arr` or `Tensor`; a struct needs `#[derive(Arrays)]`",
    note = "structures of arrays are `Arr`, tuples of up to eight, `Vec`, `Option`, `[_; N]`, and \
            structs with `#[derive(Arrays)]`",
    note = "a field of a struct that is not made of arrays is marked with `#[arrays(skip)]`"
)]
pub trait Arrays: Sized {
    /// The same structure of [`Arr`].
    type Staged: Arrays<Staged = Self::Staged, Concrete = Self::Concrete>;
    /// The same structure of [`Tensor`].
    type Concrete: Arrays<Staged = Self::Staged, Concrete = Self::Concrete>;
    /// The same structure with a `W` at every leaf: a Jacobian has a gradient for each result.
    type Of<W: Arrays>: Arrays;

    /// What it consists of.
    fn tree(&self) -> Tree;
    /// Its leaves in order.
    fn flatten(&self, leaves: &mut Vec<Leaf>);
    /// The structure of a tree, with the next leaves.
    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self>;
    /// Something of this type, when an error was found and nothing counts any more.
    fn nothing() -> Self;
    /// What it consists of in a file that holds these arrays.
    fn tree_in(entries: &Entries<'_>) -> Result<Tree>;
}

/// A leaf of a structure.
#[derive(Clone, Debug)]
pub struct Leaf(pub(crate) LeafKind);

impl Leaf {
    /// The array, if it is not staged.
    pub(crate) fn concrete(self) -> Option<Array> {
        match self.0 {
            LeafKind::Staged(_) => None,
            LeafKind::Concrete(array) => Some(array),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum LeafKind {
    Staged(Raw),
    Concrete(Array),
}

/// Leaves on their way into a structure.
#[derive(Debug)]
pub struct Leaves(std::vec::IntoIter<Leaf>);

impl Leaves {
    pub(crate) fn staged(raws: impl IntoIterator<Item = Raw>) -> Leaves {
        let leaves = raws.into_iter().map(|raw| Leaf(LeafKind::Staged(raw)));
        Leaves(leaves.collect::<Vec<_>>().into_iter())
    }

    pub(crate) fn concrete(arrays: impl IntoIterator<Item = Array>) -> Leaves {
        let leaves = arrays.into_iter().map(|array| Leaf(LeafKind::Concrete(array)));
        Leaves(leaves.collect::<Vec<_>>().into_iter())
    }

    pub(crate) fn next(&mut self) -> Result<Leaf> {
        self.0.next().ok_or_else(|| Error::internal("a structure has too few leaves"))
    }
}

/// The tree of a structure that is the same in both worlds, because it has no arrays in it: a field
/// of a struct that has none of its type parameters.
#[doc(hidden)]
pub fn tree_without_arrays<A: Arrays<Staged = A, Concrete = A>>(structure: &A) -> Tree {
    structure.tree()
}

/// The handles of a staged structure.
pub(crate) fn raws<A: Arrays>(structure: &A) -> Vec<Raw> {
    let mut leaves = Vec::new();
    structure.flatten(&mut leaves);
    leaves
        .into_iter()
        .map(|leaf| match leaf.0 {
            LeafKind::Staged(raw) => raw,
            LeafKind::Concrete(_) => {
                let message = "a `Tensor` among the arrays of a function";
                let error = Error::new(ErrorKind::Scope, "result", message);
                stage::unplaced("result", || {
                    stage::fail(error.with_hint("`constant` makes an array of it"));
                });
                Raw::default()
            }
        })
        .collect()
}

/// The elements of a concrete structure.
pub(crate) fn concrete_leaves<A: Arrays>(structure: &A) -> Vec<Array> {
    let mut leaves = Vec::new();
    structure.flatten(&mut leaves);
    let arrays = leaves.into_iter().filter_map(|leaf| match leaf.0 {
        LeafKind::Concrete(array) => Some(array),
        LeafKind::Staged(_) => None,
    });
    arrays.collect()
}

/// A structure that a closure gave, with other leaves; after an error as it is, for then nothing
/// counts any more.
#[track_caller]
pub(crate) fn refilled<A: Arrays>(given: Option<A>, leaves: Option<Vec<Raw>>) -> A {
    let Some(given) = given else { return A::nothing() };
    let Some(leaves) = leaves else { return given };
    let mut types = leaves.iter().map(|&raw| stage::type_of(raw));
    let tree = given
        .tree()
        .map_leaves(&mut |ty| Tree::Leaf(types.next().flatten().unwrap_or_else(|| ty.clone())));
    recovered(A::unflatten(&tree, &mut Leaves::staged(leaves.iter().copied())))
}

/// The structure; an error is recorded.
#[track_caller]
pub(crate) fn recovered<A: Arrays>(result: Result<A>) -> A {
    match result {
        Ok(structure) => structure,
        Err(error) => {
            stage::fail(error);
            A::nothing()
        }
    }
}

//! Structures in `.npz` files.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use cotan_array::Shape;
use cotan_array::npz::{self, Archive};
use cotan_ir::Type;

use super::{Source, filled, named_leaves};
use crate::error::Result;
use crate::structure::{Arrays, Tree, concrete_leaves};
use crate::tensor::file_error;

/// Writes the arrays of a structure to an `.npz` file, whole or not at all.
///
/// They go by the paths of the leaves (`layers.0.weights`); a single tensor is `arr_0`, as
/// `numpy.savez` names it. Skipped fields of structs are not written. `numpy.load` reads the file.
///
/// ```
/// use cotan::prelude::*;
///
/// #[derive(Arrays, Clone, Debug, PartialEq)]
/// struct Line<A> {
///     slope: A,
///     offset: A,
/// }
///
/// let path = std::env::temp_dir().join("cotan-example-line.npz");
/// let line = Line { slope: Tensor::from([1.0, 2.0]), offset: Tensor::from(0.5) };
/// save_npz(&path, &line)?;
/// let read: Line<Tensor<f64>> = load_npz(&path)?;
/// assert_eq!(read, line);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn save_npz<A: Arrays<Concrete = A>>(path: impl AsRef<Path>, structure: &A) -> Result<()> {
    let names = named_leaves(&structure.tree()).into_iter().map(|(name, _)| name);
    let arrays: Vec<_> = names.zip(concrete_leaves(structure)).collect();
    npz::write_file(path, &arrays).map_err(|error| file_error("save_npz", error))
}

/// Reads the arrays of a structure from an `.npz` file, as [`save_npz`] or `numpy.savez` writes it.
///
/// The type of the result says which arrays there are, by the paths of its leaves, and of which
/// element types. The file says their shapes, how long vectors are (one part for each number), and
/// which options hold something (those that have an array). If the file differs (an array is missing,
/// has another element type, or is left over), the error says in what. Skipped fields of structs are
/// in no file: see [`load_npz_like`].
///
/// ```
/// use cotan::optim::{Adam, AdamState, Optimizer};
/// use cotan::prelude::*;
///
/// type Params = Vec<Tensor<f64>>;
///
/// // The state of an optimiser is a structure as the parameters are: both go into one file.
/// let (adam, p): (_, Params) = (Adam::new(0.1), vec![Tensor::from([1.0, 2.0]), Tensor::from(3.0)]);
/// let mut state = adam.init(&p)?;
/// let p = adam.step(&mut state, &p, &p)?;
/// let path = std::env::temp_dir().join("cotan-example-checkpoint.npz");
/// save_npz(&path, &(p.clone(), state.clone()))?;
///
/// let resumed: (Params, AdamState<Params>) = load_npz(&path)?;
/// assert_eq!(resumed, (p, state));
/// # Ok::<(), cotan::Error>(())
/// ```
///
/// Members that no structure could hold, such as arrays of strings, are not looked at unless a leaf
/// has their name. Element types that cotan does not have are read as those that hold their values:
/// `float16` as f32, the integers as i64.
pub fn load_npz<A: Arrays<Concrete = A>>(path: impl AsRef<Path>) -> Result<A> {
    let opened = opened("load_npz", path.as_ref())?;
    let tree = opened.source.tree::<A>(|shape| Ok(shape.clone().unwrap_or_else(Shape::scalar)))?;
    opened.read(&tree)
}

/// Reads the arrays of a structure from an `.npz` file into one like another.
///
/// The result has the structure, the shapes, the element types and the skipped fields of `like`.
/// If the file differs (an array is missing, has another shape or type, or is left over), the error
/// says in what, as with [`load_npz`].
///
/// ```
/// use cotan::prelude::*;
///
/// let path = std::env::temp_dir().join("cotan-example-like.npz");
/// save_npz(&path, &(Tensor::from([1.0, 2.0]), Tensor::from(7)))?;
/// let like = (Tensor::<f64>::zeros(2)?, Tensor::<i64>::zeros(())?);
/// assert_eq!(load_npz_like(&path, &like)?.1, 7);
///
/// let other = (Tensor::<f64>::zeros(3)?, Tensor::<i64>::zeros(())?);
/// let error = load_npz_like(&path, &other).unwrap_err().to_string();
/// assert!(error.contains("`0` is [2]f64, not [3]f64"), "{error}");
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn load_npz_like<A: Arrays<Concrete = A>>(path: impl AsRef<Path>, like: &A) -> Result<A> {
    opened("load_npz_like", path.as_ref())?.read(&like.tree())
}

/// A file, with the shapes of its members; of those that are not arrays of ours, there is none.
struct Opened<'a> {
    archive: Archive<File>,
    source: Source<'a, Option<Shape>>,
}

fn opened<'a>(op: &'static str, path: &'a Path) -> Result<Opened<'a>> {
    let mut archive = Archive::open(path).map_err(|error| file_error(op, error))?;
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    let described = names.into_iter().map(|name| {
        let shape = archive.describe(&name).ok().flatten().map(|(_, shape)| shape);
        (name, shape)
    });
    let entries = described.collect();
    Ok(Opened { archive, source: Source { op, path, entries } })
}

impl Opened<'_> {
    /// The structure of a tree. Only what a leaf has the name of is read.
    fn read<A: Arrays<Concrete = A>>(self, tree: &Tree) -> Result<A> {
        let Opened { mut archive, mut source } = self;
        let wanted: HashSet<String> =
            named_leaves(tree).into_iter().map(|(name, _)| name).collect();
        source.entries.retain(|name, shape| shape.is_some() || wanted.contains(name));
        filled(source, tree, |name, _, wanted| match archive.read(name) {
            Ok(Some(array)) if Type::of(&array) == *wanted => Ok(array),
            Ok(Some(array)) => Err(Type::of(&array).to_string()),
            Ok(None) => Err("nothing".to_owned()),
            Err(error) => Err(format!("unreadable ({error})")),
        })
    }
}

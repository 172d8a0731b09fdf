//! Structures in `.npz` files.

use std::collections::HashSet;
use std::path::Path;

use cotan_array::npz::{self, Archive};
use cotan_ir::Type;

use super::{filled, named_leaves};
use crate::error::Result;
use crate::structure::{Arrays, concrete_leaves};
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
/// let zero = Line { slope: Tensor::zeros(2)?, offset: Tensor::zeros(())? };
/// assert_eq!(load_npz(&path, &zero)?, line);
///
/// let other = Line { slope: Tensor::from(0.0), offset: Tensor::from(0.0) };
/// let error = load_npz(&path, &other).unwrap_err().to_string();
/// assert!(error.contains("`slope` is [2]f64, not f64"), "{error}");
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn save_npz<A: Arrays<Concrete = A>>(path: impl AsRef<Path>, structure: &A) -> Result<()> {
    let names = named_leaves(&structure.tree()).into_iter().map(|(name, _)| name);
    let arrays: Vec<_> = names.zip(concrete_leaves(structure)).collect();
    npz::write_file(path, &arrays).map_err(|error| file_error("save_npz", error))
}

/// Reads the arrays of a structure from an `.npz` file, as [`save_npz`] or `numpy.savez` writes it.
///
/// The result has the structure, the shapes, the element types and the skipped fields of `like`.
/// If the file differs (an array is missing, has another shape or type, or is left over), the error
/// says in what. Members that no structure could hold, such as arrays of strings, are not looked at
/// unless a leaf has their name. Element types that cotan does not have are read as those that hold
/// their values: `float16` as f32, the integers as i64.
pub fn load_npz<A: Arrays<Concrete = A>>(path: impl AsRef<Path>, like: &A) -> Result<A> {
    let (op, path) = ("load_npz", path.as_ref());
    let mut archive = Archive::open(path).map_err(|error| file_error(op, error))?;
    let wanted: HashSet<String> =
        named_leaves(&like.tree()).into_iter().map(|(name, _)| name).collect();
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    let mut entries = Vec::new();
    for name in names {
        if wanted.contains(&name) {
            let read = archive.read(&name);
            entries.push((name, read));
        } else if archive.describe(&name).is_ok() {
            entries.push((name, Ok(None)));
        }
    }
    filled(op, path, like, entries, |entry, wanted| match entry {
        Ok(Some(array)) if Type::of(&array) == *wanted => Ok(array),
        Ok(Some(array)) => Err(Type::of(&array).to_string()),
        Ok(None) => Err("nothing".to_owned()),
        Err(error) => Err(format!("unreadable ({error})")),
    })
}

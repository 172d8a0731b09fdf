//! Structures in files, and tensors of other data.
//!
//! In a file the leaves of a structure go by their paths: `layers.0.weights`. The type of a structure
//! says which names there are, and the file says the shapes, how long vectors are, and which options
//! hold something. Or a file is read *like* a structure that is there already, which says what is
//! expected, and says what is not in files: the parts that are not made of arrays. A file that
//! differs in any leaf is refused as a whole, with everything in which it differs.

#[cfg(feature = "ndarray")]
mod ndarray;
mod nested;
mod npz;
#[cfg(feature = "safetensors")]
mod safetensors;

use std::collections::BTreeMap;
use std::path::Path;

use cotan_array::{Array, Shape};
use cotan_ir::Type;

use crate::error::{Error, ErrorKind, Result};
use crate::structure::{Arrays, Entries, Leaves, SINGLE, Tree};

pub use self::npz::{load_npz, load_npz_like, save_npz};
#[cfg(feature = "safetensors")]
pub use self::safetensors::{load_safetensors, load_safetensors_like, save_safetensors};

/// How many differences an error tells.
const TOLD: usize = 8;

/// The leaves of a structure with their names in files.
fn named_leaves(tree: &Tree) -> Vec<(String, Type)> {
    let mut leaves = tree.leaves("");
    for (path, _) in leaves.iter_mut().filter(|(path, _)| path.is_empty()) {
        SINGLE.clone_into(path);
    }
    leaves
}

/// A file on its way into a structure.
struct Source<'a, E> {
    op: &'static str,
    path: &'a Path,
    entries: BTreeMap<String, E>,
}

impl<E> Source<'_, E> {
    /// What the structure `A` consists of in this file.
    fn tree<A: Arrays>(&self, shape: impl Fn(&E) -> Result<Shape>) -> Result<Tree> {
        let shapes: Result<BTreeMap<String, Shape>> =
            self.entries.iter().map(|(name, entry)| Ok((name.clone(), shape(entry)?))).collect();
        A::tree_in(&Entries::new(&shapes?)).map_err(|error| error.renamed(self.op))
    }
}

/// The structure of a tree with the arrays of a file. `convert` makes an array of a named entry as a
/// leaf wants it, or says what the entry is instead.
fn filled<A: Arrays<Concrete = A>, E>(
    source: Source<'_, E>,
    tree: &Tree,
    mut convert: impl FnMut(&str, E, &Type) -> std::result::Result<Array, String>,
) -> Result<A> {
    let Source { op, path, mut entries } = source;
    let wanted = named_leaves(tree);
    let mut arrays = Vec::with_capacity(wanted.len());
    let mut differences = Vec::new();
    for (name, ty) in &wanted {
        match entries.remove(name).map(|entry| convert(name, entry, ty)) {
            Some(Ok(array)) => arrays.push(array),
            Some(Err(found)) => differences.push(format!("`{name}` is {found}, not {ty}")),
            None => differences.push(format!("`{name}` is missing")),
        }
    }
    differences
        .extend(entries.keys().map(|name| format!("`{}` is left over", name.escape_debug())));
    if differences.is_empty() {
        return A::unflatten(tree, &mut Leaves::concrete(arrays));
    }
    let more = differences.len().saturating_sub(TOLD);
    differences.truncate(TOLD);
    if more > 0 {
        differences.push(format!("and {more} more"));
    }
    let message =
        format!("{} does not fit the structure: {}", path.display(), differences.join("; "));
    let hint = match wanted.first() {
        Some((name, ty)) => format!(
            "the arrays in the file go by the paths of the leaves, such as `{name}` for {ty}; \
             load a structure that has the same"
        ),
        None => "the structure has no arrays".to_owned(),
    };
    Err(Error::new(ErrorKind::Data, op, message).with_hint(hint))
}

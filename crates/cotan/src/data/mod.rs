//! Structures in files, and tensors of other data.
//!
//! In a file the leaves of a structure go by their paths: `layers.0.weights`. A file is read *like* a
//! structure that is there already, which says what is expected, and says what is not in files: the
//! parts that are not made of arrays. A file that differs in any leaf is refused as a whole, with
//! everything in which it differs.

#[cfg(feature = "ndarray")]
mod ndarray;
mod nested;
mod npz;
#[cfg(feature = "safetensors")]
mod safetensors;

use std::collections::BTreeMap;
use std::path::Path;

use cotan_array::Array;
use cotan_ir::Type;

use crate::error::{Error, ErrorKind, Result};
use crate::structure::{Arrays, Leaves, Tree};

pub use self::npz::{load_npz, save_npz};
#[cfg(feature = "safetensors")]
pub use self::safetensors::{load_safetensors, save_safetensors};

/// How a structure that is a single array is named: as numpy names it.
const SINGLE: &str = "arr_0";

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

/// The structure `like` with the arrays of a file. `convert` makes an array of an entry as a leaf
/// wants it, or says what the entry is instead.
fn filled<A, E>(
    op: &'static str,
    path: &Path,
    like: &A,
    entries: impl IntoIterator<Item = (String, E)>,
    convert: impl Fn(E, &Type) -> std::result::Result<Array, String>,
) -> Result<A>
where
    A: Arrays<Concrete = A>,
{
    let tree = like.tree();
    let wanted = named_leaves(&tree);
    let mut entries: BTreeMap<String, E> = entries.into_iter().collect();
    let mut arrays = Vec::with_capacity(wanted.len());
    let mut differences = Vec::new();
    for (name, ty) in &wanted {
        match entries.remove(name).map(|entry| convert(entry, ty)) {
            Some(Ok(array)) => arrays.push(array),
            Some(Err(found)) => differences.push(format!("`{name}` is {found}, not {ty}")),
            None => differences.push(format!("`{name}` is missing")),
        }
    }
    differences
        .extend(entries.keys().map(|name| format!("`{}` is left over", name.escape_debug())));
    if differences.is_empty() {
        return A::unflatten(&tree, &mut Leaves::concrete(arrays));
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
             load them like a structure that has the same"
        ),
        None => "the structure has no arrays".to_owned(),
    };
    Err(Error::new(ErrorKind::Data, op, message).with_hint(hint))
}

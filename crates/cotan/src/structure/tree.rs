//! What a structure consists of, as a value.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use cotan_ir::Type;

use crate::error::{Error, Result};

/// The shape of a structure: its parts with their names, and the types of its leaves.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// An array.
    Leaf(Type),
    /// Parts with names: `0`, `1`, .. in tuples and vectors, the fields of structs.
    Node(Vec<(String, Tree)>),
    /// A part that is not made of arrays, the same in all that is made from this tree.
    Fixed(Fixed),
}

impl Tree {
    /// Parts that are numbered.
    pub fn numbered(parts: impl IntoIterator<Item = Tree>) -> Tree {
        Tree::Node(parts.into_iter().enumerate().map(|(n, tree)| (n.to_string(), tree)).collect())
    }

    /// Parts with names.
    pub fn named<'a>(parts: impl IntoIterator<Item = (&'a str, Tree)>) -> Tree {
        Tree::Node(parts.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect())
    }

    /// A part that is not made of arrays.
    pub fn fixed<V: Plain>(value: &V) -> Tree {
        Tree::Fixed(Fixed::new(value.clone()))
    }

    /// The value of a part that is not made of arrays.
    pub fn fixed_value<V: Plain>(&self) -> Result<V> {
        let value = match self {
            Tree::Fixed(fixed) => fixed.get(),
            Tree::Leaf(_) | Tree::Node(_) => None,
        };
        value.ok_or_else(|| {
            let message = format!("a `{}` is expected, not {self}", std::any::type_name::<V>());
            Error::type_error("arguments", message)
        })
    }

    /// The parts of the struct `owner`, which have these names.
    pub fn fields<const N: usize>(&self, owner: &str, names: [&str; N]) -> Result<[&Tree; N]> {
        let parts = match self {
            Tree::Node(parts) => parts.as_slice(),
            Tree::Leaf(_) | Tree::Fixed(_) => &[],
        };
        let same = parts.iter().map(|(name, _)| name.as_str()).eq(names);
        let trees: Vec<&Tree> = parts.iter().map(|(_, tree)| tree).collect();
        match <[&Tree; N]>::try_from(trees) {
            Ok(trees) if same && matches!(self, Tree::Node(_)) => Ok(trees),
            Ok(_) | Err(_) => {
                let message = format!("`{owner}` with the fields {names:?}, not {self}");
                Err(Error::type_error("arguments", message))
            }
        }
    }

    /// The part at a position.
    pub fn part(&self, n: usize) -> Option<&Tree> {
        match self {
            Tree::Node(parts) => parts.get(n).map(|(_, tree)| tree),
            Tree::Leaf(_) | Tree::Fixed(_) => None,
        }
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        match self {
            Tree::Node(parts) => parts.len(),
            Tree::Leaf(_) | Tree::Fixed(_) => 0,
        }
    }

    /// Whether it has no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The leaves in order, with the paths to them: `root.0.weights`.
    pub fn leaves(&self, root: &str) -> Vec<(String, Type)> {
        let mut leaves = Vec::new();
        let mut todo = vec![(root.to_owned(), self)];
        while let Some((path, tree)) = todo.pop() {
            match tree {
                Tree::Leaf(ty) => leaves.push((path, ty.clone())),
                Tree::Node(parts) => todo.extend(parts.iter().rev().map(|(name, part)| {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    (path, part)
                })),
                Tree::Fixed(_) => {}
            }
        }
        leaves
    }

    /// The number of leaves.
    pub fn leaf_count(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Node(parts) => parts.iter().map(|(_, part)| part.leaf_count()).sum(),
            Tree::Fixed(_) => 0,
        }
    }

    /// The tree with each leaf replaced.
    pub(crate) fn map_leaves(&self, leaf: &mut impl FnMut(&Type) -> Tree) -> Tree {
        match self {
            Tree::Leaf(ty) => leaf(ty),
            Tree::Node(parts) => Tree::Node(
                parts.iter().map(|(name, part)| (name.clone(), part.map_leaves(leaf))).collect(),
            ),
            Tree::Fixed(fixed) => Tree::Fixed(fixed.clone()),
        }
    }

    /// The first place where another tree differs: the path, and what stands in each.
    pub(crate) fn difference(&self, other: &Tree, path: &str) -> Option<(String, String, String)> {
        let differ = || Some((path.to_owned(), self.to_string(), other.to_string()));
        match (self, other) {
            (Tree::Node(mine), Tree::Node(theirs)) if mine.len() == theirs.len() => {
                mine.iter().zip(theirs).find_map(|((name, mine), (other_name, theirs))| {
                    let path = format!("{path}.{name}");
                    if name != other_name {
                        return Some((path, format!("`{name}`"), format!("`{other_name}`")));
                    }
                    mine.difference(theirs, &path)
                })
            }
            (Tree::Node(mine), Tree::Node(theirs)) => {
                let counted = |tree: &Tree, count| match count {
                    1 => format!("1 part, {tree}"),
                    count => format!("{count} parts, {tree}"),
                };
                let (mine, theirs) = (counted(self, mine.len()), counted(other, theirs.len()));
                Some((path.to_owned(), mine, theirs))
            }
            (Tree::Leaf(mine), Tree::Leaf(theirs)) if mine == theirs => None,
            (Tree::Fixed(mine), Tree::Fixed(theirs)) if mine == theirs => None,
            _ => differ(),
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf(ty) => write!(f, "{ty}"),
            Tree::Node(parts) => {
                let numbered =
                    parts.iter().enumerate().all(|(n, (name, _))| *name == n.to_string());
                let (open, close) = if numbered { ("(", ")") } else { ("{ ", " }") };
                f.write_str(open)?;
                for (n, (name, part)) in parts.iter().enumerate() {
                    let separator = if n == 0 { "" } else { ", " };
                    match numbered {
                        true => write!(f, "{separator}{part}")?,
                        false => write!(f, "{separator}{name}: {part}")?,
                    }
                }
                f.write_str(close)
            }
            Tree::Fixed(fixed) => write!(f, "{:?}", fixed.value),
        }
    }
}

/// What can be a part that is not made of arrays: a field with `#[arrays(skip)]`.
///
/// It is copied into everything that is made from a structure; a function is compiled for its
/// value, so calls compare it (a NaN is equal to nothing, so not even to itself) and errors show
/// it; and its default stands in for it after an error, when nothing counts any more.
pub trait Plain: Clone + PartialEq + fmt::Debug + Default + Send + Sync + 'static {}

impl<V: Clone + PartialEq + fmt::Debug + Default + Send + Sync + 'static> Plain for V {}

/// A part of a structure that is not made of arrays: a size, a choice.
#[derive(Clone)]
pub struct Fixed {
    value: Arc<dyn FixedValue>,
}

trait FixedValue: fmt::Debug + Send + Sync {
    fn any(&self) -> &dyn Any;
    fn same(&self, other: &dyn FixedValue) -> bool;
}

impl<V: PartialEq + fmt::Debug + Send + Sync + 'static> FixedValue for V {
    fn any(&self) -> &dyn Any {
        self
    }

    fn same(&self, other: &dyn FixedValue) -> bool {
        other.any().downcast_ref::<V>() == Some(self)
    }
}

impl Fixed {
    /// A value as a part.
    pub fn new<V: PartialEq + fmt::Debug + Send + Sync + 'static>(value: V) -> Fixed {
        Fixed { value: Arc::new(value) }
    }

    /// The value, if it is of this type.
    pub fn get<V: Clone + 'static>(&self) -> Option<V> {
        self.value.any().downcast_ref::<V>().cloned()
    }
}

impl PartialEq for Fixed {
    fn eq(&self, other: &Fixed) -> bool {
        self.value.same(&*other.value)
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_number() {
        let tree = Tree::named([("a", Tree::numbered([])), ("b", Tree::fixed(&7usize))]);
        let [a, b] = tree.fields("S", ["a", "b"]).unwrap();
        assert_eq!((a, b.fixed_value::<usize>().unwrap()), (&Tree::numbered([]), 7));
        for names in [["a", "c"], ["b", "a"]] {
            let error = tree.fields("S", names).unwrap_err().to_string();
            assert!(error.contains(&format!("`S` with the fields {names:?}")), "{error}");
        }
        assert!(tree.fields("S", ["a"]).is_err());
        assert!(tree.fields("S", ["a", "b", "c"]).is_err());
        assert!(b.fields("S", []).is_err());
        assert!(Tree::named([]).fields("S", []).is_ok());
    }

    #[test]
    fn fixed_values_have_their_types() {
        let tree = Tree::fixed(&"gelu");
        assert_eq!(tree.fixed_value::<&str>().unwrap(), "gelu");
        let error = tree.fixed_value::<u8>().unwrap_err().to_string();
        assert_eq!(error, "arguments: a `u8` is expected, not \"gelu\"");
        assert!(Tree::numbered([]).fixed_value::<u8>().is_err());
        assert_eq!(tree, Tree::fixed(&"gelu"));
        assert_ne!(Tree::fixed(&1u8), Tree::fixed(&1u16));
    }
}

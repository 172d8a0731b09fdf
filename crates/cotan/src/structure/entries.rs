//! Structures found in files: which parts there are, by the names of the arrays.

use std::collections::{BTreeMap, BTreeSet};

use cotan_array::{Dtype, Shape};
use cotan_ir::Type;

use super::Tree;
use crate::error::{Error, ErrorKind, Result};

/// What finds the tree of a part.
type FindTree<'a> = &'a dyn Fn(&Entries<'_>) -> Result<Tree>;

/// The arrays of a file that belong to a part of a structure: those whose names begin with its path.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    shapes: &'a BTreeMap<String, Shape>,
    path: String,
}

impl<'a> Entries<'a> {
    /// All arrays of a file.
    pub(crate) fn new(shapes: &'a BTreeMap<String, Shape>) -> Entries<'a> {
        Entries { shapes, path: String::new() }
    }

    /// The arrays of a part.
    pub fn part(&self, name: &str) -> Entries<'a> {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Entries { shapes: self.shapes, path }
    }

    /// The parts with names, in the order given.
    pub fn named<const N: usize>(&self, parts: [(&str, FindTree<'_>); N]) -> Result<Tree> {
        let trees: Result<Vec<(&str, Tree)>> =
            parts.into_iter().map(|(name, tree)| Ok((name, tree(&self.part(name))?))).collect();
        Ok(Tree::named(trees?))
    }

    /// Parts that are numbered.
    pub(crate) fn numbered(
        &self,
        parts: impl IntoIterator<Item = fn(&Entries<'_>) -> Result<Tree>>,
    ) -> Result<Tree> {
        let trees: Result<Vec<Tree>> = parts
            .into_iter()
            .enumerate()
            .map(|(n, tree)| tree(&self.part(&n.to_string())))
            .collect();
        Ok(Tree::numbered(trees?))
    }

    /// An array. Of one that is missing, nothing is known: whoever reads it says so.
    pub(crate) fn leaf(&self, dtype: Dtype) -> Tree {
        let name = if self.path.is_empty() { super::SINGLE } else { &self.path };
        let shape = self.shapes.get(name).cloned().unwrap_or_else(Shape::scalar);
        Tree::Leaf(Type::new(dtype, shape))
    }

    /// A field that is not made of arrays, and so in no file.
    pub fn skipped(&self, owner: &str) -> Result<Tree> {
        let field = &self.path;
        let message = format!("`{field}` of `{owner}` is a skipped field, which files do not hold");
        let hint = "load it like a structure that has it: `load_npz_like`, `load_safetensors_like`";
        Err(Error::new(ErrorKind::Data, "load", message).with_hint(hint))
    }

    /// The names below this part, without its path.
    fn below(&self) -> impl Iterator<Item = &'a str> {
        let prefix = match self.path.as_str() {
            "" => String::new(),
            path => format!("{path}."),
        };
        let from = self.shapes.range(prefix.clone()..);
        from.map_while(move |(name, _)| name.strip_prefix(&prefix))
    }

    /// Whether the file has anything of this part.
    pub(crate) fn any(&self) -> bool {
        self.shapes.contains_key(&self.path) || self.below().next().is_some()
    }

    /// How many numbered parts there are.
    pub(crate) fn count(&self) -> usize {
        let numbers = self.below().filter_map(|rest| rest.split('.').next()?.parse::<u64>().ok());
        numbers.collect::<BTreeSet<u64>>().len()
    }
}

//! Structured types: what a function takes and gives, as trees of arrays.

use std::fmt;

use cotan_ir::Type;

/// An array, or a tuple or record of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeTree {
    /// One array.
    Array(Type),
    /// `(T, U)`
    Tuple(Vec<TypeTree>),
    /// `{w: T, b: U}`
    Record(Vec<(String, TypeTree)>),
}

impl TypeTree {
    /// The arrays in order, each with its path from `root`: `p.w`, `p.b.0`, and `root` itself for
    /// an array.
    pub fn leaves(&self, root: &str) -> Vec<(String, &Type)> {
        let mut leaves = Vec::new();
        self.collect(root, &mut leaves);
        leaves
    }

    fn collect<'t>(&'t self, path: &str, leaves: &mut Vec<(String, &'t Type)>) {
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match self {
            TypeTree::Array(ty) => leaves.push((path.to_owned(), ty)),
            TypeTree::Tuple(items) => {
                for (k, item) in items.iter().enumerate() {
                    item.collect(&below(&k.to_string()), leaves);
                }
            }
            TypeTree::Record(fields) => {
                for (name, field) in fields {
                    field.collect(&below(name), leaves);
                }
            }
        }
    }

    /// Whether there is a record in it, so that its arrays have names.
    pub fn has_names(&self) -> bool {
        match self {
            TypeTree::Array(_) => false,
            TypeTree::Tuple(items) => items.iter().any(TypeTree::has_names),
            TypeTree::Record(_) => true,
        }
    }
}

impl From<Type> for TypeTree {
    fn from(ty: Type) -> TypeTree {
        TypeTree::Array(ty)
    }
}

impl fmt::Display for TypeTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeTree::Array(ty) => write!(f, "{ty}"),
            TypeTree::Tuple(items) => {
                write!(f, "(")?;
                for (k, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if k == 0 { "" } else { ", " })?;
                }
                write!(f, "{})", if items.len() == 1 { "," } else { "" })
            }
            TypeTree::Record(fields) => {
                write!(f, "{{")?;
                for (k, (name, field)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: {field}", if k == 0 { "" } else { ", " })?;
                }
                write!(f, "}}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};

    #[test]
    fn leaves_are_named_by_their_paths() {
        let array = TypeTree::Array(Type::new(Dtype::F64, Shape::new("t", &[3]).unwrap()));
        let scalar = TypeTree::Array(Type::scalar(Dtype::I64));
        let tree = TypeTree::Record(vec![
            ("w".into(), array.clone()),
            ("b".into(), TypeTree::Tuple(vec![scalar.clone(), array])),
        ]);
        let names: Vec<String> = tree.leaves("p").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["p.w", "p.b.0", "p.b.1"]);
        assert_eq!(tree.leaves("")[0].0, "w");
        assert_eq!(scalar.leaves("x")[0].0, "x");
        assert_eq!(tree.to_string(), "{w: [3]f64, b: (i64, [3]f64)}");
        assert_eq!(TypeTree::Tuple(vec![scalar]).to_string(), "(i64,)");
    }
}

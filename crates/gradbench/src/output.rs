//! Results as JSON.

use cotan_array::Array;
use cotan_syntax::TypeTree;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::json::write;

/// A result of this type, made of these arrays: records are objects, tuples and arrays are lists.
pub(crate) fn to_json(ty: &TypeTree, arrays: &[Array]) -> Outcome<Value> {
    let mut rest = arrays.iter();
    let value = tree(ty, &mut rest)?;
    match rest.next() {
        None => Ok(value),
        Some(_) => Err(Failure::Internal("a result has too many arrays".to_owned())),
    }
}

/// Recurses over the structure of a type, which the language keeps shallow.
fn tree<'a>(ty: &TypeTree, arrays: &mut impl Iterator<Item = &'a Array>) -> Outcome<Value> {
    match ty {
        TypeTree::Array(_) => match arrays.next() {
            Some(array) => write(array),
            None => Err(Failure::Internal("a result has too few arrays".to_owned())),
        },
        TypeTree::Tuple(items) => {
            items.iter().map(|item| tree(item, arrays)).collect::<Outcome<_>>().map(Value::Array)
        }
        TypeTree::Record(fields) => fields
            .iter()
            .map(|(name, field)| Ok((name.clone(), tree(field, arrays)?)))
            .collect::<Outcome<_>>()
            .map(Value::Object),
    }
}

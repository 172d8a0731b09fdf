//! The arguments of a function, found in the input of a message by the names of its parameters.

use cotan_array::{Array, Shape};
use cotan_syntax::{Interface, Leaf};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::axes::{Axis, axes};
use crate::failure::{Failure, Outcome};
use crate::json::{Nested, whole};

/// What a function is called with.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// The arrays of all parameters, in order.
    pub(crate) arrays: Vec<Array>,
    /// Size parameters that the arrays do not tell, or that the input gives as well.
    pub(crate) sizes: Vec<(String, usize)>,
}

impl Arguments {
    /// What an input has for a function. An input that is no object is the only argument.
    pub(crate) fn of(interface: &Interface, input: &Value) -> Outcome<Arguments> {
        let leaves: Vec<&Leaf> = interface.params.iter().flat_map(|param| &param.leaves).collect();
        let mut nested = Vec::with_capacity(leaves.len());
        for leaf in &leaves {
            let value = find(input, leaf, leaves.len())?;
            nested.push(Nested::read(&leaf.path, value, leaf.rank)?);
        }
        let mut sizes = Sizes::given(interface, input)?;
        for (leaf, nested) in leaves.iter().zip(&nested) {
            sizes.learn(leaf, nested);
        }
        let mut arrays = Vec::with_capacity(leaves.len());
        for (leaf, nested) in leaves.iter().zip(&nested) {
            let dims: Vec<usize> = nested
                .dims
                .iter()
                .enumerate()
                .map(|(axis, size)| size.unwrap_or_else(|| sizes.of_axis(leaf, axis)))
                .collect();
            arrays.push(nested.array(leaf.dtype, Shape::new("input", &dims)?)?);
        }
        let sizes = sizes.needed();
        Ok(Arguments { arrays, sizes })
    }
}

/// The value for an array of a parameter: at its path, `data.model.weights`, or, where a record
/// gathers fields of the input, at its path without the name of the parameter.
fn find<'j>(input: &'j Value, leaf: &Leaf, count: usize) -> Outcome<&'j Value> {
    let Value::Object(fields) = input else {
        let alone = count == 1 && !leaf.path.contains('.');
        return if alone { Ok(input) } else { Err(Failure::Input("it must be an object".into())) };
    };
    let path = match leaf.path.split_once('.') {
        Some((first, rest)) if !fields.contains_key(first) => rest,
        _ => &leaf.path,
    };
    let found = path.split('.').try_fold(input, |value, name| value.get(name));
    found.ok_or_else(|| Failure::Input(format!("`{path}` is missing")))
}

/// Size parameters by name, as far as they are known.
struct Sizes {
    known: FxHashMap<String, usize>,
    /// Those that have to be said when the function is made, in order.
    needed: Vec<String>,
}

impl Sizes {
    /// Those that the input has fields for.
    fn given(interface: &Interface, input: &Value) -> Outcome<Sizes> {
        let mut sizes = Sizes { known: FxHashMap::default(), needed: Vec::new() };
        for name in &interface.sizes {
            let Some(value) = input.get(name) else { continue };
            let size = whole(value).and_then(|size| usize::try_from(size).ok());
            let wrong =
                || Failure::Input(format!("`{name}` must be a size: a whole number, 0 or more"));
            sizes.known.insert(name.clone(), size.ok_or_else(wrong)?);
            sizes.needed.push(name.clone());
        }
        Ok(sizes)
    }

    /// Adds what the axes of an array tell.
    fn learn(&mut self, leaf: &Leaf, nested: &Nested<'_>) {
        for (axis, size) in axes(&leaf.ty).into_iter().zip(&nested.dims) {
            let (Axis::Multiple(factor, name), Some(size)) = (axis, size) else { continue };
            if self.known.contains_key(name) {
                continue;
            }
            self.known.insert(name.to_owned(), size / factor);
            if factor > 1 {
                self.needed.push(name.to_owned());
            }
        }
    }

    /// The size of an axis that no list shows: nothing depends on it but the types.
    fn of_axis(&self, leaf: &Leaf, axis: usize) -> usize {
        match axes(&leaf.ty).get(axis) {
            Some(Axis::Known(size)) => *size,
            Some(Axis::Multiple(factor, name)) => {
                self.known.get(*name).copied().unwrap_or(0).saturating_mul(*factor)
            }
            Some(Axis::Other) | None => 0,
        }
    }

    fn needed(self) -> Vec<(String, usize)> {
        let value = |name: String| self.known.get(&name).map(|size| (name.clone(), *size));
        self.needed.iter().cloned().filter_map(value).collect()
    }
}

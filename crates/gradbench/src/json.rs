//! Arrays from and to nested lists of JSON.

use cotan_array::{Array, Dtype, Element, Shape};
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// The elements of a nested list. The size of an axis is not known where there is no list to see it
/// from: `[]` as a matrix has 0 rows of unknown length.
#[derive(Debug)]
pub(crate) struct Nested<'j> {
    path: &'j str,
    /// The sizes of the axes.
    pub(crate) dims: Vec<Option<usize>>,
    elements: Vec<&'j Value>,
}

impl<'j> Nested<'j> {
    /// A value as lists of lists, `rank` deep; `path` is what messages call it.
    pub(crate) fn read(path: &'j str, value: &'j Value, rank: usize) -> Outcome<Nested<'j>> {
        let mut elements = vec![value];
        let mut dims = Vec::with_capacity(rank);
        for depth in 0..rank {
            let mut size = None;
            let mut inner = Vec::new();
            for element in elements {
                let Value::Array(list) = element else {
                    let what = "of lists ".repeat(rank - 1);
                    let message = format!("`{path}` must be a list {what}, {rank} deep");
                    return Err(Failure::Input(format!("{message}; it is not at depth {depth}")));
                };
                match size {
                    Some(size) if size != list.len() => {
                        return Err(Failure::Input(format!(
                            "the lists in `{path}` at depth {depth} differ in length: {size} and {}",
                            list.len()
                        )));
                    }
                    _ => size = Some(list.len()),
                }
                inner.extend(list);
            }
            dims.push(size);
            elements = inner;
        }
        Ok(Nested { path, dims, elements })
    }

    /// The array of this shape, whose sizes are those that are known.
    pub(crate) fn array(&self, dtype: Dtype, shape: Shape) -> Outcome<Array> {
        match dtype {
            Dtype::F64 => self.made(shape, "a number", Value::as_f64),
            Dtype::F32 => self.made(shape, "a number", |v| v.as_f64().map(|x| x as f32)),
            Dtype::I64 => self.made(shape, "a whole number", whole),
            Dtype::Bool => self.made(shape, "true or false", Value::as_bool),
        }
    }

    fn made<T: Element>(
        &self,
        shape: Shape,
        wanted: &str,
        element: impl Fn(&Value) -> Option<T>,
    ) -> Outcome<Array> {
        let elements: Option<Vec<T>> = self.elements.iter().map(|value| element(value)).collect();
        let what = if self.dims.is_empty() { "" } else { "an element of " };
        let wrong = || Failure::Input(format!("{what}`{}` is not {wanted}", self.path));
        Ok(Array::from_vec(shape, elements.ok_or_else(wrong)?)?)
    }
}

/// A whole number, also one that is written as `3.0`.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    let exact = |x: f64| (x.fract() == 0.0 && x.abs() < 9e15).then_some(x as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(exact))
}

/// An array as nested lists. What JSON has no number for, infinities and NaN, is `null`.
pub(crate) fn write(array: &Array) -> Outcome<Value> {
    let dims = array.shape().dims();
    match array.dtype() {
        Dtype::F64 => nest(dims, array.to_vec::<f64>()?),
        Dtype::F32 => nest(dims, array.to_vec::<f32>()?),
        Dtype::I64 => nest(dims, array.to_vec::<i64>()?),
        Dtype::Bool => nest(dims, array.to_vec::<bool>()?),
    }
}

fn nest<T: Into<Value>>(dims: &[usize], elements: Vec<T>) -> Outcome<Value> {
    let mut rest = elements.into_iter().map(Into::into);
    lists(dims, &mut rest)
}

/// Recurses over the axes.
fn lists(dims: &[usize], elements: &mut impl Iterator<Item = Value>) -> Outcome<Value> {
    match dims {
        [] => elements
            .next()
            .ok_or_else(|| Failure::Internal("an array has too few elements".to_owned())),
        [size, inner @ ..] => {
            (0..*size).map(|_| lists(inner, elements)).collect::<Outcome<_>>().map(Value::Array)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dims(value: &Value, rank: usize) -> Outcome<Vec<Option<usize>>> {
        Nested::read("x", value, rank).map(|nested| nested.dims)
    }

    #[test]
    fn lists_are_regular_and_deep_enough() {
        assert_eq!(dims(&json!([[1, 2, 3], [4, 5, 6]]), 2).unwrap(), [Some(2), Some(3)]);
        assert_eq!(dims(&json!([]), 2).unwrap(), [Some(0), None]);
        assert_eq!(dims(&json!([[], []]), 2).unwrap(), [Some(2), Some(0)]);
        assert_eq!(dims(&json!(3), 0).unwrap(), []);
        for (wrong, rank) in [(json!([[1], [2, 3]]), 2), (json!([1, [2]]), 2), (json!({}), 1)] {
            let message = dims(&wrong, rank).unwrap_err().to_string();
            assert!(message.contains("`x`"), "{message}");
        }
    }

    #[test]
    fn elements_are_of_the_type_that_is_asked_for() {
        let scalar = |value: Value, dtype| {
            Nested::read("x", &value, 0).and_then(|nested| nested.array(dtype, Shape::scalar()))
        };
        assert_eq!(scalar(json!(3), Dtype::F64).unwrap(), Array::scalar(3.0));
        assert_eq!(scalar(json!(3.0), Dtype::I64).unwrap(), Array::scalar(3i64));
        assert_eq!(scalar(json!(true), Dtype::Bool).unwrap(), Array::scalar(true));
        for (value, dtype) in [
            (json!("3"), Dtype::F64),
            (json!(null), Dtype::F64),
            (json!(2.5), Dtype::I64),
            (json!(1e300), Dtype::I64),
            (json!(1), Dtype::Bool),
        ] {
            assert!(scalar(value, dtype).is_err());
        }
    }

    #[test]
    fn arrays_are_written_as_they_are_read() {
        let value = json!([[1.5, -0.0], [1e-300, 0.1]]);
        let shape = Shape::new("test", &[2, 2]).unwrap();
        let array = Nested::read("x", &value, 2).unwrap().array(Dtype::F64, shape).unwrap();
        assert_eq!(write(&array).unwrap(), value);
        assert_eq!(write(&Array::scalar(7i64)).unwrap(), json!(7));
        assert_eq!(write(&Array::scalar(f64::INFINITY)).unwrap(), Value::Null);
        let empty = Array::zeros(Dtype::F64, Shape::new("test", &[2, 0]).unwrap()).unwrap();
        assert_eq!(write(&empty).unwrap(), json!([[], []]));
    }
}

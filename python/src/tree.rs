//! Structures of Python: taken apart into leaves, and put together again.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use crate::error::exception;

/// `cotan.tree._registered`: class to (flatten, unflatten).
static REGISTRY: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// `cotan.tree._describe`, which finds namedtuples and dataclasses and registers them.
static DESCRIBE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Structures nest at most so deep.
const DEEPEST: usize = 200;

/// What a structure consists of, without its leaves.
pub enum Shape {
    /// An array.
    Leaf,
    /// `None`, which has no leaves.
    Nothing,
    /// A tuple.
    Tuple(Vec<Shape>),
    /// A list.
    List(Vec<Shape>),
    /// A dict, by its keys in order.
    Dict(Vec<Py<PyAny>>, Vec<Shape>),
    /// An object of a registered class, with what is not arrays in it.
    Object(Py<PyType>, Py<PyAny>, Vec<Shape>),
}

impl Shape {
    /// Whether it is the same structure as another.
    pub fn same(&self, other: &Shape, py: Python<'_>) -> PyResult<bool> {
        let all = |a: &[Shape], b: &[Shape]| -> PyResult<bool> {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !a.same(b, py)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match (self, other) {
            (Shape::Leaf, Shape::Leaf) | (Shape::Nothing, Shape::Nothing) => Ok(true),
            (Shape::Tuple(a), Shape::Tuple(b)) | (Shape::List(a), Shape::List(b)) => all(a, b),
            (Shape::Dict(keys, a), Shape::Dict(others, b)) => {
                if keys.len() != others.len() {
                    return Ok(false);
                }
                for (key, other) in keys.iter().zip(others) {
                    if !key.bind(py).eq(other)? {
                        return Ok(false);
                    }
                }
                all(a, b)
            }
            (Shape::Object(class, aux, a), Shape::Object(other, other_aux, b)) => {
                Ok(class.is(other) && aux.bind(py).eq(other_aux)? && all(a, b)?)
            }
            _ => Ok(false),
        }
    }

    /// A number that equal structures have in common.
    pub fn hash_into(&self, hasher: &mut DefaultHasher) {
        let parts = match self {
            Shape::Leaf => return 0u8.hash(hasher),
            Shape::Nothing => return 1u8.hash(hasher),
            Shape::Tuple(parts) => (2u8, parts),
            Shape::List(parts) => (3u8, parts),
            Shape::Dict(_, parts) => (4u8, parts),
            Shape::Object(_, _, parts) => (5u8, parts),
        };
        (parts.0, parts.1.len()).hash(hasher);
        parts.1.iter().for_each(|part| part.hash_into(hasher));
    }

    /// How many leaves it has.
    pub fn leaves(&self) -> usize {
        match self {
            Shape::Leaf => 1,
            Shape::Nothing => 0,
            Shape::Tuple(parts) | Shape::List(parts) => parts.iter().map(Shape::leaves).sum(),
            Shape::Dict(_, parts) | Shape::Object(_, _, parts) => {
                parts.iter().map(Shape::leaves).sum()
            }
        }
    }

    /// The names of the leaves, from the name of the whole.
    pub fn paths(&self, py: Python<'_>, root: &str, found: &mut Vec<String>) {
        let child =
            |name: &str| if root.is_empty() { name.to_owned() } else { format!("{root}.{name}") };
        match self {
            Shape::Leaf => found.push(root.to_owned()),
            Shape::Nothing => {}
            Shape::Tuple(parts) | Shape::List(parts) => {
                for (n, part) in parts.iter().enumerate() {
                    part.paths(py, &child(&n.to_string()), found);
                }
            }
            Shape::Dict(keys, parts) => {
                for (key, part) in keys.iter().zip(parts) {
                    part.paths(py, &child(&key.bind(py).to_string()), found);
                }
            }
            Shape::Object(_, aux, parts) => {
                let names = aux.bind(py).getattr("names").and_then(|names| names.extract());
                let names: Vec<String> = names.unwrap_or_default();
                for (n, part) in parts.iter().enumerate() {
                    let number = n.to_string();
                    part.paths(py, &child(names.get(n).unwrap_or(&number)), found);
                }
            }
        }
    }
}

fn children<'py>(
    parts: impl Iterator<Item = Bound<'py, PyAny>>,
    leaves: &mut Vec<Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<Vec<Shape>> {
    parts.map(|part| flatten_at(&part, leaves, depth + 1)).collect()
}

/// What an object consists of; its leaves are added to the list.
pub fn flatten<'py>(
    any: &Bound<'py, PyAny>,
    leaves: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<Shape> {
    flatten_at(any, leaves, 0)
}

fn flatten_at<'py>(
    any: &Bound<'py, PyAny>,
    leaves: &mut Vec<Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<Shape> {
    let py = any.py();
    if depth > DEEPEST {
        let message = format!("a structure nested deeper than {DEEPEST}: does it contain itself?");
        return Err(exception(py, "ArrayTypeError", "structure", &message, None));
    }
    if any.is_none() {
        return Ok(Shape::Nothing);
    }
    if let Ok(tuple) = any.cast_exact::<PyTuple>() {
        return children(tuple.iter(), leaves, depth).map(Shape::Tuple);
    }
    if let Ok(list) = any.cast_exact::<PyList>() {
        return children(list.iter(), leaves, depth).map(Shape::List);
    }
    if let Ok(dict) = any.cast_exact::<PyDict>() {
        let keys = dict.keys();
        // As they are if they have no order; equal dicts then need the same one.
        let _ = keys.sort();
        let mut parts = Vec::with_capacity(keys.len());
        for key in keys.iter() {
            let value = dict.get_item(&key)?.unwrap_or_else(|| py.None().into_bound(py));
            parts.push(flatten_at(&value, leaves, depth + 1)?);
        }
        return Ok(Shape::Dict(keys.iter().map(Bound::unbind).collect(), parts));
    }
    let class = any.get_type();
    if is_leaf_class(py, &class)? {
        leaves.push(any.clone());
        return Ok(Shape::Leaf);
    }
    let pair = rules(py, &class)?;
    let (parts, aux): (Bound<'py, PyTuple>, Bound<'py, PyAny>) =
        pair.get_item(0)?.call1((any,))?.extract()?;
    let parts = children(parts.iter(), leaves, depth)?;
    Ok(Shape::Object(class.unbind(), aux.unbind(), parts))
}

/// Whether an object comes apart.
pub fn is_structure(any: &Bound<'_, PyAny>) -> PyResult<bool> {
    let common = any.is_none()
        || any.is_exact_instance_of::<PyTuple>()
        || any.is_exact_instance_of::<PyList>()
        || any.is_exact_instance_of::<PyDict>();
    Ok(common || !is_leaf_class(any.py(), &any.get_type())?)
}

fn registry<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyDict>> {
    let registry = REGISTRY.get_or_try_init(py, || {
        let found = py.import("cotan._trees")?.getattr("registered")?;
        Ok::<_, PyErr>(found.cast_into::<PyDict>()?.unbind())
    })?;
    Ok(registry.bind(py))
}

/// Whether objects of a class are leaves, as far as is known; classes are looked at once.
fn is_leaf_class<'py>(py: Python<'py>, class: &Bound<'py, PyType>) -> PyResult<bool> {
    if let Some(rules) = registry(py)?.get_item(class)? {
        return Ok(rules.is_none());
    }
    let describe = DESCRIBE.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("cotan._trees")?.getattr("describe")?.unbind())
    })?;
    Ok(describe.bind(py).call1((class,))?.is_none())
}

fn rules<'py>(py: Python<'py>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyTuple>> {
    let missing = || exception(py, "InternalError", "structure", "a class without rules", None);
    let rules = registry(py)?.get_item(class)?.ok_or_else(missing)?;
    Ok(rules.cast_into::<PyTuple>()?)
}

/// The structure with the next leaves.
pub fn unflatten<'py>(
    py: Python<'py>,
    shape: &Shape,
    leaves: &mut impl Iterator<Item = Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let mut all = |parts: &[Shape]| -> PyResult<Vec<Py<PyAny>>> {
        parts.iter().map(|part| unflatten(py, part, leaves)).collect()
    };
    match shape {
        Shape::Leaf => leaves.next().ok_or_else(|| {
            exception(py, "ArrayTypeError", "structure", "too few leaves for the structure", None)
        }),
        Shape::Nothing => Ok(py.None()),
        Shape::Tuple(parts) => Ok(PyTuple::new(py, all(parts)?)?.into_any().unbind()),
        Shape::List(parts) => Ok(PyList::new(py, all(parts)?)?.into_any().unbind()),
        Shape::Dict(keys, parts) => {
            let dict = PyDict::new(py);
            for (key, value) in keys.iter().zip(all(parts)?) {
                dict.set_item(key, value)?;
            }
            Ok(dict.into_any().unbind())
        }
        Shape::Object(class, aux, parts) => {
            let parts = PyTuple::new(py, all(parts)?)?;
            let unflatten = rules(py, class.bind(py))?.get_item(1)?;
            Ok(unflatten.call1((class, aux, parts))?.unbind())
        }
    }
}

/// What a structure consists of, for Python.
#[pyclass(frozen, name = "TreeDef", module = "cotan")]
pub struct TreeDef {
    pub(crate) shape: std::sync::Arc<Shape>,
}

#[pymethods]
impl TreeDef {
    /// The structure with these leaves.
    fn unflatten(&self, py: Python<'_>, leaves: Vec<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        if leaves.len() != self.shape.leaves() {
            let message =
                format!("{} leaves for a structure of {}", leaves.len(), self.shape.leaves());
            return Err(exception(py, "ArrayTypeError", "structure", &message, None));
        }
        unflatten(py, &self.shape, &mut leaves.into_iter())
    }

    /// How many leaves it has.
    #[getter]
    fn num_leaves(&self) -> usize {
        self.shape.leaves()
    }

    /// The names of the leaves, from the name of the whole.
    fn paths(&self, py: Python<'_>, root: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.shape.paths(py, root, &mut found);
        found
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<TreeDef>() {
            Ok(other) => self.shape.same(&other.get().shape, py),
            Err(_) => Ok(false),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.shape.hash_into(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let star = pyo3::types::PyString::new(py, "*").into_any().unbind();
        let mut stars = std::iter::repeat_with(|| star.clone_ref(py));
        let shown = unflatten(py, &self.shape, &mut stars)?;
        Ok(format!("TreeDef({})", shown.bind(py).str()?.to_string().replace('\'', "")))
    }
}

/// The leaves of a structure, and what it consists of.
#[pyfunction]
pub fn tree_flatten<'py>(any: &Bound<'py, PyAny>) -> PyResult<(Vec<Bound<'py, PyAny>>, TreeDef)> {
    let mut leaves = Vec::new();
    let shape = flatten(any, &mut leaves)?;
    Ok((leaves, TreeDef { shape: std::sync::Arc::new(shape) }))
}

//! Functions that are traced once for each signature, and then run as programs.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cotan::untyped;
use cotan_array::Array;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyListMethods, PyTuple};

use crate::again::Again;
use crate::convert::{Keep, given};
use crate::error::{at_part, exception};
use crate::operand::Operand;
use crate::program::{Compiled, Inspected, Signature};
use crate::tracer::Tracer;
use crate::tree::{Shape, flatten, is_structure, unflatten};

/// `cotan._data.is_array`.
static IS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Values of Python.
type Values<'py> = Vec<Bound<'py, PyAny>>;

/// What a function was traced for, and what came of it.
pub struct Entry {
    hash: u64,
    args: Vec<Shape>,
    places: Vec<Place>,
    /// Of the arrays of the program.
    pub types: Vec<Signature>,
    statics: Vec<Py<PyAny>>,
    compiled: Arc<Compiled>,
    out: Shape,
}

impl Entry {
    /// Whether it is for calls with so many positional arguments and keywords that are arrays or
    /// numbers, none of them static.
    pub fn is_flat(&self, positional: usize, keywords: usize) -> bool {
        self.places.len() == positional
            && self.args.len() == positional + keywords
            && self.args.iter().all(|shape| matches!(shape, Shape::Leaf))
            && self.places.iter().all(|place| matches!(place, Place::Traced(_)))
            // These are the names of the keywords.
            && self.statics.len() == keywords
    }
}

/// What is kept, the last used last.
#[derive(Default)]
struct Cache {
    entries: Vec<Arc<Entry>>,
    /// The last call, if one like it is recognised at once; of the last entry.
    again: Option<Arc<Again>>,
    hits: u64,
    misses: u64,
}

/// The arguments of a call, taken apart.
struct Call<'py> {
    hash: u64,
    /// One for each argument that is not static, then one for each keyword that is not.
    args: Vec<Shape>,
    leaves: Vec<Bound<'py, PyAny>>,
    /// Values of static arguments and names of keywords, in order.
    statics: Vec<Bound<'py, PyAny>>,
    /// Where each argument is found.
    places: Vec<Place>,
    keywords: Vec<(Bound<'py, PyAny>, Place)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Static(usize),
    Traced(usize),
}

/// A function of Python that runs as a program; inside another that is being traced it is part of
/// that.
#[pyclass(frozen, subclass, dict, weakref, name = "Jit", module = "cotan._core")]
pub struct Jit {
    f: Py<PyAny>,
    /// The names of the parameters, for messages and programs.
    names: Vec<String>,
    static_argnums: Vec<isize>,
    static_argnames: Vec<String>,
    accepts: Accepts,
    capacity: usize,
    cache: Mutex<Cache>,
}

/// What arguments may be besides structures of arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepts {
    /// Nothing else.
    Arrays,
    /// Truth values, strings, functions and objects, which are static: as with JAX, where a
    /// derivative is not compiled and hands them on.
    Anything,
    /// Lists of numbers, which are arrays.
    Lists,
}

impl Jit {
    fn locked(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_static(&self, position: usize, count: usize) -> bool {
        self.static_argnums.iter().any(|&n| {
            let from_start = if n < 0 { n + count as isize } else { n };
            from_start == position as isize
        }) || self.names.get(position).is_some_and(|name| self.static_argnames.contains(name))
    }

    /// Whether a keyword names a static argument.
    fn is_static_keyword(&self, name: &str) -> bool {
        let position = self.names.iter().position(|known| known == name);
        self.static_argnames.iter().any(|known| known == name)
            || position.is_some_and(|k| self.is_static(k, self.names.len()))
    }

    fn take_apart<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Call<'py>> {
        let count = args.len();
        let mut call = Call {
            hash: 0,
            args: Vec::with_capacity(count),
            leaves: Vec::with_capacity(count),
            statics: Vec::new(),
            places: Vec::with_capacity(count),
            keywords: Vec::new(),
        };
        let nothing_static = self.static_argnums.is_empty() && self.static_argnames.is_empty();
        for (n, arg) in args.iter().enumerate() {
            let place = self.add(&mut call, arg, !nothing_static && self.is_static(n, count))?;
            call.places.push(place);
        }
        if let Some(kwargs) = kwargs {
            let names = kwargs.keys();
            names.sort()?;
            for name in names.iter() {
                let Some(value) = kwargs.get_item(&name)? else { continue };
                let is_static = !nothing_static && self.is_static_keyword(&name.to_string());
                let place = self.add(&mut call, value, is_static)?;
                call.statics.push(name.clone());
                call.keywords.push((name, place));
            }
        }
        Ok(call)
    }

    fn add<'py>(
        &self,
        call: &mut Call<'py>,
        value: Bound<'py, PyAny>,
        is_static: bool,
    ) -> PyResult<Place> {
        match self.accepts {
            _ if is_static => {}
            Accepts::Arrays => {}
            Accepts::Anything if is_opaque(&value)? => return call.add(value, true),
            Accepts::Anything => {}
            Accepts::Lists => {
                if let Some(array) = list_of_numbers(&value) {
                    return call.add(array, false);
                }
            }
        }
        call.add(value, is_static)
    }

    /// The error about the static argument with this number.
    fn no_hash(&self, py: Python<'_>, call: &Call<'_>, k: usize) -> PyErr {
        let is_it = |place: &Place| *place == Place::Static(k);
        let keyword = call.keywords.iter().find(|(_, place)| is_it(place));
        let name = match (call.places.iter().position(is_it), keyword) {
            (Some(n), _) => self.names.get(n).cloned().unwrap_or_else(|| format!("number {n}")),
            (None, Some((name, _))) => name.to_string(),
            (None, None) => "?".to_owned(),
        };
        let class = call.statics[k].get_type().name();
        let class = class.map_or_else(|_| "object".to_owned(), |class| class.to_string());
        let own = self.f.bind(py).getattr("__name__").and_then(|name| name.extract::<String>());
        let message = format!(
            "the argument `{name}` is known while tracing, and part of the signature: an object of \
             the class {class} cannot be, since it has no hash"
        );
        let hint = "give a number, a string, or a tuple of these; arrays are arguments that are not \
                    static";
        exception(py, "ArrayTypeError", own.as_deref().unwrap_or("jit"), &message, Some(hint))
    }

    /// What was used last, if it is for arguments like these.
    fn last_again(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        arrays: &[Array],
        weak: &[bool],
    ) -> PyResult<Option<Arc<Entry>>> {
        let Some(last) = self.locked().entries.last().cloned() else { return Ok(None) };
        let same_types = last.types.len() == arrays.len()
            && last.types.iter().zip(arrays.iter().zip(weak)).all(|(known, (array, weak))| {
                known.0 == array.dtype() && known.1 == *weak && known.2 == array.shape().dims()
            });
        if !same_types || !call.same(py, &last)? {
            return Ok(None);
        }
        self.locked().hits += 1;
        Ok(Some(last))
    }

    /// What the last call used, and the arrays of this one, if it is like that.
    fn as_before(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<(Arc<Entry>, Vec<Array>)>> {
        let Some(again) = self.locked().again.clone() else { return Ok(None) };
        let Some(arrays) = again.arrays(args, kwargs)? else { return Ok(None) };
        self.locked().hits += 1;
        Ok(Some((Arc::clone(&again.entry), arrays)))
    }

    /// Makes the next call fast, if it is like this one.
    fn remember(
        &self,
        entry: &Arc<Entry>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let again = Again::new(entry, args, kwargs)?.map(Arc::new);
        let mut cache = self.locked();
        // Another thread may have used another entry since.
        let is_last = cache.entries.last().is_some_and(|last| Arc::ptr_eq(last, entry));
        let before = std::mem::replace(&mut cache.again, again.filter(|_| is_last));
        drop(cache);
        // After the lock: it may hold values of Python.
        drop(before);
        Ok(())
    }

    fn find(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        types: &[Signature],
    ) -> PyResult<Option<Arc<Entry>>> {
        // What compares values of Python must not hold the lock.
        let candidates: Vec<Arc<Entry>> =
            self.locked().entries.iter().filter(|e| e.hash == call.hash).cloned().collect();
        for entry in candidates {
            if entry.types == types && call.same(py, &entry)? {
                let mut cache = self.locked();
                cache.hits += 1;
                // That is of another entry.
                let before = cache.again.take();
                let position = cache.entries.iter().position(|e| Arc::ptr_eq(e, &entry));
                if let Some(position) = position
                    && position + 1 < cache.entries.len()
                {
                    let used = cache.entries.remove(position);
                    cache.entries.push(used);
                }
                drop(cache);
                drop(before);
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn trace<'py>(
        &self,
        py: Python<'py>,
        call: Call<'py>,
        types: Vec<Signature>,
    ) -> PyResult<Arc<Entry>> {
        let out: RefCell<Option<Shape>> = RefCell::new(None);
        let compiled = Compiled::trace(py, self.leaf_names(py, &call), &types, |operands| {
            let result = self.apply(py, &call, operands)?;
            let mut leaves = Vec::new();
            let shape = flatten(&result, &mut leaves)?;
            let names = names_of(py, &shape);
            *out.borrow_mut() = Some(shape);
            let leaves = leaves.iter().zip(&names).map(|(leaf, name)| {
                let made = Operand::of(leaf).map_err(|error| at_part(py, "result", name, error));
                Ok(made?.value)
            });
            let leaves: PyResult<Vec<_>> = leaves.collect();
            Ok(names.into_iter().zip(leaves?).collect())
        })?;
        let lost = || exception(py, "InternalError", "jit", "a result is missing", None);
        let entry = Arc::new(Entry {
            hash: call.hash,
            args: call.args,
            places: call.places,
            types,
            statics: call.statics.into_iter().map(Bound::unbind).collect(),
            compiled: Arc::new(compiled),
            out: out.into_inner().ok_or_else(lost)?,
        });
        let mut cache = self.locked();
        cache.misses += 1;
        let before = cache.again.take();
        let dropped =
            (cache.entries.len() >= self.capacity.max(1)).then(|| cache.entries.remove(0));
        cache.entries.push(Arc::clone(&entry));
        drop(cache);
        // After the lock: they may hold values of Python.
        drop((dropped, before));
        Ok(entry)
    }

    /// The function at traced arrays in the place of the leaves.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'py>,
        operands: Vec<Operand>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tracers: PyResult<Vec<Py<PyAny>>> = operands
            .iter()
            .map(|x| Ok(Bound::new(py, Tracer::new(py, x.value, x.weak)?)?.into_any().unbind()))
            .collect();
        let mut tracers = tracers?.into_iter();
        let traced: PyResult<Vec<Py<PyAny>>> =
            call.args.iter().map(|shape| unflatten(py, shape, &mut tracers)).collect();
        let traced = traced?;
        let at = |place: Place| match place {
            Place::Static(n) => call.statics[n].clone(),
            Place::Traced(n) => traced[n].bind(py).clone(),
        };
        let args = PyTuple::new(py, call.places.iter().map(|&place| at(place)))?;
        let kwargs = PyDict::new(py);
        for (name, place) in &call.keywords {
            kwargs.set_item(name, at(*place))?;
        }
        self.f.bind(py).call(args, Some(&kwargs))
    }

    /// The names of the leaves of the arguments.
    fn leaf_names(&self, py: Python<'_>, call: &Call<'_>) -> Vec<String> {
        let mut roots: Vec<(usize, String)> = Vec::new();
        for (n, place) in call.places.iter().enumerate() {
            if let Place::Traced(k) = place {
                roots.push((*k, self.names.get(n).cloned().unwrap_or_else(|| format!("x{n}"))));
            }
        }
        for (name, place) in &call.keywords {
            if let Place::Traced(k) = place {
                roots.push((*k, name.to_string()));
            }
        }
        roots.sort_unstable();
        let mut names = Vec::new();
        for ((_, root), shape) in roots.iter().zip(&call.args) {
            shape.paths(py, root, &mut names);
        }
        names
    }

    fn entry<'py>(
        &self,
        py: Python<'py>,
        mut call: Call<'py>,
    ) -> PyResult<(Arc<Entry>, Vec<Array>)> {
        let mut weak = Vec::with_capacity(call.leaves.len());
        let mut arrays = Vec::with_capacity(call.leaves.len());
        for (n, leaf) in call.leaves.iter().enumerate() {
            let given = given(leaf, Keep::Lend).map_err(|error| {
                let names = self.leaf_names(py, &call);
                at_part(py, "argument", names.get(n).map_or("", String::as_str), error)
            })?;
            weak.push(given.weak);
            arrays.push(given.array);
        }
        // Most calls are like the last one: nothing needs to be hashed for these.
        if let Some(entry) = self.last_again(py, &call, &arrays, &weak)? {
            return Ok((entry, arrays));
        }
        let mut hasher = DefaultHasher::new();
        let types: Vec<Signature> = arrays
            .iter()
            .zip(&weak)
            .map(|(array, &weak)| (array.dtype(), weak, array.shape().dims().to_vec()))
            .collect();
        for (dtype, weak, dims) in &types {
            (*dtype as u8, weak, dims).hash(&mut hasher);
        }
        call.args.iter().for_each(|shape| shape.hash_into(&mut hasher));
        for (k, value) in call.statics.iter().enumerate() {
            let number = value.hash().map_err(|_| self.no_hash(py, &call, k))?;
            number.hash(&mut hasher);
        }
        call.hash = hasher.finish();
        match self.find(py, &call, &types)? {
            Some(entry) => Ok((entry, arrays)),
            None => Ok((self.trace(py, call, types)?, arrays)),
        }
    }
}

/// What a function was traced to for one signature.
#[pyclass(frozen, name = "Traced", module = "cotan._core")]
pub struct Traced {
    entry: Arc<Entry>,
    names: Vec<String>,
}

#[pymethods]
impl Traced {
    /// A number that no other one that is alive has.
    #[getter]
    fn number(&self) -> usize {
        Arc::as_ptr(&self.entry) as usize
    }

    /// The program.
    #[getter]
    fn program(&self) -> Inspected {
        Inspected { compiled: Arc::clone(&self.entry.compiled) }
    }

    /// The names of the arrays that it takes.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The results of the function from their arrays.
    fn results(&self, py: Python<'_>, leaves: Vec<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        unflatten(py, &self.entry.out, &mut leaves.into_iter())
    }
}

/// Whether a value is neither an array nor a structure of arrays, or is a truth value.
fn is_opaque(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyBool>() {
        return Ok(true);
    }
    let common = value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>()
        || value.cast::<PyUntypedArray>().is_ok()
        || is_structure(value)?;
    if common {
        return Ok(false);
    }
    let is_array = IS_ARRAY.get_or_try_init(value.py(), || {
        Ok::<_, PyErr>(value.py().import("cotan._data")?.getattr("is_array")?.unbind())
    })?;
    Ok(!is_array.bind(value.py()).call1((value,))?.is_truthy()?)
}

/// The array of a list, or tuple, of numbers or such lists.
fn list_of_numbers<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let mut first = value.clone();
    while first.is_exact_instance_of::<PyList>() || first.is_exact_instance_of::<PyTuple>() {
        first = first.get_item(0).ok()?;
    }
    let number = first.is_exact_instance_of::<PyFloat>() || first.is_instance_of::<PyInt>();
    if !number || first.is(value) {
        return None;
    }
    // Lists of arrays and numbers are structures.
    let numpy = value.py().import("numpy").ok()?;
    let array = numpy.call_method1("asarray", (value,)).ok()?;
    array.cast::<PyUntypedArray>().is_ok_and(|array| array.dtype().kind() != b'O').then_some(array)
}

fn names_of(py: Python<'_>, shape: &Shape) -> Vec<String> {
    let mut names = Vec::new();
    shape.paths(py, "", &mut names);
    names
}

/// With tuples in the place of lists, also inside tuples.
fn tuples(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let (py, parts) = (
        value.py(),
        match () {
            () if value.is_exact_instance_of::<PyList>() => value.cast::<PyList>()?.to_tuple(),
            () if value.is_exact_instance_of::<PyTuple>() => value.cast::<PyTuple>()?.clone(),
            () => return Ok(value),
        },
    );
    let inner: PyResult<Vec<Bound<'_, PyAny>>> = parts.iter().map(tuples).collect();
    Ok(PyTuple::new(py, inner?)?.into_any())
}

impl<'py> Call<'py> {
    fn add(&mut self, value: Bound<'py, PyAny>, is_static: bool) -> PyResult<Place> {
        if is_static {
            // Lists have no hash; those of sizes and axes are common.
            self.statics.push(tuples(value)?);
            return Ok(Place::Static(self.statics.len() - 1));
        }
        let shape = flatten(&value, &mut self.leaves)?;
        self.args.push(shape);
        Ok(Place::Traced(self.args.len() - 1))
    }

    fn same(&self, py: Python<'py>, entry: &Entry) -> PyResult<bool> {
        if self.places != entry.places
            || self.args.len() != entry.args.len()
            || self.statics.len() != entry.statics.len()
        {
            return Ok(false);
        }
        for (value, other) in self.statics.iter().zip(&entry.statics) {
            let other = other.bind(py);
            // 1, 1.0 and True are equal, but not the same.
            if !value.get_type().is(other.get_type()) || !value.eq(other)? {
                return Ok(false);
            }
        }
        for (shape, other) in self.args.iter().zip(&entry.args) {
            if !shape.same(other, py)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[pymethods]
impl Jit {
    #[new]
    #[pyo3(signature = (f, names, static_argnums, static_argnames, accepts, capacity))]
    fn new(
        f: Py<PyAny>,
        names: Vec<String>,
        static_argnums: Vec<isize>,
        static_argnames: Vec<String>,
        accepts: &str,
        capacity: usize,
    ) -> Jit {
        let accepts = match accepts {
            "anything" => Accepts::Anything,
            "lists" => Accepts::Lists,
            _ => Accepts::Arrays,
        };
        let cache = Mutex::default();
        Jit { f, names, static_argnums, static_argnames, accepts, capacity, cache }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        if untyped::is_staging() {
            return Ok(self.f.bind(py).call(args, kwargs)?.unbind());
        }
        let (entry, arrays) = match self.as_before(args, kwargs)? {
            Some(found) => found,
            None => {
                let call = self.take_apart(args, kwargs)?;
                let (entry, arrays) = self.entry(py, call)?;
                self.remember(&entry, args, kwargs)?;
                (entry, arrays)
            }
        };
        let results = entry.compiled.run(py, &arrays)?;
        unflatten(py, &entry.out, &mut results.into_iter())
    }

    /// The program for arguments like these.
    #[pyo3(signature = (*args, **kwargs))]
    fn program<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Inspected> {
        let call = self.take_apart(args, kwargs)?;
        let (entry, _) = self.entry(py, call)?;
        Ok(Inspected { compiled: Arc::clone(&entry.compiled) })
    }

    /// The program for these arguments, their arrays in its order, and for each of them the argument
    /// that it belongs to: its position, or its name.
    #[pyo3(signature = (*args, **kwargs))]
    fn traced<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Traced, Values<'py>, Values<'py>)> {
        let call = self.take_apart(args, kwargs)?;
        let mut roots: Vec<(usize, Bound<'py, PyAny>)> = Vec::new();
        for (n, place) in call.places.iter().enumerate() {
            if let Place::Traced(k) = place {
                roots.push((*k, n.into_pyobject(py)?.into_any()));
            }
        }
        for (name, place) in &call.keywords {
            if let Place::Traced(k) = place {
                roots.push((*k, name.clone()));
            }
        }
        roots.sort_unstable_by_key(|(k, _)| *k);
        let owners = roots.into_iter().zip(&call.args);
        let owners = owners.flat_map(|((_, root), shape)| vec![root; shape.leaves()]).collect();
        let (names, leaves) = (self.leaf_names(py, &call), call.leaves.clone());
        let (entry, _) = self.entry(py, call)?;
        Ok((Traced { entry, names }, leaves, owners))
    }

    /// The program that was used last, if there is one.
    fn last_program(&self) -> Option<Inspected> {
        let compiled = self.locked().entries.last().map(|entry| Arc::clone(&entry.compiled));
        compiled.map(|compiled| Inspected { compiled })
    }

    /// How often a program was found and not found, how many are kept, and how many are at most.
    fn cache_numbers(&self) -> (u64, u64, usize, usize) {
        let cache = self.locked();
        (cache.hits, cache.misses, cache.entries.len(), self.capacity)
    }

    /// Whether the positional argument with this number, of so many, is static.
    fn is_static_position(&self, position: usize, count: usize) -> bool {
        self.is_static(position, count)
    }

    /// Whether the argument with this name is static.
    fn is_static_name(&self, name: &str) -> bool {
        self.is_static_keyword(name)
    }

    /// Forgets all programs.
    fn clear_cache(&self) {
        let mut cache = self.locked();
        let dropped = (std::mem::take(&mut cache.entries), cache.again.take());
        drop(cache);
        drop(dropped);
    }

    /// The function.
    #[getter]
    fn __wrapped__(&self, py: Python<'_>) -> Py<PyAny> {
        self.f.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.f)
    }
}

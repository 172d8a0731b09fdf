//! Programs: traced, compiled, and run without Python's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cotan::untyped::{self, AnyArr};
use cotan::{CancelToken, Error, Prepared, RunOptions};
use cotan_array::{Array, Dtype, Shape};
use cotan_ir::{Program, Type, Watch};
use cotan_pipeline::{Pass, Pipeline};
use pyo3::prelude::*;

use crate::callback::Raised;
use crate::convert::to_numpy;
use crate::error::{exception, guarded, of_library};
use crate::operand::Operand;

/// Programs of so many operations may take long enough that somebody wants to stop them.
const LONG: u64 = 1 << 20;

/// How often to look whether somebody wants to stop; what takes less is run without looking.
const LOOK: Duration = Duration::from_millis(20);

/// The type of an argument: element type, whether a number of Python, sizes.
pub type Signature = (Dtype, bool, Vec<usize>);

/// A program that was traced, ready to run.
pub struct Compiled {
    /// As it was traced, one element at a time.
    pub source: Program,
    /// Ready to run.
    pub prepared: Prepared,
    /// Whether a call may take long.
    length: Length,
}

/// How long calls take.
enum Length {
    /// Less than anybody notices.
    Short,
    /// As long as ever.
    Unbounded,
    /// Whether the last call took long; a first one counts as one that did.
    Measured(AtomicBool),
}

impl Compiled {
    /// Makes a program ready to run; with the lock of Python released.
    pub fn new(py: Python<'_>, source: Program) -> PyResult<Compiled> {
        let prepared = interruptible(py, true, |cancel| {
            let watch = Watch { cancel, ..Watch::default() };
            cotan_ir::within(watch, || Prepared::new(&source))
        })?;
        let loops = source.terms().any(|t| matches!(source.node(t), cotan_ir::Node::While(_)));
        let length = match prepared.cost().operations {
            _ if loops => Length::Unbounded,
            operations if operations > LONG => Length::Measured(AtomicBool::new(true)),
            _ => Length::Short,
        };
        Ok(Compiled { source, prepared, length })
    }

    /// Traces a function of a list of arrays to a list.
    pub fn trace(
        py: Python<'_>,
        names: Vec<String>,
        types: &[Signature],
        f: impl Fn(Vec<Operand>) -> PyResult<Vec<(String, AnyArr)>>,
    ) -> PyResult<Compiled> {
        Compiled::new(py, Compiled::staged(py, names, types, f)?)
    }

    /// The program of a function of Python from a list of arrays to a list.
    pub fn staged_list(
        py: Python<'_>,
        names: Vec<String>,
        types: &[Signature],
        f: &Bound<'_, PyAny>,
    ) -> PyResult<Program> {
        let raised = Raised::default();
        Compiled::staged(py, names, types, |operands| {
            let results = raised.watched(py, || raised.call(py, f, &[&operands]))?;
            Ok(results.into_iter().enumerate().map(|(n, x)| (n.to_string(), x.value)).collect())
        })
    }

    fn staged(
        py: Python<'_>,
        names: Vec<String>,
        types: &[Signature],
        f: impl Fn(Vec<Operand>) -> PyResult<Vec<(String, AnyArr)>>,
    ) -> PyResult<Program> {
        let inputs: PyResult<Vec<(String, Type)>> = names
            .into_iter()
            .zip(types)
            .map(|(name, (dtype, _, dims))| {
                let shape = Shape::new("trace", dims).map_err(|error| {
                    exception(py, "LimitError", "trace", &error.to_string(), None)
                })?;
                Ok((name, Type::new(*dtype, shape)))
            })
            .collect();
        let inputs = inputs?;
        let failed = std::cell::RefCell::new(None);
        let staged = guarded(py, || {
            untyped::stage(&inputs, &mut |given| {
                let weak = types.iter().map(|(_, weak, _)| *weak);
                let given = given.iter().zip(weak);
                let given = given.map(|(&value, weak)| Operand { value, weak }).collect();
                f(given).map_err(|raised| {
                    failed.borrow_mut().get_or_insert(raised);
                    Error::new(cotan::ErrorKind::Data, "python", "an exception")
                })
            })
        });
        if let Some(raised) = failed.into_inner() {
            return Err(raised);
        }
        staged?.map_err(|error| of_library(py, &error))
    }

    /// The results for arrays; the lock of Python is released meanwhile.
    pub fn run(&self, py: Python<'_>, arrays: &[Array]) -> PyResult<Vec<Py<PyAny>>> {
        let results = self.arrays(py, arrays)?;
        results.into_iter().map(|array| to_numpy(py, array)).collect()
    }

    /// [`run`](Compiled::run), without numpy.
    pub fn arrays(&self, py: Python<'_>, arrays: &[Array]) -> PyResult<Vec<Array>> {
        let run = |cancel| {
            let mut results = Vec::new();
            let options = RunOptions { cancel, ..RunOptions::default() };
            self.prepared.call_into(&options, arrays, &mut results).map(|()| results)
        };
        match &self.length {
            Length::Short => interruptible(py, false, run),
            Length::Unbounded => interruptible(py, true, run),
            Length::Measured(long) => {
                let begin = Instant::now();
                let results = interruptible(py, long.load(Ordering::Relaxed), run);
                long.store(begin.elapsed() >= LOOK, Ordering::Relaxed);
                results
            }
        }
    }
}

/// Does work without the lock of Python. If it may take long it is done by another thread, while this
/// one looks for signals: Ctrl-C stops the work.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    long: bool,
    work: impl FnOnce(CancelToken) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let cancel = CancelToken::new();
    let done = if long && on_main_thread(py) {
        guarded(py, || watched(py, &cancel, work))??
    } else {
        guarded(py, || py.detach(|| work(cancel)))?
    };
    done.map_err(|error| of_library(py, &error))
}

/// Only the main thread of Python gets signals.
fn on_main_thread(py: Python<'_>) -> bool {
    let same = || {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?.getattr("ident")?;
        threading.call_method0("get_ident")?.eq(main)
    };
    same().unwrap_or(false)
}

fn watched<R: Send>(
    py: Python<'_>,
    cancel: &CancelToken,
    work: impl FnOnce(CancelToken) -> Result<R, Error> + Send,
) -> PyResult<Result<R, Error>> {
    std::thread::scope(|scope| {
        let (sender, mut receiver) = mpsc::channel();
        let token = cancel.clone();
        let builder = std::thread::Builder::new().name("cotan-call".into()).stack_size(8 << 20);
        let worker = builder.spawn_scoped(scope, move || {
            let done = work(token);
            // Nobody waits any more after an exception.
            let _ = sender.send(());
            done
        })?;
        let mut raised = Ok(());
        loop {
            // Moved in and out: a receiver belongs to one thread at a time.
            let (back, received) = py.detach(move || {
                let received = receiver.recv_timeout(LOOK);
                (receiver, received)
            });
            receiver = back;
            match received {
                Err(mpsc::RecvTimeoutError::Timeout) if raised.is_ok() => {
                    raised = py.check_signals();
                    if raised.is_err() {
                        cancel.cancel();
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        let done = py.detach(|| worker.join());
        raised?;
        match done {
            Ok(done) => Ok(done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The program of a function, to look inside.
#[pyclass(frozen, name = "Program", module = "cotan")]
pub struct Inspected {
    pub(crate) compiled: std::sync::Arc<Compiled>,
}

#[pymethods]
impl Inspected {
    /// The program as it was traced, one element at a time, as text of the language.
    #[getter]
    fn source(&self) -> String {
        self.compiled.source.to_string()
    }

    /// The program in bulk operations.
    #[getter]
    fn bulk(&self, py: Python<'_>) -> PyResult<String> {
        let bulk = guarded(py, || Pipeline::new(&[Pass::BULK]).run(&self.compiled.source))?;
        let bulk = bulk.map_err(|error| of_library(py, &Error::from(error)))?;
        Ok(bulk.to_string())
    }

    /// The program that runs: in bulk operations, optimised.
    #[getter]
    fn optimised(&self) -> String {
        self.compiled.prepared.program().to_string()
    }

    /// The kernels that run it, as loop nests.
    #[getter]
    fn kernels(&self) -> String {
        self.compiled.prepared.kernels()
    }

    /// What runs it.
    #[getter]
    fn backend(&self) -> String {
        format!("{:?}", self.compiled.prepared.backend()).to_lowercase()
    }

    /// What reverse mode keeps: for each array its bytes, its type, where it comes from, and whether
    /// that is an argument.
    fn residual_rows(&self, py: Python<'_>) -> PyResult<Vec<(u64, String, String, bool)>> {
        let source = &self.compiled.source;
        let found = guarded(py, || cotan_pipeline::residuals(source))?;
        let found = found.map_err(|error| of_library(py, &Error::from(error)))?;
        let row = |residual: cotan_pipeline::Residual| {
            let argument = residual.input.and_then(|k| source.inputs().get(k));
            let from = argument.map_or(residual.op, |input| &input.name);
            let ty = &residual.ty;
            let bytes = ty.shape.bytes(ty.dtype);
            (bytes, ty.to_string(), from.to_owned(), argument.is_some())
        };
        Ok(found.into_iter().map(row).collect())
    }

    /// What one call costs: scalar operations, bytes of arrays made, bytes at once.
    fn cost_numbers(&self) -> (u64, u64, u64) {
        let cost = self.compiled.prepared.cost();
        (cost.operations, cost.bytes, cost.peak_bytes)
    }
}

/// A function of lists that is traced and run once.
#[pyfunction]
pub fn run_once(
    py: Python<'_>,
    leaves: Vec<Bound<'_, PyAny>>,
    f: &Bound<'_, PyAny>,
) -> PyResult<Vec<Py<PyAny>>> {
    let given: PyResult<Vec<_>> =
        leaves.iter().map(|leaf| crate::convert::given(leaf, crate::convert::Keep::Lend)).collect();
    let given = given?;
    let types: Vec<Signature> =
        given.iter().map(|x| (x.array.dtype(), x.weak, x.array.shape().dims().to_vec())).collect();
    let names = (0..given.len()).map(|n| format!("x{n}")).collect();
    let compiled = Compiled::new(py, Compiled::staged_list(py, names, &types, f)?)?;
    let arrays: Vec<Array> = given.into_iter().map(|x| x.array).collect();
    compiled.run(py, &arrays)
}

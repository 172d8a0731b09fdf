//! Errors of the library as Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cotan::{Error, ErrorKind, untyped};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// `cotan._errors.make`, which knows the classes and the line of the user.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Type => "ArrayTypeError",
        ErrorKind::Scope => "ScopeError",
        ErrorKind::NotKnown => "ConcreteValueError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Data => "DataError",
        ErrorKind::Stopped => "StoppedError",
        _ => "InternalError",
    }
}

/// The exception of the class with this name in `cotan.errors`.
pub fn exception(
    py: Python<'_>,
    class: &str,
    op: &str,
    message: &str,
    hint: Option<&str>,
) -> PyErr {
    let make = MAKE.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("cotan._errors")?.getattr("make")?.unbind())
    });
    match make.and_then(|make| make.bind(py).call1((class, op, message, hint))) {
        Ok(instance) => PyErr::from_value(instance),
        Err(error) => error,
    }
}

/// An error of the library as an exception.
pub fn of_library(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, class_name(error.kind()), error.op(), error.message(), error.hint())
}

/// The exception with the part of the arguments or results that it is about.
pub fn at_part(py: Python<'_>, what: &str, part: &str, error: PyErr) -> PyErr {
    let named = py
        .import("cotan._errors")
        .and_then(|errors| errors.getattr("at_part")?.call1((what, part, error.value(py))));
    named.map_or_else(|other| other, PyErr::from_value)
}

/// A value that is known only when the program runs, where Python needs it at once.
pub fn concrete_needed(py: Python<'_>, what: &str, hint: &str) -> PyErr {
    exception(py, "ConcreteValueError", what, "the value is not known while tracing", Some(hint))
}

/// Runs what must not panic; a panic is a fault of ours, and an exception that says so.
pub fn guarded<R>(py: Python<'_>, work: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        exception(py, "InternalError", "cotan", text.unwrap_or("a panic"), None)
    })
}

/// Does something to the function that is being traced on this thread; what goes wrong is an
/// exception at once, and tracing can go on after it.
pub fn traced<R>(py: Python<'_>, op: &str, work: impl FnOnce() -> R) -> PyResult<R> {
    if !untyped::is_staging() {
        let message = "a traced array outside of the function that it belongs to";
        let hint = "return it from the function; outside there are numpy arrays only";
        return Err(exception(py, "ScopeError", op, message, Some(hint)));
    }
    let made = guarded(py, work)?;
    match untyped::take_error() {
        Some(error) => Err(of_library(py, &error)),
        None => Ok(made),
    }
}

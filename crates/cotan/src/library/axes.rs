//! Errors of functions that give arrays.

use crate::arr::Arr;
use crate::element::Element;
use crate::error::Result;
use crate::stage;

/// Records an error.
#[track_caller]
pub(super) fn failed<T: Element>(error: crate::Error) -> Arr<T> {
    stage::fail(error);
    Arr::nothing()
}

/// What a fallible calculation of an array gives; an error is recorded.
#[track_caller]
pub(super) fn settled<T: Element>(result: Result<Arr<T>>) -> Arr<T> {
    result.unwrap_or_else(failed)
}

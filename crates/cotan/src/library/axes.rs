//! Errors of functions that give arrays.

use crate::arr::Arr;
use crate::element::Element;
use crate::stage;

/// Records an error.
#[track_caller]
pub(super) fn failed<T: Element>(error: crate::Error) -> Arr<T> {
    stage::fail(error);
    Arr::nothing()
}

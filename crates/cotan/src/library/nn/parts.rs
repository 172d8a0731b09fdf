//! What the functions of this module share.

use crate::arr::Arr;
use crate::element::Element;
use crate::error::Error;
use crate::library::axes::type_text;
use crate::sizes::{Axes, axes_of};
use crate::stage;

/// The chosen axes of an array, in order; none after an error.
#[track_caller]
pub(super) fn chosen<T: Element>(op: &str, x: Arr<T>, axes: impl Axes) -> Vec<usize> {
    match axes_of(op, axes, x.rank()) {
        Ok(mut axes) => {
            axes.sort_unstable();
            axes
        }
        Err(error) => {
            stage::fail(error);
            Vec::new()
        }
    }
}

/// The last axis, as something to sum along; an error if there is none.
#[track_caller]
pub(super) fn last_axis<T: Element>(op: &'static str, x: Arr<T>) -> Option<usize> {
    let last = x.rank().checked_sub(1);
    if last.is_none() {
        let message = format!("{} has no axis of classes", type_text(x));
        stage::fail(Error::type_error(op, message).with_hint("classes lie along the last axis"));
    }
    last
}

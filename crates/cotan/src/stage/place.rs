//! Which line and which name an error gets.
//!
//! A library function that is made of others stands for all of them: its errors carry its name and
//! the line of its caller. Closures that it calls are the caller's again.

use std::panic::Location;

use super::with;
use crate::error::Error;

/// The library functions and the callers' closures that are being run, outermost first.
#[derive(Default)]
pub(super) struct Places(Vec<Frame>);

enum Frame {
    Operation(&'static str, Option<&'static Location<'static>>),
    User,
}

impl Places {
    /// The outermost library function that the caller's own code called.
    fn blamed(&self) -> Option<(&'static str, Option<&'static Location<'static>>)> {
        let begin = self.0.iter().rposition(|frame| matches!(frame, Frame::User));
        match self.0.get(begin.map_or(0, |at| at + 1)) {
            Some(&Frame::Operation(name, location)) => Some((name, location)),
            Some(Frame::User) | None => None,
        }
    }

    /// The line that the caller knows, if it is known here.
    pub(super) fn blame(
        &self,
        caller: &'static Location<'static>,
    ) -> Option<&'static Location<'static>> {
        self.blamed().map_or(Some(caller), |(_, location)| location)
    }

    /// The error in the name of the function that the caller knows.
    pub(super) fn named(&self, error: Error) -> Error {
        match self.blamed() {
            Some((name, _)) if name != error.op() => error.inside(name),
            _ => error,
        }
    }
}

/// Leaves a frame also when the body panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        with(|stage| stage.places.0.pop());
    }
}

fn framed<R>(frame: Frame, body: impl FnOnce() -> R) -> R {
    match with(|stage| stage.places.0.push(frame)) {
        Some(()) => {
            let _leave = Leave;
            body()
        }
        None => body(),
    }
}

/// Runs the body of the library function `name`.
#[track_caller]
pub(crate) fn operation<R>(name: &'static str, body: impl FnOnce() -> R) -> R {
    framed(Frame::Operation(name, Some(Location::caller())), body)
}

/// Runs the body of the library function `name`, which cannot know its caller. Its errors get the
/// place that is recorded next, or that of the whole function.
pub(crate) fn unplaced<R>(name: &'static str, body: impl FnOnce() -> R) -> R {
    framed(Frame::Operation(name, None), body)
}

/// Runs a closure that the caller of a library function gave.
pub(crate) fn user_code<R>(body: impl FnOnce() -> R) -> R {
    framed(Frame::User, body)
}

//! Why a function of a module could not be evaluated.

use cotan_syntax::render::Style;

/// Why there is no answer to a question: the text of `error` in the reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The message lacks something, or has something else in its place.
    #[error("{0}")]
    Message(String),
    /// There is no such module.
    #[error("there is no module `{name}`; the modules are {known}")]
    Module { name: String, known: String },
    /// The module has no such function.
    #[error("the module `{module}` has no function `{name}`; its functions are {known}")]
    Function { module: &'static str, name: String, known: String },
    /// Part of the input is missing or is something else.
    #[error("the input: {0}")]
    Input(String),
    /// The function cannot be made for these arguments.
    #[error("{0}")]
    Program(String),
    /// The function cannot be compiled or run.
    #[error(transparent)]
    Run(#[from] cotan::Error),
    /// A fault of ours.
    #[error("internal error: {0}; please report this with the message")]
    Internal(String),
}

/// What can fail with a [`Failure`].
pub(crate) type Outcome<T> = Result<T, Failure>;

impl From<cotan_syntax::Failure> for Failure {
    fn from(failure: cotan_syntax::Failure) -> Failure {
        Failure::Program(failure.render(Style::Plain).trim_end().to_owned())
    }
}

impl From<cotan_array::ArrayError> for Failure {
    fn from(error: cotan_array::ArrayError) -> Failure {
        Failure::Input(error.to_string())
    }
}

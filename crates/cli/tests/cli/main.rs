//! Sessions at the command line: every command, every exit code, good and bad input.

mod check;
mod examples;
mod explain;
mod fmt;
mod grad;
mod inputs;
mod readme;
mod reference;
mod run;
mod session;
mod test;

//! Transformations that must keep the meaning of programs.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cotan_ir::Program;

use super::Oracle;
use crate::{Config, Rng, for_each_case, generate, shrink};

/// How many smaller programs to try when one fails.
const SHRINK_BUDGET: usize = 2000;

/// Checks on `count` random programs that `transform` keeps their meaning.
///
/// A failure is shrunk, and reported with its seed, the smallest program that fails, what it was
/// transformed to, the inputs and the first differing element.
///
/// ```
/// use cotan_testkit::{Config, Oracle, check_transform};
///
/// let config = Config::default();
/// check_transform("normalised", &config, 20, &Oracle::bitwise(), |p| p.normalised());
/// ```
pub fn check_transform<E: Display>(
    name: &str,
    config: &Config,
    count: usize,
    oracle: &Oracle,
    transform: impl Fn(&Program) -> Result<Program, E>,
) {
    for_each_case(name, count, |rng| {
        let program = generate(config, rng).map_err(|e| e.to_string())?;
        let data = rng.fork();
        let fault = |program: &Program| explain(program, oracle, &data, &transform).err();
        if fault(&program).is_none() {
            return Ok(());
        }
        let smallest = shrink(&program, SHRINK_BUDGET, |p| fault(p).is_some());
        let explanation = fault(&smallest).unwrap_or_default();
        Err(format!("{explanation}\nshrunk from {} to {} nodes", program.len(), smallest.len()))
    });
}

/// Compares a program with what it is transformed to.
fn explain<E: Display>(
    program: &Program,
    oracle: &Oracle,
    data: &Rng,
    transform: &impl Fn(&Program) -> Result<Program, E>,
) -> Result<(), String> {
    // A pass that panics has failed as well, and its program can be shrunk.
    let outcome = catch_unwind(AssertUnwindSafe(|| transform(program)));
    let transformed = match outcome {
        Ok(Ok(transformed)) => transformed,
        Ok(Err(error)) => return Err(format!("{error}\ntransforming\n{program}")),
        Err(panic) => {
            let message = panic_message(panic.as_ref());
            return Err(format!("panicked: {message}\ntransforming\n{program}"));
        }
    };
    oracle
        .compare(program, &transformed, &mut data.clone())
        .map_err(|mismatch| format!("{mismatch}\nthe program\n{program}became\n{transformed}"))
}

/// What a panic said.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

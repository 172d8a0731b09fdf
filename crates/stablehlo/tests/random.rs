//! Random programs and their derivatives: XLA against the reference interpreter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{apart, arrays, bulk, derived, optimised, text};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_testkit::exact::never_rounds;
use cotan_testkit::xla::Server;
use cotan_testkit::{
    Config, Equality, InputKind, Rng, first_difference, for_each_case, generate, inputs_for,
    run_program,
};

/// The program as it is, in bulk operations, its derivative, or one of these optimised.
fn stage(program: Program, rng: &mut Rng) -> Result<Program, String> {
    let staged = match rng.below(8) {
        0 => return Ok(program),
        1 | 2 => bulk(&program)?,
        3 => derived(&program, Derivative::Jvp)?,
        _ => derived(&program, Derivative::Vjp)?,
    };
    if rng.chance(50) { optimised(&staged) } else { Ok(staged) }
}

fn agrees(
    server: &mut Server,
    program: &Program,
    inputs: &[Value],
    exact: bool,
) -> Result<(), String> {
    let expected = run_program(program, inputs, Mode::Ieee).map_err(|e| e.to_string())?;
    let module = match text(program) {
        Err(message) if message.contains("polygamma") => return Ok(()),
        module => module?,
    };
    let found = server.run("xla", &module, &arrays(inputs))?;
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    let difference = match exact {
        true => first_difference(&expected, &found, Equality::Values).map(|d| d.to_string()),
        false => expected.iter().zip(&found).find_map(|(x, y)| apart(x, y)),
    };
    match difference {
        None => Ok(()),
        Some(difference) => Err(format!("{difference}\nof\n{program}\n{module}")),
    }
}

/// Where nothing rounds, everything is the same but the signs of zeros.
#[test]
fn integers_are_exact() {
    let Some(mut server) = Server::start("integers") else { return };
    for_each_case("xla, integers", 150, |rng| {
        let program = generate(&Config::integers(), rng).map_err(|e| e.to_string())?;
        let program = stage(program, rng)?;
        let inputs =
            inputs_for(&program, rng, InputKind::SmallIntegers).map_err(|e| e.to_string())?;
        agrees(&mut server, &program, &inputs, never_rounds(&program))
    });
}

/// Smooth programs of all operations agree up to rounding.
#[test]
fn floats_are_close() {
    let Some(mut server) = Server::start("floats") else { return };
    for_each_case("xla, floats", 150, |rng| {
        let program = generate(&Config::smooth(), rng).map_err(|e| e.to_string())?;
        let program = stage(program, rng)?;
        let inputs = inputs_for(&program, rng, InputKind::Generic).map_err(|e| e.to_string())?;
        agrees(&mut server, &program, &inputs, false)
    });
}

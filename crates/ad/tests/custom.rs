//! Functions with derivatives of their own: reverse against forward, exactly, over the field.
#![allow(clippy::panic, reason = "a panic is a failed test")]

use cotan_ad::{jvp, vjp};
use cotan_bot::{Options, bulk};
use cotan_interp::{Interp, Mode, Value};
use cotan_ir::Program;
use cotan_testkit::{
    Config, InputKind, Rng, field_dot, for_each_case, generate, inputs_for, shrink,
};

fn adjoint(program: &Program, rng: &mut Rng) -> Result<(), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let (bulk, _) = bulk(program, &Options::default()).map_err(|e| text(&e))?;
    let forward = jvp(&bulk, None).map_err(|e| text(&e))?;
    let reverse = vjp(&bulk, None).map_err(|e| text(&e))?;
    forward.check().map_err(|e| format!("{e}\n{forward}"))?;
    reverse.check().map_err(|e| format!("{e}\n{reverse}"))?;
    let run = |p: &Program, inputs: &[Value]| {
        let run = Interp::new(p).with_mode(Mode::Field).run(inputs);
        run.map(|run| run.outputs).map_err(|e| format!("{e}\n{p}"))
    };
    let inputs = inputs_for(&forward, rng, InputKind::Field).map_err(|e| text(&e))?;
    let tangents = inputs[program.inputs().len()..].to_vec();
    let results = run(&forward, &inputs)?;
    let d_results = &results[program.outputs().len()..];
    let mut inputs = inputs[..program.inputs().len()].to_vec();
    let cotangents: Vec<Value> =
        inputs_for(&reverse, rng, InputKind::Field).map_err(|e| text(&e))?[inputs.len()..].to_vec();
    inputs.extend(cotangents.clone());
    let results = run(&reverse, &inputs)?;
    let gradients = &results[program.outputs().len()..];
    let (left, right) = (field_dot(&cotangents, d_results), field_dot(gradients, &tangents));
    if left == right {
        return Ok(());
    }
    Err(format!(
        "{left:?} against {right:?}\n{program}\nbulk\n{bulk}\nforward\n{forward}\nreverse\n{reverse}"
    ))
}

#[test]
fn rules_of_functions_with_their_own_derivatives_are_transposed() {
    let mut config = Config::ring();
    config.formers.push(cotan_testkit::Former::Custom);
    for_each_case("adjoint with rules", 1500, |rng| {
        let program = generate(&config, rng).map_err(|e| e.to_string())?;
        let data = rng.fork();
        if adjoint(&program, &mut data.clone()).is_ok() {
            return Ok(());
        }
        let smallest = shrink(&program, 2000, |p| adjoint(p, &mut data.clone()).is_err());
        adjoint(&smallest, &mut data.clone())
    });
}

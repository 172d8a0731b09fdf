//! The machine against the reference interpreter, on random programs and their derivatives.

use cotan_array::Array;
use cotan_exec::Executable;
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Equality, InputKind, Rng, first_difference, for_each_case, generate, inputs_for,
    run_program, shrink,
};

/// What a comparison found: nothing to compare, or a difference.
enum Outcome {
    Same,
    Unsupported,
    Different(String),
}

fn compare(program: &Program, mut rng: Rng) -> Outcome {
    let Ok(executable) = Executable::new(program) else { return Outcome::Unsupported };
    for kind in [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special] {
        let Ok(inputs) = inputs_for(program, &mut rng, kind) else { return Outcome::Same };
        let Ok(expected) = run_program(program, &inputs, Mode::Ieee) else { return Outcome::Same };
        let arrays: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
        let Some(found) = executable.run(&arrays) else {
            return Outcome::Different("it did not run".to_owned());
        };
        let found: Vec<Value> = found.iter().map(Value::from).collect();
        // Sums along lanes are added in another order.
        let difference = first_difference(&expected, &found, Equality::ScaledUlps(512));
        if let Some(difference) = difference {
            return Outcome::Different(format!("{kind:?}: {difference}\nof\n{program}"));
        }
    }
    Outcome::Same
}

/// Checks what `make` makes of random programs; gives how many could be run.
fn check(name: &str, count: usize, make: impl Fn(&Program) -> Option<Program>) {
    let config = Config::default();
    let (ran, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_each_case(name, count, |rng| {
        let program = generate(&config, rng).map_err(|e| e.to_string())?;
        let data = rng.fork();
        let Some(made) = make(&program) else { return Ok(()) };
        seen.set(seen.get() + 1);
        match compare(&made, data.clone()) {
            Outcome::Same => {
                ran.set(ran.get() + 1);
                Ok(())
            }
            Outcome::Unsupported => Ok(()),
            Outcome::Different(first) => {
                let fails = |p: &Program| {
                    make(p).is_some_and(|p| matches!(compare(&p, data.clone()), Outcome::Different(_)))
                };
                let smallest = shrink(&program, 2000, fails);
                let text = match make(&smallest).map(|p| compare(&p, data.clone())) {
                    Some(Outcome::Different(text)) => text,
                    _ => first,
                };
                Err(text)
            }
        }
    });
    println!("{name}: {} of {} ran", ran.get(), seen.get());
    assert!(ran.get() * 10 >= seen.get() * 9, "{} of {} ran", ran.get(), seen.get());
}

fn bulk(program: &Program) -> Option<Program> {
    Pipeline::new(&[Pass::BULK]).run(program).ok()
}

#[test]
fn programs_in_bulk_operations() {
    check("exec.bulk", 400, bulk);
}

#[test]
fn programs_as_written() {
    check("exec.source", 400, |p| Some(p.clone()));
}

#[test]
fn gradients() {
    check("exec.vjp", 200, |p| derive(p, Derivative::Vjp, None).ok());
}

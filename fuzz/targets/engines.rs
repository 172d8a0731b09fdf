//! Bytes steer the generator of programs; machine code and the tile machine give the same bits.
#![no_main]

use cotan_array::Array;
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::Value;
use cotan_pipeline::{Derivative, derive};
use cotan_testkit::{
    Config, Equality, InputKind, Rng, fail, first_difference, generate, inputs_for,
};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut rng = Rng::from_bytes(data);
    let Ok(program) = generate(&Config::default(), &mut rng) else { return };
    let Ok(program) = derive(&program, Derivative::Vjp, None) else { return };
    let Ok(inputs) = inputs_for(&program, &mut rng, InputKind::Special) else { return };
    let inputs: Result<Vec<Array>, _> = inputs.iter().map(|v| v.to_array()).collect();
    let Ok(inputs) = inputs else { return };
    for in_order in [false, true] {
        let [wanted, found] = [Engine::Machine, Engine::Native].map(|engine| {
            let executable = Executable::planned(&program, in_order, engine).ok()?;
            let found = executable.run(&inputs, &RunLimits::default()).ok()?;
            Some(found.iter().map(Value::from).collect::<Vec<Value>>())
        });
        let difference = match (wanted, found) {
            (Some(wanted), Some(found)) => first_difference(&wanted, &found, Equality::Bits),
            (None, None) => None,
            _ => fail("only one of the engines has a plan"),
        };
        if let Some(difference) = difference {
            fail(&format!("{difference}\nof\n{program}"));
        }
    }
});

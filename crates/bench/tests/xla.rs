//! Every benchmark at a small size by XLA, against the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test")]

use cotan_array::Array;
use cotan_bench::function::{Engine, Function};
use cotan_bench::inputs::generate;
use cotan_bench::suite::ALL;
use cotan_testkit::xla::Server;

fn numbers(array: &Array) -> Vec<f64> {
    let floats = array.iter::<f64>().map(Iterator::collect);
    let halves = || array.iter::<f32>().map(|x| x.map(f64::from).collect());
    let integers = || array.iter::<i64>().map(|x| x.map(|x| x as f64).collect());
    floats.or_else(halves).or_else(integers).unwrap_or_default()
}

#[test]
fn xla_agrees_with_the_interpreter() {
    let Some(mut server) = Server::start("bench-xla") else { return };
    for benchmark in ALL {
        let inputs = generate(benchmark, &benchmark.small).unwrap();
        let made = Function::measured(benchmark, &benchmark.small, &inputs, Engine::Interpreter);
        let function = made.unwrap_or_else(|e| panic!("{}: {e}", benchmark.name));
        let arguments = function.arguments(&inputs).unwrap();
        let wanted = function.call(&arguments).unwrap();
        let module = cotan_stablehlo::export(&function.program, &Default::default()).unwrap();
        let found = server.run("xla", &module, &arguments).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found.len(), wanted.len(), "{}", benchmark.name);
        for (x, y) in wanted.iter().zip(&found) {
            let (x, y) = (numbers(x), numbers(y));
            let largest = x.iter().fold(1e-30, |most: f64, x| most.max(x.abs()));
            let deviation = x.iter().zip(&y).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()));
            let allowed = benchmark.tolerance.max(1e-9);
            assert!(deviation <= allowed * largest, "{}: {deviation} of {largest}", benchmark.name);
        }
    }
}

//! Every benchmark at a small size: the machine and the gradients written by hand against the
//! reference interpreter, and against differences of values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test")]

use cotan_array::Array;
use cotan_bench::expected::Expected;
use cotan_bench::function::{Engine, Function};
use cotan_bench::inputs::{Inputs, generate};
use cotan_bench::reference;
use cotan_bench::run::Computed;
use cotan_bench::suite::{ALL, Benchmark, Measured};

fn computed(benchmark: &Benchmark, inputs: &Inputs, engine: Engine) -> Computed {
    let name = benchmark.name;
    Computed::new(benchmark, &benchmark.small, inputs, engine)
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_machine_agrees_with_the_interpreter() {
    for benchmark in ALL {
        let inputs = generate(benchmark, &benchmark.small).unwrap();
        let wanted = computed(benchmark, &inputs, Engine::Interpreter).outcome;
        let found = computed(benchmark, &inputs, Engine::Machine);
        let fallen_back = [&found.objective, &found.measured].map(|f| f.unsupported);
        assert!(fallen_back.iter().all(Option::is_none), "{}: {fallen_back:?}", benchmark.name);
        let (deviation, what) = found.outcome.deviation(&wanted);
        assert!(deviation <= benchmark.tolerance, "{} {what}: {deviation}", benchmark.name);
    }
}

#[test]
fn gradients_written_by_hand_agree_with_the_interpreter() {
    let mut count = 0;
    for benchmark in ALL {
        let inputs = generate(benchmark, &benchmark.small).unwrap();
        let by_hand = reference::by_name(benchmark.name, &benchmark.small, &inputs).unwrap();
        let Some(mut by_hand) = by_hand else { continue };
        let wanted = computed(benchmark, &inputs, Engine::Interpreter).outcome;
        // Twice: nothing of the first run may be left in the second.
        for _ in 0..2 {
            let (deviation, what) = by_hand.outcome().unwrap().deviation(&wanted);
            assert!(deviation <= benchmark.tolerance, "{} {what}: {deviation}", benchmark.name);
        }
        count += 1;
    }
    assert_eq!(count, 12);
}

/// The same input with one element moved.
fn moved(inputs: &Inputs, name: &str, at: usize, by: f64) -> Inputs {
    let mut inputs = inputs.clone();
    for (n, array) in &mut inputs.params {
        if n == name {
            let mut elements = array.to_vec::<f64>().unwrap();
            elements[at] += by;
            *array = Array::from_vec(array.shape().clone(), elements).unwrap();
        }
    }
    inputs
}

#[test]
fn gradients_are_those_of_differences() {
    const STEP: f64 = 1e-5;
    let mut count = 0;
    for benchmark in ALL.iter().filter(|b| matches!(b.measured, Measured::Gradient)) {
        let inputs = generate(benchmark, &benchmark.small).unwrap();
        if benchmark.by.iter().any(|name| inputs.elements::<f64>(name).is_err()) {
            continue; // Single precision is too coarse for differences.
        }
        let objective =
            Function::objective(benchmark, &benchmark.small, &inputs, Engine::Machine).unwrap();
        let value = |inputs: &Inputs| {
            let arguments = objective.arguments(inputs).unwrap();
            objective.call(&arguments).unwrap()[0].item::<f64>().unwrap()
        };
        let gradient = computed(benchmark, &inputs, Engine::Machine).outcome;
        for (name, summary) in &gradient.derivatives {
            for &(at, derivative) in &summary.entries {
                let (low, high) = (moved(&inputs, name, at, -STEP), moved(&inputs, name, at, STEP));
                let slope = (value(&high) - value(&low)) / (2.0 * STEP);
                let scale = 1.0 + summary.norm + value(&inputs).abs();
                let apart = (slope - derivative).abs() / scale;
                assert!(apart < 1e-6, "{} {name} at {at}: {slope} {derivative}", benchmark.name);
                count += 1;
            }
        }
    }
    assert!(count > 80, "{count}");
}

#[test]
fn every_case_has_expected_values() {
    let expected = Expected::own().unwrap();
    for benchmark in ALL {
        for case in benchmark.cases {
            let found = expected.find(benchmark.name, case.name);
            let found = found.unwrap_or_else(|| panic!("{}/{}", benchmark.name, case.name));
            assert_eq!(found.derivatives.len(), benchmark.results.len(), "{}", benchmark.name);
        }
    }
}

#[test]
fn a_wrong_result_is_noticed() {
    let benchmark = &ALL[0];
    let inputs = generate(benchmark, &benchmark.small).unwrap();
    let right = computed(benchmark, &inputs, Engine::Machine).outcome;
    for change in 0..5 {
        let mut wrong = right.clone();
        match change {
            0 => wrong.value *= 1.0 + 1e-6,
            1 => wrong.derivatives[0].1.norm *= 1.0 + 1e-6,
            2 => wrong.derivatives[1].1.entries[2].1 += 1e-6,
            3 => wrong.derivatives[1].1.sum = f64::NAN,
            _ => drop(wrong.derivatives.pop()),
        }
        let (deviation, _) = wrong.deviation(&right);
        assert!(deviation.is_nan() || deviation > benchmark.tolerance, "{change}: {deviation}");
    }
    assert_eq!(right.deviation(&right).0, 0.0);
}

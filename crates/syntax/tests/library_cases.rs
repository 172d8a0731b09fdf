//! The functions of the standard library, called from the text language, against numbers of NumPy and
//! SciPy that are recorded in `tests/library/cases.json` (by `scripts/library-cases`): values, and
//! gradients in reverse mode and in forward mode.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use cotan_array::Dtype;
use cotan_interp::{Interp, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Program, Type};
use cotan_pipeline::{Derivative, derive};
use cotan_syntax::{instantiate, load_text};
use serde_json::Value as Json;

const CASES: &str = include_str!("../../../tests/library/cases.json");

/// An array in the file.
fn array(json: &Json) -> Value {
    let dims: Vec<usize> = json["shape"]
        .as_array()
        .expect("a shape")
        .iter()
        .map(|k| k.as_u64().expect("a size") as usize)
        .collect();
    let dtype = match json["dtype"].as_str() {
        Some("f64") => Dtype::F64,
        Some("i64") => Dtype::I64,
        Some("bool") => Dtype::Bool,
        other => panic!("{other:?}"),
    };
    let element = |x: &Json| match dtype {
        Dtype::I64 => Scalar::I64(x.as_i64().expect("an integer")),
        Dtype::Bool => Scalar::Bool(x.as_bool().expect("a truth value")),
        // As text, which has NaN and infinities.
        _ => Scalar::F64(x.as_str().expect("a float").parse().expect("a float")),
    };
    let elements = json["values"].as_array().expect("elements").iter().map(element).collect();
    let shape = cotan_array::Shape::new("case", &dims).expect("a shape");
    Value::new(Type::new(dtype, shape), elements).expect("a value")
}

/// An argument that is no array, as it is written.
fn written(json: &Json) -> String {
    match json {
        Json::String(word) => word.clone(),
        other => other.to_string(),
    }
}

fn run(program: &Program, inputs: &[Value]) -> Vec<Value> {
    Interp::new(program).run(inputs).expect("the program runs").outputs
}

fn close(found: &Value, expected: &Value, tolerance: f64, what: &str) {
    assert_eq!(found.ty(), expected.ty(), "{what}");
    for (found, expected) in found.elements().iter().zip(expected.elements()) {
        match (found, expected) {
            (Scalar::F64(x), Scalar::F64(y)) => {
                let near = (x - y).abs() <= tolerance * y.abs().max(1.0);
                assert!(near || x == y || x.is_nan() && y.is_nan(), "{what}: {x}, not {y}");
            }
            _ => assert_eq!(found, expected, "{what}"),
        }
    }
}

/// The call of a case as a program of its arrays.
fn program(case: &Json) -> (Program, Vec<Value>, Vec<String>) {
    let function = case["function"].as_str().expect("a name");
    let (mut params, mut args, mut inputs, mut names) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, json) in case["args"].as_object().expect("arguments") {
        if json.get("shape").is_none() {
            args.push(format!("{name} = {}", written(json)));
            continue;
        }
        let value = array(json);
        params.push(format!("v_{name}: {}", value.ty()));
        // Complex numbers are recorded by their parts.
        match (name.strip_suffix("_re"), name.strip_suffix("_im")) {
            (Some(name), _) => {
                args.push(format!("{name} = {{re = v_{name}_re, im = v_{name}_im}}"))
            }
            (_, Some(_)) => {}
            (None, None) => args.push(format!("{name} = v_{name}")),
        }
        inputs.push(value);
        names.push(name.clone());
    }
    let text = format!("def it({}) = {function}({})\n", params.join(", "), args.join(", "));
    let modules = load_text("case.ct", &text).unwrap_or_else(|e| panic!("{text}{e}"));
    let made = instantiate(&modules, "it", &[], &[], &Default::default());
    (made.unwrap_or_else(|e| panic!("{text}{e}")).program, inputs, names)
}

/// `cos(0), cos(1), ..` in the shapes of the results that are floats.
fn weights(outputs: &[Value]) -> Vec<Value> {
    let mut next = 0.0;
    let floats = outputs.iter().filter(|value| value.ty().dtype.is_float());
    let weight = |value: &Value| {
        Value::from_fn(value.ty().clone(), |_| {
            next += 1.0;
            Scalar::F64(f64::cos(next - 1.0))
        })
    };
    floats.map(weight).map(|value| value.expect("a value")).collect()
}

#[test]
fn functions_have_the_values_and_gradients_of_numpy() {
    let cases: Json = serde_json::from_str(CASES).expect("the cases are JSON");
    let mut called = Vec::new();
    for case in cases.as_array().expect("cases") {
        let function = case["function"].as_str().expect("a name");
        called.push(function);
        let (program, inputs, names) = program(case);
        let outputs = run(&program, &inputs);
        let expected: Vec<Value> =
            case["values"].as_array().expect("values").iter().map(array).collect();
        assert_eq!(outputs.len(), expected.len(), "{function}");
        for (found, expected) in outputs.iter().zip(&expected) {
            close(found, expected, 1e-12, &format!("{}: {case}", function));
        }
        let gradients = case["gradients"].as_object().expect("gradients");
        if gradients.is_empty() {
            continue;
        }
        let wrt: Vec<usize> =
            (0..names.len()).filter(|&k| gradients.contains_key(&names[k])).collect();
        let vjp = derive(&program, Derivative::Vjp, Some(&wrt)).expect("a derivative");
        let cotangents = weights(&outputs);
        let found = run(&vjp, &[inputs.clone(), cotangents.clone()].concat());
        for (&k, slope) in wrt.iter().zip(&found[outputs.len()..]) {
            let expected = array(&gradients[&names[k]]);
            close(slope, &expected, 1e-7, &format!("{function} by {}: {case}", names[k]));
            // Forward mode along the direction that is the gradient itself: its square.
            let jvp = derive(&program, Derivative::Jvp, Some(&[k])).expect("a derivative");
            let pushed = run(&jvp, &[inputs.clone(), vec![slope.clone()]].concat());
            let total = |a: &[Value], b: &[Value]| -> f64 {
                let real = |x: &Scalar| if let Scalar::F64(x) = x { *x } else { 0.0 };
                let pairs =
                    a.iter().zip(b).flat_map(|(a, b)| a.elements().iter().zip(b.elements()));
                pairs.map(|(a, b)| real(a) * real(b)).sum()
            };
            let along: Vec<Value> = pushed[outputs.len()..].to_vec();
            let own = std::slice::from_ref(slope);
            let (forward, reverse) = (total(&cotangents, &along), total(own, own));
            let near = (forward - reverse).abs() <= 1e-9 * reverse.abs().max(1.0);
            assert!(near, "{function} by {}: {forward} and {reverse}", names[k]);
        }
    }
    for function in cotan_library::all() {
        let left_out = [
            ("segment_argmax", "positions, by segment_max"),
            ("segment_argmin", "positions, by segment_min"),
            ("meshgrid", "takes arrays in a row"),
            ("concat", "takes arrays in a row"),
            ("einsum", "takes arrays in a row"),
            ("zeros_like", "of no other array"),
            ("ones_like", "of no other array"),
            ("full_like", "of no other array"),
            ("causal_mask", "of sizes alone"),
            ("one_hot_of", "of integers"),
        ];
        let known = called.contains(&function.name)
            || left_out.iter().any(|(name, _)| *name == function.name);
        assert!(known, "{} has no case", function.name);
    }
}

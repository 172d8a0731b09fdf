//! Inputs without elements and with one: an answer each, and the right one where there is one.

use serde_json::{Value, json};

use super::eval::{Eval, agree};

#[test]
fn nothing_and_one() {
    let mut eval = Eval::with(&[]);
    let none: [f64; 0] = [];
    for (module, function, input, expected) in [
        ("lse", "primal", json!({"x": [3.0]}), json!(3.0)),
        ("lse", "gradient", json!({"x": [3.0]}), json!([1.0])),
        ("lse", "gradient", json!({"x": none}), json!(none)),
        ("llsq", "primal", json!({"x": none, "n": 3}), json!(1.0)),
        ("llsq", "gradient", json!({"x": none, "n": 3}), json!(none)),
        ("llsq", "primal", json!({"x": [0.5], "n": 0}), json!(0.0)),
        ("llsq", "gradient", json!({"x": [0.5], "n": 0}), json!([0.0])),
        ("llsq", "primal", json!({"x": [0.5], "n": 2}), json!(1.25)),
        ("ode", "primal", json!({"x": none, "s": 3}), json!(none)),
        ("ode", "gradient", json!({"x": none, "s": 3}), json!(none)),
        ("ode", "primal", json!({"x": [1.5], "s": 1}), json!([3.0])),
        ("ode", "gradient", json!({"x": [1.5], "s": 1}), json!([2.0])),
        ("ode", "primal", json!({"x": [1.5, 2.0], "s": 0}), json!([0.0, 0.0])),
        ("ode", "gradient", json!({"x": [1.5, 2.0], "s": 0}), json!([0.0, 0.0])),
        ("det", "primal", json!({"A": none, "ell": 0}), json!(1.0)),
        ("det", "gradient", json!({"A": none, "ell": 0}), json!(none)),
        ("det", "primal", json!({"A": [4.0], "ell": 1}), json!(4.0)),
        ("det", "gradient", json!({"A": [4.0], "ell": 1}), json!([1.0])),
        ("kmeans", "cost", json!({"points": none, "centroids": [[1.0]]}), json!(0.0)),
        ("kmeans", "dir", json!({"points": [[1.0]], "centroids": none}), json!(none)),
        ("kmeans", "dir", json!({"points": [[1.0]], "centroids": [[3.0]]}), json!([[2.0]])),
        ("saddle", "ff", json!({"start": [0.0, 0.0]}), json!([0.0, 0.0, 0.0, 0.0])),
    ] {
        agree(&eval.output(module, function, &input), &expected, 1e-14);
    }
    eval.end();
}

#[test]
fn what_is_no_number_is_null() {
    let mut eval = Eval::with(&[]);
    // An empty cluster has no direction; one point on the line has no place.
    let input = json!({"points": [[1.0]], "centroids": [[1.0], [9.0]]});
    assert_eq!(eval.output("kmeans", "dir", &input), json!([[0.0], [null]]));
    let input = json!({"x": [0.5], "n": 1});
    assert_eq!(eval.output("llsq", "primal", &input), Value::Null);
}

#[test]
fn networks_without_text_and_hands_without_points() {
    let mut eval = Eval::with(&[]);
    let input = json!({
        "main_params": [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], "extra_params": [[1.0], [1.0], [0.5]],
        "state": [[0.5], [0.5]], "sequence": [[1.0]],
    });
    // The mean of nothing is not a number, its gradient neither: an answer all the same.
    assert_eq!(eval.output("lstm", "objective", &input), Value::Null);
    assert_eq!(eval.output("lstm", "jacobian", &input).as_array().unwrap().len(), 11);

    let identity = json!([[
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0]
    ]]);
    let mut input = json!({
        "theta": vec![0.0; 26], "us": [],
        "data": {
            "model": {
                "bone_count": 1, "bone_names": ["wrist"], "parents": [-1],
                "base_relatives": identity, "inverse_base_absolutes": identity,
                "base_positions": [[1.0, 2.0, 3.0, 1.0]], "weights": [[1.0]],
                "triangles": [[0, 0, 0]], "is_mirrored": false,
            },
            "correspondences": [], "points": [],
        },
    });
    assert_eq!(eval.output("ht", "objective", &input), json!([]));
    assert_eq!(eval.output("ht", "jacobian", &input), json!([]));
    input["data"]["correspondences"] = json!([0]);
    input["data"]["points"] = json!([[1.0, 2.0, 4.0]]);
    assert_eq!(eval.output("ht", "objective", &input), json!([0.0, 0.0, 1.0]));
    input["us"] = json!([[0.25, 0.5]]);
    assert_eq!(eval.output("ht", "objective", &input), json!([0.0, 0.0, 1.0]));
    assert_eq!(eval.output("ht", "jacobian", &input)[0].as_array().unwrap().len(), 28);
}

#[test]
fn scenes_without_observations() {
    let mut eval = Eval::of("ba");
    let cam = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];
    let input = json!({"n": 1, "m": 1, "p": 0, "cam": cam, "x": [1.0, 2.0, 3.0], "w": 0.5, "feat": [1.0, 2.0]});
    for function in ["objective", "jacobian"] {
        let output = eval.output("ba", function, &input);
        assert!(output.is_object(), "{output}");
    }
    eval.end();
}

#[test]
fn what_is_too_large_is_refused() {
    let mut eval = Eval::with(&[]);
    for (module, function, input) in [
        ("ode", "gradient", json!({"x": vec![1.0; 100], "s": 1_000_000_000_000u64})),
        ("llsq", "primal", json!({"x": [1.0], "n": 1u64 << 50})),
        ("det", "primal", json!({"A": vec![1.0; 3600], "ell": 60})),
        (
            "ba",
            "objective",
            json!({"n": 1, "m": 1, "p": 1u64 << 50, "cam": vec![0.5; 11],
            "x": [1.0, 2.0, 3.0], "w": 0.5, "feat": [1.0, 2.0]}),
        ),
    ] {
        let error = eval.error(module, function, &input);
        assert!(!error.contains("internal"), "{error}");
    }
    eval.end();
}

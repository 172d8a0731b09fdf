//! The conversation itself: ids, repetitions, mistakes.

use serde_json::{Value, json};

use super::eval::Eval;

fn nanoseconds(reply: &Value, name: &str) -> Vec<u64> {
    let timings = reply["timings"].as_array().unwrap().iter();
    let named = timings.filter(|timing| timing["name"] == name);
    named.map(|timing| timing["nanoseconds"].as_u64().unwrap()).collect()
}

#[test]
fn every_module_is_known() {
    let mut eval = Eval::with(&[]);
    let started = eval.ask(json!({"kind": "start", "eval": "hello", "config": {"any": "thing"}}));
    assert_eq!((&started["tool"], &started["config"]["threads"]), (&json!("cotan"), &json!(1)));
    for module in [
        "hello", "gmm", "ba", "lstm", "ht", "kmeans", "lse", "llsq", "ode", "det", "particle",
        "saddle",
    ] {
        let reply = eval.ask(json!({"kind": "define", "module": module}));
        assert_eq!(reply["success"], true, "{reply}");
        let error = eval.error(module, "main", &json!({}));
        assert!(error.contains("no function `main`"), "{error}");
    }
    eval.end();
}

#[test]
fn functions_run_as_often_and_as_long_as_asked() {
    let mut eval = Eval::of("lse");
    let input = |runs: u32, seconds: f64| json!({"x": [1.0, 2.0], "min_runs": runs, "min_seconds": seconds});
    for runs in [1, 2, 17] {
        let reply = eval.evaluate("lse", "primal", &input(runs, 0.0));
        assert_eq!(nanoseconds(&reply, "evaluate").len(), runs as usize);
        assert_eq!(nanoseconds(&reply, "prepare").len(), 1);
    }
    let reply = eval.evaluate("lse", "primal", &input(1, 0.02));
    let times = nanoseconds(&reply, "evaluate");
    assert!(times.iter().sum::<u64>() >= 20_000_000, "{times:?}");
    assert!(times[..times.len() - 1].iter().sum::<u64>() < 20_000_000, "no longer than needed");
    // Once, where the input says nothing, and where it says no time at all.
    assert_eq!(
        nanoseconds(&eval.evaluate("lse", "primal", &json!({"x": [1.0]})), "evaluate").len(),
        1
    );
    assert_eq!(nanoseconds(&eval.evaluate("lse", "primal", &input(0, 0.0)), "evaluate").len(), 1);
    for wrong in [json!(-1), json!("often")] {
        let error = eval.error("lse", "primal", &json!({"x": [1.0], "min_runs": wrong}));
        assert!(error.contains("min_runs"), "{error}");
        let error = eval.error("lse", "primal", &json!({"x": [1.0], "min_seconds": wrong}));
        assert!(error.contains("min_seconds"), "{error}");
    }
}

#[test]
fn compiling_is_not_timed_and_done_once() {
    let mut eval = Eval::of("gmm");
    let input = json!({
        "d": 3, "k": 2, "n": 4, "x": vec![[0.5, 1.0, -1.0]; 4], "m": 0, "gamma": 1.0,
        "alpha": [0.0, 1.0], "mu": vec![[0.0; 3]; 2], "q": vec![[0.0; 3]; 2], "l": vec![[0.1; 3]; 2],
    });
    let first = eval.evaluate("gmm", "jacobian", &input);
    let again: Vec<Value> = (0..5).map(|_| eval.evaluate("gmm", "jacobian", &input)).collect();
    assert!(again.iter().all(|reply| reply["output"] == first["output"]));
    // The least of several times: the machine may have other things to do.
    let least = |name: &str| again.iter().map(|reply| nanoseconds(reply, name)[0]).min().unwrap();
    let prepared = nanoseconds(&first, "prepare")[0];
    assert!(least("prepare") * 4 < prepared, "{} of {prepared}", least("prepare"));
    assert!(least("evaluate") < prepared, "{} of {prepared}", least("evaluate"));
}

#[test]
fn replies_repeat_whatever_the_id_is() {
    let mut eval = Eval::with(&[]);
    for id in [json!(7), json!(7), json!(-3), json!(1.5), json!("seven"), json!(null), json!([1])] {
        for kind in ["start", "define", "evaluate", "analysis", "end", "anything"] {
            // `ask` compares the ids.
            eval.ask(json!({"id": id, "kind": kind, "module": "hello"}));
        }
    }
    let only_id = eval.ask(json!({"kind": "what is this", "module": 3}));
    assert_eq!(only_id.as_object().unwrap().len(), 1);
    let analysis = eval.ask(json!({"kind": "analysis", "of": 0, "valid": false, "error": "no"}));
    assert_eq!(analysis.as_object().unwrap().len(), 1);
    eval.end();
}

#[test]
fn mistakes_are_answered_and_forgotten() {
    let mut eval = Eval::of("hello");
    let undefined = eval.ask(json!({"kind": "define", "module": "nothing"}));
    assert_eq!(undefined["success"], false);
    let error = undefined["error"].as_str().unwrap();
    assert!(error.contains("no module `nothing`") && error.contains("saddle"), "{error}");
    for (message, part) in [
        (json!({"kind": "define"}), "no `module`"),
        (json!({"kind": "define", "module": ["gmm"]}), "`module` of the message is not a string"),
        (json!({"kind": "evaluate"}), "no `module`"),
        (json!({"kind": "evaluate", "module": "hello"}), "no `function`"),
        (json!({"kind": "evaluate", "module": "hello", "function": "square"}), "no `input`"),
        (json!({"kind": "evaluate", "module": "x", "function": "y", "input": 1}), "no module `x`"),
    ] {
        let reply = eval.ask(message);
        let error = reply["error"].as_str().unwrap();
        assert!(reply["success"] == false && error.contains(part), "{reply}");
    }
    for (module, function, input, part) in [
        ("hello", "triple", json!(1.0), "no function `triple`; its functions are square, double"),
        ("hello", "square", json!("x"), "`x` is not a number"),
        ("hello", "square", json!([1.0]), "`x` is not a number"),
        ("lse", "primal", json!(1.0), "`x` must be a list"),
        ("lse", "primal", json!({"y": [1.0]}), "`x` is missing"),
        ("lse", "primal", json!({"x": 3}), "`x` must be a list"),
        ("lse", "primal", json!({"x": [1.0, null]}), "an element of `x` is not a number"),
        (
            "kmeans",
            "cost",
            json!({"points": [[1.0], [1.0, 2.0]], "centroids": [[1.0]]}),
            "differ in",
        ),
        ("kmeans", "cost", json!({"points": [[1.0]], "centroids": [[1.0, 2.0]]}), "`d`"),
        ("llsq", "primal", json!({"x": [1.0], "n": -1}), "`n` must be a size"),
        ("llsq", "primal", json!({"x": [1.0]}), "`n`"),
        ("ode", "primal", json!({"x": [1.0], "s": 1.5}), "`s` must be a size"),
        ("det", "primal", json!({"A": [1.0], "ell": 1e18}), "`ell` must be a size"),
        ("saddle", "rr", json!({"start": [1.0, 2.0, 3.0]}), "start"),
        ("lstm", "objective", json!([]), "must be an object"),
    ] {
        let error = eval.error(module, function, &input);
        assert!(error.contains(part), "{module}.{function}: {error}");
    }
    assert_eq!(eval.output("hello", "square", &json!(4.0)), json!(16.0));
    eval.end();
}

#[test]
fn lines_that_are_no_messages_are_answered() {
    let mut eval = Eval::with(&[]);
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for line in
        ["{\"id\": 1,\n", "nonsense\n", "[]\n", "3\n", "\"start\"\n", "{}}\n", deep.as_str()]
    {
        eval.send(line.as_bytes());
        let reply = eval.receive();
        assert_eq!((&reply["id"], &reply["success"]), (&Value::Null, &json!(false)), "{reply}");
        assert!(reply["error"].as_str().unwrap().contains("JSON"), "{reply}");
    }
    eval.send(b"\xff\xfe{}\n");
    assert_eq!(eval.receive()["success"], false);
    // Empty lines are nothing; an object without id or kind has an answer without them.
    eval.send(b"\n   \r\n{}\n");
    assert_eq!(eval.receive(), json!({"id": null}));
    eval.send(b"{\"id\": 5, \"kind\": \"define\", \"module\": \"hello\"}\r\n");
    assert_eq!(eval.receive()["id"], 5);
    eval.end();
}

#[test]
fn the_last_line_needs_no_end() {
    let mut eval = Eval::with(&[]);
    eval.send(b"{\"id\": 1, \"kind\": \"start\"}");
    eval.close();
    assert_eq!(eval.receive()["id"], 1);
    eval.end();
}

#[test]
fn threads_are_an_option() {
    let mut eval = Eval::with(&["--threads", "3"]);
    assert_eq!(eval.ask(json!({"kind": "start"}))["config"]["threads"], 3);
    assert_eq!(eval.output("hello", "square", &json!(4.0)), json!(16.0));
    let mut eval = Eval::with(&["--multithreaded"]);
    assert!(eval.ask(json!({"kind": "start"}))["config"]["threads"].as_u64().unwrap() >= 1);
    assert_eq!(eval.output("hello", "square", &json!(4.0)), json!(16.0));
}

//! An eval: it starts the command, asks, and compares what it is told.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A conversation with `cotan gradbench`.
pub struct Eval {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Eval {
    /// Starts the tool with these options.
    pub fn with(options: &[&str]) -> Eval {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cotan"))
            .arg("gradbench")
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Eval { child, input, output, id: 0 }
    }

    /// Starts the tool, and asks for a module.
    pub fn of(module: &str) -> Eval {
        let mut eval = Eval::with(&[]);
        eval.ask(json!({"kind": "start", "eval": module}));
        let defined = eval.ask(json!({"kind": "define", "module": module}));
        assert_eq!(defined["success"], true, "{defined}");
        eval
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// The next line of the tool.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a message, with a new id unless it has one, and gives the reply, which repeats it.
    pub fn ask(&mut self, mut message: Value) -> Value {
        if message.get("id").is_none() {
            message["id"] = json!(self.id);
            self.id += 1;
        }
        self.send(format!("{message}\n").as_bytes());
        let reply = self.receive();
        assert_eq!(reply["id"], message["id"], "{reply}");
        reply
    }

    /// Asks for the value of a function.
    pub fn evaluate(&mut self, module: &str, function: &str, input: &Value) -> Value {
        self.ask(json!({
            "kind": "evaluate", "module": module, "function": function, "input": input,
        }))
    }

    /// The output of a function that must succeed; the eval says that it is valid.
    pub fn output(&mut self, module: &str, function: &str, input: &Value) -> Value {
        let reply = self.evaluate(module, function, input);
        assert_eq!(reply["success"], true, "{module}.{function}: {}", reply["error"]);
        let analysis = self.ask(json!({"kind": "analysis", "of": reply["id"], "valid": true}));
        assert_eq!(analysis.as_object().unwrap().len(), 1, "{analysis}");
        reply["output"].clone()
    }

    /// The message of a failure.
    pub fn error(&mut self, module: &str, function: &str, input: &Value) -> String {
        let reply = self.evaluate(module, function, input);
        assert_eq!(reply["success"], false, "{module}.{function}: {reply}");
        assert!(reply.get("output").is_none() && reply.get("timings").is_none(), "{reply}");
        reply["error"].as_str().unwrap().to_owned()
    }

    /// Says that there will be no more.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Closes the conversation; the tool ends well.
    pub fn end(mut self) {
        self.close();
        assert!(self.child.wait().unwrap().success());
        let mut rest = String::new();
        self.output.read_line(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}

impl Drop for Eval {
    fn drop(&mut self) {
        self.close();
        let _ = self.child.wait();
    }
}

/// Checks an output against what it should be: the same structure, and numbers whose difference is
/// less than `tolerance` of their size, or of 1.
pub fn agree(output: &Value, expected: &Value, tolerance: f64) {
    if let Err(difference) = compare(output, expected, tolerance, "output") {
        panic!("{difference}");
    }
}

fn compare(output: &Value, expected: &Value, tolerance: f64, at: &str) -> Result<(), String> {
    let differ = || Err(format!("{at} is {output}, not {expected}"));
    match (output, expected) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.try_for_each(|(k, (a, b))| compare(a, b, tolerance, &format!("{at}[{k}]")))
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().try_for_each(|(name, value)| {
                let expected = b.get(name).ok_or_else(|| format!("{at}.{name} is not expected"))?;
                compare(value, expected, tolerance, &format!("{at}.{name}"))
            })
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            let scale = 1f64.max(a.abs()).max(b.abs());
            if (a - b).abs() <= tolerance * scale { Ok(()) } else { differ() }
        }
        _ if output == expected => Ok(()),
        _ => differ(),
    }
}

/// Seeded numbers between -1 and 1.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn list(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }

    pub fn matrix(&mut self, m: usize, n: usize) -> Vec<Vec<f64>> {
        (0..m).map(|_| self.list(n)).collect()
    }
}

#[test]
fn a_difference_is_seen() {
    let same = |a: Value, b: Value| compare(&a, &b, 1e-9, "x").is_ok();
    assert!(same(json!([1.0, {"a": 2}]), json!([1.0 + 1e-12, {"a": 2}])));
    assert!(!same(json!([1.0]), json!([1.0 + 1e-6])));
    assert!(!same(json!([1.0, 2.0]), json!([1.0])));
    assert!(!same(json!({"a": 1.0}), json!({"b": 1.0})));
    assert!(!same(json!(1), json!(1.0)), "integers are no floats");
    assert!(!same(json!(null), json!(1.0)));
}

//! The server as an editor starts it: a session over pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::session::Session;

fn framed(message: &Value) -> String {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// All messages of an output.
fn messages(output: impl Read) -> Vec<Value> {
    let mut output = BufReader::new(output);
    let mut found = Vec::new();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if output.read_line(&mut line).unwrap() == 0 {
                return found;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", n)) => length = n.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).unwrap();
        found.push(serde_json::from_slice(&body).unwrap());
    }
}

#[test]
fn a_session_over_pipes() {
    let session = Session::new();
    let uri = format!("file://{}", session.path("a.ct").display());
    let request = |id: i32, method: &str, params: Value| {
        framed(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let notification = |method: &str, params: Value| {
        framed(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    };
    let document = json!({
        "uri": uri, "languageId": "cotan", "version": 1,
        "text": "def f(x: [n]f64) = let y = x[:, None] * x in sum(y)\n",
    });
    let place = json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 23}});
    let input = [
        request(1, "initialize", json!({"capabilities": {}})),
        notification("initialized", json!({})),
        notification("textDocument/didOpen", json!({"textDocument": document})),
        request(2, "textDocument/hover", place),
        request(3, "shutdown", Value::Null),
        notification("exit", Value::Null),
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.concat().as_bytes()).unwrap();
    let found = messages(child.stdout.take().unwrap());
    assert!(child.wait().unwrap().success());
    let answer = |id: i32| found.iter().find(|m| m["id"] == id).unwrap();
    assert_eq!(answer(1)["result"]["serverInfo"]["name"], "cotan");
    let shown = answer(2)["result"]["contents"]["value"].as_str().unwrap();
    assert_eq!(shown, "```cotan\ny: [n, n]f64\n```");
    assert!(answer(3)["result"].is_null());
}

#[test]
fn what_is_not_the_protocol_is_refused() {
    let ran = Session::new().cotan_with(&["lsp"], "hello\r\n\r\n", &[]);
    assert_ne!(ran.code, Some(0));
}

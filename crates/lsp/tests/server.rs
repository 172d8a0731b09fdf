//! The server as an editor sees it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cotan_lsp::serve_on;
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

/// An editor with one server.
struct Editor {
    connection: Connection,
    server: Option<JoinHandle<()>>,
    requests: i32,
    version: i32,
    folder: PathBuf,
    /// What was sent besides answers: file, version, messages.
    published: Vec<(String, Option<i64>, Vec<Value>)>,
}

impl Editor {
    fn new(name: &str) -> Editor {
        let folder = std::env::temp_dir().join(format!("cotan-lsp-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (theirs, ours) = Connection::memory();
        let server = thread::spawn(move || serve_on(theirs).unwrap());
        let mut editor = Editor {
            connection: ours,
            server: Some(server),
            requests: 0,
            version: 0,
            folder,
            published: Vec::new(),
        };
        let capabilities = editor.ask("initialize", json!({"capabilities": {}}));
        assert_eq!(capabilities["capabilities"]["hoverProvider"], true);
        editor.tell("initialized", json!({}));
        editor
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.folder.join(name).display())
    }

    fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(Message::Notification(message)).unwrap();
    }

    /// The answer, or the error.
    fn try_ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(Message::Request(request)).unwrap();
        loop {
            match self.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap() {
                Message::Response(response) => {
                    assert_eq!(response.id, id);
                    let text = serde_json::to_value(&response).unwrap();
                    return match text.get("error") {
                        Some(error) => Err(error["message"].as_str().unwrap().to_owned()),
                        None => Ok(text["result"].clone()),
                    };
                }
                other => self.note(other),
            }
        }
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.try_ask(method, params).unwrap()
    }

    fn note(&mut self, message: Message) {
        let Message::Notification(Notification { params, .. }) = message else { return };
        let uri = params["uri"].as_str().unwrap().to_owned();
        let list = params["diagnostics"].as_array().unwrap().clone();
        self.published.push((uri, params["version"].as_i64(), list));
    }

    fn open(&mut self, name: &str, text: &str) {
        self.version += 1;
        let document = json!({
            "uri": self.uri(name), "languageId": "cotan", "version": self.version, "text": text,
        });
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&mut self, name: &str, changes: Value) {
        self.version += 1;
        let document = json!({"uri": self.uri(name), "version": self.version});
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.tell("textDocument/didChange", params);
    }

    /// The messages about the newest version of a file.
    fn messages(&mut self, name: &str) -> Vec<Value> {
        let (uri, version) = (self.uri(name), i64::from(self.version));
        loop {
            let found =
                self.published.iter().rev().find(|(at, v, _)| *at == uri && *v == Some(version));
            if let Some((.., list)) = found {
                return list.clone();
            }
            let message = self.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap();
            self.note(message);
        }
    }

    /// A request about the place of the first `|` in a text, which is opened without it.
    fn at(&mut self, method: &str, name: &str, marked: &str) -> Value {
        let (before, after) = marked.split_once('|').unwrap();
        self.open(name, &(before.to_owned() + after));
        let params = self.place(name, before);
        self.ask(method, params)
    }

    fn place(&self, name: &str, before: &str) -> Value {
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
        json!({
            "textDocument": {"uri": self.uri(name)},
            "position": {"line": line, "character": character},
            "context": {"includeDeclaration": true, "triggerKind": 1},
            "newName": "fresh",
        })
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.ask("shutdown", Value::Null);
            self.tell("exit", Value::Null);
            self.server.take().unwrap().join().unwrap();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn range(value: &Value) -> [u64; 4] {
    let at = |end: &str, what: &str| value[end][what].as_u64().unwrap();
    [at("start", "line"), at("start", "character"), at("end", "line"), at("end", "character")]
}

#[test]
fn messages_follow_the_text() {
    let mut editor = Editor::new("messages");
    editor.open("a.ct", "def f(x: [n]f64) = tanhh(x)\n");
    let found = editor.messages("a.ct");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(range(&found[0]["range"]), [0, 19, 0, 24]);
    assert!(found[0]["message"].as_str().unwrap().contains("unknown name `tanhh`"));
    assert_eq!((&found[0]["severity"], &found[0]["code"]), (&json!(1), &json!("E0101")));
    // The hint is applied by an action.
    let params = json!({
        "textDocument": {"uri": editor.uri("a.ct")}, "range": found[0]["range"],
        "context": {"diagnostics": []},
    });
    let actions = editor.ask("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][&editor.uri("a.ct")][0];
    assert_eq!((&edit["newText"], range(&edit["range"])), (&json!("tanh"), [0, 19, 0, 24]));
    assert!(actions[1]["title"].as_str().unwrap().contains("gradient of `f`"));
    let change = json!([{"range": edit["range"], "text": edit["newText"]}]);
    editor.change("a.ct", change);
    assert_eq!(editor.messages("a.ct"), Vec::<Value>::new());
    editor.change("a.ct", json!([{"text": "def f( = 1"}]));
    assert!(!editor.messages("a.ct").is_empty());
}

#[test]
fn imports_are_read_as_they_are_in_the_editor() {
    let mut editor = Editor::new("imports");
    fs::write(editor.folder.join("lib.ct"), "def two() = 2.0\n").unwrap();
    editor.open("a.ct", "import \"lib.ct\"\ndef f() = three()\n");
    assert_eq!(editor.messages("a.ct").len(), 1);
    let text = "# Three.\ndef three() = 3.0\n";
    editor.open("lib.ct", text);
    editor.messages("lib.ct");
    // Both are looked at again.
    let uri = editor.uri("a.ct");
    let end = Instant::now() + Duration::from_secs(60);
    while editor
        .published
        .iter()
        .rev()
        .find(|(at, ..)| *at == uri)
        .is_some_and(|(.., l)| !l.is_empty())
    {
        assert!(Instant::now() < end);
        let message = editor.connection.receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        editor.note(message);
    }
    let place = editor.place("a.ct", "import \"lib.ct\"\ndef f() = th");
    let found = editor.ask("textDocument/definition", place.clone());
    assert_eq!(
        (&found["uri"], range(&found["range"])),
        (&json!(editor.uri("lib.ct")), [1, 4, 1, 9])
    );
    let shown = editor.ask("textDocument/hover", place.clone());
    assert!(shown["contents"]["value"].as_str().unwrap().contains("Three."));
    let changed = editor.ask("textDocument/rename", place);
    let changes = changed["changes"].as_object().unwrap();
    assert_eq!(changes.len(), 2, "{changes:?}");
}

#[test]
fn hovering_shows_types_with_sizes() {
    let mut editor = Editor::new("hover");
    let mut shown = |marked: &str| -> String {
        let found = editor.at("textDocument/hover", "h.ct", marked);
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let value = shown("def f(x: [n]f64, y: [m]f64) = let t|able = x[:, None] * y in sum(table)\n");
    assert_eq!(value, "```cotan\ntable: [n, m]f64\n```");
    assert!(shown("# Adds.\ndef f(x: f64) = x\ndef g(x: f64) = |f(x)\n").contains("Adds."));
    assert!(shown("def f(x: [n]f64) = s|um(x)\n").contains("sum("));
    assert!(shown("def f(x: [n, 3]f64) = x |@ x\n").is_empty());
    assert_eq!(shown("def f(|x: [n]f64) = sum(x)\n"), "```cotan\nx: [n]f64\n```");
    assert_eq!(shown("def f(x: [n]f64) = x |* 2.0\n"), "```cotan\n[n]f64\n```");
    assert_eq!(shown("def f(x: f64) = x  |  # nothing\n"), "");
}

#[test]
fn completion_knows_scope_fields_and_signatures() {
    let mut editor = Editor::new("complete");
    let mut labels = |marked: &str| -> Vec<(String, String)> {
        let found = editor.at("textDocument/completion", "c.ct", marked);
        let item = |item: &Value| {
            let text = |what: &str| item[what].as_str().unwrap_or_default().to_owned();
            (text("label"), text("detail"))
        };
        found.as_array().unwrap().iter().map(item).collect()
    };
    let found = labels("def f(first: [n]f64) = let other = 1.0 in o|\ndef last(z: f64) = z\n");
    let detail = |name: &str| found.iter().find(|(l, _)| l == name).map(|(_, d)| d.as_str());
    assert!(detail("other").is_some() && detail("first").is_some() && detail("n").is_some());
    assert!(detail("last").is_some_and(|d| d.starts_with("def last(z: f64)")));
    assert!(detail("ones_like").or(detail("ones")).is_some());
    assert_eq!(detail("z"), None, "it is a parameter of another function");
    let record = "type P = {w: f64, b: [3]f64}\ndef f(p: P) = p.|\n";
    assert_eq!(labels(record), [("w".into(), "f64".into()), ("b".into(), "[3]f64".into())]);
    assert!(labels("def f(x: f64) = x # comm|ent\n").is_empty());
    assert!(labels("def f(x: f64) = 1.|\n").is_empty());
}

#[test]
fn definition_references_and_other_names() {
    let mut editor = Editor::new("names");
    let text = "def f(x: f64) = let y = x in y + x\n";
    let found =
        editor.at("textDocument/definition", "d.ct", "def f(x: f64) = let y = |x in y + x\n");
    assert_eq!(range(&found["range"]), [0, 6, 0, 7]);
    let place = editor.place("d.ct", "def f(");
    let found = editor.ask("textDocument/references", place.clone());
    assert_eq!(found.as_array().unwrap().len(), 3);
    let changed = editor.ask("textDocument/rename", place.clone());
    let edits = changed["changes"][&editor.uri("d.ct")].as_array().unwrap().clone();
    let mut renamed = text.to_owned();
    let mut starts: Vec<usize> =
        edits.iter().map(|edit| range(&edit["range"])[1] as usize).collect();
    starts.sort_unstable();
    for start in starts.into_iter().rev() {
        renamed.replace_range(start..start + 1, "fresh");
    }
    assert_eq!(renamed, "def f(fresh: f64) = let y = fresh in y + fresh\n");
    for (name, why) in
        [("y", "already"), ("1x", "not a name"), ("sum", "of the language"), ("let", "not a name")]
    {
        let mut params = place.clone();
        params["newName"] = json!(name);
        let refused = editor.try_ask("textDocument/rename", params).unwrap_err();
        assert!(refused.contains(why), "{name}: {refused}");
    }
}

#[test]
fn outline_formatting_words_and_hints() {
    let mut editor = Editor::new("outline");
    let text = "type P = f64\n# Doc.\ndef f(x: [n]f64)=let y = x*x in\n  sum(y)\n";
    editor.open("o.ct", text);
    let of_file = json!({"textDocument": {"uri": editor.uri("o.ct")}});
    let found = editor.ask("textDocument/documentSymbol", of_file.clone());
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["P", "f"]);
    let mut params = of_file.clone();
    params["options"] = json!({"tabSize": 2, "insertSpaces": true});
    let edits = editor.ask("textDocument/formatting", params);
    assert_eq!(edits.as_array().unwrap().len(), 1);
    assert_eq!(range(&edits[0]["range"])[0], 2, "lines that stay are left alone: {edits}");
    let words = editor.ask("textDocument/semanticTokens/full", of_file.clone());
    let data: Vec<u64> =
        words["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(data.len() % 5, 0);
    // `type` is a keyword of four letters, `P` a type that is defined there.
    assert_eq!(data[..10], [0, 0, 4, 6, 0, 0, 5, 1, 1, 1]);
    let mut params = of_file;
    params["range"] =
        json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let hints = editor.ask("textDocument/inlayHint", params);
    let labels: Vec<&str> =
        hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect();
    assert_eq!(labels, [": f64", ": [n]f64"]);
}

#[test]
fn the_gradient_is_a_program() {
    let mut editor = Editor::new("gradient");
    editor.open("g.ct", "def f(x: [n]f64) = sum(x * x)\ndef k(i: i64) = i\n");
    let mut gradient = |name: &str| {
        let arguments = json!([editor.uri("g.ct"), name]);
        let params = json!({"command": "cotan.gradient", "arguments": arguments});
        editor.try_ask("workspace/executeCommand", params)
    };
    let text = gradient("f").unwrap().as_str().unwrap().to_owned();
    assert!(text.contains("grad.x") && cotan_syntax::parse_program(&text).is_ok(), "{text}");
    assert!(gradient("k").unwrap_err().contains("no derivatives"));
    assert!(gradient("none").is_err());
}

#[test]
fn a_line_is_explained() {
    let mut editor = Editor::new("explain");
    editor.open("e.ct", "def f(x: [n]f64) =\n  let y = sin(x) in\n  sum(y * y)\n");
    let params = json!({
        "textDocument": {"uri": editor.uri("e.ct")}, "context": {"diagnostics": []},
        "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 4}},
    });
    let actions = editor.ask("textDocument/codeAction", params);
    let explain = |a: &&Value| a["command"]["command"] == "cotan.explain";
    let action = actions.as_array().unwrap().iter().find(explain).unwrap();
    assert_eq!(action["title"], "Explain line 2 of `f`");
    let text = editor.ask("workspace/executeCommand", action["command"].clone());
    let text = text.as_str().unwrap();
    assert!(text.contains("2 |   let y = sin(x) in") && text.contains("its derivative"), "{text}");
    let arguments = json!([editor.uri("e.ct"), "f", 99]);
    let params = json!({"command": "cotan.explain", "arguments": arguments});
    assert!(editor.try_ask("workspace/executeCommand", params).unwrap_err().contains("no line 99"));
}

#[test]
fn what_makes_no_sense_is_an_error_and_no_end() {
    let mut editor = Editor::new("nonsense");
    let place = editor.place("closed.ct", "");
    assert!(editor.try_ask("textDocument/hover", place).unwrap_err().contains("not open"));
    assert!(editor.try_ask("textDocument/hover", json!({"x": 1})).is_err());
    assert!(editor.try_ask("no/method", Value::Null).unwrap_err().contains("no method"));
    editor.tell("textDocument/didChange", json!([1, 2]));
    let huge = json!([{"range": {"start": {"line": 4_000_000_000u32, "character": 4_000_000_000u32},
        "end": {"line": 0, "character": 0}}, "text": "é"}]);
    editor.open("u.ct", "def f() = 1");
    editor.change("u.ct", huge);
    assert!(!editor.messages("u.ct").is_empty());
}

/// A small generator of numbers.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Random edits, with questions between them: no fault, no answer about another text, and in the end
/// the messages of a fresh look at the file.
#[test]
fn random_edits() {
    let start = "type P[n] = {w: [n]f64, b: f64}\n# Doc.\ndef dot2(a: [n]f64, b: [n]f64): f64 = \
                 sum(a * b)\ndef f(p: P[n], x: [n]f64) = let y = dot2(p.w, x) + p.b in y ** 2\ndef g(x: f64) = \
                 if x > 0.0 then x else f({w = [x], b = 1.0}, [x])\n";
    let pieces = [
        "x",
        "(",
        ")",
        " ",
        "\n",
        "def h(x: f64) = x\n",
        "let y = ",
        " in ",
        "+",
        "1.0",
        "é",
        "\u{1F600}",
        "[n]",
        "# c\n",
        "\"",
        "`",
        "dot2",
        "{w = x}",
        ".",
        ",",
        "=>",
        "\r\n",
    ];
    let methods = [
        "textDocument/hover",
        "textDocument/completion",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/rename",
        "textDocument/prepareRename",
        "textDocument/documentSymbol",
        "textDocument/semanticTokens/full",
        "textDocument/formatting",
        "textDocument/inlayHint",
        "textDocument/codeAction",
    ];
    let mut editor = Editor::new("random");
    let mut state = 7u64;
    for round in 0..6 {
        let mut text = start.to_owned();
        editor.open("r.ct", &text);
        for step in 0..60 {
            let boundary = |mut at: usize, text: &str| {
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let from = boundary(next(&mut state) % (text.len() + 1), &text);
            let to = boundary((from + next(&mut state) % 4).min(text.len()), &text).max(from);
            // Between `\r` and `\n` there is no place.
            if text[..from].ends_with('\r') || text[..to].ends_with('\r') {
                continue;
            }
            let piece = pieces[next(&mut state) % pieces.len()];
            let position = |at: usize| editor.place("r.ct", &text[..at])["position"].clone();
            let change =
                json!([{"range": {"start": position(from), "end": position(to)}, "text": piece}]);
            text.replace_range(from..to, piece);
            editor.change("r.ct", change);
            if step % 3 == 0 {
                let at = boundary(next(&mut state) % (text.len() + 1), &text);
                let mut params = editor.place("r.ct", &text[..at]);
                params["range"] = json!({"start": params["position"], "end": params["position"]});
                params["context"]["diagnostics"] = json!([]);
                params["options"] = json!({"tabSize": 2, "insertSpaces": true});
                let method = methods[next(&mut state) % methods.len()];
                if let Err(why) = editor.try_ask(method, params) {
                    assert!(!why.contains("fault of cotan"), "{method} on {text:?}");
                }
            }
        }
        // What the server holds is what we hold: it formats, or finds in it, the same.
        let symbols = editor.ask(
            "textDocument/documentSymbol",
            json!({"textDocument": {"uri": editor.uri("r.ct")}}),
        );
        let names: Vec<String> = symbols
            .as_array()
            .unwrap()
            .iter()
            .map(|symbol| symbol["name"].as_str().unwrap().to_owned())
            .collect();
        let parsed = cotan_syntax::parse(cotan_ir::FileId(0), &text);
        assert_eq!(names.len(), parsed.module.items.len(), "{round}: {text:?}");
        let incremental = editor.messages("r.ct");
        editor.open("fresh.ct", &text);
        let fresh = editor.messages("fresh.ct");
        let plain = |list: &[Value]| -> Vec<(Value, Value)> {
            list.iter().map(|m| (m["range"].clone(), m["message"].clone())).collect()
        };
        assert_eq!(plain(&incremental), plain(&fresh), "{round}: {text:?}");
    }
}

/// Answers about a file of 5,000 lines do not keep anyone waiting. Other tests run beside this one, so
/// the bound is loose; `record/tools-2026-11-19.md` has figures.
#[test]
fn a_long_file() {
    let mut text = String::new();
    for k in 0..1000 {
        text += &format!(
            "# Number {k}.\ndef f{k}(x: [n]f64, y: [m]f64) =\n  let a = x[:, None] * y\n  let b = sum(a) in\n  \
             b * {k}.0\n"
        );
    }
    let mut editor = Editor::new("long");
    editor.open("l.ct", &text);
    let before = text.find("let b = sum(a) in\n  b * 700.0").unwrap() + 4;
    let place = editor.place("l.ct", &text[..before]);
    let mut slowest: Vec<(Duration, &str)> = Vec::new();
    let position = place["position"].clone();
    for method in [
        "textDocument/hover",
        "textDocument/completion",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/documentSymbol",
        "textDocument/semanticTokens/full",
        "textDocument/inlayHint",
        "textDocument/formatting",
    ] {
        let change = json!([{"range": {"start": position, "end": position}, "text": ""}]);
        editor.change("l.ct", change);
        let mut params = place.clone();
        params["range"] = json!({"start": position, "end": {"line": 3560, "character": 0}});
        params["options"] = json!({"tabSize": 2, "insertSpaces": true});
        let begin = Instant::now();
        editor.ask(method, params);
        slowest.push((begin.elapsed(), method));
    }
    for (time, method) in slowest {
        assert!(time < Duration::from_secs(5), "{method}: {time:?}");
    }
    assert_eq!(editor.messages("l.ct"), Vec::<Value>::new());
}

//! What people see when a text is wrong, and that no text whatever breaks the parser.

mod common;

use std::time::{Duration, Instant};

use common::{Rng, codes};
use cotan_ir::{FileId, SourceMap};
use cotan_syntax::ast::{Ast, ExprId, ExprKind, Item};
use cotan_syntax::render::{Style, render_all};
use cotan_syntax::{Code, format, parse};

const LIBRARY: &str = include_str!("samples/library.ct");

/// One text for every code of the parser, and the likely slips of newcomers.
const WRONG: &[&str] = &[
    "def f(x: f64) = x § 2\n",
    "def f(größe: f64) = größe\n",
    "def f(x: f64) = x && y\n",
    "def f(x: f64) = `x\n",
    "import \"\"\n",
    "def f() = .5 + 1\n",
    "def f() = 1. + 2\n",
    "def f() = 0x1F + 2u8\n",
    "def f() = 9223372036854775808\n",
    "def f() = 1e999\n",
    "def f(x: f64) = x +\n",
    "def f(x: f64) = x = 1\n",
    "def f(x: f64) = 2 x\n",
    "def f(x: f64) = g(x, [1, 2)\n",
    "def f(x: f64) = g(x, (1\n\ndef h() = 1\n",
    "def f(x: f64) = 0 < x < 1\n",
    "def f(x: f64) =\n  let y = x\n  y * y\n",
    "def f(x: f64) = let y = x\n",
    "def f(x: f64) = sum(axis = 0, x)\n",
    "def f(x: f64) = build 2 * n (i => i)\n",
    "def f(x, y: f64) = x\n",
    "def f = 1\n",
    "def f(x: f64) = if x then 1\n",
    "def f(in: f64) = 1\n",
    "def f(r: R) = r.type + t.0x\n",
    "def f(r: R) = {a: 1}\n",
    "let x = 3\n\ntype T = 3\nf(x)\n",
    "def f(x: f64) = x => _\n",
    "import lib/linear.ct\n",
    // What other languages write.
    "def f(x: [n]f64) = reduce(+, 0, x)\n",
    "def f(x: i64) = x << 3\n",
    "def f(x: i64) = x >>> 3\n",
    "def f(x: [n]f64) = [a for a in x]\n",
    "def f(x: f64) = 1 if x > 0 else 2\n",
    "def f(x: f64) = if x > 0: 1 else: 2\n",
    "def f() = map(x => x, 0..3)\n",
    "def f(x: [n]f64) = x[..., None]\n",
    "def f(x: [n]f64) = x[3] = 2.0\n",
    "def f(x: [n]f64) = for i in x do i\n",
];

#[test]
fn messages() {
    let mut shown = String::new();
    for text in WRONG {
        let mut sources = SourceMap::new();
        let file = sources.add("wrong.ct", *text);
        let parsed = parse(file, text);
        assert!(parsed.diagnostics.has_errors(), "{text}");
        shown += &render_all(&parsed.diagnostics, &sources, Style::Plain);
        shown += "----\n\n";
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn every_code_of_the_parser_is_shown() {
    let mut found: Vec<Code> = WRONG.iter().flat_map(|text| codes(text)).collect();
    found.push(Code::NestingTooDeep); // Has tests of its own.
    let unreachable = [Code::FileTooLarge, Code::Internal];
    for &code in Code::ALL.iter().filter(|code| code.number() < 100 && !unreachable.contains(code))
    {
        assert!(found.contains(&code), "{code}");
    }
}

/// Every span lies within the text, on the borders of characters.
fn check_spans(file: FileId, text: &str) {
    let parsed = parse(file, text);
    for diagnostic in &parsed.diagnostics {
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
        for label in labels {
            assert!(text.get(label.span.range()).is_some(), "{diagnostic}\n{text}");
        }
    }
    for item in &parsed.module.items {
        assert!(text.get(item.span().range()).is_some(), "{text}");
        if let Item::Def(def) = item {
            check_expr_spans(&parsed.module.ast, def.body, text);
        }
    }
}

fn check_expr_spans(ast: &Ast, root: ExprId, text: &str) {
    let mut todo = vec![root];
    while let Some(expr) = todo.pop() {
        let outer = ast.span(expr);
        assert!(text.get(outer.range()).is_some(), "{text}");
        ast.for_each_child(expr, |child| {
            let inner = ast.span(child);
            // An `Error` may stand behind its parent, where something is missing.
            let error = matches!(ast[child].kind, ExprKind::Error);
            let within = outer.start <= inner.start && inner.end <= outer.end;
            assert!(within || error, "{outer:?} {inner:?}\n{text}");
            todo.push(child);
        });
    }
}

/// Parses, renders and formats; what comes out must make sense, whatever went in.
fn survive(text: &str) {
    let mut sources = SourceMap::new();
    let file = sources.add("mutant.ct", text);
    check_spans(file, text);
    match format(file, text) {
        Ok(formatted) => {
            assert_eq!(format(file, &formatted).as_ref(), Ok(&formatted), "{text}");
        }
        Err(diagnostics) => {
            assert!(diagnostics.iter().all(|d| d.code != Code::Internal), "{text}");
            assert!(!render_all(&diagnostics, &sources, Style::Plain).is_empty());
        }
    }
}

/// Cuts, copies and noise in a good text.
#[test]
fn mutants_are_survived() {
    const NOISE: &[&str] = &[
        "(", ")", "[", "]", "{", "}", "let ", " in ", "=>", "=", ",", ";", ":", ".", "-", "not ",
        "if ", "build ", "def ", "type ", "import ", "\"", "`", "#", "\n", "0.1", "1e", "_", "√",
        "\u{0}", "**",
    ];
    let lines: Vec<&str> = LIBRARY.lines().collect();
    let mut rng = Rng::new(11);
    for _ in 0..3000 {
        let first = rng.below(lines.len());
        let mut text: String = lines[first..lines.len().min(first + 5)].join("\n");
        for _ in 0..=rng.below(3) {
            let places: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let first = rng.below(places.len());
            let last = (first + rng.below(20)).min(places.len() - 1);
            let (start, end) = (places[first], places[last]);
            match rng.below(3) {
                0 => text.replace_range(start..end, ""),
                1 => {
                    let copy = text[start..end].to_string();
                    text.insert_str(places[rng.below(places.len())], &copy);
                }
                _ => text.insert_str(start, NOISE[rng.below(NOISE.len())]),
            }
        }
        survive(&text);
    }
}

/// Texts made to be slow: 64 KiB of one thing.
#[test]
fn noise_takes_linear_time() {
    let pieces = [
        "(",
        ")",
        "[",
        "{",
        "-",
        "not ",
        "a+",
        "a**",
        "a=>",
        "(a=>",
        "(,",
        "let ",
        "let x = ",
        "if ",
        "a.",
        "0.",
        "a[:",
        "`",
        "\"",
        "#\n",
        "§",
        "build ",
        "build(",
        "build n (",
        "f(x)(",
        "def ",
        "def f(",
        "type T = ",
        "def f(x: [",
        "else ",
        ";",
        "((a,b),",
        "x, ",
        "1 ",
        "{a=",
        "a<",
        "\\",
        "\n",
        "_",
        "[)",
        "(]",
    ];
    for prefix in ["", "def f() = "] {
        for piece in pieces {
            let text = prefix.to_string() + &piece.repeat((64 << 10) / piece.len());
            let begin = Instant::now();
            survive(&text);
            let took = begin.elapsed();
            assert!(took < Duration::from_secs(10), "{took:?} for {prefix}{piece}");
        }
    }
}

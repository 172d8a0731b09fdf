//! The formatter: one layout, the same meaning, nothing lost.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{Rng, parse_ok};
use cotan_ir::{FileId, Span};
use cotan_syntax::diagnostic::Diagnostics;
use cotan_syntax::lex::lex;
use cotan_syntax::{Code, format};

const LIBRARY: &str = include_str!("samples/library.ct");
const CORE: &str = include_str!("samples/core.ct");

fn format_ok(text: &str) -> String {
    match format(FileId(0), text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

fn comments(text: &str) -> Vec<String> {
    let lexed = lex(FileId(0), text, &mut Diagnostics::new());
    lexed.comments.iter().map(|comment| text[comment.span.range()].to_string()).collect()
}

/// Formats, and checks everything that is promised.
fn check(text: &str) -> String {
    let formatted = format_ok(text);
    assert!(parse_ok(text).same_meaning(&parse_ok(&formatted)), "{formatted}");
    assert_eq!(format_ok(&formatted), formatted, "formatting again changes it:\n{text}");
    assert_eq!(comments(text), comments(&formatted), "comments:\n{text}\n{formatted}");
    assert!(formatted.lines().all(|line| line == line.trim_end()), "{formatted}");
    assert!(!formatted.contains("\n\n\n"), "{formatted}");
    formatted
}

#[test]
fn the_library() {
    let formatted = check(LIBRARY);
    assert!(formatted.lines().all(|line| line.chars().count() <= 100), "{formatted}");
    insta::assert_snapshot!(formatted);
}

#[test]
fn the_core_language() {
    insta::assert_snapshot!(check(CORE));
}

#[test]
fn comments_stay_where_they_are() {
    let text = "# top\n\n\n\n# above\ndef f( # params\n x: f64, # the x\n # alone\n y: f64 # the y\n ): f64 = # body\n\
        # first\n let a = x + # plus\n y # end of a\n\n # before b\n let b = ( # open\n a # inner\n )\n ; # gone\n\
        in # result\n f(a, # one\n b # two\n ) # end\n# last\n\n# really last";
    insta::assert_snapshot!(check(text));
}

#[test]
fn files_without_declarations() {
    assert_eq!(check(""), "");
    assert_eq!(check(" \n\t\r\n"), "");
    assert_eq!(check("\n\n  # only this  \n\n\n"), "# only this\n");
    assert_eq!(check("\r\ndef f() = 1\r\n\r\n"), "def f() = 1\n");
}

#[test]
fn a_file_with_errors_is_left_alone() {
    let diagnostics = format(FileId(3), "def f() = (").expect_err("an error");
    let found: Vec<_> = diagnostics.iter().map(|d| (d.code, d.primary.span)).collect();
    assert_eq!(found, [(Code::UnclosedBracket, Span::new(FileId(3), 10, 11))]);
}

/// The same tokens with other white space and with comments anywhere: the layout without comments
/// must not depend on the white space, and no comment may get lost.
#[test]
fn white_space_does_not_matter() {
    let lexed = lex(FileId(0), LIBRARY, &mut Diagnostics::new());
    let words: Vec<_> = lexed
        .tokens
        .iter()
        .map(|token| &LIBRARY[token.start as usize..token.end as usize])
        .collect();
    let mut rng = Rng::new(7);
    let expected = check(&words.join(" "));
    for round in 0..200 {
        let (mut text, mut with_comments) = (String::new(), String::new());
        for word in &words {
            let space = [" ", "\n", "\t ", "  \r\n"][rng.below(4)];
            text = text + space + word;
            let comment =
                ["# c\n", "  # a longer comment √\n\n", "\n\n\n# alone\n", "\n"][rng.below(4)];
            let rare = rng.below(12) == 0;
            with_comments = with_comments + if rare { comment } else { " " } + word;
        }
        // Without empty lines between the declarations the layout is a function of the tokens.
        assert_eq!(format_ok(&text), expected, "round {round}");
        check(&with_comments);
    }
}

/// Deep and long trees on a small stack; run with the unoptimised profile too.
#[test]
fn deep_and_long_programs_fit_a_small_stack() {
    common::on_small_stack(|| {
        check(&format!("def f(a: f64) = a{}", " + a * a".repeat(20_000)));
        check(&format!("def f(a: f64) = {}a{}", "(1 + ".repeat(128), ") * 2".repeat(128)));
        check(&format!("def f() = [{}]", "1.0, ".repeat(20_000)));
        let lets: String = (0..20_000).map(|i| format!("let x{i} = f(x)\n")).collect();
        check(&format!("def f(x: f64) = {lets} in x"));
        let deep = 51;
        check(&format!("def f() = {}x{}", "{a = [f(x => (".repeat(deep), "))]}".repeat(deep)));
        check(&format!("def f() = {}x{}", "build n (i => ".repeat(85), ")".repeat(85)));
    });
}

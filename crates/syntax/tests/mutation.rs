//! Damaged programs: whatever is written, loading and checking ends with messages or a program.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{Rng, on_small_stack};
use cotan_ir::Limits;
use cotan_syntax::{check, load_text};

const DOCUMENT: &str = include_str!("../../../docs/language.md");

/// The blocks of the language document, with their expressions as definitions.
fn seeds() -> Vec<String> {
    let mut seeds = Vec::new();
    for block in DOCUMENT.split("```ct").skip(1) {
        let block = block.split("```").next().unwrap_or("");
        let mut text = String::new();
        for (k, line) in block.lines().skip(1).enumerate() {
            match line.strip_prefix("#> ") {
                Some(expr) => text += &format!("def value{k}() = {expr}\n"),
                None => text += &format!("{line}\n"),
            }
        }
        seeds.push(text);
    }
    seeds
}

/// Words and signs, cut where a mutation may cut.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let kind = |c: char| (c.is_alphanumeric() || c == '_', c.is_whitespace());
    let mut before = None;
    for (at, c) in text.char_indices() {
        if before.is_some_and(|b| b != kind(c) || kind(c) == (false, false)) {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = Some(kind(c));
    }
    pieces.push(&text[start..]);
    pieces
}

fn is_word(piece: &str) -> bool {
    piece.starts_with(|c: char| c.is_alphanumeric())
}

#[test]
fn damaged_programs_never_panic() {
    on_small_stack(|| {
        let seeds = seeds();
        assert!(seeds.len() > 8);
        let all: Vec<&str> =
            seeds.iter().flat_map(|seed| pieces(seed)).filter(|p| !p.trim().is_empty()).collect();
        let names: Vec<&str> = all.iter().copied().filter(|piece| is_word(piece)).collect();
        let limits = Limits { max_nodes: 3000, ..Limits::default() };
        let (mut loaded, mut passed) = (0, 0);
        for round in 0..6000 {
            let mut rng = Rng::new(round);
            let mut words = pieces(&seeds[rng.below(seeds.len())]);
            for _ in 0..1 + rng.below(3) {
                let (at, other) = (rng.below(words.len()), rng.below(words.len()));
                match rng.below(8) {
                    0 => drop(words.remove(at)),
                    1 => words.insert(at, all[rng.below(all.len())]),
                    2 => words[at] = all[rng.below(all.len())],
                    // A name for a name: what still parses goes furthest.
                    3..=6 if is_word(words[at]) => words[at] = names[rng.below(names.len())],
                    _ => words.swap(at, other),
                }
                if words.is_empty() {
                    words.push("def");
                }
            }
            let text = words.concat();
            match load_text("test.ct", &text) {
                Ok(modules) => {
                    loaded += 1;
                    let found = check(&modules, &limits);
                    passed += usize::from(!found.has_errors());
                    for message in &found {
                        assert!(!message.message.contains("internal"), "{text}\n{message}");
                        cotan_syntax::render::render(
                            message,
                            modules.sources(),
                            Default::default(),
                        );
                    }
                }
                Err(failure) => assert!(failure.diagnostics.has_errors()),
            }
        }
        // Mutations that all fail early would test little.
        let failed = loaded - passed;
        assert!(passed > 300 && failed > 300, "{passed} passed, {failed} failed the check");
    });
}

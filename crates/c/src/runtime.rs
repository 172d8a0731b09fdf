//! The functions that generated code calls: those that it needs, and no others.

use std::collections::BTreeSet;

/// The functions, each after a line that says its name and what it needs.
const TEXT: &str = include_str!("runtime.c");

/// What such a line begins with.
const MARK: &str = "/*@ ";

/// A function of the text.
struct Piece {
    name: &'static str,
    needs: Vec<&'static str>,
    text: &'static str,
}

fn pieces() -> Vec<Piece> {
    let piece = |part: &'static str| {
        let (head, text) = part.split_once("*/")?;
        let mut words = head.split_whitespace();
        Some(Piece { name: words.next()?, needs: words.collect(), text: text.trim() })
    };
    TEXT.split(MARK).skip(1).filter_map(piece).collect()
}

/// Some functions and all that they need.
pub(crate) fn with_needs(names: &BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let mut needed = names.clone();
    // What a function needs stands before it.
    for piece in pieces().iter().rev() {
        if needed.contains(piece.name) {
            needed.extend(piece.needs.iter().copied());
        }
    }
    needed
}

/// The text of some functions, in the order of dependencies.
pub(crate) fn text_of(names: &BTreeSet<&'static str>) -> String {
    let texts = pieces().into_iter().filter(|piece| names.contains(piece.name));
    texts.map(|piece| format!("{}\n\n", piece.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_stands_after_what_it_needs() {
        let mut seen = BTreeSet::new();
        for piece in pieces() {
            for need in &piece.needs {
                assert!(seen.contains(need), "{} needs {need}", piece.name);
            }
            assert!(seen.insert(piece.name), "{} is there twice", piece.name);
        }
    }
}

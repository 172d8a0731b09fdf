//! What a test file expects, read from its comments.

use super::datum::{Call, Datum};

/// One expectation of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Directive {
    /// `# run: f(1.0, [2, 3])`: what follows is expected of this call.
    Run(Call),
    /// `# check:` or `# check: d = 64`: what follows is what checking the file says, some sizes being
    /// fixed.
    Check(Vec<(String, usize)>),
    /// `# expect: 5.0`, or `# near 1e-12: 5.0` with a relative tolerance.
    Expect { value: Datum, tolerance: f64 },
    /// `# prints: def main(a: f64) = a + a`: the program, on one line or several.
    Prints(String),
    /// `# error: E0203 4:7 words of the message`, `# warning: ..` or `# note: ..`; the place may be a line only.
    Message(Message),
    /// `# skip: reason`
    Skip(String),
}

/// An expected error, warning or note.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub code: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// Must occur in the message, its labels, notes or hints.
    pub words: String,
}

/// All expectations of a file, in order, each with its line.
pub(super) fn directives(text: &str) -> Result<Vec<(usize, Directive)>, String> {
    let mut found: Vec<(usize, Directive)> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let Some(comment) = line.strip_prefix("#") else { continue };
        let at = |e: String| format!("line {}: {e}", n + 1);
        if let Some(directive) = directive(comment.trim()).map_err(at)? {
            // Consecutive lines of a printed program are one text.
            match (found.last_mut(), &directive) {
                (Some((_, Directive::Prints(text))), Directive::Prints(more)) => {
                    text.push('\n');
                    text.push_str(more);
                }
                _ => found.push((n + 1, directive)),
            }
        }
    }
    Ok(found)
}

fn directive(comment: &str) -> Result<Option<Directive>, String> {
    let Some((head, rest)) = comment.split_once(':') else { return Ok(None) };
    let value =
        |tolerance| Datum::parse(rest).map(|value| Some(Directive::Expect { value, tolerance }));
    match head.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["run"] => Ok(Some(Directive::Run(Call::parse(rest)?))),
        ["expect"] => value(0.0),
        ["near", tolerance] => {
            value(tolerance.parse().map_err(|_| format!("`{tolerance}` is no tolerance"))?)
        }
        ["prints"] => {
            Ok(Some(Directive::Prints(rest.strip_prefix(' ').unwrap_or(rest).to_owned())))
        }
        ["check"] => {
            let sizes = rest.split(',').map(str::trim).filter(|size| !size.is_empty());
            let size = |text: &str| {
                let (name, value) = text.split_once('=')?;
                Some((name.trim().to_owned(), value.trim().parse().ok()?))
            };
            let sizes: Option<Vec<(String, usize)>> = sizes.map(size).collect();
            Ok(Some(Directive::Check(sizes.ok_or_else(|| format!("`{rest}` are no sizes"))?)))
        }
        ["error" | "warning" | "note"] => Ok(Some(Directive::Message(message(rest)?))),
        ["skip"] if rest.trim().is_empty() => Err("a skipped file needs a reason".into()),
        ["skip"] => Ok(Some(Directive::Skip(rest.trim().to_owned()))),
        // A comment that happens to hold a colon.
        _ => Ok(None),
    }
}

fn message(text: &str) -> Result<Message, String> {
    let mut words = text.split_whitespace();
    let code = words.next().ok_or("an error needs a code")?.to_owned();
    let is_place = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut rest = words.peekable();
    let place = rest.next_if(|word| is_place(word)).unwrap_or("");
    let number = |text: &str| text.parse().map_err(|_| format!("`{place}` is no place"));
    let (line, column) = match place.split_once(':') {
        Some((line, column)) => (Some(number(line)?), Some(number(column)?)),
        None if place.is_empty() => (None, None),
        None => (Some(number(place)?), None),
    };
    Ok(Message { code, line, column, words: rest.collect::<Vec<_>>().join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_directives() {
        let text = "# Sums: a test\n# run: f(1.0)\n# near 1e-9: 2.0\n# error: E0203 4:7 two words\n\
                    # prints: def main() =\n# prints:   1\ndef f(x: f64) = x  # expect: 3\n";
        let found = directives(text).unwrap();
        assert_eq!(found.len(), 4);
        assert!(matches!(&found[1], (3, Directive::Expect { tolerance: 1e-9, .. })));
        let message = Message {
            code: "E0203".into(),
            line: Some(4),
            column: Some(7),
            words: "two words".into(),
        };
        assert_eq!(found[2], (4, Directive::Message(message)));
        assert_eq!(found[3].1, Directive::Prints("def main() =\n  1".into()));
    }

    #[test]
    fn wrong_directives_are_refused() {
        for text in ["# check: n", "# skip:", "# expect: [", "# near x: 1", "# error:", "# run: f("]
        {
            assert!(directives(text).is_err(), "{text}");
        }
    }
}

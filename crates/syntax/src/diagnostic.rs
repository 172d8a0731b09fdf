//! Messages to the author of a program.

use std::fmt;

use cotan_ir::Span;

pub use crate::code::{Code, Severity};

/// How many characters of a word a message shows, and how many of a text.
const MAX_WORD: usize = 120;
const MAX_MESSAGE: usize = 2000;

/// A text in which words that nobody would read, such as a number of a million digits, have lost
/// their middle, as has the whole if it is very long.
pub fn abbreviated(text: String) -> String {
    if text.len() <= MAX_WORD {
        return text;
    }
    let words: String = text.split_inclusive(char::is_whitespace).map(shorter_word).collect();
    without_middle(&words, MAX_MESSAGE)
}

fn shorter_word(word: &str) -> String {
    without_middle(word, MAX_WORD)
}

/// The first two thirds and the last third of the most characters that are kept.
fn without_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let (first, last) = (most * 2 / 3, most / 3);
    let head: String = text.chars().take(first).collect();
    let tail: String = text.chars().skip(length - last).collect();
    format!("{head}…{tail}")
}

/// A place with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The words; may be empty.
    pub text: String,
}

/// One message: what is wrong, where, and what to do.
///
/// ```
/// use cotan_ir::{FileId, Span};
/// use cotan_syntax::{Code, Diagnostic};
///
/// let place = |start, end| Span::new(FileId(0), start, end);
/// let message = Diagnostic::new(Code::UnclosedBracket, place(4, 5), "this `(` is never closed")
///     .label("opened here")
///     .also(place(9, 10), "`)` expected here")
///     .hint("add `)`");
/// assert_eq!(message.to_string(), "error[E0006]: this `(` is never closed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of message.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub primary: Label,
    /// Other places that matter: the other of two that disagree.
    pub secondary: Vec<Label>,
    /// Further facts, a line each.
    pub notes: Vec<String>,
    /// What to do, a line each.
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// A message about a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: abbreviated(message.into()),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Words for the place itself.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = abbreviated(text.into());
        self
    }

    /// Another place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, text: abbreviated(text.into()) });
        self
    }

    /// A further fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(abbreviated(text.into()));
        self
    }

    /// What to do.
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.hints.push(abbreviated(text.into()));
        self
    }

    /// Replaces every text of the message.
    pub(crate) fn map_texts(&mut self, f: &mut dyn FnMut(&str) -> String) {
        let labels = self.secondary.iter_mut().chain([&mut self.primary]).map(|l| &mut l.text);
        let texts = labels.chain(&mut self.notes).chain(&mut self.hints);
        for text in texts.chain([&mut self.message]) {
            *text = f(text);
        }
    }

    /// Error, warning or note.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

impl fmt::Display for Diagnostic {
    /// One line, without the place; [`crate::render`] shows the text around it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(f, "{severity}[{}]: {}", self.code, self.message)
    }
}

/// The messages of one run, in the order in which they were found.
///
/// At most [`Diagnostics::LIMIT`] are kept, so that a file of noise does not make a flood; the
/// others are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    dropped: usize,
    errors: usize,
}

impl Diagnostics {
    /// How many messages are kept.
    pub const LIMIT: usize = 100;

    /// No messages.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity() == Severity::Error);
        if self.kept.len() < Diagnostics::LIMIT {
            self.kept.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds the messages of another run.
    pub fn append(&mut self, other: Diagnostics) {
        let lost = (other.dropped, other.errors);
        let errors_before = self.errors;
        for diagnostic in other.kept {
            self.push(diagnostic);
        }
        self.dropped += lost.0;
        self.errors = errors_before + lost.1;
    }

    /// The messages.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Are there no messages?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Is there an error, not only warnings?
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors there were, kept or not.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// How many messages were not kept.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Puts the messages in the order of their places.
    pub fn sort(&mut self) {
        self.kept.sort_by_key(|diagnostic| diagnostic.primary.span);
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(diagnostic);
        diagnostics
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    /// One line per message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.kept.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{diagnostic}")?;
        }
        match self.dropped {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_words_and_texts_lose_their_middle() {
        let digits = format!("`{}` is too large", "1".repeat(1_000_000));
        let message = Diagnostic::new(Code::NumberTooLarge, Span::NONE, &digits)
            .label(&digits)
            .note(&digits)
            .hint(&digits)
            .also(Span::NONE, &digits);
        let texts = [&message.message, &message.primary.text, &message.notes[0], &message.hints[0]];
        for text in texts.into_iter().chain([&message.secondary[0].text]) {
            assert!(text.starts_with("`111") && text.ends_with("111` is too large"), "{text}");
            assert!(text.contains('…') && text.chars().count() < 150, "{text}");
        }
        let many = abbreviated("word ".repeat(100_000));
        assert!(many.chars().count() <= MAX_MESSAGE + 1);
        let plain = "a sentence of ordinary words that is longer than a word may be ".repeat(5);
        assert_eq!(abbreviated(plain.clone()), plain);
        assert_eq!(abbreviated("ä".repeat(1000)).chars().count(), MAX_WORD + 1);
    }

    #[test]
    fn keeps_the_first_and_counts_the_rest() {
        let error = || Diagnostic::new(Code::UnexpectedToken, Span::NONE, "no");
        let mut some = Diagnostics::new();
        assert!(some.is_empty() && !some.has_errors());
        (0..Diagnostics::LIMIT + 7).for_each(|_| some.push(error()));
        assert_eq!((some.iter().count(), some.dropped()), (Diagnostics::LIMIT, 7));
        assert_eq!(some.error_count(), Diagnostics::LIMIT + 7);

        let mut all = Diagnostics::from(error());
        all.append(some);
        assert_eq!((all.iter().count(), all.dropped()), (Diagnostics::LIMIT, 8));
        assert_eq!(all.error_count(), Diagnostics::LIMIT + 8);
        assert!(all.to_string().ends_with("\n… and 8 more"));
    }
}

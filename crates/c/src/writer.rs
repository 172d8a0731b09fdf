//! Text with indentation.

use std::fmt::{Display, Write};

/// Spaces of one level.
const INDENT: usize = 4;

/// C in the making.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// A line; empty ones have no spaces.
    pub(crate) fn line(&mut self, line: impl Display) {
        let start = self.text.len();
        let _ = write!(self.text, "{:1$}{line}", "", self.depth * INDENT);
        let trimmed = self.text[start..].trim_end().len();
        self.text.truncate(start + trimmed);
        self.text.push('\n');
    }

    /// A line, and everything until [`close`](Writer::close) one level further in.
    pub(crate) fn open(&mut self, line: impl Display) {
        self.line(line);
        self.depth += 1;
    }

    /// A line that ends a level.
    pub(crate) fn close(&mut self, line: impl Display) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Ends a level of a single statement, which has no line for that.
    pub(crate) fn depart(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// A line that ends a level and begins another.
    pub(crate) fn turn(&mut self, line: impl Display) {
        self.close(line);
        self.depth += 1;
    }

    /// An empty text for lines that are so many levels further in.
    pub(crate) fn nested(&self, levels: usize) -> Writer {
        Writer { text: String::new(), depth: self.depth + levels }
    }

    /// Lines of a nested text, as they are.
    pub(crate) fn append(&mut self, nested: &Writer) {
        self.text.push_str(&nested.text);
    }

    /// Whether a name was written.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        mentions(&self.text, name)
    }

    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A comment of one line; what would end it is taken out.
    pub(crate) fn comment(&mut self, text: &str) {
        self.line(format_args!("/* {} */", comment(text)));
    }

    /// The text so far.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Whether a text has a name in it as a word.
fn mentions(text: &str, name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(letter) && !after.is_some_and(letter)
    })
}

/// A text that may stand in a comment, without line breaks and not long.
pub(crate) fn comment(text: &str) -> String {
    /// Characters of a comment at most.
    const MAX_COMMENT: usize = 90;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line = line.replace("*/", "* /").replace("/*", "/ *");
    // No escapes and no trigraphs: a comment is the user's text, whatever it holds.
    line.retain(|c| !c.is_control() && c != '\\');
    if line.chars().count() > MAX_COMMENT {
        line = line.chars().take(MAX_COMMENT - 3).collect::<String>() + "...";
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_cannot_be_ended_from_inside() {
        assert_eq!(comment("a */ b /* c \\ \n d"), "a * / b / * c  d");
        assert_eq!(comment(&"x".repeat(200)).len(), 90);
    }

    #[test]
    fn levels_are_indented() {
        let mut w = Writer::default();
        w.open("{");
        w.line("x;");
        w.line("");
        w.close("}");
        assert_eq!(w.finish(), "{\n    x;\n\n}\n");
    }
}

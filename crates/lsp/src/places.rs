//! Places as editors count them: lines, and UTF-16 units within them.

use cotan_ir::Span;
use lsp_types::{Position, Range};

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub fn new(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines { starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The position of a byte; one within a character is that of its first byte.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = text.get(start..end).unwrap_or_default();
        Position::new(line as u32, before.encode_utf16().count() as u32)
    }

    /// The byte at a position. Beyond the end of a line it is that end, beyond the text its end.
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else { return text.len() };
        let line = text.get(start..).unwrap_or_default();
        let mut units = position.character;
        for (at, c) in line.char_indices() {
            let is_end = c == '\n' || line.get(at..).is_some_and(|rest| rest.starts_with("\r\n"));
            if units == 0 || is_end || units < c.len_utf16() as u32 {
                return start + at;
            }
            units -= c.len_utf16() as u32;
        }
        text.len()
    }

    pub fn range(&self, text: &str, span: Span) -> Range {
        let (start, end) = (span.start as usize, span.end as usize);
        Range::new(self.position(text, start), self.position(text, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_of_utf16() {
        let text = "a\u{1F600}b\nπ = 1\r\n";
        let lines = Lines::new(text);
        let position = |offset| lines.position(text, offset);
        assert_eq!(position(5), Position::new(0, 3));
        assert_eq!(position(2), Position::new(0, 1), "within a character");
        assert_eq!(position(text.len()), Position::new(2, 0));
        let offset = |line, character| lines.offset(text, Position::new(line, character));
        assert_eq!((offset(0, 3), offset(0, 99), offset(1, 1)), (5, 6, 9));
        assert_eq!(offset(0, 2), 1, "between the units of a character");
        assert_eq!((offset(1, 99), offset(7, 0)), (13, text.len()));
        for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at) && at != 14) {
            let there = position(at);
            assert_eq!(lines.offset(text, there), at);
        }
    }
}

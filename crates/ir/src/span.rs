//! Places in source text.
//!
//! A [`Span`] is a range of bytes of one file. It is twelve bytes, so every node can carry one; the
//! texts themselves, and the way from bytes to lines and columns, are in the [`SourceMap`].

use std::ops::Range;

use crate::provenance;
use crate::term::{Program, TermId};

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A half-open range of bytes of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// No place: what was made by the system, not written by anyone.
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    /// The bytes `start..end` of `file`.
    pub const fn new(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    /// A line and a column, from 1, of a file whose text is not known: see [`SourceMap::add_unread`].
    pub const fn at_line(file: FileId, line: u32, column: u32) -> Span {
        Span { file, start: line, end: column }
    }

    /// Is this [`Span::NONE`]?
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    /// The smallest span around both. [`Span::NONE`] adds nothing; of two files the first stays.
    pub fn join(self, other: Span) -> Span {
        if self.is_none() {
            other
        } else if other.file != self.file {
            self
        } else {
            Span::new(self.file, self.start.min(other.start), self.end.max(other.end))
        }
    }

    /// The bytes, as an index into the text of the file.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Default for Span {
    fn default() -> Span {
        Span::NONE
    }
}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

#[derive(Clone, Debug)]
struct SourceFile {
    name: String,
    text: String,
    /// The byte at which each line begins; the first is 0. None if the text is not known: then spans
    /// are lines and columns.
    lines: Vec<u32>,
}

/// The texts that spans point into.
///
/// Bytes are counted in 32 bits: a text of 4 GiB or more is for the reader to refuse.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// A map without files.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a file; the name is what messages show.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let (name, text) = (name.into(), text.into());
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(newlines.map(|(at, _)| (at + 1) as u32)).collect();
        self.files.push(SourceFile { name, text, lines });
        FileId((self.files.len() - 1) as u32)
    }

    /// Adds a file whose text is not known; spans in it are made by [`Span::at_line`].
    pub fn add_unread(&mut self, name: impl Into<String>) -> FileId {
        self.files.push(SourceFile { name: name.into(), text: String::new(), lines: Vec::new() });
        FileId((self.files.len() - 1) as u32)
    }

    /// The name of a file; empty for a file that is not in the map.
    pub fn name(&self, file: FileId) -> &str {
        self.file(file).map_or("", |f| &f.name)
    }

    /// The whole text of a file; empty for a file that is not in the map.
    pub fn text(&self, file: FileId) -> &str {
        self.file(file).map_or("", |f| &f.text)
    }

    /// The text of a span; empty for a span that is not within its file.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or("")
    }

    /// Where a span begins; `None` for a span that is not within its file.
    pub fn position(&self, span: Span) -> Option<Position> {
        let span = provenance::first(span);
        let file = self.file(span.file)?;
        if file.lines.is_empty() {
            return Some(Position { line: span.start, column: span.end });
        }
        let line = file.lines.partition_point(|&begin| begin <= span.start);
        let begin = *file.lines.get(line.checked_sub(1)?)?;
        let before = file.text.get(begin as usize..span.start as usize)?;
        Some(Position { line: line as u32, column: before.chars().count() as u32 + 1 })
    }

    /// The files, in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    fn file(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get(file.0 as usize)
    }
}

/// Where the nodes of a program come from.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// For each node an index into the spans, past their end for none. Nodes past the end of this
    /// have none, either.
    pub(crate) of: Vec<u32>,
    pub(crate) spans: Vec<Span>,
}

impl Spans {
    /// The place of a node in the source.
    pub fn get(&self, t: TermId) -> Span {
        let known = self.of.get(t.index()).and_then(|&n| self.spans.get(n as usize));
        known.copied().unwrap_or(Span::NONE)
    }

    /// The place of a node, or of the last one before it that has one: what a derivative makes is
    /// made for what came before.
    pub fn near(&self, t: TermId) -> Span {
        let before = (0..=t.index() as u32).rev().map(|n| self.get(TermId::new(n)));
        before.into_iter().find(|span| !span.is_none()).unwrap_or(Span::NONE)
    }

    /// Adds to where a node comes from.
    pub(crate) fn add(&mut self, t: TermId, span: Span) {
        let before = self.get(t);
        let joined = provenance::join(before, span);
        if joined == before {
            return;
        }
        if self.of.len() <= t.index() {
            self.of.resize(t.index() + 1, u32::MAX);
        }
        self.spans.push(joined);
        self.of[t.index()] = self.spans.len() as u32 - 1;
    }

    /// Notes where the node after those so far comes from.
    pub(crate) fn note(&mut self, t: TermId, span: Span) {
        if span == Span::NONE {
            return;
        }
        if self.spans.last() != Some(&span) {
            self.spans.push(span);
        }
        self.of.resize(t.index(), u32::MAX);
        self.of.push(self.spans.len() as u32 - 1);
    }
}

impl Program {
    /// The same program, whose nodes come from other places of other texts.
    pub fn with_places(
        mut self,
        sources: std::sync::Arc<SourceMap>,
        mut place: impl FnMut(Span) -> Span,
    ) -> Program {
        self.arena.spans.spans.iter_mut().for_each(|span| *span = place(*span));
        self.sources = sources;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Option<Position> {
        Some(Position { line, column })
    }

    #[test]
    fn columns_count_characters() {
        let mut map = SourceMap::new();
        map.add("first", "x");
        let file = map.add("second", "ab\nåß√d\n");
        let place = |start| map.position(Span::new(file, start, start));
        assert_eq!(place(0), at(1, 1));
        assert_eq!(place(2), at(1, 3), "the newline belongs to the line it ends");
        assert_eq!(place(3), at(2, 1));
        assert_eq!(place(10), at(2, 4), "two, two and three bytes are three characters");
        assert_eq!(place(12), at(3, 1), "the end of the text");
        assert_eq!(place(13), None);
        assert_eq!(place(4), None, "the middle of a character");
    }

    #[test]
    fn files_that_were_not_read_have_lines() {
        let mut map = SourceMap::new();
        let file = map.add_unread("main.rs");
        assert_eq!(map.position(Span::at_line(file, 12, 5)), at(12, 5));
        assert_eq!(map.slice(Span::at_line(file, 0, 0)), "");
    }

    #[test]
    fn slices_within_the_file_only() {
        let mut map = SourceMap::new();
        let file = map.add("f", "let x");
        assert_eq!(map.slice(Span::new(file, 4, 5)), "x");
        assert_eq!(map.slice(Span::new(file, 4, 6)), "");
        assert_eq!(map.slice(Span::NONE), "");
        assert_eq!((map.name(file), map.text(file)), ("f", "let x"));
        assert_eq!(map.files().collect::<Vec<_>>(), [file]);
    }

    #[test]
    fn join_covers_both() {
        let (f, g) = (FileId(0), FileId(1));
        let (a, b) = (Span::new(f, 3, 5), Span::new(f, 1, 4));
        assert_eq!(a.join(b), Span::new(f, 1, 5));
        assert_eq!(Span::NONE.join(a), a);
        assert_eq!(a.join(Span::NONE), a);
        assert_eq!(a.join(Span::new(g, 0, 9)), a);
        assert!(Span::default().is_none());
    }
}

//! Messages as text: the lines they are about, with the places marked.

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
};
use cotan_ir::span::Position;
use cotan_ir::{FileId, SourceMap, Span};

use crate::diagnostic::{Diagnostic, Diagnostics, Label, Severity};

/// How many bytes of text a message shows in one piece.
const MOST_TEXT: usize = 8 << 10;

/// With or without colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Nothing but characters.
    #[default]
    Plain,
    /// Colours by ANSI escape sequences.
    Colour,
}

/// Shows one message.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let code = diagnostic.code.to_string();
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(&code));
    // One snippet per file; the file of the primary place comes first.
    for file in files(diagnostic) {
        for element in places(diagnostic, file, sources) {
            group = group.element(element);
        }
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note));
    }
    for hint in &diagnostic.hints {
        group = group.element(Level::HELP.message(hint));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// Shows all messages, with an empty line between them.
pub fn render_all(diagnostics: &Diagnostics, sources: &SourceMap, style: Style) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text += &render(diagnostic, sources, style);
        text += "\n\n";
    }
    if diagnostics.dropped() > 0 {
        text += &format!("… and {} more\n", diagnostics.dropped());
    }
    text
}

fn labels(diagnostic: &Diagnostic) -> impl Iterator<Item = (AnnotationKind, &Label)> {
    let secondary = diagnostic.secondary.iter().map(|label| (AnnotationKind::Context, label));
    std::iter::once((AnnotationKind::Primary, &diagnostic.primary)).chain(secondary)
}

fn files(diagnostic: &Diagnostic) -> Vec<FileId> {
    let mut files = Vec::new();
    for (_, label) in labels(diagnostic) {
        if !label.span.is_none() && !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
}

/// The marked lines of one file: all in one piece if they are not far apart.
fn places<'a>(
    diagnostic: &'a Diagnostic,
    file: FileId,
    sources: &'a SourceMap,
) -> Vec<Element<'a>> {
    let here: Vec<_> = labels(diagnostic).filter(|(_, label)| label.span.file == file).collect();
    match snippet(&here, sources) {
        Some(snippet) => vec![snippet.into()],
        None => here.iter().filter_map(|label| place(*label, sources)).collect(),
    }
}

/// The line of one label, or only its position if that line is too long to be looked at.
fn place<'a>(label: (AnnotationKind, &'a Label), sources: &'a SourceMap) -> Option<Element<'a>> {
    if let Some(snippet) = snippet(&[label], sources) {
        return Some(snippet.into());
    }
    let span = label.1.span;
    let Position { line, column } = sources.position(span)?;
    let name = sources.name(span.file);
    Some(Origin::path(name).line(line as usize).char_column(column as usize).into())
}

/// The lines from the first to the last of some labels of one file. Only these are handed on, so the
/// cost does not depend on the size of the file; `None` if they are more than [`MOST_TEXT`].
fn snippet<'a>(
    labels: &[(AnnotationKind, &'a Label)],
    sources: &'a SourceMap,
) -> Option<Snippet<'a, Annotation<'a>>> {
    let around = labels.iter().fold(Span::NONE, |all, (_, label)| all.join(label.span));
    let text = sources.text(around.file);
    let (before, after) = (text.get(..around.start as usize)?, text.get(around.end as usize..)?);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = after.find('\n').map_or(text.len(), |newline| around.end as usize + newline);
    let lines = text.get(start..end).filter(|lines| lines.len() <= MOST_TEXT)?;
    let annotations = labels.iter().map(|(kind, label)| {
        let range = label.span.start as usize - start..label.span.end as usize - start;
        kind.span(range).label((!label.text.is_empty()).then_some(label.text.as_str()))
    });
    Some(
        Snippet::source(lines)
            .line_start(sources.position(around)?.line as usize)
            .path(sources.name(around.file))
            .annotations(annotations),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    #[test]
    fn shows_both_places_and_what_to_do() {
        let mut sources = SourceMap::new();
        let file = sources.add("main.ct", "# before\ndef f(x: f64) =\n  g(x\n# after\n");
        let message = Diagnostic::new(Code::UnclosedBracket, Span::new(file, 28, 29), "unclosed")
            .also(Span::new(file, 9, 14), "in this definition")
            .label("opened here")
            .note("a fact")
            .hint("add `)`");
        let plain = render(&message, &sources, Style::Plain);
        insta::assert_snapshot!(plain, @r"
        error[E0006]: unclosed
         --> main.ct:3:4
          |
        2 | def f(x: f64) =
          | ----- in this definition
        3 |   g(x
          |    ^ opened here
          |
          = note: a fact
          = help: add `)`
        ");
        let coloured = render(&message, &sources, Style::Colour);
        assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'));
    }

    #[test]
    fn far_places_are_shown_apart_and_endless_lines_not_at_all() {
        let mut sources = SourceMap::new();
        let text =
            format!("first\n{}last\n{}\n", "\n".repeat(MOST_TEXT), "x".repeat(MOST_TEXT + 1));
        let last = 6 + MOST_TEXT as u32;
        let file = sources.add("main.ct", text);
        let message =
            Diagnostic::new(Code::UnexpectedToken, Span::new(file, last, last + 4), "far")
                .also(Span::new(file, 0, 5), "one")
                .also(Span::new(file, last + 9, last + 10), "other");
        insta::assert_snapshot!(render(&message, &sources, Style::Plain), @r"
        error[E0005]: far
            --> main.ct:8194:1
             |
        8194 | last
             | ^^^^
             |
            ::: main.ct:1:1
             |
           1 | first
             | ----- one
            ::: main.ct:8195:5
        ");
    }

    #[test]
    fn a_message_without_a_place_is_only_words() {
        let message = Diagnostic::new(Code::UnexpectedToken, Span::NONE, "nothing to show");
        let shown = render(&message, &SourceMap::new(), Style::Plain);
        assert_eq!(shown, "error[E0005]: nothing to show");
    }
}

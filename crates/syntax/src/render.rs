//! Messages as text: the lines they are about, with the places marked.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use cotan_ir::{FileId, SourceMap, Span};

use crate::diagnostic::{Diagnostic, Diagnostics, Label, Severity};

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
    };
    let code = diagnostic.code.to_string();
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(&code));
    // One snippet per file; the file of the primary place comes first.
    for file in files(diagnostic) {
        if let Some(snippet) = snippet(diagnostic, file, sources) {
            group = group.element(snippet);
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

/// The marked lines of one file. Only the lines from the first to the last label are handed on, so
/// the cost does not depend on the size of the file.
fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    file: FileId,
    sources: &'a SourceMap,
) -> Option<Snippet<'a, Annotation<'a>>> {
    let here = || labels(diagnostic).filter(move |(_, label)| label.span.file == file);
    let around = here().fold(Span::NONE, |all, (_, label)| all.join(label.span));
    let text = sources.text(file);
    let (before, after) = (text.get(..around.start as usize)?, text.get(around.end as usize..)?);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = after.find('\n').map_or(text.len(), |newline| around.end as usize + newline);
    let annotations = here().map(|(kind, label)| {
        let range = label.span.start as usize - start..label.span.end as usize - start;
        kind.span(range).label((!label.text.is_empty()).then_some(label.text.as_str()))
    });
    Some(
        Snippet::source(text.get(start..end)?)
            .line_start(sources.position(around)?.line as usize)
            .path(sources.name(file))
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
    fn a_message_without_a_place_is_only_words() {
        let message = Diagnostic::new(Code::UnexpectedToken, Span::NONE, "nothing to show");
        let shown = render(&message, &SourceMap::new(), Style::Plain);
        assert_eq!(shown, "error[E0005]: nothing to show");
    }
}

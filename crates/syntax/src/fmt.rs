//! The formatter.
//!
//! One layout for every program, in lines of 100 characters: comments stay, empty lines between
//! declarations and between bindings stay (at most one), parentheses stay. The formatted text says
//! the same as the text did, and formatting it again changes nothing.
//!
//! The tree is written as events in the order of the text (`layout`). A comment is written just
//! before the first token that followed it, so it stays between the same two tokens.

mod expr;
mod item;
mod layout;

use cotan_ir::{FileId, Span};

use crate::ast::{Module, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::lex::is_plain_name;
use crate::parse;
use layout::{Breaks, Event, Space};

/// Formats the text of a file.
///
/// # Errors
/// The errors of a text that does not parse.
pub fn format(file: FileId, text: &str) -> Result<String, Diagnostics> {
    let parsed = parse(file, text);
    if parsed.diagnostics.has_errors() {
        return Err(parsed.diagnostics);
    }
    let formatted = format_module(&parsed.module, text);
    let again = parse(file, &formatted);
    if again.diagnostics.has_errors() || !again.module.same_meaning(&parsed.module) {
        let message = "formatting would have changed what this file says";
        let diagnostic = Diagnostic::new(Code::Internal, Span::new(file, 0, 0), message);
        return Err(diagnostic.hint("the file is unchanged; please report it").into());
    }
    Ok(formatted)
}

fn format_module(module: &Module, text: &str) -> String {
    let mut printer = Printer { module, text, next_comment: 0, events: Vec::new() };
    printer.module();
    layout::lay_out(&printer.events)
}

struct Printer<'m> {
    module: &'m Module,
    text: &'m str,
    /// The first comment that is not yet written.
    next_comment: usize,
    events: Vec<Event<'m>>,
}

impl<'m> Printer<'m> {
    // Events.

    fn put(&mut self, text: &'m str) {
        self.events.push(Event::Text(text));
    }

    /// A space or a newline.
    fn line(&mut self) {
        self.events.push(Event::Line(Space::One));
    }

    /// Nothing or a newline.
    fn soft_line(&mut self) {
        self.events.push(Event::Line(Space::None));
    }

    fn group(&mut self, breaks: Breaks, content: impl FnOnce(&mut Self)) {
        self.events.push(Event::Open(breaks));
        content(self);
        self.events.push(Event::Close);
    }

    fn indented(&mut self, content: impl FnOnce(&mut Self)) {
        self.events.push(Event::Indent);
        content(self);
        self.events.push(Event::Dedent);
    }

    // Tokens that have a place in the source.

    /// A token that stands at `start`.
    fn token(&mut self, start: u32, text: &'m str) {
        self.comments_before(start);
        self.put(text);
    }

    fn name(&mut self, start: u32, name: &'m Name) {
        self.comments_before(start);
        let plain = is_plain_name(name);
        self.events.push(if plain { Event::Text(name) } else { Event::Quoted(name) });
    }

    /// Begins a new line for what stands at `start`.
    fn new_line(&mut self, start: u32) {
        self.comments_before(start);
        self.events.push(Event::HardLine { blank: self.blank_before(start) });
    }

    /// A list in brackets; `span` ends with the closing one.
    fn list<T>(
        &mut self,
        brackets: (&'m str, &'m str),
        end: u32,
        breaks: Breaks,
        items: &'m [T],
        mut item: impl FnMut(&mut Self, &'m T),
    ) {
        self.put(brackets.0);
        self.group(breaks, |printer| {
            printer.indented(|printer| {
                for (at, element) in items.iter().enumerate() {
                    if at == 0 {
                        printer.soft_line();
                    } else {
                        printer.put(",");
                        printer.line();
                    }
                    item(printer, element);
                }
                printer.comments_before(end);
            });
            printer.soft_line();
        });
        self.put(brackets.1);
    }

    // Comments.

    /// Writes the comments that stand before the byte `end`.
    fn comments_before(&mut self, end: u32) {
        // Only the first can share its line with the token before it.
        let mut first = true;
        while let Some(comment) = self.module.comments.get(self.next_comment)
            && comment.span.start < end
        {
            let start = comment.span.start;
            let trailing = first && !self.begins_line(start);
            let text = self.text.get(comment.span.range()).unwrap_or("");
            let blank = self.blank_before(start);
            self.events.push(Event::Comment { text, trailing, blank });
            self.next_comment += 1;
            first = false;
        }
    }

    /// The white space before a byte.
    fn space_before(&self, start: u32) -> &'m str {
        let before = self.text.get(..start as usize).unwrap_or("");
        before.get(before.trim_end().len()..).unwrap_or("")
    }

    fn begins_line(&self, start: u32) -> bool {
        let space = self.space_before(start);
        space.contains('\n') || space.len() == start as usize
    }

    fn blank_before(&self, start: u32) -> bool {
        self.space_before(start).matches('\n').count() > 1
    }
}

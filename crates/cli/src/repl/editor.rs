//! The line editor: history, completion, colours, and lines that belong together.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use cotan_ir::SourceMap;
use cotan_syntax::lex::{TokenKind, lex};
use cotan_syntax::{Diagnostics, builtins};
use rustyline::completion::{Completer, Pair};
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Helper};

use super::commands;
use super::input::{self, Completeness};
use crate::failure::{Failure, Outcome};
use crate::folders;

/// How many lines are remembered.
const HISTORY: usize = 1000;

/// What was read.
pub enum Read {
    Text(String),
    /// Ctrl-C: what was typed is forgotten.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// A terminal with a line editor.
pub struct Editor {
    lines: rustyline::Editor<Knowledge, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Editor {
    pub fn new(colours: bool) -> Outcome<Editor> {
        let failed =
            |e: ReadlineError| Failure::data(format_args!("the terminal cannot be used: {e}"));
        let config = Config::builder()
            .max_history_size(HISTORY)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(failed)?
            .completion_type(CompletionType::List)
            .bell_style(BellStyle::None)
            .color_mode(if colours { ColorMode::Enabled } else { ColorMode::Disabled })
            .build();
        let mut lines = rustyline::Editor::with_config(config).map_err(failed)?;
        lines.set_helper(Some(Knowledge { names: Vec::new() }));
        let history = folders::history();
        if let Some(file) = &history {
            // There is none the first time.
            let _ = lines.load_history(file);
        }
        Ok(Editor { lines, history })
    }

    /// Sets the names that can be completed, besides those of the language.
    pub fn know(&mut self, names: Vec<String>) {
        if let Some(knowledge) = self.lines.helper_mut() {
            knowledge.names = names;
        }
    }

    pub fn read(&mut self, prompt: &str) -> Outcome<Read> {
        match self.lines.readline(prompt) {
            Ok(text) => {
                if !text.trim().is_empty() {
                    // A history that cannot grow is no reason to stop.
                    let _ = self.lines.add_history_entry(text.trim_end());
                }
                Ok(Read::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Read::Interrupted),
            Err(ReadlineError::Eof) => Ok(Read::End),
            Err(error) => Err(Failure::data(format_args!("the terminal cannot be read: {error}"))),
        }
    }

    /// Writes the history to its file; without a place for it, it is forgotten.
    pub fn close(mut self) {
        if let Some(file) = &self.history {
            if let Some(folder) = file.parent() {
                let _ = fs::create_dir_all(folder);
            }
            let _ = self.lines.save_history(file);
        }
    }
}

/// What the editor knows about the language.
struct Knowledge {
    names: Vec<String>,
}

impl Helper for Knowledge {}

impl Hinter for Knowledge {
    type Hint = String;
}

impl Validator for Knowledge {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        // The line is about to end.
        Ok(match input::completeness(&format!("{}\n", ctx.input())) {
            Completeness::Whole => ValidationResult::Valid(None),
            Completeness::Open => ValidationResult::Incomplete,
        })
    }
}

impl Completer for Knowledge {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _ctx: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..pos).unwrap_or(line);
        Ok(self.candidates(before))
    }
}

impl Knowledge {
    /// Where the word before the cursor begins, and what it may become.
    fn candidates(&self, before: &str) -> (usize, Vec<Pair>) {
        let word_start = |is_part: fn(char) -> bool| {
            let word = before.chars().rev().take_while(|&c| is_part(c));
            before.len() - word.map(char::len_utf8).sum::<usize>()
        };
        if before.starts_with(':') && !before.contains(' ') {
            let names = commands::names().map(str::to_owned);
            return (0, pairs(before, names));
        }
        if commands::takes_file(before) {
            let start = word_start(|c| !c.is_whitespace());
            return (start, pairs(&before[start..], files(&before[start..]).into_iter()));
        }
        let start = word_start(|c| c.is_alphanumeric() || c == '_' || c == '\'');
        let prefix = &before[start..];
        if prefix.is_empty() {
            return (start, Vec::new());
        }
        let of_language = builtins().iter().map(|builtin| builtin.name.to_owned());
        let all = self.names.iter().cloned().chain(of_language).chain(keywords());
        (start, pairs(prefix, all))
    }
}

fn keywords() -> impl Iterator<Item = String> {
    const KEYWORDS: [&str; 13] = [
        "and", "build", "def", "else", "false", "if", "import", "let", "not", "then", "true",
        "type", "with",
    ];
    KEYWORDS.into_iter().map(str::to_owned)
}

fn pairs(prefix: &str, names: impl Iterator<Item = String>) -> Vec<Pair> {
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names.dedup();
    names.into_iter().map(|name| Pair { display: name.clone(), replacement: name }).collect()
}

/// The programs and folders that a path may become.
fn files(prefix: &str) -> Vec<String> {
    let folder = prefix.rfind('/').map_or("", |at| &prefix[..=at]);
    let within = if folder.is_empty() { "." } else { folder };
    let Ok(entries) = fs::read_dir(within) else { return Vec::new() };
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.path().is_dir();
        let wanted = (is_folder || name.ends_with(".ct")) && !name.starts_with('.');
        wanted.then(|| format!("{folder}{name}{}", if is_folder { "/" } else { "" }))
    };
    entries.filter_map(|entry| name(entry.ok()?)).collect()
}

impl Highlighter for Knowledge {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        Cow::Owned(coloured(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1;32m{prompt}\x1b[0m"))
    }

    fn highlight_char(&self, _line: &str, _pos: usize, _kind: CmdKind) -> bool {
        true
    }
}

/// A text with its keywords, numbers and comments in colours.
fn coloured(line: &str) -> String {
    if line.starts_with(':') {
        let end = line.find(' ').unwrap_or(line.len());
        let (command, rest) = line.split_at(end);
        return format!("\x1b[36m{command}\x1b[0m{}", coloured(rest));
    }
    let file = SourceMap::new().add("input", line);
    let lexed = lex(file, line, &mut Diagnostics::new());
    let comments = lexed.comments.iter().map(|c| (c.span.start, c.span.end, "90"));
    let words = lexed.tokens.iter().filter_map(|token| {
        let colour = match token.kind {
            TokenKind::Number => "33",
            TokenKind::Text => "32",
            kind if is_keyword(kind, line.get(token.start as usize..token.end as usize)) => "35",
            _ => return None,
        };
        Some((token.start, token.end, colour))
    });
    let mut parts: Vec<(u32, u32, &str)> = comments.chain(words).collect();
    parts.sort_unstable();
    let (mut text, mut at) = (String::new(), 0);
    for (start, end, colour) in parts {
        let (start, end) = (start as usize, end as usize);
        let (Some(before), Some(part)) = (line.get(at..start), line.get(start..end)) else {
            continue;
        };
        text += before;
        text += &format!("\x1b[{colour}m{part}\x1b[0m");
        at = end;
    }
    text + line.get(at..).unwrap_or_default()
}

/// Whether a token is a word that is no name.
fn is_keyword(kind: TokenKind, text: Option<&str>) -> bool {
    let word = text.is_some_and(|text| text.starts_with(|c: char| c.is_ascii_lowercase()));
    word && kind != TokenKind::Name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let knowledge = Knowledge { names: vec!["loss".into(), "log_loss".into()] };
        let names = |before: &str| -> (usize, Vec<String>) {
            let (start, pairs) = knowledge.candidates(before);
            (start, pairs.into_iter().map(|pair| pair.replacement).collect())
        };
        let (start, found) = names("1 + lo");
        assert_eq!(start, 4);
        assert!(
            found.contains(&"loss".to_owned()) && found.contains(&"log".to_owned()),
            "{found:?}"
        );
        assert_eq!(names(":ty"), (0, vec![":type".to_owned()]));
        assert_eq!(names("1 + "), (4, Vec::new()));
        assert_eq!(names("é + los").1, ["loss"]);
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        for text in ["let x = 1.5 in x # é", "def f(é", ":type if true", "\"abc", ""] {
            let mut plain = String::new();
            let mut rest = coloured(text);
            while let Some(at) = rest.find('\x1b') {
                plain += &rest[..at];
                let end = rest[at..].find('m').unwrap();
                rest = rest[at + end + 1..].to_owned();
            }
            assert_eq!(plain + &rest, text);
        }
        assert_eq!(coloured("1 + x"), "\x1b[33m1\x1b[0m + x");
    }
}

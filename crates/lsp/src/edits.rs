//! Changes of texts: formatting, other names, and what the hints of messages say.

use std::path::{Path, PathBuf};

use cotan_ir::Span;
use cotan_syntax::lex::is_plain_name;
use cotan_syntax::{Diagnostic, format};
use lsp_types::{Range, TextEdit, Uri};

use crate::document::{Document, FILE, Texts, is_builtin, uri_of};
use crate::hover::{elsewhere, name_of};
use crate::names::{Occurrence, Target};
use crate::places::Lines;

/// More files beside a program are not searched for its names.
const MOST_FILES: usize = 500;

/// The edits that format a file; none if it has errors.
pub fn formatting(document: &Document) -> Option<Vec<TextEdit>> {
    let formatted = format(FILE, &document.text).ok()?;
    let (old, new) = (&*document.text, formatted.as_str());
    if old == new {
        return Some(Vec::new());
    }
    // Only the lines that differ, so that cursors elsewhere stay.
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |(a, b): &(&&str, &&str)| a == b;
    let first = old_lines.iter().zip(&new_lines).take_while(same).count();
    let rest = old_lines.len().min(new_lines.len()) - first;
    let last =
        old_lines.iter().rev().zip(new_lines.iter().rev()).take(rest).take_while(same).count();
    let middle = |lines: &[&str]| lines.get(first..lines.len() - last).unwrap_or_default().concat();
    let start: usize = old_lines.iter().take(first).map(|line| line.len()).sum();
    let end = start + middle(&old_lines).len();
    let range = Range::new(document.lines.position(old, start), document.lines.position(old, end));
    Some(vec![TextEdit { range, new_text: middle(&new_lines) }])
}

/// What a name stands for, in whatever file: the file, and the place there.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    file: PathBuf,
    place: Span,
}

fn meaning(name: &Occurrence, document: &Document, texts: &Texts) -> Option<Meaning> {
    match &name.target {
        Target::Here(place) => Some(Meaning { file: document.path.clone(), place: *place }),
        target => {
            let found = elsewhere(target, document, texts)?;
            let place = found.place()?;
            Some(Meaning { file: PathBuf::from(found.file), place })
        }
    }
}

/// Places in one file.
pub struct Places {
    pub uri: Uri,
    pub ranges: Vec<Range>,
}

/// Everywhere that the name at a byte is used: in this file, and if it is a declaration, in all files
/// beside it and below that import it.
pub fn references(
    document: &Document,
    offset: usize,
    texts: &Texts,
    with_definition: bool,
) -> Option<Vec<Places>> {
    let name = document.name_at(offset)?;
    let Some(wanted) = meaning(name, document, texts) else {
        // Builtins and names without meaning: only here.
        let same = |o: &&Occurrence| o.target == name.target;
        let here = document.occurrences().iter().filter(same);
        return Some(vec![places(document, here)]);
    };
    let mut found = Vec::new();
    for other in files(document, &wanted, texts) {
        let uses: Vec<&Occurrence> = other
            .occurrences()
            .iter()
            .filter(|o| o.name == name.name && (with_definition || !o.defines))
            .filter(|o| meaning(o, &other, texts).as_ref() == Some(&wanted))
            .collect();
        if !uses.is_empty() {
            found.push(places(&other, uses.into_iter()));
        }
    }
    Some(found)
}

fn places<'o>(document: &Document, names: impl Iterator<Item = &'o Occurrence>) -> Places {
    let range = |o: &Occurrence| document.lines.range(&document.text, o.span);
    Places { uri: document.uri.clone(), ranges: names.map(range).collect() }
}

/// The files in which a meaning may occur: its own, and all around if it is a declaration there.
fn files(document: &Document, wanted: &Meaning, texts: &Texts) -> Vec<Document> {
    let copy = |document: &Document| {
        Document::new(document.uri.clone(), document.version, document.text.to_string())
    };
    let is_own = |at: Span| {
        let mut items = document.parsed.module.items.iter();
        items.any(|item| name_of(item).is_some_and(|name| name.span == at))
    };
    if wanted.file == document.path && !is_own(wanted.place) {
        return vec![copy(document)];
    }
    let folder = document.path.parent().unwrap_or(Path::new("."));
    let mut paths: Vec<PathBuf> = texts.keys().cloned().collect();
    paths.push(wanted.file.clone());
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < 3 => folders.push((path, depth + 1)),
                Ok(_) if path.extension().is_some_and(|extension| extension == "ct") => {
                    paths.push(path);
                }
                _ => {}
            }
        }
        if paths.len() + folders.len() > MOST_FILES {
            break;
        }
    }
    paths.sort();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        if path == document.path {
            found.push(copy(document));
            continue;
        }
        let text = match texts.get(&path) {
            Some(text) => Some(text.to_string()),
            None => read(&path).filter(|text| text.contains("import") || path == wanted.file),
        };
        if let Some((text, uri)) = text.zip(uri_of(&path)) {
            found.push(Document::new(uri, 0, text));
        }
    }
    found
}

/// The text of a file of the file system, unless it is too long to be a program that someone edits.
fn read(path: &Path) -> Option<String> {
    let length = std::fs::metadata(path).ok()?.len();
    if length > 1 << 20 { None } else { std::fs::read_to_string(path).ok() }
}

/// Gives the name at a byte another name, or says why that cannot be.
pub fn rename(
    document: &Document,
    offset: usize,
    new: &str,
    texts: &Texts,
) -> Result<Vec<(Uri, Vec<TextEdit>)>, String> {
    let Some(name) = document.name_at(offset) else {
        return Err("there is no name here".to_owned());
    };
    if !is_plain_name(new) {
        return Err(format!("`{new}` is not a name"));
    }
    if meaning(name, document, texts).is_none() {
        return Err(format!("`{}` is not defined in these files", name.name));
    }
    if is_builtin(new) {
        return Err(format!("`{new}` is a function of the language"));
    }
    let found = references(document, offset, texts, true).unwrap_or_default();
    let mut edits = Vec::new();
    for Places { uri, ranges } in found {
        let text = match (uri == document.uri, texts.get(&crate::document::path_of(&uri))) {
            (true, _) => document.text.to_string(),
            (false, Some(text)) => text.to_string(),
            (false, None) => {
                std::fs::read_to_string(crate::document::path_of(&uri)).unwrap_or_default()
            }
        };
        if uses(&text, new) {
            return Err(format!("`{new}` is a name already, in {}", uri.as_str()));
        }
        let edit = |range: Range| TextEdit { range, new_text: new.to_owned() };
        edits.push((uri, ranges.into_iter().map(edit).collect()));
    }
    Ok(edits)
}

/// Whether a word occurs as a name in a text.
fn uses(text: &str, word: &str) -> bool {
    let tokens = cotan_syntax::lex::lex(FILE, text, &mut cotan_syntax::Diagnostics::new()).tokens;
    tokens.iter().any(|token| text.get(token.start as usize..token.end as usize) == Some(word))
}

/// A change that a hint of a message asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub title: String,
    pub range: Range,
    pub new: String,
}

/// What the hints of a message can do by themselves.
pub fn fixes(diagnostic: &Diagnostic, text: &str, lines: &Lines) -> Vec<Fix> {
    let span = diagnostic.primary.span;
    if span.file != FILE {
        return Vec::new();
    }
    let written = text.get(span.range()).unwrap_or_default();
    let mut fixes = Vec::new();
    for hint in &diagnostic.hints {
        let Some(new) = replacement(hint, written) else { continue };
        fixes.push(Fix {
            title: format!("Replace `{written}` by `{new}`"),
            range: lines.range(text, span),
            new,
        });
    }
    fixes
}

/// What stands instead of what is written, if a hint says so.
fn replacement(hint: &str, written: &str) -> Option<String> {
    let quoted = |rest: &str| Some(rest.split_once('`')?.0.to_owned());
    if let Some(rest) = hint.strip_prefix("did you mean `") {
        let near = quoted(rest)?;
        let is_word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_'.".contains(c));
        return (is_word(&near) && is_word(written)).then_some(near);
    }
    match (written, hint) {
        ("^", hint) if hint.contains("powers are written `**`") => Some("**".to_owned()),
        _ => None,
    }
}

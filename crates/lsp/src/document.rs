//! Open files.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotan_ir::FileId;
use cotan_syntax::{FileLoader, Loader, Parsed, builtins, parse};
use lsp_types::{TextDocumentContentChangeEvent, Uri};
use rustc_hash::FxHashSet;

use crate::names::{Occurrence, occurrences};
use crate::places::Lines;

/// Texts by path, as they are in the editor.
pub type Texts = Arc<BTreeMap<PathBuf, Arc<str>>>;

/// The id of the file that is asked about: the entry file comes first.
pub const FILE: FileId = FileId(0);

/// A file as it is in the editor.
#[derive(Debug)]
pub struct Document {
    pub uri: Uri,
    pub path: PathBuf,
    pub version: i32,
    pub text: Arc<str>,
    pub lines: Lines,
    pub parsed: Parsed,
    occurrences: OnceCell<Vec<Occurrence>>,
}

impl Document {
    pub fn new(uri: Uri, version: i32, text: String) -> Document {
        let path = path_of(&uri);
        let parsed = parse(FILE, &text);
        let lines = Lines::new(&text);
        Document {
            uri,
            path,
            version,
            text: text.into(),
            lines,
            parsed,
            occurrences: OnceCell::new(),
        }
    }

    /// The same file after changes.
    pub fn changed(&self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> Document {
        let (mut text, mut lines) = (self.text.to_string(), self.lines.clone());
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    let start = lines.offset(&text, range.start);
                    let end = lines.offset(&text, range.end).max(start);
                    text.replace_range(start..end, &change.text);
                }
            }
            lines = Lines::new(&text);
        }
        Document::new(self.uri.clone(), version, text)
    }

    /// All names of the file.
    pub fn occurrences(&self) -> &[Occurrence] {
        self.occurrences.get_or_init(|| occurrences(&self.parsed.module, &is_builtin))
    }

    /// The name at a byte, or just before it.
    pub fn name_at(&self, offset: usize) -> Option<&Occurrence> {
        let touches =
            |o: &&Occurrence| o.span.start as usize <= offset && offset <= o.span.end as usize;
        let all = self.occurrences();
        // Spans do not overlap: of two that touch, the later one begins at the byte.
        let after = all.partition_point(|o| o.span.start as usize <= offset);
        all.get(..after).and_then(<[Occurrence]>::last).filter(touches)
    }
}

/// Whether the language has a function or constant of this name.
pub fn is_builtin(name: &str) -> bool {
    use std::sync::LazyLock;
    static NAMES: LazyLock<FxHashSet<&'static str>> =
        LazyLock::new(|| builtins().iter().map(|builtin| builtin.name).collect());
    NAMES.contains(name)
}

/// Files as they are in the editor, others from the file system.
pub struct Open {
    entry: String,
    text: Arc<str>,
    texts: Texts,
    files: FileLoader,
}

impl Open {
    pub fn new(entry: &Path, text: Arc<str>, texts: Texts) -> Open {
        let mut files = FileLoader::new(entry);
        let path = std::env::var_os("COTAN_PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path).filter(|folder| folder.is_dir()) {
            files = match files.clone().include(&folder) {
                Ok(more) => more,
                Err(_) => files,
            };
        }
        let entry = files.resolve(None, &entry.to_string_lossy());
        Open { entry, text, texts, files }
    }

    /// The name of the entry file.
    pub fn entry(&self) -> &str {
        &self.entry
    }
}

impl Loader for Open {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        self.files.resolve(from, path)
    }

    fn read(&self, file: &str) -> Result<String, String> {
        match self.texts.get(Path::new(file)) {
            _ if file == self.entry => Ok(self.text.to_string()),
            Some(text) => Ok(text.to_string()),
            None => self.files.read(file),
        }
    }

    fn hint(&self, file: &str) -> &str {
        self.files.hint(file)
    }
}

/// The path of a file that an editor names. What is no file, such as a text that was never saved, has
/// its whole name as a path: it can be looked at, but imports nothing.
pub fn path_of(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    let Some(rest) = text.strip_prefix("file://") else { return PathBuf::from(text) };
    // An authority is a machine in a network, which Windows knows.
    let path = match rest.find('/') {
        Some(0) => rest.to_owned(),
        _ => format!("//{rest}"),
    };
    let decoded = decode(&path);
    // `/C:/folder`
    let drive = decoded.as_bytes().get(2) == Some(&b':') && decoded.starts_with('/');
    match (drive, cfg!(windows)) {
        (true, true) => PathBuf::from(decoded.trim_start_matches('/')),
        _ => PathBuf::from(decoded),
    }
}

/// The name of a file as editors write it.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str()?;
    if text.contains("://") || text.starts_with("untitled:") {
        return text.parse().ok();
    }
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() };
    let rooted = if text.starts_with('/') { text } else { format!("/{text}") };
    let mut uri = String::from("file://");
    for byte in rooted.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri.parse().ok()
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex.filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(value.unwrap_or(byte));
        at += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_survive_their_way_to_the_editor() {
        for path in ["/a/b.ct", "/with space/é#?%.ct", "/a:b.ct"] {
            assert_eq!(path_of(&uri_of(Path::new(path)).unwrap()), PathBuf::from(path));
        }
        let untitled: Uri = "untitled:Untitled-1".parse().unwrap();
        assert_eq!(uri_of(&path_of(&untitled)), Some(untitled));
    }

    #[test]
    fn changes_are_made_one_after_the_other() {
        let uri: Uri = "file:///a.ct".parse().unwrap();
        let document = Document::new(uri, 1, "def f() = 1\n".to_owned());
        let at = |a, b| {
            lsp_types::Range::new(lsp_types::Position::new(0, a), lsp_types::Position::new(0, b))
        };
        let change = |range, text: &str| TextDocumentContentChangeEvent {
            range: Some(range),
            range_length: None,
            text: text.to_owned(),
        };
        let changes =
            vec![change(at(10, 11), "22"), change(at(4, 5), "gg"), change(at(99, 0), "!")];
        assert_eq!(&*document.changed(2, changes).text, "def gg() = 22!\n");
    }
}

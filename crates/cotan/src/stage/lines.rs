//! The lines of Rust that nodes come from.
//!
//! A span says a file, a line and a column. Files are numbered once for the whole process, as nodes go
//! from one stage to another.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use cotan_ir::{FileId, Program, SourceMap, Span};

/// The files so far, and the map of them that programs have.
static FILES: Mutex<(Vec<String>, Option<Arc<SourceMap>>)> = Mutex::new((Vec::new(), None));

thread_local! {
    /// The file of the last place on this thread: mostly that of the next.
    static LAST: RefCell<Option<(&'static str, FileId)>> = const { RefCell::new(None) };
}

/// A place as a span.
pub(super) fn span_of(location: &'static Location<'static>) -> Span {
    let name = location.file();
    let last = LAST.with(|last| *last.borrow());
    let file = match last {
        Some((before, file)) if std::ptr::eq(before, name) => file,
        _ => {
            let file = number(name);
            LAST.with(|last| *last.borrow_mut() = Some((name, file)));
            file
        }
    };
    Span::at_line(file, location.line(), location.column())
}

fn number(name: &str) -> FileId {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = files.0.iter().position(|file| file == name);
    let n = found.unwrap_or_else(|| {
        files.0.push(name.to_owned());
        files.1 = None;
        files.0.len() - 1
    });
    FileId(n as u32)
}

/// A program of another front end, whose nodes keep the lines that they have there.
pub(crate) fn of_text(program: &Program) -> Program {
    let texts = Arc::clone(program.sources());
    let mut numbers: Vec<FileId> = Vec::new();
    numbers.extend(texts.files().map(|file| number(texts.name(file))));
    let place = |span: Span| match (texts.position(span), numbers.get(span.file.0 as usize)) {
        (Some(at), Some(&file)) => Span::at_line(file, at.line, at.column),
        _ => Span::NONE,
    };
    program.clone().with_places(Arc::default(), place)
}

/// All files so far.
pub(super) fn sources() -> Arc<SourceMap> {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let (names, made) = &mut *files;
    let made = made.get_or_insert_with(|| {
        let mut sources = SourceMap::new();
        names.iter().for_each(|name| _ = sources.add_unread(name.as_str()));
        Arc::new(sources)
    });
    Arc::clone(made)
}

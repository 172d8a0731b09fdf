//! What is wrong with a file, and the types in it: found out declaration by declaration, on a thread of
//! its own, and kept for those that stay as they are.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cotan_ir::{CancelToken, Limits, Span, Watch, within};
use cotan_syntax::ast::Item;
use cotan_syntax::lex::{TokenKind, lex};
use cotan_syntax::{Declaration, Diagnostic, Diagnostics, Failure, Modules, load, parse};
use crossbeam_channel::{Receiver, Sender, unbounded};
use rustc_hash::{FxHashMap, FxHasher};

use crate::document::{Document, FILE, Open, Texts};

/// How long one declaration is checked, and how long before the next key is expected to be pressed.
const TIME: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(30);
/// How long an answer may wait for types.
const ANSWER: Duration = Duration::from_millis(40);
/// More declarations are not kept.
const KEPT: usize = 20_000;

/// A file at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub path: PathBuf,
    pub version: i32,
    pub text: Arc<str>,
    pub texts: Texts,
}

impl Snapshot {
    pub fn of(document: &Document, texts: &Texts) -> Snapshot {
        let Document { path, version, text, .. } = document;
        let (path, text) = (path.clone(), text.clone());
        Snapshot { path, version: *version, text, texts: texts.clone() }
    }
}

/// What is known about a declaration; places count from its beginning.
#[derive(Debug, Default)]
pub struct Facts {
    diagnostics: Vec<Diagnostic>,
    types: Vec<(Span, String)>,
}

/// Facts by what they depend on.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<Mutex<FxHashMap<u64, Arc<Facts>>>>);

impl Known {
    fn get(&self, key: u64) -> Option<Arc<Facts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    fn put(&self, key: u64, facts: Arc<Facts>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, facts);
    }
}

/// A file that could be loaded.
pub struct Loaded {
    pub modules: Modules,
    /// The declarations of the file: where they are, and a digest of all that they depend on.
    items: Vec<(Span, u64)>,
}

impl Loaded {
    pub fn new(snapshot: &Snapshot) -> Result<Loaded, Failure> {
        let loader = Open::new(&snapshot.path, snapshot.text.clone(), snapshot.texts.clone());
        let modules = load(loader.entry(), &loader)?;
        let items = keys(&snapshot.text, &modules);
        Ok(Loaded { modules, items })
    }

    /// What is known about a declaration, found out if it is not known yet. `None` if that was cancelled
    /// or takes too long.
    fn facts(&self, at: usize, known: &Known, limits: &Limits) -> Option<Arc<Facts>> {
        let &(place, key) = self.items.get(at)?;
        if let Some(facts) = known.get(key) {
            return Some(facts);
        }
        let declaration = Declaration::all(&self.modules, 0).nth(at)?;
        let found = declaration.check(limits);
        let types = declaration.types(limits);
        let is_over = limits.deadline.is_some_and(|end| Instant::now() >= end);
        if is_over || cotan_ir::look("check").is_err() {
            return None;
        }
        let moved = |span: Span| shifted(span, -i64::from(place.start));
        let types = types.into_iter().map(|(span, ty)| (moved(span), ty)).collect();
        let inside = |span: Span| {
            span.is_none()
                || span.file == place.file && place.start <= span.start && span.end <= place.end
        };
        let all_inside = found.iter().all(|d| spans(d).all(inside));
        let diagnostics = found.iter().map(|d| mapped(d, &moved)).collect();
        let facts = Arc::new(Facts { diagnostics, types });
        // What is said about other places is about where they are now.
        if all_inside {
            known.put(key, facts.clone());
        }
        Some(facts)
    }
}

/// What was found out about a file.
pub struct Checked {
    pub path: PathBuf,
    pub version: i32,
    pub diagnostics: Diagnostics,
    pub sources: Arc<cotan_ir::SourceMap>,
}

/// The thread that checks.
pub struct Worker {
    jobs: Sender<Snapshot>,
    pub results: Receiver<Checked>,
    cancel: CancelToken,
    pub known: Known,
    current: Arc<Mutex<CancelToken>>,
}

impl Worker {
    pub fn new() -> Worker {
        let (jobs, todo) = unbounded::<Snapshot>();
        let (done, results) = unbounded();
        let known = Known::default();
        let current = Arc::new(Mutex::new(CancelToken::new()));
        let (shared, token) = (known.clone(), current.clone());
        thread::spawn(move || work(&todo, &done, &shared, &token));
        Worker { jobs, results, cancel: CancelToken::new(), known, current }
    }

    /// Has a file checked; what is being checked is of an older version and is given up.
    pub fn check(&mut self, snapshot: Snapshot) {
        self.cancel = CancelToken::new();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.cancel();
        *current = self.cancel.clone();
        drop(current);
        // The thread is gone only if the process is about to be.
        let _ = self.jobs.send(snapshot);
    }

    /// The types of the declaration at a byte, if they are known or soon found out.
    pub fn types(&self, loaded: &Loaded, offset: usize) -> Vec<(Span, String)> {
        self.types_within(loaded, offset, offset, Instant::now() + ANSWER)
    }

    /// The types of the declarations that touch some bytes, as far as they are known by a moment.
    pub fn types_within(
        &self,
        loaded: &Loaded,
        from: usize,
        to: usize,
        end: Instant,
    ) -> Vec<(Span, String)> {
        let mut types = Vec::new();
        for (at, (place, _)) in loaded.items.iter().enumerate() {
            if (place.end as usize) < from || to < place.start as usize {
                continue;
            }
            let limits = Limits { deadline: Some(end), ..Limits::default() };
            let watch = Watch { deadline: Some(end), ..Watch::default() };
            let facts = within(watch, || loaded.facts(at, &self.known, &limits));
            for (span, ty) in facts.iter().flat_map(|facts| &facts.types) {
                types.push((shifted(*span, i64::from(place.start)), ty.clone()));
            }
        }
        types
    }
}

/// Checks the newest version of each file that is sent.
fn work(
    todo: &Receiver<Snapshot>,
    done: &Sender<Checked>,
    known: &Known,
    current: &Mutex<CancelToken>,
) {
    let mut waiting: Vec<Snapshot> = Vec::new();
    loop {
        if waiting.is_empty() {
            match todo.recv() {
                Ok(job) => waiting.push(job),
                Err(_) => return,
            }
        }
        // Whoever types is not done yet.
        while let Ok(job) = todo.recv_timeout(PAUSE) {
            waiting.retain(|older| older.path != job.path);
            waiting.push(job);
        }
        let Some(job) = waiting.pop() else { continue };
        let cancel = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let watch = Watch { cancel, ..Watch::default() };
        let checked = catch_unwind(AssertUnwindSafe(|| within(watch, || check(&job, known))));
        match checked {
            Ok(Some(checked)) => {
                if done.send(checked).is_err() {
                    return;
                }
            }
            // Another job came in between: this one is done after it, if it is of another file.
            Ok(None) => {
                while let Ok(newer) = todo.recv_timeout(PAUSE) {
                    waiting.retain(|older| older.path != newer.path);
                    waiting.push(newer);
                }
                if waiting.iter().all(|newer| newer.path != job.path) {
                    waiting.insert(0, job);
                }
            }
            // A fault of ours, which the standard hook has described.
            Err(_) => {}
        }
    }
}

/// Everything that is wrong with a file; `None` if that was cancelled.
fn check(job: &Snapshot, known: &Known) -> Option<Checked> {
    let checked = |diagnostics, sources| Checked {
        path: job.path.clone(),
        version: job.version,
        diagnostics,
        sources,
    };
    let loaded = match Loaded::new(job) {
        Ok(loaded) => loaded,
        Err(failure) => {
            cotan_ir::look("check").ok()?;
            // Warnings of the parser are among them.
            return Some(checked(failure.diagnostics, failure.sources));
        }
    };
    let mut found = parse(FILE, &job.text).diagnostics;
    for (at, (place, _)) in loaded.items.iter().enumerate() {
        cotan_ir::look("check").ok()?;
        let limits = Limits { deadline: Some(Instant::now() + TIME), ..Limits::default() };
        let facts = loaded.facts(at, known, &limits);
        cotan_ir::look("check").ok()?;
        let back = |span: Span| shifted(span, i64::from(place.start));
        for diagnostic in facts.iter().flat_map(|facts| &facts.diagnostics) {
            found.push(mapped(diagnostic, &back));
        }
    }
    found.sort();
    Some(checked(found, loaded.modules.sources().clone()))
}

fn spans(diagnostic: &Diagnostic) -> impl Iterator<Item = Span> {
    std::iter::once(diagnostic.primary.span).chain(diagnostic.secondary.iter().map(|l| l.span))
}

fn mapped(diagnostic: &Diagnostic, f: &dyn Fn(Span) -> Span) -> Diagnostic {
    let mut mapped = diagnostic.clone();
    mapped.primary.span = f(mapped.primary.span);
    for label in &mut mapped.secondary {
        label.span = f(label.span);
    }
    mapped
}

/// A place of the file moved; other places stay. Places before the beginning wrap around and come back.
fn shifted(span: Span, by: i64) -> Span {
    if span.file != FILE {
        return span;
    }
    let moved = |at: u32| at.wrapping_add(by as u32);
    Span { start: moved(span.start), end: moved(span.end), ..span }
}

/// For each declaration of a file its place, and a digest of its text, of the texts of the declarations
/// that it names, of those that these name, and so on, and of everything that is imported.
fn keys(text: &str, modules: &Modules) -> Vec<(Span, u64)> {
    let parsed = parse(FILE, text);
    let items = &parsed.module.items;
    let digest = |text: &str| {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        hasher.finish()
    };
    let sources = modules.sources();
    let mut outside = FxHasher::default();
    for file in sources.files().filter(|file| *file != FILE) {
        (sources.name(file), sources.text(file)).hash(&mut outside);
    }
    for item in items {
        if let Item::Import(import) = item {
            sources.slice(import.span).hash(&mut outside);
        }
    }
    let outside = outside.finish();
    let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Def(def) => by_name.entry(&def.name.name).or_default().push(at),
            Item::Type(def) => by_name.entry(&def.name.name).or_default().push(at),
            Item::Import(_) => {}
        }
    }
    let own: Vec<u64> = items
        .iter()
        .map(|item| digest(text.get(item.span().range()).unwrap_or_default()))
        .collect();
    let mut uses: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let tokens = lex(FILE, text, &mut Diagnostics::new()).tokens;
    let mut at = 0;
    for token in tokens.iter() {
        while items.get(at).is_some_and(|item| item.span().end <= token.start) {
            at += 1;
        }
        if !matches!(token.kind, TokenKind::Name | TokenKind::QuotedName) {
            continue;
        }
        let word = text.get(token.start as usize..token.end as usize).unwrap_or_default();
        if let (Some(found), Some(uses)) = (by_name.get(word.trim_matches('`')), uses.get_mut(at)) {
            uses.extend(found.iter().filter(|&&other| other != at));
        }
    }
    for uses in &mut uses {
        uses.sort_unstable();
        uses.dedup();
    }
    let key = |at: usize| {
        let (mut seen, mut todo) = (vec![at], vec![at]);
        let mut is_seen = rustc_hash::FxHashSet::from_iter([at]);
        while let Some(next) = todo.pop() {
            for &used in uses.get(next).into_iter().flatten() {
                if is_seen.insert(used) {
                    seen.push(used);
                    todo.push(used);
                }
            }
        }
        let mut hasher = FxHasher::default();
        outside.hash(&mut hasher);
        own.get(at).hash(&mut hasher);
        seen.sort_unstable();
        seen.iter().for_each(|at| own.get(*at).hash(&mut hasher));
        hasher.finish()
    };
    items.iter().enumerate().map(|(at, item)| (item.span(), key(at))).collect()
}

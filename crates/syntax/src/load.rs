//! Files and their imports: from an entry file to everything it can see.
//!
//! Where texts come from is the business of a [`Loader`].

use std::fmt;
use std::sync::Arc;

use cotan_ir::{SourceMap, Span};
use rustc_hash::FxHashMap;

use crate::ast::{self, Def, Import, Item, Name, TypeDef};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::loader::{Loader, MAX_TEXT, MemoryLoader};
use crate::render::{Style, render_all};

/// Why a program could not be loaded, checked or instantiated: the messages, and the texts they are
/// about.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that the places are in.
    pub sources: Arc<SourceMap>,
}

impl Failure {
    /// The messages with the lines they are about.
    pub fn render(&self, style: Style) -> String {
        render_all(&self.diagnostics, &self.sources, style)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

impl std::error::Error for Failure {}

/// A function of a loaded program: the file, and the place among its declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DefId {
    pub(crate) file: usize,
    pub(crate) item: usize,
}

/// One file and what its names mean.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) module: ast::Module,
    /// Functions: its own and those of imports without alias.
    pub(crate) defs: FxHashMap<Name, DefId>,
    /// Type aliases, likewise.
    pub(crate) types: FxHashMap<Name, DefId>,
    /// Imports with an alias.
    pub(crate) aliases: FxHashMap<Name, usize>,
}

/// A loaded program: the entry file and everything it imports.
///
/// ```
/// use cotan_syntax::{MemoryLoader, load};
///
/// let loader = MemoryLoader::new()
///     .with("main.ct", "import \"lib.ct\"  def twice(x: f64) = double(x)")
///     .with("lib.ct", "# Two times x.\ndef double(x: f64): f64 = 2.0 * x");
/// let modules = load("main.ct", &loader)?;
/// assert_eq!(modules.functions().count(), 1);
/// # Ok::<(), cotan_syntax::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Modules {
    pub(crate) files: Vec<File>,
    pub(crate) sources: Arc<SourceMap>,
}

/// What a function of a loaded program looks like from outside.
#[derive(Clone, Debug)]
pub struct FunctionInfo<'m> {
    /// Its name.
    pub name: &'m str,
    /// Its head as written: `def dot[n](a: [n]f64, b: [n]f64): f64`.
    pub signature: &'m str,
    /// The comment above it.
    pub doc: Option<&'m str>,
    /// Its parameters: names, and types as written.
    pub params: Vec<(&'m str, &'m str)>,
    /// Where it is.
    pub span: Span,
}

impl Modules {
    /// The texts that spans refer to.
    pub fn sources(&self) -> &Arc<SourceMap> {
        &self.sources
    }

    /// The functions that the entry file defines, in order.
    pub fn functions(&self) -> impl Iterator<Item = FunctionInfo<'_>> {
        let entry = self.files.first();
        entry
            .into_iter()
            .flat_map(|file| file.module.items.iter().map(move |item| (file, item)))
            .filter_map(|(file, item)| self.info(file, item))
    }

    /// The functions that the entry file can call by their names alone, its own and others, by name.
    pub fn visible_functions(&self) -> Vec<FunctionInfo<'_>> {
        let defs = self.files.first().map(|file| &file.defs).into_iter().flatten();
        let mut all: Vec<FunctionInfo<'_>> = defs
            .filter_map(|(_, id)| {
                let file = self.files.get(id.file)?;
                self.info(file, file.module.items.get(id.item)?)
            })
            .collect();
        all.sort_by_key(|info| info.name);
        all
    }

    fn info<'m>(&'m self, file: &'m File, item: &'m Item) -> Option<FunctionInfo<'m>> {
        let Item::Def(def) = item else { return None };
        let ty = |p: &ast::Param| self.sources.slice(file.module.ast[p.ty].span);
        Some(FunctionInfo {
            name: &def.name.name,
            signature: self.sources.slice(def.head_span).trim(),
            doc: def.doc.as_deref(),
            params: def.params.iter().map(|p| (&*p.name.name, ty(p))).collect(),
            span: def.span,
        })
    }

    /// A definition; `None` never happens for the ids we hand out.
    pub(crate) fn def(&self, id: DefId) -> Option<&Def> {
        match self.files.get(id.file)?.module.items.get(id.item)? {
            Item::Def(def) => Some(def),
            Item::Import(_) | Item::Type(_) => None,
        }
    }

    /// A type alias.
    pub(crate) fn type_def(&self, id: DefId) -> Option<&TypeDef> {
        match self.files.get(id.file)?.module.items.get(id.item)? {
            Item::Type(def) => Some(def),
            Item::Import(_) | Item::Def(_) => None,
        }
    }
}

/// Loads a file and everything it imports, and finds out what its names mean.
pub fn load(entry: &str, loader: &dyn Loader) -> Result<Modules, Failure> {
    let mut loading = Loading::new(loader);
    let name = loader.resolve(None, entry);
    match loader.read(&name) {
        Ok(text) => {
            loading.bytes = text.len() as u64;
            loading.add(name, text);
        }
        Err(why) => {
            let message = format!("cannot read `{name}`: {why}");
            loading.diagnostics.push(Diagnostic::new(Code::CannotImport, Span::NONE, message));
        }
    }
    loading.finish()
}

/// Loads one text that stands for itself; imports are not found.
pub fn load_text(name: &str, text: &str) -> Result<Modules, Failure> {
    let loader = MemoryLoader::new();
    let mut loading = Loading::new(&loader);
    loading.add(name.to_owned(), text.to_owned());
    loading.finish()
}

/// Loads a text that is one expression, as the body of a function `main` without parameters.
///
/// ```
/// use cotan_syntax::{instantiate, load_expression};
///
/// let modules = load_expression("example", "sum([1.0, 2.0])")?;
/// let main = instantiate(&modules, "main", &[], &[], &Default::default())?;
/// assert_eq!(main.program.to_string(), "def main() = sum_outer([1.0, 2.0])\n");
/// # Ok::<(), cotan_syntax::Failure>(())
/// ```
pub fn load_expression(name: &str, text: &str) -> Result<Modules, Failure> {
    let loader = MemoryLoader::new();
    let mut loading = Loading::new(&loader);
    loading.parse_by(name.to_owned(), text.to_owned(), crate::parse::parse_expression);
    loading.imports.push(Vec::new());
    loading.finish()
}

pub(crate) struct Loading<'l> {
    loader: &'l dyn Loader,
    sources: SourceMap,
    pub(crate) files: Vec<File>,
    by_name: FxHashMap<String, usize>,
    /// Per file: what each of its imports, by place among the declarations, refers to.
    imports: Vec<Vec<(usize, Option<usize>)>>,
    diagnostics: Diagnostics,
    /// How much text there is.
    bytes: u64,
}

impl<'l> Loading<'l> {
    pub(crate) fn new(loader: &'l dyn Loader) -> Loading<'l> {
        Loading {
            loader,
            sources: SourceMap::new(),
            files: Vec::new(),
            by_name: FxHashMap::default(),
            imports: Vec::new(),
            diagnostics: Diagnostics::new(),
            bytes: 0,
        }
    }

    /// Adds a file and, one after the other, everything it imports.
    fn add(&mut self, name: String, text: String) {
        self.parse(name, text);
        self.follow_all_imports();
    }

    /// Parses everything that the files import which are there.
    pub(crate) fn follow_all_imports(&mut self) {
        let mut at = 0;
        while at < self.files.len() {
            self.follow_imports(at);
            at += 1;
        }
    }

    /// Counts a text; all of them together have a limit.
    fn take(&mut self, text: String) -> Result<String, String> {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        match self.bytes <= MAX_TEXT {
            true => Ok(text),
            false => {
                Err(format!("the program has more than {} MiB of text with it", MAX_TEXT >> 20))
            }
        }
    }

    pub(crate) fn parse(&mut self, name: String, text: String) -> usize {
        self.parse_by(name, text, crate::parse)
    }

    pub(crate) fn parse_by(
        &mut self,
        name: String,
        text: String,
        parse: fn(cotan_ir::FileId, &str) -> crate::Parsed,
    ) -> usize {
        let file = self.sources.add(name.clone(), text);
        let parsed = parse(file, self.sources.text(file));
        self.diagnostics.append(parsed.diagnostics);
        let at = self.files.len();
        self.by_name.insert(name, at);
        self.files.push(File {
            module: parsed.module,
            defs: FxHashMap::default(),
            types: FxHashMap::default(),
            aliases: FxHashMap::default(),
        });
        at
    }

    fn follow_imports(&mut self, at: usize) {
        let Some(file) = self.files.get(at) else { return };
        let from = self.sources.name(file.module.file).to_owned();
        let wanted: Vec<(usize, Import)> =
            imports(&file.module.items).map(|(k, i)| (k, i.clone())).collect();
        let mut found = Vec::new();
        for (item, import) in wanted {
            let name = self.loader.resolve(Some(&from), &import.path);
            let target = match self.by_name.get(&name) {
                Some(&known) => Some(known),
                None => match self.loader.read(&name).and_then(|text| self.take(text)) {
                    Ok(text) => Some(self.parse(name, text)),
                    Err(why) => {
                        let message = format!("cannot import `{name}`: {why}");
                        let hint = self.loader.hint(&name);
                        self.diagnostics.push(
                            Diagnostic::new(Code::CannotImport, import.path_span, message)
                                .hint(hint),
                        );
                        None
                    }
                },
            };
            found.push((item, target));
        }
        self.imports.push(found);
    }

    fn finish(self) -> Result<Modules, Failure> {
        self.finish_sharing(0)
    }

    /// Finds out what names mean. The first files share one scope, in which later definitions take the
    /// place of earlier ones.
    pub(crate) fn finish_sharing(mut self, first: usize) -> Result<Modules, Failure> {
        self.refuse_cycles();
        for at in 0..self.files.len() {
            self.define_own(at);
        }
        for at in 0..self.files.len() {
            self.define_imported(at);
        }
        self.share_scope(first);
        let sources = Arc::new(self.sources);
        if self.diagnostics.has_errors() {
            return Err(Failure { diagnostics: self.diagnostics, sources });
        }
        Ok(Modules { files: self.files, sources })
    }

    fn share_scope(&mut self, first: usize) {
        let Some((entry, others)) = self.files.get_mut(..first).and_then(<[File]>::split_first_mut)
        else {
            return;
        };
        for file in others.iter() {
            let copied = |table: &FxHashMap<Name, DefId>| -> Vec<(Name, DefId)> {
                table.iter().map(|(name, id)| (name.clone(), *id)).collect()
            };
            entry.defs.extend(copied(&file.defs));
            entry.types.extend(copied(&file.types));
            entry.aliases.extend(file.aliases.iter().map(|(name, at)| (name.clone(), *at)));
        }
        for file in others {
            file.defs.clone_from(&entry.defs);
            file.types.clone_from(&entry.types);
            file.aliases.clone_from(&entry.aliases);
        }
    }

    /// Depth first over the imports; an import of a file that is being visited closes a cycle.
    fn refuse_cycles(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.files.len()];
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !self.files.is_empty() {
            path.push((0, 0));
            state[0] = State::Open;
        }
        while let Some((file, next)) = path.last_mut() {
            let file = *file;
            let Some(&(item, target)) = self.imports.get(file).and_then(|found| found.get(*next))
            else {
                state[file] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let Some(target) = target else { continue };
            match state.get(target) {
                Some(State::New) => {
                    state[target] = State::Open;
                    path.push((target, 0));
                }
                Some(State::Open) => {
                    let chain: Vec<&str> = path
                        .iter()
                        .skip_while(|(on_path, _)| *on_path != target)
                        .map(|(on_path, _)| *on_path)
                        .chain([target])
                        .filter_map(|at| self.files.get(at))
                        .map(|f| self.sources.name(f.module.file))
                        .collect();
                    let span = match self.files.get(file).and_then(|f| f.module.items.get(item)) {
                        Some(item) => item.span(),
                        None => Span::NONE,
                    };
                    let message =
                        format!("files import each other in a circle: {}", chain.join(" → "));
                    self.diagnostics.push(
                        Diagnostic::new(Code::ImportCycle, span, message)
                            .label("this import closes the circle")
                            .hint("move what both need into a third file"),
                    );
                }
                Some(State::Done) | None => {}
            }
        }
    }

    fn define_own(&mut self, at: usize) {
        let Some(file) = self.files.get_mut(at) else { return };
        let mut places: FxHashMap<(bool, Name), Span> = FxHashMap::default();
        for (item, declaration) in file.module.items.iter().enumerate() {
            let (name, is_type) = match declaration {
                Item::Def(def) => (&def.name, false),
                Item::Type(def) => (&def.name, true),
                Item::Import(_) => continue,
            };
            if let Some(&before) = places.get(&(is_type, name.name.clone())) {
                let message = format!("`{}` is defined twice", name.name);
                self.diagnostics.push(
                    Diagnostic::new(Code::DuplicateDefinition, name.span, message)
                        .label("defined again here")
                        .also(before, "first defined here")
                        .hint("rename one of them"),
                );
                continue;
            }
            places.insert((is_type, name.name.clone()), name.span);
            let table = if is_type { &mut file.types } else { &mut file.defs };
            table.insert(name.name.clone(), DefId { file: at, item });
        }
    }

    /// Brings the definitions of other files into scope, or names the file itself.
    fn define_imported(&mut self, at: usize) {
        for (item, target) in self.imports.get(at).cloned().unwrap_or_default() {
            let Some(target) = target.filter(|&target| target != at) else { continue };
            let Some(Item::Import(import)) =
                self.files.get(at).and_then(|f| f.module.items.get(item)).cloned()
            else {
                continue;
            };
            if let Some(alias) = &import.alias {
                let Some(file) = self.files.get_mut(at) else { continue };
                if file
                    .aliases
                    .insert(alias.name.clone(), target)
                    .is_some_and(|before| before != target)
                {
                    let message = format!("two imports are called `{}`", alias.name);
                    self.diagnostics.push(
                        Diagnostic::new(Code::DuplicateDefinition, alias.span, message)
                            .hint("choose another name after `as`"),
                    );
                }
                continue;
            }
            for is_type in [false, true] {
                self.bring_into_scope(at, target, is_type, &import);
            }
        }
    }

    fn bring_into_scope(&mut self, at: usize, target: usize, is_type: bool, import: &Import) {
        let own = |file: &File| -> Vec<(Name, DefId)> {
            let table = if is_type { &file.types } else { &file.defs };
            let mut own: Vec<_> = table
                .iter()
                .filter(|(_, id)| id.file == target)
                .map(|(n, id)| (n.clone(), *id))
                .collect();
            own.sort_by_key(|(_, id)| *id);
            own
        };
        let Some(names) = self.files.get(target).map(own) else { return };
        for (name, id) in names {
            let Some(file) = self.files.get_mut(at) else { return };
            let table = if is_type { &mut file.types } else { &mut file.defs };
            let before = *table.entry(name.clone()).or_insert(id);
            if before != id {
                let place = |id: DefId| {
                    let item = self.files.get(id.file).and_then(|f| f.module.items.get(id.item));
                    match item {
                        Some(Item::Def(def)) => def.name.span,
                        Some(Item::Type(def)) => def.name.span,
                        Some(Item::Import(_)) | None => Span::NONE,
                    }
                };
                let message = format!("this import brings in `{name}`, which is already defined");
                self.diagnostics.push(
                    Diagnostic::new(Code::DuplicateDefinition, import.span, message)
                        .also(place(before), "defined here")
                        .also(place(id), "and here")
                        .hint("give the import a name: `import \"…\" as lib`, and write `lib.…`"),
                );
            }
        }
    }
}

fn imports(items: &[Item]) -> impl Iterator<Item = (usize, &Import)> {
    items.iter().enumerate().filter_map(|(k, item)| match item {
        Item::Import(import) => Some((k, import)),
        Item::Type(_) | Item::Def(_) => None,
    })
}

//! `cotan repl`: a prompt.
//!
//! What is typed is a command (`:help`), declarations, a `let`, or an expression. Expressions are
//! compiled and run as by `cotan eval`; values that are kept are arguments of what is typed later.

mod commands;
mod editor;
mod input;

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Scalar;
use cotan_ir::{CancelToken, Program, Watch, within};
use cotan_syntax::{
    ArgSpec, Declaration, Diagnostics, FileLoader, Instance, Modules, Session, TypeTree, Variable,
    instantiate,
};

use crate::args::{Backend, ReplArgs};
use crate::failure::{Failure, Outcome};
use crate::limits::out_of_time;
use crate::machine::{Prepared, compute};
use crate::results;
use crate::source::{Text, with_path};
use crate::terminal::Terminal;
use editor::Editor;
use input::{Completeness, Input};

/// The name of the last value.
const LAST: &str = "it";

/// What Ctrl-C ends, while something is evaluated.
static RUNNING: Mutex<Option<CancelToken>> = Mutex::new(None);

/// Reads, evaluates and prints until the input ends.
pub fn repl(args: &ReplArgs, terminal: &Terminal) -> Outcome {
    let mut prompt = Prompt::new(args, terminal)?;
    for file in &args.files {
        prompt.load(file, terminal)?;
    }
    if !io::stdin().is_terminal() {
        return prompt.follow(&mut io::stdin().lock());
    }
    let handler = || {
        if let Some(running) = &*RUNNING.lock().unwrap_or_else(PoisonError::into_inner) {
            running.cancel();
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::data(format_args!("Ctrl-C cannot be caught: {e}")))?;
    terminal.write(&format!(
        "cotan {}; :help lists the commands, Ctrl-D ends\n",
        env!("CARGO_PKG_VERSION")
    ))?;
    let mut editor = Editor::new(terminal.has_colours())?;
    loop {
        editor.know(prompt.names());
        match editor.read(&format!("{}> ", prompt.inputs + 1))? {
            editor::Read::Text(text) => {
                if !prompt.take(&text) {
                    break;
                }
            }
            editor::Read::Interrupted => {}
            editor::Read::End => break,
        }
    }
    editor.close();
    Ok(())
}

/// A value that has a name.
struct Bound {
    name: String,
    tree: TypeTree,
    arrays: Vec<Array>,
}

impl Bound {
    /// An integer or truth value is known when a program is made: it may be a size.
    fn as_static(&self) -> Option<Scalar> {
        match (&self.tree, self.arrays.as_slice()) {
            (TypeTree::Array(ty), [array]) if ty.shape.rank() == 0 => match ty.dtype {
                Dtype::I64 => array.item().map(Scalar::I64),
                Dtype::Bool => array.item().map(Scalar::Bool),
                Dtype::F64 | Dtype::F32 => None,
            },
            _ => None,
        }
    }
}

/// What a session knows.
struct Prompt<'t> {
    session: Session,
    variables: Vec<Bound>,
    /// How many texts there were.
    inputs: usize,
    /// Folders of files that were loaded: their imports lie there.
    folders: Vec<PathBuf>,
    args: &'t ReplArgs,
    terminal: &'t Terminal,
    backend: Backend,
}

/// A program of an expression, and the values that it takes.
struct Made {
    instance: Instance,
    inputs: Vec<Array>,
}

impl<'t> Prompt<'t> {
    fn new(args: &'t ReplArgs, terminal: &'t Terminal) -> Outcome<Prompt<'t>> {
        Ok(Prompt {
            session: Session::default(),
            variables: Vec::new(),
            inputs: 0,
            folders: Vec::new(),
            args,
            terminal,
            backend: Backend::chosen(args.backend.backend)?,
        })
    }

    /// Takes texts from a pipe or a file, without a prompt; fails if one of them did.
    fn follow(&mut self, lines: &mut dyn BufRead) -> Outcome {
        let mut text = String::new();
        let mut failed = false;
        loop {
            let more = lines
                .read_line(&mut text)
                .map_err(|e| Failure::data(format_args!("cannot read standard input: {e}")))?;
            if more > 0 && input::completeness(&text) == Completeness::Open {
                continue;
            }
            let taken = std::mem::take(&mut text);
            let go_on = match self.attempt(taken.trim_end()) {
                Ok(go_on) => go_on,
                Err(failure) => {
                    self.terminal.complain(&failure.to_string());
                    failed = true;
                    true
                }
            };
            if more == 0 || !go_on {
                break;
            }
        }
        if failed { Err(Failure::program("")) } else { Ok(()) }
    }

    /// Takes a text and says what is wrong with it. Whether to go on.
    fn take(&mut self, text: &str) -> bool {
        self.attempt(text).unwrap_or_else(|failure| {
            self.terminal.complain(&failure.to_string());
            true
        })
    }

    /// Takes a text. Whether to go on.
    fn attempt(&mut self, text: &str) -> Outcome<bool> {
        let input = Input::of(text);
        if matches!(input, Input::Nothing) {
            return Ok(true);
        }
        self.inputs += 1;
        if let Input::Command(":quit" | ":q" | ":exit", _) = input {
            return Ok(false);
        }
        let cancel = CancelToken::new();
        let running = |token| {
            *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = token;
        };
        running(Some(cancel.clone()));
        let begin = Instant::now();
        let watch = Watch { cancel: cancel.clone(), ..self.args.limits.watch(begin) };
        let terminal = self.terminal.cancelled_by(cancel.clone());
        let done = crate::guarded(|| within(watch, || self.obey(&input, begin, &terminal)));
        running(None);
        match done {
            Err(_) if cancel.is_cancelled() => {
                self.terminal.complain("interrupted");
                Ok(true)
            }
            done => done.map(|()| true),
        }
    }

    fn obey(&mut self, input: &Input<'_>, begin: Instant, terminal: &Terminal) -> Outcome {
        match *input {
            Input::Nothing => Ok(()),
            Input::Command(name, rest) => self.command(name, rest, begin, terminal),
            Input::Declarations(text) => self.define(self.input_name(), text, terminal),
            Input::Bindings(text, ref names) => self.bind(text, names, begin, terminal),
            Input::Expression(text) => {
                let made = self.make(text, begin, terminal)?;
                let (tree, arrays) = self.value(made, begin, terminal)?;
                let named = results::named(results::names(&tree), arrays.clone());
                terminal.write(&results::show(&named))?;
                self.keep(LAST, tree, arrays);
                Ok(())
            }
        }
    }

    /// What messages call the text at hand.
    fn input_name(&self) -> String {
        format!("input {}", self.inputs)
    }

    fn loader(&self) -> Outcome<FileLoader> {
        // Not a file: only the folder matters.
        let mut files = FileLoader::new("prompt.ct");
        for folder in &self.folders {
            files = files
                .allow(folder)
                .map_err(|e| Failure::data(format_args!("{}: {e}", folder.display())))?;
        }
        with_path(files)
    }

    /// Everything that is defined.
    fn modules(&self, terminal: &Terminal) -> Outcome<Modules> {
        let modules = self.session.modules(&self.loader()?);
        modules.map_err(|messages| terminal.program_failure(&messages))
    }

    /// Adds declarations, if they are all right.
    fn define(&mut self, name: String, text: &str, terminal: &Terminal) -> Outcome {
        let mut session = self.session.clone();
        session.add(name, text);
        let modules = session
            .modules(&self.loader()?)
            .map_err(|messages| terminal.program_failure(&messages))?;
        // The entry file comes first, then the texts.
        let own = session.texts().len();
        let limits = self.args.limits.making(Instant::now());
        let mut found = Diagnostics::new();
        for declaration in Declaration::all(&modules, own) {
            found.append(declaration.check(&limits));
        }
        cotan_ir::look("check").map_err(|_| out_of_time(&self.args.limits))?;
        if found.has_errors() {
            return Err(self.explained(terminal.diagnosed(&found, modules.sources())));
        }
        terminal.show(&found, modules.sources());
        self.session = session;
        Ok(())
    }

    /// Adds the declarations of a file.
    fn load(&mut self, path: &Path, terminal: &Terminal) -> Outcome {
        let text = Text::read(path)?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let known = self.folders.len();
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
        }
        let defined = self.define(text.name, &text.text, terminal);
        if defined.is_err() {
            self.folders.truncate(known);
        }
        defined
    }

    /// Evaluates bindings, and keeps the values.
    fn bind(
        &mut self,
        text: &str,
        names: &[String],
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome {
        let whole = format!("{text}\nin ({},)", names.join(", "));
        let made = self.make(&whole, begin, terminal)?;
        let (tree, arrays) = self.value(made, begin, terminal)?;
        let TypeTree::Tuple(trees) = tree else {
            return Err(Failure::internal("bindings are no tuple"));
        };
        let mut arrays = arrays.into_iter();
        for (name, tree) in names.iter().zip(trees) {
            let own: Vec<Array> = arrays.by_ref().take(tree.leaves("").len()).collect();
            let named = tree.leaves(name).into_iter().map(|(name, _)| name).collect();
            terminal.write(&results::show(&results::named(named, own.clone())))?;
            self.keep(name, tree, own);
        }
        Ok(())
    }

    fn keep(&mut self, name: &str, tree: TypeTree, arrays: Vec<Array>) {
        self.variables.retain(|bound| bound.name != name);
        self.variables.push(Bound { name: name.to_owned(), tree, arrays });
    }

    /// The program of an expression, whose variables are its inputs.
    fn make(&self, text: &str, begin: Instant, terminal: &Terminal) -> Outcome<Made> {
        self.make_with(text, &[], begin, terminal)
    }

    /// The same, with more variables than the session has.
    fn make_with(
        &self,
        text: &str,
        more: &[Bound],
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<Made> {
        let used = input::names_in(text);
        let bound = |bound: &&Bound| used.contains(bound.name.as_str());
        let variables: Vec<&Bound> = self.variables.iter().chain(more).filter(bound).collect();
        let typed: Vec<Variable> =
            variables.iter().map(|v| (v.name.clone(), v.tree.clone())).collect();
        let modules = self
            .session
            .expression(&self.input_name(), text, &typed, &self.loader()?)
            .map_err(|messages| terminal.program_failure(&messages))?;
        let spec = |bound: &&Bound| bound.as_static().map_or(ArgSpec::Declared, ArgSpec::Static);
        let specs: Vec<ArgSpec> = variables.iter().map(spec).collect();
        let limits = self.args.limits.making(begin);
        let instance = instantiate(&modules, "main", &specs, &[], &limits).map_err(|messages| {
            match cotan_ir::look("make") {
                Err(_) => out_of_time(&self.args.limits),
                Ok(()) => self.explained(terminal.program_failure(&messages)),
            }
        })?;
        terminal.show(&instance.warnings, instance.program.sources());
        let inputs = variables
            .iter()
            .filter(|bound| bound.as_static().is_none())
            .flat_map(|bound| bound.arrays.iter().cloned())
            .collect();
        Ok(Made { instance, inputs })
    }

    /// A failure with what is special about a prompt.
    fn explained(&self, failure: Failure) -> Failure {
        let text = failure.to_string();
        let inside = |bound: &&Bound| text.contains(&format!("unknown name `{}`", bound.name));
        match self.variables.iter().find(inside) {
            Some(bound) => failure.hint(format_args!(
                "`{}` is a value of the prompt, which definitions do not see: make it a parameter",
                bound.name
            )),
            None => failure,
        }
    }

    fn value(
        &self,
        made: Made,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<(TypeTree, Vec<Array>)> {
        let Made { instance, inputs } = made;
        let limits = &self.args.limits;
        let arrays = compute(instance.program, &inputs, self.backend, limits, begin, terminal)?;
        Ok((instance.result, arrays))
    }

    fn prepared(&self, program: Program, terminal: &Terminal) -> Outcome<Prepared> {
        Prepared::new(program, self.backend, &self.args.limits, terminal)
    }

    /// The names that can be completed.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.variables.iter().map(|v| v.name.clone()).collect();
        if let Ok(modules) = self.loader().map(|loader| self.session.modules(&loader))
            && let Ok(modules) = modules
        {
            names.extend(modules.visible_functions().iter().map(|info| info.name.to_owned()));
        }
        names
    }
}

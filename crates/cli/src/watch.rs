//! `cotan watch`

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cotan_ir::within;

use crate::args::{CheckArgs, RunArgs, WatchArgs};
use crate::check;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::run;
use crate::source::Text;
use crate::terminal::Terminal;

/// How often files are looked at, and for how long they have to stay as they are.
const EVERY: Duration = Duration::from_millis(100);
const SETTLED: Duration = Duration::from_millis(50);

/// A file as it is: when it was written and how long it is, or nothing if it is not there.
type Look = Option<(SystemTime, u64)>;

/// Checks and runs a program again whenever one of its files changes.
pub fn watch(args: &WatchArgs, terminal: &Terminal) -> Outcome {
    let Some(path) = &args.run.call.source.file else {
        return Err(Failure::usage("there is nothing to wait for but a file: cotan watch FILE"));
    };
    if path.as_os_str() == "-" {
        return Err(Failure::usage("standard input cannot be watched"));
    }
    // A first look at it, so that a wrong name is told at once.
    Text::read(path)?;
    let mut turn = 0;
    loop {
        let before = looks(path);
        let begin = Instant::now();
        let done =
            crate::guarded(|| within(args.run.limits.watch(begin), || once(path, args, terminal)));
        if let Err(failure) = done {
            terminal.complain(&failure.to_string());
        }
        turn += 1;
        if args.turns == Some(turn) {
            return Ok(());
        }
        let took = begin.elapsed();
        terminal.complain(&format!("-- {took:.1?}; waiting for changes, Ctrl-C ends"));
        wait(path, before);
    }
}

/// Checks the program, and runs it if it can be run as it is.
fn once(path: &Path, args: &WatchArgs, terminal: &Terminal) -> Outcome {
    let RunArgs { call, .. } = &args.run;
    let check_args = CheckArgs {
        files: vec![path.to_owned()],
        sizes: Vec::new(),
        imports: call.imports.clone(),
    };
    check::check(&check_args, terminal)?;
    if args.check || !can_run(path, args, terminal) {
        return Ok(());
    }
    run::run(&args.run, terminal)
}

/// Whether the command line gives what the function takes. If it gives anything, the user means it to.
fn can_run(path: &Path, args: &WatchArgs, terminal: &Terminal) -> bool {
    let call = &args.run.call;
    let given = call.function.function.is_some()
        || !call.function.sizes.is_empty()
        || !call.inputs.args.is_empty()
        || call.inputs.npz.is_some();
    let takes_nothing = || -> Outcome<bool> {
        let modules = Text::read(path)?.load(&call.imports, terminal)?;
        Ok(Function::of(&modules, &call.function, terminal)?.takes_nothing())
    };
    given || takes_nothing().unwrap_or(false)
}

/// The program and all programs beside it and in its folders, which it may import, as they are.
fn looks(path: &Path) -> Vec<(PathBuf, Look)> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut files = vec![path.to_owned()];
    // Imports are few folders deep; a home folder with everything in it is not looked through.
    const MOST: usize = 1000;
    let mut folders = vec![(folder, 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < 2 {
                folders.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "ct") {
                files.push(path);
            }
            if files.len() + folders.len() > MOST {
                return seen(files);
            }
        }
    }
    seen(files)
}

fn seen(mut files: Vec<PathBuf>) -> Vec<(PathBuf, Look)> {
    files.sort();
    files.dedup();
    let look = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    files.into_iter().map(|path| (path.clone(), look(&path))).collect()
}

/// Waits until a file has changed, and no longer does: editors write in parts, or put another file in
/// its place.
fn wait(path: &Path, before: Vec<(PathBuf, Look)>) {
    loop {
        thread::sleep(EVERY);
        let mut now = looks(path);
        if now == before {
            continue;
        }
        loop {
            thread::sleep(SETTLED);
            let next = looks(path);
            if next == now && path.exists() {
                return;
            }
            now = next;
        }
    }
}

//! Plans of programs, as files: what the passes leave of `tests/plans/NAME.ct` is `NAME.nest`, the
//! loop nests, and `NAME.kernels`, what is run together and how. Both are made for the portable
//! target, so they are the same on every machine.
//!
//! The first line of a program says which of them there are: `# nest`, `# kernels`, or both; and
//! `derivative NAME` if they are those of a derivative of `main`. `COTAN_BLESS=1` writes all of them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use cotan_ir::Program;
use cotan_nest::Plan;
use cotan_pipeline::{Backend, CompileOptions, Derivative, Form, compile_to, derive};
use cotan_schedule::Target;
use cotan_syntax::{instantiate, load_text};

/// The program of a file.
fn program(name: &str, text: &str, words: &[&str]) -> Program {
    let modules = load_text(name, text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let made = instantiate(&modules, "main", &[], &[], &Default::default());
    let program = made.unwrap_or_else(|error| panic!("{name}: {error:?}")).program;
    match words.iter().position(|word| *word == "derivative") {
        Some(at) => {
            let derivative =
                Derivative::from_name(words[at + 1]).expect("the name of a derivative");
            derive(&program, derivative, None).unwrap()
        }
        None => program,
    }
}

/// What a pass leaves of a program, as text.
fn left_by(pass: &str, program: &Program) -> String {
    let options =
        CompileOptions { target: Target::portable(), ..CompileOptions::new(Backend::Native) };
    match compile_to(Cow::Borrowed(program), &options, Some(pass)).unwrap() {
        Form::Plan(_, plan) => {
            plan.check().unwrap_or_else(|fault| panic!("{fault}\n{plan}"));
            let text = plan.to_string();
            assert_eq!(text.parse::<Plan>().unwrap().to_string(), text);
            text
        }
        Form::Schedule(program, schedule) => schedule.kernels(&program),
        other => panic!("no plan, but {other:?}"),
    }
}

#[test]
fn plans_are_those_of_the_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let bless = std::env::var_os("COTAN_BLESS").is_some();
    let (mut compared, mut wrong) = (0, Vec::new());
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "ct")) {
        let text = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        let head = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let words: Vec<&str> = head.split_whitespace().collect();
        let program = program(&path.display().to_string(), &text, &words);
        for (kind, pass) in [("nest", "nests"), ("kernels", "kernels")] {
            if !words.contains(&kind) {
                continue;
            }
            let found = left_by(pass, &program);
            let path = path.with_extension(kind);
            let expected = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
            compared += 1;
            if bless {
                fs::write(&path, found).unwrap();
            } else if found != expected {
                wrong.push(format!("{}:\n{found}\ninstead of\n{expected}", path.display()));
            }
        }
    }
    assert!(compared > 15, "{compared}");
    assert!(wrong.is_empty(), "COTAN_BLESS=1 accepts what is found\n{}", wrong.join("\n"));
}

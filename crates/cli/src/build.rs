//! `cotan build`

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use cotan_c::{Files, Function as Written, emit};
use cotan_ir::Program;
use cotan_nest::Plan;
use cotan_pipeline::{Backend, CompileOptions, Derivative, Form, compile_to};

use crate::args::{BuildArgs, Emit};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::grad::{chosen, differentiated, value_name};
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::progress::watched;
use crate::results;
use crate::source::Text;
use crate::terminal::Terminal;

/// Writes a function, and derivatives of it, in another language.
pub fn build(args: &BuildArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let function = Function::of(&modules, &args.call.function, terminal)?;
    let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
    let instance = function.instantiate(&inputs, &args.limits, begin, terminal)?;
    let mut program = instance.program;
    program.rename_outputs(results::names(&instance.result).iter().map(|name| value_name(name)));
    let modes = modes(args)?;
    let wrt = match modes.is_empty() {
        true => Vec::new(),
        false => chosen(&program, &args.wrt, function.name)?,
    };
    let name = match &args.name {
        Some(name) => name.clone(),
        None => default_name(args, function.name),
    };
    let doc = format!("The function `{}` of the program.", function.name);
    let derived: Vec<Made> = modes
        .into_iter()
        .map(|mode| {
            let derived = differentiated(program.clone(), mode, &wrt, &within)?;
            let doc = format!("The {} of `{}`.", described(mode), function.name);
            planned(derived, format!("{name}_{}", mode.name()), doc, args, &within)
        })
        .collect::<Outcome<_>>()?;
    let mut made = vec![planned(program, name.clone(), doc, args, &within)?];
    made.extend(derived);
    let files = match args.emit {
        Emit::C => as_c(&name, &made, args.in_order)?,
    };
    write(&args.out, &name, &files)?;
    let (c, h) = (args.out.join(format!("{name}.c")), args.out.join(format!("{name}.h")));
    terminal.write(&format!("wrote {} and {}\n", c.display(), h.display()))
}

fn modes(args: &BuildArgs) -> Outcome<Vec<Derivative>> {
    let mut modes: Vec<Derivative> = args.grad.then_some(Derivative::Grad).into_iter().collect();
    for &mode in &args.mode {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    if modes.is_empty() && !args.wrt.is_empty() {
        let message = "--wrt says by what to differentiate, but there is no derivative";
        return Err(Failure::usage(message).hint("add --grad or --mode"));
    }
    Ok(modes)
}

/// What a derivative gives, in words.
fn described(mode: Derivative) -> String {
    match mode {
        Derivative::Grad | Derivative::ValueAndGrad => "value and gradient".into(),
        other => format!("derivative {}", other.name()),
    }
}

/// The name of the function, or of the file if that is `main`.
fn default_name(args: &BuildArgs, function: &str) -> String {
    let file = args.call.source.file.as_deref().and_then(Path::file_stem);
    let stem = file.map(|stem| stem.to_string_lossy().into_owned());
    match (function, stem.or_else(|| args.call.source.example.clone())) {
        ("main", Some(stem)) if stem != "-" => stem,
        ("main", _) => "expression".into(),
        (function, _) => function.to_owned(),
    }
}

/// The stage of compilation that is written.
const NESTS: &str = "nests";

/// A function to be written: its name, what it is, the program that runs, and its loop nests.
struct Made {
    name: String,
    doc: String,
    program: Program,
    plan: Plan,
}

/// Takes a program through the passes up to loop nests, for the target it is written for.
fn planned(
    program: Program,
    name: String,
    doc: String,
    args: &BuildArgs,
    within: &Within<'_>,
) -> Outcome<Made> {
    let Within { limits, terminal, .. } = *within;
    let target = match args.emit {
        Emit::C => cotan_c::target(),
    };
    let options =
        CompileOptions { in_order: args.in_order, target, ..CompileOptions::new(Backend::Native) };
    let sources = program.sources().clone();
    let form =
        watched(terminal, "compiling", || compile_to(Cow::Owned(program), &options, Some(NESTS)));
    match form.map_err(|error| not_made(&error, &sources, limits, terminal))? {
        Form::Plan(program, plan) => Ok(Made { name, doc, program, plan }),
        Form::Interpreted(_, Some(why)) => {
            let message = format!("error: `{name}` cannot be written as C: it has {}", why.0);
            Err(Failure::program(message)
                .hint("only the interpreter runs this: `cotan run --backend interp`"))
        }
        _ => Err(Failure::internal("there is no plan to write")),
    }
}

fn as_c(stem: &str, made: &[Made], in_order: bool) -> Outcome<Files> {
    let functions: Vec<Written<'_>> = made
        .iter()
        .map(|Made { name, doc, program, plan }| Written {
            name: name.clone(),
            program,
            plan,
            in_order,
            doc: doc.clone(),
        })
        .collect();
    emit(stem, &functions).map_err(|error| {
        let failure = Failure::usage(&error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// Writes both files, each whole or not at all.
fn write(folder: &Path, stem: &str, files: &Files) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::data(format_args!("cannot make the folder `{}`: {error}", folder.display()))
            .hint("-o says the folder to write the .c and the .h file to")
    })?;
    for (ending, text) in [("h", &files.header), ("c", &files.source)] {
        let path = folder.join(format!("{stem}.{ending}"));
        cotan_array::replace_file(&path, |output| output.write_all(text.as_bytes())).map_err(
            |error| Failure::data(format_args!("cannot write `{}`: {error}", path.display())),
        )?;
    }
    Ok(())
}

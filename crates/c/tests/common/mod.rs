//! Functions written as C, compiled, run, and compared.
#![allow(dead_code, reason = "each test needs a part of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use cotan_array::{Array, Dtype, Shape};
use cotan_c::{Files, Function, emit};
use cotan_interp::Value;
use cotan_ir::{Program, Type};
use cotan_nest::Plan;

/// How all C must compile.
pub const STRICT: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Whether there is a compiler of a name; says so if there is none.
pub fn has(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").stdout(Stdio::null()).status();
    let there = found.is_ok_and(|status| status.success());
    if !there {
        println!("skipped: there is no {compiler} here");
    }
    there
}

/// A folder for the files of a test, removed in the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cotan-c-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program with its plan and the inputs that it is run with.
pub struct Case {
    pub program: Program,
    pub plan: Plan,
    pub in_order: bool,
    pub inputs: Vec<Vec<Value>>,
}

/// The files of all cases, as functions `f0`, `f1`, ...
pub fn written(cases: &[Case]) -> Files {
    fn function((n, case): (usize, &Case)) -> Function<'_> {
        Function {
            name: format!("f{n}"),
            program: &case.program,
            plan: &case.plan,
            in_order: case.in_order,
            doc: String::from("A random program."),
        }
    }
    let functions: Vec<Function<'_>> = cases.iter().enumerate().map(function).collect();
    emit("batch", &functions).unwrap()
}

fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "double",
        Dtype::F32 => "float",
        Dtype::I64 => "int64_t",
        Dtype::Bool => "bool",
    }
}

/// A program that reads the inputs of each function, calls it in a workspace full of rubbish, and
/// writes the results.
fn driver(cases: &[Case], files: &Files) -> String {
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"batch.h\"\n\
         static void get(void *to, size_t n) { if (fread(to, 1, n, stdin) != n) exit(3); }\n\
         static void put(const void *x, size_t n) { fwrite(x, 1, n, stdout); }\n",
    );
    for (k, case) in cases.iter().enumerate() {
        let works = files.header.contains(&format!("}} f{k}_workspace;"));
        let mut args = Vec::new();
        let _ = writeln!(text, "static void run{k}(void)\n{{");
        let outputs = case.program.outputs().iter().map(|o| case.program.ty(o.term));
        let inputs = case.program.inputs().iter().map(|i| &i.ty);
        let arrays: Vec<(bool, &Type)> =
            inputs.map(|ty| (true, ty)).chain(outputs.map(|ty| (false, ty))).collect();
        for (n, (input, ty)) in arrays.iter().enumerate() {
            let (numel, c) = (ty.shape.numel(), c_type(ty.dtype));
            let count = numel.max(1);
            let _ = writeln!(text, "    {c} *a{n} = malloc({count} * sizeof({c}));");
            if *input {
                let _ = writeln!(text, "    get(a{n}, {numel} * sizeof({c}));");
            } else if ty.dtype != Dtype::Bool {
                let _ = writeln!(text, "    memset(a{n}, 0xff, {count} * sizeof({c}));");
            }
            let star = if *input && ty.shape.rank() == 0 { "*" } else { "" };
            args.push(format!("{star}a{n}"));
        }
        if works {
            let _ = writeln!(text, "    f{k}_workspace *work = malloc(sizeof *work);");
            let _ = writeln!(text, "    memset(work, 0xff, sizeof *work);");
            args.push("work".into());
        }
        let _ = writeln!(text, "    f{k}({});", args.join(", "));
        for (n, (input, ty)) in arrays.iter().enumerate() {
            let (numel, c) = (ty.shape.numel(), c_type(ty.dtype));
            if !input {
                let _ = writeln!(text, "    put(a{n}, {numel} * sizeof({c}));");
            }
            let _ = writeln!(text, "    free(a{n});");
        }
        let _ = writeln!(text, "{}}}", if works { "    free(work);\n" } else { "" });
    }
    text.push_str("int main(void)\n{\n    (void)get;\n");
    for (k, case) in cases.iter().enumerate() {
        let times = case.inputs.len();
        let _ = writeln!(text, "    for (int n = 0; n < {times}; ++n) run{k}();");
    }
    text.push_str("    return 0;\n}\n");
    text
}

/// Compiles cases and runs them; gives the results of each for each list of inputs.
pub fn run(cases: &[Case], compiler: &str, flags: &[&str]) -> Result<Vec<Vec<Vec<Value>>>, String> {
    let folder = Folder::new();
    let files = written(cases);
    let program = build(&folder.0, &files, &driver(cases, &files), compiler, flags)?;
    let mut input = Vec::new();
    for case in cases {
        for values in &case.inputs {
            values.iter().for_each(|value| bytes_of(&value.to_array().unwrap(), &mut input));
        }
    }
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = feeder.join();
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("the program failed: {:?}\n{message}", output.status));
    }
    let mut bytes = &output.stdout[..];
    let mut results = Vec::new();
    for case in cases {
        let types = || case.program.outputs().iter().map(|o| case.program.ty(o.term));
        let one = |bytes: &mut &[u8]| types().map(|ty| value_of(ty, bytes)).collect::<Vec<_>>();
        results.push(case.inputs.iter().map(|_| one(&mut bytes)).collect());
    }
    assert!(bytes.is_empty(), "there is more output than results");
    Ok(results)
}

/// Compiles the files and a main program.
pub fn build(
    folder: &Path,
    files: &Files,
    main: &str,
    compiler: &str,
    flags: &[&str],
) -> Result<PathBuf, String> {
    std::fs::write(folder.join("batch.h"), &files.header).unwrap();
    std::fs::write(folder.join("batch.c"), &files.source).unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    let program = folder.join("program");
    let output = Command::new(compiler)
        .args(STRICT)
        .args(flags)
        .args(["batch.c", "main.c", "-o"])
        .arg(&program)
        .current_dir(folder)
        .output()
        .unwrap();
    if !output.status.success() {
        let kept = std::env::temp_dir().join("cotan-c-failed.c");
        let _ = std::fs::write(&kept, &files.source);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let message: String = message.lines().take(40).map(|l| format!("{l}\n")).collect();
        return Err(format!("{compiler} refuses what is in {}:\n{message}", kept.display()));
    }
    Ok(program)
}

fn bytes_of(array: &Array, to: &mut Vec<u8>) {
    match array.dtype() {
        Dtype::F64 => array.iter::<f64>().unwrap().for_each(|x| to.extend(x.to_ne_bytes())),
        Dtype::F32 => array.iter::<f32>().unwrap().for_each(|x| to.extend(x.to_ne_bytes())),
        Dtype::I64 => array.iter::<i64>().unwrap().for_each(|x| to.extend(x.to_ne_bytes())),
        Dtype::Bool => array.iter::<bool>().unwrap().for_each(|x| to.push(u8::from(x))),
    }
}

fn value_of(ty: &Type, bytes: &mut &[u8]) -> Value {
    let numel = ty.shape.numel();
    let (mine, rest) = bytes.split_at(numel * ty.dtype.size());
    *bytes = rest;
    let eight = |b: &[u8]| <[u8; 8]>::try_from(b).unwrap();
    let shape: Shape = ty.shape.clone();
    let array = match ty.dtype {
        Dtype::F64 => {
            Array::from_vec(shape, mine.chunks(8).map(|b| f64::from_ne_bytes(eight(b))).collect())
        }
        Dtype::F32 => {
            let four = |b: &[u8]| f32::from_ne_bytes(b.try_into().unwrap());
            Array::from_vec(shape, mine.chunks(4).map(four).collect())
        }
        Dtype::I64 => {
            Array::from_vec(shape, mine.chunks(8).map(|b| i64::from_ne_bytes(eight(b))).collect())
        }
        Dtype::Bool => Array::from_vec(shape, mine.iter().map(|&b| b != 0).collect()),
    };
    Value::from(&array.unwrap())
}

//! The programs of the suite as C beside our own machine code:
//! `cargo run --release -p cotan-bench --example c_speed [--quick] [--cc COMPILER] [NAME ..]`.
//!
//! Every gradient is written as C, compiled with `-O3 -march=native`, and run by a process of its own,
//! which takes turns with us; one thread each, and the time that the processor gives. Results must agree.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cotan_array::{Array, Dtype};
use cotan_bench::Result;
use cotan_bench::function::{Engine, Function};
use cotan_bench::inputs::generate;
use cotan_bench::measure::{Clock, Contender, Effort, race};
use cotan_bench::suite::ALL;
use cotan_ir::{Program, Type};

fn main() -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    let (mut effort, mut compiler) = (Effort::FULL, String::from("gcc"));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => effort = Effort::QUICK,
            "--cc" => compiler = arguments.next().ok_or("--cc names a compiler")?,
            _ => names.push(argument),
        }
    }
    effort.clock = Clock::Processor;
    let folder = std::env::temp_dir().join(format!("cotan-c-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!("| case | ours, ms | C, ms | C / ours |\n|---|--:|--:|--:|");
    let mut logs = Vec::new();
    for benchmark in ALL {
        for case in benchmark.cases {
            let name = format!("{}/{}", benchmark.name, case.name);
            if !names.is_empty() && !names.iter().any(|n| name.contains(n.as_str())) {
                continue;
            }
            let inputs = generate(benchmark, case)?;
            let function = Function::measured(benchmark, case, &inputs, Engine::Machine)?;
            let arguments = function.arguments(&inputs)?;
            let ratio = compare(&function, &arguments, (&folder, &compiler), effort);
            match ratio {
                Ok((ours, theirs)) => {
                    let ratio = theirs / ours;
                    println!("| {name} | {:.3} | {:.3} | {ratio:.2} |", ours * 1e3, theirs * 1e3);
                    logs.push(ratio.ln());
                }
                Err(error) => println!("| {name} | {error} | | |"),
            }
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    println!("| geometric mean of {} | | | {mean:.2} |", logs.len());
    Ok(())
}

/// The seconds of a call, ours and those of C.
fn compare(
    function: &Function,
    arguments: &[Array],
    (folder, compiler): (&Path, &str),
    effort: Effort,
) -> Result<(f64, f64)> {
    let mut results = function.call(arguments)?;
    let mut process = Process::start(&function.program, arguments, folder, compiler)?;
    agree(&results, &std::fs::read(folder.join("results"))?)?;
    let ours = || function.call_into(arguments, &mut results, 1);
    let theirs = |calls: usize, _: Clock| process.run(calls);
    let mut contenders = [Contender::function(ours), Contender::new(Box::new(theirs))];
    race(&mut contenders, effort)?;
    let [ours, theirs] = contenders.map(|contender| contender.times.median());
    process.child.kill()?;
    process.child.wait()?;
    Ok((ours, theirs))
}

/// A program of C that calls the function as often as it is told.
struct Process {
    child: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
}

impl Process {
    fn start(
        program: &Program,
        arguments: &[Array],
        folder: &Path,
        compiler: &str,
    ) -> Result<Process> {
        let plan = cotan_c::plan(program, false).map_err(|why| why.0)?;
        let doc = String::from("A benchmark.");
        let name = String::from("f");
        let function = cotan_c::Function { name, program, plan: &plan, in_order: false, doc };
        let files = cotan_c::emit("f", &[function]).map_err(|error| error.to_string())?;
        std::fs::write(folder.join("f.h"), &files.header)?;
        std::fs::write(folder.join("f.c"), &files.source)?;
        std::fs::write(folder.join("main.c"), driver(program, &files.header))?;
        let mut bytes = Vec::new();
        arguments.iter().for_each(|array| bytes_of(array, &mut bytes));
        std::fs::write(folder.join("arguments"), bytes)?;
        let output = Command::new(compiler)
            .args(["-std=c11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"])
            .args(["f.c", "main.c", "-o", "f"])
            .current_dir(folder)
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let mut child = Command::new(folder.join("f"))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take().ok_or("no way to ask")?;
        let answer = BufReader::new(child.stdout.take().ok_or("no way to hear")?);
        let mut process = Process { child, ask, answer };
        process.run(1)?;
        Ok(process)
    }

    fn run(&mut self, calls: usize) -> Result<f64> {
        writeln!(self.ask, "{calls}")?;
        self.ask.flush()?;
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "double",
        Dtype::F32 => "float",
        Dtype::I64 => "int64_t",
        Dtype::Bool => "bool",
    }
}

/// Reads the arguments, and then, for each number that it is given, calls the function so many times.
fn driver(program: &Program, header: &str) -> String {
    let mut text = String::from(
        "#define _POSIX_C_SOURCE 200809L\n#include <stdio.h>\n#include <stdlib.h>\n\
         #include <string.h>\n#include <time.h>\n#include \"f.h\"\n\
         static double now(void)\n{\n    struct timespec t;\n    \
         clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);\n    \
         return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;\n}\n\
         int main(void)\n{\n    FILE *in = fopen(\"arguments\", \"rb\");\n",
    );
    let inputs = program.inputs().iter().map(|input| (true, &input.ty));
    let outputs = program.outputs().iter().map(|output| (false, program.ty(output.term)));
    let arrays: Vec<(bool, &Type)> = inputs.chain(outputs).collect();
    let mut args = Vec::new();
    for (n, (input, ty)) in arrays.iter().enumerate() {
        let (c, numel) = (c_type(ty.dtype), ty.shape.numel());
        // Aligned to lines of the cache, as our own arrays are.
        let bytes = (numel * ty.dtype.size()).next_multiple_of(64);
        let _ = writeln!(text, "    {c} *a{n} = aligned_alloc(64, {bytes});");
        if *input {
            let _ = writeln!(
                text,
                "    if (fread(a{n}, sizeof *a{n}, {numel}, in) != {numel}) return 1;"
            );
        }
        let star = if *input && ty.shape.rank() == 0 { "*" } else { "" };
        args.push(format!("{star}a{n}"));
    }
    if header.contains("f_workspace") {
        text.push_str(
            "    f_workspace *work = aligned_alloc(64, (sizeof *work + 63) / 64 * 64);\n    \
             memset(work, 0, sizeof *work);\n",
        );
        args.push("work".into());
    }
    let args = args.join(", ");
    let _ = writeln!(
        text,
        "    fclose(in);\n    int first = 1;\n    for (long calls; scanf(\"%ld\", &calls) == 1;) {{\n        \
         const double begin = now();\n        for (long n = 0; n < calls; ++n)\n            f({args});\n        \
         const double end = now();\n        if (first) {{\n            \
         FILE *out = fopen(\"results\", \"wb\");"
    );
    for (n, (_, ty)) in arrays.iter().enumerate().filter(|(_, (input, _))| !input) {
        let numel = ty.shape.numel();
        let _ = writeln!(text, "            fwrite(a{n}, sizeof *a{n}, {numel}, out);");
    }
    text.push_str(
        "            fclose(out);\n            first = 0;\n        }\n        \
         printf(\"%.9g\\n\", end - begin);\n        fflush(stdout);\n    }\n    return 0;\n}\n",
    );
    text
}

fn bytes_of(array: &Array, to: &mut Vec<u8>) {
    match array.dtype() {
        Dtype::F64 => {
            array.iter::<f64>().into_iter().flatten().for_each(|x| to.extend(x.to_ne_bytes()))
        }
        Dtype::F32 => {
            array.iter::<f32>().into_iter().flatten().for_each(|x| to.extend(x.to_ne_bytes()))
        }
        Dtype::I64 => {
            array.iter::<i64>().into_iter().flatten().for_each(|x| to.extend(x.to_ne_bytes()))
        }
        Dtype::Bool => {
            array.iter::<bool>().into_iter().flatten().for_each(|x| to.push(u8::from(x)))
        }
    }
}

/// Checks that results are close to ours.
fn agree(results: &[Array], found: &[u8]) -> Result<()> {
    let mut rest = found;
    for (n, array) in results.iter().enumerate() {
        let (mut largest, mut apart) = (0f64, 0f64);
        let mut see = |x: f64, y: f64| {
            largest = largest.max(x.abs());
            apart = if x.is_nan() != y.is_nan() { f64::INFINITY } else { apart.max((x - y).abs()) };
        };
        match array.dtype() {
            Dtype::F64 => {
                for x in array.iter::<f64>().into_iter().flatten() {
                    let (own, others) = rest.split_at(8);
                    rest = others;
                    see(x, f64::from_ne_bytes(own.try_into()?));
                }
            }
            Dtype::F32 => {
                for x in array.iter::<f32>().into_iter().flatten() {
                    let (own, others) = rest.split_at(4);
                    rest = others;
                    see(f64::from(x), f64::from(f32::from_ne_bytes(own.try_into()?)));
                }
            }
            Dtype::I64 | Dtype::Bool => {
                rest = rest.split_at(array.shape().numel() * array.dtype().size()).1;
            }
        }
        let tolerance = if array.dtype() == Dtype::F32 { 2e-4 } else { 1e-9 };
        if apart > tolerance * largest {
            return Err(format!("result {n} is {apart:e} apart, of {largest:e}").into());
        }
    }
    Ok(())
}

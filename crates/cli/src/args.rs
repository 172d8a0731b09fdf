//! The command line.
//!
//! Long because every option of every command stands here, in the order in which `--help` shows them.

mod explain;
mod tools;

pub use explain::{ExplainArgs, Stage};
pub use tools::*;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use cotan_pipeline::Derivative;

use crate::units::{assignment, bytes, duration};

const EXIT_CODES: &str = "\
Exit codes:
  0   success; also if derivatives cannot be checked (test: skipped, undecided)
  1   the program has errors, its arguments do not fit it, derivatives do not agree (test), or a
      file is not formatted (fmt --check)
  2   wrong usage: unknown options, missing arguments
  3   a file cannot be read or written, or has the wrong content
  4   a limit was reached: --limit-bytes, --timeout, or the size of a program (E0217)
  70  an internal error of cotan: please report it";

const START: &str = "\
Start with:
  cotan examples                        programs that come with cotan
  cotan run --example matmul            run one of them
  cotan test --example gradient_descent check the derivatives of one
  cotan explain --example histogram     see every stage of it";

/// Run and differentiate array programs that are written one element at a time
#[derive(Debug, Parser)]
#[command(name = "cotan", version, max_term_width = 100, after_help = START, after_long_help = format!("{START}\n\n{EXIT_CODES}"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// When to colour messages; NO_COLOR is respected
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    pub color: When,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum When {
    /// On a terminal
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check programs and report all errors
    #[command(after_help = "\
Every function is checked for all sizes at once. What is wrong for all sizes is an error; what is
wrong for some sizes is a note with the condition that they must satisfy, such as `n >= 10`. Notes do
not change the exit code.

Examples:
  cotan check model.ct
  cotan check examples/*.ct
  cotan check attention.ct --size d=64     only for d = 64")]
    Check(CheckArgs),

    /// Run a function of a program
    #[command(after_help = "\
Arguments are files, or expressions of the language. Whole numbers become floats where the
parameter is a float. Records and tuples are given whole, --arg p='{w = [1, 2], b = 3}', or by their
parts: --arg p.w=@w.npy --arg p.b=3
Sizes follow from the arguments; those that do not are given by --size. An integer that the program
uses as a size, or to end a recursion, is an argument like any other: --arg steps=8

Examples:
  cotan run --example matmul
  cotan run dot.ct --arg a='[1, 2, 3]' --arg b='[4, 5, 6]'
  cotan run matmul.ct --arg a=@a.npy --arg b=@b.npy --out c.npy
  cotan run model.ct --fn loss --npz inputs.npz --arg rate=0.1 --out out.npz
  cotan run fill.ct --size n=5 --arg x=2.5
  cotan run model.ct --fn loss --npz inputs.npz --engine xla --devices 8 --shard x=devices:0
  cotan run -e 'sum(iota(10))'")]
    Run(RunArgs),

    /// Compute the value of an expression
    #[command(after_help = "\
The same as `cotan run -e EXPR`.

Examples:
  cotan eval '6 * 7'
  cotan eval 'grad(x => sum(x ** 3))([1.0, 2.0])'
  cotan eval 'let a = iota(4) in a[:, None] * a' --out table.npy")]
    Eval(EvalArgs),

    /// Run a function of a program and compute its derivative
    #[command(after_help = "\
Values have the names of the results; gradients are named grad.x, Jacobians jac.value.x, Hessians
hess.x.y. Give the cotangents of vjp as --arg ct.value=..., the tangents of jvp and hvp as
--arg d.x=..., with the shapes of the values and parameters that they belong to.

Examples:
  cotan grad --example softmax --fn log_sum_exp --arg x='[1, 2]'
  cotan grad loss.ct --arg w='[1, 2, 3]' --arg x=@x.npy --wrt w
  cotan grad model.ct --fn loss --npz inputs.npz --wrt p,rate --out gradients.npz
  cotan grad f.ct --mode jacobian --arg x='[1, 2]'
  cotan grad f.ct --mode jvp --arg x='[1, 2]' --arg d.x='[1, 0]'")]
    Grad(GradArgs),

    /// Write a function, or its derivative, as StableHLO
    #[command(after_help = "\
StableHLO is the language that XLA, IREE and other compilers for accelerators read. The module has one
function, main, which takes and returns arrays in the order given by its comments. All sizes must be
known when the file is written: give those that do not follow from arguments with --size.

Examples:
  cotan export --example matmul --size m=64 --size k=64 --size n=64 -o matmul.mlir
  cotan export model.ct --fn loss --grad --size n=1000 -o loss.mlir
  cotan export model.ct --fn loss --grad --size n=1024 --mesh batch=8 --shard x=batch:0 -o loss.mlir")]
    Export(ExportArgs),

    /// Write a function, and its derivatives, as C
    #[command(after_help = "\
Writes DIR/NAME.c and DIR/NAME.h: C11 without dependencies and without allocation, for programs that
have to compute values and gradients themselves: controllers, games, firmware. The header documents
the parameters of each function. All sizes must be known when the files are written: give those that
do not follow from arguments with --size. See docs/c.md.

Examples:
  cotan build --example matmul --size m=8 --size k=8 --size n=8 --emit c -o out
  cotan build model.ct --fn loss --grad --size n=100 --emit c -o out
  cotan build model.ct --fn loss --grad --wrt w --mode jvp --size n=100 --emit c --name model_loss -o out
  gcc -std=c11 -O3 -march=native -fno-math-errno -c out/loss.c")]
    Build(BuildArgs),

    /// Check derivatives against forward mode and finite differences
    #[command(after_help = "\
Compares reverse mode with forward mode, with a scalar implementation and with finite differences,
for every function with float parameters and results. Sizes and values that are not given are drawn
at random. Functions of f32 are tested in f64, and then for rounding errors in f32.

A function is ok, FAILED (exit code 1), skipped, or undecided: at a kink or a jump, or where rounding
hides the derivative, differences cannot tell right from wrong. Undecided functions do not change the
exit code.

Examples:
  cotan test model.ct
  cotan test model.ct --fn loss --size n=7 --seed 3
  cotan test f.ct --arg x='[0.1, 0.2]'")]
    Test(TestArgs),

    /// Format programs
    #[command(after_help = "\
Comments are kept, and the meaning does not change. Files with errors are left unchanged.

Examples:
  cotan fmt model.ct
  cotan fmt --check examples/*.ct
  cat model.ct | cotan fmt -")]
    Fmt(FmtArgs),

    /// Show a program at every stage of compilation
    #[command(after_help = "\
Every stage but delta prints as a program, which you can save, edit and run.

Examples:
  cotan explain --example self_convolution
  cotan explain dot.ct --size n=5 --stage core
  cotan explain matmul.ct --size m=2 --size k=3 --size n=4 --stage bot --trace
  cotan explain dot.ct --size n=5 --stage bot > bulk.ct && cotan check bulk.ct
  cotan explain dot.ct --size n=5 --line 3
  cotan explain dot.ct --size n=5 --why optimised:12
  cotan explain dot.ct --size n=5 --html dot.html")]
    Explain(ExplainArgs),

    /// Explain an error code
    #[command(after_help = "\
Examples:
  cotan error E0007
  cotan error            list all codes")]
    Error(ErrorArgs),

    /// Show the table of scalar operations
    #[command(after_help = "\
In derivatives a, b, c are the arguments and y is the result.

Examples:
  cotan operations
  cotan operations pow tanh")]
    Operations(NamesArgs),

    /// List the builtin functions of the language
    #[command(after_help = "\
Examples:
  cotan builtins
  cotan builtins fold scan")]
    Builtins(NamesArgs),

    /// Show the rules of the bulk-operation transform, or of the optimiser
    #[command(after_help = "\
Examples:
  cotan rules
  cotan rules --optimiser
  cotan rules --markdown > rules.md")]
    Rules(RulesArgs),

    /// List the programs that come with cotan, or print one
    #[command(after_help = "\
Examples:
  cotan examples
  cotan examples histogram > histogram.ct")]
    Examples(ExamplesArgs),

    /// Type expressions and definitions, and see what they give
    #[cfg(feature = "repl")]
    #[command(after_help = "\
Definitions can be given again; `let x = 2.0` keeps a value, and `it` is the last one. Ctrl-C ends an
evaluation, Ctrl-D the session; :help lists the commands. See docs/tools.md.

Examples:
  cotan repl
  cotan repl model.ct                   with the definitions of a program
  echo 'sum(iota(10))' | cotan repl")]
    Repl(ReplArgs),

    /// Check a program, and run it, whenever it is saved
    #[command(after_help = "\
The program is run if it can be: if the options give what the function takes. Imports are watched,
too. Ctrl-C ends it.

Examples:
  cotan watch model.ct
  cotan watch model.ct --fn loss --npz inputs.npz
  cotan watch model.ct --check")]
    Watch(WatchArgs),

    /// Measure the value and the gradient of a function, also of two programs side by side
    #[command(after_help = "\
Times are by the clock, the least of many runs that take turns. Floats that are not given are drawn at
random; sizes that are not given are --length. Shares are of what this machine can do, which is
measured once and kept.

Examples:
  cotan bench --example matmul
  cotan bench before.ct after.ct --fn loss --size n=4096
  cotan bench model.ct --npz inputs.npz --json")]
    Bench(BenchArgs),

    /// Draw a function of one number with its derivative, or of two with level sets and gradients
    #[command(after_help = "\
Numbers that are given no value are what is drawn over, from -3 to 3 unless --range says otherwise.

Examples:
  cotan plot curve.ct --fn f --range x=0..10
  cotan plot fit.ct --fn model --arg a=1.5 --data points.csv --svg fit.svg
  cotan plot surface.ct --fn f --range x=-2..2 --range y=-1..3 --svg levels.svg")]
    Plot(PlotArgs),

    /// Measure where the time goes: by kernel and by line of the source, value and gradient apart
    #[command(after_help = "\
The program runs again and again for the given time while a thread looks a thousand times a second at
what is at work. Shares are of what this machine can do, which is measured once and kept.

Examples:
  cotan profile --example matmul --length 512
  cotan profile model.ct --fn loss --size n=4096
  cotan profile model.ct --npz inputs.npz --flame profile.svg")]
    Profile(ProfileArgs),

    /// Serve an editor: messages, types, completion and more
    #[cfg(feature = "lsp")]
    #[command(after_help = "\
Speaks the language server protocol on standard input and output. See docs/tools.md for how editors
start it.")]
    Lsp(LspArgs),

    /// Answer the messages of a GradBench eval
    #[command(after_help = "\
Reads messages from standard input, a line of JSON each, and answers each with a line.

Examples:
  gradbench run --eval 'gradbench repo eval gmm' --tool 'cotan gradbench'
  echo '{\"id\": 0, \"kind\": \"define\", \"module\": \"gmm\"}' | cotan gradbench")]
    Gradbench(GradbenchArgs),

    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  cotan completions bash > ~/.local/share/bash-completion/completions/cotan
  cotan completions zsh > ~/.zfunc/_cotan
  cotan completions fish > ~/.config/fish/completions/cotan.fish")]
    Completions(CompletionsArgs),

    /// Write manual pages
    #[command(after_help = "\
One page for `cotan` and one for each of its commands. Then `man cotan` and `man cotan-run` show them.

Examples:
  cotan man ~/.local/share/man/man1")]
    Man(ManArgs),
}

/// Which program.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SourceArgs {
    /// The program, a .ct file; - for standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// A program that comes with cotan (see `cotan examples`)
    #[arg(long, value_name = "NAME")]
    pub example: Option<String>,

    /// An expression as the program: -e 'sum(iota(10))'
    #[arg(short = 'e', long = "expr", value_name = "EXPR", allow_hyphen_values = true)]
    pub expr: Option<String>,
}

/// What a program may import.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Allow imports from this folder and below, besides the program's own folder; may be given
    /// several times
    #[arg(long, value_name = "DIR")]
    pub allow_imports: Vec<PathBuf>,

    /// Look in this folder for imports that are not beside the importing file; may be given several
    /// times, and the folders of COTAN_PATH come after
    #[arg(long, value_name = "DIR")]
    pub include: Vec<PathBuf>,
}

/// Which function, and at which sizes.
#[derive(Debug, Args)]
pub struct FunctionArgs {
    /// The function [default: main, or the only one]
    #[arg(long = "fn", value_name = "NAME")]
    pub function: Option<String>,

    /// Set a size parameter, or an integer parameter as a compile-time constant
    #[arg(long = "size", value_name = "NAME=K", value_parser = size)]
    pub sizes: Vec<(String, i64)>,
}

/// Values for parameters.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// A parameter's value: a .npy file (a=@a.npy) or an expression (a='[1, 2, 3]')
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = assignment)]
    pub args: Vec<(String, String)>,

    /// Values for the parameters by name, from a .npz file; --arg takes precedence
    #[arg(long, value_name = "FILE")]
    pub npz: Option<PathBuf>,
}

/// A function of a program, and its arguments.
#[derive(Debug, Args)]
pub struct CallArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub imports: ImportArgs,
    #[command(flatten)]
    pub function: FunctionArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct BackendArgs {
    /// The backend that runs the program [default: jit, or the value of COTAN_BACKEND]
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<Backend>,
}

/// What runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Optimised machine code where available
    Jit,
    /// The optimised program on the tile machine: the same results to the last bit
    Vm,
    /// The reference interpreter, without optimisation: defines what the program means
    Interp,
}

/// How much a run may take.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArgs {
    /// Limit on the memory for arrays
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "4GiB")]
    pub limit_bytes: u64,

    /// Stop after this time: 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The programs; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Check with this size, or integer parameter, instead of all [default: all sizes]
    #[arg(long = "size", value_name = "NAME=K", value_parser = size)]
    pub sizes: Vec<(String, i64)>,

    #[command(flatten)]
    pub imports: ImportArgs,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// Write the results to a .npz file, or a single result to a .npy file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Report indices out of range, and which results depend on what was read there; the program is
    /// interpreted
    #[arg(long)]
    pub poison: bool,

    /// Say which operation made the first NaN or infinity of the results, with its line and its
    /// operands; the program is interpreted
    #[arg(long)]
    pub trace_nan: bool,

    /// Interpret the output of the bulk-operation transform instead of the program
    #[arg(long)]
    pub bulk: bool,

    /// Report operation counts; the program is run by the interpreter
    #[arg(long)]
    pub counts: bool,

    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The expression
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expr: String,

    /// Write the results to a .npz file, or a single result to a .npy file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct GradArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// Differentiate with respect to these parameters, or parts of them: w,p.b [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,

    /// What to compute
    #[arg(long, value_name = "MODE", default_value = "grad", value_parser = derivative())]
    pub mode: Derivative,

    /// With --mode jacobian or hessian: only the entries that can differ from 0, in compressed rows
    /// (data, indices, indptr, shape)
    #[arg(long, conflicts_with_all = ["counts", "engine"])]
    pub sparse: bool,

    /// Write the results to a .npz file, or a single result to a .npy file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Say which operation made the first NaN or infinity of the value or the derivative, with its
    /// line and its operands; the program is interpreted
    #[arg(long)]
    pub trace_nan: bool,

    /// Report operation counts; the program is run by the interpreter
    #[arg(long)]
    pub counts: bool,

    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// Write the value and the gradient instead of the function
    #[arg(long, conflicts_with = "mode")]
    pub grad: bool,

    /// Write another derivative instead of the function
    #[arg(long, value_name = "MODE", value_parser = derivative())]
    pub mode: Option<Derivative>,

    /// Differentiate with respect to these parameters, or parts of them: w,p.b [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,

    /// The file to write [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Take for granted that factors of derivatives are finite: zeros need not annihilate infinities,
    /// so no matrix product has to look for them
    #[arg(long)]
    pub assume_finite: bool,

    /// Leave out the optimiser
    #[arg(long)]
    pub unoptimised: bool,

    #[command(flatten)]
    pub shards: ShardArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// The language to write
    #[arg(long, value_name = "LANGUAGE")]
    pub emit: Emit,

    /// The folder for the files, made if it is not there
    #[arg(short = 'o', long, value_name = "DIR")]
    pub out: PathBuf,

    /// The name of the function in C, and of the files [default: that of the function, or of the program
    /// if it is main]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Write the value and the gradient, too, as NAME_grad
    #[arg(long)]
    pub grad: bool,

    /// Write another derivative, too, as NAME_MODE; may be given several times
    #[arg(long, value_name = "MODE", value_parser = derivative())]
    pub mode: Vec<Derivative>,

    /// Differentiate with respect to these parameters, or parts of them: w,p.b [default: all floats]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub wrt: Vec<String>,

    /// Sum from the first element to the last: slower, and the results of the interpreter to the last bit
    #[arg(long)]
    pub in_order: bool,

    #[command(flatten)]
    pub limits: LimitArgs,
}

/// A language that programs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// C11: a header and a source file
    C,
}

/// How arrays lie on many devices.
#[derive(Debug, Args)]
pub struct ShardArgs {
    /// The axes of a mesh of devices: batch=8, or batch=2,model=4
    #[arg(long, value_name = "AXIS=N", value_delimiter = ',', value_parser = size)]
    pub mesh: Vec<(String, i64)>,

    /// Cut an input or a result along axes of the mesh: x=batch:0 for its axis 0, x=batch:0,model:1
    /// for two
    #[arg(long, value_name = "NAME=AXIS:K", value_parser = shard)]
    pub shard: Vec<(String, Vec<(String, usize)>)>,
}

/// Another engine than ours.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// Run the program by another engine; see `docs/xla.md` for how to install it
    #[arg(long, value_name = "ENGINE", conflicts_with = "backend")]
    pub engine: Option<Engine>,

    /// The number of devices; on a CPU, the number of simulated devices
    #[arg(long, value_name = "N", requires = "engine", default_value_t = 1)]
    pub devices: usize,

    /// The number of processes that share the devices, on this machine
    #[arg(long, value_name = "N", requires = "engine", default_value_t = 1)]
    pub processes: usize,

    #[command(flatten)]
    pub shards: ShardArgs,
}

/// Engines that are not part of cotan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// XLA, through a Python with jaxlib
    Xla,
}

#[derive(Debug, Args)]
pub struct TestArgs {
    #[command(flatten)]
    pub call: CallArgs,

    /// The seed of random values
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// How long to test each function; what has been found by then is reported
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "20s")]
    pub time: Duration,

    /// How long to test all functions together; those that are left then are told
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub total: Duration,

    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
pub struct FmtArgs {
    /// The programs; - for standard input, which goes to standard output
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Only list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct ErrorArgs {
    /// The code, such as E0007 [default: list all]
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
pub struct NamesArgs {
    /// Only these
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Show the rules of the optimiser
    #[arg(long)]
    pub optimiser: bool,

    /// Print a Markdown document with the report's rules beside ours
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct ExamplesArgs {
    /// Print this one [default: list all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct GradbenchArgs {
    /// The number of threads a function may use
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: usize,

    /// Use one thread per processor
    #[arg(long, conflicts_with = "threads")]
    pub multithreaded: bool,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder to write them to; it is made if it is not there
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

fn derivative() -> impl TypedValueParser<Value = Derivative> {
    let names = Derivative::ALL.iter().map(|d| d.name());
    PossibleValuesParser::new(names).try_map(|name| {
        Derivative::from_name(&name).ok_or_else(|| format!("there is no derivative `{name}`"))
    })
}

fn size(text: &str) -> Result<(String, i64), String> {
    let (name, value) = assignment(text)?;
    let value = value.parse().map_err(|_| format!("`{value}` is not a whole number; write n=5"))?;
    Ok((name, value))
}

/// `NAME=AXIS:K,AXIS:K`; nothing after the `=` for a copy on each device.
fn shard(text: &str) -> Result<(String, Vec<(String, usize)>), String> {
    let (name, cuts) = assignment(text)?;
    let cut = |cut: &str| {
        let parts = cut.split_once(':').and_then(|(axis, k)| Some((axis, k.parse().ok()?)));
        let (axis, k) = parts.ok_or_else(|| {
            format!("`{cut}` is not an axis of the mesh and one of the array; write x=batch:0")
        })?;
        Ok((axis.to_owned(), k))
    };
    let cuts = cuts.split(',').filter(|cut| !cut.is_empty()).map(cut);
    Ok((name, cuts.collect::<Result<_, String>>()?))
}

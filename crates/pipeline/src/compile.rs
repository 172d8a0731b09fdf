//! From a program to something that runs: all passes, in one list.

use std::borrow::Cow;
use std::ffi::OsString;

use cotan_cpu::{Engine, Executable, Unsupported, host};
use cotan_ir::{Error, ErrorKind, Node, Program, Result};
use cotan_nest::{Plan, check_memory};
use cotan_schedule::{Placements, PlanDraft, Schedule, Target};

use crate::derivative::{Derivative, derive_owned};

/// What runs a compiled function.
///
/// The environment variable `COTAN_BACKEND`, read once, chooses: `jit` (the default), `vm` or
/// `interp`. The first two give the same results to the last bit. With any other value nothing
/// compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Loop nests in machine code, in memory that was planned: fastest. Where the instructions or
    /// executable memory are missing, the tile machine runs them.
    Native,
    /// Loop nests over tiles of elements, in the same memory.
    Machine,
    /// The reference interpreter, element by element: slow. It also runs what the machine cannot.
    Interpreter,
}

impl Backend {
    /// The environment variable that chooses.
    pub const VARIABLE: &'static str = "COTAN_BACKEND";

    /// The one that the environment chooses, or what it says instead.
    pub fn chosen() -> std::result::Result<Backend, OsString> {
        let engine = Engine::from_environment()?;
        Ok(engine.map_or(Backend::Interpreter, Backend::from))
    }

    fn engine(self) -> Option<Engine> {
        match self {
            Backend::Native => Some(Engine::Native),
            Backend::Machine => Some(Engine::Machine),
            Backend::Interpreter => None,
        }
    }
}

impl From<Engine> for Backend {
    fn from(engine: Engine) -> Backend {
        match engine {
            Engine::Native => Backend::Native,
            Engine::Machine => Backend::Machine,
        }
    }
}

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// What is compiled instead of the program: a derivative, by some of its inputs.
    pub derivative: Option<(Derivative, Option<Vec<usize>>)>,
    /// The rules of the optimiser.
    pub rules: cotan_opt::Options,
    /// What runs it.
    pub backend: Backend,
    /// Whether sums are taken from the first element to the last, as the reference interpreter does.
    pub in_order: bool,
    /// The machine that it is planned for.
    pub target: Target,
    /// Whether the program that runs becomes an outline ([`Program::outline`]) as soon as its plan is
    /// begun: a long program takes much memory, and so does its plan.
    pub outline: bool,
}

impl CompileOptions {
    /// The program itself, with all rules, for this machine.
    pub fn new(backend: Backend) -> CompileOptions {
        let rules = cotan_opt::Options::default();
        let target = host();
        CompileOptions { derivative: None, rules, backend, in_order: false, target, outline: false }
    }
}

/// A program on its way, in the form that a pass leaves.
#[derive(Debug)]
pub enum Form<'a> {
    /// A program of the core language.
    Program(Cow<'a, Program>),
    /// The program, and what becomes of each of its nodes.
    Placed(Program, Box<Placements>),
    /// The program, and the loop nests that compute it.
    Plan(Program, Plan),
    /// The program, and its nests in groups with blocks and loop orders.
    Schedule(Program, Box<Schedule>),
    /// The program, ready to run.
    Executable(Program, Executable),
    /// The program, which has no plan, and why: it is for the interpreter.
    Interpreted(Program, Option<Unsupported>),
}

impl Form<'_> {
    /// Whether it keeps the invariants of its language; buffers have places if so said.
    fn check(&self, placed: bool) -> std::result::Result<(), String> {
        match self {
            Form::Program(program) => program.check().map_err(|error| error.to_string()),
            Form::Placed(program, placements) => placements.check(program),
            Form::Plan(_, plan) => plan.check().map_err(|fault| fault.to_string()),
            Form::Schedule(_, schedule) => {
                schedule.check()?;
                let Schedule { buffers, steps, arena, .. } = &**schedule;
                let memory = if placed { check_memory(buffers, steps, *arena) } else { Ok(()) };
                memory.map_err(|fault| fault.to_string())
            }
            Form::Executable(..) | Form::Interpreted(..) => Ok(()),
        }
    }
}

/// A step of compilation.
#[derive(Clone, Copy)]
pub struct CompilePass {
    /// What `cotan explain --stage` calls what it leaves.
    pub name: &'static str,
    /// What it leaves, in one line.
    pub description: &'static str,
    run: for<'a> fn(Form<'a>, &CompileOptions) -> Result<Form<'a>>,
}

/// The passes: what each leaves, and the function that makes it of what the one before has left.
macro_rules! passes {
    ($($constant:ident $name:literal $run:path, $description:literal;)*) => {
        impl CompilePass {
            /// All passes, in the order in which they run.
            pub const ALL: &'static [CompilePass] = &[$(CompilePass::$constant),*];

            $(#[doc = $description]
            pub const $constant: CompilePass =
                CompilePass { name: $name, description: $description, run: $run };)*
        }
    };
}

passes! {
    TRANSFORM "bot" transform, "Bulk operations: no build is left";
    DIFFERENTIATE "gradient" differentiate, "Value and gradient, with their cost";
    OPTIMISE "optimised" optimise, "Value and gradient after optimisation, with the rules that fired";
    PLACE "placements" place, "What becomes of each node: which arrays are made, and how";
    LOWER "nests" lower, "The plan: the loop nests that make the arrays";
    SCHEDULE "kernels" schedule, "The loop nests of the value and of the value with its gradient";
    MEMORY "memory" plan_memory, "The memory plan: which arrays are stored, and where";
    CODE "code" generate, "Kernels and machine code";
}

/// A program, compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program that runs, optimised.
    pub program: Program,
    /// What runs it; none if the interpreter does.
    pub executable: Option<Executable>,
    /// Why the interpreter runs it, if it was not asked to.
    pub unsupported: Option<Unsupported>,
}

/// Compiles a program by all passes of [`CompilePass::ALL`].
///
/// Of the programs on the way at most two are in memory, and only one if this one is owned.
pub fn compile(program: Cow<'_, Program>, options: &CompileOptions) -> Result<Compiled> {
    Ok(match compile_to(program, options, None)? {
        Form::Executable(program, executable) => {
            Compiled { program, executable: Some(executable), unsupported: None }
        }
        Form::Interpreted(program, unsupported) => {
            Compiled { program, executable: None, unsupported }
        }
        Form::Program(_) | Form::Placed(..) | Form::Plan(..) | Form::Schedule(..) => {
            return Err(Error::internal("compilation has not come to its end"));
        }
    })
}

/// What the passes up to one of a given name leave; of all of them if there is no name.
pub fn compile_to<'a>(
    program: Cow<'a, Program>,
    options: &CompileOptions,
    last: Option<&str>,
) -> Result<Form<'a>> {
    let mut form = Form::Program(program);
    for pass in CompilePass::ALL {
        form = (pass.run)(form, options)?;
        if cfg!(debug_assertions)
            && let Err(fault) = form.check(pass.name == CompilePass::MEMORY.name)
        {
            return Err(Error::internal(format!("after {}: {fault}", pass.name)));
        }
        if last == Some(pass.name) {
            break;
        }
    }
    Ok(form)
}

/// The bulk-operation transform, where there is something to transform.
fn transform<'a>(form: Form<'a>, _: &CompileOptions) -> Result<Form<'a>> {
    let Form::Program(program) = form else { return Ok(form) };
    let elementwise = |t| matches!(program.node(t), Node::Build1(_) | Node::Index(..));
    if !program.terms().any(elementwise) {
        return Ok(Form::Program(program));
    }
    let bulk = cotan_bot::bulk(&program, &cotan_bot::Options::default())?.0;
    Ok(Form::Program(Cow::Owned(bulk)))
}

fn differentiate<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Some((derivative, by)) = &options.derivative else { return Ok(form) };
    let Form::Program(program) = form else { return Ok(form) };
    let derived = derive_owned(program.into_owned(), *derivative, by.as_deref())?;
    Ok(Form::Program(Cow::Owned(derived)))
}

fn optimise<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Program(program) = form else { return Ok(form) };
    let (optimised, _) = match program {
        Cow::Owned(program) => cotan_opt::optimise_owned(program, &options.rules)?,
        Cow::Borrowed(program) => cotan_opt::optimise(program, &options.rules)?,
    };
    Ok(Form::Program(Cow::Owned(optimised)))
}

/// Decides which arrays are made, and how.
fn place<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Program(program) = form else { return Ok(form) };
    let program = program.into_owned();
    if options.backend == Backend::Interpreter {
        return Ok(Form::Interpreted(program, None));
    }
    match Placements::of(&program, options.in_order, &options.target) {
        Ok(placements) => Ok(Form::Placed(program, Box::new(placements))),
        Err(why) => interpreted(program, why),
    }
}

/// Makes the nests of what is made.
fn lower<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Placed(program, placements) = form else { return Ok(form) };
    let draft = match PlanDraft::placed(&program, &placements, &options.target) {
        Ok(draft) => draft,
        Err(why) => return interpreted(program, why),
    };
    drop(placements);
    let program = if options.outline { program.outline() } else { program };
    Ok(Form::Plan(program, draft.finish(&options.target)))
}

/// Decides which nests are run together, in which blocks and with which loops.
fn schedule<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Plan(program, plan) = form else { return Ok(form) };
    match Schedule::of_plan(plan, options.in_order, &options.target) {
        Ok(schedule) => Ok(Form::Schedule(program, Box::new(schedule))),
        Err(why) if options.outline => too_large(why),
        Err(why) => interpreted(program, why),
    }
}

fn plan_memory<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Schedule(program, mut schedule) = form else { return Ok(form) };
    schedule.place_buffers(&options.target);
    Ok(Form::Schedule(program, schedule))
}

fn generate<'a>(form: Form<'a>, options: &CompileOptions) -> Result<Form<'a>> {
    let Form::Schedule(program, schedule) = form else { return Ok(form) };
    let Some(engine) = options.backend.engine() else {
        return Ok(Form::Interpreted(program, None));
    };
    match Executable::from_schedule(*schedule, options.in_order, engine) {
        Ok(executable) => Ok(Form::Executable(program, executable)),
        Err(why) if options.outline => too_large(why),
        Err(why) => interpreted(program, why),
    }
}

/// An outline cannot be interpreted.
fn too_large<'a>(why: Unsupported) -> Result<Form<'a>> {
    match why {
        Unsupported::STOPPED => Err(Error::new(ErrorKind::Deadline, "plan", "out of time")),
        Unsupported(why) => Err(Error::new(ErrorKind::Limit, "plan", why)),
    }
}

/// A program without a plan; an error if there was no time for one.
fn interpreted<'a>(program: Program, why: Unsupported) -> Result<Form<'a>> {
    match why {
        Unsupported::STOPPED => Err(Error::new(ErrorKind::Deadline, "plan", "out of time")),
        why => Ok(Form::Interpreted(program, Some(why))),
    }
}

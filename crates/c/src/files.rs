//! The two files.

use cotan_array::{Array, Dtype};
use cotan_ir::{Program, Type};
use cotan_nest::{BufferId, Nest, Plan, Role, Step};
use rustc_hash::FxHashMap;

use crate::contract::Tiles;
use crate::layout::Layout;
use crate::literal::{of_bits, type_of};
use crate::names::{Names, refusal};
use crate::scalar::Library;
use crate::steps::{Emitter, constant_name};
use crate::writer::{Writer, comment};
use crate::{Error, Function};

/// A header and a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// What is to be called `STEM.h`.
    pub header: String,
    /// What is to be called `STEM.c`; it includes the header.
    pub source: String,
}

/// What both files say about a function.
struct Made {
    parameters: Vec<Parameter>,
    workspace: Vec<String>,
    bytes: usize,
    doc: String,
}

struct Parameter {
    name: String,
    declaration: String,
    about: String,
}

/// Writes functions as the files `stem.h` and `stem.c`.
///
/// Fails if a name cannot be one of C, or if there are two functions of one name.
pub fn emit(stem: &str, functions: &[Function<'_>]) -> Result<Files, Error> {
    let mut library = Library::default();
    let (mut bodies, mut made) = (String::new(), Vec::new());
    for (n, function) in functions.iter().enumerate() {
        check_name(&function.name)?;
        if functions[..n].iter().any(|other| other.name == function.name) {
            return Err(Error::new(format!("two functions are called `{}`", function.name)));
        }
        let (one, body) = write_function(function, &mut library)?;
        bodies.push_str(&body);
        made.push(one);
    }
    let header = header(stem, functions, &made);
    let mut source = Writer::default();
    source.line(format_args!("/* {stem}.c: written by cotan; do not edit. See {stem}.h. */"));
    source.line("");
    source.line(format_args!("#include \"{stem}.h\""));
    source.line("");
    let mut source = source.finish();
    source.push_str(PRELUDE);
    source.push_str(&library.text());
    source.push_str(&bodies);
    Ok(Files { header, source })
}

fn check_name(name: &str) -> Result<(), Error> {
    match refusal(name) {
        None => Ok(()),
        Some(why) => {
            Err(Error::new(format!("a function of C cannot be called `{name}`: it {why}"))
                .with_hint("choose another name; the command takes --name"))
        }
    }
}

/// How the compiler has to read the file: as IEEE 754 says, and no product rounded with a sum unless
/// that is written.
const PRELUDE: &str = r#"#include <float.h>

#if FLT_EVAL_METHOD != 0
#error "floating-point arithmetic has to be that of the types: on old x86 use -msse2 -mfpmath=sse"
#endif
#ifdef __FAST_MATH__
#error "results would not be those of the program: compile this file without -ffast-math"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-trapping-math")
#else
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#endif

"#;

fn write_function(function: &Function<'_>, library: &mut Library) -> Result<(Made, String), Error> {
    let Function { name, program, plan, .. } = function;
    let room = rooms(plan);
    let layout =
        Layout::of(plan, crate::target().alignment, |dtype| room.get(&dtype).copied().unwrap_or(0));
    let layout = layout.ok_or_else(|| {
        Error::new(format!("`{name}` needs more memory than there are addresses"))
    })?;
    let mut names = Names::default();
    let inputs: Vec<String> = program.inputs().iter().map(|i| names.fresh(&i.name)).collect();
    let outputs: Vec<String> = program.outputs().iter().map(|o| names.fresh(&o.name)).collect();
    let mut emitter = Emitter {
        name,
        program,
        plan,
        layout: &layout,
        in_order: function.in_order,
        library,
        inputs: &inputs,
        outputs: &outputs,
        functions: Writer::default(),
        pointers: FxHashMap::default(),
        count: 0,
    };
    let mut body = Writer::default().nested(1);
    emitter.steps(&plan.steps, &mut body);
    let functions = std::mem::take(&mut emitter.functions).finish();
    let parameters = parameters(program, &inputs, &outputs);
    let (workspace, bytes) = (layout.members(), layout.bytes());
    let mut w = Writer::default();
    for (n, buffer) in plan.buffers.iter().enumerate() {
        let b = BufferId(n as u32);
        if let Role::Constant(array) = &buffer.role
            && (functions_mention(&body, name, b))
        {
            constant(name, b, array, library, &mut w);
        }
    }
    let mut text = w.finish();
    text.push_str(&functions);
    let mut w = Writer::default();
    w.line(format_args!("void {name}({})", list(&parameters, name, !workspace.is_empty())));
    w.line("{");
    for parameter in parameters.iter().filter(|p| !body.mentions(&p.name)) {
        w.line(format_args!("    (void){};", parameter.name));
    }
    if !workspace.is_empty() && !body.mentions("work") {
        w.line("    (void)work;");
    }
    w.append(&body);
    w.line("}");
    w.line("");
    text.push_str(&w.finish());
    Ok((Made { parameters, workspace, bytes, doc: function.doc.clone() }, text))
}

fn functions_mention(body: &Writer, name: &str, b: BufferId) -> bool {
    body.mentions(&constant_name(name, b))
}

/// The elements of each type that copies of operands need, at most.
fn rooms(plan: &Plan) -> FxHashMap<Dtype, usize> {
    let mut rooms = FxHashMap::default();
    let mut open: Vec<&[Step<Nest>]> = vec![&plan.steps];
    while let Some(steps) = open.pop() {
        for step in steps {
            match step {
                Step::Contract(draft) => {
                    let (core, _) = draft.core.clone().collapse(None);
                    if let Some(tiles) = Tiles::of(draft, &core) {
                        let room = rooms.entry(tiles.dtype()).or_insert(0);
                        *room = tiles.room().max(*room);
                    }
                }
                Step::Loop(l) => open.push(&l.steps),
                Step::While(w) => open.extend([&w.before[..], &w.body.steps]),
                Step::If(branches) => open.extend([&branches.then[..], &branches.otherwise]),
                Step::Compute(_) | Step::Scalars(_) | Step::Zero(_) => {}
                Step::Copy { .. } | Step::ArgSort { .. } => {}
                Step::SegmentArg(_) | Step::Routine(_) => {}
            }
        }
    }
    rooms
}

fn parameters(program: &Program, inputs: &[String], outputs: &[String]) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for (input, name) in program.inputs().iter().zip(inputs) {
        let ty = type_of(input.ty.dtype);
        let declaration = match input.ty.shape.rank() {
            0 => format!("{ty} {name}"),
            _ => format!("const {ty} *COTAN_RESTRICT {name}"),
        };
        let about = format!("in:  {}", about(&input.ty, &input.name));
        parameters.push(Parameter { name: name.clone(), declaration, about });
    }
    for (output, name) in program.outputs().iter().zip(outputs) {
        let ty = program.ty(output.term);
        let declaration = format!("{} *COTAN_RESTRICT {name}", type_of(ty.dtype));
        let about = format!("out: {}", about(ty, &output.name));
        parameters.push(Parameter { name: name.clone(), declaration, about });
    }
    parameters
}

/// What an array is, in words.
fn about(ty: &Type, name: &str) -> String {
    let ty_name = type_of(ty.dtype);
    let shape: String = ty.shape.dims().iter().map(|k| format!("[{k}]")).collect();
    let elements = match ty.shape.rank() {
        0 => ty_name.to_owned(),
        1 => format!("{ty_name}{shape}"),
        _ => format!("{ty_name}{shape}, {} elements, row by row", ty.shape.numel()),
    };
    if name.is_empty() { elements } else { format!("{elements} ({})", comment(name)) }
}

fn list(parameters: &[Parameter], name: &str, works: bool) -> String {
    let mut all: Vec<String> = parameters.iter().map(|p| p.declaration.clone()).collect();
    if works {
        all.push(format!("{name}_workspace *COTAN_RESTRICT work"));
    }
    if all.is_empty() { "void".into() } else { all.join(", ") }
}

/// The elements of a constant.
fn constant(function: &str, b: BufferId, array: &Array, library: &mut Library, w: &mut Writer) {
    /// Elements of a line.
    const PER_LINE: usize = 8;
    let bits: Vec<u64> = match array.dtype() {
        Dtype::F64 => array.iter::<f64>().into_iter().flatten().map(|x| x.to_bits()).collect(),
        Dtype::F32 => {
            array.iter::<f32>().into_iter().flatten().map(|x| u64::from(x.to_bits())).collect()
        }
        Dtype::I64 => array.iter::<i64>().into_iter().flatten().map(|x| x as u64).collect(),
        Dtype::Bool => array.iter::<bool>().into_iter().flatten().map(u64::from).collect(),
    };
    let (ty, dtype) = (type_of(array.dtype()), array.dtype());
    let name = constant_name(function, b);
    let finite = |bits: u64| !of_bits(bits, dtype).contains("cotan");
    if !bits.iter().all(|&bits| finite(bits)) {
        library.need("constants");
    }
    w.open(format_args!("static const {ty} {name}[{}] = {{", bits.len().max(1)));
    if bits.is_empty() {
        w.line(of_bits(0, dtype));
    }
    for part in bits.chunks(PER_LINE) {
        let texts: Vec<String> = part.iter().map(|&bits| of_bits(bits, dtype)).collect();
        w.line(format_args!("{},", texts.join(", ")));
    }
    w.close("};");
    w.line("");
}

fn header(stem: &str, functions: &[Function<'_>], made: &[Made]) -> String {
    let guard = format!("COTAN_{}_H", crate::names::identifier(stem).to_uppercase());
    let mut w = Writer::default();
    w.line(format_args!("/* {stem}.h: written by cotan; do not edit."));
    w.line("");
    w.line(
        "   Arrays are dense, the last index fastest, and must not overlap. Nothing is allocated,",
    );
    w.line("   and nothing is kept from one call to the next: a function may run in several threads at");
    w.line("   once, each with a workspace of its own, which need not be initialised. */");
    w.line("");
    w.line(format_args!("#ifndef {guard}"));
    w.line(format_args!("#define {guard}"));
    w.line("");
    w.line("#include <stdbool.h>");
    w.line("#include <stddef.h>");
    w.line("#include <stdint.h>");
    w.line("");
    w.line("#ifndef COTAN_RESTRICT");
    w.line("#ifdef __cplusplus");
    w.line("#define COTAN_RESTRICT");
    w.line("#else");
    w.line("#define COTAN_RESTRICT restrict");
    w.line("#endif");
    w.line("#endif");
    w.line("");
    w.line("#ifdef __cplusplus");
    w.line("extern \"C\" {");
    w.line("#endif");
    for (function, made) in functions.iter().zip(made) {
        let name = &function.name;
        w.line("");
        if !made.workspace.is_empty() {
            let bytes = made.bytes;
            w.line(format_args!("/* The memory that a call of {name} works in: {bytes} bytes. */"));
            w.open("typedef struct {");
            made.workspace.iter().for_each(|member| w.line(member));
            w.close(format_args!("}} {name}_workspace;"));
            w.line("");
            let upper = name.to_uppercase();
            w.line(format_args!("#define {upper}_WORKSPACE_BYTES sizeof({name}_workspace)"));
            w.line("");
        }
        w.line(format_args!("/* {}", comment(&made.doc)));
        let width = made.parameters.iter().map(|p| p.name.len()).max().unwrap_or(0).max(4);
        w.line("");
        for Parameter { name, about, .. } in &made.parameters {
            w.line(format_args!("   {name:width$}  {about}"));
        }
        if !made.workspace.is_empty() {
            w.line(format_args!("   {:width$}  room to work in", "work"));
        }
        w.line("*/");
        w.line(format_args!(
            "void {name}({});",
            list(&made.parameters, name, !made.workspace.is_empty())
        ));
    }
    w.line("");
    w.line("#ifdef __cplusplus");
    w.line("}");
    w.line("#endif");
    w.line("");
    w.line("#endif");
    w.finish()
}

//! Programs as StableHLO, the language that XLA and other compilers for accelerators read.
//!
//! # Overview
//!
//! [`export`] writes any program of the core language as a module with one function `main`: inputs in
//! their order to outputs in theirs, one operation a line, each with the place in the user's source in
//! a comment where it is known. It is meant for programs of bulk operations, before or after
//! differentiation and the optimiser; a `build` that is left is run one position after the other.
//!
//! * `scalar.rs`, `special.rs`: the table of scalar operations;
//! * `read.rs`, `write.rs`: gathers and scatters; by affine index functions (`affine.rs`) they are
//!   slices, reversals, transposes, repetitions and zeros around and between elements;
//! * `contract.rs`, `product.rs`, `order.rs`, `convolve.rs`: sums of products that are matrix
//!   products or convolutions;
//! * `region.rs`, `loops.rs`: lambdas at all positions at once, or one after the other; loops, some of
//!   which are reductions (`fold.rs`);
//! * `branch.rs`: conditions;
//! * `extreme.rs`: positions of extremes, sorting;
//! * `options.rs`: choices, among them how arrays lie on many devices.
//!
//! ```
//! use cotan_array::{Dtype, Shape};
//! use cotan_ir::{Builder, Type, scalar::Op};
//!
//! let mut b = Builder::new();
//! let x = b.input("x", Type::new(Dtype::F64, Shape::new("x", &[3])?))?;
//! let square = b.op(Op::Mul, &[x, x])?;
//! let text = cotan_stablehlo::export(&b.finish_one(square)?, &Default::default())?;
//! assert!(text.contains("%1 = stablehlo.multiply %arg0, %arg0 : tensor<3xf64>"));
//! # Ok::<(), cotan_ir::Error>(())
//! ```
//!
//! # Meaning
//!
//! What a module computes is what the reference interpreter computes, with the liberties that the
//! optimiser has (`docs/semantics.md`): the order in which sums are rounded and the sign of zeros; and
//! one more: elementary functions are those of whoever runs the module, which differ from ours in their
//! last bits. Integers, truth values, and floats of which nothing rounds are the same.

mod affine;
mod branch;
mod contract;
mod convolve;
mod emit;
mod extreme;
mod fold;
mod loops;
mod options;
mod order;
mod product;
mod read;
mod region;
mod routine;
mod scalar;
mod special;
mod through;
mod value;
mod write;
mod writer;

use cotan_ir::{Program, Result};

pub use options::{Options, Sharding};

use crate::emit::{Emitter, one_line};
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

/// A Python program that runs modules with XLA through jaxlib; its first lines say how.
pub const RUNNER: &str = include_str!("../runner/cotan_xla.py");

/// The program as the text of a StableHLO module.
///
/// Fails for a sharding that does not fit the program.
pub fn export(program: &Program, options: &Options) -> Result<String> {
    let sharding = options.sharding.as_ref();
    if let Some(sharding) = sharding {
        sharding.check(program)?;
    }
    let mut w = Writer::default();
    let name: String = options.name.chars().map(symbol).collect();
    match sharding {
        Some(sharding) => {
            let devices = sharding.devices();
            w.open(format_args!(
                "module @{name} attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{"
            ));
            w.bare(sharding.declaration());
        }
        None => w.open(format_args!("module @{name} {{")),
    }
    let attribute = |name: &str, ty: &Ty| {
        sharding.map_or(String::new(), |sharding| sharding.attribute(name, ty.rank()))
    };
    w.open("func.func public @main(");
    let inputs = program.inputs();
    for (n, input) in inputs.iter().enumerate() {
        let (ty, comma) = (Ty::from(&input.ty), if n + 1 < inputs.len() { "," } else { "" });
        let attribute = attribute(&input.name, &ty);
        w.bare(format_args!("%arg{n}: {ty}{attribute}{comma} // {}", one_line(&input.name)));
    }
    let outputs = program.outputs().iter().map(|output| {
        let ty = Ty::from(program.ty(output.term));
        let attribute = attribute(&output.name, &ty);
        format!("{ty}{attribute}")
    });
    w.turn(format_args!(") -> ({}) {{", list(outputs)));
    let names = list(program.outputs().iter().map(|output| one_line(&output.name)));
    if program.outputs().iter().any(|output| !output.name.is_empty()) {
        w.bare(format_args!("// gives {names}"));
    }
    let mut emitter = Emitter::new(program, options, false, w);
    let results = emitter.run()?;
    let checked = !emitter.finite.is_empty();
    let results = if checked { unless_finite(&mut emitter, results)? } else { results };
    let mut w = emitter.w;
    w.returned(&results);
    w.close("}");
    if checked {
        w = exact(program, options, w)?;
    }
    w.close("}");
    Ok(w.finish())
}

/// The function that takes all sums of products as they are meant.
const EXACT: &str = "exact";

/// The results, if all matrix products are what is meant, and else those of [`EXACT`].
fn unless_finite(emitter: &mut Emitter<'_>, results: Vec<Val>) -> Result<Vec<Val>> {
    let mut all: Option<Val> = None;
    for finite in std::mem::take(&mut emitter.finite) {
        all = Some(match all {
            Some(others) => emitter.w.binary("and", &others, &finite),
            None => finite,
        });
    }
    let Some(all) = all else { return Ok(results) };
    let program = emitter.program;
    let inputs = program.inputs().iter().enumerate();
    let inputs: Vec<Val> =
        inputs.map(|(n, input)| Val::new(format!("%arg{n}"), Ty::from(&input.ty))).collect();
    let kinds: Vec<Ty> = results.iter().map(|v| v.ty.clone()).collect();
    let called = |e: &mut Emitter<'_>| Ok(e.w.call(EXACT, &inputs, &kinds));
    emitter.if_else(&all, &kinds, |_| Ok(results), called)
}

fn exact(program: &Program, options: &Options, mut w: Writer) -> Result<Writer> {
    let inputs = program.inputs().iter().enumerate();
    let inputs = list(inputs.map(|(n, input)| format!("%arg{n}: {}", Ty::from(&input.ty))));
    let results = list(program.outputs().iter().map(|o| Ty::from(program.ty(o.term))));
    w.bare("// where a zero has met an infinity in a matrix product");
    w.open(format_args!("func.func private @{EXACT}({inputs}) -> ({results}) {{"));
    let mut emitter = Emitter::new(program, options, true, w);
    let results = emitter.run()?;
    let mut w = emitter.w;
    w.returned(&results);
    w.close("}");
    Ok(w)
}

/// What may stand in the name of a module.
fn symbol(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }
}

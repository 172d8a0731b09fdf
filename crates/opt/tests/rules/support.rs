//! The optimiser as a pass whose rules are checked, and terms that the checks are made of.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId};
use cotan_opt::{Options, Report, optimise};
pub use cotan_testkit::rules::{Check, check, cons};
use cotan_testkit::rules::{Effort, Fires, Pass, Scene};
use cotan_testkit::scaled;

/// The optimiser. Its rules meet: where one is quicker, another does not fire.
pub fn optimiser() -> Pass {
    let effort = Effort { exhaustive: scaled(300), random: scaled(200) };
    Pass { run: optimised, effort, fires: Fires::Often }
}

fn optimised(program: &Program) -> std::result::Result<(Program, Report), String> {
    // The field of the tests does not round, so neither may the optimiser; and its loops are small.
    let options = Options { fold_floats: false, recompute: 1, ..Options::default() };
    optimise(program, &options).map_err(|e| e.to_string())
}

/// Copies of a number.
pub fn fill(b: &mut Builder, like: TermId, x: f64) -> Result<TermId> {
    let ty = b.ty(like).clone();
    let one = match ty.dtype {
        Dtype::F64 => b.scalar(x)?,
        Dtype::F32 => b.scalar(x as f32)?,
        Dtype::I64 => b.scalar(x as i64)?,
        Dtype::Bool => b.scalar(x != 0.0)?,
    };
    ty.shape.dims().iter().rev().try_fold(one, |t, &k| b.replicate(k, t))
}

/// Arrays of one shape, with at least one axis and of the given types.
pub fn arrays(s: &mut Scene, dtypes: &[Dtype]) -> Result<Vec<TermId>> {
    let sh = s.shape_of_rank(0, 3);
    dtypes.iter().map(|&d| s.array_of(d, &sh)).collect()
}

/// One side of an elementwise rule.
type Side = fn(&mut Builder, &[TermId]) -> Result<TermId>;

/// A rule of elementwise operations on arrays of the given types.
pub fn elementwise(name: &'static str, dtypes: &'static [Dtype], left: Side, right: Side) -> Check {
    check(name, move |s| arrays(s, dtypes), move |b, xs| left(b, xs), move |b, xs| right(b, xs))
}

pub fn neg(b: &mut Builder, x: TermId) -> Result<TermId> {
    b.op(Op::Neg, &[x])
}

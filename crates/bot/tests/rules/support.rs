//! The transform as a pass whose rules are checked, and terms that the checks are made of.

use cotan_bot::{Options, Report, bulk, normal_form};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId, Type};
pub use cotan_testkit::rules::{Check, check, cons};
use cotan_testkit::rules::{Effort, Fires, Pass, Scene, Table};
use cotan_testkit::scaled;

/// The transform, which must fire a rule on every instance within the side condition.
pub fn transform() -> Pass {
    let effort = Effort { exhaustive: scaled(600), random: scaled(200) };
    Pass { run: transformed, effort, fires: Fires::Always }
}

fn transformed(program: &Program) -> std::result::Result<(Program, Report), String> {
    let (result, report) = bulk(program, &Options::default()).map_err(|e| e.to_string())?;
    normal_form(&result).map_err(|e| e.to_string())?;
    Ok((result, report))
}

/// `build1 k (\i -> t)` for a term that depends on `i` in whatever way.
pub fn build_rows(b: &mut Builder, k: usize, rows: TermId) -> Result<TermId> {
    b.build(k, |b, i| b.index(rows, &[i]))
}

/// A position in axes of given sizes: constants, or terms of which nothing is known.
#[derive(Clone)]
pub struct Spot {
    table: Table,
    noise: Option<TermId>,
    sizes: Vec<usize>,
}

impl Spot {
    pub fn new(s: &mut Scene, sizes: &[usize]) -> Result<Spot> {
        let table = s.index(sizes)?;
        let noise = if s.choice(2) == 0 { None } else { Some(unknown_zero(s)?) };
        Ok(Spot { table, noise, sizes: sizes.to_vec() })
    }

    /// Its components.
    pub fn at(&self, b: &mut Builder) -> Result<Vec<TermId>> {
        let mut ix = self.table.at(b, &[])?;
        if let Some(zero) = self.noise {
            for i in &mut ix {
                *i = b.op(Op::Add, &[*i, zero])?;
            }
        }
        Ok(ix)
    }

    /// The array if the position is in range, zeros otherwise.
    pub fn mask(&self, b: &mut Builder, t: TermId) -> Result<TermId> {
        let ix = self.at(b)?;
        let mut inside = b.scalar(true)?;
        for (&i, &k) in ix.iter().zip(&self.sizes) {
            let here = in_range(b, i, k)?;
            inside = b.op(Op::And, &[inside, here])?;
        }
        let ty = b.ty(t).clone();
        let zeros = zeros(b, &ty)?;
        b.cond(inside, t, zeros)
    }
}

/// `0 <= i and i < k`
pub fn in_range(b: &mut Builder, i: TermId, k: usize) -> Result<TermId> {
    let (zero, k) = (b.scalar(0i64)?, b.scalar(k as i64)?);
    let (above, below) = (b.op(Op::Ge, &[i, zero])?, b.op(Op::Lt, &[i, k])?);
    b.op(Op::And, &[above, below])
}

/// A term that is 0, of which the transform knows only that it lies between -2 and 0.
pub fn unknown_zero(s: &mut Scene) -> Result<TermId> {
    let x = s.array_of(cotan_array::Dtype::I64, &[])?;
    let b = s.builder();
    let (one, size) = (b.scalar(1i64)?, b.op(Op::Abs, &[x])?);
    let more = b.op(Op::Add, &[size, one])?;
    let sign = b.op(Op::Sign, &[more])?;
    b.op(Op::Sub, &[sign, one])
}

/// Zeros of a type.
pub fn zeros(b: &mut Builder, ty: &Type) -> Result<TermId> {
    let zero = match ty.dtype {
        cotan_array::Dtype::F64 => b.scalar(0.0f64)?,
        cotan_array::Dtype::F32 => b.scalar(0.0f32)?,
        cotan_array::Dtype::I64 => b.scalar(0i64)?,
        cotan_array::Dtype::Bool => b.scalar(false)?,
    };
    ty.shape.dims().iter().rev().try_fold(zero, |t, &k| b.replicate(k, t))
}

//! What the tests that run modules share.
#![allow(dead_code, reason = "each test needs a part of it")]

use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_ir::scalar::Scalar;
use cotan_pipeline::{Pass, Pipeline};
use cotan_stablehlo::{Options, export};

pub fn arrays(values: &[Value]) -> Vec<Array> {
    values.iter().map(|v| v.to_array().unwrap()).collect()
}

/// The module, with matrix products however small they are.
pub fn text(program: &Program) -> Result<String, String> {
    written(program, 0)
}

/// The module, with sums of up to so many products taken element by element.
pub fn written(program: &Program, small_products: usize) -> Result<String, String> {
    export(program, &Options { small_products, ..Options::default() }).map_err(|e| e.to_string())
}

/// What the machine would run.
pub fn optimised(program: &Program) -> Result<Program, String> {
    Pipeline::new(&[Pass::OPTIMISE]).run(program).map_err(|e| e.to_string())
}

/// How far floats may be apart, relative to the largest of their array or 1: functions differ in
/// their last bits, and programs such as `1 - tanh(x)` make more of it.
const TOLERANCE: f64 = 1e-9;

/// The first place where two results of a program are not close; integers have to be the same. What
/// was an `f32` on the way is no more exact afterwards.
pub fn apart(program: &Program, x: &Value, y: &Value) -> Option<String> {
    let narrow = program.to_string().contains("f32");
    let real = |x: &Scalar| match x {
        Scalar::F64(x) => Some((*x, if narrow { 1e6 } else { 1.0 })),
        Scalar::F32(x) => Some((f64::from(*x), 1e6)),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => None,
    };
    let sizes = x.elements().iter().filter_map(real).map(|(x, _)| x.abs());
    let scale = sizes.filter(|x| x.is_finite()).fold(1.0, f64::max);
    x.elements().iter().zip(y.elements()).find_map(|(a, b)| {
        let close = match (real(a), real(b)) {
            (Some((a, unit)), Some((b, _))) => {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * unit * scale
            }
            _ => a.same(*b),
        };
        (!close).then(|| format!("{a:?} against {b:?}, where the largest is {scale}"))
    })
}

//! What the tests of random programs share.
#![allow(dead_code, reason = "not every test uses all of it")]

use cotan_array::Dtype;
use cotan_ir::Program;
use cotan_opt::{Options, optimise};
use cotan_testkit::{Config, Former};

/// The options under which results over the field, where nothing is rounded, are equal. Steps of
/// random loops are small, so what any of them has computed is stored for others.
pub fn exact() -> Options {
    Options { fold_floats: false, recompute: 1, ..Options::default() }
}

/// The optimiser as every test applies it: its result checked.
pub fn optimised(program: &Program, options: &Options) -> Result<Program, String> {
    let (result, _) = optimise(program, options).map_err(|e| e.to_string())?;
    result.check().map_err(|e| format!("{e}\n{result}"))?;
    Ok(result)
}

/// Programs of all kinds, and some of few formers, so that those meet.
pub fn configs() -> Vec<Config> {
    use Former::{
        Build1, Cond, Gather, Index, Iota, MapAccum, OneHot, Op, Replicate, Reshape, Scatter,
        Stack, SumOuter, Transpose, While,
    };
    let only = |formers: &[Former]| Config { formers: formers.to_vec(), ..Config::default() };
    let ring = |formers: &[Former]| Config { formers: formers.to_vec(), ..Config::ring() };
    let integers = |formers: &[Former]| Config {
        dtypes: vec![Dtype::I64, Dtype::I64, Dtype::F64],
        ..only(formers)
    };
    vec![
        Config::default(),
        Config::integers(),
        Config::ring(),
        ring(&[Gather, Scatter, SumOuter, Replicate, Transpose, Op, Reshape]),
        ring(&[Scatter, Scatter, Op, Replicate, Iota]),
        ring(&[SumOuter, Replicate, Transpose, Op]),
        ring(&[MapAccum, Op, Index, Replicate]),
        only(&[While, Op, Stack]),
        integers(&[Op, Cond, Index, Replicate, Stack]),
        only(&[OneHot, SumOuter, Stack, Index, Reshape, Scatter]),
        only(&[Build1, Index, Gather, Scatter, SumOuter]),
        Config { phrases: 40, ..Config::default() },
        Config { phrases: 60, ..Config::ring() },
        Config { phrases: 60, ..Config::integers() },
        Config { phrases: 80, ..Config::default() },
        Config {
            phrases: 80,
            dtypes: vec![Dtype::I64, Dtype::I64, Dtype::Bool, Dtype::F64],
            ..Config::default()
        },
    ]
}

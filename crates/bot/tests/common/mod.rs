//! What the tests of random programs share.

use cotan_array::Dtype;
use cotan_bot::{Options, bulk, normal_form};
use cotan_ir::Program;
use cotan_testkit::{Config, Former};

/// The transform as every test applies it: checked, and in normal form.
#[allow(dead_code, reason = "not every test transforms")]
pub fn transformed(program: &Program, options: &Options) -> Result<Program, String> {
    let (result, _) = bulk(program, options).map_err(|e| e.to_string())?;
    result.check().map_err(|e| format!("{e}\n{result}"))?;
    if options.push_index {
        normal_form(&result).map_err(|e| format!("{e}\n{result}"))?;
    }
    Ok(result)
}

/// Programs of all kinds, and some of few formers, so that those meet.
#[allow(dead_code, reason = "not every test is about random programs")]
pub fn configs() -> Vec<Config> {
    use Former::{
        ArgExtreme, ArgSort, Build1, Cond, Gather, Index, MapAccum, OneHot, Op, Reshape, Routine,
        Scatter, SegmentArg, Stack, SumOuter, Transpose, While,
    };
    let only = |formers: &[Former]| Config { formers: formers.to_vec(), ..Config::default() };
    let integers = |formers: &[Former]| Config {
        dtypes: vec![Dtype::I64, Dtype::I64, Dtype::F64],
        ..only(formers)
    };
    vec![
        Config::default(),
        Config::integers(),
        Config::ring(),
        Config::default().without(&[Former::Iota, ArgExtreme, ArgSort, SegmentArg]),
        integers(&[Build1, Index, ArgExtreme, ArgSort, SegmentArg, Op]),
        only(&[Build1, Index, Stack, Scatter, Op, Cond]),
        only(&[Build1, Index, Transpose, Gather, SumOuter]),
        only(&[Build1, Index, MapAccum, Op]),
        only(&[Build1, Index, While, Op]),
        only(&[Build1, Index, OneHot, Reshape, Op]),
        Config { dtypes: vec![Dtype::F64], ..only(&[Build1, Index, Routine, Op]) },
        only(&[Build1, Index, Stack, Scatter]),
        integers(&[Build1, Index, ArgExtreme, ArgSort, SegmentArg]),
        Config { guarded_reads: 80, ..only(&[Build1, Index, Op, Gather]) },
    ]
}

//! Without tolerance: random programs over the field of the tests.

use cotan_ad::{jacfwd, jacobian, jacrev};
use cotan_array::Dtype;
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_ir::scalar::{Fp, Scalar};
use cotan_testkit::{
    Config, Data, Equality, Former, InputKind, Rng, field_dot, first_difference, for_each_case,
    generate,
};

use crate::support::*;
use crate::ways::*;

/// Each way gives the same as the first.
fn agree(ways: &[Way]) -> Checked {
    let Some(((name, first), rest)) = ways.split_first() else { return Ok(()) };
    for (other, values) in rest {
        if let Some(difference) = first_difference(first, values, Equality::Values) {
            return Err(format!("{name} against {other}: {difference}"));
        }
    }
    Ok(())
}

/// All ways of reverse and forward mode agree, and the two are transposes of each other.
pub fn check(source: &Program, rng: &mut Rng) -> Checked {
    let point = Point::random(source, rng, InputKind::Field)?;
    let reverse = reverse_ways(source, &point, Mode::Field)?;
    agree(&reverse)?;
    let forward = forward_ways(source, &point, Mode::Field)?;
    agree(&forward)?;
    let left = field_dot(&point.cotangents, &forward[0].1);
    let right = field_dot(&reverse[0].1, &point.tangents);
    if left == right { Ok(()) } else { Err(format!("{left:?} forward, {right:?} reverse")) }
}

/// Programs of all operations. Over the field functions such as `exp` are arbitrary but fixed, and so
/// are their derivatives: what is tested is how derivatives are put together. (Not at f32, where
/// numbers such as log 2 in a derivative are other elements of the field.)
pub fn everything() -> Config {
    let mut config = Config { data: Data::Moderate, roots: false, ..Config::default() };
    config.ops.retain(|row| row.is_exact_in_field() || row.result != Dtype::F32);
    config.without(OWN_RULES).with_checkpoints()
}

/// A function with a rule of its own has that for its derivative, right or wrong; the scalars of
/// section 2 differentiate what it computes. `tests/custom.rs` is about these.
const OWN_RULES: &[Former] = &[Former::Custom];

/// Programs of the operations that have a meaning over the field.
pub fn ring() -> Config {
    Config { data: Data::Moderate, ..Config::ring() }.without(OWN_RULES).with_checkpoints()
}

#[test]
fn all_ways_agree_on_random_programs() {
    let config = everything();
    for_each_case("all ways agree", 600, |rng| on_random_program(&config, rng, check));
}

/// Small programs meet more kinds of arrays without elements and loops without steps.
#[test]
fn all_ways_agree_on_small_programs() {
    let config = everything().nodes(12);
    for_each_case("all ways agree, small", 1200, |rng| on_random_program(&config, rng, check));
}

/// Loops that change parts of their states, which they do not save.
#[test]
fn all_ways_agree_on_updates() {
    let config = Config { updates: 50, ..everything().nodes(24) };
    for_each_case("all ways agree, updates", 400, |rng| on_random_program(&config, rng, check));
}

/// Jacobians by reverse mode, by forward mode, by the cheaper one, before and after they are made
/// bulk operations, against one-hot seeds of the scalar algorithm.
fn jacobians(source: &Program, rng: &mut Rng) -> Checked {
    let point = Point::random(source, rng, InputKind::Field)?;
    let bulk = bulked(source)?;
    let rows = checked(jacrev(&bulk, None))?;
    let columns = checked(jacfwd(&bulk, None))?;
    let cheaper = checked(jacobian(&bulk, None))?;
    let mut ways = vec![("columns by scalars", by_columns(source, &point)?)];
    let bulk_rows = bulked(&rows)?;
    let bulk_columns = bulked(&columns)?;
    for (name, program) in [
        ("jacrev", &rows),
        ("jacfwd", &columns),
        ("jacobian", &cheaper),
        ("jacrev in bulk", &bulk_rows),
        ("jacfwd in bulk", &bulk_columns),
    ] {
        ways.push((name, run(program, &point.inputs, Mode::Field)?));
    }
    agree(&ways)
}

/// The Jacobian of every float output by every float input, one column at a time.
fn by_columns(source: &Program, point: &Point) -> Checked<Vec<Value>> {
    let float = |types: Vec<cotan_ir::Type>| -> Vec<_> {
        types.into_iter().filter(|ty| ty.dtype.is_float()).collect()
    };
    let (inputs, outputs) = (float(input_types(source)), float(output_types(source)));
    // columns[k][n] is the tangent of every output along element n of input k.
    let mut columns = Vec::new();
    for (k, ty) in inputs.iter().enumerate() {
        let mut of_input = Vec::new();
        for n in 0..ty.shape.numel() {
            let mut moved = point.clone();
            moved.tangents = inputs.iter().map(|ty| zeros(ty, Mode::Field)).collect();
            let mut at = 0;
            let one_hot = Value::from_fn(ty.clone(), |_| {
                at += 1;
                Scalar::Fp(if at == n + 1 { Fp::ONE } else { Fp::ZERO })
            });
            moved.tangents[k] = one_hot.map_err(text)?;
            of_input.push(forward_by_scalars(source, &moved, Mode::Field)?);
        }
        columns.push(of_input);
    }
    let mut jacobians = Vec::new();
    for (m, out) in outputs.iter().enumerate() {
        for (k, ty) in inputs.iter().enumerate() {
            let dims = [out.shape.dims(), ty.shape.dims()].concat();
            let shape = cotan_array::Shape::new("jacobian", &dims).map_err(text)?;
            let mut all = Vec::new();
            for row in 0..out.shape.numel() {
                all.extend(columns[k].iter().map(|column| column[m].elements()[row]));
            }
            let ty = cotan_ir::Type::new(out.dtype, shape);
            jacobians.push(Value::new(ty, all).map_err(text)?);
        }
    }
    Ok(jacobians)
}

/// Few elements, so that whole Jacobians stay small.
#[test]
fn jacobians_agree_on_random_programs() {
    let config = Config { max_elements: 8, max_rank: 3, ..everything().nodes(20) };
    for_each_case("jacobians", 200, |rng| {
        let seed = rng.clone();
        let program = generate(&config, rng).map_err(text)?;
        let count =
            |types: Vec<cotan_ir::Type>| -> usize { types.iter().map(|ty| ty.shape.numel()).sum() };
        if count(input_types(&program)) * count(output_types(&program)) > 400 {
            return Ok(());
        }
        on_random_program(&config, &mut seed.clone(), jacobians)
    });
}

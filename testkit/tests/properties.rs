//! What must hold of every program, on random ones.

use cotan_array::Array;
use cotan_interp::Mode;
use cotan_ir::Program;
use cotan_testkit::fuzz_targets::reads_back;
use cotan_testkit::{
    Config, Equality, InputKind, Oracle, Rng, check_transform, first_difference, for_each_case,
    generate, inputs_for, run_program, shrink,
};

/// Every configuration in turn.
fn any_program(rng: &mut Rng) -> Result<Program, String> {
    let configs: [fn() -> Config; 4] =
        [Config::default, Config::smooth, Config::ring, Config::integers];
    let config = rng.pick(&configs)().nodes(5 + rng.below(120));
    generate(&config, rng).map_err(|e| format!("the generator failed: {e}"))
}

#[test]
fn every_generated_program_passes_the_checker() {
    for_each_case("check", 2000, |rng| {
        let program = any_program(rng)?;
        program.check().map_err(|e| format!("{e}\n{program}"))
    });
}

#[test]
fn normalising_keeps_the_program_and_its_meaning() {
    for_each_case("normalised", 1000, |rng| {
        let program = any_program(rng)?;
        let once = program.normalised().map_err(|e| e.to_string())?;
        let twice = once.normalised().map_err(|e| e.to_string())?;
        once.check().map_err(|e| format!("{e}\n{once}"))?;
        let same_order =
            once.terms().eq(twice.terms()) && once.terms().all(|t| once.node(t) == twice.node(t));
        if !same_order {
            return Err(format!("normalising twice changes\n{once}to\n{twice}"));
        }
        if once != program {
            return Err(format!("not equal to its normal form:\n{program}{once}"));
        }
        Ok(())
    });
    let config = Config::default();
    check_transform("meaning", &config, 500, &Oracle::bitwise(), |p| p.normalised());
}

#[test]
fn printed_programs_read_back() {
    for_each_case("read back", 1500, |rng| {
        let program = any_program(rng)?;
        let fails = |p: &Program| reads_back(p).is_err();
        if !fails(&program) {
            return Ok(());
        }
        reads_back(&shrink(&program, 2000, fails))
    });
}

#[test]
fn different_programs_are_not_equal() {
    // Neighbouring seeds give different programs, and equality sees it.
    for_each_case("unequal", 200, |rng| {
        let (one, two) = (any_program(rng)?, any_program(rng)?);
        if one == two && one.to_string() != two.to_string() {
            return Err(format!("equal, but printed differently:\n{one}{two}"));
        }
        Ok(())
    });
}

#[test]
fn runs_are_total_and_deterministic() {
    for_each_case("determinism", 800, |rng| {
        let program = any_program(rng)?;
        for kind in InputKind::ALL {
            let inputs = inputs_for(&program, rng, kind).map_err(|e| e.to_string())?;
            let modes = match kind {
                InputKind::Field => &[Mode::Field][..],
                InputKind::SmallIntegers | InputKind::Generic | InputKind::Special => {
                    &[Mode::Ieee, Mode::F32, Mode::Field]
                }
            };
            for &mode in modes {
                let run = || {
                    run_program(&program, &inputs, mode)
                        .map_err(|e| format!("{e}, {kind:?} {mode:?}\n{program}"))
                };
                if let Some(difference) = first_difference(&run()?, &run()?, Equality::Bits) {
                    return Err(format!("two runs differ: {difference}\n{program}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn integers_never_leave_their_intervals() {
    // Every integer node becomes an output, and every element must lie in its interval.
    for_each_case("intervals", 500, |rng| {
        let program = any_program(rng)?;
        let closed = |t: &cotan_ir::TermId| {
            program.free(*t) == cotan_ir::Levels::NONE
                && program.result_types(*t).is_none()
                && program.dtype(*t) == cotan_array::Dtype::I64
        };
        let terms: Vec<_> = program.terms().filter(closed).collect();
        let outputs = terms.iter().map(|&t| (String::new(), t)).collect::<Vec<_>>();
        let all = with_outputs(&program, &outputs).map_err(|e| e.to_string())?;
        let inputs = inputs_for(&all, rng, InputKind::Special).map_err(|e| e.to_string())?;
        let values = run_program(&all, &inputs, Mode::Ieee).map_err(|e| e.to_string())?;
        for (&t, value) in terms.iter().zip(&values) {
            let bounds = program.bounds(t);
            let inside = |x: i64| bounds.lo <= x && x <= bounds.hi;
            let all_inside = value.elements().iter().filter_map(|x| x.as_i64()).all(inside);
            if !all_inside {
                let name = program.node(t).name();
                return Err(format!("{name} leaves {bounds:?}: {value}\n{program}"));
            }
        }
        Ok(())
    });
}

/// The program with other outputs.
fn with_outputs(
    program: &Program,
    outputs: &[(String, cotan_ir::TermId)],
) -> cotan_ir::Result<Program> {
    let outputs: Vec<cotan_ir::Output> = outputs
        .iter()
        .map(|(name, term)| cotan_ir::Output { name: name.clone(), term: *term })
        .collect();
    let scopes = cotan_ir::Scopes::of(program, &outputs);
    let mut b = cotan_ir::Builder::new();
    let mut copier = cotan_ir::Copier::new(program, &scopes);
    copier.inputs(&mut b)?;
    copier.scope(&mut b, scopes.top())?;
    let images = outputs
        .iter()
        .map(|o| Ok(cotan_ir::Output { name: o.name.clone(), term: copier.image(o.term)? }));
    let images = images.collect::<cotan_ir::Result<Vec<_>>>()?;
    b.finish(images)
}

#[test]
fn array_files_keep_every_output() {
    for_each_case("npy", 300, |rng| {
        let program = any_program(rng)?;
        let inputs = inputs_for(&program, rng, InputKind::Special).map_err(|e| e.to_string())?;
        for value in run_program(&program, &inputs, Mode::Ieee).map_err(|e| e.to_string())? {
            let array: Array = value.to_array().map_err(|e| e.to_string())?;
            let bytes = cotan_array::npy::write(&array).map_err(|e| e.to_string())?;
            let again = cotan_array::npy::read(&bytes).map_err(|e| e.to_string())?;
            if !again.bits_eq(&array) {
                return Err(format!("{array:?} became {again:?}"));
            }
        }
        Ok(())
    });
}

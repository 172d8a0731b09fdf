//! A short deterministic run of every fuzz target.

use cotan_array::{Array, Shape, npy, npz};
use cotan_testkit::fuzz_targets::ALL;
use cotan_testkit::{Config, Rng, for_each_case, fuzz_targets, generate, mutate};

#[test]
fn parse_survives_changed_programs() {
    for_each_case("fuzz parse", 1500, |rng| {
        let program = generate(&Config::default(), rng).map_err(|e| e.to_string())?;
        let text = program.to_string();
        fuzz_targets::parse(text.as_bytes());
        for _ in 0..4 {
            fuzz_targets::parse(&mutate(rng, text.as_bytes()));
        }
        Ok(())
    });
}

#[test]
fn npy_survives_changed_files() {
    for_each_case("fuzz npy", 3000, |rng| {
        let dims = [rng.below(3), rng.below(4)];
        let shape = Shape::new("fuzz", &dims[..rng.below(3)]).map_err(|e| e.to_string())?;
        let array = Array::from_fn(shape, |_| rng.unit()).map_err(|e| e.to_string())?;
        let single = npy::write(&array).map_err(|e| e.to_string())?;
        let several =
            npz::write(&[("a", array.clone()), ("b", array)]).map_err(|e| e.to_string())?;
        for bytes in [single, several] {
            fuzz_targets::read_npy(&bytes);
            fuzz_targets::read_npy(&mutate(rng, &bytes));
        }
        Ok(())
    });
}

#[test]
fn every_target_survives_noise() {
    for_each_case("fuzz noise", 2000, |rng| {
        let noise: Vec<u8> = (0..rng.below(200)).map(|_| rng.below(256) as u8).collect();
        for (_, target) in ALL {
            target(&noise);
        }
        Ok(())
    });
}

#[test]
fn every_target_is_built_by_the_fuzzer() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz");
    let manifest = std::fs::read_to_string(format!("{folder}/Cargo.toml")).unwrap();
    for (name, _) in ALL {
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{name} is not in fuzz/Cargo.toml"
        );
        let source = std::fs::read_to_string(format!("{folder}/targets/{name}.rs")).unwrap();
        assert!(source.contains("cotan_testkit::fuzz_targets::"), "{name} does not run its target");
    }
}

#[test]
fn changed_bytes_differ_and_repeat() {
    let text = b"def main(a: f64) = a + a";
    let changed = |seed| mutate(&mut Rng::new(seed), text);
    assert!((0..100).all(|seed| changed(seed) == changed(seed)));
    assert!((0..100).filter(|&seed| changed(seed) != text).count() > 90);
}

//! The result grows linearly with the program, in every family.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use cotan_bot::{Options, bulk, normal_form};
use cotan_testkit::families::FAMILIES;

/// The most nodes of the result for each node of the source, for large programs.
const NODES_PER_NODE: f64 = 3.0;

/// The numbers of nodes of source and result.
fn sizes(family: &cotan_testkit::families::Family, n: usize) -> (f64, f64) {
    let program = family.program(n).expect(family.name);
    let (result, _) = bulk(&program, &Options::default()).expect(family.name);
    result.check().expect(family.name);
    normal_form(&result).expect(family.name);
    (program.len() as f64, result.len() as f64)
}

#[test]
fn results_grow_linearly() {
    for family in FAMILIES {
        let ((small_source, small), (source, large)) = (sizes(family, 800), sizes(family, 12_800));
        let slope = (large / small).ln() / (source / small_source).ln().max(1.0);
        println!("{:40} {source} to {large} nodes, exponent {slope:.3}", family.name);
        assert!(slope <= 1.1, "{}: {small} to {large} nodes", family.name);
        let allowed = NODES_PER_NODE * source + 2000.0;
        assert!(large <= allowed, "{}: {source} nodes become {large}", family.name);
    }
}

//! The shrinker finds small programs for planted faults.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cotan_array::{Array, Dtype};
use cotan_interp::Mode;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Node, Program, Scopes, TermId, Type};
use cotan_testkit::{
    Config, InputKind, Oracle, Rng, check_transform, generate, inputs_for, run_program, shrink,
};

/// Generated programs with a property, shrunk.
fn smallest(has: impl Fn(&Program) -> bool) -> Vec<Program> {
    let config = Config::default().nodes(80);
    // Without dead nodes: the properties look at all.
    let program = |seed| generate(&config, &mut Rng::new(seed)).unwrap().normalised().unwrap();
    let programs = (0..).map(program);
    let found: Vec<Program> = programs.filter(|p| p.len() > 40 && has(p)).take(7).collect();
    let shrunk = found.iter().map(|program| {
        let small = shrink(program, 5000, &has);
        assert!(has(&small));
        println!("{} to {} nodes:\n{small}", program.len(), small.len());
        small
    });
    shrunk.collect()
}

/// The number of nodes of the one in the middle.
fn median(programs: &[Program]) -> usize {
    let mut sizes: Vec<usize> = programs.iter().map(|p| p.len()).collect();
    sizes.sort();
    sizes[sizes.len() / 2]
}

/// Whether a node with `inner` lies in a region of a node with `outer`.
fn nested(p: &Program, outer: fn(&Node) -> bool, inner: fn(&Node) -> bool) -> bool {
    let scopes = Scopes::new(p);
    let holds = |t: &TermId| {
        let region = p.node(*t).region().filter(|_| outer(p.node(*t)));
        region.is_some_and(|r| scopes.region(r).order().iter().any(|&u| inner(p.node(u))))
    };
    scopes.top().order().iter().any(holds)
}

#[test]
fn a_scatter_under_a_build() {
    let is_build = |n: &Node| matches!(n, Node::Build1(_));
    let is_scatter = |n: &Node| matches!(n, Node::Scatter(..));
    let small = smallest(|p| nested(p, is_build, is_scatter));
    assert!(median(&small) <= 8);
}

#[test]
fn a_loop_inside_a_loop() {
    let is_loop = |n: &Node| matches!(n, Node::MapAccum(_));
    let small = smallest(|p| nested(p, is_loop, is_loop));
    assert!(median(&small) <= 12);
}

/// What is left of a `while` certainly ends: the counter and its limit stay.
#[test]
fn a_while_under_a_build() {
    let is_build = |n: &Node| matches!(n, Node::Build1(_));
    let is_while = |n: &Node| matches!(n, Node::While(_));
    let small = smallest(|p| nested(p, is_build, is_while));
    assert!(median(&small) <= 14);
    for program in small {
        let inputs = inputs_for(&program, &mut Rng::new(1), InputKind::Generic);
        let inputs = inputs.unwrap();
        run_program(&program, &inputs, Mode::Ieee).unwrap();
    }
}

#[test]
fn two_operations_of_one_argument() {
    let has = |p: &Program, wanted: Op| {
        p.terms().any(|t| matches!(p.node(t), Node::Op(op, _) if *op == wanted))
    };
    let small = smallest(|p| has(p, Op::Exp) && has(p, Op::Sin));
    assert!(median(&small) <= 5);
}

#[test]
fn sizes_become_as_small_as_the_fault_allows() {
    let large = |p: &Program| {
        p.terms().any(|t| matches!(p.node(t), Node::SumOuter(u) if p.shape(*u).dims()[0] >= 3))
    };
    for small in smallest(large) {
        assert_eq!(small.len(), 2, "{small}");
        let largest = small.terms().flat_map(|t| small.shape(t).dims().to_vec()).max();
        assert_eq!(largest, Some(3), "{small}");
    }
}

#[test]
fn nothing_is_tried_beyond_the_budget() {
    let program = generate(&Config::default(), &mut Rng::new(3)).unwrap();
    let mut tried = 0;
    shrink(&program, 7, |_| {
        tried += 1;
        true
    });
    assert!(tried <= 7);
    let everything = shrink(&program, 100_000, |_| true);
    assert_eq!((everything.len(), everything.outputs().len()), (1, 1), "{everything}");
    assert_eq!(shrink(&program, 100_000, |_| false), program);
}

/// A wrong pass: every `x - y` of floats becomes `y - x`.
fn swap_subtractions(program: &Program) -> cotan_ir::Result<Program> {
    let scopes = Scopes::new(program);
    let mut b = Builder::new();
    let mut copier = cotan_ir::Copier::new(program, &scopes);
    copier.inputs(&mut b)?;
    for &t in scopes.top().order() {
        if copier.has(t) {
            continue;
        }
        let image = match program.node(t) {
            Node::Op(Op::Sub, args) if program.dtype(t).is_float() => {
                b.op(Op::Sub, &[copier.image(args[1])?, copier.image(args[0])?])?
            }
            _ => copier.copy(&mut b, t)?,
        };
        copier.set(t, image);
    }
    let outputs = program
        .outputs()
        .iter()
        .map(|o| Ok(cotan_ir::Output { name: o.name.clone(), term: copier.image(o.term)? }));
    let outputs = outputs.collect::<cotan_ir::Result<_>>()?;
    b.finish(outputs)
}

#[test]
fn a_wrong_pass_is_caught_and_its_report_is_complete() {
    let wrong =
        || check_transform("swaps", &Config::ring(), 2000, &Oracle::exact(), swap_subtractions);
    let panic = std::panic::catch_unwind(wrong).unwrap_err();
    let report = panic.downcast_ref::<String>().unwrap();
    println!("{report}");
    for part in ["swaps fails for COTAN_SEED=", "def main", "became", "against", "input 0"] {
        assert!(report.contains(part), "no `{part}` in\n{report}");
    }
    let text: Vec<&str> = report.split("the program\n").nth(1).unwrap().lines().collect();
    assert!(text.len() < 8, "{report}");
}

#[test]
fn a_panicking_pass_is_caught_and_shrunk() {
    let panics = |p: &Program| -> Result<Program, String> {
        assert!(!p.terms().any(|t| matches!(p.node(t), Node::Stack(_))), "no stacks");
        Ok(p.clone())
    };
    let wrong = || check_transform("panics", &Config::default(), 2000, &Oracle::exact(), panics);
    let panic = std::panic::catch_unwind(wrong).unwrap_err();
    let report = panic.downcast_ref::<String>().unwrap();
    assert!(report.contains("no stacks") && report.contains("to 2 nodes"), "{report}");
}

#[test]
fn the_identity_is_right_on_every_kind_of_input() {
    let identity = |p: &Program| -> Result<Program, String> { Ok(p.clone()) };
    check_transform("identity", &Config::default(), 100, &Oracle::bitwise(), identity);
    check_transform("exact identity", &Config::integers(), 100, &Oracle::exact(), identity);
    check_transform("close identity", &Config::smooth(), 100, &Oracle::close(0), identity);
}

#[test]
fn oracles_tell_programs_apart() {
    let constant = |x: f64| {
        let mut b = Builder::new();
        let t = b.constant(&Array::scalar(x)).unwrap();
        b.finish_one(t).unwrap()
    };
    let compare = |oracle: Oracle, x: f64, y: f64| {
        oracle.compare(&constant(x), &constant(y), &mut Rng::new(0)).is_ok()
    };
    assert!(compare(Oracle::exact(), 0.0, -0.0) && !compare(Oracle::bitwise(), 0.0, -0.0));
    assert!(!compare(Oracle::exact(), 1.0, 2.0) && !compare(Oracle::close(1000), 1.0, 1.1));
    assert!(compare(Oracle::close(2), 1.0, 1.0 + f64::EPSILON));
    // Programs of other inputs cannot be compared, and say so.
    let mut b = Builder::new();
    let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
    let other = b.finish_one(x).unwrap();
    let mismatch = Oracle::exact().compare(&constant(0.0), &other, &mut Rng::new(0));
    assert!(mismatch.unwrap_err().to_string().contains("right: the program takes 1 inputs"));
}

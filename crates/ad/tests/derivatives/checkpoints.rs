//! Checkpoints: values and derivatives of every order and mode are those of the function, exactly;
//! what is kept, and how often steps are run again.

use cotan_ad::{hvp, jvp, residuals, value_and_grad, vjp};
use cotan_interp::{Interp, Mode, Value};
use cotan_ir::{Builder, Checkpoint, Custom, CustomKind, Keep, Node, Output, Param, Program};
use cotan_testkit::{Equality, InputKind, Rng, first_difference, for_each_case, inputs_for};

use crate::exact::ring;
use crate::support::*;

const POLICIES: [Keep; 6] = [
    Keep::Nothing,
    Keep::Everything,
    Keep::Contractions,
    Keep::Bytes(40),
    Keep::States(1),
    Keep::States(2),
];

/// The program as one checkpoint.
fn wrapped(program: &Program, keep: Keep) -> cotan_ir::Result<Program> {
    let mut b = Builder::new();
    let mut args = Vec::new();
    for input in program.inputs() {
        args.push(b.input(input.name.clone(), input.ty.clone())?);
    }
    let params: Vec<Param> =
        program.inputs().iter().map(|input| Param::Value(input.ty.clone())).collect();
    let vars = b.open(&params)?;
    let results = b.inline(program, &vars)?;
    let region = b.close(&results)?;
    let kind = CustomKind::Checkpoint(Checkpoint { keep, again: false });
    let node = b.custom(Custom { kind, args: args.into(), outputs: results.len(), region })?;
    let mut outputs = Vec::new();
    for (n, output) in program.outputs().iter().enumerate() {
        outputs.push(Output { name: output.name.clone(), term: b.result(node, n)? });
    }
    b.finish(outputs)
}

/// A mode of differentiation.
type Derive = fn(&Program, Option<&[usize]>) -> cotan_ir::Result<Program>;

/// The derivatives of a function under all policies are those of the function.
fn policies_agree(program: &Program, modes: &[Derive], rng: &mut Rng) -> Checked {
    let derived = |program: &Program| -> Checked<Program> {
        let mut program = bulked(program)?;
        for mode in modes {
            program = checked(mode(&program, None))?;
        }
        Ok(program)
    };
    let plain = derived(program)?;
    let inputs: Vec<Value> = inputs_for(&plain, rng, InputKind::Field).map_err(text)?;
    let expected = run(&plain, &inputs, Mode::Field)?;
    for keep in POLICIES {
        let made = derived(&wrapped(program, keep).map_err(text)?)?;
        let found = run(&made, &inputs, Mode::Field)?;
        if let Some(difference) = first_difference(&expected, &found, Equality::Values) {
            return Err(format!("{keep:?}: {difference}\n{made}"));
        }
    }
    Ok(())
}

#[test]
fn a_policy_changes_no_derivative() {
    let config = ring().nodes(24);
    for_each_case("policies", 120, |rng| {
        on_random_program(&config, rng, |p, rng| {
            policies_agree(p, &[vjp], rng)?;
            policies_agree(p, &[jvp], rng)
        })
    });
}

#[test]
fn a_policy_changes_no_second_derivative() {
    let config = ring().nodes(10);
    for_each_case("policies, second order", 60, |rng| {
        on_random_program(&config, rng, |p, rng| {
            for modes in [[vjp as Derive, vjp], [jvp, vjp], [vjp, jvp]] {
                policies_agree(p, &modes, rng)?;
            }
            Ok(())
        })
    });
}

/// The fewest steps that have to be run again to transpose `m`, the first state being there and room
/// for `free` more.
fn fewest(m: usize, free: usize, known: &mut Vec<Vec<Option<u64>>>) -> u64 {
    if m <= 1 {
        return 0;
    }
    if free == 0 {
        return (m * (m - 1) / 2) as u64;
    }
    if let Some(found) = known[m][free] {
        return found;
    }
    let cost = |k: usize, known: &mut Vec<Vec<Option<u64>>>| {
        k as u64 + fewest(m - k, free - 1, known) + fewest(k, free, known)
    };
    let least = (1..m).map(|k| cost(k, known)).min().unwrap_or(0);
    known[m][free] = Some(least);
    least
}

/// Operations of the gradient of a loop of `n` steps, of which `s` states are kept.
fn loop_ops(n: usize, s: usize, step: &str) -> u64 {
    let text = format!(
        "def f(x: f64) = checkpoint(x => fold(x, iota({n}), (s, i) => {step}), states = {s})(x)"
    );
    let program = function(&text, &[]);
    let gradient = checked(value_and_grad(&program, None)).unwrap();
    let inputs = inputs_for(&gradient, &mut Rng::new(3), InputKind::Generic).unwrap();
    Interp::new(&gradient).run(&inputs).unwrap().counts.scalar_ops
}

/// The plan for the states that are kept is the best there is.
#[test]
fn loops_run_as_few_steps_again_as_possible() {
    let mut known = vec![vec![None; 8]; 48];
    for (n, s) in [(2, 1), (5, 1), (3, 2), (7, 2), (12, 3), (20, 4), (33, 3), (47, 5), (40, 2)] {
        // One more addition a step: in the values, in each step that is run again, and in what the
        // transpose of each step computes.
        let steps = loop_ops(n, s, "sin(s + 1.0)") - loop_ops(n, s, "sin(s)");
        let again = steps - 2 * n as u64;
        assert_eq!(again, fewest(n, s - 1, &mut known), "{n} steps, {s} states");
    }
}

/// The bytes that are kept beside the arguments.
fn kept(source: &str) -> (u64, Program) {
    let program = function(source, &[]);
    let gradient = checked(vjp(&program, None)).unwrap();
    let made = residuals(&program, &gradient).into_iter().filter(|r| r.input.is_none());
    (made.map(|r| r.ty.shape.bytes(r.ty.dtype)).sum(), gradient)
}

const LAYERS: &str = "
def layer(w: [4, 4]f64, x: [6, 4]f64) = tanh(matmul(x, w))
def net(w: [4, 4]f64, x: [6, 4]f64) = layer(w, layer(w, layer(w, layer(w, layer(w, x)))))
";

/// A layer is 192 bytes of products and as many of results.
#[test]
fn what_is_kept_is_what_the_policy_says() {
    let with = |policy: &str| {
        kept(&format!("{LAYERS}def f(w: [4, 4]f64, x: [6, 4]f64) = checkpoint(net{policy})(w, x)"))
    };
    let nothing = with("").0;
    let contractions = with(", contractions = true").0;
    let everything = with(", everything = true").0;
    let plain = kept(&format!("{LAYERS}def f(w: [4, 4]f64, x: [6, 4]f64) = net(w, x)")).0;
    assert_eq!(nothing, 0);
    assert_eq!(contractions, 5 * 192, "the products");
    assert!(contractions <= everything && everything <= plain, "{everything} {plain}");
    let ops = |program: &Program| {
        let inputs = inputs_for(program, &mut Rng::new(3), InputKind::Generic).unwrap();
        Interp::new(program).run(&inputs).unwrap().counts.scalar_ops
    };
    let mut before = ops(&with("").1);
    for bytes in [0, 191, 192, 400, 600, 800, 1000, 5000] {
        let (kept, gradient) = with(&format!(", bytes = {bytes}"));
        assert!(kept <= bytes, "{kept} bytes for a budget of {bytes}");
        assert!(kept + 192 > bytes || kept >= 4 * 192, "{kept} bytes of a budget of {bytes}");
        let now = ops(&gradient);
        assert!(now <= before, "{now} operations after {before} with {bytes} bytes");
        before = now;
    }
}

/// What is computed again is a checkpoint in the derivative, too, so the next derivative keeps little.
#[test]
fn derivatives_of_checkpoints_are_checkpoints() {
    let source = format!("{LAYERS}def f(w: [4, 4]f64, x: [6, 4]f64) = sum(checkpoint(net)(w, x))");
    let program = function(&source, &[]);
    let again = |program: &Program| {
        let kinds = program.terms().filter(|&t| match program.node(t) {
            Node::Custom(c) => {
                matches!(c.kind, CustomKind::Checkpoint(checkpoint) if checkpoint.again)
            }
            _ => false,
        });
        kinds.count()
    };
    let gradient = checked(value_and_grad(&program, None)).unwrap();
    assert_eq!(again(&gradient), 1);
    assert!(again(&checked(hvp(&program, None)).unwrap()) >= 1);
    let twice = checked(vjp(&gradient, None)).unwrap();
    assert!(again(&twice) >= 2);
}

/// Under a `build`, what is the same for every element stays that.
#[test]
fn shared_arguments_stay_shared_under_a_build() {
    let source = format!(
        "{LAYERS}def f(w: [4, 4]f64, xs: [7, 6, 4]f64) = build 7 (i => grad(w => sum(checkpoint(net)(w, xs[i])))(w))"
    );
    let program = function(&source, &[]);
    let replicated = program.terms().any(|t| program.shape(t).dims() == [7, 4, 4]
        && matches!(program.node(t), Node::Replicate(_, u) if matches!(program.node(*u), Node::Input(_))));
    assert!(!replicated, "{program}");
}

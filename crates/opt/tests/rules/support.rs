//! Checking one rule: on its own, and as the optimiser applies it.

use std::cell::Cell;
use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId};
use cotan_opt::{Options, optimise};
use cotan_testkit::rules::{Effort, Rule, Scene, check_rule};
use cotan_testkit::scaled;

/// A check of the rule called `name`.
pub struct Check {
    pub name: &'static str,
    run: Box<dyn Fn()>,
}

impl Check {
    pub fn run(&self) {
        (self.run)();
    }
}

/// What the optimiser did with the instances of a rule.
#[derive(Default)]
struct Seen {
    instances: Cell<usize>,
    fired: Cell<usize>,
}

/// A rule of the table: its left and right side, built directly. The optimiser must keep the meaning
/// of the left side, and fire the rule on most of the instances: on the others, such as those
/// without elements, another rule may be quicker.
pub fn check<T: 'static>(
    name: &'static str,
    setup: impl Fn(&mut Scene) -> Result<T> + Clone + 'static,
    left: impl Fn(&mut Builder, &T) -> Result<TermId> + Clone + 'static,
    right: impl Fn(&mut Builder, &T) -> Result<TermId> + Clone + 'static,
) -> Check {
    let run = move || {
        let seen = Rc::new(Seen::default());
        let counted = seen.clone();
        let rule = Rule::new(name, setup.clone(), left.clone(), right.clone())
            .rewritten_by(move |program| optimised(name, program, &counted));
        let effort = Effort { exhaustive: scaled(300), random: scaled(200) };
        let report = check_rule(&rule, effort).unwrap_or_else(|e| panic!("{e}"));
        let (fired, instances) = (seen.fired.get(), seen.instances.get());
        println!("{report}; fired in {fired} of {instances}");
        assert!(fired >= 100 && 3 * fired >= instances, "{name}: fired in {fired} of {instances}");
    };
    Check { name, run: Box::new(run) }
}

fn optimised(name: &str, program: &Program, seen: &Seen) -> std::result::Result<Program, String> {
    // The field of the tests does not round, so neither may the optimiser.
    let options = Options { fold_floats: false, ..Options::default() };
    let (result, report) = optimise(program, &options).map_err(|e| e.to_string())?;
    result.check().map_err(|e| e.to_string())?;
    seen.instances.set(seen.instances.get() + 1);
    if report.counts().contains_key(name) {
        seen.fired.set(seen.fired.get() + 1);
    } else if std::env::var_os("COTAN_VERBOSE").is_some() {
        println!("{name} did not fire on\n{program}but {:?}", report.counts());
    }
    Ok(result)
}

/// `k ::: sh`
pub fn cons(k: usize, dims: &[usize]) -> Vec<usize> {
    [&[k], dims].concat()
}

/// Copies of a number.
pub fn fill(b: &mut Builder, like: TermId, x: f64) -> Result<TermId> {
    let ty = b.ty(like).clone();
    let one = match ty.dtype {
        Dtype::F64 => b.scalar(x)?,
        Dtype::F32 => b.scalar(x as f32)?,
        Dtype::I64 => b.scalar(x as i64)?,
        Dtype::Bool => b.scalar(x != 0.0)?,
    };
    ty.shape.dims().iter().rev().try_fold(one, |t, &k| b.replicate(k, t))
}

/// Arrays of one shape, with at least one axis and of the given types.
pub fn arrays(s: &mut Scene, dtypes: &[Dtype]) -> Result<Vec<TermId>> {
    let sh = s.shape_of_rank(0, 3);
    dtypes.iter().map(|&d| s.array_of(d, &sh)).collect()
}

/// One side of an elementwise rule.
type Side = fn(&mut Builder, &[TermId]) -> Result<TermId>;

/// A rule of elementwise operations on arrays of the given types.
pub fn elementwise(name: &'static str, dtypes: &'static [Dtype], left: Side, right: Side) -> Check {
    check(name, move |s| arrays(s, dtypes), move |b, xs| left(b, xs), move |b, xs| right(b, xs))
}

pub fn neg(b: &mut Builder, x: TermId) -> Result<TermId> {
    b.op(Op::Neg, &[x])
}

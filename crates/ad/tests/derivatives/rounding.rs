//! How far rounding may move the results of a program.
//!
//! What is rounded is every number on the way, not only the results: in $(10^{16} + x) - 10^{16}$ the
//! sum loses what the difference shows. So every float that an operation takes or makes is moved by a
//! random part of itself, far more than rounding moves it; what comes of it, scaled back, is what
//! rounding may do.

use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::{Builder, Node, Output, Param, Program, RegionId, Scope, Scopes, TermId, TermMap};
use cotan_testkit::Rng;

use crate::support::*;

/// The part of itself by which a number is moved at most: large beside the unit of rounding, whose
/// own effects are then no part of what is seen, and so small that effects add up.
const SHAKE: f64 = 1.0 / (1u64 << 32) as f64;

/// How often that is done: the largest effect counts.
const TIMES: usize = 3;

/// How far rounding may move a function of the float results of a program.
pub fn of(
    source: &Program,
    inputs: &[Value],
    rng: &mut Rng,
    function: impl Fn(&[Value]) -> f64,
) -> Checked<f64> {
    let middle = function(&run(source, inputs, Mode::Ieee)?);
    let mut most = 0.0f64;
    for _ in 0..TIMES {
        let shaken = shaken(source, rng).map_err(text)?;
        let change = (function(&run(&shaken, inputs, Mode::Ieee)?) - middle).abs();
        // One that is not a number counts as infinite.
        most = if change <= most { most } else { change.max(most) };
        if change.is_nan() {
            return Ok(f64::INFINITY);
        }
    }
    Ok(most / SHAKE * f64::EPSILON)
}

/// The program with what its operations on floats take and make moved at random.
fn shaken(source: &Program, rng: &mut Rng) -> cotan_ir::Result<Program> {
    let scopes = Scopes::new(source);
    let mut b = Builder::new();
    let inputs = declare(&mut b, source)?;
    let mut shaking = Shaking { source, scopes: &scopes, inputs, images: TermMap::new(), rng };
    shaking.scope(&mut b, scopes.top())?;
    let output = |o: &Output| Ok(Output { name: o.name.clone(), term: shaking.image(o.term)? });
    let outputs = source.outputs().iter().map(output).collect::<cotan_ir::Result<_>>()?;
    b.finish(outputs)
}

struct Shaking<'a> {
    source: &'a Program,
    scopes: &'a Scopes,
    inputs: Vec<TermId>,
    images: TermMap<TermId>,
    rng: &'a mut Rng,
}

impl Shaking<'_> {
    fn image(&self, t: TermId) -> cotan_ir::Result<TermId> {
        let image = self.images.get(t).copied();
        image.ok_or_else(|| cotan_ir::Error::internal("a node without an image"))
    }

    fn scope(&mut self, b: &mut Builder, scope: &Scope) -> cotan_ir::Result<()> {
        for &t in scope.order() {
            if !self.images.contains(t) {
                let image = self.node(b, t)?;
                self.images.insert(t, image);
            }
        }
        Ok(())
    }

    fn node(&mut self, b: &mut Builder, t: TermId) -> cotan_ir::Result<TermId> {
        let source = self.source;
        let node = source.node(t);
        if let Node::Input(k) = node {
            return Ok(self.inputs[*k as usize]);
        }
        let region = node.region().map(|r| self.region(b, r)).transpose()?;
        let rounds = matches!(
            node,
            Node::Op(..) | Node::SumOuter(_) | Node::Scatter(..) | Node::Routine(..)
        );
        if !rounds || !source.dtype(t).is_float() {
            return b.remake(node, region, |u| self.image(u));
        }
        // What is added up on the way is no node, so what is added is moved, too.
        let mut operands: Vec<(TermId, TermId)> = Vec::new();
        let mut all: Vec<TermId> = Vec::new();
        node.for_each_operand(|u| all.push(u));
        for u in all {
            let image = self.image(u)?;
            operands.push((u, self.moved(b, image)?));
        }
        let moved = |u: TermId| {
            let found = operands.iter().find(|(operand, _)| *operand == u);
            found.map_or_else(|| self.image(u), |(_, image)| Ok(*image))
        };
        let made = b.remake(node, region, moved)?;
        self.moved(b, made)
    }

    /// An array of floats with every element moved.
    fn moved(&mut self, b: &mut Builder, t: TermId) -> cotan_ir::Result<TermId> {
        if b.dtype(t) != Dtype::F64 {
            return Ok(t);
        }
        let shape = Shape::new("shaken", b.shape(t).dims())?;
        let mut factor = || 1.0 + SHAKE * (self.rng.below(1 << 20) as f64 / (1 << 19) as f64 - 1.0);
        let factors: Vec<f64> = (0..shape.numel()).map(|_| factor()).collect();
        let factors = b.constant(&Array::from_vec(shape, factors)?)?;
        b.op(cotan_ir::scalar::Op::Mul, &[t, factors])
    }

    /// A region; its captures have images.
    fn region(&mut self, b: &mut Builder, r: RegionId) -> cotan_ir::Result<RegionId> {
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(r);
        let param = |&p: &TermId| match source.node(p) {
            Node::Var { param, .. } => Some((**param).clone()),
            _ => None,
        };
        let params: Vec<Param> = region.params().iter().filter_map(param).collect();
        b.lambda(&params, |b, vars| {
            for (&p, &var) in region.params().iter().zip(vars) {
                self.images.insert(p, var);
            }
            self.scope(b, scopes.region(r))?;
            let results = region.results().iter().map(|&t| self.image(t)).collect();
            // Another region may use the same nodes with other variables.
            for &t in scopes.region(r).order().iter().chain(region.params()) {
                self.images.remove(t);
            }
            results
        })
    }
}

#[test]
fn what_is_lost_on_the_way_is_seen() {
    let program = |text: &str| {
        let modules = cotan_syntax::load_text("test.ct", text).expect("a text");
        cotan_syntax::instantiate(&modules, "main", &[], &[], &Default::default())
            .expect("a program")
            .program
    };
    let of = |text: &str, x: f64| {
        let inputs = [Value::from(&Array::scalar(x))];
        let first = |values: &[Value]| floats(&values[0])[0];
        of(&program(text), &inputs, &mut Rng::new(1), first).expect("a number")
    };
    let near = |found: f64, expected: f64| found > 0.1 * expected && found < 10.0 * expected;
    assert!(near(of("def main(x: f64) = sin(x)", 1.0), f64::EPSILON));
    assert!(near(of("def main(x: f64) = (x + 1e16) - 1e16", 1.0), 1e16 * f64::EPSILON));
    let sum = "def main(x: f64) = sum([1e16, x, -1e16])";
    assert!(near(of(sum, 1.0), 1e16 * f64::EPSILON));
    let fold = "def main(x: f64) = fold(x, iota(3), (s, i) => (s + 1e12) - 1e12)";
    assert!(near(of(fold, 1.0), 1e12 * f64::EPSILON));
}

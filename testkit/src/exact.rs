//! Programs that compute on integers kept in floats, and never round.
//!
//! Where every float is an integer of moderate size, sums and products are exact in whatever order
//! they are taken: two programs that should agree agree to the last bit. [`never_rounds`] proves
//! this of a program by bounding the magnitude of every node.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Literal, Node, Program, RegionId, Scopes, TermId};
use rustc_hash::FxHashMap;

use crate::TypedOp;
use crate::ending::most_steps;

/// No small integer given to a program is larger than this.
pub const INPUT_BOUND: f64 = 8.0;

/// How long a loop is followed whose states grow; one that grows longer counts as rounding.
const MAX_STEPS: usize = 10_000;

/// Whether a program, given integers of at most [`INPUT_BOUND`], computes every float exactly.
pub fn never_rounds(program: &Program) -> bool {
    let scopes = Scopes::new(program);
    let magnitudes = vec![0.0; program.len()];
    let mut bounds = Bounds { program, scopes: &scopes, magnitudes, results: FxHashMap::default() };
    bounds.scope(scopes.top().order()).is_some()
}

/// The largest integer up to which all are represented.
fn exact_up_to(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => 2f64.powi(53),
        Dtype::F32 => 2f64.powi(24),
        // Integers wrap but never round; what is too large for a float is found at the cast.
        Dtype::I64 | Dtype::Bool => f64::INFINITY,
    }
}

/// Upper bounds of the absolute values of the nodes of the open scopes.
struct Bounds<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    magnitudes: Vec<f64>,
    /// Those of formers with several results.
    results: FxHashMap<TermId, Vec<f64>>,
}

impl Bounds<'_> {
    /// Bounds the nodes of a scope, or returns `None` when one may round.
    fn scope(&mut self, order: &[TermId]) -> Option<()> {
        for &t in order {
            let magnitude = self.node(t)?;
            let dtype = self.program.dtype(t);
            if magnitude > exact_up_to(dtype) || magnitude.is_nan() && dtype.is_float() {
                return None;
            }
            // Infinity times zero is not a number, and may be anything after wrapping.
            let wraps = magnitude.is_nan() || magnitude > 2f64.powi(62);
            self.magnitudes[t.index()] = if wraps { f64::INFINITY } else { magnitude };
        }
        Some(())
    }

    fn of(&self, t: TermId) -> f64 {
        self.magnitudes[t.index()]
    }

    fn node(&mut self, t: TermId) -> Option<f64> {
        let program = self.program;
        Some(match program.node(t) {
            Node::Const(literal) => literal_magnitude(literal)?,
            Node::Input(_) => INPUT_BOUND,
            // Set by the binder.
            Node::Var { .. } => self.of(t),
            Node::Cond(_, u, v) => self.of(*u).max(self.of(*v)),
            Node::Op(op, args) => self.op(*op, args, program.dtype(t))?,
            Node::Index(u, _) | Node::OneHot(_, u, _) | Node::Replicate(_, u) => self.of(*u),
            Node::Transpose(_, u) | Node::Reshape(_, u) => self.of(*u),
            Node::SumOuter(u) => {
                self.of(*u) * program.shape(*u).dims().first().map_or(1.0, |&k| k as f64)
            }
            Node::Gather(u, r) => {
                self.index_region(*r)?;
                self.of(*u)
            }
            Node::Scatter(_, u, r) => {
                self.index_region(*r)?;
                let terms: usize = program.index_sizes(*r).iter().product();
                self.of(*u) * terms as f64
            }
            Node::Stack(ts) => ts.iter().map(|&u| self.of(u)).fold(0.0, f64::max),
            Node::Build1(r) => {
                self.index_region(*r)?;
                program.region(*r).results().first().map_or(0.0, |&u| self.of(u))
            }
            Node::Iota(k) => *k as f64,
            Node::ArgExtreme(_, u) | Node::ArgSort(u) | Node::SegmentArg(_, _, u, _) => {
                program.shape(*u).dims().first().map_or(0.0, |&k| k as f64)
            }
            // Quotients and roots.
            Node::Routine(..) => return None,
            Node::MapAccum(m) => {
                let results = self.steps(&m.init, &m.inputs, m.step, 0, m.length)?;
                self.results.insert(t, results);
                0.0
            }
            Node::While(w) => {
                let results = self.steps(&w.init, &[], w.step, 1, most_steps(program, w)?)?;
                self.results.insert(t, results);
                0.0
            }
            Node::Custom(c) => {
                let region = program.region(c.region);
                for (n, &param) in region.params().iter().enumerate() {
                    // What only the rule is given does not matter: it is not run.
                    self.magnitudes[param.index()] = c.args.get(n).map_or(0.0, |&u| self.of(u));
                }
                self.scope(self.scopes.region(c.region).order())?;
                let results = region.results().iter().take(c.outputs);
                let results = results.map(|&u| self.of(u)).collect();
                self.results.insert(t, results);
                0.0
            }
            Node::Result(u, n) => {
                self.results.get(u).and_then(|r| r.get(*n as usize)).copied().unwrap_or(f64::NAN)
            }
        })
    }

    /// Bounds the results of a loop: its states and outputs, after some results of its step that are
    /// neither.
    fn steps(
        &mut self,
        init: &[TermId],
        inputs: &[TermId],
        step: RegionId,
        skip: usize,
        length: usize,
    ) -> Option<Vec<f64>> {
        let mut states: Vec<f64> = init.iter().map(|&u| self.of(u)).collect();
        let inputs: Vec<f64> = inputs.iter().map(|&u| self.of(u)).collect();
        let region = self.program.region(step);
        let mut outputs = vec![0.0f64; region.results().len() - skip - states.len()];
        for n in 0..length {
            if n == MAX_STEPS {
                return None;
            }
            for (&param, &x) in region.params().iter().zip(states.iter().chain(&inputs)) {
                self.magnitudes[param.index()] = x;
            }
            self.scope(self.scopes.region(step).order())?;
            let results: Vec<f64> = region.results()[skip..].iter().map(|&u| self.of(u)).collect();
            let (next, written) = results.split_at(states.len());
            for (y, &x) in outputs.iter_mut().zip(written) {
                *y = y.max(x);
            }
            let grown: Vec<f64> = states.iter().zip(next).map(|(s, n)| s.max(*n)).collect();
            // A fixed point holds for all further steps.
            if std::mem::replace(&mut states, grown.clone()) == grown {
                break;
            }
        }
        states.extend(outputs);
        Some(states)
    }

    /// Bounds the nodes of a region whose parameters are indices.
    fn index_region(&mut self, r: RegionId) -> Option<()> {
        let program = self.program;
        for (&param, k) in program.region(r).params().iter().zip(program.index_sizes(r)) {
            self.magnitudes[param.index()] = k as f64;
        }
        self.scope(self.scopes.region(r).order())
    }

    fn op(&self, op: Op, args: &[TermId], result: Dtype) -> Option<f64> {
        let dtypes = args.iter().map(|&t| self.program.dtype(t)).collect();
        if !(TypedOp { op, args: dtypes, result }).keeps_integers() {
            return None;
        }
        let args: Vec<f64> = args.iter().map(|&t| self.of(t)).collect();
        let largest = args.iter().copied().fold(0.0, f64::max);
        Some(match (op, args.as_slice()) {
            (Op::Add | Op::Sub, [a, b]) => a + b,
            (Op::Mul | Op::Scale | Op::StrongMul, [a, b]) => a * b,
            (Op::Sign, _) => 1.0,
            (Op::Rem, [_, b]) => *b,
            (Op::FloorDiv, [a, _]) => *a,
            (Op::Select, [_, a, b]) => a.max(*b),
            // As many bits as the longer argument.
            (Op::And | Op::Or | Op::Xor | Op::Not, _) => 2.0 * (largest + 1.0),
            (Op::Popcount | Op::Clz | Op::Ctz, _) => 64.0,
            (Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightZero, _) => i64::MAX as f64,
            (Op::IntPow | Op::ToBits, _) => i64::MAX as f64,
            _ if result == Dtype::Bool => 1.0,
            _ => largest,
        })
    }
}

/// The largest absolute value of a literal, or `None` when a float in it is not an integer.
fn literal_magnitude(literal: &Literal) -> Option<f64> {
    let array: &Array = literal;
    let floats = array.cast(Dtype::F64).ok()?;
    let mut largest = 0.0f64;
    for x in floats.iter::<f64>()? {
        if x.fract() != 0.0 || !x.is_finite() {
            return None;
        }
        largest = largest.max(x.abs());
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_ir::{Builder, MapAccum, Param, Type};

    /// A program of one scalar input, with a result made from it.
    fn rounds(dtype: Dtype, make: impl FnOnce(&mut Builder, TermId) -> TermId) -> bool {
        let mut b = Builder::new();
        let x = b.input("x", Type::scalar(dtype)).unwrap();
        let y = make(&mut b, x);
        !never_rounds(&b.finish_one(y).unwrap())
    }

    /// `x` to the power `2^n`.
    fn squared(b: &mut Builder, x: TermId, n: usize) -> TermId {
        (0..n).fold(x, |x, _| b.op(Op::Mul, &[x, x]).unwrap())
    }

    #[test]
    fn products_round_when_they_outgrow_the_mantissa() {
        // 8^16 = 2^48, 8^32 = 2^96; 8^8 = 2^24.
        assert!(!rounds(Dtype::F64, |b, x| squared(b, x, 4)));
        assert!(rounds(Dtype::F64, |b, x| squared(b, x, 5)));
        assert!(!rounds(Dtype::F32, |b, x| squared(b, x, 3)));
        assert!(rounds(Dtype::F32, |b, x| squared(b, x, 4)));
        assert!(!rounds(Dtype::I64, |b, x| squared(b, x, 9)));
    }

    #[test]
    fn wrapped_integers_are_found_at_the_cast() {
        let cast = |b: &mut Builder, x, n| {
            let y = squared(b, x, n);
            b.op(Op::ToF64, &[y]).unwrap()
        };
        assert!(!rounds(Dtype::I64, |b, x| cast(b, x, 4)));
        assert!(rounds(Dtype::I64, |b, x| cast(b, x, 5)));
        assert!(rounds(Dtype::I64, |b, x| cast(b, x, 9)));
    }

    #[test]
    fn quotients_and_fractions_round() {
        assert!(rounds(Dtype::F64, |b, x| b.op(Op::Recip, &[x]).unwrap()));
        let half = |b: &mut Builder, x| {
            let half = b.scalar(0.5).unwrap();
            b.op(Op::Mul, &[x, half]).unwrap()
        };
        assert!(rounds(Dtype::F64, half));
    }

    /// Whether a loop rounds.
    fn loop_rounds(length: usize, next: fn(&mut Builder, TermId) -> TermId) -> bool {
        rounds(Dtype::F64, |b, x| {
            let step = |b: &mut Builder, s: &[TermId]| Ok(vec![next(b, s[0])]);
            let step = b.lambda(&[Param::Value(Type::scalar(Dtype::F64))], step).unwrap();
            let inputs = Box::default();
            let m = MapAccum { length, reverse: false, init: [x].into(), inputs, step };
            let m = b.map_accum(m).unwrap();
            b.result(m, 0).unwrap()
        })
    }

    #[test]
    fn loops_are_bounded_step_by_step() {
        assert!(!loop_rounds(4, |b, s| squared(b, s, 1)));
        assert!(loop_rounds(5, |b, s| squared(b, s, 1)));
    }

    #[test]
    fn long_loops_are_followed_until_nothing_grows_or_for_so_long() {
        assert!(!loop_rounds(usize::MAX, |b, s| b.op(Op::Max, &[s, s]).unwrap()));
        let successor = |b: &mut Builder, s| {
            let one = b.scalar(1.0f64).unwrap();
            b.op(Op::Add, &[s, one]).unwrap()
        };
        assert!(!loop_rounds(MAX_STEPS, successor));
        assert!(loop_rounds(usize::MAX, successor));
    }
}

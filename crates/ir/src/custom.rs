//! Functions with derivatives of their own: the typing rule and its constructor.

use cotan_array::Dtype;
use rustc_hash::FxHashSet;

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::term::{Arena, Custom, CustomKind, Node, TermId, Type};

/// A part of a program of which reverse mode keeps what is said here, and computes the rest again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    /// What is kept between the forward and the reverse pass.
    pub keep: Keep,
    /// Whether this is what a reverse pass computes again: it is run apart from all other code, so
    /// that it is not found to be equal to what was computed, and kept, before.
    pub again: bool,
}

/// What is kept of a part of a program for its reverse pass, beside what the part is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// Whatever the derivative needs.
    Everything,
    /// Of what the derivative needs, the results of contractions, of routines and of loops.
    Contractions,
    /// What saves the most work among arrays of so many bytes in total. Loops of known length keep
    /// as many states as have room in them.
    Bytes(u64),
    /// Nothing, and of loops of known length so many states at a time.
    States(u32),
}

impl Builder {
    /// A function with a derivative of its own; see [`Custom`]. Its results are read by
    /// [`Builder::result`].
    pub fn custom(&mut self, c: Custom) -> Result<TermId> {
        let node = Node::Custom(Box::new(c));
        if let Node::Custom(c) = &node {
            for &t in &c.args {
                self.operand(node.name(), t)?;
            }
            custom_rule(self, c).map_err(|m| self.at(Error::type_error(node.name(), m)))?;
        }
        self.make(node, Type::scalar(Dtype::F64))
    }
}

/// The typing rule: what is wrong, if anything.
fn custom_rule(arena: &Arena, c: &Custom) -> std::result::Result<(), String> {
    let region = arena.region(c.region);
    let (count, outputs) = (c.args.len(), c.outputs);
    if region.params().len() < count || region.results().len() < outputs {
        return Err("the function has too few parameters or results".to_owned());
    }
    let (params, taken) = region.params().split_at(count);
    let (results, given) = region.results().split_at(outputs);
    for (n, (&t, &p)) in c.args.iter().zip(params).enumerate() {
        if arena.ty(t) != arena.ty(p) {
            let (t, p) = (arena.ty(t), arena.ty(p));
            return Err(format!("argument {n} is {t}, but the function takes {p}"));
        }
    }
    let (twice, thrice) = (results.repeat(2), results.repeat(3));
    let (from, to, what) = match c.kind {
        CustomKind::Vjp => (results, params, ("cotangents of the results", "of the arguments")),
        CustomKind::Jvp => (params, results, ("tangents of the arguments", "of the results")),
        CustomKind::Implicit => {
            if let Some(&t) = results.iter().find(|&&t| !arena.ty(t).dtype.is_float()) {
                return Err(format!("the solution of an equation is floats, not {}", arena.ty(t)));
            }
            (&*twice, &*thrice, ("unknown and the right side", "residual and two solutions"))
        }
        CustomKind::Checkpoint(_) => (&[][..], &[][..], ("nothing", "nothing")),
    };
    for (side, expected, found) in [("take", from, taken), ("give", to, given)] {
        let expected = expected.iter().map(|&t| arena.ty(t)).filter(|ty| ty.dtype.is_float());
        let list = |types: &mut dyn Iterator<Item = &Type>| -> String {
            let types: Vec<String> = types.map(Type::to_string).collect();
            format!("({})", types.join(", "))
        };
        let (expected, found) =
            (list(&mut expected.into_iter()), list(&mut found.iter().map(|&t| arena.ty(t))));
        if expected != found {
            let what = if side == "take" { what.0 } else { what.1 };
            return Err(format!("the rule must {side} the {what}, {expected}, not {found}"));
        }
    }
    if depends_on(arena, results, taken, region.level()) {
        return Err("the function's results depend on what only the rule is given".to_owned());
    }
    Ok(())
}

/// Whether any of `terms` needs any of `vars`, variables of a region of the given level.
pub(crate) fn depends_on(arena: &Arena, terms: &[TermId], vars: &[TermId], level: u8) -> bool {
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    let mut stack = terms.to_vec();
    while let Some(t) = stack.pop() {
        if arena.free(t).innermost() < level || !seen.insert(t) {
            continue;
        }
        if vars.contains(&t) {
            return true;
        }
        let node = arena.node(t);
        node.for_each_operand(|u| stack.push(u));
        if let Some(r) = node.region() {
            stack.extend(arena.region(r).results());
        }
    }
    false
}

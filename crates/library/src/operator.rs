//! Reductions, scans and reductions by index with an operator of one's own.
//!
//! An operator combines two values of a structure of arrays into one; it is given as a program, with
//! what it captures. It is *associative by declaration*: how its applications are nested is not
//! specified, their order is. So a reduction is a balanced tree of bulk operations, of logarithmic
//! depth and as much work as a loop, and so is its derivative.
//!
//! Operators that are nothing but `+`, `min` or `max` (also of arrays, element by element, and of
//! structures, part by part) have formers of their own: sums, and reads at positions of extremes.
//! Products have none, and need none: in the tree, the derivative of a product by each factor is that
//! of all others, whether some of them are 0 or not.

use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Error, Extreme, Node, Program, Result, TermId};

use crate::context::Context;
use crate::segment;
use crate::term::Term;

/// An operator: a program of the parts of its left operand, of its right operand, and of what it
/// captures, to the parts of the result.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The program.
    pub program: Program,
    /// The terms that its last inputs stand for.
    pub captures: Vec<TermId>,
}

impl Operator {
    /// The one scalar operation that the operator is for each part, if it is: `a op b`.
    fn direct(&self, parts: usize) -> Option<Vec<Op>> {
        let is_input = |t: TermId, n: usize| matches!(self.program.node(t), Node::Input(k) if *k as usize == n);
        let part = |(n, output): (usize, &cotan_ir::Output)| match self.program.node(output.term) {
            Node::Op(op @ (Op::Add | Op::Mul | Op::Min | Op::Max), args)
                if is_input(args[0], n) && is_input(args[1], parts + n) =>
            {
                Some(*op)
            }
            _ => None,
        };
        self.program.outputs().iter().enumerate().map(part).collect()
    }

    fn check(&self, c: &Context, xs: &[Term<'_>]) {
        if self.program.outputs().len() != xs.len()
            || self.program.inputs().len() != 2 * xs.len() + self.captures.len()
        {
            c.fail(Error::internal("an operator for another number of arrays"));
        }
    }

    /// The combination of two values.
    fn apply<'c>(&self, c: &'c Context, a: &[Term<'c>], b: &[Term<'c>]) -> Vec<Term<'c>> {
        let operands = a.iter().chain(b).map(|x| x.id());
        let args: Option<Vec<TermId>> =
            operands.chain(self.captures.iter().map(|&t| Some(t))).collect();
        let made = args.and_then(|args| c.change(|b| b.inline(&self.program, &args)));
        match made {
            Some(made) => made.into_iter().map(|t| c.term(t)).collect(),
            None => a.iter().map(|x| x.nothing()).collect(),
        }
    }
}

/// The elements at a position, of every part.
fn element<'c>(xs: &[Term<'c>], i: Term<'c>) -> Vec<Term<'c>> {
    xs.iter().map(|x| x.at(&[i])).collect()
}

/// Neighbours combined until one is left; the last of an odd number stays as it is.
fn tree<'c>(c: &'c Context, op: &Operator, mut xs: Vec<Term<'c>>, mut n: usize) -> Vec<Term<'c>> {
    while n > 1 && !c.failed() {
        let half = n.div_ceil(2);
        xs = c.build_all(&[half], |i| {
            let (left, right) = (i[0] * 2i64, i[0] * 2i64 + 1i64);
            let (a, b) = (element(&xs, left), element(&xs, right));
            let combined = op.apply(c, &a, &b);
            if n.is_multiple_of(2) {
                return combined;
            }
            let whole = right.lt(n);
            combined.into_iter().zip(a).map(|(both, alone)| whole.choose(both, alone)).collect()
        });
        n = half;
    }
    element(&xs, c.int(0))
}

/// The number of elements along the outermost axes, which is one.
fn common_length(c: &Context, xs: &[Term<'_>]) -> usize {
    let first = xs.first().and_then(|x| x.dims().first().copied());
    if first.is_none() || xs.iter().any(|x| x.dims().first().copied() != first) {
        let shown: Vec<String> = xs.iter().map(|x| x.shown()).collect();
        c.wrong(
            format!("arrays without a length in common: {}", shown.join(", ")),
            "all arrays to run along must have the same outermost size",
        );
    }
    first.unwrap_or(0)
}

fn reduced<'c>(
    c: &'c Context,
    op: &Operator,
    neutral: &[Term<'c>],
    xs: &[Term<'c>],
) -> Vec<Term<'c>> {
    op.check(c, xs);
    let n = common_length(c, xs);
    if n == 0 || c.failed() {
        return neutral.to_vec();
    }
    let Some(direct) = op.direct(xs.len()) else { return tree(c, op, xs.to_vec(), n) };
    let part = |(&x, &part): (&Term<'c>, &Op)| match part {
        Op::Add => x.sum_outer(1),
        Op::Max => x.pick(x.arg_extreme(Extreme::Max)),
        Op::Min => x.pick(x.arg_extreme(Extreme::Min)),
        _ => product(c, x, n),
    };
    xs.iter().zip(&direct).map(part).collect()
}

/// The product along the outermost axis, as a tree.
pub(crate) fn product<'c>(c: &'c Context, mut x: Term<'c>, mut n: usize) -> Term<'c> {
    while n > 1 && !c.failed() {
        let half = n.div_ceil(2);
        let left = x.along(0, half, |i| i * 2i64);
        let right = x.along(0, half, |i| i * 2i64 + 1i64);
        // The last of an odd number has a neighbour of 1.
        let right = match n.is_multiple_of(2) {
            true => right,
            false => {
                let whole = c.iota(half).lt(half - 1).column(x.rank().saturating_sub(1));
                whole.choose(right, 1.0)
            }
        };
        x = left * right;
        n = half;
    }
    x.nth(0)
}

/// The combinations of the elements up to each. Those that end at odd positions are the
/// combinations of pairs, of which there are half as many; one more step gives the others.
fn prefixes<'c>(c: &'c Context, op: &Operator, xs: &[Term<'c>], n: usize) -> Vec<Term<'c>> {
    // From the longest to the shortest, and back.
    let mut levels: Vec<(Vec<Term<'c>>, usize)> = vec![(xs.to_vec(), n)];
    while let Some((xs, n)) = levels.last().filter(|(_, n)| *n > 1 && !c.failed()) {
        let half = n / 2;
        let pairs = c.build_all(&[half], |i| {
            let left = i[0] * 2i64;
            op.apply(c, &element(xs, left), &element(xs, left + 1i64))
        });
        levels.push((pairs, half));
    }
    let Some((mut done, _)) = levels.pop() else { return xs.to_vec() };
    while let Some((xs, n)) = levels.pop() {
        let half = n.div_ceil(2);
        let even = c.build_all(&[half], |i| {
            let own = element(&xs, i[0] * 2i64);
            let longer = op.apply(c, &element(&done, i[0] - 1i64), &own);
            let first = i[0].eq(0i64);
            own.into_iter().zip(longer).map(|(own, longer)| first.choose(own, longer)).collect()
        });
        done = even.into_iter().zip(done).map(|(even, odd)| interleaved(c, even, odd, n)).collect();
    }
    done
}

/// The elements of two arrays in turn, `n` in all. The last one of an odd number has no neighbour: that
/// reads 0, and is cut off.
fn interleaved<'c>(c: &'c Context, even: Term<'c>, odd: Term<'c>, n: usize) -> Term<'c> {
    let half = n.div_ceil(2);
    let mut dims = even.dims();
    let Some(outer) = dims.first_mut() else { return even };
    *outer = 2 * half;
    let pairs = crate::arrange::stacked(c, &[even, odd.along(0, half, |i| i)]);
    let order: Vec<usize> = [1, 0].into_iter().chain(2..pairs.rank()).collect();
    let all = pairs.permute(&order).reshape(&dims);
    if n.is_multiple_of(2) { all } else { all.along(0, n, |i| i) }
}

fn scanned<'c>(c: &'c Context, op: &Operator, xs: &[Term<'c>], reverse: bool) -> Vec<Term<'c>> {
    op.check(c, xs);
    let n = common_length(c, xs);
    if n < 2 || c.failed() {
        return xs.to_vec();
    }
    let turned = |x: Term<'c>| match reverse {
        true => x.along(0, n, |i| c.int(n as i64 - 1) - i),
        false => x,
    };
    // Along one axis there is nothing faster than a loop for these.
    if let Some(direct) = op.direct(xs.len()) {
        let part = |(&x, &op): (&Term<'c>, &Op)| {
            let rest = x.along(0, n - 1, |i| if reverse { i } else { i + 1i64 });
            let first = x.nth(if reverse { n - 1 } else { 0 });
            let made = Term::run_loop(reverse, &[first], &[rest], |s, x| {
                let operands = if reverse { [x[0], s[0]] } else { [s[0], x[0]] };
                let next = Term::op(op, &operands);
                vec![next, next]
            });
            let ends = x.context().int(if reverse { n as i64 - 1 } else { 0 });
            let dims: Vec<usize> = x.dims().into_iter().take(1).collect();
            let others = made[1].gather(&dims, |i| vec![if reverse { i[0] } else { i[0] - 1i64 }]);
            let at_end = c.iota(n).eq(ends).column(x.rank().saturating_sub(1));
            at_end.choose(first, others)
        };
        return xs.iter().zip(&direct).map(part).collect();
    }
    if !reverse {
        return prefixes(c, op, xs, n);
    }
    // Backwards, the operands come the other way round.
    let swapped = op.swapped(c, xs.len());
    let xs: Vec<Term<'c>> = xs.iter().map(|&x| turned(x)).collect();
    prefixes(c, &swapped, &xs, n).into_iter().map(turned).collect()
}

impl Operator {
    /// The operator with its operands the other way round.
    fn swapped(&self, c: &Context, parts: usize) -> Operator {
        let mut b = Builder::new();
        let made = (|| -> Result<Program> {
            let mut inputs = Vec::new();
            for input in self.program.inputs() {
                inputs.push(b.input(input.name.clone(), input.ty.clone())?);
            }
            let (a, rest) = inputs.split_at(parts);
            let (right, captures) = rest.split_at(parts);
            let results = b.inline(&self.program, &[right, a, captures].concat())?;
            let output = |term: TermId| cotan_ir::Output { name: String::new(), term };
            std::mem::take(&mut b).finish(results.into_iter().map(output).collect())
        })();
        match made {
            Ok(program) => Operator { program, captures: self.captures.clone() },
            Err(error) => {
                c.fail(error);
                self.clone()
            }
        }
    }
}

/// Bins that begin as the neutral element, and take one element after the other: no sort, and what a
/// step changes is one element of each part.
fn by_index<'c>(
    c: &'c Context,
    op: &Operator,
    neutral: &[Term<'c>],
    bins: usize,
    ids: Term<'c>,
    xs: &[Term<'c>],
) -> Vec<Term<'c>> {
    op.check(c, xs);
    let n = common_length(c, xs);
    if ids.dims() != [n] {
        let message = format!("ids {} for {n} elements", ids.shown());
        c.wrong(message, "ids have one axis, as long as the outermost of the arrays");
    }
    if c.failed() {
        return neutral.to_vec();
    }
    let direct = op.direct(xs.len()).filter(|ops| !ops.contains(&Op::Mul));
    if let Some(direct) = direct {
        let part = |((&x, &neutral), &op): ((&Term<'c>, &Term<'c>), &Op)| {
            let start = neutral.replicate_all(&[bins]);
            match op {
                Op::Add => start + segment::summed(x, ids, bins),
                Op::Max => start.maximum(segment::extremes(x, ids, bins, Extreme::Max)),
                _ => start.minimum(segment::extremes(x, ids, bins, Extreme::Min)),
            }
        };
        return xs.iter().zip(neutral).zip(&direct).map(part).collect();
    }
    let init: Vec<Term<'c>> = neutral.iter().map(|x| x.replicate_all(&[bins])).collect();
    let inputs: Vec<Term<'c>> = std::iter::once(ids).chain(xs.iter().copied()).collect();
    let mut made = Term::run_loop(false, &init, &inputs, |state, x| {
        let id = x[0];
        let next = op.apply(c, &element(state, id), &x[1..]);
        let place = c.iota(bins).eq(id);
        let changed = |(&bins, next): (&Term<'c>, Term<'c>)| {
            place.column(bins.rank().saturating_sub(1)).choose(next, bins)
        };
        state.iter().zip(next).map(changed).collect()
    });
    made.truncate(init.len());
    made
}

/// What a function of these gives: an array for each part of the structure.
fn call(
    b: &mut Builder,
    name: &'static str,
    f: impl for<'c> FnOnce(&'c Context) -> Vec<Term<'c>>,
) -> Result<Vec<TermId>> {
    let (made, _) = Context::with(b, |c| {
        let ids = f(c).into_iter().map(|x| x.id());
        ids.collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("nothing was made"))
    });
    made.map_err(|error| match error.op() {
        "" => {
            let named = Error::new(error.kind(), name, error.message());
            error.hint().map_or(named.clone(), |hint| named.with_hint(hint))
        }
        _ => error,
    })
}

/// All elements along the outermost axis combined, or the neutral element where there are none.
pub fn reduce(
    b: &mut Builder,
    op: &Operator,
    neutral: &[TermId],
    xs: &[TermId],
) -> Result<Vec<TermId>> {
    call(b, "reduce", |c| reduced(c, op, &terms(c, neutral), &terms(c, xs)))
}

/// For each element along the outermost axis, the combination of those up to it; with `reverse`, of
/// it and those after it.
pub fn associative_scan(
    b: &mut Builder,
    op: &Operator,
    xs: &[TermId],
    reverse: bool,
) -> Result<Vec<TermId>> {
    call(b, "associative_scan", |c| scanned(c, op, &terms(c, xs), reverse))
}

/// For each of `bins` ids the combination of the neutral element and the elements that have the id,
/// in their order; elements with other ids are left out.
pub fn reduce_by_index(
    b: &mut Builder,
    op: &Operator,
    neutral: &[TermId],
    bins: usize,
    ids: TermId,
    xs: &[TermId],
) -> Result<Vec<TermId>> {
    call(b, "reduce_by_index", |c| {
        by_index(c, op, &terms(c, neutral), bins, c.term(ids), &terms(c, xs))
    })
}

fn terms<'c>(c: &'c Context, ids: &[TermId]) -> Vec<Term<'c>> {
    ids.iter().map(|&t| c.term(t)).collect()
}

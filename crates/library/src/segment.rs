//! Reductions of the parts of an array that have the same id.

use cotan_array::Dtype;
use cotan_ir::Extreme;

use crate::context::Fact;
use crate::function::functions;
use crate::term::Term;

/// Whether the ids are a vector as long as the outermost axis.
fn expect_ids(x: Term<'_>, ids: Term<'_>) -> bool {
    let (c, dims, own) = (x.context(), x.dims(), ids.dims());
    if dims.get(..1) == Some(&own[..]) {
        return true;
    }
    c.note(Fact::Blame(vec![0, 1]));
    if let (Some(&k), &[m]) = (dims.first(), &own[..]) {
        c.note(Fact::UnlessEqual(vec![(k, m)]));
    }
    let message = format!("ids {} for the parts of {}", ids.shown(), x.shown());
    c.wrong(message, "ids have one axis, as long as the outermost of the array");
    false
}

/// The sum of parts by their ids.
pub(crate) fn summed<'c>(x: Term<'c>, ids: Term<'c>, n: usize) -> Term<'c> {
    match expect_ids(x, ids) {
        true => x.scatter(&[n], &ids.dims(), |is| vec![ids.at(is)]),
        false => x.nothing(),
    }
}

/// How often each of `n` ids occurs in an array of any shape.
fn counted<'c>(ids: Term<'c>, n: usize, dtype: Dtype) -> Term<'c> {
    let dims = ids.dims();
    let ones = ids.context().full(&dims, 1.0, dtype);
    ones.scatter(&[n], &dims, |is| vec![ids.at(is)])
}

fn means<'c>(x: Term<'c>, ids: Term<'c>, n: usize) -> Term<'c> {
    let total = summed(x, ids, n);
    total / counted(ids, n, x.dtype()).column(x.rank().saturating_sub(1))
}

/// The positions of the extremes, for each id and place of a part.
fn positions<'c>(x: Term<'c>, ids: Term<'c>, n: usize, extreme: Extreme) -> Term<'c> {
    if !expect_ids(x, ids) {
        return x.nothing();
    }
    let ids = ids.spread(&[0], &x.dims());
    match ids.id() {
        Some(ids) => x.map(|b, t| b.segment_arg(extreme, n, t, ids)),
        None => ids,
    }
}

/// What stands at the positions; where there is none, which is a position outside, the neutral
/// element.
pub(crate) fn extremes<'c>(x: Term<'c>, ids: Term<'c>, n: usize, extreme: Extreme) -> Term<'c> {
    let position = positions(x, ids, n, extreme);
    let found = x.gather(&position.dims(), |is| {
        std::iter::once(position.at(is)).chain(is.iter().skip(1).copied()).collect()
    });
    position.lt(x.len()).choose(found, x.bound(extreme))
}

/// Which source each place of the expansion belongs to is how many begin at it or before, less one:
/// a running sum of where they begin.
fn expanded<'c>(counts: Term<'c>, total: usize) -> Vec<Term<'c>> {
    let (c, dims) = (counts.context(), counts.dims());
    let [n] = dims[..] else {
        c.note(Fact::Blame(vec![0]));
        c.wrong(format!("counts are a vector, not {}", counts.shown()), "");
        return vec![counts.nothing(); 2];
    };
    let running = |x: Term<'c>| {
        let made = Term::run_loop(false, &[c.int(0)], &[x], |s, x| vec![s[0] + x[0], s[0] + x[0]]);
        (made[0], made[1])
    };
    let counts = counts.maximum(0i64);
    let (sum, ends) = running(counts);
    let begins = ends - counts;
    let marks = counted(begins, total, Dtype::I64);
    let (_, begun) = running(marks);
    let place = c.iota(total);
    let source = place.lt(sum).choose(begun - 1i64, n);
    let offset = place - begins.gather(&[total], |is| vec![source.at(is)]);
    vec![source, place.lt(sum).choose(offset, 0i64)]
}

/// Elements where the mask holds before those where it does not, each in their order, and how many
/// these are. Where each comes from is an array of positions, so derivatives are those of reads.
fn partitioned<'c>(x: Term<'c>, mask: Term<'c>) -> Vec<Term<'c>> {
    let (c, n) = (x.context(), x.len());
    if mask.dims() != x.dims().into_iter().take(1).collect::<Vec<_>>() || x.rank() == 0 {
        c.note(Fact::Blame(vec![0, 1]));
        if let [m] = mask.dims()[..] {
            c.note(Fact::UnlessEqual(vec![(m, n)]));
        }
        let message = format!("a mask {} for the parts of {}", mask.shown(), x.shown());
        c.wrong(message, "masks have one axis, as long as the outermost of the array");
        return vec![x.nothing(); 2];
    }
    let running = |x: Term<'c>| {
        let made = Term::run_loop(false, &[c.int(0)], &[x], |s, x| vec![s[0] + x[0], s[0] + x[0]]);
        (made[0], made[1])
    };
    let (count, upto) = running(mask.cast(Dtype::I64));
    let place = c.iota(n);
    // Those that are not chosen before place `i` are all others: `i - upto`.
    let target = mask.choose(upto - 1i64, count + place - upto);
    let source = place.scatter(&[n], &[n], |is| vec![target.at(is)]);
    vec![x.gather(&[n], |is| vec![source.at(is)]), count]
}

functions! { Reducing TABLE:
    /// The index function of an expansion (a `flatmap`), in which source `i` gives `counts[i]`
    /// consecutive elements: for each of `total` positions, the source that it comes from and its
    /// number within that source. Positions after the last have the source `len(counts)`.
    expand(counts: Int, total: Size) "expand([2, 0, 1], 4)" = |c| expanded(counts, total);
    /// The parts of `x` along the outermost axis for which the mask is true, followed by the others,
    /// each in their order; and the number of the former.
    partition(x: Any, mask: Bool) "partition([1, 2, 3], [false, true, true])"
        = |c| partitioned(x, mask);
    /// The sums of groups: element `k` of the result, for `k` below `n`, is the sum of the parts `x[i]`
    /// with `ids[i] == k`; 0 for empty groups. Here and below, parts with other ids are left out.
    segment_sum(x: Number, ids: Int, n: Size) "segment_sum([1.0, 2.0, 3.0], [2, 0, 2], 3)"
        = |c| summed(x, ids, n);
    /// The mean of each group, elementwise; NaN for empty groups.
    segment_mean(x: Float, ids: Int, n: Size) "segment_mean([1.0, 2.0, 6.0], [1, 0, 1], 2)"
        = |c| means(x, ids, n);
    /// The largest of each group, elementwise; -inf for empty groups. The derivative goes to the first
    /// of equal elements.
    segment_max(x: Any, ids: Int, n: Size) "segment_max([1.0, 2.0, 3.0], [2, 0, 2], 3)"
        = |c| extremes(x, ids, n, Extreme::Max);
    /// The smallest of each group, elementwise; inf for empty groups. The derivative goes to the first
    /// of equal elements.
    segment_min(x: Any, ids: Int, n: Size) "segment_min([1.0, 2.0, 3.0], [2, 0, 2], 3)"
        = |c| extremes(x, ids, n, Extreme::Min);
    /// The position in `x` of the largest of each group, elementwise; the first of equal elements,
    /// `len(x)` for empty groups.
    segment_argmax(x: Any, ids: Int, n: Size) "segment_argmax([1.0, 2.0, 3.0], [2, 0, 2], 3)"
        = |c| positions(x, ids, n, Extreme::Max);
    /// The position in `x` of the smallest of each group, likewise.
    segment_argmin(x: Any, ids: Int, n: Size) "segment_argmin([1.0, 2.0, 3.0], [2, 0, 2], 3)"
        = |c| positions(x, ids, n, Extreme::Min);
    /// How often each of the numbers 0 to `n - 1` occurs; other numbers are ignored.
    bincount(ids: Int, n: Size) "bincount([2, 0, 2], 3)" = |c| counted(ids, n, Dtype::I64);
}

//! The rules by name: what becomes what, when, and what may change.

/// The group a rule belongs to: the switch that turns it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleGroup {
    /// Identities of operations, known choices, constants.
    Algebra,
    /// Views and reads.
    Views,
    /// Scatters.
    Scatters,
    /// Factors of products and sums.
    Factors,
    /// Sums.
    Sums,
    /// Loops.
    Loops,
}

impl RuleGroup {
    /// A title.
    pub fn title(self) -> &'static str {
        match self {
            RuleGroup::Algebra => "Algebra",
            RuleGroup::Views => "Views and reads",
            RuleGroup::Scatters => "Scatters",
            RuleGroup::Factors => "Factors",
            RuleGroup::Sums => "Sums",
            RuleGroup::Loops => "Loops and functions",
        }
    }
}

/// What a rule may change in the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Nothing.
    Bits,
    /// The sign of a zero.
    ZeroSign,
    /// How a result is rounded.
    Rounds,
    /// The order in which a sum is rounded, and the sign of a zero.
    Reassociates,
    /// A factor is multiplied with the sum, not the summands: the rounding, the sign of a zero, and
    /// what an infinite factor does to summands of both signs.
    Distributes,
}

impl Exactness {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Exactness::Bits => "keeps every bit",
            Exactness::ZeroSign => "may change the sign of a zero",
            Exactness::Rounds => "may change how a result is rounded",
            Exactness::Reassociates => "may change the order in which a sum is rounded",
            Exactness::Distributes => {
                "multiplies the sum, not the summands: rounding, and infinite factors"
            }
        }
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: the former or operation, then what is special.
    pub name: &'static str,
    /// Its group.
    pub group: RuleGroup,
    /// What becomes what.
    pub line: &'static str,
    /// When it applies.
    pub condition: &'static str,
    /// What may change.
    pub exactness: Exactness,
}

const fn rule(
    group: RuleGroup,
    name: &'static str,
    line: &'static str,
    condition: &'static str,
    exactness: Exactness,
) -> Rule {
    Rule { name, group, line, condition, exactness }
}

use Exactness::{Bits, Distributes, Reassociates, Rounds, ZeroSign};
use RuleGroup::{Algebra, Factors, Loops, Scatters, Sums, Views};

/// Every rule, group by group.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule(Algebra, "op/fold", "op(c, ..)  ~>  its value", "c, .. constants of up to 1024 elements", Bits),
    rule(Algebra, "op/known", "t  ~>  c", "t an integer or truth value whose interval holds only c", Bits),
    rule(Algebra, "stop-gradient", "stop_gradient(x)  ~>  x", "", Bits),
    rule(Algebra, "add/zero", "x + 0, 0 + x  ~>  x", "", ZeroSign),
    rule(Algebra, "add/self", "x + x  ~>  x * 2", "", Bits),
    rule(Algebra, "add/neg", "x + -y, -y + x  ~>  x - y", "", Bits),
    rule(Algebra, "sub/zero", "x - 0  ~>  x", "", ZeroSign),
    rule(Algebra, "sub/from-zero", "0 - x  ~>  -x", "", ZeroSign),
    rule(Algebra, "sub/self", "x - x  ~>  0", "x an integer", Bits),
    rule(Algebra, "sub/neg", "x - -y  ~>  x + y", "", Bits),
    rule(Algebra, "mul/one", "x * 1, 1 * x  ~>  x", "", Bits),
    rule(Algebra, "mul/minus-one", "x * -1, -1 * x  ~>  -x", "", Bits),
    rule(Algebra, "mul/zero", "x * 0, 0 * x  ~>  0", "x known to be finite", ZeroSign),
    rule(Algebra, "mul/neg", "-x * y, x * -y  ~>  -(x * y)", "", Bits),
    rule(Algebra, "mul/mask", "where(p, c, d) * e  ~>  where(p, c * e, d * e)", "c, d, e constants", Bits),
    rule(Algebra, "div/one", "x / 1, x // 1  ~>  x", "", Bits),
    rule(Algebra, "neg/neg", "--x  ~>  x", "", Bits),
    rule(Algebra, "neg/sub", "-(x - y)  ~>  y - x", "x - y used once", ZeroSign),
    rule(Algebra, "scale/zero", "scale(0, x)  ~>  0", "", Bits),
    rule(Algebra, "scale/constant", "scale(c, x)  ~>  c * x", "c a constant that is not 0", Bits),
    rule(Algebra, "scale/finite", "scale(x, y)  ~>  x * y", "y known to be finite", ZeroSign),
    rule(Algebra, "scale/mask", "scale(where(p, c, 0), y)  ~>  where(p, scale(c, y), 0), and alike on the other side", "c a constant", Bits),
    rule(Algebra, "scale/neg", "scale(-x, y), scale(x, -y)  ~>  -scale(x, y)", "", ZeroSign),
    rule(Algebra, "strong/finite", "strong_mul(x, y)  ~>  scale(x, y), strong_mul(y, x)  ~>  scale(x, y)", "x known to be finite", ZeroSign),
    rule(Algebra, "strong/neg", "strong_mul(-x, y), strong_mul(x, -y)  ~>  -strong_mul(x, y)", "", ZeroSign),
    rule(Algebra, "where/equal", "where(p, x, x)  ~>  x", "", Bits),
    rule(Algebra, "where/known", "where(true, x, y)  ~>  x, where(false, x, y)  ~>  y", "", Bits),
    rule(Algebra, "where/not", "where(not p, x, y)  ~>  where(p, y, x)", "", Bits),
    rule(Algebra, "where/nested", "where(p, where(p, x, y), z)  ~>  where(p, x, z), and alike on the other side", "", Bits),
    rule(Algebra, "where/both", "where(p, x, 0) + where(p, y, 0)  ~>  where(p, x + y, 0), alike with -", "one of them used once, neither x nor y a product of arrays", ZeroSign),
    rule(Algebra, "where/halves", "where(p, x, 0) + where(p, 0, y)  ~>  where(p, x, y), and alike in the other order", "", ZeroSign),
    rule(Algebra, "cond/equal", "cond(p, x, x)  ~>  x", "", Bits),
    rule(Algebra, "cond/known", "cond(true, x, y)  ~>  x, cond(false, x, y)  ~>  y", "", Bits),
    rule(Algebra, "logic/not", "not not p  ~>  p", "", Bits),
    rule(Algebra, "logic/known", "p and true  ~>  p, and so on", "", Bits),
    rule(Algebra, "logic/equal", "p and p, p or p  ~>  p", "", Bits),
    rule(Algebra, "compare/equal", "x == x  ~>  true, x < x  ~>  false, and so on", "x not a float", Bits),
    rule(Algebra, "extreme/equal", "max(x, x), min(x, x)  ~>  x", "", Bits),
    rule(Algebra, "extreme/known", "max(x, y)  ~>  x", "intervals show x >= y; and so on", Bits),
    rule(Algebra, "rem/small", "x % y  ~>  x", "intervals show 0 <= x < y", Bits),
    rule(Algebra, "rem/two", "x % c  ~>  where(x >= (q + 1) c, x - (q + 1) c, x - q c)", "c > 0 constant, intervals show that x // c is q or q + 1", Bits),
    rule(Algebra, "div/two", "x // c  ~>  where(x >= (q + 1) c, q + 1, q)", "c > 0 constant, intervals show that x // c is q or q + 1", Bits),
    rule(Algebra, "powi/small", "powi(x, 0)  ~>  1, powi(x, 1)  ~>  x, powi(x, 2)  ~>  x * x, powi(x, 3)  ~>  x * (x * x)", "", Bits),
    rule(Algebra, "cast/same", "to_f64(x)  ~>  x, and so on", "x of that type", Bits),

    rule(Views, "const/uniform", "[c, .., c]  ~>  replicate(c, n)", "", Bits),
    rule(Views, "view/replicate", "replicate(transpose(t, p), k)  ~>  transpose(replicate(t, k), p')", "", Bits),
    rule(Views, "view/transpose", "transpose(view of t, p)  ~>  the view in normal form", "", Bits),
    rule(Views, "op/replicate", "op(replicate(x, k), replicate(y, k))  ~>  replicate(op(x, y), k), along any axis", "", Bits),
    rule(Views, "op/transpose", "op(transpose(x, p), transpose(y, p))  ~>  transpose(op(x, y), p)", "", Bits),
    rule(Views, "reshape/same", "reshape(t, sh)  ~>  t", "sh the shape of t", Bits),
    rule(Views, "reshape/reshape", "reshape(reshape(t, sh'), sh)  ~>  reshape(t, sh)", "", Bits),
    rule(Views, "reshape/scalar", "reshape(replicate(x, ..), sh)  ~>  replicate(x, ..)", "x a scalar", Bits),
    rule(Views, "stack/equal", "[t, .., t]  ~>  replicate(t, n)", "", Bits),
    rule(Views, "one-hot/nil", "one_hot(v, [], [])  ~>  v", "", Bits),
    rule(Views, "one-hot/zero", "one_hot(v, sh, ix)  ~>  0", "v is 0, or ix never in range", ZeroSign),
    rule(Views, "index/nil", "t[]  ~>  t", "", Bits),
    rule(Views, "index/outside", "t[ix]  ~>  0", "ix never in range", Bits),
    rule(Views, "index/view", "(view of t)[ix]  ~>  t[ix']", "copied axes read within range", Bits),
    rule(Views, "index/iota", "iota(k)[i]  ~>  i", "i in range", Bits),
    rule(Views, "index/stack", "stack(t0, .., tn)[k, ..]  ~>  tk[..]", "k constant and in range", Bits),
    rule(Views, "index/const", "c[k, ..]  ~>  its element", "c and k, .. constant", Bits),
    rule(Views, "index/extreme", "t[argmax(t)]  ~>  max(t[0], .., t[n - 1]), alike with argmin", "n > 0, nothing else needs the position; of more than 4 a loop: s = t[0], then s = max(s, t[k])", Bits),
    rule(Views, "gather/nil", "gather(t, [], [] => ix)  ~>  t[ix]", "", Bits),
    rule(Views, "gather/zero", "gather(t, sh, is => ix)  ~>  0", "t is 0, or ix never in range", ZeroSign),
    rule(Views, "gather/uniform", "gather(replicate(c, ..), sh, is => ix)  ~>  replicate(c, ..)", "ix in range", Bits),
    rule(Views, "gather/of-view", "gather(view of t, sh, is => ix)  ~>  gather(t, sh, is => ix')", "copied axes read within range", Bits),
    rule(Views, "gather/view", "gather(t, sh, is => ix)  ~>  a view of t", "ix are different variables of whole axes", Bits),
    rule(Views, "gather/extreme", "gather(t, sh, is => argmax(t)[is] ::: is)  ~>  max(t[0], .., t[n - 1]), along any axis", "as index/extreme", Bits),
    rule(Views, "gather/turned", "gather(sum_outer(t), sh, is => ix)  ~>  gather(sum_outer(transpose(t)), sh, is => ix')", "the sum read more often than it has elements, here only; its axes then in the order of is", Bits),
    rule(Views, "gather/apart", "gather(t, sh, is => e(v[g(is)]))  ~>  gather(gather(t, sh', js => e(v[js])), sh, is => g(is))", "g affine and in range, half as many js as is", Bits),
    rule(Views, "gather/sum", "gather(sum_outer(u), sh, is => ix)  ~>  sum over k of gather(u, sh, is => k ::: ix)", "at most half as many elements, nothing else uses the sums; what is out of range is masked", ZeroSign),
    rule(Views, "gather/op", "gather(op(x, ..), sh, f)  ~>  op(gather(x, sh, f), ..)", "as before, and x, .. made of sums; what is out of range is masked", ZeroSign),

    rule(Scatters, "scatter/zero", "scatter(t, sh, is => ix)  ~>  0", "t is 0 or empty, or ix never in range", ZeroSign),
    rule(Scatters, "scatter/nil", "scatter(t, sh, [] => ix)  ~>  one_hot(t, sh, ix)", "no variables, or all of size 1", Bits),
    rule(Scatters, "scatter/affine", "scatter(t, sh, is => ix)  ~>  gather(t, sh, ps => is(ps))", "ix = ps solved for is", ZeroSign),
    rule(Scatters, "scatter/mask", "scatter(t, sh, is => ix)  ~>  where(mask(ps), gather(t, sh, ps => is(ps)), 0)", "some components solved for is; the others are the mask", ZeroSign),
    rule(Scatters, "scatter/strided", "scatter(t, [n], i => [a i + c])  ~>  reshape(scatter(t, [n / a, a], i => [i + c // a, c % a]), [n])", "one variable for each component; a slice where a does not divide n", ZeroSign),
    rule(Scatters, "scatter/sum", "scatter(t, sh, (is, js) => ix(is))  ~>  sum over js of reads", "ix = ps solved for is", Reassociates),
    rule(Scatters, "scatter/window", "scatter(t, sh, (i, j) => i + j)  ~>  sum over j of t[p - j, j]", "at most three times the work of the scatter", Reassociates),
    rule(Scatters, "scatter/ignored", "scatter(t, sh, (is, js) => ix(is))  ~>  scatter(sum of t over js, sh, is => ix(is))", "", Reassociates),
    rule(Scatters, "scatter/apart", "scatter(t, sh, is => e(v[g(is)]))  ~>  scatter(scatter(t, sh', is => g(is)), sh, js => e(v[js]))", "g affine and in range, half as many js as is", Reassociates),
    rule(Scatters, "scatter/stack", "scatter([t0, .., tn], sh, i => [c[i]])  ~>  a stack of sums of those with one place", "c constant; at most 64 places, and two for each part", ZeroSign),
    rule(Scatters, "scatter/merge", "scatter(t, sh, f) + scatter(u, sh, f)  ~>  scatter(t + u, sh, f)", "both used once", Reassociates),

    rule(Factors, "div/reciprocal", "(1 / x) / x  ~>  (1 / x) * (1 / x)", "", Rounds),
    rule(Factors, "factor/square", "scale(scale(x, y), y)  ~>  scale(x, y * y)", "the product used once, y * y computed anyway", Rounds),
    rule(Factors, "factor/constants", "(x * c) * d  ~>  x * (c * d), where(p, x * c, 0) * d  ~>  where(p, x * (c * d), 0)", "the masked factor used once; c, d and c * d constants from 2^-16 to 2^16, c * d not rounded", Rounds),
    rule(Factors, "factor/product", "(x * c) * y  ~>  (x * y) * c, alike with scale and strong_mul and on the other side", "x * c used once, and not copied; c a constant from 2^-16 to 2^16 that meets no other, or is joined with it", Rounds),
    rule(Factors, "factor/multiples", "x * c + x * d  ~>  x * (c + d), alike with -, also with 1 for c or d", "c and d constants of one sign, c + d not rounded", Rounds),
    rule(Factors, "factor/among-others", "(x * c + y) + x * d  ~>  x * (c + d) + y, alike with -", "the inner sum used once, c and d as before", Reassociates),
    rule(Factors, "factor/sum", "sum_outer((x * c) * y)  ~>  sum_outer(x * y) * c, alike with scale, strong_mul, where(p, x * c, 0) and x * c + y * c", "products of arrays used here only, c as in factor/product", Distributes),
    rule(Sums, "sum/zero", "sum_outer(t)  ~>  0", "t is 0 or empty", ZeroSign),
    rule(Sums, "sum/single", "sum_outer(t)  ~>  reshape(t)", "an axis of size 1", ZeroSign),
    rule(Sums, "sum/replicate", "sum_outer(replicate(t, k))  ~>  t * k", "along any axis that copies", Reassociates),
    rule(Sums, "sum/neg", "sum_outer(-t)  ~>  -sum_outer(t)", "", ZeroSign),
    rule(Sums, "sum/factor", "sum_outer(replicate(a, k) * t)  ~>  a * sum_outer(t), alike with scale, strong_mul and /", "along any axis that copies", Distributes),
    rule(Sums, "sum/mask", "sum_outer(where(replicate(p, k), t, 0))  ~>  where(p, sum_outer(t), 0)", "along any axis that copies", ZeroSign),
    rule(Sums, "sum/copies", "sum_outer(transpose(replicate(t, k), [1, 0]))  ~>  replicate(sum_outer(t), k)", "along any axis that copies", Bits),
    rule(Sums, "sum/select", "sum over j of where(k == j, t[j], 0)  ~>  t[k], 0 out of range", "k does not depend on j", ZeroSign),
    rule(Sums, "sum/select-among", "sum over j of where(k == j and p[j], t[j], 0)  ~>  where(p[k], t[k], 0), 0 out of range", "k does not depend on j", ZeroSign),
    rule(Sums, "sum/apart", "sum over j of (where(k == j, t[j], 0) + u[j])  ~>  t[k] + sum over j of u[j], alike with k == j and p[j]", "k does not depend on j", Reassociates),
    rule(Sums, "sum/by-place", "sum over i of where(v[i] == j, t[i, j], 0)  ~>  scatter(i => t[i, v[i]], [n], i => [v[i]])[j]", "at least 8 of i and of j", Reassociates),
    rule(Sums, "sum/exchange", "sum over j of sum over i of a[i] * b[i, j]  ~>  sum over i of a[i] * sum over j of b[i, j]", "the inner sum used once", Distributes),
    rule(Sums, "sum/order", "sum_outer(sum_outer(transpose(t)))  ~>  sum_outer(sum_outer(t))", "", Reassociates),
    rule(Sums, "sum/reshape", "sum_outer(reshape(t, [m * n, ..]))  ~>  sum_outer(sum_outer(t))", "", Reassociates),
    rule(Sums, "sum/iota", "sum_outer(iota(k))  ~>  k * (k - 1) / 2", "", Bits),
    rule(Sums, "sum/one-hot", "sum_outer(one_hot(v, k ::: sh, i ::: ix))  ~>  one_hot(v, sh, ix)", "i in range", ZeroSign),
    rule(Sums, "sum/scatter", "sum_outer(scatter(t, k ::: sh, is => i ::: ix))  ~>  scatter(t, sh, is => ix)", "i in range, the scatter used once", Reassociates),
    rule(Sums, "sum/stack", "sum_outer(stack(t0, .., tn))  ~>  t0 + .. + tn", "up to 8 parts", ZeroSign),

    rule(Loops, "loop/dead", "results, states and inputs of a loop that nothing needs  ~>  none", "", Bits),
    rule(Loops, "loop/invariant-state", "a state s with next state s, or its start  ~>  its start", "", Bits),
    rule(Loops, "loop/invariant-input", "an input replicate(x, n)  ~>  x in every step", "", Bits),
    rule(Loops, "loop/invariant-output", "an output that no step changes  ~>  replicate(y, n)", "", Bits),
    rule(Loops, "loop/copied-output", "an output that is an input  ~>  the input", "", Bits),
    rule(Loops, "loop/short", "a loop of no step or one  ~>  its start, or the step", "", Bits),
    rule(Loops, "loop/sum", "a state s with next state s + f  ~>  s0 + sum over steps of f", "f made of inputs, of what no step changes, and of arrays half its size, which are stored", Reassociates),
    rule(Loops, "loop/merge", "loops with the same start, inputs and next states  ~>  one with the outputs of all", "no output needs what comes after the first of them", Bits),
    rule(Loops, "loop/stored", "a term of a step that an earlier loop's step has too  ~>  an output of that loop, read here", "it takes many operations an element; at most 4 times what the loop reads already", Bits),
    rule(Loops, "custom/inline", "with_vjp(ts, f), with_jvp(ts, f)  ~>  f(ts)", "always: the program is to be run; of checkpoints, those that are not computed again", Bits),
];

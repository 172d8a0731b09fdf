//! The rules by name: the report's line, ours, the side condition and how the two relate.

/// How our rule relates to the report's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As printed.
    AsPrinted,
    /// Holds without being written: sharing is part of the representation.
    ByConstruction,
    /// As printed, with a mask where an index is not provably in range.
    MaskAdded,
    /// Another right-hand side, for the reason given.
    Changed(&'static str),
    /// Not in the report.
    Ours,
}

/// The figure a rule stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Fig. bot-rules-build.
    Build,
    /// Fig. bot-rules-index.
    Index,
    /// Fig. bot-rules-desperate.
    BuildIndex,
    /// Not in the report: guards and index functions.
    Guard,
}

impl Figure {
    /// The label of the figure in the report, or a title for our own group.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Build => "Fig. bot-rules-build: push `build1` down",
            Figure::Index => "Fig. bot-rules-index: push `index` down",
            Figure::BuildIndex => "Fig. bot-rules-desperate: `build1` of `index`",
            Figure::Guard => "Guards",
        }
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: the figure, then the former.
    pub name: &'static str,
    /// Where it stands.
    pub figure: Figure,
    /// The report's line in LaTeX; empty if it has none.
    pub printed: &'static str,
    /// Our line.
    pub ours: &'static str,
    /// When it applies.
    pub condition: &'static str,
    /// How ours relates to the report's.
    pub status: Status,
}

const fn rule(
    figure: Figure,
    name: &'static str,
    printed: &'static str,
    ours: &'static str,
    condition: &'static str,
    status: Status,
) -> Rule {
    Rule { name, figure, printed, ours, condition, status }
}

use Figure::{Build, BuildIndex, Guard, Index};
use Status::{AsPrinted, ByConstruction, Changed, MaskAdded, Ours};

/// Every rule, figure by figure, the report's in its order and then ours.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule(Build, "build/var",
        r"\mathtt{build1}\ k\ (\lambda i.\ i) \leadsto [0,\ldots,k-1]",
        "build k (i => i)  ~>  iota(k)", "", AsPrinted),
    rule(Build, "build/const",
        r"\mathtt{build1}\ k\ (\lambda i.\ t) \leadsto \mathtt{replicate}\ k\ t",
        "build k (i => t)  ~>  replicate(t, k)", "i not free in t", AsPrinted),
    rule(Build, "build/let",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{let}\ x = v\ \mathtt{in}\ u) \leadsto \mathtt{let}\ x = \mathtt{build1}\ k\ (\lambda i.\ v)\ \mathtt{in}\ \mathtt{build1}\ k\ (\lambda i.\ u[\mathtt{index}\ x\ [i]/x])",
        "a shared node is vectorised once, and every use refers to that", "", ByConstruction),
    rule(Build, "build/cond",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{cond}\ b\ u\ v) \leadsto \mathtt{build1}\ k\ (\lambda i.\ \mathtt{index}\ [u,v]\ [\mathtt{cond}\ b\ 0\ 1])",
        "build k (i => cond(b, u, v))  ~>  where(build b, build u, build v)", "i free in b",
        Changed("an elementwise selection needs no stacked copy of both branches, and its derivative passes exactly nothing to the branch not taken")),
    rule(Build, "build/op2",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathit{op}\ t\ u) \leadsto \mathit{op}\ (\mathtt{build1}\ k\ (\lambda i.\ t))\ (\mathtt{build1}\ k\ (\lambda i.\ u))",
        "build k (i => op(t, u))  ~>  op(build t, build u)", "", AsPrinted),
    rule(Build, "build/op1",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathit{op}\ t) \leadsto \mathit{op}\ (\mathtt{build1}\ k\ (\lambda i.\ t))",
        "build k (i => op(t))  ~>  op(build t)", "", AsPrinted),
    rule(Build, "build/sumOuter",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{sumOuter}\ t) \leadsto \mathtt{sumOuter}\ (\mathtt{tr}\ (\mathtt{build1}\ k\ (\lambda i.\ t)))",
        "build k (i => sum_outer(t))  ~>  sum_outer(transpose(build t, [1, 0]))", "", AsPrinted),
    rule(Build, "build/gather",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{gather}\ sh\ t\ (\lambda is.\ ix)) \leadsto \mathtt{gather}\ (k ::: sh)\ (\mathtt{build1}\ k\ (\lambda i.\ t))\ (\lambda (i ::: is).\ i ::: ix)",
        "build k (i => gather(t, sh, is => ix))  ~>  gather(build t, k ::: sh, (i ::: is) => i ::: ix)", "i free in t", AsPrinted),
    rule(Build, "build/scatter",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{scatter}\ sh\ t\ (\lambda is.\ ix)) \leadsto \mathtt{scatter}\ (k ::: sh)\ (\mathtt{build1}\ k\ (\lambda i.\ t))\ (\lambda (i ::: is).\ i ::: ix)",
        "build k (i => scatter(t, sh, is => ix))  ~>  scatter(build t, k ::: sh, (i ::: is) => i ::: ix)", "", AsPrinted),
    rule(Build, "build/stack",
        r"\mathtt{build1}\ k\ (\lambda i.\ [t_1,\ldots,t_n]) \leadsto \mathtt{tr}\ [\mathtt{build1}\ k\ (\lambda i.\ t_1), \ldots, \mathtt{build1}\ k\ (\lambda i.\ t_n)]",
        "build k (i => stack(t1, .., tn))  ~>  transpose(stack(build t1, .., build tn), [1, 0])", "", AsPrinted),
    rule(Build, "build/replicate",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{replicate}\ n\ t) \leadsto \mathtt{tr}\ (\mathtt{replicate}\ n\ (\mathtt{build1}\ k\ (\lambda i.\ t)))",
        "build k (i => replicate(t, n))  ~>  transpose(replicate(build t, n), [1, 0])", "", AsPrinted),
    rule(Build, "build/transpose",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{tr}_{b_0,\ldots,b_n}\ t) \leadsto \mathtt{tr}_{0,b_0+1,\ldots,b_n+1}\ (\mathtt{build1}\ k\ (\lambda i.\ t))",
        "build k (i => transpose(t, [b0, .., bn]))  ~>  transpose(build t, [0, b0 + 1, .., bn + 1])", "", AsPrinted),
    rule(Build, "build/reshape",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{reshape}\ sh\ t) \leadsto \mathtt{reshape}\ (k ::: sh)\ (\mathtt{build1}\ k\ (\lambda i.\ t))",
        "build k (i => reshape(t, sh))  ~>  reshape(build t, k ::: sh)", "", AsPrinted),
    rule(Build, "build/cond-invariant", "",
        "build k (i => cond(b, u, v))  ~>  cond(b, build u, build v)", "i not free in b", Ours),
    rule(Build, "build/op3", "",
        "build k (i => where(b, u, v))  ~>  where(build b, build u, build v)", "", Ours),
    rule(Build, "build/gather-invariant", "",
        "build k (i => gather(t, sh, is => ix))  ~>  gather(t, k ::: sh, (i ::: is) => ix)", "i not free in t", Ours),
    rule(Build, "build/oneHot", "",
        "build k (i => one_hot(v, sh, ix))  ~>  scatter(build v, k ::: sh, i => i ::: ix)", "", Ours),
    rule(Build, "build/argExtreme", "",
        "build k (i => argmax_outer(t))  ~>  argmax_outer(transpose(build t, [1, 0]))", "", Ours),
    rule(Build, "build/argSort", "",
        "build k (i => argsort_outer(t))  ~>  transpose(argsort_outer(transpose(build t, [1, 0])), [1, 0])", "", Ours),
    rule(Build, "build/segmentArg", "",
        "build k (i => segment_argmax_outer(t, ids, m))  ~>  transpose(segment_argmax_outer(transpose(build t, [1, 0]), transpose(build ids, [1, 0]), m), [1, 0])", "", Ours),
    rule(Build, "build/routine", "",
        "build k (i => cholesky(t))  ~>  cholesky(build t), and likewise the other routines", "", Ours),
    rule(Build, "build/mapAccum", "",
        "build k (i => map_accum(s, xs, f))  ~>  map_accum over build s and transposed build xs, its step vectorised", "", Ours),
    rule(Build, "build/while", "",
        "build k (i => while_accum(s, s => (b, s', y)))  ~>  while_accum(build s, s => (any(build b), where(build b, build s', s), where(build b, build y, 0)))", "i free in b or what b comes to depend on", Ours),
    rule(Build, "build/while-invariant", "",
        "build k (i => while_accum(s, s => (b, s', y)))  ~>  while_accum(build s, s => (b, build s', build y))", "b the same for every i", Ours),
    rule(Build, "build/custom", "",
        "build k (i => with_vjp(ts, f))  ~>  with_vjp(build ts, f vectorised)", "", Ours),

    rule(Index, "index/nil",
        r"\mathtt{index}\ t\ [] \leadsto t",
        "t[]  ~>  t", "", AsPrinted),
    rule(Index, "index/index",
        r"\mathtt{index}\ (\mathtt{index}\ t\ [u_1,\ldots,u_m])\ [t_1,\ldots,t_n] \leadsto \mathtt{index}\ t\ [u_1,\ldots,u_m,t_1,\ldots,t_n]",
        "t[u1, .., um][t1, .., tn]  ~>  t[u1, .., um, t1, .., tn]", "", AsPrinted),
    rule(Index, "index/let",
        r"\mathtt{index}\ (\mathtt{let}\ x = v\ \mathtt{in}\ t)\ ix \leadsto \mathtt{let}\ x = v\ \mathtt{in}\ \mathtt{index}\ t\ ix",
        "an index stops at a node that is used elsewhere too", "", ByConstruction),
    rule(Index, "index/cond",
        r"\mathtt{index}\ (\mathtt{cond}\ b\ u\ v)\ ix \leadsto \mathtt{cond}\ b\ (\mathtt{index}\ u\ ix)\ (\mathtt{index}\ v\ ix)",
        "cond(b, u, v)[ix]  ~>  cond(b, u[ix], v[ix])", "used once", AsPrinted),
    rule(Index, "index/op2",
        r"\mathtt{index}\ (\mathit{op}\ t\ u)\ ix \leadsto \mathit{op}\ (\mathtt{index}\ t\ ix)\ (\mathtt{index}\ u\ ix)",
        "op(t, u)[ix]  ~>  mask(ix in range, op(t[ix], u[ix]))", "used once; no mask if op(0, 0) = 0", MaskAdded),
    rule(Index, "index/op1",
        r"\mathtt{index}\ (\mathit{op}\ t)\ ix \leadsto \mathit{op}\ (\mathtt{index}\ t\ ix)",
        "op(t)[ix]  ~>  mask(ix in range, op(t[ix]))", "used once; no mask if op(0) = 0", MaskAdded),
    rule(Index, "index/sumOuter",
        r"\mathtt{index}\ (\mathtt{sumOuter}\ t)\ ix \leadsto \mathtt{sumOuter}\ (\mathtt{index}\ (\mathtt{tr}_{1,\ldots,n,0}\ t)\ ix)",
        "sum_outer(t)[ix]  ~>  sum_outer(transpose(t, [1, .., n, 0])[ix])", "used once", AsPrinted),
    rule(Index, "index/stack",
        r"\mathtt{index}\ [t_1,\ldots,t_k]\ [u_1,\ldots,u_n] \leadsto \mathtt{index}\ [\mathtt{index}\ t_1\ [u_2,\ldots,u_n],\ldots,\mathtt{index}\ t_k\ [u_2,\ldots,u_n]]\ [u_1]",
        "stack(t1, .., tk)[u1, .., un]  ~>  stack(t1[u2, .., un], .., tk[u2, .., un])[u1]", "n > 1, used once", AsPrinted),
    rule(Index, "index/replicate",
        r"\mathtt{index}\ (\mathtt{replicate}\ k\ t)\ [u_1,\ldots,u_n] \leadsto \mathtt{index}\ t\ [u_2,\ldots,u_n]",
        "replicate(t, k)[u1, .., un]  ~>  mask(u1 in range, t[u2, .., un])", "n > 0", MaskAdded),
    rule(Index, "index/transpose",
        r"\mathtt{index}\ (\mathtt{tr}_{b_0,\ldots,b_k}\ t)\ ix \leadsto \mathtt{index}\ (\mathtt{gather}\ sh\ t\ (\lambda [i_{b_0},\ldots,i_{b_k}].\ [i_0,\ldots,i_k]))\ ix",
        "transpose(t, [b0, .., bk])[ix]  ~>  gather(t, sh, (ib0, .., ibk) => [i0, .., ik])[ix]", "", AsPrinted),
    rule(Index, "index/reshape",
        r"\mathtt{index}\ (\mathtt{reshape}\ sh\ t)\ ix \leadsto \mathtt{index}\ (\mathtt{gather}\ sh\ t\ (\lambda is.\ \mathtt{fromLinearIdx}\ (\mathtt{shape}\ t)\ (\mathtt{toLinearIdx}\ sh\ is)))\ ix",
        "reshape(t, sh)[ix]  ~>  gather(t, sh, is => from_linear(shape t, to_linear(sh, is)))[ix]", "", AsPrinted),
    rule(Index, "index/gather-cons",
        r"\mathtt{index}\ (\mathtt{gather}\ (k ::: sh)\ t\ (\lambda (i ::: is).\ ix))\ (u ::: ix') \leadsto \mathtt{index}\ (\mathtt{gather}\ sh\ t\ (\lambda is.\ \mathtt{let}\ i = u\ \mathtt{in}\ ix))\ ix'",
        "gather(t, k ::: sh, (i ::: is) => ix)[u ::: ix']  ~>  mask(u in range, gather(t, sh, is => ix[u/i])[ix'])", "the index function is light, or the gather used once", MaskAdded),
    rule(Index, "index/gather-nil",
        r"\mathtt{index}\ (\mathtt{gather}\ []\ t\ (\lambda [].\ ix))\ ix' \leadsto \mathtt{index}\ (\mathtt{index}\ t\ ix)\ ix'",
        "gather(t, [], () => ix)[ix']  ~>  t[ix][ix']", "", AsPrinted),
    rule(Index, "index/op3", "",
        "where(b, u, v)[ix]  ~>  where(b[ix], u[ix], v[ix])", "used once", Ours),
    rule(Index, "index/iota", "",
        "iota(k)[u]  ~>  mask(u in range, u)", "", Ours),
    rule(Index, "index/oneHot", "",
        "one_hot(v, sh, us)[ix]  ~>  mask(us = ix and ix in range, v or a smaller one_hot)", "", Ours),
    rule(Index, "index/argExtreme", "",
        "argmax_outer(t)[ix]  ~>  argmax_outer(transpose(t, [1, .., n, 0])[ix])", "used once", Ours),
    rule(Index, "index/argSort", "",
        "argsort_outer(t)[u ::: ix]  ~>  mask(ix in range, argsort_outer(transpose(t, [1, .., n, 0])[ix])[u])", "ix not empty, used once", Ours),
    rule(Index, "index/segmentArg", "",
        "segment_argmax_outer(t, ids, m)[u ::: ix]  ~>  mask(ix in range, segment_argmax_outer(transpose(t, [1, .., n, 0])[ix], transpose(ids, [1, .., n, 0])[ix], m)[u])", "ix not empty, used once", Ours),
    rule(Index, "index/routine", "",
        "cholesky(t)[ix ++ js]  ~>  mask(ix in range, cholesky(t[ix])[js]), and likewise the other routines", "ix not empty, at leading axes only, used once", Ours),
    rule(Index, "index/stack-static", "",
        "stack(t1, .., tk)[c ::: ix]  ~>  tc[ix]", "c a constant in range", Ours),

    rule(BuildIndex, "build-index/var",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{index}\ x\ ix) \leadsto \mathtt{gather}\ (k ::: sh)\ x\ (\lambda [i].\ ix)",
        "build k (i => x[ix])  ~>  gather(x, [k], i => ix)", "i not free in x", AsPrinted),
    rule(BuildIndex, "build-index/const",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{index}\ c\ ix) \leadsto \mathtt{gather}\ (k ::: sh)\ c\ (\lambda [i].\ ix)",
        "build k (i => c[ix])  ~>  gather(c, [k], i => ix)", "", AsPrinted),
    rule(BuildIndex, "build-index/stack",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{index}\ [t_1,\ldots,t_k]\ [t]) \leadsto \mathtt{gather}\ (k ::: sh)\ (\mathtt{build1}\ k\ (\lambda i.\ [t_1,\ldots,t_k]))\ (\lambda [i].\ [i, t])",
        "build k (i => stack(t1, .., tn)[t])  ~>  gather(build stack(t1, .., tn), [k], i => [i, t])", "i free in the stack", AsPrinted),
    rule(BuildIndex, "build-index/scatter",
        r"\mathtt{build1}\ k\ (\lambda i.\ \mathtt{index}\ (\mathtt{scatter}\ sh\ t\ (\lambda is_2.\ ix_2))\ ix) \leadsto \mathtt{gather}\ (k ::: sh)\ (\mathtt{build1}\ k\ (\lambda i.\ \mathtt{scatter}\ sh\ t\ (\lambda is_2.\ ix_2)))\ (\lambda [i].\ i ::: ix)",
        "build k (i => scatter(..)[ix])  ~>  gather(build scatter(..), [k], i => i ::: ix)", "i free in the scatter", AsPrinted),
    rule(BuildIndex, "build-index/bound", "",
        "build k (i => x[ix])  ~>  gather(build x, [k], i => i ::: ix)", "i free in x, x used elsewhere too (build/let, then index/index, then build-index/var)", Ours),

    rule(Guard, "guard/read", "",
        "where(ix in range, t[ix], 0)  ~>  t[ix]", "each conjunct of the guard follows from ix being in range", Ours),
    rule(Guard, "guard/nested", "",
        "where(g, where(h, t, 0), v)  ~>  where(g, t, v)", "each conjunct of h is one of g", Ours),
    rule(Guard, "guard/equal", "",
        "where(i == k, u, v)  ~>  where(i == k, u[k / i], v)", "i an index that k does not depend on, free in u; no loop without a bound in u, and at most 64 nodes that depend on i", Ours),
];

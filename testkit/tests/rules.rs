//! The rule checker: true rules pass, wrong ones are caught with small counterexamples. The rules of
//! the report are all checked beside the transform.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};
use cotan_testkit::fail;
use cotan_testkit::rules::{Counterexample, Effort, Rule, Table, check_rule, cons};

fn holds<T>(rule: Rule<T>) {
    let report = check_rule(&rule, Effort::small()).unwrap_or_else(|e| fail(&e.to_string()));
    assert!(report.exhaustive > 20 && report.random >= 500, "{report}");
    assert!(report.floats > 0, "{report}");
    println!("{report}");
}

fn fails<T>(rule: Rule<T>) -> Counterexample {
    match check_rule(&rule, Effort::small()) {
        Ok(report) => fail(&format!("a wrong rule passes: {report}")),
        Err(counterexample) => {
            println!("{counterexample}");
            *counterexample
        }
    }
}

/// `build1 k (\i -> t)` for a term that depends on `i` arbitrarily.
fn build_rows(b: &mut Builder, k: usize, rows: TermId) -> Result<TermId> {
    b.build(k, |b, i| b.index(rows, &[i]))
}

// ---- rules of Fig. bot-rules-build ------------------------------------------------------------

/// `build1 k (\i -> tr perm t)`; the right side permutes by `lifted`.
fn build_of_transpose(name: &str, lifted: fn(&[usize]) -> Vec<usize>) -> Rule<Transposed> {
    Rule::new(
        name,
        |s| {
            let (k, sh) = (s.size(), s.shape_of_rank(0, 3));
            let perm = s.permutation(sh.len());
            Ok(Transposed { k, rows: s.array(&cons(k, &sh))?, perm })
        },
        |b, p| {
            b.build(p.k, |b, i| {
                let row = b.index(p.rows, &[i])?;
                b.transpose(&p.perm, row)
            })
        },
        move |b, p| {
            let rows = build_rows(b, p.k, p.rows)?;
            b.transpose(&lifted(&p.perm), rows)
        },
    )
}

struct Transposed {
    k: usize,
    rows: TermId,
    perm: Vec<usize>,
}

#[test]
fn build_of_transpose_lifts_the_permutation() {
    let lifted = |perm: &[usize]| cons(0, &perm.iter().map(|k| k + 1).collect::<Vec<_>>());
    holds(build_of_transpose("build/transpose", lifted));
}

#[test]
fn a_wrong_permutation_is_caught() {
    // The inverse permutation instead: wrong first for a cycle of three axes.
    let inverted = |perm: &[usize]| {
        let mut lifted = vec![0; perm.len() + 1];
        for (n, k) in perm.iter().enumerate() {
            lifted[k + 1] = n + 1;
        }
        lifted
    };
    let found = fails(build_of_transpose("build/transpose, inverted", inverted));
    assert!(found.message.starts_with("result 0"), "{found}");
    assert!(found.elements <= 4, "{found}");
}

// ---- rules of Fig. bot-rules-index ------------------------------------------------------------

/// `index (op t) ix ~> op (index t ix)`, as printed.
fn index_of_op(ops: &'static [Op]) -> Rule<(Op, TermId, Table)> {
    Rule::new(
        "index/op1",
        |s| {
            let (sh, op) = (s.shape_of_rank(1, 3), s.one_of(ops));
            Ok((op, s.array(&sh)?, s.index(&sh[..1])?))
        },
        |b, (op, t, table)| {
            let all = b.op(*op, &[*t])?;
            let ix = table.at(b, &[])?;
            b.index(all, &ix)
        },
        |b, (op, t, table)| {
            let ix = table.at(b, &[])?;
            let row = b.index(*t, &ix)?;
            b.op(*op, &[row])
        },
    )
}

#[test]
fn index_of_op_needs_an_index_in_range() {
    holds(index_of_op(&[Op::Exp, Op::Neg]).when(|(_, _, table)| table.in_range()));
}

#[test]
fn index_of_op_holds_everywhere_when_zero_is_preserved() {
    holds(index_of_op(&[Op::Neg, Op::Abs, Op::Sin]));
}

#[test]
fn index_of_exp_out_of_range_is_caught() {
    let found = fails(index_of_op(&[Op::Exp]));
    // An empty array shows it, and nothing is smaller.
    assert_eq!(found.elements, 0, "{found}");
}

/// `index (replicate k t) (u : us) ~> index t us`, as printed.
fn index_of_replicate() -> Rule<(usize, TermId, Table, Table)> {
    Rule::new(
        "index/replicate",
        |s| {
            let (k, sh) = (s.size(), s.shape_of_rank(0, 3));
            let (t, first) = (s.array(&sh)?, s.index(&[k])?);
            Ok((k, t, first, s.index(&sh)?))
        },
        |b, (k, t, first, rest)| {
            let copies = b.replicate(*k, *t)?;
            let ix = [first.at(b, &[])?, rest.at(b, &[])?].concat();
            b.index(copies, &ix)
        },
        |b, (_, t, _, rest)| {
            let ix = rest.at(b, &[])?;
            b.index(*t, &ix)
        },
    )
}

#[test]
fn index_of_replicate_needs_an_index_in_range() {
    holds(index_of_replicate().when(|(_, _, first, _)| first.in_range()));
}

#[test]
fn index_of_replicate_without_range_check_is_caught() {
    let found = fails(index_of_replicate());
    assert_eq!(found.elements, 1, "{found}");
    assert!(found.program.unwrap().to_string().contains("replicate(a0, 0)"));
}

// ---- the checker itself -----------------------------------------------------------------------

#[test]
fn a_lost_term_is_caught_on_random_instances_only() {
    // Correct up to three rows: only the random part sees more than two.
    let found = fails(Rule::new(
        "sum of at most three",
        |s| {
            let k = s.size();
            Ok((k, s.array(&[k])?))
        },
        |b, &(_, t)| b.sum_outer(t),
        |b, &(k, t)| {
            let mut sum = b.scalar(0.0)?;
            for n in 0..k.min(3) {
                let n = b.scalar(n as i64)?;
                let x = b.index(t, &[n])?;
                sum = b.op(Op::Add, &[sum, x])?;
            }
            Ok(sum)
        },
    ));
    assert_eq!(found.elements, 4, "{found}");
    assert!(found.to_string().contains("COTAN_SEED="), "{found}");
}

#[test]
fn sides_of_different_types_are_caught() {
    let found = fails(Rule::new(
        "transpose twice",
        |s| {
            let sh = s.shape_of_rank(2, 2);
            s.array(&sh)
        },
        |b, &t| b.transpose(&[1, 0], t),
        |_, &t| Ok(t),
    ));
    assert!(found.message.contains("against"), "{found}");
}

#[test]
fn a_side_that_cannot_be_built_is_reported() {
    let found = fails(Rule::new(
        "sum of a scalar",
        |s| {
            let sh = s.shape();
            s.array(&sh)
        },
        |b, &t| b.sum_outer(t),
        |b, &t| b.sum_outer(t),
    ));
    assert!(found.message.contains("no axes"), "{found}");
}

#[test]
fn a_side_condition_that_never_holds_is_reported() {
    let never = Rule::new("never", |s| s.array(&[]), |_, &t| Ok(t), |_, &t| Ok(t)).when(|_| false);
    assert!(fails(never).message.contains("no instance"));
}

//! The four rules that need a mask: as the report prints them they are not equalities.

use cotan_ir::scalar::Op;
use cotan_testkit::rules::{Counterexample, Effort, Rule, check_rule};

use crate::support::cons;

/// The smallest counterexample of a rule as printed.
fn refuted<T>(rule: Rule<T>) -> Counterexample {
    match check_rule(&rule, Effort::small()) {
        Ok(report) => panic!("the printed form holds: {report}"),
        Err(found) => {
            println!("{found}");
            *found
        }
    }
}

#[test]
fn index_of_unary_op_as_printed_fails() {
    let found = refuted(Rule::new(
        "index/op1 as printed",
        |s| {
            let (k, op) = (s.size(), s.unary_op());
            Ok((op, s.array(&[k])?, s.index(&[k])?))
        },
        |b, (op, t, at)| {
            let (all, ix) = (b.op(*op, &[*t])?, at.at(b, &[])?);
            b.index(all, &ix)
        },
        |b, (op, t, at)| {
            let ix = at.at(b, &[])?;
            let one = b.index(*t, &ix)?;
            b.op(*op, &[one])
        },
    ));
    // exp of an empty array, read at 0: nothing is read on the left, exp 0 computed on the right.
    assert_eq!(found.elements, 0, "{found}");
}

#[test]
fn index_of_binary_op_as_printed_fails() {
    let found = refuted(Rule::new(
        "index/op2 as printed",
        |s| {
            let k = s.size();
            Ok((s.array(&[k])?, s.array(&[k])?, s.index(&[k])?))
        },
        |b, (t, u, at)| {
            let (all, ix) = (b.op(Op::Pow, &[*t, *u])?, at.at(b, &[])?);
            b.index(all, &ix)
        },
        |b, (t, u, at)| {
            let ix = at.at(b, &[])?;
            let (t, u) = (b.index(*t, &ix)?, b.index(*u, &ix)?);
            b.op(Op::Pow, &[t, u])
        },
    ));
    assert_eq!(found.elements, 0, "{found}");
}

#[test]
fn index_of_replicate_as_printed_fails() {
    let found = refuted(Rule::new(
        "index/replicate as printed",
        |s| {
            let k = s.size();
            Ok((k, s.array(&[])?, s.index(&[k])?))
        },
        |b, (k, t, first)| {
            let (copies, ix) = (b.replicate(*k, *t)?, first.at(b, &[])?);
            b.index(copies, &ix)
        },
        |_, &(_, t, _)| Ok(t),
    ));
    // No copies: the left reads 0, the right the array that was never copied.
    assert_eq!(found.elements, 1, "{found}");
}

#[test]
fn index_of_gather_as_printed_fails() {
    let found = refuted(Rule::new(
        "index/gather-cons as printed",
        |s| {
            let (k, target) = (s.size(), s.shape_of_rank(0, 1));
            let t = s.array(&target)?;
            Ok((k, t, s.table(&[k], &target)?, s.index(&[k])?))
        },
        |b, (k, t, table, first)| {
            let f = b.index_function(&cons(*k, &[]), |b, is| table.at(b, is))?;
            let (gathered, ix) = (b.gather(*t, f)?, first.at(b, &[])?);
            b.index(gathered, &ix)
        },
        |b, (_, t, table, first)| {
            let u = first.at(b, &[])?;
            let ix = table.at(b, &u)?;
            b.index(*t, &ix)
        },
    ));
    assert_eq!(found.elements, 1, "{found}");
}

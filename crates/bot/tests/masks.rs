//! Masks are there if and only if an index is not provably in range; redundant guards go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use cotan_array::{Dtype, Shape};
use cotan_bot::{Options, bulk, normal_form};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, Node, Program, Result, TermId, Type};

/// The number of lanes, and the size of the axis that is read.
const K: usize = 6;

/// What index terms are made from: the build's index `i`, an unknown integer `e`, a table of
/// unknown integers and a vector `a` of size `K`.
struct Parts {
    i: TermId,
    e: TermId,
    table: TermId,
    a: TermId,
}

type Pattern = fn(&mut Builder, &Parts) -> Result<TermId>;

fn input(b: &mut Builder, name: &str, dtype: Dtype, dims: &[usize]) -> Result<TermId> {
    b.input(name, Type::new(dtype, Shape::new("test", dims)?))
}

/// `op(t, c)`
fn with(b: &mut Builder, op: Op, t: TermId, c: i64) -> Result<TermId> {
    let c = b.scalar(c)?;
    b.op(op, &[t, c])
}

/// `where(0 <= t and t < size, ..)`: the condition.
fn within(b: &mut Builder, t: TermId, size: i64) -> Result<TermId> {
    let (above, below) = (with(b, Op::Ge, t, 0)?, with(b, Op::Lt, t, size)?);
    b.op(Op::And, &[above, below])
}

/// What `build K (i => body)` becomes.
fn transformed(body: impl Fn(&mut Builder, &Parts) -> Result<TermId>) -> Program {
    let mut b = Builder::new();
    let a = input(&mut b, "a", Dtype::F64, &[K]).unwrap();
    let rows = input(&mut b, "rows", Dtype::F64, &[K, K]).unwrap();
    assert_ne!(a, rows);
    let table = input(&mut b, "table", Dtype::I64, &[K]).unwrap();
    let e = input(&mut b, "e", Dtype::I64, &[]).unwrap();
    let t = b.build(K, |b, i| body(b, &Parts { i, e, table, a })).unwrap();
    let (result, _) = bulk(&b.finish_one(t).unwrap(), &Options::default()).unwrap();
    normal_form(&result).unwrap();
    result
}

/// How many selections a program has.
fn selections(program: &Program) -> usize {
    let selects = |t: &TermId| matches!(program.node(*t), Node::Cond(..) | Node::Op(Op::Select, _));
    program.terms().filter(selects).count()
}

/// Whether reads at an index get a mask, by each of the rules that may need one.
fn masked(index: Pattern) -> [bool; 4] {
    // Reading an input needs no mask: this many selections the index itself has.
    let own = selections(&transformed(|b, p| {
        let (a, ix) = (p.a, index(b, p)?);
        b.index(a, &[ix])
    }));
    let reads: [Pattern; 4] = [
        |b, p| b.replicate(K, p.e),
        |b, _| b.iota(K),
        |b, p| {
            let f = b.index_function(&[K], |_, js| Ok(vec![js[0]]))?;
            b.gather(p.table, f)
        },
        |b, p| {
            // exp of a row: one of the operations that do not keep zero.
            let x = b.index(p.a, &[p.i])?;
            let row = b.replicate(K, x)?;
            let numbers = b.iota(K)?;
            let numbers = b.op(Op::ToF64, &[numbers])?;
            let both = b.op(Op::Add, &[row, numbers])?;
            b.op(Op::Exp, &[both])
        },
    ];
    reads.map(|array| {
        let result = transformed(|b, p| {
            let (array, ix) = (array(b, p)?, index(b, p)?);
            b.index(array, &[ix])
        });
        selections(&result) > own
    })
}

#[test]
fn no_masks_where_an_index_is_provably_in_range() {
    let patterns: &[(&str, Pattern)] = &[
        ("i", |_, p| Ok(p.i)),
        ("5 - i", |b, p| {
            let last = b.scalar(K as i64 - 1)?;
            b.op(Op::Sub, &[last, p.i])
        }),
        ("i // 2", |b, p| with(b, Op::FloorDiv, p.i, 2)),
        ("(2 i + 1) // 2", |b, p| {
            let t = with(b, Op::Mul, p.i, 2)?;
            let t = with(b, Op::Add, t, 1)?;
            with(b, Op::FloorDiv, t, 2)
        }),
        ("(i + 7) % 6", |b, p| {
            let t = with(b, Op::Add, p.i, 7)?;
            with(b, Op::Rem, t, K as i64)
        }),
        ("e % 6", |b, p| with(b, Op::Rem, p.e, K as i64)),
        ("min(i + 1, 5)", |b, p| {
            let t = with(b, Op::Add, p.i, 1)?;
            with(b, Op::Min, t, K as i64 - 1)
        }),
        ("max(i - 1, 0)", |b, p| {
            let t = with(b, Op::Sub, p.i, 1)?;
            with(b, Op::Max, t, 0)
        }),
        ("max(min(e, 5), 0)", |b, p| {
            let t = with(b, Op::Min, p.e, K as i64 - 1)?;
            with(b, Op::Max, t, 0)
        }),
        ("where(i >= 1, i - 1, 0)", |b, p| {
            let (c, t) = (with(b, Op::Ge, p.i, 1)?, with(b, Op::Sub, p.i, 1)?);
            let zero = b.scalar(0i64)?;
            b.op(Op::Select, &[c, t, zero])
        }),
        ("where(0 <= e and e < 6, e, 0)", |b, p| {
            let (c, zero) = (within(b, p.e, K as i64)?, b.scalar(0i64)?);
            b.op(Op::Select, &[c, p.e, zero])
        }),
        ("cond(e + 1 < 0 or e + 1 >= 6, 3, e + 1)", |b, p| {
            let next = with(b, Op::Add, p.e, 1)?;
            let (below, above) = (with(b, Op::Lt, next, 0)?, with(b, Op::Ge, next, K as i64)?);
            let (c, three) = (b.op(Op::Or, &[below, above])?, b.scalar(3i64)?);
            b.cond(c, three, next)
        }),
        ("argmax(a)", |b, p| b.arg_extreme(Extreme::Max, p.a)),
        ("argsort(a)[i]", |b, p| {
            let sorted = b.arg_sort(p.a)?;
            b.index(sorted, &[p.i])
        }),
        ("4", |b, _| b.scalar(4i64)),
        ("sum of booleans", |b, p| {
            let (zero, rank) = (b.scalar(0.0)?, b.index(p.a, &[p.i])?);
            let c = b.op(Op::Gt, &[rank, zero])?;
            b.op(Op::ToI64, &[c])
        }),
    ];
    for (name, index) in patterns {
        assert_eq!(masked(*index), [false; 4], "{name}");
    }
}

#[test]
fn masks_where_an_index_may_be_out_of_range() {
    let patterns: &[(&str, Pattern)] = &[
        ("e", |_, p| Ok(p.e)),
        ("table[i]", |b, p| b.index(p.table, &[p.i])),
        ("i + 1", |b, p| with(b, Op::Add, p.i, 1)),
        ("i - 1", |b, p| with(b, Op::Sub, p.i, 1)),
        ("2 i", |b, p| with(b, Op::Mul, p.i, 2)),
        ("-i", |b, p| b.op(Op::Neg, &[p.i])),
        ("min(e, 5)", |b, p| with(b, Op::Min, p.e, K as i64 - 1)),
        ("max(e, 0)", |b, p| with(b, Op::Max, p.e, 0)),
        ("e % 7", |b, p| with(b, Op::Rem, p.e, K as i64 + 1)),
        ("e // 2", |b, p| with(b, Op::FloorDiv, p.e, 2)),
        ("where(i >= 1, i - 2, 0)", |b, p| {
            let (c, t) = (with(b, Op::Ge, p.i, 1)?, with(b, Op::Sub, p.i, 2)?);
            let zero = b.scalar(0i64)?;
            b.op(Op::Select, &[c, t, zero])
        }),
        ("where(e < 6, e, 0)", |b, p| {
            let (c, zero) = (with(b, Op::Lt, p.e, K as i64)?, b.scalar(0i64)?);
            b.op(Op::Select, &[c, p.e, zero])
        }),
    ];
    for (name, index) in patterns {
        assert_eq!(masked(*index), [true; 4], "{name}");
    }
}

#[test]
fn a_read_that_is_never_in_range_is_zero() {
    let result = transformed(|b, p| {
        let (copies, six) = (b.replicate(K, p.e)?, b.scalar(K as i64)?);
        let at = b.op(Op::Add, &[p.i, six])?;
        b.index(copies, &[at])
    });
    assert_eq!(result.to_string().lines().next_back(), Some(ZEROS));
}
const ZEROS: &str = "def main(a: [6]f64, rows: [6, 6]f64, table: [6]i64, e: i64) = replicate(0, 6)";

// ---- guards -----------------------------------------------------------------------------------

/// A condition on the index `p.i + 1` (or another), for the read of `a` at it.
type Guarded = fn(&mut Builder, &Parts) -> Result<TermId>;

/// `i + 1`, the index of the guarded reads.
fn next(b: &mut Builder, p: &Parts) -> Result<TermId> {
    with(b, Op::Add, p.i, 1)
}

/// `where(c, a[t], 0)`.
fn read_if(b: &mut Builder, p: &Parts, c: TermId, t: TermId) -> Result<TermId> {
    let (read, zero) = (b.index(p.a, &[t])?, b.scalar(0.0)?);
    b.op(Op::Select, &[c, read, zero])
}

#[test]
fn redundant_guards_go() {
    let bare = |index: Pattern| {
        transformed(move |b, p| {
            let t = index(b, p)?;
            b.index(p.a, &[t])
        })
    };
    let patterns: &[(&str, Pattern, Guarded)] = &[
        ("where(0 <= i+1 and i+1 < 6, a[i+1], 0)", next, |b, p| {
            let t = next(b, p)?;
            let c = within(b, t, K as i64)?;
            read_if(b, p, c, t)
        }),
        ("where(i+1 < 6, ..)", next, |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Lt, t, K as i64)?;
            read_if(b, p, c, t)
        }),
        ("where(i < 5, a[i+1], 0)", next, |b, p| {
            let (t, c) = (next(b, p)?, with(b, Op::Lt, p.i, K as i64 - 1)?);
            read_if(b, p, c, t)
        }),
        ("where(6 > i+1, ..)", next, |b, p| {
            let (t, six) = (next(b, p)?, b.scalar(K as i64)?);
            let c = b.op(Op::Gt, &[six, t])?;
            read_if(b, p, c, t)
        }),
        ("where(i+1 <= 9, ..), wider than need be", next, |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Le, t, 9)?;
            read_if(b, p, c, t)
        }),
        ("where(i+1 >= 6, 0, a[i+1])", next, |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Ge, t, K as i64)?;
            let (read, zero) = (b.index(p.a, &[t])?, b.scalar(0.0)?);
            b.op(Op::Select, &[c, zero, read])
        }),
        ("where(not (i+1 >= 6), a[i+1], 0)", next, |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Ge, t, K as i64)?;
            let c = b.op(Op::Not, &[c])?;
            read_if(b, p, c, t)
        }),
        ("cond(i+1 < 0 or i+1 >= 6, 0, a[i+1])", next, |b, p| {
            let t = next(b, p)?;
            let (below, above) = (with(b, Op::Lt, t, 0)?, with(b, Op::Ge, t, K as i64)?);
            let c = b.op(Op::Or, &[below, above])?;
            let (read, zero) = (b.index(p.a, &[t])?, b.scalar(0.0)?);
            b.cond(c, zero, read)
        }),
        (
            "where(0 <= e and e < 6, a[e], 0)",
            |_, p| Ok(p.e),
            |b, p| {
                let c = within(b, p.e, K as i64)?;
                read_if(b, p, c, p.e)
            },
        ),
        (
            "where(table[i] in range, a[table[i]], 0)",
            |b, p| b.index(p.table, &[p.i]),
            |b, p| {
                let t = b.index(p.table, &[p.i])?;
                let c = within(b, t, K as i64)?;
                read_if(b, p, c, t)
            },
        ),
        (
            "where(i >= 1, a[i-1], 0)",
            |b, p| with(b, Op::Sub, p.i, 1),
            |b, p| {
                let (c, t) = (with(b, Op::Ge, p.i, 1)?, with(b, Op::Sub, p.i, 1)?);
                read_if(b, p, c, t)
            },
        ),
    ];
    for (name, index, guarded) in patterns {
        assert_eq!(transformed(guarded), bare(*index), "{name}");
    }
    // Through structure: the read is an index of the source, whatever becomes of it.
    let structured = |guard: bool| {
        transformed(move |b, p| {
            let copies = b.replicate(K, p.e)?;
            let read = b.index(copies, &[p.e])?;
            let (c, zero) = (within(b, p.e, K as i64)?, b.scalar(0i64)?);
            if guard { b.op(Op::Select, &[c, read, zero]) } else { Ok(read) }
        })
    };
    assert_eq!(structured(true), structured(false));
}

#[test]
fn guards_that_matter_stay() {
    let patterns: &[(&str, Guarded)] = &[
        ("where(i+1 < 5, ..), narrower", |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Lt, t, K as i64 - 1)?;
            read_if(b, p, c, t)
        }),
        ("where(i+1 >= 2, ..), narrower", |b, p| {
            let t = next(b, p)?;
            let c = with(b, Op::Ge, t, 2)?;
            read_if(b, p, c, t)
        }),
        ("where(i+1 in range, a[i+1], 1)", |b, p| {
            let t = next(b, p)?;
            let c = within(b, t, K as i64)?;
            let (read, one) = (b.index(p.a, &[t])?, b.scalar(1.0)?);
            b.op(Op::Select, &[c, read, one])
        }),
        ("where(i+1 in range, a[i+1], -0.0)", |b, p| {
            let t = next(b, p)?;
            let c = within(b, t, K as i64)?;
            let (read, zero) = (b.index(p.a, &[t])?, b.scalar(-0.0)?);
            b.op(Op::Select, &[c, read, zero])
        }),
        ("where(i+1 in range, 0, a[i+1])", |b, p| {
            let t = next(b, p)?;
            let c = within(b, t, K as i64)?;
            let (read, zero) = (b.index(p.a, &[t])?, b.scalar(0.0)?);
            b.op(Op::Select, &[c, zero, read])
        }),
        ("where(e in range, a[i+1], 0)", |b, p| {
            let (t, c) = (next(b, p)?, within(b, p.e, K as i64)?);
            read_if(b, p, c, t)
        }),
        ("where(i+1 < 6 or e < 6, ..)", |b, p| {
            let t = next(b, p)?;
            let (c, d) = (with(b, Op::Lt, t, K as i64)?, with(b, Op::Lt, p.e, K as i64)?);
            let c = b.op(Op::Or, &[c, d])?;
            read_if(b, p, c, t)
        }),
        ("where(a[i+1] > 0, a[i+1], 0)", |b, p| {
            let (t, zero) = (next(b, p)?, b.scalar(0.0)?);
            let read = b.index(p.a, &[t])?;
            let c = b.op(Op::Gt, &[read, zero])?;
            b.op(Op::Select, &[c, read, zero])
        }),
        // The largest e passes the guard, and its successor is the smallest integer.
        ("where(e + 1 > e, a[e], 0)", |b, p| {
            let t = with(b, Op::Add, p.e, 1)?;
            let c = b.op(Op::Gt, &[t, p.e])?;
            read_if(b, p, c, p.e)
        }),
    ];
    for (name, guarded) in patterns {
        let text = transformed(guarded).to_string();
        assert!(text.contains("where("), "{name}: {text}");
    }
}

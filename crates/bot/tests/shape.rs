//! What results look like: index functions simple and shared, nothing large made in passing,
//! nothing computed twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use cotan_array::{Dtype, Shape};
use cotan_bot::{Options, bulk, normal_form};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Node, Program, Result, TermId, Type};

/// The number of lanes, and the size of what each of them reads.
const N: usize = 50;
const M: usize = 70;

fn input(b: &mut Builder, name: &str, dtype: Dtype, dims: &[usize]) -> TermId {
    b.input(name, Type::new(dtype, Shape::new("test", dims).unwrap())).unwrap()
}

/// What a term over vectors `a` of `N` and `c` of `M` numbers and a table of `N` integers becomes.
fn transformed(make: impl FnOnce(&mut Builder, [TermId; 3]) -> Result<TermId>) -> Program {
    let mut b = Builder::new();
    let a = input(&mut b, "a", Dtype::F64, &[N]);
    let c = input(&mut b, "c", Dtype::F64, &[M]);
    let table = input(&mut b, "table", Dtype::I64, &[N]);
    let t = make(&mut b, [a, c, table]).unwrap();
    let (result, _) = bulk(&b.finish_one(t).unwrap(), &Options::default()).unwrap();
    normal_form(&result).unwrap();
    result
}

fn largest(program: &Program) -> usize {
    program.terms().map(|t| program.shape(t).numel()).max().unwrap_or(0)
}

fn count(program: &Program, what: impl Fn(&Node) -> bool) -> usize {
    program.terms().filter(|&t| what(program.node(t))).count()
}

// ---- index functions --------------------------------------------------------------------------

/// A condition of five operations inside a small index, whose other use is dropped on the way: as a
/// shared term it is not written into index functions, so it must be there to be read.
#[test]
fn shared_parts_of_small_indices_are_computed_before() {
    let result = transformed(|b, [a, _, _]| {
        b.build(N, |b, i| {
            let (one, three, five) = (b.scalar(1i64)?, b.scalar(3i64)?, b.scalar(5i64)?);
            let rest = b.op(Op::Rem, &[i, five])?;
            let above = b.op(Op::Le, &[one, rest])?;
            let below = b.op(Op::Lt, &[rest, three])?;
            let middle = b.op(Op::And, &[above, below])?;
            let zero = b.scalar(0i64)?;
            let at = b.op(Op::Select, &[middle, one, zero])?;
            let read = b.index(a, &[at])?;
            let (low, high) = (b.scalar(1.0)?, b.scalar(2.0)?);
            let other = b.op(Op::Select, &[middle, high, low])?;
            let both = b.stack(&[read, other])?;
            b.index(both, &[zero])
        })
    });
    assert_eq!(count(&result, |node| matches!(node, Node::Gather(..))), 1, "{result}");
}

/// The reads of `a` at an index, one of which is written as `make` says.
fn read_at(make: fn(&mut Builder, TermId) -> Result<TermId>) -> Program {
    transformed(|b, [a, _, _]| {
        b.build(N, |b, i| {
            let at = make(b, i)?;
            b.index(a, &[at])
        })
    })
}

fn with(b: &mut Builder, op: Op, t: TermId, c: i64) -> Result<TermId> {
    let c = b.scalar(c)?;
    b.op(op, &[t, c])
}

#[test]
fn equal_affine_indices_become_the_same() {
    let last = N as i64 - 1;
    assert_eq!(last, 49);
    let written: [fn(&mut Builder, TermId) -> Result<TermId>; 5] = [
        |b, i| {
            let last = b.scalar(N as i64 - 1)?;
            b.op(Op::Sub, &[last, i])
        },
        |b, i| {
            let (next, size) = (with(b, Op::Add, i, 1)?, b.scalar(N as i64)?);
            b.op(Op::Sub, &[size, next])
        },
        |b, i| {
            let t = b.op(Op::Neg, &[i])?;
            with(b, Op::Add, t, N as i64 - 1)
        },
        |b, i| {
            let t = with(b, Op::Mul, i, -1)?;
            let t = with(b, Op::Add, t, N as i64)?;
            with(b, Op::Sub, t, 1)
        },
        |b, i| {
            let (twice, last) = (b.op(Op::Add, &[i, i])?, b.scalar(N as i64 - 1)?);
            let t = b.op(Op::Add, &[i, last])?;
            b.op(Op::Sub, &[t, twice])
        },
    ];
    for make in written {
        assert_eq!(
            read_at(make).to_string(),
            "def main(a: [50]f64, c: [70]f64, table: [50]i64) = gather(a, [50], i => [49 - i])\n"
        );
    }
    // Two of them in one program are one gather.
    let both = transformed(|b, [a, _, _]| {
        b.build(N, |b, i| {
            let (first, second) = (written[0](b, i)?, written[1](b, i)?);
            let (x, y) = (b.index(a, &[first])?, b.index(a, &[second])?);
            b.op(Op::Mul, &[x, y])
        })
    });
    assert_eq!(count(&both, |node| matches!(node, Node::Gather(..))), 1);
}

#[test]
fn quotients_and_remainders_of_affine_indices_are_taken_apart() {
    // reshape(a, [5, 10]) read at [i // 10, i % 10]: the same element.
    let result = transformed(|b, [a, _, _]| {
        let matrix = b.reshape(&[5, 10], a)?;
        b.build(5, |b, i| b.build(10, |b, j| b.index(matrix, &[i, j])))
    });
    assert!(result.to_string().contains("(i, j) => [i * 10 + j]"), "{result}");
    let result = transformed(|b, [a, _, _]| {
        let matrix = b.reshape(&[10, 5], a)?;
        b.build(10, |b, i| {
            let row = b.index(matrix, &[i])?;
            let flat = b.reshape(&[5], row)?;
            b.sum_outer(flat)
        })
    });
    assert!(!result.to_string().contains("//"), "{result}");
}

// ---- memory -----------------------------------------------------------------------------------

#[test]
fn an_inner_build_that_is_read_once_is_not_made() {
    // build N (i => (build M (j => a[i] * c[j]))[table[i]])
    let result = transformed(|b, [a, c, table]| {
        b.build(N, |b, i| {
            let x = b.index(a, &[i])?;
            let inner = b.build(M, |b, j| {
                let y = b.index(c, &[j])?;
                b.op(Op::Mul, &[x, y])
            })?;
            let at = b.index(table, &[i])?;
            b.index(inner, &[at])
        })
    });
    assert!(largest(&result) <= M, "{result}");
}

#[test]
fn rows_under_structure_are_not_made() {
    // Each lane repeats, turns and reshapes its row, and reads one element.
    let result = transformed(|b, [a, c, table]| {
        b.build(N, |b, i| {
            let x = b.index(a, &[i])?;
            let row = b.build(M, |b, j| {
                let y = b.index(c, &[j])?;
                b.op(Op::Add, &[x, y])
            })?;
            let matrix = b.reshape(&[7, 10], row)?;
            let turned = b.transpose(&[1, 0], matrix)?;
            let (at, three) = (b.index(table, &[i])?, b.scalar(3i64)?);
            let copies = b.replicate(4, turned)?;
            b.index(copies, &[three, at, three])
        })
    });
    assert!(largest(&result) <= M, "{result}");
    // The mask of a read of a whole row travels with the index.
    let result = transformed(|b, [a, c, table]| {
        let rows = b.replicate(3, c)?;
        b.build(N, |b, i| {
            let at = b.index(table, &[i])?;
            let row = b.index(rows, &[at])?;
            let matrix = b.reshape(&[7, 10], row)?;
            let (two, x) = (b.scalar(2i64)?, b.index(a, &[i])?);
            let y = b.index(matrix, &[two, at])?;
            b.op(Op::Mul, &[x, y])
        })
    });
    assert!(largest(&result) <= M, "{result}");
}

#[test]
fn a_stack_read_at_a_constant_is_not_made() {
    let result = transformed(|b, [a, c, _]| {
        b.build(N, |b, i| {
            let x = b.index(a, &[i])?;
            let copies = b.replicate(M, x)?;
            let sum = b.op(Op::Add, &[copies, c])?;
            let both = b.stack(&[sum, c])?;
            let one = b.scalar(1i64)?;
            let row = b.index(both, &[one])?;
            b.index(row, &[i])
        })
    });
    assert_eq!(count(&result, |node| matches!(node, Node::Stack(_))), 0, "{result}");
    assert!(largest(&result) <= M, "{result}");
}

// ---- work -------------------------------------------------------------------------------------

#[test]
fn what_does_not_depend_on_the_index_is_computed_once() {
    let result = transformed(|b, [a, c, _]| {
        b.build(N, |b, i| {
            let exp = b.op(Op::Exp, &[c])?;
            let (sum, x) = (b.sum_outer(exp)?, b.index(a, &[i])?);
            b.op(Op::Mul, &[x, sum])
        })
    });
    assert!(largest(&result) <= M, "{result}");
    assert_eq!(count(&result, |node| matches!(node, Node::SumOuter(_))), 1);
}

#[test]
fn a_value_with_two_users_is_not_computed_twice() {
    // x = exp(c), read twice: neither read goes into exp.
    let result = transformed(|b, [_, c, table]| {
        let x = b.op(Op::Exp, &[c])?;
        b.build(N, |b, i| {
            let at = b.index(table, &[i])?;
            let (u, v) = (b.index(x, &[i])?, b.index(x, &[at])?);
            b.op(Op::Mul, &[u, v])
        })
    });
    assert_eq!(count(&result, |node| matches!(node, Node::Op(Op::Exp, _))), 1, "{result}");
    // Inside the build too: each lane has a row that it reads twice.
    let result = transformed(|b, [a, c, table]| {
        b.build(N, |b, i| {
            let x = b.index(a, &[i])?;
            let copies = b.replicate(M, x)?;
            let sum = b.op(Op::Add, &[copies, c])?;
            let row = b.op(Op::Exp, &[sum])?;
            let at = b.index(table, &[i])?;
            let (u, v) = (b.index(row, &[i])?, b.index(row, &[at])?);
            b.op(Op::Mul, &[u, v])
        })
    });
    assert_eq!(count(&result, |node| matches!(node, Node::Op(Op::Exp, _))), 1, "{result}");
}

#[test]
fn a_heavy_index_function_is_not_copied_into_its_readers() {
    let heavy = |b: &mut Builder, c: TermId| {
        let f = b.index_function(&[M], |b, is| {
            Ok(vec![(0..40).try_fold(is[0], |t, _| b.op(Op::Mul, &[t, is[0]]))?])
        })?;
        b.gather(c, f)
    };
    let result = transformed(|b, [_, c, table]| {
        let x = heavy(b, c)?;
        b.build(N, |b, i| {
            let at = b.index(table, &[i])?;
            let (u, v) = (b.index(x, &[i])?, b.index(x, &[at])?);
            b.op(Op::Mul, &[u, v])
        })
    });
    assert_eq!(count(&result, |node| matches!(node, Node::Op(Op::Mul, _))), 41, "{result}");
}

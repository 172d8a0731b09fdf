//! Which products need not look for zeros, and what of.

use cotan_nest::{Affine, Write};

use super::*;

/// A buffer that the nests write themselves; all others are read only.
const INSIDE: u32 = 9;

/// A nest of one dimension while it is made.
struct Body {
    dtype: Dtype,
    instrs: Vec<Instr>,
    dtypes: Vec<Dtype>,
}

impl Body {
    fn push(&mut self, instr: Instr, dtype: Dtype) -> Val {
        self.instrs.push(instr);
        self.dtypes.push(dtype);
        Val(self.instrs.len() as u32 - 1)
    }

    fn read(&mut self, buffer: u32) -> Val {
        let at = Affine { constant: 0, coeffs: [1].into_iter().collect() };
        self.push(Instr::Load { buffer: BufferId(buffer), at, checks: Vec::new() }, self.dtype)
    }

    fn number(&mut self, x: f64) -> Val {
        let bits = match self.dtype {
            Dtype::F32 => u64::from((x as f32).to_bits()),
            _ => x.to_bits(),
        };
        self.push(Instr::Const(bits), self.dtype)
    }

    fn op(&mut self, op: Op, args: &[Val]) -> Val {
        let dtype = match op {
            Op::Lt => Dtype::Bool,
            Op::ToF32 => Dtype::F32,
            _ => self.dtype,
        };
        self.push(Instr::Op(op, args.iter().copied().collect()), dtype)
    }

    fn power(&mut self, x: Val, n: usize) -> Val {
        (1..n).fold(x, |power, _| self.op(Op::Mul, &[power, x]))
    }
}

/// The arrays that have to be of moderate size for a product of buffer 0 and what is made; none if it
/// has to look for zeros anyway.
fn looked_at(dtype: Dtype, factor: impl FnOnce(&mut Body) -> Val) -> Option<Vec<u32>> {
    let mut body = Body { dtype, instrs: Vec::new(), dtypes: Vec::new() };
    let factor = factor(&mut body);
    let dtype = body.dtypes[factor.index()];
    body.dtype = dtype;
    let scaled = body.read(0);
    let value = body.op(Op::Scale, &[scaled, factor]);
    let at = Affine { constant: 0, coeffs: [1].into_iter().collect() };
    let Body { instrs, dtypes, .. } = body;
    let (target, write) = (BufferId(INSIDE), Write::Store(at));
    let (extents, also) = (vec![64], Vec::new());
    let nest =
        Nest { extents, reduced: 0, instrs, dtypes, value, target, write, also, source: None };
    let relaxing = Relaxing::new([Some(&nest)].into_iter(), |b| b != BufferId(INSIDE), 32);
    let relaxed = relaxing.nests[0].as_ref()?;
    assert!(matches!(relaxed.instrs[value.index()], Instr::Op(Op::Mul, _)));
    Some(relaxing.moderate.iter().map(|b| b.0).collect())
}

#[test]
fn products_of_five_are_finite() {
    for dtype in [Dtype::F64, Dtype::F32] {
        let power = |n| {
            looked_at(dtype, |b| {
                let x = b.read(3);
                b.power(x, n)
            })
        };
        assert_eq!(power(1), Some(vec![3]));
        assert_eq!(power(5), Some(vec![3]));
        assert_eq!(power(6), None);
        let sums = |doubled: usize, more: f64, n: usize| {
            looked_at(dtype, |b| {
                let (mut x, more) = (b.read(3), b.number(more));
                (0..doubled).for_each(|_| x = b.op(Op::Add, &[x, x]));
                let sum = b.op(Op::Sub, &[x, more]);
                b.power(sum, n)
            })
        };
        assert_eq!(sums(0, 1.0, 5), Some(vec![3]));
        assert_eq!(sums(0, 1.0, 6), None);
        // 4 and 2^8 times as large.
        assert_eq!(sums(2, 1.0, 4), Some(vec![3]));
        assert_eq!(sums(8, 1.0, 5), None);
    }
}

#[test]
fn the_largest_of_several_counts() {
    let of = |op: Op, swapped: bool| {
        looked_at(Dtype::F64, |b| {
            let (x, one) = (b.read(3), b.number(1.0));
            let chosen = b.op(op, &if swapped { [x, one] } else { [one, x] });
            b.power(chosen, 6)
        })
    };
    for op in [Op::Max, Op::Min, Op::Add, Op::Sub] {
        assert_eq!(of(op, true), None, "{op:?}");
        assert_eq!(of(op, false), None, "{op:?}");
    }
}

#[test]
fn what_is_chosen_counts_and_not_what_chooses() {
    let chosen = |first, second| {
        looked_at(Dtype::F64, |b| {
            let (inside, x) = (b.read(INSIDE), b.read(5));
            let less = b.op(Op::Lt, &[inside, x]);
            let (first, second) = (b.read(first), b.read(second));
            b.op(Op::Select, &[less, first, second])
        })
    };
    assert_eq!(chosen(3, 4), Some(vec![3, 4]));
    assert_eq!(chosen(4, 4), Some(vec![4]));
    assert_eq!(chosen(INSIDE, 4), None);
    assert_eq!(chosen(4, INSIDE), None);
}

/// What is not there yet must not be looked at, where it may be anything.
#[test]
fn what_is_compared_may_not_be_there_yet() {
    let compared = |dtype| {
        looked_at(dtype, |b| {
            let (inside, x) = (b.read(INSIDE), b.read(3));
            let less = b.op(Op::Lt, &[inside, x]);
            let number = b.op(if dtype == Dtype::F32 { Op::ToF32 } else { Op::ToF64 }, &[less]);
            b.op(Op::Mul, &[number, x])
        })
    };
    assert_eq!(compared(Dtype::F64), Some(vec![3]));
    assert_eq!(compared(Dtype::F32), Some(vec![3]));
}

#[test]
fn what_may_be_infinite_is_looked_at() {
    let unary = |op| {
        looked_at(Dtype::F64, |b| {
            let x = b.read(3);
            b.op(op, &[x])
        })
    };
    for op in [Op::Neg, Op::Abs, Op::Sin, Op::Cos, Op::Tanh] {
        assert_eq!(unary(op), Some(vec![3]), "{op:?}");
    }
    for op in [Op::Exp, Op::Log, Op::Recip, Op::Sqrt, Op::Tan, Op::ToF32] {
        assert_eq!(unary(op), None, "{op:?}");
    }
    let quotient = looked_at(Dtype::F64, |b| {
        let (x, y) = (b.read(3), b.read(4));
        b.op(Op::Div, &[x, y])
    });
    assert_eq!(quotient, None);
    for number in [f64::INFINITY, f64::NAN, f64::NEG_INFINITY] {
        for dtype in [Dtype::F64, Dtype::F32] {
            assert_eq!(looked_at(dtype, |b| b.number(number)), None);
            let sum = looked_at(dtype, |b| {
                let (x, number) = (b.read(3), b.number(number));
                b.op(Op::Max, &[x, number])
            });
            assert_eq!(sum, None);
        }
    }
}

#[test]
fn all_arrays_of_a_factor_count() {
    let all = looked_at(Dtype::F64, |b| {
        let (x, y, z) = (b.read(5), b.read(3), b.read(4));
        let less = b.op(Op::Sub, &[x, y]);
        let product = b.op(Op::Mul, &[less, z]);
        b.op(Op::Sin, &[product])
    });
    assert_eq!(all, Some(vec![3, 4, 5]));
    let some = looked_at(Dtype::F64, |b| {
        let (x, inside) = (b.read(3), b.read(INSIDE));
        b.op(Op::Add, &[x, inside])
    });
    assert_eq!(some, None);
}

/// Only if positions are many, and each element is used often.
#[test]
fn looking_pays_by_reuse() {
    let relaxing = |moderate: &[u32], positions| Relaxing {
        uses: 32,
        nests: Vec::new(),
        moderate: moderate.iter().map(|&b| BufferId(b)).collect(),
        positions,
    };
    assert!(relaxing(&[3], 3200).pays(100, 1000));
    assert!(!relaxing(&[3], 3200 - 1).pays(100, 1000));
    assert!(!relaxing(&[3], 3200).pays(100, 3200 + 1));
    assert!(relaxing(&[3], 1).pays(100, 0));
    assert!(!relaxing(&[], 3200).pays(0, 0));
}

//! Programs of the section, and some more that show what the algorithm accepts.
//!
//! Each is a term with the free variable `x`.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use super::syntax::{
    Name, Rec, Term, apply, fst, if_positive, int, int_op, lambda, let_in, let_rec, op, pair, real,
    real_op, snd, var,
};
use super::types::Type;

/// `P_1` of the section on sharing: `let x1 = x + x; x2 = x1 + x1; ..; in xn`, which is `2^n x`.
///
/// Its Delta term has `n` constructors in memory, and `2^n` as a tree.
pub fn doublings(n: usize) -> Term {
    let x = |k: usize| if k == 0 { var("x") } else { var(format!("x{k}").as_str()) };
    (1..=n).rev().fold(x(n), |rest, k| {
        let name = Name::from(format!("x{k}").as_str());
        let_in(name, x(k - 1) + x(k - 1), rest)
    })
}

/// The program of Fig. eval-share-visits:
/// `let y = exp x in let z = log y in y + sin z / cos z`.
pub fn shared_expression() -> Term {
    let (y, z) = (var("y"), var("z"));
    let quotient = real_op(Op::Sin, [z.clone()]) / real_op(Op::Cos, [z]);
    let sum = y.clone() + quotient;
    let inner = let_in("z", real_op(Op::Log, [y]), sum);
    let_in("y", real_op(Op::Exp, [var("x")]), inner)
}

/// `x1 * x2 + x3` for the input `((x1, x2), x3)` of Fig. dn-ad-wrapper.
pub fn three_inputs() -> Term {
    let x = var("x");
    let (x1, x2) = (fst(fst(x.clone())), snd(fst(x.clone())));
    x1 * x2 + snd(x)
}

/// `let twice = \f. \y. f (f y) in twice (twice (\y. y * y + x)) x`: functions of functions, and
/// one that captures what is differentiated.
pub fn higher_order() -> Term {
    let unary = Type::function(Type::Real, Type::Real);
    let (f, y) = (var("f"), var("y"));
    let body = apply(f.clone(), apply(f, y.clone()));
    let twice = lambda("f", unary, lambda("y", Type::Real, body));
    let step = lambda("y", Type::Real, &y * &y + var("x"));
    let four_times = apply(var("twice"), apply(var("twice"), step));
    let_in("twice", twice, apply(four_times, var("x")))
}

/// `x` to the power `k`, by recursion:
/// `let rec power (p : (R, Int)) : R = if snd p > 0 then fst p * power (fst p, snd p - 1) else 1`.
pub fn power(k: i64) -> Term {
    let (base, count) = (fst(var("p")), snd(var("p")));
    let fewer = int_op(Op::Sub, [count.clone(), int(1)]);
    let smaller = apply(var("power"), pair(base.clone(), fewer));
    let body = if_positive(to_real(count), base * smaller, real(1.0));
    let argument = Type::pair(Type::Real, Type::Int);
    let_rec(head("power", argument), body, apply(var("power"), pair(var("x"), int(k))))
}

/// The square root of `x` by Newton's iteration, from 1, until `y * y` is close to `x`: the number
/// of steps depends on the input.
pub fn newton_square_root() -> Term {
    let (x, y) = (var("x"), var("p"));
    let error = real_op(Op::Abs, [&(&y * &y) - &x]) - real(1e-13) * x.clone();
    let better = (y.clone() + x / y.clone()) / real(2.0);
    let body = if_positive(error, apply(var("newton"), better), y);
    let_rec(head("newton", Type::Real), body, apply(var("newton"), real(1.0)))
}

/// `if x > 0 then x * round x else - sin x`, with `round : R -> Int`: the derivative does not see
/// the discrete part.
pub fn with_a_branch() -> Term {
    let x = var("x");
    let rounded = real_op(Op::ToI64, [real_op(Op::Round, [x.clone()])]);
    let no = real_op(Op::Neg, [real_op(Op::Sin, [x.clone()])]);
    if_positive(x.clone(), x * to_real(rounded), no)
}

/// `sin` applied `n` times to `x + 1`, by a recursion that ends with work still to do.
pub fn nested_sines(n: i64) -> Term {
    let count = var("p");
    let fewer = int_op(Op::Sub, [count.clone(), int(1)]);
    let deeper = real_op(Op::Sin, [apply(var("nest"), fewer)]);
    let body = if_positive(to_real(count), deeper, var("x") + real(1.0));
    let_rec(head("nest", Type::Int), body, apply(var("nest"), int(n)))
}

/// `function (p : argument) : R`.
fn head(function: &str, argument: Type) -> Rec {
    Rec { function: function.into(), parameter: "p".into(), argument, result: Type::Real }
}

/// `Int -> R`
fn to_real(k: Term) -> Term {
    op(Op::ToF64, &[Dtype::I64], vec![k])
}

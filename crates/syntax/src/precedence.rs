//! How tightly operators bind: the one table that the parser and the formatter share.

use crate::ast::{BinaryOp, ExprKind, Literal, UnaryOp};

/// Anything goes: `let`, `if`, lambdas, `with` and every operator.
pub(crate) const LOOSEST: u8 = 0;
pub(crate) const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const SUM: u8 = 6;
const PRODUCT: u8 = 7;
const NEG: u8 = 8;
const POWER: u8 = 9;
/// Calls, indices, projections and what stands on its own.
pub(crate) const POSTFIX: u8 = 10;

/// How a chain of equal operators is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assoc {
    /// `a - b - c` is `(a - b) - c`.
    Left,
    /// `a ** b ** c` is `a ** (b ** c)`.
    Right,
    /// `a < b < c` is an error.
    None,
}

pub(crate) fn of_binary(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Or => OR,
        Xor => XOR,
        And => AND,
        Eq | Ne | Lt | Le | Gt | Ge => COMPARE,
        Add | Sub => SUM,
        Mul | Div | FloorDiv | Rem => PRODUCT,
        Pow => POWER,
    }
}

pub(crate) fn of_unary(op: UnaryOp) -> u8 {
    match op {
        UnaryOp::Neg => NEG,
        UnaryOp::Not => NOT,
    }
}

pub(crate) fn assoc(op: BinaryOp) -> Assoc {
    match of_binary(op) {
        POWER => Assoc::Right,
        COMPARE => Assoc::None,
        _ => Assoc::Left,
    }
}

/// How tightly the outermost construct of an expression binds.
pub(crate) fn of_expr(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Lambda { .. } | ExprKind::If { .. } | ExprKind::Let { .. } => LOOSEST,
        ExprKind::With { .. } => LOOSEST,
        ExprKind::Binary { op, .. } => of_binary(*op),
        ExprKind::Unary { op, .. } => of_unary(*op),
        ExprKind::Literal(literal) if is_negative(literal) => NEG,
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Call { .. }
        | ExprKind::Index { .. }
        | ExprKind::Field { .. }
        | ExprKind::Proj { .. }
        | ExprKind::Tuple(_)
        | ExprKind::Record(_)
        | ExprKind::Array(_)
        | ExprKind::Build { .. }
        | ExprKind::Error => POSTFIX,
    }
}

/// Is the literal written with a minus?
pub(crate) fn is_negative(literal: &Literal) -> bool {
    match literal {
        Literal::Bool(_) => false,
        Literal::Int { value, .. } => *value < 0,
        Literal::Float { value, .. } => value.is_sign_negative(),
    }
}

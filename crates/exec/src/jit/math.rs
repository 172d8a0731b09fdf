//! Elementary functions.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use super::lir::V;
use super::lower::Lowering;

/// Whether an operation on narrow floats needs nothing but narrow lanes.
pub(super) fn is_narrow(_op: Op) -> bool {
    true
}

/// An elementary function as vector code.
pub(super) fn record(_l: &mut Lowering, _op: Op, _operands: &[(V, Dtype)]) -> Option<V> {
    None
}

//! Reductions and scans with an operator of one's own, which is associative by declaration.

use cotan_ir::{Extracted, Param, Scopes, Span, TermId, Type};
use cotan_library::operator::{self, Operator};

use super::loops::same_state;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const OPERATORS: &[Row] = &[
    (
        "reduce(init, xs, f)",
        reduce,
        "All elements along the outermost axis combined by the associative `f`, in their order; `init`, its neutral element, where there are none. Nested like a balanced tree, unlike `fold`.",
        "reduce(1.0, [2.0, 3.0, 4.0], (a, b) => a * b)",
    ),
    (
        "associative_scan(xs, f, reverse = false)",
        scan,
        "For each element the combination of those up to it by the associative `f`; with `reverse`, of it and those after it.",
        "associative_scan([2.0, 3.0, 4.0], (a, b) => a * b)",
    ),
    (
        "reduce_by_index(init, n, ids, xs, f)",
        reduce_by_index,
        "For each id below `n` the combination, by the associative `f`, of `init`, its neutral element, and the elements that have the id in the vector `ids`, in their order. Elements with other ids are left out.",
        "reduce_by_index(1.0, 2, [1, 0, 1], [2.0, 3.0, 4.0], (a, b) => a * b)",
    ),
];

/// One element of arrays that are run along, as a value of its type.
fn element(elab: &mut Elab<'_>, (xs, span): &Operand) -> R<Value> {
    elab.map_leaves(xs, *span, &mut |elab, t| {
        let made = elab.b.scalar(0i64).and_then(|zero| elab.b.index(t, &[zero]));
        elab.lift(made, *span)
    })
}

/// The operator on elements of arrays.
fn operator(elab: &mut Elab<'_>, f: &Applied, xs: &Operand, span: Span) -> R<Operator> {
    if elab.common_length(std::slice::from_ref(xs))?.is_none() {
        return Err(elab.no_length(span));
    }
    let leaves = elab.leaves(&xs.0, xs.1)?;
    let one = leaves.iter().map(|&t| {
        let ty = elab.b.ty(t);
        Param::Value(Type::new(ty.dtype, ty.shape.drop_outer(1)))
    });
    let one: Vec<Param> = one.collect();
    let both = [one.clone(), one].concat();
    let region = elab.region(&both, span, |elab, vars| {
        let (left, right) = vars.split_at(leaves.len().min(vars.len()));
        let (left, right) = (refill(elab, xs, left)?, refill(elab, xs, right)?);
        let result = elab.apply(f, vec![(left.clone(), xs.1), (right, xs.1)], span)?;
        let result = same_state(elab, &left, result, xs.1, span)?;
        elab.leaves(&result, span)
    })?;
    let extracted = Extracted::new(&elab.b, &Scopes::of_region(&elab.b, region), region);
    let Extracted { program, captures } = elab.lift(extracted, span)?;
    Ok(Operator { program, captures })
}

/// A structure with other terms at its leaves, in order.
fn refill(elab: &mut Elab<'_>, (value, span): &Operand, terms: &[TermId]) -> R<Value> {
    let mut terms = terms.iter().copied();
    elab.map_leaves(value, *span, &mut |elab, _| {
        terms.next().ok_or_else(|| elab.internal("too few terms"))
    })
}

/// The neutral element at the type of the elements: literals adapt.
fn neutral(elab: &mut Elab<'_>, init: &Operand, xs: &Operand) -> R<Vec<TermId>> {
    let element = element(elab, xs)?;
    let fitted = elab.tree_of(&element).and_then(|tree| elab.fit(&init.0, &tree));
    match fitted {
        Some(init_value) => elab.leaves(&init_value, init.1),
        None => {
            if let Some(tree) = elab.tree_of(&element) {
                elab.unless_fits(&init.0, &tree);
            }
            let (found, wanted) = (elab.describe(&init.0), elab.describe(&element));
            let message = format!("the neutral element is {found}, and the elements are {wanted}");
            let hint = "it is an element that changes no other: `0.0` for sums, `1.0` for products";
            Err(elab.report(
                Diagnostic::new(Code::TypeMismatch, init.1, message)
                    .also(xs.1, format!("elements are {wanted}"))
                    .hint(hint),
            ))
        }
    }
}

fn reduce(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (init, xs) = (elab.value_at(call, 0), elab.value_at(call, 1));
    let f = elab.function_arg(call, 2)?;
    let op = operator(elab, &f, &xs, call.span)?;
    let (init, leaves) = (neutral(elab, &init, &xs)?, elab.leaves(&xs.0, xs.1)?);
    let made = operator::reduce(&mut elab.b, &op, &init, &leaves);
    let made = elab.lift(made, call.span)?;
    refill(elab, &xs, &made)
}

fn scan(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let xs = elab.value_at(call, 0);
    let f = elab.function_arg(call, 1)?;
    let reverse = elab.flag_at(call, 2)?;
    let op = operator(elab, &f, &xs, call.span)?;
    let leaves = elab.leaves(&xs.0, xs.1)?;
    let made = operator::associative_scan(&mut elab.b, &op, &leaves, reverse);
    let made = elab.lift(made, call.span)?;
    refill(elab, &xs, &made)
}

fn reduce_by_index(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let init = elab.value_at(call, 0);
    let n = elab.size_at(call, 1)?;
    let ids = elab.value_at(call, 2);
    let xs = elab.value_at(call, 3);
    let f = elab.function_arg(call, 4)?;
    let op = operator(elab, &f, &xs, call.span)?;
    let (init, leaves) = (neutral(elab, &init, &xs)?, elab.leaves(&xs.0, xs.1)?);
    // The ids run along with the elements.
    let id_span = ids.1;
    let ids = elab.term(&ids.0, ids.1)?;
    if elab.b.dtype(ids) != cotan_array::Dtype::I64 || elab.b.shape(ids).rank() != 1 {
        let message = format!("ids are a vector of i64; this is {}", elab.b.ty(ids));
        return Err(elab.report(Diagnostic::new(Code::TypeMismatch, id_span, message)));
    }
    elab.common_length(&[xs.clone(), (Value::Term(ids), id_span)])?;
    let made = operator::reduce_by_index(&mut elab.b, &op, &init, n, ids, &leaves);
    let made = elab.lift(made, call.span)?;
    refill(elab, &xs, &made)
}

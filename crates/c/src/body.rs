//! The instructions of a nest as definitions of C.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{BufferId, Component, Instr, Nest, Val, Write};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::affine;
use crate::literal::{of_bits, suffix, type_of};
use crate::scalar::Library;
use crate::writer::Writer;

/// What a nest is made of on its way to C.
pub(crate) struct Body<'a> {
    pub(crate) nest: &'a Nest,
    pub(crate) library: &'a mut Library,
    /// What a buffer is called.
    pub(crate) name: &'a dyn Fn(BufferId) -> String,
    /// Values that are kept for every lane of a block, at `l`.
    pub(crate) kept: FxHashSet<Val>,
}

impl Body<'_> {
    pub(crate) fn dtype(&self, v: Val) -> Dtype {
        self.nest.dtypes[v.index()]
    }

    /// A value where it is defined already: a name, or a number.
    pub(crate) fn value(&self, v: Val) -> String {
        match &self.nest.instrs[v.index()] {
            Instr::Const(bits) if self.is_literal(v) => of_bits(*bits, self.dtype(v)),
            Instr::Affine(form) if self.is_literal(v) => crate::literal::integer(form.constant),
            _ if self.kept.contains(&v) => format!("k{}[l]", v.0),
            _ => format!("v{}", v.0),
        }
    }

    /// Whether a value is written out where it is used: a number, but no truth value, as compilers
    /// warn of comparisons with these.
    pub(crate) fn is_literal(&self, v: Val) -> bool {
        match &self.nest.instrs[v.index()] {
            Instr::Const(_) => self.dtype(v) != Dtype::Bool,
            Instr::Affine(form) => form.known().is_some(),
            Instr::Load { .. } | Instr::LoadAt { .. } => false,
            Instr::Op(..) | Instr::MulAdd { .. } => false,
        }
    }

    /// The definition of a value, if it needs one.
    pub(crate) fn define(&mut self, v: Val, w: &mut Writer) {
        if self.is_literal(v) {
            if let Instr::Const(bits) = &self.nest.instrs[v.index()] {
                self.note(*bits, self.dtype(v));
            }
            return;
        }
        let text = self.expression(v);
        w.line(format_args!("const {} v{} = {text};", type_of(self.dtype(v)), v.0));
        for far in self.library.take_far() {
            w.line(format_args!("far |= (uint64_t)({far});"));
        }
    }

    /// Numbers that have no literal are macros.
    fn note(&mut self, bits: u64, dtype: Dtype) {
        if cotan_ir::magnitude::of_bits(bits, dtype).is_none() {
            self.library.need("constants");
        }
    }

    fn expression(&mut self, v: Val) -> String {
        let extents = &self.nest.extents;
        match &self.nest.instrs[v.index()] {
            Instr::Const(bits) => of_bits(*bits, self.dtype(v)),
            Instr::Affine(form) => affine::value(form, extents, self.library),
            Instr::Load { buffer, at, checks } => {
                let load = format!("{}[{}]", (self.name)(*buffer), affine::place(at));
                if checks.is_empty() {
                    return load;
                }
                let checks = affine::checks(checks, extents, self.library);
                format!("({checks}) ? {load} : {}", of_bits(0, self.dtype(v)))
            }
            Instr::LoadAt { .. } if self.is_outside(v) => of_bits(0, self.dtype(v)),
            Instr::LoadAt { buffer, index } => {
                let (test, place) = self.computed(index);
                let (name, zero) = ((self.name)(*buffer), of_bits(0, self.dtype(v)));
                format!("({test}) ? {name}[{place}] : {zero}")
            }
            Instr::Op(op, args) => {
                let texts: SmallVec<[String; 3]> = args.iter().map(|&a| self.value(a)).collect();
                let texts: SmallVec<[&str; 3]> = texts.iter().map(String::as_str).collect();
                let dtypes: SmallVec<[Dtype; 3]> = args.iter().map(|&a| self.dtype(a)).collect();
                self.library.op(*op, &texts, &dtypes)
            }
            Instr::MulAdd { args, minus_product, minus_addend } => {
                self.library.need("mul_add");
                let [a, b, c] = args.map(|a| self.value(a));
                let sign = |minus: bool| if minus { "-" } else { "" };
                let (p, q) = (sign(*minus_product), sign(*minus_addend));
                format!("cotan_mul_add_{}({p}{a}, {b}, {q}{c})", suffix(self.dtype(v)))
            }
        }
    }

    /// Whether a computed index is in range, and the place it means then.
    pub(crate) fn computed(&self, index: &[Component]) -> (String, String) {
        let mut tests = Vec::with_capacity(index.len());
        let mut places = Vec::with_capacity(index.len());
        for Component { value, size, stride } in index {
            if let Some(known) = known(self.nest, *value) {
                // In range, as nobody asks for what is not.
                let place = stride.saturating_mul(known);
                places.extend((place != 0).then(|| crate::literal::integer(place)));
                continue;
            }
            let text = self.value(*value);
            tests.push(format!("((uint64_t){text} < {size}u)"));
            places.push(match stride {
                1 => format!("(ptrdiff_t){text}"),
                stride => format!("{stride} * (ptrdiff_t){text}"),
            });
        }
        let joined = |list: Vec<String>, with: &str, none: &str| match list.is_empty() {
            true => none.to_owned(),
            false => list.join(with),
        };
        (joined(tests, " & ", "true"), joined(places, " + ", "0"))
    }

    /// Whether a read is out of range everywhere: then its index does not matter.
    fn is_outside(&self, v: Val) -> bool {
        match &self.nest.instrs[v.index()] {
            Instr::LoadAt { index, .. } => is_outside(self.nest, index),
            Instr::Const(_) | Instr::Affine(_) | Instr::Load { .. } => false,
            Instr::Op(..) | Instr::MulAdd { .. } => false,
        }
    }

    /// Everything that is needed of a list of values and was not defined yet, in order.
    pub(crate) fn needed(&self, of: &[Val], defined: &dyn Fn(Val) -> bool) -> Vec<Val> {
        let mut needed: FxHashSet<Val> = FxHashSet::default();
        let mut open: Vec<Val> = of.to_vec();
        while let Some(v) = open.pop() {
            if !defined(v) && needed.insert(v) && !self.is_outside(v) {
                self.nest.instrs[v.index()].for_each_operand(|u| open.push(u));
            }
        }
        let mut needed: Vec<Val> = needed.into_iter().collect();
        needed.sort_unstable();
        needed
    }

    /// Stores what is stored besides.
    pub(crate) fn store_also(&self, w: &mut Writer) {
        for also in &self.nest.also {
            let (to, at) = ((self.name)(also.target), affine::place(&also.at));
            w.line(format_args!("{to}[{at}] = {};", self.value(also.value)));
        }
    }
}

/// The value of an integer that is a number.
fn known(nest: &Nest, v: Val) -> Option<i64> {
    match &nest.instrs[v.index()] {
        Instr::Affine(form) => form.known(),
        Instr::Const(_) | Instr::Load { .. } | Instr::LoadAt { .. } => None,
        Instr::Op(..) | Instr::MulAdd { .. } => None,
    }
}

/// Whether a computed index is known to be out of range.
pub(crate) fn is_outside(nest: &Nest, index: &[Component]) -> bool {
    index.iter().any(|component| {
        let within = |n: i64| usize::try_from(n).is_ok_and(|n| n < component.size);
        component.size == 0 || known(nest, component.value).is_some_and(|n| !within(n))
    })
}

/// Makes one instruction of a product and the sum that alone uses it: a machine that can rounds them
/// together.
pub(crate) fn fuse_products(nest: &mut Nest) {
    let mut uses = vec![0u32; nest.instrs.len()];
    nest.instrs.iter().for_each(|instr| instr.for_each_operand(|v| uses[v.index()] += 1));
    nest.for_each_written(|v| uses[v.index()] += 1);
    let factors = |nest: &Nest, v: Val| match &nest.instrs[v.index()] {
        Instr::Op(Op::Mul, args) if uses[v.index()] == 1 => Some((args[0], args[1])),
        _ => None,
    };
    for n in 0..nest.instrs.len() {
        let Instr::Op(op @ (Op::Add | Op::Sub), args) = &nest.instrs[n] else { continue };
        if !nest.dtypes[n].is_float() {
            continue;
        }
        let (x, y, minus) = (args[0], args[1], *op == Op::Sub);
        let fused = match (factors(nest, x), factors(nest, y)) {
            (Some((a, b)), _) => {
                Instr::MulAdd { args: [a, b, y], minus_product: false, minus_addend: minus }
            }
            (None, Some((a, b))) => {
                Instr::MulAdd { args: [a, b, x], minus_product: minus, minus_addend: false }
            }
            (None, None) => continue,
        };
        nest.instrs[n] = fused;
    }
}

/// The factors of what a nest sums, if nothing else uses the product.
pub(crate) fn summed_product(nest: &Nest) -> Option<(Val, Val)> {
    let Instr::Op(Op::Mul, args) = &nest.instrs[nest.value.index()] else { return None };
    let mut uses = 0;
    nest.instrs.iter().for_each(|i| i.for_each_operand(|v| uses += u32::from(v == nest.value)));
    nest.for_each_written(|v| uses += u32::from(v == nest.value));
    let sums = matches!(nest.write, Write::Sum(_)) && nest.dtypes[nest.value.index()].is_float();
    (sums && uses == 1).then(|| (args[0], args[1]))
}

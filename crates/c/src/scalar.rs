//! Scalar operations as expressions of C.

use std::collections::BTreeSet;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Real1, Real2, Rule};
use cotan_math::{Binary, Precision, Unary};

use crate::literal::suffix;
use crate::math;
use crate::runtime;

/// Functions of the runtime that call elementary ones.
const SPECIAL: [&str; 3] = ["digamma", "lgamma", "polygamma"];

/// What generated code calls: functions of the runtime, and elementary functions.
#[derive(Debug, Default)]
pub(crate) struct Library {
    runtime: BTreeSet<&'static str>,
    /// Elementary functions by the order of [`Unary::ALL`], and whether in single precision.
    unary: BTreeSet<(usize, bool)>,
    binary: BTreeSet<&'static str>,
    /// Circular functions are those for arguments up to their limits, and nothing looks at these.
    near: bool,
    /// What tells of arguments past the limits, since it was taken.
    far: Vec<String>,
}

impl Library {
    /// Notes that a function of the runtime is called.
    pub(crate) fn need(&mut self, name: &'static str) {
        self.runtime.insert(name);
    }

    /// From now on circular functions are those for arguments up to their limits, or all of them again.
    /// [`take_far`](Library::take_far) says what has to be false for that.
    pub(crate) fn set_near(&mut self, near: bool) {
        self.near = near;
    }

    /// What tells of arguments past the limits of the functions that were called.
    pub(crate) fn take_far(&mut self) -> Vec<String> {
        std::mem::take(&mut self.far)
    }

    /// Whether an operation calls a function with a limit.
    pub(crate) fn has_limit(op: Op) -> bool {
        match op.row().rule {
            Rule::Real1(Real1::Elementary(f), _) => f.limit(Precision::Double).is_some(),
            _ => false,
        }
    }

    /// A call of an elementary function.
    fn call(&mut self, f: Unary, single: bool, x: &str) -> String {
        self.unary(f, single);
        let precision = if single { Precision::Single } else { Precision::Double };
        let suffix = if single { "f32" } else { "f64" };
        match math::far(f, precision, x) {
            Some(far) if self.near => {
                self.far.push(far);
                format!("cotan_{}_near_{suffix}({x})", f.name())
            }
            Some(_) | None => format!("cotan_{}_{suffix}({x})", f.name()),
        }
    }

    fn unary(&mut self, f: Unary, single: bool) {
        if let Some(n) = Unary::ALL.iter().position(|&g| g == f) {
            self.unary.insert((n, single));
        }
        // Past the limits of a formula in single precision it is that in double precision.
        if single && f.limit(Precision::Single).is_some() {
            self.unary(f, false);
        }
        let limited = f.limit(Precision::Double).is_some();
        if !single && limited {
            self.need("large_circular");
        }
    }

    /// The text of everything that is called.
    pub(crate) fn text(&self) -> String {
        let mut names = self.runtime.clone();
        let precisions = self.unary.iter().map(|&(_, single)| single);
        for single in precisions.chain((!self.binary.is_empty()).then_some(false)) {
            names.extend(match single {
                true => ["bits_f32", "from_bits_f32", "fma_f32", "sqrt_f32", "constants"],
                false => ["bits_f64", "from_bits_f64", "fma_f64", "sqrt_f64", "constants"],
            });
        }
        // Special functions are made of elementary ones, which are made of the rest.
        let (late, early): (BTreeSet<_>, BTreeSet<_>) =
            runtime::with_needs(&names).into_iter().partition(|name| SPECIAL.contains(name));
        let mut text = runtime::text_of(&early);
        for &(n, single) in &self.unary {
            let precision = if single { Precision::Single } else { Precision::Double };
            if let Some(function) = math::large(Unary::ALL[n], precision) {
                text.push_str(&function);
                text.push('\n');
            }
            if let Some(function) = math::unary(Unary::ALL[n], precision) {
                text.push_str(&function);
                text.push('\n');
            }
        }
        for f in Binary::ALL.iter().filter(|f| self.binary.contains(f.name())) {
            if let Some(function) = math::binary(*f) {
                text.push_str(&function);
                text.push('\n');
            }
        }
        if !late.is_empty() {
            text.push_str(&runtime::text_of(&late));
        }
        text
    }

    /// An operation on expressions, which are names or literals.
    pub(crate) fn op(&mut self, op: Op, args: &[&str], dtypes: &[Dtype]) -> String {
        let dtype = dtypes.first().copied().unwrap_or(Dtype::F64);
        let float = dtype.is_float();
        let (a, b) = (args.first().copied().unwrap_or("0"), args.get(1).copied().unwrap_or("0"));
        // What is computed in double precision whatever the type, and rounded.
        let narrow = dtype == Dtype::F32;
        let rounded = |text: String| if narrow { format!("(float){text}") } else { text };
        let wide = |x: &str| if narrow { format!("(double){x}") } else { x.to_owned() };
        match op {
            Op::Add | Op::Sub | Op::Mul if float => {
                let sign = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    _ => "*",
                };
                format!("{a} {sign} {b}")
            }
            Op::Add | Op::Sub | Op::Mul => {
                self.need("i64_arithmetic");
                let name = op.name();
                format!("cotan_{name}_i64({a}, {b})")
            }
            Op::Div => format!("{a} / {b}"),
            Op::FloorDiv if float => {
                self.need("rounding");
                rounded(format!("cotan_floor_f64({} / {})", wide(a), wide(b)))
            }
            Op::FloorDiv => {
                self.need("floor_div_i64");
                format!("cotan_floor_div_i64({a}, {b})")
            }
            Op::Rem if float => {
                self.need("rem_f64");
                rounded(format!("cotan_rem_f64({}, {})", wide(a), wide(b)))
            }
            Op::Rem => {
                self.need("rem_i64");
                format!("cotan_rem_i64({a}, {b})")
            }
            Op::Neg if float => format!("-{a}"),
            Op::Neg => {
                self.need("i64_arithmetic");
                format!("cotan_sub_i64(0, {a})")
            }
            Op::Abs if float => {
                self.need(if narrow { "bits_f32" } else { "bits_f64" });
                self.need(if narrow { "from_bits_f32" } else { "from_bits_f64" });
                match narrow {
                    true => {
                        format!("cotan_from_bits_f32(cotan_bits_f32({a}) & UINT32_C(0x7fffffff))")
                    }
                    false => {
                        format!("cotan_from_bits_f64(cotan_bits_f64({a}) & ~(UINT64_C(1) << 63))")
                    }
                }
            }
            Op::Abs => {
                self.need("i64_arithmetic");
                format!("{a} < 0 ? cotan_sub_i64(0, {a}) : {a}")
            }
            Op::Sign if narrow => format!("{a} > 0.0f ? 1.0f : {a} < 0.0f ? -1.0f : {a}"),
            Op::Sign if float => format!("{a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a}"),
            Op::Sign => format!("({a} > 0) - ({a} < 0)"),
            Op::Min if float => format!("(({b} < {a}) | ({b} != {b})) ? {b} : {a}"),
            Op::Max if float => format!("(({b} > {a}) | ({b} != {b})) ? {b} : {a}"),
            Op::Min => format!("{b} < {a} ? {b} : {a}"),
            Op::Max => format!("{b} > {a} ? {b} : {a}"),
            Op::Recip if narrow => format!("1.0f / {a}"),
            Op::Recip => format!("1.0 / {a}"),
            Op::Sqrt => {
                self.need(if narrow { "sqrt_f32" } else { "sqrt_f64" });
                format!("cotan_sqrt_{}({a})", suffix(dtype))
            }
            Op::Powi => {
                self.need("powi");
                rounded(format!("cotan_powi_f64({}, {b})", wide(a)))
            }
            Op::Lgamma | Op::Digamma => {
                let name = if op == Op::Lgamma { "lgamma" } else { "digamma" };
                self.special(name);
                rounded(format!("cotan_{name}_f64({})", wide(a)))
            }
            Op::Polygamma => {
                self.special("polygamma");
                let narrow = dtypes.get(1) == Some(&Dtype::F32);
                match narrow {
                    true => format!("(float)cotan_polygamma_f64({a}, (double){b})"),
                    false => format!("cotan_polygamma_f64({a}, {b})"),
                }
            }
            Op::Scale if narrow => format!("{a} == 0.0f ? 0.0f : {a} * {b}"),
            Op::Scale => format!("{a} == 0.0 ? 0.0 : {a} * {b}"),
            Op::StrongMul if narrow => {
                format!("(({a} == 0.0f) | ({b} == 0.0f)) ? 0.0f : {a} * {b}")
            }
            Op::StrongMul => format!("(({a} == 0.0) | ({b} == 0.0)) ? 0.0 : {a} * {b}"),
            Op::StopGradient => a.to_owned(),
            Op::Floor | Op::Ceil | Op::Round | Op::Trunc => {
                self.need("rounding");
                rounded(format!("cotan_{}_f64({})", op.name(), wide(a)))
            }
            Op::Eq => format!("{a} == {b}"),
            Op::Ne => format!("{a} != {b}"),
            Op::Lt => format!("{a} < {b}"),
            Op::Le => format!("{a} <= {b}"),
            Op::Gt => format!("{a} > {b}"),
            Op::Ge => format!("{a} >= {b}"),
            Op::And => format!("{a} & {b}"),
            Op::Or => format!("{a} | {b}"),
            Op::Xor => format!("{a} ^ {b}"),
            Op::Not if dtype == Dtype::Bool => format!("!{a}"),
            Op::Not => format!("~{a}"),
            Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightZero => {
                self.need("shifts");
                format!("cotan_{}_i64({a}, {b})", op.name())
            }
            Op::Popcount | Op::Clz | Op::Ctz => {
                self.need(op.name());
                format!("cotan_{}_i64({a})", op.name())
            }
            Op::IntPow => {
                self.need("int_pow");
                format!("cotan_int_pow_i64({a}, {b})")
            }
            Op::ToBits => {
                self.need("to_bits");
                format!("cotan_to_bits({a})")
            }
            Op::FromBits => {
                self.need("from_bits_f64");
                format!("cotan_from_bits_f64((uint64_t){a})")
            }
            Op::Select => {
                let c = args.get(2).copied().unwrap_or("0");
                format!("{a} ? {b} : {c}")
            }
            Op::ToF64 => format!("(double){a}"),
            Op::ToF32 => format!("(float){a}"),
            Op::ToI64 if float => {
                self.need("to_i64");
                format!("cotan_to_i64({})", wide(a))
            }
            Op::ToI64 => format!("(int64_t){a}"),
            Op::ToBool => match dtype {
                Dtype::F32 => format!("{a} != 0.0f"),
                Dtype::F64 => format!("{a} != 0.0"),
                Dtype::I64 => format!("{a} != 0"),
                Dtype::Bool => a.to_owned(),
            },
            // An operation that is an elementary function needs nothing here.
            _ => match op.row().rule {
                Rule::Real1(Real1::Elementary(f), _) if narrow && f.has_single() => {
                    self.call(f, true, a)
                }
                Rule::Real1(Real1::Elementary(f), _) => rounded(self.call(f, false, &wide(a))),
                Rule::Real2(Real2::Elementary(f), _) => {
                    self.binary.insert(f.name());
                    rounded(format!("cotan_{}_f64({}, {})", f.name(), wide(a), wide(b)))
                }
                // A test goes through the table: the C of an operation that is forgotten here would
                // not compile.
                _ => format!("cotan_{}_without_formula({a})", op.name()),
            },
        }
    }

    /// A special function, with the elementary ones that it is made of.
    fn special(&mut self, name: &'static str) {
        self.need(name);
        self.unary(Unary::Log, false);
        self.unary(Unary::Log1p, false);
        self.unary(Unary::Sin, false);
        self.unary(Unary::Tan, false);
        self.binary.insert(Binary::Pow.name());
    }
}

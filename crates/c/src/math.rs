//! Elementary functions as C: a machine that writes down what is to be computed.

use std::cell::RefCell;
use std::fmt::Write;

use cotan_math::{Binary, Machine, Precision, Reduced, Unary};

use crate::literal::{float32, float64};

/// The name of the type of a precision in names of functions.
fn suffix(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "f64",
        Precision::Single => "f32",
    }
}

/// The definition of an elementary function of one number, called `cotan_NAME_SUFFIX`; `None` if it
/// has no formula in this precision.
///
/// Up to the limit of a formula it is `cotan_NAME_near_SUFFIX`, which has no branch, so that compilers
/// make vectors of loops that call it. Past the limit it is the same with another reduction,
/// `cotan_NAME_large_f64`.
pub(crate) fn unary(f: Unary, precision: Precision) -> Option<String> {
    let recorder = Recorder::new(precision);
    let x = recorder.named("x");
    let y = f.body(&recorder, x)?;
    let (name, suffix, real) = (f.name(), suffix(precision), recorder.real_type());
    let (body, y) = (recorder.text(), recorder.expression(y));
    let near = if f.limit(precision).is_some() { "near_" } else { "" };
    let mut text = format!(
        "static inline {real} cotan_{name}_{near}{suffix}({real} x)\n{{\n{body}    return {y};\n}}\n"
    );
    if let Some(far) = far(f, precision, "x") {
        let large = match precision {
            Precision::Double => format!("cotan_{name}_large_f64(x)"),
            Precision::Single => format!("(float)cotan_{name}_f64((double)x)"),
        };
        let _ = write!(
            text,
            "\nstatic inline {real} cotan_{name}_{suffix}({real} x)\n{{\n    if ({far})\n        \
             return {large};\n    return cotan_{name}_near_{suffix}(x);\n}}\n"
        );
    }
    Some(text)
}

/// Whether an argument is past the limit of a formula; `None` if there is none.
pub(crate) fn far(f: Unary, precision: Precision, x: &str) -> Option<String> {
    let limit = Recorder::new(precision).literal(f.limit(precision)?);
    Some(format!("({x} > {limit}) | ({x} < -{limit})"))
}

/// The definition of a circular function past the limit of its formula, `cotan_NAME_large_f64`.
pub(crate) fn large(f: Unary, precision: Precision) -> Option<String> {
    f.limit(precision)?;
    if precision == Precision::Single {
        return None;
    }
    let recorder = Recorder::new(precision);
    let [x, high, low, n] = ["x", "r.high", "r.low", "r.n"].map(|name| recorder.named(name));
    let y = f.of_reduced(&recorder, x, Reduced { high, low, n });
    let (name, body, y) = (f.name(), recorder.text(), recorder.expression(y));
    Some(format!(
        "static double cotan_{name}_large_f64(double x)\n{{\n    if (x - x != 0.0)\n        \
         return x - x;\n    const cotan_reduced r = cotan_reduce_large(x);\n{body}    \
         return {y};\n}}\n"
    ))
}

/// The definition of an elementary function of two numbers in double precision.
pub(crate) fn binary(f: Binary) -> Option<String> {
    let recorder = Recorder::new(Precision::Double);
    let (a, b) = (recorder.named("x"), recorder.named("y"));
    let value = f.body(&recorder, a, b)?;
    let (name, body, value) = (f.name(), recorder.text(), recorder.expression(value));
    Some(format!(
        "static inline double cotan_{name}_f64(double x, double y)\n{{\n{body}    return {value};\n}}\n"
    ))
}

/// A value: where its expression is in the list.
#[derive(Clone, Copy, Debug)]
struct Value(usize);

#[derive(Default)]
struct Record {
    /// Names and literals.
    expressions: Vec<String>,
    /// Definitions, a line each.
    lines: String,
    /// How many names were made.
    names: usize,
}

struct Recorder {
    precision: Precision,
    record: RefCell<Record>,
}

impl Recorder {
    fn new(precision: Precision) -> Recorder {
        Recorder { precision, record: RefCell::default() }
    }

    fn text(&self) -> String {
        self.record.borrow().lines.clone()
    }

    fn expression(&self, v: Value) -> String {
        self.record.borrow().expressions.get(v.0).cloned().unwrap_or_default()
    }

    fn named(&self, name: impl Into<String>) -> Value {
        let mut record = self.record.borrow_mut();
        record.expressions.push(name.into());
        Value(record.expressions.len() - 1)
    }

    fn real_type(&self) -> &'static str {
        match self.precision {
            Precision::Double => "double",
            Precision::Single => "float",
        }
    }

    fn bits_type(&self) -> &'static str {
        match self.precision {
            Precision::Double => "uint64_t",
            Precision::Single => "uint32_t",
        }
    }

    fn literal(&self, x: f64) -> String {
        match self.precision {
            Precision::Double => float64(x),
            Precision::Single => float32(x as f32),
        }
    }

    /// A definition.
    fn define(&self, ty: &str, expression: &str) -> Value {
        let name = {
            let mut record = self.record.borrow_mut();
            record.names += 1;
            let name = format!("t{}", record.names);
            let _ = writeln!(record.lines, "    const {ty} {name} = {expression};");
            name
        };
        self.named(name)
    }

    fn real_value(&self, expression: &str) -> Value {
        self.define(self.real_type(), expression)
    }

    fn infix(&self, ty: &str, a: Value, op: &str, b: Value) -> Value {
        self.define(ty, &format!("{} {op} {}", self.expression(a), self.expression(b)))
    }

    fn fused(&self, [a, b, c]: [String; 3]) -> Value {
        self.real_value(&format!("cotan_fma_{}({a}, {b}, {c})", suffix(self.precision)))
    }

    fn three(&self, a: Value, b: Value, c: Value) -> [String; 3] {
        [a, b, c].map(|v| self.expression(v))
    }
}

impl Machine for Recorder {
    type Real = Value;
    type Bits = Value;
    type Mask = Value;

    fn precision(&self) -> Precision {
        self.precision
    }

    fn real(&self, x: f64) -> Value {
        self.named(self.literal(x))
    }

    fn bits(&self, x: u64) -> Value {
        self.named(match self.precision {
            Precision::Double => format!("UINT64_C({x:#x})"),
            Precision::Single => format!("UINT32_C({:#x})", x as u32),
        })
    }

    fn add(&self, a: Value, b: Value) -> Value {
        self.infix(self.real_type(), a, "+", b)
    }

    fn sub(&self, a: Value, b: Value) -> Value {
        self.infix(self.real_type(), a, "-", b)
    }

    fn mul(&self, a: Value, b: Value) -> Value {
        self.infix(self.real_type(), a, "*", b)
    }

    fn div(&self, a: Value, b: Value) -> Value {
        self.infix(self.real_type(), a, "/", b)
    }

    fn sqrt(&self, a: Value) -> Value {
        let a = self.expression(a);
        self.real_value(&format!("cotan_sqrt_{}({a})", suffix(self.precision)))
    }

    fn mul_add(&self, a: Value, b: Value, c: Value) -> Value {
        self.fused(self.three(a, b, c))
    }

    fn mul_sub(&self, a: Value, b: Value, c: Value) -> Value {
        let [a, b, c] = self.three(a, b, c);
        self.fused([a, b, format!("-{c}")])
    }

    fn neg_mul_add(&self, a: Value, b: Value, c: Value) -> Value {
        let [a, b, c] = self.three(a, b, c);
        self.fused([format!("-{a}"), b, c])
    }

    fn min(&self, a: Value, b: Value) -> Value {
        let (a, b) = (self.expression(a), self.expression(b));
        self.real_value(&format!("{a} < {b} ? {a} : {b}"))
    }

    fn max(&self, a: Value, b: Value) -> Value {
        let (a, b) = (self.expression(a), self.expression(b));
        self.real_value(&format!("{a} > {b} ? {a} : {b}"))
    }

    fn bits_of(&self, a: Value) -> Value {
        let a = self.expression(a);
        let bits = format!("cotan_bits_{}({a})", suffix(self.precision));
        self.define(self.bits_type(), &bits)
    }

    fn with_bits(&self, a: Value) -> Value {
        let a = self.expression(a);
        self.real_value(&format!("cotan_from_bits_{}({a})", suffix(self.precision)))
    }

    fn bit_and(&self, a: Value, b: Value) -> Value {
        self.infix(self.bits_type(), a, "&", b)
    }

    fn bit_or(&self, a: Value, b: Value) -> Value {
        self.infix(self.bits_type(), a, "|", b)
    }

    fn bit_xor(&self, a: Value, b: Value) -> Value {
        self.infix(self.bits_type(), a, "^", b)
    }

    fn shl(&self, a: Value, n: u32) -> Value {
        self.define(self.bits_type(), &format!("{} << {n}", self.expression(a)))
    }

    fn shr(&self, a: Value, n: u32) -> Value {
        self.define(self.bits_type(), &format!("{} >> {n}", self.expression(a)))
    }

    fn int_add(&self, a: Value, b: Value) -> Value {
        self.infix(self.bits_type(), a, "+", b)
    }

    fn int_sub(&self, a: Value, b: Value) -> Value {
        self.infix(self.bits_type(), a, "-", b)
    }

    fn lt(&self, a: Value, b: Value) -> Value {
        self.infix("bool", a, "<", b)
    }

    fn le(&self, a: Value, b: Value) -> Value {
        self.infix("bool", a, "<=", b)
    }

    fn eq(&self, a: Value, b: Value) -> Value {
        self.infix("bool", a, "==", b)
    }

    fn top_bit(&self, a: Value) -> Value {
        let top = match self.precision {
            Precision::Double => 63,
            Precision::Single => 31,
        };
        self.define("bool", &format!("({} >> {top}) != 0", self.expression(a)))
    }

    fn both(&self, a: Value, b: Value) -> Value {
        self.infix("bool", a, "&", b)
    }

    fn either(&self, a: Value, b: Value) -> Value {
        self.infix("bool", a, "|", b)
    }

    fn except(&self, a: Value, b: Value) -> Value {
        let (a, b) = (self.expression(a), self.expression(b));
        self.define("bool", &format!("{a} & !{b}"))
    }

    fn select(&self, mask: Value, a: Value, b: Value) -> Value {
        let [mask, a, b] = self.three(mask, a, b);
        self.real_value(&format!("{mask} ? {a} : {b}"))
    }
}

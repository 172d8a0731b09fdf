//! Operations on tiles: one function for each operation and element type.
//!
//! The functions are compiled for several instruction sets; the best that the machine has is chosen
//! when a kernel is made. What they compute does not depend on that.

use std::cmp::Ordering;

use cotan_array::{Dtype, Element};
use cotan_ir::scalar::{Op, Real1, Real2, Rule, canonical_bits};

use crate::isa::{self, Isa};

/// A function over tiles: the target, up to three operands, the number of lanes.
type TileFunction = unsafe fn(*mut u8, *const u8, *const u8, *const u8, usize);

/// How an operation is computed on tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    /// By a function of its own.
    Tile(TileFunction),
    /// By the function of the table, on each lane.
    Real1(Dtype, fn(f64) -> f64),
    Real2(Dtype, fn(f64, f64) -> f64),
    Int1(fn(i64) -> i64),
    Int2(fn(i64, i64) -> i64),
    RealInt(Dtype, fn(f64, i64) -> f64),
    IntReal(Dtype, fn(i64, f64) -> f64),
    Bool1(fn(bool) -> bool),
    Bool2(fn(bool, bool) -> bool),
    Compare(Dtype, fn(Option<Ordering>) -> bool),
}

/// The functions: operands, result, formula.
macro_rules! rows {
    ($define:ident $($features:literal)?) => { $define! { $($features)?;
        add_f64(a: f64, b: f64) -> f64 = a + b;
        add_f32(a: f32, b: f32) -> f32 = a + b;
        add_i64(a: i64, b: i64) -> i64 = a.wrapping_add(b);
        sub_f64(a: f64, b: f64) -> f64 = a - b;
        sub_f32(a: f32, b: f32) -> f32 = a - b;
        sub_i64(a: i64, b: i64) -> i64 = a.wrapping_sub(b);
        mul_f64(a: f64, b: f64) -> f64 = a * b;
        mul_f32(a: f32, b: f32) -> f32 = a * b;
        mul_i64(a: i64, b: i64) -> i64 = a.wrapping_mul(b);
        div_f64(a: f64, b: f64) -> f64 = a / b;
        div_f32(a: f32, b: f32) -> f32 = a / b;
        neg_f64(a: f64) -> f64 = -a;
        neg_f32(a: f32) -> f32 = -a;
        neg_i64(a: i64) -> i64 = a.wrapping_neg();
        abs_f64(a: f64) -> f64 = a.abs();
        abs_f32(a: f32) -> f32 = a.abs();
        recip_f64(a: f64) -> f64 = 1.0 / a;
        recip_f32(a: f32) -> f32 = 1.0 / a;
        sqrt_f64(a: f64) -> f64 = a.sqrt();
        sqrt_f32(a: f32) -> f32 = a.sqrt();
        min_f64(a: f64, b: f64) -> f64 = if b < a || b.is_nan() { b } else { a };
        min_f32(a: f32, b: f32) -> f32 = if b < a || b.is_nan() { b } else { a };
        min_i64(a: i64, b: i64) -> i64 = a.min(b);
        max_f64(a: f64, b: f64) -> f64 = if b > a || b.is_nan() { b } else { a };
        max_f32(a: f32, b: f32) -> f32 = if b > a || b.is_nan() { b } else { a };
        max_i64(a: i64, b: i64) -> i64 = a.max(b);
        scale_f64(a: f64, b: f64) -> f64 = if a == 0.0 { 0.0 } else { a * b };
        scale_f32(a: f32, b: f32) -> f32 = if a == 0.0 { 0.0 } else { a * b };
        strong_f64(a: f64, b: f64) -> f64 = if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        strong_f32(a: f32, b: f32) -> f32 = if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        fma_f64(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c);
        fma_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c);
        fms_f64(a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, -c);
        fms_f32(a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, -c);
        fnma_f64(a: f64, b: f64, c: f64) -> f64 = (-a).mul_add(b, c);
        fnma_f32(a: f32, b: f32, c: f32) -> f32 = (-a).mul_add(b, c);
        fnms_f64(a: f64, b: f64, c: f64) -> f64 = (-a).mul_add(b, -c);
        fnms_f32(a: f32, b: f32, c: f32) -> f32 = (-a).mul_add(b, -c);
        eq_f64(a: f64, b: f64) -> bool = a == b;
        eq_f32(a: f32, b: f32) -> bool = a == b;
        eq_i64(a: i64, b: i64) -> bool = a == b;
        eq_bool(a: u8, b: u8) -> bool = a == b;
        ne_f64(a: f64, b: f64) -> bool = a != b;
        ne_f32(a: f32, b: f32) -> bool = a != b;
        ne_i64(a: i64, b: i64) -> bool = a != b;
        ne_bool(a: u8, b: u8) -> bool = a != b;
        lt_f64(a: f64, b: f64) -> bool = a < b;
        lt_f32(a: f32, b: f32) -> bool = a < b;
        lt_i64(a: i64, b: i64) -> bool = a < b;
        lt_bool(a: u8, b: u8) -> bool = a < b;
        le_f64(a: f64, b: f64) -> bool = a <= b;
        le_f32(a: f32, b: f32) -> bool = a <= b;
        le_i64(a: i64, b: i64) -> bool = a <= b;
        le_bool(a: u8, b: u8) -> bool = a <= b;
        gt_f64(a: f64, b: f64) -> bool = a > b;
        gt_f32(a: f32, b: f32) -> bool = a > b;
        gt_i64(a: i64, b: i64) -> bool = a > b;
        gt_bool(a: u8, b: u8) -> bool = a > b;
        ge_f64(a: f64, b: f64) -> bool = a >= b;
        ge_f32(a: f32, b: f32) -> bool = a >= b;
        ge_i64(a: i64, b: i64) -> bool = a >= b;
        ge_bool(a: u8, b: u8) -> bool = a >= b;
        and_bool(a: u8, b: u8) -> u8 = a & b;
        or_bool(a: u8, b: u8) -> u8 = a | b;
        xor_bool(a: u8, b: u8) -> u8 = a ^ b;
        not_bool(a: u8) -> u8 = a ^ 1;
        and_i64(a: i64, b: i64) -> i64 = a & b;
        or_i64(a: i64, b: i64) -> i64 = a | b;
        xor_i64(a: i64, b: i64) -> i64 = a ^ b;
        not_i64(a: i64) -> i64 = !a;
        select_8(c: u8, a: u64, b: u64) -> u64 = if c != 0 { a } else { b };
        select_4(c: u8, a: u32, b: u32) -> u32 = if c != 0 { a } else { b };
        select_1(c: u8, a: u8, b: u8) -> u8 = if c != 0 { a } else { b };
        copy_8(a: u64) -> u64 = a;
        copy_4(a: u32) -> u32 = a;
        copy_1(a: u8) -> u8 = a;
        f64_from_f32(a: f32) -> f64 = a.to_f64();
        f64_from_i64(a: i64) -> f64 = a.to_f64();
        f64_from_bool(a: u8) -> f64 = f64::from(a);
        f32_from_f64(a: f64) -> f32 = a.to_f32();
        f32_from_i64(a: i64) -> f32 = a.to_f32();
        f32_from_bool(a: u8) -> f32 = f32::from(a);
        i64_from_f64(a: f64) -> i64 = a.to_i64();
        i64_from_f32(a: f32) -> i64 = a.to_i64();
        i64_from_bool(a: u8) -> i64 = i64::from(a);
        bool_from_f64(a: f64) -> bool = a.to_bool();
        bool_from_f32(a: f32) -> bool = a.to_bool();
        bool_from_i64(a: i64) -> bool = a.to_bool();
    } };
}

/// One function over tiles, its operands in order from the three pointers.
macro_rules! function {
    ($(#[$meta:meta])* $name:ident($($arg:ident: $t:ty),*) -> $out:ty = $formula:expr) => {
        /// # Safety
        /// The operands have `n` elements of their types, and so has the target room.
        $(#[$meta])*
        pub(super) unsafe fn $name(
            to: *mut u8,
            a: *const u8,
            b: *const u8,
            c: *const u8,
            n: usize,
        ) {
            let [_a, _b, _c] = [a, b, c];
            function!(@bind _a _b _c; $($arg: $t),*);
            let to = to.cast::<$out>();
            for k in 0..n {
                // SAFETY: by the contract of this function.
                unsafe {
                    $(let $arg: $t = $arg.add(k).read();)*
                    to.add(k).write($formula);
                }
            }
        }
    };
    (@bind $a:ident $b:ident $c:ident; $x:ident: $t:ty) => {
        let $x = $a.cast::<$t>();
    };
    (@bind $a:ident $b:ident $c:ident; $x:ident: $t:ty, $y:ident: $u:ty) => {
        let ($x, $y) = ($a.cast::<$t>(), $b.cast::<$u>());
    };
    (@bind $a:ident $b:ident $c:ident; $x:ident: $t:ty, $y:ident: $u:ty, $z:ident: $v:ty) => {
        let ($x, $y, $z) = ($a.cast::<$t>(), $b.cast::<$u>(), $c.cast::<$v>());
    };
}

mod math;

/// The functions without any instruction set but the one that everything is compiled for.
macro_rules! define {
    (; $($name:ident($($arg:ident: $t:ty),*) -> $out:ty = $formula:expr;)*) => {
        $(function! { $name($($arg: $t),*) -> $out = $formula })*
    };
}

/// The functions with further instructions.
#[cfg(target_arch = "x86_64")]
macro_rules! define_with {
    ($features:literal; $($name:ident($($arg:ident: $t:ty),*) -> $out:ty = $formula:expr;)*) => {
        $(function! { #[target_feature(enable = $features)] $name($($arg: $t),*) -> $out = $formula })*
    };
}

/// The functions as a table.
macro_rules! table {
    (; $($name:ident($($arg:ident: $t:ty),*) -> $out:ty = $formula:expr;)*) => {
        /// The functions for one instruction set.
        struct TileFunctionTable { $($name: TileFunction),* }

        const PLAIN: TileFunctionTable = TileFunctionTable { $($name: plain::$name),* };
        #[cfg(target_arch = "x86_64")]
        const AVX2: TileFunctionTable = TileFunctionTable { $($name: avx2::$name),* };
        #[cfg(target_arch = "x86_64")]
        const AVX512: TileFunctionTable = TileFunctionTable { $($name: avx512::$name),* };
    };
}

mod plain {
    use super::Element;
    rows!(define);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::Element;
    rows!(define_with "avx2,fma,bmi1,bmi2");
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::Element;
    rows!(define_with "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2");
}

rows!(table);

fn best() -> &'static TileFunctionTable {
    functions(isa::best())
}

fn functions(isa: Isa) -> &'static TileFunctionTable {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &AVX512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &AVX2,
        _ => &PLAIN,
    }
}

impl Code {
    /// Addition.
    pub(crate) fn add(dtype: Dtype) -> Code {
        code_of(Op::Add, &[dtype, dtype])
    }
}

/// A product plus an addend, rounded once.
pub(crate) fn mul_add(dtype: Dtype, minus_product: bool, minus_addend: bool) -> Code {
    let f = best();
    let (wide, narrow) = match (minus_product, minus_addend) {
        (false, false) => (f.fma_f64, f.fma_f32),
        (false, true) => (f.fms_f64, f.fms_f32),
        (true, false) => (f.fnma_f64, f.fnma_f32),
        (true, true) => (f.fnms_f64, f.fnms_f32),
    };
    Code::Tile(if dtype == Dtype::F32 { narrow } else { wide })
}

/// How an operation is computed on operands of the given types.
pub(crate) fn code_of(op: Op, types: &[Dtype]) -> Code {
    code_by(isa::best(), op, types)
}

/// The same by instructions of choice, which the machine must have.
fn code_by(isa: Isa, op: Op, types: &[Dtype]) -> Code {
    debug_assert!(op.result_dtype(types).is_some(), "{op} is no operation on {types:?}");
    let rule = op.row().rule;
    // The first operand of a choice is a truth value, that of `polygamma` an order.
    let dtype = match rule {
        Rule::Select | Rule::IntReal(_) => types.last(),
        _ => types.first(),
    };
    let dtype = dtype.copied().unwrap_or(Dtype::F64);
    match own(functions(isa), op, dtype) {
        Some(own) => Code::Tile(own),
        None => code_by_rule(isa, rule, dtype),
    }
}

/// The one of four functions that is for elements of a type.
fn for_type(dtype: Dtype, [f64, f32, i64, bool]: [TileFunction; 4]) -> TileFunction {
    match dtype {
        Dtype::F64 => f64,
        Dtype::F32 => f32,
        Dtype::I64 => i64,
        Dtype::Bool => bool,
    }
}

/// The function that an operation has of its own, for speed only: what has none here is computed by
/// its rule.
fn own(f: &TileFunctionTable, op: Op, dtype: Dtype) -> Option<TileFunction> {
    let float =
        |wide: TileFunction, narrow: TileFunction, integer: Option<TileFunction>| match dtype {
            Dtype::F64 => Some(wide),
            Dtype::F32 => Some(narrow),
            Dtype::I64 => integer,
            Dtype::Bool => None,
        };
    let any = |f64, f32, i64, bool| Some(for_type(dtype, [f64, f32, i64, bool]));
    let logic = |bool: TileFunction, i64: TileFunction| match dtype {
        Dtype::Bool => Some(bool),
        Dtype::I64 => Some(i64),
        Dtype::F64 | Dtype::F32 => None,
    };
    match op {
        Op::Add => float(f.add_f64, f.add_f32, Some(f.add_i64)),
        Op::Sub => float(f.sub_f64, f.sub_f32, Some(f.sub_i64)),
        Op::Mul => float(f.mul_f64, f.mul_f32, Some(f.mul_i64)),
        Op::Div => float(f.div_f64, f.div_f32, None),
        Op::Neg => float(f.neg_f64, f.neg_f32, Some(f.neg_i64)),
        Op::Abs => float(f.abs_f64, f.abs_f32, None),
        Op::Recip => float(f.recip_f64, f.recip_f32, None),
        Op::Sqrt => float(f.sqrt_f64, f.sqrt_f32, None),
        Op::Min => float(f.min_f64, f.min_f32, Some(f.min_i64)),
        Op::Max => float(f.max_f64, f.max_f32, Some(f.max_i64)),
        Op::Scale => float(f.scale_f64, f.scale_f32, None),
        Op::StrongMul => float(f.strong_f64, f.strong_f32, None),
        Op::Eq => any(f.eq_f64, f.eq_f32, f.eq_i64, f.eq_bool),
        Op::Ne => any(f.ne_f64, f.ne_f32, f.ne_i64, f.ne_bool),
        Op::Lt => any(f.lt_f64, f.lt_f32, f.lt_i64, f.lt_bool),
        Op::Le => any(f.le_f64, f.le_f32, f.le_i64, f.le_bool),
        Op::Gt => any(f.gt_f64, f.gt_f32, f.gt_i64, f.gt_bool),
        Op::Ge => any(f.ge_f64, f.ge_f32, f.ge_i64, f.ge_bool),
        Op::And => logic(f.and_bool, f.and_i64),
        Op::Or => logic(f.or_bool, f.or_i64),
        Op::Xor => logic(f.xor_bool, f.xor_i64),
        Op::Not => logic(f.not_bool, f.not_i64),
        _ => None,
    }
}

/// How a row of the table is computed on elements of a type. Every kind of row has an arm, so that
/// a new row needs nothing here, and a new kind does not compile without.
fn code_by_rule(isa: Isa, rule: Rule, dtype: Dtype) -> Code {
    let f = functions(isa);
    match rule {
        Rule::Numeric1(_, f, _) if dtype == Dtype::I64 => Code::Int1(f),
        Rule::Numeric2(_, f, _) if dtype == Dtype::I64 => Code::Int2(f),
        Rule::Real1(Real1::Elementary(f), _) => Code::Tile(math::unary(isa, f, dtype)),
        Rule::Real2(Real2::Elementary(f), _) => Code::Tile(math::binary(isa, f, dtype)),
        Rule::Numeric1(f, _, _) | Rule::Real1(Real1::Rounded(f), _) => Code::Real1(dtype, f),
        Rule::Numeric2(f, _, _) | Rule::Real2(Real2::Rounded(f), _) => Code::Real2(dtype, f),
        Rule::IntReal(f) => Code::IntReal(dtype, f),
        Rule::RealInt(f, _) => Code::RealInt(dtype, f),
        Rule::Int1(f) => Code::Int1(f),
        Rule::Int2(f) => Code::Int2(f),
        // A float and its bits lie in the same eight bytes.
        Rule::ToBits => Code::Int1(canonical_bits),
        Rule::FromBits => Code::Int1(|bits| bits),
        Rule::Logic1(f, _) if dtype == Dtype::Bool => Code::Bool1(f),
        Rule::Logic2(f, _) if dtype == Dtype::Bool => Code::Bool2(f),
        Rule::Logic1(_, f) => Code::Int1(f),
        Rule::Logic2(_, f) => Code::Int2(f),
        Rule::Compare(f) => Code::Compare(dtype, f),
        Rule::Select => {
            Code::Tile(for_type(dtype, [f.select_8, f.select_4, f.select_8, f.select_1]))
        }
        Rule::Cast(to) => {
            let from = match to {
                Dtype::F64 => [f.copy_8, f.f64_from_f32, f.f64_from_i64, f.f64_from_bool],
                Dtype::F32 => [f.f32_from_f64, f.copy_4, f.f32_from_i64, f.f32_from_bool],
                Dtype::I64 => [f.i64_from_f64, f.i64_from_f32, f.copy_8, f.i64_from_bool],
                Dtype::Bool => [f.bool_from_f64, f.bool_from_f32, f.bool_from_i64, f.copy_1],
            };
            Code::Tile(for_type(dtype, from))
        }
    }
}

/// Runs an operation over `n` lanes.
///
/// # Safety
/// The operands have `n` elements of the types that the code was made for, and so has the target
/// room; the target is the first operand, or overlaps none.
pub(crate) unsafe fn run(
    code: Code,
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    c: *const u8,
    n: usize,
) {
    /// Applies `f` to each lane.
    ///
    /// # Safety
    /// As `run`.
    unsafe fn each<A, B, R>(
        to: *mut u8,
        a: *const u8,
        b: *const u8,
        n: usize,
        f: impl Fn(A, B) -> R,
    ) {
        for k in 0..n {
            // SAFETY: by the contract of `run`.
            unsafe {
                let (x, y) = (a.cast::<A>().add(k).read(), b.cast::<B>().add(k).read());
                to.cast::<R>().add(k).write(f(x, y));
            }
        }
    }
    // SAFETY: by the contract of this function; a function of one argument reads its first operand
    // twice.
    unsafe {
        match code {
            Code::Tile(f) => f(to, a, b, c, n),
            Code::Real1(Dtype::F32, f) => {
                each(to, a, a, n, |x: f32, _: f32| f(f64::from(x)) as f32);
            }
            Code::Real1(_, f) => each(to, a, a, n, |x: f64, _: f64| f(x)),
            Code::Real2(Dtype::F32, f) => {
                each(to, a, b, n, |x: f32, y: f32| f(f64::from(x), f64::from(y)) as f32);
            }
            Code::Real2(_, f) => each(to, a, b, n, |x: f64, y: f64| f(x, y)),
            Code::Int1(f) => each(to, a, a, n, |x: i64, _: i64| f(x)),
            Code::Int2(f) => each(to, a, b, n, |x: i64, y: i64| f(x, y)),
            Code::RealInt(Dtype::F32, f) => {
                each(to, a, b, n, |x: f32, y: i64| f(f64::from(x), y) as f32);
            }
            Code::RealInt(_, f) => each(to, a, b, n, |x: f64, y: i64| f(x, y)),
            Code::IntReal(Dtype::F32, f) => {
                each(to, a, b, n, |x: i64, y: f32| f(x, f64::from(y)) as f32);
            }
            Code::IntReal(_, f) => each(to, a, b, n, |x: i64, y: f64| f(x, y)),
            Code::Bool1(f) => each(to, a, a, n, |x: u8, _: u8| f(x != 0)),
            Code::Bool2(f) => each(to, a, b, n, |x: u8, y: u8| f(x != 0, y != 0)),
            Code::Compare(Dtype::F64, f) => {
                each(to, a, b, n, |x: f64, y: f64| f(x.partial_cmp(&y)));
            }
            Code::Compare(Dtype::F32, f) => {
                each(to, a, b, n, |x: f32, y: f32| f(x.partial_cmp(&y)));
            }
            Code::Compare(Dtype::I64, f) => {
                each(to, a, b, n, |x: i64, y: i64| f(Some(x.cmp(&y))));
            }
            Code::Compare(Dtype::Bool, f) => each(to, a, b, n, |x: u8, y: u8| f(Some(x.cmp(&y)))),
        }
    }
}

/// Runs `$body` with `$t` standing for an unsigned integer as large as the elements.
macro_rules! with_size {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            Dtype::F64 | Dtype::I64 => {
                type $t = u64;
                $body
            }
            Dtype::F32 => {
                type $t = u32;
                $body
            }
            Dtype::Bool => {
                type $t = u8;
                $body
            }
        }
    };
}

/// Puts one element.
///
/// # Safety
/// There is room for an element.
pub(super) unsafe fn put(dtype: Dtype, to: *mut u8, bits: u64) {
    // SAFETY: by the contract.
    with_size!(dtype, T => unsafe { to.cast::<T>().write(bits as T) })
}

/// `first`, `first + step`, ..
///
/// # Safety
/// There is room for `n` integers.
pub(super) unsafe fn ramp(to: *mut i64, first: i64, step: i64, n: usize) {
    for k in 0..n {
        // SAFETY: by the contract.
        unsafe { to.add(k).write(first.wrapping_add(step.wrapping_mul(k as i64))) };
    }
}

/// Copies the element at `from` to lane `k`, or zero.
///
/// # Safety
/// `from` is an element of `size` bytes; there is room for lane `k`.
pub(super) unsafe fn put_element(to: *mut u8, k: usize, from: Option<*mut u8>, size: usize) {
    // SAFETY: by the contract.
    unsafe {
        match from {
            Some(from) => std::ptr::copy_nonoverlapping(from, to.add(k * size), size),
            None => std::ptr::write_bytes(to.add(k * size), 0, size),
        }
    }
}

/// The element at `value` on all lanes.
///
/// # Safety
/// `value` is an element; there is room for `n`.
pub(super) unsafe fn spread(dtype: Dtype, to: *mut u8, value: *const u8, n: usize) {
    // SAFETY: by the contract.
    with_size!(dtype, T => unsafe {
        let x = value.cast::<T>().read();
        for k in 0..n {
            to.cast::<T>().add(k).write(x);
        }
    })
}

/// Zeros.
///
/// # Safety
/// There is room for so many bytes.
pub(super) unsafe fn zero(to: *mut u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { std::ptr::write_bytes(to, 0, bytes) }
}

/// Elements `step` apart, one after the other.
///
/// # Safety
/// The elements exist; there is room for `n`.
pub(super) unsafe fn strided(dtype: Dtype, to: *mut u8, from: *const u8, step: i64, n: usize) {
    // SAFETY: by the contract.
    with_size!(dtype, T => unsafe {
        let (to, from) = (to.cast::<T>(), from.cast::<T>());
        if step == 1 {
            std::ptr::copy_nonoverlapping(from, to, n);
        } else {
            for k in 0..n {
                to.add(k).write(from.offset(step as isize * k as isize).read());
            }
        }
    })
}

/// Lanes to elements `step` apart.
///
/// # Safety
/// The lanes exist; there is room for the elements.
pub(super) unsafe fn store(dtype: Dtype, to: *mut u8, step: i64, from: *const u8, n: usize) {
    // SAFETY: by the contract.
    with_size!(dtype, T => unsafe {
        let (to, from) = (to.cast::<T>(), from.cast::<T>());
        if step == 1 {
            std::ptr::copy(from, to, n);
        } else {
            for k in 0..n {
                to.offset(step as isize * k as isize).write(from.add(k).read());
            }
        }
    })
}

/// Adds lanes to elements `step` apart, one after the other.
///
/// # Safety
/// The lanes and the elements exist, are numbers, and do not overlap.
pub(super) unsafe fn add_strided(dtype: Dtype, to: *mut u8, step: i64, from: *const u8, n: usize) {
    /// # Safety
    /// As `add_strided`.
    unsafe fn each<T: Copy>(
        to: *mut u8,
        step: i64,
        from: *const u8,
        n: usize,
        add: impl Fn(T, T) -> T,
    ) {
        for k in 0..n {
            // SAFETY: by the contract.
            unsafe {
                let to = to.cast::<T>().offset(step as isize * k as isize);
                to.write(add(to.read(), from.cast::<T>().add(k).read()));
            }
        }
    }
    // SAFETY: by the contract.
    unsafe {
        match dtype {
            _ if step == 1 => run(Code::add(dtype), to, to, from, std::ptr::null(), n),
            Dtype::F64 => each(to, step, from, n, |a: f64, b| a + b),
            Dtype::F32 => each(to, step, from, n, |a: f32, b| a + b),
            Dtype::I64 => each(to, step, from, n, i64::wrapping_add),
            // Truth values are never added.
            Dtype::Bool => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::SPECIAL;
    use cotan_ir::scalar::{Scalar, cast, eval};

    fn samples(dtype: Dtype) -> Vec<Scalar> {
        SPECIAL.iter().map(|&x| cast(Scalar::F64(x), dtype)).collect()
    }

    fn bytes(xs: &[Scalar]) -> Vec<u64> {
        let mut room = vec![0u64; xs.len()];
        for (k, x) in xs.iter().enumerate() {
            let to: *mut u8 = room.as_mut_ptr().cast();
            // SAFETY: room for eight bytes an element.
            unsafe {
                match *x {
                    Scalar::F64(x) => to.cast::<f64>().add(k).write(x),
                    Scalar::F32(x) => to.cast::<f32>().add(k).write(x),
                    Scalar::I64(x) => to.cast::<i64>().add(k).write(x),
                    Scalar::Bool(x) => to.cast::<bool>().add(k).write(x),
                    Scalar::Fp(_) => {}
                }
            }
        }
        room
    }

    fn read(room: &[u64], k: usize, dtype: Dtype) -> Scalar {
        let from: *const u8 = room.as_ptr().cast();
        // SAFETY: written by a tile function.
        unsafe {
            match dtype {
                Dtype::F64 => Scalar::F64(from.cast::<f64>().add(k).read()),
                Dtype::F32 => Scalar::F32(from.cast::<f32>().add(k).read()),
                Dtype::I64 => Scalar::I64(from.cast::<i64>().add(k).read()),
                Dtype::Bool => Scalar::Bool(from.cast::<u8>().add(k).read() != 0),
            }
        }
    }

    #[test]
    fn every_operation_is_that_of_the_table() {
        for op in Op::all() {
            for typing in op.typings() {
                check(op, &typing, |isa| code_by(isa, op, &typing));
            }
        }
    }

    /// What the lists of functions leave out is computed by the kind of its row: all operations are
    /// computed so here, comparisons and logic of truth values among them.
    #[test]
    fn every_kind_of_row_is_that_of_the_table() {
        for op in Op::all() {
            for typing in op.typings() {
                let rule = op.row().rule;
                let of_result = matches!(rule, Rule::Select | Rule::IntReal(_));
                let dtype = if of_result { *typing.last().unwrap() } else { typing[0] };
                check(op, &typing, |isa| code_by_rule(isa, rule, dtype));
            }
        }
    }

    /// Compares an operation by the code for each instruction set with the table, at all special
    /// values.
    fn check(op: Op, typing: &[Dtype], code: impl Fn(Isa) -> Code) {
        let columns: Vec<Vec<Scalar>> = typing.iter().map(|&d| samples(d)).collect();
        let count = SPECIAL.len().pow(typing.len() as u32);
        let lanes: Vec<Vec<Scalar>> = (0..typing.len())
            .map(|arg| {
                let stride = SPECIAL.len().pow(arg as u32);
                (0..count).map(|n| columns[arg][n / stride % SPECIAL.len()]).collect()
            })
            .collect();
        let rooms: Vec<Vec<u64>> = lanes.iter().map(|lane| bytes(lane)).collect();
        let mut to = vec![0u64; count];
        let at = |k: usize| rooms.get(k).map_or(std::ptr::null(), |r| r.as_ptr().cast());
        let dtype = op.result_dtype(typing).unwrap();
        for isa in Isa::all() {
            // SAFETY: operands of the types, with room for the result.
            unsafe { run(code(isa), to.as_mut_ptr().cast(), at(0), at(1), at(2), count) };
            for n in 0..count {
                let args: Vec<Scalar> = lanes.iter().map(|lane| lane[n]).collect();
                let (found, wanted) = (read(&to, n, dtype), eval(op, &args).unwrap());
                assert!(found.same(wanted), "{op} {args:?} by {isa:?}: {found:?}, not {wanted:?}");
            }
        }
    }
}

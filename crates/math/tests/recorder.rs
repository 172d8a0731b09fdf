//! A machine that writes operations down: what it wrote computes the same bits.
#![allow(clippy::panic, reason = "a failed test")]

use std::cell::RefCell;

use cotan_math::{Binary, Double, Machine, Precision, Single, Unary};

/// A value of a program: the place of the step that computes it.
type Place = usize;

#[derive(Clone, Copy, Debug)]
enum Step {
    Argument(usize),
    Real(f64),
    Bits(u64),
    Add(Place, Place),
    Sub(Place, Place),
    Mul(Place, Place),
    Div(Place, Place),
    Sqrt(Place),
    MulAdd(Place, Place, Place),
    MulSub(Place, Place, Place),
    NegMulAdd(Place, Place, Place),
    Min(Place, Place),
    Max(Place, Place),
    BitsOf(Place),
    WithBits(Place),
    BitAnd(Place, Place),
    BitOr(Place, Place),
    BitXor(Place, Place),
    Shl(Place, u32),
    Shr(Place, u32),
    IntAdd(Place, Place),
    IntSub(Place, Place),
    Lt(Place, Place),
    Le(Place, Place),
    Eq(Place, Place),
    TopBit(Place),
    Both(Place, Place),
    Either(Place, Place),
    Except(Place, Place),
    Select(Place, Place, Place),
}

struct Recorder {
    precision: Precision,
    steps: RefCell<Vec<Step>>,
}

impl Recorder {
    fn new(precision: Precision) -> Recorder {
        Recorder { precision, steps: RefCell::default() }
    }

    fn step(&self, step: Step) -> Place {
        let mut steps = self.steps.borrow_mut();
        steps.push(step);
        steps.len() - 1
    }
}

/// Methods that write a step with their arguments.
macro_rules! record {
    ($($name:ident $step:ident($($arg:ident: $t:ty),*);)*) => {
        $(fn $name(&self, $($arg: $t),*) -> Place {
            self.step(Step::$step($($arg),*))
        })*
    };
}

impl Machine for Recorder {
    type Real = Place;
    type Bits = Place;
    type Mask = Place;

    fn precision(&self) -> Precision {
        self.precision
    }

    record! {
        real Real(x: f64);
        bits Bits(x: u64);
        add Add(a: Place, b: Place);
        sub Sub(a: Place, b: Place);
        mul Mul(a: Place, b: Place);
        div Div(a: Place, b: Place);
        sqrt Sqrt(a: Place);
        mul_add MulAdd(a: Place, b: Place, c: Place);
        mul_sub MulSub(a: Place, b: Place, c: Place);
        neg_mul_add NegMulAdd(a: Place, b: Place, c: Place);
        min Min(a: Place, b: Place);
        max Max(a: Place, b: Place);
        bits_of BitsOf(a: Place);
        with_bits WithBits(a: Place);
        bit_and BitAnd(a: Place, b: Place);
        bit_or BitOr(a: Place, b: Place);
        bit_xor BitXor(a: Place, b: Place);
        shl Shl(a: Place, n: u32);
        shr Shr(a: Place, n: u32);
        int_add IntAdd(a: Place, b: Place);
        int_sub IntSub(a: Place, b: Place);
        lt Lt(a: Place, b: Place);
        le Le(a: Place, b: Place);
        eq Eq(a: Place, b: Place);
        top_bit TopBit(a: Place);
        both Both(a: Place, b: Place);
        either Either(a: Place, b: Place);
        except Except(a: Place, b: Place);
        select Select(mask: Place, a: Place, b: Place);
    }
}

/// A value of the machine that plays a program.
enum Value<M: Machine> {
    Real(M::Real),
    Bits(M::Bits),
    Mask(M::Mask),
}

/// Plays a program; every step must find values of the kinds it needs.
fn play<M: Machine>(m: &M, steps: &[Step], arguments: &[M::Real]) -> M::Real {
    let mut values: Vec<Value<M>> = Vec::new();
    for &step in steps {
        let real = |k: Place| match values[k] {
            Value::Real(x) => x,
            Value::Bits(_) | Value::Mask(_) => panic!("{step:?} needs a number"),
        };
        let bits = |k: Place| match values[k] {
            Value::Bits(x) => x,
            Value::Real(_) | Value::Mask(_) => panic!("{step:?} needs bits"),
        };
        let mask = |k: Place| match values[k] {
            Value::Mask(x) => x,
            Value::Real(_) | Value::Bits(_) => panic!("{step:?} needs a truth value"),
        };
        let value = match step {
            Step::Argument(k) => Value::Real(arguments[k]),
            Step::Real(x) => Value::Real(m.real(x)),
            Step::Bits(x) => Value::Bits(m.bits(x)),
            Step::Add(a, b) => Value::Real(m.add(real(a), real(b))),
            Step::Sub(a, b) => Value::Real(m.sub(real(a), real(b))),
            Step::Mul(a, b) => Value::Real(m.mul(real(a), real(b))),
            Step::Div(a, b) => Value::Real(m.div(real(a), real(b))),
            Step::Sqrt(a) => Value::Real(m.sqrt(real(a))),
            Step::MulAdd(a, b, c) => Value::Real(m.mul_add(real(a), real(b), real(c))),
            Step::MulSub(a, b, c) => Value::Real(m.mul_sub(real(a), real(b), real(c))),
            Step::NegMulAdd(a, b, c) => Value::Real(m.neg_mul_add(real(a), real(b), real(c))),
            Step::Min(a, b) => Value::Real(m.min(real(a), real(b))),
            Step::Max(a, b) => Value::Real(m.max(real(a), real(b))),
            Step::BitsOf(a) => Value::Bits(m.bits_of(real(a))),
            Step::WithBits(a) => Value::Real(m.with_bits(bits(a))),
            Step::BitAnd(a, b) => Value::Bits(m.bit_and(bits(a), bits(b))),
            Step::BitOr(a, b) => Value::Bits(m.bit_or(bits(a), bits(b))),
            Step::BitXor(a, b) => Value::Bits(m.bit_xor(bits(a), bits(b))),
            Step::Shl(a, n) => Value::Bits(m.shl(bits(a), n)),
            Step::Shr(a, n) => Value::Bits(m.shr(bits(a), n)),
            Step::IntAdd(a, b) => Value::Bits(m.int_add(bits(a), bits(b))),
            Step::IntSub(a, b) => Value::Bits(m.int_sub(bits(a), bits(b))),
            Step::Lt(a, b) => Value::Mask(m.lt(real(a), real(b))),
            Step::Le(a, b) => Value::Mask(m.le(real(a), real(b))),
            Step::Eq(a, b) => Value::Mask(m.eq(real(a), real(b))),
            Step::TopBit(a) => Value::Mask(m.top_bit(bits(a))),
            Step::Both(a, b) => Value::Mask(m.both(mask(a), mask(b))),
            Step::Either(a, b) => Value::Mask(m.either(mask(a), mask(b))),
            Step::Except(a, b) => Value::Mask(m.except(mask(a), mask(b))),
            Step::Select(c, a, b) => Value::Real(m.select(mask(c), real(a), real(b))),
        };
        values.push(value);
    }
    match values.last() {
        Some(&Value::Real(y)) => y,
        Some(Value::Bits(_) | Value::Mask(_)) | None => panic!("a function is a number"),
    }
}

const ARGUMENTS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -0.3,
    0.7,
    2.5,
    -7.25,
    33.3,
    -700.5,
    1e-30,
    5e-324,
    1e30,
    65_536.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn record(
    precision: Precision,
    arity: usize,
    f: impl Fn(&Recorder, &[Place]) -> bool,
) -> Vec<Step> {
    let recorder = Recorder::new(precision);
    let arguments: Vec<Place> = (0..arity).map(|k| recorder.step(Step::Argument(k))).collect();
    if f(&recorder, &arguments) { recorder.steps.into_inner() } else { Vec::new() }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn what_was_recorded_computes_the_same() {
    for &f in Unary::ALL {
        let steps = record(Precision::Double, 1, |m, x| f.body(m, x[0]).is_some());
        let single = record(Precision::Single, 1, |m, x| f.body(m, x[0]).is_some());
        assert_eq!(single.is_empty(), !f.has_single(), "{}", f.name());
        let within = |x: f64, p| f.limit(p).is_none_or(|limit| x.is_nan() || x.abs() <= limit);
        for x in ARGUMENTS {
            if within(x, Precision::Double) {
                assert!(same(play(&Double, &steps, &[x]), f.f64(x)), "{} {x:e}", f.name());
            }
            if f.has_single() && within(x, Precision::Single) {
                let y = play(&Single, &single, &[x as f32]);
                assert!(same(y.into(), f.f32(x as f32).into()), "{} of f32 {x:e}", f.name());
            }
        }
    }
    for &f in Binary::ALL {
        let steps = record(Precision::Double, 2, |m, x| f.body(m, x[0], x[1]).is_some());
        for x in ARGUMENTS {
            for y in ARGUMENTS {
                let found = play(&Double, &steps, &[x, y]);
                assert!(same(found, f.f64(x, y)), "{} {x:e} {y:e}", f.name());
            }
        }
    }
}

#[test]
fn no_function_is_long() {
    // As a code generator sees it: constants are loaded once, outside of the loop.
    for &f in Unary::ALL {
        let steps = record(Precision::Double, 1, |m, x| f.body(m, x[0]).is_some());
        let constants =
            steps.iter().filter(|step| matches!(step, Step::Real(_) | Step::Bits(_))).count();
        let operations = steps.len() - constants;
        println!("{:9} {operations:3} operations, {constants:2} constants", f.name());
        assert!(operations <= 130, "{} has {operations} operations", f.name());
    }
}

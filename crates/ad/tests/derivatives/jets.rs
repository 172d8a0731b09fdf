//! An oracle of any order that shares nothing with the derivatives under test.
//!
//! A jet is an element of $R[\varepsilon_1, .., \varepsilon_n] / (\varepsilon_k^2)$: a coefficient
//! for each set of directions. At $x + \sum_k \varepsilon_k v_k$ the coefficient of all directions is
//! the derivative along $v_1, .., v_n$: the mixed Taylor coefficient. Functions are sums of powers of
//! what is nilpotent, conditions look at the value, and a branch that is not taken is not in the sum.

use std::fmt::Write;

use cotan_ir::scalar::Fp;
use cotan_testkit::Rng;

/// The numbers of a jet.
pub trait Number: Copy {
    fn of(x: f64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn positive(self) -> bool;
    /// The derivatives of a function from the 0th on.
    fn derivatives(f: Function, at: Self) -> [Self; 5];
}

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Exp,
    Sin,
    Cos,
    Tanh,
    /// A power with a whole exponent.
    Power(i32),
    /// Those that are finite above 0 only.
    Log,
    Sqrt,
    Recip,
    ThreeHalves,
}

impl Function {
    fn text(self, x: &str) -> String {
        match self {
            Function::Exp => format!("exp({x})"),
            Function::Sin => format!("sin({x})"),
            Function::Cos => format!("cos({x})"),
            Function::Tanh => format!("tanh({x})"),
            Function::Power(n) => format!("{x} ** {n}.0"),
            Function::Log => format!("log({x})"),
            Function::Sqrt => format!("sqrt({x})"),
            Function::Recip => format!("(1.0 / {x})"),
            Function::ThreeHalves => format!("{x} ** 1.5"),
        }
    }
}

/// $e (e - 1) \cdots (e - k + 1)\, x^{e - k}$ for $k = 0, .., 4$; 0 where the product is 0.
fn powers(x: f64, e: f64) -> [f64; 5] {
    let mut product = 1.0;
    std::array::from_fn(|k| {
        let d = if product == 0.0 { 0.0 } else { product * x.powf(e - k as f64) };
        product *= e - k as f64;
        d
    })
}

impl Number for f64 {
    fn of(x: f64) -> f64 {
        x
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn times(self, other: f64) -> f64 {
        self * other
    }

    fn positive(self) -> bool {
        self > 0.0
    }

    fn derivatives(f: Function, x: f64) -> [f64; 5] {
        let (s, c) = x.sin_cos();
        let t = x.tanh();
        let u = 1.0 - t * t;
        match f {
            Function::Exp => [x.exp(); 5],
            Function::Sin => [s, c, -s, -c, s],
            Function::Cos => [c, -s, -c, s, c],
            Function::Tanh => {
                [t, u, -2.0 * t * u, u * (6.0 * t * t - 2.0), t * u * (16.0 - 24.0 * t * t)]
            }
            Function::Power(n) => powers(x, f64::from(n)),
            Function::Log => [x.ln(), 1.0 / x, -x.powi(-2), 2.0 * x.powi(-3), -6.0 * x.powi(-4)],
            Function::Sqrt => powers(x, 0.5),
            Function::Recip => powers(x, -1.0),
            Function::ThreeHalves => powers(x, 1.5),
        }
    }
}

impl Number for Fp {
    fn of(x: f64) -> Fp {
        Fp::from_f64(x)
    }

    fn plus(self, other: Fp) -> Fp {
        self + other
    }

    fn times(self, other: Fp) -> Fp {
        self * other
    }

    fn positive(self) -> bool {
        self.representative() > 0
    }

    fn derivatives(f: Function, _: Fp) -> [Fp; 5] {
        panic!("{f:?} has no meaning in the field")
    }
}

/// A coefficient for each set of directions.
#[derive(Clone, Debug)]
pub struct Jet<R>(Vec<R>);

impl<R: Number> Jet<R> {
    fn constant(x: f64, order: usize) -> Jet<R> {
        let mut all = vec![R::of(0.0); 1 << order];
        all[0] = R::of(x);
        Jet(all)
    }

    /// $x + \sum_k \varepsilon_k v_k$
    pub fn variable(x: f64, along: &[f64]) -> Jet<R> {
        let mut jet = Jet::constant(x, along.len());
        along.iter().enumerate().for_each(|(k, &v)| jet.0[1 << k] = R::of(v));
        jet
    }

    pub fn value(&self) -> R {
        self.0[0]
    }

    /// The coefficient of all directions.
    pub fn last(&self) -> R {
        self.0[self.0.len() - 1]
    }

    pub fn plus(&self, other: &Jet<R>) -> Jet<R> {
        Jet(self.0.iter().zip(&other.0).map(|(&a, &b)| a.plus(b)).collect())
    }

    pub fn times(&self, other: &Jet<R>) -> Jet<R> {
        let mut product = vec![R::of(0.0); self.0.len()];
        for (a, &x) in self.0.iter().enumerate() {
            for (b, &y) in other.0.iter().enumerate().filter(|(b, _)| a & b == 0) {
                product[a | b] = product[a | b].plus(x.times(y));
            }
        }
        Jet(product)
    }

    fn apply(&self, f: Function) -> Jet<R> {
        let order = self.0.len().ilog2() as usize;
        let derivatives = R::derivatives(f, self.value());
        let mut rest = self.clone();
        rest.0[0] = R::of(0.0);
        let mut sum = Jet::constant(0.0, order);
        sum.0[0] = derivatives[0];
        let (mut power, mut factorial) = (Jet::constant(1.0, order), 1.0);
        for (k, &d) in derivatives.iter().enumerate().take(order + 1).skip(1) {
            power = power.times(&rest);
            factorial *= k as f64;
            let mut factor: Jet<R> = Jet::constant(1.0 / factorial, order);
            factor.0[0] = factor.0[0].times(d);
            sum = sum.plus(&power.times(&factor));
        }
        sum
    }
}

impl Jet<f64> {
    /// The largest coefficient.
    pub fn largest(&self) -> f64 {
        self.0.iter().fold(0.0, |most, x| if x.is_nan() { f64::NAN } else { x.abs().max(most) })
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Variable(usize),
    Constant(f64),
    Add(usize, usize),
    Mul(usize, usize),
    Neg(usize),
    Apply(Function, usize),
    /// The function of a term where that is above 0, elsewhere another term.
    AppliedAbove0(Function, usize, usize),
    /// A term where another one is above 0, elsewhere a third.
    Where(usize, usize, usize),
    Max(usize, usize),
}

/// A function of some variables, each step of earlier ones.
#[derive(Clone, Debug)]
pub struct Expression(Vec<Step>);

impl Expression {
    /// A random one; over the field without functions.
    pub fn random(variables: usize, steps: usize, exact: bool, rng: &mut Rng) -> Expression {
        let mut all: Vec<Step> = (0..variables).map(Step::Variable).collect();
        all.push(Step::Constant(rng.between(-1, 2) as f64));
        for _ in 0..steps {
            let mut any = || rng.below(all.len());
            let (a, b, c) = (any(), any(), any());
            let smooth = [Function::Exp, Function::Sin, Function::Cos, Function::Tanh];
            let singular = [Function::Log, Function::Sqrt, Function::Recip, Function::ThreeHalves];
            // In the field comparisons are others than those of constants that are known before.
            let asked = if exact { a % variables } else { a };
            all.push(match rng.below(if exact { 7 } else { 14 }) {
                0 => Step::Neg(a),
                1 | 2 => Step::Add(a, b),
                3..=5 => Step::Mul(a, b),
                6 => Step::Where(asked, b, c),
                7 => Step::Max(a, b),
                8 => Step::Apply(Function::Power(rng.between(0, 4) as i32), a),
                9..=11 => Step::Apply(*rng.pick(&smooth), a),
                _ => Step::AppliedAbove0(*rng.pick(&singular), a, b),
            });
        }
        Expression(all)
    }

    /// The text of it, for variables with these names.
    pub fn text(&self, variables: &[String]) -> String {
        let mut text = String::new();
        for (n, step) in self.0.iter().enumerate() {
            let value = match *step {
                Step::Variable(k) => variables[k].clone(),
                Step::Constant(x) => format!("{x:?}"),
                Step::Add(a, b) => format!("t{a} + t{b}"),
                Step::Mul(a, b) => format!("t{a} * t{b}"),
                Step::Neg(a) => format!("-t{a}"),
                Step::Apply(f, a) => f.text(&format!("t{a}")),
                Step::AppliedAbove0(f, a, b) => {
                    format!("where(t{a} > 0.0, {}, t{b})", f.text(&format!("t{a}")))
                }
                Step::Where(a, b, c) if n % 2 == 0 => format!("where(t{a} > 0.0, t{b}, t{c})"),
                Step::Where(a, b, c) => format!("if t{a} > 0.0 then t{b} else t{c}"),
                Step::Max(a, b) => format!("max(t{a}, t{b})"),
            };
            write!(text, "let t{n} = {value} in ").unwrap();
        }
        write!(text, "t{}", self.0.len() - 1).unwrap();
        text
    }

    /// The jets of all steps, that of the result last.
    pub fn jets<R: Number>(&self, variables: &[Jet<R>], order: usize) -> Vec<Jet<R>> {
        let mut jets: Vec<Jet<R>> = Vec::new();
        for step in &self.0 {
            let above = |a: usize| jets[a].value().positive();
            jets.push(match *step {
                Step::Variable(k) => variables[k].clone(),
                Step::Constant(x) => Jet::constant(x, order),
                Step::Add(a, b) => jets[a].plus(&jets[b]),
                Step::Mul(a, b) => jets[a].times(&jets[b]),
                Step::Neg(a) => jets[a].times(&Jet::constant(-1.0, order)),
                Step::Apply(f, a) => jets[a].apply(f),
                Step::AppliedAbove0(f, a, _) if above(a) => jets[a].apply(f),
                Step::AppliedAbove0(_, _, b) => jets[b].clone(),
                Step::Where(a, b, c) => jets[if above(a) { b } else { c }].clone(),
                // The first of equals.
                Step::Max(a, b) => {
                    let minus = jets[a].times(&Jet::constant(-1.0, order));
                    let more = jets[b].plus(&minus).value().positive();
                    jets[if more { b } else { a }].clone()
                }
            });
        }
        jets
    }
}

//! What the names in the tables stand for.

use cotan::prelude::*;

/// The variables of the tables.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Vars<F, S, I, B> {
    pub a: F,
    pub b: F,
    pub c: B,
    pub i: I,
    pub j: I,
    pub k: I,
    pub x: F,
    pub y: F,
    pub v: S,
    pub m: F,
    pub w: F,
    pub t: F,
    pub img: F,
    pub ker: F,
}

pub type Staged = Vars<Arr<f64>, Arr<f32>, Arr<i64>, Arr<bool>>;
pub type Concrete = Vars<Tensor<f64>, Tensor<f32>, Tensor<i64>, Tensor<bool>>;

/// The parameters of the text language that stand for the same.
pub const PARAMETERS: &str = "a: f64, b: f64, c: bool, i: i64, j: i64, k: [3]i64, \
    x: [3]f64, y: [3]f64, v: [3]f32, m: [2, 3]f64, w: [2, 3]f64, t: [2, 3, 4]f64, \
    img: [1, 1, 4, 4]f64, ker: [1, 1, 2, 2]f64";

/// The functions of the tables, in the text language.
pub const FUNCTIONS: &str =
    "def f(x: [3]f64): f64 = sum(x * x)\ndef g(x: [3]f64): [3]f64 = x * x\n";

pub fn f(x: Arr<f64>) -> Arr<f64> {
    (x * x).sum()
}

pub fn g(x: Arr<f64>) -> Arr<f64> {
    x * x
}

/// Values in the domains of all functions of the tables, some of which meet at borders and ties.
pub fn concrete() -> cotan::Result<Concrete> {
    let spread = |sizes: &[usize]| {
        Tensor::from_fn(sizes, |ix| {
            ix.iter().enumerate().map(|(axis, &i)| (i as f64 + 0.25) / (axis as f64 + 1.0)).sum()
        })
    };
    Ok(Vars {
        a: Tensor::from(0.5),
        b: Tensor::from(2.0),
        c: Tensor::from(true),
        i: Tensor::from(-1),
        j: Tensor::from(2),
        k: Tensor::from([1, 0, 1]),
        x: Tensor::from([0.5, 0.25, 0.75]),
        y: Tensor::from([3.0, 1.0, 2.0]),
        v: Tensor::from([0.1f32, -2.5, 1e-3]),
        m: Tensor::from([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]]),
        w: Tensor::from([[2.0, 1.0, 3.0], [5.0, 0.5, 1.5]]),
        t: spread(&[2, 3, 4])?,
        img: spread(&[1, 1, 4, 4])?,
        ker: Tensor::new([1, 1, 2, 2], vec![1.0, -2.0, 0.5, 3.0])?,
    })
}

/// The arrays in the order of the parameters.
pub fn arrays(vars: &Concrete) -> Vec<cotan_interp::Value> {
    let Vars { a, b, c, i, j, k, x, y, v, m, w, t, img, ker } = vars;
    let first = [a.as_array(), b.as_array(), c.as_array(), i.as_array(), j.as_array()];
    let rest = [k.as_array(), x.as_array(), y.as_array(), v.as_array(), m.as_array()];
    let last = [w.as_array(), t.as_array(), img.as_array(), ker.as_array()];
    first.into_iter().chain(rest).chain(last).map(cotan_interp::Value::from).collect()
}

/// Values with the expressions of the text language that have the same.
#[derive(Default)]
pub struct Same {
    /// Each expression, with the number of its arrays.
    pub texts: Vec<(&'static str, usize)>,
    pub arrays: Vec<Arr<f64>>,
}

impl Same {
    pub fn add(&mut self, text: &'static str, value: impl Flat) {
        let before = self.arrays.len();
        value.flat(&mut self.arrays);
        self.texts.push((text, self.arrays.len() - before));
    }
}

/// What entries of the tables give, as arrays of one type.
pub trait Flat {
    fn flat(self, arrays: &mut Vec<Arr<f64>>);
}

impl<T: Element> Flat for Arr<T> {
    fn flat(self, arrays: &mut Vec<Arr<f64>>) {
        arrays.push(self.cast());
    }
}

impl Flat for usize {
    fn flat(self, arrays: &mut Vec<Arr<f64>>) {
        arrays.push(constant(self as f64));
    }
}

impl<V: Flat> Flat for Vec<V> {
    fn flat(self, arrays: &mut Vec<Arr<f64>>) {
        self.into_iter().for_each(|value| value.flat(arrays));
    }
}

impl Flat for () {
    fn flat(self, _: &mut Vec<Arr<f64>>) {}
}

impl<V: Flat, W: Flat> Flat for (V, W) {
    fn flat(self, arrays: &mut Vec<Arr<f64>>) {
        self.0.flat(arrays);
        self.1.flat(arrays);
    }
}

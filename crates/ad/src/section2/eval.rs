//! Evaluators of Delta terms, from the obvious one to reverse mode: `eval_0` to `eval_3`.
//!
//! * [`eval_0`] runs the derivative forwards, in one direction. The gradient of a function of `n`
//!   inputs takes `n` runs.
//! * [`eval_1`] runs all `n` directions at once, on vectors.
//! * [`eval_2`] adds to one vector instead of making many.
//! * [`eval_3`] carries the scale factors down to the inputs, so that every step takes constant
//!   time. The factors are now multiplied from the result to the inputs: this is reverse mode.
//!
//! None of them sees sharing: a `Share` is for them what is under it, and a part that occurs twice
//! is visited twice. They agree:
//!
//! ```text
//! eval_0 d e = eval_1 d . e          eval_1 d = eval_2 d 0          eval_2 d v = eval_3 1 d v
//! ```
//!
//! An input at or beyond the end of a vector counts as zero, and its contribution is dropped.

use super::delta::{DVarName, Delta, Id, Real};

/// A node that an evaluator visits, for following its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// What is under the `Share` with this id.
    Share(Id),
    /// An input.
    Input(DVarName),
}

/// `eval_0 :: Delta -> R^n -> R`: the derivative in the direction `dir`.
pub fn eval_0<R: Real>(d: &Delta<R>, dir: &[R]) -> R {
    fold(&InDirection(dir), d)
}

/// `eval_1 :: Delta -> R^n`: the derivatives in all directions, on vectors of length `n`.
pub fn eval_1<R: Real>(d: &Delta<R>, n: usize) -> Vec<R> {
    fold(&InAllDirections(n), d)
}

/// What the constructors of a Delta term mean.
trait Meaning<R> {
    type T;
    fn zero(&self) -> Self::T;
    fn input(&self, v: DVarName) -> Self::T;
    fn add(&self, x: Self::T, y: Self::T) -> Self::T;
    fn scale(&self, r: R, x: Self::T) -> Self::T;
}

struct InDirection<'a, R>(&'a [R]);

impl<R: Real> Meaning<R> for InDirection<'_, R> {
    type T = R;

    // eval_0 Zero e = 0
    fn zero(&self) -> R {
        R::ZERO
    }

    // eval_0 (Input i) e = (the i'th component of e)
    fn input(&self, v: DVarName) -> R {
        self.0.get(v).copied().unwrap_or(R::ZERO)
    }

    // eval_0 (Add d1 d2) e = eval_0 d1 e + eval_0 d2 e
    fn add(&self, x: R, y: R) -> R {
        x.plus(y)
    }

    // eval_0 (Scale r d) e = r * eval_0 d e
    fn scale(&self, r: R, x: R) -> R {
        x.times(r)
    }
}

struct InAllDirections(usize);

impl<R: Real> Meaning<R> for InAllDirections {
    type T = Vec<R>;

    // eval_1 Zero = (0, 0, .., 0)
    fn zero(&self) -> Vec<R> {
        vec![R::ZERO; self.0]
    }

    // eval_1 (Input i) = (one-hot vector with 1 at position i)
    fn input(&self, v: DVarName) -> Vec<R> {
        let mut one_hot = self.zero();
        add_at(&mut one_hot, v, R::ONE);
        one_hot
    }

    // eval_1 (Add d1 d2) = eval_1 d1 + eval_1 d2
    fn add(&self, x: Vec<R>, y: Vec<R>) -> Vec<R> {
        x.into_iter().zip(y).map(|(x, y)| x.plus(y)).collect()
    }

    // eval_1 (Scale r d) = r * eval_1 d
    fn scale(&self, r: R, x: Vec<R>) -> Vec<R> {
        x.into_iter().map(|x| x.times(r)).collect()
    }
}

/// Interprets a term constructor by constructor, with the open ones on a stack.
fn fold<R: Real, M: Meaning<R>>(m: &M, d: &Delta<R>) -> M::T {
    enum Task<'a, R> {
        Visit(&'a Delta<R>),
        Add,
        Scale(R),
    }
    let mut tasks = vec![Task::Visit(d)];
    let mut results = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Task::Visit(Delta::Zero) => results.push(m.zero()),
            Task::Visit(Delta::Input(v)) => results.push(m.input(*v)),
            Task::Visit(Delta::Add(d1, d2)) => {
                tasks.extend([Task::Add, Task::Visit(d2), Task::Visit(d1)]);
            }
            Task::Visit(Delta::Scale(r, d)) => tasks.extend([Task::Scale(*r), Task::Visit(d)]),
            Task::Visit(Delta::Share(_, d)) => tasks.push(Task::Visit(d)),
            Task::Add => {
                if let (Some(y), Some(x)) = (results.pop(), results.pop()) {
                    results.push(m.add(x, y));
                }
            }
            Task::Scale(r) => {
                if let Some(x) = results.pop() {
                    results.push(m.scale(r, x));
                }
            }
        }
    }
    results.pop().unwrap_or_else(|| m.zero())
}

/// `eval_2 :: Delta -> R^n -> R^n`: adds the gradient to `tg`.
///
/// This is `eval_1` after a Cayley transformation: a function that adds to a vector in place of a
/// vector. The report prints `eval_2 (Scale r d) = (r *) . eval_2 d`, which multiplies what was in
/// `tg` before as well: `Add (Input 0) (Scale 3 (Input 0))` would give 6 in place of 4. So the
/// factor applies here to the contribution of `d` alone.
pub fn eval_2<R: Real>(d: &Delta<R>, tg: &mut Vec<R>) {
    enum Task<'a, R> {
        Visit(&'a Delta<R>),
        /// The contribution of a `Scale` is there: multiply it and add it to what was before.
        Scale(R, Vec<R>),
    }
    let n = tg.len();
    let mut tasks = vec![Task::Visit(d)];
    while let Some(task) = tasks.pop() {
        match task {
            // eval_2 Zero = id
            Task::Visit(Delta::Zero) => {}
            // eval_2 (Input v) = \tg -> (tg with 1 added to position v)
            Task::Visit(Delta::Input(v)) => add_at(tg, *v, R::ONE),
            // eval_2 (Add d1 d2) = eval_2 d2 . eval_2 d1
            Task::Visit(Delta::Add(d1, d2)) => {
                tasks.extend([Task::Visit(d2), Task::Visit(d1)]);
            }
            // eval_2 (Scale r d) = \tg -> tg + r * eval_2 d 0
            Task::Visit(Delta::Scale(r, d)) => {
                let before = std::mem::replace(tg, vec![R::ZERO; n]);
                tasks.extend([Task::Scale(*r, before), Task::Visit(d)]);
            }
            Task::Scale(r, before) => {
                for (x, b) in tg.iter_mut().zip(before) {
                    *x = b.plus(x.times(r));
                }
            }
            Task::Visit(Delta::Share(_, d)) => tasks.push(Task::Visit(d)),
        }
    }
}

/// `eval_3 :: R -> Delta -> R^n -> R^n`: adds `c` times the gradient to `tg`.
pub fn eval_3<R: Real>(c: R, d: &Delta<R>, tg: &mut [R]) {
    eval_3_visiting(c, d, tg, &mut |_| {});
}

/// [`eval_3`], calling `visit` on each node in the order of Fig. eval-share-visits: a node is
/// visited as often as there are paths to it.
pub fn eval_3_visiting<R: Real>(c: R, d: &Delta<R>, tg: &mut [R], visit: &mut impl FnMut(Visit)) {
    let mut stack = vec![(c, d)];
    while let Some((c, d)) = stack.pop() {
        match d {
            // eval_3 c Zero = id
            Delta::Zero => {}
            // eval_3 c (Input v) = \tg -> (tg with c added to position v)
            Delta::Input(v) => {
                visit(Visit::Input(*v));
                add_at(tg, *v, c);
            }
            // eval_3 c (Add d1 d2) = eval_3 c d2 . eval_3 c d1
            Delta::Add(d1, d2) => stack.extend([(c, &**d2), (c, &**d1)]),
            // eval_3 c (Scale r d) = eval_3 (c * r) d
            Delta::Scale(r, d) => stack.push((c.times(*r), d)),
            Delta::Share(i, d) => {
                visit(Visit::Share(*i));
                stack.push((c, d));
            }
        }
    }
}

/// `tg` with `c` added to position `v`.
fn add_at<R: Real>(tg: &mut [R], v: DVarName, c: R) {
    if let Some(x) = tg.get_mut(v) {
        *x = x.plus(c);
    }
}

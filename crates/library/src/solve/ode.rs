//! Ordinary differential equations `y' = f(t, y)`.
//!
//! The adaptive methods give the values at the given times by their interpolants, so the times do not
//! make steps shorter. The size of a step is a choice and has no derivative.
//!
//! Derivatives go through the steps (*discrete*), or come from the adjoint equation (*continuous*),
//! $$ \lambda' = -f_y^T \lambda, \qquad \mu' = -f_p^T \lambda, $$
//! solved backwards by the same method, with memory for the values at the given times only. The error
//! of a step is then that of `y`: so the rule is linear in the cotangents, and forward mode is its
//! transpose. Where the way back does not end at the state that was left, as in stiff equations whose
//! times lie far apart, there is no derivative: NaN.

use cotan_array::Dtype;
use cotan_ir::{Builder, Custom, CustomKind, Extracted, Param, Result, TermId, Type};
use cotan_pipeline::Derivative;

use super::{
    Closed, Packing, Stop, call, dot, epsilon, length, lu, run_while, terms, unless_failed, vector,
};
use crate::arrange::{concatenated, stacked};
use crate::context::Context;
use crate::reduce::{largest, over};
use crate::term::Term;

/// How a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// So many steps of Euler's method between two times.
    Euler(usize),
    /// So many steps of the classical method of order 4 between two times.
    Rk4(usize),
    /// Dormand and Prince's pair of orders 5 and 4, with steps as long as the tolerance allows.
    Dopri5,
    /// Shampine and Reichelt's linearly implicit pair of orders 2 and 3, for stiff equations: a
    /// Jacobian and a linear system a step, and no iteration.
    Rosenbrock,
}

impl Method {
    /// The method of a name, with the number of steps of those that take one.
    pub fn from_name(name: &str, steps: usize) -> Option<Method> {
        match name {
            "euler" => Some(Method::Euler(steps)),
            "rk4" => Some(Method::Rk4(steps)),
            "dopri5" => Some(Method::Dopri5),
            "rosenbrock" => Some(Method::Rosenbrock),
            _ => None,
        }
    }
}

/// How an equation is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ode {
    /// How a step is made.
    pub method: Method,
    /// The error of a step relative to `1 + |y|` (1e-8 of f64 and 1e-5 of f32 if not given), and the
    /// most steps of the adaptive methods from one time to the next (1000).
    pub stop: Stop,
    /// Whether derivatives come from the adjoint equation.
    pub continuous: bool,
}

impl Ode {
    /// What the error of a step is measured by.
    fn tolerance(&self, dtype: Dtype) -> f64 {
        let default = if dtype == Dtype::F32 { 1e-5 } else { 1e-8 };
        self.stop.tolerance.unwrap_or(default)
    }

    /// Whether a state that was found backwards is the one that was left: to half of the digits that
    /// the tolerance has, for methods that have one. What decays fast grows as fast backwards, and
    /// there the adjoint equation has no solution that can be found.
    fn comes_back<'c>(&self, found: Term<'c>, left: Term<'c>) -> Term<'c> {
        let c = found.context();
        match self.method {
            Method::Euler(_) | Method::Rk4(_) => c.number(1.0, Dtype::Bool),
            Method::Dopri5 | Method::Rosenbrock => {
                let apart = (found - left).abs() / (left.abs() + 1.0);
                over(apart, &[0], largest).le(self.tolerance(left.dtype()).sqrt())
            }
        }
    }
}

/// The right side with what the methods need of it.
struct Side {
    f: Closed,
    /// Derivatives by time and by the state.
    linear: Option<(Closed, Closed)>,
    /// The number of elements whose error counts.
    counted: usize,
}

impl Side {
    fn new(c: &Context, f: Closed, method: Method, counted: usize) -> Option<Side> {
        let linear = match method {
            Method::Rosenbrock => Some((
                f.derived(c, Derivative::JacFwd, &[0])?,
                f.derived(c, Derivative::JacFwd, &[1])?,
            )),
            Method::Euler(_) | Method::Rk4(_) | Method::Dopri5 => None,
        };
        Some(Side { f, linear, counted })
    }

    fn at<'c>(&self, c: &'c Context, t: Term<'c>, y: Term<'c>) -> Term<'c> {
        self.f.at(c, &[t, y])
    }

    /// The size of an error of a step from `y` to `z`, where 1 is allowed.
    fn error<'c>(&self, error: Term<'c>, y: Term<'c>, z: Term<'c>, tolerance: f64) -> Term<'c> {
        let counted = |x: Term<'c>| x.along(0, self.counted, |i| i).stop_gradient();
        let scale = (counted(y).abs().maximum(counted(z).abs()) + 1.0) * tolerance;
        let n = (self.counted.max(1) as f64).sqrt();
        length(counted(error) / scale) / n
    }
}

/// A step from `t` and `y`: the next state and the derivative there, the error, and what is added to
/// a straight line between, `s (1 - s) (b0 + s (b1 + (1 - s) b2))`.
struct Step<'c> {
    next: Term<'c>,
    slope: Term<'c>,
    error: Term<'c>,
    bend: [Term<'c>; 3],
}

const DOPRI: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const DOPRI_TIMES: [f64; 6] = [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const DOPRI_ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];
const DOPRI_DENSE: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

fn combined<'c>(ks: &[Term<'c>], factors: &[f64]) -> Term<'c> {
    let parts = ks.iter().zip(factors).filter(|(_, factor)| **factor != 0.0);
    let sum = parts.map(|(&k, &factor)| k * factor).reduce(|a, b| a + b);
    sum.unwrap_or_else(|| ks[0].zeros())
}

fn dopri_step<'c>(
    c: &'c Context,
    side: &Side,
    (t, y, k1, h): (Term<'c>, Term<'c>, Term<'c>, Term<'c>),
) -> Step<'c> {
    let (mut ks, mut next) = (vec![k1], y);
    for (factors, time) in DOPRI.into_iter().zip(DOPRI_TIMES) {
        next = y + h * combined(&ks, factors);
        ks.push(side.at(c, t + h * time, next));
    }
    let slope = ks[6];
    let change = next - y;
    let first = h * k1 - change;
    let bend = [first, change - h * slope - first, h * combined(&ks, &DOPRI_DENSE)];
    Step { next, slope, error: h * combined(&ks, &DOPRI_ERROR), bend }
}

fn rosenbrock_step<'c>(
    c: &'c Context,
    side: &Side,
    (t, y, f0, h): (Term<'c>, Term<'c>, Term<'c>, Term<'c>),
) -> Step<'c> {
    let d = 1.0 / (2.0 + std::f64::consts::SQRT_2);
    let e32 = 6.0 + std::f64::consts::SQRT_2;
    let Some((by_time, by_state)) = &side.linear else {
        return Step { next: y, slope: f0, error: y, bend: [y; 3] };
    };
    let n = y.size();
    let dtype = y.dtype();
    let one = c.make(|b| b.identity(dtype, &[], n));
    let matrix = one - by_state.at(c, &[t, y]) * (h * d);
    let drift = by_time.at(c, &[t, y]) * (h * d);
    let k1 = lu(matrix, f0 + drift);
    let f1 = side.at(c, t + h * 0.5, y + k1 * (h * 0.5));
    let k2 = lu(matrix, f1 - k1) + k1;
    let next = y + k2 * h;
    let slope = side.at(c, t + h, next);
    let k3 = lu(matrix, slope - (k2 - f1) * e32 - (k1 - f0) * 2.0 + drift);
    let none = y.zeros();
    Step {
        next,
        slope,
        error: (k1 - k2 * 2.0 + k3) * (h / 6.0),
        bend: [(k1 - k2) * (h / (1.0 - 2.0 * d)), none, none],
    }
}

/// The states at all times, the first of which is that of `y0`.
fn trajectory<'c>(
    c: &'c Context,
    side: &Side,
    y0: Term<'c>,
    times: Term<'c>,
    ode: &Ode,
) -> Term<'c> {
    match ode.method {
        Method::Euler(steps) => {
            fixed(c, side, y0, times, steps, |c, side, t, y, h| y + h * side.at(c, t, y))
        }
        Method::Rk4(steps) => fixed(c, side, y0, times, steps, |c, side, t, y, h| {
            let half = h * 0.5;
            let k1 = side.at(c, t, y);
            let k2 = side.at(c, t + half, y + k1 * half);
            let k3 = side.at(c, t + half, y + k2 * half);
            let k4 = side.at(c, t + h, y + k3 * h);
            y + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
        }),
        Method::Dopri5 => adaptive(c, side, y0, times, ode, 5.0, dopri_step),
        Method::Rosenbrock => adaptive(c, side, y0, times, ode, 3.0, rosenbrock_step),
    }
}

fn after_first<'c>(times: Term<'c>) -> Term<'c> {
    times.along(0, times.len().saturating_sub(1), |i| i + 1i64)
}

/// The first row before others.
fn with_first<'c>(c: &'c Context, first: Term<'c>, rest: Term<'c>) -> Term<'c> {
    concatenated(c, &[first.replicate_all(&[1]), rest], 0)
}

type FixedStep = for<'c> fn(&'c Context, &Side, Term<'c>, Term<'c>, Term<'c>) -> Term<'c>;

fn fixed<'c>(
    c: &'c Context,
    side: &Side,
    y0: Term<'c>,
    times: Term<'c>,
    steps: usize,
    step: FixedStep,
) -> Term<'c> {
    let numbers = c.iota(steps).cast(y0.dtype());
    let made = Term::run_loop(false, &[times.nth(0), y0], &[after_first(times)], |s, x| {
        let (t, end) = (s[0], x[0]);
        let h = (end - t) / steps.max(1) as f64;
        let inner = Term::run_loop(false, &[s[1]], &[numbers], |s, k| {
            vec![step(c, side, t + h * k[0], s[0], h)]
        });
        let y = inner.first().copied().unwrap_or(s[1]);
        vec![end, y, y]
    });
    match made.get(2) {
        Some(&rest) => with_first(c, y0, rest),
        None => y0.nothing(),
    }
}

type AdaptiveStep =
    for<'c> fn(&'c Context, &Side, (Term<'c>, Term<'c>, Term<'c>, Term<'c>)) -> Step<'c>;

fn adaptive<'c>(
    c: &'c Context,
    side: &Side,
    y0: Term<'c>,
    times: Term<'c>,
    ode: &Ode,
    order: f64,
    step: AdaptiveStep,
) -> Term<'c> {
    let dtype = y0.dtype();
    let tolerance = ode.tolerance(dtype);
    let at_most = ode.stop.at_most(1000);
    let (start, end) = (times.nth(0), times.nth(times.len().saturating_sub(1)).stop_gradient());
    let span = end - start.stop_gradient();
    let forwards = span.ge(0.0).choose(y0.number(1.0), -1.0);
    let slope = side.at(c, start, y0);
    // A step along which the state changes by a hundredth, or a hundredth of the way.
    let change = side.error(slope, y0, y0, 1.0) * 100.0;
    let guess = change.gt(0.0).choose(y0.number(1.0) / change, span.abs() * 0.01);
    let h = (guess.minimum(span.abs()) * forwards).stop_gradient();
    let none = y0.zeros();
    let zero = y0.number(0.0);
    // The last step: its start, length, state and change; where it ended, and the next length.
    let init = [start, zero, y0, none, none, none, none, start, y0, slope, h, c.int(0)];
    let made = Term::run_loop(false, &init, &[times], |s, x| {
        let target = x[0];
        let rounding = (target.abs() + s[7].abs()) * (8.0 * epsilon(dtype));
        let mut state = s.to_vec();
        state[11] = c.int(0);
        let last = run_while(c, at_most, &state, |s| {
            let (t, y, slope, h) = (s[7], s[8], s[9], s[10]);
            let ahead = ((target - t) * forwards).stop_gradient();
            let rest = (end - t).stop_gradient();
            let h = (rest.abs().lt(h.abs())).choose(rest, h).stop_gradient();
            let made = step(c, side, (t, y, slope, h));
            let error = side.error(made.error, y, made.next, tolerance);
            let taken = error.le(1.0);
            let factor = (error.maximum(1e-10).pow(-1.0 / order) * 0.9).minimum(5.0).maximum(0.2);
            let factor = error.lt(f64::INFINITY).choose(factor, 0.2);
            let next = [t, h, y, made.next - y, made.bend[0], made.bend[1], made.bend[2]];
            let next = next.into_iter().chain([t + h, made.next, made.slope]);
            let mut next: Vec<Term<'c>> =
                next.zip(s).map(|(new, &old)| taken.choose(new, old)).collect();
            next.extend([(h * factor).stop_gradient(), s[11] + 1i64]);
            (ahead.gt(rounding.stop_gradient()), next)
        });
        let (t, length) = (last[0], last[1]);
        let moved = length.ne(0.0);
        let part = (target - t) / moved.choose(length, 1.0);
        let bent = last[4] + part * (last[5] + (part.number(1.0) - part) * last[6]);
        let y = last[2] + part * (last[3] + (part.number(1.0) - part) * bent);
        let reached = ((target - last[7]) * forwards).le(rounding) & part.ge(-1e-9);
        let mut results = last;
        results.push(unless_failed(reached, y));
        results
    });
    made.last().copied().unwrap_or_else(|| y0.nothing())
}

/// `y` at the times, from `y0` at the first of them, for each array of the structure with one more
/// outermost axis. NaN from the time on that is not reached in as many steps as are allowed, and where
/// times are not in order.
pub fn odeint(
    b: &mut Builder,
    f: &Extracted,
    y0: &[TermId],
    times: TermId,
    ode: Ode,
) -> Result<Vec<TermId>> {
    call(b, "odeint", |c| {
        let (y0, times) = (terms(c, y0), c.term(times));
        let packing = Packing::new(c, &y0);
        if times.rank() != 1 || times.len() == 0 || times.dtype() != packing.dtype {
            let message = format!("the times are {}", times.shown());
            let hint = "they are a vector of at least one time, of the element type of the state";
            c.wrong(message, hint);
            return None;
        }
        let time = Type::scalar(packing.dtype);
        let f = Closed::packed(c, f, std::slice::from_ref(&time), &packing, Some(&packing))?;
        let y0 = packing.pack(c, &y0);
        let states = match ode.continuous {
            false => {
                let side = Side::new(c, f, ode.method, packing.len())?;
                trajectory(c, &side, y0, times, &ode)
            }
            true => by_adjoint(c, &f, &packing, y0, times, &ode)?,
        };
        Some(packing.unpack(states))
    })
}

/// The trajectory with the adjoint equation for its rule.
fn by_adjoint<'c>(
    c: &'c Context,
    f: &Closed,
    packing: &Packing,
    y0: Term<'c>,
    times: Term<'c>,
    ode: &Ode,
) -> Option<Term<'c>> {
    let captures = f.captures(c);
    let args: Vec<Term<'c>> = [&[y0, times][..], &captures].concat();
    let count = times.len();
    let mut params: Vec<Param> = Vec::new();
    for x in &args {
        params.push(Param::Value(x.ty()?));
    }
    let n = packing.len();
    let shape = cotan_array::Shape::new("odeint", &[count, n]).ok()?;
    params.push(Param::Value(Type::new(packing.dtype, shape)));
    let adjoint = Adjoint::new(c, f, packing, &captures)?;
    let region = c.region(&params, |vars| {
        let [y0, times, rest @ ..] = vars else { return Vec::new() };
        let Some((cotangents, captures)) = rest.split_last() else { return Vec::new() };
        let made = adjoint.function(c, f, captures, ode).map(|side| {
            let states = trajectory(c, &side, *y0, *times, ode);
            let given = adjoint.rule(c, (f, captures), (states, *times), *cotangents, ode);
            std::iter::once(states).chain(given.unwrap_or_default()).collect()
        });
        made.unwrap_or_default()
    })?;
    let ids: Option<Vec<TermId>> = args.iter().map(|x| x.id()).collect();
    let args = ids?.into();
    Some(c.make(|b| {
        let node = b.custom(Custom { kind: CustomKind::Vjp, args, outputs: 1, region })?;
        b.result(node, 0)
    }))
}

/// The adjoint equation.
struct Adjoint {
    /// `(-t, (y, lambda, mu))` to its derivative by `-t`.
    backwards: Closed,
    /// How the float captures lie in one vector, if there are some.
    params: Packing,
    /// The positions of the float captures.
    floats: Vec<usize>,
    n: usize,
}

impl Adjoint {
    fn new<'c>(
        c: &'c Context,
        f: &Closed,
        packing: &Packing,
        captures: &[Term<'c>],
    ) -> Option<Adjoint> {
        let dtype = packing.dtype;
        let is_float = |k: &usize| captures[*k].dtype().is_float();
        let floats: Vec<usize> = (0..captures.len()).filter(is_float).collect();
        let parts = floats.iter().map(|&k| captures[k].dims()).collect();
        let params = Packing { dtype, parts };
        let wrt: Vec<usize> = std::iter::once(1).chain(floats.iter().map(|k| k + 2)).collect();
        let pulled = f.derived(c, Derivative::Vjp, &wrt)?;
        let n = packing.len();
        let inputs = [Type::scalar(dtype), vector(dtype, 2 * n + params.len())];
        let backwards = Closed::new(c, &inputs, &f.0, |d, own, captures| {
            let [t, z] = own else { return Vec::new() };
            let (t, part) = (-*t, |from: usize| z.along(0, n, |i| i.affine(1, from as i64)));
            let all = pulled.all(d, &[t, part(0)], captures, &[part(n)]);
            let [value, by_state, by_params @ ..] = &all[..] else { return Vec::new() };
            let cast: Vec<Term<'_>> = by_params.iter().map(|x| x.cast(dtype)).collect();
            let mut parts = vec![-*value, *by_state];
            if !cast.is_empty() {
                parts.push(params.pack(d, &cast));
            }
            vec![concatenated(d, &parts, 0)]
        })?;
        Some(Adjoint { backwards, params, floats, n })
    }

    /// The right side of the equation with other captures.
    fn function<'c>(
        &self,
        c: &'c Context,
        f: &Closed,
        captures: &[Term<'c>],
        ode: &Ode,
    ) -> Option<Side> {
        Side::new(c, f.with(captures)?, ode.method, self.n)
    }

    /// Cotangents of the first state, of the times, and of the float captures.
    fn rule<'c>(
        &self,
        c: &'c Context,
        (f, captures): (&Closed, &[Term<'c>]),
        (states, times): (Term<'c>, Term<'c>),
        cotangents: Term<'c>,
        ode: &Ode,
    ) -> Option<Vec<Term<'c>>> {
        let (n, f) = (self.n, f.with(captures)?);
        let side = Side::new(c, self.backwards.with(captures)?, ode.method, n)?;
        let zero = states.nth(0) - states.nth(0);
        let none = c.full(&[self.params.len()], 0.0, states.dtype());
        let steps = times.len().saturating_sub(1);
        let before = times.along(0, steps, |i| i);
        let arrived = [after_first(times), after_first(states), after_first(cotangents)];
        let left = states.along(0, steps, |i| i);
        let inputs = [&[before], &arrived[..], &[left]].concat();
        let made = Term::run_loop(true, &[zero, none], &inputs, |s, x| {
            let (from, to, y) = (x[1], x[0], x[2]);
            let carried = s[0] + x[3];
            let z = concatenated(c, &[y, carried, s[1]], 0);
            let ends = trajectory(c, &side, z, stacked(c, &[-from, -to]), ode).nth(1);
            let part =
                |first: usize, size: usize| ends.along(0, size, |i| i.affine(1, first as i64));
            let by_time = dot(x[3], f.at(c, &[from, y]));
            let back = ode.comes_back(part(0, n), x[4]);
            let sums = [part(n, n), part(2 * n, self.params.len())];
            let [carried, params] = sums.map(|sum| unless_failed(back, sum));
            vec![carried, params, by_time]
        });
        let [carried, params, by_times] = made[..] else { return None };
        // The values move with the times where they are asked for, and against the first time.
        let first = -dot(carried, f.at(c, &[times.nth(0), states.nth(0)]));
        let by_times = concatenated(c, &[first.reshape(&[1]), by_times], 0);
        let mut given = vec![carried + cotangents.nth(0), by_times];
        let params = self.params.unpack(params);
        given.extend(self.floats.iter().zip(params).map(|(&k, x)| x.cast(captures[k].dtype())));
        Some(given)
    }
}

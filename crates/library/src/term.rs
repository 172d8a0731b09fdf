//! Arrays of the program that is being made, with operators.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Rem, Sub};

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Param, RegionId, TermId, Type, broadcast_dims};

use crate::context::{Context, Fact};

/// Shapes that fit, in words.
pub(crate) const FIT: &str =
    "shapes fit when, from the last axis back, sizes are equal, 1 or missing";

/// An array of the program that is being made; nothing after an error.
#[derive(Clone, Copy, Debug)]
pub struct Term<'c> {
    c: &'c Context,
    t: Option<TermId>,
}

/// What may stand beside a term in an expression: another, or a number of its element type.
pub(crate) trait Operand<'c> {
    fn beside(self, x: Term<'c>) -> Term<'c>;
}

impl<'c> Operand<'c> for Term<'c> {
    fn beside(self, _: Term<'c>) -> Term<'c> {
        self
    }
}

impl<'c> Operand<'c> for f64 {
    fn beside(self, x: Term<'c>) -> Term<'c> {
        x.c.number(self, x.dtype())
    }
}

impl<'c> Operand<'c> for i64 {
    fn beside(self, x: Term<'c>) -> Term<'c> {
        match x.dtype() {
            Dtype::I64 => x.c.int(self),
            dtype => x.c.number(self as f64, dtype),
        }
    }
}

impl<'c> Operand<'c> for usize {
    fn beside(self, x: Term<'c>) -> Term<'c> {
        i64::try_from(self).unwrap_or(i64::MAX).beside(x)
    }
}

impl<'c> Term<'c> {
    pub(crate) fn new(c: &'c Context, t: Option<TermId>) -> Term<'c> {
        Term { c, t }
    }

    /// Nothing, as after an error.
    pub(crate) fn nothing(self) -> Term<'c> {
        Term { t: None, ..self }
    }

    /// The term; `None` after an error.
    pub fn id(self) -> Option<TermId> {
        self.t
    }

    pub(crate) fn context(self) -> &'c Context {
        self.c
    }

    // ---- types --------------------------------------------------------------------------------

    /// The sizes of the axes; none after an error.
    pub(crate) fn dims(self) -> Vec<usize> {
        self.t.map_or_else(Vec::new, |t| self.c.read(|b| b.shape(t).dims().to_vec()))
    }

    pub(crate) fn rank(self) -> usize {
        self.t.map_or(0, |t| self.c.read(|b| b.shape(t).rank()))
    }

    /// The number of elements.
    pub(crate) fn size(self) -> usize {
        self.t.map_or(1, |t| self.c.read(|b| b.shape(t).numel()))
    }

    /// The size of the outermost axis.
    pub(crate) fn len(self) -> usize {
        self.dims().first().copied().unwrap_or(0)
    }

    pub(crate) fn dtype(self) -> Dtype {
        self.t.map_or(Dtype::F64, |t| self.c.read(|b| b.dtype(t)))
    }

    /// The type, for messages.
    pub(crate) fn shown(self) -> String {
        self.t.map_or_else(|| "nothing".to_owned(), |t| self.c.read(|b| b.ty(t).to_string()))
    }

    pub(crate) fn ty(self) -> Option<Type> {
        self.t.map(|t| self.c.read(|b| b.ty(t).clone()))
    }

    // ---- making -------------------------------------------------------------------------------

    /// A term made of this one.
    pub(crate) fn map(
        self,
        f: impl FnOnce(&mut Builder, TermId) -> cotan_ir::Result<TermId>,
    ) -> Term<'c> {
        match self.t {
            Some(t) => self.c.make(|b| f(b, t)),
            None => self,
        }
    }

    /// Zeros of the same shape and type.
    pub(crate) fn zeros(self) -> Term<'c> {
        self.context().full(&self.dims(), 0.0, self.dtype())
    }

    /// A number of this element type.
    pub(crate) fn number(self, x: f64) -> Term<'c> {
        self.c.number(x, self.dtype())
    }

    /// The least and the greatest number of this element type; infinities of floats.
    pub(crate) fn bound(self, extreme: Extreme) -> Term<'c> {
        let max = extreme == Extreme::Max;
        match self.dtype() {
            Dtype::I64 => self.c.int(if max { i64::MIN } else { i64::MAX }),
            Dtype::Bool => self.c.number(if max { 0.0 } else { 1.0 }, Dtype::Bool),
            dtype => self.c.number(if max { f64::NEG_INFINITY } else { f64::INFINITY }, dtype),
        }
    }

    /// A scalar operation, element by element, on arrays that fit.
    pub(crate) fn op(op: Op, operands: &[Term<'c>]) -> Term<'c> {
        let first = operands[0];
        let mut common: Vec<usize> = Vec::new();
        for (n, x) in operands.iter().enumerate() {
            let dims = x.dims();
            match broadcast_dims(&common, &dims) {
                Some(wider) => common = wider,
                None => {
                    let before = operands.iter().take(n).rev();
                    let other = before
                        .copied()
                        .find(|y| broadcast_dims(&y.dims(), &dims).is_none())
                        .unwrap_or(first);
                    first.c.note(Fact::UnlessBroadcast(other.dims(), dims));
                    let message =
                        format!("shapes that do not fit: {} and {}", other.shown(), x.shown());
                    return first.c.wrong(message, FIT);
                }
            }
        }
        let terms: Option<Vec<TermId>> = operands.iter().map(|x| x.t).collect();
        let Some(terms) = terms else { return first.nothing() };
        first.c.make(|b| {
            let mut spread = Vec::with_capacity(terms.len());
            for &t in &terms {
                spread.push(b.broadcast_to(t, &common)?);
            }
            b.op(op, &spread)
        })
    }

    pub(crate) fn unary(self, op: Op) -> Term<'c> {
        Term::op(op, &[self])
    }

    pub(crate) fn binary(self, op: Op, other: impl Operand<'c>) -> Term<'c> {
        Term::op(op, &[self, other.beside(self)])
    }

    /// `yes` where this holds, `no` elsewhere; a number takes the element type of the other.
    pub(crate) fn choose(self, yes: Term<'c>, no: impl Operand<'c>) -> Term<'c> {
        Term::op(Op::Select, &[self, yes, no.beside(yes)])
    }

    pub(crate) fn cast(self, dtype: Dtype) -> Term<'c> {
        match dtype {
            _ if dtype == self.dtype() => self,
            Dtype::F64 => self.unary(Op::ToF64),
            Dtype::F32 => self.unary(Op::ToF32),
            Dtype::I64 => self.unary(Op::ToI64),
            Dtype::Bool => self.unary(Op::ToBool),
        }
    }

    // ---- arranging ----------------------------------------------------------------------------

    /// Repeated along new leading axes.
    pub(crate) fn replicate_all(self, dims: &[usize]) -> Term<'c> {
        self.map(|b, t| dims.iter().rev().try_fold(t, |t, &k| b.replicate(k, t)))
    }

    /// The same elements in another shape of as many.
    pub(crate) fn reshape(self, dims: &[usize]) -> Term<'c> {
        match self.dims() == dims {
            true => self,
            false => self.map(|b, t| b.reshape(dims, t)),
        }
    }

    /// Axis `n` of the result is axis `order[n]`.
    pub(crate) fn permute(self, order: &[usize]) -> Term<'c> {
        self.map(|b, t| b.permute(t, order))
    }

    /// With its axes at the given places of a larger shape.
    pub(crate) fn spread(self, places: &[usize], dims: &[usize]) -> Term<'c> {
        self.map(|b, t| b.spread(t, places, dims))
    }

    /// Stretched to a shape; `what` it is, for the message.
    pub(crate) fn fit(self, what: &str, dims: &[usize]) -> Term<'c> {
        let own = self.dims();
        let fits = own.len() <= dims.len()
            && own.iter().rev().zip(dims.iter().rev()).all(|(&j, &k)| j == k || j == 1);
        if !fits {
            if own.len() <= dims.len() {
                self.c.note(Fact::UnlessStretches(own, dims.to_vec()));
            }
            let message = format!("{what} is {} and does not fit {dims:?}", self.shown());
            let hint = "from the last axis back, its sizes must be equal, 1 or missing";
            return self.c.wrong(message, hint);
        }
        self.map(|b, t| b.broadcast_to(t, dims))
    }

    /// With so many axes of size 1 after the others.
    pub(crate) fn column(self, after: usize) -> Term<'c> {
        let dims: Vec<usize> =
            self.dims().into_iter().chain(std::iter::repeat_n(1, after)).collect();
        self.reshape(&dims)
    }

    /// With one axis outermost, the others in order.
    pub(crate) fn fronted(self, axis: usize) -> Term<'c> {
        let rest = (0..self.rank()).filter(|&k| k != axis);
        self.permute(&std::iter::once(axis).chain(rest).collect::<Vec<_>>())
    }

    /// With the outermost axis at another place.
    pub(crate) fn restored(self, axis: usize) -> Term<'c> {
        let place = |k: usize| match k {
            k if k < axis => k + 1,
            k if k == axis => 0,
            k => k,
        };
        self.permute(&(0..self.rank()).map(place).collect::<Vec<_>>())
    }

    // ---- reading ------------------------------------------------------------------------------

    /// The element, or part, at an index.
    pub(crate) fn at(self, index: &[Term<'c>]) -> Term<'c> {
        let ix: Option<Vec<TermId>> = index.iter().map(|i| i.t).collect();
        match ix {
            Some(ix) if !ix.is_empty() => self.map(|b, t| b.index(t, &ix)),
            Some(_) => self,
            None => self.nothing(),
        }
    }

    /// The part at a known position of the outermost axis.
    pub(crate) fn nth(self, n: usize) -> Term<'c> {
        self.at(&[self.c.int(n as i64)])
    }

    /// Read at an index for each position of a shape; the axes not read follow.
    pub(crate) fn gather(
        self,
        dims: &[usize],
        f: impl FnOnce(&[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Term<'c> {
        if dims.is_empty() {
            return self.at(&f(&[]));
        }
        let region = self.c.index_function(dims, f);
        self.map(|b, t| match region {
            Some(region) => b.gather(t, region),
            None => Err(cotan_ir::Error::internal("an index function is missing")),
        })
    }

    /// Added up at an index of an array of zeros for each position of the leading axes `dims`.
    pub(crate) fn scatter(
        self,
        outer: &[usize],
        dims: &[usize],
        f: impl FnOnce(&[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Term<'c> {
        if dims.is_empty() {
            let ix: Option<Vec<TermId>> = f(&[]).iter().map(|i| i.t).collect();
            return ix.map_or(self.nothing(), |ix| self.map(|b, t| b.one_hot(outer, t, &ix)));
        }
        let region = self.c.index_function(dims, f);
        self.map(|b, t| match region {
            Some(region) => b.scatter(outer, t, region),
            None => Err(cotan_ir::Error::internal("an index function is missing")),
        })
    }

    /// Read along an axis at a function of the position, for so many positions.
    pub(crate) fn along(
        self,
        axis: usize,
        size: usize,
        f: impl FnOnce(Term<'c>) -> Term<'c>,
    ) -> Term<'c> {
        let dims: Vec<usize> = self.dims().into_iter().take(axis).chain([size]).collect();
        self.gather(&dims, |is| match is {
            [before @ .., i] => before.iter().copied().chain([f(*i)]).collect(),
            [] => Vec::new(),
        })
    }

    /// `x[positions[.., is], is]` for all `is`: reads along the outermost axis. `positions` has the
    /// other axes of `x`, and may have more in front of them.
    pub(crate) fn pick(self, positions: Term<'c>) -> Term<'c> {
        let inner = self.rank().saturating_sub(1);
        self.gather(&positions.dims(), |is| {
            let mut ix = vec![positions.at(is)];
            ix.extend(is.iter().skip(is.len().saturating_sub(inner)));
            ix
        })
    }

    /// `step * i + start`, without needless operations.
    pub(crate) fn affine(self, step: i64, start: i64) -> Term<'c> {
        let scaled = if step == 1 { self } else { self * step };
        if start == 0 { scaled } else { scaled + start }
    }

    // ---- reducing -----------------------------------------------------------------------------

    /// The sum over so many of the outermost axes.
    pub(crate) fn sum_outer(self, axes: usize) -> Term<'c> {
        self.map(|b, t| (0..axes).try_fold(t, |t, _| b.sum_outer(t)))
    }

    /// The sum of all elements.
    pub(crate) fn total(self) -> Term<'c> {
        self.sum_outer(self.rank())
    }

    pub(crate) fn arg_extreme(self, extreme: Extreme) -> Term<'c> {
        self.map(|b, t| b.arg_extreme(extreme, t))
    }

    pub(crate) fn arg_sort(self) -> Term<'c> {
        self.map(|b, t| b.arg_sort(t))
    }

    /// A loop along the outermost axis of some arrays with a state: the last states, then what the
    /// steps give beside the next states.
    pub(crate) fn run_loop(
        reverse: bool,
        init: &[Term<'c>],
        inputs: &[Term<'c>],
        step: impl FnOnce(&[Term<'c>], &[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Vec<Term<'c>> {
        let Some(first) = inputs.first().or(init.first()) else { return Vec::new() };
        let (c, length) = (first.c, inputs.first().map_or(0, |x| x.len()));
        let nothing = || Type::scalar(Dtype::F64);
        let mut params: Vec<Param> = Vec::new();
        for x in init {
            params.push(Param::Value(x.ty().unwrap_or_else(nothing)));
        }
        for x in inputs {
            let ty = x.ty().unwrap_or_else(nothing);
            params.push(Param::Value(Type::new(ty.dtype, ty.shape.drop_outer(1))));
        }
        let mut count = 0;
        let region = c.region(&params, |vars| {
            let (state, x) = vars.split_at(init.len().min(vars.len()));
            let results = step(state, x);
            count = results.len();
            results
        });
        let ids = |xs: &[Term<'c>]| -> Option<Vec<TermId>> { xs.iter().map(|x| x.t).collect() };
        let made: Option<Vec<TermId>> =
            region.zip(ids(init).zip(ids(inputs))).and_then(|(step, (init, inputs))| {
                c.change(|b| {
                    let (init, inputs) = (init.into(), inputs.into());
                    let node = b.map_accum(MapAccum { length, reverse, init, inputs, step })?;
                    (0..count).map(|n| b.result(node, n)).collect()
                })
            });
        match made {
            Some(results) => results.into_iter().map(|t| c.term(t)).collect(),
            None => vec![Term { c, t: None }; count],
        }
    }
}

impl Context {
    /// A region from a function of its parameters; `None` after an error.
    pub(crate) fn region<'c>(
        &'c self,
        params: &[Param],
        f: impl FnOnce(&[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Option<RegionId> {
        let Some(vars) = self.change(|b| b.open(params)) else {
            // The function runs all the same: its caller may need to know how much it gives.
            f(&vec![Term { c: self, t: None }; params.len()]);
            return None;
        };
        let vars: Vec<Term<'c>> = vars.into_iter().map(|t| self.term(t)).collect();
        let results: Option<Vec<TermId>> = f(&vars).into_iter().map(|x| x.t).collect();
        match results.filter(|_| !self.failed()) {
            Some(results) => self.change(|b| b.close(&results)),
            None => {
                self.abandon();
                None
            }
        }
    }

    fn index_function<'c>(
        &'c self,
        dims: &[usize],
        f: impl FnOnce(&[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Option<RegionId> {
        let params: Vec<Param> = dims.iter().map(|&k| Param::Index(k)).collect();
        self.region(&params, f)
    }

    /// An array from its elements, one for each index.
    pub(crate) fn build<'c>(
        &'c self,
        dims: &[usize],
        f: impl FnOnce(&[Term<'c>]) -> Term<'c>,
    ) -> Term<'c> {
        let mut built = self.build_all(dims, |is| vec![f(is)]);
        built.pop().unwrap_or(Term { c: self, t: None })
    }

    /// Several arrays from their elements.
    pub(crate) fn build_all<'c>(
        &'c self,
        dims: &[usize],
        f: impl FnOnce(&[Term<'c>]) -> Vec<Term<'c>>,
    ) -> Vec<Term<'c>> {
        let mut open = Vec::new();
        let mut vars = Vec::new();
        for &k in dims {
            match self.change(|b| b.open(&[Param::Index(k)])) {
                Some(var) => vars.extend(var.into_iter().map(|t| self.term(t))),
                None => break,
            }
            open.push(k);
        }
        vars.resize(dims.len(), Term { c: self, t: None });
        let mut results = f(&vars);
        for &k in open.iter().rev() {
            let ids: Option<Vec<TermId>> = results.iter().map(|x| x.t).collect();
            let built = match ids.filter(|_| !self.failed()) {
                Some(ids) => self.change(|b| close_builds(b, k, &ids)),
                None => {
                    self.abandon();
                    None
                }
            };
            results = match built {
                Some(built) => built.into_iter().map(|t| self.term(t)).collect(),
                None => results.iter().map(|x| x.nothing()).collect(),
            };
        }
        results
    }
}

/// Closes the innermost region once for each result. Variables are named by their level, so a region
/// that is opened again has the same.
fn close_builds(b: &mut Builder, k: usize, results: &[TermId]) -> cotan_ir::Result<Vec<TermId>> {
    let mut built = Vec::with_capacity(results.len());
    for (n, &t) in results.iter().enumerate() {
        if n > 0 {
            b.open(&[Param::Index(k)])?;
        }
        let region = b.close(&[t])?;
        built.push(b.build1(region)?);
    }
    Ok(built)
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:expr;)*) => { $(
        impl<'c, O: Operand<'c>> $trait<O> for Term<'c> {
            type Output = Term<'c>;
            fn $method(self, other: O) -> Term<'c> {
                let op: fn(Dtype) -> Op = $op;
                self.binary(op(self.dtype()), other)
            }
        }
    )* };
}

operators! {
    Add add |_| Op::Add;
    Sub sub |_| Op::Sub;
    Mul mul |_| Op::Mul;
    Div div |dtype| if dtype.is_float() { Op::Div } else { Op::FloorDiv };
    Rem rem |_| Op::Rem;
    BitAnd bitand |_| Op::And;
    BitOr bitor |_| Op::Or;
}

impl<'c> Neg for Term<'c> {
    type Output = Term<'c>;
    fn neg(self) -> Term<'c> {
        self.unary(Op::Neg)
    }
}

impl<'c> Not for Term<'c> {
    type Output = Term<'c>;
    fn not(self) -> Term<'c> {
        self.unary(Op::Not)
    }
}

macro_rules! methods {
    (unary: $($u:ident $uop:ident),*; binary: $($m:ident $mop:ident),*;) => {
        impl<'c> Term<'c> {
            $(pub(crate) fn $u(self) -> Term<'c> {
                self.unary(Op::$uop)
            })*
            $(pub(crate) fn $m(self, other: impl Operand<'c>) -> Term<'c> {
                self.binary(Op::$mop, other)
            })*
        }
    };
}

methods! {
    unary: abs Abs, cos Cos, sin Sin, exp Exp, expm1 Expm1, log Log, log1p Log1p, sqrt Sqrt, tanh Tanh, erfc Erfc,
        logistic Logistic, stop_gradient StopGradient;
    binary: pow Pow, maximum Max, minimum Min, scale Scale, lt Lt, le Le, gt Gt, ge Ge, eq Eq, ne Ne;
}

impl<'c> Term<'c> {
    pub(crate) fn square(self) -> Term<'c> {
        self * self
    }
}

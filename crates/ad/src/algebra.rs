//! The core language as an algebra: one trait, several meanings.
//!
//! An instance says what an array is and what each former does with it. [`interpret`] is the one
//! way from a program into any of them, so a derivative written against the trait serves running
//! arrays and emitted terms alike.

use std::sync::Arc;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{
    Error, Extreme, Node, Program, RegionId, Result, Routine, Scopes, Span, TermId, Type,
};

use crate::custom::CustomFunction;
use crate::step::{Step, extract_step};
use crate::while_loop::{WhileLoop, extract_while};

/// A lambda of a program whose captures stand for values of an algebra.
#[derive(Clone, Copy)]
pub struct Lambda<'a> {
    /// The program it belongs to.
    pub program: &'a Program,
    /// The scopes of that program.
    pub scopes: &'a Scopes,
    /// Which lambda.
    pub region: RegionId,
}

/// The arguments of a `map_accum`.
#[derive(Clone, Debug)]
pub struct Loop<T> {
    /// The number of steps.
    pub length: usize,
    /// Whether it runs from the last index to the first.
    pub reverse: bool,
    /// The initial states.
    pub init: Vec<T>,
    /// The arrays stepped through.
    pub inputs: Vec<T>,
    /// What the step uses from outside.
    pub captures: Vec<T>,
    /// The step, closed: states, elements of the inputs and captures to next states and outputs.
    pub step: Arc<Step>,
}

/// A meaning of the core language without `build1`.
///
/// Methods are named after the formers; operands fit as they do in a checked program.
pub trait Algebra {
    /// An array.
    type T: Clone;
    /// An index function.
    type F: Clone;

    /// What comes next comes from this place of the program.
    fn at(&mut self, _span: Span) {}
    /// Whether places are of interest.
    fn follows_places(&self) -> bool {
        false
    }
    /// The type of an array.
    fn ty(&self, t: &Self::T) -> Type;
    /// `c`
    fn constant(&mut self, c: &Array) -> Result<Self::T>;
    /// A number that equal arrays share, as far as it is known that they are equal.
    fn identity(&self, _t: &Self::T) -> Option<usize> {
        None
    }
    /// `cond b u v`
    fn cond(&mut self, b: &Self::T, u: &Self::T, v: &Self::T) -> Result<Self::T>;
    /// `op t ..`
    fn op(&mut self, op: Op, args: &[Self::T]) -> Result<Self::T>;
    /// `index t ix`
    fn index(&mut self, t: &Self::T, ix: &[Self::T]) -> Result<Self::T>;
    /// `sumOuter t`
    fn sum_outer(&mut self, t: &Self::T) -> Result<Self::T>;
    /// `\is -> ix`, with values for what it captures.
    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, Self::T)]) -> Result<Self::F>;
    /// `\i -> [t1[i], .., tn[i]]` for vectors of integers of one length.
    fn index_table(&mut self, tables: &[Self::T]) -> Result<Self::F>;
    /// The number of components of an index function's index.
    fn index_rank(&self, f: &Self::F) -> usize;
    /// `gather sh t (\is -> ix)`
    fn gather(&mut self, t: &Self::T, f: &Self::F) -> Result<Self::T>;
    /// `scatter sh t (\is -> ix)`
    fn scatter(&mut self, outer: &[usize], t: &Self::T, f: &Self::F) -> Result<Self::T>;
    /// `[t1, .., tn]`
    fn stack(&mut self, ts: &[Self::T]) -> Result<Self::T>;
    /// `replicate k t`
    fn replicate(&mut self, k: usize, t: &Self::T) -> Result<Self::T>;
    /// `tr perm t`
    fn transpose(&mut self, perm: &[usize], t: &Self::T) -> Result<Self::T>;
    /// `reshape sh t`
    fn reshape(&mut self, dims: &[usize], t: &Self::T) -> Result<Self::T>;
    /// `[0, .., k - 1]`
    fn iota(&mut self, k: usize) -> Result<Self::T>;
    /// `oneHot sh v ix`
    fn one_hot(&mut self, outer: &[usize], v: &Self::T, ix: &[Self::T]) -> Result<Self::T>;
    /// `argmaxOuter t`, `argminOuter t`
    fn arg_extreme(&mut self, extreme: Extreme, t: &Self::T) -> Result<Self::T>;
    /// `argsortOuter t`
    fn arg_sort(&mut self, t: &Self::T) -> Result<Self::T>;
    /// `segmentArgmax k t ids`, `segmentArgmin k t ids`
    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &Self::T,
        ids: &Self::T,
    ) -> Result<Self::T>;
    /// A numerical routine.
    fn routine(&mut self, routine: Routine, operands: &[Self::T]) -> Result<Self::T>;
    /// `mapAccum`: the final states, then the outputs.
    fn map_accum(&mut self, m: &Loop<Self::T>) -> Result<Vec<Self::T>>;
    /// `while`: the final states, then the outputs.
    fn while_accum(&mut self, w: &WhileLoop<Self::T>) -> Result<Vec<Self::T>>;

    /// A function with a derivative of its own.
    fn custom(&mut self, c: &Arc<CustomFunction>, args: &[Self::T]) -> Result<Vec<Self::T>>;

    /// Whether every element is certainly a finite number. `false` when in doubt.
    fn is_finite(&mut self, _t: &Self::T) -> bool {
        false
    }

    /// $c \odot f$ in which a zero of $c$ annihilates: $0 \cdot \infty = 0 \cdot \mathrm{NaN} = 0$.
    fn scale(&mut self, c: &Self::T, factor: &Self::T) -> Result<Self::T> {
        let op = if self.is_finite(factor) { Op::Mul } else { Op::Scale };
        self.op(op, &[c.clone(), factor.clone()])
    }

    /// $c \odot f$ of two derivatives, in which a zero of either annihilates.
    ///
    /// What is known to be finite is constant, so it stays finite in every derivative of the product,
    /// and only its zeros have to annihilate.
    fn strong_scale(&mut self, c: &Self::T, factor: &Self::T) -> Result<Self::T> {
        if self.is_finite(factor) {
            return self.op(Op::Scale, &[factor.clone(), c.clone()]);
        }
        self.op(Op::StrongMul, &[c.clone(), factor.clone()])
    }

    /// A number repeated to a type.
    fn number(&mut self, x: f64, ty: &Type) -> Result<Self::T> {
        let scalar = match ty.dtype {
            Dtype::F64 => Array::scalar(x),
            Dtype::F32 => Array::scalar(x as f32),
            Dtype::I64 => Array::scalar(x as i64),
            Dtype::Bool => Array::scalar(x != 0.0),
        };
        let mut t = self.constant(&scalar)?;
        for &k in ty.shape.dims().iter().rev() {
            t = self.replicate(k, &t)?;
        }
        Ok(t)
    }

    /// A sum in which a missing summand is zero.
    fn plus(&mut self, a: Option<Self::T>, b: Option<Self::T>) -> Result<Option<Self::T>> {
        Ok(match (a, b) {
            (Some(a), Some(b)) => Some(self.op(Op::Add, &[a, b])?),
            (one, other) => one.or(other),
        })
    }
}

/// The meaning of a program in an algebra: values for its inputs to values of its outputs.
///
/// One forward loop over the nodes; recursive only over the nesting of loops.
pub fn interpret<A: Algebra>(
    program: &Program,
    inputs: &[A::T],
    algebra: &mut A,
) -> Result<Vec<A::T>> {
    let scopes = Scopes::new(program);
    let mut interpreter = Interpreter {
        program,
        scopes: &scopes,
        images: vec![None; program.len()],
        inputs,
        algebra,
    };
    for &t in scopes.top().order() {
        interpreter.algebra.at(program.span(t));
        let image = interpreter.node(t)?;
        interpreter.images[t.index()] = Some(image);
    }
    program.outputs().iter().map(|output| interpreter.image(output.term)).collect()
}

/// What stands for a node.
#[derive(Clone)]
enum Image<T> {
    One(T),
    /// The results of a former with several.
    Several(Box<[T]>),
}

struct Interpreter<'a, A: Algebra> {
    program: &'a Program,
    scopes: &'a Scopes,
    images: Vec<Option<Image<A::T>>>,
    inputs: &'a [A::T],
    algebra: &'a mut A,
}

impl<A: Algebra> Interpreter<'_, A> {
    fn image(&self, t: TermId) -> Result<A::T> {
        match &self.images[t.index()] {
            Some(Image::One(image)) => Ok(image.clone()),
            _ => Err(Error::internal(format!("node {} has no value", t.index()))),
        }
    }

    fn images(&self, ts: &[TermId]) -> Result<Vec<A::T>> {
        ts.iter().map(|&t| self.image(t)).collect()
    }

    fn index_function(&mut self, r: RegionId) -> Result<A::F> {
        let mut captures = Vec::new();
        for &t in self.scopes.region(r).captures() {
            captures.push((t, self.image(t)?));
        }
        let lambda = Lambda { program: self.program, scopes: self.scopes, region: r };
        self.algebra.index_function(lambda, &captures)
    }

    fn node(&mut self, t: TermId) -> Result<Image<A::T>> {
        Ok(Image::One(match self.program.node(t) {
            Node::Const(c) => self.algebra.constant(c)?,
            Node::Input(k) => match self.inputs.get(*k as usize) {
                Some(input) => input.clone(),
                None => return Err(Error::internal(format!("input {k} has no value"))),
            },
            Node::Var { .. } => return Err(Error::internal("a variable outside its lambda")),
            Node::Cond(p, u, v) => {
                let (p, u, v) = (self.image(*p)?, self.image(*u)?, self.image(*v)?);
                self.algebra.cond(&p, &u, &v)?
            }
            Node::Op(op, args) => {
                let args = self.images(args)?;
                self.algebra.op(*op, &args)?
            }
            Node::Index(u, ix) => {
                let (u, ix) = (self.image(*u)?, self.images(ix)?);
                self.algebra.index(&u, &ix)?
            }
            Node::SumOuter(u) => {
                let u = self.image(*u)?;
                self.algebra.sum_outer(&u)?
            }
            Node::Gather(u, r) => {
                let (u, f) = (self.image(*u)?, self.index_function(*r)?);
                self.algebra.gather(&u, &f)?
            }
            Node::Scatter(sh, u, r) => {
                let (u, f) = (self.image(*u)?, self.index_function(*r)?);
                self.algebra.scatter(sh.dims(), &u, &f)?
            }
            Node::Stack(ts) => {
                let ts = self.images(ts)?;
                self.algebra.stack(&ts)?
            }
            Node::Replicate(k, u) => {
                let u = self.image(*u)?;
                self.algebra.replicate(*k, &u)?
            }
            Node::Transpose(perm, u) => {
                let u = self.image(*u)?;
                let perm: Vec<usize> = perm.iter().map(|&p| usize::from(p)).collect();
                self.algebra.transpose(&perm, &u)?
            }
            Node::Reshape(sh, u) => {
                let u = self.image(*u)?;
                self.algebra.reshape(sh.dims(), &u)?
            }
            Node::Build1(_) => {
                let message = "a build is left: the bulk-operation transform comes first";
                return Err(Error::internal(message));
            }
            Node::Iota(k) => self.algebra.iota(*k)?,
            Node::OneHot(sh, v, ix) => {
                let (v, ix) = (self.image(*v)?, self.images(ix)?);
                self.algebra.one_hot(sh.dims(), &v, &ix)?
            }
            Node::ArgExtreme(extreme, u) => {
                let u = self.image(*u)?;
                self.algebra.arg_extreme(*extreme, &u)?
            }
            Node::ArgSort(u) => {
                let u = self.image(*u)?;
                self.algebra.arg_sort(&u)?
            }
            Node::SegmentArg(extreme, k, u, ids) => {
                let (u, ids) = (self.image(*u)?, self.image(*ids)?);
                self.algebra.segment_arg(*extreme, *k, &u, &ids)?
            }
            Node::Routine(routine, ts) => {
                let operands = self.images(ts)?;
                self.algebra.routine(*routine, &operands)?
            }
            Node::MapAccum(m) => {
                let (step, captures) = extract_step(self.program, self.scopes, m)?;
                let arguments = Loop {
                    length: m.length,
                    reverse: m.reverse,
                    init: self.images(&m.init)?,
                    inputs: self.images(&m.inputs)?,
                    captures: self.images(&captures)?,
                    step: Arc::new(step),
                };
                return Ok(Image::Several(self.algebra.map_accum(&arguments)?.into()));
            }
            Node::While(w) => {
                let (condition, step, captures) = extract_while(self.program, self.scopes, w)?;
                let arguments = WhileLoop {
                    bound: w.bound,
                    init: self.images(&w.init)?,
                    captures: self.images(&captures)?,
                    condition,
                    step,
                };
                return Ok(Image::Several(self.algebra.while_accum(&arguments)?.into()));
            }
            Node::Custom(c) => {
                let custom = Arc::new(CustomFunction::extract(self.program, self.scopes, c)?);
                let mut args = self.images(&c.args)?;
                args.extend(self.images(self.scopes.region(c.region).captures())?);
                return Ok(Image::Several(self.algebra.custom(&custom, &args)?.into()));
            }
            Node::Result(u, k) => match &self.images[u.index()] {
                Some(Image::Several(results)) if (*k as usize) < results.len() => {
                    results[*k as usize].clone()
                }
                _ => return Err(Error::internal("a result of nothing")),
            },
        }))
    }
}

/// The type with one more outermost axis.
pub(crate) fn batched(k: usize, ty: &Type) -> Result<Type> {
    Ok(Type::new(ty.dtype, ty.shape.cons("map_accum", k)?))
}

/// The type without its outermost axis.
pub(crate) fn element(ty: &Type) -> Type {
    Type::new(ty.dtype, ty.shape.drop_outer(1))
}

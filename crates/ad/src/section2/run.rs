//! Call-by-value evaluation of terms, of the source and of the target language.
//!
//! A machine with its own stack and heap: the stack holds what is left to do, so recursion in a
//! program does not recurse here; the heap holds pairs and environments by number, so a recursive
//! function can be in its own environment, and nothing deep is ever dropped. The number of steps
//! is limited, and with it the memory.

use std::rc::Rc;

use cotan_ir::scalar::{Scalar, eval};

use super::delta::{Delta, IdGen};
use super::error::{Error, Result};
use super::syntax::{Name, Node, Prim, Term};
use super::types::{Context, Type, type_of};
use super::value::Value;

/// The most steps of [`run`].
pub const MAX_STEPS: u64 = 1 << 23;

/// The value of a term at values of its free variables, in the `IdGen` monad that gives the ids of
/// `Share`.
///
/// The term is checked first. Its value must not contain functions.
pub fn run(t: &Term, variables: &[(Name, Value)], ids: &mut IdGen) -> Result<Value> {
    let mut context: Context = variables.iter().map(|(x, v)| (x.clone(), v.ty())).collect();
    let ty = type_of(&mut context, t)?;
    if !first_order(&ty) {
        return Err(Error::NotFirstOrder(ty));
    }
    let mut machine = Machine { environments: Vec::new(), pairs: Vec::new(), ids, steps: 0 };
    let mut env = None;
    for (x, v) in variables {
        let v = machine.load(v)?;
        env = machine.bind(env, x, v);
    }
    let result = machine.run(t, env)?;
    machine.store(&result)
}

fn first_order(ty: &Type) -> bool {
    match ty {
        Type::Real | Type::Int | Type::Bool | Type::Delta => true,
        Type::Pair(both) => first_order(both.left()) && first_order(both.right()),
        Type::Function(_) | Type::TooLarge => false,
    }
}

/// An environment: the number of its innermost variable.
type Env = Option<usize>;

/// A value inside the machine.
#[derive(Clone)]
enum Held<'t> {
    Scalar(Scalar),
    /// The number of a pair.
    Pair(usize),
    /// `\x. t` in an environment.
    Closure(&'t Name, &'t Term, Env),
    Delta(Rc<Delta<f64>>),
}

/// A variable, and the environment around it.
struct Binding<'t> {
    name: &'t Name,
    value: Held<'t>,
    outer: Env,
}

/// What to do with the value of the term being evaluated.
enum Frame<'t> {
    /// `let x = [] in t`
    Let(&'t Name, &'t Term, Env),
    /// `([], t)`
    PairLeft(&'t Term, Env),
    /// `(v, [])`
    PairRight(Held<'t>),
    /// `fst []`
    Fst,
    /// `snd []`
    Snd,
    /// `[] t`
    ApplyLeft(&'t Term, Env),
    /// `v []`
    ApplyRight(Held<'t>),
    /// `if [] > 0 then u else v`
    If(&'t Term, &'t Term, Env),
    /// `op(v1, .., [], .., tn)`
    Op(&'t Prim, Vec<Scalar>, &'t [Term], Env),
    /// `Add [] d`
    AddLeft(&'t Term, Env),
    /// `Add d []`
    AddRight(Rc<Delta<f64>>),
    /// `Scale [] d`
    ScaleLeft(&'t Term, Env),
    /// `Scale r []`
    ScaleRight(f64),
    /// `Share genId []`
    Share,
}

/// What the machine does next.
enum Control<'t> {
    Evaluate(&'t Term, Env),
    Return(Held<'t>),
}

struct Machine<'t, 'i> {
    environments: Vec<Binding<'t>>,
    pairs: Vec<(Held<'t>, Held<'t>)>,
    ids: &'i mut IdGen,
    steps: u64,
}

/// A term that passed the checker has become stuck.
const STUCK: Error = Error::Internal("evaluation is stuck");

impl<'t> Machine<'t, '_> {
    fn run(&mut self, t: &'t Term, env: Env) -> Result<Held<'t>> {
        let mut frames = Vec::new();
        let mut control = Control::Evaluate(t, env);
        loop {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Error::TooManySteps(MAX_STEPS));
            }
            control = match control {
                Control::Evaluate(t, env) => self.evaluate(t, env, &mut frames)?,
                Control::Return(v) => match frames.pop() {
                    Some(frame) => self.resume(frame, v, &mut frames)?,
                    None => return Ok(v),
                },
            };
        }
    }

    /// Begins a term: gives its value, or goes on to its first part.
    fn evaluate(
        &mut self,
        t: &'t Term,
        env: Env,
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<Control<'t>> {
        let mut first = |frame, t| {
            frames.push(frame);
            Control::Evaluate(t, env)
        };
        Ok(match t.node() {
            Node::Real(r) => Control::Return(Held::Scalar(Scalar::F64(*r))),
            Node::Int(k) => Control::Return(Held::Scalar(Scalar::I64(*k))),
            Node::Var(x) => Control::Return(self.lookup(env, x)?),
            Node::Let(x, s, t) => first(Frame::Let(x, t, env), s),
            Node::LetRec(head, u, v) => {
                // The closure is in its own environment.
                let env_of_f = Some(self.environments.len());
                let closure = Held::Closure(&head.parameter, u, env_of_f);
                Control::Evaluate(v, self.bind(env, &head.function, closure))
            }
            Node::Pair(s, t) => first(Frame::PairLeft(t, env), s),
            Node::Fst(t) => first(Frame::Fst, t),
            Node::Snd(t) => first(Frame::Snd, t),
            Node::Lambda(x, _, t) => Control::Return(Held::Closure(x, t, env)),
            Node::Apply(s, t) => first(Frame::ApplyLeft(t, env), s),
            Node::If(t, u, v) => first(Frame::If(u, v, env), t),
            Node::Op(prim, ts) => match ts.split_first() {
                Some((t, rest)) => first(Frame::Op(prim, Vec::new(), rest, env), t),
                None => return Err(STUCK),
            },
            Node::Zero => Control::Return(Held::Delta(Rc::new(Delta::Zero))),
            Node::Add(d1, d2) => first(Frame::AddLeft(d2, env), d1),
            Node::Scale(r, d) => first(Frame::ScaleLeft(d, env), r),
            Node::Share(d) => first(Frame::Share, d),
            Node::TooLarge => return Err(Error::TooLarge),
        })
    }

    /// Goes on with the value of a part.
    fn resume(
        &mut self,
        frame: Frame<'t>,
        v: Held<'t>,
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<Control<'t>> {
        let mut next = |frame, t, env| {
            frames.push(frame);
            Control::Evaluate(t, env)
        };
        let delta = |d| Control::Return(Held::Delta(Rc::new(d)));
        Ok(match (frame, v) {
            (Frame::Let(x, t, env), v) => Control::Evaluate(t, self.bind(env, x, v)),
            (Frame::PairLeft(t, env), v) => next(Frame::PairRight(v), t, env),
            (Frame::PairRight(left), v) => Control::Return(self.pair(left, v)),
            (Frame::Fst, Held::Pair(n)) => Control::Return(self.components(n)?.0.clone()),
            (Frame::Snd, Held::Pair(n)) => Control::Return(self.components(n)?.1.clone()),
            (Frame::ApplyLeft(t, env), f) => next(Frame::ApplyRight(f), t, env),
            (Frame::ApplyRight(Held::Closure(x, t, env)), v) => {
                Control::Evaluate(t, self.bind(env, x, v))
            }
            (Frame::If(yes, no, env), Held::Scalar(Scalar::F64(r))) => {
                Control::Evaluate(if r > 0.0 { yes } else { no }, env)
            }
            (Frame::Op(prim, mut xs, rest, env), Held::Scalar(x)) => {
                xs.push(x);
                match rest.split_first() {
                    Some((t, rest)) => next(Frame::Op(prim, xs, rest, env), t, env),
                    None => Control::Return(Held::Scalar(eval(prim.op, &xs).ok_or(STUCK)?)),
                }
            }
            (Frame::AddLeft(t, env), Held::Delta(d1)) => next(Frame::AddRight(d1), t, env),
            (Frame::AddRight(d1), Held::Delta(d2)) => delta(Delta::Add(d1, d2)),
            (Frame::ScaleLeft(t, env), Held::Scalar(Scalar::F64(r))) => {
                next(Frame::ScaleRight(r), t, env)
            }
            (Frame::ScaleRight(r), Held::Delta(d)) => delta(Delta::Scale(r, d)),
            (Frame::Share, Held::Delta(d)) => delta(Delta::Share(self.ids.fresh(), d)),
            (Frame::Fst | Frame::Snd | Frame::ApplyRight(_) | Frame::If(..), _) => {
                return Err(STUCK);
            }
            (Frame::Op(..) | Frame::AddLeft(..) | Frame::AddRight(_), _) => return Err(STUCK),
            (Frame::ScaleLeft(..) | Frame::ScaleRight(_) | Frame::Share, _) => return Err(STUCK),
        })
    }

    // ---- the heap -----------------------------------------------------------------------------

    fn bind(&mut self, outer: Env, name: &'t Name, value: Held<'t>) -> Env {
        self.environments.push(Binding { name, value, outer });
        Some(self.environments.len() - 1)
    }

    fn lookup(&self, env: Env, x: &Name) -> Result<Held<'t>> {
        let mut env = env;
        while let Some(binding) = env.and_then(|n| self.environments.get(n)) {
            if binding.name == x {
                return Ok(binding.value.clone());
            }
            env = binding.outer;
        }
        Err(Error::Unbound(x.clone()))
    }

    fn pair(&mut self, left: Held<'t>, right: Held<'t>) -> Held<'t> {
        self.pairs.push((left, right));
        Held::Pair(self.pairs.len() - 1)
    }

    fn components(&self, n: usize) -> Result<&(Held<'t>, Held<'t>)> {
        self.pairs.get(n).ok_or(STUCK)
    }

    /// A value from outside.
    fn load(&mut self, v: &Value) -> Result<Held<'t>> {
        Ok(match v {
            Value::Pair(both) => {
                let (left, right) = (self.load(both.left())?, self.load(both.right())?);
                self.pair(left, right)
            }
            Value::Delta(d) => Held::Delta(Rc::clone(d)),
            Value::Real(_) | Value::Int(_) | Value::Bool(_) | Value::TooLarge => {
                Held::Scalar(v.scalar().ok_or(Error::TooLarge)?)
            }
        })
    }

    /// A value as seen from outside.
    fn store(&self, v: &Held<'t>) -> Result<Value> {
        Ok(match v {
            Held::Scalar(Scalar::F64(r)) => Value::Real(*r),
            Held::Scalar(Scalar::I64(k)) => Value::Int(*k),
            Held::Scalar(Scalar::Bool(b)) => Value::Bool(*b),
            Held::Pair(n) => {
                let (left, right) = self.components(*n)?;
                Value::pair(self.store(left)?, self.store(right)?)
            }
            Held::Delta(d) => Value::Delta(Rc::clone(d)),
            Held::Scalar(Scalar::F32(_) | Scalar::Fp(_)) | Held::Closure(..) => return Err(STUCK),
        })
    }
}

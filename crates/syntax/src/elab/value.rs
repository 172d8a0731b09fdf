//! What an expression is while a program is made: a known number, a term, a structure of these, or
//! a function. Only terms are left in the end.

use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::{Scalar, cast};
use cotan_ir::{Keep, Span, TermId};
use cotan_pipeline::{Derivative, Taylor};

use super::library::Builtin;
use super::ops::Operand;
use super::types::Spec;
use crate::ast::{ExprId, Name};
use crate::load::DefId;
use crate::sizes::Origin;

/// The value of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A number or truth value known now.
    Known(Known),
    /// An array of the program.
    Term(TermId),
    /// `(a, b)`
    Tuple(Rc<Structure<Value>>),
    /// `{w = a, b = c}`
    Record(Rc<Structure<(Name, Value)>>),
    /// A function, until it is called.
    Function(Rc<Function>),
    /// Nothing: an error has been reported.
    Error,
}

/// A literal, a size, or what follows from these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) value: Scalar,
    /// Without a suffix: takes the type of what it is combined with.
    pub(crate) adapts: bool,
    /// The sizes it is made of, while these are followed.
    pub(crate) origin: Origin,
}

/// The components of a tuple or record. Depth and number of leaves are bounded on construction, so
/// that dropping, printing and flattening are.
#[derive(Clone, Debug)]
pub(crate) struct Structure<T> {
    pub(crate) items: Vec<T>,
    depth: u32,
    leaves: usize,
}

/// A function value.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) callable: Callable,
    /// The function type of the parameter it was passed for.
    pub(crate) contract: Option<Contract>,
    depth: u32,
}

/// What is called.
#[derive(Clone, Debug)]
pub(crate) enum Callable {
    /// A definition.
    Def(DefId),
    /// A lambda with the variables it uses.
    Closure(Closure),
    /// A builtin.
    Builtin(&'static Builtin),
    /// A derivative of a function.
    Derived(Rc<Derived>),
    /// The derivative of a function at a point, linear in the tangents it is given.
    Linear(Rc<Linear>),
    /// A function of which reverse mode keeps little.
    Checkpoint(Rc<Checkpointed>),
}

/// A function, and what reverse mode keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct Checkpointed {
    pub(crate) function: Rc<Function>,
    pub(crate) keep: Keep,
}

/// The derivative of a function at a point: `jvp` with its arguments, but for the tangents.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) jvp: Derived,
    pub(crate) at: Vec<Operand>,
}

/// A derivative of a function, as a function.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) derivative: Derivative,
    /// What the program calls it: `linearize` is made of `jvp`.
    pub(crate) name: &'static str,
    pub(crate) function: Rc<Function>,
    pub(crate) wrt: Wrt,
    /// By series, in the place of the derivative that has its arguments and results.
    pub(crate) taylor: Option<Taylor>,
    /// The function gives a pair, of which only the first component is differentiated.
    pub(crate) aux: bool,
}

/// The arguments to differentiate by: positions, and where they are written.
#[derive(Clone, Debug)]
pub(crate) enum Wrt {
    /// Every argument: the derivative is a tuple if there are several.
    All,
    /// One.
    One((usize, Span)),
    /// A tuple of them, which the derivative is, too.
    Several(Vec<(usize, Span)>),
}

/// A lambda with the variables it uses.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) file: usize,
    pub(crate) lambda: ExprId,
    pub(crate) captured: Rc<[(Name, Value)]>,
}

/// The declared type of a function parameter, with the sizes known when it was passed.
#[derive(Clone, Debug)]
pub(crate) struct Contract {
    pub(crate) params: Rc<[Spec]>,
    pub(crate) result: Rc<Spec>,
    pub(crate) sizes: Rc<[(Name, i64)]>,
    pub(crate) declared: Span,
}

/// A structure or function that is nested too deep or has too many parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge;

/// How deep tuples and records may nest.
pub(crate) const MAX_STRUCTURE_DEPTH: u32 = 256;
/// How many arrays a structure may hold.
pub(crate) const MAX_LEAVES: usize = 1 << 16;
/// How many functions may be captured one in the other.
pub(crate) const MAX_CAPTURE_DEPTH: u32 = 256;

impl<T> Structure<T> {
    fn new(items: Vec<T>, value: impl Fn(&T) -> &Value) -> Result<Rc<Structure<T>>, TooLarge> {
        let mut whole = Structure { items: Vec::new(), depth: 1, leaves: 0 };
        for item in &items {
            let (depth, leaves) = match value(item) {
                Value::Tuple(s) => (s.depth, s.leaves),
                Value::Record(s) => (s.depth, s.leaves),
                Value::Function(f) => (f.depth, 1),
                Value::Known(_) | Value::Term(_) | Value::Error => (0, 1),
            };
            whole.depth = whole.depth.max(depth + 1);
            whole.leaves = whole.leaves.saturating_add(leaves);
        }
        if whole.depth > MAX_STRUCTURE_DEPTH || whole.leaves > MAX_LEAVES {
            return Err(TooLarge);
        }
        whole.items = items;
        Ok(Rc::new(whole))
    }
}

impl Function {
    /// A function without a declared type.
    pub(crate) fn new(callable: Callable) -> Result<Function, TooLarge> {
        let depth = match &callable {
            Callable::Def(_) | Callable::Builtin(_) => 0,
            Callable::Derived(derived) => 1 + derived.function.depth,
            Callable::Linear(linear) => 1 + linear.jvp.function.depth,
            Callable::Checkpoint(checkpoint) => 1 + checkpoint.function.depth,
            Callable::Closure(closure) => {
                1 + closure.captured.iter().map(|(_, v)| v.depth()).max().unwrap_or(0)
            }
        };
        if depth > MAX_CAPTURE_DEPTH {
            return Err(TooLarge);
        }
        Ok(Function { callable, contract: None, depth })
    }

    /// The same function, to be used at a declared type.
    pub(crate) fn with_contract(&self, contract: Contract) -> Function {
        Function { callable: self.callable.clone(), contract: Some(contract), depth: self.depth }
    }
}

impl Value {
    /// A known integer that adapts.
    pub(crate) fn int(value: i64) -> Value {
        Value::Known(Known::new(Scalar::I64(value), true))
    }

    /// A tuple.
    pub(crate) fn tuple(items: Vec<Value>) -> Result<Value, TooLarge> {
        Structure::new(items, |item| item).map(Value::Tuple)
    }

    /// A record.
    pub(crate) fn record(fields: Vec<(Name, Value)>) -> Result<Value, TooLarge> {
        Structure::new(fields, |(_, value)| value).map(Value::Record)
    }

    /// The integer, if it is a known one.
    pub(crate) fn known_int(&self) -> Option<i64> {
        match self {
            Value::Known(known) => known.value.as_i64(),
            _ => None,
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Value::Tuple(s) => s.depth,
            Value::Record(s) => s.depth,
            Value::Function(f) => f.depth,
            Value::Known(_) | Value::Term(_) | Value::Error => 0,
        }
    }
}

impl Known {
    /// A value that is the same for all sizes.
    pub(crate) fn new(value: Scalar, adapts: bool) -> Known {
        Known { value, adapts, origin: Origin::Constant }
    }

    /// The number as a `dtype`.
    pub(crate) fn cast(self, dtype: Dtype) -> Known {
        let origin = match self.origin {
            Origin::Tracked(_) if self.dtype() != dtype => Origin::Unknown,
            origin => origin,
        };
        Known { value: cast(self.value, dtype), adapts: false, origin }
    }

    /// The element type it has when nothing asks for another.
    pub(crate) fn dtype(self) -> Dtype {
        match self.value {
            Scalar::F64(_) | Scalar::Fp(_) => Dtype::F64,
            Scalar::F32(_) => Dtype::F32,
            Scalar::I64(_) => Dtype::I64,
            Scalar::Bool(_) => Dtype::Bool,
        }
    }

    /// The same number as a `dtype`, if it is one or adapts: integers to any numeric type, floats to
    /// any float.
    pub(crate) fn adapt(self, dtype: Dtype) -> Option<Known> {
        let own = self.dtype();
        if own == dtype {
            return Some(self);
        }
        let adapts = self.adapts
            && (own == Dtype::I64 && dtype.is_float() || own == Dtype::F64 && dtype == Dtype::F32);
        adapts.then(|| self.cast(dtype))
    }

    /// The same number at a declared type: it adapts no more.
    pub(crate) fn fixed(self, dtype: Dtype) -> Option<Known> {
        self.adapt(dtype).map(|known| Known { adapts: false, ..known })
    }
}

//! The rows of the table: what a function of the library is, and what it is called with.

use cotan_array::Dtype;
use cotan_ir::{Builder, Error, Result, TermId};

use crate::context::{Context, Fact};
use crate::term::Term;

/// What a function is about; the order of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Making arrays.
    Making,
    /// Other arrangements of the same elements.
    Arranging,
    /// Sums and other reductions.
    Reducing,
    /// Sorting and searching.
    Sorting,
    /// Products of vectors and matrices.
    Linear,
    /// Fourier transforms, and what is made of them.
    Fourier,
    /// Small formulas, element by element.
    Elementwise,
    /// Neural networks.
    Neural,
    /// Losses.
    Losses,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An array of any elements.
    Any,
    /// An array of numbers.
    Number,
    /// An array of floats.
    Float,
    /// Complex numbers: two arrays of floats, or one of real numbers.
    Complex,
    /// An array of integers, whatever the other arrays hold.
    Int,
    /// An array of truth values, whatever the other arrays hold.
    Bool,
    /// An array of any elements, whatever the other arrays hold.
    Key,
    /// Several arrays of any elements.
    Anys,
    /// Several arrays of numbers.
    Numbers,
    /// An axis or several; negative ones count from the end.
    Axes,
    /// One axis; a negative one counts from the end.
    Axis,
    /// A known integer.
    Whole,
    /// Known integers.
    Wholes,
    /// A known size.
    Size,
    /// Known sizes: a shape.
    Sizes,
    /// Known pairs of sizes, one after the other; one pair, or one number, for all axes.
    Widths,
    /// A known number.
    Real,
    /// `true` or `false`, known.
    Flag,
    /// An element type.
    Dtype,
    /// A word, such as a mode.
    Word,
}

impl Kind {
    /// Whether it takes an array or several.
    pub fn is_array(self) -> bool {
        matches!(self, Kind::Any | Kind::Number | Kind::Float | Kind::Complex)
            || self.is_apart()
            || self.is_many()
    }

    /// Whether it takes any number of arrays.
    pub fn is_many(self) -> bool {
        matches!(self, Kind::Anys | Kind::Numbers)
    }

    /// Whether the array has an element type that the other arrays need not have.
    pub fn is_apart(self) -> bool {
        matches!(self, Kind::Int | Kind::Bool | Kind::Key)
    }

    fn takes(self, dtype: Dtype) -> bool {
        match self {
            Kind::Number | Kind::Numbers => dtype.is_numeric(),
            Kind::Float | Kind::Complex => dtype.is_float(),
            Kind::Int => dtype == Dtype::I64,
            Kind::Bool => dtype == Dtype::Bool,
            _ => true,
        }
    }

    /// What it takes, in words.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Float | Kind::Complex => ("floats", "convert: `f64(…)`"),
            Kind::Int => ("i64", "convert: `i64(…)`"),
            Kind::Bool => ("bool", "compare: `x != 0`"),
            _ => ("numbers", "convert: `i64(…)`"),
        }
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is if it is not given, as people read it.
    pub default: Option<&'static str>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// Not given: the default.
    Default,
    /// An array.
    Array(TermId),
    /// Several arrays.
    Arrays(Vec<TermId>),
    /// An integer, an axis, a size.
    Int(i64),
    /// Integers, axes, sizes.
    Ints(Vec<i64>),
    /// A number.
    Real(f64),
    /// A truth value.
    Flag(bool),
    /// An element type.
    Dtype(Dtype),
    /// A word.
    Word(String),
}

/// What a function gives.
#[derive(Clone, Debug)]
pub enum Made<'c> {
    /// One array.
    One(Term<'c>),
    /// Several, as a tuple.
    Several(Vec<Term<'c>>),
    /// Complex numbers: real and imaginary parts.
    Complex([Term<'c>; 2]),
}

impl<'c> From<Term<'c>> for Made<'c> {
    fn from(x: Term<'c>) -> Made<'c> {
        Made::One(x)
    }
}

impl<'c> From<[Term<'c>; 2]> for Made<'c> {
    fn from(z: [Term<'c>; 2]) -> Made<'c> {
        Made::Complex(z)
    }
}

impl<'c> From<Vec<Term<'c>>> for Made<'c> {
    fn from(xs: Vec<Term<'c>>) -> Made<'c> {
        Made::Several(xs)
    }
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// One array.
    One(TermId),
    /// Several, as a tuple.
    Several(Vec<TermId>),
    /// Complex numbers: real and imaginary parts, as a record `{re, im}`.
    Complex([TermId; 2]),
}

/// A function of the library: one row of the table.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Other names that it has in other systems.
    pub aliases: &'static [&'static str],
    /// What it is about.
    pub group: Group,
    /// What it takes.
    pub params: &'static [Param],
    /// What it is, and what it gives in corner cases. The first paragraph is a summary.
    pub doc: &'static str,
    /// An expression of the text language that uses it.
    pub example: &'static str,
    pub(crate) run: for<'c> fn(&'c Context, &Args<'c, '_>) -> Made<'c>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Function {
    /// How it is called: `sum(x, axis = all, keep = false)`.
    pub fn signature(&self) -> String {
        let param = |param: &Param| match (param.default, param.kind.is_many()) {
            (Some(default), _) => format!("{} = {default}", param.name),
            (None, true) => format!("{}, ..", param.name),
            (None, false) => param.name.to_owned(),
        };
        let params: Vec<String> = self.params.iter().map(param).collect();
        format!("{}({})", self.name, params.join(", "))
    }

    /// The first paragraph of the documentation, in a line.
    pub fn summary(&self) -> String {
        let lines = self.doc.lines().map(str::trim).take_while(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// The terms that the function makes of arguments, one for each parameter, and what is to be said
    /// about sizes.
    pub fn call(&self, b: &mut Builder, args: &[Arg]) -> (Result<Given>, Vec<Fact>) {
        let (result, facts) = Context::with(b, |c| {
            let args = Args { c, function: self, args };
            args.check();
            if c.failed() {
                return Err(missing(self.name));
            }
            let id = |x: Term<'_>| x.id().ok_or_else(|| missing(self.name));
            match (self.run)(c, &args) {
                Made::One(x) => Ok(Given::One(id(x)?)),
                Made::Complex([re, im]) => Ok(Given::Complex([id(re)?, id(im)?])),
                Made::Several(xs) => {
                    Ok(Given::Several(xs.into_iter().map(id).collect::<Result<_>>()?))
                }
            }
        });
        (result.map_err(|error| self.named(error)), facts)
    }

    /// The error in the name of the function.
    fn named(&self, error: Error) -> Error {
        let message = match error.op() {
            op if op.is_empty() || op == self.name => error.message().to_owned(),
            op => format!("{op}: {}", error.message()),
        };
        let named = Error::new(error.kind(), self.name, message).with_span(error.span());
        match error.hint() {
            Some(hint) => named.with_hint(hint),
            None => named,
        }
    }
}

/// No array although there was no error before.
fn missing(name: &str) -> Error {
    Error::internal(format!("{name} made nothing"))
}

/// The arguments of a call.
pub(crate) struct Args<'c, 'a> {
    c: &'c Context,
    function: &'a Function,
    args: &'a [Arg],
}

impl<'c> Args<'c, '_> {
    /// Looks at element types: each array is of its parameter's kind, and those that are not of a
    /// kind of their own have one type.
    fn check(&self) {
        let mut first: Option<(usize, Dtype)> = None;
        for (n, param) in self.function.params.iter().enumerate() {
            for x in self.all(n) {
                let dtype = x.dtype();
                if !param.kind.takes(dtype) {
                    let (needed, hint) = param.kind.words();
                    self.c.note(Fact::Blame(vec![n]));
                    self.c.wrong(format!("needs {needed}, not {}", x.shown()), hint);
                    return;
                }
                if param.kind.is_apart() {
                    continue;
                }
                match first {
                    Some((before, other)) if other != dtype => {
                        let message = format!("arrays of two element types, {other} and {dtype}");
                        self.c.note(Fact::Blame(vec![before, n]));
                        self.c.wrong(message, format!("convert one of them: `{other}(…)`"));
                        return;
                    }
                    _ => first = Some((n, dtype)),
                }
            }
        }
    }

    fn arg(&self, n: usize) -> &Arg {
        self.args.get(n).unwrap_or(&Arg::Default)
    }

    fn default(&self, n: usize) -> &'static str {
        self.function.params.get(n).and_then(|param| param.default).unwrap_or("")
    }

    fn unfit<T: Default>(&self, n: usize) -> T {
        let name = self.function.params.get(n).map_or("", |param| param.name);
        let message = format!("the argument `{name}` is not what it should be");
        self.c.fail(Error::internal(format!("{}: {message}", self.function.name)));
        T::default()
    }

    pub(crate) fn array(&self, n: usize) -> Term<'c> {
        match self.arg(n) {
            Arg::Array(t) => self.c.term(*t),
            _ => {
                self.unfit::<()>(n);
                Term::new(self.c, None)
            }
        }
    }

    /// An array that need not be given.
    pub(crate) fn perhaps(&self, n: usize) -> Option<Term<'c>> {
        match self.arg(n) {
            Arg::Default => None,
            _ => Some(self.array(n)),
        }
    }

    /// All arrays at a parameter.
    pub(crate) fn all(&self, n: usize) -> Vec<Term<'c>> {
        match self.arg(n) {
            Arg::Array(t) => vec![self.c.term(*t)],
            Arg::Arrays(ts) => ts.iter().map(|&t| self.c.term(t)).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn int(&self, n: usize) -> i64 {
        match self.arg(n) {
            Arg::Int(k) => *k,
            Arg::Ints(ks) if ks.len() == 1 => ks[0],
            Arg::Ints(ks) => {
                let what = match self.function.params.get(n).map(|param| param.kind) {
                    Some(Kind::Axis) => "axis",
                    _ => "number",
                };
                self.c.note(Fact::BadAxis);
                self.c.wrong(format!("one {what} is needed, not {}", ks.len()), "");
                0
            }
            Arg::Default => self.default(n).parse().unwrap_or_else(|_| self.unfit(n)),
            _ => self.unfit(n),
        }
    }

    /// Integers; `None` where they are not given and there is no number for a default.
    pub(crate) fn ints(&self, n: usize) -> Option<Vec<i64>> {
        match self.arg(n) {
            Arg::Int(k) => Some(vec![*k]),
            Arg::Ints(ks) => Some(ks.clone()),
            Arg::Default => self.default(n).parse().ok().map(|k| vec![k]),
            _ => self.unfit(n),
        }
    }

    pub(crate) fn size(&self, n: usize) -> usize {
        usize::try_from(self.int(n)).unwrap_or_else(|_| self.negative(n))
    }

    pub(crate) fn sizes(&self, n: usize) -> Vec<usize> {
        let sizes = self.ints(n).unwrap_or_default().into_iter();
        sizes.map(|k| usize::try_from(k).unwrap_or_else(|_| self.negative(n))).collect()
    }

    fn negative(&self, n: usize) -> usize {
        let name = self.function.params.get(n).map_or("", |param| param.name);
        self.c.wrong(format!("a negative number for `{name}`"), "sizes are 0 at least");
        0
    }

    pub(crate) fn real(&self, n: usize) -> f64 {
        match self.arg(n) {
            Arg::Real(x) => *x,
            Arg::Int(k) => *k as f64,
            Arg::Default => self.default(n).parse().unwrap_or_else(|_| self.unfit(n)),
            _ => self.unfit(n),
        }
    }

    pub(crate) fn flag(&self, n: usize) -> bool {
        match self.arg(n) {
            Arg::Flag(flag) => *flag,
            Arg::Default => self.default(n) == "true",
            _ => self.unfit(n),
        }
    }

    pub(crate) fn dtype(&self, n: usize) -> Dtype {
        match self.arg(n) {
            Arg::Dtype(dtype) => *dtype,
            _ => {
                let name = self.default(n);
                Dtype::ALL.into_iter().find(|dtype| dtype.name() == name).unwrap_or(Dtype::F64)
            }
        }
    }

    pub(crate) fn word(&self, n: usize) -> String {
        match self.arg(n) {
            Arg::Word(word) => word.clone(),
            _ => self.default(n).trim_matches('"').to_owned(),
        }
    }
}

/// Rows of the table. Each gives a `static` of the function's name; its body is an expression of the
/// parameters by their names, and of the context `c`.
macro_rules! functions {
    ($group:ident $table:ident:
     $($(#[doc = $doc:literal])* $name:ident $([$($alias:literal),*])?
       ($($param:ident: $kind:ident $(= $default:literal)?),* $(,)?) $example:literal
       = |$c:ident| $body:expr;)*) => {
        $(
            $(#[doc = $doc])*
            #[allow(non_upper_case_globals, reason = "functions are called by their names")]
            pub static $name: $crate::Function = $crate::Function {
                name: $crate::function::bare(stringify!($name)),
                aliases: &[$($($alias),*)?],
                group: $crate::Group::$group,
                params: &[$($crate::Param {
                    name: stringify!($param),
                    kind: $crate::Kind::$kind,
                    default: $crate::function::functions!(@default $($default)?),
                }),*],
                doc: concat!($($doc, "\n"),*),
                example: $example,
                run: |$c, args| {
                    let mut n = 0;
                    $(
                        let $param = $crate::function::functions!(@take $kind args, n $(, $default)?);
                        n += 1;
                    )*
                    let _ = (n, $c);
                    $crate::Made::from($body)
                },
            };
        )*
        pub(crate) static $table: &[&$crate::Function] = &[$(&$name),*];
    };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@take Any $args:ident, $n:ident, $default:literal) => { $args.perhaps($n) };
    (@take Number $args:ident, $n:ident, $default:literal) => { $args.perhaps($n) };
    (@take Float $args:ident, $n:ident, $default:literal) => { $args.perhaps($n) };
    (@take Bool $args:ident, $n:ident, $default:literal) => { $args.perhaps($n) };
    (@take Any $args:ident, $n:ident) => { $args.array($n) };
    (@take Number $args:ident, $n:ident) => { $args.array($n) };
    (@take Float $args:ident, $n:ident) => { $args.array($n) };
    (@take Int $args:ident, $n:ident) => { $args.array($n) };
    (@take Bool $args:ident, $n:ident) => { $args.array($n) };
    (@take Key $args:ident, $n:ident) => { $args.array($n) };
    (@take Complex $args:ident, $n:ident) => { $args.all($n) };
    (@take Anys $args:ident, $n:ident) => { $args.all($n) };
    (@take Numbers $args:ident, $n:ident) => { $args.all($n) };
    (@take Axes $args:ident, $n:ident $(, $d:literal)?) => { $args.ints($n) };
    (@take Axis $args:ident, $n:ident $(, $d:literal)?) => { $args.int($n) };
    (@take Whole $args:ident, $n:ident $(, $d:literal)?) => { $args.int($n) };
    (@take Wholes $args:ident, $n:ident $(, $d:literal)?) => { $args.ints($n) };
    (@take Size $args:ident, $n:ident $(, $d:literal)?) => { $args.size($n) };
    (@take Sizes $args:ident, $n:ident $(, $d:literal)?) => { $args.sizes($n) };
    (@take Widths $args:ident, $n:ident $(, $d:literal)?) => { $args.sizes($n) };
    (@take Real $args:ident, $n:ident $(, $d:literal)?) => { $args.real($n) };
    (@take Flag $args:ident, $n:ident $(, $d:literal)?) => { $args.flag($n) };
    (@take Dtype $args:ident, $n:ident $(, $d:literal)?) => { $args.dtype($n) };
    (@take Word $args:ident, $n:ident $(, $d:literal)?) => { $args.word($n) };
}

pub(crate) use functions;

/// A name without the `_` that keeps it apart from one of Rust's own words.
pub(crate) const fn bare(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [.., b'_'] => match name.split_at_checked(name.len() - 1) {
            Some((bare, _)) => bare,
            None => name,
        },
        _ => name,
    }
}

//! The builtin functions: **one table**, from which calls, messages and documentation derive.
//!
//! A row gives the name, the signature as people read it, a line of documentation and an example.
//! The signature is also what arguments are matched by: `sum(x, axis = all)` has a parameter `x`
//! that must be given and one, `axis`, that may be; `..` stands for more of the parameter before it.

mod args;
mod arrays;
mod core;
mod custom;
mod derivatives;
mod linear;
mod loops;
mod operators;
mod overwrite;
mod solvers;
mod standard;
mod while_loop;

use std::sync::LazyLock;

use cotan_ir::scalar::Op;
use cotan_ir::{Routine, Span};
use rustc_hash::FxHashMap;

use super::foreign::param_advice;
use super::suggest::nearest;
use super::value::Value;
use super::{Elab, R};
use crate::ast::{ExprId, Ident};
use crate::diagnostic::{Code, Diagnostic};

/// What a builtin is about; the order of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Making arrays.
    Making,
    /// Asking for sizes.
    Sizes,
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
    /// Loops, over the outermost axis or as long as a condition holds.
    Loops,
    /// Equations, differential equations and integrals.
    Solvers,
    /// Derivatives of functions.
    Derivatives,
    /// Conversions and small formulas.
    Elementwise,
    /// Neural networks.
    Neural,
    /// Losses.
    Losses,
    /// The formers of the core language, as programs print them.
    Core,
    /// Scalar operations, elementwise on arrays.
    Scalar,
}

/// A builtin function, or a constant.
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub signature: String,
    /// What it does, in a line.
    pub doc: String,
    /// An expression that uses it; empty for scalar operations.
    pub example: &'static str,
    /// What it is about.
    pub group: Group,
    params: Vec<Param>,
    run: Run,
}

impl Builtin {
    /// Whether it is a row of the standard library, which is tested from that table.
    pub fn is_standard(&self) -> bool {
        matches!(self.run, Run::Library(_))
    }

    /// Whether it is a number rather than a function.
    pub fn is_constant(&self) -> bool {
        !self.signature.contains('(')
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    name: String,
    optional: bool,
    /// Any number of them.
    many: bool,
}

#[derive(Clone, Copy)]
enum Run {
    Row(Op),
    /// A function of the standard library.
    Library(&'static cotan_library::Function),
    Routine(Routine),
    Function(fn(&mut Elab<'_>, &Call) -> R<Value>),
}

/// An argument: an expression of the scope at hand, or a value.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Expr(ExprId),
    Value(Value, Span),
}

/// A call of a builtin, with the arguments at the places of the parameters.
pub(crate) struct Call {
    pub(crate) builtin: &'static Builtin,
    pub(crate) span: Span,
    /// How many arguments had no name.
    positional: usize,
    slots: Vec<Vec<Arg>>,
}

/// A row as written.
type Row = (&'static str, fn(&mut Elab<'_>, &Call) -> R<Value>, &'static str, &'static str);

const TABLES: [(Group, &[Row]); 12] = [
    (Group::Making, arrays::MAKING),
    (Group::Sizes, arrays::SIZES),
    (Group::Arranging, overwrite::OVERWRITING),
    (Group::Linear, linear::LINEAR),
    (Group::Loops, loops::LOOPS),
    (Group::Loops, operators::OPERATORS),
    (Group::Loops, while_loop::WHILE),
    (Group::Solvers, solvers::SOLVERS),
    (Group::Derivatives, derivatives::DERIVATIVES),
    (Group::Derivatives, custom::CUSTOM),
    (Group::Elementwise, arrays::ELEMENTWISE),
    (Group::Core, core::CORE),
];

static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (group, rows) in TABLES {
        for &(signature, run, doc, example) in rows {
            let name = signature.split_once('(').map_or(signature, |(name, _)| name);
            let (signature, params) = (signature.to_owned(), parse_signature(signature));
            all.push(Builtin {
                name,
                signature,
                doc: doc.to_owned(),
                example,
                group,
                params,
                run: Run::Function(run),
            });
        }
    }
    for function in cotan_library::all() {
        let (signature, group) = (function.signature(), group_of(function.group));
        let names = function.aliases.iter().map(|&alias| (alias, true));
        for (name, alias) in std::iter::once((function.name, false)).chain(names) {
            let doc = match alias {
                false => function.summary(),
                true => format!("Another name for `{}`.", function.name),
            };
            let signature = signature.replacen(function.name, name, 1);
            let params = parse_signature(&signature);
            let (example, run) = (function.example, Run::Library(function));
            all.push(Builtin { name, signature, doc, example, group, params, run });
        }
    }
    for &routine in Routine::ALL {
        let row = routine.row();
        all.push(Builtin {
            name: row.name,
            signature: row.signature.to_owned(),
            doc: row.doc.to_owned(),
            example: row.example,
            group: Group::Core,
            params: parse_signature(row.signature),
            run: Run::Routine(routine),
        });
    }
    all.sort_by_key(|builtin| builtin.group);
    for op in Op::all() {
        if all.iter().any(|builtin| builtin.name == op.name()) {
            continue; // `max` and `min` are reductions, too.
        }
        let letters = ["a", "b", "c"].get(..op.arity()).unwrap_or_default();
        let signature = format!("{}({})", op.name(), letters.join(", "));
        let params = parse_signature(&signature);
        let (name, doc) = (op.name(), op.row().doc.to_owned());
        let run = Run::Row(op);
        all.push(Builtin { name, signature, doc, example: "", group: Group::Scalar, params, run });
    }
    all
});

static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Builtin>> =
    LazyLock::new(|| BUILTINS.iter().map(|builtin| (builtin.name, builtin)).collect());

/// All builtin functions, group by group.
pub fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

/// The builtin with a name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    BY_NAME.get(name).copied()
}

/// The names of all builtins.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    BUILTINS.iter().map(|builtin| builtin.name)
}

fn group_of(group: cotan_library::Group) -> Group {
    match group {
        cotan_library::Group::Making => Group::Making,
        cotan_library::Group::Arranging => Group::Arranging,
        cotan_library::Group::Reducing => Group::Reducing,
        cotan_library::Group::Sorting => Group::Sorting,
        cotan_library::Group::Linear => Group::Linear,
        cotan_library::Group::Fourier => Group::Fourier,
        cotan_library::Group::Elementwise => Group::Elementwise,
        cotan_library::Group::Neural => Group::Neural,
        cotan_library::Group::Losses => Group::Losses,
    }
}

/// `f(x, y, .., axis = 0)` to its parameters.
fn parse_signature(signature: &str) -> Vec<Param> {
    let inside = signature.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let mut params: Vec<Param> = Vec::new();
    for part in inside.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match (part, params.last_mut()) {
            ("..", Some(last)) => last.many = true,
            (part, _) => {
                let (name, optional) = match part.split_once('=') {
                    Some((name, _)) => (name.trim(), true),
                    None => (part, false),
                };
                params.push(Param { name: name.to_owned(), optional, many: false });
            }
        }
    }
    params
}

/// Calls a builtin.
pub(crate) fn call(
    elab: &mut Elab<'_>,
    builtin: &'static Builtin,
    args: Vec<(Option<&Ident>, Arg)>,
    span: Span,
) -> R<Value> {
    let places = elab.places(args.iter().map(|(_, arg)| arg));
    let call = bind(elab, builtin, args, span)?;
    elab.calling(&builtin.signature, places, |elab| match builtin.run {
        Run::Row(op) => {
            let operands = elab.all_values(&call);
            elab.row(op, &operands, span)
        }
        Run::Library(function) => standard::call(elab, &call, function),
        Run::Routine(routine) => linear::routine(elab, &call, routine),
        Run::Function(run) => run(elab, &call),
    })
}

/// Puts arguments at the places of the parameters.
fn bind(
    elab: &mut Elab<'_>,
    builtin: &'static Builtin,
    args: Vec<(Option<&Ident>, Arg)>,
    span: Span,
) -> R<Call> {
    let mut slots: Vec<Vec<Arg>> = vec![Vec::new(); builtin.params.len()];
    let mut positional = 0;
    let wrong = |elab: &mut Elab<'_>, span: Span, message: String| {
        let hint = format!("its signature is `{}`", builtin.signature);
        Err(elab.report(Diagnostic::new(Code::WrongArguments, span, message).hint(hint)))
    };
    let mut at = 0;
    for (name, arg) in args {
        let slot = match name {
            None => {
                positional += 1;
                let slot = at;
                at += usize::from(!builtin.params.get(at).is_some_and(|param| param.many));
                slot
            }
            Some(name) => match builtin.params.iter().position(|param| *param.name == *name.name) {
                Some(slot) => slot,
                None => {
                    let params: Vec<&str> =
                        builtin.params.iter().map(|param| &*param.name).collect();
                    let advice = param_advice(&name.name, &params)
                        .or_else(|| {
                            Some(format!("did you mean `{}`?", nearest(&name.name, params)?))
                        })
                        .map(|advice| format!(": {advice}"));
                    let advice = advice.unwrap_or_default();
                    let message =
                        format!("`{}` has no parameter `{}`{advice}", builtin.name, name.name);
                    return wrong(elab, name.span, message);
                }
            },
        };
        let Some((place, param)) = slots.get_mut(slot).zip(builtin.params.get(slot)) else {
            let message = format!("too many arguments for `{}`", builtin.name);
            return wrong(elab, elab.arg_span(&arg), message);
        };
        if !place.is_empty() && !param.many {
            let message =
                format!("the parameter `{}` of `{}` is given twice", param.name, builtin.name);
            return wrong(elab, elab.arg_span(&arg), message);
        }
        place.push(arg);
    }
    for (param, slot) in builtin.params.iter().zip(&slots) {
        if slot.is_empty() && !param.optional {
            let message =
                format!("the parameter `{}` of `{}` is missing", param.name, builtin.name);
            return wrong(elab, span, message);
        }
    }
    Ok(Call { builtin, span, positional, slots })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashSet;

    #[test]
    fn rows_are_whole_and_names_are_unique() {
        let mut seen = FxHashSet::default();
        for builtin in builtins() {
            assert!(seen.insert(builtin.name), "{} twice", builtin.name);
            assert!(builtin.signature.ends_with(')') || builtin.is_constant(), "{}", builtin.name);
            assert!(builtin.doc.ends_with('.'), "{}", builtin.doc);
            assert_eq!(
                builtin.example.is_empty(),
                builtin.group == Group::Scalar,
                "{}",
                builtin.name
            );
        }
        for op in Op::all() {
            assert!(find(op.name()).is_some(), "{op}");
        }
    }

    #[test]
    fn signatures_give_the_parameters() {
        let param = |name: &str, optional, many| Param { name: name.to_owned(), optional, many };
        assert_eq!(
            parse_signature("concat(a, .., axis = 0)"),
            [param("a", false, true), param("axis", true, false)]
        );
        assert_eq!(parse_signature("f()"), []);
    }
}

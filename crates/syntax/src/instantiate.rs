//! Functions at given types, as programs.

use cotan_ir::scalar::Scalar;
use cotan_ir::{Limits, Output, Program, Span, Type};

use crate::ast::{Ident, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::elab::tree::TypeTree;
use crate::elab::types::{Signature, Spec};
use crate::elab::unify::SizeFact;
use crate::elab::value::{Known, Value};
use crate::elab::{Elab, R};
use crate::load::{DefId, Failure, Modules, load_text};

/// What an argument will be.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// What the declaration says; its sizes follow from other arguments or are given.
    Declared,
    /// A value of this type.
    Tree(TypeTree),
    /// A value whose arrays, in order, have these types; the structure is the declared one.
    Leaves(Vec<Type>),
    /// A scalar known now: no input of the program.
    Static(Scalar),
}

/// A function at given types.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The program: its inputs are the arrays of the arguments, its outputs those of the result, in
    /// order and named by their paths (`p.w`).
    pub program: Program,
    /// The parameters that became inputs, and their types.
    pub params: Vec<(String, TypeTree)>,
    /// The type of the result.
    pub result: TypeTree,
    /// What looks wrong but has a meaning.
    pub warnings: Diagnostics,
}

/// Makes the program of a function of the entry file.
///
/// `args` has one entry per parameter, or none at all if all parameters are as declared; `sizes`
/// gives size parameters by name.
///
/// ```
/// use cotan_syntax::{instantiate, load_text};
///
/// let modules = load_text("f.ct", "def f(x: [n]f64) = sum(x * x)")?;
/// let f = instantiate(&modules, "f", &[], &[("n", 5)], &Default::default())?;
/// assert_eq!(f.program.to_string(), "def main(x: [5]f64) = sum_outer(x * x)\n");
/// # Ok::<(), cotan_syntax::Failure>(())
/// ```
pub fn instantiate(
    modules: &Modules,
    function: &str,
    args: &[ArgSpec],
    sizes: &[(&str, usize)],
    limits: &Limits,
) -> Result<Instance, Failure> {
    let mut elab = Elab::new(modules, *limits);
    let made = Request { function, args, sizes }.run(&mut elab);
    finish(elab, modules, made)
}

/// The program that a printed program means: a text with one definition, `main`, whose types have no
/// size parameters.
pub fn parse_program(text: &str) -> Result<Program, Failure> {
    let modules = load_text("program", text)?;
    instantiate(&modules, "main", &[], &[], &Limits::default()).map(|instance| instance.program)
}

/// What an elaboration leaves, before the program is closed.
pub(crate) struct Made {
    outputs: Vec<Output>,
    params: Vec<(String, TypeTree)>,
    result: TypeTree,
}

fn finish(elab: Elab<'_>, modules: &Modules, made: R<Made>) -> Result<Instance, Failure> {
    let (builder, mut diagnostics) = elab.finish();
    let sources = modules.sources.clone();
    let failure = |diagnostics| Failure { diagnostics, sources: sources.clone() };
    let made = match made {
        Ok(made) if !diagnostics.has_errors() => made,
        _ => return Err(failure(diagnostics)),
    };
    match builder.finish_with_sources(made.outputs, sources.clone()) {
        Ok(program) => {
            let Made { params, result, .. } = made;
            Ok(Instance { program, params, result, warnings: diagnostics })
        }
        Err(error) => {
            diagnostics.push(Diagnostic::new(Code::Internal, error.span(), error.to_string()));
            Err(failure(diagnostics))
        }
    }
}

/// What to instantiate.
pub(crate) struct Request<'a> {
    pub(crate) function: &'a str,
    pub(crate) args: &'a [ArgSpec],
    pub(crate) sizes: &'a [(&'a str, usize)],
}

impl Request<'_> {
    /// The program of a function of the entry file, by name.
    fn run(&self, elab: &mut Elab<'_>) -> R<Made> {
        let modules = elab.modules;
        let Some(&id) = modules.files.first().and_then(|file| file.defs.get(self.function)) else {
            let known: Vec<&str> = modules.functions().map(|f| f.name).collect();
            let message = format!("there is no function `{}`", self.function);
            let hint = match known.as_slice() {
                [] => "the file defines no function: write `def main() = …`".to_owned(),
                known => format!("the functions are {}", known.join(", ")),
            };
            return Err(elab
                .report(Diagnostic::new(Code::CannotInstantiate, Span::NONE, message).hint(hint)));
        };
        self.make(elab, id)
    }

    /// The program of a definition.
    pub(crate) fn make(&self, elab: &mut Elab<'_>, id: DefId) -> R<Made> {
        let modules = elab.modules;
        let signature = elab.signature(id)?;
        let head = modules.def(id).map_or(Span::NONE, |def| def.head_span);
        if !self.args.is_empty() && self.args.len() != signature.params.len() {
            let message = format!(
                "`{}` takes {} arguments, not {}",
                self.function,
                signature.params.len(),
                self.args.len()
            );
            return Err(elab.report(Diagnostic::new(Code::WrongArguments, head, message)));
        }
        let given = self.given(elab, &signature, head)?;
        let mut values = Vec::new();
        let mut params = Vec::new();
        for (k, (name, spec)) in signature.params.iter().enumerate() {
            let arg = self.args.get(k).unwrap_or(&ArgSpec::Declared);
            if let ArgSpec::Static(value) = arg {
                let known = match (value, elab.size_known(value.as_i64().unwrap_or(0))) {
                    (Scalar::I64(_), Value::Known(known)) => Known { adapts: false, ..known },
                    _ => Known::new(*value, false),
                };
                values.push((Value::Known(known), name.span));
                continue;
            }
            let tree = match arg {
                ArgSpec::Tree(tree) => tree.clone(),
                ArgSpec::Leaves(types) => structure(elab, spec, &mut types.iter(), name.span)?,
                ArgSpec::Declared | ArgSpec::Static(_) => self.declared(elab, spec, &name.name)?,
            };
            values.push((inputs(elab, &tree, &name.name, name.span)?, name.span));
            params.push((name.name.to_string(), tree));
        }
        let value = elab.inline(id, values, given, head)?;
        let Some(result) = elab.tree_of(&value) else {
            if let Some(reported) = elab.reported_error() {
                return Err(reported);
            }
            let message = format!("`{}` gives a function, not arrays", self.function);
            return Err(elab.report(Diagnostic::new(Code::CannotInstantiate, head, message)));
        };
        let terms = elab.leaves(&value, head)?;
        let named = result.has_names();
        let outputs = result
            .leaves("")
            .into_iter()
            .zip(terms)
            .map(|((name, _), term)| Output {
                name: if named { name } else { String::new() },
                term,
            })
            .collect();
        Ok(Made { outputs, params, result })
    }

    /// The sizes given by name.
    fn given(
        &self,
        elab: &mut Elab<'_>,
        signature: &Signature,
        head: Span,
    ) -> R<Vec<(Name, SizeFact)>> {
        for (name, _) in self.sizes {
            if !signature.sizes.iter().any(|size| *size.name == **name) {
                let known: Vec<&str> = signature.sizes.iter().map(|size| &*size.name).collect();
                let message = format!("`{}` has no size `{name}`", self.function);
                let hint = match known.as_slice() {
                    [] => "it has no size parameters".to_owned(),
                    known => format!("its sizes are {}", known.join(", ")),
                };
                return Err(
                    elab.report(Diagnostic::new(Code::CannotInstantiate, head, message).hint(hint))
                );
            }
        }
        let fact = |size: &Ident| {
            let value = self.size(&size.name)?;
            let why = format!("`{} = {value}` is given", size.name);
            Some((size.name.clone(), SizeFact { value, span: size.span, why }))
        };
        Ok(signature.sizes.iter().filter_map(fact).collect())
    }

    fn size(&self, name: &str) -> Option<i64> {
        self.sizes
            .iter()
            .find(|(given, _)| *given == name)
            .and_then(|(_, k)| i64::try_from(*k).ok())
    }

    fn declared(&self, elab: &mut Elab<'_>, spec: &Spec, param: &str) -> R<TypeTree> {
        if spec.has_function() {
            let message = format!(
                "`{}` takes a function, `{param}`, and so cannot be run by itself",
                self.function
            );
            let hint = "define a function that calls it, and run that one";
            return Err(elab.report(
                Diagnostic::new(Code::CannotInstantiate, spec.span(), message).hint(hint),
            ));
        }
        let mut missing = None;
        spec.for_each_size(&mut |size| {
            for name in size.names() {
                if self.size(name).is_none() {
                    missing.get_or_insert((name.clone(), size.span));
                }
            }
        });
        if let Some((name, span)) = missing {
            let message = format!("the size `{name}` of `{}` is not given", self.function);
            let hint = format!("give it a value, as in `{name} = 3`, or give the argument's shape");
            return Err(elab.report(Diagnostic::new(Code::SizeUnknown, span, message).hint(hint)));
        }
        elab.resolve(spec, &|name| self.size(name))
    }
}

/// The structure of a declared type with the given arrays.
fn structure<'t>(
    elab: &mut Elab<'_>,
    spec: &Spec,
    types: &mut impl Iterator<Item = &'t Type>,
    span: Span,
) -> R<TypeTree> {
    match spec {
        Spec::Array { .. } => match types.next() {
            Some(ty) => Ok(TypeTree::Array(ty.clone())),
            None => {
                let message = "too few arrays are given for this parameter";
                Err(elab.report(Diagnostic::new(Code::WrongArguments, span, message)))
            }
        },
        Spec::Tuple(items, _) => {
            let items: R<Vec<TypeTree>> =
                items.iter().map(|item| structure(elab, item, types, span)).collect();
            Ok(TypeTree::Tuple(items?))
        }
        Spec::Record(fields, _) => {
            let mut trees = Vec::new();
            for (name, field) in fields {
                trees.push((name.to_string(), structure(elab, field, types, span)?));
            }
            Ok(TypeTree::Record(trees))
        }
        Spec::Function { .. } => {
            let message = "a function cannot be given from outside";
            Err(elab.report(Diagnostic::new(Code::CannotInstantiate, span, message)))
        }
    }
}

/// Inputs of the program for every array of a type, named by their paths.
fn inputs(elab: &mut Elab<'_>, tree: &TypeTree, path: &str, span: Span) -> R<Value> {
    match tree {
        TypeTree::Array(ty) => {
            let made = elab.b.input(path, ty.clone());
            elab.lift(made, span).map(Value::Term)
        }
        TypeTree::Tuple(items) => {
            let mut values = Vec::new();
            for (k, item) in items.iter().enumerate() {
                values.push(inputs(elab, item, &format!("{path}.{k}"), span)?);
            }
            elab.bounded(Value::tuple(values), span)
        }
        TypeTree::Record(fields) => {
            let mut values = Vec::new();
            for (name, field) in fields {
                values.push((
                    name.as_str().into(),
                    inputs(elab, field, &format!("{path}.{name}"), span)?,
                ));
            }
            elab.bounded(Value::record(values), span)
        }
    }
}

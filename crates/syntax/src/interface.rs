//! What a function takes, seen from outside: its sizes, and the arrays of its parameters by path.

use cotan_array::Dtype;
use cotan_ir::{Limits, SourceMap};

use crate::ast::Ident;
use crate::elab::Elab;
use crate::elab::types::Spec;
use crate::load::{Failure, Modules};

/// What a function takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its size parameters: those in brackets, then those that only occur in types.
    pub sizes: Vec<String>,
    /// Its parameters.
    pub params: Vec<Parameter>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type as written.
    pub ty: String,
    /// Its arrays, in order; none for a function.
    pub leaves: Vec<Leaf>,
}

/// One array of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Where it is: `p.w`, `p.b.0`, or the name of the parameter itself.
    pub path: String,
    /// Its element type.
    pub dtype: Dtype,
    /// The number of its axes.
    pub rank: usize,
    /// Its type as written.
    pub ty: String,
}

impl Modules {
    /// What a function of the entry file takes; nothing if there is no such function.
    ///
    /// ```
    /// use cotan_syntax::load_text;
    ///
    /// let modules = load_text("f.ct", "
    ///     type Params[n] = {w: [n]f64, b: f64}
    ///     def loss(p: Params[n], x: [n]f64) = dot(p.w, x) + p.b
    /// ")?;
    /// let interface = modules.interface("loss")?;
    /// assert_eq!(interface.sizes, ["n"]);
    /// let leaves = interface.params.iter().flat_map(|param| &param.leaves);
    /// let shown: Vec<String> = leaves.map(|leaf| format!("{}: {}", leaf.path, leaf.ty)).collect();
    /// assert_eq!(shown, ["p.w: [n]f64", "p.b: f64", "x: [n]f64"]);
    /// # Ok::<(), cotan_syntax::Failure>(())
    /// ```
    pub fn interface(&self, function: &str) -> Result<Interface, Failure> {
        let Some(&id) = self.files.first().and_then(|file| file.defs.get(function)) else {
            return Ok(Interface::default());
        };
        let mut elab = Elab::new(self, Limits::default());
        let Ok(signature) = elab.signature(id) else {
            let (_, diagnostics) = elab.finish();
            return Err(Failure { diagnostics, sources: self.sources.clone() });
        };
        let parameter = |(name, spec): &(Ident, Spec)| {
            let mut leaves = Vec::new();
            collect(&self.sources, spec, name.name.to_string(), &mut leaves);
            let ty = self.sources.slice(spec.span()).to_owned();
            Parameter { name: name.name.to_string(), ty, leaves }
        };
        Ok(Interface {
            sizes: signature.sizes.iter().map(|size| size.name.to_string()).collect(),
            params: signature.params.iter().map(parameter).collect(),
        })
    }
}

/// Recurses over the structure of a type, whose depth the parser bounds.
fn collect(sources: &SourceMap, spec: &Spec, path: String, leaves: &mut Vec<Leaf>) {
    match spec {
        Spec::Array { sizes, dtype, span } => leaves.push(Leaf {
            path,
            dtype: *dtype,
            rank: sizes.len(),
            ty: sources.slice(*span).to_owned(),
        }),
        Spec::Tuple(items, _) => {
            for (k, item) in items.iter().enumerate() {
                collect(sources, item, format!("{path}.{k}"), leaves);
            }
        }
        Spec::Record(fields, _) => {
            for (name, field) in fields {
                collect(sources, field, format!("{path}.{name}"), leaves);
            }
        }
        Spec::Function { .. } => {}
    }
}

//! Programs that grow text by text, as at a prompt.

use cotan_ir::Span;

use crate::ast::{self, Ast, Ident, Item, Literal, Param};
use crate::elab::tree::TypeTree;
use crate::load::{Failure, Loading, Modules};
use crate::loader::Loader;
use crate::parse::parse_expression;

/// A value that the expressions of a session see: its name and its type.
pub type Variable = (String, TypeTree);

/// Texts that share one scope: each sees the definitions of all others, and a later definition takes
/// the place of an earlier one of the same name, also for what was defined before.
///
/// ```
/// use cotan_syntax::{MemoryLoader, Session, instantiate};
///
/// let mut session = Session::default();
/// session.add("1", "def f(x: f64) = g(x) + 1.0  def g(x: f64) = 2.0 * x");
/// session.add("2", "def g(x: f64) = x ** 2");
/// let modules = session.expression("3", "f(3.0)", &[], &MemoryLoader::new())?;
/// let main = instantiate(&modules, "main", &[], &[], &Default::default())?;
/// assert_eq!(main.program.to_string(), "def main() = 10.0\n");
/// # Ok::<(), cotan_syntax::Failure>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Session {
    texts: Vec<(String, String)>,
}

impl Session {
    /// Adds a text of declarations under the name that messages call it. A text that was added under
    /// the same name goes away.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) {
        let name = name.into();
        self.texts.retain(|(known, _)| *known != name);
        self.texts.push((name, text.into()));
    }

    /// The texts with their names, in order.
    pub fn texts(&self) -> &[(String, String)] {
        &self.texts
    }

    /// Everything that is defined, seen by an entry file without declarations.
    pub fn modules(&self, loader: &dyn Loader) -> Result<Modules, Failure> {
        let mut loading = Loading::new(loader);
        loading.parse("session".to_owned(), String::new());
        self.finish(loading)
    }

    /// A text that is one expression, as the body of a function `main` whose parameters are the
    /// variables.
    pub fn expression(
        &self,
        name: &str,
        text: &str,
        variables: &[Variable],
        loader: &dyn Loader,
    ) -> Result<Modules, Failure> {
        let mut loading = Loading::new(loader);
        loading.parse_by(name.to_owned(), text.to_owned(), parse_expression);
        if let Some(file) = loading.files.first_mut()
            && let [Item::Def(main)] = file.module.items.as_mut_slice()
        {
            let ast = &mut file.module.ast;
            let place = main.head_span;
            main.params = variables.iter().map(|variable| param(ast, variable, place)).collect();
        }
        self.finish(loading)
    }

    fn finish(&self, mut loading: Loading<'_>) -> Result<Modules, Failure> {
        for (name, text) in &self.texts {
            loading.parse(name.clone(), text.clone());
        }
        loading.follow_all_imports();
        loading.finish_sharing(1 + self.texts.len())
    }
}

fn param(ast: &mut Ast, (name, tree): &Variable, place: Span) -> Param {
    let name = Ident { name: name.as_str().into(), span: place };
    Param { name, ty: written(ast, tree, place) }
}

/// A type as if it were written. Recurses over the structure of a value, which is no deeper than the
/// expression that it came from.
fn written(ast: &mut Ast, tree: &TypeTree, span: Span) -> ast::TypeId {
    use ast::TypeKind;
    let kind = match tree {
        TypeTree::Array(ty) => {
            let scalar = ast.add_type(ast::Type { kind: TypeKind::Scalar(ty.dtype), span });
            if ty.shape.rank() == 0 {
                return scalar;
            }
            let size = |&k: &usize| {
                let value = i64::try_from(k).unwrap_or(i64::MAX);
                let literal = Literal::Int { value, suffix: false };
                ast.add_expr(ast::ExprKind::Literal(literal), span)
            };
            TypeKind::Array { sizes: ty.shape.dims().iter().map(size).collect(), element: scalar }
        }
        TypeTree::Tuple(items) => {
            TypeKind::Tuple(items.iter().map(|item| written(ast, item, span)).collect())
        }
        TypeTree::Record(fields) => {
            let field = |(name, tree): &(String, TypeTree)| {
                let name = Ident { name: name.as_str().into(), span };
                (name, written(ast, tree, span))
            };
            TypeKind::Record(fields.iter().map(field).collect())
        }
    };
    ast.add_type(ast::Type { kind, span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArgSpec, MemoryLoader, check, instantiate, load_expression};
    use cotan_ir::Limits;

    fn value(session: &Session, text: &str, variables: &[Variable]) -> Result<String, Failure> {
        let modules = session.expression("here", text, variables, &MemoryLoader::new())?;
        let args = vec![ArgSpec::Declared; variables.len()];
        let instance = instantiate(&modules, "main", &args, &[], &Limits::default())?;
        Ok(format!("{}: {}", instance.program.to_string().trim(), instance.result))
    }

    #[test]
    fn later_definitions_take_the_place_of_earlier_ones() {
        let mut session = Session::default();
        session.add("a", "def f(x: f64) = x + g(x)\ntype T = f64");
        assert!(
            session.modules(&MemoryLoader::new()).is_ok(),
            "`g` is missing only where it is used"
        );
        session.add("b", "def g(x: T) = x");
        assert_eq!(value(&session, "f(1.5)", &[]).unwrap(), "def main() = 3.0: f64");
        session.add("c", "type T = [n]f64");
        session.add("d", "def g(x: f64) = 3.0 * x");
        assert_eq!(value(&session, "f(1.5)", &[]).unwrap(), "def main() = 6.0: f64");
        let names: Vec<String> = session
            .modules(&MemoryLoader::new())
            .unwrap()
            .visible_functions()
            .iter()
            .map(|info| info.name.to_owned())
            .collect();
        assert_eq!(names, ["f", "g"]);
    }

    #[test]
    fn variables_have_the_types_of_values() {
        let limits = Limits::default();
        let made = load_expression("x", "{w = ([1.0, 2.0], 3), b = true}").unwrap();
        let tree = instantiate(&made, "main", &[], &[], &limits).unwrap().result;
        let variables = [("p".to_owned(), tree)];
        let got = value(&Session::default(), "sum(p.w.0)", &variables).unwrap();
        assert!(got.ends_with("sum_outer(`p.w.0`): f64"), "{got}");
    }

    #[test]
    fn messages_name_the_text_that_they_are_about() {
        let mut session = Session::default();
        session.add("first", "def f(x: f64) = nothing(x)");
        let modules = session.modules(&MemoryLoader::new()).unwrap();
        let found = check(&modules, &Limits::default());
        let shown = Failure { diagnostics: found, sources: modules.sources().clone() }.to_string();
        assert!(shown.contains("--> first:1:17"), "{shown}");
        let shown = value(&session, "1 +\n  oops", &[]).unwrap_err().to_string();
        assert!(shown.contains("--> here:2:3"), "{shown}");
    }

    #[test]
    fn imports_are_seen_by_all_texts() {
        let loader = MemoryLoader::new().with("lib.ct", "def two() = 2.0");
        let mut session = Session::default();
        session.add("a", "import \"lib.ct\"");
        session.add("b", "import \"lib.ct\" as lib");
        let modules = session.expression("e", "two() + lib.two()", &[], &loader).unwrap();
        assert!(instantiate(&modules, "main", &[], &[], &Limits::default()).is_ok());
        session.add("c", "import \"none.ct\"");
        assert!(session.modules(&loader).is_err());
    }
}

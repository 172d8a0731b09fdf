//! Types as written, with aliases expanded and sizes as small programs over size names.

use std::fmt;
use std::rc::Rc;

use cotan_array::{Dtype, Shape};
use cotan_ir::{Span, Type};
use rustc_hash::FxHashSet;

use super::tree::TypeTree;
use super::{Elab, R};
use crate::ast::{BinaryOp, ExprId, ExprKind, Ident, Literal, Name, TypeId, TypeKind, UnaryOp};
use crate::diagnostic::{Code, Diagnostic};
use crate::load::DefId;
use crate::sizes::{Condition, Poly, Space};

/// How deep aliases may refer to aliases.
const MAX_ALIAS_DEPTH: usize = 64;
/// How many types one type may expand to.
const MAX_TYPES: usize = 1 << 16;

/// A type with its aliases expanded. Arrays of structures are structures of arrays already.
#[derive(Clone, Debug)]
pub(crate) enum Spec {
    /// `[n, 2 * d]f64`, `f64`
    Array { sizes: Vec<Size>, dtype: Dtype, span: Span },
    /// `(T, U)`
    Tuple(Vec<Spec>, Span),
    /// `{w: T}`
    Record(Vec<(Name, Spec)>, Span),
    /// `(T, U) -> R`
    Function { params: Rc<[Spec]>, result: Rc<Spec>, span: Span },
}

/// A size: postfix steps, so that long sums need no recursion.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    steps: Rc<[SizeStep]>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
enum SizeStep {
    Int(i64),
    Name(Name),
    Negate,
    Apply(BinaryOp),
}

/// Why a size has no value.
#[derive(Clone, Debug)]
pub(crate) enum SizeFault {
    /// A name has no value (yet).
    Unknown(Name),
    /// The arithmetic leaves the integers.
    Overflow,
}

impl Size {
    /// The name, if the size is just one.
    pub(crate) fn name(&self) -> Option<&Name> {
        match &*self.steps {
            [SizeStep::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether it is a number as written.
    pub(crate) fn is_number(&self) -> bool {
        matches!(&*self.steps, [SizeStep::Int(_)])
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.steps.iter().filter_map(|step| match step {
            SizeStep::Name(name) => Some(name),
            SizeStep::Int(_) | SizeStep::Negate | SizeStep::Apply(_) => None,
        })
    }

    /// The size as an expression, given those of the names; `None` if it is no polynomial.
    pub(crate) fn poly(
        &self,
        lookup: impl Fn(&str) -> Option<Poly>,
        space: &mut Space,
    ) -> Option<Poly> {
        let mut stack: Vec<Poly> = Vec::new();
        for step in self.steps.iter() {
            let p = match step {
                SizeStep::Int(value) => Poly::constant(i128::from(*value)),
                SizeStep::Name(name) => lookup(name)?,
                SizeStep::Negate => stack.pop()?.scale(-1)?,
                SizeStep::Apply(op) => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    match op {
                        BinaryOp::Add => a.add(&b)?,
                        BinaryOp::Sub => a.sub(&b)?,
                        BinaryOp::Mul => a.mul(&b)?,
                        BinaryOp::FloorDiv => space.divide(&a, b.as_constant()?)?.0,
                        BinaryOp::Rem => space.divide(&a, b.as_constant()?)?.1,
                        _ => match (b.as_constant()?, a.as_constant()) {
                            (n @ 0..=8, None) => {
                                (0..n).try_fold(Poly::constant(1), |power, _| power.mul(&a))?
                            }
                            (n, Some(a)) => {
                                let power =
                                    apply(*op, i64::try_from(a).ok()?, i64::try_from(n).ok()?)?;
                                Poly::constant(i128::from(power))
                            }
                            _ => return None,
                        },
                    }
                }
            };
            stack.push(p);
        }
        stack.pop()
    }

    /// The value, given those of the names.
    pub(crate) fn eval(&self, lookup: impl Fn(&str) -> Option<i64>) -> Result<i64, SizeFault> {
        let mut stack: Vec<i64> = Vec::new();
        for step in self.steps.iter() {
            let value = match step {
                SizeStep::Int(value) => Some(*value),
                SizeStep::Name(name) => {
                    Some(lookup(name).ok_or_else(|| SizeFault::Unknown(name.clone()))?)
                }
                SizeStep::Negate => stack.pop().and_then(i64::checked_neg),
                SizeStep::Apply(op) => {
                    let (b, a) = (stack.pop(), stack.pop());
                    a.zip(b).and_then(|(a, b)| apply(*op, a, b))
                }
            };
            stack.push(value.ok_or(SizeFault::Overflow)?);
        }
        stack.pop().ok_or(SizeFault::Overflow)
    }
}

impl fmt::Display for Size {
    /// As written, but for parentheses and the names that aliases have put in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // How tightly the operator of a text binds.
        const ATOM: u8 = 4;
        let mut stack: Vec<(String, u8)> = Vec::new();
        let wrapped = |(text, tight): (String, u8), least: u8| {
            if tight < least { format!("({text})") } else { text }
        };
        for step in self.steps.iter() {
            let shown = match step {
                SizeStep::Int(value) => (value.to_string(), ATOM),
                SizeStep::Name(name) => (name.to_string(), ATOM),
                SizeStep::Negate => match stack.pop() {
                    Some(operand) => (format!("-{}", wrapped(operand, 3)), 2),
                    None => return Err(fmt::Error),
                },
                SizeStep::Apply(op) => {
                    let (Some(b), Some(a)) = (stack.pop(), stack.pop()) else {
                        return Err(fmt::Error);
                    };
                    let tight = match op {
                        BinaryOp::Add | BinaryOp::Sub => 1,
                        BinaryOp::Pow => 3,
                        _ => 2,
                    };
                    let (left, right) = match op {
                        BinaryOp::Pow => (tight + 1, tight),
                        _ => (tight, tight + 1),
                    };
                    let text = format!("{} {} {}", wrapped(a, left), op.text(), wrapped(b, right));
                    (text, tight)
                }
            };
            stack.push(shown);
        }
        f.write_str(&stack.pop().unwrap_or_default().0)
    }
}

/// Arithmetic of sizes, as that of integers but checked.
fn apply(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv | BinaryOp::Rem if b == 0 => Some(0),
        BinaryOp::FloorDiv => {
            a.checked_div_euclid(b).map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q })
        }
        BinaryOp::Rem => a.checked_rem_euclid(b).map(|r| if b < 0 && r != 0 { r + b } else { r }),
        BinaryOp::Pow => a.checked_pow(u32::try_from(b).ok()?),
        BinaryOp::Or | BinaryOp::Xor | BinaryOp::And | BinaryOp::Div => None,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            None
        }
    }
}

impl Spec {
    /// Where it is written.
    pub(crate) fn span(&self) -> Span {
        match self {
            Spec::Array { span, .. } | Spec::Tuple(_, span) | Spec::Record(_, span) => *span,
            Spec::Function { span, .. } => *span,
        }
    }

    /// Whether it is or holds a function.
    pub(crate) fn has_function(&self) -> bool {
        match self {
            Spec::Array { .. } => false,
            Spec::Tuple(items, _) => items.iter().any(Spec::has_function),
            Spec::Record(fields, _) => fields.iter().any(|(_, field)| field.has_function()),
            Spec::Function { .. } => true,
        }
    }

    /// Calls `visit` with every size of its arrays, in order; not with those of function types.
    pub(crate) fn for_each_size(&self, visit: &mut dyn FnMut(&Size)) {
        match self {
            Spec::Array { sizes, .. } => sizes.iter().for_each(visit),
            Spec::Tuple(items, _) => items.iter().for_each(|item| item.for_each_size(visit)),
            Spec::Record(fields, _) => {
                fields.iter().for_each(|(_, field)| field.for_each_size(visit));
            }
            Spec::Function { .. } => {}
        }
    }
}

/// What a definition's head says.
#[derive(Debug)]
pub(crate) struct Signature {
    /// The size parameters: those declared, then those that only occur.
    pub(crate) sizes: Vec<Ident>,
    /// How many of them are declared, and may be given in `f[3](x)`.
    pub(crate) declared: usize,
    pub(crate) size_names: FxHashSet<Name>,
    pub(crate) params: Vec<(Ident, Spec)>,
    pub(crate) result: Option<Spec>,
}

/// Where a type is being expanded.
struct Expansion<'a> {
    file: usize,
    /// In the body of an alias: what its size parameters stand for.
    sizes: Option<&'a [(Name, Size)]>,
    depth: usize,
}

impl<'m> Elab<'m> {
    /// The signature of a definition, made once.
    pub(crate) fn signature(&mut self, id: DefId) -> R<Rc<Signature>> {
        if let Some(known) = self.signatures.get(&id) {
            return known.clone().ok_or(super::Reported);
        }
        let made = self.make_signature(id).map(Rc::new);
        self.signatures.insert(id, made.as_ref().ok().cloned());
        made
    }

    fn make_signature(&mut self, id: DefId) -> R<Signature> {
        let modules = self.modules;
        let def = modules.def(id).ok_or_else(|| self.internal("a definition is missing"))?;
        let mut sizes: Vec<Ident> = Vec::new();
        let mut names = FxHashSet::default();
        for size in &def.sizes {
            if !names.insert(size.name.clone()) {
                return Err(self.duplicate_name(size));
            }
            sizes.push(size.clone());
        }
        let declared = sizes.len();
        let mut param_names = FxHashSet::default();
        for param in &def.params {
            if !param_names.insert(param.name.name.clone()) || names.contains(&param.name.name) {
                return Err(self.duplicate_name(&param.name));
            }
        }
        let mut params = Vec::new();
        for param in &def.params {
            let spec = self.spec(id.file, param.ty)?;
            spec.for_each_size(&mut |size| {
                for name in size.names() {
                    if !param_names.contains(name) && names.insert(name.clone()) {
                        sizes.push(Ident { name: name.clone(), span: size.span });
                    }
                }
            });
            params.push((param.name.clone(), spec));
        }
        let result = match def.result {
            Some(ty) => Some(self.spec(id.file, ty)?),
            None => None,
        };
        Ok(Signature { sizes, declared, size_names: names, params, result })
    }

    fn duplicate_name(&mut self, name: &Ident) -> super::Reported {
        let message = format!("the name `{}` is used twice here", name.name);
        self.report(
            Diagnostic::new(Code::DuplicateName, name.span, message).hint("rename one of them"),
        )
    }

    /// A type of a file, with aliases expanded.
    pub(crate) fn spec(&mut self, file: usize, ty: TypeId) -> R<Spec> {
        let mut budget = MAX_TYPES;
        self.expand(ty, &Expansion { file, sizes: None, depth: 0 }, &[], &mut budget)
    }

    /// Expands `[outer..]ty`.
    fn expand(
        &mut self,
        ty: TypeId,
        at: &Expansion<'_>,
        outer: &[Size],
        budget: &mut usize,
    ) -> R<Spec> {
        let modules = self.modules;
        let Some(file) = modules.files.get(at.file) else {
            return Err(self.internal("a file is missing"));
        };
        let node = &file.module.ast[ty];
        let span = node.span;
        let Some(left) = budget.checked_sub(1) else {
            let message = format!("this type has more than {MAX_TYPES} parts");
            return Err(self.report(Diagnostic::new(Code::LimitExceeded, span, message)));
        };
        *budget = left;
        match &node.kind {
            TypeKind::Scalar(dtype) => {
                Ok(Spec::Array { sizes: outer.to_vec(), dtype: *dtype, span })
            }
            TypeKind::Array { sizes, element } => {
                let mut all = outer.to_vec();
                for &size in sizes {
                    all.push(self.size(size, at)?);
                }
                let mut spec = self.expand(*element, at, &all, budget)?;
                if let Spec::Array { span: place, .. } = &mut spec {
                    *place = span;
                }
                Ok(spec)
            }
            TypeKind::Tuple(items) => {
                let items: R<Vec<Spec>> =
                    items.iter().map(|&item| self.expand(item, at, outer, budget)).collect();
                Ok(Spec::Tuple(items?, span))
            }
            TypeKind::Record(fields) => {
                let mut seen = FxHashSet::default();
                let mut specs = Vec::new();
                for (name, field) in fields {
                    if !seen.insert(name.name.clone()) {
                        return Err(self.duplicate_name(name));
                    }
                    specs.push((name.name.clone(), self.expand(*field, at, outer, budget)?));
                }
                Ok(Spec::Record(specs, span))
            }
            TypeKind::Function { params, result } => {
                if !outer.is_empty() {
                    let message = "there are no arrays of functions";
                    return Err(self.report(Diagnostic::new(Code::NotAnArray, span, message)));
                }
                let params: R<Vec<Spec>> =
                    params.iter().map(|&param| self.expand(param, at, &[], budget)).collect();
                let result = self.expand(*result, at, &[], budget)?;
                Ok(Spec::Function { params: params?.into(), result: Rc::new(result), span })
            }
            TypeKind::Alias { module, name, sizes } => {
                let home = match module {
                    None => at.file,
                    Some(alias) => match file.aliases.get(&alias.name) {
                        Some(&home) => home,
                        None => return Err(self.unknown_import(alias)),
                    },
                };
                let Some(&id) = modules.files.get(home).and_then(|f| f.types.get(&name.name))
                else {
                    return Err(self.unknown_type(home, name));
                };
                self.expand_alias(id, name, sizes, at, outer, budget)
            }
            TypeKind::Error => Err(super::Reported),
        }
    }

    fn expand_alias(
        &mut self,
        id: DefId,
        name: &Ident,
        sizes: &[ExprId],
        at: &Expansion<'_>,
        outer: &[Size],
        budget: &mut usize,
    ) -> R<Spec> {
        let modules = self.modules;
        let def = modules.type_def(id).ok_or_else(|| self.internal("a type is missing"))?;
        if at.depth >= MAX_ALIAS_DEPTH {
            let message = format!(
                "the type `{}` refers to itself, or to a chain of more than {MAX_ALIAS_DEPTH} types",
                name.name
            );
            let hint = "types are finite trees: there are no recursive types";
            return Err(self.report(
                Diagnostic::new(Code::RecursiveType, name.span, message)
                    .also(def.name.span, "defined here")
                    .hint(hint),
            ));
        }
        if def.sizes.len() != sizes.len() {
            let message =
                format!("`{}` takes {} sizes, not {}", name.name, def.sizes.len(), sizes.len());
            return Err(self.report(
                Diagnostic::new(Code::WrongArguments, name.span, message)
                    .also(def.name.span, "defined here"),
            ));
        }
        let mut given = Vec::new();
        for (param, &size) in def.sizes.iter().zip(sizes) {
            given.push((param.name.clone(), self.size(size, at)?));
        }
        let inside = Expansion { file: id.file, sizes: Some(&given), depth: at.depth + 1 };
        self.expand(def.ty, &inside, outer, budget)
    }

    /// A size expression: names, integers and their arithmetic.
    fn size(&mut self, expr: ExprId, at: &Expansion<'_>) -> R<Size> {
        enum Task {
            Visit(ExprId),
            Emit(SizeStep),
        }
        let modules = self.modules;
        let Some(file) = modules.files.get(at.file) else {
            return Err(self.internal("a file is missing"));
        };
        let ast = &file.module.ast;
        let (mut steps, mut tasks) = (Vec::new(), vec![Task::Visit(expr)]);
        while let Some(task) = tasks.pop() {
            let visited = match task {
                Task::Emit(step) => {
                    steps.push(step);
                    continue;
                }
                Task::Visit(visited) => visited,
            };
            let node = &ast[visited];
            match &node.kind {
                ExprKind::Literal(Literal::Int { value, .. }) => steps.push(SizeStep::Int(*value)),
                ExprKind::Name(name) => match at.sizes {
                    None => steps.push(SizeStep::Name(name.clone())),
                    Some(given) => match given.iter().find(|(param, _)| param == name) {
                        Some((_, size)) => steps.extend(size.steps.iter().cloned()),
                        None => {
                            let message = format!("unknown size `{name}`");
                            let hint = format!("declare it: `type Name[{name}] = …`");
                            return Err(self.report(
                                Diagnostic::new(Code::UnknownName, ast.span(visited), message)
                                    .hint(hint),
                            ));
                        }
                    },
                },
                ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                    tasks.push(Task::Emit(SizeStep::Negate));
                    tasks.push(Task::Visit(*operand));
                }
                ExprKind::Binary { op, lhs, rhs, .. } if is_size_op(*op) => {
                    tasks.push(Task::Emit(SizeStep::Apply(*op)));
                    tasks.push(Task::Visit(*rhs));
                    tasks.push(Task::Visit(*lhs));
                }
                ExprKind::Error => return Err(super::Reported),
                _ => {
                    let message = "a size in a type is made of names, integers and `+ - * // % **`";
                    return Err(self.report(Diagnostic::new(
                        Code::NotStatic,
                        ast.span(visited),
                        message,
                    )));
                }
            }
            if steps.len() > MAX_TYPES {
                let message = format!("this size has more than {MAX_TYPES} parts");
                return Err(self.report(Diagnostic::new(
                    Code::LimitExceeded,
                    ast.span(visited),
                    message,
                )));
            }
        }
        Ok(Size { steps: steps.into(), span: ast.span(expr) })
    }

    /// The type with all sizes known.
    pub(crate) fn resolve(
        &mut self,
        spec: &Spec,
        lookup: &dyn Fn(&str) -> Option<i64>,
    ) -> R<TypeTree> {
        match spec {
            Spec::Array { sizes, dtype, span } => {
                let mut dims = Vec::new();
                for size in sizes {
                    let value = self.size_value(size, lookup)?;
                    dims.push(self.size_from(value, size.span)?);
                }
                let shape = self.shape(&dims, *span)?;
                Ok(TypeTree::Array(Type::new(*dtype, shape)))
            }
            Spec::Tuple(items, _) => {
                let items: R<Vec<TypeTree>> =
                    items.iter().map(|item| self.resolve(item, lookup)).collect();
                Ok(TypeTree::Tuple(items?))
            }
            Spec::Record(fields, _) => {
                let mut trees = Vec::new();
                for (name, field) in fields {
                    trees.push((name.to_string(), self.resolve(field, lookup)?));
                }
                Ok(TypeTree::Record(trees))
            }
            Spec::Function { span, .. } => {
                let message = "a function type cannot stand here";
                let hint =
                    "functions may be parameters of a `def`, and nothing else has a function type";
                Err(self.report(Diagnostic::new(Code::NotAnArray, *span, message).hint(hint)))
            }
        }
    }

    /// The value of a size, or a message that says which name is missing.
    pub(crate) fn size_value(
        &mut self,
        size: &Size,
        lookup: &dyn Fn(&str) -> Option<i64>,
    ) -> R<i64> {
        let value = size.eval(lookup);
        if let (Ok(value), Some(trace)) = (&value, &mut self.trace) {
            let names: Option<Vec<(Name, Poly)>> =
                size.names().map(|name| Some((name.clone(), trace.of(lookup(name)?)?))).collect();
            let p = names.and_then(|names| {
                let find = |name: &str| {
                    names.iter().find(|(known, _)| &**known == name).map(|(_, p)| p.clone())
                };
                size.poly(find, &mut trace.space)
            });
            trace.register(*value, p);
        }
        value.map_err(|fault| match fault {
            SizeFault::Unknown(name) => {
                let message = format!("the size `{name}` is not known here");
                let hint = "a size is a size parameter, or an integer known at compile time";
                self.report(Diagnostic::new(Code::SizeUnknown, size.span, message).hint(hint))
            }
            SizeFault::Overflow => {
                let message = "this size does not fit a 64-bit integer";
                self.report(Diagnostic::new(Code::BadSize, size.span, message))
            }
        })
    }

    /// A size that is not negative.
    pub(crate) fn size_from(&mut self, value: i64, span: Span) -> R<usize> {
        let negative = || {
            let message = format!("a size cannot be negative: this one is {value}");
            Diagnostic::new(Code::BadSize, span, message)
        };
        match usize::try_from(value) {
            Ok(size) => {
                self.must_not_be_negative(|trace| vec![trace.of(value)], negative);
                Ok(size)
            }
            Err(_) => {
                self.unless(|trace| Some(vec![vec![Condition::NotNegative(trace.of(value)?)]]));
                Err(self.report(negative()))
            }
        }
    }

    /// A shape, if it has not too many elements or axes.
    pub(crate) fn shape(&mut self, dims: &[usize], span: Span) -> R<Shape> {
        Shape::new("shape", dims).map_err(|error| {
            self.report(Diagnostic::new(Code::LimitExceeded, span, error.to_string()))
        })
    }
}

fn is_size_op(op: BinaryOp) -> bool {
    use BinaryOp::{Add, FloorDiv, Mul, Pow, Rem, Sub};
    matches!(op, Add | Sub | Mul | FloorDiv | Rem | Pow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_arithmetic_is_that_of_integers() {
        for a in -7..=7 {
            for b in -3..=3 {
                let op = |op| {
                    cotan_ir::scalar::eval(
                        op,
                        &[cotan_ir::scalar::Scalar::I64(a), cotan_ir::scalar::Scalar::I64(b)],
                    )
                };
                let (div, rem) =
                    (op(cotan_ir::scalar::Op::FloorDiv), op(cotan_ir::scalar::Op::Rem));
                assert_eq!(
                    apply(BinaryOp::FloorDiv, a, b),
                    div.and_then(|x| x.as_i64()),
                    "{a} // {b}"
                );
                assert_eq!(apply(BinaryOp::Rem, a, b), rem.and_then(|x| x.as_i64()), "{a} % {b}");
            }
        }
        assert_eq!(apply(BinaryOp::Mul, i64::MAX, 2), None);
        assert_eq!(apply(BinaryOp::Pow, 2, 10), Some(1024));
    }
}

//! Programs as text: a subset of the surface language that parses back to the same program.
//!
//! A node used once, in the scope it belongs to, stands where it is used, unless the expression
//! grows too tall; every other node is bound by a `let` in its scope. Nothing else is decided here:
//! each former has one way to be written.

use std::fmt::{self, Write};

use cotan_array::{Array, Dtype};

use crate::custom::{Checkpoint, Keep};
use crate::scalar::{Notation, Op, precedence};
use crate::term::{
    CustomKind, MapAccum, Node, Output, Param, Program, Region, RegionId, TermId, Type, While,
};
use crate::walk::{Scope, Scopes, use_counts};

/// The tallest expression written without a `let`.
const MAX_HEIGHT: u8 = 8;
/// Constants with more elements than this are bound by a `let`.
const MAX_INLINE_ELEMENTS: usize = 16;
/// The strength of names, calls, literals and brackets.
const ATOM: u8 = 10;
/// The strength of forms that extend as far as they can.
const OPEN: u8 = 0;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Printer::new(self).program())
    }
}

/// An expression and how tightly it binds.
type Text = (String, u8);

/// How the parameters of a lambda are written.
#[derive(Clone, Copy)]
enum Params {
    /// One after the other.
    Plain,
    /// As one tuple.
    Tuple,
    /// As two tuples, the first of so many.
    TwoParts(usize),
}

struct Printer<'a> {
    program: &'a Program,
    scopes: Scopes,
    /// Whether a node is written where it is used.
    inline: Vec<bool>,
    /// The names of bound nodes and variables now in scope.
    names: Vec<Option<String>>,
    lets: usize,
    indices: usize,
    values: usize,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program) -> Printer<'a> {
        let scopes = Scopes::new(program);
        let inline = decide_inline(program);
        let names = vec![None; program.len()];
        Printer { program, scopes, inline, names, lets: 0, indices: 0, values: 0 }
    }

    fn program(mut self) -> String {
        let mut header = String::from("def main(");
        for (k, input) in self.program.inputs().iter().enumerate() {
            let separator = if k == 0 { "" } else { ", " };
            let _ = write!(header, "{separator}{}: {}", quote(&input.name), input.ty);
        }
        header.push_str(") =");
        let top = std::mem::take(&mut self.scopes.top);
        let (body, block) = self.body(&top, 1, |printer| outputs(printer));
        header.push_str(if block { "\n  " } else { " " });
        header.push_str(&body);
        header.push('\n');
        header
    }

    /// The `let`s of a scope, then its result; and whether there were any.
    fn body(
        &mut self,
        scope: &Scope,
        indent: usize,
        result: impl FnOnce(&mut Self) -> String,
    ) -> (String, bool) {
        let mut text = String::new();
        let line = format!("\n{}", "  ".repeat(indent));
        for &t in scope.order() {
            if self.inline[t.index()] || self.program.is_atom(t) {
                continue;
            }
            let (value, _) = self.node(t, indent);
            self.lets += 1;
            let name =
                self.fresh(if self.program.node(t).has_results() { "m" } else { "x" }, self.lets);
            let separator = if text.is_empty() { "" } else { &line };
            let _ = write!(text, "{separator}let {name} = {value}");
            self.names[t.index()] = Some(name);
        }
        let result = result(self);
        if text.is_empty() {
            return (result, false);
        }
        let _ = write!(text, "{line}in {result}");
        (text, true)
    }

    /// A term where it is used.
    fn term(&mut self, t: TermId, indent: usize) -> Text {
        if let Node::Input(k) = self.program.node(t) {
            return (quote(&self.program.inputs()[*k as usize].name), ATOM);
        }
        match &self.names[t.index()] {
            Some(name) => (name.clone(), ATOM),
            None => self.node(t, indent),
        }
    }

    /// A term as an argument of a call: needs no parentheses.
    fn argument(&mut self, t: TermId, indent: usize) -> String {
        self.term(t, indent).0
    }

    /// A term as an operand of something that binds with `strength`.
    fn operand(&mut self, t: TermId, strength: u8, indent: usize) -> String {
        let (text, own) = self.term(t, indent);
        if own < strength { format!("({text})") } else { text }
    }

    fn arguments(&mut self, ts: &[TermId], indent: usize) -> Vec<String> {
        ts.iter().map(|&t| self.argument(t, indent)).collect()
    }

    fn list(&mut self, ts: &[TermId], indent: usize) -> String {
        self.arguments(ts, indent).join(", ")
    }

    /// A node written out.
    fn node(&mut self, t: TermId, indent: usize) -> Text {
        let call = |text: String| (text, ATOM);
        match self.program.node(t) {
            Node::Const(c) => constant(c),
            // Inputs and variables have names wherever they are in scope.
            Node::Input(k) => call(format!("input_{k}")),
            Node::Var { level, position, .. } => call(format!("var_{level}_{position}")),
            Node::Cond(p, u, v) => call(format!("cond({})", self.list(&[*p, *u, *v], indent))),
            Node::Op(op, args) => self.operation(*op, args, indent),
            Node::Index(u, ix) => {
                let base = self.operand(*u, ATOM, indent);
                let base = if self.program.is_atom(*u) && self.constant_atom(*u) {
                    format!("({base})")
                } else {
                    base
                };
                call(format!("{base}[{}]", self.positions(ix, indent)))
            }
            Node::SumOuter(u) | Node::ArgExtreme(_, u) | Node::ArgSort(u) => {
                let name = self.program.node(t).name();
                call(format!("{name}({})", self.argument(*u, indent)))
            }
            Node::SegmentArg(_, k, u, ids) => {
                let name = self.program.node(t).name();
                call(format!("{name}({}, {k})", self.list(&[*u, *ids], indent)))
            }
            Node::Routine(routine, ts) => {
                call(format!("{}({})", routine.name(), self.list(ts, indent)))
            }
            Node::Gather(u, r) => {
                let sizes = self.program.index_sizes(*r);
                let array = self.argument(*u, indent);
                let function = self.index_function(*r, indent);
                call(format!("gather({array}, {sizes:?}, {function})"))
            }
            Node::Scatter(sh, u, r) => {
                let array = self.argument(*u, indent);
                let function = self.index_function(*r, indent);
                call(format!("scatter({array}, {sh}, {function})"))
            }
            Node::Stack(ts) => call(format!("stack({})", self.list(ts, indent))),
            Node::Replicate(k, u) => call(format!("replicate({}, {k})", self.argument(*u, indent))),
            Node::Transpose(perm, u) => {
                call(format!("transpose({}, {perm:?})", self.argument(*u, indent)))
            }
            Node::Reshape(sh, u) => call(format!("reshape({}, {sh})", self.argument(*u, indent))),
            Node::Build1(r) => {
                let k = self.program.index_sizes(*r).first().copied().unwrap_or(0);
                let function = self.lambda(*r, Params::Plain, indent, |printer, region| {
                    region
                        .results()
                        .first()
                        .map_or(String::new(), |&t| printer.argument(t, indent + 1))
                });
                (format!("build {k} ({function})"), OPEN)
            }
            Node::Iota(k) => call(format!("iota({k})")),
            Node::OneHot(sh, v, ix) => {
                let value = self.argument(*v, indent);
                call(format!("one_hot({value}, {sh}, [{}])", self.list(ix, indent)))
            }
            Node::MapAccum(m) => call(self.map_accum(m, indent)),
            Node::While(w) => call(self.while_accum(w, indent)),
            Node::Custom(c) => {
                let args = tuple(&self.arguments(&c.args, indent));
                if let CustomKind::Checkpoint(checkpoint) = c.kind {
                    return call(self.checkpoint(checkpoint, &args, c.region, indent));
                }
                // The types of what the rule takes, by example.
                let region = self.program.region(c.region);
                let taken = region.params().iter().skip(c.args.len());
                let like: Vec<String> = taken.map(|&p| zero_of(self.program.ty(p))).collect();
                let function = self.two_part(c.region, c.args.len(), c.outputs, indent);
                let name = self.program.node(t).name();
                call(format!("{name}({args}, {}, {function})", tuple(&like)))
            }
            Node::Result(u, k) => {
                let k = *k as usize;
                let path = match self.program.node(*u) {
                    Node::MapAccum(m) if k < m.init.len() => format!("0.{k}"),
                    Node::MapAccum(m) => format!("1.{}", k - m.init.len()),
                    Node::While(w) if k < w.init.len() => format!("0.{k}"),
                    Node::While(w) => format!("1.{}", k - w.init.len()),
                    _ => k.to_string(),
                };
                call(format!("{}.{path}", self.operand(*u, ATOM, indent)))
            }
        }
    }

    /// The components of an index. A negative literal would count from the end, unless it has a
    /// suffix.
    fn positions(&mut self, ix: &[TermId], indent: usize) -> String {
        let mut shown = self.arguments(ix, indent);
        for (text, &i) in shown.iter_mut().zip(ix) {
            if self.constant_atom(i) && text.starts_with('-') {
                text.push_str("i64");
            }
        }
        shown.join(", ")
    }

    /// Whether a term is written as a scalar literal.
    fn constant_atom(&self, t: TermId) -> bool {
        matches!(self.program.node(t), Node::Const(c) if c.shape().rank() == 0)
    }

    /// Infix or prefix where the row has it and some operand is not a literal (operators on
    /// literals alone would be folded when read back), otherwise a call.
    fn operation(&mut self, op: Op, args: &[TermId], indent: usize) -> Text {
        let literal = args.iter().all(|&t| self.constant_atom(t));
        match (op.row().notation, args) {
            (Notation::Infix(sign, p), &[a, b]) if !literal => {
                let (left, right) = match p {
                    precedence::COMPARE => (p + 1, p + 1),
                    precedence::POW => (p + 1, p),
                    _ => (p, p + 1),
                };
                let a = self.operand(a, left, indent);
                let b = self.operand(b, right, indent);
                (format!("{a} {sign} {b}"), p)
            }
            (Notation::Prefix(sign, p), &[a]) if !literal => {
                let space = if sign.ends_with(char::is_alphabetic) { " " } else { "" };
                (format!("{sign}{space}{}", self.operand(a, p + 1, indent)), p)
            }
            _ => (format!("{}({})", op.name(), self.list(args, indent)), ATOM),
        }
    }

    fn index_function(&mut self, r: RegionId, indent: usize) -> String {
        self.lambda(r, Params::Plain, indent, |printer, region| {
            format!("[{}]", printer.list(region.results(), indent + 1))
        })
    }

    fn map_accum(&mut self, m: &MapAccum, indent: usize) -> String {
        let init = tuple(&self.arguments(&m.init, indent));
        let inputs = tuple(&self.arguments(&m.inputs, indent));
        let step = self.two_part(m.step, m.init.len(), m.init.len(), indent);
        let reverse = if m.reverse { ", reverse = true" } else { "" };
        format!("map_accum({init}, {inputs}, {step}, length = {}{reverse})", m.length)
    }

    fn while_accum(&mut self, w: &While, indent: usize) -> String {
        let init = tuple(&self.arguments(&w.init, indent));
        let step = self.lambda(w.step, Params::Tuple, indent, |printer, region| {
            let (condition, results) = region.results().split_at(1);
            let (next, outputs) = results.split_at(w.init.len());
            let condition = printer.list(condition, indent + 1);
            let next = tuple(&printer.arguments(next, indent + 1));
            format!("({condition}, {next}, {})", tuple(&printer.arguments(outputs, indent + 1)))
        });
        let bound = w.bound.map_or(String::new(), |bound| format!(", at_most = {bound}"));
        format!("while_accum({init}, {step}{bound})")
    }

    fn checkpoint(&mut self, c: Checkpoint, args: &str, r: RegionId, indent: usize) -> String {
        let function = self.lambda(r, Params::Tuple, indent, |printer, region| {
            tuple(&printer.arguments(region.results(), indent + 1))
        });
        let keep = match c.keep {
            Keep::Nothing => String::new(),
            Keep::Everything => ", everything = true".to_owned(),
            Keep::Contractions => ", contractions = true".to_owned(),
            Keep::Bytes(bytes) => format!(", bytes = {bytes}"),
            Keep::States(states) => format!(", states = {states}"),
        };
        let again = if c.again { ", again = true" } else { "" };
        format!("with_checkpoint({args}, {function}{keep}{again})")
    }

    /// `((p, ..), (q, ..)) => ((t, ..), (u, ..))`, parameters and results each in two parts.
    fn two_part(&mut self, r: RegionId, params: usize, results: usize, indent: usize) -> String {
        self.lambda(r, Params::TwoParts(params), indent, |printer, region| {
            let (first, second) = region.results().split_at(results);
            let first = tuple(&printer.arguments(first, indent + 1));
            format!("({first}, {})", tuple(&printer.arguments(second, indent + 1)))
        })
    }

    /// `params => result`, with the `let`s of the region between.
    fn lambda(
        &mut self,
        r: RegionId,
        form: Params,
        indent: usize,
        result: impl FnOnce(&mut Self, &Region) -> String,
    ) -> String {
        let program = self.program;
        let region = program.region(r);
        let (indices, values) = (self.indices, self.values);
        for &p in region.params() {
            let name = match program.node(p) {
                Node::Var { param, .. } if matches!(**param, Param::Index(_)) => {
                    self.indices += 1;
                    let letter = ["i", "j", "k", "l", "m", "n"][(self.indices - 1) % 6];
                    match (self.indices - 1) / 6 {
                        0 if !self.is_input(letter) => letter.to_string(),
                        round => self.fresh(letter, round),
                    }
                }
                _ => {
                    self.values += 1;
                    self.fresh("s", self.values)
                }
            };
            self.names[p.index()] = Some(name);
        }
        let params = self.params(form, region);
        let scope = self.scopes.regions.remove(&r).unwrap_or_default();
        let (body, block) = self.body(&scope, indent + 1, |printer| result(printer, region));
        // The same nodes may stand again in a sibling region, under other names.
        for &t in scope.order().iter().chain(region.params()) {
            self.names[t.index()] = None;
        }
        self.scopes.regions.insert(r, scope);
        (self.indices, self.values) = (indices, values);
        match block {
            false => format!("{params} => {body}"),
            true => format!("{params} =>\n{}{body}", "  ".repeat(indent + 1)),
        }
    }

    /// The parameters as patterns.
    fn params(&self, form: Params, region: &Region) -> String {
        let names: Vec<&str> = region
            .params()
            .iter()
            .map(|p| self.names[p.index()].as_deref().unwrap_or("_"))
            .collect();
        match form {
            Params::TwoParts(n) => {
                let (states, inputs) = names.split_at(n.min(names.len()));
                format!("({}, {})", tuple(states), tuple(inputs))
            }
            Params::Tuple => format!("({})", tuple(&names)),
            Params::Plain if names.len() == 1 => names[0].to_string(),
            Params::Plain => format!("({})", names.join(", ")),
        }
    }

    fn is_input(&self, name: &str) -> bool {
        self.program.inputs().iter().any(|i| i.name == name)
    }

    /// A name made of `stem` and `k` that no input has.
    fn fresh(&self, stem: &str, k: usize) -> String {
        let mut name = format!("{stem}{k}");
        while self.is_input(&name) {
            name.push('\'');
        }
        name
    }
}

fn outputs(printer: &mut Printer<'_>) -> String {
    let program = printer.program;
    match program.outputs() {
        [Output { name, term }] if name.is_empty() => printer.argument(*term, 1),
        all if all.iter().all(|o| o.name.is_empty()) => {
            let terms: Vec<TermId> = all.iter().map(|o| o.term).collect();
            tuple(&printer.arguments(&terms, 1))
        }
        all => {
            let fields: Vec<String> = all
                .iter()
                .map(|o| format!("{} = {}", quote(&o.name), printer.argument(o.term, 1)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

/// Which nodes are written where they are used.
fn decide_inline(program: &Program) -> Vec<bool> {
    let counts = use_counts(program);
    let mut inline = vec![false; program.len()];
    let mut height = vec![0u8; program.len()];
    // A node may move into its only user, not into a region that it does not belong to.
    let mut same_scope = vec![true; program.len()];
    for k in 0..program.region_count() {
        let region = program.region(RegionId(k as u32));
        for &t in region.results() {
            if program.free(t).innermost() < region.level() {
                same_scope[t.index()] = false;
            }
        }
    }
    for t in program.terms() {
        let node = program.node(t);
        let scope = program.free(t).innermost();
        node.for_each_operand(|u| {
            if program.free(u).innermost() < scope {
                same_scope[u.index()] = false;
            }
        });
    }
    for t in program.terms() {
        let node = program.node(t);
        let mut tallest = 0;
        node.for_each_operand(|u| {
            if inline[u.index()] {
                tallest = tallest.max(height[u.index()]);
            }
        });
        if let Some(r) = node.region() {
            for &u in program.region(r).results() {
                tallest = tallest.max(height[u.index()]);
            }
            tallest = tallest.saturating_add(2);
        }
        height[t.index()] = tallest.saturating_add(1);
        let small = match node {
            Node::Const(c) => c.shape().numel() <= MAX_INLINE_ELEMENTS,
            _ => true,
        };
        inline[t.index()] = counts[t.index()] == 1
            && same_scope[t.index()]
            && small
            && !node.has_results()
            // A lambda inside a lambda stands on its own line: source nesting stays small.
            && (node.region().is_none() || program.free(t).innermost() == 0)
            && height[t.index()] <= MAX_HEIGHT;
        if !inline[t.index()] {
            height[t.index()] = 0;
        }
    }
    inline
}

fn tuple<S: AsRef<str>>(parts: &[S]) -> String {
    let mut text = String::from("(");
    for (k, part) in parts.iter().enumerate() {
        text.push_str(if k == 0 { "" } else { ", " });
        text.push_str(part.as_ref());
    }
    text.push_str(if parts.len() == 1 { ",)" } else { ")" });
    text
}

/// Zeros of a float type.
fn zero_of(ty: &Type) -> String {
    let zero = if ty.dtype == Dtype::F32 { "0.0f32" } else { "0.0" };
    let dims = ty.shape.dims().iter().rev();
    dims.fold(zero.to_string(), |text, k| format!("replicate({text}, {k})"))
}

/// A name, in backticks unless it is a plain identifier.
fn quote(name: &str) -> String {
    const KEYWORDS: [&str; 22] = [
        "def", "type", "import", "as", "let", "in", "if", "then", "else", "build", "and", "or",
        "xor", "not", "true", "false", "inf", "nan", "NaN", "inff32", "nanf32", "_",
    ];
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'')
        && !KEYWORDS.contains(&name);
    if plain { name.to_string() } else { format!("`{name}`") }
}

/// A literal array if it is small, else its type.
pub(crate) fn short_constant(array: &Array) -> String {
    if array.shape().numel() <= 4 {
        return constant(array).0;
    }
    format!("<{}{}>", array.shape(), array.dtype())
}

/// A literal array: nested brackets, or `empty(..)` when it has no elements.
fn constant(array: &Array) -> Text {
    let elements: Vec<String> = match array.dtype() {
        Dtype::F64 => array.iter::<f64>().into_iter().flatten().map(|x| float(x, "")).collect(),
        Dtype::F32 => array.iter::<f32>().into_iter().flatten().map(|x| float(x, "f32")).collect(),
        Dtype::I64 => array.iter::<i64>().into_iter().flatten().map(|x| x.to_string()).collect(),
        Dtype::Bool => array.iter::<bool>().into_iter().flatten().map(|x| x.to_string()).collect(),
    };
    let dims = array.shape().dims();
    if dims.is_empty() {
        let text = elements.into_iter().next().unwrap_or_default();
        let strength = if text.starts_with('-') { precedence::NEG } else { ATOM };
        return (text, strength);
    }
    if elements.is_empty() {
        return (format!("empty({}, {})", array.shape(), array.dtype()), ATOM);
    }
    let mut text = String::new();
    for (n, element) in elements.iter().enumerate() {
        // Brackets open and close where an axis starts and ends.
        let mut block = 1;
        let (mut opening, mut closing) = (0, 0);
        for k in dims.iter().rev() {
            block *= k;
            opening += usize::from(n % block == 0);
            closing += usize::from((n + 1) % block == 0);
        }
        text.push_str(if n == 0 { "" } else { ", " });
        text.push_str(&"[".repeat(opening));
        text.push_str(element);
        text.push_str(&"]".repeat(closing));
    }
    (text, ATOM)
}

/// The shortest text that reads back as the same float.
fn float<T: fmt::Debug + Into<f64> + Copy>(x: T, suffix: &str) -> String {
    let wide: f64 = x.into();
    if wide.is_nan() {
        format!("nan{suffix}")
    } else if wide.is_infinite() {
        format!("{}inf{suffix}", if wide < 0.0 { "-" } else { "" })
    } else {
        format!("{x:?}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Type};
    use cotan_array::Shape;

    fn vector(b: &mut Builder, name: &str, dims: &[usize]) -> TermId {
        b.input(name, Type::new(Dtype::F64, Shape::new("test", dims).unwrap())).unwrap()
    }

    #[test]
    fn self_convolution() {
        let mut b = Builder::new();
        let a = vector(&mut b, "a", &[5]);
        let t = b
            .build(5, |b, i| {
                let four = b.scalar(4i64)?;
                let back = b.op(Op::Sub, &[four, i])?;
                let (x, y) = (b.index(a, &[i])?, b.index(a, &[back])?);
                b.op(Op::Mul, &[x, y])
            })
            .unwrap();
        let s = b.sum_outer(t).unwrap();
        let p = b.finish_one(s).unwrap();
        assert_eq!(
            p.to_string(),
            "def main(a: [5]f64) = sum_outer(build 5 (i => a[i] * a[4 - i]))\n"
        );
    }

    #[test]
    fn shared_nodes_are_bound_where_they_belong() {
        let mut b = Builder::new();
        let a = vector(&mut b, "p.w", &[2, 3]);
        let e = b.op(Op::Exp, &[a]).unwrap();
        let t = b
            .build(2, |b, i| {
                let row = b.index(e, &[i])?;
                let s = b.op(Op::Mul, &[row, row])?;
                b.sum_outer(s)
            })
            .unwrap();
        let p = b.finish(vec![
            Output { name: "loss".into(), term: t },
            Output { name: "e".into(), term: e },
        ]);
        let expected = "def main(`p.w`: [2, 3]f64) =\n  let x1 = exp(`p.w`)\n  in {loss = build 2 (i =>\n    \
                        let x2 = x1[i]\n    in sum_outer(x2 * x2)), e = x1}\n";
        assert_eq!(p.unwrap().to_string(), expected);
    }

    #[test]
    fn literals_and_precedence() {
        let mut b = Builder::new();
        let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
        let two = b.scalar(-2.0).unwrap();
        let three = b.scalar(3.0).unwrap();
        let folded = b.op(Op::Add, &[two, three]).unwrap();
        let power = b.op(Op::Pow, &[two, x]).unwrap();
        let difference = b.op(Op::Sub, &[x, power]).unwrap();
        let negated = b.op(Op::Neg, &[difference]).unwrap();
        let all = b.stack(&[folded, negated]).unwrap();
        let p = b.finish_one(all).unwrap();
        assert_eq!(p.to_string(), "def main(x: f64) = stack(add(-2.0, 3.0), -(x - (-2.0) ** x))\n");
    }

    #[test]
    fn constants_keep_shape_type_and_bits() {
        let show = |a: &Array| constant(a).0;
        let shape = |dims: &[usize]| Shape::new("test", dims).unwrap();
        let a = Array::from_vec(shape(&[2, 2]), vec![1.0, -0.0, f64::NAN, f64::INFINITY]).unwrap();
        assert_eq!(show(&a), "[[1.0, -0.0], [nan, inf]]");
        let a = Array::from_vec(shape(&[1, 2]), vec![0.1f32, -f32::INFINITY]).unwrap();
        assert_eq!(show(&a), "[[0.1f32, -inff32]]");
        let a = Array::from_vec(shape(&[2, 0]), Vec::<i64>::new()).unwrap();
        assert_eq!(show(&a), "empty([2, 0], i64)");
        assert_eq!(show(&Array::scalar(true)), "true");
    }
}

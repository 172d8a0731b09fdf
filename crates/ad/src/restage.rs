//! A program as dual arrays, for reading: its primal part and its Delta terms (Fig.
//! restaging-example).

use std::fmt;

use cotan_ir::{Output, Program, RegionId, Result, Span, TermId, Type};
use rustc_hash::FxHashMap;

use crate::algebra::{Algebra, interpret};
use crate::delta::{Delta, DeltaId, Deltas};
use crate::derive::{chosen, declare_inputs, dual_inputs, named_outputs, output_name};
use crate::dual::Dual;
use crate::staged::Staged;

/// A program without `build1` as dual arrays.
#[derive(Clone, Debug)]
pub struct DualProgram {
    /// The values of the program, then every array that a Delta term mentions, named `p0, p1, ..`.
    pub primal: Program,
    /// The Delta terms that the derivatives of the outputs need, operands first.
    pub deltas: Vec<DeltaLine>,
    /// Each float output, and its derivative: the position of a Delta term, or nothing for zero.
    pub results: Vec<(String, Option<usize>)>,
}

/// One Delta term as text.
#[derive(Clone, Debug)]
pub struct DeltaLine {
    /// The constructor and its operands: `Scale p0 d1`.
    pub text: String,
    /// The type of what it is the derivative of.
    pub ty: Type,
    /// Where it comes from, while places are recorded.
    pub span: Span,
}

/// The dual arrays of a program by the chosen inputs (all float ones by default), before anything is
/// transposed.
pub fn dual(program: &Program, wrt: Option<&[usize]>) -> Result<DualProgram> {
    let wrt = chosen(program, wrt)?;
    let mut staged = Staged::default();
    let inputs = declare_inputs(program, &mut staged.b)?;
    let mut dual = Dual::new(&mut staged);
    let duals = dual_inputs(&mut dual, &inputs, &wrt);
    let results = interpret(program, &duals, &mut dual)?;
    let deltas = dual.deltas;

    let needed = reachable(&deltas, results.iter().filter_map(|result| result.delta));
    let positions = vec![None; deltas.len()];
    let mut writer =
        Writer { staged: &staged, named: Vec::new(), numbers: FxHashMap::default(), positions };
    let mut lines = Vec::new();
    for d in deltas.ids().filter(|d| needed[d.index()]) {
        let text = writer.constructor(deltas.get(d));
        writer.positions[d.index()] = Some(lines.len());
        lines.push(DeltaLine { text, ty: deltas.ty(d).clone(), span: deltas.span(d) });
    }
    let mut outputs = named_outputs(program, results.iter().map(|result| result.primal));
    let float = |k: &usize| program.dtype(program.outputs()[*k].term).is_float();
    let of_output = |k: usize| {
        let position = results[k].delta.and_then(|d| writer.positions[d.index()]);
        (output_name(program, k), position)
    };
    let derivatives = (0..results.len()).filter(float).map(of_output).collect();
    let names = writer.named.iter().enumerate();
    outputs.extend(names.map(|(n, &term)| Output { name: format!("p{n}"), term }));
    let primal = staged.b.finish_with_sources(outputs, program.sources().clone())?;
    Ok(DualProgram { primal, deltas: lines, results: derivatives })
}

impl fmt::Display for DualProgram {
    /// One line for each Delta term, then the derivative of each output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, line) in self.deltas.iter().enumerate() {
            writeln!(f, "d{n} = {} : {}", line.text, line.ty)?;
        }
        for (name, delta) in &self.results {
            match delta {
                Some(n) => writeln!(f, "derivative of {name}: d{n}")?,
                None => writeln!(f, "derivative of {name}: Zero")?,
            }
        }
        Ok(())
    }
}

/// Which terms the given ones need: one sweep, as operands come first.
fn reachable<A: Algebra>(deltas: &Deltas<A>, roots: impl Iterator<Item = DeltaId>) -> Vec<bool> {
    let mut needed = vec![false; deltas.len()];
    for d in roots {
        needed[d.index()] = true;
    }
    for d in deltas.ids().rev() {
        if needed[d.index()] {
            deltas.get(d).for_each_operand(|operand| needed[operand.index()] = true);
        }
    }
    needed
}

impl<A: Algebra> Delta<A> {
    /// Calls `f` on every Delta term that this one is made from.
    pub(crate) fn for_each_operand(&self, mut f: impl FnMut(DeltaId)) {
        match self {
            Delta::Input(_) => {}
            Delta::Add(d, e) => [*d, *e].into_iter().for_each(f),
            Delta::Scale(_, d)
            | Delta::StrongScale(_, d)
            | Delta::Index(d, _)
            | Delta::SumOuter(d)
            | Delta::Gather(d, _) => f(*d),
            Delta::Scatter(_, d, _) | Delta::Replicate(_, d) | Delta::Transpose(_, d) => f(*d),
            Delta::Reshape(d) | Delta::Cast(d) | Delta::OneHot(_, d) | Delta::Result(d, _) => f(*d),
            Delta::Routine(_, d) => f(*d),
            Delta::LitArray(ds) => ds.iter().flatten().copied().for_each(f),
            Delta::Select(_, d, e) | Delta::Cond(_, d, e) => {
                [d, e].into_iter().flatten().copied().for_each(f);
            }
            Delta::MapAccum(m) => m.deltas.iter().flatten().copied().for_each(f),
            Delta::While(w) => w.deltas.iter().flatten().copied().for_each(f),
            Delta::Custom(c) => c.deltas.iter().flatten().copied().for_each(f),
        }
    }
}

/// Writes Delta terms and names the arrays they mention.
struct Writer<'a> {
    staged: &'a Staged,
    named: Vec<TermId>,
    numbers: FxHashMap<TermId, usize>,
    positions: Vec<Option<usize>>,
}

impl Writer<'_> {
    fn constructor(&mut self, delta: &Delta<Staged>) -> String {
        match delta {
            Delta::Input(k) => match self.staged.b.inputs().get(*k) {
                Some(input) => format!("Input {}", input.name),
                None => format!("Input {k}"),
            },
            Delta::Add(d, e) => format!("Add {} {}", self.id(*d), self.id(*e)),
            Delta::Scale(t, d) => format!("Scale {} {}", self.array(*t), self.id(*d)),
            Delta::StrongScale(t, d) => {
                format!("StrongScale {} {}", self.array(*t), self.id(*d))
            }
            Delta::Index(d, ix) => format!("Index {} [{}]", self.id(*d), self.arrays(ix)),
            Delta::SumOuter(d) => format!("SumOuter {}", self.id(*d)),
            Delta::Gather(d, f) => format!("Gather {} ({})", self.id(*d), self.function(*f)),
            Delta::Scatter(sh, d, f) => {
                format!("Scatter {sh} {} ({})", self.id(*d), self.function(*f))
            }
            Delta::LitArray(ds) => {
                let parts: Vec<String> = ds.iter().map(|d| self.maybe(*d)).collect();
                format!("LitArray [{}]", parts.join(", "))
            }
            Delta::Replicate(k, d) => format!("Replicate {k} {}", self.id(*d)),
            Delta::Transpose(perm, d) => format!("Transpose {perm:?} {}", self.id(*d)),
            Delta::Reshape(d) => format!("Reshape {}", self.id(*d)),
            Delta::Cast(d) => format!("Cast {}", self.id(*d)),
            Delta::Select(c, d, e) => {
                format!("Select {} {} {}", self.array(*c), self.maybe(*d), self.maybe(*e))
            }
            Delta::Cond(c, d, e) => {
                format!("Cond {} {} {}", self.array(*c), self.maybe(*d), self.maybe(*e))
            }
            Delta::OneHot(place, d) => {
                let (sh, ix) = &**place;
                format!("OneHot {sh} {} [{}]", self.id(*d), self.arrays(ix))
            }
            Delta::Routine(of, d) => {
                let (routine, fixed) = &**of;
                format!("Routine {} ({}) {}", routine.name(), self.arrays(fixed), self.id(*d))
            }
            Delta::MapAccum(m) => {
                let deltas: Vec<String> = m.deltas.iter().map(|d| self.maybe(*d)).collect();
                let order = if m.reverse { " reverse" } else { "" };
                format!(
                    "MapAccum {}{order} ({}) saved ({}) over ({}) captured ({})",
                    m.length,
                    deltas.join(", "),
                    self.arrays(&m.saved),
                    self.arrays(&m.inputs),
                    self.arrays(&m.captures)
                )
            }
            Delta::While(w) => {
                let deltas: Vec<String> = w.deltas.iter().map(|d| self.maybe(*d)).collect();
                let (bound, from, arrays, captures) = match w.primal.bound {
                    Some(bound) => (format!(" {bound}"), "saved", &w.saved, &w.captures),
                    None => (String::new(), "from", &w.primal.init, &w.primal.captures),
                };
                format!(
                    "While{bound} ({}) steps {} {from} ({}) captured ({})",
                    deltas.join(", "),
                    self.array(w.count),
                    self.arrays(arrays),
                    self.arrays(captures)
                )
            }
            Delta::Custom(c) => {
                let deltas: Vec<String> = c.deltas.iter().map(|d| self.maybe(*d)).collect();
                format!("Custom ({}) at ({})", deltas.join(", "), self.arrays(&c.inputs))
            }
            Delta::Result(d, k) => format!("Result {} {k}", self.id(*d)),
        }
    }

    fn id(&self, d: DeltaId) -> String {
        match self.positions.get(d.index()).copied().flatten() {
            Some(n) => format!("d{n}"),
            None => "Zero".to_owned(),
        }
    }

    fn maybe(&self, d: Option<DeltaId>) -> String {
        d.map_or_else(|| "Zero".to_owned(), |d| self.id(d))
    }

    /// An array by name; inputs and scalar constants as they are.
    fn array(&mut self, t: TermId) -> String {
        if self.staged.b.is_atom(t) {
            return self.staged.b.show(t).to_string();
        }
        let n = *self.numbers.entry(t).or_insert_with(|| {
            self.named.push(t);
            self.named.len() - 1
        });
        format!("p{n}")
    }

    fn arrays(&mut self, ts: &[TermId]) -> String {
        let names: Vec<String> = ts.iter().map(|&t| self.array(t)).collect();
        names.join(", ")
    }

    fn function(&self, f: RegionId) -> String {
        self.staged.b.show_index_function(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};
    use cotan_ir::Builder;
    use cotan_ir::scalar::Op;

    #[test]
    fn one_line_for_each_term() {
        // sum (sin a * a), and a second output that is constant.
        let mut b = Builder::new();
        let a = b.input("a", Type::new(Dtype::F64, Shape::new("test", &[3]).unwrap())).unwrap();
        let s = b.op(Op::Sin, &[a]).unwrap();
        let product = b.op(Op::Mul, &[s, a]).unwrap();
        let sum = b.sum_outer(product).unwrap();
        let one = b.scalar(1.0).unwrap();
        let outputs = [sum, one].map(|term| Output { name: String::new(), term });
        let dual = dual(&b.finish(outputs.into()).unwrap(), None).unwrap();
        assert_eq!(
            dual.to_string(),
            "d0 = Input a : [3]f64\n\
             d1 = Scale p0 d0 : [3]f64\n\
             d2 = Scale a d1 : [3]f64\n\
             d3 = Scale p1 d0 : [3]f64\n\
             d4 = Add d2 d3 : [3]f64\n\
             d5 = SumOuter d4 : f64\n\
             derivative of result0: d5\n\
             derivative of result1: Zero\n"
        );
        let names: Vec<&str> = dual.primal.outputs().iter().map(|o| &*o.name).collect();
        assert_eq!(names, ["result0", "result1", "p0", "p1"]);
    }
}

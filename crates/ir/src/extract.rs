//! Regions taken out as programs of their own, and programs put in as terms.

use crate::build::Builder;
use crate::copy::Copier;
use crate::error::{Error, Result};
use crate::term::{Arena, Node, Output, Program, RegionId, TermId};
use crate::walk::Scopes;

/// How many structural operations on a constant are repeated with it.
const CONSTANT_DEPTH: usize = 8;

/// A region as a closed program.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// The region's parameters, then its captures, to its results.
    pub program: Program,
    /// The terms around the region that the last inputs of the program stand for.
    pub captures: Vec<TermId>,
}

impl Extracted {
    /// The region `r` as a program: its parameters `x0, x1, ..`, then what it captures `c0, c1, ..`,
    /// become inputs. Captured constants are repeated instead, so that what is known stays known.
    ///
    /// `scopes` are those of the program, or of the region: see [`Scopes::of_region`].
    pub fn new(arena: &Arena, scopes: &Scopes, r: RegionId) -> Result<Extracted> {
        let region = arena.region(r);
        let scope = scopes.region(r);
        let mut b = Builder::new();
        let mut copier = Copier::new(arena, scopes);
        for (n, &p) in region.params().iter().enumerate() {
            copier.set(p, b.input(format!("x{n}"), arena.ty(p).clone())?);
        }
        let mut captures = Vec::new();
        for &t in scope.captures() {
            match constant_chain(arena, t) {
                Some(chain) => {
                    for u in chain {
                        let image = copier.copy(&mut b, u)?;
                        copier.set(u, image);
                    }
                }
                None => {
                    let name = format!("c{}", captures.len());
                    copier.set(t, b.input(name, arena.ty(t).clone())?);
                    captures.push(t);
                }
            }
        }
        copier.scope(&mut b, scope)?;
        let mut outputs = Vec::with_capacity(region.results().len());
        for &t in region.results() {
            outputs.push(Output { name: String::new(), term: copier.image(t)? });
        }
        Ok(Extracted { program: b.finish(outputs)?, captures })
    }
}

/// The nodes of a constant and of the structural operations on it that lead to `t`, operands first.
fn constant_chain(arena: &Arena, t: TermId) -> Option<Vec<TermId>> {
    let mut chain = vec![t];
    let mut at = t;
    while chain.len() <= CONSTANT_DEPTH {
        match arena.node(at) {
            Node::Const(_) | Node::Iota(_) => {
                chain.reverse();
                return Some(chain);
            }
            Node::Replicate(_, u) | Node::Transpose(_, u) | Node::Reshape(_, u) => {
                chain.push(*u);
                at = *u;
            }
            Node::Input(_) | Node::Var { .. } | Node::Cond(..) | Node::Op(..) => return None,
            Node::Index(..) | Node::SumOuter(_) | Node::Gather(..) | Node::Scatter(..) => {
                return None;
            }
            Node::Stack(_) | Node::Build1(_) | Node::OneHot(..) => return None,
            Node::ArgExtreme(..) | Node::ArgSort(_) | Node::SegmentArg(..) => return None,
            Node::Routine(..) | Node::MapAccum(_) | Node::While(_) => return None,
            Node::Custom(_) | Node::Result(..) => return None,
        }
    }
    None
}

impl Builder {
    /// The results of a program at the given terms, one for each of its inputs.
    pub fn inline(&mut self, program: &Program, arguments: &[TermId]) -> Result<Vec<TermId>> {
        if arguments.len() != program.inputs().len() {
            let (given, needed) = (arguments.len(), program.inputs().len());
            let message = format!("{given} arguments for a program of {needed} inputs");
            return Err(Error::type_error("inline", message));
        }
        for (input, &t) in program.inputs().iter().zip(arguments) {
            if input.ty != *self.ty(t) {
                let message =
                    format!("the input `{}` is {}, not {}", input.name, input.ty, self.ty(t));
                return Err(Error::type_error("inline", message));
            }
        }
        let scopes = Scopes::new(program);
        let mut copier = Copier::new(program, &scopes);
        for t in program.terms() {
            if let Node::Input(k) = program.node(t)
                && let Some(&argument) = arguments.get(*k as usize)
            {
                copier.set(t, argument);
            }
        }
        copier.scope(self, scopes.top())?;
        program.outputs().iter().map(|output| copier.image(output.term)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Op;
    use crate::term::{Param, Type};
    use cotan_array::{Dtype, Shape};

    fn vector(k: usize) -> Type {
        Type::new(Dtype::F64, Shape::new("test", &[k]).unwrap())
    }

    #[test]
    fn a_region_goes_out_and_comes_back() {
        // build 2 (i => f(i) + f(i)) with f = \x -> sum (build 3 (j => (x * a)[j + i] * 2)).
        let mut b = Builder::new();
        let a = b.input("a", vector(3)).unwrap();
        let i = b.open(&[Param::Index(2)]).unwrap()[0];
        let x = b.open(&[Param::Value(vector(3))]).unwrap()[0];
        let product = b.op(Op::Mul, &[x, a]).unwrap();
        let elements = b
            .build(3, |b, j| {
                let at = b.op(Op::Add, &[j, i])?;
                let element = b.index(product, &[at])?;
                let two = b.scalar(2.0)?;
                b.op(Op::Mul, &[element, two])
            })
            .unwrap();
        let sum = b.sum_outer(elements).unwrap();
        let region = b.close(&[sum]).unwrap();
        let scopes = Scopes::of_region(&b, region);
        let Extracted { program, captures } = Extracted::new(&b, &scopes, region).unwrap();
        assert_eq!(program.check(), Ok(()));
        assert_eq!(captures, [a, i], "the constant is repeated");
        let names: Vec<&str> = program.inputs().iter().map(|input| &*input.name).collect();
        assert_eq!(names, ["x0", "c0", "c1"]);

        let at = b.inline(&program, &[a, a, i]).unwrap();
        let region = b.close(&at).unwrap();
        let built = b.build1(region).unwrap();
        let inlined = b.finish_one(built).unwrap();
        assert_eq!(inlined.check(), Ok(()));

        let mut b = Builder::new();
        let a = b.input("a", vector(3)).unwrap();
        let direct = b
            .build(2, |b, i| {
                let product = b.op(Op::Mul, &[a, a])?;
                let elements = b.build(3, |b, j| {
                    let at = b.op(Op::Add, &[j, i])?;
                    let element = b.index(product, &[at])?;
                    let two = b.scalar(2.0)?;
                    b.op(Op::Mul, &[element, two])
                })?;
                b.sum_outer(elements)
            })
            .unwrap();
        assert_eq!(inlined, b.finish_one(direct).unwrap());
    }

    #[test]
    fn constants_under_structure_are_repeated() {
        let mut b = Builder::new();
        let one = b.scalar(1.0).unwrap();
        let ones = b.replicate(3, one).unwrap();
        let x = b.open(&[Param::Value(vector(3))]).unwrap()[0];
        let t = b.op(Op::Add, &[x, ones]).unwrap();
        let region = b.close(&[t]).unwrap();
        let extracted = Extracted::new(&b, &Scopes::of_region(&b, region), region).unwrap();
        assert!(extracted.captures.is_empty());
        assert_eq!(extracted.program.inputs().len(), 1);
    }

    #[test]
    fn arguments_must_fit() {
        let mut b = Builder::new();
        let a = b.input("a", vector(3)).unwrap();
        let program = b.finish_one(a).unwrap();
        let mut b = Builder::new();
        let other = b.input("b", vector(2)).unwrap();
        assert!(b.inline(&program, &[]).unwrap_err().to_string().contains("0 arguments"));
        assert!(b.inline(&program, &[other]).unwrap_err().to_string().contains("[3]f64"));
    }
}

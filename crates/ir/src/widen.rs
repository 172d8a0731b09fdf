//! Programs with `f64` in place of `f32`.

use cotan_array::Dtype;

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::limits::{CancelToken, Limits};
use crate::scalar::Op;
use crate::term::{Node, Output, Param, Program, RegionId, TermId, Type};
use crate::term_map::TermMap;
use crate::walk::{Scope, Scopes};

impl Program {
    /// The same program with every `f32` an `f64`, inputs, constants and conversions included: what
    /// it would compute with less rounding. Decisions that depend on the last digits of an `f32` may
    /// fall otherwise.
    pub fn widened(&self) -> Result<Program> {
        let scopes = Scopes::new(self);
        let unlimited = Limits { max_nodes: usize::MAX, deadline: None };
        let mut b = Builder::with_limits(unlimited, CancelToken::new());
        b.reserve(self.len());
        let mut inputs = Vec::with_capacity(self.inputs().len());
        for input in self.inputs() {
            inputs.push(b.input(input.name.clone(), wide(&input.ty))?);
        }
        let mut widening =
            Widening { source: self, scopes: &scopes, inputs, images: TermMap::new() };
        widening.scope(&mut b, scopes.top())?;
        let mut outputs = Vec::with_capacity(self.outputs().len());
        for output in self.outputs() {
            outputs.push(Output { name: output.name.clone(), term: widening.image(output.term)? });
        }
        b.finish_with_sources(outputs, self.sources().clone())
    }
}

fn wide(ty: &Type) -> Type {
    match ty.dtype {
        Dtype::F32 => Type::new(Dtype::F64, ty.shape.clone()),
        Dtype::F64 | Dtype::I64 | Dtype::Bool => ty.clone(),
    }
}

struct Widening<'a> {
    source: &'a Program,
    scopes: &'a Scopes,
    inputs: Vec<TermId>,
    images: TermMap<TermId>,
}

impl Widening<'_> {
    fn image(&self, t: TermId) -> Result<TermId> {
        let image = self.images.get(t).copied();
        image.ok_or_else(|| Error::internal(format!("node {} was not widened", t.index())))
    }

    fn scope(&mut self, b: &mut Builder, scope: &Scope) -> Result<()> {
        for &t in scope.order() {
            if !self.images.contains(t) {
                let before = b.set_span(self.source.span(t));
                let image = self.node(b, t);
                b.set_span(before);
                self.images.insert(t, image?);
            }
        }
        Ok(())
    }

    fn node(&mut self, b: &mut Builder, t: TermId) -> Result<TermId> {
        let source = self.source;
        match source.node(t) {
            Node::Input(k) => {
                let input = self.inputs.get(*k as usize).copied();
                input.ok_or_else(|| Error::internal("an input that is not declared"))
            }
            Node::Const(c) if source.dtype(t) == Dtype::F32 => {
                let array = c.cast(Dtype::F64);
                b.constant(&array.map_err(|e| Error::internal(e.to_string()))?)
            }
            Node::Op(Op::ToF32, args) => {
                let args: Vec<TermId> =
                    args.iter().map(|&u| self.image(u)).collect::<Result<_>>()?;
                b.op(Op::ToF64, &args)
            }
            node => {
                let region = node.region().map(|r| self.region(b, r)).transpose()?;
                b.remake(node, region, |u| self.image(u))
            }
        }
    }

    /// Widens a region; its captures have images. Recursive over the nesting of regions only.
    fn region(&mut self, b: &mut Builder, r: RegionId) -> Result<RegionId> {
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(r);
        let mut params = Vec::with_capacity(region.params().len());
        for &p in region.params() {
            match source.node(p) {
                Node::Var { param, .. } => params.push(match &**param {
                    Param::Value(ty) => Param::Value(wide(ty)),
                    Param::Index(k) => Param::Index(*k),
                }),
                _ => return Err(Error::internal("a parameter that is no variable")),
            }
        }
        b.lambda(&params, |b, vars| {
            for (&p, &var) in region.params().iter().zip(vars) {
                self.images.insert(p, var);
            }
            self.scope(b, scopes.region(r))?;
            let results = region.results().iter().map(|&t| self.image(t)).collect();
            // Another region may use the same nodes with other variables.
            for &t in scopes.region(r).order().iter().chain(region.params()) {
                self.images.remove(t);
            }
            results
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Array, Shape};

    #[test]
    fn nothing_of_f32_is_left_and_the_program_is_well_typed() {
        let mut b = Builder::new();
        let ty = |dtype, dims: &[usize]| Type::new(dtype, Shape::new("test", dims).unwrap());
        let x = b.input("x", ty(Dtype::F32, &[3])).unwrap();
        let y = b.input("y", ty(Dtype::F64, &[3])).unwrap();
        let half = b.constant(&Array::scalar(0.1f32)).unwrap();
        let rows = b
            .build(3, |b, i| {
                let (a, c) = (b.index(x, &[i])?, b.index(y, &[i])?);
                let (c, i) = (b.op(Op::ToF32, &[c])?, b.op(Op::ToF32, &[i])?);
                let sum = b.op(Op::Add, &[a, c])?;
                let sum = b.op(Op::Add, &[sum, i])?;
                b.op(Op::Mul, &[sum, half])
            })
            .unwrap();
        let back = b.op(Op::ToF64, &[rows]).unwrap();
        let program = b.finish_one(back).unwrap();
        let wide = program.widened().unwrap();
        wide.check().unwrap();
        assert!(wide.terms().all(|t| wide.dtype(t) != Dtype::F32));
        assert_eq!(wide.inputs()[0].ty, ty(Dtype::F64, &[3]));
        // A constant keeps the value that it has in f32.
        let text = wide.to_string();
        assert!(text.contains(&f64::from(0.1f32).to_string()), "{text}");
        assert_eq!(wide.widened().unwrap(), wide, "widening twice changes nothing");
    }
}

//! The program of a sparse derivative: products for all colours, and the entries read off them.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Output, Program, Result, TermId, Type};

/// Products of a derivative with seeds, one for each colour.
pub(crate) struct Products<'a> {
    /// The derivative: from the inputs of the function and a seed for each block of one side, to
    /// values, and then a product for each block of the other side.
    pub derivative: &'a Program,
    /// How many inputs the function has; seeds follow.
    pub inputs: usize,
    /// How many values the derivative gives before the products.
    pub values: usize,
    /// The number of colours.
    pub colors: usize,
    /// How many entries are read off each product.
    pub entries: Vec<usize>,
}

impl Products<'_> {
    /// The program. Its inputs are
    ///
    /// * those of the function,
    /// * for each seed the colours of its elements,
    /// * for each product the colour and the element of each entry that is read off it;
    ///
    /// it gives the values of the function, and for each product the entries read off it:
    ///
    /// $$p = \mathrm{build}\ c\ (k \Rightarrow D[f](x, [\mathit{color} = k])), \qquad
    ///   v_e = p[\mathit{color}_e, \mathit{element}_e].$$
    pub(crate) fn program(&self) -> Result<Program> {
        let mut b = Builder::new();
        let (own, seeds) = self.derivative.inputs().split_at(self.inputs);
        let mut inputs = Vec::with_capacity(own.len());
        for input in own {
            inputs.push(b.input(input.name.clone(), input.ty.clone())?);
        }
        let mut colors = Vec::with_capacity(seeds.len());
        for seed in seeds {
            let ty = Type::new(Dtype::I64, seed.ty.shape.clone());
            colors.push(b.input(format!("colors.{}", seed.name), ty)?);
        }
        let outputs = self.derivative.outputs();
        let mut results = Vec::with_capacity(outputs.len());
        for (n, output) in outputs.iter().enumerate() {
            let name = output.name.clone();
            let term = match n.checked_sub(self.values) {
                // The value does not depend on the seeds; those of any colour will do.
                None => {
                    let none = b.scalar(0i64)?;
                    self.at_color(&mut b, &inputs, &colors, none)?[n]
                }
                Some(product) => self.entries_of(&mut b, &inputs, &colors, product)?,
            };
            results.push(Output { name, term });
        }
        b.finish(results)
    }

    /// What the derivative gives for one colour.
    fn at_color(
        &self,
        b: &mut Builder,
        inputs: &[TermId],
        colors: &[TermId],
        color: TermId,
    ) -> Result<Vec<TermId>> {
        let mut arguments = inputs.to_vec();
        for (seed, &of) in self.derivative.inputs()[self.inputs..].iter().zip(colors) {
            let dims = seed.ty.shape.dims().to_vec();
            let wanted = b.broadcast_to(color, &dims)?;
            let chosen = b.op(Op::Eq, &[of, wanted])?;
            let number = |b: &mut Builder, x: f64| {
                let x = match seed.ty.dtype {
                    Dtype::F32 => b.constant(&Array::scalar(x as f32))?,
                    _ => b.scalar(x)?,
                };
                b.broadcast_to(x, &dims)
            };
            let (one, zero) = (number(b, 1.0)?, number(b, 0.0)?);
            arguments.push(b.op(Op::Select, &[chosen, one, zero])?);
        }
        b.inline(self.derivative, &arguments)
    }

    /// The entries that are read off a product.
    fn entries_of(
        &self,
        b: &mut Builder,
        inputs: &[TermId],
        colors: &[TermId],
        product: usize,
    ) -> Result<TermId> {
        let entries = self.entries[product];
        let vector = |n: usize| -> Result<Type> {
            Ok(Type::new(Dtype::I64, cotan_array::Shape::new("sparse", &[n])?))
        };
        let by_color = b.input(format!("entry_color.{product}"), vector(entries)?)?;
        let by_element = b.input(format!("entry_element.{product}"), vector(entries)?)?;
        let elements = {
            let output = &self.derivative.outputs()[self.values + product];
            self.derivative.ty(output.term).shape.numel()
        };
        let all = b.build(self.colors, |b, color| {
            let made = self.at_color(b, inputs, colors, color)?;
            b.reshape(&[elements], made[self.values + product])
        })?;
        let f = b.index_function(&[entries], |b, is| {
            Ok(vec![b.index(by_color, is)?, b.index(by_element, is)?])
        })?;
        b.gather(all, f)
    }
}

//! Reading the lines of a nest.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::line::Line;
use super::literal::usual_dtype;
use super::parse::{Parser, R};
use crate::body::components;
use crate::nest::{Affine, Also, BufferId, Component, Instr, Nest, Val, Write};

/// A nest in the making.
#[derive(Default)]
struct PartialNest {
    extents: Vec<usize>,
    reduced: usize,
    /// Whether what is reduced is said to be a sum.
    sums: bool,
    instrs: Vec<Instr>,
    dtypes: Vec<Dtype>,
    /// Constants and affine integers that stand where they are used.
    inline: FxHashMap<(Instr, Dtype), Val>,
    /// Where each value goes.
    written: Vec<(BufferId, Val, Write)>,
}

impl<'a> Parser<'a> {
    /// The lines of a nest: loops, then instructions, then what is written.
    pub(super) fn nest(&mut self, depth: usize) -> R<Nest> {
        let mut nest = PartialNest::default();
        let head = self.line(depth)?;
        let mut line = head.clone();
        loop {
            match line.peek() {
                Some("for" | "sum" | "over") => self.dimension(&mut line, &mut nest)?,
                None if line.eat("%") => self.instruction(&mut line, &mut nest)?,
                _ => self.written(&mut line, &mut nest)?,
            }
            line.end()?;
            line = match self.peek(depth) {
                Some(mut next) => match next.peek() {
                    // The parts of a contraction end where the next begins.
                    Some("core" | "whole" | "after") => break,
                    _ => self.line(depth)?,
                },
                None => break,
            };
        }
        if let Some(deeper) = self.peek(depth + 1) {
            return Err(deeper.error("this is deeper than its block"));
        }
        let Some((target, value, write)) = nest.written.pop() else {
            return Err(head.error("this nest writes nothing"));
        };
        let sums = matches!(write, Write::Sum(_));
        if nest.reduced > 0 && sums != nest.sums {
            return Err(head.error("`sum over` goes with a value that is written as `sum`"));
        }
        let also = nest.written.into_iter().map(|(target, value, write)| match write {
            Write::Store(at) => Ok(Also { value, target, at, source: None }),
            _ => Err(head.error("only the last line of a nest may do more than store at a place")),
        });
        Ok(Nest {
            extents: nest.extents,
            reduced: nest.reduced,
            instrs: nest.instrs,
            dtypes: nest.dtypes,
            value,
            target,
            write,
            also: also.collect::<R<_>>()?,
            source: None,
        })
    }

    fn dimension(&self, line: &mut Line<'a>, nest: &mut PartialNest) -> R<()> {
        let before = line.clone();
        if !nest.instrs.is_empty() || !nest.written.is_empty() {
            return Err(before.error("loops come before instructions"));
        }
        let parallel = line.eat_word("for");
        if !parallel {
            let sums = line.eat_word("sum");
            line.expect_word("over")?;
            if nest.reduced > 0 && sums != nest.sums {
                return Err(before.error("either all of these are `sum over`, or none"));
            }
            nest.sums = sums;
            nest.reduced += 1;
        } else if nest.reduced > 0 {
            return Err(before.error("`for` comes before `sum over` and `over`"));
        }
        let here = line.clone();
        if line.index() != Some(nest.extents.len()) {
            return Err(here.error(format!("`i{}` is expected here", nest.extents.len())));
        }
        line.expect("<")?;
        nest.extents.push(line.count()?);
        Ok(())
    }

    fn instruction(&self, line: &mut Line<'a>, nest: &mut PartialNest) -> R<()> {
        let before = line.clone();
        if !nest.written.is_empty() {
            return Err(before.error("instructions come before what is written"));
        }
        let number = line.count()?;
        let said = if line.eat(":") { Some(line.dtype()?) } else { None };
        line.expect("=")?;
        let start = line.clone();
        let (instr, dtype) = self.computed(line, nest)?;
        // Literals that it names come before it.
        if number != nest.instrs.len() {
            return Err(before.error(format!("`%{}` is expected here", nest.instrs.len())));
        }
        let of = |v: Val| nest.dtypes.get(v.index()).copied();
        let buffer = || match &instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => {
                self.buffers.get(buffer.index()).map(|buffer| buffer.dtype)
            }
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => None,
        };
        let usual = dtype.or_else(|| usual_dtype(&instr, of, buffer));
        let Some(dtype) = said.or(usual) else {
            return Err(start.error("the types of the operands do not fit"));
        };
        nest.instrs.push(instr);
        nest.dtypes.push(dtype);
        Ok(())
    }

    /// What an instruction computes; with a type if its text says it.
    fn computed(&self, line: &mut Line<'a>, nest: &mut PartialNest) -> R<(Instr, Option<Dtype>)> {
        if let Some((bits, dtype)) = line.constant()? {
            return Ok((Instr::Const(bits), Some(dtype)));
        }
        let mut ahead = line.clone();
        let word = ahead.peek().filter(|word| ahead.eat_word(word));
        if let Some(name) = word
            && ahead.eat("(")
        {
            *line = ahead;
            return Ok((self.operation(name, line, nest)?, None));
        }
        if word.is_some() && ahead.eat("[") {
            let buffer = self.name(line)?;
            if line.eat("[[") {
                let index = self.index(buffer, line, nest)?;
                return Ok((Instr::LoadAt { buffer, index }, None));
            }
            line.expect("[")?;
            let at = nest.affine(line)?;
            line.expect("]")?;
            let checks = nest.conditions(line)?;
            return Ok((Instr::Load { buffer, at, checks }, None));
        }
        Ok((Instr::Affine(nest.affine(line)?), None))
    }

    fn operation(&self, name: &str, line: &mut Line<'a>, nest: &mut PartialNest) -> R<Instr> {
        let before = line.clone();
        if name == "fma" {
            let minus_product = line.eat_word("minus");
            let a = nest.operand(line)?;
            line.expect(",")?;
            let b = nest.operand(line)?;
            line.expect(",")?;
            let minus_addend = line.eat_word("minus");
            let c = nest.operand(line)?;
            line.expect(")")?;
            return Ok(Instr::MulAdd { args: [a, b, c], minus_product, minus_addend });
        }
        let Some(op) = Op::from_name(name) else {
            return Err(before.error(format!("there is no operation `{name}`")));
        };
        let mut args: SmallVec<[Val; 3]> = SmallVec::new();
        while !line.eat(")") {
            if !args.is_empty() {
                line.expect(",")?;
            }
            args.push(nest.operand(line)?);
        }
        match args.len() == op.arity() {
            true => Ok(Instr::Op(op, args)),
            false => Err(before.error(format!("`{name}` has {} operands", op.arity()))),
        }
    }

    /// The components of an index, up to `]]`.
    fn index(&self, b: BufferId, line: &mut Line<'a>, nest: &mut PartialNest) -> R<Vec<Component>> {
        let before = line.clone();
        let (mut values, mut given) = (Vec::new(), Vec::new());
        while !line.eat("]]") {
            if !values.is_empty() {
                line.expect(",")?;
            }
            let value = nest.operand(line)?;
            values.push(value);
            if line.eat("<") {
                let size = line.count()?;
                line.expect_word("by")?;
                given.push(Component { value, size, stride: line.integer()? });
            }
        }
        if !given.is_empty() && given.len() == values.len() {
            return Ok(given);
        }
        let dims = self.buffers.get(b.index()).map(|buffer| buffer.shape.dims());
        match dims.filter(|dims| dims.len() == values.len() && given.is_empty()) {
            Some(dims) => Ok(components(dims, &values)),
            None => Err(before.error("an index has a component for each axis of the buffer")),
        }
    }

    fn written(&self, line: &mut Line<'a>, nest: &mut PartialNest) -> R<()> {
        let target = self.name(line)?;
        let (place, index) = if line.eat("[[") {
            (None, self.index(target, line, nest)?)
        } else {
            line.expect("[")?;
            let at = nest.affine(line)?;
            line.expect("]")?;
            (Some(at), Vec::new())
        };
        let added = line.eat("+=");
        if !added {
            line.expect("=")?;
        }
        let before = line.clone();
        let position = line.eat_word("position");
        if position {
            line.expect_word("of")?;
        }
        let how = line.peek().filter(|word| matches!(*word, "sum" | "largest" | "smallest"));
        if let Some(word) = how {
            line.expect_word(word)?;
        }
        let value = nest.operand(line)?;
        let largest = how == Some("largest");
        let write = match (place, added, position, how) {
            (Some(at), false, false, None) => Write::Store(at),
            (Some(at), false, false, Some("sum")) => Write::Sum(at),
            (Some(at), false, false, Some(_)) => Write::Best { at, largest },
            (Some(at), false, true, Some("largest" | "smallest")) => Write::Extreme { at, largest },
            (Some(at), true, false, None) => Write::Add { at, checks: nest.conditions(line)? },
            (None, true, false, None) => Write::AddAt(index),
            (None, false, false, None) => Write::StoreAt(index),
            _ => return Err(before.error("this cannot be written there")),
        };
        nest.written.push((target, value, write));
        Ok(())
    }
}

impl PartialNest {
    /// A value by its number, or a literal.
    fn operand(&mut self, line: &mut Line<'_>) -> R<Val> {
        let before = line.clone();
        if line.eat("%") {
            let n = line.count()?;
            let known = n < self.instrs.len();
            return match known {
                true => Ok(Val(n as u32)),
                false => Err(before.error(format!("`%{n}` has not been computed yet"))),
            };
        }
        let key = match line.constant()? {
            Some((bits, dtype)) => (Instr::Const(bits), dtype),
            None => (Instr::Affine(self.affine(line)?), Dtype::I64),
        };
        let next = Val(self.instrs.len() as u32);
        let v = *self.inline.entry(key.clone()).or_insert(next);
        if v == next {
            self.instrs.push(key.0);
            self.dtypes.push(key.1);
        }
        Ok(v)
    }

    /// An affine form of the indices.
    fn affine(&self, line: &mut Line<'_>) -> R<Affine> {
        let mut at = Affine::constant(0, self.extents.len());
        let mut negative = line.eat("-");
        loop {
            let before = line.clone();
            let too_large = || before.error("an integer that fits is expected here");
            let (factor, dim) = match line.index() {
                Some(dim) => (1, Some(dim)),
                None => (i128::try_from(line.count()?).map_err(|_| too_large())?, line.index()),
            };
            let factor = if negative { -factor } else { factor };
            let to = match dim {
                None => &mut at.constant,
                Some(dim) => at.coeffs.get_mut(dim).ok_or_else(|| {
                    before.error(format!("there is no loop over i{dim} in this nest"))
                })?,
            };
            *to = i64::try_from(i128::from(*to) + factor).map_err(|_| too_large())?;
            negative = line.eat("-");
            if !negative && !line.eat("+") {
                return Ok(at);
            }
        }
    }

    fn conditions(&self, line: &mut Line<'_>) -> R<Vec<(Affine, i64)>> {
        let mut checks = Vec::new();
        if !line.eat_word("if") {
            return Ok(checks);
        }
        loop {
            line.expect("0")?;
            line.expect("<=")?;
            let at = self.affine(line)?;
            line.expect("<")?;
            checks.push((at, line.integer()?));
            if !line.eat_word("and") {
                return Ok(checks);
            }
        }
    }
}

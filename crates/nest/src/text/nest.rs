//! The lines of a nest.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::literal::{affine, conditions, literal, usual_dtype};
use super::print::Printer;
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Val, Write};

impl Printer<'_> {
    /// The loops of a nest, its instructions and what it writes. `note` says more of a dimension.
    pub fn nest(&mut self, nest: &Nest, note: impl Fn(usize) -> String) {
        let parallel = nest.extents.len().saturating_sub(nest.reduced);
        for (dim, extent) in nest.extents.iter().enumerate() {
            let how = match &nest.write {
                _ if dim < parallel => "for",
                Write::Sum(_) => "sum over",
                _ => "over",
            };
            self.line(format_args!("{how} i{dim} < {extent}{}", note(dim)));
        }
        let body = Lines { printer: self, nest, inline: literals_in_place(nest) };
        let (mut lines, mut written) = (Vec::new(), Vec::new());
        for n in (0..nest.instrs.len()).filter(|&n| !body.inline[n]) {
            lines.push(body.instruction(n));
        }
        for also in &nest.also {
            let (to, value) = (body.place(also.target, &also.at), body.operand(also.value));
            written.push(format!("{to} = {value}"));
        }
        written.push(body.write());
        lines.iter().chain(&written).for_each(|line| self.line(format_args!("{line}")));
    }
}

struct Lines<'a, 'b> {
    printer: &'a Printer<'b>,
    nest: &'a Nest,
    /// Which instructions are written where they are used.
    inline: Vec<bool>,
}

impl Lines<'_, '_> {
    fn operand(&self, v: Val) -> String {
        match self.inline.get(v.index()) {
            Some(true) => literal(self.nest, v).unwrap_or_default(),
            _ => format!("%{}", v.0),
        }
    }

    fn place(&self, b: BufferId, at: &Affine) -> String {
        format!("{}[{}]", self.printer.name(b), affine(at))
    }

    /// An index by axes: the sizes of these and the distances between neighbours are those of the
    /// buffer if nothing else is said.
    fn index(&self, b: BufferId, index: &[Component]) -> String {
        let usual = self.printer.buffer(b).is_some_and(|buffer| {
            let strides = buffer.shape.strides();
            index.len() == strides.len()
                && index.iter().zip(buffer.shape.dims().iter().zip(&strides)).all(
                    |(c, (&size, &stride))| c.size == size && i64::try_from(stride) == Ok(c.stride),
                )
        });
        let component = |c: &Component| match usual {
            true => self.operand(c.value),
            false => format!("{} < {} by {}", self.operand(c.value), c.size, c.stride),
        };
        let index: Vec<String> = index.iter().map(component).collect();
        format!("{}[[{}]]", self.printer.name(b), index.join(", "))
    }

    fn instruction(&self, n: usize) -> String {
        let instr = &self.nest.instrs[n];
        let text = match instr {
            Instr::Const(_) | Instr::Affine(_) => {
                literal(self.nest, Val(n as u32)).unwrap_or_default()
            }
            Instr::Load { buffer, at, checks } => {
                format!("{}{}", self.place(*buffer, at), conditions(checks))
            }
            Instr::LoadAt { buffer, index } => self.index(*buffer, index),
            Instr::Op(op, args) => {
                let args: Vec<String> = args.iter().map(|&v| self.operand(v)).collect();
                format!("{op}({})", args.join(", "))
            }
            Instr::MulAdd { args, minus_product, minus_addend } => {
                let [a, b, c] = args.map(|v| self.operand(v));
                let sign = |minus: bool| if minus { "minus " } else { "" };
                format!("fma({}{a}, {b}, {}{c})", sign(*minus_product), sign(*minus_addend))
            }
        };
        let of = |v: Val| self.nest.dtypes.get(v.index()).copied();
        let buffer = || match instr {
            Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => {
                self.printer.buffer(*buffer).map(|buffer| buffer.dtype)
            }
            Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => None,
        };
        let (own, usual) = (of(Val(n as u32)), usual_dtype(instr, of, buffer));
        match own {
            Some(own) if usual != Some(own) && !matches!(instr, Instr::Const(_)) => {
                format!("%{n}: {own} = {text}")
            }
            _ => format!("%{n} = {text}"),
        }
    }

    fn write(&self) -> String {
        let (nest, value) = (self.nest, self.operand(self.nest.value));
        let which = |largest: bool| if largest { "largest" } else { "smallest" };
        match &nest.write {
            Write::Store(at) => format!("{} = {value}", self.place(nest.target, at)),
            Write::Sum(at) => format!("{} = sum {value}", self.place(nest.target, at)),
            Write::Best { at, largest } => {
                format!("{} = {} {value}", self.place(nest.target, at), which(*largest))
            }
            Write::Extreme { at, largest } => {
                let place = self.place(nest.target, at);
                format!("{place} = position of {} {value}", which(*largest))
            }
            Write::Add { at, checks } => {
                format!("{} += {value}{}", self.place(nest.target, at), conditions(checks))
            }
            Write::AddAt(index) => format!("{} += {value}", self.index(nest.target, index)),
            Write::StoreAt(index) => format!("{} = {value}", self.index(nest.target, index)),
        }
    }
}

/// Which constants and affine integers are written where they are used: those that are read back at
/// the same positions. One that is met first in a line becomes an instruction before that of the
/// line; so they have to come right before it, in the order in which it names them.
fn literals_in_place(nest: &Nest) -> Vec<bool> {
    let count = nest.instrs.len().min(nest.dtypes.len());
    let mut inline = vec![false; nest.instrs.len()];
    let is_literal = |n: usize| matches!(nest.instrs[n], Instr::Const(_) | Instr::Affine(_));
    // An affine integer is one by its type.
    let usual = |n: usize| {
        matches!(nest.instrs[n], Instr::Const(_)) || nest.dtypes[n] == cotan_array::Dtype::I64
    };
    let mut seen = FxHashSet::default();
    let mut first = 0;
    while first < count {
        let line = (first..count).find(|&n| !is_literal(n)).unwrap_or(count);
        let mut fresh: SmallVec<[usize; 4]> = SmallVec::new();
        let mut meet = |v: Val| {
            let n = v.index();
            if (first..line).contains(&n) && !fresh.contains(&n) {
                fresh.push(n);
            }
        };
        match line < count {
            true => nest.instrs[line].for_each_operand(meet),
            false => {
                nest.also.iter().for_each(|also| meet(also.value));
                nest.write.index().iter().for_each(|c| meet(c.value));
                meet(nest.value);
            }
        }
        let key = |n: usize| (&nest.instrs[n], nest.dtypes[n]);
        let in_order = line.checked_sub(fresh.len()).is_some_and(|start| {
            fresh.iter().copied().eq(start..line)
                && fresh.iter().all(|&n| usual(n) && !seen.contains(&key(n)))
                && fresh
                    .iter()
                    .enumerate()
                    .all(|(k, &n)| !fresh[..k].iter().any(|&before| key(before) == key(n)))
        });
        if in_order {
            for n in fresh {
                inline[n] = true;
                seen.insert(key(n));
            }
        }
        first = line + 1;
    }
    inline
}

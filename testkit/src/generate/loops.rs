//! Formers with lambdas: gather, scatter and loops.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{
    Checkpoint, Custom, CustomKind, Keep, MapAccum, Param, Result, TermId, Type, While,
};

use super::{Generator, array_type};

/// One parameter for each size.
fn index_params(sizes: &[usize]) -> Vec<Param> {
    sizes.iter().map(|&k| Param::Index(k)).collect()
}

impl Generator<'_> {
    /// A gather whose result has a type: some leading axes range over indices.
    pub(super) fn gather(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let dims = ty.shape.dims();
        let (outer, inner) = dims.split_at(self.rng.below(dims.len() + 1));
        let count = self.rng.below(4);
        let source = self.more_axes(count, inner);
        let t = self.term(&array_type(ty.dtype, &source, inner)?, size / 2)?;
        let body = |g: &mut Self, _: &[TermId]| g.index(&source, size / 2);
        let region = self.lambda(&index_params(outer), outer.iter().product(), body)?;
        self.b.gather(t, region)
    }

    /// A scatter whose result has a type: some leading axes are written by index.
    pub(super) fn scatter(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let dims = ty.shape.dims();
        let (outer, inner) = dims.split_at(self.rng.below(dims.len() + 1));
        let count = self.rng.below(4);
        let mut source = self.more_axes(count, inner);
        while !self.may_open(source.iter().product()) {
            source.pop();
        }
        let t = self.term(&array_type(ty.dtype, &source, inner)?, size / 2)?;
        let body = |g: &mut Self, _: &[TermId]| g.index(outer, size / 2);
        let region = self.lambda(&index_params(&source), source.iter().product(), body)?;
        self.b.scatter(outer, t, region)
    }

    /// A loop one of whose results has a type: a final state, or an output.
    pub(super) fn map_accum(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let outermost = ty.shape.dims().first().copied().filter(|&k| self.may_open(k));
        let as_output = outermost.filter(|_| self.rng.chance(60));
        let length = match as_output {
            Some(k) => k,
            None => self.loop_length(),
        };
        let (mut states, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.below(3) {
            states.push(self.any_type(1)?);
        }
        for _ in 0..self.rng.below(2) {
            outputs.extend(self.step_type(length)?);
        }
        let wanted = if as_output.is_some() {
            let at = self.rng.below(outputs.len() + 1);
            outputs.insert(at, Type::new(ty.dtype, ty.shape.drop_outer(1)));
            states.len() + at
        } else {
            let at = self.rng.below(states.len() + 1);
            states.insert(at, ty.clone());
            at
        };
        let mut elements = Vec::new();
        for _ in 0..self.rng.below(3) {
            elements.extend(self.step_type(length)?);
        }

        let mut parts = self.split(size / 2, states.len() + elements.len()).into_iter();
        let mut part = || parts.next().unwrap_or(0);
        let init: Vec<TermId> =
            states.iter().map(|ty| self.term(ty, part())).collect::<Result<_>>()?;
        let mut inputs = Vec::new();
        for ty in &elements {
            let array = array_type(ty.dtype, &[length], ty.shape.dims())?;
            inputs.push(self.term(&array, part())?);
        }

        let results: Vec<&Type> = states.iter().chain(&outputs).collect();
        let parts = self.split(size / 2 + results.len(), results.len());
        let body = |g: &mut Self, _: &[TermId]| {
            let mut terms = Vec::with_capacity(results.len());
            for (ty, part) in results.iter().zip(parts) {
                let idle = g.rng.chance(30);
                terms.push(if idle { g.term(ty, part)? } else { g.fresh(ty, part)? });
            }
            Ok(terms)
        };
        let params: Vec<Param> =
            states.iter().chain(&elements).map(|ty| Param::Value(ty.clone())).collect();
        let step = self.lambda(&params, length, body)?;
        let reverse = self.rng.chance(50);
        let node = MapAccum { length, reverse, init: init.into(), inputs: inputs.into(), step };
        let t = self.b.map_accum(node)?;
        for n in 0..results.len() {
            if n != wanted && self.rng.chance(50) {
                let other = self.b.result(t, n)?;
                self.pool.add(&self.b, other);
            }
        }
        self.b.result(t, wanted)
    }

    /// A `while` one of whose results has a type: a final state, or an output. It certainly ends: a
    /// state counts the steps. It may end before, by data or by its bound.
    pub(super) fn while_accum(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let outermost = ty.shape.dims().first().copied().filter(|&k| self.may_open(k));
        let as_output = outermost.filter(|_| self.rng.chance(50));
        let limit = self.loop_length();
        let bound = match as_output {
            Some(k) => Some(k),
            None => self.rng.chance(40).then(|| self.loop_length()),
        };
        let (mut states, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.below(3) {
            states.push(self.any_type(1)?);
        }
        if let Some(k) = bound {
            for _ in 0..self.rng.below(2) {
                outputs.extend(self.step_type(k)?);
            }
        }
        let wanted = if as_output.is_some() {
            let at = self.rng.below(outputs.len() + 1);
            outputs.insert(at, Type::new(ty.dtype, ty.shape.drop_outer(1)));
            Some(at)
        } else {
            states.insert(0, ty.clone());
            None
        };
        let mut parts = self.split(size / 2, states.len()).into_iter();
        let mut init = Vec::new();
        for ty in &states {
            init.push(self.term(ty, parts.next().unwrap_or(0))?);
        }
        // The counter comes last.
        init.push(self.b.scalar(0i64)?);
        let results: Vec<&Type> = states.iter().chain(&outputs).collect();
        let mut parts = self.split(size / 2 + results.len(), results.len()).into_iter();
        let count = states.len();
        let body = |g: &mut Self, vars: &[TermId]| {
            let counter = vars[count];
            let (limit, one) = (g.b.scalar(limit as i64)?, g.b.scalar(1i64)?);
            let mut condition = g.b.op(Op::Lt, &[counter, limit])?;
            if g.rng.chance(40) {
                let early = g.term(&Type::scalar(Dtype::Bool), 3)?;
                condition = g.b.op(Op::And, &[condition, early])?;
            }
            let mut terms = vec![condition];
            for ty in &results {
                let (idle, part) = (g.rng.chance(30), parts.next().unwrap_or(0));
                terms.push(if idle { g.term(ty, part)? } else { g.fresh(ty, part)? });
            }
            terms.insert(1 + count, g.b.op(Op::Add, &[counter, one])?);
            Ok(terms)
        };
        let params: Vec<Param> = init.iter().map(|&s| Param::Value(self.b.ty(s).clone())).collect();
        let step = self.lambda(&params, bound.unwrap_or(limit).min(limit), body)?;
        let t = self.b.while_accum(While { bound, init: init.into(), step })?;
        let wanted = wanted.map_or(0, |at| count + 1 + at);
        for n in 0..self.b.result_count(t).unwrap_or(0) {
            if n != wanted && self.rng.chance(50) {
                let other = self.b.result(t, n)?;
                self.pool.add(&self.b, other);
            }
        }
        self.b.result(t, wanted)
    }

    /// A function with a derivative of its own, one of whose results has a type. The rule is linear,
    /// as it must be, but not the derivative.
    pub(super) fn custom(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let (mut params, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.below(3) {
            params.push(self.any_type(1)?);
        }
        for _ in 0..self.rng.below(2) {
            outputs.push(self.any_type(1)?);
        }
        let wanted = self.rng.below(outputs.len() + 1);
        outputs.insert(wanted, ty.clone());
        let mut parts = self.split(size / 2, params.len()).into_iter();
        let mut part = || parts.next().unwrap_or(0);
        let args: Vec<TermId> =
            params.iter().map(|ty| self.term(ty, part())).collect::<Result<_>>()?;

        let float = |ty: &&Type| ty.dtype.is_float();
        let (kind, from, to) = match self.rng.chance(50) {
            true => (CustomKind::Vjp, &outputs, &params),
            false => (CustomKind::Jvp, &params, &outputs),
        };
        let taken: Vec<Type> = from.iter().filter(float).cloned().collect();
        let given: Vec<Type> = to.iter().filter(float).cloned().collect();
        let parts = self.split(size / 2 + outputs.len(), outputs.len());
        let (own, results) = (params.len(), outputs.clone());
        let body = |g: &mut Self, vars: &[TermId]| {
            // The function must not see what only the rule is given.
            let hidden = &vars[own..];
            hidden.iter().for_each(|&t| g.pool.remove(&g.b, t));
            let mut terms = Vec::new();
            for (ty, part) in results.iter().zip(parts) {
                terms.push(g.term(ty, part)?);
            }
            for ty in &given {
                let zero = g.b.constant(&Array::zeros(ty.dtype, ty.shape.clone())?)?;
                let mut sum = zero;
                for &c in hidden {
                    if g.b.ty(c) == ty {
                        let factor = g.term(ty, 1)?;
                        let part = g.b.op(Op::Scale, &[c, factor])?;
                        sum = g.b.op(Op::Add, &[sum, part])?;
                    }
                }
                terms.push(sum);
            }
            Ok(terms)
        };
        let all: Vec<Param> = params.iter().chain(&taken).cloned().map(Param::Value).collect();
        let region = self.lambda(&all, 1, body)?;
        let node = Custom { kind, args: args.into(), outputs: outputs.len(), region };
        let t = self.b.custom(node)?;
        self.b.result(t, wanted)
    }

    /// A checkpoint, one of whose results has a type.
    pub(super) fn checkpoint(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let keep = match self.rng.below(5) {
            0 => Keep::Nothing,
            1 => Keep::Everything,
            2 => Keep::Contractions,
            3 => Keep::Bytes(8 * self.rng.below(20) as u64),
            _ => Keep::States(1 + self.rng.below(3) as u32),
        };
        let kind = CustomKind::Checkpoint(Checkpoint { keep, again: self.rng.chance(20) });
        let (mut args, mut types) = (Vec::new(), vec![ty.clone()]);
        for _ in 0..self.rng.below(3) {
            let ty = self.any_type(1)?;
            args.push(self.term(&ty, size / 4)?);
        }
        if self.rng.chance(30) {
            types.push(self.any_type(1)?);
        }
        let params: Vec<Param> = args.iter().map(|&t| Param::Value(self.b.ty(t).clone())).collect();
        let parts = self.split(size / 2, types.len());
        let results = types.clone();
        let region = self.lambda(&params, 1, |g: &mut Self, _: &[TermId]| {
            results.iter().zip(parts).map(|(ty, part)| g.term(ty, part)).collect()
        })?;
        let args = args.into();
        let t = self.b.custom(Custom { kind, args, outputs: types.len(), region })?;
        for n in 1..types.len() {
            let other = self.b.result(t, n)?;
            self.pool.add(&self.b, other);
        }
        self.b.result(t, 0)
    }

    /// A number of steps that may be run here.
    fn loop_length(&mut self) -> usize {
        let length = self.any_size();
        if self.may_open(length) { length } else { 1 }
    }

    /// The type of what one step reads or writes, if `length` of them may be stacked.
    fn step_type(&mut self, length: usize) -> Result<Option<Type>> {
        let ty = self.any_type(1)?;
        let fits = length * ty.shape.numel() <= self.config.max_elements;
        Ok(Some(ty).filter(|ty| fits && ty.shape.rank() < self.config.max_rank))
    }
}

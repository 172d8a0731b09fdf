//! Loops: states and results that nothing needs, states that do not change, loops of no or one step.
//!
//! What is needed of a loop is found on the source, before the loop is made again: results that
//! something reads, and states that these depend on, through steps. So states that only feed
//! themselves vanish with all that is computed for them; of a reverse pass, whatever does not reach
//! a gradient.

use cotan_ir::{
    Custom, CustomKind, Error, MapAccum, Node, Param, Program, RegionId, Result, Scopes, TermId,
    TermMap, TermSet, While,
};

use crate::accumulate::SumsAfterLoop;
use crate::pass::{Opt, rule};
use crate::view::{AxisMap, view};

/// The step of a loop, or what a function computes.
pub(crate) struct LoopBody {
    pub level: u8,
    pub params: Vec<TermId>,
    /// Next states, then outputs: those of the loop itself, then what else it is to give.
    pub results: Vec<TermId>,
    /// Its nodes, operands before their users.
    pub order: Vec<TermId>,
}

impl LoopBody {
    fn of(source: &Program, scopes: &Scopes, r: RegionId) -> LoopBody {
        let region = source.region(r);
        LoopBody {
            level: region.level(),
            params: region.params().to_vec(),
            results: region.results().to_vec(),
            order: scopes.region(r).order().to_vec(),
        }
    }

    /// Takes in the outputs of another step with the same parameters.
    fn join(&mut self, other: &LoopBody, states: usize) {
        self.results.extend(other.results.iter().skip(states));
        let mut known = TermSet::new();
        for &t in &self.order {
            known.insert(t);
        }
        self.order.extend(other.order.iter().filter(|&&t| known.insert(t)));
    }
}

/// What a loop is remade from.
struct Shrunk {
    /// For each state whether it is needed.
    states: Vec<bool>,
    /// For each state whether it never changes.
    invariant: Vec<bool>,
    /// For each input whether it is needed.
    inputs: Vec<bool>,
    /// States that are sums, taken after the loop.
    outside: SumsAfterLoop,
}

impl Opt<'_> {
    /// Which parameters of a region the given results need, states feeding back: from result `n` of
    /// the region on, `feeds` says which state a result is the next value of.
    fn needed(&self, body: &LoopBody, roots: &[usize], next: impl Fn(usize) -> usize) -> Vec<bool> {
        let mut needed = vec![false; body.params.len()];
        let mut seen = TermSet::new();
        let mut stack: Vec<TermId> = roots.iter().map(|&n| body.results[n]).collect();
        while let Some(t) = stack.pop() {
            if !self.source.free(t).contains(body.level) || !seen.insert(t) {
                continue;
            }
            let node = self.source.node(t);
            if let Node::Var { level, position, .. } = node
                && *level == body.level
            {
                let k = *position as usize;
                if !std::mem::replace(&mut needed[k], true) {
                    let n = next(k);
                    stack.extend(body.results.get(n));
                }
            }
            node.for_each_operand(|u| stack.push(u));
            if let Some(r) = node.region() {
                stack.extend(self.source.region(r).results());
            }
        }
        needed
    }

    /// Which results of a loop are read; all if loops are not to be changed.
    fn read_results(&self, t: TermId) -> Vec<bool> {
        let count = self.source.result_count(t).unwrap_or(0);
        match self.used_results.get(&t) {
            Some(used) if self.options.loops => used.clone(),
            _ => vec![!self.options.loops; count],
        }
    }

    fn body(&self, r: RegionId) -> LoopBody {
        LoopBody::of(self.source, self.scopes, r)
    }

    pub(crate) fn map_accum(&mut self, t: TermId, m: &MapAccum) -> Result<()> {
        if self.made_before.remove(&t) {
            return Ok(());
        }
        let mut body = self.body(m.step);
        let states = m.init.len();
        let mut used = self.read_results(t);
        if self.options.loops && m.length <= 1 {
            return self.unrolled(t, m, &body);
        }
        let own = used.len();
        let mut others = Vec::new();
        for other in self.merged.with.get(&t).cloned().unwrap_or_default() {
            let Node::MapAccum(second) = self.source.node(other) else { continue };
            self.report.count(rule!("loop/merge"));
            let read = self.read_results(other);
            for (used, read) in used.iter_mut().zip(&read[..states]) {
                *used |= read;
            }
            used.extend(&read[states..]);
            self.make(self.scopes.region(second.step).captures())?;
            others.push((other, body.results.len()..body.results.len() + read.len() - states));
            body.join(&self.body(second.step), states);
        }
        let kept = self.stored.outputs.get(&t).cloned().unwrap_or_default();
        body.results.extend(&kept);
        used.resize(body.results.len(), true);
        let mut images = self.remade(t, m, &body, &used)?;
        for (&term, image) in kept.iter().zip(&images[used.len() - kept.len()..]) {
            self.kept.extend(image.map(|image| ((t, term), image)));
        }
        for (other, outputs) in others {
            let all = [&images[..states], &images[outputs]].concat();
            self.results.insert(other, all);
            self.made_before.insert(other);
        }
        images.truncate(own);
        self.results.insert(t, images);
        Ok(())
    }

    /// Makes terms of the scope at hand before their turn, and the loops that they need once more: an
    /// equal node is the same.
    fn make(&mut self, terms: &[TermId]) -> Result<()> {
        let (mut stack, mut missing) = (terms.to_vec(), TermSet::new());
        let mut order = Vec::new();
        while let Some(t) = stack.pop() {
            if !self.has_image(t) && missing.insert(t) {
                order.push(t);
                self.scopes.for_each_dependency(self.source, t, |u| stack.push(u));
            }
        }
        // Operands stand before their users.
        order.sort_unstable();
        self.scope(&order)
    }

    /// What is needed of a loop, and how; then the loop, and what stands for its results.
    fn remade(
        &mut self,
        t: TermId,
        m: &MapAccum,
        body: &LoopBody,
        used: &[bool],
    ) -> Result<Vec<Option<TermId>>> {
        let states = m.init.len();
        let roots: Vec<usize> = (0..used.len()).filter(|&n| used[n]).collect();
        // A state that is read after the loop is needed also if no step reads it.
        let beyond = usize::MAX;
        let mut needed = self.needed(body, &roots, |k| if k < states { k } else { beyond });
        let mut shrunk = Shrunk {
            invariant: (0..states)
                .map(|k| self.options.loops && is_invariant(body, &m.init, k))
                .collect(),
            inputs: needed.split_off(states),
            states: needed,
            outside: SumsAfterLoop::default(),
        };
        for (needed, used) in shrunk.states.iter_mut().zip(used) {
            *needed |= used;
        }
        if self.options.loops {
            shrunk.outside = self.sums_outside(m, body, used);
        } else {
            shrunk.states.fill(true);
            shrunk.inputs.fill(true);
        }
        self.shrunk(t, m, body, used, &shrunk)
    }

    /// The loop with what is needed only, and what stands for its results.
    fn shrunk(
        &mut self,
        t: TermId,
        m: &MapAccum,
        body: &LoopBody,
        used: &[bool],
        shrunk: &Shrunk,
    ) -> Result<Vec<Option<TermId>>> {
        let states = m.init.len();
        let outside = &shrunk.outside;
        let mut inside = shrunk.states.clone();
        for sum in &outside.sums {
            inside[sum.state] = false;
        }
        // Images of the results, then of the factors of sums.
        let all = [&body.results[..], &outside.factors].concat();
        let mut images: Vec<Option<TermId>> = vec![None; all.len()];
        let (mut init, mut inputs, mut params) = (Vec::new(), Vec::new(), Vec::new());
        // Parameters that stay, and terms for those that do not.
        let (mut kept, mut fixed) = (Vec::new(), Vec::new());
        for k in (0..states).filter(|&k| inside[k]) {
            let start = self.image(m.init[k])?;
            let p = body.params[k];
            if shrunk.invariant[k] {
                self.report.count(rule!("loop/invariant-state"));
                fixed.push((p, start));
                images[k] = Some(start);
            } else {
                init.push(start);
                kept.push(p);
                params.extend(self.params(&[p]));
            }
        }
        for (n, &x) in m.inputs.iter().enumerate().filter(|(n, _)| shrunk.inputs[*n]) {
            let (x, p) = (self.image(x)?, body.params[states + n]);
            let v = view(&self.b, x);
            if self.options.loops && v.map.first() == Some(&None) {
                self.report.count(rule!("loop/invariant-input"));
                let dims = self.dims(x);
                fixed.push((p, self.without_axis(&v, &dims, 0)?));
            } else {
                inputs.push(x);
                kept.push(p);
                params.extend(self.params(&[p]));
            }
        }
        for recalled in self.stored.inputs.get(&t).cloned().unwrap_or_default() {
            let missing = || Error::internal("a loop has not stored what another reads");
            let array = *self.kept.get(&recalled.from).ok_or_else(missing)?;
            self.report.count(rule!("loop/stored"));
            inputs.push(array);
            kept.push(recalled.term);
            params.push(Param::Value(self.source.ty(recalled.term).clone()));
        }
        let dropped = shrunk.states.iter().chain(&shrunk.inputs).chain(&used[states..]);
        if dropped.into_iter().any(|needed| !needed) {
            self.report.count(rule!("loop/dead"));
        }
        // Results of the step that are read: next states, then outputs, each once.
        let mut wanted: Vec<usize> =
            (0..states).filter(|&k| inside[k] && !shrunk.invariant[k]).collect();
        let moving = wanted.len();
        wanted.extend((states..used.len()).filter(|&n| used[n]));
        wanted.extend(used.len()..images.len());
        let roots: Vec<TermId> = wanted.iter().map(|&n| all[n]).collect();
        let made = self.step(body, &params, &kept, &fixed, &roots)?;
        let (next, outputs) = made.split_at(moving);
        let level = self.b.depth() as u8 + 1;
        let mut stored: Vec<TermId> = Vec::new();
        let mut places = Vec::new();
        for (&y, &n) in outputs.iter().zip(&wanted[moving..]) {
            if self.options.loops && !self.b.free(y).contains(level) {
                self.report.count(rule!("loop/invariant-output"));
                let inner = self.dims(y);
                let map: AxisMap =
                    std::iter::once(None).chain((0..inner.len()).map(Some)).collect();
                let dims = [&[m.length], inner.as_slice()].concat();
                images[n] = Some(self.view_of(y, &map, &dims)?);
                continue;
            }
            if self.options.loops
                && let Node::Var { level: at, position, .. } = self.b.node(y)
                && *at == level
                && let Some(&x) = inputs.get((*position as usize).wrapping_sub(init.len()))
            {
                self.report.count(rule!("loop/copied-output"));
                images[n] = Some(x);
                continue;
            }
            let place = stored.iter().position(|&z| z == y).unwrap_or_else(|| {
                stored.push(y);
                stored.len() - 1
            });
            places.push((n, moving + place));
        }
        if moving > 0 || !stored.is_empty() {
            self.b.open(&params)?;
            let step = self.b.close(&[next, &stored].concat())?;
            let remade = self.b.map_accum(MapAccum {
                length: m.length,
                reverse: m.reverse,
                init: init.into(),
                inputs: inputs.into(),
                step,
            })?;
            for (place, &k) in wanted[..moving].iter().enumerate() {
                if used[k] {
                    images[k] = Some(self.b.result(remade, place)?);
                }
            }
            for (n, place) in places {
                images[n] = Some(self.b.result(remade, place)?);
            }
        }
        let mut stored: TermMap<TermId> = TermMap::new();
        for (&t, image) in outside.factors.iter().zip(images.split_off(used.len())) {
            if let Some(image) = image {
                stored.insert(t, image);
            }
        }
        for sum in &outside.sums {
            images[sum.state] = Some(self.sum_outside(m, body, sum, &stored)?);
        }
        Ok(images)
    }

    /// Images of some terms of a step, its parameters being those that stay. The region is open
    /// while they are made and closed afterwards; open it again with the same parameters to use them.
    fn step(
        &mut self,
        body: &LoopBody,
        params: &[Param],
        kept: &[TermId],
        fixed: &[(TermId, TermId)],
        roots: &[TermId],
    ) -> Result<Vec<TermId>> {
        let vars = self.b.open(params)?;
        for (&p, &var) in kept.iter().zip(&vars) {
            self.set_image(p, var);
        }
        for &(p, image) in fixed {
            self.set_image(p, image);
        }
        let made = self.needed_of(body, roots);
        self.forget(&body.order);
        self.forget(&body.params);
        self.b.abandon();
        made
    }

    /// Images of some terms of a region, making only what they need.
    fn needed_of(&mut self, body: &LoopBody, roots: &[TermId]) -> Result<Vec<TermId>> {
        let mut live = TermSet::new();
        let mut stack = roots.to_vec();
        while let Some(t) = stack.pop() {
            let outside = self.source.free(t).innermost() < body.level;
            if outside || self.has_image(t) || !live.insert(t) {
                continue;
            }
            self.scopes.for_each_dependency(self.source, t, |u| stack.push(u));
        }
        let order = body.order.iter().copied();
        let order: Vec<TermId> = order.filter(|&t| live.contains(t)).collect();
        self.scope(&order)?;
        self.all_images(roots)
    }

    /// A loop of no step or one.
    fn unrolled(&mut self, t: TermId, m: &MapAccum, body: &LoopBody) -> Result<()> {
        self.report.count(rule!("loop/short"));
        let types = self.source.result_types(t).unwrap_or_default();
        let states = m.init.len();
        let mut images = Vec::with_capacity(types.len());
        if m.length == 0 {
            for (n, ty) in types.iter().enumerate() {
                images.push(Some(match m.init.get(n) {
                    Some(&init) => self.image(init)?,
                    None => self.zeros(ty)?,
                }));
            }
            self.results.insert(t, images);
            return Ok(());
        }
        for (n, &p) in body.params.iter().enumerate() {
            let image = match m.init.get(n) {
                Some(&init) => self.image(init)?,
                None => {
                    let x = self.image(m.inputs[n - states])?;
                    let dims = self.dims(x);
                    self.reshape(&dims[1..], x)?
                }
            };
            self.set_image(p, image);
        }
        let made = self.scope(&body.order);
        let made = made.and_then(|()| self.all_images(&body.results));
        self.forget(&body.order);
        self.forget(&body.params);
        for (n, y) in made?.into_iter().enumerate() {
            let dims = types.get(n).map(|ty| ty.shape.dims().to_vec()).unwrap_or_default();
            images.push(Some(if n < states { y } else { self.reshape(&dims, y)? }));
        }
        self.results.insert(t, images);
        Ok(())
    }

    pub(crate) fn while_loop(&mut self, t: TermId, w: &While) -> Result<()> {
        let body = self.body(w.step);
        let states = w.init.len();
        let used = self.read_results(t);
        // The condition is always needed; results of the region are one further on.
        let roots: Vec<usize> =
            std::iter::once(0).chain((0..used.len()).filter(|&n| used[n]).map(|n| n + 1)).collect();
        let mut needed = self.needed(&body, &roots, |k| k + 1);
        for (needed, used) in needed.iter_mut().zip(&used) {
            *needed |= *used || !self.options.loops;
        }
        // A loop has at least one state; one whose condition needs none is not worth more thought.
        if !needed.contains(&true) {
            needed.fill(true);
        }
        let mut images: Vec<Option<TermId>> = vec![None; used.len()];
        let mut fixed = Vec::new();
        let invariant: Vec<bool> = (0..states)
            .map(|k| {
                let next = body.results[k + 1];
                self.options.loops && (next == body.params[k] || next == w.init[k])
            })
            .collect();
        let all = (0..states).all(|k| !needed[k] || invariant[k]);
        let (mut init, mut kept, mut params) = (Vec::new(), Vec::new(), Vec::new());
        let mut wanted = vec![0];
        for k in (0..states).filter(|&k| needed[k]) {
            let (start, p) = (self.image(w.init[k])?, body.params[k]);
            if invariant[k] && !all {
                self.report.count(rule!("loop/invariant-state"));
                fixed.push((p, start));
                images[k] = Some(start);
            } else {
                init.push(start);
                kept.push(p);
                params.extend(self.params(&[p]));
                wanted.push(k + 1);
            }
        }
        let moving = wanted.len();
        wanted.extend((states..used.len()).filter(|&n| used[n]).map(|n| n + 1));
        if needed.iter().chain(&used[states..]).any(|needed| !needed) {
            self.report.count(rule!("loop/dead"));
        }
        let roots: Vec<TermId> = wanted.iter().map(|&n| body.results[n]).collect();
        let made = self.step(&body, &params, &kept, &fixed, &roots)?;
        self.b.open(&params)?;
        let step = self.b.close(&made)?;
        let remade = self.b.while_accum(While { bound: w.bound, init: init.into(), step })?;
        for (place, &n) in wanted.iter().enumerate().skip(1) {
            if place >= moving || used[n - 1] {
                images[n - 1] = Some(self.b.result(remade, place - 1)?);
            }
        }
        self.results.insert(t, images);
        Ok(())
    }

    /// A function with a derivative of its own is what it computes: the program will be run.
    pub(crate) fn custom(&mut self, t: TermId, c: &Custom) -> Result<()> {
        let body = self.body(c.region);
        if matches!(c.kind, CustomKind::Checkpoint(checkpoint) if checkpoint.again) {
            return self.again(t, c, &body);
        }
        let (params, _) = body
            .params
            .split_at_checked(c.args.len())
            .ok_or_else(|| Error::internal("a function with too few parameters"))?;
        for (&p, &arg) in params.iter().zip(&c.args) {
            let image = self.image(arg)?;
            self.set_image(p, image);
        }
        self.report.count(rule!("custom/inline"));
        let made = self.needed_of(&body, &body.results[..c.outputs]);
        self.forget(&body.order);
        self.forget(&body.params);
        let images = made?.into_iter().map(Some).collect();
        self.results.insert(t, images);
        Ok(())
    }

    /// What a reverse pass computes again stays apart, or it would be found to be equal to what was
    /// computed before, and that be kept. Results and arguments that nothing needs leave it.
    fn again(&mut self, t: TermId, c: &Custom, body: &LoopBody) -> Result<()> {
        let used = self.read_results(t);
        let wanted: Vec<usize> =
            (0..c.outputs).filter(|&n| used[n] || !self.options.loops).collect();
        let needed = self.needed(body, &wanted, |_| usize::MAX);
        let (mut args, mut kept, mut fixed) = (Vec::new(), Vec::new(), Vec::new());
        for ((&p, &arg), &needed) in body.params.iter().zip(&c.args).zip(&needed) {
            let image = self.image(arg)?;
            match self.b.node(image) {
                _ if !needed => {}
                Node::Const(_) | Node::Iota(_) => fixed.push((p, image)),
                _ => {
                    args.push(image);
                    kept.push(p);
                }
            }
        }
        let params = self.params(&kept);
        let roots: Vec<TermId> = wanted.iter().map(|&n| body.results[n]).collect();
        let made = self.step(body, &params, &kept, &fixed, &roots)?;
        self.b.open(&params)?;
        let region = self.b.close(&made)?;
        let (kind, outputs) = (c.kind, made.len());
        let remade = self.b.custom(Custom { kind, args: args.into(), outputs, region })?;
        let mut images = vec![None; c.outputs];
        for (place, &n) in wanted.iter().enumerate() {
            images[n] = Some(self.b.result(remade, place)?);
        }
        self.results.insert(t, images);
        Ok(())
    }
}

/// Whether a state stays what it is at the start.
fn is_invariant(body: &LoopBody, init: &[TermId], k: usize) -> bool {
    let next = body.results[k];
    next == body.params[k] || next == init[k]
}

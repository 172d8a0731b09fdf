//! Scatters that are reads seen from the other side.
//!
//! $\mathit{out}[p] = \sum_i [e(i) = p]\, t[i]$. The equations $e_r(i) = p_r$ that are affine, with a
//! coefficient $\pm 1$ for some variable, are solved for it, the largest first; what cannot be solved
//! for stays as a mask, and variables that no equation gives are summed over:
//! $$\mathit{out}[p] = \sum_f [\text{mask}(p, f)]\; t[i(p, f)].$$
//! Reads out of range are 0, so no mask says that $i$ is in range. Identity, transposition, reversal,
//! padding and slices have no variable left, and most often no mask; a diagonal is a mask; windows
//! $i + j$ are sums over the smaller variable. Arithmetic wraps on both sides alike, so the solution
//! is exact. What would be more work than the scatter stays.

use cotan_array::{Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Node, RegionId, Result, TermId, TermMap, Type};

use crate::affine::{ScatterForm, forms};
use crate::pass::{Fired, Opt, rule};
use crate::view::{AxisMap, is_all};

/// Reads may be so many times the work of the scatter, which is dearer: it finds its places one by
/// one, and zeros them before.
const MAX_GROWTH: usize = 3;

/// Components of an index of up to so many nodes are computed again for a mask.
const MAX_COMPONENT: usize = 24;

/// The equations of a scatter, solved as far as possible.
struct Solution {
    /// For each variable what it is, in positions and free variables; none for a free one.
    vars: Vec<Option<ScatterForm>>,
    /// Forms that must be 0.
    masks: Vec<ScatterForm>,
    /// Components that are not affine, and must be their positions.
    others: Vec<usize>,
}

impl Solution {
    fn of(forms: &[Option<ScatterForm>], sizes: &[usize]) -> Solution {
        let mut solution =
            Solution { vars: vec![None; sizes.len()], masks: Vec::new(), others: Vec::new() };
        let mut equations: Vec<ScatterForm> = Vec::new();
        for (r, form) in forms.iter().enumerate() {
            match form {
                Some(form) => {
                    let mut equation = form.clone();
                    equation.positions[r] = -1;
                    equations.push(equation);
                }
                None => solution.others.push(r),
            }
        }
        // Equations of one variable leave no choice.
        equations.sort_by_key(|e| e.vars.iter().filter(|&&c| c != 0).count());
        for mut equation in equations {
            for (k, known) in solution.vars.iter().enumerate() {
                if let Some(known) = known {
                    equation.substitute(k, known);
                }
            }
            let unit = |&k: &usize| equation.vars[k].unsigned_abs() == 1;
            let largest = |&k: &usize| (sizes[k], usize::MAX - k);
            let Some(k) = (0..sizes.len()).filter(unit).max_by_key(largest) else {
                solution.masks.push(equation);
                continue;
            };
            // c i + rest = 0, so i = -c rest.
            let c = std::mem::take(&mut equation.vars[k]);
            let mut value = ScatterForm::zero(sizes.len(), forms.len());
            value.add(&equation, c.wrapping_neg());
            for known in solution.vars.iter_mut().flatten() {
                known.substitute(k, &value);
            }
            for mask in &mut solution.masks {
                mask.substitute(k, &value);
            }
            solution.vars[k] = Some(value);
        }
        solution
    }

    fn free(&self) -> Vec<usize> {
        (0..self.vars.len()).filter(|&k| self.vars[k].is_none()).collect()
    }
}

/// A component `a i + c` with a stride `a`, if the index function gives every variable its own
/// component, and small constants.
fn strided(forms: &[Option<ScatterForm>], sizes: &[usize]) -> Option<usize> {
    let moderate = |x: i64| x.unsigned_abs() < 1 << 30;
    let mut seen = vec![false; sizes.len()];
    let mut found = None;
    for (n, form) in forms.iter().enumerate() {
        let form = form.as_ref()?;
        let mut vars = form.vars.iter().enumerate().filter(|(_, c)| **c != 0);
        let first = vars.next();
        if vars.next().is_some() {
            return None;
        }
        let Some((k, &a)) = first else { continue };
        if std::mem::replace(&mut seen[k], true) {
            return None;
        }
        if a.unsigned_abs() != 1 {
            let small = moderate(a) && moderate(form.constant) && sizes[k] < 1 << 30;
            if !small || !form.others.is_empty() {
                return None;
            }
            found = Some(n);
        }
    }
    // Every variable must have a component, or a size of 1.
    let all = seen.iter().zip(sizes).all(|(&seen, &k)| seen || k == 1);
    found.filter(|_| all)
}

/// The space of reads: free variables, then positions.
struct ReadSpace {
    dims: Vec<usize>,
    /// The free variables.
    free: Vec<usize>,
}

impl Opt<'_> {
    pub(crate) fn scatter_rules(
        &mut self,
        raw: TermId,
        outer: &Shape,
        t: TermId,
        r: RegionId,
    ) -> Result<Fired> {
        if !self.options.scatters {
            return Ok(None);
        }
        let ty = self.b.ty(raw).clone();
        let ix = self.b.region(r).results().to_vec();
        let sizes = self.b.index_sizes(r).to_vec();
        if sizes.contains(&0) || is_all(&self.b, t, 0) || self.is_outside(&ix, outer.dims()) {
            return Ok(Some((rule!("scatter/zero"), self.zeros(&ty)?)));
        }
        if sizes.iter().all(|&k| k == 1) && ix.iter().all(|&e| self.is_light(r, e)) {
            let (zero, region) = (self.b.scalar(0i64)?, self.b.region(r).clone());
            let zeros = vec![zero; sizes.len()];
            let ix = self.substituted(region.level(), region.params(), &zeros, &ix)?;
            let dims = self.dims(t);
            let only = self.reshape(&dims[sizes.len()..], t)?;
            return Ok(Some((rule!("scatter/nil"), self.one_hot(outer.dims(), only, &ix)?)));
        }
        if self.b.region(r).level() as usize != self.b.depth() + 1 {
            return Ok(None);
        }
        if let Some(fired) = self.scatter_known(&ty, outer.dims(), t, r)? {
            return Ok(Some(fired));
        }
        let forms = forms(&self.b, r, outer.rank());
        if let Some(n) = strided(&forms, &sizes)
            && let Some(form) = &forms[n]
        {
            return self.split_places(r, outer.dims(), t, n, form);
        }
        let solution = Solution::of(&forms, &sizes);
        let product = |ks: &[usize]| ks.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let free = solution.free();
        let summands = product(&free.iter().map(|&k| sizes[k]).collect::<Vec<_>>());
        let (places, elements) = (product(outer.dims()), product(&sizes));
        // A mask costs about as much as a read.
        let masks = solution.masks.len() + solution.others.len();
        let work = places.saturating_mul(summands).saturating_mul(1 + masks);
        let light = solution.others.iter().all(|&n| self.is_light(r, ix[n]));
        if light && work <= MAX_GROWTH.saturating_mul(places.saturating_add(elements)) {
            return self.reads(r, outer.dims(), t, &solution, &ty);
        }
        match self.ignored_variables(r, outer.dims(), t, &forms)? {
            None => self.scatter_apart(outer.dims(), t, r),
            fired => Ok(fired),
        }
    }

    /// Places `a i + c` are pairs of a multiple of `a` and a rest, of which only one occurs.
    fn split_places(
        &mut self,
        r: RegionId,
        outer: &[usize],
        t: TermId,
        n: usize,
        form: &ScatterForm,
    ) -> Result<Fired> {
        let Some(k) = form.vars.iter().position(|&a| a != 0) else { return Ok(None) };
        let (a, c) = (form.vars[k], form.constant);
        let stride = a.abs();
        let (whole, rest) = (c.div_euclid(stride), c.rem_euclid(stride));
        let (size, stride) = (outer[n], stride as usize);
        let count = size.div_ceil(stride);
        let sizes = self.b.index_sizes(r).to_vec();
        let ix = self.b.region(r).results().to_vec();
        let f = self.index_function(&sizes, |opt, vars| {
            let mut multiple = ScatterForm::zero(vars.len(), 0);
            (multiple.vars[k], multiple.constant) = (a.signum(), whole);
            let mut ix = ix;
            ix[n] = opt.form_term(&multiple, vars, &[])?;
            ix.insert(n + 1, opt.b.scalar(rest)?);
            Ok(ix)
        })?;
        let mut split = outer.to_vec();
        split[n] = count;
        split.insert(n + 1, stride);
        let apart = self.scatter(&split, t, f)?;
        let mut dims = self.dims(apart);
        dims.remove(n + 1);
        dims[n] = count * stride;
        let mut joined = self.reshape(&dims, apart)?;
        if dims[n] != size {
            let f = self.index_function(&outer[..=n], |_, vars| Ok(vars.to_vec()))?;
            joined = self.gather(joined, f)?;
        }
        Ok(Some((rule!("scatter/strided"), joined)))
    }

    /// The scatter as a sum of masked reads.
    fn reads(
        &mut self,
        r: RegionId,
        outer: &[usize],
        t: TermId,
        solution: &Solution,
        ty: &Type,
    ) -> Result<Fired> {
        let sizes = self.b.index_sizes(r).to_vec();
        let free = solution.free();
        let mut dims: Vec<usize> = free.iter().map(|&k| sizes[k]).collect();
        dims.extend(outer);
        let space = ReadSpace { dims, free };
        let f = self
            .index_function(&space.dims.clone(), |opt, vars| opt.solved(solution, &space, vars))?;
        let mut value = self.gather(t, f)?;
        let mut masks = Vec::new();
        for mask in &solution.masks {
            masks.push(self.affine_mask(mask, &space)?);
        }
        for &n in &solution.others {
            masks.push(self.component_mask(r, n, solution, &space)?);
        }
        let whole = self.dims(value);
        let masked = !masks.is_empty();
        let mut all: Option<TermId> = None;
        for mask in masks {
            all = Some(match all {
                Some(all) => self.op(Op::And, &[all, mask])?,
                None => mask,
            });
        }
        if let Some(all) = all {
            let rank = space.dims.len();
            let map: AxisMap = (0..whole.len()).map(|n| (n < rank).then_some(n)).collect();
            let all = self.view_of(all, &map, &whole)?;
            let zeros = self.zeros(&self.b.ty(value).clone())?;
            value = self.op(Op::Select, &[all, value, zeros])?;
        }
        for _ in &space.free {
            value = self.sum(value)?;
        }
        debug_assert_eq!(self.b.ty(value), ty);
        let uses = |k: usize| {
            let mentions = |form: &ScatterForm| form.vars[k] != 0;
            solution.vars.iter().flatten().any(mentions) || solution.masks.iter().any(mentions)
        };
        let rule = if space.free.iter().any(|&k| uses(k)) {
            rule!("scatter/window")
        } else if !space.free.is_empty() {
            rule!("scatter/sum")
        } else if masked {
            rule!("scatter/mask")
        } else {
            rule!("scatter/affine")
        };
        Ok(Some((rule, value)))
    }

    /// The variables of the scatter in terms of those of the reads.
    fn solved(
        &mut self,
        solution: &Solution,
        space: &ReadSpace,
        vars: &[TermId],
    ) -> Result<Vec<TermId>> {
        let (first, positions) = vars.split_at(space.free.len());
        // Only free variables occur in solutions; the others are never looked at.
        let mut all = vec![vars[0]; solution.vars.len()];
        for (&k, &var) in space.free.iter().zip(first) {
            all[k] = var;
        }
        let mut made = Vec::with_capacity(all.len());
        for (k, form) in solution.vars.iter().enumerate() {
            made.push(match form {
                None => all[k],
                Some(form) => self.form_term(form, &all, positions)?,
            });
        }
        Ok(made)
    }

    /// An array over the space that counts along one axis.
    fn counting(&mut self, space: &ReadSpace, axis: usize) -> Result<TermId> {
        let iota = self.b.iota(space.dims[axis])?;
        let map: AxisMap = (0..space.dims.len()).map(|n| (n == axis).then_some(0)).collect();
        self.view_of(iota, &map, &space.dims)
    }

    /// A form as an array over the space.
    fn form_array(&mut self, form: &ScatterForm, space: &ReadSpace) -> Result<TermId> {
        let mut summands = Vec::new();
        let free = space.free.len();
        for (n, &c) in form.positions.iter().enumerate().filter(|(_, c)| **c != 0) {
            summands.push((self.counting(space, free + n)?, c));
        }
        for (n, &k) in space.free.iter().enumerate() {
            if form.vars[k] != 0 {
                summands.push((self.counting(space, n)?, form.vars[k]));
            }
        }
        for &(t, c) in &form.others {
            summands.push((self.fill(t, &space.dims)?, c));
        }
        self.weighted_sum(&summands, form.constant, &space.dims)
    }

    /// Where a form is 0: where its parts of either sign are equal.
    fn affine_mask(&mut self, form: &ScatterForm, space: &ReadSpace) -> Result<TermId> {
        let mut left = form.clone();
        let mut right = ScatterForm::zero(form.vars.len(), form.positions.len());
        let sides = left.vars.iter_mut().zip(&mut right.vars);
        for (l, r) in sides.chain(left.positions.iter_mut().zip(&mut right.positions)) {
            if *l < 0 {
                (*l, *r) = (0, l.wrapping_neg());
            }
        }
        let (left, right) = (self.form_array(&left, space)?, self.form_array(&right, space)?);
        self.op(Op::Eq, &[left, right])
    }

    /// Whether a component of an index is a few operations without lambdas.
    pub(crate) fn is_light(&self, r: RegionId, root: TermId) -> bool {
        let level = self.b.region(r).level();
        let mut seen: Vec<TermId> = Vec::new();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if !self.b.free(t).contains(level) || seen.contains(&t) {
                continue;
            }
            let liftable = match self.b.node(t) {
                Node::Var { .. } | Node::Op(..) => true,
                Node::Index(u, _) => !self.b.free(*u).contains(level),
                _ => false,
            };
            if !liftable || seen.len() == MAX_COMPONENT || self.b.shape(t).rank() > 0 {
                return false;
            }
            seen.push(t);
            self.b.node(t).for_each_operand(|u| stack.push(u));
        }
        true
    }

    /// The nodes of a light component, operands first.
    pub(crate) fn light_order(&self, level: u8, roots: &[TermId]) -> Vec<TermId> {
        let mut order: Vec<TermId> = Vec::new();
        let mut stack: Vec<(TermId, bool)> = roots.iter().map(|&t| (t, false)).collect();
        while let Some((t, left)) = stack.pop() {
            if !self.b.free(t).contains(level) || order.contains(&t) {
                continue;
            }
            if left {
                order.push(t);
                continue;
            }
            stack.push((t, true));
            self.b.node(t).for_each_operand(|u| stack.push((u, false)));
        }
        order
    }

    /// Where component `n` of the index, which is not affine, is position `n`.
    fn component_mask(
        &mut self,
        r: RegionId,
        n: usize,
        solution: &Solution,
        space: &ReadSpace,
    ) -> Result<TermId> {
        let region = self.b.region(r).clone();
        let level = region.level();
        let root = region.results()[n];
        let mut arrays: TermMap<TermId> = TermMap::new();
        for t in self.light_order(level, &[root]) {
            let array = match self.b.node(t).clone() {
                Node::Var { position, .. } => {
                    let k = position as usize;
                    let mut form =
                        ScatterForm::zero(solution.vars.len(), space.dims.len() - space.free.len());
                    form.vars[k] = 1;
                    if let Some(known) = &solution.vars[k] {
                        form.substitute(k, known);
                    }
                    self.form_array(&form, space)?
                }
                Node::Op(op, args) => {
                    let mut parts = Vec::with_capacity(args.len());
                    for &arg in &args {
                        parts.push(match arrays.get(arg) {
                            Some(&array) => array,
                            None => self.fill(arg, &space.dims)?,
                        });
                    }
                    self.op(op, &parts)?
                }
                Node::Index(u, ix) => {
                    let f = self.index_function(&space.dims.clone(), |opt, vars| {
                        let images = opt.solved(solution, space, vars)?;
                        opt.substituted(level, region.params(), &images, &ix)
                    })?;
                    self.gather(u, f)?
                }
                _ => return Err(cotan_ir::Error::internal("a component that is not light")),
            };
            arrays.insert(t, array);
        }
        let value = match arrays.get(root) {
            Some(&array) => array,
            None => self.fill(root, &space.dims)?,
        };
        let place = self.counting(space, space.free.len() + n)?;
        self.op(Op::Eq, &[value, place])
    }

    /// Light terms with other terms in place of the variables of a level.
    pub(crate) fn substituted(
        &mut self,
        level: u8,
        params: &[TermId],
        images: &[TermId],
        roots: &[TermId],
    ) -> Result<Vec<TermId>> {
        let mut made: TermMap<TermId> = TermMap::new();
        let order = self.light_order(level, roots);
        for (&p, &image) in params.iter().zip(images) {
            made.insert(p, image);
        }
        for t in order {
            if made.contains(t) {
                continue;
            }
            let node = self.b.node(t).clone();
            let raw = self.b.remake(&node, None, |u| Ok(made.get(u).copied().unwrap_or(u)))?;
            let image = self.simplify(raw)?;
            made.insert(t, image);
        }
        Ok(roots.iter().map(|&t| made.get(t).copied().unwrap_or(t)).collect())
    }

    /// What the index function ignores is summed before the scatter.
    fn ignored_variables(
        &mut self,
        r: RegionId,
        outer: &[usize],
        t: TermId,
        forms: &[Option<ScatterForm>],
    ) -> Result<Fired> {
        let region = self.b.region(r).clone();
        let sizes = self.b.index_sizes(r).to_vec();
        let mut used = vec![false; sizes.len()];
        for (form, &e) in forms.iter().zip(region.results()) {
            match form {
                Some(form) => {
                    for (used, &c) in used.iter_mut().zip(&form.vars) {
                        *used |= c != 0;
                    }
                }
                None if self.is_light(r, e) => {
                    for t in self.light_order(region.level(), &[e]) {
                        if let Node::Var { position, .. } = self.b.node(t) {
                            used[*position as usize] = true;
                        }
                    }
                }
                None => return Ok(None),
            }
        }
        if used.iter().all(|&used| used) {
            return Ok(None);
        }
        let dims = self.dims(t);
        let (kept, ignored): (Vec<usize>, Vec<usize>) = (0..sizes.len()).partition(|&k| used[k]);
        let order: AxisMap = ignored.iter().chain(&kept).copied().map(Some).collect();
        let order: AxisMap = order.into_iter().chain((sizes.len()..dims.len()).map(Some)).collect();
        let turned: Vec<usize> = order.iter().flatten().map(|&n| dims[n]).collect();
        let mut sum = self.view_of(t, &order, &turned)?;
        for _ in &ignored {
            sum = self.sum(sum)?;
        }
        let f = self.of_variables(r, &kept)?;
        Ok(Some((rule!("scatter/ignored"), self.scatter(outer, sum, f)?)))
    }

    /// An index function of some of its variables, the others being ignored: any value does.
    pub(crate) fn of_variables(&mut self, r: RegionId, kept: &[usize]) -> Result<RegionId> {
        let region = self.b.region(r).clone();
        let sizes = self.b.index_sizes(r).to_vec();
        let small: Vec<usize> = kept.iter().map(|&k| sizes[k]).collect();
        self.index_function(&small, |opt, vars| {
            let zero = opt.b.scalar(0i64)?;
            let mut images = vec![zero; sizes.len()];
            for (&k, &var) in kept.iter().zip(vars) {
                images[k] = var;
            }
            opt.substituted(region.level(), region.params(), &images, region.results())
        })
    }

    /// Two scatters to the same places are one scatter of the sum.
    pub(crate) fn merge_scatters(&mut self, x: TermId, y: TermId) -> Result<Fired> {
        let (Node::Scatter(outer, t, r), Node::Scatter(other, u, s)) =
            (self.b.node(x), self.b.node(y))
        else {
            return Ok(None);
        };
        let same = outer == other && r == s && self.b.dtype(x) != Dtype::Bool;
        let here = self.b.region(*r).level() as usize == self.b.depth() + 1;
        if !self.options.scatters || !same || !here || !self.used_once(x) || !self.used_once(y) {
            return Ok(None);
        }
        let (outer, t, u, r) = (outer.clone(), *t, *u, *r);
        let sum = self.op(Op::Add, &[t, u])?;
        Ok(Some((rule!("scatter/merge"), self.scatter(outer.dims(), sum, r)?)))
    }
}

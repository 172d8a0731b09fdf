//! Sums of products of which one factor is read through windows: convolutions.
//!
//! In $y_{nfi} = \sum_{lp} x_{n,l,i+p}\, k_{flp}$, in its derivative by $k$, and in that by $x$, an axis of
//! one factor is read at a combination of two indices, of which the result has one and the other factor
//! has the other. Everything else goes along one index each, as in a matrix product.

use cotan_ir::scalar::Op;
use cotan_ir::{Affine, Error, Node, Program, Result, TermId};

use crate::affine::{self, Axis};
use crate::contract::{single_operand, without_ones};
use crate::emit::Emitter;
use crate::read::strided;
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

/// A product over indices, of which some are summed, with the positions at which factors are read.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    /// Whether it may differ from what is meant if it is not finite: where zeros annihilate infinities,
    /// and where an array is read out of range, since engines leave out products with those zeros.
    checked: bool,
    /// The array that is read through windows, and the other one.
    factors: [Reading; 2],
    /// The sizes of the indices. The first ones are the axes of the result; the others are summed.
    sizes: Vec<usize>,
    rank: usize,
    /// From the product to the sum, with the views of factors.
    pub through: Vec<TermId>,
}

/// An array with the position along each of its axes.
#[derive(Clone, Debug)]
struct Reading {
    base: TermId,
    forms: Vec<Affine>,
    dims: Vec<usize>,
}

/// A position that has to be within an axis, lest the product be 0.
#[derive(Clone, Debug)]
struct Range {
    form: Affine,
    size: usize,
}

/// What an axis of a factor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The result has it, the other factor not.
    Own,
    /// Both factors have it and it is summed.
    Summed,
    /// A window: a position among those of the result and one among those of the other factor.
    Window { out: usize, within: usize },
}

/// The walk from the sum to the product: indices that are known so far, and the position of the term
/// along each of its axes.
struct Walk<'a> {
    program: &'a Program,
    sizes: Vec<usize>,
    ranges: Vec<Range>,
    through: Vec<TermId>,
}

/// A sum of products as a convolution, if it is one. What others use, too, is not taken apart.
pub(crate) fn convolution(program: &Program, root: TermId, uses: &[u32]) -> Option<Convolution> {
    if !program.dtype(root).is_float() || program.shape(root).numel() == 0 {
        return None;
    }
    let sizes = program.shape(root).dims().to_vec();
    let rank = sizes.len();
    let mut walk = Walk { program, sizes, ranges: Vec::new(), through: Vec::new() };
    let mut forms: Vec<Affine> = (0..rank).map(|id| walk.position(id)).collect();
    let mut t = root;
    loop {
        if t != root && uses[t.index()] != 1 {
            return None;
        }
        walk.through.push(t);
        match program.node(t) {
            Node::SumOuter(u) => {
                walk.sizes.push(program.shape(*u).dims()[0]);
                forms.insert(0, walk.position(walk.sizes.len() - 1));
                t = *u;
            }
            Node::Op(op @ (Op::Mul | Op::Scale | Op::StrongMul), args)
                if walk.sizes.len() > rank =>
            {
                let a = walk.reading(args[0], forms.clone())?;
                let b = walk.reading(args[1], forms)?;
                let windows = |x: &Reading| x.forms.iter().any(|form| form.indices().count() > 1);
                let factors = match (windows(&a), windows(&b)) {
                    (true, false) => [a, b],
                    (false, true) => [b, a],
                    _ => return None,
                };
                let Walk { sizes, ranges, through, .. } = walk;
                let checked = *op != Op::Mul || !ranges.iter().all(|range| range.is_inside(&sizes));
                let found = Convolution { checked, factors, sizes, rank, through };
                let fits = ranges.iter().all(|range| found.holds(range)) && found.roles().is_some();
                return fits.then_some(found);
            }
            _ => (t, forms) = walk.step(t, &forms)?,
        }
    }
}

impl Range {
    /// Whether it holds for all indices.
    fn is_inside(&self, sizes: &[usize]) -> bool {
        let (least, most) = self.form.bounds(sizes);
        least >= 0 && most < self.size as i128
    }
}

impl Walk<'_> {
    /// The position along an index: 0 if there is one only.
    fn position(&self, id: usize) -> Affine {
        if self.sizes[id] == 1 { Affine::default() } else { Affine::index(id, id + 1) }
    }

    /// The array that a factor is read from.
    fn reading(&mut self, mut t: TermId, mut forms: Vec<Affine>) -> Option<Reading> {
        while let Some((next, moved)) = self.step(t, &forms) {
            self.through.push(t);
            (t, forms) = (next, moved);
        }
        let dims = self.program.shape(t).dims().to_vec();
        Some(Reading { base: t, forms, dims })
    }

    /// What a view is a view of, and the position there.
    fn step(&mut self, t: TermId, forms: &[Affine]) -> Option<(TermId, Vec<Affine>)> {
        let program = self.program;
        let moved = match program.node(t) {
            Node::Replicate(..) => forms[1..].to_vec(),
            Node::Transpose(perm, _) => {
                let mut moved = forms.to_vec();
                for (n, &k) in perm.iter().enumerate() {
                    moved[usize::from(k)] = forms[n].clone();
                }
                moved
            }
            Node::Reshape(_, u) => {
                let (to, from) = (program.shape(t).dims(), program.shape(*u).dims());
                let step = without_ones(to, from)?;
                let mut moved = vec![Affine::default(); from.len()];
                for (n, axis) in step.iter().enumerate() {
                    if let Some(k) = axis {
                        moved[*k] = forms[n].clone();
                    }
                }
                moved
            }
            Node::Gather(u, r) => {
                let inner = affine::forms(program, *r)?;
                let (vars, rest) = forms.split_at(program.index_sizes(*r).len());
                let mut moved: Vec<Affine> =
                    inner.iter().map(|form| form.composed(vars)).collect::<Option<_>>()?;
                let dims = program.shape(*u).dims();
                let read = moved.iter().zip(dims);
                self.ranges.extend(read.map(|(form, &size)| Range { form: form.clone(), size }));
                moved.extend_from_slice(rest);
                moved
            }
            _ => return None,
        };
        Some((single_operand(program, t)?, moved))
    }
}

impl Convolution {
    /// Whether everything is 0 where a position is out of range: nowhere, or because a factor is.
    fn holds(&self, range: &Range) -> bool {
        let Range { form, size } = range;
        let read = |x: &Reading| {
            x.forms.iter().zip(&x.dims).any(|(other, dim)| other.same(form) && dim == size)
        };
        range.is_inside(&self.sizes) || self.factors.iter().any(read)
    }

    /// The roles of the axes of the first factor and of the second one; none of an axis that is read at
    /// one position.
    fn roles(&self) -> Option<[Vec<Option<Role>>; 2]> {
        let [a, b] = &self.factors;
        let axes_along =
            |x: &Reading, id: usize| x.forms.iter().filter(|form| form.coeff(id) != 0).count();
        let mut windows = Vec::new();
        let mut first = Vec::new();
        for (form, &size) in a.forms.iter().zip(&a.dims) {
            let vars: Vec<usize> = form.indices().collect();
            first.push(match vars[..] {
                [] => None,
                [id] if id < self.rank => Some(Role::Own),
                [_] => Some(Role::Summed),
                [i, j] => {
                    let (out, within) = if i < self.rank { (i, j) } else { (j, i) };
                    let fits = out < self.rank && within >= self.rank;
                    if !fits || !self.meets(form, out, within, size) {
                        return None;
                    }
                    windows.push((out, within));
                    Some(Role::Window { out, within })
                }
                _ => return None,
            });
        }
        let window_of = |id: usize| windows.iter().find(|(_, within)| *within == id);
        let mut second = Vec::new();
        for form in &b.forms {
            let vars: Vec<usize> = form.indices().collect();
            second.push(match vars[..] {
                [] => None,
                [id] if id < self.rank => Some(Role::Own),
                [id] => Some(match window_of(id) {
                    // The window itself has to be whole.
                    Some(&(out, within)) if form.same(&Affine::index(id, id + 1)) => {
                        Role::Window { out, within }
                    }
                    Some(_) => return None,
                    None => Role::Summed,
                }),
                _ => return None,
            });
        }
        // Each index is where its role says, and nowhere else.
        let fits = (0..self.sizes.len()).all(|id| {
            let (m, n) = (axes_along(a, id), axes_along(b, id));
            let window = windows.iter().any(|(out, _)| *out == id);
            match id < self.rank {
                _ if self.sizes[id] == 1 => (m, n) == (0, 0),
                true if window => (m, n) == (1, 0),
                true => m + n == 1,
                false => (m, n) == (1, 1),
            }
        });
        let whole = windows.iter().all(|&(_, within)| {
            let axis = b.forms.iter().position(|form| form.coeff(within) != 0);
            axis.is_some_and(|k| b.dims[k] == self.sizes[within])
        });
        (fits && whole).then_some([first, second])
    }

    /// Whether each position of a window meets an element: otherwise what it holds would never be
    /// looked at, infinite or not.
    fn meets(&self, form: &Affine, out: usize, within: usize, size: usize) -> bool {
        let (step, by) = (i128::from(form.coeff(out)), i128::from(form.coeff(within)));
        let reach = step * (self.sizes[out] as i128 - 1);
        let (step, last) = (step.abs(), reach.abs());
        (0..self.sizes[within]).all(|w| {
            let start = i128::from(form.constant) + by * w as i128 + reach.min(0);
            // The first position at or after 0 is within the axis, and reached.
            let first = if start >= 0 { start } else { start.rem_euclid(step) };
            first < size as i128 && first <= start + last
        })
    }
}

impl Emitter<'_> {
    /// A sum of products as a convolution, looked through like a matrix product.
    pub(crate) fn convolved(&mut self, t: TermId, c: &Convolution) -> Result<Val> {
        let ty = Ty::from(self.program.ty(t));
        let roles = c.roles().ok_or_else(|| Error::internal("a convolution without roles"))?;
        let mut sides = Vec::with_capacity(2);
        for (reading, roles) in c.factors.iter().zip(&roles) {
            let value = self.value(reading.base)?;
            sides.push(c.side(&mut self.w, &value, reading, roles));
        }
        let found = c.written(&mut self.w, &sides[0], &sides[1], &ty);
        let finite = self.options.assume_finite || !c.checked;
        self.checked(&ty, found, finite, |e| e.expanded(t, &c.through))
    }
}

/// A factor with the indices of its axes.
struct Side {
    value: Val,
    own: Vec<usize>,
    summed: Vec<usize>,
    windows: Vec<(usize, usize)>,
    /// Of the axes of the value.
    roles: Vec<(Role, usize)>,
}

impl Convolution {
    /// A factor of which every axis but those with windows is read as it is.
    fn side(&self, w: &mut Writer, base: &Val, reading: &Reading, roles: &[Option<Role>]) -> Side {
        let (mut axes, mut sizes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for ((form, role), &dim) in reading.forms.iter().zip(roles).zip(&reading.dims) {
            let id = form.indices().next();
            let (Some(role), Some(id)) = (role, id) else {
                axes.push(Axis::Fixed(form.constant));
                continue;
            };
            let var = sizes.len();
            axes.push(match form.indices().count() {
                1 => {
                    sizes.push(self.sizes[id]);
                    Axis::Moves { var, step: form.coeff(id), start: form.constant }
                }
                _ => {
                    sizes.push(dim);
                    Axis::Moves { var, step: 1, start: 0 }
                }
            });
            found.push((*role, id));
        }
        let value = strided(w, base, &axes, &sizes, &base.ty.with_dims(&sizes));
        let of = |wanted: Role| {
            found.iter().filter(|(role, _)| *role == wanted).map(|(_, id)| *id).collect()
        };
        let windows = found.iter().filter_map(|(role, _)| match *role {
            Role::Window { out, within } => Some((out, within)),
            Role::Own | Role::Summed => None,
        });
        let windows = windows.collect();
        Side { value, own: of(Role::Own), summed: of(Role::Summed), windows, roles: found }
    }

    /// The operation. Axes that play one role together are joined to one for it.
    fn written(&self, w: &mut Writer, a: &Side, b: &Side, ty: &Ty) -> Val {
        let mut left = a.grouped(w, &a.summed, &a.windows, &self.sizes);
        let right = b.grouped(w, &a.summed, &a.windows, &self.sizes);
        let (mut strides, mut pads, mut dilations) = (Vec::new(), Vec::new(), Vec::new());
        let mut widths = vec![(0, 0, 0); left.value.ty.rank()];
        let (mut reversed, mut turned) = (Vec::new(), Vec::new());
        for (n, &(out, within)) in a.windows.iter().enumerate() {
            let form = self.factors[0].forms.iter().find(|form| form.coeff(within) != 0);
            let (step, by, mut start) =
                form.map_or((1, 1, 0), |form| (form.coeff(out), form.coeff(within), form.constant));
            let (outs, inner) = (self.sizes[out] as i64, self.sizes[within] as i64);
            if by < 0 {
                start += by * (inner - 1);
                reversed.push(right.axis_of(n));
            }
            if step < 0 {
                start += step * (outs - 1);
                turned.push(out);
            }
            let step = step.abs();
            let axis = left.axis_of(n);
            let size = left.value.ty.dims[axis] as i64;
            let last = start + step * (outs - 1) + by.abs() * (inner - 1);
            let (low, high) = (-start, last - (size - 1));
            widths[axis] = (low.min(0), high.min(0), 0);
            pads.push(format!("[{}, {}]", low.max(0), high.max(0)));
            strides.push(step);
            dilations.push(by.abs());
        }
        left.value = w.pad(&left.value, &widths);
        let kernel = w.reverse(&right.value, &reversed);
        // The result has its axes as they are wanted, if no role is played by several.
        let alone = a.own.len() == 1 && b.own.len() == 1 && a.windows.len() + 2 == self.rank;
        let label = |id: usize| match a.windows.iter().position(|(out, _)| *out == id) {
            Some(n) => n.to_string(),
            None => if a.own.contains(&id) { "b" } else { "f" }.to_owned(),
        };
        let mut order: Vec<usize> = [&a.own[..], &b.own[..]].concat();
        order.extend(a.windows.iter().map(|(out, _)| *out));
        let joined = |ids: &[usize]| ids.iter().map(|&id| self.sizes[id]).product::<usize>();
        let (labels, dims) = match alone {
            true => ((0..self.rank).map(label).collect(), ty.dims.clone()),
            false => {
                let mut dims = vec![joined(&a.own), joined(&b.own)];
                dims.extend(a.windows.iter().map(|&(out, _)| self.sizes[out]));
                let labels = ["b", "f"].map(str::to_owned).into_iter();
                (labels.chain((0..a.windows.len()).map(|n| n.to_string())).collect(), dims)
            }
        };
        let labels: Vec<String> = labels;
        let of_left = left.labels("b", "f");
        let of_right = right.labels("o", "i");
        let result = ty.with_dims(&dims);
        let body = format!(
            "stablehlo.convolution({}, {kernel}) dim_numbers = [{}]x[{}]->[{}], window = {{stride = [{}], pad = [{}], rhs_dilate = [{}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}} : ({}, {}) -> {result}",
            left.value,
            list(of_left),
            list(of_right),
            list(labels),
            list(strides),
            list(pads),
            list(dilations),
            left.value.ty,
            kernel.ty,
        );
        let found = w.define(result, body);
        if alone {
            return w.reverse(&found, &turned);
        }
        let dims: Vec<usize> = order.iter().map(|&id| self.sizes[id]).collect();
        let apart = w.reshape(&found, &dims);
        let mut perm: Vec<usize> = (0..order.len()).collect();
        perm.sort_by_key(|&n| order[n]);
        let placed = w.transpose(&apart, &perm);
        // Axes of one position have been left out.
        let whole = w.reshape(&placed, &ty.dims);
        w.reverse(&whole, &turned)
    }
}

/// A factor with one axis for what is its own, one for what is summed, and one for each window.
struct Grouped {
    value: Val,
    /// Of each axis: 0 if it is its own, 1 if it is summed, and 2 and more for windows.
    kinds: Vec<usize>,
}

impl Grouped {
    fn axis_of(&self, window: usize) -> usize {
        self.kinds.iter().position(|&kind| kind == window + 2).unwrap_or(0)
    }

    fn labels(&self, own: &str, summed: &str) -> Vec<String> {
        let label = |&kind: &usize| match kind {
            0 => own.to_owned(),
            1 => summed.to_owned(),
            _ => (kind - 2).to_string(),
        };
        self.kinds.iter().map(label).collect()
    }
}

impl Side {
    /// Axes of one kind joined: what is summed in the order of `summed`.
    fn grouped(
        &self,
        w: &mut Writer,
        summed: &[usize],
        windows: &[(usize, usize)],
        sizes: &[usize],
    ) -> Grouped {
        let kind = |role: &Role| match role {
            Role::Own => 0,
            Role::Summed => 1,
            Role::Window { within, .. } => {
                2 + windows.iter().position(|(_, other)| other == within).unwrap_or(0)
            }
        };
        let kinds: Vec<usize> = self.roles.iter().map(|(role, _)| kind(role)).collect();
        if self.own.len() == 1 && self.summed.len() == 1 {
            return Grouped { value: self.value.clone(), kinds };
        }
        let mut perm: Vec<usize> = (0..kinds.len()).collect();
        perm.sort_by_key(|&n| {
            let at = summed.iter().position(|&id| id == self.roles[n].1);
            (kinds[n], if kinds[n] == 1 { at.unwrap_or(0) } else { n })
        });
        let value = w.transpose(&self.value, &perm);
        let joined = |ids: &[usize]| ids.iter().map(|&id| sizes[id]).product::<usize>();
        let mut dims = vec![joined(&self.own), joined(&self.summed)];
        let first = self.own.len() + self.summed.len();
        dims.extend(&value.ty.dims[first..]);
        Grouped { value: w.reshape(&value, &dims), kinds: (0..dims.len()).collect() }
    }
}

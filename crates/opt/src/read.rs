//! Views and reads: what is a view becomes one in normal form, and reads of views read the base.

use cotan_ir::{Node, RegionId, Result, TermId};

use crate::affine::{ScatterForm, forms};
use crate::pass::{Fired, Opt, rule};
use crate::view::{AxisMap, View, is_all, uniform, view};

/// Where the components of an index go when an array is seen as a view of its base: for each axis
/// of the base that is indexed, the component.
struct ThroughView {
    base: TermId,
    components: Vec<usize>,
}

impl Opt<'_> {
    pub(crate) fn view_rules(&mut self, raw: TermId, rule: usize) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        let v = view(&self.b, raw);
        let dims = self.dims(raw);
        Ok(Some((rule, self.view_of(v.base, &v.map, &dims)?)))
    }

    pub(crate) fn reshape_rules(&mut self, raw: TermId, t: TermId) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        let dims = self.dims(raw);
        if self.b.shape(t).dims() == dims {
            return Ok(Some((rule!("reshape/same"), t)));
        }
        if let Node::Reshape(_, u) = self.b.node(t) {
            let u = *u;
            return Ok(Some((rule!("reshape/reshape"), self.reshape(&dims, u)?)));
        }
        let v = view(&self.b, t);
        if self.b.shape(v.base).rank() == 0 {
            return Ok(Some((rule!("reshape/scalar"), self.fill(v.base, &dims)?)));
        }
        Ok(None)
    }

    pub(crate) fn stack_rules(&mut self, ts: &[TermId]) -> Result<Fired> {
        if !self.options.views || ts.iter().any(|&t| t != ts[0]) {
            return Ok(None);
        }
        let inner = self.dims(ts[0]);
        let map: AxisMap = std::iter::once(None).chain((0..inner.len()).map(Some)).collect();
        let dims = [&[ts.len()], inner.as_slice()].concat();
        Ok(Some((rule!("stack/equal"), self.view_of(ts[0], &map, &dims)?)))
    }

    pub(crate) fn one_hot_rules(&mut self, raw: TermId, v: TermId, ix: &[TermId]) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        if ix.is_empty() {
            return Ok(Some((rule!("one-hot/nil"), v)));
        }
        let dims = self.dims(raw);
        if is_all(&self.b, v, 0) || self.is_outside(ix, &dims) {
            let ty = self.b.ty(raw).clone();
            return Ok(Some((rule!("one-hot/zero"), self.zeros(&ty)?)));
        }
        Ok(None)
    }

    /// Whether some component of an index is never in range.
    pub(crate) fn is_outside(&self, ix: &[TermId], dims: &[usize]) -> bool {
        ix.iter().zip(dims).any(|(&i, &k)| {
            let bounds = self.b.bounds(i);
            !bounds.is_empty() && bounds.outside(k)
        })
    }

    pub(crate) fn is_within(&self, ix: &[TermId], dims: &[usize]) -> bool {
        ix.iter().zip(dims).all(|(&i, &k)| self.b.bounds(i).within(k))
    }

    /// An index of a view as an index of its base: components of copied axes, which must be in
    /// range, fall away, and the others must index the leading axes of the base.
    fn through_view(&self, t: TermId, ix: &[TermId]) -> Option<ThroughView> {
        let View { base, map } = view(&self.b, t);
        if base == t {
            return None;
        }
        let dims = self.b.shape(t).dims();
        let copied_in_range =
            (0..ix.len()).all(|n| map[n].is_some() || self.b.bounds(ix[n]).within(dims[n]));
        let count = map[..ix.len()].iter().flatten().count();
        let rest = map[ix.len()..].iter().enumerate().all(|(n, &m)| m == Some(count + n));
        if !copied_in_range || !rest {
            return None;
        }
        let component = |axis: usize| map[..ix.len()].iter().position(|&m| m == Some(axis));
        let components: Option<Vec<usize>> = (0..count).map(component).collect();
        Some(ThroughView { base, components: components? })
    }

    /// An index of a view as one of its base.
    fn index_of_base(&self, t: TermId, ix: &[TermId]) -> Option<(TermId, Vec<TermId>)> {
        let through = self.through_view(t, ix)?;
        Some((through.base, through.components.iter().map(|&n| ix[n]).collect()))
    }

    pub(crate) fn index_rules(&mut self, raw: TermId, t: TermId, ix: &[TermId]) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        if ix.is_empty() {
            return Ok(Some((rule!("index/nil"), t)));
        }
        let dims = self.dims(t);
        if self.is_outside(ix, &dims) {
            let ty = self.b.ty(raw).clone();
            return Ok(Some((rule!("index/outside"), self.zeros(&ty)?)));
        }
        if let Some((base, ix)) = self.index_of_base(t, ix) {
            return Ok(Some((rule!("index/view"), self.index(base, &ix)?)));
        }
        if let Some(read) = self.extreme_read(t, ix)
            && let Some(all) = self.extremes(&read)?
        {
            return Ok(Some((rule!("index/extreme"), self.index(all, &read.at)?)));
        }
        match self.b.node(t) {
            Node::Iota(k) if self.b.bounds(ix[0]).within(*k) => {
                Ok(Some((rule!("index/iota"), ix[0])))
            }
            Node::Stack(ts) => {
                let part = self.b.constant_index(ix[0]).and_then(|k| usize::try_from(k).ok());
                match part.and_then(|k| ts.get(k).copied()) {
                    Some(part) => Ok(Some((rule!("index/stack"), self.index(part, &ix[1..])?))),
                    None => Ok(None),
                }
            }
            Node::Const(c) => {
                let at: Option<Vec<usize>> =
                    ix.iter().map(|&i| usize::try_from(self.b.constant_index(i)?).ok()).collect();
                let Some(at) = at.filter(|at| at.len() == dims.len()) else { return Ok(None) };
                let element = match c.dtype() {
                    cotan_array::Dtype::F64 => c.get::<f64>(&at).map(cotan_array::Array::scalar),
                    cotan_array::Dtype::F32 => c.get::<f32>(&at).map(cotan_array::Array::scalar),
                    cotan_array::Dtype::I64 => c.get::<i64>(&at).map(cotan_array::Array::scalar),
                    cotan_array::Dtype::Bool => c.get::<bool>(&at).map(cotan_array::Array::scalar),
                };
                match element {
                    Some(element) => Ok(Some((rule!("index/const"), self.b.constant(&element)?))),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn gather_rules(&mut self, raw: TermId, t: TermId, r: RegionId) -> Result<Fired> {
        if !self.options.views {
            return Ok(None);
        }
        let (sizes, ix) = (self.b.index_sizes(r).to_vec(), self.b.region(r).results().to_vec());
        let (dims, ty) = (self.dims(t), self.b.ty(raw).clone());
        if sizes.is_empty() {
            return Ok(Some((rule!("gather/nil"), self.index(t, &ix)?)));
        }
        if is_all(&self.b, t, 0) || self.is_outside(&ix, &dims) {
            return Ok(Some((rule!("gather/zero"), self.zeros(&ty)?)));
        }
        if uniform(&self.b, t).is_some() && self.is_within(&ix, &dims) {
            let x = view(&self.b, t).base;
            return Ok(Some((rule!("gather/uniform"), self.fill(x, ty.shape.dims())?)));
        }
        if let Some((base, ix)) = self.index_of_base(t, &ix) {
            // The variables of a region at this depth are those of the one before.
            let f = self.index_function(&sizes, |_, _| Ok(ix))?;
            return Ok(Some((rule!("gather/of-view"), self.gather(base, f)?)));
        }
        if let Some(read) = self.extreme_read(t, &ix)
            && let Some(all) = self.extremes(&read)?
        {
            let f = self.index_function(&sizes, |_, _| Ok(read.at))?;
            return Ok(Some((rule!("gather/extreme"), self.gather(all, f)?)));
        }
        if let fired @ Some(_) = self.push_rules(raw, t, r)? {
            return Ok(fired);
        }
        let forms = forms(&self.b, r, 0);
        if forms.contains(&None) {
            return self.gather_apart(t, r);
        }
        let forms: Vec<ScatterForm> = forms.into_iter().flatten().collect();
        let Some(mut map) = whole_axes(&forms, &sizes, &dims) else {
            return self.gather_turned(t, r, &forms);
        };
        map.extend((ix.len()..dims.len()).map(Some));
        Ok(Some((rule!("gather/view"), self.view_of(t, &map, ty.shape.dims())?)))
    }

    /// A sum of which a gather reads elements more often than once is made with its axes in the order
    /// of the variables that they are read with, the later ones innermost: what the gather reads one
    /// after the other are then neighbours.
    fn gather_turned(&mut self, t: TermId, r: RegionId, forms: &[ScatterForm]) -> Result<Fired> {
        let Node::SumOuter(u) = *self.b.node(t) else { return Ok(None) };
        let (sizes, dims) = (self.b.index_sizes(r).to_vec(), self.dims(t));
        let product = |ks: &[usize]| ks.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let often = product(&sizes) > product(&dims) && forms.len() == dims.len();
        let here = self.b.region(r).level() as usize == self.b.depth() + 1;
        if !often || !here || !self.used_once(t) {
            return Ok(None);
        }
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.sort_by_key(|&axis| forms[axis].vars.iter().rposition(|&c| c != 0));
        if order.is_sorted() {
            return Ok(None);
        }
        let map: AxisMap =
            std::iter::once(0).chain(order.iter().map(|n| n + 1)).map(Some).collect();
        let whole = self.dims(u);
        let turned: Vec<usize> = map.iter().flatten().map(|&n| whole[n]).collect();
        let turned = self.view_of(u, &map, &turned)?;
        let sum = self.sum(turned)?;
        let ix = self.b.region(r).results().to_vec();
        let f = self.index_function(&sizes, |_, _| Ok(order.iter().map(|&n| ix[n]).collect()))?;
        Ok(Some((rule!("gather/turned"), self.gather(sum, f)?)))
    }
}

/// The axis map of the view that an index function gives, if its components are variables over whole
/// axes, each at most once.
fn whole_axes(forms: &[ScatterForm], sizes: &[usize], dims: &[usize]) -> Option<AxisMap> {
    let mut map: AxisMap = AxisMap::from_elem(None, sizes.len());
    for (axis, form) in forms.iter().enumerate() {
        // Of an axis of size 1 the only element may be meant.
        let var = match form.only_var() {
            Some(k) => k,
            None if dims[axis] == 1 && form.is_zero() => {
                (0..sizes.len()).find(|&k| sizes[k] == 1 && map[k].is_none())?
            }
            None => return None,
        };
        if sizes[var] != dims[axis] || map[var].is_some() {
            return None;
        }
        map[var] = Some(axis);
    }
    Some(map)
}

//! Places that are read from arrays, again and again: looked up once, then copied.
//!
//! Pooling before a convolution is a gather at computed places under one at windows, and they are
//! composed to $t[v[g(i)]]$: every place is looked up, and the element at it fetched, as often as
//! windows overlap. If $g$ is affine, in range, and has fewer values than there are $i$,
//! $$ \mathrm{gather}(t, i \mapsto e(v[g(i)]))
//!    = \mathrm{gather}(\mathrm{gather}(t, j \mapsto e(v[j])), i \mapsto g(i)), $$
//! whose outer one is read where it is used, and likewise for scatters, whose inner one is a sum of
//! reads: what goes to the same place for the same reason is added up before.

use cotan_ir::{Node, RegionId, Result, TermId, TermMap};

use crate::affine::forms_of;
use crate::pass::{Fired, Opt, rule};

/// Index functions of more nodes than this are not looked through.
const MAX_NODES: usize = 48;

/// An index function as one of an inner index: $e(g(i))$.
struct Apart {
    /// The sizes of the inner index.
    sizes: Vec<usize>,
    /// The inner index $g$, terms over the variables of the function.
    inner: Vec<TermId>,
    /// What stands for a component of the inner index: terms of the function, with the component for
    /// variables, none for reads of arrays at the inner index.
    known: Vec<(TermId, Option<usize>)>,
    /// The nodes that are made again over the inner index, operands first.
    order: Vec<TermId>,
}

impl Opt<'_> {
    /// Finds the inner index: that of all reads of arrays, of which all else is made.
    fn apart(&self, r: RegionId) -> Option<Apart> {
        let region = self.b.region(r);
        let level = region.level();
        if level as usize != self.b.depth() + 1 {
            return None;
        }
        let mut inner: Option<(Vec<TermId>, Vec<usize>)> = None;
        let (mut known, mut order) = (Vec::new(), Vec::new());
        let mut seen: Vec<TermId> = Vec::new();
        let mut stack: Vec<(TermId, bool)> = region.results().iter().map(|&t| (t, false)).collect();
        while let Some((t, left)) = stack.pop() {
            if left {
                order.push(t);
                continue;
            }
            if !self.b.free(t).contains(level) || seen.contains(&t) {
                continue;
            }
            seen.push(t);
            if seen.len() > MAX_NODES {
                return None;
            }
            match self.b.node(t) {
                Node::Var { .. } => known.push((t, Some(0))),
                Node::Op(_, args) => {
                    stack.push((t, true));
                    stack.extend(args.iter().map(|&u| (u, false)));
                }
                Node::Index(u, ix) if !self.b.free(*u).contains(level) => {
                    let dims = self.b.shape(*u).dims();
                    if ix.len() != dims.len() {
                        return None;
                    }
                    match &inner {
                        None => inner = Some((ix.to_vec(), dims.to_vec())),
                        Some((other, sizes)) if other[..] == ix[..] && *sizes == dims => {}
                        Some(_) => return None,
                    }
                    known.push((t, None));
                }
                Node::Index(..) | Node::Const(_) | Node::Input(_) | Node::Cond(..) => return None,
                Node::SumOuter(_) | Node::Gather(..) | Node::Scatter(..) => return None,
                Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => return None,
                Node::Reshape(..) | Node::Build1(_) | Node::Iota(_) | Node::OneHot(..) => {
                    return None;
                }
                Node::ArgExtreme(..) | Node::ArgSort(_) | Node::MapAccum(_) => return None,
                Node::SegmentArg(..) | Node::While(_) | Node::Custom(_) => return None,
                Node::Routine(..) => return None,
                Node::Result(..) => return None,
            }
        }
        let (inner, sizes) = inner?;
        for (t, component) in &mut known {
            if component.is_some() {
                *component = Some(inner.iter().position(|e| e == t)?);
            }
        }
        let product = |ks: &[usize]| ks.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let fewer = product(&sizes) <= product(&self.b.index_sizes(r)) / 2;
        let within = inner.iter().zip(&sizes).all(|(&e, &k)| self.b.bounds(e).within(k));
        let affine = forms_of(&self.b, r, &inner).iter().all(Option::is_some);
        (fewer && within && affine).then_some(Apart { sizes, inner, known, order })
    }

    /// The index function over the inner index.
    fn outer_function(&mut self, r: RegionId, apart: &Apart) -> Result<RegionId> {
        let results = self.b.region(r).results().to_vec();
        self.index_function(&apart.sizes, |opt, vars| {
            let mut made: TermMap<TermId> = TermMap::new();
            for &(t, component) in &apart.known {
                let image = match (component, opt.b.node(t)) {
                    (Some(n), _) => vars[n],
                    (None, Node::Index(u, _)) => {
                        let u = *u;
                        opt.index(u, vars)?
                    }
                    (None, _) => return Err(cotan_ir::Error::internal("a read that is none")),
                };
                made.insert(t, image);
            }
            for &t in &apart.order {
                let node = opt.b.node(t).clone();
                let raw = opt.b.remake(&node, None, |u| Ok(made.get(u).copied().unwrap_or(u)))?;
                let image = opt.simplify(raw)?;
                made.insert(t, image);
            }
            Ok(results.iter().map(|&t| made.get(t).copied().unwrap_or(t)).collect())
        })
    }

    /// The index function that gives the inner index.
    fn inner_function(&mut self, r: RegionId, apart: &Apart) -> Result<RegionId> {
        let sizes = self.b.index_sizes(r).to_vec();
        // The variables of a region at this depth are those of the one before.
        self.index_function(&sizes, |_, _| Ok(apart.inner.clone()))
    }

    /// A gather at places that are read from arrays.
    pub(crate) fn gather_apart(&mut self, t: TermId, r: RegionId) -> Result<Fired> {
        let Some(apart) = self.apart(r) else { return Ok(None) };
        let (f, g) = (self.outer_function(r, &apart)?, self.inner_function(r, &apart)?);
        let once = self.gather(t, f)?;
        Ok(Some((rule!("gather/apart"), self.gather(once, g)?)))
    }

    /// A scatter to places that are read from arrays.
    pub(crate) fn scatter_apart(
        &mut self,
        outer: &[usize],
        t: TermId,
        r: RegionId,
    ) -> Result<Fired> {
        let Some(apart) = self.apart(r) else { return Ok(None) };
        let (f, g) = (self.outer_function(r, &apart)?, self.inner_function(r, &apart)?);
        let sizes = apart.sizes.clone();
        let once = self.scatter(&sizes, t, g)?;
        Ok(Some((rule!("scatter/apart"), self.scatter(outer, once, f)?)))
    }
}

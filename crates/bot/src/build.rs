//! Fig. bot-rules-build: push `build1` down.
//!
//! One forward walk over the body of a build; `many(t)` is `build1 k (\i -> t)`, already made for
//! everything that `t` depends on.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Args, Error, Node, Result, TermId, TermMap, Type};
use rustc_hash::FxHashMap;

use crate::index_function::{Positions, positions_of};
use crate::order::{Captures, all_dependencies, post_order};
use crate::transform::{Bot, rule};

/// What stands for a term of the body outside the build.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Image {
    /// The same for every lane.
    One(TermId),
    /// One for each lane, along a new outermost axis.
    Many(TermId),
}

/// A build being vectorised: its variable is the first of `level`, its size `k`.
pub(crate) struct Batch {
    pub(crate) level: u8,
    pub(crate) k: usize,
    pub(crate) images: TermMap<Image>,
    /// The images of the results of each former with several.
    pub(crate) results: FxHashMap<TermId, Vec<Image>>,
}

impl Bot<'_> {
    /// `build1 k (\i -> body)`, where `i` is the variable of `level`.
    pub(crate) fn vectorise(&mut self, level: u8, k: usize, body: TermId) -> Result<TermId> {
        let mut batch = Batch { level, k, images: TermMap::new(), results: FxHashMap::default() };
        self.vectorise_all(&mut batch, &[body])?;
        self.many(&batch, body)
    }

    /// Images of everything the roots depend on inside the build.
    pub(crate) fn vectorise_all(&mut self, batch: &mut Batch, roots: &[TermId]) -> Result<()> {
        let mut captures = std::mem::take(&mut self.captures);
        let order = post_order(
            roots,
            |t| self.b.free(t).innermost() >= batch.level && !batch.images.contains(t),
            |t, found| self.dependencies(batch, &mut captures, t, found),
        );
        self.captures = captures;
        for t in order {
            self.b.set_span(self.b.span(t));
            let image = self.vectorise_node(batch, t)?;
            batch.images.insert(t, image);
            let (Image::Many(v) | Image::One(v)) = image;
            self.b.also_from(v, self.b.span(t));
            if let Image::Many(v) = image
                && self.shared.contains(t)
            {
                // build1 k (\i -> let x = v in u)  ~>  let x = build1 k (\i -> v) in ..
                let expected = self.b.ty(v).clone();
                rule!(self, "build/let", t, expected, v)?;
                self.shared.insert(v);
            }
        }
        Ok(())
    }

    /// What must be vectorised before `t`: not the simple terms in its indices, which are written
    /// into the index functions.
    fn dependencies(
        &self,
        batch: &Batch,
        captures: &mut Captures,
        t: TermId,
        found: &mut Vec<TermId>,
    ) {
        all_dependencies(&self.b, captures, t, found);
        let positions = match self.b.node(t) {
            Node::Index(..) | Node::OneHot(..) => Positions::One,
            Node::Gather(_, r) | Node::Scatter(_, _, r) => positions_of(&self.b.index_sizes(*r)),
            _ => return,
        };
        // The first is the array, the others are in indices.
        let mut position = 0;
        found.retain(|&u| {
            position += 1;
            position == 1 || !self.is_simple(batch, u, positions)
        });
    }

    /// What stands for `t` outside the build.
    pub(crate) fn lookup(&self, batch: &Batch, t: TermId) -> Result<Image> {
        if self.b.free(t).innermost() < batch.level {
            return Ok(Image::One(t));
        }
        let missing = || Error::internal(format!("{} was not vectorised", self.b.show(t)));
        batch.images.get(t).copied().ok_or_else(missing)
    }

    /// `build1 k (\i -> t)`.
    pub(crate) fn many(&mut self, batch: &Batch, t: TermId) -> Result<TermId> {
        match self.lookup(batch, t)? {
            Image::Many(v) => Ok(v),
            // build1 k (\i -> t)  ~>  replicate k t                          (i not free in t)
            Image::One(u) => {
                let expected = self.batched(batch.k, self.b.ty(u))?;
                rule!(self, "build/const", t, expected, self.b.replicate(batch.k, u)?)
            }
        }
    }

    fn many_all(&mut self, batch: &Batch, ts: &[TermId]) -> Result<Args> {
        ts.iter().map(|&t| self.many(batch, t)).collect()
    }

    /// The image of a node, when its dependencies have theirs.
    fn vectorise_node(&mut self, batch: &mut Batch, t: TermId) -> Result<Image> {
        let node = self.b.node(t).clone();
        if let Node::Result(u, n) = node {
            let results = batch.results.get(&u).and_then(|all| all.get(n as usize));
            return results.copied().ok_or_else(|| Error::internal("a result of nothing"));
        }
        if let Some(same) = self.unaffected(batch, t, &node)? {
            if let Some(count) = self.b.result_count(same) {
                let results = (0..count).map(|n| self.b.result(same, n).map(Image::One));
                batch.results.insert(t, results.collect::<Result<_>>()?);
            }
            return Ok(Image::One(same));
        }
        match &node {
            Node::MapAccum(m) => return self.vectorise_map_accum(batch, t, m).map(Image::One),
            Node::While(w) => return self.vectorise_while(batch, t, w).map(Image::One),
            Node::Custom(c) => return self.vectorise_custom(batch, t, c).map(Image::One),
            _ => {}
        }
        let expected = self.batched(batch.k, self.b.ty(t))?;
        self.build_rule(batch, t, &node, expected).map(Image::Many)
    }

    /// A node inside a step function that is the same for every lane: copied, not vectorised.
    fn unaffected(&mut self, batch: &Batch, t: TermId, node: &Node) -> Result<Option<TermId>> {
        if matches!(node, Node::Var { .. }) {
            return Ok(None);
        }
        let mut dependencies = Vec::new();
        all_dependencies(&self.b, &mut self.captures, t, &mut dependencies);
        let mut images = TermMap::new();
        for u in dependencies {
            if self.b.free(u).innermost() >= batch.level && self.is_simple(batch, u, Positions::One)
            {
                return Ok(None);
            }
            match self.lookup(batch, u)? {
                Image::One(same) => images.insert(u, same),
                Image::Many(_) => return Ok(None),
            };
        }
        self.copy_node(t, &mut images).map(Some)
    }

    /// The rules of the figure, in its order, then ours.
    fn build_rule(
        &mut self,
        batch: &Batch,
        t: TermId,
        node: &Node,
        expected: Type,
    ) -> Result<TermId> {
        let k = batch.k;
        match node {
            // build1 k (\i -> i)  ~>  [0, .., k - 1]
            Node::Var { .. } => rule!(self, "build/var", t, expected, self.b.iota(k)?),

            // build1 k (\i -> cond b u v)  ~>  where (build1 b) (build1 u) (build1 v)
            Node::Cond(p, u, v) => {
                let condition = self.lookup(batch, *p)?;
                let (u, v) = (self.many(batch, *u)?, self.many(batch, *v)?);
                match condition {
                    Image::Many(p) => {
                        let p = self.broadcast_inner(p, self.b.shape(u).dims().to_vec())?;
                        rule!(self, "build/cond", t, expected, self.b.op(Op::Select, &[p, u, v])?)
                    }
                    // build1 k (\i -> cond b u v)  ~>  cond b (build1 u) (build1 v)
                    //                                                        (i not free in b)
                    Image::One(p) => {
                        rule!(self, "build/cond-invariant", t, expected, self.b.cond(p, u, v)?)
                    }
                }
            }

            // build1 k (\i -> op t u)  ~>  op (build1 t) (build1 u)
            Node::Op(op, args) => {
                let args = self.many_all(batch, args)?;
                let made = self.b.op(*op, &args)?;
                match args.len() {
                    1 => rule!(self, "build/op1", t, expected, made),
                    2 => rule!(self, "build/op2", t, expected, made),
                    _ => rule!(self, "build/op3", t, expected, made),
                }
            }

            // build1 k (\i -> sumOuter t)  ~>  sumOuter (tr (build1 t))
            Node::SumOuter(u) => {
                let v = self.many(batch, *u)?;
                let swapped = self.b.transpose(&[1, 0], v)?;
                rule!(self, "build/sumOuter", t, expected, self.b.sum_outer(swapped)?)
            }

            // build1 k (\i -> gather sh t (\is -> ix))
            //   ~>  gather (k ::: sh) (build1 t) (\(i ::: is) -> i ::: ix)
            Node::Gather(u, r) => match self.lookup(batch, *u)? {
                Image::Many(v) => {
                    let f = self.vectorise_index_function(batch, *r, true)?;
                    rule!(self, "build/gather", t, expected, self.b.gather(v, f)?)
                }
                // build1 k (\i -> gather sh t (\is -> ix))
                //   ~>  gather (k ::: sh) t (\(i ::: is) -> ix)              (i not free in t)
                Image::One(u) if self.options.keep_invariants => {
                    let f = self.vectorise_index_function(batch, *r, false)?;
                    let made = self.b.gather(u, f)?;
                    rule!(self, "build/gather-invariant", t, expected, made)
                }
                Image::One(_) => {
                    let v = self.many(batch, *u)?;
                    let f = self.vectorise_index_function(batch, *r, true)?;
                    rule!(self, "build/gather", t, expected, self.b.gather(v, f)?)
                }
            },

            // build1 k (\i -> scatter sh t (\is -> ix))
            //   ~>  scatter (k ::: sh) (build1 t) (\(i ::: is) -> i ::: ix)
            Node::Scatter(sh, u, r) => {
                let v = self.many(batch, *u)?;
                let f = self.vectorise_index_function(batch, *r, true)?;
                let outer = [&[k], sh.dims()].concat();
                rule!(self, "build/scatter", t, expected, self.b.scatter(&outer, v, f)?)
            }

            // build1 k (\i -> [t1, .., tn])  ~>  tr [build1 t1, .., build1 tn]
            Node::Stack(ts) => {
                let vs = self.many_all(batch, ts)?;
                let stacked = self.b.stack(&vs)?;
                rule!(self, "build/stack", t, expected, self.b.transpose(&[1, 0], stacked)?)
            }

            // build1 k (\i -> replicate n t)  ~>  tr (replicate n (build1 t))
            Node::Replicate(n, u) => {
                let v = self.many(batch, *u)?;
                let repeated = self.b.replicate(*n, v)?;
                rule!(self, "build/replicate", t, expected, self.b.transpose(&[1, 0], repeated)?)
            }

            // build1 k (\i -> tr [b0, .., bn] t)  ~>  tr [0, b0 + 1, .., bn + 1] (build1 t)
            Node::Transpose(perm, u) => {
                let v = self.many(batch, *u)?;
                let shifted: Vec<usize> =
                    std::iter::once(0).chain(perm.iter().map(|&p| usize::from(p) + 1)).collect();
                rule!(self, "build/transpose", t, expected, self.b.transpose(&shifted, v)?)
            }

            // build1 k (\i -> reshape sh t)  ~>  reshape (k ::: sh) (build1 t)
            Node::Reshape(sh, u) => {
                let v = self.many(batch, *u)?;
                let dims = [&[k], sh.dims()].concat();
                rule!(self, "build/reshape", t, expected, self.b.reshape(&dims, v)?)
            }

            // build1 k (\i -> index t ix): see Fig. bot-rules-desperate.
            Node::Index(u, ix) => self.build_index_rule(batch, t, *u, ix, expected),

            // build1 k (\i -> oneHot sh v ix)
            //   ~>  scatter (k ::: sh) (build1 v) (\[i] -> i ::: ix)
            Node::OneHot(sh, v, ix) => {
                let v = self.many(batch, *v)?;
                let f = self.lane_function(batch, ix, true)?;
                let outer = [&[k], sh.dims()].concat();
                rule!(self, "build/oneHot", t, expected, self.b.scatter(&outer, v, f)?)
            }

            // build1 k (\i -> argmaxOuter t)  ~>  argmaxOuter (tr (build1 t))
            Node::ArgExtreme(extreme, u) => {
                let v = self.many(batch, *u)?;
                let swapped = self.b.transpose(&[1, 0], v)?;
                let made = self.b.arg_extreme(*extreme, swapped)?;
                rule!(self, "build/argExtreme", t, expected, made)
            }

            // build1 k (\i -> argsortOuter t)  ~>  tr (argsortOuter (tr (build1 t)))
            Node::ArgSort(u) => {
                let v = self.many(batch, *u)?;
                let swapped = self.b.transpose(&[1, 0], v)?;
                let sorted = self.b.arg_sort(swapped)?;
                rule!(self, "build/argSort", t, expected, self.b.transpose(&[1, 0], sorted)?)
            }

            // build1 k (\i -> segmentArgmax m t ids)
            //   ~>  tr (segmentArgmax m (tr (build1 t)) (tr (build1 ids)))
            Node::SegmentArg(extreme, segments, u, ids) => {
                let (v, lanes) = (self.many(batch, *u)?, self.many(batch, *ids)?);
                let v = self.b.transpose(&[1, 0], v)?;
                let lanes = self.b.transpose(&[1, 0], lanes)?;
                let found = self.b.segment_arg(*extreme, *segments, v, lanes)?;
                rule!(self, "build/segmentArg", t, expected, self.b.transpose(&[1, 0], found)?)
            }

            // build1 k (\i -> routine t u)  ~>  routine (build1 t) (build1 u)
            Node::Routine(routine, ts) => {
                let vs = self.many_all(batch, ts)?;
                rule!(self, "build/routine", t, expected, self.b.routine(*routine, &vs)?)
            }

            Node::Const(_) | Node::Input(_) | Node::Iota(_) => {
                Err(Error::internal("a closed leaf depends on a build's index"))
            }
            Node::Build1(_) => Err(Error::internal("a build inside a build is left")),
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => {
                Err(Error::internal("formers with several results have rules of their own"))
            }
        }
    }

    /// A vector of conditions repeated along the inner axes of a shape.
    pub(crate) fn broadcast_inner(&mut self, p: TermId, dims: Vec<usize>) -> Result<TermId> {
        let inner = dims.len().saturating_sub(1);
        if inner == 0 {
            return Ok(p);
        }
        let repeated = self.broadcast(p, &dims[1..])?;
        // [inner.., k] to [k, inner..]
        let perm: Vec<usize> = std::iter::once(inner).chain(0..inner).collect();
        self.b.transpose(&perm, repeated)
    }
}

/// Whether a term is a scalar index or condition.
pub(crate) fn is_discrete_scalar(arena: &cotan_ir::Arena, t: TermId) -> bool {
    let ty = arena.ty(t);
    ty.shape.rank() == 0 && matches!(ty.dtype, Dtype::I64 | Dtype::Bool)
}

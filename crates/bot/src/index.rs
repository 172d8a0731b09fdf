//! Fig. bot-rules-index: push `index` down.
//!
//! A stack of tasks instead of recursion: an index may travel through a chain of any length.

use cotan_ir::scalar::Op;
use cotan_ir::{Error, Extreme, Linear, Node, RegionId, Result, Routine, TermId, TermMap, Type};
use smallvec::SmallVec;

use crate::index_function::is_light;
use crate::transform::{Bot, Range, rule};

/// An index, on its way.
type Ix = SmallVec<[TermId; 4]>;

/// What is still to do, innermost last. Every task leaves one term on the stack of the done.
///
/// There are as many as an index has operations to go through, so they are kept small.
enum Task {
    /// `index t ix`.
    Push { t: TermId, ix: Ix, from: From },
    /// The terms on top of the stack are those of the right-hand side of a rule for `from`, read at
    /// so many indices; put it together.
    Combine { from: TermId, indices: usize, how: Combine },
}

/// What led to an index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// The source.
    Source,
    /// A rule that passed the index on.
    Rule,
    /// A rule that made the gather under it, which is not there for anything else.
    Made,
}

enum Combine {
    Cond(TermId),
    Op {
        op: Op,
        mask: Range,
    },
    Sum,
    ArgExtreme(Extreme),
    /// `argsortOuter` of the top, read at an index.
    ArgSort {
        at: TermId,
        mask: Range,
    },
    /// `segmentArgmax` or `segmentArgmin` of the two on top, read at an index.
    SegmentArg {
        extreme: Extreme,
        segments: usize,
        at: TermId,
        mask: Range,
    },
    /// A routine of so many terms, read at what is left of the index.
    Routine {
        routine: Routine,
        count: usize,
        at: Box<Ix>,
        mask: Range,
    },
    /// A stack of so many terms, read at an index.
    Stack {
        count: usize,
        at: TermId,
    },
    /// The top under a mask, by the rule of `from`'s former.
    Mask(Range),
}

impl Bot<'_> {
    /// `index t ix`, pushed down as far as it goes.
    pub(crate) fn push_index(&mut self, t: TermId, ix: &[TermId]) -> Result<TermId> {
        let mut tasks = vec![Task::Push { t, ix: ix.into(), from: From::Source }];
        let mut done: Vec<TermId> = Vec::new();
        while let Some(task) = tasks.pop() {
            let term = match task {
                Task::Push { t, ix, from } => self.push_step(t, ix, from, &mut tasks)?,
                Task::Combine { from, indices, how } => {
                    let expected = self.type_at(from, indices);
                    Some(self.combine_index(from, expected, how, &mut done)?)
                }
            };
            done.extend(term);
        }
        done.pop().ok_or_else(|| Error::internal("an index came to nothing"))
    }

    /// Whether an index may be pushed into a term: always into structure, and into a computation
    /// that nothing else uses and that is computed as often as the index is. A gather is structure
    /// if its index function is light, and a computation otherwise.
    fn may_push(&self, t: TermId) -> bool {
        if !self.options.push_index {
            return false;
        }
        match self.b.node(t) {
            Node::Index(..) | Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => true,
            Node::Iota(_) | Node::OneHot(..) => true,
            Node::Gather(_, r) => is_light(&self.b, *r) || self.is_own(t),
            Node::Cond(..) | Node::Op(..) | Node::SumOuter(_) | Node::Stack(_) => self.is_own(t),
            Node::ArgExtreme(..) | Node::ArgSort(_) | Node::SegmentArg(..) => self.is_own(t),
            Node::Routine(..) => self.is_own(t),
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Scatter(..) => false,
            Node::Build1(_) | Node::MapAccum(_) | Node::While(_) => false,
            Node::Custom(_) | Node::Result(..) => false,
        }
    }

    fn is_own(&self, t: TermId) -> bool {
        !self.shared.contains(t) && usize::from(self.b.free(t).innermost()) == self.b.depth()
    }

    /// Whether a term is `gather [] t (\[] -> ix)`.
    fn is_closed_gather(&self, t: TermId) -> bool {
        matches!(self.b.node(t), Node::Gather(_, r) if self.b.region(*r).params().is_empty())
    }

    /// The type of `index t ix` for so many indices.
    fn type_at(&self, t: TermId, indices: usize) -> Type {
        Type::new(self.b.dtype(t), self.b.shape(t).drop_outer(indices))
    }

    /// One rule of the figure, in its order, then ours. Returns the result, or leaves tasks.
    fn push_step(
        &mut self,
        t: TermId,
        ix: Ix,
        from: From,
        tasks: &mut Vec<Task>,
    ) -> Result<Option<TermId>> {
        let expected = self.type_at(t, ix.len());
        let indices = ix.len();
        // index t []  ~>  t
        //
        // Where the last rule applies too, to what the one before it has made, it goes first: a
        // gather without variables is an index that may be pushed further.
        if ix.is_empty() && !(from == From::Made && self.is_closed_gather(t)) {
            return rule!(self, "index/nil", t, expected, t).map(Some);
        }
        let first = || ix.first().copied().ok_or_else(|| Error::internal("an index is empty"));
        if !self.may_push(t) && from != From::Made {
            let read = self.b.index(t, &ix)?;
            if from != From::Source && self.shared.contains(t) {
                // index (let x = v in t) ix  ~>  let x = v in index t ix
                rule!(self, "index/let", t, expected, read)?;
            }
            return Ok(Some(read));
        }
        let node = self.b.node(t).clone();
        let push = |t: TermId, ix: Ix| Task::Push { t, ix, from: From::Rule };
        let push_made = |t: TermId, ix: Ix| Task::Push { t, ix, from: From::Made };
        match node {
            // index (index t [u1, .., um]) [t1, .., tn]  ~>  index t [u1, .., um, t1, .., tn]
            Node::Index(u, before) => {
                let all = before.iter().chain(&ix).copied().collect();
                rule!(self, "index/index", t, self.b.ty(t).clone(), t)?;
                tasks.push(push(u, all));
            }

            // index (cond b u v) ix  ~>  cond b (index u ix) (index v ix)
            Node::Cond(p, u, v) => {
                tasks.push(Task::Combine { from: t, indices, how: Combine::Cond(p) });
                tasks.push(push(v, ix.clone()));
                tasks.push(push(u, ix));
            }

            // index (op t u) ix  ~>  mask (ix in range) (op (index t ix) (index u ix))
            Node::Op(op, args) => {
                let mask = if op.row().preserves_zero {
                    Range::Inside
                } else {
                    let dims = self.b.shape(t).dims().to_vec();
                    self.all_in_range(&ix, &dims)?
                };
                tasks.push(Task::Combine { from: t, indices, how: Combine::Op { op, mask } });
                for &u in args.iter().rev() {
                    tasks.push(push(u, ix.clone()));
                }
            }

            // index (sumOuter t) ix  ~>  sumOuter (index (tr [1, .., n, 0] t) ix)
            Node::SumOuter(u) => {
                let moved = self.move_outer_axis(u, ix.len())?;
                tasks.push(Task::Combine { from: t, indices, how: Combine::Sum });
                tasks.push(push(moved, ix));
            }

            Node::Stack(ts) => return self.push_stack(t, &ts, ix, tasks),

            // index (replicate k t) [u1, .., un]  ~>  mask (u1 in range) (index t [u2, .., un])
            Node::Replicate(k, u) => {
                let mask = self.in_range(first()?, k)?;
                tasks.push(Task::Combine { from: t, indices, how: Combine::Mask(mask) });
                tasks.push(push(u, ix[1..].into()));
            }

            // index (tr [b0, .., bk] t) ix
            //   ~>  index (gather sh t (\[ib0, .., ibk] -> [i0, .., ik])) ix
            Node::Transpose(perm, u) => {
                let gathered = self.transpose_as_gather(&perm, t, u)?;
                let whole = self.b.ty(t).clone();
                let gathered = rule!(self, "index/transpose", t, whole, gathered)?;
                tasks.push(push_made(gathered, ix));
            }

            // index (reshape sh t) ix
            //   ~>  index (gather sh t (\is -> fromLinearIdx (shape t) (toLinearIdx sh is))) ix
            Node::Reshape(_, u) => {
                let gathered = self.reshape_as_gather(t, u)?;
                let whole = self.b.ty(t).clone();
                let gathered = rule!(self, "index/reshape", t, whole, gathered)?;
                tasks.push(push_made(gathered, ix));
            }

            Node::Gather(u, r) => match self.b.index_sizes(r).first() {
                // index (gather (k ::: sh) t (\(i ::: is) -> ix)) (u ::: ix')
                //   ~>  mask (u in range) (index (gather sh t (\is -> ix[u/i])) ix')
                Some(&k) => {
                    let mask = self.in_range(first()?, k)?;
                    let f = self.substitute_first(r, first()?)?;
                    let smaller = self.b.gather(u, f)?;
                    tasks.push(Task::Combine { from: t, indices, how: Combine::Mask(mask) });
                    tasks.push(push_made(smaller, ix[1..].into()));
                }
                // index (gather [] t (\[] -> ix)) ix'  ~>  index (index t ix) ix'
                None => {
                    let at = self.b.region(r).results();
                    let all = at.iter().chain(&ix).copied().collect();
                    rule!(self, "index/gather-nil", t, self.b.ty(t).clone(), t)?;
                    tasks.push(push(u, all));
                }
            },

            // index (iota k) [u]  ~>  mask (u in range) u
            Node::Iota(k) => {
                let mask = self.in_range(first()?, k)?;
                let masked = self.mask(mask, first()?)?;
                return rule!(self, "index/iota", t, expected, masked).map(Some);
            }

            // index (oneHot sh v us) ix
            //   ~>  mask (us = ix, ix in range) (index v ix')                    (ix covers sh)
            //   ~>  mask (us = ix, ix in range) (oneHot sh' v us')                   (otherwise)
            Node::OneHot(sh, v, at) => {
                let n = ix.len().min(at.len());
                let mut mask = Range::Inside;
                for (k, (&i, &u)) in ix.iter().zip(at.iter()).enumerate() {
                    let equal = self.b.op(Op::Eq, &[u, i])?;
                    let range = self.in_range(i, sh.dims()[k])?;
                    let here = self.both(Range::If(equal), range)?;
                    mask = self.both(mask, here)?;
                }
                let rest = match at.len() > n {
                    true => self.b.one_hot(&sh.dims()[n..], v, &at[n..])?,
                    false => v,
                };
                tasks.push(Task::Combine { from: t, indices, how: Combine::Mask(mask) });
                tasks.push(push(rest, ix[n..].into()));
            }

            // index (argmaxOuter t) ix  ~>  argmaxOuter (index (tr [1, .., n, 0] t) ix)
            Node::ArgExtreme(extreme, u) => {
                let moved = self.move_outer_axis(u, ix.len())?;
                let how = Combine::ArgExtreme(extreme);
                tasks.push(Task::Combine { from: t, indices, how });
                tasks.push(push(moved, ix));
            }

            // index (argsortOuter t) (u ::: ix)
            //   ~>  mask (ix in range) (index (argsortOuter (index (tr [1, .., n, 0] t) ix)) [u])
            Node::ArgSort(_) if ix.len() == 1 => return self.b.index(t, &ix).map(Some),
            Node::ArgSort(u) => {
                let dims = self.b.shape(t).dims()[1..].to_vec();
                let mask = self.all_in_range(&ix[1..], &dims)?;
                let moved = self.move_outer_axis(u, ix.len() - 1)?;
                let how = Combine::ArgSort { at: first()?, mask };
                tasks.push(Task::Combine { from: t, indices, how });
                tasks.push(push(moved, ix[1..].into()));
            }

            // index (segmentArgmax k t ids) (u ::: ix)
            //   ~>  mask (ix in range) (index (segmentArgmax k t' ids') [u])
            //       where t' = index (tr [1, .., n, 0] t) ix, and ids' alike
            Node::SegmentArg(..) if ix.len() == 1 => return self.b.index(t, &ix).map(Some),
            Node::SegmentArg(extreme, k, u, ids) => {
                let dims = self.b.shape(t).dims()[1..].to_vec();
                let mask = self.all_in_range(&ix[1..], &dims)?;
                let moved = self.move_outer_axis(u, ix.len() - 1)?;
                let moved_ids = self.move_outer_axis(ids, ix.len() - 1)?;
                let how = Combine::SegmentArg { extreme, segments: k, at: first()?, mask };
                tasks.push(Task::Combine { from: t, indices, how });
                tasks.push(push(moved_ids, ix[1..].into()));
                tasks.push(push(moved, ix[1..].into()));
            }

            // index (routine t u) (ix ++ js)
            //   ~>  mask (ix in range) (index (routine (index t ix) (index u ix)) js)
            Node::Routine(routine, ts) => {
                let dims = self.b.shape(t).dims();
                let batch = ix.len().min(dims.len() - routine.result_rank());
                if batch == 0 {
                    return self.b.index(t, &ix).map(Some);
                }
                let dims = dims[..batch].to_vec();
                let mask = self.all_in_range(&ix[..batch], &dims)?;
                let at = Box::new(Ix::from(&ix[batch..]));
                let how = Combine::Routine { routine, count: ts.len(), at, mask };
                tasks.push(Task::Combine { from: t, indices, how });
                for &u in ts.iter().rev() {
                    tasks.push(push(u, ix[..batch].into()));
                }
            }

            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Scatter(..) => {
                return self.b.index(t, &ix).map(Some);
            }
            Node::Build1(_) | Node::MapAccum(_) | Node::While(_) => {
                return self.b.index(t, &ix).map(Some);
            }
            Node::Custom(_) | Node::Result(..) => {
                return self.b.index(t, &ix).map(Some);
            }
        }
        Ok(None)
    }

    fn push_stack(
        &mut self,
        t: TermId,
        ts: &[TermId],
        ix: Ix,
        tasks: &mut Vec<Task>,
    ) -> Result<Option<TermId>> {
        let Some((&first, rest)) = ix.split_first() else {
            return Err(Error::internal("an index without components"));
        };
        // index [t1, .., tk] (c ::: ix)  ~>  index tc ix               (c a constant in range)
        let constant = self.b.constant_index(first).and_then(|c| usize::try_from(c).ok());
        if let Some(c) = constant.filter(|&c| c < ts.len()) {
            let element = self.type_at(t, 1);
            let picked = rule!(self, "index/stack-static", t, element, ts[c])?;
            tasks.push(Task::Push { t: picked, ix: rest.into(), from: From::Rule });
            return Ok(None);
        }
        // index [t1, .., tk] [u1, .., un]
        //   ~>  index [index t1 [u2, .., un], .., index tk [u2, .., un]] [u1]         (n > 1)
        if rest.is_empty() {
            return self.b.index(t, &ix).map(Some);
        }
        let how = Combine::Stack { count: ts.len(), at: first };
        tasks.push(Task::Combine { from: t, indices: ix.len(), how });
        for &u in ts.iter().rev() {
            tasks.push(Task::Push { t: u, ix: rest.into(), from: From::Rule });
        }
        Ok(None)
    }

    /// The right-hand side of a rule from its parts, which are on the stack.
    fn combine_index(
        &mut self,
        from: TermId,
        expected: Type,
        how: Combine,
        done: &mut Vec<TermId>,
    ) -> Result<TermId> {
        let mut take = |n: usize| match done.len().checked_sub(n) {
            Some(start) => Ok(done.drain(start..).collect::<Ix>()),
            None => Err(Error::internal("a rule lost a part")),
        };
        match how {
            Combine::Cond(p) => {
                let parts = take(2)?;
                let made = self.b.cond(p, parts[0], parts[1])?;
                rule!(self, "index/cond", from, expected, made)
            }
            Combine::Op { op, mask } => {
                let parts = take(op.arity())?;
                let made = self.b.op(op, &parts)?;
                let made = self.mask(mask, made)?;
                match parts.len() {
                    1 => rule!(self, "index/op1", from, expected, made),
                    2 => rule!(self, "index/op2", from, expected, made),
                    _ => rule!(self, "index/op3", from, expected, made),
                }
            }
            Combine::Sum => {
                let parts = take(1)?;
                rule!(self, "index/sumOuter", from, expected, self.b.sum_outer(parts[0])?)
            }
            Combine::ArgExtreme(extreme) => {
                let parts = take(1)?;
                let made = self.b.arg_extreme(extreme, parts[0])?;
                rule!(self, "index/argExtreme", from, expected, made)
            }
            Combine::ArgSort { at, mask } => {
                let parts = take(1)?;
                let sorted = self.b.arg_sort(parts[0])?;
                let read = self.b.index(sorted, &[at])?;
                rule!(self, "index/argSort", from, expected, self.mask(mask, read)?)
            }
            Combine::SegmentArg { extreme, segments, at, mask } => {
                let parts = take(2)?;
                let found = self.b.segment_arg(extreme, segments, parts[0], parts[1])?;
                let read = self.b.index(found, &[at])?;
                rule!(self, "index/segmentArg", from, expected, self.mask(mask, read)?)
            }
            Combine::Routine { routine, count, at, mask } => {
                let parts = take(count)?;
                let made = self.b.routine(routine, &parts)?;
                let read = if at.is_empty() { made } else { self.b.index(made, &at)? };
                rule!(self, "index/routine", from, expected, self.mask(mask, read)?)
            }
            Combine::Stack { count, at } => {
                let parts = take(count)?;
                let stacked = self.b.stack(&parts)?;
                rule!(self, "index/stack", from, expected, self.b.index(stacked, &[at])?)
            }
            Combine::Mask(mask) => {
                let parts = take(1)?;
                let made = self.mask(mask, parts[0])?;
                match self.b.node(from) {
                    Node::Replicate(..) => rule!(self, "index/replicate", from, expected, made),
                    Node::OneHot(..) => rule!(self, "index/oneHot", from, expected, made),
                    _ => rule!(self, "index/gather-cons", from, expected, made),
                }
            }
        }
    }

    /// The condition that every index is in range, as far as that is not known.
    fn all_in_range(&mut self, ix: &[TermId], dims: &[usize]) -> Result<Range> {
        let mut mask = Range::Inside;
        for (&i, &k) in ix.iter().zip(dims) {
            let here = self.in_range(i, k)?;
            mask = self.both(mask, here)?;
        }
        Ok(mask)
    }

    /// `tr [1, .., n, 0] t`: the outermost axis moved behind `n` others.
    fn move_outer_axis(&mut self, t: TermId, n: usize) -> Result<TermId> {
        let perm: Vec<usize> = (1..=n).chain([0]).collect();
        self.b.transpose(&perm, t)
    }

    /// `gather sh t (\[ib0, .., ibk] -> [i0, .., ik])`: a transposition as a gather.
    fn transpose_as_gather(&mut self, perm: &[u8], t: TermId, u: TermId) -> Result<TermId> {
        let sizes = self.b.shape(t).dims()[..perm.len()].to_vec();
        let f = self.b.index_function(&sizes, |_, is| {
            // Variable n of the result's axes is axis perm[n] of t.
            let mut ix = is.to_vec();
            for (n, &p) in perm.iter().enumerate() {
                ix[usize::from(p)] = is[n];
            }
            Ok(ix)
        })?;
        self.b.gather(u, f)
    }

    /// `gather sh t (\is -> fromLinearIdx (shape t) (toLinearIdx sh is))`.
    fn reshape_as_gather(&mut self, t: TermId, u: TermId) -> Result<TermId> {
        let to = self.b.shape(t).clone();
        let from = self.b.shape(u).clone();
        let vars = self.b.open(&Bot::index_params(to.dims()))?;
        let mut linear = Linear::constant(0);
        for (&i, &stride) in vars.iter().zip(&to.strides()) {
            linear = linear.plus(&Linear::atom(i), stride as i64);
        }
        let mut results = Vec::with_capacity(from.rank());
        for (n, (&k, &stride)) in from.dims().iter().zip(&from.strides()).enumerate() {
            // linear // stride % k, the remainder being needless on the outermost axis.
            let quotient = self.divide(Op::FloorDiv, &linear, stride as i64)?;
            results.push(match n {
                0 => quotient,
                _ => {
                    let form = self.affine_of(quotient);
                    self.divide(Op::Rem, &form, k.max(1) as i64)?
                }
            });
        }
        let f = self.b.close(&results)?;
        self.b.gather(u, f)
    }

    /// `\is -> ix[u/i]` for a region `\(i ::: is) -> ix`. The term `u` is computed once.
    fn substitute_first(&mut self, r: RegionId, u: TermId) -> Result<RegionId> {
        let region = self.b.region(r).clone();
        let sizes = self.b.index_sizes(r);
        let vars = self.b.open(&Bot::index_params(&sizes[1..]))?;
        let mut images = TermMap::new();
        let mut rest = vars.iter();
        for (n, &p) in region.params().iter().enumerate() {
            let image = if n == 0 { Some(&u) } else { rest.next() };
            if let Some(&image) = image {
                images.insert(p, image);
            }
        }
        let made = self.copy_results(&region, &mut images);
        match made.and_then(|results| self.normalise_all(&results)) {
            Ok(results) => self.b.close(&results),
            Err(error) => {
                self.b.abandon();
                Err(error)
            }
        }
    }
}

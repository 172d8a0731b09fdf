//! `build1` of `while`: one loop over batched states, as long as any lane runs.
//!
//! Every lane has its own condition. A lane whose condition fails keeps its state from then on, so
//! its condition, a function of the state, fails for good: each lane ends by itself, although all run
//! together. The lanes begin together, so step `n` of the loop is step `n` of each lane: the bound
//! stays as it is, and outputs are where they were. Where all lanes have one condition no masks are
//! needed.

use cotan_ir::scalar::Op;
use cotan_ir::{Error, Param, Region, Result, TermId, While};

use crate::build::{Batch, Image};
use crate::transform::{Bot, rule};

/// A batched step.
struct Step {
    /// Condition, next states, outputs.
    results: Vec<TermId>,
    /// Which outputs differ between lanes.
    output_varies: Vec<bool>,
    /// Whether lanes have conditions of their own.
    masked: bool,
}

impl Bot<'_> {
    /// The loop over batched states; the images of its results are left in `batch`.
    pub(crate) fn vectorise_while(
        &mut self,
        batch: &mut Batch,
        t: TermId,
        w: &While,
    ) -> Result<TermId> {
        let step = self.b.region(w.step).clone();
        let order = self.step_order(&step);
        let Some((&condition, next)) = step.results().split_first() else {
            return Err(Error::internal("a loop without a condition"));
        };
        // Where a lane ends is seen in every state that changes.
        let states = || step.params().iter().zip(next).enumerate();
        let stopped = states().filter(|(_, (param, next))| param != next);
        let flows: Vec<(TermId, usize)> = states()
            .map(|(n, (_, &next))| (next, n))
            .chain(stopped.map(|(n, _)| (condition, n)))
            .collect();
        let varying = self.varying_params(batch, &w.init, &step, &order, flows)?;

        let mut init = Vec::with_capacity(w.init.len());
        let mut params = Vec::with_capacity(w.init.len());
        for ((&p, &s), &varies) in step.params().iter().zip(&w.init).zip(&varying) {
            let ty = self.b.ty(p).clone();
            let (array, ty) = match self.lookup(batch, s)? {
                Image::One(array) if !varies => (array, ty),
                Image::One(_) | Image::Many(_) => {
                    (self.many(batch, s)?, self.batched(batch.k, &ty)?)
                }
            };
            init.push(array);
            params.push(Param::Value(ty));
        }
        let vars = self.b.open(&params)?;
        for ((&p, &var), &varies) in step.params().iter().zip(&vars).zip(&varying) {
            let image = if varies { Image::Many(var) } else { Image::One(var) };
            batch.images.insert(p, image);
        }
        let made = match self.vectorise_while_step(batch, &step, &vars, &varying) {
            Ok(made) => made,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        let region = self.b.close(&made.results)?;
        for t in order.iter().chain(step.params()) {
            batch.images.remove(*t);
            batch.results.remove(t);
        }

        let loop_ =
            self.b.while_accum(While { bound: w.bound, init: init.into(), step: region })?;
        let mut images = Vec::with_capacity(next.len());
        for (n, &varies) in varying.iter().chain(&made.output_varies).enumerate() {
            let result = self.b.result(loop_, n)?;
            images.push(match varies {
                false => Image::One(result),
                true if n < varying.len() => Image::Many(result),
                // Outputs of the batch are [bound, k, ..].
                true => Image::Many(self.b.transpose(&[1, 0], result)?),
            });
        }
        batch.results.insert(t, images);
        let ty = self.b.ty(loop_).clone();
        match made.masked {
            true => rule!(self, "build/while", t, ty, loop_),
            false => rule!(self, "build/while-invariant", t, ty, loop_),
        }
    }

    fn vectorise_while_step(
        &mut self,
        batch: &mut Batch,
        step: &Region,
        vars: &[TermId],
        varying: &[bool],
    ) -> Result<Step> {
        self.vectorise_all(batch, step.results())?;
        let Some((&condition, others)) = step.results().split_first() else {
            return Err(Error::internal("a loop without a condition"));
        };
        let (first, mask) = match self.lookup(batch, condition)? {
            Image::One(condition) => (condition, None),
            Image::Many(conditions) => (self.any(conditions)?, Some(conditions)),
        };
        let mut made =
            Step { results: vec![first], output_varies: Vec::new(), masked: mask.is_some() };
        for (n, &t) in others.iter().enumerate() {
            let image = self.lookup(batch, t)?;
            let before = vars.get(n).copied();
            let many = match varying.get(n) {
                Some(&varies) => varies,
                None => {
                    // A lane that has ended has zeros.
                    let varies = matches!(image, Image::Many(_)) || mask.is_some();
                    made.output_varies.push(varies);
                    varies
                }
            };
            if !many {
                made.results.push(match image {
                    Image::One(u) => u,
                    Image::Many(_) => {
                        return Err(Error::internal("a state that varies is taken as invariant"));
                    }
                });
                continue;
            }
            let u = self.many(batch, t)?;
            made.results.push(match mask {
                Some(mask) => {
                    let ty = self.b.ty(u).clone();
                    let otherwise = match before {
                        Some(state) => state,
                        None => self.zeros(&ty)?,
                    };
                    let mask = self.broadcast_inner(mask, ty.shape.dims().to_vec())?;
                    self.b.op(Op::Select, &[mask, u, otherwise])?
                }
                None => u,
            });
        }
        Ok(made)
    }

    /// Whether any of a vector of conditions holds.
    fn any(&mut self, conditions: TermId) -> Result<TermId> {
        let numbers = self.b.op(Op::ToI64, &[conditions])?;
        let count = self.b.sum_outer(numbers)?;
        let zero = self.b.scalar(0i64)?;
        self.b.op(Op::Gt, &[count, zero])
    }
}

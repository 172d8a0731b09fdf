//! `build1` of `map_accum`: one loop over batched states.
//!
//! `build1 k (\i -> map_accum s xs (\s x -> (s', y)))` becomes one `map_accum` whose states and
//! outputs have a lane for each `i`. States that are the same for every lane stay single: whatever
//! does not depend on `i` is computed once.

use cotan_ir::{Error, MapAccum, Node, Param, Result, TermId, TermSet};

use crate::build::{Batch, Image};
use crate::order::{Lists, all_dependencies, post_order};
use crate::transform::{Bot, rule};

impl Bot<'_> {
    /// The loop over batched states; the images of its results are left in `batch`.
    pub(crate) fn vectorise_map_accum(
        &mut self,
        batch: &mut Batch,
        t: TermId,
        m: &MapAccum,
    ) -> Result<TermId> {
        let step = self.b.region(m.step).clone();
        let order = self.step_order(&step);
        let states = m.init.len();
        let outer: Vec<TermId> = m.init.iter().chain(m.inputs.iter()).copied().collect();
        let next_states = step.results().iter().take(states).copied().zip(0..);
        let varying = self.varying_params(batch, &outer, &step, &order, next_states)?;

        // The arrays the loop starts from and steps through.
        let mut init = Vec::with_capacity(states);
        let mut inputs = Vec::with_capacity(m.inputs.len());
        let mut params = Vec::with_capacity(step.params().len());
        for (n, &p) in step.params().iter().enumerate() {
            let ty = self.b.ty(p).clone();
            let (array, ty) = if varying[n] {
                let array = self.many(batch, outer[n])?;
                // An input of the batch is [k, length, ..]; the loop runs over its second axis.
                let array = if n < states { array } else { self.b.transpose(&[1, 0], array)? };
                (array, self.batched(batch.k, &ty)?)
            } else {
                match self.lookup(batch, outer[n])? {
                    Image::One(array) => (array, ty),
                    Image::Many(_) => return Err(Error::internal("a varying state taken as one")),
                }
            };
            if n < states {
                init.push(array)
            } else {
                inputs.push(array)
            }
            params.push(Param::Value(ty));
        }

        // The step, each lane its own state.
        let vars = self.b.open(&params)?;
        for ((&p, &var), &varies) in step.params().iter().zip(&vars).zip(&varying) {
            let image = if varies { Image::Many(var) } else { Image::One(var) };
            batch.images.insert(p, image);
        }
        let made = self.vectorise_step(batch, &step, states, &varying);
        let (results, output_varies) = match made {
            Ok(made) => made,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        let region = self.b.close(&results)?;
        for t in order.iter().chain(step.params()) {
            batch.images.remove(*t);
            batch.results.remove(t);
        }

        let loop_ = self.b.map_accum(MapAccum {
            length: m.length,
            reverse: m.reverse,
            init: init.into(),
            inputs: inputs.into(),
            step: region,
        })?;
        let mut images = Vec::with_capacity(step.results().len());
        for (n, &varies) in varying[..states].iter().chain(&output_varies).enumerate() {
            let result = self.b.result(loop_, n)?;
            images.push(match varies {
                false => Image::One(result),
                true if n < states => Image::Many(result),
                // Outputs of the batch are [length, k, ..].
                true => Image::Many(self.b.transpose(&[1, 0], result)?),
            });
        }
        batch.results.insert(t, images);
        rule!(self, "build/mapAccum", t, self.b.ty(loop_).clone(), loop_)
    }

    /// The nodes of a loop's step, dependencies first.
    pub(crate) fn step_order(&mut self, step: &cotan_ir::Region) -> Vec<TermId> {
        let (b, captures) = (&self.b, &mut self.captures);
        post_order(
            step.results(),
            // The only variables of this depth are the step's own.
            |t| b.free(t).innermost() >= step.level() && !matches!(b.node(t), Node::Var { .. }),
            |t, found| all_dependencies(b, captures, t, found),
        )
    }

    /// Which parameters of a loop's step differ between lanes: those that start different, and those
    /// that come to depend on them or on the build's index. `outer` is what they start as; each of
    /// `flows` is a term and the number of a parameter that differs from then on if the term does.
    pub(crate) fn varying_params(
        &mut self,
        batch: &Batch,
        outer: &[TermId],
        step: &cotan_ir::Region,
        order: &[TermId],
        flows: impl IntoIterator<Item = (TermId, usize)>,
    ) -> Result<Vec<bool>> {
        let mut varying = Vec::with_capacity(step.params().len());
        for &t in outer {
            varying.push(matches!(self.lookup(batch, t)?, Image::Many(_)));
        }
        if !self.options.keep_invariants {
            return Ok(vec![true; step.params().len()]);
        }
        // What varies spreads from a term to its users, and from a state to its next value.
        let mut users: Lists<TermId> = Lists::default();
        let mut spreading: Vec<TermId> = Vec::new();
        let mut found = Vec::new();
        for &t in order {
            all_dependencies(&self.b, &mut self.captures, t, &mut found);
            for u in found.drain(..) {
                if self.b.free(u).innermost() >= step.level() {
                    users.push(u, t);
                } else if matches!(self.lookup(batch, u)?, Image::Many(_)) {
                    spreading.push(t);
                }
            }
        }
        let mut next_of: Lists<usize> = Lists::default();
        for (t, n) in flows {
            next_of.push(t, n);
            let outside = self.b.free(t).innermost() < step.level();
            if outside && matches!(self.lookup(batch, t)?, Image::Many(_)) {
                varying[n] = true;
            }
        }
        let params = step.params();
        spreading.extend(params.iter().zip(&varying).filter(|(_, v)| **v).map(|(&p, _)| p));
        let mut reached = TermSet::new();
        while let Some(t) = spreading.pop() {
            if !reached.insert(t) {
                continue;
            }
            spreading.extend(users.of(t));
            for n in next_of.of(t) {
                varying[n] = true;
                spreading.push(params[n]);
            }
        }
        Ok(varying)
    }

    /// The results of the batched step, and which outputs differ between lanes.
    fn vectorise_step(
        &mut self,
        batch: &mut Batch,
        step: &cotan_ir::Region,
        states: usize,
        varying: &[bool],
    ) -> Result<(Vec<TermId>, Vec<bool>)> {
        self.vectorise_all(batch, step.results())?;
        let mut results = Vec::with_capacity(step.results().len());
        let mut output_varies = Vec::new();
        for (n, &t) in step.results().iter().enumerate() {
            let image = self.lookup(batch, t)?;
            let many = match n < states {
                true => varying[n],
                false => {
                    output_varies.push(matches!(image, Image::Many(_)));
                    matches!(image, Image::Many(_))
                }
            };
            results.push(match image {
                Image::One(u) if !many => u,
                Image::Many(v) if !many => {
                    // Only a deliberate fault leads here; any lane will do.
                    let zero = self.b.scalar(0i64)?;
                    self.b.index(v, &[zero])?
                }
                Image::One(_) | Image::Many(_) => self.many(batch, t)?,
            });
        }
        Ok((results, output_varies))
    }
}

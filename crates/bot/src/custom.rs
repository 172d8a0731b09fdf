//! `build1` of a function with a derivative of its own: function and rule are vectorised together.

use cotan_ir::{Custom, CustomKind, Param, Result, TermId};

use crate::build::{Batch, Image};
use crate::order::{all_dependencies, post_order};
use crate::transform::{Bot, rule};

impl Bot<'_> {
    /// `build1 k (\i -> withVjp ts f)` is `withVjp` of the vectorised arguments and function. Every
    /// argument gets a lane, so that the rule's cotangents have one too; of a checkpoint, which has no
    /// rule, those that differ.
    pub(crate) fn vectorise_custom(
        &mut self,
        batch: &mut Batch,
        t: TermId,
        c: &Custom,
    ) -> Result<TermId> {
        let region = self.b.region(c.region).clone();
        // A checkpoint has no rule: what is the same for every lane stays that.
        let alone = matches!(c.kind, CustomKind::Checkpoint(_));
        let mut args = Vec::with_capacity(c.args.len());
        let mut params = Vec::with_capacity(region.params().len());
        let mut shared = vec![false; region.params().len()];
        for (n, &arg) in c.args.iter().enumerate() {
            match self.lookup(batch, arg)? {
                Image::One(arg) if alone => {
                    shared[n] = true;
                    params.push(Param::Value(self.b.ty(arg).clone()));
                    args.push(arg);
                }
                Image::One(_) | Image::Many(_) => {
                    let arg = self.many(batch, arg)?;
                    params.push(Param::Value(self.b.ty(arg).clone()));
                    args.push(arg);
                }
            }
        }
        for &p in region.params().iter().skip(c.args.len()) {
            params.push(Param::Value(self.batched(batch.k, self.b.ty(p))?));
        }
        let order = {
            let (b, captures) = (&self.b, &mut self.captures);
            post_order(
                region.results(),
                |t| b.free(t).innermost() >= region.level(),
                |t, found| all_dependencies(b, captures, t, found),
            )
        };
        let vars = self.b.open(&params)?;
        for ((&p, &var), &shared) in region.params().iter().zip(&vars).zip(&shared) {
            batch.images.insert(p, if shared { Image::One(var) } else { Image::Many(var) });
        }
        let made = self.vectorise_all(batch, region.results()).and_then(|()| {
            region.results().iter().map(|&t| self.many(batch, t)).collect::<Result<Vec<TermId>>>()
        });
        let function = match made {
            Ok(results) => self.b.close(&results)?,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        for t in order.iter().chain(region.params()) {
            batch.images.remove(*t);
            batch.results.remove(t);
        }
        let made = self.b.custom(Custom {
            kind: c.kind,
            args: args.into(),
            outputs: c.outputs,
            region: function,
        })?;
        let results = (0..c.outputs).map(|n| self.b.result(made, n).map(Image::Many));
        batch.results.insert(t, results.collect::<Result<_>>()?);
        rule!(self, "build/custom", t, self.b.ty(made).clone(), made)
    }
}

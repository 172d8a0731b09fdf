//! `build1` of a function with a derivative of its own: function and rule are vectorised together.

use cotan_ir::{Custom, Param, Result, TermId};

use crate::build::{Batch, Image};
use crate::order::{all_dependencies, post_order};
use crate::transform::{Bot, rule};

impl Bot<'_> {
    /// `build1 k (\i -> withVjp ts f)` is `withVjp` of the vectorised arguments and function. Every
    /// argument gets a lane, so that the rule's cotangents have one too.
    pub(crate) fn vectorise_custom(
        &mut self,
        batch: &mut Batch,
        t: TermId,
        c: &Custom,
    ) -> Result<TermId> {
        let region = self.b.region(c.region).clone();
        let mut args = Vec::with_capacity(c.args.len());
        for &arg in &c.args {
            args.push(self.many(batch, arg)?);
        }
        let mut params = Vec::with_capacity(region.params().len());
        for &p in region.params() {
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
        for (&p, &var) in region.params().iter().zip(&vars) {
            batch.images.insert(p, Image::Many(var));
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

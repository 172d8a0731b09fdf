//! Fig. bot-rules-desperate: `build1` of `index`, for the indices that could not be pushed down.

use cotan_ir::{Node, Result, TermId, Type};

use crate::build::{Batch, Image};
use crate::transform::{Bot, rule};

impl Bot<'_> {
    /// `build1 k (\i -> index u ix)`; the rules of the figure, in its order, then ours.
    pub(crate) fn build_index_rule(
        &mut self,
        batch: &Batch,
        t: TermId,
        u: TermId,
        ix: &[TermId],
        expected: Type,
    ) -> Result<TermId> {
        match self.lookup(batch, u)? {
            Image::One(x) if self.options.keep_invariants => {
                let f = self.lane_function(batch, ix, false)?;
                let gathered = self.b.gather(x, f)?;
                match self.b.node(x) {
                    // build1 k (\i -> index c ix)  ~>  gather (k ::: sh) c (\[i] -> ix)
                    Node::Const(_) => rule!(self, "build-index/const", t, expected, gathered),
                    // build1 k (\i -> index x ix)  ~>  gather (k ::: sh) x (\[i] -> ix)
                    _ => rule!(self, "build-index/var", t, expected, gathered),
                }
            }
            Image::One(_) | Image::Many(_) => {
                let v = self.many(batch, u)?;
                let f = self.lane_function(batch, ix, true)?;
                let gathered = self.b.gather(v, f)?;
                match self.b.node(u) {
                    // build1 k (\i -> index [t1, .., tn] [t])
                    //   ~>  gather (k ::: sh) (build1 [t1, .., tn]) (\[i] -> [i, t])
                    Node::Stack(_) => rule!(self, "build-index/stack", t, expected, gathered),
                    // build1 k (\i -> index (scatter sh t (\is2 -> ix2)) ix)
                    //   ~>  gather (k ::: sh) (build1 (scatter ..)) (\[i] -> i ::: ix)
                    Node::Scatter(..) => rule!(self, "build-index/scatter", t, expected, gathered),
                    // build1 k (\i -> index x ix)  ~>  gather (k ::: sh) (build1 x) (\[i] -> i ::: ix)
                    _ => rule!(self, "build-index/bound", t, expected, gathered),
                }
            }
        }
    }
}

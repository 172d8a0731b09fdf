//! Guards: the conditions without which a cotangent is zero.
//!
//! The transpose of `cond b u v` sends `cond b c 0` into `u`. What the reverse pass makes of that is
//! zero unless `b` holds, but takes its work in any case; and where the branch has a loop without a
//! bound, which need not end unless `b` holds, the gradient would not end either. So each cotangent
//! has a guard: the conditions that it came through. Where cotangents of different guards are added,
//! and at the inputs, each is put under the conditions that are its own, `cond b c 0` once more. A
//! run then needs what it is made of only where the branch is taken.
//!
//! Without loops, conditions are a few selections more or less, and there are no guards.

use cotan_ir::Result;
use rustc_hash::FxHashMap;

use crate::algebra::Algebra;

/// A cotangent is put under at most so many conditions: that many nodes it may become more.
const DEEPEST: u32 = 4;

/// A list of conditions, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guard(u32);

impl Guard {
    /// No condition.
    pub(crate) const NONE: Guard = Guard(0);
}

/// A cotangent and its guard.
#[derive(Clone)]
pub(crate) struct Guarded<T> {
    pub(crate) c: T,
    pub(crate) guard: Guard,
}

/// A condition and those around it.
struct Condition<T> {
    around: Guard,
    depth: u32,
    condition: T,
    /// What the condition has to be.
    holds: bool,
}

/// All guards of a reverse pass.
pub(crate) struct Guards<T> {
    on: bool,
    conditions: Vec<Condition<T>>,
    numbers: FxHashMap<(Guard, usize, bool), Guard>,
}

impl<T: Clone> Guards<T> {
    /// No guards yet; none ever if they are not `on`.
    pub(crate) fn new(on: bool) -> Guards<T> {
        Guards { on, conditions: Vec::new(), numbers: FxHashMap::default() }
    }

    fn get(&self, guard: Guard) -> Option<&Condition<T>> {
        guard.0.checked_sub(1).and_then(|n| self.conditions.get(n as usize))
    }

    fn depth(&self, guard: Guard) -> u32 {
        self.get(guard).map_or(0, |condition| condition.depth)
    }

    /// A guard with one condition more.
    pub(crate) fn with<A: Algebra<T = T>>(
        &mut self,
        a: &A,
        around: Guard,
        condition: &T,
        holds: bool,
    ) -> Guard {
        let depth = self.depth(around) + 1;
        let Some(identity) = a.identity(condition).filter(|_| self.on && depth <= DEEPEST) else {
            return around;
        };
        let conditions = &mut self.conditions;
        *self.numbers.entry((around, identity, holds)).or_insert_with(|| {
            conditions.push(Condition { around, depth, condition: condition.clone(), holds });
            Guard(conditions.len() as u32)
        })
    }

    /// The conditions that two guards have in common.
    pub(crate) fn common(&self, mut x: Guard, mut y: Guard) -> Guard {
        while x != y {
            let outer = if self.depth(x) >= self.depth(y) { &mut x } else { &mut y };
            *outer = self.get(*outer).map_or(Guard::NONE, |condition| condition.around);
        }
        x
    }

    /// A cotangent under those of its conditions that are not in the guard.
    pub(crate) fn under<A: Algebra<T = T>>(
        &self,
        a: &mut A,
        guarded: Guarded<T>,
        guard: Guard,
    ) -> Result<T> {
        let Guarded { mut c, guard: mut own } = guarded;
        while own != guard
            && let Some(Condition { around, condition, holds, .. }) = self.get(own)
        {
            let zero = a.number(0.0, &a.ty(&c))?;
            c = match holds {
                true => a.cond(condition, &c, &zero)?,
                false => a.cond(condition, &zero, &c)?,
            };
            own = *around;
        }
        Ok(c)
    }

    /// The sum of cotangents.
    pub(crate) fn plus<A: Algebra<T = T>>(
        &self,
        a: &mut A,
        before: Option<Guarded<T>>,
        more: Guarded<T>,
    ) -> Result<Option<Guarded<T>>> {
        let Some(before) = before else { return Ok(Some(more)) };
        let guard = self.common(before.guard, more.guard);
        let (x, y) = (self.under(a, before, guard)?, self.under(a, more, guard)?);
        Ok(a.plus(Some(x), Some(y))?.map(|c| Guarded { c, guard }))
    }
}

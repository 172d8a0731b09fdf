//! Contractions before it is known how they are run.

use crate::nest::{Affine, BufferId, Nest, Touches};

/// A sum of products that a machine may have a better way for than its nest.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The sum of products of two loads.
    pub core: Nest,
    /// What the sums are multiplied by.
    pub factor: f64,
    /// The operands that must be finite: where 0 times anything has to be 0.
    pub finite: [bool; 2],
    /// The nest that all of this stands for. Unless an operand must be finite, what it reads may not
    /// be there.
    pub whole: Nest,
    /// What is done with the sums.
    pub after: Option<Nest>,
}

impl Draft {
    /// What it fills in the end.
    pub fn target(&self) -> BufferId {
        self.whole.target
    }

    /// Lets it fill another buffer, at places by the dimensions that are not reduced.
    pub fn move_target(&mut self, to: BufferId, at: &Affine) {
        self.whole.move_target(to, at);
        match &mut self.after {
            Some(after) => after.move_target(to, at),
            None => self.core.move_target(to, at),
        }
    }

    /// The buffer of the sums, if they are not what it fills in the end.
    pub fn between(&self) -> Option<BufferId> {
        self.after.as_ref().map(|_| self.core.target)
    }

    /// Whether another nest must be at hand.
    pub fn needs_whole(&self) -> bool {
        self.finite.contains(&true)
    }

    /// Its nests: those of its dimensions, and the one without those that are summed over.
    pub fn nests(&self) -> impl Iterator<Item = &Nest> {
        let whole = self.needs_whole().then_some(&self.whole);
        [&self.core].into_iter().chain(whole).chain(&self.after)
    }

    /// The same, to change them.
    pub fn nests_mut(&mut self) -> impl Iterator<Item = &mut Nest> {
        let needs_whole = self.needs_whole();
        let whole = Some(&mut self.whole).filter(|_| needs_whole);
        [&mut self.core].into_iter().chain(whole).chain(&mut self.after)
    }

    /// The buffers that it names, to change them.
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        let nests = [&mut self.core, &mut self.whole].into_iter().chain(&mut self.after);
        nests.for_each(|nest| nest.for_each_buffer_mut(f));
    }
}

impl Touches for Draft {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        f(self.target());
        self.nests().for_each(|nest| nest.for_each_buffer(f));
    }
}

//! How often terms are used.

use cotan_ir::TermId;
use rustc_hash::FxHashMap;

/// From here on a count is in the second table.
const OFTEN: u8 = u8::MAX;

/// How often each term of a program is used: few times, most of them, so that a byte suffices.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Terms past the end are not used.
    few: Vec<u8>,
    often: FxHashMap<TermId, u32>,
}

impl Counts {
    /// How often a term is used.
    pub(crate) fn get(&self, t: TermId) -> u32 {
        match self.few.get(t.index()) {
            None => 0,
            Some(&OFTEN) => self.often.get(&t).copied().unwrap_or(u32::from(OFTEN)),
            Some(&few) => u32::from(few),
        }
    }

    /// Notes some more uses of a term.
    pub(crate) fn add(&mut self, t: TermId, uses: u32) {
        let all = self.get(t).saturating_add(uses);
        if t.index() >= self.few.len() {
            self.few.resize(t.index() + 1, 0);
        }
        match u8::try_from(all) {
            Ok(few) if few < OFTEN => self.few[t.index()] = few,
            _ => {
                self.few[t.index()] = OFTEN;
                self.often.insert(t, all);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_ir::Builder;

    #[test]
    fn counts_add_up_beyond_a_byte() {
        let mut b = Builder::new();
        let (x, y) = (b.scalar(1.0).unwrap(), b.scalar(2.0).unwrap());
        let mut counts = Counts::default();
        assert_eq!((counts.get(x), counts.get(y)), (0, 0));
        for (uses, sum) in [(1, 1), (253, 254), (1, 255), (1, 256), (u32::MAX, u32::MAX)] {
            counts.add(y, uses);
            assert_eq!((counts.get(x), counts.get(y)), (0, sum));
        }
    }
}

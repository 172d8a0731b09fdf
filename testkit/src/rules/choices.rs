//! Choices that can be enumerated, drawn at random, and made smaller.
//!
//! A procedure that asks for choices, each below a bound, stands for the tree of all its runs. A
//! run is replayed from the list of its choices; the next run in order increases the last choice
//! that can be increased; a smaller run has smaller choices.

use crate::Rng;

/// Where choices come from.
#[derive(Clone, Debug)]
enum Source {
    /// A list, and zeros after it.
    Replay(Vec<usize>),
    Random(Rng),
}

/// The choices of one run.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    source: Source,
    /// Each choice and its bound.
    taken: Vec<(usize, usize)>,
}

impl Choices {
    pub fn replay(choices: Vec<usize>) -> Choices {
        Choices { source: Source::Replay(choices), taken: Vec::new() }
    }

    pub fn random(rng: Rng) -> Choices {
        Choices { source: Source::Random(rng), taken: Vec::new() }
    }

    /// A choice below `bound`; 0 when there is none.
    pub fn choose(&mut self, bound: usize) -> usize {
        let at = self.taken.len();
        let choice = match &mut self.source {
            Source::Replay(choices) => choices.get(at).map_or(0, |&c| c.min(bound.max(1) - 1)),
            Source::Random(rng) => rng.below(bound),
        };
        self.taken.push((choice, bound));
        choice
    }

    /// What was chosen.
    pub fn taken(&self) -> Vec<usize> {
        self.taken.iter().map(|&(choice, _)| choice).collect()
    }

    /// The beginning of the next run in order, or `None` after the last one.
    pub fn next_run(&self) -> Option<Vec<usize>> {
        let last = self.taken.iter().rposition(|&(choice, bound)| choice + 1 < bound)?;
        let mut next = self.taken();
        next.truncate(last + 1);
        next[last] += 1;
        Some(next)
    }
}

/// Smaller lists of choices that `fails` as well: first shorter ones, then smaller numbers, to a
/// local minimum.
pub(super) fn shrink_choices(
    choices: Vec<usize>,
    mut fails: impl FnMut(&[usize]) -> Option<Vec<usize>>,
) -> Vec<usize> {
    let size = |choices: &[usize]| (choices.iter().sum::<usize>(), choices.len());
    let mut best = choices;
    loop {
        let before = size(&best);
        for at in 0..best.len() {
            for smaller in [0, 1, 2, best[at] / 2, best[at].saturating_sub(1)] {
                if at >= best.len() || smaller >= best[at] {
                    continue;
                }
                let mut candidate = best.clone();
                candidate[at] = smaller;
                // The replayed run may have taken fewer choices.
                if let Some(taken) = fails(&candidate)
                    && size(&taken) < size(&best)
                {
                    best = taken;
                }
            }
        }
        if size(&best) == before {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All runs of a procedure, in order.
    fn runs(procedure: impl Fn(&mut Choices)) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        let mut next = Some(Vec::new());
        while let Some(prefix) = next {
            let mut choices = Choices::replay(prefix);
            procedure(&mut choices);
            all.push(choices.taken());
            next = choices.next_run();
        }
        all
    }

    #[test]
    fn every_run_comes_up_once() {
        let dependent = |c: &mut Choices| {
            for _ in 0..c.choose(3) {
                c.choose(2);
            }
        };
        let all = runs(dependent);
        let expected: [&[usize]; 7] =
            [&[0], &[1, 0], &[1, 1], &[2, 0, 0], &[2, 0, 1], &[2, 1, 0], &[2, 1, 1]];
        assert_eq!(all, expected);
        assert_eq!(runs(|c| assert_eq!(c.choose(0), 0)), [[0]]);
        assert_eq!(runs(|_| ()), [[]; 1] as [[usize; 0]; 1]);
    }

    #[test]
    fn shrinking_finds_the_smallest_run() {
        let fails = |c: &[usize]| {
            let large = c.iter().filter(|&&x| x >= 5).count() >= 2;
            large.then(|| c.to_vec())
        };
        assert_eq!(shrink_choices(vec![9, 3, 7, 8, 1], fails), [0, 0, 5, 5, 0]);
    }
}

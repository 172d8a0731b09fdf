//! Arrangements made of several formers: broadcasting and moving axes.

use crate::build::Builder;
use crate::error::Result;
use crate::term::TermId;

/// The common shape of two, or `None`: from the last axis back, sizes are equal, 1 or missing.
pub fn broadcast_dims(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at =
        |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |k| dims[k]);
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (1, k) | (k, 1) => Some(k),
            (j, k) => (j == k).then_some(j),
        })
        .collect()
}

impl Builder {
    /// `t` stretched to a shape that it fits: missing leading axes and axes of size 1 are repeated.
    pub fn broadcast_to(&mut self, t: TermId, dims: &[usize]) -> Result<TermId> {
        let own = self.shape(t).dims().to_vec();
        if own == dims {
            return Ok(t);
        }
        let missing = dims.len().saturating_sub(own.len());
        // Axes of the result: `t` has them (its own position), or they are new.
        let has = |axis: usize| axis >= missing && own.get(axis - missing) == dims.get(axis);
        let kept: Vec<usize> = (0..dims.len()).filter(|&axis| has(axis)).collect();
        let mut term = t;
        if kept.len() < own.len() {
            let sizes: Vec<usize> =
                kept.iter().filter_map(|&axis| dims.get(axis).copied()).collect();
            term = self.reshape(&sizes, term)?;
        }
        self.spread(term, &kept, dims)
    }

    /// `t` with its axes at the given places of a larger shape, repeated along the other axes.
    pub fn spread(&mut self, t: TermId, places: &[usize], dims: &[usize]) -> Result<TermId> {
        let new: Vec<usize> = (0..dims.len()).filter(|axis| !places.contains(axis)).collect();
        let mut term = t;
        for &axis in new.iter().rev() {
            term = self.replicate(dims.get(axis).copied().unwrap_or(0), term)?;
        }
        // Now the axes are `new ++ places`; axis `n` of the result is found among them.
        let mut perm = vec![0; dims.len()];
        for (from, &to) in new.iter().chain(places).enumerate() {
            if let Some(place) = perm.get_mut(to) {
                *place = from;
            }
        }
        self.permute(term, &perm)
    }

    /// `tr perm t`, without its fixed last axes, and nothing where nothing moves.
    pub fn permute(&mut self, t: TermId, perm: &[usize]) -> Result<TermId> {
        let moving = perm.iter().enumerate().rposition(|(n, &k)| n != k).map_or(0, |last| last + 1);
        match perm.get(..moving) {
            None | Some([]) => Ok(t),
            Some(perm) => self.transpose(perm, t),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_last_axis() {
        assert_eq!(broadcast_dims(&[], &[2, 3]), Some(vec![2, 3]));
        assert_eq!(broadcast_dims(&[3], &[2, 3]), Some(vec![2, 3]));
        assert_eq!(broadcast_dims(&[2, 1], &[1, 3]), Some(vec![2, 3]));
        assert_eq!(broadcast_dims(&[1], &[0]), Some(vec![0]));
        assert_eq!(broadcast_dims(&[2], &[2, 3]), None);
        assert_eq!(broadcast_dims(&[2], &[0]), None);
    }
}

//! Whether a number is the slope of a function of one variable, told from its values alone.
//!
//! Differences err by truncation if they are wide and by rounding if they are narrow, and at a kink
//! they mean nothing. So several widths are tried, each with an estimate of its own error: a slope
//! agrees if it agrees at one width, and differs only if it does at the two narrowest that rounding
//! leaves, by much more than these can err. One-sided differences that settle at two values are a kink.
//! Everything else is left undecided, with the reason.

use std::cell::Cell;

/// Widths relative to the position, or to 1 if that is more.
const WIDTHS: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];

/// A width too narrow for exact differences, which still tells a slope from steps.
const NARROW: f64 = 1e-9;

/// Wide differences, for values so large that their rounding hides narrow ones.
const WIDE: f64 = 0.1;

/// The part of the values around a point that rounding may be, for differences to mean anything.
const LOST: f64 = 0.01;

/// How much of a slope differences may miss and still confirm it.
pub const TOLERANCE: f64 = 1e-6;

/// A slope that is claimed, and how exactly the values around it are known.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub slope: f64,
    /// Where on the axis.
    pub at: f64,
    /// The largest slope along any axis: small ones may come from the cancellation of large ones.
    pub scale: f64,
    /// How far rounding may move a value.
    pub rounding: f64,
    /// How exact the slope is, beside that.
    pub loose: f64,
}

/// What differences say about a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// They agree up to this.
    Agrees(f64),
    /// They settle at another slope.
    Differs(f64),
    /// The slopes on the left and on the right settle at different values.
    Kink(f64, f64),
    /// Rounding of the values hides slopes of this size.
    Hidden(f64),
    /// They do not settle.
    Rough,
}

/// Differences at one width.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub slope: f64,
    pub left: f64,
    pub right: f64,
    /// How much the slope may be off by truncation, and by rounding.
    truncation: f64,
    noise: f64,
}

impl Estimate {
    /// From the values at `-h`, `-h/2`, `0`, `h/2` and `h`, or about: each with its true distance.
    pub fn new(values: [(f64, f64); 5], rounding: f64) -> Estimate {
        let [(_, below), (_, half_below), (_, middle), (_, half_above), (_, above)] = values;
        let [(a, _), (b, _), _, (c, _), (d, _)] = values;
        let wide = (above - below) / (d - a);
        let narrow = (half_above - half_below) / (c - b);
        // One step of Richardson's extrapolation of each.
        let slope = (4.0 * narrow - wide) / 3.0;
        let side = |near: f64, half: f64, far: f64, whole: f64| {
            2.0 * (half - middle) / near - (whole - middle) / far
        };
        let (left, right) = (side(b, half_below, a, below), side(c, half_above, d, above));
        let truncation = (narrow - wide).abs() / 3.0 + (right - left).abs();
        Estimate { slope, left, right, truncation, noise: 8.0 * rounding / (d - a) }
    }

    fn is_finite(&self) -> bool {
        [self.slope, self.left, self.right, self.noise].iter().all(|x| x.is_finite())
    }

    fn uncertainty(&self) -> f64 {
        self.truncation + self.noise
    }

    /// The error that is accepted.
    fn tolerance(&self, claim: &Claim) -> f64 {
        let size = claim.slope.abs().max(self.slope.abs());
        TOLERANCE * size + 1e-3 * TOLERANCE * claim.scale + self.noise + claim.loose
    }

    /// Whether rounding hides a slope of the claimed size.
    fn is_hidden(&self, claim: &Claim) -> bool {
        let size = claim.slope.abs().max(self.slope.abs());
        claim.slope != 0.0 && self.noise > 1e-3 * size && self.noise > TOLERANCE * claim.scale
    }

    fn error(&self, claim: &Claim) -> f64 {
        (self.slope - claim.slope).abs()
    }

    fn agrees(&self, claim: &Claim) -> bool {
        let error = self.error(claim);
        let size = claim.slope.abs().max(self.slope.abs());
        // Differences that cannot do better confirm four digits.
        let close = error <= 2.0 * self.truncation && self.uncertainty() <= 1e-4 * size;
        // Both sides have to be alike: in the middle of a kink any slope may seem right.
        let bend = (self.right - self.left).abs();
        let straight = bend <= 1e-2 * size + 1e-4 * claim.scale + 4.0 * self.noise;
        straight && !self.is_hidden(claim) && (error <= self.tolerance(claim) || close)
    }

    /// Whether the error of truncation became less than at a wider width: where it does not, the
    /// function turns more often than these widths show.
    fn settles_after(&self, wider: &Estimate) -> bool {
        self.truncation <= 0.5 * wider.truncation || self.truncation <= self.noise
    }

    fn differs(&self, claim: &Claim) -> bool {
        let error = self.error(claim);
        let uncertainty = self.uncertainty();
        error > self.tolerance(claim) + 4.0 * uncertainty && uncertainty <= 0.1 * error
    }
}

/// Tests a claim. The function takes a distance from the point to the distance that it really went,
/// after rounding, and the value there.
pub fn examine<E>(
    claim: &Claim,
    mut value: impl FnMut(f64) -> Result<(f64, f64), E>,
) -> Result<Finding, E> {
    let middle = value(0.0)?;
    let unit = claim.at.abs().max(1.0);
    let mut widths: Vec<f64> = WIDTHS.iter().map(|width| width * unit).collect();
    // Near 0 the function may end or turn at 0.
    if claim.at != 0.0 && claim.at.abs() < 1e-2 {
        widths.extend(WIDTHS[..2].iter().map(|width| width * claim.at.abs()));
    }
    widths.sort_by(|a, b| b.total_cmp(a));
    let largest = Cell::new(0.0f64);
    let mut at = |width: f64| -> Result<Option<Estimate>, E> {
        let (below, half_below) = (value(-width)?, value(-width / 2.0)?);
        let (half_above, above) = (value(width / 2.0)?, value(width)?);
        let values = [below, half_below, middle, half_above, above];
        largest.set(values.iter().fold(largest.get(), |most, value| value.1.abs().max(most)));
        let estimate = Estimate::new(values, claim.rounding);
        Ok(estimate.is_finite().then_some(estimate))
    };
    let mut estimates = Vec::new();
    for width in widths {
        let Some(estimate) = at(width)? else { continue };
        if estimate.agrees(claim) {
            return Ok(Finding::Agrees(estimate.error(claim)));
        }
        estimates.push(estimate);
    }
    // Where rounding moves the value by much of itself, as in chaotic loops, no difference says anything.
    if claim.rounding > LOST * largest.get() {
        let widest = estimates.first().map_or(f64::INFINITY, |estimate| estimate.noise);
        return Ok(Finding::Hidden(widest));
    }
    let hidden = estimates.iter().find(|estimate| estimate.is_hidden(claim)).copied();
    if hidden.is_some()
        && let Some(estimate) = at(WIDE * unit)?
    {
        if estimate.agrees(claim) {
            return Ok(Finding::Agrees(estimate.error(claim)));
        }
        estimates.insert(0, estimate);
    }
    let exact = estimates.iter().filter(|e| e.noise <= 0.02 * e.error(claim));
    let exact: Vec<&Estimate> = exact.collect();
    if let [.., before, last] = exact[..]
        && before.differs(claim)
        && last.differs(claim)
        && last.settles_after(before)
        && !steps(claim, last.slope, unit, &mut value)?
    {
        return Ok(Finding::Differs(last.slope));
    }
    Ok(kink(&estimates).unwrap_or(match hidden {
        Some(estimate) => Finding::Hidden(estimate.noise),
        None => Finding::Rough,
    }))
}

/// Whether the values go up in steps that only look like a slope: very narrow differences then tell the
/// claimed slope from the one that wider ones show.
fn steps<E>(
    claim: &Claim,
    slope: f64,
    unit: f64,
    mut value: impl FnMut(f64) -> Result<(f64, f64), E>,
) -> Result<bool, E> {
    let (below, above) = (value(-NARROW * unit)?, value(NARROW * unit)?);
    let width = above.0 - below.0;
    let (narrow, noise) = ((above.1 - below.1) / width, 8.0 * claim.rounding / width);
    let (from_claim, from_slope) = ((narrow - claim.slope).abs(), (narrow - slope).abs());
    Ok(from_claim <= 0.1 * from_slope && from_slope > 10.0 * noise)
}

/// Two slopes, of the left and of the right, at which narrower differences stay.
fn kink(estimates: &[Estimate]) -> Option<Finding> {
    estimates.windows(2).rev().find_map(|pair| {
        let [wide, narrow] = *pair else { return None };
        let gap = (narrow.right - narrow.left).abs();
        let settled = |a: f64, b: f64| (a - b).abs() <= 0.05 * gap;
        let sides = settled(wide.left, narrow.left) && settled(wide.right, narrow.right);
        let clear = narrow.noise <= 0.05 * gap;
        (sides && clear).then_some(Finding::Kink(narrow.left, narrow.right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(slope: f64, at: f64, f: impl Fn(f64) -> f64) -> Finding {
        let rounding = f64::EPSILON * f(at).abs();
        let claim = Claim { slope, at, scale: slope.abs(), rounding, loose: 0.0 };
        let exact = |t: f64| Ok::<_, ()>((at + t - at, f(at + t)));
        examine(&claim, exact).unwrap()
    }

    fn agrees(slope: f64, at: f64, f: impl Fn(f64) -> f64) -> bool {
        matches!(finding(slope, at, f), Finding::Agrees(_))
    }

    #[test]
    fn slopes_of_smooth_functions_are_told_from_wrong_ones() {
        type Case = (f64, f64, fn(f64) -> f64);
        let cases: [Case; 12] = [
            (2.0, 1.0, |x| x * x),
            (0.7f64.cos(), 0.7, f64::sin),
            (1e3 * 0.7e3f64.cos(), 0.7, |x| (1e3 * x).sin()),
            (1e4, 1e-4, f64::ln),
            (1e8, 1e-8, f64::ln),
            (0.5e3, 1e-6, f64::sqrt),
            ((3.0f64).exp(), 3.0, f64::exp),
            (1e6 * 3e6, 3e3, |x| x * x * x / 9.0),
            (-25.0, 0.2, |x| 1.0 / x),
            (1e-9, 0.3, |x| 1e-9 * x),
            (0.0, 0.3, |_| 7.0),
            (0.0, 0.0, |x| x * x),
        ];
        for (n, (slope, at, f)) in cases.into_iter().enumerate() {
            let slope = if n == 7 { at * at / 3.0 } else { slope };
            assert!(agrees(slope, at, f), "{n}: {:?}", finding(slope, at, f));
            for wrong in [1.0001, 0.99, 0.0, -1.0, 2.0] {
                let wrong = if slope == 0.0 { wrong + 0.5 } else { slope * wrong };
                let found = finding(wrong, at, f);
                assert!(matches!(found, Finding::Differs(_)), "{n} as {wrong}: {found:?}");
            }
        }
    }

    #[test]
    fn kinks_are_seen_from_both_sides_and_passed_by_at_a_distance() {
        let relu = |x: f64| x.max(0.0);
        for slope in [0.0, 0.5, 1.0] {
            assert!(matches!(finding(slope, 0.0, relu), Finding::Kink(l, r)
                if l.abs() < 1e-6 && (r - 1.0).abs() < 1e-6));
        }
        for distance in [1e-2, 1e-3, 5e-4, 1e-4, 1e-5, 2e-6] {
            assert!(agrees(1.0, distance, relu) && agrees(0.0, -distance, relu), "{distance}");
            assert!(agrees(1.0, distance, f64::abs) && agrees(-1.0, -distance, f64::abs));
            // Wrong slopes are not confirmed by what lies beyond the kink.
            assert!(!agrees(0.5, distance, relu) && !agrees(0.0, distance, f64::abs));
        }
    }

    /// The logistic map, whose slope grows with every step, until rounding has the last word.
    #[test]
    fn chaos_is_undecided() {
        for steps in [20, 30, 40, 60, 100, 200] {
            for start in [0.1, 0.2, 0.35, 0.6, 0.77, 0.9] {
                let run = |x: f64| (0..steps).fold(x, |x, _| 3.9 * x * (1.0 - x));
                let slope = (0..steps).fold((start, 1.0), |(x, d): (f64, f64), _| {
                    (3.9 * x * (1.0 - x), d * 3.9 * (1.0 - 2.0 * x))
                });
                // What a change of the last place does is what rounding may do.
                let near = run(start * (1.0 + 2.0 * f64::EPSILON));
                let rounding = (near - run(start)).abs().max(f64::EPSILON);
                let claim =
                    Claim { slope: slope.1, at: start, scale: slope.1.abs(), rounding, loose: 0.0 };
                let found = examine(&claim, |t| Ok::<_, ()>((start + t - start, run(start + t))));
                let found = found.unwrap();
                assert!(!matches!(found, Finding::Differs(_)), "{steps}, {start}: {found:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        assert_eq!(finding(0.0, 0.3, |x| (1e6 * x).floor()), Finding::Rough);
        assert!(matches!(finding(1.0, 0.3, |x| 1e300 + x), Finding::Hidden(_)));
        assert_eq!(finding(0.0, 0.0, |x| if x < 0.0 { 0.0 } else { 1.0 }), Finding::Rough);
        // No less so if it is wrong.
        assert!(matches!(finding(2.0, 0.3, |x| 1e300 + x), Finding::Hidden(_)));
    }
}

//! The roots of `1 + r sum_j z_j^2 / (d_j - x)`: one between each pole and the next, and one behind
//! the last.

/// So many steps at most; it takes five or so.
const STEPS: usize = 100;

/// Root `i`, for poles `d` in ascending order; `gaps` gets the poles less the root, exact to the last
/// bits also where the root is close to a pole.
pub(super) fn root(d: &[f64], squares: &[f64], rho: f64, i: usize, gaps: &mut [f64]) -> f64 {
    let k = d.len();
    if k == 1 {
        let x = rho * squares[0];
        gaps[0] = -x;
        return d[0] + x;
    }
    let last = i + 1 == k;
    let total: f64 = squares.iter().sum();
    // Where the root may be, as a distance from the nearer pole.
    let width = if last { rho * total } else { d[i + 1] - d[i] };
    let at = |origin: usize, x: f64, gaps: &mut [f64]| {
        for (gap, pole) in gaps.iter_mut().zip(d) {
            *gap = (pole - d[origin]) - x;
        }
    };
    let middle = 0.5 * width;
    at(i, middle, gaps);
    let beyond = sums(squares, gaps, rho, i).value < 0.0;
    let (origin, mut low, mut high) = match (last, beyond) {
        (true, false) | (false, false) => (i, 0.0, middle),
        (true, true) => (i, middle, width),
        (false, true) => (i + 1, middle - width, 0.0),
    };
    let mut x = 0.5 * (low + high);
    // The two poles that the function looks like.
    let (p, q) = if last { (i - 1, i) } else { (i, i + 1) };
    for _ in 0..STEPS {
        at(origin, x, gaps);
        let f = sums(squares, gaps, rho, i);
        if f.value.abs() <= f.rounding || !f.value.is_finite() {
            break;
        }
        if f.value < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let (gap_p, gap_q) = (gaps[p], gaps[q]);
        let c = f.value - gap_p * f.before - gap_q * f.after;
        let a = (gap_p + gap_q) * f.value - gap_p * gap_q * (f.before + f.after);
        let b = gap_p * gap_q * f.value;
        let discriminant = (a * a - 4.0 * b * c).abs().sqrt();
        let step = match (last, a > 0.0) {
            (false, false) => (a - discriminant) / (2.0 * c),
            (false, true) => 2.0 * b / (a + discriminant),
            (true, false) => 2.0 * b / (a - discriminant),
            (true, true) => (a + discriminant) / (2.0 * c.abs()),
        };
        let newton = -f.value / (f.before + f.after);
        let step = if step * f.value < 0.0 { step } else { newton };
        let next = x + step;
        let inside = next > low && next < high;
        let next = if inside { next } else { 0.5 * (low + high) };
        if next == x || !(next > low && next < high) {
            break;
        }
        x = next;
    }
    at(origin, x, gaps);
    // A root on a pole, by rounding, is next to it.
    d[origin] + x
}

/// The function at a place.
struct Sums {
    value: f64,
    /// The derivatives of the parts up to pole `i`, and after it; of the last root, before the last
    /// pole and at it.
    before: f64,
    after: f64,
    /// How far rounding may have moved the value.
    rounding: f64,
}

fn sums(squares: &[f64], gaps: &[f64], rho: f64, i: usize) -> Sums {
    let split = if i + 1 == gaps.len() { i } else { i + 1 };
    let part = |range: std::ops::Range<usize>| {
        let (mut value, mut size, mut slope) = (0.0, 0.0, 0.0);
        for (square, gap) in squares[range.clone()].iter().zip(&gaps[range]) {
            let term = square / gap;
            value += term;
            size += term.abs();
            slope += term / gap;
        }
        (rho * value, rho * size, rho * slope)
    };
    let (left, left_size, before) = part(0..split);
    let (right, right_size, after) = part(split..gaps.len());
    let rounding = f64::EPSILON * (1.0 + left_size + right_size) * 2.0;
    Sums { value: 1.0 + left + right, before, after, rounding }
}

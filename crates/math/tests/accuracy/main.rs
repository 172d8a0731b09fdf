//! How far the functions are from the exact values, in units of the last place: never further than
//! `docs/math.md` says. `COTAN_CASES=100` tries a hundred times as many arguments, `COTAN_SEED`
//! others.

mod dd;
mod known;
mod reference;

use cotan_math::{Binary, Unary};
use dd::Dd;
use reference::Scaled;

/// Bits after the point, the smallest exponent of a unit, and the exponent from which on numbers
/// are infinite.
struct Format {
    fraction: i32,
    least: i32,
    most: i32,
}

const DOUBLE: Format = Format { fraction: 52, least: -1074, most: 1024 };
const SINGLE: Format = Format { fraction: 23, least: -149, most: 128 };

/// The distance between a result and the exact value, in units of the last place of the latter.
fn distance(found: f64, exact: Scaled, format: &Format) -> f64 {
    let Scaled { value, exponent } = exact;
    if value.hi == 0.0 {
        return if found == 0.0 { 0.0 } else { f64::INFINITY };
    }
    if found.is_infinite() {
        // Right if the exact value is no nearer to the largest number than to the next power.
        let edge = 1.0 - 0.25 * 2f64.powi(-format.fraction);
        let fits = found.signum() == value.hi.signum()
            && libm::scalbn(value.hi.abs(), exponent - format.most) >= edge;
        return if fits { 0.0 } else { f64::INFINITY };
    }
    let top = libm::ilogb(value.hi) + exponent;
    let unit = (top - format.fraction).max(format.least) - exponent;
    let error = Dd::from(libm::scalbn(found, -exponent)) - value;
    libm::scalbn(error.abs().hi, -unit)
}

/// Arguments: a range of interest, ranges around 0 and 1, all exponents, and the neighbours of
/// numbers at which something changes.
struct Samples(u64);

impl Samples {
    fn new(name: &str) -> Samples {
        let seed = std::env::var("COTAN_SEED").ok().and_then(|seed| seed.parse().ok());
        let own = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Samples(seed.map_or(own, |seed: u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.unit()
    }

    fn any(&mut self, range: (f64, f64)) -> f64 {
        const CHANGES: [f64; 12] = [
            0.125,
            0.25,
            0.5,
            std::f64::consts::FRAC_1_SQRT_2,
            1.0,
            std::f64::consts::SQRT_2,
            2.0,
            3.0,
            std::f64::consts::LN_2 / 2.0,
            std::f64::consts::FRAC_PI_4,
            std::f64::consts::FRAC_PI_2,
            10.0,
        ];
        match self.bits() % 8 {
            0 => f64::from_bits(self.bits()),
            1 => (1.0 + self.unit()) * 2f64.powi((self.bits() % 90) as i32 - 60),
            2 => -(1.0 + self.unit()) * 2f64.powi((self.bits() % 90) as i32 - 60),
            3 => {
                let change = CHANGES[(self.bits() % 12) as usize];
                let place = (change * (self.bits() % 40) as f64).to_bits();
                let sign = if self.bits().is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * f64::from_bits((place + self.bits() % 7).saturating_sub(3))
            }
            4 => self.between((-1.0, 1.0)),
            5 => self.between((0.5, 3.0)),
            _ => self.between(range),
        }
    }
}

/// The arguments at which a function is finite, not trivially 0 or infinite, and the reference
/// holds.
fn range(f: Unary, single: bool) -> (f64, f64) {
    let pick = |wide, narrow| if single { narrow } else { wide };
    match f {
        Unary::Exp => pick((-745.2, 709.8), (-104.0, 88.8)),
        Unary::Exp2 => pick((-1075.2, 1024.0), (-150.0, 128.0)),
        Unary::Expm1 => pick((-40.0, 709.8), (-20.0, 88.8)),
        Unary::Sinh | Unary::Cosh => pick((-710.5, 710.5), (-89.5, 89.5)),
        Unary::Log | Unary::Log2 | Unary::Log10 => (f64::from_bits(1), f64::MAX),
        Unary::Log1p => (-1.0 + f64::EPSILON / 2.0, f64::MAX),
        Unary::Cbrt | Unary::Atan | Unary::Asinh => (f64::MIN, f64::MAX),
        Unary::Sin | Unary::Cos | Unary::Tan => (-1_073_741_824.0, 1_073_741_824.0),
        Unary::Asin | Unary::Acos => (-1.0, 1.0),
        Unary::Tanh => (-25.0, 25.0),
        Unary::Acosh => (1.0, f64::MAX),
        Unary::Atanh => (-1.0 + f64::EPSILON / 2.0, 1.0 - f64::EPSILON / 2.0),
        Unary::Erf => (-6.5, 6.5),
        Unary::Erfc => pick((-6.5, 27.3), (-5.0, 10.1)),
        Unary::Logistic => pick((-745.2, 40.0), (-104.0, 20.0)),
    }
}

fn cases() -> usize {
    let factor: Option<f64> = std::env::var("COTAN_CASES").ok().and_then(|n| n.parse().ok());
    (8000.0 * factor.unwrap_or(1.0)).ceil() as usize
}

/// The largest distance, and where it is.
#[derive(Default)]
struct Worst {
    distance: f64,
    place: String,
}

impl Worst {
    fn see(&mut self, distance: f64, place: impl FnOnce() -> String) {
        if distance > self.distance || distance.is_nan() {
            *self = Worst { distance, place: place() };
        }
    }
}

fn worst_of_unary(f: Unary, single: bool) -> Worst {
    let mut samples = Samples::new(f.name());
    let (low, high) = range(f, single);
    let moderate = (low.max(-1e4), high.min(1e4));
    let (mut worst, mut left) = (Worst::default(), cases());
    while left > 0 {
        let x = samples.any(moderate);
        let x = if single { f64::from(x as f32) } else { x };
        if !(low..=high).contains(&x) || x == 0.0 {
            continue;
        }
        left -= 1;
        let (found, format) =
            if single { (f.f32(x as f32).into(), SINGLE) } else { (f.f64(x), DOUBLE) };
        let distance = distance(found, reference::unary(f, x), &format);
        worst.see(distance, || format!("{} {x:e} = {found:e}", f.name()));
    }
    worst
}

fn worst_of_binary(f: Binary) -> Worst {
    let mut samples = Samples::new(f.name());
    let (mut worst, mut left) = (Worst::default(), cases());
    while left > 0 {
        let (x, y) = (samples.any((-10.0, 10.0)), samples.any((-10.0, 10.0)));
        let fits = match f {
            Binary::Pow => x > 0.0 && x.is_finite() && (y * x.ln()).abs() < 744.0,
            Binary::Atan2 => [x, y].iter().all(|x| (1e-100..1e100).contains(&x.abs())),
        };
        if !fits {
            continue;
        }
        left -= 1;
        let found = f.f64(x, y);
        let distance = distance(found, reference::binary(f, x, y), &DOUBLE);
        worst.see(distance, || format!("{} {x:e} {y:e} = {found:e}", f.name()));
    }
    worst
}

/// The bound of a function in the table of the document: in `f64`, then in `f32`.
fn bound(name: &str, column: usize) -> f64 {
    let document = include_str!("../../../../docs/math.md");
    let start = format!("| `{name}` |");
    let row = document.lines().find(|line| line.starts_with(&start));
    let cell = row.and_then(|row| row.split('|').nth(2 + column));
    // A function without a bound has none to keep.
    cell.and_then(|cell| cell.trim().parse().ok()).unwrap_or(0.0)
}

fn check(name: &str, column: usize, worst: &Worst) {
    let bound = bound(name, column);
    println!("{name} {column}: {:.3} of {bound} at {}", worst.distance, worst.place);
    assert!(worst.distance <= bound, "{:.3}, not {bound}: {}", worst.distance, worst.place);
}

#[test]
fn functions_of_f64_are_as_accurate_as_documented() {
    for &f in Unary::ALL {
        check(f.name(), 0, &worst_of_unary(f, false));
    }
    for &f in Binary::ALL {
        check(f.name(), 0, &worst_of_binary(f));
    }
}

#[test]
fn functions_of_f32_are_as_accurate_as_documented() {
    for &f in Unary::ALL {
        check(f.name(), 1, &worst_of_unary(f, true));
    }
}

#[test]
fn the_reference_is_accurate() {
    for &(f, x, hi, lo) in known::UNARY {
        let Scaled { value, exponent } = reference::unary(f, x);
        let exact = Dd::new(hi, lo).times_power(2f64.powi(-exponent));
        let error = ((value - exact) / exact).abs().hi;
        assert!(error < 2f64.powi(-80), "{} {x:e}: {error:e}", f.name());
    }
    for &(f, x, y, hi, lo) in known::BINARY {
        let Scaled { value, exponent } = reference::binary(f, x, y);
        let exact = Dd::new(hi, lo).times_power(2f64.powi(-exponent));
        let error = ((value - exact) / exact).abs().hi;
        assert!(error < 2f64.powi(-80), "{} {x:e} {y:e}: {error:e}", f.name());
    }
}

#[test]
fn large_arguments_of_circular_functions() {
    // Computed with 1300 bits.
    for &(f, x, wanted) in known::FAR {
        let exact = Scaled { value: Dd::from(wanted), exponent: 0 };
        assert!(distance(f.f64(x), exact, &DOUBLE) <= 1.0, "{} {x:e}: {:e}", f.name(), f.f64(x));
    }
}

//! In which order a nest is run: which dimension is the innermost loop, so that compilers make vectors
//! of it.

use cotan_nest::{Affine, Instr, Nest, Write};

/// Lanes that a vector has, about.
pub(crate) const LANES: usize = 8;

/// How a nest is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One position after the other, in the order of the indices.
    Plain,
    /// With a dimension innermost that is not reduced.
    Parallel(usize),
    /// With a reduced dimension innermost, of which several positions are summed side by side.
    Reduced(usize),
}

impl Shape {
    /// The best for a nest; `in_order` keeps sums in the order of their indices.
    pub(crate) fn of(nest: &Nest, in_order: bool) -> Shape {
        if nest.write.scatters() {
            return Shape::Plain;
        }
        let parallel = nest.extents.len() - nest.reduced;
        let dtype = nest.dtypes[nest.value.index()];
        let sides = !in_order && dtype.is_float() && nest.write.reduction().is_some();
        let choices = if sides { nest.extents.len() } else { parallel };
        let costs = (0..choices).map(|dim| (dim, cost(nest, dim)));
        let best = costs.min_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        match best {
            Some((dim, _)) if dim < parallel && nest.reduced > 0 => {
                // A loop around that has few positions is no help.
                let plain = cost_of_plain(nest);
                if cost(nest, dim) < plain { Shape::Parallel(dim) } else { Shape::Plain }
            }
            Some((dim, _)) if dim < parallel => Shape::Parallel(dim),
            Some((dim, _)) if nest.extents[dim] >= LANES => Shape::Reduced(dim),
            _ => Shape::Plain,
        }
    }
}

/// Accesses to neighbours, also where some of them are out of range, from the last to the first, to elements that are apart, and to computed
/// places; what it takes to begin a loop, and to make one number of several. In instructions.
const NEAR: f64 = 1.0;
const GUARDED: f64 = 2.0;
const REVERSED: f64 = 2.0;
const APART: f64 = 8.0;
const COMPUTED: f64 = 16.0;
const BEGIN: f64 = 8.0;
const FOLD: f64 = 16.0;

fn access(at: &Affine, dim: usize) -> f64 {
    match at.coeffs[dim] {
        0 | 1 => NEAR,
        -1 => REVERSED,
        _ => APART,
    }
}

/// About what a position costs with a dimension innermost.
fn cost(nest: &Nest, lane: usize) -> f64 {
    let parallel = nest.extents.len() - nest.reduced;
    let extent = nest.extents[lane].max(1) as f64;
    let vectors = nest.extents[lane].div_ceil(LANES).max(1) as f64;
    let reduced = nest.extents[parallel..].iter().fold(1.0, |n, &k| n * k.max(1) as f64);
    let mut cost = 0.0;
    for instr in &nest.instrs {
        cost += match instr {
            Instr::Const(_) | Instr::Affine(_) => 0.0,
            Instr::Load { at, checks, .. } => {
                let guarded = checks.iter().any(|(form, _)| form.coeffs[lane] != 0);
                match at.coeffs[lane] {
                    // One element for a whole loop over lanes.
                    0 if lane < parallel && !guarded => NEAR / vectors,
                    0 | 1 if guarded => GUARDED,
                    _ if guarded => APART,
                    _ => access(at, lane),
                }
            }
            Instr::LoadAt { .. } => COMPUTED,
            Instr::Op(..) | Instr::MulAdd { .. } => 1.0,
        };
    }
    cost += nest.also.iter().map(|also| access(&also.at, lane)).sum::<f64>();
    match &nest.write {
        Write::Store(at) => cost += access(at, lane),
        // Sums of a block are in memory while they are made.
        Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } if lane < parallel => {
            cost += 2.0 * NEAR;
        }
        Write::Sum(_) | Write::Best { .. } => {
            return (cost * vectors + BEGIN + FOLD * extent / reduced) / extent;
        }
        Write::Extreme { .. } | Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => {}
    }
    (cost * vectors + BEGIN) / extent
}

/// About what a position costs where one comes after the other.
fn cost_of_plain(nest: &Nest) -> f64 {
    let instrs = nest.instrs.iter().filter(|instr| match instr {
        Instr::Const(_) | Instr::Affine(_) => false,
        Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => true,
    });
    instrs.count() as f64 + 4.0
}

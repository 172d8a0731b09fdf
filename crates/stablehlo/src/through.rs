//! Reads of some elements of what is computed element by element: of its operands instead.
//! $$ (2 (x - c))_{p} = 2 (x_p - c_p) $$
//!
//! An array of which few elements are read need not be computed for that, nor kept in memory: compilers
//! join elementwise operations to what sums them up, but not if a gather needs them, too. Repetitions
//! and transposes on the way become other positions, and what is read at its own positions is not read
//! at all.

use cotan_ir::Result;
use cotan_ir::scalar::Op;

use crate::read::positions_read;
use crate::scalar::elementwise;
use crate::value::{Along, Profile, Val};
use crate::writer::Writer;

/// How many times as many elements as are read the array has at least.
const FEWER: usize = 2;
/// Operations on the way to arrays that are read, at most.
const MAX_OPERATIONS: usize = 8;
/// Arrays that are read at the end, besides those at their own positions.
const MAX_READS: usize = 2;

/// An array, as far as it is read.
enum Part {
    /// What every element is.
    Known(Val),
    /// A scalar, the same for all elements.
    Scalar(Val),
    /// An elementwise operation of parts.
    Made(Op, Vec<Part>),
    /// An array at these positions; its axes among those of the result.
    Read { source: Val, at: Vec<Val>, axes: Vec<usize> },
    /// An array at its own positions; its axes among those of the result.
    Whole { source: Val, axes: Vec<usize> },
}

/// The elements at positions given by arrays of these sizes, each moved into the array where it is not
/// inside; nothing if it is better to compute the array and read it.
pub(crate) fn read_through(
    w: &mut Writer,
    source: &Val,
    at: &[Val],
    sizes: &[usize],
) -> Result<Option<Val>> {
    let inner = &source.ty.dims[at.len()..];
    let dims = [sizes, inner].concat();
    let count = |dims: &[usize]| dims.iter().fold(1usize, |n, &k| n.saturating_mul(k));
    if count(&dims).saturating_mul(FEWER) > count(&source.ty.dims) {
        return Ok(None);
    }
    let axes: Vec<usize> = (0..dims.len()).collect();
    let (mut operations, mut reads) = (0, 0);
    let search = &mut Search { w, sizes, operations: &mut operations, reads: &mut reads };
    let part = search.part(source, at, &axes);
    match part {
        Some(part @ Part::Made(..)) => written(w, &part, &dims).map(Some),
        _ => Ok(None),
    }
}

struct Search<'a> {
    w: &'a Writer,
    sizes: &'a [usize],
    operations: &'a mut usize,
    reads: &'a mut usize,
}

impl Search<'_> {
    /// `source` at positions along its first axes; the rest of them are `axes[sizes.len()..]` of the
    /// result. Nothing if that takes too much.
    fn part(&mut self, source: &Val, at: &[Val], axes: &[usize]) -> Option<Part> {
        if source.known.is_some() {
            return Some(Part::Known(source.clone()));
        }
        if let Some(Along { axis, what: Profile::Position }) = source.along
            && let Some(position) = at.get(axis)
        {
            let axes = axes[..self.sizes.len()].to_vec();
            return Some(Part::Whole { source: position.clone(), axes });
        }
        let (base, order) = self.w.untransposed(source);
        if base.name != source.name {
            // The axes that are read have to stay the first.
            let rest = at.len()..order.len();
            if !rest.clone().all(|n| order[n] == n) {
                return None;
            }
            let place = |k: usize| order.iter().position(|&other| other == k);
            let at: Option<Vec<Val>> =
                (0..at.len()).map(|k| place(k).and_then(|n| at.get(n)).cloned()).collect();
            return self.part(&base, &at?, axes);
        }
        if let Some((base, own)) = self.w.repetition(source) {
            let (read, rest): (Vec<usize>, Vec<usize>) = own.iter().partition(|&&k| k < at.len());
            let at_base: Vec<Val> = read.iter().map(|&k| at[k].clone()).collect();
            let lead = if read.is_empty() { 0 } else { self.sizes.len() };
            let inner = rest.iter().map(|&k| axes[self.sizes.len() + k - at.len()]);
            let axes: Vec<usize> = axes[..lead].iter().copied().chain(inner).collect();
            return match read.is_empty() {
                true => Some(Part::Whole { source: base, axes }),
                false => self.part(&base, &at_base, &axes),
            };
        }
        if let Some((op, args)) = self.w.operation(source) {
            *self.operations += 1;
            if *self.operations > MAX_OPERATIONS {
                return None;
            }
            let part = |arg: &Val| match arg.ty.rank() {
                0 => Some(Part::Scalar(arg.clone())),
                _ => self.part(arg, at, axes),
            };
            return args.iter().map(part).collect::<Option<_>>().map(|args| Part::Made(op, args));
        }
        if let Some(own) = self.own_positions(source, at) {
            let inner = axes[self.sizes.len()..].iter().copied();
            let axes = own.into_iter().chain(inner).collect();
            return Some(Part::Whole { source: source.clone(), axes });
        }
        *self.reads += 1;
        (*self.reads <= MAX_READS).then(|| Part::Read {
            source: source.clone(),
            at: at.to_vec(),
            axes: axes.to_vec(),
        })
    }

    /// The axes of the result that positions count through, if they are all positions of the array.
    fn own_positions(&self, source: &Val, at: &[Val]) -> Option<Vec<usize>> {
        let mut found: Vec<usize> = Vec::with_capacity(at.len());
        for (i, &size) in at.iter().zip(&source.ty.dims) {
            let Some(Along { axis, what: Profile::Position }) = i.along else { return None };
            if self.sizes[axis] != size || found.contains(&axis) {
                return None;
            }
            found.push(axis);
        }
        Some(found)
    }
}

fn written(w: &mut Writer, part: &Part, dims: &[usize]) -> Result<Val> {
    Ok(match part {
        Part::Known(value) => match value.known {
            Some(x) => w.fill(x, dims),
            None => value.clone(),
        },
        Part::Scalar(value) => value.clone(),
        Part::Made(op, args) => {
            let args: Vec<Val> =
                args.iter().map(|arg| written(w, arg, dims)).collect::<Result<_>>()?;
            elementwise(w, *op, &args)?
        }
        Part::Read { source, at, axes } => {
            let sizes: Vec<usize> = at.first().map_or(Vec::new(), |i| i.ty.dims.clone());
            let found = positions_read(w, source, at, &sizes);
            w.broadcast(&found, axes, dims)
        }
        Part::Whole { source, axes } => w.broadcast(source, axes, dims),
    })
}

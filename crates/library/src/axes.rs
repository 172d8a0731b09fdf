//! Axes as people give them.

use crate::context::{Context, Fact};

/// The axis that a number means in so many axes; 0 after an error.
pub(crate) fn axis_of(c: &Context, axis: i64, rank: usize) -> usize {
    let from_start = if axis < 0 { axis.saturating_add_unsigned(rank as u64) } else { axis };
    match usize::try_from(from_start).ok().filter(|&axis| axis < rank) {
        Some(axis) => axis,
        None => {
            let axes = if rank == 1 { "axis" } else { "axes" };
            let message = format!("there is no axis {axis} in {rank} {axes}");
            let hint = match rank {
                0 => "a scalar has none".to_owned(),
                1 => "the only axis is 0, or -1 from the end".to_owned(),
                _ => format!("axes are 0 to {}, or -{rank} to -1 from the end", rank - 1),
            };
            c.note(Fact::BadAxis);
            c.wrong(message, hint);
            0
        }
    }
}

/// Several axes in the order given; all of them where none is.
pub(crate) fn axes_of(c: &Context, axes: Option<&[i64]>, rank: usize) -> Vec<usize> {
    let Some(axes) = axes else { return (0..rank).collect() };
    let mut chosen = Vec::new();
    for &axis in axes {
        let axis = axis_of(c, axis, rank);
        if c.failed() {
            return Vec::new();
        }
        if chosen.contains(&axis) {
            c.note(Fact::BadAxis);
            c.wrong(format!("axis {axis} is named twice"), "");
            return Vec::new();
        }
        chosen.push(axis);
    }
    chosen
}

/// Several axes in ascending order.
pub(crate) fn sorted_axes(c: &Context, axes: Option<&[i64]>, rank: usize) -> Vec<usize> {
    let mut axes = axes_of(c, axes, rank);
    axes.sort_unstable();
    axes
}

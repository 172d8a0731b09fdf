//! Functions of arrays made of the primitives.

mod arrange;
pub mod nn;

pub use arrange::{
    PadMode, Sections, Slice, Widths, arange, concat, eye, linspace, meshgrid, scatter_add, stack,
    tri,
};

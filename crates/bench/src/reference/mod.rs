//! Values and gradients written by hand: what a programmer with time would write, as the limit of
//! what a compiler can be expected to reach.
//!
//! The code is plain Rust that the compiler vectorises; it is to be built for the processor at hand
//! (`just bench` does so). Every function writes into arrays of its own, made once.

mod binmax;
mod dot;
mod gmm;
mod histogram;
mod kmeans;
mod lanes;
mod lj;
mod llsq;
mod logsumexp;
mod lse;
mod matmul;
mod selfrev;
mod stencil;

use cotan_array::{Array, Shape};

use crate::Result;
use crate::expected::{Outcome, Summary};
use crate::inputs::Inputs;
use crate::suite::Case;

/// A function whose value and derivatives are computed together.
pub trait Gradient {
    /// Computes everything; gives the value.
    fn run(&mut self) -> f64;

    /// The derivatives of the last run: names, sizes and elements.
    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])>;

    /// Runs it and sums up what it gives.
    fn outcome(&mut self) -> Result<Outcome> {
        let value = self.run();
        let summary = |(name, sizes, elements): (&'static str, Vec<usize>, &[f64])| {
            let shape = Shape::new(name, &sizes)?;
            Ok((name.to_owned(), Summary::of(&Array::from_slice(shape, elements)?)?))
        };
        let derivatives = self.derivatives().into_iter().map(summary).collect::<Result<_>>()?;
        Ok(Outcome { value, derivatives })
    }
}

/// The gradient of a benchmark at some inputs, if it has been written by hand.
pub fn by_name(benchmark: &str, case: &Case, inputs: &Inputs) -> Result<Option<Box<dyn Gradient>>> {
    Ok(Some(match benchmark {
        "dot" => Box::new(dot::Dot::new(inputs)?),
        "selfrev" => Box::new(selfrev::SelfReversed::new(inputs)?),
        "matmul" => Box::new(matmul::MatMul::new(inputs)?),
        "stencil" => Box::new(stencil::Stencil::new(inputs, case.size("steps"))?),
        "histogram" => Box::new(histogram::Histogram::new(inputs, case.size("bins"))?),
        "binmax" => Box::new(binmax::BinMax::new(inputs, case.size("bins"))?),
        "lj" => Box::new(lj::LennardJones::new(inputs)?),
        "kmeans" => Box::new(kmeans::KMeans::new(inputs)?),
        "logsumexp" => Box::new(logsumexp::LogSumExp::new(inputs)?),
        "gmm" => Box::new(gmm::Gmm::new(inputs)?),
        "lse" => Box::new(lse::Lse::new(inputs)?),
        "llsq" => Box::new(llsq::LeastSquares::new(inputs, case.size("n"))?),
        _ => return Ok(None),
    }))
}

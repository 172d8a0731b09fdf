//! Derivatives of whole programs, `build`s and all.

use cotan_ir::{Node, Program, Result};

use crate::pipeline::{Pass, Pipeline};

macro_rules! derivatives {
    ($($name:ident $text:literal $function:path, $doc:literal;)*) => {
        /// A derivative of a program, as a program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Derivative { $(#[doc = $doc] $name),* }

        impl Derivative {
            /// Every derivative.
            pub const ALL: &'static [Derivative] = &[$(Derivative::$name),*];

            /// The name it has in the language and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Derivative::$name => $text),* }
            }

            /// What it computes, in one line.
            pub fn description(self) -> &'static str {
                match self { $(Derivative::$name => $doc),* }
            }

            /// The transformation of a program without `build`.
            fn transform(self, program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
                match self { $(Derivative::$name => $function(program, wrt)),* }
            }
        }
    };
}

derivatives! {
    Grad "grad" cotan_ad::grad, "The gradient of a scalar function.";
    ValueAndGrad "value_and_grad" cotan_ad::value_and_grad, "The value of a scalar function and its gradient.";
    Vjp "vjp" cotan_ad::vjp, "The value, and the product of a cotangent with the Jacobian.";
    Jvp "jvp" cotan_ad::jvp, "The value, and the product of the Jacobian with a tangent.";
    JacRev "jacrev" cotan_ad::jacrev, "The Jacobian in reverse mode, row by row.";
    JacFwd "jacfwd" cotan_ad::jacfwd, "The Jacobian in forward mode, column by column.";
    Jacobian "jacobian" cotan_ad::jacobian, "The Jacobian in the mode that needs fewer passes.";
    Hvp "hvp" cotan_ad::hvp, "The product of the Hessian of a scalar function with a tangent.";
    Hessian "hessian" cotan_ad::hessian, "The Hessian of a scalar function.";
}

impl Derivative {
    /// The derivative called `name`.
    pub fn from_name(name: &str) -> Option<Derivative> {
        Derivative::ALL.iter().copied().find(|d| d.name() == name)
    }
}

/// The derivative of a program by some of its inputs (by position; all float ones by default), as a
/// program of bulk operations. Inputs and outputs are named as the functions of `cotan_ad` say.
pub fn derive(program: &Program, derivative: Derivative, wrt: Option<&[usize]>) -> Result<Program> {
    of_prepared(bulk(program)?, derivative, wrt)
}

/// As [`derive()`], of a program that nobody needs any more: its memory is free as soon as it was walked
/// through.
pub fn derive_owned(
    program: Program,
    derivative: Derivative,
    wrt: Option<&[usize]>,
) -> Result<Program> {
    let prepared = bulk(&program)?;
    drop(program);
    of_prepared(prepared, derivative, wrt)
}

fn of_prepared(
    prepared: Program,
    derivative: Derivative,
    wrt: Option<&[usize]>,
) -> Result<Program> {
    let derived = derivative.transform(&prepared, wrt)?;
    drop(prepared);
    bulk(&derived)
}

/// The program without `build`.
fn bulk(program: &Program) -> Result<Program> {
    let builds = program.terms().any(|t| matches!(program.node(t), Node::Build1(_)));
    let passes: &[Pass] = if builds { &[Pass::BULK] } else { &[Pass::NORMALISE] };
    Pipeline::new(passes).run(program)
}

/// Derivatives by series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taylor {
    /// The coefficients up to an order along a direction: [`cotan_ad::jet`].
    Jet(usize),
    /// The sum of the second derivatives: [`cotan_ad::laplacian`].
    Laplacian,
}

/// As [`derive()`], by series.
pub fn derive_taylor(program: &Program, taylor: Taylor, wrt: Option<&[usize]>) -> Result<Program> {
    let prepared = bulk(program)?;
    let derived = match taylor {
        Taylor::Jet(order) => cotan_ad::jet(&prepared, wrt, order)?,
        Taylor::Laplacian => cotan_ad::laplacian(&prepared, wrt)?,
    };
    bulk(&derived)
}

//! What may be chosen.

use cotan_ir::{Error, Input, Output, Program, Result};

use crate::value::Ty;
use crate::writer::list;

/// How a program is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The name of the module. The function in it is always `main`.
    pub name: String,
    /// Takes for granted that the factors of derivatives are finite, so that zeros need not annihilate
    /// infinities in sums of products. Saves a look through the factors of every matrix product of a
    /// gradient; where one is infinite or NaN, results may be NaN that should be 0.
    pub assume_finite: bool,
    /// Sums of up to so many products are taken element by element, which XLA joins to what is around
    /// them. A matrix product is a call of its own, and in gradients one that may have to be looked
    /// through: for 4 x 4 matrices, such as positions in space, that is many times the work.
    pub small_products: usize,
    /// How arrays lie on many devices.
    pub sharding: Option<Sharding>,
}

/// About as many as are computed in the time of a call.
const SMALL_PRODUCTS: usize = 1 << 9;

impl Default for Options {
    fn default() -> Options {
        Options {
            name: "cotan".to_owned(),
            assume_finite: false,
            small_products: SMALL_PRODUCTS,
            sharding: None,
        }
    }
}

/// A mesh of devices, and which arrays are cut along which of its axes.
///
/// What is not named is left to the partitioner, which propagates from what is, unless it is to be
/// a copy on each device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// The axes of the mesh with their sizes.
    pub mesh: Vec<(String, usize)>,
    /// Inputs and outputs by name, each with the axis of the mesh that an axis of the array is cut
    /// along. An array without any is a copy on each device.
    pub arrays: Vec<(String, Vec<(String, usize)>)>,
    /// Inputs and outputs that are not named are copies on each device.
    pub replicate_rest: bool,
}

impl Sharding {
    /// The number of devices.
    pub fn devices(&self) -> usize {
        self.mesh.iter().map(|(_, size)| size).product()
    }

    /// What is wrong with it for a program, if anything.
    pub(crate) fn check(&self, program: &Program) -> Result<()> {
        let error = |message: String| Err(Error::type_error("shard", message));
        if self.mesh.is_empty() {
            return error("a mesh without axes".to_owned());
        }
        for (n, (axis, size)) in self.mesh.iter().enumerate() {
            if !is_name(axis) || *size == 0 {
                let message = format!("`{axis}={size}` is no axis of a mesh");
                let hint = "an axis is a name and a positive number: batch=8";
                return Err(Error::type_error("shard", message).with_hint(hint));
            }
            if self.mesh[..n].iter().any(|(other, _)| other == axis) {
                return error(format!("the mesh has two axes `{axis}`"));
            }
        }
        for (name, cuts) in &self.arrays {
            let Some(ty) = array(program, name) else {
                let names = program.inputs().iter().map(|i| i.name.as_str());
                let names = names.chain(program.outputs().iter().map(|o| o.name.as_str()));
                let hint = format!("the arrays are: {}", list(names.filter(|n| !n.is_empty())));
                let message = format!("there is no input or output `{name}`");
                return Err(Error::type_error("shard", message).with_hint(hint));
            };
            self.check_cuts(name, &ty, cuts)?;
        }
        Ok(())
    }

    fn check_cuts(&self, name: &str, ty: &Ty, cuts: &[(String, usize)]) -> Result<()> {
        let mut used: Vec<&str> = Vec::new();
        let mut dims = ty.dims.clone();
        for (axis, at) in cuts {
            let error = |message: String, hint: String| {
                Err(Error::type_error("shard", message).with_hint(hint))
            };
            let Some(&(_, size)) = self.mesh.iter().find(|(other, _)| other == axis) else {
                let axes = list(self.mesh.iter().map(|(axis, _)| axis));
                let message = format!("the mesh has no axis `{axis}`, which `{name}` is cut along");
                return error(message, format!("its axes are: {axes}"));
            };
            let Some(dim) = dims.get_mut(*at) else {
                let message = format!("`{name}` has no axis {at}");
                return error(message, format!("it has {} axes, from 0", ty.dims.len()));
            };
            if *dim % size != 0 {
                let message = format!("axis {at} of `{name}` cannot be cut into {size} parts");
                return error(message, format!("its size is {}", ty.dims[*at]));
            }
            *dim /= size;
            if used.contains(&axis.as_str()) {
                let message = format!("`{name}` is cut twice along `{axis}`");
                return error(message, "use each axis of the mesh once for an array".to_owned());
            }
            used.push(axis);
        }
        Ok(())
    }

    /// The axes of the mesh that an axis of an array is cut along.
    pub fn cuts(&self, name: &str, axis: usize) -> Vec<&str> {
        let of = self.arrays.iter().find(|(other, _)| other == name);
        let cuts = of.into_iter().flat_map(|(_, cuts)| cuts);
        cuts.filter(|(_, at)| *at == axis).map(|(along, _)| along.as_str()).collect()
    }

    /// The attribute of an array, empty if nothing is said of it.
    pub(crate) fn attribute(&self, name: &str, rank: usize) -> String {
        if !self.replicate_rest && self.arrays.iter().all(|(other, _)| other != name) {
            return String::new();
        }
        let axes = |n: usize| {
            format!("{{{}}}", list(self.cuts(name, n).iter().map(|axis| format!("\"{axis}\""))))
        };
        let dims = list((0..rank).map(axes));
        format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}")
    }

    /// `sdy.mesh @mesh = ..`
    pub(crate) fn declaration(&self) -> String {
        let axes = list(self.mesh.iter().map(|(axis, size)| format!("\"{axis}\"={size}")));
        format!("sdy.mesh @mesh = <[{axes}]>")
    }
}

/// The type of an input or output.
fn array(program: &Program, name: &str) -> Option<Ty> {
    let input = program.inputs().iter().find(|Input { name: other, .. }| other == name);
    let output = program.outputs().iter().find(|Output { name: other, .. }| other == name);
    input
        .map(|input| Ty::from(&input.ty))
        .or_else(|| output.map(|output| Ty::from(program.ty(output.term))))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

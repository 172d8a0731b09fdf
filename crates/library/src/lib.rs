//! The standard library: functions of arrays made of the typed constructors of [`cotan_ir::Builder`],
//! **one table** from which all front ends derive theirs.
//!
//! A row of the table ([`Function`]) has the name of a function and its other names, the parameters
//! with their kinds and defaults, documentation that says what happens in corner cases, an example,
//! and the implementation. The text language has each row as a builtin, the Rust library calls the
//! rows by methods, Python lists them, and the documentation prints them.
//!
//! Implementations are written with [`Term`]s, which have operators and are `Copy`; errors and what
//! is to be known about sizes ([`Fact`]) are collected on the way.
//!
//! ```
//! use cotan_array::{Dtype, Shape};
//! use cotan_ir::{Builder, Type};
//! use cotan_library::{Arg, Given, functions};
//!
//! let mut b = Builder::new();
//! let x = b.input("x", Type::new(Dtype::F64, Shape::new("example", &[2, 3])?))?;
//! let (made, _) = functions::mean.call(&mut b, &[Arg::Array(x), Arg::Int(0), Arg::Default]);
//! let Given::One(mean) = made? else { panic!("one array") };
//! let program = b.finish_one(mean)?;
//! assert_eq!(program.to_string(), "def main(x: [2, 3]f64) = sum_outer(x) / replicate(2.0, 3)\n");
//! # Ok::<(), cotan_ir::Error>(())
//! ```

mod arrange;
mod axes;
mod context;
mod contract;
mod cumulative;
mod decompositions;
mod einsum;
mod elementwise;
mod fourier;
mod function;
mod losses;
mod making;
mod neural;
pub mod operator;
mod products;
mod reduce;
mod segment;
pub mod solve;
mod sort;
mod term;
mod windows;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

pub use context::{Context, Fact};
pub use function::{Arg, Function, Given, Group, Kind, Made, Param};
pub use term::Term;

/// The functions by their names in Rust.
pub mod functions {
    pub use crate::arrange::*;
    pub use crate::cumulative::*;
    pub use crate::decompositions::*;
    pub use crate::elementwise::*;
    pub use crate::fourier::*;
    pub use crate::losses::*;
    pub use crate::making::*;
    pub use crate::neural::*;
    pub use crate::products::*;
    pub use crate::reduce::*;
    pub use crate::segment::*;
    pub use crate::sort::*;
    pub use crate::windows::*;
}

/// All functions, group by group.
pub fn all() -> &'static [&'static Function] {
    static ALL: LazyLock<Vec<&'static Function>> = LazyLock::new(|| {
        let tables = [
            making::TABLE,
            arrange::TABLE,
            reduce::TABLE,
            cumulative::TABLE,
            segment::TABLE,
            sort::TABLE,
            products::TABLE,
            fourier::TABLE,
            decompositions::TABLE,
            elementwise::TABLE,
            neural::TABLE,
            windows::TABLE,
            losses::TABLE,
        ];
        let mut all: Vec<&Function> = tables.concat();
        all.sort_by_key(|function| function.group);
        all
    });
    &ALL
}

/// The function of a name, or of another name.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<FxHashMap<&str, &Function>> = LazyLock::new(|| {
        let names = |&f: &&'static Function| {
            f.aliases.iter().copied().chain([f.name]).map(move |name| (name, f))
        };
        all().iter().flat_map(names).collect()
    });
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole_and_names_are_unique() {
        let mut seen: FxHashMap<&str, &str> = FxHashMap::default();
        for f in all() {
            for name in f.aliases.iter().chain([&f.name]) {
                assert_eq!(seen.insert(name, f.name), None, "{name} twice");
            }
            assert!(f.doc.trim().ends_with('.'), "{}: {}", f.name, f.doc);
            assert!(f.example.contains(f.name), "{}: {}", f.name, f.example);
            let optional = f.params.iter().skip_while(|param| param.default.is_none());
            assert!(optional.clone().all(|param| param.default.is_some()), "{}", f.name);
        }
    }
}
